"""All figures of the page, measured: plain types, from which the page can be written anew."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import symgen
from symgen.benchmarks.bench import Timing, machine_facts
from symgen.machine.building import Build
from symgen.mechanism.mechanism import Mechanism
from tests.peers import crowds
from tests.peers.building import versions
from tests.peers.contestants import FUNCTIONS, GENERATORS, PLAIN, blocks, emitted, generated
from tests.peers.counting import gains, operations
from tests.peers.measuring import Absent, Raced, everyone, instructions, raced
from tests.shared.descriptions import public_urdf
from tests.shared.robots_for_tests import random_mechanism

ROBOTS = ("panda", "ur5")
GROWING = (2, 4, 8, 16, 32)
GROWTH_ROUNDS = 15
GAINING = ("panda", "ur5", "puma560", "quadruped")
FROM_FILES = ("solo12.urdf", "talos_reduced.urdf")
"""Files of example-robot-data, on a fixed base."""
GAINED = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
ONE_WAY = {"-O3 native": ("-O3", "-march=native")}

Tell = Callable[[str], None]


def measured(tell: Tell) -> dict[str, Any]:
    absent: Absent = {}
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine_facts(Build(), ()) | versions(),
        "robots": {name: _robot(symgen.load(name), absent, tell) for name in ROBOTS},
        "growth": {str(n): _grown(random_mechanism(n, 1), absent, tell) for n in GROWING},
        "gains": {name: _gains(robot, tell) for name, robot in _gaining()},
        "absent": absent,
    }


def counted(figures: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Return figures with symgen's present operation counts; `timed` keeps the counts of the timed
    C.
    """
    for name in ROBOTS:
        for function in (
            f for f in FUNCTIONS if f in figures["robots"][name]
        ):  # some were first timed after others
            function_figures = figures["robots"][name][function]
            function_figures.setdefault("timed", function_figures["operations"]["symgen"])
            function_figures["operations"]["symgen"] = symgen.program(name, function).cost
    return figures | {
        "counted": time.strftime("%Y-%m-%d"),
        "gains": {name: _gains(robot, tell) for name, robot in _gaining()},
    }


def _gaining() -> list[tuple[str, Mechanism]]:
    """Built-in robots, and others of example-robot-data where that is installed."""
    robots = [(name, symgen.load(name)) for name in GAINING]
    return robots + [
        (path.stem, symgen.load(path)) for path in map(public_urdf, FROM_FILES) if path is not None
    ]


def _robot(robot: Mechanism, absent: Absent, tell: Tell) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for function in FUNCTIONS:
        tell(f"{robot.name}: {function}")
        contestants = list(everyone(robot, function, absent))
        races = raced(robot, function, contestants, absent)
        figures[function] = {
            "operations": {"symgen": symgen.program(robot, function).cost}
            | {
                peer: operations(emitted(robot, function, peer).path, function)
                for peer in GENERATORS
                if any(contestant.peer == peer for contestant in contestants)
            },
            "times": {contestant.contestant.who: _times(contestant) for contestant in races},
            "ratios": _ratios(races),
            "instructions": instructions(robot, function, absent),
        }
    return figures | {
        "made": _generation_figures(robot, absent),
        "blocks": _blocks(robot, absent, tell),
        "crowds": _crowds(robot, absent, tell),
    }


def _blocks(robot: Mechanism, absent: Absent, tell: Tell) -> dict[str, dict[str, float]]:
    """Nanoseconds a state on one core: blocks of them, and everybody else's loop over the function
    of one.
    """
    medians = {}
    for function in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        tell(f"{robot.name}: {function} of many states")
        races = raced(
            robot, function, [*blocks(robot, function), *everyone(robot, function, absent)], absent
        )
        medians[function] = {race.contestant.who: round(race.many.median, 1) for race in races}
    return medians


def _crowds(robot: Mechanism, absent: Absent, tell: Tell) -> dict[str, dict[str, float]]:
    """Nanoseconds a state of many at once, by everybody's own way to share them out."""
    medians = {}
    for function in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        tell(f"{robot.name}: {function} of a crowd")
        medians[function] = crowds.timed(robot, function, absent)
    return medians


def _times(race: Raced) -> dict[str, Any]:
    return {
        "peer": race.contestant.peer,
        "ns": round(race.many.median, 1),
        "latency": round(race.chain.median, 1),
        "compiled": race.contestant.seconds,
        "share": round(race.many.share, 3),
        "load": round(race.many.load, 2),
    }


def _ratios(races: list[Raced]) -> dict[str, dict[str, Any]]:
    """Return, for each of symgen's forms, median and quartiles of the ratio to the fastest
    generator, round by round.
    """
    peers = [race for race in races if race.contestant.peer in GENERATORS]
    ratios = {}
    for kind in ("many", "chain"):
        if not peers:
            continue
        best: Raced = min(peers, key=lambda race: getattr(race, kind).median)
        for race in races:
            if race.contestant.peer == "symgen":
                mine, theirs = getattr(race, kind), getattr(best, kind)
                ratios[f"{race.contestant.way}, {kind}"] = {
                    "to": best.contestant.who,
                    **_spread(mine, theirs),
                }
    return ratios


def _spread(mine: Timing, theirs: Timing) -> dict[str, float]:
    ratios = sorted(a / b for a, b in zip(mine.rounds, theirs.rounds, strict=True))
    low, middle, high = (
        ratios[round(fraction * (len(ratios) - 1))] for fraction in (0.25, 0.5, 0.75)
    )
    return {"median": round(middle, 3), "low": round(low, 3), "high": round(high, 3)}


def _generation_figures(robot: Mechanism, absent: Absent) -> dict[str, Any]:
    """Seconds from the description to C, and its bytes, of all PLAIN functions."""
    folder = generated(robot)
    figures: dict[str, Any] = {"symgen": {"seconds": round(folder.seconds, 2), "text": folder.text}}
    for peer in GENERATORS:
        if peer not in absent:
            files = [emitted(robot, function, peer) for function in PLAIN]
            figures[peer] = {
                "seconds": round(sum(f.seconds for f in files), 2),
                "text": sum(f.text for f in files),
            }
    return figures


def _grown(robot: Mechanism, absent: Absent, tell: Tell) -> dict[str, Any]:
    times = {}
    for function in ("inverse_dynamics", "forward_dynamics"):
        tell(f"{robot.nv} joints: {function}")
        races = raced(
            robot,
            function,
            everyone(robot, function, absent, variants=ONE_WAY),
            absent,
            GROWTH_ROUNDS,
        )
        times[function] = {race.contestant.who: _times(race) for race in races}
    return times


def _gains(robot: Mechanism, tell: Tell) -> dict[str, dict[str, int]]:
    tell(f"{robot.name}: what each idea saves")
    return gains(robot, GAINED)


def to_terminal(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
