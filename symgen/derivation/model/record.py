"""What the passes over a model changed, link by link: where its frame went, and which inertia it kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symgen.derivation import constants as k
from symgen.derivation.model.links import Link, Model
from symgen.derivation.model.share import GROUND, members

PARAMETERS = ("m", "hx", "hy", "hz", "Sxx", "Sxy", "Sxz", "Syy", "Syz", "Szz")


def record(plain: Model, kept: Model, axes: Mapping[int, int]) -> list[dict[str, Any]]:
    """One entry a link, parents first: of the frames chosen, and of the same with inertia moved to the parents.

    `shift` (m) and the angles `gamma`, `alpha`, `offset` (rad): from the parent's chosen frame translate by shift, turn
    about z, about x, then about z by offset + q. `origin` (m) and `axes` (columns x, y, z): the chosen frame in the
    declared body frame. `declared` and `kept`: the inertial parameters that are not zero (first moments h and second
    moments S = Σ in the chosen frame) before and after the inertia that the joint cannot feel went to the parent.
    `written_in`: the link whose axes its vectors are written in, as `axes` says (`model.share`); None for the base.
    """
    own = members(plain) if axes else []
    whose = {i: own[i].group if chosen == GROUND else chosen for i, chosen in axes.items()}
    whose = {
        i: plain.links[link].parent if axes[i] == GROUND else link for i, link in whose.items()
    }
    found = []
    for i, (before, after) in enumerate(zip(plain.links, kept.links, strict=True)):
        outer = whose.get(i, i)
        found.append(
            _entry(before, after, plain)
            | {"written_in": plain.links[outer].name if outer >= 0 else None}
        )
    return found


def _entry(before: Link, after: Link, model: Model) -> dict[str, Any]:
    gamma, alpha, offset = (
        k.as_float(k.angle_of(*turning)) if turning[1] != 0 or turning[0] != 1 else 0.0
        for turning in k.zxz(before.rotation)
    )
    axes, origin = before.placement
    return {
        "link": before.name,
        "parent": model.links[before.parent].name if before.parent >= 0 else None,
        "shift": [k.as_float(x) for x in before.shift],
        "gamma": gamma,
        "alpha": alpha,
        "offset": offset,
        "origin": [k.as_float(x) for x in origin],
        "axes": [[k.as_float(x) for x in row] for row in axes],
        "declared": _parameters(before),
        "kept": _parameters(after),
    }


def _parameters(link: Link) -> list[str]:
    inertia = link.inertia
    values = (inertia.m, *inertia.h, *inertia.S)
    return [name for name, value in zip(PARAMETERS, values, strict=True) if not k.is_zero(value)]
