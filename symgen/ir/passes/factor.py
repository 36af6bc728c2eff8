"""Take common factors out of sums: a·b + a·c becomes a·(b + c), if nothing else uses the products.

Only sums whose inner nodes are used once and have no name are regrouped, so that named values stay.
This is local: one sum at a time, never across operators.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.ir.passes.rewrite import Rewriter, leaves, uses
from symgen.ir.program import Program, Row

SUMS = ("add", "sub")
Term = tuple[int, tuple[int, ...]]
"""A signed product: (sign, rows of its factors)."""


def factor(program: Program) -> Program:
    """Return the Program with fewer multiplications; see the module docstring."""
    rows = program.rows
    sums = _with_common_factors(program)
    if not sums:
        return program
    out = Rewriter(program, min(sums))
    new_index, keep = out.new_index, out.keep
    for i in range(len(new_index), len(rows)):
        new_index.append(
            _emit(out, [(s, tuple([new_index[f] for f in fs])) for s, fs in sums[i]], rows[i])
            if i in sums
            else keep(rows[i])
        )
    return out.finish()


def _with_common_factors(program: Program) -> dict[int, list[Term]]:
    """Return the terms of each sum in which two or more terms have a common factor, by its row."""
    rows, count = program.rows, uses(program)
    inner = _inner_sums(rows, count)
    sums: dict[int, list[Term]] = {}
    for i, row in enumerate(rows):
        if row[0] in SUMS and not inner[i]:
            a, b = row[1]
            if not (inner[a] or inner[b] or rows[a][0] == rows[b][0] == "mul"):
                continue  # two terms, of which one is no product: as most sums are
            terms = _terms(program, count, i, inner)
            if _shared(terms) is not None:
                sums[i] = terms
    return sums


def _inner_sums(rows: Sequence[Row], count: list[int]) -> list[bool]:
    """True for each unnamed sum that one other sum alone uses."""
    inner = [False] * len(rows)
    for row in rows:
        if row[0] in SUMS:
            for a in row[1]:
                below = rows[a]
                if count[a] == 1 and below[0] in SUMS and not below[3]:
                    inner[a] = True
    return inner


def _terms(program: Program, count: list[int], root: int, inner: list[bool]) -> list[Term]:
    """Return the signed products that a sum adds up; a product is split if nothing else uses its
    inner rows.
    """
    rows = program.rows

    def single(r: int) -> bool:
        return count[r] == 1 and not rows[r][3]

    def factors(r: int) -> tuple[int, ...]:
        if rows[r][0] != "mul" or not single(r):
            return (r,)
        return tuple([f for _, f in leaves(rows, r, ("mul",), single)])

    return [(sign, factors(r)) for sign, r in leaves(rows, root, SUMS, inner.__getitem__)]


def _shared(terms: list[Term]) -> int | None:
    """Return the factor that occurs in most terms, the earliest row among equals; None if none
    occurs in two.
    """
    tally: dict[int, int] = {}
    for _, factors in terms:
        if len(factors) > 1:
            for f in set(factors):
                tally[f] = tally.get(f, 0) + 1
    most = max(tally.values(), default=0)
    return min(f for f in tally if tally[f] == most) if most > 1 else None


def _emit(out: Rewriter, terms: list[Term], root: Row) -> int:
    """Put the rows of a sum of products, common factors first; return the row of the sum, which has
    the root's name.

    The first term of a sum has a plus, so that the sign of the whole is a plus.
    """
    _, row = _sum(out, terms, root)
    out.rows[row] = out.rows[row]._replace(name=root.name)
    return row


def _sum(out: Rewriter, terms: list[Term], root: Row) -> tuple[int, int]:
    """Return (sign, row) of a sum of products; common factors are taken out until none is left."""
    while (common := _shared(terms)) is not None:
        taken = [len(factors) > 1 and common in factors for _, factors in terms]
        inside = [
            (sign, _without(common, factors))
            for (sign, factors), is_taken in zip(terms, taken, strict=True)
            if is_taken
        ]
        terms = [term for term, is_taken in zip(terms, taken, strict=True) if not is_taken]
        sign, row = _sum(out, inside, root)
        product = out.put(Row("mul", (common, row), None, "", root.step))
        terms.insert(taken.index(True), (sign, (product,)))
    signed_rows: list[tuple[int, int]] = []
    for sign, factors in terms:
        row = factors[0]
        for factor in factors[1:]:
            row = out.put(Row("mul", (row, factor), None, "", root.step))
        signed_rows.append((sign, row))
    leading = next((n for n, (sign, _) in enumerate(signed_rows) if sign > 0), None)
    flip = 1
    if leading is None:
        leading, flip, signed_rows = 0, -1, [(-sign, row) for sign, row in signed_rows]
    total = signed_rows[leading][1]
    for sign, row in signed_rows[:leading] + signed_rows[leading + 1 :]:
        total = out.put(Row("add" if sign > 0 else "sub", (total, row), None, "", root.step))
    return flip, total


def _without(factor: int, factors: tuple[int, ...]) -> tuple[int, ...]:
    """Return the factors without one that is equal to `factor`."""
    position = factors.index(factor)
    return factors[:position] + factors[position + 1 :]
