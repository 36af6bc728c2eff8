"""Closed chains that move freely for a second: their poses, and the drift of their energy and
loops.

RK's second part is about closed chains; our copy lacks its figures. So the pictures are compared
with what must hold: energy and loops are constant, up to the error of a step of order 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from symgen.machine.solver import Solver, compile
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._page import Page, legend_below
from symgen.pipeline.assembly_report import assemble
from symgen.pipeline.loop_closure import assembly
from symgen.reference.motion import Motion as Placing
from symgen.reference.precision import FLOAT
from symgen.support.version import __version__

Array = np.ndarray[Any, np.dtype[Any]]
TITLE = "Closed chains that swing for a second"
STEPS = 400
"""Steps a second of the first run; the second run takes twice as many."""
FIRST, LAST = "#1f5a94", "#c8641e"


@dataclass(frozen=True)
class Act:
    """Motion of a robot: initial rates of some joints, and the joints whose constant forces balance
    the weight at first.
    """

    caption: str
    across: tuple[tuple[float, float, float], tuple[float, float, float]]
    """Directions that are drawn to the right and upwards."""
    rates: Mapping[str, Sequence[float]]
    balancing_joints: tuple[str, ...] = ()
    shown: int = 9
    """Poses of the picture."""


FLAT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
OBLIQUE = ((1.0, 0.45, 0.0), (0.0, 0.35, 1.0))
ACTS = {
    "four_bar": Act("falls from rest", FLAT, {}),
    "slider_crank": Act("turned on at 6 rad/s", FLAT, {"crank_joint": (6.0,)}),
    "bennett": Act("falls from rest", OBLIQUE, {}),
    "stewart": Act(
        "pushed, its weight held",
        OBLIQUE,
        {"plate": (0.05, 0.0, 0.05, 0.0, 0.0, 0.8)},
        tuple(f"slide{k}" for k in range(1, 7)),
        3,
    ),
}


@dataclass(frozen=True)
class Run:
    """One robot's second, with steps and with steps of half the length."""

    name: str
    robot: Mechanism
    coarse: Motion
    fine: Motion

    @property
    def row(self) -> tuple[Any, ...]:
        """Return the robot's row of the table."""
        facts = assembly(self.robot)
        drift, finer = (float(np.abs(motion.gained).max()) for motion in (self.coarse, self.fine))
        opening, closer = (float(motion.apart.max()) for motion in (self.coarse, self.fine))
        return (
            self.name,
            len(self.robot.bodies),
            self.robot.nv,
            facts.rows,
            facts.redundant,
            self.robot.nv - facts.rank,
            float(self.fine.kinetic.max()),
            drift,
            finer,
            drift / finer,
            opening,
            closer,
            opening / closer,
        )


def run(name: str, steps: int) -> Run:
    """Return a robot's second."""
    act, solver = ACTS[name], compile(name, NEEDED)
    robot = solver.mechanism
    assert robot is not None
    q = np.array([float(x) for values in assemble(robot).values() for x in values])
    tau = balancing(solver, q, act.balancing_joints) if act.balancing_joints else np.zeros(robot.nv)
    v = pushed(solver, q, act.rates)
    return Run(name, robot, *(swing(solver, q, v, tau, 1 / n, n) for n in (steps, 2 * steps)))


def reproduce(tell: Progress, robots: Sequence[str] = tuple(ACTS), steps: int = STEPS) -> Page:
    """Return the page with every robot's second."""
    runs = []
    for done, name in enumerate(robots):
        tell(name, done, len(robots))
        runs.append(run(name, steps))
    return _page(runs, steps)


def _page(runs: Sequence[Run], steps: int) -> Page:
    """Return the page with these runs, the first of which has this many steps."""
    rows = [result.row for result in runs]
    fewest, most = min(row[9] for row in rows), max(row[9] for row in rows)
    lost = max(row[8] / row[6] for row in rows)
    return Page(
        source="G. Rodriguez, K. Kreutz, Recursive mass matrix factorization and inversion, JPL "
        "1988, part II (its contents)",
        says="Part II treats closed chains; our copy has only its table of contents. The "
        "properties to test are: "
        "constraint forces do no work, so that the energy minus the work of the joint forces is "
        "constant; C = 0 "
        "stays true; with a step of order 4, halving the step divides the errors by 16.",
        measured=f"Over one second with {steps} and {2 * steps} steps of Runge and Kutta's "
        "method, without stabilisation of the loop closures, the largest error of the "
        f"energy falls by a factor of {fewest:.1f} to {most:.1f}. With the shorter steps it is at "
        f"most {lost:.0e} of the largest kinetic energy, and the largest closure error is "
        f"{max(row[11] for row in rows):.0e} m or rad.",
        differs="The paper has no figures to compare with. The motions are those of the compiled "
        "constrained_forward_dynamics, starting in the assembled pose. The legs of stewart push "
        "with the constant "
        "forces that balance it at the start; the work of these forces is subtracted.",
        columns=(
            "robot",
            "bodies",
            "nv",
            "rows",
            "redundant",
            "mobility",
            "kinetic",
            "drift",
            "drift_half",
            "ratio",
            "apart",
            "apart_half",
            "apart_ratio",
        ),
        rows=tuple(rows),
        notes={
            "robot": "built in",
            "bodies": "links that move (count)",
            "nv": "velocities (count)",
            "rows": "rows of A (count)",
            "redundant": "redundant rows (count)",
            "mobility": "independent velocities (count)",
            "kinetic": "largest kinetic energy (J)",
            "drift": f"largest error of the energy with {steps} steps (J)",
            "drift_half": f"the same with {2 * steps} steps (J)",
            "ratio": "ratio of the two",
            "apart": f"largest entry of C with {steps} steps (m, rad)",
            "apart_half": f"the same with {2 * steps} steps (m, rad)",
            "apart_ratio": "ratio of the two",
        },
        draw=lambda figure: _draw(figure, runs),
        height=3.0 * _rows_of_poses(runs) + 6.4,
        machine={"NumPy": np.__version__, "symgen": __version__},
    )


def bars(robot: Mechanism, q: Array) -> list[Array]:
    """Return for each moving body, and for the base, the lines from its frame to its joints and to
    the ends of closures (2, 3).
    """
    placed = Placing(robot, FLOAT).placements(q[None])

    def spot(body: int) -> tuple[Array, Array]:
        if body == BASE:
            return np.eye(3), np.zeros(3)
        at = placed[body]  # one that no joint before it turns or moves is the same at all states
        return np.broadcast_to(at.turn[0], (1, 3, 3))[0], np.broadcast_to(at.shift[0], (1, 3))[0]

    reach = [(joint.parent, spot(child)[1]) for child, joint in enumerate(robot.joints)]
    for loop in robot.loops:
        for end in (loop.first, loop.second):
            turn, shift = spot(end.body)
            reach.append((end.body, shift + turn @ Placing(robot, FLOAT).pose(end.pose)[1]))
    return [np.array([spot(body)[1], target]) for body, target in reach if body != BASE]


def _rows_of_poses(runs: Sequence[Run]) -> int:
    """Return the number of rows of two poses."""
    return (len(runs) + 1) // 2


def _draw(figure: Any, runs: Sequence[Run]) -> None:
    """Draw poses, energies and errors."""
    count = _rows_of_poses(runs)
    grid = figure.add_gridspec(count + 2, 2, height_ratios=[1.0] * count + [1.05, 1.05])
    for k, result in enumerate(runs):
        _poses(figure.add_subplot(grid[k // 2, k % 2]), result)
    energy, loops = figure.add_subplot(grid[count, :]), figure.add_subplot(grid[count + 1, :])
    for k, result in enumerate(runs):
        colour = ("#1f5a94", "#c8641e", "#3b7d4f", "#7a4a9e")[k % 4]
        for motion, style, label in ((result.coarse, "-", result.name), (result.fine, ":", None)):
            energy.semilogy(
                motion.t[1:],
                np.maximum(np.abs(motion.gained[1:]), 1e-17),
                style,
                color=colour,
                label=label,
            )
            loops.semilogy(motion.t[1:], np.maximum(motion.apart[1:], 1e-17), style, color=colour)
    energy.set_ylabel("error of the\nenergy (J)")
    loops.set_ylabel("largest entry of C\n(m, rad)")
    loops.set_xlabel("time (s); dotted: twice as many steps (count)")
    legend_below(figure, energy, columns=4)


def _poses(chart: Any, result: Run) -> None:
    """Draw the poses of one run."""
    right, up = (np.array(direction) for direction in ACTS[result.name].across)
    last = len(result.fine.t) - 1
    shown = ACTS[result.name].shown
    for k in range(shown):
        for line in bars(result.robot, result.fine.q[round(k * last / (shown - 1))]):
            chart.plot(
                line @ right,
                line @ up,
                color=LAST if k + 1 == shown else FIRST,
                alpha=0.2 + 0.8 * k / (shown - 1),
                linewidth=1.8,
                solid_capstyle="round",
            )
    chart.set_aspect("equal")
    chart.set_title(f"{result.name} (m)\n{ACTS[result.name].caption}", loc="left", fontsize=13)
    chart.tick_params(labelsize=10)
    chart.grid(visible=False)


# -- the swing --


NEEDED = (
    "constrained_forward_dynamics",
    "constraint_residual",
    "constraint_jacobian",
    "kinetic_energy",
    "potential_energy",
    "assemble",
)


class Motion(NamedTuple):
    """Samples at the times t (s): positions, kinetic energy, change of the whole energy (J), and
    the largest entry of C (m or rad).
    """

    t: Array
    q: Array
    kinetic: Array
    gained: Array
    apart: Array


def bracket(mechanism: Mechanism, x: Array, y: Array) -> Array:
    """Return [x, y] joint by joint, for twists in the moved body's axes; zero for joints with an
    axis.
    """
    result = np.zeros_like(x)
    for joint, entries in zip(mechanism.joints, mechanism.v_slices, strict=True):
        if joint.type.along is None:
            continue
        axes = [
            (velocity.unit == "m", axis)
            for velocity, axis in zip(joint.type.velocities, joint.type.along, strict=True)
        ]

        def twist(rates: Array, axes: Sequence[tuple[bool, int]] = axes) -> Array:
            twist_halves = np.zeros((2, 3))
            for rate, at in zip(rates, axes, strict=True):
                twist_halves[int(at[0]), at[1]] = rate
            return twist_halves

        (turn, slide), (turning, sliding) = twist(x[entries]), twist(y[entries])
        bracket_halves = np.cross(turn, turning), np.cross(turn, sliding) + np.cross(slide, turning)
        result[entries] = [bracket_halves[linear][axis] for linear, axis in axes]
    return result


def rk4(solver: Solver, q: Array, v: Array, tau: Array, h: float) -> tuple[Array, Array]:
    """Return the state after one step."""
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
    mean_velocity = v + (a1 + a2 + a3) * h / 6 + bracket(robot, v, a3) * h**2 / 12
    return np.asarray(solver.integrate(q, mean_velocity, h)), v + (
        a1 + 2 * a2 + 2 * a3 + a4
    ) * h / 6


def swing(solver: Solver, q: Array, v: Array, tau: Array, h: float, steps: int) -> Motion:
    """Return the motion from (q, v) with constant joint forces tau; their work is subtracted from
    the energy.
    """
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
    """Return the distance that each entry of v has travelled, for joints with an axis."""
    assert solver.mechanism is not None
    robot, distances = solver.mechanism, np.zeros(solver.nv)
    for joint, of_q, of_v in zip(robot.joints, robot.q_slices, robot.v_slices, strict=True):
        if joint.type.along is None:
            distances[of_v] = after[of_q] - q[of_q]
    return distances


def balancing(solver: Solver, q: Array, joints: Sequence[str]) -> Array:
    """Return tau of these joints that balances the robot at q; the minimum-norm one."""
    assert solver.mechanism is not None
    robot = solver.mechanism
    rows = [
        k
        for name in joints
        for k in range(*robot.v_slices[robot.joint_index(name)].indices(robot.nv))
    ]
    still, unit = np.zeros(robot.nv), np.eye(robot.nv)
    free = solver.constrained_forward_dynamics(q, still, still)[0]
    accelerations = np.array(
        [solver.constrained_forward_dynamics(q, still, unit[k])[0] - free for k in rows]
    ).T
    tau = np.zeros(robot.nv)
    tau[rows] = np.linalg.lstsq(accelerations, -free, rcond=1e-10)[0]
    return tau


def pushed(solver: Solver, q: Array, rates: Mapping[str, Sequence[float]]) -> Array:
    """Return velocities with A v = 0, from the given velocities of some joints."""
    assert solver.mechanism is not None
    robot, v = solver.mechanism, np.zeros(solver.nv)
    chosen = np.zeros(solver.nv, bool)
    for name, values in rates.items():
        of_v = robot.v_slices[robot.joint_index(name)]
        v[of_v], chosen[of_v] = values, True
    A = np.asarray(solver.constraint_jacobian(q))
    v[~chosen] = -np.linalg.pinv(A[:, ~chosen], rcond=1e-7) @ (A[:, chosen] @ v[chosen])
    return v
