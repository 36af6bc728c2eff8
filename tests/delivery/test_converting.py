"""Files that a conversion to another format writes, and those that it does not replace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symgen.delivery import converting
from symgen.support.errors import RequestError


def test_a_conversion_is_written_by_the_suffix_or_by_the_format() -> None:
    by_format = {name: converting.writer_of("x", name) for name in ("toml", "urdf", "mjcf")}
    assert converting.writer_of("arm.URDF") is by_format["urdf"]
    assert converting.writer_of("arm.toml") is by_format["toml"]
    assert converting.writer_of("arm.toml", "mjcf") is by_format["mjcf"]
    with pytest.raises(
        RequestError, match=r"arm\.c: no format goes with a file of suffix '\.c'; give"
    ):
        converting.writer_of("arm.c")
    with pytest.raises(RequestError, match="arm: no format goes with a name without suffix; give"):
        converting.writer_of("arm")


@pytest.mark.parametrize(
    ("prepare", "name", "message"),
    [
        (
            lambda folder: None,
            "absent/arm.toml",
            "the folder .*absent does not exist; make it first",
        ),
        (lambda folder: None, "arm.urdf", "is what is to be converted; name another file"),
        (lambda folder: (folder / "x").mkdir(), "x", "is a folder; name a file in it"),
        (
            lambda folder: (folder / "x").write_text("mine"),
            "x",
            "exists, and symgen did not convert it; remove it, or name another file",
        ),
        (
            lambda folder: (folder / "x").write_text(400 * " " + "Converted by symgen"),
            "x",
            "exists, and symgen did not convert it",
        ),
    ],
)
def test_a_conversion_replaces_only_an_earlier_one(
    prepare: Callable[[Path], Any], name: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "arm.urdf").write_text("<robot/>")
    prepare(tmp_path)
    with pytest.raises(RequestError, match=message):
        converting.target(tmp_path / name, tmp_path / "arm.urdf")


def test_an_earlier_conversion_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text("<robot/>")
    (tmp_path / "x").write_text("<!-- Converted by symgen -->")
    for name, robot in (("x", tmp_path / "arm.urdf"), ("x", None), ("new", "panda")):
        assert converting.target(tmp_path / name, robot) == tmp_path / name


def test_a_path_that_cannot_be_written_is_refused_in_one_sentence(tmp_path: Path) -> None:
    converting.write_whole(tmp_path / "x", "text")
    assert (tmp_path / "x").read_text() == "text"
    for name in ("\0", f"{300 * 'n'}"):
        with pytest.raises(RequestError, match=r"cannot be written: .+; nothing was changed, name"):
            converting.write_whole(tmp_path / name, "text")
