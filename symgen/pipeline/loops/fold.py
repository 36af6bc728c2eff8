"""Folding of a method's rows on a sample chain into sweeps with one step for each link class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from operator import add, mul, sub
from typing import NamedTuple

from symgen.derivation.table_linkage import Columns
from symgen.ir.loops import FINAL_CARRY, FinalCarry, Sweep
from symgen.ir.program import Program
from symgen.pipeline.loops.classes import LAST_LINKS
from symgen.pipeline.loops.epilogue import Epilogue, build_epilogue
from symgen.pipeline.loops.interface import Interface
from symgen.pipeline.loops.isomorphism import UniformLinks, compare_links
from symgen.pipeline.loops.link_assignment import LinkRows, NotUniform, Ref, assign_links
from symgen.pipeline.loops.liveness import place_saved, plan_saved
from symgen.pipeline.loops.sample_chain import FIRST_LINKS, ChainRun, SampleChain
from symgen.pipeline.loops.steps import Carry, ClassPlan, Step, results_of
from symgen.vocabulary.functions import FUNCTIONS


class FoldedSweeps(NamedTuple):
    """Sweeps along links of the classes of a sample chain."""

    work: int
    """Numbers that a link saves."""
    sweeps: tuple[Sweep, ...]
    columns: tuple[Columns, ...]
    """Constants of each class."""
    final_carries: tuple[FinalCarry, ...]
    epilogue: Program | None
    base_names: tuple[tuple[tuple[str, ...], ...], ...]
    """Names that the virtual base has for the elements of each outward carry."""


def fold_sweeps(chain: SampleChain, trunk: bool, run: ChainRun) -> FoldedSweeps:
    """Fold the rows of a sample chain; with a `trunk` the virtual base is a class of the robot's
    links.
    """
    return _Fold(chain, trunk, run).sweeps()


class _Fold:
    """The rows of a sample chain under their links, and the interface between neighbours."""

    def __init__(self, chain: SampleChain, trunk: bool, run: ChainRun) -> None:
        self.chain, self.program, self.seeds, self.trunk = chain, run.program, run.seeds, trunk
        self.links = assign_links(
            run.program, chain.parents, run.link_of, chain.link_of_input(run.program)
        )
        self.uniform, self.middle = _uniform_middle(chain, run.program, self.links)
        self.interface = Interface(chain, run, self.uniform, self.middle, not trunk)
        self.examples = {c: i for c, i in self.uniform.examples.items() if c < chain.used}
        if trunk:
            self.examples |= {chain.base_class: 0, chain.base_class + chain.unrooted: 0}
        """Link whose rows become the steps of each class."""
        self.levels = range(
            1 + max(max(self.links[i].sweeps, default=0) for i in self.examples.values())
        )
        """Numbers of the sweeps, with those that have no rows."""
        specification = FUNCTIONS[run.program.function]
        self.pivots = specification.needs_inverse or specification.by_pivots
        self.totals, self.epilogue = self._shared_results()
        self.base_rows = {
            element: row
            for elements, rows in self.totals.values()
            for element, row in zip(elements, rows, strict=True)
        }
        """Row of the virtual base for each element of a final carry that is a total over all links.
        """

    @property
    def title(self) -> str:
        return f"{self.program.function} by {self.program.method}"

    def sweeps(self) -> FoldedSweeps:
        """Build the sweeps, and where the results that all links share come from."""
        plans = self._plans()
        sweeps: list[Sweep] = []
        number_of: dict[int, int] = {}
        for level in self.levels:
            last = level == self.levels[-1]
            steps = [Step(plans[c], level, self._carry(level, c), last) for c in sorted(plans)]
            if any(step.program.rows for step in steps):
                number_of[level] = len(sweeps)
                sweeps.append(self._sweep(level, steps))
        return FoldedSweeps(
            next(iter(plans.values())).work,
            tuple(sweeps),
            self.chain.columns,
            self._final_carries(number_of),
            self.epilogue and self.epilogue.program,
            tuple(map(self._base_names, number_of)),
        )

    def _plans(self) -> dict[int, ClassPlan]:
        """Choose for each class the values that its links save, and their places."""
        saved = {}
        for c, i in self.examples.items():
            link = self.links[i]
            number_of = {r: k for k, r in enumerate(link.rows)}
            results = [
                (number_of[r], given_in)
                for rows, given_in in results_of(
                    self.chain, self.program, link, self._gives_shared(c)
                ).values()
                for r in rows
                if r in number_of
            ]
            carries = {level: [row for row, _ in self._carry(level, c)] for level in self.levels}
            saved[c] = plan_saved(self.program, link, len(self.levels), carries, results)
        places = {c: place_saved(plan) for c, plan in saved.items()}
        work = max(1 + max(each.values(), default=-1) for each in places.values())
        return {
            c: ClassPlan(
                self.chain,
                self.program,
                self.interface,
                self.links[i],
                self._gives_shared(c),
                saved[c],
                places[c],
                work,
            )
            for c, i in self.examples.items()
        }

    def _gives_shared(self, number: int) -> bool:
        """True if links of a class give the results that all links share."""
        return self.chain.rooted and number == self.chain.base_class + self.chain.unrooted

    # -- carries ---------------------------------------------------------------------------------

    def _carry(self, level: int, number: int) -> Carry:
        """Return the rows of a class that give the carry of a sweep."""
        if number < self.chain.base_class:
            rows = self.interface.rows(level, number)
            return [(row, (number, row) in self.uniform.negated) for row in rows]
        if level % 2:  # the base needs the totals alone
            elements = range(len(self.interface.elements.get(level, [])))
            return [(self.base_rows.get((level, element)), False) for element in elements]
        return [(row, False) for row in self.interface.rows_of_base(level)]

    def _sweep(self, level: int, steps: Sequence[Step]) -> Sweep:
        """Return the sweep of these steps, with its initial carry."""
        inward = level % 2 == 1
        seeds = self._carry_of_frame(level) if inward else []
        combine = self._combine(level) if inward and not seeds else []
        initial = (
            seeds or [Fraction(int(operation == "mul")) for operation in combine]
            if inward
            else self._initial_of_base(level)
        )
        return Sweep(
            inward,
            tuple(step.program for step in steps),
            tuple(initial),
            tuple(combine),
            tuple(step.saved_at for step in steps),
            self.chain.on if seeds else -1,
        )

    def _carry_of_frame(self, level: int) -> list[Fraction]:
        """Return the carry that a frame passes inward to its link; empty for a carry from all
        branches.

        Raises NotUniform if one carry has elements of both kinds.
        """
        (number, link), *_ = self.uniform.examples.items()
        rows = self.interface.rows(level, number)
        values: list[Fraction] = []
        for row in rows:
            names = [] if row is None else self.interface.names(link, row)
            values += [self.seeds[name] for name in names if name in self.seeds][:1]
        if values and len(values) < len(rows):
            raise NotUniform("values of the frame and values of all links are in one carry")
        return values

    def _initial_of_base(self, level: int) -> list[Fraction]:
        """Return the carry that the base passes outward: the values of the virtual base at rest."""
        if not self.interface.elements.get(level):
            return []
        arguments, base = self.chain.at_rest(), self.links[0]
        values: list[Fraction] = []
        for r, operands in zip(base.rows, base.operands, strict=True):
            op, _, value, *_ = self.program.rows[r]
            if op == "input":
                name = self.program.inputs[value[0]].name
                values.append(arguments.get(name, {}).get(value[1], Fraction(0)))
                continue
            numbers = [
                operand
                if isinstance(operand, Fraction)
                else values[operand.row]
                if isinstance(operand, Ref) and not operand.side
                else Fraction(0)  # nothing comes from links behind the base
                for operand in operands
            ]
            values.append(_at_rest(op, *numbers))
        rows = self.interface.rows_of_base(level)
        return [Fraction(0) if row is None else values[row] for row in rows]

    def _combine(self, level: int) -> list[str]:
        """Return how the carries of several children are combined: by sums, or by products that go
        from link to link.
        """
        products = set()
        for i in self.uniform.examples.values():
            link = self.links[i]
            factors: list[set[tuple[int, int]]] = [set() for _ in link.rows]
            """Elements of the carry that are factors of each row."""
            for row, r in enumerate(link.rows):
                if self.program.rows[r].op != "mul":
                    continue
                for ref in link.refs[row]:  # a joint of several degrees multiplies several times
                    if ref.side > 0:
                        passed = self.interface.labels[i + 1], ref.row
                        factors[row].add(self.interface.root(passed))
                    elif not ref.side:
                        factors[row] |= factors[ref.row]
                element = self.interface.root((self.chain.classes[i], row))
                if element in factors[row]:
                    products.add(element)
        elements = self.interface.elements.get(level, [])
        return ["mul" if element in products else "add" for element in elements]

    # -- results that all links share --------------------------------------------------------------

    def _shared_results(
        self,
    ) -> tuple[dict[str, tuple[list[tuple[int, int]], list[int]]], Epilogue | None]:
        """Return the results that are totals over all links, or else an epilogue for the results
        that all links share.

        A total is a list of sweeps and elements of their final carries, and the rows of the virtual
        base.
        """
        ports = [
            port
            for port in self.program.outputs
            if self.chain.widths.get(port.name) == 0 and not self.chain.rooted
        ]
        try:
            totals = {}
            rows_of = {port.name: list(map(self._row_of_base, port.rows)) for port in ports}
            for name, rows in rows_of.items():
                elements = [self.interface.final_element(row, self.pivots) for row in rows]
                totals[name] = elements, rows
            if any(len({level for level, _ in elements}) > 1 for elements, _ in totals.values()):
                raise NotUniform(f"a result of {self.title} comes to the base by several sweeps")
            return totals, None
        except NotUniform:
            if self.chain.frame is None and (self.trunk or self.pivots):
                raise  # the virtual base would be part of the results
            names = [port.name for port in ports]
            return {}, build_epilogue(
                self.chain, self.program, self.uniform, self.middle, self.interface, names
            )

    def _row_of_base(self, r: int) -> int:
        """Return the number of a row among those of the virtual base."""
        base = self.links[0]
        if r not in base.rows:
            raise NotUniform(f"a result of {self.title} is no total that comes to the base")
        return base.rows.index(r)

    def _final_carries(self, number_of: Mapping[int, int]) -> tuple[FinalCarry, ...]:
        """Return the final carries that are results, or that the epilogue reads."""
        if self.epilogue is not None:
            return tuple(
                FinalCarry(FINAL_CARRY, number_of[level], elements, self.chain.on)
                for level, elements in self.epilogue.elements.items()
            )
        return tuple(
            FinalCarry(name, number_of[elements[0][0]], tuple(e for _, e in elements))
            for name, (elements, _) in self.totals.items()
        )

    def _base_names(self, level: int) -> tuple[tuple[str, ...], ...]:
        """Return the names that the virtual base has for each element of an outward carry."""
        if level % 2:
            return ()
        return tuple(
            () if row is None else tuple(self.interface.names(0, row))
            for row in self.interface.rows_of_base(level)
        )


def _uniform_middle(
    chain: SampleChain, program: Program, links: list[LinkRows]
) -> tuple[UniformLinks, range]:
    """Return the links that are the same, as many as possible."""
    why: NotUniform | None = None
    for first in range(1, FIRST_LINKS + 1):
        middle = range(first, len(links) - LAST_LINKS)
        try:
            return compare_links(program, links, chain.classes, middle), middle
        except NotUniform as error:
            why = error
    assert why is not None
    raise why


EXACT: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "neg": lambda a, _: -a,
    "log": lambda *_: Fraction(0),
    "div": lambda a, b: a / b if b else Fraction(0),
}
"""Operations at the base, where a divisor that is zero comes from links and divides zero."""


def _at_rest(op: str, a: Fraction, b: Fraction = Fraction(0)) -> Fraction:
    """Compute an operation at the base. Raises NotUniform for one that has no exact value."""
    if op in ("sin", "cos") and not a:
        return Fraction(int(op == "cos"))
    if op not in EXACT:
        raise NotUniform(f"the base passes on the {op} of a value")
    return EXACT[op](a, b)
