"""Default classes: what holds for an element that does not say it itself. A class begins with all that its outer class says."""

from __future__ import annotations

from collections.abc import Iterable

from symgen.description.quantities import Place, shown
from symgen.description.readers._mjcf.attributes import ORIENTATIONS, Attributes, over, own
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
_KEPT = {
    "tendon": ("stiffness", "damping", "armature", "frictionloss"),
    **dict.fromkeys(_ACTUATORS, ("armature", "damping")),
    "equality": ("active",),
    "site": ("pos", "fromto", *ORIENTATIONS),
}
"""Of elements that are only spoken of: the attributes that are asked for."""
_OF = {"joint", "geom", *_KEPT}


class Classes:
    """The classes of a document, by name."""

    def __init__(self, sections: Iterable[Element]) -> None:
        self._of: dict[str, dict[str, Attributes]] = {MAIN: {}}
        for section in sections:
            name = section.attributes.get("class", MAIN)
            if name != MAIN:
                raise section.place.error(
                    f"the outermost class is called {shown(name)}, and it is always 'main'",
                    "put this class inside a <default> of its own",
                )
            self._read(section, MAIN)

    def _read(self, section: Element, name: str) -> None:
        """The elements of a class first, then the classes within it, which begin with them."""
        mine = self._of[name]
        for child in section.children:
            if child.name in _OF:
                kept = _KEPT.get(child.name)
                said = own(child)
                if kept is not None:
                    said = Attributes(
                        said.place, {key: value for key, value in said.said.items() if key in kept}
                    )
                mine[child.name] = over(mine[child.name], said) if child.name in mine else said
        for child in section.all("default"):
            inner = child.attributes.get("class", "")
            if not inner:
                raise child.place.error(
                    "a class within another has no name", 'write <default class="…">'
                )
            if inner in self._of:
                raise child.place.error(
                    f"there is a class {shown(inner)} already", "give each class its own name"
                )
            self._of[inner] = dict(mine)
            self._read(child, inner)

    def known(self, name: str, place: Place) -> str:
        """The name of a class that there is. DescriptionError: there is none of that name."""
        if name not in self._of:
            raise place.error(
                f"there is no class {shown(name)}", "declare it in <default>, or correct the name"
            )
        return name

    def of(self, element: Element, childclass: str, kind: str = "") -> Attributes:
        """All that holds for an element in a body whose class for what is inside is `childclass`."""
        said = own(element)
        name = self.known(said.text("class"), element.place) if "class" in said else childclass
        below = self._of[name].get(kind or element.name)
        return said if below is None else over(below, said)
