"""What the passes over a model changed, link by link: where its frame went, and which inertia it kept."""

from __future__ import annotations

from typing import Any

from symgen.derivation import constants as k
from symgen.derivation.model.links import Link, Model
from symgen.derivation.model.reframe import reframe
from symgen.derivation.model.regroup import regroup
from symgen.mechanism import Mechanism

PARAMETERS = ("m", "hx", "hy", "hz", "Sxx", "Sxy", "Sxz", "Syy", "Syz", "Szz")


def record(mechanism: Mechanism) -> list[dict[str, Any]]:
    """One entry a link, parents first.

    `shift` (m) and the angles `gamma`, `alpha`, `offset` (rad): from the parent's chosen frame translate by shift, turn
    about z, about x, then about z by offset + q. `origin` (m) and `axes` (columns x, y, z): the chosen frame in the
    declared body frame. `declared` and `kept`: the inertial parameters that are not zero (first moments h and second
    moments S = Σ in the chosen frame) before and after the inertia that the joint cannot feel went to the parent.
    """
    def entries() -> list[dict[str, Any]]:
        plain = reframe(mechanism)
        return [_entry(before, after, plain) for before, after in zip(plain.links, regroup(plain).links, strict=True)]

    return k.sharpened(entries)


def _entry(before: Link, after: Link, model: Model) -> dict[str, Any]:
    gamma, alpha, offset = (k.as_float(k.angle_of(*turning)) if turning[1] != 0 or turning[0] != 1 else 0.0
                            for turning in k.zxz(before.rotation))
    axes, origin = before.placement
    return {
        "link": before.name,
        "parent": model.links[before.parent].name if before.parent >= 0 else None,
        "shift": [k.as_float(x) for x in before.shift],
        "gamma": gamma, "alpha": alpha, "offset": offset,
        "origin": [k.as_float(x) for x in origin],
        "axes": [[k.as_float(x) for x in row] for row in axes],
        "declared": _parameters(before),
        "kept": _parameters(after),
    }


def _parameters(link: Link) -> list[str]:
    inertia = link.inertia
    values = (inertia.m, *inertia.h, *inertia.S)
    return [name for name, value in zip(PARAMETERS, values, strict=True) if not k.is_zero(value)]
