"""A robot's tree as boxes and lines: where everything stands, in pixels; the template draws it."""

from __future__ import annotations

from dataclasses import dataclass

from symgen.mechanism import BASE, Mechanism

BOX, ROW, GAP = (188, 40), 84, 24
"""Width and height of a box, distance of rows, gap between neighbours."""
LETTERS = 24


@dataclass(frozen=True)
class Box:
    """One body: its upper left corner, and two lines of text."""

    x: float
    y: float
    name: str
    below: str


@dataclass(frozen=True)
class Line:
    """One joint: from the foot of a box to the head of another, with a label beside it."""

    x1: float
    y1: float
    x2: float
    y2: float
    label: str


@dataclass(frozen=True)
class Drawing:
    """Everything of one tree."""

    width: float
    height: float
    box: tuple[int, int]
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def draw(mechanism: Mechanism) -> Drawing:
    """The base on top, each joint one row lower; a leaf takes a column, a parent stands over the middle of its children."""
    children: dict[int, list[int]] = {i: [] for i in range(BASE, mechanism.nv)}
    for i, parent in enumerate(mechanism.parents):
        children[parent].append(i)
    column: dict[int, float] = {}
    leaves = 0
    for i in [*reversed(range(mechanism.nv)), BASE]:   # children before parents; columns are counted from the right
        if children[i]:
            column[i] = sum(column[c] for c in children[i]) / len(children[i])
        else:
            column[i], leaves = leaves, leaves + 1
    depth = {BASE: 0}
    for i, parent in enumerate(mechanism.parents):
        depth[i] = depth[parent] + 1
    place = {i: (GAP + (leaves - 1 - column[i]) * (BOX[0] + GAP), 8 + depth[i] * ROW) for i in column}
    boxes = [Box(*place[BASE], _cut(mechanism.base), "base")]
    boxes += [Box(*place[i], _cut(body.name), f"{float(body.mass):.4g} kg") for i, body in enumerate(mechanism.bodies)]
    lines = []
    for i, joint in enumerate(mechanism.joints):
        (x, y), (u, v) = place[joint.parent], place[i]
        half = BOX[0] / 2
        lines.append(Line(x + half, y + BOX[1], u + half, v, _cut(f"{i} {joint.name}, {joint.kind}", LETTERS + 8)))
    width = 2 * GAP + leaves * (BOX[0] + GAP) + 120
    return Drawing(width, 16 + max(depth.values()) * ROW + BOX[1], BOX, tuple(boxes), tuple(lines))


def _cut(text: str, length: int = LETTERS) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
