"""Built-in robots, and folders in the working directory that have their names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

ROBOTS = Path(__file__).parent / "robots"
"""The folder of the built-in robots, one file each."""
KIND = "namesake"
"""The kind of note about a folder that has the name of the built-in robot which was read."""


class Namesake(NamedTuple):
    """A folder in the working directory that has a built-in robot's name, and whether symgen generated it."""

    folder: Path
    generated: bool

    def sentence(self, robot: str) -> str:
        """The sentence that `robot` means the built-in robot, and what the folder is."""
        instead = (
            f"./{self.folder} names the folder"
            if self.generated
            else f"the folder ./{self.folder} is not looked at, since it holds no manifest.json of symgen's"
        )
        return f"'{robot}' is the built-in robot; {instead}"


def builtin_names() -> frozenset[str]:
    """Return the names of the robots inside the package."""
    return frozenset(path.stem for path in ROBOTS.glob("*.toml"))


def is_builtin(robot: str) -> bool:
    """True if `robot` is a built-in name, or a chain's with a number of links behind it."""
    return robot.partition(":")[0] in builtin_names()


def namesake(robot: str | os.PathLike[str]) -> Namesake | None:
    """Return the folder that shares the name of the built-in robot `robot`; None for a robot of another kind, or without one.

    A chain such as `planar_point_mass:12` shares the name of `./planar_point_mass:12` and of `./planar_point_mass`.
    """
    if not isinstance(robot, str) or not is_builtin(robot):
        return None
    for name in dict.fromkeys((robot, robot.partition(":")[0])):
        if is_folder(Path(name)):
            return Namesake(Path(name), _has_manifest(Path(name)))
    return None


def is_folder(path: Path) -> bool:
    """True for a folder; False for what is none and for what cannot be looked up."""
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
