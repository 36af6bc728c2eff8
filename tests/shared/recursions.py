"""Recursions written by hand, for the tests of everything that stands behind them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from symgen.ir.loops import (
    CARRY,
    CONSTANTS,
    SAVED,
    FinalCarry,
    LinkClass,
    LoopProgram,
    Sweep,
    check,
)
from symgen.ir.program import Port, Program
from symgen.vocabulary.arrays import Sizes
from tests.shared.c_programs import Builder

KINDS = (LinkClass("turning", 1, 1, 3), LinkClass("sliding", 1, 1, 2), LinkClass("pair", 2, 1, 1))
"""Link classes; the last one has more coordinates than velocities."""
WORK = 4
BRANCHED = (-1, 0, 0, 1, 1, 2, -1, 6, 6, 6)


def sums(count: int, real: str = "double") -> LoopProgram:
    """Outward sums of q, each times a number of its link."""
    b = Builder("gravity_force", [Port(CONSTANTS, (1,)), Port("q", (1,)), Port(CARRY, (1,))], real)
    total = b.op("add", b.input(2, 0), b.op("mul", b.input(0, 0), b.input(1, 0)))
    step = b.program([Port(CARRY, (1,), (total,)), Port("g", (1,), (total,))])
    tables = tuple((Fraction(i + 1, 3),) for i in range(count))
    sweep = Sweep(False, (step,), (Fraction(1, 7),), (), (0,))
    return check(
        LoopProgram(
            "gravity_force",
            "by_hand",
            (Port("q", (count,)),),
            (Port("g", (count,)),),
            (LinkClass("turning", 1, 1, 1),),
            tuple(range(-1, count - 1)),
            (0,) * count,
            tables,
            (sweep,),
            0,
            real=real,
        )
    )


def idle(real: str = "double") -> LoopProgram:
    """Return a loop program in which one class has no operations in either of two sweeps, or only
    passes its carry on. The other class has no constants.
    """
    b = Builder("gravity_force", [Port(CONSTANTS, (1,)), Port("q", (1,)), Port(CARRY, (1,))], real)
    total = b.op("add", b.input(2, 0), b.op("mul", b.input(0, 0), b.input(1, 0)))
    first = b.program([Port(CARRY, (1,), (total,)), Port("g", (1,), (total,))])
    b = Builder("gravity_force", [Port(CARRY, (1,))], real)
    second = b.program([Port(CARRY, (1,), (b.op("neg", b.input(0, 0)),))])
    b = Builder("gravity_force", [Port("q", (1,)), Port(CONSTANTS, (0,))], real)
    third = b.program([Port("g", (1,), (b.op("mul", b.input(0, 0), b.input(0, 0)),))])
    nothing = Builder("gravity_force", [], real).program([])
    sweeps = (
        Sweep(False, (first, second), (Fraction(1),), (), (0, 0)),
        Sweep(True, (nothing, third), (), (), (0, 0)),
    )
    of = (0, 1, 1, 0, 1)
    return check(
        LoopProgram(
            "gravity_force",
            "by_hand",
            (Port("q", (5,)),),
            (Port("g", (5,)),),
            (LinkClass("turning", 1, 1, 1), LinkClass("sliding", 1, 1, 0)),
            tuple(range(-1, 4)),
            of,
            tuple((Fraction(2, 7),) if link_class == 0 else () for link_class in of),
            sweeps,
            0,
            real=real,
        )
    )


def mixed(
    parents: Sequence[int], of: Sequence[int], real: str = "double", end: int | None = None
) -> LoopProgram:
    """Outward positions of a planar mechanism, inward forces (sums) and a product, and outward what
    moves; `end` is the link of which the position is a result besides.
    """
    used = sorted(set(of))
    kinds = tuple(KINDS[kind] for kind in used)
    of = tuple(used.index(kind) for kind in of)
    pick = random.Random(len(parents))
    tables = tuple(
        tuple(Fraction(pick.randint(1, 999), 700) for _ in range(kinds[kind].width)) for kind in of
    )
    nq, nv = sum(kinds[kind].nq for kind in of), sum(kinds[kind].nv for kind in of)
    final_carries = [FinalCarry("det", 1, (2,))] + (
        [FinalCarry("p", 0, (1, 2), end)] if end is not None else []
    )
    outputs = [Port("tau", (nv,)), Port("det", ())] + ([Port("p", (2,))] if end is not None else [])
    sweeps = (
        Sweep(
            False,
            tuple(_positions(kind, real) for kind in kinds),
            (Fraction(1, 3), Fraction(0), Fraction(-1)),
            (),
            (0,) * 3,
        ),
        Sweep(
            True,
            tuple(_forces(kind, real) for kind in kinds),
            (Fraction(0), Fraction(1, 9), Fraction(1)),
            ("add", "add", "mul"),
            (2,) * 3,
        ),
        Sweep(
            False, tuple(_motion(kind, real) for kind in kinds), (Fraction(1, 10),), (), (0,) * 3
        ),
    )
    sweeps = tuple(replace(s, saved_at=s.saved_at[: len(kinds)]) for s in sweeps)
    return check(
        LoopProgram(
            "toy",
            "by_hand",
            (Port("q", (nq,)), Port("v", (nv,))),
            tuple(outputs),
            kinds,
            tuple(parents),
            of,
            tables,
            sweeps,
            WORK,
            final_carries=tuple(final_carries),
            real=real,
        )
    )


def framed(
    parents: Sequence[int], of: Sequence[int], tip: int, real: str = "double"
) -> LoopProgram:
    """A matrix with two rows and a column a degree of freedom, of a link: places outward to it,
    columns inward from it, those of sliding links outward already.
    """
    used = sorted(set(of))
    kinds = tuple(KINDS[kind]._replace(nv=KINDS[kind].nq) for kind in used)
    of = tuple(used.index(kind) for kind in of)
    tables = tuple(
        tuple(Fraction(2 * i + k + 1, 7) for k in range(kinds[kind].width))
        for i, kind in enumerate(of)
    )
    nq, count = sum(kinds[kind].nq for kind in of), len(kinds)
    sweeps = (
        Sweep(
            False,
            tuple(_positions(kind, real, kind.name == "sliding") for kind in kinds),
            (Fraction(1, 3), Fraction(0), Fraction(-1)),
            (),
            (0,) * count,
            tip,
        ),
        Sweep(
            True,
            tuple(_columns(kind, real) for kind in kinds),
            (Fraction(1, 5),),
            (),
            (0,) * count,
            tip,
        ),
    )
    return check(
        LoopProgram(
            "toy",
            "by_hand",
            (Port("q", (nq,)),),
            (Port("J", (2, nq)),),
            kinds,
            tuple(parents),
            of,
            tables,
            sweeps,
            WORK,
            columns=(("J", 2),),
            real=real,
        )
    )


def sizes(recursion: LoopProgram) -> Sizes:
    size_by_port = {port.name: port.size for port in (*recursion.inputs, *recursion.outputs)}
    return Sizes(size_by_port["q"], size_by_port.get("v", size_by_port["q"]), len(recursion))


def _positions(kind: LinkClass, real: str, column: bool = False) -> Program:
    """Hands on an angle and a place; keeps a sine and a cosine, or what stands for them. Those are
    its `column` as well.
    """
    b = Builder(
        "toy", [Port(CONSTANTS, (kind.width,)), Port("q", (kind.nq,)), Port(CARRY, (3,))], real
    )
    b.step("place of the link")
    angle = b.input(2, 0)
    if kind.name != "sliding":
        angle = b.op("add", angle, b.input(1, 0), name="angle")
    s, c = b.op("sin", angle, name="s"), b.op("cos", angle, name="c")
    length = b.input(0, 1) if kind.name == "turning" else b.input(1, kind.nq - 1)
    if kind.name == "pair":
        length = b.op("sin", length)
    x = b.op("add", b.input(2, 1), b.op("mul", length, c))
    y = b.op("add", b.input(2, 2), b.op("mul", b.input(0, 0), s))
    return b.program(
        [
            Port(CARRY, (3,), (angle, x, y)),
            Port(SAVED, (2,), (s, c)),
            *[Port("J", (2,), (c, s))] * column,
        ]
    )


def _forces(kind: LinkClass, real: str) -> Program:
    b = Builder(
        "toy",
        [Port(SAVED, (WORK,)), Port(CONSTANTS, (kind.width,)), Port("v", (1,)), Port(CARRY, (3,))],
        real,
    )
    b.step("force on the link")
    s, c = b.input(0, 0), b.input(0, 1)
    f = b.op(
        "add", b.input(3, 0), b.op("mul", b.input(1, 0), b.op("mul", b.input(2, 0), s)), name="f"
    )
    g = b.op("sub", b.op("mul", c, f), b.input(3, 1))
    product = b.op("mul", b.input(3, 2), b.op("add", b.op("mul", c, c), b.const(1)))
    return b.program([Port(CARRY, (3,), (f, g, product)), Port(SAVED, (2,), (g, b.op("neg", f)))])


def _columns(kind: LinkClass, real: str) -> Program:
    b = Builder(
        "toy", [Port(SAVED, (WORK,)), Port(CONSTANTS, (kind.width,)), Port(CARRY, (1,))], real
    )
    lever = b.op("add", b.input(2, 0), b.op("mul", b.input(1, 0), b.input(0, 1)), name="lever")
    if kind.name == "sliding":
        return b.program([Port(CARRY, (1,), (lever,))])
    first = [b.op("mul", lever, b.input(0, k)) for k in range(kind.nv)]
    return b.program(
        [
            Port(CARRY, (1,), (lever,)),
            Port("J", (2 * kind.nv,), (*first, *[b.op("neg", x) for x in first])),
        ]
    )


def _motion(kind: LinkClass, real: str) -> Program:
    b = Builder("toy", [Port(SAVED, (WORK,)), Port("v", (1,)), Port(CARRY, (1,))], real)
    saved = [b.input(0, k) for k in range(WORK)]
    tau = b.op(
        "add",
        b.op(
            "mul",
            saved[2],
            b.op("div", saved[0], b.op("add", b.op("mul", saved[1], saved[1]), b.const(3))),
        ),
        saved[3],
    )
    return b.program(
        [
            Port(
                CARRY,
                (1,),
                (b.op("sub", b.input(1, 0), b.op("mul", b.const("0.3"), b.input(2, 0))),),
            ),
            Port("tau", (1,), (b.op("sub", tau, b.input(2, 0)),)),
        ]
    )


TOYS = {
    "sums": lambda real="double": sums(9, real),
    "idle": idle,
    "chain": lambda real="double": mixed(range(-1, 5), (0,) * 6, real),
    "chain, its middle": lambda real="double": mixed(range(-1, 5), (0,) * 6, real, 2),
    "chain, its tip": lambda real="double": mixed(range(-1, 5), (2,) * 6, real, 5),
    "two classes": lambda real="double": mixed(range(-1, 5), (0, 1, 1, 0, 1, 0), real),
    "three classes": lambda real="double": mixed(range(-1, 6), (0, 2, 1, 0, 2, 2, 1), real, 6),
    "tree": lambda real="double": mixed(BRANCHED, (0,) * 10, real, 5),
    "tree of three classes": lambda real="double": mixed(
        BRANCHED, (0, 2, 1, 0, 2, 2, 1, 0, 1, 2), real
    ),
    "chain, from its middle": lambda real="double": framed(range(-1, 5), (0,) * 6, 2, real),
    "tree, on a way": lambda real="double": framed(
        BRANCHED, (0, 1, 1, 0, 2, 2, 1, 0, 1, 2), 4, real
    ),
}
"""Each of the kinds of text."""
