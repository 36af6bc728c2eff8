"""Every function in every mode of differentiation with every option: derived, answered by the reference, compiled and run.

    python -m tests.pairs [OPTION[+OPTION] ...]

An option is one of OPTIONS; without any, each of them alone and all pairs of them are taken. For each choice a folder is
written, compiled and verified, and its self-test is run. It holds all functions, and all derivatives but those whose C and whose
answers are, to the letter, those that an earlier choice of the same call has judged right. The robot is the smallest that has
what is chosen. `tests/system/test_pairs.py` takes the same requests as far as the cases of the self-test, and compiles nothing.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from unittest.mock import patch

import symgen
from symgen.delivery import selftest
from symgen.delivery.cases import SelfTestCase
from symgen.delivery.verifying import verify
from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.support.errors import ProgramError, SymgenError
from symgen.verification import exact
from symgen.verification.identities import companions
from symgen.vocabulary import derivatives
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.functions import AT_RUN_TIME, FUNCTIONS, LOOP_FUNCTIONS, PREPARED, PREPARING
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.target import Target
from tests.shared import folders

OPTIONS: dict[str, dict[str, Any]] = {
    "parameters": {"parameters": ("*", "gravity")},
    "drives": {},
    "payload": {"payload": "rod"},
    "wrench": {"wrench": "tool"},
    "wrenches": {"wrench": ("tool", "rod")},
    "contacts": {"contact": "tool"},
    "frames": {"frame": ("tool", "rod")},
    "loops": {},
    "gains": {"baumgarte": True},
    "free": {},
}
"""Additions of each option to the request; "drives", "loops", "gains" and "free" change the robot as well."""
NO_HVP = (
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "coriolis_matrix",
    "mass_matrix_coriolis_and_bias",
)
"""Functions that hold derivatives: their `hvp` is of the third order, and refused."""
EXCLUSIVE = ({"wrench", "wrenches"}, {"loops", "gains"})
"""Options of which one includes the other."""
_ROD = """name = "pair"
gravity = [1, 0.5, -9.81]
{start}
[[body]]
name = "rod"
parent = "base"
mass = 1.5
centre = [0.25, 0.125, 0.1]
inertia = [0.5, 0.05, 0.1, 0.75, 0.02, 1]
joint = {{ name = "hinge", {joint}{drive} }}
[[frame]]
name = "tool"
body = "rod"
xyz = [0.5, 0, 0.25]
"""
_SLOT = """
[[body]]
name = "slider"
parent = "base"
mass = 0.5
centre = [0.1, 0, 0]
joint = { name = "slide", type = "prismatic", axis = [1, 0, 0] }
[[loop]]
name = "slot"
type = "frictionless_point"
first = { link = "slider", rpy = [0, "pi/2", 0] }
second = { link = "rod", xyz = [0.2, 0, 0] }
"""
_DRIVE = ", armature = 0.25, damping = 0.5, friction = 0.75"


@cache
def robot(chosen: frozenset[str]) -> Mechanism:
    """A rod on a hinge or on a free joint, and where loops are chosen a slider whose plane the rod touches."""
    looped = chosen & {"loops", "gains"}
    joint = 'type = "free"' if "free" in chosen else 'type = "revolute", axis = [0, 1, 0]'
    drive = (
        _DRIVE + ("" if "free" in chosen else ", stiffness = 2, rest = 0.1")
        if "drives" in chosen
        else ""
    )
    start = (
        "start = { slide = 0.1 }"
        if looped and "free" in chosen
        else 'start = { hinge = "pi/3", slide = 0.1 }'
        if looped
        else ""
    )
    return symgen.load(
        _ROD.format(start=start, joint=joint, drive=drive) + (_SLOT if looped else "")
    )


def options(chosen: Collection[str]) -> ProgramOptions:
    """The request's options; the rows of a task are those that the robot's joints move."""
    rows = None if "free" in chosen else "wy"
    return ProgramOptions(
        **{"frame": "tool", "task_rows": rows}
        | {k: v for word in chosen for k, v in OPTIONS[word].items()}
    )


def functions(chosen: Collection[str]) -> list[str]:
    """The functions that such a robot has."""
    every = (*FUNCTIONS, *(LOOP_FUNCTIONS if {"loops", "gains"} & {*chosen} else ()))
    return [name for name in every if "contacts" in chosen or not FUNCTIONS[name].counts("NT")]


def requests(
    chosen: Collection[str],
    names: Sequence[str],
    modes: Sequence[str] = (*derivatives.MODES,),
    each: bool = False,
) -> Iterator[str]:
    """Functions by name and their derivatives in these `modes`: by their own arguments, by those at run time that are chosen, and
    with `each` by every single one.
    """
    asked = {*options(chosen).at_run_time} - {PREPARED.name}
    for name in names:
        what = FUNCTIONS[name]
        yield name
        given = tuple(
            array.name for array in AT_RUN_TIME if array in what.depends_on and array.name in asked
        )
        by = [
            (),
            *([given] if given else []),
            *(((one,) for one in (*what.own_arguments, *given)) if each else ()),
        ]
        for mode in (mode for mode in modes if mode != "hvp" or name not in NO_HVP):
            yield from dict.fromkeys(
                found.name
                for wanted in by
                if (found := FUNCTIONS.get(Derivative(name, mode, wanted).name)) is not None
            )


class Made(NamedTuple):
    """Outcomes of requests: Programs, sentences of those that were refused, tracebacks of those that broke."""

    programs: dict[str, Form]
    refused: dict[str, str]
    broken: dict[str, str]


def make(chosen: frozenset[str], wanted: Iterator[str]) -> Made:
    """Each request by itself, and the Programs then brought together."""
    made = Made({}, {}, {})
    for name in wanted:
        try:
            made.programs[name] = build.build_program(robot(chosen), name, None, options(chosen))
        except Exception as error:
            _settle(made, name, error)
    return made._replace(
        programs=build.with_parameters(made.programs, robot(chosen), options(chosen))
    )


def cases(chosen: frozenset[str], made: Made) -> list[SelfTestCase]:
    """The cases of the self-test of all Programs. Who has none is found by halves, and goes into `made`."""

    def of(names: Sequence[str]) -> list[SelfTestCase]:
        try:
            wanted = {
                name: one
                for name, one in made.programs.items()
                if name in names or name in PREPARING
            }
            return selftest.cases(robot(chosen), wanted, options(chosen))
        except Exception as error:
            if len(names) > 1:
                return of(names[::2]) + of(names[1::2])
            _settle(made, names[0], error)
            return []

    return of([name for name in made.programs if name not in PREPARING])


def _settle(made: Made, name: str, error: Exception) -> None:
    """One sentence is a refusal; anything else is a fault."""
    sentence = str(error)
    if (
        isinstance(error, SymgenError)
        and not isinstance(error, ProgramError)
        and "\n" not in sentence
    ):
        made.refused[name] = sentence
    else:
        made.broken[name] = "".join(traceback.format_exception(error))


def choices() -> list[frozenset[str]]:
    """No option, every option alone, and every pair."""
    alone = [frozenset(words) for count in (0, 1, 2) for words in combinations(OPTIONS, count)]
    return [chosen for chosen in alone if not any(words <= chosen for words in EXCLUSIVE)]


class Outcome(NamedTuple):
    """Count of the requests that were delivered, count of those that were compiled and run, and what went wrong by name."""

    delivered: int
    compiled: int
    wrong: dict[str, str]


def contents(chosen: frozenset[str], made: Made, answers: Sequence[SelfTestCase]) -> dict[str, str]:
    """A hash of each function's C and cases, by which it is known again in another choice."""
    target = Target(robot(chosen).name, robot(chosen).sizes)
    found = {
        name: sha256(printer().source(program, target).encode())
        for name, program in made.programs.items()
    }
    for case in answers:
        if case.function in found:  # positions to close loops at are no function's
            found[case.function].update(repr(case).encode())
    return {name: known.hexdigest() for name, known in found.items()}


def run(chosen: frozenset[str], judged: set[str]) -> Outcome:
    """Judge a folder of the requests whose `contents` are not among `judged` yet, and add those that are right to it."""
    with patch.object(exact, "evaluate_adaptively", _remembering(exact.evaluate_adaptively)):
        return _run(chosen, judged)


def _run(chosen: frozenset[str], judged: set[str]) -> Outcome:
    made = make(chosen, requests(chosen, functions(chosen), each=True))
    seen = contents(chosen, made, cases(chosen, made))
    wrong = dict(made.broken)
    delivered = [
        name
        for name in made.programs
        if name not in made.refused and name not in wrong and name not in PREPARING
    ]
    new = [
        name for name in delivered if FUNCTIONS[name].derivative is None or seen[name] not in judged
    ]
    near = {companion for name in new for companion in companions(name, robot(chosen))}
    wanted = [name for name in delivered if name in new or name in near]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "c"
        try:
            given = {"frame": "tool", "task_rows": None if "free" in chosen else "wy"}
            symgen.generate(
                robot(chosen),
                folder,
                wanted,
                **given | {k: v for word in chosen for k, v in OPTIONS[word].items()},
            )
            wrong |= _self_test(folder)
            report = verify(folder, states=2)
            wrong |= {
                f"{check.kind} {check.subject}": check.miss
                for check in report.checks
                if not check.passed and not check.unjudged
            }
        except Exception:
            wrong["the folder"] = traceback.format_exc()
    if not wrong:
        judged |= {seen[name] for name in wanted}
    return Outcome(len(delivered), len(wanted), wrong)


def _remembering(answers: Callable[..., dict[str, Array]]) -> Callable[..., dict[str, Array]]:
    """The reference's answers, worked out once for the same question of the same choice."""
    known: dict[Any, dict[str, Array]] = {}

    def remembered(
        reference: Reference, digits: int, function: str, arguments: dict[str, Array], least: int
    ) -> dict[str, Array]:
        links = (reference.frames, reference.wrenches, reference.contacts, [reference.payload])
        question = (
            (digits, function, least, reference.convention, tuple(reference.task_rows)),
            (reference.mechanism, reference.described, *(tuple(some) for some in links)),
            tuple((name, _exactly(values)) for name, values in arguments.items()),
        )
        if question not in known:
            known[question] = answers(reference, digits, function, arguments, least)
        return known[question]

    return remembered


def _exactly(balls: Array) -> tuple[tuple[object, object], ...]:
    """Their midpoints and radii, to the last digit."""
    return tuple((ball.mid().man_exp(), ball.rad().man_exp()) for ball in balls.reshape(-1))


def _self_test(folder: Path) -> dict[str, str]:
    """Return the output of the self-test of a folder if it fails."""
    try:
        done = folders.selftest(folder)
    except AssertionError as error:
        return {"the compiler": str(error)[:2000]}
    return {"the self-test": done.stdout[-2000:]} if done.returncode else {}


def main(words: Sequence[str]) -> int:
    """A line for each choice of options; 1 where anything was wrong."""
    wanted = [frozenset(word.split("+")) for word in words] or choices()
    unknown = sorted({one for chosen in wanted for one in chosen} - {*OPTIONS})
    if unknown:
        print(
            f"no option is named {', '.join(unknown)}; there are: {', '.join(OPTIONS)}",
            file=sys.stderr,
        )
        return 2
    failed, judged = 0, set[str]()
    for chosen in wanted:
        start = perf_counter()
        delivered, compiled, wrong = run(chosen, judged)
        print(
            f"{'+'.join(sorted(chosen)) or 'none':<24}{delivered:>5} functions, {compiled:>3} compiled "
            f"{perf_counter() - start:>7.1f} s  {f'{len(wrong)} wrong' if wrong else 'right'}",
            flush=True,
        )
        for name, what in wrong.items():
            print(f"  {name}: {what}", flush=True)
        failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
