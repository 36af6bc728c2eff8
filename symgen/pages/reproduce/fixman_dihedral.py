"""Dihedral angles of a free polymer in space with rigid bonds and bond angles, with and without
Fixman's potential.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from flint import arb

from symgen.benchmarks.bench import machine_facts
from symgen.machine.solver import Solver
from symgen.mechanism.mechanism import Body, Joint, Mechanism, Part
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._page import Page, legend_below
from symgen.pages.reproduce._planar import BUILD
from symgen.pipeline import build
from symgen.reference.precision import Array
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, Angle, Shift, Turn, Vector3

TITLE = "Dihedral angles of a polymer with rigid bond angles, with Fixman's potential and without"
UP_TO = tuple(range(15, 181, 15))
"""Degrees at which the classes of angles end."""
BEADS = (4, 6)
CHAINS, ROUNDS, FORGOTTEN = 3000, 60, 20
"""Rounds in all, and of them at the beginning, where the chains still know that they were planar
zigzags.
"""
LEAST = 1e-12
"""Smallest probability that the page prints."""
WITHOUT, WITH = "#c8641e", "#1f5a94"


class Measured(NamedTuple):
    """Densities of a dihedral angle by class with their standard errors, and χ² from two laws."""

    density: Array
    error: Array
    from_rigid: float
    from_flat: float


class Sampled(NamedTuple):
    """Densities of one polymer's middle dihedral angle, without Fixman's potential and with it."""

    beads: int
    without: Measured
    having: Measured
    law: Array
    rejected: float
    drift: float


def sampled(beads: int, edges: Array, chains: int, rounds: int, forgotten: int) -> Sampled:
    """Return both motions of one polymer, and the law of each class: the mean over ten points in
    it.
    """
    middle, solver = (beads - 4) // 2, compiled(beads)
    motions = [simulate(solver, chains, rounds, strength) for strength in (0.0, 1.0)]
    law = class_law(beads, middle, edges)
    without, having = (
        measured(motion.angles[forgotten:, :, middle], edges, law) for motion in motions
    )
    return Sampled(
        beads,
        without,
        having,
        law,
        max(motion.rejected for motion in motions),
        max(motion.drift for motion in motions),
    )


def reproduce(
    tell: Progress,
    up_to: Sequence[int] = UP_TO,
    beads: Sequence[int] = BEADS,
    chains: int = CHAINS,
    rounds: int = ROUNDS,
    forgotten: int = FORGOTTEN,
) -> Page:
    """Return the page with a polymer of one dihedral angle and a longer one."""
    edges = np.radians([0, *up_to])
    polymers = []
    for done, n in enumerate(beads):
        tell(f"{n} beads", done, len(beads))
        polymers.append(sampled(n, edges, chains, rounds, forgotten))
    columns = ["up_to"]
    notes = {"up_to": "upper end of the class of angles (degrees; the first begins at 0, trans)"}
    for n in beads:
        angle_text = (
            f"{n} beads, dihedral angle {(n - 4) // 2 + 1} of {n - 3}: density; 1 if all angles are"
            " equally likely"
        )
        for name, meaning in (
            ("law", f"√det H_bb, other dihedral angles integrated out; {angle_text}"),
            ("rigid", f"sampled, bonds and bond angles rigid; {angle_text}"),
            ("rigid_error", "its standard error"),
            ("fixman", f"sampled with Fixman's potential; {angle_text}"),
            ("fixman_error", "its standard error"),
        ):
            columns.append(f"{name}_{n}")
            notes[columns[-1]] = meaning
    table = [
        list(up_to),
        *(
            list(map(float, values))
            for chain in polymers
            for values in (
                chain.law,
                chain.without.density,
                chain.without.error,
                chain.having.density,
                chain.having.error,
            )
        ),
    ]
    freedom = len(up_to) - 1

    def tests(kind: str, law: str) -> str:
        """Return the values of χ² and their probabilities, one for each polymer."""
        values = [getattr(getattr(chain, kind), law) for chain in polymers]
        chances = [exceedance(x, freedom) for x in values]
        return " and ".join(
            f"{x:.1f} (p {f'= {p:.2g}' if p > LEAST else f'< {LEAST:g}'})"
            for x, p in zip(values, chances, strict=True)
        )

    law_ranges = ", and between ".join(
        f"{chain.law.min():.2f} and {chain.law.max():.2f}" for chain in polymers
    )
    return Page(
        source=(
            "Y. Wang, G. S. Chirikjian, A new O(n) method for inverting the mass matrix for serial"
            " chains composed of rigid bodies, Fixman's theorem and (4), after M. Fixman, 1974"
        ),
        says=(
            "Given a chain of point masses whose internal coordinates are f soft and r hard "
            "variables, (det G)(det H_bb) = det G_aa. "
            "This provides a useful tool to compute the determinant of the mass matrix of the "
            "constrained chain. The paper has no figures."
        ),
        measured=(
            f"For free chains of {' and '.join(map(str, beads))} unit masses with unit bonds and"
            f" bond angles of {180 - BEND}°, the hard variables are the bond lengths and bond"
            " angles, and the soft ones the pose and the dihedral angles. det G is then constant."
            " √det H_bb, with the other dihedral angles integrated out, varies between"
            f" {law_ranges} of its mean. The densities that result from the motion alone have χ² ="
            f" {tests('without', 'from_rigid')} from √det H_bb and χ² ="
            f" {tests('without', 'from_flat')} from the flat law, with {freedom} degrees of"
            " freedom. With the compiled gradient of ln det M as Fixman's force they have χ² ="
            f" {tests('having', 'from_flat')} from the flat law and χ² ="
            f" {tests('having', 'from_rigid')} from √det H_bb."
        ),
        differs=(
            "The paper continues with the solve with M. Polymer physics uses the theorem as"
            " follows: with rigid bonds and bond angles, configurations have the density √det M;"
            " with stiff springs, and without a torsion potential, all dihedral angles are equally"
            " likely. The potential (kT/2) ln det H_bb makes the rigid chain behave like the stiff"
            f" one. Here the density is not assumed: hybrid Monte Carlo takes {chains} chains that"
            f" start as planar zigzags, moves them by the compiled forward dynamics ({STEPS} steps"
            f" of {STEP:g} s of Runge and Kutta's method in a round, kT = 1 J), accepts a round"
            " with probability min(1, exp(−ΔE/kT)), and takes new velocities from N(0, kT M⁻¹) in"
            f" each of {rounds} rounds; the first {forgotten} are discarded. At most"
            f" {rejected_share(polymers)} of the rounds are rejected; the largest error of a"
            f" chain's energy in a round is {max(chain.drift for chain in polymers):.0e} J. The law"
            " is computed without the mass matrix, from the gradients of bond lengths and angles,"
            " K. Lee and G. S. Chirikjian, 2005, (7). Their (20) holds the lengths constant in the"
            " gradient of a bond angle; this adds gradients of lengths to it, which leaves det"
            " H_bb unchanged. χ² uses the covariance of the classes between the independent"
            " chains."
        ),
        columns=tuple(columns),
        rows=tuple(zip(*table, strict=True)),
        notes=notes,
        draw=lambda figure: _draw(figure, np.degrees(edges), polymers),
        height=8.2,
        machine=machine_facts(BUILD, ()),
    )


def rejected_share(polymers: Sequence[Sampled]) -> str:
    """Return the largest share of rejected rounds as a percentage."""
    return f"{100 * max(chain.rejected for chain in polymers):.2g} %"


def _draw(figure: Any, edges: Array, polymers: Sequence[Sampled]) -> None:
    """Draw the densities with their laws."""
    charts = np.atleast_1d(figure.subplots(len(polymers), 1, sharex=True, sharey=True))
    middles, fine = (edges[1:] + edges[:-1]) / 2, np.linspace(0, 180, 181)
    for chart, chain in zip(charts, polymers, strict=True):
        angle_index = (chain.beads - 4) // 2
        chart.plot(
            fine,
            rigid_law(chain.beads, angle_index, np.radians(fine)),
            "-",
            color=WITHOUT,
            alpha=0.6,
            linewidth=2,
            label="√det H_bb: the law of rigid bonds and bond angles",
        )
        chart.axhline(
            1.0, color=WITH, alpha=0.6, linewidth=2, label="flat: the law of stiff springs"
        )
        for values, mark, colour, aside, label in (
            (chain.without, "o", WITHOUT, -1, "rigid, sampled by the motion"),
            (chain.having, "s", WITH, 1, "the same with Fixman's potential"),
        ):
            chart.errorbar(
                middles + aside,
                values.density,
                2 * values.error,
                fmt=mark,
                color=colour,
                markersize=6,
                capsize=3,
                linewidth=1.2,
                label=label,
            )
        chart.set_title(
            f"{chain.beads} beads, angle {angle_index + 1} of {chain.beads - 3}", loc="left"
        )
        chart.set_ylabel("density (flat = 1)")
    charts[-1].set_xlim(0, 180)
    charts[-1].set_xticks(range(0, 181, 30))
    charts[-1].set_xlabel(
        "dihedral angle of the links (degrees; 0: trans)\nbars: two standard errors to both sides"
    )
    legend_below(figure, charts[0])


# -- the polymer and its motion --


UNIT, ZERO = Fraction(1), Fraction(0)
BEND = 70
"""Angle (degrees) between successive bonds: the bond angle is 180° − BEND."""
POSE = 6
"""Velocities of the free joint, which come before the rates of the dihedral angles."""
STEP, STEPS = 0.025, 24
"""Seconds of a step of Runge and Kutta's method, and steps between new velocities; kT is 1 J."""


class Ensemble(NamedTuple):
    """Dihedral angles (rounds, chains, beads − 3) in rad after each round, the share of rejected
    rounds, and the largest error of a chain's energy (J).
    """

    angles: Array
    rejected: float
    drift: float


def polymer(beads: int) -> Mechanism:
    """Return the polymer: a free body of three beads, and a revolute joint about each further bond.

    The body's frame is at the third bead, with z along the second bond. All dihedral angles are
    zero in the planar zigzag, trans.
    """
    bend = Turn(X_AXIS, Angle(pi=Fraction(BEND, 180)))
    along, reverse = Shift((ZERO, ZERO, UNIT)), Shift((ZERO, ZERO, -UNIT))
    first = (
        Part("bead0", (reverse, bend, reverse), UNIT),
        Part("bead1", (reverse,), UNIT),
        Part("bead2", (), UNIT),
    )
    joints, bodies = [Joint("pose", "free", -1)], [Body("bead2", first)]
    for i in range(3, beads):
        before = (bend, along, Turn(Z_AXIS, Angle(pi=UNIT))) if i > 3 else ()
        joints.append(Joint(f"dihedral{i - 2}", "revolute", i - 3, before, Z_AXIS))
        bodies.append(Body(f"bead{i}", (Part(f"bead{i}", (bend, along), UNIT),)))
    gravity: Vector3 = (ZERO, ZERO, ZERO)
    return Mechanism(f"polymer_of_{beads}_beads", tuple(joints), tuple(bodies), gravity=gravity)


def compiled(beads: int) -> Solver:
    """Return the functions that the motion needs, compiled."""
    robot = polymer(beads)
    needed = (
        "forward_dynamics",
        "mass_matrix",
        "mass_matrix_log_determinant",
        "mass_matrix_log_determinant_gradient",
    )
    return Solver.from_programs(
        robot.name,
        {function: build.program(robot, function) for function in needed},
        robot.sizes,
        optimize=BUILD.optimize,
        blocks="now",
    )


def simulate(solver: Solver, chains: int, rounds: int, strength: float) -> Ensemble:
    """Return chains that start as zigzags and are sampled by hybrid Monte Carlo; equal arguments
    give equal chains.

    Fixman's potential is multiplied by `strength`: 0 leaves it out. Without gravity the motion does
    not depend on the pose, which therefore stays the identity.
    """
    n = solver.nv
    random = np.random.default_rng([1974, n, int(strength != 0)])
    angles = np.zeros((chains, n - POSE))
    history, rejected, drift = [], 0, 0.0
    for _ in range(rounds):
        L = np.linalg.cholesky(solver.mass_matrix(with_pose(angles)))
        noise = random.standard_normal((chains, n, 1))
        v = np.linalg.solve(np.swapaxes(L, -1, -2), noise)[..., 0]
        before, end = _energy(solver, angles, v, strength), angles
        for _ in range(STEPS):
            end, v = _step(solver, end, v, strength)
        error = _energy(solver, end, v, strength) - before
        accepted = random.random(chains) < np.exp(np.minimum(0.0, -error))
        angles = np.where(accepted[:, None], end, angles)
        rejected += int((~accepted).sum())
        drift = max(drift, float(np.abs(error).max()))
        history.append(angles)
    return Ensemble(np.array(history), rejected / (chains * rounds), drift)


def with_pose(angles: Array) -> Array:
    """Return q of chains whose first three beads are in the identity pose: position, quaternion,
    angles.
    """
    pose = np.zeros((len(angles), POSE + 1))
    pose[:, POSE] = 1
    return np.concatenate([pose, angles], axis=1)


def _step(solver: Solver, angles: Array, v: Array, strength: float) -> tuple[Array, Array]:
    def a(angles: Array, v: Array) -> Array:
        q = with_pose(angles)
        if strength:
            tau = -0.5 * strength * solver.mass_matrix_log_determinant_gradient(q)
        else:
            tau = np.zeros_like(v)
        return np.asarray(solver.forward_dynamics(q, v, tau))

    a1 = a(angles, v)
    v2 = v + STEP / 2 * a1
    a2 = a(angles + STEP / 2 * v[:, POSE:], v2)
    v3 = v + STEP / 2 * a2
    a3 = a(angles + STEP / 2 * v2[:, POSE:], v3)
    v4 = v + STEP * a3
    a4 = a(angles + STEP * v3[:, POSE:], v4)
    rates = v + 2 * v2 + 2 * v3 + v4
    return angles + STEP / 6 * rates[:, POSE:], v + STEP / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def _energy(solver: Solver, angles: Array, v: Array, strength: float) -> Array:
    q = with_pose(angles)
    kinetic = 0.5 * np.einsum("si,sij,sj->s", v, solver.mass_matrix(q), v)
    return np.asarray(kinetic + 0.5 * strength * solver.mass_matrix_log_determinant(q))


# -- the law of rigid bonds and bond angles --


NODES = 24
"""Points of the trapezoid rule over a turn: its errors are below 1e-9 of the laws here."""


def bonds(angles: Array) -> Array:
    """Return the unit vectors of the bonds (states, beads − 1, 3) from the dihedral angles (states,
    beads − 3).
    """
    bend = np.radians(BEND)
    tilt = np.array([[1, 0, 0], [0, np.cos(bend), -np.sin(bend)], [0, np.sin(bend), np.cos(bend)]])
    half_turn, z = np.diag([-1.0, -1.0, 1.0]), np.array([0.0, 0.0, 1.0])
    axes = np.broadcast_to(np.eye(3), (len(angles), 3, 3))
    vectors = [np.broadcast_to(tilt @ z, (len(angles), 3)), axes @ z]
    for angle in angles.T:
        turn = np.zeros((len(angles), 3, 3))
        turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle)
        turn[:, 1, 0] = np.sin(angle)
        turn[:, 0, 1] = -turn[:, 1, 0]
        turn[:, 2, 2] = 1
        axes = axes @ turn @ tilt @ half_turn
        vectors.append(axes @ z)
    return np.stack(vectors, axis=1)


def hard_block(angles: Array, lengths_are_constant: bool = False) -> Array:
    """Return H_bb (states, r, r) of the bond lengths and then the bond angles, LC (7) with unit
    masses.

    The gradient of a length is LC (18). The gradient of a bond angle is that of arccos of LC (19),
    with the lengths held constant as in LC (20) if `lengths_are_constant`.
    """
    d = bonds(angles)
    states, n, _ = d.shape
    cosine, sine = np.cos(np.radians(BEND)), np.sin(np.radians(BEND))
    cosine_or_zero = 0.0 if lengths_are_constant else cosine
    rows = np.zeros((states, 2 * n - 1, n + 1, 3))
    for i in range(n):
        rows[:, i, i + 1] += d[:, i]
        rows[:, i, i] -= d[:, i]
    for i in range(1, n):
        by_bond, by_bond_before = (
            -(x - cosine_or_zero * y) / sine
            for x, y in ((d[:, i - 1], d[:, i]), (d[:, i], d[:, i - 1]))
        )
        row = rows[:, n + i - 1]
        row[:, i + 1] += by_bond
        row[:, i] += by_bond_before - by_bond
        row[:, i - 1] -= by_bond_before
    flat = rows.reshape(states, 2 * n - 1, -1)
    return np.asarray(flat @ np.swapaxes(flat, -1, -2))


def rigid_law(beads: int, angle_index: int, theta: Array) -> Array:
    """Return the density of the dihedral angle `angle_index` (from 0) at theta, 1 on average, for
    rigid bonds and bond angles.

    It is √det H_bb with the other dihedral angles integrated out by the trapezoid rule.
    """
    nodes = np.arange(NODES) * 2 * np.pi / NODES
    axes = [nodes] * (beads - 3)
    axes[angle_index] = np.append(nodes, theta)
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    root = np.sqrt(np.linalg.det(hard_block(grid.reshape(-1, beads - 3)))).reshape(grid.shape[:-1])
    law = root.mean(axis=tuple(k for k in range(beads - 3) if k != angle_index))
    return np.asarray(law[NODES:] / law[:NODES].mean())


def class_law(beads: int, angle_index: int, edges: Array) -> Array:
    """Return the density of each class: the mean over ten points in it."""
    inside = np.array(
        [low + (high - low) * (np.arange(10) + 0.5) / 10 for low, high in pairwise(edges)]
    )
    return np.asarray(
        rigid_law(beads, angle_index, inside.ravel()).reshape(inside.shape).mean(axis=1)
    )


# -- the statistics --


def measured(angles: Array, edges: Array, law: Array) -> Measured:
    """Return densities of angles (rounds, chains) between the edges (rad, 0 to π), 1 if all are
    equally likely.

    Angles are folded, because the law does not distinguish θ from −θ. Errors are those of
    independent chains.
    """
    folded = np.abs(np.remainder(angles + np.pi, 2 * np.pi) - np.pi)
    shares = np.array(
        [((folded >= low) & (folded < high)).mean(axis=0) for low, high in pairwise(edges)]
    )
    densities = shares * np.pi / np.diff(edges)[:, None]
    mean = densities.mean(axis=1)
    error = densities.std(axis=1, ddof=1) / np.sqrt(densities.shape[1])
    return Measured(
        mean, error, chi_square(densities, law), chi_square(densities, np.ones_like(law))
    )


def chi_square(densities: Array, law: Array) -> float:
    """Return χ² of the mean of densities (classes, chains) from a law; it has one degree of freedom
    less than classes.

    It is Hotelling's T² without the last class, which follows from the others.
    """
    samples = densities[:-1]
    difference = samples.mean(axis=1) - law[:-1]
    covariance = np.atleast_2d(np.cov(samples)) / samples.shape[1]
    return float(difference @ np.linalg.solve(covariance, difference))


def exceedance(chi2: float, freedom: int) -> float:
    """Return the probability that χ² with so many degrees of freedom exceeds a value by chance."""
    return float(arb(chi2 / 2).gamma_upper(arb(freedom) / 2, regularized=1))
