"""Columns of the motion subspace H of a joint, in the frame of `model.declared`, and the distances
that the joint can move its body.

The z axis of that frame is the joint's axis; if the joint has none, it is the declared frame. So
the columns are constant.
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
    def turning(self) -> Constant:
        """|angular|²."""
        return k.normalize(k.dot(self.angular, self.angular))

    @property
    def sliding(self) -> Constant:
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
    """Return the largest distance (m) by which the joint moves its body's origin, with its
    coordinates in `ranges`.
    """
    size = [flint.arb(k.rational(max(abs(low), abs(high)))) for low, high in ranges]
    total = flint.arb(0)
    for step in joint.motions:
        if isinstance(step, Sliding):
            total += flint.arb(abs(k.rational(step.rate))) * size[step.of]
        elif isinstance(step, Placing):
            square = sum((x * x for x in size[step.of : step.of + step.axes]), flint.arb(0))
            total += square.sqrt()
    return total


def block(
    H: Sequence[Column], inertia: Inertia, armatures: Sequence[Constant]
) -> list[list[Constant]]:
    """Return HᵀMH of a body with this inertia about the frame's origin, with the joint's armatures
    on the diagonal.
    """
    return [
        [
            k.normalize(_energy(a, b, inertia) + (armatures[r] if r == c else k.ZERO))
            for c, b in enumerate(H)
        ]
        for r, a in enumerate(H)
    ]


def _energy(a: Column, b: Column, inertia: Inertia) -> Any:
    """Return aᵀ M b = ∫ρ (ω_a × r + v_a)·(ω_b × r + v_b)."""
    xx, xy, xz, yy, yz, zz = inertia.S
    moments = ((yy + zz, -xy, -xz), (-xy, xx + zz, -yz), (-xz, -yz, xx + yy))
    turning = k.dot(a.angular, k.apply(moments, b.angular))
    mixed = k.dot(b.linear, k.cross(a.angular, inertia.h)) + k.dot(
        a.linear, k.cross(b.angular, inertia.h)
    )
    return turning + mixed + inertia.m * k.dot(a.linear, b.linear)


def pivots(matrix: Sequence[Sequence[Constant]]) -> list[Constant | None]:
    """Return for each k the minimum of xᵀAx over the later entries of x, with x_k = 1 and earlier
    entries 0.

    These are the pivots of A, eliminated from last to first. A is positive semidefinite, so a zero
    pivot has a row of zeros and needs no elimination. Entries inward of a pivot whose sign is
    unknown are None.
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
