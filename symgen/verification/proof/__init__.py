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
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from symgen.certificate.boxes import drawn
from symgen.certificate.divisors import (
    Floor,
    arithmetic_of,
    divisor_floors,
    floors,
    own_inertias,
    with_quaternions,
)
from symgen.certificate.ranges import ACCELERATION, Ranges, declared_ranges, stated
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
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import FUNCTIONS, PROVED_BY_DEFAULT
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions
from symgen.vocabulary.target import Target

STATES = 10_000

Progress = Callable[[str, int, int], None]

__all__ = ["Proof", "divisor_floors", "prove", "prove_programs"]


def prove(
    robot: Mechanism | Path,
    functions: Iterable[str] | None = None,
    options: ProgramOptions | None = None,
    text: TextOptions = PLAIN,
    *,
    states: int = STATES,
    acceleration: Fraction = ACCELERATION,
    trig_ulps: float | None = None,
    compiled: bool = True,
    with_eva: bool = False,
    progress: Progress | None = None,
) -> Proof:
    """Prove bounds for functions of a mechanism, or for the C in a folder that `symgen generate` wrote (`options` and `text` are
    then the folder's).

    `functions` as for `symgen.generate`; None: those of PROVED_BY_DEFAULT that the robot can have, or all in the folder. `trig_ulps` is
    the assumed error of sines and cosines (None: `Printer.ulps`). `with_eva` also runs Frama-C (`finite`). Raises RequestError
    for what cannot be asked for. Raises BuildError with `with_eva` where there is no Frama-C, and without a C compiler unless
    `compiled` is False.
    """
    if not isinstance(robot, Mechanism):
        folder = read_folder(robot, functions)
        _refuse_parameters(folder.options)
        forms = {
            name: build.shaped(folder.mechanism, name, method, folder.options)
            for name, method in folder.methods.items()
        }
        made = {name: form for name, form in forms.items() if isinstance(form, Program)}
        if loops := [
            name for name in forms if name not in made and (functions is not None or not made)
        ]:
            raise ArgumentError(
                f"{loops[0]} loops over links, of which nothing is proved over ranges; prove what is generated "
                "with --form unrolled, and let 'symgen verify' judge the loops"
            )
        proof = prove_programs(
            folder.mechanism,
            made,
            folder.options,
            folder.text,
            states=states,
            acceleration=acceleration,
            trig_ulps=trig_ulps,
            compiled=compiled,
            with_eva=with_eva,
            name=folder.name,
            sources=folder.sources,
            progress=progress,
        )
        return replace(proof, folder=str(robot))
    options = options or ProgramOptions()
    _refuse_parameters(options)
    functions = None if functions is None else list(functions)
    asked = [] if functions is None else functions
    if functions is None:
        functions = [
            name
            for name in PROVED_BY_DEFAULT
            if build.refusal(robot, name, options.payload) is None
        ]
    _tell(progress, "deriving", 0, 1)
    options = replace(options, frame=options.frame or (tip(robot) if robot.frames else None))
    made = build.programs(robot, functions, options)
    ranges = declared_ranges(robot, acceleration, contacts=len(options.contacts))
    for name in asked:
        if (
            (plain := name.partition("=")[0]) in made
            and _where_closed(robot, plain)
            and not _divides(made[plain], ranges)
        ):
            raise ArgumentError(f"{name} is not proved over ranges: {_CLOSED}")
    return prove_programs(
        robot,
        made,
        options,
        text,
        states=states,
        acceleration=acceleration,
        trig_ulps=trig_ulps,
        compiled=compiled,
        with_eva=with_eva,
        progress=progress,
    )


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


def prove_programs(
    mechanism: Mechanism,
    programs: Mapping[str, Program],
    options: ProgramOptions,
    text: TextOptions = PLAIN,
    *,
    states: int = STATES,
    acceleration: Fraction = ACCELERATION,
    trig_ulps: float | None = None,
    compiled: bool = True,
    with_eva: bool = False,
    name: str = "",
    sources: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Proof:
    """`prove` for given Programs. `sources` is their C where it is not the backend's, `name` the NAME in it."""
    for function in programs:
        if derivatives.told(function) is not None:
            raise ArgumentError(
                f"{function} is a derivative, of which nothing is proved over the ranges; prove "
                f"{derivatives.of(function)}, and let 'symgen verify' bound the round-off state by state"
            )
    closed = [name for name in programs if _where_closed(mechanism, name)]
    if states < 1:
        raise ArgumentError(
            f"a running error at {states} states bounds nothing; ask for one or more"
        )
    ranges = declared_ranges(
        mechanism, acceleration, wrenches=len(options.wrenches) or 1, contacts=len(options.contacts)
    )
    dividing = {name: programs[name] for name in closed if _divides(programs[name], ranges)}
    programs = {name: one for name, one in programs.items() if name not in closed}
    arithmetic = with_quaternions(arithmetic_of(options.real, text), mechanism)
    if trig_ulps is not None:
        arithmetic = replace(arithmetic, trig=trig_ulps)
    total = 2 * len(programs) + len(dividing) + 1 + with_eva
    solver = None
    if compiled and programs:
        _tell(progress, "compiling", 0, total)
        solver = Solver.from_programs(
            name or mechanism.name,
            programs,
            mechanism.sizes,
            trig=text.trig,
            sources={name: sources[name] for name in programs} if sources else None,
            checked=text.checked,
        )
    given = drawn(mechanism, ranges, options, states)
    found, floored = [], {}
    for done, (function, program) in enumerate(programs.items()):
        _tell(progress, f"divisors of {function}", 2 * done + 1, total)
        floored[function] = certified = floors(
            mechanism, program, options, text, ranges=ranges, arithmetic=arithmetic
        )
        divisors = tuple(_seen(program, certified, given, compiled))
        _tell(progress, f"round-off of {function}", 2 * done + 2, total)
        round_off = bounded(program, ranges, given, arithmetic)
        if solver is not None:
            round_off = observe(
                mechanism, program, options, given, getattr(solver, function), round_off
            )
        found.append(Proved(function, program.method, divisors, round_off))
    for done, (function, program) in enumerate(dividing.items()):
        _tell(progress, f"divisors of {function}", 2 * len(programs) + done + 1, total)
        certified = floors(mechanism, program, options, text, ranges=ranges, arithmetic=arithmetic)
        found.append(
            Proved(
                function,
                program.method,
                tuple(_seen(program, certified, given, compiled)),
                RoundOff(False, {}),
            )
        )
    shown = None
    if with_eva:
        _tell(progress, "every operation, by Frama-C", total - 1, total)
        target = Target(name or mechanism.name, mechanism.sizes, TextOptions(text.trig))
        shown = finite(mechanism, programs, options, floored, ranges, target)
    units = tuple(
        velocity.inertia_unit for joint in mechanism.leading for velocity in joint.type.velocities
    )
    return Proof(
        mechanism.name,
        options.real,
        states,
        tuple(own_inertias(mechanism)),
        units,
        tuple(found),
        ranges,
        _assumptions(ranges, arithmetic, options, {**programs, **dividing}, closed),
        shown,
        any(joint.drive.armature for joint in mechanism.joints),
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
        *stated(list(given)),
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
