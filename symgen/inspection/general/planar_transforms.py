"""Operators that take wrenches and twists along a planar chain of any length, as sums with symbolic
ranges: φ of RK, and B and T of SA.

With the complex numbers of `planar`, link j's origin lies, in the axes of link i ≤ j, at

    p_ij = Σ_{i≤k<j} r exp(iq[i+1:k]),

where q[i+1:i] is empty. In these axes link j is turned by q[i+1:j]. RK (3.2) takes the wrench
(moment, force) on link j to link i:

    φ(i,j) = | R  p̃ R |        R = Rz(q[i+1:j]).
             | 0    R |

Let c_i be the mass centre of link i in its axes, and i ≥ j. SA (4) takes the twist (angular,
linear) at C_j to C_i, in the axes of link j. T (8) is the twist at C_i of a unit rate of joint j,
in the axes of link i:

    B_ij = | 1   0 |        d = p_ji + c_i exp(iq[j+1:i]) − c_j,
           | −d̃  1 |

    T_ij = (0, 0, 1, i e, 0),    e = Σ_{j≤k<i} r exp(−iq[k+1:i]) + c_i.

The joints' axes are the z axes of the links. For φ, all origins lie in one plane across them, and
for B all mass centres too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from symgen.derivation import constants as k
from symgen.inspection.entries import declared_model
from symgen.inspection.general.formulas import Affine
from symgen.inspection.general.planar import (
    COLUMN,
    FIRST,
    IMAGINARY,
    LINK,
    NO_SYMBOL,
    ROW,
    Complex,
    Pieces,
    PlanarChain,
    add_terms,
    conjugate,
    times,
)
from symgen.inspection.general.regions import Constraint, at_least, equal, plus
from symgen.mechanism.mechanism import Mechanism

TRANSFORMS = {
    ("riccati", "phi"): "the poses of the links of a planar chain, RK (3.2)",
    ("udut", "B"): "the mass centres of a planar chain, SA (4)",
    ("udut", "T"): "the mass centres of a planar chain, SA (4), (8)",
}
"""Letters that are stated here, by method and name, and where their definition comes from."""
ONE: Complex = (Fraction(1), Fraction(0))
Entries = dict[tuple[int, int], Pieces]
Wave = tuple[Complex, int, tuple[Affine, Affine] | None, tuple[Constraint, ...]]
"""Factor, sign of the angle, first and last joint of the angle or None, and constraints."""


def transform(
    mechanism: Mechanism, chain: PlanarChain, name: str, indices: Sequence[Affine]
) -> list[Pieces] | None:
    """Return the entries of a letter row by row, as `definitions.definition`.

    None if a joint's axis is not z; for B and T, if a link has no mass; for φ, if origins have
    different heights along the axes; for B, if origins or mass centres have.
    """
    with k.precision():
        links = declared_model(mechanism).links
        rises = {link.shift[2] for link in links[1:]}
        heights = {link.inertia.h[2] / link.inertia.m for link in links if link.inertia.m != 0}
    axes = {tuple(map(float, joint.axis)) for joint in mechanism.joints}
    masses = [body.mass for body in chain.bodies]
    has_centres = name == "phi" or all(masses)
    in_one_plane = name == "T" or (rises == {0} and (name == "phi" or len(heights) == 1))
    if axes != {(0.0, 0.0, 1.0)} or not (has_centres and in_one_plane):
        return None
    entries: Entries = defaultdict(lambda: defaultdict(list))
    columns = 6
    if name == "phi":
        _force_shift(entries, chain, indices[0], indices[1])
    elif name == "B":
        _twist_shift(entries, chain, indices[0], indices[1])
    else:
        columns = 1
        _rate_twist(entries, chain, indices[0], indices[1])
    return [entries[r, c] for r in range(6) for c in range(columns)]


def _force_shift(entries: Entries, chain: PlanarChain, i: Affine, j: Affine) -> None:
    """Add φ(i,j)."""
    same = equal(i, j)
    beyond = (at_least(j, i, 1),)
    rotation: list[Wave] = [(ONE, 1, None, same), (ONE, 1, (plus(i, 1), j), beyond)]
    for block in (0, 3):
        _add_rotation(entries, block, rotation)
        for where in (same, beyond):
            _add(entries[block + 2, block + 2], (ONE, 1, None, where), ONE)
    r = chain.step
    carried: list[Wave] = [  # conj(p) exp(iq[i+1:j])
        (conjugate(r), 1, (plus(ROW, 1), j), (at_least(ROW, i), at_least(j, ROW, 2))),
        (conjugate(r), 1, (j, j), (*equal(ROW, plus(j, -1)), at_least(j, i, 1))),
    ]
    for wave in carried:
        _add(entries[2, 3], wave, IMAGINARY)
        _add(entries[2, 4], wave, ONE)
    for wave in _origins(chain, i, j):
        _add(entries[0, 5], wave, IMAGINARY)
        _add(entries[1, 5], wave, (Fraction(-1), Fraction(0)))


def _twist_shift(entries: Entries, chain: PlanarChain, i: Affine, j: Affine) -> None:
    """Add B_ij."""
    for row in range(6):
        _add(entries[row, row], (ONE, 1, None, (at_least(i, j),)), ONE)
    beyond = at_least(i, j, 1)
    offset = _origins(chain, j, i)
    for body, of_link in chain.links():
        centre = (body.first[0] / body.mass, body.first[1] / body.mass)
        opposite = (-centre[0], -centre[1])
        offset.append((centre, 1, (plus(j, 1), i), (*of_link, *equal(LINK, i), beyond)))
        offset.append((opposite, 1, None, (*of_link, *equal(LINK, j), beyond)))
    for wave in offset:
        _add(entries[3, 2], wave, (Fraction(0), Fraction(-1)))
        _add(entries[4, 2], wave, ONE)
        _add(entries[5, 0], wave, IMAGINARY)
        _add(entries[5, 1], wave, (Fraction(-1), Fraction(0)))


def _rate_twist(entries: Entries, chain: PlanarChain, i: Affine, j: Affine) -> None:
    """Add T_ij."""
    outward = at_least(i, j)
    _add(entries[2, 0], (ONE, 1, None, (outward,)), ONE)
    waves: list[Wave] = [
        (chain.step, -1, (plus(ROW, 1), i), (at_least(ROW, j), at_least(i, ROW, 1)))
    ]
    for body, of_link in chain.links():
        centre = (body.first[0] / body.mass, body.first[1] / body.mass)
        waves.append((centre, 1, None, (*of_link, *equal(LINK, i), outward)))
    for factor, sign, angle, where in waves:
        turned = times(IMAGINARY, factor)
        _add(entries[3, 0], (turned, sign, angle, where), ONE)
        _add(entries[4, 0], (turned, sign, angle, where), IMAGINARY)


def _origins(chain: PlanarChain, i: Affine, j: Affine) -> list[Wave]:
    """Return the terms of p_ij."""
    return [
        (chain.step, 1, None, (*equal(ROW, i), at_least(j, i, 1))),
        (chain.step, 1, (plus(i, 1), ROW), (at_least(ROW, i, 1), at_least(j, ROW, 1))),
    ]


def _add_rotation(entries: Entries, block: int, rotation: Sequence[Wave]) -> None:
    """Add Rz of an angle to the block whose first row and column is `block`."""
    for wave in rotation:
        for row, column, part in ((0, 0, ONE), (0, 1, IMAGINARY), (1, 0, IMAGINARY), (1, 1, ONE)):
            sign = -1 if (row, column) == (0, 1) else 1
            _add(entries[block + row, block + column], wave, (sign * part[0], sign * part[1]))


def _add(total: Pieces, wave: Wave, part: Complex) -> None:
    """Add the real part of a wave times part[0], or its imaginary part times part[1]."""
    (x, y), sign, angle, where = wave
    real, imaginary = part
    tied = {name for item in where for name in (item.left, item.right)}
    free = [
        x
        for index in (LINK, ROW, COLUMN)
        if index.variable not in tied
        for x in equal(index, FIRST)
    ]
    constraints = [*where, *free]
    multiples: tuple[int, ...] = () if angle is None else (1,)
    positions = [] if angle is None else [*angle]
    cosine, sine = real * x + imaginary * y, sign * (imaginary * x - real * y)
    if angle is None:
        add_terms(total, False, multiples, positions, NO_SYMBOL, cosine, constraints)
        return
    for is_sine, value in ((False, cosine), (True, sine)):
        add_terms(total, is_sine, multiples, positions, NO_SYMBOL, value, constraints)
