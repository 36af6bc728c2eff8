"""Several frames in one call: results equal those of single frames, for fewer operations; folders
and messages.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen import cli
from symgen.inspection.pattern import pattern
from symgen.ir.program import Port, Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.choose import methods_for
from symgen.support.errors import RequestError
from symgen.verification.algebra import check_algebra
from symgen.verification.exact_results import ExactResults
from symgen.verification.identities import check_identities
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.feet import FEET
from tests.shared.oracles import random_tree
from tests.shared.robots_for_tests import BALLS, draw, largest, robot, run

FRAMED = tuple(name for name, function in FUNCTIONS.items() if function.uses_all_frames)
SINGLE = tuple(
    name
    for name, function in FUNCTIONS.items()
    if function.needs_frame and not function.uses_all_frames and not function.counts("NK")
)
TREE = random_tree(31, 4, branching=0.5)
ROBOTS: dict[str, tuple[Mechanism, tuple[str, ...]]] = {
    "feet": (robot("quadruped"), FEET),
    "a tree": (TREE, ("tool", "world", "link0")),
    "one link": (robot("panda"), ("panda_hand", "panda_link8")),
}
COST = {"forward_kinematics": 299, "jacobian": 473, "bias_acceleration": 515}
"""Most operations for the four feet in one call; four calls of one foot take 392, 560 and 584."""
Written = tuple[Path, dict[str, object]]


def test_three_functions_return_every_frame_and_two_the_first_only() -> None:
    assert set(FRAMED) == set(COST)
    assert SINGLE == ("operational_inertia_inverse", "link_accelerations")


@pytest.mark.parametrize("robot_name", ROBOTS)
@pytest.mark.parametrize("function", FRAMED)
def test_results_of_several_frames_equal_those_of_single_frames(
    function: str, robot_name: str
) -> None:
    mechanism, frames = ROBOTS[robot_name]
    at = draw(mechanism, 2, BALLS)
    for method in methods_for(mechanism, function):
        stacked = run(symgen.program(mechanism, function, method, frame=frames), at, BALLS)
        for k, frame in enumerate(frames):
            single = run(symgen.program(mechanism, function, method, frame=frame), at, BALLS)
            with BALLS.working():
                assert all(
                    largest(stacked[name][:, k] - single[name]) < 1e-40 for name in single
                ), (
                    method,
                    frame,
                )


@pytest.mark.usefixtures("polished_here")
@pytest.mark.parametrize("function", FRAMED)
def test_four_feet_cost_less_than_four_times_one_foot(function: str) -> None:
    mechanism, _ = ROBOTS["feet"]
    four_feet, one_foot = (
        symgen.program(mechanism, function, frame=frame) for frame in (FEET, FEET[0])
    )
    assert four_feet.cost <= COST[function] < 4 * one_foot.cost
    assert {port.shape[0] for port in four_feet.outputs} == {4}


@pytest.mark.parametrize("function", [*FRAMED, *SINGLE])
def test_one_frame_in_a_list_is_that_frame(function: str) -> None:
    assert symgen.program(TREE, function, frame=["link0"]) == symgen.program(
        TREE, function, frame="link0"
    )


@pytest.mark.parametrize("function", SINGLE)
def test_functions_of_one_frame_use_the_first(function: str) -> None:
    first, second, with_both = (
        symgen.program(TREE, function, frame=frame)
        for frame in ("tool", "link0", ("tool", "link0"))
    )
    assert with_both == first != second


@pytest.mark.parametrize("function", FRAMED)
def test_every_foot_equals_pinocchio(function: str) -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import pinocchio_answers

    mechanism, _ = ROBOTS["feet"]
    states = draw(mechanism, 3)
    results = run(symgen.program(mechanism, function, frame=FEET), states)
    for k, foot in enumerate(FEET):
        model = pinocchio_answers.built(mechanism, foot)
        for sample in range(3):
            judge = pinocchio_answers.Word(
                model, {name: values[sample] for name, values in states.items()}
            )
            foot_results = {name: values[sample, k] for name, values in results.items()}
            assert pinocchio_answers.ERRORS[function](foot_results, judge) < 1e-14, (foot, sample)


# -- verified --------------------------------------------------------------------------------------


def test_exact_results_and_sizes_of_several_frames_equal_those_of_single_frames() -> None:
    frames = ROBOTS["a tree"][1]
    joint_results, single_results = (
        ExactResults(TREE, 2, frame=frames),
        [ExactResults(TREE, 2, frame=frame) for frame in frames],
    )
    for function in (*FRAMED, *SINGLE):
        for name, values in joint_results.results(function).items():
            stacked = [exact_results.results(function)[name] for exact_results in single_results]
            sizes = [exact_results.scales.of(function, name) for exact_results in single_results]
            if function in SINGLE:
                stacked, sizes = stacked[:1], sizes[:1]
                values, scale = values[:, None], joint_results.scales.of(function, name)[:, None]
            else:
                scale = joint_results.scales.of(function, name)
            assert scale.shape == values.shape
            np.testing.assert_allclose(scale, np.stack(sizes, axis=1), rtol=1e-12, atol=1e-18)
            with joint_results.scalars.working():
                assert largest(values - np.stack(stacked, axis=1)) < 1e-40
                for exact_results, expected in zip(
                    joint_results.of_each_frame, stacked, strict=False
                ):
                    assert largest(exact_results.results(function)[name] - expected) < 1e-40


def with_frames_swapped(program: Program) -> Program:
    """Return the Program with its first two frames exchanged."""

    def swapped_port(port: Port) -> Port:
        size = port.size // port.shape[0]
        return port._replace(
            rows=(*port.rows[size : 2 * size], *port.rows[:size], *port.rows[2 * size :])
        )

    return replace(program, outputs=tuple(swapped_port(port) for port in program.outputs))


CONFUSED = {
    "forward_kinematics": {"J v = d/dt pose", "pose of the frame = pose of its link"},
    "bias_acceleration": {"J̇ v = d/dt J v"},
    "jacobian": {
        "J v = d/dt pose",
        "J̇ v = d/dt J v",
        "Lambda_inv = J Minv Jᵀ",
        "alpha_tip = J a + J̇ v",
    },
}
"""For each function, the identities that fail if two frames are exchanged."""


@pytest.mark.parametrize("function_with_error", ["", *FRAMED])
def test_verify_passes_several_frames_and_fails_exchanged_ones(function_with_error: str) -> None:
    frames = ("link0", "tool")
    functions = (*FRAMED, *SINGLE, "link_poses", "inverse_mass_matrix", "forward_dynamics")
    programs = {name: symgen.program(TREE, name, frame=frames) for name in functions}
    if function_with_error:
        programs[function_with_error] = with_frames_swapped(programs[function_with_error])
    exact_results = ExactResults(TREE, 1, frame=frames)
    assert [
        name for name in FRAMED if not check_algebra(programs[name], exact_results, name).passed
    ] == [function_with_error] * bool(function_with_error)
    failed = {
        check.subject
        for check in check_identities(programs, None, exact_results)
        if not check.passed
    }
    assert failed == CONFUSED.get(function_with_error, set())


# -- the folder ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("frames") / "planar_arm"
    return folder, symgen.generate(
        "planar_arm",
        folder,
        [*FRAMED, "operational_inertia_inverse"],
        frame=["link2", "link1"],
        wrap=["cpp17"],
    )


def test_a_folder_lists_its_frames_in_order(written: Written) -> None:
    folder, manifest = written
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert json.loads(texts["manifest.json"])["options"]["frame"] == ["link2", "link1"]
    assert "#define planar_arm_NF 2\n" in texts["planar_arm.h"]
    assert "double J[planar_arm_NF*6*planar_arm_NV]" in texts["planar_arm_jacobian.c"]
    assert "The frames, in order: link2, link1." in texts["planar_arm_jacobian.c"]
    assert "The frame: link2." in texts["planar_arm_operational_inertia_inverse.c"]
    assert texts["planar_arm.h"].count("the frames, in order: link2, link1\n") == len(FRAMED)
    assert "std::array<real, NF * 6 * NV>" in texts["planar_arm.hpp"]
    assert (
        "to planar_arm_NF = 2 frames, one after the other in each result:\n`link2`, `link1`."
        in texts["README.md"]
    )
    assert (
        "`operational_inertia_inverse` refers to the first of the named frames only: `link2`."
        in texts["README.md"]
    )
    assert "--frame link2 --frame link1" in texts["README.md"]
    assert manifest["functions"]["jacobian"]["result"]["shape"] == [2, 6, 2]  # type: ignore[index]


def test_a_folder_with_several_frames_verifies_and_regenerates(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, manifest = written
    assert symgen.verify(folder, states=1, compiled=False).passed
    monkeypatch.chdir(folder)
    words = str(manifest["command"]).split()
    assert cli.main([*words[1:], "-q"]) == 0
    regenerated = folder.parent / "planar_arm-again"
    assert all(
        (regenerated / path.name).read_bytes() == path.read_bytes() for path in folder.iterdir()
    )


@pytest.mark.parametrize("planted", ["#define planar_arm_NF 3", "#define planar_arm_NF 2 + 0"])
def test_a_wrong_number_of_frames_is_caught(written: Written, planted: str, tmp_path: Path) -> None:
    folder = tmp_path / "planar_arm"
    shutil.copytree(written[0], folder)
    header = folder / "planar_arm.h"
    header.write_text(
        header.read_text(encoding="utf-8").replace("#define planar_arm_NF 2", planted),
        encoding="utf-8",
    )
    report = symgen.verify(folder, ["jacobian"], states=1, compiled=False)
    assert [check.kind for check in report.failures] == ["text"]


def test_compiled_functions_stack_their_frames() -> None:
    solver = symgen.compile("planar_arm", ["jacobian"], frame=["link2", "link1"], optimize=0)
    single = symgen.compile("planar_arm", ["jacobian"], frame="link1", optimize=0)
    q = np.array([[0.3, -0.4], [1.0, 2.0], [0.0, 0.1]])
    assert solver.jacobian(q).shape == (3, 2, 6, 2)
    assert (solver.jacobian(q)[:, 1] == single.jacobian(q)).all()


# -- names of frames -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frames", "sentence"),
    [
        (["link1", "link1"], "the frame 'link1' is named twice; name every frame once"),
        (["link1", "lnk2"], "no link is named 'lnk2'; did you mean 'link2'?"),
        ([], "no frame is named; name one or more links, or give None for the default one"),
    ],
)
@pytest.mark.parametrize("function", ["jacobian", "mass_matrix"])
def test_wrong_names_of_frames_are_refused_in_one_sentence(
    function: str, frames: list[str], sentence: str
) -> None:
    with pytest.raises(RequestError) as refused:
        symgen.program("planar_arm", function, frame=frames)
    assert str(refused.value) == sentence


def test_the_command_line_notes_functions_of_the_first_frame_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    named = ["--frame", "link2", "--frame", "link1"]
    assert (
        cli.main(
            [
                "verify",
                "planar_arm",
                "-f",
                "jacobian",
                "-f",
                "operational_inertia_inverse",
                "--states",
                "1",
                *named,
            ]
        )
        == 0
    )
    assert (
        "operational_inertia_inverse speaks of the first frame alone, link2\n"
        in capsys.readouterr().err
    )
    assert cli.main(["inspect", "planar_arm", "J[link1,3,0]", *named]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("-sin(q0)\n", "")


def equal(actual: object, expected: object) -> bool:
    return bool(actual == expected)


@pytest.mark.parametrize(
    ("inspect_value", "expected"),
    [
        (
            lambda: symgen.inspect("planar_arm", "J", frame=["link2", "link1"])[6:, :],
            lambda: symgen.inspect("planar_arm", "J", frame="link1"),
        ),
        (
            lambda: symgen.inspect("planar_arm", "J[0,3,1]", frame=["link2", "link1"], symbols="l"),
            lambda: symgen.inspect("planar_arm", "J[3,1]", frame="link2", symbols="l"),
        ),
        (
            lambda: pattern(robot("planar_arm"), "J", frame=["link2", "link1"]).rows,
            lambda: (("link2", 6), ("link1", 6)),
        ),
        (
            lambda: pattern(robot("planar_arm"), "Jdot_v", frame=["link2", "link1"]).rows,
            lambda: (("link2", 1), ("link1", 1)),
        ),
    ],
)
def test_inspect_reads_every_frame(
    inspect_value: Callable[[], object], expected: Callable[[], object]
) -> None:
    assert equal(inspect_value(), expected())
