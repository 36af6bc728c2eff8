"""Tables of loops, and of where their closing starts: a part of what `_declared` reads."""

from __future__ import annotations

from fractions import Fraction

from symgen.description.parsing.tables import Table
from symgen.description.quantities import shown
from symgen.description.tree import Closing, Grip, refuse_many
from symgen.mechanism.closures import closure, closures
from symgen.vocabulary.poses import Angle, Pose, compose

_POSE = ("xyz", "rpy", "steps")


def loops(tables: list[Table], ends: dict[str, Pose]) -> tuple[Closing, ...]:
    """What the tables [[loop]] declare; `ends` leads from the joint frames of rows to the frames that are named for them."""
    if tables:
        refuse_many(len(tables), "loops", tables[-1].place)
    return tuple(_loop(table, f"loop{k}", ends) for k, table in enumerate(tables, start=1))


def refuse_wrong_loop(table: Table) -> None:
    """DescriptionError where a loop is not declared as it should be."""
    _loop(table, "loop1", {})


def start(table: Table) -> tuple[tuple[str, tuple[Angle, ...]], ...]:
    """The coordinates that are named, of each joint one or several. They are a place to begin at, and so nothing is snapped."""
    return tuple((joint, table.coordinates(joint)) for joint in table.content)


def _loop(table: Table, name: str, ends: dict[str, Pose]) -> Closing:
    kind = table.text("type")
    if kind not in closures():
        raise table.at("type").error(
            f"{shown(kind)} is no joint that closes a loop",
            f"write one of: {', '.join(closures())}",
        )
    asked = closure(kind).parameters
    table.allow("name", "type", "first", "second", *(one.name for one in asked))
    parameters: list[tuple[str, Fraction]] = []
    for one in asked:
        if one.name not in table:
            raise table.place.error(
                f"the key '{one.name}' of a {kind} is missing", f"add {one.name} = …, {one.what}"
            )
        parameters.append((one.name, table.number(one.name)))
        if parameters[-1][1] <= 0:
            raise table.at(one.name).error("it is not above zero", f"give {one.what}")
    first, second = (_grip(table, key, ends) for key in ("first", "second"))
    return Closing(table.text("name", name), kind, first, second, tuple(parameters), table.place)


def _grip(table: Table, key: str, ends: dict[str, Pose]) -> Grip:
    if key not in table:
        raise table.place.error(
            f"the key '{key}' is missing", f'add {key} = {{ link = "…", xyz = [0, 0, 0] }}'
        )
    end = table.table(key)
    end.allow("link", *_POSE)
    link = end.text("link")
    return Grip(link, compose(ends.get(link, ()), end.pose()), end.place)
