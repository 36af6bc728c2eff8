"""Wrapper for CasADi: functions that `casadi.external` and acados load from a shared library.

The wrapper follows CasADi's C API for external functions. Each function NAME_casadi_<function>
copies its arguments, calls the C function and copies its results. CasADi stores matrices column by
column. jac_NAME_casadi_<function> exists if the folder has the derivatives of all results by all
arguments; it omits entries that are zero in every state.

Sources: CasADi's documentation, "The function object: the C API", and the C that it generates
itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

from symgen.emission import render
from symgen.emission.backend import Wrapper
from symgen.emission.ports import cast_array
from symgen.ir.ports import single_real
from symgen.ir.program import Bound, Port, Program
from symgen.vocabulary.derivatives import ELSEWHERE, derivative_name, parse_derivative
from symgen.vocabulary.target import Target

NAME = "casadi"


def files(
    programs: Mapping[str, Program],
    target: Target,
    divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None,
) -> dict[str, str]:
    """Return the texts of NAME_casadi.h and NAME_casadi.c."""
    real = single_real(programs.values())
    patterns = _Patterns(target)
    functions = [_function(program, target, patterns) for program in programs.values()]
    jacobians = [
        jacobian
        for program in programs.values()
        if (jacobian := _jacobian(program, programs, target, patterns))
    ]
    context = target.context | {
        "real": real,
        "functions": [*functions, *jacobians],
        "patterns": patterns.context(),
        "needs_gather": any(
            block["indices"] for jacobian in jacobians for block in jacobian["results"]
        ),
    }
    return {
        f"{target.name}_casadi.{suffix}": render(NAME, f"wrapper.{suffix}.j2", **context)
        for suffix in ("h", "c")
    }


class _Patterns:
    """Sparsity patterns in CasADi's format, each printed once.

    A pattern begins with the numbers of rows and columns. A dense pattern then has the number 1; a
    sparse pattern has the index of the first entry of each column, and the row of each entry.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.name_by_numbers: dict[tuple[int, ...], str] = {}

    def name(
        self, rows: int, columns: int, entries: Sequence[tuple[int, int]] | None = None
    ) -> str:
        """Return the name of a pattern: dense without `entries`, else with these (row, column)
        pairs.

        The `entries` are in the order of CasADi, column by column.
        """
        numbers = [rows, columns, 1]
        if entries is not None:
            column_starts = [
                sum(entry_column < column for _, entry_column in entries)
                for column in range(columns + 1)
            ]
            numbers = [rows, columns, *column_starts, *(row for row, _ in entries)]
        return self.name_by_numbers.setdefault(
            tuple(numbers), f"{self.target.name}_casadi_s{len(self.name_by_numbers)}"
        )

    def context(self) -> list[dict[str, Any]]:
        """Return the patterns for the template."""
        return [
            {"name": name, "count": len(numbers), "numbers": _lines(numbers)}
            for numbers, name in self.name_by_numbers.items()
        ]


def _function(program: Program, target: Target, patterns: _Patterns) -> dict[str, Any]:
    """Return the template's facts about the wrapper of one function."""
    arguments, results = (
        [_array(port, kind, k) for k, port in enumerate(ports)]
        for kind, ports in (("in", program.inputs), ("out", program.outputs))
    )
    return {
        "symbol": _symbol(program, target),
        "arguments": arguments,
        "results": results,
        "arrays": [*arguments, *results],
        "calls": [_call(program, target, [port["array"] for port in (*arguments, *results)])],
        "inputs": len(arguments),
        "outputs": len(results),
        "names": _quoted(port.name for port in (*program.inputs, *program.outputs)),
        "sparsities": _lines(
            [patterns.name(*_matrix(port)) for port in (*program.inputs, *program.outputs)]
        ),
    }


def _jacobian(
    program: Program, programs: Mapping[str, Program], target: Target, patterns: _Patterns
) -> dict[str, Any] | None:
    """Return the template's facts about the Jacobian of a function.

    The Jacobian has one block for each pair of a result and an argument. The function returns None
    unless the functions of the folder compute all blocks. CasADi passes the results after the
    arguments; the Jacobian does not read the results.
    """
    pairs = [(result, argument) for result in program.outputs for argument in program.inputs]
    candidates = (_derivative(program, *pair, programs) for pair in pairs)
    derivatives = [candidate for candidate in candidates if candidate is not None]
    if not target.rates or len(derivatives) < len(pairs):
        return None
    value_function = _function(program, target, patterns)
    array_by_argument = dict(
        zip(
            (port.name for port in program.inputs),
            (argument["array"] for argument in value_function["arguments"]),
            strict=True,
        )
    )
    array_by_derivative, arrays, calls = _derivative_calls(derivatives, array_by_argument, target)
    blocks = [
        _block(k, *pair, *derivative)
        for k, (pair, derivative) in enumerate(zip(pairs, derivatives, strict=True))
    ]
    return value_function | {
        "symbol": f"jac_{value_function['symbol']}",
        "arrays": [*value_function["arguments"], *arrays],
        "calls": calls,
        "results": [
            block | {"array": array_by_derivative[derivative.function, port.name]}
            for block, (derivative, port) in zip(blocks, derivatives, strict=True)
        ],
        "inputs": len(program.inputs) + len(program.outputs),
        "outputs": len(pairs),
        "names": _quoted(_jacobian_names(program)),
        "sparsities": _lines(_jacobian_patterns(program, blocks, patterns)),
    }


def _derivative_calls(
    derivatives: Iterable[tuple[Program, Port]],
    array_by_argument: Mapping[str, str],
    target: Target,
) -> tuple[dict[tuple[str, str], str], list[dict[str, Any]], list[str]]:
    """Return the name of each derivative's array, the arrays, and the calls that fill them.

    The key of a name is (function, result).
    """
    array_by_derivative: dict[tuple[str, str], str] = {}
    arrays: list[dict[str, Any]] = []
    calls = []
    programs = {program.function: program for program, _ in derivatives}
    for n, program in enumerate(programs.values()):
        results = [_array(port, f"slope_{n}", k) for k, port in enumerate(program.outputs)]
        for port, result in zip(program.outputs, results, strict=True):
            array_by_derivative[program.function, port.name] = result["array"]
        arrays += results
        arguments = [array_by_argument[port.name] for port in program.inputs]
        calls.append(_call(program, target, [*arguments, *(result["array"] for result in results)]))
    return array_by_derivative, arrays, calls


def _jacobian_names(program: Program) -> list[str]:
    """Return the names of the arguments and results of a Jacobian.

    The arguments are those of the function and its results; each block of the Jacobian is a result.
    """
    arguments, results = (
        [port.name for port in ports] for ports in (program.inputs, program.outputs)
    )
    return [
        *arguments,
        *(f"out_{result}" for result in results),
        *(f"jac_{result}_{argument}" for result in results for argument in arguments),
    ]


def _jacobian_patterns(
    program: Program, blocks: Iterable[Mapping[str, Any]], patterns: _Patterns
) -> list[str]:
    """Return the names of the sparsity patterns, in the order of `_jacobian_names`."""
    return [
        *(patterns.name(*_matrix(port)) for port in program.inputs),
        *(patterns.name(*_matrix(port), ()) for port in program.outputs),
        *(patterns.name(block["rows"], block["columns"], block["nonzero"]) for block in blocks),
    ]


def _block(k: int, result: Port, argument: Port, derivative: Program, port: Port) -> dict[str, Any]:
    """Return the template's facts about block `k` of a Jacobian, which `port` of `derivative` has.

    `indices` names the C array with the index in `port` of each entry of the block; it is "" if the
    block has the order of `port`. `nonzero` has the (row, column) pairs that are not zero in every
    state, or None if the block is dense.
    """
    rows, columns = _by_columns(result), _by_columns(argument)
    entries = [
        ((row, column), result_element * argument.size + argument_element)
        for column, argument_element in enumerate(columns)
        for row, result_element in enumerate(rows)
    ]
    nonzero_entries = [
        (entry, index) for entry, index in entries if derivative.rows[port.rows[index]].value != 0
    ]
    dense = len(nonzero_entries) == len(entries)
    in_order = dense and [*rows, *columns] == [*range(len(rows)), *range(len(columns))]
    return {
        "k": k,
        "rows": result.size,
        "columns": argument.size,
        "indices": "" if in_order else f"which_{k}",
        "count": len(nonzero_entries),
        "index_lines": _lines([index for _, index in nonzero_entries]),
        "nonzero": None if dense else [entry for entry, _ in nonzero_entries],
    }


def _derivative(
    program: Program, result: Port, argument: Port, programs: Mapping[str, Program]
) -> tuple[Program, Port] | None:
    """Return the Program that computes a result's derivative by an argument, and its port.

    Return None if no function of the folder computes the derivative.
    """
    elsewhere, name_elsewhere = ELSEWHERE.get(
        (program.function, result.name, argument.name), ("", "")
    )
    candidates = [
        (candidate, derivative_name(result.name, argument.name))
        for function, candidate in programs.items()
        if (derivative := parse_derivative(function)) is not None
        and derivative[:2] == (program.function, "jacobian")
    ]
    if elsewhere in programs:
        candidates.append((programs[elsewhere], name_elsewhere))
    argument_names = {port.name for port in program.inputs}
    for candidate, name in candidates:
        port = next((port for port in candidate.outputs if port.name == name), None)
        if (
            port is not None
            and port.size == result.size * argument.size
            and {port.name for port in candidate.inputs} <= argument_names
        ):
            return candidate, port
    return None


def _by_columns(port: Port) -> list[int]:
    """Return the row-major indices of an array's elements, column by column."""
    rows, columns = _matrix(port)
    return [row * columns + column for column in range(columns) for row in range(rows)]


def _matrix(port: Port) -> tuple[int, int]:
    """Return rows and columns of an array; the last of its dimensions is that of the columns."""
    return (port.size, 1) if len(port.shape) < 2 else (prod(port.shape[:-1]), port.shape[-1])


def _array(port: Port, kind: str, k: int) -> dict[str, Any]:
    """Return the facts of the local array of an argument or a result, number `k` of its kind."""
    rows, columns = _matrix(port)
    return {
        "k": k,
        "array": f"{kind}_{port.name}",
        "size": port.size,
        "rows": rows,
        "columns": columns,
        "indices": "",
    }


def _symbol(program: Program, target: Target) -> str:
    """Return the C name of the wrapper of a function."""
    return f"{target.name}_casadi_{target.symbol(program.function).removeprefix(f'{target.name}_')}"


def _call(program: Program, target: Target, arrays: Sequence[str]) -> str:
    """Return the call of a C function; `arrays` are its arguments and results."""
    casts = [
        cast_array(port, array, target.name)
        for port, array in zip(program.inputs, arrays, strict=False)
    ]
    return f"{target.symbol(program.function)}({', '.join([*casts, *arrays[len(casts) :]])})"


def _quoted(names: Iterable[str]) -> list[str]:
    """Return the lines of a list of C strings."""
    return _lines([f'"{name}"' for name in names])


def _lines(words: Sequence[int | str], width: int = 100) -> list[str]:
    """Return the lines of a list with commas between its words."""
    lines: list[str] = []
    for k, word in enumerate(words):
        text = f"{word}," if k + 1 < len(words) else str(word)
        if lines and len(lines[-1]) + len(text) < width:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    return lines


BACKEND = Wrapper(name=NAME, files=files)
