"""Panda's functions on a GPU, timed: `python -m tests.cuda_states`.

It times forward and inverse dynamics, the mass matrix and the derivatives of forward dynamics, in
double and in float. Ten thousand to ten million states are in the GPU's memory. A time is
nanoseconds per state, the best of several launches, by the GPU's own clock. The first thousand
results are compared with those of the solver; with one rounding per operation all bits are equal.
Without a GPU or without nvcc, it prints a message and returns 2.
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
"""Largest size (bytes) of the arrays of one launch; larger counts are skipped."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print tables for each real type, with one rounding per operation and with fused a*b + c."""
    parser = argparse.ArgumentParser(prog="cuda_states", description=__doc__)
    parser.add_argument("--robot", default="panda")
    chosen = parser.parse_args(arguments)
    try:
        architecture = gpu()
        nvcc()
    except CudaMissing as missing:
        print(f"cuda_states: {missing}", file=sys.stderr)
        return 2
    for real in ("double", "float"):
        for flags in ((ONE_ROUNDING,), ()):
            print(
                f"{chosen.robot}, {real},"
                f" {'a*b + c fused' if not flags else 'one rounding per operation'},"
                f" {architecture}: ns a state"
            )
            print("states     " + "".join(f"{title:>10}" for title in FUNCTIONS.values()))
            build = partial(_build, flags=flags, architecture=architecture)
            for count, times in table(chosen.robot, real, build, exact=bool(flags)):
                print(f"{count:<11}" + "".join(f"{time:>10.3g}" for time in times))
    return 0


def _build(folder: Path, flags: tuple[str, ...], architecture: str) -> Device:
    return on_gpu(folder, *flags, architecture=architecture)


def table(
    robot: str, real: str, build: Callable[[Path], Device], exact: bool = True
) -> list[tuple[int, list[float]]]:
    """Return (states, nanoseconds per state of each function); NaN if the arrays are too large.

    `build` compiles a folder; with `exact`, results must have the same bits as the solver's.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "robot"
        symgen.generate(
            robot, folder, list(FUNCTIONS), real, name="robot", wrap=["cuda"], functions_only=True
        )
        device = build(folder)
        solver = symgen.compile(robot, list(FUNCTIONS), real, trig="inline")
        return [
            (count, [timed(device, solver, robot, name, real, count, exact) for name in FUNCTIONS])
            for count in COUNTS
        ]


def timed(
    device: Device, solver: Any, robot: str, function: str, real: str, count: int, exact: bool
) -> float:
    """Return the best time per state (ns); the first results are compared with the solver's."""
    program = symgen.program(robot, function, real=real)
    dtype = np.dtype(REALS[real].numpy)
    sizes = [port.size for port in (*program.inputs, *program.outputs)]
    if sum(sizes) * count * dtype.itemsize > LIMIT:
        return float("nan")
    draw = np.random.default_rng(1)
    samples = [draw.uniform(-1, 1, (port.size, count)).astype(dtype) for port in program.inputs]
    pointers = [device.array(array) for array in samples]
    pointers += [device.array(np.zeros((port.size, count), dtype)) for port in program.outputs]
    call = getattr(device.library, f"robot_{function}_cuda")
    best = float("inf")
    for _ in range(LAUNCHES):
        device.library.host_begin()
        assert call(count, *pointers, None) == 0
        best = min(best, float(device.library.host_milliseconds()))
    computed = np.empty((program.outputs[0].size, count), dtype)
    device.read(pointers[len(samples)], computed)
    device.free(*pointers)
    expected = getattr(solver, function)(*(array[:, :COMPARED].T for array in samples))
    expected = np.asarray(expected[0] if isinstance(expected, tuple) else expected).reshape(
        COMPARED, -1
    )
    tolerance = 0.0 if exact else (1e-3 if real == "float" else 1e-10) * np.abs(expected).max()
    assert np.abs(computed[:, :COMPARED].T - expected).max() <= tolerance, f"{function} is wrong"
    return best * 1e6 / count


if __name__ == "__main__":
    sys.exit(main())
