"""What the templates are told of one function in C: its prototype, its statements, and the parts of a long one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from symgen.emission import blocks as _blocks
from symgen.emission import checks as _checks
from symgen.emission import parts as _parts
from symgen.emission import sincos
from symgen.emission.c_text import C
from symgen.emission.equations import stated
from symgen.emission.ports import (
    describe,
    meaning,
    operations_text,
    single_real,
    struct_of,
    symbolic,
)
from symgen.emission.target import Target
from symgen.emission.writer import CALLED, Turn, Writer, live_rows
from symgen.ir.levelled import Levelled
from symgen.ir.program import Bound, Outline, Port, Program
from symgen.ir.recursion import WORK, Form, Recursion, steps_of
from symgen.ir.segmented import Segmented
from symgen.support.errors import RequestError
from symgen.vocabulary.functions import FUNCTIONS, Array, Sizes
from symgen.vocabulary.reals import REALS


def calls(real: str, target: Target) -> dict[str, str]:
    """The C name of each function that a Program may call."""
    own = (
        {"sin": f"{target.name}_SIN", "cos": f"{target.name}_COS"}
        if target.text.trig == "macro"
        else {}
    )
    return {op: C.call(op, REALS[real]) for op in CALLED} | own


def parameters(program: Form | Outline, target: Target) -> dict[str, str]:
    """The C parameter of each port of the Program, arguments first."""
    taken = macros(target)
    found: dict[str, str] = {}
    for port in (*program.inputs, *program.outputs):
        found[port.name] = C.local(port.name, taken | set(found.values()))
    return found


def turns(program: Form, target: Target) -> bool:
    """Whether a function includes NAME_sincos.h."""
    if isinstance(program, Segmented | Levelled):  # sines of all lanes at once, or each by itself
        return target.text.trig in ("auto", "inline") and program.operations["sin"] > 0
    if isinstance(program, Recursion):
        return any(turns(step, target) for step in steps_of(program)) or any(
            _blocks.blocks(program, s, target) for s in range(len(program.sweeps))
        )
    assert isinstance(program, Program)
    if target.text.trig == "auto":
        return bool(together(program))
    return target.text.trig == "inline" and any(
        program.rows[i].op in ("sin", "cos") for i in live_rows(program)
    )


def _size(array: Array, port: Port, target: Target) -> str:
    """The size of a port as C reads it: NAME_NV*NAME_NV, and a plain number where the table does not know better."""
    shape = symbolic(array, port, target.sizes)
    return (
        str(port.size)
        if shape is None
        else "*".join(f"{target.name}_{s}" if isinstance(s, str) else str(s) for s in shape)
    )


def prototype(program: Form, target: Target) -> dict[str, Any]:
    """What is said of a function; `apart`: its results may not lie over its arguments."""
    names = parameters(program, target)
    arguments, results = describe(program)
    declared = FUNCTIONS.get(program.function)
    ports = [
        *zip(program.inputs, arguments, strict=True),
        *zip(program.outputs, results, strict=True),
    ]
    single_real([program])
    return {
        "symbol": target.symbol(program.function),
        "what": C.comment(
            stated(declared.what if declared else program.function, target, program.inputs)
        ),
        "frames": [C.comment(frame) for frame in target.frames_of(declared)],
        "wrenches": [C.comment(link) for link in target.wrenches_of(arguments)],
        "contacts": [C.comment(point) for point in target.contacts_of(declared)],
        "method": C.comment(program.method),
        "operations": operations_text(program),
        "depth": program.depth,
        "apart": False,
        "parameters": [
            {
                "qualifier": "const " if i < len(arguments) else "",
                "real": program.real,
                "struct": struct_of(port, target.name) if i < len(arguments) else "",
                "name": names[port.name],
                "size": _size(array, port, target),
                "what": C.comment(stated(meaning(array, target.sizes), target, program.inputs)),
            }
            for i, (port, array) in enumerate(ports)
        ],
    }


def macros(target: Target) -> set[str]:
    """What the header may define, or a user: no local and no parameter is called so."""
    statuses = _checks.STATUSES if target.checked else ()
    named = (
        *Sizes._fields,
        WORK.upper(),
        "SIN",
        "COS",
        "ANGLES",
        "UNVERIFIED",
        "API",
        "SHARED",
        "EXPORTS",
        *statuses,
    )
    return {f"{target.name}_{macro}" for macro in named}


def _refuse_nothing(program: Program) -> None:
    """RequestError for a number as the result that is a constant other than zero, and zero in the real type: a tiny det M."""
    for port in program.outputs:
        value = program.rows[port.rows[0]].value if port.shape == () else None
        if isinstance(value, Fraction) and value and not REALS[program.real].nearest(value):
            size = len(str(abs(value.numerator))) - len(str(value.denominator))
            raise RequestError(
                f"{program.function} is a constant of about 1e{size}, which is zero in a {program.real}; use "
                "other units or --real double"
            )


def together(program: Program) -> list[list[int]]:
    """The angles whose sines and cosines are taken together, the rows of each: all that need no other sine or cosine before.

    None where there is but one, which <math.h> serves as well.
    """
    found = early(program)
    return found if len(found) > 1 else []


def early(program: Program) -> list[list[int]]:
    """The angles that need no other sine or cosine, the rows of each."""
    rows = program.rows
    found: dict[Any, list[int]] = {}
    for row in _checks.angles(program, live_rows(program)):
        if all(rows[i].op not in ("sin", "cos") for i in _checks.ancestors(program, [row])):
            found.setdefault(rows[row].value if rows[row].op == "input" else row, []).append(row)
    return list(found.values())


def turn_of(program: Program, target: Target) -> Turn | None:
    """What gives sines and cosines, where the text has its own."""
    if not turns(program, target):
        return None
    function = f"{target.name}_sincos"
    if target.text.trig == "inline":
        return Turn(f"{target.name}_pair", function)
    count = sincos.lanes(len(together(program)), program.real)
    return Turn(f"{target.name}_turns", function, f"{target.name}_ANGLES", count)


def function(
    program: Program,
    target: Target,
    floors: Mapping[int, Bound],
    part: int | None,
    turn: Turn | None,
    arrays: bool = False,
) -> dict[str, Any]:
    """Return the facts of a function that its template prints; with `arrays` every argument is an array, structs too."""
    names = parameters(program, target)
    _refuse_nothing(program)
    inputs = [names[port.name] for port in program.inputs]
    structs = {
        names[port.name] for port in program.inputs if struct_of(port, target.name) and not arrays
    }
    read_as = [f"{name}->value" if name in structs else name for name in inputs]
    live = live_rows(program)
    guards = _checks.guards(program, live, floors) if target.checked else []
    angles = (
        _checks.angles(program, live) if target.checked and target.text.trig == "inline" else []
    )
    finite = _checks.finite_rows(program, live) if target.checked else []
    taken = macros(target) | {
        target.symbol(program.function),
        *names.values(),
        *(turn or ()),
        *(["value"] if structs else []),
    }
    # What goes from part to part is a local: a turn's sine and its cosine go by themselves, and are read off it in one block.
    sines = [] if part is None else [i for i in live if program.rows[i].op in ("sin", "cos")]
    first = _checks.ancestors(program, angles)
    met = {_angle(program, i) for i in first.intersection(sines)}
    first |= {i for i in sines if _angle(program, i) in met}
    writer = Writer(
        program,
        C,
        read_as,
        calls(program.real, target),
        taken,
        turn,
        forced={*angles, *sines, *finite, *(guard.row for guard in guards)},
        indent=4 * (target.checked and part is None),
    )
    own = {name: writer.local(name) for name in ("status", "none")} if target.checked else {}
    read = {program.rows[i].value[0] for i in live if program.rows[i].op == "input"}
    before = writer.statements(first)  # what is checked first of all
    if turn and turn.lanes:
        angled = together(program)
        writer.turned(
            [rows[0] for rows in angled],
            _checks.ancestors(program, [row for rows in angled for row in rows]),
        )
    # In parts, what takes sines of arguments stands first, so that the angles are not read late.
    soon = [] if part is None else writer.statements(_checks.ancestors(program, sines))
    groups = writer.statements()
    said = prototype(program, target)
    if arrays:
        said["parameters"] = [parameter | {"struct": ""} for parameter in said["parameters"]]
    said |= {
        "real": program.real,
        "turns": turn is not None,
        "angles": turn.lanes if turn else 0,
        "unread": [name for i, name in enumerate(inputs) if i not in read and not target.checked],
        "before": before,
        "groups": groups,
        "parts": [],
        "stores": [
            {"name": names[port.name], "element": k, "value": writer.text[row]}
            for port in program.outputs
            for k, row in enumerate(port.rows)
        ],
    }
    text = writer.text
    if part is not None:
        found, text = _cut(
            said,
            [before, soon, groups],
            part,
            writer,
            inputs,
            [*angles],
            [*finite, *(g.row for g in guards)],
            turn.kind if turn else "",
            target.checked,
        )
        said |= found
    checks = own and own | _checks.conditions(
        program, C, read_as, text, angles, guards, [text[row] for row in finite]
    )
    return said | {"checks": checks}


def _angle(program: Program, i: int) -> Any:
    """What tells the angle of a sine or a cosine from other angles. An argument may stand in several rows."""
    angle = program.rows[i].args[0]
    return program.rows[angle].value if program.rows[angle].op == "input" else angle


def _cut(
    function: Mapping[str, Any],
    blocks: Sequence[_parts.Groups],
    length: int,
    writer: Writer,
    inputs: Sequence[str],
    angles: Sequence[int],
    guarded: Sequence[int],
    pair: str,
    checked: bool,
) -> tuple[dict[str, Any], dict[int, str]]:
    """What the template says of a function in parts, and how its rows are written in the function that calls them.

    A checked one stores by itself, behind its last check.
    """
    symbol, work, text = function["symbol"], writer.local("work"), writer.text
    stores = [_parts.Store(**store) for store in function["stores"]]
    kept = {text[row]: 1 for row in angles} | {text[row]: len(blocks) for row in guarded}
    kept |= {store.value: len(blocks) for store in stores} if checked else {}
    made = _parts.cut(blocks, length, inputs, () if checked else stores, kept, pair)
    given = {p["name"]: p for p in function["parameters"]}
    array = {"real": writer.program.real, "name": work, "size": made.size}
    parts = []
    for number, one in enumerate(made.parts, 1):
        results = dict.fromkeys(store.name for store in one.stores)
        shared = (
            [array | {"qualifier": "" if one.puts else "const "}] if one.takes or one.puts else []
        )
        taken = (
            [given[name] for name in inputs if name in one.reads]
            + shared
            + [given[name] for name in results]
        )
        parts.append(
            {
                "symbol": f"{symbol}_part_{number}",
                "parameters": taken,
                "groups": one.groups,
                "takes": [{"name": name, "place": C.at(work, place)} for name, place in one.takes],
                "puts": [{"name": name, "place": C.at(work, place)} for place, name in one.puts],
                "stores": one.stores,
                "call": f"{symbol}_part_{number}({', '.join(p['name'] for p in taken)})",
            }
        )
    there = {name: C.at(work, place) for name, place in made.places.items()}
    called = [part["call"] for part in parts]
    stores = (
        [store._replace(value=there.get(store.value, store.value)) for store in stores]
        if checked
        else []
    )
    return {
        "parts": parts,
        "work": array,
        "first_calls": called[: made.ends[1]],
        "calls": called[made.ends[1] :],
        "before": [],
        "groups": [],
        "stores": stores,
    }, {row: there.get(name, name) for row, name in text.items()}
