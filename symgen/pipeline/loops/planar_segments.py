"""M⁻¹ b of a chain of point masses in a plane as a `LoopProgram`: the steps of `symgen.methods.fixman.segments`, put together.

Their numbers are those of a link and of the one before it, and so nothing is to be folded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
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
    INITIAL,
    SAVED,
    LinkClass,
    LoopProgram,
    SequentialScan,
    Sweep,
    check,
    even_lengths,
)
from symgen.ir.program import Port, Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods import find
from symgen.methods.fixman import segments as points
from symgen.methods.fixman.applicability import link_ends
from symgen.pipeline.loops.segmenting import LEAST
from symgen.support.errors import OutOfReach, RequestError

FUNCTION, METHOD = "mass_matrix_solve", "fixman:segments"
RESULT = "x"
Made = Mapping[str, Sequence[Scalar]]
"""What a step gives, by port."""


def segmented(mechanism: Mechanism, segments: int) -> LoopProgram:
    """M⁻¹ b of a chain in so many segments. Raises OutOfReach, in one sentence, where it is too short, and RequestError where it
    is no such chain.
    """
    if (refused := find(METHOD).refusal(mechanism)) is not None:
        raise RequestError(refused)
    if len(mechanism.joints) < LEAST * segments:
        raise OutOfReach(
            f"{FUNCTION} of '{mechanism.name}' is not cut into {segments} segments, since it has fewer than "
            f"{LEAST * segments} links; take --method fixman:planar"
        )
    return k.sharpened(lambda: _segmented(mechanism, segments))


def _segmented(mechanism: Mechanism, segments: int) -> LoopProgram:
    model = reframe(mechanism)
    numbers = numbers_of(model)
    columns = Columns.of(numbers)
    tables = tuple(tuple(k.to_fraction(x) for x in columns.row(row)) for row in numbers)
    sweeps = _Sweeps(columns)
    ways = [
        sweeps.sweep(True, ["q", "b"], 1, sweeps.turned),
        sweeps.sweep(True, ["b"], len(points.Inward._fields), sweeps.eliminated),
        sweeps.sweep(False, [], len(points.Outward._fields), sweeps.forces),
        sweeps.sweep(True, [], 1, sweeps.directions),
        sweeps.sweep(False, [], 1, sweeps.joints),
    ]
    turned, inward, outward, whole, joints = map(sweeps.whole, ways)
    elements, forces = len(inward.initial), len(outward.initial)
    stages = (
        turned,
        SequentialScan(True, *_both(_given_next, 1, 1), 0, 2),
        inward,
        SequentialScan(True, *_both(_across_inward, elements, 3), 2, -1),
        SequentialScan(False, *_both(_across_outward, elements, 2, len(points.Ends._fields)), 2, 5),
        outward,
        SequentialScan(True, *_both(_added, forces, 1), 5, 8),
        SequentialScan(False, *_both(_rates, forces, 1, 1), 5, 9),
        whole,
        joints,
    )
    ports = {name: Port(name, (len(tables),)) for name in ("q", "b", RESULT)}
    kind = LinkClass(model.links[0].kind, 1, 1, columns.width, columns.names)
    return check(
        LoopProgram(
            FUNCTION,
            METHOD,
            (ports["q"], ports["b"]),
            (ports[RESULT],),
            (kind,),
            tuple(range(-1, len(tables) - 1)),
            (0,) * len(tables),
            tables,
            stages,
            sweeps.work,
            part_lengths=even_lengths(len(tables), segments),
        )
    )


def numbers_of(model: Model) -> list[dict[str, k.Constant]]:
    """Of every link those that `symgen.methods.fixman.segments.TABLE` names. What the first one would know of one before it is
    its own where nothing hangs on it.
    """
    found: list[dict[str, k.Constant]] = []
    ahead: k.Vec3 = (k.ONE, k.ZERO, k.ZERO)
    for i, (link, end) in enumerate(zip(model.links, link_ends(model), strict=True)):
        length = k.square_root(k.settle(end[0] * end[0] + end[1] * end[1]))
        before, ahead = ahead, k.scale(1 / length, end)
        turned = k.apply(link.rotation, ahead)
        cosine, sine = (
            k.dot(before, turned),
            k.settle(before[0] * turned[1] - before[1] * turned[0]),
        )
        own = {
            "offset": k.ZERO if k.settle(cosine) == k.ONE else k.angle_of(cosine, sine),
            "u": k.settle(1 / length),
            "w": k.settle(1 / link.inertia.m),
        }
        found.append(
            own
            | {
                "u_before": found[-1]["u"] if i else own["u"],
                "w_before": found[-1]["w"] if i else k.ZERO,
            }
        )
    found[0]["offset"] = found[min(1, len(found) - 1)]["offset"]
    return [{name: own[name] for name in points.TABLE} for own in found]


class _Sweeps:
    """Steps of a link, and where each number that is kept stands in its row of work: those that are equal but for a sign have one
    place, and what all links have in common has none. `names` are those of what the last step keeps.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.places: dict[str, tuple[int, int]] = {}
        self.constants: dict[str, Any] = {}
        self.names: list[str] = []
        self.work = 0

    def sweep(
        self, inward: bool, ports: Sequence[str], carried: int, made: Callable[[Derivation], Made]
    ) -> Sweep:
        """One way along the links; what it starts with is given by a way across the segments, or is zero."""
        first, self.names = self.work, []
        step = step_of(
            made,
            dict.fromkeys(ports, 1) | {CONSTANTS: self.columns.width, SAVED: first, CARRY: carried},
        )
        return Sweep(inward, (self._once(step),), (Fraction(0),) * carried, (), (first,))

    def _once(self, step: Program) -> Program:
        """The same where numbers that are equal but for a sign are kept once."""
        kept = next((port.rows for port in step.outputs if port.name == SAVED), ())
        places: dict[int, int] = {}
        for name, r in zip(self.names, kept, strict=True):
            row, sign = (step.rows[r].args[0], -1) if step.rows[r].op == "neg" else (r, 1)
            self.places[name] = self.work + places.setdefault(row, len(places)), sign
        self.work += len(places)
        outputs = tuple(
            port._replace(shape=(len(places),), rows=tuple(places)) if port.name == SAVED else port
            for port in step.outputs
        )
        return passes.run(replace(step, outputs=outputs))  # which takes away what is kept no more

    def whole(self, sweep: Sweep) -> Sweep:
        """The same that takes all of a link's row of work, of which there is more now than when it was made."""
        (step,) = sweep.steps
        inputs = tuple(
            port._replace(shape=(self.work,)) if port.name == SAVED else port
            for port in step.inputs
        )
        return replace(sweep, steps=(replace(step, inputs=inputs),))

    def turned(self, home: Derivation) -> Made:
        (b,) = home.inputs["b"]
        return {
            CARRY: [b],
            SAVED: self._kept(points.turned(home, home.inputs["q"][0], self._own(home))),
        }

    def eliminated(self, home: Derivation) -> Made:
        handed, kept = points.eliminated(
            home, home.inputs["b"][0], self._own(home), points.Inward(*home.inputs[CARRY])
        )
        return {CARRY: handed, SAVED: self._kept(kept)}

    def forces(self, home: Derivation) -> Made:
        handed, kept = points.forces(home, self._own(home), points.Outward(*home.inputs[CARRY]))
        return {CARRY: handed, SAVED: self._kept(kept)}

    def directions(self, home: Derivation) -> Made:
        own = self._own(home)
        phi = points.directions(home, own, home.inputs[CARRY][0])
        return {CARRY: [own["added"]], SAVED: self._kept({"phi": phi})}

    def joints(self, home: Derivation) -> Made:
        own = self._own(home)
        return {CARRY: [own["phi"]], RESULT: [points.joints(home, own, home.inputs[CARRY][0])]}

    def _own(self, home: Derivation) -> dict[str, Scalar]:
        """What a step knows of its link."""
        found = {
            name: home.constant(value)
            for name, value in (*self.columns.common.items(), *self.constants.items())
        }
        found |= {
            name: home.inputs[CONSTANTS][place] for name, place in self.columns.column.items()
        }
        kept = home.inputs.get(SAVED, [])
        return found | {
            name: kept[place] if sign > 0 else -kept[place]
            for name, (place, sign) in self.places.items()
        }

    def _kept(self, numbers: Mapping[str, Scalar]) -> list[Scalar]:
        """Those that are to be kept, but for constants."""
        self.constants |= {name: number.value for name, number in numbers.items() if number.row < 0}
        self.names = [name for name, number in numbers.items() if number.row >= 0]
        return [numbers[name] for name in self.names]


# -- over the segments -----------------------------------------------------------------------------------------------------------


def _given_next(home: Derivation, before: Sequence[Scalar] | None) -> Made:
    """b of the next segment's first link, and what an elimination starts with."""
    (b,) = home.inputs[FINAL_CARRY]
    zero, one = home.zero, home.one
    start = points.Inward(
        before[0] if before else zero, zero, zero, zero, one, zero, zero, zero, one, zero
    )
    return {CARRY: [b], INITIAL: start}


def _across_inward(home: Derivation, before: Sequence[Scalar] | None) -> Made:
    row, ends = points.across_inward(
        home, points.Inward(*home.inputs[FINAL_CARRY]), points.Row(*before) if before else None
    )
    return {CARRY: row, SAVED: ends}


def _across_outward(home: Derivation, before: Sequence[Scalar] | None) -> Made:
    moment, force = before or (home.zero, home.zero)
    ended, ends = points.Inward(*home.inputs[FINAL_CARRY]), points.Ends(*home.inputs[SAVED])
    last, start = points.across_outward(home, ended, ends, (moment, force))
    return {CARRY: last, INITIAL: start}


def _added(home: Derivation, before: Sequence[Scalar] | None) -> Made:
    """What the next segment's first link adds to the rate of this one's last."""
    given = before[0] if before else home.zero
    return {
        CARRY: [points.Outward(*home.inputs[FINAL_CARRY]).first],
        SAVED: [given],
        INITIAL: [given],
    }


def _rates(home: Derivation, before: Sequence[Scalar] | None) -> Made:
    """The rate of the link before the segment's first one."""
    own = points.directions(
        home, {"rate": points.Outward(*home.inputs[FINAL_CARRY]).rate}, home.inputs[SAVED][0]
    )
    return {CARRY: [own], INITIAL: [before[0] if before else home.zero]}


def _both(
    made: Callable[[Derivation, Sequence[Scalar] | None], Made],
    ended: int,
    carried: int,
    kept: int = 0,
) -> tuple[Program, Program]:
    """The step of the first segment on the way, and that of the others."""
    taken = {FINAL_CARRY: ended} | ({SAVED: kept} if kept else {})
    return (
        step_of(lambda home: made(home, None), taken),
        step_of(lambda home: made(home, home.inputs[CARRY]), taken | {CARRY: carried}),
    )


def step_of(
    made: Callable[[Derivation], Made], inputs: Mapping[str, int], method: str = METHOD
) -> Program:
    """A step of these arguments, without those that nothing is taken of."""
    home = Derivation({name: size for name, size in inputs.items() if size})
    results = [(name, (len(atoms),), [*atoms]) for name, atoms in made(home).items() if atoms]
    step = passes.run(
        home.freeze(
            FUNCTION, method, results, {name: (size,) for name, size in inputs.items() if size}
        )
    )
    used = sorted({row.value[0] for row in step.rows if row.op == "input"})
    rows = tuple(
        row._replace(value=(used.index(row.value[0]), row.value[1])) if row.op == "input" else row
        for row in step.rows
    )
    return replace(step, inputs=tuple(step.inputs[place] for place in used), rows=rows)
