"""Warnings about parts of an MJCF outside of its bodies that exert forces and are not modelled: one
line per kind.
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.description.readers._mjcf.attributes import Attributes
from symgen.description.readers._mjcf.classes import MAIN, Classes
from symgen.description.readers._mjcf.document import Element
from symgen.mechanism.mechanism import Note
from symgen.support.lists import shortened_list

SHOWN = 8
"""Number of names in a message before it counts the rest."""
_PULLS = ("stiffness", "damping", "armature", "frictionloss")
"""Attributes of a tendon that exert forces."""
_ADDS = ("armature", "damping")
"""Attributes of an actuator that add to its joint."""


def list_names(names: Sequence[str]) -> str:
    """Return the first of `names`, and the number of the others."""
    return shortened_list(names, SHOWN)


def note_unmodelled_forces(root: Element, classes: Classes) -> list[Note]:
    """Return notes about tendons and actuators."""
    return [
        *_group(root, "tendon", "tendon", _PULLS, "of tendons is left out", classes),
        *_group(root, "actuator", "", _ADDS, "that actuators add to joints is left out", classes),
    ]


def _group(
    root: Element, section: str, kind: str, attributes: Sequence[str], text: str, classes: Classes
) -> list[Note]:
    """Return one warning per attribute that some element of a section sets."""
    users: dict[str, list[str]] = {}
    for element in (child for group in root.children_named(section) for child in group.children):
        values = classes.of(element, MAIN, kind)
        for name in attributes:
            if _is_nonzero(values, name):
                users.setdefault(name, []).append(
                    values.text("name") or f"line {element.location.line}"
                )
    return [
        Note("warning", f"the {name} {text}: {list_names(names)}") for name, names in users.items()
    ]


def _is_nonzero(values: Attributes, name: str) -> bool:
    """True if an attribute has a nonzero number."""
    return name in values and any(values.numbers(name, 1, 3))
