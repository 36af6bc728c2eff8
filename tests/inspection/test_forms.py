"""Printed formulas: every form in every format, parsed and evaluated, gives the numbers of the
Program's rows.

A sum that is too long is refused, or shortened with a mark inside the sum, so that no parser
takes the shortened sum for the complete one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import mpmath
import pytest
import sympy as sp

import symgen
from symgen import methods
from symgen.cli import main
from symgen.inspection.at import parse_values as parse_pose
from symgen.inspection.catalogue import choose, methods_with_quantities, refusal_reason
from symgen.inspection.entries import answer, layout
from symgen.inspection.multiangle import MOST, MultiAngle
from symgen.inspection.names import formula_name, latex
from symgen.inspection.parameters import parse_kinds
from symgen.inspection.printing import (
    DEEPEST,
    FORMATS,
    import_lines,
    print_equations,
    print_expression,
)
from symgen.inspection.reading import FormulaOptions, render
from symgen.ir.program import Numbers, Port, Program, evaluate
from symgen.machine.compilers import find_compiler
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import Z_AXIS
from tests.shared.formula_readers import DIGITS, Unread, by_compiler, by_latex, by_python, by_sympy
from tests.shared.robots_for_tests import flat_chain, random_mechanism, robot

Case = tuple[str, str, str | None, str | None, str, str]
"""One case: (robot, quantity, method, form, parameters kept as symbols, pose)."""
READERS = {"text": by_sympy, "latex": by_latex, "python": by_python}
TOLERANCE = {"text": 1e-14, "latex": 1e-14, "python": 1e-12, "c": 1e-12}
NUMBERS = Numbers(
    lambda x: mpmath.mpf(x.numerator) / x.denominator,
    mpmath.sin,
    mpmath.cos,
    mpmath.sqrt,
    mpmath.log,
    mpmath.atan2,
)
ODD_NAMES = ("$q_1$", "жук 0", 'a"b\\', "{x}^2")


@cache
def mechanism_named(name: str) -> Mechanism:
    if name == "several":
        plain = random_mechanism(2, seed=7, general=False)
        return replace(
            plain,
            joints=tuple(
                replace(joint, kind=kind, axis=Z_AXIS)
                for joint, kind in zip(plain.joints, ("spherical", "cylindrical"), strict=True)
            ),
        )
    if name != "odd":
        return robot(name)
    chain = robot("square_chain4")
    return replace(
        chain,
        name="odd",
        joints=tuple(replace(j, name=odd) for j, odd in zip(chain.joints, ODD_NAMES, strict=True)),
    )


def cases() -> Iterator[Case]:
    for form in ("closed", "recursive"):
        for what, method in (
            ("M", None),
            ("tau[1]", None),
            ("c", None),
            ("P[1]", None),
            ("U[0,1]", "udut"),
            ("D[0]", "udut"),
            ("Minv", None),
            ("logdet", None),
            ("a[0]", None),
            ("J", None),
            ("alpha", "udut"),
        ):
            yield "planar_arm", what, method, form, "none", ""
        for what in ("M[0,2]", "g[2]", "P[1][0,4]", "psi[0,2]", "M", "phi[2,0]", "Minv[2,2]"):
            yield "scara", what, None, form, "none", ""
        for what, method in (("M[0,1]", "newton_euler"), ("g[2]", None)):
            yield "tree4", what, method, form, "none", ""  # general rpy angles give Floats
        for what in ("H_theta_theta", "H_theta_L", "dtheta_dx[1,0]"):
            yield "planar_point_mass:2", what, None, form, "none", ""
        for what, method in (
            ("M[0,1]", None),
            ("P[1][0,4]", None),
            ("mhat[0]", None),
            ("c[1]", "newton_euler"),
        ):
            yield "planar_arm", what, method, form, "all", ""
        yield "tree4", "det_G", None, form, "none", "q0=1,q1=0.2,q2=-0.7,q3=pi/4"
        yield "planar_arm", "M", None, form, "none", "q1=0.3"
        yield "planar_arm", "c", None, form, "none", "q1=pi/3,v0=2*pi"
        yield "scara", "P[1]", None, form, "none", "q1=pi/2"
        for what in (
            "M[joint0.wy,joint1.distance]",
            "J[3,joint0.wx]",
            "c[joint1.angle]",
            "G[0][2,1]",
            "L[1]",
        ):
            yield "several", what, None, form, "none", ""
        yield "several", "M[2,1]", "composite_body", form, "m,c,l", ""
        yield (
            "several",
            "D[0]",
            None,
            form,
            "none",
            "q0=0.5,joint0.y=-0.5,q2=1/2,q3=0.5,joint1.distance=0.2",
        )
        yield "odd", f"M[{ODD_NAMES[0]},{ODD_NAMES[1]}]", "composite_body", form, "none", ""
        yield (
            "odd",
            f"M[{ODD_NAMES[2]},{ODD_NAMES[3]}]",
            "composite_body",
            form,
            "m,l",
            f"{ODD_NAMES[3]}=1",
        )
    for name, what, keep in (
        ("planar_arm", "M[0,0]", "all"),
        ("planar_arm", "tau[0]", "all"),
        ("planar_arm", "c[0]", "none"),
        ("scara", "M[0,2]", "none"),
        ("scara", "g[2]", "none"),
        ("scara", "c[0]", "m"),
        ("tree4", "g[2]", "none"),
        ("odd", f"M[{ODD_NAMES[0]},{ODD_NAMES[1]}]", "none"),
        ("ur5", "M[0,0]", "none"),
    ):
        yield name, what, None, "multiangle", keep, ""
    yield "ur5", "M[0,0]", None, None, "none", ""
    yield "planar_arm", "M[0,0]", None, None, "none", ""
    yield "planar_arm", "Minv", None, None, "none", ""
    yield "planar_arm", "Minv[0,1]", None, "multiangle", "all", ""
    yield "planar_point_mass", "U[3,4]", "udut", None, "none", ""


CASES = tuple(cases())


@cache
def expected(case: Case) -> tuple[dict[str, Any], list[Any]]:
    """Return values for the symbols of a formula, and the values of the Program's rows at them."""
    name, what, method, _, keep, at = case
    mechanism, random = mechanism_named(name), Random(name)
    formula = answer(mechanism, choose(mechanism, what, method), None, parse_kinds(keep))
    pinned = parse_pose(mechanism, at) if at else {}
    values: dict[str, Any] = {}
    arguments: dict[str, list[Any]] = {}
    with mpmath.workdps(DIGITS):
        for port in formula.program.inputs:
            for element in range(port.size):
                entry = port.name, element
                value = NUMBERS.constant(Fraction(random.randint(200, 1500), 1009))
                if entry in pinned:
                    value = (
                        NUMBERS.constant(pinned[entry].radians)
                        + NUMBERS.constant(pinned[entry].pi) * mpmath.pi
                    )
                else:
                    values[formula.symbols.get(entry, f"{port.name}{element}")] = value
                arguments.setdefault(port.name, []).append(value)
        requested = replace(
            formula.program, outputs=(Port("x", (len(formula.rows),), formula.rows),)
        )
        return values, evaluate(requested, arguments, NUMBERS)["x"]


def text_of(case: Case, format: str) -> str:
    name, what, method, form, keep, at = case
    mechanism = mechanism_named(name)
    return render(
        mechanism,
        what,
        method,
        format,
        FormulaOptions(form, at=parse_pose(mechanism, at) if at else None, keep=parse_kinds(keep)),
        full=True,
    )[0]


def agree(parsed: list[Any], numbers: list[Any], format: str) -> bool:
    return len(parsed) == len(numbers) and all(
        abs(x - y) <= TOLERANCE[format] * (1 + max(abs(n) for n in numbers))
        for x, y in zip(parsed, numbers, strict=True)
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(str(part) for part in case))
def test_printed_text_latex_and_python_evaluate_to_the_formula(case: Case) -> None:
    values, expected_numbers = expected(case)
    for format, read in READERS.items():
        text = text_of(case, format)
        assert agree(read(text, values), expected_numbers, format), f"{format}: {text}"


@pytest.mark.slow
def test_printed_c_compiles_and_evaluates_to_the_formula(tmp_path: Path) -> None:
    expressions = [random_expression(Random(seed), 4) for seed in range(20)] + [
        sp.Integer(10) ** 30 * LETTERS[0],
        *POWERS_OF_TWO,
    ]
    texts = [(text_of(case, "c"), *expected(case)) for case in CASES] + [
        (print_expression(x, "c"), VALUES, [value_made_up(x)]) for x in expressions
    ]
    results = by_compiler([(text, values) for text, values, _ in texts], tmp_path, find_compiler())
    for (text, _, numbers), compiled in zip(texts, results, strict=True):
        assert agree(compiled, numbers, "c"), text


def test_a_long_recursive_form_evaluates_to_the_formula_in_every_format() -> None:
    case = "puma560", "tau[0]", None, None, "none", ""
    values, numbers = expected(case)
    for format, read in READERS.items():
        assert text_of(case, format).count("\n") > 50
        assert agree(read(text_of(case, format), values), numbers, format), format


@pytest.mark.parametrize("format", ["text", "latex", "python"])
def test_random_expressions_print_to_their_value(format: str) -> None:
    """Random trees of fractions, powers, roots, logarithms, signs, π, Floats and large numbers."""
    for expression in (*(random_expression(Random(seed), 4) for seed in range(25)), *POWERS_OF_TWO):
        assert agree(
            READERS[format](print_expression(expression, format), VALUES),
            [value_made_up(expression)],
            format,
        ), (
            expression,
            print_expression(expression, format),
        )
    assert agree(
        READERS[format](print_expression(sp.log(LETTERS[0]) ** 2, format), VALUES),
        [value_made_up(sp.log(LETTERS[0]) ** 2)],
        format,
    )


LETTERS = sp.symbols("q0 v1 P_10_0_2 omegadot_3_1 c_1_x invD_2", real=True)
POWERS_OF_TWO = (
    2**30 * LETTERS[0] - LETTERS[1] / 2**40,
    (LETTERS[0] ** 2 + sp.Rational(1, 2**90)) ** 2 / 2**31,
    sp.sin(LETTERS[0] / 2**31) * sp.sqrt(LETTERS[2]) ** 3 / 2**20,
)
VALUES = {str(s): mpmath.mpf(3 + 2 * i) / 7 for i, s in enumerate(LETTERS)}


@cache
def value_made_up(expression: Any) -> Any:
    with mpmath.workdps(DIGITS):
        return mpmath.mpmathify(
            str(expression.evalf(DIGITS, subs={s: VALUES[str(s)] for s in LETTERS}))
        )


def random_expression(random: Random, depth: int) -> Any:
    if not depth:
        numbers = [
            sp.Rational(random.randint(-9, 9), random.choice([1, 3, 4, 12, 10**9])),
            sp.Float(random.uniform(-1, 1) * 1e-9, 17),
            sp.Rational(10**20 + 1, 10**18),
            sp.pi,
            sp.Rational(1, 7 * 10**21),
        ]
        return random.choice([*LETTERS, *LETTERS, *numbers])
    a, b = random_expression(random, depth - 1), random_expression(random, depth - 1)
    inside = a**2 + sp.Rational(1, 3)
    return random.choice(
        [
            lambda: a + b,
            lambda: a - b,
            lambda: a * b,
            lambda: -a,
            lambda: sp.sin(a) * b,
            lambda: sp.cos(a) ** 2,
            lambda: b / inside,
            lambda: sp.sqrt(inside),
            lambda: a / sp.sqrt(inside),
            lambda: sp.log(inside),
            lambda: inside**-2,
            lambda: -(a - b),
        ]
    )()


# -- left-out terms --------------------------------------------------------------------------------


def sum_of_harmonics(count: int) -> MultiAngle:
    return MultiAngle.of(
        {(((1, n), n % 2 == 1), ()): Fraction((-1) ** n * (n + 1), 7) for n in range(count)}
    )


@pytest.mark.parametrize("robot_name", ["ur5", "puma560"])
def test_a_shortened_sum_has_a_mark_and_no_parser_accepts_it(
    robot_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = symgen.inspect(robot_name, "M[0,0]", form="multiangle")
    rest, values = len(whole.waves()) - MOST, {f"q{i}": mpmath.mpf(i + 1) for i in range(6)}
    assert rest > 0
    for format, mark in (
        ("text", f"  + … {rest} more term"),
        ("latex", rf"& + \cdots \text{{ {rest} more term"),
    ):
        assert main(["inspect", robot_name, "M[0,0]", "--format", format]) == 0
        out = capsys.readouterr().out.rstrip("\n")
        assert out.count(mark) == 1
        assert re.findall(r"[-+] \d", out)[MOST - 2]  # a sign stands before every further term
        for read in READERS.values():
            with pytest.raises(Unread):
                read(out, values)
            for line in out.split("\n")[1:]:
                with pytest.raises(Unread):
                    by_python(line, values)
    for format in ("python", "c"):
        for form in ([], ["--form", "multiangle"]):
            assert main(["inspect", robot_name, "M[0,0]", "--format", format, *form]) == 2
            refused = capsys.readouterr()
            assert refused.out == ""
            assert re.search(
                r"this sum has \d+ terms, and a shortened sum is not valid .*; --full prints all",
                refused.err,
            )


def test_a_notebook_shows_an_ellipsis_for_left_out_terms() -> None:
    short, cut = sum_of_harmonics(MOST), sum_of_harmonics(MOST + 9)
    assert "\\cdots" not in short._repr_latex_()
    assert r"+ \cdots \text{ 9 more terms }" in cut._repr_latex_()
    assert str(cut) == repr(cut)
    assert str(cut).endswith("+ … 9 more terms (58 harmonics in 29 cosines and sines)")
    assert str(sum_of_harmonics(MOST + 1)).endswith(
        "+ … 1 more term (42 harmonics in 21 cosines and sines)"
    )
    sizes = [abs(float(x)) for x in re.findall(r"(\d+)/7", str(cut))]
    assert sizes == sorted(sizes, reverse=True)
    recursive = symgen.inspect("planar_arm", "M[0,0]", form="recursive")
    assert by_latex(
        recursive._repr_latex_().removeprefix("$\\displaystyle ").removesuffix("$"),
        {"q1": mpmath.mpf(0)},
    ) == [2.25]


@pytest.mark.parametrize("count", [1, MOST, MOST + 1, 2500])
def test_a_full_sum_has_all_terms_at_any_length(count: int) -> None:
    """CPython's compiler rejects a plain sum of 2500 terms; only Python's reader gets the longest
    sum.
    """
    form, values = sum_of_harmonics(count), {"q0": mpmath.mpf(1) / 3, "q1": mpmath.mpf(2) / 7}
    with mpmath.workdps(DIGITS):
        number = form.evaluate([values["q0"], values["q1"]], numbers=NUMBERS)
    for format, read in READERS.items():
        if count < 100 or format == "python":
            assert agree(read(form.text(format, full=True), values), [number], format), format
    if count < 100:
        value = form.sympy().evalf(
            DIGITS, subs={s: values[str(s)] for s in form.sympy().free_symbols}
        )
        assert agree([mpmath.mpmathify(str(value))], [number], "text")
    with pytest.raises(RequestError, match="no format is named 'latexx'; did you mean 'latex'"):
        form.text("latexx")


def test_an_expression_that_nests_too_deep_for_python_is_refused() -> None:
    x = sp.Symbol("q0", real=True)
    for _ in range(DEEPEST + 1):
        x = sp.sin(x, evaluate=False)
    for format in ("python", "c"):
        with pytest.raises(
            RequestError,
            match=f"nests {DEEPEST + 1} parentheses, more than .* is sure to read; take --form rec",
        ):
            print_expression(x, format)
    for _ in range(400):
        x = sp.sin(x, evaluate=False)
    for format in FORMATS:
        with pytest.raises(
            RequestError, match="is nested too deeply to be printed; use --form recursive"
        ):
            print_expression(x, format)


def test_printed_python_and_c_name_the_imports_that_they_need(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for format, line in (
        ("python", "this takes: from math import cos"),
        ("c", "this takes: #include <math.h>"),
    ):
        assert main(["inspect", "planar_arm", "M[0,0]", "--format", format]) == 0
        assert line in capsys.readouterr().err
        assert main(["inspect", "planar_arm", "M[1,1]", "--format", format]) == 0
        assert "this takes" not in capsys.readouterr().err
    assert (
        main(["inspect", "planar_arm", "M[0,0]", "--format", "python", "--form", "recursive"]) == 0
    )
    assert capsys.readouterr().out.startswith(
        "from math import cos\n# joint angles: sines and cosines\nc_1 = cos(q1)\n"
    )
    assert import_lines("sin(q0) + log(sqrt(q1)) + cos_1 + pi") == [
        "from math import log, pi, sin, sqrt"
    ]


# -- numbering of links ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "read", "written"),
    [
        ("c_1", "c_0", "c_{0}"),
        ("c_12", "c_11", "c_{11}"),
        ("c_12_3", "c_11_2", "c_{11,2}"),
        ("P_1_12", "P_0_0_1", "P_{0,0,1}"),
        ("P_12_12", "P_11_0_1", "P_{11,0,1}"),
        ("M_12_11", "M_11_10", "M_{11,10}"),
        ("alpha_2_13", "alpha_1_12", r"\alpha_{1,12}"),
        ("psi_2_11_3", "psi_1_10_2", r"\psi_{1,10,2}"),
        ("psi_2_11_13", "psi_1_10_0_2", r"\psi_{1,10,0,2}"),
        ("H_tt_12_13", "H_tt_11_12", "H_{tt,11,12}"),
        ("H_9_10_less8_46", "H_8_9_less7_3_5", r"H_{8,9,\mathrm{less7},3,5}"),
        ("b_less11_12_4", "b_less10_11_3", r"b_{\mathrm{less10},11,3}"),
        ("run2_12_3", "run2_11_2", r"\mathrm{run2}_{11,2}"),
        ("L2_13_11", "L2_12_10", r"\mathrm{L2}_{12,10}"),
        ("thetaddot_10", "thetaddot_9", r"\ddot{\theta}_{9}"),
        ("dq_12_dxi_11_14", "dq_11_dxi_10_0_3", r"\mathrm{dq}_{11,\mathrm{dxi},10,0,3}"),
        ("dtheta_13_dx_11_2", "dtheta_12_dx_10_1", r"\mathrm{dtheta}_{12,dx,10,1}"),
        ("invD_3_1", "invD_2_0", r"\mathrm{invD}_{2,0}"),
        ("tautilde_1", "tautilde_0", r"\tilde{\tau}_{0}"),
    ],
)
def test_names_of_the_c_count_from_zero_in_formulas(name: str, read: str, written: str) -> None:
    assert formula_name(name) == read
    assert latex(read) == written


def twelve_links() -> Iterator[tuple[str, str, Program]]:
    """Yield every letter of every method for 12 planar point masses, or else for a chain of 12
    bodies.
    """
    chain, points = flat_chain(12), symgen.load("planar_point_mass:12")
    for method in methods_with_quantities():
        for letter, quantity in methods.find(method).quantities.items():
            if quantity.of_loops:  # neither robot has loops
                continue
            mechanism = points if refusal_reason(points, method, quantity) is None else chain
            yield method, letter, layout(mechanism, method, letter).program


@pytest.mark.slow
def test_every_letter_of_every_method_counts_links_from_zero_without_clashes() -> None:
    """c_i is cos q_i for every i, indices stay below 12, and no two names coincide, in LaTeX
    either.
    """
    last_indices: dict[tuple[str, str], set[int]] = {}
    for method, letter, derived in twelve_links():
        names = [row.name for row in derived.rows if row.name]
        read = [
            formula_name(
                name.removeprefix("neg_") if name.removeprefix("neg_") not in names else name
            )
            for name in names
        ]
        inputs = [f"{port.name}{i}" for port in derived.inputs for i in range(port.size)]
        for spelled in (read + inputs, [latex(name) for name in read + inputs]):
            assert len(set(spelled)) == len(spelled), (method, letter)
        for row in derived.rows:
            if row.name and row.op in ("cos", "sin"):
                _, element = derived.rows[row.args[0]].value
                assert formula_name(row.name) == f"{row.op[0]}_{element}"
        for name, c_name in zip(read, names, strict=True):
            indices = [int(word) for word in name.split("_") if word.isdigit()]
            assert indices[0] < 12, name
            assert all(index < 12 for index in indices), name
            stem = re.sub(r"(?<=_)\d+(?=_|$)", "#", c_name.removeprefix("neg_"))
            last_indices.setdefault((method, stem), set()).add(int(c_name.rsplit("_", 1)[1]))
    for (
        (method, stem),
        last,
    ) in (
        last_indices.items()
    ):  # matrix entries have two-digit suffixes above 10, vector components stay below seven
        with_twelve = stem.replace("#", "12")
        split = len(formula_name(with_twelve).split("_")) > len(with_twelve.split("_"))
        if stem.count("#") > 1 and max(last) > 6:
            assert split == (min(last) > 10), (method, stem, last)


def test_a_formula_of_link_0_calls_the_next_link_1(capsys: pytest.CaptureFixture[str]) -> None:
    for format, next_link, left_side in (
        ("latex", "P_{1,0,1}", "P_{0,2,2} &= "),
        ("python", "P_1_0_1", "P_0_2_2 = "),
        ("text", "P_1_0_1", "P[0][2,2] = "),
    ):
        assert main(["inspect", "ur5", "P[0][2,2]", "--form", "recursive", "--format", format]) == 0
        printed = capsys.readouterr()
        assert next_link in printed.out
        assert printed.out.count(left_side) == 1
        assert re.search(
            r"links, rows and columns from 0, as in q0; the C counts them from 1, and calls"
            r" \w+ \w+",
            printed.err,
        )
        assert not re.search(r"[A-Z]_\d+_\d\d\b|_\{\d+ \d+\}", printed.out)


X = sp.Symbol("x")
POWERS = {
    sp.Rational(1, 2**90): ("2**-90", "2^{-90}", "0x1p-90"),
    -(2**30) * X: ("-2**30*x", "- 2^{30} x", "-0x1p30*x"),
    2**20 + X**2: ("2**20 + x**2", "2^{20} + x^{2}", "0x1p20 + pow(x, 2.0)"),
    sp.sqrt(X) / 2**31: ("2**-31*sqrt(x)", r"2^{-31} \sqrt{x}", "0x1p-31*sqrt(x)"),
    X / 8 + 1024: ("0.125*x + 1024", "0.125 x + 1024", "0.125*x + 1024.0"),
}


@pytest.mark.parametrize("expression", POWERS, ids=str)
def test_large_and_small_powers_of_two_are_printed_as_powers(expression: sp.Expr) -> None:
    """Steps of free bodies contain 2**-90 and 2**30. Smaller powers are decimals."""
    plain, latex, c = POWERS[expression]
    printed = {form: print_expression(expression, form) for form in FORMATS}
    assert printed == {"text": plain, "python": plain, "latex": latex, "c": c}
    for x in (0.75, 3.0):
        value = eval(plain, {"x": x, "sqrt": math.sqrt})
        assert value == pytest.approx(float(expression.subs(X, x)), rel=1e-15)


def test_headings_name_the_steps_with_their_equation_numbers() -> None:
    """Links count from 0 in formulas and from 1 in the C, whose comments have the same steps."""
    for format, line in (
        ("text", "# link 0 (link1): articulated inertia and gain, RK (4.4)-(4.6), (5.12)\n"),
        ("python", "# link 0 (link1): articulated inertia and gain, RK (4.4)-(4.6), (5.12)\n"),
        ("c", "/* link 0 (link1): articulated inertia and gain, RK (4.4)-(4.6), (5.12) */\n"),
        (
            "latex",
            r"& \text{link 0 (link1): articulated inertia and gain, RK (4.4)-(4.6), (5.12)} \\",
        ),
    ):
        text, _ = render(
            mechanism_named("planar_arm"), "P[0]", "riccati", format, FormulaOptions("recursive")
        )
        assert text.count(line) == 1


def test_a_heading_cannot_end_a_comment_or_a_line() -> None:
    named = ((sp.Symbol("x"), sp.Integer(1)),)
    for format in ("text", "python", "c", "latex"):
        text = print_equations(named, "y", sp.Symbol("x"), format, "r", ["a */ b\n_c^{d}"])
        assert len(text.splitlines()) == (5 if format == "latex" else 3)
        assert text.count("*/") == (1 if format == "c" else 0)
