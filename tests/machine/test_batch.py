"""States of a batch: arrays read in place at their strides, and slices of whole blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symgen.ir.program import Port
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


def test_threads_take_half_of_their_part_of_the_rest_in_whole_blocks() -> None:
    slices: list[tuple[int, int]] = []
    queue = _Queue(1000, 16, 2)
    queue.share = 10**6
    queue.slice(lambda begin, end: slices.append((begin, end)))
    assert slices == [(0, 256)]  # a quarter of 1000 is 250
