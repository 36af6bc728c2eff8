"""Committed pages of `symgen reproduce`: text and picture follow from the measured figures of the
table.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symgen.pages.reproduce import (
    _page,
    closed_chains,
    fijany_branches,
    fijany_depth,
    fijany_parallel,
    fixman_determinant,
    fixman_dihedral,
    fixman_potential,
    fixman_spatial,
    lee_chirikjian_fig2,
    lee_chirikjian_inverses,
    long_polymers,
    riccati_steady_state,
    rodriguez_filter,
    saha_counts,
)
from symgen.pages.reproduce._page import Page

PAGES = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "reproduce"
TOLERANCE = 0.01
"""Points by which a picture may differ from the committed one, because tables have six digits."""
SIX_DIGITS = 1e-5
"""Relative error of a figure with six digits, and of ratios of such figures."""
ROUNDING = 1e-12
"""Figures below this are rounding errors, which differ between processors."""


def number(cell: str) -> Any:
    """Return one cell of a table: a count, a figure, a name, or None if it is empty."""
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return cell or None


def table(name: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return columns and rows of a committed table."""
    with (PAGES / f"{name}.csv").open(encoding="utf-8") as file:
        columns, *rows = csv.reader(file)
    return columns, [tuple(map(number, row)) for row in rows]


def column_of(name: str) -> dict[str, list[Any]]:
    columns, rows = table(name)
    return {column: [row[k] for row in rows] for k, column in enumerate(columns)}


def check_rows(columns: Any, rows: Any, committed_rows: Any) -> None:
    """Compare the rows of a page with those of its committed table."""
    for row, committed_row in zip(rows, committed_rows, strict=True):
        for column, value, committed_value in zip(columns, row, committed_row, strict=True):
            if committed_value is None or isinstance(committed_value, str):
                assert value == committed_value, column
            else:
                assert value == pytest.approx(committed_value, rel=SIX_DIGITS, abs=ROUNDING), column


def text_of(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def svg_of(name: str) -> str:
    return (PAGES / f"{name}.svg").read_text(encoding="utf-8")


def with_figures(name: str, pattern: str) -> list[float]:
    """Return figures of the committed text that its table does not have."""
    return [float(x) for x in re.findall(pattern, text_of(name))]


def closed_chains_page() -> Page:
    """Return the page of runs with the committed energies and errors.

    The robots are counts only: the platform has 18 independent rows of A, Bennett's chain 4 of rank
    2.
    """
    columns = ("bodies", "nv", "rows", "redundant", "mobility")
    runs, facts = [], {}
    for name, *cells in table("closed-chains")[1]:
        bodies, nv, rows, redundant, mobility = cells[: len(columns)]
        kinetic, drift, finer, _, opening, closer, _ = cells[len(columns) :]
        robot: Any = SimpleNamespace(bodies=range(bodies), nv=nv, name=name)
        facts[name] = SimpleNamespace(rows=rows, redundant=redundant, rank=nv - mobility)

        def motion(energy: float, gained: float, apart: float) -> closed_chains.Motion:
            t, q = np.array([0.0, 1.0]), np.zeros((2, 1))
            return closed_chains.Motion(
                t, q, np.array([0.0, energy]), np.array([0.0, -gained]), np.array([apart, 0.0])
            )

        runs.append(
            closed_chains.Run(
                name, robot, motion(2 * kinetic, drift, opening), motion(kinetic, finer, closer)
            )
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closed_chains, "assembly", lambda robot: facts[robot.name])
        return closed_chains._page(runs, closed_chains.STEPS)


def dihedral_page() -> Page:
    """Return the page of polymers with the committed densities."""
    column = {name: np.array(values) for name, values in column_of("fixman-dihedral").items()}
    squares = with_figures("fixman-dihedral", r"([\d.]+) \(p ")
    (rejected,) = with_figures("fixman-dihedral", r"At most ([\d.]+) % of the rounds")
    (drift,) = with_figures("fixman-dihedral", r"in a round is (\S+) J")

    def sampled(beads: int, edges: Any, *sizes: int) -> fixman_dihedral.Sampled:
        assert np.degrees(edges) == pytest.approx([0, *fixman_dihedral.UP_TO])
        assert sizes == (
            fixman_dihedral.CHAINS,
            fixman_dihedral.ROUNDS,
            fixman_dihedral.FORGOTTEN,
        )
        k = fixman_dihedral.BEADS.index(beads)
        densities = [
            (column[f"{kind}_{beads}"], column[f"{kind}_error_{beads}"])
            for kind in ("rigid", "fixman")
        ]
        return fixman_dihedral.Sampled(
            beads,
            fixman_dihedral.Measured(*densities[0], squares[k], squares[2 + k]),
            fixman_dihedral.Measured(*densities[1], squares[6 + k], squares[4 + k]),
            column[f"law_{beads}"],
            # the page has the largest of both polymers
            rejected / 100 if k else rejected / 200,
            drift / 2 if k else drift,
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixman_dihedral, "sampled", sampled)
        return fixman_dihedral.reproduce(lambda *_: None)


def potential_page() -> Page:
    """Return the page of planar polymers with the committed densities."""
    column = {name: np.array(values) for name, values in column_of("fixman-potential").items()}
    (drift,) = with_figures("fixman-potential", r"in a round is (\S+) J")

    def sampled(bonds: int, edges: Any, *sizes: int) -> fixman_potential.Sampled:
        assert np.degrees(edges) == pytest.approx([0, *fixman_potential.UP_TO])
        assert sizes == (
            fixman_potential.CHAINS,
            fixman_potential.ROUNDS,
            fixman_potential.FORGOTTEN,
        )
        without, having = (
            (column[f"{kind}_{bonds}"], column[f"{kind}_error_{bonds}"])
            for kind in ("rigid", "fixman")
        )
        law = column[f"law_{bonds}"]
        return fixman_potential.Sampled(bonds, without, having, law, drift / bonds * 2)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixman_potential, "sampled", sampled)
        return fixman_potential.reproduce(lambda *_: None)


def spatial_page() -> Page:
    """Return the page of spatial chains with the committed rows."""
    rows = {row[0]: row for row in table("fixman-spatial")[1]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixman_spatial, "_row", lambda n, random: rows[n])
        return fixman_spatial.reproduce(lambda *_: None)


@cache
def riccati_page() -> Page:
    """Return the page of uniform chains, measured again up to the determinants of compiled C."""
    columns, rows = table("riccati-steady-state")
    differences = {row[1]: row[columns.index("pivot_difference")] for row in rows}

    def compiled_pivot(case: riccati_steady_state.Case, links: int) -> float:
        chain = riccati_steady_state.uniform_chain(case)
        P = riccati_steady_state.iterate(chain, links)[-1]
        pivot = float(chain.axis @ P @ chain.axis)
        return pivot * (1.0 - float(differences[case.name]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(riccati_steady_state, "compiled_pivot", compiled_pivot)
        return riccati_steady_state.reproduce(lambda *_: None)


def rows_of(name: str) -> list[tuple[Any, ...]]:
    return table(name)[1]


def filter_page() -> Page:
    nothing = np.zeros((2, 7))
    return rodriguez_filter._page(rows_of("rodriguez-filter"), nothing, nothing)


MEASURED: dict[str, tuple[Any, Callable[[], Page]]] = {
    "closed-chains": (closed_chains, closed_chains_page),
    "fijany-parallel": (
        fijany_parallel,
        lambda: fijany_parallel._page(rows_of("fijany-parallel"), []),
    ),
    "fixman-determinant": (
        fixman_determinant,
        lambda: fixman_determinant._page(rows_of("fixman-determinant"), []),
    ),
    "fixman-dihedral": (fixman_dihedral, dihedral_page),
    "fixman-potential": (fixman_potential, potential_page),
    "fixman-spatial": (fixman_spatial, spatial_page),
    "lee-chirikjian-fig2": (
        lee_chirikjian_fig2,
        lambda: lee_chirikjian_fig2._page(rows_of("lee-chirikjian-fig2"), []),
    ),
    "lee-chirikjian-inverses": (
        lee_chirikjian_inverses,
        lambda: lee_chirikjian_inverses._page(rows_of("lee-chirikjian-inverses")),
    ),
    "long-polymers": (long_polymers, lambda: long_polymers._page(rows_of("long-polymers"), [])),
    "rodriguez-filter": (rodriguez_filter, filter_page),
}
"""Results whose tables are measurements, with functions that return the page of the committed
table.
"""
COUNTED: dict[str, Any] = {
    "saha-counts": saha_counts,
    "fijany-depth": fijany_depth,
    "fijany-branches": fijany_branches,
}


def counted_page(name: str) -> Page:
    page: Page = COUNTED[name].reproduce(lambda *_: None)
    return page


DRAWN: dict[str, tuple[Any, Callable[[], Page]]] = {
    **MEASURED,
    "riccati-steady-state": (riccati_steady_state, riccati_page),
    **{name: (module, partial(counted_page, name)) for name, module in COUNTED.items()},
}
"""Results with pictures that show nothing but their table and its measurement."""
del DRAWN["closed-chains"], DRAWN["rodriguez-filter"]


@pytest.mark.parametrize("name", sorted(MEASURED))
def test_the_text_of_a_page_follows_from_its_table(name: str) -> None:
    """Every sentence, ratio, exponent and column up to the facts of the machine, whose names are
    the same.
    """
    module, page_of = MEASURED[name]
    page = page_of()
    text, before, facts = text_of(name).partition("Measured on:\n\n")
    assert page.markdown(name, module.TITLE).partition(before)[0] == text
    assert [*page.machine] == re.findall(r"^- ([^:]+): ", facts, re.MULTILINE)
    (height,) = re.findall(r'<svg [^>]* height="([\d.]+)pt"', svg_of(name))
    assert 72 * page.height == pytest.approx(float(height))
    columns, rows = table(name)
    assert list(page.columns) == columns
    check_rows(columns, page.rows, rows)


def test_the_default_sizes_of_a_result_are_those_of_its_table() -> None:
    """The pages of counts take theirs from the same defaults, which another test reads."""
    for module, sizes in (
        (fijany_branches, fijany_branches.LINKS),
        (fijany_parallel, fijany_parallel.LINKS),
        (fixman_determinant, fixman_determinant.LINKS),
        (fixman_dihedral, fixman_dihedral.UP_TO),
        (fixman_potential, fixman_potential.UP_TO),
        (fixman_spatial, fixman_spatial.LINKS),
        (lee_chirikjian_fig2, lee_chirikjian_fig2.LINKS),
        (lee_chirikjian_inverses, lee_chirikjian_inverses.LINKS),
        (long_polymers, long_polymers.LINKS),
        (rodriguez_filter, rodriguez_filter.SAMPLES),
        (closed_chains, closed_chains.ACTS),
    ):
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        assert [row[0] for row in rows_of(name)] == [*sizes], name


def test_the_text_of_the_riccati_page_follows_from_new_measurements() -> None:
    """Rounding errors differ between processors; all that is larger has the digits of the table."""
    page = riccati_page()
    committed_text = text_of("riccati-steady-state").partition("Measured on:")[0]
    text = page.markdown("riccati-steady-state", riccati_steady_state.TITLE)
    rounding_error = re.compile(r"\de-1[3-7]\b")
    new_text = text.partition("Measured on:")[0]
    assert rounding_error.split(new_text) == rounding_error.split(committed_text)
    columns, rows = table("riccati-steady-state")
    assert list(page.columns) == columns
    check_rows(columns, page.rows, rows)


def shapes(svg: str, has_long_lines: bool) -> tuple[list[str], list[float]]:
    """Return what a picture has between its numbers, and its numbers; without images and names."""
    body = svg[svg.index("</metadata>") :]
    body = re.sub(r'"data:image[^"]*"', '"image"', body)
    body = re.sub(r"\b[A-Za-z][0-9a-f]{10}\b", "name", body)
    if not has_long_lines:
        body = re.sub(r'd="[^"]{2000,}"', 'd="line"', body)
    pattern = re.compile(r"(?<![\w#])-?\d+\.?\d*(?:e-?\d+)?")
    return pattern.split(body), [float(x) for x in pattern.findall(body)]


@pytest.fixture
def counted_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the counts and depths of the committed tables instead of deriving Programs."""
    saha, depths, branches = (
        {row[0]: dict(zip(columns, row, strict=True)) for row in rows}
        for columns, rows in map(table, COUNTED)
    )

    def counted(n: int, method: str) -> tuple[int, int]:
        return saha[n][f"{method}_mul"], saha[n][f"{method}_add"]

    def depth(n: int, function: str, method: str, *_: Any) -> Any:
        return SimpleNamespace(depth=depths[n][f"{function}={method}"])

    def depth_of_branches(chain: tuple[int, int], function: str, method: str, *_: Any) -> Any:
        return SimpleNamespace(depth=branches[chain[0]][f"{method}={chain[1]}"])

    monkeypatch.setattr(saha_counts, "counted", counted)
    monkeypatch.setattr(fijany_depth, "dh_chain", lambda n, twists: n)
    monkeypatch.setattr(fijany_depth, "derive", depth)
    monkeypatch.setattr(fijany_branches, "branched_chain", lambda n, length: (n, length))
    monkeypatch.setattr(fijany_branches, "derive", depth_of_branches)


@pytest.mark.usefixtures("counted_pages")
@pytest.mark.parametrize("name", sorted(DRAWN))
def test_a_committed_picture_shows_its_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts, sizes, lines and marks are the same with the version of matplotlib that drew it."""
    matplotlib = pytest.importorskip("matplotlib")
    committed_svg = svg_of(name)
    if f"Matplotlib v{matplotlib.__version__}," not in committed_svg:
        pytest.skip("drawn by another version of matplotlib")
    # long lines of the Riccati page have rounding errors
    has_long_lines = name != "riccati-steady-state"
    # a coarser rule of integration, which is exact enough for a line of a picture
    monkeypatch.setattr(fixman_dihedral, "NODES", 12)
    texts, numbers = shapes(_page.picture(DRAWN[name][1](), "svg").decode(), has_long_lines)
    committed_texts, committed_numbers = shapes(committed_svg, has_long_lines)
    assert texts == committed_texts
    assert numbers == pytest.approx(committed_numbers, abs=TOLERANCE)


# -- fewer sizes than those of the committed pages --


def drawn_charts(page: Page) -> list[Any]:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    page.draw(figure)
    charts: list[Any] = figure.axes
    return charts


@pytest.mark.usefixtures("counted_pages")
@pytest.mark.parametrize(
    ("lengths", "branch"),
    [
        ((0, 1), "a branch of 1 link"),
        ((0, 2), "a branch of 2 links"),
        ((0,), "no branch"),
        ((2,), "a branch of 2 links"),
    ],
)
def test_the_page_of_branches_shows_the_second_length_or_the_only_one(
    lengths: tuple[int, ...], branch: str
) -> None:
    page = fijany_branches.reproduce(lambda *_: None, links=(2, 4), lengths=lengths)
    assert page.measured.startswith(f"With {branch} at each link of the main chain")
    columns, cells = table_row("fijany-branches", 4)
    depths = dict(zip(columns, cells, strict=True))
    parallel = [depths[f"{fijany_branches.PARALLEL}={length}"] for length in lengths]
    added = " and ".join(str(depth - parallel[0]) for depth in parallel[1:]) or "nothing"
    assert f"the branches add {added} to the parallel depth" in page.measured
    methods, branches, *_ = drawn_charts(page)
    assert methods.get_title(loc="left").endswith(branch)
    assert [line.get_ydata()[1] for line in branches.get_lines()] == parallel
    shown = lengths[1] if len(lengths) > 1 else lengths[0]
    assert [line.get_ydata()[1] for line in methods.get_lines()] == [
        depths[f"{method}={shown}"] for method in fijany_branches.METHODS
    ]


def table_row(name: str, first: int) -> tuple[list[str], tuple[Any, ...]]:
    """Return the columns and one row of a committed table."""
    columns, rows = table(name)
    return columns, next(row for row in rows if row[0] == first)


def test_the_growth_with_few_links_is_that_of_all_of_them() -> None:
    """Depths of 100 + 30 log₂ N or 100 + 30 N; chains below FITTED_FROM count if nothing else is
    left.
    """
    parallel, serial = fijany_branches.PARALLEL, fijany_branches.SERIAL
    for links, odd in (((2, 4), 0), ((2, 4, 8), 500), ((1, 2), 0)):
        logarithmic = [100 + 30 * n.bit_length() for n in links]
        linear = [100 + 30 * n for n in links]
        logarithmic[0] += odd
        linear[0] += odd
        assert fijany_branches._growth(parallel, links, logarithmic) == pytest.approx(30)
        assert fijany_branches._growth(serial, links, linear) == pytest.approx(30)
    first = fijany_depth.FITTED_FROM
    few, many = (2, 4), (2, first, 2 * first)
    for method in (fijany_depth.PARALLEL, fijany_depth.SERIAL[0]):
        is_parallel = method == fijany_depth.PARALLEL
        depth_of = {n: 7 + 5 * (n.bit_length() - 1 if is_parallel else n) for n in (*few, *many)}
        depths = [depth_of[n] for n in few]
        assert fijany_depth._fit(method, few, depths) == pytest.approx((7, 5))
        changed = [999, *(depth_of[n] for n in many[1:])]
        assert fijany_depth._fit(method, many, changed) == pytest.approx((7, 5))
    assert fijany_depth._steps(many, [1, 20, 33]) == "steps 13 to 13"
    assert fijany_depth._steps((first, 2 * first, 4 * first), [1, 20, 33]) == "steps 13 to 19"
    assert fijany_depth._steps((2, 4), [1, 20]) == "no doubling measured"
    assert fijany_branches.steps((2, 4, 16), [0, 10, 30]) == [10]


@pytest.mark.usefixtures("counted_pages")
def test_the_page_of_depths_shows_one_function_if_one_is_chosen() -> None:
    function = fijany_depth.FUNCTIONS[1]
    page = fijany_depth.reproduce(lambda *_: None, links=(2, 4), functions=(function,))
    assert [column.partition("=")[0] for column in page.columns[1:]] == [function] * 4
    charts = [chart for chart in drawn_charts(page) if chart.get_title(loc="left")]
    assert [chart.get_title(loc="left") for chart in charts] == [function]
    assert page.height == 5


@pytest.mark.usefixtures("counted_pages")
def test_short_chains_have_no_number_of_links_from_which_a_recursion_is_shorter() -> None:
    page = saha_counts.reproduce(lambda *_: None, links=(3, 4))
    assert "at none of these n" in page.measured
    (chart,) = drawn_charts(page)
    assert len(chart.get_lines()) == 1 + len(saha_counts.METHODS)
    assert chart.get_xlim() == (2, 5)
    assert page.rows[0][:3] == (3, 201 * 3 - 335, 193 * 3 - 361)
