"""Letters of the papers that no method derives: their canonical forms, and what they agree with."""

from __future__ import annotations

from pathlib import Path

import pytest
import sympy as sp

import symgen
from symgen import methods
from symgen.cli import main
from symgen.description.loading import load
from symgen.inspection import paper_letters
from symgen.inspection.canonical import TooLong
from symgen.inspection.catalogue import results
from symgen.inspection.paper_letters import (
    PAPERS_OF_METHOD,
    letters_of,
    method_of,
    paper_letter,
    paper_operators,
)
from symgen.inspection.reading import FormulaOptions, read
from symgen.inspection.request import parse_request
from symgen.papers.identities import PAPERS, paper
from symgen.support.errors import RequestError


def form(robot: str, what: str, name: str) -> str:
    words = parse_request(what)
    assert words is not None
    return paper_letter(load(robot), name, words)[0].text(full=True)


SAME = [
    (
        "scara",
        "riccati",
        "rk",
        ["P[0]", "D[1]", "G[2]", "L[3]", "H[0]", "phi[0,3]", "psi[0,2]", "Omega[1]"],
    ),
    ("planar_arm", "riccati", "rk", ["P[0]", "psi[0,1]", "Omega[0]"]),
    ("planar_point_mass:3", "fixman", "lc", ["H_L_L[1,2]", "H_theta_theta[0,2]"]),
    ("ur5", "constraint_force", "ff", ["A[1,2]", "H_aa[0,1]", "W_a[2]"]),
]
"""Letters that the method derives in the same axes."""


@pytest.mark.parametrize(("robot", "method", "name", "whats"), SAME)
def test_letters_of_a_method_equal_those_of_the_papers_operators(
    robot: str, method: str, name: str, whats: list[str]
) -> None:
    """Two derivations that share no code give equal strings."""
    for what in whats:
        derived = read(load(robot), what, method, FormulaOptions()).value
        assert derived.text(full=True) == form(robot, what, name), what


def test_innovations_are_u_and_whitening_its_inverse() -> None:
    U = symgen.inspect("planar_arm", "U", "udut", form="multiangle")
    assert U.text() == form("planar_arm", "innovations", "rk")
    product = symgen.inspect("planar_arm", "innovations") * symgen.inspect(
        "planar_arm", "whitening"
    )
    assert product.applyfunc(lambda x: x.expand()) == sp.eye(2)


def test_accelerations_of_fd4_are_those_of_forward_dynamics() -> None:
    """Both over the symbols of the state, at a numeric state."""
    by_paper = symgen.inspect("planar_arm", "theta_ddot")
    program = symgen.inspect("planar_arm", "a")
    values = {"q0": 0.3, "q1": 0.7, "v0": -0.4, "v1": 0.9, "tau0": 2.0, "tau1": -1.0}
    for k in range(2):
        ours, theirs = (
            float(matrix[k].subs({s: values[s.name] for s in matrix[k].free_symbols}))
            for matrix in (by_paper, program)
        )
        assert ours == pytest.approx(theirs, rel=1e-12)


def test_blocks_outside_the_structure_are_zero_with_a_note(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["inspect", "planar_arm", "Phi[1,0]", "--method", "riccati"]) == 0
    output = capsys.readouterr()
    assert "Phi[1,0] is zero" in output.err
    assert output.out.count("0") == 36


@pytest.mark.parametrize("format", ["text", "latex", "python", "c"])
def test_every_format_is_printed(format: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "planar_arm", "innovations", "--format", format]) == 0
    assert "q1" in capsys.readouterr().out.replace("q_{1}", "q1")


def test_one_entry_of_a_block(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "planar_arm", "z[1][3,0]"]) == 0
    assert capsys.readouterr().out == "-0.5*v0*v1 - 0.25*v0**2 - 0.25*v1**2\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["Phi[0]"], "has 1 indices, Phi takes 2"),
        (["Phi[0,5]"], "index 5 is outside this robot's joints"),
        (["z[1][3]"], "write two, as in z[1][0,0]"),
        (["z[1][9,0]"], "index '9' is outside z[1], whose rows"),
        (["Phi", "--form", "recursive"], "leave --form recursive out"),
        (["Phi", "--at", "q0=1"], "leave --at out"),
        (["Phi", "--symbols", "m"], "leave --symbols out"),
        (["Phi", "--where"], "no generated function computes"),
        (["Phi", "--plot", "a.svg"], "leave --plot out"),
        (["Phi", "--method", "udut"], "udut has no quantity 'Phi'"),
    ],
)
def test_a_wrong_request_is_one_sentence(
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["inspect", "planar_arm", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("robot", "message"),
    [("bennett", "irrational rotations")],
)
def test_a_robot_without_canonical_operators_says_so(robot: str, message: str) -> None:
    with pytest.raises(TooLong, match=message):
        form(robot, "Phi", "rk")


def test_a_block_that_takes_too_long_names_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper_letters, "QUICK", 5)
    paper_operators.cache_clear()
    with pytest.raises(
        TooLong, match=r"P\[0\] takes more than 5 products .* symgen.papers.operators"
    ):
        form("scara", "P[0]", "rk")
    paper_operators.cache_clear()


def test_a_paper_that_does_not_cover_the_robot_is_refused() -> None:
    with pytest.raises(RequestError, match="need a point mass at the end of every link"):
        read(load("planar_arm"), "L_h", "fixman")


@pytest.mark.parametrize("method", PAPERS_OF_METHOD)
def test_no_letter_hides_a_result_that_the_method_computes(method: str) -> None:
    """Names of results win; so a letter with such a name could never be asked for."""
    computed = {
        name for name, item in results().items() if method in methods.providers(item.function)
    }
    assert not computed & {letter.name for _, letter in letters_of(method)}


@pytest.mark.parametrize("name", PAPERS)
def test_letters_of_a_paper_have_different_names_and_equations_name_existing_ones(
    name: str,
) -> None:
    module = paper(name)
    names = [letter.name for letter in module.LETTERS]
    assert len(set(names)) == len(names)
    derived = methods.find(method_of(name)).quantities
    shown = {letter for equation in module.EQUATIONS for letter in equation.letters}
    assert shown <= {*names, *derived}
    numbers = [equation.number for equation in module.EQUATIONS]
    assert len(set(numbers)) == len(numbers)


def test_the_list_has_the_operators_and_why_a_paper_has_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["inspect", "scara"]) == 0
    text = capsys.readouterr().out
    assert "operators of Rodriguez & Kreutz 1988 (--method riccati)" in text
    assert "  Psi[i,j]" in text
    assert "L_h, U_h: not available: Lee & Chirikjian 2005 need" in text
