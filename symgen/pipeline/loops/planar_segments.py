"""M⁻¹ b of a chain of point masses in a plane in parts: the steps of
`symgen.methods.fixman.segments`, put together.

Their numbers are those of a link and of the link before it, so that no rows need to be folded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from symgen.derivation import constants as k
from symgen.derivation.model import Model, reframe
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.table_linkage import Columns
from symgen.ir import passes
from symgen.ir.loops import (
    CARRY,
    CONSTANTS,
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
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods import find
from symgen.methods.fixman import segments as points
from symgen.methods.fixman.applicability import link_ends
from symgen.pipeline.loops.chains import ChainSteps, Results, chain_program, derived_step
from symgen.pipeline.loops.riccati_segments import LEAST
from symgen.support.errors import OutOfReach, RequestError

FUNCTION, METHOD = "mass_matrix_solve", "fixman:segments"
RESULT = "x"
step_of = partial(derived_step, FUNCTION, METHOD)


def build_parts(mechanism: Mechanism, segments: int) -> LoopProgram:
    """Build M⁻¹ b of a chain in so many parts.

    Raises OutOfReach, in one sentence, if the chain is too short, and RequestError if the robot is
    no such chain.
    """
    if (refused := find(METHOD).refusal(mechanism)) is not None:
        raise RequestError(refused)
    if len(mechanism.joints) < LEAST * segments:
        raise OutOfReach(
            f"{FUNCTION} of '{mechanism.name}' is not cut into {segments} segments, since it has"
            f" fewer than {LEAST * segments} links; take --method fixman:planar"
        )
    return k.with_enough_precision(lambda: _build_parts(mechanism, segments))


def _build_parts(mechanism: Mechanism, segments: int) -> LoopProgram:
    model = reframe(mechanism)
    numbers = numbers_of(model)
    columns = Columns.of(numbers)
    sweeps = _Sweeps(columns)
    turned, inward, outward, directions, joints = sweeps.all()
    elements, forces = len(inward.initial), len(outward.initial)
    stages = (
        turned,
        SequentialScan(True, *_scan_steps(_first_of_next, 1, 1), 0, 2),
        inward,
        SequentialScan(True, *_scan_steps(_across_inward, elements, 3), 2, -1),
        SequentialScan(
            False, *_scan_steps(_across_outward, elements, 2, len(points.Ends._fields)), 2, 5
        ),
        outward,
        SequentialScan(True, *_scan_steps(_added, forces, 1), 5, 8),
        SequentialScan(False, *_scan_steps(_rates, forces, 1, 1), 5, 9),
        directions,
        joints,
    )
    chain = ChainSteps(
        LinkClass(model.links[0].kind, 1, 1, columns.width, columns.names),
        [columns.row(row) for row in numbers],
        stages,
        sweeps.work,
        even_lengths(len(numbers), segments),
    )
    return check(chain_program(FUNCTION, METHOD, ("q", "b"), RESULT, len(numbers), chain))


def numbers_of(model: Model) -> list[dict[str, k.Constant]]:
    """Return the numbers of every link that `symgen.methods.fixman.segments.TABLE` names.

    The first link has no predecessor; its own values are used where no result depends on them.
    """
    rows: list[dict[str, k.Constant]] = []
    ahead: k.Vec3 = (k.ONE, k.ZERO, k.ZERO)
    for link, end in zip(model.links, link_ends(model), strict=True):
        length = k.square_root(k.normalize(end[0] * end[0] + end[1] * end[1]))
        before, ahead = ahead, k.scale(1 / length, end)
        turned = k.apply(link.rotation, ahead)
        cosine = k.dot(before, turned)
        sine = k.normalize(before[0] * turned[1] - before[1] * turned[0])
        u = k.normalize(1 / length)
        rows.append(
            {
                "offset": k.ZERO if k.normalize(cosine) == k.ONE else k.angle_of(cosine, sine),
                "u": u,
                "w": k.normalize(1 / link.inertia.m),
                "u_before": rows[-1]["u"] if rows else u,
                "w_before": rows[-1]["w"] if rows else k.ZERO,
            }
        )
    rows[0]["offset"] = rows[min(1, len(rows) - 1)]["offset"]
    return [{name: row[name] for name in points.TABLE} for row in rows]


def link_constants(derivation: Derivation, columns: Columns) -> dict[str, Scalar]:
    """Return the constants of a link by name."""
    numbers = {name: derivation.constant(value) for name, value in columns.common.items()}
    return numbers | {name: derivation.inputs[CONSTANTS][at] for name, at in columns.column.items()}


class _Sweeps:
    """Sweeps along the links of a part, and the place of each number that a link saves.

    Numbers that are equal up to a sign have one place; numbers that all links share have none.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.places: dict[str, tuple[int, int]] = {}
        """Place and sign of each saved number."""
        self.constants: dict[str, Any] = {}
        self.names: list[str] = []
        """Names of the numbers that the last step saves."""
        self.work = 0

    def all(self) -> list[Sweep]:
        """Derive all sweeps; their steps read the whole row of the workspace."""
        sweeps = [
            self._sweep(True, ["q", "b"], 1, self._angles),
            self._sweep(True, ["b"], len(points.Inward._fields), self._eliminated),
            self._sweep(False, [], len(points.Outward._fields), self._forces),
            self._sweep(True, [], 1, self._directions),
            self._sweep(False, [], 1, self._joints),
        ]
        return [sweep.by(self._with_workspace) for sweep in sweeps]

    def _sweep(
        self,
        inward: bool,
        ports: Sequence[str],
        carry_size: int,
        build: Callable[[Derivation], Results],
    ) -> Sweep:
        """Derive a sweep; its initial carry is zero unless a scan across the parts gives it."""
        saved_at, self.names = self.work, []
        sizes = {CONSTANTS: self.columns.width, SAVED: saved_at, CARRY: carry_size}
        step = self._without_equal_saved(step_of(build, dict.fromkeys(ports, 1) | sizes))
        return Sweep(inward, (step,), (Fraction(0),) * carry_size, (), (saved_at,))

    def _without_equal_saved(self, step: Program) -> Program:
        """Return a step that saves numbers that are equal up to a sign once."""
        saved = next((port.rows for port in step.outputs if port.name == SAVED), ())
        places: dict[int, int] = {}
        for name, r in zip(self.names, saved, strict=True):
            row, sign = (step.rows[r].args[0], -1) if step.rows[r].op == "neg" else (r, 1)
            self.places[name] = self.work + places.setdefault(row, len(places)), sign
        self.work += len(places)
        outputs = tuple(
            port._replace(shape=(len(places),), rows=tuple(places)) if port.name == SAVED else port
            for port in step.outputs
        )
        return passes.run(replace(step, outputs=outputs))  # removes rows that are not saved now

    def _with_workspace(self, step: Program) -> Program:
        """Return a step that reads all of a link's row of the workspace, which has grown since it
        was derived.
        """
        inputs = tuple(
            port._replace(shape=(self.work,)) if port.name == SAVED else port
            for port in step.inputs
        )
        return replace(step, inputs=inputs)

    # -- steps -----------------------------------------------------------------------------------

    def _angles(self, derivation: Derivation) -> Results:
        (b,) = derivation.inputs["b"]
        saved = points.joint_entries(
            derivation, derivation.inputs["q"][0], self._numbers(derivation)
        )
        return {CARRY: [b], SAVED: self._saved(saved)}

    def _eliminated(self, derivation: Derivation) -> Results:
        carry, saved = points.eliminated(
            derivation,
            derivation.inputs["b"][0],
            self._numbers(derivation),
            points.Inward(*derivation.inputs[CARRY]),
        )
        return {CARRY: carry, SAVED: self._saved(saved)}

    def _forces(self, derivation: Derivation) -> Results:
        before = points.Outward(*derivation.inputs[CARRY])
        carry, saved = points.forces(derivation, self._numbers(derivation), before)
        return {CARRY: carry, SAVED: self._saved(saved)}

    def _directions(self, derivation: Derivation) -> Results:
        numbers = self._numbers(derivation)
        phi = points.directions(derivation, numbers, derivation.inputs[CARRY][0])
        return {CARRY: [numbers["added"]], SAVED: self._saved({"phi": phi})}

    def _joints(self, derivation: Derivation) -> Results:
        numbers = self._numbers(derivation)
        joint = points.joints(derivation, numbers, derivation.inputs[CARRY][0])
        return {CARRY: [numbers["phi"]], RESULT: [joint]}

    def _numbers(self, derivation: Derivation) -> dict[str, Scalar]:
        """Return the numbers of a link by name: constants and saved values."""
        numbers = link_constants(derivation, self.columns)
        numbers |= {name: derivation.constant(value) for name, value in self.constants.items()}
        saved = derivation.inputs.get(SAVED, [])
        return numbers | {
            name: saved[element] if sign > 0 else -saved[element]
            for name, (element, sign) in self.places.items()
        }

    def _saved(self, numbers: Mapping[str, Scalar]) -> list[Scalar]:
        """Return the numbers that a link must save: all that are no constants."""
        self.constants |= {name: number.value for name, number in numbers.items() if number.row < 0}
        self.names = [name for name, number in numbers.items() if number.row >= 0]
        return [numbers[name] for name in self.names]


# -- across the parts ----------------------------------------------------------------------------

Before = Sequence[Scalar] | None
"""Carry of the part before, None for the first part."""


def _first_of_next(derivation: Derivation, before: Before) -> Results:
    """Pass on b of the part's first link, and give the initial carry of an elimination."""
    (b,) = derivation.inputs[FINAL_CARRY]
    zero, unit = derivation.zero, derivation.one
    initial = points.Inward(
        before[0] if before else zero, zero, zero, zero, unit, zero, zero, zero, unit, zero
    )
    return {CARRY: [b], INITIAL_CARRY: initial}


def _across_inward(derivation: Derivation, before: Before) -> Results:
    final = points.Inward(*derivation.inputs[FINAL_CARRY])
    row, saved = points.across_inward(derivation, final, points.Row(*before) if before else None)
    return {CARRY: row, SAVED: saved}


def _across_outward(derivation: Derivation, before: Before) -> Results:
    moment, force = before or (derivation.zero, derivation.zero)
    final, ends = (
        points.Inward(*derivation.inputs[FINAL_CARRY]),
        points.Ends(*derivation.inputs[SAVED]),
    )
    last, initial = points.across_outward(derivation, final, ends, (moment, force))
    return {CARRY: last, INITIAL_CARRY: initial}


def _added(derivation: Derivation, before: Before) -> Results:
    """Return what the first link of the next part adds to the rate of this part's last link."""
    added = before[0] if before else derivation.zero
    first = points.Outward(*derivation.inputs[FINAL_CARRY]).first
    return {CARRY: [first], SAVED: [added], INITIAL_CARRY: [added]}


def _rates(derivation: Derivation, before: Before) -> Results:
    """Return the rate of the link before the first link of the part."""
    final = points.Outward(*derivation.inputs[FINAL_CARRY])
    rate = points.directions(derivation, {"rate": final.rate}, derivation.inputs[SAVED][0])
    return {CARRY: [rate], INITIAL_CARRY: [before[0] if before else derivation.zero]}


def _scan_steps(
    build: Callable[[Derivation, Before], Results], final: int, carry_size: int, saved: int = 0
) -> tuple[Program, Program]:
    """Derive the step of the first part of a scan, and that of the others."""
    sizes = {FINAL_CARRY: final, SAVED: saved}
    return (
        step_of(lambda derivation: build(derivation, None), sizes),
        step_of(
            lambda derivation: build(derivation, derivation.inputs[CARRY]),
            sizes | {CARRY: carry_size},
        ),
    )
