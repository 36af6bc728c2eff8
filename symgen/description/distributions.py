"""Robots inside of packages that are installed: a name to the path of a file that lies on this machine. Nothing is fetched."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection
from importlib.metadata import PackageNotFoundError, PackagePath, files
from pathlib import Path

from symgen.description.quantities import shown
from symgen.support.errors import ArgumentError, UnknownName

_OF_ANYTHING = (".csv", ".toml")
"""Suffixes that in a package seldom are of a robot."""
SHOWN = 5
"""Files that a sentence lists before it counts the rest."""


def in_distribution(
    name: str | os.PathLike[str], distribution: str, readable: Collection[str]
) -> Path:
    """The description in a package, as pip calls it, that `name` stands for: the name of a file, with or without its suffix and
    the last folders before it. `readable` are the suffixes of descriptions.

    UnknownName where there is no such package or file, ArgumentError where there are several, or no description at all.
    """
    try:
        listed = files(distribution)
    except (PackageNotFoundError, ValueError):
        raise UnknownName(
            f"there is no package {shown(distribution)} in this Python; install it, or give the path of the "
            "file"
        ) from None
    known = sorted(
        one
        for one in listed or ()
        if one.suffix.lower() in readable and one.suffix.lower() not in _OF_ANYTHING
    )
    where = f"package {shown(distribution)} holds"
    if not known:
        raise ArgumentError(
            f"{where} no robots: where it downloads them when they are asked for, give the path that it tells"
        )
    asked = Path(os.fspath(name)).parts
    found = [one for one in known if asked and _ends(one, asked)]
    if not found:
        stems = sorted({one.stem for one in known})
        close = difflib.get_close_matches(asked[-1] if asked else "", stems, n=1, cutoff=0.5)
        hint = f"did you mean {shown(close[0])}?" if close else f"there are {_listed(stems)}"
        raise UnknownName(f"{where} no robot {shown(name)}; {hint}")
    if len(found) > 1:
        most = max(len(one.parts) for one in found)
        apart = next(
            k
            for k in range(len(asked), most + 1)
            if len({one.parts[-k:] for one in found}) == len(found)
        )
        texts = ["/".join(one.parts[-apart:]) for one in found]
        raise ArgumentError(
            f"{where} {len(found)} files {shown(name)}; give one of {_listed(texts)}"
        )
    return Path(str(found[0].locate()))


def _ends(one: PackagePath, asked: tuple[str, ...]) -> bool:
    """Whether a path ends as it was asked for."""
    *folders, last = one.parts[-len(asked) :]
    return (*folders, last) == asked or (*folders, one.stem) == asked


def _listed(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (
        f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    )
