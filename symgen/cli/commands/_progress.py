"""Progress on a terminal: the step, its subject, and the time of the step and of the whole work."""

from __future__ import annotations

import os
import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

WIDTH = 60
TICK = 1.0
"""Seconds between two updates of the line."""


def log() -> logging.Logger:
    """Return the logger whose lines -v prints."""
    import logging

    return logging.getLogger("symgen")


class Progress:
    """Print one line on a terminal that states the current step, and wipe it at the end; print
    nothing in a pipe.

    With -v it prints one line for every finished step, with its time. A step that takes more than a
    second shows its time, second by second, so that a user sees that it is alive.
    """

    def __init__(self) -> None:
        self._log = log().info if log().isEnabledFor(20) else None  # 20: logging.INFO
        self._shown = self._log is None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._dirty = False
        self._step = self._task = ""
        self._begun = self._started = time.monotonic()
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._clock: threading.Thread | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._close("")
        self.wipe()

    def _close(self, following: str) -> None:
        """Log the time of the previous step."""
        if self._log is not None:
            now = time.monotonic()
            if self._task:
                self._log(f"{now - self._begun:.2f} s {self._task}")
            self._task, self._begun = following, now

    def __call__(self, task: str, done: int, total: int) -> None:
        self._close(task)
        if not self._shown:
            return
        with self._lock:
            self._step, self._begun = f"[{done}/{total}] {task[:WIDTH]} …", time.monotonic()
            self._draw()
        if self._clock is None:
            self._clock = threading.Thread(target=self._tick, name="symgen progress", daemon=True)
            self._clock.start()

    def _tick(self) -> None:
        while not self._over.wait(TICK):
            with self._lock:
                if self._step and not self._over.is_set():
                    self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        print(
            f"\r\033[K{self._step}{elapsed(now - self._begun, now - self._started)}",
            end="",
            file=sys.stderr,
            flush=True,
        )
        self._dirty = True

    def wipe(self) -> None:
        """Clear the line before other output."""
        with self._lock:
            if self._dirty:
                print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._dirty, self._step = False, ""


def elapsed(step_seconds: float, total_seconds: float) -> str:
    """Return ' 4 s', with the time of all steps if that is longer; empty below a second."""
    of_step, of_all = _clock(step_seconds), _clock(total_seconds)
    if total_seconds < 1:
        return ""
    return f" {of_step}" if of_step == of_all else f" {of_step}, {of_all} in all"


def _clock(seconds: float) -> str:
    minutes, seconds_over_minutes = divmod(int(seconds), 60)
    return f"{minutes} min {seconds_over_minutes} s" if minutes else f"{seconds_over_minutes} s"
