"""Proof that formulas of a planar chain hold for every number of links n ≥ 2.

A letter is a quantity in the notation of a paper, such as P or D, or a result of a function.
`definitions` states some letters as sums over links, with n and the request's indices as symbols.
Formulas and definition are both sums of a coefficient times a term, for example cos(q_i + … + q_k)
times v_j. The kind of a term (cosine or sine, powers of symbols) and its positions (here i, k, j)
determine the term. So the formulas equal the definition if, for each kind, both have the same
coefficients at all positions and indices. The difference of the coefficients is a polynomial on
each of finitely many regions, and `regions` decides whether this polynomial is zero. The decision
covers all values of the indices and of n at once; the proof evaluates no chain.
"""

from __future__ import annotations

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
"""Least number n of links. For n = 1, the first link is also the last one, a separate case."""
MINUS = Fraction(-1)


def is_proved(
    chain: Mechanism, letter: tuple[str, str], indices: Sequence[Affine], cases: Sequence[Case]
) -> bool:
    """Return True if the formulas of a letter are proved for every number of links n ≥ 2.

    `chain`: a chain of four links; `letter`: (method or paper, name), or ("", name) for a result;
    `cases`: the formulas, each with its conditions on the indices. A case applies where no earlier
    case does. False if the chain is not planar, if the letter has no definition, if the cases do
    not cover all indices, or if a step of the proof fails.
    """
    defined_entries = definition(chain, letter, indices)
    if defined_entries is None:
        return False
    variables = [Affine(x.variable, 0) for x in indices if x.variable not in ("", "n")]
    ranges = [bound for index in (*indices, *variables) for bound in _link_range(index)]
    # Constraints of the regions of indices that no case covers so far
    remaining = [[*ranges, Constraint("n", "", FEWEST)]]
    for case in cases:
        if len(case.entries) != len(defined_entries):
            return False
        regions = [
            region for uncovered in remaining for region in _regions(uncovered, case.conditions)
        ]
        for (formula, denominator), pieces in zip(case.entries, defined_entries, strict=True):
            if denominator is not None:
                return False
            difference = {kind: list(kind_pieces) for kind, kind_pieces in pieces.items()}
            for summand in formula:
                negated = [coefficient.scaled(MINUS) for coefficient in pieces_of(summand)]
                difference.setdefault(summand.kind, []).extend(negated)
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
    """Return the coefficient of a sum's terms as a function of their positions p0, p1, ….

    A constraint ties each position to the indices of summation, which are then summed out.
    """
    constraints: list[Constraint] = []
    for name, first, last in summand.ranges:
        index = Affine(name, 0)
        constraints += [at_least(index, first), at_least(last, index)]
    for k, position in enumerate(summand.positions):
        constraints += equal(Affine(f"p{k}", 0), position)
    coefficient_piece = piece(constraints, summand.coefficient)
    summed_pieces = [coefficient_piece] if coefficient_piece is not None else []
    for name, _, _ in reversed(summand.ranges):
        summed_pieces = [
            partial_sum for summed in summed_pieces for partial_sum in sum_out(summed, name)
        ]
    return summed_pieces


def _agrees(region: Region, difference: Pieces, formula: Sequence[Sum]) -> bool:
    """Return True if, in a region, all joints in a formula exist and all coefficients of its
    difference from the definition are zero.
    """
    joints_exist = all(
        _joints_exist(region, summand.kind, coefficient)
        for summand in formula
        for coefficient in pieces_of(summand)
    )
    return joints_exist and all(
        vanishes(region, kind_pieces) for kind_pieces in difference.values()
    )


def _joints_exist(region: Region, kind: Kind, coefficient: Piece) -> bool:
    """Return True if all joints in a kind's terms are joints of the chain, and no sum of angles is
    empty, wherever the coefficient is not zero.
    """
    # Positions 2m and 2m + 1 are the first and the last joint of the m-th sum of angles.
    ends = 2 * len(kind.multiples)
    positions = [Affine(f"p{k}", 0) for k in range(ends + len(kind.symbols))]
    required = [bound for position in positions for bound in _link_range(position)]
    required += [at_least(positions[first + 1], positions[first]) for first in range(0, ends, 2)]
    for constraint in coefficient.constraints:
        region = region.with_constraint(constraint)
    return all(region.implies(constraint) for constraint in required)


def _link_range(index: Affine) -> tuple[Constraint, Constraint]:
    """Return the constraints 0 ≤ index ≤ n − 1."""
    return at_least(index, Affine("", 0)), at_least(LAST, index)


def _alternatives(condition: Condition) -> list[tuple[Constraint, ...]]:
    """Return the alternatives of a condition: it holds if all constraints of one of them hold."""
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
    """Yield the regions whose union is the set of points where all constraints and conditions
    hold.
    """
    choices: list[list[Constraint]] = [list(constraints)]
    for condition in conditions:
        choices = [
            [*choice, *alternative]
            for choice in choices
            for alternative in _alternatives(condition)
        ]
    for choice in choices:
        region = Region(choice)
        if not region.is_empty:
            yield region


def _exclusions(conditions: Sequence[Condition]) -> list[list[Constraint]]:
    """Return lists of constraints. At a point where one of the conditions does not hold, all
    constraints of at least one list hold, and vice versa.
    """
    violations: list[list[Constraint]] = []
    for condition in conditions:
        # A condition is violated if one constraint of each of its alternatives is violated.
        violations_of_one: list[list[Constraint]] = [[]]
        for alternative in _alternatives(condition):
            violations_of_one = [
                [*violated, constraint.opposite()]
                for violated in violations_of_one
                for constraint in alternative
            ]
        violations += violations_of_one
    return violations
