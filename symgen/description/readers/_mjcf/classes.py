"""Default classes: defaults of attributes that an element does not set. A class inherits all
defaults of its outer class.
"""

from __future__ import annotations

from collections.abc import Iterable

from symgen.description.quantities import Location, quote
from symgen.description.readers._mjcf.attributes import (
    ORIENTATIONS,
    Attributes,
    override,
    own_attributes,
)
from symgen.description.readers._mjcf.document import Element

MAIN = "main"
_ACTUATORS = (
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "pid",
    "damper",
    "cylinder",
    "muscle",
    "dcmotor",
)
_READ_ATTRIBUTES = {
    "tendon": ("stiffness", "damping", "armature", "frictionloss"),
    **dict.fromkeys(_ACTUATORS, ("armature", "damping")),
    "equality": ("active",),
    "site": ("pos", "fromto", *ORIENTATIONS),
}
"""Attributes that are kept of elements that are not modelled themselves."""
_ELEMENTS = {"joint", "geom", *_READ_ATTRIBUTES}


class Classes:
    """The classes of a document, by name."""

    def __init__(self, sections: Iterable[Element]) -> None:
        self._defaults: dict[str, dict[str, Attributes]] = {MAIN: {}}
        for section in sections:
            name = section.attributes.get("class", MAIN)
            if name != MAIN:
                raise section.location.error(
                    f"the outermost class is named {quote(name)}, but its name must be 'main'",
                    "put this class inside another <default>",
                )
            self._read_class(section, MAIN)

    def _read_class(self, section: Element, name: str) -> None:
        """Read the defaults of a class, then the classes within it, which inherit them."""
        defaults = self._defaults[name]
        for child in section.children:
            if child.name in _ELEMENTS:
                kept_attributes = _READ_ATTRIBUTES.get(child.name)
                attributes = own_attributes(child)
                if kept_attributes is not None:
                    attributes = Attributes(
                        attributes.location,
                        {
                            key: value
                            for key, value in attributes.values.items()
                            if key in kept_attributes
                        },
                    )
                defaults[child.name] = (
                    override(defaults[child.name], attributes)
                    if child.name in defaults
                    else attributes
                )
        for child in section.children_named("default"):
            inner = child.attributes.get("class", "")
            if not inner:
                raise child.location.error(
                    "an inner class has no name", 'write <default class="…">'
                )
            if inner in self._defaults:
                raise child.location.error(
                    f"the class {quote(inner)} is declared twice", "give each class its own name"
                )
            self._defaults[inner] = dict(defaults)
            self._read_class(child, inner)

    def existing(self, name: str, location: Location) -> str:
        """Return the name of an existing class. Raises DescriptionError for an unknown name."""
        if name not in self._defaults:
            raise location.error(
                f"the class {quote(name)} is not declared",
                "declare it in <default>, or correct the name",
            )
        return name

    def of(self, element: Element, childclass: str, kind: str = "") -> Attributes:
        """Return all attributes of an element in a body whose class for its content is
        `childclass`.
        """
        attributes = own_attributes(element)
        name = (
            self.existing(attributes.text("class"), element.location)
            if "class" in attributes
            else childclass
        )
        defaults = self._defaults[name].get(kind or element.name)
        return attributes if defaults is None else override(defaults, attributes)
