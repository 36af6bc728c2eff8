"""Functions of a solver over Dask arrays, chunk by chunk: on threads, processes or machines.

    solver = symgen.compile("panda", ["forward_dynamics"])
    # q, v, tau and a are Dask arrays of shape (..., 7); nothing is computed yet
    a = symgen.dask.map(solver.forward_dynamics, q, v, tau)

The graph holds the solver once, as a task on which every chunk depends, so each worker receives it
once. The solver contains its compiled libraries, and a worker needs no compiler. The scheduler
passes the bytes on and never unpickles them.
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
    """Return the results of a solver's `function` over arrays of states, as a Dask array or a tuple
    of them.

    Each of `arrays` is a Dask array or array-like of shape (..., *shape of one state). Leading
    dimensions broadcast together and keep their chunks; one state may serve all. The numbers of a
    state are put into one chunk. The call compiles the function for blocks of states and computes
    nothing else. The results have the solver's real type; `dask.compute(R, p)` computes several
    results together.

    `threads` is the number of threads for each chunk. `status=True`, for checked functions, adds an
    int32 array with the status of each state, 0 if it is accepted; results of refused states are
    NaN. Without it a refused state raises StateError.

    Raises ArgumentError, a ValueError, for a wrong shape, type or number of arrays, BuildError as
    `symgen.compile`, and ToolMissing if Dask is not installed.
    """
    try:
        import dask.array as da
        from dask.base import tokenize
        from dask.delayed import delayed
    except ImportError as error:
        raise ToolMissing(
            f"Dask is not installed ({error}); run pip install 'symgen[dask]'"
        ) from None
    solver: Any = getattr(function, "__self__", None)
    kernel = solver.kernel(function) if isinstance(solver, Solver) else None
    if kernel is None:
        raise ArgumentError(
            "symgen.dask.map takes a function of a solver, such as solver.forward_dynamics; "
            f"{getattr(function, '__name__', function)!r} is not one"
        )
    if len(arrays) == len(kernel.inputs) - 1 and kernel.inputs[-1].name == PREPARED.name:
        arrays = (*arrays, solver.parameters.prepared)
    if len(arrays) != len(kernel.inputs):
        names = ", ".join(port.name for port in kernel.inputs)
        raise ArgumentError(
            f"{kernel.function}: {len(arrays)} arrays are given, but it takes {len(kernel.inputs)}:"
            f" {names}"
        )
    if status and not kernel.checked:
        raise ArgumentError(f"{kernel.function} has no status; compile it with checked=True")
    threads = kernel.arrays.workers(threads)
    arguments = [
        _whole_states(da, kernel, port, x) for port, x in zip(kernel.inputs, arrays, strict=True)
    ]
    _refuse_unlike(kernel, arguments)
    kernel.prepare()
    sent = delayed(pickle.dumps(solver), name=f"symgen-{tokenize(function)}", traverse=False)
    return _mapped(
        da,
        kernel,
        arguments,
        sent,
        {"call": function.__name__, "threads": threads, "status": status},
    )


def _whole_states(da: Any, kernel: Kernel, port: Port, x: Any) -> Any:
    """Return an argument as a Dask array whose chunks hold whole states."""
    arrays, axes = kernel.arrays, len(port.shape)
    if not isinstance(x, da.Array):
        x = arrays.argument(port, x, across=False)
        return da.from_array(x, chunks=("auto",) * (x.ndim - axes) + port.shape)
    arrays.refuse_masked(port, x._meta)
    arrays.check_shape(port, x)
    arrays.argument(port, kernel.np.zeros(port.shape, x.dtype), across=False)  # check the type
    return x.rechunk(dict.fromkeys(range(x.ndim - axes, x.ndim), -1)) if axes else x


def _refuse_unlike(kernel: Kernel, arguments: Sequence[Any]) -> None:
    """Raise ArgumentError if leading shapes do not broadcast. Unknown lengths are compared later,
    chunk by chunk.
    """
    leads = [
        x.shape[: x.ndim - len(port.shape)]
        for port, x in zip(kernel.inputs, arguments, strict=True)
    ]
    if all(length == length for lead in leads for length in lead):  # Dask's unknown lengths are NaN
        kernel.arrays.common(leads)


def _mapped(
    da: Any, kernel: Kernel, inputs: Sequence[Any], sent: Any, options: dict[str, Any]
) -> Any:
    """Return the graph. Leading axes have the numbers from 0, followed by the axes of one state."""
    np = kernel.np
    axes = max([x.ndim - len(port.shape) for port, x in zip(kernel.inputs, inputs, strict=True)])
    numbered, free = [], axes
    for port, x in zip(kernel.inputs, inputs, strict=True):
        inner = len(port.shape)
        numbered += [x, (*range(axes - x.ndim + inner, axes), *range(free, free + inner))]
        free += inner

    def chunkwise(
        function: Any, shape: tuple[int, ...], real: Any, *arguments: Any, **more: Any
    ) -> Any:
        new = dict(zip(range(free, free + len(shape)), shape, strict=True))
        meta = np.array((), real)  # Dask gives it the axes of the result
        return da.blockwise(
            function,
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
        return chunkwise(_chunk, *results[0], *numbered, sent=sent, **options)
    all_results = chunkwise(_chunk, (), object, *numbered, sent=sent, **options)
    return tuple(
        [
            chunkwise(_one_of, *result, all_results, (*range(axes),), index=k)
            for k, result in enumerate(results)
        ]
    )


def _chunk(*blocks: Any, sent: bytes, call: str, threads: int, status: bool) -> Any:
    """Compute one chunk on a worker. Dask passes a block in lists of length one if it contracts
    axes.
    """
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
    results = tuple([np.full(lead + port.shape, np.nan, kernel.real) for port in kernel.outputs])
    function(
        *arguments,
        out=results[0] if len(results) == 1 else results,
        threads=threads,
        status=statuses,
    )
    return *results, statuses


def _only(block: Any) -> Any:
    """Return the array in nested lists of length one."""
    while isinstance(block, list):
        (block,) = block
    return block


def _one_of(results: Any, index: int) -> Any:
    """Return one of the results of a chunk."""
    return results[index]


@lru_cache(maxsize=16)
def _opened(sent: bytes) -> Solver:
    """Return the solver of a pickle, loaded once in each process."""
    solver = pickle.loads(sent)
    assert isinstance(solver, Solver)
    return solver
