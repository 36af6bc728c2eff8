"""Mutation tests of generated C: does the self-test detect one-token errors in every robot?

`python -m tests.mutants_of_c` plants the errors.

The self-test must detect an error that moves a result, at the self-test's own states, further from
the truth than ten times the bound of correct C. Results are compared entry by entry; functions that
solve with the mass matrix are judged by M x − b. The distance is measured in ball arithmetic,
independently of the self-test.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

import symgen
from symgen.delivery.selftest import SEED, STATES
from symgen.description.tip import tip
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.verification.compiled import _ctypes_runner
from symgen.verification.evaluating import Results
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import allowance, is_difference
from symgen.verification.residuals import distances, largest_ratio
from symgen.verification.running_error import running_error_bounds
from symgen.vocabulary.derivatives import identifier_part
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.reals import REALS
from tests.shared.robots_for_tests import OPEN

FAR = 10
"""Multiple of the bound of correct C beyond which an error must be detected."""
EACH = 14
"""Default number of errors planted in a function."""
FLAGS = ("-std=c99", "-O0", "-ffp-contract=off", "-fPIC", "-w")
_TOKEN = re.compile(
    r"(?<=\.)(?:co)?sine\b|(?<![\w.])(?:\d+\.?\d*(?:e[-+]?\d+)?f?|[A-Za-z_]\w*)|[-+*/]"
)
_STATEMENT = re.compile(r"^ +(?:const \w+ \w+(?:\[\w+\])?|\w+\[\d+\]) = ([^;]+);", re.MULTILINE)
_LOCAL = re.compile(r"^    const (?:double|float) (\w+) = ", re.MULTILINE)


@dataclass(frozen=True)
class Error:
    line: int
    start: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


def errors(text: str) -> list[Error]:
    """Return every one-token error in the sums and products of the text of a function."""
    one_token_errors = []
    locals_ = [(match.end(), match[1]) for match in _LOCAL.finditer(text)]
    for statement in _STATEMENT.finditer(text):
        start = text.rfind(
            "\n{\n", 0, statement.start()
        )  # the start of this function, or of this part of it
        before = [name for at, name in locals_ if start < at < statement.start()]
        for token in _TOKEN.finditer(text, statement.start(1), statement.end(1)):
            for new in _mistakes(text, token, before):
                one_token_errors.append(
                    Error(text.count("\n", 0, token.start()) + 1, token.start(), token.end(), new)
                )
    return one_token_errors


def _mistakes(text: str, token: re.Match[str], before: Sequence[str]) -> Iterator[str]:
    """Yield plausible typing mistakes for a token."""
    word = token[0]
    indexed = text[token.start() - 1] == "["
    if word in "+-":
        yield {"+": "-", "-": "+"}[word]
    elif word in "*/":
        yield {"*": "/", "/": "*"}[word]
        if word == "*":
            yield " + "
    elif indexed:
        yield str(int(word) + 1) if int(word) == 0 else str(int(word) - 1)
    elif word[0].isdigit():
        yield _other_digit(word)
        yield f"(-{word})"
    elif word.rstrip("f") in ("sin", "cos"):
        yield {"sin": "cos", "cos": "sin"}[word.rstrip("f")] + word[3:]
    elif word in ("sine", "cosine"):
        yield {"sine": "cosine", "cosine": "sine"}[word]
    elif word in before:
        yield f"(-{word})"
        another = before[(before.index(word) + 1) % len(before)]
        if another != word:
            yield another


def _other_digit(word: str) -> str:
    """Change the first nonzero digit by one."""
    at = next((k for k, sign in enumerate(word) if sign in "123456789"), 0)
    return word[:at] + ("8" if word[at] == "9" else str(int(word[at]) + 1)) + word[at + 1 :]


@dataclass
class Verdict:
    far: float
    """Error of the worst entry, in multiples of the bound."""
    detected: bool
    changes_result: bool
    """True if any bit of a result changes."""

    @property
    def owed(self) -> bool:
        return not self.far <= FAR

    @property
    def missed(self) -> bool:
        return self.owed and not self.detected


@dataclass
class Plot:
    """A generated folder in which errors are planted one at a time."""

    mechanism: Mechanism
    real: str
    at: Path
    functions: Sequence[str] | None = None
    programs: dict[str, Program] = field(init=False)

    def __post_init__(self) -> None:
        self.generated = self.at / "made"
        manifest = symgen.generate(self.mechanism, self.generated, self.functions, real=self.real)
        self.robot = str(manifest["robot"])
        options = ProgramOptions(self.real, frame=tip(self.mechanism))
        self.programs = {
            f: build.build_program(self.mechanism, f, entry["method"], options)
            for f, entry in manifest["functions"].items()
        }
        for f in self.programs:
            self._library(f, self.text(f), self.at / "whole")
        test = [f"-D{self.robot}_SELFTEST", str(self.generated / f"{self.robot}_selftest.c")]
        _built(
            [
                *FLAGS,
                "-I",
                str(self.generated),
                *test,
                "-L",
                str(self.at / "whole"),
                *(f"-l{identifier_part(f)}" for f in self.programs),
                "-lm",
                "-o",
                str(self.at / "selftest"),
            ]
        )

    @cached_property
    def exact_results(self) -> ExactResults:
        return ExactResults(self.mechanism, STATES, SEED, frame=tip(self.mechanism))

    def text(self, function: str) -> str:
        return (self.generated / f"{self.robot}_{identifier_part(function)}.c").read_text(
            encoding="utf-8"
        )

    def _library(self, function: str, text: str, folder: Path) -> Path:
        folder.mkdir(exist_ok=True)
        source, library = (
            folder / f"{identifier_part(function)}.c",
            folder / f"lib{identifier_part(function)}.so",
        )
        source.write_text(text, encoding="utf-8")
        _built(
            [*FLAGS, "-shared", "-I", str(self.generated), str(source), "-o", str(library), "-lm"]
        )
        return library

    def selftest(self, function: str, folder: Path) -> bool:
        """True if the self-test passes the function, loaded from the library in `folder`."""
        pattern = rf"^{re.escape(function)}(?: \(to within [^)]*\))?: passed "
        return re.search(pattern, self._selftest_output(folder), re.MULTILINE) is not None

    def unjudged(self, function: str) -> bool:
        """True if the self-test reports that it does not judge the function."""
        return (
            re.search(
                rf"^{re.escape(function)}: not judged: ",
                self._selftest_output(self.at / "whole"),
                re.MULTILINE,
            )
            is not None
        )

    def _selftest_output(self, folder: Path) -> str:
        environment = {"LD_LIBRARY_PATH": f"{folder}:{self.at / 'whole'}"}
        completed = subprocess.run(
            [str(self.at / "selftest")],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return completed.stdout

    def judged(self, function: str, texts: Sequence[str]) -> list[Verdict]:
        """Return, for each text of a function, the verdict of the self-test and the error of
        results.
        """
        folders = [self.at / f"{identifier_part(function)}-{k}" for k in range(len(texts))]

        def passes_selftest(folder: Path, text: str) -> bool:
            self._library(function, text, folder)
            return not self.selftest(function, folder)

        try:
            with ThreadPoolExecutor(max_workers=2) as pool:
                passed = list(pool.map(passes_selftest, folders, texts))
            reference = self.results(function, self.at / "whole")
            verdicts = []
            for folder, passed_ in zip(folders, passed, strict=True):
                results = self.results(function, folder)
                changes_bits = any(
                    not np.array_equal(results[name], reference[name]) for name in reference
                )
                verdicts.append(
                    Verdict(
                        self.off(self.programs[function], results, reference), passed_, changes_bits
                    )
                )
            return verdicts
        finally:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)

    def results(self, function: str, folder: Path) -> Results:
        """Return the results of the library in `folder` at the states of the self-test."""
        call = getattr(
            ctypes.CDLL(str(folder / f"lib{identifier_part(function)}.so")),
            f"{self.robot}_{identifier_part(function)}",
        )
        return _ctypes_runner(self.programs[function], call)(
            self.exact_results.arguments(function, self.exact_results.floats)
        )

    def off(self, program: Program, results: Results, correct: Results) -> float:
        """Return the largest error of an entry, in bounds of correct C, whose results are
        `correct`.

        The bound uses the size of correct results, because an error may make results small.
        """
        if not all(np.isfinite(values).all() for values in results.values()):
            return float("inf")
        unit, loose = (
            REALS[program.real].eps * allowance(program, self.exact_results),
            is_difference(program, self.exact_results),
        )
        bounds = running_error_bounds(program, self.exact_results)
        computed, sound = (
            distances(program.function, self._entered(results_), self.exact_results, loose, bounds)
            for results_ in (results, correct)
        )
        with self.exact_results.scalars.working():
            return max(
                largest_ratio(computed[name].difference, sound[name].size * unit)[0]
                for name in computed
            )

    def _entered(self, results: Results) -> Results:
        return {
            name: self.exact_results.scalars.array(values.astype(float))
            for name, values in results.items()
        }


def _built(words: list[str]) -> None:
    completed = subprocess.run(["gcc", *words], capture_output=True, text=True, check=False)
    if completed.returncode:
        raise RuntimeError(completed.stderr.splitlines()[0])


def sample(text: str, count: int, seed: str) -> list[Error]:
    candidates = errors(text)
    return random.Random(seed).sample(candidates, min(count, len(candidates)))


def planted(plot: Plot, function: str, count: int, seed: int) -> list[tuple[Error, Verdict]]:
    """Return `count` errors of a function, each with its verdict."""
    text = plot.text(function)
    chosen = sample(text, count, f"{seed}/{plot.robot}/{plot.real}/{function}")
    return list(
        zip(chosen, plot.judged(function, [error.applied(text) for error in chosen]), strict=True)
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants_of_c", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--each", type=int, default=EACH, metavar="N", help=f"errors in a function (default {EACH})"
    )
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--robots", nargs="*", default=OPEN)
    options = parser.parse_args()
    total = np.zeros(5, dtype=int)
    lines = []
    print("robot              real    errors  felt  owed  seen  seen and owed", flush=True)
    for robot in options.robots:
        for real in REALS:
            with tempfile.TemporaryDirectory(prefix="symgen-mutants-") as name:
                plot = Plot(symgen.load(robot), real, Path(name))
                planted_errors = [
                    (f, *error_and_verdict)
                    for f in plot.programs
                    for error_and_verdict in planted(plot, f, options.each, options.seed)
                ]
            verdicts = [verdict for *_, verdict in planted_errors]
            counts = [
                len(planted_errors),
                sum(v.changes_result for v in verdicts),
                sum(v.owed for v in verdicts),
                sum(v.detected for v in verdicts),
                sum(v.owed and v.detected for v in verdicts),
            ]
            total += counts
            print(
                f"{robot:17}  {real:6}  {counts[0]:6}  {counts[1]:4}  {counts[2]:4}  {counts[3]:4} "
                f" {counts[4]:13}",
                flush=True,
            )
            lines += [
                f"missed: {robot} {real} {f} line {error.line}: {error.new!r}, {verdict.far:.3g}"
                " bounds off"
                for f, error, verdict in planted_errors
                if verdict.missed
            ]
    print("\n".join(lines))
    share = total[4] / max(1, total[2])
    print(
        f"{total[0]} errors, {total[1]} of which change a bit; {total[2]} are more than {FAR}"
        f" bounds off. The self-test sees {total[3]}, and of those that are so far off {total[4]}:"
        f" {100 * share:.2f} %"
    )
    return 0 if share >= 0.995 else 1


if __name__ == "__main__":
    raise SystemExit(main())
