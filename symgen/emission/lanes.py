"""A function of many states: NAME_<function>_batch.c, the same rows over blocks of states, one lane of a vector a state.

A block's arrays hold element k of lane l in x[k][l]. The body stands in loops over the lanes that a compiler turns into vectors:
how often they run is known to it, and nothing in them branches. Sines and cosines stand between two such loops, all angles of all
lanes in one more. A long function is cut into parts, each with a loop of its own, as `_parts` says; what goes from one loop to
the next stands in a work array, which has lanes as well.

Each lane does what the function of one state does, in the same order, so that its results have the same bits, whatever the other
lanes hold. A block that is not full repeats its last state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from symgen.emission import checks, parts
from symgen.emission.c_text import C
from symgen.emission.language import Language
from symgen.emission.target import Target
from symgen.emission.writer import Turn, Writer, live_rows
from symgen.ir.program import Bound, Program
from symgen.ir.recursion import Form
from symgen.vocabulary.reals import REALS

LANE = "lane"


@dataclass(frozen=True)
class _Lanes(Language):
    """C where an element is one lane's, but for arrays in `alike`, which all lanes share."""

    alike: frozenset[str] = frozenset()

    def at(self, array: str, index: int) -> str:
        """An element of an array."""
        return C.at(array, index) if array in self.alike else super().at(array, index)


LANES = _Lanes(
    **{field.name: getattr(C, field.name) for field in fields(C)}
    | {"element": f"{{array}}[{{index}}][{LANE}]"}
)


def lanes(real: str) -> int:
    """States of a block."""
    return REALS[real].lanes


def function(
    program: Program,
    target: Target,
    names: Mapping[str, str],
    calls: Mapping[str, str],
    together: Sequence[Sequence[int]],
    turn: Turn | None,
    taken: set[str],
    floors: Mapping[int, Bound],
    part: int | None,
    alike: Collection[str] = (),
) -> dict[str, Any]:
    """What the template says of one function.

    `names` are its parameters by port, `calls` the functions that it may call, `together` the angles whose sines are taken
    between two loops, the rows of each, and `turn` what gives those of one angle inside a loop. `part` is how many statements a
    part has, about; None: it stays in one piece. All lanes share the arrays that are `alike`.
    """
    live, language = live_rows(program), replace(LANES, alike=frozenset(alike))
    inputs = [names[port.name] for port in program.inputs]
    guards = checks.guards(program, live, floors) if target.checked else []
    angles = checks.angles(program, live) if target.checked and turn else []
    hiding = checks.hiding_rows(program, live) if target.checked else []
    sines = [] if part is None else [i for i in live if program.rows[i].op in ("sin", "cos")]
    forced = {
        *sines,
        *angles,
        *hiding,
        *(guard.row for guard in guards),
        *(row for rows in together for row in rows),
    }
    writer = Writer(program, language, inputs, calls, taken | {LANE}, turn, forced=forced, indent=4)
    own = {name: writer.local(name) for name in ("angle", "turn", "work", "status", "none")}
    count = lanes(program.real)
    first = (
        writer.statements(checks.ancestors(program, [row for rows in together for row in rows]))
        if together
        else []
    )
    read = [
        {"place": _place(k * count), "value": writer.text[rows[0]]}
        for k, rows in enumerate(together)
    ]
    for k, rows in enumerate(together):
        writer.pairs[writer.angle(rows[0])] = {
            op: f"{own['turn']}.{kind}[{_place(k * count)}]"
            for op, kind in (("sin", "sine"), ("cos", "cosine"))
        }
    early = writer.statements(checks.ancestors(program, sines)) if sines else []
    groups = writer.statements()
    stores = [
        parts.Store(names[port.name], k, writer.text[row])
        for port in program.outputs
        for k, row in enumerate(port.rows)
    ]
    checked = [*angles, *hiding, *(guard.row for guard in guards)]
    kept = {one["value"]: 1 for one in read} | {writer.text[row]: 3 for row in checked}
    made = parts.Cut(
        (parts.Part((), [], (), tuple(stores), frozenset()),), 0, {}, (0, 0, 0, 1)
    )  # where nothing is computed
    if first or early or groups:
        made = parts.cut(
            [first, early, groups],
            part or len(program.rows) + 1,
            inputs,
            stores,
            kept,
            turn.kind if turn else "",
        )
    there = {name: LANES.at(own["work"], place) for name, place in made.places.items()}
    text = {row: there.get(writer.text[row], writer.text[row]) for row in checked}
    stored = {
        row: LANES.at(names[port.name], k)
        for port in program.outputs
        for k, row in enumerate(port.rows)
    }
    finite = [
        stored.get(row, text.get(row, ""))
        for row in (checks.finite_rows(program, live) if target.checked else ())
    ]
    loops = [_loop(one, own["work"], inputs) for one in made.parts]
    arrays, driven = driver(program, names)
    behind = loops[made.ends[2] :]
    touched = {name for loop in loops for name in loop["reads"]} | (
        {*inputs} if target.checked else set()
    )
    touched |= {name for name in inputs for one in read if one["value"].startswith(f"{name}[")}
    work = {"name": own["work"], "size": made.size, "count": made.size}
    return {
        "own": own,
        "angles": count * len(read),
        "work": work,
        "driver": driven,
        "read": [one | {"value": there.get(one["value"], one["value"])} for one in read],
        "before": loops[: made.ends[1]],
        "between": loops[made.ends[1] : made.ends[2]],
        "loops": behind,
        "parts": []
        if part is None
        else _functions(target.symbol(program.function), behind, arrays, work),
        "parameters": [
            array | {"unread": array["name"] not in touched, "lanes": array["name"] not in alike}
            for array in arrays
        ],
        "checks": checks.conditions(program, LANES, inputs, text, angles, guards, finite)
        if target.checked
        else {},
        "bytes": REALS[program.real].size
        * count
        * (made.size + 3 * len(read) + sum(array["count"] for array in arrays)),
    }


def driver(program: Form, names: Mapping[str, str]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """(the arrays with the names of their steps and blocks, the other names) in what goes from block to block."""
    arrays = [
        {
            "name": names[port.name],
            "count": port.size,
            "qualifier": "const " if i < len(program.inputs) else "",
        }
        for i, port in enumerate((*program.inputs, *program.outputs))
    ]
    taken = set(names.values())

    def local(name: str) -> str:
        found = C.local(name, taken)
        taken.add(found)
        return found

    for array in arrays:
        array |= {kind: local(f"{array['name']}_{kind}") for kind in ("state", "element", "block")}
    return arrays, {
        name: local(name)
        for name in ("count", "first", "lanes", "found", "refused", "status", "work", "size")
    }


def _functions(
    symbol: str,
    loops: Sequence[dict[str, Any]],
    arrays: Sequence[dict[str, Any]],
    work: dict[str, Any],
) -> list[dict[str, Any]]:
    """Loops as functions of their own, with what each of them reads and stores."""
    found = []
    for number, loop in enumerate(loops, 1):
        given = [array for array in arrays if array["name"] in loop["reads"]] + (
            [work] if loop["shares"] else []
        )
        name = f"{symbol}_lanes_{number}"
        found.append(
            {
                "symbol": name,
                "loop": loop,
                "parameters": given,
                "call": f"{name}({', '.join(one['name'] for one in given)})",
            }
        )
    return found


def _place(first: int) -> str:
    return f"{first} + {LANE}" if first else LANE


def _loop(one: parts.Part, work: str, inputs: Sequence[str]) -> dict[str, Any]:
    """One loop over the lanes."""
    results = dict.fromkeys(store.name for store in one.stores)
    return {
        "takes": [{"name": name, "place": LANES.at(work, place)} for name, place in one.takes],
        "groups": one.groups,
        "puts": [{"name": name, "place": LANES.at(work, place)} for place, name in one.puts],
        "stores": [
            {"place": LANES.at(store.name, store.element), "value": store.value}
            for store in one.stores
        ],
        "reads": [*(name for name in inputs if name in one.reads), *results],
        "shares": bool(one.takes or one.puts),
    }
