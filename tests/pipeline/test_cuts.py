"""Smallest cuts of operand graphs, and the values that links save for later sweeps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from random import Random

import pytest

from symgen.ir.program import Program, Row
from symgen.pipeline.loops.cuts import behind, least_cut
from symgen.pipeline.loops.link_assignment import LinkRows, Ref
from symgen.pipeline.loops.liveness import SavedRows, place_saved, plan_saved

ROWS = 9


def random_operands(random: Random, count: int = ROWS) -> list[list[int]]:
    """Return operands of rows, each earlier than its row."""
    return [random.sample(range(k), min(k, random.randint(0, 3))) for k in range(count)]


def leads_around(
    operands: Sequence[Sequence[int]],
    first: Collection[int],
    row: int,
    cut: Collection[int],
) -> bool:
    """True if a path leads from `first` to a row past the cut."""
    if row in cut:
        return False
    return row in first or any(leads_around(operands, first, a, cut) for a in operands[row])


@pytest.mark.parametrize("seed", range(40))
def test_a_least_cut_separates_with_the_fewest_rows_nearest_to_the_last(seed: int) -> None:
    """All subsets of nine rows are the judge.

    The nearest cut lies on every path that leads from another least cut to the last rows.
    """
    random = Random(seed)
    operands = random_operands(random)
    first = set(random.sample(range(ROWS), random.randint(1, 5)))
    last = set(random.sample(range(ROWS), random.randint(1, 3)))

    def separates(cut: Collection[int]) -> bool:
        return not any(leads_around(operands, first, row, cut) for row in last)

    cut = least_cut(operands, first, last)
    assert cut == sorted(set(cut))
    assert separates(cut)
    if cut:
        assert not any(map(separates, combinations(range(ROWS), len(cut) - 1)))
    for each in filter(separates, combinations(range(ROWS), len(cut))):
        assert not any(leads_around(operands, each, row, cut) for row in last)


@pytest.mark.parametrize("seed", range(10))
def test_rows_behind_others_are_those_with_a_path_to_them(seed: int) -> None:
    random = Random(seed)
    operands = random_operands(random)
    last, first = ({random.randrange(ROWS) for _ in range(2)} for _ in range(2))
    paths = set(last)
    for k in reversed(range(ROWS)):
        if k in paths and k not in first:
            paths |= set(operands[k])
    assert behind(operands, last, first) == paths
    assert behind(operands, last) >= paths


def link_of(random: Random, sweeps: int, count: int) -> tuple[Program, LinkRows]:
    """Return rows of a link: some read a neighbour, and sweeps do not decrease along operands."""
    link = LinkRows(1)
    rows = []
    for k, operands in enumerate(random_operands(random, count)):
        neighbour = [Ref(random.choice((-1, 1)), 0)] if random.random() < 0.4 else []
        refs = [*neighbour, *(Ref(0, a) for a in operands)]
        least = max((link.sweeps[a] for a in operands), default=0)
        link.rows.append(k)
        link.refs.append(refs)
        link.operands.append(tuple(refs))
        link.sweeps.append(random.choice((least, least, min(sweeps - 1, least + 1))))
        rows.append(Row(random.choice(("add", "mul", "sin", "div"))))
    return Program("f", "m", (), (), tuple(rows)), link


@pytest.mark.parametrize("seed", range(30))
def test_each_sweep_finds_all_that_it_needs_among_saved_and_own_values(seed: int) -> None:
    """A sweep executes its rows by definition: from saved values, and without other neighbours."""
    random = Random(seed)
    sweeps, count = 4, 14
    chain, link = link_of(random, sweeps, count)
    carries = {s: [random.choice([None, *range(count)]) for _ in range(2)] for s in range(sweeps)}
    carries = {
        s: [row for row in rows if row is None or link.sweeps[row] <= s]
        for s, rows in carries.items()
    }
    results = [(row, link.sweeps[row]) for row in random.sample(range(count), 3)]
    plan = plan_saved(chain, link, sweeps, carries, results)
    assert len(plan.computed) == len(plan.saved) == sweeps
    assert plan.saved[0] == []
    for row, sweep in results:
        assert row in plan.computed[sweep]
    for sweep, passed in carries.items():
        assert {row for row in passed if row is not None} <= {*plan.computed[sweep]}
    for row, refs in enumerate(link.refs):
        if any(ref.side for ref in refs):
            assert row in plan.computed[link.sweeps[row]]
    for sweep in range(sweeps):
        kept = plan.saved[sweep + 1] if sweep + 1 < sweeps else []
        assert {link.sweeps[row] < sweep for row in plan.saved[sweep]} <= {True}
        used = behind(link.local_operands(), {*plan.computed[sweep], *kept}, plan.saved[sweep])
        for row in used - {*plan.saved[sweep]}:  # computed in this sweep, perhaps again
            if link.sweeps[row] < sweep:
                assert not any(ref.side for ref in link.refs[row])
                assert chain.rows[row].op not in ("sin", "div")


def test_values_computed_from_arguments_are_not_saved_unless_they_are_expensive() -> None:
    for op, saved in (("mul", []), ("sin", [1]), ("sqrt", [1]), ("div", [1])):
        chain = Program("f", "m", (), (), (Row("input"), Row(op), Row("add")))
        refs = [[], [Ref(0, 0)], [Ref(0, 1), Ref(1, 0)]]
        link = LinkRows(1, [0, 1, 2], [tuple(each) for each in refs], refs, [0, 0, 1])
        plan = plan_saved(chain, link, 2, {}, [(2, 1)])
        assert plan == SavedRows([[], [2]], [[], saved])


@pytest.mark.parametrize("seed", range(20))
def test_saved_values_have_places_of_their_own_while_they_are_needed(seed: int) -> None:
    """A value stays in place until its last sweep; values needed longest come first."""
    random = Random(seed)
    lives = {}
    for row in range(8):
        start = random.randint(1, 4)
        lives[row] = range(start, random.randint(start, 5) + 1)
    saved = [[row for row, sweeps in lives.items() if sweep in sweeps] for sweep in range(6)]
    places = place_saved(SavedRows([[]] * 6, saved))
    assert places.keys() == lives.keys()
    assert min(places.values()) == 0
    for sweep, rows in enumerate(saved):
        new = [row for row in rows if lives[row][0] == sweep]
        new_places = sorted(places[row] for row in new)
        # a step reads the values before it while it saves new ones
        occupied = {places[row] for row in saved[sweep - 1] if row not in new} if sweep else set()
        assert not occupied & {*new_places}
        assert len({places[row] for row in rows}) == len(rows)
        if new:
            first = new_places[0]
            assert new_places == [*range(first, first + len(new))]
            in_order = sorted(new, key=lambda row: places[row])
            assert in_order == sorted(new, key=lambda row: (-lives[row][-1], row))
            lower = range(first)
            assert all(
                occupied & {*range(start, start + len(new))}
                or {places[r] for r in rows} & {*range(start, start + len(new))}
                for start in lower
            )
