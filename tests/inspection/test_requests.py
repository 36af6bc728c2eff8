"""Requests of `inspect`: list of quantities, poses, choice of the form, notes, lines of C and
pictures.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgen
from symgen import methods
from symgen.cli import main
from symgen.description.tip import tip
from symgen.emission.backends import c99
from symgen.inspection.at import parse_values
from symgen.inspection.catalogue import methods_with_quantities, results
from symgen.inspection.multiangle import MOST
from symgen.inspection.parameters import parameters
from symgen.inspection.pattern import MOVES, NUMBER, ZERO, Pattern, pattern
from symgen.inspection.reading import CLOSED_UP_TO, read
from symgen.inspection.where import COUNTS, where
from symgen.pages.pictures.pattern import EDGE
from symgen.pages.pictures.pattern import _draw as draw
from symgen.pipeline.derive import models
from symgen.reference.mechanics import Reference
from symgen.support.errors import ArgumentError, RequestError, SymgenError, SymgenWarning
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import Angle
from tests.shared.robots_for_tests import point_mass_arm, reference_results, robot

q0, q1, q2 = sp.symbols("q0 q1 q2", real=True)


def run_inspect(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run `symgen inspect`; return exit code, output and notes.

    The notes leave out the warning of puma560, whose first link has moments of inertia but no mass.
    """
    code = main(["inspect", *words])
    out = capsys.readouterr()
    return (
        code,
        out.out,
        "".join(
            line
            for line in out.err.splitlines(True)
            if "has moments of inertia but no mass" not in line
        ),
    )


# -- the list --------------------------------------------------------------------------------------


def test_without_a_quantity_all_quantities_are_listed_by_method(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run_inspect(capsys, "panda")
    assert (code, err) == (0, "")
    for method in methods_with_quantities():
        section = out.split(f"\n{method}: ")[1]
        for letter, quantity in methods.find(method).quantities.items():
            assert re.search(
                rf"^  ({letter}(\[| )|.*\b{letter}\b.*not available: )", section, re.MULTILINE
            ), letter
            assert (
                "(" in quantity.what or "lower" in quantity.what or method == "constraint_force"
            ), letter  # an equation number
    for quantity in results().values():
        assert f"  {quantity.heading} " in out


def test_an_unavailable_quantity_is_listed_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = run_inspect(capsys, "planar_point_mass")
    assert "  H_theta_theta[i,j] " in out
    assert re.search(
        r"I_inv, W, .*not available: constraint_force divides by the inertia of every link", out
    )


# -- poses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("q1=0,q2=pi/2", {("q", 1): Angle(), ("q", 2): Angle(pi=Fraction(1, 2))}),
        (" q0 = -3*pi/4 ", {("q", 0): Angle(pi=Fraction(-3, 4))}),
        ("q0=90 deg,v1=0.5", {("q", 0): Angle(pi=Fraction(1, 2)), ("v", 1): Angle(Fraction(1, 2))}),
        ("a2=-1e-3", {("a", 2): Angle(Fraction(-1, 1000))}),
    ],
)
def test_a_pose_is_read_exactly(text: str, expected: dict[Any, Any]) -> None:
    assert parse_values(robot("puma560"), text) == expected


def test_a_pose_takes_joint_names_and_lengths_of_prismatic_joints() -> None:
    assert parse_values(robot("panda"), "panda_joint4=pi/2") == {("q", 3): Angle(pi=Fraction(1, 2))}
    assert parse_values(robot("scara"), "q2=1/8") == {("q", 2): Angle(Fraction(1, 8))}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("elbow=1", "no joint is named 'elbow'"),
        ("q6=1", "'q6' is outside this robot's joints; they count from 0 to 5"),
        ("q0", "'q0' is not an assignment; write --at q0=pi/2"),
        ("q0=", "'q0=' is not an assignment"),
        ("q0=1,q0=2", "'q0' is given two values"),
        ("q0=__import__('os')", "is not an angle"),
        ("q0=1e999999", "the exponent of"),
    ],
)
def test_a_wrong_pose_is_refused_in_one_line(text: str, sentence: str) -> None:
    with pytest.raises(SymgenError, match=re.escape(sentence)) as refused:
        parse_values(robot("puma560"), text)
    assert "\n" not in str(refused.value)


def test_values_are_exact_at_multiples_of_a_quarter_turn() -> None:
    assert symgen.inspect("planar_arm", "M", at={"q1": "pi/2"}) == sp.Matrix(
        [[sp.Rational(7, 4), sp.Rational(1, 12)], [sp.Rational(1, 12), sp.Rational(1, 12)]]
    )
    assert symgen.inspect("planar_arm", "g[0]", at={"q0": 0, "q1": "pi"}) == sp.Rational(
        981, 100
    ) * sp.Rational(7, 4)
    whole = symgen.inspect("puma560", "M", at={f"q{i}": f"{i}*pi/2" for i in range(6)})
    assert all(x.is_Rational for x in whole)


@pytest.mark.parametrize("what", ["M[0,1]", "P[1][0,4]", "alpha[0,2]"])
def test_a_pose_substitutes_its_values(what: str) -> None:
    values = {"q0": "0.3", "q1": "pi/3", "q2": "0.125", "q3": "-1"}
    exact = {
        sp.Symbol(x, real=True): sp.pi / 3 if y == "pi/3" else sp.Rational(y)
        for x, y in values.items()
    }
    number = symgen.inspect("scara", what, at=values)
    assert number.is_number
    assert abs(float(number - symgen.inspect("scara", what).subs(exact).evalf(30))) < 1e-15


def test_a_partial_pose_leaves_the_other_coordinates_symbolic() -> None:
    assert (
        symgen.inspect("planar_point_mass", "H_theta_theta[1,2]", at={"q1": 0}) == -sp.cos(q2) - 3
    )


# -- the form --------------------------------------------------------------------------------------


def test_a_long_closed_form_is_replaced_by_named_equations_with_a_note(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run_inspect(capsys, "planar_arm", "D[0]")
    assert (code, "=" in out) == (0, False)
    code, out, err = run_inspect(capsys, "puma560", "tau[0]")
    assert code == 0
    assert re.match(
        r"symgen: note: tau\[0\] has \d+ operations in closed form, so named equations are shown; "
        r"--form closed prints one formula\n",
        err,
    )
    assert int(re.findall(r"\d+", err)[1]) > CLOSED_UP_TO
    assert out.splitlines()[-1].startswith("tau[0] = ")


def test_an_entry_of_the_mass_matrix_prints_as_its_multi_angle_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_inspect(capsys, "planar_arm", "M[0,0]") == (0, "1.75 + 0.5*cos(q1)\n", "")
    code, out, err = run_inspect(capsys, "puma560", "M[0,0]")
    assert code == 0
    assert re.search(r"\n  \+ … \d+ more terms \(\d+ harmonics in \d+ cosines and sines\)\n$", out)
    assert len(out.splitlines()) == MOST + 1
    assert "--full prints all" in err
    _, whole, err = run_inspect(capsys, "puma560", "M[0,0]", "--full")
    assert len(whole) > 2 * len(out)
    assert err == ""
    _, explicit, _ = run_inspect(capsys, "puma560", "M[0,0]", "--form", "multiangle")
    assert explicit == out


@pytest.mark.slow
def test_an_entry_with_too_many_harmonics_prints_as_named_equations(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    description = tmp_path / "long.toml"
    rows = "".join(
        f"[[row]]\nalpha = 0.{i}1\na = 0.3\nd = 0.1\nmass = 1\ncentre = [0.1, 0.2, 0.3]\n"
        for i in range(1, 13)
    )
    description.write_text(f'name = "long"\nconvention = "dh"\n{rows}', encoding="utf-8")
    code, out, err = run_inspect(capsys, str(description), "M[0,0]")
    assert code == 0
    assert out.splitlines()[-1].startswith("M[0,0] = ")
    assert "--form recursive" in err
    code, _, err = run_inspect(capsys, str(description), "M[0,0]", "--form", "multiangle")
    assert code == 2
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("logdet", "--form", "multiangle"), "has no canonical form: its equations contain a log"),
        (("P", "--form", "multiangle", "--at", "q1=0"), "--at does not apply"),
        (("M[0,0]", "--form", "multiangle", "--at", "q1=0"), "--at does not apply"),
        (("M[0,0]", "--symbols", "x"), "not a kind of parameter"),
        (("P[1]", "--structure"), "P[1]"),
    ],
)
def test_an_impossible_form_is_refused_in_one_line(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_inspect(capsys, "planar_arm", *words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_symbols_remain_in_results_and_in_letters(capsys: pytest.CaptureFixture[str]) -> None:
    """Substituting declared values for the symbols gives the numeric result."""
    code, out, err = run_inspect(capsys, "planar_arm", "M[0,0]", "--symbols", "all")
    assert code == 0
    assert out == (
        "I_0_zz + I_1_zz + c_0_x**2*m_0 + c_1_x**2*m_1 + l_1_x**2*m_1 + 2*c_1_x*l_1_x*m_1*cos(q1)\n"
    )
    assert "m_i its mass (kg)" in err
    arm = symgen.load("planar_arm")
    for what in ("M[1,1]", "P[1][2,2]", "U[0,1]", "mhat[0]"):
        kept = symgen.inspect(arm, what, symbols="all")
        declared = {
            sp.Symbol(p.symbol, real=True): sp.Rational(p.value.numerator, p.value.denominator)
            for p in parameters(models(arm)[0], "all")
        }
        assert {str(s) for s in kept.free_symbols} & {str(s) for s in declared}
        difference = kept.subs(declared) - symgen.inspect(arm, what)
        assert all(
            abs(difference.subs(sp.Symbol("q1", real=True), x)) < 1e-30
            for x in (sp.Rational(1, 3), 2)
        )


def test_the_structure_of_a_matrix_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run_inspect(capsys, "scara", "M", "--structure")
    assert (code, err) == (0, "")
    assert "8 base parameters" in out
    assert "M[0,1]  1\n" in out


def test_the_form_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    _, recursive, err = run_inspect(capsys, "planar_arm", "M[0,0]", "--form", "recursive")
    assert recursive == (
        "# joint angles: sines and cosines\nc_1 = cos(q1)\nM[0,0] = 0.5*c_1 + 1.75\n"
    )
    assert err == (
        "symgen: note: names in equations count links, rows and columns from 0, as in q0;"
        " the C counts them from 1, and calls c_1 c_2;"
        " they are in the frames that 'symgen show' lists\n"
    )
    _, closed, err = run_inspect(capsys, "puma560", "M[1,2]", "--form", "closed")
    assert "=" not in closed
    assert err == ""


def test_a_recursive_block_lists_equations_down_to_the_inputs() -> None:
    block = symgen.inspect("puma560", "P[2]", form="recursive")
    symbols = set(sp.symbols("q0:6", real=True))
    for name, expression in block.named:
        assert expression.free_symbols <= symbols
        symbols.add(name)
    assert any(
        re.fullmatch(r"P[BC]?_3_\d_\d", str(name)) for name in symbols
    )  # computed from blocks of the next links
    assert block.value.shape == (6, 6)
    assert block._repr_latex_().startswith("$\\displaystyle")
    assert r"\begin{aligned}" in block._repr_latex_()
    assert hasattr(symgen.inspect("scara", "M[0,1]"), "_repr_latex_")


def test_a_closed_form_too_long_to_read_is_refused_if_it_is_requested() -> None:
    with pytest.raises(
        RequestError,
        match=r"the closed form of Minv\[6,6\] has \d+ operations, too many to read",
    ):
        symgen.inspect("panda", "Minv[6,6]", form="closed")


def test_python_returns_named_equations_for_closed_forms_too_long_to_read() -> None:
    """The command line shows the same equations."""
    with pytest.warns(SymgenWarning, match=r"9375850293 operations.*named equations are shown$"):
        block = symgen.inspect("panda", "P[0]", "riccati")
    assert str(block) == str(symgen.inspect("panda", "P[0]", "riccati", form="recursive"))


@pytest.mark.parametrize("name", ["left, upper", "a[0]", 'the "big", one'])
def test_a_joint_with_a_comma_or_a_bracket_in_its_name_is_named_in_double_quotes(name: str) -> None:
    arm = symgen.load("planar_arm")
    first, second = arm.joints
    arm = replace(arm, joints=(replace(first, name=name), second))
    quoted = '"' + name.replace('"', '""') + '"'
    assert symgen.inspect(arm, f"M[{quoted},1]") == symgen.inspect(arm, "M[0,1]")
    assert symgen.inspect(arm, f"M[1,{quoted}]") == symgen.inspect(arm, "M[1,0]")
    with pytest.raises(ArgumentError, match="3 indices"):
        symgen.inspect(arm, f"M[{quoted},{quoted},1]")


@pytest.mark.parametrize("what", ["M[0,\n1]", "M[ 0 , 1 ]", 'M["0","1" ]', 'M[0, "1"]'])
def test_space_around_indices_has_no_meaning(what: str) -> None:
    assert symgen.inspect("planar_arm", what) == symgen.inspect("planar_arm", "M[0,1]")


@pytest.mark.parametrize(
    "index", ["1" * 200_000, f'"{"a" * 200_000}"', '"' * 9999, '""', "\0", "0,", ",", '"a"b', '"a']
)
def test_indices_that_name_nothing_are_refused(index: str) -> None:
    with pytest.raises(SymgenError):
        symgen.inspect("planar_arm", f"M[{index},1]")


def test_a_count_of_many_digits_is_rounded_in_the_warning() -> None:
    with pytest.warns(SymgenWarning, match=r"tau has \d\.\de\+\d+ operations in closed form"):
        symgen.inspect("planar_point_mass:60", "tau")


# -- whose letter, whose axes ----------------------------------------------------------------------


def test_a_letter_of_several_methods_names_the_method_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, err = run_inspect(capsys, "planar_arm", "D[1]")
    assert (out, err) == (
        "1/12\n",
        "symgen: note: D is that of riccati; to see another D, add --method udut\n",
    )
    _, again, err = run_inspect(capsys, "planar_arm", "D[1]", "--method", "udut")
    assert (again.strip(), err) == ("1/12", "")


MIMIC = """name = "mimic"
[[body]]
name = "a"
parent = "base"
mass = 1
inertia = [1, 0, 0, 1, 0, 1]
joint = {name = "ja", type = "revolute", axis = [0, 0, 1]}
[[body]]
name = "b"
parent = "a"
mass = 1
inertia = [1, 0, 0, 1, 0, 1]
joint = {name = "jb", type = "revolute", axis = [1, 0, 0], xyz = [0.3, 0, 0], \
mimic = {joint = "ja", multiplier = 2}}
"""


@pytest.mark.parametrize(
    "letter", sorted(letter for letter in results() if letter in methods.find("udut").quantities)
)
def test_an_unavailable_letter_is_refused_and_not_replaced_by_a_result(letter: str) -> None:
    """U of U D Uᵀ does not exist for coupled mimic joints; the potential energy U must not stand in
    for it.
    """
    coupled = symgen.load(MIMIC, mimic="couple")
    with pytest.raises(
        RequestError,
        match=rf"^{letter} of udut: .*; {letter} of \w+ is a different quantity; --method",
    ):
        symgen.inspect(coupled, letter)


def test_a_note_names_the_axes_of_a_block() -> None:
    (note,) = read(robot("panda"), "P[2]", "riccati").notes[:1]
    assert "in the axes of link 'panda_link3' as declared" in note
    axes = (
        "rows in the axes of link 'panda_link1', columns in the axes of link 'panda_link3' as"
        " declared"
    )
    assert any(axes in note for note in read(robot("panda"), "phi[0,2]").notes)
    assert any("mass centre" in n for n in read(robot("panda"), "p[1]", "udut").notes)


def test_a_note_explains_a_zero_block() -> None:
    reading = read(robot("panda"), "phi[4,2]")
    assert reading.value.sympy() == sp.zeros(6, 6)
    assert any(
        "phi[4,2] is zero: blocks [i,j] are not zero where link i carries link j" in note
        for note in reading.notes
    )


# -- the lines of C --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "method"),
    [
        ("M[1,2]", None),
        ("M", "newton_euler"),
        ("P[2]", "riccati"),
        ("D[3]", "riccati"),
        ("mhat[2]", "udut"),
        ("det", None),
        ("c[3]", None),
        ("omega[4]", "newton_euler"),
    ],
)
def test_where_prints_the_lines_of_the_generated_file(
    what: str, method: str | None, tmp_path: Path
) -> None:
    mechanism = robot("panda")
    text, _ = where(mechanism, what, method)
    places = [line for line in text.splitlines() if re.fullmatch(r"panda_\w+\.c:\d+(-\d+)?:", line)]
    assert places
    heading = re.fullmatch(r"panda_(\w+)\.c:(\d+)(?:-(\d+))?:", places[0])
    assert heading
    name, first, last = heading.groups()
    chosen = [f"{name}={method}"] if method else [name]
    symgen.generate(mechanism, tmp_path / "c", functions=chosen)
    lines = (tmp_path / "c" / f"panda_{name}.c").read_text().splitlines()
    after = text.splitlines()[1:]
    assert (
        lines[int(first) - 1 : int(last or first)] == after[: int(last or first) - int(first) + 1]
    )


def test_where_prints_the_store_and_the_local_of_an_entry() -> None:
    text, notes = where(robot("planar_arm"), "M[0,1]")  # M[2] is the same number
    assert text == (
        "planar_arm_mass_matrix.c:27:\n    const double M_2_1 = 0.08333333333333333 + t1;\n"
        "planar_arm_mass_matrix.c:30-31:\n    M[1] = M_2_1;\n    M[2] = M_2_1;"
    )
    assert notes == (COUNTS,)


def test_where_counts_entries_that_the_passes_merged() -> None:
    _, notes = where(robot("panda"), "P[2]")
    assert any(
        re.fullmatch(r"\d+ of the 21 entries of P\[2\] have no line of their own: .*", note)
        for note in notes
    )
    with pytest.raises(
        RequestError, match=r"no line of the C by riccati computes H\[0\] alone: it is constant"
    ):
        where(robot("panda"), "H[0]")
    assert c99.Target("panda", Sizes(7, 7, 7)).c_file("mass_matrix") == "panda_mass_matrix.c"


def test_where_passes_over_functions_that_the_robot_lacks() -> None:
    """The operational inertia of a closed chain is refused, and it is not what was asked for."""
    with pytest.raises(
        RequestError, match=r"no line of the C by \w+ computes S_loops\[0,0\] alone"
    ):
        where(robot("four_bar"), "S_loops[0,0]")


# -- the picture -----------------------------------------------------------------------------------


def test_a_picture_distinguishes_zero_constant_and_variable_entries() -> None:
    arm_pattern = pattern(robot("planar_arm"), "U")
    assert (arm_pattern.label, arm_pattern.kinds) == ("U", ((NUMBER, MOVES), (ZERO, NUMBER)))
    kinds = pattern(robot("planar_point_mass"), "H_L_L").kinds
    assert [[bool(kind) for kind in row] for row in kinds] == [
        [abs(i - j) < 2 for j in range(6)] for i in range(6)
    ]
    with pytest.raises(RequestError, match=r"M\[0,0\] is a single number, which cannot be drawn"):
        pattern(robot("scara"), "M[0,0]")


@pytest.mark.parametrize(("name", "letter"), [("tree5", "M"), ("panda", "J"), ("scara", "c")])
def test_magnitudes_in_a_picture_equal_the_reference_and_zeros_hold_at_every_state(
    name: str, letter: str
) -> None:
    """Panda's last axis passes through the flange, so only round-off moves the flange's origin."""
    mechanism = robot(name)
    function, drawn = (
        {"M": "mass_matrix", "J": "jacobian", "c": "bias_force"}[letter],
        pattern(mechanism, letter),
    )
    values = {entry: float(x.radians) for entry, x in parse_values(mechanism, drawn.pose).items()}
    at = {
        stem: np.array([[values.get((stem, i), 0.0) for i in range(mechanism.nv)]])
        for stem in "qva"
    }
    from_reference = Reference(mechanism, frame=tip(mechanism))
    arguments = {a.name: at[a.name] for a in FUNCTIONS[function].arguments}
    expected = from_reference.evaluate(function, arguments)[letter][0].reshape(len(drawn.kinds), -1)
    assert np.array(drawn.values) == pytest.approx(expected, abs=1e-13)
    samples = reference_results(name, function, 4)[letter].reshape(4, *expected.shape)
    spread, largest = np.ptp(samples, axis=0), np.abs(samples).max(axis=0)
    kinds = np.array(drawn.kinds)
    assert ((largest < 1e-13) == (kinds == ZERO)).all()
    assert ((spread > 1e-13) == (kinds == MOVES)).all()
    if name == "panda":
        assert (kinds[3:, 6] == ZERO).all()


def test_rows_and_columns_of_a_picture_are_named_by_their_joints() -> None:
    joints = tuple(joint.name for joint in robot("panda").joints)
    assert pattern(robot("panda"), "M").columns == tuple((name, 1) for name in joints)
    jacobian = pattern(robot("panda"), "J")
    assert [name for name, _ in jacobian.rows] == [
        "angular x",
        "angular y",
        "angular z",
        "linear x",
        "linear y",
        "linear z",
    ]
    assert jacobian.columns == tuple((name, 1) for name in joints)
    assert pattern(robot("scara"), "P").rows == tuple(
        (joint.name, 6) for joint in robot("scara").joints
    )
    assert pattern(robot("scara"), "L").columns == tuple(
        (joint.name, 1) for joint in robot("scara").joints
    )
    assert pattern(robot("scara"), "g").columns == (("", 1),)


def test_a_picture_shows_the_requested_pose(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arm = robot("planar_arm")
    drawn = pattern(arm, "M", at=parse_values(arm, "joint2=pi/2"))
    assert (drawn.pose, drawn.chosen) == ("q1=pi/2", True)
    assert drawn.values[0] == pytest.approx((1.75, 1 / 12), abs=1e-16)
    assert pattern(arm, "g", at=parse_values(arm, "q0=pi/2,q1=0")).values == (
        (0.0,),
        (0.0,),
    )  # exactly
    stretched = point_mass_arm(0, 1)  # zero inertia about joint 0 when the arm is stretched
    for pose in ("q1=0", "q1=pi"):
        with pytest.raises(
            RequestError, match="has an entry without a value at this pose: it divides by zero"
        ):
            pattern(stretched, "Minv", "composite_body", at=parse_values(stretched, pose))
    pytest.importorskip("matplotlib")
    code, out, err = run_inspect(capsys, "planar_arm", "M", "--plot", str(tmp_path / "m.svg"))
    assert (code, out) == (0, "")
    assert re.fullmatch(
        r"symgen: note: magnitudes at q1=-?\d+(\.\d+)?; --at chooses another pose\n", err
    )
    assert run_inspect(
        capsys, "planar_arm", "M", "--plot", str(tmp_path / "n.svg"), "--at", "q1=0.5"
    ) == (
        0,
        "",
        "",
    )
    assert "at q1=0.5 (SI units)" in (tmp_path / "n.svg").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_picture_is_reproducible(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    files = [tmp_path / f"{n}.{ending}" for n in "ab"]
    for file in files:
        assert run_inspect(capsys, "scara", "P" if ending == "svg" else "g", "--plot", str(file))[
            :2
        ] == (
            0,
            "",
        )
    assert files[0].read_bytes() == files[1].read_bytes()
    if ending == "svg":
        text = files[0].read_text()
        for words in (
            "P of scara",
            "zero at every pose",
            "the same at every pose",
            *(j.name for j in robot("scara").joints),
        ):
            assert words in text


@pytest.mark.parametrize("what", ["M", "P", "g"])
def test_names_in_a_picture_are_neither_cut_nor_typeset_as_formulas(what: str) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    names = (
        "$q_1$ and $",
        "a joint of which the name is far longer than anybody's picture is wide",
        "a<b>&\\",
        "{x}^2_0",
    )
    chain = robot("square_chain4")
    odd = replace(
        chain,
        name="$x$",
        joints=tuple(replace(j, name=name) for j, name in zip(chain.joints, names, strict=True)),
    )
    figure = draw(figures.Figure, odd.name, pattern(odd, what))
    figure.draw_without_rendering()
    texts = [
        text
        for text in figure.findobj(match=lambda artist: hasattr(artist, "get_text"))
        if text.get_text()
    ]
    assert set(names) <= {text.get_text() for text in texts}
    for text in texts:
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= 0, text
        assert box.x1 <= figure.bbox.x1, text
        assert box.y1 <= figure.bbox.y1, text
    names_of_columns = [label for label in figure.axes[0].get_xticklabels() if label.get_text()]
    headings = [text for text in texts if re.match(r"\w+ of \$x|magnitudes of", text.get_text())]
    assert len(headings) == 2
    lowest = min(heading.get_window_extent().y0 for heading in headings)
    assert all(name.get_window_extent().y1 <= lowest for name in names_of_columns)
    assert figure.axes[0].get_window_extent().width >= 30
    left = min(
        label.get_window_extent().x0
        for label in figure.axes[0].get_yticklabels()
        if label.get_text()
    )
    assert left >= 0.9 * EDGE * figure.dpi


@pytest.mark.slow
def test_names_in_a_large_picture_are_thinned_out_evenly() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    many = tuple((f"joint{k}", 1) for k in range(200))
    figure = draw(
        figures.Figure,
        "long",
        Pattern("M", ((ZERO,) * 200,) * 200, ((0.0,) * 200,) * 200, many, many, "", False),
    )
    named = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    step = int(named[1].removeprefix("joint"))
    assert step > 1
    assert named == [f"joint{k}" for k in range(0, 200, step)]


def test_a_picture_in_an_unknown_format_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = run_inspect(capsys, "scara", "P", "--plot", str(tmp_path / "p.pdf"))
    assert (code, out) == (2, "")
    assert "name a file that ends with .svg or .png" in err


def test_help_imports_no_heavy_package() -> None:
    code = (
        "import sys; from symgen.cli import main; main(['inspect', '--help']); "
        "print(sorted({'sympy', 'numpy', 'flint'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
