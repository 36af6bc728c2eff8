"""Calls of steps by a GPU thread: elements with a stride are copied to and from local arrays.

A step is a function of contiguous arrays. The compiler inlines it, so that the local arrays become
registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from symgen.emission.lowering.loop_function import ELEMENT, LoopFunction, plus
from symgen.emission.statements import (
    Address,
    Assign,
    Block,
    Call,
    Declare,
    Element,
    For,
    Statement,
    Value,
    body,
    expression,
    parts,
)
from symgen.emission.writer import live_rows
from symgen.ir.program import Program

LOOP = 4
"""Least number of contiguous elements that are copied in a loop."""


def thread_call(loops: LoopFunction, call: Call, step: Program) -> tuple[Statement, ...]:
    """Return the call of a step; in a function for threads, with copies of the elements that the
    step reads and writes.
    """
    if not loops.threads:
        return (call,)
    declarations, loads, stores = list[Statement](), list[Statement](), list[Statement]()
    arguments: list[Value] = []
    read_elements = [step.rows[i].value for i in live_rows(step) if step.rows[i].op == "input"]
    ports = (*step.inputs, *step.outputs)
    for number, (port, argument) in enumerate(zip(ports, call.arguments, strict=True)):
        strided_array = argument if isinstance(argument, Address) else Address(str(argument), "0")
        if strided_array.array not in loops.strides:
            arguments.append(argument)
            continue
        local_array = f"local_{port.name}"
        arguments.append(local_array)
        declarations.append(Declare(loops.form.real, local_array, size=(port.size,)))
        if number < len(step.inputs):
            loads += _copies(
                {k for port_number, k in read_elements if port_number == number},
                strided_array,
                local_array,
                load=True,
            )
        else:
            stores += _copies(range(port.size), strided_array, local_array, load=False)
    call_with_copies = Call(call.function, tuple(arguments), True, call.continuation)
    return (Block(body(declarations, loads, call_with_copies, stores)),)


def _copies(
    elements: Iterable[int], strided_array: Address, local_array: str, load: bool
) -> Iterator[Statement]:
    """Yield the copies of elements from a strided array to a local array (`load`), or back."""
    for first, last in _runs(sorted(elements)):
        single = last - first + 1 < LOOP
        for k in range(first, last + 1) if single else (ELEMENT,):
            local: Value = Element(local_array, str(k))
            strided: Value = Element(strided_array.array, _sum(strided_array.index, k))
            assign = Assign(local, strided) if load else Assign(strided, local)
            yield assign if single else For(ELEMENT, first, last + 1, (assign,))


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and the last number of each run of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs


def _sum(index: Value, k: int | str) -> Value:
    """Return an index plus a number, or plus the index of a loop."""
    if isinstance(k, int):
        return plus(index, k)
    if index == "0":
        return k
    is_product = any("*" in part for part in parts(index) if isinstance(part, str))
    is_sum = any(" + " in part for part in parts(index) if isinstance(part, str))
    return expression(f"({{}}) + {k}" if is_product and not is_sum else f"{{}} + {k}", index)
