"""Steps of the first link of a chain: the initial carry is known there, and no link receives what
it passes inward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from symgen.ir import passes
from symgen.ir.loops import CARRY, SAVED, LoopProgram, Stage
from symgen.ir.program import Program, Row

SHARE = Fraction(1, 2)
"""Most operations of a step of the first link, of those of its class; with more, the text would
grow by more than it saves.
"""

ConstantArguments = dict[tuple[str, int], Fraction]
"""Arguments of a step that are the same in all states, by port and element."""


def with_base_steps(form: LoopProgram) -> LoopProgram:
    """Return a chain whose first link has steps of its own, in each sweep where these need at most
    half of the operations.
    """
    if not form.serial or len(form) < 2:
        return form
    c = form.class_of[0]
    saved: ConstantArguments = {}
    stages: list[Stage] = []
    for number, sweep in enumerate(form.sweeps):
        constant_arguments = dict(saved)
        if not sweep.inward:
            constant_arguments |= {(CARRY, k): value for k, value in enumerate(sweep.initial)}
        final_links = {final.link for final in form.final_carries if final.sweep == number}
        step = sweep.steps[c]
        base_step = _specialized(
            step, constant_arguments, sweep.inward and not final_links & {-1, 0}
        )
        is_shorter = (
            bool(sweep.initial) and base_step.cost <= SHARE * step.cost and base_step.outputs
        )
        stages.append(replace(sweep, base_step=base_step) if is_shorter else sweep)
        _save_constants(base_step if is_shorter else step, sweep.saved_at[c], saved)
    return replace(form, stages=tuple(stages))


def _specialized(
    step: Program, constant_arguments: ConstantArguments, drops_carry: bool
) -> Program:
    """Return a step with the values of known arguments, without its carry if `drops_carry`."""
    rows = tuple(_with_value(step, row, constant_arguments) for row in step.rows)
    outputs = tuple(port for port in step.outputs if not (drops_carry and port.name == CARRY))
    specialized = passes.run(replace(step, rows=rows, outputs=outputs))
    read_elements = {row.value[0] for row in specialized.rows if row.op == "input"}
    numbers = [number for number, _ in enumerate(specialized.inputs) if number in read_elements]
    return replace(
        specialized,
        inputs=tuple(specialized.inputs[number] for number in numbers),
        rows=tuple(
            row._replace(value=(numbers.index(row.value[0]), row.value[1]))
            if row.op == "input"
            else row
            for row in specialized.rows
        ),
    )


def _with_value(
    step: Program, row: Row, constant_arguments: Mapping[tuple[str, int], Fraction]
) -> Row:
    """Return a row, as a constant where it reads a known argument."""
    if row.op != "input":
        return row
    port, element = row.value
    value = constant_arguments.get((step.inputs[port].name, element))
    return row if value is None else row._replace(op="const", value=value)


def _save_constants(step: Program, saved_at: int, saved: ConstantArguments) -> None:
    """Note in `saved` which values that a step saves are the same in all states."""
    for port in step.outputs:
        for offset, r in enumerate(port.rows if port.name == SAVED else (), saved_at):
            row = step.rows[r]
            saved.pop((SAVED, offset), None)
            if row.op == "const":
                saved[SAVED, offset] = row.value
