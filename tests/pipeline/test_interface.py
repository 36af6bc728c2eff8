"""Values that neighbouring links of a sample chain pass on, and results computed from those that
come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from symgen.derivation.table_linkage import PREPARED
from symgen.ir.loops import FINAL_CARRY
from symgen.ir.program import Numbers, Port, Program, Row, evaluate
from symgen.pipeline.loops.epilogue import Epilogue, build_epilogue
from symgen.pipeline.loops.fold import _uniform_middle
from symgen.pipeline.loops.interface import Interface
from symgen.pipeline.loops.isomorphism import UniformLinks, compare_links
from symgen.pipeline.loops.link_assignment import LinkRows, NotUniform, assign_links

LINKS = 5
EXACT = Numbers(Fraction, Fraction, Fraction, Fraction, Fraction)
OUT, IN = 2, 3
"""Numbers of the outward and the inward sweep."""


@dataclass
class Chain:
    """Rows of a chain of five links; link 0 is the base. `a` and `b` are arguments of each link."""

    rows: list[Row] = field(default_factory=list)
    names: dict[int, list[str]] = field(default_factory=dict)
    comments: dict[int, int] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.a = [self.put("input", value=(0, 2 * i)) for i in range(LINKS)]
        self.b = [self.put("input", value=(0, 2 * i + 1)) for i in range(LINKS)]

    def put(self, op: str, *args: int, value: Any = None, name: str = "") -> int:
        self.rows.append(Row(op, args, value, "", len(self.steps) - 1))
        if name:
            self.name(len(self.rows) - 1, name)
        return len(self.rows) - 1

    def name(self, row: int, name: str) -> None:
        self.names.setdefault(row, []).append(name)

    def step(self, link: int, text: str) -> None:
        self.comments[len(self.steps)] = link
        self.steps.append(text)

    def program(self, *results: int) -> Program:
        return Program(
            "f",
            "m",
            (Port("x", (2 * LINKS,)),),
            (Port("y", (len(results),), results),),
            tuple(self.rows),
            tuple(self.steps),
        )

    def links(self, program: Program) -> list[LinkRows]:
        inputs = {(0, 2 * i + k): i for i in range(LINKS) for k in (0, 1)}
        return assign_links(program, range(-1, LINKS - 1), self.comments, inputs)

    def number(self, links: Sequence[LinkRows], link: int, row: int) -> int:
        """Return the number of a row among those of its link."""
        return links[link].rows.index(row)


class SumsAndProducts(Chain):
    """s_i = s_{i−1} + a_i and w_i = w_{i−1} b_i outward from s_0 = a_0 and w_0 = b_0, and t_i = s_i
    w_i + t_{i+1} inward.
    """

    def __init__(self, named: str = "swt") -> None:
        super().__init__()
        self.s, self.w = [self.a[0]], [self.b[0]]
        for i in range(LINKS):
            if i:
                self.step(i, "out")
                self.s.append(self.put("add", self.s[-1], self.a[i]))
                self.w.append(self.put("mul", self.w[-1], self.b[i]))
        self.p, self.t = [-1] * LINKS, [-1] * LINKS
        for i in reversed(range(LINKS)):
            self.step(i, "in")
            self.p[i] = self.put("mul", self.s[i], self.w[i])
            self.t[i] = self.put("add", self.p[i], self.t[i + 1]) if i + 1 < LINKS else self.p[i]
        for symbol, rows in (("s", self.s), ("w", self.w), ("t", self.t)):
            for i, row in enumerate(rows if symbol in named else ()):
                self.name(row, f"{symbol}_{i + 1}")

    def interface(
        self, *results: int, first: int = 1, at_rest: bool = False
    ) -> tuple[Interface, list[LinkRows], UniformLinks, Program]:
        """Return the interface of the links from `first` to the last but one."""
        program = self.program(*(results or (self.t[0],)))
        links, classes = self.links(program), (1, *[0] * (LINKS - 1))
        uniform = compare_links(program, links, classes, range(first, LINKS - 1))
        chain: Any = SimpleNamespace(classes=classes, classes_by_neighbours=False)
        run: Any = SimpleNamespace(program=program, names=self.names)
        interface = Interface(chain, run, uniform, range(first, LINKS - 1), at_rest)
        return interface, links, uniform, program


# -- links that are the same -----------------------------------------------------------------------


@pytest.mark.parametrize(("different", "first"), [(0, 1), (1, 2), (2, 3), (3, None)])
def test_up_to_two_links_behind_the_base_may_differ_from_the_links_in_the_middle(
    different: int, first: int | None
) -> None:
    """The links add their arguments, and the first ones multiply by them; so do the last four."""
    links = 12
    rows = [Row("input", (), (0, i)) for i in range(links)]
    total = 0
    for i in range(1, links):
        rows.append(Row("mul" if i <= different or i >= links - 4 else "add", (total, i)))
        total = len(rows) - 1
    program = Program("f", "m", (Port("x", (links,)),), (Port("y", (1,), (total,)),), tuple(rows))
    inputs = {(0, i): i for i in range(links)}
    of_links = assign_links(program, range(-1, links - 1), {}, inputs)
    sample: Any = SimpleNamespace(classes=(1, *[0] * (links - 1)))
    if first is None:
        with pytest.raises(NotUniform, match="row 1 is mul and add"):
            _uniform_middle(sample, program, of_links)
    else:
        uniform, middle = _uniform_middle(sample, program, of_links)
        assert middle == range(first, links - 4)
        assert uniform.examples == {0: first}


# -- elements --------------------------------------------------------------------------------------


def test_links_in_the_middle_have_the_label_of_their_class_and_others_their_own() -> None:
    chain = SumsAndProducts()
    assert chain.interface()[0].labels == [-1, 0, 0, 0, -5]
    interface, *_ = chain.interface(first=2)
    assert interface.labels == [-1, -2, 0, 0, -5]
    assert [interface._link(label) for label in interface.labels] == [0, 1, 2, 2, 4]


def test_a_carry_has_an_element_for_each_value_that_a_neighbour_reads() -> None:
    """Rows of all labels that are read in one place compute one element."""
    chain = SumsAndProducts()
    interface, links, _, _ = chain.interface()
    s, w, t = (
        [chain.number(links, i, x[i]) for i in range(5)] for x in (chain.s, chain.w, chain.t)
    )
    assert sorted(interface.elements) == [OUT, IN]
    assert interface.elements[OUT] == [(-1, s[0]), (-1, w[0])]
    assert interface.rows(OUT, 0) == [s[2], w[2]]
    assert interface.rows(OUT, -1) == [s[0], w[0]]
    assert interface.elements[IN] == [(-5, t[4])]
    assert interface.rows(IN, 0) == [t[2]]
    assert interface.rows(IN, -5) == [t[4]]
    assert interface.rows(OUT, -5) == [None, None]  # nobody is behind the last link
    assert interface.rows(4, 0) == []
    assert interface.root((0, t[2])) == (-5, t[4])
    assert interface.root((0, s[1])) == interface.root((-1, s[0])) == (-1, s[0])
    assert interface.root((7, 9)) == (7, 9)


def test_names_of_a_row_lose_the_number_of_its_link() -> None:
    chain = SumsAndProducts()
    for name in ("omega_3_1", "omega_4_1", "c", "c_3", "P_3_12"):
        chain.name(chain.s[2], name)
    interface, links, _, _ = chain.interface()
    row = chain.number(links, 2, chain.s[2])
    assert interface.names(2, row) == ["s", "omega_1", "c", "P_12"]
    assert interface.names(2, chain.number(links, 2, chain.p[2])) == []


@pytest.mark.parametrize(
    ("names", "by_neighbours", "count"),
    [("vv", True, 1), ("", True, 1), ("vu", True, 2), ("v", True, 2), ("vv", False, 2)],
)
def test_elements_that_no_class_passes_on_together_are_one_if_they_have_one_name(
    names: str, by_neighbours: bool, count: int
) -> None:
    """Classes alternate: v_i = v_{i−1} a_i, and v_i = b_i + v_{i−1}. The base has name 0."""
    chain = Chain()
    v = [chain.a[0]]
    for i in range(1, LINKS):
        chain.step(i, "out")
        operands = (v[-1], chain.a[i]) if i % 2 else (chain.b[i], v[-1])
        v.append(chain.put("mul" if i % 2 else "add", *operands))
    for i, row in enumerate(v):
        symbol = names[i % 2 : i % 2 + 1]
        if symbol:
            chain.name(row, f"{symbol}_{i + 1}")
    program = chain.program(v[-1])
    links, classes = chain.links(program), (2, 0, 1, 0, 1)
    uniform = compare_links(program, links, classes, range(1, LINKS))
    sample: Any = SimpleNamespace(classes=classes, classes_by_neighbours=by_neighbours)
    run: Any = SimpleNamespace(program=program, names=chain.names)
    interface = Interface(sample, run, uniform, range(1, LINKS), at_rest=False)
    assert len(interface.elements[OUT]) == count
    passed = {label: interface.rows(OUT, label) for label in (-1, 0, 1)}
    rows = {label: chain.number(links, i, v[i]) for label, i in ((-1, 0), (0, 1), (1, 2))}
    assert all([row for row in passed[label] if row is not None] == [rows[label]] for label in rows)
    assert (passed[0] == passed[1] == [rows[0]]) == (count == 1)


# -- the base --------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [1, 2])
def test_the_base_passes_on_its_values_of_the_same_names(first: int) -> None:
    """If the middle begins at the first link, the places where that reads them decide."""
    chain = SumsAndProducts("swt" if first == 2 else "")
    interface, links, _, _ = chain.interface(first=first)
    assert interface.rows_of_base(OUT) == [
        chain.number(links, 0, chain.s[0]),
        chain.number(links, 0, chain.w[0]),
    ]


def test_a_value_without_a_name_cannot_come_from_the_base() -> None:
    with pytest.raises(NotUniform, match="that the base passes on in f by m has no name"):
        SumsAndProducts("st").interface(first=2)[0].rows_of_base(OUT)


@pytest.mark.parametrize("at_rest", [True, False])
def test_a_base_at_rest_may_have_other_values(at_rest: bool) -> None:
    """The first link reads a row of the base whose name no later link has: its value is zero if the
    base is at rest.
    """
    chain = SumsAndProducts()
    chain.names[chain.s[0]] = ["other_1"]
    interface, links, _, _ = chain.interface(first=2, at_rest=at_rest)
    if at_rest:
        assert interface.rows_of_base(OUT) == [None, chain.number(links, 0, chain.w[0])]
    else:
        with pytest.raises(NotUniform, match="the base passes on other values in f by m than"):
            interface.rows_of_base(OUT)


@pytest.mark.parametrize("at_rest", [True, False])
def test_arguments_of_a_base_at_rest_are_zero(at_rest: bool) -> None:
    """Each link reads the argument of the link before it, which has no name."""
    chain = SumsAndProducts("")
    sums = []
    for i in range(1, LINKS):
        chain.step(i, "out")
        sums.append(chain.put("add", chain.a[i - 1], chain.b[i]))
    interface, *_ = chain.interface(*sums, first=2, at_rest=at_rest)
    if at_rest:
        assert interface.rows_of_base(OUT) == [None]
    else:
        with pytest.raises(NotUniform, match="that the base passes on in f by m has no name"):
            interface.rows_of_base(OUT)


@pytest.mark.parametrize("first", [1, 2])
def test_the_base_reads_the_elements_that_links_read(first: int) -> None:
    chain = SumsAndProducts()
    interface, links, _, _ = chain.interface(first=first)
    assert interface.elements_into_base(IN) == {chain.number(links, 1, chain.t[1]): 0}


class TwoSums(SumsAndProducts):
    """Two totals inward, t_i and u_i = b_i + u_{i+1}, of which the base reads one."""

    def __init__(self, named: str, read: str) -> None:
        super().__init__(named)
        self.u = [-1] * LINKS
        for i in reversed(range(LINKS)):
            self.step(i, "sum")
            self.u[i] = self.put("add", self.b[i], self.u[i + 1]) if i + 1 < LINKS else self.b[i]
            if "u" in named:
                self.name(self.u[i], f"u_{i + 1}")
        self.results = (self.t[0] if read == "t" else self.u[0], self.t[1], self.u[1])


@pytest.mark.parametrize("read", ["t", "u"])
def test_names_identify_the_elements_if_the_base_reads_fewer(read: str) -> None:
    chain = TwoSums("swtu", read)
    interface, links, _, _ = chain.interface(*chain.results)
    row = chain.number(links, 1, (chain.t if read == "t" else chain.u)[1])
    (element,) = interface.elements_into_base(IN).values()
    assert interface.elements_into_base(IN) == {row: element}
    assert interface.elements[IN][element] == interface.root((0, row))
    unnamed = TwoSums("sw", read)
    with pytest.raises(NotUniform, match="the base reads other values in f by m than links do"):
        unnamed.interface(*unnamed.results)[0].elements_into_base(IN)


# -- totals over all links -------------------------------------------------------------------------


def final_element(chain: SumsAndProducts, total: int, pivots: bool = False) -> tuple[int, int]:
    interface, links, _, _ = chain.interface(total)
    return interface.final_element(chain.number(links, 0, total), pivots)


def test_a_total_comes_from_the_first_link_through_sums_at_the_base() -> None:
    chain = SumsAndProducts()
    chain.step(0, "in")
    assert final_element(chain, chain.t[0]) == (IN, 0)
    assert final_element(chain, chain.put("add", chain.t[0], chain.a[0])) == (IN, 0)
    assert final_element(chain, chain.put("add", chain.p[0], chain.t[0])) == (IN, 0)


def test_a_product_with_a_total_is_no_total() -> None:
    """Nor is a sum of products of the value that comes from the first link."""
    chain = SumsAndProducts()
    chain.step(0, "in")
    product = chain.put("mul", chain.t[0], chain.a[0])
    twice = chain.put(
        "add", chain.put("mul", chain.a[0], chain.t[1]), chain.put("mul", chain.b[0], chain.t[1])
    )
    with_part = chain.put("add", chain.t[0], chain.put("mul", chain.a[0], chain.t[1]))
    local = chain.put("add", chain.t[0], chain.t[0])
    for row in (product, twice, with_part, local):
        with pytest.raises(NotUniform, match="a result of f by m is no sum and no product over"):
            final_element(chain, row)


def test_pivots_of_the_base_may_depend_on_links() -> None:
    chain = SumsAndProducts()
    chain.step(0, "in")
    pivot = chain.put("mul", chain.a[0], chain.t[1])
    assert final_element(chain, chain.put("add", chain.t[0], pivot), pivots=True) == (IN, 0)
    assert final_element(chain, chain.put("add", pivot, chain.t[0]), pivots=True) == (IN, 0)


# -- epilogues -------------------------------------------------------------------------------------


def epilogue(
    chain: SumsAndProducts, results: Sequence[int], negated: Sequence[int] = (), **facts: Any
) -> Epilogue:
    """Return the epilogue of results; `negated` are rows of the second link."""
    interface, links, uniform, program = chain.interface(*results)
    uniform = uniform._replace(negated={(0, chain.number(links, 2, row)) for row in negated})
    sample: Any = SimpleNamespace(
        classes=(1, *[0] * (LINKS - 1)),
        frame=None,
        widths={},
        first=[0, 2 * LINKS],
        at_rest=lambda: {"x": {0: Fraction(5), 1: Fraction(3)}},
        of_the_base=lambda element: Fraction(element),
    )
    sample.__dict__.update(facts)
    return build_epilogue(sample, program, uniform, range(1, LINKS - 1), interface, ["y"])


def results_of(made: Epilogue, *carry: int) -> list[Fraction]:
    (port,) = made.program.inputs
    assert (port.name, port.shape) == (FINAL_CARRY, (len(carry),))
    assert (made.program.function, made.program.method) == ("f", "m")
    return evaluate(made.program, {FINAL_CARRY: [Fraction(x) for x in carry]}, EXACT)["y"]


def test_an_epilogue_at_the_base_reads_what_comes_from_the_first_link() -> None:
    """With a_0 = 5 and b_0 = 3, t_0 is 15 + t_1."""
    chain = SumsAndProducts()
    chain.step(0, "in")
    third = chain.put("const", value=Fraction(1, 3))
    product = chain.put("mul", chain.t[0], chain.a[0])
    made = epilogue(chain, (product, third, chain.t[0]))
    assert made.elements == {IN: (0,)}
    assert results_of(made, 7) == [22 * 5, Fraction(1, 3), 22]
    assert [row.op for row in made.program.rows].count("add") == 1
    assert not any(row.name or row.step >= 0 for row in made.program.rows)


def test_arguments_of_a_base_at_rest_are_zero_if_no_number_is_given() -> None:
    chain = SumsAndProducts()
    made = epilogue(chain, (chain.t[0],), at_rest=dict)
    assert results_of(made, 7) == [7]


def test_an_epilogue_depends_on_no_argument_that_all_links_share() -> None:
    chain = SumsAndProducts()
    with pytest.raises(NotUniform, match="a result of f by m depends on 'x' itself"):
        epilogue(chain, (chain.t[0],), widths={"x": 0})


def test_a_result_of_another_link_has_no_epilogue() -> None:
    chain = SumsAndProducts()
    for facts in ({}, {"frame": "tool"}):
        with pytest.raises(NotUniform, match="is computed neither at the base nor at the frame"):
            epilogue(chain, (chain.t[2], chain.t[0]), **facts)


def test_an_epilogue_at_the_frame_reads_what_the_last_link_would_pass_on() -> None:
    """The product s_4 w_4 of the last link; values with the opposite sign are negated."""
    chain = SumsAndProducts("t")
    results = (chain.put("sub", chain.p[4], chain.s[4]), chain.p[4])
    made = epilogue(chain, results, frame="tool")
    assert made.elements == {OUT: (0, 1)}
    assert results_of(made, 2, 11) == [20, 22]
    assert results_of(epilogue(chain, results, [chain.s[2]], frame="tool"), 2, 11) == [-20, -22]
    assert results_of(epilogue(chain, results, [chain.w[2]], frame="tool"), 2, 11) == [-24, -22]
    later = epilogue(chain, (*results, chain.w[4]), frame="tool")
    assert results_of(later, 2, 11) == [20, 22, 11]


def test_a_row_with_the_name_of_one_that_is_passed_on_is_read() -> None:
    """The last link computes s_4 otherwise."""
    chain = SumsAndProducts()
    for name in ("s_5", "other_5"):
        with_name = SumsAndProducts()
        with_name.names.pop(with_name.s[4])
        with_name.step(4, "out")
        doubled = with_name.put("mul", with_name.s[3], with_name.s[3], name=name)
        result = with_name.put("add", doubled, with_name.w[4])
        if name == "s_5":
            made = epilogue(with_name, (result,), frame="tool")
            assert made.elements == {OUT: (0, 1)}
            assert results_of(made, 2, 11) == [13]
        else:
            with pytest.raises(NotUniform, match="depends on values of its neighbours"):
                epilogue(with_name, (result,), frame="tool")
    with pytest.raises(NotUniform, match="a result of f by m depends on 'x' itself"):
        epilogue(chain, (chain.put("mul", chain.s[4], chain.a[4]),), frame="tool")


def test_numbers_of_the_base_are_known_to_an_epilogue_at_the_frame() -> None:
    """The table ends before the number; of the links, it has no numbers."""
    chain = SumsAndProducts()
    result = chain.put("mul", chain.s[4], chain.a[4])
    interface, _, uniform, program = chain.interface(result)
    program = replace(program, inputs=(Port(PREPARED, (2 * LINKS,)),))
    for first, value in (([0, 8], 3 * 8), ([0, 9], None)):
        sample: Any = SimpleNamespace(
            classes=(1, *[0] * (LINKS - 1)),
            frame="tool",
            widths={},
            first=first,
            of_the_base=lambda element: Fraction(element),
        )
        request = (sample, program, uniform, range(1, LINKS - 1), interface, ["y"])
        if value is None:
            with pytest.raises(NotUniform, match="depends on 'prepared' itself"):
                build_epilogue(*request)
        else:
            assert results_of(build_epilogue(*request), 3) == [value]
