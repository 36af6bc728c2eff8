"""Loop programs: values, links and parts, elements of ports, operations and depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from symgen.ir.loops import CARRY, FINAL_CARRY, SAVED, LinkClass, LoopProgram, Sweep, even_lengths
from symgen.ir.loops.depth import _deeper, deepest
from symgen.ir.loops.form import combined
from symgen.ir.program import EXACT, Numbers, Port
from symgen.ir.program import evaluate as evaluate_program
from symgen.vocabulary.arrays import Convention
from tests.ir.loop_toys import (
    START,
    element_results,
    in_elements,
    in_parts,
    in_tree,
    in_two_scans,
    of_two_classes,
    part_results,
    saving,
    tree_results,
    with_base_step,
    with_epilogue,
)
from tests.shared.c_programs import Builder
from tests.shared.recursions import BRANCHED, TOYS, framed, mixed, sums

CHAIN = (-1, 0, 1, 2)
TREES = {"chain": CHAIN, "tree": BRANCHED, "roots": (-1, -1, 0, 1, 1, -1), "one link": (-1,)}
PARTS = ((3, 2), (2, 2), (2, 2, 1), (1, 1, 1), (4,))
ELEMENTS = (
    (3, 1, 4),
    (4, 1, 5),
    (3, 2, 2),
    (5, 2, 3),
    (4, 2, 3),
    (6, 4, 2),
    (7, 4, 2),
    (10, 4, 3),
    (8, 1, 9),
)
"""Links, parts, and elements of each part."""


def angles(count: int) -> list[Fraction]:
    return [Fraction(5 * i * i + 3, 7 + i) for i in range(count)]


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TREES)
def test_sweeps_combine_what_several_children_carry(name: str) -> None:
    parents = TREES[name]
    q = angles(len(parents))
    assert in_tree(parents).run({"q": q}, EXACT) == tree_results(parents, q)


@pytest.mark.parametrize("inward", [False, True])
@pytest.mark.parametrize("lengths", PARTS)
def test_scans_across_the_parts_give_each_part_its_initial_carry(
    lengths: Sequence[int], inward: bool
) -> None:
    q = angles(sum(lengths))
    assert in_parts(lengths, inward).run({"q": q}, EXACT) == part_results(len(q), inward, q)


@pytest.mark.parametrize("size", ELEMENTS)
def test_parallel_scans_give_each_element_the_sum_before_it(size: tuple[int, int, int]) -> None:
    q = angles(size[0])
    assert in_elements(*size).run({"q": q}, EXACT) == element_results(size[0], q)


@pytest.mark.parametrize("size", ELEMENTS)
def test_a_second_scan_reads_the_map_between_them(size: tuple[int, int, int]) -> None:
    q = angles(size[0])
    sums_before = [START + sum(q[:i]) for i in range(size[0])]
    expected = [sum(sums_before[:i], q[i]) for i in range(size[0])]
    assert in_two_scans(*size).run({"q": q}, EXACT) == {"g": expected}


def test_the_first_link_has_a_step_of_its_own() -> None:
    q = [Fraction(x) for x in (1, 10, 100)]
    assert with_base_step(False).run({"q": q}, EXACT) == {"g": [2, 12, 112]}
    for with_carry in (True, False):
        form = with_base_step(True, with_carry)
        assert form.run({"q": q}, EXACT) == {"g": [112, 110, 100]}
    assert with_base_step(True).without_base_steps().run({"q": q}, EXACT) == {"g": [111, 110, 100]}


def test_every_sweep_saves_at_its_place() -> None:
    assert saving().run({"q": [Fraction(2), Fraction(3)]}, EXACT) == {
        "g": [2000 + 400 + 80 + 16, 3000 + 900 + 270 + 81]
    }


def test_an_epilogue_takes_the_final_carries_in_their_order() -> None:
    form, q = with_epilogue(), angles(3)
    products = sum(x * Fraction(k + 2, 3) for k, x in enumerate(q))
    assert form.run({"q": q}, EXACT) == {"det": [sum(q) * products]}


def test_columns_that_no_sweep_gives_are_zero() -> None:
    """The links 3 to 5 are not on the path to link 2; they have two rows each of J."""
    form = framed(range(-1, 5), (0,) * 6, 2)
    numbers = Numbers(Fraction, lambda x: x + 2, lambda x: x - 3, lambda x: x, lambda x: x)
    (columns,) = form.run({"q": angles(6)}, numbers).values()
    assert [bool(x) for x in columns] == [True] * 3 + [False] * 3 + [True] * 3 + [False] * 3


def test_carries_are_combined_number_by_number() -> None:
    initial, first, second, third = [7, 8], [1, 2], [10, 20], [100, 200]
    assert combined(initial, [], ("add", "mul")) == initial
    assert combined(initial, [first], ("add", "mul")) == first
    assert combined(initial, [first, second, third], ("add", "mul")) == [111, 8000]


# -- links and parts -------------------------------------------------------------------------------


def test_children_roots_and_paths_of_a_tree() -> None:
    form = in_tree(BRANCHED)  # (-1, 0, 0, 1, 1, 2, -1, 6, 6, 6)
    assert form.children == ((1, 2), (3, 4), (5,), (), (), (), (7, 8, 9), (), (), ())
    assert form.roots == (0, 6)
    assert [form.path_to(link) for link in (0, 4, 5, 9)] == [(0,), (0, 1, 4), (0, 2, 5), (6, 9)]
    assert not form.serial
    assert len(form) == 10
    inward, outward = form.sweeps
    assert [*form.visited(inward)] == [*range(9, -1, -1)]
    assert [*form.visited(outward)] == [*range(10)]
    assert not form.straight(outward)
    to_link = replace(outward, only_path_to=5)
    assert [*form.visited(to_link)] == [0, 2, 5]
    assert [*form.visited(replace(to_link, inward=True))] == [5, 2, 0]
    assert [*form.visited(replace(to_link, only_path_to=0))] == [0]
    assert form.straight(to_link)
    assert form.straight(replace(outward, only_path_to=0))
    assert [[*path] for path in form.paths(to_link)] == [[0, 2, 5]]


def test_a_chain_is_serial_only_in_its_order() -> None:
    assert in_tree(CHAIN).serial
    assert in_tree(CHAIN).straight(in_tree(CHAIN).sweeps[0])
    assert not in_tree((-1, -1)).serial
    assert in_tree((-1,)).serial


def test_parts_of_a_chain() -> None:
    form = in_parts((3, 2, 2))
    assert [[*part] for part in form.parts] == [[0, 1, 2], [3, 4], [5, 6]]
    assert (form.part_count, form.at_once, form.longest_part, form.element_count) == (3, 3, 3, 7)
    assert [[*path] for path in form.paths(form.sweeps[0])] == [[0, 1, 2], [3, 4], [5, 6]]
    backward = in_parts((3, 2, 2), inward=True)
    assert [[*p] for p in backward.paths(backward.sweeps[0])] == [[2, 1, 0], [4, 3], [6, 5]]
    whole = in_tree(CHAIN)
    assert [[*part] for part in whole.parts] == [[0, 1, 2, 3]]
    assert (whole.part_count, whole.at_once, whole.longest_part, whole.element_count) == (
        0,
        1,
        4,
        4,
    )


def test_elements_behind_the_end_repeat_the_last_one() -> None:
    form = in_elements(6, 4, 2)
    assert (len(form), form.element_count, form.part_count, form.at_once) == (6, 8, 4, 4)
    assert [form.constants_of(element)[0] for element in (0, 5, 6, 7)] == [
        Fraction(k, 3) for k in (2, 7, 8, 8)
    ]


@pytest.mark.parametrize(
    ("links", "parts", "lengths"),
    [(7, 3, (3, 2, 2)), (8, 3, (3, 3, 2)), (9, 3, (3, 3, 3)), (2, 2, (1, 1)), (5, 1, (5,))],
)
def test_even_lengths_differ_by_one(links: int, parts: int, lengths: tuple[int, ...]) -> None:
    assert even_lengths(links, parts) == lengths


def test_classes_of_a_sweep_are_those_of_the_links_it_visits() -> None:
    form = mixed(BRANCHED, (0, 2, 1, 0, 2, 2, 1, 0, 1, 2))
    outward = form.sweeps[0]
    assert form.classes(outward) == {0, 1, 2}
    assert form.classes(replace(outward, only_path_to=3)) == {0, 2}
    assert form.classes(replace(outward, only_path_to=6)) == {1}


def test_sweeps_are_shortened_to_a_path_only_if_no_result_needs_other_links() -> None:
    """Columns and numbers that all links share need the path alone; g of every link needs all."""
    form = framed(range(-1, 5), (0,) * 6, 2)
    whole = replace(
        form,
        stages=tuple(replace(s, only_path_to=-1, inward=False) for s in form.sweeps),
    )
    shortened = whole.along_path_to(4)
    assert [s.only_path_to for s in shortened.sweeps] == [4, 4]
    assert replace(shortened, stages=whole.stages) == whole
    inward_elsewhere = replace(whole, stages=(whole.sweeps[0], form.sweeps[1]))
    assert inward_elsewhere.along_path_to(4) is inward_elsewhere
    assert [s.only_path_to for s in inward_elsewhere.along_path_to(2).sweeps] == [2, 2]
    assert sums(5).along_path_to(3) == sums(5)
    shared = replace(sums(5), per_link=(("g", 0),))
    assert [s.only_path_to for s in shared.along_path_to(3).sweeps] == [3]
    of_each = replace(sums(5), per_link=(("g", 1),))
    assert of_each.along_path_to(3) is of_each


# -- elements of ports -----------------------------------------------------------------------------


def of_three_classes() -> LoopProgram:
    """Return a form of links with (4 positions, 3 velocities), (1, 1), (4, 3) and (0, 0)."""
    ball, hinge, weld = (
        LinkClass("ball", 4, 3, 0),
        LinkClass("hinge", 1, 1, 0),
        LinkClass("weld", 0, 0, 0),
    )
    return LoopProgram(
        "toy",
        "by_hand",
        (Port("q", (9,)), Port("v", (7,)), Port("q_next", (9,)), Port("wrench", (12,))),
        (Port("J", (2, 7)), Port("p_links", (4, 3)), Port("h", (5,))),
        (ball, hinge, weld),
        (-1, 0, 1, 2),
        (0, 1, 0, 2),
        ((),) * 4,
        (),
        0,
        per_link=(("wrench", 3), ("p_links", 3), ("h", 0)),
        columns=(("J", 2),),
    )


def test_elements_of_a_port_that_belong_to_a_link() -> None:
    form = of_three_classes()
    assert form.offsets == ((0, 0), (4, 3), (5, 4), (9, 7))
    expected: dict[str, list[list[int]]] = {
        "q": [[0, 1, 2, 3], [4], [5, 6, 7, 8], []],
        "q_next": [[0, 1, 2, 3], [4], [5, 6, 7, 8], []],
        "v": [[0, 1, 2], [3], [4, 5, 6], []],
        "wrench": [[3 * k, 3 * k + 1, 3 * k + 2] for k in range(4)],
        "h": [[0, 1, 2, 3, 4]] * 4,
        "J": [[0, 1, 2, 7, 8, 9], [3, 10], [4, 5, 6, 11, 12, 13], []],
    }
    for port, elements in expected.items():
        assert [[*form.elements(port, link)] for link in range(4)] == elements
        for link, of_link in enumerate(elements):
            link_class = form.link_classes[form.class_of[link]]
            assert form.width(port, link_class) == len(of_link)


# -- changes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [with_epilogue(), in_parts((2, 1)), in_elements(3, 2, 2)])
def test_every_step_is_changed(form: LoopProgram) -> None:
    float_form = form.in_real("float")
    assert float_form.real == "float"
    assert {step.real for step in float_form.programs} == {"float"}
    assert len(float_form.programs) == len(form.programs)
    assert float_form.in_real("double") == form
    checked = replace(form, epilogue_check=form.programs[-1]).in_real("float")
    assert {step.real for step in checked.programs} == {"float"}
    assert form.in_real("double") is form


def test_programs_are_all_steps() -> None:
    form = with_base_step(True)
    assert len(form.programs) == 2
    assert len(form.without_base_steps().programs) == 1
    epilogue = with_epilogue()
    assert epilogue.programs[-1] is epilogue.epilogue
    checked = replace(epilogue, epilogue_check=epilogue.epilogue)
    assert len(checked.programs) == len(epilogue.programs) + 1
    assert [type(stage).__name__ for stage in in_elements(3, 1, 4).stages] == [
        "Map",
        "ParallelScan",
        "Map",
    ]
    elements, parts = in_elements(3, 1, 4), in_parts((2, 1))
    assert (len(elements.maps), len(elements.scans), len(elements.sweeps)) == (2, 1, 0)
    assert (len(parts.maps), len(parts.scans), len(parts.sweeps)) == (0, 0, 2)


def test_comments_of_all_steps_stand_once() -> None:
    assert TOYS["two classes"]().steps == ("place of the link", "force on the link")


# -- operations ------------------------------------------------------------------------------------


def counts(form: LoopProgram) -> dict[str, int]:
    return {op: number for op, number in form.operations.items() if number}


def test_operations_of_sweeps_are_those_of_their_links_and_of_combined_carries() -> None:
    """Ten links take 2 mul and 1 add inward, 1 mul and 1 add outward.

    Children of links: (1, 2), (3, 4) and (7, 8, 9) are combined pairwise by 4 add and 4 mul, the
    roots 0 and 6 by one of each.
    """
    form = in_tree(BRANCHED)
    assert counts(form) == {"mul": 3 * 10 + 4 + 1, "add": 2 * 10 + 4 + 1}
    assert form.cost == 60
    assert form.link_cost == 5
    without_results = replace(form, final_carries=())
    assert counts(without_results) == {"mul": 34, "add": 24}
    assert counts(in_tree(CHAIN)) == {"mul": 12, "add": 8}
    assert set(form.operations) == set(in_tree(CHAIN).operations)
    assert "log" not in form.operations


def test_operations_of_parts_are_those_of_links_and_of_parts_but_the_first() -> None:
    """Two sweeps of 1 mul and 1 add, and 2 add for each part but the first."""
    assert counts(in_parts((3, 2, 2))) == {"mul": 14, "add": 14 + 2 * 2}
    assert counts(in_parts((4,))) == {"mul": 8, "add": 8}
    assert in_parts((3, 2, 2)).rows_in_all == 2 * 7 * 5 + 2 + 2 * 6


def test_operations_of_a_scan_are_those_of_pairs() -> None:
    """Eight elements take a mul before and 2 add, 1 mul behind; seven pairs take 3 add each way.

    The two contributions to each of six joints are added.
    """
    form = in_elements(6, 4, 2)
    assert counts(form) == {"mul": 16, "add": 8 * 2 + 7 * 6 + 6}
    more_results = replace(form, outputs=form.outputs * 3)
    assert more_results.operations["add"] - form.operations["add"] == 6 * 2


def test_operations_of_a_first_link_and_of_an_epilogue_count_once() -> None:
    assert counts(with_base_step(False)) == {"add": 2 + 2}
    assert counts(with_epilogue()) == {"mul": 3 + 1, "add": 6}
    assert counts(of_two_classes()) == {"add": 2 + 2}
    steps = sorted((times, len(step.outputs)) for times, step in of_two_classes().step_counts())
    assert steps == [(0, 2), (1, 2), (2, 1)]
    b = Builder("toy", [Port(FINAL_CARRY, (2,))])
    logarithm = b.program([Port("det", (), (b.op("log", b.input(0, 0)),))])
    assert counts(replace(with_epilogue(), epilogue=logarithm)) == {"mul": 3, "add": 6, "log": 1}


@pytest.mark.parametrize("name", TOYS)
def test_the_cost_is_that_of_products_sums_and_quotients(name: str) -> None:
    form = TOYS[name]()
    operations = counts(form)
    assert form.cost == sum(operations.get(op, 0) for op in ("mul", "add", "div"))


def test_links_that_a_sweep_does_not_visit_cost_nothing() -> None:
    form = framed(range(-1, 5), (0,) * 6, 2)
    longer = replace(form, stages=tuple(replace(sweep, only_path_to=3) for sweep in form.sweeps))
    assert longer.cost - form.cost == form.link_cost
    assert form.cost == 3 * form.link_cost


def test_rows_and_constants_are_counted_for_every_link() -> None:
    form = in_tree(BRANCHED)
    assert form.rows_in_all == 10 * sum(len(step.rows) for step in form.programs)
    assert form.constant_count == 10
    assert in_parts((3, 2, 2)).constant_count == 9
    assert in_elements(6, 4, 2).constant_count == 8
    wider = in_parts((3, 2, 2)).link_classes[0]._replace(width=5)
    assert replace(in_parts((3, 2, 2)), link_classes=(wider,)).constant_count == 45
    outline = replace(form, convention=Convention("local", "linear")).outline
    assert (outline.function, outline.method, outline.real) == ("toy", "by_hand", "double")
    assert (outline.inputs, outline.outputs) == (form.inputs, form.outputs)
    assert (outline.operations, outline.length) == (form.operations, form.rows_in_all)
    assert outline.convention == Convention("local", "linear")


# -- depth -----------------------------------------------------------------------------------------


class Depth:
    """A number of which only the operations before it are known."""

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth

    def after(self, *others: Depth) -> Depth:
        return Depth(1 + max(x.depth for x in (self, *others)))

    __add__ = __sub__ = __mul__ = __truediv__ = after

    def __neg__(self) -> Depth:
        return self


def after(*operands: Any) -> Depth:
    first, *others = operands
    assert isinstance(first, Depth)
    return first.after(*others)


DEPTHS = Numbers(lambda _: Depth(), after, after, after, after, after)


def depth_by_evaluation(form: LoopProgram) -> int:
    arguments = {port.name: [Depth()] * port.size for port in form.inputs}
    results = form.run(arguments, DEPTHS)
    return max(value.depth for values in results.values() for value in values)


@pytest.mark.parametrize("name", TOYS)
def test_depth_is_the_longest_chain_of_dependent_operations(name: str) -> None:
    form = TOYS[name]()
    assert form.depth == depth_by_evaluation(form) > 2


@pytest.mark.parametrize(
    ("form", "depth"),
    [
        (sums(9), 10),  # a product, and a sum for each link
        (in_parts((4,)), 5),
        # 3 in the first part, 1 each to the second and to the third, whose two links follow
        (in_parts((2, 2, 2)), 3 + 1 + 1 + 2),
        (in_parts((2, 2, 2), inward=True), 7),
        (with_base_step(False), 4),
        (with_base_step(True), 4),
        (with_epilogue(), 5),
    ],
)
def test_depth_of_small_forms(form: LoopProgram, depth: int) -> None:
    assert depth_by_evaluation(form) == form.depth == depth


@pytest.mark.parametrize("size", ELEMENTS)
def test_depth_of_a_scan_grows_with_the_logarithm_of_its_elements(
    size: tuple[int, int, int],
) -> None:
    form = in_elements(*size)
    assert form.depth == depth_by_evaluation(form)
    assert in_elements(30, 1, 31).depth <= in_elements(3, 1, 4).depth + 2 * 3 + 1


@pytest.mark.parametrize("name", TREES)
def test_depth_of_a_tree(name: str) -> None:
    form = in_tree(TREES[name])
    assert form.depth == depth_by_evaluation(form)


def test_the_larger_of_two_depths_is_a_number_or_an_expression() -> None:
    """Variables have any depth; a depth of 0 and an equal one need no comparison."""
    depths: list[int | str] = [0, 1, 2, "x", "y"]
    for first, second in product(depths, repeat=2):
        larger = _deeper(first, second)
        for x, y in product(range(4), repeat=2):
            value = {"x": x, "y": y}
            expected = max(value.get(str(each), each) for each in (first, second))
            assert eval(str(larger), value) == expected
        if first == second or 0 in (first, second):
            assert larger in (first, second)


def test_depth_without_results_is_zero() -> None:
    assert deepest((Port("q", (2,)),), lambda *_: {}) == 0
    assert deepest((), lambda *_: {"g": []}) == 0


def test_depth_of_one_step_is_that_of_its_program() -> None:
    """A step with every operation, on numbers of the step before it and on others."""
    b = Builder("toy", [Port("q", (2,)), Port(CARRY, (2,)), Port(SAVED, (1,))])
    early, late = b.op("sin", b.input(0, 0)), b.op("neg", b.input(1, 0))
    sum_of_both = b.op("add", b.op("cos", early), late)
    early_first = b.op("atan2", b.op("sqrt", b.op("mul", early, early)), sum_of_both)
    late_first = b.op("div", b.op("sub", sum_of_both, late), b.input(2, 0))
    constant = b.op("neg", b.op("log", b.const(3)))
    step = b.program(
        [
            Port(CARRY, (2,), (early_first, constant)),
            Port("g", (3,), (late_first, b.op("mul", constant, early_first), late)),
        ]
    )
    results = evaluate_program(
        step, {"q": [Depth()] * 2, CARRY: [Depth(3), Depth(9)], SAVED: [Depth(1)]}, DEPTHS
    )
    form = LoopProgram(
        "toy",
        "by_hand",
        (Port("q", (6,)),),
        (Port("g", (9,)),),
        (LinkClass("two", 2, 3, 0),),
        (-1, 0, 1),
        (0,) * 3,
        ((),) * 3,
        (Sweep(False, (step,), (Fraction(1), Fraction(2)), (), (0,)),),
        1,
    )
    assert [x.depth for x in results["g"]] == [6, 6, 3]
    saved_first = Sweep(False, (saving_step(),), (), (), (0,))
    whole = replace(form, stages=(saved_first, *form.stages))
    assert whole.depth == depth_by_evaluation(whole)


def saving_step() -> Any:
    b = Builder("toy", [Port("q", (2,))])
    return b.program([Port(SAVED, (1,), (b.op("mul", b.input(0, 0), b.input(0, 1)),))])
