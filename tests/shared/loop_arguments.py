"""Random arguments of programs in balls, and the difference of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from flint import arb

from symgen.ir.loops import LoopProgram
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism


def random_arguments(
    program: Program | LoopProgram, mechanism: Mechanism, seed: int = 1
) -> dict[str, list[arb]]:
    """Return random balls for the arguments of a program; quaternions are normalised."""
    random = Random(seed)
    arguments = {
        port.name: [arb(random.randint(-1000, 1000)) / 1000 for _ in range(port.size)]
        for port in program.inputs
    }
    for first in mechanism.quaternions:
        quaternion = arguments["q"][first : first + 4]
        arguments["q"][first : first + 4] = [
            x / sum(x * x for x in quaternion).sqrt() for x in quaternion
        ]
    return arguments


def largest_difference(
    computed: Mapping[str, Sequence[Any]], expected: Mapping[str, Sequence[Any]]
) -> float:
    """Return the largest difference of results, relative to 1 + |value|."""
    assert {name: len(values) for name, values in computed.items()} == {
        name: len(values) for name, values in expected.items()
    }
    return max(
        float((abs(x - y) / (1 + abs(y))).upper())
        for name in expected
        for x, y in zip(computed[name], expected[name], strict=True)
    )
