"""Regularity of M from each joint's own link inertia, compared with the pivots of M, for any number
of links.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from symgen.mechanism.joints import kinds
from symgen.mechanism.mechanism import Body, Mechanism
from symgen.reference import singularity
from symgen.reference.mechanics import Reference
from symgen.reference.precision import arb
from symgen.reference.singularity import find_rank_loss, pivots
from symgen.reference.states import draw_states
from tests.shared.call_counts import calls
from tests.shared.robots_for_tests import ROBOTS, random_mechanism, robot


def varied(seed: int) -> list[Mechanism]:
    """A tree of every type of joint; the same with links that have no mass, and with points of
    mass.
    """
    complete = random_mechanism(6, seed, kind="tree", joints=kinds())
    random = Random(seed)
    without = tuple(Body(body.name) if random.random() < 0.4 else body for body in complete.bodies)
    points = tuple(
        Body(body.name, tuple(replace(part, moments=(Fraction(0),) * 6) for part in body.parts))
        for body in complete.bodies
    )
    return [complete, replace(complete, bodies=without), replace(complete, bodies=points)]


@pytest.mark.parametrize("seed", range(4))
def test_every_pivot_is_as_much_as_the_joint_feels_alone_and_no_more_than_its_bound(
    seed: int,
) -> None:
    for mechanism in varied(seed)[::2]:
        reference = Reference(mechanism, arb(60))
        with reference.scalars.working():
            q = reference.scalars.array(draw_states(mechanism, 1, seed)["q"])
            bounds = singularity.diagonal_upper_bounds(mechanism, None)
            lower_bounds = [
                list(reversed(singularity.pivot_lower_bounds(*pair)))
                for pair in zip(mechanism.joints, mechanism.bodies, strict=True)
            ]
            for pivot in pivots(reference, q):
                joint, of = mechanism.dofs[pivot.dof]
                if not pivot.articulated[0] > 1e-30:
                    break  # pivots after a vanishing one are undefined
                assert pivot.articulated[0] >= lower_bounds[joint][of] or pivot.articulated[
                    0
                ].overlaps(bounds[joint] * 0 + lower_bounds[joint][of])
                assert pivot.composite[0] <= bounds[joint]


def test_what_joints_feel_alone_never_contradicts_the_pivots_of_the_whole() -> None:
    for mechanism in [
        *map(robot, ROBOTS),
        *(mechanism_of_seed for seed in range(6) for mechanism_of_seed in varied(seed)),
    ]:
        if not mechanism.coupled and singularity._bounds_prove_regular(mechanism, None):
            assert singularity._rank_loss_from_pivots(mechanism, None) is None


def test_moments_that_nothing_has_prove_nothing() -> None:
    arm = random_mechanism(3, 1)
    last_part = arm.bodies[2].parts[0]
    odd = replace(
        arm,
        bodies=(
            *arm.bodies[:2],
            Body(
                "link2",
                (replace(last_part, moments=(*last_part.moments[:5], -last_part.moments[5])),),
            ),
        ),
    )
    assert not singularity._bounds_prove_regular(odd, None)


def test_a_joint_that_moves_a_link_without_mass_feels_its_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chain = random_mechanism(40, 1)
    crossed = replace(
        chain,
        bodies=tuple(body if i % 2 else Body(body.name) for i, body in enumerate(chain.bodies)),
    )
    monkeypatch.setattr(
        singularity,
        "_rank_loss_from_pivots",
        lambda mechanism, payload: pytest.fail("all of it was asked"),
    )
    assert find_rank_loss(crossed) is None


def test_calls_grow_as_the_links() -> None:
    _, short, two = (
        calls(lambda n=n: find_rank_loss(random_mechanism(n, 1))) for n in (4, 50, 200)
    )
    assert two <= 4.4 * short
