"""A straight-line function as statements: its rows, its checks, and the parts of a long function.

The module `writer` writes the rows as text in the target language; `symgen.readback.rows` proves
that the text has the rows of the Program.
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
    """Yield a function's parts, then the function; `macros` is the prefix of the statuses."""
    real = facts["real"]
    for part in facts["parts"]:
        loads = body(
            Comment("values from earlier parts"),
            (Declare(f"const {real}", load["name"], load["element"]) for load in part["loads"]),
            Blank(),
        )
        saves = body(
            Comment("values for later parts"),
            (Assign(save["element"], save["name"]) for save in part["saves"]),
        )
        statements = body(
            loads if part["loads"] else None,
            rows(part["groups"]),
            saves if part["saves"] else None,
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
    """Yield the locals of rows, grouped under the comments of their steps.

    An empty line follows each group.
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
    """Return text whose further lines keep their own indentation, not that of the statement."""
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
    """Return the statements of a checked function, which stores results in its innermost branch."""
    checks = facts["checks"]
    status, zero_sum = checks["status"], checks["zero_sum"]
    first = facts["first_part_count"]
    first_calls = _calls(facts["parts"][:first])

    def set_status(name: str) -> tuple[Assign]:
        return (Assign(status, f"{macros}_{name}"),)

    def refuse_unless(condition: str, name: str, accepted: If | tuple[Statement, ...]) -> Any:
        """Return the comparison that refuses a state; `accepted` are the statements for others."""
        if not condition:
            return accepted
        return If(f"!({unindented(condition)})", set_status(name), accepted)

    stores: Any = _stores(facts["stores"])
    stores = refuse_unless(checks["finite"], "RESULT_NOT_FINITE", stores)
    stores = refuse_unless(checks["divisors"], "DIVISOR", stores)
    later_calls = body(_calls(facts["parts"][first:]), Blank()) if facts["parts"] else None
    computed = body(later_calls, rows(facts["groups"]), stores)
    accepted = refuse_unless(checks["ranges"], "OUT_OF_RANGE", computed)
    accepted = refuse_unless(checks["units"], "NOT_UNIT", accepted)
    return body(
        Declare("int", status, f"{macros}_OK"),
        Comment("zero if all arguments are finite, else NaN"),
        Declare(f"const {facts['real']}", zero_sum, unindented(checks["zeros"])),
        *(
            body((Blank(), Comment(group["comment"])) if group["comment"] else None, _locals(group))
            for group in facts["checked_groups"]
        ),
        body(Blank(), first_calls) if first_calls else None,
        Blank(),
        refuse_unless(f"{zero_sum} >= {checks['zero']}", "NOT_FINITE", accepted),
        Return(status),
    )
