"""`verify DIR` judges every file of a folder, lists what it cannot judge, and never ends in a
traceback.
"""

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
def generated_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate a folder with inline sines, a wrapper and a target."""
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
def folder(generated_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(generated_folder, tmp_path / "arm"))


def verify_quickly(folder: Path) -> Report:
    return symgen.verify(folder, states=1)


def check_files(folder: Path) -> tuple[list[Check], list[str]]:
    request = read_folder(folder)
    programs = {
        f: build.build_program(request.mechanism, f, method, request.options)
        for f, method in request.methods.items()
    }
    return check_printed(folder, request, programs, {f: {} for f in programs})


def differences(folder: Path) -> str:
    """Return the detail of the check of files; "" if it passes."""
    check = check_files(folder)[0][0]
    assert check.passed == (not check.detail)
    return check.detail


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_every_file_of_a_whole_folder_is_judged(folder: Path) -> None:
    report = verify_quickly(folder)
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
def test_one_changed_byte_in_any_file_is_reported(
    folder: Path, file: str, old: str, new: str
) -> None:
    edit(folder / file, old, new)
    assert differences(folder).startswith(f"{file} differs from line ")


def test_missing_empty_linked_and_additional_files_are_reported(folder: Path) -> None:
    (folder / "CMakeLists.txt").unlink()
    (folder / "my_arm.hpp").write_text("")
    (folder / "README.md").rename(folder / "notes.txt")
    (folder / "README.md").symlink_to("notes.txt")
    (folder / "my_arm_selftest.c").write_bytes(
        (folder / "my_arm_selftest.c").read_bytes().replace(b"\n", b"\r\n")
    )
    (folder / "my_arm_evil.c").touch()
    (folder / "firmware" / "mine.c").touch()
    detail = differences(folder)
    for name, reason in (
        ("CMakeLists.txt", "is missing"),
        ("my_arm.hpp", "differs from line 1 on"),
        ("README.md", "is not a regular file"),
        ("my_arm_selftest.c", "has other line ends"),
    ):
        assert f"{name} {reason}" in detail
    notes = check_files(folder)[1]
    assert notes == ["not symgen's, and not judged: firmware/mine.c, my_arm_evil.c, notes.txt"]


def test_a_function_removed_from_the_manifest_is_reported(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del manifest["functions"]["mass_matrix"]
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert "my_arm.h differs" in differences(folder)


@pytest.mark.parametrize(("old", "new"), [
    ("const double v[my_arm_NV], const double a[my_arm_NV]",
     "const double a[my_arm_NV], const double v[my_arm_NV]"),
    ("#define my_arm_NV 2", "#define my_arm_NV 2\n#define a v"),
    ("#define my_arm_NV 2", "#define my_arm_NV 2\nextern int extra;"),
    ("void my_arm_mass_matrix(const double q[my_arm_NQ]",
     "void my_arm_mass_matrix(const double *q"),
])  # fmt: skip
def test_a_changed_prototype_or_macro_in_the_header_fails(folder: Path, old: str, new: str) -> None:
    """Swapped arguments of a prototype compile, and so does a macro; the check of the text detects
    both.
    """
    edit(folder / "my_arm.h", old, new)
    kinds = {check.kind for check in verify_quickly(folder).failures}
    assert {"text", "files"} <= kinds


def test_a_header_without_content_fails_to_compile(folder: Path) -> None:
    (folder / "my_arm.h").write_text("")
    assert {"text", "floating", "files"} <= {
        check.kind for check in verify_quickly(folder).failures
    }


@pytest.mark.parametrize(
    "hidden",
    [
        "    /* *\\\n/ M[0] = 7.0; /* */",
        "    /* *??/\n/ M[0] = 7.0; /* */",
        "    %:define sin cos",
        "    // M\n",
    ],
)
def test_text_that_hides_code_from_readers_fails(folder: Path, hidden: str) -> None:
    edit(folder / "my_arm_mass_matrix.c", "    M[0] =", f"{hidden}\n    M[0] =")
    assert {"text", "files"} <= {check.kind for check in verify_quickly(folder).failures}


def test_files_of_another_version_are_not_compared(folder: Path) -> None:
    edit(folder / "manifest.json", '"symgen": "', '"symgen": "9.')
    report = verify_quickly(folder)
    (check,) = report.of("files")
    assert check.verdict == "not judged"
    assert "symgen 9." in check.unjudged
    assert report.closing.endswith(", 1 not judged")


def test_a_missing_version_does_not_count_as_another_version(folder: Path) -> None:
    """Otherwise one changed byte would leave every file unjudged."""
    edit(folder / "manifest.json", '"symgen": "', '"symgem": "')
    assert [check.verdict for check in verify_quickly(folder).of("files")] == ["failed"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("void my_arm_mass_matrix(", "void my_arm_mass_matrices("),
        ("cosine;", "cosine + my_arm_more(0.0);"),
    ],
)
def test_c_that_does_not_link_fails(folder: Path, old: str, new: str) -> None:
    """A function of another name is defined, or an undefined function called."""
    edit(folder / "my_arm_mass_matrix.c", old, new)
    assert {"text", "floating", "files"} <= {
        check.kind for check in verify_quickly(folder).failures
    }


@pytest.mark.slow
def test_recorded_evidence_is_named_as_not_judged(tmp_path: Path) -> None:
    symgen.generate("planar_arm", tmp_path / "arm", FUNCTIONS[1:], target="host")
    report = verify_quickly(tmp_path / "arm")
    assert [check.subject for check in report.unjudged] == ["planar_arm: evidence"]
    assert "the record of proof in manifest.json is not verified" in report.unjudged[0].unjudged
    edit(tmp_path / "arm" / "README.md", "planar_arm", "planar arm")
    assert not verify_quickly(tmp_path / "arm").passed


@pytest.mark.slow
def test_no_damage_ends_in_a_traceback(
    generated_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each file in turn has a byte changed or its end cut, or is replaced by words, a folder or a
    pipe.
    """
    random_source = random.Random(5)
    words = ["null", "[]", "{}", "-1", '"\\u0000"', "[" * 2000, "1e999", "\x00", "panda", "../x"]
    names = sorted(
        str(path.relative_to(generated_folder))
        for path in generated_folder.rglob("*")
        if path.is_file()
    )
    for k, name in enumerate(["manifest.json"] * 8 + names):
        folder = Path(shutil.copytree(generated_folder, tmp_path / str(k)))
        path = folder / name
        data = path.read_bytes()
        at = random_source.randrange(len(data))
        damage = random_source.choice(("byte", "cut", "word", "folder", "pipe"))
        if damage in ("folder", "pipe"):
            path.unlink()
            path.mkdir() if damage == "folder" else os.mkfifo(path)
        else:
            new = {
                "byte": bytes([data[at] ^ 1]),
                "cut": b"",
                "word": random_source.choice(words).encode(),
            }[damage]
            path.write_bytes(data[:at] + new + data[at + 1 :] * (damage != "cut"))
        code = cli.main(["verify", str(folder), "--states", "1"])
        streams = capsys.readouterr()
        assert code in (1, 2), (name, damage)
        assert "internal error" not in streams.err
        shutil.rmtree(folder)


def test_an_unknown_function_in_the_manifest_is_refused(folder: Path) -> None:
    edit(folder / "manifest.json", '"mass_matrix": {', '"mass_matrixx": {')
    with pytest.raises(SymgenError, match="mass_matrixx"):
        symgen.verify(folder)


@pytest.mark.parametrize("key", ["functions", "options"])
def test_an_empty_table_of_the_manifest_is_refused(folder: Path, key: str) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for nothing in ("", {}, [], None, 0):
        (folder / "manifest.json").write_text(
            json.dumps(manifest | {key: nothing}), encoding="utf-8"
        )
        with pytest.raises(SymgenError, match=r"its manifest\.json is not one that symgen wrote"):
            symgen.verify(folder)
