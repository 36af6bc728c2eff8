"""`verify DIR` judges every file of the folder, says what it does not judge, and never ends in a traceback."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

import symgen
from symgen import cli
from symgen.delivery.verifying import check_printed
from symgen.pipeline import build
from symgen.support.errors import SymgenError
from symgen.verification.folder import read_folder
from symgen.verification.report import Check, Report

FUNCTIONS = ("inverse_dynamics", "mass_matrix")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With all that a folder may hold: own sines, a wrapper, a target."""
    folder = tmp_path_factory.mktemp("made") / "arm"
    symgen.generate(
        "planar_arm",
        folder,
        FUNCTIONS,
        name="my_arm",
        trig="inline",
        wrap=["cpp17"],
        target="host",
        evidence=False,
    )
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "arm"))


def verified(folder: Path) -> Report:
    return symgen.verify(folder, states=1)


def printed(folder: Path) -> tuple[list[Check], list[str]]:
    found = read_folder(folder)
    programs = {
        f: build.build_program(found.mechanism, f, method, found.options)
        for f, method in found.methods.items()
    }
    return check_printed(folder, found, programs, {f: {} for f in programs})


def differing(folder: Path) -> str:
    """What the check of the files says, "" where it passes."""
    check = printed(folder)[0][0]
    assert check.passed == (not check.detail)
    return check.detail


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_every_file_of_a_whole_folder_is_judged(folder: Path) -> None:
    report = verified(folder)
    assert report.closing == "verified"
    count = sum(path.is_file() for path in folder.rglob("*"))
    assert f"files: {count} as symgen prints them, byte for byte" in str(report).splitlines()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("CMakeLists.txt", "-ffp-contract=off", "-ffast-math"),
        ("my_arm_selftest.c", "++count;", "count = 0;"),
        ("README.md", "| 0 | ", "| 1 | "),
        ("firmware/Makefile", "-O2", "-O3"),
        ("manifest.json", '"nq": 2', '"nq": 3'),
        ("manifest.json", "-9.81", "-9.8"),
        ("manifest.json", '"name": "joint1"', '"name": "joint2"'),
        ("manifest.json", '"source_sha256": "', '"source_sha256": "0'),
        ("my_arm.hpp", "namespace", "inline namespace"),
        ("my_arm.h", "/* ", "/*  "),
        ("my_arm_mass_matrix.c", "/* ", "/*  "),
    ],
)
def test_one_changed_byte_is_found_in_any_file(folder: Path, file: str, old: str, new: str) -> None:
    edit(folder / file, old, new)
    assert differing(folder).startswith(f"{file} differs from line ")


def test_what_is_missing_emptied_linked_or_too_much_is_found(folder: Path) -> None:
    (folder / "CMakeLists.txt").unlink()
    (folder / "my_arm.hpp").write_text("")
    (folder / "README.md").rename(folder / "notes.txt")
    (folder / "README.md").symlink_to("notes.txt")
    (folder / "my_arm_selftest.c").write_bytes(
        (folder / "my_arm_selftest.c").read_bytes().replace(b"\n", b"\r\n")
    )
    (folder / "my_arm_evil.c").touch()
    (folder / "firmware" / "mine.c").touch()
    said = differing(folder)
    for name, why in (
        ("CMakeLists.txt", "is missing"),
        ("my_arm.hpp", "differs from line 1 on"),
        ("README.md", "is not a regular file"),
        ("my_arm_selftest.c", "has other line ends"),
    ):
        assert f"{name} {why}" in said
    notes = printed(folder)[1]
    assert notes == ["not symgen's, and not judged: firmware/mine.c, my_arm_evil.c, notes.txt"]


def test_a_function_that_is_struck_from_the_manifest_is_missed(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del manifest["functions"]["mass_matrix"]
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert "my_arm.h differs" in differing(folder)


@pytest.mark.parametrize(("old", "new"), [
    ("const double v[my_arm_NV], const double a[my_arm_NV]", "const double a[my_arm_NV], const double v[my_arm_NV]"),
    ("#define my_arm_NV 2", "#define my_arm_NV 2\n#define a v"),
    ("#define my_arm_NV 2", "#define my_arm_NV 2\nextern int extra;"),
    ("void my_arm_mass_matrix(const double q[my_arm_NQ]", "void my_arm_mass_matrix(const double *q"),
])  # fmt: skip
def test_the_header_is_read_as_the_compiler_sees_it(folder: Path, old: str, new: str) -> None:
    """A prototype with two arguments swapped compiles, and so does a macro; both are found by reading."""
    edit(folder / "my_arm.h", old, new)
    kinds = {check.kind for check in verified(folder).failures}
    assert {"text", "files"} <= kinds


def test_a_header_without_content_fails_to_compile(folder: Path) -> None:
    (folder / "my_arm.h").write_text("")
    assert {"text", "floating", "files"} <= {check.kind for check in verified(folder).failures}


@pytest.mark.parametrize(
    "hidden",
    [
        "    /* *\\\n/ M[0] = 7.0; /* */",
        "    /* *??/\n/ M[0] = 7.0; /* */",
        "    %:define sin cos",
        "    // M\n",
    ],
)
def test_what_a_compiler_reads_otherwise_is_refused(folder: Path, hidden: str) -> None:
    edit(folder / "my_arm_mass_matrix.c", "    M[0] =", f"{hidden}\n    M[0] =")
    assert {"text", "files"} <= {check.kind for check in verified(folder).failures}


def test_another_version_s_folder_is_judged_by_reading_alone(folder: Path) -> None:
    edit(folder / "manifest.json", '"symgen": "', '"symgen": "9.')
    report = verified(folder)
    (check,) = report.of("files")
    assert check.verdict == "not judged"
    assert "symgen 9." in check.unjudged
    assert report.closing.endswith(", 1 not judged")


def test_a_version_that_is_none_is_no_other_version(folder: Path) -> None:
    """Else one changed byte would leave every file unjudged."""
    edit(folder / "manifest.json", '"symgen": "', '"symgem": "')
    assert [check.verdict for check in verified(folder).of("files")] == ["failed"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("void my_arm_mass_matrix(", "void my_arm_mass_matrices("),
        ("cosine;", "cosine + my_arm_more(0.0);"),
    ],
)
def test_c_that_links_to_nothing_has_failed(folder: Path, old: str, new: str) -> None:
    """A symbol that is not there, and one that is nowhere."""
    edit(folder / "my_arm_mass_matrix.c", old, new)
    assert {"text", "floating", "files"} <= {check.kind for check in verified(folder).failures}


def test_recorded_evidence_is_named_as_not_judged(tmp_path: Path) -> None:
    symgen.generate("planar_arm", tmp_path / "arm", FUNCTIONS[1:], target="host")
    report = verified(tmp_path / "arm")
    assert [check.subject for check in report.unjudged] == ["planar_arm: evidence"]
    assert "the record of proof in manifest.json is not verified" in report.unjudged[0].unjudged
    edit(tmp_path / "arm" / "README.md", "planar_arm", "planar arm")
    assert not verified(tmp_path / "arm").passed


def test_no_damage_ends_in_a_traceback(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each file in turn: bytes changed, its end lost, a folder or a pipe in its place. What matters to a verdict gives one."""
    pick = random.Random(5)
    words = ["null", "[]", "{}", "-1", '"\\u0000"', "[" * 2000, "1e999", "\x00", "panda", "../x"]
    names = sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file())
    for k, name in enumerate(["manifest.json"] * 8 + names):
        folder = Path(shutil.copytree(made, tmp_path / str(k)))
        path = folder / name
        data = path.read_bytes()
        at = pick.randrange(len(data))
        way = pick.choice(("byte", "cut", "word", "folder", "pipe"))
        if way in ("folder", "pipe"):
            path.unlink()
            path.mkdir() if way == "folder" else os.mkfifo(path)
        else:
            new = {"byte": bytes([data[at] ^ 1]), "cut": b"", "word": pick.choice(words).encode()}[
                way
            ]
            path.write_bytes(data[:at] + new + data[at + 1 :] * (way != "cut"))
        code = cli.main(["verify", str(folder), "--states", "1"])
        said = capsys.readouterr()
        assert code in (1, 2), (name, way)
        assert "internal error" not in said.err
        shutil.rmtree(folder)


def test_a_function_of_no_table_is_refused_in_a_sentence(folder: Path) -> None:
    edit(folder / "manifest.json", '"mass_matrix": {', '"mass_matrixx": {')
    with pytest.raises(SymgenError, match="mass_matrixx"):
        symgen.verify(folder)


@pytest.mark.parametrize("key", ["functions", "options"])
def test_an_emptied_table_of_the_manifest_is_refused_in_a_sentence(folder: Path, key: str) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for nothing in ("", {}, [], None, 0):
        (folder / "manifest.json").write_text(
            json.dumps(manifest | {key: nothing}), encoding="utf-8"
        )
        with pytest.raises(SymgenError, match=r"its manifest\.json is not one that symgen wrote"):
            symgen.verify(folder)
