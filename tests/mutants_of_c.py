"""Does the self-test see it? One-token errors in the generated C of every built-in robot (`python -m tests.mutants_of_c`).

An error is one that the self-test owes an answer to when, at the self-test's own states, it takes a result further from the truth
than ten times what is allowed to C without errors: entry by entry, of M x − b for what solves with the mass matrix. How far that
is, is measured apart from the self-test, over balls.
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
from symgen.verification.floating import allowance, is_difference
from symgen.verification.residuals import distances, largest_ratio
from symgen.verification.running_error import running_error_bounds
from symgen.verification.truth import Truth
from symgen.vocabulary.derivatives import identifier_part
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.reals import REALS
from tests.shared.robots_for_tests import OPEN

FAR = 10
"""How many times the bound of C without errors an error must reach before it has to be seen."""
EACH = 14
"""Errors planted in a function, unless told."""
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
    """Every error of one token in the sums and products of a function's text."""
    found = []
    locals_ = [(match.end(), match[1]) for match in _LOCAL.finditer(text)]
    for statement in _STATEMENT.finditer(text):
        begun = text.rfind("\n{\n", 0, statement.start())  # of this function, or of this part of it
        before = [name for at, name in locals_ if begun < at < statement.start()]
        for token in _TOKEN.finditer(text, statement.start(1), statement.end(1)):
            for new in _others(text, token, before):
                found.append(
                    Error(text.count("\n", 0, token.start()) + 1, token.start(), token.end(), new)
                )
    return found


def _others(text: str, token: re.Match[str], before: Sequence[str]) -> Iterator[str]:
    """What a tired hand writes instead of the token."""
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
        other = before[(before.index(word) + 1) % len(before)]
        if other != word:
            yield other


def _other_digit(word: str) -> str:
    """The first digit that is none of zero, one more or less."""
    at = next((k for k, sign in enumerate(word) if sign in "123456789"), 0)
    return word[:at] + ("8" if word[at] == "9" else str(int(word[at]) + 1)) + word[at + 1 :]


@dataclass
class Verdict:
    far: float
    """How far off the worst entry is, in bounds."""
    seen: bool
    felt: bool
    """Whether a bit of a result changes at all."""

    @property
    def owed(self) -> bool:
        return not self.far <= FAR

    @property
    def missed(self) -> bool:
        return self.owed and not self.seen


@dataclass
class Plot:
    """The folder that `generate` gives for a robot, in which errors are planted one at a time."""

    mechanism: Mechanism
    real: str
    at: Path
    functions: Sequence[str] | None = None
    programs: dict[str, Program] = field(init=False)

    def __post_init__(self) -> None:
        self.made = self.at / "made"
        manifest = symgen.generate(self.mechanism, self.made, self.functions, real=self.real)
        self.robot = str(manifest["robot"])
        options = ProgramOptions(self.real, frame=tip(self.mechanism))
        self.programs = {
            f: build.build_program(self.mechanism, f, entry["method"], options)
            for f, entry in manifest["functions"].items()
        }
        for f in self.programs:
            self._library(f, self.text(f), self.at / "whole")
        test = [f"-D{self.robot}_SELFTEST", str(self.made / f"{self.robot}_selftest.c")]
        _built(
            [
                *FLAGS,
                "-I",
                str(self.made),
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
    def truth(self) -> Truth:
        return Truth(self.mechanism, STATES, SEED, frame=tip(self.mechanism))

    def text(self, function: str) -> str:
        return (self.made / f"{self.robot}_{identifier_part(function)}.c").read_text(
            encoding="utf-8"
        )

    def _library(self, function: str, text: str, folder: Path) -> Path:
        folder.mkdir(exist_ok=True)
        source, library = (
            folder / f"{identifier_part(function)}.c",
            folder / f"lib{identifier_part(function)}.so",
        )
        source.write_text(text, encoding="utf-8")
        _built([*FLAGS, "-shared", "-I", str(self.made), str(source), "-o", str(library), "-lm"])
        return library

    def selftest(self, function: str, folder: Path) -> bool:
        """Whether the self-test passes the function, with the library in `folder` before the whole one."""
        said = rf"^{re.escape(function)}(?: \(to within [^)]*\))?: passed "
        return re.search(said, self._says(folder), re.MULTILINE) is not None

    def unjudged(self, function: str) -> bool:
        """Whether the self-test says that it does not judge the function."""
        return (
            re.search(
                rf"^{re.escape(function)}: not judged, ",
                self._says(self.at / "whole"),
                re.MULTILINE,
            )
            is not None
        )

    def _says(self, folder: Path) -> str:
        where = {"LD_LIBRARY_PATH": f"{folder}:{self.at / 'whole'}"}
        done = subprocess.run(
            [str(self.at / "selftest")],
            env=os.environ | where,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def judged(self, function: str, texts: Sequence[str]) -> list[Verdict]:
        """What the self-test says of these texts of a function, and how far off their results are."""
        folders = [self.at / f"{identifier_part(function)}-{k}" for k in range(len(texts))]

        def seen(folder: Path, text: str) -> bool:
            self._library(function, text, folder)
            return not self.selftest(function, folder)

        try:
            with ThreadPoolExecutor(max_workers=2) as pool:
                passed = list(pool.map(seen, folders, texts))
            whole = self.results(function, self.at / "whole")
            verdicts = []
            for folder, one in zip(folders, passed, strict=True):
                results = self.results(function, folder)
                felt = any(not np.array_equal(results[name], whole[name]) for name in whole)
                verdicts.append(
                    Verdict(self.off(self.programs[function], results, whole), one, felt)
                )
            return verdicts
        finally:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)

    def results(self, function: str, folder: Path) -> Results:
        """Of the library in `folder`, at the self-test's states."""
        call = getattr(
            ctypes.CDLL(str(folder / f"lib{identifier_part(function)}.so")),
            f"{self.robot}_{identifier_part(function)}",
        )
        return _ctypes_runner(self.programs[function], call)(
            self.truth.arguments(function, self.truth.floats)
        )

    def off(self, program: Program, results: Results, whole: Results) -> float:
        """The largest distance of an entry from the truth, in bounds of C without errors, whose results are `whole`.

        What a residual is relative to is a size of the answer, and an error may make that small.
        """
        if not all(np.isfinite(values).all() for values in results.values()):
            return float("inf")
        unit, loose = (
            REALS[program.real].eps * allowance(program, self.truth),
            is_difference(program, self.truth),
        )
        own = running_error_bounds(program, self.truth)
        found, sound = (
            distances(program.function, self._entered(one), self.truth, loose, own)
            for one in (results, whole)
        )
        with self.truth.scalars.working():
            return max(
                largest_ratio(found[name].difference, sound[name].size * unit)[0] for name in found
            )

    def _entered(self, results: Results) -> Results:
        return {
            name: self.truth.scalars.array(values.astype(float)) for name, values in results.items()
        }


def _built(words: list[str]) -> None:
    done = subprocess.run(["gcc", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.splitlines()[0])


def sample(text: str, count: int, seed: str) -> list[Error]:
    found = errors(text)
    return random.Random(seed).sample(found, min(count, len(found)))


def planted(plot: Plot, function: str, count: int, seed: int) -> list[tuple[Error, Verdict]]:
    """So many errors of a function, each with its verdict."""
    text = plot.text(function)
    chosen = sample(text, count, f"{seed}/{plot.robot}/{plot.real}/{function}")
    return list(
        zip(chosen, plot.judged(function, [one.applied(text) for one in chosen]), strict=True)
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
                found = [
                    (f, *one)
                    for f in plot.programs
                    for one in planted(plot, f, options.each, options.seed)
                ]
            verdicts = [verdict for *_, verdict in found]
            counts = [
                len(found),
                sum(v.felt for v in verdicts),
                sum(v.owed for v in verdicts),
                sum(v.seen for v in verdicts),
                sum(v.owed and v.seen for v in verdicts),
            ]
            total += counts
            print(
                f"{robot:17}  {real:6}  {counts[0]:6}  {counts[1]:4}  {counts[2]:4}  {counts[3]:4}  {counts[4]:13}",
                flush=True,
            )
            lines += [
                f"missed: {robot} {real} {f} line {error.line}: {error.new!r}, {verdict.far:.3g} bounds off"
                for f, error, verdict in found
                if verdict.missed
            ]
    print("\n".join(lines))
    share = total[4] / max(1, total[2])
    print(
        f"{total[0]} errors, {total[1]} of which change a bit; {total[2]} are more than {FAR} bounds off. The self-test sees "
        f"{total[3]}, and of those that are so far off {total[4]}: {100 * share:.2f} %"
    )
    return 0 if share >= 0.995 else 1


if __name__ == "__main__":
    raise SystemExit(main())
