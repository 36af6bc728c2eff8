"""Results of the papers, measured again on this machine: a picture, a CSV file, and a page that
compares both.

One result a file, found by discovery: `saha_counts.py` is `saha-counts`. A file has

    TITLE: str                                 # one line that says what the picture shows
    def reproduce(tell: Progress, …) -> Page   # sizes as keyword arguments, default as published
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
"""Called with the current work, the finished steps and all steps."""


@cache
def names() -> tuple[str, ...]:
    """Return the names of all results, sorted."""
    return tuple(
        sorted(
            e.name.replace("_", "-")
            for e in pkgutil.iter_modules(__path__)
            if not e.name.startswith("_")
        )
    )


def module(name: str) -> Any:
    """Return the module of a result. UnknownName suggests the nearest name."""
    return import_module(
        f"{__name__}.{nearest(name, names(), 'result to reproduce').replace('-', '_')}"
    )


def reproduce(
    name: str, folder: str | os.PathLike[str] = "reproduce", progress: Progress | None = None
) -> list[Path]:
    """Measure one result, write NAME.svg, NAME.png, NAME.csv and NAME.md into `folder`, and return
    their paths.

    The files are written together after the measurement. Raises RequestError for an unknown name, a
    folder that cannot be written, or without matplotlib, and BuildError without a C compiler if
    something is timed.
    """
    from symgen.pages.reproduce import _page

    result = module(name)
    pictures = _page.pictures()  # report a missing library before the long work
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(
            f"{path}: {error.strerror}; name a folder that can be written with -o"
        ) from None
    page = result.reproduce(progress or (lambda step, done, total: None))
    files = {
        f"{name}.md": page.markdown(name, result.TITLE).encode(),
        f"{name}.csv": page.csv().encode(),
        **{f"{name}.{ending}": drawn for ending, drawn in pictures(page).items()},
    }
    return [_replace(path / file, content) for file, content in files.items()]


def _replace(path: Path, content: bytes) -> Path:
    try:
        disk.write_file(path, content)
    except OSError as error:
        raise RequestError(
            f"{path}: {error.strerror}; name a folder that can be written with -o"
        ) from None
    return path
