"""Programs and angles for tests of the pass that merges equal rows."""

from __future__ import annotations

from typing import Any

from flint import arb
from hypothesis import strategies as st

from symgen.ir.program import Numbers, Port, Program, evaluate
from tests.shared.pass_programs import by_hand

EXACT_NUMBERS = Numbers(
    lambda c: arb(c.numerator) / c.denominator, arb.sin, arb.cos, arb.sqrt, arb.log
)

ANGLE = (("sin", 0), ("cos", 0), ("const", 1))
"""Rows 3, 4, 5: s, c, 1."""


@st.composite
def draw_trigonometric_program(draw: Any) -> Program:
    """Random rows over sines, cosines and few operands, so that equal and opposite values are
    frequent.
    """
    rows: list[tuple[Any, ...]] = [("sin", 0), ("cos", 0), ("const", 1), ("const", -2)]
    for i in range(draw(st.integers(4, 30))):
        last = 2 + len(rows)
        nearby = st.integers(max(0, last - 4), last) | st.integers(0, last)
        op = draw(st.sampled_from(["add", "sub", "mul", "mul", "sub", "neg", "sin", "cos"]))
        name = (f"n_{i}",) if draw(st.integers(0, 3)) == 0 else ()
        rows.append(
            (op, *(draw(nearby) for _ in range(1 if op in ("neg", "sin", "cos") else 2)), *name)
        )
    last = 2 + len(rows)
    return by_hand(
        draw(st.lists(st.integers(max(0, last - 6), last), min_size=1, max_size=4)), *rows
    )


def at_sixty_digits(derived: Program) -> list[arb]:
    all_rows = derived.with_rows(
        derived.rows, [Port("y", (len(derived.rows),), tuple(range(len(derived.rows))))]
    )
    return evaluate(all_rows, {"x": [arb(3) / 7, arb(-5) / 9, arb(11) / 13]}, EXACT_NUMBERS)["y"]
