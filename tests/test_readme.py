"""The README shows what is true: its code runs, its C is the C, its counts are the counts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import symgen
from symgen import methods
from symgen.functions import FUNCTIONS
from symgen.programs import making

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_the_c_shown_is_the_c_that_comes_out() -> None:
    assert blocks("c") == [(ROOT / "generated/planar_arm/planar_arm_forward_dynamics.c").read_text(encoding="utf-8")]


def test_the_python_shown_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(block, names)
    assert names["report"].passed   # type: ignore[attr-defined]
    assert "cos(q1)/2 + 7/4" in capsys.readouterr().out
    assert (tmp_path / "out/panda/panda_inverse_dynamics.c").exists()


def test_the_description_shown_is_a_robot(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    (tmp_path / "two_link.toml").write_text(text, encoding="utf-8")
    robot = symgen.load(tmp_path / "two_link.toml")
    assert robot.nv == 2
    assert symgen.verify(robot, ["forward_dynamics"], compiled=False).passed


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_tables_say_what_each_function_costs_and_who_computes_it(function: str) -> None:
    program = making.programs(symgen.load("panda"))[function]
    assert f"| `{function}` | `{program.method}` | {program.cost} | {program.depth} |" in README
    row = next(line for line in README.splitlines() if line.startswith(f"| `{function}` | ") and "→" in line)
    assert row.endswith(f"| {', '.join(f'`{m}`' for m in methods.providers(function))} |")


@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_the_figures_are_the_counts(robot: str) -> None:
    programs = making.programs(symgen.load(robot), ["inverse_dynamics", "mass_matrix", "forward_dynamics"])
    wanted = [programs[name].cost for name in ("inverse_dynamics", "mass_matrix", "forward_dynamics")]
    assert " / ".join(map(str, wanted)) in README


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
