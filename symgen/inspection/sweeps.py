"""A result as loops over links: the sweeps of a `LoopProgram` as named equations of one link, to be read.

What the C keeps in its work array and hands on by place has its name here. `F_p` is the parent's F, `F_c` the sum of the
children's. The names are the C's, of one link; places in a block count from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sympy as sp

from symgen.inspection.equations import applied, number, shown_number, unsigned
from symgen.inspection.names import latex
from symgen.inspection.printing import aligned, printed
from symgen.ir.loops import CARRY, CONSTANTS, FINAL_CARRY, SAVED, LoopProgram
from symgen.ir.program import Program, Row
from symgen.support.errors import RequestError

FORMATS = ("text", "latex")
PARENT, CHILDREN = "p", "c"
"""What stands behind the name of that which the link before hands on."""
Named = tuple[tuple[str, Any], ...]


class Step(NamedTuple):
    """What a sweep does at a link of one kind: equations in order, results last."""

    kind: str
    named: Named


class Way(NamedTuple):
    """One sweep. `handed`: what goes from link to link; `start`: of each what stands for it where there is no link before;
    `joins`: inward, how that of several children becomes one; `tip`: the link that it begins or ends at, and comes to no others
    than those between that and the base, -1 where it comes to all.
    """

    inward: bool
    steps: tuple[Step, ...]
    handed: tuple[str, ...]
    start: tuple[Any, ...]
    joins: tuple[str, ...]
    tip: int = -1


@dataclass(frozen=True)
class Loops:
    """A result as loops over links. `ends`: what is made at the end, where the result is none of a link, of what link `on` or,
    where that is -1, the base is handed.

    Of link i `parents[i]` is its parent (-1: the base), `kinds[of[i]]` its kind of joint, and `tables[i]` its constants, called
    `columns[of[i]]`; names of one that are equal in all links are joined by " = ", and the first stands in equations.
    """

    label: str
    ways: tuple[Way, ...]
    ends: Named
    on: int
    kinds: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    parents: tuple[int, ...] = field(repr=False)
    of: tuple[int, ...] = field(repr=False)
    tables: tuple[tuple[Any, ...], ...] = field(repr=False)

    def written(self, format: str) -> str:
        """Text, or LaTeX of one formula."""
        if format not in FORMATS:
            raise RequestError(
                f"loops over links are written as {' or '.join(FORMATS)}; their C is what 'symgen generate "
                "--form looped' writes"
            )
        return "\n".join(_text(self)) if format == "text" else aligned([*_latex(self)])

    def __str__(self) -> str:
        return self.written("text")

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.written('latex')}$"


def loops(recursion: LoopProgram, label: str) -> Loops:
    """The sweeps of a recursion in names."""
    return _Naming(recursion).read(label)


class _Naming:
    """Names for what goes by place: of the work array, and of what is handed on."""

    def __init__(self, recursion: LoopProgram) -> None:
        self.recursion = recursion
        ports = {port.name for port in (*recursion.inputs, *recursion.outputs)}
        self.told = [
            tuple(
                f"table_{name}" if name.split(" = ")[0] in ports else name for name in kind.columns
            )
            for kind in recursion.link_classes
        ]
        self.columns = [[name.split(" = ")[0] for name in told] for told in self.told]
        self.sizes = [
            {
                port.name: port.size
                for sweep in recursion.sweeps
                for port in (*sweep.steps[c].inputs, *sweep.steps[c].outputs)
            }
            for c, _ in enumerate(recursion.link_classes)
        ]
        self.taken = [{*ports, *own} for own in self.columns]
        self.kept: list[dict[int, Any]] = [{} for _ in recursion.link_classes]
        self.twice = [0 for _ in recursion.link_classes]
        self.handed: list[tuple[str, ...]] = []

    def read(self, label: str) -> Loops:
        recursion = self.recursion
        ways = tuple(self._way(s) for s, _ in enumerate(recursion.sweeps))
        on = max((end.link for end in recursion.final_carries), default=-1)
        return Loops(
            label,
            ways,
            tuple(self._ends()),
            on,
            tuple(kind.name for kind in recursion.link_classes),
            tuple(self.told),
            recursion.parents,
            recursion.class_of,
            recursion.constants,
        )

    def _way(self, s: int) -> Way:
        sweep = self.recursion.sweeps[s]
        self.handed.append(self._handed(s))
        used = [
            c for c, _ in enumerate(self.recursion.link_classes) if c in self.recursion.class_of
        ]
        steps = tuple(
            Step(self.recursion.link_classes[c].name, tuple(self._step(s, c))) for c in used
        )
        return Way(
            sweep.inward,
            steps,
            self.handed[s],
            tuple(shown_number(number(x)) for x in sweep.initial),
            sweep.combine,
            sweep.only_path_to,
        )

    def _handed(self, s: int) -> tuple[str, ...]:
        """What each element is called: as the first kind of link calls it, where that is a name of its own."""
        found: list[str] = []
        step = self.recursion.sweeps[s].steps[0]
        rows = next((port.rows for port in step.outputs if port.name == CARRY), ())
        for e in range(len(self.recursion.sweeps[s].initial)):
            name = step.rows[rows[e]].name if e < len(rows) else ""
            free = (
                name
                and not name.startswith("neg_")
                and name not in found
                and not any(name in own for own in self.taken)
            )
            found.append(name if free else self._free(f"h{s + 1}_{e + 1}", found))
        return tuple(found)

    def _free(self, name: str, others: Sequence[str] = (), own: int | None = None) -> str:
        """The name, or one like it that nothing has."""
        taken = {
            *others,
            *(n for c, names in enumerate(self.taken) for n in names if own in (None, c)),
        }
        while name in taken:
            name += "_"
        return name

    def _step(self, s: int, c: int) -> Iterator[tuple[str, Any]]:
        """The equations of a step, in order: what has a name, what is kept, what is handed on, what is a result."""
        sweep, own = self.recursion.sweeps[s], self.taken[c]
        step, first = sweep.steps[c], sweep.saved_at[c]
        rows = {port.name: port.rows for port in step.outputs}
        if self._unheard(s, c):
            rows[CARRY] = ()
        handed = {r: self.handed[s][e] for e, r in reversed([*enumerate(rows.get(CARRY, ()))])}
        kept, own_names = (
            {r: k for k, r in reversed([*enumerate(rows.get(SAVED, ()))])},
            set(self.handed[s]),
        )
        uses = _uses(step)

        def called(r: int, row: Row) -> tuple[str, int]:
            if r in handed:
                return handed[r], 1
            name, sign = unsigned(row.name, set())
            if not name and r in kept:
                name = f"k{s + 1}_{kept[r] + 1}"
            elif not name and uses[r] > 1:
                self.twice[c] += 1
                name = f"t{self.twice[c]}"
            if name:
                name = self._free(name, [*own_names], c)
                own_names.add(name)
            return name, sign

        named, values = _equations(step, lambda port, k: self._given(s, c, step, port, k), called)
        yield from named
        for e, r in enumerate(rows.get(CARRY, ())):
            if handed[r] != self.handed[s][e] or step.rows[r].op in ("input", "const"):
                yield self.handed[s][e], shown_number(values[r])
        for k, r in enumerate(rows.get(SAVED, ())):
            self.kept[c][first + k] = values[r]
        own |= own_names
        for port in step.outputs:
            if port.name not in (CARRY, SAVED):
                yield from (
                    (self._element(c, port.name, k), shown_number(values[r]))
                    for k, r in enumerate(port.rows)
                )

    def _unheard(self, s: int, c: int) -> bool:
        """Whether links of a kind all stand on the base, which does not ask what they hand on."""
        recursion = self.recursion
        roots = all(
            parent < 0
            for parent, own in zip(recursion.parents, recursion.class_of, strict=True)
            if own == c
        )
        return (
            recursion.sweeps[s].inward
            and roots
            and not any(end.sweep == s for end in recursion.final_carries)
        )

    def _element(self, c: int, port: str, k: int) -> str:
        return port if self.sizes[c].get(port, 1) == 1 else f"{port}{k}"

    def _given(self, s: int, c: int, step: Program, port: int, k: int) -> Any:
        """What an argument of a step is."""
        name = step.inputs[port].name
        if name == SAVED:
            return self.kept[c][k]
        if name == CONSTANTS:
            return sp.Symbol(self.columns[c][k], real=True)
        if name == CARRY:
            return self._before(s, k)
        return sp.Symbol(self._element(c, name, k), real=True)

    def _before(self, s: int, e: int) -> Any:
        side = CHILDREN if self.recursion.sweeps[s].inward else PARENT
        return sp.Symbol(f"{self.handed[s][e]}_{side}", real=True)

    def _ends(self) -> Iterator[tuple[str, Any]]:
        """Results that come to an end, and what is made of what does."""
        ended: list[Any] = []
        for end in self.recursion.final_carries:
            inward = self.recursion.sweeps[end.sweep].inward
            values = [
                self._before(end.sweep, e)
                if end.link < 0 and inward
                else sp.Symbol(self.handed[end.sweep][e], real=True)
                for e in end.elements
            ]
            if end.name == FINAL_CARRY:
                ended += values
            else:
                yield from (
                    ((end.name if len(values) == 1 else f"{end.name}{k}"), x)
                    for k, x in enumerate(values)
                )
        if self.recursion.epilogue is not None:
            yield from _last(self.recursion.epilogue, ended)


def _last(step: Program, ended: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """What is made at the end of what the sweeps carry there."""
    uses, taken = _uses(step), Counter[str]()

    def called(r: int, row: Row) -> tuple[str, int]:
        name, sign = unsigned(row.name or "t" * (uses[r] > 1), set())
        taken[name] += 1
        return (
            f"{name}{taken[name]}" if name and (not row.name or taken[name] > 1) else name
        ), sign

    named, values = _equations(step, lambda _, k: ended[k], called)
    yield from named
    for port in step.outputs:
        for k, r in enumerate(port.rows):
            yield (port.name if port.size == 1 else f"{port.name}{k}"), shown_number(values[r])


def _uses(step: Program) -> Counter[int]:
    """How often each row is taken, but for those that change a sign."""
    return Counter(a for row in step.rows for a in row.args if step.rows[a].op != "neg")


def _equations(
    step: Program, given: Callable[[int, int], Any], called: Callable[[int, Row], tuple[str, int]]
) -> tuple[list[tuple[str, Any]], dict[int, Any]]:
    """The equations of the rows that have a name and a sign, and the values of all; `given` is an argument's element."""
    named: list[tuple[str, Any]] = []
    values: dict[int, Any] = {}
    for r, row in enumerate(step.rows):
        if row.op in ("input", "const"):
            values[r] = number(row.value) if row.op == "const" else given(*row.value)
            continue
        value = applied(row, values)
        name, sign = called(r, row)
        if name:
            named.append((name, shown_number(sign * value)))
            value = sign * sp.Symbol(name, real=True)
        values[r] = value
    return named, values


# -- written ---------------------------------------------------------------------------------------------------------------------


def _text(found: Loops) -> Iterator[str]:
    for kind, columns in zip(found.kinds, found.columns, strict=True):
        if columns:
            yield f"table of a link{f', {kind}' * (len(found.kinds) > 1)}: {', '.join(columns)}"
    for way in found.ways:
        yield _head(way)
        for step in way.steps:
            indent = "  "
            if len(way.steps) > 1:
                yield f"  {step.kind}:" if step.named else f"  {step.kind}: nothing"
                indent = "    "
            yield from (f"{indent}{name} = {printed(value, 'text')}" for name, value in step.named)
        yield from (f"  {line}" for line in _behind(way))
    if found.ends:
        yield f"{_end(found)}:"
        yield from (f"  {name} = {printed(value, 'text')}" for name, value in found.ends)


def _end(found: Loops) -> str:
    return f"at the end, of link {found.on}" if found.on >= 0 else "at the end, of the base"


def _head(way: Way) -> str:
    if way.tip >= 0:
        where = (
            f"inward, from link {way.tip} to the base"
            if way.inward
            else f"outward, from the base to link {way.tip}"
        )
    else:
        where = "inward, from the tips" if way.inward else "outward, from the base"
    return f"{where}{_before(way)}:"


def _behind(way: Way) -> Iterator[str]:
    """What is handed on, and how that of several children becomes one where it is no sum."""
    if way.handed:
        yield f"handed on: {', '.join(way.handed)}"
    products = [name for name, join in zip(way.handed, way.joins, strict=False) if join == "mul"]
    if products:
        yield f"of several children the product: {', '.join(products)}"


def _before(way: Way) -> str:
    """What stands for what the link before hands on where there is none."""
    if not way.handed:
        return ""
    side = CHILDREN if way.inward else PARENT
    values = [printed(x, "text") for x in way.start]
    where = "at the base" if not way.inward else "at a tip" if way.tip < 0 else "behind it"
    others = {value for value in values if value != "0"}
    if not others:
        return f"; {where} all that ends with _{side} = 0"
    given = ", ".join(
        f"{name}_{side} = {value}"
        for name, value in zip(way.handed, values, strict=True)
        if value != "0"
    )
    return f"; {where} {given}" + (
        f", all else that ends with _{side} = 0" if "0" in values else ""
    )


def _latex(found: Loops) -> Iterator[str]:
    def equations(named: Named) -> Iterator[str]:
        return (f"{latex(name)} &= {printed(value, 'latex')}" for name, value in named)

    def said(text: str) -> str:
        return text.replace("_", r"\_")

    for way in found.ways:
        yield rf"&\text{{{said(_head(way))}}}"
        for step in way.steps:
            if len(way.steps) > 1:
                yield rf"&\quad\text{{{step.kind}}}"
            yield from equations(step.named)
        yield from (rf"&\quad\text{{{said(line)}}}" for line in _behind(way))
    if found.ends:
        yield rf"&\text{{{_end(found)}:}}"
        yield from equations(found.ends)
