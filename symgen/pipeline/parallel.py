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
from typing import Any

from symgen.support import cache
from symgen.support.errors import SymgenError

Job = Callable[[], Any]
MOST = 8
"""Processes at most: a request rarely has more functions that take long."""
WORTH = 0.1
"""Seconds of derivation after which the rest of a request is taken to be worth a process."""
_PR_SET_PDEATHSIG = 1
"""Option of prctl in Linux that sets the signal which a process gets when its parent ends."""


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


def run(
    jobs: Sequence[Job],
    announce: Callable[[int], None] | None = None,
    to_plain: Callable[[Any], Any] | None = None,
    from_plain: Callable[[Any], Any] = lambda plain: plain,
) -> dict[int, Any]:
    """Run every job once, in this process or in one of several others; afterwards `cache.find` finds what any of them kept.

    `announce` is called with the number of each job that this process is about to run, and never in another process. Returns the
    results by the numbers of their jobs, those of this process as they are, and those of others, where `to_plain` makes what JSON
    takes of them, through it and `from_plain`. A job that raises SymgenError leaves nothing behind: whoever asks for its result
    runs it again and meets the error. So does a process that ends early. To be called within `cache.in_memory` where what is
    kept is to be found longer than the call lasts.
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
                        _work_and_exit(turns, jobs, path, to_plain)
                    others[child] = path
            results = _work(turns, jobs, announce)
            for child in list(others):
                with suppress(
                    ChildProcessError
                ):  # where the program ignores SIGCHLD, the system has collected it
                    os.waitpid(child, 0)
                news, more = _sent(others.pop(child))
                kept.update(news)
                results |= {int(number): from_plain(plain) for number, plain in more.items()}
        finally:
            os.close(turns)
            for child in others:  # only after an error or Ctrl-C in this process
                with suppress(OSError):
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
    return results


def _work(
    turns: int, jobs: Sequence[Job], announce: Callable[[int], None] | None = None
) -> dict[int, Any]:
    """Run the jobs whose numbers this process draws from the pipe `turns`, until none is left; returns what they do."""
    results: dict[int, Any] = {}
    while drawn := os.read(turns, 2):
        number = int.from_bytes(drawn, "little")
        if announce is not None:
            announce(number)
        with suppress(SymgenError):
            results[number] = jobs[number]()
    return results


def _work_and_exit(
    turns: int, jobs: Sequence[Job], path: Path, to_plain: Callable[[Any], Any] | None
) -> None:
    """Run jobs in a forked process, write what they kept to `path`, and end without running the parent's exit handlers."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
        _end_with_parent()
        with cache.in_memory() as kept:
            known = set(kept)
            results = _work(turns, jobs)
            news = {key: facts for key, facts in kept.items() if key not in known}
        plain = {} if to_plain is None else {n: to_plain(one) for n, one in results.items()}
        path.write_text(json.dumps([news, plain]), encoding="utf-8")
    finally:
        os._exit(0)


def _end_with_parent() -> None:
    """Have the system end this process when the one that forked it ends, as one that is killed does not end its own."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _sent(path: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """Facts that another process wrote to `path`, and results by their numbers; none where it ended early."""
    try:
        news, results = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}, {}
    return news, results
