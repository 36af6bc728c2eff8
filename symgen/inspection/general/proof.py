"""Proof that formulas of a planar chain hold for every number of links n ≥ 2.

`definitions` states letters as sums over links, with n and the request's indices as symbols. A term
is a function that its kind and its positions determine. So the formulas equal the definition if,
for each kind, the difference of the coefficients is zero at all positions and indices. That
difference is a polynomial on each of finitely many regions, and `regions` decides whether it is
zero. The decision covers all values of the indices and of n at once; no chain is evaluated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

from symgen.inspection.general.definitions import definition
from symgen.inspection.general.formulas import Affine, Case, Condition, Kind, Sum
from symgen.inspection.general.planar import LAST, Pieces
from symgen.inspection.general.regions import (
    Constraint,
    Piece,
    Region,
    at_least,
    equal,
    piece,
    sum_out,
    vanishes,
)
from symgen.mechanism.mechanism import Mechanism

FEWEST = 2
"""Least number of links: with one link, the first link is the last one."""
MINUS = Fraction(-1)


def is_proved(
    chain: Mechanism, letter: tuple[str, str], indices: Sequence[Affine], cases: Sequence[Case]
) -> bool:
    """Return True if the formulas of a letter are proved for every number of links n ≥ 2.

    `chain`: four links of the chain; `letter`: the method or the paper of a letter, or "" for a
    result, and its name. False if the chain is not planar, if the letter has no definition, or if
    a step of the proof fails.
    """
    exact = definition(chain, letter, indices)
    if exact is None:
        return False
    variables = [Affine(x.variable, 0) for x in indices if x.variable not in ("", "n")]
    existing = [x for index in (*indices, *variables) for x in _inside(index)]
    remaining = [[*existing, Constraint("n", "", FEWEST)]]
    for case in cases:
        if len(case.entries) != len(exact):
            return False
        regions = [x for item in remaining for x in _regions(item, case.conditions)]
        for (formula, denominator), pieces in zip(case.entries, exact, strict=True):
            if denominator is not None:
                return False
            difference = {kind: list(kind_pieces) for kind, kind_pieces in pieces.items()}
            for summand in formula:
                negative = [x.scaled(MINUS) for x in pieces_of(summand)]
                difference.setdefault(summand.kind, []).extend(negative)
            if not all(_agrees(region, difference, formula) for region in regions):
                return False
        remaining = [
            [*constraints, *excluded]
            for constraints in remaining
            for excluded in _exclusions(case.conditions)
            if not Region([*constraints, *excluded]).is_empty
        ]
    return not remaining


def pieces_of(summand: Sum) -> list[Piece]:
    """Return the coefficient of a sum's terms as a function of their positions p0, p1, …."""
    constraints: list[Constraint] = []
    for name, first, last in summand.ranges:
        index = Affine(name, 0)
        constraints += [at_least(index, first), at_least(last, index)]
    for at, position in enumerate(summand.positions):
        constraints += equal(Affine(f"p{at}", 0), position)
    coefficient_piece = piece(constraints, summand.coefficient)
    summed_pieces = [coefficient_piece] if coefficient_piece is not None else []
    for name, _, _ in reversed(summand.ranges):
        summed_pieces = [x for before in summed_pieces for x in sum_out(before, name)]
    return summed_pieces


def _agrees(region: Region, difference: Pieces, formula: Sequence[Sum]) -> bool:
    """Return True if all terms of a formula exist and its difference is zero in a region."""
    exists = all(
        _exists(region, summand.kind, x) for summand in formula for x in pieces_of(summand)
    )
    return exists and all(vanishes(region, kind_pieces) for kind_pieces in difference.values())


def _exists(region: Region, kind: Kind, coefficient_piece: Piece) -> bool:
    """Return True if all joints of a kind's terms exist, and no sum of angles is empty."""
    count = 2 * len(kind.multiples)
    positions = [Affine(f"p{at}", 0) for at in range(count + len(kind.symbols))]
    required = [x for position in positions for x in _inside(position)]
    required += [at_least(positions[run + 1], positions[run]) for run in range(0, count, 2)]
    for item in coefficient_piece.constraints:
        region = region.with_constraint(item)
    return all(region.implies(item) for item in required)


def _inside(index: Affine) -> tuple[Constraint, Constraint]:
    """Return the constraints 0 ≤ index ≤ n − 1."""
    return at_least(index, Affine("", 0)), at_least(LAST, index)


def _alternatives(condition: Condition) -> list[tuple[Constraint, ...]]:
    """Return a condition's constraints; each alternative is sufficient, and one is necessary."""
    left, right = Affine(condition.left, 0), condition.right
    alternatives: dict[str, list[tuple[Constraint, ...]]] = {
        "=": [equal(left, right)],
        "≠": [(at_least(left, right, 1),), (at_least(right, left, 1),)],
        "<": [(at_least(right, left, 1),)],
        "≤": [(at_least(right, left),)],
        ">": [(at_least(left, right, 1),)],
        "≥": [(at_least(left, right),)],
    }
    return alternatives[condition.relation]


def _regions(
    constraints: Sequence[Constraint], conditions: Sequence[Condition]
) -> Iterator[Region]:
    """Yield regions that together are the points at which all constraints and conditions hold."""
    choices: list[list[Constraint]] = [list(constraints)]
    for condition in conditions:
        choices = [[*choice, *added] for choice in choices for added in _alternatives(condition)]
    for choice in choices:
        region = Region(choice)
        if not region.is_empty:
            yield region


def _exclusions(conditions: Sequence[Condition]) -> list[list[Constraint]]:
    """Return constraints that together cover the points at which a condition does not hold."""
    by_case: dict[int, list[list[Constraint]]] = defaultdict(list)
    for at, condition in enumerate(conditions):
        failing: list[list[Constraint]] = [[]]
        for alternative in _alternatives(condition):
            failing = [[*before, item.opposite()] for before in failing for item in alternative]
        by_case[at] = failing
    return [choice for choices in by_case.values() for choice in choices]
