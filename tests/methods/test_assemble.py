"""`assemble` closes kinematic loops: verified steps with a status in C, 120 digits in Python."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.cli import main
from symgen.machine.compilers import find_compiler
from symgen.mechanism.mechanism import Mechanism
from symgen.methods import gauss_newton
from symgen.pipeline import composing
from symgen.pipeline.build import requested
from symgen.reference import closing
from symgen.reference.motion import Motion
from symgen.reference.precision import arb
from symgen.support.errors import ArgumentError, OutOfReach, StateError
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.functions import ASSEMBLING
from symgen.vocabulary.options import ProgramOptions
from tests.shared.looped import hopper

CLOSING = "assemble", "constraint_residual"
BALL = """
name = "ball"
gravity = [0, 0, -9.81]
start = { neck = [0, 0, 0, 1] }
[base]
name = "ground"
[[body]]
name = "head"
parent = "ground"
joint = { name = "neck", type = "spherical" }
mass = 1
centre = [0, 0, -0.3]
inertia = { xx = 0.1, yy = 0.2, zz = 0.25 }
[[loop]]
name = "string"
type = "distance"
distance = 0.6
first = { link = "ground", xyz = [0.3, 0, 0] }
second = { link = "head", xyz = [0, 0.1, -0.5] }
"""


def four_bar() -> Mechanism:
    return symgen.load("four_bar")


def doubled_four_bar() -> Mechanism:
    """Return a four-bar whose loop is closed by the same hinge twice, so that half of the rows are
    redundant.
    """
    robot = four_bar()
    return replace(robot, loops=(*robot.loops, replace(robot.loops[0], name="again")))


def ball() -> Mechanism:
    """Return a body on a spherical joint, tied to the ground by a massless rod."""
    return symgen.load(BALL)


ROBOTS: dict[str, tuple[Callable[[], Mechanism], Sequence[float]]] = {
    "four_bar": (four_bar, (1.5708, -0.9273, 2.2143)),
    "twice": (doubled_four_bar, (1.5708, -0.9273, 2.2143)),
    "ball": (ball, (0, 0, 0, 1)),
}


@pytest.mark.parametrize(
    ("name", "real", "bound"),
    [
        ("four_bar", "double", 1e-15),
        ("twice", "double", 1e-15),
        ("ball", "double", 1e-15),
        ("twice", "float", 1e-6),
    ],
)
def test_assemble_closes_loops_from_open_positions(name: str, real: str, bound: float) -> None:
    make_robot, start = ROBOTS[name]
    solver = symgen.compile(make_robot(), CLOSING, real)
    q = np.array(start) + np.random.default_rng(3).uniform(-0.8, 0.8, (200, len(start)))
    if name == "ball":
        q /= np.linalg.norm(q, axis=-1)[:, None]
    closed = solver.assemble(q.astype(real))
    assert np.abs(solver.constraint_residual(q.astype(real))).max() > 0.1
    assert np.abs(solver.constraint_residual(closed)).max() <= bound
    if name == "ball":  # steps are rotations: the quaternion keeps its length
        np.testing.assert_allclose(np.linalg.norm(closed, axis=-1), 1, atol=1e-13)


def test_without_a_closed_position_the_result_is_unchanged_and_the_status_is_nonzero() -> None:
    solver = symgen.compile("four_bar", CLOSING)
    bad, out, status = (
        np.array([[np.nan, 0, 0], [1.5, -0.9, 2.2]]),
        np.full((2, 3), 7.0),
        np.zeros(2, np.intc),
    )
    solver.assemble(bad, out=out, status=status)
    assert status.tolist() == [5, 0]
    assert (out == 7).all(axis=-1).tolist() == [True, False]
    with pytest.raises(
        StateError,
        match="the steps from the start do not close the loops; start nearer to a closed position",
    ):
        solver.assemble(bad[0])
    checked = symgen.compile("four_bar", CLOSING, checked=True)
    with pytest.raises(
        StateError, match="assemble refuses its arguments: an argument is infinite or not a number"
    ):
        checked.assemble(bad[0])


def test_python_closes_loops_to_115_digits() -> None:
    robot = doubled_four_bar()
    for q in (None, [1.2, -0.5, 2.0]):
        positions = symgen.assemble(robot, q)
        assert list(positions) == [joint.name for joint in robot.joints]
        exact = Motion(robot, arb(150))
        flat = np.array([x for values in positions.values() for x in values], dtype=object)
        with exact.scalars.working():
            C = closing.residual(exact, None, exact.scalars.array(flat))
            assert all(abs(x) < exact.scalars.constant(Fraction(1, 10**115)) for x in C)
        assert q is None or max(abs(float(x) - y) for x, y in zip(flat, q, strict=True)) < 0.3
    with pytest.raises(OutOfReach, match="'scara' has none; declare loop closures"):
        symgen.assemble("scara")
    with pytest.raises(ArgumentError, match="q has 2 numbers, and 'four_bar' has 3 coordinates"):
        symgen.assemble("four_bar", [1, 2])
    with pytest.raises(
        ArgumentError, match="q has an entry that is infinite or not a number; give finite ones"
    ):
        symgen.assemble("four_bar", [1, float("nan"), 2])
    with pytest.raises(
        ArgumentError, match=r"q\[3\] to q\[6\] are a quaternion of length 0; scale it to length 1"
    ):
        symgen.assemble(hopper(), [0.0] * 11)


@pytest.mark.parametrize("function", ["assemble=riccati", "assemble:jvp"])
def test_assemble_has_no_method_and_no_derivative(function: str) -> None:
    with pytest.raises(
        ArgumentError,
        match=r"calls other functions, .*; request assemble alone, or assembly_step",
    ):
        requested(symgen.load("four_bar"), [function])


def test_a_loop_that_closes_with_a_frame_rotated_by_half_a_turn_is_refused() -> None:
    robot = symgen.load(
        BALL.replace('type = "distance"\ndistance = 0.6', 'type = "weld"')
        .replace("xyz = [0.3, 0, 0]", "xyz = [0, 0, 0]")
        .replace(", xyz = [0, 0.1, -0.5] }", " }")
        .replace(
            'joint = { name = "neck", type = "spherical" }',
            'joint = { name = "neck", type = "free" }',
        )
        .replace("neck = [0, 0, 0, 1]", "neck = [0, 0, 0, 0, 0, 0, 1]")
    )
    swinging = replace(robot, loops=(replace(robot.loops[0], kind="revolute"),))
    with pytest.raises(
        OutOfReach,
        match="close with one frame turned by half a turn against the other; start nearer",
    ):
        symgen.assemble(swinging, [0, 0, 0, 1, 0, 0, 0])
    solver = symgen.compile(swinging, CLOSING)
    with pytest.raises(StateError, match="the steps from the start do not close the loops"):
        solver.assemble([0.0, 0, 0, 1, 0, 0, 0])
    assert np.abs(solver.constraint_residual(np.array([0.0, 0, 0, 1, 0, 0, 0]))).max() == 0
    assert solver.assembly_step([0.0, 0, 0, 1, 0, 0, 0], 1.0)[2] == 2


def step_with_error(planted: str) -> Callable[[Any], Any]:
    """Return the step of `assemble` with a planted error."""

    def step(robot: Any) -> Any:
        delta, *other_results = gauss_newton.step(robot)
        return {
            "sign": ([-x for x in delta], *other_results),
            "damping": gauss_newton.step(SquaredDamping(robot)),
        }[planted]

    return step


class SquaredDamping:
    """Planted error: the functions of a robot, with the damping squared."""

    def __init__(self, robot: Any) -> None:
        self.robot, self.derivation, self.mechanism = robot, robot.derivation, robot.mechanism
        self.inputs = {**robot.inputs, "damping": [x * x for x in robot.inputs["damping"]]}

    def __call__(self, *words: Any, **options: Any) -> Any:
        return self.robot(*words, **options)


@pytest.mark.parametrize("planted", ["sign", "damping"])
def test_a_planted_error_in_the_assembly_step_is_caught(planted: str) -> None:
    robot = four_bar()
    programs = {
        name: symgen.program(robot, name)
        for name in ("constraint_residual", "constraint_residual:jacobian", "link_poses")
    }
    for compose, passed in ((gauss_newton.step, True), (step_with_error(planted), False)):
        step_program = composing.compose_program(
            robot, "assembly_step", "gauss_newton", compose, ProgramOptions(), programs.__getitem__
        )
        assert (
            verify_programs(
                Subject(robot, {"assembly_step": step_program}, states=2, compiled=False)
            ).passed
            is passed
        )


def run_selftest(folder: Path) -> tuple[int, str]:
    """Compile and run the self-test of a folder; return its exit code and its output."""
    sources = [str(path) for path in sorted(folder.glob("*.c"))]
    name, program = (
        json.loads((folder / "manifest.json").read_text())["robot"],
        folder.parent / "selftest",
    )
    subprocess.run(
        [
            *find_compiler(),
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Wshadow",
            "-Wconversion",
            "-pedantic",
            "-Werror",
            "-O1",
            "-ffp-contract=off",
            f"-D{name}_SELFTEST",
            *sources,
            "-lm",
            "-o",
            str(program),
        ],
        check=True,
    )
    completed = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    return completed.returncode, completed.stdout


@pytest.mark.parametrize(
    ("edit", "fails"),
    [
        (("", ""), ""),
        (("at[k] = q[k]", "at[k] = 1.1*q[k]"), "verify"),
        (("four_bar_integrate(at, delta, &taken, at);", "(void)taken;"), "assemble"),
        (("if (status == four_bar_ASSEMBLED)", "if (status >= 0)"), "assemble"),
    ],
)
def test_errors_in_the_driver_are_caught_by_the_selftest_or_by_verify(
    edit: tuple[str, str], fails: str, tmp_path: Path
) -> None:
    """The self-test judges the positions that `assemble` closes; `verify` judges every byte of its
    C.
    """
    out = tmp_path / "folder"
    manifest = symgen.generate("four_bar", out, ["assemble"])
    closing_facts = manifest["closing"]
    assert (closing_facts["assemble"]["calls"], closing_facts["mobility"]) == (list(ASSEMBLING), 1)
    assert closing_facts["idle"]["closing"]
    assert {"four_bar_assemble.c", "four_bar_assemble.h"} <= set(manifest["files"])
    driver = out / "four_bar_assemble.c"
    text = driver.read_text()
    assert edit[0] in text
    driver.write_text(text.replace(*edit) if edit[0] else text)
    report = symgen.verify(out, states=2, compiled=False)
    assert report.passed is not bool(fails)
    code, output = run_selftest(out)
    assert (code != 0, "assemble: FAILED" in output) == (fails == "assemble",) * 2


def test_generate_reports_the_closed_position_the_rank_and_redundant_loops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "twice.toml"
    description = (
        Path(symgen.__file__).parent / "description" / "robots" / "four_bar.toml"
    ).read_text()
    loop = description[description.index("[[loop]]") :]
    path.write_text(description + loop.replace('"closing"', '"again"'))
    assert main(["generate", str(path), "-o", str(tmp_path / "out"), "-f", "mass_matrix"]) == 0
    message = capsys.readouterr().err
    for sentence in (
        "the loops close at crank_joint 1.570799, coupler_joint",
        "the declared start is open by 2.4e-06 m or rad",
        (
            "3 velocities minus 2 constrained by the loops leave 1 free; A has 4 rows, 2 of them"
            " redundant"
        ),
        "loop again: no motion violates its force along z, moment about x and moment about y",
        "mass_matrix and all others are those of the tree with open loops",
    ):
        assert sentence in message
    readme, header = ((tmp_path / "out" / name).read_text() for name in ("README.md", "four_bar.h"))
    assert "onstraint forces are not unique" in readme
    assert "those of the tree with open loops" in readme
    assert "those of the tree with open loops" in " ".join(header.replace("*", "").split())
    assert main(["show", str(path)]) == 0
    assert "Closing the loops\n  the loops close at crank_joint" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "xyz = [0.75, 0, 0]",
            "xyz = [0.04, 0, 0]",
            "cannot be closed: from 16 poses round its start the best is off by 0.01 m",
        ),
        (
            'name = "closing"\ntype = "revolute"',
            'name = "closing"\ntype = "weld"',
            "cannot be closed",
        ),
        (
            "xyz = [0.75, 0, 0]",
            "xyz = [0.3, 0, 0]",
            "close in a singular pose: their rank is 1 there and 2 elsewhere",
        ),
    ],
)
def test_loops_that_cannot_be_closed_are_refused_in_one_sentence(
    old: str, new: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        (Path(symgen.__file__).parent / "description" / "robots" / "four_bar.toml")
        .read_text()
        .replace(old, new)
    )
    if "singular" in sentence:  # a folded parallelogram
        start = text[text.index("start =") :].partition("\n")[0]
        text = text.replace(
            start, "start = { crank_joint = 0, coupler_joint = 0, rocker_joint = 0 }"
        )
        text = text.replace("xyz = [0.85, 0, 0]", "xyz = [0.5, 0, 0]")
    path = tmp_path / "robot.toml"
    path.write_text(text)
    for words in ([], ["-f", "assemble"]):
        assert main(["generate", str(path), "-o", str(tmp_path / "out"), *words]) != 0
        message = capsys.readouterr().err
        assert sentence in message
        assert (message.count("\n"), (tmp_path / "out").exists()) == (1, False)
