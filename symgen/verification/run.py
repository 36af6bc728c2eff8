"""One run of a verification: the checks so far, and what its steps share, each worked out when a step first needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from symgen.certificate import checked_floors
from symgen.description.tip import tip
from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.build import Progress
from symgen.reference.precision import Array
from symgen.support.errors import BuildError
from symgen.verification.adjusted import Given, given
from symgen.verification.compiled import compiled_runners, preprocessed, require_compiler, texts
from symgen.verification.evaluating import Runner, in_machine_reals, over
from symgen.verification.long import LONG, LongTruth
from symgen.verification.report import Check
from symgen.verification.subject import Floors, Subject
from symgen.verification.text import Source
from symgen.verification.truth import Truth
from symgen.vocabulary.functions import PREPARING
from symgen.vocabulary.options import Links
from symgen.vocabulary.target import Target

UNCOMPILED = "its C was not compiled: the Program ran over NumPy's reals instead"


class Run:
    """A subject under verification. Steps read from it, and their checks are added to `checks`."""

    def __init__(self, subject: Subject, progress: Progress | None = None) -> None:
        self.subject, self.progress = subject, progress
        self.programs, self.compiled = subject.programs, subject.compiled
        self.checks: list[Check] = []
        self.total = 3 * len(subject.programs) + 2
        self.labels = {f: f"{f}={program.method}" for f, program in subject.programs.items()}
        self.loops = judged_as_long(subject.mechanism, subject.programs)
        """Functions that the reference has no time for."""

    def tell(self, step: str) -> None:
        """Report the step that begins."""
        if self.progress is not None:
            self.progress(step, len(self.checks), self.total)

    @cached_property
    def every_program(self) -> dict[str, Form]:
        """The programs with the helpers."""
        return {**self.subject.helpers, **self.programs}

    # -- the exact answers --

    @cached_property
    def frame(self) -> Links:
        """The frames that were named, or the last link."""
        mechanism = self.subject.mechanism
        return self.subject.options.frame or (tip(mechanism) if mechanism.frames else None)

    @cached_property
    def adjusted(self) -> Given:
        """The robot with other numbers, where they may change at run time."""
        subject = self.subject
        return given(subject.mechanism, self.every_program, subject.options, subject.seed)

    @cached_property
    def long_truth(self) -> LongTruth | None:
        """The answers of the loops over links of a long robot."""
        if not self.loops:
            return None
        subject = self.subject
        return LongTruth(subject.mechanism, subject.states, subject.seed, self.frame)

    @cached_property
    def truth(self) -> Truth | None:
        """The answers of all else."""
        if self.loops.keys() >= self.programs.keys():
            return None
        subject, options = self.subject, self.subject.options
        truth = Truth(
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
        truth.know({f: over(truth.scalars, program) for f, program in preparing.items()})
        return truth

    def arguments(self, form: Form) -> Mapping[str, Array]:
        """The arguments of a function at the states, in machine numbers."""
        if self.long_truth is not None and form.looped:
            return self.long_truth.arguments(form, self.long_truth.floats)
        assert self.truth is not None
        return self.truth.arguments(form.function, self.truth.floats)

    # -- the text --

    @cached_property
    def target(self) -> Target:
        """The names in the C."""
        subject = self.subject
        name = subject.files.name or subject.mechanism.name
        return Target(name, subject.mechanism.sizes, subject.text)

    @cached_property
    def floors(self) -> Floors:
        """The certified bounds of divisors."""
        subject = self.subject
        return subject.floors or checked_floors(
            subject.mechanism, self.every_program, subject.options, subject.text
        )

    @cached_property
    def headers(self) -> dict[str, str]:
        """The headers that the C includes: a folder's own, without one that it has lost."""
        files, target = self.subject.files, self.target
        if files.header is None:
            return printer().headers(self.every_program, target)
        return {target.header: files.header} | (
            {target.sincos: files.sincos} if files.sincos else {}
        )

    @cached_property
    def printed(self) -> dict[str, str]:
        """The C by function: a folder's, and that of all other functions as the backend prints it."""
        sources = self.subject.files.sources
        missing = {f: program for f, program in self.every_program.items() if f not in sources}
        return {**texts(missing, self.target, self.floors), **sources}

    @cached_property
    def preprocessed(self) -> dict[str, str]:
        """A folder's C as the compiler's preprocessor shows it."""
        if not (self.subject.files.sources and self.compiled):
            return {}
        return preprocessed(self.printed, self.headers, self.target)

    def source(self, function: str) -> Source:
        """The C of one function, with the headers of a folder."""
        files = self.subject.files
        seen = self.preprocessed.get(function, "")
        return Source(self.printed[function], files.header or "", files.sincos, seen)

    # -- the compiled functions --

    def require_compiler(self) -> None:
        """Raise BuildError where the C is to be compiled and there is no compiler."""
        if self.compiled:
            require_compiler()

    @cached_property
    def _compilation(self) -> tuple[dict[str, Runner], str]:
        """The callable functions; none, with a sentence, where the C of a folder does not compile."""
        if not self.compiled:
            return {f: in_machine_reals(p) for f, p in self.every_program.items()}, ""
        try:
            return (
                compiled_runners(self.every_program, self.printed, self.headers, self.target),
                "",
            )
        except BuildError as error:  # a folder's text may be broken; the backend's own compiles
            if not self.subject.files.sources:
                raise
            return {}, str(error)

    @property
    def runners(self) -> dict[str, Runner]:
        """One callable a function: its compiled C, or the Program over NumPy's reals."""
        return self._compilation[0]

    @property
    def broken(self) -> str:
        """Why the C does not compile; empty where it does."""
        return self._compilation[1]

    def unless_compiled(self, check: Check) -> Check:
        """The check; it is not judged where the C was not compiled."""
        return check if self.compiled or check.unjudged else replace(check, unjudged=UNCOMPILED)


def judged_as_long(mechanism: Mechanism, programs: Mapping[str, Form]) -> dict[str, Form]:
    """Return the programs that are loops over the links of a long robot, which the reference has no time for."""
    return {f: form for f, form in programs.items() if form.looped and len(mechanism.joints) > LONG}
