"""Motions of `symgen reproduce`: integration, samples, energies and pictures on systems with known
solutions.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symgen.description.loading import load
from symgen.mechanism.mechanism import BASE, Body, Joint, Mechanism
from symgen.pages.reproduce import (
    closed_chains,
    fixman_dihedral,
    fixman_potential,
    riccati_steady_state,
)
from symgen.reference.integrate import difference, integrate
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT

H = 0.25
PAGES = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "reproduce"


def transition(stiffness: Any, damping: Any, h: float) -> Any:
    """Return the fourth-order Taylor polynomial of exp(h A), of a linear system a = −K q − C v."""
    n = len(stiffness)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-stiffness, -damping]])
    result = term = np.eye(2 * n)
    for k in range(1, 5):
        term = term @ A * h / k
        result = result + term
    return result


def random_matrices(n: int, count: int) -> Any:
    return np.random.default_rng(7).uniform(-1, 1, (count, n, n))


class Springs:
    """Functions of a system with the mass matrix M, a = τ − K q − C v, and ln det M = w·q + q·G
    q/2.
    """

    def __init__(self, n: int) -> None:
        self.nv = n
        self.K, self.C, square, symmetric = random_matrices(n, 4)
        self.M, self.G = square @ square.T + np.eye(n), symmetric + symmetric.T
        self.w = np.arange(1.0, 1.0 + n)

    def mass_matrix(self, q: Any) -> Any:
        return np.broadcast_to(self.M, (len(q), *self.M.shape))

    def forward_dynamics(self, q: Any, v: Any, tau: Any) -> Any:
        return tau - q @ self.K.T - v @ self.C.T

    def mass_matrix_log_determinant(self, q: Any) -> Any:
        return q @ self.w + np.einsum("si,ij,sj->s", q, self.G, q) / 2

    def mass_matrix_log_determinant_gradient(self, q: Any) -> Any:
        return self.w + q @ self.G


@pytest.mark.parametrize("fixman", [False, True])
def test_a_step_of_a_planar_polymer_is_of_fourth_order(fixman: bool) -> None:
    """Fixman's force −½ ∂ ln det M/∂q is added; its linear part is a spring, its constant part
    shifts q.
    """
    solver: Any = Springs(4)
    q, v = np.random.default_rng(1).uniform(-1, 1, (2, 5, 4))
    stepped = fixman_potential._step(solver, q, v, fixman)
    K = solver.K + solver.G / 2 if fixman else solver.K
    rest = np.linalg.solve(K, -solver.w / 2) if fixman else np.zeros(4)
    state = np.concatenate([q - rest, v], axis=1)
    expected = state @ transition(K, solver.C, fixman_potential.STEP).T
    assert stepped[0] == pytest.approx(expected[:, :4] + rest, abs=1e-14)
    assert stepped[1] == pytest.approx(expected[:, 4:], abs=1e-14)


class DihedralSprings(Springs):
    """Springs for chains whose pose is the identity: six velocities, and n − 6 dihedral angles."""

    def forward_dynamics(self, q: Any, v: Any, tau: Any) -> Any:
        assert not (q[:, :7] - [0, 0, 0, 0, 0, 0, 1]).any()
        return super().forward_dynamics(self._rates(q), v, tau)

    def mass_matrix_log_determinant(self, q: Any) -> Any:
        return super().mass_matrix_log_determinant(self._rates(q))

    def mass_matrix_log_determinant_gradient(self, q: Any) -> Any:
        return super().mass_matrix_log_determinant_gradient(self._rates(q))

    @staticmethod
    def _rates(q: Any) -> Any:
        return np.concatenate([np.zeros((len(q), 6)), q[:, 7:]], axis=1)


@pytest.mark.parametrize("strength", [0.0, 1.0, -0.5])
def test_a_step_of_a_spatial_polymer_is_of_fourth_order(strength: float) -> None:
    solver: Any = DihedralSprings(8)
    angles, v = np.random.default_rng(1).uniform(-1, 1, (5, 2)), np.ones((5, 8))
    after, rates = fixman_dihedral._step(solver, angles, v, strength)
    # the pose does not act on the motion, so that its springs have no stiffness
    K = solver.K + strength * solver.G / 2
    K[:, :6] = 0
    K0 = -strength * solver.w / 2
    h = fixman_dihedral.STEP
    A = np.block(
        [
            [np.zeros((8, 8)), np.eye(8), np.zeros((8, 1))],
            [-K, -solver.C, K0[:, None]],
            [np.zeros((1, 17))],
        ]
    )
    state = np.concatenate([np.zeros((5, 6)), angles, v, np.ones((5, 1))], axis=1)
    expected, term = state, state
    for k in range(1, 5):
        term = term @ A.T * h / k
        expected = expected + term
    assert after == pytest.approx(expected[:, 6:8], abs=1e-14)
    assert rates == pytest.approx(expected[:, 8:16], abs=1e-14)


def test_the_energy_of_a_polymer_has_half_the_logarithm_of_the_determinant() -> None:
    q, v = np.random.default_rng(2).uniform(-1, 1, (2, 3, 4))
    planar: Any = Springs(4)
    kinetic = [x @ planar.M @ x / 2 for x in v]
    potential = planar.mass_matrix_log_determinant(q) / 2
    assert fixman_potential._energy(planar, q, v, False) == pytest.approx(np.array(kinetic))
    assert fixman_potential._energy(planar, q, v, True) == pytest.approx(kinetic + potential)
    spatial: Any = DihedralSprings(8)
    angles, rates = q[:, :2], np.concatenate([q, v], axis=1)
    kinetic = [x @ spatial.M @ x / 2 for x in rates]
    potential = spatial.mass_matrix_log_determinant(fixman_dihedral.with_pose(angles)) / 2
    for strength in (0.0, 1.0, -2.0):
        energy = fixman_dihedral._energy(spatial, angles, rates, strength)
        assert energy == pytest.approx(kinetic + strength * potential)


def free_motion(nv: int, kind: type[Springs] = Springs) -> Any:
    """Return a system without springs, which keeps its velocities."""
    solver = kind(nv)
    solver.K, solver.C = np.zeros((2, nv, nv))
    solver.w, solver.G = np.zeros(nv), np.zeros((nv, nv))
    return solver


def test_velocities_have_the_inverse_mass_matrix_as_covariance() -> None:
    """A free motion without forces moves each angle by its velocity, a new one in each round."""
    chains, free, spatial = 6000, free_motion(5), free_motion(8, DihedralSprings)
    time = fixman_potential.STEP * fixman_potential.STEPS
    planar = fixman_potential.simulate(free, chains, 2, False)
    assert planar.angles.shape == (2, chains, 2)
    assert planar.drift < 1e-12
    first, second = planar.angles[0] / time, (planar.angles[1] - planar.angles[0]) / time
    inverse = np.linalg.inv(free.M)[3:, 3:]
    for v in (first, second):
        assert np.cov(v.T) == pytest.approx(inverse, rel=0.08, abs=0.03 * inverse.max())
    assert abs(np.corrcoef(first.T, second.T)[:2, 2:]).max() < 0.05
    time = fixman_dihedral.STEP * fixman_dihedral.STEPS
    polymer = fixman_dihedral.simulate(spatial, chains, 1, 0.0)
    assert polymer.angles.shape == (1, chains, 2)
    assert (polymer.rejected, polymer.drift < 1e-12) == (0, True)
    inverse = np.linalg.inv(spatial.M)[6:, 6:]
    covariance = np.cov(polymer.angles[0].T) / time**2
    assert covariance == pytest.approx(inverse, rel=0.08, abs=0.03 * inverse.max())


def test_chains_with_and_without_the_potential_have_other_velocities() -> None:
    free, spatial = free_motion(4), free_motion(7, DihedralSprings)
    planar = [fixman_potential.simulate(free, 3, 1, x).angles for x in (False, False, True)]
    dihedral = [fixman_dihedral.simulate(spatial, 3, 1, x).angles for x in (0.0, 0.0, 1.0)]
    for first, again, with_potential in (planar, dihedral):
        assert np.array_equal(first, again)
        assert abs(with_potential - first).min() > 1e-9


def test_the_drift_is_the_largest_change_of_energy_in_a_round() -> None:
    """A constant force f on the angle alone, with M = 1, changes the energy by f Δθ."""
    solver = free_motion(4)
    solver.M = np.eye(4)
    force = np.array([0.0, 0.0, 0.0, 2.0])
    solver.forward_dynamics = lambda q, v, tau: np.broadcast_to(force, q.shape)
    ensemble = fixman_potential.simulate(solver, 50, 3, False)
    moved = np.diff(ensemble.angles[..., 0], axis=0, prepend=0)
    assert ensemble.drift == pytest.approx(2 * abs(moved).max())


def spatial_jump(jump: float) -> Any:
    """Return a free motion whose energy rises by `jump` whenever it moves away from where it was
    last measured.
    """
    solver = free_motion(7, DihedralSprings)
    calls: list[int] = []

    def log_determinant(q: Any) -> Any:
        calls.append(1)
        return np.full(len(q), 2 * jump * ((len(calls) - 1) % 2))

    solver.mass_matrix_log_determinant = log_determinant
    return solver


@pytest.mark.parametrize(
    ("jump", "rejected"), [(np.log(4.0), 0.75), (50.0, 1.0), (-50.0, 0.0), (0.0, 0.0)]
)
def test_a_round_is_accepted_with_the_probability_of_its_energy(
    jump: float, rejected: float
) -> None:
    """Rejected chains stay where they were."""
    ensemble = fixman_dihedral.simulate(spatial_jump(jump), 1500, 2, 1.0)
    assert ensemble.rejected == pytest.approx(rejected, abs=0.03)
    assert ensemble.drift == pytest.approx(abs(jump), abs=1e-12)
    stays = (np.diff(ensemble.angles[..., 0], axis=0, prepend=0) == 0).mean()
    assert stays == ensemble.rejected


def test_polymers_are_sampled_at_their_middle_angle_after_the_first_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The middle angle of seven bonds is the fourth, that of seven beads is the second dihedral
    angle.
    """
    edges = np.radians([0, 90, 180])
    calls: list[tuple[Any, ...]] = []

    def ensemble(angle_index: int, without: bool) -> Any:
        """Return three rounds of two chains: after the first, one middle angle is below 90°."""
        angles = np.full((3, 2, 6), np.radians(170.0))
        if without:
            angles[1:, 0, angle_index] = np.radians(10.0)
        return angles

    def planar(solver: Any, chains: int, rounds: int, fixman: bool) -> Any:
        calls.append((solver, chains, rounds, fixman))
        return fixman_potential.Ensemble(ensemble(3, not fixman), 2.0 if fixman else 1.0)

    monkeypatch.setattr(fixman_potential, "compiled", lambda bonds: f"{bonds} bonds")
    monkeypatch.setattr(fixman_potential, "simulate", planar)
    monkeypatch.setattr(fixman_potential, "NODES", 2)
    chain = fixman_potential.sampled(7, edges, 2, 3, 1)
    assert calls == [("7 bonds", 2, 3, False), ("7 bonds", 2, 3, True)]
    assert chain.without[0] == pytest.approx([1, 1])
    assert chain.having[0] == pytest.approx([0, 2])
    assert (chain.bonds, chain.drift) == (7, 2.0)
    assert chain.law == pytest.approx([1, 1], abs=1e-4)  # the law is even about 90°
    calls.clear()

    def spatial(solver: Any, chains: int, rounds: int, strength: float) -> Any:
        calls.append((solver, chains, rounds, strength))
        return fixman_dihedral.Ensemble(ensemble(1, not strength), 0.1 + strength, 2.0 - strength)

    monkeypatch.setattr(fixman_dihedral, "compiled", lambda beads: f"{beads} beads")
    monkeypatch.setattr(fixman_dihedral, "simulate", spatial)
    monkeypatch.setattr(fixman_dihedral, "class_law", lambda *call: np.array([1.0, 1.0]))
    monkeypatch.setattr(fixman_dihedral, "chi_square", lambda densities, law: float(law[0]))
    polymer = fixman_dihedral.sampled(7, edges, 2, 3, 1)
    assert calls == [("7 beads", 2, 3, 0.0), ("7 beads", 2, 3, 1.0)]
    assert polymer.without.density == pytest.approx([1, 1])
    assert polymer.having.density == pytest.approx([0, 2])
    assert (polymer.beads, polymer.rejected, polymer.drift) == (7, 1.1, 2.0)


@pytest.mark.parametrize("module", [fixman_potential, fixman_dihedral])
def test_densities_count_folded_angles_of_independent_chains(module: Any) -> None:
    """Two chains with four rounds; classes of 0–45°, 45–180° have widths 1/4 and 3/4 of a half
    turn.
    """
    edges = np.radians([0, 45, 180])
    chains = np.radians([[10, -20, 370, 45], [-44, 90, 200, -300]]).T  # 200 is −160, −300 is 60
    law = np.array([1.5, 1.0])
    if module is fixman_potential:
        density, error = module.density(chains, edges)
    else:
        measured = module.measured(chains, edges, law)
        density, error = measured.density, measured.error
        # of the first class, 3 and 1 with the mean 2 and the standard error 1
        assert measured.from_rigid == pytest.approx((2 - 1.5) ** 2)
        assert measured.from_flat == pytest.approx((2 - 1) ** 2)
    # three and one of four angles are in the first class
    assert density == pytest.approx([4 * 0.5, 4 / 3 * 0.5])
    assert error == pytest.approx([4 * 0.25, 4 / 3 * 0.25])


def test_chi_square_of_correlated_classes_has_the_mean_of_its_degrees_of_freedom() -> None:
    """Three classes of 200 chains, whose densities sum to a constant."""
    random, squares = np.random.default_rng(5), []
    law = np.array([1.0, 1.5, 0.5])
    for _ in range(400):
        two = random.multivariate_normal(law[:2], [[1.0, 0.6], [0.6, 1.0]], 200).T
        squares.append(fixman_dihedral.chi_square(np.array([*two, 3 - two.sum(axis=0)]), law))
    assert np.mean(squares) == pytest.approx(2, abs=0.3)


# -- closed chains --


class Linkage:
    """A linear system in the coordinates of a mechanism without quaternions: M a + C v + K q = τ −
    g.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self.nv = mechanism, mechanism.nv
        square, self.K, self.C = random_matrices(self.nv, 3)
        self.M = square @ square.T + np.eye(self.nv)
        self.g = np.arange(1.0, 1.0 + self.nv)
        self.A = np.random.default_rng(9).uniform(-1, 1, (2, self.nv))

    def constrained_forward_dynamics(self, q: Any, v: Any, tau: Any) -> Any:
        force = tau - self.g - self.C @ v - self.K @ q
        return np.linalg.solve(self.M, force), np.zeros(2)

    @staticmethod
    def integrate(q: Any, v: Any, h: float) -> Any:
        return q + v * h

    def constraint_jacobian(self, q: Any) -> Any:
        return self.A

    def constraint_residual(self, q: Any) -> Any:
        return q @ self.A.T

    def kinetic_energy(self, q: Any, v: Any) -> Any:
        return np.einsum("si,ij,sj->s", v, self.M, v) / 2

    def potential_energy(self, q: Any) -> Any:
        return q @ self.g + np.einsum("si,ij,sj->s", q, self.K, q) / 2


@pytest.fixture(scope="module")
def four_bar() -> Mechanism:
    return load("four_bar")


def test_a_step_of_a_linkage_is_of_fourth_order(four_bar: Mechanism) -> None:
    linkage: Any = Linkage(four_bar)
    q, v, tau = np.random.default_rng(1).uniform(-1, 1, (3, 3))
    after, rates = closed_chains.rk4(linkage, q, v, tau, H)
    rest = np.linalg.solve(linkage.K, tau - linkage.g)
    K, C = (np.linalg.solve(linkage.M, x) for x in (linkage.K, linkage.C))
    expected = transition(K, C, H) @ np.concatenate([q - rest, v])
    assert after == pytest.approx(expected[:3] + rest, abs=1e-13)
    assert rates == pytest.approx(expected[3:], abs=1e-13)


def test_a_swing_samples_energy_without_the_work_of_the_joint_forces(four_bar: Mechanism) -> None:
    linkage: Any = Linkage(four_bar)
    linkage.C, linkage.K = np.zeros((3, 3)), linkage.K + linkage.K.T
    q, v, tau = np.random.default_rng(1).uniform(-1, 1, (3, 3))
    motion = closed_chains.swing(linkage, q, v, tau, 0.01, 5)
    assert motion.t == pytest.approx([0, 0.01, 0.02, 0.03, 0.04, 0.05])
    state = q, v
    for k in range(6):
        assert motion.q[k] == pytest.approx(state[0])
        assert motion.kinetic[k] == pytest.approx(state[1] @ linkage.M @ state[1] / 2)
        assert motion.apart[k] == pytest.approx(abs(linkage.A @ state[0]).max())
        state = closed_chains.rk4(linkage, *state, tau, 0.01)
    assert motion.gained[0] == 0
    assert abs(motion.gained).max() < 1e-9  # the forces do work of (q − q₀)·τ
    assert abs((motion.q[-1] - q) @ tau) > 1e-3


def ball_and_hinge() -> Mechanism:
    """Return a free body with a hinge and a planar joint behind it."""
    joints = (
        Joint("pose", "free", -1),
        Joint("hinge", "revolute", 0),
        Joint("table", "planar", 1),
    )
    return Mechanism("boat", joints, (Body("hull"), Body("rudder"), Body("plate")))


def test_the_bracket_is_the_commutator_of_displacements() -> None:
    """exp(t x) exp(t y) exp(−t x) exp(−t y) is exp(t² [x, y]) up to t³, which the mean over ±t
    cancels.
    """
    mechanism = ball_and_hinge()
    x, y = np.random.default_rng(4).uniform(-1, 1, (2, mechanism.nv))
    motion, t = Reference(mechanism, FLOAT), 1e-3
    start = np.zeros((1, mechanism.nq))
    start[0, 6] = 1
    commutators = []
    for step in (t, -t):
        q = start
        for v in (x, y, -x, -y):
            q = integrate(motion, q, v[None], np.array([step]))
        commutators.append(difference(motion, start, q)[0] / t**2)
    bracket = closed_chains.bracket(mechanism, x, y)
    assert bracket == pytest.approx(np.mean(commutators, axis=0), abs=1e-4)
    assert bracket[mechanism.v_slices[1]] == 0
    assert abs(bracket[mechanism.v_slices[0]]).min() > 1e-2


def test_a_free_body_that_tumbles_is_integrated_to_fourth_order() -> None:
    """A body without forces, with the moments 1, 2 and 3; half the step divides the error by 16."""
    mechanism = Mechanism("body", (Joint("pose", "free", -1),), (Body("body"),))
    motion, moments = Reference(mechanism, FLOAT), np.array([1.0, 2.0, 3.0])

    def dynamics(q: Any, v: Any, tau: Any) -> Any:
        turn = v[3:]
        spin = np.cross(moments * turn, turn) / moments
        return np.concatenate([np.cross(v[:3], turn), spin]), None

    solver: Any = SimpleNamespace(
        mechanism=mechanism,
        constrained_forward_dynamics=dynamics,
        integrate=lambda q, v, h: integrate(motion, q[None], v[None], np.array([h]))[0],
    )
    start = np.array([0.0, 0, 0, 0, 0, 0, 1])
    v = np.array([0.3, -0.2, 0.5, 1.0, 1.5, -0.5])
    ends = []
    for steps in (4, 8, 32):
        q, rates = start, v
        for _ in range(steps):
            q, rates = closed_chains.rk4(solver, q, rates, np.zeros(6), 0.8 / steps)
        ends.append(q)
    errors = [np.abs(end - ends[-1]).max() for end in ends[:2]]
    assert 12 < errors[0] / errors[1] < 24


def test_distances_are_travelled_by_joints_with_an_axis_only() -> None:
    mechanism = ball_and_hinge()
    solver: Any = SimpleNamespace(mechanism=mechanism, nv=mechanism.nv)
    q, after = np.random.default_rng(4).uniform(-1, 1, (2, mechanism.nq))
    travelled = closed_chains.travelled(solver, q, after)
    expected = np.zeros(mechanism.nv)
    expected[mechanism.v_slices[1]] = (after - q)[mechanism.q_slices[1]]
    assert travelled == pytest.approx(expected)


def test_joint_forces_hold_a_robot_at_rest(four_bar: Mechanism) -> None:
    """With all joints, τ is the weight; two of them leave the least acceleration."""
    linkage: Any = Linkage(four_bar)
    q, still = np.random.default_rng(1).uniform(-1, 1, 3), np.zeros(3)
    names = [joint.name for joint in four_bar.joints]
    weight = linkage.g + linkage.K @ q
    assert closed_chains.balancing(linkage, q, names) == pytest.approx(weight)
    tau = closed_chains.balancing(linkage, q, [names[2], names[0]])
    assert tau[1] == 0
    inverse = np.linalg.inv(linkage.M)
    left = linkage.constrained_forward_dynamics(q, still, tau)[0]
    assert inverse[[0, 2]] @ left == pytest.approx(np.zeros(2), abs=1e-12)


def test_given_rates_are_completed_to_velocities_that_keep_loops_closed(
    four_bar: Mechanism,
) -> None:
    linkage: Any = Linkage(four_bar)
    rates = {four_bar.joints[1].name: (0.7,)}
    v = closed_chains.pushed(linkage, np.zeros(3), rates)
    assert v[1] == 0.7
    assert linkage.A @ v == pytest.approx(np.zeros(2), abs=1e-12)
    assert closed_chains.pushed(linkage, np.zeros(3), {}) == pytest.approx(np.zeros(3))


def test_a_run_lasts_a_second_with_steps_and_with_half_steps(
    four_bar: Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the platform is balanced, and it is pushed; the four-bar linkage falls from rest."""
    solver: Any = SimpleNamespace(mechanism=four_bar)
    swings: list[Any] = []

    def swing(solver: Any, q: Any, v: Any, tau: Any, h: float, steps: int) -> Any:
        swings.append((q, v, tau, h, steps))
        return steps

    monkeypatch.setattr(closed_chains, "compile", lambda name, needed: solver)
    monkeypatch.setattr(closed_chains, "assemble", lambda robot: {"a": (1, 2), "b": (3,)})
    monkeypatch.setattr(closed_chains, "swing", swing)
    monkeypatch.setattr(closed_chains, "pushed", lambda solver, q, rates: list(rates))
    monkeypatch.setattr(closed_chains, "balancing", lambda solver, q, joints: list(joints))
    fall: Any = closed_chains.run("four_bar", 10)
    assert (fall.name, fall.robot, fall.coarse, fall.fine) == ("four_bar", four_bar, 10, 20)
    for (q, v, tau, h, steps), count in zip(swings, (10, 20), strict=True):
        assert (list(q), v, list(tau)) == ([1, 2, 3], [], [0, 0, 0])
        assert (h, steps) == (1 / count, count)
    swings.clear()
    closed_chains.run("stewart", 4)
    assert swings[0][1:] == (["plate"], [f"slide{k}" for k in range(1, 7)], 1 / 4, 4)


def test_the_page_of_closed_chains_has_a_run_for_each_robot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    progress: list[tuple[str, int, int]] = []
    monkeypatch.setattr(closed_chains, "run", lambda name, steps: (name, steps))
    monkeypatch.setattr(closed_chains, "_page", lambda runs, steps: (runs, steps))
    page: Any = closed_chains.reproduce(lambda *step: progress.append(step), ("a", "b"), 7)
    assert page == ([("a", 7), ("b", 7)], 7)
    assert progress == [("a", 0, 2), ("b", 1, 2)]


def test_bars_of_a_linkage_go_from_joint_to_joint_and_to_the_closure(four_bar: Mechanism) -> None:
    """The crank, the coupler and the rocker, whose loop joint is at 1/2 and 3/4 m along x."""
    q = np.array([0.3, -0.8, 1.1])
    crank, coupler, rocker = closed_chains.bars(four_bar, q)
    turned = {"crank": 0.3, "coupler": 0.3 - 0.8, "rocker": 1.1}
    direction = {name: np.array([np.cos(a), np.sin(a), 0]) for name, a in turned.items()}
    assert coupler[1] - coupler[0] == pytest.approx(direction["coupler"] / 2)
    assert rocker[1] - rocker[0] == pytest.approx(0.75 * direction["rocker"])
    assert crank[1] == pytest.approx(coupler[0])
    length = np.linalg.norm(crank[1] - crank[0])
    assert crank[1] - crank[0] == pytest.approx(length * direction["crank"])
    placed = Reference(four_bar, FLOAT).placements(q[None])
    for k, line in enumerate((crank, coupler, rocker)):
        assert line[0] == pytest.approx(np.broadcast_to(placed[k].shift[0], (1, 3))[0])


def test_bars_end_at_a_closure_to_the_base() -> None:
    """The third link of Bennett's chain ends at a joint of the base, of which no bar is drawn."""
    bennett = load("bennett")
    q = np.array([0.3, -0.8, 1.1])
    bars = closed_chains.bars(bennett, q)
    assert len(bars) == 3
    reference = Reference(bennett, FLOAT)
    placed = reference.placements(q[None])
    (loop,) = bennett.loops
    turn, shift = (x[0].reshape(-1)[-9:] for x in (placed[2].turn, placed[2].shift))
    end = shift[-3:] + turn.reshape(3, 3) @ reference.pose(loop.first.pose)[1]
    assert bars[-1][1] == pytest.approx(end)
    assert bars[-1][0] == pytest.approx(bars[1][1])


def test_the_committed_picture_shows_every_pose_of_its_robots() -> None:
    """A pose has a bar for each joint of a link and end of a closure; the last pose is opaque."""
    svg = (PAGES / "closed-chains.svg").read_text(encoding="utf-8")
    charts = re.split(r'<g id="axes_\d+">', svg)[1:]
    for (name, act), chart in zip(closed_chains.ACTS.items(), charts, strict=False):
        robot = load(name)
        ends = [joint.parent for joint in robot.joints]
        ends += [end.body for loop in robot.loops for end in (loop.first, loop.second)]
        bars = sum(body != BASE for body in ends)
        lines = re.findall(
            r"stroke: (#\w{6})(?:; stroke-opacity: ([\d.]+))?; stroke-width: 1.8", chart
        )
        assert len(lines) == act.shown * bars, name
        last = [(closed_chains.LAST, "")] * bars
        assert lines[-bars:] == last
        assert lines[:bars] == [(closed_chains.FIRST, "0.2")] * bars
        assert act.caption in chart
    (rates,) = closed_chains.ACTS["slider_crank"].rates.values()
    assert f"turned on at {rates[0]:g} rad/s" == closed_chains.ACTS["slider_crank"].caption


def runs_of_a_linkage(robot: Mechanism, count: int) -> list[closed_chains.Run]:
    """Return runs whose poses turn about the base, with the energies and errors of known size."""

    def motion(steps: int, error: float) -> closed_chains.Motion:
        t = np.linspace(0, 1, 1 + steps)
        q = np.stack([t, 0 * t, 0 * t], axis=-1)
        return closed_chains.Motion(t, q, t, -error * t, 3 * error * t)

    run = closed_chains.Run("four_bar", robot, motion(8, 1e-3), motion(16, 1e-5))
    return [run] * count


def test_the_picture_of_closed_chains_has_poses_energies_and_errors(four_bar: Mechanism) -> None:
    """Three robots take two rows of poses. Poses are equally far in time, and get darker."""
    pyplot = pytest.importorskip("matplotlib.figure")
    figure = pyplot.Figure()
    runs = runs_of_a_linkage(four_bar, 3)
    still = runs[1].fine._replace(gained=np.zeros(17), apart=np.zeros(17))
    runs[1] = replace(runs[1], fine=still)
    assert [closed_chains._rows_of_poses(runs[:k]) for k in (1, 2, 3)] == [1, 1, 2]
    closed_chains._draw(figure, runs)
    *poses, energy, loops = figure.axes
    places = [chart.get_subplotspec() for chart in figure.axes]
    assert [(p.rowspan.start, p.colspan.start, p.colspan.stop) for p in places] == [
        (0, 0, 1),
        (0, 1, 2),
        (1, 0, 1),
        (2, 0, 2),
        (3, 0, 2),
    ]
    shown = closed_chains.ACTS["four_bar"].shown
    lines = poses[0].get_lines()
    assert len(lines) == 3 * shown
    heights = places[0].get_gridspec().get_height_ratios()
    assert heights[0] == heights[1] <= heights[2] == heights[3] <= 1.2 * heights[0]
    for k in range(shown):
        bars = closed_chains.bars(four_bar, np.array([k / (shown - 1), 0, 0]))
        for line, bar in zip(lines[3 * k : 3 * k + 3], bars, strict=True):
            assert line.get_xdata() == pytest.approx(bar[:, 0])
            assert line.get_ydata() == pytest.approx(bar[:, 1])
            assert line.get_alpha() == pytest.approx(0.2 + 0.8 * k / (shown - 1))
            is_last = k == shown - 1
            assert line.get_color() == (closed_chains.LAST if is_last else closed_chains.FIRST)
    assert poses[0].get_aspect() == 1
    for chart, factor in ((energy, 1), (loops, 3)):
        assert chart.get_yscale() == "log"
        coarse, fine, _, exact, *_ = chart.get_lines()
        assert (coarse.get_linestyle(), fine.get_linestyle()) == ("-", ":")
        assert coarse.get_ydata() == pytest.approx(factor * 1e-3 * np.arange(1, 9) / 8)
        assert fine.get_ydata() == pytest.approx(factor * 1e-5 * np.arange(1, 17) / 16)
        assert fine.get_xdata() == pytest.approx(np.arange(1, 17) / 16)
        assert set(exact.get_ydata()) == {1e-17}  # no error is drawn below a rounding error
        colours = [line.get_color() for line in chart.get_lines()]
        assert colours[::2] == colours[1::2]
        assert len(set(colours)) == 3
    assert len(figure.legends[0].get_texts()) == 3
    labels = [chart.get_ylabel() for chart in (energy, loops)]
    assert "(J)" in labels[0]
    assert "(m, rad)" in labels[1]


# -- the Riccati equation --


def measurement(name: str, **figures: Any) -> riccati_steady_state.Measurement:
    case = next(case for case in riccati_steady_state.CASES if case.name == name)
    common: dict[str, Any] = {
        "unobservable": 0,
        "errors": [],
        "largest": [],
        "pivot": 1.0,
        "pivot_difference": 0.0,
        "gain_change": 0.0,
        "axial": 1.0,
    }
    return riccati_steady_state.Measurement(case=case, **(common | figures))


def test_errors_of_p_are_drawn_with_the_slope_that_is_predicted() -> None:
    """Errors fall tenfold in each link. The nearly straight chain does not lengthen the axis."""
    figure = pytest.importorskip("matplotlib.figure").Figure()
    errors = [10.0**-k for k in range(1, 21)]
    slow = [0.5**k for k in range(1, 60)]
    steady = [
        measurement("planar, 1°", errors=slow, predicted=0.5, converged_at=1000),
        measurement("planar, 5°", errors=errors, predicted=0.1, converged_at=10),
        measurement("planar, 30°", errors=[1e-2] * 3, predicted=None),
        measurement("planar, 90°", errors=errors, predicted=0.1, converged_at=20),
    ]
    largest = [float(k) for k in range(1, 6)]
    growing = [measurement("planar, straight", largest=largest, unobservable=1)]
    riccati_steady_state._draw(figure, steady, growing)
    error, growth = figure.axes
    solid = [line for line in error.get_lines() if line.get_linestyle() == "-"]
    dashed = [line for line in error.get_lines() if line.get_linestyle() == "--"]
    assert [line.get_label() for line in solid] == [m.case.name for m in steady]
    # 1.15 times the 20 links of the last case; errors up to 1e-14 are not drawn
    assert list(solid[0].get_xdata()) == list(range(1, 24))
    assert list(solid[0].get_ydata()) == slow[:23]
    assert list(solid[1].get_xdata()) == list(range(1, 14))
    assert [line.get_color() for line in dashed] == [solid[k].get_color() for k in (0, 1, 3)]
    # from the first error below 1e-4 on, which is 0.1 FIT_FROM, and three times above it
    assert list(dashed[1].get_xdata()) == list(range(5, 14))
    assert dashed[1].get_ydata() == pytest.approx(3 * np.array(errors[4:13]))
    assert list(dashed[0].get_xdata()) == list(range(14, 24))
    assert error.get_ylim() == (1e-14, 10)
    (line,) = growth.get_lines()
    assert list(line.get_xdata()) == [1, 2, 3, 4, 5]
    assert list(line.get_ydata()) == largest
    assert (growth.get_xscale(), growth.get_yscale()) == ("log", "log")


def test_the_axis_has_a_hundred_links_without_a_bent_chain_that_converges() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    steady = [
        measurement("planar, 1°", errors=[1e-2] * 200, predicted=0.5, converged_at=500),
        measurement("planar, 5°", errors=[1e-2] * 200, predicted=0.5, converged_at=None),
    ]
    growing = [measurement("planar, straight", largest=[1.0, 2.0], unobservable=1)]
    riccati_steady_state._draw(figure, steady, growing)
    for line in figure.axes[0].get_lines():
        assert list(line.get_xdata()) == list(range(1, 116))


def test_the_ratio_of_determinants_is_that_of_the_chain_with_and_without_its_last_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def from_programs(name: str, programs: Any, sizes: Any) -> Any:
        (robot,) = programs.values()
        reference = Reference(robot, FLOAT)
        return SimpleNamespace(
            mass_matrix_log_determinant=lambda q: reference.mass_matrix_log_determinant(q[None])[0]
        )

    monkeypatch.setattr(
        riccati_steady_state,
        "build",
        SimpleNamespace(build_form=lambda robot, function, method, options: robot),
    )
    monkeypatch.setattr(
        riccati_steady_state, "Solver", SimpleNamespace(from_programs=from_programs)
    )
    case = riccati_steady_state.CASES[5]
    chain = riccati_steady_state.uniform_chain(case)
    P = riccati_steady_state.iterate(chain, 4)[-1]
    pivot = riccati_steady_state.compiled_pivot(case, 4)
    assert pivot == pytest.approx(float(chain.axis @ P @ chain.axis), rel=1e-10)
