"""Files of an SDF: the root element and version of each file, and the models that it includes.

An `include` names a file or the folder of a model: a path, `file://…` or `model://NAME/…`. The last
is searched in the folder of the file, in its parent folder, and in the folder that `--package
NAME=…` gives. A folder contains `model.config`, which names the file, or `model.sdf`. Nothing is
downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from symgen.description.parsing.foreign import by_root
from symgen.description.parsing.xml import parse, tag
from symgen.description.quantities import Location, quote
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
    """Reader of the files of one description. A description given as text has no folder."""

    def __init__(self, snapper: Snapper, packages: Mapping[str, str]) -> None:
        self.snapper, self.packages = snapper, packages
        self.notes: list[Note] = []
        self.included_contents: list[bytes] = []
        """Contents of the included files, in the order of reading."""
        self.texts: list[Text] = []
        """Reader of each file."""
        self._opened = 0

    def root(self, data: bytes, file: str, included: bool = False) -> tuple[Any, Text]:
        """Return the element `sdf` of a file, and its reader. Raises DescriptionError for another
        root element or an unsupported version.
        """
        root, notes = parse(data, file, "an SDF")
        self.notes += notes
        location = Location(file, root.sourceline)
        if tag(root) not in ("sdf", "gazebo"):
            is_part = tag(root) in ("world", "model")
            raise location.error(
                *(None if is_part else by_root(tag(root)))
                or (
                    f"the root element is {quote(tag(root))}, not 'sdf'",
                    'write <sdf version="1.7"> around it' if is_part else "give an SDF file",
                )
            )
        text = Text(file, self._version(root, location), self.snapper, self.notes, included)
        self.texts.append(text)
        if text.version > NEWEST:
            declared = root.get("version", "").strip()
            text.note(
                "warning",
                location.at("sdf"),
                f"its version {declared} is newer than 1.12; it is read as 1.12",
            )
        return root, text

    def _version(self, root: Any, location: Location) -> Version:
        """Return the declared version. Raises DescriptionError if it is missing or too old."""
        declared = root.get("version")
        if declared is None:
            raise location.at("sdf").error(
                "the attribute 'version' is missing, and the meaning of an axis depends on it",
                'add it, such as version="1.7"',
            )
        match = _VERSION.fullmatch(declared)
        if match is None:
            raise location.at("sdf").error(
                f"{quote(declared)} is not a version", "write one such as 1.7"
            )
        version = int(match[1]), int(match[2])
        if version < OLDEST:
            raise location.at("sdf").error(
                f"SDF {match[1]}.{match[2]} is older than 1.4, the oldest that symgen reads",
                "convert it: gz sdf -p FILE",
            )
        return version

    def included(
        self, element: Any, text: Text, location: Location, depth: int
    ) -> tuple[Any, Text]:
        """Return the element `model` of the file that an `include` names, and its reader."""
        uri = text.word(element, "uri", location)
        include_location = location.at(f"{location.element} {quote(uri)}")
        self._opened += 1
        if depth >= DEEPEST or self._opened > MOST_FILES:
            raise include_location.error(
                f"files are included more than {DEEPEST} deep, or more than {MOST_FILES} of them",
                "put the models into one file",
            )
        path = self._resolve(uri, text.file, include_location)
        data = _bytes(path, include_location)
        self.included_contents.append(data)
        root, reads = self.root(data, str(path), included=True)
        models = [child for child in reads.children(root) if tag(child) == "model"]
        if len(models) != 1:
            raise include_location.error(
                f"{quote(path.name)} has {len(models)} models, but an included file must have one",
                "include a file with one model",
            )
        return models[0], reads

    def _resolve(self, uri: str, file: str, location: Location) -> Path:
        """Return the path of an included file. Raises DescriptionError if it does not exist."""
        scheme = _SCHEME.match(uri)
        kind, relative_path = (
            (scheme[1].lower(), unquote(uri[scheme.end() :])) if scheme else ("", uri)
        )
        if kind not in ("", "file", "model", "package"):
            raise location.error(
                "it is a web address, and symgen downloads nothing", "download it and give the file"
            )
        if file.startswith("<"):
            raise location.error(
                "a description given as text has no folder with included files",
                "give the path of its file",
            )
        folder = Path(file).parent
        candidates = [folder / relative_path]
        hint = "check the path, which is relative to this file"
        if kind in ("model", "package"):
            name, _, subpath = relative_path.partition("/")
            package_paths = [Path(self.packages[name]) / subpath] if name in self.packages else []
            candidates = [*package_paths, *candidates, folder.absolute().parent / relative_path]
            hint = (
                f"put its folder beside this file, or give --package {printable(name, 40)}=FOLDER"
            )
        for path in candidates:
            file_path = _file_of_model_folder(path, location) if _exists(path, "dir") else path
            if _exists(file_path, "file"):
                return file_path
        raise location.error("the included file does not exist", hint)


def _file_of_model_folder(folder: Path, location: Location) -> Path:
    """Return the file of the model in a folder, of the newest version that its `model.config`
    lists.
    """
    config = folder / "model.config"
    if not _exists(config, "file"):
        return folder / "model.sdf"
    versions = []
    for element in parse(_bytes(config, location), str(config), "a model.config")[0]:
        if tag(element) == "sdf":
            match = _VERSION.fullmatch(element.get("version", "1.0"))
            versions.append(
                ((int(match[1]), int(match[2])) if match else (0, 0), (element.text or "").strip())
            )
    return folder / (max(versions)[1] if versions else "model.sdf")


def _exists(path: Path, kind: str) -> bool:
    try:
        return path.is_dir() if kind == "dir" else path.is_file()
    except (OSError, ValueError):
        return False  # not a valid file name


def _bytes(path: Path, location: Location) -> bytes:
    try:
        if path.stat().st_size > LARGEST:
            raise location.error(
                f"the file is larger than {LARGEST // 10**6} MB",
                "give one without embedded geometry",
            )
        return path.read_bytes()
    except OSError as error:
        raise location.error(f"it cannot be read ({error.strerror})", "check the path") from None
