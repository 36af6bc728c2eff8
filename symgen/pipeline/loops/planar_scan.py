"""M⁻¹ b of a chain of point masses in a plane as a `Levelled`: the steps of `symgen.methods.fixman.levels`, put together."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from symgen.derivation import constants as k
from symgen.derivation.model import reframe
from symgen.derivation.scalars import Derivation
from symgen.derivation.table_linkage import Columns
from symgen.ir.levelled import BEFORE, KNOWN, RUN, Levelled, Tree, check
from symgen.ir.program import Port, Program
from symgen.ir.recursion import KEPT, TABLE, Kind
from symgen.mechanism.mechanism import Mechanism
from symgen.methods import find
from symgen.methods.fixman import levels
from symgen.pipeline.loops.levelling import of_two, pruned
from symgen.pipeline.loops.planar_segments import FUNCTION, Made, numbers_of, step_of
from symgen.support.errors import RequestError

METHOD = "fixman:parallel"
ARGUMENTS, RESULT = ("q", "b"), "x"
OF_HALVES, OF_RATES = 4, 2
"""Numbers that `levels.halves` and `levels.rates` keep."""


def levelled(mechanism: Mechanism, segments: int, function: str = FUNCTION) -> Levelled:
    """M⁻¹ b of a chain, level by level in so many segments. Raises RequestError where it is no chain of point masses."""
    if (refused := find(METHOD).refusal(mechanism)) is not None:
        raise RequestError(refused)
    assert function == FUNCTION
    return k.sharpened(lambda: _levelled(mechanism, segments))


def _levelled(mechanism: Mechanism, segments: int) -> Levelled:
    model = reframe(mechanism)
    links = numbers_of(model)
    # Place i is joint i and the mass before it; of the last one the joint, of which nothing is felt, is as the one before it.
    last = links[-1] | {"u_before": links[-1]["u"], "w_before": links[-1]["w"]}
    numbers = [{name: own[name] for name in levels.TABLE} for own in (*links, last)]
    columns = Columns.of(numbers)
    steps = _Steps(columns)
    nothing = Fraction(0)
    trees = (
        Tree(
            *of_two(FUNCTION, METHOD, levels.first_of_both, levels.next_of_each, 1, 1, 1),
            (nothing,),
            1,
            1,
        ),
        Tree(
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
        Tree(
            *of_two(FUNCTION, METHOD, levels.last_of_both, levels.one_before_each, 1, 1, 1),
            (nothing,),
            1,
            1,
        ),
    )
    ports = {name: Port(name, (len(links),)) for name in (*ARGUMENTS, RESULT)}
    return check(
        pruned(
            Levelled(
                FUNCTION,
                METHOD,
                tuple(ports[name] for name in ARGUMENTS),
                (ports[RESULT],),
                Kind(model.links[0].kind, 1, 1, columns.width, columns.names),
                tuple(tuple(k.to_fraction(x) for x in columns.row(row)) for row in numbers),
                steps.of_places,
                (0, 0, OF_HALVES, 0),
                trees,
                steps.work,
                segments=segments,
            )
        )
    )


class _Steps:
    """Steps of a place whose constants have these columns. `work` are the numbers that it keeps."""

    work = OF_HALVES + OF_RATES

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.of_places = (
            self._made(lambda home: {RUN: home.inputs["b"]}, 0),
            self._made(self._halves, 1),
            self._made(self._rates, levels.ENDS),
            self._made(self._joints, 1),
        )

    def _halves(self, home: Derivation) -> Made:
        own = {name: home.constant(value) for name, value in self.columns.common.items()}
        own |= {name: home.inputs[TABLE][place] for name, place in self.columns.column.items()}
        (q, b, before, behind) = (home.inputs[name][0] for name in ("q", "b", "b" + BEFORE, KNOWN))
        run, kept = levels.halves(home, own, q, b, before, behind)
        return {RUN: run, KEPT: kept}

    def _rates(self, home: Derivation) -> Made:
        near, far = levels.rates(home, home.inputs[KEPT][:OF_HALVES], home.inputs[KNOWN])
        return {RUN: [far], KEPT: [near, far]}

    def _joints(self, home: Derivation) -> Made:
        near, far = home.inputs[KEPT][OF_HALVES:]
        before, own = levels.joints(home, near, far, home.inputs[KNOWN][0])
        return {RESULT + BEFORE: [before], RESULT: [own]}

    def _made(self, build: Callable[[Derivation], Made], known: int) -> Program:
        """What `build` makes of what it reads, where so many numbers are known of a place."""
        sizes = {name + which: 1 for name in ARGUMENTS for which in ("", BEFORE)}
        sizes |= {TABLE: self.columns.width, KEPT: self.work, KNOWN: known}
        return step_of(build, sizes, METHOD)
