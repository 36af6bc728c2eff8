"""Seeded errors of `tests/mutants.py`: an edit is one small error that Python accepts; the edits cover every room."""

from __future__ import annotations

import ast
import shlex
from itertools import islice
from pathlib import Path

import pytest

from tests.mutants import NO_TESTS, ROOMS, ROOT, Tree, room, stages
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
    ]
    for edit in edits:
        assert ast.dump(ast.parse(edit.applied(SAMPLE))) != ast.dump(ast.parse(SAMPLE))
    assert lines_of_code(SAMPLE) == 11


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


def test_every_room_has_tests_and_every_named_file_exists() -> None:
    files = [
        path.relative_to(ROOT / "symgen").with_suffix("").as_posix().replace("/_", "/")
        for path in (ROOT / "symgen").rglob("*.py")
    ]
    rooms = {file.partition("/")[0] for file in files if "/" in file}
    assert rooms == {start.partition("/")[0] for start in ROOMS if start}
    assert not [start for start in ROOMS if not any(file.startswith(start) for file in files)]
    for tests_of_room in ROOMS.values():
        for word in shlex.split(" ".join(tests_of_room)):
            assert not word.startswith("tests/") or (ROOT / word).is_file(), word
    assert (
        stages("methods/_udut/bodies.py")
        == stages("methods/udut/bodies.py")
        != stages("methods/__init__.py")
    )


@pytest.mark.slow
def test_a_stage_that_selects_no_test_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (ROOT / "symgen" / "support" / "tables.py").read_bytes()
    edit = edits_of("support/tables.py", source)[0]
    monkeypatch.setitem(
        ROOMS, "support/tables", ("tests/system/test_mutants.py -k no_test_of_this_name",)
    )
    with pytest.raises(
        SystemExit, match=r"no test answers to 'tests/system/test_mutants.py -k no_test"
    ):
        Tree(tmp_path).planted(edit, source, "")


@pytest.mark.slow
def test_an_error_is_planted_in_a_copy_and_removed_again(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    source = (ROOT / "symgen" / "support" / "tables.py").read_bytes()
    edit = next(edit for edit in edits_of("support/tables.py", source) if edit.kind == "condition")
    (tree.root / "planted").mkdir()
    (tree.root / "planted" / "test_planted.py").write_text(
        f"from symgen.support import tables\ndef test_it():\n    assert len(open(tables.__file__).read()) == {len(source.decode())}\n",
        encoding="utf-8",
    )
    with_error = edit.applied(source)
    assert not tree.tested("planted/test_planted.py").killed
    (tree.root / "symgen" / "support" / "tables.py").write_bytes(with_error)
    verdict = tree.tested("planted/test_planted.py")
    assert (verdict.killed, verdict.by) == (True, "planted/test_planted.py::test_it")
    assert tree.has(verdict.by)
    assert not tree.has("planted/test_planted.py::test_no_more")
    assert tree.tested("planted/test_planted.py -k no_more").by == NO_TESTS
    assert tree.planted(edit, source, verdict.by).by == verdict.by
    assert (
        (tree.root / "symgen" / "support" / "tables.py").read_bytes()
        == source
        == (ROOT / "symgen" / "support" / "tables.py").read_bytes()
    )
