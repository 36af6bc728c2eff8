"""`symgen.dask.map`: results equal to the bit those of a call, on workers without a compiler and
with little memory.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster, as_completed, futures_of, wait

import symgen
from symgen.machine.solver import Solver
from symgen.support.errors import ArgumentError, StateError, SymgenError

LIMIT = 180_000_000
"""Memory limit of a worker in bytes; NumPy and symgen alone take half of it."""
STATES, CHUNK = 1_000_000, 25_000

rng = np.random.default_rng(16)
Q, V, TAU = rng.uniform(-1, 1, (3, 40, 2))


@pytest.fixture(scope="module")
def arm() -> Solver:
    return symgen.compile(
        "planar_arm",
        ["forward_dynamics", "forward_kinematics", "kinetic_energy", "integrate"],
        optimize=1,
    )


@pytest.fixture(scope="module", autouse=True)
def _in_this_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def chunked(x: np.ndarray, chunks: Any = (15, 1)) -> Any:
    return da.from_array(x, chunks=chunks)


# -- one process -----------------------------------------------------------------------------------


def test_each_chunk_equals_a_direct_call_to_the_bit(arm: Solver) -> None:
    mapped = symgen.dask.map(arm.forward_dynamics, chunked(Q), chunked(V, (7, 2)), chunked(TAU))
    assert (mapped.shape, mapped.dtype) == ((40, 2), np.float64)
    assert mapped.chunks[1] == (2,)
    np.testing.assert_array_equal(mapped.compute(), arm.forward_dynamics(Q, V, TAU))


def test_leading_dimensions_broadcast(arm: Solver) -> None:
    cases = [
        (Q, V[0], TAU),
        (Q[:, None], V[:3], TAU[0]),
        (Q[:1], V, TAU),
        (Q[0], V[0], TAU[0]),
        (Q[:0], V[:0], TAU[0]),
    ]
    for q, v, tau in cases:
        mapped = symgen.dask.map(
            arm.forward_dynamics, chunked(q, "auto"), v.tolist() if v.size else v, tau
        )
        expected = arm.forward_dynamics(q, v, tau)
        assert mapped.shape == expected.shape
        np.testing.assert_array_equal(mapped.compute(), expected)


def test_arguments_of_different_shapes_have_the_same_leading_dimensions(arm: Solver) -> None:
    dt = rng.uniform(0.1, 1, 40)
    for q, v, steps in ((Q, V, dt), (Q[:3, None], V, dt), (Q[0], V[0], dt)):
        mapped = symgen.dask.map(arm.integrate, chunked(q, "auto"), v, chunked(steps, 15))
        np.testing.assert_array_equal(mapped.compute(), arm.integrate(q, v, steps))
    with pytest.raises(ArgumentError, match="do not broadcast together"):
        symgen.dask.map(arm.integrate, chunked(Q), V, dt[:2])


def test_several_results_are_arrays_of_one_computation(
    arm: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    R, p = symgen.dask.map(arm.forward_kinematics, chunked(Q))
    assert (R.shape, p.shape, R.dtype) == ((40, 3, 3), (40, 3), np.float64)
    assert (R._meta.shape, R._meta.dtype) == ((0, 0, 0), np.float64)
    calls = []
    kernel = symgen.dask._opened
    monkeypatch.setattr(symgen.dask, "_opened", lambda sent: calls.append(1) or kernel(sent))
    for result, expected in zip(dask.compute(R, p), arm.forward_kinematics(Q), strict=True):
        np.testing.assert_array_equal(result, expected)
    assert len(calls) == len(R.chunks[0])
    np.testing.assert_array_equal(
        symgen.dask.map(arm.kinetic_energy, chunked(Q), V).compute(), arm.kinetic_energy(Q, V)
    )


def test_building_the_graph_computes_nothing(arm: Solver) -> None:
    def computed(block: Any) -> Any:
        raise AssertionError

    lazy = da.map_blocks(computed, chunked(Q), dtype=float, meta=np.empty((0, 0)))
    a = symgen.dask.map(arm.forward_dynamics, lazy, lazy, lazy)
    assert symgen.dask.map(arm.forward_dynamics, lazy, lazy, lazy).name == a.name
    assert symgen.dask.map(arm.forward_dynamics, lazy, lazy, TAU).name != a.name
    with pytest.raises(AssertionError):
        a.compute()


def test_chunks_of_unknown_length_are_accepted(arm: Solver) -> None:
    up = Q[:, 0] > 0
    q, v = (chunked(x)[chunked(up, 15)] for x in (Q, V))
    np.testing.assert_array_equal(
        symgen.dask.map(arm.forward_dynamics, q, v, TAU[0]).compute(),
        arm.forward_dynamics(Q[up], V[up], TAU[0]),
    )


def test_a_graph_contains_a_solver_once(arm: Solver) -> None:
    mapped = symgen.dask.map(arm.forward_dynamics, chunked(Q, (1, 2)), V, TAU)
    keys = [key for key in dict(mapped.__dask_graph__()) if str(key).startswith("symgen-")]
    assert len(keys) == 1
    assert mapped.numblocks == (40, 1)


def test_each_state_has_a_status_and_a_refusal_names_the_first_bad_state() -> None:
    solver = symgen.compile(
        "planar_arm", ["forward_dynamics", "forward_kinematics"], optimize=1, checked=True
    )
    q = Q.copy()
    q[[3, 33], 1] = np.nan
    a, status = dask.compute(
        *symgen.dask.map(solver.forward_dynamics, chunked(q), V, TAU, status=True)
    )
    *_, again = dask.compute(*symgen.dask.map(solver.forward_kinematics, chunked(q), status=True))
    for statuses in (status, again):
        np.testing.assert_array_equal(np.flatnonzero(statuses), [3, 33])
    np.testing.assert_array_equal(np.isnan(a).any(axis=1), status != 0)
    np.testing.assert_array_equal(a[status == 0], solver.forward_dynamics(Q, V, TAU)[status == 0])
    with pytest.raises(StateError, match=r"at state 3: .* within a chunk; status=True"):
        symgen.dask.map(solver.forward_dynamics, chunked(q), V, TAU).compute()


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (
            lambda arm: symgen.dask.map(arm.forward_dynamics, Q, V),
            "2 arrays are given, but it takes 3: q, v, tau",
        ),
        (
            lambda arm: symgen.dask.map(arm.forward_dynamics, Q, chunked(V)[:, :1], TAU),
            r"v has shape \(40, 1\); it must have \(\.\.\., 2\)",
        ),
        (
            lambda arm: symgen.dask.map(arm.forward_dynamics, chunked(Q), V[:7], TAU),
            "do not broadcast together",
        ),
        (
            lambda arm: symgen.dask.map(arm.forward_dynamics, chunked(Q) > 0, V, TAU),
            "q has dtype bool",
        ),
        (
            lambda arm: symgen.dask.map(
                arm.forward_dynamics, da.ma.masked_array(chunked(Q), False), V, TAU
            ),
            "q is a masked array",
        ),
        (lambda arm: symgen.dask.map(len, Q), "takes a function of a solver, .*; 'len' is not one"),
        (lambda arm: symgen.dask.map(arm.bind, Q), "'bind' is not one"),
        (
            lambda arm: symgen.dask.map(arm.forward_kinematics, Q, status=True),
            "has no status; compile it with checked=True",
        ),
        (lambda arm: symgen.dask.map(arm.forward_kinematics, Q, threads=0), "threads is 0"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_computed(
    arm: Solver, mistake: Any, words: str
) -> None:
    with pytest.raises(ArgumentError, match=words):
        mistake(arm)


def test_without_dask_the_error_names_the_extra_to_install() -> None:
    code = "import sys; sys.modules['dask'] = None; import symgen; symgen.dask.map(len)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ToolMissing: Dask is not installed" in done.stderr.splitlines()[-1]
    assert "pip install 'symgen[dask]'" in done.stderr


# -- processes -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def client(cache: Path) -> Iterator[Client]:
    """Start two workers with little memory, an empty cache and no compiler."""
    environment = {"CC": "/nonexistent", "SYMGEN_CACHE": str(cache)}
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit=LIMIT,
            dashboard_address=None,
            env=environment,
        ) as cluster,
        Client(cluster) as client,
        dask.config.set(scheduler="distributed"),
    ):
        yield client


def most_memory() -> int:
    """Return the peak memory of this process in bytes."""
    (line,) = (
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmHWM")
    )
    return int(line.split()[1]) * 1024


def kill_one(client: Client, futures: list[Any]) -> tuple[int, set[Any]]:
    """Kill the worker that holds most of these results; return its process id and those results."""
    keys = {
        address: {key for key in held_keys if key in {f.key for f in futures}}
        for address, held_keys in client.has_what().items()
    }
    address = max(keys, key=lambda worker: len(keys[worker]))
    process = client.run(os.getpid, workers=[address])[address]
    os.kill(process, signal.SIGKILL)
    return process, keys[address]


@pytest.mark.slow
def test_a_million_states_beyond_memory_survive_the_loss_of_a_worker(
    client: Client, cache: Path
) -> None:
    solver = symgen.compile("panda", ["mass_matrix"])
    q = da.random.default_rng(16).uniform(-1, 1, (STATES, 7), chunks=(CHUNK, 7))
    M = symgen.dask.map(solver.mass_matrix, q)
    assert M.nbytes > 2 * LIMIT
    before = {*client.run(os.getpid).values()}
    sums = client.persist(M.sum(axis=(1, 2)))
    futures = futures_of(sums)
    for done, _ in enumerate(as_completed(futures, timeout=60), start=1):
        if done == len(futures) // 2:
            break
    process, lost = kill_one(client, futures)
    wait(futures, timeout=60)  # a worker above the limit would pause for ever
    totals = sums.compute()
    client.wait_for_workers(2, timeout=60)  # Dask replaces the killed worker
    memory = client.run(most_memory)
    assert lost
    # The second worker still runs: Dask terminates a worker that exceeds its memory limit.
    assert before & {*client.run(os.getpid).values()} == before - {process}
    assert all(bytes_used < LIMIT for bytes_used in memory.values()), memory
    assert totals.shape == (STATES,)
    for begin in range(0, STATES, CHUNK):
        block = solver.mass_matrix(q.blocks[begin // CHUNK].compute(scheduler="synchronous"))
        np.testing.assert_array_equal(totals[begin : begin + CHUNK], block.sum(axis=(1, 2)))
    assert {path.name.partition(".")[0] for path in cache.iterdir()} == {
        solver._library,
        *solver._named.values(),
    }


@pytest.mark.slow
def test_a_worker_of_another_platform_without_a_compiler_raises_an_error(
    client: Client, arm: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = symgen.dask.map(arm.forward_dynamics, chunked(Q), V, TAU)
    np.testing.assert_array_equal(a.compute(), arm.forward_dynamics(Q, V, TAU))
    monkeypatch.setattr("symgen.machine.building.runs_on", lambda build: ("plan9", "mips", ".so"))
    elsewhere = symgen.dask.map(arm.kinetic_energy, chunked(Q), V)
    with pytest.raises(
        SymgenError,
        match=(
            r"the pickled solver of .* is for plan9 mips \.so, and cannot be compiled here: the C"
            r" compiler"
        ),
    ):
        elsewhere.compute()
