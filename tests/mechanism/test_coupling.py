"""Couplings of mimic joints: chains in one, refusals, and ranges of leaders."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest

from symgen.mechanism.coupling import (
    JointCoupling,
    Mimic,
    intersect_ranges,
    leader_range,
    mimic_chain,
    resolve_mimics,
)
from symgen.support.errors import MechanismError

F = Fraction
JOINTS = {
    "a": None,
    "b": Mimic("a", F(3), F(1, 2)),
    "c": Mimic("b", F(-1, 4), F(2)),
    "d": Mimic("c", F(5), F(-7)),
    "e": None,
}
"""A chain d → c → b → a of followers, and a joint that follows no other."""


@pytest.mark.parametrize("order", list(permutations(JOINTS))[::17])
def test_a_chain_of_followers_moves_by_the_composed_maps_in_any_order(order: list[str]) -> None:
    couplings = resolve_mimics("r", [(name, JOINTS[name], True) for name in order])
    for leader in (F(0), F(1), F(-2, 3)):
        q = {"a": leader, "e": F(9)}
        for name in "bcd":  # one declared map after another
            mimic = JOINTS[name]
            assert mimic is not None
            q[name] = mimic.multiplier * q[mimic.joint] + mimic.offset
        for name, coupling in zip(order, couplings, strict=True):
            assert (coupling is None) == (JOINTS[name] is None)
            if coupling is not None:
                assert order[coupling.leader] == "a"
                assert coupling.multiplier * leader + coupling.offset == q[name]


BOUND = F(10) ** 30
"""Magnitude of a multiplier or an offset from which no coupling is meant, as the message states."""


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("links", "valid"),
    [
        (((BOUND / 2, F(0)),), True),
        (((BOUND * 3 / 2, F(0)),), False),
        (((2 / BOUND, F(0)),), True),
        (((F(2, 3) / BOUND, F(0)),), False),
        (((F(1), BOUND / 2),), True),
        (((F(1), BOUND * 3 / 2),), False),
        (((F(10**16), F(0)), (F(10**13), F(0))), True),
        (((F(10**16), F(0)), (F(10**15), F(0))), False),
        (((F(1, 10**16), F(0)), (F(1, 10**15), F(0))), False),
        (((F(10**16), F(0)), (F(1, 10**16), F(0))), True),
        (((F(1), F(10**16)), (F(10**15), F(0))), False),
        (((F(1), BOUND * 3 / 4), (F(1), BOUND * 3 / 4)), False),
        (((F(1), BOUND * 3 / 4), (F(1), -BOUND * 3 / 4)), True),
    ],
)
def test_a_composed_multiplier_or_offset_out_of_bounds_is_refused(
    links: tuple[tuple[Fraction, Fraction], ...], valid: bool, sign: int
) -> None:
    """Bounds apply to the coupling with the last leader, in which multipliers are multiplied."""
    joints: list[tuple[str, Mimic | None, bool]] = [("j0", None, True)]
    for k, (multiplier, offset) in enumerate(links):
        joints.append((f"j{k + 1}", Mimic(f"j{k}", multiplier, sign * offset), True))
    if valid:
        assert resolve_mimics("r", joints)[-1] is not None
        return
    with pytest.raises(
        MechanismError, match=rf"joint 'j{len(links)}' mimics .* outside 1e-30 to 1e\+30"
    ):
        resolve_mimics("r", joints)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"b": (Mimic("x", F(1), F(0)), True)}, "joint 'b' mimics 'x', which is not a moving"),
        ({"a": (None, False)}, "joint 'b' mimics 'a', and both must have one degree"),
        ({"d": (JOINTS["d"], False)}, "joint 'd' mimics 'c', and both must have one degree"),
        ({"c": (Mimic("b", F(0), F(2)), True)}, "joint 'c' mimics 'b' with a multiplier of zero"),
        (
            {"b": (Mimic("d", F(1), F(0)), True)},
            r"joint '.' mimics '.', in a circle \(b → d → c → b\)",
        ),
    ],
)
def test_a_joint_that_cannot_follow_is_refused_with_its_name(
    changed: dict[str, tuple[Mimic | None, bool]], sentence: str
) -> None:
    joints = [(name, *changed.get(name, (mimic, True))) for name, mimic in JOINTS.items()]
    with pytest.raises(MechanismError, match=f"^r: {sentence}"):
        resolve_mimics("r", joints)


def test_a_chain_ends_at_a_leader_or_a_resolved_joint_and_a_circle_repeats_its_first() -> None:
    assert mimic_chain("d", JOINTS) == (["d", "c", "b"], [])
    assert mimic_chain("d", JOINTS, {"b"}) == (["d", "c"], [])
    assert mimic_chain("d", JOINTS, {"d"}) == ([], [])
    assert mimic_chain("a", JOINTS) == mimic_chain("unknown", JOINTS) == ([], [])
    closed = {**JOINTS, "b": Mimic("c", F(1), F(0))}
    assert mimic_chain("d", closed) == (["d", "c", "b"], ["c", "b", "c"])


@pytest.mark.parametrize(
    ("multiplier", "offset", "text"),
    [
        (F(1), F(0), "q"),
        (F(-1), F(0), "-q"),
        (F(3, 4), F(1, 20), "0.75*q + 0.05"),
        (F(-1), F(-2), "-q - 2"),
        (F(1, 3), F(0), "0.333333333333*q"),
    ],
)
def test_a_coupling_is_printed_as_an_expression_of_its_leader(
    multiplier: Fraction, offset: Fraction, text: str
) -> None:
    assert JointCoupling(0, multiplier, offset).of("q") == text


@pytest.mark.parametrize("multiplier", [F(2), F(-2), F(1, 3)])
def test_the_range_of_a_leader_maps_to_the_range_of_its_follower(multiplier: Fraction) -> None:
    coupling = JointCoupling(0, multiplier, F(5))
    for limits in ((F(-1), F(4)), (None, F(4)), (F(-1), None), (None, None)):
        low, high = leader_range(coupling, limits)
        ends = [None if end is None else multiplier * end + 5 for end in (low, high)]
        assert tuple(ends if multiplier > 0 else ends[::-1]) == limits
        assert low is None or high is None or low < high


def test_an_intersection_has_the_tightest_ends_of_those_that_exist() -> None:
    assert intersect_ranges([]) == (None, None)
    assert intersect_ranges([(None, F(3)), (F(1), None), (F(-1), F(2))]) == (1, 2)
    assert intersect_ranges([(None, None), (F(0), None)]) == (0, None)
