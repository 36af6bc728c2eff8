"""One problem told in two ways has one answer: this judges the reference, the joint types and the readers, which all trust."""

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
ALL = {
    f"{name}.{result.name}"
    for name, function in FUNCTIONS.items()
    if name in OF_ANY_ROBOT
    for result in function.results
}
OF_SIX_ROWS = {
    f"{name}.{result.name}"
    for name, function in FUNCTIONS.items()
    if function.counts("NK")
    for result in function.results
}
"""What the tree has too few joints for."""
SOME = {
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
"""How many results a relation judges where it does not judge all of them."""
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
OF_PLACES = ("integrate:jvp", "difference:vjp", "step:jacobian(q)", "link_poses:vjp")
"""Of what is positions, and of several results that go over together."""
KNOWING = {
    "everything_at_once": (*DERIVED, *BY_LOADS, *OF_PLACES),
    "derivatives_followed": (*DERIVED, *BY_LOADS, *OF_PLACES),
    "units_rescaled": DERIVED,
    "frames_slid": OF_PLACES,
    "welded": DERIVED[:1],
    "time_reversed": DERIVED,
    "superposed": (*DERIVED[:2], *BY_LOADS[::2]),
    "turned_round": (*DERIVED[:2], *OF_PLACES),
    "set_down_elsewhere": (*DERIVED, *OF_PLACES, *BY_LOADS[:1]),
    "payload_declared": DERIVED[:2],
}
"""Relations that know derivatives, and the ones that they are asked about."""
MADE_FOR = {
    "floating_reversed": "chain",
    "in_urdf": "square",
    "set_down_elsewhere": "floating",
    "without_axes_apart": "floating",
    "momentum_kept": "floating",
    "one_body_more": "floating",
}
"""Where a relation does not apply to the tree."""
SAME_PROGRAMS = (
    "turned_round",
    "time_reversed",
    "superposed",
    "lagrange_obeyed",
    "weight_has_a_potential",
    "slopes_followed",
    "answers_fit",
)
"""Relations between states, for which nothing is derived anew."""


def typed(made: Mechanism, *types: str) -> Mechanism:
    """The same with joints of these types."""
    return replace(
        made,
        joints=tuple(of_kind(joint, kind) for joint, kind in zip(made.joints, types, strict=True)),
    )


@cache
def problem(name: str) -> tuple[Mechanism, Links]:
    """A tree of planar, revolute and cylindrical joints, far away and turned; a chain that ends in a screw; one at right angles,
    with limits; and one that floats."""
    random = Random(name)
    if name == "tree":
        found = typed(random_mechanism(3, 149, "tree"), "planar", "revolute", "cylindrical")
        for change in (laden, framed, slanted, far):
            found = change(found, random)
        return found, Links("link2", "link1", ("tool", "link1"))
    if name == "chain":
        return typed(random_mechanism(2, 5, "chain"), "revolute", "helical"), Links("link1")
    if name == "floating":
        return slanted(typed(random_mechanism(2, 7, "chain"), "free", "spherical"), random), Links(
            "link1", "link0", "link1"
        )
    found = random_mechanism(2, 1, "chain", ("revolute", "prismatic"), general=False)
    for change in (laden, crossed, crossed, limited):
        found = change(found, random)
    return found, Links("link1")


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_reference_keeps_every_relation(relation: str) -> None:
    mechanism, links = problem(MADE_FOR.get(relation, "tree"))
    verdict = compare(mechanism, links, relation, SEED, programs=False)
    assert verdict is not None
    assert verdict.sentences == ()
    if relation in SOME:
        assert len(verdict.compared) == SOME[relation] < len(ALL)
    else:
        assert verdict.compared == (
            ALL if MADE_FOR.get(relation) == "floating" else ALL - OF_SIX_ROWS
        )


@pytest.mark.parametrize("relation", KNOWING)
def test_the_derivatives_of_the_reference_keep_the_relations(relation: str) -> None:
    mechanism, links = problem(MADE_FOR.get(relation, "tree"))
    verdict = compare(mechanism, links, relation, SEED, KNOWING[relation], programs=False)
    assert verdict is not None
    assert verdict.sentences == ()
    assert {one.partition(".")[0] for one in verdict.compared} == set(KNOWING[relation])


@pytest.mark.parametrize("relation", ["everything_at_once", "derivatives_followed"])
def test_the_derivatives_of_programs_keep_the_relations(relation: str) -> None:
    mechanism, links = problem("tree")
    names = (DERIVED[1], BY_LOADS[1], DERIVED[3]) if relation == "everything_at_once" else DERIVED
    methods = {name: build_program(mechanism, name, None, links.options).method for name in names}
    verdict = compare(mechanism, links, relation, SEED, names, methods=methods)
    assert verdict is not None
    assert verdict.sentences == ()
    assert {one.partition(".")[0] for one in verdict.compared} == set(names)


def test_the_programs_of_a_robot_described_anew_give_its_answers() -> None:
    """All changes of description upon one another, so that two derivations judge every function, by the method of the first.

    Of those that are made on request two, which the others are made of.
    """
    mechanism, links = problem("tree")
    names = [*BY_DEFAULT, "coriolis_matrix", "regressor"]
    methods = {name: build_program(mechanism, name, None, links.options).method for name in names}
    verdict = compare(mechanism, links, "everything_at_once", SEED, names, methods=methods)
    assert verdict is not None
    assert verdict.sentences == ()
    assert verdict.compared == {one for one in ALL if one.partition(".")[0] in names}


@pytest.mark.parametrize("relation", SAME_PROGRAMS)
def test_the_programs_keep_the_relations_between_states(relation: str) -> None:
    verdict = compare(*problem("tree"), relation, SEED)
    assert verdict is not None
    assert verdict.sentences == ()
    assert len(verdict.compared) == SOME.get(relation, len(ALL - OF_SIX_ROWS))


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """An error in place; whatever happens, no other test meets it."""
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
    """Also one that the derivation and the reference share, or that stands in a reader: no comparison of the two sees that."""
    verdict = compare(*problem(name), relation, SEED, [function], programs=False)
    assert verdict is not None
    assert verdict.sentences


def test_every_relation_has_an_error_that_breaks_it() -> None:
    assert {relation for _, _, relation, _ in PLANTS} == set(RELATIONS)
