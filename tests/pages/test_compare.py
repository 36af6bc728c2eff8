"""`compare`: tables with a figure or a reason in each cell, the default method, and the picture."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock
from xml.etree import ElementTree

import pytest

import symgen
from symgen import cli, methods
from symgen.benchmarks import bench, compare
from symgen.emission.backends import c99
from symgen.ir.program import Port, Program, Row
from symgen.machine import footprint
from symgen.machine.building import Build
from symgen.mechanism.mechanism import Body, Mechanism
from symgen.support.errors import BuildError, OutOfReach, RequestError
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import allowance
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import BY_DEFAULT, FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from tests.shared.robots_for_tests import BUILT_IN, PROVIDED, program

pytestmark = pytest.mark.usefixtures(
    "all_as_users_have_them"
)  # tests compare with the default of users

FUNCTION = "mass_matrix_solve"
COMPARED = ("mass_matrix", FUNCTION)
"""One function with few methods and one with many and variants: compiling C takes most of the time.
"""


@pytest.fixture(autouse=True)
def short_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure time and round-off briefly."""
    monkeypatch.setattr(bench, "ROUNDS", 2)
    monkeypatch.setattr(bench, "SLICE", 1e-5)
    monkeypatch.setattr(compare, "ROUND_OFF_STATES", 3)


@pytest.fixture(scope="module")
def comparisons() -> Iterator[compare.Comparisons]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bench, "ROUNDS", 2)
        patched.setattr(bench, "SLICE", 1e-5)
        patched.setattr(compare, "ROUND_OFF_STATES", 3)
        yield compare.compare(symgen.load("scara"), COMPARED)


@pytest.fixture
def nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile no Program, so that only the figures counted in Programs remain."""
    monkeypatch.setattr(compare, "COMPILED_ROWS", 0)


def refusal(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one sentence that a refused command prints."""
    assert cli.main(["compare", *words]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    return captured.err


def comparison_of(mechanism: Mechanism | str, function: str = FUNCTION) -> compare.Comparison:
    """Return the comparison of one function."""
    loaded = mechanism if isinstance(mechanism, Mechanism) else symgen.load(mechanism)
    return compare.compare(loaded, [function]).compared[0]


# -- the table -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_function_with_a_choice_is_compared_by_every_method(
    comparisons: compare.Comparisons,
) -> None:
    scara = symgen.load("scara")
    every = {f: methods.applicable_providers(f, scara) for f in BY_DEFAULT}
    expected = {f: names for f, names in every.items() if len(names) > 1}
    assert compare.requested(scara, None, ProgramOptions()) == (expected, {})
    assert {
        comparison.function: tuple(row.method for row in comparison.rows)
        for comparison in comparisons.compared
    } == {function: expected[function] for function in COMPARED}


def test_no_cell_is_empty_without_a_reason(comparisons: compare.Comparisons) -> None:
    for function, entry in comparisons.facts()["functions"].items():
        for method, figures in entry["methods"].items():
            missing = figures["missing"]
            for key in compare.COLUMNS:
                assert (figures[key] is None) == (key in missing or "all" in missing), (
                    function,
                    method,
                    key,
                )


def test_exact_figures_equal_those_of_the_program(comparisons: compare.Comparisons) -> None:
    exact = ExactResults(symgen.load("scara"), 2)
    for comparison in comparisons.compared:
        for row in (row for row in comparison.rows if row.figures):
            derived = program("scara", comparison.function, row.method)
            ops = derived.operations
            expected = (
                *(ops[key] for key in ("mul", "add", "div")),
                derived.depth,
                derived.temporaries,
            )
            assert tuple(row.figures[key] for key in compare.EXACT) == expected
            assert 0 <= row.figures["round_off_double"] <= allowance(derived, exact)
            assert 0 <= row.figures["round_off_float"] <= allowance(derived, exact)
            assert row.figures["nanoseconds"] > 0
            assert row.figures["code_bytes"] > 0


def test_the_best_of_each_column_is_marked(comparisons: compare.Comparisons) -> None:
    for comparison in comparisons.compared:
        lines = {line.split()[0]: line for line in str(comparison).splitlines()}
        for column, key in enumerate(compare.COLUMNS, start=1):
            figures = [row.figures[key] for row in comparison.rows if row.figures]
            # a method alone is not the best
            least = min(figures) if len(figures) > 1 else None
            cells = {
                row.method: lines[row.method].split()[column]
                for row in comparison.rows
                if row.figures
            }
            starred = {method for method, cell in cells.items() if cell.endswith("*")}
            assert starred == {
                row.method
                for row in comparison.rows
                if least is not None and row.figures.get(key) == least
            }
            assert set(comparison.facts()["best"].get(key, ())) == starred


def test_the_default_is_the_method_that_a_user_gets(comparisons: compare.Comparisons) -> None:
    for comparison in comparisons.compared:
        default = symgen.program("scara", comparison.function)
        assert comparison.default == default.method
        assert f"= {default.cost}" in comparison.why


@pytest.mark.usefixtures("nothing_compiled")
def test_the_only_method_is_the_default() -> None:
    assert "by the only method" in comparison_of("scara", "inverse_dynamics").why


@pytest.mark.parametrize("function", [FUNCTION, "operational_inertia_inverse"])
def test_a_selection_of_methods_keeps_the_true_default(function: str) -> None:
    comparison = comparison_of("planar_arm", f"{function}=udut,riccati")
    assert [row.method for row in comparison.rows] == ["udut", "riccati"]
    assert all(set(row.figures) == set(compare.COLUMNS) for row in comparison.rows)
    assert comparison.default == symgen.program("planar_arm", function).method


@pytest.mark.usefixtures("nothing_compiled")
def test_a_method_that_refuses_a_robot_keeps_its_row_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    why = "udut takes no robots on Sundays"
    find_method = methods.find
    refusing = replace(find_method("udut"), refusal=lambda _: why)
    monkeypatch.setattr(
        methods, "find", lambda name: refusing if name == "udut" else find_method(name)
    )
    comparison = comparison_of("planar_arm")
    row = next(row for row in comparison.rows if row.method == "udut")
    assert row.figures == {}
    assert row.missing == {"": why}
    assert f"– udut: {why}" in str(comparison)
    assert comparison.facts()["methods"]["udut"]["missing"] == {"all": why}


@pytest.mark.usefixtures("nothing_compiled")
def test_a_program_too_long_to_compile_has_exact_figures_and_a_reason() -> None:
    comparison = comparison_of("planar_arm")
    rows_with_figures = [row for row in comparison.rows if row.figures]
    assert len(rows_with_figures) > 2
    for row in rows_with_figures:
        assert set(row.figures) == set(compare.EXACT)
        assert (
            set(row.missing)
            == set(comparison.facts()["methods"][row.method]["missing"])
            == set(compare.MEASURED)
        )
    assert str(comparison).count("not compiled, since") == len(rows_with_figures)


@pytest.mark.usefixtures("nothing_compiled")
def test_a_function_that_a_robot_cannot_have_is_left_out_unless_it_is_named() -> None:
    loaded = symgen.load("planar_arm")
    light = Mechanism(
        loaded.name, loaded.joints, tuple(Body(body.name) for body in loaded.bodies), loaded.frames
    )
    comparisons = compare.compare(light)
    assert "joint" in comparisons.refused[FUNCTION]
    assert any(
        line.startswith("left out: ") and FUNCTION in line for line in str(comparisons).splitlines()
    )
    with pytest.raises(RequestError, match="singular"):
        compare.compare(light, [FUNCTION])


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_compiled")
def test_a_function_beyond_every_method_is_left_out_unless_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def too_long(*_: object) -> None:
        raise OutOfReach("too long")

    monkeypatch.setattr(compare, "_comparison", too_long)
    arm = symgen.load("planar_arm")
    assert compare.compare(arm).refused[FUNCTION] == "too long"
    with pytest.raises(OutOfReach, match="too long"):
        compare.compare(arm, [FUNCTION])


# -- temporaries -----------------------------------------------------------------------------------


def temporaries_by_definition(derived: Program) -> int:
    """Return the largest number of computed values that a later row or a result reads, over all
    rows.
    """
    results = {r for port in derived.outputs for r in port.rows}
    return max(
        (
            sum(
                row.op not in ("const", "input")
                and (j in results or any(j in later.args for later in derived.rows[i + 1 :]))
                for j, row in enumerate(derived.rows[: i + 1])
            )
            for i in range(len(derived.rows))
        ),
        default=0,
    )


def test_temporaries_of_a_small_program_are_counted() -> None:
    x, y = Row("input", (), (0, 0)), Row("input", (), (0, 1))
    rows = (x, y, Row("mul", (0, 0)), Row("mul", (1, 1)), Row("add", (2, 3)), Row("sqrt", (4,)))
    derived = Program("f", "m", (Port("q", (2,)),), (Port("r", (1,), (5,)),), rows)
    assert derived.temporaries == temporaries_by_definition(derived) == 2
    assert Program("f", "m", (), (), ()).temporaries == 0


@pytest.mark.parametrize(
    ("function", "method"), [pair for pair in PROVIDED if pair[0] in (FUNCTION, "bias_force")]
)
@pytest.mark.parametrize("name", ["planar_arm"])
def test_temporaries_follow_the_definition(function: str, method: str, name: str) -> None:
    derived = program(name, function, method)
    assert derived.temporaries == temporaries_by_definition(derived)


# -- bytes -----------------------------------------------------------------------------------------


def test_a_longer_function_takes_more_code() -> None:
    loaded = symgen.load("planar_arm")
    target = c99.Target(loaded.name, loaded.sizes)
    programs = (program("planar_arm", FUNCTION, method) for method in ("riccati", "udut"))
    short, long = (footprint.footprint(derived, target, Build()) for derived in programs)
    assert short.missing == long.missing == {}
    assert short.code is not None
    assert long.code is not None
    assert 0 < short.code < long.code
    assert long.stack is not None


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for the compiler")
def test_missing_tools_and_compiler_options_are_given_as_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "plaincc"
    compiler.write_text(
        '#!/bin/sh\nfor a in "$@"; do [ "$a" = -fstack-usage ] && exit 1; done\nexec cc "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    run_command = footprint._run

    def without_size(command: list[str], folder: Path) -> object:
        if command[0] == "size":
            raise FileNotFoundError("size")
        return run_command(command, folder)

    monkeypatch.setattr(footprint, "_run", without_size)
    row = comparison_of("planar_arm", f"{FUNCTION}=udut").rows[0]
    assert {"code_bytes", "stack_bytes"} == set(row.missing)
    assert "-fstack-usage" in row.missing["stack_bytes"]
    assert "binutils" in row.missing["code_bytes"]


def test_text_that_the_compiler_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    printer = c99.BACKEND

    def nonsense(programs: dict[str, Program], target: c99.Target) -> dict[str, str]:
        texts = printer.texts(programs, target)
        return texts | {target.c_file(FUNCTION): "nonsense"}

    monkeypatch.setattr(footprint, "printer", lambda: replace(printer, texts=nonsense))
    with pytest.raises(BuildError, match="refused the generated text"):
        footprint.footprint(
            program("planar_arm", FUNCTION, "udut"),
            c99.Target("planar_arm", Sizes(2, 2, 2)),
            Build(),
        )


# -- the picture -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_picture_names_its_axes_and_methods(
    comparisons: compare.Comparisons, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    from symgen.pages.pictures.comparison import PANELS, drawer

    for ending in ("svg", "png", "SVG"):
        file = tmp_path / f"one.{ending}"
        drawer(str(file))(comparisons)
        assert file.stat().st_size > 10_000
    text = "".join(ElementTree.parse(tmp_path / "one.svg").getroot().itertext())
    for label in (
        *(label for _, label in PANELS),
        *(comparison.function for comparison in comparisons.compared),
        "scara",
        "riccati",
    ):
        assert label in text
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "one.SVG").read_bytes()
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_methods_with_the_same_c_share_a_bar_and_round_off_is_logarithmic(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from symgen.pages.pictures.comparison import drawer, merged

    counts = dict.fromkeys(compare.EXACT, 7.0)
    rows = tuple(
        compare.Row(method, counts | {"round_off_double": error}, twin=twin)
        for method, error, twin in (
            ("riccati", 1.0, None),
            ("riccati:fd1", 1e12, None),
            ("riccati:fd4", 1.0, "riccati"),
            ("udut", 0.0, None),
        )
    )
    assert [[row.method for row in group] for group in merged(rows)] == [
        ["riccati", "riccati:fd4"],
        ["riccati:fd1"],
        ["udut"],
    ]
    file = tmp_path / "one.svg"
    drawer(str(file))(
        compare.Comparisons("arm", {}, (compare.Comparison(FUNCTION, "riccati:fd4", "", rows),), {})
    )
    text = file.read_text(encoding="utf-8")
    assert "riccati, :fd4" in text
    paths = re.findall(r'<path d="(M [^"]*?)"[^>]*style="fill: #(?:a9bfd4|1f5a94)"', text)
    widths = [
        max(xs) - min(xs)
        for xs in ([float(x) for x in re.findall(r"[\d.]+", path)[::2]] for path in paths)
    ]
    # the bar of 1 stays visible beside that of 1e12
    assert max(widths) < 10 * min(width for width in widths if width > 0)
    fills = re.findall(r'<path d="M [^"]*"[^>]*style="fill: #(a9bfd4|1f5a94)"', text)
    # the bar of riccati is dark, because it is also that of :fd4, the default
    assert fills[:3] == ["1f5a94", "a9bfd4", "a9bfd4"]


def test_the_height_of_a_picture_grows_by_a_bar_for_each_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from symgen.pages.pictures import comparison

    monkeypatch.setattr(comparison, "_bars", lambda *_: None)
    figures: dict[str, float | None] = dict.fromkeys(compare.EXACT, 7.0)
    heights = []
    for count in (1, 2, 4):
        rows = tuple(compare.Row(f"method{k}", figures) for k in range(count))
        figure_type = MagicMock()
        figure_type().subplots.return_value = [[MagicMock() for _ in comparison.PANELS]]
        compared = compare.Comparison(FUNCTION, "method0", "", rows)
        comparison._draw(figure_type, compare.Comparisons("arm", {}, (compared,), {}))
        heights.append(figure_type.call_args.kwargs["figsize"][1])
    assert heights[0] > comparison.FRAME + comparison.BAR
    assert heights[1] - heights[0] == pytest.approx(comparison.BAR)
    assert heights[2] - heights[1] == pytest.approx(2 * comparison.BAR)


@pytest.mark.parametrize("scale", ["linear", "logarithmic"])
def test_bars_of_neighbours_do_not_touch(scale: str) -> None:
    """Bars stand at 0, 1, 2 …, and a bar without a figure has no length."""
    from symgen.pages.pictures import comparison

    chart = MagicMock()
    getattr(comparison, f"_{scale}_bars")(chart, [2.0, None, 8.0], ["red"] * 3)
    (positions, lengths), layout = chart.barh.call_args
    assert list(positions) == [0, 1, 2]
    assert 0.5 < layout["height"] < 1
    assert lengths[1] == 0 < lengths[0] < lengths[2]


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_compiled")
def test_a_missing_figure_is_drawn_as_a_dash(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from symgen.pages.pictures.comparison import drawer

    drawer(str(tmp_path / "short.svg"))(compare.compare(symgen.load("planar_arm"), [FUNCTION]))
    assert "–" in (tmp_path / "short.svg").read_text(encoding="utf-8")


def test_a_picture_that_cannot_be_drawn_is_refused_before_the_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        compare,
        "compare",
        lambda *_, **__: pytest.fail("the long work began before the request was checked"),
    )
    assert "ends with .svg or .png" in refusal(
        "scara", "--plot", str(tmp_path / "one.gif"), capsys=capsys
    )
    assert "make it first" in refusal(
        "scara", "--plot", str(tmp_path / "none" / "one.svg"), capsys=capsys
    )
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'symgen[plot]'" in refusal(
        "scara", "--plot", str(tmp_path / "one.svg"), capsys=capsys
    )
    assert not list(tmp_path.iterdir())


def test_a_picture_of_no_comparison_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    from symgen.pages.pictures.comparison import drawer

    no_comparisons = compare.Comparisons("scara", {}, (), {})
    with pytest.raises(RequestError, match="so there is no picture"):
        drawer(str(tmp_path / "one.svg"))(no_comparisons)


def test_a_picture_that_the_disk_refuses_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from symgen.pages.pictures.comparison import canvas

    def refuse(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("symgen.support.files.write_file", refuse)
    with pytest.raises(
        RequestError,
        match=r"picture cannot be written to '.*x\.svg': No space left on device; make room or",
    ):
        canvas(str(tmp_path / "x.svg"))(lambda figure: figure())


# -- the command -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_prints_tables_or_facts(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "planar_arm", "-f", f"{FUNCTION}=udut", "-f", "gravity_force"]
    assert cli.main(words) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert f"\n{FUNCTION}\n" in captured.out
    assert captured.out.count("\ndefault: ") == 2
    assert all(column.description in captured.out for column in compare.COLUMNS.values())
    assert cli.main([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert list(facts["functions"]) == [
        name for name in FUNCTIONS if name in ("gravity_force", FUNCTION)
    ]
    assert set(facts["columns"]) == set(compare.COLUMNS)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["planar_arm", "-f", "mass_matirx"], "did you mean 'mass_matrix'?"),
        (["planar_arm", "-f", "mass_matrix=composit_body"], "did you mean 'composite_body'?"),
        (["planar_arm", "-f", "mass_matrix_solve=udut,ricati"], "did you mean 'riccati'?"),
        (["planar_arm", "-f", "mass_matrix=riccati"], "does not compute mass_matrix; these do: "),
        (["planar_arm", "-f", "mass_matrix="], "names no method"),
        (["planar_arm", "--plto", "x.svg"], "did you mean '--plot'?"),
        (["planar_amr"], "did you mean 'planar_arm'?"),
    ],
)
def test_a_mistake_is_refused_with_one_sentence(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expected in refusal(*words, capsys=capsys)


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_compiled")
@pytest.mark.parametrize("name", BUILT_IN)
def test_the_default_for_every_built_in_robot_is_the_method_that_a_user_gets(name: str) -> None:
    """Check one function: the defaults of all functions follow from the same figures."""
    assert comparison_of(name).default == symgen.program(name, FUNCTION).method


@pytest.mark.slow
def test_the_looped_form_is_compared_beside_the_unrolled_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A looped form has all figures except temporaries; a function without it is named."""
    looped_comparisons = compare.compare(
        symgen.load("scara"),
        ["inverse_dynamics=newton_euler", FUNCTION + "=riccati,udut", "mass_matrix"],
        form="looped",
    )
    rows = {
        comparison.function: {row.method: row for row in comparison.rows}
        for comparison in looped_comparisons.compared
    }
    assert list(rows["inverse_dynamics"]) == ["newton_euler", "newton_euler (loops)"]
    assert list(rows[FUNCTION]) == ["riccati", "riccati (loops)", "udut"]
    for row in (
        rows["inverse_dynamics"]["newton_euler (loops)"],
        rows[FUNCTION]["riccati (loops)"],
    ):
        assert set(compare.COLUMNS) - set(row.figures) == set(row.missing) == {"temporaries"}
        assert not row.unjudged
        assert row.figures["mul"] > rows["inverse_dynamics"]["newton_euler"].figures["mul"]
    assert not any(name.endswith("(loops)") for name in rows["mass_matrix"])
    assert "has no looped form" in looped_comparisons.refused["loops of mass_matrix"]
    assert "no form is named 'loops'; " in refusal("scara", "--form", "loops", capsys=capsys)
