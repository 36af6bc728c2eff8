"""The samples of a chapter, run as a reader would type them: in order, in one folder, the answers
compared line by line.

A sample whose first line is a comment with a file's name is written to that file. Any other
`python` sample runs in the chapter's one namespace, and any other `c` sample must stand in a
generated file as it is. A `console` sample types each line that starts with `$ ` and expects what
follows; `…` stands for anything on its line, and a line of `…` alone for any number of lines.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import symgen
from symgen import cli

RUN = ("python", "console", "toml", "c", "cmake", "xml")
TYPED = ("cc", "cmake", "ctest", "ls", "head", "grep", "cat", "sed", "nm", "python")
"""Programs that a console sample may call besides symgen and programs that the chapter builds
(./…).
"""

_FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.M | re.S)
_NAME = re.compile(r"(?:#|/\*|//|<!--)\s*([\w./-]+\.\w+)\s*(?:\*/|-->)?")


@dataclass(frozen=True)
class Sample:
    """One fenced block, with the line of its first line in the chapter."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file's name on the first line, or None."""
        named = _NAME.fullmatch(self.text.partition("\n")[0].strip())
        return named[1] if named else None


def samples(chapter: str) -> list[Sample]:
    """Every fenced block of a chapter's text, in order."""
    return [
        Sample(m[1], m[2], chapter.count("\n", 0, m.start(2)) + 1) for m in _FENCE.finditer(chapter)
    ]


def fits(expected: str, output: str) -> bool:
    """True if an answer is the expected one; `…` matches anything."""
    pattern = ""
    for line in expected.rstrip("\n").split("\n"):
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += (
                "[^\n]*".join(re.escape(literal) for literal in line.rstrip().split("…")) + "[ ]*\n"
            )
    return (
        re.fullmatch(pattern, output.rstrip("\n") + "\n") is not None
        if expected.strip()
        else not output.strip()
    )


@dataclass
class Reader:
    """Somebody who works through a chapter in `folder`, which is the current one."""

    folder: Path
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "__sample__"})
    compiled: set[str] = field(default_factory=set)

    def does(self, sample: Sample) -> None:
        """Run a sample; an AssertionError names the line of the chapter that failed."""
        if sample.file is not None:
            path = self.folder / sample.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(sample.text, encoding="utf-8")
            if sample.language in ("toml", "xml"):
                assert symgen.load(path).nv > 0
        elif sample.language == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * (sample.line - 1) + sample.text, "sample", "exec"), self.names)
        elif sample.language == "console":
            for words, expected in typed(sample.text):
                output = self.types(words)
                assert fits(expected, output), (
                    f"line {sample.line}: $ {words}\n--- expected\n{expected}\n--- seen\n{output}"
                )
        else:
            written = [
                path.read_text(encoding="utf-8") for path in sorted(self.folder.rglob("*.[ch]"))
            ]
            assert sample.language == "c", (
                f"line {sample.line}: name the file in a comment on the first line"
            )
            assert any(sample.text in text for text in written), (
                f"line {sample.line}: no generated file has these lines"
            )

    def types(self, words: str) -> str:
        """Return the output of a command: symgen's in this process, others by the shell."""
        first = shlex.split(words)[0]
        if first == "symgen":
            screen = io.StringIO()
            with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
                cli.main(shlex.split(words)[1:])
            return screen.getvalue()
        assert first in TYPED or first.startswith("./"), f"'{first}' is none of {', '.join(TYPED)}"
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(
            words,
            shell=True,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": path},
        )
        if first == "cc":
            self.compiled |= {word for word in shlex.split(words) if word.endswith((".c", ".h"))}
        return done.stdout + done.stderr


def typed(text: str) -> Iterator[tuple[str, str]]:
    """Yield (the words typed after `$ `, the expected output) of a console sample."""
    for block in re.split(r"^\$ ", text, flags=re.M)[1:]:
        words, _, expected = block.partition("\n")
        while words.endswith("\\"):
            more, _, expected = expected.partition("\n")
            words = words.removesuffix("\\").rstrip() + " " + more.lstrip()
        yield words, expected


def simulated(page: str) -> dict[str, Any]:
    """Return the names of a chapter after its Python samples, which run in a new folder with its
    files.
    """
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            reader = Reader(Path(folder))
            for sample in samples(page):
                if sample.language == "python" or sample.file is not None:
                    reader.does(sample)
        finally:
            os.chdir(before)
    return reader.names
