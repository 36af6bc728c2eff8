"""One run of a verification: the checks so far, and shared values, each computed when a step first
needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from symgen.certificate import checked_bounds
from symgen.description.tip import tip
from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.build import Progress
from symgen.reference.precision import Array
from symgen.support.errors import BuildError
from symgen.verification.adjusted import AdjustedRobot, draw_adjusted_robot
from symgen.verification.compiled import (
    compiled_runners,
    preprocess,
    print_sources,
    require_compiler,
)
from symgen.verification.evaluating import Runner, machine_runner, scalar_runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.long import LONG, LongExactResults
from symgen.verification.report import Check
from symgen.verification.subject import DivisorBounds, Subject
from symgen.verification.text import Source
from symgen.vocabulary.functions import PREPARING
from symgen.vocabulary.options import Links
from symgen.vocabulary.target import Target

UNCOMPILED = "its C was not compiled: the Program ran over NumPy's reals instead"
"""Reason why a check without a compiler is not judged."""


class Run:
    """A subject under verification. Steps read from it, and their checks are added to `checks`."""

    def __init__(self, subject: Subject, progress: Progress | None = None) -> None:
        self.subject, self.progress = subject, progress
        self.programs, self.compiled = subject.programs, subject.compiled
        self.checks: list[Check] = []
        self.total = 3 * len(subject.programs) + 2
        self.labels = {f: f"{f}={program.method}" for f, program in subject.programs.items()}
        self.loops = long_loops(subject.mechanism, subject.programs)
        """Functions that are too long for the reference."""

    def report_step(self, step: str) -> None:
        """Report the step that begins to the progress callback."""
        if self.progress is not None:
            self.progress(step, len(self.checks), self.total)

    @cached_property
    def every_program(self) -> dict[str, Form]:
        """Return the programs together with the helpers."""
        return {**self.subject.helpers, **self.programs}

    # -- the exact answers --

    @cached_property
    def frame(self) -> Links:
        """Return the frames that the user named, or the last link."""
        mechanism = self.subject.mechanism
        return self.subject.options.frame or (tip(mechanism) if mechanism.frames else None)

    @cached_property
    def adjusted(self) -> AdjustedRobot:
        """Return the robot with other numbers, if numbers change at run time."""
        subject = self.subject
        return draw_adjusted_robot(
            subject.mechanism, self.every_program, subject.options, subject.seed
        )

    @cached_property
    def long_results(self) -> LongExactResults | None:
        """Return the exact results for the looped functions of a long robot."""
        if not self.loops:
            return None
        subject = self.subject
        return LongExactResults(subject.mechanism, subject.states, subject.seed, self.frame)

    @cached_property
    def exact_results(self) -> ExactResults | None:
        """Return the exact results for all other functions."""
        if self.loops.keys() >= self.programs.keys():
            return None
        subject, options = self.subject, self.subject.options
        exact_results = ExactResults(
            subject.mechanism,
            subject.states,
            subject.seed,
            frame=self.frame,
            payload=options.payload,
            wrench=options.wrench,
            task_rows=options.rows,
            contact=options.contact,
            convention=options.convention,
            adjusted=self.adjusted,
            baumgarte=options.baumgarte,
        )
        preparing = {f: p for f, p in self.every_program.items() if f in PREPARING}
        exact_results.set_results(
            {f: scalar_runner(exact_results.scalars, program) for f, program in preparing.items()}
        )
        return exact_results

    def arguments(self, form: Form) -> Mapping[str, Array]:
        """Return the arguments of a function at the states, in machine numbers."""
        if self.long_results is not None and form.looped:
            return self.long_results.arguments(form, self.long_results.floats)
        assert self.exact_results is not None
        return self.exact_results.arguments(form.function, self.exact_results.floats)

    # -- the text --

    @cached_property
    def target(self) -> Target:
        """Return the names in the C."""
        subject = self.subject
        name = subject.files.name or subject.mechanism.name
        return Target(name, subject.mechanism.sizes, subject.text)

    @cached_property
    def divisor_bounds(self) -> DivisorBounds:
        """Return the certified bounds of divisors."""
        subject = self.subject
        return subject.divisor_bounds or checked_bounds(
            subject.mechanism, self.every_program, subject.options, subject.text
        )

    @cached_property
    def headers(self) -> dict[str, str]:
        """Return the headers that the C includes: those of the folder, except a missing one, or
        freshly printed ones.
        """
        files, target = self.subject.files, self.target
        if files.header is None:
            return printer().headers(self.every_program, target)
        return {target.header: files.header} | (
            {target.sincos_file: files.sincos} if files.sincos else {}
        )

    @cached_property
    def printed(self) -> dict[str, str]:
        """Return the C by function: the folder's, and for other functions freshly printed C."""
        sources = self.subject.files.sources
        missing = {f: program for f, program in self.every_program.items() if f not in sources}
        return {**print_sources(missing, self.target, self.divisor_bounds), **sources}

    @cached_property
    def preprocessed(self) -> dict[str, str]:
        """Return the output of the compiler's preprocessor for a folder's C."""
        if not (self.subject.files.sources and self.compiled):
            return {}
        return preprocess(self.printed, self.headers, self.target)

    def source(self, function: str) -> Source:
        """Return the C of one function, with the headers of a folder."""
        files = self.subject.files
        preprocessed = self.preprocessed.get(function, "")
        return Source(self.printed[function], files.header or "", files.sincos, preprocessed)

    # -- the compiled functions --

    def require_compiler(self) -> None:
        """Raise BuildError if the C is to be compiled and there is no compiler."""
        if self.compiled:
            require_compiler()

    @cached_property
    def _compilation(self) -> tuple[dict[str, Runner], str]:
        """Return the callable functions; none and the compiler's error if a folder's C does not
        compile.
        """
        if not self.compiled:
            return {f: machine_runner(p) for f, p in self.every_program.items()}, ""
        try:
            return (
                compiled_runners(self.every_program, self.printed, self.headers, self.target),
                "",
            )
        except BuildError as error:  # a folder's C may be edited; freshly printed C always compiles
            if not self.subject.files.sources:
                raise
            return {}, str(error)

    @property
    def runners(self) -> dict[str, Runner]:
        """Return one callable per function: its compiled C, or the Program over NumPy's reals."""
        return self._compilation[0]

    @property
    def broken(self) -> str:
        """Return why the C does not compile; empty if it compiles."""
        return self._compilation[1]

    def unless_compiled(self, check: Check) -> Check:
        """Return the check; it is not judged if the C was not compiled."""
        return check if self.compiled or check.unjudged else replace(check, unjudged=UNCOMPILED)


def long_loops(mechanism: Mechanism, programs: Mapping[str, Form]) -> dict[str, Form]:
    """Return the programs that are loops over the links of a long robot, which take too long for
    the reference.
    """
    return {f: form for f, form in programs.items() if form.looped and len(mechanism.joints) > LONG}
