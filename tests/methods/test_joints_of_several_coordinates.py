"""Joints with several degrees of freedom: slices of q and v, columns of H, methods, determinants
and quaternions.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.derivation import closed_forms
from symgen.description.tip import tip
from symgen.emission.backends import c99
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states
from symgen.support.errors import StateError
from symgen.verification.algebra import check_algebra
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import check_floating
from symgen.verification.text import Source, check_text
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from tests.shared.ball_trees import tree
from tests.shared.robots_for_tests import LONG, PROVIDED, random_mechanism

SEVERAL = tuple(kind for kind in kinds() if joint_type(kind).nv > 1)
# Without "fixman", an alias of fixman:spatial here; tests/methods/test_time_step.py tests steps.
METHODS = tuple(
    name
    for name in methods.names()
    if methods.find(name).functions
    and name not in ("fixman:planar", "fixman")
    and not (methods.find(name).mimic_only or methods.find(name).choice == "explicit")
)
ROBOTS = (("free", "spherical"), ("cylindrical", "planar", "revolute"))


def random_states(mechanism: Mechanism, count: int) -> dict[str, Array]:
    return {name: values.astype(float) for name, values in draw_states(mechanism, count).items()}


def test_slices_are_consecutive_and_entries_have_distinct_names() -> None:
    mechanism = tree(["free", "revolute", "cylindrical"], "slices")
    assert (mechanism.nq, mechanism.nv, mechanism.sizes) == (10, 9, Sizes(10, 9, 3, 1, 1, NP=30))
    assert [(s.start, s.stop) for s in mechanism.q_slices] == [(0, 7), (7, 8), (8, 10)]
    assert [(s.start, s.stop) for s in mechanism.v_slices] == [(0, 6), (6, 7), (7, 9)]
    assert mechanism.dofs == (*((0, k) for k in range(6)), (1, 0), (2, 0), (2, 1))
    assert mechanism.quaternions == (3,)
    assert mechanism.coordinate_names == (
        *(f"joint0.{x}" for x in ("px", "py", "pz", "x", "y", "z", "w")),
        "joint1",
        "joint2.angle",
        "joint2.distance",
    )
    assert mechanism.velocity_names == (
        *(f"joint0.{x}" for x in ("vx", "vy", "vz", "wx", "wy", "wz")),
        "joint1",
        "joint2.angle",
        "joint2.distance",
    )


@pytest.mark.parametrize("kind", SEVERAL)
def test_motion_columns_are_those_declared_by_the_joint_type(kind: str) -> None:
    """`along`, which the reference uses, equals the columns that the derivation obtains by
    differentiation.
    """
    of_type, H = joint_type(kind), closed_forms.joint_form(kind).motion_subspace
    assert H.shape == (6, of_type.nv)
    if of_type.along is not None:
        rows = [
            along + 3 * (velocity.unit == "m")
            for along, velocity in zip(of_type.along, of_type.velocities, strict=True)
        ]
        assert [[r for r in range(6) if H[r, k] != 0] for k in range(of_type.nv)] == [
            [row] for row in rows
        ]
        assert all(H[row, k] == 1 for k, row in enumerate(rows))


@cache
def exact_results(kinds_of_joints: tuple[str, ...]) -> ExactResults:
    mechanism = tree(kinds_of_joints, "_".join(kinds_of_joints))
    return ExactResults(mechanism, 1, frame=tip(mechanism))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_equals_the_reference_on_joints_of_several_degrees(method: str) -> None:
    """Compare every method with the reference; tests/verification/test_random_robots.py verifies
    the text and its round-off.
    """
    for kinds_of_joints in ROBOTS:
        for function in (
            name
            for name, provider in PROVIDED
            if provider == method and (name not in LONG or kinds_of_joints == ROBOTS[0])
        ):
            check = check_algebra(
                symgen.program(exact_results(kinds_of_joints).mechanism, function, method),
                exact_results(kinds_of_joints),
                function,
            )
            assert (check.passed, check.error < 1e-40) == (True, True), (
                f"{function} of {kinds_of_joints}: {check}"
            )


def test_a_cylindrical_joint_equals_a_revolute_and_a_prismatic_joint() -> None:
    """A revolute and a prismatic joint on one axis, with a massless body between them, have the
    same dynamics.
    """
    cylindrical = tree(["cylindrical", "revolute"], "one")
    first = cylindrical.joints[0]
    two_joints = replace(
        cylindrical,
        name="apart",
        joints=(
            replace(first, kind="revolute"),
            replace(first, name="slide", kind="prismatic", parent=0, pose=()),
            *(
                replace(joint, parent=joint.parent + 1 if joint.parent >= 0 else -1)
                for joint in cylindrical.joints[1:]
            ),
        ),
        bodies=(replace(cylindrical.bodies[0], name="between", parts=()), *cylindrical.bodies),
        frames=tuple(
            replace(frame, body=frame.body + 1 if frame.body >= 0 else -1)
            for frame in cylindrical.frames
        ),
    )
    at = random_states(cylindrical, 3)
    cylindrical_reference, two_joint_reference = Reference(cylindrical), Reference(two_joints)
    assert (
        np.abs(
            cylindrical_reference.mass_matrix(at["q"]) - two_joint_reference.mass_matrix(at["q"])
        ).max()
        < 1e-12
    )
    assert (
        np.abs(
            cylindrical_reference.inverse_dynamics(at["q"], at["v"], at["a"])
            - two_joint_reference.inverse_dynamics(at["q"], at["v"], at["a"])
        ).max()
        < 1e-11
    )


def test_a_free_body_obeys_newton_and_euler() -> None:
    """In body axes about the mass centre: m (v̇ + ω × v − Rᵀ g) and I ω̇ + ω × I ω."""
    mechanism = tree(["free"], "body")
    part = replace(
        mechanism.bodies[0].parts[0], pose=(), moments=tuple(map(Fraction, (2, 0, 0, 3, 0, 4)))
    )
    joint = replace(mechanism.joints[0], pose=())
    mechanism = replace(
        mechanism, joints=(joint,), bodies=(replace(mechanism.bodies[0], parts=(part,)),)
    )
    at = random_states(mechanism, 4)
    solver = symgen.compile(mechanism, ["inverse_dynamics"], optimize=0)
    x, y, z, w = at["q"][:, 3:].T
    m, inertia = float(part.mass), np.array([2.0, 3.0, 4.0])
    down = np.stack(
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z], axis=-1
    )  # Rᵀ z
    v, spin, a, dspin = at["v"][:, :3], at["v"][:, 3:], at["a"][:, :3], at["a"][:, 3:]
    force = m * (a + np.cross(spin, v) + 9.81 * down)
    moment = inertia * dspin + np.cross(spin, inertia * spin)
    assert (
        np.abs(
            solver.inverse_dynamics(at["q"], at["v"], at["a"]) - np.hstack([force, moment])
        ).max()
        < 1e-12
    )


def light(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with links of some billionths of a kilogram."""
    return replace(
        mechanism,
        bodies=tuple(
            replace(
                body,
                parts=tuple(
                    replace(
                        part, mass=part.mass / 10**9, moments=tuple(x / 10**9 for x in part.moments)
                    )
                    for part in body.parts
                ),
            )
            for body in mechanism.bodies
        ),
    )


def test_a_determinant_that_underflows_in_float_is_refused_or_not_judged() -> None:
    """det M of a free body has six small factors and underflows in float."""
    with pytest.raises(
        symgen.SymgenError,
        match=r"is a constant of about 1e-5\d, which is zero in a float; use other units",
    ):
        symgen.verify(
            light(tree(["free"], "gnat")),
            ["mass_matrix_determinant"],
            states=1,
            real="float",
            compiled=False,
        )
    report = symgen.verify(
        light(random_mechanism(5, 3)),
        ["mass_matrix_determinant"],
        states=1,
        real="float",
        compiled=False,
    )
    (check,) = report.of("floating")
    assert (check.verdict, check.lost) == ("not judged", True)
    assert (
        check.unjudged == "det is below the smallest number that a float holds with all its digits"
    )


def heavy(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with links of some hundred thousand tons."""
    return replace(
        mechanism,
        bodies=tuple(
            replace(
                body,
                parts=tuple(
                    replace(
                        part, mass=part.mass * 10**8, moments=tuple(x * 10**8 for x in part.moments)
                    )
                    for part in body.parts
                ),
            )
            for body in mechanism.bodies
        ),
    )


@pytest.mark.slow
def test_a_determinant_that_overflows_in_float_is_not_judged() -> None:
    """An overflow of a determinant beyond float's range is not judged, nor are its identities.

    An overflow with the wrong sign fails, and so does an overflow of a determinant within the
    range.
    """
    mechanism = heavy(random_mechanism(5, 3))
    report = symgen.verify(
        mechanism,
        ["mass_matrix", "mass_matrix_determinant"],
        states=1,
        real="float",
        compiled=False,
    )
    check = next(
        check_
        for check_ in report.of("floating")
        if check_.subject.startswith("mass_matrix_determinant")
    )
    assert check.unjudged == "det is above the largest number that a float holds"
    assert not report.failures
    exact_results, program = (
        ExactResults(mechanism, 1),
        symgen.program(mechanism, "mass_matrix_determinant", real="float"),
    )
    for determinant, verdict in ((np.inf, "not judged"), (-np.inf, "failed"), (np.nan, "failed")):
        assert (
            check_floating(
                program, lambda _, x=determinant: {"det": np.array([x])}, exact_results, "det"
            ).verdict
            == verdict
        )
    fits = ExactResults(random_mechanism(5, 3), 1)
    assert (
        check_floating(program, lambda _: {"det": np.array([np.inf])}, fits, "det").verdict
        == "failed"
    )


def test_a_quaternion_and_its_negative_are_one_state() -> None:
    mechanism = tree(["spherical", "revolute"], "both")
    state, reference = random_states(mechanism, 2), Reference(mechanism, FLOAT)
    negated = state["q"] * np.array([-1, -1, -1, -1, 1.0])
    assert np.abs(reference.mass_matrix(state["q"]) - reference.mass_matrix(negated)).max() < 1e-12
    assert mechanism.joints[0].type.neutral == (0, 0, 0, 1)


def test_planar_methods_refuse_with_the_name_of_the_joint() -> None:
    mechanism = tree(["cylindrical", "revolute"], "two")
    refusing = [
        name
        for name in methods.names()
        if methods.find(name).refusal(mechanism)
        and not (methods.find(name).mimic_only or methods.find(name).choice == "explicit")
    ]
    assert refusing == ["fixman:parallel", "fixman:planar", "fixman:segments"]
    assert (
        methods.find("fixman:planar").refusal(mechanism)
        == "fixman:planar needs a serial chain of revolute joints with parallel axes, and in 'two'"
        " joint 'joint0' is cylindrical; use fixman:spatial, or another method, such as riccati"
    )


def test_a_joint_without_an_axis_refuses_one() -> None:
    mechanism = tree(["spherical"], "ball")
    with pytest.raises(
        symgen.SymgenError, match="'joint0' is spherical, which has no axis; remove the axis"
    ):
        replace(
            mechanism,
            joints=(replace(mechanism.joints[0], axis=(Fraction(1), Fraction(0), Fraction(0))),),
        )


# -- quaternions of wrong length -------------------------------------------------------------------


@pytest.mark.parametrize("real", ["double", "float"])
def test_a_checked_function_refuses_a_quaternion_of_another_length(real: str) -> None:
    mechanism = tree(["free"], "one_body")
    solver = symgen.compile(mechanism, ["gravity_force"], real, optimize=0, checked=True)
    slack = {"double": 2.0**-20, "float": 2.0**-12}[real]
    for deviation, refused in ((0.4, False), (-0.4, False), (0.8, True), (-0.8, True)):
        q = np.array([0.0, 0.0, 0.0, 0.6, 0.0, 0.0, 0.8]) * (
            1 + deviation * slack
        )  # the squared length deviates by twice as much
        if refused:
            with pytest.raises(StateError, match="a quaternion does not have length 1"):
                solver.gravity_force(q.astype(solver.gravity_force(np.eye(7)[6]).dtype))
        else:
            assert math.isfinite(
                solver.gravity_force(q.astype(solver.gravity_force(np.eye(7)[6]).dtype))[0]
            )


PLANTED = {
    "another entry": ("q[5]*q[5]", "q[5]*q[4]"),
    "an entry less": (" + q[6]*q[6]", ""),
    "another length": ("- 1.0", "- 2.0"),
    "a wider bound": ("9.5367431640625e-07", "9.5e-06"),
    "another status": ("arm_NOT_UNIT", "arm_DIVISOR"),
    "the other sense": ("<= 9.5", ">= 9.5"),
    "no magnitude": ("fabs(q[3]", "(q[3]"),
}


@pytest.mark.parametrize("error", ["nothing", *PLANTED])
def test_errors_in_the_check_of_a_quaternion_are_caught_by_the_reader(error: str) -> None:
    mechanism = tree(["free", "spherical"], "arm")
    program, target = (
        symgen.program(mechanism, "gravity_force"),
        c99.Target("arm", mechanism.sizes, TextOptions(checked=True)),
    )
    text = c99.source(program, target)
    if error != "nothing":
        old, new = PLANTED[error]
        assert old in text
        text = text.replace(old, new, 1)
    check = check_text(
        program, Source(text, c99.header({"gravity_force": program}, target)), "f", target, {}
    )
    assert check.passed == (error == "nothing")
