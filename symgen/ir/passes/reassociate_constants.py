"""Gather constants: a + (b + x) becomes (a + b) + x and a·(b·x) becomes (a·b)·x, where the inner row serves nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from symgen.ir.passes.rewrite import Rewriter, leaves, uses
from symgen.ir.program import Program, Row

SUMS = ("add", "sub")
KINDS = {"add": SUMS, "sub": SUMS, "mul": ("mul",)}
"""What an operation may be gathered with."""


def reassociate_constants(program: Program) -> Program:
    """The same Program with at most one constant in each sum and each product of unshared, unnamed rows."""
    rows, count = program.rows, uses(program)

    def inside(r: int) -> bool:
        return count[r] == 1 and not rows[r].name

    several = _with_several_constants(rows, inside)
    if not several:
        return program
    out = Rewriter(program, min(several))
    place, keep = out.place, out.keep
    for i in range(len(place), len(rows)):
        row = rows[i]
        if i not in several:
            place.append(keep(row))
            continue
        constants = [(s, rows[r].value) for s, r in several[i] if rows[r].op == "const"]
        rest = [(s, place[r]) for s, r in several[i] if rows[r].op != "const"]
        put = _product if row[0] == "mul" else _sum
        place.append(put(out, constants, rest, row))
    return out.finish()


def _with_several_constants(
    rows: Sequence[Row], inside: Callable[[int], bool]
) -> dict[int, list[tuple[int, int]]]:
    """Leaves of each sum or product that has more than one constant among them, by its row."""
    constants = [0] * len(rows)
    several: dict[int, list[tuple[int, int]]] = {}
    for i, row in enumerate(rows):
        ops = KINDS.get(row[0])
        if ops is None:
            continue
        for a in row[1]:
            below = rows[a]
            if below[0] == "const":
                constants[i] += 1
            elif constants[a] and below[0] in ops and inside(a):
                constants[i] += constants[a]
        if constants[i] > 1:
            several[i] = leaves(rows, i, ops, inside)
    return several


def _product(
    out: Rewriter, constants: list[tuple[int, Fraction]], rest: list[tuple[int, int]], root: Row
) -> int:
    value = Fraction(1)
    for _, c in constants:
        value *= c
    total = out.put(Row("const", (), value))
    for _, r in rest:
        total = out.put(Row("mul", (total, r), None, "", root.step))
    return _named(out, total, root)


def _sum(
    out: Rewriter, constants: list[tuple[int, Fraction]], rest: list[tuple[int, int]], root: Row
) -> int:
    total = out.put(Row("const", (), sum((s * c for s, c in constants), Fraction(0))))
    for sign, r in rest:
        total = out.put(Row("add" if sign > 0 else "sub", (total, r), None, "", root.step))
    return _named(out, total, root)


def _named(out: Rewriter, row: int, root: Row) -> int:
    if out.rows[row].op != "const":
        out.rows[row] = out.rows[row]._replace(name=root.name)
    return row
