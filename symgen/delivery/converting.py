"""A robot written as a description of another format, whole or not at all, and what that format could not say."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any

from symgen.description.arguments import validated
from symgen.description.loading import is_text, load
from symgen.description.writers import Written, suffixes, writers
from symgen.mechanism.mechanism import Mechanism
from symgen.support import files
from symgen.support.errors import RequestError
from symgen.vocabulary.names import nearest

STDOUT = "-"
_MARK = b"Converted by symgen"
_HEAD = 400
"""Bytes at the start of a file in which the mark of an earlier conversion stands."""


@validated
def convert(
    robot: Mechanism | str | PathLike[str], out: str | PathLike[str], to: str | None = None
) -> tuple[str, ...]:
    """Write a robot to the file `out`: as TOML, URDF or MJCF by its suffix, or as `to` ('toml', 'urdf', 'mjcf') says.

    Returns what the format has no words for, or says otherwise, a sentence each; of TOML nothing. The same robot gives the same
    bytes. Raises RequestError, and leaves what stands there, where `out` is no such file or one that symgen did not convert, or
    where a joint has no word in the format; DescriptionError where `robot` cannot be read.
    """
    of_format = chosen(out, to)
    place = target(out, None if isinstance(robot, Mechanism) else robot)
    written: Written = of_format.write(robot if isinstance(robot, Mechanism) else load(robot))
    put(place, written.text)
    return written.left_out


def chosen(out: str | PathLike[str], to: str | None = None) -> Any:
    """The writer module that `to` names, or that the suffix of `out` asks for."""
    if to is not None:
        return writers()[nearest(to, writers(), "format to convert to")]
    suffix = Path(out).suffix.lower()
    if suffix not in suffixes():
        what = f"a file of suffix '{suffix}'" if suffix else "a name without suffix"
        known = ", ".join(sorted(suffixes()))
        raise RequestError(
            f"{os.fspath(out)}: no format goes with {what}; give a name that ends in {known}, or say --to "
            f"{'|'.join(writers())}"
        )
    return suffixes()[suffix]


def target(out: str | PathLike[str], robot: str | PathLike[str] | None = None) -> Path:
    """The path to be written, which must be free or hold an earlier conversion, and must not be what is read."""
    place = Path(out)
    try:
        if not place.parent.is_dir():
            raise RequestError(f"{place}: the folder {place.parent} does not exist; make it first")
        read_too = (
            robot is not None and not is_text(robot) and os.path.exists(robot) and place.exists()
        )
        if robot is not None and read_too and os.path.samefile(place, robot):
            raise RequestError(f"{place} is what is to be converted; name another file")
        if place.is_dir():
            raise RequestError(f"{place} is a folder; name a file in it")
        if place.is_file() and not _converted(place):
            raise RequestError(
                f"{place} exists, and symgen did not convert it; remove it, or name another file"
            )
    except (OSError, ValueError) as error:
        raise _refused(place, error) from None
    return place


def put(place: Path, text: str) -> None:
    """The text at `place`, whole or not at all."""
    try:
        files.write_file(place, text.encode())
    except (OSError, ValueError) as error:
        raise _refused(place, error) from None


def _converted(place: Path) -> bool:
    with place.open("rb") as file:
        return _MARK in file.read(_HEAD)


def _refused(place: Path, error: Exception) -> RequestError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return RequestError(f"{place} cannot be written: {why}; nothing was changed, name another file")
