"""Are the functions the robot's dynamics? Four independent answers, one report.

    report = symgen.verify("panda")
    report.passed      # True
    print(report)      # the table that `symgen verify panda` prints
    report.facts()     # the same for programs

`symgen.verify` is `symgen.delivery.verifying`, which knows the other files of a folder as well.
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
from symgen.verification.run import judged_as_long
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
    """`symgen.verify` of what is no folder."""
    validate_states(states)
    mechanism, options = request.mechanism, request.options
    programs, refused = _requested_programs(request, progress)
    helpers: dict[str, Form] = {}
    if request.functions is not None:  # so that a function alone is checked by an identity too
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
    """Return the requested Programs in their order, and why others of the default ones are refused."""
    mechanism, payload = request.mechanism, request.options.payload
    wanted = build.requested(mechanism, request.functions, payload)
    refused = {}
    for name in BY_DEFAULT:
        if request.functions is None and name not in wanted:
            refused[name] = (
                build.refusal(mechanism, name, payload)
                or f"{mechanism.nv} joints make it long; ask for it with -f {name}"
            )
    programs, beyond = build.programs_and_refusals(request, progress, each_by_itself=True)
    return {name: programs[name] for name in wanted if name in programs}, refused | beyond


def _companion_programs(
    mechanism: Mechanism, programs: Mapping[str, Form], options: ProgramOptions
) -> dict[str, Form]:
    """Return Programs of other functions that the first identity of each of `programs` needs."""
    long = judged_as_long(mechanism, programs)
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
