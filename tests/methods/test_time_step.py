"""Steps of the dynamics: their order, what Pinocchio makes of them, what they are put together of, and errors planted in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.delivery.verifying import verify
from symgen.derivation import constants
from symgen.derivation.scalars import Derivation
from symgen.ir.program import Program
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
from tests.shared.robots_for_tests import BALLS, draw, largest, random_mechanism, run
from tests.shared.turning_robots import tree_of

STEPS = ("step", "step_rk4")
KINDS = ("cylindrical", "free", "planar", "spherical")
"""A joint that turns and slides, and those without an axis."""


@cache
def program(function: str, *of: str) -> Program:
    return symgen.program(tree_of(*of), function)


# -- order ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "order"), [("step", 1), ("step_rk4", 4)])
def test_half_the_step_leaves_the_error_of_its_order(function: str, order: int) -> None:
    """Over one and the same time, of a free body that carries a spherical and a planar joint: 2^order times less."""
    ends = []
    step = scalar_runner(arb(40), program(function, "free", "spherical", "planar"))
    given = draw(tree_of("free", "spherical", "planar"), 2, arb(40))
    for n in (2, 4, 8):
        at = {name: given[name] for name in ("q", "v", "tau")}
        for _ in range(n):
            found = step({**at, "dt": arb(40).array([Fraction(1, 512 * n)] * 2)})
            at |= {"q": found["q_next"], "v": found["v_next"]}
        ends.append(np.concatenate([at["q"], at["v"]], axis=-1).astype(float))
    far, near = (np.abs(one - other).max(axis=-1) for one, other in pairwise(ends))
    assert (np.abs(np.log2(far / near) - order) < 0.15).all()


def test_the_schemes_lead_to_one_place() -> None:
    """A thousand short steps of the one are a few of the other, so that both follow the same law."""
    mechanism = tree_of("free", "revolute")
    given = {name: values.astype(float) for name, values in draw_states(mechanism, 2, 3).items()}
    ends = []
    for function, n in (("step", 1000), ("step_rk4", 4)):
        step, q, v = machine_runner(symgen.program(mechanism, function)), given["q"], given["v"]
        for _ in range(n):
            found = step({"q": q, "v": v, "tau": given["tau"], "dt": np.full(2, 0.01 / n)})
            q, v = found["q_next"], found["v_next"]
        ends.append(np.concatenate([q, v], axis=-1))
    assert (
        np.abs(ends[0] - ends[1]).max()
        < 1e-3 * np.abs(ends[1] - np.concatenate([given["q"], given["v"]], axis=-1)).max()
    )


def test_pinocchio_steps_the_same_way() -> None:
    pin = pytest.importorskip("pinocchio")
    from tests.judges import pinocchio_answers

    mechanism = tree_of("free", "revolute", "prismatic")
    model = pinocchio_answers.built(mechanism, mechanism.frames[0].name)
    given = {name: values.astype(float) for name, values in draw_states(mechanism, 4, 3).items()}
    found = machine_runner(symgen.program(mechanism, "step"))({**given, "dt": given["instant"]})
    for k, dt in enumerate(given["instant"]):
        word = pinocchio_answers.Word(model, {name: values[k] for name, values in given.items()})
        v = given["v"][k] + dt * pin.aba(
            word.of.model, word.of.model.createData(), word.q, given["v"][k], given["tau"][k]
        )
        assert np.allclose(found["v_next"][k], v, rtol=1e-11, atol=1e-11)
        assert np.allclose(
            found["q_next"][k], pin.integrate(word.of.model, word.q, v * dt), rtol=1e-11, atol=1e-11
        )


# -- every joint type, loads and wrenches ----------------------------------------------------------------------------------


def test_joints_of_several_degrees_are_verified_with_a_load_and_wrenches() -> None:
    mechanism, options = tree_of(*KINDS), ProgramOptions(payload="link2", wrench=("link1", "link3"))
    programs = {name: build.build_program(mechanism, name, None, options) for name in STEPS}
    assert all(
        {"payload", "wrench"} <= {port.name for port in tree_of.inputs}
        for tree_of in programs.values()
    )
    report = verify_programs(Subject(mechanism, programs, options, states=2, compiled=False))
    assert report.passed, str(report)
    assert any("halves" in check.subject for check in report.of("identities"))


@pytest.mark.parametrize("real", ["double", "float"])
def test_the_c_keeps_its_digits_where_a_light_link_is_thrown_about(real: str) -> None:
    """A stage takes over what the stages before it lost: sizes of the accelerations alone would be too small."""
    plain = random_mechanism(3, 5)
    light = tuple(
        replace(
            body,
            parts=tuple(
                replace(part, mass=part.mass / 1000, moments=tuple(m / 10**5 for m in part.moments))
                for part in body.parts
            ),
        )
        for body in plain.bodies[2:]
    )
    report = symgen.verify(replace(plain, bodies=(*plain.bodies[:2], *light)), STEPS, real=real)
    assert report.passed, str(report)
    assert all(not check.unjudged for check in report.of("floating")), str(report)


# -- what they are put together of ----------------------------------------------------------------------------------------


def test_a_step_is_its_functions_put_together() -> None:
    """Nothing is derived anew, names say their stage, and the passes find what is common."""
    parts = {name: symgen.program("ur5", name) for name in ("forward_dynamics", "integrate")}
    euler, rk = (symgen.program("ur5", name) for name in STEPS)
    assert euler.cost <= sum(one.cost for one in parts.values()) + 2 * 6
    assert rk.cost <= 4 * sum(one.cost for one in parts.values()) + 20 * 6
    named = {row.name for row in parts["forward_dynamics"].rows} - {""}
    assert len(named & {row.name for row in euler.rows}) > 0.7 * len(
        named
    )  # the last passes compute some rows anew
    stages = {row.name.partition("_")[0] for row in rk.rows if row.name}
    assert {"k1", "k2", "k3", "k4"} <= stages
    assert any(step.startswith("k3: ") for step in rk.steps)


def test_rows_that_are_inlined_give_what_the_program_gives() -> None:
    """With every operation that there is: a logarithm and an atan2 too."""
    for function in ("mass_matrix_log_determinant", "difference"):
        mechanism = tree_of("spherical", "revolute")
        whole = symgen.program(mechanism, function)
        with constants.precision():
            home = Derivation({port.name: port.size for port in whole.inputs})
            results = composing.inline_program(whole, home, list(home.inputs.values()), "again")
            ports = [
                (port.name, port.shape, atoms)
                for port, atoms in zip(whole.outputs, results, strict=True)
            ]
            again = home.freeze(
                function, "test", ports, {port.name: port.shape for port in whole.inputs}
            )
        given = draw(mechanism, 2, BALLS)
        with BALLS.working():
            one, other = (
                next(iter(run(tree_of, given, BALLS).values())) for tree_of in (whole, again)
            )
            assert largest(one - other) <= 1e-60 * largest(one)
        assert all(row.name.startswith(("again_", "neg_again_")) for row in again.rows if row.name)


def test_a_singular_mass_matrix_has_no_step() -> None:
    arm = symgen.load("planar_arm")
    broken = replace(arm, bodies=(*arm.bodies[:-1], Body(arm.bodies[-1].name)))
    for function in STEPS:
        with pytest.raises(
            RequestError,
            match=f"{function} of 'planar_arm' divides by the mass matrix, which is singular",
        ):
            symgen.program(broken, function)


def test_too_many_rows_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_they_are_made_on_request_and_under_their_names() -> None:
    assert not {*STEPS} & {*build.requested(symgen.load("scara"), None)}
    with pytest.raises(UnknownName, match="'rk4' is called step_rk4 here"):
        symgen.program("scara", "rk4")
    with pytest.raises(
        ArgumentError, match="method 'rk4' does not compute step; these do: semi_implicit_euler"
    ):
        symgen.program("scara", "step", method="rk4")
    with pytest.raises(ArgumentError, match="rk4 composes step_rk4 of other functions"):
        methods.derivation("rk4", "step_rk4")


# -- sensitivities --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("free", ("step:jacobian", "step:vjp", "step:hvp")),
        ("spherical", ("step_rk4:jacobian(q,v,tau)", "step_rk4:vjp(q,tau)", "step_rk4:hvp(q,v)")),
    ],
)
def test_sensitivities_are_those_of_the_reference(kind: str, asked: tuple[str, ...]) -> None:
    report = verify(tree_of(kind), asked, states=1, compiled=False)
    assert report.passed, str(report)
    assert len(report.of("algebra")) == len(asked)
    assert sum(
        check.subject.startswith(("step:", "step_rk4:", "x_bar"))
        for check in report.of("identities")
    ) >= len(asked)


@pytest.mark.usefixtures("finished_here")
def test_a_jacobian_of_a_step_takes_that_of_forward_dynamics_once_a_stage() -> None:
    """By the chain rule: little more than what MPC needs anyway, and less than the differentiated rows of the whole."""
    forward = symgen.program("scara", "forward_dynamics")
    ways = ("forward_dynamics:jacobian", "forward_dynamics_derivatives")
    slope = min((symgen.program("scara", way) for way in ways), key=lambda one: one.cost)
    euler, rk = (symgen.program("scara", f"{name}:jacobian(q,v,tau)") for name in STEPS)
    assert euler.cost < slope.cost + forward.cost + 3 * 16
    assert rk.cost < 4 * (slope.cost + forward.cost) + 3 * 2 * 4**3  # and products in three stages
    assert rk.cost < symgen.derivative(symgen.program("scara", "step_rk4"), "q,v,tau").cost


def test_no_time_has_no_sensitivity() -> None:
    """A = 1 and B = 0; and along dt it is what the right-hand side says."""
    mechanism = tree_of("spherical", "revolute")
    given = draw(mechanism, 2, BALLS)
    given["dt"] = 0 * given["dt"]
    found = run(symgen.program(mechanism, "step_rk4:jacobian"), given, BALLS)
    a = run(symgen.program(mechanism, "forward_dynamics"), given, BALLS)["a"]
    with BALLS.working():
        unit = np.eye(mechanism.nv, dtype=int)
        for name, value in (
            ("dq_next_dq", unit),
            ("dq_next_dv", 0 * unit),
            ("dq_next_dtau", 0 * unit),
            ("dv_next_dq", 0 * unit),
            ("dv_next_dv", unit),
            ("dv_next_dtau", 0 * unit),
            ("dq_next_ddt", given["v"]),
            ("dv_next_ddt", a),
        ):
            assert largest(found[name] - value) <= 1e-40 * (1 + largest(a)), name


def test_a_jacobian_beyond_the_budget_says_what_there_is_instead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = replace(
        symgen.load("planar_arm"), gravity=(Fraction(0), Fraction(-7), Fraction(1, 9))
    )
    symgen.program(mechanism, "step_rk4")
    monkeypatch.setattr(derive, "ROW_BUDGET", 400)
    with pytest.raises(
        OutOfReach,
        match=r"step_rk4:jacobian of 'planar_arm' needs more than 400 rows; request step_rk4:vjp or",
    ):
        symgen.program(mechanism, "step_rk4:jacobian")


# -- errors ----------------------------------------------------------------------------------------------------------------


def flat(robot: Any, x: Any, y: Any) -> list[Any]:
    """No bracket."""
    return [robot.home.zero for _ in x]


def negated(robot: Any, x: Any, y: Any) -> list[Any]:
    """That of velocities in the axes of the base."""
    return [-one for one in BRACKET(robot, x, y)]


BRACKET = rk4.bracket


def one_sided(self: chain_rule.Dual, other: Any) -> Any:
    """Half of the product rule."""
    other = self.home.atom(other)
    return chain_rule.Dual(
        chain_rule.plain(self) * chain_rule.plain(other),
        [x * chain_rule.plain(other) for x in self.slopes],
    )


def test_half_a_product_rule_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_rule.Dual, "__mul__", one_sided)
    mechanism = tree_of("spherical")
    asked, compose = "step:jacobian", methods.composition("semi_implicit_euler", "step")
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
        Subject(mechanism, {asked: wrong}, helpers=helpers, states=2, compiled=False)
    )
    failed = {check.kind for check in report.checks if not check.passed and not check.unjudged}
    assert {"algebra", "identities"} <= failed


@pytest.mark.parametrize("planted", [flat, negated], ids=lambda one: str(one.__name__))
def test_without_a_bracket_the_order_is_lost(
    planted: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference says so, and so does the order, which knows no reference."""
    monkeypatch.setattr(rk4, "bracket", planted)
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


def velocity_first(mechanism: Mechanism, given: dict[str, Array]) -> dict[str, Array]:
    """Explicit Euler, which is of the same order: q moves by the velocity before."""
    reference = Reference(mechanism, BALLS)
    with BALLS.working():
        a = reference.forward_dynamics(given["q"], given["v"], given["tau"])
        q = reference.evaluate(
            "integrate", {"q": given["q"], "v": given["v"], "dt": given["instant"]}
        )["q_next"]
        return {"q_next": q, "v_next": given["v"] + a * given["instant"][:, None]}


def test_explicit_euler_is_another_step() -> None:
    mechanism = tree_of("revolute", "prismatic")
    given = draw(mechanism, 2, BALLS)
    found = Reference(mechanism, BALLS).evaluate(
        "step",
        {
            name: given[given_as]
            for name, given_as in (("q", "q"), ("v", "v"), ("tau", "tau"), ("dt", "instant"))
        },
    )
    other = velocity_first(mechanism, given)
    with BALLS.working():
        assert largest(found["v_next"] - other["v_next"]) < 1e-60
        assert largest(found["q_next"] - other["q_next"]) > 1e-12
