"""A compiled function over many states: in blocks in C, at any memory layout, and on several
threads.

An array is read in place if its states, and the elements of each, have regular strides; otherwise
it is copied. The states are run in slices of a fifth of a second, since Python reacts to Ctrl-C
only when C has returned. Threads take slices from one queue, shorter ones towards its end; the
calling thread is one of them. A slice is a whole number of blocks, and a state's results do not
depend on its neighbours: they have the same bits for any number of states, slices and threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock, Thread
from time import perf_counter
from typing import Any, NamedTuple

from symgen.ir.program import Port

SHARE = 0.2
"""Seconds that C may run before Python checks for an interruption."""
GROWTH = 8
"""Largest ratio of the lengths of a slice and the one before it."""
BLOCK = 16
"""Number of states; a multiple of every block's."""
LAYOUTS = ("aos", "soa")
"""Memory layouts: "aos" has the numbers of one state together, "soa" has an array for each number.
"""

Progress = Callable[[int, int], object]
Run = Callable[[int, int], None]


class Strided(NamedTuple):
    """An array as C reads it: element k of state i is `i*state + k*element` elements after the
    first one.
    """

    array: Any
    """The array itself; the reference keeps it alive."""
    state: int
    element: int


def strided(np: Any, port: Port, x: Any, lead: tuple[int, ...], copy: bool = True) -> Strided:
    """Return an aligned array of shape lead + port.shape, or one that broadcasts to it, in place;
    copied if its strides are irregular.
    """
    x = x if x.shape == lead + port.shape else np.broadcast_to(x, lead + port.shape)
    axis = len(lead)
    state = _step(lead, x.strides[:axis], x.itemsize)
    element = _step(port.shape, x.strides[axis:], x.itemsize)
    if state is None or element is None:
        assert copy
        return strided(np, port, np.ascontiguousarray(x), lead, copy=False)
    return Strided(x, state, element)


def _step(shape: Sequence[int], strides: Sequence[int], size: int) -> int | None:
    """Return the number of elements from one entry to the next over all axes; None if it varies."""
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
    """Call `run(begin, end)` over all states; the first slices have about `first` states each.

    An exception, and Ctrl-C, ends the call when the running slices have finished. `progress(done,
    states)` is called from time to time.
    """
    queue = _Queue(states, first, threads)
    threads_to_start = [
        Thread(target=queue.work, args=(run,)) for _ in range(min(threads, states // first) - 1)
    ]
    started = []
    try:
        for thread in threads_to_start:
            thread.start()
            started.append(thread)
        while queue.slice(run):
            if progress:
                progress(queue.done, states)
    finally:
        queue.states = 0
        for thread in started:
            thread.join()
    if queue.failure:
        raise queue.failure
    if progress and started:
        progress(queue.done, states)


class _Queue:
    """States that are still to be run."""

    def __init__(self, states: int, first: int, threads: int) -> None:
        self.states, self.begun, self.done = states, 0, 0
        self.threads, self.least = threads, first
        self.share = first
        self.lock = Lock()
        self.failure: BaseException | None = None

    def work(self, run: Run) -> None:
        """Run slices until none is left."""
        try:
            while self.slice(run):
                pass
        except BaseException as error:
            self.failure, self.states = error, 0

    def slice(self, run: Run) -> bool:
        """Run one slice; return False if none is left.

        The next slices take about SHARE seconds. They get shorter towards the end, so that threads
        finish together: a thread takes half of its part of the rest.
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
            self.share = max(1, int((end - begin) / max(took / SHARE, 1 / GROWTH)))
        return True
