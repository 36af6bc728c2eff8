"""Wrapper for CUDA: the functions for NVIDIA GPUs, where each thread computes one state.

NAME_<function>.cuh has a device function for one state, with the statements of the C function.
NAME_<function>_cuda.cu has a kernel, which reads a state, calls the device function and stores its
results, and a host function, which launches the kernel. NAME_cuda.h declares kernel and host
function. A long function is cut into parts, which share an array in the thread's local memory.

The option `--trig` chooses sine and cosine as in the C. The functions of NAME_sincos.cuh have a
proved error bound, with a*b + c fused or not; the bound of CUDA's functions is measured. CUDA's
functions compute the angles beyond the proved range with `--trig auto`.

Source: NVIDIA, CUDA C++ Programming Guide 13: function qualifiers, kernel launches
(cudaLaunchKernelEx, since CUDA 11.8), and errors of mathematical functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from symgen.emission import looped_threads, printer, render, sincos
from symgen.emission.backend import Wrapper
from symgen.emission.c_text import C
from symgen.emission.lowering import straight_line
from symgen.ir.loops import Form
from symgen.ir.ports import single_real
from symgen.ir.program import Bound, Program
from symgen.support.errors import RequestError
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

NAME = "cuda"
LANGUAGE = replace(
    C,
    storage={
        "static": "static __device__ inline ",
        "part": "static __device__ __noinline__ ",
    },
)
"""C with the function qualifiers of device functions."""
LOCALS = (
    "count",
    "i",
    "k",
    "step",
    "found",
    "status",
    "stream",
    "launch",
    "blocks",
    "work",
    "threads",
    "thread",
    "block",
    "most",
    "needed",
)
"""Locals and additional parameters of kernels and of the functions that launch them."""
THREADS = 128
"""Default number of threads of a block; each of them may use all 255 registers."""
TAKEN = frozenset(
    {
        "builtin_types",
        "channel_descriptor",
        "common_functions",
        "cuda",
        "cuda_runtime",
        "cuda_runtime_api",
        "device_functions",
        "device_launch_parameters",
        "device_types",
        "driver_functions",
        "driver_types",
        "library_types",
        "math_constants",
        "math_functions",
        "surface_types",
        "texture_types",
        "vector_functions",
        "vector_types",
    }
)
"""Robot names that are rejected, because NAME.h would hide a header of CUDA."""


def files(
    programs: Mapping[str, Form],
    target: Target,
    divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None,
) -> dict[str, str]:
    """Return the texts of NAME_cuda.h, NAME_sincos.cuh, and of two files for each function.

    NAME_sincos.cuh exists if a function computes a sine or cosine. Raises RequestError for a robot
    name in TAKEN, and for a chain in parts.
    """
    if target.name in TAKEN:
        raise RequestError(
            f"{target.name}.h would hide the CUDA header of the same name; give the robot another"
            " --name"
        )
    real = single_real(programs.values())
    functions = {
        function: _function(program, target, (divisor_bounds or {}).get(function, {}))
        for function, program in programs.items()
    }
    common = target.context | {"real": real, "threads": THREADS}
    any_loops = any(program.looped for program in programs.values())
    header = render(
        NAME, "header.h.j2", **common, functions=functions.values(), any_loops=any_loops
    )
    texts = {target.cuda_header: header}
    if any(facts["uses_sincos"] for facts in functions.values()):
        sines = sincos.context(real) | _sines(real, target)
        texts[target.cuda_sincos_file] = render(NAME, "sincos.cuh.j2", **common | sines)
    for function, facts in functions.items():
        device = "looped.cuh.j2" if facts["looped"] else "function.cuh.j2"
        texts[target.device_file(function)] = render(NAME, device, **common | facts)
        texts[target.kernel_file(function)] = render(NAME, "kernel.cu.j2", **common | facts)
    return texts


def _sines(real: str, target: Target) -> dict[str, Any]:
    """Return the template's facts about NAME_sincos.cuh.

    `inline` is True if the file has its own arithmetic. `far` is the suffix of the function for
    angles beyond its range, or "" without such a function. `sincos` is the name of CUDA's function.
    """
    trig = target.text.trig
    return {
        "inline": trig in ("auto", "inline"),
        "far": "far" if trig == "auto" else "",
        "sincos": REALS[real].libm("sincos"),
    }


def _function(program: Form, target: Target, divisor_bounds: Mapping[int, Bound]) -> dict[str, Any]:
    """Return the facts of one function that the templates print."""
    looped = program.looped
    facts = (
        looped_threads.function(program, target, LANGUAGE)
        if program.looped
        else _straight_line(program, target, divisor_bounds)
    )
    arrays = printer().driver(program, target)["parameters"]
    taken_names = {
        array[kind] for array in arrays for kind in ("name", "state", "element", "block")
    }
    local_names = {}
    for name in LOCALS:
        local_names[name] = C.local(name, taken_names)
        taken_names.add(local_names[name])
    function = target.symbol(program.function)
    symbol = f"{function}_device"
    return facts | {
        "function": function,
        "symbol": symbol,
        "arrays": arrays,
        "local": local_names,
        "looped": looped,
    }


def _straight_line(
    program: Program, target: Target, divisor_bounds: Mapping[int, Bound]
) -> dict[str, Any]:
    """Return the facts of a straight-line function; `definition` is its text."""
    facts = printer().definition(program, target, divisor_bounds)
    symbol = {"symbol": f"{target.symbol(program.function)}_device"}
    return facts | {"definition": straight_line.text(facts | symbol, target.name, LANGUAGE)}


BACKEND = Wrapper(name=NAME, files=files, loops=True)
