"""Tables of the chapters on the papers: equation, letters, commands, tests, and variables of the C.

The rows come from `EQUATIONS` and `LETTERS` of `symgen.papers`. `tests/book_tables.py` writes the
tables into docs/explanation/papers/, one table for each section of a paper.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import symgen
from symgen import methods
from symgen.inspection.entries import layout
from symgen.inspection.paper_letters import method_of, paper_operators
from symgen.inspection.where import where
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.derivation.document import SYMBOLS
from symgen.papers.equation import Equation
from symgen.papers.identities import paper
from symgen.support.errors import RequestError
from tests.shared.doc_samples import samples

DOCS = Path(__file__).parents[1] / "docs"
FOLDER = DOCS / "explanation" / "papers"
ERRORS_PAGE = DOCS / "explanation" / "mathematics.md"
ERRORS_HEADING = "## Errors in the printed texts"
MOST_NAMES = 6
"""Most variables of the C that a row names."""


@dataclass(frozen=True)
class Check:
    """A test of equations, with the mark by which the rows name it.

    It computes the equations in `covers` (None: all) that are not in `leaves`.
    """

    mark: str
    test: str
    says: str
    covers: frozenset[str] | None = None
    leaves: frozenset[str] = frozenset()

    def computes(self, number: str) -> bool:
        """True if the test computes both sides of an equation."""
        return number not in self.leaves and (self.covers is None or number in self.covers)


@dataclass(frozen=True)
class Chapter:
    """One paper: its page, the robot of its table, its sections and the tests of its equations.

    `sections` maps the name of a table to the number of its first equation. `robot` is a built-in
    robot, or a file that a sample of the page writes.
    """

    short: str
    page: str
    robot: str
    sections: dict[str, str]
    checks: tuple[Check, ...]
    letters: dict[str, str] = field(default_factory=dict)
    """Symbols of letters that neither the paper's module nor the derived documents declare."""
    shown: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Indices of the block that the table shows, where the first one is the identity or zero by
    chance.
    """


MOTION = frozenset(
    {
        *("(3.12)", "(3.15)", "(3.17)", "(3.18)", "(3.22)", "(4.20)", "(4.22)"),
        *("(5.6)", "(5.10)", "(5.13)", "(5.15)"),
    }
)
"""Equations of Rodriguez & Kreutz that `papers/test_rk` proves with symbolic rates and forces."""

CHAPTERS: dict[str, Chapter] = {
    "rk": Chapter(
        "RK",
        "rodriguez-kreutz.md",
        "planar_arm",
        {
            "rk equations of motion": "(3.3)",
            "rk factorization": "(4.6)",
            "rk forward dynamics": "(5.3)",
            "rk identities": "(a.6)",
            "rk operational space": "Ω",
        },
        (
            Check(
                "a",
                "papers/test_rk::test_every_equation_holds_on_random_chains",
                "exact rationals on chains of up to 8 links",
            ),
            Check(
                "b",
                "papers/test_rk::"
                "test_every_equation_holds_on_robots_trees_and_joints_of_several_coordinates",
                "exact rationals on seven robots, trees among them",
            ),
            Check(
                "c",
                "papers/test_rk::"
                "test_every_equation_of_operators_holds_for_all_values_of_the_symbols",
                "two and three links with symbols for coordinates and masses",
                leaves=MOTION,
            ),
            Check(
                "d",
                "papers/test_rk::"
                "test_the_four_algorithms_solve_the_equations_of_motion"
                "_for_all_values_of_the_symbols",
                "two links with symbols for coordinates, rates and forces",
                MOTION,
            ),
        ),
        shown={"L": (1,), "G": (1,)},
    ),
    "sa": Chapter(
        "SA",
        "saha.md",
        "planar_arm",
        {
            "sa complement": "(2)",
            "sa inertia matrix": "(10)",
            "sa decomposition": "(17)",
            "sa elimination": "(30)",
            "sa accelerations": "(36)",
            "sa bridges": "bridge to RK (3.5)",
        },
        (
            Check(
                "a",
                "papers/test_sa::test_every_equation_holds_for_all_values_of_the_symbols",
                "chains of two and three links with symbols",
            ),
            Check(
                "b",
                "papers/test_sa::test_every_equation_holds_on_random_chains",
                "exact rationals on random chains",
            ),
            Check(
                "c",
                "papers/test_sa::test_every_equation_holds_on_robots",
                "exact rationals on robots",
            ),
        ),
        {"T_l": "T_l", "T_d": "T_d", "L2": "L_2"},
        shown={"E": (1,), "L": (1,)},
    ),
    "lc": Chapter(
        "LC",
        "lee-chirikjian.md",
        "planar_point_mass:2",
        {
            "lc partition": "before (3)",
            "lc solution": "(9)",
            "lc geometry": "(14)",
            "lc blocks": "(22)",
        },
        (
            Check(
                "a",
                "papers/test_lc::test_every_equation_holds_on_unit_chains",
                "exact rationals on chains with unit masses and lengths",
            ),
            Check(
                "b",
                "papers/test_lc::test_every_equation_holds_on_chains_in_general_position",
                "exact rationals on chains with other masses, lengths and axes",
            ),
            Check(
                "c",
                "papers/test_lc::test_every_equation_holds_for_every_state",
                "rational functions of the coordinates",
            ),
        ),
    ),
    "wc": Chapter(
        "WC",
        "wang-chirikjian.md",
        "two_bars.toml",
        {
            "wc partition": "(5)",
            "wc rotations": "(10)",
            "wc motions": "(13)",
            "wc inverse": "M(q)",
        },
        (
            Check(
                "a",
                "papers/test_wc::test_every_equation_holds_on_robots",
                "exact rationals on robots",
            ),
            Check(
                "b",
                "papers/test_wc::"
                "test_every_equation_holds_on_random_robots_with_every_joint_of_one_degree",
                "exact rationals on random robots with joints of every type",
            ),
            Check(
                "c",
                "papers/test_wc::test_every_equation_holds_for_every_state",
                "rational functions of the coordinates",
            ),
        ),
    ),
    "ff": Chapter(
        "FF",
        "fijany-featherstone.md",
        "two_bars.toml",
        {
            "ff motion": "accelerations",
            "ff partition": "A",
            "ff inverses": "M inverse",
        },
        (
            Check(
                "a",
                "papers/test_ff::"
                "test_every_equation_holds_for_all_values_of_the_symbols_of_two_links",
                "two links with symbols",
            ),
            Check(
                "b",
                "papers/test_ff::test_every_equation_holds_on_random_chains",
                "exact rationals on random chains",
            ),
            Check(
                "c",
                "papers/test_ff::test_every_equation_holds_on_robots",
                "exact rationals on robots",
            ),
            Check(
                "d",
                "papers/test_ff::test_every_equation_holds_on_trees",
                "exact rationals on trees",
            ),
        ),
    ),
}


@dataclass(frozen=True)
class Row:
    """One equation of a table; `letters`: (symbol, command, variables of the C) of each letter."""

    equation: Equation[Any]
    letters: tuple[tuple[str, str, str], ...]
    marks: str


def section(name: str, table: str) -> list[Equation[Any]]:
    """Return the equations of one table of a paper."""
    equations = paper(name).EQUATIONS
    numbers = [equation.number for equation in equations]
    starts = [numbers.index(first) for first in CHAPTERS[name].sections.values()]
    k = list(CHAPTERS[name].sections).index(table)
    return list(equations[starts[k] : (*starts, len(numbers))[k + 1]])


@cache
def robot(name: str) -> Mechanism:
    """Return the robot of a paper's tables; a file is read from the sample of its page."""
    chapter = CHAPTERS[name]
    if not chapter.robot.endswith(".toml"):
        return symgen.load(chapter.robot)
    page = (FOLDER / chapter.page).read_text(encoding="utf-8")
    (text,) = {sample.text for sample in samples(page) if sample.file == chapter.robot}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / chapter.robot
        path.write_text(text, encoding="utf-8")
        return symgen.load(path)


def symbol(name: str, letter: str) -> str:
    """Return the LaTeX of a letter."""
    for item in paper(name).LETTERS:
        if item.name == letter:
            return str(item.symbol)
    return CHAPTERS[name].letters.get(letter) or SYMBOLS.get(letter, letter)


def block(name: str, letter: str) -> str:
    """Return a letter with the indices of one block that is not zero, between two links if there is
    one.
    """
    if letter in CHAPTERS[name].shown:
        return f"{letter}[{','.join(map(str, CHAPTERS[name].shown[letter]))}]"
    mechanism = robot(name)
    declared = next((item for item in paper(name).LETTERS if item.name == letter), None)
    if declared is not None:
        operators = paper_operators(mechanism, name)
        indices = [i for i in operators.indices(declared) if operators.exists(declared, i)]
    else:
        indices = sorted(layout(mechanism, method_of(name), letter).blocks)
        if not methods.find(method_of(name)).quantities[letter].indices:
            return letter
    between = [pair for pair in indices if len(set(pair)) > 1]
    return f"{letter}[{','.join(map(str, (between or indices)[0]))}]"


def command(name: str, letter: str) -> str:
    """Return the command that prints a block of a letter."""
    return (
        f"symgen inspect {CHAPTERS[name].robot} '{block(name, letter)}' --method {method_of(name)}"
    )


def variables(name: str, letter: str) -> dict[str, list[str]]:
    """Return, for each file of the C, the variables that hold entries of a letter; {} if there are
    none.
    """
    method = method_of(name)
    if letter not in methods.find(method).quantities:
        return {}
    try:
        text, _ = where(robot(name), letter, method)
    except RequestError:
        return {}
    by_file: dict[str, list[str]] = {}
    file = ""
    for line in text.splitlines():
        if heading := re.fullmatch(r"(\S+\.c):[\d-]+:", line):
            file = heading[1]
        elif assigned := re.match(r"\s*(?:const \w+ )?([\w\[\]]+) = ", line):
            by_file.setdefault(file, []).append(assigned[1])
    return by_file


def _shown_variables(name: str, letter: str) -> str:
    cells = []
    for file, names in variables(name, letter).items():
        function = file.removesuffix(".c").removeprefix(f"{robot(name).name}_")
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        cells.append(f"`{function}`: " + ", ".join(f"`{x}`" for x in names[:MOST_NAMES]) + more)
    return "; ".join(cells)


def row(name: str, equation: Equation[Any], shown: set[str]) -> Row:
    """Return the row of an equation; letters in `shown` have a row already, and are left out."""
    letters = [letter for letter in equation.letters if letter not in shown]
    shown.update(letters)
    marks = [check.mark for check in CHAPTERS[name].checks if check.computes(equation.number)]
    return Row(
        equation,
        tuple(
            (symbol(name, letter), command(name, letter), _shown_variables(name, letter))
            for letter in letters
        ),
        " ".join(marks),
    )


def tex(statement: str) -> str:
    """Return LaTeX for a cell of a Markdown table, in which a bar ends the cell."""
    return re.sub(r"(?<!\\)\|", r"\\vert ", statement)


def _number(equation: Equation[Any]) -> str:
    link = f"../{ERRORS_PAGE.name}#errors-in-the-printed-texts"
    return f"{equation.number}<br>[corrected]({link})" if equation.corrected else equation.number


def table(
    name: str, section_name: str, write: Callable[..., str], prose: Callable[..., str]
) -> str:
    """Return the table of a section; `write` makes a table of heads and rows, `prose` escapes a
    sentence.

    The column of letters is left out where all its cells are empty.
    """
    earlier = [e for key in CHAPTERS[name].sections for e in section(name, key)]
    first = earlier.index(section(name, section_name)[0])
    shown = {letter for equation in earlier[:first] for letter in equation.letters}
    rows = [row(name, equation, shown) for equation in section(name, section_name)]
    columns: list[tuple[str, list[str]]] = [
        (
            "equation, tests",
            [f"{_number(item.equation)}<br>{item.marks}" for item in rows],
        ),
        (
            "statement",
            [
                f"${tex(item.equation.statement)}$"
                + (f"<br>{prose(item.equation.says)}" if item.equation.says else "")
                for item in rows
            ],
        ),
        (
            "letters: command, variables of the C",
            ["<br>".join(_shown_letter(*letter) for letter in item.letters) for item in rows],
        ),
    ]
    columns = [(head, cells) for head, cells in columns if any(cells)]
    return write([head for head, _ in columns], zip(*(cells for _, cells in columns), strict=True))


def _shown_letter(letter: str, typed: str, c: str) -> str:
    return f"${letter}$: `{typed}`" + (f"<br>C: {c}" if c else "")


def tests_of(name: str) -> str:
    """Return the list of tests that the marks of a paper's tables name, and those of its
    corrections.
    """
    lines = [f"- **{check.mark}** `{check.test}`: {check.says}" for check in CHAPTERS[name].checks]
    for equation in paper(name).EQUATIONS:
        if equation.corrected and (cited := printed_form_tests(name, equation.number)):
            lines.append(f"- the printed {equation.number}: {', '.join(cited)}")
    return "\n".join(lines)


# -- errors in the printed texts -------------------------------------------------------------------


def printed_errors(page: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield (place, tests) of each row of the table of errors: the first cell and the last one."""
    text = page if page is not None else ERRORS_PAGE.read_text(encoding="utf-8")
    for line in text.partition(ERRORS_HEADING)[2].splitlines():
        cells = line.strip().strip("|").split(" | ")
        if line.startswith("| ") and len(cells) == 4 and cells[0].strip() != "where":
            yield cells[0].strip(), cells[3].strip()


def errors_of(name: str, number: str, page: str | None = None) -> list[tuple[str, str]]:
    """Return the rows of the table of errors that name an equation of a paper."""
    short = CHAPTERS[name].short
    return [
        (cell, tests)
        for cell, tests in printed_errors(page)
        if re.match(rf"{short}\b", cell) and _names(cell, number)
    ]


def _names(cell: str, number: str) -> bool:
    """True if a cell names a number: between commas, a range included only by its ends."""
    return re.search(rf"(?<![\w(]){re.escape(number)}(?![\w(])", cell) is not None


def printed_form_tests(name: str, number: str) -> list[str]:
    """Return the tests that the table of errors cites for an equation."""
    cited = [test for _, tests in errors_of(name, number) for test in re.findall(r"`[^`]+`", tests)]
    return list(dict.fromkeys(cited))


def generated(
    write: Callable[[Sequence[str], Iterable[Sequence[str]]], str], prose: Callable[[str], str]
) -> dict[str, Callable[[], str]]:
    """Return name of a table -> function that returns its text, for all papers."""
    tables: dict[str, Callable[[], str]] = {}
    for name, chapter in CHAPTERS.items():
        for key in chapter.sections:
            tables[key] = partial(table, name, key, write, prose)
        tables[f"{name} tests"] = partial(tests_of, name)
    return tables
