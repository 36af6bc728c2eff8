"""Precision loss of methods that refer to mass centres, for mass centres far from their joint axes.

`leverage` estimates the loss, and `verify` reports it as not judged instead of failed.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

import symgen
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.reference.leverage import leverage
from symgen.vocabulary.poses import Shift, Vector3
from tests.shared.robots_for_tests import OPEN


def arm(centre: int, axis: Vector3 = (Fraction(0), Fraction(0), Fraction(1))) -> Mechanism:
    """Return an arm with two revolute joints, the first about z.

    Link "two" is light, and its mass centre is `centre` metres from its joint.
    """
    box = tuple(Fraction(x, 10) for x in (1, 0, 0, 1, 0, 1))
    offsets = [(Shift((Fraction(x), Fraction(0), Fraction(0))),) for x in (Fraction(1, 2), centre)]
    joints = (
        Joint("a", "revolute", -1),
        Joint("b", "revolute", 0, (Shift((Fraction(1), Fraction(0), Fraction(0))),), axis),
    )
    parts = (
        Part("one", offsets[0], Fraction(5), box),
        Part("two", offsets[1], Fraction(1, 10**6), (Fraction(0),) * 6),
    )
    return Mechanism(
        "arm",
        joints,
        tuple(Body(part.link, (part,)) for part in parts),
        (Frame("one", 0), Frame("two", 1)),
        (Fraction(0), Fraction(-10), Fraction(0)),
    )


def test_leverage_grows_with_the_square_of_the_distance_of_the_mass_centre() -> None:
    """Compare leverages of payloads near the axis: at 4 m the lever gives about a hundred times the
    inertia, at 8 m four times that.
    """
    at_4_m, at_8_m = (leverage(arm(centre), "two") for centre in (4, 8))
    assert at_4_m > 100
    assert 3 < at_8_m / at_4_m < 5
    assert (
        leverage(arm(4)) == 1.0
    )  # without a payload, the light link's own mass has the same lever


@pytest.mark.parametrize("name", sorted(OPEN))
def test_built_in_robots_have_leverage_below_two(name: str) -> None:
    assert 1 <= leverage(symgen.load(name)) < 2


def test_precision_loss_by_leverage_is_not_judged_and_another_method_is_chosen() -> None:
    """In float, `udut` errs by 243 units of round-off where 33 are allowed; `udut:links` errs by
    less than 1.
    """
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
