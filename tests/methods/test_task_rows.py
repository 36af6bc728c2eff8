"""Task rows of the operational-space functions: identities, refusals, the command line, folders and
planted errors.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.cli import main
from symgen.methods.shared import task
from symgen.pipeline import build, derive
from symgen.support.errors import ArgumentError, RequestError, UnknownName
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.options import ProgramOptions
from tests.shared.robots_for_tests import random_mechanism

INERTIA, INVERSE = "operational_inertia", "dynamically_consistent_inverse"
ROBOT = random_mechanism(3, 2, "chain")


@pytest.mark.slow
def test_operational_space_functions_satisfy_their_identities() -> None:
    """Λ Λ⁻¹ = 1, J J̄ = 1 and M J̄ = Jᵀ Λ hold with a payload, for rows out of order, by two
    methods.
    """
    names = (INERTIA, INVERSE, "operational_inertia_inverse", "jacobian", "mass_matrix")
    for method in ("composite_body", "riccati"):
        requests = [f"{name}={method}" if name in (INERTIA, INVERSE) else name for name in names]
        report = symgen.verify(
            ROBOT, requests, 1, frame="link2", payload="link2", task_rows="z,wy", compiled=False
        )
        assert report.passed, str(report)
        assert {check.subject for check in report.of("identities")} >= {
            "Λ Λ⁻¹ = 1",
            "J J̄ = 1",
            "M J̄ = Jᵀ Λ",
        }


def test_task_rows_are_given_as_text_tuples_or_lists_of_names_and_numbers() -> None:
    for rows in ("x,y,2", (3, 4, "wz"), ["x", "4", 2]):
        assert ProgramOptions(task_rows=rows).rows == (3, 4, 2)
    assert ProgramOptions().rows == tuple(range(6))
    for rows in ("", (), "x,x", "x,,y"):
        with pytest.raises((ArgumentError, UnknownName)):
            ProgramOptions(task_rows=rows)
    with pytest.raises(UnknownName, match="no row of a task is named '6'"):
        ProgramOptions(task_rows="6")


@pytest.mark.parametrize(("name", "rows"), [("scara", "wz,x,y,z"), ("planar_arm", "wz,x")])
def test_dependent_task_rows_are_refused_with_the_independent_ones(name: str, rows: str) -> None:
    robot = symgen.load(name)
    for function in (INERTIA, INVERSE):
        with pytest.raises(
            RequestError,
            match=f"is singular in every state; use the independent rows --task-rows {rows}$",
        ):
            symgen.program(robot, function)
        assert (
            symgen.program(robot, function, task_rows=rows).outputs[0].shape[-1]
            == rows.count(",") + 1
        )
    with pytest.raises(RequestError, match="no joint moves them"):
        symgen.program(robot, INERTIA, task_rows="wx")


def test_a_folder_stores_its_task_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The header, the manifest and the command that regenerates the folder have the task rows."""
    out = tmp_path / "scara"
    assert main(["generate", "scara", "-f", INVERSE, "--task-rows", "3,4", "-o", str(out)]) == 0
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["options"]["task_rows"] == "x,y"
    words = shlex.split(manifest["command"])
    assert words[words.index("--task-rows") + 1] == "x,y"
    assert "#define scara_NK 2" in (out / "scara.h").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["verify", str(out), "--states", "2"]) == 0
    assert main(["verify", str(out), "--task-rows", "x"]) == 2
    assert "--task-rows does not apply" in capsys.readouterr().err
    assert main(["generate", "scara", "-f", INVERSE, "-o", str(out)]) == 2


@pytest.mark.slow
def test_an_error_in_the_elimination_is_caught_by_algebra_and_identities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solve = task.LDLFactor.solve
    monkeypatch.setattr(
        task.LDLFactor,
        "solve",
        lambda self, b, name, first=0: [
            x + b[0] if i else x for i, x in enumerate(solve(self, b, name, first))
        ],
    )
    options = ProgramOptions(frame="link2", task_rows="x,z")
    programs = {
        name: derive.Attempt(ROBOT, name, "udut", options).program() for name in (INERTIA, INVERSE)
    }
    helpers = {
        name: build.build_program(ROBOT, name, None, options)
        for name in ("operational_inertia_inverse", "jacobian")
    }
    report = verify_programs(
        Subject(ROBOT, programs, options, states=1, compiled=False, helpers=helpers)
    )
    for function in (INERTIA, INVERSE):
        assert not next(
            check for check in report.of("algebra") if check.subject.startswith(function)
        ).passed
    assert not any(
        check.passed
        for check in report.of("identities")
        if "J̄" in check.subject or "Λ" in check.subject
    )


def test_compiled_operational_space_functions_equal_numpy() -> None:
    solver = symgen.compile(
        "scara", [INERTIA, INVERSE, "jacobian", "mass_matrix"], task_rows="x,wz,z,y"
    )
    q = np.array([0.3, -1.1, 0.2, 0.4])
    J, M = solver.jacobian(q)[[3, 2, 5, 4]], solver.mass_matrix(q)
    inertia = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    np.testing.assert_allclose(solver.operational_inertia(q), inertia, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(
        solver.dynamically_consistent_inverse(q), np.linalg.solve(M, J.T) @ inertia, atol=1e-10
    )


def run_command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main([*words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.slow
def test_compare_measures_the_requested_task_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """The table has the operations of the Programs for these rows; every round-off is measured and
    judged.
    """
    code, out, _ = run_command(
        capsys,
        "compare",
        "scara",
        "-f",
        f"{INERTIA}=composite_body,riccati",
        "--task-rows",
        "x,wz",
        "--json",
    )
    assert code == 0
    figures_by_method = json.loads(out)["functions"][INERTIA]["methods"]
    for method, figures in figures_by_method.items():
        program = symgen.program("scara", INERTIA, method, task_rows="x,wz")
        assert (figures["mul"], figures["missing"], figures["not_judged"]) == (
            program.operations["mul"],
            {},
            {},
        )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["-f", INERTIA],
            "is singular in every state; use the independent rows --task-rows wz,x,y,z",
        ),
        (
            ["-f", INERTIA, "--task-rows", "q"],
            "no row of a task is named 'q'; there are: wx, wy, wz, x, y, z",
        ),
        (
            ["--task-rows", "x"],
            f"has a task, so --task-rows does not apply; name {INERTIA} or {INVERSE} with -f",
        ),
        (["-f", "mass_matrix", "--task-rows", "x"], "none of these functions has a task"),
    ],
)
def test_compare_refuses_wrong_task_rows_in_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_command(capsys, "compare", "scara", *words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_inspect_returns_the_requested_task_rows() -> None:
    """The formula has the Program's value, rows are addressed by name, and Λ of one row is 1 / Λ⁻¹
    of that row.
    """
    solver = symgen.compile(
        "planar_arm", [INERTIA, "operational_inertia_inverse"], task_rows="x,wz"
    )
    q = np.array([0.3, -0.7])
    expected, at = solver.operational_inertia(q), {"q0": "0.3", "q1": "-0.7"}
    matrix = symgen.inspect("planar_arm", "Lambda", at=at, task_rows="x,wz")
    assert np.allclose(np.array(matrix, dtype=float), expected, rtol=1e-12)
    entry = symgen.inspect("planar_arm", "Lambda[x,wz]", at=at, task_rows="x,wz")
    assert float(entry) == pytest.approx(expected[0, 1], rel=1e-12)
    single = symgen.inspect("planar_arm", "Lambda[x,x]", at=at, symbols="m", task_rows="x")
    masses = {
        f"m_{i}": float(sum(part.mass for part in body.parts))
        for i, body in enumerate(symgen.load("planar_arm").bodies)
    }
    assert {str(symbol) for symbol in single.free_symbols} == {*masses}
    value = single.subs({symbol: masses[str(symbol)] for symbol in single.free_symbols})
    assert float(value) == pytest.approx(1 / solver.operational_inertia_inverse(q)[3, 3], rel=1e-12)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["Lambda"], "is singular in every state; use the independent rows --task-rows wz,x"),
        (
            ["Lambda[x,y]", "--task-rows", "x,wz"],
            "no row of the task is named 'y'; there are: x, wz",
        ),
        (
            ["Lambda[2,0]", "--task-rows", "x,wz"],
            "index 2 is outside this robot's rows of the task; they count from 0 to 1",
        ),
        (
            ["M[0,0]", "--task-rows", "x"],
            "M does not depend on a task, so --task-rows does not apply;"
            " it applies to Lambda and Jbar",
        ),
        (["M", "--structure", "--task-rows", "x"], "--structure does not depend on task rows"),
        (["--task-rows", "x"], "--task-rows needs a quantity"),
    ],
)
def test_inspect_refuses_wrong_task_rows_in_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_command(capsys, "inspect", "planar_arm", *words)
    assert (code, out) == (2, "")
    assert sentence in err.splitlines()[-1]
    assert "Traceback" not in err


def test_pictures_and_lines_of_c_are_those_of_the_task_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "lambda.svg"
    assert (
        main(["inspect", "planar_arm", "Lambda", "--plot", str(picture), "--task-rows", "x,wz"])
        == 0
    )
    assert picture.stat().st_size > 1000
    capsys.readouterr()
    code, out, _ = run_command(
        capsys, "inspect", "planar_arm", "Jbar[0,wz]", "--where", "--task-rows", "x,wz"
    )
    assert code == 0
    assert f"planar_arm_{INVERSE}.c:" in out
    assert "Jbar[1] =" in out
