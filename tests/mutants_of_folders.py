"""Mutation tests of `symgen verify DIR`: does it refuse one-token errors in generated text?

`python -m tests.mutants_of_folders` plants the errors.

One token of a generated file is replaced at a time: a name by another name of its function, a digit
or an operator. The files are those of loops, segments, parallel scans, functions for many states
and functions for a GPU, with the headers that they include.

`verify` is called with the names of the functions. It then reads the text, runs it, and compares
functions with each other, but does not compare files with freshly generated ones. An error that
this call does not refuse must leave every result of the compiled function unchanged. The command
without names compares every file byte for byte, and must refuse the remaining errors.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import symgen
from symgen.support.errors import SymgenError
from symgen.verification.blocks import BlockFiles, read_block
from symgen.verification.folder import programs as programs_of
from symgen.verification.folder import read_folder
from symgen.verification.report import Check
from symgen.verification.run import Run
from symgen.verification.subject import Subject
from symgen.verification.text import Source, check_device, check_text
from symgen.vocabulary.target import Target
from tests.shared.cuda_tools import HERE

KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "loops": ("ur5", "forward_dynamics", {"form": "looped"}),
    "loops, checked": ("quadruped", "inverse_dynamics", {"form": "looped", "checked": True}),
    "segments": ("planar_point_mass:40", "mass_matrix_solve=fixman:segments", {"form": "looped"}),
    "scan": ("planar_point_mass:40", "mass_matrix_solve=fixman:parallel", {"form": "looped"}),
    "batch": ("scara", "forward_dynamics", {"batch": True}),
    "batch, checked": ("planar_arm", "forward_dynamics", {"batch": True, "checked": True}),
    "batch of loops": ("ur5", "inverse_dynamics", {"batch": True, "form": "looped"}),
    "cuda": ("scara", "forward_dynamics", {"wrap": ["cuda"]}),
    "cuda, checked": ("planar_arm", "forward_dynamics", {"wrap": ["cuda"], "checked": True}),
    "cuda of loops": ("ur5", "inverse_dynamics", {"wrap": ["cuda"], "form": "looped"}),
}
"""Kind of text -> robot, function and options."""
EDGE = 8
"""Number of elements after the end of each array, which must stay unchanged."""
PATIENCE = 20
"""Seconds after which a program counts as endless."""
OWED = 0.995
"""Least fraction of errors that must be refused."""
_TOKEN = re.compile(
    r"[-+*/]=|[<>=!]=|&&|\|\||\+\+|--|>>|(?<![\w.])\d+\.?\d*(?:e[-+]?\d+)?f?|"
    r"[A-Za-z_]\w*|[-+*/%<>!?:=]"
)
_SWAPPED = {
    "&&": ("||",),
    "||": ("&&",),
    "<": ("<=", ">", ">="),
    "<=": ("<", ">", ">="),
    ">": (">=", "<", "<="),
    ">=": (">", "<=", "<"),
    "==": ("!=", "<="),
    "!=": ("==", "<"),
    "+": ("-", "*"),
    "-": ("+", "*"),
    "*": (" + ", "-"),
    "/": ("*", "-"),
    "%": ("/",),
    ">>": ("*",),
    "+=": ("=", "-="),
    "-=": ("=", "+="),
    "++": ("--",),
    "--": ("++",),
    "!": ("",),
    "=": ("+=",),
}


@dataclass(frozen=True)
class Slip:
    """An error: one token of a file replaced."""

    file: str
    start: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        """Return the text with the error."""
        return text[: self.start] + self.new + text[self.end :]

    def described(self, text: str) -> str:
        """Return the place, the two tokens and the line."""
        line = text.count("\n", 0, self.start)
        before = text[self.start : self.end]
        return (
            f"{self.file}:{line + 1}: {before} -> {self.new}:"
            f" {text.splitlines()[line].strip()[:150]}"
        )


def slips(file: str, text: str, pick: random.Random) -> list[Slip]:
    """Return one error for each token of the file outside of comments and its guard."""
    code = re.sub(r"/\*.*?\*/", lambda comment: re.sub(r"\S", " ", comment[0]), text, flags=re.S)
    code = re.sub(
        r"^(?:#(?!define \w+ \d).*|extern .*)$", lambda line: " " * len(line[0]), code, flags=re.M
    )
    bounds = [0, *(match.start() for match in re.finditer(r"^\S.*\)\n\{", code, re.M)), len(code)]
    chosen = []
    for first, last in pairwise(bounds):
        words = sorted(set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", code[first:last])))
        for token in _TOKEN.finditer(code, first, last):
            replacements = [*_replacements(token[0], words)]
            if replacements:
                chosen.append(Slip(file, token.start(), token.end(), pick.choice(replacements)))
    return chosen


def _replacements(word: str, words: Sequence[str]) -> Iterator[str]:
    """Yield replacements for a token."""
    if word in _SWAPPED:
        yield from _SWAPPED[word]
    elif word[0].isdigit() and re.fullmatch(r"\d+", word):
        yield from (str(int(word) + 1), *([str(int(word) - 1)] if int(word) else []))
    elif word[0].isdigit():
        for at, digit in enumerate(word.partition("e")[0]):
            if digit.isdigit():
                yield f"{word[:at]}{(int(digit) + 1) % 10}{word[at + 1 :]}"
    elif word in words:
        yield from (another for another in words if another != word)


class Plot:
    """A folder in which errors are planted one at a time."""

    def __init__(self, kind: str, folder: Path) -> None:
        robot, function, options = KINDS[kind]
        self.kind, self.place = kind, folder
        self.generated = folder / "made"
        symgen.generate(robot, self.generated, [function], name="arm", **options)
        self.function = function.partition("=")[0]
        self.folder = read_folder(self.generated)
        self.texts = {file: (self.generated / file).read_text() for file in self._files()}

    def _files(self) -> list[str]:
        """Return the names of the files in which errors are planted."""
        suffixes = {
            "batch": ("_batch.c", "_lanes.h", "_batch.h"),
            "cuda": (".cu", ".cuh", "_cuda.h"),
        }
        ending = suffixes.get(re.split(r"[ ,]", self.kind)[0])
        endings = (f"arm_{self.function}.c", "arm_sincos.h") if ending is None else ending
        return [
            path.name for path in sorted(self.generated.iterdir()) if path.name.endswith(endings)
        ]

    @cached_property
    def run(self) -> Run:
        """Return the functions of the folder in the form that `verify` checks."""
        folder = self.folder
        programs = programs_of(folder)
        return Run(
            Subject(folder.mechanism, programs, folder.options, folder.text, files=folder.files),
            None,
        )

    @property
    def target(self) -> Target:
        return self.run.target

    def refused_by_reading(self, slip: Slip) -> bool:
        """True if the text alone is refused."""
        texts = self.texts | {slip.file: slip.applied(self.texts[slip.file])}
        return any(check.verdict == "failed" for check in self._readings(texts))

    def _readings(self, texts: dict[str, str]) -> Iterator[Check]:
        run, folder = self.run, self.folder
        divisor_bounds = run.divisor_bounds[self.function]
        ((name, form),) = run.programs.items()
        if f"arm_{self.function}.c" in texts:
            source = Source(texts[f"arm_{name}.c"], folder.header, texts.get("arm_sincos.h", ""))
            yield check_text(form, source, name, self.target, divisor_bounds)
        elif self.kind.startswith("batch"):
            files = BlockFiles(texts, run.headers, self.target, {name: divisor_bounds})
            wrong = read_block(form, files)
            yield Check("blocks", name, float(len(wrong)), 0.0, "")
        else:
            yield from check_device(
                {name: form}, texts, folder.header, self.target, {name: divisor_bounds}
            )

    def refused_by_verify(self, slip: Slip, without_names: bool = False) -> bool:
        """True if `symgen verify DIR -f FUNCTION` fails; with `without_names`, if `symgen verify
        DIR` fails.
        """
        changed = self.place / "changed"
        shutil.rmtree(changed, ignore_errors=True)
        shutil.copytree(self.generated, changed)
        (changed / slip.file).write_text(slip.applied(self.texts[slip.file]))
        try:
            return not symgen.verify(changed, None if without_names else [self.function]).passed
        except SymgenError:
            return True

    def changes_results(self, slip: Slip) -> bool:
        """True if the error changes what the compiled function returns or stores, or makes it
        endless.
        """
        return self._results_hash({slip.file: slip.applied(self.texts[slip.file])}) != self._sound

    @cached_property
    def _sound(self) -> str:
        """Return the answers of the folder without an error."""
        results = self._results_hash({})
        assert not results.startswith("failed"), results
        return results

    def _results_hash(self, changed: dict[str, str]) -> str:
        """Return a hash of what the compiled function returns and stores, from its own process."""
        with tempfile.TemporaryDirectory(dir=self.place) as name:
            temporary = Path(name)
            for path in self.generated.iterdir():
                (temporary / path.name).write_text(changed.get(path.name) or path.read_text())
            (source,) = [temporary / file for file in self.texts if file.endswith((".c", ".cu"))]
            cuda = ["-x", "c++", "-std=c++17", f"-I{HERE / 'cuda_on_cpu'}"]
            language = cuda if source.suffix == ".cu" else ["-std=c99", "-Darm_NO_CLONES"]
            flags = ["-O1", "-ffp-contract=off", "-w", "-shared", "-fPIC"]
            library = temporary / "lib.so"
            command: list[str | Path] = ["gcc", *language, *flags, source, "-o", library, "-lm"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                return "failed to compile"
            words = [sys.executable, "-m", "tests.mutants_of_folders", "--answers", str(temporary)]
            try:
                done = subprocess.run(
                    words, capture_output=True, text=True, timeout=PATIENCE, check=False
                )
            except subprocess.TimeoutExpired:
                return "failed to end"
            return done.stdout if done.returncode == 0 else f"failed {done.returncode}"


# -- compiled functions ----------------------------------------------------------------------------


def answers(folder: Path) -> str:
    """Return a hash of all that the compiled function returns and stores at several states."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (entry,) = manifest["functions"].values()
    real = np.dtype(manifest["real"].replace("float", "float32").replace("double", "float64"))
    results = entry["result"] if isinstance(entry["result"], list) else [entry["result"]]
    ports = [(int(np.prod(a["shape"])), True) for a in entry["arguments"]]
    ports += [(int(np.prod(a["shape"])), False) for a in results]
    header = "".join(path.read_text() for path in folder.glob("arm*.h"))
    sizes = {word: int(number) for word, number in re.findall(r"arm_(\w*WORK) (\d+)", header)}
    call = _Compiled(
        ctypes.CDLL(str(folder / "lib.so")),
        f"arm_{entry['symbol'].removeprefix('arm_')}",
        ports,
        real,
        bool(manifest["options"].get("checked")),
        sizes,
    )
    many, cuda = bool(manifest["options"].get("batch")), "wrap" in manifest["options"]
    digest = hashlib.sha256()
    for trial, count in enumerate((1, 3, 8, 19) if many or cuda else (1,) * 12):
        for chunk in (
            call.cuda(trial, count)
            if cuda
            else call.many(trial, count)
            if many
            else call.one(trial)
        ):
            digest.update(chunk)
    return digest.hexdigest()


@dataclass
class _Compiled:
    """A compiled function; `ports` are the sizes of its arrays, True for arguments."""

    library: Any
    symbol: str
    ports: list[tuple[int, bool]]
    real: np.dtype[Any]
    checked: bool
    sizes: dict[str, int]
    """The sizes of workspaces, by the ending of their macro."""

    def _array(self, pick: np.random.Generator, room: int) -> np.ndarray[Any, Any]:
        """Return an array with EDGE more elements after its end, which must stay unchanged."""
        return pick.uniform(-1, 1, room + EDGE).astype(self.real)

    def _work(self, size: int) -> np.ndarray[Any, Any]:
        """Return a workspace filled with NaN, with EDGE more elements after its end."""
        return np.full(size + EDGE, np.nan, self.real)

    @staticmethod
    def _pointer(array: np.ndarray[Any, Any]) -> Any:
        return ctypes.c_void_p(array.ctypes.data)

    def _spoilt(self, trial: int, array: np.ndarray[Any, Any]) -> None:
        """Make an element of an argument infinite in every third trial of a checked function."""
        if self.checked and trial % 3 == 2:
            array[trial % len(array)] = np.inf

    def one(self, trial: int) -> Iterator[bytes]:
        """Call the function of one state."""
        pick = np.random.default_rng(trial)
        arrays = [self._array(pick, size) for size, _ in self.ports]
        self._spoilt(trial, arrays[0][: self.ports[0][0]])
        size = self.sizes.get("WORK", 0)
        work = self._work(size)
        words = [*map(self._pointer, [*arrays, work])]
        words += [ctypes.c_int(size if trial % 4 else size - 1)] * self.checked
        returned = getattr(self.library, self.symbol)(*words)
        yield repr(returned if self.checked else None).encode()
        yield from (array.tobytes() for array in arrays)
        yield work[size:].tobytes()

    def _states(self, trial: int, count: int) -> Iterator[tuple[list[Any], list[Any]]]:
        """Yield arrays of states in several layouts, with the arguments that describe them."""
        for turn in range(4):
            pick = np.random.default_rng([trial, turn])
            words: list[Any] = [ctypes.c_ssize_t(count)]
            arrays = []
            for k, (size, _) in enumerate(self.ports):
                steps = ((size, 1), (1, count + k), (3 * size + k + 1, 3), (size + k, 1))
                state, element = steps[(k + turn) % 4]
                room = (count - 1) * state + (size - 1) * element + 1
                arrays.append(self._array(pick, room))
                words += [self._pointer(arrays[-1])]
                words += [ctypes.c_ssize_t(state), ctypes.c_ssize_t(element)]
            self._spoilt(trial + turn, arrays[0][:1])
            yield arrays, words

    def many(self, trial: int, count: int) -> Iterator[bytes]:
        """Call the function of many states."""
        size = self.sizes.get("BATCH_WORK", 0)
        for arrays, words in self._states(trial, count):
            work, status = self._work(size), np.full(count + EDGE, 77, np.intc)
            if size:
                words += [self._pointer(work), *[ctypes.c_int(size)] * self.checked]
            words += [self._pointer(status)] * self.checked
            call = getattr(self.library, f"{self.symbol}_strided")
            call.restype = ctypes.c_ssize_t if self.checked else None
            yield repr(call(*words)).encode()
            yield from (array.tobytes() for array in [*arrays, status, work[size:]])
        dense = [
            self._array(np.random.default_rng(k), count * n) for k, (n, _) in enumerate(self.ports)
        ]
        words = [ctypes.c_int(count), *map(self._pointer, dense)]
        if size:
            words += [self._pointer(work), *[ctypes.c_int(size)] * self.checked]
        returned = getattr(self.library, f"{self.symbol}_batch")(
            *words, *[self._pointer(status)] * self.checked
        )
        yield repr(returned if self.checked else None).encode()
        yield from (array.tobytes() for array in dense)

    def cuda(self, trial: int, count: int) -> Iterator[bytes]:
        """Call the GPU function on a CPU stand-in; in every second trial the grid is small."""
        ctypes.c_int.in_dll(self.library, "cuda_on_cpu_blocks").value = trial % 2
        size = self.sizes.get("WORK", 0)
        for threads in (300, 5):
            for arrays, words in self._states(trial, count):
                work, status = self._work(size * threads), np.full(count + EDGE, 77, np.intc)
                more: list[Any] = [self._pointer(work), ctypes.c_ssize_t(threads)] if size else []
                more += [self._pointer(status)] * self.checked
                more.append(ctypes.c_void_p(4711))
                yield repr(
                    getattr(self.library, f"{self.symbol}_cuda_strided")(*words, *more)
                ).encode()
                yield from (array.tobytes() for array in [*arrays, status, work[size * threads :]])
                stream = ctypes.c_void_p.in_dll(self.library, "cuda_on_cpu_stream").value
                yield repr(stream).encode()
            dense = [
                self._array(np.random.default_rng(k), count * n)
                for k, (n, _) in enumerate(self.ports)
            ]
            words = [ctypes.c_int(count), *map(self._pointer, dense), *more]
            yield repr(getattr(self.library, f"{self.symbol}_cuda")(*words)).encode()
            yield from (array.tobytes() for array in dense)


# -- figures ---------------------------------------------------------------------------------------


@dataclass
class Count:
    """Errors of one kind of text."""

    planted: int = 0
    read: int = 0
    refused: int = 0
    """Errors that `verify` with names of functions refuses, by reading or otherwise."""
    whole: int = 0
    """Errors that `verify` without names refuses."""
    harmful: int = 0
    """Errors that `verify` with names passes although they change a result."""


def judged(kind: str, count: int, seed: int) -> Count:
    """Plant errors in one kind of text, and print those that are not refused."""
    with tempfile.TemporaryDirectory(prefix="symgen-mutants-") as name:
        plot = Plot(kind, Path(name))
        pick = random.Random(f"{seed}/{kind}")
        every = [slip for file, text in plot.texts.items() for slip in slips(file, text, pick)]
        total = Count()
        for slip in pick.sample(every, min(count, len(every))):
            total.planted += 1
            if plot.refused_by_reading(slip):
                total.read += 1
                total.refused += 1
                total.whole += 1
            elif plot.refused_by_verify(slip):
                total.refused += 1
                total.whole += 1
            else:
                total.whole += plot.refused_by_verify(slip, without_names=True)
                changes = plot.changes_results(slip)
                total.harmful += changes
                verdict = "CHANGES A RESULT" if changes else "changes no result"
                print(f"{kind}: {verdict}: {slip.described(plot.texts[slip.file])}", flush=True)
        return total


def main(words: Sequence[str] | None = None) -> int:
    """Print one line for each kind of text; return 1 if too few errors are refused."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants_of_folders", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--each", type=int, default=100, metavar="N", help="errors in a kind of text"
    )
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--kinds", nargs="*", default=[*KINDS], choices=KINDS, metavar="KIND")
    parser.add_argument("--answers", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.answers:
        print(answers(options.answers))
        return 0
    counts = []
    for kind in options.kinds:
        total = judged(kind, options.each, options.seed)
        counts.append(total)
        print(
            f"{kind}: {total.planted} errors, {total.read} refused by reading, {total.refused} by"
            " verify"
        )
    planted, by_reading, by_verify, by_whole_command, harmful = (
        sum(getattr(total, key) for total in counts)
        for key in ("planted", "read", "refused", "whole", "harmful")
    )
    print(
        f"{planted} errors: reading refuses {100 * by_reading / planted:.2f} %, verify of the"
        f" functions {100 * by_verify / planted:.2f} %, the whole command"
        f" {100 * by_whole_command / planted:.2f} %; {harmful} of those that verify of the"
        " functions passes change a result"
    )
    return int(harmful > 0 or by_whole_command < OWED * planted)


if __name__ == "__main__":
    sys.exit(main())
