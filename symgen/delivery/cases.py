"""Cases of a self-test, and the context of the template of NAME_selftest.c.

The self-test calls each function at the states of its cases and compares the results with the
expected ones. Further calls repeat the comparison with one result in the array of one argument, and
with the function for blocks of states.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import median
from typing import Any, NamedTuple

from symgen.emission import printer
from symgen.emission.c_text import WIDTH
from symgen.emission.ports import cast_array
from symgen.ir.loops import Form
from symgen.ir.program import POSITIONS, Port
from symgen.support.errors import RequestError
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import ASSEMBLE, ASSEMBLING
from symgen.vocabulary.reals import LOST, REALS, Real
from symgen.vocabulary.target import Target

Number = float | Fraction

LAST_BLOCK_STATES = 3
"""Number of states in the last, partial block."""
SHRINK = Fraction(1, 1024)
"""Relative difference between a state and its previous copy.

A block has more states than there are cases. It repeats the states of the cases, each time slightly
smaller, so that no two lanes contain the same numbers.
"""
SLACK = Fraction(1, 8)
"""Largest accepted error of a block's result in a build that fuses operations, as a share of the
largest result. The results of different cases differ by more.
"""
SPARE = 256
"""Numbers that the test overwrites on the stack in addition to the size of a function's arrays,
since the stack contains other variables, too.
"""
SPACED = 3
"""Largest stride between the elements of an array in the layout with gaps."""


class Equation(NamedTuple):
    """Linear equation M x = b that a result x must solve.

    `matrix` is the lower triangle of M, row by row; `right` is b; `tolerances` bounds |M x − b|
    entry by entry.
    """

    matrix: tuple[Number, ...]
    right: tuple[Number, ...]
    tolerances: tuple[Number, ...]


@dataclass(frozen=True)
class SelfTestCase:
    """Arguments of one function at one state, and the expected results.

    `arguments` and `results` are flat and in the order of the C call. `tolerances` bounds the
    absolute error of every entry of every result. A result with an entry in `equations` must solve
    that equation instead. Arguments should be exact in the program's real type.
    """

    function: str
    arguments: tuple[tuple[Number, ...], ...]
    results: tuple[tuple[Number, ...], ...]
    tolerances: tuple[tuple[Number, ...], ...]
    equations: tuple[Equation | None, ...] = ()


def self_test_context(
    programs: Mapping[str, Form], target: Target, cases: list[SelfTestCase]
) -> dict[str, Any]:
    """Return the context of the template.

    It contains the data and calls of each function with a case, the mass matrices, and constants in
    the notation of C.
    """
    mass_matrices = _MassMatrices()
    tests = [
        _test(program, target, function_cases, mass_matrices)
        for function, program in programs.items()
        if (function_cases := [case for case in cases if case.function == function])
    ]
    real = REALS[next(iter(programs.values())).real]
    tested_functions = {case.function for case in cases}
    start_positions = [
        _numbers(case.arguments[0], real.name) for case in cases if case.function == ASSEMBLE
    ]
    return {
        "fabs": real.libm("fabs"),
        "marker": real.spoilt,
        "infinity": real.infinity,
        "zero": printer().literal(Fraction(0), real.name),
        "one": printer().literal(Fraction(1), real.name),
        "start_positions": start_positions,
        "closure_rows": programs[ASSEMBLING[0]].outputs[1].size if start_positions else 0,
        "uses_workspace": any(
            programs[function].looped for function in tested_functions if function in programs
        ),
        "all_may_alias": not any(map(printer().forbids_aliasing, programs.values())),
        "tests": tests,
        "total": len(tests),
        "untested": [function for function in programs if function not in tested_functions],
        "matrices": mass_matrices.printed(real.name),
        "entrywise": any(
            result["comparison"]["function"] == "wrong"
            for test in tests
            for result in test["results"]
        ),
        "blocks": _blocks(programs.values(), tests, real),
    }


class _MassMatrices:
    """Tables of the mass matrices at all states. Functions with the same matrices share a table."""

    def __init__(self) -> None:
        self._names: dict[tuple[tuple[Number, ...], ...], str] = {}

    def name(self, states: tuple[tuple[Number, ...], ...]) -> str:
        """Return the C name of the table with these matrices, one row per state."""
        return self._names.setdefault(states, f"mass_matrix_{len(self._names) + 1}")

    def printed(self, real: str) -> list[dict[str, Any]]:
        """Return the tables as the template prints them."""
        return [
            {
                "table": name,
                "count": len(states),
                "size": len(states[0]),
                "states": [_numbers(row, real) for row in states],
            }
            for states, name in self._names.items()
        ]


@dataclass(frozen=True)
class _Call:
    """Arguments of one call in the self-test, as C writes them.

    The array `shared` of the self-test can replace any argument or result. `shared_inputs` are the
    expressions of the inputs in that case.
    """

    inputs: Sequence[str]
    shared_inputs: Sequence[str]
    outputs: Sequence[str]
    workspace: Sequence[str]

    def text(self, argument: int | None = None, result: int | None = None) -> str:
        """Return the call, with the array `shared` as the argument and as the result of these
        indices.
        """
        inputs, outputs = list(self.inputs), list(self.outputs)
        if argument is not None:
            inputs[argument] = self.shared_inputs[argument]
        if result is not None:
            outputs[result] = "shared"
        return ", ".join([*inputs, *outputs, *self.workspace])

    def with_empty_workspace(self) -> str:
        """Return the call with a workspace of size zero."""
        return ", ".join([*self.inputs, *self.outputs, *self.workspace[:-1], "0"])


def _test(
    program: Form, target: Target, cases: list[SelfTestCase], mass_matrices: _MassMatrices
) -> dict[str, Any]:
    """Return the data and the calls of one function's self-test.

    The calls are: separate arrays for all arguments and results, one result in the array of one
    argument, and calls that a checked function must refuse.
    """
    for case in cases:
        _check_case(program, case)
    arguments = [
        _table(program, target, port, [case.arguments[k] for case in cases])
        for k, port in enumerate(program.inputs)
    ]
    results = [
        _expected_result(program, target, cases, k, mass_matrices)
        for k in range(len(program.outputs))
    ]
    workspace = _workspace("work", f"{target.name}_WORK", program, target)
    call = _Call(
        [
            cast_array(port, f"{argument['table']}[i]", target.name)
            for port, argument in zip(program.inputs, arguments, strict=True)
        ],
        [cast_array(port, "shared", target.name) for port in program.inputs],
        [result["name"] for result in results],
        workspace,
    )
    checks_workspace = bool(target.checked and workspace)
    return {
        "function": derivatives.identifier_part(program.function),
        "label": program.function + _coarse(cases),
        "symbol": target.symbol(program.function),
        "count": len(cases),
        "arguments": arguments,
        "results": results,
        "call": call.text(),
        "aliasing_calls": []
        if printer().forbids_aliasing(program)
        else _aliasing_calls(call, arguments, results),
        "refused_calls": [
            {"argument": argument, "call": call.text(k)} for k, argument in enumerate(arguments)
        ]
        if target.checked
        else [],
        "uses_workspace": bool(workspace),
        "batch_workspace": _workspace("work_of_many", f"{target.name}_BATCH_WORK", program, target),
        "call_with_empty_workspace": call.with_empty_workspace() if checks_workspace else "",
        "batch_calls": min(len(cases), 2),
        "argument_tables": [argument["table"] for argument in arguments],
        "largest_size": max(port.size for port in (*program.inputs, *program.outputs)),
    } | _blocks_of_function(program, target, REALS[program.real], arguments, results, workspace)


def _table(
    program: Form, target: Target, port: Port, values: Sequence[Sequence[Number]], prefix: str = ""
) -> dict[str, Any]:
    """Return the table of the values of an argument or a result, one row per state."""
    return {
        "name": printer().parameters(program, target)[port.name],
        "table": f"{derivatives.identifier_part(program.function)}_{prefix}{port.name}",
        "size": port.size,
        "states": [_numbers(row, program.real) for row in values],
    }


def _expected_result(
    program: Form,
    target: Target,
    cases: list[SelfTestCase],
    index: int,
    mass_matrices: _MassMatrices,
) -> dict[str, Any]:
    """Return the expected values of one result, its tolerances, and how they are compared.

    The comparison is a function of the self-test, `wrong` or `unsolved`, with its arguments after
    the result.
    """
    port = program.outputs[index]
    equations = _equations_of(cases, index)
    if equations:
        expected = [equation.right for equation in equations]
        tolerances = [equation.tolerances for equation in equations]
    else:
        expected = [case.results[index] for case in cases]
        tolerances = [case.tolerances[index] for case in cases]
    result = _table(program, target, port, expected, "M_" if equations else "")
    table = result["table"]
    matrix = [f"{mass_matrices.name(tuple(e.matrix for e in equations))}[i]"] if equations else []
    compared_with = ", ".join([*matrix, f"{table}[i]", f"{table}_tolerance[i]", str(port.size)])
    return result | {
        "tolerances": [_numbers([_rounded_up(x) for x in row], program.real) for row in tolerances],
        "comparison": {
            "function": "unsolved" if equations else "wrong",
            "arguments": compared_with,
            "batch_arguments": compared_with.replace("[i]", "[k]"),
        },
        "batch_name": f"{table}_many",
        "batch_size": port.size * len(cases),
    }


def _equations_of(cases: list[SelfTestCase], index: int) -> list[Equation]:
    """Return the equations that one result must solve; empty if its values are compared."""
    equations = [case.equations[index] for case in cases if case.equations]
    return [equation for equation in equations if equation is not None]


def _aliasing_calls(
    call: _Call, arguments: Sequence[dict[str, Any]], results: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return a call for each pair of an argument and a result: the result is stored in the array of
    the argument.
    """
    return [
        {"argument": argument, "result": result, "call": call.text(i, k)}
        for i, argument in enumerate(arguments)
        for k, result in enumerate(results)
    ]


def _workspace(name: str, size: str, program: Form, target: Target) -> list[str]:
    """Return the last arguments of a looped function: the workspace, and its size if functions are
    checked. Unrolled functions have none.
    """
    return [name, *([size] if target.checked else [])] if program.looped else []


def _coarse(cases: list[SelfTestCase]) -> str:
    """Return a remark on coarse tolerances, for the label of a test.

    The remark gives the median over the states of tolerance / result. It is empty if the median is
    at most `reals.LOST`.
    """
    relative_tolerances = []
    for case in cases:
        magnitudes = [
            (_largest(result), _largest(tolerances))
            for result, tolerances in zip(case.results, case.tolerances, strict=True)
        ]
        relative_tolerances.append(
            max((tolerance / size for size, tolerance in magnitudes if size), default=0.0)
        )
    typical = median(relative_tolerances)
    return f" (to within {typical:.1g} of the result)" if typical > LOST else ""


def _largest(values: Sequence[Number]) -> float:
    """Return the largest magnitude."""
    return max((abs(float(x)) for x in values), default=0.0)


def _check_case(program: Form, case: SelfTestCase) -> None:
    """Raise RequestError if the sizes of a case are not those of the function, or if a number is
    not finite.
    """
    sizes = [port.size for port in (*program.inputs, *program.outputs)]
    result_sizes = sizes[len(program.inputs) :]
    case_sizes = [len(values) for values in (*case.arguments, *case.results)]
    tolerance_sizes = [len(values) for values in case.tolerances]
    tolerances_fit = result_sizes == tolerance_sizes == _right_side_sizes(case, result_sizes)
    fits = sizes == case_sizes and tolerances_fit
    if not fits or not all(math.isfinite(number) for number in _numbers_of(case)):
        fault = (
            f"sizes {case_sizes} and {tolerance_sizes} for {sizes}, or a number that is not finite"
        )
        raise RequestError(f"a self-test case of {program.function} has {fault}")


def _right_side_sizes(case: SelfTestCase, result_sizes: Sequence[int]) -> list[int]:
    """Return the sizes of the right sides of the equations; for a result without an equation, the
    size of the result.
    """
    equations = case.equations or (None,) * len(result_sizes)
    return [
        size if equation is None else len(equation.right)
        for equation, size in zip(equations, result_sizes, strict=True)
    ]


def _numbers_of(case: SelfTestCase) -> Iterator[Number]:
    """Yield all numbers of a case, those of its equations included."""
    equation_fields = [
        equation_field
        for equation in case.equations
        if equation is not None
        for equation_field in equation
    ]
    for values in (*case.arguments, *case.results, *case.tolerances, *equation_fields):
        yield from values


@lru_cache(maxsize=1 << 12)
def _rounded_up(value: Number) -> Fraction:
    """Return a tolerance rounded up to three digits; further digits mean nothing."""
    exact = Fraction(value)
    if not exact:
        return exact
    step = Fraction(10) ** (math.floor(math.log10(exact)) - 2)
    return math.ceil(exact / step) * step


def _numbers(values: Sequence[Number], real: str) -> list[str]:
    """Return numbers as lines of C, with commas, that are at most WIDTH columns wide after their
    indentation.
    """
    lines: list[str] = []
    for k, value in enumerate(values):
        text = printer().literal(Fraction(value), real) + ("," if k + 1 < len(values) else "")
        if lines and len(lines[-1]) + len(text) + 13 <= WIDTH:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    return lines


# -- blocks of states --
#
# Each function for blocks of states runs with two full blocks and a partial one, with two full
# blocks, and with one state less than two full blocks. The states are those of the cases, repeated
# with slightly smaller values. The function for one state computes the expected results.


def _blocks(
    forms: Iterable[Form], tests: Sequence[Mapping[str, Any]], real: Real
) -> dict[str, Any]:
    """Return the context that the tests of all functions with blocks of states share.

    `capacity` is the number of states for which an array has space: a whole block more than is
    tested, so that a store after the last state stays in the array and is detected.
    """

    def number(value: Fraction) -> str:
        return printer().literal(value, real.name)

    count = _states(real.lanes)
    return {
        "states": count,
        "capacity": _capacity(real),
        "refused_state": real.lanes // 2,
        "counts": [count, 2 * real.lanes, 2 * real.lanes - 1],
        "size": max((test["length"] for test in tests), default=1),
        "spare": SPARE,
        "shrink": number(SHRINK),
        "slack": number(SLACK),
        "quaternions": next((form.quaternions for form in forms if form.quaternions), ()),
    }


def _blocks_of_function(
    form: Form,
    target: Target,
    real: Real,
    arguments: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    workspace: Sequence[str],
) -> dict[str, Any]:
    """Return the context of one function for blocks of states.

    `arrays` describes the array of each argument and result; all arrays are parts of one array.
    `length` and `results_length` count the numbers in all arrays and in the arrays of the results.
    `single_arguments` are the arguments of the function for one state, with the arguments
    `workspace` if it is looped. `block_workspace` are the last arguments of the function for blocks
    of states; the workspace has `workspace_size` numbers.
    """
    capacity = _capacity(real)
    arrays: list[dict[str, Any]] = []
    ports, offset = (*form.inputs, *form.outputs), 0
    for k, (port, table) in enumerate(zip(ports, (*arguments, *results), strict=True)):
        is_argument = k < len(arguments)
        arrays.append(
            {
                "number": k,
                "argument": is_argument,
                "size": port.size,
                "offset": offset,
                "block": f"{table['table']}_laid",
                "table": table["table"],
                "single": f"{table['table']}_one" if is_argument else table["name"],
                "is_positions": int(port.name in POSITIONS),
            }
        )
        # In the layout with gaps, a different gap after the states of each array, 1 + k numbers,
        # distinguishes the strides of the arrays.
        offset += capacity * (SPACED * port.size + 1 + k)
    workspace_size = printer().driver(form, target)["needs"] if target.text.batch else 0
    block_workspace = (
        ["work_of_many", *([str(workspace_size)] if target.checked else [])]
        if workspace_size
        else []
    )
    single_arguments = [
        cast_array(port, array["single"], target.name) if array["argument"] else array["single"]
        for port, array in zip(ports, arrays, strict=True)
    ]
    return {
        "arrays": arrays,
        "length": offset,
        "results_length": offset - int(arrays[len(arguments)]["offset"]),
        "block_workspace": block_workspace,
        "workspace_size": workspace_size,
        "single_arguments": ", ".join([*single_arguments, *workspace]),
    }


def _states(lanes: int) -> int:
    """Return the number of states: two full blocks and a partial one."""
    return 2 * lanes + LAST_BLOCK_STATES


def _capacity(real: Real) -> int:
    """Return the number of states for which the array of an argument or result has space."""
    return _states(real.lanes) + real.lanes
