"""Are the functions the robot's dynamics? Four independent answers, one report.

    report = symgen.verify("panda")
    report.passed      # True
    print(report)      # the table that `symgen verify panda` prints
    report.facts()     # the same for programs

`symgen.verify` is `symgen.delivery.verifying`, which knows the other files of a folder as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike

from symgen.description.loading import load
from symgen.ir.recursion import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.pipeline.build import Progress
from symgen.verification.identities import companions
from symgen.verification.report import Report
from symgen.verification.run import judged_as_long
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject, validate_states
from symgen.vocabulary.functions import BY_DEFAULT, USUAL
from symgen.vocabulary.options import (
    AUTO,
    HOST,
    NORMAL,
    Links,
    Names,
    ProgramOptions,
    Rows,
    TextOptions,
    names_of,
)


def verify(
    robot: Mechanism | str | PathLike[str],
    functions: Iterable[str] | None = None,
    states: int = 16,
    *,
    real: str = "double",
    frame: Links = None,
    payload: str | None = None,
    wrench: Links = None,
    jacobian_frame: str = USUAL.frame,
    jacobian_order: str = USUAL.order,
    task_rows: Rows = None,
    contact: Links = None,
    effort: str = NORMAL,
    trig: str = HOST,
    checked: bool = False,
    parameters: Names = (),
    baumgarte: bool = False,
    form: str = AUTO,
    seed: int = 0,
    compiled: bool = True,
    progress: Progress | None = None,
) -> Report:
    """`symgen.verify` of what is no folder: a Mechanism, a built-in name, a description file or its text."""
    validate_states(states)
    functions = (
        None
        if functions is None
        else [functions]
        if isinstance(functions, str)
        else list(functions)
    )
    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    options = ProgramOptions(
        real,
        frame=frame,
        payload=payload,
        wrench=wrench,
        jacobian_frame=jacobian_frame,
        jacobian_order=jacobian_order,
        task_rows=task_rows,
        contact=contact,
        effort=effort,
        parameters=names_of(parameters),
        baumgarte=baumgarte,
        form=form,
    ).guarded(checked)
    text = TextOptions(trig, checked=checked)
    programs, refused = _requested_programs(mechanism, functions, options, progress)
    helpers: dict[str, Form] = {}
    if functions is not None:  # so that a function alone is checked by an identity too
        helpers = _companion_programs(mechanism, programs, options)
    together = build.together({**programs, **helpers}, mechanism, options)
    subject = Subject(
        mechanism,
        {f: program for f, program in together.items() if f not in helpers},
        options,
        text,
        states,
        seed,
        compiled,
        helpers={f: together[f] for f in helpers},
    )
    return replace(verify_programs(subject, progress), refused=refused)


def _requested_programs(
    mechanism: Mechanism,
    functions: list[str] | None,
    options: ProgramOptions,
    progress: Progress | None,
) -> tuple[dict[str, Form], dict[str, str]]:
    """Return the requested Programs in their order, and why others of the default ones are refused."""
    wanted = build.requested(mechanism, functions, options.payload)
    refused = {}
    for name in BY_DEFAULT:
        if functions is None and name not in wanted:
            refused[name] = (
                build.refusal(mechanism, name, options.payload)
                or f"{mechanism.nv} joints make it long; ask for it with -f {name}"
            )
    programs, beyond = build.one_by_one(mechanism, functions, options, progress)
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
        name: build.made(mechanism, name, None, replace(options, effort=NORMAL))
        for name in names
        if name not in programs and build.refusal(mechanism, name, options.payload) is None
    }
