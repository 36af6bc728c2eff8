"""Files of a folder compared with those that are generated again."""

from __future__ import annotations

from pathlib import Path

import pytest

from symgen.delivery.verifying import _foreign_files, _recorded, _unlike
from symgen.verification.folder import LARGEST_FILE


@pytest.mark.parametrize(
    ("content", "difference"),
    [
        (b"a\nb\nc\n", ""),
        (b"a\r\nb\r\nc\r\n", "has other line ends"),
        (b"x\nb\nc\n", "differs from line 1 on"),
        (b"a\nb\nx\n", "differs from line 3 on"),
        (b"a\nb\nc", "differs from line 4 on"),
        (b"a\nb\nc\n\n", "differs from line 5 on"),
        (b"", "differs from line 1 on"),
    ],
)
def test_the_first_line_that_differs_is_named(
    content: bytes, difference: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(content)
    assert _unlike(tmp_path / "file", b"a\nb\nc\n") == difference


def test_a_file_that_is_no_regular_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "folder").mkdir()
    assert _unlike(tmp_path / "absent", b"a") == "is missing"
    for name in ("link", "dangling", "folder"):
        assert _unlike(tmp_path / name, b"a") == "is not a regular file"


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    assert _unlike(path, bytes(8)) == "differs from line 1 on"
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"a")
    assert _unlike(path, b"a") != ""
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE)
    assert _unlike(path, b"a") == ""


def test_files_of_the_user_are_named(tmp_path: Path) -> None:
    for name in ("arm.c", "mine.txt", "notes"):
        (tmp_path / name).write_text("")
    (note,) = _foreign_files(tmp_path, ["arm.c"])
    assert note.startswith("not symgen's, and not judged: ")
    assert "mine.txt" in note
    assert "notes" in note
    assert "arm.c" not in note
    assert _foreign_files(tmp_path, ["arm.c", "mine.txt", "notes"]) == []


def test_the_recorded_reason_of_a_function_is_that_of_its_entries() -> None:
    entries = [
        {"text": "first", "functions": ["M", "g"]},
        {"text": "second", "functions": ["g"]},
        {"text": "third", "functions": "g"},
        "fourth",
    ]
    assert _recorded({"not_modelled": entries}, "g") == "first second"
    assert _recorded({"not_modelled": entries}, "M") == "first"
    assert _recorded({"not_modelled": entries}, "c") == ""
    assert _recorded({"not_modelled": "g"}, "g") == _recorded({}, "g") == ""
