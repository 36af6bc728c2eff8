"""Joints of several degrees of freedom: slices of q and v, a column of H each, and the methods that go along them."""

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
from symgen.verification.floating import check_floating
from symgen.verification.text import Source, check_text
from symgen.verification.truth import Truth
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from tests.shared.ball_trees import tree
from tests.shared.robots_for_tests import LONG, PROVIDED, random_mechanism

SEVERAL = tuple(kind for kind in kinds() if joint_type(kind).nv > 1)
ALONG = tuple(
    name
    for name in methods.names()  # but "fixman", which is fixman:spatial on these; of steps see tests/methods/test_time_step.py
    if methods.find(name).functions
    and name not in ("fixman:planar", "fixman")
    and not (methods.find(name).mimic_only or methods.find(name).choice == "explicit")
)
ROBOTS = (("free", "spherical"), ("cylindrical", "planar", "revolute"))


def floats(mechanism: Mechanism, count: int) -> dict[str, Array]:
    return {name: values.astype(float) for name, values in draw_states(mechanism, count).items()}


def test_slices_are_consecutive_and_names_tell_the_entries_apart() -> None:
    made = tree(["free", "revolute", "cylindrical"], "slices")
    assert (made.nq, made.nv, made.sizes) == (10, 9, Sizes(10, 9, 3, 1, 1, NP=30))
    assert [(s.start, s.stop) for s in made.q_slices] == [(0, 7), (7, 8), (8, 10)]
    assert [(s.start, s.stop) for s in made.v_slices] == [(0, 6), (6, 7), (7, 9)]
    assert made.dofs == (*((0, k) for k in range(6)), (1, 0), (2, 0), (2, 1))
    assert made.quaternions == (3,)
    assert made.coordinate_names == (
        *(f"joint0.{x}" for x in ("px", "py", "pz", "x", "y", "z", "w")),
        "joint1",
        "joint2.angle",
        "joint2.distance",
    )
    assert made.velocity_names == (
        *(f"joint0.{x}" for x in ("vx", "vy", "vz", "wx", "wy", "wz")),
        "joint1",
        "joint2.angle",
        "joint2.distance",
    )


@pytest.mark.parametrize("kind", SEVERAL)
def test_columns_are_those_of_the_pose_and_those_that_the_type_says(kind: str) -> None:
    """`along` tells the reference what the derivation differentiates."""
    of_type, H = joint_type(kind), closed_forms.joint_form(kind).motion_subspace
    assert H.shape == (6, of_type.nv)
    if of_type.along is not None:
        rows = [
            along + 3 * (one.unit == "m")
            for along, one in zip(of_type.along, of_type.velocities, strict=True)
        ]
        assert [[r for r in range(6) if H[r, k] != 0] for k in range(of_type.nv)] == [
            [row] for row in rows
        ]
        assert all(H[row, k] == 1 for k, row in enumerate(rows))


@cache
def truth(of: tuple[str, ...]) -> Truth:
    made = tree(of, "_".join(of))
    return Truth(made, 1, frame=tip(made))


@pytest.mark.parametrize("method", ALONG)
def test_every_method_that_takes_them_is_the_reference(method: str) -> None:
    """Compare every method with the reference; tests/verification/test_random_robots.py verifies the text and its round-off."""
    for of in ROBOTS:
        for function in (
            name
            for name, along in PROVIDED
            if along == method and (name not in LONG or of == ROBOTS[0])
        ):
            check = check_algebra(
                symgen.program(truth(of).mechanism, function, method), truth(of), function
            )
            assert (check.passed, check.error < 1e-40) == (True, True), (
                f"{function} of {of}: {check}"
            )


def test_a_cylindrical_joint_is_a_turn_and_a_slide_with_nothing_between() -> None:
    """The reference, too: two joints about one axis with a massless body between them have the same dynamics."""
    one = tree(["cylindrical", "revolute"], "one")
    first = one.joints[0]
    apart = replace(
        one,
        name="apart",
        joints=(
            replace(first, kind="revolute"),
            replace(first, name="slide", kind="prismatic", parent=0, pose=()),
            *(
                replace(joint, parent=joint.parent + 1 if joint.parent >= 0 else -1)
                for joint in one.joints[1:]
            ),
        ),
        bodies=(replace(one.bodies[0], name="between", parts=()), *one.bodies),
        frames=tuple(
            replace(frame, body=frame.body + 1 if frame.body >= 0 else -1) for frame in one.frames
        ),
    )
    at = floats(one, 3)
    ours, theirs = Reference(one), Reference(apart)
    assert np.abs(ours.mass_matrix(at["q"]) - theirs.mass_matrix(at["q"])).max() < 1e-12
    assert (
        np.abs(
            ours.inverse_dynamics(at["q"], at["v"], at["a"])
            - theirs.inverse_dynamics(at["q"], at["v"], at["a"])
        ).max()
        < 1e-11
    )


def test_a_free_body_obeys_euler() -> None:
    """Textbook: m (v̇ + ω × v − Rᵀ g) and I ω̇ + ω × I ω of a body whose mass centre is its origin, in its own axes."""
    made = tree(["free"], "body")
    part = replace(
        made.bodies[0].parts[0], pose=(), moments=tuple(map(Fraction, (2, 0, 0, 3, 0, 4)))
    )
    joint = replace(made.joints[0], pose=())
    made = replace(made, joints=(joint,), bodies=(replace(made.bodies[0], parts=(part,)),))
    at = floats(made, 4)
    solver = symgen.compile(made, ["inverse_dynamics"], optimize=0)
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


def light(made: Mechanism) -> Mechanism:
    """Return the mechanism with links of some billionths of a kilogram."""
    return replace(
        made,
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
            for body in made.bodies
        ),
    )


def test_a_determinant_that_is_nothing_in_float_is_refused_or_not_judged() -> None:
    """det M of a free body has six factors, and leaves a float's range before a joint's has."""
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


def heavy(made: Mechanism) -> Mechanism:
    """Return the mechanism with links of some hundred thousand tons."""
    return replace(
        made,
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
            for body in made.bodies
        ),
    )


def test_a_determinant_that_is_too_large_for_float_is_not_judged() -> None:
    """An overflow of what does not fit is no error, and neither is an identity of it. One of the wrong sign is, and so is one of
    what would fit."""
    made = heavy(random_mechanism(5, 3))
    report = symgen.verify(
        made, ["mass_matrix", "mass_matrix_determinant"], states=1, real="float", compiled=False
    )
    check = next(
        one for one in report.of("floating") if one.subject.startswith("mass_matrix_determinant")
    )
    assert check.unjudged == "det is above the largest number that a float holds"
    assert not report.failures
    truth, program = Truth(made, 1), symgen.program(made, "mass_matrix_determinant", real="float")
    for found, verdict in ((np.inf, "not judged"), (-np.inf, "failed"), (np.nan, "failed")):
        assert (
            check_floating(program, lambda _, x=found: {"det": np.array([x])}, truth, "det").verdict
            == verdict
        )
    fits = Truth(random_mechanism(5, 3), 1)
    assert (
        check_floating(program, lambda _: {"det": np.array([np.inf])}, fits, "det").verdict
        == "failed"
    )


def test_a_quaternion_and_its_negative_are_one_state() -> None:
    made = tree(["spherical", "revolute"], "both")
    at, reference = floats(made, 2), Reference(made, FLOAT)
    other = at["q"] * np.array([-1, -1, -1, -1, 1.0])
    assert np.abs(reference.mass_matrix(at["q"]) - reference.mass_matrix(other)).max() < 1e-12
    assert made.joints[0].type.neutral == (0, 0, 0, 1)


def test_what_is_of_the_plane_alone_names_the_joint_that_is_not() -> None:
    made = tree(["cylindrical", "revolute"], "two")
    refusing = [
        name
        for name in methods.names()
        if methods.find(name).refusal(made)
        and not (methods.find(name).mimic_only or methods.find(name).choice == "explicit")
    ]
    assert refusing == ["fixman:parallel", "fixman:planar", "fixman:segments"]
    assert methods.find("fixman:planar").refusal(made) == (
        "fixman:planar needs a serial chain of revolute joints with parallel axes, and in 'two' joint 'joint0' is cylindrical; use "
        "fixman:spatial, or another method, such as riccati"
    )


def test_a_joint_without_an_axis_refuses_one() -> None:
    made = tree(["spherical"], "ball")
    with pytest.raises(
        symgen.SymgenError, match="'joint0' is spherical, which has no axis; remove the axis"
    ):
        replace(
            made, joints=(replace(made.joints[0], axis=(Fraction(1), Fraction(0), Fraction(0))),)
        )


# -- quaternions that are none ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("real", ["double", "float"])
def test_a_checked_function_refuses_a_quaternion_of_another_length(real: str) -> None:
    made = tree(["free"], "one_body")
    solver = symgen.compile(made, ["gravity_force"], real, optimize=0, checked=True)
    slack = {"double": 2.0**-20, "float": 2.0**-12}[real]
    for off, refused in ((0.4, False), (-0.4, False), (0.8, True), (-0.8, True)):
        q = np.array([0.0, 0.0, 0.0, 0.6, 0.0, 0.0, 0.8]) * (
            1 + off * slack
        )  # the square is off by twice as much
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


@pytest.mark.parametrize("what", ["nothing", *PLANTED])
def test_the_check_of_a_quaternion_is_read_back(what: str) -> None:
    made = tree(["free", "spherical"], "arm")
    program, target = (
        symgen.program(made, "gravity_force"),
        c99.Target("arm", made.sizes, TextOptions(checked=True)),
    )
    text = c99.source(program, target)
    if what != "nothing":
        old, new = PLANTED[what]
        assert old in text
        text = text.replace(old, new, 1)
    check = check_text(
        program, Source(text, c99.header({"gravity_force": program}, target)), "f", target, {}
    )
    assert check.passed == (what == "nothing")
