"""Why nothing can be read under a name: one sentence that says what was looked for, where, and what is near it."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path

from symgen.description.quantities import shown
from symgen.support.errors import RequestError, UnknownName
from symgen.vocabulary.names import nearest

_LOOKED_AT = 2000
"""Entries of a folder among which a near name is looked for."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def missing(text: str, builtin: Collection[str], readable: Collection[str]) -> str:
    """What to say of a robot `text` that is neither a file nor a built-in robot; `readable`: the suffixes of descriptions."""
    if _ADDRESS.match(text):
        return f"{shown(text, 200)} is an address, and symgen reads files; save it and give the path of the file"
    path = Path(text)
    if path.name == text and not path.suffix:
        beside = [name for name in _descriptions(Path(), readable) if Path(name).stem == text]
        if beside:
            return f"there is no file or built-in robot {shown(text)}; did you mean '{beside[0]}'?"
        return f"there is no file or built-in robot {shown(text, 200)}; {_hint(text.partition(':')[0], builtin)}"
    folder = path.parent
    if not _is_folder(folder):
        check = "write the home folder out" if text.startswith("~") else "check the path"
        return f"there is no file {shown(text, 200)}, since there is no folder {shown(folder, 200)}; {check}"
    if path.name == text and path.stem in builtin:
        return f"there is no file {shown(text)} in this folder; did you mean the built-in robot '{path.stem}'?"
    stems = {Path(name).stem: folder / name for name in reversed(_descriptions(folder, readable))}
    close = difflib.get_close_matches(path.stem, stems, n=1, cutoff=0.6)
    if close:
        return f"there is no file {shown(text, 200)}; did you mean '{stems[close[0]]}'?"
    where = "in this folder" if folder == Path() else f"in {shown(folder, 200)}"
    return f"there is no file {shown(path.name, 200)} {where}; check the path, or take a robot of 'symgen robots'"


def in_folder(folder: Path, readable: Collection[str]) -> str:
    """What to give instead of a folder that symgen did not generate."""
    found = [str(folder / name) for name in _descriptions(folder, readable)]
    if not found:
        return "give a description file, or a folder that symgen generated"
    more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
    return f"give a description file, such as {', '.join(found[:3])}{more}, or a folder that symgen generated"


def link_hint(name: str, links: Iterable[str]) -> str:
    """What to do about a link that is not declared."""
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
    """The names of description files in a folder, sorted."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(_LOOKED_AT), entries, strict=False)]
    except OSError:
        return []
    return sorted(
        name for name in names if Path(name).suffix.lower() in readable and name.isprintable()
    )


def _is_folder(folder: Path) -> bool:
    try:
        return folder.is_dir()
    except OSError:
        return False


def _hint(name: str, builtin: Iterable[str]) -> str:
    """The nearest built-in robot in any letter case, or all of them."""
    names = list(builtin)
    try:
        nearest(name if name in names else name.lower(), names, "robot")
    except UnknownName as error:
        return str(error).partition("; ")[2]
    return "leave out what follows the name" if name in names else f"did you mean '{name.lower()}'?"
