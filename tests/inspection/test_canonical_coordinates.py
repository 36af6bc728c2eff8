"""Canonical letters of robots with joints of several coordinates: unit quaternions and planar
angles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.derivation import constants as k
from symgen.derivation.scalars import Derivation
from symgen.inspection.canonical import Canonical, Names, Quotient, TooLong, canonical
from symgen.inspection.coordinates import angle_indices, quaternion_indices
from symgen.inspection.entries import Layout, declared_model
from symgen.inspection.multiangle import MultiAngle, constants_are_exact
from symgen.inspection.paper_letters import paper_operators
from symgen.inspection.reading import FormulaOptions, Recursive, read, render
from symgen.ir.program import evaluate
from symgen.mechanism.joints import joint_type
from symgen.mechanism.mechanism import Mechanism
from symgen.papers.chain import chain as chain_at
from symgen.papers.chain import random_state
from symgen.papers.identities import paper
from symgen.support.errors import RequestError
from tests.inspection.forms_at_points import (
    BALL,
    POINTS,
    Form,
    letters,
    names_of,
    random_positions,
    unit_quaternion,
    value_of,
)
from tests.shared.robots_for_tests import BALLS, largest

TOLERANCE = 1e-56
MULTIANGLE = FormulaOptions("multiangle")
CHAINS = (
    ("planar", "revolute"),
    ("cylindrical", "planar"),
    ("revolute", "spherical"),
    ("free", "revolute"),
    ("spherical", "spherical"),
)


@cache
def robot_of(kinds: tuple[str, ...], roll: str = "0") -> Mechanism:
    """Return a chain with full inertias; a `roll` between links makes its constants irrational."""
    robot = symgen.Robot("_".join(kinds), gravity=(0, 0, "-9.81"))
    parent = "base"
    for i, kind in enumerate(kinds):
        axis = {"axis": (0, 1, 0) if i else (0, 0, 1)} if joint_type(kind).directed else {}
        robot.body(
            f"link{i}",
            parent=parent,
            type=kind,
            xyz=("0.3", "-0.1", "0.2"),
            rpy=(roll, 0, 0),
            mass=Fraction(3, i + 1),
            centre=("0.1", "0.05", "-0.2"),
            inertia=("0.11", "0.01", "-0.02", "0.13", "0.03", "0.17"),
            **axis,
        )
        parent = f"link{i}"
    return robot.build()


def forms_of_block(mechanism: Mechanism, of_letter: Layout, index: tuple[int, ...]) -> list[Form]:
    names = names_of(mechanism, of_letter.program)
    rows = [row for rows in of_letter.rows(index) for row in rows]
    with k.precision():
        exact = constants_are_exact(declared_model(mechanism))
    return canonical(of_letter.program, rows, names, exact)


def forms_in(value: Canonical) -> list[MultiAngle]:
    """Return all polynomials of a value."""
    return [
        form
        for entry in value.entries
        for form in (
            (entry,) if isinstance(entry, MultiAngle) else (entry.numerator, entry.denominator)
        )
    ]


# -- the normal form -------------------------------------------------------------------------------


def form_of(build: Callable[..., Any], quaternions: int = 1) -> str:
    """Return the form of an expression in entries of unit quaternions q0 … q3, q4 … q7, and v0."""
    size = 4 * quaternions
    derivation = Derivation({"q": size, "v": 1})
    result = build(derivation, *derivation.inputs["q"], *derivation.inputs["v"])
    shapes = {"q": (size,), "v": (1,)}
    program = derivation.freeze("it", "udut", [("it", (1,), [result])], shapes)
    entries = tuple(
        tuple((0, 4 * number + entry) for entry in range(4)) for number in range(quaternions)
    )
    names = Names({}, lambda x: f"{'qv'[x[0]]}{x[1]}", size, "it", entries)
    return str(canonical(program, [program.outputs[0].rows[0]], names, True)[0])


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda d, x, y, z, w, v: x * x + y * y + z * z + w * w, "1"),
        (lambda d, x, y, z, w, v: w * w, "1 - q0**2 - q1**2 - q2**2"),
        (lambda d, x, y, z, w, v: x * w, "q0*q3"),
        (lambda d, x, y, z, w, v: w * w * w * w * w + (x * x + y * y + z * z) * w * w * w,
         "-q0**2*q3 - q1**2*q3 - q2**2*q3 + q3"),
        (lambda d, x, y, z, w, v: v * w * w + v * x * x, "-q1**2*v0 - q2**2*v0 + v0"),
        (lambda d, x, y, z, w, v: (d.one - w * w) / (x * x + y * y + z * z), "1"),
        (lambda d, x, y, z, w, v: (d.one - x * x - y * y - z * z) / w, "q3"),
        (lambda d, x, y, z, w, v: d.one / w, "q3/(1 - q0**2 - q1**2 - q2**2)"),
        (lambda d, x, y, z, w, v: w / (w * w), "q3/(1 - q0**2 - q1**2 - q2**2)"),
        (lambda d, x, y, z, w, v: x / (d.one + w), "(q0 - q0*q3)/(q0**2 + q1**2 + q2**2)"),
        (lambda d, x, y, z, w, v:
         (d.one - w) / (d.one + w) - (d.one - w) * (d.one - w) / (d.one - w * w), "0"),
        (lambda d, x, y, z, w, v: (w + x) / (w - x) * (w - x), "q0 + q3"),
    ],
)  # fmt: skip
def test_equal_functions_on_the_unit_sphere_have_one_form(
    build: Callable[..., Any], text: str
) -> None:
    assert form_of(build) == text


def test_two_quaternions_have_a_relation_each() -> None:
    assert form_of(
        lambda d, x, y, z, w, a, b, c, e, v: w * w + a * a + b * b + c * c + e * e, 2
    ) == ("2 - q0**2 - q1**2 - q2**2")
    assert (
        form_of(lambda d, x, y, z, w, a, b, c, e, v: (w + e) / (w * w - e * e) * (w - e), 2) == "1"
    )
    quotients = [
        form_of(lambda d, x, y, z, w, a, b, c, e, v: d.one / (w + e), 2),
        form_of(lambda d, x, y, z, w, a, b, c, e, v: (w - e) / (w * w - e * e), 2),
    ]
    assert quotients[0] == quotients[1]
    denominator = quotients[0].split("/")[1]
    assert "q3" not in denominator
    assert "q7" not in denominator


# -- letters of mechanisms -------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", CHAINS)
def test_every_letter_equals_its_form_at_random_points_with_sixty_digits(
    kinds: tuple[str, ...],
) -> None:
    mechanism, generator = robot_of(kinds), np.random.default_rng(52)
    blocks = without = 0
    with BALLS.working():
        q = random_positions(mechanism, generator)
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
            } | {"q": q}
            (values,) = evaluate(program, state, BALL).values()
            where = {row: n for n, row in enumerate(program.outputs[0].rows)}
            for index in of_letter.blocks:
                blocks += 1
                try:
                    forms = forms_of_block(mechanism, of_letter, index)
                except TooLong:
                    without += 1
                    continue
                for form, row in zip(forms, chain(*of_letter.rows(index)), strict=True):
                    expected = values[where[row]]
                    difference = np.ravel(value_of(form, state) - expected)
                    scale = 1 + largest(np.ravel(expected))
                    assert largest(difference) <= TOLERANCE * scale, (method, letter, index)
    assert blocks > 25
    assert without <= blocks // 10


@pytest.mark.parametrize("kinds", CHAINS)
def test_entries_of_the_mass_matrix_have_one_form_by_two_methods(kinds: tuple[str, ...]) -> None:
    mechanism = robot_of(kinds)
    for row, column in ((0, 0), (1, 0), (mechanism.nv - 1, 0)):
        texts = [
            render(mechanism, f"M[{row},{column}]", method, options=MULTIANGLE, full=True)[0]
            for method in ("composite_body", "newton_euler")
        ]
        assert texts[0] == texts[1]


@pytest.mark.parametrize("kinds", CHAINS)
def test_a_form_has_the_powers_zero_and_one_of_w_and_is_even_in_each_quaternion(
    kinds: tuple[str, ...],
) -> None:
    """A quaternion and its negative are one rotation, so that M does not distinguish them."""
    mechanism = robot_of(kinds)
    value = read(mechanism, "M", None, MULTIANGLE).value
    assert isinstance(value, Canonical)
    occurring = 0
    for form in forms_in(value):
        for _, monomial, _ in form.terms:
            powers = dict(monomial)
            for entries in quaternion_indices(mechanism):
                total = [powers.get(f"q{entry}", 0) for entry in entries]
                occurring += sum(total)
                assert total[3] <= 1
                assert sum(total) % 2 == 0
    assert (occurring > 0) == ("spherical" in kinds[1:])


def test_an_irrational_rotation_between_links_keeps_the_form_of_the_mass_matrix() -> None:
    """M of the robot with a roll of 0.3 rad equals its closed form to 40 digits."""
    mechanism = robot_of(("spherical", "revolute"), "0.3")
    value = read(mechanism, "M", None, MULTIANGLE).value
    closed = read(mechanism, "M", None, FormulaOptions("closed")).value
    assert isinstance(value, Canonical)
    q = (*unit_quaternion(Fraction(1, 2), Fraction(-2, 3), Fraction(3, 5)), Fraction(7, 9))
    symbols = {str(symbol): symbol for symbol in closed.free_symbols | value.sympy().free_symbols}
    at = {
        symbols[f"q{i}"]: f"{x.numerator}/{x.denominator}"
        for i, x in enumerate(q)
        if f"q{i}" in symbols
    }
    assert at
    difference = (value.sympy() - closed).subs(at).evalf(40)
    assert max(abs(x) for x in difference) < 1e-15  # closed forms print 17 digits
    assert constants_are_exact(declared_model(robot_of(("spherical", "revolute"))))


# -- what is printed -------------------------------------------------------------------------------


def test_the_rotation_of_a_ball_joint_is_printed_in_its_quaternion() -> None:
    text, notes = render(robot_of(("revolute", "spherical")), "phi[0,1][0,0]", "riccati")
    assert text == "1 - 2*q2**2 - 2*q3**2"
    assert "coordinates count from 0: q2 is link1_joint.y, q3 is link1_joint.z" in notes
    assert (
        "q1, q2, q3, q4 are a unit quaternion; q4**2 is written as 1 - q1**2 - q2**2 - q3**2"
        in notes
    )


def test_the_angle_of_a_planar_joint_is_an_angle_and_its_position_a_length() -> None:
    text, _ = render(robot_of(("cylindrical", "planar")), "phi[0,1]", "riccati")
    assert "cos(q4)" in text
    assert "q3" in text
    assert "sin(q3" not in text
    assert "q0" not in text


def test_an_entry_of_m_is_canonical_by_default_and_equations_on_request() -> None:
    mechanism = robot_of(("revolute", "spherical"))
    default = render(mechanism, "M[1,0]")[0]
    assert default == render(mechanism, "M[1,0]", options=MULTIANGLE)[0]
    assert "q1**2" in default
    recursive = read(mechanism, "M[1,0]", None, FormulaOptions("recursive")).value
    assert isinstance(recursive, Recursive)
    latex = render(mechanism, "M[1,0]", format="latex")[0]
    assert "q_{1}^{2}" in latex


def test_rates_are_unknowns_of_the_polynomials() -> None:
    text, _ = render(robot_of(("revolute", "spherical")), "c[0]", options=MULTIANGLE, full=True)
    assert "v1*v2" in text
    assert "v1**2" in text


# -- mimic joints ----------------------------------------------------------------------------------


def mimic_arm(multiplier: str) -> Mechanism:
    """Return two links, of which the second joint follows the first."""
    text = f"""name = "mimic"
gravity = [0, 0, -9.81]
[[body]]
name = "l0"
parent = "base"
mass = 1.5
centre = [0.2, 0, 0.1]
inertia = [0.02, 0, 0, 0.03, 0, 0.04]
joint = {{name = "leader", type = "revolute", axis = [0, 1, 0]}}
[[body]]
name = "l1"
parent = "l0"
mass = 0.5
centre = [0.1, 0, 0.3]
inertia = [0.01, 0, 0, 0.02, 0, 0.03]
[body.joint]
name = "follower"
type = "revolute"
axis = [0, 1, 0]
xyz = [0.5, 0, 0]
mimic = {{joint = "leader", multiplier = {multiplier}}}
"""
    return symgen.load(text, mimic="couple")


@pytest.mark.parametrize("letter", ["M[0,0]", "g[0]", "c[0]"])
def test_the_angle_of_a_follower_is_a_multiple_of_the_leader_s(letter: str) -> None:
    mechanism = mimic_arm("-2")
    value = read(mechanism, letter, None, MULTIANGLE).value.sympy()
    closed = read(mechanism, letter, None, FormulaOptions("closed")).value
    symbols = sorted(value.free_symbols | closed.free_symbols, key=str)
    assert symbols
    at = {symbol: f"{3 + 2 * n}/7" for n, symbol in enumerate(symbols)}
    assert abs((value - closed).subs(at).evalf(30)) < 1e-14
    assert letter == "g[0]" or "2*q0" in str(value)


def test_a_follower_of_half_the_angle_has_no_canonical_form() -> None:
    mechanism = mimic_arm("0.5")
    with pytest.raises(TooLong, match="not a sum of whole multiples of joint angles"):
        read(mechanism, "M[0,0]", None, MULTIANGLE)
    assert any("no canonical form" in note for note in render(mechanism, "M[0,0]")[1])


# -- operators of the papers -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kinds", "name", "letter"),
    [
        (("revolute", "spherical"), "wc", "H_22"),
        (("planar", "revolute"), "wc", "H_22"),
        (("free", "revolute"), "wc", "H_22"),
        (("revolute", "spherical"), "rk", "psi"),
        (("cylindrical", "planar"), "rk", "P"),
        (("spherical", "spherical"), "rk", "phi"),
    ],
)
def test_an_operator_of_a_paper_equals_its_form(
    kinds: tuple[str, ...], name: str, letter: str
) -> None:
    """Compare the form of every block with the operator at a rational state."""
    mechanism = robot_of(kinds)
    operators = paper_operators(mechanism, name)
    state = random_state(mechanism, 3)
    at_state = paper(name).Operators(chain_at(mechanism, state))
    angles = set(angle_indices(mechanism))
    q = [
        2 * math.atan(float(state.half_tangents[i])) if i in angles else float(x)
        for i, x in enumerate(state.coordinates)
    ]
    compared = 0
    for indices in operators.indices(operators.letter(letter)):
        block = operators.block(operators.letter(letter), indices)
        if block is None or not block.size:
            continue
        forms = operators.canonical(block, letter).entries
        expected = np.ravel(operators.letter(letter).block(at_state, *indices))
        for form, x in zip(forms, expected, strict=True):
            parts = (form.numerator, form.denominator) if isinstance(form, Quotient) else (form,)
            values = [part.evaluate(q) for part in parts]
            value = values[0] / values[1] if len(values) > 1 else values[0]
            assert value == pytest.approx(float(Fraction(int(x.p), int(x.q))), rel=1e-9, abs=1e-9)
            compared += 1
    assert compared > 0


@pytest.mark.parametrize(
    ("kinds", "method", "name", "letter", "indices"),
    [
        (("revolute", "spherical"), "riccati", "rk", "phi", (0, 1)),
        (("revolute", "spherical"), "riccati", "rk", "psi", (0, 1)),
        (("revolute", "spherical"), "riccati", "rk", "L", (1,)),
        (("revolute", "spherical"), "constraint_force", "ff", "H_aa", (1, 1)),
        (("revolute", "spherical"), "constraint_force", "ff", "A", (0, 1)),
        (("cylindrical", "planar"), "riccati", "rk", "P", (0,)),
        (("spherical", "spherical"), "riccati", "rk", "phi", (0, 1)),
    ],
)
def test_a_letter_has_one_form_by_the_operators_of_its_paper_and_by_a_method(
    kinds: tuple[str, ...], method: str, name: str, letter: str, indices: tuple[int, ...]
) -> None:
    """The operators take the stereographic projection of a quaternion, and share no code with the
    method.
    """
    operators = paper_operators(robot_of(kinds), name)
    block = operators.block(operators.letter(letter), indices)
    assert block is not None
    what = f"{letter}[{','.join(map(str, indices))}]"
    by_method = read(robot_of(kinds), what, method, MULTIANGLE).value
    assert str(operators.canonical(block, what)) == str(by_method)
    assert isinstance(by_method, Canonical)
    assert by_method.coordinates


def test_the_operators_of_a_robot_with_mimic_joints_have_no_canonical_form() -> None:
    with pytest.raises(TooLong, match="a joint mimics another"):
        read(mimic_arm("2"), "Phi")


def test_blocks_of_a_paper_have_the_sizes_of_their_joints() -> None:
    whole = read(robot_of(("free", "revolute")), "H_22").value
    assert isinstance(whole, Canonical)
    assert whole.shape == (5, 5)
    with pytest.raises(RequestError, match=r"H_22\[0,0\] of 'free_revolute' is empty"):
        read(robot_of(("free", "revolute")), "H_22[0,0]")
    whole = read(robot_of(("revolute", "spherical")), "H_22").value
    assert isinstance(whole, Canonical)
    assert whole.shape == (8, 8)
    text, notes = render(robot_of(("revolute", "spherical")), "H_22[0,1]")
    assert "q1" in text
    assert any("are a unit quaternion" in note for note in notes)
