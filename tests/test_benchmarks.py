"""The page of benchmarks is what its figures say, and what README tells of it stands there."""

from __future__ import annotations

import json

import pytest

import symgen
from symgen.measuring.bench import STATES
from tests.peers import page
from tests.peers.contestants import FUNCTIONS
from tests.peers.measuring import ROUNDS


@pytest.fixture(scope="module")
def figures() -> dict[str, object]:
    return json.loads(page.FIGURES.read_text(encoding="utf-8"))   # type: ignore[no-any-return]


def test_the_page_is_what_the_figures_say(figures: dict[str, object]) -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.text(figures, ROUNDS, STATES)


@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_the_counts_of_the_page_are_those_of_today(figures: dict[str, object], robot: str) -> None:
    of = figures["robots"][robot]   # type: ignore[index]
    assert {f: of[f]["operations"]["symgen"] for f in FUNCTIONS} == {f: symgen.program(robot, f).cost for f in FUNCTIONS}
