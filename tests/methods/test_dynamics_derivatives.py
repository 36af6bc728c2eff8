"""Derivatives of inverse and forward dynamics: their counts, foreign judges, loads, and errors that are planted to be caught."""

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
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.verification.truth import Truth
from symgen.vocabulary.functions import BY_DEFAULT
from symgen.vocabulary.options import ProgramOptions
from tests.shared.robots_for_tests import random_mechanism

INVERSE, FORWARD = "inverse_dynamics_derivatives", "forward_dynamics_derivatives"
METHOD = "derivative_recursion"


# -- counts ----------------------------------------------------------------------------------------------------------------

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


@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize(("path", "base", "function"), COUNTS)
def test_operations_only_fall(path: str, base: str, function: str) -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import example_robot_data as judges

    fingers = ("panda_finger_joint1", "panda_finger_joint2") if path == PANDA else ()
    made = symgen.load(
        {judges.short(one): one for one in judges.files()}[path],
        base=base,
        lock=dict.fromkeys(fingers),
    )
    assert symgen.program(made, function).cost <= COUNTS[path, base, function]


def test_they_are_made_on_request_alone() -> None:
    assert not {INVERSE, FORWARD} & {*BY_DEFAULT}


# -- what is at run time -----------------------------------------------------------------------------------------------------


@cache
def telling() -> Mechanism:
    """A chain in which a joint that turns and slides, one of several and one that slides carry each other."""
    return random_mechanism(3, 4, "chain", ("planar", "prismatic", "helical"))


@cache
def program(function: str) -> Any:
    return derive(telling(), function, METHOD, ProgramOptions())


def test_a_payload_and_wrenches_are_felt_to_forty_digits() -> None:
    made = random_mechanism(3, 2, "tree", ("revolute", "cylindrical", "prismatic"))
    options = ProgramOptions(
        payload=made.frames[-1].name, wrench=(made.frames[-1].name, made.frames[1].name)
    )
    found = {function: derive(made, function, METHOD, options) for function in (INVERSE, FORWARD)}
    report = verify_programs(Subject(made, found, options, states=2, compiled=False))
    assert [check.passed for check in report.of("algebra")] == [True, True]
    assert any(port.name == "wrench" for port in found[INVERSE].inputs)


def test_a_wrench_changes_what_carries_it_and_nothing_at_its_own_link() -> None:
    """It stands in the axes of its link: displaced by the last joint, it goes along, and that joint feels it as before."""
    made = random_mechanism(2, 6, "chain")
    tip = made.frames[-1].name
    calm, pushed = (Truth(made, 1, 3, wrench=tip) for _ in range(2))
    calm.balls["wrench"] = 0 * calm.balls["wrench"]
    with calm.scalars.working():
        change = np.asarray(
            pushed.results(INVERSE)["dtau_dq"] - calm.results(INVERSE)["dtau_dq"], dtype=float
        )[0]
    assert np.abs(change[1]).max() < 1e-40
    assert np.abs(change[0, 0]) < 1e-40
    assert np.abs(change[0, 1]) > 1e-3


# -- another judge -----------------------------------------------------------------------------------------------------------


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


def test_pinocchio_sees_one_wrong_entry() -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import derivatives as judge
    from tests.judges import example_robot_data as judges

    path = {judges.short(one): one for one in judges.files()}[UR5]
    made = judge.recorded(symgen.load(path), INVERSE)
    wrong = [
        replace_port(port, 0, port.rows[7]) if port.name == "dtau_dq" else port
        for port in made.outputs
    ]
    errors = judge.judge(path, ours={INVERSE: replace(made, outputs=tuple(wrong))})
    assert errors["dtau_dq"] > 1000 * judge.BOUND
    assert errors["dtau_dv"] < judge.BOUND


def replace_port(port: Any, place: int, row: int) -> Any:
    return port._replace(rows=(*port.rows[:place], row, *port.rows[place + 1 :]))


def test_the_committed_table_names_every_file_on_both_bases() -> None:
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


# -- planted errors ----------------------------------------------------------------------------------------------------------

Plant = Callable[[pytest.MonkeyPatch], None]


def the_wrench_does_not_turn(patch: pytest.MonkeyPatch) -> None:
    """S ×* F without the force that a slide moves."""
    patch.setattr(recursion, "wrench_change", lambda S, F: (S[0].cross(F[0]), S[0].cross(F[1])))


def the_couple_stays(patch: pytest.MonkeyPatch) -> None:
    """(10) without what passes the next origin."""
    patch.setattr(
        recursion,
        "couple_to_parent",
        lambda linkage, turning, i, t4, f: linkage.links[i].rotation.to_parent(t4),
    )


def the_flow_stays_at_home(patch: pytest.MonkeyPatch) -> None:
    """K without its shift."""
    patch.setattr(bodies, "outer", lambda a, b: (b * 0, b * 0, b * 0))


def the_couple_is_not_turned(patch: pytest.MonkeyPatch) -> None:
    """Bᵀ taken for B."""
    patch.setattr(bodies, "transposed", lambda m: m)


def several_turn_as_one(patch: pytest.MonkeyPatch) -> None:
    """(7) without J × S."""
    patch.setattr(recursion, "joint_rate_twist", lambda linkage, i, S: None)


def slides_do_not_displace(patch: pytest.MonkeyPatch) -> None:
    """v' = 0 where it is −u."""
    whole = motion.twist_cross
    patch.setattr(
        motion, "twist_cross", lambda V, S: whole((V[0], Vector([x * 0 for x in V[1]])), S)
    )


def half_is_whole(patch: pytest.MonkeyPatch) -> None:
    """(13) without ½."""
    patch.setattr(recursion, "bias_force", _whole(recursion.bias_force))


def _whole(bias_force: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(linkage: Any, found: Any) -> Any:
        return [
            c + linkage.dot(row, linkage.inputs["v"])
            for c, row in zip(bias_force(linkage, found), found.by_v, strict=True)
        ]

    return wrong


@pytest.mark.parametrize(
    ("plant", "function"),
    [
        *(
            (plant, INVERSE)
            for plant in (
                the_wrench_does_not_turn,
                the_couple_stays,
                the_flow_stays_at_home,
                the_couple_is_not_turned,
                several_turn_as_one,
                slides_do_not_displace,
            )
        ),
        (half_is_whole, FORWARD),
    ],
)
def test_a_planted_error_is_caught_by_the_reference_and_by_an_identity(
    plant: Plant, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    helpers = {
        name: symgen.program(telling(), name) for name in ("inverse_dynamics", "forward_dynamics")
    }
    if function == FORWARD:
        helpers[INVERSE] = program(INVERSE)
    plant(monkeypatch)
    wrong = derive(telling(), function, METHOD, ProgramOptions())
    report = verify_programs(
        Subject(telling(), {function: wrong}, helpers=helpers, states=1, compiled=False)
    )
    for kind in ("algebra", "identities"):
        assert any(check.error > 1e-6 for check in report.of(kind)), kind
    monkeypatch.undo()
    assert wrong.rows != program(function).rows


# -- a folder ----------------------------------------------------------------------------------------------------------------


def test_a_folder_has_them_by_name_with_a_self_test_of_their_own(tmp_path: Path) -> None:
    symgen.generate("planar_arm", tmp_path / "arm", functions=[INVERSE, FORWARD])
    assert (
        "The frame that" not in (tmp_path / "arm" / "README.md").read_text()
    )  # none of them speaks of one
    text = (tmp_path / "arm" / "planar_arm_selftest.c").read_text()
    for function in (INVERSE, FORWARD):
        assert f"planar_arm_{function}(" in (tmp_path / "arm" / "planar_arm.h").read_text()
        assert f"test_{function}" in text
    assert symgen.verify(tmp_path / "arm", states=2).passed
