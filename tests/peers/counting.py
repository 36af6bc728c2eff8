"""Operations in the C of other generators, and the operations that each optimisation of symgen
saves.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from unittest import mock

from pycparser import c_ast, c_parser

from symgen.derivation.scalars import Derivation, Scalar
from symgen.ir import passes
from symgen.ir.passes.merge_equal import merge_equal
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, choose, derive, layout

ALIKE = {"casadi_sq": 1}
"""Functions of the text itself that are operations."""


def operations(file: Path, function: str) -> int:
    """Return the number of multiplications, additions, subtractions and divisions in a function and
    in the functions of the same file that it calls.
    """
    text = re.sub(r"^\s*#\s*include.*$", "", file.read_text(), flags=re.MULTILINE)
    preprocessed = subprocess.run(
        ["gcc", "-E", "-P", "-"], input=text, capture_output=True, text=True, check=True
    ).stdout
    defined = {
        d.decl.name: d
        for d in c_parser.CParser().parse(preprocessed).ext
        if isinstance(d, c_ast.FuncDef)
    }
    return _Counter(defined).of(function)


class _Counter:
    def __init__(self, defined: dict[str, c_ast.FuncDef]) -> None:
        self.defined = defined

    def of(self, function: str) -> int:
        return self._in(self.defined[function].body)

    def _in(self, node: c_ast.Node) -> int:
        count = 0
        if isinstance(node, c_ast.BinaryOp) and node.op in "+-*/":
            count = 1
        if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID):
            name = node.name.name
            count = ALIKE.get(name) or (self.of(name) if name in self.defined else 0)
        if isinstance(node, c_ast.ArrayRef):  # an index is not arithmetic
            return 0
        return count + sum(self._in(child) for _, child in node.children())


IDEAS = {
    "frames laid out": lambda: mock.patch.object(
        derive, "candidate_layouts", return_value=(layout.PLAIN,)
    ),
    "a layout of its own": lambda: mock.patch.object(
        derive, "candidate_layouts", lambda mechanism, _: _general(mechanism)
    ),
    "bias of composite bodies": lambda: mock.patch.object(
        choose, "methods_for", _without("composite_body:bias")
    ),
    "equal ways": lambda: mock.patch.object(
        Derivation, "either", lambda self, first, second: _first(first, second)
    ),
    "rows computed anew": lambda: mock.patch.object(passes, "LAST", ()),
    "values recognized": lambda: mock.patch.object(
        passes, "PIPELINE", tuple(p for p in passes.PIPELINE if p is not merge_equal)
    ),
}
"""Optimisations that are left out to see what they save."""


def _general(mechanism: Mechanism) -> tuple[layout.Layout, ...]:
    return layout.layouts(mechanism).general, layout.PLAIN


def _first(first: Scalar, second: Scalar) -> Scalar:
    return second if second.is_constant else first


def _without(method: str):  # type: ignore[no-untyped-def]
    every = choose.methods_for
    return lambda mechanism, function: tuple(
        name for name in every(mechanism, function) if name != method
    )


def gains(mechanism: Mechanism, functions: Iterable[str]) -> dict[str, dict[str, int]]:
    """Function → {"now": operations, idea: operations without it}."""
    counts: dict[str, dict[str, int]] = {}
    for function in functions:
        counts[function] = {"now": _fresh(mechanism, function)}
        for idea, leave_out in IDEAS.items():
            with leave_out():
                counts[function][idea] = _fresh(mechanism, function)
    _forget()
    return counts


def _fresh(mechanism: Mechanism, function: str) -> int:
    """Return the operations of a function that is derived with an empty cache."""
    _forget()
    with (
        mock.patch("symgen.support.cache.find", return_value=None),
        mock.patch("symgen.support.cache.keep", return_value=None),
    ):
        return build.program(mechanism, function).cost


def _forget() -> None:
    for cached_function in (layout.layouts, derive._attempt, build._build):
        cached_function.cache_clear()
