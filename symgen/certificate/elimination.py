"""Round-off of the pivots of a reverse Gaussian elimination, by a backward analysis: the computed pivots are those of M + E.

Forward bounds grow along an elimination as the products of its multipliers; the true error does not, since M is positive
definite. So it is shown, from the rows as they stand (any order of summation), that the computed Û, D̂ of Saha (25)-(30) obey

    Û D̂ Ûᵀ = M + E,    |E_ik| ≤ (error of the computed entry) + γ Σ|terms| + γ Σ_j |Û_ij| D̂_j |Û_kj|,

(Higham, Accuracy and Stability of Numerical Algorithms, theorem 10.3, lemma 3.1 for γ), where the last sum is at most
t_i t_k with t_i² = Σ_j Û_ij² D̂_j ≤ (M + E)_ii (Cauchy). Joint k moving at 1 and those inward locked, x the rates,

    D̂_k = min xᵀ(M + E)x ≥ min (xᵀMx − |x|ᵀ|E||x|) ≥ (1 − η) D_k,    η = ‖Cᵀ|E|C‖,

since |x| ≤ C e with Σ e² = xᵀMx (`bodies.rates`). No eigenvalue of M is asked for, and q enters only through the
entries' errors. Pivots that are constants are taken off M beforehand, where the Program has merged them with its entries.
Proved, given that the entries are the ones that `pivots` tells by value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import flint

from symgen.certificate.bodies import Bodies
from symgen.certificate.pivots import Pair, Told, Values
from symgen.certificate.rounding import Arithmetic, Rounded
from symgen.derivation import constants as k

Ball = Any
ROUNDINGS = 4
"""Of a product of the elimination: the reciprocal of the pivot, the multiplier, the product, and an entry that is a constant."""


class NoElimination(Exception):
    """The rows are not an elimination of the mass matrix; the text says where."""


@dataclass
class Entry:
    """How one reduced entry is computed: a sum of `leaves` (rows without a product of the elimination in them) and of
    products with the joints `over`; `depth` additions at most act on a term, `operations` in all."""

    leaves: list[int] = field(default_factory=list)
    over: list[int] = field(default_factory=list)
    depth: int = 0
    operations: int = 0


class Recognised:
    """The rows of a Program as an elimination: `entries[i, k]` for i ≤ k, of every joint but those in `merged`.

    `merged`: joints with constant pivots whose products are all part of other entries' leaves. `exact`: entries that are
    constants: Û has them exactly, and each use rounds anew.
    Raises NoElimination where the rows are something else.
    """

    def __init__(self, told: Told, divisors: Mapping[int, int | None]) -> None:
        self.told, self.rows = told, told.program.rows
        self.reduced, self.factors = told.elimination.reduced, told.elimination.factors
        self.pivot = {joint: row for row, joint in divisors.items() if joint is not None}
        self.joints = range(1 + max(i for i, _ in self.reduced))
        self.place: dict[Pair, int] = {}
        """Row of each entry, signs aside; multipliers and products must be made of the same one."""
        self.entries: dict[Pair, Entry] = {}
        self.exact: set[Pair] = set()
        for joint, row in self.pivot.items():
            self._follow((joint, joint), row)
        self.merged = self._merge()
        self._check()

    def _follow(self, pair: Pair, row: int) -> None:
        """Take the entry at `row` apart, down to the mass matrix."""
        row = self._bare(row)
        if self.place.setdefault(pair, row) != row or (pair in self.exact and self.rows[row].op != "const"):
            raise NoElimination(f"entry {_text(pair)} of the elimination is computed twice")
        if pair not in self.entries:
            self.entries[pair] = found = Entry()
            self._sum(pair, row, self._sign(row, self.reduced[pair]), 0, found)
            if len(set(found.over)) != len(found.over):
                raise NoElimination(f"entry {_text(pair)} has a product twice")

    def _bare(self, row: int) -> int:
        while self.rows[row].op == "neg":
            row = self.rows[row].args[0]
        return row

    def _sum(self, pair: Pair, row: int, sign: int, depth: int, found: Entry) -> bool:
        """Take the sum at `row`, a summand of `sign` times the entry, apart as far as products reach; whether there is one."""
        here = self.rows[row]
        found.depth = max(found.depth, depth)
        if here.op == "neg":
            return self._sum(pair, here.args[0], -sign, depth, found)
        if here.op in ("add", "sub"):
            parts, signs = [Entry(), Entry()], (sign, sign if here.op == "add" else -sign)
            deep = [self._sum(pair, arg, s, depth + 1, part) for arg, s, part in zip(here.args, signs, parts, strict=True)]
            if any(deep):
                for part in parts:
                    found.leaves += part.leaves
                    found.over += part.over
                    found.depth = max(found.depth, part.depth)
                    found.operations += part.operations
                found.operations += 1
                return True
        elif here.op == "mul":
            j = self._product(pair, row, sign)
            if j is not None:
                found.over.append(j)
                found.operations += 1
                return True
        found.leaves.append(row)
        return False

    def _product(self, pair: Pair, row: int, sign: int) -> int | None:
        """The joint j of which this row is −α_ij R_kj (or −α_kj R_ij), by value and by how α is made of R; None for another."""
        for j in range(max(pair) + 1, len(self.joints)):
            term = self._term(pair, j)
            if term is None or self._sign(row, term) != -sign:
                continue
            for left, right in (self.rows[row].args, self.rows[row].args[::-1]):
                factor, entry = self._bare(left), self._bare(right)
                for a, b in (pair, pair[::-1]):
                    if self._sign(factor, self.factors[a, j]) and self._sign(entry, self.reduced[b, j]):
                        made = self._made_of(factor, (a, j))
                        if made is None and not self._fixed((a, j), self.rows[factor].op == "const"):
                            continue
                        if made is not None:
                            self._follow((a, j), made)
                        self._follow((b, j), entry)
                        if j not in self.pivot and not self._fixed((j, j)):
                            raise NoElimination(f"pivot {j + 1} is neither divided by nor a constant")
                        return j
        return None

    def _term(self, pair: Pair, j: int) -> Values | None:
        """α_ij R_kj at the states; None where it vanishes."""
        i, other = pair
        if (i, j) not in self.factors or (other, j) not in self.factors:
            return None
        with self.told.scalars.working():
            term = tuple(x * y for x, y in zip(self.factors[i, j], self.reduced[other, j], strict=True))
        return None if self.told.is_zero(term) else term

    def _sign(self, row: int, values: Values) -> int:
        return self.told.same(self.told.rows[row], values)

    def _made_of(self, factor: int, pair: Pair) -> int | None:
        """The row of R_ij that α_ij = R_ij/D_j is made of: by R·(1/D) or R/D with the pivot's own row, or R·constant."""
        j, row = pair[1], self.rows[factor]
        if row.op == "div" and self.pivot.get(j) == row.args[1] and self._sign(row.args[0], self.reduced[pair]):
            return self._bare(row.args[0])
        if row.op == "mul":
            for one, other in (row.args, row.args[::-1]):
                inverse = self.rows[other]
                if j in self.pivot:
                    scale = inverse.op == "div" and inverse.args[1] == self.pivot[j] and self._unit(inverse.args[0])
                else:
                    scale = inverse.op == "const"
                if scale and self._sign(one, self.reduced[pair]):
                    return self._bare(one)
        if j not in self.pivot and self._sign(factor, self.reduced[pair]):
            return factor       # the pivot is the constant 1
        return None

    def _unit(self, row: int) -> bool:
        return self.rows[row].op == "const" and abs(self.rows[row].value) == 1

    def _fixed(self, pair: Pair, wanted: bool = True) -> bool:
        """Take an entry to be the constant that it is at all states; whether that can be."""
        values, row = self.reduced[pair], self.place.get(pair)
        if not wanted or pair[1] in self.pivot or (row is not None and self.rows[row].op != "const") \
                or not all(self.told.same(values, (x,) * len(values)) == 1 for x in values):
            return False
        self.exact.add(pair)
        self.entries.setdefault(pair, Entry())
        return True

    def _merge(self) -> set[int]:
        """The joints whose products stand in no sum; one that stands in some sums only must be of constants, which are exact."""
        found: set[int] = set()
        for pair, entry in list(self.entries.items()):
            for j in range(max(pair) + 1, len(self.joints)):
                if j in entry.over or self._term(pair, j) is None:
                    continue
                if j in self.pivot:
                    raise NoElimination("the rows do not eliminate the mass matrix entry by entry")
                if (j, j) not in self.entries:
                    found.add(j)
                elif not all(self._fixed((i, j)) for i in pair):
                    raise NoElimination(f"products of the elimination are merged with entry {_text(pair)} only in part")
        return found

    def _check(self) -> None:
        """What is missing must be zero, and what is merged must be so wholly, and come first."""
        if any(self.merged & set(pair) for pair in self.entries):
            raise NoElimination("a constant pivot is merged only in part")
        for i, other in self.reduced:
            coupled = i != other and not self.told.is_zero(self.reduced[i, other])
            if i in self.merged and coupled and other not in self.merged:
                raise NoElimination(f"pivot {i + 1} is merged before pivot {other + 1}")
            if (i, other) in self.entries and (i, other) not in self.exact:
                continue
            for j in range(other + 1, len(self.joints)):
                if {(i, j), (other, j)} <= set(self.entries) and not {(i, j), (other, j)} <= self.exact:
                    raise NoElimination(f"entry {_text((i, other))} is left out although it has products")


def _text(pair: Pair) -> str:
    return f"({pair[0] + 1},{pair[1] + 1})"


class Backward:
    """The backward error E over the box, and with it the shares η; `shares` for a joint whose outward pivots are positive."""

    def __init__(self, found: Recognised, bodies: Bodies, rows: Mapping[int, Rounded], arithmetic: Arithmetic) -> None:
        self.found, self.bodies, self.arithmetic = found, bodies, arithmetic
        self.data: dict[Pair, Ball] = {}
        self.gamma: dict[Pair, Ball] = {}
        self.root: dict[int, Ball] = {}
        """t_i of the rows that are done."""
        with k.precision():
            tiny = flint.arb(arithmetic.underflow)
            self.largest = flint.arb(0)
            for i in range(len(bodies.links)):
                self.largest = self.largest.max(bodies.composite(i))
            for pair, entry in found.entries.items():
                lost = flint.arb(0)
                for leaf in entry.leaves:
                    error, size = (flint.arb(float(x.max())) for x in (rows[leaf].error, rows[leaf].size))
                    lost += error + self._gamma(entry.depth) * size
                # an underflow adds at most `tiny` to a result; in a multiplier it meets an entry, at most 2 `largest`
                lost += 4 * tiny * (entry.operations + 2 * len(entry.over) * (1 + 2 * self.largest))
                self.data[pair] = lost
                self.gamma[pair] = self._gamma(entry.depth + ROUNDINGS)
            for joint in [j for j, other in found.entries if j == other and j not in found.pivot]:
                self.close(joint)

    def _gamma(self, n: int) -> Ball:
        """γ_n = nu/(1 − nu): n factors 1 + δ (Higham, lemma 3.1)."""
        u = flint.arb(self.arithmetic.unit)
        return n * u / (1 - n * u)

    def share(self, joint: int) -> Ball | str:
        """η of the pivot of `joint`; or why there is none. The pivots further out must be closed."""
        inside = [b for b in self.bodies.outward(joint) if (b, b) in self.found.entries]
        found = self.bodies.rates(joint)
        if isinstance(found, str):
            return found
        with k.precision():
            outer = [b for b in inside if b != joint]
            missing = [b for b in outer if b not in self.root]
            if missing:
                return f"the pivot of joint '{self.bodies.links[missing[0]].joint}' has none"
            rates = {b: {c: x for c, x in found[b].items() if c != joint} for b in outer}
            before = self._norm(outer, rates)
            if not before < 1:
                return "round-off of the joints further out is too large"
            root = self._root(joint, outer, rates, (1 - before).sqrt())
            if not root**2 < 2 * self.largest:
                return "round-off of the joints further out is too large"
            self.root[joint] = root
            share = self._norm(inside, found)
            del self.root[joint]        # until `close`
            return share

    def _root(self, joint: int, outer: list[int], rates: dict[int, dict[int, Ball]], rest: Ball) -> Ball:
        """t_joint without its own pivot: t (1 − ‖Cᵀγ t‖/√(1−η)) ≤ (√M_kk + ‖Cᵀ data‖)/√(1−η)."""
        entries, columns = self.found.entries, sorted({c for share in rates.values() for c in share})

        def length(vector: dict[int, Ball]) -> Ball:
            total = flint.arb(0)
            for c in columns:
                total += sum((vector[b] * rates[b][c] for b in vector if c in rates[b]), flint.arb(0)) ** 2
            return total.sqrt() if total > 0 else total.abs_upper().sqrt()

        pairs = {b: (joint, b) for b in outer if (joint, b) in entries}
        data = length({b: self.data[pair] for b, pair in pairs.items()})
        grown = length({b: self.gamma[pair] * self.root[b] for b, pair in pairs.items()}) / rest
        own = (self.bodies.composite(joint).sqrt() + data) / rest
        return own / (1 - grown) if grown < 1 else flint.arb("inf")

    def close(self, joint: int) -> None:
        """The pivot of `joint` is known to be positive: its t with the pivot in it, t² ≤ (M + data)/(1 − γ)."""
        with k.precision():
            pair = (joint, joint)
            square = (self.bodies.composite(joint) + self.data[pair]) / (1 - self.gamma[pair])
            if square < 2 * self.largest:
                self.root[joint] = square.sqrt()
            else:
                self.root.pop(joint, None)

    def _norm(self, inside: list[int], rates: dict[int, dict[int, Ball]]) -> Ball:
        """Largest row sum of Cᵀ E C, a bound of its norm."""
        total: dict[int, Ball] = {}
        for i in inside:
            for b in inside:
                pair = (min(i, b), max(i, b))
                if pair in self.found.entries:
                    E = self.data[pair] + self.gamma[pair] * self.root[i] * self.root[b]
                    width = sum(rates[b].values(), flint.arb(0))
                    for c, x in rates[i].items():
                        total[c] = total.get(c, flint.arb(0)) + x * E * width
        worst = flint.arb(0)
        for value in total.values():
            worst = worst.max(value)
        return worst
