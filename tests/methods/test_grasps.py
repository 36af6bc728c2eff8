"""Arms that hold one object, RK Part II: every grasp model, several at once, against the reference and the elimination."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.mechanism.closures import closure, closures
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.riccati import grasps
from symgen.pipeline import derive, loop_closure
from symgen.reference.assembling import closed_states
from symgen.reference.integrate import integrate
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT
from symgen.support.errors import MethodRefusal, RequestError
from symgen.verification.algebra import check_algebra
from symgen.verification.truth import Truth
from symgen.vocabulary.options import ProgramOptions
from tests.shared.grasps import (
    BALL,
    FUNCTION,
    GRASPS,
    X,
    Y,
    Z,
    body,
    chain,
    finger,
    hand,
    loop,
    robot,
    turning,
    two_arms,
)
from tests.shared.robots_for_tests import run

BOX = body("box", "ground", "free", mass=2)


@cache
def carried(kind: str) -> Mechanism:
    """A box at the hand of a gantry, by any closure."""
    names, parts = ["ground", "x", "y", "z", "yaw", "pitch", "hand"], ""
    for k, (joint, axis) in enumerate(
        (
            ("prismatic", X),
            ("prismatic", Y),
            ("prismatic", Z),
            ("revolute", Z),
            ("revolute", Y),
            ("revolute", X),
        )
    ):
        parts += body(names[k + 1], names[k], joint, f", axis = {list(axis)}")
    ends = (
        'link = "box", xyz = [0.1, 0.2, -0.1], rpy = ["pi/2", 0, 0]',
        'link = "hand", xyz = [0.2, 0, 0.1]',
    )
    return robot(
        "carried",
        parts,
        BOX,
        loop(kind, *ends),
        start="z_joint = 0.1, box_joint = [0.1, 0.1, 0.4, -1, 0, 0, 1]",
    )


@cache
def planar() -> Mechanism:
    """Two arms of three links and a box, all in one plane, and a massless rod between it and a lever."""
    arms = chain("left", [-0.5, 0, 0], [Z] * 3, [0.4, 0, 0]) + chain(
        "right", [0.5, 0, 0], [Z] * 3, [0.4, 0, 0]
    )
    hold = loop("weld", 'link = "left", xyz = [0.2, 0, 0]', 'link = "box", xyz = [-0.1, 0, 0]')
    hold += loop("revolute", 'link = "box", xyz = [0.1, 0, 0]', 'link = "right", xyz = [0.2, 0, 0]')
    hold += loop("distance", 'link = "lever", xyz = [0.4, 0, 0]', 'link = "box", xyz = [0, 0.1, 0]')
    arms += turning("lever", "ground", Z, [0, 0.5, 0])
    bend = "lever_joint = 1.57, left0_joint = 2, left1_joint = -1.2, left_joint = -0.8, "
    bend += "right0_joint = 1.1, right1_joint = 1.2, right_joint = 0.7"
    return robot(
        "planar",
        arms,
        body("box", "ground", "planar", mass=2),
        hold,
        gravity=(0, -9.81, 0),
        start=f"{bend}, box_joint = [0, 0.6, 0]",
    )


@cache
def mixed() -> Mechanism:
    """A box in a soft finger and against a point without friction."""
    arms = finger("soft", 0, (X, Y, Y, Z)) + turning("flat", "ground", Y, [-0.3, 0, 0])
    hold = loop(
        "soft_finger", 'link = "box", xyz = [0.1, 0, 0]', 'link = "soft", xyz = [0, 0, 0.3]'
    )
    hold += loop(
        "frictionless_point",
        'link = "box", xyz = [-0.1, 0, 0]',
        'link = "flat", xyz = [0, 0, 1.05]',
    )
    start = "soft1_joint = -0.85, soft2_joint = 0.9, box_joint = [0, 0, 1.05, 0, 0, 0, 1]"
    return robot("mixed", arms, BOX, hold, start=start)


ROBOTS: dict[str, Callable[[], Mechanism]] = {
    "planar": planar,
    "hand": hand,
    "mixed": mixed,
    "two_arms": two_arms,
}


def algebra(made: Mechanism, method: str = GRASPS, states: int = 1) -> bool:
    program = derive.derive(made, FUNCTION, method, ProgramOptions())
    return check_algebra(program, Truth(made, states), method).passed


@pytest.mark.parametrize("kind", ["cylindrical", "prismatic", "universal"])
def test_closures_that_are_no_grasp_of_a_finger(kind: str) -> None:
    assert algebra(carried(kind))


@pytest.mark.parametrize("name", ROBOTS)
def test_several_arms(name: str) -> None:
    assert algebra(ROBOTS[name]())


def test_every_closure_is_tried() -> None:
    tried = {loop.kind for made in ROBOTS.values() for loop in made().loops} | {
        "cylindrical",
        "prismatic",
        "universal",
    }
    assert tried == set(closures()) - {"spherical"}
    assert closure("spherical").rows == closure("point").rows


@cache
def state() -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """The hand where it is closed, some torques, and what they cause."""
    made = hand()
    at = {
        name: one.astype(float)
        for name, one in closed_states(made, loop_closure.assembly(made), 3).items()
    }
    tau = np.random.default_rng(1).uniform(-1, 1, at["v"].shape)
    found = run(symgen.program(made, FUNCTION, GRASPS), {**at, "tau": tau})
    return {**at, "tau": tau}, found["a"], found["lambda"]


def test_the_ball_gains_the_momentum_that_the_fingers_give() -> None:
    """Three forces at three points, and its weight; λ of each is in the axes of the loop's first frame."""
    at, a, forces = state()
    for q, v, tau, found, push in zip(at["q"], at["v"], at["tau"], a, forces, strict=True):
        R = turned(q[-4:])
        omega, force, moment = v[-3:], R @ tau[-6:-3], R @ tau[-3:]
        for k, grasp_loop in enumerate(hand().loops):
            one = push[3 * k : 3 * k + 3]
            if grasp_loop.first.body == len(hand().joints) - 1:  # the first frame is the ball's
                on_ball, pull = grasp_loop.first, -R @ one
            else:
                on_ball = grasp_loop.second
                pull = orientation(grasp_loop.first.body, q) @ one
            lever = R @ np.array([float(x) for x in on_ball.pose[0].xyz])
            force, moment = force + pull, moment + np.cross(lever, pull)
        weight = 2 * np.array([0.3, -2, -9.81])
        moved = R @ (found[-6:-3] + np.cross(omega, v[-6:-3]))
        assert np.abs(2 * moved - force - weight).max() < 1e-9
        assert np.abs(0.02 * R @ found[-3:] - moment).max() < 1e-9


def turned(quaternion: np.ndarray) -> np.ndarray:
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def orientation(of: int, q: np.ndarray) -> np.ndarray:
    frame = next(one.name for one in hand().frames if one.body == of)
    return np.asarray(Reference(hand(), frame=frame).forward_kinematics(q)[0], dtype=float)


def test_grasps_take_no_power() -> None:
    """What is held gains what the torques do, and nothing else: d(T + U)/dt = tau · v along q ⊕ (v + a t/2) t."""
    at, a, _ = state()
    kinetic, potential = (
        symgen.program(hand(), name) for name in ("kinetic_energy", "potential_energy")
    )
    motion, h = Motion(hand(), FLOAT), 1e-5

    def energy(t: float) -> np.ndarray:
        q = np.array(
            [
                integrate(motion, one, v + acceleration * t / 2, np.array(t))
                for one, v, acceleration in zip(at["q"], at["v"], a, strict=True)
            ]
        )
        given = {"q": q, "v": at["v"] + a * t}
        return run(kinetic, given)["T"] + run(potential, {"q": q})["U"]

    gained = (energy(h) - energy(-h)) / (2 * h)
    assert np.abs(gained - (at["tau"] * at["v"]).sum(axis=-1)).max() < 1e-6


def test_the_elimination_says_the_same() -> None:
    at, a, forces = state()
    other = run(symgen.program(hand(), FUNCTION, "riccati"), at)
    for found, wanted in ((a, other["a"]), (forces, other["lambda"])):
        assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()


def test_drives_and_loads_are_felt() -> None:
    """On the arms, and on the box as well."""
    drive = replace(planar().joints[0].drive, armature=Fraction(1, 10), damping=Fraction(1, 5))
    driven = replace(
        planar(), joints=tuple(replace(joint, drive=drive) for joint in planar().joints)
    )
    asked = [f"{FUNCTION}={GRASPS}"]
    assert symgen.verify(
        driven, asked, 1, payload="box", wrench=["box", "left0"], compiled=False
    ).passed


PLANTED: dict[str, Callable[[Any], Any]] = {
    "_grasp_load": lambda real: lambda *given: tuple(-part for part in real(*given)),
    "_object_rows": lambda real: lambda *given: [[-x for x in row] for row in real(*given)],
    "_row_accelerations": lambda real: lambda *given: [-x for x in real(*given)],
    "_object_bias_acceleration": lambda real: lambda linkage, body: (linkage.zeros, linkage.zeros),
    "mobility_step": lambda real: (
        lambda *given: replace(real(*given), C=real(*given).C + real(*given).C)
    ),
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_error_is_seen(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grasps, what, PLANTED[what](getattr(grasps, what)))
    assert not algebra(planar())


def test_it_is_taken_only_where_it_is_named() -> None:
    assert symgen.program(planar(), FUNCTION).method != GRASPS
    assert symgen.program(planar(), FUNCTION, GRASPS).method == GRASPS


def test_what_is_no_such_robot_is_refused() -> None:
    says = "riccati:grasps is for arms that hold one object, and in 'elsewhere' no body on the base without children"
    arm = chain("arm", [0, 0, 0], (Z, Y, Y), [0.2, 0, 0.1])
    for end in ("arm1", "arm0"):
        made = robot(
            "elsewhere", arm, loop("point", f'link = "{end}"', 'link = "ground", xyz = [0, 0, 0.1]')
        )
        with pytest.raises(RequestError, match=says):
            symgen.program(made, FUNCTION, GRASPS)
    twice = loop("point", 'link = "ball"', 'link = "arm"') + loop(
        "point", 'link = "ball"', 'link = "branch"', "other"
    )
    both = robot("elsewhere", arm, turning("branch", "arm0", X, [0, 0, 0.1]), BALL, twice)
    with pytest.raises(RequestError, match=says):
        symgen.program(both, FUNCTION, GRASPS)


def test_an_arm_that_gives_way_too_little_is_refused_by_the_name_of_its_loop() -> None:
    hold = loop("point", 'link = "ball"', 'link = "arm", xyz = [0.3, 0, 0]')
    made = robot("stiff", turning("arm", "ground", Y, [0, 0, 0]), BALL, hold)
    with pytest.raises(
        MethodRefusal,
        match=r"the arm of loop 'point' is singular in the assembled pose \(rank 1 of 3\); use",
    ):
        symgen.program(made, FUNCTION, GRASPS)
    assert algebra(made, "riccati")
