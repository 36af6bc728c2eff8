"""The cases of a self-test, and what the template of NAME_selftest.c is filled with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Any, NamedTuple

from symgen.delivery import block_tests
from symgen.emission import printer
from symgen.emission.c_text import WIDTH
from symgen.emission.ports import handed
from symgen.ir.program import Port
from symgen.ir.recursion import Form, Looped
from symgen.support.errors import RequestError
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import ASSEMBLE, ASSEMBLING
from symgen.vocabulary.reals import LOST, REALS
from symgen.vocabulary.target import Target

Number = float | Fraction


class Equation(NamedTuple):
    """M x = b that a result x must solve. `matrix` is M's lower triangle, row by row; `tolerances` bounds |M x − b| entry by
    entry.
    """

    matrix: tuple[Number, ...]
    right: tuple[Number, ...]
    tolerances: tuple[Number, ...]


@dataclass(frozen=True)
class SelfTestCase:
    """One state and the answer there, for the self-test.

    `arguments` and `results` are flat and in the order of the C call. `tolerances` bounds the absolute error of every entry of
    every result. Where `equations` has one for a result, that is what the result is judged by. Arguments should be exact in the
    program's real type.
    """

    function: str
    arguments: tuple[tuple[Number, ...], ...]
    results: tuple[tuple[Number, ...], ...]
    tolerances: tuple[tuple[Number, ...], ...]
    equations: tuple[Equation | None, ...] = ()


def filled(
    programs: Mapping[str, Form], target: Target, cases: list[SelfTestCase]
) -> dict[str, Any]:
    """What the template takes: for each function that has a case its data and calls, the matrices of all, and words of C."""
    tables = _Tables()
    tests = [
        _test(program, target, own, tables)
        for function, program in programs.items()
        if (own := [case for case in cases if case.function == function])
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
        "works": any(
            isinstance(programs[function], Looped) for function in judged if function in programs
        ),
        "all_alias": not any(map(printer().apart, programs.values())),
    }
    left = [function for function in programs if function not in judged]
    return spelt | {
        "tests": tests,
        "total": len(tests),
        "unjudged": left,
        "matrices": matrices,
        "entrywise": entrywise,
        "blocks": block_tests.of_all(programs.values(), tests, real),
    }


class _Tables:
    """Matrices by state, each set printed once however many functions are judged by it."""

    def __init__(self) -> None:
        self._names: dict[tuple[tuple[Number, ...], ...], str] = {}

    def name(self, states: tuple[tuple[Number, ...], ...]) -> str:
        return self._names.setdefault(states, f"mass_matrix_{len(self._names) + 1}")

    def printed(self, real: str) -> list[dict[str, Any]]:
        return [
            {
                "table": name,
                "count": len(states),
                "size": len(states[0]),
                "states": [_numbers(row, real) for row in states],
            }
            for states, name in self._names.items()
        ]


def _test(
    program: Form, target: Target, cases: list[SelfTestCase], tables: _Tables
) -> dict[str, Any]:
    """Data and calls of one function's self-test: the plain call, and each result stored over each argument."""
    for case in cases:
        _check_case(program, case)
    names = printer().parameters(program, target)

    def data(port: Port, values: list[Sequence[Number]], of: str = "") -> dict[str, Any]:
        table = f"{derivatives.symbol(program.function)}_{of}{port.name}"
        return {
            "name": names[port.name],
            "table": table,
            "size": port.size,
            "states": [_numbers(row, program.real) for row in values],
        }

    arguments = [
        data(port, [case.arguments[k] for case in cases]) for k, port in enumerate(program.inputs)
    ]
    results = []
    for k, port in enumerate(program.outputs):
        equations = [case.equations[k] for case in cases if case.equations]
        solved = [one for one in equations if one is not None]
        wanted = [one.right for one in solved] or [case.results[k] for case in cases]
        allowed = [one.tolerances for one in solved] or [case.tolerances[k] for case in cases]
        result = data(port, list(wanted), "M_" if solved else "")
        table = result["table"]
        judge = [f"{table}[i]", f"{table}_tolerance[i]"]
        if solved:
            judge = [tables.name(tuple(one.matrix for one in solved)) + "[i]", *judge]
        result["tolerances"] = [
            _numbers([_rounded_up(x) for x in row], program.real) for row in allowed
        ]
        against = ", ".join([*judge, str(port.size)])
        result["judge"] = {
            "by": "unsolved" if solved else "wrong",
            "against": against,
            "many": against.replace("[i]", "[k]"),
        }
        result |= {"many": f"{table}_many", "all": port.size * len(cases)}
        results.append(result)
    given = [
        handed(port, f"{a['table']}[i]", target.name)
        for port, a in zip(program.inputs, arguments, strict=True)
    ]
    over = [handed(port, "shared", target.name) for port in program.inputs]
    into = [r["name"] for r in results]
    last, of_many = (
        _work("work", f"{target.name}_WORK", program, target),
        _work("work_of_many", f"{target.name}_BATCH_WORK", program, target),
    )
    shared = [
        {
            "argument": argument,
            "result": result,
            "call": ", ".join(
                [*given[:i], over[i], *given[i + 1 :], *into[:k], "shared", *into[k + 1 :], *last]
            ),
        }
        for i, argument in enumerate(arguments)
        for k, result in enumerate(results)
        if not printer().apart(program)
    ]
    refused = [
        {
            "argument": argument,
            "call": ", ".join([*given[:i], over[i], *given[i + 1 :], *into, *last]),
        }
        for i, argument in enumerate(arguments)
    ]
    return {
        "function": derivatives.symbol(program.function),
        "label": program.function + _coarse(cases),
        "symbol": target.symbol(program.function),
        "count": len(cases),
        "arguments": arguments,
        "results": results,
        "call": ", ".join([*given, *into, *last]),
        "shared": shared,
        "refused": refused if target.checked else [],
        "works": bool(last),
        "last_of_many": of_many,
        "too_small": ", ".join([*given, *into, *last[:-1], "0"]) if target.checked and last else "",
        "begins": min(len(cases), 2),
        "tables": [argument["table"] for argument in arguments],
        "largest": max(port.size for port in (*program.inputs, *program.outputs)),
    } | block_tests.of_function(program, target, REALS[program.real], arguments, results, last)


def _work(name: str, size: str, program: Form, target: Target) -> list[str]:
    """What a loop over links is given besides."""
    return [name, *([size] if target.checked else [])] if isinstance(program, Looped) else []


def _coarse(cases: list[SelfTestCase]) -> str:
    """How far a tolerance lets a result be off, if that is more than `reals.LOST` of it at half of the states or more."""
    found = []
    for case in cases:
        sizes = [
            (_largest(result), _largest(allowed))
            for result, allowed in zip(case.results, case.tolerances, strict=True)
        ]
        found.append(max((tolerance / size for size, tolerance in sizes if size), default=0.0))
    usual = median(found)
    return f" (to within {usual:.1g} of the answer)" if usual > LOST else ""


def _largest(values: Sequence[Number]) -> float:
    return max((abs(float(x)) for x in values), default=0.0)


def _check_case(program: Form, case: SelfTestCase) -> None:
    ports = (*program.inputs, *program.outputs)
    given = [len(values) for values in (*case.arguments, *case.results)]
    allowed = [len(values) for values in case.tolerances]
    equations = case.equations or (None,) * len(program.outputs)
    parts = [part for one in equations if one is not None for part in one]
    numbers = [
        x for values in (*case.arguments, *case.results, *case.tolerances, *parts) for x in values
    ]
    sizes, owed = [port.size for port in ports], [port.size for port in program.outputs]
    solved = [
        size if one is None else len(one.right) for one, size in zip(equations, owed, strict=True)
    ]
    if (
        sizes != given
        or not owed == allowed == solved
        or not all(math.isfinite(x) for x in numbers)
    ):
        what = f"sizes {given} and {allowed} for {sizes}, or a number that is not finite"
        raise RequestError(f"a self-test case of {program.function} has {what}")


def _rounded_up(value: Number) -> Fraction:
    """To three digits: a tolerance is no more exact than that."""
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
