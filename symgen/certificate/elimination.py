"""Reading of a Program's rows as the reverse Gaussian elimination of the mass matrix, Saha
(25)-(30).

The matrix is M. In this file "joint" means one entry of v. From the last joint k to the first, with
R for the remaining matrix and D_k = R_kk for its pivot,

    α_ik = R_ik/D_k,    R_ij ← R_ij − α_ik R_jk    (i ≤ j < k),

so that M = U D Uᵀ with U_ik = α_ik, U_kk = 1. So an entry R_ij is M_ij less one product α_ik R_jk
for each joint k further out. A Program computes it as a sum in any order. The reader starts at the
pivots, which are divisors, and goes inward:

    a sum's row      → its leaves (summands of M_ij) and its products      (`_Reader.sum_at`)
    a product's row  → the rows of R_ik, of which α_ik is made, and of R_jk   (`_Reader.product_at`)

until every entry that a pivot depends on is read. A row's position suggests its role; its values at
random states confirm it (`samples`). With a constant pivot three things differ, since nothing is
divided by it:

    multiples        R_ik may be computed from α_ik, with as many roundings, if α_ik exists already,
                     such as a cosine;
    exact entries    R_ik and D_k are constants, and the product has a constant for α_ik;
    merged joints    no sum has products over joint k, since they are part of the leaves. The
                     eliminated matrix is then M less these products, which must hold in every
                     entry.

Raises NoElimination if the rows are no elimination.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from symgen.certificate.recognition import Recognition
from symgen.certificate.samples import Pair, Values


class NoElimination(Exception):
    """The rows are not an elimination of the mass matrix; the message says where."""


@dataclass(frozen=True)
class Product:
    """A summand −α_ak R_bk, k = `over`: `factor` is (a, k) and `entry` (b, k), each with the row of
    that R, up to sign.

    `factor_row` is None if α_ak is a constant.
    """

    over: int
    factor: Pair
    factor_row: int | None
    entry: Pair
    entry_row: int


@dataclass(frozen=True)
class Sum:
    """Sum that computes an entry.

    `leaves` are rows without a product in them. Each summand goes through at most `depth`
    additions. `operations` is the number of operations with a product in them, products included.
    """

    leaves: tuple[int, ...] = ()
    products: tuple[Product, ...] = ()
    depth: int = 0
    operations: int = 0

    @property
    def over(self) -> frozenset[int]:
        return frozenset(product.over for product in self.products)


@dataclass(frozen=True)
class Elimination:
    """Elimination that a Program carries out: `sums[i, k]`, i ≤ k, of every entry that a pivot
    depends on.

    `pivots` are the rows of the divisors, by joint. `rows` has the row of each entry that has one,
    up to sign. `exact` entries are constants. `merged` joints have no entries. An absent entry is
    zero, or belongs to a merged joint.
    """

    pivots: Mapping[int, int]
    sums: Mapping[Pair, Sum]
    rows: Mapping[Pair, int]
    exact: frozenset[Pair]
    merged: frozenset[int]

    @property
    def joints(self) -> frozenset[int]:
        """The joints whose pivots have an entry."""
        return _joints(self.sums)


def read_elimination(recognised: Recognition) -> Elimination:
    """Return the elimination behind the divisors of a Program. Raises NoElimination if the rows are
    something else.
    """
    reader = _Reader(recognised)
    entry_rows, sums = _all_sums(reader)
    kept_joints = _joints(sums) | {
        product.over for entry_sum in sums.values() for product in entry_sum.products
    }
    exact, merged = _constants(reader, sums, kept_joints)
    for pair in exact & set(entry_rows):
        if reader.rows[entry_rows[pair]].op != "const":
            raise NoElimination(f"entry {_text(pair)} of the elimination is computed twice")
    elimination = Elimination(
        reader.pivots, {**sums, **dict.fromkeys(exact, Sum())}, entry_rows, exact, merged
    )
    _check_merged(reader, elimination)
    _check_absent(reader, elimination)
    return elimination


class _Reader:
    """Analysis of single rows, without memory of what was read."""

    def __init__(self, recognised: Recognition) -> None:
        self.rows, self.samples = recognised.rows, recognised.samples
        self.reduced, self.factors = (
            self.samples.elimination.reduced,
            self.samples.elimination.factors,
        )
        self.pivots = {
            joint: row for row, joint in recognised.divisors.items() if joint is not None
        }

    # -- meaning of rows ---------------------------------------------------------------------------

    def without_negation(self, row: int) -> int:
        """Return the row behind any negations."""
        while self.rows[row].op == "neg":
            row = self.rows[row].args[0]
        return row

    def sign(self, row: int, values: Values) -> int:
        """Return 1 or −1 if a row equals these values or their negative, else 0."""
        return self.samples.same(self.samples.rows[row], values)

    def is_constant(self, pair: Pair) -> bool:
        """True if R_ik is a constant in a column that is not divided by its pivot."""
        return pair[1] not in self.pivots and self.samples.constant(self.reduced[pair])

    def further_out(self, pair: Pair) -> range:
        """Return the joints whose products an entry may have."""
        return range(pair[1] + 1, len(self.samples.joints))

    def product_values(self, pair: Pair, k: int) -> Values | None:
        """Return α_ik R_jk at the states, for the entry (i, j); None if it vanishes."""
        i, j = pair
        if (i, k) not in self.factors or (j, k) not in self.factors:
            return None
        values = self.samples.product(self.factors[i, k], self.reduced[j, k])
        return None if self.samples.is_zero(values) else values

    def missing_products(self, pair: Pair, entry_sum: Sum) -> Iterator[int]:
        """Return the joints whose products do not vanish but are missing in the sum."""
        return (
            k
            for k in self.further_out(pair)
            if k not in entry_sum.over and self.product_values(pair, k) is not None
        )

    # -- taking a row apart ------------------------------------------------------------------------

    def sum_at(self, pair: Pair, row: int, sign: int, depth: int = 0) -> Sum:
        """Return the summands at `row`, which is itself a summand of `sign` times the entry,
        `depth` additions below it.

        The row is expanded as far as it contains products; a part without products is one leaf.
        """
        current = self.rows[row]
        if current.op == "neg":
            return self.sum_at(pair, current.args[0], -sign, depth)
        if current.op in ("add", "sub"):
            first, second = current.args
            operand_sums = (
                self.sum_at(pair, first, sign, depth + 1),
                self.sum_at(pair, second, sign if current.op == "add" else -sign, depth + 1),
            )
            if any(operand.products for operand in operand_sums):
                return _combine(operand_sums)
        product = self.product_at(pair, row, sign) if current.op == "mul" else None
        return Sum((row,), (), depth) if product is None else Sum((), (product,), depth, 1)

    def product_at(self, pair: Pair, row: int, sign: int) -> Product | None:
        """Return the product −α_ak R_bk, {a, b} = `pair`, that a row computes, or None.

        The row must have its value, one operand that of R_bk, and the other operand must be α_ak by
        value and by its operation.
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
        """Yield the readings of two operands as α_ak and R_bk: M is symmetric, and a product
        commutes.
        """
        for left, right in (args, args[::-1]):
            for a, b in (pair, pair[::-1]):
                factor, entry = self.without_negation(left), self.without_negation(right)
                if self.sign(factor, self.factors[a, k]) and self.sign(entry, self.reduced[b, k]):
                    numerator = self._numerator(factor, (a, k))
                    if numerator is not None or (
                        self.rows[factor].op == "const" and self.is_constant((a, k))
                    ):
                        yield Product(k, (a, k), numerator, (b, k), entry)

    def _numerator(self, factor: int, pair: Pair) -> int | None:
        """Return the row of R_ik from which α_ik is computed, or that is computed from α_ik by a
        constant D_k; else None.
        """
        candidates = chain(
            self._scaled(factor, pair[1]),
            self._multiples.get(factor, ()) if pair[1] not in self.pivots else (),
        )
        return next(
            (
                self.without_negation(candidate)
                for candidate in candidates
                if self.sign(candidate, self.reduced[pair])
            ),
            None,
        )

    @cached_property
    def _multiples(self) -> dict[int, list[int]]:
        """The rows that are a constant times another row, by that row."""
        multiples: dict[int, list[int]] = {}
        for i, row in enumerate(self.rows):
            if row.op == "mul":
                for a, b in (row.args, row.args[::-1]):
                    if self.rows[b].op == "const":
                        multiples.setdefault(a, []).append(i)
        return multiples

    def _scaled(self, factor: int, k: int) -> Iterator[int]:
        """Yield x if a row is x/D_k or x·(1/D_k) by the pivot's own row; for a constant D_k, x of
        x·constant, or the row itself.
        """
        row, pivot = self.rows[factor], self.pivots.get(k)
        if row.op == "div" and row.args[1] == pivot:
            yield row.args[0]
        if row.op == "mul":
            yield from (
                x for x, factor in (row.args, row.args[::-1]) if self._scales(factor, pivot)
            )
        if pivot is None:
            yield factor

    def _scales(self, row: int, pivot: int | None) -> bool:
        """True if a row is ±1/pivot, or a constant if the pivot has no row."""
        current = self.rows[row]
        if pivot is None:
            return current.op == "const"
        return current.op == "div" and current.args[1] == pivot and self._is_one(current.args[0])

    def _is_one(self, row: int) -> bool:
        return self.rows[row].op == "const" and abs(self.rows[row].value) == 1


def _combine(operands: Iterable[Sum]) -> Sum:
    """Return the sum of sums, with one operation more."""
    operands = list(operands)
    return Sum(
        tuple(chain.from_iterable(operand.leaves for operand in operands)),
        tuple(chain.from_iterable(operand.products for operand in operands)),
        max(operand.depth for operand in operands),
        1 + sum(operand.operations for operand in operands),
    )


def _all_sums(reader: _Reader) -> tuple[dict[Pair, int], dict[Pair, Sum]]:
    """Return (row, sum) of every entry that a pivot depends on. Multipliers and products of an
    entry must use the same row.
    """
    entry_rows: dict[Pair, int] = {}
    sums: dict[Pair, Sum] = {}
    pending = [((joint, joint), row) for joint, row in reader.pivots.items()]
    while pending:
        pair, signed = pending.pop()
        row = reader.without_negation(signed)
        if entry_rows.setdefault(pair, row) != row:
            raise NoElimination(f"entry {_text(pair)} of the elimination is computed twice")
        if pair not in sums:
            sums[pair] = entry_sum = reader.sum_at(
                pair, row, reader.sign(row, reader.reduced[pair])
            )
            if len(entry_sum.over) < len(entry_sum.products):
                raise NoElimination(f"entry {_text(pair)} has a product twice")
            pending += [(product.entry, product.entry_row) for product in entry_sum.products]
            pending += [
                (product.factor, product.factor_row)
                for product in entry_sum.products
                if product.factor_row is not None
            ]
    return entry_rows, sums


def _constants(
    reader: _Reader, sums: Mapping[Pair, Sum], kept_joints: frozenset[int]
) -> tuple[frozenset[Pair], frozenset[int]]:
    """Return (exact entries, merged joints).

    Products determine which entries they take for constants. If a joint is kept in some sums and
    missing in another, both operands there must be constants too: their product is a constant, and
    part of a leaf.
    """
    products = [product for entry_sum in sums.values() for product in entry_sum.products]
    exact = {product.factor for product in products if product.factor_row is None}
    exact |= {
        (product.over, product.over) for product in products if product.over not in reader.pivots
    }
    partly_exact: set[Pair] = set()
    merged: set[int] = set()
    for pair, entry_sum in {**sums, **dict.fromkeys(exact, Sum())}.items():
        for k in reader.missing_products(pair, entry_sum):
            if k in reader.pivots:
                raise NoElimination("the rows do not eliminate the matrix entry by entry")
            if k not in kept_joints:
                merged.add(k)
            elif all(reader.is_constant((i, k)) for i in pair):
                partly_exact |= {(i, k) for i in pair}
            else:
                raise NoElimination(
                    f"products of the elimination are merged with entry {_text(pair)} only in part"
                )
    return frozenset(exact | partly_exact), frozenset(merged)


def _check_merged(reader: _Reader, elimination: Elimination) -> None:
    """Check that merged joints are merged in every entry, and come before all others that they are
    coupled with.
    """
    if any(elimination.merged & set(pair) for pair in elimination.sums):
        raise NoElimination("a constant pivot is merged only in part")
    for (i, k), values in reader.reduced.items():
        if (
            i in elimination.merged
            and k not in elimination.merged
            and not reader.samples.is_zero(values)
        ):
            raise NoElimination(f"pivot {i + 1} is merged before pivot {k + 1}")


def _check_absent(reader: _Reader, elimination: Elimination) -> None:
    """Check that an absent or exact entry has no product that is computed."""
    for pair in reader.reduced:
        if pair not in elimination.sums or pair in elimination.exact:
            for k in reader.further_out(pair):
                operands = {(i, k) for i in pair}
                if operands <= set(elimination.sums) and not operands <= elimination.exact:
                    raise NoElimination(f"entry {_text(pair)} is left out although it has products")


def _joints(entries: Iterable[Pair]) -> frozenset[int]:
    return frozenset(i for i, k in entries if i == k)


def _text(pair: Pair) -> str:
    return f"({pair[0] + 1},{pair[1] + 1})"
