"""How J and J̇ v are stated: judged by Pinocchio and by the reference, verified, said in every text; what does not follow."""

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
from symgen.verification.identities import check_identities
from symgen.verification.truth import Truth
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

FOLLOWING = ("jacobian", "bias_acceleration")
CONVENTIONS = tuple(Convention(*one) for one in product(JACOBIAN_FRAMES, JACOBIAN_ORDERS))
TREE = random_tree(31, 4, branching=0.5)


@cache
def of_every_kind(away: int = 3) -> Mechanism:
    """A chain of a joint of every type, so far (m) from the base's origin, whose last frame is displaced and turned."""
    made = random_mechanism(len(kinds()), seed=3, kind="chain")
    joints = [of_kind(joint, kind) for joint, kind in zip(made.joints, kinds(), strict=True)]
    joints[0] = replace(
        joints[0], pose=(Shift((Fraction(away), Fraction(-2), Fraction(1))), *joints[0].pose)
    )
    last = replace(
        made.frames[-1],
        pose=(
            Shift((Fraction(1, 3), Fraction(1, 5), Fraction(-1, 4))),
            Turn(X_AXIS, Angle(Fraction(1, 2))),
        ),
    )
    return replace(made, name="every_kind", joints=tuple(joints), frames=(*made.frames[:-1], last))


ROBOTS: dict[str, tuple[Mechanism, tuple[str, ...]]] = {
    "feet": (robot("quadruped"), ("FL_FOOT", "HR_FOOT")),
    "a tree": (TREE, ("tool", "world", "link0")),
    "every kind": (of_every_kind(), (of_every_kind().frames[-1].name,)),
}


def stated(
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


def test_these_functions_follow() -> None:
    assert (
        tuple(name for name, function in FUNCTIONS.items() if function.follows_convention)
        == FOLLOWING
    )
    assert CONVENTIONS[0] == USUAL == ProgramOptions().convention


@pytest.mark.parametrize("convention", CONVENTIONS, ids="-".join)
@pytest.mark.parametrize("which", ROBOTS)
def test_pinocchio_and_the_reference_say_the_same(which: str, convention: Convention) -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import pinocchio_answers

    mechanism, frames = ROBOTS[which]
    balls, given = draw(mechanism, 2, BALLS), draw(mechanism, 2)
    theirs = [
        words(pinocchio_answers.built(mechanism, frame), convention, given) for frame in frames
    ]
    reference = Reference(mechanism, BALLS, frame=frames, convention=convention)
    for function, place in zip(FOLLOWING, (0, 1), strict=True):
        known = reference.evaluate(
            function, {a.name: balls[a.name] for a in FUNCTIONS[function].arguments}
        )
        for method in methods_for(mechanism, function):
            made = stated(mechanism, function, convention, frames, method)
            name = made.outputs[0].name
            with BALLS.working():
                assert largest(run(made, balls, BALLS)[name] - known[name]) < 1e-40
            ours, wanted = (
                run(made, given)[name],
                np.stack([word[place] for word in theirs], axis=1),
            )
            np.testing.assert_allclose(
                ours.reshape(wanted.shape),
                wanted,
                rtol=0,
                atol=1e-13 * max(1.0, np.abs(wanted).max()),
            )


def words(model: object, convention: Convention, given: dict[str, Array]) -> tuple[Array, Array]:
    """Pinocchio's J (states, 6, NV) and dJ/dt v (states, 6) of its frame, its joints in our order."""
    from tests.judges.pinocchio_answers import Model, Word

    assert isinstance(model, Model)
    pin = model.pin
    axes = {"aligned": pin.LOCAL_WORLD_ALIGNED, "local": pin.LOCAL, "world": pin.WORLD}[
        convention.frame
    ]
    half = [*range(6)] if convention.order == "linear" else [3, 4, 5, 0, 1, 2]
    found = []
    for state in range(2):
        word = Word(model, {name: values[state] for name, values in given.items()})
        pin.computeJointJacobiansTimeVariation(model.model, model.data, word.q, word.v)
        pin.updateFramePlacements(model.model, model.data)
        J = pin.getFrameJacobian(model.model, model.data, model.frame, axes)[half][:, model.order]
        found.append(
            (
                J,
                (
                    pin.getFrameJacobianTimeVariation(model.model, model.data, model.frame, axes)
                    @ word.v
                )[half],
            )
        )
    return np.array([one for one, _ in found]), np.array([two for _, two in found])


@pytest.mark.usefixtures("polished_here")
def test_what_it_costs() -> None:
    """Of a quadruped's foot: the order costs nothing, and in its own axes a foot need not know where the trunk is."""
    mechanism, (foot, _) = ROBOTS["feet"]
    found = {
        convention: tuple(
            stated(mechanism, function, convention, foot).cost for function in FOLLOWING
        )
        for convention in CONVENTIONS
    }
    assert all(
        found[convention] == found[Convention(convention.frame)] for convention in CONVENTIONS
    )
    assert found[Convention("aligned")] == (140, 146)
    assert found[Convention("local")] == (48, 86)
    assert found[Convention("world")] == (121, 180)


@pytest.mark.parametrize(
    "function", ["forward_kinematics", "operational_inertia_inverse", "link_accelerations"]
)
def test_what_does_not_follow_is_the_same(function: str) -> None:
    assert stated(TREE, function, Convention("local", "linear"), "tool") == symgen.program(
        TREE, function, frame="tool"
    )


@pytest.mark.parametrize("convention", CONVENTIONS, ids="-".join)
def test_a_program_keeps_it(convention: Convention) -> None:
    made = stated(TREE, "jacobian", convention, "tool")
    assert made.convention == made.outline.convention == convention
    assert from_plain(json.loads(json.dumps(to_plain(made)))) == made
    assert (
        outline_from_plain(json.loads(json.dumps(outline_to_plain(made.outline)))) == made.outline
    )
    assert from_plain(to_plain(made) | {"convention": ["mixed", "angular"]}) is None


# -- verified ------------------------------------------------------------------------------------------------------------


OTHERS = (
    "forward_kinematics",
    "operational_inertia_inverse",
    "link_accelerations",
    "inverse_mass_matrix",
    "forward_dynamics",
)


def failures(convention: Convention, given: dict[str, Convention]) -> set[str]:
    """What fails where `given` functions are stated otherwise than was asked for."""
    frames = ("link0", "tool")
    programs = {
        name: stated(TREE, name, given.get(name, convention), frames)
        for name in (*FOLLOWING, *OTHERS)
    }
    truth = Truth(TREE, 1, frame=frames, convention=convention)
    algebra = {name for name in FOLLOWING if not check_algebra(programs[name], truth, name).passed}
    return algebra | {
        check.subject for check in check_identities(programs, None, truth) if not check.passed
    }


@pytest.mark.parametrize("convention", CONVENTIONS[3::2], ids="-".join)
def test_verify_holds_and_sees_another_convention(convention: Convention) -> None:
    assert failures(convention, {}) == set()
    other = Convention({"local": "aligned", "world": "local"}[convention.frame], convention.order)
    assert failures(convention, {"bias_acceleration": other}) == {
        "bias_acceleration",
        "J̇ v = d/dt J v",
    }
    seen = failures(convention, {"jacobian": other})
    assert seen >= {"jacobian", "J̇ v = d/dt J v", "J v = d/dt pose", "alpha_tip = J a + J̇ v"}
    order = failures(convention, {"jacobian": Convention(convention.frame, "angular")})
    assert order >= {"jacobian", "J̇ v = d/dt J v", "J v = d/dt pose"}


@pytest.mark.parametrize("convention", CONVENTIONS, ids="-".join)
def test_round_off_is_within_the_size_of_the_terms(convention: Convention) -> None:
    """In doubles, two kilometres from the base's origin. In a convention's order: no size fits the other half."""
    mechanism, (_, frames) = of_every_kind(2000), ROBOTS["every kind"]
    truth = Truth(mechanism, 4, frame=frames[0], convention=convention)
    for function in FOLLOWING:
        made = stated(mechanism, function, convention, frames[0])
        name = made.outputs[0].name
        exact, size = truth.results(function)[name], truth.scales.of(function, name)
        found = run(made, truth.floats)[name]
        with truth.scalars.working():
            missed = np.abs(truth.scalars.array(found) - exact).astype(float)
        assert (missed <= 2**-53 * (made.depth + 2) * size).all()
        assert (np.abs(exact.astype(float)) <= 1.001 * size).all()
    angular = truth.scales.of("jacobian", "J")[
        :, slice(0, 3) if convention.order == "angular" else slice(3, 6)
    ]
    assert (angular <= 1.0).all()


# -- the folder ----------------------------------------------------------------------------------------------------------


def test_the_folder_says_it_verifies_and_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "planar_arm"
    manifest = symgen.generate(
        "planar_arm",
        folder,
        [*FOLLOWING, "operational_inertia_inverse"],
        jacobian_frame="local",
        jacobian_order="linear",
    )
    header, readme = (
        (folder / name).read_text(encoding="utf-8") for name in ("planar_arm.h", "README.md")
    )
    words = "the linear part first, axes of the frame, at its origin (Pinocchio's LOCAL)."
    assert f" * J and Jdot_v are stated as was asked for:\n * {words}\n" in header
    assert " These are Lambda_inv.\n" in header
    assert " *   J: linear rows first, axes of the frame, at its origin\n" in header
    assert (
        f"J and Jdot_v are stated as was asked for: {words}\n`operational_inertia_inverse` does not follow: axes"
        in readme
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
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    (other / "manifest.json").write_text(
        (folder / "manifest.json").read_text().replace('"local"', '"world"')
    )
    assert {check.kind for check in symgen.verify(other, states=1, compiled=False).failures} >= {
        "text"
    }


def test_the_usual_convention_is_not_spoken_of(tmp_path: Path) -> None:
    manifest = symgen.generate("planar_arm", tmp_path / "arm", ["jacobian"])
    assert not any("jacobian" in key for key in manifest["options"])
    assert "asked for" not in (tmp_path / "arm" / "planar_arm.h").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "sentence"),
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
def test_an_unknown_one_is_refused(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(RequestError) as refused:
        symgen.program("planar_arm", "jacobian", **given)  # type: ignore[arg-type]
    assert str(refused.value) == sentence


def test_the_command_line_says_what_does_not_follow(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
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
    assert cli.main([*words, "--jacobian-frame", "world"]) == 0
    assert capsys.readouterr().err == (
        "symgen: note: operational_inertia_inverse does not follow --jacobian-frame and "
        "--jacobian-order: axes of the base, at the frame's origin, the angular part first\n"
    )
