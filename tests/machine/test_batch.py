"""States of a batch: arrays read in place at their strides, and slices of whole blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symgen.ir.program import Port
from symgen.machine import batch
from symgen.machine.batch import BLOCK, _Queue, in_slices, strided


def views(x: Any) -> list[Any]:
    """Return views of an array of shape (4, 6, 2, 3) as (states, 2, 3) with different strides."""
    return [x[:, 0], x[::2, 1], x[:, ::3][:, 1], x[::-1, 5], x[2:3, 2], x[:, 0].T.copy().T]


def test_an_array_is_read_in_place_at_its_strides_or_copied() -> None:
    port = Port("x", (2, 3))
    whole = np.arange(4.0 * 6 * 2 * 3).reshape(4, 6, 2, 3)
    irregular = np.arange(4.0 * 2 * 5).reshape(4, 2, 5)[:, :, :3]
    broadcast = np.arange(6.0).reshape(2, 3)
    for x in (*views(whole), irregular, broadcast, whole[:, 0, :, ::-1]):
        lead = (len(x),) if x.ndim == 3 else (5,)
        read = strided(np, port, x, lead)
        flat = np.broadcast_to(x, lead + port.shape).reshape(lead[0], 6)
        origin = read.array.__array_interface__["data"][0]
        base = read.array if read.array.base is None else read.array.base
        step = read.array.itemsize
        memory = base.reshape(-1)
        first = (origin - memory.__array_interface__["data"][0]) // step
        assert [
            [memory[first + i * read.state + k * read.element] for k in range(6)]
            for i in range(lead[0])
        ] == flat.tolist()
    assert strided(np, port, broadcast, (5,)).state == 0
    assert np.shares_memory(strided(np, port, whole[:, 0], (4,)).array, whole)
    assert not np.shares_memory(strided(np, port, irregular, (4,)).array, irregular)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("states", [1, 15, 16, 1000])
def test_slices_cover_every_state_once_in_whole_blocks(states: int, threads: int) -> None:
    slices: list[tuple[int, int]] = []
    done: list[tuple[int, int]] = []
    in_slices(
        lambda begin, end: slices.append((begin, end)),
        states,
        5,
        threads,
        lambda *counts: done.append(counts),
    )
    slices.sort()
    assert [begin for begin, _ in slices] == [0, *(end for _, end in slices[:-1])]
    assert slices[-1][1] == states
    assert all(begin % BLOCK == 0 for begin, _ in slices)
    assert slices[0][1] == min(states, BLOCK)  # the first share, 5 states, fills one block
    assert done[-1] == (states, states)


def test_an_exception_in_any_thread_ends_the_slices_of_a_batch() -> None:
    def fail(begin: int, _: int) -> None:
        if begin >= 4 * BLOCK:
            raise ValueError("state")

    for threads in (1, 2):
        with pytest.raises(ValueError, match="state"):
            in_slices(fail, 10_000, 1, threads)


@pytest.mark.parametrize(
    ("seconds", "share"),
    [(0.1, 2 * 32), (0.4, 32 // 2), (0.0, 8 * 32), (1e-3, 8 * 32), (0.2 / 8, 8 * 32), (100.0, 1)],
)
def test_the_next_slice_takes_a_fifth_of_a_second(
    seconds: float, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is at most eight times as long, because a first slice may be too short to be measured."""
    now = [0.0]
    monkeypatch.setattr(batch, "perf_counter", lambda: now[0])
    queue = _Queue(10**6, 32, 1)

    def run(begin: int, end: int) -> None:
        assert end - begin == 32
        now[0] += seconds

    assert queue.slice(run)
    assert (queue.share, queue.done, queue.begun) == (share, 32, 32)
    queue.share = 32
    assert queue.slice(run)
    assert (queue.share, queue.done, queue.begun) == (share, 64, 64)


@pytest.mark.parametrize(
    ("states", "first", "threads", "started"),
    [(100, 40, 8, 1), (100, 40, 1, 0), (100, 10, 4, 3), (30, 40, 8, 0), (80, 40, 2, 1)],
)
def test_threads_are_started_for_whole_first_slices_only(
    states: int, first: int, threads: int, started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The calling thread is one of them; it reports the end if others have worked."""
    made: list[Any] = []

    class Thread:
        def __init__(self, target: Any, args: Any) -> None:
            made.append(target)

        def start(self) -> None:
            pass

        def join(self) -> None:
            pass

    monkeypatch.setattr(batch, "Thread", Thread)
    progress: list[tuple[int, int]] = []
    slices: list[tuple[int, int]] = []
    in_slices(
        lambda begin, end: slices.append((begin, end)),
        states,
        first,
        threads,
        lambda *counts: progress.append(counts),
    )
    assert len(made) == started
    assert sum(end - begin for begin, end in slices) == states
    assert len(progress) == len(slices) + (started > 0)
    assert progress[-1] == (states, states)


def test_a_failure_leaves_no_states_for_other_threads() -> None:
    queue = _Queue(1000, 16, 2)

    def fail(begin: int, end: int) -> None:
        raise ValueError("state")

    queue.work(fail)
    assert isinstance(queue.failure, ValueError)
    assert not queue.slice(fail)


@pytest.mark.parametrize(
    ("shape", "strides", "step"),
    [
        ((), (), 0),
        ((1,), (24,), 0),
        ((5,), (24,), 3),
        ((2, 3), (24, 8), 1),
        ((2, 3), (48, 16), 2),
        ((2, 1, 3), (24, 999, 8), 1),
        ((2, 3), (32, 8), None),
        ((2, 3), (8, 16), None),
        ((2, 3), (0, 0), 0),
        ((4,), (12,), None),
        ((4,), (-8,), -1),
        ((2, 2, 2), (32, 16, 8), 1),
        ((2, 2, 2), (40, 16, 8), None),
    ],
)
def test_the_step_over_all_axes_is_regular_or_none(
    shape: tuple[int, ...], strides: tuple[int, ...], step: int | None
) -> None:
    """Strides are bytes, steps are elements of eight bytes; axes of length one do not count."""
    assert batch._step(shape, strides, 8) == step


def test_threads_take_half_of_their_part_of_the_rest_in_whole_blocks() -> None:
    slices: list[tuple[int, int]] = []
    queue = _Queue(1000, 16, 2)
    queue.share = 10**6
    queue.slice(lambda begin, end: slices.append((begin, end)))
    assert slices == [(0, 256)]  # a quarter of 1000 is 250
    queue.begun, queue.share = 980, 10**6
    queue.slice(lambda begin, end: slices.append((begin, end)))
    assert slices[1:] == [(980, 996)]  # a quarter of 20 is less than a first slice of 16
    alone = _Queue(1000, 16, 1)
    alone.share = 500
    alone.slice(lambda begin, end: slices.append((begin, end)))
    assert slices[2:] == [(0, 512)]
