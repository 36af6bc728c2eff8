"""Operators of the five papers on a robot, over any numbers, and their equations.

    o = symgen.papers.operators("scara", "rk")
    o.phi, o.psi, o.innovations            # whole operators, `symgen.papers.blocks.Matrix`
    o.mass_matrix == o.innovations @ o.D @ o.innovations.T

`rk` Rodriguez & Kreutz, `sa` Saha, `lc` Lee & Chirikjian, `wc` Wang & Chirikjian, `ff` Fijany &
Featherstone. Each module has `Operators`, its `EQUATIONS` and its `LETTERS`. `CONVENTIONS` and
`NOTATION` explain the equations to a reader of a derived paper.

`chain` reads the numbers of a robot at a state: exact rationals, balls, or rational functions.
Nothing here is shared with the methods of `symgen.methods`, which derive programs. `identities`
checks all equations on a robot, and programs against the operators.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from symgen.description.loading import load
from symgen.mechanism.mechanism import Mechanism
from symgen.papers.chain import State, chain
from symgen.papers.identities import paper, prove_identities, without_drives

__all__ = ["chain", "operators", "paper", "prove_identities"]


def operators(
    robot: Mechanism | str | PathLike[str], name: str = "rk", state: State | None = None
) -> Any:
    """Return the operators of a paper on a robot at a state (default: a random rational one).

    Drives, loop closures and gravity compensation are left out. UnknownName for a name that is no
    paper, RequestError if the paper does not cover the robot.
    """
    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    return paper(name).Operators(chain(without_drives(mechanism), state))
