"""Canonical letters: printed forms, uniqueness across methods, equality with the Program at random
points.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgen
from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.scalars import Derivation
from symgen.inspection.canonical import (
    QUICK,
    Canonical,
    Names,
    Quotient,
    TooLong,
    canonical,
    has_division,
)
from symgen.inspection.catalogue import methods_with_quantities, refusal_reason
from symgen.inspection.entries import Layout, declared_model, layout
from symgen.inspection.irrational import canonical_in_exponentials
from symgen.inspection.multiangle import MultiAngle, constants_are_exact
from symgen.inspection.reading import FormulaOptions, Recursive, read, render
from symgen.ir.program import Numbers, Program, evaluate
from symgen.mechanism.mechanism import Mechanism
from tests.inspection.forms_at_points import names_of
from tests.shared.processor_time import slowness
from tests.shared.robots_for_tests import BALLS, largest, robot

POINTS = 50
TOLERANCE = 1e-58
BALL = Numbers(BALLS.constant, np.sin, np.cos, np.sqrt, np.log)
COMPLETE = ("planar_arm", "scara", "planar_point_mass:2", "planar_point_mass:4", "spatial")
Form = MultiAngle | Quotient


@cache
def mechanism_named(name: str) -> Mechanism:
    """Return a built-in robot, or "spatial": three axes in different directions, full inertias."""
    if name != "spatial":
        return symgen.load(name)
    arm = symgen.Robot("spatial", gravity=(0, 0, "-9.81"))
    parent = "base"
    for i, axis in enumerate(((0, 0, 1), (0, 1, 0), (1, 0, 0))):
        arm.body(
            f"link{i}",
            parent=parent,
            type="revolute",
            axis=axis,
            xyz=("0.3", "-0.1", "0.2"),
            mass=Fraction(3, i + 1),
            centre=("0.1", "0.05", "-0.2"),
            inertia=("0.11", "0.01", "-0.02", "0.13", "0.03", "0.17"),
        )
        parent = f"link{i}"
    return arm.build()


def letters(mechanism: Mechanism) -> Iterator[tuple[str, str, Layout]]:
    """Yield (method, letter, layout) of every letter of every paper that the robot has."""
    for method in methods_with_quantities():
        for letter, quantity in methods.find(method).quantities.items():
            if refusal_reason(mechanism, method, quantity) is None:
                yield method, letter, layout(mechanism, method, letter)


def forms_of_block(mechanism: Mechanism, of_letter: Layout, index: tuple[int, ...]) -> list[Form]:
    program = of_letter.program
    angles = {
        (port, joint): joint
        for port, argument in enumerate(program.inputs)
        if argument.name == "q"
        for joint, of_joint in enumerate(mechanism.joints)
        if of_joint.kind == "revolute"
    }
    names = Names(angles, lambda x: f"{program.inputs[x[0]].name}{x[1]}", mechanism.nv, "it")
    rows = [row for rows in of_letter.rows(index) for row in rows]
    with k.precision():
        exact = constants_are_exact(declared_model(mechanism))
    return canonical(program, rows, names, exact)


def value_of(form: Form, state: dict[str, list[Any]]) -> Any:
    if isinstance(form, Quotient):
        return value_of(form.numerator, state) / value_of(form.denominator, state)
    others = {
        f"{name}{i}": x
        for name, values in state.items()
        if name not in ("q", "v", "a")
        for i, x in enumerate(values)
    }
    q, v, a = (state.get(name, ()) for name in ("q", "v", "a"))
    return form.evaluate(q, v, a, others, BALL)


# -- the printed forms -----------------------------------------------------------------------------


def test_a_multiplier_of_the_textbook_arm_is_one_plus_three_cosines() -> None:
    assert render(mechanism_named("planar_arm"), "U[0,1]")[0] == "1 + 3*cos(q1)"
    assert symgen.inspect("planar_arm", "U[0,1]") == 1 + 3 * sp.cos(sp.Symbol("q1", real=True))


def test_a_rational_letter_is_one_quotient_in_lowest_terms() -> None:
    text, _ = render(mechanism_named("planar_point_mass:3"), "U[0,1]")
    assert text == "(3 - cos(2*q2) + 3*cos(q1) - cos(q1 + 2*q2))/(3 - cos(2*q2))"
    latex, _ = render(mechanism_named("planar_point_mass:3"), "U[0,1]", format="latex")
    assert latex.startswith(r"\frac{3 - \cos\left(2 q_{2}\right)")


def test_a_bond_of_thirty_masses_is_a_sine_and_a_cosine_of_the_sum_of_angles() -> None:
    """At most 60 characters a component, in a second of processor time after the derivation."""
    mechanism, what = mechanism_named("planar_point_mass:30"), "dtheta_dx[29,29]"
    text, notes = render(mechanism, what)
    assert text == "[-sin(q0:29)  cos(q0:29)]"
    assert "q0:29 is q0 + q1 + … + q29" in notes
    of_letter, start = layout(mechanism, "fixman", "dtheta_dx"), time.process_time()
    forms_of_block(mechanism, of_letter, (29, 29))
    assert time.process_time() - start <= 1.0 * slowness()
    python, _ = render(mechanism, what, format="python")
    assert python.count("q29") == 2
    assert ":" not in python


def test_a_run_of_seven_angles_is_written_out() -> None:
    angles = [tuple(int(i < count) for i in range(8)) for count in (7, 8)]
    texts = [
        MultiAngle.of({((index, False), ()): Fraction(1)}).text()
        for index in (
            angles[0],
            angles[1],
            tuple(-2 * int(i > 0) + 3 * int(i < 1) for i in range(9)),
        )
    ]
    assert texts == [
        "cos(q0 + q1 + q2 + q3 + q4 + q5 + q6)",
        "cos(q0:7)",
        "cos(3*q0 - 2*q1:8)",
    ]


# -- equal to the Program, unique across methods ---------------------------------------------------


@pytest.mark.parametrize("name", COMPLETE)
def test_every_letter_has_a_canonical_form_that_equals_it_at_random_points(name: str) -> None:
    """50 points with 60 digits; at most one letter in ten of the spatial arm has no form."""
    mechanism, generator = mechanism_named(name), np.random.default_rng(51)
    blocks = without = 0
    with BALLS.working():
        for method, letter, of_letter in letters(mechanism):
            program = of_letter.program
            state = {
                port.name: [
                    BALLS.array(
                        [Fraction(int(x), 1000) for x in generator.integers(-3000, 3000, POINTS)]
                    )
                    for _ in range(port.size)
                ]
                for port in program.inputs
            }
            (values,) = evaluate(program, state, BALL).values()
            for index in of_letter.blocks:
                blocks += 1
                try:
                    forms = forms_of_block(mechanism, of_letter, index)
                except TooLong:
                    without += 1
                    continue
                where = {row: n for n, row in enumerate(program.outputs[0].rows)}
                for form, row in zip(forms, chain(*of_letter.rows(index)), strict=True):
                    expected = values[where[row]]
                    difference = np.ravel(value_of(form, state) - expected)
                    assert largest(difference) <= TOLERANCE * (1 + largest(np.ravel(expected))), (
                        method, letter, index
                    )  # fmt: skip
    assert blocks > 60
    assert without <= (blocks // 10 if name == "spatial" else 0)


def test_equal_letters_of_two_methods_have_equal_forms() -> None:
    """The pivots of the Riccati recursion are those of U D Uᵀ, whatever derived them."""
    for name in ("planar_arm", "planar_point_mass:4", "spatial"):
        mechanism = mechanism_named(name)
        pivots = [
            [
                forms_of_block(mechanism, layout(mechanism, method, "D"), (i,))
                for i in range(mechanism.nv)
            ]
            for method in ("riccati", "udut")
        ]
        assert pivots[0] == pivots[1]
        assert [str(form) for block in pivots[0] for form in block] == [
            str(form) for block in pivots[1] for form in block
        ]


@pytest.mark.slow
def test_a_form_does_not_depend_on_the_hash_seed() -> None:
    texts = {
        subprocess.run(
            [sys.executable, "-m", "symgen", "inspect", "planar_point_mass:4", "P[0]", "--full"],
            env={"PYTHONHASHSEED": seed, "SYMGEN_CACHE_PROGRAMS": "off", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_a_quotient_has_no_common_factor_and_a_positive_integral_denominator() -> None:
    mechanism = mechanism_named("spatial")
    for i in range(2):
        (form,) = forms_of_block(mechanism, layout(mechanism, "riccati", "D"), (i,))
        if isinstance(form, Quotient):
            numbers = [x for _, _, x in form.denominator.terms]
            assert all(x.denominator == 1 for x in numbers)
            assert math.gcd(*(x.numerator for x in numbers)) == 1
            assert numbers[0] > 0
    (whole,) = forms_of_block(mechanism, layout(mechanism, "riccati", "D"), (0,))
    assert isinstance(whole, Quotient)


def form_of(build: Callable[[Derivation, Any, Any], Any]) -> Form:
    """Return the canonical form of an expression in the cosine and the sine of one angle."""
    program = program_of(build)
    names = Names({(0, 0): 0}, lambda x: f"q{x[1]}", 1, "it")
    return canonical(program, [program.outputs[0].rows[0]], names, True)[0]


def program_of(build: Callable[[Derivation, Any, Any], Any]) -> Program:
    derivation = Derivation({"q": 1})
    (q,) = derivation.inputs["q"]
    result = build(derivation, derivation.cos(q), derivation.sin(q))
    return derivation.freeze("it", "udut", [("it", (1,), [result])], {"q": (1,)})


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda d, c, s: c / (c + d.one + d.one) + (d.one + d.one) / (c + d.one + d.one), "1"),
        (lambda d, c, s: (c + d.one + d.one) * (s / (c + d.one + d.one)), "sin(q0)"),
        (lambda d, c, s: (s / (c + d.one + d.one)) * (c + d.one + d.one), "sin(q0)"),
        (lambda d, c, s: (d.one - c * c) / s, "sin(q0)"),
        (lambda d, c, s: s / (d.one + c) - (d.one - c) / s, "0"),
        (lambda d, c, s: d.one / (d.zero - c - d.one - d.one), "-1/(2 + cos(q0))"),
        (lambda d, c, s: s / c, "sin(q0)/cos(q0)"),
        (lambda d, c, s: s * s + c * c / (d.one / (d.one + d.one)), "1.5 + 0.5*cos(2*q0)"),
    ],
)
def test_quotients_are_in_lowest_terms(
    build: Callable[[Derivation, Any, Any], Any], text: str
) -> None:
    assert str(form_of(build)) == text


@pytest.mark.parametrize(("digits", "first"), [(16, 10**16 + 1), (17, 1)])
def test_a_denominator_of_longer_integers_than_are_printed_begins_with_one(
    digits: int, first: int
) -> None:
    long = 10**digits + 1
    form = form_of(lambda d, c, s: s / (d.constant(long) + c))
    assert isinstance(form, Quotient)
    (_, _, constant), (_, _, of_cosine) = form.denominator.terms
    assert constant == first
    assert of_cosine / constant == form.numerator.terms[0][2] / constant == Fraction(1, long)


@pytest.mark.parametrize("what", ["Minv", "det", "Lambda_inv"])
@pytest.mark.parametrize("name", ["planar_arm", "planar_point_mass:3", "scara"])
def test_an_inverse_and_a_determinant_equal_their_closed_form(name: str, what: str) -> None:
    """Printed results come from the generated Program, whose equations have sines of sums of
    angles.
    """
    mechanism = mechanism_named(name)
    reading = read(mechanism, what)
    assert isinstance(reading.value, Canonical)
    closed = read(mechanism, what, options=FormulaOptions("closed")).value
    symbols = [sp.Symbol(f"q{i}", real=True) for i in range(mechanism.nv)]
    at = {symbol: sp.Rational(3 * i + 1, 7) for i, symbol in enumerate(symbols)}
    difference = sp.Matrix([reading.value.sympy() - closed]).subs(at).evalf(60)
    assert max(abs(x) for x in difference) < 1e-50


def test_the_inverse_of_the_textbook_mass_matrix_is_short() -> None:
    assert render(mechanism_named("planar_arm"), "Minv[0,0]")[0] == "24/(31 - 9*cos(2*q1))"
    assert render(mechanism_named("planar_arm"), "det")[0] == "31/288 - 0.03125*cos(2*q1)"


def test_a_divisor_that_is_zero_in_every_state_is_refused() -> None:
    with pytest.raises(TooLong, match="a divisor is zero in every state"):
        form_of(lambda d, c, s: d.one / (c * c + s * s - d.one))


# -- polynomials in exp(i q) -----------------------------------------------------------------------


def forms_in_exponentials(
    mechanism: Mechanism, method: str, letter: str, index: tuple[int, ...], most: int = QUICK
) -> list[Form]:
    of_letter = layout(mechanism, method, letter)
    rows = [row for rows in of_letter.rows(index) for row in rows]
    names = names_of(mechanism, of_letter.program)
    return canonical_in_exponentials(of_letter.program, rows, names, most)


@pytest.mark.parametrize("name", ["planar_arm", "scara", "planar_point_mass:4", "spatial"])
def test_a_letter_has_one_form_in_exponentials_and_in_half_angles(name: str) -> None:
    mechanism, compared = mechanism_named(name), 0
    for method, letter, of_letter in letters(mechanism):
        for index in of_letter.blocks:
            rows = [row for rows in of_letter.rows(index) for row in rows]
            if letter != "Omega" and has_division(of_letter.program, rows):
                forms = forms_of_block(mechanism, of_letter, index)
                assert forms_in_exponentials(mechanism, method, letter, index) == forms
                compared += 1
    assert compared >= 3


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda d, c, s: s / (d.one + c), "sin(q0)/(1 + cos(q0))"),
        (lambda d, c, s: (d.one - c) / s, "sin(q0)/(1 + cos(q0))"),
        (lambda d, c, s: s / c, "sin(q0)/cos(q0)"),
        (lambda d, c, s: c / s, "cos(q0)/sin(q0)"),
        (lambda d, c, s: d.one / (d.zero - c - d.one - d.one), "-1/(2 + cos(q0))"),
        (lambda d, c, s: (d.one - c * c) / s, "sin(q0)"),
        (lambda d, c, s: (s - s) / c, "0"),
        (lambda d, c, s: d.one / (d.one + c + s), "1/(1 + cos(q0) + sin(q0))"),
    ],
)
def test_quotients_in_exponentials_are_those_in_half_angles(
    build: Callable[[Derivation, Any, Any], Any], text: str
) -> None:
    program = program_of(build)
    names = Names({(0, 0): 0}, lambda x: f"q{x[1]}", 1, "it")
    rows = [program.outputs[0].rows[0]]
    forms = [
        str(evaluate_form(program, rows, names)[0])
        for evaluate_form in (
            lambda *of_row: canonical(*of_row, True),
            lambda *of_row: canonical_in_exponentials(*of_row, QUICK),
        )
    ]
    assert forms == [text, text]


def test_a_chain_of_ten_masses_has_short_quotients() -> None:
    """In tan(q/2), the pivot takes more products of terms than are allowed."""
    mechanism = mechanism_named("planar_point_mass:10")
    with pytest.raises(TooLong, match="more than 400000 products"):
        forms_of_block(mechanism, layout(mechanism, "riccati", "D"), (0,))
    value = read(mechanism, "D[0]", "riccati").value
    assert isinstance(value, Canonical)
    (form,) = value.entries
    assert isinstance(form, Quotient)
    assert (len(form.numerator.terms), len(form.denominator.terms)) == (342, 171)
    with BALLS.working():
        state = {"q": [BALLS.array([Fraction(3 * i + 1, 7)]) for i in range(10)]}
        of_letter = layout(mechanism, "riccati", "D")
        (values,) = evaluate(of_letter.program, state, BALL).values()
        ((row,),) = of_letter.rows((0,))
        expected = values[of_letter.program.outputs[0].rows.index(row)]
        difference = np.ravel(value_of(form, state) - expected)
        assert largest(difference) <= TOLERANCE * (1 + largest(np.ravel(expected)))


# -- limits and output -----------------------------------------------------------------------------


def test_a_longer_form_is_replaced_by_named_equations_with_a_note() -> None:
    text, notes = render(mechanism_named("puma560"), "P[0]", "riccati")
    assert text.startswith("# P: block of the articulated-body inertia")
    assert "\n# joint angles: sines and cosines\nc_" in text
    assert any("the canonical form of P[0] has more than 20000 terms" in note for note in notes)
    assert isinstance(read(mechanism_named("puma560"), "P[0]", "riccati").value, Recursive)
    for what in ("P[0]", "P[2]"):
        assert isinstance(read(mechanism_named("ur5"), what, "riccati").value, Canonical)


@pytest.mark.parametrize(
    ("name", "what", "sentence"),
    [
        ("panda", "D[2]", "more than 20000 terms, or takes more than 400000 products of terms"),
        ("bennett", "S_loops", "constants of the closed loops of the robot are irrational"),
    ],
)
def test_a_letter_without_canonical_form_says_why(name: str, what: str, sentence: str) -> None:
    method = "riccati" if what == "D[2]" else "composite_body"
    assert any(sentence in note for note in read(robot(name), what, method).notes)


def test_a_letter_without_canonical_form_is_refused_on_request() -> None:
    with pytest.raises(TooLong, match="constants of the closed loops of the robot are irrational"):
        read(robot("bennett"), "S_loops", "composite_body", FormulaOptions("multiangle"))


def test_python_text_of_a_block_computes_it() -> None:
    mechanism, q = mechanism_named("spatial"), [0.3, -0.8, 1.1]
    text, _ = render(mechanism, "P[0]", "riccati", "python", full=True)
    names = {"sin": math.sin, "cos": math.cos} | {f"q{i}": x for i, x in enumerate(q)}
    computed = np.array(eval(text, names))
    closed = symgen.inspect(mechanism, "P[0]", "riccati", form="closed")
    exact = closed.subs({sp.Symbol(f"q{i}", real=True): x for i, x in enumerate(q)})
    assert np.allclose(computed, np.array(exact.tolist(), dtype=float), rtol=1e-12, atol=1e-12)


def test_a_long_block_in_code_is_complete_or_named_equations() -> None:
    mechanism = mechanism_named("spatial")
    text, _ = render(mechanism, "P[0]", "riccati", "c")
    assert "…" not in text
    assert "=" in text
    shortened, notes = render(mechanism, "P[0]", "riccati")
    assert "P[0][0,0] = " in shortened
    assert any("20 largest terms" in note for note in notes)
    assert "more terms" not in render(mechanism, "P[0]", "riccati", full=True)[0]


def test_inspect_returns_the_canonical_object_on_request() -> None:
    assert isinstance(symgen.inspect("planar_arm", "U[0,1]", "udut", form="multiangle"), MultiAngle)
    block = symgen.inspect("planar_arm", "U", "udut", form="multiangle")
    assert isinstance(block, Canonical)
    assert block.shape == (2, 2)
    assert str(block) == "⎡1  1 + 3*cos(q1)⎤\n⎣0  1            ⎦"


def test_kept_parameters_are_unknowns_of_the_polynomials() -> None:
    text, notes = render(
        mechanism_named("planar_arm"), "D[1]", "udut", options=FormulaOptions(keep=("m", "I"))
    )
    assert text == "I_1_zz + 0.0625*m_1"
    assert any("m_1" in note or "m_i" in note or "symbols" in note for note in notes)
