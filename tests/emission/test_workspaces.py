"""Workspaces of loop functions: what stands where, and how large they are; blocks of sines."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from symgen.emission import loop_work, sincos
from symgen.emission.blocks import MOST_LINKS, blocks
from symgen.emission.part_layout import (
    ScanLayout,
    SweepLayout,
    layout,
    level_rows,
    levels_over_parts,
    size_of,
)
from symgen.ir.loops import (
    SAVED,
    LinkClass,
    LoopProgram,
    ParallelScan,
    SequentialScan,
    Sweep,
    check,
)
from symgen.ir.program import Port, Program
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.sines import CONSTANTS
from symgen.vocabulary.target import Target
from tests.ir.loop_toys import in_elements, in_parts, in_tree, in_two_scans, of_sines
from tests.shared.c_programs import Builder
from tests.shared.recursions import BRANCHED, TOYS, mixed

Span = tuple[int, int]
"""First number and end."""


def target(trig: str = "auto", checked: bool = False) -> Target:
    return Target("arm", Sizes(2, 2, 2), TextOptions(trig, checked=checked))


def is_partition(spans: list[Span], size: int) -> bool:
    """Return whether spans fill a workspace without a gap or an overlap."""
    ordered = sorted(span for span in spans if span[0] < span[1])
    ends = [0, *(end for _, end in ordered)]
    return all(a == b for a, (b, _) in zip(ends, ordered, strict=False)) and ends[-1] == size


# -- sweeps along parts ----------------------------------------------------------------------------


def saving_scan(form: LoopProgram, numbers: int, at: int = 1) -> LoopProgram:
    """Return the form with a scan that saves so many numbers of each part."""
    scan = form.stages[at]
    assert isinstance(scan, SequentialScan)
    saved = Port(SAVED, (numbers,), (0,) * numbers)

    def saving(step: Program) -> Program:
        return replace(step, outputs=(*step.outputs, saved))

    stages = list(form.stages)
    stages[at] = scan.by(saving)
    return replace(form, stages=tuple(stages))


@pytest.mark.parametrize("numbers", [0, 1, 4])
@pytest.mark.parametrize("work", [0, 3])
@pytest.mark.parametrize("lengths", [(3, 2), (2, 2, 2), (5,)])
def test_numbers_of_sweeps_fill_the_workspace(
    lengths: tuple[int, ...], work: int, numbers: int
) -> None:
    """Saved values of each part; two carries a part of each sweep; saved values of each scan."""
    form = replace(saving_scan(in_parts(lengths), numbers), work=work)
    if not numbers:
        form = replace(in_parts(lengths), work=work)
    first_sweep, *others = form.stages
    longer = replace(first_sweep, initial=(Fraction(0),) * 3)  # type: ignore[call-arg]
    form = replace(form, stages=(longer, *others))
    places = layout(form)
    assert isinstance(places, SweepLayout)
    parts = len(lengths)
    assert places.group_size == max(lengths) * work
    spans = [(p * places.group_size, (p + 1) * places.group_size) for p in range(parts)]
    assert sorted(places.carries) == [0, 2]
    for s, carry in places.carries.items():
        assert carry.size == {0: 3, 2: 1}[s]
        spans += [(carry.first, carry.first + 2 * parts * carry.size)]
    if numbers:
        first, _, rest = places.saved[1].partition(" + ")
        assert rest == f"{numbers}*segment"
        spans += [(int(first), int(first) + parts * numbers)]
    else:
        assert places.saved == {1: ""}
    assert is_partition(spans, places.size)


def test_a_scan_that_saves_nothing_reads_what_the_scan_before_saved() -> None:
    form = saving_scan(in_parts((2, 2)), 3)
    again = replace(form, stages=(*form.stages, in_parts((2, 2)).stages[1]))
    places = SweepLayout(again)
    assert places.saved[3] == places.saved[1]
    again_saved = SweepLayout(saving_scan(again, 5, at=3))
    assert again_saved.saved[1] == places.saved[1]
    assert again_saved.saved[3] == f"{places.size} + 5*segment"
    assert again_saved.size == places.size + 2 * 5


def test_a_port_that_is_missing_has_size_zero() -> None:
    ports = (Port("x", (2, 3)), Port("y", (4,)))
    assert [size_of(ports, name) for name in "xyz"] == [6, 4, 0]


# -- maps and scans --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "levels"),
    [
        (1, [1]),
        (2, [2, 1]),
        (3, [3, 2, 1]),
        (5, [5, 3, 2, 1]),
        (8, [8, 4, 2, 1]),
        (9, [9, 5, 3, 2, 1]),
    ],
)
def test_a_level_has_half_the_rows_of_the_level_below(rows: int, levels: list[int]) -> None:
    assert level_rows(rows) == levels


@pytest.mark.parametrize("parts", [1, 2, 4, 8])
def test_levels_over_parts_follow_each_other(parts: int) -> None:
    """A row has both values; above the parts it has the saved values of its pair, too."""
    scan = in_two_scans(9, parts, -(-10 // parts)).scans[0]
    up, down, saved = scan.up_size, len(scan.initial), scan.saved_size
    levels = levels_over_parts(scan, parts)
    assert [rows for _, rows, _ in levels] == level_rows(parts)
    assert [size for _, _, size in levels] == [up + down] + [up + down + saved] * (len(levels) - 1)
    assert levels[0][0] == 0
    assert all(a + rows * size == b for (a, rows, size), (b, _, _) in pairwise(levels))


@pytest.mark.parametrize("work", [1, 4])
@pytest.mark.parametrize("size", [(3, 1, 4), (6, 4, 2), (9, 2, 5), (20, 4, 6)])
@pytest.mark.parametrize("toy", [in_elements, in_two_scans])
def test_numbers_of_scans_fill_the_workspace(
    toy: type[LoopProgram], size: tuple[int, int, int], work: int
) -> None:
    """A group has its rows, for each scan two values up and two down a level, and saved values."""
    form = toy(*size)  # type: ignore[arg-type]
    form = replace(form, work=work, outputs=form.outputs * 2)
    _, parts, length = size
    places = layout(form)
    assert isinstance(places, ScanLayout)
    assert places.row_size == work + 2 * len(form.outputs)
    levels = len(level_rows(length))
    spans = [(0, length * places.row_size)]
    over: list[Span] = []
    for scan, offsets in zip(form.scans, places.offsets, strict=True):
        assert isinstance(scan, ParallelScan)
        spans += [
            (offsets.upsweeps, offsets.upsweeps + 2 * levels * scan.up_size),
            (offsets.downsweeps, offsets.downsweeps + 2 * levels * len(scan.initial)),
            (offsets.saved, offsets.saved + (length - 1) * scan.saved_size),
        ]
        numbers = sum(rows * row for _, rows, row in levels_over_parts(scan, parts))
        over += [(offsets.over_parts, offsets.over_parts + numbers)]
    assert is_partition(spans, places.group_size)
    assert is_partition([(0, parts * places.group_size), *over], places.size)
    assert over[0][0] == parts * places.group_size


# -- the size of the workspace ---------------------------------------------------------------------


def test_a_workspace_has_saved_values_and_the_carries_of_a_tree() -> None:
    """Ten links and the base have carries of up to two numbers; a chain keeps them in locals."""
    tree = in_tree(BRANCHED)
    assert loop_work.widest(tree) == 2
    assert loop_work.work(tree) == 10 * 1 + 11 * 2
    assert loop_work.work(replace(tree, work=5)) == 10 * 5 + 11 * 2
    chain = in_tree((-1, 0, 1))
    assert loop_work.widest(chain) == 0
    assert loop_work.work(chain) == 3
    assert loop_work.work(TOYS["sums"]()) == 1  # C has no array without elements
    path = TOYS["tree, on a way"]()
    assert loop_work.widest(path) == 0
    assert loop_work.work(path) == len(path) * path.work


def test_a_checked_function_has_room_for_its_results() -> None:
    """g, f, det, total and root_sum of a tree have 10 + 10 + 3 numbers."""
    for form, results in (
        (in_tree(BRANCHED), 23),
        (in_parts((3, 2)), 5),
        (in_elements(4, 2, 3), 4),
    ):
        assert loop_work.work(form, checked=True) == loop_work.work(form) + results
    assert loop_work.work(in_parts((3, 2))) == layout(in_parts((3, 2))).size
    assert loop_work.work(TOYS["sums"](), checked=True) == 1 + 9


@pytest.mark.parametrize("checked", [False, True])
def test_a_function_of_loops_takes_a_workspace_last(checked: bool) -> None:
    form = in_tree(BRANCHED)
    facts = loop_work.prototype(form, target(checked=checked))
    names = [parameter["name"] for parameter in facts["parameters"]]
    assert names == ["q", "g", "f", "det", "total", "root_sum", "work", *["size"] * checked]
    workspace = facts["parameters"][6]
    assert (workspace["real"], workspace["size"]) == ("double", "arm_WORK")
    assert workspace["qualifier"] == ""
    assert facts["no_alias"] is not loop_work.may_alias(form)
    if checked:
        assert facts["parameters"][7]["real"] == "int"
        assert "length of work" in facts["parameters"][7]["what"]


def test_the_workspace_has_a_name_that_no_argument_has() -> None:
    form = in_sweeps((["work"], ["size"]))
    facts = loop_work.with_work(form, target(checked=True))
    names = [parameter["name"] for parameter in facts["parameters"]]
    assert len(set(names)) == len(names) == 4
    assert names[:2] == ["work", "size"]
    assert facts["parameters"][3]["what"] == f"length of {names[2]}"


# -- aliases ---------------------------------------------------------------------------------------


def in_sweeps(*ports: tuple[list[str], list[str]], nq: int = 1) -> LoopProgram:
    """Return a chain of two, of which each sweep takes the first ports and gives the second."""
    sizes = {"q": nq, "v": 1, "tau": 1, "q_next": nq, "wrench": 6, "J": 3, "work": 1, "size": 1}

    def sweep(taken: list[str], stored: list[str]) -> Sweep:
        b = Builder("toy", [Port(name, (sizes[name],)) for name in taken])
        row = b.const(0)
        outputs = [Port(name, (sizes[name],), (row,) * sizes[name]) for name in stored]
        return Sweep(False, (b.program(outputs),), (), (), (0,))

    taken = list(dict.fromkeys(name for names, _ in ports for name in names))
    stored = list(dict.fromkeys(name for _, names in ports for name in names))
    return check(
        LoopProgram(
            "toy",
            "by_hand",
            tuple(Port(name, (2 * sizes[name],)) for name in taken),
            tuple(Port(name, (2 * sizes[name],)) for name in stored),
            (LinkClass("spring", nq, 1, 0),),
            (-1, 0),
            (0, 0),
            ((), ()),
            tuple(sweep(*names) for names in ports),
            0,
            per_link=(("wrench", 6),),
            columns=(("J", 3),) if "J" in stored else (),
        )
    )


@pytest.mark.parametrize(
    ("form", "aliases"),
    [
        (in_sweeps((["q", "v"], []), ([], ["tau"])), True),
        (in_sweeps((["q"], ["tau"])), True),
        (in_sweeps((["q"], ["tau"]), (["v"], [])), False),
        (in_sweeps((["v"], ["tau"]), (["q"], ["q_next"])), False),
        (in_sweeps((["q", "v"], []), (["q"], ["tau"]), ([], ["q_next"])), True),
        # a link with more positions than velocities: q and tau have other elements
        (in_sweeps((["q"], ["tau"]), nq=2), False),
        (in_sweeps((["v"], ["tau"]), nq=2), True),
        (in_sweeps((["q"], ["q_next"]), nq=2), True),
        (in_sweeps((["v"], ["q_next"]), nq=2), False),
        (in_sweeps((["q"], []), ([], ["tau"]), nq=2), True),
        # numbers of links, or columns, are other elements than those of joints
        (in_sweeps((["wrench"], ["tau"])), False),
        (in_sweeps((["q"], ["J"])), False),
        (in_sweeps((["wrench"], []), (["q"], ["tau"])), True),
    ],
)
def test_a_result_may_lie_over_an_argument_that_no_later_step_reads(
    form: LoopProgram, aliases: bool
) -> None:
    assert loop_work.may_alias(form) == aliases
    assert loop_work.prototype(form, target())["no_alias"] == (not aliases)


def test_final_carries_may_lie_over_arguments_that_were_read() -> None:
    chain = mixed(range(-1, 5), (0,) * 6)
    assert not loop_work.may_alias(chain)  # det is known before the last sweep reads v
    late = [end._replace(sweep=2, elements=(0,)) for end in chain.final_carries]
    assert loop_work.may_alias(replace(chain, final_carries=tuple(late)))
    early = [end._replace(sweep=0) for end in chain.final_carries]
    assert not loop_work.may_alias(replace(chain, final_carries=tuple(early)))


def test_results_of_parts_are_stored_when_all_is_read() -> None:
    assert loop_work.may_alias(in_parts((3, 2)))  # the last sweep reads q and gives g
    assert loop_work.may_alias(in_elements(4, 2, 3))
    form = in_parts((3, 2))
    first, scan, last = form.stages
    assert not loop_work.may_alias(replace(form, stages=(last, scan, first)))


# -- blocks of sines -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "links"),
    [(2, 2), (7, 7), (15, 15), (16, 16), (17, 9), (21, 11), (32, 16), (33, 11), (100, 15)],
)
@pytest.mark.parametrize("real", ["double", "float"])
def test_links_are_spread_evenly_over_blocks(count: int, links: int, real: str) -> None:
    """Two blocks take 11 and 10 of 21 links, for example; a vector has 16 bytes."""
    places = blocks(of_sines(count, "sin", "cos", real=real), 0, target())
    assert places is not None
    assert places.links == links <= MOST_LINKS
    lanes = {"double": 2, "float": 4}[real]
    assert places.lanes == -(-links // lanes) * lanes
    assert places.angles[0].operations == ("sin", "cos")


def test_classes_without_results_have_no_angle() -> None:
    places = blocks(of_sines(6, "cos", "sin", classes=2), 0, target())
    assert places is not None
    assert set(places.angles) == {0}
    assert places.angles[0].operations == ("cos", "sin")


def test_only_sweeps_of_sines_alone_go_through_blocks() -> None:
    form = of_sines(6, "sin", "cos")
    assert blocks(form, 1, target()) is None
    assert blocks(form, 0, target("libm")) is None
    assert blocks(form, 0, target("inline")) is None
    assert blocks(of_sines(1, "sin", "cos"), 0, target()) is None
    assert blocks(of_sines(6, "sin", "sqrt"), 0, target()) is None
    first, last = form.sweeps
    inward = replace(form, stages=(replace(first, inward=True), last))
    assert blocks(inward, 0, target()) is None
    with_carry = replace(form, stages=(replace(first, initial=(Fraction(0),)), last))
    assert blocks(with_carry, 0, target()) is None
    nothing = replace(first.steps[0], rows=(), outputs=())
    empty = replace(form, stages=(replace(first, steps=(nothing,)), last))
    assert blocks(empty, 0, target()) is None
    one_link = replace(form, stages=(replace(first, only_path_to=0), last))
    assert blocks(one_link, 0, target()) is None


@pytest.mark.parametrize(
    ("angles", "double", "single"),
    [(1, 2, 4), (2, 2, 4), (3, 4, 4), (4, 4, 4), (5, 6, 8), (0, 0, 0)],
)
def test_angles_fill_vectors_of_sixteen_bytes(angles: int, double: int, single: int) -> None:
    assert (sincos.lanes(angles, "double"), sincos.lanes(angles, "float")) == (double, single)


@pytest.mark.parametrize("real", ["double", "float"])
def test_polynomials_of_sines_are_written_innermost_first(real: str) -> None:
    """Evaluate the statements: the last one is the polynomial of y by its coefficients."""
    context = sincos.context(real)
    for key, letter, coefficients in (
        ("sine", "s", CONSTANTS[real].sine),
        ("cosine", "c", CONSTANTS[real].cosine),
    ):
        names: dict[str, float] = {"y": 0.25}
        for statement in context[key]:
            assert statement["name"] not in names
            names[statement["name"]] = eval(statement["value"].replace("f", ""), dict(names))
        numbers = [float(c.removesuffix("f")) for c in coefficients]
        expected = sum(c * 0.25**i for i, c in enumerate(numbers))
        assert names[f"{letter}_0"] == pytest.approx(expected, rel=1e-14)
        assert len(context[key]) == len(coefficients) - 1
    assert context["zero"] == {"double": "0.0", "float": "0.0f"}[real]
    assert float(context["farthest"].removesuffix("f")) == sincos.RANGE
