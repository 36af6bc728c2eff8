"""The numbers of a robot that the papers start from, against the reference, which reads the description on its own."""

from __future__ import annotations

import flint
import numpy as np
import pytest
from flint import fmpq

from symgen.description.loading import load
from symgen.mechanism.mechanism import Mechanism
from symgen.papers.blocks import Matrix, assembled, identity, inverse
from symgen.papers.chain import DENOMINATOR, chain, random_state
from symgen.papers.identities import ball_state, without_drives
from symgen.papers.rk import Operators
from symgen.reference.mechanics import Reference
from symgen.reference.precision import arb
from symgen.support.errors import RequestError
from tests.shared.robots_for_tests import largest, random_mechanism

BALLS = arb(60)
ROBOTS = ["scara", "puma560", "panda", "bennett", "free_body", "spherical_pendulum", "quadruped"]


@pytest.mark.parametrize("robot", ROBOTS)
def test_poses_and_mass_matrix_are_those_of_the_reference(robot: str) -> None:
    mechanism = without_drives(load(robot))
    with BALLS.working():
        q = BALLS.array(np.array(_pose(mechanism), dtype=object))
        o = Operators(chain(mechanism, ball_state(mechanism, list(q))))
        reference = Reference(mechanism, BALLS)
        placements = reference.placements(q)
        poses: list[tuple[np.ndarray, np.ndarray]] = []
        for link, placement in zip(o.links, placements, strict=True):
            R, r = poses[link.parent] if link.parent >= 0 else (identity(3), 0 * link.shift)
            poses.append((R @ link.rotation, r + R @ link.shift))
            assert largest(poses[-1][0] - placement.turn[0]) < 1e-45
            assert largest(poses[-1][1] - placement.shift[0]) < 1e-45
        mass = reference.evaluate("mass_matrix", {"q": q})["M"]
        backwards = np.concatenate(
            [np.arange(*entries) for entries in _entries_from_the_tip(mechanism)]
        )
        ours = o.mass_matrix.entries
        assert largest(ours - mass[np.ix_(backwards, backwards)]) < 1e-45


def _pose(mechanism: Mechanism) -> list[fmpq]:
    return list(random_state(mechanism, 5).coordinates)


def _entries_from_the_tip(mechanism: Mechanism) -> list[tuple[int, int]]:
    return [(entries.start, entries.stop) for entries in reversed(mechanism.v_slices)]


@pytest.mark.parametrize("seed", range(3))
def test_rounded_rotations_are_rational_rotations_near_the_declared_ones(seed: int) -> None:
    mechanism = random_mechanism(5, seed=seed, joints=("revolute", "prismatic"))
    state = random_state(mechanism)
    rounded = chain(mechanism, state)
    with BALLS.working():
        angles = [2 * flint.arb(t).atan() for t in state.half_tangents]
        q = [
            angle if joint.kind == "revolute" else flint.arb(x)
            for joint, angle, x in zip(mechanism.joints, angles, state.coordinates, strict=True)
        ]
        exact = chain(mechanism, ball_state(mechanism, q))
    assert rounded.rounded
    assert not exact.rounded
    for rounded_link, link in zip(rounded.links, exact.links, strict=True):
        assert (rounded_link.rotation @ rounded_link.rotation.T == identity(3)).all()
        assert largest(rounded_link.rotation - link.rotation) < 10 / DENOMINATOR
        assert rounded_link.axes @ rounded_link.axes.T == 1
        assert largest(rounded_link.axes - link.axes) < 10 / DENOMINATOR


def test_rational_rotations_are_not_rounded() -> None:
    assert not chain(load("panda")).rounded


def test_a_random_state_has_unit_quaternions_and_is_the_same_each_time() -> None:
    mechanism = load("quadruped")
    first, second, changed = (random_state(mechanism, seed) for seed in (0, 0, 1))
    assert first.coordinates == second.coordinates != changed.coordinates
    assert sum(x * x for x in first.coordinates[3:7]) == 1


def test_a_joint_that_turns_by_a_multiple_of_its_coordinate_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from symgen.mechanism.joints import Turning

    mechanism = load("planar_arm")
    monkeypatch.setattr(
        type(mechanism.joints[0]), "motions", property(lambda joint: (Turning(0, fmpq(2)),))
    )
    with pytest.raises(RequestError, match="turns by 2 times its coordinate"):
        chain(mechanism)


def test_an_inverse_exchanges_rows_with_a_zero_pivot() -> None:
    matrix = np.array([[fmpq(0), fmpq(2)], [fmpq(3), fmpq(1)]], dtype=object)
    assert (inverse(matrix) @ matrix == identity(2)).all()


def test_a_matrix_of_rationals_and_one_of_other_numbers_compute_the_same() -> None:
    a = np.array([[fmpq(1, 2), fmpq(3)], [fmpq(0), fmpq(5)]], dtype=object)
    rational, general = Matrix.of(a), Matrix(a, (2, 2))
    for left in (rational, general):
        for right in (rational, general):
            assert (left @ right).entries.tolist() == (a @ a).tolist()
            assert (left + right - right) == rational
            assert (left @ right).T == rational.T @ rational.T
    assert rational != Matrix.of(2 * a)
    assert rational != assembled({(0, 0): a}, [2, 1], [2])
