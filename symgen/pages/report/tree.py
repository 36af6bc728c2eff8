"""Layout of a robot's tree: one line of text a body, with connecting lines at its left.

Wide trees and long names are not truncated.
"""

from __future__ import annotations

from dataclasses import dataclass

from symgen.mechanism.mechanism import BASE, Mechanism

ROW, STEP, DOT, TEXT = 26, 20, 4, 12
"""Pixels: height of a line, width of one level of branches, radius of a body's dot, its distance
from the text.
"""


@dataclass(frozen=True)
class Row:
    """One body: its dot (`x`, `y`), the x coordinate `text` of its words, and the words `name` and
    `joint`.
    """

    x: float
    y: float
    text: float
    name: str
    joint: str


@dataclass(frozen=True)
class Drawing:
    """A whole tree: `lines` are SVG paths from dot to dot, `width` and `height` those of the
    gutter. `loops` are listed below.
    """

    width: float
    height: float
    row: int
    dot: int
    rows: tuple[Row, ...]
    lines: tuple[str, ...]
    loops: tuple[str, ...] = ()


def draw(mechanism: Mechanism) -> Drawing:
    """Return the tree with the base on top, depth first. A chain runs straight down; at a branch
    each child moves one level in.
    """
    children: dict[int, list[int]] = {i: [] for i in range(BASE, len(mechanism.joints))}
    for i, parent in enumerate(mechanism.parents):
        children[parent].append(i)
    rows: list[Row] = []
    lines: list[str] = []
    todo: list[tuple[int, int, Row | None]] = [(BASE, 0, None)]
    while todo:
        i, level, above = todo.pop()
        x = STEP / 2 + STEP * level
        row = Row(x, ROW * (len(rows) + 0.5), x + TEXT, *_words(mechanism, i))
        if above is not None:
            lines.append(f"M{above.x:g} {above.y:g} V{row.y:g} H{row.x:g}")
        rows.append(row)
        further = level + (len(children[i]) > 1)
        todo += [(child, further, row) for child in reversed(children[i])]
    return Drawing(
        max(row.x for row in rows) + STEP / 2,
        ROW * len(rows),
        ROW,
        DOT,
        tuple(rows),
        tuple(lines),
        tuple(f"loop {loop.describe(mechanism.body_names)}" for loop in mechanism.loops),
    )


def _words(mechanism: Mechanism, i: int) -> tuple[str, str]:
    if i == BASE:
        return mechanism.base, "base"
    body, joint = mechanism.bodies[i], mechanism.joints[i]
    return body.name, f"{float(body.mass):.4g} kg, by {i} {joint.name}, {joint.described}"
