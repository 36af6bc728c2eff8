"""Functions generated only on request, from the recursion's forces, single parameters and J.

The methods are independent of symgen and its reference, which use jets, Koszul's formula, point
masses and a search for columns.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from fractions import Fraction
from typing import Any

import flint

from symgen.reference.states import draw_states
from tests.adversary import _drives

Ball = Any
Vector = list[Ball]

STEP = Fraction(1, 10**45)
"""Step of central differences along q, with a relative truncation error of about 1e-90.

Differences along v are exact for any step.
"""
NOTHING = Fraction(1, 10**60)
"""Magnitude below which the rest of a regressor column counts as zero."""


def _ball(x: Fraction | int) -> Ball:
    return flint.arb(flint.fmpq(Fraction(x).numerator, Fraction(x).denominator))


def _zero_if_contained(x: Ball) -> Ball:
    """Replace a ball around zero by zero: the difference of a constant is such a ball."""
    return flint.arb(0) if x.contains(0) else x


def _slope(up: Vector, down: Vector, step: Ball) -> Vector:
    return [_zero_if_contained((a - b) / (2 * step)) for a, b in zip(up, down, strict=True)]


def _rows(columns: list[Vector]) -> Vector:
    """Flatten columns row by row."""
    return [x for row in zip(*columns, strict=True) for x in row]


def _flat(matrix: Any) -> Vector:
    return [x for row in matrix.tolist() for x in row]


def with_step(values: Vector, k: int, step: Ball) -> Vector:
    return [x + step if i == k else x for i, x in enumerate(values)]


def force_derivatives(at: Any, a: Vector) -> tuple[list[Vector], list[Vector]]:
    """Return the columns of ∂τ/∂q and ∂τ/∂v of inverse dynamics at (q, v, a)."""
    q, v, step, unit = at.state["q"], at.v, _ball(STEP), _ball(1)
    by_q = [
        _slope(
            *(at.forces(at.advanced(q, k, sign * step), v, a, True, True) for sign in (1, -1)), step
        )
        for k in range(at.n)
    ]
    by_v = [
        _slope(
            *(at.forces(q, with_step(v, k, sign * unit), a, True, True) for sign in (1, -1)), unit
        )
        for k in range(at.n)
    ]
    if at.mechanism.without_drives is not at.mechanism:  # friction is not quadratic in v
        of_q = [
            _slope(*(_drives.resisting(at, at.advanced(q, k, s * step), v) for s in (1, -1)), step)
            for k in range(at.n)
        ]
        of_v = [
            _slope(*(_drives.resisting(at, q, with_step(v, k, s * step)) for s in (1, -1)), step)
            for k in range(at.n)
        ]
        by_q, by_v = (
            [
                [x + y for x, y in zip(*pair, strict=True)]
                for pair in zip(columns, more, strict=True)
            ]
            for columns, more in ((by_q, of_q), (by_v, of_v))
        )
    return by_q, by_v


def inverse_dynamics(at: Any) -> dict[str, Vector]:
    by_q, by_v = force_derivatives(at, at.state["a"])
    return {"dtau_dq": _rows(by_q), "dtau_dv": _rows(by_v), "M": _flat(at.M)}


def forward_dynamics(at: Any) -> dict[str, Vector]:
    """Solve M ∂a = −∂τ at the accelerations that tau causes."""
    by_q, by_v = (
        [[-x for x in at.solved(column)] for column in columns]
        for columns in force_derivatives(at, at.accelerations)
    )
    return {"da_dq": _rows(by_q), "da_dv": _rows(by_v), "Minv": _flat(at.M.inv())}


def coriolis(at: Any) -> Vector:
    """Return C of the torsion-free connection: ½ ∂(C v)/∂v + ½ M [v, E_j]."""
    q, v, unit = at.state["q"], at.v, _ball(1)
    rows = []
    for j in range(at.n):
        up, down = (
            at.forces(q, with_step(v, j, sign * unit), at.nothing, False, False) for sign in (1, -1)
        )
        bracket_term = at.mass(q, rotors=False) * flint.arb_mat(at.n, 1, _bracket(at, j))
        rows.append(
            [
                half / 2 + x / 2
                for half, (x,) in zip(_slope(up, down, unit), bracket_term.tolist(), strict=True)
            ]
        )
    return [_zero_if_contained(x) for x in _rows(rows)]


def _bracket(at: Any, j: int) -> Vector:
    """Return [v, E_j] (NV,), nonzero only for joints whose velocities are twists in body axes."""
    entries = list(at.nothing)
    i, of = at.mechanism.dofs[j]
    if at.mechanism.joints[i].type.directed:
        return entries
    (spin, slide), (turning, sliding) = at.columns[i][of], at._twist(i, at.v)
    angular = _cross(turning, spin)
    linear = [x + y for x, y in zip(_cross(turning, slide), _cross(sliding, spin), strict=True)]
    for index, (about, along) in enumerate(
        at.columns[i], at.mechanism.v_slices[i].start
    ):  # the columns are orthonormal
        entries[index] = sum(
            (x * y for x, y in zip([*angular, *linear], [*about, *along], strict=True)),
            flint.arb(0),
        )
    return entries


def _cross(a: Vector, b: Vector) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def regressor(at: Any, q: Vector, v: Vector, a: Vector) -> list[Vector]:
    """Return the columns of Y: forces for a robot in which one link has one nonzero parameter.

    A first moment alone is that of 1 kg at 1 m, minus the mass and its moments about the origin.
    """
    links_moving, columns = at.outward(q, v, a, True), []

    def column(
        body: int, mass: int, centre: tuple[int, ...], pair: tuple[int, int] | None
    ) -> Vector:
        moments = [[_ball(int(pair in ((r, k), (k, r)))) for k in range(3)] for r in range(3)]
        alone = copy(at)
        alone.matter = [[] for _ in links_moving]
        alone.matter[body] = [at.matter_of(_ball(mass), [_ball(x) for x in centre], moments)]
        joint_wrenches = alone.inward(links_moving, False)
        return [
            sum(
                (x * y for x, y in zip((*angular, *linear), (*moment, *force), strict=True)),
                flint.arb(0),
            )
            for columns, (moment, force) in zip(at.columns, joint_wrenches, strict=True)
            for angular, linear in columns
        ]

    for body in range(len(links_moving)):
        mass = column(body, 1, (0, 0, 0), None)
        seconds = {
            pair: column(body, 0, (0, 0, 0), pair)
            for pair in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        }
        columns.append(mass)
        for k in range(3):
            out = column(body, 1, tuple(int(i == k) for i in range(3)), None)
            about = [seconds[i, i] for i in range(3) if i != k]
            columns.append(
                [x - sum(less, flint.arb(0)) for x, *less in zip(out, mass, *about, strict=True)]
            )
        columns += seconds.values()
    return [[_zero_if_contained(x) for x in column] for column in columns]


def declared_regressor(at: Any) -> list[Vector]:
    return regressor(at, at.state["q"], at.v, at.state["a"])


def combinations(at: Any) -> tuple[list[int], list[Vector]]:
    """Return the independent columns of Y, and K with Y = Y_base K, by Gauss-Jordan elimination."""
    width, rows = 10 * len(at.mechanism.bodies), []
    drawn = draw_states(at.mechanism, width // at.n + 3, 4711)
    for q, v, a in zip(drawn["q"], drawn["v"], drawn["a"], strict=True):
        columns = regressor(at, *([_ball(x) for x in values] for values in (q, v, a)))
        rows += [list(row) for row in zip(*columns, strict=True)]
    rows, pivot_count, independent = [[x.mid() for x in row] for row in rows], 0, []
    for column in range(width):
        size = max((abs(row[column]) for row in rows[pivot_count:]), default=flint.arb(0))
        if not size > _ball(NOTHING):
            continue
        best = max(range(pivot_count, len(rows)), key=lambda i, k=column: float(abs(rows[i][k])))
        rows[pivot_count], rows[best] = rows[best], [*rows[pivot_count]]
        head = rows[pivot_count][column]
        rows[pivot_count] = [(x / head).mid() for x in rows[pivot_count]]
        for i, row in enumerate(rows):
            if i != pivot_count and row[column] != 0:
                share = row[column]
                rows[i] = [
                    (x - share * y).mid() for x, y in zip(row, rows[pivot_count], strict=True)
                ]
        independent.append(column)
        pivot_count += 1
    return independent, rows[:pivot_count]


def base_regressor(at: Any) -> dict[str, Vector]:
    columns, (column_indices, _) = declared_regressor(at), combinations(at)
    return {"Y_base": _rows([columns[k] for k in column_indices])}


def base_parameters(at: Any) -> dict[str, Vector]:
    _, among = combinations(at)
    return {
        "pi_base": [
            sum((x * y for x, y in zip(row, at.state["pi"], strict=True)), flint.arb(0))
            for row in among
        ]
    }


def task(at: Any) -> tuple[Any, Any]:
    """Return (Λ, J̄) of the task rows."""
    J = flint.arb_mat(
        len(at.task_rows), at.n, [at.twists[k][row] for row in at.task_rows for k in range(at.n)]
    )
    minv_jt = at.M.solve(J.transpose())
    inertia = (J * minv_jt).inv()
    return inertia, minv_jt * inertia


ANSWERS: dict[str, Callable[[Any, Vector], dict[str, Vector]]] = {
    "inverse_dynamics_derivatives": lambda at, _: inverse_dynamics(at),
    "forward_dynamics_derivatives": lambda at, _: forward_dynamics(at),
    "coriolis_matrix": lambda at, _: {"C": coriolis(at)},
    "mass_matrix_coriolis_and_bias": lambda at, _: {
        "M": _flat(at.M),
        "C": coriolis(at),
        "c": at.bias,
    },
    "regressor": lambda at, _: {"Y": _rows(declared_regressor(at))},
    "base_regressor": lambda at, _: base_regressor(at),
    "base_parameters": lambda at, _: base_parameters(at),
    "operational_inertia": lambda at, _: {"Lambda": _flat(task(at)[0])},
    "dynamically_consistent_inverse": lambda at, _: {"Jbar": _flat(task(at)[1])},
}
