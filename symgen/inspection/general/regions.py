"""Polynomials on regions of integer points, and a decision whether a sum of them is zero
everywhere.

A region is given by constraints x − y ≥ c between integer variables, among them indices of links
and the number of links n; the name "" is zero. Such constraints are closed exactly: the greatest
lower bound of every difference is the longest path between two variables (Floyd, Warshall), and it
is attained by an integer point. So a region is empty exactly if a longest path from a variable to
itself is positive.

`vanishes` divides the region of all points by every constraint that is neither certain nor
impossible in it. In a part without such constraints the sum is one polynomial. It is zero there if
it has no terms after variables with a fixed difference are identified. There are finitely many
parts, although n is not bounded. The answer True is a proof for every n; False is no disproof.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb
from typing import NamedTuple

from symgen.inspection.general.formulas import Affine, Polynomial

ZERO_NAME = ""
NARROW = 8
"""Greatest width of a region that is divided into its layers."""
Terms = Mapping[tuple[str, ...], Fraction]
"""Polynomial: sorted names of a product, and its coefficient."""


class Constraint(NamedTuple):
    """left − right ≥ least."""

    left: str
    right: str
    least: int

    def opposite(self) -> Constraint:
        """Return the constraint that holds exactly where this one does not."""
        return Constraint(self.right, self.left, 1 - self.least)


def at_least(greater: Affine, less: Affine, margin: int = 0) -> Constraint:
    """Return the constraint greater ≥ less + margin."""
    return Constraint(greater.variable, less.variable, less.constant + margin - greater.constant)


def equal(first: Affine, second: Affine) -> tuple[Constraint, Constraint]:
    """Return the constraints first = second."""
    return at_least(first, second), at_least(second, first)


def plus(index: Affine, constant: int) -> Affine:
    """Return an index plus a constant."""
    return Affine(index.variable, index.constant + constant)


@dataclass(frozen=True)
class Piece:
    """A polynomial on the points that satisfy all constraints, and zero elsewhere."""

    constraints: tuple[Constraint, ...]
    polynomial: tuple[tuple[tuple[str, ...], Fraction], ...]

    def scaled(self, factor: Fraction) -> Piece:
        """Return the piece times a number."""
        return Piece(self.constraints, tuple((names, factor * x) for names, x in self.polynomial))


def piece(constraints: Iterable[Constraint], polynomial: Terms | Polynomial) -> Piece | None:
    """Return a piece without trivial constraints; None if one of them is impossible."""
    terms = dict(polynomial.terms) if isinstance(polynomial, Polynomial) else polynomial
    nontrivial: list[Constraint] = []
    for item in constraints:
        if item.left != item.right:
            nontrivial.append(item)
        elif item.least > 0:
            return None
    simplified = _sum_terms((tuple(sorted(names)), x) for names, x in terms.items())
    return Piece(tuple(dict.fromkeys(nontrivial)), tuple(sorted(simplified.items())))


def sum_out(original: Piece, name: str) -> list[Piece]:
    """Return the sum of a piece over all integers in place of a variable.

    The variable needs a lower and an upper bound. Where several bounds compete, each piece of the
    result has one greatest lower and one least upper bound.
    """
    lower = [Affine(c.right, c.least) for c in original.constraints if c.left == name]
    upper = [Affine(c.left, -c.least) for c in original.constraints if c.right == name]
    independent = [c for c in original.constraints if name not in (c.left, c.right)]
    terms = dict(original.polynomial)
    fixed = next((index for index in lower if index in upper), None)
    pieces: list[Piece | None] = []
    if fixed is not None:
        bounds = [at_least(fixed, index) for index in lower]
        bounds += [at_least(index, fixed) for index in upper]
        return _existing([piece([*independent, *bounds], _substituted(terms, name, fixed))])
    sums = _antidifference(terms, name)
    for a, first in enumerate(lower):
        for b, last in enumerate(upper):
            bounds = [at_least(last, first)]
            bounds += [at_least(first, x, int(at < a)) for at, x in enumerate(lower) if at != a]
            bounds += [at_least(x, last, int(at < b)) for at, x in enumerate(upper) if at != b]
            until = _substituted(sums, name, last)
            before = _substituted(sums, name, plus(first, -1))
            difference = _sum_terms([*until.items(), *((x, -y) for x, y in before.items())])
            pieces.append(piece([*independent, *bounds], difference))
    return _existing(pieces)


def _existing(pieces: Iterable[Piece | None]) -> list[Piece]:
    return [candidate for candidate in pieces if candidate is not None and candidate.polynomial]


def _sum_terms(
    terms: Iterable[tuple[tuple[str, ...], Fraction]],
) -> dict[tuple[str, ...], Fraction]:
    """Return a polynomial with like terms collected, without zeros."""
    total: dict[tuple[str, ...], Fraction] = defaultdict(Fraction)
    for names, x in terms:
        total[names] += x
    return {names: x for names, x in total.items() if x}


def _substituted(terms: Terms, name: str, index: Affine) -> dict[tuple[str, ...], Fraction]:
    """Return the polynomial with variable + constant in place of a name."""
    expanded: list[tuple[tuple[str, ...], Fraction]] = []
    for names, x in terms.items():
        remaining_names = tuple(x for x in names if x != name)
        power = len(names) - len(remaining_names)
        for n in range(power + 1) if index.variable else (0,):
            product = tuple(sorted((*remaining_names, *[index.variable] * n)))
            expanded.append((product, x * comb(power, n) * index.constant ** (power - n)))
    return _sum_terms(expanded)


def _antidifference(terms: Terms, name: str) -> dict[tuple[str, ...], Fraction]:
    """Return a polynomial S with S(name) − S(name − 1) equal to the given one."""
    total: list[tuple[tuple[str, ...], Fraction]] = []
    for names, x in terms.items():
        remaining_names = tuple(x for x in names if x != name)
        for power, y in enumerate(_power_sum(len(names) - len(remaining_names))):
            total.append((tuple(sorted((*remaining_names, *[name] * power))), x * y))
    return _sum_terms(total)


@cache
def _power_sum(degree: int) -> tuple[Fraction, ...]:
    """Return the coefficients of 0^d + 1^d + … + m^d as a polynomial in m, for d = degree.

    (m + 1)^(d+1) is the sum over j ≤ d of binomial(d + 1, j) times the sum of j-th powers.
    """
    total = [Fraction(comb(degree + 1, power)) for power in range(degree + 2)]
    for j in range(degree):
        for power, x in enumerate(_power_sum(j)):
            total[power] -= comb(degree + 1, j) * x
    return tuple(x / (degree + 1) for x in total)


class Region:
    """Integer points that satisfy constraints: `bounds`[x, y] is the greatest lower bound of x − y
    where there is one.
    """

    def __init__(self, constraints: Iterable[Constraint] = ()) -> None:
        self.bounds: dict[tuple[str, str], int] = {}
        self.names: list[str] = [ZERO_NAME]
        self.is_empty = False
        for item in constraints:
            self._add(item)

    def with_constraint(self, item: Constraint) -> Region:
        """Return the part of the region in which a constraint holds."""
        subregion = Region()
        subregion.bounds, subregion.names = dict(self.bounds), list(self.names)
        subregion.is_empty = self.is_empty
        subregion._add(item)
        return subregion

    def _bound(self, left: str, right: str) -> int | None:
        return 0 if left == right else self.bounds.get((left, right))

    def _add(self, item: Constraint) -> None:
        left, right, least = item
        self.names += [name for name in (left, right) if name not in self.names]
        opposite = self._bound(right, left)
        if opposite is not None and opposite + least > 0:
            self.is_empty = True
        bound = self._bound(left, right)
        if self.is_empty or (bound is not None and bound >= least):
            return
        to_left = [(x, b) for x in self.names if (b := self._bound(x, left)) is not None]
        from_right = [(y, b) for y in self.names if (b := self._bound(right, y)) is not None]
        for x, before in to_left:
            for y, after in from_right:
                bound = before + least + after
                earlier = self._bound(x, y)
                if x != y and (earlier is None or earlier < bound):
                    self.bounds[x, y] = bound

    def implies(self, item: Constraint) -> bool:
        """Return True if a constraint holds at every point."""
        bound = self._bound(item.left, item.right)
        return self.is_empty or (bound is not None and bound >= item.least)

    def excludes(self, item: Constraint) -> bool:
        """Return True if a constraint holds at no point."""
        return self.implies(item.opposite())

    def reduced(self, terms: Terms) -> dict[tuple[str, ...], Fraction]:
        """Return a polynomial in which variables with a fixed difference are one variable."""
        order = sorted(self.names)
        for at, name in enumerate(order):
            for earlier in order[:at]:
                least, most = self._bound(name, earlier), self._bound(earlier, name)
                if least is not None and most == -least:
                    terms = _substituted(terms, name, Affine(earlier, least))
                    break
        return dict(terms)

    def narrowest(self) -> Constraint | None:
        """Return a constraint that divides the narrowest bounded difference which is not fixed."""
        widths = []
        for (x, y), least in self.bounds.items():
            most = self._bound(y, x)
            if most is not None and 0 < -most - least <= NARROW:
                widths.append((-most - least, x, y, least))
        if not widths:
            return None
        _, x, y, least = min(widths)
        return Constraint(x, y, least + 1)


def vanishes(region: Region, pieces: Sequence[Piece]) -> bool:
    """Return True if the sum of the pieces is zero at every point of a region."""
    if region.is_empty:
        return True
    active: list[Piece] = []
    for summand in pieces:
        if any(region.excludes(item) for item in summand.constraints):
            continue
        open_constraints = tuple(x for x in summand.constraints if not region.implies(x))
        active.append(Piece(open_constraints, summand.polynomial))
    split = next((item for summand in active for item in summand.constraints), None)
    if split is None:
        total = _sum_terms(term for summand in active for term in summand.polynomial)
        if not region.reduced(total):
            return True
        split = region.narrowest()
        if split is None:
            return False
    return all(vanishes(region.with_constraint(item), active) for item in (split, split.opposite()))
