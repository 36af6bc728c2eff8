"""The papers' results again, from this machine: a picture, its figures as CSV, and one page beside what the paper says.

One result a file, found by discovery: `saha_counts.py` is `saha-counts`. A file has

    TITLE: str                                       # what the picture shows, a line
    def reproduce(tell: Progress, …) -> Page         # sizes as keyword arguments, the defaults being what is published
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from symgen.support import files as disk
from symgen.support.errors import RequestError
from symgen.vocabulary.names import nearest

Progress = Callable[[str, int, int], None]
"""Called with what is being done, steps done and steps in all."""


@cache
def names() -> tuple[str, ...]:
    """Everything that can be reproduced, sorted."""
    return tuple(
        sorted(
            e.name.replace("_", "-")
            for e in pkgutil.iter_modules(__path__)
            if not e.name.startswith("_")
        )
    )


def module(name: str) -> Any:
    """The file of a result; RequestError suggests the nearest name."""
    return import_module(
        f"{__name__}.{nearest(name, names(), 'result to reproduce').replace('-', '_')}"
    )


def reproduce(
    name: str, folder: str | os.PathLike[str] = "reproduce", progress: Progress | None = None
) -> list[Path]:
    """Measure one result and write NAME.svg, NAME.png, NAME.csv and NAME.md into `folder`; returns their paths.

    The four files are written together once everything is measured. Raises RequestError for an unknown name, a folder
    that cannot be written, or without matplotlib, and BuildError without a C compiler where something is timed.
    """
    from symgen.pages.reproduce import _page

    found = module(name)
    pictures = _page.pictures()  # a missing library is said before the long work
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(
            f"{place}: {error.strerror}; name a folder that can be written with -o"
        ) from None
    page = found.reproduce(progress or (lambda what, done, total: None))
    files = {
        f"{name}.md": page.markdown(name, found.TITLE).encode(),
        f"{name}.csv": page.csv().encode(),
        **{f"{name}.{ending}": drawn for ending, drawn in pictures(page).items()},
    }
    return [_replace(place / file, content) for file, content in files.items()]


def _replace(path: Path, content: bytes) -> Path:
    try:
        disk.write_file(path, content)
    except OSError as error:
        raise RequestError(
            f"{path}: {error.strerror}; name a folder that can be written with -o"
        ) from None
    return path
