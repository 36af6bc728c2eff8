"""Seeded errors of `tests/mutants.py`: an edit is one small error that Python accepts; the edits
cover every room.
"""

from __future__ import annotations

import ast
from itertools import islice
from pathlib import Path

import pytest

from tests.executed_functions import executed, function_spans, innermost
from tests.mutants import BUDGET, NO_TESTS, ROOT, Tree, chosen_tests, room
from tests.shared.edits import edits_of, in_order, lines_of_code

SAMPLE = b'''"""Not 1 + 1."""
from __future__ import annotations
SIZE: tuple[int, 3] = (1, 2)

@cache(4)
def f(x: int = 5) -> list[1]:
    """Not 2 - 2."""
    assert x > 6
    if x < 7 and x:
        raise ValueError(f"{x + 8}" + "9")
    return -x[0] + g(x, maxsize=10, strict=True)

def h() -> float:
    return random.uniform(-12, 13)

def k(x: list) -> list:
    return x.reshape(-1, 14).reshape((15, -1))

class C:
    def __repr__(self) -> str:
        return "a" * 11
'''


def test_each_kind_of_error_is_seeded_except_where_no_test_could_detect_it() -> None:
    edits = edits_of("f.py", SAMPLE)
    assert [edit.text for edit in edits] == [
        "constant: 1 → 2",
        "constant: 2 → 3",
        "constant: 5 → 6",
        "condition: x < 7 and x → (not (x < 7 and x))",
        "term: x < 7 and x → (x)",
        "term: x < 7 and x → (x < 7)",
        "comparison: x < 7 → (x > 7)",
        "constant: 7 → 8",
        "sign: -x[0] + g(x, maxsize=10, strict=True) → (-x[0] - g(x, maxsize=10, strict=True))",
        "term: -x[0] + g(x, maxsize=10, strict=True) → (-x[0])",
        "term: -x[0] + g(x, maxsize=10, strict=True) → (g(x, maxsize=10, strict=True))",
        "sign: -x[0] → (x[0])",
        "index: 0 → 1",
        "constant: 15 → 16",
        "constant: 14 → 15",
    ]
    for edit in edits:
        assert ast.dump(ast.parse(edit.applied(SAMPLE))) != ast.dump(ast.parse(SAMPLE))
    assert lines_of_code(SAMPLE) == 13


def test_edits_are_spread_by_lines_and_do_not_change_with_other_files(
    tmp_path: Path,
) -> None:
    (tmp_path / "long").mkdir()
    (tmp_path / "long" / "a.py").write_text("x = 1 + 2\n" * 30, encoding="utf-8")
    (tmp_path / "b.py").write_text("y = 1 - 2\n" * 10, encoding="utf-8")
    first = list(islice(in_order(tmp_path, room, 1), 40))
    assert [sum(room(edit.file) == name for edit in first) for name in ("long", "symgen")] == [
        30,
        10,
    ]
    assert first[:20] == list(islice(in_order(tmp_path, room, 1), 20))
    assert first != list(islice(in_order(tmp_path, room, 2), 40))
    (tmp_path / "long" / "c.py").write_text("z = 3\n", encoding="utf-8")
    again = [edit for edit in in_order(tmp_path, room, 1) if edit.file == "b.py"][:10]
    assert again == [edit for edit in first if edit.file == "b.py"]


def test_tests_that_execute_the_function_of_an_edit_are_chosen_within_the_budget() -> None:
    source = b"def f():\n    return 1\n\ndef g():\n    return 2\n\nx = 3\n"
    in_f, in_g, outside = edits_of("ir/rows.py", source)
    table = {
        f"tests/{name}.py": {"seconds": seconds, "functions": {file: functions}}
        for name, seconds, file, functions in (
            ("cli/test_quick", 1.0, "ir/rows.py", ["f", "g"]),
            ("ir/test_other", 2.0, "ir/rows.py", ["f"]),
            ("methods/test_rows", BUDGET, "ir/rows.py", ["f"]),
            ("ir/test_elsewhere", 1.0, "ir/columns.py", ["f"]),
            ("ir/test_long", BUDGET + 1.0, "ir/rows.py", ["g"]),
        )
    }
    assert chosen_tests(in_f, source, table) == ("tests/methods/test_rows.py",)
    assert chosen_tests(in_g, source, table) == ("tests/ir/test_long.py",)
    table["tests/methods/test_rows.py"]["seconds"] = 5.0
    assert chosen_tests(in_f, source, table) == tuple(
        f"tests/{name}.py" for name in ("methods/test_rows", "ir/test_other", "cli/test_quick")
    )
    assert len(chosen_tests(outside, source, table)) == 2  # the third one is over the budget


def test_functions_are_found_by_their_lines() -> None:
    spans = function_spans(SAMPLE)
    names = [innermost(spans, line) for line in range(1, SAMPLE.count(b"\n") + 1)]
    assert [name for name in dict.fromkeys(names) if name] == ["f", "h", "k", "C.__repr__"]
    assert names.count("f") == 5


@pytest.mark.slow
def test_functions_that_a_test_file_executes_are_recorded() -> None:
    functions = executed(ROOT / "tests" / "vocabulary" / "test_constants.py")["functions"]
    assert any(path.startswith("vocabulary/") for path in functions)
    assert "emission/print.py" not in functions


@pytest.mark.slow
def test_an_error_is_planted_in_a_copy_and_removed_again(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    source = (ROOT / "symgen" / "support" / "tables.py").read_bytes()
    edit = next(edit for edit in edits_of("support/tables.py", source) if edit.kind == "condition")
    (tree.root / "planted").mkdir()
    (tree.root / "planted" / "test_planted.py").write_text(
        "from symgen.support import tables\n"
        f"def test_it():\n    assert len(open(tables.__file__).read()) == {len(source.decode())}\n",
        encoding="utf-8",
    )
    with_error = edit.applied(source)
    assert not tree.tested(["planted/test_planted.py"]).killed
    (tree.root / "symgen" / "support" / "tables.py").write_bytes(with_error)
    verdict = tree.tested(["planted/test_planted.py"])
    assert (verdict.killed, verdict.by) == (True, "planted/test_planted.py::test_it")
    assert tree.has(verdict.by)
    assert not tree.has("planted/test_planted.py::test_no_more")
    assert tree.tested(["planted/test_planted.py", "-k", "no_more"]).by == NO_TESTS
    assert tree.planted(edit, source, (), verdict.by).by == verdict.by
    assert tree.planted(edit, source, ()).by == NO_TESTS
    assert (
        (tree.root / "symgen" / "support" / "tables.py").read_bytes()
        == source
        == (ROOT / "symgen" / "support" / "tables.py").read_bytes()
    )
