"""Forward dynamics of one chain of like links as a `LoopProgram`: the sweeps of `symgen.methods.riccati.segments`, folded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from symgen.derivation import constants as k
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.table_linkage import GEOMETRY, TEN, Columns, constants_of
from symgen.ir import passes
from symgen.ir.loops import (
    CARRY,
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
from symgen.ir.program import Port, Program, Row
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.riccati import segments as blocks
from symgen.pipeline.loops.link_assignment import Unlike
from symgen.pipeline.loops.recursing import Swept, laid, swept, unlike_links
from symgen.pipeline.loops.sample_chain import Build, Chain, chained, run, unlike
from symgen.support.errors import OutOfReach

FUNCTION, METHOD = "forward_dynamics", "riccati:segments"
LEAST = 4
"""Links of a segment, at least: with fewer nothing is gained."""
TURNS = ("sin", "cos")


def segmented(mechanism: Mechanism, segments: int) -> LoopProgram:
    """Forward dynamics of a chain in so many segments. Raises OutOfReach, in one sentence, where it is no long chain of links
    that are alike.
    """
    return k.sharpened(lambda: _segmented(mechanism, segments))


def _segmented(mechanism: Mechanism, segments: int) -> LoopProgram:
    def refused(why: str) -> OutOfReach:
        return OutOfReach(
            f"forward_dynamics of '{mechanism.name}' is not cut into {segments} segments, since {why}; take "
            "--method riccati"
        )

    model = laid(mechanism, regrouped=False)
    if why := unlike(model):
        raise refused(why)
    kind = model.links[0].kind
    if len(model.links) < LEAST * segments:
        raise refused(f"it has fewer than {LEAST * segments} links")
    numbers = [constants_of(link) for link in model.links]
    parts = [f"{name}_{at}" for name, size in blocks.PARTS.items() for at in range(size)]
    why = ""
    for columns in (Columns.of(numbers), Columns.of(numbers, GEOMETRY + TEN)):
        try:
            widths = blocks.WIDTHS | dict.fromkeys(parts, 0)
            chain = replace(
                chained(model, [kind], [columns], []), widths=widths, given=tuple(blocks.WIDTHS)
            )
            turning = _folded(chain, blocks.turned, ["a"])
            dynamics = _folded(chain, blocks.swept, ["a", *parts])
            break
        except Unlike as error:
            why = str(error)
    else:
        raise unlike_links(mechanism, FUNCTION, METHOD, why, "--method riccati")
    tables = tuple(tuple(k.to_fraction(x) for x in columns.row(row)) for row in numbers)
    *sines, outward, inward, last = map(_known, dynamics.sweeps)
    *_, first = turning.sweeps
    first = (
        _without(first, "a")
        if not sines
        else _with_sines(_without(first, "a"), turning.sweeps[0], sines[0])
    )
    handed = {end.name: end.elements[0] for end in dynamics.ends}
    order = _Order(
        [handed[name] for name in parts],
        *(
            [_place(heads, name) for name in names]
            for heads, names in (
                (turning.heads[-1], [f"{name}_1_{c}" for name in blocks.TURNED for c in (1, 2, 3)]),
                (dynamics.heads[-3], [f"omega_1_{c}" for c in (1, 2, 3)]),
                (
                    dynamics.heads[-1],
                    [f"{name}_1_{c}" for name in blocks.MOTION for c in range(1, 7)],
                ),
            )
        ),
    )
    unit = [Fraction(int(at in (3, 7))) for at in range(9)]
    starts = (
        [Fraction(0)] * 27 + [Fraction(int(at % 7 == 0)) for at in range(36)] + [Fraction(0)] * 27
    )
    gravity = [last.initial[at] for at in order.motion[:6]]
    stages = (
        replace(first, initial=_put(unit, order.turned)),
        order.across_turned(),
        outward,
        replace(inward, combine=(), initial=_put(starts, order.parts)),
        order.across_inward(),
        order.across_outward(gravity),
        last,
    )
    ports = {name: Port(name, (len(tables),)) for name in ("q", "v", "tau", "a")}
    found = LoopProgram(
        FUNCTION,
        METHOD,
        tuple(ports[name] for name in ("q", "v", "tau")),
        (ports["a"],),
        (LinkClass(kind, 1, 1, columns.width),),
        tuple(range(-1, len(tables) - 1)),
        (0,) * len(tables),
        tables,
        stages,
        dynamics.work,
        part_lengths=even_lengths(len(tables), segments),
    )
    return check(found.by(passes.run))


def _folded(chain: Chain, build: Build, names: Sequence[str]) -> Swept:
    return swept(chain, False, run(chain, FUNCTION, METHOD, build, names))


def _place(heads: Sequence[Sequence[str]], name: str) -> int:
    """Which element of what is handed on is called so."""
    symbol, _, *rest = name.split("_")
    for at, names in enumerate(heads):
        if "_".join([symbol, *rest]) in names:
            return at
    raise Unlike(f"what {FUNCTION} by {METHOD} hands on has no {name}")


def _put(values: Sequence[Fraction], places: Sequence[int]) -> tuple[Fraction, ...]:
    """Values in their order, each in its place."""
    found = dict(zip(places, values, strict=True))
    return tuple(found[at] for at in range(len(found)))


def _without(sweep: Sweep, result: str) -> Sweep:
    """The same where nothing is given under that name."""
    (step,) = sweep.steps
    return replace(
        sweep,
        steps=(replace(step, outputs=tuple(port for port in step.outputs if port.name != result)),),
    )


def _known(sweep: Sweep) -> Sweep:
    """The same where arguments of the short chain alone are zero: its links add nothing to what was handed on."""
    (step,) = sweep.steps
    names = [port.name for port in step.inputs]
    kept = [name for name in names if name not in blocks.WIDTHS]
    rows = []
    for row in step.rows:
        if row.op == "input":
            name = names[row.value[0]]
            row = (
                row._replace(value=(kept.index(name), row.value[1]))
                if name in kept
                else Row("const", (), Fraction(0))
            )
        rows.append(row)
    inputs = tuple(port for port in step.inputs if port.name in kept)
    return replace(sweep, steps=(replace(step, inputs=inputs, rows=tuple(rows)),))


def _with_sines(sweep: Sweep, own: Sweep, kept: Sweep) -> Sweep:
    """A sweep that takes the sines and cosines itself which its `own` one would keep before all else, and keeps them where later
    ones look for them: in the places of `kept`.
    """
    (taken,), (there,), (step,) = own.steps, kept.steps, sweep.steps
    ops = [taken.rows[r].op for port in taken.outputs if port.name == SAVED for r in port.rows]
    place = {there.rows[r].op: r for port in there.outputs for r in port.rows}
    if len(place) != len(there.outputs[0].rows):
        raise Unlike("a link turns by several angles")
    inputs = [
        *there.inputs,
        *(
            port
            for port in step.inputs
            if port.name not in {SAVED, *(one.name for one in there.inputs)}
        ),
    ]
    names = [port.name for port in inputs]
    rows, at = list(there.rows), []
    for row in step.rows:
        name = step.inputs[row.value[0]].name if row.op == "input" else ""
        if name == SAVED:
            at.append(place[ops[row.value[1] - own.saved_at[0]]])
            continue
        if name:
            row = row._replace(value=(names.index(name), row.value[1]))
        rows.append(row._replace(args=tuple(at[a] for a in row.args), step=-1))
        at.append(len(rows) - 1)
    rows = [row._replace(step=-1) for row in rows]
    outputs = [port._replace(rows=tuple(at[r] for r in port.rows)) for port in step.outputs]
    joined = replace(
        step, inputs=tuple(inputs), rows=tuple(rows), outputs=(*outputs, *there.outputs), steps=()
    )
    return replace(sweep, steps=(joined,), saved_at=kept.saved_at)


class _Order:
    """Where everything stands in what sweeps carry; the ways across the segments are written with it."""

    def __init__(
        self,
        parts: Sequence[int],
        turned: Sequence[int],
        omega: Sequence[int],
        motion: Sequence[int],
    ) -> None:
        self.parts, self.turned, self.omega, self.motion = parts, turned, omega, motion

    def across_turned(self) -> SequentialScan:
        def opening(home: Derivation) -> dict[str, list[Scalar]]:
            return {
                CARRY: blocks.across_turned(home, self._given(home, self.turned), None),
                INITIAL: [home.zero] * 3,
            }

        def step(home: Derivation) -> dict[str, list[Scalar]]:
            before = home.inputs[CARRY]
            return {
                CARRY: blocks.across_turned(home, self._given(home, self.turned), before),
                INITIAL: self._starting(before, self.omega),
            }

        return SequentialScan(
            False,
            _program(opening, {FINAL_CARRY: 9}),
            _program(step, {FINAL_CARRY: 9, CARRY: 3}),
            0,
            2,
        )

    def across_inward(self) -> SequentialScan:
        def made(home: Derivation) -> dict[str, list[Scalar]]:
            handed, kept = blocks.across_inward(
                home, self._given(home, self.parts), home.inputs.get(CARRY)
            )
            return {CARRY: handed, SAVED: kept}

        return SequentialScan(
            True,
            _program(made, {FINAL_CARRY: 90}),
            _program(made, {FINAL_CARRY: 90, CARRY: 27}),
            3,
            -1,
        )

    def across_outward(self, gravity: Sequence[Fraction]) -> SequentialScan:
        def made(home: Derivation) -> dict[str, list[Scalar]]:
            before = home.inputs.get(CARRY) or [home.constant(x) for x in gravity]
            alpha, f = blocks.across_outward(
                home, self._given(home, self.parts), home.inputs[SAVED], before
            )
            return {CARRY: alpha, INITIAL: self._starting([*before, *f], self.motion)}

        return SequentialScan(
            False,
            _program(made, {FINAL_CARRY: 90, SAVED: 69}),
            _program(made, {FINAL_CARRY: 90, SAVED: 69, CARRY: 6}),
            3,
            6,
        )

    @staticmethod
    def _given(home: Derivation, places: Sequence[int]) -> list[Scalar]:
        return [home.inputs[FINAL_CARRY][at] for at in places]

    @staticmethod
    def _starting(values: Sequence[Scalar], places: Sequence[int]) -> list[Scalar]:
        found = dict(zip(places, values, strict=True))
        return [found[at] for at in range(len(found))]


def _program(
    made: Callable[[Derivation], dict[str, list[Scalar]]], inputs: dict[str, int]
) -> Program:
    home = Derivation(inputs)
    results = [(name, (len(atoms),), atoms) for name, atoms in made(home).items()]
    return home.freeze(FUNCTION, METHOD, results, {name: (size,) for name, size in inputs.items()})
