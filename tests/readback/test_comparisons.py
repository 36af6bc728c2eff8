"""Comparisons that checked C makes: in the order of the calls, or in any order within a form in parts."""

from __future__ import annotations

from fractions import Fraction

from symgen.readback.c_machine import Term, Terms
from symgen.readback.comparisons import Condition, Group, LaneComparisons
from symgen.vocabulary.reals import REALS

TERMS = Terms(REALS["double"])
LIMIT = TERMS.constant(Fraction(1, 8))


def divisor(number: int) -> Term:
    return TERMS.of("input", number)


def at_least(number: int) -> Condition:
    return ">=", divisor(number), LIMIT


def lane(has_parts: bool) -> LaneComparisons:
    """Return a lane behind two calls of steps, each with one divisor; in parts, the second one is made twice."""
    comparisons = LaneComparisons([], has_parts=has_parts)
    for call in (0, 1, 1) if has_parts else (0, 1):
        group = Group("SINGULAR", frozenset({at_least(call)}))
        comparisons.owe(TERMS.of("call", call), (call, 0) if has_parts else None, [group])
    return comparisons


def test_comparisons_of_calls_are_made_in_the_order_of_the_calls() -> None:
    comparisons = lane(has_parts=False)
    assert comparisons.decide(at_least(1), "line 2", 0) is None
    assert comparisons.decide(at_least(0), "line 1", 0) is True
    assert not comparisons.all_made
    assert comparisons.decide(at_least(1), "line 2", 0) is True
    assert comparisons.complete
    assert comparisons.outcomes == {}


def test_comparisons_of_a_form_in_parts_are_made_in_any_order_and_once_for_each_call() -> None:
    comparisons = lane(has_parts=True)
    assert comparisons.pending == []
    assert comparisons.decide(at_least(1), "line 2", 0) is True
    assert not comparisons.complete
    assert comparisons.decide(at_least(1), "line 2", 0) is None
    assert comparisons.decide(at_least(0), "line 1", 0) is True
    assert comparisons.complete
    assert comparisons.outcomes == {at_least(1): True, at_least(0): True}
    assert [origin for _, _, origin in comparisons.made] == [(1, 0), (0, 0)]


def test_the_failing_comparison_ends_the_others() -> None:
    comparisons = lane(has_parts=False)
    assert comparisons.decide(at_least(0), "line 1", 1) is False
    assert comparisons.decide(at_least(1), "line 2", 1) is None
    assert comparisons.status == "SINGULAR"
