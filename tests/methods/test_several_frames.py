"""Several frames in one call: the answers of one frame at a time, for fewer operations; and what the texts say of them."""

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
from symgen.verification.identities import check_identities
from symgen.verification.truth import Truth
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
"""Of the four feet; of one after the other 392, 560 and 584."""
Written = tuple[Path, dict[str, object]]


def test_these_functions_speak_of_each_frame_and_these_of_the_first() -> None:
    assert set(FRAMED) == set(COST)
    assert SINGLE == ("operational_inertia_inverse", "link_accelerations")


@pytest.mark.parametrize("which", ROBOTS)
@pytest.mark.parametrize("function", FRAMED)
def test_they_are_the_answers_of_one_frame_at_a_time(function: str, which: str) -> None:
    mechanism, frames = ROBOTS[which]
    at = draw(mechanism, 2, BALLS)
    for method in methods_for(mechanism, function):
        together = run(symgen.program(mechanism, function, method, frame=frames), at, BALLS)
        for k, frame in enumerate(frames):
            alone = run(symgen.program(mechanism, function, method, frame=frame), at, BALLS)
            with BALLS.working():
                assert all(largest(together[name][:, k] - alone[name]) < 1e-40 for name in alone), (
                    method,
                    frame,
                )


@pytest.mark.usefixtures("polished_here")
@pytest.mark.parametrize("function", FRAMED)
def test_feet_share_the_work_of_the_trunk(function: str) -> None:
    mechanism, _ = ROBOTS["feet"]
    together, alone = (
        symgen.program(mechanism, function, frame=frame) for frame in (FEET, FEET[0])
    )
    assert together.cost <= COST[function] < 4 * alone.cost
    assert {port.shape[0] for port in together.outputs} == {4}


@pytest.mark.parametrize("function", [*FRAMED, *SINGLE])
def test_one_frame_in_a_list_is_that_frame(function: str) -> None:
    assert symgen.program(TREE, function, frame=["link0"]) == symgen.program(
        TREE, function, frame="link0"
    )


@pytest.mark.parametrize("function", SINGLE)
def test_what_speaks_of_one_frame_speaks_of_the_first(function: str) -> None:
    first, second, both = (
        symgen.program(TREE, function, frame=frame)
        for frame in ("tool", "link0", ("tool", "link0"))
    )
    assert both == first != second


@pytest.mark.parametrize("function", FRAMED)
def test_pinocchio_says_the_same_of_every_foot(function: str) -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import pinocchio_answers

    mechanism, _ = ROBOTS["feet"]
    given = draw(mechanism, 3)
    found = run(symgen.program(mechanism, function, frame=FEET), given)
    for k, foot in enumerate(FEET):
        model = pinocchio_answers.built(mechanism, foot)
        for state in range(3):
            word = pinocchio_answers.Word(
                model, {name: values[state] for name, values in given.items()}
            )
            ours = {name: values[state, k] for name, values in found.items()}
            assert pinocchio_answers.ERRORS[function](ours, word) < 1e-14, (foot, state)


# -- verified ------------------------------------------------------------------------------------------------------------


def test_the_answers_and_sizes_of_all_frames_are_those_of_each() -> None:
    frames = ROBOTS["a tree"][1]
    together, alone = (
        Truth(TREE, 2, frame=frames),
        [Truth(TREE, 2, frame=frame) for frame in frames],
    )
    for function in (*FRAMED, *SINGLE):
        for name, values in together.results(function).items():
            stacked = [one.results(function)[name] for one in alone]
            sizes = [one.scales.of(function, name) for one in alone]
            if function in SINGLE:
                stacked, sizes = stacked[:1], sizes[:1]
                values, found = values[:, None], together.scales.of(function, name)[:, None]
            else:
                found = together.scales.of(function, name)
            assert found.shape == values.shape
            np.testing.assert_allclose(found, np.stack(sizes, axis=1), rtol=1e-12, atol=1e-18)
            with together.scalars.working():
                assert largest(values - np.stack(stacked, axis=1)) < 1e-40
                for one, wanted in zip(together.of_each_frame, stacked, strict=False):
                    assert largest(one.results(function)[name] - wanted) < 1e-40


def swapped(program: Program) -> Program:
    """The Program with its first two frames in each other's place."""

    def turned(port: Port) -> Port:
        size = port.size // port.shape[0]
        return port._replace(
            rows=(*port.rows[size : 2 * size], *port.rows[:size], *port.rows[2 * size :])
        )

    return replace(program, outputs=tuple(turned(port) for port in program.outputs))


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
"""The identities that two confused frames break."""


@pytest.mark.parametrize("planted", ["", *FRAMED])
def test_verify_holds_for_several_frames_and_sees_two_of_them_confused(planted: str) -> None:
    frames = ("link0", "tool")
    functions = (*FRAMED, *SINGLE, "link_poses", "inverse_mass_matrix", "forward_dynamics")
    programs = {name: symgen.program(TREE, name, frame=frames) for name in functions}
    if planted:
        programs[planted] = swapped(programs[planted])
    truth = Truth(TREE, 1, frame=frames)
    assert [name for name in FRAMED if not check_algebra(programs[name], truth, name).passed] == [
        planted
    ] * bool(planted)
    failed = {
        check.subject for check in check_identities(programs, None, truth) if not check.passed
    }
    assert failed == CONFUSED.get(planted, set())


# -- the folder ----------------------------------------------------------------------------------------------------------


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


def test_the_folder_names_the_frames_in_order(written: Written) -> None:
    folder, manifest = written
    said = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert json.loads(said["manifest.json"])["options"]["frame"] == ["link2", "link1"]
    assert "#define planar_arm_NF 2\n" in said["planar_arm.h"]
    assert "double J[planar_arm_NF*6*planar_arm_NV]" in said["planar_arm_jacobian.c"]
    assert "The frames, in order: link2, link1." in said["planar_arm_jacobian.c"]
    assert "The frame: link2." in said["planar_arm_operational_inertia_inverse.c"]
    assert said["planar_arm.h"].count("the frames, in order: link2, link1\n") == len(FRAMED)
    assert "std::array<real, NF * 6 * NV>" in said["planar_arm.hpp"]
    assert (
        "of planar_arm_NF = 2 frames, one after the other in each result:\n`link2`, `link1`."
        in said["README.md"]
    )
    assert (
        "`operational_inertia_inverse` speaks of one frame, the first that was named: `link2`."
        in said["README.md"]
    )
    assert "--frame link2 --frame link1" in said["README.md"]
    assert manifest["functions"]["jacobian"]["result"]["shape"] == [2, 6, 2]  # type: ignore[index]


def test_the_folder_verifies_and_its_command_makes_it_again(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, manifest = written
    assert symgen.verify(folder, states=1, compiled=False).passed
    monkeypatch.chdir(folder)
    words = str(manifest["command"]).split()
    assert cli.main([*words[1:], "-q"]) == 0
    again = folder.parent / "planar_arm-again"
    assert all((again / path.name).read_bytes() == path.read_bytes() for path in folder.iterdir())


@pytest.mark.parametrize("planted", ["#define planar_arm_NF 3", "#define planar_arm_NF 2 + 0"])
def test_a_number_of_frames_that_is_another_is_seen(
    written: Written, planted: str, tmp_path: Path
) -> None:
    folder = tmp_path / "planar_arm"
    shutil.copytree(written[0], folder)
    header = folder / "planar_arm.h"
    header.write_text(
        header.read_text(encoding="utf-8").replace("#define planar_arm_NF 2", planted),
        encoding="utf-8",
    )
    report = symgen.verify(folder, ["jacobian"], states=1, compiled=False)
    assert [check.kind for check in report.failures] == ["text"]


def test_the_compiled_functions_have_the_same_shapes() -> None:
    solver = symgen.compile("planar_arm", ["jacobian"], frame=["link2", "link1"], optimize=0)
    one = symgen.compile("planar_arm", ["jacobian"], frame="link1", optimize=0)
    q = np.array([[0.3, -0.4], [1.0, 2.0], [0.0, 0.1]])
    assert solver.jacobian(q).shape == (3, 2, 6, 2)
    assert (solver.jacobian(q)[:, 1] == one.jacobian(q)).all()


# -- asked for -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frames", "sentence"),
    [
        (["link1", "link1"], "the frame 'link1' is named twice; name every frame once"),
        (["link1", "lnk2"], "no link is named 'lnk2'; did you mean 'link2'?"),
        ([], "no frame is named; name one or more links, or give None for the default one"),
    ],
)
@pytest.mark.parametrize("function", ["jacobian", "mass_matrix"])
def test_what_cannot_be_named_is_refused_in_a_sentence(
    function: str, frames: list[str], sentence: str
) -> None:
    with pytest.raises(RequestError) as refused:
        symgen.program("planar_arm", function, frame=frames)
    assert str(refused.value) == sentence


def test_the_command_line_says_what_speaks_of_the_first(capsys: pytest.CaptureFixture[str]) -> None:
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
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("-sin(q0)\n", "")


def same(found: object, expected: object) -> bool:
    return bool(found == expected)


@pytest.mark.parametrize(
    ("read", "expected"),
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
    read: Callable[[], object], expected: Callable[[], object]
) -> None:
    assert same(read(), expected())
