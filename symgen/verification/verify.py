"""Verification of a robot's functions: four independent kinds of checks, one report.

    report = symgen.verify("panda")
    report.passed      # True
    print(report)      # the table that `symgen verify panda` prints
    report.facts()     # the same as plain data

`symgen.verify` is defined in `symgen.delivery.verifying`, which also checks the other files of a
folder.
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
    """Return the report of `symgen.verify` for a robot description (not for a folder)."""
    validate_states(states)
    mechanism, options = request.mechanism, request.options
    programs, refused = _requested_programs(request, progress)
    helpers: dict[str, Form] = {}
    if request.functions is not None:  # a single function is then checked by an identity as well
        helpers = _companion_programs(mechanism, programs, options)
    together = build.with_parameters({**programs, **helpers}, mechanism, options)
    subject = Subject(
        mechanism,
        {f: program for f, program in together.items() if f not in helpers},
        options,
        request.text,
        states,
        seed,
        compiled,
        helpers={f: together[f] for f in helpers},
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
                or f"its code is long for {mechanism.nv} joints; request it with -f {name}"
            )
    programs, beyond = build.programs_and_refusals(request, progress, each_by_itself=True)
    return {name: programs[name] for name in names if name in programs}, refused | beyond


def _companion_programs(
    mechanism: Mechanism, programs: Mapping[str, Form], options: ProgramOptions
) -> dict[str, Form]:
    """Return Programs of the other functions that the first identity of each of `programs` needs."""
    long = long_loops(mechanism, programs)
    names = dict.fromkeys(
        name
        for function in programs
        if function not in long
        for name in companions(function, mechanism)
    )
    return {
        name: build.build_program(mechanism, name, None, replace(options, effort=NORMAL))
        for name in names
        if name not in programs and build.refusal(mechanism, name, options.payload) is None
    }
