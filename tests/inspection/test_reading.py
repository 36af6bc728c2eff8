"""Answers to requests: the form that options choose, its notes, and the limits of each form."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any

import pytest
import sympy as sp

import symgen
from symgen.description.loading import load
from symgen.inspection import reading as reading_module
from symgen.inspection.at import parse_values
from symgen.inspection.canonical import Canonical, TooLong
from symgen.inspection.catalogue import choose
from symgen.inspection.equations import Equations
from symgen.inspection.general.formulas import Affine
from symgen.inspection.multiangle import MOST, MultiAngle
from symgen.inspection.reading import (
    CLOSED_AT_MOST,
    CLOSED_UP_TO,
    NEIGHBOUR_NOTE,
    FormulaOptions,
    Reading,
    Recursive,
    _canonical,
    _check_letters,
    _count,
    _needed_imports,
    _numbering,
    answer_of_stand_in,
    entry_of,
    read,
    render,
)
from symgen.inspection.sweeps import Loops
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import RequestError, SymgenError, UnknownName
from symgen.vocabulary.poses import Z_AXIS, Angle, Turn
from tests.shared.robots_for_tests import robot as robot_named

ARM = "planar_arm"
HALF_RADIAN = Angle(Fraction(1, 2))
c_1, q0, q1 = (sp.Symbol(name, real=True) for name in ("c_1", "q0", "q1"))


@cache
def twisted(angle: str) -> Mechanism:
    """Return two links, the second axis at an angle to the first."""
    robot = symgen.Robot("twisted", gravity=(0, 0, "-10"))
    rod: dict[str, Any] = {"type": "revolute", "axis": (0, 0, 1), "mass": 1, "centre": (1, 0, 0)}
    robot.body("link0", parent="base", inertia=(1, 0, 0, 1, 0, 1), **rod)
    robot.body(
        "link1", parent="link0", xyz=(1, 0, 0), rpy=(angle, 0, 0), inertia=(1, 0, 0, 1, 0, 2), **rod
    )
    return robot.build()


@cache
def hinge_on_a_ball() -> Mechanism:
    robot = symgen.Robot("hinge_on_a_ball", gravity=(0, 0, -10))
    body: dict[str, Any] = {"mass": 1, "centre": (1, 0, 0), "inertia": (1, 0, 0, 2, 0, 3)}
    robot.body("ball", parent="base", type="spherical", **body)
    robot.body("hinge", parent="ball", type="revolute", axis=(0, 0, 1), xyz=(1, 0, 0), **body)
    return robot.build()


# -- the form --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "form", "kind"),
    [
        ("M[0,0]", None, sp.Expr),
        ("M", None, sp.MatrixBase),
        ("M[0,0]", "multiangle", MultiAngle),
        ("M", "multiangle", Canonical),
        ("tau[0]", None, sp.Expr),
        ("Minv", None, Canonical),
        ("det", None, Canonical),
        ("Minv[0,0]", "closed", sp.Expr),
        ("D[0]", None, Canonical),
        ("D[0]", "closed", sp.Expr),
        ("D[0]", "recursive", Recursive),
        ("g[0]", "recursive", Recursive),
    ],
)
def test_the_form_of_a_formula_is_the_requested_one_or_that_of_its_letter(
    what: str, form: str | None, kind: type
) -> None:
    reading = read(load(ARM), what, None, FormulaOptions(form))
    assert isinstance(reading.value, kind)
    if form in (None, "multiangle") and what[0] == "M":
        assert reading.notes == ()


def test_an_unknown_form_suggests_the_nearest() -> None:
    with pytest.raises(RequestError, match="closed"):
        FormulaOptions("closd")


@pytest.mark.parametrize("what", ["D[0]", "M[0,0]", "det"])
def test_numbers_in_place_of_inputs_have_a_closed_form_only(what: str) -> None:
    """D[0] = det = 31/24 − 3/8 cos 2q1 times 1/12, and M[0,0] = 7/4 + cos(q1)/2, at q1 = π/2."""
    arm = load(ARM)
    at = parse_values(arm, "q1=pi/2")
    expected = {"D[0]": sp.Rational(5, 3), "M[0,0]": sp.Rational(7, 4), "det": sp.Rational(5, 36)}
    printed = {"D[0]": "5/3", "M[0,0]": "1.75", "det": "5/36"}
    assert read(arm, what, None, FormulaOptions(at=at)).value == expected[what]
    assert render(arm, what, options=FormulaOptions(at=at))[0] == printed[what]
    with pytest.raises(RequestError, match="holds for every pose, so --at does not apply"):
        read(arm, what, None, FormulaOptions("multiangle", at=at))


def long_form() -> MultiAngle:
    """Return a sum of five cosines more than are shown by default."""
    return MultiAngle.of({(((n,), False), ()): Fraction(1) for n in range(MOST + 5)})


def test_each_kind_of_value_is_written_in_a_format() -> None:
    assert Reading(q0 / 2, ()).written("latex") == "0.5 q_{0}"
    assert Reading(sp.Matrix([[1, q0]]), ()).written("python") == "[[1, q0]]"
    named = Recursive("M", ((c_1, sp.cos(q1)),), 2 * c_1)
    assert Reading(named, ()).written("c").endswith("c_1 = cos(q1);\nconst double M = 2.0*c_1;")
    for value in (long_form(), Canonical("D", (), (long_form(),))):
        assert "5 more terms" in Reading(value, ()).written("text")
        assert "more terms" not in Reading(value, ()).written("text", full=True)


def operations_of(what: str) -> int:
    """Return the number of operations of a closed form of the arm, as the note states it."""
    note = read(load(ARM), what, None, FormulaOptions(closed_up_to=1)).notes[0]
    match = re.fullmatch(
        r".* has (\d+) operations in closed form, so named equations are shown; --form closed"
        r" prints one formula",
        note,
    )
    assert match is not None
    return int(match[1])


def test_a_closed_form_is_shown_up_to_a_number_of_operations() -> None:
    arm, size = load(ARM), operations_of("M[0,0]")
    assert 4 < size < CLOSED_UP_TO  # a cosine, a product and a sum, each with its operands
    closed, named = (
        read(arm, "M[0,0]", None, FormulaOptions(closed_up_to=n)) for n in (size, size - 1)
    )
    assert closed.value == sp.cos(q1) / 2 + sp.Rational(7, 4)
    assert closed.notes == ()
    assert isinstance(named.value, Recursive)
    requested = read(arm, "M[0,0]", None, FormulaOptions("closed", closed_up_to=1))
    assert requested.value == closed.value
    recursive = read(arm, "M[0,0]", None, FormulaOptions("recursive", closed_up_to=1))
    assert not any("operations" in note for note in recursive.notes)


def test_a_closed_form_that_is_too_long_to_read_is_neither_written_nor_recommended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arm, size, closed = load(ARM), operations_of("M[0,0]"), FormulaOptions("closed")
    monkeypatch.setattr(reading_module, "CLOSED_AT_MOST", size)
    assert read(arm, "M[0,0]", None, closed).value.has(sp.cos)
    assert operations_of("M[0,0]") == size
    monkeypatch.setattr(reading_module, "CLOSED_AT_MOST", size - 1)
    with pytest.raises(RequestError, match=rf"of M\[0,0\] has {size} operations, too many to read"):
        read(arm, "M[0,0]", None, closed)
    by_size = read(arm, "M[0,0]", None, FormulaOptions(closed_up_to=1))
    assert by_size.notes[0].endswith("named equations are shown")
    assert isinstance(read(arm, "M[0,0]", None, FormulaOptions("recursive")).value, Recursive)


def test_the_limits_of_closed_forms_are_a_page_and_a_book() -> None:
    """A page holds about a hundred operations."""
    assert 100 < CLOSED_UP_TO < 10 * 100
    assert 1000 * 100 <= CLOSED_AT_MOST <= 10**6


def test_a_canonical_form_takes_more_products_if_it_is_requested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a division, and without one as of B of Saha."""
    for limit, products in (("QUICK", 3), ("PATIENT", 1), ("PATIENT_QUOTIENTS", 2)):
        monkeypatch.setattr(reading_module, limit, products)
    arm, multiangle = load(ARM), FormulaOptions("multiangle")
    for what, products in (("Minv", 2), ("Mtilde[0]", 1)):
        with pytest.raises(TooLong, match=f"takes more than {products} products"):
            read(arm, what, None, multiangle)
        shown = read(arm, what)
        assert not isinstance(shown.value, Canonical)
        assert "takes more than 3 products" in shown.notes[-1]


def test_a_search_over_chains_takes_short_forms_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polynomials in exp(i q), which take half as many products here as those in tan(q/2), are not
    tried.
    """
    robot = load("planar_point_mass:3")
    choice = choose(robot, "D[0]", "riccati")
    monkeypatch.setattr(reading_module, "QUICK", 200)
    form = "(5 - cos(2*q2) - 2*cos(2*q1))/(3 - cos(2*q2))"
    assert str(_canonical(robot, choice, FormulaOptions()).value) == form
    with pytest.raises(TooLong, match="takes more than 200 products"):
        _canonical(robot, choice, FormulaOptions(), is_search=True)


# -- irrational constants --------------------------------------------------------------------------


def test_letters_have_square_roots_and_results_without_a_division_have_decimals() -> None:
    """U[0,1] has a division, phi none; the twist is π/4."""
    robot = twisted("pi/4")
    assert render(robot, "U[0,1]", "udut")[0] == "0.5*sqrt(2) + 1/6*sqrt(2)*cos(q1)"
    assert render(robot, "phi[0,1][1,0]", "riccati")[0] == "0.5*sqrt(2)*sin(q1)"
    matrix = read(robot, "M", None, FormulaOptions("multiangle"))
    assert "sqrt" not in str(matrix.value)
    assert "0.7071067811" in str(matrix.value)
    inverse = read(robot, "Minv")
    assert "sqrt(2)" in str(inverse.value)
    assert NEIGHBOUR_NOTE not in inverse.notes


def test_a_note_explains_the_quotients_of_robots_with_decimal_angles() -> None:
    robot = twisted("0.5")
    assert NEIGHBOUR_NOTE in read(robot, "Minv").notes
    assert NEIGHBOUR_NOTE not in read(robot, "U[0,1]", "udut").notes
    turned = replace(load(ARM).frames[-1], name="turned", pose=(Turn(Z_AXIS, HALF_RADIAN),))
    with_frame = replace(load(ARM), frames=(*load(ARM).frames, turned))
    for arm in (load(ARM), with_frame):  # no constant of the links has the angle of a frame
        assert NEIGHBOUR_NOTE not in read(arm, "Minv").notes


def test_a_letter_without_a_form_is_shown_in_rows_with_the_reason() -> None:
    reading = read(twisted("pi/5"), "Minv")
    assert isinstance(reading.value, sp.MatrixBase)
    assert "not sums of square roots of integers" in reading.notes[-1]
    with pytest.raises(TooLong, match="not sums of square roots of integers"):
        read(twisted("pi/5"), "Minv", None, FormulaOptions("multiangle"))


# -- inputs and coordinates ------------------------------------------------------------------------


def test_inputs_and_parameters_have_their_symbols_in_canonical_forms() -> None:
    """Velocities count like q; a kept mass and inertia are named and explained."""
    bias = read(load(ARM), "c", None, FormulaOptions("multiangle"))
    assert str(bias.value.entries[1]) == "0.25*v0**2*sin(q1) + 2.4525*cos(q0 + q1)"
    kept = read(load(ARM), "D[1]", "udut", FormulaOptions(keep=("m", "I")))
    assert str(kept.value) == "I_1_zz + 0.0625*m_1"
    entry = read(load(ARM), "M[1,1]", None, FormulaOptions("multiangle", keep=("m",)))
    assert entry.value.symbols() == ("m_1",)
    assert any("m_i" in note for note in entry.notes)


def test_coordinates_of_a_ball_joint_are_named_in_notes() -> None:
    """The entries are canonical forms, not multi-angle forms, and count by velocities."""
    robot = hinge_on_a_ball()
    text, notes = render(robot, "M[0,0]")
    assert text == "3 - cos(2*q4)"
    assert notes == ("coordinates count from 0: q4 is hinge_joint",)
    assert isinstance(read(robot, "M[0,0]", None, FormulaOptions("multiangle")).value, Canonical)
    equations = read(robot, "M[0,0]", None, FormulaOptions("recursive"))
    assert "names in equations count links, velocities, rows and columns" in equations.notes[-1]
    assert equations.notes[0] == notes[0]
    closed = read(robot, "M[0,0]")
    assert closed.notes == notes


# -- loops over links ------------------------------------------------------------------------------


def test_a_result_of_too_many_joints_is_shown_as_loops_and_an_entry_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    robot = load("planar_point_mass:3")
    monkeypatch.setattr(import_module("symgen.derivation.model.reframe"), "MOST_JOINTS", 2)
    forces = read(robot, "tau")
    assert isinstance(forces.value, Loops)
    assert forces.notes[-1].startswith("shown as loops over links, because the unrolled form is")
    with pytest.raises(SymgenError, match="rows for at most 2"):
        read(robot, "tau[0]")


def test_loops_of_a_letter_are_those_of_the_result_with_its_name_unless_a_method_is_named() -> None:
    looped = FormulaOptions("looped")
    energy = read(load(ARM), "T", None, looped)
    assert energy.notes[0].startswith("kinetic_energy by newton_euler, for each of the 2 links")
    with pytest.raises(RequestError, match="T is a quantity of udut; name a result"):
        read(load(ARM), "T", "udut", looped)
    with pytest.raises(RequestError, match="P is a quantity of riccati; name a result"):
        read(load(ARM), "P", None, looped)


# -- all links of a chain --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        FormulaOptions(at={("q", 0): Angle()}),
        FormulaOptions(keep=("m",)),
        FormulaOptions(frame="m0"),
    ],
)
def test_requests_for_all_links_take_no_numbers_symbols_or_frames(options: FormulaOptions) -> None:
    with pytest.raises(RequestError, match="leave --at, --symbols and --frame out, or write num"):
        read(load("planar_point_mass:3"), "M[i,j]", None, options)


@pytest.mark.parametrize("form", ["closed", "looped"])
def test_requests_for_all_links_have_formulas_or_steps_only(form: str) -> None:
    with pytest.raises(RequestError, match="leave --form out or take --form recursive"):
        read(load("planar_point_mass:3"), "M[i,j]", None, FormulaOptions(form))


PROVED = "; proved for every n ≥ 2 from "


@pytest.mark.parametrize(
    ("what", "method", "text", "evidence"),
    [
        ("p_links[i,1]", None, "p_links[i,1] = sum(k=0..i-1: sin(q[0:k]))", PROVED),
        (
            "H_L_theta[i,i]",
            None,
            "H_L_theta[i,i] = 0    for i = 0\nH_L_theta[i,i] = sin(q[i])    for i > 0",
            PROVED + "the derivatives of lengths and angles",
        ),
        ("p[i][0,0]", "udut", "p[i][0,0] = 0", "which is no proof"),
        ("p[i][2,0]", "udut", "p[i][2,0] = 1", "which is no proof"),
        ("H[i]", "riccati", "H[i] = [0  0  1  0  0  0]", "which is no proof"),
    ],
)
def test_formulas_of_all_links_are_letters_results_or_operators_of_papers(
    what: str, method: str | None, text: str, evidence: str
) -> None:
    robot = load("planar_point_mass:3")
    reading = read(robot, what, method)
    assert str(reading.value) == text
    assert reading.notes[0].startswith(
        "for a chain of n links like those of 'planar_point_mass', counted from 0; found for n = 5"
    )
    assert evidence in reading.notes[0]
    assert len(reading.notes) == 2
    assert render(robot, what, method) == (text, reading.notes)
    assert read(robot, what, method, FormulaOptions("multiangle")) == reading


def test_a_tridiagonal_letter_has_a_continuant_for_determinant() -> None:
    reading = read(load("planar_point_mass:3"), "H_L_L[i,j]")
    assert "H_L_L[i,j] = -cos(q[i+1])    for j = i+1" in str(reading.value)
    assert reading.notes[2] == (
        "H_L_L is tridiagonal, so its determinant is the continuant D[n]: D[-1] = 0, D[0] = 1,"
        " D[k+1] = H_L_L[k,k]*D[k] - H_L_L[k-1,k]*H_L_L[k,k-1]*D[k-1]"
    )


def test_blocks_that_do_not_exist_are_none_of_the_formulas() -> None:
    """B_ij takes a twist outward, from link j to link i; an index may be outside a block, too."""
    robot = load("planar_point_mass:3")
    reading = read(robot, "B[i,j]", "udut")
    assert str(reading.value).startswith("B[i,j] does not exist    for i < j")
    with pytest.raises(UnknownName, match="outside"):
        read(robot, "p_links[i,3]")


def test_results_of_closed_loops_have_no_stand_ins() -> None:
    """Letters of the loops have none either; Minv is a result of the tree."""
    linkage = robot_named("bennett")
    for what in ("M", "A_loops"):
        with pytest.raises(
            TooLong, match=f"{what} has no canonical form: .* constants of the clos"
        ):
            answer_of_stand_in(linkage, choose(linkage, what), linkage)


# -- notes -----------------------------------------------------------------------------------------


def test_a_count_of_more_than_fifteen_digits_is_rounded() -> None:
    assert _count(10**15 - 1) == "9" * 15
    assert _count(10**15) == "1.0e+15"
    assert _count(87 * 10**189) == "8.7e+190"


def test_a_note_relates_the_numbers_of_names_to_those_of_the_c() -> None:
    """The example is a name with many indices, and none that the C holds with the other sign."""
    symbols = [sp.Symbol(name) for name in ("c_1", "P_0_1_2", "Q_0_1_2_3", "t0")]
    formulas = Equations(
        tuple((symbol, q0) for symbol in symbols), (q0,), ("c_2", "P_1_23", "neg_Q_1_234", "")
    )
    assert _numbering(formulas, "; end", False) == [
        "parts that several equations share, without a letter: t0",
        "names in equations count links, rows and columns from 0, as in q0; the C counts them from"
        " 1, and calls P_0_1_2 P_1_23; end",
    ]
    without = Equations(((symbols[3], q0),), (q0,), ("",))
    assert len(_numbering(without, "", False)) == 1
    assert _numbering(Equations((), (q0,)), "", False) == []
    named = Equations(((symbols[0], q0),), (q0,), ("c_2",))
    (note,) = _numbering(named, "", True)
    assert "links, velocities, rows and columns" in note


def test_a_formula_in_code_names_what_it_takes_from_the_library() -> None:
    named = Recursive("M", (), q0)
    assert _needed_imports(q0, "cos(q0)", "c") == ["this takes: #include <math.h>"]
    assert _needed_imports(named, "cos(q0)", "c") == ["this takes: #include <math.h>"]
    assert _needed_imports(q0, "cos(q0)", "python") == ["this takes: from math import cos"]
    for value, text, format in (
        (named, "cos(q0)", "python"),
        (q0, "cos(q0)", "text"),
        (q0, "cos(q0)", "latex"),
        (q0, "q0 + 1", "c"),
    ):
        assert _needed_imports(value, text, format) == []


def test_letters_stand_for_indices_that_count_links_only() -> None:
    arm = load(ARM)
    letter, number = Affine("i", 0), Affine("", 0)
    _check_letters(choose(arm, "J[0,1]"), [number, letter])
    _check_letters(choose(arm, "M[0,1]"), [letter, letter])
    _check_letters(choose(arm, "D[0]"), [letter])
    with pytest.raises(RequestError, match="index 'i' of J counts 6 rows or columns"):
        _check_letters(choose(arm, "J[0,1]"), [letter, letter])


@pytest.mark.parametrize(
    ("what", "is_entry"),
    [
        ("M[0,1]", True),
        ("tau[0]", True),
        ("M", False),
        ("Minv[0,0]", False),
        ("D[0]", False),
        ("P[0][0,0]", False),
    ],
)
def test_an_entry_is_one_number_of_a_result_with_a_multi_angle_form(
    what: str, is_entry: bool
) -> None:
    assert entry_of(choose(load(ARM), what)) == is_entry


# -- what is printed -------------------------------------------------------------------------------


def test_an_entry_is_printed_in_multi_angle_form_unless_another_one_is_named() -> None:
    arm = load(ARM)
    wave = "1.75 + 0.5*cos(q1)"
    assert render(arm, "M[0,0]") == (wave, ())
    closed = "0.5*cos(q1) + 1.75"
    assert render(arm, "M[0,0]", "newton_euler")[0] == closed
    assert render(arm, "M[0,0]", options=FormulaOptions("closed"))[0] == closed
    assert render(arm, "M[0,0]", "newton_euler", options=FormulaOptions("multiangle"))[0] == wave
    assert render(arm, "M[1,1]", options=FormulaOptions(keep=("m",)))[0] == "1/48 + 0.0625*m_1"
    assert not isinstance(read(arm, "tau[1]").value, MultiAngle)
    assert render(arm, "tau[1]")[0] == str(read(arm, "tau[1]").written("text"))


def test_long_forms_are_shortened_with_a_note_unless_all_terms_are_requested() -> None:
    with pytest.warns(symgen.SymgenWarning, match="no mass"):
        robot = load("puma560")
    text, notes = render(robot, "M[0,0]")
    assert "more terms" in text
    assert notes == (
        f"the {MOST} largest terms of the multi-angle form are shown; --full prints all terms,"
        " --form recursive the equations of the C",
    )
    text, notes = render(robot, "M[0,0]", full=True)
    assert "more terms" not in text
    assert notes == ()
    assert render(robot, "M[4,4]")[1] == ()


def test_an_entry_with_too_many_terms_is_printed_as_named_equations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harmonics = import_module("symgen.inspection.harmonics")
    monkeypatch.setattr(harmonics, "MOST_TERMS", 1)
    text, notes = render(load(ARM), "M[0,0]")
    assert text.endswith("M[0,0] = 0.5*c_1 + 1.75")
    assert "M[0,0]" in notes[-1]
    assert len(notes) == 2
