"""Models in link frames: the guarantees of `reframe` and `regroup`, which change no result."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq

from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Model, declared, reframe, regroup
from symgen.derivation.model.links import body_inertia, rotation_to_axis
from symgen.derivation.model.spin import Spin
from symgen.derivation.scalars import Derivation
from symgen.mechanism.joints import Sliding
from symgen.mechanism.mechanism import Body, Joint, Mechanism
from symgen.pipeline.derive import models
from symgen.reference.mechanics import Reference
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import Z_AXIS, Angle, Shift, pose
from tests.shared.robots_for_tests import (
    BALLS,
    PAIRS,
    TELLING,
    largest,
    random_mechanism,
    reference_results,
    robot,
    run,
    states,
)


def model_of(model_name: str, mechanism: Mechanism) -> Model:
    with k.precision():
        if model_name == "declared":
            return declared(mechanism)
        if model_name == "declared and regrouped":
            return regroup(declared(mechanism))
        reframed, regrouped = models(mechanism)
        return reframed if model_name == "reframed" else regrouped


MODELS = ("declared", "declared and regrouped", "reframed", "reframed and regrouped")
ANY_ROBOT = pytest.mark.parametrize("name", [*TELLING, *PAIRS])


def equal(a: object, b: object) -> bool:
    """True if two nested tuples of constants are equal, decided by radii below 1e-50."""
    with k.precision():
        pairs = zip(
            np.ravel(np.array(a, dtype=object)), np.ravel(np.array(b, dtype=object)), strict=True
        )
        return all(k.is_zero(k.normalize(x - y)) for x, y in pairs)


def derive(model: Model, function: str, method: str, sizes: Sizes) -> object:
    """Return the Program of a method on a model before any pass."""
    spec = FUNCTIONS[function]
    with k.precision():
        shapes = {a.name: a.sizes(sizes) for a in spec.arguments}
        derivation = Derivation({name: int(np.prod(shape)) for name, shape in shapes.items()})
        results = methods.derivation(method, function)(Linkage(model, derivation))
        named = [
            (r.name, r.sizes(sizes), atoms) for r, atoms in zip(spec.results, results, strict=True)
        ]
        return derivation.freeze(function, method, named, shapes)


METHOD_OF_FUNCTION = {
    "mass_matrix": "composite_body",
    "bias_force": "newton_euler",
    "gravity_force": "composite_body",
}


@pytest.mark.parametrize("model_name", MODELS)
@pytest.mark.parametrize(
    "name", [name for name in TELLING if name != "panda"]
)  # enough of the larger ones
def test_every_model_gives_the_same_mass_matrix_bias_and_gravity(
    name: str, model_name: str
) -> None:
    mechanism, at = robot(name), states(name, 2, BALLS)
    model = model_of(model_name, mechanism)
    for function, method in METHOD_OF_FUNCTION.items():
        program = derive(model, function, method, mechanism.sizes)
        results = run(program, at, BALLS)  # type: ignore[arg-type]
        for result, value in reference_results(name, function, 2, BALLS).items():
            with BALLS.working():  # constants keep 64 of 80 digits
                assert largest(results[result] - value) <= 1e-40 * (largest(value) or 1.0), (
                    function,
                    result,
                )


@pytest.mark.parametrize("model_name", MODELS)
@ANY_ROBOT
def test_every_link_has_its_joints_axis_along_z(name: str, model_name: str) -> None:
    mechanism, model = robot(name), model_of(model_name, robot(name))
    with k.precision():
        for joint, link in zip(mechanism.joints, model.links, strict=True):
            axes, origin = link.placement
            assert equal(k.transpose(axes)[2], k.unit(k.vector(joint.axis)))
            if link.turns:  # the origin lies on the axis, which passes through the declared origin
                assert equal(k.cross(origin, k.vector(joint.axis)), k.ORIGIN)


@pytest.mark.parametrize("model_name", MODELS)
@ANY_ROBOT
def test_every_rotation_is_orthonormal_and_right_handed(name: str, model_name: str) -> None:
    model = model_of(model_name, robot(name))
    with k.precision():
        for link in model.links:
            for rotation in (link.rotation, link.placement[0], link.base_rotation):
                assert equal(k.product(rotation, k.transpose(rotation)), k.IDENTITY)
                x, y, z = k.transpose(rotation)
                assert equal(k.cross(x, y), z)


@ANY_ROBOT
def test_reframed_links_have_the_poses_of_declared_links(name: str) -> None:
    """Poses through the model's frames and placements equal the reference's poses of declared
    links.
    """
    mechanism, model = robot(name), model_of("reframed and regrouped", robot(name))
    at = states(name, 1, BALLS)["q"]
    placements = Reference(mechanism, BALLS).placements(at)
    with k.precision():
        for i, link in enumerate(model.links):
            path = [i, *model.ancestors(i)]
            rotation, shift = model.links[path[-1]].base_rotation, model.links[path[-1]].base_shift
            for j in reversed(path):
                step, q = model.links[j], at[0][j]
                joint_rotation = (
                    k.rotation_about((k.ZERO, k.ZERO, k.ONE), q.cos(), q.sin())
                    if step.turns
                    else k.IDENTITY
                )
                rates = [
                    motion.rate
                    for motion in mechanism.joints[j].motions
                    if isinstance(motion, Sliding)
                ]
                slide = (k.ZERO, k.ZERO, q * k.rational(sum(rates, Fraction(0))))
                shift = k.add(
                    shift, k.apply(rotation, k.add(step.shift, k.apply(step.rotation, slide)))
                )
                rotation = k.product(rotation, k.product(step.rotation, joint_rotation))
            axes, origin = link.placement
            declared_rotation = k.product(rotation, k.transpose(axes))
            declared_shift = k.sub(shift, k.apply(declared_rotation, origin))
            for computed, expected in (
                (declared_rotation, placements[i].turn[0]),
                (declared_shift, placements[i].shift[0]),
            ):
                entries = zip(
                    np.ravel(np.array(computed, dtype=object)), np.ravel(expected), strict=True
                )
                assert all(
                    abs(arb(x) - y) < arb(10) ** -70 for x, y in entries
                )  # the reference has 80 digits


@ANY_ROBOT
def test_regrouped_links_keep_only_parameters_that_affect_their_joint(name: str) -> None:
    model = model_of("reframed and regrouped", robot(name))
    assert model.changes == ("reframe", "regroup")
    for link in model.links:
        if link.turns and not k.is_zero(link.stride):
            continue  # a screw depends on nearly all inertial parameters
        if link.turns:
            assert k.is_zero(link.inertia.m)
            assert k.is_zero(link.inertia.h[2])
            assert k.is_zero(link.inertia.S[5])
        else:
            assert all(k.is_zero(x) for x in link.inertia.S)


@ANY_ROBOT
def test_the_first_moment_of_a_revolute_leaf_is_along_one_axis(name: str) -> None:
    mechanism, model = robot(name), model_of("reframed", robot(name))
    for i, link in enumerate(model.links):
        if not model.children(i) and link.turns and link.parent >= 0:
            hx, hy = link.inertia.h[:2]
            assert k.is_zero(hy) or k.is_zero(hx), mechanism.joints[
                i
            ].name  # along x or y already, else rotated onto x


@ANY_ROBOT
def test_consecutive_axes_give_modified_denavit_hartenberg_frames(name: str) -> None:
    """Between consecutive revolute axes: one rotation about x, one shift along x, one along the
    next axis.
    """
    model = model_of("reframed", robot(name))
    size = [
        1 + sum(i in model.ancestors(j) for j in range(len(model.links)))
        for i in range(len(model.links))
    ]
    for i, link in enumerate(model.links):
        children = model.children(i)
        if not link.turns or not children:
            continue
        heir = model.links[max(children, key=lambda c: (size[c], -c))]
        assert k.is_zero(heir.rotation[0][2])  # the heir's axis is turned about x only
        with k.precision():
            gamma, _, _ = k.zxz(heir.rotation)
            assert gamma == (1, 0)
            # the shift is in the plane of x and the heir's axis
            assert equal(
                (heir.shift[1] * heir.rotation[2][2],), (heir.shift[2] * heir.rotation[1][2],)
            )


@ANY_ROBOT
def test_root_frames_have_one_gravity_component_normal_to_the_axis(name: str) -> None:
    for link in model_of("reframed", robot(name)).links:
        if link.parent < 0:
            with k.precision():
                assert equal(
                    k.apply(link.base_rotation, link.gravity), k.vector(robot(name).gravity)
                )
            if link.turns:
                assert any(k.is_zero(x) for x in link.gravity[:2])
        else:
            assert link.gravity == k.ORIGIN


def test_a_body_inertia_equals_the_sum_over_its_points() -> None:
    """Σ, h and m about the body's frame equal sums over point masses exactly."""
    source = random_mechanism(1, seed=5, general=False).bodies[0].parts[0]
    listed = ((1, 2, 3, 1), (-1, 4, 2, 2), (0, 1, -5, 3))
    points = [(Fraction(x), Fraction(y, 2), Fraction(z, 3), Fraction(m)) for x, y, z, m in listed]
    parts = tuple(
        replace(source, pose=(Shift((x, y, z)),), mass=m, moments=(Fraction(0),) * 6)
        for x, y, z, m in points
    )
    inertia = body_inertia(Body("points", parts))
    moments = [[sum(m * p[i] * p[j] for *p, m in points) for j in range(3)] for i in range(3)]
    assert k.to_fraction(inertia.m) == 6
    assert [k.to_fraction(x) for x in inertia.h] == [
        sum(m * p[i] for *p, m in points) for i in range(3)
    ]
    upper = [moments[i][j] for i in range(3) for j in range(i, 3)]
    assert [k.to_fraction(x) for x in inertia.S] == upper


@pytest.mark.parametrize(
    "axis", [(1, 0, 0), (0, -1, 0), (0, 0, -1), (0, 3, 4), (1, 2, 2), (1, 2, 3)]
)
def test_an_aligned_frame_has_the_axis_as_z(axis: tuple[int, int, int]) -> None:
    with k.precision():
        unit = k.unit(k.vector(tuple(Fraction(x) for x in axis)))  # type: ignore[arg-type]
        frame = rotation_to_axis(unit)
        assert equal(k.transpose(frame)[2], unit)
        assert equal(k.product(frame, k.transpose(frame)), k.IDENTITY)
        assert equal(k.cross(*k.transpose(frame)[:2]), unit)
        if sum(map(bool, axis)) == 1:  # a signed permutation
            assert all(isinstance(x, fmpq) and x in (-1, 0, 1) for row in frame for x in row)


ANGLES = [
    (0, 0, 0),
    (0, "7/10", 0),
    ("1/2", 0, "1/3"),
    ("1/2", "7/10", "-4/5"),
    (0, "-7/10", "1/3"),
    ("pi/2", "pi/2", "pi/2"),
    ("1/2", "pi", "1/3"),
    (0, "pi/2", "1/3"),
    ("pi", "1/5", 0),
]


@pytest.mark.parametrize("angles", ANGLES)
def test_a_rotation_is_decomposed_into_z_x_z_rotations(angles: tuple[str | int, ...]) -> None:
    def turn(axis: int, cosine_sine: tuple[object, object]) -> k.Mat3:
        return k.rotation_about(k.IDENTITY[axis], *cosine_sine)

    def ball(angle: str | int) -> tuple[object, object]:
        text = str(angle)
        quarter = {"pi": Fraction(1), "pi/2": Fraction(1, 2)}.get(text)
        return k.cosine_sine(Angle(pi=quarter) if quarter else Angle(Fraction(text)))

    with k.precision():
        rotation = k.product(
            k.product(turn(2, ball(angles[0])), turn(0, ball(angles[1]))), turn(2, ball(angles[2]))
        )
        gamma, alpha, beta = k.zxz(rotation)
        again = k.product(k.product(turn(2, gamma), turn(0, alpha)), turn(2, beta))
        assert equal(rotation, again)
        if angles[0] == 0:
            assert gamma == (1, 0)  # no unnecessary rotation


def test_nearly_parallel_axes_are_not_treated_as_parallel() -> None:
    """A tilt of 1e-9 is not zero: structure is decided by ball radii and not by a tolerance."""
    two = replace(random_mechanism(2, seed=3, general=False), gravity=(Fraction(0),) * 3)
    axis = {}
    with k.precision():
        for label, tilt in (("tilted", Fraction(1, 10**9)), ("straight", Fraction(0))):
            joints = tuple(
                Joint(f"j{i}", "revolute", i - 1, pose((Fraction(i), *Z_AXIS[:2])), a)
                for i, a in enumerate((Z_AXIS, (tilt, Fraction(0), Fraction(1))))
            )
            axis[label] = k.transpose(reframe(replace(two, joints=joints)).links[1].rotation)[2]
    assert equal(axis["straight"], k.IDENTITY[2])
    assert not any(k.is_zero(x) for x in axis["tilted"][1:])
    assert abs(k.as_float(axis["tilted"][1])) == pytest.approx(1e-9)


def test_a_quarter_turn_is_applied_to_sine_and_cosine_instead_of_the_angle() -> None:
    """The four quarter turns do not change the angle's row; any other constant angle is added."""
    with k.precision():
        derivation = Derivation({"q": 1})
        linkage = Linkage(declared(random_mechanism(1)), derivation)
        (q,) = derivation.inputs["q"]
        turns = [
            (k.rational(Fraction(c)), k.rational(Fraction(s)))
            for c, s in ((1, 0), (0, 1), (-1, 0), (0, -1))
        ]
        assert [linkage._angle(Spin(((0, 1),), turn)) for turn in turns] == [
            (q, quarter) for quarter in range(4)
        ]
        angle, quarter = linkage._angle(
            Spin(((0, 1),), (k.rational(Fraction(3, 5)), k.rational(Fraction(4, 5))))
        )
        assert (angle != q, quarter) == (True, 0)
