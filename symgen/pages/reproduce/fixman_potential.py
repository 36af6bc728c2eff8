"""Bond angles of a free planar polymer with rigid bonds, with and without Fixman's potential."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from symgen.benchmarks.bench import machine_facts
from symgen.machine.solver import Solver
from symgen.mechanism.mechanism import Body, Joint, Mechanism, Part
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._page import Page, legend_below
from symgen.pages.reproduce._planar import BUILD
from symgen.pipeline import build
from symgen.reference.precision import Array
from symgen.vocabulary.poses import ZERO3, Shift

TITLE = "Bond angles of a polymer with rigid bonds, with Fixman's potential and without"
UP_TO = tuple(range(10, 181, 10))
"""Degrees at which the classes of angles end."""
BONDS = (2, 6)
CHAINS, ROUNDS, FORGOTTEN = 6000, 60, 15
"""Rounds in all, and of them at the beginning, where the chains still know that they were straight.
"""
WITHOUT, WITH = "#c8641e", "#1f5a94"


class Sampled(NamedTuple):
    """Densities of one polymer's middle bond angle by class, with standard errors, and the laws."""

    bonds: int
    without: tuple[Array, Array]
    having: tuple[Array, Array]
    law: Array
    drift: float

    @property
    def deviations(self) -> tuple[float, float, float]:
        """Return root mean squares in standard errors: without the potential from both laws, with
        it from the flat law.
        """
        return tuple(
            float(np.sqrt((((sampled_density - law) / error) ** 2).mean()))
            for (sampled_density, error), law in (  # type: ignore[return-value]
                (self.without, self.law),
                (self.without, 1.0),
                (self.having, 1.0),
            )
        )


def sampled(bonds: int, edges: Array, chains: int, rounds: int, forgotten: int) -> Sampled:
    """Return both motions of one polymer, and the law of each class: the mean over ten points in
    it.
    """
    middle, solver = (bonds - 1) // 2, compiled(bonds)
    without, having = (simulate(solver, chains, rounds, fixman) for fixman in (False, True))
    inside = np.array(
        [low + (high - low) * (np.arange(10) + 0.5) / 10 for low, high in pairwise(edges)]
    )
    law = rigid_law(bonds, middle, inside.ravel()).reshape(inside.shape).mean(axis=1)
    densities = [
        density(motion.angles[forgotten:, :, middle], edges) for motion in (without, having)
    ]
    return Sampled(bonds, densities[0], densities[1], law, max(without.drift, having.drift))


def reproduce(
    tell: Progress,
    up_to: Sequence[int] = UP_TO,
    bonds: Sequence[int] = BONDS,
    chains: int = CHAINS,
    rounds: int = ROUNDS,
    forgotten: int = FORGOTTEN,
) -> Page:
    """Return the page with the trimer and a longer chain."""
    edges = np.radians([0, *up_to])
    polymers = []
    for done, n in enumerate(bonds):
        tell(f"{n} bonds", done, len(bonds))
        polymers.append(sampled(n, edges, chains, rounds, forgotten))
    columns, notes = (
        ["up_to"],
        {
            "up_to": (
                "upper end of the class of angles (degrees; the first class begins at 0, straight)"
            )
        },
    )
    for n in bonds:
        angle_text = (
            f"{n} bonds, angle {(n - 1) // 2 + 1} of {n - 1}: density; 1 if all angles are equally"
            " likely"
        )
        for name, meaning in (
            ("law", f"√det M, other angles integrated out; {angle_text}"),
            ("rigid", f"sampled, bonds rigid; {angle_text}"),
            ("rigid_error", "its standard error"),
            ("fixman", f"sampled with Fixman's potential; {angle_text}"),
            ("fixman_error", "its standard error"),
        ):
            columns.append(f"{name}_{n}")
            notes[columns[-1]] = meaning
    table = [
        list(up_to),
        *(
            list(map(float, x))
            for chain in polymers
            for x in (chain.law, *chain.without, *chain.having)
        ),
    ]
    deviations_by_bonds = {chain.bonds: chain.deviations for chain in polymers}

    def deviations(k: int) -> str:
        return " and ".join(f"{deviations_by_bonds[n][k]:.1f}" for n in bonds)

    return Page(
        source="K. Lee, G. S. Chirikjian, 2005, (8), after M. Fixman, 1974",
        says=(
            "In a freely jointed chain of point masses with fixed bond lengths, the determinant of"
            " the metric tensor (the mass matrix) is the determinant for all coordinates times that"
            " of the band matrix H_bb: det G_aa = det G · det H_bb. The paper has no figures."
        ),
        measured=(
            "For a free chain of unit masses in a plane, det G = 1, and for two bonds √det H_bb ="
            f" √(4 − cos² θ): a right angle is {2 / np.sqrt(3):.3f} times as likely as a straight"
            f" chain. For chains of {' and '.join(map(str, bonds))} bonds, the densities that"
            f" result from the motion alone are {deviations(0)} standard errors from √det M and"
            f" {deviations(1)} from the flat law (root mean squares over {len(up_to)} classes; 1.0"
            " is expected by chance). With the compiled gradient of ln det M as Fixman's force"
            f" they are {deviations(2)} from the flat law."
        ),
        differs=(
            "Polymer physics uses the theorem as follows: with rigid bonds, configurations have"
            " the density √det M; with stiff springs as bonds, all are equally likely; the"
            " potential (kT/2) ln det H_bb makes rigid bonds behave like stiff springs. The paper"
            f" continues with the solve with M. Here the density is not assumed: {chains} chains"
            f" start straight, move by the compiled forward dynamics ({STEPS} steps of {STEP:g} s"
            " of Runge and Kutta's method in each round, kT = 1 J) and get new velocities from"
            f" N(0, kT M⁻¹) in each of {rounds} rounds; the first {forgotten} are discarded. The"
            " largest error of a chain's energy in a round is"
            f" {max(chain.drift for chain in polymers):.0e} J. The paper's chain is fixed to a"
            " base; this one is free, as polymers are, so that every diagonal entry of H_bb is 2."
        ),
        columns=tuple(columns),
        rows=tuple(zip(*table, strict=True)),
        notes=notes,
        draw=lambda figure: _draw(figure, np.degrees(edges), polymers),
        height=8.2,
        machine=machine_facts(BUILD, ()),
    )


def _draw(figure: Any, edges: Array, polymers: Sequence[Sampled]) -> None:
    """Draw the densities with their laws."""
    charts = np.atleast_1d(figure.subplots(len(polymers), 1, sharex=True, sharey=True))
    middles, fine = (edges[1:] + edges[:-1]) / 2, np.linspace(0, 180, 181)
    for chart, chain in zip(charts, polymers, strict=True):
        angle_index = (chain.bonds - 1) // 2
        chart.plot(
            fine,
            rigid_law(chain.bonds, angle_index, np.radians(fine)),
            "-",
            color=WITHOUT,
            alpha=0.6,
            linewidth=2,
            label="√det M: the law of rigid bonds",
        )
        chart.axhline(
            1.0, color=WITH, alpha=0.6, linewidth=2, label="flat: the law of stiff springs"
        )
        for (sampled_density, error), mark, colour, aside, label in (
            (chain.without, "o", WITHOUT, -1, "rigid bonds, sampled by their motion"),
            (chain.having, "s", WITH, 1, "the same with Fixman's potential"),
        ):
            chart.errorbar(
                middles + aside,
                sampled_density,
                2 * error,
                fmt=mark,
                color=colour,
                markersize=6,
                capsize=3,
                linewidth=1.2,
                label=label,
            )
        chart.set_title(
            "2 bonds"
            if chain.bonds == 2
            else f"{chain.bonds} bonds, angle {angle_index + 1} of {chain.bonds - 1}",
            loc="left",
        )
        chart.set_ylabel("density (flat = 1)")
    charts[-1].set_xlim(0, 180)
    charts[-1].set_xticks(range(0, 181, 30))
    charts[-1].set_xlabel(
        "angle between neighbouring links (degrees; 0: straight)\n"
        "bars: two standard errors to both sides"
    )
    legend_below(figure, charts[0])


# -- the polymer and its motion --


UNIT, NONE = Fraction(1), Fraction(0)
BEND = 3
"""The first bond angle's place in q, behind x, y and the direction of the first bond."""
STEP, STEPS = 0.025, 40
"""Seconds of a step of Runge and Kutta's method, and steps between new velocities; kT is 1 J."""
NODES = 8
"""Intervals of a quarter turn in the trapezoid rule for what depends on cos² θ: it has errors below
1e-6 of the laws here.
"""


class Ensemble(NamedTuple):
    """Bond angles (rounds, chains, n − 1) in rad after each stretch of motion, and the largest
    error of a chain's energy (J).
    """

    angles: Array
    drift: float


def polymer(bonds: int) -> Mechanism:
    """Return the polymer. Its joints are x and y of the first mass, the direction of the first
    bond, and each further bond's angle.
    """
    mass = Part("mass", (Shift(ZERO3),), UNIT)
    bond_end = Shift((UNIT, NONE, NONE))
    joints = [
        Joint("x", "prismatic", -1, (), (UNIT, NONE, NONE)),
        Joint("y", "prismatic", 0, (), (NONE, UNIT, NONE)),
    ]
    bodies = [Body("x"), Body("mass0", (mass,))]
    for i in range(1, bonds + 1):
        joints.append(Joint(f"bond{i}", "revolute", i, (bond_end,) if i > 1 else ()))
        bodies.append(Body(f"mass{i}", (Part("mass", (bond_end,), UNIT),)))
    return Mechanism(f"polymer_{bonds}", tuple(joints), tuple(bodies), gravity=(NONE, NONE, NONE))


def compiled(bonds: int) -> Solver:
    """Return the functions that the motion needs, compiled."""
    robot = polymer(bonds)
    needed = (
        "forward_dynamics",
        "mass_matrix",
        "mass_matrix_log_determinant",
        "mass_matrix_log_determinant_gradient",
    )
    return Solver.from_programs(
        robot.name,
        {f: build.program(robot, f) for f in needed},
        robot.sizes,
        optimize=BUILD.optimize,
        blocks="now",
    )


def simulate(solver: Solver, chains: int, rounds: int, fixman: bool) -> Ensemble:
    """Return chains that start straight and get new velocities in each round, with or without
    Fixman's forces; each has its seed.
    """
    n = solver.nv
    random = np.random.default_rng([1974, n, int(fixman)])
    q, angles, drift = np.zeros((chains, n)), [], 0.0
    for _ in range(rounds):
        L = np.linalg.cholesky(solver.mass_matrix(q))
        v = np.linalg.solve(np.swapaxes(L, -1, -2), random.standard_normal((chains, n, 1)))[..., 0]
        before = _energy(solver, q, v, fixman)
        for _ in range(STEPS):
            q, v = _step(solver, q, v, fixman)
        drift = max(drift, float(np.abs(_energy(solver, q, v, fixman) - before).max()))
        angles.append(q[:, BEND:])
    return Ensemble(np.array(angles), drift)


def _step(solver: Solver, q: Array, v: Array, fixman: bool) -> tuple[Array, Array]:
    def a(q: Array, v: Array) -> Array:
        tau = -0.5 * solver.mass_matrix_log_determinant_gradient(q) if fixman else np.zeros_like(q)
        return np.asarray(solver.forward_dynamics(q, v, tau))

    a1 = a(q, v)
    v2 = v + STEP / 2 * a1
    a2 = a(q + STEP / 2 * v, v2)
    v3 = v + STEP / 2 * a2
    a3 = a(q + STEP / 2 * v2, v3)
    v4 = v + STEP * a3
    a4 = a(q + STEP * v3, v4)
    return q + STEP / 6 * (v + 2 * v2 + 2 * v3 + v4), v + STEP / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def _energy(solver: Solver, q: Array, v: Array, fixman: bool) -> Array:
    kinetic = 0.5 * np.einsum("si,sij,sj->s", v, solver.mass_matrix(q), v)
    return np.asarray(kinetic + 0.5 * solver.mass_matrix_log_determinant(q) if fixman else kinetic)


def rigid_law(bonds: int, angle_index: int, theta: Array) -> Array:
    """Return the density of the bond angle `angle_index` (from 0) at theta, 1 on average, for rigid
    bonds.

    It is √det M with the other angles integrated out by the trapezoid rule. For the trimer it is
    √(4 − cos² θ) π / 4E(1/2), with E(k) the complete elliptic integral.
    """
    nodes = np.linspace(0, np.pi / 2, NODES + 1)
    weight = np.where((nodes == 0) | (nodes == nodes[-1]), 0.5, 1.0) / NODES
    squares = np.cos(np.append(nodes, theta)) ** 2
    before, det = np.ones(1), np.full(1, 2.0)
    for k in range(bonds - 1):  # each angle along an axis of its own
        c2 = (squares if k == angle_index else squares[: NODES + 1]).reshape(
            (-1,) + (1,) * (bonds - 2 - k)
        )
        before, det = det, 2 * det - c2 * before
    law = np.sqrt(det)
    for k in reversed(range(bonds - 1)):
        if k != angle_index:
            law = np.tensordot(law, weight, ([k], [0]))
    return np.asarray(law[NODES + 1 :] / (law[: NODES + 1] @ weight))


def density(angles: Array, edges: Array) -> tuple[Array, Array]:
    """Return (density, standard error) of angles (rounds, chains) between the edges (rad, 0 to π);
    1 if all angles are equally likely.

    Angles are folded, because the law does not distinguish θ from −θ. The error is that of
    independent chains.
    """
    folded = np.abs(np.remainder(angles + np.pi, 2 * np.pi) - np.pi)
    share = np.array(
        [((folded >= low) & (folded < high)).mean(axis=0) for low, high in pairwise(edges)]
    )
    widths = np.diff(edges)[:, None] / np.pi
    by_chain = share / widths
    return by_chain.mean(axis=1), by_chain.std(axis=1, ddof=1) / np.sqrt(by_chain.shape[1])
