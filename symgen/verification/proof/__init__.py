"""What can be proved of the C: divisors that cannot vanish, and how far results can be from exact ones.

    proof = symgen.verification.proof.prove(mechanism, ["forward_dynamics"], real="float")
    proof.holds        # no observation contradicts a claim
    print(proof)       # the tables that `symgen prove` prints
    proof.facts()      # the same for programs

`round_off` bounds the results, `symgen.certificate` the divisors, `finite` is Frama-C over the same ranges. Each says what it
proves, and what it only observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from symgen.certificate.boxes import random_states
from symgen.certificate.divisors import (
    Floor,
    arithmetic_of,
    divisor_floors,
    floors,
    own_inertias,
    with_quaternions,
)
from symgen.certificate.ranges import ACCELERATION, Ranges, assumptions_about, declared_ranges
from symgen.certificate.recognition import POSITIVE
from symgen.certificate.rounding import Arithmetic
from symgen.description.tip import tip
from symgen.ir.program import Port, Program
from symgen.machine.solver import Solver
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, loop_closure
from symgen.reference.precision import Array
from symgen.support.errors import ArgumentError, RequestError
from symgen.verification.evaluating import in_machine_reals
from symgen.verification.folder import read_folder
from symgen.verification.proof.finite import finite
from symgen.verification.proof.report import Divisor, Proof, Proved
from symgen.verification.proof.round_off import RoundOff, bounded, observe
from symgen.verification.subject import Files
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import FUNCTIONS, PROVED_BY_DEFAULT
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions
from symgen.vocabulary.target import Target

STATES = 10_000

Progress = Callable[[str, int, int], None]

__all__ = ["Proof", "divisor_floors", "prove", "prove_programs"]


class Settings(TypedDict, total=False):
    """What is assumed, and how much is looked at besides."""

    states: int
    """States at which the round-off is bounded where a Program divides, and observed."""
    acceleration: Fraction
    """Largest joint acceleration of the ranges (rad/s², m/s²)."""
    trig_ulps: float | None
    """Assumed error of sines and cosines; None: `Printer.ulps`."""
    compiled: bool
    with_eva: bool
    """Run Frama-C too (`finite`)."""


DEFAULTS: Settings = {
    "states": STATES,
    "acceleration": ACCELERATION,
    "trig_ulps": None,
    "compiled": True,
    "with_eva": False,
}


def prove(
    robot: Mechanism | Path,
    functions: Iterable[str] | None = None,
    options: ProgramOptions | None = None,
    text: TextOptions = PLAIN,
    *,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> Proof:
    """Prove bounds for functions of a mechanism, or for the C in a folder that `symgen generate` wrote (`options` and `text` are
    then the folder's).

    `functions` as for `symgen.generate`; None: those of PROVED_BY_DEFAULT that the robot can have, or all in the folder. `trig_ulps` is
    the assumed error of sines and cosines (None: `Printer.ulps`). `with_eva` also runs Frama-C (`finite`). Raises RequestError
    for what cannot be asked for. Raises BuildError with `with_eva` where there is no Frama-C, and without a C compiler unless
    `compiled` is False.
    """
    if not isinstance(robot, Mechanism):
        return _prove_folder(robot, functions, progress, **settings)
    options = options or ProgramOptions()
    _refuse_parameters(options)
    requested = [] if functions is None else list(functions)
    _tell(progress, "deriving", 0, 1)
    options = replace(options, frame=options.frame or (tip(robot) if robot.frames else None))
    names = _default_functions(robot, options) if functions is None else requested
    programs = build.programs(robot, names, options)
    acceleration = settings.get("acceleration", ACCELERATION)
    ranges = declared_ranges(robot, acceleration, contacts=len(options.contacts))
    for name in requested:
        _refuse_closed(robot, name, programs.get(name.partition("=")[0]), ranges)
    return prove_programs(robot, programs, options, text, progress=progress, **settings)


def _prove_folder(
    place: Path,
    functions: Iterable[str] | None,
    progress: Progress | None,
    **settings: Unpack[Settings],
) -> Proof:
    """`prove` for the unrolled C in a folder."""
    folder = read_folder(place, functions)
    _refuse_parameters(folder.options)
    forms = {
        name: build.build_form(folder.mechanism, name, method, folder.options)
        for name, method in folder.methods.items()
    }
    programs = {name: form for name, form in forms.items() if isinstance(form, Program)}
    loops = [name for name in forms if name not in programs]
    if loops and (functions is not None or not programs):
        raise ArgumentError(
            f"{loops[0]} loops over links, of which nothing is proved over ranges; prove what is generated "
            "with --form unrolled, and let 'symgen verify' judge the loops"
        )
    proof = prove_programs(
        folder.mechanism,
        programs,
        folder.options,
        folder.text,
        files=folder.files,
        progress=progress,
        **settings,
    )
    return replace(proof, folder=str(place))


def _default_functions(mechanism: Mechanism, options: ProgramOptions) -> list[str]:
    """Return those of PROVED_BY_DEFAULT that the robot can have."""
    return [
        name
        for name in PROVED_BY_DEFAULT
        if build.refusal(mechanism, name, options.payload) is None
    ]


def _refuse_parameters(options: ProgramOptions) -> None:
    """RequestError where numbers may change at run time: what is proved holds for numbers that stand in the C."""
    if options.parameters:
        raise RequestError(
            f"what is proved holds for the numbers of the description, and {options.parameters[0]} may change at "
            "run time; prove the robot without --parameter, described with the numbers that are meant"
        )


_CLOSED = "what loops keep is about closed positions, which are no range; 'symgen verify' judges it at such states"


def _where_closed(mechanism: Mechanism, function: str) -> bool:
    """Whether a function is about positions on loops, or about the way there, and not about any in their ranges."""
    return (
        function in FUNCTIONS
        and loop_closure.known(mechanism, function)
        and function != "constraint_residual"
    )


def _divides(program: Program, ranges: Ranges) -> bool:
    """Whether floors of divisors can be looked for, which hold wherever the loops are: it divides, and all of its arguments have
    ranges.
    """
    return any(row.op in POSITIVE for row in program.rows) and all(
        port.name in ranges.of for port in program.inputs
    )


def _refuse_closed(
    mechanism: Mechanism, name: str, program: Program | None, ranges: Ranges
) -> None:
    """Raise ArgumentError for a function of closed positions that has no divisors with floors."""
    if program is None or not _where_closed(mechanism, name.partition("=")[0]):
        return
    if not _divides(program, ranges):
        raise ArgumentError(f"{name} is not proved over ranges: {_CLOSED}")


@dataclass(frozen=True)
class _Premises:
    """What a proof stands on: the ranges of the arguments, the arithmetic of the C, and states drawn from the ranges."""

    mechanism: Mechanism
    options: ProgramOptions
    text: TextOptions
    ranges: Ranges
    arithmetic: Arithmetic
    states: Mapping[str, Array]
    compiled: bool

    def floors(self, program: Program) -> list[Floor]:
        """The certificates of its divisors."""
        return floors(
            self.mechanism,
            program,
            self.options,
            self.text,
            ranges=self.ranges,
            arithmetic=self.arithmetic,
        )

    def divisors(self, program: Program, certified: Iterable[Floor]) -> tuple[Divisor, ...]:
        """The certificates beside the least values at the states."""
        return tuple(_seen(program, certified, self.states, self.compiled))

    def round_off(self, program: Program, run: Any) -> RoundOff:
        """The bound of its results, beside what the compiled `run` is off by; None where nothing is compiled."""
        bound = bounded(program, self.ranges, self.states, self.arithmetic)
        if run is None:
            return bound
        return observe(self.mechanism, program, self.options, self.states, run, bound)


def prove_programs(
    mechanism: Mechanism,
    programs: Mapping[str, Program],
    options: ProgramOptions,
    text: TextOptions = PLAIN,
    *,
    files: Files | None = None,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> Proof:
    """`prove` for given Programs. `files` hold their C where it is not the backend's."""
    chosen: Settings = {**DEFAULTS, **settings}
    _refuse_derivatives(programs)
    if chosen["states"] < 1:
        raise ArgumentError(
            f"a running error at {chosen['states']} states bounds nothing; ask for one or more"
        )
    ranges = declared_ranges(
        mechanism,
        chosen["acceleration"],
        wrenches=len(options.wrenches) or 1,
        contacts=len(options.contacts),
    )
    programs, dividing, closed = _by_proof(mechanism, programs, ranges)
    files = files or Files()
    name = files.name or mechanism.name
    total = 2 * len(programs) + len(dividing) + 1 + chosen["with_eva"]
    solver = None
    if chosen["compiled"] and programs:
        _tell(progress, "compiling", 0, total)
        solver = _compiled(name, mechanism, programs, text, files.sources)
    premises = _Premises(
        mechanism,
        options,
        text,
        ranges,
        _arithmetic(mechanism, options, text, chosen["trig_ulps"]),
        random_states(mechanism, ranges, options, chosen["states"]),
        chosen["compiled"],
    )
    proved, certified = [], {}
    steps = count(1)
    for function, program in programs.items():
        _tell(progress, f"divisors of {function}", next(steps), total)
        certified[function] = premises.floors(program)
        divisors = premises.divisors(program, certified[function])
        _tell(progress, f"round-off of {function}", next(steps), total)
        round_off = premises.round_off(program, solver and getattr(solver, function))
        proved.append(Proved(function, program.method, divisors, round_off))
    for function, program in dividing.items():
        _tell(progress, f"divisors of {function}", next(steps), total)
        divisors = premises.divisors(program, premises.floors(program))
        proved.append(Proved(function, program.method, divisors, RoundOff(False, {})))
    finite_numbers = None
    if chosen["with_eva"]:
        _tell(progress, "every operation, by Frama-C", total - 1, total)
        target = Target(name, mechanism.sizes, TextOptions(text.trig))
        finite_numbers = finite(mechanism, programs, options, certified, ranges, target)
    return Proof(
        mechanism.name,
        options.real,
        chosen["states"],
        tuple(own_inertias(mechanism)),
        _inertia_units(mechanism),
        tuple(proved),
        ranges,
        _assumptions(ranges, premises.arithmetic, options, {**programs, **dividing}, closed),
        finite_numbers,
        any(joint.drive.armature for joint in mechanism.joints),
    )


def _by_proof(
    mechanism: Mechanism, programs: Mapping[str, Program], ranges: Ranges
) -> tuple[dict[str, Program], dict[str, Program], list[str]]:
    """Return the Programs that are proved, those of closed positions whose divisors alone are, and all names of the latter kind."""
    closed = [name for name in programs if _where_closed(mechanism, name)]
    return (
        {name: program for name, program in programs.items() if name not in closed},
        {name: programs[name] for name in closed if _divides(programs[name], ranges)},
        closed,
    )


def _refuse_derivatives(programs: Iterable[str]) -> None:
    """Raise ArgumentError where one of the functions is a derivative."""
    for function in programs:
        if derivatives.parse_derivative(function) is not None:
            raise ArgumentError(
                f"{function} is a derivative, of which nothing is proved over the ranges; prove "
                f"{derivatives.base_function(function)}, and let 'symgen verify' bound the round-off state by state"
            )


def _arithmetic(
    mechanism: Mechanism, options: ProgramOptions, text: TextOptions, trig_ulps: float | None
) -> Arithmetic:
    """Return the arithmetic of the C, with another error of sines and cosines where one is assumed."""
    arithmetic = with_quaternions(arithmetic_of(options.real, text), mechanism)
    return arithmetic if trig_ulps is None else replace(arithmetic, trig=trig_ulps)


def _compiled(
    name: str,
    mechanism: Mechanism,
    programs: Mapping[str, Program],
    text: TextOptions,
    sources: Mapping[str, str],
) -> Solver:
    """Compile the Programs, or the C of a folder."""
    return Solver.from_programs(
        name,
        programs,
        mechanism.sizes,
        trig=text.trig,
        sources={function: sources[function] for function in programs} if sources else None,
        checked=text.checked,
    )


def _inertia_units(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the unit of what each entry of v moves."""
    return tuple(
        velocity.inertia_unit for joint in mechanism.leading for velocity in joint.type.velocities
    )


def _assumptions(
    ranges: Ranges,
    arithmetic: Arithmetic,
    options: ProgramOptions,
    programs: Mapping[str, Program],
    closed: Sequence[str],
) -> tuple[str, ...]:
    given = dict.fromkeys(
        [
            *options.at_run_time,
            *(port.name for program in programs.values() for port in program.inputs),
        ]
    )
    angles = any(row.op == "atan2" for program in programs.values() for row in program.rows)
    left = {
        "": [name for name in closed if name not in programs],
        "round-off of ": [name for name in closed if name in programs],
    }
    return (
        *ranges.assumed,
        *assumptions_about(list(given)),
        *arithmetic.assumptions,
        *([arithmetic.of_angles] if angles else []),
        *(f"{what}{', '.join(names)} left out: {_CLOSED}" for what, names in left.items() if names),
    )


def _seen(
    program: Program, certified: Iterable[Floor], states: Mapping[str, Array], look: bool
) -> Iterable[Divisor]:
    """The certificates, with the least value of each row that the machine's reals give over the states."""
    certified = list(certified)
    if not look or not certified:
        return [Divisor(floor) for floor in certified]
    port = Port("divisors", (len(certified),), tuple(floor.row for floor in certified))
    computed = in_machine_reals(replace(program, outputs=(port,)))(
        {one.name: states[one.name] for one in program.inputs}
    )
    least = np.asarray(computed["divisors"], dtype=float).min(axis=0)
    return [Divisor(floor, float(one)) for floor, one in zip(certified, least, strict=True)]


def _tell(progress: Progress | None, what: str, done: int, total: int) -> None:
    if progress is not None:
        progress(what, done, total)
