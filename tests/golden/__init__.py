"""The committed C of the built-in arms in `generated/`: a review sees every change of it. `table`
has hashes of the outputs for many robots and options.
"""

from __future__ import annotations

from pathlib import Path

import symgen

FOLDER = Path(__file__).resolve().parents[2] / "generated"
ROBOTS = ("panda", "ur5", "puma560", "scara", "planar_arm", "planar_point_mass:6")


def write(folder: Path) -> None:
    """One folder of C a robot, every function."""
    for robot in ROBOTS:
        mechanism = symgen.load(robot)
        symgen.generate(mechanism, folder / mechanism.name)


def texts(folder: Path) -> dict[str, bytes]:
    """Every file below `folder` by its path in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
