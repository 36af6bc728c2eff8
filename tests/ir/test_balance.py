"""Products within the range of a float whose partial products are not."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from symgen.ir import passes
from symgen.ir.passes.balance import balance
from symgen.ir.passes.eliminate import eliminate
from symgen.ir.program import Numbers, Port, Program, Row, check, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.derive import derive
from symgen.verification.evaluating import machine_runner
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.reals import FLOAT
from tests.shared.pass_programs import formulas, written
from tests.shared.robots_for_tests import random_mechanism

balancing = sys.modules["symgen.ir.passes.balance"]
order, split = balancing._order, balancing._split_constant
DETERMINANT = "mass_matrix_determinant"


def product(*factors: Fraction, varying: int) -> Program:
    """Return the product of factors, multiplied from left to right.

    The first `varying` factors are c_k/(1 + x), the others are the constants c_k.
    """
    rows: list[Row] = [Row("input", (), (0, 0)), Row("const", (), Fraction(1)), Row("add", (0, 1))]
    factor_rows = []
    for n, factor in enumerate(factors):
        rows.append(Row("const", (), factor))
        if n < varying:
            rows.append(Row("div", (len(rows) - 1, 2)))
        factor_rows.append(len(rows) - 1)
    total = factor_rows[0]
    for n, factor_row in enumerate(factor_rows[1:]):
        rows.append(
            Row(
                "mul",
                (total, factor_row),
                None,
                "whole" if n == len(factor_rows) - 2 else f"part_{n}",
            )
        )
        total = len(rows) - 1
    return check(Program("f", "m", (Port("x", (1,)),), (Port("y", (), (total,)),), tuple(rows)))


def evaluate_in_float(program: Program, x: float) -> float:
    return float(machine_runner(replace(program, real="float"))({"x": np.array([[x]])})["y"][0])


def powers_of_ten(*orders: int) -> list[Fraction]:
    return [Fraction(10) ** order for order in orders]


@pytest.mark.parametrize(
    "orders", [(20, 15, 18, -17, -19, -16), (12, 13, 14, 15, -27, -26), (30, 30, -29, -31, 2)]
)
def test_large_factors_are_multiplied_with_small_ones_first(orders: tuple[int, ...]) -> None:
    """The product costs no more operations and keeps its name."""
    derived = product(*powers_of_ten(*orders), varying=len(orders))
    assert not np.isfinite(evaluate_in_float(derived, 0.0))
    after = check(balance(derived))
    assert evaluate_in_float(after, 0.0) == pytest.approx(10.0 ** sum(orders), rel=1e-5)
    assert eliminate(after).cost == derived.cost
    assert after.rows[-1].name == "whole"


@pytest.mark.parametrize("orders", [(15, 18, -60), (30, -60), (-25, 50)])
def test_a_constant_that_no_float_holds_is_multiplied_in_parts(orders: tuple[int, ...]) -> None:
    """The last factor is the constant."""
    derived = product(*powers_of_ten(*orders), varying=len(orders) - 1)
    assert evaluate_in_float(derived, 0.0) in (0.0, np.inf)
    after = check(balance(derived))
    assert evaluate_in_float(after, 0.0) == pytest.approx(10.0 ** sum(orders), rel=1e-5)
    operands = {a for row in after.rows if row.op == "mul" for a in row.args}
    assert all(
        FLOAT.least <= row.value <= FLOAT.largest
        for n, row in enumerate(after.rows)
        if row.op == "const" and n in operands
    )


def test_sizes_are_taken_at_two_states_of_different_numbers() -> None:
    """Only the first argument is nonzero in the first state. All numbers are of size 1, and differ
    by at least the least distance of so many multiples of the golden section.
    """
    count = 100
    rows = (
        *(Row("input", (), (0, i)) for i in range(count)),
        *(Row("input", (), (1, i)) for i in range(count)),
    )
    inputs = (Port("x", (count,)), Port("y", (count,)))
    sizes = balancing._sizes(Program("f", "m", inputs, (Port("z", (), (0,)),), rows))
    assert {len(states) for states in sizes} == {2}
    first, second = zip(*sizes, strict=True)
    assert all(size == -np.inf for size in first[count:])
    assert first[:count] == second[:count]
    numbers = sorted(2**size for size in second)
    assert 1 / 8 <= numbers[0] < numbers[-1] <= 9 / 8
    assert pytest.approx(1) == balancing.GOLDEN**2 + balancing.GOLDEN
    fibonacci = 233  # the first one above 200
    assert np.diff(numbers).min() > 0.99 * balancing.GOLDEN**2 / fibonacci


@pytest.mark.parametrize(("order", "split"), [(96, False), (97, True), (-96, False), (-97, True)])
def test_a_constant_is_split_from_96_binary_orders_of_magnitude_on(order: int, split: bool) -> None:
    """The other factor, 1/(1 + x) or 4/(1 + x), makes the product less extreme than it."""
    numerator = Fraction(1) if order > 0 else Fraction(4)
    derived = product(numerator, Fraction(2) ** order, varying=1)
    after = check(balance(derived))
    assert (after is not derived) == split
    assert sum(row.op == "mul" for row in after.rows) == 1 + split


@pytest.mark.parametrize(
    "orders", [(10, -3, 12), (30, 30, 30, 30, 30), (-50, 5, 3, 1, 1), (-20, 3, 2)]
)
def test_a_product_that_is_safe_or_cannot_be_made_safe_is_unchanged(
    orders: tuple[int, ...],
) -> None:
    """Partial products are well within the range, or no order of factors keeps them there."""
    derived = product(*powers_of_ten(*orders), varying=len(orders))
    assert balance(derived) is derived


def test_a_program_of_short_products_is_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of four factors, and constants near 1, do not leave the range of a float."""

    def refuse(*_: object) -> None:
        raise AssertionError("the program is evaluated")

    monkeypatch.setitem(balance.__globals__, "_sizes", refuse)
    short = product(*powers_of_ten(3, 4, -3, -4), varying=4)
    assert balance(short) is short
    with pytest.raises(AssertionError, match="is evaluated"):
        balance(product(*powers_of_ten(3, 4, -3, -4, 2), varying=5))


def test_a_program_that_divides_by_zero_is_unchanged() -> None:
    derived = product(*powers_of_ten(30, 30, -29, -31, 2), varying=5)
    rows = (*derived.rows, Row("sub", (0, 0)), Row("div", (0, len(derived.rows))))
    assert balance(derived) is not derived
    dividing = derived.with_rows(rows, derived.outputs)
    assert balance(dividing) is dividing


@cache
def tiny_mechanism() -> Mechanism:
    """A chain of two links of some hundredths of a milligram."""
    mechanism, share = random_mechanism(2, 3), Fraction(1, 10**8)
    bodies = (
        replace(
            body,
            parts=tuple(
                replace(
                    part, mass=part.mass * share, moments=tuple(x * share for x in part.moments)
                )
                for part in body.parts
            ),
        )
        for body in mechanism.bodies
    )
    return replace(mechanism, name="tiny", bodies=tuple(bodies))


@pytest.mark.usefixtures("finished_here")
@pytest.mark.parametrize(
    "method", ["fixman:spatial", "constraint_force", "constraint_force:parallel"]
)
def test_balance_keeps_the_determinant_of_a_tiny_robot_in_the_range_of_float(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `balance`, the determinant in float has a relative error above 0.01, or is not
    finite.
    """
    mechanism = tiny_mechanism()
    state = {"q": np.array([[0.3, -1.1]])}
    exact = float(
        machine_runner(derive(mechanism, DETERMINANT, "riccati", ProgramOptions()))(state)["det"][0]
    )

    def relative_error() -> float:
        determinant = machine_runner(
            derive(mechanism, DETERMINANT, method, ProgramOptions("float"))
        )(state)["det"][0]
        return abs(float(determinant) / exact - 1)

    assert relative_error() < 1e-4
    for list_name in ("PIPELINE", "LAST"):
        monkeypatch.setattr(
            passes,
            list_name,
            tuple(
                compiler_pass
                for compiler_pass in getattr(passes, list_name)
                if compiler_pass is not balance
            ),
        )
    assert not relative_error() < 1e-2


# -- sizes of factors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [Fraction(x) for x in ("1", "3/7", "-5", "1/1024", "-12345/67", "7e40", "3e-300")]
)
def test_the_order_of_a_number_is_its_binary_logarithm(value: Fraction) -> None:
    assert order(value) == pytest.approx(math.log2(abs(value)), abs=1e-9)


def test_the_order_of_a_number_beyond_a_double_is_exact() -> None:
    assert order(Fraction(3) ** 5000) == pytest.approx(5000 * math.log2(3), rel=1e-14)
    assert order(Fraction(3) ** -5000) == pytest.approx(-5000 * math.log2(3), rel=1e-14)
    assert order(Fraction(0)) == -math.inf


@pytest.mark.parametrize("power", [0, 1, 40, 63, 64, 65, 96, 97, 200, -40, -96, -97, -300, 1100])
def test_a_constant_is_split_into_parts_of_safe_size(power: int) -> None:
    """The parts have about one size, and as few as sizes of PART allow if there are several."""
    for factor in (Fraction(1), Fraction(5, 4), Fraction(-4, 5)):
        constant = factor * Fraction(2) ** power
        parts = split(constant)
        assert math.prod(parts, start=Fraction(1)) == constant
        orders = [order(part) for part in parts]
        if constant == 1:
            assert parts == []
        elif abs(order(constant)) <= balancing.WITHIN:
            assert len(parts) == 1
        else:
            assert len(parts) == math.ceil(abs(order(constant)) / balancing.PART)
            assert all(abs(size) <= balancing.PART + len(parts) for size in orders)
            assert max(orders) - min(orders) <= 1 + len(parts)
        signs = [part for part in parts if part < 0]
        assert len(signs) == (factor < 0)


def written_product(*sizes: int) -> Program:
    """Return the product of √(b·b)/2^−size, from left to right; each factor varies with b alone."""
    factors = [f"(_r / {2**-size if size < 0 else 2.0**-size})" for size in sizes]
    return written("_r = sqrt(b * b)", " * ".join(factors))


@pytest.mark.parametrize(
    ("sizes", "changes"),
    [
        ((60, 60, -60, -60, 0), True),
        ((30, 30, -30, -30, 0), False),
        ((-60, -60, 60, 60, 0), True),
        ((60, -60, 60, -60, 0), False),  # the parts of the product are small already
        ((40, 40, 40, 40, 40), False),  # the whole is as large
    ],
)
def test_a_product_changes_if_a_part_of_it_is_large_or_small(
    sizes: tuple[int, ...], changes: bool
) -> None:
    derived = written_product(*sizes)
    after = balance(derived)
    assert (after is not derived) == changes
    assert eliminate(check(after)).cost == derived.cost
    at = {"x": [0.0, 1.5] + [0.0] * 6}
    numbers = Numbers(float, math.sin, math.cos, math.sqrt, math.log)
    (before,), (now,) = (evaluate(each, at, numbers)["y"] for each in (derived, after))
    assert now == pytest.approx(before, rel=1e-12)


def magnitudes(derived: Program) -> list[float]:
    """Return the magnitude of every product of the result at b = 1."""
    rows = eliminate(derived)
    every_row = rows.with_rows(
        rows.rows, [Port("y", (len(rows.rows),), tuple(range(len(rows.rows))))]
    )
    numbers = Numbers(float, math.sin, math.cos, math.sqrt, math.log)
    values = evaluate(every_row, {"x": [1.0] * 8}, numbers)["y"]
    return [
        abs(math.log2(abs(value)))
        for row, value in zip(rows.rows, values, strict=True)
        if row.op == "mul" and value
    ]


@pytest.mark.parametrize(
    "sizes",
    [
        (90, 50, 20, -30, -60, -70),
        (90, 80, -60, -50, -40, -10),
        (-90, -80, 60, 50, 40, 10),
        (85, 70, 60, -75, -75, -65),
        (90, 60, -90, -60, 90, -80, 10),
    ],
)
def test_no_part_of_a_changed_product_is_larger_than_its_factors(sizes: tuple[int, ...]) -> None:
    """The smallest factor is multiplied by the largest, and so on with their product."""
    derived = written_product(*sizes)
    largest = max(map(abs, sizes))
    assert max(magnitudes(derived)) > balancing.WITHIN
    assert max(magnitudes(balance(derived))) <= largest + 1


@pytest.mark.parametrize("also", ["_p * c", "_p", "_p + _p"])
def test_a_part_that_other_rows_read_is_a_factor(also: str) -> None:
    """2^60·2^60 is needed as it is, so that only the other factors are exchanged."""
    factor, small = f"(_r / {2.0**-60})", f"(_r / {2**60})"
    derived = written(
        "_r = sqrt(b * b)",
        f"_p = {factor} * {factor}",
        f"_p * {small} * {small} * c * d",
        also,
    )
    after = eliminate(balance(derived))
    assert formulas(after)[1:] == formulas(derived)[1:]
    assert after.cost == derived.cost


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("a * b * c * d", True),
        ("a * b * c * d * e", False),
        ("a * (b * c) * (d * e)", False),
        ("(a * b + 1) * (c * d) * e", True),
        ("a * b * 4294967296", True),
        ("a * b * 8589934592", False),
        ("a + 8589934592", False),
        ("a * 0.000000000001", False),
        ("a * 0.00001", True),
    ],
)
def test_programs_of_few_factors_near_one_are_short(text: str, short: bool) -> None:
    """2^32 is a third of the safe size, 2^33 is beyond it."""
    assert balancing._short(written(text)) == short
