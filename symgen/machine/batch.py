"""A compiled function over many states: blocks of them in C, wherever the states stand in memory, and on several threads.

An array is read where it stands if its states, and the elements of each, are equally far apart; otherwise it is copied.
The states are run in slices of a fifth of a second, since Python reacts to Ctrl-C only when C has returned. Threads take slices
from one heap, shorter ones towards its end; the thread that calls is one of them. A slice is a whole number of blocks, and a
state's results do not hang on what stands beside it: they have the same bits however many states, slices and threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock, Thread
from time import perf_counter
from typing import Any, NamedTuple

from symgen.ir.program import Port

SHARE = 0.2
"""Seconds that C may run before Python checks for an interruption."""
BLOCK = 16
"""States; a multiple of every block's."""
LAYOUTS = ("aos", "soa")
"""Where the numbers of one state stand: one after another, before those of the next; or each in the array of that number."""

Progress = Callable[[int, int], object]
Run = Callable[[int, int], None]


class Strided(NamedTuple):
    """An array as C reads it: element k of state i stands `i*state + k*element` elements behind its first one."""

    array: Any
    """Kept alive by this."""
    state: int
    element: int


def strided(np: Any, port: Port, x: Any, lead: tuple[int, ...], copy: bool = True) -> Strided:
    """An array of shape lead + port.shape, or one that broadcasts to that, in place; copied where its steps are not even."""
    x = x if x.shape == lead + port.shape else np.broadcast_to(x, lead + port.shape)
    place = len(lead)
    state = _step(lead, x.strides[:place], x.itemsize)
    element = _step(port.shape, x.strides[place:], x.itemsize)
    if state is None or element is None or not x.flags.aligned:
        assert copy
        return strided(np, port, np.ascontiguousarray(x), lead, copy=False)
    return Strided(x, state, element)


def _step(shape: Sequence[int], strides: Sequence[int], size: int) -> int | None:
    """How many elements lie from one entry to the next, all axes gone through as one; None where that varies."""
    step, count = None, 1
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1:
            if step is None:
                step = stride
            elif stride != step * count:
                return None
            count *= length
    return None if step is not None and step % size else (step or 0) // size


def in_slices(
    run: Run, states: int, first: int, threads: int, progress: Progress | None = None
) -> None:
    """`run(begin, end)` over all states, the first slices of about `first` states each.

    An exception, and Ctrl-C, ends it when the slices that are under way have run. `progress(done, states)` is told now and then.
    """
    heap = _Heap(states, first, threads)
    others = [
        Thread(target=heap.work, args=(run,)) for _ in range(min(threads, states // first) - 1)
    ]
    begun = []
    try:
        for one in others:
            one.start()
            begun.append(one)
        while heap.slice(run):
            if progress:
                progress(heap.done, states)
    finally:
        heap.states = 0
        for one in begun:
            one.join()
    if heap.failure:
        raise heap.failure
    if progress and begun:
        progress(heap.done, states)


class _Heap:
    """States that are still to be run."""

    def __init__(self, states: int, first: int, threads: int) -> None:
        self.states, self.begun, self.done = states, 0, 0
        self.threads, self.least = threads, first
        self.share = first
        self.lock = Lock()
        self.failure: BaseException | None = None

    def work(self, run: Run) -> None:
        """Run slices for as long as there are any."""
        try:
            while self.slice(run):
                pass
        except BaseException as error:
            self.failure, self.states = error, 0

    def slice(self, run: Run) -> bool:
        """Run one; False where none is left. The next ones are as long as takes SHARE, and shorter where threads have to end at
        once: a thread takes half of what is its part of the rest.
        """
        with self.lock:
            begin = self.begun
            share = self.share
            if self.threads > 1:
                share = min(share, max(self.least, (self.states - begin) // (2 * self.threads)))
            end = min(begin + -(-share // BLOCK) * BLOCK, self.states)
            if end <= begin:
                return False
            self.begun = end
        start = perf_counter()
        run(begin, end)
        took = perf_counter() - start
        with self.lock:
            self.done += end - begin
            self.share = max(1, int((end - begin) * min(8.0, SHARE / max(took, 1e-6))))
        return True
