"""Built-in robots, and folders in the working directory that have their names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

ROBOTS = Path(__file__).parent / "robots"
"""Folder of the built-in robots, one file each."""
KIND = "namesake"
"""Kind of the note about a folder with the name of the built-in robot that was read."""


class Namesake(NamedTuple):
    """A folder in the working directory with a built-in robot's name; `generated` is True if symgen
    generated it.
    """

    folder: Path
    generated: bool

    def sentence(self, robot: str) -> str:
        """Return the sentence that `robot` means the built-in robot, and how to name the folder."""
        folder_text = (
            f"./{self.folder} names the folder"
            if self.generated
            else (
                f"the folder ./{self.folder} is not used: it has no manifest.json written by symgen"
            )
        )
        return f"'{robot}' is the built-in robot; {folder_text}"


def builtin_names() -> frozenset[str]:
    """Return the names of the robots in the package."""
    return frozenset(path.stem for path in ROBOTS.glob("*.toml"))


def is_builtin(robot: str) -> bool:
    """True if `robot` is a built-in name, or the name of a chain followed by a number of links."""
    return robot.partition(":")[0] in builtin_names()


def namesake(robot: str | os.PathLike[str]) -> Namesake | None:
    """Return the folder with the name of the built-in robot `robot`; None without such a folder or
    for another robot.

    A chain such as `planar_point_mass:12` shares the names of `./planar_point_mass:12` and
    `./planar_point_mass`.
    """
    if not isinstance(robot, str) or not is_builtin(robot):
        return None
    for name in dict.fromkeys((robot, robot.partition(":")[0])):
        if is_folder(Path(name)):
            return Namesake(Path(name), _has_manifest(Path(name)))
    return None


def is_folder(path: Path) -> bool:
    """True for a folder; False otherwise, also if the path cannot be examined."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False  # reading it will say why


def _has_manifest(folder: Path) -> bool:
    """True if the folder has a manifest.json of symgen. A damaged one counts: reading the folder
    reports the damage.
    """
    path = folder / "manifest.json"
    if not path.is_file():
        return False
    try:
        manifest = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return True
    return isinstance(manifest, dict) and "symgen" in manifest
