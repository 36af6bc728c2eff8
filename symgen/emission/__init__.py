"""Output of Programs in target languages.

Each module of `emission/backends/` declares `BACKEND`: a `Printer` (functions in a language) or a
`Wrapper` (files that call printed functions). Every module in that folder is a backend.
`templates/<backend>/` has the layout of its files. The backends share the modules of `emission`.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from symgen.emission import backends
from symgen.emission.backend import Printer, Wrapper
from symgen.vocabulary.names import nearest

PRINTED = "c99"
"""The language of the printer, whose text is compiled, measured, proved and delivered."""


def names() -> tuple[str, ...]:
    """Return the names of all backends in alphabetical order."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(backends.__path__)))


def find(name: str) -> Printer | Wrapper:
    """Return the backend called `name`; RequestError suggests the nearest name if there is none."""
    backend: Printer | Wrapper = import_module(
        f"{backends.__name__}.{nearest(name, names(), 'backend')}"
    ).BACKEND
    return backend


@cache
def printer() -> Printer:
    """Return the printer, which is the backend of PRINTED."""
    backend = find(PRINTED)
    assert isinstance(backend, Printer)
    return backend


def wrappers() -> tuple[str, ...]:
    """Return the names of the wrappers in alphabetical order."""
    return tuple(name for name in names() if isinstance(find(name), Wrapper))


def wrapper(name: str) -> Wrapper:
    """Return the wrapper called `name`; RequestError suggests the nearest name if there is none."""
    backend = find(nearest(name, wrappers(), "wrapper of the C"))
    assert isinstance(backend, Wrapper)
    return backend


@cache
def environment(backend: str) -> Environment:
    """Return the Jinja environment of `templates/<backend>/`.

    Undefined names are errors, and values in HTML templates are escaped.
    """
    package = Path(__file__).resolve().parent.parent
    # The templates are inside the package in an installed wheel, and beside it in a checkout.
    root = next(
        (p for p in (package / "templates", package.parent / "templates") if p.is_dir()),
        package / "templates",
    )
    return Environment(
        # The second folder is for templates that backends share, such as "c99/turn.j2".
        loader=FileSystemLoader([root / backend, root]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        newline_sequence="\n",
        auto_reload=False,
        autoescape=select_autoescape(("html.j2",), default=False),
    )


def render(backend: str, template: str, **context: object) -> str:
    """Return the text of a template of a backend; `context` has its variables."""
    return environment(backend).get_template(template).render(**context)
