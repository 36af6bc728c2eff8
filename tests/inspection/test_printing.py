"""Expressions, matrices and lists of equations as text, LaTeX, Python and C."""

from __future__ import annotations

import pytest
import sympy as sp

from symgen.inspection.printing import (
    DEEPEST,
    SHORTEST_POWER,
    import_lines,
    math_names,
    print_equations,
    print_expression,
    print_grid,
    visible_width,
)
from symgen.support.errors import RequestError

q0, q1, c_1 = sp.symbols("q0 q1 c_1", real=True)
HALF = sp.Rational(1, 2)


@pytest.mark.parametrize(
    ("expression", "text", "latex", "python", "c"),
    [
        (HALF * q0, "0.5*q0", "0.5 q_{0}", "0.5*q0", "0.5*q0"),
        (-HALF * q0, "-0.5*q0", "- 0.5 q_{0}", "-0.5*q0", "-0.5*q0"),
        (q0 / 3, "q0/3", r"\frac{q_{0}}{3}", "(1/3)*q0", "(1.0/3.0)*q0"),
        (sp.Rational(7, 400), "0.0175", "0.0175", "0.0175", "0.0175"),
        (sp.Rational(-5, 4), "-1.25", "- 1.25", "-1.25", "-1.25"),
        (sp.Integer(3), "3", "3", "3", "3.0"),
        (q0 ** sp.Rational(3, 2), "q0**(3/2)", r"q_{0}^{\frac{3}{2}}", "q0**(3/2)",
         "pow(q0, 3.0/2.0)"),
        (HALF**q0, "0.5**q0", "0.5^{q_{0}}", "0.5**q0", "pow(0.5, q0)"),
        (2 * sp.pi * q0, "2*pi*q0", r"2 \pi q_{0}", "2*pi*q0", "2.0*3.1415926535897932*q0"),
        (sp.log(q0) ** 2, "log(q0)**2", r"\ln^{2}{\left(q_{0} \right)}", "log(q0)**2",
         "pow(log(q0), 2.0)"),
        (sp.Rational(1, 2**SHORTEST_POWER) * q0, "2**-20*q0", "2^{-20} q_{0}", "2**-20*q0",
         "0x1p-20*q0"),
        (2**SHORTEST_POWER * q0, "2**20*q0", "2^{20} q_{0}", "2**20*q0", "0x1p20*q0"),
        (-(2**SHORTEST_POWER) * q0, "-2**20*q0", "- 2^{20} q_{0}", "-2**20*q0", "-0x1p20*q0"),
        (2 ** (SHORTEST_POWER - 1) * q0, "524288*q0", "524288 q_{0}", "524288*q0", "524288.0*q0"),
        (3 * 2**SHORTEST_POWER * q0, "3145728*q0", "3145728 q_{0}", "3145728*q0", "3145728.0*q0"),
    ],
)  # fmt: skip
def test_numbers_are_short_decimals_fractions_or_powers_of_two(
    expression: sp.Expr, text: str, latex: str, python: str, c: str
) -> None:
    written = [print_expression(expression, x) for x in ("text", "latex", "python", "c")]
    assert written == [text, latex, python, c]


def nested(depth: int) -> sp.Expr:
    """Return sin(cos(sin(… q0))), with as many parentheses."""
    expression = q0
    for n in range(depth):
        expression = sp.sin(expression) if n % 2 else sp.cos(expression)
    return expression


def test_an_expression_that_nests_too_deep_for_a_compiler_is_refused() -> None:
    for format, name in (("c", "C"), ("python", "Python")):
        assert print_expression(nested(DEEPEST), format).count("(") == DEEPEST
        with pytest.raises(
            RequestError, match=f"nests {DEEPEST + 1} parentheses, more than {name}"
        ):
            print_expression(nested(DEEPEST + 1), format)
    assert print_expression(nested(DEEPEST + 1), "text").count("(") == DEEPEST + 1
    wide = sp.Add(*(sp.sin(n * q0) for n in range(1, DEEPEST + 2)))
    assert print_expression(wide, "c").count("sin(") == DEEPEST + 1


def test_matrices_are_grids_lists_or_initializers() -> None:
    matrix = sp.Matrix([[1, q0 / 2], [sp.cos(q0), 0], [2, 3]])
    assert (
        print_expression(matrix, "text")
        == "⎡1        0.5*q0⎤\n⎢cos(q0)  0     ⎥\n⎣2        3     ⎦"
    )
    assert print_expression(matrix[:1, :], "text") == "[1  0.5*q0]"
    assert print_expression(matrix[:2, :], "text").splitlines()[1].startswith("⎣")
    assert print_expression(matrix, "python") == "[[1, 0.5*q0], [cos(q0), 0], [2, 3]]"
    assert print_expression(matrix, "c") == "{1.0, 0.5*q0, cos(q0), 0.0, 2.0, 3.0}"
    assert print_grid([["a", "b"], ["c", "d"]], "latex") == (
        r"\begin{bmatrix}a & b \\ c & d\end{bmatrix}"
    )


def test_named_equations_stand_below_their_headings() -> None:
    """A heading is printed where it changes; the legend comes first, the result last."""
    named = ((c_1, sp.cos(q1)), (sp.Symbol("t0"), c_1 + 1), (sp.Symbol("t1"), q0))
    headings = ("angles */ here", "sums", "sums")

    def written(format: str) -> list[str]:
        return print_equations(
            named, "M[0,1]", c_1, format, "result", headings, ("c: a cosine",)
        ).splitlines()

    assert written("text") == [
        "# c: a cosine",
        "# angles * / here",
        "c_1 = cos(q1)",
        "# sums",
        "t0 = c_1 + 1",
        "t1 = q0",
        "M[0,1] = c_1",
    ]
    assert written("python")[:3] == ["from math import cos", "# c: a cosine", "# angles * / here"]
    assert written("python")[-1] == "M_0_1 = c_1"
    assert written("c")[1:4] == [
        "/* angles * / here */",
        "const double c_1 = cos(q1);",
        "/* sums */",
    ]
    assert written("latex")[:4] == [
        r"\begin{aligned}",
        r"& \text{c: a cosine} \\",
        r"& \text{angles * / here} \\",
        r"c_{1} &= \cos{\left(q_{1} \right)} \\",
    ]
    assert written("latex")[-2] == r"M_{0,1} &= c_{1}"


def test_the_name_of_a_result_differs_from_those_of_the_equations() -> None:
    """P_2 is taken if there is a P_2_0_0; P_21 is another name."""
    for symbol, name in (("P_2_0_0", "P_2_declared"), ("P_2", "P_2_declared"), ("P_21", "P_2")):
        text = print_equations(((sp.Symbol(symbol), q0),), "P[2]", q0, "c", "declared")
        assert text.splitlines()[1] == f"const double {name} = q0;"
    matrix = print_equations((), "M", sp.Matrix([[1, q0]]), "c", "result")
    assert matrix == "const double M[2] = {1.0, q0};"
    grid = print_equations((), "M", sp.Matrix([[1], [q0]]), "text", "result")
    assert grid == "M =\n⎡1 ⎤\n⎣q0⎦"


def test_signs_of_latex_are_escaped_in_headings() -> None:
    named = ((c_1, q0),)
    text = print_equations(named, "M", q0, "latex", "", (r"50 % of a_b \ {x} ^ ~ # $ &",))
    assert r"\text{50 \% of a\_b \textbackslash{} \{x\} \^{} \~{} \# \$ \&}" in text.splitlines()[1]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("q0 + 1", []),
        ("sin(q0) + sqrt(2)*cos(q0)", ["cos", "sin", "sqrt"]),
        ("2*pi*q0", ["pi"]),
        ("spin(q0) + cosine", []),
        ("atan2(q0, q1) - log(q0)", ["atan2", "log"]),
    ],
)
def test_functions_of_a_formula_are_imported(text: str, names: list[str]) -> None:
    assert math_names(text) == names
    assert import_lines(text) == ([f"from math import {', '.join(names)}"] if names else [])


@pytest.mark.parametrize(
    ("latex", "width"),
    [
        ("x + 1", 3),
        (r"\cos\left(q_{1}\right)", 7),  # cos(q1)
        (r"\alpha_{12}", 3),
        (r"2 \sin\left(q_{0} + q_{1}\right)", 11),  # 2sin(q0+q1)
        (r"\displaystyle a\, b", 2),
    ],
)
def test_the_visible_width_of_a_formula_counts_what_is_set(latex: str, width: int) -> None:
    assert visible_width(latex) == width
