"""Formulas for all links of a chain of like links: their text, longer chains, and refusals."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.cli import main
from symgen.description.loading import load
from symgen.inspection.general.formulas import Affine, Case, Polynomial, Sum, form_of
from symgen.inspection.general.partial_sums import in_partial_sums, in_rates
from symgen.inspection.general.proof import is_proved
from symgen.inspection.general.regions import Piece, Region, at_least, piece, sum_out, vanishes
from symgen.inspection.general.request import (
    SIZES,
    General,
    chain_of,
    is_general,
    parse_general,
    shortening_letters,
)
from symgen.inspection.general.search import find_cases
from symgen.inspection.multiangle import MultiAngle
from symgen.inspection.reading import read
from symgen.inspection.request import parse_request
from symgen.mechanism.drives import Drive
from symgen.papers import lc
from symgen.papers.chain import chain, random_state
from symgen.support.errors import RequestError
from tests.shared.bars import chain_of_bars

LONG = 50


@cache
def formulas(what: str, robot: str = "planar_point_mass", method: str | None = None) -> General:
    """Return the formulas of a letter of a chain."""
    value = read(load(robot), what, method).value
    assert isinstance(value, General)
    return value


def value_at(form: Any, q: Sequence[float]) -> float:
    """Return an entry at a pose."""
    assert isinstance(form, MultiAngle)
    return float(form.evaluate(q))


def bars(folder: Path, count: int, heavy: int = -1, axis: int = -1) -> Path:
    """Write a planar chain of like bars with full inertias; bar `heavy` has another mass, and joint
    `axis` another axis.
    """
    links = "".join(
        f"""<link name="l{i}"><inertial><origin xyz="0.2 0.01 0.03"/>
        <mass value="{2 if i == heavy else 1.5}"/>
        <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0" iyz="0.002"/>
        </inertial></link>
        <joint name="j{i}" type="continuous">
        <parent link="{f"l{i - 1}" if i else "base"}"/><child link="l{i}"/>
        <origin xyz="{"0.4 0.05 0" if i else "0 0 0"}"/>
        <axis xyz="{"0 1 0" if i == axis else "0 0 1"}"/></joint>"""
        for i in range(count)
    )
    path = folder / "bars.urdf"
    path.write_text(f'<robot name="bars"><link name="base"/>{links}</robot>', encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (
            "H_L_L[i,j]",
            "H_L_L[i,j] = 1    for j = i, i = 0\n"
            "H_L_L[i,j] = 2    for j = i, i > 0\n"
            "H_L_L[i,j] = -cos(q[i+1])    for j = i+1\n"
            "H_L_L[i,j] = -cos(q[i])    for j = i-1\n"
            "H_L_L[i,j] = 0    otherwise",
        ),
        (
            "dL_dx[i,j]",
            "dL_dx[i,j] = [cos(q[0:i])  sin(q[0:i])]    for j = i\n"
            "dL_dx[i,j] = [-cos(q[0:i])  -sin(q[0:i])]    for j = i-1\n"
            "dL_dx[i,j] = 0    otherwise",
        ),
        ("H_L_L[i+1,i]", "H_L_L[i+1,i] = -cos(q[i+1])"),
        ("p_links[i,1]", "p_links[i,1] = sum(k=0..i-1: sin(q[0:k]))"),
        ("g[i]", "g[i] = sum(k=i..n-1: 9.81*(n - k)*cos(q[0:k]))"),
        (
            "M[i,i]",
            "M[i,i] = 0.5*(n - i + 1)*(n - i) + sum(k=i+1..n-1, l=k..n-1: 2*(n - l)*cos(q[k:l]))",
        ),
        ("M[i,n-1]", "M[i,n-1] = 1 + sum(k=i+1..n-1: cos(q[k:n-1]))"),
        (
            "c[i]",
            "c[i] = sum(k=i..n-1: 9.81*(n - k)*cos(q[0:k]))"
            " + sum(k=1..i, l=i..n-1: (n - l)*v[0:k-1]**2*sin(q[k:l]))"
            " + sum(k=i+1..n-1, l=k..n-1: (n - l)*(v[0:k-1]**2 - v[0:l]**2)*sin(q[k:l]))",
        ),
        (
            "C[i,i]",
            "C[i,i] = sum(k=i+1..n-1, l=k..n-1: (n - l)*(v[0:k-1] - v[0:l])*sin(q[k:l]))",
        ),
    ],
)
def test_formulas_of_point_masses(what: str, expected: str) -> None:
    assert str(formulas(what)) == expected


RANGE = re.compile(r"(\w)=(.+?)\.\.(.+)")
SUM = re.compile(r"sum\(([^:]*): ((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")


def as_python(text: str) -> str:
    """Return a printed entry as a Python expression of i, j, n, q, v and a."""

    def loops(match: re.Match[str]) -> str:
        ranges = [RANGE.fullmatch(part) for part in match[1].split(", ")]
        heads = [f"for {r[1]} in range({r[2]}, ({r[3]}) + 1)" for r in ranges if r is not None]
        assert len(heads) == len(ranges)
        return f"math.fsum({match[2]} {' '.join(heads)})"

    runs = r"([qva])\[([^\]:]+):([^\]]+)\]"
    return re.sub(runs, r"math.fsum(\1[\2:(\3) + 1])", SUM.sub(loops, text))


@pytest.mark.parametrize(
    "what",
    [
        "M[i,j]",
        "M[j,i+1]",
        "H_theta_theta[i,j]",
        "H_theta_L[i,j]",
        "c[i]",
        pytest.param("tau[i]", marks=pytest.mark.slow),
        pytest.param("C[i,j]", marks=pytest.mark.slow),
    ],
)
def test_the_printed_text_evaluates_to_the_entries(what: str) -> None:
    """The lines are read back as they are printed: the first case that holds counts."""
    formula = formulas(what)
    lines = [
        re.fullmatch(r".*?\] = (.*?)(?:    (?:for (.*)|otherwise))?", line)
        for line in str(formula).splitlines()
    ]
    cosines: dict[str, Any] = {"math": math, "cos": math.cos, "sin": math.sin}
    q, v, a = np.random.default_rng(7).uniform(-3, 3, (3, 8)).tolist()
    for i, j in product(range(7), repeat=2):
        names = {**cosines, "i": i, "j": j, "n": 8, "q": q, "v": v, "a": a}
        printed = next(
            float(eval(as_python(line[1]), names))
            for line in lines
            if line is not None
            and all(
                eval(re.sub(r" = ", " == ", part).replace("≥", ">=").replace("≤", "<="), names)
                for part in (line[2] or "True").split(", ")
            )
        )
        (entry,) = formula.block(n=8, i=i, j=j).entries
        exact = float(entry.evaluate(q, v, a))
        assert abs(printed - exact) < 1e-12 * max(1, abs(exact)), (i, j)


def test_the_latex_has_sums_and_cases() -> None:
    latex = formulas("M[i,j]").text("latex")
    assert r"\sum_{k=i+1}^{j}\sum_{l=j}^{n-1} \left(n - l\right) \cos\left(q_{k:l}\right)" in latex
    assert latex.count(r"\\") == 1
    assert latex.count("{") == latex.count("}")
    assert r"&& i \ge j" in latex
    assert r"\left(v_{0:k-1}^{2} - v_{0:l}^{2}\right) \sin" in formulas("c[i]").text("latex")


@pytest.mark.slow
def test_formulas_of_fifty_masses_equal_their_kinetic_energy() -> None:
    """M[i,j] is the sum over masses of products of their velocities, in complex numbers."""
    q = np.random.default_rng(5).uniform(-3, 3, LONG)
    places = np.concatenate([[0], np.cumsum(np.exp(1j * np.cumsum(q)))])
    lever = np.tril(places[1:, None] - places[None, :-1])  # of mass l about joint i
    expected = (lever.conj().T @ lever).real
    formula = formulas("M[i,j]")
    for i, j in product((0, 1, 24, 48, 49), repeat=2):
        (entry,) = formula.block(n=LONG, i=i, j=j).entries
        assert abs(value_at(entry, q) - expected[i, j]) < 1e-12 * expected[0, 0], (i, j)


@pytest.mark.parametrize("letter", ["H_theta_theta", "H_theta_L", "H_L_L"])
@pytest.mark.parametrize("count", [2, 3, 4, LONG])
def test_h_blocks_of_any_number_of_masses_equal_the_papers_operators(
    letter: str, count: int
) -> None:
    """LC (22)-(23) in rationals, on chains that are shorter and longer than those of the search."""
    mechanism = load(f"planar_point_mass:{count}")
    state = random_state(mechanism, 3)
    q = [2 * math.atan(x) for x in state.half_tangents]
    declared = next(item for item in lc.LETTERS if item.name == letter)
    operators = lc.Operators(chain(mechanism, state))
    formula = formulas(f"{letter}[i,j]", method="fixman")
    for i, j in product(range(count), repeat=2):
        block = declared.block(operators, i, j)
        exact = 0.0 if block is None else float(Fraction(str(np.ravel(block)[0])))
        (entry,) = formula.block(n=count, i=i, j=j).entries
        assert abs(value_at(entry, q) - exact) < 1e-13, (i, j)


def test_the_continuant_is_the_determinant() -> None:
    """The note about a tridiagonal letter holds for fifty masses."""
    _, notes = (reading := read(load("planar_point_mass"), "H_L_L[i,j]")).value, reading.notes
    assert "D[k+1] = H_L_L[k,k]*D[k] - H_L_L[k-1,k]*H_L_L[k,k-1]*D[k-1]" in notes[-1]
    assert not formulas("H_theta_theta[i,j]").is_tridiagonal
    q = np.random.default_rng(6).uniform(-3, 3, LONG)
    H = np.array(
        [
            [
                value_at(formulas("H_L_L[i,j]").block(n=LONG, i=i, j=j).entries[0], q)
                for j in range(LONG)
            ]
            for i in range(LONG)
        ]
    )
    before, now = 0.0, 1.0
    for k in range(LONG):
        beside = H[k - 1, k] * H[k, k - 1] if k else 0.0
        before, now = now, H[k, k] * now - beside * before
    assert now == pytest.approx(np.linalg.det(H), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["H_aa[i,j]", "H_bb[i,j]", "B[i+1,i]", "M[i,j]"])
def test_a_chain_of_bars_has_formulas(tmp_path: Path, what: str) -> None:
    """Blocks with full inertias equal those of a chain of twelve, which no search has read."""
    mechanism = load(bars(tmp_path, 4))
    formula = read(mechanism, what).value
    assert isinstance(formula, General)
    twelve = chain_of(mechanism, 12, what)
    for i, j in ((0, 0), (1, 1), (6, 6), (11, 11), (5, 6), (6, 5), (0, 11)):
        values = {"n": 12, "i": i, "j": j}
        at = (i + 1, i) if what.startswith("B") else (i, j)
        if max(at) < 12:
            exact = read(twelve, f"{what[: what.index('[')]}[{at[0]},{at[1]}]").value
            entries = getattr(exact, "entries", (exact,))
            if isinstance(entries[0], MultiAngle):
                assert formula.block(**values).entries == entries


def test_a_last_link_may_differ(tmp_path: Path) -> None:
    """A heavier tip is the case i = n − 1."""
    text = str(read(load(bars(tmp_path, 4, heavy=3)), "I_inv[i]", "constraint_force").value)
    assert text.count("I_inv[i] =") == 2
    assert "for i = n-1" in text
    assert "for i < n-1" in text


@pytest.mark.parametrize(
    ("robot", "what", "message"),
    [
        ("panda", "M[i,j]", "link 'panda_link3' of 'panda' has another joint than link"),
        ("planar_arm", "M[i,j]", "'planar_arm' is no serial chain of three links or more"),
        ("quadruped", "M[i,j]", "'quadruped' is no serial chain of three links or more"),
        ("planar_point_mass", "p_links[i,j]", "index 'j' of p_links counts 3 rows or columns"),
        ("planar_point_mass", "M[i]", "has 1 indices, M takes 2"),
        ("planar_point_mass", "Minv[i,j]", "has more than 20000 terms"),
        ("planar_point_mass", "Q[i]", "is not a quantity"),
    ],
)
def test_what_has_no_formula_is_refused(robot: str, what: str, message: str) -> None:
    with pytest.raises(RequestError) as error:
        read(load(robot), what)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("difference", "message"),
    [
        ({"heavy": 2}, "link 'l2' of 'bars' has another inertia than link 'l1'"),
        ({"axis": 2}, "link 'l2' of 'bars' has another joint than link 'l1'"),
    ],
)
def test_a_link_that_differs_is_named(
    tmp_path: Path, difference: dict[str, int], message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        read(load(bars(tmp_path, 4, **difference)), "M[i,j]")


def test_a_joint_named_i_is_a_joint() -> None:
    """A letter that names a joint is that joint."""
    mechanism = load("planar_point_mass:3")
    named = replace(
        mechanism, joints=(replace(mechanism.joints[0], name="i"), *mechanism.joints[1:])
    )
    assert is_general(mechanism, "M[i,j]")
    assert not is_general(named, "M[i,i]")
    assert read(named, "M[i,i]").value == read(mechanism, "M[0,0]").value
    assert not is_general(mechanism, "M[0,1]")
    assert not is_general(mechanism, "M")


def test_options_that_do_not_apply_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for option in (
        ["--at", "q0=1"],
        ["--form", "closed"],
        ["--symbols", "m"],
        ["--format", "python"],
        ["--where"],
        ["--structure"],
        ["--plot", "picture.svg"],
    ):
        assert main(["inspect", "planar_point_mass:3", "H_L_L[i,j]", *option]) == 2
        assert "write numbers in place of the letters" in capsys.readouterr().err


def test_python_returns_the_formulas() -> None:
    value = symgen.inspect("planar_point_mass:3", "H_L_L[i,i+1]")
    assert str(value) == "H_L_L[i,i+1] = -cos(q[i+1])"
    assert str(value.block(n=9, i=3)) == "-cos(q4)"


def test_a_wrong_term_leaves_no_formula() -> None:
    """A term that one chain alone has is in no formula."""
    first = formulas("p_links[i,1]").cases[0].entries[0][0]
    points = {
        (("i", i), ("n", n)): (form_of(first, {"i": i, "n": n}),) for n in SIZES for i in range(n)
    }
    assert find_cases(("i",), points) is not None
    odd = (("i", 3), ("n", 6))
    points[odd] = (points[odd][0].scaled(Fraction(2)),)
    assert find_cases(("i",), points) is None


def test_affine_indices_print_as_they_are_read() -> None:
    assert [str(Affine(*index)) for index in (("i", 1), ("n", -1), ("", 3), ("j", 0))] == [
        "i+1",
        "n-1",
        "3",
        "j",
    ]


def torques_of_masses(q: Any, v: Any, a: Any) -> tuple[Any, Any]:
    """Return the joint torques and the matrix C of a chain of unit masses and links, by d'Alembert:
    the sum over masses of (acceleration − gravity) times the derivative of the position, and J^T
    dJ/dt.
    """
    count = len(q)
    angles, rates, accelerations = np.cumsum(q), np.cumsum(v), np.cumsum(a)
    links = np.exp(1j * angles)
    position = np.concatenate([[0], np.cumsum(links)])
    velocity = np.concatenate([[0], np.cumsum(1j * rates * links)])
    acceleration = np.cumsum((1j * accelerations - rates**2) * links)
    below = np.tri(count)
    slope = 1j * below * (position[1:, None] - position[None, :-1])
    rate = 1j * below * (velocity[1:, None] - velocity[None, :-1])
    torques = (slope.conj().T @ (acceleration + 9.81j)).real
    return torques, (slope.conj().T @ rate).real


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3, 4, LONG])
def test_forces_of_any_number_of_masses_are_those_of_dalembert(count: int) -> None:
    """c, tau and C on chains that are shorter and longer than those of the search. On the long
    chain, forces are evaluated in partial sums of rates, of which no product is expanded.
    """
    q, v, a = np.random.default_rng(count).uniform(-3, 3, (3, count))
    v, a = v / count, a / count
    bias = torques_of_masses(q, v, 0 * a)[0]
    torques, coriolis = torques_of_masses(q, v, a)
    partial = {f"V{k}": x for k, x in enumerate(np.cumsum(v))}
    partial |= {f"A{k}": x for k, x in enumerate(np.cumsum(a))}
    size = abs(torques).max()
    for i in {0, 1, count // 2, count - 1}:
        for what, expected in (("c[i]", bias), ("tau[i]", torques)):
            case = formulas(what).cases[0]
            value = form_of(case.entries[0][0], {"n": count, "i": i}).evaluate(q, (), (), partial)
            assert abs(value - expected[i]) < 1e-12 * size, (what, i)
            if count != LONG:
                (entry,) = formulas(what).block(n=count, i=i).entries
                assert isinstance(entry, MultiAngle)
                assert abs(entry.evaluate(q, v, a) - expected[i]) < 1e-12 * size, (what, i)
        for j in {0, 1, count - 1}:
            if count != LONG or i > 1:
                (entry,) = formulas("C[i,j]").block(n=count, i=i, j=j).entries
                assert isinstance(entry, MultiAngle)
                assert abs(entry.evaluate(q, v) - coriolis[i, j]) < 1e-12 * size, (i, j)


def test_partial_sums_are_taken_if_they_are_shorter() -> None:
    """The change of variables and its inverse; a rate alone stays a rate."""
    form = MultiAngle.of(
        {
            (((0, 1, 0), True), (("v1", 2),)): Fraction(3),
            (((0, 1, 0), True), (("a2", 1), ("v0", 1))): Fraction(-2),
            (((0, 0, 0), False), ()): Fraction(5),
        }
    )
    changed = in_partial_sums(form, "va")
    assert changed.symbols() == ("A1", "A2", "V0", "V1")
    assert in_rates(changed) == form
    state = [0.3, -0.4, 0.5], [0.7, 1.1, -0.2], [0.1, 0.6, 0.9]
    sums = {
        f"{name}{k}": x
        for name, values in (("V", state[1]), ("A", state[2]))
        for k, x in enumerate(np.cumsum(values))
    }
    assert changed.evaluate(state[0], (), (), sums) == pytest.approx(form.evaluate(*state))
    assert shortening_letters({(("i", 0),): (form,)}) == ""
    angular_velocity = in_rates(MultiAngle.of({(((0, 0, 0), False), (("V2", 2),)): Fraction(1)}))
    assert len(angular_velocity.terms) == 6
    assert shortening_letters({(("i", 0),): (angular_velocity,)}) == "v"


def test_an_entry_with_too_many_terms_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symgen.inspection.general.request.MOST_TERMS", 5)
    with pytest.raises(RequestError, match="for 5 links an entry has more than 5 terms"):
        read(load("planar_point_mass"), "c[i]")


PROVED = [
    ("M[i,j]", ("", "M")),
    ("M[i,n-1]", ("", "M")),
    ("g[i]", ("", "g")),
    ("c[i]", ("", "c")),
    ("C[i,i]", ("", "C")),
    pytest.param("tau[i]", ("", "tau"), marks=pytest.mark.slow),
    pytest.param("dtau_dv[i,i]", ("", "dtau_dv"), marks=pytest.mark.slow),
    pytest.param("dtau_dq[i,i]", ("", "dtau_dq"), marks=pytest.mark.slow),
    ("dtau_dq[i,n-1]", ("", "dtau_dq")),
    ("p_links[i,1]", ("", "p_links")),
    pytest.param("H_theta_theta[i,j]", ("fixman", "H_theta_theta"), marks=pytest.mark.slow),
    ("H_theta_L[i,j]", ("fixman", "H_theta_L")),
    ("H_L_L[i,j]", ("fixman", "H_L_L")),
    pytest.param("H_L_theta[i,j]", ("lc", "H_L_theta"), marks=pytest.mark.slow),
    ("dL_dx[i,j]", ("fixman", "dL_dx")),
    ("dtheta_dx[i,j]", ("fixman", "dtheta_dx")),
    ("phi[i,j]", ("riccati", "phi")),
    ("B[i,j]", ("udut", "B")),
    ("B[i+1,i]", ("udut", "B")),
    ("T[i,j]", ("udut", "T")),
]


def proves(what: str, letter: tuple[str, str], cases: Sequence[Case]) -> bool:
    """Return True if cases are proved for every chain of point masses."""
    mechanism = load("planar_point_mass:4")
    words = parse_request(what)
    assert words is not None
    indices = parse_general(mechanism, words)
    assert indices is not None
    return is_proved(chain_of(mechanism, 4, what), letter, indices, cases)


def wrong_sums(part: Sum) -> Iterator[Sum | None]:
    """Yield sums with one error each; None is the sum left out."""
    names, x = part.coefficient.terms[0]
    others = part.coefficient.terms[1:]
    yield replace(part, coefficient=Polynomial(((names, x + Fraction(1, 1000)), *others)))
    vanishing = Polynomial((*part.coefficient.terms, *same_at_found_sizes()))
    yield replace(part, coefficient=vanishing)
    if part.ranges:
        *before, (name, first, last) = part.ranges
        yield replace(
            part, ranges=(*before, (name, Affine(first.variable, first.constant + 1), last))
        )
    yield None


def same_at_found_sizes() -> list[tuple[tuple[str, ...], Fraction]]:
    """Return the terms of (n − 5)(n − 6)(n − 7)(n − 9), which is zero for all chains compared."""
    coefficients = np.poly([5, 6, 7, 9])[::-1].round().astype(int).tolist()
    return [(("n",) * power, Fraction(x)) for power, x in enumerate(coefficients)]


@pytest.mark.parametrize(("what", "letter"), PROVED)
def test_formulas_are_proved_and_wrong_ones_are_not(what: str, letter: tuple[str, str]) -> None:
    """A wrong coefficient or range, a formula that is equal for all chains compared but not for all
    n, and a missing case leave no proof.
    """
    cases = formulas(what).cases
    assert proves(what, letter, cases)
    assert formulas(what).proved_from
    planted = 0
    for at, case in enumerate(cases):
        assert not proves(what, letter, (*cases[:at], *cases[at + 1 :]))
        for number, (above, below) in enumerate(case.entries):
            for which, part in enumerate(above[:2]):
                for wrong in wrong_sums(part):
                    sums = (*above[:which], *((wrong,) if wrong else ()), *above[which + 1 :])
                    entries = (*case.entries[:number], (sums, below), *case.entries[number + 1 :])
                    changed = (*cases[:at], replace(case, entries=entries), *cases[at + 1 :])
                    assert not proves(what, letter, changed), (case.conditions, wrong)
                    planted += 1
    assert planted >= 3


def test_the_proof_is_for_this_chain(tmp_path: Path) -> None:
    """Formulas of point masses are not proved for another chain, nor for another letter."""
    mechanism = load("planar_point_mass:4")
    heavy = replace(
        mechanism.bodies[2], parts=(replace(mechanism.bodies[2].parts[0], mass=Fraction(2)),)
    )
    bodies = (*mechanism.bodies[:2], heavy, mechanism.bodies[3])
    indices = (Affine("i", 0), Affine("j", 0))
    cases = formulas("M[i,j]").cases
    first_heavy = replace(mechanism, bodies=(bodies[2], *mechanism.bodies[1:]))
    assert is_proved(mechanism, ("", "M"), indices, cases)
    assert not is_proved(first_heavy, ("", "M"), indices, cases)
    assert not is_proved(mechanism, ("", "C"), indices, cases)
    assert not is_proved(mechanism, ("riccati", "M"), indices, cases)
    assert not is_proved(load(bars(tmp_path, 4)), ("", "M"), indices, cases)
    driven = replace(mechanism.joints[1], drive=Drive(armature=Fraction(1)))
    with_drive = replace(mechanism, joints=(mechanism.joints[0], driven, *mechanism.joints[2:]))
    assert not is_proved(with_drive, ("", "M"), indices, cases)


@pytest.mark.slow
def test_bars_with_offsets_are_proved(tmp_path: Path) -> None:
    """M of bars whose centres and joints lie off one line has sines and cosines, also with a
    heavier tip; a letter without a definition is compared only.
    """
    for heavy in (-1, 3):
        value = read(load(bars(tmp_path, 4, heavy=heavy)), "M[i,i]").value
        assert isinstance(value, General)
        assert "sin" in str(value)
        assert value.evidence.endswith("with n and the indices as symbols")
    reading = read(load(bars(tmp_path, 4)), "I_inv[i]", "constraint_force")
    assert reading.value.proved_from == ""
    assert "which is no proof for all n" in reading.notes[0]


def test_a_formula_of_heavier_bars_with_offsets_is_proved() -> None:
    """The mass is not 1, and centres and joints lie off one line, so that no factor of the
    definition is idle.
    """
    robot = chain_of_bars(4, mass=2, xyz=("1", "0.2", 0), centre=("0.4", "0.1", 0)).build()
    value = read(robot, "M[i,0]").value
    assert isinstance(value, General)
    assert value.proved_from


def test_rate_twists_are_proved_for_joints_at_different_heights() -> None:
    """T holds angular rates and velocities in the plane; B of such a chain has further entries."""
    figures = {"xyz": ("0.4", "0.05", "0.1"), "centre": ("0.2", "0.01", "0.03")}
    robot = chain_of_bars(4, **figures).build()
    proofs = {
        letter: read(robot, f"{letter}[i,j]", "udut").value.proved_from for letter in ("T", "B")
    }
    assert proofs["T"]
    assert not proofs["B"]


def test_sums_of_pieces_are_exact() -> None:
    """`sum_out` equals the sum over integers at each point; bounds compete and ranges are empty."""
    x, y, z = Affine("x", 0), Affine("y", 0), Affine("z", 0)
    whole = piece(
        [
            at_least(x, y),
            at_least(x, z, 1),
            at_least(Affine("n", -1), x),
            at_least(Affine("y", 3), x),
        ],
        {(): Fraction(1, 2), ("x",): Fraction(1), ("x", "x", "y"): Fraction(3)},
    )
    assert whole is not None
    parts = sum_out(whole, "x")

    def value(part: Piece, point: dict[str, int]) -> Fraction:
        inside = all(point[c.left] - point[c.right] >= c.least for c in part.constraints)
        return Polynomial(part.polynomial).at(point) if inside else Fraction(0)

    for y_, z_, n in product(range(-2, 5), range(-2, 5), range(6)):
        point = {"": 0, "y": y_, "z": z_, "n": n}
        expected = sum(value(whole, {**point, "x": number}) for number in range(-9, 12))
        assert sum(value(part, point) for part in parts) == expected, point


def test_a_difference_that_vanishes_is_told_from_one_that_does_not() -> None:
    """The sum over x from 0 to n − 1 is n (n − 1)/2, also where it is zero; n²/2 is not."""
    n, x = Affine("n", 0), Affine("x", 0)
    whole = piece([at_least(x, Affine("", 0)), at_least(n, x, 1)], {("x",): Fraction(1)})
    assert whole is not None
    total = sum_out(whole, "x")
    chains = Region([at_least(n, Affine("", 0))])
    half, square = Fraction(-1, 2), Piece((), ((("n", "n"), Fraction(-1, 2)),))
    linear = Piece((), ((("n",), -half),))
    assert vanishes(chains, [*total, square, linear])
    assert not vanishes(chains, [*total, square])
    only_zero = Region([at_least(n, Affine("", 0)), at_least(Affine("", 0), n)])
    assert vanishes(only_zero, [*total, square])
    empty = Region([at_least(x, n, 1), at_least(n, x)])
    assert empty.is_empty
    few = Region([at_least(n, Affine("", 0)), at_least(Affine("", 1), n)])
    falling = Piece((), ((("n", "n"), Fraction(1)), (("n",), Fraction(-1))))
    assert vanishes(few, [falling])  # n² − n at n = 0 and 1
    assert not vanishes(chains, [falling])


def test_progress_names_the_steps() -> None:
    steps: list[tuple[str, int, int]] = []
    read(load("planar_point_mass:3"), "H_L_L[i,i+1]", progress=lambda *step: steps.append(step))
    assert [step[0] for step in steps] == [
        *(f"H_L_L[i,i+1] of a chain of {n} links" for n in (5, 6, 7, 9)),
        "formulas of H_L_L[i,i+1]",
    ]
    assert [step[1:] for step in steps] == [(n, 5) for n in range(5)]


def test_blocks_that_do_not_exist_are_said_to_be_absent() -> None:
    """B_ij takes a twist outward, so that link j must carry link i."""
    B = formulas("B[i,j]", method="udut")
    assert B.text().startswith("B[i,j] does not exist    for i < j\nB[i,j] =    for i ≥ j\n")
    assert r"B_{i,j} &\text{ does not exist} && i < j" in B.text("latex")
    with pytest.raises(RequestError, match="has no case for"):
        B.block(n=9, i=2, j=5)
    expected = read(load("planar_point_mass:9"), "B[5,2]", "udut").value
    assert B.block(n=9, i=5, j=2).entries == expected.entries
    assert "does not exist" not in formulas("T_l[i,j]", method="udut").text()
