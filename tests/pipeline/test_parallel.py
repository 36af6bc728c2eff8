"""Several processes in parallel derive the same functions as one process."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from symgen.pipeline import parallel
from symgen.support import cache
from symgen.support.errors import ArgumentError

ROOT = Path(__file__).resolve().parents[2]


def run(code: str, *words: str, processes: int) -> str:
    """Run a program that derives in `processes` processes with an empty cache; give its output."""
    environment = {
        **os.environ,
        "SYMGEN_PROCESSES": str(processes),
        "SYMGEN_CACHE_PROGRAMS": "off",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


GENERATE = """
import os, sys
from symgen import cli
from symgen.pipeline import build, parallel
parallel.WORTH = 0.0
ours, derived, build_one = os.getpid(), [], build.build_form
def counted(mechanism, function, *rest):
    derived.append(function)
    return build_one(mechanism, function, *rest)
build.build_form = counted
words = ["-f", "forward_dynamics", "-f", "inverse_dynamics:jacobian"]
words += ["-f", "mass_matrix", "-f", "jacobian"]
cli.main(["generate", "scara", "-q", *words, "-o", sys.argv[1]])
print(len(derived))
"""


def folder(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}


@pytest.mark.slow
def test_any_number_of_processes_writes_the_same_bytes(tmp_path: Path) -> None:
    serial = run(GENERATE, str(tmp_path / "serial" / "c"), processes=1)
    shared = run(GENERATE, str(tmp_path / "shared" / "c"), processes=3)
    assert folder(tmp_path / "serial" / "c") == folder(tmp_path / "shared" / "c")
    assert int(serial) >= 4
    # The parent requests each function again, from memory; other processes derived some of them.
    assert int(shared) >= 4


PROGRESS = """
import os, sys
import symgen
from symgen.pipeline import parallel
parallel.WORTH = 0.0
def progress(what, done, total):
    print(os.getpid() == ours, what, flush=True)
ours = os.getpid()
functions = ["forward_dynamics", "mass_matrix", "jacobian"]
symgen.generate("scara", sys.argv[1], functions, progress=progress)
"""


@pytest.mark.slow
def test_the_parent_process_reports_progress(tmp_path: Path) -> None:
    lines = run(PROGRESS, str(tmp_path / "c"), processes=3).splitlines()
    assert lines
    assert all(line.startswith("True") for line in lines)
    assert {f"True deriving {name}" for name in ("forward_dynamics", "mass_matrix")} <= set(lines)


IGNORED = """
import signal
from symgen.pipeline import parallel
from symgen.support import cache
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
with cache.in_memory():
    parallel.run(
        [lambda number=number: cache.keep({"number": number}, "job", number) for number in range(9)]
    )
    print(all(cache.find("job", number) for number in range(9)))
"""


def test_a_program_that_ignores_sigchld_gets_all_results() -> None:
    assert run(IGNORED, processes=3) == "True\n"


JOBS = """
import os, sys, time
from symgen.pipeline import parallel
from symgen.support import cache
from symgen.support.errors import ArgumentError
def job(number):
    time.sleep(0.05)
    cache.keep({"by": os.getpid()}, "job", number)
    if number == 2:
        raise ArgumentError("this job fails")
    if number == 3 and os.getpid() != parent:
        os._exit(1)
parent = os.getpid()
with cache.in_memory():
    parallel.run([lambda number=number: job(number) for number in range(12)])
    kept = [cache.find("job", number) for number in range(12)]
print(len([facts for facts in kept if facts]), len({facts["by"] for facts in kept if facts}))
print(cache.find("job", 0))
"""


def test_results_of_other_processes_are_cached_except_those_of_a_process_that_ends_early() -> None:
    cached, workers = run(JOBS, processes=3).splitlines()[0].split()
    assert 6 <= int(cached) <= 12
    assert int(workers) >= 2


def test_the_cache_in_memory_ends_with_the_request() -> None:
    assert run(JOBS, processes=2).splitlines()[1] == "None"


DERIVATIVES = """
import os, sys
import symgen
from symgen.pipeline.differentiation import shortest
from symgen.pipeline.serialize import to_plain
shortest.MANY = 0
parent = os.getpid()
sent = shortest._Sent.of
def of(program):
    if sys.argv[1] == "ends early":
        os._exit(1)
    return sent(program)
shortest._Sent.of = of
for function in ("forward_dynamics", "inverse_dynamics", "mass_matrix", "integrate"):
    name = f"{function}:jacobian"
    print(to_plain(symgen.program("quadruped" if name.startswith("integrate") else "scara", name)))
"""


@pytest.mark.slow
def test_derivatives_built_in_parallel_are_the_serial_ones() -> None:
    serial = run(DERIVATIVES, "", processes=1)
    assert run(DERIVATIVES, "", processes=2) == serial
    assert run(DERIVATIVES, "ends early", processes=2) == serial


RESULTS = """
import os
from symgen.pipeline import parallel
from symgen.support.errors import ArgumentError
def job(number):
    if number == 2:
        raise ArgumentError("this job fails")
    return number
jobs = [lambda number=number: job(number) for number in range(9)]
print(parallel.run(jobs, to_plain=str, from_plain=int) == {n: n for n in range(9) if n != 2})
"""


def test_results_of_all_processes_are_returned() -> None:
    assert run(RESULTS, processes=3) == "True\n"


INTERRUPTED = """
import os, time
from symgen.pipeline import parallel
from symgen.support import cache
parent = os.getpid()
def job():
    if os.getpid() == parent:
        raise KeyboardInterrupt
    time.sleep(60)
start = time.monotonic()
try:
    with cache.in_memory():
        parallel.run([job] * 9)
except KeyboardInterrupt:
    print(time.monotonic() - start < 30)
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child is left")
"""


def test_an_interrupt_ends_the_other_processes() -> None:
    assert run(INTERRUPTED, processes=3).split("\n")[:2] == ["True", "no child is left"]


@pytest.mark.parametrize(
    ("platform", "threads", "setting", "cores", "count"),
    [
        ("linux", 1, None, 3, 3),
        ("linux", 1, None, 20, 8),
        ("linux", 1, "1", 3, 1),
        ("linux", 1, "5", 3, 5),
        ("linux", 1, "100", 3, 8),
        # not a number of processes
        ("linux", 1, "0", 3, 3),
        ("linux", 1, "-2", 3, 3),
        ("linux", 1, "many", 3, 3),
        # a fork would not be safe
        ("linux", 2, "4", 3, 1),
        ("darwin", 1, "4", 3, 1),
    ],
)
def test_the_number_of_processes_is_the_setting_or_that_of_the_processors_up_to_eight(
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    threads: int,
    setting: str | None,
    cores: int,
    count: int,
) -> None:
    monkeypatch.setattr(parallel.sys, "platform", platform)
    monkeypatch.setattr(parallel.threading, "active_count", lambda: threads)
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda process: {*range(cores)})
    monkeypatch.delenv("SYMGEN_PROCESSES", raising=False)
    if setting is not None:
        monkeypatch.setenv("SYMGEN_PROCESSES", setting)
    assert parallel.processes() == count


class Exit(Exception):
    """Raised in place of the end of a forked process."""


@pytest.mark.parametrize("returns_results", [True, False])
def test_a_forked_process_writes_its_new_cache_entries_and_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, returns_results: bool
) -> None:
    """It ignores Ctrl-C, which its parent handles, and ends with status 0 without exit handlers."""
    ignored: list[tuple[int, Any]] = []

    def leave(status: int) -> None:
        raise Exit(status)

    def job(number: int) -> int:
        cache.keep({"number": number}, "job", number)
        if number == 1:
            raise ArgumentError("this job fails")
        return number * number

    monkeypatch.setattr(parallel.os, "_exit", leave)
    monkeypatch.setattr(parallel.signal, "signal", lambda *words: ignored.append(words))
    monkeypatch.setattr(parallel, "_end_with_parent", lambda: None)
    queue, fill = os.pipe()
    with os.fdopen(fill, "wb") as file:
        file.write(bytes([1, 0, 2, 0]))
    jobs = [lambda number=number: job(number) for number in range(4)]
    path = tmp_path / "results"
    with cache.in_memory():
        cache.keep({"number": 0}, "job", 0)
        with pytest.raises(Exit) as ended:
            parallel._work_and_exit(queue, jobs, path, str if returns_results else None)
    os.close(queue)
    assert ended.value.args == (0,)
    assert ignored == [(signal.SIGINT, signal.SIG_IGN)]
    entries, results = parallel._read_results(path)
    assert sorted(json.loads(facts)["number"] for facts in entries.values()) == [1, 2]
    assert results == ({"2": "4"} if returns_results else {})


def test_a_process_that_ended_early_has_no_results(tmp_path: Path) -> None:
    assert parallel._read_results(tmp_path / "missing") == ({}, {})
    (tmp_path / "part").write_text('[{"key": "fa')
    assert parallel._read_results(tmp_path / "part") == ({}, {})


def test_the_system_kills_a_forked_process_when_its_parent_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PR_SET_PDEATHSIG of Linux's <sys/prctl.h> is 1."""
    calls: list[tuple[int, int]] = []
    library = SimpleNamespace(prctl=lambda *words: calls.append(words))
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    parallel._end_with_parent()
    assert calls == [(1, signal.SIGKILL)]


@pytest.mark.parametrize(("processes", "forks"), [(1, 0), (3, 2), (8, 3)])
def test_no_more_processes_are_forked_than_jobs_remain_for_them(
    monkeypatch: pytest.MonkeyPatch, processes: int, forks: int
) -> None:
    """This process takes one job itself; if the system refuses to fork, it takes all."""
    forked: list[int] = []

    def refuse() -> int:
        forked.append(1)
        raise OSError("no more processes")

    started: list[int] = []
    monkeypatch.setattr(parallel, "processes", lambda: processes)
    monkeypatch.setattr(parallel.os, "fork", refuse)
    results = parallel.run([lambda number=number: number for number in range(4)], started.append)
    assert len(forked) == forks
    assert started == [0, 1, 2, 3]
    assert results == {n: n for n in range(4)}
