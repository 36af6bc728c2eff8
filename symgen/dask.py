"""A solver's function over Dask arrays, chunk by chunk: on threads, processes or machines.

    solver = symgen.compile("panda", ["forward_dynamics"])
    a      = symgen.dask.map(solver.forward_dynamics, q, v, tau)     # Dask arrays of shape (..., 7); nothing is computed yet

The solver stands in the graph once, as a task of its own that every chunk asks for, so that it goes to each worker once. It takes
its compiled libraries along, and a worker needs no compiler. A scheduler passes them on and opens none.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from symgen.ir.program import Port
from symgen.machine.kernels import Call, Kernel
from symgen.machine.solver import Solver
from symgen.support.errors import ArgumentError, StateError, ToolMissing
from symgen.vocabulary.functions import PREPARED


def map(function: Call, /, *arrays: Any, threads: int = 1, status: bool = False) -> Any:
    """`function` of a solver over arrays of states: a Dask array of the solver's real type; of several results a tuple of them.

    Each of `arrays` is a Dask array, or what NumPy makes an array of, of shape (..., *that of one state). Leading dimensions
    broadcast together and keep their chunks, and one state serves all. What belongs to a state is put into one chunk. Nothing is
    computed yet, but the function is compiled for blocks of states. `threads` work at one chunk at once. With `status`, for
    checked functions, one more array (int32, of the leading dimensions) tells why a state is refused, 0 where it is not, and the
    results of the refused are NaN; without it a refused state ends the computation by StateError. Several results are computed
    together where they are asked for together, `dask.compute(R, p)`. Raises ArgumentError, a ValueError, on a wrong shape, type
    or number of arrays, BuildError as `symgen.compile`, and ToolMissing where Dask is not installed.
    """
    try:
        import dask.array as da
        from dask.base import tokenize
        from dask.delayed import delayed
    except ImportError as error:
        raise ToolMissing(
            f"Dask is not here ({error}); 'pip install symgen[dask]' brings it"
        ) from None
    solver = getattr(function, "__self__", None)
    kernel = solver.kernel(function) if isinstance(solver, Solver) else None
    if solver is None or kernel is None:
        raise ArgumentError(
            "symgen.dask.map takes a function of a solver, such as solver.forward_dynamics; "
            f"{getattr(function, '__name__', function)!r} is none"
        )
    if len(arrays) == len(kernel.inputs) - 1 and kernel.inputs[-1].name == PREPARED.name:
        arrays = (*arrays, solver.parameters.prepared)
    if len(arrays) != len(kernel.inputs):
        names = ", ".join(port.name for port in kernel.inputs)
        raise ArgumentError(
            f"{kernel.function}: {len(arrays)} arrays are given, but it takes {len(kernel.inputs)}: {names}"
        )
    if status and not kernel.checked:
        raise ArgumentError(f"{kernel.function} has no status; compile it with checked=True")
    threads = kernel.arrays.workers(threads)
    given = [_taken(da, kernel, port, x) for port, x in zip(kernel.inputs, arrays, strict=True)]
    _refuse_unlike(kernel, given)
    kernel.prepare()
    sent = delayed(pickle.dumps(solver), name=f"symgen-{tokenize(function)}", traverse=False)
    return _mapped(
        da, kernel, given, sent, {"call": function.__name__, "threads": threads, "status": status}
    )


def _taken(da: Any, kernel: Kernel, port: Port, x: Any) -> Any:
    """An argument as a Dask array of which each chunk holds whole states."""
    arrays, axes = kernel.arrays, len(port.shape)
    if not isinstance(x, da.Array):
        x = arrays.argument(port, x, across=False)
        return da.from_array(x, chunks=("auto",) * (x.ndim - axes) + port.shape)
    arrays.refuse_masked(port, x._meta)
    arrays.check_shape(port, x)
    arrays.argument(
        port, kernel.np.empty((0,) * (x.ndim - axes) + port.shape, x.dtype), across=False
    )  # its type
    return x.rechunk(dict.fromkeys(range(x.ndim - axes, x.ndim), -1)) if axes else x


def _refuse_unlike(kernel: Kernel, given: Sequence[Any]) -> None:
    """ArgumentError where leading shapes do not broadcast. Lengths that Dask does not know yet are compared chunk by chunk."""
    leads = [
        x.shape[: x.ndim - len(port.shape)] for port, x in zip(kernel.inputs, given, strict=True)
    ]
    if all(length == length for lead in leads for length in lead):  # Dask's unknown lengths are NaN
        kernel.arrays.common(leads)


def _mapped(
    da: Any, kernel: Kernel, given: Sequence[Any], sent: Any, options: dict[str, Any]
) -> Any:
    """The graph. Leading axes are numbered from 0, and behind those whatever belongs to one state."""
    np = kernel.np
    axes = max([x.ndim - len(port.shape) for port, x in zip(kernel.inputs, given, strict=True)])
    numbered, free = [], axes
    for port, x in zip(kernel.inputs, given, strict=True):
        own = len(port.shape)
        numbered += [x, (*range(axes - x.ndim + own, axes), *range(free, free + own))]
        free += own

    def made(does: Any, shape: tuple[int, ...], real: Any, *arguments: Any, **more: Any) -> Any:
        new = dict(zip(range(free, free + len(shape)), shape, strict=True))
        meta = np.empty((0,) * (axes + len(shape)), real)
        return da.blockwise(
            does,
            (*range(axes), *new),
            *arguments,
            new_axes=new,
            token=options["call"],
            meta=meta,
            **more,
        )

    results = [(port.shape, kernel.real) for port in kernel.outputs] + [((), np.intc)] * options[
        "status"
    ]
    if len(results) == 1:
        return made(_chunk, *results[0], *numbered, sent=sent, **options)
    together = made(_chunk, (), object, *numbered, sent=sent, **options)
    return tuple(
        [
            made(_one_of, *result, together, (*range(axes),), which=k)
            for k, result in enumerate(results)
        ]
    )


def _chunk(*blocks: Any, sent: bytes, call: str, threads: int, status: bool) -> Any:
    """One chunk, on a worker. A block of which Dask goes through some axes by itself comes in lists of one."""
    solver = _opened(sent)
    function = getattr(solver, call)
    arguments = [_only(block) for block in blocks]
    if not status:
        try:
            return function(*arguments, threads=threads)
        except StateError as error:
            raise StateError(
                f"{error} (states are counted within a chunk; status=True marks them all)"
            ) from None
    kernel = solver.kernel(function)
    assert kernel is not None
    np = kernel.np
    lead = kernel.arrays.common(
        [
            np.shape(x)[: np.ndim(x) - len(p.shape)]
            for p, x in zip(kernel.inputs, arguments, strict=True)
        ]
    )
    statuses = np.zeros(lead, np.intc)
    found = tuple([np.full(lead + port.shape, np.nan, kernel.real) for port in kernel.outputs])
    function(
        *arguments, out=found[0] if len(found) == 1 else found, threads=threads, status=statuses
    )
    return *found, statuses


def _only(block: Any) -> Any:
    while isinstance(block, list):
        (block,) = block
    return block


def _one_of(results: Any, which: int) -> Any:
    return results[which]


@lru_cache(maxsize=16)
def _opened(sent: bytes) -> Solver:
    """A solver that was sent, opened once in a process."""
    solver = pickle.loads(sent)
    assert isinstance(solver, Solver)
    return solver
