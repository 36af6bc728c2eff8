"""Pictures of the chapters on the papers: which blocks of each operator are zero, from their
numbers.

`python -m tests.paper_pictures` rewrites docs/explanation/papers/*.svg. The numbers are those of
`symgen.papers` on random rational chains of four to six links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from symgen.papers.blocks import Matrix
from symgen.papers.identities import paper
from tests.shared.operators import rational_chain
from tests.shared.slanted_chains import slanted_chain

FOLDER = Path(__file__).parents[1] / "docs" / "explanation" / "papers"

ZERO, ONE, BLOCK, CHANGED, CLEARED, PIVOT = "zero", "one", "block", "changed", "cleared", "pivot"
FILLS = {
    ZERO: "#ffffff",
    ONE: "#a9bfd4",
    BLOCK: "#1f5a94",
    CHANGED: "#1f5a94",
    CLEARED: "#ffffff",
    PIVOT: "#e08214",
}
LINE, INK, GREY = "#94a3b8", "#0f172a", "#64748b"
WIDTH, SIDE, LEFT, TOP, GAP = 520, 186, 34, 62, 260
"""Units of the picture: its width, the side of a matrix, room beside and above it, one panel's
width.
"""
HEIGHT_OF_PANEL = TOP + SIDE + 46


@dataclass(frozen=True)
class Panel:
    """One matrix: its title, the kind of each block, and labels of the blocks.

    `rows` and `columns` are the paper's labels, left and above; `links` are symgen's, right and
    below. `cuts` are the indices before which a thick line separates groups.
    """

    title: str
    kinds: tuple[tuple[str, ...], ...]
    says: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    links: tuple[str, ...] = ()
    cuts: tuple[int, ...] = ()


@dataclass(frozen=True)
class Picture:
    """The panels of one paper, the meaning of the colours, and what the labels count."""

    title: str
    panels: tuple[Panel, ...]
    legend: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


# -- blocks ----------------------------------------------------------------------------------------

STATES = 3
"""Chains, or states of a chain, whose blocks are looked at: one alone may have a zero by chance."""
Part = Callable[[Any], Matrix]


def chains(name: str, links: int) -> list[Any]:
    """Return the operators of a paper on random chains in space."""
    return [paper(name).Operators(rational_chain(links, seed)) for seed in range(STATES)]


def kinds(
    many: Sequence[Any], get_matrix: Part, heights: Sequence[int], widths: Sequence[int]
) -> tuple[tuple[str, ...], ...]:
    """Return the kind of each block of a matrix: zero, the identity, or another block, for all
    chains.
    """
    entries = [get_matrix(o).entries for o in many]
    tops, lefts = [0, *accumulate(heights)], [0, *accumulate(widths)]
    assert all(array.shape == (tops[-1], lefts[-1]) for array in entries)
    return tuple(
        tuple(
            _kind([array[tops[r] : tops[r + 1], lefts[c] : lefts[c + 1]] for array in entries])
            for c in range(len(widths))
        )
        for r in range(len(heights))
    )


def _kind(blocks: Sequence[Any]) -> str:
    if all(x == 0 for block in blocks for x in block.flat):
        return ZERO
    return ONE if all(_is_one(block) for block in blocks) else BLOCK


def _is_one(block: Any) -> bool:
    rows, columns = block.shape
    return rows == columns and all(
        block[r, c] == (1 if r == c else 0) for r in range(rows) for c in range(columns)
    )


def _numbers(n: int, start: int = 1) -> tuple[str, ...]:
    return tuple(str(k) for k in range(start, start + n))


FROM_THE_BASE = (
    "Left and top: number in the paper, from the base.",
    "Right and bottom, grey: link in symgen.",
)


def _from_the_base(
    title: str, blocks: tuple[tuple[str, ...], ...], caption: str, cuts: tuple[int, ...] = ()
) -> Panel:
    """Return a panel whose labels count links from the base; cut panels have labels of their
    groups.
    """
    n = len(blocks)
    if cuts:
        labels = tuple({n // 4: "soft", 3 * n // 4: "hard"}.get(k, "") for k in range(n))
        return Panel(title, blocks, caption, labels, labels, cuts=cuts)
    return Panel(title, blocks, caption, _numbers(n), _numbers(n), _numbers(n, 0))


def rodriguez_kreutz() -> Picture:
    """Operators of Rodriguez & Kreutz on five links, from the tip."""
    n = 5
    many = chains("rk", n)
    six, single = [6] * n, [1] * n
    links = tuple(str(k) for k in reversed(range(n)))

    def panel(
        title: str, operators: Sequence[Part], rows: list[int], columns: list[int], caption: str
    ) -> Panel:
        (blocks,) = {
            kinds(many, operator, rows, columns) for operator in operators
        }  # alike in all of them
        return Panel(title, blocks, caption, _numbers(n), _numbers(n), links)

    return Picture(
        "Blocks of the operators of Rodriguez and Kreutz, five links",
        (
            panel(
                "φ (3.4), ψ (5.1)",
                [lambda o: o.phi, lambda o: o.psi],
                six,
                six,
                "wrenches, tip to base",
            ),
            panel(
                "Φ (4.9), Ψ (4.10)",
                [lambda o: o.Phi, lambda o: o.Psi],
                six,
                six,
                "φ S and ψ S: strictly lower",
            ),
            panel(
                "M (3.6), P (4.8)",
                [lambda o: o.M, lambda o: o.P],
                six,
                six,
                "one 6×6 block a link",
            ),
            panel(
                "H (3.5), L^{T}, G^{T}",
                [lambda o: o.H, lambda o: o.L.T, lambda o: o.G.T],
                single,
                six,
                "one row a joint",
            ),
            panel(
                "1 + HΦL (4.11)",
                [lambda o: o.innovations, lambda o: o.whitening],
                single,
                single,
                "1 − HΨL (4.14) alike",
            ),
            panel("D (4.6)", [lambda o: o.D], single, single, "the pivots"),
        ),
        ((BLOCK, "block"), (ONE, "identity"), (ZERO, "zero")),
        (
            "Left and top: k in the paper, from the tip.",
            "Right and bottom, grey: link in symgen, from the base.",
        ),
    )


def saha() -> Picture:
    """Reverse Gaussian elimination of Saha on four links, step by step."""
    n = 4
    many, single = chains("sa", n), [1] * n
    panels = [
        _from_the_base(
            "I = L_{5}", kinds(many, lambda o: o.gim, single, single), "inertia matrix (16)"
        )
    ]
    before = [o.gim.entries for o in many]
    for k in reversed(range(1, n)):
        after = [o.L(k).entries for o in many]
        panels.append(
            _from_the_base(
                f"L_{{{k + 1}}} = E_{{{k + 1}}} L_{{{k + 2}}}",
                tuple(
                    tuple(
                        PIVOT
                        if r == c == k
                        else _step(
                            [array[r, c] for array in before], [array[r, c] for array in after]
                        )
                        for c in range(n)
                    )
                    for r in range(n)
                ),
                f"clears column {k + 1}",
            )
        )
        before = after
    panels.append(
        _from_the_base(
            "U = E^{−1} (19)", kinds(many, lambda o: o.U, single, single), "multipliers α_{ik} (31)"
        )
    )
    panels.append(
        _from_the_base("D (20)", kinds(many, lambda o: o.D, single, single), "pivots (32)")
    )
    return Picture(
        "Reverse Gaussian elimination of Saha, four links",
        tuple(panels),
        (
            (CHANGED, "entry; in a step: changed"),
            (ONE, "1; in a step: unchanged"),
            (PIVOT, "pivot of the step"),
            (CLEARED, "cleared in the step"),
            (ZERO, "zero"),
        ),
        FROM_THE_BASE,
    )


def _step(before: Sequence[Any], after: Sequence[Any]) -> str:
    """Return the kind of an entry in a step of the elimination, from its values on all chains."""
    if all(x == 0 for x in after):
        return ZERO if all(x == 0 for x in before) else CLEARED
    return ONE if list(before) == list(after) else CHANGED


def lee_chirikjian() -> Picture:
    """Blocks of H of Lee & Chirikjian on six links, and the factors of H^LL."""
    n = 6
    many = [paper("lc").Operators(slanted_chain(n, seed)) for seed in range(STATES)]
    matrices: list[tuple[str, Part, str]] = [
        ("H^{θθ}", lambda o: o.H_theta_theta, "diagonals −2 to 2"),
        ("H^{θL}", lambda o: o.H_theta_L, "diagonals −2 to 1"),
        ("H^{Lθ}", lambda o: o.H_L_theta, "diagonals −1 to 2"),
        ("H^{LL}", lambda o: o.H_L_L, "tridiagonal"),
        ("L_{h}", lambda o: o.L_h, "H^{LL} = L_{h} U_{h}, after (13)"),
        ("U_{h}", lambda o: o.U_h, "one diagonal above"),
    ]
    return Picture(
        "Blocks of H of Lee and Chirikjian (24), six links",
        tuple(
            _from_the_base(title, kinds(many, matrix, [1] * n, [1] * n), caption)
            for title, matrix, caption in matrices
        ),
        ((BLOCK, "entry"), (ONE, "1"), (ZERO, "zero")),
        FROM_THE_BASE,
    )


def wang_chirikjian() -> Picture:
    """Operators of Wang & Chirikjian on six links, soft variables before hard ones."""
    n = 6
    many = chains("wc", n)
    six, single, five = [6] * n, [1] * n, [5] * n
    all_variables = single + five
    matrices: list[tuple[str, Part, list[int], list[int], str, tuple[int, ...]]] = [
        ("∂q_{1}/∂ξ (18)", lambda o: o.dq1_dxi, single, six, "soft: rate of a joint", ()),
        ("I^{−1} (19)", lambda o: o.I_inverse, six, six, "one inertia a body", ()),
        (
            "G, of all rates",
            lambda o: o.G,
            all_variables,
            all_variables,
            "G_{11}: the mass matrix",
            (n,),
        ),
        (
            "H = G^{−1} (19)",
            lambda o: o.H,
            all_variables,
            all_variables,
            "H_{11}, H_{12}, H_{22}",
            (n,),
        ),
        ("L", lambda o: o.L, five, five, "H_{22} = L U, after (9)", ()),
        ("U", lambda o: o.U, five, five, "one block above", ()),
    ]
    return Picture(
        "Blocks of the operators of Wang and Chirikjian, six links",
        tuple(
            _from_the_base(title, kinds(many, matrix, rows, columns), caption, cuts)
            for title, matrix, rows, columns, caption, cuts in matrices
        ),
        ((BLOCK, "block"), (ONE, "identity"), (ZERO, "zero")),
        FROM_THE_BASE,
    )


def fijany_featherstone() -> Picture:
    """Operators of Fijany & Featherstone on six links."""
    n = 6
    many = chains("ff", n)
    six, single, five = [6] * n, [1] * n, [5] * n
    matrices: list[tuple[str, Part, list[int], list[int], str]] = [
        ("P (script)", lambda o: o.P, six, six, "P F: forces on the bodies"),
        ("A = P^{T} I^{−1} P (script)", lambda o: o.A, six, six, "block tridiagonal"),
        ("H_{aa}", lambda o: o.H_aa, single, single, "1×1 blocks: freedoms"),
        ("H_{ab}", lambda o: o.H_ab, single, five, "1×5 blocks"),
        ("H_{bb}", lambda o: o.H_bb, five, five, "5×5 blocks: constraints"),
        ("M", lambda o: o.M, single, single, "dense"),
    ]
    return Picture(
        "Blocks of the operators of Fijany and Featherstone, six links",
        tuple(
            _from_the_base(title, kinds(many, matrix, rows, columns), caption)
            for title, matrix, rows, columns, caption in matrices
        ),
        ((BLOCK, "block"), (ONE, "identity"), (ZERO, "zero")),
        FROM_THE_BASE,
    )


PICTURES: dict[str, Callable[[], Picture]] = {
    "rodriguez-kreutz": rodriguez_kreutz,
    "saha": saha,
    "lee-chirikjian": lee_chirikjian,
    "wang-chirikjian": wang_chirikjian,
    "fijany-featherstone": fijany_featherstone,
}
"""Name of a picture's file, without its ending -> its content."""


# -- SVG -------------------------------------------------------------------------------------------


def _text(x: float, y: float, text: str, size: float, **attributes: str) -> str:
    """Return a text; `_{…}` and `^{…}` are lower and higher."""
    content, previous_shift = "", 0.0
    for fragment in re.split(r"([_^]\{[^}]*\})", text):
        if not fragment:
            continue
        index = fragment[0] in "_^" and fragment[1:2] == "{"
        shift = (0.25 if fragment[0] == "_" else -0.38) * size if index else 0.0
        span = f' font-size="{size * 0.72:.1f}"' if index else ""
        content += (
            f'<tspan dy="{shift - previous_shift:.1f}"{span}>'
            f"{_escaped(fragment[2:-1] if index else fragment)}</tspan>"
        )
        previous_shift = shift
    extra = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}"{extra}>{content}</text>'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _drawn_panel(panel: Panel, left: float, top: float) -> list[str]:
    """Return the elements of a panel whose matrix has its corner at (left, top)."""
    high, wide = SIDE / len(panel.kinds), SIDE / len(panel.kinds[0])
    lines = [_text(left, top - 32, panel.title, 17, font_weight="bold", fill=INK)]
    for r, row in enumerate(panel.kinds):
        for c, kind in enumerate(row):
            x, y = left + c * wide, top + r * high
            lines.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" '
                f'fill="{FILLS[kind]}" stroke="{LINE}"/>'
            )
            if kind == CLEARED:
                lines.append(_cleared(x + wide / 2, y + high / 2, wide / 6))
    for cut in panel.cuts:
        lines.append(
            f'<path d="M{left + cut * wide:.1f} {top}v{SIDE}M{left} {top + cut * high:.1f}h{SIDE}" '
            f'stroke="{PIVOT_INK}" stroke-width="3"/>'
        )
    for n, label in enumerate(panel.rows):
        if label:
            turned = len(label) > 2
            x, y = left - 8, top + (n + 0.5) * high + 5
            rotation = {"transform": f"rotate(-90 {x:g} {y:g})"} if turned else {}
            anchor = "middle" if turned else "end"
            lines.append(_text(x, y, label, 14, text_anchor=anchor, fill=INK, **rotation))
    for n, label in enumerate(panel.columns):
        if label:
            lines.append(
                _text(left + (n + 0.5) * wide, top - 8, label, 14, text_anchor="middle", fill=INK)
            )
    for n, label in enumerate(panel.links):
        lines.append(_text(left + SIDE + 7, top + (n + 0.5) * high + 5, label, 13, fill=GREY))
        lines.append(
            _text(
                left + (n + 0.5) * wide,
                top + SIDE + 16,
                label,
                13,
                text_anchor="middle",
                fill=GREY,
            )
        )
    lines.append(_text(left, top + SIDE + 36, panel.says, 14, fill=INK))
    return lines


PIVOT_INK = FILLS[PIVOT]


def _cleared(x: float, y: float, arm: float) -> str:
    """Return a cross, the sign of an entry that a step clears."""
    return (
        f'<path d="M{x - arm:.1f} {y - arm:.1f}l{2 * arm:.1f} {2 * arm:.1f}m0 {-2 * arm:.1f}'
        f'l{-2 * arm:.1f} {2 * arm:.1f}" stroke="{PIVOT_INK}" stroke-width="2.5"/>'
    )


def svg(picture: Picture) -> str:
    """Return a picture as SVG: two panels a row, on white, the legend below."""
    rows = (len(picture.panels) + 1) // 2
    lines: list[str] = []
    for n, panel in enumerate(picture.panels):
        lines += _drawn_panel(panel, LEFT + GAP * (n % 2), TOP - 8 + HEIGHT_OF_PANEL * (n // 2))
    y = rows * HEIGHT_OF_PANEL + 16
    for n, (kind, meaning) in enumerate(picture.legend):
        x, line = (LEFT, y) if n % 2 == 0 else (LEFT + GAP, y)
        lines.append(
            f'<rect x="{x}" y="{line}" width="18" height="18" '
            f'fill="{FILLS[kind]}" stroke="{LINE}"/>'
        )
        if kind == CLEARED:
            lines.append(_cleared(x + 9, line + 9, 4))
        lines.append(_text(x + 26, line + 14, meaning, 14, fill=INK))
        y += 26 if n % 2 else 0
    y += 26 if len(picture.legend) % 2 else 0
    for note in picture.notes:
        lines.append(_text(LEFT, y + 14, note, 14, fill=INK))
        y += 22
    height = y + 8
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" '
            "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">",
            f"<title>{_escaped(picture.title)}</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            *lines,
            "</svg>",
            "",
        ]
    )


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, picture in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(svg(picture()), encoding="utf-8")


if __name__ == "__main__":
    main()
