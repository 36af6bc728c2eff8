"""Names of unnamed elements and additional links: each is unique, and the same at each reading."""

from __future__ import annotations

from symgen.description.readers._mjcf.document import Element

WORLD = "world"


class Names:
    """Generator of names that do not occur in the document."""

    def __init__(self, root: Element) -> None:
        self._links, self._joints = {WORLD}, set[str]()
        waiting = [root]
        while waiting:
            element = waiting.pop()
            if element.name in ("body", "site"):  # sites are frames, which share names with links
                self._links.add(element.attributes.get("name", ""))
            elif element.name in ("joint", "freejoint"):
                self._joints.add(element.attributes.get("name", ""))
            waiting += element.children

    def link(self, name: str) -> str:
        """Return `name`, with underscores appended until no link or site has it."""
        return _unused(name, self._links)

    def joint(self, name: str) -> str:
        """Return `name`, with underscores appended until no joint has it."""
        return _unused(name, self._joints)


def _unused(name: str, used_names: set[str]) -> str:
    while name in used_names:
        name += "_"
    used_names.add(name)
    return name
