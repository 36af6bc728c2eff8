"""A `Levelled` in C: NAME_<function>.c, where every segment of places is a lane of a vector.

What places keep, what trees hold and the table have element k of lane l in x[k][l]. A step of places stands in a loop over the
lanes and is called row by row, as that of a `Segmented` is; row r holds a place of every segment. So does the step of a tree, up
and down. Two rows are put together as soon as both are there, and so are two pairs: what is to be put together stays in the
cache, and of a level no more than two runs are held. The next step goes through the rows the other way, and finds what is known
of a row when it comes to it. What is left of every segment is put together by the same steps as functions of one pair.

As many segments as there are lanes are a group; groups are gone through at the same time where the compiler knows OpenMP.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from symgen.emission import definition, loop_work, render
from symgen.emission import lanes as _lanes
from symgen.emission.c_text import C
from symgen.emission.definition import calls
from symgen.emission.lane_steps import angles, braced, lane_step, refuse, row_of, wrapped
from symgen.ir.levelled import BEFORE, BEHIND, FRONT, KNOWN, RUN, Levelled, Tree
from symgen.ir.recursion import KEPT, LEFT, TABLE, as_function
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target


def _rows(rows: int) -> list[int]:
    """Of every level how many rows it has, from the places up."""
    found = [rows]
    while found[-1] > 1:
        found.append(-(-found[-1] // 2))
    return found


class _OfTree(NamedTuple):
    """Where a tree is: of a group of segments the runs, what is known, and what is kept of pairs; and all of that over the
    segments.
    """

    runs: int
    known: int
    kept: int
    over: int


class _Room(NamedTuple):
    """Where everything is in the caller's array. A group has rows of what places keep and give, then its trees, each with as many
    numbers as there are lanes; behind all groups are the trees over the segments. Of a level there are two runs at a time.
    """

    row: int
    trees: tuple[_OfTree, ...]
    group: int
    whole: int


def _room(one: Levelled) -> _Room:
    row, levels = one.work + 2 * len(one.outputs), 2 * len(_rows(one.longest))
    at, trees = one.longest * row, []
    for tree in one.trees:
        known = at + levels * tree.run
        kept = known + levels * len(tree.start)
        trees.append(_OfTree(at, known, kept, 0))
        at = kept + (one.longest - 1) * tree.kept
    whole = one.segments * at
    for t, tree in enumerate(one.trees):
        trees[t] = trees[t]._replace(over=whole)
        whole += _end(_over(tree, one.segments))
    return _Room(row, tuple(trees), at, whole)


class _Level(NamedTuple):
    """Over the segments: where a level begins, its rows, and how long each is. What is known stands behind the run, and what is
    kept of a pair behind that.
    """

    first: int
    rows: int
    stride: int


def _over(tree: Tree, segments: int) -> list[_Level]:
    """From the segments up."""
    short = tree.run + len(tree.start)
    found = [_Level(0, segments, short)]
    for rows in _rows(segments)[1:]:
        found.append(_Level(_end(found), rows, short + tree.kept))
    return found


def _end(levels: Sequence[_Level]) -> int:
    return levels[-1].first + levels[-1].rows * levels[-1].stride


def work(one: Levelled, checked: bool = False) -> int:
    """Numbers of the array that the caller provides."""
    return _room(one).whole


def may_alias(one: Levelled) -> bool:
    """Whether a result may lie over an argument: results are stored when all has been read."""
    return True


def prototype(one: Levelled, target: Target) -> dict[str, Any]:
    """What the header says of the function."""
    return loop_work.with_work(one, target) | {"apart": not may_alias(one)}


def source(one: Levelled, target: Target) -> str:
    """The text of NAME_<function>.c. RequestError where the segments are no groups of as many as there are lanes, or it is to be
    checked.
    """
    lanes = _lanes.lanes(one.real)
    refuse(one, one.segments, lanes, target)
    symbol, room, rows, real = target.symbol(one.function), _room(one), one.longest, REALS[one.real]
    steps: list[dict[str, Any]] = []
    functions: list[str] = []
    places = [_of_places(one, s, target, room, steps) for s in range(len(one.steps_of_places))]
    trees = [_tree(one, t, target, room, steps, functions) for t in range(len(one.trees))]
    table = [
        "{"
        + ", ".join(
            braced(
                [
                    C.literal(one.table(rows * segment + r)[c], real)
                    for segment in range(first, first + lanes)
                ]
            )
            for c in range(one.kind.width)
        )
        + "}"
        for first in range(0, one.segments, lanes)
        for r in range(rows)
    ]
    known = calls(one.real, target)
    inputs, outputs = ([port.name for port in ports] for ports in (one.inputs, one.outputs))
    counts = _rows(rows)
    last = {
        "group": len(one) // rows // lanes,
        "lane": len(one) // rows % lanes,
        "row": len(one) % rows,
    }
    return render(
        "c99",
        "levelled.c.j2",
        **target.context,
        symbol=symbol,
        real=one.real,
        lanes=lanes,
        method=C.comment(one.method),
        arrays=[*inputs, *outputs],
        count=len(one),
        longest=rows,
        width=one.kind.width,
        doubles=room.whole,
        table=wrapped(table),
        steps=steps,
        functions=functions,
        segments=one.segments,
        groups=one.segments // lanes,
        rows=len(table),
        of_group=lanes * room.group,
        row=room.row,
        last_row=rows - 1,
        levels=[
            braced([str(count), str(sum(n // 2 for n in counts[:level]))])
            for level, count in enumerate(counts)
        ],
        top=len(counts) - 1,
        regions=[
            {"before": before, "places": own, "behind": behind}
            for before, own, behind in zip([None, *trees], places, [*trees, None], strict=True)
        ],
        trees=trees,
        last=last,
        met=[_met(one, k, room, lanes) for k in range(len(outputs))],
        parameters=[
            *(f"const {one.real} {name}[{len(one)}]" for name in inputs),
            *(f"{one.real} {name}[{len(one)}]" for name in outputs),
            f"{one.real} numbers[{room.whole}]",
        ],
        nothing=C.literal(Fraction(0), real),
        own_sines=any(step["own_sines"] for step in steps),
        own_loop=any(step["own_loop"] for step in steps),
        angles=angles(steps, lanes, one.real),
        sin=known["sin"],
        cos=known["cos"],
    )


def _of_places(
    one: Levelled, s: int, target: Target, room: _Room, steps: list[dict[str, Any]]
) -> dict[str, Any]:
    """The loop of a step of places; the step joins the others."""
    step = as_function(one.steps_of_places[s], f"{one.function}_{s + 1}")
    steps.append(lane_step(step, target, "of a place"))
    given = {
        TABLE: f"{target.symbol(one.function)}_table[first + row]",
        KEPT: f"&work[{row_of(room.row)}]",
        LEFT[KEPT]: f"&work[{row_of(room.row, one.first[s])}]",
        KNOWN: "told",
        RUN: "run",
    }
    for k, port in enumerate(one.outputs):
        given |= {
            name: f"&work[{row_of(room.row, one.work + 2 * k + which)}]"
            for which, name in enumerate((port.name, port.name + BEFORE))
        }
    loads = [
        {
            "name": port.name,
            "of": port.name.removesuffix(BEFORE),
            "before": port.name.endswith(BEFORE),
        }
        for port in step.inputs
        if port.name not in given
    ]
    ports = [port.name for port in (*step.inputs, *step.outputs)]
    called = ", ".join(given.get(name, f"own_{name}") for name in ports)
    return {
        "number": s + 1,
        "loads": loads,
        "loaded": [load["of"] for load in loads],
        "table": TABLE in ports,
        "inward": s % 2 == 1,
        "call": f"{target.symbol(step.function)}({called});",
    }


def _tree(
    one: Levelled,
    t: int,
    target: Target,
    room: _Room,
    steps: list[dict[str, Any]],
    functions: list[str],
) -> dict[str, Any]:
    """The ways of a tree; its steps join the others, once for lanes and once for one pair."""
    tree, at, over = one.trees[t], room.trees[t], _over(one.trees[t], one.segments)
    run, known, top = tree.run, len(tree.start), len(_rows(one.longest)) - 1
    found: dict[str, str] = {}
    for name, program in (("up", tree.up), ("down", tree.down)):
        step, alone = (
            as_function(program, f"{one.function}_{name}_{t + 1}{ending}")
            for ending in ("", "_alone")
        )
        steps.append(lane_step(step, target, f"{name} a tree, of a pair"))
        functions.append(
            render(
                "c99",
                "definition.j2",
                **target.context,
                of_parts="static",
                of_all="static ",
                **definition.function(definition.PrintedFunction(alone, target)),
            )
        )
        given = {
            FRONT: "front",
            BEHIND: "behind",
            RUN: "both",
            KNOWN: "both",
            KEPT: "kept",
            LEFT[KEPT]: "kept",
        }
        single = {
            RUN: "both",
            KNOWN: f"both + {run}",
            KEPT: f"both + {run + known}",
            LEFT[KEPT]: f"both + {run + known}",
        } | (
            {FRONT: "front", BEHIND: "behind"}
            if name == "up"
            else {FRONT: f"front + {run}", BEHIND: f"behind + {run}"}
        )
        for which, own, places in (("", step, given), ("_alone", alone, single)):
            found[name + which] = (
                f"{target.symbol(own.function)}"
                f"({', '.join(places[port.name] for port in (*step.inputs, *step.outputs))});"
            )
    return (
        found
        | at._asdict()
        | {
            "number": t + 1,
            "run": run,
            "told": known,
            "size": tree.kept,
            "root": at.runs + 2 * top * run,
            "start_at": at.known + 2 * top * known,
            "short": run + known,
            "cut": tree.cut,
            "told_cut": tree.told,
            "shortened": tree.cut < run,
            "levels": [braced([str(x) for x in level]) for level in over],
            "count": len(over),
            "top": len(over) - 1,
            "over_root": at.over + over[-1].first + run,
            "start": [C.literal(x, REALS[one.real]) for x in tree.start],
        }
    )


def _met(one: Levelled, k: int, room: _Room, lanes: int) -> dict[str, Any]:
    """Where the two parts of a result are."""
    return {"name": one.outputs[k].name, "own": one.work + 2 * k, "other": one.work + 2 * k + 1}
