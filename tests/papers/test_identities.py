"""`prove_identities`: equations of the papers on a robot, and programs against the operators."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from symgen.cli import main
from symgen.description.loading import load
from symgen.mechanism.drives import Drive
from symgen.papers import identities, operators
from symgen.papers.identities import PAPERS, Identities, paper, prove_identities, without_drives
from symgen.papers.rk import EQUATIONS
from symgen.support.errors import RequestError, UnknownName


def by_name(result: Identities) -> dict[str, identities.PaperResult]:
    return {part.name: part for part in result.papers}


def test_every_equation_of_the_covering_papers_holds_for_every_state_of_the_planar_arm() -> None:
    result = prove_identities(load("planar_arm"), ["rk", "sa"])
    assert result.holds
    for part in result.papers:
        assert part.equations
        assert all(item.fails_symbolically is False for item in part.equations)
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
    assert [part.name for part in result.papers] == list(PAPERS)
    covered = {name for name, part in by_name(result).items() if part.equations}
    assert (
        covered
        == {
            "planar_point_mass:3": {"rk", "sa", "lc"},
            "scara": {"rk", "sa", "wc", "ff"},
            "free_body": {"rk", "wc", "ff"},
        }[robot]
    )
    for name, part in by_name(result).items():
        assert (not part.refusal) == (name in covered)


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
    (part,) = prove_identities(load("scara"), ["rk"], 1, programs=False).papers
    assert part.symbolic == 0


def test_an_expensive_symbolic_check_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "MOST_PRODUCTS", 2000)
    (part,) = prove_identities(load("planar_arm"), ["rk"], 1, programs=False).papers
    assert 0 < part.symbolic < len(part.equations)
    assert all(item.holds for item in part.equations)


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
