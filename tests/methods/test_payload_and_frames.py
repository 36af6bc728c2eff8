"""Run-time payloads on any link, and poses and Jacobians of any frame: comparison with the
reference and definitions.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import flint
import numpy as np
import pytest

import symgen
from symgen.description.tip import tip
from symgen.ir.program import Numbers, Program, evaluate
from symgen.mechanism.mechanism import BASE, Body, Frame, Mechanism, Part
from symgen.pipeline.choose import methods_for
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.support.errors import RequestError
from symgen.vocabulary.functions import FUNCTIONS, PAYLOAD
from tests.shared.oracles import random_tree
from tests.shared.robots_for_tests import (
    BALLS,
    OF_ANY_ROBOT,
    TELLING,
    draw,
    largest,
    rationals,
    robot,
    run,
)

TREE = random_tree(31, 4, branching=0.5)
"""A tree with frames on the base ("world", displaced), on each body, and displaced on the last body
("tool").
"""
LOADED = [
    name
    for name, spec in FUNCTIONS.items()
    if PAYLOAD in spec.depends_on and name in OF_ANY_ROBOT and not spec.counts("NK")
]
FRAME_FUNCTIONS = [
    name for name, spec in FUNCTIONS.items() if spec.needs_frame and not spec.counts("NK")
]
WITH_METHOD = [(f, m) for f in LOADED for m in methods_for(TREE, f)]
CARRIERS = {
    "a lumped link": ("panda", "panda_hand"),
    "a displaced frame": (TREE, "tool"),
    "the last link": ("puma560", "link6"),
    "a middle link": ("puma560", "link3"),
    "the first link": ("scara", "link1"),
    "a link with children": (TREE, "link0"),
}


def carrier(where: str) -> tuple[Mechanism, str]:
    mechanism, link = CARRIERS[where]
    return (robot(mechanism) if isinstance(mechanism, str) else mechanism), link


def check_against_reference(
    mechanism: Mechanism, function: str, method: str | None, link: str, at: dict[str, Array]
) -> None:
    results = run(symgen.program(mechanism, function, method, payload=link), at, BALLS)
    spec = FUNCTIONS[function]
    inputs = {name: at[name] for name in (*(a.name for a in spec.arguments), "payload")}
    for name, value in (
        Reference(mechanism, BALLS, frame=tip(mechanism), payload=link)
        .evaluate(function, inputs)
        .items()
    ):
        with BALLS.working():  # constants keep 64 of 80 digits, the condition of M takes a few
            assert largest(results[name] - value) <= 1e-40 * (largest(value) or 1.0), name


def test_the_carriers_have_their_named_properties() -> None:
    panda, hand = carrier("a lumped link")
    assert hand not in [body.name for body in panda.bodies]
    assert panda.frame(hand).pose
    assert len(TREE.children(0)) > 1


@pytest.mark.parametrize(
    "function", ["inverse_dynamics", "mass_matrix", "gravity_force", "mass_matrix_solve"]
)
@pytest.mark.parametrize("where", CARRIERS)
def test_a_payload_on_any_link_equals_the_reference(where: str, function: str) -> None:
    mechanism, link = carrier(where)
    check_against_reference(
        mechanism, function, None, link, draw(mechanism, 1, BALLS, payload=link)
    )


@pytest.mark.parametrize(("function", "method"), WITH_METHOD)
def test_every_method_with_a_payload_equals_the_reference(function: str, method: str) -> None:
    check_against_reference(TREE, function, method, "tool", draw(TREE, 1, BALLS, payload="tool"))


@pytest.mark.parametrize("function", LOADED)
@pytest.mark.parametrize("where", ["a displaced frame"])
def test_a_payload_of_zeros_changes_no_result(where: str, function: str) -> None:
    mechanism, link = carrier(where)
    at = draw(mechanism, 1, BALLS)
    zero_payload = {**at, "payload": BALLS.array([[0] * 10])}
    loaded = run(symgen.program(mechanism, function, payload=link), zero_payload, BALLS)
    for name, value in run(symgen.program(mechanism, function), at, BALLS).items():
        with BALLS.working():
            assert largest(loaded[name] - value) <= 1e-40 * (largest(value) or 1.0)


@pytest.mark.parametrize("body", [0, 1, 2])
def test_a_payload_equal_to_a_bodys_own_inertia_doubles_it(body: int) -> None:
    """A payload at run time equals the same numbers declared as a second part."""
    mechanism = robot("chain3")
    (body_part,) = mechanism.bodies[body].parts
    declared = replace(
        body_part, pose=(body_part.pose[0],)
    )  # only the mass centre, so that the ten numbers are rational
    single = _with_parts(mechanism, body, (declared,))
    doubled = _with_parts(mechanism, body, (declared, replace(declared, link="again")))
    x, y, z = declared.pose[0].xyz  # type: ignore[union-attr]
    steiner = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
    ten = [
        declared.mass,
        x,
        y,
        z,
        *(i + declared.mass * s for i, s in zip(declared.moments, steiner, strict=True)),
    ]
    at = draw(single, 2, BALLS)
    loaded = {**at, "payload": BALLS.array([ten] * 2)}
    for function in ("inverse_dynamics", "mass_matrix", "gravity_force"):
        results = run(
            symgen.program(single, function, payload=single.bodies[body].name), loaded, BALLS
        )
        for name, value in run(symgen.program(doubled, function), at, BALLS).items():
            with BALLS.working():
                assert largest(results[name] - value) <= 1e-40 * largest(value)


def _with_parts(mechanism: Mechanism, body: int, parts: tuple[Part, ...]) -> Mechanism:
    bodies = tuple(Body(b.name, parts) if i == body else b for i, b in enumerate(mechanism.bodies))
    return replace(mechanism, bodies=bodies)


@pytest.mark.slow
def test_functions_that_do_not_depend_on_a_payload_have_no_such_argument() -> None:
    for function in LOADED:
        loaded, unloaded = (
            symgen.program(TREE, function, payload="world"),
            symgen.program(TREE, function),
        )
        assert [port.name for port in loaded.inputs] == [port.name for port in unloaded.inputs]
        assert loaded.operations == unloaded.operations
        assert "payload" in [
            port.name for port in symgen.program(TREE, function, payload="tool").inputs
        ]
    for function in (name for name, spec in FUNCTIONS.items() if not spec.depends_on):
        assert "payload" not in [
            port.name for port in symgen.program(TREE, function, payload="tool").inputs
        ]
    # gravity along the axis: no torque, with or without payload
    assert "payload" not in [
        p.name for p in symgen.program("scara", "gravity_force", payload="link1").inputs
    ]


def test_a_payload_is_the_last_argument_of_ten_numbers() -> None:
    program = symgen.program("panda", "inverse_dynamics", payload="panda_hand")
    assert [(p.name, p.shape) for p in program.inputs] == [
        ("q", (7,)),
        ("v", (7,)),
        ("a", (7,)),
        ("payload", (10,)),
    ]


def test_the_torque_is_linear_in_the_payload() -> None:
    """tau(2 P) − tau(P) = tau(P) − tau(0) if m and the moments double and the mass centre stays."""
    at = draw(TREE, 1, BALLS, payload="tool")
    program = symgen.program(TREE, "inverse_dynamics", payload="tool")
    with BALLS.working():
        doubled = at["payload"].copy()
        doubled[:, [0, 4, 5, 6, 7, 8, 9]] = 2 * at["payload"][:, [0, 4, 5, 6, 7, 8, 9]]
        single_torque, doubled_torque, zero_torque = (
            run(program, {**at, "payload": p}, BALLS)["tau"]
            for p in (at["payload"], doubled, 0 * at["payload"])
        )
        assert largest(doubled_torque - 2 * single_torque + zero_torque) <= 1e-40 * largest(
            single_torque
        )


@pytest.mark.parametrize("option", ["frame", "payload"])
def test_an_unknown_link_suggests_the_nearest(option: str) -> None:
    function = {"frame": "jacobian", "payload": "inverse_dynamics"}[option]
    with pytest.raises(
        RequestError, match="no link is named 'panda_hnd'; did you mean 'panda_hand'"
    ):
        symgen.program("panda", function, **{option: "panda_hnd"})


# -- frames ----------------------------------------------------------------------------------------

FRAMES = [
    *(("panda", name) for name in ("panda_link0", "panda_leftfinger", "panda_hand_tcp")),
    *((TREE, f.name) for f in TREE.frames),
]
EVERY_FRAME = pytest.mark.parametrize(
    ("mechanism", "frame"), FRAMES, ids=[str(f) for _, f in FRAMES]
)


@EVERY_FRAME
def test_every_frame_equals_the_reference(mechanism: Mechanism | str, frame: str) -> None:
    mechanism_ = robot(mechanism) if isinstance(mechanism, str) else mechanism
    at = draw(mechanism_, 1, BALLS)
    reference = Reference(mechanism_, BALLS, frame=frame)
    for function in FRAME_FUNCTIONS:
        # The pose of a frame does not depend on the method, so all methods are compared at the tip
        # only.
        every = methods_for(mechanism_, function) if frame == tip(mechanism_) else (None,)
        for method in every:
            results = run(symgen.program(mechanism_, function, method, frame=frame), at, BALLS)
            inputs = {
                argument.name: at[argument.name] for argument in FUNCTIONS[function].arguments
            }
            for name, value in reference.evaluate(function, inputs).items():
                with (
                    BALLS.working()
                ):  # 64 digits of the constants, minus the loss by the condition of M
                    bound = (
                        1e-55
                        if not FUNCTIONS[function].depends_on
                        else 1e-40 * (largest(value) or 1.0)
                    )
                    assert largest(results[name] - value) < bound


def series(
    program: Program, q: list[flint.arb], rate: list[flint.arb]
) -> dict[str, list[flint.arb_series]]:
    """Return results along q + rate t as first-order power series, whose coefficients are exact
    derivatives.
    """
    power = flint.arb_series
    numbers = Numbers(
        lambda x: power([BALLS.constant(x)]), power.sin, power.cos, power.sqrt, power.log
    )
    return evaluate(program, {"q": [power([x, d]) for x, d in zip(q, rate, strict=True)]}, numbers)


@pytest.mark.parametrize("name", TELLING)
def test_the_jacobian_times_v_is_the_rate_of_the_pose(name: str) -> None:
    mechanism = robot(name)
    at = draw(mechanism, 1, BALLS)
    q, v = at["q"][0], at["v"][0]
    previous_cap, flint.ctx.cap = flint.ctx.cap, 2
    try:
        with BALLS.working():
            pose = series(symgen.program(mechanism, "forward_kinematics"), list(q), list(v))
            R, rate = (
                np.array([x[k] for x in pose["R"]], dtype=object).reshape(3, 3) for k in (0, 1)
            )
            spin = rate @ R.T
            twist = run(symgen.program(mechanism, "jacobian"), at, BALLS)["J"][0] @ v
            expected = [spin[2, 1], spin[0, 2], spin[1, 0], *(x[1] for x in pose["p"])]
            assert largest(np.array(expected) - twist) < 1e-55  # the 64 digits of the constants
            assert largest(spin + spin.T) < 1e-55
            assert largest(R @ R.T - np.eye(3, dtype=int)) < 1e-55
    finally:
        flint.ctx.cap = previous_cap


def test_a_frame_on_the_base_does_not_move() -> None:
    pose, jacobian = (
        symgen.program(TREE, function, frame="world")
        for function in ("forward_kinematics", "jacobian")
    )
    assert pose.cost == jacobian.cost == 0
    assert not any(row.op in ("sin", "cos") for row in (*pose.rows, *jacobian.rows))
    assert all(jacobian.rows[r].value == 0 for r in jacobian.outputs[0].rows)
    assert [port.name for port in pose.inputs] == ["q"]


def test_the_inverse_operational_inertia_of_a_frame_on_the_base_is_zero() -> None:
    for method in methods_for(TREE, "operational_inertia_inverse"):
        program = symgen.program(TREE, "operational_inertia_inverse", method, frame="world")
        assert program.cost == 0
        assert all(program.rows[r].value == 0 for r in program.outputs[0].rows)


@pytest.mark.slow
def test_payload_and_frame_may_be_on_different_links() -> None:
    """Λ⁻¹ at one link depends on a payload on another."""
    at = draw(TREE, 1, BALLS, payload="link3")
    reference = Reference(TREE, BALLS, frame="link2", payload="link3")
    inputs = {name: at[name] for name in ("q", "payload")}
    expected = reference.evaluate("operational_inertia_inverse", inputs)["Lambda_inv"]
    for method in methods_for(TREE, "operational_inertia_inverse"):
        derived = symgen.program(
            TREE, "operational_inertia_inverse", method, frame="link2", payload="link3"
        )
        actual = run(derived, at, BALLS)["Lambda_inv"]
        rows = np.array(derived.outputs[0].rows).reshape(6, 6)
        assert (rows == rows.T).all()  # one row for both entries, so symmetric to the last bit
        with BALLS.working():
            assert largest(actual - expected) <= 1e-40 * largest(expected)


def test_jacobian_columns_of_joints_off_the_path_to_the_frame_are_zero() -> None:
    for frame in TREE.frames:
        jacobian = symgen.program(TREE, "jacobian", frame=frame.name)
        ancestors = set()
        body = frame.body
        while body != BASE:
            ancestors.add(body)
            body = TREE.joints[body].parent
        for r in range(6):
            for c in set(range(TREE.nv)) - ancestors:
                row = jacobian.rows[jacobian.outputs[0].rows[r * TREE.nv + c]]
                assert (row.op, row.value) == ("const", 0)


def test_the_default_frame_is_the_tip() -> None:
    assert tip(robot("panda")) in [f.name for f in robot("panda").frames if f.body == 6]
    assert tip(TREE) == "tool" or TREE.frame(tip(TREE)).body != BASE
    for name in ("panda", "scara"):
        assert symgen.program(name, "jacobian") == symgen.program(
            name, "jacobian", frame=tip(robot(name))
        )


def test_rational_geometry_gives_exact_poses_of_frames() -> None:
    """With rational sines and cosines the pose is rational, and R is an exact rotation."""
    mechanism = robot("scara")
    program = symgen.program(mechanism, "forward_kinematics")
    pairs = {
        i: (Fraction(c, r), Fraction(s, r))
        for i, (c, s, r) in {0: (3, 4, 5), 1: (5, -12, 13), 3: (8, 15, 17)}.items()
    }
    angles = {
        Fraction(i): pair for i, pair in pairs.items()
    }  # an angle q is the index of its joint
    source = Random(0)
    numbers = Numbers(Fraction, lambda q: angles[q][1], lambda q: angles[q][0], Fraction, Fraction)
    q = [Fraction(0), Fraction(1), rationals(source, 1)[0], Fraction(3)]
    pose = evaluate(program, {"q": q}, numbers)
    R = np.array(pose["R"]).reshape(3, 3)
    assert (np.eye(3, dtype=int) == R @ R.T).all()
    (c1, s1), (c2, s2) = pairs[0], pairs[1]
    a1, a2 = Fraction("0.325"), Fraction("0.275")
    x = a1 * c1 + a2 * (c1 * c2 - s1 * s2)
    y = a1 * s1 + a2 * (s1 * c2 + c1 * s2)
    assert pose["p"] == [x, y, Fraction("0.387") - q[2]]  # the quill slides down: alpha = pi


def test_frames_of_lumped_links_keep_their_names() -> None:
    lumped = [
        f for f in robot("panda").frames if f.name not in {b.name for b in robot("panda").bodies}
    ]
    assert {"panda_hand", "panda_link8", "panda_hand_tcp"} <= {f.name for f in lumped}
    assert all(isinstance(f, Frame) for f in lumped)
