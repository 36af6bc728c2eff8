"""The chapters on the papers: complete tables, commands that print, current pictures, errors in the
printed texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgen
from symgen.cli import main
from symgen.papers.identities import PAPERS, paper
from tests import book_tables, paper_pictures, paper_tables
from tests.shared.doc_samples import samples

CHAPTERS = paper_tables.CHAPTERS


def page_of(name: str) -> str:
    return (paper_tables.FOLDER / CHAPTERS[name].page).read_text(encoding="utf-8")


# -- tables ----------------------------------------------------------------------------------------


def test_every_paper_has_a_chapter_that_two_pages_link_to() -> None:
    assert set(CHAPTERS) == set(PAPERS)
    how_to = (paper_tables.DOCS / "how-to" / "papers.md").read_text(encoding="utf-8")
    mathematics = paper_tables.ERRORS_PAGE.read_text(encoding="utf-8")
    for chapter in CHAPTERS.values():
        assert f"](../explanation/papers/{chapter.page})" in how_to
        assert f"](papers/{chapter.page})" in mathematics


@pytest.mark.parametrize("name", PAPERS)
def test_the_tables_have_every_equation_once_and_in_order(name: str) -> None:
    shown = [
        equation.number
        for key in CHAPTERS[name].sections
        for equation in paper_tables.section(name, key)
    ]
    assert shown == [equation.number for equation in paper(name).EQUATIONS]
    page = page_of(name)
    for number in shown:
        assert page.count(f"\n| {number}<br>") == 1, number
    for key in CHAPTERS[name].sections:
        assert f"<!-- table: {key} -->" in page


def test_a_table_names_each_letter_where_it_appears_first() -> None:
    text = book_tables.TABLES["rk factorization"]()
    assert "`symgen inspect planar_arm 'P[0]' --method riccati`" in text
    assert text.count("'L[1]'") == 1
    assert "'H[0]'" not in text  # (3.12), in the section before


def commands_of(name: str) -> list[str]:
    """Return the commands of all letters of a paper's tables."""
    letters = dict.fromkeys(
        letter for equation in paper(name).EQUATIONS for letter in equation.letters
    )
    return [paper_tables.command(name, letter) for letter in letters]


@pytest.mark.slow
@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize("name", PAPERS)
def test_every_command_of_the_tables_prints_a_block_that_is_not_zero(
    name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for sample in samples(page_of(name)):
        if sample.file is not None:
            (tmp_path / sample.file).write_text(sample.text, encoding="utf-8")
    commands = commands_of(name)
    assert len(commands) > 5
    for typed in commands:
        assert f"`{typed}`" in page_of(name)
        words = typed.replace("'", "").split()
        assert main([*words[1:], "-q"]) == 0, typed
        assert set(capsys.readouterr().out) - set("⎡⎢⎣⎤⎥⎦[] 0\n"), f"{typed} prints zeros"


def test_variables_are_read_from_the_lines_of_the_c(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "a_forward_dynamics.c:3-4:\n    const double P_1 = 2.0*x;\n    P_2 = P_1;\n"
        "a_step.c:9:\n    out[3] = P_2;\n"
    )
    monkeypatch.setattr(paper_tables, "where", lambda *_: (text, ()))
    assert paper_tables.variables("rk", "P") == {
        "a_forward_dynamics.c": ["P_1", "P_2"],
        "a_step.c": ["out[3]"],
    }
    assert paper_tables.variables("rk", "innovations") == {}  # the method derives no such letter


def test_the_marks_of_motion_are_those_of_the_tests() -> None:
    (symbols, motion) = CHAPTERS["rk"].checks[2:]
    for equation in paper("rk").EQUATIONS:
        assert symbols.computes(equation.number) is not motion.computes(equation.number)


def test_bars_of_a_statement_do_not_end_a_cell() -> None:
    assert paper_tables.tex(r"|i-j| > 2") == r"\vert i-j\vert  > 2"
    statements = [equation.statement for name in PAPERS for equation in paper(name).EQUATIONS]
    assert any("|" in statement for statement in statements)
    lines = book_tables.TABLES["lc blocks"]().splitlines()  # (24) has bars
    assert len({line.count("|") for line in lines}) == 1


# -- errors in the printed texts -------------------------------------------------------------------


@pytest.mark.parametrize("name", PAPERS)
def test_every_corrected_equation_is_in_the_table_of_errors(name: str) -> None:
    for equation in paper(name).EQUATIONS:
        if equation.corrected:
            assert paper_tables.errors_of(name, equation.number), equation.number


def test_a_missing_row_of_the_table_of_errors_is_seen() -> None:
    text = paper_tables.ERRORS_PAGE.read_text(encoding="utf-8")
    without = "\n".join(line for line in text.splitlines() if not line.startswith("| RK (4.16)"))
    assert paper_tables.errors_of("rk", "(4.16)", text)
    assert not paper_tables.errors_of("rk", "(4.16)", without)


def test_a_number_is_found_in_its_own_paper_and_as_a_whole() -> None:
    page = (
        f"{paper_tables.ERRORS_HEADING}\n\n"
        "| where | printed | what holds | proved by |\n|---|---|---|---|\n"
        "| LC (4), (7), (23) | a | b | `papers/test_lc::test_x` |\n"
        "| WC, single body: M(q) | a | b | a misprint |\n"
    )
    assert paper_tables.errors_of("lc", "(7)", page) == [
        ("LC (4), (7), (23)", "`papers/test_lc::test_x`")
    ]
    assert paper_tables.errors_of("wc", "M(q)", page)
    assert not paper_tables.errors_of("wc", "(7)", page)
    assert not paper_tables.errors_of("lc", "(3)", page)
    assert not paper_tables.errors_of("wc", "(q)", page)


# -- formulas of the text --------------------------------------------------------------------------

ELSEWHERE = {
    ("rk", "(4.5)"): "the sample of the page at 90 degrees",
    ("rk", "(5.16)"): "(5.14), whose right side is this filter",
    **{
        ("rk", number): "papers/test_rk_two_sweeps, on every robot"
        for number in ("(Q1)", "(Q2)", "(Q3)", "(Q4)", "(Q5-Q7)")
    },
}
"""Numbered formulas of the text that are no equation of the table, and what checks them."""


def without_layout(latex: str) -> str:
    """Return LaTeX without spaces, sizes of brackets, braces and marks of alignment."""
    return re.sub(
        r"\\\\|\\(?:begin|end)\{aligned\}|\\(?:[Bb]igg?[lr]?|left|right|textstyle)(?![a-z])|"
        r"\\[,;!]|\\q?quad|[\s{}&]",
        "",
        latex,
    )


def equations_of(latex: str) -> list[str]:
    """Return the equations of a formula, which `\\quad` separates."""
    return [
        equation.strip(",")
        for equation in map(without_layout, re.split(r"\\q?quad|\\\\|\\;", latex))
        if equation
    ]


def tagged_formulas(name: str) -> list[tuple[str, str]]:
    """Return (number, formula) of the numbered formulas in the text of a chapter."""
    formulas = re.findall(r"\$\$(.*?)\\tag\{([^}]*)\}\$\$", page_of(name), re.S)
    return [(f"({number})", latex) for latex, tag in formulas for number in tag.split(", ")]


def agrees(latex: str, statement: str) -> bool:
    """True if a formula has an equation of a statement, or the first sides of a longer one."""
    return any(equation in without_layout(latex) for equation in equations_of(statement)) or any(
        without_layout(statement).startswith(equation) for equation in equations_of(latex)
    )


@pytest.mark.parametrize("name", ["rk", "sa", "lc", "wc"])
def test_numbered_formulas_of_the_text_are_equations_that_the_tests_check(name: str) -> None:
    statements = {equation.number: equation.statement for equation in paper(name).EQUATIONS}
    tagged = tagged_formulas(name)
    assert len(tagged) >= 5
    for number, latex in tagged:
        if (name, number) not in ELSEWHERE:
            assert agrees(latex, statements[number]), (number, latex)


def test_a_changed_formula_of_the_text_is_seen() -> None:
    statement = r"\hat M_{ik} = \tilde M_i - P,\quad \psi = B"
    assert agrees(r"\hat{M}_{ik} = \tilde M_i - P", statement)
    assert agrees(r"x = 1, \qquad \psi = B", statement)
    assert not agrees(r"\hat M_{ik} = \tilde M_i + P, \qquad \psi = C", statement)


# -- worked examples -------------------------------------------------------------------------------


def test_the_bars_move_in_the_plane_as_the_planar_arm_does() -> None:
    """`two_bars.toml` is one robot in both chapters, with the M, c and g of `planar_arm`."""
    texts = {
        sample.text
        for name in ("wc", "ff")
        for sample in samples(page_of(name))
        if sample.file == "two_bars.toml"
    }
    assert len(texts) == 1
    bars = paper_tables.robot("wc")
    for quantity in ("M", "c", "g"):
        difference = symgen.inspect(bars, quantity) - symgen.inspect("planar_arm", quantity)
        assert all(sp.simplify(entry) == 0 for entry in difference), quantity


# -- pictures --------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=paper_pictures.PICTURES)
def picture(request: pytest.FixtureRequest) -> tuple[str, paper_pictures.Picture]:
    return request.param, paper_pictures.PICTURES[request.param]()


def test_pictures_are_current(picture: tuple[str, paper_pictures.Picture]) -> None:
    name, content = picture
    stored = (paper_tables.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert stored == paper_pictures.svg(content), "run python -m tests.paper_pictures"


BANDS: dict[str, dict[str, Callable[[int, int], bool]]] = {
    "rodriguez-kreutz": {
        "φ (3.4), ψ (5.1)": lambda i, j: j <= i,
        "Φ (4.9), Ψ (4.10)": lambda i, j: j < i,
        "1 + HΦL (4.11)": lambda i, j: j <= i,
        "D (4.6)": lambda i, j: i == j,
    },
    "saha": {"U = E^{−1} (19)": lambda i, j: j >= i, "D (20)": lambda i, j: i == j},
    "lee-chirikjian": {
        "H^{θθ}": lambda i, j: abs(i - j) <= 2,
        "H^{θL}": lambda i, j: -2 <= j - i <= 1 and not i == j == 0,
        "H^{Lθ}": lambda i, j: -1 <= j - i <= 2 and not i == j == 0,
        "H^{LL}": lambda i, j: abs(i - j) <= 1,
        "U_{h}": lambda i, j: 0 <= j - i <= 1,
    },
    "wang-chirikjian": {
        "∂q_{1}/∂ξ (18)": lambda i, j: 0 <= i - j <= 1,
        "H = G^{−1} (19)": lambda i, j: abs(i % 6 - j % 6) <= 1,
        "L": lambda i, j: 0 <= i - j <= 1,
    },
    "fijany-featherstone": {
        "P (script)": lambda i, j: 0 <= j - i <= 1,
        "H_{bb}": lambda i, j: abs(i - j) <= 1,
        "M": lambda i, j: True,
    },
}
"""Blocks of each panel that are not zero, by the formulas of the papers."""


def test_pictures_show_the_structure_that_the_papers_state(
    picture: tuple[str, paper_pictures.Picture],
) -> None:
    name, content = picture
    panels = {panel.title: panel for panel in content.panels}
    for title, nonzero in BANDS[name].items():
        for i, row in enumerate(panels[title].kinds):
            for j, kind in enumerate(row):
                assert (kind != paper_pictures.ZERO) is nonzero(i, j), (title, i, j)


def test_labels_of_the_picture_count_from_the_tip_in_the_paper_and_from_the_base_here() -> None:
    panel = paper_pictures.PICTURES["rodriguez-kreutz"]().panels[0]
    assert panel.rows == ("1", "2", "3", "4", "5")
    assert panel.links == ("4", "3", "2", "1", "0")


def test_a_block_is_zero_or_one_only_if_it_is_so_on_every_chain() -> None:
    zero, unit, double = (np.array([[x]], dtype=object) for x in (0, 1, 2))
    kind = paper_pictures._kind
    assert [kind([zero, zero]), kind([unit, unit]), kind([zero, unit]), kind([unit, double])] == [
        paper_pictures.ZERO,
        paper_pictures.ONE,
        paper_pictures.BLOCK,
        paper_pictures.BLOCK,
    ]
    step = paper_pictures._step
    assert [step([0], [0]), step([1], [0]), step([1], [1]), step([1], [2])] == [
        paper_pictures.ZERO,
        paper_pictures.CLEARED,
        paper_pictures.ONE,
        paper_pictures.CHANGED,
    ]
