"""Scalar and Derivation: simplification by structure, recorded operations, and conversion to a
Program.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
import sympy as sp

from symgen.derivation import constants as k
from symgen.derivation.scalars import Derivation, Scalar, TooManyRows, lower
from symgen.ir.program import ONES, SPARE, Numbers, Program, check, evaluate
from symgen.support.errors import ProgramError, SymgenError

EXACT = Numbers(Fraction, Fraction, Fraction, Fraction, Fraction)
FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log)


def new_derivation(size: int = 3) -> tuple[Derivation, list[Scalar]]:
    derivation = Derivation({"x": size})
    return derivation, derivation.inputs["x"]


def frozen_program(derivation: Derivation, *results: Scalar) -> Program:
    return check(
        derivation.freeze(
            "f", "m", [("y", (len(results),), results)], {"x": (derivation.sizes["x"],)}
        )
    )


def recorded_operations(make: Callable[[Derivation, list[Scalar]], Scalar]) -> list[str]:
    """Return the operations that `make` records, without inputs and constants."""
    derivation, x = new_derivation()
    make(derivation, x)
    return [op for op, _, _ in derivation.rows if op not in ("input", "const")]


SIMPLIFIED = {
    "x + 0": (lambda h, x: x + 0, "x"),
    "0 + x": (lambda h, x: 0 + x, "x"),
    "x - 0": (lambda h, x: x - 0, "x"),
    "0 - x": (lambda h, x: h.zero - x, "-x"),
    "1 x": (lambda h, x: 1 * x, "x"),
    "x 1": (lambda h, x: x * 1, "x"),
    "-1 x": (lambda h, x: x * -1, "-x"),
    "0 x": (lambda h, x: x * 0, "0"),
    "x - x": (lambda h, x: x - x, "0"),
    "-x + x": (lambda h, x: -x + x, "0"),
    "-(-x)": (lambda h, x: -(-x), "x"),  # noqa: B002
    "x / 1": (lambda h, x: x / h.one, "x"),
    "x / -1": (lambda h, x: x / -h.one, "-x"),
    "0 / x": (lambda h, x: h.zero / x, "0"),
    "2 + 3": (lambda h, x: h.constant(2) + 3, "5"),
    "2 3": (lambda h, x: h.constant(2) * 3, "6"),
    "2 / 3": (lambda h, x: h.constant(2) / h.constant(3), "2/3"),
}


@pytest.mark.parametrize("operation", SIMPLIFIED)
def test_operations_with_zero_or_one_are_not_recorded(operation: str) -> None:
    make, meaning = SIMPLIFIED[operation]
    derivation, (x, _, _) = new_derivation()
    before = len(derivation.rows)
    result = make(derivation, x)
    assert len(derivation.rows) == before
    if meaning.endswith("x"):
        assert (result.row, result.sign) == (x.row, -1 if meaning[0] == "-" else 1)
    else:
        assert result.is_constant
        assert k.to_fraction(result.value) == Fraction(meaning)
        assert result.is_zero == (meaning == "0")


def test_one_operation_on_two_atoms_records_exactly_that_operation() -> None:
    for op, make in {
        "mul": lambda h, x: x[0] * x[1],
        "add": lambda h, x: x[0] + x[1],
        "sub": lambda h, x: x[0] - x[1],
        "div": lambda h, x: x[0] / x[1],
    }.items():
        assert recorded_operations(make) == [op]
    assert recorded_operations(lambda h, x: x[0] / h.constant(4)) == [
        "mul"
    ]  # division by a constant multiplies by its exact reciprocal


def test_signs_are_part_of_a_scalar_and_cost_no_row() -> None:
    derivation, x = new_derivation()
    plus, minus = x[0] * 5, x[0] * -5
    assert minus.sign == -1
    assert plus.sign == 1
    constants = {
        derivation.values[row] for row, (op, _, _) in enumerate(derivation.rows) if op == "const"
    }
    assert constants == {Fraction(5)}  # c·x and −c·x share the constant
    assert [derivation.rows[a.row][0] for a in (plus, minus)] == ["mul", "mul"]
    assert set(derivation.rows[plus.row][1:]) == set(
        derivation.rows[minus.row][1:]
    )  # a pass merges these equal rows
    assert (-x[0] * -x[1]).sign == 1
    assert (-x[0] / x[1]).sign == -1


@pytest.mark.parametrize("sa", [1, -1])
@pytest.mark.parametrize("sb", [1, -1])
@pytest.mark.parametrize("op", ["+", "-", "*", "/"])
def test_operations_are_right_for_every_combination_of_signs(sa: int, sb: int, op: str) -> None:
    derivation, (x, y, _) = new_derivation()
    a, b = (x if sa > 0 else -x), (y if sb > 0 else -y)
    result = {"+": a + b, "-": a - b, "*": a * b, "/": a / b}[op]
    p, q = sa * Fraction(7, 3), sb * Fraction(-5, 2)
    expected = {"+": p + q, "-": p - q, "*": p * q, "/": p / q}[op]
    assert evaluate(
        frozen_program(derivation, result), {"x": [Fraction(7, 3), Fraction(-5, 2), 0]}, EXACT
    )["y"] == [expected]


@pytest.mark.parametrize("c", [Fraction(3, 7), Fraction(-3, 7)])
@pytest.mark.parametrize("sign", [1, -1])
def test_operations_with_constants_are_right_for_every_sign(c: Fraction, sign: int) -> None:
    derivation, (x, _, _) = new_derivation()
    a, b, value = (x if sign > 0 else -x), derivation.constant(c), sign * Fraction(11, 5)
    frozen_sums = frozen_program(derivation, a + b, b + a, a - b, b - a, a * b, b / a, a / b)
    expected = [value + c, c + value, value - c, c - value, value * c, c / value, value / c]
    assert evaluate(frozen_sums, {"x": [Fraction(11, 5), 0, 0]}, EXACT)["y"] == expected
    assert not any(row.op == "const" and row.value < 0 for row in frozen_sums.rows)


def test_only_a_result_turns_a_sign_into_a_row() -> None:
    derivation, (x, y, _) = new_derivation()
    inner = -(x * y)
    result = inner * x
    program = frozen_program(derivation, result, -result, inner, inner)
    negs = [i for i, row in enumerate(program.rows) if row.op == "neg"]
    assert len(negs) == 2  # one of x·y·x and one of x·y, although x·y is requested twice
    assert all(i not in row.args for row in program.rows for i in negs)
    assert evaluate(program, {"x": [Fraction(2), Fraction(3), 0]}, EXACT)["y"] == [-12, 12, -6, -6]


def test_a_constant_result_is_a_constant_row() -> None:
    derivation, _ = new_derivation()
    program = frozen_program(derivation, derivation.zero, derivation.constant(Fraction(-2, 3)))
    assert evaluate(program, {"x": [0, 0, 0]}, EXACT)["y"] == [0, Fraction(-2, 3)]
    assert program.cost == program.operations["neg"] == 0


def test_sines_are_recorded_once_for_an_argument_and_its_negative() -> None:
    derivation, (x, _, _) = new_derivation()
    assert derivation.sin(x).row == derivation.sin(x).row == derivation.sin(-x).row
    assert derivation.sin(-x).sign == -1
    assert derivation.cos(x).row == derivation.cos(-x).row
    assert derivation.cos(-x).sign == 1
    assert [op for op, _, _ in derivation.rows if op in ("sin", "cos")] == ["sin", "cos"]
    with pytest.raises(ProgramError, match="sin of a constant"):
        derivation.sin(derivation.one)


def test_division_by_a_structural_zero_is_refused() -> None:
    derivation, (x, y, _) = new_derivation()
    for zero in (derivation.zero, x - x, y * 0):
        with pytest.raises(ProgramError, match="zero in every state"):
            x / zero


def test_an_irrational_constant_keeps_its_digits() -> None:
    with k.precision():
        derivation, (x, _, _) = new_derivation()
        root = derivation.constant(k.square_root(k.rational(2)))
        assert (root * root * Fraction(1, 2)).equals(1)
        assert (root * root - 2).is_zero
        assert not root.equals(1)
        program = frozen_program(derivation, root * x)
    (value,) = (
        row.value for row in program.rows if row.op == "const" and row.value.denominator > 1
    )
    assert abs(value * value - 2) < Fraction(1, 10**60)


def test_names_are_unique_and_inputs_are_not_renamed() -> None:
    derivation, (x, y, _) = new_derivation()
    a, b = x * y, x + y
    derivation.name("a", a)
    derivation.name("again", a)
    derivation.name("a", b)
    derivation.name("b", -b)
    derivation.name("x", x)
    derivation.name("c", derivation.one)
    assert sorted(derivation.names.values()) == ["a", "neg_b"]
    program = frozen_program(derivation, a, b)
    assert [row.name for row in program.rows if row.name] == ["a", "neg_b"]


def test_a_step_covers_the_rows_recorded_after_it() -> None:
    derivation, (x, y, _) = new_derivation()
    derivation.step("first")
    a = x * y
    derivation.step("second")
    b = a + x
    program = frozen_program(derivation, b)
    assert program.steps == ("first", "second")
    assert [program.steps[program.rows[s.row].step] for s in (a, b)] == ["first", "second"]
    assert program.rows[x.row].step == -1


def test_the_budget_limits_the_number_of_rows() -> None:
    derivation = Derivation({"x": 2}, budget=4)
    x, y = derivation.inputs["x"]
    total = (x * y) + x
    with pytest.raises(TooManyRows, match="4 rows"):
        total * y
    assert issubclass(TooManyRows, SymgenError)
    assert len(derivation.rows) == 4


X, Y, Z = sp.symbols("X Y Z", real=True)
LOWERED = {
    "a polynomial": X**3 * Y - 2 * X * Y**2 + sp.Rational(7, 3),
    "a quotient": (X + Y) / (X - 3 * Y),
    "a negative power": X**-2 * Y,
    "a product of sums": (X + 2) * (Y - X) * (X * Y + 1),
    "a number": sp.Rational(-5, 7),
    "a symbol": Y,
}


@pytest.mark.parametrize("expression", LOWERED)
def test_lowering_keeps_the_value(expression: str) -> None:
    derivation, (x, y, _) = new_derivation()
    lowered = lower(LOWERED[expression], {X: x, Y: y}, derivation)
    values = {X: Fraction(4, 3), Y: Fraction(-2, 5)}
    exact = LOWERED[expression].subs(
        {s: sp.Rational(v.numerator, v.denominator) for s, v in values.items()}
    )
    assert evaluate(frozen_program(derivation, lowered), {"x": [*values.values(), 0]}, EXACT)[
        "y"
    ] == [Fraction(int(exact.p), int(exact.q))]


def test_lowering_sines_keeps_the_value() -> None:
    derivation, (x, y, _) = new_derivation()
    lowered = lower(sp.sin(X + Y) * sp.cos(X - Y), {X: x, Y: y}, derivation)
    value = evaluate(frozen_program(derivation, lowered), {"x": [0.4, 1.1, 0.0]}, FLOATS)["y"][0]
    assert abs(value - math.sin(1.5) * math.cos(-0.7)) < 1e-15  # three roundings of numbers below 1


def test_lowering_roots_keeps_the_value() -> None:
    derivation, (x, y, _) = new_derivation()
    lowered = lower(sp.sqrt(X * Y) + 1 / sp.sqrt(X), {X: x, Y: y}, derivation)
    assert [op for op, _, _ in derivation.rows if op == "sqrt"] == ["sqrt"] * 2
    assert (
        abs(
            evaluate(frozen_program(derivation, lowered), {"x": [4.0, 9.0, 0.0]}, FLOATS)["y"][0]
            - 6.5
        )
        < 1e-15
    )
    assert derivation.sqrt(derivation.constant(4)).value == 2
    derivation, (x, _, _) = new_derivation()
    assert evaluate(
        frozen_program(derivation, derivation.sqrt(-x)), {"x": [-9.0, 0.0, 0.0]}, FLOATS
    )["y"] == [3.0]


@pytest.mark.parametrize(
    "foreign",
    [
        X**Y,
        X ** sp.Rational(1, 3),
        sp.exp(X),
        sp.tan(X),
        sp.pi * X,
        sp.Abs(X),
        sp.Float("0.5") * X,
        Z,
        sp.nan,
        sp.oo,
        sp.I,
    ],
    ids=str,
)
def test_lowering_refuses_functions_without_a_row_operation(foreign: sp.Expr) -> None:
    derivation, (x, y, _) = new_derivation()
    with pytest.raises(ProgramError, match="cannot be lowered"):
        lower(foreign, {X: x, Y: y}, derivation)


def test_a_binding_replaces_its_expression() -> None:
    derivation, (x, y, _) = new_derivation()
    assert lower(sp.cos(X), {sp.cos(X): y}, derivation) is y
    assert lower(X * sp.cos(X), {X: x, sp.cos(X): y}, derivation).row == len(derivation.rows) - 1
    assert [op for op, _, _ in derivation.rows if op == "cos"] == []


def test_only_numbers_become_constants() -> None:
    derivation, _ = new_derivation()
    for value in (0.5, "1", sp.Rational(1, 2), None):
        with pytest.raises(ProgramError, match="is no constant"):
            derivation.constant(value)


def test_of_two_equal_atoms_a_constant_is_taken_and_else_the_first() -> None:
    derivation, (x, y, _) = new_derivation()
    two = derivation.constant(2)
    assert derivation.either(two, x) is derivation.either(x, two) is two
    assert derivation.either(two, derivation.one) is two
    assert derivation.either(x, x) is x
    shapes = {"x": (3,)}
    without = derivation.freeze("f", "m", [("y", (1,), [x])], shapes, spare=True)
    assert [port.name for port in without.outputs] == ["y"]
    assert derivation.either(x, y) is x
    assert derivation.either(x, y) is x
    alternatives = derivation.freeze("f", "m", [("y", (1,), [x])], shapes, spare=True).outputs[1]
    assert (alternatives.name, alternatives.rows) == (SPARE, (y.row,))
    hidden = derivation.freeze("f", "m", [("y", (1,), [x])], shapes)
    assert [port.name for port in hidden.outputs] == ["y"]


def test_functions_of_negated_atoms_negate_their_operands() -> None:
    derivation, (x, y, _) = new_derivation()
    arc = derivation.by_series("arc", x, -y)
    angle = derivation.atan2(-x, y)
    for result, operation, operands in ((arc, "arc", (x, y)), (angle, "atan2", (x, y))):
        op, first, second = derivation.rows[result.row]
        assert (op, result.sign) == (operation, 1)
        rows = [derivation.rows[row] for row in (first, second)]
        negated = [row[0] == "neg" for row in rows]
        assert negated == ([False, True] if operation == "arc" else [True, False])
        origin = [
            row[1] if row[0] == "neg" else at for row, at in zip(rows, (first, second), strict=True)
        ]
        assert origin == [operand.row for operand in operands]
    for constant in ((derivation.one, x), (x, derivation.one)):
        with pytest.raises(ProgramError, match="atan2 of a constant"):
            derivation.atan2(*constant)


def test_opaque_ones_are_separate_inputs() -> None:
    derivation, (x, *_) = new_derivation()
    first, second = derivation.opaque_one(), derivation.opaque_one()
    assert first.row != second.row
    program = derivation.freeze("f", "m", [("y", (1,), [x * first * second])], {"x": (3,)})
    ones = program.inputs[-1]
    assert (ones.name, ones.shape) == (ONES, (2,))
    results = evaluate(program, {"x": [3.0, 0.0, 0.0], ONES: [1.0, 1.0]}, FLOATS)
    assert results["y"] == [3.0]


def test_only_numbers_are_constants_and_equal_ones_are_one_atom() -> None:
    derivation, _ = new_derivation()
    assert derivation.number(2, 3) is derivation.number(2, 3)
    assert derivation.number(2, 3).value == k.rational(Fraction(2, 3))
    with pytest.raises(ProgramError, match="'x' is no constant"):
        derivation.constant("x")
    assert derivation.constant(-1).equals(-1)
    assert not derivation.constant(2).equals(1)
