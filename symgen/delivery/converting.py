"""Conversion of a robot to a description of another format, written whole or not at all."""

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
"""Bytes at the start of a file that contain the mark of an earlier conversion."""


@validated
def convert(
    robot: Mechanism | str | PathLike[str], out: str | PathLike[str], to: str | None = None
) -> tuple[str, ...]:
    """Write a robot to the file `out` as TOML, URDF or MJCF, by its suffix or by `to` ('toml',
    'urdf', 'mjcf').

    Return one sentence for everything that the format cannot express; TOML expresses everything.
    The same robot gives the same bytes.

    Raises RequestError, and changes nothing, if `out` has no known suffix, is a file that symgen
    did not convert, or if a joint cannot be expressed in the format. Raises DescriptionError if
    `robot` cannot be read.
    """
    of_format = writer_of(out, to)
    path = target(out, None if isinstance(robot, Mechanism) else robot)
    written: Written = of_format.write(robot if isinstance(robot, Mechanism) else load(robot))
    write_whole(path, written.text)
    return written.left_out


def writer_of(out: str | PathLike[str], to: str | None = None) -> Any:
    """Return the writer module that `to` names, or that the suffix of `out` selects."""
    if to is not None:
        return writers()[nearest(to, writers(), "format to convert to")]
    suffix = Path(out).suffix.lower()
    if suffix not in suffixes():
        suffix_phrase = f"a file of suffix '{suffix}'" if suffix else "a name without suffix"
        endings = ", ".join(sorted(suffixes()))
        raise RequestError(
            f"{os.fspath(out)}: no format goes with {suffix_phrase}; give a name that ends in"
            f" {endings}, or say --to {'|'.join(writers())}"
        )
    return suffixes()[suffix]


def target(out: str | PathLike[str], robot: str | PathLike[str] | None = None) -> Path:
    """Return the path to write. It must be free or hold an earlier conversion, and must not be the
    file that is read.
    """
    path = Path(out)
    try:
        if not path.parent.is_dir():
            raise RequestError(f"{path}: the folder {path.parent} does not exist; make it first")
        read_too = (
            robot is not None and not is_text(robot) and os.path.exists(robot) and path.exists()
        )
        if robot is not None and read_too and os.path.samefile(path, robot):
            raise RequestError(f"{path} is what is to be converted; name another file")
        if path.is_dir():
            raise RequestError(f"{path} is a folder; name a file in it")
        if path.is_file() and not _converted(path):
            raise RequestError(
                f"{path} exists, and symgen did not convert it; remove it, or name another file"
            )
    except (OSError, ValueError) as error:
        raise _refused(path, error) from None
    return path


def write_whole(path: Path, text: str) -> None:
    """Write the text to `path`, whole or not at all."""
    try:
        files.write_file(path, text.encode())
    except (OSError, ValueError) as error:
        raise _refused(path, error) from None


def _converted(path: Path) -> bool:
    """True if a file is an earlier conversion."""
    with path.open("rb") as file:
        return _MARK in file.read(_HEAD)


def _refused(path: Path, error: Exception) -> RequestError:
    """Return the error for a path that cannot be written."""
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return RequestError(f"{path} cannot be written: {why}; nothing was changed, name another file")
