"""Round-off of the pivots of an elimination, by a backward analysis: the computed pivots are those of M + E.

Forward bounds grow along an elimination as the products of its multipliers; the true error does not, since M is positive
definite. So it is shown, from the rows as `elimination` read them (any order of summation), that the computed Û, D̂ obey

    Û D̂ Ûᵀ = M + E,    |E_ik| ≤ data_ik + γ_ik t_i t_k,    t_i² ≥ Σ_j Û_ij² D̂_j,

Higham, Accuracy and Stability of Numerical Algorithms, theorem 10.3, lemma 3.1 for γ. `data` is the error of what is summed;
γ_ik t_i t_k bounds γ_ik Σ_j |Û_ij| D̂_j |Û_kj| (Cauchy). Joint k moving at 1 and those inward locked, x the rates,

    D̂_k = min xᵀ(M + E)x ≥ min (xᵀMx − |x|ᵀ|E||x|) ≥ (1 − η) D_k,    η = ‖Cᵀ|E|C‖,

since |x| ≤ C e with Σ e² = xᵀMx (`bodies.rates`). No eigenvalue of M is asked for, and q enters only through the entries'
errors. η of joint k needs t of k and of the joints further out, whose pivots must be known to be positive. So the pivots are
gone through from the last joint to the first, and each that is certified hands its t on (`roots`).
Where joints are merged, M stands for M less their products, whose pivots are the same.
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
"""Of a product of the elimination: the reciprocal of the pivot, the multiplier, the product, and an entry that is a constant."""

Rates = Mapping[int, Mapping[int, Ball]]
"""C: |entry b of v| ≤ Σ_c C[b][c] e_c, c the bodies."""
Roots = Mapping[int, Ball]
"""t by entry of v, of which a joint may have several; what is called a joint here is one of these."""


class Energies(Protocol):
    """What is known of a positive definite matrix: `symgen.certificate.bodies.Bodies` of M."""

    @property
    def joints(self) -> range: ...

    def name(self, k: int) -> str: ...

    def composite(self, k: int) -> Ball:
        """An upper bound of M_kk."""

    def outward(self, k: int) -> list[int]:
        """k and all that is eliminated before it and coupled with it, ascending."""

    def rates(self, k: int) -> Rates | str:
        """C of `outward`, with Σ e² ≤ xᵀMx; or why there is none."""

    def locked(self, k: int, rates: Rates) -> Rates | None:
        """C of what is outward of k, which is locked itself; None where there is none."""


@dataclass(frozen=True)
class Backward:
    """E over the box, `data` and `gamma` of each entry; `largest` is the largest M_ii of all joints."""

    elimination: Elimination
    bodies: Energies
    data: Mapping[Pair, Ball]
    gamma: Mapping[Pair, Ball]
    largest: Ball


def backward(
    elimination: Elimination, bodies: Energies, rows: Mapping[int, Rounded], arithmetic: Arithmetic
) -> Backward:
    """The backward error of an elimination whose leaves are known by `rows`."""
    with constants.precision():
        largest = _most(bodies.composite(k) for k in bodies.joints)
        data = {
            pair: _data(one, rows, arithmetic, largest) for pair, one in elimination.sums.items()
        }
        gamma = {
            pair: _gamma(one.depth + ROUNDINGS, arithmetic)
            for pair, one in elimination.sums.items()
        }
    return Backward(elimination, bodies, data, gamma, largest)


def constant_roots(error: Backward) -> dict[int, Ball]:
    """t of the joints whose pivots are constants: these are known to be positive from the start."""
    constant = error.elimination.joints - set(error.elimination.pivots)
    return {
        joint: root for joint in sorted(constant) if (root := closed_root(error, joint)) is not None
    }


def closed_root(error: Backward, joint: int) -> Ball | None:
    """t of a joint whose own pivot is known to be positive, t² = (M + E)_kk ≤ (M_kk + data)/(1 − γ); None where too large."""
    pair = (joint, joint)
    with constants.precision():
        square = (error.bodies.composite(joint) + error.data[pair]) / (1 - error.gamma[pair])
        return square.sqrt() if square < 2 * error.largest else None


def share(error: Backward, joint: int, roots: Roots) -> Ball | str:
    """η of the pivot of `joint`, or why there is none; `roots` of the joints whose pivots are known to be positive."""
    rates = error.bodies.rates(joint)
    if isinstance(rates, str):
        return rates
    inside = [b for b in error.bodies.outward(joint) if b in error.elimination.joints]
    missing = [b for b in inside if b != joint and b not in roots]
    if missing:
        return f"the pivot of {error.bodies.name(missing[0])} has none"
    with constants.precision():
        root = open_root(error, joint, rates, roots)
        if root is None:
            return "round-off of the joints further out is too large"
        return _norm(error, inside, rates, {**roots, joint: root})


def open_root(error: Backward, joint: int, rates: Rates, roots: Roots) -> Ball | None:
    """t of a joint of whose own pivot nothing is known yet, that pivot left out; None where it is too large.

    With O the joints further out, t² = (M + E)_kO (M + E)_OO⁻¹ (M + E)_Ok, and (M + E)_OO ≥ (1 − η) M_OO, η that of O. So
    t ≤ (√M_kk + ‖Cᵀ|E_Ok|‖)/√(1 − η), where E_Ok has t in it: |E_Ok| ≤ data + γ t t_O.
    """
    outer = [b for b in error.bodies.outward(joint) if b in error.elimination.joints and b != joint]
    still = error.bodies.locked(joint, rates)
    if still is None:
        return None
    eta = _norm(error, outer, still, roots)
    if not eta < 1:
        return None
    coupled = {b: (joint, b) for b in outer if (joint, b) in error.elimination.sums}
    data = _length(still, {b: error.data[pair] for b, pair in coupled.items()})
    grown = (
        _length(still, {b: error.gamma[pair] * roots[b] for b, pair in coupled.items()})
        / (1 - eta).sqrt()
    )
    if not grown < 1:
        return None
    root = (error.bodies.composite(joint).sqrt() + data) / (1 - eta).sqrt() / (1 - grown)
    return root if root**2 < 2 * error.largest else None


def _norm(error: Backward, inside: Iterable[int], rates: Rates, roots: Roots) -> Ball:
    """Largest row sum of Cᵀ|E|C, a bound of its norm."""
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
    return _most(total.values())


def _length(rates: Rates, vector: Mapping[int, Ball]) -> Ball:
    """‖Cᵀ|v|‖."""
    square = flint.arb(0)
    for c in sorted({c for one in rates.values() for c in one}):
        square += sum((vector[b] * rates[b][c] for b in vector if c in rates[b]), flint.arb(0)) ** 2
    return square.sqrt() if square > 0 else square.abs_upper().sqrt()


def _data(one: Sum, rows: Mapping[int, Rounded], arithmetic: Arithmetic, largest: Ball) -> Ball:
    """The errors of the leaves, and what the additions do to them; underflow."""
    lost = flint.arb(0)
    for leaf in one.leaves:
        error, size = (flint.arb(float(x.max())) for x in (rows[leaf].error, rows[leaf].size))
        lost += error + _gamma(one.depth, arithmetic) * size
    # an underflow adds at most `tiny` to a result; in a multiplier it meets an entry, at most 2 `largest`
    tiny = flint.arb(arithmetic.underflow)
    return lost + 4 * tiny * (one.operations + 2 * len(one.products) * (1 + 2 * largest))


def _gamma(n: int, arithmetic: Arithmetic) -> Ball:
    """γ_n = nu/(1 − nu): n factors 1 + δ (Higham, lemma 3.1)."""
    u = flint.arb(arithmetic.unit)
    return n * u / (1 - n * u)


def _most(values: Iterable[Ball]) -> Ball:
    found = flint.arb(0)
    for value in values:
        found = found.max(value)
    return found
