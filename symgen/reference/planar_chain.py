"""Planar chain of unit masses on unit links by the partition of LC, whose H_bb is tridiagonal, (7),
(18): eliminated in 200 bits.

LC is the paper of the method `fixman` that partitions a linear chain. Rod k rotates by φ_k = q_1 +
… + q_k. It pushes its mass across with s_k and pulls along with λ_k, which keeps its length:

    H_bb λ = r:   λ_1 − c_2 λ_2 = r_1,   2 λ_k − c_k λ_k−1 − c_k+1 λ_k+1 = r_k,   c_k = cos q_k,

since the first rod is pinned to the base. det M = det H_bb, for the masses and lengths are 1.
"""

from __future__ import annotations

from functools import reduce
from operator import add

import flint
import numpy as np
from flint import arb

from symgen.reference.precision import Array

BITS = 200


def _cosines_and_sines(q: Array) -> tuple[list[arb], list[arb]]:
    """Return the cosines and sines of q."""
    exact = [arb(float(x)) for x in q]
    return [x.cos() for x in exact], [x.sin() for x in exact]


def _pivots_from_base(c: list[arb]) -> list[arb]:
    """Return the pivots of H_bb from the base."""
    pivots = [arb(1)]
    for x in c[1:]:
        pivots.append(2 - x * x / pivots[-1])
    return pivots


def log_determinant(q: Array) -> float:
    """Return ln det M; q in rad."""
    with flint.ctx.workprec(BITS):
        return float(
            reduce(add, (x.log() for x in _pivots_from_base(_cosines_and_sines(q)[0])), arb(0))
        )


def gradient(q: Array) -> Array:
    """Return ∂ ln det M/∂q (1/rad), from the pivots of both ends."""
    with flint.ctx.workprec(BITS):
        c, s = _cosines_and_sines(q)
        f, b = _pivots_from_base(c), [arb(2)]
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
    """Return x with M x = b: the accelerations (rad/s²) that the torques b (N m) give the chain at
    rest.
    """
    with flint.ctx.workprec(BITS):
        c, s = _cosines_and_sines(q)
        n = len(c)
        across = [arb(float(x)) - arb(float(y)) for x, y in zip(b, [*b[1:], 0.0], strict=True)]
        # e_k·n_k+1 = −sin q_k+1 and e_k·n_k−1 = sin q_k, with n a quarter turn ahead of e
        right = [
            (-s[k + 1] * across[k + 1] if k + 1 < n else arb(0))
            + (s[k] * across[k - 1] if k else arb(0))
            for k in range(n)
        ]
        f = _pivots_from_base(c)
        for k in range(1, n):
            right[k] += c[k] * right[k - 1] / f[k - 1]
        tension = [right[-1] / f[-1]]
        for k in range(n - 2, -1, -1):
            tension.append((right[k] + c[k + 1] * tension[-1]) / f[k])
        tension.reverse()
        # n_k·(a_k − a_k−1) of the masses: a_k is the force of rod k on its mass minus that of rod
        # k+1
        rates = []
        for k in range(n):
            rate = (2 if k else 1) * across[k]
            if k + 1 < n:  # n_k·e_k+1 = sin q_k+1
                rate -= c[k + 1] * across[k + 1] + s[k + 1] * tension[k + 1]
            if k:  # n_k·e_k−1 = −sin q_k
                rate -= c[k] * across[k - 1] - s[k] * tension[k - 1]
            rates.append(rate)
        return np.array([float(x - y) for x, y in zip(rates, [arb(0), *rates], strict=False)])
