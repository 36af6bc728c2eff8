"""Facts of one function in C for the templates: its prototype, its statements, and the parts of a
long one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from symgen.emission import blocks as _blocks
from symgen.emission import checks as _checks
from symgen.emission import parts as _parts
from symgen.emission import sincos
from symgen.emission.c_text import C
from symgen.emission.ports import struct_of, with_forces
from symgen.emission.writer import CALLED, Spelling, Turn, Writer, live_rows
from symgen.ir.loops import WORK, Form
from symgen.ir.ports import describe, meaning, operations_text, single_real, symbolic_shape
from symgen.ir.program import Bound, Outline, Port, Program
from symgen.support.errors import RequestError
from symgen.vocabulary.arrays import Array, Sizes
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target


def calls(real: str, target: Target) -> dict[str, str]:
    """The C name of each function that a Program may call."""
    macros_of_user = (
        {"sin": f"{target.name}_SIN", "cos": f"{target.name}_COS"}
        if target.text.trig == "macro"
        else {}
    )
    return {op: C.call(op, REALS[real]) for op in CALLED} | macros_of_user


def parameters(program: Form | Outline, target: Target) -> dict[str, str]:
    """The C parameter of each port of the Program, arguments first."""
    taken_names = macros(target)
    names: dict[str, str] = {}
    for port in (*program.inputs, *program.outputs):
        names[port.name] = C.local(port.name, taken_names | set(names.values()))
    return names


def uses_sincos(program: Form, target: Target) -> bool:
    """True if a function includes NAME_sincos.h."""
    if program.part_count:  # sines of all lanes at once, or each by itself
        return target.text.trig in ("auto", "inline") and program.operations["sin"] > 0
    if program.looped:
        return any(uses_sincos(step, target) for step in program.programs) or any(
            _blocks.blocks(program, s, target) for s in range(len(program.sweeps))
        )
    if target.text.trig == "auto":
        return bool(angles_together(program))
    return target.text.trig == "inline" and any(
        program.rows[i].op in ("sin", "cos") for i in live_rows(program)
    )


def _size(array: Array, port: Port, target: Target) -> str:
    """The size of a port as C reads it: NAME_NV*NAME_NV, and a plain number where the table does
    not know better.
    """
    shape = symbolic_shape(array, port, target.sizes)
    return (
        str(port.size)
        if shape is None
        else "*".join(f"{target.name}_{s}" if isinstance(s, str) else str(s) for s in shape)
    )


def prototype(program: Form, target: Target) -> dict[str, Any]:
    """Return the facts of a prototype; `apart`: its results may not lie over its arguments."""
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
            with_forces(declared.what if declared else program.function, target, program.inputs)
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
                "what": C.comment(
                    with_forces(meaning(array, target.sizes), target, program.inputs)
                ),
            }
            for i, (port, array) in enumerate(ports)
        ],
    }


def macros(target: Target) -> set[str]:
    """Return the macros that the header or a user may define: no local and no parameter has such a
    name.
    """
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


def _reject_vanishing_result(program: Program) -> None:
    """RequestError for a number as the result that is a constant other than zero, and zero in the
    real type: a tiny det M.
    """
    for port in program.outputs:
        value = program.rows[port.rows[0]].value if port.shape == () else None
        if isinstance(value, Fraction) and value and not REALS[program.real].nearest(value):
            size = len(str(abs(value.numerator))) - len(str(value.denominator))
            raise RequestError(
                f"{program.function} is a constant of about 1e{size}, which is zero in a"
                f" {program.real}; use other units or --real double"
            )


def angles_together(program: Program) -> list[list[int]]:
    """The angles whose sines and cosines are taken together, the rows of each: all that need no
    other sine or cosine before.

    None where there is but one, which <math.h> serves as well.
    """
    angles = initial_angles(program)
    return angles if len(angles) > 1 else []


def initial_angles(program: Program) -> list[list[int]]:
    """The angles that need no other sine or cosine, the rows of each."""
    rows = program.rows
    angles: dict[Any, list[int]] = {}
    for row in _checks.angles(program, live_rows(program)):
        if all(rows[i].op not in ("sin", "cos") for i in _checks.ancestors(program, [row])):
            angles.setdefault(rows[row].value if rows[row].op == "input" else row, []).append(row)
    return list(angles.values())


def turn_of(program: Program, target: Target) -> Turn | None:
    """Return the function for sines and cosines, where the text has its own."""
    if not uses_sincos(program, target):
        return None
    function = f"{target.name}_sincos"
    if target.text.trig == "inline":
        return Turn(f"{target.name}_pair", function)
    count = sincos.lanes(len(angles_together(program)), program.real)
    return Turn(f"{target.name}_turns", function, f"{target.name}_ANGLES", count)


@dataclass(frozen=True)
class PrintedFunction:
    """A Program that is printed as one function, with all that decides its text.

    `divisor_bounds` are certified bounds of rows for a checked function; `turn` gives sines and
    cosines where the text has its own. `part` is how many statements a part has, about; None: the
    function stays in one piece.
    """

    program: Program
    target: Target
    divisor_bounds: Mapping[int, Bound] = field(default_factory=dict)
    turn: Turn | None = None
    part: int | None = None
    arrays: bool = False
    """True where every argument is an array, structs too."""

    @cached_property
    def names(self) -> dict[str, str]:
        """The parameter of each port."""
        return parameters(self.program, self.target)

    @cached_property
    def inputs(self) -> list[str]:
        """The parameters that are arguments."""
        return [self.names[port.name] for port in self.program.inputs]

    @cached_property
    def structs(self) -> list[str]:
        """The arguments that are taken by the address of a struct."""
        ports = [] if self.arrays else self.program.inputs
        return [self.names[port.name] for port in ports if struct_of(port, self.target.name)]

    @cached_property
    def reserved_names(self) -> set[str]:
        """Names that no local gets."""
        names = {self.target.symbol(self.program.function), *self.names.values()}
        if self.turn:
            names |= {self.turn.kind, self.turn.function, self.turn.size}
        return macros(self.target) | names | ({"value"} if self.structs else set())

    @cached_property
    def spelling(self) -> Spelling:
        """How C spells the arguments and the calls."""
        structs = self.structs
        inputs = [f"{name}->value" if name in structs else name for name in self.inputs]
        return Spelling(
            C, inputs, calls(self.program.real, self.target), self.reserved_names, self.turn
        )

    @cached_property
    def live(self) -> list[int]:
        """The rows that a result depends on."""
        return live_rows(self.program)

    @cached_property
    def comparisons(self) -> _checks.Comparisons:
        """The rows that a checked function compares."""
        return _checks.comparisons(self.program, self.target, self.divisor_bounds)

    @cached_property
    def sines(self) -> list[int]:
        """In parts, the rows that are sines and cosines.

        Only a local goes from part to part: the sine and the cosine of a turn are read off it in
        one block.
        """
        rows = self.program.rows
        return [i for i in self.live if self.part is not None and rows[i].op in ("sin", "cos")]

    def stores(self, text: Mapping[int, str]) -> list[_parts.Store]:
        """Return the stores of the results, whose rows are written as `text` says."""
        return [
            _parts.Store(self.names[port.name], k, text[row])
            for port in self.program.outputs
            for k, row in enumerate(port.rows)
        ]

    @cached_property
    def unread(self) -> list[str]:
        """The arguments that no row reads."""
        rows = self.program.rows
        read_ports = {rows[i].value[0] for i in self.live if rows[i].op == "input"}
        return [name for i, name in enumerate(self.inputs) if i not in read_ports]


def function(printed: PrintedFunction) -> dict[str, Any]:
    """Return the facts of a function that its template prints.

    The angles that are checked stand first. In parts, what takes sines of arguments follows, so
    that the angles are not read late.
    """
    program, compared = printed.program, printed.comparisons
    _reject_vanishing_result(program)
    finite_and_guarded = [*compared.finite, *(guard.row for guard in compared.guards)]
    writer = Writer(
        program,
        printed.spelling,
        forced={*compared.angles, *printed.sines, *finite_and_guarded},
        indent=4 * (printed.target.checked and printed.part is None),
    )
    locals_of_checks = (
        {name: writer.local(name) for name in ("status", "none")} if printed.target.checked else {}
    )
    checked = writer.statements(_checked_first(printed))
    _turn_together(printed, writer)
    in_parts = printed.part is not None
    sines = writer.statements(_checks.ancestors(program, printed.sines)) if in_parts else []
    blocks = [checked, sines, writer.statements()]
    facts = _facts_in_one_piece(printed, blocks, writer)
    text: Mapping[int, str] = writer.text
    if in_parts:
        kept = {text[row]: 1 for row in compared.angles}
        kept |= {text[row]: len(blocks) for row in finite_and_guarded}
        cut, text = _in_parts(printed, facts, blocks, kept, writer)
        facts |= cut
    results = [text[row] for row in compared.finite]
    return facts | {
        "checks": locals_of_checks
        and locals_of_checks
        | _checks.conditions(program, printed.spelling, text, compared, results)
    }


def _turn_together(printed: PrintedFunction, writer: Writer) -> None:
    """Write the sines and cosines that are taken together, and what their angles need."""
    if printed.turn is None or not printed.turn.lanes:
        return
    angles = angles_together(printed.program)
    rows = [row for rows in angles for row in rows]
    writer.write_sines([rows[0] for rows in angles], _checks.ancestors(printed.program, rows))


def _facts_in_one_piece(
    printed: PrintedFunction, blocks: Sequence[_parts.Groups], writer: Writer
) -> dict[str, Any]:
    """Return the facts of a function that is not cut, without those of its checks."""
    facts, turn = prototype(printed.program, printed.target), printed.turn
    if printed.arrays:
        facts["parameters"] = [parameter | {"struct": ""} for parameter in facts["parameters"]]
    return facts | {
        "real": printed.program.real,
        "uses_sincos": turn is not None,
        "angles": turn.lanes if turn else 0,
        "unread": [] if printed.target.checked else printed.unread,
        "before": blocks[0],
        "groups": blocks[-1],
        "parts": [],
        "first_part_count": 0,
        "stores": printed.stores(writer.text),
    }


def _checked_first(printed: PrintedFunction) -> set[int]:
    """Return the rows of the angles that are checked, and in parts the sines and cosines of angles
    among them.
    """
    program = printed.program
    rows = _checks.ancestors(program, printed.comparisons.angles)
    met = {_angle(program, i) for i in rows.intersection(printed.sines)}
    return rows | {i for i in printed.sines if _angle(program, i) in met}


def _angle(program: Program, i: int) -> Any:
    """Return a key of the angle of a sine or a cosine: all rows of one argument are one angle."""
    angle = program.rows[i].args[0]
    return program.rows[angle].value if program.rows[angle].op == "input" else angle


def _in_parts(
    printed: PrintedFunction,
    function: Mapping[str, Any],
    blocks: Sequence[_parts.Groups],
    block_counts: Mapping[str, int],
    writer: Writer,
) -> tuple[dict[str, Any], dict[int, str]]:
    """Return what changes in the facts of a function in parts, and how the function that calls them
    writes each row.

    `block_counts` maps each local that the caller reads to the number of blocks before the read.
    A checked function stores by itself, behind its last check.
    """
    checked, turn, work = printed.target.checked, printed.turn, writer.local("work")
    stores = printed.stores(writer.text)
    if checked:
        block_counts = {**block_counts, **{store.value: len(blocks) for store in stores}}
    assert printed.part is not None
    cut = _parts.cut(
        blocks,
        printed.part,
        printed.inputs,
        () if checked else stores,
        block_counts,
        turn.kind if turn else "",
    )
    array = {"real": printed.program.real, "name": work, "size": cut.size}
    parts = [
        _part(part, number, function, printed.inputs, array)
        for number, part in enumerate(cut.parts, 1)
    ]
    places = {name: C.at(work, index) for name, index in cut.places.items()}
    return {
        "parts": parts,
        "work": array,
        "first_part_count": cut.ends[1],
        "before": [],
        "groups": [],
        "stores": [
            store._replace(value=places.get(store.value, store.value))
            for store in stores
            if checked
        ],
    }, {row: places.get(name, name) for row, name in writer.text.items()}


def _part(
    part: _parts.Part,
    number: int,
    function: Mapping[str, Any],
    inputs: Sequence[str],
    array: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the facts of one part: it takes the arguments that it reads, the work array, and the
    results that it stores.
    """
    by_name = {parameter["name"]: parameter for parameter in function["parameters"]}
    part_parameters = [by_name[name] for name in inputs if name in part.reads]
    if part.takes or part.puts:
        part_parameters.append({**array, "qualifier": "" if part.puts else "const "})
    part_parameters += [
        by_name[name] for name in dict.fromkeys(store.name for store in part.stores)
    ]
    symbol, work = f"{function['symbol']}_part_{number}", array["name"]
    return {
        "symbol": symbol,
        "parameters": part_parameters,
        "groups": part.groups,
        "takes": [{"name": name, "place": C.at(work, index)} for name, index in part.takes],
        "puts": [{"name": name, "place": C.at(work, index)} for index, name in part.puts],
        "stores": part.stores,
    }
