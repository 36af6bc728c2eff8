"""Steps of joints that turn freely and their derivatives in 70 digits: closed forms and Taylor
series, and none of symgen's.

Derivatives are central differences, whose error is about the square of STEP. Numbers are FLINT's,
taken at their midpoints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import flint

DIGITS = 90
SMALL = 1e-2
"""rad: below it functions of a turn are Taylor series of TERMS terms, which leave out 1e-75."""
TERMS = 14
STEP = flint.arb(2) ** -70  # exact
Vector = list[Any]
Point = Mapping[str, Any]
"""Arguments of a function, by name."""


def exponential(turn: Sequence[Any], shift: Sequence[Any]) -> tuple[Vector, Vector]:
    """The unit quaternion x y z w and the displacement of exp(turn, shift) in SE(3)."""
    square = dot(turn, turn)
    size = root(square)
    if size < SMALL:
        first, second, third, half = (
            _taylor(square / scale, k) for k, scale in ((1, 1), (2, 1), (3, 1), (1, 4))
        )
        half = half / 2
    else:
        first, second, third = (
            size.sin() / size,
            (1 - size.cos()) / square,
            (size - size.sin()) / (square * size),
        )
        half = (size / 2).sin() / size
    along = third * dot(turn, shift)
    translation = [
        first * s + second * b + along * x
        for s, b, x in zip(shift, cross(turn, shift), turn, strict=True)
    ]
    return [*(half * x for x in turn), (size / 2).cos()], translation


def _taylor(square: Any, k: int) -> Any:
    """Σ (−square)ʲ/(2j + k)!."""
    term, total = 1 / flint.arb(k).gamma() / k, flint.arb(0)
    for j in range(TERMS):
        total += term
        term = -term * square / ((2 * j + k + 1) * (2 * j + k + 2))
    return total


def logarithm(quaternion: Sequence[Any], displacement: Sequence[Any]) -> tuple[Vector, Vector]:
    """The turn, half a turn at most, and the shift whose exponential this is."""
    *u, w = quaternion
    if w < 0:
        u, w = [-x for x in u], -w
    size = root(dot(u, u))
    rate = 2 * flint.arb.atan2(size, w) / size if size > 0 else 2 / w
    turn = [rate * x for x in u]
    columns = [exponential(turn, [flint.arb(i == k) for i in range(3)])[1] for k in range(3)]
    matrix = flint.arb_mat([[columns[k][i] for k in range(3)] for i in range(3)])
    return turn, list(matrix.solve(flint.arb_mat([[x] for x in displacement])).entries())


def root(x: Any) -> Any:
    """Return √x of a nonnegative ball, whatever its radius."""
    return x.mid().sqrt()


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """a · b."""
    return sum((x * y for x, y in zip(a, b, strict=True)), flint.arb(0))


def cross(a: Sequence[Any], b: Sequence[Any]) -> Vector:
    """a × b of the first three entries."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def product(a: Sequence[Any], b: Sequence[Any]) -> Vector:
    """The product of two quaternions."""
    return [
        *(a[3] * y + b[3] * x + z for x, y, z in zip(a[:3], b[:3], cross(a, b), strict=True)),
        a[3] * b[3] - dot(a[:3], b[:3]),
    ]


def rotated(quaternion: Sequence[Any], vector: Sequence[Any]) -> Vector:
    """The vector turned by a unit quaternion."""
    first = cross(quaternion, vector)
    return [
        x + 2 * (quaternion[3] * y + z)
        for x, y, z in zip(vector, first, cross(quaternion, first), strict=True)
    ]


def unit(quaternion: Sequence[Any]) -> Vector:
    """The quaternion at length 1."""
    size = root(dot(quaternion, quaternion))
    return [x / size for x in quaternion]


def integrate(kind: str, q: Sequence[Any], step: Sequence[Any]) -> Vector:
    """q ⊕ step of a free, spherical or planar joint."""
    if kind == "planar":
        zero = flint.arb(0)
        _, translation = exponential([zero, zero, step[2]], [step[0], step[1], zero])
        translation = rotated([zero, zero, (q[2] / 2).sin(), (q[2] / 2).cos()], translation)
        return [q[0] + translation[0], q[1] + translation[1], q[2] + step[2]]
    turned, translation = exponential(step[-3:], step[:3])
    if kind == "spherical":
        return product(q, turned)
    return [
        *(x + y for x, y in zip(q[:3], rotated(q[3:], translation), strict=True)),
        *product(q[3:], turned),
    ]


def difference(kind: str, q: Sequence[Any], goal: Sequence[Any]) -> Vector:
    """goal ⊖ q."""
    if kind == "planar":
        zero, half = flint.arb(0), (goal[2] - q[2]) / 2
        displacement = rotated(
            [zero, zero, -(q[2] / 2).sin(), (q[2] / 2).cos()],
            [goal[0] - q[0], goal[1] - q[1], zero],
        )
        turn, shift = logarithm([zero, zero, half.sin(), half.cos()], displacement)
        return [shift[0], shift[1], turn[2]]
    inverse_quaternion = [*(-x for x in q[-4:-1]), q[-1]]
    displacement = (
        [flint.arb(0)] * 3
        if kind == "spherical"
        else rotated(inverse_quaternion, [y - x for x, y in zip(q[:3], goal[:3], strict=True)])
    )
    turn, shift = logarithm(product(inverse_quaternion, goal[-4:]), displacement)
    return turn if kind == "spherical" else [*shift, *turn]


class Step:
    """`integrate` or `difference` of one joint of `count` velocities, and derivatives."""

    def __init__(self, kind: str, function: str, count: int) -> None:
        self.kind, self.function, self.count = kind, function, count
        self.arguments = ("q", "v", "dt") if function == "integrate" else ("q", "q_next")

    def at(self, point: Point) -> Vector:
        """The result."""
        if self.function == "integrate":
            return integrate(self.kind, point["q"], [x * point["dt"] for x in point["v"]])
        return difference(self.kind, point["q"], point["q_next"])

    def shifted(self, point: Point, changes: Point, size: Any) -> Point:
        """Return the point after `size` times the changes of its arguments."""
        shifted_point = dict(point)
        for name, change in changes.items():
            if name in ("q", "q_next"):
                shifted_point[name] = integrate(self.kind, point[name], [size * x for x in change])
            elif name == "dt":
                shifted_point[name] = point[name] + size * change
            else:
                shifted_point[name] = [
                    x + size * d for x, d in zip(point[name], change, strict=True)
                ]
        return shifted_point

    def slope(self, point: Point, changes: Point) -> Vector:
        """The change of the result along changes of arguments; of positions as a step."""
        if self.function == "integrate" and [*changes] == [
            "dt"
        ]:  # q ⊕ v (dt + h) is (q ⊕ v dt) ⊕ v h
            return [x * changes["dt"] for x in point["v"]]
        before, after = (self.at(self.shifted(point, changes, size)) for size in (-STEP, STEP))
        gone = (
            difference(self.kind, before, after)
            if self.function == "integrate"
            else [y - x for x, y in zip(before, after, strict=True)]
        )
        return [x / (2 * STEP) for x in gone]

    def units(self, name: str) -> list[Any]:
        """A change of one along each direction of an argument."""
        return (
            [flint.arb(1)]
            if name == "dt"
            else [[flint.arb(i == k) for i in range(self.count)] for k in range(self.count)]
        )

    def jacobian(self, point: Point) -> dict[str, list[Vector]]:
        """Return for each argument the derivative along each of its directions."""
        return {
            name: [self.slope(point, {name: direction}) for direction in self.units(name)]
            for name in self.arguments
        }

    def bends(self, point: Point, changes: Point) -> dict[str, list[Vector]]:
        """Return for each argument the change of its derivatives along given changes of all
        arguments.
        """
        before, after = (self.shifted(point, changes, size) for size in (-STEP, STEP))
        return {
            name: [
                [
                    (y - x) / (2 * STEP)
                    for x, y in zip(
                        self.slope(before, {name: unit}),
                        self.slope(after, {name: unit}),
                        strict=True,
                    )
                ]
                for unit in self.units(name)
            ]
            for name in self.arguments
        }

    def bent(self, point: Point, weights: Sequence[Any], changes: Point) -> dict[str, Vector]:
        """Return for each argument the change of its weights along given argument changes."""
        return {
            name: [dot(weights, bend) for bend in bends]
            for name, bends in self.bends(point, changes).items()
        }
