"""Rules of loop programs: every broken one is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from symgen.ir.loops import (
    BEFORE,
    CARRY,
    CHECKED,
    CONSTANTS,
    DOWNSWEEP,
    FINAL_CARRY,
    INITIAL_CARRY,
    LEFT,
    RIGHT,
    SAVED,
    UPSWEEP,
    FinalCarry,
    LoopProgram,
    check,
)
from symgen.ir.program import Port, Program
from symgen.support.errors import ProgramError
from tests.ir.loop_toys import (
    in_elements,
    in_parts,
    in_tree,
    in_two_scans,
    of_two_classes,
    saving,
    with_base_step,
    with_epilogue,
)
from tests.shared.recursions import TOYS, framed

Change = Callable[[LoopProgram], LoopProgram]
CHAIN = in_tree((-1, 0, 1, 2))
TREE = in_tree((-1, 0, 0, 1))
PARTS = in_parts((3, 2))
ELEMENTS = in_elements(4, 2, 3)
PATH = framed(range(-1, 5), (0,) * 6, 2)


def with_stage(form: LoopProgram, number: int, **changes: Any) -> LoopProgram:
    """Return the form with one stage changed; -1 is the last one."""
    stages = list(form.stages)
    stages[number] = replace(stages[number], **changes)
    return replace(form, stages=tuple(stages))


def renamed(ports: tuple[Port, ...], old: str, new: str) -> tuple[Port, ...]:
    return tuple(port._replace(name=new) if port.name == old else port for port in ports)


def longer(ports: tuple[Port, ...], name: str, by: int = 1) -> tuple[Port, ...]:
    """Return ports with one of a longer shape; a result repeats its last row."""
    return tuple(
        port._replace(
            shape=(port.size + by,), rows=port.rows + port.rows[-1:] * by if port.rows else ()
        )
        if port.name == name
        else port
        for port in ports
    )


def without(ports: tuple[Port, ...], name: str) -> tuple[Port, ...]:
    return tuple(port for port in ports if port.name != name)


def with_step(
    form: LoopProgram, number: int, change: Callable[[Program], Program], field: str = "steps"
) -> LoopProgram:
    """Return the form with a changed step: the first of a sweep or map, or that in a field."""
    step = getattr(form.stages[number], field)
    changed = (change(step[0]), *step[1:]) if field == "steps" else change(step)
    return with_stage(form, number, **{field: changed})


def outputs(change: Callable[..., Any], *arguments: Any) -> Callable[[Program], Program]:
    return lambda step: replace(step, outputs=change(step.outputs, *arguments))


def inputs(change: Callable[..., Any], *arguments: Any) -> Callable[[Program], Program]:
    return lambda step: replace(step, inputs=change(step.inputs, *arguments))


NOT_READ = Program("toy", "by_hand", (), (), ())
"""A step without rows, ports and results."""


def taking(name: str, size: int) -> Callable[[Program], Program]:
    """Return a change by which a step has one more argument, which it does not read."""
    return lambda step: replace(step, inputs=(*step.inputs, Port(name, (size,))))


def giving(name: str, size: int = 1) -> Callable[[Program], Program]:
    """Return a change by which a step has one more result."""
    return lambda step: replace(step, outputs=(*step.outputs, Port(name, (size,), (0,) * size)))


SCANS = in_two_scans(4, 2, 3)
VALID = {
    "two scans": SCANS,
    "places of saved numbers": saving(),
    "the joint before": with_step(ELEMENTS, 0, taking("q" + BEFORE, 1)),
    "a path to the first link": framed(range(-1, 5), (0,) * 6, 0),
    "the class of the first link": of_two_classes(),
    "chain": CHAIN,
    "tree": TREE,
    "parts": PARTS,
    "inward parts": in_parts((2, 2), inward=True),
    "elements": ELEMENTS,
    "one part of elements": in_elements(4, 1, 5),
    "path": PATH,
    "first link": with_base_step(False),
    "first link inward": with_base_step(True),
    "first link without carry": with_base_step(True, False),
    "epilogue": with_epilogue(),
    "scan to no sweep": with_step(
        with_step(with_stage(PARTS, 1, gives=-1), 1, outputs(without, INITIAL_CARRY), "opening"),
        1,
        outputs(without, INITIAL_CARRY),
        "step",
    ),
    "whole last element": with_stage(ELEMENTS, 1, valid=3, last_valid=3),
    "final carry of a path": replace(
        PATH,
        outputs=(*PATH.outputs, Port("p", (2,))),
        final_carries=(FinalCarry("p", 0, (0, 2), 2),),
    ),
    **{name: toy() for name, toy in TOYS.items()},
}
BROKEN: dict[str, tuple[LoopProgram, str]] = {
    # links
    "a class is missing": (
        replace(CHAIN, class_of=(0,) * 3),
        "links, their classes and the rows of",
    ),
    "constants are missing": (
        replace(CHAIN, constants=CHAIN.constants[:3]),
        "are not equally many",
    ),
    "constants of the last element are missing": (
        replace(ELEMENTS, constants=ELEMENTS.constants[:4]),
        "are not equally many",
    ),
    "there are constants of one link more": (
        replace(CHAIN, constants=(*CHAIN.constants, *CHAIN.constants[:1])),
        "are not equally many",
    ),
    "a parent comes later": (
        replace(CHAIN, parents=(-1, 0, 3, 2)),
        "the parent of link 2 does not stand before it",
    ),
    "a link is its own parent": (replace(CHAIN, parents=(0, 0, 1, 2)), "the parent of link 0"),
    "a parent is negative": (replace(CHAIN, parents=(-1, -2, 1, 2)), "the parent of link 1"),
    "a class does not exist": (replace(CHAIN, class_of=(0, 0, 1, 0)), "link 2 is of no class"),
    "a class is negative": (replace(CHAIN, class_of=(0, -1, 0, 0)), "link 1 is of no class"),
    "a link has more constants": (
        replace(CHAIN, constants=(*CHAIN.constants[:3], (Fraction(1), Fraction(2)))),
        "a link of class 0 has 2 constants, not 1",
    ),
    "the last element has more constants": (
        replace(ELEMENTS, constants=(*ELEMENTS.constants[:4], (Fraction(1), Fraction(2)))),
        "a link of class 0 has 2 constants, not 1",
    ),
    # parts
    "a scan comes last": (replace(ELEMENTS, stages=ELEMENTS.stages[:2]), "maps and parallel scans"),
    "a scan comes first": (
        replace(ELEMENTS, stages=ELEMENTS.stages[1:]),
        "maps and parallel scans",
    ),
    "a scan stands alone": (
        replace(ELEMENTS, stages=ELEMENTS.stages[1:2], constants=ELEMENTS.constants[:4]),
        "stages must be maps and parallel scans that alternate",
    ),
    "there are maps alone": (replace(ELEMENTS, stages=ELEMENTS.stages[::2]), "maps and parallel"),
    "two scans are neighbours": (
        replace(SCANS, stages=(*SCANS.stages[:2], *SCANS.stages[3:])),
        "maps and parallel scans",
    ),
    "two maps are neighbours": (
        replace(ELEMENTS, stages=(*ELEMENTS.stages, ELEMENTS.stages[2])),
        "that alternate, with a map first and last",
    ),
    "a sweep stands among maps": (
        replace(ELEMENTS, stages=(*ELEMENTS.stages, *CHAIN.stages[:1])),
        "that alternate",
    ),
    "three parts of elements": (
        replace(ELEMENTS, part_lengths=(2, 2, 2)),
        "the number of parts, 3, must be a power of two, and all parts equally long",
    ),
    "parts of elements of two lengths": (
        replace(ELEMENTS, part_lengths=(3, 2)),
        "must be a power of two, and all parts equally long",
    ),
    "parts with too few elements": (
        replace(ELEMENTS, part_lengths=(2, 2)),
        "parts of 2 elements do not hold 5 elements",
    ),
    "parts with too many elements": (
        replace(ELEMENTS, part_lengths=(4, 4)),
        "parts of 4 elements do not hold 5 elements",
    ),
    "a part that is repeated elements alone": (
        replace(ELEMENTS, part_lengths=(6,)),
        "parts of 6 elements do not hold 5 elements",
    ),
    "parts with fewer links": (
        replace(PARTS, part_lengths=(2, 2)),
        "parts of 2, 2 links are not those of 5 links, the first of the longest",
    ),
    "an empty part": (replace(PARTS, part_lengths=(3, 2, 0)), "are not those of 5 links"),
    "a first part that is not the longest": (
        replace(PARTS, part_lengths=(2, 3)),
        "the first of the longest",
    ),
    "parts of a tree": (
        replace(PARTS, parents=(-1, 0, 0, 1, 2)),
        "parts are not those of one chain of like links",
    ),
    "parts of two classes": (
        replace(PARTS, link_classes=PARTS.link_classes * 2),
        "parts are not those of one chain of like links",
    ),
    "elements of a tree": (
        replace(ELEMENTS, parents=(-1, 0, 0, 1)),
        "parts are not those of one chain of like links",
    ),
    "a step of another real type": (
        with_step(CHAIN, 0, lambda step: step.in_real("float")),
        "its steps are of another real type",
    ),
    "a step that is no program": (
        with_step(CHAIN, 0, lambda step: replace(step, rows=step.rows[:1])),
        "row",
    ),
    # sweeps
    "a step is missing": (with_stage(CHAIN, 1, steps=()), "sweep 1 has not one step a class"),
    "a place is missing": (with_stage(CHAIN, 1, saved_at=()), "sweep 1 has not one step a class"),
    "a class has no step": (
        replace(CHAIN, link_classes=CHAIN.link_classes * 2),
        "sweep 0 has not one step a class",
    ),
    "an outward sweep combines": (
        with_stage(CHAIN, 1, combine=("add",)),
        "sweep 1 combines what it does not carry inward",
    ),
    "an inward sweep does not combine": (
        with_stage(CHAIN, 0, combine=()),
        "sweep 0 combines what it does not carry inward",
    ),
    "an inward sweep combines too little": (
        with_stage(CHAIN, 0, combine=("add",)),
        "sweep 0 combines what",
    ),
    "parts combine": (
        with_stage(in_parts((2, 2), inward=True), 0, combine=("add",)),
        "sweep 0 combines what",
    ),
    "a path combines": (with_stage(PATH, 1, combine=("add",)), "sweep 1 combines what"),
    "a path goes too far": (with_stage(PATH, 1, only_path_to=6), "sweep 1 goes to no link"),
    "carries are subtracted": (
        with_stage(CHAIN, 0, combine=("add", "sub")),
        "sweep 0 combines by none of add, mul",
    ),
    "an unknown argument": (
        with_step(CHAIN, 0, taking("torque", 1)),
        "sweep 0 of spring takes 'torque', which the function does not",
    ),
    "a longer argument": (
        with_step(CHAIN, 0, inputs(longer, "q")),
        "sweep 0 of spring takes 2 of 'q'",
    ),
    "more constants": (with_step(CHAIN, 0, inputs(longer, CONSTANTS)), "takes 2 of 'table'"),
    "more saved numbers": (with_step(CHAIN, 1, inputs(longer, SAVED)), "sweep 1 .* 2 of 'saved'"),
    "a longer carry is taken": (with_step(CHAIN, 1, inputs(longer, CARRY)), "takes 2 of 'carry'"),
    "too much is saved": (with_step(CHAIN, 0, outputs(longer, SAVED)), "saves more than there is"),
    "too much is saved behind others": (
        with_stage(CHAIN, 0, saved_at=(1,)),
        "sweep 0 of spring saves more than there is room for",
    ),
    "a longer carry is given": (
        with_step(CHAIN, 0, outputs(longer, CARRY)),
        "sweep 0 of spring does not carry 2 numbers",
    ),
    "no carry is given": (
        with_step(CHAIN, 1, outputs(without, CARRY)),
        "sweep 1 of spring does not carry 1 numbers",
    ),
    "two carries are given, one of another size": (
        with_step(CHAIN, 1, giving(CARRY, 2)),
        "does not carry 1 numbers",
    ),
    # steps of the first link
    "the first link of a tree": (
        replace(with_base_step(False), parents=(-1, 0, 0)),
        "sweep 0 of the first link has a step of its own, which only a chain in one piece has",
    ),
    "the first link of parts": (
        with_stage(PARTS, 0, base_step=PARTS.sweeps[0].steps[0]),
        "has a step of its own, which only",
    ),
    "the first link carries nothing outward": (
        with_step(with_base_step(False), 0, outputs(without, CARRY), "base_step"),
        "sweep 0 of the first link does not carry 1 numbers",
    ),
    "the first link does not carry what is a result": (
        replace(
            with_base_step(True, False),
            outputs=(Port("g", (3,)), Port("f", (1,))),
            final_carries=(FinalCarry("f", 0, (0,), -1),),
        ),
        "sweep 0 of the first link does not carry 1 numbers",
    ),
    "the first link does not carry its final carry": (
        replace(
            with_base_step(True, False),
            outputs=(Port("g", (3,)), Port("f", (1,))),
            final_carries=(FinalCarry("f", 0, (0,), 0),),
        ),
        "sweep 0 of the first link does not carry 1 numbers",
    ),
    "the first link gives more": (
        with_step(with_base_step(False), 0, giving("more"), "base_step"),
        "sweep 0 of the first link does not give what the step of its class gives",
    ),
    "the first link gives less": (
        with_step(with_base_step(False), 0, outputs(without, "g"), "base_step"),
        "does not give what the step of its class gives",
    ),
    "the first link takes more": (
        with_step(with_base_step(False), 0, taking("q_next", 1), "base_step"),
        "sweep 0 of the first link takes 'q_next', which",
    ),
    # scans across the parts
    "a scan of a chain in one piece": (
        replace(PARTS, part_lengths=()),
        "scan 1 must read a sweep before it, and may start only a sweep",
    ),
    "a scan reads a later sweep": (
        with_stage(PARTS, 1, takes=2),
        "scan 1 must read a sweep before",
    ),
    "a scan reads itself": (with_stage(PARTS, 1, takes=1), "scan 1 must read a sweep before it"),
    "a scan reads nothing": (with_stage(PARTS, 1, takes=-1), "scan 1 must read a sweep before it"),
    "a scan starts itself": (with_stage(PARTS, 1, gives=1), "may start only a sweep"),
    "a scan starts no stage": (with_stage(PARTS, 1, gives=3), "may start only a sweep"),
    "a scan gives no start": (
        with_step(PARTS, 1, outputs(without, INITIAL_CARRY), "opening"),
        "scan 1 does not give the initial carry of sweep 2",
    ),
    "a scan gives a longer start": (
        with_step(PARTS, 1, outputs(longer, INITIAL_CARRY), "step"),
        "scan 1 does not give the initial carry of sweep 2",
    ),
    "a scan takes more": (
        with_step(PARTS, 1, inputs(longer, FINAL_CARRY), "step"),
        "scan 1 takes 2 numbers of sweep 0, not 1",
    ),
    "the first part takes a carry": (
        with_step(PARTS, 1, taking(CARRY, 1), "opening"),
        "scan 1 takes a carry that no part gives",
    ),
    "a part takes a longer carry": (
        with_step(PARTS, 1, inputs(longer, CARRY), "step"),
        "scan 1 takes a carry that no part gives",
    ),
    # maps
    "a map has two steps": (
        with_stage(ELEMENTS, 0, steps=ELEMENTS.maps[0].steps * 2),
        "map 0 has not one step a class",
    ),
    "a map has no place": (with_stage(ELEMENTS, 2, saved_at=()), "map 2 has not one step a class"),
    "a map takes an unknown argument": (
        with_step(ELEMENTS, 0, taking("torque", 1)),
        "map 0 takes 1 of 'torque'",
    ),
    "a map takes two numbers of a joint": (
        with_step(ELEMENTS, 0, inputs(longer, "q")),
        "map 0 takes 2 of 'q'",
    ),
    "a map takes more constants": (
        with_step(ELEMENTS, 0, inputs(longer, CONSTANTS)),
        "map 0 takes 2 of 'table'",
    ),
    "the first map takes a value of a scan": (
        with_step(ELEMENTS, 0, taking(DOWNSWEEP, 3)),
        "map 0 takes 3 of 'downsweep'",
    ),
    "a map takes less of a scan": (
        with_step(ELEMENTS, 2, inputs(longer, DOWNSWEEP)),
        "map 2 takes 4 of 'downsweep'",
    ),
    "a map takes the value of an earlier scan": (
        with_step(SCANS, 4, inputs(longer, DOWNSWEEP)),
        "map 4 takes 2 of 'downsweep'",
    ),
    "a map takes the value of a later scan": (
        with_step(SCANS, 2, inputs(longer, DOWNSWEEP, -1)),
        "map 2 takes 2 of 'downsweep'",
    ),
    "a map gives the value of an earlier scan": (
        with_step(SCANS, 2, outputs(longer, UPSWEEP)),
        "map 2 gives no value of the scan behind it",
    ),
    "a map takes more saved numbers": (
        with_step(ELEMENTS, 2, inputs(longer, SAVED)),
        "map 2 takes 2 of 'saved'",
    ),
    "a map saves too much": (
        with_step(ELEMENTS, 0, outputs(longer, SAVED)),
        "map 0 saves more than there is room for",
    ),
    "a map saves too far behind": (
        with_stage(ELEMENTS, 0, saved_at=(1,)),
        "map 0 saves more than there is room for",
    ),
    "a map saves over what it takes": (
        with_step(ELEMENTS, 2, giving(SAVED)),
        "map 2 saves over what it takes",
    ),
    "the first map gives a result": (with_step(ELEMENTS, 0, giving("g")), "map 0 gives upsweep, g"),
    "the first map gives no value": (
        with_step(ELEMENTS, 0, outputs(without, UPSWEEP)),
        "map 0 gives ",
    ),
    "the last map gives a value": (
        with_step(ELEMENTS, 2, giving(UPSWEEP)),
        "map 2 gives g, g_before, upsweep",
    ),
    "the last map gives no result of the joint before": (
        with_step(ELEMENTS, 2, outputs(without, "g" + BEFORE)),
        "map 2 gives g",
    ),
    "a map gives a longer value": (
        with_step(ELEMENTS, 0, outputs(longer, UPSWEEP)),
        "map 0 gives no value of the scan behind it",
    ),
    # scans over pairs
    "a scan has no left value": (
        with_step(ELEMENTS, 1, inputs(renamed, LEFT, "middle"), "up"),
        "the steps of scan 1 have ports of other names or sizes than the scan needs",
    ),
    "a scan has a longer right value": (
        with_step(ELEMENTS, 1, inputs(longer, RIGHT), "up"),
        "the steps of scan 1 have ports",
    ),
    "a scan gives more upward": (
        with_step(ELEMENTS, 1, giving("g"), "up"),
        "the steps of scan 1 have ports",
    ),
    "a scan takes more saved numbers": (
        with_step(ELEMENTS, 1, inputs(longer, SAVED), "down"),
        "the steps of scan 1 have ports",
    ),
    "a scan gives a longer left value": (
        with_step(ELEMENTS, 1, outputs(longer, LEFT), "down"),
        "the steps of scan 1 have ports",
    ),
    **{
        f"a scan keeps {valid} and {last_valid} numbers": (
            with_stage(ELEMENTS, 1, valid=valid, last_valid=last_valid),
            f"scan 1 keeps {valid} of 3 and {last_valid} of 3 numbers of the last element; "
            "it must keep some of each, and shorten both or neither",
        )
        for valid, last_valid in ((0, 1), (1, 0), (4, 1), (1, 4), (1, 3), (3, 1), (4, 4))
    },
    # results
    "a final carry of no sweep": (
        replace(CHAIN, final_carries=(FinalCarry("det", 2, (0,)),)),
        "result 'det' ends nowhere",
    ),
    "a final carry of a scan": (
        replace(PARTS, final_carries=(FinalCarry("g", 1, (0,), 4),)),
        "result 'g' ends nowhere",
    ),
    "a final carry of sweep -1": (
        replace(CHAIN, final_carries=(FinalCarry("det", -1, (0,)),)),
        "result 'det' ends nowhere",
    ),
    "a final carry of an element that does not exist": (
        replace(CHAIN, final_carries=(FinalCarry("det", 0, (0, 2)),)),
        "result 'det' ends nowhere",
    ),
    "a final carry of a negative element": (
        replace(CHAIN, final_carries=(FinalCarry("det", 0, (-1,)),)),
        "result 'det' ends nowhere",
    ),
    "a final carry of all roots of an outward sweep": (
        replace(CHAIN, final_carries=(FinalCarry("det", 1, (0,), -1),)),
        "result 'det' ends nowhere",
    ),
    "a final carry behind the last link": (
        replace(CHAIN, final_carries=(FinalCarry("det", 0, (0,), 4),)),
        "result 'det' ends nowhere",
    ),
    "a final carry of link -2": (
        replace(CHAIN, final_carries=(FinalCarry("det", 0, (0,), -2),)),
        "result 'det' ends nowhere",
    ),
    "a final carry within a path": (
        replace(PATH, final_carries=(FinalCarry("J", 0, (0,), 1),)),
        "result 'J' ends nowhere",
    ),
    "a final carry behind the end of a path": (
        replace(framed(range(-1, 5), (0,) * 6, 0), final_carries=(FinalCarry("J", 0, (0,), 1),)),
        "result 'J' ends nowhere",
    ),
    "an epilogue of fewer numbers": (
        replace(with_epilogue(), final_carries=with_epilogue().final_carries[:1]),
        "the epilogue does not take the final carries of the sweeps",
    ),
    "an epilogue of another argument": (
        replace(
            with_epilogue(),
            epilogue=replace(with_epilogue().epilogue or NOT_READ, inputs=(Port("q", (2,)),)),
        ),
        "the epilogue does not take the final carries of the sweeps",
    ),
    "an epilogue that is no program": (
        replace(
            with_epilogue(),
            epilogue=replace(with_epilogue().epilogue or NOT_READ, rows=()),
        ),
        "names a row that does not exist",
    ),
    "a result that no step gives": (
        replace(CHAIN, outputs=(*CHAIN.outputs, Port("h", (4,)))),
        "its results are not those of its steps",
    ),
    "a step gives no result of the function": (
        replace(CHAIN, outputs=CHAIN.outputs[1:]),
        "its results are not those of its steps",
    ),
    "a step gives compared numbers, which are added later": (
        with_step(with_base_step(False), 0, giving(CHECKED), "base_step"),
        "its results are not those of its steps",
    ),
    "a final carry is no result": (
        replace(CHAIN, outputs=CHAIN.outputs[:-1]),
        "its results are not those of its steps",
    ),
}


@pytest.mark.parametrize("name", VALID)
def test_a_valid_loop_program_is_returned_unchanged(name: str) -> None:
    assert check(VALID[name]) is VALID[name]


@pytest.mark.parametrize("rule", BROKEN)
def test_each_broken_rule_is_named(rule: str) -> None:
    form, sentence = BROKEN[rule]
    with pytest.raises(ProgramError, match=sentence) as refusal:
        check(form)
    if sentence not in ("row", "names a row that does not exist"):
        assert str(refusal.value).startswith("toy/by_hand: ")
