"""RK's operators as block matrices over any numbers, for proofs: exact rationals, polynomials, floats.

Here links are numbered as in RK: k = 1 is the tip, k = N the base link; lists start with the tip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import truediv
from random import Random
from typing import Any

import numpy as np
import sympy as sp
from sympy.polys.rings import ring

from symgen.reference.precision import Array
from tests.shared.rational_functions import Functions
from tests.shared.robots_for_tests import rationals


@dataclass(frozen=True)
class Operators:
    """φ(k+1,k) of every link, H(k) as rows (1 x s), M(k); `divide(a, b)` divides by the D(k)."""

    steps: Sequence[Array]
    axes: Sequence[Array]
    inertias: Sequence[Array]
    divide: Callable[[Any, Any], Any] = truediv

    @property
    def N(self) -> int:
        return len(self.steps)

    @property
    def size(self) -> int:
        return len(self.steps[0])

    def one(self, n: int | None = None) -> Array:
        """The identity, of the whole space unless n is given."""
        return np.array(np.eye(n or self.N * self.size, dtype=int), dtype=object)

    def diagonal(self, blocks: Sequence[Array]) -> Array:
        rows, columns = blocks[0].shape
        out = np.array(
            np.zeros((len(blocks) * rows, len(blocks) * columns), dtype=int), dtype=object
        )
        for k, block in enumerate(blocks):
            out[k * rows : (k + 1) * rows, k * columns : (k + 1) * columns] = block
        return out

    def lower(self, steps: Sequence[Array], strict: bool = False) -> Array:
        """The blocks (i, j), i ≥ j, of a transition (3.4), (5.1); strict: (i, j + 1) for i > j (4.9), (4.10)."""
        s, out = self.size, self.diagonal([0 * self.one(self.size)] * self.N)
        for j in range(self.N):
            block = self.one(s)
            for i in range(j, self.N):
                if not strict or i > j:
                    out[i * s : (i + 1) * s, j * s : (j + 1) * s] = block
                if not (strict and i == j):
                    block = steps[i] @ block
        return out

    @cached_property
    def riccati(self) -> list[tuple[Array, Any, Array, Array]]:
        """P(k), D(k), G(k), L(k), up to and with k = N (4.4)-(4.6), (5.12)."""
        articulated, P = [], self.inertias[0]
        for k in range(self.N):
            H, step = self.axes[k], self.steps[k]
            D = (H @ P @ H.T)[0, 0]  # (4.6)
            G = (P @ H.T) * self.divide(1, D)  # (5.12)
            articulated.append((P, D, G, step @ G))
            if k + 1 < self.N:
                P = step @ (P - G @ (H @ P)) @ step.T + self.inertias[k + 1]  # (4.5)
        return articulated

    @cached_property
    def transitions(self) -> list[Array]:
        """ψ(k+1,k) (4.7)."""
        return [
            step - L @ H
            for step, H, (_, _, _, L) in zip(self.steps, self.axes, self.riccati, strict=True)
        ]

    @cached_property
    def H(self) -> Array:
        return self.diagonal(self.axes)

    @cached_property
    def M(self) -> Array:
        return self.diagonal(self.inertias)

    @cached_property
    def P(self) -> Array:
        return self.diagonal([P for P, _, _, _ in self.riccati])

    @cached_property
    def D(self) -> Array:
        return self.diagonal([np.array([[D]], dtype=object) for _, D, _, _ in self.riccati])

    @cached_property
    def D_inverse(self) -> Array:
        return self.diagonal(
            [np.array([[self.divide(1, D)]], dtype=object) for _, D, _, _ in self.riccati]
        )

    @cached_property
    def G(self) -> Array:
        return self.diagonal([G for _, _, G, _ in self.riccati])

    @cached_property
    def L(self) -> Array:
        return self.diagonal([L for _, _, _, L in self.riccati])

    @cached_property
    def phi(self) -> Array:
        return self.lower(self.steps)

    @cached_property
    def Phi(self) -> Array:
        return self.lower(self.steps, strict=True)

    @cached_property
    def psi(self) -> Array:
        return self.lower(self.transitions)

    @cached_property
    def Psi(self) -> Array:
        return self.lower(self.transitions, strict=True)

    @cached_property
    def S(self) -> Array:
        """(5.2)."""
        s, out = self.size, 0 * self.one()
        for k in range(self.N - 1):
            out[(k + 1) * s : (k + 2) * s, k * s : (k + 1) * s] = self.one(s)
        return out

    @cached_property
    def mass(self) -> Array:
        """H φ M φᵀ Hᵀ (3.20)."""
        half = self.H @ self.phi
        return half @ self.M @ half.T

    @cached_property
    def causal(self) -> Array:
        """1 + HΦL."""
        return self.one(self.N) + self.H @ self.Phi @ self.L

    @cached_property
    def whitening(self) -> Array:
        """1 − HΨL."""
        return self.one(self.N) - self.H @ self.Psi @ self.L


def skew(v: Sequence[Any]) -> Array:
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=object)


def shift(v: Sequence[Any]) -> Array:
    """φ of a shift ℓ (2.16)."""
    identity = np.array(np.eye(3, dtype=int), dtype=object)
    return np.block([[identity, skew(v)], [0 * identity, identity]])


def rotation(source: Random) -> list[list[Fraction]]:
    """Cayley's rational rotation of a rational vector a: ((1 − a·a) 1 + 2 a aᵀ + 2 a×) / (1 + a·a)."""
    a = rationals(source, 3)
    square, cross = sum(x * x for x in a), skew(a)
    return [
        [
            ((1 - square) * (r == c) + 2 * a[r] * a[c] + 2 * cross[r, c]) / (1 + square)
            for c in range(3)
        ]
        for r in range(3)
    ]


def rational_chain(n: int, seed: int) -> Operators:
    """A chain in the base's axes, its axes and tensors turned by rational rotations, joints of either kind."""
    source = Random(f"operators/{n}/{seed}")
    axes, inertias = [], []
    for _ in range(n):
        h, nothing = [row[2] for row in rotation(source)], [Fraction(0)] * 3
        axes.append(
            np.array([[*h, *nothing] if source.random() < 0.7 else [*nothing, *h]], dtype=object)
        )
        R, half = (
            np.array(rotation(source), dtype=object),
            [Fraction(source.randint(1, 9), 7) for _ in range(3)],
        )
        centre = (
            R
            @ np.diag(
                np.array([half[1] + half[2], half[0] + half[2], half[0] + half[1]], dtype=object)
            )
            @ R.T
        )
        m, p = Fraction(source.randint(1, 9), 5), skew(rationals(source, 3))
        inertias.append(
            np.block(
                [
                    [centre - m * p @ p, m * p],
                    [-m * p, m * np.array(np.eye(3, dtype=int), dtype=object)],
                ]
            )
        )
    return Operators([shift(rationals(source, 3)) for _ in range(n)], axes, inertias)


def spatial_chain(kinds: str, whole: bool = False) -> Operators:
    """A chain in space, tip first, "r" for a joint that turns and "p" for one that slides, in the axes of its links.

    Symbols are every joint coordinate, tan(q/2) of a joint that turns, and every mass; `whole`: also the mass centres, the
    tensors and the shifts. What is left are rationals of no special kind.
    """
    source, n = Random(f"spatial/{kinds}"), len(kinds)
    each = [
        "q",
        "m",
        *(
            ("hx", "hy", "hz", "xx", "xy", "xz", "yy", "yz", "zz", "lx", "ly", "lz")
            if whole
            else ()
        ),
    ]
    field = Functions([f"{name}{k + 1}" for k in range(n) for name in each])
    steps, axes, inertias = [], [], []
    for k, kind in enumerate(kinds):
        q, m, *rest = field.symbols()[k * len(each) : (k + 1) * len(each)]
        between, turn_and_shift = (
            np.array(rotation(source), dtype=object),
            np.array(rest[9:] or rationals(source, 3), dtype=object),
        )
        if kind == "r":
            unit = 1 / (1 + q * q)
            c, s = (1 - q * q) * unit, 2 * q * unit
            R = between @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], dtype=object)
        else:
            R, turn_and_shift = between, turn_and_shift + between[:, 2] * q
        turned = np.array(np.zeros((6, 6), dtype=int), dtype=object)
        turned[:3, :3] = turned[3:, 3:] = R
        steps.append(shift(turn_and_shift) @ turned)
        axes.append(np.array([[0, 0, int(kind == "r"), 0, 0, int(kind == "p")]], dtype=object))
        inertias.append(_inertia(m, rest[:3], rest[3:9]) if rest else unit_inertia(source) * m)
    return Operators(steps, axes, inertias)


def _inertia(m: Any, h: Sequence[Any], tensor: Sequence[Any]) -> Array:
    """M(k) (2.15) of a mass, its first moment and its tensor about the joint."""
    xx, xy, xz, yy, yz, zz = tensor
    J, cross = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object), skew(h)
    return np.block([[J, cross], [-cross, m * np.array(np.eye(3, dtype=int), dtype=object)]])


def unit_inertia(source: Random) -> Array:
    """M(k) of a unit mass, its centre and its tensor anywhere."""
    R, half = (
        np.array(rotation(source), dtype=object),
        [Fraction(source.randint(1, 9), 7) for _ in range(3)],
    )
    centre = (
        R
        @ np.diag(np.array([half[1] + half[2], half[0] + half[2], half[0] + half[1]], dtype=object))
        @ R.T
    )
    p = skew(rationals(source, 3))
    return np.block([[centre - p @ p, p], [-p, np.array(np.eye(3, dtype=int), dtype=object)]])


def symbolic_chain(n: int) -> Operators:
    """Links that turn about z in the plane (ω, v_x, v_y), every number a symbol, with the D(k) for symbols.

    The moment of inertia about each joint is chosen so that D(k), which is linear in it, is its symbol; no generality is
    lost, and all is polynomial in the symbols and 1/D(k).
    """
    made, *free = ring([f"s{i}" for i in range(5 * n)] + [f"D{k}" for k in range(n)], sp.QQ)
    pivots, symbols = free[-n:], iter(free[:-n])

    def divide(a: Any, b: Any) -> Any:
        assert b in pivots
        ((powers, _),) = b.terms()
        return a * made.term_new(tuple(-x for x in powers), 1)

    steps, inertias, H = [], [], np.array([[1, 0, 0]], dtype=object)
    for k in range(n):
        m, hx, hy, x, y = (next(symbols) for _ in range(5))
        steps.append(
            np.array([[1, -y, x], [0, 1, 0], [0, 0, 1]], dtype=object)
        )  # moment += ℓ × force
        rest = np.array([[0, -hy, hx], [-hy, m, 0], [hx, 0, m]], dtype=object)
        so_far = Operators(
            steps, [H] * (k + 1), [*inertias, rest], lambda a, b: divide(a, b) if b in pivots else a
        )
        rest[0, 0] = pivots[k] - so_far.riccati[k][1]
        inertias.append(rest)
    return Operators(steps, [H] * n, inertias, divide)
