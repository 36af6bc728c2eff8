"""The elements of an MJCF, those of the files that it includes put where the includes stand.

An included file is looked for in the folder of the main file, then in that of the file that includes it, as MuJoCo 4 does. Each
file is included once. Its root element falls away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from symgen.description.parsing.xml import loose_text, parse, tag
from symgen.description.quantities import Place, shown
from symgen.mechanism.mechanism import Note

DEEPEST = 256
"""Elements within each other, over all files."""
_FLAT = "write it flat, a long chain as URDF or TOML"
MOST_FILES = 500
LARGEST = 50_000_000
"""Bytes of all included files together."""


@dataclass(frozen=True)
class Element:
    """One element: its attributes as they stand, its place, and what is inside."""

    name: str
    attributes: Mapping[str, str]
    place: Place
    children: tuple[Element, ...] = ()
    text: str = ""
    """The text in it, its elements apart."""

    def all(self, name: str) -> Iterator[Element]:
        """The children of that name."""
        return (child for child in self.children if child.name == name)


@dataclass
class Document:
    """Reads the main file and what it includes; `included` are the latter, in the order of reading."""

    file: str
    notes: list[Note] = field(default_factory=list)
    included: list[bytes] = field(default_factory=list)
    _known: set[Path] = field(default_factory=set)
    _bytes: int = 0

    def root(self, data: bytes) -> Element:
        """The root element of the main file's `data`, its includes resolved. DescriptionError names file, line and element."""
        root = self._parsed(data, self.file)
        return self._element(root, self.file, 0)

    def _parsed(self, data: bytes, file: str) -> Any:
        root, notes = parse(data, file, "an MJCF")
        self.notes += notes
        return root

    def _element(self, found: Any, file: str, depth: int) -> Element:
        name = tag(found)
        named = found.get("name")
        place = Place(
            file, found.sourceline, name + (f" {shown(named)}" if named is not None else "")
        )
        if depth >= DEEPEST:
            raise place.error(f"elements are nested more than {DEEPEST} deep", _FLAT)
        return Element(
            name,
            dict(found.attrib),
            place,
            tuple(self._children(found, file, depth)),
            loose_text(found),
        )

    def _children(self, found: Any, file: str, depth: int) -> Iterator[Element]:
        for child in found:
            if not isinstance(child.tag, str):
                continue
            element = self._element(child, file, depth + 1)
            if element.name == "include":
                yield from self._included(element, depth)
            else:
                yield element

    def _included(self, include: Element, depth: int) -> Iterator[Element]:
        if include.attributes.get("file") is None:
            raise include.place.error(
                "the attribute 'file' is missing", 'write <include file="…"/>'
            )
        if depth + 1 >= DEEPEST:
            raise include.place.error(f"elements are nested more than {DEEPEST} deep", _FLAT)
        path = self._path(include)
        data = self._contents(path, include.place)
        self.included.append(data)
        yield from self._children(self._parsed(data, str(path)), str(path), depth)

    def _path(self, include: Element) -> Path:
        name, place = (
            include.attributes["file"],
            include.place.at(f"include {shown(include.attributes['file'])}"),
        )
        if self.file.startswith("<"):
            raise place.error(
                "a text has no folder to look for an included file in",
                "give the description as a file",
            )
        if not name.strip() or "\0" in name:
            raise place.error("this is no name of a file", "name the file to include")
        path = self._nearest(name, place)
        try:
            same = path.resolve()
        except (OSError, RuntimeError):
            same = path
        if same in self._known or same == Path(self.file).resolve():
            raise place.error("this file is included already", "include each file once")
        if len(self._known) >= MOST_FILES:
            raise place.error(
                f"there are more than {MOST_FILES} included files", "join some of them"
            )
        self._known.add(same)
        return path

    def _nearest(self, name: str, place: Place) -> Path:
        """The path of an included file: below the main file's folder, else below that of the including file at `place`."""
        folders = dict.fromkeys((Path(self.file).parent, Path(place.file).parent))
        paths = [path for path in (folder / name for folder in folders) if _exists(path)]
        if not paths:
            where = " or ".join(shown(folder, 200) for folder in folders)
            raise place.error(
                f"there is no such file in {where}",
                "files are looked for beside the main file, then beside the file that includes them",
            )
        if len(paths) > 1:
            self.notes.append(
                Note(
                    "info",
                    f"{place.short}: a file of this name lies beside the main file and beside the one "
                    "that includes it; the first is read, as MuJoCo does",
                )
            )
        return paths[0]

    def _contents(self, path: Path, place: Place) -> bytes:
        place = place.at(f"include {shown(path)}")
        try:
            if not path.is_file():
                raise place.error("this is not an ordinary file", "include a file of MJCF")
            self._bytes += path.stat().st_size
            if self._bytes > LARGEST:
                raise place.error(
                    f"the included files are larger than {LARGEST // 10**6} MB",
                    "leave geometry out of them",
                )
            data = path.read_bytes()
        except OSError as error:
            raise place.error(
                f"it cannot be read ({error.strerror})", "check its name and permissions"
            ) from None
        if not data.strip():
            raise place.error("this file is empty", "leave the include out")
        return data


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return True  # reading it says why it cannot be read
