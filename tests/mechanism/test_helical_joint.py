"""Helical joints: description, locking, and comparison with Pinocchio and with a closed form."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.description.canonical import to_toml
from symgen.inspection.multiangle import multiangle
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.support.errors import DescriptionError, RequestError
from symgen.vocabulary.functions import BY_DEFAULT
from tests.shared.robots_for_tests import states

PRESS = """
name = "press"
base = { name = "frame" }
gravity = [0.5, -1.2, "-9.81"]

[[body]]
name = "column"
parent = "frame"
joint = { name = "lift", type = "helical", pitch = 0.02, xyz = [0, 0, 0.1], axis = [0, 0, 1] }
mass = 4.0
centre = [0.1, 0.02, 0.2]
inertia = [0.05, 0.001, 0.002, 0.06, 0.003, 0.02]

[[body]]
name = "arm"
parent = "column"
joint = { name = "shoulder", type = "revolute", axis = [0, 1, 0], xyz = [0.2, 0, 0.3] }
mass = 2.0
centre = [0.15, 0.01, 0.02]
inertia = [0.01, 0.001, 0.0, 0.02, 0.0, 0.015]

[[body]]
name = "drill"
parent = "arm"
joint = { name = "feed", type = "helical", pitch = -0.003, axis = [1, 0, 0.5], xyz = [0.3, 0, 0] }
mass = 0.5
centre = [0.05, 0, 0.01]
inertia = [0.001, 0.0, 0.0, 0.002, 0.0, 0.0015]

[[body]]
name = "tail"
parent = "column"
joint = { name = "rail", type = "prismatic", axis = [0, 1, 0], xyz = [0, 0.1, 0] }
mass = 0.7
centre = [0, 0.1, 0]
inertia = [0.001, 0.0, 0.0, 0.002, 0.0, 0.0015]
"""


def load_press() -> Mechanism:
    return symgen.load(PRESS)


@pytest.mark.slow
def test_every_function_of_helical_joints_passes_verification() -> None:
    """Cover the default methods; tests/methods/test_every_method.py covers the other methods."""
    report = symgen.verify(load_press(), states=2, compiled=False)
    assert not report.failures
    assert {check.subject.partition("=")[0] for check in report.of("algebra")} == set(BY_DEFAULT)
    assert max(check.error for check in report.checks if check.kind == "algebra") < 1e-40


@pytest.mark.slow
def test_generated_folders_of_helical_joints_pass_verification(tmp_path: Path) -> None:
    symgen.generate(load_press(), tmp_path / "c")
    assert symgen.verify(tmp_path / "c", states=2).passed
    symgen.generate(load_press(), tmp_path / "checked", ["forward_dynamics"], checked=True)
    assert symgen.verify(tmp_path / "checked", states=2).passed


def test_dynamics_of_helical_joints_equal_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    from symgen.benchmarks.peers import pinocchio as peer

    robot = load_press()
    model, joint_ids = peer.built(robot)
    order = peer.places(robot, model, joint_ids).order
    # the axis of `feed` is no coordinate axis, so that it needs Pinocchio's general helical joint
    assert {model.joints[i].shortname() for i in range(1, 5)} >= {"JointModelHelicalUnaligned"}
    rng = np.random.default_rng(4)
    solver = symgen.compile(robot, ["inverse_dynamics", "mass_matrix"])
    for q, v, a in rng.uniform(-2, 2, (5, 3, 4)):
        tau = pin.rnea(
            model, model.createData(), *(to_pinocchio_order(x, order) for x in (q, v, a))
        )
        assert np.abs(tau[order] - solver.inverse_dynamics(q, v, a)).max() < 1e-12
        crba = pin.crba(model, model.createData(), to_pinocchio_order(q, order))
        M = np.triu(crba) + np.triu(crba, 1).T
        assert np.abs(M[np.ix_(order, order)] - solver.mass_matrix(q)).max() < 1e-13


def to_pinocchio_order(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return values per velocity, sorted as Pinocchio numbers the joints."""
    sorted_values = np.empty_like(values)
    sorted_values[order] = values
    return sorted_values


def test_a_nut_on_a_screw_equals_its_closed_form() -> None:
    """A nut of 2 kg on a vertical screw: M = I + m h², g = m h 9.81."""
    text = (
        'name = "nut"\nbase = { name = "b" }\n[[body]]\nname = "nut"\nparent = "b"\n'
        'joint = { name = "s", type = "helical", pitch = 0.1, axis = [0, 0, 3] }\n'
        "mass = 2\ninertia = [1, 0, 0, 1, 0, 5]\n"
    )
    solver = symgen.compile(text, ["mass_matrix", "gravity_force", "forward_kinematics"])
    assert solver.mass_matrix(np.array([0.7]))[0, 0] == pytest.approx(5 + 2 * 0.1**2, rel=1e-15)
    assert solver.gravity_force(np.array([0.7]))[0] == pytest.approx(2 * 0.1 * 9.81, rel=1e-15)
    assert solver.forward_kinematics(np.array([0.7]))[1] == pytest.approx([0, 0, 0.07], rel=1e-15)


def test_the_canonical_description_contains_the_pitch() -> None:
    robot = load_press()
    again = symgen.load(to_toml(robot))
    assert again.content == robot.content
    assert dict(robot.joints[0].parameters) == {"pitch": Fraction(1, 50)}
    assert symgen.load(PRESS.replace("pitch = 0.02", "pitch = 0.03")).content != robot.content


def test_the_multi_angle_form_has_the_coordinate_of_a_helical_joint_outside_sines() -> None:
    """Expect q2, the coordinate of `feed`, as a factor: its advance is proportional to it."""
    robot = load_press()
    form = multiangle(robot, "M", (0, 2))
    assert "q2" in form.symbols()
    solver = symgen.compile(robot, ["mass_matrix"])
    for q in np.random.default_rng(1).uniform(-2, 2, (4, 4)):
        assert form.evaluate(q) == pytest.approx(solver.mass_matrix(q)[0, 2], rel=1e-12)


def test_the_mass_matrix_of_helical_joints_takes_less_than_100_operations() -> None:
    assert symgen.program(load_press(), "mass_matrix").cost < 100


def test_a_locked_helical_joint_equals_the_free_joint_at_the_locked_coordinate() -> None:
    free, locked = load_press(), symgen.load(PRESS, lock={"feed": "0.5"})
    q = np.array([0.3, -0.2, 0.1])
    full_q = np.array([0.3, -0.2, 0.5, 0.1])
    free_entries = [0, 1, 3]
    assert (
        np.abs(
            Reference(locked).mass_matrix(q)
            - Reference(free).mass_matrix(full_q)[np.ix_(free_entries, free_entries)]
        ).max()
        < 1e-14
    )


def test_a_multiple_of_pi_is_refused_as_the_coordinate_of_a_locked_helical_joint() -> None:
    with pytest.raises((DescriptionError, RequestError), match="a multiple of pi is not a length"):
        symgen.load(PRESS, lock={"feed": "pi/2"})


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "pitch = 0.02, ",
            "",
            "the key 'pitch' of a helical joint is missing;"
            " add pitch = …, advance along the axis in m per rad",
        ),
        (
            "pitch = 0.02",
            "pitch = 0",
            "a helical joint with a pitch of zero is a joint of another type",
        ),
        ('type = "revolute"', 'type = "revolute", pitch = 0.1', "pitch"),
    ],
)
def test_a_missing_zero_or_misplaced_pitch_is_refused(old: str, new: str, reason: str) -> None:
    with pytest.raises(DescriptionError, match=reason):
        symgen.load(PRESS.replace(old, new, 1))


def test_a_helical_joint_in_urdf_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "screw.urdf"
    path.write_text(
        '<robot name="r"><link name="a"/><link name="b"/>'
        '<joint name="j" type="helical"><parent link="a"/>'
        '<child link="b"/></joint></robot>'
    )
    with pytest.raises(
        DescriptionError, match="a helical joint declares pitch, which this format cannot declare"
    ):
        symgen.load(path)


def test_states_of_helical_joints_lie_within_half_a_turn() -> None:
    """Expect at most π, to the next multiple of 1/1024."""
    assert np.abs(np.array(states("helical_helical", 4)["q"], dtype=float)).max() <= 3217 / 1024
