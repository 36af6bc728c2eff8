"""Relations between functions of the reference in doubles, on a tree with joints of every type,
drives, a load and wrenches.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import symgen
from symgen.mechanism.drives import Drive
from symgen.mechanism.joints import kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.reference import centroidal, forces, long
from symgen.reference.articulated import Articulated
from symgen.reference.drives import add_armature, add_drive_forces, gravity_compensation
from symgen.reference.integrate import difference, exponential, integrate, logarithm
from symgen.reference.mechanics import Reference, commutators, coriolis_matrix
from symgen.reference.parameters import declared_parameters, regressor
from symgen.reference.precision import FLOAT, Array, arb
from symgen.reference.states import draw_states
from symgen.reference.twists import convert_jacobian, to_base_axes
from symgen.support.errors import ArgumentError
from symgen.vocabulary.arrays import Convention
from tests.shared.robots_for_tests import random_mechanism

STATES = 3
DRIVE = Drive(
    armature=Fraction(1, 2),
    damping=Fraction(3),
    friction=Fraction(2),
    stiffness=Fraction(5),
    rest=Fraction(1, 4),
)


@cache
def tree(driven: bool = True) -> Mechanism:
    """Return seven joints, all types among them; the first one of one coordinate has a drive, and
    others a rotor.
    """
    mechanism = random_mechanism(len(kinds()), 4, "tree", joints=("revolute",))
    of_each_kind = [
        random_mechanism(1, k, joints=(kind,)).joints[0] for k, kind in enumerate(kinds())
    ]
    joints = tuple(
        replace(
            joint, kind=pattern.kind, axis=pattern.axis, parameters=pattern.parameters,
            drive=DRIVE if driven and pattern.type.nv == 1 else joint.drive,
        )
        for joint, pattern in zip(mechanism.joints, of_each_kind, strict=True)
    )  # fmt: skip
    return replace(mechanism, joints=joints)


@cache
def states() -> dict[str, Array]:
    """Return usual states, whose rotations are not special."""
    drawn = draw_states(tree(), 12, 3, payload="link2", wrench=("link3", "link6"))
    return {name: values[[0, 4, 8]].astype(float) for name, values in drawn.items()}


def close(a: Array, b: Array, tolerance: float = 1e-10) -> bool:
    return bool(np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max()))


@cache
def reference(driven: bool = True) -> Reference:
    return Reference(tree(driven))


def times(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])


# -- dynamics --


def test_articulated_inertias_solve_with_the_mass_matrix() -> None:
    """Joints of several velocities and rotors among them."""
    q, b = states()["q"], states()["b"]
    mass = reference().mass_matrix(q)
    at_rest = Articulated(reference(), q)
    assert close(times(mass, at_rest.solve(b)), b, 1e-9)
    sign, logarithm_of_det = np.linalg.slogdet(mass)
    assert (sign == 1).all()
    assert close(at_rest.log_determinant(), logarithm_of_det)
    assert close(np.log(at_rest.determinant()), logarithm_of_det)


def test_the_gradient_of_articulated_inertias_is_that_of_the_log_determinant() -> None:
    q = states()["q"]
    gradient = Articulated(reference(), q).gradient()
    h = 1e-5
    for k in range(tree().nv):
        step = h * np.eye(tree().nv)[k]
        up, down = (
            np.linalg.slogdet(reference().mass_matrix(reference().displaced(q, sign * step)))[1]
            for sign in (1, -1)
        )
        assert gradient[:, k] == pytest.approx((up - down) / (2 * h), abs=1e-6)


def test_the_gradient_of_the_log_determinant_is_that_of_the_articulated_inertias() -> None:
    q = states()["q"]
    gradient = reference().mass_matrix_log_determinant_gradient(q)
    assert close(gradient, Articulated(reference(), q).gradient(), 1e-9)


def test_the_coriolis_matrix_gives_the_bias_and_the_rate_of_the_mass_matrix() -> None:
    """C v is c − g without drives; for joints with an axis, Ṁ = C + Cᵀ."""
    mechanism = random_mechanism(3, 2, joints=("revolute", "prismatic", "helical"))
    motion = Reference(mechanism)
    drawn = draw_states(mechanism, 2, 1)
    q, v = (drawn[name].astype(float) for name in "qv")
    C = coriolis_matrix(motion, q, v)
    assert close(times(C, v), motion.bias_force(q, v) - motion.gravity_force(q))
    h = 1e-6
    rate = (motion.mass_matrix(q + h * v) - motion.mass_matrix(q - h * v)) / (2 * h)
    assert close(C + np.swapaxes(C, -1, -2), rate, 1e-7)


def test_commutators_of_a_free_body_are_those_of_screws() -> None:
    """[E_k, E_j] is the cross product of its rotations, and of a rotation with a translation."""
    motion = Reference(random_mechanism(1, 1, joints=("free",)))
    c = commutators(motion)
    x, y = np.array([0.5, -1, 2, 3, -0.25, 1]), np.array([1, 2, -0.5, -1, 0.75, 2])
    linear = np.cross(x[3:], y[:3]) + np.cross(x[:3], y[3:])
    angular = np.cross(x[3:], y[3:])
    assert np.einsum("kjl,k,j->l", c, x, y) == pytest.approx([*linear, *angular])
    hinge = Reference(random_mechanism(2, 1))
    assert (commutators(hinge) == 0).all()


def test_each_body_is_placed_by_its_transform_to_its_parent() -> None:
    q = states()["q"]
    placements = reference().placements(q)
    for i, parent in enumerate(tree().parents):
        turn, shift = reference().parent_transform(i, q)
        if parent < 0:
            expected = turn, shift
        else:
            base, origin = placements[parent].turn[0], placements[parent].shift[0]
            expected = base @ turn, origin + times(base, np.broadcast_to(shift, (STATES, 3)))
        assert close(placements[i].turn[0] + np.zeros((STATES, 3, 3)), expected[0])
        assert close(placements[i].shift[0] + np.zeros((STATES, 3)), expected[1])


def led(offset: str = "0.5") -> Mechanism:
    """Return a hinge and its follower, −3 times as fast, with a drive at each and half of the
    weight cancelled.
    """
    builder = symgen.Robot("led", gravity=(0, -10, 0), mimic="couple", friction_speed="0.25")
    for name, parent, more in (
        ("a", "base", {"armature": "0.5", "damping": 3}),
        (
            "b",
            "a",
            {
                "mimic": ("a_joint", -3, offset),
                "armature": 2,
                "damping": 5,
                "friction": 7,
                "stiffness": 4,
                "rest": "0.25",
            },
        ),
    ):
        builder.body(name, parent=parent, type="revolute", axis=(0, 0, 1), xyz=(1, 0, 0), mass=2,
                     centre=(1, 0, 0), gravcomp="0.5", **more)  # fmt: skip
    return builder.build()


def test_drives_of_a_joint_and_of_its_follower_are_known_in_closed_form() -> None:
    """At q = 0.3, v = 2 and a = −1 the follower is at −0.4, −6 and 3; its force counts −3 times."""
    motion = Reference(led())
    q, v, a = (np.array([x]) for x in (0.3, 2.0, -1.0))
    hinge = 0.5 * -1 + 3 * 2
    follower = 2 * 3 + 5 * -6 + 7 * -6 / np.sqrt(36 + 1 / 16) + 4 * (-0.4 - 0.25)
    force = add_drive_forces(motion, 0 * v, q, v, a) + gravity_compensation(motion, q)
    assert force == pytest.approx([hinge - 3 * follower])
    armature = add_armature(motion, np.zeros((1, 1)))
    assert armature == pytest.approx(np.array([[0.5 + 9 * 2]]))
    assert add_armature(motion, armature, -1) == pytest.approx(np.zeros((1, 1)))
    energy = centroidal.kinetic_energy(motion, q, v) - centroidal.kinetic_energy(
        Reference(motion.mechanism.without_drives), q, v
    )
    assert energy == pytest.approx(18.5 * 4 / 2)


def test_gravity_compensation_is_the_cancelled_weight_at_its_lever() -> None:
    """Half of 20 N pulls each link down, at cos q and cos q + cos(0.5 − 2 q); its work per rad of q
    has the rates 1 and −2.
    """
    motion, q = Reference(led()), np.array([0.3])
    first = np.cos(0.3)
    inner, outer = first, first + -2 * np.cos(0.5 - 0.6)
    assert gravity_compensation(motion, q) == pytest.approx([10 * (inner + outer)])


def test_followers_are_placed_by_the_multiple_and_the_offset_of_their_leader() -> None:
    """At q = 0.3 the follower has turned by 0.5 − 0.9."""
    turns, shifts = centroidal.link_poses(Reference(led()), np.array([0.3]))
    angle = 0.3 + 0.5 - 0.9
    assert turns[1][:2, :2] == pytest.approx(
        np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    )
    assert shifts[1] == pytest.approx([1 + np.cos(0.3), np.sin(0.3), 0])


@pytest.mark.parametrize("shape", [None, (6,), (2, 5), (3, 6)])
def test_wrenches_of_another_shape_are_refused(shape: tuple[int, ...] | None) -> None:
    pushed = Reference(tree(), wrench=("link3", "link6"))
    q, v, a = (states()[name][0] for name in "qva")
    wrench = None if shape is None else np.zeros(shape)
    with pytest.raises(
        ArgumentError, match="external wrench on 'link3', 'link6'; pass six numbers"
    ):
        pushed.inverse_dynamics(q, v, a, wrench=wrench)


def test_wrenches_summed_from_the_tips_give_inverse_dynamics() -> None:
    q, v, a = (states()[name] for name in "qva")
    tau = reference().inverse_dynamics(q, v, a)
    assert close(long.inverse_dynamics(reference(), q, v, a), tau)
    assert close(times(reference().mass_matrix(q), a) + reference().bias_force(q, v), tau)


def test_the_motion_that_forces_cause_leaves_no_force() -> None:
    q, v, tau = (states()[name] for name in ("q", "v", "tau"))
    with_frame = Reference(tree(), frame="link6")
    results = long.forward_dynamics_results(with_frame, Articulated(with_frame, q), q, v, tau)
    assert close(results["a"], with_frame.forward_dynamics(q, v, tau), 1e-8)
    assert np.abs(results["left"]).max() < 1e-8
    links, tip = with_frame.link_accelerations(q, v, tau)
    assert close(results["alpha"], links, 1e-8)
    assert close(results["alpha_tip"], tip, 1e-8)
    wrenches = forces.interbody_forces(with_frame, q, v, results["a"])
    assert close(results["F"], wrenches, 1e-8)
    inverse = long.operational_inertia_inverse(with_frame, Articulated(with_frame, q), q)
    assert close(inverse, with_frame.operational_inertia_inverse(q), 1e-8)


def test_wrenches_across_joints_do_the_work_of_the_joint_forces() -> None:
    """Along the joint's twists they are the forces without those of drives, also with a load and
    external wrenches.
    """
    q, v, a, load, wrench = (states()[name] for name in ("q", "v", "a", "payload", "wrench"))
    loaded = Reference(tree(False), payload="link2", wrench=("link3", "link6"))
    F = forces.interbody_forces(loaded, q, v, a, load, wrench)
    tau = loaded.inverse_dynamics(q, v, a, load, wrench)
    placements = loaded.placements(q)
    for i, placement in enumerate(placements):
        for (angular, linear), (k, _) in zip(
            loaded.twists(i, placement.turn[0]), loaded.shares[i], strict=True
        ):
            work = (angular * F[:, i, :3]).sum(axis=-1) + (linear * F[:, i, 3:]).sum(axis=-1)
            assert close(work, tau[:, k], 1e-9)


def test_external_wrenches_act_by_the_jacobians_of_their_links() -> None:
    """Their axes are those of the links."""
    q, v, a, wrench = (states()[name] for name in ("q", "v", "a", "wrench"))
    pushed = Reference(tree(), wrench=("link3", "link6"))
    difference_of_forces = reference().inverse_dynamics(q, v, a) - pushed.inverse_dynamics(
        q, v, a, wrench=wrench
    )
    expected = 0 * v
    for k, name in enumerate(("link3", "link6")):
        of_link = Reference(tree(), frame=name)
        turn, _ = of_link.forward_kinematics(q)
        halves = [times(turn, wrench[:, k, part]) for part in (slice(0, 3), slice(3, 6))]
        J = of_link.jacobian(q)
        expected = expected + times(np.swapaxes(J, -1, -2), np.concatenate(halves, axis=-1))
    assert close(difference_of_forces, expected)


def test_the_regressor_is_linear_in_the_declared_parameters() -> None:
    """Without drives, Y π is inverse dynamics."""
    q, v, a = (states()[name] for name in "qva")
    without = reference(False)
    tau = times(regressor(without, q, v, a), declared_parameters(without))
    assert close(tau, without.inverse_dynamics(q, v, a))


# -- all links together --


def test_momentum_energy_and_mass_centre_agree() -> None:
    q, v = states()["q"], states()["v"]
    load = states()["payload"]
    loaded = Reference(tree(), payload="link2")
    mass = sum(float(part.mass) for body in tree().bodies for part in body.parts) + load[:, 0]
    h = centroidal.centroidal_momentum(loaded, q, v, load)
    assert close(times(centroidal.centroidal_momentum_matrix(loaded, q, load), v), h)
    speed = times(centroidal.center_of_mass_jacobian(loaded, q, load), v)
    assert close(h[:, 3:], mass[:, None] * speed)
    energy = (v * times(loaded.mass_matrix(q, load), v)).sum(axis=-1) / 2
    assert close(centroidal.kinetic_energy(loaded, q, v, load), energy)


def test_rates_of_momentum_and_mass_centre_are_derivatives_along_the_motion() -> None:
    """Compare with differences over 1e-5 s along q ⊕ (v t + a t²/2), which only rates of v see."""
    q, v, a = (states()[name] for name in "qva")
    motion, h = reference(), 1e-5

    def momentum(t: float) -> Array:
        at = integrate(motion, q, v + a * t / 2, np.full(STATES, t))
        return centroidal.centroidal_momentum(motion, at, v + a * t)

    rate = (momentum(h) - momentum(-h)) / (2 * h)
    assert close(centroidal.centroidal_momentum_rate(motion, q, v, a), rate, 1e-6)
    up, down = (
        centroidal.center_of_mass(motion, integrate(motion, q, v, np.full(STATES, t)))
        for t in (h, -h)
    )
    speed = times(centroidal.center_of_mass_jacobian(motion, q), v)
    assert close((up - down) / (2 * h), speed, 1e-6)


def test_poses_of_links_are_those_of_each_frame() -> None:
    q = states()["q"]
    turns, shifts = centroidal.link_poses(reference(), q)
    for i in range(len(tree().bodies)):
        turn, shift = Reference(tree(), frame=f"link{i}").forward_kinematics(q)
        assert close(turns[:, i], turn)
        assert close(shifts[:, i], shift)


def jacobian(reference: Reference, q: Array) -> Array:
    """Return J in the convention of a reference."""
    return np.asarray(reference.evaluate("jacobian", {"q": q})["J"])


@pytest.mark.parametrize("frame", ["aligned", "local", "world"])
@pytest.mark.parametrize("order", ["angular", "linear"])
def test_conventions_convert_there_and_back_and_their_rates_are_derivatives(
    frame: str, order: str
) -> None:
    q, v, h = states()["q"], states()["v"], 1e-5
    convention = Convention(frame, order)
    usual, converting = (
        Reference(tree(), frame="link6"),
        Reference(tree(), frame="link6", convention=convention),
    )
    turn, origin = usual.forward_kinematics(q)
    J = usual.jacobian(q)
    converted = jacobian(converting, q)
    assert close(convert_jacobian(convention, turn, origin, J), converted)
    assert close(to_base_axes(convention, turn, origin, converted), J)
    twists = [
        times(jacobian(converting, integrate(converting, q, v, np.full(STATES, t))), v)
        for t in (h, -h)
    ]
    bias = centroidal.bias_acceleration(converting, q, v)
    assert close((twists[0] - twists[1]) / (2 * h), bias, 1e-6)


def test_a_local_twist_moves_the_frame_along_its_own_axes() -> None:
    """The pose (R, p) has the twist (w, u) in its own axes: Ṙ = R w× and ṗ = R u."""
    q, v, h = states()["q"], states()["v"], 1e-6
    local = Reference(tree(), frame="link6", convention=Convention("local", "angular"))
    turn, _ = local.forward_kinematics(q)
    twist = times(jacobian(local, q), v)
    (turn_up, up), (turn_down, down) = (
        local.forward_kinematics(integrate(local, q, v, np.full(STATES, t))) for t in (h, -h)
    )
    assert close((up - down) / (2 * h), times(turn, twist[:, 3:]), 1e-6)
    spin = np.swapaxes(turn, -1, -2) @ (turn_up - turn_down) / (2 * h)
    axial = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
    assert close(axial, twist[:, :3], 1e-6)


# -- displacements --


@pytest.mark.parametrize("scalars", [FLOAT, arb(60)], ids=lambda scalars: scalars.name)
def test_the_difference_undoes_a_step_and_halves_make_a_whole(scalars: object) -> None:
    motion = Reference(tree(), scalars)  # type: ignore[arg-type]
    tolerance = 1e-12 if scalars is FLOAT else 1e-50
    drawn = draw_states(tree(), 12, 3)
    q, v = (motion.scalars.array(drawn[name][[0, 4, 8]]) for name in "qv")
    dt = motion.scalars.array([0.25, -0.125, 0.5])
    with motion.scalars.working():
        step = v * dt[:, None]
        reached = integrate(motion, q, v, dt)
        left = difference(motion, q, reached) - step
        halfway = integrate(motion, integrate(motion, q, v, dt / 2), v, dt / 2)
        back = integrate(motion, reached, v, -dt)
        for error in (left, halfway - reached, back - q):
            assert max(float(abs(x)) for x in error.ravel()) < tolerance


def test_the_exponential_of_a_twist_is_that_of_its_matrix() -> None:
    """Compare with a Taylor series of the 4×4 matrix; the quaternion is that of half the angle,
    and keeps its sign.
    """
    for size in (0.1, 1.0, 4.0, 9.0):
        spin, shift = size * np.array([2.0, -3.0, 6.0]) / 7, np.array([0.5, -1.0, 2.0])
        matrix = np.zeros((4, 4))
        matrix[:3, :3] = np.cross(np.eye(3), spin)
        matrix[:3, 3] = shift
        expected, term = np.eye(4), np.eye(4)
        for k in range(1, 80):
            term = term @ matrix / k
            expected = expected + term
        rotation, displaced = exponential(spin, shift, FLOAT)
        assert rotation == pytest.approx(
            [*(np.sin(size / 2) * spin / size), np.cos(size / 2)], abs=1e-12
        )
        assert displaced == pytest.approx(expected[:3, 3], abs=1e-11)
        if size < np.pi:
            for sign in (1, -1):
                back = logarithm(sign * rotation, displaced, FLOAT)
                assert np.concatenate(back) == pytest.approx([*spin, *shift], abs=1e-12)
