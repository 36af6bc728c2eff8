"""`symgen reproduce`: results at small sizes, their files, and the committed pages."""

from __future__ import annotations

import csv
import io
import re
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symgen.benchmarks import bench
from symgen.benchmarks.bench import STATES
from symgen.cli import main
from symgen.description.loading import load
from symgen.mechanism.mechanism import Body, Joint, Mechanism
from symgen.pages import reproduce
from symgen.pages.reproduce import (
    _chains,
    _page,
    _planar,
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
from symgen.pages.reproduce._page import slope
from symgen.pages.reproduce._planar import mass
from symgen.reference import planar_chain
from symgen.reference.mechanics import Reference
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import Shift, Turn

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "explanation" / "reproduce"
SMALL: dict[str, dict[str, Any]] = {
    "saha-counts": {"links": (3, 4, 10)},
    "fijany-depth": {"links": (2, 4, 8), "functions": ("mass_matrix_solve",)},
    "fijany-branches": {"links": (2, 4)},
    "fijany-parallel": {"links": (32,)},
    "lee-chirikjian-fig2": {"links": (1, 2, 4)},
    "lee-chirikjian-inverses": {"links": (4, 8)},
    "fixman-determinant": {"links": (2, 4, 8)},
    "fixman-potential": {
        "up_to": (60, 120, 180),
        "bonds": (2,),
        "chains": 200,
        "rounds": 3,
        "forgotten": 1,
    },
    "fixman-spatial": {"links": (2, 3)},
    "fixman-dihedral": {
        "up_to": (60, 120, 180),
        "beads": (4,),
        "chains": 200,
        "rounds": 3,
        "forgotten": 1,
    },
    "long-polymers": {"links": (40,)},
    "rodriguez-filter": {"samples": (50, 200)},
    "riccati-steady-state": {"cases": riccati_steady_state.CASES[1:8:3], "links": 300},
    "closed-chains": {"robots": ("four_bar",), "steps": 50},
}
COUNTED = {"saha-counts": (3, 4), "fijany-depth": (2, 4), "fijany-branches": (2, 4)}
"""Results that are equal on all machines, with the sizes at which they are counted again here."""


@pytest.fixture
def small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute every result at its small size."""
    for name, sizes in SMALL.items():
        result = reproduce.module(name)
        monkeypatch.setattr(
            result, "reproduce", lambda tell, run=result.reproduce, sizes=sizes: run(tell, **sizes)
        )


def read_table(text: str) -> tuple[list[str], list[list[str]]]:
    lines = list(csv.reader(io.StringIO(text)))
    return lines[0], lines[1:]


def test_every_result_of_the_papers_has_a_small_size_here() -> None:
    assert set(SMALL) == set(reproduce.names())


@pytest.mark.slow
@pytest.mark.usefixtures("small_sizes")
@pytest.mark.parametrize("name", reproduce.names())
def test_a_result_is_written_as_a_page_a_table_and_two_pictures(name: str, tmp_path: Path) -> None:
    progress: list[tuple[str, int, int]] = []
    written = reproduce.reproduce(name, tmp_path / "new", lambda *step: progress.append(step))
    assert [path.name for path in written] == [
        f"{name}.{ending}" for ending in ("md", "csv", "svg", "png")
    ]
    # no temporary file remains
    assert sorted(tmp_path.rglob("*.*")) == sorted(written)
    page, table, svg = (path.read_text(encoding="utf-8") for path in written[:3])
    columns, rows = read_table(table)
    assert len(rows) == len(next(iter(SMALL[name].values())))
    assert all(len(row) == len(columns) for row in rows)
    assert all(f"- `{column}`: " in page for column in columns)
    assert f"]({name}.svg)" in page
    assert "| the paper | measured here |" in page
    assert "**Where they differ.**" in page
    # an axis has a label with its unit
    assert svg.count("(count)") + svg.count("(ns)") + svg.count("links") >= 1
    assert written[3].read_bytes().startswith(b"\x89PNG")
    assert progress
    assert all(0 <= done <= total for _, done, total in progress)


@pytest.mark.slow
@pytest.mark.usefixtures("full_search")
@pytest.mark.parametrize("name", sorted(COUNTED))
def test_the_committed_counts_equal_new_counts(name: str) -> None:
    reproduce_result = reproduce.module(name).reproduce
    page = reproduce_result(lambda *_: None, links=COUNTED[name])
    columns, rows = read_table((PAGES / f"{name}.csv").read_text(encoding="utf-8"))
    assert list(page.columns) == columns
    assert [row for row in rows if int(row[0]) in COUNTED[name]] == read_table(page.csv())[1]


def committed(name: str) -> dict[int, dict[str, int]]:
    """Return the committed counts of a page, by number of links and column."""
    columns, rows = read_table((PAGES / f"{name}.csv").read_text(encoding="utf-8"))
    return {int(row[0]): dict(zip(columns, map(int, row), strict=True)) for row in rows}


@pytest.fixture
def counts_of_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read counts and depths from the committed tables instead of deriving Programs."""
    saha, depths, branches = map(committed, ("saha-counts", "fijany-depth", "fijany-branches"))

    def depth(n: int, function: str, method: str, *_: Any) -> Any:
        return SimpleNamespace(depth=depths[n][f"{function}={method}"])

    def depth_of_branches(chain: tuple[int, int], function: str, method: str, *_: Any) -> Any:
        n, length = chain
        return SimpleNamespace(depth=branches[n][fijany_branches._column(method, length)])

    monkeypatch.setattr(
        saha_counts,
        "counted",
        lambda n, method: (saha[n][f"{method}_mul"], saha[n][f"{method}_add"]),
    )
    monkeypatch.setattr(fijany_depth, "dh_chain", lambda n, twists: n)
    monkeypatch.setattr(fijany_depth, "derive", depth)
    monkeypatch.setattr(fijany_branches, "branched_chain", lambda n, length: (n, length))
    monkeypatch.setattr(fijany_branches, "derive", depth_of_branches)


@pytest.mark.usefixtures("counts_of_the_tables")
@pytest.mark.parametrize("name", sorted(COUNTED))
def test_a_page_of_counts_follows_from_its_table(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every sentence, fitted number and column of the committed page; it names the version that
    counted.
    """
    result = reproduce.module(name)
    page = result.reproduce(lambda *_: None)
    assert page.csv() == (PAGES / f"{name}.csv").read_text(encoding="utf-8")
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    _, _, after = text.partition("Counted on Programs of symgen ")
    monkeypatch.setattr(_page, "__version__", after.partition(":")[0])
    assert page.markdown(name, result.TITLE) == text


@pytest.mark.usefixtures("counts_of_the_tables")
@pytest.mark.parametrize("name", sorted(COUNTED))
def test_the_picture_of_counts_has_the_numbers_of_its_table(name: str) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(6, 4))
    page = reproduce.module(name).reproduce(lambda *_: None)
    page.draw(figure)
    drawn = {
        tuple(np.round(np.asarray(line.get_ydata(), dtype=float)).astype(int).tolist())
        for axes in figure.axes
        for line in axes.get_lines()
    }
    columns = list(zip(*page.rows, strict=True))[1:]
    if name == "saha-counts":  # sums of multiplications and additions
        columns = [
            tuple(map(sum, zip(*pair, strict=True)))
            for pair in zip(columns[::2], columns[1::2], strict=True)
        ]
    shown = [column for column in columns if tuple(column) in drawn]
    assert len(shown) >= len(columns) // 2
    assert all(axes.get_ylabel() or axes.get_title() for axes in figure.axes)


@pytest.mark.parametrize("name", reproduce.names())
def test_every_page_is_committed_with_its_picture(name: str) -> None:
    files = [PAGES / f"{name}.{ending}" for ending in ("md", "csv", "svg", "png")]
    assert all(file.stat().st_size > 300 for file in files)
    page = files[0].read_text(encoding="utf-8")
    assert reproduce.module(name).TITLE in page
    assert "Measured on:" in page or "the same on every machine" in page


def test_a_fitted_line_goes_through_its_depths() -> None:
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


def test_innovations_are_white_with_the_right_gains_only() -> None:
    """A gain that is 10 % too large gives correlated innovations."""
    chain = rodriguez_filter.chain(load("panda"), rodriguez_filter.STATE)
    generator = np.random.default_rng(1)
    y = rodriguez_filter.outputs(chain, 20_000, generator)
    assert rodriguez_filter.covariance_error(y, chain.mass) < 0.02
    assert rodriguez_filter.correlated(rodriguez_filter.innovations(chain, y)) < 0.04
    chain.gains[3] *= 1.1
    assert rodriguez_filter.correlated(rodriguez_filter.innovations(chain, y)) > 0.04


def test_the_mass_matrix_is_that_of_the_factors_of_a_filter() -> None:
    """A force on link k reaches joint i through all steps between them; M sums their products
    (4.2).
    """
    mechanism = _chains.dh_chain(4)
    filter_chain = rodriguez_filter.chain(mechanism, (0.3, -0.7, 0.5, 1.1))
    n = len(filter_chain)
    M = np.zeros((n, n))
    for k in range(n):
        rows, reach = np.zeros((n, 6)), np.eye(6)
        for i in reversed(range(k + 1)):
            rows[i] = filter_chain.axes[i] @ reach @ filter_chain.roots[k]
            reach = filter_chain.steps[i] @ reach
        M += rows @ rows.T
    assert filter_chain.mass == pytest.approx(M, abs=1e-12)
    assert np.prod(filter_chain.pivots) == pytest.approx(np.linalg.det(M))


def test_the_outputs_are_as_correlated_as_the_mass_matrix() -> None:
    """Read the committed figure of a million samples, whose standard error is below 1e-3."""
    columns, rows = read_table((PAGES / "rodriguez-filter.csv").read_text(encoding="utf-8"))
    M = rodriguez_filter.chain(load("panda"), rodriguez_filter.STATE).mass
    scale = np.sqrt(np.diag(M))
    largest = np.abs(M / np.outer(scale, scale) - np.eye(7)).max()
    measured = float(rows[-1][columns.index("largest_correlation_y")])
    assert measured == pytest.approx(largest, abs=3e-3)


def steady_case(name: str) -> riccati_steady_state.Case:
    return next(case for case in riccati_steady_state.CASES if case.name == name)


@pytest.mark.parametrize("name", ["planar, 30°", "alternating axes, 30° and 50°"])
def test_the_steady_solution_of_the_riccati_equation_equals_that_of_scipy(name: str) -> None:
    """Over a period, the joint torques are outputs with a covariance, and correlated with the
    wrench.
    """
    linalg = pytest.importorskip("scipy.linalg")
    case = steady_case(name)
    chain = riccati_steady_state.uniform_chain(case)
    n, period = len(chain.axis), case.period
    A, outputs, state_noise = np.eye(n), [], np.zeros((n, n * period))
    output_noise = []
    for k in range(1, 1 + period):  # from the second link of a period
        outputs.append(chain.axis @ A)
        output_noise.append(chain.axis @ state_noise)
        shift = chain.shifts[k % period]
        A, state_noise = shift @ A, shift @ state_noise
        state_noise[:, (k - 1) * n : k * n] += np.eye(n)
    noise = np.kron(np.eye(period), chain.inertia)
    G, C = np.array(output_noise), np.array(outputs)
    expected = linalg.solve_discrete_are(
        A.T, C.T, state_noise @ noise @ state_noise.T, G @ noise @ G.T, s=state_noise @ noise @ G.T
    )
    P, _ = riccati_steady_state.steady_solution(chain)
    assert np.abs(P - expected).max() < 1e-9 * np.abs(P).max()


@pytest.mark.parametrize("case", riccati_steady_state.CASES[1:6], ids=lambda case: case.name)
def test_the_error_of_p_falls_with_the_squared_spectral_radius_of_psi(
    case: riccati_steady_state.Case,
) -> None:
    """At 90° the dominant eigenvalues are complex, and the error oscillates about its line."""
    chain = riccati_steady_state.uniform_chain(case)
    assert not len(riccati_steady_state.unobservable_wrenches(chain))
    steady, rounds = riccati_steady_state.steady_solution(chain)
    period, P = case.period, riccati_steady_state.iterate(chain, 600)
    assert np.abs(P[1::period][-1] - steady).max() < 1e-12 * np.abs(steady).max()
    assert rounds <= 10
    radius = np.abs(np.linalg.eigvals(riccati_steady_state.closed_loop(chain, steady, 1))).max()
    errors = np.array([np.abs(x - steady).max() for x in P[1::period]])
    fitted = np.nonzero((errors < 1e-3) & (errors > 1e-9))[0]
    rate = np.exp(slope(fitted.tolist(), np.log(errors[fitted]).tolist())[1])
    assert rate == pytest.approx(radius**2, rel=0.05 if "90" in case.name else 0.002)


def test_p_grows_in_the_wrenches_that_no_joint_observes() -> None:
    """The gains converge, and P(k) relates to a wrench that the joints do not observe: an axial
    force, a screw, or a force.
    """
    wrenches = {}
    for case in riccati_steady_state.CASES[6:]:
        chain = riccati_steady_state.uniform_chain(case)
        basis = riccati_steady_state.unobservable_wrenches(chain)
        P = riccati_steady_state.iterate(chain, 401)
        gains = [x @ chain.axis / (chain.axis @ x @ chain.axis) for x in P[-1 - case.period :]]
        assert np.abs(gains[-1] - gains[0]).max() < 1e-12
        growth = P[400] - P[200]
        largest = np.linalg.eigh(growth)[1][:, -1]
        end = basis
        for k in range(400):
            end = end @ chain.shifts[k % case.period].T
        end = np.linalg.qr(end.T)[0]
        assert np.abs(largest - end @ (end.T @ largest)).max() < 1e-3, case.name
        wrenches[case.name] = basis
    dimensions = [len(basis) for basis in wrenches.values()]
    assert dimensions == [1, 2, 1, 1, 3, 4]
    assert np.abs(wrenches["planar, straight"][0]) == pytest.approx([0, 1, 0], abs=1e-12)
    pitch = {
        name: float(basis[0, :3] @ basis[0, 3:] / (basis[0, 3:] @ basis[0, 3:]))
        for name, basis in wrenches.items()
        if len(basis) == 1 and len(basis[0]) == 6
    }
    assert abs(pitch["helix, 30°"]) > 0.1
    assert abs(pitch["alternating axes, 30° and 30°"]) < 1e-9


@pytest.mark.parametrize("name", ["planar, 30°", "alternating axes, 30° and 50°", "helix, 30°"])
def test_the_pivots_of_a_uniform_chain_are_ratios_of_determinants_of_the_mass_matrix(
    name: str,
) -> None:
    case = steady_case(name)
    chain = riccati_steady_state.uniform_chain(case)
    P = riccati_steady_state.iterate(chain, 7)
    determinants = [
        np.linalg.det(
            Reference(riccati_steady_state.mechanism(case, n)).mass_matrix(
                riccati_steady_state.angles_from_base(case, n)[None]
            )[0]
        )
        for n in (6, 7)
    ]
    assert determinants[1] / determinants[0] == pytest.approx(
        float(chain.axis @ P[6] @ chain.axis), rel=1e-10
    )


def test_the_committed_rates_of_convergence_equal_the_predicted_ones() -> None:
    columns, rows = read_table((PAGES / "riccati-steady-state.csv").read_text(encoding="utf-8"))
    table = [dict(zip(columns, row, strict=True)) for row in rows]
    assert [row["case"] for row in table] == [case.name for case in riccati_steady_state.CASES]
    for row in table:
        assert float(row["pivot_difference"]) < 1e-13
        assert float(row["gain_change"]) < 1e-13
        if int(row["unobservable"]):
            exponent = 3 if row["case"] == "parallel axes in space, straight" else 1
            assert float(row["growth"]) == pytest.approx(exponent, abs=0.05)
        else:
            assert float(row["difference"]) < 1e-12
            assert float(row["rate_measured"]) == pytest.approx(
                float(row["rate_predicted"]), rel=0.03
            )
    axial = {row["case"]: float(row["axial"]) for row in table}
    assert axial["planar, 1°"] * np.radians(1) == pytest.approx(1, abs=0.03)


@pytest.mark.slow
def test_energy_and_loop_closure_errors_of_closed_chains_have_the_order_of_the_step() -> None:
    """Without the Lie bracket of the Stewart platform's plate, the error's order is below 4."""
    columns, rows = read_table((PAGES / "closed-chains.csv").read_text(encoding="utf-8"))
    table = [dict(zip(columns, row, strict=True)) for row in rows]
    assert [row["robot"] for row in table] == list(closed_chains.ACTS)
    assert all(float(row[ratio]) >= 14 for row in table for ratio in ("ratio", "apart_ratio"))
    assert all(float(row["drift_half"]) <= 1e-4 * float(row["kinetic"]) for row in table)
    assert closed_chains.run("stewart", 50).row[12] > 14
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closed_chains, "bracket", lambda robot, x, y: 0 * x)
        assert closed_chains.run("stewart", 50).row[12] < 5


def test_the_mass_matrix_of_the_planar_chain_equals_the_reference() -> None:
    q = np.random.default_rng(2).uniform(-3, 3, (4, 5))
    assert np.abs(mass(q) - Reference(load("planar_point_mass:5")).mass_matrix(q)).max() < 1e-13


def test_the_dense_gradient_equals_differences_of_the_mass_matrix() -> None:
    q, h = np.random.default_rng(3).uniform(-3, 3, (2, 4)), 1e-6
    derivatives = fixman_determinant.mass_matrix_derivatives(q)
    for k, unit in enumerate(np.eye(4)):
        assert (
            np.abs((mass(q + h * unit) - mass(q - h * unit)) / (2 * h) - derivatives[:, k]).max()
            < 1e-8
        )


def test_the_determinant_of_a_spatial_chain_is_that_of_wang_and_chirikjian_in_fractions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrong determinant of the bodies without joints is found at every state."""
    chain = _chains.dh_chain(4, "general")
    assert fixman_spatial.exact_states(chain, 3) == 3
    det_G = fixman_spatial.Operators.det_G.func
    monkeypatch.setattr(fixman_spatial.Operators, "det_G", property(lambda o: det_G(o) + det_G(o)))
    assert fixman_spatial.exact_states(chain, 3) == 0


def test_fixman_s_torque_on_a_spatial_chain_equals_differences_and_sixty_digits() -> None:
    chain = _chains.rod_chain(fixman_spatial.ROBOT)
    q = np.random.default_rng(6).uniform(-3, 3, (5, 3))
    torque = fixman_spatial.torque(q)
    value, gradient = fixman_spatial.reference_values(chain, q)
    program = fixman_spatial.program(chain, fixman_spatial.VALUE, fixman_spatial.RECURSION)
    assert np.abs(fixman_spatial.results(program, q)[:, 0] - value).max() < 1e-13
    assert np.abs(torque + gradient / 2).max() < 1e-13
    assert np.abs(torque + fixman_spatial.differences(program, q) / 2).max() < 1e-9
    assert np.abs(torque[:, 0]).max() < 1e-15
    assert np.abs(torque[:, 1:]).max() > 0.1


def test_the_density_of_poses_is_the_root_of_the_determinant_of_the_mass_matrix() -> None:
    angles, density = fixman_spatial.density(13)
    second, third = (x.ravel() for x in np.meshgrid(angles, angles))
    q = np.stack([0 * second + 1, second, third], axis=-1)
    chain = _chains.rod_chain(fixman_spatial.ROBOT)
    root = np.sqrt(np.linalg.det(Reference(chain).mass_matrix(q))).reshape(13, 13)
    assert density == pytest.approx(root / root[:-1, :-1].mean(), rel=1e-12)
    assert density[:-1, :-1].mean() == pytest.approx(1)


def test_the_committed_operations_of_spatial_determinants_grow_linearly_by_the_partition() -> None:
    """Each doubling from 8 links on doubles the partition and the recursion; pivots of M take four
    times as many.
    """
    columns, rows = read_table((PAGES / "fixman-spatial.csv").read_text(encoding="utf-8"))
    table = [{name: float(x) for name, x in zip(columns, row, strict=True) if x} for row in rows]
    assert [row["links"] for row in table] == list(fixman_spatial.LINKS)
    for fewer, more in pairwise(table[2:]):
        for name in ("partition_operations", "recursion_operations", "gradient_operations"):
            assert 2 < more[name] / fewer[name] < 2.4, name
    eight, sixteen = table[2:4]
    assert sixteen["pivots_operations"] / eight["pivots_operations"] > 4
    for row in table[:4]:
        assert row["exact_states"] == fixman_spatial.EXACT_STATES
        assert max(row["partition_error"], row["pivots_error"]) < 1e-12
        assert max(row["recursion_error"], row["gradient_error"]) < 1e-13
        assert row["difference_error"] < 1e-9


def test_the_law_of_rigid_bonds_is_the_root_of_the_determinant_of_the_mass_matrix() -> None:
    """Check two bonds against √(4 − cos² θ), and three bonds on a grid of both angles."""
    angles = np.arange(24) * np.pi / 12
    trimer = np.sqrt(4 - np.cos(angles) ** 2)
    assert np.abs(fixman_potential.rigid_law(2, 0, angles) - trimer / trimer.mean()).max() < 1e-9
    angle_pairs = np.stack([x.ravel() for x in np.meshgrid(angles, angles, indexing="ij")], axis=-1)
    q = np.concatenate([np.full((len(angle_pairs), 3), 0.3), angle_pairs], axis=-1)
    root = np.sqrt(np.linalg.det(Reference(fixman_potential.polymer(3)).mass_matrix(q))).reshape(
        24, 24
    )
    for angle_index, law in enumerate((root.mean(axis=1), root.mean(axis=0))):
        assert (
            np.abs(fixman_potential.rigid_law(3, angle_index, angles) - law / law.mean()).max()
            < 1e-6
        )


@pytest.mark.slow
def test_fixman_s_potential_removes_the_preferred_angle_of_a_rigid_trimer() -> None:
    """Without the potential, the mean of cos 2θ is that of √(4 − cos² θ); with the potential it is
    zero.

    Energy is conserved in both cases.
    """
    solver, law = fixman_potential.compiled(2), np.arange(180) * np.pi / 180
    expected = {
        False: float((np.cos(2 * law) * fixman_potential.rigid_law(2, 0, law)).mean()),
        True: 0.0,
    }
    assert expected[False] == pytest.approx(-0.036, abs=1e-3)
    for fixman, mean in expected.items():
        ensemble = fixman_potential.simulate(solver, 2000, 16, fixman)
        averages = np.cos(2 * ensemble.angles[5:, :, 0]).mean(axis=0)
        assert abs(averages.mean() - mean) < 3 * averages.std() / len(averages) ** 0.5 < 0.03
        assert ensemble.drift < 0.01


def test_the_committed_densities_follow_their_own_laws_only() -> None:
    """Deviations are measured in standard errors; chance alone gives a root mean square of 1."""
    columns, rows = read_table((PAGES / "fixman-potential.csv").read_text(encoding="utf-8"))
    column = {name: np.array([float(row[k]) for row in rows]) for k, name in enumerate(columns)}
    assert list(column["up_to"]) == list(fixman_potential.UP_TO)
    for n in fixman_potential.BONDS:
        rigid, fixman, law = column[f"rigid_{n}"], column[f"fixman_{n}"], column[f"law_{n}"]
        deviations = {
            "rigid from law": (rigid - law) / column[f"rigid_error_{n}"],
            "fixman from flat": (fixman - 1) / column[f"fixman_error_{n}"],
            "rigid from flat": (rigid - 1) / column[f"rigid_error_{n}"],
        }
        root_mean_square = {
            comparison: float(np.sqrt((x**2).mean())) for comparison, x in deviations.items()
        }
        assert root_mean_square["rigid from law"] < 1.5, n
        assert root_mean_square["fixman from flat"] < 1.5, n
        assert root_mean_square["rigid from flat"] > 5, n


@pytest.mark.parametrize("beads", [4, 6])
def test_the_hard_block_of_a_polymer_gives_the_determinant_of_its_mass_matrix(beads: int) -> None:
    """det M = det G · det H_bb; det G is the squared volume of unit bonds with fixed bond angles.

    Lengths that are held constant in LC (20) leave the determinant unchanged.
    """
    angles = np.random.default_rng(8).uniform(-np.pi, np.pi, (7, beads - 3))
    block = np.linalg.det(fixman_dihedral.hard_block(angles))
    q = fixman_dihedral.with_pose(angles)
    M = Reference(fixman_dihedral.polymer(beads)).mass_matrix(q)
    det_G = np.sin(np.radians(fixman_dihedral.BEND)) ** (2 * (beads - 2))
    assert np.linalg.det(M) / block == pytest.approx(np.full(7, det_G), rel=1e-11)
    printed = np.linalg.det(fixman_dihedral.hard_block(angles, lengths_are_constant=True))
    assert printed == pytest.approx(block, rel=1e-11)
    assert block.max() / block.min() > 1.1


def test_the_law_of_a_dihedral_angle_is_the_mean_over_the_others() -> None:
    """The mean over a grid of √det M of five beads; the zigzag is the zero of all angles."""
    nodes = np.arange(24) * np.pi / 12
    grid = np.stack([x.ravel() for x in np.meshgrid(nodes, nodes, indexing="ij")], axis=-1)
    M = Reference(fixman_dihedral.polymer(5)).mass_matrix(fixman_dihedral.with_pose(grid))
    root = np.sqrt(np.linalg.det(M)).reshape(24, 24)
    for angle_index, law in enumerate((root.mean(axis=1), root.mean(axis=0))):
        computed = fixman_dihedral.rigid_law(5, angle_index, nodes)
        assert np.abs(computed - law / law.mean()).max() < 1e-8
        assert computed == pytest.approx(
            fixman_dihedral.rigid_law(5, angle_index, -nodes), abs=1e-8
        )
    vectors = fixman_dihedral.bonds(np.zeros((1, 3)))[0]
    assert vectors[::2] == pytest.approx(np.broadcast_to(vectors[0], (3, 3)), abs=1e-15)


def test_the_chance_of_chi_square_equals_its_table() -> None:
    """Read the critical values of 1 and 11 degrees of freedom at 5 % from tables."""
    assert fixman_dihedral.exceedance(3.841, 1) == pytest.approx(0.05, abs=1e-4)
    assert fixman_dihedral.exceedance(19.675, 11) == pytest.approx(0.05, abs=1e-4)


@pytest.mark.slow
def test_only_fixman_s_potential_with_its_sign_makes_dihedral_angles_equally_likely() -> None:
    """Left out, angles follow √det H_bb. With the wrong sign they follow neither law.

    Equal arguments give equal chains, and a round that runs backwards returns to its start.
    """
    solver, edges = fixman_dihedral.compiled(4), np.radians([0, 30, 60, 90, 120, 150, 180])
    law, p = fixman_dihedral.class_law(4, 0, edges), {}
    for strength in (0.0, 1.0, -1.0):
        motion = fixman_dihedral.simulate(solver, 1000, 14, strength)
        assert motion.rejected < 0.001
        measured = fixman_dihedral.measured(motion.angles[5:, :, 0], edges, law)
        p[strength] = [
            fixman_dihedral.exceedance(x, len(edges) - 2)
            for x in (measured.from_rigid, measured.from_flat)
        ]
    assert p[0.0][0] > 0.01 > 1e-9 > p[0.0][1]
    assert p[1.0][1] > 0.01 > 1e-9 > p[1.0][0]
    assert max(p[-1.0]) < 1e-9
    first, again = (fixman_dihedral.simulate(solver, 50, 2, 1.0) for _ in range(2))
    assert np.array_equal(first.angles, again.angles)
    v = np.random.default_rng(2).standard_normal((50, solver.nv))
    end, rates = first.angles[-1], v
    for sign in (1, -1):
        rates = sign * rates
        for _ in range(fixman_dihedral.STEPS):
            end, rates = fixman_dihedral._step(solver, end, rates, 1.0)
    assert np.abs(end - first.angles[-1]).max() < 1e-3
    assert np.abs(rates + v).max() < 1e-3


def test_the_committed_densities_of_dihedral_angles_follow_their_own_laws_only() -> None:
    """Deviations are measured in standard errors; chance alone gives a root mean square of 1."""
    columns, rows = read_table((PAGES / "fixman-dihedral.csv").read_text(encoding="utf-8"))
    column = {name: np.array([float(row[k]) for row in rows]) for k, name in enumerate(columns)}
    assert list(column["up_to"]) == list(fixman_dihedral.UP_TO)
    edges = np.radians([0, *fixman_dihedral.UP_TO])
    for n in fixman_dihedral.BEADS:
        law = column[f"law_{n}"]
        assert law == pytest.approx(fixman_dihedral.class_law(n, (n - 4) // 2, edges), rel=1e-5)
        for kind, its_law, foreign_law in (("rigid", law, 1.0), ("fixman", 1.0, law)):
            deviations = [
                np.sqrt((((column[f"{kind}_{n}"] - x) / column[f"{kind}_error_{n}"]) ** 2).mean())
                for x in (its_law, foreign_law)
            ]
            assert deviations[0] < 1.5 < 5 < deviations[1], (n, kind)


def test_the_solution_determinant_and_gradient_of_the_planar_chain_equal_dense_ones() -> None:
    """Check the solution, ln det M and its gradient for a chain of nine links."""
    q, b = np.random.default_rng(4).uniform(-3, 3, (2, 9))
    M, step = mass(q[None])[0], 1e-6
    assert planar_chain.solution(q, b) == pytest.approx(np.linalg.solve(M, b), abs=1e-11)
    assert planar_chain.log_determinant(q) == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-12)
    differences = [
        (
            planar_chain.log_determinant(q + step * unit)
            - planar_chain.log_determinant(q - step * unit)
        )
        / (2 * step)
        for unit in np.eye(9)
    ]
    assert planar_chain.gradient(q) == pytest.approx(differences, abs=1e-8)


def test_errors_and_time_per_link_of_long_polymers_do_not_grow_with_length() -> None:
    """Read the committed figures.

    The time per link at the greatest length is at most 1.3 times that of 1000 links. Solving by
    segments takes at most 0.6 of that time. Every relative error is below 1e-14.
    """
    columns, rows = read_table((PAGES / "long-polymers.csv").read_text(encoding="utf-8"))
    column = {name: [float(row[k]) for row in rows] for k, name in enumerate(columns)}
    assert tuple(map(int, column["links"])) == long_polymers.LINKS
    for name, values in column.items():
        if name.endswith("_error"):
            assert max(values) < 1e-14, name
        if name.endswith("_ns"):
            assert values[-1] < 1.3 * values[1], name
    assert all(
        segments < 0.6 * solve
        for segments, solve in list(zip(column["segments_ns"], column["solve_ns"], strict=True))[1:]
    )


def test_depth_grows_per_doubling_in_levels_and_per_link_in_sweeps() -> None:
    """Read the committed figures; segments also have at most four times the error of the sweeps."""
    columns, rows = read_table((PAGES / "fijany-parallel.csv").read_text(encoding="utf-8"))
    column = {
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
    for segments_error, serial_error in zip(
        column["segments_error"], column["serial_error"], strict=True
    ):
        assert segments_error is None or (
            serial_error is not None and segments_error < 4 * serial_error
        )


def test_a_crossing_is_interpolated_between_two_sizes() -> None:
    rows = [(1, 10.0, 5.0), (4, 10.0, 20.0), (8, 10.0, 80.0)]
    assert lee_chirikjian_fig2._crossing(rows, 2) == pytest.approx(2.0)
    assert lee_chirikjian_fig2._crossing([(1, 1.0, 2.0), (2, 1.0, 3.0)], 2) is None
    assert slope([1, 2, 3], [3, 5, 7]) == (1, 2)


@pytest.mark.slow
def test_inverses_by_o_n_solves_equal_dense_inverses() -> None:
    """The rows of the solves with the unit vectors are the columns of M⁻¹; M is symmetric."""
    n, random = 12, np.random.default_rng(5)
    q = random.uniform(-3, 3, (1, n))
    inverse = np.empty((n, n))
    solver = _planar.compiled_loops(n)
    lee_chirikjian_inverses.column_by_column(solver, q, np.eye(n), inverse)()
    dense = np.linalg.inv(Reference(load(f"planar_point_mass:{n}")).mass_matrix(q))[0]
    assert np.abs(inverse - dense).max() < 1e-12 * np.abs(dense).max()
    contest = lee_chirikjian_inverses.Contest(4, random)
    contest.time()
    assert contest.row()[-1] < 1e-12
    assert all(0 < nanoseconds < 1e9 for nanoseconds in contest.row()[1:5])


def test_the_committed_times_of_inverses_have_slopes_3_2_and_1() -> None:
    """Read the committed figures; the fit takes the last two octaves, up to 1024 links.

    LAPACK performs more operations in a second for larger matrices, which lowers its exponent.
    """
    columns, rows = read_table((PAGES / "lee-chirikjian-inverses.csv").read_text(encoding="utf-8"))
    table = [[float(x) for x in row] for row in rows]
    assert [row[0] for row in table] == list(lee_chirikjian_inverses.LINKS)
    for name, low, high in (
        ("eliminated_ns", 2.8, 3.3),
        ("inverse_ns", 2.4, 3.2),
        ("inverse_by_solves_ns", 1.8, 2.2),
        ("solve_ns", 0.9, 1.2),
    ):
        assert low < lee_chirikjian_inverses.order(table, columns.index(name)) < high, name
    assert all(row[columns.index("inverse_difference")] < 1e-7 for row in table)
    assert table[-1][4] < table[-1][3] < table[-1][1] < table[-1][2]


def test_processor_time_does_not_count_waiting() -> None:
    assert lee_chirikjian_inverses.processor_time(lambda: time.sleep(0.1), 1) < 0.02e9
    assert lee_chirikjian_inverses.processor_time(lambda: sum(range(10**6)), 1) > 1e6


def test_the_cost_of_a_call_is_separated_from_the_cost_of_a_solve() -> None:
    """A call for one state costs 4000 + 60 ns; a call for all states costs 4000 / STATES + 60 ns
    each.
    """
    call, state = lee_chirikjian_fig2.call_and_state_costs(4060.0, 4000.0 / STATES + 60)
    assert (call, state) == (pytest.approx(4000.0), pytest.approx(60.0))


@pytest.mark.slow
@pytest.mark.usefixtures("small_sizes")
@pytest.mark.parametrize(("load", "share"), [(0.3, 1.0), (4.0, 1.0), (0.3, 0.5)])
def test_page_and_picture_note_a_measurement_on_a_busy_machine(
    load: float, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timed(contestants: dict[str, Any]) -> dict[str, bench.Timing]:
        return {label: bench.Timing(label, 100.0, (100.0,), share, load) for label in contestants}

    monkeypatch.setattr(lee_chirikjian_fig2, "race", timed)
    page, _, svg, _ = reproduce.reproduce("lee-chirikjian-fig2", tmp_path)
    quiet = load < 1 and share == 1
    assert ("busy machine" not in page.read_text(encoding="utf-8")) == quiet
    assert ("busy machine" not in svg.read_text(encoding="utf-8")) == quiet


def test_a_race_with_little_processor_time_is_reported_as_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bench, "_load", lambda: 0.9)
    monkeypatch.setattr(bench, "ROUNDS", 2)
    # Long enough that a garbage collection or another thread of this process takes a small part.
    sleeping = bench.race({"sleep": lambda: time.sleep(0.1)})["sleep"]
    assert sleeping.share < 0.5
    assert "busy" in bench.busy([sleeping])
    assert not bench.busy([replace(sleeping, share=1.0)])


def test_the_depth_of_cyclic_reduction_grows_by_a_constant_per_doubling() -> None:
    """Read the committed figures up to 256 links; a test above counts those of few links again."""
    columns, rows = read_table((PAGES / "fijany-depth.csv").read_text(encoding="utf-8"))
    assert int(rows[-1][0]) == 256
    for column, name in enumerate(columns):
        if name.endswith(":parallel"):
            steps = [
                int(more[column]) - int(fewer[column])
                for fewer, more in pairwise(rows)
                if int(fewer[0]) >= 4
            ]
            assert max(steps) - min(steps) <= 0.15 * min(steps), name


def test_side_branches_add_one_doubling_to_the_depth_of_cyclic_reduction() -> None:
    """Read the committed figures up to 32 links; a test above counts those of few links again.

    With branches, each doubling adds what it adds without, and the serial elimination doubles
    its depth for each link: it visits one joint after another.
    """
    columns, rows = read_table((PAGES / "fijany-branches.csv").read_text(encoding="utf-8"))
    column = {name: [int(row[k]) for row in rows] for k, name in enumerate(columns)}
    links = column["links"]
    assert tuple(links) == fijany_branches.LINKS
    parallel, serial, dense = (
        {length: column[f"{method}={length}"] for length in fijany_branches.LENGTHS}
        for method in fijany_branches.METHODS
    )
    assert parallel[1][1:] == [149, 186, 223, 260]
    assert serial[1] == [143, 283, 563, 1123, 2243]
    bare = fijany_branches.steps(links, parallel[0])
    for length in (1, 2):
        assert fijany_branches.steps(links, parallel[length]) == pytest.approx(bare, abs=1)
        assert all(
            with_branches - without <= bare[0] + 1
            for with_branches, without in zip(parallel[length], parallel[0], strict=True)
        )
    # N links with branches of one link are as deep in serial order as 2 N links without branches
    assert serial[1][:-1] == serial[0][1:]
    assert {b - a for a, b in zip(dense[0][1:], dense[1][1:], strict=True)} == {37}


def test_a_link_has_the_inertia_of_its_point_masses() -> None:
    """Five masses in grams, and then their places in millimetres."""
    drawn = [*range(200, 1200, 200), *(37 * k % 601 - 300 for k in range(15))]
    remaining = iter(drawn)
    random: Any = SimpleNamespace(randint=lambda low, high: next(remaining))
    part = _chains._solid("link", random)
    masses, points = np.array(drawn[:5]) / 1000, np.array(drawn[5:]).reshape(5, 3) / 1000
    centre = masses @ points / masses.sum()
    arms = points - centre
    tensor = sum(
        m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        for m, arm in zip(masses, arms, strict=True)
    )
    assert float(part.mass) == pytest.approx(masses.sum())
    (body,) = Reference(
        Mechanism("one", (Joint("hinge", "revolute", -1),), (Body("link", (part,)),))
    ).parts()
    assert np.asarray(body.centre) == pytest.approx(centre)
    assert np.asarray(body.inertia) == pytest.approx(tensor)
    assert not list(remaining)


def test_twists_of_a_chain_are_general_square_or_right() -> None:
    """Radians of general twists are from 0.2 to 1.3 to both sides; others are quarter turns."""

    def twists(kind: str) -> list[float]:
        poses = [joint.pose for joint in _chains.dh_chain(60, kind).joints[1:]]
        steps = [step for pose in poses for step in pose if isinstance(step, Turn)]
        return [
            round(float(step.angle.radians) + float(step.angle.pi) * np.pi, 9) for step in steps
        ]

    general = twists("general")
    assert {np.sign(x) for x in general} == {-1, 1}
    assert all(0.2 <= abs(x) <= 1.3 for x in general)
    quarter = round(np.pi / 2, 9)
    assert {abs(x) for x in twists("right")} == {quarter}
    assert set(twists("square")) <= {-quarter, 0, quarter, round(np.pi, 9)}
    assert round(np.pi, 9) in twists("square")
    shifts = [joint.pose[0] for joint in _chains.dh_chain(30).joints[1:]]
    lengths = [float(x) for shift in shifts if isinstance(shift, Shift) for x in shift.xyz[::2]]
    assert len(lengths) == 58
    assert all(0.1 <= x <= 0.5 for x in lengths)


def test_a_branched_chain_has_the_links_of_the_chain_and_a_branch_at_each_main_link() -> None:
    chain, tree = _chains.dh_chain(9, "general"), _chains.branched_chain(3, 2)
    assert [joint.parent for joint in tree.joints] == [-1, 0, 1, 0, 3, 4, 3, 6, 7]
    assert tree.bodies == chain.bodies
    assert [replace(joint, parent=0) for joint in tree.joints] == [
        replace(joint, parent=0) for joint in chain.joints
    ]
    assert _chains.branched_chain(3, 0).joints == _chains.dh_chain(3, "general").joints


def test_the_best_count_is_below_the_count_printed_by_saha_at_every_length() -> None:
    """Read the committed figures from 3 to 30 links; a test above recounts those of few links."""
    columns, rows = read_table((PAGES / "saha-counts.csv").read_text(encoding="utf-8"))
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


def page_of_a_point(busy: str = "", machine: dict[str, str] | None = None) -> _page.Page:
    """Return a page with one chart of one point, 2 inches high."""

    def draw(figure: Any) -> None:
        chart = figure.subplots()
        chart.plot([1], [2], "o", label="a point")

    return _page.Page(
        "source",
        "says",
        "measured",
        "differs",
        ("n", "x", "y"),
        ((1, 1 / 3, None), (2, 1e-20, "word")),
        {"n": "count", "x": "figure", "y": "perhaps"},
        draw,
        height=2.0,
        machine=machine or {},
        busy=busy,
    )


def test_files_of_a_result_are_its_page_its_table_and_its_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A picture of 7.5 by 2 inches has 110 pixels in each inch."""
    pytest.importorskip("matplotlib")
    steps: list[Any] = []

    def result(tell: Any) -> _page.Page:
        tell("work", 0, 1)
        return page_of_a_point(machine={"NumPy": "2"})

    module = SimpleNamespace(TITLE="A point", reproduce=result)
    monkeypatch.setattr(reproduce, "module", lambda name: module)
    written = reproduce.reproduce("a-point", tmp_path / "new", lambda *step: steps.append(step))
    assert [path.name for path in written] == [f"a-point.{e}" for e in ("md", "csv", "svg", "png")]
    assert sorted(written) == sorted((tmp_path / "new").iterdir())
    assert steps == [("work", 0, 1)]
    page, table, svg = (path.read_text(encoding="utf-8") for path in written[:3])
    assert table == "n,x,y\n1,0.333333,\n2,1e-20,word\n"
    assert page.startswith(
        "# A point\n\n`symgen reproduce a-point` · source\n\n![A point](a-point.svg)"
    )
    assert "| says | measured |" in page
    assert "- `y`: perhaps\n\nMeasured on:\n\n- NumPy: 2\n" in page
    assert "busy" not in page + svg
    image = written[3].read_bytes()
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    assert [int.from_bytes(image[k : k + 4], "big") for k in (16, 20)] == [825, 220]
    assert 'width="540pt" height="144pt"' in svg
    assert reproduce.reproduce("a-point", tmp_path / "new")[0].read_text(encoding="utf-8") == page


def test_a_busy_machine_is_noted_on_the_page_and_at_the_upper_right_of_the_picture() -> None:
    pytest.importorskip("matplotlib")
    page = page_of_a_point(busy="measured on a busy machine")
    svg = _page.picture(page, "svg").decode()
    note = svg[: svg.index(">measured on a busy machine<")].rpartition("<text")[2]
    assert _page.WARNING in note
    assert "text-anchor: end" in note
    assert "font-size: 11px" in note or "font: 11px" in note
    x, y = map(
        float,
        re.findall(r"translate\(([\d.]+) ([\d.]+)\)|x=\"([\d.]+)\" y=\"([\d.]+)\"", note)[0][2:],
    )
    assert x == pytest.approx(0.99 * 540)
    assert y < 20
    assert "These times were measured on a busy machine" in page.markdown("a", "A")
    assert "the same on every machine" in page.markdown("a", "A")


def test_labels_at_the_ends_of_lines_keep_a_distance_from_each_other() -> None:
    """Ends at 9, 8.9 and 1 of an axis from 0 to 10: the second one moves below the first."""
    figure = pytest.importorskip("matplotlib.figure").Figure()
    chart = figure.subplots()
    chart.set_ylim(0, 10)
    ends = [(8.9, "second", "red"), (1.0, "third", "blue"), (9.0, "first", "green")]
    _page.label_ends(chart, ends, gap=0.05)
    places = {text.get_text(): text.xy for text in chart.texts}
    assert places["first"] == (1.01, pytest.approx(0.9))
    assert places["second"][1] == pytest.approx(0.85)
    assert places["third"][1] == pytest.approx(0.1)
    assert [text.get_color() for text in chart.texts] == ["green", "red", "blue"]
    high = figure.subplots()
    _page.label_ends(high, [(50.0, "above", "red")])
    assert high.texts[0].xy[1] <= 2.0


def test_ticks_of_a_logarithmic_axis_are_the_measured_sizes() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    chart = figure.subplots()
    chart.set_xscale("log", base=2)
    _page.doubling_ticks(chart.xaxis, (3, 8, 100))
    assert list(chart.get_xticks()) == [3, 8, 100]
    assert [label.get_text() for label in chart.get_xticklabels()] == ["3", "8", "100"]
    assert not list(chart.get_xticks(minor=True))


def test_the_command_lists_results_and_refuses_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["reproduce"]) == 0
    listing = capsys.readouterr().out
    assert all(name in listing for name in reproduce.names())
    assert main(["reproduce", "saha-count"]) == 2
    assert "saha-counts" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "saha-counts", "-o", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(RequestError, match="symgen\\[plot\\]"):
        reproduce.reproduce("saha-counts", tmp_path)
