"""What an MJCF has besides its bodies that pulls at them and is not modelled: one line each, however many there are."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.description.readers._mjcf.attributes import Attributes
from symgen.description.readers._mjcf.classes import MAIN, Classes
from symgen.description.readers._mjcf.document import Element
from symgen.mechanism.mechanism import Note

SHOWN = 8
"""Names in one sentence before the rest is counted."""
_PULLS = ("stiffness", "damping", "armature", "frictionloss")
"""Of a tendon."""
_ADDS = ("armature", "damping")
"""Of an actuator, at what it drives."""


def listed(names: Sequence[str]) -> str:
    """The first of `names`, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def on(root: Element, classes: Classes) -> list[Note]:
    """Notes about tendons and actuators."""
    return [
        *_group(root, "tendon", "tendon", _PULLS, "of tendons is left out", classes),
        *_group(root, "actuator", "", _ADDS, "that actuators add to joints is left out", classes),
    ]


def _group(
    root: Element, section: str, kind: str, asked: Sequence[str], what: str, classes: Classes
) -> list[Note]:
    found: dict[str, list[str]] = {}
    for element in (child for one in root.all(section) for child in one.children):
        said = classes.of(element, MAIN, kind)
        for name in asked:
            if _any(said, name):
                found.setdefault(name, []).append(said.text("name") or f"line {element.place.line}")
    return [Note("warning", f"the {name} {what}: {listed(names)}") for name, names in found.items()]


def _any(said: Attributes, name: str) -> bool:
    return name in said and any(said.numbers(name, 1, 3))
