"""Where mass centres lie far from what their links carry, a method that refers to them loses digits, and verify knows."""

from __future__ import annotations

from fractions import Fraction

import pytest

import symgen
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.reference.leverage import leverage
from symgen.vocabulary.poses import Shift, Vector3
from tests.shared.robots_for_tests import OPEN


def arm(centre: int, axis: Vector3 = (Fraction(0), Fraction(0), Fraction(1))) -> Mechanism:
    """Two turning joints, the first about z; the second link is light, its mass centre `centre` m out, with a load near."""
    box = tuple(Fraction(x, 10) for x in (1, 0, 0, 1, 0, 1))
    at = [(Shift((Fraction(x), Fraction(0), Fraction(0))),) for x in (Fraction(1, 2), centre)]
    joints = (
        Joint("a", "revolute", -1),
        Joint("b", "revolute", 0, (Shift((Fraction(1), Fraction(0), Fraction(0))),), axis),
    )
    parts = (
        Part("one", at[0], Fraction(5), box),
        Part("two", at[1], Fraction(1, 10**6), (Fraction(0),) * 6),
    )
    return Mechanism(
        "arm",
        joints,
        tuple(Body(part.link, (part,)) for part in parts),
        (Frame("one", 0), Frame("two", 1)),
        (Fraction(0), Fraction(-10), Fraction(0)),
    )


def test_a_load_far_from_the_centre_is_a_lever() -> None:
    """The load is a fraction of a metre from the axis, so 4 m are some hundred times as much inertia, and 8 m four times that."""
    near, far = (leverage(arm(centre), "two") for centre in (4, 8))
    assert near > 100
    assert 3 < far / near < 5
    assert leverage(arm(4)) == 1.0  # without the load the light link's own lever is as long


@pytest.mark.parametrize("name", sorted(OPEN))
def test_no_built_in_robot_has_such_levers(name: str) -> None:
    assert 1 <= leverage(symgen.load(name)) < 2


def test_what_loses_its_digits_so_is_not_called_wrong() -> None:
    """In float udut is off by 243 units of round-off where 33 are allowed, and by none to speak of in link frames."""
    skew = arm(32, (Fraction(0), Fraction(3), Fraction(4)))
    verdicts = {
        method: symgen.verify(
            skew,
            [f"mass_matrix_determinant={method}"],
            8,
            real="float",
            payload="two",
            compiled=False,
        ).of("floating")[0]
        for method in ("udut", "udut:links")
    }
    assert verdicts["udut"].lost
    assert verdicts["udut"].verdict == "not judged"
    assert verdicts["udut"].error > 100
    assert verdicts["udut:links"].error < 1
    chosen = symgen.program(skew, "mass_matrix_determinant", real="float", payload="two")
    assert chosen.method != "udut"
