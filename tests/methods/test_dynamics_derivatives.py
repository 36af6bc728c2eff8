"""Derivatives of inverse and forward dynamics: operation counts, payload and wrenches, Pinocchio,
planted errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.derivation.spatial import Vector
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.derivative_recursion import bodies, motion, recursion
from symgen.pipeline.derive import derive
from symgen.verification.exact_results import ExactResults
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.functions import BY_DEFAULT
from symgen.vocabulary.options import ProgramOptions
from tests.shared.robots_for_tests import random_mechanism

INVERSE, FORWARD = "inverse_dynamics_derivatives", "forward_dynamics_derivatives"
METHOD = "derivative_recursion"


# -- counts ----------------------------------------------------------------------------------------

PANDA, UR5, SOLO, ANYMAL = (
    "panda_description/urdf/panda.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "solo_description/robots/solo12.urdf",
    "anymal_c_simple_description/urdf/anymal.urdf",
)
COUNTS = {
    (PANDA, "fixed", INVERSE): 2268,
    (PANDA, "fixed", FORWARD): 4022,
    (UR5, "fixed", INVERSE): 718,
    (UR5, "fixed", FORWARD): 1516,
    (SOLO, "free", INVERSE): 3910,
    (ANYMAL, "free", INVERSE): 3898,
}
"""Multiplications, additions and divisions, Panda without its fingers. They may only fall."""


@pytest.mark.slow
@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize(("path", "base", "function"), COUNTS)
def test_operation_counts_do_not_grow(path: str, base: str, function: str) -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import example_robot_data as judges

    fingers = ("panda_finger_joint1", "panda_finger_joint2") if path == PANDA else ()
    mechanism = symgen.load(
        {judges.short(model_path): model_path for model_path in judges.files()}[path],
        base=base,
        lock=dict.fromkeys(fingers),
    )
    assert symgen.program(mechanism, function).cost <= COUNTS[path, base, function]


def test_derivatives_are_generated_on_request_only() -> None:
    assert not {INVERSE, FORWARD} & {*BY_DEFAULT}


# -- run-time payload and wrench -------------------------------------------------------------------


@cache
def chain_of_mixed_joints() -> Mechanism:
    """Return a chain of a planar, a prismatic and a helical joint."""
    return random_mechanism(3, 4, "chain", ("planar", "prismatic", "helical"))


@cache
def program(function: str) -> Any:
    return derive(chain_of_mixed_joints(), function, METHOD, ProgramOptions())


def test_derivatives_with_payload_and_wrenches_equal_the_reference_to_forty_digits() -> None:
    mechanism = random_mechanism(3, 2, "tree", ("revolute", "cylindrical", "prismatic"))
    options = ProgramOptions(
        payload=mechanism.frames[-1].name,
        wrench=(mechanism.frames[-1].name, mechanism.frames[1].name),
    )
    programs = {
        function: derive(mechanism, function, METHOD, options) for function in (INVERSE, FORWARD)
    }
    report = verify_programs(Subject(mechanism, programs, options, states=2, compiled=False))
    assert [check.passed for check in report.of("algebra")] == [True, True]
    assert any(port.name == "wrench" for port in programs[INVERSE].inputs)


def test_a_wrench_changes_derivatives_of_earlier_joints_only() -> None:
    """A wrench in link axes moves with its link: the last joint's displacement changes only the
    torques of earlier joints.
    """
    mechanism = random_mechanism(2, 6, "chain")
    tip = mechanism.frames[-1].name
    without_wrench, with_wrench = (ExactResults(mechanism, 1, 3, wrench=tip) for _ in range(2))
    without_wrench.balls["wrench"] = 0 * without_wrench.balls["wrench"]
    with without_wrench.scalars.working():
        change = np.asarray(
            with_wrench.results(INVERSE)["dtau_dq"] - without_wrench.results(INVERSE)["dtau_dq"],
            dtype=float,
        )[0]
    assert np.abs(change[1]).max() < 1e-40
    assert np.abs(change[0, 0]) < 1e-40
    assert np.abs(change[0, 1]) > 1e-3


# -- Pinocchio -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_pinocchio_agrees_on_small_robots_with_both_bases() -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import derivatives as judge
    from tests.judges import example_robot_data as judges

    robots = {judges.short(path).partition("/")[0]: path for path in reversed(judges.files())}
    small = [path for path in robots.values() if path.stat().st_size < 10_000]
    judged = 0
    for path in small:
        for base in judge.BASES:
            errors = judge.judge(path, base)
            judged += bool(errors)
            assert all(error <= judge.BOUND for error in errors.values()), (
                judges.short(path),
                base,
                errors,
            )
    assert judged > len(small)


def test_one_wrong_entry_is_caught_by_pinocchio() -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import derivatives as judge
    from tests.judges import example_robot_data as judges

    path = {judges.short(model_path): model_path for model_path in judges.files()}[UR5]
    correct = judge.recorded(symgen.load(path), INVERSE)
    wrong = [
        replace_entry(port, 0, port.rows[7]) if port.name == "dtau_dq" else port
        for port in correct.outputs
    ]
    errors = judge.judge(path, ours={INVERSE: replace(correct, outputs=tuple(wrong))})
    assert errors["dtau_dq"] > 1000 * judge.BOUND
    assert errors["dtau_dv"] < judge.BOUND


def replace_entry(port: Any, index: int, row: int) -> Any:
    return port._replace(rows=(*port.rows[:index], row, *port.rows[index + 1 :]))


def test_the_committed_table_has_every_model_on_both_bases() -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import derivatives as judge
    from tests.judges import example_robot_data as judges

    if len(judges.files()) != 69:
        pytest.skip("the table is of example-robot-data 6.0")
    rows = [
        line.strip("| ").split(" | ")
        for line in judge.TABLE.read_text(encoding="utf-8").splitlines()
        if ".urdf |" in line
    ]
    assert [tuple(row[:2]) for row in rows] == [
        (judges.short(path), base) for path in judges.files() for base in judge.BASES
    ]
    assert all(float(cell) <= judge.BOUND for row in rows for cell in row[2:] if cell != "–")
    assert sum(row[2] != "–" for row in rows) == 66 + 68


# -- planted errors --------------------------------------------------------------------------------

Plant = Callable[[pytest.MonkeyPatch], None]


def force_of_translation_ignored(patch: pytest.MonkeyPatch) -> None:
    """Plant an error: S ×* F lacks the force that a translation shifts."""
    patch.setattr(recursion, "wrench_change", lambda S, F: (S[0].cross(F[0]), S[0].cross(F[1])))


def couple_not_shifted(patch: pytest.MonkeyPatch) -> None:
    """Plant an error: (10) lacks the moment of the force about the next origin."""
    patch.setattr(
        recursion,
        "couple_to_parent",
        lambda linkage, turning, i, t4, f: linkage.links[i].rotation.to_parent(t4),
    )


def shift_of_K_ignored(patch: pytest.MonkeyPatch) -> None:
    """Plant an error: K is not shifted."""
    patch.setattr(bodies, "outer", lambda a, b: (b * 0, b * 0, b * 0))


def transposed_couple(patch: pytest.MonkeyPatch) -> None:
    """Plant an error: Bᵀ is used in place of B."""
    patch.setattr(bodies, "transposed", lambda m: m)


def cross_term_of_joint_ignored(patch: pytest.MonkeyPatch) -> None:
    """Plant an error: (7) lacks J × S."""
    patch.setattr(recursion, "joint_rate_twist", lambda linkage, i, S: None)


def linear_velocity_ignored(patch: pytest.MonkeyPatch) -> None:
    """Plant an error: v' = 0 instead of −u."""
    original = motion.twist_cross
    patch.setattr(
        motion, "twist_cross", lambda V, S: original((V[0], Vector([x * 0 for x in V[1]])), S)
    )


def half_missing(patch: pytest.MonkeyPatch) -> None:
    """Plant an error: (13) lacks the factor ½."""
    patch.setattr(recursion, "bias_force", _bias_force_without_half(recursion.bias_force))


def _bias_force_without_half(bias_force: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(linkage: Any, derivatives: Any) -> Any:
        return [
            c + linkage.dot(row, linkage.inputs["v"])
            for c, row in zip(bias_force(linkage, derivatives), derivatives.by_v, strict=True)
        ]

    return wrong


@pytest.mark.parametrize(
    ("plant", "function"),
    [
        *(
            (plant, INVERSE)
            for plant in (
                force_of_translation_ignored,
                couple_not_shifted,
                shift_of_K_ignored,
                transposed_couple,
                cross_term_of_joint_ignored,
                linear_velocity_ignored,
            )
        ),
        (half_missing, FORWARD),
    ],
)
def test_a_planted_error_is_caught_by_the_reference_and_by_an_identity(
    plant: Plant, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    helpers = {
        name: symgen.program(chain_of_mixed_joints(), name)
        for name in ("inverse_dynamics", "forward_dynamics")
    }
    if function == FORWARD:
        helpers[INVERSE] = program(INVERSE)
    plant(monkeypatch)
    wrong = derive(chain_of_mixed_joints(), function, METHOD, ProgramOptions())
    report = verify_programs(
        Subject(
            chain_of_mixed_joints(), {function: wrong}, helpers=helpers, states=1, compiled=False
        )
    )
    for kind in ("algebra", "identities"):
        assert any(check.error > 1e-6 for check in report.of(kind)), kind
    monkeypatch.undo()
    assert wrong.rows != program(function).rows


# -- a folder --------------------------------------------------------------------------------------


def test_a_folder_has_derivative_functions_with_their_own_selftest(tmp_path: Path) -> None:
    symgen.generate("planar_arm", tmp_path / "arm", functions=[INVERSE, FORWARD])
    assert (
        "The frame that" not in (tmp_path / "arm" / "README.md").read_text()
    )  # neither function depends on a frame
    text = (tmp_path / "arm" / "planar_arm_selftest.c").read_text()
    for function in (INVERSE, FORWARD):
        assert f"planar_arm_{function}(" in (tmp_path / "arm" / "planar_arm.h").read_text()
        assert f"test_{function}" in text
    assert symgen.verify(tmp_path / "arm", states=2).passed
