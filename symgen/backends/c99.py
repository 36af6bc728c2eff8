"""C99: one function a file, a header for all; includes nothing but <math.h> and headers of its own, and allocates nothing.

A long function calls static parts of its own, one after the other (`_parts`).

How C spells a row stands in `C`; which rows become locals is decided by `_writer`, and `templates/c99/` holds the layout.
Parentheses are written where C's grammar would group otherwise, and around a product in a sum, as MISRA C:2012 asks (rule 12.1).

Outputs may alias inputs: every input is read into a local before the first store. What a checked function checks, it checks
before that as well, and returns how it went: one way out, no store but in the innermost branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from symgen.backends import _adjustable, _assembling, _checks, _lanes, _parts, _sincos, render
from symgen.backends._backend import Printer
from symgen.backends._c_text import C
from symgen.backends._legend import legend
from symgen.backends._ports import counted, counts_bodies, describe, meaning, operations_text, several, single_real, symbolic
from symgen.backends._target import Target
from symgen.backends._writer import CALLED, Turn, Writer, live_rows
from symgen.errors import RequestError
from symgen.functions import FUNCTIONS, Array, Sizes
from symgen.ir import Bound, Outline, Port, Program
from symgen.reals import REALS

NAME = "c99"


def calls(real: str, target: Target) -> dict[str, str]:
    """The C name of each function that a Program may call."""
    own = {"sin": f"{target.name}_SIN", "cos": f"{target.name}_COS"} if target.text.trig == "macro" else {}
    return {op: C.call(op, REALS[real]) for op in CALLED} | own


def parameters(program: Program | Outline, target: Target) -> dict[str, str]:
    """The C parameter of each port of the Program, arguments first."""
    macros = _macros(target)
    found: dict[str, str] = {}
    for port in (*program.inputs, *program.outputs):
        found[port.name] = C.local(port.name, macros | set(found.values()))
    return found


def source(program: Program, target: Target, floors: Mapping[int, Bound] | None = None, part: int | None = None) -> str:
    """The text of NAME_<function>.c; RequestError when a constant does not fit into the real type.

    `floors` are certified lower bounds of rows that are divisors, for a checked function. `part` is how many statements a part
    has, about; None: a short function stays in one piece, and a long one is cut as `_parts` says.
    """
    function = _function(program, target, floors or {}, part or _length(program), _turn(program, target))
    return render(NAME, "function.c.j2", **target.context, **function)


def definition(program: Program, target: Target, floors: Mapping[int, Bound] | None = None) -> dict[str, Any]:
    """What `c99/definition.j2` is told of one function by a language with C's statements that brings its own sines: those of an
    angle are a NAME_pair, which NAME_sincos gives; `floors` as `source` has them.
    """
    turn = Turn(f"{target.name}_pair", f"{target.name}_sincos") if _early(program) else None
    return _function(program, target, floors or {}, _length(program), turn)


def parts(program: Program, target: Target) -> tuple[int, int]:
    """Into how many parts a function is cut, and how many numbers they share on the stack; (0, 0) for one in a piece."""
    part = _length(program)
    function = {} if part is None else _function(program, target, {}, part, _turn(program, target))
    return (len(function["parts"]), function["work"]["size"]) if function else (0, 0)


def _length(program: Program) -> int | None:
    """Of a part, in statements; None for a function that is not cut."""
    return _parts.LINES if len(program.rows) > _parts.LONGEST else None


def is_cut(program: Program) -> bool:
    """Whether the function for many states is cut into parts."""
    return len(program.rows) > _parts.LONGEST_OF_MANY


def batches(programs: Mapping[str, Program], target: Target,
            floors: Mapping[str, Mapping[int, Bound]] | None = None) -> dict[str, str]:
    """The functions for many states, every file by name, headers first; `floors` as `source` has them, by function."""
    real = single_real(programs.values())
    functions = {function: _batch(program, target, (floors or {}).get(function, {})) for function, program in programs.items()}
    common = target.context | {"real": real, "lanes": _lanes.lanes(real)}
    stack = max(one["bytes"] for one in functions.values())
    found = {target.batch: render(NAME, "batch.h.j2", **common, functions=functions.values(), bytes=stack),
             target.lanes: render(NAME, "lanes.h.j2", **common)}
    found |= {target.file_of_many(function): render(NAME, "batch.c.j2", **common, **one) for function, one in functions.items()}
    return found


def driver(program: Program, target: Target) -> dict[str, Any]:
    """What a caller of a function for many states is told: `symbol`, `parameters` with the names of their steps, `driver`."""
    names = parameters(program, target)
    arrays, driven = _lanes.driver(program, names)
    return {"symbol": target.symbol(program.function), "name": target.name, "parameters": arrays, "driver": driven,
            "checked": target.checked}


def _batch(program: Program, target: Target, floors: Mapping[int, Bound]) -> dict[str, Any]:
    """What the template says of one function for many states."""
    names = parameters(program, target)
    alone = target.text.trig == "inline"   # a sine without a branch, which stands in the loop over the states
    turn = _turn(program, target) if alone else None
    taken = _macros(target) | {target.symbol(program.function), *names.values(), *(turn or ())}
    called = calls(program.real, target)
    found = _prototype(program, target)
    found |= _lanes.function(program, target, names, called, [] if alone else _early(program), turn, taken, floors,
                             _parts.LINES_OF_MANY if is_cut(program) else None)
    loop = target.text.trig == "auto" and bool(_together(program))
    found |= {"own_loop": loop, "own_sines": loop or turn is not None, "sin": called["sin"], "cos": called["cos"]}
    return found


def header(programs: Mapping[str, Program], target: Target) -> str:
    """The text of NAME.h, which declares every one of `programs`."""
    real = single_real(programs.values())
    declarations = [_prototype(program, target) for program in programs.values()]
    trig = calls(real, Target(target.name, target.sizes))
    return render(NAME, "header.h.j2", **target.context, told=target.told, real=real, sin=trig["sin"], cos=trig["cos"],
                  functions=declarations, bodies=counts_bodies(programs.values()), counted=counted(programs.values()),
                  **several(programs.values()),
                  statuses=_checks.statuses(programs.values(), target), **legend(programs.values()))


def headers(programs: Mapping[str, Program], target: Target) -> dict[str, str]:
    """Every file that the functions include, by name: NAME.h, and NAME_sincos.h where they bring their own sine."""
    found = {target.header: header(programs, target)}
    if any(turns(program, target) for program in programs.values()):
        found[target.sincos] = sincos(single_real(programs.values()), target)
    return found


def sincos(real: str, target: Target) -> str:
    """The text of NAME_sincos.h."""
    return render(NAME, "sincos.h.j2", **target.context, real=real, loop=target.text.trig == "auto", **_sincos.context(real))


def turns(program: Program, target: Target) -> bool:
    """Whether a function includes NAME_sincos.h."""
    if target.text.trig == "auto":
        return bool(_together(program))
    return target.text.trig == "inline" and any(program.rows[i].op in ("sin", "cos") for i in live_rows(program))


def _size(array: Array, port: Port, target: Target) -> str:
    """The size of a port as C reads it: NAME_NV*NAME_NV, and a plain number where the table does not know better."""
    shape = symbolic(array, port, target.sizes)
    return str(port.size) if shape is None else "*".join(f"{target.name}_{s}" if isinstance(s, str) else str(s) for s in shape)


def _prototype(program: Program, target: Target) -> dict[str, Any]:
    names = parameters(program, target)
    arguments, results = describe(program)
    declared = FUNCTIONS.get(program.function)
    ports = [*zip(program.inputs, arguments, strict=True), *zip(program.outputs, results, strict=True)]
    single_real([program])
    return {
        "symbol": target.symbol(program.function),
        "what": C.comment(declared.what if declared else program.function),
        "frames": [C.comment(frame) for frame in target.frames_of(declared)],
        "wrenches": [C.comment(link) for link in target.wrenches_of(arguments)],
        "contacts": [C.comment(point) for point in target.contacts_of(declared)],
        "method": C.comment(program.method),
        "operations": operations_text(program),
        "depth": program.depth,
        "parameters": [
            {
                "qualifier": "const " if i < len(arguments) else "",
                "real": program.real,
                "name": names[port.name],
                "size": _size(array, port, target),
                "what": C.comment(meaning(array, target.sizes)),
            }
            for i, (port, array) in enumerate(ports)
        ],
    }


def _macros(target: Target) -> set[str]:
    """What the header may define, or a user: no local and no parameter is called so."""
    statuses = _checks.STATUSES if target.checked else ()
    return {f"{target.name}_{macro}" for macro in (*Sizes._fields, "SIN", "COS", "ANGLES", "UNVERIFIED", *statuses)}


def _refuse_nothing(program: Program) -> None:
    """RequestError for a number as the result that is a constant other than zero, and zero in the real type: a tiny det M."""
    for port in program.outputs:
        value = program.rows[port.rows[0]].value if port.shape == () else None
        if isinstance(value, Fraction) and value and not REALS[program.real].nearest(value):
            size = len(str(abs(value.numerator))) - len(str(value.denominator))
            raise RequestError(f"{program.function} is a constant of about 1e{size}, which is zero in a {program.real}; use "
                               "other units or --real double")


def _together(program: Program) -> list[list[int]]:
    """The angles whose sines and cosines are taken together, the rows of each: all that need no other sine or cosine before.

    None where there is but one, which <math.h> serves as well.
    """
    found = _early(program)
    return found if len(found) > 1 else []


def _early(program: Program) -> list[list[int]]:
    """The angles that need no other sine or cosine, the rows of each."""
    rows = program.rows
    found: dict[Any, list[int]] = {}
    for row in _checks.angles(program, live_rows(program)):
        if all(rows[i].op not in ("sin", "cos") for i in _checks.ancestors(program, [row])):
            found.setdefault(rows[row].value if rows[row].op == "input" else row, []).append(row)
    return list(found.values())


def _turn(program: Program, target: Target) -> Turn | None:
    """What gives sines and cosines, where the text has its own."""
    if not turns(program, target):
        return None
    function = f"{target.name}_sincos"
    if target.text.trig == "inline":
        return Turn(f"{target.name}_pair", function)
    count = _sincos.lanes(len(_together(program)), program.real)
    return Turn(f"{target.name}_turns", function, f"{target.name}_ANGLES", count)


def _function(program: Program, target: Target, floors: Mapping[int, Bound], part: int | None,
              turn: Turn | None) -> dict[str, Any]:
    names = parameters(program, target)
    _refuse_nothing(program)
    inputs = [names[port.name] for port in program.inputs]
    live = live_rows(program)
    guards = _checks.guards(program, live, floors) if target.checked else []
    angles = _checks.angles(program, live) if target.checked and target.text.trig == "inline" else []
    taken = _macros(target) | {target.symbol(program.function), *names.values(), *(turn or ())}
    # What goes from part to part is a local: a turn's sine and its cosine go by themselves, and are read off it in one block.
    sines = [] if part is None else [i for i in live if program.rows[i].op in ("sin", "cos")]
    first = _checks.ancestors(program, angles)
    met = {_angle(program, i) for i in first.intersection(sines)}
    first |= {i for i in sines if _angle(program, i) in met}
    writer = Writer(program, C, inputs, calls(program.real, target), taken, turn,
                    forced={*angles, *sines, *(guard.row for guard in guards)}, indent=4*(target.checked and part is None))
    own = {name: writer.local(name) for name in ("status", "none")} if target.checked else {}
    read = {program.rows[i].value[0] for i in live if program.rows[i].op == "input"}
    before = writer.statements(first)   # what is checked first of all
    if turn and turn.lanes:
        together = _together(program)
        writer.turned([rows[0] for rows in together], _checks.ancestors(program, [row for rows in together for row in rows]))
    # In parts, what takes sines of arguments stands first, so that the angles are not read late.
    early = [] if part is None else writer.statements(_checks.ancestors(program, sines))
    groups = writer.statements()
    function = _prototype(program, target) | {
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
        found, text = _cut(function, [before, early, groups], part, writer, inputs, [*angles], [g.row for g in guards],
                           turn.kind if turn else "", target.checked)
        function |= found
    return function | {"checks": own and own | _checks.conditions(program, C, inputs, text, angles, guards)}


def _angle(program: Program, i: int) -> Any:
    """What tells the angle of a sine or a cosine from other angles. An argument may stand in several rows."""
    angle = program.rows[i].args[0]
    return program.rows[angle].value if program.rows[angle].op == "input" else angle


def _cut(function: Mapping[str, Any], blocks: Sequence[_parts.Groups], length: int, writer: Writer, inputs: Sequence[str],
         angles: Sequence[int], guarded: Sequence[int], pair: str, checked: bool) -> tuple[dict[str, Any], dict[int, str]]:
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
        shared = [array | {"qualifier": "" if one.puts else "const "}] if one.takes or one.puts else []
        taken = [given[name] for name in inputs if name in one.reads] + shared + [given[name] for name in results]
        parts.append({
            "symbol": f"{symbol}_part_{number}",
            "parameters": taken,
            "groups": one.groups,
            "takes": [{"name": name, "place": C.at(work, place)} for name, place in one.takes],
            "puts": [{"name": name, "place": C.at(work, place)} for place, name in one.puts],
            "stores": one.stores,
            "call": f"{symbol}_part_{number}({', '.join(p['name'] for p in taken)})",
        })
    there = {name: C.at(work, place) for name, place in made.places.items()}
    called = [part["call"] for part in parts]
    stores = [store._replace(value=there.get(store.value, store.value)) for store in stores] if checked else []
    return {
        "parts": parts, "work": array, "first_calls": called[:made.ends[1]], "calls": called[made.ends[1]:], "before": [],
        "groups": [], "stores": stores,
    }, {row: there.get(name, name) for row, name in text.items()}


BACKEND = Printer(
    name=NAME, language=C, source=source, headers=headers, sincos=sincos, parameters=parameters, calls=calls,
    definition=definition, parts=parts, batches=batches, is_cut=is_cut, driver=driver, lanes=_lanes.lanes,
    adjustable=_adjustable.files, assembling=_assembling.files,
    assembly=_assembling.facts,
    ulps={"libm": 1, "macro": 1, "inline": _sincos.ULPS, "auto": _sincos.ULPS}, farthest=_sincos.RANGE, statuses=_checks.STATUSES,
)
