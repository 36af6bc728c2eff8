"""q ⊕ v dt by exponentials of matrices, which FLINT encloses: of a twist, and of what multiplies a quaternion from the right. And
the way back, by Gauss' hypergeometric function.
"""

from __future__ import annotations

from typing import Any

import flint

Ball = flint.arb


def stepped(at: Any) -> list[Ball]:
    """q (NQ,) of a `Recursion` after its dt."""
    (dt,), q, v, found = at.state["dt"], at.state["q"], at.state["v"], []
    for i, (joint, of_q, of_v) in enumerate(zip(at.mechanism.joints, at.mechanism.q_slices, at.mechanism.v_slices, strict=True)):
        own, rates = list(q[of_q]), [rate * dt for rate in v[of_v]]
        if joint.type.along is None:
            found += [x + step for x, step in zip(own, rates, strict=True)]
            continue
        (a, b, c), slide = at._twist(i, [rate * dt for rate in v])
        spin = flint.arb_mat([[0, -c, b, slide[0]], [c, 0, -a, slide[1]], [-b, a, 0, slide[2]], [0] * 4]).exp()
        behind = [sum(x * spin[k, 3] for k, x in enumerate(row)) for row in at._moved(i, own)[0]]
        if joint.kind == "planar":
            found += [own[0] + behind[0], own[1] + behind[1], own[2] + c]
            continue
        if joint.kind == "free":
            found += [x + step for x, step in zip(own, behind, strict=False)]
        turned = (flint.arb_mat([[0, c, -b, a], [-c, 0, a, b], [b, -a, 0, c], [-a, -b, -c, 0]]) * Ball("0.5")).exp()
        found += [x for (x,) in (turned * flint.arb_mat([[x] for x in own[-4:]])).tolist()]
    return found


def parted(at: Any) -> list[Ball]:
    """delta (NV,) of a `Recursion` from its q to its q_next: the half of a turn φ is the arcsine of |u|, u·F(½, ½; 3/2; u·u); and
    the way is y = ∫ exp(s φ×) ds ρ, the integral a corner of the exponential of [[φ×, 1], [0, 0]].
    """
    found: list[Ball] = []
    for i, (joint, of_q) in enumerate(zip(at.mechanism.joints, at.mechanism.q_slices, strict=True)):
        here, there = list(at.state["q"][of_q]), list(at.state["q_next"][of_q])
        if joint.type.along is None:
            found += [two - one for one, two in zip(here, there, strict=True)]
            continue
        if joint.kind == "planar":
            half = (there[2] - here[2]) / 2
            quaternion = [Ball(0), Ball(0), half.sin(), half.cos()]
        else:
            (x, y, z, w), goal = here[-4:], there[-4:]
            back = flint.arb_mat([[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z], [x, y, z, w]])
            quaternion = [one for (one,) in (back * flint.arb_mat([[one] for one in goal])).tolist()]
        if float(quaternion[3].mid()) < 0:
            quaternion = [-one for one in quaternion]
        square = sum((one * one for one in quaternion[:3]), Ball(0))
        a, b, c = (2 * one * square.hypgeom_2f1(Ball("0.5"), Ball("0.5"), Ball("1.5")) for one in quaternion[:3])
        if joint.kind == "spherical":
            found += [a, b, c]
            continue
        (turn, p), (_, goal) = (at._moved(i, q) for q in (here, there))
        spin = [[0, -c, b], [c, 0, -a], [-b, a, 0]]
        corner = flint.arb_mat([[*row, *(int(k == n) for n in range(3))] for k, row in enumerate(spin)] + [[0] * 6] * 3).exp()
        V = flint.arb_mat([[corner[r, 3 + n] for n in range(3)] for r in range(3)])
        gone = flint.arb_mat([[sum((turn[k][n] * (goal[k] - p[k]) for k in range(3)), Ball(0))] for n in range(3)])
        way = [one for (one,) in V.solve(gone).tolist()]
        found += [*way[:2], c] if joint.kind == "planar" else [*way, a, b, c]
    return found
