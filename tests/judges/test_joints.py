"""Foreign judges over every joint type: Pinocchio and MuJoCo on random trees, and Pinocchio's free
flyer on real descriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import symgen
from symgen.benchmarks import peers
from symgen.description.tip import tip
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.reference.states import draw_states
from symgen.vocabulary.functions import FUNCTIONS
from tests.judges import example_robot_data as judges
from tests.judges import mujoco_answers, pinocchio_answers
from tests.metamorphic.plants import (
    along_the_base,
    angular_first,
    falls_up,
    real_part_first,
    rotation_transposed,
)
from tests.shared.robots_for_tests import of_kind, random_mechanism

STATES = 3


def tree(*types: str, square: bool = False) -> Mechanism:
    """Joints of these types, in a tree; or in a chain of quarter turns."""
    mechanism = random_mechanism(
        len(types), len("".join(types)), "chain" if square else "tree", general=not square
    )
    return replace(
        mechanism,
        name="_".join(types),
        joints=tuple(of_kind(j, kind) for j, kind in zip(mechanism.joints, types, strict=True)),
    )


TREES = [
    tree(*(kinds()[(first + step) % len(kinds())] for step in (0, 1, 3, 6)))
    for first in range(len(kinds()))
]
"""Four types each; every type is at the base of one, and behind others."""
DERIVED = [
    tree("free", "spherical"),
    tree("planar", "cylindrical", "helical"),
    tree("spherical", "planar", "revolute"),
    tree("planar", "spherical", "spherical", square=True),
]
"""Trees whose Programs are judged as well."""
HELD = [
    tree
    for tree in TREES
    if all(len(joint.motions) == len({step.of for step in joint.motions}) for joint in tree.joints)
]
"""Trees that MuJoCo supports; it has no screw joint."""


def silent(message: str) -> None:
    """Ignore a progress message."""


def by_pinocchio(mechanism: Mechanism, state: dict[str, Array]) -> pinocchio_answers.Word:
    pytest.importorskip("pinocchio")
    return pinocchio_answers.Word(_built(mechanism), state)


def by_mujoco(mechanism: Mechanism, state: dict[str, Array]) -> pinocchio_answers.Word:
    pytest.importorskip("mujoco")
    return mujoco_answers.MujocoWord(_mujoco_model(mechanism), state)


@cache
def _built(mechanism: Mechanism) -> pinocchio_answers.Model:
    return pinocchio_answers.built(mechanism, tip(mechanism))


@cache
def _mujoco_model(mechanism: Mechanism) -> mujoco_answers.Model:
    return mujoco_answers.Model(mechanism, tip(mechanism))


Judge = Callable[[Mechanism, dict[str, Array]], pinocchio_answers.Word]
FULL = {by_pinocchio: tuple(pinocchio_answers.ERRORS), by_mujoco: mujoco_answers.JUDGED}
"""Functions that each judge answers."""


def errors(
    mechanism: Mechanism,
    runners: Mapping[str, judges.Runner],
    judge: Judge,
    functions: Collection[str],
) -> dict[str, float]:
    """Relative error per function, the largest over the states."""
    states = {
        name: values.astype(float)
        for name, values in draw_states(mechanism, STATES, seed=7).items()
    }
    words = [
        judge(mechanism, {name: values[k] for name, values in states.items()})
        for k in range(STATES)
    ]
    errors_by_function = {}
    for name in functions:
        results = runners[name](
            {array.name: states[array.name] for array in FUNCTIONS[name].arguments}
        )
        with np.errstate(all="ignore"):
            errors_by_function[name] = max(
                pinocchio_answers.ERRORS[name]({key: x[k] for key, x in results.items()}, words[k])
                for k in range(STATES)
            )
    return errors_by_function


def beyond(errors_by_function: Mapping[str, float]) -> dict[str, float]:
    """Return the errors beyond the bound."""
    return {name: error for name, error in errors_by_function.items() if not error <= judges.BOUND}


@pytest.mark.parametrize(
    ("judge", "mechanism"),
    [(by_pinocchio, tree) for tree in TREES] + [(by_mujoco, tree) for tree in HELD],
    ids=lambda tree: getattr(tree, "name", getattr(tree, "__name__", "")),
)
def test_a_judge_agrees_with_the_reference(judge: Judge, mechanism: Mechanism) -> None:
    runners = judges.by_reference(mechanism, silent).runners
    errors_by_function = errors(mechanism, runners, judge, FULL[judge])
    assert not beyond(errors_by_function)


@pytest.mark.parametrize("mechanism", DERIVED, ids=lambda tree: tree.name)
def test_pinocchio_agrees_with_the_programs(mechanism: Mechanism) -> None:
    runners = judges.by_named(mechanism, silent).runners
    assert not beyond(errors(mechanism, runners, by_pinocchio, judges.QUICK))


def test_the_judges_agree_with_what_is_compiled_by_default() -> None:
    mechanism, functions = (
        tree("free", "spherical"),
        ["inverse_dynamics", "forward_dynamics", "jacobian"],
    )
    solver = symgen.compile(mechanism, functions)

    def run(name: str, states: Mapping[str, Array]) -> dict[str, Array]:
        answer = getattr(solver, name)(*states.values())
        results = answer if isinstance(answer, tuple) else (answer,)
        return dict(zip([result.name for result in FUNCTIONS[name].results], results, strict=True))

    runners = {name: lambda states, name=name: run(name, states) for name in functions}
    for judge in FULL:
        assert not beyond(errors(mechanism, runners, judge, functions))


def test_every_type_is_judged_at_the_base_and_behind_others() -> None:
    assert (
        {tree.joints[0].kind for tree in TREES}
        == {joint.kind for tree in TREES for joint in tree.joints[1:]}
        == set(kinds())
    )
    judged_kinds = {kind for kind in kinds() if not joint_type(kind).parameters}
    assert {joint.kind for tree in HELD for joint in tree.joints} == judged_kinds


# -- descriptions on a free base -------------------------------------------------------------------

DRONE, DOG = (
    "borinot_description/urdf/borinot_flying_arm_2.urdf",
    "solo_description/robots/solo12.urdf",
)


def floating(name: str) -> tuple[Mechanism, str]:
    """A robot on a free base, as snapped; and the text that Pinocchio reads."""
    pytest.importorskip("pinocchio")
    paths = [path for path in judges.files() if judges.short(path) == name]
    if not paths:
        pytest.skip("example-robot-data is not installed")
    return symgen.load(paths[0], base="free"), judges.snapped_text(
        paths[0].read_text(encoding="utf-8")
    )


@pytest.mark.parametrize(
    ("name", "ours"),
    [(DRONE, judges.by_reference), (DRONE, judges.by_named), (DOG, judges.by_reference)],
)
def test_a_description_on_pinocchios_free_flyer(name: str, ours: judges.Ours) -> None:
    """q, v, a and tau are handed over as they are."""
    mechanism, text = floating(name)
    model = pinocchio_answers.read(text, mechanism, tip(mechanism))
    v = np.arange(1.0, mechanism.nq + 1)
    assert (model.position(v) == v).all()
    assert not beyond(judges.compare(mechanism, text, ours(mechanism, silent), silent))


# -- errors planted in the reference, which the derivation is judged by ----------------------------


@pytest.mark.parametrize(
    "planted",
    [rotation_transposed, real_part_first, angular_first, falls_up, along_the_base],
    ids=lambda tree: tree.__name__,
)
@pytest.mark.parametrize("judge", FULL, ids=lambda tree: tree.__name__)
def test_a_judge_sees(
    judge: Judge, planted: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = tree("free", "spherical")
    judge(mechanism, {})  # built before the error
    planted(monkeypatch)
    errors_by_function = errors(
        mechanism,
        judges.by_reference(mechanism, silent).runners,
        judge,
        ("inverse_dynamics", "forward_dynamics"),
    )
    assert min(errors_by_function.values()) > 1e-3


def test_pinocchio_sees_an_error_on_its_free_flyer(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, text = floating(DRONE)
    rotation_transposed(monkeypatch)
    assert beyond(judges.compare(mechanism, text, judges.by_reference(mechanism, silent), silent))


def test_what_a_peer_does_not_have_is_said_in_a_sentence() -> None:
    present, absent = peers.available_peers(tree("free", "helical"))
    assert "mujoco" not in [peer.name for peer in present]
    if not absent["mujoco"].startswith("not installed"):
        assert (
            absent["mujoco"] == "joint 'joint1' is helical, which is not supported for MuJoCo here"
        )
