"""Names of what has none in the file, and of what the file does not know of: each once, and the same at each reading."""

from __future__ import annotations

from symgen.description.readers._mjcf.document import Element

WORLD = "world"


class Names:
    """Gives out names that stand nowhere in the document."""

    def __init__(self, root: Element) -> None:
        self._links, self._joints = {WORLD}, set[str]()
        waiting = [root]
        while waiting:
            element = waiting.pop()
            if element.name == "body":
                self._links.add(element.attributes.get("name", ""))
            elif element.name in ("joint", "freejoint"):
                self._joints.add(element.attributes.get("name", ""))
            waiting += element.children

    def link(self, wanted: str) -> str:
        """`wanted`, or with as many strokes behind it as make it a link's own."""
        return _new(wanted, self._links)

    def joint(self, wanted: str) -> str:
        """The same of a joint."""
        return _new(wanted, self._joints)


def _new(wanted: str, taken: set[str]) -> str:
    while wanted in taken:
        wanted += "_"
    taken.add(wanted)
    return wanted
