"""M of one robot from its MJCF and from its URDF, and the part of the difference that the files'
numbers cause.

M is compared as both files declare it, and again with the URDF's masses and moments in the bodies
of the MJCF, link by link. The second difference is caused by the placement of the joints alone.

    python -m tests.judges.mujoco_pairs build/judges/unpacked
        prints the table
    python -m tests.judges.mujoco_pairs build/judges/unpacked --write
        rewrites tests/judges/mujoco_pairs.md
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.reference.states import draw_states
from tests.judges.example_robot_data import STATES, _rounded
from tests.shared.descriptions import public_urdf

TABLE = Path(__file__).with_name("mujoco_pairs.md")
ROBOSUITE = "robosuite/models/assets"
BOUND = 1e-5
"""Bound of the difference with equal masses: some files print rotations with six digits."""


@dataclass(frozen=True)
class Pair:
    """A robot in two files below the folders; a URDF by its bare name is of example-robot-data."""

    robot: str
    mjcf: str
    urdf: str
    lock: tuple[str, ...] = ()
    alike: bool = True
    """True if the joints are placed alike in both files."""


PAIRS = (
    Pair(
        "Panda",
        f"{ROBOSUITE}/robots/panda/robot.xml",
        f"{ROBOSUITE}/bullet_data/panda_description/urdf/panda_arm.urdf",
    ),
    Pair(
        "Panda",
        f"{ROBOSUITE}/robots/panda/robot.xml",
        "pybullet_data/franka_panda/panda.urdf",
        ("panda_finger_joint1", "panda_finger_joint2"),
    ),
    Pair(
        "Sawyer",
        f"{ROBOSUITE}/robots/sawyer/robot.xml",
        f"{ROBOSUITE}/bullet_data/sawyer_description/urdf/sawyer_arm.urdf",
    ),
    Pair("xArm7", f"{ROBOSUITE}/robots/xarm7/robot.xml", "xarm7.urdf"),
    Pair(
        "Baxter",
        f"{ROBOSUITE}/robots/baxter/robot.xml",
        f"{ROBOSUITE}/bullet_data/baxter_description/urdf/baxter_arm.urdf",
        ("head_pan",),
    ),
    Pair("UR5e, UR5", f"{ROBOSUITE}/robots/ur5e/robot.xml", "ur5_robot.urdf", alike=False),
    Pair(
        "iiwa",
        f"{ROBOSUITE}/robots/iiwa/robot.xml",
        "pybullet_data/kuka_iiwa/model.urdf",
        alike=False,
    ),
)


def found(folders: list[Path], name: str) -> Path:
    """The file of that path below one of the folders. FileNotFoundError: there is none."""
    paths = (
        public_urdf(name)
        if "/" not in name
        else next((f / name for f in folders if (f / name).exists()), None)
    )
    if paths is None:
        raise FileNotFoundError(name)
    return paths


def masses(mechanism: Mechanism, states: dict[str, Array]) -> Array:
    return np.asarray(
        Reference(mechanism).evaluate("mass_matrix", {"q": states["q"]})["M"], dtype=float
    )


def away(values: Array, expected: Array) -> float:
    return float(np.abs(values - expected).max() / np.abs(expected).max())


def row(pair: Pair, folders: list[Path]) -> tuple[str, bool]:
    """Return a line of the table, and True if the remaining difference is within the bound."""
    ours = symgen.load(found(folders, pair.mjcf), drives="off")
    theirs = symgen.load(found(folders, pair.urdf), drives="off", lock=pair.lock)
    states = {"q": draw_states(ours, STATES, seed=7)["q"].astype(float)}
    errors_by_state, expected = masses(ours, states), masses(theirs, states)
    lent = replace(
        ours,
        bodies=tuple(
            replace(body, parts=from_.parts)
            for body, from_ in zip(ours.bodies, theirs.bodies, strict=True)
        ),
    )
    remaining = away(masses(lent, states), expected)
    weights = [
        (joint.name, float(a.mass), float(b.mass))
        for joint, a, b in zip(ours.joints, ours.bodies, theirs.bodies, strict=True)
    ]
    differ = [f"{name} {a:.4g} and {b:.4g}" for name, a, b in weights if abs(a - b) > 1e-6 * b]
    centres = max(
        float(np.linalg.norm(a - b)) for a, b in zip(centre(ours), centre(theirs), strict=True)
    )
    differences = (
        ", ".join(differ[:4]) + (f" and {len(differ) - 4} more" if len(differ) > 4 else "")
        or "none"
    )
    file = pair.urdf.rsplit("/", 1)[-1]
    cells = [
        pair.robot,
        f"`{file}`",
        str(ours.nv),
        f"{away(errors_by_state, expected):.1e}",
        differences,
        f"{1000 * centres:.1f}",
        _rounded(remaining) if pair.alike else f"{remaining:.1e}: the joints stand elsewhere",
    ]
    return f"| {' | '.join(cells)} |", remaining <= BOUND or not pair.alike


def centre(mechanism: Mechanism) -> list[Array]:
    """The centre of mass of every body, in its joint's frame (m)."""
    reference, totals = Reference(mechanism), []
    for i, body in enumerate(mechanism.bodies):
        parts_of_body = [part for part in reference.parts() if part.body == i]
        first = sum(
            (float(p.mass) * np.asarray(p.centre, dtype=float) for p in parts_of_body), np.zeros(3)
        )
        totals.append(first / (float(body.mass) or 1.0))
    return totals


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="the same robot from MJCF and URDF")
    parser.add_argument("folders", nargs="+", type=Path, help="where unpacked wheels are")
    parser.add_argument("--write", action="store_true", help="rewrite the committed table")
    options = parser.parse_args(arguments)
    rows = [row(pair, options.folders) for pair in PAIRS]
    text = "\n".join(
        [
            "# One robot from two files",
            "",
            (
                "Written by `make judge` (`python -m tests.judges.mujoco_pairs"
                " build/judges/unpacked --write`); not edited by hand."
            ),
            (
                "The MJCF is robosuite's; the URDF is robosuite's own, PyBullet's or that of"
                " example-robot-data. Drives are off. *M* is"
            ),
            (
                f"the largest relative difference of the mass matrix over {STATES} states; *left*"
                " is the same with the URDF's masses,"
            ),
            (
                "centres and moments in the bodies of the MJCF, so that the two readers differ by"
                " no more than that. Its bound is"
            ),
            (
                f"{BOUND:.0e} where both files have the joints at the same places. No file of the"
                " wheels has a UR5e as URDF or a Go1 as"
            ),
            "MJCF.",
            "",
            (
                "| robot | URDF | joints | M | masses that differ (kg, MJCF and URDF) | centres"
                " differ by up to (mm) | left |"
            ),
            "|---|---|---|---|---|---|---|",
            *(line for line, _ in rows),
            "",
        ]
    )
    if options.write:
        TABLE.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0 if all(good for _, good in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
