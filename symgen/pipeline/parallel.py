"""Parallel derivation of several functions by processes that are forked from this one.

A derivation leaves its Program in the cache (`symgen.support.cache`). A forked process sends its
new cache entries back, and the code that requests a Program afterwards finds it in the cache,
independent of the process that derived it. Programs do not depend on the order of derivations, so
the results are identical for any number of processes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from symgen.support import cache
from symgen.support.errors import SymgenError

Job = Callable[[], Any]
MOST = 8
"""Maximum number of processes: a request rarely has more functions that take long."""
WORTH = 0.1
"""Seconds of derivation after which the rest of a request is worth forking."""
_PR_SET_PDEATHSIG = 1
"""Option of Linux's prctl: the signal that a process gets when its parent ends."""


def processes() -> int:
    """Return the number of processes that may derive in parallel; 1 if this process cannot be
    forked safely.

    A fork copies the calling thread only, so a lock that another thread holds would never be
    released. SYMGEN_PROCESSES sets the number.
    """
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return 1
    setting = os.environ.get("SYMGEN_PROCESSES", "")
    if setting.isdecimal() and int(setting) > 0:
        return min(int(setting), MOST)
    return min(len(os.sched_getaffinity(0)), MOST)


def run(
    jobs: Sequence[Job],
    announce: Callable[[int], None] | None = None,
    to_plain: Callable[[Any], Any] | None = None,
    from_plain: Callable[[Any], Any] = lambda plain: plain,
) -> dict[int, Any]:
    """Run every job once, in this process or in one of several others; afterwards `cache.find`
    finds the entries of all.

    `announce` is called with the number of each job that this process starts, never in another
    process. Returns the results by job number. Results of other processes are sent as JSON, through
    `to_plain` and `from_plain`; without `to_plain` they are not sent. A job that raises SymgenError
    has no result: the caller runs it again and meets the error. The same holds for a process that
    ends early. Call this within `cache.in_memory` if the entries must outlive the call.
    """
    queue, fill = os.pipe()
    with os.fdopen(fill, "wb") as file:
        file.write(b"".join(number.to_bytes(2, "little") for number in range(len(jobs))))
    with tempfile.TemporaryDirectory(prefix="symgen-") as folder, cache.in_memory() as memory:
        children: dict[int, Path] = {}
        try:
            for number in range(min(processes(), len(jobs)) - 1):
                path = Path(folder, str(number))
                with suppress(
                    OSError
                ):  # the system allows no more processes: this one does the work
                    if (child := os.fork()) == 0:
                        _work_and_exit(queue, jobs, path, to_plain)
                    children[child] = path
            results = _work(queue, jobs, announce)
            for child in list(children):
                with suppress(
                    ChildProcessError
                ):  # where the program ignores SIGCHLD, the system has collected it
                    os.waitpid(child, 0)
                entries, plain_results = _read_results(children.pop(child))
                memory.update(entries)
                results |= {
                    int(number): from_plain(result) for number, result in plain_results.items()
                }
        finally:
            os.close(queue)
            for child in children:  # only after an error or Ctrl-C in this process
                with suppress(OSError):
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
    return results


def _work(
    queue: int, jobs: Sequence[Job], announce: Callable[[int], None] | None = None
) -> dict[int, Any]:
    """Run the jobs whose numbers this process reads from the pipe `queue`, until none is left;
    return their results.
    """
    results: dict[int, Any] = {}
    while message := os.read(queue, 2):
        number = int.from_bytes(message, "little")
        if announce is not None:
            announce(number)
        with suppress(SymgenError):
            results[number] = jobs[number]()
    return results


def _work_and_exit(
    queue: int, jobs: Sequence[Job], path: Path, to_plain: Callable[[Any], Any] | None
) -> None:
    """Run jobs in a forked process, write its cache entries to `path`, and end without the parent's
    exit handlers.
    """
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
        _end_with_parent()
        with cache.in_memory() as memory:
            old_keys = set(memory)
            results = _work(queue, jobs)
            entries = {key: facts for key, facts in memory.items() if key not in old_keys}
        plain_results = (
            {} if to_plain is None else {n: to_plain(result) for n, result in results.items()}
        )
        path.write_text(json.dumps([entries, plain_results]), encoding="utf-8")
    finally:
        os._exit(0)


def _end_with_parent() -> None:
    """Let the system end this process when its parent ends: a killed parent cannot end its
    children.
    """
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _read_results(path: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the cache entries that another process wrote to `path`, and its results by number;
    empty if it ended early.
    """
    try:
        entries, results = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}, {}
    return entries, results
