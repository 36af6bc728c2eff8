"""Take common factors out of sums: a·b + a·c becomes a·(b + c), where the products serve nothing else.

Only sums whose inner nodes are used once and carry no name of the derivation are regrouped, so what a reader looks
for stays. This is local: one sum at a time, never across operators.
"""

from __future__ import annotations

from collections import Counter

from symgen.ir import Program, Row
from symgen.passes.rewrite import Rewriter, uses

Term = tuple[int, tuple[int, ...]]
"""A signed product: (sign, rows of its factors)."""


def factor(program: Program) -> Program:
    """The same Program with fewer multiplications; see the module docstring."""
    rows, count = program.rows, uses(program)
    inner = [False] * len(rows)
    for row in rows:
        if row.op in ("add", "sub"):
            for a in row.args:
                if rows[a].op in ("add", "sub") and count[a] == 1 and not rows[a].name:
                    inner[a] = True
    out = Rewriter(program)
    for i, row in enumerate(rows):
        place = -1
        if row.op in ("add", "sub") and not inner[i]:
            terms = _terms(program, count, i, inner)
            if _shared(terms):
                place = _emit(out, [(s, tuple(out.place[f] for f in fs)) for s, fs in terms], row)
        if place < 0:
            place = out.put(row._replace(args=out.moved(row.args)))
        out.place.append(place)
    return out.finish()


def _terms(program: Program, count: list[int], root: int, inner: list[bool]) -> list[Term]:
    rows = program.rows

    def factors(r: int, top: bool) -> tuple[int, ...]:
        row = rows[r]
        if row.op == "mul" and (count[r] == 1 and not row.name):
            return factors(row.args[0], False) + factors(row.args[1], False)
        return (r,)

    found: list[Term] = []

    def walk(r: int, sign: int) -> None:
        row = rows[r]
        if r == root or inner[r]:
            walk(row.args[0], sign)
            walk(row.args[1], sign if row.op == "add" else -sign)
        else:
            found.append((sign, factors(r, True)))

    walk(root, 1)
    return found


def _shared(terms: list[Term]) -> int | None:
    """The factor that stands in most terms, the earliest row among equals; None when none stands in two."""
    tally = Counter(f for _, factors in terms if len(factors) > 1 for f in dict.fromkeys(factors))
    best = min(tally.items(), key=lambda item: (-item[1], item[0]), default=None)
    return best[0] if best and best[1] > 1 else None


def _emit(out: Rewriter, terms: list[Term], root: Row) -> int:
    """Put the rows of a sum of products, common factors first; returns the row of the sum, under the root's name."""
    sign, row = _sum(out, terms, root)
    if sign < 0:
        return out.put(Row("neg", (row,), None, root.name, root.step))
    last = out.rows[row]
    if root.name and row == len(out.rows) - 1:
        out.rows[row] = last._replace(name=root.name)
    return row


def _sum(out: Rewriter, terms: list[Term], root: Row) -> tuple[int, int]:
    common = _shared(terms)
    parts: list[tuple[int, int]] = []
    if common is not None:
        inside: list[Term] = []
        rest: list[Term] = []
        first = None
        for sign, factors in terms:
            if len(factors) > 1 and common in factors:
                left = list(factors)
                left.remove(common)
                inside.append((sign, tuple(left)))
                first = len(rest) if first is None else first
            else:
                rest.append((sign, factors))
        sign, row = _sum(out, inside, root)
        grouped = (sign, (common, row))
        rest.insert(first or 0, (sign, (out.put(Row("mul", grouped[1], None, "", root.step)),)))
        if len(rest) == 1:
            return rest[0][0], rest[0][1][0]
        return _sum(out, rest, root)
    for sign, factors in terms:
        row = factors[0]
        for other in factors[1:]:
            row = out.put(Row("mul", (row, other), None, "", root.step))
        parts.append((sign, row))
    lead = next((n for n, (sign, _) in enumerate(parts) if sign > 0), None)
    if lead is None:
        total, flip = parts[0][1], -1
        rest_parts = [(-s, r) for s, r in parts[1:]]
    else:
        total, flip = parts[lead][1], 1
        rest_parts = parts[:lead] + parts[lead + 1:]
    for sign, row in rest_parts:
        total = out.put(Row("add" if sign > 0 else "sub", (total, row), None, "", root.step))
    return flip, total
