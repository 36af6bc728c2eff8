"""Times of other programs for Panda's functions on a GPU: `python -m tests.cuda_peers`.

`tests/cuda_states.py` times symgen. GRiD (`pip install grid-rbd`) writes CUDA C++ for one robot and
uses a block of threads for each state; MJX (`pip install mujoco-mjx`, with JAX for GPUs) is MuJoCo
in JAX. Each program reads the robot from a file that symgen converts and keeps its arrays in the
GPU's memory. Its results are compared with those of symgen before it is timed. A message names
programs that are not installed.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import symgen
from symgen import cli
from symgen.vocabulary.reals import REALS
from tests.cuda_states import FUNCTIONS, LAUNCHES
from tests.shared.cuda_tools import HERE, CudaMissing, Device, gpu, nvcc

COUNTS = (10_000, 100_000)
COMPARED = 1000
States = dict[str, np.ndarray[Any, Any]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one table for each real type: best time per state (ns), by program and count."""
    parser = argparse.ArgumentParser(prog="cuda_peers", description=__doc__)
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--peer", choices=PEERS, action="append")
    parser.add_argument("--real", choices=REALS, action="append")
    chosen = parser.parse_args(arguments)
    try:
        architecture = gpu()
        nvcc()
    except CudaMissing as missing:
        print(f"cuda_peers: {missing}", file=sys.stderr)
        return 2
    for real in chosen.real or REALS:
        print(f"{chosen.robot}, {real}, {architecture}: ns a state")
        print("peer, states        " + "".join(f"{title:>10}" for title in FUNCTIONS.values()))
        for peer in chosen.peer or PEERS:
            for count in COUNTS:
                try:
                    times = PEERS[peer](
                        chosen.robot, real, states(chosen.robot, real, count), architecture
                    )
                except ImportError as missing:
                    print(f"{peer} is left out: {missing}")
                    break
                print(
                    f"{f'{peer}, {count}':<20}" + "".join(f"{time:>10.3g}" for time in times),
                    flush=True,
                )
    return 0


def states(robot: str, real: str, count: int) -> States:
    draw = np.random.default_rng(1)
    size = symgen.load(robot).nv
    return {
        name: draw.uniform(-1, 1, (count, size)).astype(REALS[real].numpy)
        for name in ("q", "v", "tau", "a")
    }


def expected_results(robot: str, real: str, samples: States) -> list[np.ndarray[Any, Any]]:
    """Return the results of symgen's solver for the first states, in the order of FUNCTIONS."""
    q, v, tau, a = (array[:COMPARED] for array in samples.values())
    solver = symgen.compile(robot, list(FUNCTIONS), real)
    return [
        solver.forward_dynamics(q, v, tau),
        solver.inverse_dynamics(q, v, a),
        solver.mass_matrix(q),
        solver.forward_dynamics_derivatives(q, v, tau)[0],
    ]


def agree(
    name: str, computed: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], real: str
) -> None:
    """Assert equality up to round-off; of a mass matrix, GRiD may write only the upper half."""
    if expected.ndim == 3:
        computed = computed.reshape(-1, *expected.shape[1:])
        if name == "mass_matrix":
            computed, expected = np.triu(computed), np.triu(expected)
    error = np.abs(computed - expected).max() / np.abs(expected).max()
    assert error < (2e-2 if real == "float" else 1e-6), f"{name} differs by {error:.1e}"


def by_grid(robot: str, real: str, samples: States, architecture: str) -> list[float]:
    if importlib.util.find_spec("grid_codegen") is None:
        raise ImportError("grid-rbd is not installed")
    device = _grid(robot, real, architecture)
    count, size = samples["q"].shape
    device.library.grid_start(count)
    state = np.ascontiguousarray(np.hstack([samples["q"], samples["v"], samples["tau"]]))
    device_results, times = ctypes.c_void_p(), []
    for index, (name, expected) in enumerate(
        zip(FUNCTIONS, expected_results(robot, real, samples), strict=True)
    ):

        def call(index: int = index) -> None:
            device.library.grid_call(index, ctypes.byref(device_results))

        assert (
            device.library.grid_put(
                *(ctypes.c_void_p(array.ctypes.data) for array in (state, samples["a"]))
            )
            == 0
        )
        call()
        sizes = {"mass_matrix": size * size, "forward_dynamics_derivatives": 2 * size * size}
        computed = np.empty((COMPARED, sizes.get(name, size)), samples["q"].dtype)
        device.read(device_results, computed)
        if name == "forward_dynamics_derivatives":  # column-major, ∂/∂q before ∂/∂v
            computed = np.ascontiguousarray(
                computed[:, : size * size].reshape(-1, size, size).transpose(0, 2, 1)
            )
        agree(name, computed, expected, real)
        times.append(_best(device, call, count))
    return times


def _best(device: Device, call: Callable[[], None], count: int) -> float:
    best = float("inf")
    for _ in range(LAUNCHES):
        device.library.host_begin()
        call()
        best = min(best, float(device.library.host_milliseconds()))
    assert best > 0, "the GPU refused the call"
    return best * 1e6 / count


def _grid(robot: str, real: str, architecture: str) -> Device:
    """Generate GRiD's code for the robot and compile it as GRiD's documentation says."""
    with tempfile.TemporaryDirectory() as folder:
        return _built_by_grid(robot, real, architecture, Path(folder))


def _built_by_grid(robot: str, real: str, architecture: str, folder: Path) -> Device:
    assert cli.main(["convert", robot, "-o", str(folder / "robot.urdf"), "-q"]) == 0
    names = "inverse_dynamics,forward_dynamics,crba,forward_dynamics_gradient"
    for command in (
        (
            sys.executable,
            "-c",
            "from grid_codegen.cli import main; main()",
            "robot.urdf",
            "-o",
            "grid.cuh",
            "--no-mujoco-kernels",
            "--algorithm-list",
            names,
        ),
        (
            nvcc(),
            "-shared",
            f"-arch={architecture}",
            "-std=c++17",
            "-O3",
            "-Xcompiler",
            "-fPIC",
            f"-DREAL={real}",
            "-include",
            "grid.cuh",
            HERE / "grid_states.cu",
            HERE / "cuda_host.cu",
            "-o",
            "grid.so",
        ),
    ):
        completed = subprocess.run(
            [*map(str, command)], cwd=folder, capture_output=True, text=True, check=False
        )
        assert completed.returncode == 0, completed.stdout + completed.stderr
    return Device(folder / "grid.so")  # the library stays loaded after the folder is deleted


def by_mjx(robot: str, real: str, samples: States, architecture: str) -> list[float]:
    """Time MJX: one `jit` over the public functions that each result needs; ∂FD by `jax.jacfwd`."""
    import mujoco
    from mujoco import mjx

    jax: Any = importlib.import_module("jax")
    if jax.default_backend() != "gpu":
        raise ImportError("JAX has no GPU here")

    jax.config.update("jax_enable_x64", real == "double")
    with tempfile.TemporaryDirectory() as folder:
        assert cli.main(["convert", robot, "-o", f"{folder}/robot.xml", "-q"]) == 0
        model = mjx.put_model(mujoco.MjModel.from_xml_path(f"{folder}/robot.xml"))
    blank = mjx.make_data(model)

    def with_inertias(q: Any, **more: Any) -> Any:
        return mjx.crb(
            model, mjx.com_pos(model, mjx.kinematics(model, blank.replace(qpos=q, **more)))
        )

    def forward(q: Any, v: Any, tau: Any) -> Any:
        data = mjx.factor_m(model, with_inertias(q, qvel=v, qfrc_applied=tau))
        return mjx.fwd_acceleration(model, mjx.rne(model, mjx.com_vel(model, data))).qacc_smooth

    def inverse(q: Any, v: Any, a: Any) -> Any:
        data = mjx.rne(model, mjx.com_vel(model, with_inertias(q, qvel=v)))
        return data.qfrc_bias + mjx.mul_m(model, data, a)

    def mass(q: Any) -> Any:
        return mjx.full_m(model, with_inertias(q))

    q, v, tau, a = (jax.device_put(array) for array in samples.values())
    calls = (
        (forward, (q, v, tau)),
        (inverse, (q, v, a)),
        (mass, (q,)),
        (jax.jacfwd(forward, (0, 1, 2)), (q, v, tau)),
    )
    times = []
    for (function, arguments), name, expected in zip(
        calls, FUNCTIONS, expected_results(robot, real, samples), strict=True
    ):
        run = jax.jit(jax.vmap(function))
        computed = jax.block_until_ready(run(*arguments))
        first = computed[0] if isinstance(computed, tuple) else computed
        agree(name, np.asarray(first[:COMPARED]), expected, real)
        best = float("inf")
        for _ in range(LAUNCHES):
            start = perf_counter()
            jax.block_until_ready(run(*arguments))
            best = min(best, perf_counter() - start)
        times.append(best * 1e9 / len(q))
    return times


PEERS = {"GRiD": by_grid, "MJX": by_mjx}

if __name__ == "__main__":
    sys.exit(main())
