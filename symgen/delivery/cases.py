"""Cases of a self-test, and the context of the template of NAME_selftest.c."""

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
"""States of the last block, which is not full."""
SHRINK = Fraction(1, 1024)
"""Relative difference between a state and its previous copy: a block repeats the states of the
cases, each time slightly smaller.
"""
SLACK = Fraction(1, 8)
"""Share of the largest result by which results may differ in a build that fuses operations; states
differ by more.
"""
SPARE = 256
"""Numbers of the stack that are overwritten beyond the arrays of a function, because other
variables lie between them.
"""
SPACED = 3
"""Largest stride between the elements of an array whose states are not contiguous."""


class Equation(NamedTuple):
    """M x = b that a result x must solve. `matrix` is M's lower triangle, row by row; `tolerances`
    bounds |M x − b| entry by entry.
    """

    matrix: tuple[Number, ...]
    right: tuple[Number, ...]
    tolerances: tuple[Number, ...]


@dataclass(frozen=True)
class SelfTestCase:
    """One state and the answer there, for the self-test.

    `arguments` and `results` are flat and in the order of the C call. `tolerances` bounds the
    absolute error of every entry of every result. A result with an entry in `equations` is judged
    by that equation. Arguments should be exact in the program's real type.
    """

    function: str
    arguments: tuple[tuple[Number, ...], ...]
    results: tuple[tuple[Number, ...], ...]
    tolerances: tuple[tuple[Number, ...], ...]
    equations: tuple[Equation | None, ...] = ()


def self_test_context(
    programs: Mapping[str, Form], target: Target, cases: list[SelfTestCase]
) -> dict[str, Any]:
    """Return the context of the template: data and calls of each function with a case, all
    matrices, and words of C.
    """
    tables = _Tables()
    tests = [
        _test(program, target, of_function, tables)
        for function, program in programs.items()
        if (of_function := [case for case in cases if case.function == function])
    ]
    real = REALS[next(iter(programs.values())).real]
    spelt: dict[str, Any] = {
        "fabs": real.libm("fabs"),
        "spoilt": real.spoilt,
        "infinity": real.infinity,
        "zero": printer().literal(Fraction(0), real.name),
    }
    matrices = tables.printed(real.name)
    entrywise = any(
        result["judge"]["by"] == "wrong" for test in tests for result in test["results"]
    )
    judged = {case.function for case in cases}
    starts = [_numbers(case.arguments[0], real.name) for case in cases if case.function == ASSEMBLE]
    spelt |= {
        "one": printer().literal(Fraction(1), real.name),
        "starts": starts,
        "rows": programs[ASSEMBLING[0]].outputs[1].size if starts else 0,
    }
    spelt |= {
        "works": any(programs[function].looped for function in judged if function in programs),
        "all_alias": not any(map(printer().forbids_aliasing, programs.values())),
    }
    unjudged_functions = [function for function in programs if function not in judged]
    return spelt | {
        "tests": tests,
        "total": len(tests),
        "unjudged": unjudged_functions,
        "matrices": matrices,
        "entrywise": entrywise,
        "blocks": _blocks(programs.values(), tests, real),
    }


class _Tables:
    """Matrices by state; each set is printed once, however many functions use it."""

    def __init__(self) -> None:
        self._names: dict[tuple[tuple[Number, ...], ...], str] = {}

    def name(self, states: tuple[tuple[Number, ...], ...]) -> str:
        """Return the C name of a set of matrices."""
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
    """Arguments of one call in the self-test, as C writes them; `shared` are the inputs where they
    lie in the array `shared`.
    """

    inputs: Sequence[str]
    shared: Sequence[str]
    outputs: Sequence[str]
    work: Sequence[str]

    def text(self, argument: int | None = None, result: int | None = None) -> str:
        """Return the call; the given argument and result, if any, lie in the array `shared`."""
        inputs, outputs = list(self.inputs), list(self.outputs)
        if argument is not None:
            inputs[argument] = self.shared[argument]
        if result is not None:
            outputs[result] = "shared"
        return ", ".join([*inputs, *outputs, *self.work])

    def with_too_small_work(self) -> str:
        """Return the call with a workspace of size zero."""
        return ", ".join([*self.inputs, *self.outputs, *self.work[:-1], "0"])


def _test(
    program: Form, target: Target, cases: list[SelfTestCase], tables: _Tables
) -> dict[str, Any]:
    """Data and calls of one function's self-test: the plain call, and each result stored over each
    argument.
    """
    for case in cases:
        _check_case(program, case)
    arguments = [
        _table(program, target, port, [case.arguments[k] for case in cases])
        for k, port in enumerate(program.inputs)
    ]
    results = [
        _judged_result(program, target, cases, k, tables) for k in range(len(program.outputs))
    ]
    work = _work("work", f"{target.name}_WORK", program, target)
    call = _Call(
        [
            cast_array(port, f"{argument['table']}[i]", target.name)
            for port, argument in zip(program.inputs, arguments, strict=True)
        ],
        [cast_array(port, "shared", target.name) for port in program.inputs],
        [result["name"] for result in results],
        work,
    )
    checked_work = bool(target.checked and work)
    return {
        "function": derivatives.identifier_part(program.function),
        "label": program.function + _coarse(cases),
        "symbol": target.symbol(program.function),
        "count": len(cases),
        "arguments": arguments,
        "results": results,
        "call": call.text(),
        "shared": []
        if printer().forbids_aliasing(program)
        else _calls_that_share(call, arguments, results),
        "refused": [
            {"argument": argument, "call": call.text(k)} for k, argument in enumerate(arguments)
        ]
        if target.checked
        else [],
        "works": bool(work),
        "last_of_many": _work("work_of_many", f"{target.name}_BATCH_WORK", program, target),
        "too_small": call.with_too_small_work() if checked_work else "",
        "begins": min(len(cases), 2),
        "tables": [argument["table"] for argument in arguments],
        "largest": max(port.size for port in (*program.inputs, *program.outputs)),
    } | _blocks_of_function(program, target, REALS[program.real], arguments, results, work)


def _table(
    program: Form, target: Target, port: Port, values: Sequence[Sequence[Number]], prefix: str = ""
) -> dict[str, Any]:
    """Table of the values of an argument or a result, one row a state."""
    return {
        "name": printer().parameters(program, target)[port.name],
        "table": f"{derivatives.identifier_part(program.function)}_{prefix}{port.name}",
        "size": port.size,
        "states": [_numbers(row, program.real) for row in values],
    }


def _judged_result(
    program: Form, target: Target, cases: list[SelfTestCase], index: int, tables: _Tables
) -> dict[str, Any]:
    """Return the expected values of one result, its tolerances, and the arguments of the judge."""
    port = program.outputs[index]
    solved = _equations_of(cases, index)
    if solved:
        expected = [equation.right for equation in solved]
        allowed = [equation.tolerances for equation in solved]
    else:
        expected = [case.results[index] for case in cases]
        allowed = [case.tolerances[index] for case in cases]
    result = _table(program, target, port, expected, "M_" if solved else "")
    table = result["table"]
    matrix = [f"{tables.name(tuple(e.matrix for e in solved))}[i]"] if solved else []
    against = ", ".join([*matrix, f"{table}[i]", f"{table}_tolerance[i]", str(port.size)])
    return result | {
        "tolerances": [_numbers([_rounded_up(x) for x in row], program.real) for row in allowed],
        "judge": {
            "by": "unsolved" if solved else "wrong",
            "against": against,
            "many": against.replace("[i]", "[k]"),
        },
        "many": f"{table}_many",
        "all": port.size * len(cases),
    }


def _equations_of(cases: list[SelfTestCase], index: int) -> list[Equation]:
    """The equations that one result must solve; empty where it is compared with an answer."""
    equations = [case.equations[index] for case in cases if case.equations]
    return [equation for equation in equations if equation is not None]


def _calls_that_share(
    call: _Call, arguments: Sequence[dict[str, Any]], results: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Calls that store one result over one argument, for every pair."""
    return [
        {"argument": argument, "result": result, "call": call.text(i, k)}
        for i, argument in enumerate(arguments)
        for k, result in enumerate(results)
    ]


def _work(name: str, size: str, program: Form, target: Target) -> list[str]:
    """Last arguments of a loop over links: the workspace, and its size if functions are checked."""
    return [name, *([size] if target.checked else [])] if program.looped else []


def _coarse(cases: list[SelfTestCase]) -> str:
    """Return how far a tolerance lets a result be off, if that exceeds `reals.LOST` of it at half
    of the states.
    """
    relative = []
    for case in cases:
        sizes = [
            (_largest(result), _largest(allowed))
            for result, allowed in zip(case.results, case.tolerances, strict=True)
        ]
        relative.append(max((tolerance / size for size, tolerance in sizes if size), default=0.0))
    usual = median(relative)
    return f" (to within {usual:.1g} of the result)" if usual > LOST else ""


def _largest(values: Sequence[Number]) -> float:
    """Return the largest magnitude."""
    return max((abs(float(x)) for x in values), default=0.0)


def _check_case(program: Form, case: SelfTestCase) -> None:
    """Raise RequestError for a case of other sizes than the function's, or with a number that is
    not finite.
    """
    sizes = [port.size for port in (*program.inputs, *program.outputs)]
    result_sizes = sizes[len(program.inputs) :]
    stated = [len(values) for values in (*case.arguments, *case.results)]
    allowed = [len(values) for values in case.tolerances]
    fits = sizes == stated and result_sizes == allowed == _equation_sizes(case, result_sizes)
    if not fits or not all(math.isfinite(number) for number in _numbers_of(case)):
        fault = f"sizes {stated} and {allowed} for {sizes}, or a number that is not finite"
        raise RequestError(f"a self-test case of {program.function} has {fault}")


def _equation_sizes(case: SelfTestCase, result_sizes: Sequence[int]) -> list[int]:
    """Sizes of the right sides of the equations; of a result without one, the result's own."""
    equations = case.equations or (None,) * len(result_sizes)
    return [
        size if equation is None else len(equation.right)
        for equation, size in zip(equations, result_sizes, strict=True)
    ]


def _numbers_of(case: SelfTestCase) -> Iterator[Number]:
    """Yield all numbers of a case."""
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
    """Return a tolerance rounded up to three digits, which is all its accuracy."""
    exact = Fraction(value)
    if not exact:
        return exact
    step = Fraction(10) ** (math.floor(math.log10(exact)) - 2)
    return math.ceil(exact / step) * step


def _numbers(values: Sequence[Number], real: str) -> list[str]:
    """Numbers as lines of at most WIDTH columns, commas included."""
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
# Each function runs at two whole blocks, with and without a part of one, and at a state less. The
# states are those of the
# self-test in turn, a little smaller each time around, so that no two lanes hold the same numbers.
# The function of one
# state gives the expected results.


def _blocks(
    forms: Iterable[Form], tests: Sequence[Mapping[str, Any]], real: Real
) -> dict[str, Any]:
    """The words that the blocks of all functions share; `tests` are those of the functions that are
    tested.
    """

    def number(value: Fraction) -> str:
        return printer().literal(value, real.name)

    count = _states(real.lanes)
    return {
        "states": count,
        "room": count + real.lanes,
        "refused": real.lanes // 2,
        "counts": [count, 2 * real.lanes, 2 * real.lanes - 1],
        "size": max((test["laid"] for test in tests), default=1),
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
    last: Sequence[str],
) -> dict[str, Any]:
    """Return the context of one function for blocks of states.

    `blocks` says for each array where its states are stored. `laid` and `room` are the numbers in
    all arrays and in those of the results. `alone` and `exactly` are the arguments of the functions
    of one state and of many. `last` are the workspace arguments of a looped function.
    """
    room = _states(real.lanes) + real.lanes
    arrays: list[dict[str, Any]] = []
    ports, offset = (*form.inputs, *form.outputs), 0
    for k, (port, table) in enumerate(zip(ports, (*arguments, *results), strict=True)):
        is_argument = k < len(arguments)
        arrays.append(
            {
                "number": k,
                "argument": is_argument,
                "size": port.size,
                "at": offset,
                "laid": f"{table['table']}_laid",
                "table": table["table"],
                "one": f"{table['table']}_one" if is_argument else table["name"],
                "positions": int(port.name in POSITIONS),
            }
        )
        offset += room * (SPACED * port.size + 1 + k)
    needs = printer().driver(form, target)["needs"] if target.text.batch else 0
    work = ["work_of_many", *([str(needs)] if target.checked else [])] if needs else []
    single_arguments = [
        cast_array(port, array["one"], target.name) if array["argument"] else array["one"]
        for port, array in zip(ports, arrays, strict=True)
    ]
    return {
        "blocks": arrays,
        "laid": offset,
        "room": offset - int(arrays[len(arguments)]["at"]),
        "exactly": work,
        "needs": needs,
        "alone": ", ".join([*single_arguments, *last]),
    }


def _states(lanes: int) -> int:
    """Return the number of states: two full blocks and a partial one."""
    return 2 * lanes + LAST_BLOCK_STATES
