"""A robot with closed loops that moves by itself: Runge and Kutta's classical step over its compiled constrained dynamics.

Nothing pulls the loops together on the way: what they come apart by is the step's own error, and falls with its fourth power.
On joints of several degrees it is Munthe-Kaas's step, as in `symgen.methods.rk4`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from symgen.machine.solver import Solver
from symgen.mechanism.mechanism import Mechanism

Array = np.ndarray[Any, np.dtype[Any]]
NEEDED = (
    "constrained_forward_dynamics",
    "constraint_residual",
    "constraint_jacobian",
    "kinetic_energy",
    "potential_energy",
    "assemble",
)


class Motion(NamedTuple):
    """At the times t (s): positions, the kinetic energy, by how much the whole energy has changed (J), and the largest entry of C
    (m or rad)."""

    t: Array
    q: Array
    kinetic: Array
    gained: Array
    apart: Array


def bracket(mechanism: Mechanism, x: Array, y: Array) -> Array:
    """[x, y] joint by joint, of twists in the moved body's axes; zero where a joint has an axis."""
    found = np.zeros_like(x)
    for joint, own in zip(mechanism.joints, mechanism.v_slices, strict=True):
        if joint.type.along is None:
            continue
        places = [
            (one.unit == "m", axis)
            for one, axis in zip(joint.type.velocities, joint.type.along, strict=True)
        ]

        def twist(rates: Array, places: Sequence[tuple[bool, int]] = places) -> Array:
            parts = np.zeros((2, 3))
            for rate, at in zip(rates, places, strict=True):
                parts[int(at[0]), at[1]] = rate
            return parts

        (turn, slide), (turning, sliding) = twist(x[own]), twist(y[own])
        both = np.cross(turn, turning), np.cross(turn, sliding) + np.cross(slide, turning)
        found[own] = [both[linear][axis] for linear, axis in places]
    return found


def rk4(solver: Solver, q: Array, v: Array, tau: Array, h: float) -> tuple[Array, Array]:
    """One step."""
    assert solver.mechanism is not None
    robot = solver.mechanism

    def a(q: Array, v: Array) -> Array:
        return np.asarray(solver.constrained_forward_dynamics(q, v, tau)[0])

    a1 = a(q, v)
    v2 = v + a1 * h / 2
    a2 = a(solver.integrate(q, v, h / 2), v2)
    v3 = v + a2 * h / 2
    a3 = a(solver.integrate(q, v2 + bracket(robot, v, a1) * h**2 / 8, h / 2), v3)
    a4 = a(solver.integrate(q, v3, h), v + a3 * h)
    moved = v + (a1 + a2 + a3) * h / 6 + bracket(robot, v, a3) * h**2 / 12
    return np.asarray(solver.integrate(q, moved, h)), v + (a1 + 2 * a2 + 2 * a3 + a4) * h / 6


def swing(solver: Solver, q: Array, v: Array, tau: Array, h: float, steps: int) -> Motion:
    """From (q, v) on, joint forces tau held: what they do is taken off the energy."""
    rows = [(q, v)]
    worked = [0.0]
    for _ in range(steps):
        before = rows[-1]
        rows.append(rk4(solver, *before, tau, h))
        worked.append(worked[-1] + float(tau @ travelled(solver, before[0], rows[-1][0])))
    qs, vs = (np.array(x) for x in zip(*rows, strict=True))
    kinetic = np.asarray(solver.kinetic_energy(qs, vs))
    energy = kinetic + np.asarray(solver.potential_energy(qs)) - np.array(worked)
    return Motion(
        h * np.arange(steps + 1),
        qs,
        kinetic,
        energy - energy[0],
        np.abs(solver.constraint_residual(qs)).max(axis=-1),
    )


def travelled(solver: Solver, q: Array, after: Array) -> Array:
    """How far each entry of v has gone, of joints that have an axis."""
    assert solver.mechanism is not None
    robot, found = solver.mechanism, np.zeros(solver.nv)
    for joint, of_q, of_v in zip(robot.joints, robot.q_slices, robot.v_slices, strict=True):
        if joint.type.along is None:
            found[of_v] = after[of_q] - q[of_q]
    return found


def balancing(solver: Solver, q: Array, joints: Sequence[str]) -> Array:
    """tau of these joints that holds the robot still at q, where it can; the least such."""
    assert solver.mechanism is not None
    robot = solver.mechanism
    own = [
        k
        for name in joints
        for k in range(*robot.v_slices[robot.joint_index(name)].indices(robot.nv))
    ]
    still, unit = np.zeros(robot.nv), np.eye(robot.nv)
    free = solver.constrained_forward_dynamics(q, still, still)[0]
    moved = np.array(
        [solver.constrained_forward_dynamics(q, still, unit[k])[0] - free for k in own]
    ).T
    tau = np.zeros(robot.nv)
    tau[own] = np.linalg.lstsq(moved, -free, rcond=1e-10)[0]
    return tau


def pushed(solver: Solver, q: Array, rates: Mapping[str, Sequence[float]]) -> Array:
    """Velocities of which those of some joints are given and the others follow by A v = 0."""
    assert solver.mechanism is not None
    robot, v = solver.mechanism, np.zeros(solver.nv)
    own = np.zeros(solver.nv, bool)
    for name, values in rates.items():
        of_v = robot.v_slices[robot.joint_index(name)]
        v[of_v], own[of_v] = values, True
    A = np.asarray(solver.constraint_jacobian(q))
    v[~own] = -np.linalg.pinv(A[:, ~own], rcond=1e-7) @ (A[:, own] @ v[own])
    return v
