"""Cuts of a long function into parts: places of the cuts, values in the work array, and stored
results.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from symgen.emission import parts
from symgen.emission.parts import Cut, Line, Store, _crossings, _pieces, cut

ARGUMENTS = ("q", "v")
WORD = re.compile(r"[A-Za-z]\w*")


def line(name: str, value: str, kind: str = "double") -> Line:
    return "step", {"kind": kind, "name": name, "value": value}


def sum_of_previous(count: int) -> list[Line]:
    """Return lines of which each reads the line before, so that one value crosses each place."""
    return [line(f"t{n}", f"t{n - 1} + 1.0" if n else "1.0") for n in range(count)]


def random_lines(random_numbers: random.Random, count: int) -> list[Line]:
    """Return lines that read up to two earlier lines; arguments are read in the first third."""
    lines = []
    for n in range(count):
        earlier = random_numbers.sample(range(n), min(n, random_numbers.randrange(3)))
        words = [f"t{operand}" for operand in earlier]
        if n < count / 3:
            words.append(f"{random_numbers.choice(ARGUMENTS)}[{n}]")
        lines.append(line(f"t{n}", " + ".join(words) or "1.0"))
    return lines


def used_names(statement: Line) -> set[str]:
    return set(WORD.findall(statement[1]["value"]))


def crossing_values(lines: Sequence[Line], cut_place: int) -> int:
    """Return how many values that are computed before a place are read behind it."""
    read_later = set().union(*map(used_names, lines[cut_place:]))
    return len({statement["name"] for _, statement in lines[:cut_place]} & read_later)


def cut_places(pieces: Sequence[Sequence[Line]]) -> list[int]:
    return [sum(map(len, pieces[:n])) for n in range(1, len(pieces))]


@pytest.mark.parametrize(("count", "length"), [(1, 5), (10, 5), (11, 5), (100, 7), (64, 64)])
def test_pieces_are_equally_long_where_all_places_cross_equally_many_values(
    count: int, length: int
) -> None:
    lines = sum_of_previous(count)
    pieces = _pieces(lines, length, "")
    assert [statement for piece in pieces for statement in piece] == lines
    lengths = [len(piece) for piece in pieces]
    assert len(lengths) == -(count // -length)
    assert max(lengths) <= length
    assert max(lengths) - min(lengths) <= 1
    assert _pieces([], length, "") == []


@pytest.mark.parametrize("seed", range(6))
def test_a_cut_crosses_fewest_values_within_an_eighth_of_a_piece(seed: int) -> None:
    """The cut is the nearest such place to the end of an equal piece."""
    lines = random_lines(random.Random(seed), 130 + seed)
    pieces = _pieces(lines, 40, "")
    piece_length = Fraction(len(lines), 4)
    places = cut_places(pieces)
    assert len(places) == 3
    for number, cut_place in enumerate(places, 1):
        middle = round(number * piece_length)
        window = range(middle - int(piece_length / 8), middle + int(piece_length / 8) + 1)
        assert cut_place in window
        costs = {at: (crossing_values(lines, at), abs(at - middle)) for at in window}
        assert costs[cut_place] == min(costs.values())


@pytest.mark.parametrize(
    ("begin", "end"), [(("pair", "turn"), "pair.sine"), (("angle[2]", "double"), "turn(angle)")]
)
def test_no_cut_separates_a_pair_or_an_array_from_its_last_use(
    begin: tuple[str, str], end: str
) -> None:
    """Every place between both lines is excluded, the places before and behind them are not."""
    for first, last in [(29, 31), (27, 33), (31, 33), (27, 29), (30, 34), (26, 29)]:
        lines = sum_of_previous(60)
        lines[first] = line(begin[0], "1.0", begin[1])
        lines[last] = line(f"t{last}", end)
        places = cut_places(_pieces(lines, 30, "turn"))
        assert len(places) == 1
        assert abs(places[0] - 30) <= 3
        assert not first < places[0] <= last
    lines = sum_of_previous(60)
    lines[10], lines[50] = line(begin[0], "1.0", begin[1]), line("t50", end)
    assert len(_pieces(lines, 30, "turn")) == 1


def groups_of(lines: Sequence[Line]) -> list[dict[str, Any]]:
    return [
        {"comment": f"step {n // 4}", "locals": [statement]}
        for n, (_, statement) in enumerate(lines)
    ]


def run_parts(whole: Cut) -> None:
    """Follow the contents of the work array; fail where a part reads a value that is not there."""
    cells: dict[int, str] = {}
    for part in whole.parts:
        assert all(cells[element] == name for name, element in part.loads)
        held = {name for name, _ in part.loads}
        assert len(held) == len(part.loads)
        for group in part.groups:
            for statement in group["locals"]:
                read = set(WORD.findall(statement["value"]))
                assert read & set(ARGUMENTS) <= part.reads
                assert read - set(ARGUMENTS) <= held
                held.add(statement["name"])
        assert {store.value for store in part.stores} <= held | {"0.0"}
        cells |= dict(part.saves)


@pytest.mark.parametrize("seed", range(6))
def test_each_part_finds_in_the_work_array_the_values_that_it_reads(seed: int) -> None:
    """The array is as short as the values that later parts read allow; no other value is saved."""
    random_numbers = random.Random(seed)
    blocks = [random_lines(random_numbers, 60)]
    blocks.append([line(f"u{n}", f"t{random_numbers.randrange(60)}") for n in range(25)])
    stores = [Store("out", n, f"u{n}") for n in range(25)] + [Store("out", 25, "0.0")]
    whole = cut([groups_of(block) for block in blocks], 9, ARGUMENTS, stores, {})
    assert whole.ends == (0, 7, 10)
    assert len(whole.parts) == 10
    run_parts(whole)
    statements = [
        [statement for group in part.groups for statement in group["locals"]]
        for part in whole.parts
    ]
    assert [s for part in statements for s in part] == [s for block in blocks for _, s in block]
    used = [
        {word for s in part for word in WORD.findall(s["value"])}
        | {store.value for store in whole.parts[n].stores}
        for n, part in enumerate(statements)
    ]
    computed = [{s["name"] for s in part} for part in statements]
    crossing = [
        set().union(*computed[:n]) & set().union(*used[n:]) for n in range(1, len(statements))
    ]
    assert whole.size == max(map(len, crossing))
    assert set(whole.places) == set().union(*crossing)
    for n, part in enumerate(whole.parts):
        later = set().union(*used[n + 1 :]) & computed[n]
        assert {name for _, name in part.saves} == later
        assert {name for name, _ in part.loads} == used[n] & set().union(*computed[:n])
        assert part.reads == used[n] & set(ARGUMENTS)


def test_a_result_is_stored_as_soon_as_no_later_part_reads_an_argument() -> None:
    """Results that are known before wait for the last part that reads an argument."""
    lines = sum_of_previous(40)
    lines[25] = line("t25", "t24 * q[1]")
    stores = [Store("out", n, f"t{at}") for n, at in enumerate((2, 21, 29, 30, 39))]
    stores += [Store("out", 5, "q[0]"), Store("out", 6, "0.0")]
    whole = cut([groups_of(lines)], 10, ARGUMENTS, stores, {})
    assert [[store.element for store in part.stores] for part in whole.parts] == [
        [],
        [],
        [0, 1, 2, 5, 6],
        [3, 4],
    ]
    assert [part.reads for part in whole.parts] == [set(), set(), {"q"}, set()]


def test_a_value_that_the_caller_reads_keeps_its_place_until_then() -> None:
    """No part saves another value there before the block at which the caller reads it."""
    blocks = [groups_of(sum_of_previous(6)), groups_of(sum_of_previous(12)[6:])]
    free = cut(blocks, 3, ARGUMENTS, [], {})
    assert free.ends == (0, 2, 4)
    assert free.size == 1
    assert set(free.places) == {"t2", "t5", "t8"}
    for block, overwritten in ((1, True), (2, False)):
        whole = cut(blocks, 3, ARGUMENTS, [], {"t0": block})
        writes = [
            (n, name)
            for n, part in enumerate(whole.parts)
            for at, name in part.saves
            if at == whole.places["t0"]
        ]
        assert whole.size == 2
        assert writes[0] == (0, "t0")
        assert (len(writes) > 1) is overwritten
        assert all(n >= whole.ends[block] for n, _ in writes[1:])


def test_statements_keep_the_comments_of_their_steps() -> None:
    """Consecutive statements of a step are one group; a step divided by a cut is in both parts."""
    lines = [
        (comment, statement)
        for comment, (_, statement) in zip("aabbbbacc", sum_of_previous(9), strict=True)
    ]
    groups = [{"comment": comment, "locals": [statement]} for comment, statement in lines]
    whole = cut([groups], 4, ARGUMENTS, [], {})
    assert [[(g["comment"], len(g["locals"])) for g in part.groups] for part in whole.parts] == [
        [("a", 2), ("b", 1)],
        [("b", 3)],
        [("a", 1), ("c", 2)],
    ]


def test_without_statements_there_is_one_part_with_all_stores() -> None:
    stores = [Store("out", 0, "q[0]"), Store("out", 1, "0.0")]
    whole = cut([[], []], 10, ARGUMENTS, stores, {})
    assert whole == Cut((parts.Part((), [], (), tuple(stores), frozenset()),), 0, {}, (0, 0, 1))


def test_values_go_across_from_their_line_to_their_last_use() -> None:
    values = ["q", "q", "t0 + t1", "t0", "q"]
    values_crossed, pairs_crossed = _crossings(
        [line(f"t{n}", value) for n, value in enumerate(values)], ""
    )
    assert values_crossed[:5] == [0, 1, 2, 1, 0]
    assert not any(pairs_crossed)
