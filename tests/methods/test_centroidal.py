"""Quantities of the whole robot: mass centre, energies, centroidal momentum and poses of links.

The reference and every method are compared with closed forms on small robots and with laws of
mechanics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import symgen
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.pipeline.choose import methods_for
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.verification.evaluating import machine_runner
from symgen.verification.scales.centroidal import BY_RESULT as WHOLE
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Shift, Turn, compose, pose
from tests.shared.robots_for_tests import draw, point_mass_arm, random_mechanism

WHOLE_ROBOT_FUNCTIONS = tuple(
    name for name, f in FUNCTIONS.items() if {r.name for r in f.results} <= set(WHOLE)
)
ZERO = Fraction(0)


def answers(mechanism: Mechanism, inputs: Mapping[str, Array]) -> list[dict[str, Array]]:
    """Return all results by name, of the reference and of each method.

    Results that a method does not compute are those of the reference.
    """
    inputs_of = {
        function: {a.name: inputs[a.name] for a in FUNCTIONS[function].arguments}
        for function in WHOLE_ROBOT_FUNCTIONS
    }
    frame = mechanism.frames[-1].name
    reference_results = {
        name: x
        for function in WHOLE_ROBOT_FUNCTIONS
        for name, x in Reference(mechanism, frame=frame)
        .evaluate(function, inputs_of[function])
        .items()
    }
    results: dict[str, dict[str, Array]] = {}
    for function in WHOLE_ROBOT_FUNCTIONS:
        for method in methods_for(mechanism, function):
            results.setdefault(method, dict(reference_results)).update(
                machine_runner(symgen.program(mechanism, function, method, frame=frame))(
                    inputs_of[function]
                )
            )
    assert results
    return [reference_results, *results.values()]


def stack(*columns: object) -> Array:
    return np.stack(np.broadcast_arrays(*map(np.asarray, columns)), axis=-1)


@cache
def tree_with_root(kind: str) -> Mechanism:
    """Return a tree whose root joint has this type; its link carries a branch of two links and a
    branch of one.
    """
    mechanism = random_mechanism(4, 8, "chain", ("revolute", "prismatic"))
    first, *descendants = mechanism.joints
    axis = first.axis if joint_type(kind).directed else Z_AXIS
    numbers = tuple((p.name, Fraction(1, 7)) for p in joint_type(kind).parameters)
    joints = (
        replace(first, kind=kind, axis=axis, parameters=numbers),
        *descendants[:2],
        replace(descendants[2], parent=0),
    )
    return replace(mechanism, joints=joints, name=f"{kind}_root")


def test_quantities_of_a_point_mass_arm_are_the_closed_forms() -> None:
    """Two kilograms at one metre, gravity 10 along −y: T = m v²/2, U = m g sin q, and no angular
    momentum about the mass centre.
    """
    for results in answers(point_mass_arm(2), states := draw(point_mass_arm(2), 5)):
        (q, v, a), zero = (states[name][:, 0] for name in ("q", "v", "a")), 0 * states["q"][:, 0]
        out, across = stack(np.cos(q), np.sin(q), zero), stack(-np.sin(q), np.cos(q), zero)
        along = v[:, None] * across
        pull = a[:, None] * across - (v * v)[:, None] * out
        expected = {
            "com": out,
            "Jcom": across[..., None],
            "T": v * v,
            "U": 20 * np.sin(q),
            "h": np.hstack([0 * out, 2 * along]),
            "A_G": np.concatenate([0 * out, 2 * across], axis=-1)[..., None],
            "hdot": np.hstack([0 * out, 2 * pull]),
            "Jdot_v": np.zeros((5, 6)),
            "p_links": np.zeros((5, 1, 3)),
        }
        for name, value in expected.items():
            np.testing.assert_allclose(results[name], value, atol=1e-13, err_msg=name)


def test_quantities_of_a_free_body_are_the_closed_forms() -> None:
    """With orientation R and the mass centre at the frame's origin: A_G = [0 R I; m R 0], h and ḣ
    by Newton and Euler.
    """
    half = Part("body", (), Fraction(3), (Fraction(2), ZERO, ZERO, Fraction(3), ZERO, Fraction(4)))
    mechanism = Mechanism(
        "body", (Joint("root", "free", -1),), (Body("body", (half,)),), (Frame("body", 0),)
    )
    states = draw(mechanism, 5)
    x, y, z, w = states["q"][:, 3:].T
    turn = np.stack(
        [
            stack(1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            stack(2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            stack(2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        ],
        axis=-2,
    )
    inertia, zeros = np.array([2.0, 3.0, 4.0]), np.zeros((5, 3, 3))
    u, spin, du, dspin = (
        states[name][:, half] for name in ("v", "a") for half in (slice(3), slice(3, 6))
    )
    in_body_axes = {
        "h": (inertia * spin, 3 * u),
        "hdot": (inertia * dspin + np.cross(spin, inertia * spin), 3 * (du + np.cross(spin, u))),
        "Jdot_v": (0 * u, np.cross(spin, u)),
    }
    expected = {
        name: np.hstack([(turn @ half[..., None])[..., 0] for half in halves])
        for name, halves in in_body_axes.items()
    }
    expected |= {
        "A_G": np.block([[zeros, turn * inertia], [3 * turn, zeros]]),
        "Jcom": np.concatenate([turn, zeros], axis=-1),
        "com": states["q"][:, :3],
        "p_links": states["q"][:, None, :3],
        "R_links": turn[:, None],
        "T": (3 * (u * u).sum(axis=-1) + (inertia * spin * spin).sum(axis=-1)) / 2,
        "U": 3 * 9.81 * states["q"][:, 2],
    }
    for results in answers(mechanism, states):
        for name, value in expected.items():
            np.testing.assert_allclose(results[name], value, atol=1e-12, err_msg=name)


def test_quantities_of_two_planar_links_are_the_closed_forms() -> None:
    """Point masses 1 and 3 at the ends of links of one metre: the angular momentum is that of the
    reduced mass 3/4.
    """
    mechanism = point_mass_arm(1, 3)
    for results in answers(mechanism, states := draw(mechanism, 5)):
        first, second = states["q"][:, 0], states["q"].sum(axis=-1)
        slow, fast = states["v"][:, 0], states["v"].sum(axis=-1)
        zero = 0 * first
        elbow, across = (
            stack(np.cos(first), np.sin(first), zero),
            stack(-np.sin(first), np.cos(first), zero),
        )
        forearm, swept = (
            stack(np.cos(second), np.sin(second), zero),
            stack(-np.sin(second), np.cos(second), zero),
        )
        u, w = slow[:, None] * across, fast[:, None] * swept
        expected = {
            "com": elbow + 3 / 4 * forearm,
            "h": np.hstack([3 / 4 * np.cross(forearm, w), u + 3 * (u + w)]),
            "T": ((u * u).sum(axis=-1) + 3 * ((u + w) ** 2).sum(axis=-1)) / 2,
            "U": 10 * (4 * np.sin(first) + 3 * np.sin(second)),
            "p_links": np.stack([0 * elbow, elbow], axis=1),
        }
        for name, value in expected.items():
            np.testing.assert_allclose(results[name], value, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("kind", kinds())
def test_quantities_transform_with_the_pose_of_the_base(kind: str) -> None:
    """Shift the base by s and rotate base and gravity by R: h becomes R h, and com becomes R com +
    s.
    """
    original, shift = tree_with_root(kind), Shift((Fraction(3), Fraction(-2), Fraction(5)))
    x, y, z = original.gravity
    displacement = (shift, Turn(X_AXIS, Angle(pi=Fraction(1, 2))))
    joints = tuple(
        replace(j, pose=compose(*[displacement], j.pose)) if j.parent < 0 else j
        for j in original.joints
    )
    displaced = replace(original, joints=joints, gravity=(x, -z, y))
    turn, s = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]), np.array([3.0, -2, 5])
    rotation_of_six = np.kron(np.eye(2), turn)
    transformations = {
        "com": lambda c: c @ turn.T + s,
        "p_links": lambda p: p @ turn.T + s,
        "R_links": lambda r: turn @ r,
        "Jcom": lambda j: turn @ j,
        "A_G": lambda m: rotation_of_six @ m,
        "T": lambda t: t,
        "U": lambda u: (
            u
            - float(sum(half.mass for body in original.bodies for half in body.parts))
            * (s @ np.array([float(g) for g in displaced.gravity]))
        ),
    }
    states = draw(original, 3)
    for original_results, displaced_results in zip(
        answers(original, states), answers(displaced, states), strict=True
    ):
        for name, value in original_results.items():
            expected = transformations.get(name, lambda six: six @ rotation_of_six.T)(value)
            np.testing.assert_allclose(
                displaced_results[name], expected, rtol=1e-11, atol=1e-11, err_msg=name
            )


@pytest.mark.parametrize("kind", kinds())
def test_total_energy_changes_by_the_power_of_the_joint_forces(kind: str) -> None:
    """dT/dt + dU/dt = tau · v."""
    mechanism = tree_with_root(kind)
    reference, states = Reference(mechanism, frame=mechanism.frames[-1].name), draw(mechanism, 4)
    q, v, a = (states[name] for name in ("q", "v", "a"))
    step = 1e-5

    def energy(s: float) -> Array:
        position, rate = {"q": reference.displaced(q, s * v)}, v + s * a
        return np.asarray(
            reference.evaluate("kinetic_energy", {**position, "v": rate})["T"]
            + reference.evaluate("potential_energy", position)["U"]
        )

    power = (reference.inverse_dynamics(q, v, a) * v).sum(axis=-1)
    np.testing.assert_allclose(
        (energy(step) - energy(-step)) / (2 * step), power, rtol=1e-6, atol=1e-5
    )


def test_the_momentum_rate_of_a_floating_robot_is_its_weight() -> None:
    """Without forces on the free root, ḣ = (0, m g) for any forces of the other joints."""
    mechanism = replace(tree_with_root("free"), gravity=(Fraction(1), Fraction(2), Fraction(-9)))
    states = draw(mechanism, 5)
    mass = float(sum(half.mass for body in mechanism.bodies for half in body.parts))
    states["tau"][:, :6] = 0
    states["a"] = Reference(mechanism).forward_dynamics(states["q"], states["v"], states["tau"])
    for results in answers(mechanism, states):
        np.testing.assert_allclose(
            results["hdot"],
            np.broadcast_to(mass * np.array([0, 0, 0, 1, 2, -9]), (5, 6)),
            atol=1e-9,
        )


def test_the_momentum_matrix_of_a_free_root_is_the_first_rows_of_the_mass_matrix() -> None:
    """The columns of A_G for a free root are the composite inertia about the mass centre.

    Moved to the root, they are the first six rows of M.
    """
    mechanism = tree_with_root("free")
    states = draw(mechanism, 5)
    mass = Reference(mechanism).mass_matrix(states["q"])[:, :6]
    for results in answers(mechanism, states):
        turn, lever = results["R_links"][:, 0], results["com"] - results["p_links"][:, 0]
        angular, linear = results["A_G"][:, :3], results["A_G"][:, 3:]
        about_root = angular + np.cross(lever[:, None], np.swapaxes(linear, -1, -2)).swapaxes(
            -1, -2
        )
        rows = np.concatenate(
            [turn.swapaxes(-1, -2) @ linear, turn.swapaxes(-1, -2) @ about_root], axis=1
        )
        np.testing.assert_allclose(rows, mass, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("mass", [0, Fraction(1, 1000)])
def test_a_distant_root_of_little_mass_costs_no_digits(mass: Fraction | int) -> None:
    """The first root is 1600 m away and nearly massless: sums over the robot must not be taken
    about its origin.
    """
    original = replace(tree_with_root("revolute"), gravity=(ZERO, ZERO, ZERO))
    distant_root = Joint(
        "far", "revolute", -1, (Shift((Fraction(1600), Fraction(-7), Fraction(3))),), Z_AXIS
    )
    joints = (
        distant_root,
        *(
            replace(joint, parent=joint.parent + 1 if joint.parent >= 0 else -1)
            for joint in original.joints
        ),
    )
    frames = tuple(
        replace(frame, body=frame.body + 1 if frame.body >= 0 else -1) for frame in original.frames
    )
    speck = Body("far", (Part("far", (), Fraction(mass), (ZERO,) * 6),) if mass else ())
    mechanism = replace(
        original, name="far", joints=joints, bodies=(speck, *original.bodies), frames=frames
    )
    report = symgen.verify(mechanism, list(WHOLE_ROBOT_FUNCTIONS))
    assert report.passed
    functions = ("centroidal", "center_of_mass") if mass else ("centroidal",)
    assert (
        max(
            check.error
            for check in report.checks
            if check.kind == "floating" and check.subject.startswith(functions)
        )
        < 5
    )


def test_a_payload_equals_a_declared_part() -> None:
    """For each function that depends on it, a run-time payload equals the same part declared in the
    robot.
    """
    mechanism = tree_with_root("revolute")
    link = mechanism.frames[-1]
    load = Part(link.name, pose((Fraction(1, 10), Fraction(1, 5), Fraction(-1, 10))), Fraction(2))
    bodies = (
        *mechanism.bodies[:-1],
        replace(mechanism.bodies[-1], parts=(*mechanism.bodies[-1].parts, load)),
    )
    declared = Reference(replace(mechanism, bodies=bodies), frame=link.name)
    x, y, z = 0.1, 0.2, -0.1
    numbers = np.array(
        [
            2,
            x,
            y,
            z,
            2 * (y * y + z * z),
            -2 * x * y,
            -2 * x * z,
            2 * (x * x + z * z),
            -2 * y * z,
            2 * (x * x + y * y),
        ]
    )
    states = {**draw(mechanism, 3), "payload": np.broadcast_to(numbers, (3, 10))}
    for function in WHOLE_ROBOT_FUNCTIONS:
        unloaded = {a.name: states[a.name] for a in FUNCTIONS[function].arguments}
        loaded = (
            {**unloaded, "payload": states["payload"]}
            if FUNCTIONS[function].depends_on
            else unloaded
        )
        expected = declared.evaluate(function, unloaded)
        evaluations = [
            Reference(mechanism, frame=link.name, payload=link.name).evaluate(function, loaded)
        ]
        evaluations += [
            machine_runner(
                symgen.program(mechanism, function, method, frame=link.name, payload=link.name)
            )(loaded)
            for method in methods_for(mechanism, function)
        ]
        for results in evaluations:
            for name, value in expected.items():
                np.testing.assert_allclose(results[name], value, atol=1e-12, err_msg=name)


def test_link_poses_are_those_of_the_frames_that_the_joints_move() -> None:
    """A revolute joint about y at (1, 0, 0) carries a prismatic joint along x, 2 m further out."""
    joints = (
        Joint("swing", "revolute", -1, pose((Fraction(1), ZERO, ZERO)), Y_AXIS),
        Joint("slide", "prismatic", 0, pose((Fraction(2), ZERO, ZERO)), X_AXIS),
    )
    mechanism = Mechanism(
        "arm",
        joints,
        tuple(Body(name, (Part(name, (), Fraction(1)),)) for name in "ab"),
        (Frame("b", 1),),
    )
    states = draw(mechanism, 4)
    angle, slid = states["q"].T
    out = stack(np.cos(angle), 0 * angle, -np.sin(angle))
    for results in answers(mechanism, states):
        np.testing.assert_allclose(
            results["p_links"][:, 0], np.broadcast_to([1, 0, 0], (4, 3)), atol=1e-14
        )
        np.testing.assert_allclose(
            results["p_links"][:, 1], [1, 0, 0] + (2 + slid)[:, None] * out, atol=1e-14
        )
        np.testing.assert_allclose(
            results["R_links"][:, :, :, 0], np.stack([out, out], axis=1), atol=1e-14
        )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["unrolled", "looped"])
def test_frames_far_from_heavy_parts_verify(form: str) -> None:
    """A ton lies within 0.1 mm of its joint, and the frame's origin half a metre along the axis,
    where the next axis passes.

    The result is small compared with its terms, and `verify` judges the error by the size of the
    terms.
    """
    tilted = (ZERO, Fraction(3, 5), Fraction(4, 5))
    joints = (
        Joint("spin", "revolute", -1, (), Z_AXIS),
        Joint(
            "tilt", "revolute", 0, pose((Fraction(1, 70), Fraction(3, 10), Fraction(7, 10))), tilted
        ),
    )
    ton = Part(
        "ton",
        pose((ZERO, Fraction(1, 10**4), ZERO)),
        Fraction(1000),
        (Fraction(1, 10**5),) * 3 + (ZERO,) * 3,
    )
    crumb = Part(
        "crumb", pose((Fraction(1, 10), Fraction(1, 3), Fraction(1, 5))), Fraction(1, 10**6)
    )
    mechanism = Mechanism(
        "arm", joints, (Body("ton", (ton,)), Body("crumb", (crumb,))), (Frame("crumb", 1),)
    )
    functions = [
        function
        for function in WHOLE_ROBOT_FUNCTIONS
        if form == "unrolled"
        or function not in ("center_of_mass_jacobian", "centroidal_momentum_matrix")
    ]
    report = symgen.verify(mechanism, functions, form=form)
    assert report.passed, str(report)
    assert [
        check.subject.split("=")[0] for check in report.checks if check.kind == "floating"
    ] == functions


def test_the_centre_of_two_trees_with_a_payload_is_that_of_all_masses() -> None:
    """The total mass is that of both roots, 1 and 2 kg, with a payload of 2 kg on the second."""
    arm = point_mass_arm(1, 2)
    first, second = arm.joints
    mechanism = replace(arm, joints=(first, replace(second, parent=-1)))
    link = mechanism.frames[-1].name
    payload = np.array([2, 0.25, 0.5, 0, 1, -0.25, 0, 1, 0, 1])
    state = {**draw(mechanism, 2), "payload": np.broadcast_to(payload, (2, 10))}
    inputs = {name: state[name] for name in ("q", "payload")}
    program = symgen.program(mechanism, "center_of_mass", payload=link)
    expected = Reference(mechanism, payload=link).evaluate("center_of_mass", inputs)["com"]
    np.testing.assert_allclose(machine_runner(program)(inputs)["com"], expected, atol=1e-14)
