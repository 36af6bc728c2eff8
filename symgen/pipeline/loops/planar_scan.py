"""M⁻¹ b of a chain of point masses in a plane as a `LoopProgram`: the steps of `symgen.methods.fixman.levels`, put together."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

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
    ParallelScan,
    check,
    without_unused_constants,
)
from symgen.ir.program import Port, Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods import find
from symgen.methods.fixman import levels
from symgen.pipeline.loops.levelling import in_turn, of_two
from symgen.pipeline.loops.planar_segments import FUNCTION, Made, numbers_of, step_of
from symgen.support.errors import RequestError

METHOD = "fixman:parallel"
ARGUMENTS, RESULT = ("q", "b"), "x"
OF_HALVES, OF_RATES = 4, 2
"""Numbers that `levels.halves` and `levels.rates` keep."""


def levelled(mechanism: Mechanism, segments: int, function: str = FUNCTION) -> LoopProgram:
    """M⁻¹ b of a chain, level by level in so many segments. Raises RequestError where it is no chain of point masses."""
    if (refused := find(METHOD).refusal(mechanism)) is not None:
        raise RequestError(refused)
    assert function == FUNCTION
    return k.sharpened(lambda: _levelled(mechanism, segments))


def _levelled(mechanism: Mechanism, segments: int) -> LoopProgram:
    model = reframe(mechanism)
    links = numbers_of(model)
    # Place i is joint i and the mass before it; of the last one the joint, of which nothing is felt, is as the one before it.
    last = links[-1] | {"u_before": links[-1]["u"], "w_before": links[-1]["w"]}
    numbers = [{name: own[name] for name in levels.TABLE} for own in (*links, last)]
    columns = Columns.of(numbers)
    steps = _Steps(columns)
    nothing = Fraction(0)
    trees = (
        ParallelScan(
            *of_two(FUNCTION, METHOD, levels.first_of_both, levels.next_of_each, 1, 1, 1),
            (nothing,),
            1,
            1,
        ),
        ParallelScan(
            *of_two(
                FUNCTION,
                METHOD,
                levels.eliminated,
                levels.forced,
                levels.RUN,
                levels.KEPT,
                levels.ENDS,
            ),
            (nothing,) * levels.ENDS,
            levels.CUT,
            levels.TOLD,
        ),
        ParallelScan(
            *of_two(FUNCTION, METHOD, levels.last_of_both, levels.one_before_each, 1, 1, 1),
            (nothing,),
            1,
            1,
        ),
    )
    ports = {name: Port(name, (len(links),)) for name in (*ARGUMENTS, RESULT)}
    return check(
        without_unused_constants(
            LoopProgram(
                FUNCTION,
                METHOD,
                tuple(ports[name] for name in ARGUMENTS),
                (ports[RESULT],),
                (LinkClass(model.links[0].kind, 1, 1, columns.width, columns.names),),
                tuple(range(-1, len(links) - 1)),
                (0,) * len(links),
                tuple(tuple(k.to_fraction(x) for x in columns.row(row)) for row in numbers),
                in_turn(steps.maps, trees),
                steps.work,
                part_lengths=(-(-len(numbers) // segments),) * segments,
            )
        )
    )


class _Steps:
    """Steps of a place whose constants have these columns. `work` are the numbers that it keeps."""

    work = OF_HALVES + OF_RATES

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.maps = [
            Map((self._made(lambda home: {UPSWEEP: home.inputs["b"]}, 0),), (0,)),
            Map((self._made(self._halves, 1),), (0,)),
            Map((self._made(self._rates, levels.ENDS),), (OF_HALVES,)),
            Map((self._made(self._joints, 1),), (0,)),
        ]

    def _halves(self, home: Derivation) -> Made:
        own = {name: home.constant(value) for name, value in self.columns.common.items()}
        own |= {name: home.inputs[CONSTANTS][place] for name, place in self.columns.column.items()}
        (q, b, before, behind) = (
            home.inputs[name][0] for name in ("q", "b", "b" + BEFORE, DOWNSWEEP)
        )
        run, kept = levels.halves(home, own, q, b, before, behind)
        return {UPSWEEP: run, SAVED: kept}

    def _rates(self, home: Derivation) -> Made:
        near, far = levels.rates(home, home.inputs[SAVED][:OF_HALVES], home.inputs[DOWNSWEEP])
        return {UPSWEEP: [far], SAVED: [near, far]}

    def _joints(self, home: Derivation) -> Made:
        near, far = home.inputs[SAVED][OF_HALVES:]
        before, own = levels.joints(home, near, far, home.inputs[DOWNSWEEP][0])
        return {RESULT + BEFORE: [before], RESULT: [own]}

    def _made(self, build: Callable[[Derivation], Made], known: int) -> Program:
        """What `build` makes of what it reads, where so many numbers are known of a place."""
        sizes = {name + which: 1 for name in ARGUMENTS for which in ("", BEFORE)}
        sizes |= {CONSTANTS: self.columns.width, SAVED: self.work, DOWNSWEEP: known}
        return step_of(build, sizes, METHOD)
