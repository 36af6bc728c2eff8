"""Every function by every method and variant, verified to 1e-40 on random spatial and planar
robots.
"""

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
"""Seeds of `spatial` that cover two and three links, chains and trees, general and right angles."""
CASES = [
    (method, i % len(SEEDS))
    for i, method in enumerate(
        m
        for m in methods.names()
        if methods.find(m).choice != "explicit"
        and any(m in methods.providers(name) for name in OF_ANY_ROBOT)
    )
]
"""Cases that distribute the seeds over the methods; explicit methods are in
tests/methods/test_grasps.py.
"""


def has_branches(mechanism: Mechanism) -> bool:
    return len(set(mechanism.parents)) < len(mechanism.joints)


@cache
def spatial(seed: int) -> Mechanism:
    """Return a chain of 2 or 3 links (odd seeds) or a tree of 3 (even seeds), with joints of all
    types.
    """
    general = seed % 8 < 4
    if seed % 2:
        return random_mechanism(2 + seed // 2 % 2, seed, "chain", kinds(), general)
    return next(
        mechanism
        for k in count()
        if has_branches(mechanism := random_mechanism(3, seed + 100 * k, "tree", kinds(), general))
    )


@cache
def flat(seed: int) -> Mechanism:
    return flat_chain(2 + seed % 2, seed + 1)


def verify_method(mechanism: Mechanism, method: str) -> None:
    requests = [
        f"{name}={method}"
        for name, function in FUNCTIONS.items()
        if method in methods.providers(name) and name in OF_ANY_ROBOT and not function.counts("NK")
    ]  # six task rows need more joints
    report = symgen.verify(mechanism, requests, states=1, compiled=False)
    assert report.passed, str(report)
    assert {check.subject: check.bound for check in report.of("algebra")} == dict.fromkeys(
        requests, 1e-40
    )


@pytest.mark.slow
@pytest.mark.parametrize(("method", "seed"), CASES)
def test_every_method_passes_verification_on_a_random_robot(method: str, seed: int) -> None:
    """Planar methods get a planar chain, methods for mimic joints a robot with such, others a
    spatial one.
    """
    mechanism = (
        flat(seed)
        if method in PLANAR_METHODS
        else anyhow(0)
        if methods.find(method).mimic_only
        else spatial(seed)
    )
    assert methods.find(method).refusal(mechanism) is None
    verify_method(mechanism, method)


PLANAR_METHODS = {
    method
    for method in methods.names()
    if not methods.find(method).mimic_only
    and methods.find(method).choice != "explicit"
    and all(methods.find(method).refusal(spatial(seed)) for seed in SEEDS)
}


def test_only_fixman_variants_are_planar_and_half_of_the_robots_branch() -> None:
    assert {"fixman:planar", "fixman:parallel", "fixman:segments"} == PLANAR_METHODS
    assert sum(has_branches(spatial(seed)) for seed in SEEDS) == len(SEEDS) / 2
    assert (
        len({spatial(seed).joints for seed in SEEDS})
        == len({flat(seed).joints for seed in SEEDS})
        == len(SEEDS)
    )
