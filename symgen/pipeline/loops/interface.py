"""Interface of neighbouring links: the elements of the carry of each sweep, as rows of every class of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symgen.pipeline.loops.cuts import behind
from symgen.pipeline.loops.isomorphism import UniformLinks
from symgen.pipeline.loops.link_assignment import NotUniform, Ref
from symgen.pipeline.loops.sample_chain import ChainRun, SampleChain

Passed = tuple[int, int]
"""A row that a link passes on, with the label of the link."""


class Interface:
    """Elements of the carry of each sweep: each is one row of every class.

    Rows of two classes are the same element if one row of a third class reads either of them. Links at the ends of the
    sample chain, which are not uniform, have labels of their own: -1 the virtual base, -2 the link behind it.
    `at_rest`: the virtual base stands for the base itself, and all its arguments are zero.
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
        classes = chain.classes
        self.labels = [number if i in middle else -1 - i for i, number in enumerate(classes)]
        """Label of each link: its class, or a negative number at the ends."""
        reads: dict[tuple[int, int, int], list[Passed]] = {}
        sweeps: dict[Passed, set[int]] = {}
        for i in middle:
            link = self._links[i]
            for k in range(len(link.rows)):
                operands = link.operands[k][:: -1 if k in uniform.swapped[i] else 1]
                for position, operand in enumerate(operands):
                    if isinstance(operand, Ref) and operand.side:
                        passed = self.labels[i + operand.side], operand.row
                        reads.setdefault((classes[i], k, position), []).append(passed)
                        sweeps.setdefault(passed, set()).add(link.sweeps[k])
        for first, *others in reads.values():
            for passed in others:
                self._join(first, passed)
        if chain.classes_by_neighbours:
            self._share_elements(sweeps)
        self.elements: dict[int, list[Passed]] = {}
        """Row that stands for each element, by sweep."""
        for passed, numbers in sweeps.items():
            for sweep in numbers:
                elements = self.elements.setdefault(sweep, [])
                if self.root(passed) not in elements:
                    elements.append(self.root(passed))
        for elements in self.elements.values():
            elements.sort()

    def _share_elements(self, sweeps: Mapping[Passed, set[int]]) -> None:
        """Make one element of several that no link passes on together: with the same name, or without a name.

        A name says which values the base passes on, and which values are results.
        """
        rows_of: dict[Passed, dict[int, int]] = {}
        """Row of each label, by element."""
        read_in: dict[Passed, set[int]] = {}
        for (label, row), numbers in sweeps.items():
            element = self.root((label, row))
            rows_of.setdefault(element, {})[label] = row
            read_in.setdefault(element, set()).update(numbers)
        alike: dict[tuple[frozenset[int], str], list[Passed]] = {}
        for element in sorted(rows_of):
            names = (self.names(self._link(label), row) for label, row in rows_of[element].items())
            name = next((name for several in names for name in several), "")
            candidates = alike.setdefault((frozenset(read_in[element]), name), [])
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
        return self._examples[label] if label >= 0 else -1 - label

    def root(self, passed: Passed) -> Passed:
        """Return the row that stands for the element of a row."""
        while passed in self._up:
            passed = self._up[passed]
        return passed

    def _join(self, passed: Passed, same: Passed) -> None:
        root, joined = sorted((self.root(passed), self.root(same)))
        if root != joined:
            self._up[joined] = root

    def rows(self, sweep: int, label: int) -> list[int | None]:
        """Return the rows of a class that it passes on in a sweep, None for an element that is zero."""
        by_element: dict[Passed, int] = {}
        link = self._link(label)
        for row in range(len(self._links[link].rows)):
            by_element.setdefault(self.root((label, row)), row)
        return [by_element.get(element) for element in self.elements.get(sweep, [])]

    def rows_of_base(self, sweep: int) -> list[int | None]:
        """Return the rows of the virtual base that it passes on in an outward sweep.

        If its child is not uniform, the names of the derivation tell which rows of the virtual base these are.
        """
        last = self._middle[0] - 1
        if last == 0:
            return self.rows(sweep, self.labels[0])
        of_base = {
            name: row for row in range(len(self._links[0].rows)) for name in self.names(0, row)
        }
        rows: list[int | None] = []
        for row in self.rows(sweep, self.labels[last]):
            names = [] if row is None else self.names(last, row)
            if row is not None and not names and not self._is_zero(row, last):
                raise NotUniform(f"a value that the base passes on in {self._title} has no name")
            rows.append(next((of_base[name] for name in names if name in of_base), None))
        # further values of a base at rest are zero, or have no effect
        if self._links[1].rows_from(-1, sweep) - {*rows} and not self._at_rest:
            raise NotUniform(f"the base passes on other values in {self._title} than links do")
        return rows

    def elements_into_base(self, sweep: int) -> dict[int, int]:
        """Return the elements that the link behind the virtual base passes inward, by its rows.

        These are the elements that other links pass on, in their order, or by their names.
        """
        into_base = sorted(self._links[0].rows_from(1, sweep))
        parent = self._middle[0]
        rows = sorted(self._links[parent].rows_from(1, sweep))
        if len(into_base) != len(rows):  # the base reads fewer: their names tell which
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
        """Return the sweep and the element that deliver a total over all links to the virtual base.

        `row` is the row of the virtual base that sums or multiplies. What the virtual base adds depends on no other
        link, unless these are its `pivots` of the mass matrix, which the robot does not have.
        """
        base, at = self._links[0], row
        while True:
            refs = base.refs(at)
            passed = [ref for ref in refs if ref.side > 0]
            same = [ref for ref in refs if not ref.side and self._op(ref.row) == self._op(row)]
            ways = (passed or same[:1]) if pivots else [*passed, *same]
            if len(ways) != 1 or (
                not pivots and self._reads_links([ref.row for ref in refs if ref not in ways])
            ):
                raise NotUniform(f"a result of {self._title} is no sum and no product over links")
            if ways[0].side:
                sweep = base.sweeps[at]
                return sweep, self.elements_into_base(sweep)[ways[0].row]
            at = ways[0].row

    def _reads_links(self, rows: Sequence[int]) -> bool:
        """True if one of these rows of the virtual base depends on another link."""
        base = self._links[0]
        return any(
            ref.side > 0 for row in behind(base.local_operands(), rows) for ref in base.refs(row)
        )

    def _is_zero(self, row: int, link: int) -> bool:
        """True if a row is an argument, which is zero at the base."""
        return self._at_rest and self._op(row, link) == "input"

    def _op(self, row: int, link: int = 0) -> str:
        return self._chain.rows[self._links[link].rows[row]].op

    def names(self, link: int, row: int) -> list[str]:
        """Return the names of a row in the derivation, without the number of the link."""
        names = []
        for name in self._names.get(self._links[link].rows[row], ()):
            symbol, *parts = name.split("_")
            if parts and parts[0] == str(link + 1):
                names.append("_".join([symbol, *parts[1:]]))
        return names

    @property
    def _title(self) -> str:
        return f"{self._chain.function} by {self._chain.method}"
