"""Metamorphic relations: two descriptions of one problem give the same results.

The relations test the reference, the joint types and the readers, which the other tests take as
correct.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.build import build_program
from symgen.vocabulary.functions import BY_DEFAULT, FUNCTIONS
from tests.metamorphic import RELATIONS, Links, compare
from tests.metamorphic.mechanisms import crossed, far, framed, laden, limited, slanted
from tests.metamorphic.plants import PLANTS, Plant, forgotten
from tests.shared.robots_for_tests import OF_ANY_ROBOT, of_kind, random_mechanism

SEED = 2
ALL_RESULTS = {
    f"{name}.{result.name}"
    for name, function in FUNCTIONS.items()
    if name in OF_ANY_ROBOT
    for result in function.results
}
WITH_TASK_ROWS = {
    f"{name}.{result.name}"
    for name, function in FUNCTIONS.items()
    if function.counts("NK")
    for result in function.results
}
"""Results with task rows, for which the tree has too few joints."""
COUNT_OF_RESULTS = {
    "locked": 28,
    "time_reversed": 21,
    "superposed": 15,
    "lagrange_obeyed": 3,
    "weight_has_a_potential": 3,
    "slopes_followed": 11,
    "answers_fit": 12,
    "wrench_by_jacobian": 9,
    "weight_turned_round": 42,
    "base_accelerated": 7,
    "screw_apart": 9,
    "without_axes_apart": 38,
    "chain_reversed": 3,
    "floating_reversed": 5,
    "momentum_kept": 4,
    "one_body_more": 39,
    "derivatives_followed": 0,
}
"""Number of results that a relation compares, for relations that do not compare all results."""
DERIVED = (
    "inverse_dynamics:jvp",
    "inverse_dynamics:vjp",
    "forward_dynamics:jacobian",
    "inverse_dynamics:hvp",
)
"""Derivatives in every mode."""
BY_LOADS = (
    "potential_energy:vjp(q,payload)",
    "inverse_dynamics:jacobian(payload,wrench)",
    "bias_force:hvp(q,payload,wrench)",
)
OF_POSITIONS = ("integrate:jvp", "difference:vjp", "step:jacobian(q)", "link_poses:vjp")
"""Derivatives of functions that return positions or several results."""
DERIVATIVES_OF_RELATION = {
    "everything_at_once": (*DERIVED, *BY_LOADS, *OF_POSITIONS),
    "derivatives_followed": (*DERIVED, *BY_LOADS, *OF_POSITIONS),
    "units_rescaled": DERIVED,
    "frames_slid": OF_POSITIONS,
    "welded": DERIVED[:1],
    "time_reversed": DERIVED,
    "superposed": (*DERIVED[:2], *BY_LOADS[::2]),
    "turned_round": (*DERIVED[:2], *OF_POSITIONS),
    "set_down_elsewhere": (*DERIVED, *OF_POSITIONS, *BY_LOADS[:1]),
    "payload_declared": DERIVED[:2],
}
"""Relations that apply to derivatives, and the derivatives that are tested."""
ROBOT_OF_RELATION = {
    "floating_reversed": "chain",
    "in_urdf": "square",
    "set_down_elsewhere": "floating",
    "without_axes_apart": "floating",
    "momentum_kept": "floating",
    "one_body_more": "floating",
}
"""Robots for relations that do not apply to the tree."""
SAME_PROGRAMS = (
    "turned_round",
    "time_reversed",
    "superposed",
    "lagrange_obeyed",
    "weight_has_a_potential",
    "slopes_followed",
    "answers_fit",
)
"""Relations between states, which use the same Programs on both sides."""


def with_joint_types(mechanism: Mechanism, *types: str) -> Mechanism:
    """Return a mechanism with its joint types replaced."""
    return replace(
        mechanism,
        joints=tuple(
            of_kind(joint, kind) for joint, kind in zip(mechanism.joints, types, strict=True)
        ),
    )


@cache
def problem(name: str) -> tuple[Mechanism, Links]:
    """Return one of four robots and the links that its requests name.

    "tree" has planar, revolute and cylindrical joints and lies far away, rotated; "chain" ends in a
    helical joint; "floating" has a free base; the last has right angles and joint limits.
    """
    random = Random(name)
    if name == "tree":
        mechanism = with_joint_types(
            random_mechanism(3, 149, "tree"), "planar", "revolute", "cylindrical"
        )
        for change in (laden, framed, slanted, far):
            mechanism = change(mechanism, random)
        return mechanism, Links("link2", "link1", ("tool", "link1"))
    if name == "chain":
        return with_joint_types(random_mechanism(2, 5, "chain"), "revolute", "helical"), Links(
            "link1"
        )
    if name == "floating":
        return slanted(
            with_joint_types(random_mechanism(2, 7, "chain"), "free", "spherical"), random
        ), Links("link1", "link0", "link1")
    mechanism = random_mechanism(2, 1, "chain", ("revolute", "prismatic"), general=False)
    for change in (laden, crossed, crossed, limited):
        mechanism = change(mechanism, random)
    return mechanism, Links("link1")


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_reference_satisfies_every_relation(relation: str) -> None:
    mechanism, links = problem(ROBOT_OF_RELATION.get(relation, "tree"))
    verdict = compare(mechanism, links, relation, SEED, programs=False)
    assert verdict is not None
    assert verdict.sentences == ()
    if relation in COUNT_OF_RESULTS:
        assert len(verdict.compared) == COUNT_OF_RESULTS[relation] < len(ALL_RESULTS)
    else:
        assert verdict.compared == (
            ALL_RESULTS
            if ROBOT_OF_RELATION.get(relation) == "floating"
            else ALL_RESULTS - WITH_TASK_ROWS
        )


@pytest.mark.slow
@pytest.mark.parametrize("relation", DERIVATIVES_OF_RELATION)
def test_derivatives_of_the_reference_satisfy_the_relations(relation: str) -> None:
    mechanism, links = problem(ROBOT_OF_RELATION.get(relation, "tree"))
    verdict = compare(
        mechanism, links, relation, SEED, DERIVATIVES_OF_RELATION[relation], programs=False
    )
    assert verdict is not None
    assert verdict.sentences == ()
    assert {result.partition(".")[0] for result in verdict.compared} == set(
        DERIVATIVES_OF_RELATION[relation]
    )


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["everything_at_once", "derivatives_followed"])
def test_derivatives_of_programs_satisfy_the_relations(relation: str) -> None:
    mechanism, links = problem("tree")
    names = (DERIVED[1], BY_LOADS[1], DERIVED[3]) if relation == "everything_at_once" else DERIVED
    methods = {name: build_program(mechanism, name, None, links.options).method for name in names}
    verdict = compare(mechanism, links, relation, SEED, names, methods=methods)
    assert verdict is not None
    assert verdict.sentences == ()
    assert {result.partition(".")[0] for result in verdict.compared} == set(names)


@pytest.mark.slow
def test_programs_of_a_robot_described_differently_give_equal_results() -> None:
    """Apply all changes of description at once, and compare every default function of both robots.

    coriolis_matrix and regressor are compared as well, because other functions contain them.
    """
    mechanism, links = problem("tree")
    names = [*BY_DEFAULT, "coriolis_matrix", "regressor"]
    methods = {name: build_program(mechanism, name, None, links.options).method for name in names}
    verdict = compare(mechanism, links, "everything_at_once", SEED, names, methods=methods)
    assert verdict is not None
    assert verdict.sentences == ()
    assert verdict.compared == {
        result for result in ALL_RESULTS if result.partition(".")[0] in names
    }


@pytest.mark.parametrize("relation", SAME_PROGRAMS)
def test_programs_satisfy_the_relations_between_states(relation: str) -> None:
    verdict = compare(*problem("tree"), relation, SEED)
    assert verdict is not None
    assert verdict.sentences == ()
    assert len(verdict.compared) == COUNT_OF_RESULTS.get(
        relation, len(ALL_RESULTS - WITH_TASK_ROWS)
    )


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """Plant an error for one test, and remove it afterwards in every case."""
    request.param(monkeypatch)
    forgotten()
    yield
    monkeypatch.undo()
    forgotten()


@pytest.mark.parametrize(
    ("planted", "name", "relation", "function"),
    PLANTS,
    indirect=["planted"],
    ids=lambda x: x.__name__ if callable(x) else str(x),
)
def test_a_planted_error_breaks_a_relation(
    planted: Plant, name: str, relation: str, function: str
) -> None:
    """Relations detect even errors that derivation and reference share, or that a reader makes."""
    verdict = compare(*problem(name), relation, SEED, [function], programs=False)
    assert verdict is not None
    assert verdict.sentences


def test_every_relation_has_an_error_that_breaks_it() -> None:
    assert {relation for _, _, relation, _ in PLANTS} == set(RELATIONS)
