"""Standard streams that may be closed, full or without a reader: a lost answer is an error, a lost
note is none.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

from symgen.support.errors import RequestError

OUTPUT = "standard output"


class _Substitute:
    """A stream in the place of a standard stream, which may be closed."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Answer(_Substitute):
    """Standard output. Text that cannot be written raises an error that names it, in `flush` at the
    latest.
    """

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__(stream)
        self._error: Exception | None = None
        """The reason why text was lost. argparse passes over an error of `write`, so `flush` raises
        it again.
        """

    def writable(self) -> bool:
        """Return False where standard output was closed before the process began."""
        return self._stream is not None

    def write(self, text: str) -> int:
        if self._stream is None:
            self._error = RequestError(
                "standard output is closed; let it lead to a file, a pipe or /dev/null"
            )
            return len(text)
        with self._naming_errors():
            return self._stream.write(text)

    def flush(self) -> None:
        if self._error is not None:
            raise self._error
        if self._stream is not None:
            with self._naming_errors():
                self._stream.flush()

    @contextlib.contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._error = OSError(
                error.errno, error.strerror, OUTPUT
            )  # a BrokenPipeError stays one by its number
            raise self._error from None


class Notes(_Substitute):
    """Standard error. Text that cannot be written is dropped, so that no command fails for want of
    a note.
    """

    def write(self, text: str) -> int:
        with self._dropping_errors():
            if self._stream is not None:
                self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._dropping_errors():
            if self._stream is not None:
                self._stream.flush()

    @contextlib.contextmanager
    def _dropping_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            abandon(self._stream)


@contextlib.contextmanager
def standard_streams() -> Iterator[TextIO | None]:
    """Put an Answer and a Notes in the place of standard output and standard error; yields the
    stream behind the Answer.
    """
    _occupy_closed_descriptors()
    output, error = cast("TextIO | None", sys.stdout), cast("TextIO | None", sys.stderr)
    for stream in (output, error):  # print a substitute where a terminal lacks a character
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    with (
        contextlib.redirect_stdout(cast(TextIO, Answer(output))),
        contextlib.redirect_stderr(cast(TextIO, Notes(error))),
    ):
        yield output


def abandon(stream: TextIO | None) -> None:
    """Point a stream that takes no more text at the null device, so that Python's last flush of it
    stays quiet.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]


def _occupy_closed_descriptors() -> None:
    """Open the null device for each closed standard stream, so that no file of symgen's or of a
    compiler's gets its number.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(
                os.open(os.devnull, os.O_RDWR), True
            )  # the lowest number that is free, which is this one
