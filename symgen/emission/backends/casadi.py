"""CasADi's C API for external functions, over the C of the folder: what `casadi.external` and
acados load from a shared library.

It computes nothing: each function NAME_casadi_<function> copies its arguments, calls the C function
and copies its results. A matrix is stored by columns there. Where the folder has derivatives of a
function by all its arguments, jac_NAME_casadi_<function> hands them on, without what is zero in
every state.

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
    """NAME_casadi.h and NAME_casadi.c."""
    real = single_real(programs.values())
    patterns = _Patterns(target)
    functions = [_function(program, target, patterns) for program in programs.values()]
    slopes = [
        derivative
        for program in programs.values()
        if (derivative := _derivative(program, programs, target, patterns))
    ]
    every = [*functions, *slopes]
    context = target.context | {
        "real": real,
        "functions": every,
        "patterns": patterns.printed,
        "gathers": any(port["which"] for slope in slopes for port in slope["found"]),
    }
    return {
        f"{target.name}_casadi.{suffix}": render(NAME, f"wrapper.{suffix}.j2", **context)
        for suffix in ("h", "c")
    }


class _Patterns:
    """Sparsities as CasADi has them, each printed once: rows, columns, and 1, or where columns
    begin and the rows of what is there.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.known: dict[tuple[int, ...], str] = {}

    def name(self, rows: int, columns: int, there: Sequence[tuple[int, int]] | None = None) -> str:
        """Return the name of a full matrix's pattern, or of one with entries `there` (row, column),
        column by column as in CasADi.
        """
        numbers = [rows, columns, 1]
        if there is not None:
            begins = [sum(of < column for _, of in there) for column in range(columns + 1)]
            numbers = [rows, columns, *begins, *(row for row, _ in there)]
        return self.known.setdefault(
            tuple(numbers), f"{self.target.name}_casadi_s{len(self.known)}"
        )

    @property
    def printed(self) -> list[dict[str, Any]]:
        """For the template."""
        return [
            {"name": name, "count": len(numbers), "numbers": _lines(numbers)}
            for numbers, name in self.known.items()
        ]


def _function(program: Program, target: Target, patterns: _Patterns) -> dict[str, Any]:
    """One function: its arguments and results one to one."""
    arguments, results = (
        [_array(port, kind, k) for k, port in enumerate(ports)]
        for kind, ports in (("in", program.inputs), ("out", program.outputs))
    )
    return {
        "symbol": _symbol(program, target),
        "given": arguments,
        "found": results,
        "arrays": [*arguments, *results],
        "calls": [_call(program, target, [port["array"] for port in (*arguments, *results)])],
        "inputs": len(arguments),
        "outputs": len(results),
        "names": _quoted(port.name for port in (*program.inputs, *program.outputs)),
        "sparsities": _lines(
            [patterns.name(*_matrix(port)) for port in (*program.inputs, *program.outputs)]
        ),
    }


def _derivative(
    program: Program, programs: Mapping[str, Program], target: Target, patterns: _Patterns
) -> dict[str, Any] | None:
    """The derivatives of a function, one block a result and an argument; None where one of them is
    in no function of the folder.

    Beside the arguments it takes the results, of which nothing is read.
    """
    pairs = [(result, argument) for result in program.outputs for argument in program.inputs]
    sources = (_slope(program, *pair, programs) for pair in pairs)
    slopes = [source for source in sources if source is not None]
    if not target.rates or len(slopes) < len(pairs):
        return None
    value_function = _function(program, target, patterns)
    array_of = dict(
        zip(
            (port.name for port in program.inputs),
            (port["array"] for port in value_function["given"]),
            strict=True,
        )
    )
    slope_of, arrays, calls = _slope_calls(slopes, array_of, target)
    blocks = [
        _block(k, *pair, *slope) for k, (pair, slope) in enumerate(zip(pairs, slopes, strict=True))
    ]
    return value_function | {
        "symbol": f"jac_{value_function['symbol']}",
        "arrays": [*value_function["given"], *arrays],
        "calls": calls,
        "found": [
            block | {"array": slope_of[source.function, port.name]}
            for block, (source, port) in zip(blocks, slopes, strict=True)
        ],
        "inputs": len(program.inputs) + len(program.outputs),
        "outputs": len(pairs),
        "names": _quoted(_derivative_names(program)),
        "sparsities": _lines(_derivative_patterns(program, blocks, patterns)),
    }


def _slope_calls(
    slopes: Iterable[tuple[Program, Port]], array_of: Mapping[str, str], target: Target
) -> tuple[dict[tuple[str, str], str], list[dict[str, Any]], list[str]]:
    """Return the array of each slope by function and result, these arrays, and the calls that fill
    them.
    """
    slope_of: dict[tuple[str, str], str] = {}
    arrays: list[dict[str, Any]] = []
    calls = []
    sources = {program.function: program for program, _ in slopes}
    for n, source in enumerate(sources.values()):
        results = [_array(port, f"slope_{n}", k) for k, port in enumerate(source.outputs)]
        for port, result in zip(source.outputs, results, strict=True):
            slope_of[source.function, port.name] = result["array"]
        arrays += results
        arguments = [array_of[port.name] for port in source.inputs]
        calls.append(_call(source, target, [*arguments, *(result["array"] for result in results)]))
    return slope_of, arrays, calls


def _derivative_names(program: Program) -> list[str]:
    """Return the names of arguments, of results that are not read, and of a block for each pair of
    them.
    """
    arguments, results = (
        [port.name for port in ports] for ports in (program.inputs, program.outputs)
    )
    return [
        *arguments,
        *(f"out_{result}" for result in results),
        *(f"jac_{result}_{argument}" for result in results for argument in arguments),
    ]


def _derivative_patterns(
    program: Program, blocks: Iterable[Mapping[str, Any]], patterns: _Patterns
) -> list[str]:
    """Return the sparsities of arguments, of results that are not read, and of blocks."""
    return [
        *(patterns.name(*_matrix(port)) for port in program.inputs),
        *(patterns.name(*_matrix(port), ()) for port in program.outputs),
        *(patterns.name(block["rows"], block["columns"], block["there"]) for block in blocks),
    ]


def _block(k: int, result: Port, argument: Port, derivative: Program, port: Port) -> dict[str, Any]:
    """Where the entries of CasADi's block k stand in the array of a result of `other`: all of them,
    or those that are not zero in every state.
    """
    rows, columns = _by_columns(result), _by_columns(argument)
    entries = [
        ((row, column), of_result * argument.size + of_argument)
        for column, of_argument in enumerate(columns)
        for row, of_result in enumerate(rows)
    ]
    nonzero_entries = [
        (entry, at) for entry, at in entries if derivative.rows[port.rows[at]].value != 0
    ]
    full = len(nonzero_entries) == len(entries)
    straight = full and [*rows, *columns] == [*range(len(rows)), *range(len(columns))]
    return {
        "k": k,
        "rows": result.size,
        "columns": argument.size,
        "which": "" if straight else f"which_{k}",
        "count": len(nonzero_entries),
        "places": _lines([at for _, at in nonzero_entries]),
        "there": None if full else [at for at, _ in nonzero_entries],
    }


def _slope(
    program: Program, result: Port, argument: Port, programs: Mapping[str, Program]
) -> tuple[Program, Port] | None:
    """Return the Program that computes a result's derivative by an argument, and the port."""
    elsewhere, name = ELSEWHERE.get((program.function, result.name, argument.name), ("", ""))
    candidates = [
        (candidate, derivative_name(result.name, argument.name))
        for function, candidate in programs.items()
        if (derivative := parse_derivative(function)) is not None
        and derivative[:2] == (program.function, "jacobian")
    ]
    if elsewhere in programs:
        candidates.append((programs[elsewhere], name))
    argument_names = {port.name for port in program.inputs}
    for candidate, wanted in candidates:
        port = next((port for port in candidate.outputs if port.name == wanted), None)
        if (
            port is not None
            and port.size == result.size * argument.size
            and {port.name for port in candidate.inputs} <= argument_names
        ):
            return candidate, port
    return None


def _by_columns(port: Port) -> list[int]:
    """The elements of an array, row by row, in the order of CasADi's columns."""
    rows, columns = _matrix(port)
    return [row * columns + column for column in range(columns) for row in range(rows)]


def _matrix(port: Port) -> tuple[int, int]:
    """Rows and columns: of more than two indices the last one is the columns'."""
    return (port.size, 1) if len(port.shape) < 2 else (prod(port.shape[:-1]), port.shape[-1])


def _array(port: Port, kind: str, k: int) -> dict[str, Any]:
    """The local array of an argument or a result."""
    rows, columns = _matrix(port)
    return {
        "k": k,
        "array": f"{kind}_{port.name}",
        "size": port.size,
        "rows": rows,
        "columns": columns,
        "which": "",
    }


def _symbol(program: Program, target: Target) -> str:
    """The C name of a function here: another one than symgen's, which takes other arguments."""
    return f"{target.name}_casadi_{target.symbol(program.function).removeprefix(f'{target.name}_')}"


def _call(program: Program, target: Target, arrays: Sequence[str]) -> str:
    casts = [
        cast_array(port, array, target.name)
        for port, array in zip(program.inputs, arrays, strict=False)
    ]
    return f"{target.symbol(program.function)}({', '.join([*casts, *arrays[len(casts) :]])})"


def _quoted(names: Iterable[str]) -> list[str]:
    """Names as lines of C's strings."""
    return _lines([f'"{name}"' for name in names])


def _lines(words: Sequence[int | str], width: int = 100) -> list[str]:
    """Numbers or words as lines, commas included."""
    lines: list[str] = []
    for k, word in enumerate(words):
        text = f"{word}," if k + 1 < len(words) else str(word)
        if lines and len(lines[-1]) + len(text) < width:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    return lines


BACKEND = Wrapper(name=NAME, files=files)
