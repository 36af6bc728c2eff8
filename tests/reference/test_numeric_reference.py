"""The reference against closed forms, against the energy route, against relations that every
mechanism obeys, and Pinocchio.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest

from symgen.mechanism.mechanism import Body, Mechanism, Part
from symgen.reference.base import base_parameter_map
from symgen.reference.mechanics import ORACLES, Reference
from symgen.reference.precision import FLOAT, Scalars, arb
from symgen.reference.states import draw_states
from symgen.support.errors import MechanismError, RequestError, UnknownName
from symgen.vocabulary.functions import FUNCTIONS, LOOP_FUNCTIONS
from symgen.vocabulary.poses import Angle, Shift
from tests.shared.oracles import CLOSED_FORMS, christoffel_bias, random_tree

DIGITS = 80
TREES = [
    random_tree(seed, n, generic=seed % 2 == 0) for seed, n in ((0, 3), (1, 4), (2, 5), (3, 7))
]


def states(
    mechanism: Mechanism, count: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    q, v, a = (draw.uniform(-2, 2, (count, mechanism.nv)) for _ in range(3))
    return q, v, a


def largest(balls: object) -> float:
    """Upper bound of the largest magnitude in an array of balls or floats."""
    return max(float(abs(flint.arb(x)).upper()) for x in np.ravel(np.asarray(balls)))


@pytest.mark.parametrize("form", CLOSED_FORMS)
def test_floats_agree_with_the_textbook(form: str) -> None:
    oracle = CLOSED_FORMS[form]()
    q, v, a = states(oracle.mechanism, 50)
    reference = Reference(oracle.mechanism)
    mass, bias, gravity = (
        np.array(x)
        for x in zip(
            *(oracle.answer(float, np.sin, np.cos, q[i], v[i]) for i in range(len(q))), strict=True
        )
    )
    # both sides are a dozen double operations on numbers of order 10
    assert np.allclose(reference.mass_matrix(q), mass, rtol=0, atol=1e-12)
    assert np.allclose(reference.bias_force(q, v), bias, rtol=0, atol=1e-12)
    assert np.allclose(reference.gravity_force(q), gravity, rtol=0, atol=1e-12)
    assert np.allclose(
        reference.inverse_dynamics(q, v, a),
        (mass @ a[..., None])[..., 0] + bias,
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("form", CLOSED_FORMS)
def test_balls_agree_with_the_textbook_to_sixty_digits(form: str) -> None:
    oracle = CLOSED_FORMS[form]()
    scalars = arb(DIGITS)
    reference = Reference(oracle.mechanism, scalars)
    q, v = (
        scalars.array([Fraction(7, 10), Fraction(-13, 10)]),
        scalars.array([Fraction(11, 10), Fraction(-3, 10)]),
    )
    with scalars.working():
        mass, bias, gravity = oracle.answer(
            scalars.constant, lambda x: x.sin(), lambda x: x.cos(), q, v
        )
        assert largest(reference.mass_matrix(q) - np.array(mass)) < 1e-60
        assert largest(reference.bias_force(q, v) - np.array(bias)) < 1e-60
        assert largest(reference.gravity_force(q) - np.array(gravity)) < 1e-60


@pytest.mark.parametrize("tree", TREES[:3], ids=lambda t: t.name)
def test_bias_agrees_with_christoffel_symbols(tree: Mechanism) -> None:
    scalars = arb(200)
    reference = Reference(tree, scalars)
    q, v, _ = (scalars.array(x[0]) for x in states(tree, 1))
    with scalars.working():
        assert largest(reference.bias_force(q, v) - christoffel_bias(reference, q, v)) < 1e-60


@pytest.mark.parametrize("tree", TREES, ids=lambda t: t.name)
def test_inverse_dynamics_is_mass_times_acceleration_plus_bias(tree: Mechanism) -> None:
    reference = Reference(tree)
    q, v, a = states(tree, 20)
    tau, mass, bias = (
        reference.inverse_dynamics(q, v, a),
        reference.mass_matrix(q),
        reference.bias_force(q, v),
    )
    scale = np.abs(mass).max() * np.abs(a).max() + np.abs(bias).max()
    assert np.abs((mass @ a[..., None])[..., 0] + bias - tau).max() < 1e-13 * tree.nv * scale
    assert (
        np.abs(reference.forward_dynamics(q, v, tau) - a).max()
        < 1e-15 * 16 * np.linalg.cond(mass).max() * scale
    )
    assert np.allclose(
        reference.inverse_mass_matrix(q) @ mass,
        np.eye(tree.nv),
        rtol=0,
        atol=1e-14 * np.linalg.cond(mass).max(),
    )
    assert np.allclose(reference.mass_matrix_determinant(q), np.linalg.det(mass))


@pytest.mark.parametrize("tree", TREES[:3], ids=lambda t: t.name)
def test_energy_is_balanced_and_mdot_minus_2c_does_no_work(tree: Mechanism) -> None:
    """d/dt (½vᵀMv + V) = vᵀtau along the motion, and vᵀ(Ṁ v − 2(c − g)) = 0: by central differences
    in 200 digits.
    """
    scalars = arb(200)
    reference = Reference(tree, scalars)
    q, v, a = (scalars.array(x[0]) for x in states(tree, 1, seed=5))
    with scalars.working():
        h = scalars.constant(Fraction(1, 10**50))

        def after(t: object) -> tuple[object, object]:
            at, speed = q + v * t + a * t * t / 2, v + a * t
            mass = reference.mass_matrix(at)
            return speed @ mass @ speed / 2 + reference.potential_energy(at)[()], mass

        (up, mass_up), (down, mass_down) = after(h), after(-h)
        power = v @ reference.inverse_dynamics(q, v, a)
        assert largest((up - down) / (2 * h) - power) < 1e-60
        rate = (mass_up - mass_down) / (2 * h)
        coriolis = reference.bias_force(q, v) - reference.gravity_force(q)
        assert largest(v @ rate @ v - 2 * (v @ coriolis)) < 1e-60
        assert largest(power) > 1e-3


@pytest.mark.parametrize("tree", TREES, ids=lambda t: t.name)
def test_jacobian_is_the_derivative_of_the_pose(tree: Mechanism) -> None:
    scalars = arb(200)
    reference = Reference(tree, scalars, frame="tool")
    q, v, _ = (scalars.array(x[0]) for x in states(tree, 1, seed=3))
    with scalars.working():
        h = scalars.constant(Fraction(1, 10**50))
        (turn_up, up), (turn_down, down) = (
            reference.forward_kinematics(q + v * h),
            reference.forward_kinematics(q - v * h),
        )
        twist = reference.jacobian(q) @ v
        assert largest((up - down) / (2 * h) - twist[3:]) < 1e-60
        spin = (turn_up - turn_down) / (2 * h) @ reference.forward_kinematics(q)[0].T
        assert largest(np.array([spin[2, 1], spin[0, 2], spin[1, 0]]) - twist[:3]) < 1e-60


@pytest.mark.parametrize("tree", TREES[:3], ids=lambda t: t.name)
def test_link_accelerations_are_those_of_every_frames_jacobian(tree: Mechanism) -> None:
    """(ω̇, v̇) = J a + J̇ v at each body's frame and at the chosen one, by central differences in
    200 digits.
    """
    scalars = arb(200)
    q, v, tau = (scalars.array(x[0]) for x in states(tree, 1, seed=4))
    links, tip = Reference(tree, scalars, frame="tool").link_accelerations(q, v, tau)
    with scalars.working():
        h, a = (
            scalars.constant(Fraction(1, 10**50)),
            Reference(tree, scalars).forward_dynamics(q, v, tau),
        )
        for frame, acceleration in (
            *((f"link{i}", links[i]) for i in range(tree.nv)),
            ("tool", tip),
        ):
            reference = Reference(tree, scalars, frame=frame)
            rate = (reference.jacobian(q + v * h) - reference.jacobian(q - v * h)) / (2 * h)
            assert largest(reference.jacobian(q) @ a + rate @ v - acceleration) < 1e-60


def test_states_have_arguments_of_derivatives_and_keep_arguments_of_the_function() -> None:
    tree = random_tree(3, 1)
    usual = draw_states(tree, 2)
    states = draw_states(tree, 2, derivative_shapes={"dq": (3,), "tau_bar": (4, 3), "v": (5,)})
    assert set(states) - set(usual) == {"dq", "tau_bar"}
    assert (states["dq"].shape, states["tau_bar"].shape) == ((2, 3), (2, 4, 3))
    for name, values in usual.items():
        np.testing.assert_array_equal(states[name], values)


def test_a_payload_is_one_more_part() -> None:
    """A load given at run time equals a declared load, also if each state carries its own."""
    tree = random_tree(4, 4)
    mass, centre = Fraction(5, 4), (Fraction(1, 10), Fraction(-1, 5), Fraction(1, 4))
    about_centre = tuple(Fraction(x, 1000) for x in (30, 2, -1, 40, 3, 50))
    x, y, z = centre
    steiner = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
    ten = [
        float(mass),
        *map(float, centre),
        *(float(i + mass * s) for i, s in zip(about_centre, steiner, strict=True)),
    ]
    frame = tree.frame("tool")
    pose = (*frame.pose, Shift(centre))
    load_part = Part("load", pose, mass, about_centre)  # type: ignore[arg-type]
    bodies = [*tree.bodies]
    bodies[frame.body] = Body(bodies[frame.body].name, (*bodies[frame.body].parts, load_part))
    declared = Reference(replace(tree, bodies=tuple(bodies)))
    carried = Reference(tree, payload="tool")
    q, v, a = states(tree, 6)
    loads = np.array([ten] * 6)
    assert np.allclose(
        carried.inverse_dynamics(q, v, a, loads),
        declared.inverse_dynamics(q, v, a),
        rtol=1e-12,
        atol=1e-12,
    )
    assert np.allclose(
        carried.mass_matrix(q, loads), declared.mass_matrix(q), rtol=1e-12, atol=1e-12
    )
    loads[0] = 0
    assert np.allclose(
        carried.mass_matrix(q, loads)[0], Reference(tree).mass_matrix(q)[0], rtol=1e-12, atol=1e-12
    )
    assert np.allclose(
        carried.gravity_force(q, loads)[1:], declared.gravity_force(q)[1:], rtol=1e-12, atol=1e-12
    )
    with pytest.raises(RequestError, match="payload"):
        carried.mass_matrix(q)


@pytest.mark.slow
def test_every_function_has_an_oracle_of_the_declared_shape() -> None:
    tree = TREES[1]
    assert set(ORACLES) == {
        *FUNCTIONS,
        *LOOP_FUNCTIONS,
    }  # tests/methods/test_closed_loops.py asks of those of loops
    reference = Reference(tree, frame="tool", task_rows=(3, 5), contact="tool")
    sizes = tree.sizes._replace(NR=len(base_parameter_map(reference)[0]), NK=2, NT=1)
    for function in FUNCTIONS.values():
        for batch in ((), (3,), (2, 3)):
            expected = {x.name: (*batch, *x.sizes(sizes)) for x in function.results}
            arguments = {
                x.name: np.full((*batch, *x.sizes(sizes)), 0.3) for x in function.arguments
            }
            results = reference.evaluate(function.name, arguments)
            assert {name: result.shape for name, result in results.items()} == expected


@pytest.mark.slow
def test_floats_are_the_balls_rounded() -> None:
    tree = TREES[2]
    q, v, a = states(tree, 1, seed=9)
    exact, pi = (
        Reference(tree, arb(50), frame="tool", task_rows=(3, 5), contact="tool"),
        np.full((1, 10 * len(tree.bodies)), 0.3),
    )
    for function in FUNCTIONS.values():
        arguments = {
            x.name: {"q": q, "v": v, "pi": pi, "active": np.ones((1, 1))}.get(x.name, a)
            for x in function.arguments
        }
        ours = Reference(tree, FLOAT, frame="tool", task_rows=(3, 5), contact="tool").evaluate(
            function.name, arguments
        )
        reference_results = exact.evaluate(function.name, arguments)
        for name, value in ours.items():
            expected = np.array(reference_results[name], dtype=float)
            condition = 1e3 if function.needs_inverse else 1.0  # of these trees' mass matrices
            assert np.abs(value - expected).max() <= 1e-13 * condition * np.abs(expected).max(), (
                function.name,
                name,
            )


@pytest.mark.parametrize("radians", [Fraction(0), Fraction(1, 3)])
@pytest.mark.parametrize("scalars", [FLOAT, arb(60)], ids=lambda scalars: scalars.name)
def test_an_angle_is_radians_and_a_multiple_of_pi(scalars: Scalars, radians: Fraction) -> None:
    total = float(radians) + np.pi * 2 / 7
    with scalars.working():
        sine, cosine = scalars.sine_cosine(Angle(radians=radians, pi=Fraction(2, 7)))
        assert (float(sine), float(cosine)) == pytest.approx(
            (np.sin(total), np.cos(total)), abs=1e-15
        )


def test_an_unknown_joint_type_and_a_missing_number_are_named() -> None:
    tree = TREES[0]
    joints = (replace(tree.joints[0], kind="helical"), *tree.joints[1:])
    with pytest.raises(
        MechanismError,
        match=r"joint 'joint0' is helical and declares no parameters; its type takes pitch",
    ):
        replace(tree, joints=joints)
    with pytest.raises(
        UnknownName,
        match="joint type 'helicl' is not known; there are: continuous, cylindrical, free, helical",
    ):
        replace(tree, joints=(replace(tree.joints[0], kind="helicl"), *tree.joints[1:]))


def test_pinocchio_agrees_on_a_random_tree() -> None:
    pin = pytest.importorskip("pinocchio")
    for seed in range(4):
        tree = random_tree(10 + seed, 9)
        reference = Reference(tree)
        model = pin.Model()
        model.gravity.linear = np.array([float(x) for x in tree.gravity])
        for index, (joint, body) in enumerate(zip(tree.joints, tree.bodies, strict=True)):
            axis = np.array([float(x) for x in joint.axis])
            axis /= np.linalg.norm(axis)
            kind = (
                pin.JointModelPrismaticUnaligned
                if joint.kind == "prismatic"
                else pin.JointModelRevoluteUnaligned
            )
            identity = model.addJoint(
                joint.parent + 1, kind(axis), pin.SE3(*reference.pose(joint.pose)), joint.name
            )
            assert identity == index + 1
            for part in body.parts:
                xx, xy, xz, yy, yz, zz = (float(x) for x in part.moments)
                inertia = pin.Inertia(
                    float(part.mass),
                    np.zeros(3),
                    np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]),
                )
                model.appendBodyToJoint(identity, inertia, pin.SE3(*reference.pose(part.pose)))
        data = model.createData()
        q, v, a = states(tree, 5)
        tau = reference.inverse_dynamics(q, v, a)
        for k in range(5):
            theirs = pin.rnea(model, data, q[k], v[k], a[k])
            assert np.abs(theirs - tau[k]).max() <= 1e-12 * np.abs(theirs).max()
