"""Equations after the sweeps of a looped form."""

from __future__ import annotations

import sympy as sp

from symgen.inspection.sweeps import _epilogue
from symgen.ir.program import Port, Program, Row


def test_the_equations_after_the_sweeps_are_in_terms_of_the_final_values() -> None:
    """Rows without a name that are used once are substituted, others are named t1, t2, …; a name
    that occurs again is numbered, and the C's neg_w is −w.
    """
    rows = (
        Row("input", (), (0, 0)),
        Row("input", (), (0, 1)),
        Row("add", (0, 1)),  # used twice
        Row("mul", (2, 2)),  # used once
        Row("sin", (0,), None, "neg_w"),
        Row("cos", (1,), None, "neg_w"),
        Row("mul", (4, 5)),  # used twice
        Row("add", (3, 6)),
        Row("sub", (6, 4)),
    )
    ports = (Port("carries", (2,)),), (Port("x", (), (7,)), Port("y", (2,), (8, 1)))
    epilogue = Program("it", "by_hand", *ports, rows)
    a, b, t1, t2, w, w2 = (sp.Symbol(x, real=True) for x in ("a", "b", "t1", "t2", "w", "w2"))
    assert list(_epilogue(epilogue, (a, b))) == [
        ("t1", a + b),
        ("w", -sp.sin(a)),
        ("w2", -sp.cos(b)),
        ("t2", w * w2),
        ("x", t1**2 + t2),
        ("y0", t2 + w),
        ("y1", b),
    ]
