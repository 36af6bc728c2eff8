"""Integration steps and differences of positions, in ball arithmetic.

q ⊕ v dt uses matrix exponentials (of a twist, and of the matrix that multiplies a quaternion from
the right), which FLINT encloses. The difference uses Gauss' hypergeometric function. Steps of the
dynamics combine such steps.
"""

from __future__ import annotations

from typing import Any

import flint

Ball = flint.arb


def stepped(at: Any) -> list[Ball]:
    """Return q (NQ,) of a `Recursion` after its dt."""
    (dt,), q, v, coordinates = at.state["dt"], at.state["q"], at.state["v"], []
    for i, (joint, of_q, of_v) in enumerate(
        zip(at.mechanism.joints, at.mechanism.q_slices, at.mechanism.v_slices, strict=True)
    ):
        increments, rates = list(q[of_q]), [rate * dt for rate in v[of_v]]
        if joint.type.along is None:
            coordinates += [x + step for x, step in zip(increments, rates, strict=True)]
            continue
        (a, b, c), slide = at._twist(i, [rate * dt for rate in v])
        spin = flint.arb_mat(
            [[0, -c, b, slide[0]], [c, 0, -a, slide[1]], [-b, a, 0, slide[2]], [0] * 4]
        ).exp()
        translation = [
            sum(x * spin[k, 3] for k, x in enumerate(row))
            for row in at._joint_pose(i, increments)[0]
        ]
        if joint.kind == "planar":
            coordinates += [
                increments[0] + translation[0],
                increments[1] + translation[1],
                increments[2] + c,
            ]
            continue
        if joint.kind == "free":
            coordinates += [x + step for x, step in zip(increments, translation, strict=False)]
        quaternion = (
            flint.arb_mat([[0, c, -b, a], [-c, 0, a, b], [b, -a, 0, c], [-a, -b, -c, 0]])
            * Ball("0.5")
        ).exp()
        coordinates += [
            x for (x,) in (quaternion * flint.arb_mat([[x] for x in increments[-4:]])).tolist()
        ]
    return coordinates


def elsewhere(at: Any, q: list[Ball], v: list[Ball], dt: Ball) -> Any:
    """Return a `Recursion` with other q, v and dt."""
    return type(at)(at.mechanism, {**at.state, "q": q, "v": v, "dt": [dt]}, **at.given)


def euler(at: Any) -> tuple[list[Ball], list[Ball]]:
    """Return (q, v) after a semi-implicit Euler step: v is updated first."""
    (dt,), q, v = at.state["instant"], at.state["q"], at.state["v"]
    later = [x + a * dt for x, a in zip(v, at.accelerations, strict=True)]
    return stepped(elsewhere(at, q, later, dt)), later


def runge_kutta(at: Any) -> tuple[list[Ball], list[Ball]]:
    """Return (q, v) after a Runge-Kutta step; the increments p of q are twists."""
    (dt,), q, v = at.state["instant"], at.state["q"], at.state["v"]

    def increments(shift: list[Ball], gain: list[Ball]) -> tuple[list[Ball], list[Ball]]:
        """Return dt (v, a) at q ⊕ shift and v + gain."""
        rates = [x + more for x, more in zip(v, gain, strict=True)]
        next_stage = elsewhere(at, stepped(elsewhere(at, q, shift, Ball(1))), rates, dt)
        return [x * dt for x in rates], [x * dt for x in next_stage.accelerations]

    def weighted_sum(*terms: tuple[str, list[Ball]]) -> list[Ball]:
        """Return a weighted sum; weights are fractions."""
        shares = [
            Ball(weight.partition("/")[0]) / Ball(weight.partition("/")[2]) for weight, _ in terms
        ]
        pairs = [(share, values) for share, (_, values) in zip(shares, terms, strict=True)]
        return [sum((share * values[i] for share, values in pairs), Ball(0)) for i in range(len(v))]

    zero = [0 * x for x in v]
    p1, k1 = increments(zero, zero)
    p2, k2 = increments(weighted_sum(("1/2", p1)), weighted_sum(("1/2", k1)))
    p3, k3 = increments(
        weighted_sum(("1/2", p2), ("1/8", crossed(at, p1, p2))), weighted_sum(("1/2", k2))
    )
    p4, k4 = increments(p3, k3)
    displacement = weighted_sum(
        ("1/6", p1), ("1/3", p2), ("1/3", p3), ("1/6", p4), ("1/12", crossed(at, p1, p4))
    )
    gain = weighted_sum(("1/6", k1), ("1/3", k2), ("1/3", k3), ("1/6", k4))
    return stepped(elsewhere(at, q, displacement, Ball(1))), [
        x + more for x, more in zip(v, gain, strict=True)
    ]


def crossed(at: Any, x: list[Ball], y: list[Ball]) -> list[Ball]:
    """Return the bracket of two twists of each joint (NV,): ω × ω' and ω × u' − ω' × u."""
    entries = [Ball(0) for _ in x]
    for i, (joint, v_slice) in enumerate(
        zip(at.mechanism.joints, at.mechanism.v_slices, strict=True)
    ):
        if joint.type.along is None:
            continue
        (w, u), (dw, du) = at._twist(i, x), at._twist(i, y)
        turning, sliding = (
            _across(w, dw),
            [a - b for a, b in zip(_across(w, du), _across(dw, u), strict=True)],
        )
        entries[v_slice] = [
            (turning if velocity.unit == "rad" else sliding)[axis]
            for velocity, axis in zip(joint.type.velocities, joint.type.along, strict=True)
        ]
    return entries


def _across(a: list[Ball], b: list[Ball]) -> list[Ball]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def difference(at: Any) -> list[Ball]:
    """Return delta (NV,) of a `Recursion` from its q to its q_next.

    Half of the turn φ is the arcsine of |u|: u·F(½, ½; 3/2; u·u).
    The translation is y = ∫ exp(s φ×) ds ρ; the integral is a corner of the exponential of
    [[φ×, 1], [0, 0]].
    """
    differences: list[Ball] = []
    for i, (joint, of_q) in enumerate(zip(at.mechanism.joints, at.mechanism.q_slices, strict=True)):
        start, goal_coordinates = list(at.state["q"][of_q]), list(at.state["q_next"][of_q])
        if joint.type.along is None:
            differences += [
                after - before for before, after in zip(start, goal_coordinates, strict=True)
            ]
            continue
        if joint.kind == "planar":
            half = (goal_coordinates[2] - start[2]) / 2
            quaternion = [Ball(0), Ball(0), half.sin(), half.cos()]
        else:
            (x, y, z, w), goal = start[-4:], goal_coordinates[-4:]
            inverse_product = flint.arb_mat(
                [[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z], [x, y, z, w]]
            )
            quaternion = [
                component
                for (component,) in (
                    inverse_product * flint.arb_mat([[component] for component in goal])
                ).tolist()
            ]
        if float(quaternion[3].mid()) < 0:
            quaternion = [-component for component in quaternion]
        square = sum((component * component for component in quaternion[:3]), Ball(0))
        a, b, c = (
            2 * component * square.hypgeom_2f1(Ball("0.5"), Ball("0.5"), Ball("1.5"))
            for component in quaternion[:3]
        )
        if joint.kind == "spherical":
            differences += [a, b, c]
            continue
        (turn, p), (_, goal) = (at._joint_pose(i, q) for q in (start, goal_coordinates))
        spin = [[0, -c, b], [c, 0, -a], [-b, a, 0]]
        corner = flint.arb_mat(
            [[*row, *(int(k == n) for n in range(3))] for k, row in enumerate(spin)] + [[0] * 6] * 3
        ).exp()
        V = flint.arb_mat([[corner[r, 3 + n] for n in range(3)] for r in range(3)])
        offset = flint.arb_mat(
            [[sum((turn[k][n] * (goal[k] - p[k]) for k in range(3)), Ball(0))] for n in range(3)]
        )
        translation = [component for (component,) in V.solve(offset).tolist()]
        differences += [*translation[:2], c] if joint.kind == "planar" else [*translation, a, b, c]
    return differences
