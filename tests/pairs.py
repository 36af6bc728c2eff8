"""Every function and derivative with every pair of options: derived, compiled, run and verified.

    python -m tests.pairs [OPTION[+OPTION] ...]

An option is one of OPTIONS; by default, each option alone and all pairs are tested. For each
choice, a folder is generated, compiled and verified, and its self-test is run. The folder holds all
functions, and all derivatives except those whose C and whose answers are identical to those of an
earlier choice that passed. The robot is the smallest one that has the chosen options.
`tests/system/test_pairs.py` builds the same requests up to the cases of the self-test, but compiles
nothing.
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
from symgen.verification import reference_results
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
"""Keyword arguments of each option; "drives", "loops", "gains" and "free" change the robot too."""
NO_HVP = (
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "coriolis_matrix",
    "mass_matrix_coriolis_and_bias",
)
"""Functions whose results are derivatives; their `hvp` is of third order and refused."""
EXCLUSIVE = ({"wrench", "wrenches"}, {"loops", "gains"})
"""Options that exclude each other, since one includes the other."""
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
    """Make a rod on a hinge or free joint; with loops, also a slider that touches the rod."""
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
    """Return the program options; the task rows are those that the joints can move."""
    rows = None if "free" in chosen else "wy"
    return ProgramOptions(
        **{"frame": "tool", "task_rows": rows}
        | {key: value for word in chosen for key, value in OPTIONS[word].items()}
    )


def functions(chosen: Collection[str]) -> list[str]:
    """Return the functions of the robot with these options."""
    every = (*FUNCTIONS, *(LOOP_FUNCTIONS if {"loops", "gains"} & {*chosen} else ()))
    return [name for name in every if "contacts" in chosen or not FUNCTIONS[name].counts("NT")]


def requests(
    chosen: Collection[str],
    names: Sequence[str],
    modes: Sequence[str] = (*derivatives.MODES,),
    each_argument: bool = False,
) -> Iterator[str]:
    """Yield the names of functions and of their derivatives in `modes`.

    Derivatives are with respect to the own arguments, to the chosen run-time arguments, and with
    `each_argument` also to every single argument.
    """
    at_run_time = {*options(chosen).at_run_time} - {PREPARED.name}
    for name in names:
        declaration = FUNCTIONS[name]
        yield name
        chosen_arguments = tuple(
            array.name
            for array in AT_RUN_TIME
            if array in declaration.depends_on and array.name in at_run_time
        )
        argument_sets = [
            (),
            *([chosen_arguments] if chosen_arguments else []),
            *(
                ((argument,) for argument in (*declaration.own_arguments, *chosen_arguments))
                if each_argument
                else ()
            ),
        ]
        for mode in (mode for mode in modes if mode != "hvp" or name not in NO_HVP):
            yield from dict.fromkeys(
                derivative.name
                for arguments in argument_sets
                if (derivative := FUNCTIONS.get(Derivative(name, mode, arguments).name)) is not None
            )


class Made(NamedTuple):
    """Outcomes of requests: Programs, messages of refusals, and tracebacks of failures."""

    programs: dict[str, Form]
    refused: dict[str, str]
    broken: dict[str, str]


def make(chosen: frozenset[str], names: Iterator[str]) -> Made:
    """Build each request separately, then give all Programs the same parameters."""
    built = Made({}, {}, {})
    for name in names:
        try:
            built.programs[name] = build.build_program(robot(chosen), name, None, options(chosen))
        except Exception as error:
            _record_failure(built, name, error)
    return built._replace(
        programs=build.with_parameters(built.programs, robot(chosen), options(chosen))
    )


def cases(chosen: frozenset[str], built: Made) -> list[SelfTestCase]:
    """Return the self-test cases of all Programs; bisection finds those that fail, for `built`."""

    def cases_of(names: Sequence[str]) -> list[SelfTestCase]:
        try:
            forms = {
                name: form
                for name, form in built.programs.items()
                if name in names or name in PREPARING
            }
            return selftest.cases(robot(chosen), forms, options(chosen))
        except Exception as error:
            if len(names) > 1:
                return cases_of(names[::2]) + cases_of(names[1::2])
            _record_failure(built, names[0], error)
            return []

    return cases_of([name for name in built.programs if name not in PREPARING])


def _record_failure(built: Made, name: str, error: Exception) -> None:
    """Record an error: a SymgenError of one line is a refusal, any other error a failure."""
    sentence = str(error)
    if (
        isinstance(error, SymgenError)
        and not isinstance(error, ProgramError)
        and "\n" not in sentence
    ):
        built.refused[name] = sentence
    else:
        built.broken[name] = "".join(traceback.format_exception(error))


def choices() -> list[frozenset[str]]:
    """Return the choices: no option, every single option, and every pair."""
    combinations_ = [
        frozenset(words) for count in (0, 1, 2) for words in combinations(OPTIONS, count)
    ]
    return [chosen for chosen in combinations_ if not any(words <= chosen for words in EXCLUSIVE)]


class Outcome(NamedTuple):
    """Number of requests built, number compiled and run, and errors by name."""

    delivered: int
    compiled: int
    wrong: dict[str, str]


def contents(
    chosen: frozenset[str], built: Made, case_list: Sequence[SelfTestCase]
) -> dict[str, str]:
    """Hash the C and the cases of each function, to recognise the function in another choice."""
    target = Target(robot(chosen).name, robot(chosen).sizes)
    hashes = {
        name: sha256(printer().source(program, target).encode())
        for name, program in built.programs.items()
    }
    for case in case_list:
        if case.function in hashes:  # no function owns the positions at which loops close
            hashes[case.function].update(repr(case).encode())
    return {name: content_hash.hexdigest() for name, content_hash in hashes.items()}


def run(chosen: frozenset[str], judged: set[str]) -> Outcome:
    """Judge the requests whose `contents` are not in `judged`; add those that pass to `judged`."""
    with patch.object(
        reference_results,
        "evaluate_adaptively",
        _remembering(reference_results.evaluate_adaptively),
    ):
        return _run(chosen, judged)


def _run(chosen: frozenset[str], judged: set[str]) -> Outcome:
    built = make(chosen, requests(chosen, functions(chosen), each_argument=True))
    content_by_name = contents(chosen, built, cases(chosen, built))
    wrong = dict(built.broken)
    delivered = [
        name
        for name in built.programs
        if name not in built.refused and name not in wrong and name not in PREPARING
    ]
    new = [
        name
        for name in delivered
        if FUNCTIONS[name].derivative is None or content_by_name[name] not in judged
    ]
    companion_names = {companion for name in new for companion in companions(name, robot(chosen))}
    requested = [name for name in delivered if name in new or name in companion_names]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "c"
        try:
            base_options = {"frame": "tool", "task_rows": None if "free" in chosen else "wy"}
            symgen.generate(
                robot(chosen),
                folder,
                requested,
                **base_options
                | {key: value for word in chosen for key, value in OPTIONS[word].items()},
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
        judged |= {content_by_name[name] for name in requested}
    return Outcome(len(delivered), len(requested), wrong)


def _remembering(
    evaluate_reference: Callable[..., dict[str, Array]],
) -> Callable[..., dict[str, Array]]:
    """Cache the answers of the reference by question, for one choice of options."""
    answers_by_question: dict[Any, dict[str, Array]] = {}

    def answer(
        reference: Reference, digits: int, function: str, arguments: dict[str, Array], least: int
    ) -> dict[str, Array]:
        links = (reference.frames, reference.wrenches, reference.contacts, [reference.payload])
        question = (
            (digits, function, least, reference.convention, tuple(reference.task_rows)),
            (
                reference.mechanism,
                reference.described,
                *(tuple(link_options) for link_options in links),
            ),
            tuple((name, _exactly(values)) for name, values in arguments.items()),
        )
        if question not in answers_by_question:
            answers_by_question[question] = evaluate_reference(
                reference, digits, function, arguments, least
            )
        return answers_by_question[question]

    return answer


def _exactly(balls: Array) -> tuple[tuple[object, object], ...]:
    """Return the exact midpoints and radii of balls, as a key."""
    return tuple((ball.mid().man_exp(), ball.rad().man_exp()) for ball in balls.reshape(-1))


def _self_test(folder: Path) -> dict[str, str]:
    """Return the output of the self-test of a folder if it fails."""
    try:
        done = folders.selftest(folder)
    except AssertionError as error:
        return {"the compiler": str(error)[:2000]}
    return {"the self-test": done.stdout[-2000:]} if done.returncode else {}


def main(arguments: Sequence[str]) -> int:
    """Print one line for each choice of options; return 1 if anything was wrong."""
    choices_ = [frozenset(word.split("+")) for word in arguments] or choices()
    unknown = sorted({option for chosen in choices_ for option in chosen} - {*OPTIONS})
    if unknown:
        print(
            f"no option is named {', '.join(unknown)}; there are: {', '.join(OPTIONS)}",
            file=sys.stderr,
        )
        return 2
    failed, judged = 0, set[str]()
    for chosen in choices_:
        start = perf_counter()
        delivered, compiled, wrong = run(chosen, judged)
        print(
            f"{'+'.join(sorted(chosen)) or 'none':<24}{delivered:>5} functions, {compiled:>3}"
            f" compiled {perf_counter() - start:>7.1f} s "
            f" {f'{len(wrong)} wrong' if wrong else 'right'}",
            flush=True,
        )
        for name, error in wrong.items():
            print(f"  {name}: {error}", flush=True)
        failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
