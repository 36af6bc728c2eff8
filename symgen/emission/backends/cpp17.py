"""C++17: a header over the C of the folder, with std::array in and out, and with std::span if the
library has it.

It computes nothing: each function passes pointers on to the C function of its name. It allocates
nothing and throws nothing, so that it can be built with -fno-exceptions and -fno-rtti.
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
"""C++ reserves the names that C does; further, no argument has the name of a type of the namespace.
"""


def header(programs: Mapping[str, Form], target: Target) -> str:
    """The text of NAME.hpp: one namespace, one function (and one over spans) for every one of
    `programs`.
    """
    real = single_real(programs.values())
    returned = _outcome if target.checked else _returned
    functions = [_function(program, target, returned) for program in programs.values()]
    return render(
        NAME,
        "header.hpp.j2",
        **target.context,
        real=real,
        functions=functions,
        bodies=counts_bodies(programs.values()),
        counted=size_definitions(programs.values()),
        loops=any(program.looped for program in programs.values()),
        **frame_and_wrench_counts(programs.values()),
        statuses=checks.statuses(programs.values(), target),
        adjustable=adjustable.statuses(programs, target) if REGROUP in programs else [],
    )


def _function(
    program: Form, target: Target, returned: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
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
    stored = [described(port, array) for port, array in zip(program.outputs, results, strict=True)]
    return (
        {
            "name": derivatives.identifier_part(program.function),
            "symbol": target.symbol(program.function),
            "what": comment(
                with_forces(declared.what if declared else program.function, target, program.inputs)
            ),
            "arguments": argument_ports,
            "results": stored,
            "ports": [*argument_ports, *stored],
        }
        | _worked(program, target, {port["name"] for port in (*argument_ports, *stored)})
        | returned(program, stored)
    )


def _argument_type(port: Port, name: str, target: Target) -> dict[str, str]:
    """The struct that an argument is taken as ("": an array), and what of it is handed to the C."""
    struct = struct_of(port, target.name)
    return {"struct": struct, "passed": f"&{name}" if struct else f"{name}.data()"}


def _worked(program: Form, target: Target, used_names: set[str]) -> dict[str, str]:
    """The array that the caller of a loop over links provides, how the C is told its size, and what
    many states call that.
    """
    if not program.looped:
        return {"work": "", "size": "", "count": ""}
    work = LANGUAGE.local("work", used_names)
    return {
        "work": work,
        "size": ", static_cast<int>(WORK)" if target.checked else "",
        "count": LANGUAGE.local("size", used_names | {work}),
    }


def _returned(program: Form, results: list[dict[str, str]]) -> dict[str, Any]:
    """How the answer is held and given back: a number, one array, or a struct of arrays."""
    first, status = results[0], {"status": ""}
    if len(results) > 1:
        kind, pointers = (
            f"{derivatives.identifier_part(program.function)}_results",
            [f"results.{r['name']}.data()" for r in results],
        )
        context = status | {"fields": results, "held": f"{kind} results", "pointers": pointers}
        return context | {"returned": kind, "answer": "results"}
    kind, name = f"std::array<real, {first['size']}>", first["name"]
    context = status | {"fields": [], "held": f"{kind} {name}", "pointers": [f"{name}.data()"]}
    if not program.outputs[0].shape:
        return context | {"returned": "real", "answer": f"{name}[0]"}
    return context | {"returned": kind, "answer": name}


def _outcome(program: Form, results: list[dict[str, str]]) -> dict[str, Any]:
    """Return the facts of a checked function: a status beside the answer, which is zero where the
    status is not OK.
    """
    plain = _returned(program, results)
    kind = f"outcome<{plain['returned']}>"
    if plain["fields"]:
        pointers = [f"found.value.{r['name']}.data()" for r in results]
    else:
        pointers = ["found.value.data()" if program.outputs[0].shape else "&found.value"]
    context = {
        "held": f"{kind} found{{}}",
        "pointers": pointers,
        "answer": "found",
        "status": "found.status = ",
    }
    return plain | context | {"returned": kind}


def _size(array: Array, port: Port, target: Target) -> str:
    """The size of a port: NV * NV, and a plain number where the table of functions does not know
    better.
    """
    shape = symbolic_shape(array, port, target.sizes)
    return str(port.size) if shape is None else " * ".join(map(str, shape))


def files(
    programs: Mapping[str, Form],
    target: Target,
    divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None,
) -> dict[str, str]:
    """NAME.hpp."""
    return {f"{target.name}.hpp": header(programs, target)}


BACKEND = Wrapper(name=NAME, files=files, loops=True)
