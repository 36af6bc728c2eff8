"""Results as loops over links: the sweeps of a `LoopProgram` as named equations of one link, for
reading.

A carry is a value passed from a link to the next one in a sweep. Carries, and values saved for a
later sweep, have only an index in the C; here they get names. `F_p` is the parent's F, `F_c` the
sum of the children's. The names are those of one link in the C; positions in a block count from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sympy as sp

from symgen.inspection.equations import apply_operation, number, round_numbers, unsigned_name
from symgen.inspection.names import latex
from symgen.inspection.printing import align_latex, print_expression
from symgen.ir.loops import CARRY, CONSTANTS, FINAL_CARRY, SAVED, LoopProgram
from symgen.ir.program import Program, Row
from symgen.support.errors import RequestError

FORMATS = ("text", "latex")
PARENT, CHILDREN = "p", "c"
"""Suffixes of the names of carries from the parent and from the children."""
Named = tuple[tuple[str, Any], ...]


class Step(NamedTuple):
    """Step of a sweep at a link of one class: equations in order, results last."""

    kind: str
    named: Named


class SweepFormulas(NamedTuple):
    """One sweep.

    `carry_names`: names of the carries; `start`: their initial values; `joins`: how the carries of
    several children are combined in an inward sweep. `tip`: the link at which a sweep along one
    path starts or ends; -1 if the sweep visits all links.
    """

    inward: bool
    steps: tuple[Step, ...]
    carry_names: tuple[str, ...]
    start: tuple[Any, ...]
    joins: tuple[str, ...]
    tip: int = -1


@dataclass(frozen=True)
class Loops:
    """A result as loops over links.

    `final_equations`: the equations after the sweeps, if the result belongs to no link; they use
    the carries of link `on`, or of the base if it is -1. For link i, `parents[i]` is its parent
    (-1: base), `kinds[of[i]]` its joint type, and `tables[i]` its constants, named
    `columns[of[i]]`. Names of columns that are equal in all links are joined by " = ", and the
    first one is used in equations.
    """

    label: str
    sweeps: tuple[SweepFormulas, ...]
    final_equations: Named
    on: int
    kinds: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    parents: tuple[int, ...] = field(repr=False)
    of: tuple[int, ...] = field(repr=False)
    tables: tuple[tuple[Any, ...], ...] = field(repr=False)

    def written(self, format: str) -> str:
        """Return text, or LaTeX of one formula."""
        if format not in FORMATS:
            raise RequestError(
                f"loops over links are written as {' or '.join(FORMATS)}; 'symgen generate --form"
                " looped' writes their C"
            )
        return "\n".join(_text(self)) if format == "text" else align_latex([*_latex(self)])

    def __str__(self) -> str:
        return self.written("text")

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.written('latex')}$"


def loops(recursion: LoopProgram, label: str) -> Loops:
    """Return the sweeps of a loop program in names."""
    return _Naming(recursion).read(label)


class _Naming:
    """Names for saved values and carries, which the loop program addresses by index."""

    def __init__(self, recursion: LoopProgram) -> None:
        self.recursion = recursion
        ports = {port.name for port in (*recursion.inputs, *recursion.outputs)}
        self.column_names = [
            tuple(
                f"table_{name}" if name.split(" = ")[0] in ports else name for name in kind.columns
            )
            for kind in recursion.link_classes
        ]
        self.columns = [[name.split(" = ")[0] for name in names] for names in self.column_names]
        self.sizes = [
            {
                port.name: port.size
                for sweep in recursion.sweeps
                for port in (*sweep.steps[c].inputs, *sweep.steps[c].outputs)
            }
            for c, _ in enumerate(recursion.link_classes)
        ]
        self.used_names = [{*ports, *columns_of_class} for columns_of_class in self.columns]
        self.saved: list[dict[int, Any]] = [{} for _ in recursion.link_classes]
        self.temporaries = [0 for _ in recursion.link_classes]
        self.carry_names: list[tuple[str, ...]] = []

    def read(self, label: str) -> Loops:
        recursion = self.recursion
        sweeps = tuple(self._sweep(s) for s, _ in enumerate(recursion.sweeps))
        on = max((end.link for end in recursion.final_carries), default=-1)
        return Loops(
            label,
            sweeps,
            tuple(self._results_at_end()),
            on,
            tuple(kind.name for kind in recursion.link_classes),
            tuple(self.column_names),
            recursion.parents,
            recursion.class_of,
            recursion.constants,
        )

    def _sweep(self, s: int) -> SweepFormulas:
        sweep = self.recursion.sweeps[s]
        self.carry_names.append(self._carry_names(s))
        used = [
            c for c, _ in enumerate(self.recursion.link_classes) if c in self.recursion.class_of
        ]
        steps = tuple(
            Step(self.recursion.link_classes[c].name, tuple(self._step(s, c))) for c in used
        )
        return SweepFormulas(
            sweep.inward,
            steps,
            self.carry_names[s],
            tuple(round_numbers(number(x)) for x in sweep.initial),
            sweep.combine,
            sweep.only_path_to,
        )

    def _carry_names(self, s: int) -> tuple[str, ...]:
        """Return the name of each carry: that of its row in the first link class, if it is free,
        else hS_E.
        """
        names: list[str] = []
        step = self.recursion.sweeps[s].steps[0]
        rows = next((port.rows for port in step.outputs if port.name == CARRY), ())
        for e in range(len(self.recursion.sweeps[s].initial)):
            name = step.rows[rows[e]].name if e < len(rows) else ""
            free = (
                name
                and not name.startswith("neg_")
                and name not in names
                and not any(name in names_of_class for names_of_class in self.used_names)
            )
            names.append(name if free else self._unused_name(f"h{s + 1}_{e + 1}", names))
        return tuple(names)

    def _unused_name(
        self, name: str, reserved: Sequence[str] = (), link_class: int | None = None
    ) -> str:
        """Return the name, extended by underscores until it is unused."""
        used_names = {
            *reserved,
            *(
                n
                for c, names in enumerate(self.used_names)
                for n in names
                if link_class in (None, c)
            ),
        }
        while name in used_names:
            name += "_"
        return name

    def _step(self, s: int, c: int) -> Iterator[tuple[str, Any]]:
        """Yield the equations of a step in order: named rows, saved values, carries, results."""
        sweep, names_of_class = self.recursion.sweeps[s], self.used_names[c]
        step, first = sweep.steps[c], sweep.saved_at[c]
        rows = {port.name: port.rows for port in step.outputs}
        if self._carry_unused(s, c):
            rows[CARRY] = ()
        carries = {
            r: self.carry_names[s][e] for e, r in reversed([*enumerate(rows.get(CARRY, ()))])
        }
        saved_index, step_names = (
            {r: k for k, r in reversed([*enumerate(rows.get(SAVED, ()))])},
            set(self.carry_names[s]),
        )
        uses = _uses(step)

        def name_of(r: int, row: Row) -> tuple[str, int]:
            if r in carries:
                return carries[r], 1
            name, sign = unsigned_name(row.name, set())
            if not name and r in saved_index:
                name = f"k{s + 1}_{saved_index[r] + 1}"
            elif not name and uses[r] > 1:
                self.temporaries[c] += 1
                name = f"t{self.temporaries[c]}"
            if name:
                name = self._unused_name(name, [*step_names], c)
                step_names.add(name)
            return name, sign

        named, values = _equations(
            step, lambda port, k: self._argument(s, c, step, port, k), name_of
        )
        yield from named
        for e, r in enumerate(rows.get(CARRY, ())):
            if carries[r] != self.carry_names[s][e] or step.rows[r].op in ("input", "const"):
                yield self.carry_names[s][e], round_numbers(values[r])
        for k, r in enumerate(rows.get(SAVED, ())):
            self.saved[c][first + k] = values[r]
        names_of_class |= step_names
        for port in step.outputs:
            if port.name not in (CARRY, SAVED):
                yield from (
                    (self._element(c, port.name, k), round_numbers(values[r]))
                    for k, r in enumerate(port.rows)
                )

    def _carry_unused(self, s: int, c: int) -> bool:
        """True if all links of a class are roots, and no final carry is read from the sweep."""
        recursion = self.recursion
        roots = all(
            parent < 0
            for parent, link_class in zip(recursion.parents, recursion.class_of, strict=True)
            if link_class == c
        )
        return (
            recursion.sweeps[s].inward
            and roots
            and not any(end.sweep == s for end in recursion.final_carries)
        )

    def _element(self, c: int, port: str, k: int) -> str:
        return port if self.sizes[c].get(port, 1) == 1 else f"{port}{k}"

    def _argument(self, s: int, c: int, step: Program, port: int, k: int) -> Any:
        """Return the symbol or value of a step's input."""
        name = step.inputs[port].name
        if name == SAVED:
            return self.saved[c][k]
        if name == CONSTANTS:
            return sp.Symbol(self.columns[c][k], real=True)
        if name == CARRY:
            return self._incoming(s, k)
        return sp.Symbol(self._element(c, name, k), real=True)

    def _incoming(self, s: int, e: int) -> Any:
        side = CHILDREN if self.recursion.sweeps[s].inward else PARENT
        return sp.Symbol(f"{self.carry_names[s][e]}_{side}", real=True)

    def _results_at_end(self) -> Iterator[tuple[str, Any]]:
        """Yield results that are final carries, and the equations of the epilogue."""
        final_values: list[Any] = []
        for end in self.recursion.final_carries:
            inward = self.recursion.sweeps[end.sweep].inward
            values = [
                self._incoming(end.sweep, e)
                if end.link < 0 and inward
                else sp.Symbol(self.carry_names[end.sweep][e], real=True)
                for e in end.elements
            ]
            if end.name == FINAL_CARRY:
                final_values += values
            else:
                yield from (
                    ((end.name if len(values) == 1 else f"{end.name}{k}"), x)
                    for k, x in enumerate(values)
                )
        if self.recursion.epilogue is not None:
            yield from _epilogue(self.recursion.epilogue, final_values)


def _epilogue(step: Program, final_values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the equations of the epilogue, whose inputs are final carries."""
    uses, counts = _uses(step), Counter[str]()

    def name_of(r: int, row: Row) -> tuple[str, int]:
        name, sign = unsigned_name(row.name or "t" * (uses[r] > 1), set())
        counts[name] += 1
        return (
            f"{name}{counts[name]}" if name and (not row.name or counts[name] > 1) else name
        ), sign

    named, values = _equations(step, lambda _, k: final_values[k], name_of)
    yield from named
    for port in step.outputs:
        for k, r in enumerate(port.rows):
            yield (port.name if port.size == 1 else f"{port.name}{k}"), round_numbers(values[r])


def _uses(step: Program) -> Counter[int]:
    """Return the number of uses of each row, without sign changes."""
    return Counter(a for row in step.rows for a in row.args if step.rows[a].op != "neg")


def _equations(
    step: Program,
    argument: Callable[[int, int], Any],
    name_of: Callable[[int, Row], tuple[str, int]],
) -> tuple[list[tuple[str, Any]], dict[int, Any]]:
    """Return the equations of the rows to which `name_of` gives a name, and the values of all rows.

    `argument` returns the value of an input's element.
    """
    named: list[tuple[str, Any]] = []
    values: dict[int, Any] = {}
    for r, row in enumerate(step.rows):
        if row.op in ("input", "const"):
            values[r] = number(row.value) if row.op == "const" else argument(*row.value)
            continue
        value = apply_operation(row, values)
        name, sign = name_of(r, row)
        if name:
            named.append((name, round_numbers(sign * value)))
            value = sign * sp.Symbol(name, real=True)
        values[r] = value
    return named, values


# -- written ---------------------------------------------------------------------------------------


def _text(result: Loops) -> Iterator[str]:
    for kind, columns in zip(result.kinds, result.columns, strict=True):
        if columns:
            yield f"link constants{f', {kind}' * (len(result.kinds) > 1)}: {', '.join(columns)}"
    for sweep in result.sweeps:
        yield _head(sweep)
        for step in sweep.steps:
            indent = "  "
            if len(sweep.steps) > 1:
                yield f"  {step.kind}:" if step.named else f"  {step.kind}: no operations"
                indent = "    "
            yield from (
                f"{indent}{name} = {print_expression(value, 'text')}" for name, value in step.named
            )
        yield from (f"  {line}" for line in _carry_lines(sweep))
    if result.final_equations:
        yield f"{_end_heading(result)}:"
        yield from (
            f"  {name} = {print_expression(value, 'text')}"
            for name, value in result.final_equations
        )


def _end_heading(result: Loops) -> str:
    return (
        f"after the sweeps, at link {result.on}"
        if result.on >= 0
        else "after the sweeps, at the base"
    )


def _head(sweep: SweepFormulas) -> str:
    if sweep.tip >= 0:
        where = (
            f"inward, from link {sweep.tip} to the base"
            if sweep.inward
            else f"outward, from the base to link {sweep.tip}"
        )
    else:
        where = "inward, from the tips" if sweep.inward else "outward, from the base"
    return f"{where}{_initial_carries(sweep)}:"


def _carry_lines(sweep: SweepFormulas) -> Iterator[str]:
    """Yield the carries, and those that are multiplied over several children instead of summed."""
    if sweep.carry_names:
        yield f"carries: {', '.join(sweep.carry_names)}"
    products = [
        name for name, join in zip(sweep.carry_names, sweep.joins, strict=False) if join == "mul"
    ]
    if products:
        yield f"multiplied over several children: {', '.join(products)}"


def _initial_carries(sweep: SweepFormulas) -> str:
    """Return the text of the initial carries."""
    if not sweep.carry_names:
        return ""
    side = CHILDREN if sweep.inward else PARENT
    values = [print_expression(x, "text") for x in sweep.start]
    nonzero = [
        f"{name}_{side} = {value}"
        for name, value in zip(sweep.carry_names, values, strict=True)
        if value != "0"
    ]
    zeros = "0" in values
    if not nonzero:
        return f"; initial carries: all _{side} = 0"
    return f"; initial carries: {', '.join(nonzero)}" + f", all other _{side} = 0" * zeros


def _latex(result: Loops) -> Iterator[str]:
    def equations(named: Named) -> Iterator[str]:
        return (f"{latex(name)} &= {print_expression(value, 'latex')}" for name, value in named)

    def escape(text: str) -> str:
        return text.replace("_", r"\_")

    for sweep in result.sweeps:
        yield rf"&\text{{{escape(_head(sweep))}}}"
        for step in sweep.steps:
            if len(sweep.steps) > 1:
                yield rf"&\quad\text{{{step.kind}}}"
            yield from equations(step.named)
        yield from (rf"&\quad\text{{{escape(line)}}}" for line in _carry_lines(sweep))
    if result.final_equations:
        yield rf"&\text{{{_end_heading(result)}:}}"
        yield from equations(result.final_equations)
