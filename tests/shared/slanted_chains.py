"""Planar chains of point masses in general position, in rationals."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from flint import fmpq

from symgen.papers.blocks import identity, zeros
from symgen.papers.chain import Chain, LinkNumbers, spatial_inertia
from symgen.reference.precision import Array

ROTATION, SHIFT = (3, -1, 2, 5), (fmpq(1, 2), fmpq(-3), fmpq(2, 7))
ENDS = ((3, 4), (5, 0), (-8, 15), (0, -2), (20, -21), (-12, 5))
"""Ends of links in a plane, with rational lengths."""


def unit_quaternion_rotation(numbers: Sequence[int]) -> Array:
    """The rational rotation of four integers, not all zero."""
    square = sum(n * n for n in numbers)
    half = identity(3) * fmpq(square)
    x, y, z, w = numbers
    spin = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=object)
    return (half + (spin * w + spin @ spin) * 2) * fmpq(1, square)


def slanted_chain(n: int, seed: int = 0) -> Chain:
    """A planar chain in general position: link frames and the plane turned anywhere, axes of both
    directions.

    Point masses and joints are displaced along the axes, which changes nothing in the plane.
    """
    source = Random(f"slanted/{n}/{seed}")

    def number() -> fmpq:
        return fmpq(source.choice([-1, 1]) * source.randint(1, 7), source.randint(2, 5))

    bases = [
        unit_quaternion_rotation([source.randint(-3, 3) for _ in range(3)] + [4]) for _ in range(n)
    ]
    link_ends = [
        B @ np.array([*ENDS[i % len(ENDS)], number()], dtype=object) for i, B in enumerate(bases)
    ]
    links = []
    for i, basis in enumerate(bases):
        t = number()
        cosine, sine = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
        turn = np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]], dtype=object)
        before = bases[i - 1] if i else unit_quaternion_rotation(ROTATION)
        opposite = np.diag(np.array(source.choice([[1, 1, 1], [1, -1, -1]]), dtype=object))
        axis = basis @ identity(3)[2]
        mass, centre = abs(number()), link_ends[i] + axis * number()
        central = (identity(3) - np.outer(axis, axis)) * abs(number())
        moments = central + (identity(3) * (centre @ centre) - np.outer(centre, centre)) * mass
        links.append(
            LinkNumbers(
                f"link{i}",
                i - 1,
                before @ opposite @ turn @ basis.T,
                link_ends[i - 1] if i else np.array(SHIFT, dtype=object),
                np.concatenate([axis, zeros(3)]).reshape(1, 6),
                mass,
                centre,
                central,
                spatial_inertia(mass, centre * mass, moments),
            )
        )
    return Chain(f"slanted{n}", tuple(links), zeros(3), False)
