"""A `Levelled` in C: NAME_<function>.c, where every segment of places is a lane of a vector.

What places keep, what trees hold and the table have element k of lane l in x[k][l]. A step of places stands in a loop over the
lanes and is called row by row, as that of a `Segmented` is; row r holds a place of every segment. So does the step of a tree, up
and down, for a pair of rows: levels of a group of segments are rows behind each other, half as many each time. What is left of
every segment is put together by the same steps as functions of one pair.

As many segments as there are lanes are a group; groups are gone through at the same time where the compiler knows OpenMP.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from symgen.backends import _definition, _lanes, _looped, render
from symgen.backends._c_text import C
from symgen.backends._definition import calls
from symgen.backends._lane_steps import braced, lane_step, row_of, wrapped
from symgen.backends._target import Target
from symgen.errors import RequestError
from symgen.levelled import BEFORE, BEHIND, FRONT, KNOWN, RUN, Levelled, Tree
from symgen.reals import REALS
from symgen.recursion import KEPT, LEFT, TABLE, as_function


class _Level(NamedTuple):
    """Of a tree in memory: where a level begins, its rows, and how long each is: what is known of it stands behind its run, and
    what is kept of two in one behind that.
    """

    first: int
    rows: int
    stride: int


def _levels(tree: Tree, rows: int) -> list[_Level]:
    """From the places up."""
    short = tree.run + len(tree.start)
    found = [_Level(0, rows, short)]
    while found[-1].rows > 1:
        at = found[-1].first + found[-1].rows*found[-1].stride
        found.append(_Level(at, -(-found[-1].rows // 2), short + tree.kept))
    return found


def _end(levels: Sequence[_Level]) -> int:
    return levels[-1].first + levels[-1].rows*levels[-1].stride


class _Room(NamedTuple):
    """Where everything is in the caller's array. Of a group, each with as many numbers as there are lanes: rows of what places
    keep and give, and the trees; behind all groups the trees over the segments.
    """

    row: int
    trees: tuple[int, ...]
    group: int
    over: tuple[int, ...]
    whole: int


def _room(one: Levelled) -> _Room:
    row = one.work + 2*len(one.outputs)
    at, trees = one.longest*row, []
    for tree in one.trees:
        trees.append(at)
        at += _end(_levels(tree, one.longest))
    whole, over = one.segments*at, []
    for tree in one.trees:
        over.append(whole)
        whole += _end(_levels(tree, one.segments))
    return _Room(row, tuple(trees), at, tuple(over), whole)


def work(one: Levelled) -> int:
    """Numbers of the array that the caller provides."""
    return _room(one).whole


def may_alias(one: Levelled) -> bool:
    """Whether a result may lie over an argument: results are stored when all has been read."""
    return True


def prototype(one: Levelled, target: Target) -> dict[str, Any]:
    """What the header says of the function."""
    return _looped.with_work(one, target) | {"apart": not may_alias(one)}


def source(one: Levelled, target: Target) -> str:
    """The text of NAME_<function>.c. RequestError where the segments are no groups of as many as there are lanes, or it is to be
    checked.
    """
    lanes = _lanes.lanes(one.real)
    if one.segments % lanes or target.checked:
        raise RequestError(f"{one.function} in {one.segments} segments is no loop over {lanes} lanes that returns nothing; take "
                           f"{lanes} segments or a multiple, and leave out --checked")
    symbol, room, rows, real = target.symbol(one.function), _room(one), one.longest, REALS[one.real]
    steps: list[dict[str, Any]] = []
    functions: list[str] = []
    places = [_of_places(one, s, target, room, steps) for s in range(len(one.steps_of_places))]
    trees = [_tree(one, t, target, room, steps, functions) for t in range(len(one.trees))]
    table = ["{" + ", ".join(braced([C.literal(one.table(rows*segment + r)[c], real) for segment in range(first, first + lanes)])
                             for c in range(one.kind.width)) + "}"
             for first in range(0, one.segments, lanes) for r in range(rows)]
    known = calls(one.real, target)
    inputs, outputs = ([port.name for port in ports] for ports in (one.inputs, one.outputs))
    last = {"group": len(one) // rows // lanes, "lane": len(one) // rows % lanes, "row": len(one) % rows}
    return render("c99", "levelled.c.j2", **target.context, symbol=symbol, real=one.real, lanes=lanes,
                  method=C.comment(one.method), arrays=[*inputs, *outputs], count=len(one), longest=rows, width=one.kind.width,
                  doubles=room.whole, table=wrapped(table), steps=steps, functions=functions, segments=one.segments,
                  groups=one.segments // lanes, rows=len(table), of_group=lanes*room.group, row=room.row, last_row=rows - 1,
                  regions=[{"before": before, "places": own, "behind": behind} for before, own, behind in
                           zip([None, *trees], places, [*trees, None], strict=True)],
                  trees=trees, last=last, met=[_met(one, k, room, lanes) for k in range(len(outputs))],
                  parameters=[*(f"const {one.real} {name}[{len(one)}]" for name in inputs),
                              *(f"{one.real} {name}[{len(one)}]" for name in outputs), f"{one.real} numbers[{room.whole}]"],
                  own_sines=any(step["own_sines"] for step in steps), own_loop=any(step["own_loop"] for step in steps),
                  angles=lanes, sin=known["sin"], cos=known["cos"])


def _of_places(one: Levelled, s: int, target: Target, room: _Room, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """The loop of a step of places; the step joins the others."""
    step = as_function(one.steps_of_places[s], f"{one.function}_{s + 1}")
    steps.append(lane_step(step, target, "of a place"))
    before, behind = (one.trees[t] if 0 <= t < len(one.trees) else None for t in (s - 1, s))
    given = {TABLE: f"{target.symbol(one.function)}_table[first + row]", KEPT: f"&work[{row_of(room.row)}]",
             LEFT[KEPT]: f"&work[{row_of(room.row, one.first[s])}]"}
    if before:
        given[KNOWN] = f"&told[{row_of(before.run + len(before.start), before.run)}]"
    if behind:
        given[RUN] = f"&tree[{row_of(behind.run + len(behind.start))}]"
    for k, port in enumerate(one.outputs):
        given |= {name: f"&work[{row_of(room.row, one.work + 2*k + which)}]"
                  for which, name in enumerate((port.name, port.name + BEFORE))}
    loads = [{"name": port.name, "of": port.name.removesuffix(BEFORE), "before": port.name.endswith(BEFORE)}
             for port in step.inputs if port.name not in given]
    called = ", ".join(given.get(port.name, f"own_{port.name}") for port in (*step.inputs, *step.outputs))
    return {"number": s + 1, "loads": loads, "told": room.trees[s - 1] if before and f"&told" in called else None,
            "tree": room.trees[s] if behind else None, "loaded": [load["of"] for load in loads],
            "table": f"{target.symbol(one.function)}_table" in called, "call": f"{target.symbol(step.function)}({called});"}


def _tree(one: Levelled, t: int, target: Target, room: _Room, steps: list[dict[str, Any]],
          functions: list[str]) -> dict[str, Any]:
    """The ways of a tree; its steps join the others, once for lanes and once for one pair."""
    tree, own, over = one.trees[t], _levels(one.trees[t], one.longest), _levels(one.trees[t], one.segments)
    calls_of = {}
    for name, program in (("up", tree.up), ("down", tree.down)):
        step, alone = (as_function(program, f"{one.function}_{name}_{t + 1}{ending}") for ending in ("", "_alone"))
        steps.append(lane_step(step, target, f"{name} a tree, of a pair"))
        functions.append(render("c99", "definition.j2", **target.context, of_parts="static", of_all="static ",
                                **_definition.function(alone, target, {}, None, None)))
        run, known = "both", f"both + {tree.run}"
        kept = f"both + {tree.run + len(tree.start)}"
        given = {RUN: run, KNOWN: known, KEPT: kept, LEFT[KEPT]: kept} | (
            {FRONT: "front", BEHIND: "behind"} if name == "up" else
            {FRONT: f"front + {tree.run}", BEHIND: f"behind + {tree.run}"})
        called = ", ".join(given[port.name] for port in (*step.inputs, *step.outputs))
        calls_of |= {name: f"{target.symbol(step.function)}({called});",
                     f"{name}_alone": f"{target.symbol(alone.function)}({called});"}
    return calls_of | {
        "number": t + 1, "at": room.trees[t], "over": room.over[t], "run": tree.run, "known": len(tree.start),
        "cut": tree.cut, "told": tree.told, "short": own[0].stride,
        "levels": [braced([str(x) for x in level]) for level in own], "count": len(own), "top": len(own) - 1,
        "over_levels": [braced([str(x) for x in level]) for level in over], "over_count": len(over), "over_top": len(over) - 1,
        "root": room.trees[t] + own[-1].first, "over_root": room.over[t] + over[-1].first,
        "start": [C.literal(x, REALS[one.real]) for x in tree.start], "shortened": tree.cut < tree.run}


def _met(one: Levelled, k: int, room: _Room, lanes: int) -> dict[str, Any]:
    """Where the two parts of a result are."""
    return {"name": one.outputs[k].name, "own": one.work + 2*k, "other": one.work + 2*k + 1}
