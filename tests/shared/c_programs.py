"""Programs written by hand or at random, for the tests of everything that stands behind the
Program.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np

from symgen.ir.program import Numbers, Port, Program, Row, check, evaluate

Array = np.ndarray[Any, np.dtype[Any]]
DOUBLES = Numbers(float, math.sin, math.cos, math.sqrt, math.log)


class Builder:
    """Rows appended one by one; every method returns the index of its row."""

    def __init__(
        self, function: str, inputs: list[Port], real: str = "double", method: str = "by_hand"
    ) -> None:
        self.function, self.inputs, self.real, self.method = function, inputs, real, method
        self.rows: list[Row] = []
        self.steps: list[str] = []

    def step(self, text: str) -> None:
        self.steps.append(text)

    def op(self, op: str, *args: int, name: str = "") -> int:
        self.rows.append(Row(op, args, None, name, len(self.steps) - 1))
        return len(self.rows) - 1

    def const(self, value: str | int | Fraction) -> int:
        self.rows.append(Row("const", (), Fraction(value), "", len(self.steps) - 1))
        return len(self.rows) - 1

    def input(self, port: int, element: int) -> int:
        self.rows.append(Row("input", (), (port, element), "", len(self.steps) - 1))
        return len(self.rows) - 1

    def program(self, outputs: list[Port]) -> Program:
        rows, steps = tuple(self.rows), tuple(self.steps)
        return check(
            Program(
                self.function,
                self.method,
                tuple(self.inputs),
                tuple(outputs),
                rows,
                steps,
                self.real,
            )
        )


def vector(name: str, size: int = 2) -> Port:
    return Port(name, (size,))


def _arm(b: Builder, with_velocity: bool) -> tuple[list[int], list[int]]:
    """M (three entries) and c of a planar arm of two links that moves in a vertical plane."""
    b.step("link 1 (upper): sine and cosine of its joint")
    q1, q2 = b.input(0, 0), b.input(0, 1)
    s2, c2, c1 = (
        b.op("sin", q2, name="s_2"),
        b.op("cos", q2, name="c_2"),
        b.op("cos", q1, name="c_1"),
    )
    b.step("link 2 (lower): inertia, CRB (2.3)")
    i22 = b.const("0.35")
    h = b.op("mul", b.const("0.7"), c2, name="h_2")
    m12 = b.op("add", h, i22, name="M_1_2")
    m11 = b.op("add", b.op("add", b.op("mul", b.const(2), h), b.const("1.9")), i22, name="M_1_1")
    b.step("bias")
    if with_velocity:
        v1, v2 = b.input(1, 0), b.input(1, 1)
        k = b.op("mul", b.const("0.7"), s2, name="k_2")
    c12 = b.op("cos", b.op("add", q1, q2))
    g2 = b.op("mul", b.const("6.867"), c12, name="g_2")
    g1 = b.op("add", b.op("mul", b.const("23.1"), c1), g2, name="g_1")
    if not with_velocity:
        return [m11, m12, i22], [g1, g2]
    first = b.op("mul", k, b.op("mul", v2, b.op("add", b.op("mul", b.const(2), v1), v2)))
    bias1 = b.op("sub", g1, first, name="bias_1")
    bias2 = b.op("add", b.op("mul", k, b.op("mul", v1, v1)), g2, name="bias_2")
    return [m11, m12, i22], [bias1, bias2]


def forward_dynamics(real: str = "double") -> Program:
    b = Builder("forward_dynamics", [vector("q"), vector("v"), vector("tau")], real)
    (m11, m12, m22), (c1, c2) = _arm(b, True)
    b.step("solve")
    r1 = b.op("sub", b.input(2, 0), c1, name="r_1")
    r2 = b.op("sub", b.input(2, 1), c2, name="r_2")
    det = b.op("sub", b.op("mul", m11, m22), b.op("mul", m12, m12), name="det")
    a1 = b.op("div", b.op("sub", b.op("mul", m22, r1), b.op("mul", m12, r2)), det, name="a_1")
    a2 = b.op("div", b.op("sub", b.op("mul", m11, r2), b.op("mul", m12, r1)), det)
    return b.program([Port("a", (2,), (a1, a2))])


def mass_matrix_and_bias(real: str = "double") -> Program:
    b = Builder("mass_matrix_and_bias", [vector("q"), vector("v")], real)
    (m11, m12, m22), (c1, c2) = _arm(b, True)
    return b.program([Port("M", (2, 2), (m11, m12, m12, m22)), Port("c", (2,), (c1, c2))])


def mass_matrix(real: str = "double") -> Program:
    b = Builder("mass_matrix", [vector("q")], real)
    (m11, m12, m22), _ = _arm(b, False)
    return b.program([Port("M", (2, 2), (m11, m12, m12, m22))])


def determinant(real: str = "double") -> Program:
    b = Builder("mass_matrix_determinant", [vector("q")], real)
    (m11, m12, m22), _ = _arm(b, False)
    return b.program(
        [Port("det", (), (b.op("sub", b.op("mul", m11, m22), b.op("mul", m12, m12), name="det"),))]
    )


def gravity(real: str = "double", payload: bool = False) -> Program:
    b = Builder("gravity_force", [vector("q")] + ([vector("payload", 10)] if payload else []), real)
    _, (g1, g2) = _arm(b, False)
    if payload:
        b.step("payload")
        g2 = b.op(
            "add",
            g2,
            b.op("mul", b.input(1, 0), b.op("cos", b.op("add", b.input(0, 0), b.input(0, 1)))),
        )
    return b.program([Port("g", (2,), (g1, g2))])


def arm(real: str = "double") -> dict[str, Program]:
    """The functions above, by name."""
    programs = (
        forward_dynamics(real),
        mass_matrix_and_bias(real),
        mass_matrix(real),
        determinant(real),
        gravity(real),
    )
    return {p.function: p for p in programs}


NAMES = (
    "y1",
    "gamma",
    "j0",
    "int",
    "sin",
    "M",
    "x",
    "q",
    "t3",
    "double",
    "omega_3_1",
    "_X",
    "class",
    "NAN",
    "arm_NQ",
    "v",
)


def scrambled(seed: int, size: int = 120, real: str = "double") -> Program:
    """A random Program: every operation, awkward names and constants, results that are arguments
    and constants.
    """
    pick = random.Random(seed)
    b = Builder(
        "inverse_dynamics",
        [vector("q", 3), vector("v", 3), vector("a", 3)],
        real,
        method="scrambled",
    )
    values = [b.input(port, k) for port in range(3) for k in range(3) if (port, k) != (2, 1)]
    for text in ("0.1", "-2.5", "1/3", "-1e-7", "123456789", "1e15", "0", "-1", "7/10000000000000"):
        values.append(b.const(Fraction(text)))
    varies = set(values[:8])
    names = list(NAMES)
    pick.shuffle(names)
    for k in range(size):
        if k % 17 == 0:
            b.step(f"step {k}: */ with \\ and /* inside")
        op = pick.choice(
            (
                "add",
                "sub",
                "mul",
                "add",
                "sub",
                "mul",
                "div",
                "neg",
                "sin",
                "cos",
                "sqrt",
                "log",
                "atan2",
            )
        )
        # Mostly recent rows, so that expressions nest; bounded ones under sqrt, log and div, so
        # that numbers stay finite.
        count = 2 if op in ("add", "sub", "mul", "div", "atan2") else 1
        args = [values[-1 - min(int(pick.expovariate(0.4)), len(values) - 1)] for _ in range(count)]
        if op in ("sin", "cos") and not varies & set(args):
            op = "neg"  # a compiler evaluates the sine of a constant better than libm does
        if op in ("div", "sqrt", "log"):
            args[-1] = b.op("add", b.op("sin", b.op("add", args[-1], values[0])), b.const("1.5"))
            varies.add(args[-1])
        if op == "mul":
            args[0] = b.op("cos", b.op("add", args[0], values[1]))
            varies.add(args[0])
        values.append(b.op(op, *args, name=names.pop() if names and pick.random() < 0.3 else ""))
        if varies & set(args):
            varies.add(values[-1])
    live = [*values[-7:], values[0], values[9]]
    return b.program(
        [Port("tau", (3,), (live[0], live[1], live[7])), Port("M", (2, 3), (*live[2:7], live[8]))]
    )


def expected(program: Program, *arguments: Array) -> list[Array]:
    """The Program over Python floats, state by state."""
    lead = np.broadcast_shapes(*(x.shape[:-1] for x in arguments))
    states = [np.broadcast_to(x, lead + x.shape[-1:]) for x in arguments]
    results = [np.empty(lead + port.shape) for port in program.outputs]
    for index in np.ndindex(lead):
        state = {
            port.name: x[index].tolist() for port, x in zip(program.inputs, states, strict=True)
        }
        values = evaluate(program, state, DOUBLES)
        for port, result in zip(program.outputs, results, strict=True):
            result[index] = np.reshape(values[port.name], port.shape)
    return results


def uniform_states(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-2, 2, shape)
