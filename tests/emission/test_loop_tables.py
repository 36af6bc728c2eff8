"""Tables of loop functions: their numbers, types, sizes and lines; and the lines at the head of a
file.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from symgen.emission.c_text import WIDTH
from symgen.emission.looped import constant_heads, step_heads
from symgen.emission.lowering.loop_function import LoopFunction
from symgen.emission.lowering.loop_tables import SHORT_LIMIT, LoopTables, Table, _listed
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.target import Target
from tests.ir.loop_toys import in_tree, with_base_step, with_epilogue
from tests.shared.recursions import BRANCHED, TOYS, mixed

THREE = mixed(range(-1, 6), (0, 2, 1, 0, 2, 2, 1))
"""A chain of links of classes of 3, 2 and 1 constants: 0, 2, 1, 0, 2, 2, 1."""


def numbers(table: Table) -> list[float]:
    """Return all numbers of a table."""
    return [float(number) for number in re.findall(r"-?\d[\d.e+-]*", " ".join(table.rows))]


def test_each_class_that_is_read_has_a_table_with_a_row_for_each_of_its_links() -> None:
    tables = LoopTables(THREE, "arm_toy", [2, 0])
    assert list(tables.tables) == ["arm_toy_table_1", "arm_toy_table_3"]
    first, third = tables.tables.values()
    assert (first.size, third.size) == ((2, 3), (3, 1))
    assert len(first.rows) == 2
    for table, c in ((first, 0), (third, 2)):
        rows = [row for row, of in zip(THREE.constants, THREE.class_of, strict=True) if of == c]
        values = [[float(x) for x in text.strip("{}").split(",")] for text in table.rows]
        assert values == [[float(x) for x in row] for row in rows]
    assert first.bytes == 2 * 3 * 8
    single = LoopTables(replace(THREE, real="float"), "arm_toy", [0]).tables["arm_toy_table_1"]
    assert (single.kind, single.bytes) == ("float", 2 * 3 * 4)
    assert single.rows[0].count("f") == 3


def test_the_table_of_a_single_class_has_no_number() -> None:
    form = in_tree(BRANCHED)
    tables = LoopTables(form, "arm_toy", [0])
    assert list(tables.tables) == ["arm_toy_table"]
    assert numbers(tables.tables["arm_toy_table"]) == pytest.approx(
        [(k + 2) / 3 for k in range(10)]
    )
    assert LoopTables(form, "arm_toy", []).tables == {}
    assert LoopTables(with_base_step(False), "arm_toy", [0]).tables == {}  # no constants


def test_rows_of_links_count_within_their_class() -> None:
    tables = LoopTables(THREE, "arm_toy", [])
    table = tables.tables[tables.rows()]
    assert numbers(table) == [0, 0, 0, 1, 1, 2, 1]
    assert (table.name, table.size, table.kind) == ("arm_toy_table_row", (7,), "short")


def test_last_children_are_of_the_base_and_of_each_link() -> None:
    """Parents are -1 0 0 1 1 2 -1 6 6 6."""
    tables = LoopTables(in_tree(BRANCHED), "arm_toy", [])
    table = tables.tables[tables.last_children()]
    assert numbers(table) == [6, 2, 4, 5, -1, -1, -1, 9, -1, -1, -1]
    assert (table.name, table.size) == ("arm_toy_last_child", (11,))


def test_initial_carries_have_the_number_of_their_sweep() -> None:
    tables = LoopTables(THREE, "arm_toy", [])
    for s, sweep in enumerate(THREE.sweeps):
        table = tables.tables[tables.initial_carry(s)]
        assert table.name == f"arm_toy_initial_carry_{s + 1}"
        assert numbers(table) == [float(x) for x in sweep.initial]
        assert table.size == (len(sweep.initial),)
        assert table.kind == "double"


@pytest.mark.parametrize(
    ("values", "kind", "size"),
    [
        ([0, SHORT_LIMIT - 1], "short", 4),
        ([0, SHORT_LIMIT], "int", 8),
        ([-SHORT_LIMIT, 0], "int", 8),
        ([1 - SHORT_LIMIT], "short", 2),
    ],
)
def test_integers_are_short_where_a_short_holds_them(
    values: list[int], kind: str, size: int
) -> None:
    tables = LoopTables(THREE, "arm_toy", [])
    table = tables.tables[tables.integers("numbers", values)]
    assert (table.kind, table.bytes, table.name) == (kind, size, "arm_toy_numbers")
    assert numbers(table) == values


def test_numbers_fill_lines_of_the_width() -> None:
    longest = 0
    for digits in range(1, 14):
        words = ["7" * digits] * 80
        for indent in (4, 6):
            lines = _listed(words, indent).split("\n")
            widths = [indent + len(lines[0]), *map(len, lines[1:])]
            assert max(widths) <= WIDTH
            longest = max(longest, *widths)
            assert all(line[:indent] == " " * indent for line in lines[1:])
            assert all(line[indent] != " " for line in lines[1:])
            assert " ".join(line.strip() for line in lines) == ", ".join(words)
            # a line has room for no further number
            assert all(width + 1 + digits + 1 > WIDTH for width in widths[:-1])
    assert longest == WIDTH
    assert _listed(["1", "2"], 4) == "1, 2"


# -- heads of files --------------------------------------------------------------------------------


def heads(name: str) -> list[str]:
    form = {
        **TOYS,
        "first link": lambda: with_base_step(False),
        "epilogue": with_epilogue,
    }[name]()
    return step_heads(LoopFunction(form, Target("arm", Sizes(6, 6, 6), TextOptions("libm"))))


def test_the_head_of_a_file_lists_each_step_with_its_order_and_operations() -> None:
    one_class = heads("chain")
    assert [line.split(", ")[1].partition(":")[0] for line in one_class] == [
        "outward",
        "inward",
        "outward",
    ]
    assert all(line.startswith("arm_toy_") for line in one_class)
    assert one_class[0].partition(": ")[2].split(", ") == ["2 mul", "3 add", "1 sin", "1 cos"]
    two_classes = heads("two classes")
    assert [line.partition(":")[0].split(", ")[1:] for line in two_classes[:2]] == [
        ["outward", "turning"],
        ["outward", "sliding"],
    ]


def test_the_steps_of_a_first_link_and_of_the_end_are_named() -> None:
    first_link = heads("first link")
    assert sum(", first link: 2 add" in line for line in first_link) == 1
    assert len(first_link) == 2
    assert heads("epilogue")[-1].endswith(", once: 1 mul")


def test_constants_are_named_for_each_class_that_has_names() -> None:
    form = in_tree(BRANCHED)
    lines = constant_heads(form)
    assert lines[0] == "Link constants, one row of the table: k."
    assert lines[1].startswith("The frame of a link is the frame of its parent")
    assert constant_heads(with_base_step(False)) == []
    assert constant_heads(THREE) == []  # its constants have no names
    kinds = tuple(
        kind._replace(columns=tuple(f"constant_{n}_of_{kind.name}" for n in range(40)))
        for kind in THREE.link_classes[:2]
    )
    several = constant_heads(replace(THREE, link_classes=kinds))
    assert several[0].startswith("Link constants of a turning link, one row of the table: ")
    assert any(line.startswith("Link constants of a sliding link,") for line in several)
    assert max(map(len, several)) <= WIDTH - 3
    assert max(map(len, several)) > WIDTH - 3 - 28
