"""Translation of Programs into Python functions, for Programs that are evaluated thousands of
times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from symgen.ir.program import Numbers, Program, evaluate

OFTEN = 100
"""Evaluations of a Program after which a translation takes less time than more evaluations row by
row.
"""
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

Translated = Callable[[Mapping[str, Sequence[Any]]], dict[str, list[Any]]]
"""Function of the arguments of a Program, by name, that returns the elements of its results."""


class TranslatingRunner:
    """Runs Programs over one number type, as `symgen.ir.program.evaluate` does; translates a
    Program after OFTEN runs.
    """

    def __init__(self) -> None:
        self.runs: dict[int, int] = {}
        self.translated: dict[int, tuple[Program, Translated]] = {}

    def __call__(
        self, program: Program, arguments: Mapping[str, Sequence[Any]], numbers: Numbers
    ) -> dict[str, list[Any]]:
        key = id(program)
        if key in self.translated:
            return self.translated[key][1](arguments)
        self.runs[key] = self.runs.get(key, 0) + 1
        if self.runs[key] > OFTEN:
            self.translated[key] = program, translate(program, numbers)
        return evaluate(program, arguments, numbers)


def translate(program: Program, numbers: Numbers) -> Translated:
    """Return a Python function with the rows of a Program over a number type: the same operations
    in the same order.

    Constants are converted once, in the precision of the call of `translate`.
    """
    names: dict[str, Any] = {
        name: getattr(numbers, name) for name in ("sin", "cos", "sqrt", "log", "atan2")
    }
    for i, row in enumerate(program.rows):
        if row.op == "const":
            names[f"c{i}"] = numbers.constant(row.value)
    statements = [f"a{a} = arguments[{port.name!r}]" for a, port in enumerate(program.inputs)]
    for i, (op, args, value, _, _) in enumerate(program.rows):
        operands = [f"r{a}" for a in args]
        if op in _SIGNS:
            expression = _SIGNS[op].join(operands)
        elif op == "neg":
            expression = f"-{operands[0]}"
        elif op == "const":
            expression = f"c{i}"
        elif op == "input":
            expression = f"a{value[0]}[{value[1]}]"
        else:
            expression = f"{op}({', '.join(operands)})"
        statements.append(f"r{i} = {expression}")
    results = {port.name: f"[{', '.join(f'r{r}' for r in port.rows)}]" for port in program.outputs}
    return python_function(statements, results, names)


def python_function(
    statements: Sequence[str], results: Mapping[str, str], names: Mapping[str, Any]
) -> Translated:
    """Return the function of `arguments` with these statements, which returns these expressions by
    name.

    `names` has the values of the names that are no variables of the function.
    """
    returned = ", ".join(f"{name!r}: {expression}" for name, expression in results.items())
    lines = ("def program(arguments):", *statements, f"return {{{returned}}}")
    namespace = dict(names)
    exec(_code("\n    ".join(lines)), namespace)
    return namespace["program"]  # type: ignore[no-any-return]


@lru_cache(maxsize=64)
def _code(text: str) -> CodeType:
    """Return compiled Python; cached, since a step is evaluated over several number types."""
    return compile(text, "<step>", "exec")
