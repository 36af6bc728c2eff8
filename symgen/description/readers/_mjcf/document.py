"""The elements of an MJCF, with the elements of included files in place of the includes.

An included file is searched in the folder of the main file, then in that of the file that includes
it, as in MuJoCo 4. Each file is included once. Its root element is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from symgen.description.parsing.xml import loose_text, parse, tag
from symgen.description.quantities import Location, quote
from symgen.mechanism.mechanism import Note

DEEPEST = 256
"""Largest depth of nested elements, over all files."""
_FLAT = "reduce the nesting; write a long chain as URDF or TOML"
MOST_FILES = 500
LARGEST = 50_000_000
"""Largest total size of all included files in bytes."""


@dataclass(frozen=True)
class Element:
    """One element: its attributes, its location, and its content."""

    name: str
    attributes: Mapping[str, str]
    location: Location
    children: tuple[Element, ...] = ()
    text: str = ""
    """The text in the element, without that of its children."""

    def children_named(self, name: str) -> Iterator[Element]:
        """Yield the children of that name."""
        return (child for child in self.children if child.name == name)


@dataclass
class Document:
    """Reader of the main file and of the files that it includes; `included` has the latter in the
    order of reading.
    """

    file: str
    notes: list[Note] = field(default_factory=list)
    included: list[bytes] = field(default_factory=list)
    _read_paths: set[Path] = field(default_factory=set)
    _bytes: int = 0

    def root(self, data: bytes) -> Element:
        """Return the root element of the main file's `data` with its includes resolved.
        DescriptionError names file, line and element.
        """
        root = self._parsed(data, self.file)
        return self._element(root, self.file, 0)

    def _parsed(self, data: bytes, file: str) -> Any:
        root, notes = parse(data, file, "an MJCF")
        self.notes += notes
        return root

    def _element(self, node: Any, file: str, depth: int) -> Element:
        name = tag(node)
        own_name = node.get("name")
        location = Location(
            file, node.sourceline, name + (f" {quote(own_name)}" if own_name is not None else "")
        )
        if depth >= DEEPEST:
            raise location.error(f"elements are nested more than {DEEPEST} deep", _FLAT)
        return Element(
            name,
            dict(node.attrib),
            location,
            tuple(self._children(node, file, depth)),
            loose_text(node),
        )

    def _children(self, node: Any, file: str, depth: int) -> Iterator[Element]:
        for child in node:
            element = self._element(child, file, depth + 1)
            if element.name == "include":
                yield from self._included(element, depth)
            else:
                yield element

    def _included(self, include: Element, depth: int) -> Iterator[Element]:
        if include.attributes.get("file") is None:
            raise include.location.error(
                "the attribute 'file' is missing", 'write <include file="…"/>'
            )
        if depth + 1 >= DEEPEST:
            raise include.location.error(f"elements are nested more than {DEEPEST} deep", _FLAT)
        path = self._path(include)
        data = self._contents(path, include.location)
        self.included.append(data)
        yield from self._children(self._parsed(data, str(path)), str(path), depth)

    def _path(self, include: Element) -> Path:
        """Return the path of an included file. Raises DescriptionError if it is missing or already
        included.
        """
        name, location = (
            include.attributes["file"],
            include.location.at(f"include {quote(include.attributes['file'])}"),
        )
        if self.file.startswith("<"):
            raise location.error(
                "a description given as text has no folder with included files",
                "give the description as a file",
            )
        if not name.strip() or "\0" in name:
            raise location.error("this is not a file name", "name the file to include")
        path = self._nearest(name, location)
        try:
            resolved = path.resolve()
        except (OSError, RuntimeError):
            resolved = path
        if resolved in self._read_paths or resolved == Path(self.file).resolve():
            raise location.error("this file is included already", "include each file once")
        if len(self._read_paths) >= MOST_FILES:
            raise location.error(
                f"there are more than {MOST_FILES} included files", "join some of them"
            )
        self._read_paths.add(resolved)
        return path

    def _nearest(self, name: str, location: Location) -> Path:
        """Return the path of an included file: below the main file's folder, else below that of the
        including file.
        """
        folders = dict.fromkeys((Path(self.file).parent, Path(location.file).parent))
        paths = [path for path in (folder / name for folder in folders) if _exists(path)]
        if not paths:
            searched_folders = " or ".join(quote(folder, 200) for folder in folders)
            raise location.error(
                f"there is no such file in {searched_folders}",
                "files are searched in the folder of the main file, then in that of the file that"
                " includes them",
            )
        if len(paths) > 1:
            self.notes.append(
                Note(
                    "info",
                    f"{location.short}: a file of this name exists in the folder of the main file"
                    " and in that of the file that includes it; the first is read, as in MuJoCo",
                )
            )
        return paths[0]

    def _contents(self, path: Path, location: Location) -> bytes:
        """Return the bytes of an included file."""
        location = location.at(f"include {quote(path)}")
        try:
            if not path.is_file():
                raise location.error("this is not a regular file", "include an MJCF file")
            self._bytes += path.stat().st_size
            if self._bytes > LARGEST:
                raise location.error(
                    f"the included files are larger than {LARGEST // 10**6} MB",
                    "leave geometry out of them",
                )
            data = path.read_bytes()
        except OSError as error:
            raise location.error(
                f"it cannot be read ({error.strerror})", "check its name and permissions"
            ) from None
        if not data.strip():
            raise location.error("this file is empty", "remove the include")
        return data


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return True  # reading it says why it cannot be read
