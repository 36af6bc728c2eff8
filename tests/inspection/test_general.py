"""Formulas for all links of a chain of like links: their text, longer chains, and refusals."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
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
from symgen.inspection.general.formulas import Affine, form_of
from symgen.inspection.general.request import SIZES, General, chain_of, is_general
from symgen.inspection.general.search import find_cases
from symgen.inspection.multiangle import MultiAngle
from symgen.inspection.reading import read
from symgen.papers import lc
from symgen.papers.chain import chain, random_state
from symgen.support.errors import RequestError

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
        f"""<link name="l{i}"><inertial><origin xyz="0.2 0.01 0.03"/><mass value="{2 if i == heavy else 1.5}"/>
        <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0" iyz="0.002"/></inertial></link>
        <joint name="j{i}" type="continuous"><parent link="{f"l{i - 1}" if i else "base"}"/><child link="l{i}"/>
        <origin xyz="{"0.4 0.05 0" if i else "0 0 0"}"/><axis xyz="{"0 1 0" if i == axis else "0 0 1"}"/></joint>"""
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
    ],
)
def test_formulas_of_point_masses(what: str, expected: str) -> None:
    assert str(formulas(what)) == expected


RANGE = re.compile(r"(\w)=(.+?)\.\.(.+)")
SUM = re.compile(r"sum\(([^:]*): ((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")


def as_python(text: str) -> str:
    """Return a printed entry as a Python expression of i, j, n and q."""

    def loops(match: re.Match[str]) -> str:
        ranges = [RANGE.fullmatch(part) for part in match[1].split(", ")]
        heads = [f"for {r[1]} in range({r[2]}, ({r[3]}) + 1)" for r in ranges if r is not None]
        assert len(heads) == len(ranges)
        return f"math.fsum({match[2]} {' '.join(heads)})"

    return re.sub(r"q\[([^\]:]+):([^\]]+)\]", r"math.fsum(q[\1:(\2) + 1])", SUM.sub(loops, text))


@pytest.mark.parametrize("what", ["M[i,j]", "M[j,i+1]", "H_theta_theta[i,j]", "H_theta_L[i,j]"])
def test_the_printed_text_evaluates_to_the_entries(what: str) -> None:
    """The lines are read back as they are printed: the first case that holds counts."""
    formula = formulas(what)
    lines = [
        re.fullmatch(r".*?\] = (.*?)(?:    (?:for (.*)|otherwise))?", line)
        for line in str(formula).splitlines()
    ]
    cosines: dict[str, Any] = {"math": math, "cos": math.cos, "sin": math.sin}
    q = list(np.random.default_rng(7).uniform(-3, 3, 8))
    for i, j in product(range(7), repeat=2):
        names = {**cosines, "i": i, "j": j, "n": 8, "q": q}
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
        assert abs(printed - value_at(entry, q)) < 1e-12, (i, j)


def test_the_latex_has_sums_and_cases() -> None:
    latex = formulas("M[i,j]").text("latex")
    assert r"\sum_{k=i+1}^{j}\sum_{l=j}^{n-1} \left(n - l\right) \cos\left(q_{k:l}\right)" in latex
    assert latex.count(r"\\") == 1
    assert latex.count("{") == latex.count("}")
    assert r"&& i \ge j" in latex


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
        ("planar_point_mass", "c[i]", "for 7 links an entry has more than 200 terms"),
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
