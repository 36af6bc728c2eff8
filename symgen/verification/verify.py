"""Verification of a robot's functions: four independent kinds of checks, one report.

    report = symgen.verify("panda")
    report.passed      # True
    print(report)      # the table that `symgen verify panda` prints
    report.facts()     # the same as plain data

`symgen.verify` is defined in `symgen.delivery.verifying`, which also checks a folder of
generated files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from symgen.ir.loops import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.pipeline.build import Progress
from symgen.pipeline.request import Request
from symgen.verification.identities import companions
from symgen.verification.report import Report
from symgen.verification.run import long_loops
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject, validate_states
from symgen.vocabulary.functions import BY_DEFAULT
from symgen.vocabulary.options import NORMAL, ProgramOptions


def verify(
    request: Request,
    states: int = 16,
    *,
    seed: int = 0,
    compiled: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Verify the functions of a request at `states` random states, drawn with `seed`.

    `compiled`: compile and run the C, too.
    """
    validate_states(states)
    mechanism, options = request.mechanism, request.options
    programs, refused = _requested_programs(request, progress)
    helpers: dict[str, Form] = {}
    if request.functions is not None:  # named functions need others for their identities
        helpers = _companion_programs(mechanism, programs, options)
    all_programs = build.with_parameters({**programs, **helpers}, mechanism, options)
    subject = Subject(
        mechanism,
        {f: program for f, program in all_programs.items() if f not in helpers},
        options,
        request.text,
        states,
        seed,
        compiled,
        helpers={f: all_programs[f] for f in helpers},
    )
    return replace(verify_programs(subject, progress), refused=refused)


def _requested_programs(
    request: Request, progress: Progress | None
) -> tuple[dict[str, Form], dict[str, str]]:
    """Return the requested Programs in their order, and the reasons for which other default
    functions are left out.
    """
    mechanism, payload = request.mechanism, request.options.payload
    names = build.requested(mechanism, request.functions, payload)
    refused = {}
    for name in BY_DEFAULT:
        if request.functions is None and name not in names:
            refused[name] = (
                build.refusal(mechanism, name, payload)
                or f"its code is too long to be a default for {mechanism.nv} degrees of freedom;"
                f" request it with -f {name}"
            )
    programs, build_refusals = build.programs_and_refusals(request, progress, each_by_itself=True)
    return {name: programs[name] for name in names if name in programs}, refused | build_refusals


def _companion_programs(
    mechanism: Mechanism, programs: Mapping[str, Form], options: ProgramOptions
) -> dict[str, Form]:
    """Return the functions beside `programs` that the first identity of each of them needs.

    Functions with long loops are not checked by identities. Functions that the robot cannot have
    are left out.
    """
    functions_with_long_loops = long_loops(mechanism, programs)
    names = dict.fromkeys(
        name
        for function in programs
        if function not in functions_with_long_loops
        for name in companions(function, mechanism)
    )
    return {
        name: build.build_program(mechanism, name, None, replace(options, effort=NORMAL))
        for name in names
        if name not in programs and build.refusal(mechanism, name, options.payload) is None
    }
