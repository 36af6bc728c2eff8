"""Facts of one C function for the templates: prototype, statements, and parts."""

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
from symgen.emission.writer import CALLED, SincosFunction, Spelling, Writer, live_rows
from symgen.ir.loops import WORK, Form
from symgen.ir.ports import describe, meaning, operations_text, single_real, symbolic_shape
from symgen.ir.program import Bound, Outline, Port, Program
from symgen.support.errors import RequestError
from symgen.vocabulary.arrays import Array, Sizes
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target


def calls(real: str, target: Target) -> dict[str, str]:
    """Return the C name of each mathematical function that a Program may call, by operation."""
    macros_of_user = (
        {"sin": f"{target.name}_SIN", "cos": f"{target.name}_COS"}
        if target.text.trig == "macro"
        else {}
    )
    return {op: C.call(op, REALS[real]) for op in CALLED} | macros_of_user


def parameters(program: Form | Outline, target: Target) -> dict[str, str]:
    """Return the C parameter of each port of a function, arguments first."""
    taken_names = macros(target)
    names: dict[str, str] = {}
    for port in (*program.inputs, *program.outputs):
        names[port.name] = C.local(port.name, taken_names | set(names.values()))
    return names


def uses_sincos(program: Form, target: Target) -> bool:
    """True if a function includes NAME_sincos.h."""
    if program.part_count:  # sines of all lanes in one call, or one angle after the other
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
    """Return the size of a port in C, for example "NAME_NV*NAME_NV"; a number if it has no symbolic
    shape.
    """
    shape = symbolic_shape(array, port, target.sizes)
    return (
        str(port.size)
        if shape is None
        else "*".join(f"{target.name}_{s}" if isinstance(s, str) else str(s) for s in shape)
    )


def prototype(program: Form, target: Target) -> dict[str, Any]:
    """Return the facts of a prototype; `no_alias`: results may not overlap arguments."""
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
        "no_alias": False,
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
    """Return the macros that the header or a user may define.

    No local and no parameter has the name of a macro.
    """
    statuses = _checks.STATUSES if target.checked else ()
    suffixes = (
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
    return {f"{target.name}_{suffix}" for suffix in suffixes}


def _reject_vanishing_result(program: Program) -> None:
    """Raise RequestError if a scalar result is a nonzero constant that is zero in the real type.

    A very small determinant is an example.
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
    """Return the angles whose sines and cosines one call computes, as the rows of each angle.

    These are the initial angles. The list is empty for a single angle, for which a call of <math.h>
    takes as long.
    """
    angles = initial_angles(program)
    return angles if len(angles) > 1 else []


def initial_angles(program: Program) -> list[list[int]]:
    """Return the angles that depend on no sine or cosine, as the rows of each angle."""
    rows = program.rows
    angles: dict[Any, list[int]] = {}
    for row in _checks.angles(program, live_rows(program)):
        if all(rows[i].op not in ("sin", "cos") for i in _checks.ancestors(program, [row])):
            angles.setdefault(rows[row].value if rows[row].op == "input" else row, []).append(row)
    return list(angles.values())


def sincos_function(program: Program, target: Target) -> SincosFunction | None:
    """Return the function of NAME_sincos.h that `program` calls; None if it calls none."""
    if not uses_sincos(program, target):
        return None
    function = f"{target.name}_sincos"
    if target.text.trig == "inline":
        return SincosFunction(f"{target.name}_pair", function)
    count = sincos.lanes(len(angles_together(program)), program.real)
    return SincosFunction(f"{target.name}_turns", function, f"{target.name}_ANGLES", count)


@dataclass(frozen=True)
class PrintedFunction:
    """A Program and the settings with which it is printed as one function.

    - `divisor_bounds`: certified bounds of rows, for a checked function.
    - `sincos_function`: function of NAME_sincos.h for sines and cosines; None to call <math.h>.
    - `part`: approximate number of statements of a part; None for a function in one piece.
    - `arrays`: True to take every argument as an array, and no argument as a struct.
    """

    program: Program
    target: Target
    divisor_bounds: Mapping[int, Bound] = field(default_factory=dict)
    sincos_function: SincosFunction | None = None
    part: int | None = None
    arrays: bool = False

    @cached_property
    def names(self) -> dict[str, str]:
        """The parameter of each port."""
        return parameters(self.program, self.target)

    @cached_property
    def inputs(self) -> list[str]:
        """The parameters of the arguments."""
        return [self.names[port.name] for port in self.program.inputs]

    @cached_property
    def structs(self) -> list[str]:
        """The parameters that are addresses of structs."""
        ports = [] if self.arrays else self.program.inputs
        return [self.names[port.name] for port in ports if struct_of(port, self.target.name)]

    @cached_property
    def reserved_names(self) -> set[str]:
        """Names that no local may have."""
        names = {self.target.symbol(self.program.function), *self.names.values()}
        if function := self.sincos_function:
            names |= {function.kind, function.name, function.size}
        return macros(self.target) | names | ({"value"} if self.structs else set())

    @cached_property
    def spelling(self) -> Spelling:
        """The spelling of arguments and calls in C."""
        structs = self.structs
        inputs = [f"{name}->value" if name in structs else name for name in self.inputs]
        return Spelling(
            C,
            inputs,
            calls(self.program.real, self.target),
            self.reserved_names,
            self.sincos_function,
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
        """The rows that are sines and cosines; empty for a function in one piece.

        Parts pass on locals only. Therefore one block copies the sines and cosines from the members
        of a struct to locals.
        """
        rows = self.program.rows
        return [i for i in self.live if self.part is not None and rows[i].op in ("sin", "cos")]

    def stores(self, text: Mapping[int, str]) -> list[_parts.Store]:
        """Return the stores of the results; `text` has the text of each row."""
        return [
            _parts.Store(self.names[port.name], k, text[row])
            for port in self.program.outputs
            for k, row in enumerate(port.rows)
        ]

    @cached_property
    def unread(self) -> list[str]:
        """The parameters of the arguments that no row reads."""
        rows = self.program.rows
        read_ports = {rows[i].value[0] for i in self.live if rows[i].op == "input"}
        return [name for i, name in enumerate(self.inputs) if i not in read_ports]


def function(printed: PrintedFunction) -> dict[str, Any]:
    """Return the facts that the template of a function prints.

    The checked angles are the first statements. In parts, the sines and cosines follow, so that
    late parts read no angles.
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
        {"status": writer.local("status"), "zero_sum": writer.local("none")}
        if printed.target.checked
        else {}
    )
    checked = writer.statements(_checked_first(printed))
    _write_sines(printed, writer)
    in_parts = printed.part is not None
    sines = writer.statements(_checks.ancestors(program, printed.sines)) if in_parts else []
    blocks = [checked, sines, writer.statements()]
    facts = _facts_in_one_piece(printed, blocks, writer)
    text: Mapping[int, str] = writer.text
    if in_parts:
        block_counts = {text[row]: 1 for row in compared.angles}
        block_counts |= {text[row]: len(blocks) for row in finite_and_guarded}
        part_facts, text = _facts_in_parts(printed, facts, blocks, block_counts, writer)
        facts |= part_facts
    results = [text[row] for row in compared.finite]
    return facts | {
        "checks": locals_of_checks
        and locals_of_checks
        | _checks.conditions(program, printed.spelling, text, compared, results)
    }


def _write_sines(printed: PrintedFunction, writer: Writer) -> None:
    """Write the sines and cosines of all angles of one call, and the rows that the angles need."""
    if printed.sincos_function is None or not printed.sincos_function.angle_count:
        return
    angles = angles_together(printed.program)
    rows = [row for rows in angles for row in rows]
    writer.write_sines([rows[0] for rows in angles], _checks.ancestors(printed.program, rows))


def _facts_in_one_piece(
    printed: PrintedFunction, blocks: Sequence[_parts.Groups], writer: Writer
) -> dict[str, Any]:
    """Return the facts of a function in one piece, without those of its checks."""
    facts = prototype(printed.program, printed.target)
    sincos_function = printed.sincos_function
    if printed.arrays:
        facts["parameters"] = [parameter | {"struct": ""} for parameter in facts["parameters"]]
    return facts | {
        "real": printed.program.real,
        "uses_sincos": sincos_function is not None,
        "angles": sincos_function.angle_count if sincos_function else 0,
        "unread": [] if printed.target.checked else printed.unread,
        "checked_groups": blocks[0],
        "groups": blocks[-1],
        "parts": [],
        "first_part_count": 0,
        "stores": printed.stores(writer.text),
    }


def _checked_first(printed: PrintedFunction) -> set[int]:
    """Return the rows that the checked angles need.

    In parts, the result has both the sine and the cosine of an angle, if the checked angles need
    one of them.
    """
    program = printed.program
    rows = _checks.ancestors(program, printed.comparisons.angles)
    angles = {_angle(program, i) for i in rows.intersection(printed.sines)}
    return rows | {i for i in printed.sines if _angle(program, i) in angles}


def _angle(program: Program, i: int) -> Any:
    """Return a key of the angle of row `i`, a sine or cosine; rows of one argument have one key."""
    angle = program.rows[i].args[0]
    return program.rows[angle].value if program.rows[angle].op == "input" else angle


def _facts_in_parts(
    printed: PrintedFunction,
    function: Mapping[str, Any],
    blocks: Sequence[_parts.Groups],
    block_counts: Mapping[str, int],
    writer: Writer,
) -> tuple[dict[str, Any], dict[int, str]]:
    """Return the facts in which a function in parts differs, and the text of each row in it.

    `block_counts` maps each local that the function itself reads to the number of blocks before the
    read. A checked function stores its results itself, after its last check.
    """
    checked, work = printed.target.checked, writer.local("work")
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
        printed.sincos_function.kind if printed.sincos_function else "",
    )
    array = {"real": printed.program.real, "name": work, "size": cut.size}
    parts = [
        _part(part, number, function, printed.inputs, array)
        for number, part in enumerate(cut.parts, 1)
    ]
    elements = {name: C.at(work, index) for name, index in cut.places.items()}
    return {
        "parts": parts,
        "work": array,
        "first_part_count": cut.ends[1],
        "checked_groups": [],
        "groups": [],
        "stores": [
            store._replace(value=elements.get(store.value, store.value))
            for store in stores
            if checked
        ],
    }, {row: elements.get(name, name) for row, name in writer.text.items()}


def _part(
    part: _parts.Part,
    number: int,
    function: Mapping[str, Any],
    inputs: Sequence[str],
    array: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the facts of one part.

    Its parameters are the arguments that it reads, the work array, and the results that it stores.
    """
    by_name = {parameter["name"]: parameter for parameter in function["parameters"]}
    part_parameters = [by_name[name] for name in inputs if name in part.reads]
    if part.loads or part.saves:
        part_parameters.append({**array, "qualifier": "" if part.saves else "const "})
    part_parameters += [
        by_name[name] for name in dict.fromkeys(store.name for store in part.stores)
    ]
    symbol, work = f"{function['symbol']}_part_{number}", array["name"]
    return {
        "symbol": symbol,
        "parameters": part_parameters,
        "groups": part.groups,
        "loads": [{"name": name, "element": C.at(work, index)} for name, index in part.loads],
        "saves": [{"name": name, "element": C.at(work, index)} for index, name in part.saves],
        "stores": part.stores,
    }
