"""Combine constants: a + (b + x) becomes (a + b) + x and a·(b·x) becomes (a·b)·x, if nothing else
uses the inner row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from symgen.ir.passes.rewrite import Rewriter, leaves, uses
from symgen.ir.program import Program, Row

SUMS = ("add", "sub")
KINDS = {"add": SUMS, "sub": SUMS, "mul": ("mul",)}
"""Operations whose operands can be combined with those of an operation."""


def reassociate_constants(program: Program) -> Program:
    """Return the Program with at most one constant in each sum and each product of unshared,
    unnamed rows.
    """
    rows, count = program.rows, uses(program)

    def inside(r: int) -> bool:
        return count[r] == 1 and not rows[r].name

    leaves_of = _with_several_constants(rows, inside)
    if not leaves_of:
        return program
    out = Rewriter(program, min(leaves_of))
    new_index, keep = out.new_index, out.keep
    for i in range(len(new_index), len(rows)):
        row = rows[i]
        if i not in leaves_of:
            new_index.append(keep(row))
            continue
        constants = [(s, rows[r].value) for s, r in leaves_of[i] if rows[r].op == "const"]
        variables = [(s, new_index[r]) for s, r in leaves_of[i] if rows[r].op != "const"]
        combine = _product if row[0] == "mul" else _sum
        new_index.append(combine(out, constants, variables, row))
    return out.finish()


def _with_several_constants(
    rows: Sequence[Row], inside: Callable[[int], bool]
) -> dict[int, list[tuple[int, int]]]:
    """Return the leaves of each sum or product with more than one constant among them, by row."""
    constants = [0] * len(rows)
    leaves_of: dict[int, list[tuple[int, int]]] = {}
    for i, row in enumerate(rows):
        ops = KINDS.get(row[0])
        if ops is None:
            continue
        for a in row[1]:
            below = rows[a]
            if below[0] == "const":
                constants[i] += 1
            elif below[0] in ops and inside(a):
                constants[i] += constants[a]
        if constants[i] > 1:
            leaves_of[i] = leaves(rows, i, ops, inside)
    return leaves_of


def _product(
    out: Rewriter,
    constants: list[tuple[int, Fraction]],
    other_factors: list[tuple[int, int]],
    root: Row,
) -> int:
    value = Fraction(1)
    for _, c in constants:
        value *= c
    total = out.put(Row("const", (), value))
    for _, r in other_factors:
        total = out.put(Row("mul", (total, r), None, "", root.step))
    return _named(out, total, root)


def _sum(
    out: Rewriter,
    constants: list[tuple[int, Fraction]],
    other_terms: list[tuple[int, int]],
    root: Row,
) -> int:
    total = out.put(Row("const", (), sum((s * c for s, c in constants), Fraction(0))))
    for sign, r in other_terms:
        total = out.put(Row("add" if sign > 0 else "sub", (total, r), None, "", root.step))
    return _named(out, total, root)


def _named(out: Rewriter, row: int, root: Row) -> int:
    if out.rows[row].op != "const":
        out.rows[row] = out.rows[row]._replace(name=root.name)
    return row
