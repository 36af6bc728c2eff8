"""Proofs about the generated C: divisors that cannot vanish, and bounds of the error of results.

    proof = symgen.verification.proof.prove(mechanism, ["forward_dynamics"], real="float")
    proof.holds        # no observation contradicts a claim
    print(proof)       # the tables that `symgen prove` prints
    proof.facts()      # the same as plain data

`symgen.certificate` bounds divisors from below, and `finite` runs Frama-C; both hold over the
declared ranges of the arguments. `round_off` bounds the errors of results: over these ranges for a
Program without division, and at random states for others. The report separates proved bounds from
values that were only observed.
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
    DivisorCertificate,
    arithmetic_of,
    certified_bounds,
    certify_divisors,
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
from symgen.verification.evaluating import machine_runner
from symgen.verification.folder import read_folder
from symgen.verification.proof.finite import prove_finite
from symgen.verification.proof.report import Divisor, Proof, Proved
from symgen.verification.proof.round_off import RoundOff, bound_round_off, observe
from symgen.verification.subject import Files
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import FUNCTIONS, PROVED_BY_DEFAULT
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions
from symgen.vocabulary.target import Target

STATES = 10_000
"""Default number of random states at which errors are bounded by running error analysis, and
observed.
"""

Progress = Callable[[str, int, int], None]

__all__ = ["Proof", "certified_bounds", "prove", "prove_programs"]


class Settings(TypedDict, total=False):
    """Assumptions of a proof, and the number of observations."""

    states: int
    """Number of states at which round-off is observed, and bounded if a Program divides."""
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
    """Prove bounds for functions of a mechanism, or for the C in a folder that `symgen generate`
    wrote.

    For a folder, `options` and `text` are the folder's. `functions` as for `symgen.generate`; None:
    those of PROVED_BY_DEFAULT that the robot can have, or all in the folder. `trig_ulps` is the
    assumed error of sines and cosines (None: `Printer.ulps`). `with_eva` also runs Frama-C
    (`finite`).

    Raises RequestError for an impossible request. Raises BuildError with `with_eva` if Frama-C is
    missing, and if a C compiler is missing unless `compiled` is False.
    """
    if not isinstance(robot, Mechanism):
        return _prove_folder(robot, functions, progress, **settings)
    options = options or ProgramOptions()
    _refuse_parameters(options)
    requested = [] if functions is None else list(functions)
    _report_step(progress, "deriving", 0, 1)
    options = replace(options, frame=options.frame or (tip(robot) if robot.frames else None))
    names = _default_functions(robot, options) if functions is None else requested
    programs = build.programs(robot, names, options)
    acceleration = settings.get("acceleration", ACCELERATION)
    ranges = declared_ranges(robot, acceleration, contacts=len(options.contacts))
    for name in requested:
        _refuse_closed(robot, name, programs.get(name.partition("=")[0]), ranges)
    return prove_programs(robot, programs, options, text, progress=progress, **settings)


def _prove_folder(
    path: Path,
    functions: Iterable[str] | None,
    progress: Progress | None,
    **settings: Unpack[Settings],
) -> Proof:
    """Prove bounds for the unrolled C in a folder."""
    folder = read_folder(path, functions)
    _refuse_parameters(folder.options)
    forms = {
        name: build.build_form(folder.mechanism, name, method, folder.options)
        for name, method in folder.methods.items()
    }
    programs = {name: form for name, form in forms.items() if not form.looped}
    looped = [name for name in forms if name not in programs]
    if looped and (functions is not None or not programs):
        raise ArgumentError(
            f"{looped[0]} is in looped form, for which no bounds over ranges can be proved;"
            " generate it with --form unrolled for a proof, and use 'symgen verify' for the loops"
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
    return replace(proof, folder=str(path))


def _default_functions(mechanism: Mechanism, options: ProgramOptions) -> list[str]:
    """Return the functions of PROVED_BY_DEFAULT that the robot can have."""
    return [
        name
        for name in PROVED_BY_DEFAULT
        if build.refusal(mechanism, name, options.payload) is None
    ]


def _refuse_parameters(options: ProgramOptions) -> None:
    """Raise RequestError if numbers may change at run time: a proof holds for those in the C."""
    if options.parameters:
        raise RequestError(
            f"a proof holds for the numbers of the description, and {options.parameters[0]} may"
            " change at run time; prove the robot without --parameter, with the intended numbers"
            " in its description"
        )


_ONLY_AT_CLOSED_POSITIONS = (
    "it is defined only at positions that close the loops, and these are not a range of each"
    " coordinate; 'symgen verify' checks it at such positions"
)


def _is_at_closed_positions(mechanism: Mechanism, function: str) -> bool:
    """True if a function is defined at closed positions, or for the assembly, and not over the
    whole ranges.
    """
    return (
        function in FUNCTIONS
        and loop_closure.depends_on_loops(mechanism, function)
        and function != "constraint_residual"
    )


def _has_bounded_divisors(program: Program, ranges: Ranges) -> bool:
    """True if a Program has divisors, and all its arguments have ranges: then lower bounds of
    divisors hold at closed positions too.
    """
    return any(row.op in POSITIVE for row in program.rows) and all(
        port.name in ranges.of for port in program.inputs
    )


def _refuse_closed(
    mechanism: Mechanism, name: str, program: Program | None, ranges: Ranges
) -> None:
    """Raise ArgumentError for a function of closed positions without divisors to bound."""
    if program is None or not _is_at_closed_positions(mechanism, name.partition("=")[0]):
        return
    if not _has_bounded_divisors(program, ranges):
        raise ArgumentError(f"{name} cannot be proved over ranges: {_ONLY_AT_CLOSED_POSITIONS}")


@dataclass(frozen=True)
class _Premises:
    """Premises of a proof: the ranges of the arguments, the arithmetic of the C, and states drawn
    from the ranges.
    """

    mechanism: Mechanism
    options: ProgramOptions
    text: TextOptions
    ranges: Ranges
    arithmetic: Arithmetic
    states: Mapping[str, Array]
    compiled: bool

    def certify_divisors(self, program: Program) -> list[DivisorCertificate]:
        """Return the proved lower bounds of a Program's divisors."""
        return certify_divisors(
            self.mechanism,
            program,
            self.options,
            self.text,
            ranges=self.ranges,
            arithmetic=self.arithmetic,
        )

    def divisors(
        self, program: Program, certified: Iterable[DivisorCertificate]
    ) -> tuple[Divisor, ...]:
        """Return the certificates with the least computed values at the states."""
        return tuple(_observed_divisors(program, certified, self.states, self.compiled))

    def round_off(self, program: Program, run: Any) -> RoundOff:
        """Return the error bound of the results, with the observed error of the compiled `run`;
        only the bound if `run` is None.
        """
        bound = bound_round_off(program, self.ranges, self.states, self.arithmetic)
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
    """Prove bounds for given Programs. `files` contain their C if it is not freshly printed."""
    chosen: Settings = {**DEFAULTS, **settings}
    _refuse_derivatives(programs)
    if chosen["states"] < 1:
        raise ArgumentError(f"the number of states must be at least 1, and is {chosen['states']}")
    ranges = declared_ranges(
        mechanism,
        chosen["acceleration"],
        wrenches=len(options.wrenches) or 1,
        contacts=len(options.contacts),
    )
    programs, divisors_only, closed = _by_proof(mechanism, programs, ranges)
    files = files or Files()
    name = files.name or mechanism.name
    total = 2 * len(programs) + len(divisors_only) + 1 + chosen["with_eva"]
    solver = None
    if chosen["compiled"] and programs:
        _report_step(progress, "compiling", 0, total)
        solver = _compile(name, mechanism, programs, text, files.sources)
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
        _report_step(progress, f"divisors of {function}", next(steps), total)
        certified[function] = premises.certify_divisors(program)
        divisors = premises.divisors(program, certified[function])
        _report_step(progress, f"round-off of {function}", next(steps), total)
        round_off = premises.round_off(program, solver and getattr(solver, function))
        proved.append(Proved(function, program.method, divisors, round_off))
    for function, program in divisors_only.items():
        _report_step(progress, f"divisors of {function}", next(steps), total)
        divisors = premises.divisors(program, premises.certify_divisors(program))
        proved.append(Proved(function, program.method, divisors, RoundOff(False, {})))
    finite_numbers = None
    if chosen["with_eva"]:
        _report_step(progress, "every operation, by Frama-C", total - 1, total)
        target = Target(name, mechanism.sizes, TextOptions(text.trig))
        finite_numbers = prove_finite(mechanism, programs, options, certified, ranges, target)
    return Proof(
        mechanism.name,
        options.real,
        chosen["states"],
        tuple(own_inertias(mechanism)),
        _inertia_units(mechanism),
        tuple(proved),
        ranges,
        _assumptions(ranges, premises.arithmetic, options, {**programs, **divisors_only}, closed),
        finite_numbers,
        any(joint.drive.armature for joint in mechanism.joints),
    )


def _by_proof(
    mechanism: Mechanism, programs: Mapping[str, Program], ranges: Ranges
) -> tuple[dict[str, Program], dict[str, Program], list[str]]:
    """Return (Programs that are proved completely, Programs at closed positions of which only the
    divisors are bounded, names of all functions at closed positions).
    """
    closed = [name for name in programs if _is_at_closed_positions(mechanism, name)]
    return (
        {name: program for name, program in programs.items() if name not in closed},
        {name: programs[name] for name in closed if _has_bounded_divisors(programs[name], ranges)},
        closed,
    )


def _refuse_derivatives(programs: Iterable[str]) -> None:
    """Raise ArgumentError if one of the functions is a derivative."""
    for function in programs:
        if derivatives.parse_derivative(function) is not None:
            raise ArgumentError(
                f"{function} is a derivative, which cannot be proved over the ranges; prove"
                f" {derivatives.base_function(function)}, and use 'symgen verify' to bound the"
                " round-off state by state"
            )


def _arithmetic(
    mechanism: Mechanism, options: ProgramOptions, text: TextOptions, trig_ulps: float | None
) -> Arithmetic:
    """Return the arithmetic of the C, with the assumed error of sines and cosines if any."""
    arithmetic = with_quaternions(arithmetic_of(options.real, text), mechanism)
    return arithmetic if trig_ulps is None else replace(arithmetic, trig=trig_ulps)


def _compile(
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
    """Return the unit of the inertia of each entry of v."""
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
    """Return the assumptions of the proof as sentences."""
    argument_names = dict.fromkeys(
        [
            *options.at_run_time,
            *(port.name for program in programs.values() for port in program.inputs),
        ]
    )
    angles = any(row.op == "atan2" for program in programs.values() for row in program.rows)
    omitted = {
        "": [name for name in closed if name not in programs],
        "round-off of ": [name for name in closed if name in programs],
    }
    return (
        *ranges.assumed,
        *assumptions_about(list(argument_names)),
        *arithmetic.assumptions,
        *([arithmetic.of_angles] if angles else []),
        *(
            f"{prefix}{', '.join(names)} left out: {_ONLY_AT_CLOSED_POSITIONS}"
            for prefix, names in omitted.items()
            if names
        ),
    )


def _observed_divisors(
    program: Program,
    certified: Iterable[DivisorCertificate],
    states: Mapping[str, Array],
    observe: bool,
) -> Iterable[Divisor]:
    """Return the certificates, each with the least value of its row over the states in the
    machine's reals.
    """
    certified = list(certified)
    if not observe or not certified:
        return [Divisor(certificate) for certificate in certified]
    port = Port("divisors", (len(certified),), tuple(certificate.row for certificate in certified))
    computed = machine_runner(replace(program, outputs=(port,)))(
        {port_of_input.name: states[port_of_input.name] for port_of_input in program.inputs}
    )
    least = np.asarray(computed["divisors"], dtype=float).min(axis=0)
    return [
        Divisor(certificate, float(value))
        for certificate, value in zip(certified, least, strict=True)
    ]


def _report_step(progress: Progress | None, step: str, done: int, total: int) -> None:
    """Report a step to the progress callback."""
    if progress is not None:
        progress(step, done, total)
