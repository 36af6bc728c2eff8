"""Attributes of an element, its own or those of its class, as numbers and words with their
locations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symgen.description.quantities import Location, number, quote
from symgen.description.readers._mjcf.document import Element
from symgen.vocabulary.poses import Vector3

ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
"""Attributes that give the orientation of a frame; an element may have one of them."""
PARTIAL = ("damping", "size", "stiffness")
"""Arrays that an element may give in part: MuJoCo keeps the default's numbers after those of the
element.
"""


@dataclass(frozen=True)
class Attributes:
    """The attributes of one element: name -> (text, location where it is set)."""

    location: Location
    values: Mapping[str, tuple[str, Location]]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def at(self, name: str) -> Location:
        """Return the location where an attribute is set, for messages about it."""
        location = self.values[name][1] if name in self.values else self.location
        return location.at(f"{location.element} {name}")

    def text(self, name: str, default: str = "") -> str:
        """Return the text of an attribute; `default` if it is not set."""
        return self.values[name][0] if name in self.values else default

    def numbers(self, name: str, minimum: int, maximum: int | None = None) -> list[Fraction]:
        """Return `minimum` to `maximum` exact numbers (exactly `minimum` if `maximum` is None).
        Raises DescriptionError for a wrong count or a missing attribute.
        """
        return [number(token, self.at(name)) for token in self.tokens(name, minimum, maximum)]

    def tokens(self, name: str, minimum: int, maximum: int | None = None) -> list[str]:
        """Return the numbers of an attribute as written; see `numbers`."""
        maximum = minimum if maximum is None else maximum
        expected = (
            f"{minimum} number{'s' * (minimum != 1)}"
            if minimum == maximum
            else f"{minimum} to {maximum} numbers"
        )
        if name not in self.values:
            raise self.location.error(
                f"the attribute '{name}' is missing", f'write {name}="…", {expected}'
            )
        text = self.text(name)
        tokens = text.split()
        if not minimum <= len(tokens) <= maximum:
            raise self.at(name).error(
                f"it has {len(tokens)} number{'s' * (len(tokens) != 1)}"
                f" ({quote(' '.join(tokens[:20]))})",
                f"write {expected} separated by spaces",
            )
        return tokens

    def number(self, name: str, default: Fraction | None = None) -> Fraction:
        """Return a single number; `default` if the attribute is not set."""
        if name not in self.values and default is not None:
            return default
        return self.numbers(name, 1)[0]

    def vector(self, name: str, default: Vector3) -> Vector3:
        """Return three numbers; `default` if the attribute is not set."""
        if name not in self.values:
            return default
        x, y, z = self.numbers(name, 3)
        return x, y, z

    def word(self, name: str, words: Sequence[str], default: str) -> str:
        """Return one of `words`; `default` if the attribute is not set."""
        word = self.text(name, default).strip()
        if word not in words:
            raise self.at(name).error(
                f"{quote(word)} is not one of {', '.join(words)}", "write one of them"
            )
        return word

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a truth value; `default` if the attribute is not set."""
        return self.word(name, ("true", "false"), "true" if default else "false") == "true"


def own_attributes(element: Element) -> Attributes:
    """Return the attributes that an element sets itself."""
    orientations = [name for name in ORIENTATIONS if name in element.attributes]
    if len(orientations) > 1:
        raise element.location.error(
            f"it has both {orientations[0]} and {orientations[1]}", "keep one of the two"
        )
    return Attributes(
        element.location,
        {name: (text, element.location) for name, text in element.attributes.items()},
    )


def override(defaults: Attributes, attributes: Attributes) -> Attributes:
    """Return the attributes of a class, overridden by those of an element or of an inner class, as
    in MuJoCo.

    An orientation replaces any orientation of the class. A partial array keeps the remaining
    numbers of the class.
    """
    inherited = dict(defaults.values)
    if any(name in attributes for name in ORIENTATIONS):
        inherited = {name: values for name, values in inherited.items() if name not in ORIENTATIONS}
    merged = dict(attributes.values)
    for name in PARTIAL:
        if name in merged and name in inherited:
            text, location = merged[name]
            numbers, class_numbers = text.split(), inherited[name][0].split()
            merged[name] = " ".join((*numbers, *class_numbers[len(numbers) :])), location
    return Attributes(attributes.location, {**inherited, **merged})
