"""Every function by every method and variant, verified at 1e-40 on random chains and trees, in space and in a plane."""

from __future__ import annotations

from functools import cache
from itertools import count

import pytest

import symgen
from symgen import methods
from symgen.mechanism.joints import kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.mimic_robots import anyhow
from tests.shared.robots_for_tests import OF_ANY_ROBOT, flat_chain, random_mechanism

SEEDS = range(8)
"""Once round `spatial`: two and three links, chains and trees, axes general and at right angles."""
CASES = [
    (method, i % len(SEEDS))
    for i, method in enumerate(
        m
        for m in methods.names()
        if methods.find(m).choice != "explicit"
        and any(m in methods.providers(name) for name in OF_ANY_ROBOT)
    )
]
"""Methods take them in turn; `tests/methods/test_grasps.py` has those that are taken only where they are asked for."""


def branches(made: Mechanism) -> bool:
    return len(set(made.parents)) < len(made.joints)


@cache
def spatial(seed: int) -> Mechanism:
    """Chains of two and of three links and trees of three in turn, joints of all types, axes general and at right angles."""
    general = seed % 8 < 4
    if seed % 2:
        return random_mechanism(2 + seed // 2 % 2, seed, "chain", kinds(), general)
    return next(
        made
        for k in count()
        if branches(made := random_mechanism(3, seed + 100 * k, "tree", kinds(), general))
    )


@cache
def flat(seed: int) -> Mechanism:
    return flat_chain(2 + seed % 2, seed + 1)


def verified(made: Mechanism, method: str) -> None:
    asked = [
        f"{name}={method}"
        for name, function in FUNCTIONS.items()
        if method in methods.providers(name) and name in OF_ANY_ROBOT and not function.counts("NK")
    ]  # six rows of a task take more joints
    report = symgen.verify(made, asked, states=1, compiled=False)
    assert report.passed, str(report)
    assert {check.subject: check.bound for check in report.of("algebra")} == dict.fromkeys(
        asked, 1e-40
    )


@pytest.mark.parametrize(("method", "seed"), CASES)
def test_a_method_verifies_wherever_it_applies(method: str, seed: int) -> None:
    """In space, where it refuses all that is not in a plane, there, and where it is for joints that follow others, on such."""
    made = (
        flat(seed)
        if method in IN_A_PLANE
        else anyhow(0)
        if methods.find(method).mimic_only
        else spatial(seed)
    )
    assert methods.find(method).refusal(made) is None
    verified(made, method)


IN_A_PLANE = {
    method
    for method in methods.names()
    if not methods.find(method).mimic_only
    and methods.find(method).choice != "explicit"
    and all(methods.find(method).refusal(spatial(seed)) for seed in SEEDS)
}


def test_one_method_is_of_the_plane_alone_and_half_the_robots_branch() -> None:
    assert {"fixman:planar", "fixman:parallel", "fixman:segments"} == IN_A_PLANE
    assert sum(branches(spatial(seed)) for seed in SEEDS) == len(SEEDS) / 2
    assert (
        len({spatial(seed).joints for seed in SEEDS})
        == len({flat(seed).joints for seed in SEEDS})
        == len(SEEDS)
    )
