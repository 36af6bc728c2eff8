"""Sizes of terms of a cart that carries a hinge and a slide, in closed form: levers, wrenches,
drives, residuals.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, Array
from symgen.verification import drive_scales, levers
from symgen.verification.exact_results import ExactResults
from symgen.verification.long import force_sizes, total_sizes
from symgen.verification.scales import Scales

MASSES, RADII = (3.0, 2.0, 0.5), (0.5, 1.25, 0.75)
"""kg, and m: distances of the mass centres from the origins of the links."""
NORM = 0.25 * np.sqrt(3)
"""kg m²: Frobenius norm of each link's moments of inertia."""
OFFSETS = (2.0, 1.5, 0.5)
"""m: distances of the joints' frames from those of the links before."""
GRAVITY = 10.0
DRIVES: dict[str, dict[str, float]] = {
    "cart": {"armature": 0.5, "damping": 2, "stiffness": 4, "rest": 0.25},
    "arm": {"armature": 0.25, "damping": 3, "friction": 8, "stiffness": 5, "rest": -0.5},
    "lift": {},
}


@cache
def robot() -> Mechanism:
    """Return a cart along x, an arm about z on it, and a lift along the arm's z."""
    builder = symgen.Robot("carriage", gravity=(0, 0, -10), friction_speed="0.25")
    links = (
        ("cart", "prismatic", (1, 0, 0), ("0.3", "0.4", 0)),
        ("arm", "revolute", (0, 0, 1), ("0.75", 1, 0)),
        ("lift", "prismatic", (0, 0, 1), ("0.45", 0, "0.6")),
    )
    parent = "base"
    for (name, kind, axis, centre), mass, offset in zip(links, MASSES, OFFSETS, strict=True):
        builder.body(
            name, parent=parent, type=kind, axis=axis, xyz=(0, offset, 0), mass=mass,
            centre=centre, inertia=("0.25", 0, 0, "0.25", 0, "0.25"), **DRIVES[name],
        )  # fmt: skip
        parent = name
    return builder.frame("tip", "lift", xyz=("0.3", 0, "0.4")).build()


Q, V, A = (
    np.array(rows)
    for rows in (
        [[0.5, 0.4, -0.25], [-0.75, -1.0, 0.5]],
        [[1.5, -2.0, 0.5], [-0.5, 1.0, 3.0]],
        [[-1.0, 3.0, 2.0], [2.0, -0.5, -1.5]],
    )
)


def rest_of(name: str) -> tuple[float, float, float, float, float]:
    drive = DRIVES[name]
    armature, damping, friction, stiffness, rest = (
        drive.get(key, 0.0) for key in ("armature", "damping", "friction", "stiffness", "rest")
    )
    return armature, damping, friction, stiffness, abs(rest)


# -- sizes of long robots --


def bounds_of_links() -> tuple[list[Array], ...]:
    """Return rotation rates, their changes, accelerations, speeds and distances of three links."""
    q, v, a = np.abs(Q).T, np.abs(V).T, np.abs(A).T
    turn, stir = v[1], a[1]  # of the arm and of the lift
    climb = OFFSETS[2] + q[2]
    zero = 0 * turn
    rises = [a[0], a[0], a[0] + (stir + turn**2) * climb + a[2] + 2 * turn * v[2]]
    speeds = [v[0], v[0], v[0] + turn * climb + v[2]]
    spans = [OFFSETS[0] + q[0], OFFSETS[0] + q[0] + OFFSETS[1]]
    return [zero, turn, turn], [zero, stir, stir], rises, speeds, [*spans, spans[1] + climb]


def test_totals_of_a_carriage_are_sums_over_its_parts() -> None:
    reference = Reference(robot(), FLOAT, frame="tip")
    dt = np.array([0.5, -0.25])
    sizes = total_sizes(reference, Q, V, A, dt)
    links = list(zip(MASSES, RADII, *bounds_of_links(), strict=True))
    energy = sum(m * (s + t * r) ** 2 / 2 + NORM * t**2 / 2 for m, r, t, _, _, s, _ in links)
    energy = energy + 0.5 * V[:, 0] ** 2 / 2 + 0.25 * V[:, 1] ** 2 / 2
    centre = sum(m * (p + r) for m, r, *_, p in links)
    momentum = sum(m * (s + t * r) * (1 + 2 * (p + r)) + NORM * t for m, r, t, _, _, s, p in links)
    rate = sum(
        m * (x + (b + t**2) * r + GRAVITY) * (1 + 2 * (p + r)) + NORM * (b + t**2)
        for m, r, t, b, x, _, p in links
    )
    reach = links[-1][-1] + 0.5  # of the tip on the lift
    expected = {
        "T": energy,
        "U": GRAVITY * centre,
        "com": centre / sum(MASSES),
        "h": momentum,
        "hdot": rate,
        "p": reach,
        "p_links": reach,
        "R": np.ones(2),
        "R_links": np.ones(2),
        "q_next": 1 + np.abs(Q).max(axis=1) + np.abs(V).max(axis=1) * np.abs(dt),
        "delta": 8 + np.abs(Q).max(axis=1),
    }
    assert set(sizes) == set(expected)
    for name, size in expected.items():
        np.testing.assert_allclose(sizes[name], size, rtol=1e-12, err_msg=name)
    unframed = total_sizes(Reference(robot(), FLOAT), Q, V, A, dt)
    np.testing.assert_allclose(unframed["p"], reach - 0.5, rtol=1e-12)


def test_forces_of_a_carriage_add_up_from_its_tip_and_with_its_drives() -> None:
    turns, stirs, rises, _, _ = bounds_of_links()
    forces, moments = [], []
    for m, r, turn, stir, rise in zip(MASSES, RADII, turns, stirs, rises, strict=True):
        forces.append(m * (rise + GRAVITY + (stir + turn**2) * r))
        moments.append(NORM * (stir + turn**2) + r * forces[-1])
    climb = OFFSETS[2] + np.abs(Q[:, 2])
    hinge = moments[1] + moments[2] + climb * forces[2]
    joint_forces = [sum(forces), hinge, forces[2]]
    for k, name in enumerate(DRIVES):
        armature, damping, friction, stiffness, rest = rest_of(name)
        joint_forces[k] = (
            joint_forces[k]
            + armature * np.abs(A[:, k])
            + damping * np.abs(V[:, k])
            + friction
            + stiffness * (rest + np.abs(Q[:, k]))
        )
    sizes = force_sizes(Reference(robot(), FLOAT), Q, V, A)
    np.testing.assert_allclose(sizes, np.stack(joint_forces, axis=1), rtol=1e-12)


def test_a_screw_feels_moments_and_forces() -> None:
    """The sliding part, of 1/2 m/rad, has the force, and the moment as well; its motions are
    products of both parts.
    """
    builder = symgen.Robot("screw", gravity=(0, 0, -10))
    builder.body("nut", parent="base", type="helical", pitch="0.5", axis=(0, 0, 2), xyz=(0, 1, 0),
                 mass=2, centre=(1, 0, 0), inertia=("0.25", 0, 0, "0.25", 0, "0.25"))  # fmt: skip
    reference = Reference(builder.build(), FLOAT)
    q, v, a = np.array([[0.5]]), np.array([[3.0]]), np.array([[-2.0]])
    rise = 10 + 0.5 * 2 + 3 * (0.5 * 3)
    stir = 2.0
    force = 2 * (rise + stir + 9)
    moment = NORM * (stir + 9) + force
    np.testing.assert_allclose(
        force_sizes(reference, q, v, a), [[moment + 0.5 * (force + moment)]], rtol=1e-12
    )


# -- drives --


def test_sizes_of_drives_are_their_terms_with_absolute_values() -> None:
    """Friction is 8 N m times v/ε up to ε = 1/4 rad/s, and its full size beyond."""
    sizes = drive_scales.forces(robot(), Q, V, A)
    for k, name in enumerate(DRIVES):
        armature, damping, friction, stiffness, rest = rest_of(name)
        expected = (
            armature * np.abs(A[:, k])
            + damping * np.abs(V[:, k])
            + friction
            + stiffness * (np.abs(Q[:, k]) + rest)
        )
        np.testing.assert_allclose(sizes[:, k], expected, rtol=1e-12)
    slow = drive_scales.forces(robot(), 0 * Q, V / 100, 0 * A)[:, 1]
    np.testing.assert_allclose(
        slow, 3 * np.abs(V[:, 1]) / 100 + 8 * np.abs(V[:, 1]) / 25 + 5 * 0.5, rtol=1e-12
    )


def test_sizes_of_slopes_of_drives() -> None:
    """The slope of v/√(v² + ε²) is ε²/(v² + ε²)^(3/2), and its relative change is at most 1/√(v² +
    ε²).
    """
    squares = V[:, 1] ** 2 + 1 / 16
    slopes = drive_scales.velocity_derivatives(robot(), V)
    np.testing.assert_allclose(slopes[:, 0], 2)
    np.testing.assert_allclose(slopes[:, 1], 3 + 8 / 16 / squares**1.5, rtol=1e-12)
    np.testing.assert_array_equal(slopes[:, 2], 0)
    np.testing.assert_array_equal(drive_scales.stiffness(robot()), [4, 5, 0])
    np.testing.assert_array_equal(drive_scales.armature(robot()), [0.5, 0.25, 0])
    curvature = drive_scales.friction_curvature(robot(), V)
    np.testing.assert_array_equal(curvature[:, [0, 2]], 0)
    np.testing.assert_allclose(curvature[:, 1], 1 / np.sqrt(squares), rtol=1e-12)


@cache
def led(kind: str = "revolute") -> Mechanism:
    """Return two joints, of which the second follows the first −3 times as fast, 1/2 behind."""
    builder = symgen.Robot("led", mimic="couple", friction_speed="0.25")
    bar: dict[str, Any] = {
        "mass": 1,
        "centre": (1, 0, 0),
        "inertia": ("0.1", 0, 0, "0.1", 0, "0.1"),
    }
    builder.body("a", parent="base", type="revolute", axis=(0, 0, 1), **bar)
    builder.body("b", parent="a", type=kind, axis=(0, 0, 1), xyz=(1, 0, 0),
                 mimic=("a_joint", -3, "0.5"), armature=2, damping=5, friction=7, stiffness=4,
                 rest="0.25", **bar)  # fmt: skip
    builder.body("c", parent="b", type="revolute", axis=(0, 0, 1), xyz=(0, 2, 0), **bar)
    return builder.build()


def test_drives_of_a_follower_count_by_its_multiplier() -> None:
    q, v, a = (np.array([[x, 0.0]]) for x in (0.5, -2.0, 1.5))
    force = 2 * 3 * 1.5 + 5 * 3 * 2 + 7 + 4 * (3 * 0.5 + 0.5 + 0.25)
    np.testing.assert_allclose(drive_scales.forces(led(), q, v, a), [[3 * force, 0]], rtol=1e-12)
    squares = 36 + 1 / 16
    np.testing.assert_allclose(
        drive_scales.velocity_derivatives(led(), v)[:, 0], 9 * (5 + 7 / 16 / squares**1.5)
    )
    np.testing.assert_array_equal(drive_scales.armature(led()), [18, 0])
    np.testing.assert_array_equal(drive_scales.stiffness(led()), [36, 0])
    np.testing.assert_allclose(
        drive_scales.friction_curvature(led(), v)[:, 0], 3 / np.sqrt(squares)
    )


# -- levers --


def test_rates_are_rotations_and_translations_of_a_unit_of_each_velocity() -> None:
    motion = Motion(robot(), FLOAT)
    assert levers.rates(motion) == [(0, 1), (1, 0), (0, 1)]
    assert list(levers.own_rates(motion, 1)) == [(1, 1, 0)]


@pytest.mark.parametrize(
    ("kind", "numbers", "rates"),
    [
        ("helical", {"pitch": "-0.5", "axis": (0, 0, 1)}, [(1, 0.5)]),
        ("cylindrical", {"axis": (0, 0, 1)}, [(1, 0), (0, 1)]),
        ("planar", {}, [(0, 1), (0, 1), (1, 0)]),
        ("spherical", {}, [(1, 0)] * 3),
        ("free", {}, [(0, 1)] * 3 + [(1, 0)] * 3),
    ],
)
def test_rates_of_every_type_of_joint(
    kind: str, numbers: dict[str, Any], rates: list[tuple[float, float]]
) -> None:
    body = symgen.Robot("body").body(
        "a", parent="base", type=kind, mass=1, inertia=(1, 0, 0, 1, 0, 1), **numbers
    )
    assert levers.rates(Motion(body.build(), FLOAT)) == rates


def test_rates_of_a_leader_include_its_followers() -> None:
    assert levers.rates(Motion(led(), FLOAT)) == [(4, 0), (1, 0)]
    assert levers.rates(Motion(led("prismatic"), FLOAT)) == [(1, 3), (1, 0)]


def test_levers_are_distances_from_turning_joints_and_rates_of_sliding_ones() -> None:
    turns, arms = levers.point_levers(Motion(led(), FLOAT), 2, np.array([[2.0, 5.0, 7.0]]))
    assert turns.tolist() == [4, 1]
    assert arms.tolist() == [[2 + 3 * 5, 7]]
    turns, arms = levers.point_levers(
        Motion(led("prismatic"), FLOAT), 2, np.array([[2.0, 5.0, 7.0]])
    )
    assert turns.tolist() == [1, 1]
    assert arms.tolist() == [[2 + 3, 7]]


def test_followers_turn_by_their_own_angles() -> None:
    """At q = 1 the follower is at −3 + 1/2; without followers nothing counts."""
    q = np.array([[1.0, 9.0], [-0.5, 9.0]])
    assert levers.mimic_rotation(Motion(led(), FLOAT), q) == 2.5
    assert levers.mimic_rotation(Motion(led("prismatic"), FLOAT), q) == 0
    assert levers.mimic_rotation(Motion(robot(), FLOAT), Q) == 0


# -- sizes of residuals and of solutions --


@pytest.fixture(scope="module")
def exact() -> ExactResults:
    return ExactResults(robot(), 3, 2, frame="tip", wrench="lift")


def lever_of_lift(q: Array) -> Array:
    """Return the distance of the lift's centre from the arm's axis point, or from its own frame if
    that is larger.
    """
    arm_to_centre = np.sqrt(0.45**2 + OFFSETS[2] ** 2 + (q[:, 2] + 0.6) ** 2)
    return np.maximum(arm_to_centre, 0.75)


def test_the_diagonal_of_a_carriage_has_masses_levers_and_armatures(exact: ExactResults) -> None:
    scales, q = exact.scales, exact.floats["q"]
    lift = lever_of_lift(q)
    expected = np.stack(
        [
            0.5 + sum(MASSES) + 0 * lift,
            0.25 + 2 * 1.25**2 + 0.5 * lift**2 + 2 * NORM,
            0.5 + 0 * lift,
        ],
        axis=1,
    )
    np.testing.assert_allclose(scales.diagonal(), expected, rtol=1e-12)
    roots = np.sqrt(expected)
    np.testing.assert_allclose(scales.mass(), roots[:, :, None] * roots[:, None, :], rtol=1e-12)
    weighted = (roots * np.abs(exact.floats["a"])).sum(axis=1)
    np.testing.assert_allclose(scales.weighted_sum(exact.floats["a"])[:, 0], weighted, rtol=1e-12)


def test_wrenches_reach_joints_by_their_levers(exact: ExactResults) -> None:
    """The lift transmits the wrench at its own origin; the arm and the cart at the distance of that
    point.
    """
    wrench, q = exact.floats["wrench"], exact.floats["q"]
    moment, force = (np.linalg.norm(half, axis=1) for half in (wrench[:, :3], wrench[:, 3:]))
    arm = np.hypot(OFFSETS[2], q[:, 2])
    expected = np.stack([force, moment + arm * force, force], axis=1)
    np.testing.assert_allclose(exact.scales.wrench_torques(), expected, rtol=1e-12)
    transmitted = {body: pair for body, *pair in exact.scales.transmitted_wrenches()}
    assert sorted(transmitted) == [0, 1, 2]
    np.testing.assert_allclose(transmitted[2], [moment, force], rtol=1e-12)
    np.testing.assert_allclose(transmitted[1], [moment + arm * force, force], rtol=1e-12)


def test_residuals_are_sums_of_the_terms_of_the_equation_of_motion(exact: ExactResults) -> None:
    """M a with its rounding, the forces at a = 0, and τ; accelerations are those by |M⁻¹|."""
    scales, floats = exact.scales, exact.floats
    a = np.array([[1.0, -2.0, 0.5]] * 3)
    expected = (
        scales.roots * (scales.roots * np.abs(a)).sum(axis=1, keepdims=True)
        + scales.forces(floats["v"], 0 * a)
        + np.abs(floats["tau"])
    )
    np.testing.assert_allclose(scales.dynamics_residual(a), expected, rtol=1e-12)
    inverse = np.abs(np.linalg.inv(exact.mass_matrix.astype(float)))
    solution = exact.results("forward_dynamics")["a"].astype(float)
    residual = scales.dynamics_residual(solution)
    np.testing.assert_allclose(
        scales.joint_accelerations(), (inverse @ residual[..., None])[..., 0], rtol=1e-9
    )
    weighted = inverse @ scales.roots[..., None]
    np.testing.assert_allclose(scales.inverse(), weighted * weighted.swapaxes(1, 2), rtol=1e-9)
    np.testing.assert_allclose(
        scales.determinant_loss(), (scales.roots * weighted[..., 0]).sum(axis=1), rtol=1e-9
    )
    entries = np.sqrt(np.diagonal(np.linalg.inv(exact.mass_matrix.astype(float)), axis1=1, axis2=2))
    np.testing.assert_allclose(scales.inverse_entries(), entries, rtol=1e-9)


def test_accelerations_of_links_count_their_joints_rates_and_the_length(
    exact: ExactResults,
) -> None:
    scales, v = exact.scales, np.abs(exact.floats["v"])
    rates = scales.joint_accelerations()
    length = np.maximum(1, scales.length())
    for body in range(3):
        angular = rates[:, : body + 1].sum(axis=1) + 2 * v[:, : body + 1].sum(axis=1) ** 2
        size = scales.acceleration(body)
        for k in range(3):
            np.testing.assert_allclose(size[:, k], angular, rtol=1e-12)
            np.testing.assert_allclose(size[:, 3 + k], length * angular + GRAVITY, rtol=1e-12)
        np.testing.assert_array_equal(scales.accelerations()[:, body], size)
    np.testing.assert_array_equal(scales.tip_acceleration(), scales.acceleration(2))
    np.testing.assert_array_equal(scales.acceleration(-1), [[0] * 3 + [GRAVITY] * 3] * 3)


def test_lengths_are_those_of_the_longest_path_and_of_the_frame(exact: ExactResults) -> None:
    """From the cart on, with 1/2 m of the tip; the cart's own position counts in the distance."""
    q = exact.floats["q"]
    length = OFFSETS[1] + np.hypot(OFFSETS[2], q[:, 2]) + 0.5
    np.testing.assert_allclose(exact.scales.length(), length, rtol=1e-12)
    distance = np.hypot(OFFSETS[0], q[:, 0]) + length
    np.testing.assert_allclose(exact.scales.distance(), distance, rtol=1e-12)
    np.testing.assert_allclose(exact.scales.lever(), length, rtol=1e-12)
    twists = np.array([[0, 1, 0], [1, 0, 1]])
    expected = np.repeat(twists[None], 3, axis=1) * 1.0
    jacobian = np.repeat(expected, 3, axis=0)
    jacobian[:, 3:, 1] = length[:, None]
    np.testing.assert_allclose(exact.scales.jacobian(), jacobian, rtol=1e-12)


def test_wrenches_across_joints_have_the_larger_of_moment_and_force(exact: ExactResults) -> None:
    """At rest: the external wrench twice, and the weight of each part that a joint carries at its
    lever, or at 1 m.
    """
    still = 0 * exact.floats["v"]
    moment, force = (
        np.linalg.norm(half, axis=1)
        for half in (exact.floats["wrench"][:, :3], exact.floats["wrench"][:, 3:])
    )
    q = exact.floats["q"]
    largest = np.abs(exact.floats["wrench"]).max(axis=1)
    arm = np.hypot(OFFSETS[2], q[:, 2])
    lift = np.maximum(1, lever_of_lift(q))
    expected = largest + np.maximum(moment, force) + 0.5 * GRAVITY
    np.testing.assert_allclose(exact.scales.wrenches(still, still)[:, 2], expected, rtol=1e-12)
    weights = GRAVITY * (2 * 1.25 + 0.5 * lift)
    expected = largest + np.maximum(moment + arm * force, force) + weights
    np.testing.assert_allclose(exact.scales.wrenches(still, still)[:, 1], expected, rtol=1e-12)


def test_sizes_of_contact_forces_add_their_terms_and_the_errors_of_the_inverse(
    exact: ExactResults,
) -> None:
    scales: Scales = exact.scales
    A_rows, f = np.array([[[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]]] * 3), np.array([[2.0, -4.0]] * 3)
    inverse = np.linalg.inv(exact.mass_matrix.astype(float))
    transposed = A_rows.swapaxes(1, 2)
    accelerations = (np.abs(inverse @ transposed) @ np.abs(f)[..., None])[..., 0]
    expected = (np.abs(transposed) @ np.abs(f)[..., None])[..., 0] + scales.roots * (
        scales.roots * accelerations
    ).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scales.contact_forces(A_rows, f), expected, rtol=1e-9)


@pytest.fixture(scope="module")
def on_slides() -> ExactResults:
    """Return results of 2 kg on three slides, with a contact: M is 2 kg and A is 1."""
    builder = symgen.Robot("slides", gravity=(0, 0, -10))
    parent = "base"
    for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
        mass = {"mass": 2, "centre": (0, 0, 0)} if name == "z" else {}
        builder.body(name, parent=parent, type="prismatic", axis=axis, **mass)
        parent = name
    return ExactResults(builder.build(), 4, 2, contact="z")


def test_sizes_of_a_contact_that_holds_a_mass(on_slides: ExactResults) -> None:
    """With S = A M⁻¹ Aᵀ = 1/2, a force is as large as the residual of the dynamics and twice that
    of the contact.

    The contact's own residual has gravity, S f, and the errors of the accelerations by the forces
    and without them.
    """
    sizes = on_slides.scales
    active = on_slides.arguments("contact_forward_dynamics", on_slides.floats)["active"][:, 0] != 0
    assert active.any()
    assert not active.all()
    f = np.abs(on_slides.results("contact_forward_dynamics")["forces"].astype(float))[:, 0]
    total = f.sum(axis=1, keepdims=True)
    dynamics = 2 * 10 + np.abs(on_slides.floats["tau"]) + f + total
    contact = 10 + 1.5 * total + 0 * f
    forces = sizes.of("contact_forward_dynamics", "forces")[:, 0]
    expected = np.linalg.norm(dynamics + 2 * contact, axis=1)
    np.testing.assert_allclose(
        forces[active], np.repeat(expected[active, None], 3, axis=1), rtol=1e-12
    )
    assert (forces[~active] < 1e-15).all()
    accelerations = sizes.of("contact_forward_dynamics", "a")
    np.testing.assert_allclose(accelerations[active], contact[active], rtol=1e-12)
    free = sizes.dynamics_residual(on_slides.results("contact_forward_dynamics")["a"].astype(float))
    np.testing.assert_allclose(accelerations[~active], free[~active] / 2, rtol=1e-12)


def test_sizes_of_an_impact_that_stops_a_mass(on_slides: ExactResults) -> None:
    """The impulse is 2 v; a joint moves the contact by at most its rate in any direction, and by
    |A| in its own.
    """
    sizes, v = on_slides.scales, np.abs(on_slides.floats["v"])
    active = on_slides.arguments("contact_impulse", on_slides.floats)["active"][:, 0] != 0
    total = v.sum(axis=1, keepdims=True)
    dynamics, contact = 4 * total + 2 * v, 3 * total + v
    impulses = sizes.of("contact_impulse", "impulses")[:, 0]
    expected = np.linalg.norm(dynamics + 2 * contact, axis=1)
    np.testing.assert_allclose(
        impulses[active], np.repeat(expected[active, None], 3, axis=1), rtol=1e-12
    )
    after = sizes.of("contact_impulse", "v_after")
    np.testing.assert_allclose(after[active], (contact + v)[active], rtol=1e-12)
    np.testing.assert_allclose(after[~active], v[~active], rtol=1e-12)


def test_gravity_compensation_adds_the_weight_that_it_cancels() -> None:
    """Half of the weight of a bar of 2 kg at 1 m is cancelled; the sizes of both are added."""
    bar: dict[str, Any] = {"mass": 2, "centre": (1, 0, 0), "inertia": (1, 0, 0, 1, 0, 1)}
    builder = symgen.Robot("bar", gravity=(0, -10, 0)).body(
        "a", parent="base", type="revolute", axis=(0, 0, 1), gravcomp="0.5", **bar
    )
    results = ExactResults(builder.build(), 2)
    still = 0 * results.floats["v"]
    np.testing.assert_allclose(results.scales.drive_forces(still, still), 10, rtol=1e-12)
    np.testing.assert_allclose(results.scales.forces(still, still), 30, rtol=1e-12)
    np.testing.assert_allclose(results.scales.forces(still, still, wrench=False), 20, rtol=1e-12)
    assert Fraction(1, 2) == builder.build().bodies[0].parts[0].gravcomp
