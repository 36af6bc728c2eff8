"""The planar chain of unit masses on unit links by LC's partition, whose H_bb is tridiagonal, (7), (18): eliminated in 200 bits.

Rod k turns by φ_k = q_1 + … + q_k; it pushes its mass across with s_k and pulls along with λ_k, which keeps its length:

    H_bb λ = r:   λ_1 − c_2 λ_2 = r_1,   2 λ_k − c_k λ_k−1 − c_k+1 λ_k+1 = r_k,   c_k = cos q_k,

since the first rod hangs on the base. det M = det H_bb, for the masses and lengths are 1.
"""

from __future__ import annotations

from functools import reduce
from operator import add

import flint
import numpy as np
from flint import arb

from symgen.reference.precision import Array

BITS = 200


def _turned(q: Array) -> tuple[list[arb], list[arb]]:
    exact = [arb(float(x)) for x in q]
    return [x.cos() for x in exact], [x.sin() for x in exact]


def _forward(c: list[arb]) -> list[arb]:
    """Pivots of H_bb from the base."""
    found = [arb(1)]
    for x in c[1:]:
        found.append(2 - x * x / found[-1])
    return found


def log_determinant(q: Array) -> float:
    """ln det M, q in rad."""
    with flint.ctx.workprec(BITS):
        return float(reduce(add, (x.log() for x in _forward(_turned(q)[0])), arb(0)))


def gradient(q: Array) -> Array:
    """∂ ln det M/∂q (1/rad), from the pivots of both ends."""
    with flint.ctx.workprec(BITS):
        c, s = _turned(q)
        f, b = _forward(c), [arb(2)]
        for k in range(len(c) - 1, 0, -1):
            b.append((2 if k > 1 else 1) - c[k] * c[k] / b[-1])
        b.reverse()
        return np.array(
            [
                0.0,
                *(
                    float(2 * s[k] * c[k] / (f[k - 1] * b[k] - c[k] * c[k]))
                    for k in range(1, len(c))
                ),
            ]
        )


def solution(q: Array, b: Array) -> Array:
    """x of M x = b, b in N m of each joint: the accelerations (rad/s²) that b gives the chain at rest."""
    with flint.ctx.workprec(BITS):
        c, s = _turned(q)
        n = len(c)
        across = [arb(float(x)) - arb(float(y)) for x, y in zip(b, [*b[1:], 0.0], strict=True)]
        # e_k·n_k+1 = −sin q_k+1 and e_k·n_k−1 = sin q_k, with n a quarter turn ahead of e
        right = [
            (-s[k + 1] * across[k + 1] if k + 1 < n else arb(0))
            + (s[k] * across[k - 1] if k else arb(0))
            for k in range(n)
        ]
        f = _forward(c)
        for k in range(1, n):
            right[k] += c[k] * right[k - 1] / f[k - 1]
        pull = [right[-1] / f[-1]]
        for k in range(n - 2, -1, -1):
            pull.append((right[k] + c[k + 1] * pull[-1]) / f[k])
        pull.reverse()
        # n_k·(a_k − a_k−1) of the masses, a_k being what rod k does to its mass less what rod k+1 does to the next one
        turned = []
        for k in range(n):
            rate = (2 if k else 1) * across[k]
            if k + 1 < n:  # n_k·e_k+1 = sin q_k+1
                rate -= c[k + 1] * across[k + 1] + s[k + 1] * pull[k + 1]
            if k:  # n_k·e_k−1 = −sin q_k
                rate -= c[k] * across[k - 1] - s[k] * pull[k - 1]
            turned.append(rate)
        return np.array([float(x - y) for x, y in zip(turned, [arb(0), *turned], strict=False)])
