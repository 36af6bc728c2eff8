"""A Program's rows read as the reverse Gaussian elimination of the mass matrix, Saha (25)-(30); NoElimination where they are not.

The matrix is M. A joint is here an entry of v, of which a joint of the robot may have several.
From the last joint k to the first, with R for what is left of M and D_k = R_kk for its pivot,

    α_ik = R_ik/D_k,    R_ij ← R_ij − α_ik R_jk    (i ≤ j < k),

so that M = U D Uᵀ with U_ik = α_ik, U_kk = 1. An entry R_ij is thus M_ij less one product α_ik R_jk for each joint k further out.
A Program computes it as a sum in any order. The reading starts at the pivots, which are divisors, and goes inwards:

    a sum's row      → its leaves (summands of M_ij) and its products      (`_Reader.sum_at`)
    a product's row  → the rows of R_ik, of which α_ik is made, and of R_jk   (`_Reader.product_at`)

until every entry that a pivot depends on is read. Where a row stands proposes what it may be; its values at random states
decide (`samples`). Three things differ where a pivot is constant, as nothing divides by it then:

    multiples        R_ik may be made of α_ik, with as many roundings, where α_ik was there before, a cosine, say;
    exact entries    R_ik and D_k are constants, and the product has a constant for α_ik;
    merged joints    no sum has products over joint k, since they are part of the leaves. What is eliminated is then M less
                     these products, which must be so in every entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from symgen.certificate.recognition import Recognition
from symgen.certificate.samples import Pair, Values


class NoElimination(Exception):
    """The rows are not an elimination of the mass matrix; the text says where."""


@dataclass(frozen=True)
class Product:
    """A summand −α_ak R_bk, k = `over`: `factor` is (a, k) and `entry` (b, k), each with the row of that R, signs aside.

    `factor_row` is None where α_ak is a constant.
    """

    over: int
    factor: Pair
    factor_row: int | None
    entry: Pair
    entry_row: int


@dataclass(frozen=True)
class Sum:
    """How an entry is computed: `leaves` are rows without a product in them. `depth` additions at most act on a summand,
    `operations` of the sum have a product in them, the products themselves included."""

    leaves: tuple[int, ...] = ()
    products: tuple[Product, ...] = ()
    depth: int = 0
    operations: int = 0

    @property
    def over(self) -> frozenset[int]:
        return frozenset(product.over for product in self.products)


@dataclass(frozen=True)
class Elimination:
    """The elimination that a Program carries out: `sums[i, k]`, i ≤ k, of every entry that a pivot depends on.

    `pivots` are the rows that are divided by, by joint. `place` has the row of each entry that has one, signs aside. `exact`
    entries are constants. `merged` joints have no entries. An entry that is absent is zero, or belongs to a merged joint.
    """

    pivots: Mapping[int, int]
    sums: Mapping[Pair, Sum]
    place: Mapping[Pair, int]
    exact: frozenset[Pair]
    merged: frozenset[int]

    @property
    def joints(self) -> frozenset[int]:
        """Those whose pivots have an entry."""
        return _joints(self.sums)


def read_elimination(recognised: Recognition) -> Elimination:
    """The elimination behind the divisors of a Program. Raises NoElimination where the rows are something else."""
    reader = _Reader(recognised)
    place, sums = _all_sums(reader)
    kept = _joints(sums) | {product.over for one in sums.values() for product in one.products}
    exact, merged = _constants(reader, sums, kept)
    for pair in exact & set(place):
        if reader.rows[place[pair]].op != "const":
            raise NoElimination(f"entry {_text(pair)} of the elimination is computed twice")
    found = Elimination(
        reader.pivots, {**sums, **dict.fromkeys(exact, Sum())}, place, exact, merged
    )
    _check_merged(reader, found)
    _check_absent(reader, found)
    return found


class _Reader:
    """Takes one row at a time apart. It keeps no account of what was read."""

    def __init__(self, recognised: Recognition) -> None:
        self.rows, self.samples = recognised.rows, recognised.samples
        self.reduced, self.factors = (
            self.samples.elimination.reduced,
            self.samples.elimination.factors,
        )
        self.pivots = {
            joint: row for row, joint in recognised.divisors.items() if joint is not None
        }

    # -- what rows are ---------------------------------------------------------------------------------------------------

    def bare(self, row: int) -> int:
        """The row behind any negations."""
        while self.rows[row].op == "neg":
            row = self.rows[row].args[0]
        return row

    def sign(self, row: int, values: Values) -> int:
        """1 or −1 where a row is these values or their negative, else 0."""
        return self.samples.same(self.samples.rows[row], values)

    def is_constant(self, pair: Pair) -> bool:
        """Whether R_ik is a constant in a column that is not divided by its pivot."""
        return pair[1] not in self.pivots and self.samples.constant(self.reduced[pair])

    def further_out(self, pair: Pair) -> range:
        """The joints whose products an entry may have."""
        return range(pair[1] + 1, len(self.samples.joints))

    def product_values(self, pair: Pair, k: int) -> Values | None:
        """α_ik R_jk at the states, for the entry (i, j); None where it vanishes."""
        i, j = pair
        if (i, k) not in self.factors or (j, k) not in self.factors:
            return None
        found = self.samples.product(self.factors[i, k], self.reduced[j, k])
        return None if self.samples.is_zero(found) else found

    def left_out(self, pair: Pair, one: Sum) -> Iterator[int]:
        """The joints whose products do not vanish and do not stand in the sum."""
        return (
            k
            for k in self.further_out(pair)
            if k not in one.over and self.product_values(pair, k) is not None
        )

    # -- taking a row apart ----------------------------------------------------------------------------------------------

    def sum_at(self, pair: Pair, row: int, sign: int, depth: int = 0) -> Sum:
        """The summands at `row`, itself a summand of `sign` times the entry, `depth` additions below it.

        It is taken apart as far as there are products in it; what has none is one leaf.
        """
        here = self.rows[row]
        if here.op == "neg":
            return self.sum_at(pair, here.args[0], -sign, depth)
        if here.op in ("add", "sub"):
            first, second = here.args
            parts = (
                self.sum_at(pair, first, sign, depth + 1),
                self.sum_at(pair, second, sign if here.op == "add" else -sign, depth + 1),
            )
            if any(part.products for part in parts):
                return _together(parts)
        product = self.product_at(pair, row, sign) if here.op == "mul" else None
        return Sum((row,), (), depth) if product is None else Sum((), (product,), depth, 1)

    def product_at(self, pair: Pair, row: int, sign: int) -> Product | None:
        """The product −α_ak R_bk, {a, b} = `pair`, that a row is; None for a row that is none.

        The row must have its value, one operand that of R_bk, and the other must be α_ak by value and by how it is made.
        """
        for k in self.further_out(pair):
            values = self.product_values(pair, k)
            if values is not None and self.sign(row, values) == -sign:
                product = next(self._products(pair, k, self.rows[row].args), None)
                if product is not None:
                    if k not in self.pivots and not self.is_constant((k, k)):
                        raise NoElimination(f"pivot {k + 1} is neither divided by nor a constant")
                    return product
        return None

    def _products(self, pair: Pair, k: int, args: tuple[int, ...]) -> Iterator[Product]:
        """The ways to read two operands as α_ak and R_bk: M is symmetric, and so is a product."""
        for left, right in (args, args[::-1]):
            for a, b in (pair, pair[::-1]):
                factor, entry = self.bare(left), self.bare(right)
                if self.sign(factor, self.factors[a, k]) and self.sign(entry, self.reduced[b, k]):
                    numerator = self._numerator(factor, (a, k))
                    if numerator is not None or (
                        self.rows[factor].op == "const" and self.is_constant((a, k))
                    ):
                        yield Product(k, (a, k), numerator, (b, k), entry)

    def _numerator(self, factor: int, pair: Pair) -> int | None:
        """The row of R_ik that α_ik is made of, or that is made of α_ik by a constant D_k; None where it is made otherwise."""
        of = chain(
            self._scaled(factor, pair[1]),
            self._multiples.get(factor, ()) if pair[1] not in self.pivots else (),
        )
        return next((self.bare(one) for one in of if self.sign(one, self.reduced[pair])), None)

    @cached_property
    def _multiples(self) -> dict[int, list[int]]:
        """The rows that are a constant times another row, by that row."""
        found: dict[int, list[int]] = {}
        for i, row in enumerate(self.rows):
            if row.op == "mul":
                for a, b in (row.args, row.args[::-1]):
                    if self.rows[b].op == "const":
                        found.setdefault(a, []).append(i)
        return found

    def _scaled(self, factor: int, k: int) -> Iterator[int]:
        """x, where a row is x/D_k or x·(1/D_k) by the pivot's own row; where D_k is a constant, x·constant, or x for D_k = 1."""
        row, pivot = self.rows[factor], self.pivots.get(k)
        if row.op == "div" and row.args[1] == pivot:
            yield row.args[0]
        if row.op == "mul":
            yield from (
                one for one, other in (row.args, row.args[::-1]) if self._scales(other, pivot)
            )
        if pivot is None:
            yield factor

    def _scales(self, row: int, pivot: int | None) -> bool:
        """Whether a row is ±1/pivot, or a constant where there is no row of the pivot."""
        here = self.rows[row]
        if pivot is None:
            return here.op == "const"
        return here.op == "div" and here.args[1] == pivot and self._is_one(here.args[0])

    def _is_one(self, row: int) -> bool:
        return self.rows[row].op == "const" and abs(self.rows[row].value) == 1


def _together(parts: Iterable[Sum]) -> Sum:
    """The sum of sums, with one operation more."""
    parts = list(parts)
    return Sum(
        tuple(chain.from_iterable(part.leaves for part in parts)),
        tuple(chain.from_iterable(part.products for part in parts)),
        max(part.depth for part in parts),
        1 + sum(part.operations for part in parts),
    )


def _all_sums(reader: _Reader) -> tuple[dict[Pair, int], dict[Pair, Sum]]:
    """(row, sum) of every entry that a pivot depends on. Multipliers and products of an entry must be made of one row."""
    place: dict[Pair, int] = {}
    sums: dict[Pair, Sum] = {}
    wanted = [((joint, joint), row) for joint, row in reader.pivots.items()]
    while wanted:
        pair, signed = wanted.pop()
        row = reader.bare(signed)
        if place.setdefault(pair, row) != row:
            raise NoElimination(f"entry {_text(pair)} of the elimination is computed twice")
        if pair not in sums:
            sums[pair] = one = reader.sum_at(pair, row, reader.sign(row, reader.reduced[pair]))
            if len(one.over) < len(one.products):
                raise NoElimination(f"entry {_text(pair)} has a product twice")
            wanted += [(product.entry, product.entry_row) for product in one.products]
            wanted += [
                (product.factor, product.factor_row)
                for product in one.products
                if product.factor_row is not None
            ]
    return place, sums


def _constants(
    reader: _Reader, sums: Mapping[Pair, Sum], kept: frozenset[int]
) -> tuple[frozenset[Pair], frozenset[int]]:
    """(exact entries, merged joints).

    Products say which entries they take for constants. Of a joint that is kept in some sums and left out of another, both
    operands there must be constants too: their product is one, and part of a leaf.
    """
    products = [product for one in sums.values() for product in one.products]
    exact = {product.factor for product in products if product.factor_row is None}
    exact |= {
        (product.over, product.over) for product in products if product.over not in reader.pivots
    }
    partly: set[Pair] = set()
    merged: set[int] = set()
    for pair, one in {**sums, **dict.fromkeys(exact, Sum())}.items():
        for k in reader.left_out(pair, one):
            if k in reader.pivots:
                raise NoElimination("the rows do not eliminate the matrix entry by entry")
            if k not in kept:
                merged.add(k)
            elif all(reader.is_constant((i, k)) for i in pair):
                partly |= {(i, k) for i in pair}
            else:
                raise NoElimination(
                    f"products of the elimination are merged with entry {_text(pair)} only in part"
                )
    return frozenset(exact | partly), frozenset(merged)


def _check_merged(reader: _Reader, found: Elimination) -> None:
    """Merged joints are so in every entry, and come before all others that they are coupled with."""
    if any(found.merged & set(pair) for pair in found.sums):
        raise NoElimination("a constant pivot is merged only in part")
    for (i, k), values in reader.reduced.items():
        if i in found.merged and k not in found.merged and not reader.samples.is_zero(values):
            raise NoElimination(f"pivot {i + 1} is merged before pivot {k + 1}")


def _check_absent(reader: _Reader, found: Elimination) -> None:
    """An entry that is absent, or exact, has no product that is computed."""
    for pair in reader.reduced:
        if pair not in found.sums or pair in found.exact:
            for k in reader.further_out(pair):
                both = {(i, k) for i in pair}
                if both <= set(found.sums) and not both <= found.exact:
                    raise NoElimination(f"entry {_text(pair)} is left out although it has products")


def _joints(entries: Iterable[Pair]) -> frozenset[int]:
    return frozenset(i for i, k in entries if i == k)


def _text(pair: Pair) -> str:
    return f"({pair[0] + 1},{pair[1] + 1})"
