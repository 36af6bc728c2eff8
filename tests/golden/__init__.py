"""The committed C in `generated/`: what symgen makes of its built-in arms, so that a change of it is seen in review.

`table` beside it has hashes of what a user gets from many robots with many options.
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
