"""`prove_identities`: equations of the papers on a robot, and programs against the operators."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.cli import main
from symgen.description.loading import load
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Mechanism
from symgen.papers import identities, operators
from symgen.papers.identities import PAPERS, Identities, paper, prove_identities, without_drives
from symgen.papers.rk import EQUATIONS
from symgen.support.errors import RequestError, UnknownName


def by_name(result: Identities) -> dict[str, identities.PaperResult]:
    return {paper_result.name: paper_result for paper_result in result.papers}


def test_every_equation_of_the_covering_papers_holds_for_every_state_of_the_planar_arm() -> None:
    result = prove_identities(load("planar_arm"), ["rk", "sa"])
    assert result.holds
    for paper_result in result.papers:
        assert paper_result.equations
        assert all(item.fails_symbolically is False for item in paper_result.equations)
    assert {item.function for item in result.programs} == {
        "mass_matrix",
        "bias_force",
        "inverse_mass_matrix",
        "forward_dynamics",
    }


@pytest.mark.parametrize("robot", ["planar_point_mass:3", "scara", "free_body"])
def test_papers_that_do_not_cover_a_robot_say_why(robot: str) -> None:
    result = prove_identities(load(robot), states=1)
    assert result.holds
    assert [paper_result.name for paper_result in result.papers] == list(PAPERS)
    covered = {name for name, paper_result in by_name(result).items() if paper_result.equations}
    assert (
        covered
        == {
            "planar_point_mass:3": {"rk", "sa", "lc"},
            "scara": {"rk", "sa", "wc", "ff"},
            "free_body": {"rk", "wc", "ff"},
        }[robot]
    )
    for name, paper_result in by_name(result).items():
        assert (not paper_result.refusal) == (name in covered)


def test_a_wrong_equation_is_reported_and_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the abstract's inverse, Φ for Ψ, (4.16) fails on three links and more."""
    wrong = replace(
        next(item for item in EQUATIONS if item.number == "(4.16)"),
        left=lambda o: o.mass_matrix @ o.innovations.T @ o.D_inverse @ o.innovations,
    )
    monkeypatch.setattr(paper("rk"), "EQUATIONS", (wrong,))
    assert main(["prove", "scara", "--identities", "--papers", "rk"]) == 1
    assert "FAILS: (4.16)" in capsys.readouterr().out


def test_a_wrong_program_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of a robot with one mass changed miss the operators of the declared robot."""
    mechanism = load("planar_arm")
    body = mechanism.bodies[1]
    heavier = replace(body, parts=tuple(replace(p, mass=p.mass * 2) for p in body.parts))
    changed = replace(mechanism, bodies=(mechanism.bodies[0], heavier))
    compiled = identities.program
    monkeypatch.setattr(identities, "program", lambda _, function: compiled(changed, function))
    result = prove_identities(mechanism, ["rk"], 1)
    assert not result.holds
    assert all(item.digits < 3 for item in result.programs)
    assert str(result).count("FAILS") == len(result.programs)


def test_drives_closures_and_mimic_joints_are_left_out() -> None:
    mechanism = load("four_bar")
    damped = replace(
        mechanism,
        joints=tuple(
            replace(joint, drive=Drive(armature=Fraction(1), damping=Fraction(2)))
            for joint in mechanism.joints
        ),
    )
    result = prove_identities(damped, ["rk"], 1)
    assert result.holds
    assert len(result.programs) == 4
    assert not without_drives(damped).loops


def test_a_robot_of_more_than_three_velocities_is_checked_at_states_only() -> None:
    (paper_result,) = prove_identities(load("scara"), ["rk"], 1, programs=False).papers
    assert paper_result.symbolic == 0


def test_an_expensive_symbolic_check_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "MOST_PRODUCTS", 2000)
    (paper_result,) = prove_identities(load("planar_arm"), ["rk"], 1, programs=False).papers
    assert 0 < paper_result.symbolic < len(paper_result.equations)
    assert all(item.holds for item in paper_result.equations)


def test_no_states_and_unknown_papers_are_refused() -> None:
    mechanism = load("planar_arm")
    with pytest.raises(RequestError, match="0 states prove nothing"):
        prove_identities(mechanism, states=0)
    with pytest.raises(UnknownName, match="paper"):
        prove_identities(mechanism, ["rx"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-f", "mass_matrix"], "-f does not apply to --identities"),
        (["--trig", "inline"], "--trig does not apply to --identities"),
        (["--real", "float"], "--real does not apply to --identities"),
        (["--eva"], "--eva does not apply to --identities"),
        (["--acceleration", "3"], "--acceleration does not apply to --identities"),
        (["--ulps", "1"], "--ulps does not apply to --identities"),
    ],
)
def test_options_of_the_proof_of_bounds_are_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", "planar_arm", "--identities", *words]) == 2
    assert message in capsys.readouterr().err


def test_papers_without_identities_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "planar_arm", "--papers", "rk"]) == 2
    assert "add --identities" in capsys.readouterr().err


def test_json_has_every_equation(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["prove", "planar_arm", "--identities", "--papers", "rk", "--states", "1", "--json"]
    assert main(words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["holds"]
    assert facts["states"] == 1
    equations = facts["papers"]["rk"]["equations"]
    assert [item["number"] for item in equations] == [item.number for item in EQUATIONS]
    assert all(item["holds"] and item["for_every_state"] for item in equations)


def test_operators_of_a_robot_by_name_and_of_a_file(tmp_path: Path) -> None:
    o = operators("scara", "rk")
    assert o.mass_matrix == o.innovations @ o.D @ o.innovations.T
    with pytest.raises(RequestError, match="needs joints of one degree of freedom"):
        operators("free_body", "sa")


# -- robots and options beyond an arm on a fixed base ----------------------------------------------


def small_tree() -> Mechanism:
    """Two roots, one of which branches, with joints that turn, slide and do both."""
    robot = symgen.Robot("tree <1|2>")
    kinds = {"a": ("base", "revolute"), "b": ("base", "prismatic"), "c": ("b", "helical")}
    for n, (name, (parent, kind)) in enumerate(kinds.items()):
        numbers: dict[str, Any] = {
            "axis": (0, "3/5", "4/5"),
            "xyz": ("1/2", n, 0),
            "mass": n + 1,
            "centre": ("1/5", "1/7", 0),
            "inertia": ("1/10", 0, 0, "1/5", 0, "1/4"),
        } | ({"pitch": "1/10"} if kind == "helical" else {})
        robot.body(f"{name} $x_1$", parent=parent and _named(parent), type=kind, **numbers)
    return robot.build()


def _named(parent: str) -> str:
    return parent if parent == "base" else f"{parent} $x_1$"


def test_every_paper_for_bodies_holds_on_two_roots_with_odd_names() -> None:
    result = prove_identities(small_tree(), states=1)
    assert result.holds
    assert {n for n, paper_result in by_name(result).items() if paper_result.equations} == {
        "rk",
        "sa",
        "wc",
        "ff",
    }
    assert "'b $x_1$'" in by_name(result)["lc"].refusal


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["planar_arm", "--base", "free", "--papers", "rk"],
            "singular for the joint of link 'base'",
        ),
        (
            ["planar_arm", "--base", "free", "--papers", "sa"],
            "the joint of link 'base' of 'planar_arm' has 6",
        ),
        (["planar_arm", "--papers", "rk,"], "no paper is named ''"),
        (["planar_arm", "--papers", "RK"], "no paper is named 'RK'; there are: rk, sa, lc, wc, ff"),
        (["planar_arm", "--states", "-1"], "-1 states prove nothing"),
        (["planar_arm", "--parameter", "gravity"], "--parameter does not apply to --identities"),
    ],
)
def test_a_request_without_an_answer_is_one_sentence(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", *words, "--identities"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "count", "states"),
    [
        (["planar_point_mass:1", "--papers", "rk,lc,rk", "--states", "1"], 2, "1 random state\n"),
        (["free_body", "--papers", "rk, ff", "--states", "2"], 2, "2 random states\n"),
        (["scara", "--lock", "joint3", "--papers", "sa", "--states", "1"], 1, "1 random state\n"),
    ],
)
def test_papers_are_named_once_and_states_counted(
    words: list[str], count: int, states: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", *words, "--identities"]) == 0
    text = capsys.readouterr().out
    assert text.count(" hold") == count
    assert f"exact rationals at {states}" in text


def coupled_arm() -> Mechanism:
    robot = symgen.Robot("coupled")
    for name, parent in (("a", "base"), ("b", "a")):
        mimic = {"joint": "a_joint", "multiplier": 2} if name == "b" else None
        robot.body(
            name,
            parent=parent,
            type="revolute",
            axis=(0, 0, 1),
            mass=1,
            centre=(1, 0, 0),
            mimic=mimic,
        )
    return robot.build(mimic="couple")


def driven_tree() -> Mechanism:
    first, *more_joints = small_tree().joints
    return replace(
        small_tree(), joints=(replace(first, drive=Drive(damping=Fraction(2))), *more_joints)
    )


@pytest.mark.parametrize(
    ("robot", "clause"),
    [
        (small_tree, ""),
        (lambda: load("four_bar"), "loop closures are left out"),
        (driven_tree, "drives are left out"),
        (coupled_arm, "mimic joints count as independent"),
    ],
)
def test_parts_that_the_papers_do_not_have_are_named(
    robot: Callable[[], Mechanism], clause: str
) -> None:
    result = prove_identities(robot(), ["rk"], 1, programs=False)
    assert result.left_out == clause
    assert clause in str(result)
    assert result.facts()["left_out"] == (clause or None)


def test_progress_is_shown_on_a_terminal_and_not_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["prove", "planar_point_mass:1", "--identities", "--papers", "rk", "--states", "1"]
    assert main(words) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert main(words) == 0
    error = capsys.readouterr().err
    assert "[1/2] equations of Rodriguez & Kreutz 1988" in error
    assert "[2/2] programs against the operators" in error
    assert error.endswith("\r\033[K")
