"""A function that is too long is missing from the folder, and the others are written: exit code, console, manifest, README."""

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
    "forward_dynamics:jacobian": (60, "forward_dynamics:jacobian needs"),  # of its rows
    "step_rk4:jacobian": (
        400,
        "step_rk4:jacobian of 'planar_arm' needs more than 400 rows",
    ),  # by the chain rule
    "inverse_dynamics_derivatives": (
        20,
        "inverse_dynamics_derivatives of 'planar_arm' (2 joints) needs more than 20 rows by",
    ),
    "forward_dynamics=composite_body": (
        20,
        "forward_dynamics of 'planar_arm' by composite_body needs more than 20 rows",
    ),
}
"""Rows at most, with which a request is too long beside `mass_matrix`, and what is said of it."""


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Forget before and after what another limit gave."""
    forget()
    yield
    forget()


def forget() -> None:
    for remembered in REMEMBERED:
        remembered.cache_clear()


def limit(patch: pytest.MonkeyPatch, rows: int) -> None:
    for module in (derive, differentiation):
        patch.setattr(module, "ROW_BUDGET", rows)


@pytest.mark.parametrize("request_", CASES)
def test_the_rest_is_written_and_what_is_missing_is_said(
    request_: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows, why = CASES[request_]
    limit(monkeypatch, rows)
    folder = tmp_path / "arm"
    words = ["generate", "planar_arm", "-f", "mass_matrix", "-f", request_, "-o", str(folder)]
    assert main(words) == 1
    name = request_.partition("=")[0]
    assert f"symgen: {name} is missing: {why}" in capsys.readouterr().err
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert [*manifest["functions"]] == ["mass_matrix"]
    (entry,) = (one for one in manifest["not_modelled"] if one["kind"] == "missing")
    assert entry["functions"] == [request_]
    assert entry["text"].startswith(why)
    assert not any(
        name in one.get("functions", ())
        for one in manifest["not_modelled"]
        if one["kind"] == "functions"
    )
    assert "- **missing**: " in (folder / "README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(folder)
    assert main(shlex.split(manifest["command"])[1:]) == 1
    assert content(tmp_path / "planar_arm-again") == content(folder)


def test_a_folder_with_a_missing_function_is_verified_until_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        limit(patch, 60)
        with pytest.warns(symgen.SymgenWarning, match="missing: forward_dynamics:jacobian needs"):
            symgen.generate(
                "planar_arm", tmp_path / "arm", ["mass_matrix", "forward_dynamics:jacobian"]
            )
        assert verify(tmp_path / "arm", states=2).passed
    forget()
    assert not verify(tmp_path / "arm", states=2).passed


def test_how_long_a_derivative_is_is_found_out_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, once = [], differentiation.shortest_derivative
    monkeypatch.setattr(
        differentiation, "shortest_derivative", lambda *rest: built.append(rest) or once(*rest)
    )
    limit(monkeypatch, 60)
    wanted = ["-f", "mass_matrix", "-f", "forward_dynamics:jacobian", "-o", str(tmp_path / "arm")]
    assert main(["generate", "planar_arm", *wanted]) == 1
    assert len(built) == 1


@pytest.mark.parametrize("strict", [True, False])
def test_everything_is_refused_where_that_is_asked_for_or_nothing_is_left(
    strict: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    limit(monkeypatch, 60)
    wanted = ["mass_matrix"] * strict + ["forward_dynamics:jacobian", "forward_dynamics:hvp"]
    with pytest.raises(TooLong):
        symgen.generate("planar_arm", tmp_path / "arm", wanted, strict=strict)
    flags = [word for name in wanted for word in ("-f", name)] + ["--strict"] * strict
    assert main(["generate", "planar_arm", *flags, "-o", str(tmp_path / "arm")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "arm").exists()
    with pytest.raises(OutOfReach):  # a solver has every function that it was asked for
        symgen.compile("planar_arm", ["mass_matrix", "forward_dynamics:jacobian"])


def test_more_joints_than_rows_are_written_for_leave_the_loops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.modules[refuse_many_joints.__module__], "MOST_JOINTS", 60)
    wanted = ["-f", "forward_kinematics", "-f", "inverse_dynamics:jvp", "--functions-only"]
    assert main(["generate", "planar_point_mass:61", *wanted, "-o", str(tmp_path / "c")]) == 1
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
