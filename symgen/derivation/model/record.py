"""Record of the passes over a model, link by link: the chosen frames, and the inertial parameters
that remain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symgen.derivation import constants as k
from symgen.derivation.model.links import Link, Model
from symgen.derivation.model.share import GROUND, members

PARAMETERS = ("m", "hx", "hy", "hz", "Sxx", "Sxy", "Sxz", "Syy", "Syz", "Szz")


def record(declared: Model, regrouped: Model, axes: Mapping[int, int]) -> list[dict[str, Any]]:
    """Return one entry per link, parents first, for the chosen frames and for the inertia moved to
    the parents.

    `shift` (m) and the angles `gamma`, `alpha`, `offset` (rad): from the parent's chosen frame
    translate by shift, rotate about z, about x, then about z by offset + q. `origin` (m) and `axes`
    (columns x, y, z): the chosen frame in the declared body frame. `declared` and `regrouped`: the
    nonzero inertial parameters (first moments h and second moments S = Σ in the chosen frame)
    before and after the inertia without effect on the joint was moved to the parent. `written_in`:
    the link in whose axes its vectors are written, as `axes` states (`model.share`); None for the
    base.
    """
    group_members = members(declared) if axes else []
    written_in = {
        i: group_members[i].group if chosen == GROUND else chosen for i, chosen in axes.items()
    }
    written_in = {
        i: declared.links[link].parent if axes[i] == GROUND else link
        for i, link in written_in.items()
    }
    entries = []
    for i, (before, after) in enumerate(zip(declared.links, regrouped.links, strict=True)):
        link_of_axes = written_in.get(i, i)
        entries.append(
            _entry(before, after, declared)
            | {"written_in": declared.links[link_of_axes].name if link_of_axes >= 0 else None}
        )
    return entries


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
