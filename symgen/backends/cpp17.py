"""C++17: a header over the C of the folder, with std::array in and out, and std::span where the library has it.

It computes nothing: each function passes pointers on to the C function of its name. It allocates nothing and throws
nothing, so that it can be built with -fno-exceptions and -fno-rtti.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symgen.backends import c99, render
from symgen.backends._c_text import comment
from symgen.functions import FUNCTIONS, Array
from symgen.ir import Port, Program

TEMPLATES = "cpp17"
SUFFIX = "hpp"


def header(programs: Mapping[str, Program], target: c99.Target) -> str:
    """The text of NAME.hpp: one namespace, one function (and one over spans) for every one of `programs`."""
    real = c99.single_real(programs.values())
    functions = [_function(program, target) for program in programs.values()]
    return render(TEMPLATES, "header.hpp.j2", **target.context, real=real, functions=functions)


def _function(program: Program, target: c99.Target) -> dict[str, Any]:
    names = c99.parameters(program, target)
    arguments, results = c99.describe(program)
    declared = FUNCTIONS.get(program.function)

    def described(port: Port, array: Array) -> dict[str, str]:
        return {"name": names[port.name], "size": _size(array, port, target), "what": comment(array.what)}

    given = [described(port, array) for port, array in zip(program.inputs, arguments, strict=True)]
    found = [described(port, array) for port, array in zip(program.outputs, results, strict=True)]
    return {
        "name": program.function,
        "symbol": target.symbol(program.function),
        "what": comment(declared.what if declared else program.function),
        "arguments": given,
        "results": found,
        "ports": [*given, *found],
    } | _returned(program, found)


def _returned(program: Program, results: list[dict[str, str]]) -> dict[str, Any]:
    """How the answer is held and given back: a number, one array, or a struct of arrays."""
    first = results[0]
    if len(results) > 1:
        kind, pointers = f"{program.function}_results", [f"results.{r['name']}.data()" for r in results]
        return {"fields": results, "returned": kind, "held": f"{kind} results", "pointers": pointers, "answer": "results"}
    kind, name = f"std::array<real, {first['size']}>", first["name"]
    held = {"fields": [], "held": f"{kind} {name}", "pointers": [f"{name}.data()"]}
    if not program.outputs[0].shape:
        return held | {"returned": "real", "answer": f"{name}[0]"}
    return held | {"returned": kind, "answer": name}


def _size(array: Array, port: Port, target: c99.Target) -> str:
    """The size of a port: NV * NV, and a plain number where the table of functions does not know better."""
    if array.sizes(target.nq, target.nv) != port.shape or not any(isinstance(s, str) for s in array.shape):
        return str(port.size)
    return " * ".join(str(s) for s in array.shape)
