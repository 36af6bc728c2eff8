"""Recursion steps of a general link: P[i] in terms of P[i+1], on chains of like links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.cli import main
from symgen.description.loading import load
from symgen.inspection.canonical import Canonical, Quotient
from symgen.inspection.entries import layout
from symgen.inspection.general import steps as steps_module
from symgen.inspection.general.formulas import Affine
from symgen.inspection.general.request import chain_of
from symgen.inspection.general.steps import (
    EVERY_COMPONENT,
    EVERY_ENTRY,
    RECURSIONS,
    Recursion,
    Rule,
    Steps,
    pattern_of,
    rule_of,
    steps,
)
from symgen.inspection.multiangle import MultiAngle
from symgen.inspection.reading import FormulaOptions, read
from symgen.ir.program import Numbers, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.papers.blocks import zeros
from symgen.support.errors import RequestError
from tests.shared.bars import chain_of_bars
from tests.shared.robots_for_tests import BALLS, largest

BALL = Numbers(BALLS.constant, np.sin, np.cos, np.sqrt, np.log)
TOLERANCE = 1e-50
LINKS = 9
RULES = [
    (None if letter in recursion.results else recursion.method, letter, rule.offsets)
    for recursion in RECURSIONS
    for letter, rules in recursion.rules.items()
    for rule in rules
    if letter != recursion.unlisted
]
"""(method, letter, offsets) of each rule; the method of a result is None."""


def recursion_with(letter: str, method: str | None = None) -> Recursion:
    """Return the recursion that has the step of a letter."""
    return next(
        item for item in RECURSIONS if letter in item.rules and method in (None, item.method)
    )


@cache
def chain_of_kind(kind: str) -> Mechanism:
    """Return a chain of like links with full inertias; the first and last have other masses."""
    if kind == "masses":
        return load("planar_point_mass")
    robot = symgen.Robot(kind, gravity=(0, 0, "-9.81"))
    parent = "base"
    for i in range(4):
        turns_or_slides = ("revolute" if i else "prismatic") if kind == "slide first" else kind
        robot.body(
            f"link{i}",
            parent=parent,
            type=turns_or_slides,
            **({"pitch": "0.05"} if kind == "helical" else {}),
            axis=(0, 0, 1),
            xyz=("0.3", "-0.1", "0.2") if i else (0, 0, "0.5"),
            quaternion=(2, 1, 0, -1) if i else (1, 0, 0, 0),
            mass=("2.5", "1.5", "1.5", "0.7")[i],
            centre=("0.1", "0.05", "-0.2"),
            inertia=("0.11", "0.01", "-0.02", "0.13", "0.03", "0.17"),
        )
        parent = f"link{i}"
    return robot.build()


KINDS = ("masses", "revolute", "prismatic")


@cache
def step_of(kind: str, method: str | None, letter: str, offsets: tuple[int | None, ...]) -> Steps:
    indices = [Affine("j", 0) if offset is None else Affine("i", offset) for offset in offsets]
    request = f"{letter}[{','.join(map(str, indices))}]"
    return steps(chain_of_kind(kind), method, request, letter, indices)


def value_of(form: MultiAngle | Quotient, q: list[Any], entries: dict[str, Any]) -> Any:
    if isinstance(form, Quotient):
        return value_of(form.numerator, q, entries) / value_of(form.denominator, q, entries)
    return form.evaluate(q, (), (), entries, BALL)


def block_of(step: Steps, i: int, q: list[Any], inertia: np.ndarray[Any, Any] | None) -> Any:
    """Return the block of link i from the articulated-body inertia, or the wrench, of its
    neighbour.
    """
    entries = (
        {}
        if inertia is None
        else {f"entry_{r}_{c}": inertia[r, c] for r, c in step.pattern.symbols}
    )
    block = step.block(LINKS, i)
    values = [value_of(form, q, entries) for form in block.entries]
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(block.shape or (1, 1))


@cache
def blocks_of_method(
    kind: str, method: str | None, letter: str
) -> tuple[dict[tuple[int, ...], Any], list[Any]]:
    """Return the blocks of a letter as the method's Program computes them, and q."""
    links = chain_of(chain_of_kind(kind), LINKS, letter)
    generator = np.random.default_rng(7)
    q = [BALLS.array([Fraction(int(x), 1000)]) for x in generator.integers(-3000, 3000, LINKS)]
    if method is None:
        assert letter == "M"
        program = symgen.program(links, "mass_matrix", "newton_euler")
        (row_major,) = evaluate(program, {"q": q}, BALL).values()
        entries = [np.ravel(x)[:1].reshape(1, 1) for x in row_major]
        blocks = {(i, j): entries[LINKS * i + j] for i in range(LINKS) for j in range(LINKS)}
        return blocks, [x[0] for x in q]
    of_letter = layout(links, method, letter)
    (values,) = evaluate(of_letter.program, {"q": q}, BALL).values()
    position = {row: n for n, row in enumerate(of_letter.program.outputs[0].rows)}
    return {
        index: np.array(
            [
                [np.ravel(values[position[row]])[0] for row in rows]
                for rows in of_letter.rows(index)
            ],
            dtype=object,
        )
        for index in of_letter.blocks
    }, [x[0] for x in q]


@pytest.mark.parametrize(
    ("kind", "method", "letter", "offsets"),
    [
        pytest.param(
            kind, *rule, marks=pytest.mark.slow if (kind, rule[0]) == ("revolute", "udut") else ()
        )
        for kind in KINDS
        for rule in RULES
    ],
)
def test_the_steps_of_a_long_chain_give_the_blocks_of_the_method(
    kind: str, method: str | None, letter: str, offsets: tuple[int | None, ...]
) -> None:
    """The method's own Program of nine links is the judge: it shares nothing with the papers'
    operators.
    """
    if letter == "M" and None in offsets:
        compare_entries_with_carried_wrenches(kind)
    elif None in offsets:
        assert method is not None
        compare_blocks_of_two_links(kind, method, letter)
    else:
        compare_blocks_of_one_link(kind, method, letter, tuple(x or 0 for x in offsets))


def compare_blocks_of_two_links(kind: str, method: str, letter: str) -> None:
    """Compare each block of links i < j with the step from link i + 1, or from the wrench at link
    i.
    """
    step = step_of(kind, method, letter, (0, None))
    compared = 0
    with BALLS.working():
        expected, q = blocks_of_method(kind, method, letter)
        state = recursion_with(letter, method).state
        wrenches = expected if step.product else blocks_of_method(kind, method, step.state)[0]
        for i, j in combinations(range(LINKS), 2):
            if step.product:
                inertia = blocks_of_method(kind, method, state)[0][i + 1,]
                value = block_of(step, i, q[i : i + 2], inertia)
                if i + 1 < j:
                    value = value @ expected[i + 1, j]
            else:
                wrench = wrenches[i + step.offset, j]
                value = block_of(step, i, q[i : i + 2], wrench)
            assert largest(value - expected[i, j]) < TOLERANCE
            compared += 1
    assert compared == LINKS * (LINKS - 1) // 2


def compare_entries_with_carried_wrenches(kind: str) -> None:
    """Compare M[i,j], i < j, with what the three printed equations give: the wrench f[j,j] of the
    composite inertia of link j, its steps inward, and its product with p_i.
    """
    entry = step_of(kind, None, "M", (0, None))
    carried, start = entry.below
    assert [item.label for item in (entry, carried, start)] == ["M[i,j]", "f[i,j]", "f[j,j]"]
    with BALLS.working():
        expected, q = blocks_of_method(kind, None, "M")
        inertias = blocks_of_method(kind, "udut", start.state)[0]
        for j in range(1, LINKS):
            wrench = block_of(start, j, q[j : j + 2], inertias[j,])
            for i in reversed(range(j)):
                wrench = block_of(carried, i, q[i : i + 2], wrench)
                value = block_of(entry, i, q[i : i + 2], wrench)
                assert largest(value - expected[i, j]) < TOLERANCE


def compare_blocks_of_one_link(
    kind: str, method: str | None, letter: str, offsets: tuple[int, ...]
) -> None:
    """Compare the block of each link with the step from its neighbour's inertia."""
    with BALLS.working():
        expected, q = blocks_of_method(kind, method, letter)
        recursion = recursion_with(letter, method)
        inertia_step = step_of(kind, recursion.method, recursion.state, (0,))
        step = step_of(kind, method, letter, offsets)
        inertia: Any = None
        compared = 0
        for i in reversed(range(LINKS)):
            neighbour = inertia
            inertia = block_of(inertia_step, i, q[i : i + 2], neighbour)
            if i + offsets[-1] == LINKS:
                continue
            named = neighbour if step.offset else inertia
            value = block_of(step, i, q[i : i + 2], named)
            block = expected[tuple(i + offset for offset in offsets)]
            assert largest(value - block) < TOLERANCE
            compared += 1
        assert compared == LINKS - offsets[-1]


def test_entries_of_point_masses_are_named_once() -> None:
    """Out-of-plane couplings vanish, and a point mass has no moment of inertia about itself."""
    step = step_of("masses", "riccati", "P", (0,))
    assert step.pattern.symbols == [
        (0, 0), (0, 1), (0, 5), (1, 1), (1, 5), (2, 2), (2, 3), (3, 3), (5, 5),
    ]  # fmt: skip
    assert step.pattern.equal == ("[2,4] = [2,2]", "[3,4] = [2,3]", "[4,4] = [2,2]")
    assert "proved by induction" in step.notation


def test_a_pattern_that_the_step_does_not_keep_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The inertia of one body has more zeros than the articulated one."""
    monkeypatch.setattr(steps_module, "pattern_of", lambda matrices: pattern_of(matrices[:1]))
    links = chain_of(chain_of_kind("masses"), steps_module.SAMPLED, "P[i]")
    assert steps_module.Stepping(links, recursion_with("P")).pattern == EVERY_ENTRY


def test_signs_and_zeros_of_a_pattern() -> None:
    matrix = zeros(6, 6)
    matrix[0, 0], matrix[1, 1], matrix[0, 1], matrix[1, 0] = 2, -2, 3, 3
    pattern = pattern_of([matrix])
    assert pattern.symbols == [(0, 0), (0, 1)]
    assert pattern.equal == ("[1,1] = -[0,0]",)
    assert pattern.holds(matrix)
    matrix[1, 0] = 4
    assert not pattern.holds(matrix)
    assert EVERY_ENTRY.zero == EVERY_ENTRY.equal == ()
    assert len(EVERY_ENTRY.symbols) == 21
    assert EVERY_COMPONENT.symbols == [(row, 0) for row in range(6)]


@pytest.mark.parametrize(
    ("method", "letter", "planted"),
    [
        ("riccati", "P", lambda o: o.links[0].inertia + o.articulated(1).P),
        ("riccati", "G", lambda o: -o.articulated(0).G),
        ("riccati", "psi", lambda o: o.steps[1]),
        ("udut", "alpha", lambda o: o.p(0) @ o.psi(0, 1)),
        ("riccati", "psi[i,j]", lambda o: o.steps[1]),
        ("udut", "psihat[i,j]", lambda o, wrench: o.move_inward(wrench) * 2),
        ("udut", "U[i,j]", lambda o, wrench: o.p(0) @ wrench),
        ("udut", "Mtilde", lambda o: o.in_link_axes(0, o.extended_mass(0) + o.composite(1))),
        (None, "M", lambda o: o.p(0) @ o.composite(0) @ o.p(0) * 2),
        (None, "M[i,j]", lambda o, wrench: o.p(0) @ wrench),
        (None, "f[i,j]", lambda o, wrench: -o.move_inward(wrench)),
    ],
)
def test_a_wrong_step_differs_from_the_method(
    method: str | None, letter: str, planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter, _, indices = letter.partition("[")
    recursion = recursion_with(letter, method)
    rules = list(recursion.rules[letter])
    position = -1 if indices else 0
    rule = rules[position]
    rules[position] = replace(rule, block=planted)
    monkeypatch.setitem(recursion.rules, letter, tuple(rules))
    step_of.cache_clear()
    steps_module._stepping.cache_clear()
    try:
        with pytest.raises(AssertionError):
            test_the_steps_of_a_long_chain_give_the_blocks_of_the_method(
                "masses", method, "M" if letter == "f" else letter, rule.offsets
            )
    finally:
        step_of.cache_clear()
        steps_module._stepping.cache_clear()


@pytest.mark.parametrize(
    ("request_text", "method", "text"),
    [
        ("D[i]", "riccati", "D[i] = P[i][2,2]"),
        ("D[k]", "udut", "D[k] = Mhat[k][4,4]"),
        (
            "U[i,i+1]",
            "udut",
            "U[i,i+1] = (Mhat[i+1][4,4] + Mhat[i+1][4,4]*cos(q[i+1])"
            " + Mhat[i+1][3,4]*sin(q[i+1]))/Mhat[i+1][4,4]",
        ),
        ("U[i,j]", "udut", "U[i,j] = psihat[i,j][2] + psihat[i,j][4]    for i < j"),
        ("U[k,n-1]", "udut", "U[k,n-1] = psihat[k,n-1][2] + psihat[k,n-1][4]    for k < n-1"),
        ("alpha[i,i+2]", "udut", "alpha[i,i+2] = psihat[i,i+2][2] + psihat[i,i+2][4]"),
        ("alpha[i,i+4]", "udut", "alpha[i,i+4] = psihat[i,i+4][2] + psihat[i,i+4][4]"),
        ("U[i,j+2]", "udut", "U[i,j+2] = psihat[i,j+2][2] + psihat[i,j+2][4]    for i < j+2"),
        ("M[i,i]", None, "M[i,i] = -2*Mtilde[i][1,5] + Mtilde[i][2,2] + Mtilde[i][3,3]"),
    ],
)
def test_steps_of_point_masses(request_text: str, method: str | None, text: str) -> None:
    recursive = FormulaOptions("recursive")
    reading = read(chain_of_kind("masses"), request_text, method, recursive)
    assert isinstance(reading.value, Steps)
    assert str(reading.value) == text
    assert "n ≥ 3 links" in reading.notes[0]


@pytest.mark.parametrize(
    ("request_text", "method", "note"),
    [
        ("D[i]", "riccati", "request 'P[i]' with --method riccati for the step of P"),
        ("P[i]", "riccati", ""),
        ("psi[i,j]", "riccati", "request 'P[i]' with --method riccati for the step of P"),
        (
            "U[i,j]",
            "udut",
            "the recursion starts at psihat[j,j]; request 'psihat[i,i]' with --method udut for it,"
            " and 'psihat[i,j]' for its step",
        ),
        (
            "psihat[i,j]",
            "udut",
            "the recursion starts at psihat[j,j]; request 'psihat[i,i]' with --method udut for it",
        ),
    ],
)
def test_a_note_names_the_request_for_what_a_step_is_computed_from(
    request_text: str, method: str | None, note: str
) -> None:
    reading = read(chain_of_kind("masses"), request_text, method, FormulaOptions("recursive"))
    assert reading.notes[2:] == ((note,) if note else ())


def test_blocks_of_two_links_are_shown_as_a_product() -> None:
    recursive = FormulaOptions("recursive")
    reading = read(chain_of_kind("masses"), "psi[i,j]", "riccati", recursive)
    first, *lines = str(reading.value).splitlines()
    assert first == "psi[i,j] = psi[i,i+1]*psi[i+1,j]    for i < j"
    assert "psi[i,i+1][3,3] = cos(q[i+1])" in lines
    assert r"\psi_{i,j} &= \psi_{i,i+1} \psi_{i+1,j} && i < j" in reading.value.text("latex")
    assert "symbols in place of P[i+1]" in reading.notes[0]
    between = read(chain_of_kind("masses"), "psi[k,k+2]", "riccati", recursive)
    assert str(between.value).splitlines()[0] == "psi[k,k+2] = psi[k,k+1]*psi[k+1,k+2]"


def test_components_of_wrenches_that_stay_zero_are_found_by_induction() -> None:
    """Out of the plane nothing acts; a wrench of the spatial chain has all six components."""
    step = step_of("masses", "udut", "psihat", (0, None))
    assert step.pattern.zero == ("[0]", "[1]", "[5]")
    assert "proved by induction from link j" in step.notation
    spatial = step_of("revolute", "udut", "psihat", (0, None))
    assert spatial.pattern == EVERY_COMPONENT
    assert "i < j" not in spatial.notation  # the equation says so
    in_cases = replace(spatial, cases=((Affine("", 0), spatial.cases[0][1]), *spatial.cases))
    assert in_cases.notation.endswith("; all cases are for i < j")
    assert r"[\hat{\psi}_{i+1,j}]_{4}" in step.text("latex")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["slide first", "helical"])
@pytest.mark.parametrize("offsets", [(0, 0), (0, 1), (0, None)], ids=str)
def test_entries_of_chains_with_other_joints_follow_from_their_steps(
    kind: str, offsets: tuple[int | None, ...]
) -> None:
    """The first joint may be of another kind than the others: its p_0 is in a case of its own."""
    test_the_steps_of_a_long_chain_give_the_blocks_of_the_method(kind, None, "M", offsets)


def test_an_entry_of_a_spatial_chain_is_shown_with_the_steps_of_its_wrench() -> None:
    reading = read(chain_of_kind("prismatic"), "M[i,n-1]", None, FormulaOptions("recursive"))
    assert isinstance(reading.value, Steps)
    lines = str(reading.value).splitlines()
    assert lines[0] == "M[i,n-1] = f[i,n-1][5]    for i < n-1"
    assert lines[1] == "for i < n-1:"
    assert lines[5] == "f[i,n-1][3] = 2/3*f[i+1,n-1][3] + 2/3*f[i+1,n-1][4] - 1/3*f[i+1,n-1][5]"
    assert lines[8:10] == ["f[j,j] =", "⎡Mtilde[j][0,5]⎤"]
    notes = " ".join(reading.notes)
    assert "f[i,n-1][r] is a component of the wrench for an acceleration of 1 of joint n-1" in notes
    assert "request 'Mtilde[i]' with --method udut" in notes
    assert r"f_{j,j} &= " in reading.value.text("latex")


# -- texts of steps that are given -----------------------------------------------------------------


def wave(sine: bool = False, q0: int = 0, q1: int = 1, **symbols: int) -> MultiAngle:
    """Return the product of symbols and the cosine or sine of multiples of two angles."""
    monomial = tuple(sorted(symbols.items()))
    return MultiAngle.of({(((q0, q1), sine), monomial): Fraction(1)})


ZERO = MultiAngle(())


def steps_of(blocks: Mapping[Any, list[MultiAngle]], columns: int = 1, **fields: Any) -> Steps:
    """Return the step of P[i] from P[i+1], with blocks of that many columns, or of one number."""
    cases = []
    for link, entries in blocks.items():
        shape = () if len(entries) == 1 else (len(entries) // columns, columns)
        cases.append((link, Canonical("P[i]", shape, tuple(entries))))
    usual: dict[str, Any] = {
        "label": "P[i]",
        "variable": "i",
        "state": "P",
        "offset": 1,
        "pattern": EVERY_ENTRY,
        "method": "riccati",
        "source": "a paper",
        "reach": 0,
    }
    return Steps(cases=tuple(cases), **usual | fields)


def test_symbols_of_a_step_are_written_with_the_indices_of_their_links() -> None:
    form = wave(q0=1, q1=2, entry_2_3=1)
    text, formula = (steps_of({None: [form]}).text(format) for format in ("text", "latex"))
    assert text == "P[i] = P[i+1][2,3]*cos(q[i] + 2*q[i+1])"
    assert r"P_{i} &= [P_{i+1}]_{2,3} \cos\left(q_{i} + 2 q_{i+1}\right)" in formula
    here = steps_of({None: [form]}, variable="k", label="D[k]", offset=0)
    assert here.text() == "D[k] = P[k][2,3]*cos(q[k] + 2*q[k+1])"
    carried = steps_of(
        {None: [wave(q0=1, q1=0, entry_4_0=1)]}, pattern=EVERY_COMPONENT, state="f", last="j"
    )
    assert carried.text() == "P[i] = f[i+1,j][4]*cos(q[i])    for i < j"
    assert r"[f_{i+1,j}]_{4} \cos" in carried.text("latex")


def test_conditions_stand_behind_the_equations_of_a_step() -> None:
    """Links of their own come first; a step of any two links is for the first before the second."""
    blocks = {Affine("n", -1): [wave(q1=0)], None: [wave()]}
    step = steps_of(blocks)
    assert step.text() == "P[i] = 1    for i = n-1\nP[i] = cos(q[i+1])    otherwise"
    assert step.text("latex") == (
        "\\begin{aligned}\nP_{i} &= 1 && i = n-1 \\\\\n"
        "P_{i} &= \\cos\\left(q_{i+1}\\right) && \\text{otherwise}\n\\end{aligned}"
    )
    single = {None: [wave()]}
    assert steps_of(single, last="j").text() == "P[i] = cos(q[i+1])    for i < j"
    assert steps_of(single, last="i+2").text() == "P[i] = cos(q[i+1])"
    assert steps_of(blocks, last="j").order == "i < j"
    product = steps_of(
        single, label="psi[i,i+1]", last="j", product="psi[i,j] = psi[i,i+1]*psi[i+1,j]"
    )
    assert product.text().splitlines() == [
        "psi[i,j] = psi[i,i+1]*psi[i+1,j]    for i < j",
        "psi[i,i+1] = cos(q[i+1])",
    ]
    both = replace(product, below=(step,))
    assert both.text().splitlines()[2:] == step.text().splitlines()


def long_entry(count: int) -> MultiAngle:
    """Return a sum of cosines, cos(q[i+1]) + cos(2*q[i+1]) + …"""
    return MultiAngle.of({(((0, k), False), ()): Fraction(1) for k in range(1, count + 1)})


def test_a_matrix_that_is_too_wide_is_written_as_one_equation_per_entry() -> None:
    """The widest entries of both columns count: 12 characters and 12 + 16 (m - 1). LaTeX is
    measured by what is visible, ten characters for a cosine and one for a plus.
    """

    def texts(first: int, m: int) -> tuple[list[str], list[str]]:
        entries = [long_entry(first), ZERO, ZERO, long_entry(m)]
        step = steps_of({None: entries}, 2, state="M")
        lines = step.text("latex").splitlines()[1:-1]
        return step.text().splitlines(), [line.removesuffix(r" \\") for line in lines]

    for m, in_rows, formulas in ((5, 3, 1), (6, 2, 1), (12, 2, 2)):
        text, formula = texts(1, m)
        assert len(text) == in_rows
        assert len(formula) == formulas
    for lines, starts in zip(
        texts(5, 6),
        (
            ("P[i][0,0] = cos", "P[i][1,1] = cos"),  # zeros are left out
            (r"[P_{i}]_{0,0} &= \cos", r"[P_{i}]_{1,1} &= \cos"),
        ),
        strict=True,
    ):
        assert len(lines) == 2
        assert all(line.startswith(start) for line, start in zip(lines, starts, strict=True))


def test_equations_of_entries_stand_below_the_condition_of_their_case() -> None:
    """Entries of the letter itself that equal others are left out; a column has one index."""
    wide = [long_entry(15), long_entry(15)]
    column = steps_of({Affine("n", -1): wide, None: wide}, state="f")
    lines = column.text().splitlines()
    assert [line for line in lines if line.endswith(":")] == ["for i = n-1:", "otherwise:"]
    assert [line.partition(" = ")[0] for line in lines[1:3]] == ["P[i][0]", "P[i][1]"]
    formula = column.text("latex").splitlines()
    assert formula[1] == r"& \text{for i = n-1:} \\"
    assert formula[4] == r"& \text{otherwise:} \\"
    equal = pattern_of([np.array([[Fraction(x)] for x in (1, 1, 2, 3, 4, 5)], dtype=object)])
    named = steps_of({None: wide}, label="f[i]", state="f", pattern=equal, last="j")
    assert [line.partition(" = ")[0] for line in named.text().splitlines()] == [
        "for i < j:", "f[i][0]"
    ]  # fmt: skip
    product = replace(named, product="f[i,j] = f[i,i+1]*f[i+1,j]")
    assert len(product.text().splitlines()) == 3


def test_the_notation_of_a_step_lists_the_entries_that_are_not_named() -> None:
    matrix = zeros(6, 6)
    matrix[0, 0], matrix[1, 1] = 2, -2
    inertia, wrench = pattern_of([matrix]), pattern_of([matrix[:, :1]])
    matrix[:] = np.arange(2, 38).reshape(6, 6)
    matrix[0, 0] = matrix[1, 1]
    equal = pattern_of([matrix])
    single = {None: [wave()]}
    step = steps_of(single, pattern=inertia)
    assert step.notation.startswith(
        "P[i+1][r,c] is an entry of that block, which is symmetric; the"
    )
    assert "[5,5] of P[i+1] are zero; [1,1] = -[0,0]; this is proved by" in step.notation
    assert step.notation.endswith("induction from the last link")
    assert "in P[i+1], [1,1] = [0,0]; this is proved" in steps_of(single, pattern=equal).notation
    assert steps_of(single).notation.endswith("symmetric")
    carried = steps_of(single, pattern=wrench, state="f", last="j")
    assert carried.notation == (
        "f[i+1,j][r] is a component of that wrench; the entries [1], [2], [3], [4], [5] of f[i+1,j]"
        " are zero; this is proved by induction from link j"
    )
    above = replace(carried, label="M[i,j]", offset=0, below=(carried, step))
    texts = above.notation.split("; ")
    assert texts[0].startswith("f[i,j][r] is a component of the wrench for an acceleration of 1")
    assert texts[0].endswith("joint j, with the links from j on as one body")
    assert sum("of f[i,j] are zero" in text for text in texts) == 0
    assert sum("of f[i+1,j] are zero" in text for text in texts) == 1
    both = replace(carried, cases=2 * carried.cases)
    assert both.notation.endswith("; all cases are for i < j")
    assert "all cases" not in replace(both, last="i+2").notation


def test_blocks_of_links_outside_the_chain_are_refused() -> None:
    """Three links are the shortest chain, and the last `reach` links have no block."""
    step = steps_of({Affine("n", -1): [wave(q1=0)], None: [wave()]})
    assert [str(step.block(3, i)) for i in range(3)] == ["cos(q1)", "cos(q1)", "1"]
    for n, i, reach in ((2, 0, 0), (3, 3, 0), (3, -1, 0), (3, 2, 1)):
        refused = replace(step, reach=reach)
        bound = "n - 1" if reach else "n"
        with pytest.raises(RequestError, match=rf"take n ≥ 3 and 0 ≤ i < {bound}$"):
            refused.block(n, i)
    assert str(replace(step, reach=1).block(3, 1)) == "cos(q1)"


def test_a_rule_fits_the_indices_that_it_is_for() -> None:
    """A second link beyond the first may be another letter, or the first plus more than zero."""
    i, n = Affine("i", 0), Affine("n", -1)
    between = Rule((0, None), True, len)
    for second in (Affine("j", 0), Affine("i", 2), n):
        assert between.fits([i, second])
    for indices in ([i], [i, i], [i, Affine("i", -1)], [Affine("i", 1), Affine("j", 0)]):
        assert not between.fits(indices)
    neighbour = Rule((0, 1), True, len)
    assert neighbour.fits([i, Affine("i", 1)])
    for second in (i, Affine("j", 1), Affine("i", 2)):
        assert not neighbour.fits([i, second])


def test_a_letter_has_a_rule_by_its_own_method_only() -> None:
    i = Affine("i", 0)
    assert rule_of("riccati", "P", [i]) is not None
    assert rule_of("riccati:parallel", "P", [i]) is not None
    assert rule_of(None, "M", [i, i]) is not None
    for method, letter, indices in (
        ("udut", "P", [i]), (None, "P", [i]), ("udut", "M", [i, i]), ("udut", "f", [i, i]),
        (None, "f", [i, i]), ("riccati", "P", []), ("riccati", "P", [Affine("n", -1)]),
        ("riccati", "P", [Affine("", 2)]), ("riccati", "P", [Affine("i", 1)]),
    ):  # fmt: skip
        assert rule_of(method, letter, indices) is None


def test_the_product_of_a_pattern_and_its_values_is_symmetric() -> None:
    matrix = zeros(6, 6)
    matrix[0, 0], matrix[0, 1], matrix[1, 0], matrix[2, 3], matrix[3, 2] = 2, 5, 5, -5, -5
    pattern = pattern_of([matrix])
    assert pattern.symbols == [(0, 0), (0, 1)]
    assert pattern.columns == 6
    assert (pattern.matrix({(0, 0): 2, (0, 1): 5}) == matrix).all()
    column = pattern_of([matrix[:, :1]])
    assert column.columns == 1
    assert column.symbols == [(0, 0), (1, 0)]
    assert column.zero == ("[2]", "[3]", "[4]", "[5]")
    assert (column.matrix({(0, 0): 2, (1, 0): 5}) == matrix[:, :1]).all()
    assert column.holds(matrix[:, :1])
    assert not column.holds(matrix[:, 3:4])


def test_texts_of_steps_are_in_two_formats() -> None:
    step = steps_of({None: [wave()]})
    with pytest.raises(RequestError, match="steps are written as text or latex; write numbers"):
        step.text("python")
    assert str(step) == step.text()
    assert step._repr_latex_() == f"$\\displaystyle {step.text('latex')}$"
    long = steps_of({None: [long_entry(30)]})
    assert "more terms" in long.text()
    assert "more terms" not in long.text(full=True)


def test_a_number_is_not_split_into_entries_however_long_it_is() -> None:
    text = str(step_of("revolute", None, "M", (0, 1)))
    assert len(text) > steps_module.WIDEST
    assert text.startswith("M[i,i+1] = ")


def test_a_letter_without_a_closed_formula_is_shown_as_a_step() -> None:
    reading = read(chain_of_kind("masses"), "G[i]", "riccati")
    assert isinstance(reading.value, Steps)
    assert (
        "a recursion step is shown, because the canonical form of G[0] has more"
        in reading.notes[-1]
    )
    assert "P[i][2,3]/P[i][2,2]" in str(reading.value)


def test_the_step_of_an_articulated_body_has_its_entries_line_by_line() -> None:
    text = str(step_of("masses", "riccati", "P", (0,)))
    assert text.startswith("P[i] =    for i = n-1\n⎡0  0   0  0  0  0 ⎤")
    _, lines = text.split("otherwise:\n")
    assert "P[i][5,5] = 1 + P[i+1][5,5]" in lines.splitlines()
    assert not any(line.startswith("P[i][4,4]") for line in lines.splitlines())
    latex = step_of("masses", "riccati", "P", (0,)).text("latex")
    assert r"[P_{i}]_{5,5} &= 1 + [P_{i+1}]_{5,5}" in latex
    assert "entry" not in latex + text
    assert r"q_{i+1}" in latex


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["c[i]", "--form", "recursive"],
         "'c[i]' has no recursion step that could be shown; there are: P[i] of"),
        (["P[i+1]", "--form", "recursive"], "has no recursion step that could be shown"),
        (["P[i]", "--form", "closed"], "leave --form out or take --form recursive"),
        (["D[i]", "--form", "recursive", "--format", "c"],
         "recursion steps are written as text or latex"),
    ],
)  # fmt: skip
def test_requests_without_a_step_are_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", "planar_point_mass", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("robot", "message"),
    [
        (lambda: load("scara"), "has another joint than link"),
        (lambda: load("quadruped"), "no serial chain"),
        (lambda: chain_of_bars(3, armature="0.1").build(drives=("armature",)), "has drives"),
        (lambda: chain_of_bars(3, rpy=("0.7", 0, 0)).build(), "has irrational rotations"),
    ],
)
def test_robots_whose_links_differ_or_have_drives_or_irrational_rotations_have_no_step(
    robot: Any, message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        read(robot(), "P[i]", "riccati", FormulaOptions("recursive"))


def test_python_returns_steps_and_warns_that_no_closed_formula_is_shown() -> None:
    with pytest.warns(symgen.SymgenWarning, match="a recursion step is shown"):
        value = symgen.inspect("planar_point_mass", "G[i]", "riccati")
    assert isinstance(value, Steps)
    assert value.block(n=50, i=3) == value.block(n=7, i=0)
    for n, i in ((2, 0), (7, 7), (7, -1)):
        with pytest.raises(RequestError, match=f"no block for n = {n} and i = {i}; take n ≥ 3"):
            value.block(n=n, i=i)
    step = step_of("masses", "udut", "alpha", (0, 1))
    with pytest.raises(RequestError, match="0 ≤ i < n - 1"):
        step.block(n=7, i=6)
    assert str(value.block(n=50, i=3).entries[3]) == "entry_2_3/entry_2_2"
