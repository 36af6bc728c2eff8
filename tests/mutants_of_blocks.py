"""Mutation tests of functions for many states: does the self-test detect errors in them?

`python -m tests.mutants_of_blocks` plants the errors.

One token of NAME_lanes.h or of NAME_<function>_batch.c is replaced at a time. To decide whether an
error changes results, the function is called with many numbers of states and in many layouts. The
error changes results if the function stores, returns or reports anything else than without it. The
self-test must detect each such error.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import symgen
from symgen.vocabulary.derivatives import identifier_part
from symgen.vocabulary.reals import REALS

FLAGS = ("-std=c99", "-O0", "-ffp-contract=off", "-w")
PATIENCE = 20
"""Seconds after which a program counts as endless."""
_TOKEN = re.compile(
    r"&&|\|\||\+\+|[<>=!]=|\+=|[-+*/<>!?]|(?<![\w.])\d+(?![\w.])|(?<![\w.>])[A-Za-z_]\w*(?!\w*\()"
)
_FUNCTION = re.compile(
    r"^(?:static )?(?:void|int|ptrdiff_t) (\w+)\(([^\n]*)\)\n\{\n(.*?)^\}\n",
    re.MULTILINE | re.DOTALL,
)
_SWAPPED = {
    "&&": ("||",),
    "||": ("&&",),
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "+": ("-",),
    "-": ("+",),
    "*": (" + ",),
    "/": ("*",),
    "+=": ("=",),
    "!": ("",),
}


@dataclass(frozen=True)
class Slip:
    """An error: one token of a file replaced."""

    file: str
    start: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]

    def described(self, text: str) -> str:
        line = text.count("\n", 0, self.start)
        return (
            f"{self.file}:{line + 1}: {text[self.start : self.end]} -> {self.new}:"
            f" {text.splitlines()[line].strip()}"
        )


def slips(file: str, text: str) -> Iterator[Slip]:
    """Yield one-token errors in function bodies, except in lane arithmetic, which is read back."""
    for function in _FUNCTION.finditer(text):
        parameters = re.findall(r"(\w+)(?:\[[^\]]*\])*(?:,|$)", function[2])
        locals_ = re.findall(r"^ +(?:int|ptrdiff_t) (\w+)", function[3], re.MULTILINE)
        words = list(dict.fromkeys([*parameters, *locals_]))
        steps = [
            word
            for word in words
            if word.endswith(("_state", "_element")) or word in ("state", "element")
        ]
        for token in _TOKEN.finditer(text, function.start(3), function.end(3)):
            line = text[text.rfind("\n", 0, token.start()) + 1 : text.find("\n", token.start())]
            if (
                line.lstrip().startswith(("const double", "const float", "/*", "double", "float"))
                and " own" not in line
            ):
                continue
            for new in _replacements(token[0], words, steps):
                yield Slip(file, token.start(), token.end(), new)


def _replacements(word: str, words: Sequence[str], steps: Sequence[str]) -> tuple[str, ...]:
    if word in _SWAPPED:
        return _SWAPPED[word]
    if word.isdigit():
        return (str(int(word) + 1), *((str(int(word) - 1),) if int(word) else ()))
    if word in steps:
        return tuple(step for step in steps if step != word)
    if word in words:
        return (words[(words.index(word) + 1) % len(words)],)
    return ()


class Plot:
    """A folder with functions for many states, in which errors are planted one at a time."""

    def __init__(self, robot: str, functions: Sequence[str], folder: Path, **options: Any) -> None:
        self.place, self.generated = folder, folder / "made"
        manifest = symgen.generate(robot, self.generated, list(functions), batch=True, **options)
        self.name, self.real, self.checked = (
            str(manifest["robot"]),
            REALS[str(manifest["real"])],
            bool(options.get("checked")),
        )
        self.functions = [f for f in functions if f in manifest["functions"]]
        self.entries = manifest["functions"]
        common = [str(self.generated / entry["file"]) for entry in self.entries.values()]
        self._built(
            [
                *FLAGS,
                "-shared",
                "-fPIC",
                "-I",
                str(self.generated),
                *common,
                "-o",
                str(folder / "libone.so"),
                "-lm",
            ]
        )
        (folder / "whole").mkdir()
        self.correct_hash = self.results_hash(self.texts({}), folder / "whole")
        assert not self.correct_hash.startswith("failed"), self.correct_hash

    @property
    def files(self) -> list[str]:
        return [
            f"{self.name}_lanes.h",
            *(f"{self.name}_{identifier_part(f)}_batch.c" for f in self.functions),
        ]

    def text(self, file: str) -> str:
        return (self.generated / file).read_text(encoding="utf-8")

    def texts(self, changed: dict[str, str]) -> dict[str, str]:
        return {file: self.text(file) for file in self.files} | changed

    def detects(self, slip: Slip) -> bool:
        """True if the self-test fails, does not end, or cannot be built."""
        with tempfile.TemporaryDirectory(dir=self.place) as folder:
            temporary = Path(folder)
            blocks = self._written(
                self.texts({slip.file: slip.applied(self.text(slip.file))}), temporary
            )
            test = self.generated / f"{self.name}_selftest.c"
            more = [str(path) for path in self.generated.glob("*_set_parameters.c")]
            try:
                self._built(
                    [
                        *FLAGS,
                        f"-D{self.name}_SELFTEST",
                        f"-D{self.name}_NO_CLONES",
                        "-I",
                        folder,
                        "-I",
                        str(self.generated),
                        str(test),
                        *blocks,
                        *more,
                        "-L",
                        str(self.place),
                        f"-Wl,-rpath,{self.place}",
                        "-lone",
                        "-lm",
                        "-o",
                        str(temporary / "selftest"),
                    ]
                )
                done = subprocess.run(
                    [str(temporary / "selftest")],
                    capture_output=True,
                    timeout=PATIENCE,
                    check=False,
                )
                return done.returncode != 0
            except (RuntimeError, subprocess.TimeoutExpired):
                return True

    def changes_results(self, slip: Slip) -> bool:
        with tempfile.TemporaryDirectory(dir=self.place) as folder:
            try:
                return (
                    self.results_hash(
                        self.texts({slip.file: slip.applied(self.text(slip.file))}), Path(folder)
                    )
                    != self.correct_hash
                )
            except (RuntimeError, subprocess.TimeoutExpired):
                return True

    def results_hash(self, texts: dict[str, str], folder: Path) -> str:
        """Return a hash of all that the functions store, return and report, from a separate
        process.
        """
        blocks = self._written(texts, folder)
        self._built(
            [
                *FLAGS,
                "-shared",
                "-fPIC",
                f"-D{self.name}_NO_CLONES",
                "-I",
                str(folder),
                "-I",
                str(self.generated),
                *blocks,
                "-L",
                str(self.place),
                f"-Wl,-rpath,{self.place}",
                "-lone",
                "-lm",
                "-o",
                str(folder / "libmany.so"),
            ]
        )
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.mutants_of_blocks",
                "--answers",
                str(self.generated),
                str(folder),
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return done.stdout if done.returncode == 0 else f"failed {done.returncode}"

    def _written(self, texts: dict[str, str], folder: Path) -> list[str]:
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        return [str(folder / file) for file in texts if file.endswith(".c")]

    @staticmethod
    def _built(words: list[str]) -> None:
        done = subprocess.run(["gcc", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.splitlines()[0])


def _results_hash(generated: Path, folder: Path) -> str:
    import hashlib
    import json

    manifest = json.loads((generated / "manifest.json").read_text(encoding="utf-8"))
    real, checked = REALS[manifest["real"]], bool(manifest["options"].get("checked"))
    library, digest = ctypes.CDLL(str(folder / "libmany.so")), hashlib.sha256()
    work_macro = re.search(
        r"_BATCH_WORK (\d+)",
        (generated / f"{manifest['robot']}_batch.h").read_text(encoding="utf-8"),
    )
    for function, entry in manifest["functions"].items():
        call = getattr(library, f"{manifest['robot']}_{identifier_part(function)}_strided", None)
        if call is None:
            continue
        call.restype = ctypes.c_ssize_t if checked else None
        sizes = [
            (int(np.prod(array["shape"])), array in entry["arguments"])
            for array in (
                *entry["arguments"],
                *(entry["result"] if isinstance(entry["result"], list) else [entry["result"]]),
            )
        ]
        for trial, count in enumerate(
            (
                0,
                1,
                -2,
                real.lanes - 1,
                real.lanes,
                real.lanes + 2,
                2 * real.lanes,
                3 * real.lanes + 5,
            )
        ):
            for layout in range(4):
                random = np.random.default_rng([trial, layout])
                words: list[Any] = [ctypes.c_ssize_t(count)]
                results = []
                for k, (size, argument) in enumerate(sizes):
                    most = 4 * real.lanes
                    steps = [(size, 1), (1, most + k), (3 * size + k + 1, 3), (size + k, 1)][
                        (k + layout) % 4
                    ]
                    array = random.uniform(-1, 1, most * (3 * size + k + 9)).astype(real.numpy)
                    if argument and checked and not k and count > 2:
                        array[(count // 2) * steps[0]] = np.inf
                    if not argument:
                        results.append(array)
                    words += [ctypes.c_void_p(array.ctypes.data), *map(ctypes.c_ssize_t, steps)]
                    results.append(array)
                work = np.zeros(int(work_macro[1]) if work_macro else 0, real.numpy)
                looped = entry.get("form") == "looped" or "work" in entry
                if looped:
                    words += [
                        ctypes.c_void_p(work.ctypes.data),
                        *([ctypes.c_int(len(work))] if checked else []),
                    ]
                status = np.full(4 * real.lanes, 77, np.intc)
                if checked:
                    words.append(ctypes.c_void_p(status.ctypes.data if layout else None))
                returned = call(*words)
                digest.update(repr((returned if checked else None, status.tobytes())).encode())
                for array in results:
                    digest.update(array.tobytes())
    return digest.hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants_of_blocks", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--answers", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--robot", default="planar_arm")
    parser.add_argument(
        "--each", type=int, default=0, metavar="N", help="errors in a file (default: all)"
    )
    options = parser.parse_args()
    if options.answers:
        print(_results_hash(*options.answers))
        return 0
    missed = 0
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("plain", {}),
        ("checked, float", {"checked": True, "real": "float"}),
        ("looped", {"form": "looped"}),
        ("looped, checked", {"form": "looped", "checked": True}),
    ]
    for kind, more in kinds:
        with tempfile.TemporaryDirectory(prefix="symgen-mutants-") as name:
            plot = Plot(options.robot, ["forward_dynamics"], Path(name), **more)
            planted = [
                slip
                for file in plot.files
                for slip in _sample([*slips(file, plot.text(file))], options.each)
            ]
            detected = [plot.detects(slip) for slip in planted]
            survivors = [
                slip for slip, is_detected in zip(planted, detected, strict=True) if not is_detected
            ]
            effective = [slip for slip in survivors if plot.changes_results(slip)]
            print(
                f"{kind}: {len(planted)} errors, {sum(detected)} seen,"
                f" {len(survivors) - len(effective)} change nothing, {len(effective)} missed",
                flush=True,
            )
            for slip in effective:
                print("missed:", slip.described(plot.text(slip.file)), flush=True)
            missed += len(effective)
    return 1 if missed else 0


def _sample(candidates: list[Slip], count: int) -> list[Slip]:
    import random

    return (
        random.Random(2026).sample(candidates, min(count, len(candidates))) if count else candidates
    )


if __name__ == "__main__":
    raise SystemExit(main())
