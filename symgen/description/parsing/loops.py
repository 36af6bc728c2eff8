"""Tables of loops, and of the coordinates from which they are closed."""

from __future__ import annotations

from fractions import Fraction

from symgen.description.parsing.tables import Table
from symgen.description.quantities import quote
from symgen.description.tree import DeclaredLoop, LoopEnd, refuse_many
from symgen.mechanism.closures import closure, closures
from symgen.vocabulary.poses import Angle, Pose, compose

_POSE = ("xyz", "rpy", "steps")


def read_loops(tables: list[Table], row_frames: dict[str, Pose]) -> tuple[DeclaredLoop, ...]:
    """Return the loops of the tables [[loop]]; `row_frames` leads from the joint frames of rows to
    the frames with their names.
    """
    if tables:
        refuse_many(len(tables), "loops", tables[-1].location)
    return tuple(_loop(table, f"loop{k}", row_frames) for k, table in enumerate(tables, start=1))


def refuse_wrong_loop(table: Table) -> None:
    """Raise DescriptionError for a wrong declaration of a loop."""
    _loop(table, "loop1", {})


def read_start(table: Table) -> tuple[tuple[str, tuple[Angle, ...]], ...]:
    """Return the declared coordinates of each joint, one or several. Nothing is snapped, since they
    only start a search.
    """
    return tuple((joint, table.coordinates(joint)) for joint in table.content)


def _loop(table: Table, name: str, row_frames: dict[str, Pose]) -> DeclaredLoop:
    """Return the loop of a table."""
    kind = table.text("type")
    if kind not in closures():
        raise table.at("type").error(
            f"{quote(kind)} is not a type of loop closure",
            f"write one of: {', '.join(closures())}",
        )
    required = closure(kind).parameters
    table.allow("name", "type", "first", "second", *(parameter.name for parameter in required))
    parameters: list[tuple[str, Fraction]] = []
    for parameter in required:
        if parameter.name not in table:
            raise table.location.error(
                f"the key '{parameter.name}' of a {kind} is missing",
                f"add {parameter.name} = …, {parameter.description}",
            )
        parameters.append((parameter.name, table.number(parameter.name)))
        if parameters[-1][1] <= 0:
            raise table.at(parameter.name).error(
                "it is not positive", f"give {parameter.description}"
            )
    first, second = (_loop_end(table, key, row_frames) for key in ("first", "second"))
    return DeclaredLoop(
        table.text("name", name), kind, first, second, tuple(parameters), table.location
    )


def _loop_end(table: Table, key: str, row_frames: dict[str, Pose]) -> LoopEnd:
    """Return one end of a loop."""
    if key not in table:
        raise table.location.error(
            f"the key '{key}' is missing", f'add {key} = {{ link = "…", xyz = [0, 0, 0] }}'
        )
    end = table.table(key)
    end.allow("link", *_POSE)
    link = end.text("link")
    return LoopEnd(link, compose(row_frames.get(link, ()), end.pose()), end.location)
