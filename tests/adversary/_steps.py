"""q ⊕ v dt by exponentials of matrices, which FLINT encloses: of a twist, and of what multiplies a quaternion from the right."""

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
