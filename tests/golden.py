"""The committed C in `generated/`: what symgen makes of its built-in arms, so that a change of it is seen in review.

python -m tests.golden          rewrites generated/
python -m tests.golden DIR      writes the same into DIR
"""

from __future__ import annotations

import sys
from pathlib import Path

import symgen

FOLDER = Path(__file__).resolve().parent.parent / "generated"
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


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
