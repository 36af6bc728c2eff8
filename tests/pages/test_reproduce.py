"""`symgen reproduce`: every result runs at a small size, its files hold what they name, and the committed pages are not stale."""

from __future__ import annotations

import csv
import io
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symgen.benchmarks import bench
from symgen.benchmarks.bench import STATES
from symgen.cli import main
from symgen.description.loading import load
from symgen.pages import reproduce
from symgen.pages.reproduce import (
    closed_chains,
    fijany_depth,
    fijany_parallel,
    fixman_determinant,
    fixman_potential,
    lee_chirikjian_fig2,
    long_polymers,
    rodriguez_filter,
    saha_counts,
)
from symgen.pages.reproduce._page import slope
from symgen.pages.reproduce._planar import mass
from symgen.reference import planar_chain
from symgen.reference.mechanics import Reference
from symgen.support.errors import RequestError

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "explanation" / "reproduce"
SMALL: dict[str, dict[str, Any]] = {
    "saha-counts": {"links": (3, 4, 10)},
    "fijany-depth": {"links": (2, 4, 8), "functions": ("mass_matrix_solve",)},
    "fijany-parallel": {"links": (32,)},
    "lee-chirikjian-fig2": {"links": (1, 2, 4)},
    "fixman-determinant": {"links": (2, 4, 8)},
    "fixman-potential": {
        "up_to": (60, 120, 180),
        "bonds": (2,),
        "chains": 200,
        "rounds": 3,
        "forgotten": 1,
    },
    "long-polymers": {"links": (40,)},
    "rodriguez-filter": {"samples": (50, 200)},
    "closed-chains": {"robots": ("four_bar",), "steps": 50},
}
COUNTED = {"saha-counts": (3, 4), "fijany-depth": (2, 4)}
"""Results that are the same on every machine, and the sizes at which the committed figures are counted again."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every result at its small size."""
    for name, sizes in SMALL.items():
        whole = reproduce.module(name)
        monkeypatch.setattr(
            whole, "reproduce", lambda tell, run=whole.reproduce, sizes=sizes: run(tell, **sizes)
        )


def read(text: str) -> tuple[list[str], list[list[str]]]:
    lines = list(csv.reader(io.StringIO(text)))
    return lines[0], lines[1:]


def test_every_result_of_the_papers_is_there() -> None:
    assert set(SMALL) == set(reproduce.names())


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", reproduce.names())
def test_a_result_is_a_picture_a_table_and_a_page(name: str, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    written = reproduce.reproduce(name, tmp_path / "new", lambda *step: told.append(step))
    assert [path.name for path in written] == [
        f"{name}.{ending}" for ending in ("md", "csv", "svg", "png")
    ]
    assert sorted(tmp_path.rglob("*.*")) == sorted(
        written
    )  # nothing half-written is left beside them
    page, table, svg = (path.read_text(encoding="utf-8") for path in written[:3])
    columns, rows = read(table)
    assert len(rows) == len(next(iter(SMALL[name].values())))
    assert all(len(row) == len(columns) for row in rows)
    assert all(f"- `{column}`: " in page for column in columns)
    assert f"]({name}.svg)" in page
    assert "| the paper | measured here |" in page
    assert "**Where they differ.**" in page
    assert (
        svg.count("(count)") + svg.count("(ns)") + svg.count("links") >= 1
    )  # axes are named, with units
    assert written[3].read_bytes().startswith(b"\x89PNG")
    assert told
    assert all(0 <= done <= total for _, done, total in told)


@pytest.mark.usefixtures("full_search")
@pytest.mark.parametrize("name", sorted(COUNTED))
def test_the_committed_counts_are_those_of_today(name: str) -> None:
    whole = reproduce.module(name).reproduce
    page = whole(lambda *_: None, links=COUNTED[name])
    columns, rows = read((PAGES / f"{name}.csv").read_text(encoding="utf-8"))
    assert list(page.columns) == columns
    assert [row for row in rows if int(row[0]) in COUNTED[name]] == read(page.csv())[1]


@pytest.mark.parametrize("name", reproduce.names())
def test_every_page_is_committed_with_its_picture(name: str) -> None:
    files = [PAGES / f"{name}.{ending}" for ending in ("md", "csv", "svg", "png")]
    assert all(file.stat().st_size > 300 for file in files)
    page = files[0].read_text(encoding="utf-8")
    assert reproduce.module(name).TITLE in page
    assert "Measured on:" in page or "the same on every machine" in page


def test_a_line_goes_through_the_depths_that_it_was_fitted_to() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(6, 4))
    links, methods = (2, 8, 32), (fijany_depth.PARALLEL, *fijany_depth.SERIAL)
    depths = {
        ("f", m): [
            10 + 7 * (n.bit_length() - 1 if m == fijany_depth.PARALLEL else n) for n in links
        ]
        for m in methods
    }
    fijany_depth._draw(figure, links, ["f"], depths, dict.fromkeys(depths, (10.0, 7.0)))
    lines = figure.axes[0].get_lines()
    for marks, line in zip(lines[::2], lines[1::2], strict=True):
        for end in (0, -1):
            assert line.get_ydata()[end] == pytest.approx(marks.get_ydata()[end])
    assert len(lines) == 2 * len(methods)


def test_the_filter_whitens_what_it_is_given_and_not_something_else() -> None:
    """A gain that is off by a tenth leaves the innovations correlated."""
    made = rodriguez_filter.chain(load("panda"), rodriguez_filter.STATE)
    random = np.random.default_rng(1)
    y = rodriguez_filter.outputs(made, 20_000, random)
    assert rodriguez_filter.far(y, made.mass) < 0.02
    assert rodriguez_filter.correlated(rodriguez_filter.innovations(made, y)) < 0.04
    made.gains[3] *= 1.1
    assert rodriguez_filter.correlated(rodriguez_filter.innovations(made, y)) > 0.04


def test_closed_chains_keep_their_energy_and_their_loops_to_the_order_of_the_step() -> None:
    """The committed figures; and the plate's bracket is not for nothing, which a step of order 4 tells."""
    columns, rows = read((PAGES / "closed-chains.csv").read_text(encoding="utf-8"))
    table = [dict(zip(columns, row, strict=True)) for row in rows]
    assert [row["robot"] for row in table] == list(closed_chains.ACTS)
    assert all(float(row[ratio]) >= 14 for row in table for ratio in ("ratio", "apart_ratio"))
    assert all(float(row["drift_half"]) <= 1e-4 * float(row["kinetic"]) for row in table)
    assert closed_chains.run("stewart", 50).row[12] > 14
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closed_chains, "bracket", lambda robot, x, y: 0 * x)
        assert closed_chains.run("stewart", 50).row[12] < 5


def test_the_mass_matrix_of_the_planar_chain_is_the_reference_s() -> None:
    q = np.random.default_rng(2).uniform(-3, 3, (4, 5))
    assert np.abs(mass(q) - Reference(load("planar_point_mass:5")).mass_matrix(q)).max() < 1e-13


def test_the_dense_gradient_is_that_of_the_mass_matrix() -> None:
    q, h = np.random.default_rng(3).uniform(-3, 3, (2, 4)), 1e-6
    slopes = fixman_determinant.slopes(q)
    for k, unit in enumerate(np.eye(4)):
        assert (
            np.abs((mass(q + h * unit) - mass(q - h * unit)) / (2 * h) - slopes[:, k]).max() < 1e-8
        )


def test_the_law_of_rigid_bonds_is_the_root_of_the_reference_s_determinant() -> None:
    """Of two bonds √(4 − cos² θ); of three, both angles on a grid of a whole turn."""
    turn = np.arange(24) * np.pi / 12
    trimer = np.sqrt(4 - np.cos(turn) ** 2)
    assert np.abs(fixman_potential.rigid_law(2, 0, turn) - trimer / trimer.mean()).max() < 1e-9
    both = np.stack([x.ravel() for x in np.meshgrid(turn, turn, indexing="ij")], axis=-1)
    q = np.concatenate([np.full((len(both), 3), 0.3), both], axis=-1)
    root = np.sqrt(np.linalg.det(Reference(fixman_potential.polymer(3)).mass_matrix(q))).reshape(
        24, 24
    )
    for which, law in enumerate((root.mean(axis=1), root.mean(axis=0))):
        assert np.abs(fixman_potential.rigid_law(3, which, turn) - law / law.mean()).max() < 1e-6


def test_a_trimer_with_rigid_bonds_bends_and_fixman_s_potential_undoes_it() -> None:
    """⟨cos 2θ⟩ of chains that move a little while is that of √(4 − cos² θ) without, and zero with it; the energy is kept."""
    solver, law = fixman_potential.compiled(2), np.arange(180) * np.pi / 180
    wanted = {
        False: float((np.cos(2 * law) * fixman_potential.rigid_law(2, 0, law)).mean()),
        True: 0.0,
    }
    assert wanted[False] == pytest.approx(-0.036, abs=1e-3)
    for fixman, mean in wanted.items():
        ran = fixman_potential.simulate(solver, 2000, 16, fixman)
        seen = np.cos(2 * ran.angles[5:, :, 0]).mean(axis=0)
        assert abs(seen.mean() - mean) < 3 * seen.std() / len(seen) ** 0.5 < 0.03
        assert ran.drift < 0.01


def test_the_committed_densities_are_those_of_their_laws_and_not_of_the_other() -> None:
    """In standard errors, of which chance makes one."""
    columns, rows = read((PAGES / "fixman-potential.csv").read_text(encoding="utf-8"))
    seen = {name: np.array([float(row[k]) for row in rows]) for k, name in enumerate(columns)}
    assert list(seen["up_to"]) == list(fixman_potential.UP_TO)
    for n in fixman_potential.BONDS:
        rigid, fixman, law = seen[f"rigid_{n}"], seen[f"fixman_{n}"], seen[f"law_{n}"]
        far = {
            "law": (rigid - law) / seen[f"rigid_error_{n}"],
            "flat": (fixman - 1) / seen[f"fixman_error_{n}"],
            "other": (rigid - 1) / seen[f"rigid_error_{n}"],
        }
        size = {which: float(np.sqrt((x**2).mean())) for which, x in far.items()}
        assert size["law"] < 1.5, n
        assert size["flat"] < 1.5, n
        assert size["other"] > 5, n


def test_the_continuants_are_what_is_dense() -> None:
    """Both ways for ln det M and its gradient; the pivots of a long chain keep their digits."""
    q, b = np.random.default_rng(4).uniform(-3, 3, (2, 9))
    M, step = mass(q[None])[0], 1e-6
    assert planar_chain.solution(q, b) == pytest.approx(np.linalg.solve(M, b), abs=1e-11)
    assert planar_chain.log_determinant(q) == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-12)
    slopes = [
        (
            planar_chain.log_determinant(q + step * unit)
            - planar_chain.log_determinant(q - step * unit)
        )
        / (2 * step)
        for unit in np.eye(9)
    ]
    assert planar_chain.gradient(q) == pytest.approx(slopes, abs=1e-8)


def test_long_polymers_keep_their_digits_and_take_what_they_take_a_link() -> None:
    """A link of a hundred thousand takes at most 1.3 times a link of a thousand, in segments little more than half of the time;
    and no answer has lost more than a digit.
    """
    columns, rows = read((PAGES / "long-polymers.csv").read_text(encoding="utf-8"))
    seen = {name: [float(row[k]) for row in rows] for k, name in enumerate(columns)}
    assert tuple(map(int, seen["links"])) == long_polymers.LINKS
    for name, values in seen.items():
        if name.endswith("_error"):
            assert max(values) < 1e-14, name
        if name.endswith("_ns"):
            assert values[-1] < 1.3 * values[1], name
    assert all(
        parted < 0.6 * whole
        for parted, whole in list(zip(seen["segments_ns"], seen["solve_ns"], strict=True))[1:]
    )


def test_levels_deepen_by_a_step_a_doubling_and_the_sweeps_by_one_a_link() -> None:
    """And no method but those of constraint forces loses a digit more than the sweeps do."""
    columns, rows = read((PAGES / "fijany-parallel.csv").read_text(encoding="utf-8"))
    seen = {
        name: [float(row[k]) if row[k] else None for row in rows] for k, name in enumerate(columns)
    }
    n, levels, serial = (
        [float(row[columns.index(name)]) for row in rows]
        for name in ("links", "levels_depth", "serial_depth")
    )
    assert tuple(map(int, n)) == fijany_parallel.LINKS
    for (few, many), (a, b), (c, d) in zip(
        pairwise(n), pairwise(levels), pairwise(serial), strict=True
    ):
        assert (b - a) / np.log2(many / few) == pytest.approx(37, rel=0.15)
        assert (d - c) / (many - few) == pytest.approx(34, rel=0.05)
    for mine, other in zip(seen["segments_error"], seen["serial_error"], strict=True):
        assert mine is None or (other is not None and mine < 4 * other)


def test_a_crossing_is_found_between_two_sizes() -> None:
    rows = [(1, 10.0, 5.0), (4, 10.0, 20.0), (8, 10.0, 80.0)]
    assert lee_chirikjian_fig2._crossing(rows, 2) == pytest.approx(2.0)
    assert lee_chirikjian_fig2._crossing([(1, 1.0, 2.0), (2, 1.0, 3.0)], 2) is None
    assert slope([1, 2, 3], [3, 5, 7]) == (1, 2)


def test_what_a_call_costs_is_taken_out_of_what_a_solve_costs() -> None:
    """Calls for one state cost 4000 + 60 ns, one call for all states 4000 / STATES + 60 a state."""
    call, state = lee_chirikjian_fig2.call_and_state_costs(4060.0, 4000.0 / STATES + 60)
    assert (call, state) == (pytest.approx(4000.0), pytest.approx(60.0))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("load", "share"), [(0.3, 1.0), (4.0, 1.0), (0.3, 0.5)])
def test_a_measurement_on_a_busy_machine_says_so_on_page_and_picture(
    load: float, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timed(contestants: dict[str, Any]) -> dict[str, bench.Timing]:
        return {who: bench.Timing(who, 100.0, (100.0,), share, load) for who in contestants}

    monkeypatch.setattr(lee_chirikjian_fig2, "race", timed)
    page, _, svg, _ = reproduce.reproduce("lee-chirikjian-fig2", tmp_path)
    quiet = load < 1 and share == 1
    assert ("busy machine" not in page.read_text(encoding="utf-8")) == quiet
    assert ("busy machine" not in svg.read_text(encoding="utf-8")) == quiet


def test_a_race_knows_whether_it_was_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_load", lambda: 0.9)
    monkeypatch.setattr(bench, "ROUNDS", 2)
    asleep = bench.race({"asleep": lambda: time.sleep(0.002)})["asleep"]
    assert asleep.share < 0.5
    assert "busy" in bench.busy([asleep])
    assert not bench.busy([replace(asleep, share=1.0)])


def test_cyclic_reduction_deepens_by_a_constant() -> None:
    """The committed figures to 256 links, of which the smaller are counted again above."""
    columns, rows = read((PAGES / "fijany-depth.csv").read_text(encoding="utf-8"))
    assert int(rows[-1][0]) == 256
    for column, name in enumerate(columns):
        if name.endswith(":parallel"):
            steps = [
                int(more[column]) - int(fewer[column])
                for fewer, more in pairwise(rows)
                if int(fewer[0]) >= 4
            ]
            assert max(steps) - min(steps) <= 0.15 * min(steps), name


def test_the_best_count_stays_below_what_saha_printed_at_every_length() -> None:
    """The committed figures from 3 to 30 links, as above."""
    columns, rows = read((PAGES / "saha-counts.csv").read_text(encoding="utf-8"))
    table = [dict(zip(columns, map(int, row), strict=True)) for row in rows]
    assert [row["links"] for row in table] == list(range(3, 31))
    for row in table:
        methods = [
            name.removesuffix("_mul")
            for name in columns
            if name.endswith("_mul") and name != "printed_mul"
        ]
        best = min(methods, key=lambda name: row[f"{name}_mul"] + row[f"{name}_add"])
        assert row[f"{best}_mul"] < row["printed_mul"] == saha_counts.printed(row["links"])[0]
        assert row[f"{best}_add"] < row["printed_add"] == saha_counts.printed(row["links"])[1]


def test_the_command_lists_and_refuses_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["reproduce"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in reproduce.names())
    assert main(["reproduce", "saha-count"]) == 2
    assert "saha-counts" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "saha-counts", "-o", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(RequestError, match="symgen\\[plot\\]"):
        reproduce.reproduce("saha-counts", tmp_path)
