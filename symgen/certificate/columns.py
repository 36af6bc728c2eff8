"""What the degrees of freedom of one joint do to its body: the columns of H, in the frame of `model.declared`, and how far they
lead.

That frame has its z on the joint's axis; of a joint without one it is the declared frame. So the columns are constants.
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
    """The twist of the body at its frame's origin for a unit of one velocity."""

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
    """H of a joint, a column a velocity."""
    kind = joint.type
    if kind.along is not None:
        units = [k.IDENTITY[along] for along in kind.along]
        return [
            Column(unit, k.ORIGIN) if velocity.unit == "rad" else Column(k.ORIGIN, unit)
            for unit, velocity in zip(units, kind.velocities, strict=True)
        ]
    z = k.IDENTITY[2]
    found = []
    for of in range(kind.nv):
        own = [step for step in joint.about_axis if step.of == of]
        turn, slide = (
            sum((k.rational(step.rate) for step in own if isinstance(step, sort)), k.ZERO)
            for sort in (Turning, Sliding)
        )
        found.append(Column(k.scale(turn, z), k.scale(slide, z)))
    return found


def orthonormal(H: Sequence[Column]) -> bool:
    """Whether HᵀH = 1: then Hᵀ reads the velocities off a twist."""
    return all(
        k.normalize(k.dot(a.angular, b.angular) + k.dot(a.linear, b.linear)) == int(a is b)
        for a in H
        for b in H
    )


def travel(joint: Joint, ranges: Sequence[Range]) -> flint.arb:
    """How far (m) the joint moves its body's origin at most, its own coordinates in `ranges`."""
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
    """HᵀMH of a body with this inertia about the frame's origin, and the armatures of its joint on the diagonal."""
    return [
        [
            k.normalize(_energy(a, b, inertia) + (armatures[r] if r == c else k.ZERO))
            for c, b in enumerate(H)
        ]
        for r, a in enumerate(H)
    ]


def _energy(a: Column, b: Column, inertia: Inertia) -> Any:
    """aᵀ M b = ∫ρ (ω_a × r + v_a)·(ω_b × r + v_b)."""
    xx, xy, xz, yy, yz, zz = inertia.S
    moments = ((yy + zz, -xy, -xz), (-xy, xx + zz, -yz), (-xz, -yz, xx + yy))
    turning = k.dot(a.angular, k.apply(moments, b.angular))
    both = k.dot(b.linear, k.cross(a.angular, inertia.h)) + k.dot(
        a.linear, k.cross(b.angular, inertia.h)
    )
    return turning + both + inertia.m * k.dot(a.linear, b.linear)


def pivots(matrix: Sequence[Sequence[Constant]]) -> list[Constant | None]:
    """The least of xᵀAx over the later entries of x, for each with x_k = 1 and the earlier 0: A eliminated from last to first.

    A is positive semidefinite. A pivot that is zero has a row of zeros, and nothing to eliminate. None inward of a pivot that is
    not known to be either.
    """
    rows = [list(row) for row in matrix]
    found: list[Constant | None] = [None] * len(rows)
    for j in reversed(range(len(rows))):
        found[j] = pivot = rows[j][j]
        above = range(j)
        if k.is_zero(pivot) and all(k.is_zero(rows[i][j]) for i in above):
            continue
        if not pivot > 0:
            break
        for i in above:
            for c in above:
                rows[i][c] = k.normalize(rows[i][c] - rows[i][j] * rows[c][j] / pivot)
    return found
