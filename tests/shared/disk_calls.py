"""The calls that a program makes on the disk, counted: one of them is made to fail, to be
interrupted, or to be the last one.
"""

from __future__ import annotations

import fcntl
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from symgen.support import files

READS = ("listdir", "scandir", "lstat", "stat", "fstat", "fsync")
WRITES = (
    "open",
    "write",
    "ftruncate",
    "mkdir",
    "rename",
    "replace",
    "link",
    "unlink",
    "rmdir",
    "close",
)


Act = Callable[["Calls", Callable[[], Any]], Any]


class Calls:
    """Counts the calls on the disk; at the one with the number `at`, `act` takes over."""

    def __init__(self, at: int, act: Act) -> None:
        self.count, self.at, self.act = 0, at, act
        self.name, self.dead = "", False

    def counted(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.count += 1
            if self.dead:
                raise Killed
            if self.count != self.at:
                return original(*arguments, **named)
            self.name = name
            return self.act(self, lambda: original(*arguments, **named))

        return call

    def die(self, call: Callable[[], Any]) -> Any:
        self.dead = True
        with suppress(OSError):
            call()
        raise Killed


class Killed(BaseException):
    """The process is no more: nothing that it would still do reaches the disk."""


@contextmanager
def watched(at: int, act: Act, names: tuple[str, ...], exchanging: bool) -> Iterator[Calls]:
    calls = Calls(at, act)
    with pytest.MonkeyPatch.context() as patch:
        if exchanging:
            patch.setattr(files, "exchange", calls.counted("exchange", files.exchange))
        else:
            patch.setattr(files, "exchange", lambda first, second: False)
        patch.setattr(fcntl, "flock", calls.counted("flock", fcntl.flock))
        patch.setattr(io, "open", calls.counted("open", io.open))
        for name in names:
            patch.setattr(os, name, calls.counted(name, getattr(os, name)))
        yield calls
