"""Numbers with derivatives, the composition of Programs, and the arguments of derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import symgen
from symgen.derivation.scalars import Derivation, Scalar
from symgen.ir.program import EXACT, Numbers, Program, evaluate
from symgen.pipeline import differentiation
from symgen.pipeline.composing import inline_program
from symgen.pipeline.differentiation.chain_rule import (
    Dual,
    DualPositions,
    derivatives_of,
    primal,
    steps,
)
from symgen.support.errors import ArgumentError, RequestError
from symgen.vocabulary.derivatives import Derivative

FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log)
EXPRESSIONS: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, int, int]]] = {
    "sum": (lambda x, y: x + y, (8, 1, 1)),
    "difference": (lambda x, y: x - y, (2, 1, -1)),
    "product": (lambda x, y: x * y, (15, 3, 5)),
    "square": (lambda x, y: x * x + 0 * y, (25, 10, 0)),
    "opposite": (lambda x, y: -y, (-3, 0, -1)),
    "number first": (lambda x, y: 2 + 7 * x, (37, 7, 0)),
    "number minus": (lambda x, y: 4 - x * y, (-11, -3, -5)),
    "minus number": (lambda x, y: x - 4, (1, 1, 0)),
    "polynomial": (lambda x, y: (x + 2) * (x - y) * y, ((5 + 2) * 2 * 3, 6 + 21, 14 - 21)),
}
"""Expressions, and by hand their value and partial derivatives at x = 5, y = 3."""


def values(derivation: Derivation, results: list[Scalar]) -> list[Fraction]:
    program = derivation.freeze(
        "f", "m", [("z", (len(results),), results)], {"x": (1,), "y": (1,), "w": (1,)}
    )
    arguments = {"x": [Fraction(5)], "y": [Fraction(3)], "w": [Fraction(2)]}
    return evaluate(program, arguments, EXACT)["z"]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_number_with_derivatives_has_those_of_the_expression(name: str) -> None:
    expression, expected = EXPRESSIONS[name]
    derivation = Derivation({"x": 1, "y": 1, "w": 1})
    zero, unit_value = derivation.zero, derivation.one
    x, y = (
        Dual(derivation.inputs[argument][0], unit)
        for argument, unit in (("x", [unit_value, zero]), ("y", [zero, unit_value]))
    )
    result = expression(x, y)
    assert isinstance(result, Dual)
    assert values(derivation, [primal(result), *result.derivatives]) == [*expected]


def test_a_number_without_derivatives_is_constant() -> None:
    derivation = Derivation({"x": 1, "y": 1, "w": 1})
    x = Dual(derivation.inputs["x"][0], [derivation.one, derivation.zero])
    w = derivation.inputs["w"][0]
    for result, slope in ((x * w, 2), (w * x, 2), (x + w, 1), (w + x, 1), (x - w, 1)):
        if isinstance(result, Dual):
            assert values(derivation, [*derivatives_of(result)]) == [slope, 0]
    assert derivatives_of(w) == ()
    assert isinstance(x * w, Dual)
    assert isinstance(x - w, Dual)


def test_a_plain_number_is_its_own_primal() -> None:
    derivation = Derivation({"x": 1})
    x = derivation.inputs["x"][0]
    assert primal(x) is x
    assert type(primal(-Dual(x, [derivation.one]))) is Scalar
    assert primal(-Dual(x, [derivation.one])).sign == -x.sign


def test_positions_have_the_derivatives_of_their_step() -> None:
    derivation = Derivation({"q": 4})
    rows = [[derivation.one], [derivation.zero], [derivation.one]]
    positions = DualPositions(derivation.inputs["q"], rows)
    assert steps(positions) is rows
    assert list(positions) == derivation.inputs["q"]
    number = Dual(derivation.inputs["q"][0], rows[0])
    assert steps([number, derivation.one]) == [rows[0], ()]


# -- composition -----------------------------------------------------------------------------------


def called() -> Program:
    """Return a Program with every operation: names, two steps, and results of two shapes."""
    derivation = Derivation({"x": 2})
    a, b = derivation.inputs["x"]
    derivation.step("first")
    total = derivation.name("total", a + b)
    ratio = derivation.divide(total, b)
    derivation.step("second")
    angle = derivation.atan2(a, b)
    others = [
        derivation.sin(a),
        derivation.cos(b),
        derivation.sqrt(b),
        derivation.log(b),
        -(a * b),
        a - ratio,
        angle,
        derivation.constant(Fraction(5, 7)),
    ]
    return derivation.freeze(
        "g", "m", [("y", (), [ratio]), ("z", (len(others),), others)], {"x": (2,)}
    )


def test_an_inlined_program_has_the_results_of_the_program() -> None:
    inner = called()
    derivation = Derivation({"u": 2})
    u = derivation.inputs["u"]
    results = inline_program(inner, derivation, [[u[1], u[0]]])
    outer = derivation.freeze(
        "f",
        "m",
        [(name, (len(x),), x) for name, x in zip("yz", results, strict=True)],
        {"u": (2,)},
    )
    assert [len(x) for x in results] == [1, 8]
    for name, expected in evaluate(inner, {"x": [0.3, 2.0]}, FLOATS).items():
        assert evaluate(outer, {"u": [2.0, 0.3]}, FLOATS)[name] == pytest.approx(
            expected, rel=1e-15
        )
    assert [row.name for row in outer.rows if row.name] == ["total"]
    assert [step for step in outer.steps if step in ("first", "second")] == ["first", "second"]


def test_a_stage_precedes_names_and_comments() -> None:
    derivation = Derivation({"u": 2})
    for stage in ("k1", "k2"):
        inline_program(
            called(), derivation, [derivation.inputs["u"][:: 1 if stage == "k1" else -1]], stage
        )
    frozen = derivation.freeze("f", "m", [], {"u": (2,)})
    assert [row.name for row in frozen.rows if row.name][:1] == ["k1_total"]
    assert [step for step in frozen.steps if step.startswith("k")] == [
        "k1: first",
        "k1: second",
        "k2: first",
        "k2: second",
    ]


# -- arguments of derivatives ----------------------------------------------------------------------


def test_changes_and_weights_precede_arguments_at_run_time() -> None:
    load = symgen.load("planar_arm").frames[-1].name
    names = {
        mode: [
            port.name
            for port in symgen.program("planar_arm", f"gravity_force:{mode}", payload=load).inputs
        ]
        for mode in ("jacobian", "jvp", "vjp", "hvp")
    }
    assert names == {
        "jacobian": ["q", "payload"],
        "jvp": ["q", "dq", "payload"],
        "vjp": ["q", "g_bar", "payload"],
        "hvp": ["q", "g_bar", "dq", "payload"],
    }


def test_an_unknown_argument_of_a_derivative_is_refused() -> None:
    program = symgen.program("planar_arm", "gravity_force")
    with pytest.raises(RequestError, match="argument of gravity_force"):
        symgen.derivative(program, "v")
    with pytest.raises(RequestError, match="is already a derivative; differentiate"):
        symgen.derivative(symgen.derivative(program, "q"), "q")


def test_a_second_derivative_by_velocities_is_the_mass_matrix() -> None:
    """The energy is v·M v/2, so that the weights of v change by M dv for a weight of one."""
    derived = symgen.derivative(symgen.program("planar_arm", "kinetic_energy"), ["v"], "hvp")
    assert [port.name for port in derived.inputs] == ["q", "v", "T_bar", "dv"]
    assert [port.name for port in derived.outputs] == ["dv_bar"]
    mass = symgen.program("planar_arm", "mass_matrix")
    at = {"q": [0.2, 0.7], "v": [3.0, 4.0], "T_bar": [2.0], "dv": [1.0, 0.0]}
    column = evaluate(mass, {"q": at["q"]}, FLOATS)["M"][::2]
    expected = [2.0 * x for x in column]
    assert evaluate(derived, at, FLOATS)["dv_bar"] == pytest.approx(expected, rel=1e-13)


def test_an_argument_that_a_program_lacks_is_refused_with_a_remedy() -> None:
    program = symgen.program("planar_arm", "gravity_force")
    by_load = Derivative("gravity_force", "jvp", ("q", "payload"))
    with pytest.raises(
        ArgumentError,
        match=r"gravity_force has no argument 'payload' here; request it with payload "
        r"\(--payload\), which names",
    ):
        differentiation.require_arguments(program, by_load, ())
    with pytest.raises(
        ArgumentError,
        match="gravity_force of this robot does not depend on 'payload', and the "
        "derivative is zero; leave 'payload' out",
    ):
        differentiation.require_arguments(program, by_load, ("payload",))
    by_gains = Derivative("constrained_forward_dynamics", "jvp", ("gains",))
    with pytest.raises(ArgumentError, match=r"request it with baumgarte \(--baumgarte\)$"):
        differentiation.require_arguments(program, by_gains, ())
    differentiation.require_arguments(program, Derivative("gravity_force", "jvp", ("q",)), ())


def test_only_jacobians_of_dynamics_have_a_recursion_of_their_own() -> None:
    assert differentiation.recursive(Derivative("inverse_dynamics", "jacobian", ("q", "v"))) == (
        "inverse_dynamics_derivatives"
    )
    assert differentiation.recursive(Derivative("inverse_dynamics", "jvp", ("q", "v"))) is None
    assert (
        differentiation.recursive(Derivative("inverse_dynamics", "jacobian", ("payload",))) is None
    )
    assert differentiation.recursive(Derivative("gravity_force", "jacobian", ("q",))) is None


def test_only_functions_that_integrate_positions_are_of_steps() -> None:
    for function, integrates in (("integrate", True), ("step", True), ("difference", False)):
        assert differentiation.of_steps(Derivative(function, "jacobian")) == integrates


def test_a_too_long_derivative_has_alternatives_that_suit_it() -> None:
    for mode, by, advice in (
        (
            "jacobian",
            ("q", "v"),
            "request f:vjp or f:jvp, which are a row or a column at a time, or a part of it",
        ),
        ("jacobian", ("q",), "request f:vjp or f:jvp, which are a row or a column at a time"),
        ("jvp", ("q", "v"), "request a part of it, as f:jvp(q)"),
        ("hvp", ("q",), "lock joints that do not matter with --lock"),
    ):
        text = differentiation._too_long(Derivative("f", mode, by), by, "9")
        head, _, tail = text.partition("; ")
        assert head.endswith(f"needs 9 rows, more than {differentiation.ROW_BUDGET}")
        assert tail.startswith(advice)
        assert len(tail) == len(advice) or tail.removeprefix(advice).startswith(", as f:")
