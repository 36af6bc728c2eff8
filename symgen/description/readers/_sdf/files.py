"""The files of an SDF: its root element and version, and the models that it includes from files beside it.

An `include` names a file or the folder of a model: a path, `file://…` or `model://NAME/…`. The last is looked for in the folder
of the file, in the one above, and in the folder that `--package NAME=…` gives. A folder holds `model.config`, which names the
file, or `model.sdf`. Nothing is fetched from a network.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from symgen.description.parsing.foreign import by_root
from symgen.description.parsing.xml import parse, tag
from symgen.description.quantities import Place, shown
from symgen.description.readers._sdf.text import Text, Version
from symgen.description.snapping import Snapper
from symgen.mechanism.mechanism import Note
from symgen.support.errors import printable

OLDEST, NEWEST = (1, 4), (1, 12)
MOST_FILES, DEEPEST = 200, 10
LARGEST = 50_000_000
_VERSION = re.compile(r"\s*([0-9]{1,3})\.([0-9]{1,3})(\.[0-9]{1,3})?\s*", re.ASCII)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class Files:
    """Opens the files of one description. `text` is the name of one that came as a text and has no folder."""

    def __init__(self, snapper: Snapper, packages: Mapping[str, str]) -> None:
        self.snapper, self.packages = snapper, packages
        self.notes: list[Note] = []
        self.read: list[bytes] = []
        """The files that are included, in the order of reading."""
        self.texts: list[Text] = []
        """The readers of the files, one a file."""
        self._opened = 0

    def root(self, data: bytes, file: str, included: bool = False) -> tuple[Any, Text]:
        """The element `sdf` of a file, and what reads it. DescriptionError where it is none, or of a version that is not read."""
        root, notes = parse(data, file, "an SDF")
        self.notes += notes
        place = Place(file, root.sourceline)
        if tag(root) not in ("sdf", "gazebo"):
            inside = tag(root) in ("world", "model")
            raise place.error(
                *(None if inside else by_root(tag(root)))
                or (
                    f"the root element is {shown(tag(root))}, not 'sdf'",
                    'write <sdf version="1.7"> around it' if inside else "give an SDF file",
                )
            )
        text = Text(file, self._version(root, place), self.snapper, self.notes, included)
        self.texts.append(text)
        if text.version > NEWEST:
            said = root.get("version", "").strip()
            text.note(
                "warning",
                place.at("sdf"),
                f"its version {said} is newer than 1.12, as which it is read",
            )
        return root, text

    def _version(self, root: Any, place: Place) -> Version:
        said = root.get("version")
        if said is None:
            raise place.at("sdf").error(
                "the attribute 'version' is missing, and what an axis means depends on it",
                'write version="1.7", say',
            )
        found = _VERSION.fullmatch(said)
        if found is None:
            raise place.at("sdf").error(
                f"the version {shown(said)} is none", "write one such as 1.7"
            )
        version = int(found[1]), int(found[2])
        if version < OLDEST:
            raise place.at("sdf").error(
                f"SDF {found[1]}.{found[2]} is older than 1.4, and symgen does not read that",
                "convert it: gz sdf -p FILE",
            )
        return version

    def included(self, element: Any, text: Text, place: Place, depth: int) -> tuple[Any, Text]:
        """The element `model` of the file that an `include` names, and what reads it."""
        uri = text.word(element, "uri", place)
        here = place.at(f"{place.element} {shown(uri)}")
        self._opened += 1
        if depth >= DEEPEST or self._opened > MOST_FILES:
            raise here.error(
                f"files are included more than {DEEPEST} deep, or more than {MOST_FILES} of them",
                "put the models into one file",
            )
        path = self._found(uri, text.file, here)
        data = _bytes(path, here)
        self.read.append(data)
        root, reads = self.root(data, str(path), included=True)
        models = [child for child in reads.children(root) if tag(child) == "model"]
        if len(models) != 1:
            raise here.error(
                f"{shown(path.name)} holds {len(models)} models, and an included file has one",
                "include a file of one model",
            )
        return models[0], reads

    def _found(self, uri: str, file: str, place: Place) -> Path:
        scheme = _SCHEME.match(uri)
        kind, rest = (scheme[1].lower(), unquote(uri[scheme.end() :])) if scheme else ("", uri)
        if kind not in ("", "file", "model", "package"):
            raise place.error(
                "it is no file here, and symgen fetches nothing", "download it and name the file"
            )
        if file.startswith("<"):
            raise place.error(
                "a description that came as a text has no folder to look in",
                "give the path of its file",
            )
        folder = Path(file).parent
        tried = [folder / rest]
        hint = "check the path, which is relative to this file"
        if kind in ("model", "package"):
            name, _, inside = rest.partition("/")
            given = [Path(self.packages[name]) / inside] if name in self.packages else []
            tried = [*given, *tried, folder.absolute().parent / rest]
            hint = (
                f"put its folder beside this file, or give --package {printable(name, 40)}=FOLDER"
            )
        for path in tried:
            found = _of_folder(path, place) if _is(path, "dir") else path
            if _is(found, "file"):
                return found
        raise place.error("the file that it includes is not there", hint)


def _of_folder(folder: Path, place: Place) -> Path:
    """The file of the model in a folder, of the newest version that its `model.config` lists."""
    config = folder / "model.config"
    if not _is(config, "file"):
        return folder / "model.sdf"
    listed = []
    for element in parse(_bytes(config, place), str(config), "a model.config")[0]:
        if isinstance(element.tag, str) and tag(element) == "sdf":
            found = _VERSION.fullmatch(element.get("version", "1.0"))
            listed.append(
                ((int(found[1]), int(found[2])) if found else (0, 0), (element.text or "").strip())
            )
    return folder / max(listed, default=((0, 0), "model.sdf"))[1]


def _is(path: Path, kind: str) -> bool:
    try:
        return path.is_dir() if kind == "dir" else path.is_file()
    except (OSError, ValueError):
        return False  # no name that a file can have


def _bytes(path: Path, place: Place) -> bytes:
    try:
        if path.stat().st_size > LARGEST:
            raise place.error(
                f"the file is larger than {LARGEST // 10**6} MB",
                "give one without embedded geometry",
            )
        return path.read_bytes()
    except OSError as error:
        raise place.error(f"it cannot be read ({error.strerror})", "check the path") from None
