"""M⁻¹ b of a chain of point masses in a plane by parallel scans: the steps of
`symgen.methods.fixman.levels`, put together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from symgen.derivation import constants as k
from symgen.derivation.model import reframe
from symgen.derivation.scalars import Derivation
from symgen.derivation.table_linkage import Columns
from symgen.ir.loops import (
    BEFORE,
    CONSTANTS,
    DOWNSWEEP,
    SAVED,
    UPSWEEP,
    LinkClass,
    LoopProgram,
    Map,
    check,
    without_unused_constants,
)
from symgen.mechanism.mechanism import Mechanism
from symgen.methods import find
from symgen.methods.fixman import levels
from symgen.pipeline.loops.chains import (
    ChainSteps,
    PairSteps,
    Results,
    chain_program,
    derived_step,
    equal_parts,
    in_turn,
    parallel_scan,
)
from symgen.pipeline.loops.planar_segments import FUNCTION, link_constants, numbers_of
from symgen.support.errors import RequestError

METHOD = "fixman:parallel"
ARGUMENTS, RESULT = ("q", "b"), "x"
SEGMENT_SAVED, RATES_SAVED = 4, 2
"""Numbers that `levels.place_segment` and `levels.direction_rates` save."""


def build_scan(mechanism: Mechanism, segments: int, function: str = FUNCTION) -> LoopProgram:
    """Build M⁻¹ b of a chain by parallel scans over so many parts.

    Raises RequestError if the robot is no chain of point masses.
    """
    if (refused := find(METHOD).refusal(mechanism)) is not None:
        raise RequestError(refused)
    assert function == FUNCTION
    return k.with_enough_precision(lambda: _build_scan(mechanism, segments))


def _build_scan(mechanism: Mechanism, segments: int) -> LoopProgram:
    model = reframe(mechanism)
    links = numbers_of(model)
    # Element i is joint i and the mass before it; the last one has no joint, and the numbers of the
    # one before it.
    last = links[-1] | {"u_before": links[-1]["u"], "w_before": links[-1]["w"]}
    numbers = [{name: row[name] for name in levels.TABLE} for row in (*links, last)]
    columns = Columns.of(numbers)
    steps = _Maps(columns)
    scan = partial(parallel_scan, FUNCTION, METHOD)
    moments = PairSteps(levels.first_joint_b, levels.next_joint_b, 1, 1, 1)
    forces = PairSteps(
        levels.combine_segments,
        levels.forces_at_ends,
        levels.SEGMENT_SIZE,
        levels.SAVED_SIZE,
        levels.END_COUNT,
    )
    rates = PairSteps(levels.last_direction_rate, levels.previous_direction_rate, 1, 1, 1)
    scans = [
        scan(moments, 1, 1),
        scan(forces, levels.LAST_SEGMENT_SIZE, levels.LAST_END_COUNT),
        scan(rates, 1, 1),
    ]
    chain = ChainSteps(
        LinkClass(model.links[0].kind, 1, 1, columns.width, columns.names),
        [columns.row(row) for row in numbers],
        in_turn(steps.maps, scans),
        steps.work,
        equal_parts(len(numbers), segments),
    )
    form = chain_program(FUNCTION, METHOD, ARGUMENTS, RESULT, len(links), chain)
    return check(without_unused_constants(form))


class _Maps:
    """Maps of elements whose constants have these columns; `work` is how many numbers an element
    saves.
    """

    work = SEGMENT_SAVED + RATES_SAVED

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.maps = [
            self._map(lambda derivation: {UPSWEEP: derivation.inputs["b"]}, 0),
            self._map(self._segments, 1),
            self._map(self._rates, levels.END_COUNT, SEGMENT_SAVED),
            self._map(self._joints, 1),
        ]

    def _segments(self, derivation: Derivation) -> Results:
        q, b, before, behind = (
            derivation.inputs[name][0] for name in ("q", "b", "b" + BEFORE, DOWNSWEEP)
        )
        value, saved = levels.place_segment(
            derivation, link_constants(derivation, self.columns), q, b, before, behind
        )
        return {UPSWEEP: value, SAVED: saved}

    def _rates(self, derivation: Derivation) -> Results:
        rate_before, rate = levels.direction_rates(
            derivation, derivation.inputs[SAVED][:SEGMENT_SAVED], derivation.inputs[DOWNSWEEP]
        )
        return {UPSWEEP: [rate], SAVED: [rate_before, rate]}

    def _joints(self, derivation: Derivation) -> Results:
        rate_before, rate = derivation.inputs[SAVED][SEGMENT_SAVED:]
        joint_before, joint = levels.joint_rates(
            derivation, rate_before, rate, derivation.inputs[DOWNSWEEP][0]
        )
        return {RESULT + BEFORE: [joint_before], RESULT: [joint]}

    def _map(self, build: Callable[[Derivation], Results], down: int, saved_at: int = 0) -> Map:
        """Derive a map whose elements have so many numbers of a DOWNSWEEP value."""
        sizes = {name + suffix: 1 for name in ARGUMENTS for suffix in ("", BEFORE)}
        sizes |= {CONSTANTS: self.columns.width, SAVED: self.work, DOWNSWEEP: down}
        return Map((derived_step(FUNCTION, METHOD, build, sizes),), (saved_at,))
