"""Texts that commands print: costs on a target, notes on a folder, errors, progress, and what to do
next.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from symgen import cli
from symgen.cli.commands import Parser, _progress, _sharing, add_verbosity, cost, generate, prove
from symgen.delivery import evidence
from symgen.description.loading import load
from symgen.machine.cost import Cost, Measured
from symgen.mechanism.mechanism import Mechanism
from symgen.mechanism.notes import Note
from symgen.support.errors import RequestError, SymgenError
from symgen.vocabulary.options import ProgramOptions
from tests.shared.bars import pendulum

FIGURES = Measured(
    (Cost("f", "m", (100, 200), (50, 50), 1, 10, 20, 3, (), 30, None, 40, (300, 400), (100, 100)),),
    21,
    61,
    40,
    ("the stack of f is unknown",),
)


def measured_folder(
    monkeypatch: pytest.MonkeyPatch, figures: Measured, *words: str, real: str = "float"
) -> Any:
    """Run `symgen cost` on a folder whose figures are given; return the target that is measured."""
    measured: list[Any] = []

    def measure(folder: Path, functions: Any, target: str | None) -> Any:
        measured.append(target)
        generated = SimpleNamespace(
            mechanism=pendulum(),
            options=SimpleNamespace(real=real),
            text=SimpleNamespace(target="cortex-m7"),
        )
        return figures, generated

    monkeypatch.setattr(evidence, "measured_folder", measure)
    monkeypatch.setattr(cost, "generated_folder", lambda *_: Path("out"))
    assert cli.main(["cost", "out", *words]) == 0
    return measured[0]


def test_costs_of_a_folder_are_those_of_its_target_unless_another_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measured_folder(monkeypatch, FIGURES) is None
    out, err = capsys.readouterr()
    title, _, heading, *_ = out.splitlines()
    assert title.startswith("pendulum, the folder out, on ")
    assert "M7" in title
    assert ", float, -O" in title
    assert heading.split()[:5] == ["function", "method", "instructions", "alone", "cycles"]
    assert "\ncycles: " in out
    assert "picolibc" not in out
    assert err == "symgen: note: the stack of f is unknown\n"
    assert measured_folder(monkeypatch, FIGURES, "--target", "rv32imafc") == "rv32imafc"
    out, err = capsys.readouterr()
    assert "cycles: " not in out
    assert out.splitlines()[2].split()[4] == "flash"
    assert "warning" not in err
    measured_folder(monkeypatch, FIGURES, "--target", "cortex-m4f")
    assert capsys.readouterr().err.count("\n") == 1  # the folder has chosen its type of numbers


def test_a_slow_type_of_numbers_is_a_warning_and_newlib_has_its_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_newlib = Measured(FIGURES.costs, 21, 61, 40, (), (70, 50))
    measured_folder(monkeypatch, with_newlib, "--target", "cortex-m4f", real="double")
    out, err = capsys.readouterr()
    assert err.startswith("symgen: warning: the FPU of cortex-m4f has single precision only")
    assert err.count("\n") == 1
    assert "all functions take 61 bytes of flash and 40 of RAM;\nwith newlib 70 and 50\n" in out
    measured_folder(monkeypatch, with_newlib, real="double")
    assert capsys.readouterr().err == ""


def test_costs_as_json_are_the_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured_folder(monkeypatch, FIGURES, "--json", "--clock", "8e6")
    facts = json.loads(capsys.readouterr().out)
    assert (facts["robot"], facts["folder"], facts["target"]) == ("pendulum", "out", "cortex-m7")
    assert (facts["real"], facts["clock"], facts["flash"]) == ("float", 8e6, 21)
    assert (facts["flash_with_libm"], facts["ram_with_libm"], facts["newlib"]) == (61, 40, None)
    assert facts["unknown"] == ["the stack of f is unknown"]
    assert facts["functions"][0]["rate"] == 8e6 / 400
    assert "published" in facts["timing"] or len(facts["timing"]) > 20
    measured_folder(monkeypatch, FIGURES, "--json", "--target", "rv32imafc")
    assert json.loads(capsys.readouterr().out)["timing"] is None


def test_the_type_of_numbers_that_a_target_chooses_is_noted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The user of a robot could have chosen another one."""
    figures = Measured(FIGURES.costs, 21, 61, 40, ())
    for target, words, note in (
        ("cortex-m4f", [], "symgen: note: in float, since the FPU of cortex-m4f has single"),
        ("cortex-m4f", ["--real", "float"], ""),
        ("cortex-m7", [], ""),
    ):
        monkeypatch.setattr(cost, "_robot", lambda _: (figures, "arm", target, "float"))  # noqa: B023
        assert cli.main(["cost", "planar_arm", "--target", target, *words]) == 0
        out, err = capsys.readouterr()
        assert out.startswith("arm on ")
        assert err.startswith(note)
        assert bool(err) is bool(note)


def test_a_robot_has_no_costs_without_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cost", "planar_arm"]) == 2
    assert "cost: name what runs the C with --target, one of cortex-m4f" in capsys.readouterr().err


# -- generate --------------------------------------------------------------------------------------


def manifest(*functions: str, **changes: Any) -> dict[str, Any]:
    return {
        "robot": "arm",
        "functions": {name: {} for name in functions},
        "real": "float",
        "files": ["manifest.json"],
        "options": {},
    } | changes


def test_the_next_steps_name_the_folder_as_a_path() -> None:
    text = generate._next_steps(Path("arm"), manifest("f"))
    assert text.splitlines()[1] == "wrote arm, 1 function in C (float), to ./arm"
    assert "  verify it:  symgen verify ./arm\n" in text
    assert "cmake -S ./arm -B ./arm-build && cmake --build ./arm-build" in text
    assert "run it there" not in text
    two = generate._next_steps(Path("a b/arm"), manifest("f", "g", options={"target": "m4"}))
    assert "2 functions in C (float), to a b/arm\n" in two
    assert two.splitlines()[-1] == "  run it there: make -C 'a b/arm/firmware' run"
    assert "  verify it:  symgen verify /a/b\n" in generate._next_steps(Path("/a/b"), manifest())
    alone = generate._next_steps(Path("arm"), manifest("f", files=["arm.h"]))
    assert alone.endswith("functions and headers alone, which 'symgen verify' cannot judge")
    assert len(alone.splitlines()) == 2


def notes_on_target(**options: Any) -> list[str]:
    usual: dict[str, Any] = {"target": None, "real": None, "functions_only": False}
    options_of_user = Namespace(**(usual | options))
    return [*generate._notes_on_target(options_of_user, options_of_user.real or "float")]


def test_notes_on_the_target_are_about_its_fpu_and_missing_files() -> None:
    assert notes_on_target() == []
    assert notes_on_target(functions_only=True) == []
    (why,) = notes_on_target(target="cortex-m4f")
    assert why.startswith("note: in float, since the FPU of cortex-m4f has single precision only")
    (slow,) = notes_on_target(target="cortex-m4f", real="double")
    assert slow.startswith("warning: the FPU of cortex-m4f has single precision only")
    (alone,) = notes_on_target(target="cortex-m7", real="double", functions_only=True)
    assert alone.startswith("note: --functions-only leaves out firmware/")


def test_notes_on_the_folder_are_about_what_is_missing() -> None:
    everything = SimpleNamespace(functions=None)
    named = SimpleNamespace(functions=("f",))

    def notes(request: Any, **facts: Any) -> list[str]:
        return [*generate._notes_on_folder({"not_modelled": [], **facts}, request)]

    assert notes(everything) == notes(named) == []
    assert notes(everything, cost={"missing": "no compiler"}) == [
        "note: README.md has no cost sheet: no compiler"
    ]
    assert notes(everything, cost={"missing": "no compiler", "refused": True}) == []
    assert notes(everything, proof={"eva_missing": "no Frama-C"}) == [
        "note: README.md has no proof of memory and finite numbers: no Frama-C"
    ]
    left_out = [{"kind": "functions", "text": "g, why"}, {"kind": "contact", "text": "none"}]
    assert notes(everything, not_modelled=left_out) == ["note: left out: g, why"]
    assert notes(named, not_modelled=left_out) == []


def test_an_interrupted_search_and_a_rejected_method_are_noted() -> None:
    program = SimpleNamespace(
        function="f",
        rounds=3,
        cost=17,
        passed_over=(("slow", "too long"),),
        looped=False,
        outputs=(),
    )
    notes = generate._notes_on_methods(
        pendulum(),
        [program],  # type: ignore[list-item]
        ProgramOptions(),
    )
    interrupted, rejected = (next(notes), next(notes))
    assert (
        "of f was interrupted after round 3; the best program found so far is used, 17"
        in interrupted
    )
    assert rejected == "note: f is chosen without slow: too long"


# -- errors and options ----------------------------------------------------------------------------


class Missing(ModuleNotFoundError):
    """An import that fails, with the name of the package."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No module named '{name}'", name=name)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SymgenError("a  b\nc"), "a b c"),
        (MemoryError(), "the memory is used up; lock joints that do not matter with --lock"),
        (RecursionError(), "the description is nested too deeply to be followed"),
        (OSError(2, "No such file", "x.urdf"), "x.urdf: No such file"),
        (OSError(28, "No space left"), "the output cannot be written: No space left"),
        (OSError("odd"), "the output cannot be written: odd"),
        (Missing("numpy"), "the package 'numpy' is not installed"),
        (Missing("symgen.x"), "internal error (Missing: No module named 'symgen.x')"),
        (ValueError("v"), "internal error (ValueError: v); please report it"),
    ],
)
def test_an_error_is_one_sentence(error: Exception, text: str) -> None:
    assert cli.sentence(error).startswith(text)


def options_of(*words: str) -> Namespace:
    parser = Parser(prog="symgen x")
    parser.add_argument("robot", metavar="ROBOT")
    parser.add_argument("--at", metavar="AT")
    parser.add_argument("--two", nargs=2)
    parser.add_argument("--on", action="store_true")
    parser.add_argument("-a")
    add_verbosity(parser)
    return parser.parse(words)


def test_a_value_with_a_minus_belongs_to_the_option_before_it() -> None:
    assert options_of("r", "--at", "-1,0").at == "-1,0"
    assert options_of("r", "--at", "-.5").at == "-.5"
    assert options_of("--at", "-1", "r").robot == "r"
    for words, message in (
        (("r", "--at", "-x"), "expected one argument"),
        (("r", "--on", "-1"), "'-1' is one argument too many|unrecognized"),
        (("r", "s"), "'s' is one argument too many"),
        (("r", "--att", "1"), "did you mean '--at'"),
        ((), "ROBOT"),
    ):
        with pytest.raises(RequestError, match=message):
            options_of(*words)
    Parser(prog="symgen x")._check_options(["--", "--att"])  # what follows -- is no option


@pytest.mark.parametrize("text", ["0", "-1", "x", ""])
def test_a_range_that_is_no_positive_number_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match=f"--ulps {text} is not a positive number"):
        prove._positive(text, "ulps")
    assert prove._positive("2.5", "ulps") == Fraction(5, 2)
    assert prove._positive(None, "ulps") is None


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["-f", "f"], "-f"),
        (["--ulps", "3"], "--ulps"),
        (["--eva"], "--eva"),
        (["--acceleration", "11"], "--acceleration"),
        (["--real", "float"], "--real"),
        (["--trig", "macro"], "--trig"),
    ],
)
def test_options_of_the_proof_of_bounds_do_not_apply_to_identities(
    words: list[str], flag: str
) -> None:
    parser = Parser(prog="symgen prove")
    prove.arguments(parser)
    prove._refuse_with_identities(parser.parse(["planar_arm", "--identities"]))
    with pytest.raises(RequestError, match=f"^{flag} does not apply to --identities"):
        prove._refuse_with_identities(parser.parse(["planar_arm", "--identities", *words]))


# -- notes -----------------------------------------------------------------------------------------


def lines_of_notes(
    capsys: pytest.CaptureFixture[str], mechanism: Mechanism, robot: str = "r.urdf", **options: Any
) -> list[str]:
    _sharing.say_notes(mechanism, robot, **options)
    return capsys.readouterr().err.splitlines()


def test_a_terminal_shows_two_notes_of_a_kind(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["first note", "a second one", "and a third", "and the last"]
    loud = (*(Note("mimic", text) for text in texts), Note("warning", "w"), Note("info", "quiet"))
    robot = Mechanism(**{**pendulum().__dict__, "notes": loud})
    assert lines_of_notes(capsys, robot) == [f"symgen: note: {text}" for text in texts]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert lines_of_notes(capsys, robot) == [
        *(f"symgen: note: {text}" for text in texts[:2]),
        "symgen: … and 2 more of kind mimic; 'symgen show r.urdf' lists them",
    ]
    two = Mechanism(**{**pendulum().__dict__, "notes": loud[:2]})
    assert len(lines_of_notes(capsys, two)) == 2


def test_the_frame_of_a_folder_is_that_of_its_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def note(requested: Any, functions: list[str], **options: Any) -> str:
        facts = {"functions": {name: {} for name in functions}, "options": options}
        (tmp_path / "manifest.json").write_text(json.dumps(facts), encoding="utf-8")
        _sharing.name_frame(tmp_path, requested)
        return capsys.readouterr().err

    text = "symgen: note: the frame is tip, as the folder was generated\n"
    assert note(None, ["jacobian"], frame="tip") == text
    assert note(["jacobian"], ["jacobian"], frame="tip", jacobian_frame="link") == text
    assert note(None, ["mass_matrix"], frame="tip") == ""
    assert note(["mass_matrix"], ["jacobian", "mass_matrix"], frame="tip") == ""
    assert note(
        None, ["jacobian"], frame=["a", "b"], jacobian_frame="link", jacobian_order="linear"
    ) == (
        "symgen: note: the frames are a, b, J is link and has the linear part first, "
        "as the folder was generated\n"
    )


def test_the_default_frame_is_named_with_at_most_three_that_are_like_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = load("planar_arm")
    for alike, words in (
        ((), "(why); --frame"),
        (("a", "b", "c"), "(why; like it: a, b, c); --frame"),
        (("a", "b", "c", "d"), "(why; like it: a, b, c …); --frame"),
    ):
        tip = SimpleNamespace(name="tip", why="why", alike=alike)
        monkeypatch.setattr("symgen.description.tip.choose_tip", lambda _, tip=tip: tip)
        _sharing._name_default_frame(arm)
        assert f"the frame is tip {words} LINK" in capsys.readouterr().err


def test_drives_that_are_off_are_named_for_descriptions_that_do_not_list_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        '<dynamics damping="1"/></joint></robot>',
        encoding="utf-8",
    )
    off = load(path, drives="off")
    assert "damping" in _sharing._held_drives(off, str(path))
    assert _sharing._held_drives(off, str(tmp_path)) == ""
    assert _sharing._held_drives(off, "r.toml") == ""
    assert _sharing._held_drives(load(path, drives="on"), str(path)) == ""


# -- progress --------------------------------------------------------------------------------------


def test_a_pipe_and_a_dumb_terminal_show_no_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for is_terminal, kind, shown in (
        (False, "xterm", ""),
        (True, "dumb", ""),
        (True, "xterm", "\r\033[K[1/2] work …\r\033[K"),
    ):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_terminal=is_terminal: is_terminal)
        monkeypatch.setenv("TERM", kind)
        with _progress.Progress() as progress:
            progress("work", 1, 2)
        assert capsys.readouterr().err == shown


def test_a_long_name_of_a_step_is_cut_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with _progress.Progress() as progress:
        progress("x" * 70, 1, 2)
        assert f"[1/2] {'x' * 60} …" in capsys.readouterr().err
        progress.wipe()
        assert capsys.readouterr().err == "\r\033[K"
        progress.wipe()
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("step", "total", "text"),
    [
        (0.5, 0.99, ""),
        (0.2, 1.0, " 0 s, 1 s in all"),
        (59.9, 60.0, " 59 s, 1 min 0 s in all"),
        (125.0, 125.9, " 2 min 5 s"),
    ],
)
def test_times_are_in_minutes_and_seconds(step: float, total: float, text: str) -> None:
    assert _progress.elapsed(step, total) == text
