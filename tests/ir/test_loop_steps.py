"""Steps of loop programs as functions, classes with equal steps, and compared numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from symgen.ir.loops import (
    CARRY,
    CHECKED,
    CONSTANTS,
    FINAL_CARRY,
    SAVED,
    LinkClass,
    LoopProgram,
    Map,
    ParallelScan,
    SequentialScan,
    Sweep,
    angle_of,
    as_function,
    check,
    equal_classes,
    with_checked_rows,
    with_inputs,
    with_one_class_for,
    without_unused_constants,
)
from symgen.ir.loops.stages import port_size
from symgen.ir.loops.steps import ANGLE, elements_read
from symgen.ir.program import EXACT, Port, Program, evaluate
from symgen.ir.program import check as check_program
from tests.ir.loop_toys import in_elements, in_parts, in_tree, with_base_step, with_epilogue
from tests.shared.c_programs import DOUBLES, Builder
from tests.shared.recursions import TOYS


def renamed(step: Program) -> Program:
    return replace(step, function="renamed")


# -- stages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", [in_tree((-1, 0)), in_parts((2, 1)), in_elements(3, 1, 4), with_base_step(True)]
)
def test_a_changed_stage_has_every_step_changed_and_nothing_else(form: LoopProgram) -> None:
    for stage in form.stages:
        changed = stage.by(renamed)
        assert [step.function for step in changed.programs] == ["renamed"] * len(stage.programs)
        assert changed.by(lambda step: replace(step, function="toy")) == stage


def test_the_steps_of_a_stage_stand_in_their_order() -> None:
    sweep = with_base_step(False).sweeps[0]
    assert sweep.base_step is not None
    assert sweep.programs == (*sweep.steps, sweep.base_step)
    assert replace(sweep, base_step=None).programs == sweep.steps
    _, scan, _ = in_parts((2, 1)).stages
    assert isinstance(scan, SequentialScan)
    assert scan.programs == (scan.opening, scan.step)
    first, pairs, _ = in_elements(3, 1, 4).stages
    assert isinstance(first, Map)
    assert isinstance(pairs, ParallelScan)
    assert (first.programs, pairs.programs) == (first.steps, (pairs.up, pairs.down))
    assert (pairs.up_size, pairs.saved_size) == (3, 3)


def test_only_the_first_link_has_the_step_of_the_first_link() -> None:
    sweep = with_base_step(False).sweeps[0]
    assert sweep.step_of(0, 0) is sweep.base_step
    assert sweep.step_of(1, 0) is sweep.steps[0]
    assert replace(sweep, base_step=None).step_of(0, 0) is sweep.steps[0]


def test_a_port_that_is_missing_has_size_zero() -> None:
    ports = (Port("x", (2, 3)), Port("y", (4,)))
    assert [port_size(ports, name) for name in "xyz"] == [6, 4, 0]


# -- steps as functions ----------------------------------------------------------------------------


def step_of_many_ports() -> Program:
    b = Builder(
        "toy", [Port("unused", (0,)), Port(CARRY, (2,)), Port("q", (1,)), Port(SAVED, (3,))]
    )
    difference = b.op("sub", b.input(1, 1), b.input(3, 2))
    product = b.op("mul", difference, b.input(2, 0))
    return b.program(
        [Port(CARRY, (2,), (product, difference)), Port(SAVED, (0,)), Port("g", (1,), (product,))]
    )


def test_a_step_as_a_function_has_no_empty_ports_and_no_two_of_one_name() -> None:
    step = step_of_many_ports()
    function = check_program(as_function(step, "toy_outward"))
    assert function.function == "toy_outward"
    assert [port.name for port in function.inputs] == [CARRY, "q", SAVED]
    assert [(port.name, port.size) for port in function.outputs] == [("next_carry", 2), ("g", 1)]
    values = {CARRY: [1, 20], "q": [3], SAVED: [4, 5, 6], "unused": []}
    before, after = (
        evaluate(each, {name: [Fraction(x) for x in row] for name, row in values.items()}, EXACT)
        for each in (step, function)
    )
    assert (
        after
        == {"next_carry": before[CARRY], "g": before["g"]}
        == {
            "next_carry": [42, 14],
            "g": [42],
        }
    )


def test_arguments_are_chosen_by_their_numbers() -> None:
    step = check_program(with_inputs(step_of_many_ports(), [3, 1, 2]))
    assert [port.name for port in step.inputs] == [SAVED, CARRY, "q"]
    read = {
        (step.inputs[row.value[0]].name, row.value[1]) for row in step.rows if row.op == "input"
    }
    assert read == {(CARRY, 1), (SAVED, 2), ("q", 0)}
    assert elements_read(step, SAVED) == {2}
    assert elements_read(step, CARRY) == {1}
    assert elements_read(step, "g") == set()


# -- angles ----------------------------------------------------------------------------------------


def saves(*operations: str, inner: str = "", name: str = SAVED, twice: bool = False) -> Program:
    """Return a step that saves functions of the angle x + y, or of the argument x itself."""
    b = Builder("toy", [Port("x", (1,)), Port("y", (1,))])
    angle = b.input(0, 0)
    if inner:
        angle = b.op("add", angle, b.input(1, 0))
        angle = b.op(inner, angle) if inner != "add" else angle
    rows = [b.op(op, b.input(0, 0) if twice else angle) for op in operations]
    return b.program([Port(name, (len(rows),), tuple(rows))])


def test_a_step_that_saves_sines_of_one_angle_has_an_angle() -> None:
    for step, rows in ((saves("sin", "cos", inner="add"), 3), (saves("cos", "sin"), 1)):
        angle = angle_of(step)
        assert angle is not None
        assert angle.operations == tuple(row.op for row in step.rows if row.op in ("sin", "cos"))
        assert [(port.name, port.shape) for port in angle.program.outputs] == [(ANGLE, (1,))]
        assert angle.program.rows == step.rows[:rows]
        value = evaluate(angle.program, {"x": [Fraction(2)], "y": [Fraction(5)]}, EXACT)
        assert value == {ANGLE: [7 if rows == 3 else 2]}


def test_rows_that_read_the_same_argument_are_the_same_angle() -> None:
    angle = angle_of(saves("sin", "cos", twice=True))
    assert angle is not None
    assert angle.operations == ("sin", "cos")


@pytest.mark.parametrize(
    "step",
    [
        saves("sin", "sqrt", inner="add"),
        saves("sin", "cos", name="g"),
        saves("sin", "cos", inner="sin"),
        saves("sin", inner="cos"),
        with_epilogue().stages[0].programs[0],
    ],
)
def test_a_step_that_does_anything_else_has_no_angle(step: Program) -> None:
    assert angle_of(step) is None


def test_sines_of_two_angles_have_no_angle() -> None:
    b = Builder("toy", [Port("x", (2,))])
    rows = b.op("sin", b.input(0, 0)), b.op("cos", b.input(0, 1))
    assert angle_of(b.program([Port(SAVED, (2,), rows)])) is None
    b = Builder("toy", [Port("x", (2,))])
    row = b.op("sin", b.input(0, 0))
    with_more = b.program([Port(SAVED, (1,), (row,)), Port(CARRY, (1,), (row,))])
    assert angle_of(with_more) is None


# -- constants -------------------------------------------------------------------------------------


def with_constants(read: tuple[int, ...], names: tuple[str, ...]) -> LoopProgram:
    """Return g = Σ (constant k)·(q + k) over the constants that are read, of a chain of two."""
    b = Builder("toy", [Port("q", (1,)), Port(CONSTANTS, (4,))])
    total = b.const(0)
    for k in read:
        factor = b.op("add", b.input(0, 0), b.const(k))
        total = b.op("add", total, b.op("mul", b.input(1, k), factor))
    step = b.program([Port("g", (1,), (total,))])
    return check(
        LoopProgram(
            "toy",
            "by_hand",
            (Port("q", (2,)),),
            (Port("g", (2,)),),
            (LinkClass("spring", 1, 1, 4, names),),
            (-1, 0),
            (0, 0),
            tuple(tuple(Fraction(10 * link + k) for k in range(4)) for link in range(2)),
            (Sweep(False, (step,), (), (), (0,)),),
            0,
        )
    )


@pytest.mark.parametrize("names", [("a", "b", "c", "d"), ()])
def test_constants_that_no_step_reads_are_left_out(names: tuple[str, ...]) -> None:
    form = with_constants((3, 1), names)
    narrow = check(without_unused_constants(form))
    assert narrow.constants == ((1, 3), (11, 13))
    assert narrow.link_classes == (LinkClass("spring", 1, 1, 2, ("b", "d") if names else ()),)
    q = {"q": [Fraction(5), Fraction(7)]}
    assert narrow.run(q, EXACT) == form.run(q, EXACT)


def test_constants_of_elements_stay_if_a_map_reads_them() -> None:
    form = in_elements(3, 2, 2)
    assert without_unused_constants(form) == form
    assert without_unused_constants(in_parts((2, 1))) == in_parts((2, 1))
    none_read = check(without_unused_constants(with_constants((), ())))
    assert none_read.constants == ((), ())


# -- classes ---------------------------------------------------------------------------------------


def of_three_classes() -> LoopProgram:
    """Return a form whose classes 0 and 2 have equal steps, of other comments and names."""

    def step(first: str, op: str) -> Program:
        b = Builder("toy", [Port("q", (1,)), Port(CARRY, (1,))])
        b.step(first)
        total = b.op(op, b.input(1, 0), b.input(0, 0), name=first)
        return b.program([Port(CARRY, (1,), (total,)), Port("g", (1,), (total,))])

    steps = step("first", "add"), step("second", "sub"), step("third", "add")
    return check(
        LoopProgram(
            "toy",
            "by_hand",
            (Port("q", (4,)),),
            (Port("g", (4,)),),
            tuple(LinkClass(name, 1, 1, 0) for name in ("one", "two", "three")),
            (-1, 0, 1, 2),
            (2, 1, 0, 2),
            ((),) * 4,
            (Sweep(False, steps, (Fraction(1),), (), (0, 0, 0)),),
            1,
        )
    )


def test_classes_with_the_same_steps_are_one_class() -> None:
    form = of_three_classes()
    assert equal_classes(form) == [[0, 2], [1]]
    merged = check(with_one_class_for(form, equal_classes(form), ["adding", "subtracting"]))
    assert [link_class.name for link_class in merged.link_classes] == ["adding", "subtracting"]
    assert merged.class_of == (0, 1, 0, 0)
    assert merged.sweeps[0].steps == form.sweeps[0].steps[:2]
    q = {"q": [Fraction(x) for x in (1, 10, 100, 1000)]}
    assert merged.run(q, EXACT) == form.run(q, EXACT)


def test_classes_differ_by_their_constants_and_by_where_they_save() -> None:
    form = of_three_classes()
    wider = form.link_classes[2]._replace(width=2)
    assert equal_classes(replace(form, link_classes=(*form.link_classes[:2], wider))) == [
        [0],
        [1],
        [2],
    ]
    (sweep,) = form.sweeps
    moved = replace(form, stages=(replace(sweep, saved_at=(0, 0, 1)),))
    assert equal_classes(moved) == [[0], [1], [2]]
    empty = tuple(replace(step, rows=(), outputs=()) for step in sweep.steps)
    nowhere = replace(form, stages=(replace(sweep, steps=empty, saved_at=(0, 1, 2)),))
    assert equal_classes(nowhere) == [[0, 1, 2]]


# -- compared numbers ------------------------------------------------------------------------------


def divisors(step: Program) -> list[int]:
    return [row.args[1] for row in step.rows if row.op == "div"]


def test_steps_with_rows_to_compare_give_them_last() -> None:
    form = TOYS["chain"]()
    checked = with_checked_rows(form, divisors)
    for before, after in zip(form.programs, checked.programs, strict=True):
        rows = divisors(before)
        assert after.rows == before.rows
        if rows:
            assert after.outputs == (*before.outputs, Port(CHECKED, (len(rows),), tuple(rows)))
        else:
            assert after is before
    assert any(divisors(step) for step in form.programs)
    assert checked.epilogue_check is None
    q = {"q": [0.5] * 6, "v": [0.25] * 6}
    assert checked.run(q, DOUBLES) == form.run(q, DOUBLES)


def test_the_rows_of_an_epilogue_are_given_by_a_step_before_it() -> None:
    form = with_epilogue()
    assert form.epilogue is not None
    last = len(form.epilogue.rows) - 1
    checked = with_checked_rows(form, lambda step: [last] if step is form.epilogue else [])
    assert checked.stages == form.stages
    assert checked.epilogue is form.epilogue
    assert checked.epilogue_check == replace(form.epilogue, outputs=(Port(CHECKED, (1,), (last,)),))
    assert checked.programs[-2:] == (checked.epilogue_check, form.epilogue)
    assert checked.run({"q": [1, 2, 3]}, EXACT) == form.run({"q": [1, 2, 3]}, EXACT)
    assert [port.name for port in form.epilogue.inputs] == [FINAL_CARRY]
    assert with_checked_rows(form, lambda _: []) == form
