"""Planar chains of point masses, and exact answers about them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

import flint
import numpy as np
from flint import arb

import symgen
from symgen import cli
from symgen.ir.loops import LoopProgram
from symgen.ir.loops import evaluate as run
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.loops import recursion
from symgen.pipeline.loops.planar_segments import build_parts as segmented
from symgen.reference import planar_chain
from tests.shared.folders import selftest
from tests.shared.looped_robots import NUMBERS
from tests.shared.robots_for_tests import point_mass_arm, pose


def bent(n: int) -> Mechanism:
    """Masses and links that all differ, the ends of links anywhere in the plane."""
    random, base = Random(n), point_mass_arm(*[1] * n)
    poses = [
        pose((Fraction(random.randint(-9, 9), 10), Fraction(random.randint(1, 9), 8), Fraction(0)))
        for _ in range(n)
    ]
    bodies = tuple(
        replace(
            body, parts=(replace(body.parts[0], pose=end, mass=Fraction(random.randint(1, 40), 9)),)
        )
        for body, end in zip(base.bodies, poses, strict=True)
    )
    joints = (
        base.joints[0],
        *(replace(joint, pose=end) for joint, end in zip(base.joints[1:], poses, strict=False)),
    )
    return replace(base, name="bent", joints=joints, bodies=bodies)


ROBOTS = {
    "equal": lambda: point_mass_arm(*[2] * 35),
    "masses": lambda: point_mass_arm(*[1 + i % 5 for i in range(64)]),
    "bent": lambda: bent(100),
}


@cache
def robot(name: str) -> Mechanism:
    return ROBOTS[name]()


@cache
def chain_in_parts(name: str, segments: int) -> LoopProgram:
    return segmented(robot(name), segments)


@cache
def state_of(n: int) -> dict[str, list[float]]:
    pick = Random(n)
    return {name: [pick.uniform(-2, 2) for _ in range(n)] for name in ("q", "b")}


@cache
def exact_solution(name: str) -> list[arb]:
    with flint.ctx.workdps(200):
        return run(
            recursion(robot(name), "mass_matrix_solve", "fixman:planar"),
            exactly(len(robot(name).joints)),
            NUMBERS,
        )["x"]


def exactly(n: int) -> dict[str, list[arb]]:
    return {name: [arb(x) for x in values] for name, values in state_of(n).items()}


def in_two_groups(folder: Path, method: str) -> None:
    """Check `generate` and the solver on a chain of 64 in two groups, as longer chains have them.

    x is compared with the solution by continuants.
    """
    n = 64
    manifest = symgen.generate(
        f"planar_point_mass:{n}", folder, [f"mass_matrix_solve={method}"], name="chain"
    )
    assert manifest["functions"]["mass_matrix_solve"]["method"] == method
    assert "divides the chain into 16 segments" in (folder / "README.md").read_text()
    assert selftest(folder).stdout.endswith("1 passed, 0 failed\n")
    assert cli.main(["verify", str(folder), "--states", "1"]) == 0
    q, b = (np.array(state_of(n)[name]) for name in ("q", "b"))
    x = symgen.compile(f"planar_point_mass:{n}", [f"mass_matrix_solve={method}"]).mass_matrix_solve(
        q, b
    )
    exact = planar_chain.solution(q, b)
    assert max(abs(x - exact)) <= 1e-14 * max(abs(exact))
