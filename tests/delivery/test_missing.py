"""Functions that are too long are left out of the folder, and all outputs say so."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import symgen
from symgen.cli import main
from symgen.delivery.verifying import verify
from symgen.derivation.model import refuse_many_joints
from symgen.pipeline import build, derive, differentiation
from symgen.support.errors import OutOfReach, TooLong
from tests.shared.folder_content import content

REMEMBERED = (build._build, derive._attempt)
CASES = {
    "forward_dynamics:jacobian": (
        60,
        "forward_dynamics:jacobian needs",
    ),  # its rows exceed the limit
    "step_rk4:jacobian": (
        400,
        "step_rk4:jacobian of 'planar_arm' needs more than 400 rows",
    ),  # the chain rule exceeds the limit
    "inverse_dynamics_derivatives": (
        20,
        "inverse_dynamics_derivatives of 'planar_arm' (2 joints) needs more than 20 rows by",
    ),
    "forward_dynamics=composite_body": (
        20,
        "forward_dynamics of 'planar_arm' by composite_body needs more than 20 rows",
    ),
}
"""Request -> limit of rows that makes it too long, and part of the message."""


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Clear caches before and after, since they depend on the limit."""
    forget()
    yield
    forget()


def forget() -> None:
    for remembered in REMEMBERED:
        remembered.cache_clear()


def limit_rows(patch: pytest.MonkeyPatch, rows: int) -> None:
    for module in (derive, differentiation):
        patch.setattr(module, "ROW_BUDGET", rows)


@pytest.mark.parametrize("request_", CASES)
def test_other_functions_are_written_and_the_missing_one_is_named(
    request_: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows, why = CASES[request_]
    limit_rows(monkeypatch, rows)
    folder = tmp_path / "arm"
    words = ["generate", "planar_arm", "-f", "mass_matrix", "-f", request_, "-o", str(folder)]
    assert main(words) == 1
    name = request_.partition("=")[0]
    assert f"symgen: {name} is missing: {why}" in capsys.readouterr().err
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert [*manifest["functions"]] == ["mass_matrix"]
    (entry,) = (omission for omission in manifest["not_modelled"] if omission["kind"] == "missing")
    assert entry["functions"] == [request_]
    assert entry["text"].startswith(why)
    assert not any(
        name in omission.get("functions", ())
        for omission in manifest["not_modelled"]
        if omission["kind"] == "functions"
    )
    assert "- **missing**: " in (folder / "README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(folder)
    assert main(shlex.split(manifest["command"])[1:]) == 1
    assert content(tmp_path / "planar_arm-again") == content(folder)


def test_a_missing_function_fails_verify_once_it_can_be_generated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        limit_rows(patch, 60)
        with pytest.warns(symgen.SymgenWarning, match="missing: forward_dynamics:jacobian needs"):
            symgen.generate(
                "planar_arm", tmp_path / "arm", ["mass_matrix", "forward_dynamics:jacobian"]
            )
        assert verify(tmp_path / "arm", states=2).passed
    forget()
    assert not verify(tmp_path / "arm", states=2).passed


def test_the_length_of_a_derivative_is_computed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, once = [], differentiation.shortest_derivative
    monkeypatch.setattr(
        differentiation,
        "shortest_derivative",
        lambda *arguments: built.append(arguments) or once(*arguments),
    )
    limit_rows(monkeypatch, 60)
    requested = [
        "-f",
        "mass_matrix",
        "-f",
        "forward_dynamics:jacobian",
        "-o",
        str(tmp_path / "arm"),
    ]
    assert main(["generate", "planar_arm", *requested]) == 1
    assert len(built) == 1


@pytest.mark.parametrize("strict", [True, False])
def test_strict_or_no_function_left_refuses_everything(
    strict: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    limit_rows(monkeypatch, 60)
    requested = ["mass_matrix"] * strict + ["forward_dynamics:jacobian", "forward_dynamics:hvp"]
    with pytest.raises(TooLong):
        symgen.generate("planar_arm", tmp_path / "arm", requested, strict=strict)
    flags = [word for name in requested for word in ("-f", name)] + ["--strict"] * strict
    assert main(["generate", "planar_arm", *flags, "-o", str(tmp_path / "arm")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "arm").exists()
    with pytest.raises(OutOfReach):  # a solver must have all requested functions
        symgen.compile("planar_arm", ["mass_matrix", "forward_dynamics:jacobian"])


def test_too_many_joints_for_rows_leave_only_looped_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.modules[refuse_many_joints.__module__], "MOST_JOINTS", 60)
    requested = ["-f", "forward_kinematics", "-f", "inverse_dynamics:jvp", "--functions-only"]
    assert main(["generate", "planar_point_mass:61", *requested, "-o", str(tmp_path / "c")]) == 1
    assert (
        "inverse_dynamics:jvp is missing: planar_point_mass: 61 joints move"
        in capsys.readouterr().err
    )
    assert [path.name for path in (tmp_path / "c").glob("*.c")] == [
        "planar_point_mass_forward_kinematics.c"
    ]
    assert "for (" in (tmp_path / "c" / "planar_point_mass_forward_kinematics.c").read_text(
        encoding="utf-8"
    )
