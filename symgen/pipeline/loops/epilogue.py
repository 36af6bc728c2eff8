"""Epilogue of folded sweeps: results that all links share, computed from final carries at the base
or at a frame's link.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from symgen.derivation.table_linkage import PREPARED
from symgen.ir.loops import FINAL_CARRY
from symgen.ir.program import Port, Program, Row
from symgen.pipeline.loops.interface import Interface
from symgen.pipeline.loops.isomorphism import UniformLinks
from symgen.pipeline.loops.link_assignment import LinkRows, NotUniform, Operand, Ref
from symgen.pipeline.loops.sample_chain import SampleChain
from symgen.pipeline.loops.steps import RowWriter


class Epilogue(NamedTuple):
    """Program that computes shared results, and the elements of each sweep's final carry that it
    reads.
    """

    elements: dict[int, tuple[int, ...]]
    program: Program


def build_epilogue(
    chain: SampleChain,
    program: Program,
    uniform: UniformLinks,
    middle: range,
    interface: Interface,
    names: Sequence[str],
) -> Epilogue:
    """Build the epilogue of these results. Raises NotUniform if they depend on anything but final
    carries.
    """
    ports = [port for port in program.outputs if port.name in names]
    rows = {r for port in ports for r in port.rows if program.rows[r].op != "const"}
    at_base = chain.frame is None
    link = uniform.links[0] if at_base else uniform.links[-1]
    if not rows <= {*link.rows}:
        raise NotUniform(
            f"a result of {program.function} by {program.method} is computed neither at the base"
            " nor at the frame"
        )
    source = (
        _from_links(uniform, interface)
        if at_base
        else _as_passed_on(chain, program, uniform, middle, interface)
    )
    return _EpilogueWriter(chain, program, link, source, at_base).write(ports)


class Element(NamedTuple):
    """An element of the final carry of a sweep, with the opposite sign if `negated`."""

    sweep: int
    element: int
    negated: bool


Source = Callable[[int | Ref], Element | None]
"""Returns the element of a final carry that a row, or a row of the next link, is; None for any
other row.
"""


def _from_links(uniform: UniformLinks, interface: Interface) -> Source:
    """Return the source of an epilogue at the base: the values that links pass inward."""
    base = uniform.links[0]
    sweep_of = {
        ref: sweep for k, sweep in enumerate(base.sweeps) for ref in base.refs[k] if ref.side > 0
    }

    def source(row: int | Ref) -> Element | None:
        if not isinstance(row, Ref):
            return None
        sweep = sweep_of[row]
        return Element(sweep, interface.elements_into_base(sweep)[row.row], False)

    return source


def _as_passed_on(
    chain: SampleChain,
    program: Program,
    uniform: UniformLinks,
    middle: range,
    interface: Interface,
) -> Source:
    """Return the source of an epilogue at the last link: the values that it would pass outward to
    another link.

    These are rows that are computed as, or have the names of, the rows that a link of that class
    passes on.
    """
    label, example = (
        chain.classes[-1],
        middle[-1],
    )  # a link of the same class, as are some before it
    last = uniform.links[-1]
    rows = range(len(last.rows))
    named = {name: row for row in rows for name in interface.names(last.link, row)}
    pairs = _EqualRows(program, uniform.links, chain.classes, middle)
    elements: dict[int | Ref, Element] = {}
    for sweep in interface.elements:
        if sweep % 2:
            continue
        for number, row in enumerate(interface.rows(sweep, label)):
            if row is None:
                continue
            equal = [at for at in rows if pairs.equal(example, row, last.link, at)]
            equal += [named[name] for name in interface.names(example, row) if name in named]
            for at in equal:
                elements.setdefault(at, Element(sweep, number, (label, row) in uniform.negated))
    return elements.get


class _EqualRows:
    """Comparison of rows of two links by their operations, back through neighbours."""

    def __init__(
        self, program: Program, links: Sequence[LinkRows], classes: Sequence[int], middle: range
    ) -> None:
        self.program, self.links, self.classes, self.middle = program, links, classes, middle
        self.compared: dict[tuple[int, int, int, int], bool] = {}

    def equal(self, i: int, row: int, j: int, other_row: int) -> bool:
        """True if row number `row` of link i is computed as row number `other_row` of link j."""
        if i in self.middle and j in self.middle:  # uniform links of a class have equal rows
            return self.classes[i] == self.classes[j] and row == other_row
        key = i, row, j, other_row
        if key not in self.compared:
            a, b = self.links[i], self.links[j]
            operands = zip(a.operands[row], b.operands[other_row], strict=False)
            self.compared[key] = (
                self.program.rows[a.rows[row]].op == self.program.rows[b.rows[other_row]].op
                and len(a.operands[row]) == len(b.operands[other_row])
                and all(self._equal_operands(i, x, j, y) for x, y in operands)
            )
        return self.compared[key]

    def _equal_operands(self, i: int, x: Operand, j: int, y: Operand) -> bool:
        if isinstance(x, Ref) and isinstance(y, Ref):
            return x.side == y.side and self.equal(i + x.side, x.row, j + y.side, y.row)
        return x == y


class _EpilogueWriter(RowWriter):
    """Rows of an epilogue: those of a link, down to the final carries."""

    def __init__(
        self, chain: SampleChain, program: Program, link: LinkRows, source: Source, at_base: bool
    ) -> None:
        super().__init__(program)
        self.chain, self.link = chain, link
        self.element_of, self.at_base = source, at_base
        self.arguments = chain.at_rest() if at_base else {}
        self.written: dict[int | Ref, int] = {}
        self.inputs: dict[tuple[int, int], int] = {}
        """Argument of each element of a final carry, in the order in which they were met."""

    def write(self, ports: Sequence[Port]) -> Epilogue:
        """Write the rows of all results."""
        number_of = {r: k for k, r in enumerate(self.link.rows)}
        outputs = []
        for port in ports:
            values = [
                self.constant(self.source.rows[r].value)
                if self.source.rows[r].op == "const"
                else self._row(number_of[r])
                for r in port.rows
            ]
            outputs.append(Port(port.name, port.shape, tuple(values)))
        elements = sorted(self.inputs)
        number_of_input = {self.inputs[element]: n for n, element in enumerate(elements)}
        rows = [
            row._replace(value=(0, number_of_input[row.value[1]])) if row.op == "input" else row
            for row in self.rows
        ]
        program = Program(
            self.source.function,
            self.source.method,
            (Port(FINAL_CARRY, (len(elements),)),),
            tuple(outputs),
            tuple(rows),
        )
        by_sweep: dict[int, tuple[int, ...]] = {}
        for sweep, element in elements:
            by_sweep[sweep] = (*by_sweep.get(sweep, ()), element)
        return Epilogue(by_sweep, program)

    def _row(self, row: int | Ref) -> int:
        """Write a row, unless it is written already."""
        if row not in self.written:
            self.written[row] = self._write(row)
        return self.written[row]

    def _write(self, row: int | Ref) -> int:
        if (element := self.element_of(row)) is not None:
            number = self.inputs.setdefault(element[:2], len(self.inputs))
            value = self.put(Row("input", (), (0, number)))
            return self.put(Row("neg", (value,))) if element.negated else value
        if isinstance(row, Ref):
            raise NotUniform(f"a result of {self.title} depends on values of its neighbours")
        source = self.source.rows[self.link.rows[row]]
        if source.op == "input":
            return self.constant(self._argument(*source.value))
        args = tuple(self._operand(operand) for operand in self.link.operands[row])
        return self.put(source._replace(args=args, name="", step=-1))

    def _operand(self, operand: Operand) -> int:
        if isinstance(operand, Ref):
            return self._row(operand if operand.side else operand.row)
        if isinstance(operand, Fraction):
            return self.constant(operand)
        return self.constant(self._argument(operand.port, operand.element))

    def _argument(self, port: int, element: int) -> Fraction:
        """Return the value of an argument: a number of the base, or of the virtual base at rest."""
        name = self.source.inputs[port].name
        if name == PREPARED and element >= self.chain.first[-1] and not self.at_base:
            return self.chain.of_the_base(element)
        if not self.at_base or self.chain.widths.get(name) == 0:
            raise NotUniform(f"a result of {self.title} depends on '{name}' itself")
        return self.arguments.get(name, {}).get(element, Fraction(0))
