"""Values of rows modulo a prime: the identities that hold there, and what is random."""

from __future__ import annotations

from dataclasses import replace

import pytest

from symgen.ir.passes._fingerprints import angle_rows, residues
from symgen.ir.program import Port
from tests.shared.pass_programs import LETTERS, formula, written

PRIME = 1000003


def values(*formulas: str, seed: int = 1, prime: int = PRIME) -> list[int]:
    """Return the residues of the results, which are below the prime."""
    derived = written(*formulas)
    values_of_rows = residues(prime, seed, derived)
    assert values_of_rows is not None
    assert all(0 <= x < prime for x in values_of_rows[0])
    return [values_of_rows[0][r] for r in derived.outputs[0].rows]


EQUAL = (
    ("a + b - b", "a"),
    ("-(a - b)", "b - a"),
    ("(a + b) * (a - b)", "a * a - b * b"),
    ("a / b * b", "a"),
    ("1 / (1 / a)", "a"),
    ("3 * (a / 3)", "a"),
    ("0.5 + 0.25", "0.75"),
    ("-0.5 * -2", "1"),
    ("sin(a) * sin(a) + cos(a) * cos(a)", "1"),
    ("sin(-a)", "-sin(a)"),
    ("cos(-a)", "cos(a)"),
    ("sin(b - a)", "-sin(a - b)"),
    ("cos(b - a)", "cos(a - b)"),
    ("sin(a + b)", "sin(a) * cos(b) + cos(a) * sin(b)"),
    ("cos(a + b)", "cos(a) * cos(b) - sin(a) * sin(b)"),
    ("sin(a - b)", "sin(a) * cos(b) - cos(a) * sin(b)"),
    ("cos(a - b)", "cos(a) * cos(b) + sin(a) * sin(b)"),
    ("sin(a + (b - c))", "sin(a - c) * cos(b) + cos(a - c) * sin(b)"),
    ("cos(a + a)", "1 - 2 * sin(a) * sin(a)"),
    ("sin(a + a)", "2 * (sin(a) * cos(a))"),
    ("cos(a - a)", "1"),
    ("sin(0)", "0"),
    ("cos(0 * a)", "1"),
    ("sqrt(a + b)", "sqrt(b + a)"),
    ("log(a * b / a)", "log(b)"),
    ("atan2(a, b + 0)", "atan2(a, b)"),
)
DIFFERENT = (
    ("a", "b"),
    ("a", "-a"),
    ("a + b", "a - b"),
    ("a - b", "b - a"),
    ("a / b", "b / a"),
    ("1", "2"),
    ("sin(a)", "cos(a)"),
    ("sin(a)", "sin(b)"),
    ("sin(a)", "sin(-a)"),
    ("cos(a)", "cos(b)"),
    ("cos(a + b)", "cos(a) * cos(b) + sin(a) * sin(b)"),
    ("sqrt(a)", "sqrt(-a)"),
    ("sqrt(a) * sqrt(a)", "a"),
    ("sqrt(a)", "log(a)"),
    ("atan2(a, b)", "atan2(b, a)"),
    ("atan2(a, b)", "atan2(-a, -b)"),
)


@pytest.mark.parametrize(("first", "second"), EQUAL)
def test_equal_formulas_have_equal_residues(first: str, second: str) -> None:
    """At several points, so that the smaller of an angle and its negative is either of them."""
    for seed in range(6):
        left, right = values(first, second, seed=seed)
        assert left == right
        assert values(first, seed=seed) == values(second, seed=seed) == [left]


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different_formulas_have_different_residues(first: str, second: str) -> None:
    for seed in range(3):
        left, right = values(first, second, seed=seed)
        assert left != right


def test_all_programs_are_evaluated_at_one_point_that_depends_on_the_seed() -> None:
    first, second = written("a + sqrt(b)"), written("c", "sqrt(b) + a")
    values_of_rows = residues(PRIME, 5, first, second)
    assert values_of_rows is not None
    assert (
        values_of_rows[0][first.outputs[0].rows[0]] == values_of_rows[1][second.outputs[0].rows[1]]
    )
    assert residues(PRIME, 5, first, second) == values_of_rows
    assert residues(PRIME, 6, first, second) != values_of_rows


def test_every_element_of_every_argument_is_another_random_number() -> None:
    """A quaternion has four independent elements, whose squares do not add up to 1."""
    derived = written(*LETTERS)
    split = replace(
        derived,
        inputs=(Port("q", (4,)), Port("x", (4,))),
        rows=tuple(
            row._replace(value=divmod(row.value[1], 4)) if row.op == "input" else row
            for row in derived.rows
        ),
        quaternions=(0,),
    )
    values_of_rows = residues(PRIME, 1, split)
    assert values_of_rows is not None
    assert len(set(values_of_rows[0])) == len(LETTERS)
    assert min(values_of_rows[0]) < PRIME / 2 < max(values_of_rows[0])
    assert sum(x * x for x in values_of_rows[0][:4]) % PRIME != 1


def test_a_point_at_which_a_divisor_is_zero_is_not_used() -> None:
    """Modulo 5, the first of the points is such a point for every fifth seed."""
    for seed in range(25):
        quotient, a = values("b / a", "a", seed=seed, prime=5)
        assert a != 0
        assert quotient * a % 5 == values("b", "1 / a", seed=seed, prime=5)[0]


def test_a_program_that_always_divides_by_zero_has_no_residues() -> None:
    assert residues(PRIME, 1, written("a / (b - b)")) is None
    assert residues(PRIME, 1, written("a"), written("1 / (a - a)")) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sin(a)", {"a"}),
        ("cos(a + b)", {"a + b", "a", "b"}),
        ("sin(-(a - b))", {"-(a - b)", "a - b", "a", "b"}),
        ("cos(a + b * c)", {"a + b * c", "a", "b * c"}),
        ("sin(a / b)", {"a / b"}),
        ("sin(cos(a) + b)", {"a", "b", "cos(a)", "cos(a) + b"}),
        ("sqrt(a + b) + log(c)", set()),
        ("a + b", set()),
    ],
)
def test_angles_are_operands_of_sines_and_the_terms_of_those(text: str, expected: set[str]) -> None:
    derived = written(text)
    assert {formula(derived, r) for r in angle_rows(derived)} == expected
