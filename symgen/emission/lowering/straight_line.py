"""A straight-line function as statements: its rows, its checks, and the parts of a long one.

The rows are text of `writer`, in which elements of arrays stand as the language spells them;
`symgen.readback.rows` proves that they are the rows of the Program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from symgen.emission.language import Language
from symgen.emission.print import write
from symgen.emission.statements import (
    POINTER,
    Assign,
    Blank,
    Call,
    Comment,
    Declare,
    Function,
    If,
    Return,
    Statement,
    Unused,
    body,
)

Facts = Mapping[str, Any]


def lower(facts: Facts, macros: str, static: bool) -> Iterator[Function]:
    """Give a function's parts and the function itself; `macros` is the prefix of the statuses."""
    real = facts["real"]
    for part in facts["parts"]:
        takes = body(
            Comment("values from earlier parts"),
            (Declare(f"const {real}", take["name"], take["place"]) for take in part["takes"]),
            Blank(),
        )
        puts = body(
            Comment("values for later parts"),
            (Assign(put["place"], put["name"]) for put in part["puts"]),
        )
        statements = body(
            takes if part["takes"] else None,
            rows(part["groups"]),
            puts if part["puts"] else None,
            _stores(part["stores"]),
        )
        yield Function(part["symbol"], parameters(part["parameters"]), statements, part=True)
    shared = facts["work"]["size"] if facts["parts"] else 0
    statements = body(
        (Declare(real, facts["work"]["name"], size=(shared,)), Blank()) if shared else None,
        _checked(facts, macros) if facts["checks"] else _unchecked(facts),
    )
    returns = "int" if facts["checks"] else "void"
    arguments = parameters(facts["parameters"])
    yield Function(facts["symbol"], arguments, statements, returns, static=static)


def text(facts: Facts, macros: str, language: Language, static: bool = True) -> str:
    """Return the text of a function and its parts, with an empty line before each."""
    return "\n" + write(lower(facts, macros, static), language)


def parameters(arrays: Iterable[Facts]) -> tuple[Declare, ...]:
    """Return arrays and structs as parameters."""
    return tuple(
        Declare(f"const {array['struct']}", array["name"], pointer=POINTER)
        if array.get("struct")
        else Declare(f"{array['qualifier']}{array['real']}", array["name"], size=(array["size"],))
        for array in arrays
    )


def rows(groups: Iterable[Facts]) -> Iterator[Statement]:
    """Give the locals of rows, grouped under the comments of their steps, with an empty line behind
    each group.
    """
    for group in groups:
        if group["comment"]:
            yield Comment(group["comment"])
        yield from _locals(group)
        yield Blank()


def _locals(group: Facts) -> Iterator[Declare]:
    return (
        Declare(f"const {local['kind']}", local["name"], unindented(local["value"]))
        for local in group["locals"]
    )


def unindented(text: str) -> str:
    """Return text whose further lines begin at the columns that stand in it, not at the indentation
    of its statement.
    """
    return text.replace("\n", "\v")


def _stores(stores: Iterable[Any]) -> tuple[Assign, ...]:
    return tuple(Assign(f"{store.name}[{store.element}]", store.value) for store in stores)


def _calls(parts: Iterable[Facts]) -> tuple[Call, ...]:
    return tuple(
        Call(part["symbol"], tuple(array["name"] for array in part["parameters"])) for part in parts
    )


def _unchecked(facts: Facts) -> tuple[Statement, ...]:
    """Return the statements of a function without checks."""
    return body(
        map(Unused, facts["unread"]),
        _calls(facts["parts"]) or (*rows(facts["groups"]), *_stores(facts["stores"])),
    )


def _checked(facts: Facts, macros: str) -> tuple[Statement, ...]:
    """Return the statements of a checked function, which stores results in its innermost branch
    alone.
    """
    checks = facts["checks"]
    status, none = checks["status"], checks["none"]
    first = facts["first_part_count"]
    first_calls = _calls(facts["parts"][:first])

    def refused(name: str) -> tuple[Assign]:
        return (Assign(status, f"{macros}_{name}"),)

    def unless(name: str, condition: str, otherwise: If | tuple[Statement, ...]) -> Any:
        """Return the refusal of a state, with the branch of states that are not refused."""
        if not condition:
            return otherwise
        return If(f"!({unindented(condition)})", refused(name), otherwise)

    stores: Any = _stores(facts["stores"])
    stores = unless("RESULT_NOT_FINITE", checks["finite"], stores)
    stores = unless("DIVISOR", checks["divisors"], stores)
    late = body(_calls(facts["parts"][first:]), Blank()) if facts["parts"] else None
    computed = body(late, rows(facts["groups"]), stores)
    accepted = unless("OUT_OF_RANGE", checks["ranges"], computed)
    accepted = unless("NOT_UNIT", checks["units"], accepted)
    return body(
        Declare("int", status, f"{macros}_OK"),
        Comment("zero if all arguments are finite, else NaN"),
        Declare(f"const {facts['real']}", none, unindented(checks["zeros"])),
        *(
            body((Blank(), Comment(group["comment"])) if group["comment"] else None, _locals(group))
            for group in facts["before"]
        ),
        body(Blank(), first_calls) if first_calls else None,
        Blank(),
        unless("NOT_FINITE", f"{none} >= {checks['zero']}", accepted),
        Return(status),
    )
