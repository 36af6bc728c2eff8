"""Comparisons of methods from figures that a test writes: tables, defaults, forms and refusals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symgen.benchmarks import compare
from symgen.benchmarks.bench import STATES, Timing
from symgen.benchmarks.compare import COLUMNS, Comparison, Comparisons, Row
from symgen.ir.program import Port
from symgen.machine.building import Build
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import OutOfReach, RequestError
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import LOOPED, ProgramOptions

ROBOT: Any = SimpleNamespace(name="arm", frames=(), sizes=None)
OPTIONS = ProgramOptions()


def row(method: str, mul: int, add: int = 1, div: int = 1, **rest: Any) -> Row:
    figures = {"mul": mul, "add": add, "div": div} | rest.pop("figures", {})
    return Row(method, figures, **rest)


def comparison(*rows: Row) -> Comparison:
    return Comparison("mass_matrix", "a", "why", rows)


# -- tables --


def test_the_cost_of_a_method_is_the_sum_of_its_operations() -> None:
    assert row("a", 3, 5, 7).cost == 15


def test_reasons_name_the_columns_that_share_them() -> None:
    missing = {"code_bytes": "no size", "stack_bytes": "no size", "": "not for this robot"}
    reasons = row("a", 1, missing=missing, unjudged={"round_off_float": "ill"}).reasons
    assert reasons == [
        "code B, stack B: no size",
        "not for this robot",
        "float eps: not judged: ill",
    ]


def test_the_best_figure_needs_two_that_are_judged() -> None:
    figures = {"round_off_double": 2.0}
    judged = row("a", 3, figures=figures)
    better = row("b", 2, figures={"round_off_double": 1.0}, unjudged={"round_off_double": "ill"})
    assert comparison(judged, better).best("mul") == 2
    assert comparison(judged, better).best("round_off_double") is None
    worse = row("c", 2, figures={"round_off_double": 3.0})
    assert comparison(judged, better, worse).best("round_off_double") == 2.0
    assert comparison(judged, better, worse).best("nanoseconds") is None
    best = comparison(judged, better, worse).facts()["best"]
    assert best["mul"] == ["b", "c"]
    assert best["round_off_double"] == ["a"]
    assert "nanoseconds" not in best


def test_cells_have_marks_for_the_best_and_for_what_is_not_judged() -> None:
    """Round-off has three digits, or an exponent from 10000 on; other figures are whole."""
    first = row("a", 3, figures={"round_off_double": 9999.5, "nanoseconds": 12.6})
    second = row("b", 5, figures={"round_off_double": 1e4}, unjudged={"round_off_double": "ill"})
    table = comparison(first, second)
    assert table._cell(first, "mul") == "3*"
    assert table._cell(second, "mul") == "5 "
    assert table._cell(first, "nanoseconds") == "13 "
    assert table._cell(second, "nanoseconds") == "– "
    assert table._cell(first, "round_off_double") == "9999.500 "
    assert table._cell(second, "round_off_double") == "1.0e+04?"
    large = row("c", 20_000)
    assert comparison(first, large)._cell(large, "mul") == "20000 "
    assert str(table).splitlines()[-1] == "default: a, why"


@pytest.mark.parametrize(
    ("figure", "json"),
    [(float("inf"), "inf"), (float("nan"), "nan"), (3.0, 3), (7, 7), (1 / 3, 0.3333)],
)
def test_figures_of_json_are_finite_numbers_or_words(figure: float, json: Any) -> None:
    number = compare._json_number(figure)
    assert number == json
    assert type(number) is type(json)


def test_reasons_in_json_have_their_column_or_stand_for_all() -> None:
    rows = (row("a", 1, missing={"code_bytes": "no size"}), Row("b", {}, {"": "no chain"}))
    facts = comparison(*rows).facts()["methods"]
    assert facts["a"]["missing"] == {"code_bytes": "no size"}
    assert facts["b"]["missing"] == {"all": "no chain"}
    assert (facts["a"]["mul"], facts["b"]["mul"]) == (1, None)


def comparisons(*compared: Comparison, **refused: str) -> Comparisons:
    return Comparisons("arm", {"processor": "chip"}, compared, refused)


def test_a_reason_names_the_function_only_if_it_depends_on_it() -> None:
    def unsuited(function: str, method: str, why: str) -> Comparison:
        return Comparison(function, "a", "why", (row("a", 1), Row(method, {}, {"": why})))

    everywhere = comparisons(unsuited("f", "b", "no chain"), unsuited("g", "b", "no chain"))
    assert everywhere.unsuited == {"b": "no chain"}
    differs = comparisons(unsuited("f", "b", "one"), unsuited("g", "b", "two"))
    assert differs.unsuited == {"f by b": "one", "g by b": "two"}
    assert comparisons(comparison(row("a", 1))).unsuited == {}


def test_the_text_has_the_columns_the_machine_and_what_is_left_out() -> None:
    text = str(comparisons(comparison(row("a", 1), row("b", 2)), jacobian="no frame"))
    lines = text.splitlines()
    assert lines[0] == "arm: every method side by side; * marks the best of a column"
    assert "left out: jacobian: no frame" in lines
    width = max(len(column.heading) for column in COLUMNS.values()) + 2
    assert lines[-1] == f"{'processor:':<{width}}chip"
    assert f"{'mul:':<{width}}multiplications" in lines
    ill = row("c", 3, figures={"round_off_float": 5.0}, unjudged={"round_off_float": "ill"})
    assert "? a round-off that is not judged" in str(comparisons(comparison(ill)))
    facts = comparisons(comparison(ill)).facts()
    assert facts["functions"]["mass_matrix"]["methods"]["c"]["not_judged"] == {
        "round_off_float": "ill"
    }
    assert facts["functions"]["mass_matrix"]["methods"]["c"]["code_bytes"] is None


# -- the default --


def default_of(all_methods: bool, best: str, cost: int, *rows: Row) -> Comparison:
    program: Any = SimpleNamespace(method=best, cost=cost)
    return compare._comparison("f", all_methods, {r.method: r for r in rows}, program)


def test_the_default_has_the_fewest_operations_and_is_first_by_name() -> None:
    three, four = row("b", 1), row("c", 2)
    result = default_of(True, "b", 3, four, three, row("d (loops)", 0))
    assert (result.default, result.why) == (
        "b",
        "the fewest operations: mul + add + div = 3, against 4 by c",
    )
    assert [r.method for r in result.rows] == ["c", "b", "d (loops)"]
    equal = default_of(True, "b", 3, three, row("c", 1))
    assert equal.why.endswith("against 3 by c, and first by name")
    only = default_of(True, "b", 3, three, Row("e", {}, {"": "refused"}))
    assert only.why.endswith("= 3, by the only method that there is for this robot")


def test_a_selection_of_methods_does_not_decide_the_default() -> None:
    result = default_of(False, "z", 9, row("b", 1))
    assert (result.default, result.why) == ("z", "which needs 9 operations (mul + add + div)")
    ill = row("b", 1, unjudged={"round_off_float": "ill"})
    result = default_of(True, "z", 9, ill, row("z", 7), row("y", 8, unjudged={"": "ill"}))
    assert result.why.endswith(", since b would lose the digits of the answer")
    assert default_of(True, "z", 9).default == "z"


# -- forms and their figures --


@dataclass(frozen=True)
class Form:
    """A Program or a loop with a number of rows."""

    method: str
    rows: tuple[int, ...]
    looped: bool = False
    real: str = "double"
    function: str = "f"
    depth: int = 9
    temporaries: int = 5

    @property
    def operations(self) -> dict[str, int]:
        return {"mul": 4, "add": 3, "div": 2, "sin": 1}

    @property
    def programs(self) -> tuple[Any, ...]:
        return (SimpleNamespace(rows=self.rows), SimpleNamespace(rows=self.rows[:1]))


def test_programs_with_the_same_rows_are_measured_once() -> None:
    forms: Any = {
        "a": Form("a", (1, 2)),
        "b": Form("b", (3,)),
        "c": Form("c", (1, 2)),
        "loops": Form("loops", (1, 2), looped=True),
        "more loops": Form("more loops", (1, 2), looped=True),
    }
    distinct, twins = compare._distinct(forms)
    assert [*distinct] == ["a", "b", "loops", "more loops"]
    assert twins == {"c": "a"}


def test_the_length_of_loops_is_that_of_their_steps() -> None:
    program: Any = Form("a", (1, 2, 3))
    assert compare._length(program) == 3
    assert compare._length(replace(program, looped=True)) == 3 + 1


@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize("rows", [2, 3])
def test_a_row_has_the_sizes_of_its_code_unless_it_is_too_long(
    looped: bool, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = SimpleNamespace(code=100, stack=None, missing={"stack": "no stack"})
    monkeypatch.setattr(compare, "footprint", lambda *arguments: size)
    monkeypatch.setattr(compare, "COMPILED_ROWS", 3 if looped else 2)
    monkeypatch.setattr(compare, "Target", lambda *arguments: None)
    program: Any = Form("a", tuple(range(rows)), looped)
    result = compare._weigh(ROBOT, "a", program, Build())
    figures = {"mul": 4, "add": 3, "div": 2, "depth": 9} | ({} if looped else {"temporaries": 5})
    if rows == 2:
        assert result.figures == figures | {"code_bytes": 100}
        assert result.missing["stack_bytes"] == "no stack"
        assert ("temporaries" in result.missing) == looped
    else:
        assert result.figures == figures
        assert set(result.missing) == set(compare.MEASURED)


def test_methods_are_derived_unless_they_refuse_or_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def build_program(mechanism: Any, function: str, method: str, options: Any) -> str:
        if method == "failing":
            raise RequestError("too long")
        return f"{function} by {method}"

    refusals = {"refusing": "no chain"}
    providers = SimpleNamespace(
        find=lambda name: SimpleNamespace(refusal=lambda mechanism: refusals.get(name))
    )
    monkeypatch.setattr(compare, "methods", providers)
    monkeypatch.setattr(compare, "making", SimpleNamespace(build_program=build_program))
    derived: list[Any] = [
        compare._derived(ROBOT, "f", method, OPTIONS) for method in ("a", "refusing", "failing")
    ]
    assert derived == [("f by a", ""), (None, "no chain"), (None, "too long")]


def test_loops_are_those_of_a_form_that_is_looped(monkeypatch: pytest.MonkeyPatch) -> None:
    def build_form(mechanism: Any, function: str, method: str, options: ProgramOptions) -> Form:
        assert options.form == LOOPED
        if method == "failing":
            raise RequestError("no loops")
        return Form(method, (1,), looped=method == "long", real=options.real)

    monkeypatch.setattr(compare, "making", SimpleNamespace(build_form=build_form))
    assert compare._looped(ROBOT, "f", "failing", OPTIONS) == (None, "no loops")
    assert compare._looped(ROBOT, "f", "short", OPTIONS) == (None, "f is short")
    form, why = compare._looped(ROBOT, "f", "long", OPTIONS)
    assert (form is not None, why) == (True, "")
    looped: Any = Form("long", (1,), looped=True)
    assert compare._typed(ROBOT, looped, "float", OPTIONS) == replace(looped, real="float")
    plain: Any = Form("failing", (1,))
    assert compare._typed(ROBOT, plain, "float", OPTIONS) == replace(plain, real="float")
    assert compare._typed(ROBOT, replace(looped, method="short"), "float", OPTIONS) is None


@pytest.mark.parametrize(("real", "level"), [("double", 2), ("float", 0)])
def test_only_double_is_optimized_and_each_method_has_its_name(
    real: str, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def from_programs(name: str, programs: Any, sizes: Any, optimize: int) -> Any:
        return name, {key: form.function for key, form in programs.items()}, optimize

    monkeypatch.setattr(compare, "Solver", SimpleNamespace(from_programs=from_programs))
    forms: Any = {
        "a": Form("riccati:segments", (1,), function="forward_dynamics"),
        "b": Form("riccati", (1,), looped=True, function="mass_matrix:jacobian"),
    }
    solver: Any = compare._solver(ROBOT, forms, real)
    names = ["forward_dynamics_riccati_segments", "mass_matrix_jacobian_riccati_loops"]
    assert solver == ("arm", {name: name for name in names}, level)


def test_round_off_that_is_not_judged_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = {
        "double": SimpleNamespace(error=0.5, passed=True),
        "float": SimpleNamespace(error=9.0, passed=False, unjudged="ill", detail="", miss=""),
        "quad": SimpleNamespace(error=7.0, passed=False, unjudged="", detail="at q", miss="x"),
    }
    monkeypatch.setattr(compare, "_round_off", lambda program, solver, exact: checks[program])
    result = row("a", 1)
    reals: Any = {real: real for real in checks}
    exact: Any = None
    compare._judge(result, reals, reals, exact)
    errors = {real: result.figures[f"round_off_{real}"] for real in checks}
    assert errors == {"double": 0.5, "float": 9.0, "quad": 7.0}
    assert result.unjudged == {
        "round_off_float": "ill",
        "round_off_quad": "it failed, at q: x",
    }


def test_results_of_a_method_come_by_name_in_its_real_type(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []

    def check_floating(program: Any, run: Any, exact: Any, function: str, text: Any) -> str:
        runs.append(run({"q": np.array([1.0, 2.0]), "v": np.array([0.5])}))
        return function

    monkeypatch.setattr(compare, "check_floating", check_floating)
    ports = (Port("q", (2,)), Port("v", (1,)))
    for outputs, function in (
        (("y",), lambda q, v: q.dtype),
        (("y", "z"), lambda q, v: (v.dtype, q[0])),
    ):
        program: Any = SimpleNamespace(
            real="float",
            inputs=ports,
            outputs=tuple(Port(name, ()) for name in outputs),
            looped=False,
            function="f",
            method="a",
        )
        solver: Any = SimpleNamespace(f_a=function)
        exact: Any = None
        result: Any = compare._round_off(program, solver, exact)
        assert result == "f"
    assert runs == [{"y": np.float32}, {"y": np.float32, "z": 1.0}]


# -- the comparison of a robot --


class Contest:
    """Methods whose steps are recorded; loops exist for "long"."""

    steps: list[Any]

    def __init__(self, mechanism: Any, function: str, options: Any) -> None:
        self.function, self.solvers = function, {"double": 1} if function != "massless" else {}
        self.has_loops, self.why_no_loops = False, "too short"

    def derive(self, method: str) -> None:
        self.steps.append(("derive", self.function, method))

    def derive_loops(self, method: str) -> None:
        self.steps.append(("loops", self.function, method))
        self.has_loops |= method == "long"

    def measure(self, build: Build) -> None:
        assert build == Build(optimize=2)
        self.steps.append(("measure", self.function))

    def time_and_judge(self, exact_results: Any) -> None:
        self.steps.append(("time", self.function))

    def comparison(self, names: Any) -> Comparison:
        if self.function == "massless":
            raise OutOfReach("without mass")
        return Comparison(self.function, names[0], "why", ())


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    recorded: list[Any] = []

    class Recorded(Contest):
        steps = recorded

    requested = {"f": ("long", "a"), "massless": ("b",)}
    monkeypatch.setattr(compare, "_Contest", Recorded)
    monkeypatch.setattr(compare, "requested", lambda *arguments: (dict(requested), {"g": "no"}))
    monkeypatch.setattr(compare, "machine_facts", lambda build, peers: {"processor": "chip"})
    monkeypatch.setattr(compare, "ExactResults", lambda *arguments, **options: None)
    monkeypatch.setattr(
        compare.making,  # type: ignore[attr-defined]
        "require_unrollable",
        lambda mechanism: None,
    )
    return recorded


@pytest.mark.parametrize("form", ["unrolled", LOOPED])
def test_every_function_is_derived_measured_and_timed(form: str, steps: list[Any]) -> None:
    """A function without a method is left out with the reason; so are loops that do not exist."""
    mechanism: Mechanism = ROBOT
    progress: list[tuple[str, int, int]] = []
    result = compare.compare(mechanism, form=form, progress=lambda *step: progress.append(step))
    derived = [("derive", "f", "long"), ("derive", "f", "a")]
    loops = [("loops", "f", "long"), ("loops", "f", "a")] if form == LOOPED else []
    recorded = [step for step in steps if step[1] == "f"]
    assert sorted(recorded[: len(derived + loops)]) == sorted(derived + loops)
    assert recorded[len(derived + loops) :] == [("measure", "f"), ("time", "f")]
    assert ("time", "massless") not in steps
    assert [c.function for c in result.compared] == ["f"]
    reasons = {"g": "no", "massless": "without mass"}
    if form == LOOPED:
        reasons["loops of massless"] = "too short"
    assert result.refused == reasons
    assert {total for _, _, total in progress} == {2 + 1 + 1 + 1}
    done = [step[1] for step in progress]
    assert done == sorted(done)
    assert done[0] == 0
    assert [step for step in progress if step[0].startswith("timing")] == [("timing f", 2, 5)]
    assert [step[1] for step in progress if step[0].startswith("compiling")] == [2, 4]


def test_a_named_function_without_a_method_is_refused(steps: list[Any]) -> None:
    mechanism: Mechanism = ROBOT
    with pytest.raises(OutOfReach, match="without mass"):
        compare.compare(mechanism, ["massless"])


def test_rows_of_a_task_need_a_function_with_a_task() -> None:
    tasks = [name for name, function in FUNCTIONS.items() if function.counts("NK")]
    compare._refuse_without_task(["mass_matrix", tasks[0]])
    with pytest.raises(
        RequestError, match=f"--task-rows does not apply; name {' or '.join(tasks)}"
    ):
        compare._refuse_without_task(["mass_matrix"])
    with pytest.raises(RequestError, match="none of these functions has a task"):
        compare._refuse_without_task([])


def test_times_are_medians_by_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every method is bound to the same states and to its own results."""
    bound: list[Any] = []

    def bind(name: str, *arrays: Any) -> Any:
        bound.append((name, [array.shape for array in arrays]))
        return name

    def race(contestants: Any) -> Any:
        return {method: Timing(method, float(len(method)), ()) for method in contestants}

    states = {"q": np.ones((STATES, 2))}
    monkeypatch.setattr(compare, "draw_states", lambda *arguments, **options: states)
    monkeypatch.setattr(compare, "race", race)
    programs: Any = {
        method: SimpleNamespace(
            inputs=(Port("q", (2,)),), outputs=(Port("M", (2, 2)),), looped=False, function="f",
            method=method,
        )
        for method in ("a", "bcd")
    }  # fmt: skip
    solver: Any = SimpleNamespace(bind=bind)
    assert compare._times(programs, solver, ROBOT) == {"a": 1.0, "bcd": 3.0}
    assert bound == [(f"f_{method}", [(STATES, 2), (STATES, 2, 2)]) for method in ("a", "bcd")]


# -- requested functions --


@pytest.fixture
def choices(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Three default functions, one of which has one method; record the methods looked up."""
    providers = {"f": ("a", "b"), "g": ("a",), "h": ("c", "d"), "k": ("a", "b")}
    looked_up: list[Any] = []

    def derivation(method: str, function: str) -> None:
        looked_up.append((method, function))
        if method == "wrong":
            raise RequestError("no such method")

    fake_methods = SimpleNamespace(
        applicable_providers=lambda name, mechanism: providers[name],
        composition=lambda method, function: "composed" if method == "b" else None,
        derivation=derivation,
    )
    fake_making = SimpleNamespace(
        requested=lambda mechanism, functions: ["f", "g"],
        refusal=lambda mechanism, name, method: "massless" if name == "h" else None,
    )
    monkeypatch.setattr(compare, "methods", fake_methods)
    monkeypatch.setattr(compare, "making", fake_making)
    monkeypatch.setattr(compare, "BY_DEFAULT", ("f", "g", "h", "k"))
    return looked_up


def test_functions_with_a_choice_of_methods_are_compared_by_default(choices: list[Any]) -> None:
    """Functions that the robot cannot have are left out with the reason; the rest is on request."""
    assert compare.requested(ROBOT, None, OPTIONS) == (
        {"f": ("a", "b")},
        {"h": "massless", "k": "on request only, with -f"},
    )


@pytest.mark.parametrize(
    ("listed", "names", "checked"),
    [
        ("b,a,b", ("b", "a"), ["b", "a"]),  # each once, and all are looked up
        ("", ("a", "b"), ["a"]),  # a composed method is derived from others
        ("a", ("a",), ["a"]),
    ],
)
def test_methods_are_those_that_are_listed_or_all(
    listed: str, names: tuple[str, ...], checked: list[str], choices: list[Any]
) -> None:
    assert compare._methods_of(ROBOT, "f", listed) == names
    assert [method for method, _ in choices] == checked
    with pytest.raises(RequestError, match="no such method"):
        compare._methods_of(ROBOT, "f", "a,wrong")


def test_the_only_method_is_looked_up(choices: list[Any]) -> None:
    assert compare._methods_of(ROBOT, "g", "") == ("a",)
    assert choices == [("a", "g")]


def test_figures_of_the_program_are_exact_and_all_others_are_measured() -> None:
    assert set(compare.EXACT) == {"mul", "add", "div", "depth", "temporaries"}
    assert [*compare.EXACT, *compare.MEASURED] == list(COLUMNS)
