"""Conventions of J and J̇ v (axes, order of rows): Pinocchio, the reference, `verify`, folders and
messages.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen import cli
from symgen.ir.program import Program
from symgen.mechanism.joints import kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.choose import methods_for
from symgen.pipeline.serialize import from_plain, outline_from_plain, outline_to_plain, to_plain
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.support.errors import RequestError
from symgen.verification.algebra import check_algebra
from symgen.verification.exact_results import ExactResults
from symgen.verification.identities import check_identities
from symgen.vocabulary.arrays import JACOBIAN_FRAMES, JACOBIAN_ORDERS, USUAL, Convention
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import X_AXIS, Angle, Shift, Turn
from tests.shared.oracles import random_tree
from tests.shared.robots_for_tests import (
    BALLS,
    draw,
    largest,
    of_kind,
    random_mechanism,
    robot,
    run,
)

CONVENTION_FUNCTIONS = ("jacobian", "bias_acceleration")
CONVENTIONS = tuple(Convention(*pair) for pair in product(JACOBIAN_FRAMES, JACOBIAN_ORDERS))
TREE = random_tree(31, 4, branching=0.5)


@cache
def of_every_kind(away: int = 3) -> Mechanism:
    """Return a chain with one joint of every type that starts `away` metres from the base's origin.

    Its last frame is displaced and rotated relative to its link.
    """
    mechanism = random_mechanism(len(kinds()), seed=3, kind="chain")
    joints = [of_kind(joint, kind) for joint, kind in zip(mechanism.joints, kinds(), strict=True)]
    joints[0] = replace(
        joints[0], pose=(Shift((Fraction(away), Fraction(-2), Fraction(1))), *joints[0].pose)
    )
    last = replace(
        mechanism.frames[-1],
        pose=(
            Shift((Fraction(1, 3), Fraction(1, 5), Fraction(-1, 4))),
            Turn(X_AXIS, Angle(Fraction(1, 2))),
        ),
    )
    return replace(
        mechanism, name="every_kind", joints=tuple(joints), frames=(*mechanism.frames[:-1], last)
    )


ROBOTS: dict[str, tuple[Mechanism, tuple[str, ...]]] = {
    "feet": (robot("quadruped"), ("FL_FOOT", "HR_FOOT")),
    "a tree": (TREE, ("tool", "world", "link0")),
    "every kind": (of_every_kind(), (of_every_kind().frames[-1].name,)),
}


def program_in_convention(
    mechanism: Mechanism,
    function: str,
    convention: Convention,
    frames: tuple[str, ...] | str,
    method: str | None = None,
) -> Program:
    return symgen.program(
        mechanism,
        function,
        method,
        frame=frames,
        jacobian_frame=convention.frame,
        jacobian_order=convention.order,
    )


def test_jacobian_and_bias_acceleration_follow_the_convention() -> None:
    assert (
        tuple(name for name, function in FUNCTIONS.items() if function.follows_convention)
        == CONVENTION_FUNCTIONS
    )
    assert CONVENTIONS[0] == USUAL == ProgramOptions().convention


@pytest.mark.parametrize("convention", CONVENTIONS, ids="-".join)
@pytest.mark.parametrize("robot_name", ROBOTS)
def test_every_convention_equals_pinocchio_and_the_reference(
    robot_name: str, convention: Convention
) -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import pinocchio_answers

    mechanism, frames = ROBOTS[robot_name]
    balls, states = draw(mechanism, 2, BALLS), draw(mechanism, 2)
    judged = [
        pinocchio_results(pinocchio_answers.built(mechanism, frame), convention, states)
        for frame in frames
    ]
    reference = Reference(mechanism, BALLS, frame=frames, convention=convention)
    for function, index in zip(CONVENTION_FUNCTIONS, (0, 1), strict=True):
        expected_balls = reference.evaluate(
            function, {a.name: balls[a.name] for a in FUNCTIONS[function].arguments}
        )
        for method in methods_for(mechanism, function):
            program = program_in_convention(mechanism, function, convention, frames, method)
            name = program.outputs[0].name
            with BALLS.working():
                assert largest(run(program, balls, BALLS)[name] - expected_balls[name]) < 1e-40
            actual, expected = (
                run(program, states)[name],
                np.stack([result[index] for result in judged], axis=1),
            )
            np.testing.assert_allclose(
                actual.reshape(expected.shape),
                expected,
                rtol=0,
                atol=1e-13 * max(1.0, np.abs(expected).max()),
            )


def pinocchio_results(
    model: object, convention: Convention, states: dict[str, Array]
) -> tuple[Array, Array]:
    """Return Pinocchio's J (states, 6, NV) and dJ/dt v (states, 6), with the joints in symgen's
    order.
    """
    from tests.judges.pinocchio_answers import Model, Word

    assert isinstance(model, Model)
    pin = model.pin
    axes = {"aligned": pin.LOCAL_WORLD_ALIGNED, "local": pin.LOCAL, "world": pin.WORLD}[
        convention.frame
    ]
    half = [*range(6)] if convention.order == "linear" else [3, 4, 5, 0, 1, 2]
    pairs = []
    for k in range(2):
        judge = Word(model, {name: values[k] for name, values in states.items()})
        pin.computeJointJacobiansTimeVariation(model.model, model.data, judge.q, judge.v)
        pin.updateFramePlacements(model.model, model.data)
        J = pin.getFrameJacobian(model.model, model.data, model.frame, axes)[half][:, model.order]
        pairs.append(
            (
                J,
                (
                    pin.getFrameJacobianTimeVariation(model.model, model.data, model.frame, axes)
                    @ judge.v
                )[half],
            )
        )
    return np.array([J_ for J_, _ in pairs]), np.array([rate for _, rate in pairs])


@pytest.mark.slow
@pytest.mark.usefixtures("polished_here")
def test_operation_counts_of_the_conventions() -> None:
    """For a quadruped's foot, the order of rows changes no cost, and local axes need no pose of the
    trunk.
    """
    mechanism, (foot, _) = ROBOTS["feet"]
    costs = {
        convention: tuple(
            program_in_convention(mechanism, function, convention, foot).cost
            for function in CONVENTION_FUNCTIONS
        )
        for convention in CONVENTIONS
    }
    assert all(
        costs[convention] == costs[Convention(convention.frame)] for convention in CONVENTIONS
    )
    assert costs[Convention("aligned")] == (140, 146)
    assert costs[Convention("local")] == (48, 86)
    assert costs[Convention("world")] == (121, 180)


@pytest.mark.parametrize(
    "function", ["forward_kinematics", "operational_inertia_inverse", "link_accelerations"]
)
def test_other_functions_do_not_depend_on_the_convention(function: str) -> None:
    assert program_in_convention(
        TREE, function, Convention("local", "linear"), "tool"
    ) == symgen.program(TREE, function, frame="tool")


@pytest.mark.parametrize("convention", CONVENTIONS, ids="-".join)
def test_a_program_stores_its_convention(convention: Convention) -> None:
    program = program_in_convention(TREE, "jacobian", convention, "tool")
    assert program.convention == program.outline.convention == convention
    assert from_plain(json.loads(json.dumps(to_plain(program)))) == program
    assert (
        outline_from_plain(json.loads(json.dumps(outline_to_plain(program.outline))))
        == program.outline
    )
    assert from_plain(to_plain(program) | {"convention": ["mixed", "angular"]}) is None


# -- verified --------------------------------------------------------------------------------------


OTHER_FUNCTIONS = (
    "forward_kinematics",
    "operational_inertia_inverse",
    "link_accelerations",
    "inverse_mass_matrix",
    "forward_dynamics",
)


def failures(convention: Convention, conventions: dict[str, Convention]) -> set[str]:
    """Return the failed checks if some functions have other `conventions` than requested."""
    frames = ("link0", "tool")
    programs = {
        name: program_in_convention(TREE, name, conventions.get(name, convention), frames)
        for name in (*CONVENTION_FUNCTIONS, *OTHER_FUNCTIONS)
    }
    exact_results = ExactResults(TREE, 1, frame=frames, convention=convention)
    algebra = {
        name
        for name in CONVENTION_FUNCTIONS
        if not check_algebra(programs[name], exact_results, name).passed
    }
    return algebra | {
        check.subject
        for check in check_identities(programs, None, exact_results)
        if not check.passed
    }


@pytest.mark.parametrize("convention", CONVENTIONS[3::2], ids="-".join)
def test_verify_passes_the_convention_and_fails_another_one(convention: Convention) -> None:
    assert failures(convention, {}) == set()
    another = Convention({"local": "aligned", "world": "local"}[convention.frame], convention.order)
    assert failures(convention, {"bias_acceleration": another}) == {
        "bias_acceleration",
        "J̇ v = d/dt J v",
    }
    failures_of_frame = failures(convention, {"jacobian": another})
    assert failures_of_frame >= {
        "jacobian",
        "J̇ v = d/dt J v",
        "J v = d/dt pose",
        "alpha_tip = J a + J̇ v",
    }
    failures_of_order = failures(convention, {"jacobian": Convention(convention.frame, "angular")})
    assert failures_of_order >= {"jacobian", "J̇ v = d/dt J v", "J v = d/dt pose"}


@pytest.mark.parametrize("convention", CONVENTIONS, ids="-".join)
def test_round_off_is_within_the_size_of_the_terms(convention: Convention) -> None:
    """In double, 2 km from the base's origin, the error is bounded by the sizes of linear and
    angular rows separately.
    """
    mechanism, (_, frames) = of_every_kind(2000), ROBOTS["every kind"]
    exact_results = ExactResults(mechanism, 4, frame=frames[0], convention=convention)
    for function in CONVENTION_FUNCTIONS:
        program = program_in_convention(mechanism, function, convention, frames[0])
        name = program.outputs[0].name
        exact, size = exact_results.results(function)[name], exact_results.scales.of(function, name)
        actual = run(program, exact_results.floats)[name]
        with exact_results.scalars.working():
            error = np.abs(exact_results.scalars.array(actual) - exact).astype(float)
        assert (error <= 2**-53 * (program.depth + 2) * size).all()
        assert (np.abs(exact.astype(float)) <= 1.001 * size).all()
    angular = exact_results.scales.of("jacobian", "J")[
        :, slice(0, 3) if convention.order == "angular" else slice(3, 6)
    ]
    assert (angular <= 1.0).all()


# -- the folder ------------------------------------------------------------------------------------


def test_a_folder_states_its_convention_verifies_and_regenerates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "planar_arm"
    manifest = symgen.generate(
        "planar_arm",
        folder,
        [*CONVENTION_FUNCTIONS, "operational_inertia_inverse"],
        jacobian_frame="local",
        jacobian_order="linear",
    )
    header, readme = (
        (folder / name).read_text(encoding="utf-8") for name in ("planar_arm.h", "README.md")
    )
    pinocchio_results = (
        "the linear part first, axes of the frame, at its origin (Pinocchio's LOCAL)."
    )
    assert f" * J and Jdot_v follow the requested convention:\n * {pinocchio_results}\n" in header
    assert " These are Lambda_inv.\n" in header
    assert (
        " *   J: geometric Jacobian: linear rows first, axes of the frame, at its origin\n"
        in header
    )
    assert (
        f"J and Jdot_v follow the requested convention: {pinocchio_results}\n"
        "`operational_inertia_inverse` does not follow it: it has axes" in readme
    )
    assert "--jacobian-frame local --jacobian-order linear" in " ".join(
        readme.replace("\\\n", " ").split()
    )
    assert {"jacobian_frame": "local", "jacobian_order": "linear"}.items() <= manifest[
        "options"
    ].items()
    assert symgen.verify(folder, states=1, compiled=False).passed
    monkeypatch.chdir(folder)
    assert cli.main([*str(manifest["command"]).split()[1:], "-q"]) == 0
    assert all(
        (folder.parent / "planar_arm-again" / path.name).read_bytes() == path.read_bytes()
        for path in folder.iterdir()
    )
    changed_folder = tmp_path / "other"
    shutil.copytree(folder, changed_folder)
    (changed_folder / "manifest.json").write_text(
        (folder / "manifest.json").read_text().replace('"local"', '"world"')
    )
    assert {
        check.kind for check in symgen.verify(changed_folder, states=1, compiled=False).failures
    } >= {"text"}


def test_the_default_convention_is_not_mentioned(tmp_path: Path) -> None:
    manifest = symgen.generate("planar_arm", tmp_path / "arm", ["jacobian"])
    assert not any("jacobian" in key for key in manifest["options"])
    assert "asked for" not in (tmp_path / "arm" / "planar_arm.h").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"jacobian_frame": "body"},
            "no frame of a Jacobian is named 'body'; there are: aligned, local, world",
        ),
        (
            {"jacobian_order": "liner"},
            "no order of a Jacobian is named 'liner'; did you mean 'linear'?",
        ),
    ],
)
def test_an_unknown_convention_is_refused(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(RequestError) as refused:
        symgen.program("planar_arm", "jacobian", **options)  # type: ignore[arg-type]
    assert str(refused.value) == sentence


def test_the_command_line_notes_functions_without_the_convention(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pinocchio_results = [
        "verify",
        "planar_arm",
        "-f",
        "jacobian",
        "-f",
        "operational_inertia_inverse",
        "--states",
        "1",
        "--frame",
        "link2",
    ]
    assert cli.main([*pinocchio_results, "--jacobian-frame", "world"]) == 0
    assert capsys.readouterr().err == (
        "symgen: note: operational_inertia_inverse does not follow --jacobian-frame and "
        "--jacobian-order: axes of the base, at the frame's origin, the angular part first\n"
    )
