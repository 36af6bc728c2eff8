"""Folders and built-in robots of one name: which of the two a word means, and what to tell the user about the other."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from symgen.description.loading import builtin_names, is_text


class Namesake(NamedTuple):
    """A folder in the working directory that has a built-in robot's name, and whether symgen generated it."""

    folder: Path
    generated: bool


def folder_to_judge(robot: str | os.PathLike[str]) -> Path | None:
    """Return the folder that `robot` means where folders are judged as they are; None for a built-in robot or a file.

    A path means itself. A built-in robot's name means the folder of that name in the working directory if symgen generated it.
    """
    if is_text(robot):
        return None
    if isinstance(robot, str) and _is_builtin(robot):
        twin = namesake(robot)
        return (
            twin.folder
            if twin is not None and twin.generated and twin.folder.name == robot
            else None
        )
    path = Path(os.fsdecode(robot))
    return path if _is_folder(path) else None


def namesake(robot: str | os.PathLike[str]) -> Namesake | None:
    """Return the folder that shares the name of the built-in robot `robot`; None for a robot of another kind, or without one.

    A chain such as `planar_point_mass:12` shares the name of `./planar_point_mass:12` and of `./planar_point_mass`.
    """
    if not isinstance(robot, str) or not _is_builtin(robot):
        return None
    for name in dict.fromkeys((robot, robot.partition(":")[0])):
        if _is_folder(Path(name)):
            return Namesake(Path(name), _has_manifest(Path(name)))
    return None


def _is_builtin(robot: str) -> bool:
    return robot.partition(":")[0] in builtin_names()


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False  # reading it will say why


def _has_manifest(folder: Path) -> bool:
    """True for a manifest.json of symgen's. A damaged or unreadable one counts: reading the folder will say what is wrong."""
    path = folder / "manifest.json"
    if not path.is_file():
        return False
    try:
        manifest = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return True
    return isinstance(manifest, dict) and "symgen" in manifest
