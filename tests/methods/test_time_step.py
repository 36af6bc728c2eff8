"""Time steps of the dynamics, `step` and `step_rk4`: order, Pinocchio, composition, sensitivities,
planted errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import factorial
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.delivery.verifying import verify
from symgen.derivation import constants
from symgen.derivation.scalars import Derivation
from symgen.ir.program import EXACT, Program, evaluate
from symgen.mechanism.mechanism import Body, Mechanism
from symgen.methods import rk4
from symgen.pipeline import build, composing, derive
from symgen.pipeline.differentiation import chain_rule
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array, arb
from symgen.reference.states import draw_states
from symgen.support.errors import ArgumentError, OutOfReach, RequestError, UnknownName
from symgen.verification.evaluating import machine_runner, scalar_runner
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.options import ProgramOptions
from tests.shared.robots_for_tests import BALLS, draw, largest, of_kind, random_mechanism, run
from tests.shared.turning_robots import tree_of

STEPS = ("step", "step_rk4")
KINDS = ("cylindrical", "free", "planar", "spherical")
"""Joint types with several degrees of freedom."""


@cache
def program(function: str, *kinds_of_joints: str) -> Program:
    return symgen.program(tree_of(*kinds_of_joints), function)


# -- order -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("function", "order"), [("step", 1), ("step_rk4", 4)])
def test_halving_the_step_divides_the_error_by_two_to_the_order(function: str, order: int) -> None:
    """Over a fixed time, halving the step divides the error by 2^order, on a free body with a
    spherical and a planar joint.
    """
    final_states = []
    step = scalar_runner(arb(40), program(function, "free", "spherical", "planar"))
    states = draw(tree_of("free", "spherical", "planar"), 2, arb(40))
    for n in (2, 4, 8):
        state = {name: states[name] for name in ("q", "v", "tau")}
        for _ in range(n):
            next_state = step({**state, "dt": arb(40).array([Fraction(1, 512 * n)] * 2)})
            state |= {"q": next_state["q_next"], "v": next_state["v_next"]}
        final_states.append(np.concatenate([state["q"], state["v"]], axis=-1).astype(float))
    coarse_change, fine_change = (
        np.abs(coarse - fine).max(axis=-1) for coarse, fine in pairwise(final_states)
    )
    assert (np.abs(np.log2(coarse_change / fine_change) - order) < 0.15).all()


@pytest.mark.slow
def test_both_schemes_converge_to_the_same_state() -> None:
    """A thousand steps of `step` and four of `step_rk4` agree: both integrate the same equation."""
    mechanism = tree_of("free", "revolute")
    states = {name: values.astype(float) for name, values in draw_states(mechanism, 2, 3).items()}
    final_states = []
    for function, n in (("step", 1000), ("step_rk4", 4)):
        step, q, v = machine_runner(symgen.program(mechanism, function)), states["q"], states["v"]
        for _ in range(n):
            next_state = step({"q": q, "v": v, "tau": states["tau"], "dt": np.full(2, 0.01 / n)})
            q, v = next_state["q_next"], next_state["v_next"]
        final_states.append(np.concatenate([q, v], axis=-1))
    assert (
        np.abs(final_states[0] - final_states[1]).max()
        < 1e-3 * np.abs(final_states[1] - np.concatenate([states["q"], states["v"]], axis=-1)).max()
    )


def test_a_step_equals_that_of_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    from tests.judges import pinocchio_answers

    mechanism = tree_of("free", "revolute", "prismatic")
    model = pinocchio_answers.built(mechanism, mechanism.frames[0].name)
    states = {name: values.astype(float) for name, values in draw_states(mechanism, 4, 3).items()}
    results = machine_runner(symgen.program(mechanism, "step"))({**states, "dt": states["instant"]})
    for k, dt in enumerate(states["instant"]):
        judge = pinocchio_answers.Word(model, {name: values[k] for name, values in states.items()})
        v = states["v"][k] + dt * pin.aba(
            judge.of.model, judge.of.model.createData(), judge.q, states["v"][k], states["tau"][k]
        )
        assert np.allclose(results["v_next"][k], v, rtol=1e-11, atol=1e-11)
        assert np.allclose(
            results["q_next"][k],
            pin.integrate(judge.of.model, judge.q, v * dt),
            rtol=1e-11,
            atol=1e-11,
        )


# -- every joint type, payload and wrenches --------------------------------------------------------


@pytest.mark.slow
def test_steps_with_joints_of_several_degrees_payload_and_wrenches_verify() -> None:
    mechanism, options = tree_of(*KINDS), ProgramOptions(payload="link2", wrench=("link1", "link3"))
    programs = {name: build.build_program(mechanism, name, None, options) for name in STEPS}
    assert all(
        {"payload", "wrench"} <= {port.name for port in step_program.inputs}
        for step_program in programs.values()
    )
    report = verify_programs(Subject(mechanism, programs, options, states=2, compiled=False))
    assert report.passed, str(report)
    assert any("halves" in check.subject for check in report.of("identities"))


@pytest.mark.slow
@pytest.mark.parametrize("real", ["double", "float"])
def test_the_round_off_of_steps_of_light_links_is_judged_and_passes(real: str) -> None:
    """Each stage inherits the round-off of earlier stages, so sizes from one evaluation of
    accelerations would be too small.
    """
    chain = random_mechanism(3, 5)
    light = tuple(
        replace(
            body,
            parts=tuple(
                replace(part, mass=part.mass / 1000, moments=tuple(m / 10**5 for m in part.moments))
                for part in body.parts
            ),
        )
        for body in chain.bodies[2:]
    )
    report = symgen.verify(replace(chain, bodies=(*chain.bodies[:2], *light)), STEPS, real=real)
    assert report.passed, str(report)
    assert all(not check.unjudged for check in report.of("floating")), str(report)


# -- composition from other functions --------------------------------------------------------------


def test_a_step_costs_little_more_than_its_functions() -> None:
    """A step reuses the Programs of its functions, its names contain the stage, and the passes
    share common rows.
    """
    functions = {name: symgen.program("ur5", name) for name in ("forward_dynamics", "integrate")}
    euler, runge_kutta = (symgen.program("ur5", name) for name in STEPS)
    assert euler.cost <= sum(function.cost for function in functions.values()) + 2 * 6
    assert runge_kutta.cost <= 4 * sum(function.cost for function in functions.values()) + 20 * 6
    named = {row.name for row in functions["forward_dynamics"].rows} - {""}
    assert len(named & {row.name for row in euler.rows}) > 0.7 * len(
        named
    )  # the final passes recompute some rows
    stages = {row.name.partition("_")[0] for row in runge_kutta.rows if row.name}
    assert {"k1", "k2", "k3", "k4"} <= stages
    assert any(step.startswith("k3: ") for step in runge_kutta.steps)


def test_inlined_programs_give_the_same_results() -> None:
    """The two functions have every operation, including log and atan2."""
    for function in ("mass_matrix_log_determinant", "difference"):
        mechanism = tree_of("spherical", "revolute")
        original = symgen.program(mechanism, function)
        with constants.precision():
            derivation = Derivation({port.name: port.size for port in original.inputs})
            results = composing.inline_program(
                original, derivation, list(derivation.inputs.values()), "again"
            )
            ports = [
                (port.name, port.shape, atoms)
                for port, atoms in zip(original.outputs, results, strict=True)
            ]
            inlined = derivation.freeze(
                function, "test", ports, {port.name: port.shape for port in original.inputs}
            )
        states = draw(mechanism, 2, BALLS)
        with BALLS.working():
            original_values, inlined_values = (
                next(iter(run(program_, states, BALLS).values()))
                for program_ in (original, inlined)
            )
            assert largest(original_values - inlined_values) <= 1e-60 * largest(original_values)
        assert all(
            row.name.startswith(("again_", "neg_again_")) for row in inlined.rows if row.name
        )


def test_a_singular_mass_matrix_has_no_step() -> None:
    arm = symgen.load("planar_arm")
    broken = replace(arm, bodies=(*arm.bodies[:-1], Body(arm.bodies[-1].name)))
    for function in STEPS:
        with pytest.raises(
            RequestError,
            match=f"{function} of 'planar_arm' divides by the mass matrix, which is singular",
        ):
            symgen.program(broken, function)


def test_too_many_rows_are_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derive, "ROW_BUDGET", 150)
    arm = replace(symgen.load("planar_arm"), name="short_of_rows")
    build._build.cache_clear()
    with pytest.raises(
        RequestError, match="step_rk4 of 'short_of_rows' by rk4 needs more than 150 rows"
    ):
        symgen.program(
            replace(arm, gravity=(Fraction(0), Fraction(-7), Fraction(1, 7))), "step_rk4"
        )
    build._build.cache_clear()


def test_steps_are_generated_on_request_by_their_names() -> None:
    assert not {*STEPS} & {*build.requested(symgen.load("scara"), None)}
    with pytest.raises(UnknownName, match="'rk4' is called step_rk4 here"):
        symgen.program("scara", "rk4")
    with pytest.raises(
        ArgumentError, match="method 'rk4' does not compute step; these do: semi_implicit_euler"
    ):
        symgen.program("scara", "step", method="rk4")
    with pytest.raises(ArgumentError, match="rk4 composes step_rk4 of other functions"):
        methods.derivation("rk4", "step_rk4")


# -- sensitivities ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "requests"),
    [
        ("free", ("step:jacobian", "step:vjp", "step:hvp")),
        ("spherical", ("step_rk4:jacobian(q,v,tau)", "step_rk4:vjp(q,tau)", "step_rk4:hvp(q,v)")),
    ],
)
def test_sensitivities_equal_the_reference(kind: str, requests: tuple[str, ...]) -> None:
    report = verify(tree_of(kind), requests, states=1, compiled=False)
    assert report.passed, str(report)
    assert len(report.of("algebra")) == len(requests)
    assert sum(
        check.subject.startswith(("step:", "step_rk4:", "x_bar"))
        for check in report.of("identities")
    ) >= len(requests)


@pytest.mark.usefixtures("finished_here")
def test_a_jacobian_of_a_step_needs_one_of_forward_dynamics_per_stage() -> None:
    """The chain rule needs one Jacobian of forward dynamics per stage, less than differentiating
    all rows.
    """
    forward = symgen.program("scara", "forward_dynamics")
    names = ("forward_dynamics:jacobian", "forward_dynamics_derivatives")
    slope = min(
        (symgen.program("scara", function) for function in names),
        key=lambda program_: program_.cost,
    )
    euler, runge_kutta = (symgen.program("scara", f"{name}:jacobian(q,v,tau)") for name in STEPS)
    assert euler.cost < slope.cost + forward.cost + 3 * 16
    assert (
        runge_kutta.cost < 4 * (slope.cost + forward.cost) + 3 * 2 * 4**3
    )  # plus matrix products in three stages
    assert runge_kutta.cost < symgen.derivative(symgen.program("scara", "step_rk4"), "q,v,tau").cost


def test_sensitivities_of_a_zero_step_are_identity_and_zero() -> None:
    """For dt = 0, A = 1 and B = 0, and the derivative by dt is the right-hand side of the equation
    of motion.
    """
    mechanism = tree_of("spherical", "revolute")
    states = draw(mechanism, 2, BALLS)
    states["dt"] = 0 * states["dt"]
    derivatives = run(symgen.program(mechanism, "step_rk4:jacobian"), states, BALLS)
    a = run(symgen.program(mechanism, "forward_dynamics"), states, BALLS)["a"]
    with BALLS.working():
        unit = np.eye(mechanism.nv, dtype=int)
        for name, value in (
            ("dq_next_dq", unit),
            ("dq_next_dv", 0 * unit),
            ("dq_next_dtau", 0 * unit),
            ("dv_next_dq", 0 * unit),
            ("dv_next_dv", unit),
            ("dv_next_dtau", 0 * unit),
            ("dq_next_ddt", states["v"]),
            ("dv_next_ddt", a),
        ):
            assert largest(derivatives[name] - value) <= 1e-40 * (1 + largest(a)), name


def test_a_jacobian_with_too_many_rows_is_refused_with_alternatives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = replace(
        symgen.load("planar_arm"), gravity=(Fraction(0), Fraction(-7), Fraction(1, 9))
    )
    symgen.program(mechanism, "step_rk4")
    monkeypatch.setattr(derive, "ROW_BUDGET", 400)
    with pytest.raises(
        OutOfReach,
        match=(
            r"step_rk4:jacobian of 'planar_arm' needs more than 400 rows; request step_rk4:vjp or"
        ),
    ):
        symgen.program(mechanism, "step_rk4:jacobian")


# -- planted errors --------------------------------------------------------------------------------


def zero_bracket(robot: Any, x: Any, y: Any) -> list[Any]:
    """Plant an error: the bracket is zero."""
    return [robot.derivation.zero for _ in x]


def negated_bracket(robot: Any, x: Any, y: Any) -> list[Any]:
    """Plant an error: the bracket has the sign for velocities in base axes."""
    return [-component for component in BRACKET(robot, x, y)]


BRACKET = rk4.bracket


def half_product_rule(self: chain_rule.Dual, right: Any) -> Any:
    """Plant an error: the product rule lacks its second term."""
    right = self.derivation.atom(right)
    return chain_rule.Dual(
        chain_rule.primal(self) * chain_rule.primal(right),
        [x * chain_rule.primal(right) for x in self.derivatives],
    )


@pytest.mark.slow
def test_half_a_product_rule_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_rule.Dual, "__mul__", half_product_rule)
    mechanism = tree_of("spherical")
    request, compose = "step:jacobian", methods.composition("semi_implicit_euler", "step")
    assert compose is not None
    wrong = chain_rule.jacobian(
        mechanism,
        Derivative("step", "jacobian"),
        "semi_implicit_euler",
        compose,
        ProgramOptions(),
        lambda name: symgen.program(mechanism, name),
    )
    helpers = {name: symgen.program(mechanism, name) for name in ("step", "step:jvp")}
    report = verify_programs(
        Subject(mechanism, {request: wrong}, helpers=helpers, states=2, compiled=False)
    )
    failed = {check.kind for check in report.checks if not check.passed and not check.unjudged}
    assert {"algebra", "identities"} <= failed


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong_bracket", [zero_bracket, negated_bracket], ids=lambda bracket: str(bracket.__name__)
)
def test_a_wrong_bracket_fails_the_reference_and_the_order(
    wrong_bracket: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison with the reference fails, and so does the identity of the order, which needs
    no reference.
    """
    monkeypatch.setattr(rk4, "bracket", wrong_bracket)
    mechanism = tree_of("free")
    compose = methods.composition("rk4", "step_rk4")
    assert compose is not None
    wrong = composing.compose_program(
        mechanism, "step_rk4", "rk4", compose, ProgramOptions(), lambda name: program(name, "free")
    )
    report = verify_programs(Subject(mechanism, {"step_rk4": wrong}, states=3, compiled=False))
    failed = [check.subject for check in report.checks if not check.passed and not check.unjudged]
    assert failed[0] == "step_rk4=rk4"
    assert "step_rk4 by halves − step_rk4 = O(dt⁵)" in failed


def explicit_euler(mechanism: Mechanism, states: dict[str, Array]) -> dict[str, Array]:
    """Return a step of explicit Euler, of the same order: q moves by the velocity at the start of
    the step.
    """
    reference = Reference(mechanism, BALLS)
    with BALLS.working():
        a = reference.forward_dynamics(states["q"], states["v"], states["tau"])
        q = reference.evaluate(
            "integrate", {"q": states["q"], "v": states["v"], "dt": states["instant"]}
        )["q_next"]
        return {"q_next": q, "v_next": states["v"] + a * states["instant"][:, None]}


def test_explicit_euler_differs_in_positions_only() -> None:
    mechanism = tree_of("revolute", "prismatic")
    states = draw(mechanism, 2, BALLS)
    step = Reference(mechanism, BALLS).evaluate(
        "step",
        {
            name: states[drawn_name]
            for name, drawn_name in (("q", "q"), ("v", "v"), ("tau", "tau"), ("dt", "instant"))
        },
    )
    explicit = explicit_euler(mechanism, states)
    with BALLS.working():
        assert largest(step["v_next"] - explicit["v_next"]) < 1e-60
        assert largest(step["q_next"] - explicit["q_next"]) > 1e-12


# -- closed forms of one step ----------------------------------------------------------------------


def oscillator() -> Mechanism:
    """Return a mass of 2 on a slide with a spring of stiffness 18, whose angular frequency is 3."""
    text = """
name = "oscillator"
gravity = [0, 0, 0]
[[body]]
name = "mass"
parent = "base"
mass = 2
joint = { name = "slide", type = "prismatic", axis = [1, 0, 0], stiffness = 18 }
"""
    return symgen.load(text, drives="stiffness")


@pytest.mark.parametrize(("function", "order"), [("step", 1), ("step_rk4", 4)])
def test_a_step_of_an_oscillator_is_a_polynomial_in_the_step(function: str, order: int) -> None:
    """The method of order 4 has the Taylor polynomial; the other one is v + a dt, then q + v_next
    dt.
    """
    q, v, dt = Fraction(1, 2), Fraction(-2, 3), Fraction(1, 7)
    arguments = {"q": [q], "v": [v], "tau": [Fraction(0)], "dt": [dt]}
    results = evaluate(symgen.program(oscillator(), function), arguments, EXACT)
    if order == 1:
        v_next = v - 9 * q * dt
        assert results == {"q_next": [q + v_next * dt], "v_next": [v_next]}
        return
    derivatives = [q, v, -9 * q, -9 * v, 81 * q, 81 * v]

    def taylor(first: int) -> Fraction:
        return sum((derivatives[first + k] * dt**k / factorial(k) for k in range(5)), Fraction(0))

    assert results == {"q_next": [taylor(0)], "v_next": [taylor(1)]}


def test_the_bracket_of_twists_is_the_derivative_of_one_along_the_other() -> None:
    """[x, y] has the angular part ω × ω' and the linear part ω × u' + u × ω', and is zero for one
    axis.
    """
    mechanism = random_mechanism(3, 1)
    kinds_of_joints = ("free", "revolute", "spherical")
    joints = tuple(
        of_kind(joint, kind) for joint, kind in zip(mechanism.joints, kinds_of_joints, strict=True)
    )
    mechanism = replace(mechanism, joints=joints)
    n = mechanism.nv
    derivation = Derivation({"x": n, "y": n})
    robot = composing.Inlining(mechanism, derivation, lambda name: symgen.program(mechanism, name))
    result = rk4.bracket(robot, derivation.inputs["x"], derivation.inputs["y"])
    program = derivation.freeze("f", "m", [("z", (n,), result)], {"x": (n,), "y": (n,)})
    random = np.random.default_rng(1)
    x, y = random.integers(-9, 9, (2, n))
    (u, w, _, spin), (u_y, w_y, _, spin_y) = (
        (twist[:3], twist[3:6], twist[6:7], twist[7:]) for twist in (x, y)
    )
    expected = np.concatenate(
        [
            np.cross(w, u_y) + np.cross(u, w_y),
            np.cross(w, w_y),
            [0],
            np.cross(spin, spin_y),
        ]
    )
    values = evaluate(
        program,
        {name: [Fraction(int(e)) for e in numbers] for name, numbers in (("x", x), ("y", y))},
        EXACT,
    )["z"]
    assert values == expected.tolist()
