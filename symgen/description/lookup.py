"""Messages for robots and links that do not exist, with the most similar existing name as
remedy."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path

from symgen.description.quantities import quote
from symgen.support.errors import RequestError, UnknownName
from symgen.support.lists import shortened_list
from symgen.vocabulary.names import nearest

_MOST_ENTRIES = 2000
"""Largest number of entries of a folder that are read, so that a huge folder causes no delay."""
_WEB_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def missing_robot(text: str, builtin: Collection[str], readable: Collection[str]) -> str:
    """Return the message for a `text` that is neither a file nor a built-in robot.

    `builtin` are the names of the built-in robots, `readable` the suffixes of description files.
    """
    if _WEB_ADDRESS.match(text):
        return (
            f"{quote(text, 200)} is a web address, but symgen reads files; save it and give the"
            " path of the file"
        )
    path = Path(text)
    if path.name == text and not path.suffix:
        same_stem = [name for name in _descriptions(Path(), readable) if Path(name).stem == text]
        if same_stem:
            return (
                f"there is no file or built-in robot {quote(text)}; did you mean '{same_stem[0]}'?"
            )
        return (
            f"there is no file or built-in robot {quote(text, 200)};"
            f" {_builtin_hint(text.partition(':')[0], builtin)}"
        )
    folder = path.parent
    if not _is_folder(folder):
        check = (
            "write out the path of the home folder" if text.startswith("~") else "check the path"
        )
        return (
            f"there is no file {quote(text, 200)}: the folder {quote(folder, 200)} does not exist;"
            f" {check}"
        )
    if path.name == text and path.stem in builtin:
        return (
            f"there is no file {quote(text)} in this folder; did you mean the built-in robot"
            f" '{path.stem}'?"
        )
    stems = {Path(name).stem: folder / name for name in reversed(_descriptions(folder, readable))}
    close = difflib.get_close_matches(path.stem, stems)
    if close:
        return f"there is no file {quote(text, 200)}; did you mean '{stems[close[0]]}'?"
    folder_phrase = "in this folder" if folder == Path() else f"in {quote(folder, 200)}"
    return (
        f"there is no file {quote(path.name, 200)} {folder_phrase}; check the path, or use a robot"
        " that 'symgen robots' lists"
    )


def folder_remedy(folder: Path, readable: Collection[str]) -> str:
    """Return the remedy for a folder, given as a robot, that symgen did not generate."""
    files = [str(folder / name) for name in _descriptions(folder, readable)]
    if not files:
        return "give a description file, or a folder that symgen generated"
    return (
        f"give a description file, such as {shortened_list(files, 3)}, or a folder that symgen"
        " generated"
    )


def link_hint(name: str, links: Iterable[str]) -> str:
    """Return the remedy for a link that is not declared: the most similar of the declared `links`,
    if one is similar. Empty if the link is declared.
    """
    try:
        nearest(name, links, "link")
    except RequestError as error:
        return (
            str(error).partition("; ")[2]
            if "did you mean" in str(error)
            else "declare that link or name a declared one"
        )
    return ""


def _descriptions(folder: Path, readable: Collection[str]) -> list[str]:
    """Return the sorted names of the description files in a folder; empty if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(_MOST_ENTRIES), entries, strict=False)]
    except OSError:
        return []
    return sorted(
        name for name in names if Path(name).suffix.lower() in readable and name.isprintable()
    )


def _is_folder(folder: Path) -> bool:
    """True if the path is a folder; False if the path is invalid."""
    try:
        return folder.is_dir()
    except OSError:
        return False


def _builtin_hint(name: str, builtin: Iterable[str]) -> str:
    """Return the remedy for a name that is no built-in robot, or a built-in robot followed by ':'.

    It names the most similar built-in robot, ignoring case, or all of them.
    """
    names = list(builtin)
    try:
        nearest(name if name in names else name.lower(), names, "robot")
    except UnknownName as error:
        return str(error).partition("; ")[2]
    return "leave out what follows the name" if name in names else f"did you mean '{name.lower()}'?"
