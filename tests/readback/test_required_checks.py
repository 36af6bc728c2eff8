"""Numbers that a checked function must compare follow from the rows of its Program."""

from __future__ import annotations

from fractions import Fraction

import pytest

from symgen.ir.program import Port, Program
from symgen.readback import required_checks
from symgen.readback.required_checks import LowerBound
from symgen.vocabulary.reals import REALS
from tests.shared.c_programs import Builder, forward_dynamics, vector

LEAST = REALS["double"].least


def program(*operations: tuple[str, int, int], real: str = "double") -> Program:
    """Return the results of operations on two numbers of q; -1 is the constant 2."""
    builder = Builder("gravity_force", [vector("q", 4)], real)
    rows = [builder.input(0, k) for k in range(4)]
    rows.append(builder.const(2))
    results = []
    for op, first, second in operations:
        operands = (rows[first], rows[second]) if op in ("div", "atan2") else (rows[second],)
        results.append(builder.op(op, *operands))
    return builder.program([Port("g", (len(results),), tuple(results))])


def bounds(form: Program, certified: dict[int, Fraction] | None = None) -> dict[int, LowerBound]:
    return required_checks.bounds(form, required_checks.computed(form), certified or {})


def test_only_rows_that_a_result_needs_are_computed() -> None:
    form = forward_dynamics()
    assert required_checks.computed(form) == [*range(len(form.rows))]
    builder = Builder("gravity_force", [vector("q")])
    q_0, q_1 = builder.input(0, 0), builder.input(0, 1)
    builder.op("sin", q_1)
    result = builder.op("neg", q_0)
    assert required_checks.computed(builder.program([Port("g", (1,), (result,))])) == [q_0, result]


@pytest.mark.parametrize("real", REALS)
def test_bounds_are_those_of_divisors_logarithms_and_roots(real: str) -> None:
    form = program(("div", 0, 1), ("log", 0, 2), ("sqrt", 0, 3), real=real)
    least = REALS[real].least
    assert bounds(form) == {
        1: LowerBound(True, least),
        2: LowerBound(False, least),
        3: LowerBound(False, Fraction(0)),
    }


def test_constants_need_no_bound() -> None:
    assert bounds(program(("div", 0, 4), ("sqrt", 0, 4), ("log", 0, 4))) == {}
    assert bounds(program(("sin", 0, 1), ("atan2", 0, 1))) == {}


@pytest.mark.parametrize(
    ("operations", "bound"),
    [
        ((("div", 0, 1), ("div", 2, 1)), LowerBound(True, LEAST)),
        ((("div", 0, 1), ("sqrt", 0, 1)), LowerBound(False, LEAST)),
        ((("sqrt", 0, 1), ("div", 0, 1)), LowerBound(False, LEAST)),
        ((("log", 0, 1), ("div", 0, 1)), LowerBound(False, LEAST)),
        ((("sqrt", 0, 1), ("log", 0, 1)), LowerBound(False, LEAST)),
        ((("sqrt", 0, 1), ("sqrt", 0, 1)), LowerBound(False, Fraction(0))),
    ],
)
def test_a_row_of_several_uses_keeps_to_all_of_them(
    operations: tuple[tuple[str, int, int], ...], bound: LowerBound
) -> None:
    assert bounds(program(*operations)) == {1: bound}


def test_a_certified_row_keeps_to_its_floor_with_its_sign() -> None:
    form = program(("div", 0, 1), ("sqrt", 0, 1), ("div", 0, 2))
    certified = {1: Fraction(1, 8), 3: Fraction(9)}
    assert bounds(form, certified) == {
        1: LowerBound(False, Fraction(1, 8)),
        2: LowerBound(True, LEAST),
    }


def test_results_divisors_and_operands_of_atan2_are_finite() -> None:
    builder = Builder("gravity_force", [vector("q", 4)])
    q = [builder.input(0, k) for k in range(4)]
    x, y, z = (builder.op("add", q[k], q[k + 1]) for k in range(3))
    quotient = builder.op("div", q[0], x)
    angle = builder.op("atan2", y, z)
    root = builder.op("sqrt", builder.op("mul", q[3], q[3]))
    total = builder.op("add", builder.op("add", quotient, angle), root)
    form = builder.program([Port("g", (3,), (total, q[0], builder.const(1)))])
    rows = required_checks.computed(form)
    assert required_checks.finite(form, rows) == {total, x, y, z}
    assert required_checks.angle_rows(form, rows) == set()
    turned = program(("sin", 0, 1), ("cos", 0, 2), ("sin", 0, 2))
    assert required_checks.angle_rows(turned, required_checks.computed(turned)) == {1, 2}


def test_sizes_are_named_where_the_table_of_functions_has_names() -> None:
    assert required_checks.shapes(forward_dynamics()) == [("NQ",), ("NV",), ("NV",), ("NV",)]
    builder = Builder("gravity_force", [vector("q", 3), vector("other", 7)])
    form = builder.program([Port("g", (2,), (builder.input(0, 0), builder.input(1, 0)))])
    assert required_checks.shapes(form) == [("NQ",), (7,), ("NV",)]
    unknown = Builder("no_function", [vector("q", 3)])
    assert required_checks.shapes(unknown.program([Port("g", (1,), (unknown.input(0, 0),))])) == [
        (3,),
        (1,),
    ]


def test_the_square_of_a_length_is_one_within_a_bound_of_the_type() -> None:
    assert required_checks.unit_length_tolerance("double") == Fraction(1, 2**20)
    assert required_checks.unit_length_tolerance("float") == Fraction(1, 2**12)
    assert required_checks.FARTHEST == 2**15
