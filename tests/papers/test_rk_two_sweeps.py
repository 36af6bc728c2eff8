"""The algorithm in two sweeps, (Q1)-(Q10), equals FD1 to FD4 exactly, and its first sweep is
causal.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from symgen.description.loading import builtin_robots, load
from symgen.papers.chain import chain as chain_of
from symgen.papers.chain import random_state
from symgen.papers.identities import without_drives
from symgen.papers.rk import Motion, Operators
from symgen.papers.rk_two_sweeps import TwoSweeps, value
from symgen.reference.precision import Array
from tests.shared.operators import fractions, rational_chain, spatial_chain
from tests.shared.robots_for_tests import random_mechanism

STATES = 3


def agreements(o: Operators) -> dict[str, bool]:
    """Compare values of the two sweeps with those of FD1 to FD4 on the motion of the operators."""
    motion, two_sweeps = o.motion, TwoSweeps(o.motion)
    return {
        "FD1": two_sweeps.theta_ddot == motion.theta_ddot,
        "FD2": motion.column(lambda i: two_sweeps.anticausal[i][2]) == motion.FD2,
        "FD3": two_sweeps.theta_ddot == motion.FD3,
        "FD4": two_sweeps.theta_ddot == motion.FD4,
        "nu": two_sweeps.nu == motion.nu,
        "z": two_sweeps.z == motion.column(lambda i: motion.filter(i)[0]),
    }


@pytest.mark.parametrize("robot", builtin_robots())
def test_two_sweeps_equal_the_four_algorithms_on_every_robot(robot: str) -> None:
    mechanism = without_drives(load(robot))
    for seed in range(STATES):
        compared = agreements(Operators(chain_of(mechanism, random_state(mechanism, seed))))
        assert all(compared.values()), compared


@pytest.mark.parametrize("chain_key", [(1, 0), (2, 0), (3, 0), (3, 1), (5, 0), (8, 0)])
def test_two_sweeps_equal_the_four_algorithms_on_random_chains(chain_key: tuple[int, int]) -> None:
    compared = agreements(Operators(rational_chain(*chain_key)))
    assert all(compared.values()), compared


@pytest.mark.parametrize(
    "joints", [("revolute",), ("prismatic",), ("revolute", "prismatic"), ("helical", "revolute")]
)
def test_two_sweeps_equal_the_four_algorithms_on_random_trees(joints: tuple[str, ...]) -> None:
    mechanism = random_mechanism(6, 2, "tree", joints, general=False)
    for seed in range(STATES):
        compared = agreements(Operators(chain_of(mechanism, random_state(mechanism, seed))))
        assert all(compared.values()), compared


@pytest.mark.parametrize("joints", ["rr", "rp", "pr"])
def test_two_sweeps_equal_fd4_for_all_values_of_the_symbols(joints: str) -> None:
    motion = Operators(spatial_chain(joints)).motion
    assert TwoSweeps(motion).theta_ddot == motion.FD4


def moving_as(motion: Motion, changed: set[int], seed: int) -> Motion:
    """Return the motion with random rates, joint forces and loads of the links in `changed`."""
    source = Random(seed)
    rates, forces, loads = list(motion.rates), list(motion.joint_forces), dict(motion.load)
    for i in changed:
        rates[i], forces[i] = (fractions(source, len(rates[i])) for _ in range(2))
        loads[i] = fractions(source, 6)
    return Motion(motion.o, rates, forces, loads)


@pytest.mark.parametrize(("robot", "k"), [("scara", 1), ("ur5", 4), ("quadruped", 5)])
def test_the_causal_sweep_depends_on_the_links_beyond_only(robot: str, k: int) -> None:
    """Forms of link k do not change with the motion of other links, whereas z(k) of (5.16) does."""
    o = Operators(chain_of(load(robot)))
    not_outward = {i for i in range(len(o.links)) if k not in o.chain.ancestors(i)}
    first, second = o.motion, moving_as(o.motion, not_outward, 1)
    forms, other_forms = (TwoSweeps(motion).causal[k] for motion in (first, second))
    assert all((a == b).all() for a, b in zip(forms, other_forms, strict=True))
    assert (first.filter(k)[0] != second.filter(k)[0]).any()


def test_one_causal_sweep_serves_all_motions_of_the_inner_links() -> None:
    o = Operators(rational_chain(5, 0))
    k = 3
    Z, N, _ = TwoSweeps(o.motion).causal[k]
    for seed in range(STATES):
        motion = moving_as(o.motion, set(range(k)), seed)
        omega = TwoSweeps(motion).anticausal[k][0]
        assert (value(Z, omega) == motion.filter(k)[0]).all()
        assert (value(N, omega) == motion.filter(k)[2]).all()


def test_the_angular_velocities_are_those_of_the_links() -> None:
    o = Operators(chain_of(load("ur5")))
    for i, (omega, *_) in enumerate(TwoSweeps(o.motion).anticausal):
        assert (omega == np.concatenate([o.motion.velocity(i)[:3], [fmpq(1)]])).all()


def with_error(entry: tuple[int, ...]) -> Callable[[Array], Array]:
    """Return a function that adds 1/1000 to one entry of an array."""

    def change(array: Array) -> Array:
        array = array.copy()
        array[entry] += fmpq(1, 1000)
        return array

    return change


TERMS: dict[str, Callable[[Array], Array]] = {
    "joint_map": with_error((1, 3)),
    "parent_map": np.transpose,
    "bias_force_form": with_error((2, 0, 1)),
    "bias_acceleration_form": with_error((4, 1, 1)),
}
"""Errors in the terms of one link: a joint rate, a rotation in the wrong direction, a product of
inertia, an arm.
"""


@pytest.mark.parametrize("term", TERMS)
def test_an_error_in_a_term_is_seen(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    correct: Any = getattr(TwoSweeps, term)

    def wrong(two_sweeps: TwoSweeps, i: int) -> Array:
        result: Array = correct(two_sweeps, i)
        return TERMS[term](result) if i == 2 else result

    monkeypatch.setattr(TwoSweeps, term, wrong)
    compared = agreements(Operators(rational_chain(5, 0)))
    assert not compared["FD4"]
    assert not compared["z"]


@pytest.mark.parametrize("coefficient", [(3, 3), (0, 3), (0, 1)])
def test_an_error_in_a_coefficient_is_seen(coefficient: tuple[int, int]) -> None:
    """Change a constant, a linear and a quadratic coefficient of the innovation of one link."""
    o = Operators(rational_chain(5, 0))
    two_sweeps = TwoSweeps(o.motion)
    Z, N, Z_plus = two_sweeps.causal[2]
    two_sweeps.causal[2] = Z, with_error((0, *coefficient))(N), Z_plus
    assert two_sweeps.theta_ddot != o.motion.FD4


def test_a_joint_that_slides_is_accelerated_twice_by_coriolis(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With ω × h θ̇ of (2.32) as printed, in place of 2 ω × h θ̇, the two algorithms differ."""
    o = Operators(rational_chain(5, 0))
    slides = [i for i, link in enumerate(o.links) if link.parent >= 0 and link.axes[0, 3:].any()]
    assert slides
    two_sweeps = TwoSweeps(o.motion)
    correct = two_sweeps.bias_acceleration_form

    def printed(i: int) -> Array:
        form = correct(i)
        if i in slides:
            form[3:, :3, 3] = form[3:, :3, 3] / 2
            form[3:, 3, :3] = form[3:, 3, :3] / 2
        return form

    monkeypatch.setattr(two_sweeps, "bias_acceleration_form", printed)
    assert two_sweeps.theta_ddot != o.motion.FD4
