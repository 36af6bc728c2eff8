"""Batch functions, NAME_<function>_batch.c, which compute blocks of states.

Each state of a block is one lane of a vector. The arrays of a block have element k of lane l in
x[k][l]. The statements are in loops over lanes with a constant number of iterations and no
branches, so that a compiler vectorises them. A first loop computes the angles; then the sines and
cosines of all angles of all lanes are computed in one loop; the other loops follow. A long function
is cut into parts (`parts`) with one loop each. A work array with lanes holds the values that one
loop passes to another.

Each lane has the operations of the function for one state, in the same order. Therefore the results
have the same bits, whatever the other lanes hold. A block that is not full repeats its last state.
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
    """C with a lane index for the elements of all arrays, except `shared_arrays`."""

    shared_arrays: frozenset[str] = frozenset()

    def at(self, array: str, index: int) -> str:
        """Return an element of an array."""
        return C.at(array, index) if array in self.shared_arrays else super().at(array, index)


LANES = _Lanes(
    **{field.name: getattr(C, field.name) for field in fields(C)}
    | {"element": f"{{array}}[{{index}}][{LANE}]"}
)


def lanes(real: str) -> int:
    """Return the number of states of a block in a real type."""
    return REALS[real].lanes


def function(
    printed: PrintedFunction,
    angles_of_lanes: Sequence[Sequence[int]],
    shared_arrays: Collection[str] = (),
) -> dict[str, Any]:
    """Return the facts that the template of a batch function prints.

    `angles_of_lanes` are the rows of each angle whose sine and cosine are computed for all lanes
    between two loops. `printed.sincos_function`, if any, computes sine and cosine of one angle
    inside a loop. All lanes share `shared_arrays`.
    """
    program, target = printed.program, printed.target
    writer, compared = _writer(printed, angles_of_lanes, shared_arrays), printed.comparisons
    keys = {
        "angle": "angle",
        "turn": "sines",
        "work": "work",
        "status": "status",
        "none": "zero_sum",
    }
    names = {key: writer.local(name) for name, key in keys.items()}
    angles = _checks.ancestors(program, [row for rows in angles_of_lanes for row in rows])
    blocks = [writer.statements(angles)]
    sine_arguments = _name_sines(writer, angles_of_lanes, names["sines"], lanes(program.real))
    sines = _checks.ancestors(program, printed.sines)
    blocks += [writer.statements(sines), writer.statements()]
    checked = [*compared.angles, *compared.hiding, *(guard.row for guard in compared.guards)]
    block_counts = {angle["value"]: 1 for angle in sine_arguments} | {
        writer.text[row]: 3 for row in checked
    }
    cut = _cut(printed, blocks, block_counts, writer)
    elements = {name: LANES.at(names["work"], index) for name, index in cut.places.items()}
    text = {row: elements.get(writer.text[row], writer.text[row]) for row in checked}
    loops = [_loop(part, names["work"], printed.inputs) for part in cut.parts]
    arrays, names_of_driver = driver(program, printed.names)
    work = {"name": names["work"], "size": cut.size, "count": cut.size}
    symbol = target.symbol(program.function)
    count = lanes(program.real)
    numbers = cut.size + 3 * len(sine_arguments) + sum(array["count"] for array in arrays)
    return {
        "names": names,
        "angles": count * len(sine_arguments),
        "work": work,
        "driver": names_of_driver,
        "sine_arguments": [
            angle | {"value": elements.get(angle["value"], angle["value"])}
            for angle in sine_arguments
        ],
        "angle_loops": loops[: cut.ends[1]],
        "sine_loops": loops[cut.ends[1] : cut.ends[2]],
        "loops": loops[cut.ends[2] :],
        "parts": []
        if printed.part is None
        else _functions(symbol, loops[cut.ends[2] :], arrays, work),
        "parameters": _parameters(arrays, _unread(printed, loops, sine_arguments), shared_arrays),
        "checks": _conditions(printed, text) if target.checked else {},
        "bytes": REALS[program.real].size * count * numbers,
    }


def _writer(
    printed: PrintedFunction,
    angles_of_lanes: Sequence[Sequence[int]],
    shared_arrays: Collection[str],
) -> Writer:
    """Return the writer of the statements of one lane."""
    compared = printed.comparisons
    spelling = replace(
        printed.spelling,
        language=replace(LANES, shared_arrays=frozenset(shared_arrays)),
        inputs=printed.inputs,
        reserved_names=(printed.reserved_names - {"value"}) | {LANE},
    )
    guarded = [guard.row for guard in compared.guards]
    angles = [row for rows in angles_of_lanes for row in rows]
    forced = {*printed.sines, *compared.angles, *compared.hiding, *guarded, *angles}
    return Writer(printed.program, spelling, forced=forced, indent=4)


def _name_sines(
    writer: Writer, angles_of_lanes: Sequence[Sequence[int]], sines: str, count: int
) -> list[dict[str, str]]:
    """Name sine and cosine of the angles; return index and value of each angle.

    `index` is that of the angle in the arrays of angles, sines and cosines. `count` is the number
    of lanes.
    """
    for k, rows in enumerate(angles_of_lanes):
        writer.pairs[writer.angle(rows[0])] = {
            "sin": f"{sines}.sine[{_lane_index(k * count)}]",
            "cos": f"{sines}.cosine[{_lane_index(k * count)}]",
        }
    return [
        {"index": _lane_index(k * count), "value": writer.text[rows[0]]}
        for k, rows in enumerate(angles_of_lanes)
    ]


def _cut(
    printed: PrintedFunction,
    blocks: Sequence[parts.Groups],
    block_counts: Mapping[str, int],
    writer: Writer,
) -> parts.Cut:
    """Return the statements cut into loops; the last loops store the results."""
    stores = printed.stores(writer.text)
    length = printed.part or len(printed.program.rows) + 1
    pair = printed.sincos_function.kind if printed.sincos_function else ""
    return parts.cut(blocks, length, printed.inputs, stores, block_counts, pair)


def _conditions(printed: PrintedFunction, text: Mapping[int, str]) -> dict[str, str]:
    """Return the conditions of one lane.

    They read a result from its array, and other rows as `text` spells them.
    """
    program = printed.program
    result_elements = {
        row: LANES.at(printed.names[port.name], k)
        for port in program.outputs
        for k, row in enumerate(port.rows)
    }
    results = [result_elements.get(row, text.get(row, "")) for row in printed.comparisons.finite]
    spelling = replace(printed.spelling, language=LANES, inputs=printed.inputs)
    return _checks.conditions(program, spelling, text, printed.comparisons, results)


def _parameters(
    arrays: Sequence[Mapping[str, Any]], unread: Collection[str], shared_arrays: Collection[str]
) -> list[dict[str, Any]]:
    """Return the parameters; `unread`: no statement reads the array; `lanes`: it has lanes."""
    return [
        {**array, "unread": array["name"] in unread, "lanes": array["name"] not in shared_arrays}
        for array in arrays
    ]


def _unread(
    printed: PrintedFunction,
    loops: Sequence[Mapping[str, Any]],
    sine_arguments: Sequence[Mapping[str, str]],
) -> set[str]:
    """Return the arguments that no loop, no check and no load of an angle reads."""
    if printed.target.checked:
        return set()
    arrays_of_loops = {name for loop in loops for name in loop["arrays"]}
    return {
        name
        for name in printed.inputs
        if name not in arrays_of_loops
        and not any(angle["value"].startswith(f"{name}[") for angle in sine_arguments)
    }


def driver(program: Form, names: Mapping[str, str]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the arrays and the names of other locals of the function that calls each block.

    Each array has the names of its two strides (`state`, `element`) and of its `block`.
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
    """Return a function for each loop; its parameters are the arrays that the loop accesses."""
    functions = []
    for number, loop in enumerate(loops, 1):
        parameters = [array for array in arrays if array["name"] in loop["arrays"]] + (
            [work] if loop["uses_work"] else []
        )
        name = f"{symbol}_lanes_{number}"
        functions.append(
            {
                "symbol": name,
                "loop": loop,
                "parameters": parameters,
                "call": f"{name}({', '.join(array['name'] for array in parameters)})",
            }
        )
    return functions


def _lane_index(first: int) -> str:
    """Return the index of the current lane in an array whose lane 0 is at `first`."""
    return f"{first} + {LANE}" if first else LANE


def _loop(part: parts.Part, work: str, inputs: Sequence[str]) -> dict[str, Any]:
    """Return the facts of a loop over lanes with the statements of `part`."""
    results = dict.fromkeys(store.name for store in part.stores)
    return {
        "loads": [{"name": name, "element": LANES.at(work, index)} for name, index in part.loads],
        "groups": part.groups,
        "saves": [{"name": name, "element": LANES.at(work, index)} for index, name in part.saves],
        "stores": [
            {"element": LANES.at(store.name, store.element), "value": store.value}
            for store in part.stores
        ],
        "arrays": [*(name for name in inputs if name in part.reads), *results],
        "uses_work": bool(part.loads or part.saves),
    }
