"""Files of a folder compared with those that are generated again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from symgen.delivery.contents import FolderContents
from symgen.delivery.manifest import manifest
from symgen.delivery.verifying import (
    _foreign_files,
    _recorded,
    _unlike,
    _unread,
    report_of_other_version,
    unknown_functions,
)
from symgen.support.version import __version__
from symgen.verification.folder import LARGEST_FILE
from symgen.verification.report import READ, Check, Report
from tests.shared.c_programs import arm
from tests.shared.folders import mechanism


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


# -- folders of another version --------------------------------------------------------------------


FAILED = Check("text", "mass_matrix=crb", 3.0, 0.0, " row(s) that differ", "line 4: another row")


@pytest.mark.parametrize("kind", READ)
def test_a_text_of_another_version_that_is_not_read_is_not_judged(kind: str) -> None:
    check = _unread(replace(FAILED, kind=kind), "0.9")
    assert check.verdict == "not judged"
    assert check.lost
    assert check.unjudged == (
        f"symgen 0.9 wrote it, and it is not the text that symgen {__version__} reads: "
        "line 4: another row"
    )


def test_other_checks_of_another_version_keep_their_verdict() -> None:
    passed = replace(FAILED, error=0.0)
    numbers = replace(FAILED, kind="floating")
    unjudged = replace(FAILED, error=0.0, unjudged="no compiler")
    for check in (passed, numbers, unjudged):
        assert _unread(check, "0.9") is check


def test_a_note_names_what_is_judged_in_a_folder_of_another_version() -> None:
    numbers = Check("floating", "mass_matrix=by_hand", 0.5, 1.0)
    text = replace(FAILED, subject="mass_matrix=by_hand", kind="device")
    report = Report("arm", "double", 3, 60, 1.0, (numbers, text), notes=("earlier",))
    programs = {name: arm()[name] for name in ("mass_matrix", "mass_matrix_and_bias")}
    unknown = {"mass_matrix_and_bias": "its results have changed"}
    judged = report_of_other_version(report, "0.9", programs, unknown)
    first, second, third = judged.checks
    assert first is numbers
    assert (second.kind, second.lost, second.verdict) == ("device", True, "not judged")
    assert third == Check(
        "text",
        "mass_matrix_and_bias=by_hand",
        1.0,
        0.0,
        unjudged="symgen 0.9 wrote it, and its results have changed",
        lost=True,
    )
    earlier, note = judged.notes
    assert earlier == "earlier"
    assert note == (
        "this folder was written by symgen 0.9; judged: mass_matrix=by_hand; not judged: "
        "mass_matrix=by_hand (on a GPU), mass_matrix_and_bias=by_hand (text), "
        "files other than the functions"
    )
    all_unknown = dict.fromkeys(programs, "its option 'x' is unknown")
    nothing = report_of_other_version(replace(report, checks=()), "0.9", programs, all_unknown)
    assert "judged: no function; not judged: " in nothing.notes[-1]


def test_only_unknown_functions_have_a_reason() -> None:
    programs = {name: arm()[name] for name in ("mass_matrix", "mass_matrix_and_bias")}
    facts = manifest(FolderContents(mechanism(), programs))
    assert unknown_functions(facts, programs) == {}
    facts["functions"]["mass_matrix"]["new"] = 1
    assert unknown_functions(facts, programs) == {"mass_matrix": "its fact 'new' is unknown"}
