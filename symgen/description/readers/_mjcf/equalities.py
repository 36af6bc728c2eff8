"""`equality` of joints: one follows another, y − y₀ = a₀ + a₁ (x − x₀), where that is all there is to it.

Those that close loops are read elsewhere (`loops`). Others, which bind tendons, are spoken of and not applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from symgen.description.quantities import shown
from symgen.description.readers._mjcf.attributes import Attributes
from symgen.description.readers._mjcf.classes import MAIN, Classes
from symgen.description.readers._mjcf.document import Element
from symgen.description.readers._mjcf.remarks import listed
from symgen.description.tree import Connection
from symgen.mechanism.mechanism import Mimic, Note

LOOPS = ("connect", "weld")
"""Equalities that close loops."""
IDENTITY = (Fraction(0), Fraction(1))
"""a₀ and a₁ where `polycoef` does not give them."""


def coupled(
    connections: list[Connection],
    rests: Mapping[str, Fraction],
    sections: Iterable[Element],
    classes: Classes,
    notes: list[Note],
) -> list[Connection]:
    """The joints, those that follow others with what they follow. DescriptionError: a joint that there is not."""
    found = {one.name: one for one in connections}
    others: dict[str, list[str]] = {}
    for element in (child for section in sections for child in section.children):
        said = classes.of(element, MAIN, "equality")
        if not said.flag("active", True):
            continue
        if element.name == "joint":
            _follow(said, found, rests, notes)
        elif element.name not in LOOPS:
            others.setdefault(element.name, []).append(f"line {element.place.line}")
    notes += [
        Note("warning", f"equality of {kind}s is left out: {listed(where)}")
        for kind, where in others.items()
    ]
    return [found[one.name] for one in connections]


def _follow(
    said: Attributes, found: dict[str, Connection], rests: Mapping[str, Fraction], notes: list[Note]
) -> None:
    name, leader = said.text("joint1"), said.text("joint2")
    for which, joint in (("joint1", name), ("joint2", leader)):
        if joint not in found and (joint or which == "joint1"):
            raise said.place.error(
                f"its {which} is {shown(joint)}, and there is no such joint",
                "name a joint of the model",
            )
    numbers = said.numbers("polycoef", 1, 5) if "polycoef" in said else []
    start, slope, *curved = [*numbers, *IDENTITY[len(numbers) :]]
    if found[name].mimic is not None:
        notes.append(
            Note(
                "warning",
                f"{said.place.short}: joint {name} follows another already; this is left out",
            )
        )
        return
    if not leader:
        at = float(rests[name] + start)
        notes.append(
            Note(
                "warning",
                f"{said.place.short}: it holds joint {name} at {at:g}, which is left out; --lock does that",
            )
        )
        return
    mimic = Mimic(leader, slope, rests[name] + start - slope * rests[leader])
    unsure = "not in proportion to it, by a polynomial of higher order" if any(curved) else ""
    found[name] = replace(found[name], mimic=mimic, unsure=unsure)
