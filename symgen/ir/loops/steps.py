"""Steps of a loop program as functions of their own, and with the numbers that a checked function
compares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from symgen.ir.loops.form import LoopProgram
from symgen.ir.loops.stages import CARRY, CHECKED, CONSTANTS, SAVED, Map, Stage, Sweep
from symgen.ir.program import Port, Program

WORK = "work"
"""Name of the workspace in C."""
BASE_STEP = "base"
"""Ending of the name in C of a step of the first link."""
OF_SEGMENTS = "segments"
"""Ending of the name in C of a step of a parallel scan that combines the values of two segments."""
EPILOGUE = "epilogue"
"""Name of the epilogue in C."""
ANGLE = "angle"
"""Name in C of the angle of a step that saves only its sine and cosine."""
RESULT_NAMES = {SAVED: "new_saved", CARRY: "next_carry"}
"""Names in C of results that share their name with an argument."""
FRAMES = (
    "the frame of a link is the frame of its parent, shifted by x, y, z and rotated about z by"
    " gamma, x by alpha, z by beta (or offset) and q; m, hx, Sxx ... are its mass and its first and"
    " second moments about the origin"
)
"""Meaning of the names of link constants."""


def as_function(step: Program, name: str) -> Program:
    """Return a step as a function: no result has the name of an argument, and no port is empty."""
    outputs = [
        port._replace(name=RESULT_NAMES.get(port.name, port.name))
        for port in step.outputs
        if port.size
    ]
    step = with_inputs(step, [number for number, port in enumerate(step.inputs) if port.size])
    return replace(step, function=name, outputs=tuple(outputs))


def with_inputs(step: Program, numbers: Sequence[int]) -> Program:
    """Return a step with these of its arguments, which are all that it reads."""
    rows = tuple(
        row._replace(value=(numbers.index(row.value[0]), row.value[1]))
        if row.op == "input"
        else row
        for row in step.rows
    )
    return replace(step, inputs=tuple(step.inputs[number] for number in numbers), rows=rows)


class Angle(NamedTuple):
    """A step that saves the sine and the cosine of one angle and does nothing else.

    `program` has the angle as its one result; `operations` has "sin" or "cos" for each saved
    number.
    """

    program: Program
    operations: tuple[str, ...]


def angle_of(step: Program) -> Angle | None:
    """Return the angle of such a step; None for a step that does anything else, or takes a sine of
    a sine.
    """
    rows = step.rows
    saved = [rows[r] for port in step.outputs for r in port.rows]
    if [port.name for port in step.outputs] != [SAVED] or any(
        row.op not in ("sin", "cos") for row in saved
    ):
        return None
    arguments = [rows[row.args[0]] for row in saved]
    angles = {
        argument.value if argument.op == "input" else row.args[0]
        for row, argument in zip(saved, arguments, strict=True)
    }
    if len(angles) > 1:
        return None
    angle = saved[0].args[0]
    if any(row.op in ("sin", "cos") for row in rows[: angle + 1]):
        return None
    port = Port(ANGLE, (1,), (angle,))
    program = replace(step, rows=rows[: angle + 1], outputs=(port,))
    return Angle(program, tuple(row.op for row in saved))


def without_unused_constants(form: LoopProgram) -> LoopProgram:
    """Return the loop program whose links have only the constants that a step reads."""
    stages = [stage for stage in form.stages if isinstance(stage, Sweep | Map)]
    used = [
        sorted(
            {element for stage in stages for element in elements_read(stage.steps[c], CONSTANTS)}
        )
        for c, _ in enumerate(form.link_classes)
    ]
    classes = (
        link_class._replace(
            width=len(columns),
            columns=tuple(link_class.columns[column] for column in columns if link_class.columns),
        )
        for link_class, columns in zip(form.link_classes, used, strict=True)
    )
    class_of_row = (*form.class_of, 0)[: len(form.constants)]
    constants = (
        tuple(row[column] for column in used[c])
        for c, row in zip(class_of_row, form.constants, strict=True)
    )

    def narrowed(stage: Stage) -> Stage:
        if not isinstance(stage, Sweep | Map):
            return stage
        return replace(stage, steps=tuple(map(_with_constants, stage.steps, used)))

    return replace(
        form,
        link_classes=tuple(classes),
        constants=tuple(constants),
        stages=tuple(map(narrowed, form.stages)),
    )


def equal_classes(form: LoopProgram) -> list[list[int]]:
    """Return the classes of a loop program of sweeps, those with the same constants and steps
    together.
    """
    groups: dict[object, list[int]] = {}
    for c, link_class in enumerate(form.link_classes):
        steps = [
            (sweep.saved_at[c], *_text(sweep.steps[c])) if sweep.steps[c].rows else ()
            for sweep in form.sweeps
        ]
        groups.setdefault((link_class._replace(name=""), *steps), []).append(c)
    return [*groups.values()]


def _text(step: Program) -> tuple[object, ...]:
    """Return all of a step but its comments and the names of its rows."""
    rows = tuple((row.op, row.args, row.value) for row in step.rows)
    return step.inputs, step.outputs, rows


def with_one_class_for(
    form: LoopProgram, groups: Sequence[Sequence[int]], names: Sequence[str]
) -> LoopProgram:
    """Return a loop program of sweeps with one class, of this name, for each group of
    `equal_classes`.
    """
    number_of = {c: number for number, group in enumerate(groups) for c in group}
    first = [group[0] for group in groups]
    return replace(
        form,
        link_classes=tuple(
            form.link_classes[c]._replace(name=name) for c, name in zip(first, names, strict=True)
        ),
        class_of=tuple(number_of[c] for c in form.class_of),
        stages=tuple(
            replace(
                sweep,
                steps=tuple(sweep.steps[c] for c in first),
                saved_at=tuple(sweep.saved_at[c] for c in first),
            )
            for sweep in form.sweeps
        ),
    )


def elements_read(step: Program, name: str) -> set[int]:
    """Return the elements of an argument that a step reads."""
    return {
        row.value[1]
        for row in step.rows
        if row.op == "input" and step.inputs[row.value[0]].name == name
    }


def _with_constants(step: Program, columns: Sequence[int]) -> Program:
    """Return a step whose link has only these of its constants."""
    rows = tuple(
        row._replace(value=(row.value[0], columns.index(row.value[1])))
        if row.op == "input" and step.inputs[row.value[0]].name == CONSTANTS
        else row
        for row in step.rows
    )
    inputs = tuple(
        port._replace(shape=(len(columns),)) if port.name == CONSTANTS else port
        for port in step.inputs
    )
    return replace(step, rows=rows, inputs=inputs)


# -- checked functions ---------------------------------------------------------------------------


def with_checked_rows(form: LoopProgram, rows: Callable[[Program], Sequence[int]]) -> LoopProgram:
    """Return the loop program whose steps give `rows` of themselves as CHECKED besides.

    The rows of the epilogue are given by a step before it.
    """
    epilogue_check = None
    if form.epilogue and rows(form.epilogue):
        checked = _with_checked(form.epilogue, rows(form.epilogue))
        epilogue_check = replace(form.epilogue, outputs=checked.outputs[-1:])
    stages = tuple(stage.by(lambda step: _with_checked(step, rows(step))) for stage in form.stages)
    return replace(form, stages=stages, epilogue_check=epilogue_check)


def _with_checked(step: Program, rows: Sequence[int]) -> Program:
    """Return a step that gives rows of itself as CHECKED."""
    if not rows:
        return step
    return replace(step, outputs=(*step.outputs, Port(CHECKED, (len(rows),), tuple(rows))))
