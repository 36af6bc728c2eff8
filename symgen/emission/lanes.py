"""A function of many states: NAME_<function>_batch.c, the same rows over blocks of states, one lane
of a vector a state.

A block's arrays hold element k of lane l in x[k][l]. The body stands in loops over the lanes that a
compiler turns into vectors: how often they run is known to it, and nothing in them branches. Sines
and cosines stand between two such loops, all angles of all lanes in one more. A long function is
cut into parts, each with a loop of its own, as `_parts` says; what goes from one loop to the next
stands in a work array, which has lanes as well.

Each lane does what the function of one state does, in the same order, so that its results have the
same bits, whatever the other lanes hold. A block that is not full repeats its last state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from symgen.emission import checks as _checks
from symgen.emission import parts
from symgen.emission.c_text import C
from symgen.emission.definition import PrintedFunction
from symgen.emission.language import Language
from symgen.emission.writer import Writer
from symgen.ir.loops import Form
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
    printed: PrintedFunction, together: Sequence[Sequence[int]], shared_arrays: Collection[str] = ()
) -> dict[str, Any]:
    """Return the facts of a function of lanes that its template prints.

    `together` are the angles whose sines are taken between two loops, the rows of each; the turn of
    the function, if any, gives those of one angle inside a loop. All lanes share `shared_arrays`.
    """
    program, target = printed.program, printed.target
    writer, compared = _writer(printed, together, shared_arrays), printed.comparisons
    names = {name: writer.local(name) for name in ("angle", "turn", "work", "status", "none")}
    angles = _checks.ancestors(program, [row for rows in together for row in rows])
    blocks = [writer.statements(angles)]
    sine_arguments = _name_sines(writer, together, names["turn"], lanes(program.real))
    sines = _checks.ancestors(program, printed.sines)
    blocks += [writer.statements(sines), writer.statements()]
    checked = [*compared.angles, *compared.hiding, *(guard.row for guard in compared.guards)]
    kept = {angle["value"]: 1 for angle in sine_arguments} | {
        writer.text[row]: 3 for row in checked
    }
    cut = _cut(printed, blocks, kept, writer)
    places = {name: LANES.at(names["work"], index) for name, index in cut.places.items()}
    text = {row: places.get(writer.text[row], writer.text[row]) for row in checked}
    loops = [_loop(part, names["work"], printed.inputs) for part in cut.parts]
    arrays, names_of_driver = driver(program, printed.names)
    work = {"name": names["work"], "size": cut.size, "count": cut.size}
    symbol = target.symbol(program.function)
    count = lanes(program.real)
    numbers = cut.size + 3 * len(sine_arguments) + sum(array["count"] for array in arrays)
    return {
        "own": names,
        "angles": count * len(sine_arguments),
        "work": work,
        "driver": names_of_driver,
        "read": [
            angle | {"value": places.get(angle["value"], angle["value"])}
            for angle in sine_arguments
        ],
        "before": loops[: cut.ends[1]],
        "between": loops[cut.ends[1] : cut.ends[2]],
        "loops": loops[cut.ends[2] :],
        "parts": []
        if printed.part is None
        else _functions(symbol, loops[cut.ends[2] :], arrays, work),
        "parameters": _parameters(arrays, _unread(printed, loops, sine_arguments), shared_arrays),
        "checks": _conditions(printed, text) if target.checked else {},
        "bytes": REALS[program.real].size * count * numbers,
    }


def _writer(
    printed: PrintedFunction, together: Sequence[Sequence[int]], shared_arrays: Collection[str]
) -> Writer:
    """Return the writer of one lane's statements, which stand in a loop."""
    compared = printed.comparisons
    spelling = replace(
        printed.spelling,
        language=replace(LANES, alike=frozenset(shared_arrays)),
        inputs=printed.inputs,
        taken=(printed.reserved_names - {"value"}) | {LANE},
    )
    guarded = [guard.row for guard in compared.guards]
    angles = [row for rows in together for row in rows]
    forced = {*printed.sines, *compared.angles, *compared.hiding, *guarded, *angles}
    return Writer(printed.program, spelling, forced=forced, indent=4)


def _name_sines(
    writer: Writer, together: Sequence[Sequence[int]], turn: str, count: int
) -> list[dict[str, str]]:
    """Name the sines of angles that are taken between two loops; return where each angle is put,
    and its value.
    """
    for k, rows in enumerate(together):
        writer.pairs[writer.angle(rows[0])] = {
            "sin": f"{turn}.sine[{_place(k * count)}]",
            "cos": f"{turn}.cosine[{_place(k * count)}]",
        }
    return [
        {"place": _place(k * count), "value": writer.text[rows[0]]}
        for k, rows in enumerate(together)
    ]


def _cut(
    printed: PrintedFunction,
    blocks: Sequence[parts.Groups],
    block_counts: Mapping[str, int],
    writer: Writer,
) -> parts.Cut:
    """Cut the statements into loops, of which the last ones store the results."""
    stores = printed.stores(writer.text)
    length = printed.part or len(printed.program.rows) + 1
    pair = printed.turn.kind if printed.turn else ""
    return parts.cut(blocks, length, printed.inputs, stores, block_counts, pair)


def _conditions(printed: PrintedFunction, text: Mapping[int, str]) -> dict[str, str]:
    """Return the conditions of one lane: results are read where they are stored, other rows as
    `text` has them.
    """
    program = printed.program
    stored = {
        row: LANES.at(printed.names[port.name], k)
        for port in program.outputs
        for k, row in enumerate(port.rows)
    }
    results = [stored.get(row, text.get(row, "")) for row in printed.comparisons.finite]
    spelling = replace(printed.spelling, language=LANES, inputs=printed.inputs)
    return _checks.conditions(program, spelling, text, printed.comparisons, results)


def _parameters(
    arrays: Sequence[Mapping[str, Any]], unread: Collection[str], shared_arrays: Collection[str]
) -> list[dict[str, Any]]:
    """Return the arrays as parameters: whether each is read, and whether it has lanes."""
    return [
        {**array, "unread": array["name"] in unread, "lanes": array["name"] not in shared_arrays}
        for array in arrays
    ]


def _unread(
    printed: PrintedFunction,
    loops: Sequence[Mapping[str, Any]],
    sine_arguments: Sequence[Mapping[str, str]],
) -> set[str]:
    """Return the arguments that neither a loop, nor a check, nor an angle taken between two loops
    reads.
    """
    if printed.target.checked:
        return set()
    touched = {name for loop in loops for name in loop["reads"]}
    return {
        name
        for name in printed.inputs
        if name not in touched
        and not any(angle["value"].startswith(f"{name}[") for angle in sine_arguments)
    }


def driver(program: Form, names: Mapping[str, str]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """(the arrays with the names of their steps and blocks, the other names) in what goes from
    block to block.
    """
    arrays = [
        {
            "name": names[port.name],
            "count": port.size,
            "qualifier": "const " if i < len(program.inputs) else "",
        }
        for i, port in enumerate((*program.inputs, *program.outputs))
    ]
    taken_names = set(names.values())

    def local(name: str) -> str:
        local = C.local(name, taken_names)
        taken_names.add(local)
        return local

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
    calls = []
    for number, loop in enumerate(loops, 1):
        passed = [array for array in arrays if array["name"] in loop["reads"]] + (
            [work] if loop["shares"] else []
        )
        name = f"{symbol}_lanes_{number}"
        calls.append(
            {
                "symbol": name,
                "loop": loop,
                "parameters": passed,
                "call": f"{name}({', '.join(array['name'] for array in passed)})",
            }
        )
    return calls


def _place(first: int) -> str:
    return f"{first} + {LANE}" if first else LANE


def _loop(part: parts.Part, work: str, inputs: Sequence[str]) -> dict[str, Any]:
    """One loop over the lanes."""
    results = dict.fromkeys(store.name for store in part.stores)
    return {
        "takes": [{"name": name, "place": LANES.at(work, index)} for name, index in part.takes],
        "groups": part.groups,
        "puts": [{"name": name, "place": LANES.at(work, index)} for index, name in part.puts],
        "stores": [
            {"place": LANES.at(store.name, store.element), "value": store.value}
            for store in part.stores
        ],
        "reads": [*(name for name in inputs if name in part.reads), *results],
        "shares": bool(part.takes or part.puts),
    }
