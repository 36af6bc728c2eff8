"""Derivations of several functions at the same time, by processes that are forked from this one.

A derivation leaves its Program in the cache (`symgen.support.cache`). So a process that derives ahead sends what it kept, and the
code that asks for a Program afterwards finds it there; it neither knows nor depends on who derived it. Programs do not depend on
the order of derivations, so that the results are the same, bit for bit, for any number of processes.
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

from symgen.support import cache
from symgen.support.errors import SymgenError

Job = Callable[[], object]
MOST = 8
"""Processes at most: a request rarely has more functions that take long."""
WORTH = 0.1
"""Seconds of derivation after which the rest of a request is taken to be worth a process."""


def processes() -> int:
    """Number of processes that may derive at the same time; 1 where this process cannot be forked safely.

    A fork copies the calling thread alone, so that a lock which another thread holds would never be released. SYMGEN_PROCESSES
    sets the number.
    """
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return 1
    wanted = os.environ.get("SYMGEN_PROCESSES", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return min(int(wanted), MOST)
    return min(len(os.sched_getaffinity(0)), MOST)


def run(jobs: Sequence[Job], announce: Callable[[int], None] | None = None) -> None:
    """Run every job once, in this process or in one of several others; afterwards `cache.find` finds what any of them kept.

    To be called within `cache.in_memory`. `announce` is called with the number of each job that this process is about to run, and
    never in another process. A job that raises SymgenError leaves nothing behind: whoever asks for its result runs
    it again and meets the error. So does a process that ends early.
    """
    turns, fill = os.pipe()
    with os.fdopen(fill, "wb") as file:
        file.write(b"".join(number.to_bytes(2, "little") for number in range(len(jobs))))
    with tempfile.TemporaryDirectory(prefix="symgen-") as folder, cache.in_memory() as kept:
        others: dict[int, Path] = {}
        try:
            for number in range(min(processes(), len(jobs)) - 1):
                path = Path(folder, str(number))
                with suppress(OSError):  # no process is left: this one does the work
                    if (child := os.fork()) == 0:
                        _work_and_exit(turns, jobs, path)
                    others[child] = path
            _work(turns, jobs, announce)
            for child in list(others):
                with suppress(
                    ChildProcessError
                ):  # where the program ignores SIGCHLD, the system has collected it
                    os.waitpid(child, 0)
                kept.update(_sent(others.pop(child)))
        finally:
            os.close(turns)
            for child in others:  # only after an error or Ctrl-C in this process
                with suppress(OSError):
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)


def _work(turns: int, jobs: Sequence[Job], announce: Callable[[int], None] | None = None) -> None:
    """Run the jobs whose numbers this process draws from the pipe `turns`, until none is left."""
    while drawn := os.read(turns, 2):
        number = int.from_bytes(drawn, "little")
        if announce is not None:
            announce(number)
        with suppress(SymgenError):
            jobs[number]()


def _work_and_exit(turns: int, jobs: Sequence[Job], path: Path) -> None:
    """Run jobs in a forked process, write what they kept to `path`, and end without running the parent's exit handlers."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
        with cache.in_memory() as kept:
            known = set(kept)
            _work(turns, jobs)
            news = {key: facts for key, facts in kept.items() if key not in known}
        path.write_text(json.dumps(news), encoding="utf-8")
    finally:
        os._exit(0)


def _sent(path: Path) -> dict[str, str]:
    """Facts that another process wrote to `path`; none where it ended early."""
    try:
        news: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return news
