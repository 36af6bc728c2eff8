"""Compilation of a function for blocks of states by another process, while calls continue state by
state.

Printing and compiling such a function takes seconds to minutes. A separate process keeps the
interpreter of a control loop free. It runs at the lowest priority and leaves the library in the
cache, where the solver opens it. The end of Python stops it.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Thread
from typing import Any

from symgen.support.errors import warn

BLOCK_CHOICES = ("background", "now", "never")
"""Choices of `blocks`: in another process, in the call that makes it worthwhile, or only by
`Solver.prepare`.
"""
_CHILD = (
    "import pickle, sys; path, task = pickle.load(sys.stdin.buffer); sys.path[:] = path; "
    "from symgen.machine.blocks import compile_one; compile_one(task)"
)
_RUNNING: set[subprocess.Popen[bytes]] = set()
_NICENESS = 19


class Compilation:
    """Background compilation of one function for blocks of states. The name of its library is
    stored in `libraries`.
    """

    def __init__(self, solver: Any, function: str, libraries: dict[str, str]) -> None:
        self.function, self.failure, self._libraries = function, "", libraries
        self._thread = Thread(
            target=self._run, args=(solver,), name=f"symgen blocks of {function}", daemon=True
        )
        self._thread.start()

    @property
    def ended(self) -> bool:
        """True once the process has ended."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Wait for the end of the process."""
        self._thread.join()

    def _run(self, solver: Any) -> None:
        try:
            task = pickle.dumps((sys.path, pickle.dumps((solver, self.function))))
            child = subprocess.Popen(
                [sys.executable, "-c", _CHILD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            _RUNNING.add(child)
            try:
                out, err = child.communicate(task)
            finally:
                _RUNNING.discard(child)
            if child.returncode:
                self.failure = (
                    err.decode(errors="replace").strip() or f"exit status {child.returncode}"
                ).splitlines()[-1]
            elif name := out.decode().strip():
                self._libraries[self.function] = name
        except Exception as error:  # nobody catches errors of a thread: the next call reports it
            self.failure = str(error)

    def warn_of_failure(self) -> None:
        """Issue a SymgenWarning if the compilation failed."""
        if self.failure:
            warn(
                f"{self.function} could not be compiled for blocks of states ({self.failure});"
                f" calls continue state by state, and solver.prepare('{self.function}') tries again"
            )


def compile_one(task: bytes) -> None:
    """Compile the function of a pickled (solver, function) for blocks of states, and print the name
    of its library.
    """
    with suppress(OSError):
        os.nice(_NICENESS)
    solver, function = pickle.loads(task)
    solver.prepare(function)
    print(solver._named.get(function, ""))  # a chain in lanes has no such library


@atexit.register
def _stop() -> None:
    """End running compilations and the compilers that they started."""
    for child in tuple(_RUNNING):
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGTERM)
