"""Contact points of a request: refused by name, and judged once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from symgen.mechanism.mechanism import BASE
from symgen.pipeline import contacts
from symgen.reference import contacts as reference_contacts
from symgen.support import cache
from symgen.support.errors import ArgumentError, UnknownName
from tests.shared.robots_for_tests import random_mechanism

ARM = random_mechanism(2, 1)
POINTS = ("link0:0,0,1", "link1")


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    caches = (contacts._immovable, contacts.solve_count)
    with cache.in_memory():
        for function in caches:
            function.cache_clear()
        yield
    for function in caches:
        function.cache_clear()


def test_points_that_no_joint_moves_are_determined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one is named, with the link on which another point is to be chosen."""
    asked: list[tuple[str, ...]] = []

    def immovable(mechanism: object, points: tuple[str, ...]) -> tuple[str, ...]:
        asked.append(points)
        return points[:1]

    monkeypatch.setattr(reference_contacts, "immovable", immovable)
    contacts.validate(ARM, [])
    assert asked == []
    for _ in range(2):
        contacts._immovable.cache_clear()
        with pytest.raises(
            ArgumentError, match=r"^contact 'link0:0,0,1' .* with --contact link0:x,y,z \(m"
        ):
            contacts.validate(ARM, iter(POINTS))
    assert asked == [POINTS]


def test_points_on_the_base_or_on_no_link_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_contacts, "immovable", lambda *_: ())
    contacts.validate(ARM, POINTS)
    on_base = replace(ARM, frames=(*ARM.frames, replace(ARM.frames[0], name="floor", body=BASE)))
    with pytest.raises(ArgumentError, match="the base does not move; choose a link below a joint"):
        contacts.validate(on_base, [*POINTS, "floor"])
    with pytest.raises(UnknownName):
        contacts.validate(ARM, ["link7"])


@pytest.mark.parametrize(("solves", "is_redundant"), [(1, False), (2, True), (5, True)])
def test_forces_that_take_several_solves_are_redundant(
    monkeypatch: pytest.MonkeyPatch, solves: int, is_redundant: bool
) -> None:
    """The number of solves is computed once for the same points."""
    calls: list[tuple[str, ...]] = []

    def count(mechanism: object, points: tuple[str, ...], reference: object) -> int:
        calls.append(points)
        return solves

    monkeypatch.setattr(reference_contacts, "solve_count", count)
    for points in (POINTS, POINTS, POINTS[:1]):
        contacts.solve_count.cache_clear()
        assert contacts.solve_count(ARM, points) == solves
        assert contacts.redundant(ARM, points) == is_redundant
    assert calls == [POINTS, POINTS[:1]]


def test_functions_of_contacts_need_points() -> None:
    for function, points, refused in (
        ("contact_impulse", (), True),
        ("contact_impulse", POINTS, False),
        ("mass_matrix", (), False),
    ):
        sentence = contacts.refusal(ARM, function, points)
        assert (sentence is not None) == refused
        if sentence:
            assert sentence.startswith(f"{function} of '{ARM.name}' needs contact points; name")
