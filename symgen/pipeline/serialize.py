"""A Program as plain JSON data (text, numbers and lists) and back, without loss: constants are
exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symgen.ir.program import ARITY, Outline, Port, Program, Row, check
from symgen.support.errors import ProgramError
from symgen.vocabulary.arrays import JACOBIAN_FRAMES, JACOBIAN_ORDERS, Convention

_LETTERS = dict(zip(ARITY, "citsmdnxyrla01234567bqf", strict=True))
_OPERATIONS = {letter: op for op, letter in _LETTERS.items()}


def to_plain(program: Program) -> dict[str, Any]:
    """Return a Program as plain data, in columns: they are read and written several times faster
    than rows.
    """
    rows = program.rows
    steps = [[i, row.step] for i, row in enumerate(rows) if i == 0 or row.step != rows[i - 1].step]
    return {
        "function": program.function,
        "method": program.method,
        "real": program.real,
        "inputs": [[port.name, list(port.shape)] for port in program.inputs],
        "outputs": [[port.name, list(port.shape), list(port.rows)] for port in program.outputs],
        "operations": "".join([_LETTERS[row.op] for row in rows]),
        "operands": [a for row in rows for a in row.args],
        "constants": [
            f"{row.value.numerator:x}/{row.value.denominator:x}"
            for row in rows
            if row.op == "const"
        ],
        "elements": [list(row.value) for row in rows if row.op == "input"],
        "names": [[i, row.name] for i, row in enumerate(rows) if row.name],
        "steps": list(program.steps),
        "begins": steps,
        "quaternions": list(program.quaternions),
        "convention": list(program.convention),
        "joints": list(program.joints),
        "passed_over": [list(candidate) for candidate in program.passed_over],
    }


def from_plain(facts: Any) -> Program | None:
    """Return the Program that `to_plain` wrote; None for any other data, or if the data are not a
    valid Program.
    """
    try:
        return check(_program(facts))
    except (
        ProgramError,
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
        ZeroDivisionError,
        StopIteration,
    ):
        return None


def outline_to_plain(outline: Outline) -> list[Any]:
    """Return an Outline, the caller's view of a Program, as plain data."""
    ports = [
        [[port.name, list(port.shape)] for port in ports_of_kind]
        for ports_of_kind in (outline.inputs, outline.outputs)
    ]
    return [
        outline.function,
        outline.method,
        *ports,
        outline.operations,
        outline.length,
        outline.real,
        list(outline.convention),
    ]


def outline_from_plain(facts: Any) -> Outline | None:
    """Return the Outline that `outline_to_plain` wrote, or None."""
    try:
        function, method, inputs, outputs, operations, length, real, convention = facts
        input_ports, output_ports = (
            tuple(Port(_text(name), tuple(map(_natural, shape))) for name, shape in ports)
            for ports in (inputs, outputs)
        )
        counts = {_text(op): _natural(count) for op, count in operations.items()}
        return Outline(
            _text(function),
            _text(method),
            input_ports,
            output_ports,
            counts,
            _natural(length),
            _text(real),
            _convention(convention),
        )
    except (AttributeError, TypeError, ValueError):
        return None


def _program(facts: Any) -> Program:
    operations = [_OPERATIONS[letter] for letter in facts["operations"]]
    operands = iter([_natural(a) for a in facts["operands"]])
    constants = iter([_fraction(text) for text in facts["constants"]])
    elements = iter([(_natural(port), _natural(element)) for port, element in facts["elements"]])
    names = {_natural(i): _text(name) for i, name in facts["names"]}
    begins = {_natural(i): int(step) for i, step in facts["begins"]}
    rows: list[Row] = []
    step = -1
    for i, op in enumerate(operations):
        step = begins.get(i, step)
        value: Any = next(constants) if op == "const" else next(elements) if op == "input" else None
        rows.append(
            Row(
                op, tuple([next(operands) for _ in range(ARITY[op])]), value, names.get(i, ""), step
            )
        )
    if any(next(iterator, None) is not None for iterator in (operands, constants, elements)):
        raise ValueError("data are left over after the last row")
    inputs = tuple(
        Port(_text(name), tuple(map(_natural, shape))) for name, shape in facts["inputs"]
    )
    outputs = tuple(
        Port(_text(name), tuple(map(_natural, shape)), tuple(map(_natural, at)))
        for name, shape, at in facts["outputs"]
    )
    passed_over = tuple((_text(method), _text(why)) for method, why in facts["passed_over"])
    return Program(
        _text(facts["function"]),
        _text(facts["method"]),
        inputs,
        outputs,
        tuple(rows),
        tuple(map(_text, facts["steps"])),
        _text(facts["real"]),
        tuple(map(_natural, facts["quaternions"])),
        _convention(facts["convention"]),
        tuple(map(_text, facts["joints"])),
        passed_over,
    )


def _convention(facts: Any) -> Convention:
    frame, order = facts
    if frame not in JACOBIAN_FRAMES or order not in JACOBIAN_ORDERS:
        raise ValueError("no convention")
    return Convention(frame, order)


def _natural(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("no row")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError("no text")
    return value


def _fraction(text: str) -> Fraction:
    numerator, denominator = text.split("/")
    return Fraction(int(numerator, 16), int(denominator, 16))
