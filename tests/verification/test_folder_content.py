"""The reader of a generated folder: options and names of a manifest, and texts of files, entry by
entry.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from symgen.support.errors import ArgumentError, DescriptionError, RequestError
from symgen.support.version import __version__
from symgen.verification import folder
from symgen.verification.folder import other_version
from symgen.vocabulary.arrays import USUAL
from symgen.vocabulary.options import AUTO, NORMAL, ProgramOptions, TextOptions

# -- files --


def test_a_file_is_read_as_a_compiler_reads_it(tmp_path: Path) -> None:
    """CR LF is a line end, a CR alone is none, and invalid UTF-8 becomes U+FFFD."""
    path = tmp_path / "arm.c"
    path.write_bytes(b"a\r\nb\rc\n\xff\xc3\xa9")
    assert folder._text(path) == "a\nb\rc\n\ufffdé"


@pytest.mark.parametrize(("size", "refused"), [(50_000_001, True), (1000, False)])
def test_a_file_of_more_than_50_megabytes_is_refused(
    size: int, refused: bool, tmp_path: Path
) -> None:
    path = tmp_path / "arm.c"
    with path.open("wb") as file:
        file.truncate(size)
    if not refused:
        assert folder._text(path) == "\0" * size
        return
    with pytest.raises(DescriptionError, match=r"arm\.c is larger than 50 MB.*generate it again"):
        folder._text(path)


def test_the_largest_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "arm.c"
    path.write_text("12345678")
    monkeypatch.setattr(folder, "LARGEST_FILE", 8)
    assert folder._text(path) == "12345678"
    monkeypatch.setattr(folder, "LARGEST_FILE", 7)
    with pytest.raises(DescriptionError, match="larger than 0 MB"):
        folder._text(path)


def test_a_directory_and_a_missing_file_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "arm.c").mkdir()
    with pytest.raises(DescriptionError, match=r"arm\.c is not a regular file"):
        folder._text(tmp_path / "arm.c")
    with pytest.raises(OSError, match="No such file"):
        folder._text(tmp_path / "arm.h")


# -- options --


def test_missing_options_have_their_defaults() -> None:
    options = folder._program_options("double", {})
    assert options == ProgramOptions(
        "double", jacobian_frame=USUAL.frame, jacobian_order=USUAL.order, effort=NORMAL, form=AUTO
    )
    text = folder._text_options({})
    assert (text.trig, text.checked, text.wrap, text.target, text.batch) == (
        TextOptions.trig,
        False,
        (),
        None,
        False,
    )


def test_options_of_a_manifest_are_taken() -> None:
    chosen = {
        "frame": ["a", "b"],
        "payload": "c",
        "wrench": "d",
        "jacobian_frame": "world",
        "jacobian_order": "linear",
        "contact": ["e"],
        "parameter": ["mass of a"],
        "baumgarte": True,
        "form": "unrolled",
        "checked": True,
        "trig": "inline",
        "wrap": ["cpp17"],
        "target": "host",
    }
    options = folder._program_options("float", chosen)
    assert (options.real, list(options.frame or ()), options.payload) == ("float", ["a", "b"], "c")
    assert (options.wrench, options.jacobian_frame, options.jacobian_order) == (
        "d",
        "world",
        "linear",
    )
    assert (list(options.contact or ()), options.parameters) == (["e"], ("mass of a",))
    assert (options.baumgarte, options.form) == (True, "unrolled")
    text = folder._text_options(chosen)
    assert (text.trig, text.checked, text.wrap, text.target, text.batch) == (
        "inline",
        True,
        ("cpp17",),
        "host",
        False,
    )
    assert folder._text_options({"batch": True}).batch


def test_words_are_texts_lists_of_texts_or_none() -> None:
    assert folder._word("a") == folder._words("a") == "a"
    assert folder._word(None) is folder._words(None) is None
    assert folder._words(["a", "b"]) == ["a", "b"]
    for value in (1, True, {"a": 1}, ["a"]):
        with pytest.raises(TypeError):
            folder._word(value)
    for value in (1, {"a": 1}, ["a", None], ["a", 1]):
        with pytest.raises(TypeError):
            folder._words(value)


def test_a_table_is_neither_empty_nor_a_list() -> None:
    assert folder._table({"a": 1}) == {"a": 1}
    for value in ({}, [], ["a"], None, "a"):
        with pytest.raises(TypeError):
            folder._table(value)


# -- versions --


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.0.1", "0.0.1"),
        ("99.1+local", "99.1+local"),
        (__version__, ""),
        (None, ""),
        (1.5, ""),
        ("one", ""),
        ("1", ""),
        ("1.2\n", ""),
    ],
)
def test_another_version_is_a_version_that_is_not_this_one(version: object, expected: str) -> None:
    assert other_version({"symgen": version}) == expected
    assert other_version({}) == ""


def test_a_long_version_is_shortened() -> None:
    shown = other_version({"symgen": "9." + "1" * 200})
    assert shown.startswith("9.111")
    assert len(shown) < 75


def test_an_unreadable_manifest_names_its_version_if_it_has_another(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text('{"symgen": "0.0.1"}')
    sentence = folder._unread_manifest(tmp_path)
    assert sentence == (
        f"symgen 0.0.1 wrote its manifest.json, which symgen {__version__} cannot read"
    )
    for text in ('{"symgen": "x"}', "[]", "{", "[" * 10**5):
        manifest.write_text(text)
        assert folder._unread_manifest(tmp_path) == (
            "its manifest.json is not one that symgen wrote"
        )


# -- functions and files of a manifest --

METHODS = {"inverse_dynamics": "newton_euler", "mass_matrix": "composite_body"}


def test_a_request_names_a_function_and_its_method_in_the_folder() -> None:
    path = Path("arm")
    for request in ("mass_matrix", "mass_matrix=composite_body"):
        assert folder._requested_method(request, METHODS, path) == ("mass_matrix", "composite_body")
    with pytest.raises(
        ArgumentError,
        match=(
            "arm holds mass_matrix by composite_body, not by udut; verify that, or generate it"
            " again"
        ),
    ):
        folder._requested_method("mass_matrix=udut", METHODS, path)
    with pytest.raises(RequestError, match="function in this folder"):
        folder._requested_method("jacobian", METHODS, path)


def test_files_of_batches_and_of_a_gpu_are_named_by_the_manifest() -> None:
    """Paths are reduced to names in the folder itself."""
    entries = {
        "f": {"batch": "../elsewhere/arm_f_batch.c", "symbol": "../arm_f"},
        "g": {"batch": "arm_g_batch.c", "symbol": "arm_g"},
    }
    assert folder._batch_files("arm", entries, ["f"]) == [
        "arm_batch.h",
        "arm_lanes.h",
        "arm_f_batch.c",
    ]
    assert folder._gpu_files("arm", entries, ["f", "g"]) == [
        "arm_cuda.h",
        "arm_sincos.cuh",
        "arm_f.cuh",
        "arm_f_cuda.cu",
        "arm_g.cuh",
        "arm_g_cuda.cu",
    ]
