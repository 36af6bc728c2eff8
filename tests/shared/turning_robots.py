"""Robots whose joints turn freely, and errors planted in `integrate`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from symgen.ir.program import Program, check
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import arb
from tests.shared.robots_for_tests import of_kind, random_mechanism

BALLS = arb(80)

TURNING = [kind for kind in kinds() if joint_type(kind).along is not None]


@cache
def tree_of(*of: str) -> Mechanism:
    """A tree of joints of these types."""
    tree = random_mechanism(len(of), seed=3, kind="tree")
    return replace(
        tree,
        name="_".join(of),
        joints=tuple(of_kind(j, kind) for j, kind in zip(tree.joints, of, strict=True)),
    )


ALL = tuple(kinds())


def planted(program: Program, index: int, **changes: Any) -> Program:
    rows = list(program.rows)
    rows[index] = rows[index]._replace(**changes)
    return check(replace(program, rows=tuple(rows)))
