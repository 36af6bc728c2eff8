"""Loop programs of one chain of like links, whose steps are derived one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from symgen.derivation import constants as k
from symgen.derivation.scalars import Derivation, Scalar
from symgen.ir import passes
from symgen.ir.loops import (
    DOWNSWEEP,
    LEFT,
    RIGHT,
    SAVED,
    UPSWEEP,
    LinkClass,
    LoopProgram,
    Map,
    ParallelScan,
    Stage,
    with_inputs,
)
from symgen.ir.program import Port, Program

Results = Mapping[str, Sequence[Scalar]]
"""Results of a step, by port."""


@dataclass(frozen=True)
class ChainSteps:
    """Steps for one chain of links of one class, and the constants of each link or element."""

    link_class: LinkClass
    constants: Sequence[Sequence[k.Constant]]
    stages: Sequence[Stage]
    work: int
    """Numbers that a link or an element saves."""
    part_lengths: tuple[int, ...]


def chain_program(
    function: str, method: str, arguments: Sequence[str], result: str, links: int, steps: ChainSteps
) -> LoopProgram:
    """Return the loop program of a chain of so many links, each with one element per argument."""
    return LoopProgram(
        function,
        method,
        tuple(Port(name, (links,)) for name in arguments),
        (Port(result, (links,)),),
        (steps.link_class,),
        tuple(range(-1, links - 1)),
        (0,) * links,
        tuple(tuple(map(k.to_fraction, row)) for row in steps.constants),
        tuple(steps.stages),
        steps.work,
        steps.part_lengths,
    )


def equal_parts(elements: int, parts: int) -> tuple[int, ...]:
    """Return the lengths of parts of the same length that hold so many elements."""
    return (-(-elements // parts),) * parts


def in_turn(maps: Sequence[Map], scans: Sequence[ParallelScan]) -> tuple[Stage, ...]:
    """Return maps with a scan between every two of them."""
    pairs = zip(maps, scans, strict=False)
    return (*(stage for pair in pairs for stage in pair), maps[-1])


def frozen(derivation: Derivation, function: str, method: str, results: Results) -> Program:
    """Return the rows of a derivation as a step with these results."""
    named = [(name, (len(atoms),), [*atoms]) for name, atoms in results.items()]
    shapes = {name: (size,) for name, size in derivation.sizes.items()}
    return derivation.freeze(function, method, named, shapes)


def derived_step(
    function: str,
    method: str,
    build: Callable[[Derivation], Results],
    sizes: Mapping[str, int],
) -> Program:
    """Derive a step from arguments of these sizes, without the arguments that it does not read."""
    derivation = Derivation({name: size for name, size in sizes.items() if size})
    results = {name: atoms for name, atoms in build(derivation).items() if atoms}
    step = passes.run(frozen(derivation, function, method, results))
    used = sorted({row.value[0] for row in step.rows if row.op == "input"})
    return with_inputs(step, used)


PairStep = Callable[
    [Derivation, Sequence[Scalar], Sequence[Scalar]], tuple[Sequence[Scalar], Sequence[Scalar]]
]
"""Derives the two results of a step of a parallel scan from its two arguments."""


@dataclass(frozen=True)
class PairSteps:
    """The two steps of a parallel scan, and the sizes of the values on the way up, saved, and on
    the way down.
    """

    up: PairStep
    down: PairStep
    up_size: int
    saved_size: int
    down_size: int


def parallel_scan(
    function: str, method: str, steps: PairSteps, valid: int, last_valid: int
) -> ParallelScan:
    """Derive a parallel scan whose values are zero for all elements together."""

    def derived(build: PairStep, sizes: dict[str, int], results: Sequence[str]) -> Program:
        derivation = Derivation(sizes)
        values = build(derivation, *derivation.inputs.values())
        return passes.run(
            frozen(derivation, function, method, dict(zip(results, values, strict=True)))
        )

    pair = {LEFT: steps.up_size, RIGHT: steps.up_size}
    saved = {SAVED: steps.saved_size, DOWNSWEEP: steps.down_size}
    return ParallelScan(
        derived(steps.up, pair, (UPSWEEP, SAVED)),
        derived(steps.down, saved, (LEFT, RIGHT)),
        (k.to_fraction(k.ZERO),) * steps.down_size,
        valid,
        last_valid,
    )
