"""Equations of motion of planar chains with any number of links, as sums with symbolic ranges.

Let link k have the angle θ_k = q[0:k], the mass m_k, the first moment h_k (a complex number in the
link's axes) and the second moment J_k about its joint. Joint k + 1 lies at the complex number r in
the axes of link k. A point z of link l then has the position

    x = x_0 + Σ_{k<l} r exp(iθ_k) + z exp(iθ_l),

and its derivative with respect to q_i is i times the terms k ≥ i of this sum. With a_{l,k} = r for
k < l and z for k = l, the kinetic energy is ½ Σ_{k,k'} M_{kk'} θ̇_k θ̇_k' with

    M_{kk'} = Re(A_{kk'} exp(i(θ_k' − θ_k))),    A_{kk'} = Σ_{l ≥ k,k'} ∫ conj(a_{l,k}) a_{l,k'} dm.

The integral over link l is m_l |r|² for k, k' < l, conj(r) h_l for k < k' = l, conj(h_l) r for
k' < k = l, and J_l for k = k' = l. Lagrange's equations with θ_k = q_0 + … + q_k give

    M[i,j] = Σ_{k≥i, k'≥j} M_{kk'},
    C[i,j] = Σ_{k≥i, k'≥j} ∂M_{kk'}/∂θ_k' θ̇_k'        (Christoffel's symbols),
    dtau_dv[i,j] = 2 C[i,j],
    c[i]   = Σ_{k≥i, k'} ∂M_{kk'}/∂θ_k' θ̇_k'² + g[i],
    tau[i] = Σ_{k≥i, k'} M_{kk'} θ̈_k' + c[i],
    g[i]   = −Σ_l Σ_{i≤k≤l} ∫ Re(conj(γ) i a_{l,k} exp(iθ_k)) dm,
    dtau_dq[i,j] = ∂tau[i]/∂q[j],

where γ is the vector of gravity in the plane. Here θ̇_k = v[0:k] and θ̈_k = a[0:k].

The origin of link i is x_0 + Σ_{k<i} r exp(iθ_k).

If every link is a point mass at its end x_l, LC's coordinates are the length L_i of link i and its
angle θ_i with link i − 1. The vector s_k of link k in its axes satisfies
x_k − x_{k−1} = s_k exp(iθ_k). The derivative of L_i is the unit vector e_i = s_i/|s_i| exp(iθ_i) at
x_i and −e_i at x_{i−1}. The derivative of the direction of link i is the vector
n_i = i s_i/|s_i|² exp(iθ_i) at x_i and −n_i at x_{i−1}. θ_i is the difference of the directions of
links i and i − 1. The blocks of H are the sums over l of products of two such derivatives with
respect to x_l, over m_l, LC (3).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import NamedTuple

from symgen.derivation import constants as k
from symgen.derivation.model.links import ZERO_INERTIA, Link
from symgen.inspection.entries import declared_model
from symgen.inspection.general.formulas import Affine, Kind
from symgen.inspection.general.partial_sums import PARTIAL_SUM
from symgen.inspection.general.regions import (
    Constraint,
    Piece,
    Region,
    at_least,
    equal,
    piece,
    plus,
    sum_out,
)
from symgen.mechanism.drives import NO_DRIVE
from symgen.mechanism.mechanism import Mechanism

Complex = tuple[Fraction, Fraction]
Pieces = dict[Kind, list[Piece]]
"""Coefficients of the terms of a sum by kind, as functions of the positions p0, p1, …."""
ROW, COLUMN, LINK = Affine("row", 0), Affine("column", 0), Affine("link", 0)
NO_SYMBOL = ("", 0)
FIRST, LAST = Affine("", 0), Affine("n", -1)
MOTION = ("M", "C", "c", "tau", "g", "dtau_dv", "dtau_dq")
IMAGINARY = (Fraction(0), Fraction(1))
BLOCKS = {
    "H_theta_theta": ("θ", "θ"),
    "H_theta_L": ("θ", "L"),
    "H_L_theta": ("L", "θ"),
    "H_L_L": ("L", "L"),
}
SLOPES = {"dtheta_dx": "θ", "dL_dx": "L"}
SHORTEST = 4
"""Links of a chain with a first link, two equal ones, and a last link."""


@dataclass(frozen=True)
class Body:
    """Mass, first moment and second moment about the joint of a link, in the plane."""

    mass: Fraction
    first: Complex
    second: Fraction


@dataclass(frozen=True)
class PlanarChain:
    """A planar chain: the first link, those like the second one, and the last one; `step` is the
    joint's position in the axes of the link before it.

    The columns of `axes` are the two directions of the plane and its normal, in the base. `start`
    is the position of the first joint, `rise` the distance of two joints along the normal.
    """

    bodies: tuple[Body, Body, Body]
    step: Complex
    gravity: Complex
    axes: k.Mat3
    start: k.Vec3
    rise: Fraction

    def links(self) -> Iterator[tuple[Body, tuple[Constraint, ...]]]:
        """Yield each body and the links that have it."""
        first, like, last = self.bodies
        yield first, equal(LINK, FIRST)
        yield like, (at_least(LINK, FIRST, 1), at_least(LAST, LINK, 1))
        yield last, equal(LINK, LAST)


def planar_chain(mechanism: Mechanism) -> PlanarChain | None:
    """Return the numbers of a chain of four links whose joints turn about parallel axes; None if a
    joint differs from that, has a drive, or if a link has gravity compensation or an irrational
    number.
    """
    with k.precision():
        links = declared_model(mechanism).links
        are_plain = all(
            link.turns
            and link.directed
            and k.is_zero(link.stride)
            and link.drive == NO_DRIVE
            and link.compensated == ZERO_INERTIA
            for link in links
        )
        parallel = all(link.rotation == k.IDENTITY for link in links[1:])
        steps = {tuple(link.shift) for link in links[1:]}
        if not are_plain or not parallel or len(steps) > 1:
            return None
        gravity = k.apply(k.transpose(links[0].rotation), links[0].gravity)[:2]
        numbers = [*gravity, *links[1].shift, *links[0].shift]
        numbers += [x for row in links[0].rotation for x in row]
        numbers += [x for link in links for x in (link.inertia.m, *link.inertia.h, *link.inertia.S)]
        if not all(map(k.is_rational, numbers)):
            return None
        return PlanarChain(
            (_body(links[0]), _body(links[1]), _body(links[-1])),
            _complex(links[1].shift),
            _complex(gravity),
            links[0].rotation,
            links[0].shift,
            _fraction(links[1].shift[2]),
        )


def _body(link: Link) -> Body:
    m, h, S = link.inertia.m, link.inertia.h, link.inertia.S
    return Body(_fraction(m), _complex(h), _fraction(S[0]) + _fraction(S[3]))


def _complex(vector: Sequence[k.Constant]) -> Complex:
    return _fraction(vector[0]), _fraction(vector[1])


def _fraction(x: k.Constant) -> Fraction:
    return k.to_fraction(x)


def times(a: Complex, b: Complex) -> Complex:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def conjugate(a: Complex) -> Complex:
    return a[0], -a[1]


def of_motion(chain: PlanarChain, letter: str, indices: Sequence[Affine]) -> Pieces:
    """Return the coefficients of the terms of a letter of the equations of motion."""
    rows = (at_least(ROW, indices[0]),)
    is_slope = letter == "dtau_dq"
    along = indices[1] if is_slope else None
    columns = at_least(COLUMN, indices[1] if len(indices) > 1 and not is_slope else FIRST)
    total: Pieces = defaultdict(list)
    if letter == "M":
        _add_inertia(total, chain, (*rows, columns), NO_SYMBOL)
    if letter in ("C", "dtau_dv"):
        factor = 2 if letter == "dtau_dv" else 1
        _add_inertia(total, chain, (*rows, columns), ("v", 1), factor)
    if letter in ("c", "tau", "dtau_dq"):
        _add_inertia(total, chain, (*rows, columns), ("v", 2), along=along)
        _add_gravity(total, chain, rows, along)
    if letter in ("tau", "dtau_dq"):
        _add_inertia(total, chain, (*rows, columns), ("a", 1), along=along)
    if letter == "g":
        _add_gravity(total, chain, rows)
    return total


def _add_inertia(
    total: Pieces,
    chain: PlanarChain,
    ranges: tuple[Constraint, ...],
    symbol: tuple[str, int],
    factor: int = 1,
    along: Affine | None = None,
) -> None:
    """Add a factor times the sum over rows k and columns k' of M_{kk'}, times a power of the
    acceleration of link k'. With the rate "v" of link k', it is the sum of ∂M_{kk'}/∂θ_k'.

    `along`: the joint by whose angle the sum is differentiated, if any.
    """
    r = chain.step
    for body, of_link in chain.links():
        inner = (at_least(LINK, ROW, 1), at_least(LINK, COLUMN, 1))
        products = [
            (times(conjugate(r), (body.mass * r[0], body.mass * r[1])), inner),
            (times(conjugate(r), body.first), (inner[0], *equal(LINK, COLUMN))),
            (times(conjugate(body.first), r), (*equal(LINK, ROW), inner[1])),
            ((body.second, Fraction(0)), (*equal(LINK, ROW), *equal(LINK, COLUMN))),
        ]
        for (x, y), where in products:
            amount = (factor * x, factor * y)
            if symbol[0] == "v":
                amount = times(IMAGINARY, amount)
            common = (*ranges, *of_link, *where)
            _add_pair(total, amount, common, symbol, along)


def _add_pair(
    total: Pieces,
    amount: Complex,
    common: tuple[Constraint, ...],
    symbol: tuple[str, int],
    along: Affine | None = None,
) -> None:
    """Add the sum of Re(amount exp(i(θ_column − θ_row))) times a power of a symbol of the column,
    or its derivative by the angle of the joint `along`.

    θ_column − θ_row is q[row+1:column], or −q[column+1:row].
    """
    for low, high, sign in ((ROW, COLUMN, 1), (COLUMN, ROW, -1)):
        where = (*common, at_least(high, low, 1))
        x, y = amount
        if along is not None:
            where = (*where, at_least(along, low, 1), at_least(high, along))
            x, y = times((Fraction(0), Fraction(sign)), amount)
        positions = [plus(low, 1), high]
        for sine, value in ((False, x), (True, -sign * y)):
            add_terms(total, sine, (1,), positions, symbol, value, where)
    if along is None:  # the derivative of a constant is zero
        add_terms(total, False, (), [], symbol, amount[0], (*common, *equal(ROW, COLUMN)))


def _add_gravity(
    total: Pieces,
    chain: PlanarChain,
    rows: tuple[Constraint, ...],
    along: Affine | None = None,
) -> None:
    """Add the derivative of the potential energy, a sum over links and rows, or its derivative by
    the angle of the joint `along`.
    """
    turned = times((Fraction(0), Fraction(-1)), conjugate(chain.gravity))
    if along is not None:
        turned = times(IMAGINARY, turned)
        rows = (*rows, at_least(ROW, along))
    for body, of_link in chain.links():
        for z, scale, where in (
            (chain.step, body.mass, (at_least(LINK, ROW, 1),)),
            (body.first, Fraction(1), equal(LINK, ROW)),
        ):
            x, y = times(turned, z)
            for sine, value in ((False, x), (True, -y)):
                constraints = (*rows, *of_link, *where, *equal(COLUMN, FIRST))
                add_terms(total, sine, (1,), [FIRST, ROW], NO_SYMBOL, scale * value, constraints)


def origin_of_link(chain: PlanarChain, indices: Sequence[Affine]) -> Pieces:
    """Return one coordinate of the origin of a link in the base."""
    total: Pieces = defaultdict(list)
    link, axis = indices[0], indices[1].constant
    east, north, normal = (_fraction(x) for x in chain.axes[axis])
    x, y = chain.step
    amount = (east * x + north * y, north * x - east * y)
    before = (at_least(ROW, FIRST), at_least(link, ROW, 1), *equal(LINK, ROW), *equal(COLUMN, ROW))
    for sine, value in ((False, amount[0]), (True, amount[1])):
        add_terms(total, sine, (1,), [FIRST, ROW], NO_SYMBOL, value, before)
    add_terms(total, False, (), [], NO_SYMBOL, normal * chain.rise, before)
    fixed = [x for index in (ROW, COLUMN, LINK) for x in equal(index, FIRST)]
    add_terms(total, False, (), [], NO_SYMBOL, _fraction(chain.start[axis]), fixed)
    return total


class Slope(NamedTuple):
    """Part of the derivative of a coordinate i: `sign` times e_k or n_k with k = i + `angle`, with
    respect to x_l with l = k + `mass`.
    """

    angle: int
    mass: int
    sign: int


PARTS = {
    "L": (Slope(0, 0, 1), Slope(0, -1, -1)),
    "θ": (Slope(0, 0, 1), Slope(0, -1, -1), Slope(-1, 0, -1), Slope(-1, -1, 1)),
}


def of_points(chain: PlanarChain, name: str, indices: Sequence[Affine]) -> list[Pieces] | None:
    """Return the entries of a letter of LC; None if a link is no point mass at its end, or if a
    length is irrational.
    """
    masses = [body.mass for body in chain.bodies]
    if not all(masses):
        return None
    mass_points = [
        (body.first[0] / mass, body.first[1] / mass)
        for body, mass in zip(chain.bodies, masses, strict=True)
    ]
    are_points = all(
        body.second == mass * _square(end)
        for body, mass, end in zip(chain.bodies, masses, mass_points, strict=True)
    )
    lengths = [_root(_square(end)) for end in mass_points]
    if (
        not are_points
        or mass_points[0] != chain.step
        or mass_points[1] != chain.step
        or not all(lengths)
    ):
        return None
    if name in BLOCKS:
        return [_block(chain, mass_points, BLOCKS[name], indices)]
    if chain.axes != k.IDENTITY:
        return None
    entries: list[Pieces] = [defaultdict(list), defaultdict(list)]
    for amount, where in _derivatives(SLOPES[name], mass_points, indices[0], ROW):
        x, y = amount
        constraints = (*where, *equal(LINK, indices[1]), *equal(COLUMN, FIRST))
        for total, waves in zip(
            entries, (((False, x), (True, -y)), ((True, x), (False, y))), strict=True
        ):
            for sine, value in waves:
                add_terms(total, sine, (1,), [FIRST, ROW], NO_SYMBOL, value, constraints)
    return entries


def _block(
    chain: PlanarChain,
    mass_points: Sequence[Complex],
    coordinates: tuple[str, str],
    indices: Sequence[Affine],
) -> Pieces:
    """Return an entry of H: sum over the masses of products of two derivatives, over the mass."""
    total: Pieces = defaultdict(list)
    for (a, of_row), (b, of_column), (body, of_link) in product(
        list(_derivatives(coordinates[0], mass_points, indices[0], ROW)),
        list(_derivatives(coordinates[1], mass_points, indices[1], COLUMN)),
        list(chain.links()),
    ):
        x, y = times(conjugate(a), b)
        amount = (x / body.mass, y / body.mass)
        _add_pair(total, amount, (*of_row, *of_column, *of_link), NO_SYMBOL)
    return total


def _derivatives(
    letter: str, mass_points: Sequence[Complex], index: Affine, link: Affine
) -> Iterator[tuple[Complex, tuple[Constraint, ...]]]:
    """Yield the parts of the derivative of coordinate `index`: the factor of exp(iθ_link), and
    where it applies.
    """
    for term in PARTS[letter]:
        common = (
            *equal(link, plus(index, term.angle)),
            *equal(LINK, plus(link, term.mass)),
            at_least(link, FIRST),
            at_least(LINK, FIRST),
        )
        for end, of_end in (
            (mass_points[1], (at_least(LAST, link, 1),)),
            (mass_points[2], equal(link, LAST)),
        ):
            square = _square(end)
            size = _root(square) if letter == "L" else square
            turned = end if letter == "L" else times(IMAGINARY, end)
            amount = (term.sign * turned[0] / size, term.sign * turned[1] / size)
            yield amount, (*common, *of_end)


def _square(a: Complex) -> Fraction:
    return a[0] * a[0] + a[1] * a[1]


def _root(square: Fraction) -> Fraction:
    """Return the square root of a rational number; 0 if it is irrational."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root * root == square else Fraction(0)


def add_terms(
    total: Pieces,
    sine: bool,
    multiples: tuple[int, ...],
    positions: Sequence[Affine],
    symbol: tuple[str, int],
    value: Fraction,
    constraints: Sequence[Constraint],
) -> None:
    """Add the terms of one kind: `value` times a cosine or sine and a power of a symbol of the
    column, over all rows, columns and links that the constraints allow.
    """
    letter, power = symbol
    symbols = ((PARTIAL_SUM[letter], power),) if letter else ()
    positions = [*positions, COLUMN] if letter else positions
    ties = [x for at, index in enumerate(positions) for x in equal(Affine(f"p{at}", 0), index)]
    total_piece = piece([*constraints, *ties], {(): value} if value else {})
    if (
        total_piece is None
        or not total_piece.polynomial
        or Region(total_piece.constraints).is_empty
    ):
        return
    summed_pieces = [total_piece]
    for index in (LINK, ROW, COLUMN):
        summed_pieces = [
            summed_piece
            for before in summed_pieces
            for summed_piece in sum_out(before, index.variable)
        ]
    if summed_pieces:
        total[Kind(sine, multiples, symbols)] += summed_pieces
