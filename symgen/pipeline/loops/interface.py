"""Interface of neighbouring links: which values a link passes to its neighbour in each sweep.

A sample chain (`symgen.pipeline.loops.sample_chain`) is a short chain of links whose rows, one
operation each, become the steps of a loop program. A sweep passes a carry along the links: a fixed
list of numbers, its elements. The links of one class have the same rows. The interface finds out,
for every class and every element of a carry, the row that computes the element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symgen.pipeline.loops.cuts import behind
from symgen.pipeline.loops.isomorphism import UniformLinks
from symgen.pipeline.loops.link_assignment import NotUniform, Ref
from symgen.pipeline.loops.sample_chain import ChainRun, SampleChain

Passed = tuple[int, int]
"""(label of a link, number of a row of that link): a row whose value a neighbour of the link reads.
"""


class Interface:
    """Elements of the carry of each sweep; every link class computes an element in one of its rows.

    Two classes compute the same element, in one row each, if both rows are read at the same operand
    of a third class. The rows of one element are joined by union-find, and the least row represents
    the element.

    - `chain`, `run`: the sample chain; the rows of a method on it, with their names.
    - `uniform`: the rows of each link. The links in `middle` that are of one class have the same
      rows.
    - `at_rest`: True if the virtual base, link 0 of the sample chain, is the fixed base of the
      robot. All its arguments are then zero.
    """

    def __init__(
        self,
        chain: SampleChain,
        run: ChainRun,
        uniform: UniformLinks,
        middle: Sequence[int],
        at_rest: bool,
    ) -> None:
        self._chain, self._names, self._links = run.program, run.names, uniform.links
        self._examples, self._middle, self._at_rest = uniform.examples, middle, at_rest
        self._up: dict[Passed, Passed] = {}
        """Union-find: for a row, another row of the same element that is nearer to `root`."""
        classes = chain.classes
        self.labels = [number if i in middle else -1 - i for i, number in enumerate(classes)]
        """Label of each link: its class in the middle; elsewhere -1 for link 0, -2 for link 1, …"""
        reads: dict[tuple[int, int, int], list[Passed]] = {}
        """Rows of neighbours that links read, by (class, row, position of the operand)."""
        sweeps: dict[Passed, set[int]] = {}
        """Sweeps in which a neighbour reads a row."""
        for i in middle:
            link = self._links[i]
            for k in range(len(link.rows)):
                operands = link.operands[k][:: -1 if k in uniform.swapped[i] else 1]
                for position, operand in enumerate(operands):
                    if isinstance(operand, Ref) and operand.side:
                        passed = self.labels[i + operand.side], operand.row
                        reads.setdefault((classes[i], k, position), []).append(passed)
                        sweeps.setdefault(passed, set()).add(link.sweeps[k])
        for first, *further in reads.values():
            for passed in further:
                self._join(first, passed)
        if chain.classes_by_neighbours:
            self._share_elements(sweeps)
        self.elements: dict[int, list[Passed]] = {}
        """Rows that represent the elements of the carry, in the order of the carry, by sweep."""
        for passed, numbers in sweeps.items():
            for sweep in numbers:
                elements = self.elements.setdefault(sweep, [])
                if self.root(passed) not in elements:
                    elements.append(self.root(passed))
        for elements in self.elements.values():
            elements.sort()

    def _share_elements(self, sweeps: Mapping[Passed, set[int]]) -> None:
        """Merge elements that no link class passes on together, so that the carry becomes shorter.

        Merged elements are read in the same sweeps. They have the same name, or none of them has a
        name. Elements of different names stay apart, since names identify the values of the base
        and the results. `sweeps` are the sweeps in which a neighbour reads a row.
        """
        rows_of: dict[Passed, dict[int, int]] = {}
        """Rows of each element, by label."""
        read_in: dict[Passed, set[int]] = {}
        """Sweeps in which each element is read."""
        for (label, row), numbers in sweeps.items():
            element = self.root((label, row))
            rows_of.setdefault(element, {})[label] = row
            read_in.setdefault(element, set()).update(numbers)
        candidates_by_use: dict[tuple[frozenset[int], str], list[Passed]] = {}
        """Elements that remain, by the sweeps in which they are read and by name."""
        for element in sorted(rows_of):
            names = (self.names(self._link(label), row) for label, row in rows_of[element].items())
            name = next((name for several in names for name in several), "")
            candidates = candidates_by_use.setdefault((frozenset(read_in[element]), name), [])
            free = (
                each for each in candidates if not rows_of[each].keys() & rows_of[element].keys()
            )
            shared = next(free, None)
            if shared is None:
                candidates.append(element)
            else:
                self._join(shared, element)
                rows_of[shared] |= rows_of[element]

    def _link(self, label: int) -> int:
        """Return a link of the sample chain that has the label."""
        return self._examples[label] if label >= 0 else -1 - label

    def root(self, passed: Passed) -> Passed:
        """Return the row that represents the element to which the row `passed` belongs."""
        while passed in self._up:
            passed = self._up[passed]
        return passed

    def _join(self, passed: Passed, same: Passed) -> None:
        """Join the elements of two rows; the lesser of their representatives represents both."""
        root, joined = sorted((self.root(passed), self.root(same)))
        if root != joined:
            self._up[joined] = root

    def rows(self, sweep: int, label: int) -> list[int | None]:
        """Return, for each element of the carry of a sweep, the row of a label that computes it;
        None: zero.
        """
        by_element: dict[Passed, int] = {}
        link = self._link(label)
        for row in range(len(self._links[link].rows)):
            by_element.setdefault(self.root((label, row)), row)
        return [by_element.get(element) for element in self.elements.get(sweep, [])]

    def rows_of_base(self, sweep: int) -> list[int | None]:
        """Return, for each element of the carry of an outward sweep, the row of the virtual base.

        None means that the virtual base passes on zero. The first link of the middle reads the
        carry from the link before the middle. If that link is not the virtual base, a row of the
        virtual base belongs to an element that has the same name in the link before the middle.
        """
        before_middle = self._middle[0] - 1
        if before_middle == 0:
            return self.rows(sweep, self.labels[0])
        base_rows = {
            name: row for row in range(len(self._links[0].rows)) for name in self.names(0, row)
        }
        rows: list[int | None] = []
        for row in self.rows(sweep, self.labels[before_middle]):
            names = [] if row is None else self.names(before_middle, row)
            if row is not None and not names and not self._is_zero(row, before_middle):
                raise NotUniform(f"a value that the base passes on in {self._title} has no name")
            rows.append(next((base_rows[name] for name in names if name in base_rows), None))
        # Link 1 may read further values of a base at rest: they are zero, or have no effect.
        if self._links[1].rows_from(-1, sweep) - {*rows} and not self._at_rest:
            raise NotUniform(f"the base passes on other values in {self._title} than links do")
        return rows

    def elements_into_base(self, sweep: int) -> dict[int, int]:
        """Return the carry elements that the virtual base reads in an inward sweep.

        The key is a row of link 1, the child of the virtual base; the value is the index of the
        element in the carry. The first link of the middle reads the same elements from its child.
        If both read equally many, their order identifies the elements; otherwise their names do.
        """
        into_base = sorted(self._links[0].rows_from(1, sweep))
        parent = self._middle[0]
        rows = sorted(self._links[parent].rows_from(1, sweep))
        if len(into_base) != len(rows):
            # The virtual base reads fewer elements than other links: names identify them.
            named = {name: row for row in rows for name in self.names(parent + 1, row)}
            rows = [
                named[name] for row in into_base for name in self.names(1, row)[:1] if name in named
            ]
        if len(into_base) != len(rows):
            raise NotUniform(f"the base reads other values in {self._title} than links do")
        label = self.labels[parent + 1]
        elements = [self.elements[sweep].index(self.root((label, row))) for row in rows]
        return dict(zip(into_base, elements, strict=True))

    def final_element(self, row: int, pivots: bool) -> tuple[int, int]:
        """Return the sweep and the carry element that bring a total over all links to the virtual
        base.

        The total is a sum or a product. `row` is the row of the virtual base that completes it: one
        operand is the carry of link 1, the other the contribution of the virtual base. This method
        follows a chain of equal operations from `row` to that carry.

        The contribution of the virtual base may not depend on other links. `pivots` is True for
        pivots of the mass matrix, which are an exception: the robot lacks the pivots of the virtual
        base.
        """
        base, at = self._links[0], row
        while True:
            refs = base.refs[at]
            passed = [ref for ref in refs if ref.side > 0]
            same = [ref for ref in refs if not ref.side and self._op(ref.row) == self._op(row)]
            # Operands through which the total may come from link 1; there must be exactly one.
            continuations = (passed or same[:1]) if pivots else [*passed, *same]
            if len(continuations) != 1 or (
                not pivots
                and self._reads_links([ref.row for ref in refs if ref not in continuations])
            ):
                raise NotUniform(f"a result of {self._title} is no sum and no product over links")
            if continuations[0].side:
                sweep = base.sweeps[at]
                return sweep, self.elements_into_base(sweep)[continuations[0].row]
            at = continuations[0].row

    def _reads_links(self, rows: Sequence[int]) -> bool:
        """True if one of these rows of the virtual base depends on its child, link 1."""
        base = self._links[0]
        return any(
            ref.side > 0 for row in behind(base.local_operands(), rows) for ref in base.refs[row]
        )

    def _is_zero(self, row: int, link: int) -> bool:
        """True if a row is an argument and the base is fixed: the arguments of the base are then
        zero.
        """
        return self._at_rest and self._op(row, link) == "input"

    def _op(self, row: int, link: int = 0) -> str:
        """Return the operation of a row of a link; the default is the virtual base."""
        return self._chain.rows[self._links[link].rows[row]].op

    def names(self, link: int, row: int) -> list[str]:
        """Return the names that the derivation gave a row, without the number of the link.

        For example, "omega_3_1", component 1 of ω of the third link, becomes "omega_1".
        """
        names = []
        for name in self._names.get(self._links[link].rows[row], ()):
            symbol, *parts = name.split("_")
            if parts and parts[0] == str(link + 1):
                names.append("_".join([symbol, *parts[1:]]))
        return names

    @property
    def _title(self) -> str:
        """Function and method, for messages."""
        return f"{self._chain.function} by {self._chain.method}"
