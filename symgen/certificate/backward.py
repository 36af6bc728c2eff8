"""Round-off of the pivots of an elimination, by backward error analysis: the computed pivots are
those of M + E.

Forward bounds grow during an elimination with the products of its multipliers; the true error does
not, since M is positive definite. From the rows as `elimination` reads them (any order of
summation) it follows that the computed Û, D̂ satisfy

    Û D̂ Ûᵀ = M + E,    |E_ik| ≤ data_ik + γ_ik t_i t_k,    t_i² ≥ Σ_j Û_ij² D̂_j,

Higham, Accuracy and Stability of Numerical Algorithms, theorem 10.3, lemma 3.1 for γ. `data` is the
error of the summands; γ_ik t_i t_k bounds γ_ik Σ_j |Û_ij| D̂_j |Û_kj| (Cauchy). Let joint k move at
1, with the joints inward locked, and let x be the rates. Then

    D̂_k = min xᵀ(M + E)x ≥ min (xᵀMx − |x|ᵀ|E||x|) ≥ (1 − η) D_k,    η = ‖Cᵀ|E|C‖,

since |x| ≤ C e with Σ e² = xᵀMx (`bodies.rates`). No eigenvalue of M is needed, and q enters only
through the entries' errors. η of joint k needs t of k and of the joints further out, whose pivots
must be known to be positive. So the pivots are visited from the last joint to the first, and each
certified pivot supplies its t (`roots`). If joints are merged, M stands for M less their products,
whose pivots are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import flint

from symgen.certificate.bodies import Ball
from symgen.certificate.elimination import Elimination, Sum
from symgen.certificate.rounding import Arithmetic, Rounded
from symgen.certificate.samples import Pair
from symgen.derivation import constants

ROUNDINGS = 4
"""Roundings per product of the elimination: reciprocal of the pivot, multiplier, product, and a
constant entry.
"""

Rates = Mapping[int, Mapping[int, Ball]]
"""C: |entry b of v| ≤ Σ_c C[b][c] e_c, over bodies c."""
Roots = Mapping[int, Ball]
"""t by entry of v. In this file "joint" means one entry of v."""


class Energies(Protocol):
    """Energy bounds of a positive definite matrix: `symgen.certificate.bodies.Bodies` for M."""

    @property
    def joints(self) -> range: ...

    def name(self, k: int) -> str: ...

    def composite(self, k: int) -> Ball:
        """Return an upper bound of M_kk."""

    def outward(self, k: int) -> list[int]:
        """Return k and all entries that are eliminated before it and coupled with it, ascending."""

    def rates(self, k: int) -> Rates | str:
        """Return C of `outward`, with Σ e² ≤ xᵀMx; or why it does not exist."""

    def locked(self, k: int, rates: Rates) -> Rates | None:
        """Return C of the entries outward of k with k locked; None if it does not exist."""


@dataclass(frozen=True)
class Backward:
    """E over the box: `data` and `gamma` of each entry; `largest` is the largest M_ii of all
    joints.
    """

    elimination: Elimination
    bodies: Energies
    data: Mapping[Pair, Ball]
    gamma: Mapping[Pair, Ball]
    largest: Ball


def backward(
    elimination: Elimination, bodies: Energies, rows: Mapping[int, Rounded], arithmetic: Arithmetic
) -> Backward:
    """Return the backward error of an elimination whose leaves have the errors `rows`."""
    with constants.precision():
        largest = _largest(bodies.composite(k) for k in bodies.joints)
        data = {
            pair: _data(entry_sum, rows, arithmetic, largest)
            for pair, entry_sum in elimination.sums.items()
        }
        gamma = {
            pair: _gamma(entry_sum.depth + ROUNDINGS, arithmetic)
            for pair, entry_sum in elimination.sums.items()
        }
    return Backward(elimination, bodies, data, gamma, largest)


def constant_roots(error: Backward) -> dict[int, Ball]:
    """Return t of the joints with constant pivots, which are known to be positive."""
    constant = error.elimination.joints - set(error.elimination.pivots)
    return {
        joint: root for joint in sorted(constant) if (root := closed_root(error, joint)) is not None
    }


def closed_root(error: Backward, joint: int) -> Ball | None:
    """Return t of a joint with a positive pivot, t² = (M + E)_kk ≤ (M_kk + data)/(1 − γ); None if
    it is too large.
    """
    pair = (joint, joint)
    with constants.precision():
        square = (error.bodies.composite(joint) + error.data[pair]) / (1 - error.gamma[pair])
        return square.sqrt() if square < 2 * error.largest else None


def relative_error(error: Backward, joint: int, roots: Roots) -> Ball | str:
    """Return η of the pivot of `joint`, or why it has none; `roots` has the joints whose pivots are
    known to be positive.
    """
    rates = error.bodies.rates(joint)
    if isinstance(rates, str):
        return rates
    inside = [b for b in error.bodies.outward(joint) if b in error.elimination.joints]
    missing = [b for b in inside if b != joint and b not in roots]
    if missing:
        return f"the pivot of {error.bodies.name(missing[0])} has no bound"
    with constants.precision():
        root = open_root(error, joint, rates, roots)
        if root is None:
            return "round-off of the joints further out is too large"
        return _norm(error, inside, rates, {**roots, joint: root})


def open_root(error: Backward, joint: int, rates: Rates, roots: Roots) -> Ball | None:
    """Return t of a joint without its own pivot, about which nothing is known yet; None if it is
    too large.

    With O the joints further out, t² = (M + E)_kO (M + E)_OO⁻¹ (M + E)_Ok, and (M + E)_OO ≥ (1 − η)
    M_OO with η of O. So t ≤ (√M_kk + ‖Cᵀ|E_Ok|‖)/√(1 − η). E_Ok contains t: |E_Ok| ≤ data + γ t
    t_O.
    """
    outer = [b for b in error.bodies.outward(joint) if b in error.elimination.joints and b != joint]
    locked_rates = error.bodies.locked(joint, rates)
    if locked_rates is None:
        return None
    eta = _norm(error, outer, locked_rates, roots)
    if not eta < 1:
        return None
    coupled = {b: (joint, b) for b in outer if (joint, b) in error.elimination.sums}
    data = _length(locked_rates, {b: error.data[pair] for b, pair in coupled.items()})
    growth = (
        _length(locked_rates, {b: error.gamma[pair] * roots[b] for b, pair in coupled.items()})
        / (1 - eta).sqrt()
    )
    if not growth < 1:
        return None
    root = (error.bodies.composite(joint).sqrt() + data) / (1 - eta).sqrt() / (1 - growth)
    return root if root**2 < 2 * error.largest else None


def _norm(error: Backward, inside: Iterable[int], rates: Rates, roots: Roots) -> Ball:
    """Return the largest row sum of Cᵀ|E|C, a bound of its norm."""
    inside = list(inside)
    total: dict[int, Ball] = {}
    for i in inside:
        for b in inside:
            pair = (min(i, b), max(i, b))
            if pair in error.elimination.sums:
                entry = error.data[pair] + error.gamma[pair] * roots[i] * roots[b]
                width = sum(rates[b].values(), flint.arb(0))
                for c, x in rates[i].items():
                    total[c] = total.get(c, flint.arb(0)) + x * entry * width
    return _largest(total.values())


def _length(rates: Rates, vector: Mapping[int, Ball]) -> Ball:
    """Return ‖Cᵀ|v|‖."""
    square = flint.arb(0)
    for c in sorted({c for row in rates.values() for c in row}):
        square += sum((vector[b] * rates[b][c] for b in vector if c in rates[b]), flint.arb(0)) ** 2
    return square.sqrt() if square > 0 else square.abs_upper().sqrt()


def _data(
    entry_sum: Sum, rows: Mapping[int, Rounded], arithmetic: Arithmetic, largest: Ball
) -> Ball:
    """Return the error of the leaves, the rounding of their additions, and underflow."""
    total = flint.arb(0)
    for leaf in entry_sum.leaves:
        error, size = (flint.arb(float(x.max())) for x in (rows[leaf].error, rows[leaf].size))
        total += error + _gamma(entry_sum.depth, arithmetic) * size
    # An underflow adds at most `tiny` to a result; in a multiplier it is multiplied by an entry of
    # at most 2 `largest`.
    tiny = flint.arb(arithmetic.underflow)
    return total + 4 * tiny * (
        entry_sum.operations + 2 * len(entry_sum.products) * (1 + 2 * largest)
    )


def _gamma(n: int, arithmetic: Arithmetic) -> Ball:
    """Return γ_n = nu/(1 − nu) for n factors 1 + δ (Higham, lemma 3.1)."""
    u = flint.arb(arithmetic.unit)
    return n * u / (1 - n * u)


def _largest(values: Iterable[Ball]) -> Ball:
    largest = flint.arb(0)
    for value in values:
        largest = largest.max(value)
    return largest
