"""A free polymer in a plane: n + 1 unit masses on n rigid unit bonds, what it does at a temperature, and what must come of it.

Nothing is drawn from the law that is looked for. Chains start straight and move by the compiled forward dynamics; now and then
each gets new velocities from N(0, kT M⁻¹). Both keep the canonical law of (q, v), of which the angles' share is √det M: rigid
bonds leave that behind. Fixman's potential U = (kT/2) ln det M, whose forces are compiled as well, takes it away.

Of LC's partition: det G = 1 as (8) is used for unit masses and lengths, so that det M = det H_LL, a tridiagonal matrix with
1/m + 1/m = 2 on the diagonal (the first mass moves too) and −cos θ beside it, by (7) with (18).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from symgen.machine.solver import Solver
from symgen.mechanism.mechanism import Body, Joint, Mechanism, Part
from symgen.pages.reproduce._planar import BUILD
from symgen.pipeline import build
from symgen.reference.precision import Array
from symgen.vocabulary.poses import ZERO3, Shift

UNIT, NONE = Fraction(1), Fraction(0)
BEND = 3
"""The first bond angle's place in q, behind x, y and the direction of the first bond."""
STEP, STEPS = 0.025, 40
"""Seconds of a step of Runge and Kutta's method, and steps between new velocities; kT is 1 J."""
NODES = 8
"""Intervals of a quarter turn in the trapezoid rule for what depends on cos² θ: it has errors below 1e-6 of the laws here."""


class Ensemble(NamedTuple):
    """Bond angles (rounds, chains, n − 1) in rad after each stretch of motion, and the largest error of a chain's energy (J)."""

    angles: Array
    drift: float


def polymer(bonds: int) -> Mechanism:
    """Joints: x and y of the first mass, the direction of the first bond, then each bond's angle to the one before."""
    mass = Part("mass", (Shift(ZERO3),), UNIT)
    far = Shift((UNIT, NONE, NONE))
    joints = [
        Joint("x", "prismatic", -1, (), (UNIT, NONE, NONE)),
        Joint("y", "prismatic", 0, (), (NONE, UNIT, NONE)),
    ]
    bodies = [Body("x"), Body("mass0", (mass,))]
    for i in range(1, bonds + 1):
        joints.append(Joint(f"bond{i}", "revolute", i, (far,) if i > 1 else ()))
        bodies.append(Body(f"mass{i}", (Part("mass", (far,), UNIT),)))
    return Mechanism(f"polymer_{bonds}", tuple(joints), tuple(bodies), gravity=(NONE, NONE, NONE))


def compiled(bonds: int) -> Solver:
    """What its motion needs."""
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


def moved(solver: Solver, chains: int, rounds: int, fixman: bool) -> Ensemble:
    """Chains that start straight, with new velocities in each round; with Fixman's forces or without. Each has its own seed."""
    n = solver.nv
    random = np.random.default_rng([1974, n, int(fixman)])
    q, found, drift = np.zeros((chains, n)), [], 0.0
    for _ in range(rounds):
        L = np.linalg.cholesky(solver.mass_matrix(q))
        v = np.linalg.solve(np.swapaxes(L, -1, -2), random.standard_normal((chains, n, 1)))[..., 0]
        before = _energy(solver, q, v, fixman)
        for _ in range(STEPS):
            q, v = _step(solver, q, v, fixman)
        drift = max(drift, float(np.abs(_energy(solver, q, v, fixman) - before).max()))
        found.append(q[:, BEND:])
    return Ensemble(np.array(found), drift)


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


def rigid_law(bonds: int, which: int, theta: Array) -> Array:
    """The density of the bond angle `which` (from 0 on) at theta, 1 on average, where bonds are rigid: √det M, the other angles
    integrated out by the trapezoid rule. Of the trimer it is √(4 − cos² θ) π / 4E(1/2), E(k) the complete elliptic integral.
    """
    nodes = np.linspace(0, np.pi / 2, NODES + 1)
    weight = np.where((nodes == 0) | (nodes == nodes[-1]), 0.5, 1.0) / NODES
    squares = np.cos(np.append(nodes, theta)) ** 2
    before, det = np.ones(1), np.full(1, 2.0)
    for k in range(bonds - 1):  # each angle along an axis of its own
        c2 = (squares if k == which else squares[: NODES + 1]).reshape(
            (-1,) + (1,) * (bonds - 2 - k)
        )
        before, det = det, 2 * det - c2 * before
    law = np.sqrt(det)
    for k in reversed(range(bonds - 1)):
        if k != which:
            law = np.tensordot(law, weight, ([k], [0]))
    return np.asarray(law[NODES + 1 :] / (law[: NODES + 1] @ weight))


def density(angles: Array, edges: Array) -> tuple[Array, Array]:
    """(density, its standard error) of angles (rounds, chains) between the edges (rad, from 0 to π), 1 where all are as likely.

    Folded, as the law does not know θ from −θ. The error is that of independent chains, however slowly each of them forgets.
    """
    folded = np.abs(np.remainder(angles + np.pi, 2 * np.pi) - np.pi)
    share = np.array(
        [((folded >= low) & (folded < high)).mean(axis=0) for low, high in pairwise(edges)]
    )
    widths = np.diff(edges)[:, None] / np.pi
    each = share / widths
    return each.mean(axis=1), each.std(axis=1, ddof=1) / np.sqrt(each.shape[1])
