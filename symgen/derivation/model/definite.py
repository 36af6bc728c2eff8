"""Links whose inertia can be inverted, for methods that divide by the inertia of every link.

The links of `planar_arm` are rods without a moment of inertia about their own axes, and they turn
about one direction n only. Matter on a line along n changes neither their momentum nor their
energy: its moments μ (1 − n nᵀ) give no angular momentum to a rotation about n. `complete_moments`
adds such matter where the moments of a link cannot be inverted otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import joint_form
from symgen.derivation.constants import Constant, Mat3, Vec3
from symgen.derivation.model.links import (
    Inertia,
    Model,
    body_inertia,
    centred_inertia,
    declared,
    full_matrix,
    line_inertia,
)
from symgen.mechanism.mechanism import Body, Mechanism

Directions: TypeAlias = tuple[Vec3, ...] | None
"""The directions about which a link turns, in its axes: none, one, or None for several."""


@lru_cache(maxsize=64)
def find_indefinite_body(mechanism: Mechanism) -> tuple[str, str] | None:
    """Return (body, why) of the first body whose 6x6 inertia is not positive definite, or None; the
    test is exact.

    Moments that `complete_moments` can complete count as positive.
    """
    return k.with_enough_precision(lambda: _first_defect(mechanism))


def complete_moments(model: Model) -> Model:
    """Return a model of the same robot in which the moments of more links can be inverted.

    A link with moments that are not positive definite receives matter on a line in the direction n
    about which it turns; its moment about n is taken as μ. A link that never turns receives the
    moments of a radius of gyration of 1 m. Mass matrix, forces and interbody forces do not change.
    """
    lacking = [
        i
        for i, link in enumerate(model.links)
        if link.inertia.m > 0 and not _is_definite(central_moments(link.inertia))
    ]
    if not lacking:
        return model
    links, directions_of = list(model.links), _turning_directions(model)
    for i in lacking:
        directions = directions_of[i]
        if directions is not None:
            completed = links[i].inertia + _added_inertia(links[i].inertia, directions)
            if _is_definite(central_moments(completed)):
                links[i] = replace(links[i], inertia=completed)
    return model.with_links(links, "moments completed")


def _added_inertia(inertia: Inertia, directions: tuple[Vec3, ...]) -> Inertia:
    """Return the matter that `complete_moments` adds to a link with one direction, or none."""
    if not directions:
        half = k.normalize(inertia.m / 2)
        return Inertia(k.ZERO, k.ORIGIN, (half, k.ZERO, k.ZERO, half, k.ZERO, half))
    (axis,) = directions
    moment = k.dot(axis, k.apply(central_moments(inertia), axis))
    return line_inertia(k.ZERO, k.ZERO, moment, axis, k.ORIGIN)


@lru_cache(maxsize=64)
def completed_links(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the names of the links whose moments `complete_moments` changes."""
    return k.with_enough_precision(lambda: _completed_links(declared(mechanism.uncoupled)))


def _completed_links(model: Model) -> tuple[str, ...]:
    return tuple(
        link.name
        for link, completed in zip(model.links, complete_moments(model).links, strict=True)
        if completed is not link
    )


def completion_note(names: Sequence[str]) -> str:
    """Return a sentence without its full stop on the links whose moments are completed, or ""."""
    if not names:
        return ""
    single = len(names) == 1
    links = f"link '{names[0]}'" if single else f"{len(names)} links, such as '{names[0]}',"
    return (
        f"{links} {'turns' if single else 'turn'} about one direction at most, and"
        f" {'its' if single else 'their'} inertia has no inverse; moments about the other"
        " directions are added, which no motion depends on"
    )


def central_moments(inertia: Inertia) -> Mat3:
    """Return the moments of inertia about the mass centre, 3x3, of an inertia with mass."""
    h, S = inertia.h, full_matrix(inertia.S)
    second = [[k.normalize(S[i][j] - h[i] * h[j] / inertia.m) for j in range(3)] for i in range(3)]
    trace = second[0][0] + second[1][1] + second[2][2]
    x, y, z = (
        tuple(k.normalize((trace if i == j else k.ZERO) - second[i][j]) for j in range(3))
        for i in range(3)
    )
    return x, y, z


def _turning_directions(model: Model) -> Sequence[Directions]:
    """Return the directions about which each link turns relative to the base."""
    all_directions: list[Directions] = []
    for link in model.links:
        directions: Directions = ()
        if link.parent >= 0:
            of_parent = all_directions[link.parent]
            inward = k.transpose(link.rotation)
            directions = of_parent and tuple(k.apply(inward, axis) for axis in of_parent)
        angular = joint_form(link.kind).motion_subspace[:3, :]
        if not angular.is_zero_matrix and directions is not None:
            about_z = angular[:2, :].is_zero_matrix and all(
                k.is_zero(axis[0]) and k.is_zero(axis[1]) for axis in directions
            )
            directions = (k.IDENTITY[2],) if about_z else None
        all_directions.append(directions)
    return all_directions


def _first_defect(mechanism: Mechanism) -> tuple[str, str] | None:
    defects = {i: why for i, body in enumerate(mechanism.bodies) if (why := _defect(body))}
    if not defects:
        return None
    completed = complete_moments(declared(mechanism.uncoupled)).links
    for i, why in defects.items():
        inertia = completed[i].inertia
        if not inertia.m > 0 or not _is_definite(central_moments(inertia)):
            return mechanism.bodies[i].name, why
    return None


def _defect(body: Body) -> str | None:
    """Return why the inertia of a body is not positive definite, or None."""
    with k.locating_errors(f"link '{body.name}'"):
        inertia = centred_inertia(body.parts[0]) if len(body.parts) == 1 else body_inertia(body)
        if not inertia.m > 0:
            return "has no mass"
        J = central_moments(inertia)
        if all(k.is_zero(x) for row in J for x in row):
            return "is a point mass"
        if not _is_definite(J):
            return "has no moment of inertia about some axis through its mass centre"
    return None


def _is_definite(J: Mat3) -> bool:
    """True if a symmetric matrix is positive definite, by its leading minors (Sylvester)."""
    x, y, z = J
    second: Constant = k.normalize(x[0] * y[1] - x[1] * y[0])
    return bool(x[0] > 0 and second > 0 and k.dot(x, k.cross(y, z)) > 0)
