"""Verification as a list of steps over one subject: each kind of check is a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, nan

from symgen.emission import printer, wrapper
from symgen.pipeline.build import Progress
from symgen.verification.algebra import check_algebra
from symgen.verification.blocks import BlockFiles, check_blocks
from symgen.verification.floating import check_floating
from symgen.verification.identities import check_identities
from symgen.verification.long import CHECK_METHODS, DIGITS, check_long_algebra, check_long_floating
from symgen.verification.report import Check, Report
from symgen.verification.run import UNCOMPILED, Run
from symgen.verification.subject import Subject
from symgen.verification.text import check_device, check_text
from symgen.vocabulary.functions import FUNCTIONS, PREPARING
from symgen.vocabulary.options import (
    GPU,
)


def verify_programs(subject: Subject, progress: Progress | None = None) -> Report:
    """Return the report of the Programs of a subject, from all steps."""
    run = Run(subject, progress)
    notes = _notes(run)
    for step in STEPS:
        for check in step(run):
            run.checks.append(check)
    if progress is not None:
        progress("done", run.total, run.total)
    exact_results, long_results = run.exact_results, run.long_results
    digits, condition = (
        (DIGITS, nan) if exact_results is None else (exact_results.digits, exact_results.condition)
    )
    return Report(
        subject.mechanism.name,
        subject.options.real,
        subject.states if long_results is None or exact_results is not None else long_results.count,
        digits,
        condition,
        tuple(run.checks),
        {run.labels[f]: program.cost for f, program in run.programs.items()},
        notes=notes,
    )


def _notes(run: Run) -> tuple[str, ...]:
    """Return remarks on the states and on how the exact results were computed."""
    notes: list[str] = []
    count = len(run.adjusted.parameters)
    if count:
        subject_and_verb = (
            "1 run-time number was" if count == 1 else f"{count} run-time numbers were"
        )
        notes.append(
            f"{subject_and_verb} drawn once, and the reference robot has"
            f" {'it' if count == 1 else 'them'}"
        )
    if (long_results := run.long_results) is not None:
        method_list = " and ".join(
            method_name
            for method_name, checks in CHECK_METHODS.items()
            if any(FUNCTIONS[name].long_check in checks for name in run.loops)
        )
        notes.append(
            f"long robot: {', '.join(run.loops)} checked at {long_results.count} "
            f"state{'s' * (long_results.count > 1)}, by {method_list}"
        )
    if (exact_results := run.exact_results) is not None and exact_results.indefinite:
        notes.append(
            "the declared inertias give an M that is not positive semidefinite at"
            f" {exact_results.indefinite} of {run.subject.states} states; its functions are"
            " compared nevertheless"
        )
    return tuple(notes)


def _algebra(run: Run) -> Iterator[Check]:
    """Yield the checks of the Programs with their own constants, over balls.

    Functions that prepare run-time parameters are checked through the functions that use their
    results.
    """
    for function, program in run.programs.items():
        if function in PREPARING:
            continue
        run.report_step(f"algebra of {function}")
        if run.long_results is not None and function in run.loops:
            yield check_long_algebra(run.loops[function], run.long_results, run.labels[function])
        elif run.exact_results is not None:
            yield check_algebra(program, run.exact_results, run.labels[function])


def _text(run: Run) -> Iterator[Check]:
    """Yield the checks of the C of every function, read back."""
    divisor_bounds = run.divisor_bounds
    run.require_compiler()
    for function, program in run.programs.items():
        run.report_step(f"text of {function}")
        checked = divisor_bounds[function] if run.subject.text.checked else None
        yield check_text(program, run.source(function), run.labels[function], run.target, checked)


def _floating_point(run: Run) -> Iterator[Check]:
    """Yield the checks of the compiled C against the exact results, in units of round-off."""
    run.report_step("compiling")
    runners, text = run.runners, run.subject.text
    for function, program in run.programs.items():
        run.report_step(f"floating point of {function}")
        label = run.labels[function]
        if run.broken:
            yield Check("floating", label, inf, 0.0, " eps", run.broken)
        elif run.long_results is not None and function in run.loops:
            yield run.unless_compiled(
                check_long_floating(
                    run.loops[function], runners[function], run.long_results, label, text
                )
            )
        elif run.exact_results is not None:
            yield run.unless_compiled(
                check_floating(program, runners[function], run.exact_results, label, text)
            )


def _blocks(run: Run) -> Iterator[Check]:
    """Yield the checks of the functions for blocks of states, if the text has them."""
    if not run.subject.text.batch:
        return
    run.report_step("many states")
    blocks = run.subject.files.blocks or printer().batches(
        run.programs, run.target, run.divisor_bounds
    )
    files = BlockFiles(blocks, run.headers, run.target, run.divisor_bounds)
    uncompiled = "the function of one state does not compile" if run.broken else UNCOMPILED
    runners = run.runners if run.compiled else {}
    yield from check_blocks(run.programs, files, run.arguments, runners, uncompiled)


def _device(run: Run) -> Iterator[Check]:
    """Yield the checks of the functions for a GPU, if the text has them."""
    if GPU not in run.subject.text.wrap:
        return
    divisor_bounds, target = run.divisor_bounds, run.target
    device = run.subject.files.device or wrapper(GPU).files(run.programs, target, divisor_bounds)
    yield from check_device(
        run.programs, device, run.headers[target.header], target, divisor_bounds
    )


def _identities(run: Run) -> Iterator[Check]:
    """Yield the checks of the functions against each other."""
    run.report_step("identities")
    if run.exact_results is None:
        return
    lost = {check.subject.partition("=")[0] for check in run.checks if check.lost}
    programs = {f: form for f, form in run.every_program.items() if f not in run.loops}
    runners = {f: runner for f, runner in run.runners.items() if f in programs} or None
    for check in check_identities(programs, runners, run.exact_results, run.subject.text, lost):
        yield run.unless_compiled(check) if check.unit else check


STEPS: tuple[Callable[[Run], Iterator[Check]], ...] = (
    _algebra,
    _text,
    _floating_point,
    _blocks,
    _device,
    _identities,
)
"""The kinds of checks, in the order of the report."""
