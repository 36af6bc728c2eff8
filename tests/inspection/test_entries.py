"""Entries of quantities: closed forms against a textbook and the reference, and indices by joint
name.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.core.function import AppliedUndef

import symgen
from symgen import methods
from symgen.inspection.catalogue import choose, methods_with_quantities, results
from symgen.inspection.entries import answer
from symgen.inspection.equations import closed_form_size, equations
from symgen.inspection.reading import FormulaOptions
from symgen.inspection.reading import render as rendered
from symgen.support.errors import RequestError
from tests.shared.robots_for_tests import program, reference_results, robot, states

q0, q1, v0, v1, a0, a1 = sp.symbols("q0 q1 v0 v1 a0 a1", real=True)
ENTRIES = {
    "M": ("mass_matrix", 2),
    "tau": ("inverse_dynamics", 1),
    "c": ("bias_force", 1),
    "g": ("gravity_force", 1),
}


def render_text(mechanism: Any, what: str, format: str = "text", form: str | None = None) -> str:
    return rendered(mechanism, what, format=format, options=FormulaOptions(form))[0]


@cache
def lambdified(expression: Any) -> tuple[list[str], Any]:
    symbols = sorted(expression.free_symbols, key=str)
    return [str(s) for s in symbols], sp.lambdify(symbols, expression, "math")


def evaluate_at(expression: Any, at: dict[str, np.ndarray], state: int = 0) -> float:
    names, function = lambdified(expression)
    return float(function(*(float(at[name[0]][state][int(name[1:])]) for name in names)))


# -- the textbook's planar arm: uniform rods of 1 m and 0.5 m, 2 kg and 1 kg -----------------------

A2 = sp.Rational(1, 48) + sp.Rational(1, 16)  # I2 + m2 lc2²
COUPLING = 1 * 1 * sp.Rational(1, 4)  # m2 l1 lc2
A1 = sp.Rational(1, 6) + sp.Rational(2, 4) + 1 + A2  # I1 + m1 lc1² + m2 l1² + I2 + m2 lc2²
G = sp.Rational(981, 100)
PLANAR = {  # Spong, Hutchinson & Vidyasagar (2006), (7.83)-(7.87)
    "M[0,0]": A1 + 2 * COUPLING * sp.cos(q1),
    "M[0,1]": A2 + COUPLING * sp.cos(q1),
    "M[1,0]": A2 + COUPLING * sp.cos(q1),
    "M[1,1]": A2,
    "g[0]": 2 * G * sp.cos(q0) + sp.Rational(1, 4) * G * sp.cos(q0 + q1),
    "g[1]": sp.Rational(1, 4) * G * sp.cos(q0 + q1),
    "c[1]": sp.Rational(1, 4) * G * sp.cos(q0 + q1) + COUPLING * sp.sin(q1) * v0**2,
    "c[0]": 2 * G * sp.cos(q0)
    + sp.Rational(1, 4) * G * sp.cos(q0 + q1)
    - COUPLING * sp.sin(q1) * v1 * (2 * v0 + v1),
}
PLANAR["tau[1]"] = PLANAR["M[1,0]"] * a0 + PLANAR["M[1,1]"] * a1 + PLANAR["c[1]"]
PLANAR["tau[0]"] = PLANAR["M[0,0]"] * a0 + PLANAR["M[0,1]"] * a1 + PLANAR["c[0]"]


@pytest.mark.parametrize("what", PLANAR)
def test_closed_forms_of_the_planar_arm_equal_the_textbook(what: str) -> None:
    function, _ = ENTRIES[what.split("[")[0]]
    for method in methods.providers(function):
        difference = symgen.inspect("planar_arm", what, method=method) - PLANAR[what]
        assert sp.simplify(sp.expand_trig(difference)) == 0, method


def test_the_mass_matrix_of_the_planar_arm_has_exact_textbook_coefficients() -> None:
    entry = symgen.inspect("planar_arm", "M[0,0]", method="composite_body")
    assert sp.expand(entry).coeff(sp.cos(q1)) == 2 * COUPLING
    assert sp.expand(entry).subs(sp.cos(q1), 0) == A1
    assert not entry.atoms(sp.Float)  # declared numbers are exact


# -- every entry against the reference -------------------------------------------------------------


@cache
def three_states(name: str) -> dict[str, np.ndarray]:
    return states(name, 3)


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        *(
            (name, letter)
            for name in ("scara", "tree4", "prismatic_revolute")
            for letter in ENTRIES
        ),
        ("puma560", "M"),
        ("puma560", "g"),
    ],
)
def test_every_entry_equals_the_reference(name: str, letter: str) -> None:
    mechanism, at = robot(name), three_states(name)
    function, rank = ENTRIES[letter]
    expected = reference_results(name, function, 3)[letter]
    scale = np.abs(expected).max() + 0.1
    for index in np.ndindex(*(mechanism.nv,) * rank):
        what = f"{letter}[{','.join(map(str, index))}]"
        expression = symgen.inspect(mechanism, what)
        for state in range(3):  # 17-digit Floats, a hundred roundings
            assert (
                abs(evaluate_at(expression, at, state) - expected[(state, *index)]) <= 1e-12 * scale
            ), what


@pytest.mark.slow
def test_named_equations_evaluate_to_the_closed_form() -> None:
    """Substitute values name by name; compare each name with the closed form of its own row."""
    derived = program("chain3", "inverse_dynamics")
    rows = {row.name: index for index, row in enumerate(derived.rows) if row.name}
    for target in derived.outputs[0].rows:
        recursive = equations(derived, [target])
        (closed,) = equations(derived, [target], named=False).entries
        values: dict[Any, Any] = {
            s: sp.Float(f"0.{3 + i}1") for i, s in enumerate(sorted(closed.free_symbols, key=str))
        }
        exact = closed.subs(values)
        for (symbol, expression), name in zip(recursive.named, recursive.in_c, strict=True):
            assert symbol not in values
            assert not name.startswith("neg_")
            values[symbol] = expression.subs(values)
            sign, row = (
                (1, rows[name]) if name in rows else (-1, rows[f"neg_{name}"])
            )  # a row named neg_x has the value −x
            (row_closed,) = equations(derived, [row], named=False).entries
            assert abs(values[symbol] - sign * row_closed.subs(values)) < 1e-12, name
        assert abs(recursive.entries[0].subs(values) - exact) < 1e-12


def test_a_long_part_without_a_name_is_named_once() -> None:
    """Equations of a chain grow with its rows; substituted parts would double with every link."""
    derived = program("planar_point_mass:4", "forward_dynamics", "riccati")
    rows = [row for port in derived.outputs for row in port.rows]
    recursive = equations(derived, rows)
    assert recursive.in_c.count("") > 1
    assert max(sp.count_ops(expression) for _, expression in recursive.named) < 60
    closed = equations(derived, rows, named=False).entries
    symbols = sorted(set().union(*(entry.free_symbols for entry in closed)), key=str)
    values: dict[Any, Any] = {s: sp.Float(f"0.{3 + i}1", 40) for i, s in enumerate(symbols)}
    exact = [entry.subs(values) for entry in closed]
    for symbol, expression in recursive.named:
        assert symbol not in values
        values[symbol] = expression.subs(values)
    for entry, number in zip(recursive.entries, exact, strict=True):
        assert abs(entry.subs(values) - number) < 1e-30 * abs(number)


def test_an_entry_prints_as_a_multi_angle_form_and_a_quantity_as_a_matrix() -> None:
    arm = robot("planar_arm")
    assert rendered(arm, "M[0,0]")[0].strip() == "1.75 + 0.5*cos(q1)"
    assert rendered(arm, "M")[0].startswith("⎡")


def test_a_chosen_method_gives_the_same_entry_and_an_unknown_one_is_refused() -> None:
    by_composite_body, by_newton_euler = (
        symgen.inspect("scara", "M[0,1]", method=m) for m in ("composite_body", "newton_euler")
    )
    assert sp.simplify(by_composite_body - by_newton_euler).subs(
        {q0: 0.3, q1: 0.4, sp.Symbol("q2", real=True): 0.1}
    ) == pytest.approx(0, abs=1e-15)
    with pytest.raises(RequestError, match="does not compute mass_matrix"):
        symgen.inspect("scara", "M[0,1]", method="riccati")
    with pytest.raises(RequestError, match="did you mean 'composite_body'"):
        symgen.inspect("scara", "M[0,1]", method="composite_bodi")


# -- indices ---------------------------------------------------------------------------------------


def test_a_joint_name_serves_as_an_index() -> None:
    panda = symgen.load("panda")
    assert symgen.inspect(panda, "M[panda_joint2,panda_joint3]") == symgen.inspect(
        panda, " M [ 1 , 2 ] "
    )
    assert symgen.inspect(panda, "g[panda_joint4]") == symgen.inspect(panda, "g[3]")
    assert symgen.inspect(panda, "p[panda_joint4]") == symgen.inspect(panda, "p[3]")
    assert symgen.inspect(panda, "B[panda_joint4,1]") == symgen.inspect(panda, "B[3,panda_joint2]")
    assert answer(panda, choose(panda, "tau[panda_joint7]")).label == "tau[6]"


def test_an_entry_of_a_column_is_selected_by_its_row_with_or_without_the_column() -> None:
    column = symgen.inspect("scara", "omega[1]")
    assert column.shape == (3, 1)
    for row in range(3):
        assert symgen.inspect("scara", f"omega[1][{row}]") == column[row]
        assert symgen.inspect("scara", f"omega[1][{row},0]") == column[row]
    assert column[2] != 0


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("M[0]", r"'M\[0\]' has 1 indices, M takes 2"),
        ("g[0,1]", r"'g\[0,1\]' has 2 indices, g takes 1"),
        ("M[0,7]", r"index 7 is outside this robot's joints; they count from 0 to 6"),
        ("M[0,-1]", r"index -1 is outside"),
        (
            "M[panda_joint1,panda_joint11]",
            "no joint is named 'panda_joint11'; did you mean 'panda_joint1'",
        ),
        ("tau[elbow]", "no joint is named 'elbow'; there are: panda_joint1, "),
        ("Q[0,0]", r"'Q\[0,0\]' is not a quantity; there are: .*M\[i,j\]"),
        ("M[0,0]+1", "is not a quantity"),
        ("__import__('os')[0]", "is not a quantity"),
        ("M[,]", "no joint is named ''"),
        ("M[0,0][1]", r"'M\[0,0\]\[1\]' has a second index, but"),
        ("P[2][0,x]", r"index 'x' is outside the columns of P\[2\], which counts from 0 to 5"),
        ("P[2][6,0]", r"index '6' is outside the rows of P\[2\], which counts from 0 to 5"),
        ("P[2][0]", r"selects an entry of a 6x6 block; write P\[2\]\[row,column\]"),
        ("D[2][0]", r"has a second index, but D\[2\] is a single number"),
        ("E", r"'E' needs an index: E\[k\], counted from 0 to 6"),
        ("B[0,1]", r"B\[0,1\] does not exist: \[i,j\] exists where link j carries link i"),
        ("J[6,0]", "index '6' is outside a row or column of J, which counts from 0 to 5"),
        ("H_theta_L", "fixman:planar needs a serial chain .* 'panda'"),
        ("M[0,9999999]", "no joint is named '9999999'"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line(what: str, sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence) as refused:
        symgen.inspect("panda", what)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("what", "method", "meant"),
    [
        ("H_LL", None, "H_L_L[i,j]"),
        ("h_theta_theta[0,1]", "fixman", "H_theta_theta[i,j]"),
        ("M_inv[0,0]", None, "Minv[i,j]"),
        ("Mtilda[1]", "udut", "Mtilde[i]"),
        ("lambda_inv", None, "Lambda_inv[i,j]"),
    ],
)
def test_an_unknown_letter_suggests_the_nearest_one(
    what: str, method: str | None, meant: str
) -> None:
    with pytest.raises(RequestError) as refused:
        symgen.inspect("planar_point_mass", what, method=method)
    assert f"; did you mean {meant}? " in str(refused.value)


def test_the_name_of_a_function_leads_to_its_results() -> None:
    with pytest.raises(
        RequestError, match=r"it is a function, whose results are a\[i\]; there are"
    ):
        symgen.inspect("planar_arm", "forward_dynamics")


def test_a_letter_unlike_all_others_has_no_suggestion() -> None:
    with pytest.raises(RequestError, match=r"'Q\[0,0\]' is not a quantity; there are: "):
        symgen.inspect("planar_point_mass", "Q[0,0]")


def test_the_refusal_of_an_unknown_quantity_lists_every_quantity() -> None:
    with pytest.raises(RequestError) as refused:
        symgen.inspect("scara", "?")
    for result in results().values():
        assert result.heading in str(refused.value)
    for method in methods_with_quantities():
        for letter, quantity in methods.find(method).quantities.items():
            assert (f"{letter}[" if quantity.indices else letter) in str(refused.value)


@pytest.mark.parametrize(
    "method", [name for name in methods.names() if methods.find(name).quantities]
)
def test_the_refusal_of_an_unknown_letter_lists_the_letters_of_its_method(method: str) -> None:
    with pytest.raises(
        RequestError, match=f"{method} has no quantity 'Q\\[2\\]'; it has: "
    ) as refused:
        symgen.inspect("scara", "Q[2]", method=method)
    for letter in methods.find(method).quantities:
        assert letter in str(refused.value)


# -- printed numbers (test_forms.py evaluates the printed formulas) --------------------------


def test_text_prints_short_decimals_as_declared() -> None:
    text = render_text(robot("planar_arm"), "g[1]")
    assert "2.4525" in text
    assert "/" not in text


def test_an_unknown_format_suggests_the_nearest() -> None:
    with pytest.raises(RequestError, match="no format is named 'latexx'; did you mean 'latex'"):
        render_text(robot("scara"), "M[0,0]", format="latexx")


@pytest.mark.parametrize("name", ["scara", "planar_arm"])
def test_an_inspected_expression_holds_only_numbers_symbols_sines_and_cosines(name: str) -> None:
    for what in ("M[0,1]", "g[0]", "c[1]", "tau[0]"):
        expression = symgen.inspect(robot(name), what)
        assert not expression.atoms(AppliedUndef)
        assert {type(f) for f in expression.atoms(sp.Function)} <= {sp.sin, sp.cos}
        assert all(s.is_real for s in expression.free_symbols)


def test_constants_keep_the_declared_decimals_or_seventeen_digits() -> None:
    for what in ("M[0,0]", "M[0,1]", "g[0]"):  # the arm's yy = "1/6" is a Rational too
        assert not symgen.inspect("planar_arm", what).atoms(sp.Float)
    general = symgen.inspect(robot("tree4"), "M[0,0]").atoms(
        sp.Float
    )  # constants contain sines of general rpy angles
    assert general
    assert all(number._prec >= 53 for number in general)


def test_a_closed_form_at_a_pose_counts_each_number_as_one_operation() -> None:
    arm = robot("scara")
    entries = answer(arm, choose(arm, "M[0,1]"))
    sizes = [
        closed_form_size(entries.program, entries.rows, at)
        for at in (None, {("q", 0): 1}, {("q", 1): 1})
    ]
    assert sizes[0] == sizes[1] > 1  # the entry does not depend on the first angle
    assert sizes[2] == 1  # all of the entry is one number
