"""The counting rules of `make shape`, on small sources."""

from __future__ import annotations

import ast
from pathlib import Path

from tests import shape


def function(source: str) -> shape.Function:
    """Return the first function of a source."""
    return shape.functions(ast.parse(source))[0]


def test_statements_are_counted_without_docstrings_and_ellipses() -> None:
    source = (
        '"""Module."""\nx = 1\n"""About x."""\n'
        'def f():\n    """Docstring."""\n    ...\n    return x\n'
    )
    assert shape.statements(ast.parse(source)) == 3  # x = 1, def, return


def test_parameters_are_the_named_ones_without_self() -> None:
    assert shape.parameters(function("def f(self, a, /, b, *rest, c, d=1, **options): ...")) == 4
    assert shape.parameters(function("async def f(cls): ...")) == 0


def test_branches_count_decisions() -> None:
    bodies = {
        "pass": 1,
        "if a: pass\n elif b: pass\n else: pass": 3,
        "return a if b else c": 2,
        "for x in a: pass": 2,
        "while a and b and not c: pass": 4,
        "try: pass\n except A: pass\n except B: pass\n finally: pass": 3,
        "match a:\n  case 1: pass\n  case _: pass": 3,
        "assert a or b": 3,
        "return [x for y in a if y for x in y if x if not x]": 6,
        "with a: pass": 1,
        "def g():\n  if a: pass": 2,
    }
    for body, expected in bodies.items():
        assert shape.branches(function(f"def f():\n {body}")) == expected, body


def test_files_of_loop_forms_are_recognized_by_name() -> None:
    loop_forms = ("ir/loops/steps", "pipeline/loops/steps", "segmented", "readback/loops")
    assert all(shape.LOOP_FORMS.search(name) for name in (*loop_forms, "readback/loop_checks"))
    assert not any(shape.LOOP_FORMS.search(name) for name in ("loops", "delivery/loops"))


def test_graph_figures_follow_the_imports(tmp_path: Path) -> None:
    sources = {
        "__init__": "from symgen.top import run",
        "top": "def run():\n    from symgen.middle import parts",
        "middle/__init__": "from symgen.middle import listed, parts",
        "middle/listed": "",
        "middle/parts": (
            "from typing import TYPE_CHECKING\n"
            "from symgen.middle._steps import walk\n"
            "if TYPE_CHECKING:\n    from symgen import base"
        ),
        "middle/_steps": "import symgen.base",
        "other": "from symgen.middle import _steps",
        "base": "import os",
    }
    for name, source in sources.items():
        path = tmp_path / "symgen" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    figures = {figure.name: figure for figure in shape.measure(tmp_path)}
    assert figures["rooms"].value == 5
    assert figures["arrows between rooms"].value == 4
    assert figures["floors"].value == 4
    assert figures["floors"].offenders[0] == "longest chain: symgen → top → middle → base"
    assert figures["files whose only importer is in the same room"].value == 0
    assert figures["  imported from outside their folder"].offenders == ["middle/_steps ← other"]

    (tmp_path / "symgen" / "other.py").unlink()
    alone = {figure.name: figure for figure in shape.measure(tmp_path)}
    sole = alone["files whose only importer is in the same room"]
    assert sole.offenders == ["middle/_steps ← middle/parts"]


def test_a_call_on_several_stacks_counts_once() -> None:
    stages = {
        "equations": [("cli.py", "main"), ("build.py", "build"), ("build.py", "derive")],
        "text": [("cli.py", "main"), ("print.py", "print_text")],
    }
    assert shape.calls_and_files(stages) == (4, 3)


def test_the_table_is_aligned_and_lists_offenders_on_request() -> None:
    figures = [shape.Figure("rooms", 53, 26, ["cli"]), shape.Figure("files", 606)]
    assert shape.table(figures, verbose=False).splitlines() == [
        "figure    value    bound",
        "rooms        53       26",
        "files       606",
    ]
    assert "    cli" in shape.table(figures, verbose=True).splitlines()
