"""Classifications of functions are fields of `Function`: no other file lists names of functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from symgen.vocabulary.functions import EQUATIONS, FUNCTIONS, LOOP_FUNCTIONS, PREPARING

ROOT = Path(__file__).resolve().parents[2]
NAMES = {*FUNCTIONS, *LOOP_FUNCTIONS, *EQUATIONS, *PREPARING}
TABLE = "symgen/vocabulary/functions.py"
EXPERIMENTS = "symgen/pages/reproduce/"
"""Folder that may name functions: its pages measure them."""
BUILDS = {"symgen/pipeline/loops/constraint_force_scan.py"}
"""Files that may name functions: they build these functions one by one."""


def constants_of(tree: ast.Module) -> dict[str, str]:
    """Return the string constants of a module, as in FORWARD = "forward_dynamics"."""
    values_by_name: dict[str, str] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            names, values = (
                (x.elts if isinstance(x, ast.Tuple) else [x]) for x in (target, node.value)
            )
            for name, value in zip(names, values, strict=False):
                if isinstance(name, ast.Name) and isinstance(value, ast.Constant):
                    values_by_name[name.id] = str(value.value)
    return values_by_name


def functions_in(node: ast.expr, constants: dict[str, str]) -> list[str]:
    """Return names of functions in a literal: elements, or keys of a dict of constants."""
    match node:
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "tuple" | "list"), args=[inner]):
            return functions_in(inner, constants)
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            pass
        case ast.Dict(keys=keys, values=values) if all(is_constant(x) for x in values):
            elements = [key for key in keys if key is not None]
        case _:
            return []
    words = [
        x.value if isinstance(x, ast.Constant) else constants.get(x.id, "")
        for x in elements
        if isinstance(x, ast.Constant | ast.Name)
    ]
    return [str(word) for word in words if word in NAMES]


def is_constant(node: ast.expr) -> bool:
    """True for a number, a string, or a tuple of these."""
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.Tuple) and all(map(is_constant, node.elts))
    )


def literals(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield literals assigned in a module or class, and literals after `in`."""
    for node in ast.walk(tree):
        match node:
            case ast.Module(body=body) | ast.ClassDef(body=body):
                for statement in body:
                    match statement:
                        case ast.Assign(targets=[ast.Name()], value=value):
                            yield value
                        case ast.AnnAssign(value=value) if value is not None:
                            yield value
            case ast.Compare(ops=ops, comparators=comparators):
                for operator, comparator in zip(ops, comparators, strict=True):
                    if isinstance(operator, ast.In | ast.NotIn):
                        yield comparator


def classifications(text: str) -> list[str]:
    """Return line and names of each list of at least two names of functions in a file."""
    tree = ast.parse(text)
    constants = constants_of(tree)
    names_by_line = ((node.lineno, functions_in(node, constants)) for node in literals(tree))
    return [f"{line}: {', '.join(names)}" for line, names in names_by_line if len(names) > 1]


def test_no_file_but_the_table_lists_functions() -> None:
    files = {
        path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "symgen").rglob("*.py"))
    }
    listed_lines = {
        name: classifications(path.read_text(encoding="utf-8"))
        for name, path in files.items()
        if name != TABLE and name not in BUILDS and not name.startswith(EXPERIMENTS)
    }
    assert not [f"{name}:{line}" for name, lines in listed_lines.items() for line in lines]


def test_a_list_of_functions_is_detected_only_if_it_classifies() -> None:
    lists = (
        'F = ("mass_matrix", "bias_force")',
        'A, B = "mass_matrix", "bias_force"\nBOTH = {A, B}',
        'F: dict[str, bool] = {"mass_matrix": True, "bias_force": False}',
        'class C:\n    F = frozenset({"mass_matrix", "bias_force"})',
        'def f(x):\n    return x in ["mass_matrix", "bias_force"]',
    )
    assert [len(classifications(text)) for text in lists] == [1] * len(lists)
    data = (
        'A, B = "mass_matrix", "bias_force"',
        "METHODS = {'mass_matrix': derive, 'bias_force': sum}",
        'IDENTITY = Identity("M = Mᵀ", ("mass_matrix", "bias_force"), residual)',
    )
    assert not list(chain.from_iterable(map(classifications, data)))
