"""Search for formulas: cases of the indices, and in each of them sums that have exactly the terms
of the blocks of short chains.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

from flint import fmpq, fmpq_mat

from symgen.inspection.canonical import Quotient
from symgen.inspection.general.formulas import (
    OPPOSITE,
    Affine,
    Case,
    Condition,
    Kind,
    Polynomial,
    Sum,
    Values,
    terms_by_kind,
)
from symgen.inspection.multiangle import MultiAngle

MOST_DEGREE = 2
"""Degree of coefficients in the indices."""
MOST_SPLITS = 4
"""Most divisions of the blocks into cases."""
MOST_DIAGONALS = 5
"""Most diagonals of a letter that are cases of their own."""
MOST_WRITTEN = 3
"""Most terms of a sum that are written one by one."""
MOST_RANGES = 3
"""Most sums into which the terms of one kind are divided."""
Points = dict[tuple[tuple[str, int], ...], Any]
"""Values of the indices, as items, and what is known there."""


def _affine(
    rows: Sequence[tuple[Values, int]], variables: Sequence[str], most: int = 3
) -> Affine | None:
    """Return the index variable + constant that has the given value in each row."""
    for variable in ("", *variables):
        values, value = rows[0]
        index = Affine(variable, value - (values[variable] if variable else 0))
        if variable and abs(index.constant) > most:
            continue
        if all(index.at(values) == value for values, value in rows):
            return index
    return None


def _polynomial(
    rows: Sequence[tuple[Values, Fraction]], variables: Sequence[str], most_degree: int
) -> Polynomial | None:
    """Return the polynomial of least degree with the given values; None if there is none that has
    fewer coefficients than there are rows.
    """
    for degree in range(most_degree + 1):
        products = [
            names
            for power in range(degree + 1)
            for names in combinations_with_replacement(variables, power)
        ]
        matrix = [
            [Polynomial(((names, Fraction(1)),)).at(values) for names in products] + [x]
            for values, x in rows
        ]
        distinct = sorted(set(map(tuple, matrix)))
        reduced, rank = fmpq_mat(
            [[fmpq(x.numerator, x.denominator) for x in row] for row in distinct]
        ).rref()
        pivots = [
            next(c for c in range(len(products) + 1) if reduced[r, c] != 0) for r in range(rank)
        ]
        if len(products) in pivots or (degree and len(distinct) <= rank):
            continue
        solved = [
            (
                products[c],
                Fraction(int(reduced[r, len(products)].p), int(reduced[r, len(products)].q)),
            )
            for r, c in enumerate(pivots)
        ]
        return Polynomial(tuple((names, x) for names, x in solved if x))
    return None


def _one_sum(
    kind: Kind,
    data: Mapping[Any, Mapping[tuple[int, ...], Fraction]],
    variables: Sequence[str],
    degree: int,
) -> Sum | None:
    """Return the sum that has exactly these terms at each point."""
    position_count = len(next(positions for terms in data.values() for positions in terms))
    spare = [name for name in "klmst" if name not in variables]
    outside = [*variables, "n"]
    for count in range(min(position_count, 2) + 1):
        for chosen in combinations(range(position_count), count):
            names = spare[:count]
            rows = [
                (
                    {
                        **dict(point),
                        **{name: positions[at] for name, at in zip(names, chosen, strict=True)},
                    },
                    positions,
                    x,
                )
                for point, terms in data.items()
                for positions, x in terms.items()
            ]
            ranges = _ranges(names, [values for values, _, _ in rows], outside)
            affine_by_position = {
                at: _affine(
                    [(values, positions[at]) for values, positions, _ in rows], [*outside, *names]
                )
                for at in range(position_count)
                if at not in chosen
            }
            fixed = {at: index for at, index in affine_by_position.items() if index is not None}
            if ranges is None or len(fixed) < len(affine_by_position):
                continue
            coefficient = _polynomial(
                [(values, x) for values, _, x in rows], [*outside, *names], degree
            )
            if coefficient is None:
                continue
            summed = {at: Affine(name, 0) for name, at in zip(names, chosen, strict=True)}
            positions = tuple({**fixed, **summed}[at] for at in range(position_count))
            total = Sum(kind, ranges, positions, coefficient)
            if all(dict(total.terms(dict(point))) == dict(terms) for point, terms in data.items()):
                return total
    return None


def _ranges(
    names: Sequence[str], rows: Sequence[Values], outside: Sequence[str]
) -> tuple[tuple[str, Affine, Affine], ...] | None:
    """Return the range of each index, from the outermost; its ends depend on those before it."""
    ranges: list[tuple[str, Affine, Affine]] = []
    for depth, name in enumerate(names):
        before = [*outside, *names[:depth]]
        values_by_prefix: dict[Any, list[int]] = defaultdict(list)
        for values in rows:
            values_by_prefix[tuple((x, values[x]) for x in before)].append(values[name])
        first = _affine(
            [(dict(key), min(numbers)) for key, numbers in values_by_prefix.items()], before
        )
        last = _affine(
            [(dict(key), max(numbers)) for key, numbers in values_by_prefix.items()], before
        )
        if first is None or last is None:
            return None
        ranges.append((name, first, last))
    return tuple(ranges)


def _sums(
    kind: Kind,
    data: Mapping[Any, Mapping[tuple[int, ...], Fraction]],
    variables: Sequence[str],
    degree: int,
    splits: int,
) -> tuple[Sum, ...] | None:
    """Return sums that have exactly these terms at each point, split at most so often where a
    position reaches a link of the request.
    """
    if not any(data.values()):
        return ()
    single = _one_sum(kind, data, variables, degree)
    if single is not None or not splits:
        return None if single is None else (single,)
    position_count = len(next(positions for terms in data.values() for positions in terms))
    for at, variable, constant in product(range(position_count), variables, (1, 0, 2, -1)):
        below: dict[Any, dict[tuple[int, ...], Fraction]] = {}
        above: dict[Any, dict[tuple[int, ...], Fraction]] = {}
        for point, terms in data.items():
            limit = dict(point)[variable] + constant
            below[point] = {positions: x for positions, x in terms.items() if positions[at] < limit}
            above[point] = {
                positions: x for positions, x in terms.items() if positions[at] >= limit
            }
        if not any(below.values()) or not any(above.values()):
            continue
        first = _one_sum(kind, below, variables, degree)
        remaining_sums = _sums(kind, above, variables, degree, splits - 1) if first else None
        if first and remaining_sums:
            return (first, *remaining_sums)
    return None


def _written_out(summand: Sum) -> Iterator[Sum]:
    """Yield a sum over at most MOST_WRITTEN terms as its terms."""
    if (
        len(summand.ranges) != 1
        or len(summand.coefficient.terms) != 1
        or summand.coefficient.terms[0][0]
    ):
        yield summand
        return
    ((name, first, last),) = summand.ranges
    if first.variable != last.variable or last.constant - first.constant >= MOST_WRITTEN:
        yield summand
        return
    for constant in range(first.constant, last.constant + 1):
        yield replace(
            summand,
            ranges=(),
            positions=tuple(
                Affine(first.variable, constant + position.constant)
                if position.variable == name
                else position
                for position in summand.positions
            ),
        )


def _formula(
    forms: Mapping[Any, MultiAngle], variables: Sequence[str], degree: int
) -> tuple[Sum, ...] | None:
    """Return sums that have these forms at each point."""
    by_point = {point: terms_by_kind(form) for point, form in forms.items()}
    formula: list[Sum] = []
    for kind in sorted({kind for terms in by_point.values() for kind in terms}):
        data = {point: terms.get(kind, {}) for point, terms in by_point.items()}
        single = _one_sum(kind, data, variables, degree)
        for data_of_order in [data] if single is not None else _by_order(kind, data):
            sums = _fewest_sums(kind, data_of_order, variables, degree)
            if sums is None:
                return None
            formula += [term for single in sums for term in _written_out(single)]
    return tuple(formula)


Data = dict[Any, dict[tuple[int, ...], Fraction]]


def _fewest_sums(
    kind: Kind, data: Data, variables: Sequence[str], degree: int
) -> tuple[Sum, ...] | None:
    """Return the fewest sums that have exactly these terms at each point; if there are none, those
    of the terms that reach the last link and those of the others.
    """
    for groups in ([data], _by_end(kind, data)):
        formula: list[Sum] = []
        for group in groups:
            sums = next(
                (
                    sums
                    for splits in range(MOST_RANGES)
                    if (sums := _sums(kind, group, variables, degree, splits)) is not None
                ),
                None,
            )
            if sums is None:
                break
            formula += sums
        else:
            return tuple(formula)
    return None


def _by_end(kind: Kind, data: Data) -> list[Data]:
    """Return the terms whose sums of angles end before the last link, and the others."""
    end_positions = range(1, 2 * len(kind.multiples), 2)
    groups: list[Data] = [{point: {} for point in data} for _ in range(2)]
    for point, terms in data.items():
        last = dict(point)["n"] - 1
        for positions, x in terms.items():
            groups[any(positions[at] == last for at in end_positions)][point][positions] = x
    return groups


def _by_order(kind: Kind, data: Data) -> list[Data]:
    """Return the terms of one kind in parts, in each of which all symbols lie before, in or at the
    end of the same sums of angles.
    """
    runs = range(0, 2 * len(kind.multiples), 2)
    groups: dict[tuple[bool, ...], Data] = {}
    for point, terms in data.items():
        for positions, x in terms.items():
            order = tuple(
                position < positions[run + side]
                for position in positions[2 * len(kind.multiples) :]
                for run in runs
                for side in (0, 1)
            )
            group = groups.setdefault(order, {point: {} for point in data})
            group[point][positions] = x
    return [groups[order] for order in sorted(groups, reverse=True)]


Entry = MultiAngle | Quotient
ZERO = MultiAngle(())


def _case(points: Points, variables: Sequence[str], degree: int) -> tuple[Any, ...] | None:
    """Return the formulas of the entries at these points."""
    entries = []
    for entry_index in range(len(next(iter(points.values())))):
        column: dict[Any, Entry] = {point: block[entry_index] for point, block in points.items()}
        quotients = [isinstance(entry, Quotient) for entry in column.values()]
        if any(quotients) and not all(quotients):
            return None
        numerator = _formula(
            {p: x.numerator if isinstance(x, Quotient) else x for p, x in column.items()},
            variables,
            degree,
        )
        if numerator is None:
            return None
        denominator = None
        if all(quotients):
            denominator = _formula(
                {p: x.denominator for p, x in column.items() if isinstance(x, Quotient)},
                variables,
                degree,
            )
            if denominator is None:
                return None
        entries.append((numerator, denominator))
    return tuple(entries)


def _splits(variables: Sequence[str], conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions that may separate links from others, given earlier ones.

    On one diagonal the second index follows from the first.
    """
    limits = [Affine("", 0), Affine("n", -1), Affine("", 1), Affine("n", -2)]
    first, *seconds = variables
    if any(item.relation == "=" and item.left in seconds for item in conditions):
        return [Condition(first, "=", end) for end in limits]
    return [
        *(
            Condition(first, relation, Affine(second, 0))
            for second in seconds
            for relation in "<=>"
        ),
        *(Condition(variable, "=", end) for variable in variables for end in limits[:2]),
        *(Condition(second, "=", Affine(first, d)) for second in seconds for d in (1, -1, 2, -2)),
    ]


class _Search:
    """Search for the fewest cases with formulas whose coefficients have at most a given degree."""

    def __init__(self, variables: Sequence[str], degree: int) -> None:
        self.variables, self.degree = tuple(variables), degree
        self.cases_by_points: dict[frozenset[Any], Any] = {}
        self.failed: dict[frozenset[Any], int] = {}

    def case(self, points: Points) -> Any:
        """Return `_case`, computed once for a set of points."""
        key = frozenset(points)
        if key not in self.cases_by_points:
            self.cases_by_points[key] = _case(points, self.variables, self.degree)
        return self.cases_by_points[key]

    def fewest(self, points: Points, conditions: tuple[Condition, ...]) -> list[Case] | None:
        """Return the fewest cases that cover the points; None if there are none."""
        return next(
            (
                cases
                for splits in range(MOST_SPLITS + 1)
                if (cases := self.cases(points, conditions, splits)) is not None
            ),
            None,
        )

    def cases(
        self, points: Points, conditions: tuple[Condition, ...], splits: int
    ) -> list[Case] | None:
        """Return cases that cover the points, with at most so many splits; None if none exist."""
        entries = self.case(points)
        if entries is not None:
            return [Case(conditions, entries)]
        key = frozenset(points)
        if splits <= self.failed.get(key, 0):
            return None
        for condition in _splits(self.variables, conditions):
            inside = {point: x for point, x in points.items() if condition.holds(dict(point))}
            outside = {point: x for point, x in points.items() if point not in inside}
            if not inside or not outside:
                continue
            for within in range(splits):
                first = self.cases(inside, _and(conditions, condition), within)
                if first is None:
                    continue
                remaining_cases = self.cases(
                    outside, _except(conditions, condition), splits - 1 - within
                )
                if remaining_cases is not None:
                    return [*first, *remaining_cases]
                break
        self.failed[key] = splits
        return None


def _cases(search: _Search, points: Points) -> list[Case] | None:
    """Return the fewest cases; those of a letter with few diagonals are the diagonals."""
    diagonals: set[int] = set()
    if len(search.variables) == 2:
        first, second = search.variables
        diagonals = {
            values[second] - values[first]
            for values, block in ((dict(point), block) for point, block in points.items())
            if any(entry != ZERO for entry in block)
        }
    if not 0 < len(diagonals) <= MOST_DIAGONALS:
        return search.fewest(points, ())
    cases: list[Case] = []
    off_diagonal = dict(points)
    for offset in sorted(diagonals, key=lambda d: (abs(d), -d)):
        condition = Condition(second, "=", Affine(first, offset))
        diagonal = {point: x for point, x in points.items() if condition.holds(dict(point))}
        off_diagonal = {point: x for point, x in off_diagonal.items() if point not in diagonal}
        on_diagonal = search.fewest(diagonal, (condition,))
        if on_diagonal is None:
            return None
        cases += on_diagonal
    if off_diagonal:
        entries = search.case(off_diagonal)
        excluded = tuple(Condition(second, "≠", Affine(first, offset)) for offset in diagonals)
        cases.append(Case(excluded, entries))
    return cases


def _and(conditions: tuple[Condition, ...], added: Condition) -> tuple[Condition, ...]:
    """Return the conditions with another one, without those that follow from it."""
    if added.relation != "=":
        return (*conditions, added)

    def follows(item: Condition) -> bool:
        fixed_bounds = {item.right.variable, added.right.variable} <= {"", "n"}
        pair = {item.left, item.right.variable} == {added.left, added.right.variable}
        return pair or (item.left == added.left and fixed_bounds)

    return (*(item for item in conditions if not follows(item)), added)


def _except(conditions: tuple[Condition, ...], excluded: Condition) -> tuple[Condition, ...]:
    """Return the conditions with the opposite of another one, as few as possible."""
    left, relation, right = excluded
    relation = OPPOSITE[relation]
    if right == Affine("", 0):
        relation = ">"
    elif right == Affine("n", -1):
        relation = "<"
    elif right == Affine("", 1) and Condition(left, ">", Affine("", 0)) in conditions:
        conditions = tuple(item for item in conditions if item.right != Affine("", 0))
        relation = ">"
    elif right == Affine("n", -2) and Condition(left, "<", Affine("n", -1)) in conditions:
        conditions = tuple(item for item in conditions if item.right != Affine("n", -1))
        relation = "<"
    for wide, narrow in (("≥", ">"), ("≤", "<")):
        if excluded.relation == "=" and Condition(left, wide, right) in conditions:
            conditions = tuple(item for item in conditions if item != Condition(left, wide, right))
            relation = narrow
    return (*conditions, Condition(left, relation, right))


def find_cases(variables: Sequence[str], points: Points) -> list[Case] | None:
    """Return cases whose formulas hold at all points: with coefficients of the least degree, then
    as few cases as possible. None if there are none.
    """
    return next(
        (
            cases
            for degree in range(MOST_DEGREE + 1)
            if (cases := _cases(_Search(variables, degree), points)) is not None
        ),
        None,
    )
