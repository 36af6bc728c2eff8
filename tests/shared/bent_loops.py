"""Closed loops in a state that is not their reference pose."""

from __future__ import annotations

from dataclasses import replace

from symgen.ir.program import Program


def bent(made: Program, row: int) -> Program:
    """Return a Program with a sum for a difference in one row, or a difference for a sum."""
    rows = list(made.rows)
    rows[row] = rows[row]._replace(op={"add": "sub", "sub": "add"}[rows[row].op])
    return replace(made, rows=tuple(rows))
