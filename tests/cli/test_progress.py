"""Progress on a terminal: what its line shows, when it is drawn, and what -v logs instead."""

from __future__ import annotations

import io
import logging
import sys
from typing import Any

import pytest

from symgen.cli.commands._progress import TICK, Progress

CLEAR = "\r\033[K"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Waits:
    """An event in place of the end of the work: `count` waits pass before it is set.

    `before_draw` is called when a wait has passed.
    """

    def __init__(self, count: int, before_draw: Any = lambda: None) -> None:
        self.count, self.before_draw, self.seconds = count, before_draw, list[float]()
        self.ended = False

    def wait(self, seconds: float) -> bool:
        self.seconds.append(seconds)
        if len(self.seconds) > self.count:
            return True
        self.before_draw()
        return False

    def is_set(self) -> bool:
        return self.ended

    def set(self) -> None:
        self.ended = True


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list whose entry is the time."""
    seconds = [100.0]
    monkeypatch.setattr("symgen.cli.commands._progress.time.monotonic", lambda: seconds[0])
    return seconds


def standard_error(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal in the place of standard error."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list of the threads that are started; none of them runs."""
    started: list[Any] = []

    class Thread:
        def __init__(self, target: Any, name: str, daemon: bool) -> None:
            assert daemon  # the end of Python does not wait for it
            self.target = target

        def start(self) -> None:
            started.append(self.target)

    monkeypatch.setattr("symgen.cli.commands._progress.threading.Thread", Thread)
    return started


def new_lines(terminal: Terminal) -> list[str]:
    """Return the lines drawn since the last call, each over the one before it."""
    text = terminal.getvalue()
    terminal.seek(0)
    terminal.truncate()
    return text.split(CLEAR)[1:]


def test_a_step_is_drawn_at_once_and_wiped_at_the_end(
    monkeypatch: pytest.MonkeyPatch, now: list[float], clocks: list[Any]
) -> None:
    terminal = standard_error(monkeypatch)
    with Progress() as progress:
        progress("deriving", 0, 3)
        progress("proving", 1, 3)
        assert new_lines(terminal) == ["[0/3] deriving …", "[1/3] proving …"]
    assert new_lines(terminal) == [""]
    progress.wipe()
    assert new_lines(terminal) == []  # nothing is left to clear


def test_one_clock_serves_all_steps(
    monkeypatch: pytest.MonkeyPatch, now: list[float], clocks: list[Any]
) -> None:
    standard_error(monkeypatch)
    progress = Progress()
    assert len(clocks) == 0
    for step in range(3):
        progress("deriving", step, 3)
    assert len(clocks) == 1


def test_the_clock_draws_the_step_every_second_with_its_time(
    monkeypatch: pytest.MonkeyPatch, now: list[float], clocks: list[Any]
) -> None:
    """The time of the step comes first, then that of all steps if it is longer."""

    terminal = standard_error(monkeypatch)

    def pass_time() -> None:
        now[0] += 1

    progress = Progress()
    progress("deriving", 0, 2)
    waits: Any = Waits(2, pass_time)
    progress._over = waits
    (tick,) = clocks
    tick()
    assert new_lines(terminal) == [f"[0/2] deriving …{time}" for time in ("", " 1 s", " 2 s")]
    assert waits.seconds == [TICK] * 3 == [1.0] * 3
    progress("proving", 1, 2)
    waits.seconds.clear()
    tick()
    assert new_lines(terminal) == [
        f"[1/2] proving …{time}"
        for time in (" 0 s, 2 s in all", " 1 s, 3 s in all", " 2 s, 4 s in all")
    ]


def test_the_clock_draws_nothing_after_the_end_or_behind_other_output(
    monkeypatch: pytest.MonkeyPatch, now: list[float], clocks: list[Any]
) -> None:
    terminal = standard_error(monkeypatch)
    progress = Progress()
    progress("deriving", 0, 2)
    (tick,) = clocks
    ending: Any = Waits(3)
    ending.before_draw = ending.set
    progress._over = ending
    new_lines(terminal)
    tick()
    assert new_lines(terminal) == []  # the end came while the clock waited
    wiping: Any = Waits(3, progress.wipe)
    progress._over = wiping
    tick()
    assert new_lines(terminal) == [""]


def test_the_end_stops_the_clock(
    monkeypatch: pytest.MonkeyPatch, now: list[float], clocks: list[Any]
) -> None:
    standard_error(monkeypatch)
    with Progress() as progress:
        assert not progress._over.is_set()
    assert progress._over.is_set()


def test_a_verbose_command_logs_finished_steps_with_their_times(
    monkeypatch: pytest.MonkeyPatch,
    now: list[float],
    clocks: list[Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It draws nothing."""
    terminal = standard_error(monkeypatch)
    with caplog.at_level(logging.INFO, "symgen"), Progress() as progress:
        now[0] += 5
        progress("deriving", 0, 2)
        assert caplog.messages == []
        now[0] += 1.5
        progress("proving", 1, 2)
        assert caplog.messages == ["1.50 s deriving"]
        now[0] += 0.25
    assert caplog.messages == ["1.50 s deriving", "0.25 s proving"]
    assert new_lines(terminal) == []
    assert clocks == []
    with caplog.at_level(logging.INFO + 1, "symgen"), Progress() as progress:
        progress("deriving", 0, 2)
    assert caplog.messages[2:] == []
    assert new_lines(terminal) == ["[0/2] deriving …", ""]
