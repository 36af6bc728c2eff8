"""Wide blocks of a derived paper: every line fits a page, and the equations define the block."""

from __future__ import annotations

import re
from fractions import Fraction
from random import Random

import mpmath
import pytest
import sympy as sp

from symgen.inspection.canonical import Canonical, Quotient
from symgen.inspection.harmonic_text import LINE_COLUMNS
from symgen.inspection.multiangle import MultiAngle
from symgen.inspection.printing import visible_width
from symgen.pages.derivation.wide_blocks import MOST_LINES, WIDEST_MATRIX, block_equations
from tests.shared.formula_readers import by_latex

VALUES = {
    f"{letter}{i}": mpmath.mpf(1 + i + 3 * n) / 8 for n, letter in enumerate("qv") for i in range(4)
}
ENTRY = re.compile(r"\[B\]_\{(\d+)(?:,(\d+))?\}")


def form(random: Random, count: int, longest_coefficient: int = 1) -> MultiAngle:
    """Return a form with `count` cosines and sines of three angles, some without an angle."""
    terms = {}
    while len({wave for wave, _ in terms}) < count:
        index = (random.randint(0, 2), *(random.randint(-2, 2) for _ in range(2)))
        if index < (0, 0, 1) and any(index):
            continue
        for _ in range(random.randint(1, longest_coefficient)):
            rates = sorted(random.sample(range(4), 2))
            monomial = tuple((f"v{i}", random.randint(1, 2)) for i in rates)
            coefficient = Fraction(random.randint(1, 9), random.choice((-4, -1, 1, 2)))
            terms[(index, any(index) and random.random() < 0.5), monomial] = coefficient
    return MultiAngle.of(terms)


def read_back(equations: list[str]) -> dict[tuple[int, int], mpmath.mpf]:
    """Return the entries that equations define, with `den` as it was defined last."""
    values, entries = dict(VALUES), {}
    joined = r",\qquad ".join(equations)
    joined = re.sub(r"\n\\end\{aligned\},\\qquad \\begin\{aligned\}\n& \\quad", "", joined)
    for equation in joined.split(r",\qquad "):
        text = re.sub(r"\\begin\{aligned\}\n& |\n\\end\{aligned\}", "", equation)
        text = re.sub(r" \\\\\n& (\\quad )?", " ", text).replace("tfrac", "frac")
        text = re.sub(r"(?<!\\left)\(", r"\\left(", text)
        text = re.sub(r"(?<!\\right)\)", r"\\right)", text)
        name, right = text.split(" = ")
        (value,) = by_latex(right.replace(r"\mathrm{den}", "k"), values)
        match = ENTRY.fullmatch(name)
        if match is None:
            assert name in (r"\mathrm{den}", "B")
            values["k"] = value
            entries[0, 0] = value
        else:
            entries[int(match[1]), int(match[2] or 0)] = value
    return entries


def value(entry: MultiAngle | Quotient) -> mpmath.mpf:
    expression = entry.sympy()
    numbers = {x: sp.Rational(float(VALUES[x.name])) for x in expression.free_symbols}
    with mpmath.workdps(30):
        return mpmath.mpf(str(expression.subs(numbers).evalf(30)))


@pytest.mark.parametrize("shape", [(), (3, 1), (2, 2)])
@pytest.mark.parametrize("is_quotient", [False, True])
def test_equations_of_a_wide_block_define_its_entries(
    shape: tuple[int, ...], is_quotient: bool
) -> None:
    random = Random(7)
    columns = shape[1] if shape else 1
    count = shape[0] * columns if shape else 1
    below = form(random, 12)
    entries = [
        Quotient(form(random, 15), below)
        if is_quotient
        else form(random, 12, longest_coefficient=5)
        for _ in range(count)
    ]
    if count > 1:
        entries[1] = MultiAngle.of({})
    equations = list(block_equations("B", Canonical("B", shape, tuple(entries))))
    assert "\n".join(equations).count(r"\mathrm{den} =") == is_quotient
    for line in "\n".join(equations).split("\n"):
        assert visible_width(line) <= LINE_COLUMNS + 20, line
    values_read = read_back(equations)
    for n, entry in enumerate(entries):
        expected, row_and_column = value(entry), divmod(n, columns)
        if expected or row_and_column in values_read:
            with mpmath.workdps(30):
                assert abs(values_read[row_and_column] - expected) < 1e-20 * (1 + abs(expected))


def test_short_entries_stand_side_by_side_and_a_long_sum_has_several_parts() -> None:
    random = Random(7)
    entries = (*(form(random, 1) for _ in range(8)), form(random, 60, longest_coefficient=5))
    equations = list(block_equations("B", Canonical("B", (3, 3), entries)))
    assert len(equations) < 8
    assert max(equation.count("\n") for equation in equations) <= MOST_LINES + 1
    assert equations[-1].startswith("\\begin{aligned}\n& \\quad ")
    values_read = read_back(equations)
    for n, entry in enumerate(entries):
        with mpmath.workdps(30):
            assert abs(values_read[divmod(n, 3)] - value(entry)) < 1e-20 * (1 + abs(value(entry)))


def test_a_narrow_block_is_one_matrix() -> None:
    random = Random(7)
    block = Canonical("B", (2, 2), tuple(form(random, 1) for _ in range(4)))
    (equation,) = block_equations("B", block)
    assert equation.startswith(r"B = \begin{bmatrix}")
    assert visible_width(equation) <= WIDEST_MATRIX
