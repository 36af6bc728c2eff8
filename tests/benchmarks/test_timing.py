"""Times of a race on a clock that a test moves, the words about them, and answers of peers."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symgen.benchmarks import bench, peers
from symgen.benchmarks.bench import ROUNDS, STATES, TIMES, Bench, Measured, Timing
from symgen.benchmarks.peers import _peer
from symgen.ir.program import Port
from symgen.machine.building import Build
from symgen.machine.compilers import find_compiler
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import RequestError
from symgen.support.version import __version__


class Clock:
    """A clock that only runs of contestants move, in seconds; the process runs in a share of the
    time.
    """

    def __init__(self, share: float = 1.0) -> None:
        self.now, self.share = 100.0, share

    def takes(self, *seconds: float) -> Callable[[], None]:
        """Return a contestant whose runs take these times, the last of them for ever."""
        waiting = list(seconds)

        def run() -> None:
            self.now += waiting.pop(0) if len(waiting) > 1 else waiting[0]

        return run

    def install(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(time, "perf_counter", lambda: self.now)
        patch.setattr(time, "process_time", lambda: self.now * self.share)
        patch.setattr(bench, "_load", lambda: 0.75)


def test_a_race_gives_nanoseconds_a_state_and_the_share_of_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run of the blocks has 16 times as many states; the first run of each is not measured."""
    clock = Clock(share=0.5)
    clock.install(monkeypatch)
    times = bench.race({"c": clock.takes(9.0, 0.5), "blocks": clock.takes(7.0, 0.5)}, rounds=3)
    assert [*times] == ["c", "blocks"]
    assert times["c"].median == pytest.approx(0.5e9 / STATES)
    assert times["blocks"].median == pytest.approx(0.5e9 / STATES / TIMES)
    assert len(times["c"].rounds) == 3
    assert times["c"].share == pytest.approx(0.5)
    assert (times["c"].load, times["c"].contestant) == (0.75, "c")
    assert len(bench.race({"c": clock.takes(1.0)})["c"].rounds) == ROUNDS


@pytest.mark.parametrize(
    ("seconds", "repeats"), [(0.5, 1), (0.004, 1), (0.002, 2), (0.001, 4), (0.0, 40_000)]
)
def test_a_quick_contestant_runs_several_times_in_a_round(
    seconds: float, repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round takes 4 ms, if a run does not take longer. No run is counted as less than 0.1 µs."""
    clock = Clock()
    clock.install(monkeypatch)
    runs: list[int] = []
    take = clock.takes(seconds)

    def run() -> None:
        runs.append(1)
        take()
        if len(runs) > 2:  # at least a little, so that a share can be computed
            clock.now += 1e-9

    timing = bench.race({"c": run}, rounds=2)["c"]
    assert len(runs) == 2 + 2 * repeats
    assert timing.median == pytest.approx((seconds + 1e-9) * 1e9 / STATES, rel=1e-5)


def test_the_median_is_that_of_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    clock.install(monkeypatch)
    timing = bench.race({"c": clock.takes(1.0, 1.0, 3.0, 1.0, 2.0)}, rounds=3)["c"]
    assert timing.rounds == pytest.approx([x * 1e9 / STATES for x in (3, 1, 2)])
    assert timing.median == pytest.approx(2e9 / STATES)


def test_a_machine_is_busy_below_a_share_or_above_a_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)

    def words(*figures: tuple[float, float]) -> str:
        return bench.busy(Timing("c", 1.0, (1.0,), share, load) for share, load in figures)

    assert words() == ""
    assert words((0.95, 1.5), (1.1, 0.0)) == ""
    assert words((0.94, 1.0), (0.5, 0.25)) == (
        "measured on a busy machine (load 1.0 on 4 processors, running 50% of the time)"
    )
    assert words((1.2, 1.6), (1.2, 0.0)) == (
        "measured on a busy machine (load 1.6 on 4 processors, running 100% of the time)"
    )


def test_facts_name_the_machine_the_compiler_and_the_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    peer: Any = SimpleNamespace(name="library", version="3.1")
    monkeypatch.setattr(bench, "_load", lambda: 0.26)
    facts = bench.machine_facts(Build(optimize=3), [peer])
    assert [*facts] == ["processor", "system", "compiler", "python", "symgen", "library"]
    assert facts["system"].endswith(f"{os.cpu_count()} processors, load 0.3")
    assert " -O3 -ffp-contract=off " in facts["compiler"]
    assert facts["compiler"].startswith(bench._first_line([*find_compiler(), "--version"]))
    assert facts["python"].endswith(f"NumPy {np.__version__}")
    assert (facts["symgen"], facts["library"]) == (__version__, "3.1")
    monkeypatch.setattr(bench, "_load", lambda: None)
    assert bench.machine_facts(Build(), [])["system"].endswith("load unknown")


def test_a_processor_has_its_name_and_its_governor(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "cpuinfo": "processor\t: 0\nmodel name\t: Chip 9 @ 2: GHz\nmodel name\t: second\n",
        "scaling_governor": "powersave\n",
    }

    def read(path: Path, encoding: str) -> str:
        if path.name not in files:
            raise OSError(path)
        return files[path.name]

    monkeypatch.setattr(Path, "read_text", read)
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert bench.processor() == "Chip 9 @ 2: GHz, frequency governor powersave"
    del files["scaling_governor"]
    files["cpuinfo"] = "processor\t: 0\n"
    assert bench.processor() == "riscv64, frequency governor unknown"
    del files["cpuinfo"]
    assert bench.processor() == "riscv64"
    monkeypatch.setattr(platform, "processor", lambda: "chip")
    assert bench.processor() == "chip"


def test_the_load_is_that_of_the_last_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (1.0, 2.0, 3.0))
    assert bench._load() == 1.0

    def missing() -> None:
        raise OSError

    monkeypatch.setattr(os, "getloadavg", missing)
    assert bench._load() is None


def test_the_version_of_a_program_is_its_first_line() -> None:
    assert bench._first_line(["sh", "-c", "echo ' cc 1 '; echo more"]) == "cc 1"
    assert bench._first_line(["sh", "-c", "true"]) == "sh"
    assert bench._first_line(["no-such-compiler", "--version"]) == "no-such-compiler"


def sheet() -> Bench:
    """Return times of one function, in loops, with a peer taking twice the bound call's time."""
    medians = {
        "c": 10.0,
        "latency": 20.0,
        "blocks": 5.0,
        "bound": 40.0,
        "python": 160.0,
        "lib": 80.0,
    }
    timings = {name: Timing(name, time, (time, time)) for name, time in medians.items()}
    measured = (
        Measured(
            "mass_matrix", "crba", "looped", 70, timings, {"lib": "algorithm"}, {"lib": "bound"}
        ),
        Measured("bias_force", "rnea", "unrolled", 30, timings),
    )
    return Bench("arm", {"processor": "chip"}, measured, {"other": "not installed"}, {"x": "why"})


def test_facts_of_a_bench_are_plain_numbers() -> None:
    facts = sheet().facts()
    assert (facts["robot"], facts["states"], facts["rounds"]) == ("arm", STATES, ROUNDS)
    function = facts["functions"]["mass_matrix"]
    assert (function["method"], function["form"], function["operations"]) == ("crba", "looped", 70)
    assert function["nanoseconds"]["latency"] == 20.0
    assert function["peers"] == {
        "lib": {"algorithm": "algorithm", "alike": "bound", "over_python": 0.5, "over_bound": 2.0}
    }
    assert facts["functions"]["bias_force"]["peers"] == {}


def test_the_table_of_a_bench_compares_peers_with_the_call_that_is_alike() -> None:
    lines = str(sheet()).splitlines()
    (looped,) = (line for line in lines if line.startswith("mass_matrix"))
    assert looped.split()[:9] == [
        "mass_matrix", "crba", "(loops)", "70", "10", "20", "5", "40", "160",
    ]  # fmt: skip
    assert looped.endswith("algorithm 80 (2.00)")
    (unrolled,) = (line for line in lines if line.startswith("bias_force"))
    assert unrolled.split() == ["bias_force", "rnea", "30", "10", "20", "5", "40", "160"]
    assert f"blocks: {16 * 256} states in one call" in str(sheet())
    assert lines[-1] == "processor: chip"
    assert "left out: other: not installed" in lines
    assert "refused: x: why" in lines


class PeerOfKnownError:
    """A library whose answer is too large by a part."""

    functions = {"mass_matrix": ("label", None)}  # noqa: RUF012

    def __init__(self, name: str, error: float) -> None:
        self.name, self.error = name, error

    def calls(self, function: str, states: Any) -> Any:
        return [lambda state=state: state["q"] * (1 + self.error) for state in states]

    def ours(self, function: str, state: Any, answer: Any) -> Any:
        return answer


def test_only_peers_with_the_same_answer_are_timed() -> None:
    absent: dict[str, str] = {}
    states = [{"q": np.array([1.0, -4.0])}, {"q": np.array([2.0, 0.0])}]
    libraries: Any = [PeerOfKnownError("right", 0.9e-8), PeerOfKnownError("wrong", 1e-3)]
    for function, agreeing in (("mass_matrix", ["right"]), ("bias_force", [])):
        timed = bench._agreeing(libraries, function, states, states[0]["q"], absent)
        assert [peer.name for peer, _ in timed] == agreeing
        assert all(len(calls) == 2 for _, calls in timed)
    assert absent == {
        "wrong, mass_matrix": "its answer differs from ours by 1.0e-03 of the largest entry"
    }


def test_distances_are_relative_to_the_largest_entry_or_absolute_to_zero() -> None:
    assert bench._distance(np.array([1.0, -3.0]), np.array([1.0, -4.0])) == 0.25
    assert bench._distance(np.array([0.5, 0.0]), np.zeros(2)) == 0.5


class Doubling:
    """A solver of f(x) = 2 x with one or two results; it records how it is called."""

    def __init__(self, outputs: int, looped: bool = False) -> None:
        ports = tuple(Port(name, (2,)) for name in "yz"[:outputs])
        program = SimpleNamespace(
            inputs=(Port("x", (2,)),), outputs=ports, method="m", cost=7, looped=looped
        )
        self.programs = {"f": program}
        self.calls: list[Any] = []

    def bind(self, function: str, x: Any, *results: Any) -> Callable[[], None]:
        def call() -> None:
            self.calls.append(("bound", x.shape))
            for result in results:
                result[...] = 2 * x

        return call

    def chain(self, function: str, states: int, x: Any, *results: Any) -> Callable[[], None]:
        assert [result.shape for result in results] == [(2,)] * len(results)
        return lambda: self.calls.append(("chain", states, x.shape))

    def prepare(self, function: str) -> None:
        self.calls.append(("prepare", function))

    def f(self, x: Any, out: Any = None) -> Any:
        shapes = (
            [array.shape for array in out]
            if isinstance(out, tuple)
            else getattr(out, "shape", None)
        )
        self.calls.append(("python", x.shape, shapes))


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_function_is_called_in_five_ways(outputs: int) -> None:
    """Call in C, in a chain, bound state by state, from Python, and on sixteen times all states."""
    solver: Any = Doubling(outputs)
    drawn = {"x": np.ones((STATES, 2))}
    states = [{"x": row} for row in drawn["x"]]
    results = [np.zeros((STATES, 2)) for _ in range(outputs)]
    contestants = bench._contestants(solver, "f", drawn, states, results)
    assert all((result == 2).all() for result in results)
    assert solver.calls == [("bound", (STATES, 2)), ("prepare", "f")]
    many = (TIMES * STATES, 2)
    expected = {
        "c": [("bound", (STATES, 2))],
        "latency": [("chain", STATES, (STATES, 2))],
        "bound": [("bound", (2,))] * STATES,
        "python": [("python", (2,), None)] * STATES,
        "blocks": [("python", many, [many, many] if outputs == 2 else many)],
    }
    assert [*contestants] == [*expected]
    for name, calls in expected.items():
        solver.calls.clear()
        contestants[name]()
        assert solver.calls == calls, name


@pytest.mark.parametrize("looped", [False, True])
def test_a_function_is_timed_with_the_peers_that_agree(
    looped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Twice:
        name, alike = "twice", "bound"
        functions = {"f": ("algorithm", None)}  # noqa: RUF012

        def calls(self, function: str, states: Any) -> Any:
            return [lambda state=state: 2 * state["x"] for state in states]

        def ours(self, function: str, state: Any, answer: Any) -> Any:
            return answer

    timed: list[Any] = []

    def race(contestants: Any) -> Any:
        timed.extend(contestants)
        contestants["twice"]()
        return {"c": Timing("c", 1.0, ())}

    monkeypatch.setattr(bench, "race", race)
    solver: Any = Doubling(1, looped)
    library: Any = Twice()
    drawn = {"x": np.arange(2.0 * STATES).reshape(STATES, 2)}
    result = bench._measure(solver, "f", drawn, [library], {})
    assert timed == ["c", "latency", "bound", "python", "blocks", "twice"]
    assert (result.function, result.method, result.operations) == ("f", "m", 7)
    assert result.form == ("looped" if looped else "unrolled")
    assert (result.labels, result.alike) == ({"twice": "algorithm"}, {"twice": "bound"})


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("functions", [None, ["g", "f"]])
def test_a_benchmark_times_what_is_requested_and_says_why_the_rest_is_left_out(
    functions: list[str] | None, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among the default functions h is massless, k on request, and g turns out to be too long."""
    program = SimpleNamespace(inputs=(Port("x", (2,)),))
    making = SimpleNamespace(
        requested=lambda mechanism, names: {"g": None, "f": None},
        refusal=lambda mechanism, name, method: "massless" if name == "h" else None,
        programs_and_refusals=lambda request, tell: (
            {"f": program, "extra": program},
            {"g": "long"},
        ),
    )
    built: list[Any] = []

    def from_programs(name: str, programs: Any, sizes: Any, optimize: int, native: bool) -> Any:
        built.append((name, [*programs], optimize, native))
        return "solver"

    measured: list[Any] = []

    def measure(solver: Any, name: str, drawn: Any, peers: Any, absent: Any) -> Any:
        measured.append((solver, name, drawn["x"].dtype, peers))
        return name

    monkeypatch.setattr(bench, "making", making)
    monkeypatch.setattr(bench, "BY_DEFAULT", ("f", "g", "h", "k"))
    monkeypatch.setattr(bench, "make_request", lambda *arguments: None)
    monkeypatch.setattr(bench, "Solver", SimpleNamespace(from_programs=from_programs))
    monkeypatch.setattr(bench, "available_peers", lambda mechanism: ([], {"lib": "not installed"}))
    monkeypatch.setattr(bench, "draw_states", lambda *_, **__: {"x": np.array([[1, 2]])})
    monkeypatch.setattr(bench, "_measure", measure)
    monkeypatch.setattr(bench, "machine_facts", lambda build, peers: {"flags": build.flags})
    robot: Any = SimpleNamespace(name="arm", sizes=None)
    progress: list[tuple[str, int, int]] = []
    result = bench.bench(
        robot, functions, native=native, progress=lambda *step: progress.append(step)
    )
    assert built == [("arm", ["f"], 2, native)]
    assert measured == [("solver", "f", np.float64, [])]
    left_out = {} if functions else {"h": "massless", "k": "on request only, with -f"}
    assert result.refused == left_out | {"g": "long"}
    assert (result.robot, result.absent) == ("arm", {"lib": "not installed"})
    measured_functions: Any = result.measured
    assert measured_functions == ("f",)
    assert ("-march=native" in result.machine["flags"]) == native
    assert "-O2" in result.machine["flags"]
    assert progress == [("compiling", 0, 1), ("timing f", 0, 1)]
    assert bench.bench(robot, functions, native=native).refused == result.refused


# -- peers --


def test_peers_that_cannot_be_built_are_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def raising(error: Exception) -> Any:
        def build(mechanism: Any) -> Any:
            raise error

        return build

    def ready(mechanism: Any) -> str:
        return "peer"

    makers = {
        "ready": ready,
        "own": raising(ImportError(name="own")),
        "another": raising(ImportError(name="library")),
        "unnamed": raising(ImportError()),
        "refusing": raising(RequestError("no springs")),
        "broken": raising(ZeroDivisionError("by zero")),
    }
    monkeypatch.setattr(peers, "PEERS", makers)
    robot: Any = SimpleNamespace(coupled=False)
    present: Any
    present, absent = peers.available_peers(robot)
    assert present == ["peer"]
    assert absent == {
        "own": "not installed",
        "another": "not installed (library)",
        "unnamed": "not installed",
        "refusing": "no springs",
        "broken": "ZeroDivisionError: by zero",
    }
    robot.coupled = True
    present, absent = peers.available_peers(robot)
    assert (present, [*absent]) == ([], [*makers])


def places() -> _peer.Places:
    """Return a robot with joints of one, two and one coordinates, the second one an angle in the
    peer.

    The peer has them in the order third, first, second, and cosine and sine of the angle.
    """
    robot: Any = SimpleNamespace(q_slices=[slice(0, 1), slice(1, 3), slice(3, 4)], nv=4)
    mechanism: Mechanism = robot
    return _peer.Places(mechanism, 5, [1, 2, 0], [1, 3, 1], [1, 2, 3, 0])


def test_numbers_of_a_peer_are_in_its_order_with_cosine_and_sine_of_an_angle() -> None:
    q = np.array([10.0, 20.0, 0.3, 40.0])
    peer_q = places().position(q)
    assert peer_q == pytest.approx([40, 10, 20, np.cos(0.3), np.sin(0.3)])
    assert places().velocity(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [4, 1, 2, 3]
    state = places().state({"q": q, "v": np.array([1.0, 2.0, 3.0, 4.0]), "dt": 0.5})
    assert state["q"] == pytest.approx(peer_q)
    assert (state["v"].tolist(), state["dt"]) == ([4, 1, 2, 3], 0.5)


def test_answers_of_a_peer_return_to_our_order() -> None:
    """A symmetric matrix may have its upper triangle only, derivatives have both."""
    order = [1, 2, 3, 0]
    ours = np.arange(16.0).reshape(4, 4)
    theirs = np.zeros((4, 4))
    theirs[np.ix_(order, order)] = ours
    assert np.array_equal(places().ours("derivatives", {}, (theirs, None)), ours)
    symmetric = theirs + theirs.T
    upper = np.triu(symmetric)
    assert np.array_equal(places().ours("mass_matrix", {}, upper), ours + ours.T)
    assert places().ours("bias_force", {}, [4.0, 1.0, 2.0, 3.0]).tolist() == [1, 2, 3, 4]


def test_drives_that_a_peer_lacks_are_refused_by_their_joint_or_link() -> None:
    def robot(compensated: Any = (), **drive: float) -> Any:
        joint = SimpleNamespace(name="hip", drive=SimpleNamespace(**drive))
        return SimpleNamespace(joints=[joint], compensated_parts=compensated)

    _peer.refuse_drives(robot(damping=0, friction=1), "Peer", ["damping"])
    with pytest.raises(RequestError, match="Peer has no such damping as joint 'hip' has"):
        _peer.refuse_drives(robot(damping=0.5), "Peer", ["friction", "damping"])
    part = SimpleNamespace(link="arm")
    _peer.refuse_drives(robot([part]), "Peer", ["damping"])
    with pytest.raises(RequestError, match="Peer has no such gravcomp as link 'arm' has"):
        _peer.refuse_drives(robot([part]), "Peer", ["gravcomp"])


def test_the_axis_of_a_joint_has_length_one() -> None:
    joint: Any = SimpleNamespace(axis=(3, 0, -4))
    assert _peer.unit(joint).tolist() == [0.6, 0, -0.8]
