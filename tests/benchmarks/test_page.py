"""The benchmark page is generated from its figures, and README quotes these figures."""

from __future__ import annotations

import json
from typing import Any

import pytest

import symgen
from symgen.benchmarks.bench import STATES
from tests.peers import page
from tests.peers.contestants import DERIVATIVES, PLAIN
from tests.peers.measuring import ROUNDS


@pytest.fixture(scope="module")
def figures() -> dict[str, object]:
    return json.loads(page.FIGURES.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def test_the_page_is_what_the_figures_say(figures: dict[str, object]) -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.text(figures, ROUNDS, STATES)


@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_the_counts_of_the_page_are_those_of_today(figures: dict[str, object], robot: str) -> None:
    of = figures["robots"][robot]  # type: ignore[index]
    assert page.timed(of)[: len(PLAIN)] == [*PLAIN]
    for function in page.timed(of):
        assert of[function]["operations"]["symgen"] == symgen.program(robot, function).cost, (
            function
        )


def test_the_page_has_a_column_for_each_derivative_that_was_timed(
    figures: dict[str, object],
) -> None:
    """As soon as there are figures of them, which some peers have not."""
    robots = {
        name: {
            **robot_figures,
            **{f: robot_figures[f.removesuffix("_derivatives")] for f in DERIVATIVES},
        }
        for name, robot_figures in figures["robots"].items()
    }
    text = page.text({**figures, "robots": robots}, ROUNDS, STATES)
    heads = [
        line
        for line in text.splitlines()
        if line.startswith("|  | inverse dynamics") and "its inverse" in line
    ]
    assert heads
    assert all(
        line.endswith("| its inverse | ∂ inverse dynamics | ∂ forward dynamics |") for line in heads
    )
    assert page.OF_DERIVATIVES in text


def test_the_page_has_a_table_of_crowds_that_were_timed(figures: dict[str, Any]) -> None:
    """As soon as there are figures of them; who has none of a function has a dash."""
    slow = {"forward_dynamics": 1e6, "mass_matrix": 2e6}
    crowds = {function: {"MuJoCo, one thread": time} for function, time in slow.items()}
    crowds["forward_dynamics"] = {"symgen, solver, two threads": 25.4} | crowds["forward_dynamics"]
    robots = {
        name: {**robot_figures, "crowds": crowds}
        for name, robot_figures in figures["robots"].items()
    }
    lines = page.text({**figures, "robots": robots}, ROUNDS, STATES).splitlines()
    for row in (
        "|  | forward dynamics | mass matrix |",
        "| symgen, solver, two threads | 25 | – |",
        "| MuJoCo, one thread | 1000000 | 2000000 |",
    ):
        assert lines.count(row) == len(robots)
