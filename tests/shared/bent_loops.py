"""Closed loops in a state that is not their reference pose."""

from __future__ import annotations

from dataclasses import replace

from symgen.ir.program import Program


def bent(program: Program, row: int) -> Program:
    """Return a Program with a sum for a difference in one row, or a difference for a sum."""
    rows = list(program.rows)
    rows[row] = rows[row]._replace(op={"add": "sub", "sub": "add"}[rows[row].op])
    return replace(program, rows=tuple(rows))
