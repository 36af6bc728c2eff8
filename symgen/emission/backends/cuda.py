"""CUDA: the functions of the folder once more, for a GPU of NVIDIA's: one thread a state.

NAME_<function>.cuh holds one state as a device function, whose statements are those of the C.
NAME_<function>_cuda.cu has the kernel around it, which reads a state, calls the device function and
stores what it found, and the function that launches the kernel from the host; NAME_cuda.h declares
both. A long function is cut into parts, as the C is, which share an array in the thread's local
memory.

The sines are the text's own within their range (NAME_sincos.cuh), as in the C unless told
otherwise: their error is proved, with a*b + c fused or not, where that of CUDA's is a measured one.
Beyond they are CUDA's.

Source: NVIDIA, CUDA C++ Programming Guide 13: the qualifiers, the launch (cudaLaunchKernelEx, from
CUDA 11.8 on), the errors of its mathematical functions.
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
"""The statements of C, in functions of a thread of the GPU."""
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
"""Names of the locals and further parameters of kernels and of what launches them."""
THREADS = 128
"""Default threads a block: with so few, each thread may use all 255 registers."""
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
"""Names whose NAME.h would hide a header of CUDA's."""


def files(
    programs: Mapping[str, Form],
    target: Target,
    divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None,
) -> dict[str, str]:
    """Return NAME_cuda.h, NAME_sincos.cuh where a sine is taken, and two files a function.

    RequestError for a name of CUDA's own, and for a chain in parts.
    """
    if target.name in TAKEN:
        raise RequestError(
            f"{target.name}.h is a header of CUDA's, which that of the robot would hide; give it"
            " another --name"
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
    """Which sines NAME_sincos.cuh has, and what computes those that are out of range."""
    trig = target.text.trig
    return {
        "own": trig in ("auto", "inline"),
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
        "own": local_names,
        "looped": looped,
    }


def _straight_line(
    program: Program, target: Target, divisor_bounds: Mapping[int, Bound]
) -> dict[str, Any]:
    """Return the facts of a function that is a straight line, with its text."""
    facts = printer().definition(program, target, divisor_bounds)
    symbol = {"symbol": f"{target.symbol(program.function)}_device"}
    return facts | {"definition": straight_line.text(facts | symbol, target.name, LANGUAGE)}


BACKEND = Wrapper(name=NAME, files=files, loops=True)
