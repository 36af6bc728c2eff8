"""Columns of the motion subspace H of a joint, and the distance by which the joint can move its
body.

The columns are constant, because they are expressed in a frame of the body whose z axis is the axis
of the joint. For a joint without an axis it is the body's declared frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flint

from symgen.certificate.ranges import Range
from symgen.derivation import constants as k
from symgen.derivation.constants import Constant, Vec3
from symgen.derivation.model.links import Inertia
from symgen.mechanism.joints import Placing, Sliding, Turning
from symgen.mechanism.mechanism import Joint


@dataclass(frozen=True)
class Column:
    """Twist of the body at its frame's origin per unit of one velocity."""

    angular: Vec3
    linear: Vec3

    @property
    def angular_squared(self) -> Constant:
        """|angular|²."""
        return k.normalize(k.dot(self.angular, self.angular))

    @property
    def linear_squared(self) -> Constant:
        """|linear|²."""
        return k.normalize(k.dot(self.linear, self.linear))


def columns(joint: Joint) -> list[Column]:
    """Return H of a joint, one column per velocity."""
    kind = joint.type
    if kind.along is not None:
        units = [k.IDENTITY[axis] for axis in kind.along]
        return [
            Column(unit, k.ORIGIN) if velocity.unit == "rad" else Column(k.ORIGIN, unit)
            for unit, velocity in zip(units, kind.velocities, strict=True)
        ]
    z = k.IDENTITY[2]
    result = []
    for index in range(kind.nv):
        steps = [step for step in joint.about_axis if step.of == index]
        rotation, translation = (
            sum((k.rational(step.rate) for step in steps if isinstance(step, step_type)), k.ZERO)
            for step_type in (Turning, Sliding)
        )
        result.append(Column(k.scale(rotation, z), k.scale(translation, z)))
    return result


def orthonormal(H: Sequence[Column]) -> bool:
    """True if HᵀH = 1, so that Hᵀ maps a twist to the velocities."""
    return all(
        k.normalize(k.dot(a.angular, b.angular) + k.dot(a.linear, b.linear)) == int(a is b)
        for a in H
        for b in H
    )


def travel(joint: Joint, ranges: Sequence[Range]) -> flint.arb:
    """Return an upper bound (m) on the distance by which the joint moves the origin of its body,
    with the joint's coordinates in `ranges`.
    """
    largest = [flint.arb(k.rational(max(abs(low), abs(high)))) for low, high in ranges]
    total = flint.arb(0)
    for step in joint.motions:
        if isinstance(step, Sliding):
            total += flint.arb(abs(k.rational(step.rate))) * largest[step.of]
        elif isinstance(step, Placing):
            square = sum((x * x for x in largest[step.of : step.of + step.axes]), flint.arb(0))
            total += square.sqrt()
    return total


def joint_inertia(
    H: Sequence[Column], inertia: Inertia, armatures: Sequence[Constant]
) -> list[list[Constant]]:
    """Return HᵀMH plus the joint's armatures on the diagonal. M is the spatial inertia of a body
    about the frame's origin.
    """
    return [
        [
            k.normalize(_inertia_product(a, b, inertia) + (armatures[r] if r == c else k.ZERO))
            for c, b in enumerate(H)
        ]
        for r, a in enumerate(H)
    ]


def _inertia_product(a: Column, b: Column, inertia: Inertia) -> Any:
    """Return aᵀ M b = ∫ρ (ω_a × r + v_a)·(ω_b × r + v_b)."""
    xx, xy, xz, yy, yz, zz = inertia.S
    moments = ((yy + zz, -xy, -xz), (-xy, xx + zz, -yz), (-xz, -yz, xx + yy))
    rotational = k.dot(a.angular, k.apply(moments, b.angular))
    coupled = k.dot(b.linear, k.cross(a.angular, inertia.h)) + k.dot(
        a.linear, k.cross(b.angular, inertia.h)
    )
    return rotational + coupled + inertia.m * k.dot(a.linear, b.linear)


def pivots(matrix: Sequence[Sequence[Constant]]) -> list[Constant | None]:
    """Return the pivots of A, eliminated from the last row to the first.

    Pivot j is the minimum of xᵀAx over the entries of x after j, with x_j = 1 and the entries
    before j equal to 0. A is positive semidefinite, so the row of a zero pivot is zero and needs no
    elimination. If the sign of a pivot is unknown, the pivots of the rows before it are None.
    """
    rows = [list(row) for row in matrix]
    result: list[Constant | None] = [None] * len(rows)
    for j in reversed(range(len(rows))):
        result[j] = pivot = rows[j][j]
        above = range(j)
        if k.is_zero(pivot) and all(k.is_zero(rows[i][j]) for i in above):
            continue
        if not pivot > 0:
            break
        for i in above:
            for c in above:
                rows[i][c] = k.normalize(rows[i][c] - rows[i][j] * rows[c][j] / pivot)
    return result
