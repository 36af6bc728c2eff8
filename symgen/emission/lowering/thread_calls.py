"""The call of a step by a thread: elements that are apart from each other go through arrays of the
thread's own.

A step is a function of arrays whose elements follow each other. The compiler puts it where it is
called, so that the thread's own arrays become registers.
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
"""Elements that follow each other are copied in a loop where they are so many."""


def thread_call(loops: LoopFunction, call: Call, step: Program) -> tuple[Statement, ...]:
    """Return the call of a step; in a function for threads with copies of the elements that it
    reads and gives.
    """
    if not loops.threads:
        return (call,)
    declarations, loads, stores = list[Statement](), list[Statement](), list[Statement]()
    arguments: list[Value] = []
    read_elements = [step.rows[i].value for i in live_rows(step) if step.rows[i].op == "input"]
    ports = (*step.inputs, *step.outputs)
    for number, (port, argument) in enumerate(zip(ports, call.arguments, strict=True)):
        source_address = argument if isinstance(argument, Address) else Address(str(argument), "0")
        if source_address.array not in loops.strides:
            arguments.append(argument)
            continue
        thread_array = f"local_{port.name}"
        arguments.append(thread_array)
        declarations.append(Declare(loops.form.real, thread_array, size=(port.size,)))
        if number < len(step.inputs):
            loads += _copies(
                {k for at, k in read_elements if at == number},
                source_address,
                thread_array,
                load=True,
            )
        else:
            stores += _copies(range(port.size), source_address, thread_array, load=False)
    call_with_copies = Call(call.function, tuple(arguments), True, call.continuation)
    return (Block(body(declarations, loads, call_with_copies, stores)),)


def _copies(
    elements: Iterable[int], source_address: Address, thread_array: str, load: bool
) -> Iterator[Statement]:
    """Give the copies of elements from a strided array to the thread's own array, or back."""
    for first, last in _runs(sorted(elements)):
        single = last - first + 1 < LOOP
        for k in range(first, last + 1) if single else (ELEMENT,):
            target: Value = Element(thread_array, str(k))
            source: Value = Element(source_address.array, _sum(source_address.index, k))
            assign = Assign(target, source) if load else Assign(source, target)
            yield assign if single else For(ELEMENT, first, last + 1, (assign,))


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and the last of each run of numbers that follow each other."""
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
