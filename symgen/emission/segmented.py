"""A `Segmented` in C: NAME_<function>.c, where every segment is a lane of a vector.

What a sweep carries, what links keep and the table hold element k of lane l in x[k][l]. A sweep's step stands in a loop over the
lanes, as a function of many states does (`_lanes`), and is called row by row: row r holds a link of every segment. Where some
segments have more links than others, the first rows are theirs alone: the others compute there what their neighbour's last
links would, which nobody takes. The ways across the segments are straight-line functions, called once a segment.

As many segments as there are lanes are a group; groups are swept at the same time where the compiler knows OpenMP.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from symgen.emission import definition, loop_work, render
from symgen.emission import lanes as _lanes
from symgen.emission.c_text import C
from symgen.emission.definition import calls
from symgen.emission.lane_steps import angles, braced, lane_step, refuse, row_of, wrapped
from symgen.ir.program import Program
from symgen.ir.recursion import CARRIED, KEPT, LEFT, TABLE, Sweep, as_function
from symgen.ir.segmented import ENDED, START, Across, Segmented
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target


def work(one: Segmented, checked: bool = False) -> int:
    """Numbers of the array that the caller provides: what links keep, what sweeps carry, what ways across keep."""
    carried = 2 * sum(len(stage.start) for stage in one.stages if isinstance(stage, Sweep))
    held = sum(_size(stage.step, KEPT) for stage in one.stages if isinstance(stage, Across))
    return one.segments * (one.longest * one.work + carried + held)


def may_alias(one: Segmented) -> bool:
    """Whether a result may lie over an argument, both of them from their first element on: nothing is read behind what stores."""
    given, stored = {port.name for port in one.inputs}, {port.name for port in one.outputs}
    steps = [(s, stage.steps[0]) for s, stage in enumerate(one.stages) if isinstance(stage, Sweep)]
    reads = [s for s, step in steps if given & {port.name for port in step.inputs}]
    stores = [s for s, step in steps if stored & {port.name for port in step.outputs}]
    return max(reads) <= min(stores)


def prototype(one: Segmented, target: Target) -> dict[str, Any]:
    """What the header says of the function."""
    return loop_work.with_work(one, target) | {"apart": not may_alias(one)}


def source(one: Segmented, target: Target) -> str:
    """The text of NAME_<function>.c. RequestError where the segments are no groups of as many as there are lanes, or it is to be
    checked.
    """
    lanes = _lanes.lanes(one.real)
    refuse(one, one.segments, lanes, target)
    symbol = target.symbol(one.function)
    steps: list[dict[str, Any]] = []
    functions: list[str] = []
    stages = [
        _swept(one, s, stage, target, steps)
        if isinstance(stage, Sweep)
        else _across(one, s, stage, target, functions)
        for s, stage in enumerate(one.stages)
    ]
    _placed(one, stages, lanes)
    regions = [[*together] for way, together in groupby(stages, lambda stage: bool(stage["way"]))]
    real = REALS[one.real]
    idle = [one.longest - len(one.links(g)) for g in range(one.segments)]
    firsts = [one.links(g)[0] - rows for g, rows in enumerate(idle)]  # of the first row
    groups = [firsts[at : at + lanes] for at in range(0, one.segments, lanes)]
    table = [
        "{"
        + ", ".join(
            braced([C.literal(one.tables[first + r][c], real) for first in group])
            for c in range(one.kind.width)
        )
        + "}"
        for group in groups
        for r in range(one.longest)
    ]
    known = calls(one.real, target)
    inputs, outputs = ([port.name for port in ports] for ports in (one.inputs, one.outputs))
    return render(
        "c99",
        "segmented.c.j2",
        **target.context,
        symbol=symbol,
        real=one.real,
        lanes=lanes,
        method=C.comment(one.method),
        last_row=one.longest - 1,
        arrays=[*inputs, *outputs],
        count=len(one),
        longest=one.longest,
        most_idle=max(idle),
        width=one.kind.width,
        work=one.work,
        doubles=work(one),
        table=wrapped(table),
        places=braced(list(map(str, firsts))),
        idle=braced(list(map(str, idle))),
        steps=steps,
        functions=functions,
        regions=regions,
        segments=one.segments,
        groups=len(groups),
        last_segment=one.segments - 1,
        rows=len(groups) * one.longest,
        of_group=one.longest * one.work * lanes,
        parameters=[
            *(f"const {one.real} {name}[{len(one)}]" for name in inputs),
            *(f"{one.real} {name}[{len(one)}]" for name in outputs),
            f"{one.real} numbers[{work(one)}]",
        ],
        cost=one.of_a_link,
        own_sines=any(step["own_sines"] for step in steps),
        own_loop=any(step["own_loop"] for step in steps),
        angles=angles(steps, lanes, one.real),
        sin=known["sin"],
        cos=known["cos"],
    )


def _placed(one: Segmented, stages: list[dict[str, Any]], lanes: int) -> None:
    """Tell stages where in the caller's array there is what they carry and keep, behind what links keep."""
    at, held = one.segments * one.longest * one.work, dict[str, int]()
    for stage in stages:
        if stage["way"]:
            held = {"at": at, "size": stage["keeps"]} if stage["keeps"] else held
            stage["held"] = held
            at += one.segments * stage["keeps"]
        else:
            stage |= {
                "at": at,
                "of_group": 2 * stage["size"] * lanes,
                "ends": one.longest % 2 * stage["size"],
            }
            at += one.segments * 2 * stage["size"]
    for stage in stages:
        if stage["way"]:
            stage["takes"], stage["gives"] = (
                stages[stage["takes"]],
                stages[stage["gives"]] if stage["starts"] else None,
            )


def _literals(one: Segmented, values: Any) -> list[str]:
    return [C.literal(x, REALS[one.real]) for x in values]


def _swept(
    one: Segmented, s: int, sweep: Sweep, target: Target, steps: list[dict[str, Any]]
) -> dict[str, Any]:
    """The loop of a sweep; its step joins the others."""
    step = as_function(sweep.steps[0], f"{one.function}_{s + 1}")
    steps.append(lane_step(step, target, "inward" if sweep.inward else "outward"))
    stored = [port.name for port in step.outputs if port.name in {p.name for p in one.outputs}]
    loaded = [port.name for port in step.inputs if port.name in {p.name for p in one.inputs}]
    given = {
        TABLE: f"{target.symbol(one.function)}_table[first + row]",
        KEPT: f"&work[{row_of(one.work)}]",
        LEFT[KEPT]: f"&work[{row_of(one.work, sweep.first[0])}]",
        CARRIED: "before",
        LEFT[CARRIED]: "behind",
    }
    called = ", ".join(
        given.get(port.name, f"own_{port.name}") for port in (*step.inputs, *step.outputs)
    )
    started = any(isinstance(stage, Across) and stage.gives == s for stage in one.stages)
    return {
        "way": False,
        "number": s + 1,
        "inward": sweep.inward,
        "size": len(sweep.start),
        "loads": loaded,
        "stores": stored,
        "reads": any(port.name == TABLE for port in step.inputs),
        "start": [] if started else _literals(one, sweep.start),
        "call": f"{target.symbol(step.function)}({called});",
    }


def _across(
    one: Segmented, s: int, way: Across, target: Target, functions: list[str]
) -> dict[str, Any]:
    """The loop over the segments; its two steps join the others."""
    found: list[str] = []
    carries, keeps, gives = 0, 0, 0
    for name, step in (("first", way.opening), ("other", way.step)):
        own = as_function(step, f"{one.function}_{s + 1}_{name}")
        functions.append(
            render(
                "c99",
                "definition.j2",
                **target.context,
                of_parts="static",
                of_all="static ",
                **definition.function(definition.PrintedFunction(own, target)),
            )
        )
        given = {
            ENDED: "ended",
            CARRIED: "carried",
            KEPT: "held",
            LEFT[CARRIED]: "handed",
            LEFT[KEPT]: "held",
            START: "start",
        }
        found.append(
            f"{target.symbol(own.function)}({', '.join(given[port.name] for port in (*own.inputs, *own.outputs))});"
        )
        carries, gives = (_size(step, name) for name in (CARRIED, START))
        keeps = _size(step, KEPT)
    return {
        "way": True,
        "inward": way.inward,
        "takes": way.takes,
        "gives": way.gives,
        "first": found[0],
        "other": found[1],
        "carries": carries,
        "keeps": keeps,
        "starts": gives,
    }


def _size(step: Program, name: str) -> int:
    return next((port.size for port in step.outputs if port.name == name), 0)
