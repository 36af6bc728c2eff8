"""SymgenWarning in Python: when it is issued, which line it names, and which choices silence it."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen import cli
from symgen.description.loading import builtin_robots
from symgen.mechanism.notes import KINDS, Note, combined_notes
from symgen.pipeline.build import programs_and_refusals
from symgen.pipeline.noticing import notices
from symgen.pipeline.request import Request
from symgen.support.errors import warn_each
from symgen.vocabulary.options import ProgramOptions
from tests.shared.descriptions import joint, link, robot

TRUNK = robot(link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("k", "a", "c"))
SNAPPED = robot(
    link("world", ""), link("b"), joint("j", "world", "b", inside='<origin rpy="1.5708 0 0"/>')
)
DAMPED = robot(
    link("world", ""), link("b"), joint("j", "world", "b", inside='<dynamics damping="1"/>')
)
MIMIC = robot(
    link("world", ""),
    link("b"),
    link("c"),
    joint("j", "world", "b"),
    joint("k", "b", "c", inside='<mimic joint="j"/>'),
)


def warnings_of(call: Any) -> list[str]:
    """Return the texts of all warnings of a call, which must be SymgenWarnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(warning.category is symgen.SymgenWarning for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("text", "words", "choice"),
    [
        (TRUNK, "a (1 kg) is fixed, since no joint moves it", {"base": "fixed"}),
        (TRUNK, "a (1 kg) is fixed, since no joint moves it", {"base": "free"}),
        (SNAPPED, "1.5708 read as pi/2", {"snap": "off"}),
        (SNAPPED, "1.5708 read as pi/2", {"snap": 1e-4}),
        (DAMPED, "damping of j; drives='on' applies damping", {"drives": "off"}),
        (DAMPED, "damping of j; drives='on' applies damping", {"drives": "on"}),
        (MIMIC, "declared to mimic another joint: k; mimic='couple'", {"mimic": "independent"}),
        (MIMIC, "declared to mimic another joint: k; mimic='couple'", {"mimic": "couple"}),
    ],
)
def test_a_default_decision_warns_once_and_an_explicit_one_does_not(
    text: str, words: str, choice: dict[str, Any]
) -> None:
    messages = warnings_of(lambda: symgen.load(text))
    assert len(messages) == 1
    assert words in messages[0]
    assert not warnings_of(lambda: symgen.load(text, **choice))


def test_every_function_that_reads_a_robot_warns(tmp_path: Path) -> None:
    expected = warnings_of(lambda: symgen.load(TRUNK))
    assert warnings_of(lambda: symgen.program(TRUNK, "mass_matrix")) == expected
    assert warnings_of(lambda: symgen.convert(TRUNK, tmp_path / "trunk.toml")) == expected
    assert (
        warnings_of(lambda: symgen.generate(TRUNK, tmp_path / "out", ["gravity_force"])) == expected
    )
    assert warnings_of(lambda: symgen.inspect(TRUNK, "M[0,0]")) == expected
    by_hand = symgen.Robot("r")
    by_hand.body(
        "a", parent="base", type="revolute", axis=(0, 0, 1), mass=0, inertia=(1, 0, 0, 1, 0, 1)
    )
    assert any("no mass" in text for text in warnings_of(by_hand.build))


def test_a_warning_names_the_line_of_the_caller_and_is_shown_once(tmp_path: Path) -> None:
    path = tmp_path / "used.py"
    path.write_text(
        f"import symgen\nfor _ in range(3):\n    symgen.load({TRUNK!r})   # here\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert done.stderr.count("SymgenWarning") == 1
    assert done.stderr.startswith(
        f"{path}:3: SymgenWarning: a (1 kg) is fixed, since no joint moves it"
    )
    assert "# here" in done.stderr


def test_built_in_robots_load_without_warnings_except_puma560() -> None:
    loud = {name: warnings_of(lambda name=name: symgen.load(name)) for name in builtin_robots()}
    assert {name for name, texts in loud.items() if texts} == {"puma560"}


def test_snapping_a_right_angle_in_double_precision_gives_no_warning() -> None:
    assert not warnings_of(lambda: symgen.load(SNAPPED.replace("1.5708", "1.5707963267948966")))
    assert any(
        note.kind == "snap"
        for note in symgen.load(SNAPPED.replace("1.5708", "1.5707963267948966")).notes
    )


def test_the_command_line_prints_messages_instead_of_python_warnings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trunk.urdf"
    path.write_text(TRUNK, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cli.main(["convert", str(path), "-o", str(tmp_path / "t.toml")]) == 0
        err = capsys.readouterr().err
        assert err.count("is fixed, since no joint moves it") == 1
        assert err.splitlines()[-1].startswith(
            "symgen: warning: a (1 kg) is fixed, since no joint moves it"
        )
        assert (
            cli.main(["convert", str(path), "--base", "fixed", "-o", str(tmp_path / "t.toml")]) == 0
        )
        assert "warning" not in capsys.readouterr().err
        assert cli.main(["show", str(path)]) == 0
        out, err = capsys.readouterr()
        assert (out.count("is fixed, since no joint moves it"), err) == (1, "")


def test_only_dynamics_that_ignore_closed_loops_warn() -> None:
    robot_with_loops = symgen.load("four_bar")
    messages = warnings_of(lambda: symgen.program(robot_with_loops, "forward_dynamics"))
    assert len(messages) == 1
    assert "forward_dynamics of 'four_bar' ignores its loops" in messages[0]
    assert not warnings_of(lambda: symgen.program(robot_with_loops, "constrained_forward_dynamics"))
    assert not warnings_of(lambda: symgen.program(robot_with_loops, "gravity_force"))


def test_an_ambiguous_default_frame_warns() -> None:
    legs = symgen.load("quadruped")
    messages = warnings_of(lambda: symgen.program(legs, "forward_kinematics"))
    assert len(messages) == 1
    assert "uses the frame" in messages[0]
    assert not warnings_of(
        lambda: symgen.program(legs, "forward_kinematics", frame=legs.frames[-1].name)
    )
    assert not warnings_of(lambda: symgen.program("planar_arm", "forward_kinematics"))


def test_functions_impossible_for_a_robot_are_named_as_left_out() -> None:
    line = symgen.load(
        "name = 'line'\n[[body]]\nname = 'a'\nparent = 'base'\nmass = 1\n"
        "[body.joint]\nname = 'j'\ntype = 'revolute'\naxis = [0, 0, 1]\n"
    )  # M = 0, since the point mass is on the axis
    programs, refused = programs_and_refusals(Request(line))
    messages = warnings_of(
        lambda: warn_each(notices(line, programs, ProgramOptions(), False, refused))
    )
    assert len(messages) == 1
    assert messages[0].startswith(
        "left out: forward_dynamics of 'line' divides by the mass matrix, which is singular"
    )
    assert "; likewise inverse_mass_matrix, mass_matrix_solve" in messages[0]
    assert "mass_matrix" in programs
    for _ in ("compiled", "found in the cache"):
        assert not warnings_of(lambda: symgen.compile(line, ["mass_matrix"]))


def test_a_robot_without_inertias_gets_one_line_for_each_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "light.urdf"
    path.write_text(
        robot(*(link(name, "") for name in "abc"), joint("j", "a", "b"), joint("k", "b", "c")),
        encoding="utf-8",
    )
    assert cli.main(["generate", str(path), "-o", str(tmp_path / "out")]) == 0
    err = capsys.readouterr().err.splitlines()
    assert len(err) <= 6
    assert sum("forward_dynamics of 'r' divides by the mass matrix" in line for line in err) == 1
    assert sum("center_of_mass of 'r' needs the mass centre" in line for line in err) == 1
    assert all(
        any(name in line for line in err)
        for name in ("step_rk4", "centroidal_momentum_rate", "interbody_forces")
    )
    assert err[-1].startswith("symgen: warning: no moving link has mass")


def test_a_name_that_is_invalid_in_c_warns_only_when_c_is_generated(
    tmp_path: Path,
) -> None:
    arm = TRUNK.replace('name="r"', 'name="my-arm"', 1)
    mechanism = symgen.load(arm)
    named = "the robot 'my-arm' is called my_arm in C, since its name has characters other than"
    assert [note.kind for note in mechanism.notes if note.text.startswith(named)] == ["info"]
    messages = warnings_of(lambda: symgen.generate(mechanism, tmp_path / "a", ["gravity_force"]))
    assert len(messages) == 1
    assert messages[0].startswith(named)
    assert messages[0].endswith("generate(name=...) sets another name")
    assert not warnings_of(
        lambda: symgen.generate(mechanism, tmp_path / "b", ["gravity_force"], name="my_arm")
    )
    assert not [note for note in symgen.load(TRUNK).notes if "in C" in note.text]


def test_similar_notes_become_one_line_with_names_and_a_count() -> None:
    notes = [
        Note("info", f"line {i}, joint 'j{i}': declares no <limit>; read without limits")
        for i in range(15)
    ]
    assert combined_notes(notes, "info") == [
        "line 0, joint 'j0': declares no <limit>; read without limits; the same of "
        "j1, j2, j3, j4 and 10 more"
    ]
    assert combined_notes([*notes, Note("info", "line 3, joint 'j3': has no name")], "info")[
        1:
    ] == ["line 3, joint 'j3': has no name"]
    assert all(
        name in combined_notes(notes, "info", named=None)[0]
        for name in (f"j{i}" for i in range(15))
    )


def test_of_similar_snaps_the_largest_is_printed() -> None:
    text = robot(
        link("world", ""),
        *(link(f"l{i}") for i in range(4)),
        joint("j0", "world", "l0"),
        *(
            joint(f"j{i}", f"l{i - 1}", f"l{i}", inside=f'<origin rpy="{angle} 0 0"/>')
            for i, angle in ((1, "1.57079632679"), (2, "-1.5708"), (3, "1.570796"))
        ),
    )
    lines = combined_notes(symgen.load(text).notes, "snap")
    assert len(lines) == 1
    assert "-1.5708 read as -pi/2 (moved by 3.7e-06 rad); the same of j1, j3" in lines[0]


def test_every_kind_of_note_is_documented_and_warnings_can_be_pickled() -> None:
    for name in builtin_robots():
        assert {note.kind for note in symgen.load(name).notes} <= KINDS.keys()
    assert str(pickle.loads(pickle.dumps(symgen.SymgenWarning("a sentence")))) == "a sentence"
