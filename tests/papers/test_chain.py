"""The numbers of a robot that the papers start from, against the reference, which reads the
description on its own.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import flint
import numpy as np
import pytest
from flint import fmpq

from symgen.description.loading import load
from symgen.mechanism.mechanism import Mechanism
from symgen.papers.blocks import Matrix, assembled, identity, inverse
from symgen.papers.chain import DENOMINATOR, Chain, State, chain, random_state
from symgen.papers.equation import link_entries
from symgen.papers.identities import ball_state, without_drives
from symgen.papers.rk import Operators
from symgen.papers.stored import stored
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


def with_inertia(mass: int, central: list[list[int]]) -> Chain:
    """Return a chain of two links, of which the second has this mass and these central moments."""
    links = chain(load("planar_arm"), State([fmpq(1), fmpq(2)], [fmpq(0)] * 2, lambda x: x))
    solid = [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
    numbers = [
        replace(
            link, name=name, mass=fmpq(m), central=np.array([[fmpq(x) for x in row] for row in c])
        )
        for link, name, m, c in zip(
            links.links, ("upper", "lower"), (1, mass), (solid, central), strict=True
        )
    ]
    return replace(links, links=tuple(numbers))


@pytest.mark.parametrize(
    ("mass", "central", "fault"),
    [
        (1, [[1, 0, 0], [0, 2, 0], [0, 0, 3]], None),
        (1, [[2, -1, 0], [-1, 2, 0], [0, 0, 1]], None),
        (0, [[1, 0, 0], [0, 2, 0], [0, 0, 3]], "link 'lower' has no mass"),
        (1, [[0, 0, 0], [0, 0, 0], [0, 0, 0]], "link 'lower' is a point mass"),
        (
            1,
            [[1, 0, 0], [0, 1, 0], [0, 0, 0]],
            "link 'lower' has no moment of inertia about some axis",
        ),
        (
            1,
            [[1, -1, 0], [-1, 1, 0], [0, 0, 2]],
            "link 'lower' has no moment of inertia about some axis",
        ),
    ],
)
def test_an_inertia_without_an_inverse_is_found_with_its_reason(
    mass: int, central: list[list[int]], fault: str | None
) -> None:
    reason = with_inertia(mass, central).inertia_fault()
    assert (reason or "").startswith(fault or "")
    assert (reason is None) == (fault is None)


def test_ancestors_go_from_a_link_to_its_root_and_children_have_it_as_parent() -> None:
    links = chain(load("quadruped"))
    parents = [link.parent for link in links.links]
    for i, parent in enumerate(parents):
        path = links.ancestors(i)
        assert path[0] == i
        assert parents[path[-1]] == -1
        assert [parents[j] for j in path[:-1]] == path[1:]
        assert links.children(i) == [j for j, p in enumerate(parents) if p == i]
        assert i in (links.children(parent) if parent >= 0 else [i])


def test_a_matrix_is_assembled_from_rectangular_blocks() -> None:
    a, b = np.array([[fmpq(1), fmpq(2)]]), np.array([[fmpq(3)], [fmpq(4)]])
    whole = assembled({(0, 0): a, (1, 1): b}, [1, 2], [2, 1])
    assert whole.entries.tolist() == [[1, 2, 0], [0, 0, 3], [0, 0, 4]]
    assert whole == Matrix.diagonal([a, b])
    upper = assembled({(0, 1): a}, [1, 3], [1, 2])
    assert upper.entries.tolist() == [[0, 1, 2]] + [[0, 0, 0]] * 3
    assert (upper.shape, upper.T.shape) == ((4, 3), (3, 4))
    assert Matrix.below([Matrix.of(a), Matrix.of(a)]).entries.tolist() == [[1, 2], [1, 2]]
    assert Matrix.column([fmpq(1), fmpq(2)]).shape == (2, 1)
    assert Matrix.zeros(2, 3) != Matrix.zeros(3, 2)
    assert Matrix.identity(2) != Matrix.zeros(2, 2)


def test_a_singular_matrix_has_no_inverse() -> None:
    singular = np.array([[fmpq(1), fmpq(2)], [fmpq(2), fmpq(4)]])
    with pytest.raises(RequestError, match="is singular at this state; give the links mass"):
        inverse(singular)


@pytest.mark.parametrize("sizes", [2, "spans"])
def test_entries_of_a_link_are_its_part_of_a_column(sizes: int | str) -> None:
    column = Matrix.column(fmpq(k) for k in range(6))
    o = SimpleNamespace(links=range(3), forces=column, spans=[1, 0, 5])
    part = link_entries("forces", sizes)
    parts = [part(o, i) for i in range(3)]
    entries = [None if p is None else [int(x) for x in p[:, 0]] for p in parts]
    assert entries == ([[0, 1], [2, 3], [4, 5]] if sizes == 2 else [[0], None, [1, 2, 3, 4, 5]])


@pytest.mark.parametrize("robot", ["panda", "quadruped"])
def test_inertias_of_a_link_are_those_of_its_parts(robot: str) -> None:
    """The spatial inertia at the origin of the frame, and the moments about the mass centre."""
    mechanism = load(robot)
    parts = Reference(mechanism).parts()
    for index, link in enumerate(chain(mechanism).links):
        parts_of_link = [part for part in parts if part.body == index]
        mass = sum(float(part.mass) for part in parts_of_link)
        centre = sum(float(part.mass) * np.asarray(part.centre) for part in parts_of_link) / mass
        moments, central = np.zeros((2, 3, 3))
        for part in parts_of_link:
            for tensor, point in ((moments, np.zeros(3)), (central, centre)):
                arm = np.asarray(part.centre, dtype=float) - point
                steiner = arm @ arm * np.eye(3) - np.outer(arm, arm)
                tensor += np.asarray(part.inertia, dtype=float) + float(part.mass) * steiner
        x, y, z = np.asarray(mass * centre)
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        inertia = np.block([[moments, cross], [-cross, mass * np.eye(3)]])
        assert link.inertia.astype(float) == pytest.approx(inertia, abs=1e-12)
        assert link.central.astype(float) == pytest.approx(central, abs=1e-12)
        assert link.centre.astype(float) == pytest.approx(centre, abs=1e-12)


def test_results_of_a_recursion_are_stored_by_its_arguments() -> None:
    class Sums:
        def __init__(self) -> None:
            self.calls: list[int] = []

        @stored
        def up_to(self, n: int) -> int:
            self.calls.append(n)
            return n + self.up_to(n - 1) if n else 0

    first, second = Sums(), Sums()
    assert (first.up_to(3), first.up_to(3), first.up_to(2)) == (6, 6, 3)
    assert first.calls == [3, 2, 1, 0]
    assert second.up_to(1) == 1
    assert second.calls == [1, 0]
