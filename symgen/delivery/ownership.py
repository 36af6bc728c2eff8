"""What in a folder symgen wrote, and what is the user's.

A folder that symgen wrote has a manifest.json, which names its files, or is one of functions alone (`marks`).
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from symgen.description import marks
from symgen.support import files as disk
from symgen.support.errors import RequestError


@dataclass(frozen=True)
class Standing:
    """What stands at a place: the names that symgen gave (`own`), and the entries that are the user's (`foreign`)."""

    own: frozenset[str] = frozenset()
    foreign: tuple[str, ...] = ()


def standing(folder: Path, files: Collection[str], robot: str) -> Standing:
    """What stands in `folder` before `files` of `robot` replace symgen's. RequestError where symgen did not write the folder.

    Also where a file of the user's own stands under one of the names. Raises OSError where the folder cannot be listed.
    """
    if not disk.there(folder):
        return Standing()
    if not folder.is_dir():
        raise RequestError(
            f"{folder} is a file, not a folder; choose a folder that does not exist yet"
        )
    if not os.listdir(folder):
        return Standing()
    own = frozenset(_written(folder, robot, alone="manifest.json" not in files))
    foreign = tuple(name for name, mine in entries(folder, own) if not mine)
    clash = next(
        (
            name
            for name in foreign
            if name in files or any(file.startswith(f"{name}/") for file in files)
        ),
        None,
    )
    if clash is not None:
        raise RequestError(
            f"{folder / clash} was not written by symgen and would be replaced; move it away"
        )
    return Standing(own, foreign)


def entries(folder: Path, own: Collection[str]) -> Iterator[tuple[str, bool]]:
    """The entries of a folder, each with whether it is symgen's. Of a folder that holds files of `own`, the entries of that.

    A folder is never symgen's, whatever its name: a user made it.
    """
    shared = shares(own)
    for name in sorted(os.listdir(folder)):
        inside = name in shared and _is_folder(folder / name)
        for entry in (
            sorted(f"{name}/{child}" for child in os.listdir(folder / name)) if inside else [name]
        ):
            yield entry, entry in own and not _is_folder(folder / entry)


def shares(own: Collection[str]) -> set[str]:
    """The folders in which files of `own` stand."""
    return {name.partition("/")[0] for name in own if "/" in name}


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _written(folder: Path, robot: str, alone: bool) -> set[str]:
    """The entries of the folder that symgen wrote; RequestError where that cannot be decided.

    Functions of other robots stay. Where functions `alone` are to be written, they may be there too.
    """
    strange = RequestError(
        f"{folder} holds files that symgen did not write; choose another folder, or an empty one"
    )
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return {str(name) for name in manifest["files"]} if manifest["symgen"] else set()
    except FileNotFoundError:
        found = marks.functions_alone(folder)
    except (IsADirectoryError, ValueError, TypeError, KeyError):
        raise strange from None
    if not found:
        raise strange
    if robot not in found and not alone:
        raise RequestError(
            f"{folder} holds the functions of '{min(found)}' alone; choose another folder, or an empty one"
        )
    return found.get(robot, set())
