"""`riccati:grasps`, arms that hold one object (RK Part II): every closure, several arms, reference
and elimination.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.mechanism.closures import closure, closures
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.riccati import grasps
from symgen.pipeline import derive, loop_closure
from symgen.reference import closing
from symgen.reference.assembling import closed_states
from symgen.reference.integrate import integrate
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, arb
from symgen.support.errors import MethodRefusal, RequestError
from symgen.verification.algebra import check_algebra
from symgen.verification.exact_results import ExactResults
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
from tests.shared.inspected import numbers
from tests.shared.robots_for_tests import run

BOX = body("box", "ground", "free", mass=2)


@cache
def gantry_with_box(kind: str) -> Mechanism:
    """Return a gantry whose hand holds a box by a closure of this kind."""
    names, links_text = ["ground", "x", "y", "z", "yaw", "pitch", "hand"], ""
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
        links_text += body(names[k + 1], names[k], joint, f", axis = {list(axis)}")
    loop_ends = (
        'link = "box", xyz = [0.1, 0.2, -0.1], rpy = ["pi/2", 0, 0]',
        'link = "hand", xyz = [0.2, 0, 0.1]',
    )
    return robot(
        "carried",
        links_text,
        BOX,
        loop(kind, *loop_ends),
        start="z_joint = 0.1, box_joint = [0.1, 0.1, 0.4, -1, 0, 0, 1]",
    )


@cache
def planar() -> Mechanism:
    """Return two planar arms that hold a box, and a lever tied to the box by a massless rod."""
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
    """Return a box between a soft finger and a frictionless point."""
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


def passes_algebra(mechanism: Mechanism, method: str = GRASPS, states: int = 1) -> bool:
    program = derive.derive(mechanism, FUNCTION, method, ProgramOptions())
    return check_algebra(program, ExactResults(mechanism, states), method).passed


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cylindrical", "prismatic", "universal"])
def test_grasps_by_other_closures_equal_the_reference(kind: str) -> None:
    assert passes_algebra(gantry_with_box(kind))


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_grasps_by_several_arms_equal_the_reference(name: str) -> None:
    assert passes_algebra(ROBOTS[name]())


def test_the_robots_of_this_file_have_every_closure() -> None:
    tried = {loop.kind for make_robot in ROBOTS.values() for loop in make_robot().loops} | {
        "cylindrical",
        "prismatic",
        "universal",
    }
    assert tried == set(closures()) - {"spherical"}
    assert closure("spherical").rows == closure("point").rows


@cache
def state() -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Return closed states of the hand with torques, their accelerations and constraint forces."""
    mechanism = hand()
    states = {
        name: values.astype(float)
        for name, values in closed_states(mechanism, loop_closure.assembly(mechanism), 3).items()
    }
    tau = np.random.default_rng(1).uniform(-1, 1, states["v"].shape)
    results = run(symgen.program(mechanism, FUNCTION, GRASPS), {**states, "tau": tau})
    return {**states, "tau": tau}, results["a"], results["lambda"]


@pytest.mark.slow
def test_the_momentum_rate_of_the_ball_is_the_sum_of_the_finger_forces() -> None:
    """Newton and Euler hold for the ball under three point forces and its weight.

    λ of each loop is in the axes of the loop's first frame.
    """
    states, a, forces = state()
    for q, v, tau, acceleration, constraint_forces in zip(
        states["q"], states["v"], states["tau"], a, forces, strict=True
    ):
        R = rotation_matrix(q[-4:])
        omega, force, moment = v[-3:], R @ tau[-6:-3], R @ tau[-3:]
        for k, grasp_loop in enumerate(hand().loops):
            force_components = constraint_forces[3 * k : 3 * k + 3]
            if grasp_loop.first.body == len(hand().joints) - 1:  # the first frame is the ball's
                on_ball, pull = grasp_loop.first, -R @ force_components
            else:
                on_ball = grasp_loop.second
                pull = orientation(grasp_loop.first.body, q) @ force_components
            lever = R @ np.array([float(x) for x in on_ball.pose[0].xyz])
            force, moment = force + pull, moment + np.cross(lever, pull)
        weight = 2 * np.array([0.3, -2, -9.81])
        ball_acceleration = R @ (acceleration[-6:-3] + np.cross(omega, v[-6:-3]))
        assert np.abs(2 * ball_acceleration - force - weight).max() < 1e-9
        assert np.abs(0.02 * R @ acceleration[-3:] - moment).max() < 1e-9


def rotation_matrix(quaternion: np.ndarray) -> np.ndarray:
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def orientation(body_index: int, q: np.ndarray) -> np.ndarray:
    frame_name = next(frame.name for frame in hand().frames if frame.body == body_index)
    return np.asarray(Reference(hand(), frame=frame_name).forward_kinematics(q)[0], dtype=float)


def test_grasps_do_no_work() -> None:
    """Only the torques change the total energy: d(T + U)/dt = tau · v along q ⊕ (v + a t/2) t."""
    states, a, _ = state()
    kinetic, potential = (
        symgen.program(hand(), name) for name in ("kinetic_energy", "potential_energy")
    )
    motion, h = Motion(hand(), FLOAT), 1e-5

    def energy(t: float) -> np.ndarray:
        q = np.array(
            [
                integrate(motion, position, v + acceleration * t / 2, np.array(t))
                for position, v, acceleration in zip(states["q"], states["v"], a, strict=True)
            ]
        )
        state_ = {"q": q, "v": states["v"] + a * t}
        return run(kinetic, state_)["T"] + run(potential, {"q": q})["U"]

    energy_rate = (energy(h) - energy(-h)) / (2 * h)
    assert np.abs(energy_rate - (states["tau"] * states["v"]).sum(axis=-1)).max() < 1e-6


def test_grasps_equal_the_elimination() -> None:
    states, a, forces = state()
    eliminated = run(symgen.program(hand(), FUNCTION, "riccati"), states)
    for actual, expected in ((a, eliminated["a"]), (forces, eliminated["lambda"])):
        assert np.abs(actual - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.slow
def test_drives_payload_and_wrenches_verify() -> None:
    """Drives are on all joints, wrenches on arm and box, the payload on the box."""
    drive = replace(planar().joints[0].drive, armature=Fraction(1, 10), damping=Fraction(1, 5))
    driven = replace(
        planar(), joints=tuple(replace(joint, drive=drive) for joint in planar().joints)
    )
    requests = [f"{FUNCTION}={GRASPS}"]
    assert symgen.verify(
        driven, requests, 1, payload="box", wrench=["box", "left0"], compiled=False
    ).passed


PLANTED: dict[str, Callable[[Any], Any]] = {
    "_grasp_load": lambda real: lambda *arguments: tuple(-part for part in real(*arguments)),
    "_object_rows": lambda real: lambda *arguments: [[-x for x in row] for row in real(*arguments)],
    "_row_accelerations": lambda real: lambda *arguments: [-x for x in real(*arguments)],
    "_object_bias_acceleration": lambda real: lambda linkage, body: (linkage.zeros, linkage.zeros),
    "mobility_step": lambda real: (
        lambda *arguments: replace(real(*arguments), C=real(*arguments).C + real(*arguments).C)
    ),
}


@pytest.mark.parametrize("attribute", PLANTED)
def test_a_planted_error_in_grasps_is_caught(
    attribute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grasps, attribute, PLANTED[attribute](getattr(grasps, attribute)))
    assert not passes_algebra(planar())


@cache
def driven() -> Mechanism:
    """Return the planar arms with armature, damping and springs at their joints."""
    drive = replace(
        planar().joints[0].drive,
        armature=Fraction(1, 10),
        damping=Fraction(1, 5),
        stiffness=Fraction(3),
        rest=Fraction(1, 2),
    )
    return replace(
        planar(),
        joints=tuple(
            replace(joint, drive=drive) if joint.type.nv == 1 else joint
            for joint in planar().joints
        ),
    )


LETTER_ROBOTS: dict[str, Callable[[], Mechanism]] = {
    **ROBOTS,
    "driven": driven,
    "stewart": lambda: symgen.load("stewart"),
    "four_bar": lambda: symgen.load("four_bar"),
}


@cache
def expected_letters(name: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return a closed state in 100 digits, and K and e there by definition: the object's joint is
    held, and M of the arms is eliminated.
    """
    mechanism, scalars = LETTER_ROBOTS[name](), arb(100)
    reference, assembly = Reference(mechanism, scalars), loop_closure.assembly(mechanism)
    states = closed_states(mechanism, assembly, 1, 3)
    q, v = scalars.array(states["q"]), scalars.array(states["v"])
    held = grasps.held_body(mechanism)
    assert held is not None
    entries = mechanism.v_slices[held]
    of_arms = [k for k in range(mechanism.nv) if not entries.start <= k < entries.stop]
    with scalars.working():
        tau = scalars.array(np.arange(mechanism.nv)[None])
        A = closing.jacobian(reference, assembly.kept, q)[0][:, of_arms]
        gamma = closing.bias(reference, assembly.kept, q, v)[0]
        M = reference.mass_matrix(q)[0][np.ix_(of_arms, of_arms)]
        forces = (tau - reference.bias_force(q, v))[0][of_arms]
        solved = scalars.solve(M[None], np.column_stack([A.T, forces])[None])[0]
        expected = {"K_loops": A @ solved[:, :-1], "e_loops": (A @ solved[:, -1] + gamma)[:, None]}
    return {"q": q[0], "v": v[0], "tau": tau[0]}, expected


def letter_errors(name: str, mechanism: Mechanism) -> dict[str, float]:
    """Return the largest error of each letter of the grasps of a robot."""
    state, expected = expected_letters(name)
    errors = {}
    with arb(100).working():
        for letter, exact in expected.items():
            arguments = {x: state[x] for x in methods.find("riccati").quantities[letter].inputs}
            actual = numbers(mechanism, letter, "riccati", arguments)
            assert actual.shape == exact.shape
            errors[letter] = float(np.abs(actual - exact).max())
    return errors


@pytest.mark.parametrize("name", LETTER_ROBOTS)
def test_letters_of_grasps_equal_their_definitions(name: str) -> None:
    assert max(letter_errors(name, LETTER_ROBOTS[name]()).values()) < 1e-40


@pytest.mark.parametrize(
    ("attribute", "letter"),
    [
        ("_row_accelerations", "e_loops"),
        ("_object_bias_acceleration", "e_loops"),
        ("mobility_step", "K_loops"),
    ],
)
def test_a_planted_error_in_letters_of_grasps_is_caught(
    attribute: str, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grasps, attribute, PLANTED[attribute](getattr(grasps, attribute)))
    unknown_to_caches = replace(planar(), name=attribute)
    assert letter_errors("planar", unknown_to_caches)[letter] > 1e-3


def test_letters_of_grasps_need_an_object_that_all_loops_hold() -> None:
    for letter in ("K_loops", "e_loops"):
        with pytest.raises(RequestError, match=f"{letter} of riccati: .*'two_pandas_bar'"):
            symgen.inspect("two_pandas_bar", letter)


def test_grasps_are_used_only_if_requested() -> None:
    assert symgen.program(planar(), FUNCTION).method != GRASPS
    assert symgen.program(planar(), FUNCTION, GRASPS).method == GRASPS


def test_robots_without_one_free_object_are_refused() -> None:
    message = (
        "riccati:grasps is for arms that hold one object, and in 'elsewhere' no body on the base"
        " without children"
    )
    arm = chain("arm", [0, 0, 0], (Z, Y, Y), [0.2, 0, 0.1])
    for end in ("arm1", "arm0"):
        mechanism = robot(
            "elsewhere", arm, loop("point", f'link = "{end}"', 'link = "ground", xyz = [0, 0, 0.1]')
        )
        with pytest.raises(RequestError, match=message):
            symgen.program(mechanism, FUNCTION, GRASPS)
    two_loops = loop("point", 'link = "ball"', 'link = "arm"') + loop(
        "point", 'link = "ball"', 'link = "branch"', "other"
    )
    two_arms_one_trunk = robot(
        "elsewhere", arm, turning("branch", "arm0", X, [0, 0, 0.1]), BALL, two_loops
    )
    with pytest.raises(RequestError, match=message):
        symgen.program(two_arms_one_trunk, FUNCTION, GRASPS)


@pytest.mark.parametrize(
    ("loops", "held"),
    [
        # arms 0-1, 2-3 and 8; objects 4 and 5, of which 5 has more freedoms; 6 carries 7
        ([(1, 4), (4, 3)], 4),
        ([(5, 1), (5, 3), (8, 5)], 5),
        ([(4, 5)], 5),
        ([(5, 4)], 5),
        ([(6, 1)], None),  # 6 carries a link, and 1 stands on another
        ([(0, 4), (4, 1)], None),  # both on one arm
        ([(4, -1)], None),
        ([(4, 1), (4, -1)], None),
        ([(4, 1), (5, 3)], None),
        ([(7, 1)], None),
        ([], None),
    ],
)
def test_the_object_is_a_root_without_children_that_all_loops_hold_by_other_arms(
    loops: list[tuple[int, int]], held: int | None
) -> None:
    parents = (-1, 0, -1, 2, -1, -1, -1, 6, -1)
    freedoms = (1, 1, 1, 1, 3, 6, 6, 1, 1)
    mechanism: Any = SimpleNamespace(
        joints=[
            SimpleNamespace(parent=parent, type=SimpleNamespace(nv=nv))
            for parent, nv in zip(parents, freedoms, strict=True)
        ],
        bodies=range(len(parents)),
        children=lambda body: [i for i, parent in enumerate(parents) if parent == body],
        loops=[
            SimpleNamespace(first=SimpleNamespace(body=a), second=SimpleNamespace(body=b))
            for a, b in loops
        ],
    )
    assert grasps.held_body(mechanism) == held


def stiff() -> Mechanism:
    """Return an arm of one joint that holds a ball."""
    hold = loop("point", 'link = "ball"', 'link = "arm", xyz = [0.3, 0, 0]')
    return robot("stiff", turning("arm", "ground", Y, [0, 0, 0]), BALL, hold)


def test_a_singular_arm_is_refused_with_the_name_of_its_loop() -> None:
    with pytest.raises(
        MethodRefusal,
        match=r"the arm of loop 'point' is singular in the assembled pose \(rank 1 of 3\); use",
    ):
        symgen.program(stiff(), FUNCTION, GRASPS)


@pytest.mark.slow
def test_riccati_serves_a_singular_arm() -> None:
    assert passes_algebra(stiff(), "riccati")
