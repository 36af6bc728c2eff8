"""C99: one function a file, a header for all; includes nothing but <math.h> and headers of its own, and allocates nothing.

How C spells a row stands in `C`; which rows become locals is decided by `_writer`, and `templates/c99/` holds the layout.
Parentheses are written where C's grammar would group otherwise, and around a product in a sum, as MISRA C:2012 asks (rule 12.1).

Outputs may alias inputs: every input is read into a local before the first store. What a checked function checks, it checks
before that as well, and returns how it went: one way out, no store but in the innermost branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from symgen.backends import _checks, _sincos, render
from symgen.backends._backend import Printer
from symgen.backends._c_text import C
from symgen.backends._legend import legend
from symgen.backends._ports import counts_bodies, describe, frames_of, meaning, operations_text, single_real, symbolic
from symgen.backends._target import Target
from symgen.backends._writer import CALLED, Turn, Writer, live_rows
from symgen.errors import RequestError
from symgen.functions import FUNCTIONS, Array, Sizes
from symgen.ir import Port, Program
from symgen.reals import REALS

NAME = "c99"


def calls(real: str, target: Target) -> dict[str, str]:
    """The C name of each function that a Program may call."""
    own = {"sin": f"{target.name}_SIN", "cos": f"{target.name}_COS"} if target.text.trig == "macro" else {}
    return {op: C.call(op, REALS[real]) for op in CALLED} | own


def parameters(program: Program, target: Target) -> dict[str, str]:
    """The C parameter of each port of the Program, arguments first."""
    macros = _macros(target)
    found: dict[str, str] = {}
    for port in (*program.inputs, *program.outputs):
        found[port.name] = C.local(port.name, macros | set(found.values()))
    return found


def source(program: Program, target: Target, floors: Mapping[int, Fraction] | None = None) -> str:
    """The text of NAME_<function>.c; RequestError when a constant does not fit into the real type.

    `floors` are certified lower bounds of rows that are divisors, for a checked function.
    """
    function = _function(program, target, floors or {})
    return render(NAME, "function.c.j2", **target.context, **function)


def header(programs: Mapping[str, Program], target: Target) -> str:
    """The text of NAME.h, which declares every one of `programs`."""
    real = single_real(programs.values())
    declarations = [_prototype(program, target) for program in programs.values()]
    trig = calls(real, Target(target.name, target.sizes))
    return render(NAME, "header.h.j2", **target.context, told=target.told, real=real, sin=trig["sin"], cos=trig["cos"],
                  functions=declarations, bodies=counts_bodies(programs.values()), nf=frames_of(programs.values()),
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
    rows = program.rows
    found: dict[Any, list[int]] = {}
    for row in _checks.angles(program, live_rows(program)):
        if all(rows[i].op not in ("sin", "cos") for i in _checks.ancestors(program, [row])):
            found.setdefault(rows[row].value if rows[row].op == "input" else row, []).append(row)
    return list(found.values()) if len(found) > 1 else []


def _turn(program: Program, target: Target) -> Turn | None:
    """What gives sines and cosines, where the text has its own."""
    if not turns(program, target):
        return None
    function = f"{target.name}_sincos"
    if target.text.trig == "inline":
        return Turn(f"{target.name}_pair", function)
    count = _sincos.lanes(len(_together(program)), program.real)
    return Turn(f"{target.name}_turns", function, f"{target.name}_ANGLES", count)


def _function(program: Program, target: Target, floors: Mapping[int, Fraction]) -> dict[str, Any]:
    names = parameters(program, target)
    _refuse_nothing(program)
    inputs = [names[port.name] for port in program.inputs]
    live = live_rows(program)
    turn = _turn(program, target)
    guards = _checks.guards(program, live, floors) if target.checked else []
    angles = _checks.angles(program, live) if target.checked and turn and not turn.lanes else []
    taken = _macros(target) | {target.symbol(program.function), *names.values(), *(turn or ())}
    writer = Writer(program, C, inputs, calls(program.real, target), taken, turn,
                    forced={*angles, *(guard.row for guard in guards)}, indent=4*target.checked)
    own = {name: writer.local(name) for name in ("status", "none")} if target.checked else {}
    read = {program.rows[i].value[0] for i in live if program.rows[i].op == "input"}
    before = writer.statements(_checks.ancestors(program, angles))   # what is checked first of all
    if turn and turn.lanes:
        together = _together(program)
        writer.turned([rows[0] for rows in together], _checks.ancestors(program, [row for rows in together for row in rows]))
    groups = writer.statements()
    return _prototype(program, target) | {
        "real": program.real,
        "turns": turn is not None,
        "angles": turn.lanes if turn else 0,
        "unread": [name for i, name in enumerate(inputs) if i not in read and not target.checked],
        "before": before,
        "groups": groups,
        "checks": own and own | _checks.conditions(program, C, inputs, writer.text, angles, guards),
        "stores": [
            {"name": names[port.name], "element": k, "value": writer.text[row]}
            for port in program.outputs
            for k, row in enumerate(port.rows)
        ],
    }


BACKEND = Printer(
    name=NAME, language=C, source=source, headers=headers, sincos=sincos, parameters=parameters, calls=calls,
    ulps={"libm": 1, "macro": 1, "inline": _sincos.ULPS, "auto": _sincos.ULPS}, farthest=_sincos.RANGE, statuses=_checks.STATUSES,
)
