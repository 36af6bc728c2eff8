"""Attributes of an element, its own or those of its class, read as numbers and words with the place where each stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symgen.description.quantities import Place, number, shown
from symgen.description.readers._mjcf.document import Element
from symgen.vocabulary.poses import Vector3

ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
"""Ways to say how a frame is turned: one of them at a time."""
PARTIAL = ("damping", "size", "stiffness")
"""Arrays that an element may give in part: MuJoCo keeps the default's numbers behind those that the element gives."""


@dataclass(frozen=True)
class Attributes:
    """The attributes that hold for one element: name -> (text, the element where it stands)."""

    place: Place
    said: Mapping[str, tuple[str, Place]]

    def __contains__(self, name: str) -> bool:
        return name in self.said

    def at(self, name: str) -> Place:
        """Where an attribute stands, for sentences about it."""
        place = self.said[name][1] if name in self.said else self.place
        return place.at(f"{place.element} {name}")

    def text(self, name: str, default: str = "") -> str:
        return self.said[name][0] if name in self.said else default

    def numbers(self, name: str, least: int, most: int | None = None) -> list[Fraction]:
        """Its `least` to `most` numbers (without `most`: just so many), exact. DescriptionError: others, or it is missing."""
        return [number(token, self.at(name)) for token in self.tokens(name, least, most)]

    def tokens(self, name: str, least: int, most: int | None = None) -> list[str]:
        """The same as they are written."""
        most = least if most is None else most
        wanted = (
            f"{least} number{'s' * (least != 1)}" if least == most else f"{least} to {most} numbers"
        )
        if name not in self.said:
            raise self.place.error(
                f"the attribute '{name}' is missing", f'write {name}="…", {wanted}'
            )
        text = self.text(name)
        found = text.split()
        if not least <= len(found) <= most:
            raise self.at(name).error(
                f"it has {len(found)} number{'s' * (len(found) != 1)} ({shown(' '.join(found[:20]))})",
                f"write {wanted} with spaces between",
            )
        return found

    def number(self, name: str, default: Fraction | None = None) -> Fraction:
        """Its one number; `default` where it is not said."""
        if name not in self.said and default is not None:
            return default
        return self.numbers(name, 1)[0]

    def vector(self, name: str, default: Vector3) -> Vector3:
        """Its three numbers."""
        if name not in self.said:
            return default
        x, y, z = self.numbers(name, 3)
        return x, y, z

    def word(self, name: str, words: Sequence[str], default: str) -> str:
        """One of `words`."""
        found = self.text(name, default).strip()
        if found not in words:
            raise self.at(name).error(
                f"{shown(found)} is none of {', '.join(words)}", "write one of them"
            )
        return found

    def flag(self, name: str, default: bool = False) -> bool:
        return self.word(name, ("true", "false"), "true" if default else "false") == "true"


def own(element: Element) -> Attributes:
    """The attributes that stand at an element itself."""
    turned = [name for name in ORIENTATIONS if name in element.attributes]
    if len(turned) > 1:
        raise element.place.error(
            f"it is turned by {turned[0]} and by {turned[1]}", "keep one of the two"
        )
    return Attributes(
        element.place, {name: (text, element.place) for name, text in element.attributes.items()}
    )


def over(below: Attributes, above: Attributes) -> Attributes:
    """The attributes of a class, overridden by those of an element or of an inner class, as MuJoCo does.

    A turn in words of its own takes the place of the class's. A partial array keeps the rest of the class's numbers.
    """
    kept = dict(below.said)
    if any(name in above for name in ORIENTATIONS):
        kept = {name: said for name, said in kept.items() if name not in ORIENTATIONS}
    whole = dict(above.said)
    for name in PARTIAL:
        if name in whole and name in kept:
            text, place = whole[name]
            numbers, defaults = text.split(), kept[name][0].split()
            whole[name] = " ".join((*numbers, *defaults[len(numbers) :])), place
    return Attributes(above.place, {**kept, **whole})
