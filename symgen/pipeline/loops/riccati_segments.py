"""Forward dynamics of one chain of like links in parts: the sweeps of
`symgen.methods.riccati.segments`, folded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from symgen.derivation import constants as k
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.table_linkage import GEOMETRY, INERTIAL, Columns, constants_of
from symgen.ir import passes
from symgen.ir.loops import (
    CARRY,
    FINAL_CARRY,
    INITIAL_CARRY,
    SAVED,
    LinkClass,
    LoopProgram,
    SequentialScan,
    Sweep,
    check,
    even_lengths,
)
from symgen.ir.program import Program, Row
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.riccati import segments as blocks
from symgen.pipeline.loops.build import placed_links, unlike_links
from symgen.pipeline.loops.chains import ChainSteps, Results, chain_program, frozen
from symgen.pipeline.loops.classes import classes_by_kind
from symgen.pipeline.loops.fold import FoldedSweeps, fold_sweeps
from symgen.pipeline.loops.link_assignment import NotUniform
from symgen.pipeline.loops.sample_chain import (
    Build,
    SampleChain,
    chain_fault,
    run_on_chain,
    sample_chain,
)
from symgen.support.errors import OutOfReach

FUNCTION, METHOD = "forward_dynamics", "riccati:segments"
LEAST = 4
"""Fewest links of a part; with fewer nothing is gained."""
PARTS = [
    f"{name}_{element}" for name, size in blocks.CARRY_SIZES.items() for element in range(size)
]
"""Names of the elements of the final carry of a part."""


def build_parts(mechanism: Mechanism, segments: int) -> LoopProgram:
    """Build forward dynamics of a chain in so many parts.

    Raises OutOfReach, in one sentence, if the robot is no long chain of like links.
    """
    return k.with_enough_precision(lambda: _build_parts(mechanism, segments))


def _build_parts(mechanism: Mechanism, segments: int) -> LoopProgram:
    def refused(why: str) -> OutOfReach:
        return OutOfReach(
            f"forward_dynamics of '{mechanism.name}' is not cut into {segments} segments, since"
            f" {why}; take --method riccati"
        )

    model = placed_links(mechanism)
    if why := chain_fault(model):
        raise refused(why)
    kind, links = model.links[0].kind, len(model.links)
    if links < LEAST * segments:
        raise refused(f"it has fewer than {LEAST * segments} links")
    numbers = [constants_of(link) for link in model.links]
    widths = blocks.WIDTHS | dict.fromkeys(PARTS, 0)
    why = ""
    for columns in (Columns.of(numbers), Columns.of(numbers, GEOMETRY + INERTIAL)):
        try:
            chain = replace(
                sample_chain(model, classes_by_kind(model, [], False), [columns], []),
                widths=widths,
                added=tuple(blocks.WIDTHS),
            )
            turning = _folded(chain, blocks.omega_sweep, ["a"])
            dynamics = _folded(chain, blocks.segment_sweeps, ["a", *PARTS])
            break
        except NotUniform as error:
            why = str(error)
    else:
        raise unlike_links(mechanism, FUNCTION, METHOD, why, "--method riccati")
    steps = ChainSteps(
        LinkClass(kind, 1, 1, columns.width),
        [columns.row(row) for row in numbers],
        _stages(turning, dynamics),
        dynamics.work,
        even_lengths(links, segments),
    )
    form = chain_program(FUNCTION, METHOD, ("q", "v", "tau"), "a", links, steps)
    return check(form.by(passes.run))


def _folded(chain: SampleChain, build: Build, names: Sequence[str]) -> FoldedSweeps:
    return fold_sweeps(chain, False, run_on_chain(chain, FUNCTION, METHOD, build, names))


def _stages(turning: FoldedSweeps, dynamics: FoldedSweeps) -> list[Sweep | SequentialScan]:
    """Return the sweeps along the parts, and the scans across the parts between them."""
    *sines, outward, inward, last = map(_without_sample_arguments, dynamics.sweeps)
    first = _without_result(turning.sweeps[-1], "a")
    if sines:
        first = _with_sines(first, turning.sweeps[0], sines[0])
    element = {final.name: final.elements[0] for final in dynamics.final_carries}
    scans = _Scans(
        [element[name] for name in PARTS],
        _elements(turning.base_names[-1], blocks.TURNED, 3),
        _elements(dynamics.base_names[-3], ("omega",), 3),
        _elements(dynamics.base_names[-1], blocks.MOTION, 6),
    )
    two_axes = [Fraction(int(number in (3, 7))) for number in range(9)]
    unit = [Fraction(int(number % 7 == 0)) for number in range(36)]
    zeros = [Fraction(0)] * 27
    gravity = [last.initial[element] for element in scans.motion[:6]]
    return [
        replace(first, initial=tuple(_in_order(two_axes, scans.turned))),
        scans.turns(),
        outward,
        replace(inward, combine=(), initial=tuple(_in_order([*zeros, *unit, *zeros], scans.parts))),
        scans.inward(),
        scans.outward(gravity),
        last,
    ]


def _elements(
    base_names: Sequence[Sequence[str]], quantities: Sequence[str], size: int
) -> list[int]:
    """Return the elements of a carry that hold some quantities, by the names that the virtual base
    has for them.
    """
    elements = []
    for name in (f"{quantity}_{axis}" for quantity in quantities for axis in range(1, size + 1)):
        element = next((e for e, names in enumerate(base_names) if name in names), None)
        if element is None:
            raise NotUniform(f"no carry of {FUNCTION} by {METHOD} has {name}")
        elements.append(element)
    return elements


Value = TypeVar("Value")


def _in_order(values: Sequence[Value], elements: Sequence[int]) -> list[Value]:
    """Return values in the order of the elements of a carry."""
    by_element = dict(zip(elements, values, strict=True))
    return [by_element[element] for element in range(len(by_element))]


def _without_result(sweep: Sweep, result: str) -> Sweep:
    """Return a sweep without a result."""
    (step,) = sweep.steps
    outputs = tuple(port for port in step.outputs if port.name != result)
    return replace(sweep, steps=(replace(step, outputs=outputs),))


def _without_sample_arguments(sweep: Sweep) -> Sweep:
    """Return a sweep with zeros for the arguments of the sample chain: its links add nothing to the
    carry.
    """
    (step,) = sweep.steps
    names = [port.name for port in step.inputs]
    remaining_names = [name for name in names if name not in blocks.WIDTHS]
    rows = []
    for row in step.rows:
        if row.op == "input":
            name = names[row.value[0]]
            row = (
                row._replace(value=(remaining_names.index(name), row.value[1]))
                if name in remaining_names
                else Row("const", (), Fraction(0))
            )
        rows.append(row)
    inputs = tuple(port for port in step.inputs if port.name in remaining_names)
    return replace(sweep, steps=(replace(step, inputs=inputs, rows=tuple(rows)),))


def _with_sines(sweep: Sweep, sines: Sweep, saved: Sweep) -> Sweep:
    """Return a sweep that computes its sines and cosines itself, instead of reading those of the
    sweep `sines`.

    It saves them in the places of the sweep `saved`, where later sweeps read them.
    """
    (sine_step,), (computed,), (step,) = sines.steps, saved.steps, sweep.steps
    ops = [
        sine_step.rows[r].op for port in sine_step.outputs if port.name == SAVED for r in port.rows
    ]
    row_of = {computed.rows[r].op: r for port in computed.outputs for r in port.rows}
    if len(row_of) != len(computed.outputs[0].rows):
        raise NotUniform("a link turns by several angles")
    present = {SAVED, *(port.name for port in computed.inputs)}
    inputs = [*computed.inputs, *(port for port in step.inputs if port.name not in present)]
    names = [port.name for port in inputs]
    rows, at = list(computed.rows), []
    for row in step.rows:
        name = step.inputs[row.value[0]].name if row.op == "input" else ""
        if name == SAVED:
            at.append(row_of[ops[row.value[1] - sines.saved_at[0]]])
            continue
        if name:
            row = row._replace(value=(names.index(name), row.value[1]))
        rows.append(row._replace(args=tuple(at[a] for a in row.args)))
        at.append(len(rows) - 1)
    outputs = [port._replace(rows=tuple(at[r] for r in port.rows)) for port in step.outputs]
    joined = replace(
        step,
        inputs=tuple(inputs),
        rows=tuple(row._replace(step=-1) for row in rows),
        outputs=(*outputs, *computed.outputs),
        steps=(),
    )
    return replace(sweep, steps=(joined,), saved_at=saved.saved_at)


class _Scans:
    """Scans across the parts, written with the elements that each quantity has in the carries of
    the sweeps.
    """

    def __init__(
        self,
        parts: Sequence[int],
        turned: Sequence[int],
        omega: Sequence[int],
        motion: Sequence[int],
    ) -> None:
        self.parts, self.turned, self.omega, self.motion = parts, turned, omega, motion

    def turns(self) -> SequentialScan:
        """Angular velocities, outward."""

        def opening(derivation: Derivation) -> Results:
            turned = blocks.carry_omega(derivation, _final(derivation, self.turned), None)
            return {CARRY: turned, INITIAL_CARRY: [derivation.zero] * 3}

        def step(derivation: Derivation) -> Results:
            before = derivation.inputs[CARRY]
            turned = blocks.carry_omega(derivation, _final(derivation, self.turned), before)
            return {CARRY: turned, INITIAL_CARRY: _in_order(before, self.omega)}

        first = {FINAL_CARRY: 9}
        return SequentialScan(
            False, _program(opening, first), _program(step, first | {CARRY: 3}), 0, 2
        )

    def inward(self) -> SequentialScan:
        """Wrenches that parts exert, inward."""

        def step(derivation: Derivation) -> Results:
            carry, saved = blocks.across_inward(
                derivation, _final(derivation, self.parts), derivation.inputs.get(CARRY)
            )
            return {CARRY: carry, SAVED: saved}

        first = {FINAL_CARRY: 90}
        return SequentialScan(
            True, _program(step, first), _program(step, first | {CARRY: 27}), 3, -1
        )

    def outward(self, gravity: Sequence[Fraction]) -> SequentialScan:
        """Accelerations and wrenches, outward."""

        def step(derivation: Derivation) -> Results:
            before = derivation.inputs.get(CARRY) or [derivation.constant(x) for x in gravity]
            alpha, f = blocks.across_outward(
                derivation, _final(derivation, self.parts), derivation.inputs[SAVED], before
            )
            return {CARRY: alpha, INITIAL_CARRY: _in_order([*before, *f], self.motion)}

        first = {FINAL_CARRY: 90, SAVED: 69}
        return SequentialScan(
            False, _program(step, first), _program(step, first | {CARRY: 6}), 3, 6
        )


def _final(derivation: Derivation, elements: Sequence[int]) -> list[Scalar]:
    """Return elements of the final carry."""
    return [derivation.inputs[FINAL_CARRY][element] for element in elements]


def _program(build: Callable[[Derivation], Results], sizes: dict[str, int]) -> Program:
    derivation = Derivation(sizes)
    return frozen(derivation, FUNCTION, METHOD, build(derivation))
