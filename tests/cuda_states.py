"""Panda's functions on a GPU, timed: `python -m tests.cuda_states`.

Forward and inverse dynamics, the mass matrix and the derivatives of forward dynamics, in double and in float, for ten thousand to
ten million states that lie in the GPU's memory: nanoseconds a state, the best of several launches, by the GPU's own clock. The
first thousand results are compared with the solver's: with one rounding per operation they have its bits. Where no GPU is at
hand, or no nvcc, it says so and returns 2.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import symgen
from symgen.vocabulary.reals import REALS
from tests.shared.cuda_tools import ONE_ROUNDING, CudaMissing, Device, gpu, nvcc, on_gpu

FUNCTIONS = {
    "forward_dynamics": "FD",
    "inverse_dynamics": "ID",
    "mass_matrix": "M",
    "forward_dynamics_derivatives": "∂FD",
}
COUNTS = (10_000, 100_000, 1_000_000, 10_000_000)
LAUNCHES = 20
COMPARED = 1000
LIMIT = 8e9
"""Bytes of the arrays of one launch: more states are left out."""


def main(words: Sequence[str] | None = None) -> int:
    """Prints a table a real type, with one rounding per operation and with a*b + c fused."""
    parser = argparse.ArgumentParser(prog="cuda_states", description=__doc__)
    parser.add_argument("--robot", default="panda")
    chosen = parser.parse_args(words)
    try:
        architecture = gpu()
        nvcc()
    except CudaMissing as missing:
        print(f"cuda_states: {missing}", file=sys.stderr)
        return 2
    for real in ("double", "float"):
        for flags in ((ONE_ROUNDING,), ()):
            print(
                f"{chosen.robot}, {real}, {'a*b + c fused' if not flags else 'one rounding per operation'}, {architecture}: "
                "ns a state"
            )
            print("states     " + "".join(f"{title:>10}" for title in FUNCTIONS.values()))
            built = partial(_built, flags=flags, architecture=architecture)
            for count, times in table(chosen.robot, real, built, exact=bool(flags)):
                print(f"{count:<11}" + "".join(f"{time:>10.3g}" for time in times))
    return 0


def _built(folder: Path, flags: tuple[str, ...], architecture: str) -> Device:
    return on_gpu(folder, *flags, architecture=architecture)


def table(
    robot: str, real: str, built: Callable[[Path], Device], exact: bool = True
) -> list[tuple[int, list[float]]]:
    """(states, nanoseconds of each function), by count; NaN where the arrays would be too large. `built` compiles a folder, and
    `exact` asks it for the solver's bits.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "robot"
        symgen.generate(
            robot, folder, list(FUNCTIONS), real, name="robot", wrap=["cuda"], functions_only=True
        )
        device = built(folder)
        solver = symgen.compile(robot, list(FUNCTIONS), real, trig="inline")
        return [
            (count, [timed(device, solver, robot, name, real, count, exact) for name in FUNCTIONS])
            for count in COUNTS
        ]


def timed(
    device: Device, solver: Any, robot: str, function: str, real: str, count: int, exact: bool
) -> float:
    """Nanoseconds a state of the quickest launch, whose first results are compared with the solver's."""
    program = symgen.program(robot, function, real=real)
    kind = np.dtype(REALS[real].numpy)
    sizes = [port.size for port in (*program.inputs, *program.outputs)]
    if sum(sizes) * count * kind.itemsize > LIMIT:
        return float("nan")
    draw = np.random.default_rng(1)
    given = [draw.uniform(-1, 1, (port.size, count)).astype(kind) for port in program.inputs]
    places = [device.array(array) for array in given]
    places += [device.array(np.zeros((port.size, count), kind)) for port in program.outputs]
    call = getattr(device.library, f"robot_{function}_cuda")
    best = float("inf")
    for _ in range(LAUNCHES):
        device.library.host_begin()
        assert call(count, *places, None) == 0
        best = min(best, float(device.library.host_milliseconds()))
    found = np.empty((program.outputs[0].size, count), kind)
    device.read(places[len(given)], found)
    device.free(*places)
    wanted = getattr(solver, function)(*(array[:, :COMPARED].T for array in given))
    wanted = np.asarray(wanted[0] if isinstance(wanted, tuple) else wanted).reshape(COMPARED, -1)
    near = 0.0 if exact else (1e-3 if real == "float" else 1e-10) * np.abs(wanted).max()
    assert np.abs(found[:, :COMPARED].T - wanted).max() <= near, f"{function} is wrong"
    return best * 1e6 / count


if __name__ == "__main__":
    sys.exit(main())
