"""Facts of closed loops that derivations use: computed once, cached, refused in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import loop_closure
from symgen.reference import assembling
from symgen.reference.assembling import Assembly, OpenLoops
from symgen.support import cache
from symgen.support.errors import ArgumentError, OutOfReach
from tests.shared.robots_for_tests import random_mechanism

CLOSURE = Assembly(
    (0.25, -1.5, 3.0),
    ((0, 1), (2,)),
    2,
    (1, 2),
    (0, 2),
    0.125,
    (1,),
    (0, 2),
    "the crank turns alone",
    True,
)
OPEN = random_mechanism(3, 1)


@pytest.fixture
def closed() -> Mechanism:
    return symgen.load("four_bar")


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    with cache.in_memory():
        loop_closure.assembly.cache_clear()
        yield
    loop_closure.assembly.cache_clear()


@pytest.mark.parametrize("error", [None, OpenLoops("the loops of 'robot' stay open")])
def test_an_assembly_or_its_refusal_is_computed_once(
    monkeypatch: pytest.MonkeyPatch, closed: Mechanism, error: OpenLoops | None
) -> None:
    """All of its facts come back from the cache."""
    calls: list[int] = []

    def assemble(mechanism: Mechanism) -> Assembly:
        calls.append(1)
        if error is not None:
            raise error
        return CLOSURE

    monkeypatch.setattr(assembling, "assemble", assemble)
    for _ in range(2):
        loop_closure.assembly.cache_clear()
        if error is None:
            assert loop_closure.assembly(closed) == CLOSURE
        else:
            with pytest.raises(OutOfReach, match=r"^the loops of 'robot' stay open$"):
                loop_closure.assembly(closed)
    assert len(calls) == 1


def test_sizes_are_rows_independent_and_actuated_velocities(
    monkeypatch: pytest.MonkeyPatch, closed: Mechanism
) -> None:
    monkeypatch.setattr(assembling, "assemble", lambda mechanism: CLOSURE)
    assert loop_closure.rows(closed) == 3
    assert loop_closure.rows(OPEN) == 0
    assert loop_closure.sizes(closed) == {"NL": 3, "NI": closed.nv - 2, "NA": 1}


def test_functions_depend_on_loops_that_they_keep_closed(closed: Mechanism) -> None:
    for function, depends in (
        ("constrained_forward_dynamics", True),
        ("constraint_residual", True),
        ("forward_dynamics", False),
        ("mass_matrix", False),
    ):
        assert loop_closure.depends_on_loops(closed, function) == depends
        assert not loop_closure.depends_on_loops(OPEN, function)


def test_independent_rows_need_one_solve(
    monkeypatch: pytest.MonkeyPatch, closed: Mechanism
) -> None:
    """For redundant rows the number of solves is computed once."""
    from symgen.reference import constrained

    calls: list[int] = []

    def count(*_: object) -> int:
        calls.append(1)
        return 5

    monkeypatch.setattr(constrained, "solve_count", count)
    for rank, solves in ((3, 1), (2, 5)):
        closure = replace(CLOSURE, rank=rank)
        assert closure.redundant == 3 - rank
        monkeypatch.setattr(loop_closure, "assembly", lambda mechanism, closure=closure: closure)
        for _ in range(2):
            loop_closure.solve_count.cache_clear()
            assert loop_closure.solve_count(closed) == solves
    assert len(calls) == 1
    loop_closure.solve_count.cache_clear()


@pytest.mark.parametrize("anywhere", [True, False])
@pytest.mark.parametrize("rounded", [True, False])
def test_a_linkage_has_the_facts_of_its_assembly(
    monkeypatch: pytest.MonkeyPatch, closed: Mechanism, anywhere: bool, rounded: bool
) -> None:
    """Rounded descriptions leave the frames of loops open, by little."""
    monkeypatch.setattr(assembling, "assemble", lambda mechanism: replace(CLOSURE, rounded=rounded))
    monkeypatch.setattr(loop_closure, "solve_count", lambda mechanism: 4)
    monkeypatch.setattr(loop_closure, "arm_ranks", lambda mechanism: ((1, 2),))
    monkeypatch.setattr(loop_closure, "closings", lambda *facts: facts)
    linkage = SimpleNamespace(model="model")
    loop_closure.configure_linkage(linkage, closed, anywhere)  # type: ignore[arg-type]
    assert linkage.loops == ("model", closed, CLOSURE.kept, ((1, 2),))
    assert linkage.loops_may_be_open == (anywhere or rounded)
    assert (linkage.solves, linkage.dependent) == (4, CLOSURE.eliminated)
    assert (linkage.actuated, linkage.passive) == (CLOSURE.actuated, CLOSURE.passive)


def test_gains_need_closed_loops(closed: Mechanism) -> None:
    loop_closure.validate(closed, True)
    loop_closure.validate(OPEN, False)
    with pytest.raises(ArgumentError, match="has no closed loops, which --baumgarte stabilizes"):
        loop_closure.validate(OPEN, True)


def test_functions_of_closed_loops_are_refused_without_any(closed: Mechanism) -> None:
    """Loops that constrain nothing have been left out with a note."""
    function = "constraint_jacobian"
    idle = replace(OPEN, notes=(SimpleNamespace(kind="idle"),))  # type: ignore[arg-type]
    assert loop_closure.refusal(OPEN, "forward_dynamics") is None
    assert loop_closure.refusal(closed, function) is None
    without, constraining_nothing = (
        loop_closure.refusal(robot, function) or "" for robot in (OPEN, idle)
    )
    assert without.startswith(f"{function} needs closed loops, and '{OPEN.name}' has none; declare")
    assert constraining_nothing.startswith(f"{function} needs closed loops, and the loops of")


@pytest.mark.parametrize("why", ["the crank turns alone", ""])
@pytest.mark.parametrize("declared", [True, False])
def test_actuated_joints_that_cannot_move_all_are_a_reason_against_their_forces(
    monkeypatch: pytest.MonkeyPatch, closed: Mechanism, why: str, declared: bool
) -> None:
    """Functions without their forces exist; without declared joints, any that suffice are taken."""
    monkeypatch.setattr(assembling, "assemble", lambda mechanism: replace(CLOSURE, unmoved=why))
    robot = replace(closed, actuated=(closed.joints[0].name,) if declared else ())
    function = "constrained_inverse_dynamics"
    expected = f"{function}: {why}" if why and declared else None
    assert loop_closure.refusal(robot, function) == expected
    assert loop_closure.refusal(robot, "constraint_jacobian") is None
