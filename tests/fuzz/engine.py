"""Inputs tried in a child process; those that reach new lines are kept for further mutation."""

from __future__ import annotations

import multiprocessing
import random
import resource
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import symgen.description
from symgen.description.parsing import macros
from tests.fuzz.judging import JUDGES, TooLong
from tests.fuzz.mutating import mutated
from tests.fuzz.words import Broken

CORPUS = Path(__file__).parent / "corpus"
ROOM = str(Path(symgen.description.__file__).parent)
MEMORY = 1536 * 2**20
"""Address space of the child, in bytes: Python, SymPy and lxml take a third of it."""
PATIENCE = 600
"""Wall-clock seconds after which a child is killed if its own timer did not stop it."""
_OF_ONE_CHILD = 2000
"""Number of inputs after which a new child continues, to limit the growth of memory."""

Line = tuple[str, int]


@dataclass(frozen=True)
class Tried:
    """Result of one input. `failure` describes the fault and its place; it is empty if symgen
    behaved as documented.
    """

    data: bytes
    verdict: str
    failure: str = ""
    new_lines: tuple[Line, ...] = ()


class Lines:
    """Lines of the readers reached for the first time; fully reached functions are not traced."""

    def __init__(self, reached: set[Line]) -> None:
        self.reached, self.new = set(reached), list[Line]()
        self._unreached: dict[CodeType, set[int]] = {}

    def enter(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        unreached = self._unreached.get(code)
        if unreached is None:
            in_room = code.co_filename.startswith(ROOM)
            unreached = (
                {
                    n
                    for _, _, n in code.co_lines()
                    if n and (code.co_filename, n) not in self.reached
                }
                if in_room
                else set()
            )
            self._unreached[code] = unreached
        return self._line if unreached else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        code, number = frame.f_code, frame.f_lineno
        unreached = self._unreached[code]
        if number in unreached:
            unreached.remove(number)
            self.reached.add((code.co_filename, number))
            self.new.append((code.co_filename, number))
        return self._line if unreached else None


def _serve(pipe: Connection, form: str, reached: set[Line]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    judge, suffix = JUDGES[form]
    macros.available = lambda: False  # macros are a program, whose actions are not fuzzed
    lines = Lines(reached)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while data := pipe.recv_bytes():
            lines.new, failure, verdict = [], "", "failed"
            for traced in (True, False):  # watched, everything takes several times as long
                sys.settrace(lines.enter if traced else None)
                try:
                    verdict, failure = judge(data, folder, suffix), ""
                    break
                except TooLong as error:
                    failure = _describe_error(error)
                except (Broken, Exception) as error:
                    failure = _describe_error(error)
                    break
                finally:
                    sys.settrace(None)
            pipe.send((verdict, failure, tuple(lines.new)))


def _describe_error(error: BaseException) -> str:
    """Return the error and its innermost line in symgen."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/symgen/" in f.filename]
    at = f" ({frames[-1].filename.rpartition('/symgen/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {str(error)[:300]}{at}"


class Engine:
    """Endless tries of inputs of one format, determined by `seed` and the corpus only."""

    def __init__(self, form: str, seed: int) -> None:
        self.form, self._dice = form, random.Random(f"{form} {seed}")
        self.lines: set[Line] = set()
        self.pool: list[bytes] = []
        self._accepted: list[bytes] = []
        self._child: Any = None
        self._tried = 0

    def __iter__(self) -> Iterator[Tried]:
        for path in sorted((CORPUS / self.form).iterdir()):
            data = path.read_bytes()
            tried = self._try_one(data)
            self._keep(tried)
            yield tried
        while True:
            # Most damaged inputs are refused at once: accepted and recent inputs are chosen more
            # often.
            start = self._dice.choice(
                self._dice.choice((self.pool, self.pool[-20:], self._accepted, self._accepted))
            )
            tried = self._try_one(mutated(self._dice, start, self.pool))
            if tried.new_lines:
                self._keep(tried)
            yield tried

    def _keep(self, tried: Tried) -> None:
        self.pool.append(tried.data)
        if tried.verdict == "read":
            self._accepted.append(tried.data)

    def _try_one(self, data: bytes) -> Tried:
        data = data or b" "  # no bytes at all would end the child
        if self._child is None or self._tried % _OF_ONE_CHILD == 0:
            self.close()
            self._child = self._start()
        self._tried += 1
        process, pipe = self._child
        try:
            pipe.send_bytes(data)
            if not pipe.poll(PATIENCE):
                raise EOFError
            verdict, failure, new = pipe.recv()
        except (EOFError, OSError):
            alive = process.is_alive()
            self.close(kill=True)
            return Tried(
                data,
                "failed",
                f"no end in {PATIENCE} s" if alive else f"the process ended ({process.exitcode})",
            )
        self.lines.update(new)
        return Tried(data, verdict, failure, new)

    def _start(self) -> Any:
        fork = multiprocessing.get_context("fork")
        ours, theirs = fork.Pipe()
        process = fork.Process(target=_serve, args=(theirs, self.form, self.lines), daemon=True)
        process.start()
        theirs.close()
        return process, ours

    def close(self, kill: bool = False) -> None:
        """End the child process."""
        if self._child is None:
            return
        process, pipe = self._child
        self._child = None
        if kill:
            process.kill()
        else:
            pipe.send_bytes(b"")
        process.join()
        pipe.close()


def name_of(data: bytes, form: str) -> str:
    """Return the file name for an input."""
    return sha256(data).hexdigest()[:12] + JUDGES[form][1]
