"""Bond angles of a free polymer in a plane with rigid bonds, with Fixman's potential and without: what it is there for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from symgen.benchmarks.bench import machine_facts
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._page import Page, legend_below
from symgen.pages.reproduce._planar import BUILD
from symgen.pages.reproduce._polymer import STEP, STEPS, compiled, density, moved, rigid_law
from symgen.reference.precision import Array

TITLE = "Bond angles of a polymer with rigid bonds, with Fixman's potential and without"
UP_TO = tuple(range(10, 181, 10))
"""Degrees at which the classes of angles end."""
BONDS = (2, 6)
CHAINS, ROUNDS, FORGOTTEN = 6000, 60, 15
"""Rounds in all, and of them at the beginning, where the chains still know that they were straight."""
WITHOUT, WITH = "#c8641e", "#1f5a94"


class Sampled(NamedTuple):
    """One polymer's densities of its middle bond angle by class, their standard errors, and the laws."""

    bonds: int
    without: tuple[Array, Array]
    having: tuple[Array, Array]
    law: Array
    drift: float

    @property
    def far(self) -> tuple[float, float, float]:
        """Root mean squares, in standard errors: without the potential from its law, and from the flat one; with it from that."""
        return tuple(
            float(np.sqrt((((seen - law) / error) ** 2).mean()))
            for (seen, error), law in (  # type: ignore[return-value]
                (self.without, self.law),
                (self.without, 1.0),
                (self.having, 1.0),
            )
        )


def sampled(bonds: int, edges: Array, chains: int, rounds: int, forgotten: int) -> Sampled:
    """Both motions of one polymer, and the law of each class: the mean over ten places in it."""
    middle, solver = (bonds - 1) // 2, compiled(bonds)
    without, having = (moved(solver, chains, rounds, fixman) for fixman in (False, True))
    inside = np.array(
        [low + (high - low) * (np.arange(10) + 0.5) / 10 for low, high in pairwise(edges)]
    )
    law = rigid_law(bonds, middle, inside.ravel()).reshape(inside.shape).mean(axis=1)
    seen = [density(one.angles[forgotten:, :, middle], edges) for one in (without, having)]
    return Sampled(bonds, seen[0], seen[1], law, max(without.drift, having.drift))


def reproduce(
    tell: Progress,
    up_to: Sequence[int] = UP_TO,
    bonds: Sequence[int] = BONDS,
    chains: int = CHAINS,
    rounds: int = ROUNDS,
    forgotten: int = FORGOTTEN,
) -> Page:
    """The trimer and a longer chain."""
    edges = np.radians([0, *up_to])
    found = []
    for done, n in enumerate(bonds):
        tell(f"{n} bonds", done, len(bonds))
        found.append(sampled(n, edges, chains, rounds, forgotten))
    columns, notes = (
        ["up_to"],
        {"up_to": "where the class of angles ends (degrees; the first begins at 0, straight)"},
    )
    for n in bonds:
        which = f"{n} bonds, angle {(n - 1) // 2 + 1} of {n - 1}: density, 1 where all angles are as likely"
        for name, said in (
            ("law", f"√det M, other angles integrated out; {which}"),
            ("rigid", f"sampled, bonds rigid; {which}"),
            ("rigid_error", "its standard error"),
            ("fixman", f"sampled with Fixman's potential; {which}"),
            ("fixman_error", "its standard error"),
        ):
            columns.append(f"{name}_{n}")
            notes[columns[-1]] = said
    table = [
        list(up_to),
        *(list(map(float, x)) for one in found for x in (one.law, *one.without, *one.having)),
    ]
    fars = {one.bonds: one.far for one in found}

    def each(k: int) -> str:
        return " and ".join(f"{fars[n][k]:.1f}" for n in bonds)

    return Page(
        source="K. Lee, G. S. Chirikjian, 2005, (8), after M. Fixman, 1974",
        says="For a freely jointed chain of point masses, whose bond lengths are held, the determinant of the metric tensor "
        "(of the mass matrix) is that of all coordinates times that of H_bb, a band matrix: det G_aa = det G · det H_bb. "
        "No figures are given.",
        found="Of a free chain of unit masses in a plane det G = 1, and for two bonds √det H_bb = √(4 − cos² θ): a right angle "
        f"is {2 / np.sqrt(3):.3f} times as likely as a straight chain. Of chains of {' and '.join(map(str, bonds))} "
        f"bonds, the densities that their motion alone makes are {each(0)} standard errors from √det M and {each(1)} from "
        f"the flat law (root mean squares over {len(up_to)} classes, of which chance makes 1.0). With the compiled "
        f"gradient of ln det M as Fixman's force they are {each(2)} from the flat law.",
        differs="That rigid bonds prefer configurations by √det M, while bonds that are stiff springs leave them equally "
        "likely, and that the potential (kT/2) ln det H_bb makes the one like the other, is what polymer physics has "
        f"the theorem for; the paper goes on to solve with M. Here no weight is put in: {chains} chains start straight, "
        f"move by the compiled forward dynamics ({STEPS} steps of {STEP:g} s of Runge and Kutta's method a round, kT = "
        f"1 J) and get velocities from N(0, kT M⁻¹) in each of {rounds} rounds, of which the first {forgotten} are "
        f"forgotten. In no round the energy of a chain was off by more than {max(one.drift for one in found):.0e} J. "
        "The paper's chain hangs on a base; this one is free, as polymers are, so that H_bb has 2 in each place of its "
        "diagonal.",
        columns=tuple(columns),
        rows=tuple(zip(*table, strict=True)),
        notes=notes,
        draw=lambda figure: _draw(figure, np.degrees(edges), found),
        height=8.2,
        machine=machine_facts(BUILD, ()),
    )


def _draw(figure: Any, edges: Array, found: Sequence[Sampled]) -> None:
    charts = np.atleast_1d(figure.subplots(len(found), 1, sharex=True, sharey=True))
    middles, fine = (edges[1:] + edges[:-1]) / 2, np.linspace(0, 180, 181)
    for chart, one in zip(charts, found, strict=True):
        which = (one.bonds - 1) // 2
        chart.plot(
            fine,
            rigid_law(one.bonds, which, np.radians(fine)),
            "-",
            color=WITHOUT,
            alpha=0.6,
            linewidth=2,
            label="√det M: the law of rigid bonds",
        )
        chart.axhline(
            1.0, color=WITH, alpha=0.6, linewidth=2, label="flat: the law of stiff springs"
        )
        for (seen, error), mark, colour, aside, label in (
            (one.without, "o", WITHOUT, -1, "rigid bonds, sampled by their motion"),
            (one.having, "s", WITH, 1, "the same with Fixman's potential"),
        ):
            chart.errorbar(
                middles + aside,
                seen,
                2 * error,
                fmt=mark,
                color=colour,
                markersize=6,
                capsize=3,
                linewidth=1.2,
                label=label,
            )
        chart.set_title(
            "2 bonds"
            if one.bonds == 2
            else f"{one.bonds} bonds, angle {which + 1} of {one.bonds - 1}",
            loc="left",
        )
        chart.set_ylabel("density (flat = 1)")
    charts[-1].set_xlim(0, 180)
    charts[-1].set_xticks(range(0, 181, 30))
    charts[-1].set_xlabel(
        "angle between neighbouring links (degrees; 0: straight)\nbars: two standard errors to both sides"
    )
    legend_below(figure, charts[0])
