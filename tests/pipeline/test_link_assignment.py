"""Links and sweeps of the rows of a sample chain."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from symgen.ir.program import Port, Program, Row
from symgen.pipeline.loops.isomorphism import compare_links
from symgen.pipeline.loops.link_assignment import (
    LinkRows,
    NotUniform,
    Own,
    Ref,
    Shared,
    _inward_comments,
    _owner,
    assign_links,
)

CHAIN = (-1, 0, 1, 2, 3)
INPUTS = {(0, 2 * link + k): link for link in range(5) for k in (0, 1)}
"""Two elements of the first argument for each link; all links share the second argument."""


def program(*rows: Row, results: int = 1, steps: tuple[str, ...] = ()) -> Program:
    first = len(rows) - results
    return Program(
        "f",
        "m",
        (Port("x", (10,)), Port("y", (1,))),
        (Port("r", (results,), tuple(range(first, len(rows)))),),
        rows,
        steps,
    )


def sweeps_of(links: list[LinkRows], chain: Program, op: str) -> list[list[int]]:
    return [
        [sweep for r, sweep in zip(link.rows, link.sweeps, strict=True) if chain.rows[r].op == op]
        for link in links
    ]


@pytest.mark.parametrize(
    ("owners", "named", "inward", "link"),
    [
        (set(), None, False, None),
        (set(), 3, True, 3),
        ({2}, None, False, 2),
        ({2}, 2, True, 2),
        ({2}, 3, False, 3),  # the child that an outward comment names
        ({2}, 3, True, 2),
        ({2}, 4, False, 2),
        ({2}, 1, False, 2),
        ({2, 3}, None, False, 3),
        ({2, 3}, None, True, 2),
        ({2, 3}, 2, False, 2),  # the comment names the parent
        ({2, 3}, 3, False, 3),
        ({2, 3}, 3, True, 2),
        ({2, 4}, None, False, None),
        ({2, 4}, 4, True, None),
        ({2, 3, 4}, 3, False, None),
    ],
)
def test_a_row_belongs_to_the_link_that_its_sweep_visits_later(
    owners: set[int], named: int | None, inward: bool, link: int | None
) -> None:
    """The rules are those of the module's docstring."""
    assert _owner(owners, named, inward, CHAIN) == link


def test_equal_comments_beside_each_other_show_the_direction_of_their_sweep() -> None:
    comments = ["speed", "speed", "speed", "force", "force", "force", "once", "twice", "twice"]
    links = dict(enumerate([1, 2, 3, 3, 2, 1, 1, 2, 2]))
    assert _inward_comments(comments, links) == {
        **dict.fromkeys((0, 1, 2), False),
        **dict.fromkeys((3, 4, 5), True),
    }
    del links[1]  # comment 2 has no neighbour with its text any more
    assert _inward_comments(comments, links) == dict.fromkeys((3, 4, 5), True)


def test_rows_along_a_chain_stand_in_sweeps_that_change_direction() -> None:
    """Sums go outward, then products inward, then differences outward; sines stand before all."""
    rows = [Row("input", (), (0, 2 * link)) for link in range(5)]
    sines = [len(rows) + link for link in range(5)]
    rows += [Row("sin", (link,)) for link in range(5)]
    carry = sines[0]
    sums = [carry]
    for link in range(1, 5):
        rows.append(Row("add", (sums[-1], sines[link]), step=link))
        sums.append(len(rows) - 1)
    products = [sums[4]]
    for link in reversed(range(4)):
        rows.append(Row("mul", (products[0], sums[link]), step=10 - link))
        products.insert(0, len(rows) - 1)
    last = products[0]
    for link in range(1, 5):
        rows.append(Row("sub", (last, products[link]), step=10 + link))
        last = len(rows) - 1
    steps = ("",) + ("out",) * 4 + ("",) * 2 + ("in",) * 4 + ("out again",) * 4
    chain = program(*rows, steps=steps)
    of_comment = {link: link for link in range(1, 5)} | {10 - link: link for link in range(4)}
    of_comment |= {10 + link: link for link in range(1, 5)}
    links = assign_links(chain, CHAIN, of_comment, INPUTS)
    assert sweeps_of(links, chain, "sin") == [[0]] * 5
    assert sweeps_of(links, chain, "add") == [[], [2], [2], [2], [2]]
    assert sweeps_of(links, chain, "mul") == [[3], [3], [3], [3], []]
    assert sweeps_of(links, chain, "sub") == [[], [4], [4], [4], [4]]
    middle = links[2]
    assert middle.operands[-1] == (
        Ref(-1, len(links[1].rows) - 1),
        Ref(0, middle.rows.index(products[2])),
    )
    assert middle.rows_from(-1, 2) == {links[1].rows.index(sums[1])}
    assert middle.rows_from(1, 3) == {links[3].rows.index(products[3])}
    assert middle.rows_from(1, 2) == middle.rows_from(-1, 3) == set()


def test_rows_of_one_link_are_local_and_stand_where_they_are_read_first() -> None:
    """Row 4 is a function of one link's arguments, read in the inward sweep alone."""
    chain = program(
        Row("input", (), (0, 2)),
        Row("input", (), (0, 3)),
        Row("input", (), (1, 0)),
        Row("const", (), Fraction(7)),
        Row("mul", (0, 1)),
        Row("mul", (4, 3)),
        Row("input", (), (0, 4)),
        Row("mul", (6, 2)),
        Row("input", (), (0, 0)),
        Row("add", (5, 7), step=0),
        Row("add", (9, 8), step=1),
        steps=("in", "in"),
    )
    links = assign_links(chain, CHAIN, {0: 1, 1: 0}, INPUTS)
    assert [link.rows for link in links] == [[8, 10], [0, 1, 4, 5, 9], [6, 7], [], []]
    first, second = links[1], links[2]
    assert first.operands == [
        (Own(0, 0),),
        (Own(0, 1),),
        (Ref(0, 0), Ref(0, 1)),
        (Ref(0, 2), Fraction(7)),
        (Ref(0, 3), Ref(1, 1)),
    ]
    assert second.operands == [(Own(0, 0),), (Ref(0, 0), Shared(1, 0))]
    assert first.local_operands() == [[], [], [0, 1], [2], [3]]
    assert first.local_rows() == [True, True, True, True, False]
    assert second.local_rows() == [True, True]
    assert first.sweeps == [3] * 5
    assert second.sweeps == [3, 3]


def test_a_row_of_links_that_are_no_neighbours_is_refused() -> None:
    inputs = [Row("input", (), (0, 2 * link)) for link in (1, 3)]
    chain = program(*inputs, Row("mul", (0, 1), step=0), steps=("apart",))
    with pytest.raises(NotUniform, match=r"step 'apart' of f by m reads .* no neighbours"):
        assign_links(chain, CHAIN, {0: 3}, INPUTS)


def alike(rows_of: list[tuple[str, bool]]) -> tuple[Program, list[LinkRows]]:
    """Return a chain x_i = x_{i−1} ∘ u_i, by operation and order of the operands of each link."""
    rows = [Row("input", (), (0, 0))]
    last = 0
    for link, (op, swapped) in enumerate(rows_of, 1):
        rows.append(Row("input", (), (0, 2 * link)))
        operands = (last, len(rows) - 1)
        rows.append(Row(op, operands[::-1] if swapped else operands))
        last = len(rows) - 1
    chain = program(*rows)
    return chain, assign_links(chain, CHAIN, {}, INPUTS)


@pytest.mark.parametrize("op", ["add", "mul"])
def test_links_with_operands_in_the_other_order_are_the_same(op: str) -> None:
    chain, links = alike([(op, False), (op, True), (op, False), (op, True)])
    uniform = compare_links(chain, links, (0, 1, 1, 1, 1), range(1, 5))
    assert uniform.examples == {1: 1}
    assert uniform.swapped == {1: set(), 2: {1}, 3: set(), 4: {1}}
    assert uniform.negated == set()


@pytest.mark.parametrize(
    "rows_of",
    [
        [("add", False), ("mul", False), ("add", False), ("add", False)],
        [("div", False), ("div", True), ("div", False), ("div", False)],
        [("sub", False), ("sub", False), ("add", False), ("sub", False)],
    ],
)
def test_links_with_other_operations_differ(rows_of: list[tuple[str, bool]]) -> None:
    """A quotient has no other order; an argument has no other sign."""
    chain, links = alike(rows_of)
    with pytest.raises(NotUniform, match="f by m differ"):
        compare_links(chain, links, (0, 1, 1, 1, 1), range(1, 5))


@pytest.mark.parametrize(
    ("signs", "is_negated"),
    [
        ("++++", False),
        ("+-+-", True),
        ("-+-+", True),
        ("----", False),
        ("+--+", None),
        ("++-+", None),
    ],
)
def test_a_sign_travels_from_link_to_link(signs: str, is_negated: bool | None) -> None:
    """Products x_i = x_{i−1} u_i and results u_i ± x_i.

    Alternating signs of the results are one step that passes on −x_i; signs without a pattern are
    no uniform step.
    """
    rows = [Row("input", (), (0, 0))]
    x = 0
    results = []
    for link, sign in enumerate(signs, 1):
        rows.append(Row("input", (), (0, 2 * link)))
        own_input = len(rows) - 1
        rows.append(Row("mul", (own_input, x) if link % 2 == 0 else (x, own_input)))
        x = len(rows) - 1
        rows.append(Row("add" if sign == "+" else "sub", (own_input, x)))
        results.append(len(rows) - 1)
    chain = program(*rows)
    chain = replace(chain, outputs=(Port("r", (4,), tuple(results)),))
    links = assign_links(chain, CHAIN, {}, INPUTS)
    if is_negated is None:
        with pytest.raises(NotUniform, match="contradicting signs"):
            compare_links(chain, links, (0, 1, 1, 1, 1), range(1, 5))
        return
    uniform = compare_links(chain, links, (0, 1, 1, 1, 1), range(1, 5))
    assert uniform.negated == ({(1, 1)} if is_negated else set())
    assert uniform.swapped == {1: set(), 2: {1}, 3: set(), 4: {1}}


@pytest.mark.parametrize("first", ["add", "sub"])
@pytest.mark.parametrize("op", ["add", "sub"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_difference_in_the_other_order_has_the_opposite_sign(
    first: str, op: str, swapped: bool
) -> None:
    """The example has d = u₁ − y and r = u₂ ± d; a link with d = y − u₁ has r = u₂ ∓ d."""
    rows = [Row("input", (), (1, 0))]
    results = []
    for link in (1, 2):
        rows += [Row("input", (), (0, 2 * link)), Row("input", (), (0, 2 * link + 1))]
        u, second_input = len(rows) - 2, len(rows) - 1
        is_example = link == 1
        rows.append(Row("sub", (u, 0) if is_example or not swapped else (0, u)))
        rows.append(Row(first if is_example else op, (second_input, len(rows) - 1)))
        results.append(len(rows) - 1)
    chain = replace(program(*rows), outputs=(Port("r", (2,), tuple(results)),))
    links = assign_links(chain, CHAIN, {}, INPUTS)
    if swapped == (first == op):
        with pytest.raises(NotUniform, match="contradicting signs"):
            compare_links(chain, links, (0, 1, 1, 1, 1), range(1, 3))
    else:
        uniform = compare_links(chain, links, (0, 1, 1, 1, 1), range(1, 3))
        assert uniform.swapped == {1: set(), 2: {2} if swapped else set()}


@pytest.mark.parametrize(
    ("op", "flips"), [("neg", True), ("sin", True), ("cos", False), ("sqrt", None)]
)
def test_a_function_of_the_opposite_has_the_sign_of_an_odd_or_even_function(
    op: str, flips: bool | None
) -> None:
    """The second link has y − u and the opposite, the same, or no result for u − y."""
    for result in ("add", "sub"):
        rows = [Row("input", (), (1, 0))]
        results = []
        for link in (1, 2):
            rows += [Row("input", (), (0, 2 * link)), Row("input", (), (0, 2 * link + 1))]
            u, second_input = len(rows) - 2, len(rows) - 1
            rows.append(Row("sub", (u, 0) if link == 1 else (0, u)))
            rows.append(Row(op, (len(rows) - 1,)))
            rows.append(Row("add" if link == 1 else result, (second_input, len(rows) - 1)))
            results.append(len(rows) - 1)
        chain = replace(program(*rows), outputs=(Port("r", (2,), tuple(results)),))
        links = assign_links(chain, CHAIN, {}, INPUTS)
        if flips is None or flips == (result == "add"):
            with pytest.raises(NotUniform, match="contradicting signs"):
                compare_links(chain, links, (0, 1, 1, 1, 1), range(1, 3))
        else:
            assert compare_links(chain, links, (0, 1, 1, 1, 1), range(1, 3)).examples == {1: 1}
