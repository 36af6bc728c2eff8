"""Program → text in a target language.

Each file of `emission/backends/` declares `BACKEND`: a `Printer` (functions in a language) or a
`Wrapper` (files that call printed functions). A backend is found by its presence in that folder.
The layout of a backend lives in `templates/<backend>/`; the other files of this room are shared by
the backends.
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
"""The language of what is compiled, measured, proved and delivered."""


def names() -> tuple[str, ...]:
    """The backends there are, in alphabetical order."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(backends.__path__)))


def find(name: str) -> Printer | Wrapper:
    """The backend called `name`; RequestError suggests the nearest when there is none."""
    backend: Printer | Wrapper = import_module(
        f"{backends.__name__}.{nearest(name, names(), 'backend')}"
    ).BACKEND
    return backend


@cache
def printer() -> Printer:
    """The backend of PRINTED: whoever needs the text of a function asks it."""
    backend = find(PRINTED)
    assert isinstance(backend, Printer)
    return backend


def wrappers() -> tuple[str, ...]:
    """The backends that only call what another one prints, in alphabetical order."""
    return tuple(name for name in names() if isinstance(find(name), Wrapper))


def wrapper(name: str) -> Wrapper:
    """The wrapper called `name`; RequestError suggests the nearest when there is none."""
    backend = find(nearest(name, wrappers(), "wrapper of the C"))
    assert isinstance(backend, Wrapper)
    return backend


@cache
def environment(backend: str) -> Environment:
    """The Jinja environment over `templates/<backend>/`: strict about undefined names; what goes
    into HTML is escaped.
    """
    package = Path(__file__).resolve().parent.parent
    # Inside an installed wheel the templates stand in the package; in a checkout they stand beside
    # it.
    root = next(
        (p for p in (package / "templates", package.parent / "templates") if p.is_dir()),
        package / "templates",
    )
    return Environment(
        loader=FileSystemLoader(
            [root / backend, root]
        ),  # the second for what two backends share: "c99/turn.j2"
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        newline_sequence="\n",
        auto_reload=False,
        autoescape=select_autoescape(("html.j2",), default=False),
    )


def render(backend: str, template: str, **context: object) -> str:
    """The text of one template of a backend."""
    return environment(backend).get_template(template).render(**context)
