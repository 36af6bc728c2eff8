"""Tables of the documentation, generated from the code: functions, arrays, options, errors, notes,
equations of the papers.

`python -m tests.book_tables` rewrites the tables between their marks; `tests/system/test_docs.py`
fails if a page has an outdated table.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from symgen import errors, methods
from symgen.emission.checks import STATUSES
from symgen.mechanism.notes import KINDS, LOUD
from symgen.vocabulary import options
from symgen.vocabulary.arrays import Array
from symgen.vocabulary.functions import AT_RUN_TIME, FUNCTIONS, LOOP_FUNCTIONS, Function
from tests import paper_tables

DOCS = Path(__file__).parents[1] / "docs"
MARK = re.compile(r"(<!-- table: ([\w ]+) -->\n).*?(<!-- end of table -->)", re.S)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; a bar in a cell is escaped."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def prose(text: str) -> str:
    """Return text as Markdown shows it unchanged."""
    return text.replace("<", "&lt;").replace("*", "\\*")


def names(arrays: Iterable[Array]) -> str:
    return ", ".join(f"`{array.name}`" for array in arrays)


def function_rows(functions: Iterable[Function]) -> str:
    """Return one row a function: arguments, results, meaning."""
    return table(
        ("function", "arguments → results", "meaning"),
        (
            (
                f"`{function.name}`" + (" †" if function.explicit_only else ""),
                f"{names(function.arguments)} → {names(function.results)}",
                prose(function.what),
            )
            for function in functions
        ),
    )


def provider_rows(functions: Iterable[Function]) -> str:
    """Return one row for each group of functions that the same methods compute."""
    by_methods: dict[tuple[str, ...], list[str]] = {}
    for function in functions:
        by_methods.setdefault(tuple(methods.providers(function.name)), []).append(function.name)
    return table(
        ("functions", "methods"),
        (
            (
                ", ".join(f"`{name}`" for name in names_of_functions),
                ", ".join(f"`{method}`" for method in names_of_methods),
            )
            for names_of_methods, names_of_functions in sorted(
                by_methods.items(), key=lambda item: (len(item[0]), item)
            )
        ),
    )


def array_rows() -> str:
    """Return one row an argument or result: shape and meaning."""
    arrays: dict[str, Array] = {}
    for function in (*FUNCTIONS.values(), *(FUNCTIONS[name] for name in LOOP_FUNCTIONS)):
        for array in (*function.arguments, *function.results):
            arrays.setdefault(array.name, array)
    for array in AT_RUN_TIME:
        arrays.setdefault(array.name, array)
    return table(
        ("array", "shape", "meaning"),
        (
            (f"`{name}`", " × ".join(map(str, array.shape)) or "1", prose(array.what))
            for name, array in sorted(arrays.items(), key=lambda item: item[0].lower())
        ),
    )


def default(value: Any) -> str:
    return "" if value in (None, (), False, True) else f"`{value}`"


def option_rows(*kinds: Any) -> str:
    """Return one row an option: its spelling, keyword in Python, default and meaning."""
    declared = {
        name: option for kind in kinds for name, option in options.declarations(kind).items()
    }
    return table(
        ("option", "in Python", "default", "meaning"),
        (
            (
                f"`{option.flag}{' ' + option.metavar if option.metavar else ''}`",
                f"`{name}=`",
                default(option.default),
                prose(option.help.replace("%(default)s", str(option.default))),
            )
            for name, (_, option) in declared.items()
        ),
    )


def first_sentence(kind: type) -> str:
    return re.split(r"(?<=\.)\s", " ".join((inspect.getdoc(kind) or "").split()))[0]


def lineage(kind: type) -> tuple[str, ...]:
    """Return the names from `object` down to the class, by first bases."""
    return (*lineage(kind.__bases__[0]), kind.__name__) if kind.__bases__ else ()


def error_rows() -> str:
    """Return one row an exception: its bases, and the first sentence of its docstring."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    return table(
        ("error", "is also a", "when"),
        (
            (
                f"`{kind.__name__}`",
                ", ".join(f"`{base.__name__}`" for base in kind.__bases__),
                prose(first_sentence(kind)),
            )
            for kind in sorted(kinds, key=lineage)
        ),
    )


def note_rows() -> str:
    return table(
        ("kind", "meaning", "warns"),
        (
            (f"`{kind}`", prose(text), "yes" if kind in LOUD else "no")
            for kind, text in KINDS.items()
        ),
    )


def status_rows() -> str:
    return table(
        ("value", "status", "meaning"),
        (
            (str(value), f"`NAME_{name}`", prose(text))
            for value, (name, text) in enumerate(STATUSES.items())
        ),
    )


TABLES: dict[str, Callable[[], str]] = {
    "functions": lambda: function_rows(FUNCTIONS.values()),
    "functions of closed chains": lambda: function_rows(FUNCTIONS[name] for name in LOOP_FUNCTIONS),
    "methods": lambda: provider_rows(
        [*FUNCTIONS.values(), *(FUNCTIONS[name] for name in LOOP_FUNCTIONS)]
    ),
    "arrays": array_rows,
    "reading": lambda: option_rows(
        options.MechanismChoices, options.FileChoices, options.StrictChoice
    ),
    "programs": lambda: option_rows(options.RealChoice, options.RowChoices, options.FormChoice),
    "folder": lambda: option_rows(options.FolderChoices),
    "formula": lambda: option_rows(options.FormulaRequest),
    "errors": error_rows,
    "notes": note_rows,
    "statuses": status_rows,
    **paper_tables.generated(table, prose),
}
"""Name of a table, as written in its mark -> function that returns the text."""


def renewed(text: str) -> str:
    """Return the text of a page with all its tables regenerated."""
    return MARK.sub(lambda mark: mark[1] + TABLES[mark[2]]() + "\n" + mark[3], text)


def main() -> None:
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (new := renewed(text)) != text:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(DOCS)}: its tables are rewritten")


if __name__ == "__main__":
    main()
