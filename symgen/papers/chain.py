"""A robot as the numbers that the papers start from: for each link its parent, its rotation and
shift, the axes of its joint, and its inertia, at one state and over one kind of number.

The numbers are read from the description. Nothing here is shared with the derivation of programs,
so that a program can be checked against them.

Over exact rationals every rotation must be rational. A rotation of the description that is not
(30°, a direction such as (1, 1, 0)) is replaced by a rational rotation that differs from it by less
than 1e-9; `Chain.rounded` says so. The angle of a joint is given by the tangent of its half, so
that its sine and cosine are rational.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
from flint import fmpq

from symgen.derivation import constants as k
from symgen.derivation.model.links import body_inertia, full_matrix
from symgen.mechanism.joints import Orienting, Placing, Sliding, Turning
from symgen.mechanism.mechanism import Joint, Mechanism
from symgen.papers.blocks import cross_matrix, identity, stacked, zeros
from symgen.reference.precision import Array
from symgen.support.errors import RequestError

DENOMINATOR = 10**10
"""Rounded rotations have quaternions with this denominator."""


@dataclass(frozen=True)
class State:
    """Coordinates of a robot, in the order of q, over one kind of number.

    `half_tangents[i]` is tan(q_i/2) if entry i is an angle, and `coordinates[i]` is entry i where
    it is a length or a component of a unit quaternion. The angle of a helical joint is needed in
    both ways; its two numbers may be independent of each other. `constant` converts a constant of
    the description into this kind of number. Unless the numbers are `inexact`, it is given
    rationals only.
    """

    half_tangents: Sequence[Any]
    coordinates: Sequence[Any]
    constant: Callable[[k.Constant], Any]
    inexact: bool = False


@dataclass(frozen=True)
class LinkNumbers:
    """One link and the joint that moves it, in the axes of the declared link frame.

    x_parent = `rotation` x_link + `shift`. Row c of `axes` (n x 6) is the twist (angular, linear)
    of a unit rate of velocity c. `inertia` (6x6) refers to the origin of the link's frame. `centre`
    is the mass centre, or the origin if the link has no mass. `central` (3x3) are the moments of
    inertia about it.
    """

    name: str
    parent: int
    rotation: Array
    shift: Array
    axes: Array
    mass: Any
    centre: Array
    central: Array
    inertia: Array


@dataclass(frozen=True)
class Chain:
    """The links of a robot at one state, parents before children (parent -1: the base).

    `gravity` (3) is in base axes. `rounded` is True if irrational rotations were rounded.
    """

    name: str
    links: tuple[LinkNumbers, ...]
    gravity: Array
    rounded: bool

    def ancestors(self, i: int) -> list[int]:
        """Return link i and its ancestors, from i to the root."""
        path = []
        while i >= 0:
            path.append(i)
            i = self.links[i].parent
        return path

    def children(self, i: int) -> list[int]:
        """Return the children of link i."""
        return [j for j, link in enumerate(self.links) if link.parent == i]

    @cached_property
    def poses(self) -> list[tuple[Array, Array]]:
        """Rotation and origin of each link's frame in the base."""
        poses: list[tuple[Array, Array]] = []
        for link in self.links:
            R, origin = poses[link.parent] if link.parent >= 0 else (identity(3), zeros(3))
            poses.append((R @ link.rotation, origin + R @ link.shift))
        return poses

    @cached_property
    def turning_directions(self) -> list[list[Array]]:
        """The directions about which each link can turn, in its axes: the angular axes of its joint
        and of its ancestors' joints, each once if parallel.
        """
        directions: list[list[Array]] = []
        for link in self.links:
            of_parent = directions[link.parent] if link.parent >= 0 else []
            rows = [link.rotation.T @ row for row in of_parent] + list(link.axes[:, :3])
            independent: list[Array] = []
            for row in rows:
                if (row != 0).any() and not any(
                    (cross_matrix(direction) @ row == 0).all() for direction in independent
                ):
                    independent.append(row)
            directions.append(independent)
        return directions

    @cached_property
    def completed(self) -> Chain:
        """The chain with moments that can be inverted where a link turns about one direction only.

        For a direction n and the moment μ about it, μ (1 − n nᵀ) is added to moments without an
        inverse: no motion of the link has an angular momentum of these. A link that never turns
        receives m · (1 m²) about every axis.
        """
        links = []
        for link, directions in zip(self.links, self.turning_directions, strict=True):
            if link.mass != 0 and is_singular(link.central) and len(directions) < 2:
                added = identity(3) * link.mass
                for n in directions:
                    square = n @ n
                    moment = n @ (link.central @ n) / square
                    added = (identity(3) - np.outer(n, n) / square) * moment
                inertia = link.inertia.copy()
                inertia[:3, :3] = inertia[:3, :3] + added
                completed = replace(link, central=link.central + added, inertia=inertia)
                links.append(link if is_singular(completed.central) else completed)
            else:
                links.append(link)
        return replace(self, links=tuple(links))

    @property
    def completed_links(self) -> tuple[str, ...]:
        """The names of the links whose moments `completed` changes."""
        return tuple(
            link.name
            for link, completed in zip(self.links, self.completed.links, strict=True)
            if completed is not link
        )

    def inertia_fault(self) -> str | None:
        """Return which link has a 6x6 inertia without an inverse, and why, or None."""
        for link in self.links:
            if link.mass == 0:
                return f"link '{link.name}' has no mass"
            if (link.central == 0).all():
                return f"link '{link.name}' is a point mass"
            if is_singular(link.central):
                return (
                    f"link '{link.name}' has no moment of inertia about some axis through its mass"
                    " centre"
                )
        return None


def is_singular(matrix: Array) -> bool:
    """True if a 3x3 matrix has no inverse."""
    first, second, third = matrix
    return bool(first @ (cross_matrix(second) @ third) == 0)


def random_numbers(source: Random, count: int) -> Array:
    """Return small random rationals."""
    numbers = [fmpq(source.randint(-9, 9), source.randint(1, 6)) for _ in range(count)]
    return np.array(numbers, dtype=object)


def unit_quaternion(x: Any, y: Any, z: Any) -> list[Any]:
    """Return the point (x, y, z, w) of the sphere whose stereographic projection is given."""
    share = 1 / (1 + x * x + y * y + z * z)
    return [2 * x * share, 2 * y * share, 2 * z * share, 2 * share - 1]


def random_state(mechanism: Mechanism, seed: int = 0) -> State:
    """Return a state of small rationals; unit quaternions are rational points of the sphere."""
    source = Random(f"papers/{mechanism.name}/{seed}")

    def number() -> fmpq:
        return fmpq(source.choice([-1, 1]) * source.randint(1, 7), source.randint(2, 5))

    half_tangents: list[fmpq] = []
    coordinates: list[fmpq] = []
    for joint in mechanism.joints:
        entries = [number() for _ in range(joint.type.nq)]
        first = joint.type.quaternion
        if first is not None:
            entries[first : first + 4] = unit_quaternion(number(), number(), number())
        half_tangents += [number() for _ in range(joint.type.nq)]
        coordinates += entries
    return State(half_tangents, coordinates, lambda x: x)


def chain(mechanism: Mechanism, state: State | None = None) -> Chain:
    """Return the links of a robot at a state (default: `random_state`).

    Loop closures, drives and gravity compensation are left out; a mimic joint counts as
    independent. RequestError for a link that is rotated by a multiple of a coordinate.
    """
    mechanism = mechanism.uncoupled
    at = random_state(mechanism) if state is None else state
    rounded = False
    links: list[LinkNumbers] = []
    with k.precision():
        for i, (joint, body) in enumerate(zip(mechanism.joints, mechanism.bodies, strict=True)):
            rotation, shift = k.displacement(joint.pose)
            axis = k.unit(k.vector(joint.axis))
            if not (at.inexact or _are_rational(*axis, *(x for row in rotation for x in row))):
                rounded, rotation, axis = True, _near_rotation(rotation), _near_direction(axis)
            fixed, direction, offset = (_entered(x, at) for x in (rotation, axis, shift))
            turn, slide = _motion(joint, direction, at, mechanism.q_slices[i].start)
            inertia = body_inertia(body)
            mass = _entered(inertia.m, at)[()]
            h, second = _entered(inertia.h, at), _entered(full_matrix(inertia.S), at)
            moments = np.trace(second) * identity(3) - second
            centre = h if mass == 0 else h / mass
            links.append(
                LinkNumbers(
                    body.name,
                    joint.parent,
                    fixed @ turn,
                    fixed @ slide + offset,
                    _axes(joint, direction),
                    mass,
                    centre,
                    moments - mass * (centre @ centre * identity(3) - np.outer(centre, centre)),
                    spatial_inertia(mass, h, moments),
                )
            )
        gravity = _entered(k.vector(mechanism.gravity), at)
    return Chain(mechanism.name, tuple(links), gravity, rounded)


def spatial_inertia(mass: Any, h: Array, moments: Array) -> Array:
    """Return M(k) of RK (2.15) from the mass, its first moment and the moments about the origin."""
    return stacked([[moments, cross_matrix(h)], [-cross_matrix(h), mass * identity(3)]])


def _motion(joint: Joint, axis: Array, at: State, first: int) -> tuple[Array, Array]:
    """Return rotation and shift of the joint's motion, in its own frame."""
    rotation, shift = identity(3), zeros(3)
    for motion in joint.motions:
        if isinstance(motion, Turning):
            if motion.rate != 1:
                raise RequestError(
                    f"joint '{joint.name}' turns by {motion.rate} times its coordinate; the papers'"
                    " operators need joints that turn by their coordinate"
                )
            t = at.half_tangents[first + motion.of]
            below = 1 / (1 + t * t)
            rotation = rotation @ rotation_about(axis, (1 - t * t) * below, 2 * t * below)
        elif isinstance(motion, Sliding):
            rate = k.rational(motion.rate) * at.coordinates[first + motion.of]
            shift = shift + rotation @ (axis * rate)
        elif isinstance(motion, Placing):
            translation = zeros(3)
            translation[: motion.axes] = at.coordinates[
                first + motion.of : first + motion.of + motion.axes
            ]
            shift = shift + rotation @ translation
        elif isinstance(motion, Orienting):
            rotation = rotation @ quaternion_rotation(
                at.coordinates[first + motion.of : first + motion.of + 4]
            )
    return rotation, shift


def _axes(joint: Joint, axis: Array) -> Array:
    """Return H (n x 6): the twist of each velocity, in the axes of the moved link."""
    H = zeros(joint.type.nv, 6)
    if joint.type.along is not None:
        for row, (velocity, along) in enumerate(
            zip(joint.type.velocities, joint.type.along, strict=True)
        ):
            H[row, along + (0 if velocity.unit == "rad" else 3)] = fmpq(1)
        return H
    for motion in joint.about_axis:
        start = 0 if isinstance(motion, Turning) else 3
        H[motion.of, start : start + 3] = axis * k.rational(motion.rate)
    return H


def rotation_about(axis: Array, cosine: Any, sine: Any) -> Array:
    """Return Rodrigues' rotation about a unit vector."""
    along: Array = np.outer(axis, axis) * (1 - cosine)
    rotation: Array = identity(3) * cosine + cross_matrix(axis) * sine + along
    return rotation


def quaternion_rotation(q: Sequence[Any]) -> Array:
    """Return the rotation of a unit quaternion (x, y, z, w)."""
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ],
        dtype=object,
    )


def _entered(values: Any, at: State) -> Array:
    """Return constants of the description as an array of the state's numbers."""

    def number(value: k.Constant) -> Any:
        exact = at.inexact or isinstance(value, fmpq)
        return at.constant(value if exact else k.rational(k.to_fraction(value)))

    nested = np.empty(np.shape(values), dtype=object)
    nested[...] = values
    return np.asarray(np.frompyfunc(number, 1, 1)(nested), dtype=object)


def _are_rational(*values: k.Constant) -> bool:
    return all(isinstance(x, fmpq) for x in values)


def _near_rotation(rotation: k.Mat3) -> k.Mat3:
    """Return a rational rotation next to the given one; a rational one is returned as it is."""
    if _are_rational(*(x for row in rotation for x in row)):
        return rotation
    R = [[k.as_float(x) for x in row] for row in rotation]
    # Row i is 4 q_i (x, y, z, w); the longest row avoids a division by a small number.
    xy, xz, yz = R[0][1] + R[1][0], R[0][2] + R[2][0], R[1][2] + R[2][1]
    wx, wy, wz = R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]
    rows = [
        [1 + R[0][0] - R[1][1] - R[2][2], xy, xz, wx],
        [xy, 1 - R[0][0] + R[1][1] - R[2][2], yz, wy],
        [xz, yz, 1 - R[0][0] - R[1][1] + R[2][2], wz],
        [wx, wy, wz, 1 + R[0][0] + R[1][1] + R[2][2]],
    ]
    longest = max(range(4), key=lambda row: rows[row][row])
    x, y, z, w = (
        fmpq(round(entry / rows[longest][longest] * DENOMINATOR), DENOMINATOR)
        for entry in rows[longest]
    )
    spin = cross_matrix((x, y, z))
    rational = identity(3) + (w * spin + spin @ spin) * (2 / (x * x + y * y + z * z + w * w))
    first, second, third = rational
    return tuple(first), tuple(second), tuple(third)


def _near_direction(axis: k.Vec3) -> k.Vec3:
    """Return a rational unit vector next to the given one; a rational one is returned as it is."""
    if _are_rational(*axis):
        return axis
    x, y, z = (k.as_float(entry) for entry in axis)
    # Stereographic projection from the pole that is farther away.
    u, v = (fmpq(round(entry / (1 + abs(z)) * DENOMINATOR), DENOMINATOR) for entry in (x, y))
    below = 1 + u * u + v * v
    return 2 * u / below, 2 * v / below, (1 if z >= 0 else -1) * (2 / below - 1)
