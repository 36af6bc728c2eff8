"""Times of a call on this machine, in C and from Python, beside the installed peers.

Contestants run in interleaved rounds of one process, so that a change of the clock rate affects all
of them. The report prints medians over the rounds; ratios are taken round by round. Closures and
loops around a call from Python (a few tens of nanoseconds) count for every contestant alike. The C
is timed inside C, by two loops over the same states. One measures throughput: calls may overlap in
the processor. The other measures latency: the first argument of each call waits for the previous
result, as in a simulation.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from symgen.benchmarks.peers import Call, Peer, available_peers
from symgen.description.arguments import validated_with
from symgen.machine.building import Build, scheduling
from symgen.machine.compilers import find_compiler
from symgen.machine.solver import Solver
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build as making
from symgen.pipeline.request import make_request
from symgen.reference.states import draw_states
from symgen.support.tables import table
from symgen.support.version import __version__
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import BY_DEFAULT
from symgen.vocabulary.options import LOOPED, UNROLLED, Baumgarte, Contacts, FormChoice

STATES = 256
TIMES = 16
"""Repetitions of all states in one call on many states, whose own overhead is some microseconds."""
ROUNDS = 15
SLICE = 0.004
"""Seconds that one contestant runs in a round."""
AGREEMENT = 1e-8
"""Largest relative difference between the answers of a peer and of symgen; a peer beyond it is not
timed.
"""

LOOPS = " (loops)"
"""Suffix of the name of a method whose function has loops over links."""
Progress = Callable[[str, int, int], None]


BUSY_SHARE, BUSY_LOAD = 0.95, 1.5
"""Bounds of an undisturbed race: share of the processor's time, and load."""


@dataclass(frozen=True)
class Timing:
    """Times of one way to call one function, in nanoseconds a call: the median and every round.

    `share` is the part of the race's time in which this process ran. `load` is the mean number of
    processes ready to run, over a minute.
    """

    contestant: str
    median: float
    rounds: tuple[float, ...]
    share: float = 1.0
    load: float = 0.0

    def ratio(self, reference: Timing) -> float:
        """Return the median ratio of these times to the times of another, round by round."""
        return statistics.median(a / b for a, b in zip(self.rounds, reference.rounds, strict=True))


@dataclass(frozen=True)
class Measured:
    """One function: the figures of its Program, and the timings `c`, `latency`, `blocks`, `bound`,
    `python` and one for each peer.
    """

    function: str
    method: str
    form: str
    """UNROLLED or LOOPED."""
    operations: int
    timings: dict[str, Timing]
    labels: dict[str, str] = field(default_factory=dict)
    """Peer -> the name of its algorithm."""
    alike: dict[str, str] = field(default_factory=dict)
    """Peer -> the name of symgen's timing that it is compared with."""


@dataclass(frozen=True, repr=False)
class Bench:
    """Timings of one robot, and the machine on which they were taken."""

    robot: str
    machine: dict[str, str]
    measured: tuple[Measured, ...]
    absent: dict[str, str]
    refused: dict[str, str]

    def __repr__(self) -> str:
        return f"<symgen Bench {self.robot}: times of {len(self.measured)} functions>"

    def facts(self) -> dict[str, Any]:
        """Return plain types, with times in nanoseconds."""
        return {
            "robot": self.robot,
            "machine": self.machine,
            "states": STATES,
            "rounds": ROUNDS,
            "absent": self.absent,
            "refused": self.refused,
            "functions": {
                m.function: {
                    "method": m.method,
                    "form": m.form,
                    "operations": m.operations,
                    "nanoseconds": {
                        contestant: round(t.median, 1) for contestant, t in m.timings.items()
                    },
                    "peers": {
                        contestant: {
                            "algorithm": label,
                            "alike": m.alike[contestant],
                            "over_python": round(
                                m.timings[contestant].ratio(m.timings["python"]), 3
                            ),
                            "over_bound": round(m.timings[contestant].ratio(m.timings["bound"]), 3),
                        }
                        for contestant, label in m.labels.items()
                    },
                }
                for m in self.measured
            },
        }

    def __str__(self) -> str:
        lines = [
            (
                f"{self.robot}: nanoseconds a call, medians of {ROUNDS} interleaved rounds over"
                f" {STATES} random states"
            ),
            "",
        ]
        beside = "peers from Python (time over ours, called alike)"
        ours = ("C", "dependent", "blocks", "bound", "Python")
        rows: list[tuple[object, ...]] = [("function", "method", "mul+add+div", *ours, beside)]
        for m in self.measured:
            peers = (
                (label, m.timings[contestant], m.timings[m.alike[contestant]])
                for contestant, label in m.labels.items()
            )
            beside = "; ".join(
                f"{label} {timing.median:.0f} ({timing.ratio(alike):.2f})"
                for label, timing, alike in peers
            )
            times = (
                f"{m.timings[contestant].median:.0f}"
                for contestant in ("c", "latency", "blocks", "bound", "python")
            )
            rows.append(
                (m.function, m.method + LOOPS * (m.form == LOOPED), m.operations, *times, beside)
            )
        lines += table(rows, texts=(0, 1, 8))
        lines += [
            "",
            (
                "C: a loop over the states inside C (throughput); dependent: each call waits for"
                " the one before (latency)"
            ),
            f"blocks: {TIMES * STATES} states in one call of solver.function(…), a state",
            (
                "bound: call() of solver.bind(…), and so is casadi called; Python:"
                " solver.function(…), and so are the others"
            ),
        ]
        lines += [f"refused: {name}: {why}" for name, why in self.refused.items()]
        lines += [f"left out: {name}: {why}" for name, why in self.absent.items()]
        lines += ["", *(f"{name + ':':<11}{value}" for name, value in self.machine.items())]
        return "\n".join(lines)


class ContestOptions(FormChoice, total=False):
    """Options of the functions that `bench` times."""

    contact: Contacts
    baumgarte: Baumgarte


@validated_with(ContestOptions)
def bench(
    mechanism: Mechanism,
    functions: Iterable[str] | None = None,
    *,
    native: bool = False,
    progress: Progress | None = None,
    **options: Unpack[ContestOptions],
) -> Bench:
    """Time functions of a mechanism, such as "forward_dynamics" or "forward_dynamics=riccati"; None
    means every function.

    `contact` and `baumgarte` are those of `symgen.program`, `form` that of `symgen.generate`.
    Raises RequestError for unknown names and BuildError without a C compiler.
    """
    tell = progress or (lambda what, done, total: None)
    functions = None if functions is None else tuple(functions)
    requested_names = making.requested(mechanism, functions)
    left_out = [name for name in BY_DEFAULT if functions is None and name not in requested_names]
    refused = {
        name: making.refusal(mechanism, name, None) or "on request only, with -f"
        for name in left_out
    }
    request = make_request(mechanism, functions, options)
    generated, refused_programs = making.programs_and_refusals(request, tell)
    programs = {
        name: generated[name] for name in requested_names if name in generated
    }  # in the order of the request
    refused |= refused_programs
    tell("compiling", 0, 1)
    build = Build(optimize=2, native=native)
    solver = Solver.from_programs(
        mechanism.name, programs, mechanism.sizes, optimize=2, native=native
    )
    peers, absent = available_peers(mechanism)
    shape_by_input = {
        port.name: port.shape for program in programs.values() for port in program.inputs
    }
    drawn = {
        name: np.ascontiguousarray(values.astype(float))
        for name, values in draw_states(
            mechanism, STATES, seed=11, derivative_shapes=shape_by_input
        ).items()
    }
    measured = []
    for done, name in enumerate(programs):
        tell(f"timing {name}", done, len(programs))
        measured.append(_measure(solver, name, drawn, peers, absent))
    return Bench(mechanism.name, machine_facts(build, peers), tuple(measured), absent, refused)


def _measure(
    solver: Solver,
    function: str,
    drawn: Mapping[str, Any],
    peers: Iterable[Peer],
    absent: dict[str, str],
) -> Measured:
    """Time symgen's calls of a function and the peers that agree with it, in turns."""
    program = solver.programs[function]
    results = [np.empty((STATES, *port.shape)) for port in program.outputs]
    states = [
        {name: values[k, ...].copy() for name, values in drawn.items()} for k in range(STATES)
    ]
    contestants = _contestants(solver, function, drawn, states, results)
    agreeing = _agreeing(peers, function, states, results[0][0], absent)
    contestants |= {peer.name: _looped(calls) for peer, calls in agreeing}
    labels = {peer.name: peer.functions[function][0] for peer, _ in agreeing}
    alike = {peer.name: peer.alike for peer, _ in agreeing}
    form = LOOPED if program.looped else UNROLLED
    return Measured(function, program.method, form, program.cost, race(contestants), labels, alike)


def _contestants(
    solver: Solver,
    function: str,
    drawn: Mapping[str, Any],
    states: list[dict[str, Any]],
    results: list[Any],
) -> dict[str, Callable[[], None]]:
    """Return symgen's calls of a function by name: "c", "latency", "bound", "python", "blocks".
    Fill `results` once.
    """
    program = solver.programs[function]
    arguments = [drawn[port.name] for port in program.inputs]
    batch = solver.bind(function, *arguments, *results)
    batch()
    python = getattr(solver, derivatives.identifier_part(function))
    by_state = [tuple(state[port.name] for port in program.inputs) for state in states]
    bound = [
        solver.bind(function, *state, *(np.empty(port.shape) for port in program.outputs))
        for state in by_state
    ]
    latency = solver.chain(
        function, STATES, *arguments, *(np.empty(port.shape) for port in program.outputs)
    )
    solver.prepare(function)
    tiled = [np.concatenate([x] * TIMES) for x in arguments]
    into = [np.empty((TIMES * STATES, *port.shape)) for port in program.outputs]
    out = tuple(into) if len(into) > 1 else into[0]
    return {
        "c": batch,
        "latency": latency,
        "bound": lambda: _call_all(bound),
        "python": lambda: _spread(python, by_state),
        "blocks": lambda: python(*tiled, out=out),
    }


def _agreeing(
    peers: Iterable[Peer],
    function: str,
    states: list[dict[str, Any]],
    answer: Any,
    absent: dict[str, str],
) -> list[tuple[Peer, list[Call]]]:
    """Return the peers that agree with `answer` at the first state, with their calls; the others
    enter `absent` with a reason.
    """
    agreeing = []
    for peer in peers:
        if function not in peer.functions:
            continue
        calls = peer.calls(function, states)
        far = _distance(peer.ours(function, states[0], calls[0]()), answer)
        if far <= AGREEMENT:
            agreeing.append((peer, calls))
        else:
            absent[f"{peer.name}, {function}"] = (
                f"its answer differs from ours by {far:.1e} of the largest entry"
            )
    return agreeing


def _call_all(calls: list[Call]) -> None:
    for call in calls:
        call()


def _looped(calls: list[Call]) -> Callable[[], None]:
    return lambda: _call_all(calls)


def _spread(function: Callable[..., Any], states: list[tuple[Any, ...]]) -> None:
    for arguments in states:
        function(*arguments)


def _distance(theirs: Any, ours: Any) -> float:
    """Return the largest difference relative to the largest entry of `ours`."""
    return float(np.abs(theirs - ours).max() / (np.abs(ours).max() or 1.0))


def race(
    contestants: Mapping[str, Callable[[], None]], rounds: int | None = None
) -> dict[str, Timing]:
    """Return the times of contestants, in ROUNDS interleaved rounds by default.

    A run of a contestant calls each of STATES once; a run of "blocks" computes TIMES as many
    states.
    """
    repeats: dict[str, int] = {}
    for contestant, run in contestants.items():
        run()
        start = time.perf_counter()
        run()
        repeats[contestant] = max(1, round(SLICE / max(time.perf_counter() - start, 1e-7)))
    times_of: dict[str, list[float]] = {contestant: [] for contestant in contestants}
    began, ran = time.perf_counter(), time.process_time()
    for _ in range(rounds or ROUNDS):
        for contestant, run in contestants.items():
            start = time.perf_counter()
            for _ in range(repeats[contestant]):
                run()
            times_of[contestant].append(
                (time.perf_counter() - start)
                * 1e9
                / (repeats[contestant] * STATES * (TIMES if contestant == "blocks" else 1))
            )
    share = (time.process_time() - ran) / (time.perf_counter() - began)
    load = _load() or 0.0
    return {
        contestant: Timing(contestant, statistics.median(times), tuple(times), share, load)
        for contestant, times in times_of.items()
    }


def busy(timings: Iterable[Timing]) -> str:
    """Return in words what disturbed these races; empty if nothing did."""
    races = list(timings)
    share, load = (
        min((t.share for t in races), default=1.0),
        max((t.load for t in races), default=0.0),
    )
    if share >= BUSY_SHARE and load <= BUSY_LOAD:
        return ""
    beside = f"load {load:.1f} on {os.cpu_count()} processors"
    return f"measured on a busy machine ({beside}, running {min(share, 1.0):.0%} of the time)"


def machine_facts(build: Build, peers: Iterable[Peer]) -> dict[str, str]:
    """Return the machine and the versions on which the figures depend."""
    load = _load()
    facts = {
        "processor": processor(),
        "system": (
            f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, "
            f"load {'unknown' if load is None else f'{load:.1f}'}"
        ),
        "compiler": (
            f"{_first_line([*find_compiler(), '--version'])}"
            f" {' '.join((*build.flags, *scheduling(build)))}"
        ),
        "python": (
            f"{platform.python_implementation()} {platform.python_version()}, NumPy"
            f" {np.__version__}"
        ),
        "symgen": __version__,
    }
    return facts | {peer.name: peer.version for peer in peers}


def processor() -> str:
    """Return the processor's name and its frequency governor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    model = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )
    try:
        governor = (
            Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
            .read_text(encoding="utf-8")
            .strip()
        )
    except OSError:
        governor = "unknown"
    return f"{model}, frequency governor {governor}"


def _load() -> float | None:
    """Return the load over the last minute, or None on a system without one."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _first_line(command: list[str]) -> str:
    """Return the first line that a command prints, or its name if it cannot be run."""
    try:
        completed = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError:
        return command[0]
    return (completed.stdout.splitlines() or [command[0]])[0].strip()
