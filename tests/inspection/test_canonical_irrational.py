"""Canonical letters of robots whose constants are irrational: square roots, and sines of decimal
angles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

import symgen
from symgen.inspection import irrational, stand_ins
from symgen.inspection.canonical import (
    PATIENT_QUOTIENTS,
    QUICK,
    Canonical,
    Quotient,
    TooLong,
    has_division,
    quotient,
)
from symgen.inspection.entries import layout
from symgen.inspection.irrational import (
    canonical_with_stand_ins,
    has_exact_forms,
    layout_of_stand_in,
)
from symgen.inspection.multiangle import MultiAngle
from symgen.inspection.reading import FormulaOptions, Recursive, read, render
from symgen.inspection.roots import root_of_symbol
from symgen.inspection.stand_ins import (
    NoStandIn,
    Residues,
    Roots,
    primes_of,
)
from symgen.ir.program import evaluate
from symgen.machine.compilers import find_compiler
from symgen.mechanism.mechanism import Mechanism
from tests.inspection.forms_at_points import (
    BALL,
    Form,
    letters,
    names_of,
    random_positions,
    value_of,
)
from tests.shared.formula_readers import by_compiler, by_latex, by_python, by_sympy
from tests.shared.robots_for_tests import BALLS, largest, robot

POINTS = 3
OF_QUOTIENTS, OF_SUMS = 1e-56, 1e-44
"""Tolerances: sums that depend on decimal angles are rounded to 45 decimals."""
Y, Z, X = (0, 1, 0), (0, 0, 1), (1, 0, 0)
ROOTS = {
    "quarter": ((0, 0, 0), ("pi/4", 0, 0), (0, "-pi/4", 0)),
    "sixth": ((0, 0, 0), ("pi/6", 0, 0), (0, "pi/3", 0)),
    "both": ((0, 0, 0), ("pi/4", 0, 0), (0, "pi/6", 0)),
    "twelfth": ((0, 0, 0), ("pi/12", 0, 0)),
    "slanted": ((0, 0, 0), ("pi/4", "pi/4", 0)),
    "offset": ((0, 0, 0), (0, 0, "pi/4"), (0, 0, 0)),
    "diagonal": ((0, 0, 0), (0, 0, 0), (0, 0, 0)),
    "space": ((0, 0, 0), (0, 0, 0)),
    "ball": ((0, 0, 0), ("pi/4", 0, 0)),
}
DECIMALS = {
    "decimal": ((0, 0, 0), ("0.3", 0, 0), (0, "-0.7", 0)),
    "general": (("0.1", "0.2", "0.3"), ("0.3", "0.2", "-0.4"), ("0.5", "-0.7", "0.2")),
    "decimal_offset": ((0, 0, 0), (0, 0, "0.3"), ("0.1", 0, "0.6")),
    "mixed": ((0, 0, 0), ("pi/4", 0, 0), (0, "0.3", 0)),
}
AXES = {
    "offset": (Z, Z, X),
    "decimal_offset": (Z, Z, X),
    "diagonal": (Z, (1, 1, 0), X),
    "space": (Z, (1, 1, 1)),
}


@cache
def arm(name: str) -> Mechanism:
    """Return an arm with these rotations between its links, and full inertias."""
    if name in ("panda", "ur5"):
        return robot(name)
    rotations = {**ROOTS, **DECIMALS}[name]
    built = symgen.Robot(name, gravity=(0, 0, "-9.81"))
    parent = "base"
    for i, (rpy, axis) in enumerate(zip(rotations, AXES.get(name, (Z, Y, X)), strict=False)):
        is_ball = name == "ball" and i == 1
        built.body(
            f"link{i}",
            parent=parent,
            type="spherical" if is_ball else "revolute",
            xyz=("0.3", "-0.1", "0.2"),
            rpy=rpy,
            mass=Fraction(3, i + 1),
            centre=("0.1", "0.05", "-0.2"),
            inertia=("0.11", "0.01", "-0.02", "0.13", "0.03", "0.17"),
            **({} if is_ball else {"axis": axis}),
        )
        parent = f"link{i}"
    return built.build()


@cache
def twisted(angle: str) -> Mechanism:
    """Return two links of round figures, the second axis at an angle to the first."""
    built = symgen.Robot("twisted", gravity=(0, 0, "-10"))
    rods: dict[str, Any] = {"type": "revolute", "axis": Z, "mass": 1, "centre": (1, 0, 0)}
    built.body("link0", parent="base", inertia=(1, 0, 0, 1, 0, 1), **rods)
    built.body(
        "link1",
        parent="link0",
        xyz=(1, 0, 0),
        rpy=(angle, 0, 0),
        inertia=(1, 0, 0, 1, 0, 2),
        **rods,
    )
    return built.build()


def forms_of_block(
    mechanism: Mechanism,
    method: str,
    letter: str,
    index: tuple[int, ...],
    most_products: int = QUICK,
    reverse: bool = False,
) -> list[Form]:
    """Return the forms of a block, row-major; with `reverse`, rows are evaluated from the last."""

    def derive(stand_in: Mechanism) -> tuple[Any, Sequence[int]]:
        of_stand_in = layout_of_stand_in(stand_in, method, letter)
        rows = [row for rows in of_stand_in.rows(index) for row in rows]
        return of_stand_in.program, rows[::-1] if reverse else rows

    names = names_of(mechanism, layout(mechanism, method, letter).program)
    forms = canonical_with_stand_ins(mechanism, derive, names, most_products)
    return forms[::-1] if reverse else forms


def largest_difference(
    mechanism: Mechanism, method: str, letter: str, index: tuple[int, ...], forms: Sequence[Form]
) -> dict[type, float]:
    """Return the largest difference of sums and of quotients from the Program, over POINTS random
    rational points, relative to 1 + the largest value.
    """
    of_letter, generator = layout(mechanism, method, letter), np.random.default_rng(53)
    program = of_letter.program
    differences = {MultiAngle: 0.0, Quotient: 0.0}
    with BALLS.working():
        state = {
            port.name: [
                BALLS.array(
                    [Fraction(int(x), 1000) for x in generator.integers(-3000, 3000, POINTS)]
                )
                for _ in range(port.size)
            ]
            for port in program.inputs
        } | {"q": random_positions(mechanism, generator)}
        (values,) = evaluate(program, state, BALL).values()
        where = {row: n for n, row in enumerate(program.outputs[0].rows)}
        rows = [row for rows in of_letter.rows(index) for row in rows]
        for form, row in zip(forms, rows, strict=True):
            expected = values[where[row]]
            difference = largest(np.ravel(value_of(form, state) - expected))
            scaled = float(difference / (1 + largest(np.ravel(expected))))
            differences[type(form)] = max(differences[type(form)], scaled)
    return differences


def assert_equal(
    mechanism: Mechanism, method: str, letter: str, index: tuple[int, ...], forms: Sequence[Form]
) -> None:
    differences = largest_difference(mechanism, method, letter, index, forms)
    of_sums = OF_QUOTIENTS if has_exact_forms(mechanism) else OF_SUMS
    assert differences[Quotient] <= OF_QUOTIENTS, (method, letter, index)
    assert differences[MultiAngle] <= of_sums, (method, letter, index)


# -- equal to the Program --------------------------------------------------------------------------


LONG = ("sixth", "both", "diagonal", "offset", "ball")
"""Robots whose letters take several seconds."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in LONG else ())
        for name in (*ROOTS, "decimal_offset", "general")
    ],
)
def test_every_letter_with_a_division_equals_its_form_at_random_points(name: str) -> None:
    """Letters without divisions too, if the constants are square roots: all forms are exact."""
    mechanism, compared, quotients = arm(name), 0, 0
    is_exact = has_exact_forms(mechanism)
    assert is_exact == (name in ROOTS)
    for method, letter, of_letter in letters(mechanism):
        of_methods = ("udut",) if name == "both" else ("riccati", "udut", "constraint_force")
        if method not in of_methods or letter in ("Omega", "L2", "Mhat"):
            continue
        for index in of_letter.blocks:
            rows = [row for rows in of_letter.rows(index) for row in rows]
            if not is_exact and not has_division(of_letter.program, rows):
                continue
            forms = forms_of_block(mechanism, method, letter, index)
            assert_equal(mechanism, method, letter, index, forms)
            compared += 1
            quotients += any(isinstance(form, Quotient) for form in forms)
    assert compared > (3 if name == "ball" else 15)
    assert quotients > 0


@pytest.mark.parametrize(
    ("method", "letter", "index"),
    [
        ("riccati", "P", (4,)),
        ("riccati", "D", (3,)),
        ("riccati", "G", (3,)),
        ("riccati", "psi", (4, 6)),
        ("udut", "U", (3, 4)),
        ("udut", "U", (2, 3)),
        ("udut", "D", (4,)),
        ("udut", "psi", (3, 4)),
        ("udut", "mhat", (4,)),
        ("udut", "E", (5,)),
        ("udut", "L2", (4, 2)),
    ],
)
def test_letters_of_the_panda_equal_their_forms(
    method: str, letter: str, index: tuple[int, ...]
) -> None:
    """The hand of the arm is turned by -0.7853981633974483 rad, whose sine is transcendental."""
    forms = forms_of_block(arm("panda"), method, letter, index)
    assert any(isinstance(form, Quotient) for form in forms)
    assert_equal(arm("panda"), method, letter, index, forms)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "letter", "index"),
    [("riccati", "D", (2,)), ("udut", "U", (1, 2)), ("riccati", "P", (2,))],
)
def test_longer_letters_of_the_panda_have_forms_on_request(
    method: str, letter: str, index: tuple[int, ...]
) -> None:
    with pytest.raises(TooLong, match="more than 400000 products"):
        forms_of_block(arm("panda"), method, letter, index)
    forms = forms_of_block(arm("panda"), method, letter, index, PATIENT_QUOTIENTS)
    assert_equal(arm("panda"), method, letter, index, forms)


@pytest.mark.parametrize("name", ["mixed"])
def test_a_robot_with_square_roots_and_decimal_angles_has_rounded_forms(name: str) -> None:
    mechanism = arm(name)
    for letter, index in (("D", (0,)), ("U", (0, 1)), ("U", (0, 2))):
        forms = forms_of_block(mechanism, "udut", letter, index)
        assert_equal(mechanism, "udut", letter, index, forms)
        assert not any(roots_in(form) for form in forms)


def sums_in(form: Form) -> tuple[MultiAngle, ...]:
    return (form,) if isinstance(form, MultiAngle) else (form.numerator, form.denominator)


def roots_in(form: Form) -> set[int]:
    """Return the integers under the square roots of a form."""
    symbols = {
        symbol for part in sums_in(form) for _, monomial, _ in part.terms for symbol, _ in monomial
    }
    return {root for symbol in symbols if (root := root_of_symbol(symbol))}


# -- unique ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["quarter", "both", "diagonal", "offset", "general", "panda"])
def test_the_pivots_of_two_methods_have_equal_forms(name: str) -> None:
    mechanism = arm(name)
    for i in range(3 if name == "panda" else 0, mechanism.nv):
        pivots = [
            read(mechanism, f"D[{i}]", method).value.text(full=True)
            for method in ("riccati", "udut")
        ]
        assert pivots[0] == pivots[1]


def test_two_letters_of_one_quantity_have_equal_forms() -> None:
    mechanism = arm("quarter")
    for index in ((0, 1), (0, 2)):
        multiplier = forms_of_block(mechanism, "udut", "U", index)
        assert multiplier == forms_of_block(mechanism, "udut", "alpha", index)


@pytest.mark.parametrize("name", ["both", "decimal"])
def test_forms_do_not_depend_on_the_order_of_evaluation(name: str) -> None:
    forms = forms_of_block(arm(name), "riccati", "P", (1,))
    assert forms == forms_of_block(arm(name), "riccati", "P", (1,), reverse=True)


@pytest.mark.parametrize("name", ["quarter", "both", "diagonal"])
def test_a_denominator_begins_with_a_positive_rational_and_has_coprime_numbers(name: str) -> None:
    (form,) = forms_of_block(arm(name), "riccati", "D", (0,))
    assert isinstance(form, Quotient)
    assert roots_in(form)
    first_wave = form.denominator.terms[0][0]
    of_first = [(monomial, x) for wave, monomial, x in form.denominator.terms if wave == first_wave]
    ((monomial, x),) = of_first
    assert monomial == ()
    assert x > 0
    numbers = [x for _, _, x in form.denominator.terms]
    integral = all(x.denominator == 1 for x in numbers)
    assert x == 1 or (integral and math.gcd(*(x.numerator for x in numbers)) == 1)


def test_a_denominator_with_a_root_first_is_made_rational() -> None:
    cosine = (((1,), False), ())
    constant = (((0,), False), ())
    unit, root = {1: Fraction(1)}, {2: Fraction(1)}
    form = quotient({constant: unit}, {constant: {1: Fraction(-1), 2: Fraction(1)}, cosine: unit})
    assert str(form) == "(1 + sqrt(2))/(1 + (1 + sqrt(2))*cos(q0))"
    assert str(quotient({constant: unit}, {cosine: root})) == "0.5*sqrt(2)/cos(q0)"
    assert str(quotient({constant: root}, {constant: root})) == "1"


# -- what is printed -------------------------------------------------------------------------------


def test_a_square_root_is_printed_as_one() -> None:
    mechanism = twisted("pi/4")
    written = {
        format: render(mechanism, "Minv[0,1]", format=format, full=True)[0]
        for format in ("text", "latex", "python", "c")
    }
    assert written == {
        "text": "(-3*sqrt(2) - sqrt(2)*cos(q1))/(22 + 6*cos(q1) + cos(2*q1))",
        "latex": r"\frac{-3 \sqrt{2} - \sqrt{2} \cos\left(q_{1}\right)}"
        r"{22 + 6 \cos\left(q_{1}\right) + \cos\left(2 q_{1}\right)}",
        "python": "(-3*sqrt(2) - sqrt(2)*cos(q1))/(22 + 6*cos(q1) + cos(2*q1))",
        "c": "(-3.0*sqrt(2.0) - sqrt(2.0)*cos(q1))/(22.0 + 6.0*cos(q1) + cos(2.0*q1))".replace(
            "cos(2.0*q1)", "cos(2*q1)"
        ),
    }
    assert render(mechanism, "U[0,1]", "udut")[0] == "0.5*sqrt(2) + 1/6*sqrt(2)*cos(q1)"
    assert render(mechanism, "phi[0,1][0,0]", "riccati")[0] == "cos(q1)"
    assert render(mechanism, "phi[0,1][1,0]", "riccati")[0] == "0.5*sqrt(2)*sin(q1)"
    assert render(twisted("pi/12"), "U[0,1]", "udut")[0] == (
        "0.25*sqrt(2) + 0.25*sqrt(6) + (1/12*sqrt(2) + 1/12*sqrt(6))*cos(q1)"
    )
    assert render(twisted("0.5"), "U[0,1]", "udut")[0] == (
        "0.87758256189037276 + 0.29252752063012422*cos(q1)"
    )


PRINTED = [
    *((twisted, angle, what) for angle in ("pi/4", "pi/12", "0.5") for what in ("U[0,1]", "Minv")),
    *((arm, name, "U[0,1]") for name in ("quarter", "both", "mixed", "general")),
]


def numbers_of(
    make: Any, name: str, what: str
) -> tuple[Mechanism, str | None, dict[str, Any], list[Any]]:
    """Return the robot, the method, values of q, and the value of the letter there by its rows."""
    mechanism, method = make(name), None if what == "Minv" else "udut"
    values = {f"q{i}": mpmath.mpf(3 * i + 2) / 7 for i in range(mechanism.nq)}
    equations = read(mechanism, what, method, FormulaOptions("recursive")).value
    assert isinstance(equations, Recursive)
    with mpmath.workdps(40):
        symbol_values = dict(values)
        for symbol, expression in equations.named:
            symbol_values[str(symbol)] = number_of(expression, symbol_values)
        matrix = sp.Matrix([equations.value])
        return mechanism, method, values, [number_of(x, symbol_values) for x in matrix]


def number_of(expression: Any, symbol_values: dict[str, Any]) -> Any:
    at = {symbol: symbol_values[str(symbol)] for symbol in expression.free_symbols}
    return mpmath.mpf(str(sp.sympify(expression).evalf(30, subs=at)))


@pytest.mark.parametrize(("make", "name", "what"), PRINTED)
def test_text_latex_and_python_evaluate_to_the_letter(make: Any, name: str, what: str) -> None:
    mechanism, method, values, expected = numbers_of(make, name, what)
    for format, reader in (("text", by_sympy), ("latex", by_latex), ("python", by_python)):
        text = render(mechanism, what, method, format, full=True)[0]
        computed = reader(text, values)
        assert len(computed) == len(expected)
        for x, y in zip(computed, expected, strict=True):
            assert abs(x - y) <= 1e-12 * (1 + abs(y)), (format, text)
    value = read(mechanism, what, method).value
    for x, y in zip(sp.Matrix([value.sympy()]), expected, strict=True):
        assert abs(number_of(x, values) - y) <= 1e-12 * (1 + abs(y))


@pytest.mark.slow
def test_printed_c_compiles_and_evaluates_to_the_letter(tmp_path: Path) -> None:
    cases = [numbers_of(*case) for case in PRINTED]
    texts = [
        (render(mechanism, what, method, "c", full=True)[0], values)
        for (mechanism, method, values, _), (_, _, what) in zip(cases, PRINTED, strict=True)
    ]
    results = by_compiler(texts, tmp_path, find_compiler())
    for computed, (_, _, _, expected) in zip(results, cases, strict=True):
        assert computed == pytest.approx([float(x) for x in expected], rel=1e-12, abs=1e-12)


def test_a_sum_of_long_numbers_times_roots_is_printed_as_one_decimal() -> None:
    """3880899/2744210 is √2 to 13 digits, so that a difference of numbers of 17 digits has four."""
    long = Fraction(10**30 + 1, 3**40)
    near = Fraction(3880899, 2744210) * long
    form = MultiAngle.of({(((0,), False), ()): -near, (((0,), False), (("sqrt(2)", 1),)): long})
    with mpmath.workdps(60):
        exact = mpmath.mpf(long.numerator) / long.denominator
        exact *= mpmath.sqrt(2) - mpmath.mpf(3880899) / 2744210
        for format in ("text", "python", "c"):
            assert abs(mpmath.mpf(form.text(format)) / exact - 1) < 1e-16
        assert abs(mpmath.mpf(str(form.sympy().evalf(30))) / exact - 1) < 1e-16
    assert "sqrt" not in form.text("latex")


def test_the_largest_terms_come_first_by_the_value_of_their_coefficients() -> None:
    cosine, sine = ((1,), False), ((1,), True)
    small = {(cosine, ()): Fraction(-1414213), (cosine, (("sqrt(2)", 1),)): Fraction(1000000)}
    form = MultiAngle.of({**small, (sine, ()): Fraction(2)})
    assert list(form.waves(largest=True)) == [sine, cosine]


def test_roots_are_no_symbols_of_a_form() -> None:
    (form,) = forms_of_block(arm("quarter"), "udut", "U", (0, 2))
    assert roots_in(form) == {2}
    assert all(part.symbols() == () for part in sums_in(form))
    assert Canonical("U", (), (form,)).coordinates == frozenset({1, 2})


# -- results and messages --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("twelfth", "Minv"),
        ("twelfth", "det"),
        ("twelfth", "Lambda_inv"),
        ("decimal_offset", "Minv"),
        ("decimal_offset", "det"),
        pytest.param("decimal_offset", "Lambda_inv", marks=pytest.mark.slow),
        pytest.param("offset", "Minv", marks=pytest.mark.slow),
        pytest.param("offset", "det", marks=pytest.mark.slow),
        pytest.param("offset", "Lambda_inv", marks=pytest.mark.slow),
    ],
)
def test_results_equal_their_equations(name: str, what: str) -> None:
    mechanism = arm(name)
    options = {"frame": mechanism.bodies[-1].name} if what == "Lambda_inv" else {}
    reading = read(mechanism, what, None, FormulaOptions("multiangle", **options))
    equations = read(mechanism, what, None, FormulaOptions("recursive", **options)).value
    assert isinstance(reading.value, Canonical)
    symbol_values = {f"q{i}": mpmath.mpf(3 * i + 2) / 7 for i in range(mechanism.nq)}
    values = dict(symbol_values)
    for symbol, expression in equations.named:
        values[str(symbol)] = number_of(expression, values)
    expected = [number_of(x, values) for x in sp.Matrix([equations.value])]
    scale = max(map(abs, expected))
    for form, y in zip(reading.value.entries, expected, strict=True):
        assert abs(number_of(sp.sympify(form.sympy()), symbol_values) - y) <= 1e-14 * scale


def test_kept_masses_are_symbols_beside_square_roots() -> None:
    text, _ = render(twisted("pi/4"), "U[0,1]", "udut", options=FormulaOptions(keep=("m",)))
    assert text == ("(0.5*sqrt(2)*m_1 + sqrt(2) + 0.5*sqrt(2)*m_1*cos(q1))/(2 + m_1)")


def test_an_angle_that_is_no_sum_of_square_roots_says_so() -> None:
    sentence = "constants of the robot are not sums of square roots of integers"
    assert any(sentence in note for note in read(twisted("pi/5"), "Minv").notes)
    with pytest.raises(TooLong, match=sentence):
        read(twisted("pi/5"), "Minv", None, FormulaOptions("multiangle"))
    assert "cos(q1)" in render(twisted("pi/5"), "phi[0,1][0,0]", "riccati")[0]


def test_letters_of_the_tree_of_a_robot_with_closed_loops_have_quotients() -> None:
    mechanism = robot("two_pandas_bar")
    forms = forms_of_block(mechanism, "udut", "D", (11,))
    assert any(isinstance(form, Quotient) for form in forms)
    assert_equal(mechanism, "udut", "D", (11,), forms)


def test_the_inverse_of_bennett_s_linkage_has_square_roots_of_three() -> None:
    """Results of a robot with closed loops are those of its tree. Its links are twisted by π/3 and
    more.
    """
    value = read(robot("bennett"), "Minv").value
    assert isinstance(value, Canonical)
    assert set().union(*map(roots_in, value.entries)) == {3}


# -- planted errors --------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [(0, 1), (0, 2)])
def test_a_wrong_relation_is_noticed(
    monkeypatch: pytest.MonkeyPatch, index: tuple[int, int]
) -> None:
    """√3 in place of √2 is no number of the robot; both signs of √2 are necessary."""
    mechanism, other_field = arm("quarter"), Roots((3,))
    numbers = Residues((), other_field, primes_of(other_field)[0], (1,))
    with stand_ins.sharp(), pytest.raises(NoStandIn, match="not sums of square roots"):
        stand_ins.rational_robot(mechanism, numbers)
    forms = forms_of_block(mechanism, "udut", "U", index)
    monkeypatch.setattr(irrational, "signs_of", lambda field: [(-1,), (1,)])
    assert forms_of_block(mechanism, "udut", "U", index) == forms
    monkeypatch.setattr(irrational, "signs_of", lambda field: [(1,), (1,)])
    monkeypatch.setattr(irrational, "MOST_PRIMES", 6)
    with pytest.raises(TooLong, match="coefficients have more than"):
        forms_of_block(mechanism, "udut", "U", index)


def test_a_conjugate_in_place_of_the_letter_is_not_equal_to_it() -> None:
    mechanism = arm("quarter")
    (form,) = forms_of_block(mechanism, "udut", "U", (0, 1))
    assert isinstance(form, Quotient)
    numerator = MultiAngle.of(
        {(wave, monomial): -x if monomial else x for wave, monomial, x in form.numerator.terms}
    )
    wrong = Quotient(numerator, form.denominator)
    assert largest_difference(mechanism, "udut", "U", (0, 1), [wrong])[Quotient] > 1e-3


def test_a_neighbour_that_is_too_far_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = arm("panda")
    irrational.neighbour_of.cache_clear()
    monkeypatch.setattr(stand_ins, "NEIGHBOUR_DIGITS", 15)
    forms = forms_of_block(mechanism, "riccati", "D", (4,))
    irrational.neighbour_of.cache_clear()
    assert largest_difference(mechanism, "riccati", "D", (4,), forms)[Quotient] > OF_QUOTIENTS
