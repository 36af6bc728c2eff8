"""Rows of `symgen reproduce`: times, ratios and errors from functions whose results and times are
known.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symgen.benchmarks.bench import STATES, Timing
from symgen.description.loading import load
from symgen.pages.reproduce import (
    _threads,
    fijany_parallel,
    fixman_determinant,
    fixman_spatial,
    lee_chirikjian_fig2,
    lee_chirikjian_inverses,
    long_polymers,
    rodriguez_filter,
    saha_counts,
)
from symgen.pages.reproduce._planar import mass
from symgen.reference import planar_chain

ERROR = 1e-6
"""Relative error of the results of `Dense`."""


class Dense:
    """Functions of the planar chain by dense algebra; their results are too large by a part."""

    def __init__(self, error: float = ERROR) -> None:
        self.factor = 1 + error
        self.programs = {
            "mass_matrix_solve": SimpleNamespace(cost=17),
            "mass_matrix_log_determinant": SimpleNamespace(cost=23),
            "mass_matrix_log_determinant_gradient": SimpleNamespace(cost=29),
        }

    def bind(self, function: str, q: Any, *arrays: Any) -> Callable[[], None]:
        *b, out = arrays

        def call() -> None:
            M = mass(q)
            if function == "mass_matrix_solve":
                out[:] = self.factor * np.linalg.solve(M, b[0][..., None])[..., 0]
            elif function == "mass_matrix_log_determinant":
                out[:] = self.factor * np.linalg.slogdet(M)[1]
            else:
                dM = fixman_determinant.mass_matrix_derivatives(q)
                out[:] = self.factor * np.trace(np.linalg.inv(M)[:, None] @ dM, axis1=-2, axis2=-1)

        return call


def race_with(medians: dict[str, float]) -> Callable[[dict[str, Callable[[], None]]], Any]:
    """Return a race that runs each call once and has these medians."""

    def race(calls: dict[str, Callable[[], None]]) -> dict[str, Timing]:
        for call in calls.values():
            call()
        return {label: Timing(label, medians[label], (medians[label],)) for label in calls}

    return race


def generator() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("unrolled_to", [2, 1])
def test_a_row_of_solves_has_medians_costs_and_the_backward_error(
    unrolled_to: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call of LAPACK for one state takes 3000 ns and the solve 10 ns a state."""
    methods = []

    def compiled(n: int, method_of: dict[str, str]) -> Dense:
        methods.append((n, method_of["mass_matrix_solve"]))
        return Dense()

    medians = {"fixman": 5.0, "elimination": 7.0, "alone": 3010.0, "lapack": 3000 / STATES + 10}
    monkeypatch.setattr(lee_chirikjian_fig2, "compiled", compiled)
    monkeypatch.setattr(lee_chirikjian_fig2, "race", race_with(medians))
    monkeypatch.setattr(lee_chirikjian_fig2, "UNROLLED_TO", unrolled_to)
    row, timings = lee_chirikjian_fig2._row(2, generator())
    unrolled = unrolled_to >= 2
    assert row[:3] == (2, 5.0, 7.0 if unrolled else None)
    assert row[3:6] == (pytest.approx(10), pytest.approx(3000), 17)
    labels = ["fixman", "lapack", "alone", *(["elimination"] if unrolled else [])]
    assert [timing.contestant for timing in timings] == labels
    assert methods == [(2, "fixman"), (2, "composite_body")][: 1 + unrolled]
    random = generator()
    q, b = random.uniform(-np.pi, np.pi, (STATES, 2)), random.uniform(-1, 1, (STATES, 2))
    errors = []
    for M, right in zip(mass(q), b, strict=True):
        x = (1 + ERROR) * np.linalg.solve(M, right)
        size = np.linalg.norm(M, np.inf) * np.linalg.norm(x, np.inf)
        errors.append(
            ERROR * np.linalg.norm(right, np.inf) / (size + np.linalg.norm(right, np.inf))
        )
    assert row[6] == pytest.approx(max(errors), rel=1e-6)


def test_the_calls_of_numpy_solve_all_states_at_once_or_one_after_another() -> None:
    shapes = []
    M, right = np.broadcast_to(np.eye(2), (3, 2, 2)), np.ones((3, 2, 1))

    def solve(matrices: Any, columns: Any) -> None:
        shapes.append((matrices.shape, columns.shape))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.linalg, "solve", solve)
        lee_chirikjian_fig2._solving(M, right)()
        lee_chirikjian_fig2._one_by_one(M, right)()
    assert shapes == [((3, 2, 2), (3, 2, 1)), *[((2, 2), (2, 1))] * 3]


def test_exponents_of_few_sizes_are_fitted_to_all_of_them() -> None:
    """t = n² in column 1 and n³ in column 2."""
    few = [(n, float(n**2), float(n**3)) for n in (2, 4, 8)]
    for module_order in (
        lee_chirikjian_fig2._order,
        lee_chirikjian_inverses.order,
        fixman_spatial._order,
    ):
        assert [module_order(few, column) for column in (1, 2)] == pytest.approx([2, 3])


@pytest.mark.parametrize(
    ("module_order", "first"),
    [
        (lee_chirikjian_fig2._order, lee_chirikjian_fig2.FITTED_FROM),
        (lee_chirikjian_inverses.order, lee_chirikjian_inverses.FITTED_FROM),
        (fixman_spatial._order, fixman_spatial.FITTED_FROM),
    ],
)
def test_exponents_of_long_chains_do_not_depend_on_short_chains(
    module_order: Any, first: int
) -> None:
    rows = [(1, 1e9), (first // 2, 1e9), *((n, float(n) ** 1.5) for n in (first, 2 * first))]
    assert module_order(rows, 1) == pytest.approx(1.5)


def test_rows_without_a_figure_are_left_out_of_an_exponent() -> None:
    rows = [(8, 64.0), (16, 256.0), (32, None)]
    assert fixman_spatial._order(rows, 1) == pytest.approx(2)
    crossing = lee_chirikjian_fig2._crossing([(1, 1.0, 0.5), (2, 1.0, None), (4, 1.0, 2.0)], 2)
    assert crossing == pytest.approx(2)


def test_a_time_that_is_never_exceeded_is_lower_at_every_size() -> None:
    rows = [(3, 1.0), (5, 1.0)]
    assert lee_chirikjian_fig2._from(None, rows) == "at every n from 3 on"
    assert lee_chirikjian_fig2._from(2.25, rows) == "from n ≈ 2.2 on"


def test_the_crossing_of_inverses_is_on_a_line_between_logarithms() -> None:
    """LAPACK's inverse takes half the time of the solves at n = 4 and twice their time at 16."""
    rows = [(4, 1.0, 0.0, 2.0, 0.0), (16, 8.0, 0.0, 4.0, 0.0), (64, 99.0, 0.0, 1.0, 0.0)]
    assert lee_chirikjian_inverses._crossing(rows) == "The n solves are faster from n ≈ 8 on."
    equal = [(4, 2.0, 0.0, 2.0, 0.0), (16, 8.0, 0.0, 4.0, 0.0)]
    assert lee_chirikjian_inverses._crossing(equal) == "The n solves are faster from n ≈ 4 on."
    assert lee_chirikjian_inverses._crossing(rows[1:]) == ""


def test_durations_have_three_digits_in_microseconds_or_milliseconds() -> None:
    durations = [lee_chirikjian_inverses.duration(x) for x in (1234.0, 999_000.0, 1e6, 2.5e8)]
    assert durations == ["1.23 µs", "999 µs", "1 ms", "250 ms"]


@pytest.mark.parametrize(("dense_to", "value_error"), [(2, 1e-6), (1, 1e-4)])
def test_a_row_of_determinants_has_errors_relative_to_the_largest_entry(
    dense_to: int, value_error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    medians = {"value": 3.0, "gradient": 4.0, "slogdet": 5.0, "traces": 6.0}
    monkeypatch.setattr(fixman_determinant, "compiled", lambda n, methods: Dense(value_error))
    monkeypatch.setattr(fixman_determinant, "race", race_with(medians))
    monkeypatch.setattr(fixman_determinant, "DENSE_GRADIENT_TO", dense_to)
    row, timings = fixman_determinant._row(2, generator())
    dense = dense_to >= 2
    assert row[:7] == (2, 23, 29, 3.0, 5.0, 4.0, 6.0 if dense else None)
    assert (row[7], row[9]) == (pytest.approx(value_error), pytest.approx(value_error))
    assert row[8] < 1e-14
    assert row[10] < 1e-14 if dense else row[10] is None
    assert len(timings) == 3 + dense


def test_an_error_is_relative_to_the_largest_entry_of_the_first_states() -> None:
    results, true = np.array([[1.0, 4.5], [-2.0, 1.0], [7.0, 7.0]]), [[1.25, 4.0], [-2.0, 1.0]]
    assert fixman_determinant._relative_error(results, np.array(true)) == 0.5 / 4
    assert long_polymers._off(np.array([1.0, -3.5]), np.array([1.25, -4.0])) == 0.5 / 4
    assert fijany_parallel._off(np.array([1.0, -3.5]), [1.25, -4.0]) == 0.5 / 4


@pytest.mark.parametrize("has_threads", [True, False])
def test_a_row_of_long_polymers_has_times_a_link_and_relative_errors(
    has_threads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times are those of one call for one state; a median is for STATES states."""
    errors = {long_polymers.SERIAL: 1e-3, "segments": 2e-3, "levels": 4e-3}
    compiled_with: list[tuple[int, bool]] = []

    def compiled(n: int, shared: bool) -> dict[str, Dense]:
        compiled_with.append((n, shared))
        return {label: Dense(error) for label, error in errors.items()}

    medians = {"solve": 2.0, "segments": 4.0, "levels": 6.0, "value": 8.0, "gradient": 10.0}

    def raced(calls: Any, sharing: Any, setter: Any) -> Any:
        single = race_with(medians)(calls)
        half = {label: Timing(label, medians[label] / 2, (1.0,)) for label in sharing}
        return single, half if setter else {}

    monkeypatch.setattr(long_polymers, "compiled", compiled)
    monkeypatch.setattr(long_polymers, "raced", raced)
    row, timings = long_polymers._row(4, generator(), (lambda _: None) if has_threads else None)
    assert compiled_with == [(4, has_threads)]
    figures = dict(zip(long_polymers.COLUMNS, row, strict=True))
    per_link = STATES / 4
    assert figures["links"] == 4
    for column, median in medians.items():
        assert figures[f"{column}_ns"] == median * per_link
    shared_times = [figures["segments_2_ns"], figures["levels_2_ns"]]
    assert shared_times == ([2 * per_link, 3 * per_link] if has_threads else [None, None])
    for column, error in (("solve", 1e-3), ("segments", 2e-3), ("levels", 4e-3)):
        assert figures[f"{column}_error"] == pytest.approx(error, rel=1e-9)
    assert figures["value_error"] == pytest.approx(1e-3)
    assert figures["gradient_error"] == pytest.approx(1e-3)
    assert len(timings) == (7 if has_threads else 5)


@pytest.mark.parametrize("shared", [True, False])
def test_only_parallel_solves_share_their_work_among_threads(
    shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def from_programs(name: str, programs: Any, sizes: Any, optimize: int, threads: bool) -> Any:
        assert optimize == 2
        return programs, threads

    monkeypatch.setattr(long_polymers, "Solver", SimpleNamespace(from_programs=from_programs))
    monkeypatch.setattr(
        long_polymers,
        "build",
        SimpleNamespace(build_form=lambda robot, function, method, options: method),
    )
    sweeps = dict.fromkeys(
        (long_polymers.SOLVE, long_polymers.VALUE, long_polymers.GRADIENT), "fixman:planar"
    )
    compiled: Any = long_polymers.compiled(3, shared)
    assert compiled == {
        "fixman:planar": (sweeps, False),
        "segments": ({"mass_matrix_solve": "fixman:segments"}, shared),
        "levels": ({"mass_matrix_solve": "fixman:parallel"}, shared),
    }


def test_times_are_not_given_in_words_without_a_measurement() -> None:
    first, last = {"solve_ns": 20.0, "levels_2_ns": None}, {"solve_ns": 25.0, "levels_2_ns": None}
    assert long_polymers._time(last, first, "solve_ns") == "25 ns a link, 1.25 times"
    assert long_polymers._time(last, first, "levels_2_ns") == "not measured"


def test_only_calls_that_share_work_run_with_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Any] = []

    def race(calls: Any) -> Any:
        steps.append(sorted(calls))
        return dict.fromkeys(calls, len(steps))

    monkeypatch.setattr(_threads, "race", race)
    calls: Any = dict.fromkeys(("sweeps", "levels"), print)
    single: Any = _threads.raced(calls, ["levels"], None)
    assert single == ({"sweeps": 1, "levels": 1}, {})
    steps.clear()
    alone, together = _threads.raced(calls, ["levels"], steps.append)
    assert steps == [1, ["levels", "sweeps"], 2, ["levels"]]
    assert (set(alone), set(together)) == ({"sweeps", "levels"}, {"levels"})


@pytest.mark.parametrize(
    ("processors", "is_set"), [(1, False), (2, True), (8, True), (None, False)]
)
def test_threads_need_openmp_and_two_processors(
    processors: int | None, is_set: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = SimpleNamespace(omp_set_num_threads=print)
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    assert _threads.threads() == (print if is_set else None)

    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert _threads.threads() is None


class FormOfKnownSize:
    """A looped form with a depth, a table and a result in any numbers: a = q + 2 v − 3 τ."""

    real = "double"
    constant_count = 5

    def __init__(self, method: str) -> None:
        self.depth = len(method)

    @staticmethod
    def run(arguments: Any, numbers: Any) -> Any:
        q, v, tau = (np.array(arguments[name]) for name in ("q", "v", "tau"))
        return {"a": list(q + 2 * v - 3 * tau)}


@pytest.mark.parametrize("has_threads", [True, False])
@pytest.mark.parametrize("n", [31, 32])
def test_a_row_of_forward_dynamics_has_times_bytes_depths_and_errors(
    n: int, has_threads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Segments need 32 links. Each method's acceleration is wrong by its own part."""
    errors = {"riccati": 1e-3, "constraint_force": 2e-3, "constraint_force:parallel": 3e-3}
    errors["riccati:segments"] = 4e-3
    ready: list[str] = []

    def build_form(chain: Any, function: str, method: str, options: Any) -> FormOfKnownSize:
        assert (len(chain.bodies), function) == (n, "forward_dynamics")
        ready.append(method)
        return FormOfKnownSize(method)

    def from_programs(
        name: str, programs: Any, sizes: Any, optimize: int, threads: bool
    ) -> SimpleNamespace:
        assert (optimize, threads) == (2, has_threads)
        error = errors[ready[len(made)]]
        made.append(programs)

        def bind(function: str, q: Any, v: Any, tau: Any, out: Any) -> Callable[[], None]:
            def call() -> None:
                out[:] = (1 + error) * (q + 2 * v - 3 * tau)

            return call

        return SimpleNamespace(bind=bind)

    def raced(calls: Any, sharing: Any, setter: Any) -> Any:
        rounds = {method: (50.0, 10.0 + k, 20.0) for k, method in enumerate(calls)}
        for call in calls.values():
            call()
        single = {method: Timing(method, 20.0, values) for method, values in rounds.items()}
        several = {method: Timing(method, 2.0, (2.0,)) for method in sharing if method in calls}
        return single, several if setter else {}

    made: list[Any] = []
    monkeypatch.setattr(fijany_parallel, "build", SimpleNamespace(build_form=build_form))
    monkeypatch.setattr(fijany_parallel, "Solver", SimpleNamespace(from_programs=from_programs))
    monkeypatch.setattr(fijany_parallel, "raced", raced)
    monkeypatch.setattr(fijany_parallel, "printer", lambda: SimpleNamespace(work=lambda form: 11))
    setter = (lambda threads: None) if has_threads else None
    row, timings = fijany_parallel._row(n, generator(), setter)
    figures = dict(zip(fijany_parallel.COLUMNS, row, strict=True))
    has_segments = n == 32
    labels = ["serial", "cut", "levels", *(["segments"] if has_segments else [])]
    for k, label in enumerate(labels):
        assert figures[f"{label}_ns"] == (10 + k) * STATES / n
        assert figures[f"{label}_bytes"] == 8 * (11 + 5) / n
        if fijany_parallel.KNOWN:
            assert figures[f"{label}_error"] == pytest.approx((k + 1) * 1e-3)
    if not has_segments:
        assert {figures[f"segments_{kind}"] for kind in ("ns", "bytes", "error")} == {None}
    assert figures["levels_2_ns"] == (2 * STATES / n if has_threads else None)
    assert figures["segments_2_ns"] == (2 * STATES / n if has_threads and has_segments else None)
    assert figures["serial_depth"] == len("riccati")
    assert figures["levels_depth"] == len("constraint_force:parallel")
    assert len(timings) == len(labels) + (len(labels) - 2 if has_threads else 0)


def test_errors_are_not_known_without_longer_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fijany_parallel, "KNOWN", False)
    form: Any = FormOfKnownSize("riccati")
    assert fijany_parallel._errors({"riccati": np.zeros((1, 1))}, form, []) == {}


def test_words_about_forward_dynamics_compare_columns() -> None:
    rows: list[dict[str, Any]] = [
        {"links": 16, "serial_ns": 10.0, "cut_ns": 30.0, "levels_ns": 8.0, "segments_ns": None,
         "levels_2_ns": 4.0, "segments_2_ns": None, "levels_depth": 100, "serial_error": 2e-16},
        {"links": 64, "serial_ns": 10.0, "cut_ns": 20.0, "levels_ns": 9.0, "segments_ns": 5.0,
         "levels_2_ns": 11.0, "segments_2_ns": 6.0, "levels_depth": 174, "serial_error": 1e-16},
        {"links": 128, "serial_ns": 10.0, "cut_ns": 45.0, "levels_ns": 19.0, "segments_ns": 15.0,
         "levels_2_ns": 21.0, "segments_2_ns": 16.0, "levels_depth": 215, "serial_error": None},
    ]  # fmt: skip
    assert fijany_parallel._spread(rows, "cut_ns", "serial_ns") == "2.00 (at 64) to 4.50"
    assert fijany_parallel._spread(rows, "segments_ns", "serial_ns") == "0.50 (at 64) to 1.50"
    assert fijany_parallel._spread(rows[:1], "segments_ns", "serial_ns") == "not measured"
    assert fijany_parallel._greatest(rows, "serial_error") == "2e-16"
    assert fijany_parallel._greatest(rows[:1], "segments_ns") == "not measured"
    assert fijany_parallel._quickest(rows, "_ns") == "16 levels, 64 segments, 128 serial"
    assert fijany_parallel._quickest(rows, "_2_ns") == "16 levels, 64 segments, 128 serial"
    # 74 in two doublings, 41 in one
    assert fijany_parallel._deeper(rows).startswith("39.0 operations")
    assert "one length" in fijany_parallel._deeper(rows[:1])


@pytest.fixture
def dense_inverses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use dense algebra instead of compiled C; the elimination writes twice the inverse."""

    def eliminating(M: Any, inverse: Any) -> Callable[[], None]:
        def run() -> None:
            inverse[:] = 2 * np.linalg.inv(M)

        return run

    monkeypatch.setattr(lee_chirikjian_inverses, "compiled_loops", lambda n: Dense(0.0))
    monkeypatch.setattr(lee_chirikjian_inverses, "_eliminating", eliminating)
    monkeypatch.setattr(lee_chirikjian_inverses, "processor_time", lambda call, repeats: 4e6)


@pytest.mark.usefixtures("dense_inverses")
@pytest.mark.parametrize(
    ("entries", "stacked", "states"), [(48, 9, 3), (63, 9, 3), (99, 5, 5), (15, 9, 1)]
)
def test_a_call_inverts_as_many_matrices_as_fit(
    entries: int, stacked: int, states: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A matrix of four links has 16 entries."""
    monkeypatch.setattr(lee_chirikjian_inverses, "INVERTED", entries)
    monkeypatch.setattr(lee_chirikjian_inverses, "STACKED", stacked)
    contest = lee_chirikjian_inverses.Contest(4, generator())
    assert contest.mass.shape == (states, 4, 4)
    assert [count for _, count in contest.calls.values()] == [states, 1, 1, 1]
    assert list(contest.calls) == list(lee_chirikjian_inverses.TIMES)


@pytest.mark.usefixtures("dense_inverses")
def test_a_contest_keeps_the_least_time_and_the_largest_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first inverse is for 256 states, and takes 0.02 s or more in the first round only."""
    contest = lee_chirikjian_inverses.Contest(4, generator())
    for call, _ in contest.calls.values():
        call()
    times = iter([3e7, 5.0, 1.9e7, 2.1e7, 4.0, 1.8e7, 2e7, 9.0, 9e9, 9e9])
    monkeypatch.setattr(
        lee_chirikjian_inverses, "processor_time", lambda call, repeats: next(times)
    )
    contest.time()
    assert list(contest.least.values()) == [3e7 / 256, 5.0, 1.9e7, 2.1e7]
    contest.time(every=False)  # without the first and the last
    assert list(contest.least.values()) == [3e7 / 256, 4.0, 1.8e7, 2.1e7]
    contest.time()
    row = contest.row()
    assert row[:5] == (4, 2e7 / 256, 4.0, 1.8e7, 2.1e7)
    # the elimination's inverse is twice too large
    assert row[5] == pytest.approx(1, rel=1e-9)
    contest.eliminated /= 2
    assert contest.row()[5] < 1e-12
    contest.inverse *= 1.5
    assert contest.row()[5] == pytest.approx(0.5, rel=1e-9)


def test_the_columns_of_an_inverse_are_solves_with_unit_vectors() -> None:
    q = generator().uniform(-3, 3, (1, 3))
    inverse = np.empty((3, 3))
    solver: Any = Dense(0.0)
    lee_chirikjian_inverses.column_by_column(solver, q, np.eye(3), inverse)()
    assert inverse == pytest.approx(np.linalg.inv(mass(q)[0]))


def test_the_elimination_in_c_writes_the_inverse() -> None:
    M = mass(generator().uniform(-3, 3, (1, 3)))[0]
    inverse = np.empty((3, 3))
    lee_chirikjian_inverses._eliminating(M, inverse)()
    assert inverse == pytest.approx(np.linalg.inv(M))


@pytest.mark.parametrize(("nanoseconds", "repeats"), [(1e6, 4), (0.9e6, 8), (4e6, 1), (9e9, 1)])
def test_calls_are_repeated_until_they_take_four_milliseconds(
    nanoseconds: float, repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lee_chirikjian_inverses, "processor_time", lambda *_: nanoseconds)
    assert lee_chirikjian_inverses._repeats(lambda: None) == repeats


def test_every_third_round_of_inverses_has_slow_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[bool] = []

    class Contest:
        def __init__(self, n: int, random: Any) -> None:
            self.n = n

        def time(self, every: bool) -> None:
            rounds.append(every)

        def row(self) -> tuple[float, ...]:
            return (self.n, 4.0, 3.0, 2.0, 1.0, 0.0)

    monkeypatch.setattr(lee_chirikjian_inverses, "Contest", Contest)
    progress: list[tuple[str, int, int]] = []
    page = lee_chirikjian_inverses.reproduce(lambda *step: progress.append(step), links=(4, 8))
    assert [row[0] for row in page.rows] == [4, 8]
    assert rounds[::2] == rounds[1::2] == [k % 3 == 0 for k in range(25)]
    assert [done for _, done, _ in progress] == list(range(27))
    assert {total for *_, total in progress} == {27}


@pytest.mark.parametrize(
    "module", [lee_chirikjian_fig2, fixman_determinant, fijany_parallel, long_polymers]
)
def test_a_page_has_a_row_for_each_number_of_links(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress: list[tuple[int, int]] = []
    monkeypatch.setattr(module, "_row", lambda n, *_: ((n,), [n]))
    monkeypatch.setattr(module, "_page", lambda rows, timed: (rows, timed))
    page = module.reproduce(lambda _, done, total: progress.append((done, total)), links=(3, 5))
    assert page == ([(3,), (5,)], [3, 5])
    assert progress == [(0, 2), (1, 2)]


def test_a_row_of_spatial_chains_has_costs_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are those of sixty digits up to an error that is known for each method."""
    n = 2
    errors = {"constraint_force": 1e-5, "composite_body": 2e-5, "riccati": 3e-5}
    costs = {"constraint_force": 10, "composite_body": 20, "riccati": 30}

    def program(mechanism: Any, function: str, method: str) -> Any:
        gradient = function == fixman_spatial.GRADIENT
        return SimpleNamespace(method=method, gradient=gradient, cost=costs[method] + gradient)

    def truth(mechanism: Any, q: Any) -> tuple[Any, Any]:
        return np.sin(q[:, 0]) + q[:, 1] ** 2, np.stack([np.cos(q[:, 0]), 2 * q[:, 1]], axis=-1)

    def results(program: Any, q: Any) -> Any:
        value, gradient = truth(None, q)
        if program.gradient:
            return gradient + 1e-4 * (np.arange(len(q)) == 3)[:, None]
        return (value + np.log1p(-errors[program.method]))[:, None]

    monkeypatch.setattr(fixman_spatial, "program", program)
    monkeypatch.setattr(fixman_spatial, "results", results)
    monkeypatch.setattr(fixman_spatial, "reference_values", truth)
    monkeypatch.setattr(fixman_spatial, "exact_states", lambda mechanism, states: states)
    row = fixman_spatial._row(n, generator())
    q = generator().uniform(-np.pi, np.pi, (fixman_spatial.STATES, n))
    scale = np.abs(truth(None, q)[1]).max()
    assert row[:6] == (2, fixman_spatial.EXACT_STATES, 10, 20, 30, 31)
    assert row[6:9] == pytest.approx((1e-5, 2e-5, 3e-5), rel=1e-6)
    assert row[9:] == pytest.approx((1e-4 / scale,) * 2, rel=1e-4)
    monkeypatch.setattr(fixman_spatial, "MEASURED_TO", 1)
    assert fixman_spatial._row(n, generator()) == (2, None, 10, None, 30, 31, *(None,) * 5)


def test_differences_of_fourth_order_are_exact_for_polynomials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """f = x⁴ + 2 y³ − x y, with ∂f/∂x = 4 x³ − y and ∂f/∂y = 6 y² − x."""

    def polynomial(program: Any, q: Any) -> Any:
        x, y = q.T
        return (x**4 + 2 * y**3 - x * y)[:, None]

    monkeypatch.setattr(fixman_spatial, "results", polynomial)
    q = generator().uniform(-1, 1, (4, 2))
    x, y = q.T
    expected = np.stack([4 * x**3 - y, 6 * y**2 - x], axis=-1)
    program: Any = None
    assert fixman_spatial.differences(program, q, 0.25) == pytest.approx(expected, abs=1e-12)


def test_rows_of_samples_are_means_over_independent_repetitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three repetitions of 10 samples, two of 20, and one of 50, which has more than LARGEST."""
    monkeypatch.setattr(rodriguez_filter, "BATCHES", 3)
    monkeypatch.setattr(rodriguez_filter, "LARGEST", 40)
    drawn: list[Any] = []
    outputs = rodriguez_filter.outputs

    def recorded(chain: Any, count: int, random: Any) -> Any:
        drawn.append(outputs(chain, count, random))
        return drawn[-1]

    monkeypatch.setattr(rodriguez_filter, "outputs", recorded)
    progress: list[tuple[int, int]] = []
    page = rodriguez_filter.reproduce(
        lambda _, done, total: progress.append((done, total)), samples=(10, 20, 50)
    )
    assert [len(y) for y in drawn] == [10, 10, 10, 20, 20, 50]
    assert progress == [(0, 3), (1, 3), (2, 3)]
    chain = rodriguez_filter.chain(load("panda"), rodriguez_filter.STATE)
    for row, batches in zip(page.rows, (drawn[:3], drawn[3:5], drawn[5:]), strict=True):
        filtered = [rodriguez_filter.innovations(chain, y) for y in batches]
        assert row == pytest.approx(
            (
                len(batches[0]),
                np.mean([rodriguez_filter.covariance_error(y, chain.mass) for y in batches]),
                np.mean(
                    [rodriguez_filter.covariance_error(e, np.diag(chain.pivots)) for e in filtered]
                ),
                rodriguez_filter.correlated(batches[-1]),
                np.mean([rodriguez_filter.correlated(e) for e in filtered]),
            )
        )
    figure = pytest.importorskip("matplotlib.figure").Figure()
    page.draw(figure)
    before, after, rate, *_ = figure.axes
    lines = {line.get_label(): line.get_ydata() for line in rate.get_lines()}
    assert list(lines["y against M"]) == [row[1] for row in page.rows]
    assert list(lines["ε against D"]) == [row[2] for row in page.rows]
    assert lines["0.8 / √samples"] == pytest.approx([0.8 / n**0.5 for n in (10, 20, 50)])
    for chart, samples in ((before, drawn[-1]), (after, filtered[-1])):
        (image,) = chart.get_images()
        assert np.asarray(image.get_array()) == pytest.approx(np.corrcoef(samples.T))
        assert image.get_clim() == (-1, 1)
        assert list(chart.get_xticks()) == list(chart.get_yticks()) == list(range(7))
    # the rate has the whole width below both matrices
    places = [axes.get_subplotspec() for axes in (before, after, rate)]
    assert [(p.rowspan.start, p.colspan.start, p.colspan.stop) for p in places] == [
        (0, 0, 1),
        (0, 1, 2),
        (1, 0, 2),
    ]


def test_the_error_of_a_covariance_is_the_mean_over_its_entries() -> None:
    """Samples (1, 2) and (−1, 0) have the covariance [[1, 1], [1, 2]]; by C it is diag(1, 3)."""
    samples, covariance = np.array([[1.0, 2.0], [-1.0, 0.0]]), np.diag([1.0, 3.0])
    expected = np.mean([0.0, 1 / 3**0.5, 1 / 3**0.5, 1 / 18**0.5])
    assert rodriguez_filter.covariance_error(samples, covariance) == pytest.approx(expected)


def test_dense_results_of_the_planar_chain_equal_its_continuants() -> None:
    """The functions that stand for compiled C here."""
    q, b = generator().uniform(-3, 3, (2, 1, 3))
    x, value, force = np.empty((1, 3)), np.empty(1), np.empty((1, 3))
    solver = Dense(0.0)
    solver.bind("mass_matrix_solve", q, b, x)()
    solver.bind("mass_matrix_log_determinant", q, value)()
    solver.bind("mass_matrix_log_determinant_gradient", q, force)()
    assert x[0] == pytest.approx(planar_chain.solution(q[0], b[0]))
    assert value[0] == pytest.approx(planar_chain.log_determinant(q[0]))
    assert force[0] == pytest.approx(planar_chain.gradient(q[0]))


def test_saha_counts_divisions_as_multiplications(monkeypatch: pytest.MonkeyPatch) -> None:
    operations = {"mul": 5, "div": 2, "add": 9, "sin": 4, "neg": 3}
    monkeypatch.setattr(saha_counts, "derive", lambda *_: SimpleNamespace(operations=operations))
    assert saha_counts.counted(3, "udut") == (7, 9)
    assert saha_counts.printed(12) == (201 * 12 - 335, 193 * 12 - 361)
