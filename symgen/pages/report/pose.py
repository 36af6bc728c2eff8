"""Skeleton of a robot at one pose: joints, axes and mass centres, seen from the front right and
from above.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, floor, log10, radians, sin

import numpy as np

from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array

WIDTH, HEIGHT, MARGIN = 480.0, 400.0, 44.0
"""Pixels at full size; on a telephone the picture is three quarters as large and its text still
read.
"""
AZIMUTH, ELEVATION = radians(-50), radians(20)
AXIS, HEAVIEST, NEAR = 17.0, 15.0, 13.0
"""Pixels: half a joint's axis; radius of the greatest mass; two joints nearer than this share a
label.
"""
DOT, RING, SIDE = 4.5, 8.5, 13.0
"""Pixels: radius of a joint's dot, of the ring around one that turns any way; side of the square of
one that moves freely.
"""


@dataclass(frozen=True)
class Stroke:
    """One line: `kind` is link, leaf (from a last joint to its body's mass centre), axis, base or
    scale.
    """

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str


@dataclass(frozen=True)
class Spot:
    """One disc with a radius, or one label at a point."""

    x: float
    y: float
    r: float
    text: str


@dataclass(frozen=True)
class Skeleton:
    """The picture in pixels: strokes, joints, mass centres, labels; the stroke of kind scale is
    `metres` long.
    """

    width: float
    height: float
    strokes: tuple[Stroke, ...]
    turning: tuple[Spot, ...]
    sliding: tuple[Spot, ...]
    balls: tuple[Spot, ...]
    bodies: tuple[Spot, ...]
    """Upper left corners of squares, `r` wide."""
    masses: tuple[Spot, ...]
    labels: tuple[Spot, ...]
    metres: float
    ring: float = RING


def middle(mechanism: Mechanism) -> list[float]:
    """Return q (NQ,) in rad or m: the middle of each joint's range, or the neutral position of a
    joint without one.
    """
    q: list[float] = []
    for joint, coupling, limits in zip(
        mechanism.joints, mechanism.joint_couplings, mechanism.ranges, strict=True
    ):
        if coupling is not None:
            continue
        low, high = limits.lower, limits.upper
        if joint.type.nq == 1 and low is not None and high is not None:
            q.append(float(low + high) / 2)
        else:
            q += map(float, joint.type.neutral)
    return q


def _scale_length(longest: float) -> float:
    """Return the largest length of 1, 2 or 5 times a power of ten that is at most `longest`."""
    power = 10.0 ** floor(log10(longest))
    return power * next(step for step in (5, 2, 1) if step * power <= longest)


def skeleton(mechanism: Mechanism, q: list[float]) -> Skeleton:
    """Return the mechanism at q (NQ,), in parallel projection."""
    reference = Reference(mechanism, FLOAT)
    placed = reference.placements(np.array([q], dtype=float))
    turns, origins = (
        [p.turn[0].reshape(3, 3) for p in placed],
        [p.shift[0].reshape(3) for p in placed],
    )
    weighed = _weighed(reference, turns, origins)
    origin = np.zeros(3)
    points = np.array([origin, *origins, *(centre for _, _, centre in weighed)])
    flat = points @ _view().T
    low, high = flat.min(axis=0), flat.max(axis=0)
    size = (
        float(max((high - low)[0] / (WIDTH - 2 * MARGIN), (high - low)[1] / (HEIGHT - 2 * MARGIN)))
        or 1.0
    )
    middle_of = (low + high) / 2

    def at(point: Array) -> tuple[float, float]:
        x, y = (_view() @ point - middle_of) / size
        return round(WIDTH / 2 + x, 1), round(HEIGHT / 2 - y, 1)

    strokes: list[Stroke] = []
    signs: dict[str, list[Spot]] = {"hinge": [], "slider": [], "ball": [], "body": []}
    for i, joint in enumerate(mechanism.joints):
        start = origin if joint.parent == BASE else origins[joint.parent]
        strokes.append(Stroke(*at(start), *at(origins[i]), "link"))
        if joint.type.directed:
            axis = turns[i] @ np.array([float(x) for x in joint.axis])
            axis = axis / np.linalg.norm(axis) * AXIS * size
            strokes.append(Stroke(*at(origins[i] - axis), *at(origins[i] + axis), "axis"))
        signs[joint.type.drawn].append(Spot(*at(origins[i]), DOT, ""))
    squares = tuple(
        Spot(round(spot.x - SIDE / 2, 1), round(spot.y - SIDE / 2, 1), SIDE, "")
        for spot in signs["body"]
    )
    leaves = set(range(len(origins))) - set(mechanism.parents)
    strokes += [
        Stroke(*at(origins[i]), *at(centre), "leaf") for i, _, centre in weighed if i in leaves
    ]
    x, y = at(origin)
    strokes.append(Stroke(x - 14, y, x + 14, y, "base"))
    heaviest = max((mass for _, mass, _ in weighed), default=1.0)
    masses = [
        Spot(*at(centre), round(HEAVIEST * (mass / heaviest) ** (1 / 3), 1), "")
        for _, mass, centre in weighed
    ]
    metres = _scale_length(90 * size)
    left, foot = 12.0, HEIGHT - 12
    strokes.append(Stroke(left, foot, round(left + metres / size, 1), foot, "scale"))
    labels = [*_labels([at(seat) for seat in origins]), Spot(left, foot - 7, 0.0, f"{metres:g} m")]
    return Skeleton(
        WIDTH,
        HEIGHT,
        tuple(strokes),
        tuple(signs["hinge"]),
        tuple(signs["slider"]),
        tuple(signs["ball"]),
        squares,
        tuple(masses),
        tuple(labels),
        metres,
    )


def _view() -> Array:
    """Return the directions to the right and up (2, 3), seen along AZIMUTH and ELEVATION."""
    a, e = AZIMUTH, ELEVATION
    return np.array([[-sin(a), cos(a), 0.0], [-sin(e) * cos(a), -sin(e) * sin(a), cos(e)]])


def _weighed(
    reference: Reference, turns: list[Array], origins: list[Array]
) -> list[tuple[int, float, Array]]:
    """Return (body, mass, centre in the base) of every body with mass."""
    sums: dict[int, tuple[float, Array]] = {}
    for part in reference.parts():
        mass, centre = float(part.mass), origins[part.body] + turns[part.body] @ part.centre
        before, moment = sums.get(part.body, (0.0, np.zeros(3)))
        sums[part.body] = before + mass, moment + mass * centre
    return [
        (body, mass, moment / mass) for body, (mass, moment) in sorted(sums.items()) if mass > 0
    ]


def _labels(points: list[tuple[float, float]]) -> list[Spot]:
    """Return the numbers of the joints beside them; coinciding joints share one label, such as "4,
    5".
    """
    groups: list[tuple[tuple[float, float], list[int]]] = []
    for i, point in enumerate(points):
        group = next(
            (
                g
                for g in groups
                if abs(g[0][0] - point[0]) < NEAR and abs(g[0][1] - point[1]) < NEAR
            ),
            None,
        )
        if group is None:
            groups.append((point, [i]))
        else:
            group[1].append(i)
    return [Spot(x + 9, y - 8, 0.0, ", ".join(map(str, numbers))) for (x, y), numbers in groups]
