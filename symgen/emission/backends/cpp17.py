"""Wrapper for C++17: a header with functions of std::array, and of std::span if it is available.

Each function calls the C function of its name with pointers to its arrays. The header allocates no
memory and throws no exception, so that it can be compiled with -fno-exceptions and -fno-rtti.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from symgen.emission import adjustable, checks, printer, render
from symgen.emission.backend import Wrapper
from symgen.emission.c_text import C, comment
from symgen.emission.ports import struct_of, with_forces
from symgen.ir.loops import Form
from symgen.ir.ports import (
    counts_bodies,
    describe,
    frame_and_wrench_counts,
    meaning,
    single_real,
    size_definitions,
    symbolic_shape,
)
from symgen.ir.program import Bound, Port
from symgen.vocabulary import derivatives
from symgen.vocabulary.arrays import Array
from symgen.vocabulary.functions import FUNCTIONS, REGROUP
from symgen.vocabulary.target import Target

NAME = "cpp17"
LANGUAGE = replace(C, reserved=C.reserved | {"parameters", "prepared"})
"""The names that C reserves are reserved in C++, and so are the types of the header's namespace."""


def header(programs: Mapping[str, Form], target: Target) -> str:
    """Return the text of NAME.hpp: one namespace, with a function for each of `programs`.

    Each function has an overload that takes spans.
    """
    real = single_real(programs.values())
    return_facts = _checked_return_facts if target.checked else _return_facts
    functions = [_function(program, target, return_facts) for program in programs.values()]
    return render(
        NAME,
        "header.hpp.j2",
        **target.context,
        real=real,
        functions=functions,
        counts_bodies=counts_bodies(programs.values()),
        size_definitions=size_definitions(programs.values()),
        loops=any(program.looped for program in programs.values()),
        **frame_and_wrench_counts(programs.values()),
        statuses=checks.statuses(programs.values(), target),
        adjustable=adjustable.statuses(programs, target) if REGROUP in programs else [],
    )


def _function(
    program: Form, target: Target, return_facts: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
    """Return the template's facts about one function."""
    names = {
        port: LANGUAGE.local(name, ())
        for port, name in printer().parameters(program, target).items()
    }
    arguments, results = describe(program)
    declared = FUNCTIONS.get(program.function)

    def described(port: Port, array: Array) -> dict[str, str]:
        description = with_forces(meaning(array, target.sizes), target, program.inputs)
        return {
            "name": names[port.name],
            "size": _size(array, port, target),
            "what": comment(description),
        }

    argument_ports = [
        described(port, array) | _argument_type(port, names[port.name], target)
        for port, array in zip(program.inputs, arguments, strict=True)
    ]
    result_ports = [
        described(port, array) for port, array in zip(program.outputs, results, strict=True)
    ]
    return (
        {
            "name": derivatives.identifier_part(program.function),
            "symbol": target.symbol(program.function),
            "what": comment(
                with_forces(declared.what if declared else program.function, target, program.inputs)
            ),
            "arguments": argument_ports,
            "results": result_ports,
            "ports": [*argument_ports, *result_ports],
        }
        | _workspace(program, target, {port["name"] for port in (*argument_ports, *result_ports)})
        | return_facts(program, result_ports)
    )


def _argument_type(port: Port, name: str, target: Target) -> dict[str, str]:
    """Return the `struct` of an argument ("": an array), and the `pointer` that the C takes."""
    struct = struct_of(port, target.name)
    return {"struct": struct, "pointer": f"&{name}" if struct else f"{name}.data()"}


def _workspace(program: Form, target: Target, used_names: set[str]) -> dict[str, str]:
    """Return the name of the workspace, its size as an argument, and the size's parameter name.

    All are "" for a function without a workspace. The parameter belongs to the function for many
    states.
    """
    if not program.looped:
        return {"work": "", "size": "", "size_parameter": ""}
    work = LANGUAGE.local("work", used_names)
    return {
        "work": work,
        "size": ", static_cast<int>(WORK)" if target.checked else "",
        "size_parameter": LANGUAGE.local("size", used_names | {work}),
    }


def _return_facts(program: Form, results: list[dict[str, str]]) -> dict[str, Any]:
    """Return the template's facts about the return value: number, array, or struct of arrays.

    `return_type` is its type, `declaration` declares the local that holds it, `pointers` point to
    its arrays, `expression` follows `return`, and `status` assigns the status of the C function.
    """
    first, status = results[0], {"status": ""}
    if len(results) > 1:
        kind, pointers = (
            f"{derivatives.identifier_part(program.function)}_results",
            [f"results.{r['name']}.data()" for r in results],
        )
        facts = status | {
            "fields": results,
            "declaration": f"{kind} results",
            "pointers": pointers,
        }
        return facts | {"return_type": kind, "expression": "results"}
    kind, name = f"std::array<real, {first['size']}>", first["name"]
    facts = status | {
        "fields": [],
        "declaration": f"{kind} {name}",
        "pointers": [f"{name}.data()"],
    }
    if not program.outputs[0].shape:
        return facts | {"return_type": "real", "expression": f"{name}[0]"}
    return facts | {"return_type": kind, "expression": name}


def _checked_return_facts(program: Form, results: list[dict[str, str]]) -> dict[str, Any]:
    """Return the facts of `_return_facts` for a checked function, which also returns a status."""
    unchecked_facts = _return_facts(program, results)
    kind = f"outcome<{unchecked_facts['return_type']}>"
    if unchecked_facts["fields"]:
        pointers = [f"found.value.{r['name']}.data()" for r in results]
    else:
        pointers = ["found.value.data()" if program.outputs[0].shape else "&found.value"]
    return unchecked_facts | {
        "return_type": kind,
        "declaration": f"{kind} found{{}}",
        "pointers": pointers,
        "expression": "found",
        "status": "found.status = ",
    }


def _size(array: Array, port: Port, target: Target) -> str:
    """Return the size of a port, for example "NV * NV"; a number if it has no symbolic shape."""
    shape = symbolic_shape(array, port, target.sizes)
    return str(port.size) if shape is None else " * ".join(map(str, shape))


def files(
    programs: Mapping[str, Form],
    target: Target,
    divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None,
) -> dict[str, str]:
    """Return the text of NAME.hpp by its name."""
    return {f"{target.name}.hpp": header(programs, target)}


BACKEND = Wrapper(name=NAME, files=files, loops=True)
