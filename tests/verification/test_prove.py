"""`symgen prove`: printed tables and JSON facts for robots and for generated folders."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from symgen import generate
from symgen.cli import main
from symgen.pipeline.build import programs, refusal
from symgen.verification.proof import certified_bounds, prove, prove_programs
from symgen.vocabulary.functions import PROVED_BY_DEFAULT
from symgen.vocabulary.options import HOST, ProgramOptions, TextOptions
from tests.shared.bars import pendulum
from tests.shared.robots_for_tests import robot

FEW_STATES = ("--states", "300")


def test_the_tables_list_masses_ranges_and_certified_divisors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["prove", "scara", "--real", "float", *FEW_STATES]) == 0
    out = capsys.readouterr().out
    assert "joint3  link3       1.5  kg" in out
    assert "divisors of forward_dynamics=" in out
    assert "the ranges" in out
    assert "300 states" in out
    assert "joint1, joint2, joint4: no velocity limit declared, ±5 rad/s assumed" in out
    assert out.rstrip().endswith(
        "scara: 1 of 1 divisors certified; no observation exceeds its bound"
    )


@pytest.mark.slow
def test_facts_of_the_command_equal_those_of_the_library(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        main(["prove", "ur5", "--real", "float", "-f", "forward_dynamics", "--json", *FEW_STATES])
        == 0
    )
    facts = json.loads(capsys.readouterr().out)
    options = ProgramOptions("float", frame=None)
    requested = programs(robot("ur5"), ["forward_dynamics"], options)
    divisor_bounds = certified_bounds(
        robot("ur5"), requested["forward_dynamics"], options, TextOptions(HOST)
    )
    divisors = facts["functions"]["forward_dynamics"]["divisors"]
    assert {d["row"]: d["certified"] for d in divisors} == {
        row: float(certificate) for row, certificate in divisor_bounds.items()
    }
    assert all(
        d["exact"] >= d["certified"] > 0 and d["least_seen"] >= d["certified"] for d in divisors
    )
    assert [joint["link"] for joint in facts["joints"]] == [
        body.name for body in robot("ur5").bodies
    ]
    assert facts["ranges"]["q"][2] == pytest.approx([-3.14159265359, 3.14159265359])
    uncompiled_facts = prove_programs(
        robot("ur5"), requested, options, states=100, compiled=False
    ).facts()
    assert (
        uncompiled_facts["functions"]["forward_dynamics"]["round_off"]["results"]["a"]["observed"]
        is None
    )
    assert json.dumps(uncompiled_facts) == json.dumps(
        prove_programs(robot("ur5"), requested, options, states=100, compiled=False).facts()
    )


@pytest.mark.parametrize("name", ["planar_arm", "planar_point_mass", "chain3", "square_tree6"])
def test_every_robot_has_a_proof_that_holds(name: str) -> None:
    functions = [
        function for function in PROVED_BY_DEFAULT if refusal(robot(name), function, None) is None
    ]
    proof = prove(robot(name), functions, ProgramOptions("float"), states=100)
    assert proof.holds
    assert str(proof)
    for function in proof.functions:
        for divisor in function.divisors:
            assert divisor.certificate.certified != bool(divisor.certificate.reason)


@pytest.mark.parametrize("with_eva", [False, True])
def test_progress_counts_up_to_its_total(with_eva: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symgen.verification.proof.prove_finite", lambda *_: None)
    steps: list[tuple[str, int, int]] = []
    prove(
        robot("planar_arm"),
        ["mass_matrix", "forward_dynamics"],
        states=2,
        with_eva=with_eva,
        progress=lambda *step: steps.append(step),
    )
    total = 5 + with_eva
    assert [step[1:] for step in steps] == [(0, 1), *((done, total) for done in range(total))]


def test_a_generated_folder_is_proved_and_a_change_contradicts_the_proof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "scara"
    generate(robot("scara"), folder, ["mass_matrix", "forward_dynamics"], real="float", name="arm")
    assert main(["prove", str(folder), *FEW_STATES]) == 0
    assert "scara, float" in capsys.readouterr().out
    source = next(folder.rglob("arm_mass_matrix.c"))
    text = source.read_text(encoding="utf-8")
    wrong = text.replace("cosf(", "sinf(", 1)
    assert wrong != text
    source.write_text(wrong, encoding="utf-8")
    assert main(["prove", str(folder), *FEW_STATES]) == 1
    assert "CONTRADICTED by observations: mass_matrix" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--acceleration", "0"], "--acceleration 0 is not a positive number"),
        (["--acceleration", "much"], "--acceleration much is not a positive number"),
        (["--ulps", "-1"], "--ulps -1 is not a positive number"),
        (["--states", "0"], "states must be at least 1, and is 0"),
        (["-f", "mass_matrices"], "mass_matrix"),
        (["--trig", "tables"], "libm"),
    ],
)
def test_a_wrong_option_of_prove_is_refused_in_one_line(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", "scara", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("symgen: ")
    assert sentence in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_wider_ranges_and_worse_sines_give_larger_bounds() -> None:
    def bound(**options: Any) -> float:
        proof = prove(
            robot("puma560"),
            ["inverse_dynamics"],
            ProgramOptions("float"),
            states=10,
            compiled=False,
            **options,
        )
        return proof.functions[0].round_off.most("tau")

    assert bound() < bound(acceleration=Fraction(100))
    assert bound() < bound(trig_ulps=2.0)


@pytest.mark.slow
def test_functions_of_loops_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate(robot("scara"), tmp_path / "scara", ["forward_dynamics"], form="looped")
    assert main(["prove", str(tmp_path / "scara"), *FEW_STATES]) == 2
    assert (
        "forward_dynamics is in looped form, for which no bounds over ranges can be proved"
        in capsys.readouterr().err
    )


def test_a_selected_function_of_a_folder_is_proved(tmp_path: Path) -> None:
    generate(pendulum(), tmp_path / "rows", ["gravity_force"], name="arm")
    proof = prove(tmp_path / "rows", ["gravity_force"], states=2, compiled=False)
    assert [proved.function for proved in proof.functions] == ["gravity_force"]
