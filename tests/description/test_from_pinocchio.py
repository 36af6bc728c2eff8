"""`from_pinocchio`: mechanism and Pinocchio model agree to the last digits of a double."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.description.canonical import to_toml
from symgen.description.models import quaternion_of_matrix
from symgen.mechanism.joints import Placing, Turning
from symgen.mechanism.mechanism import Limits, Mechanism
from symgen.pipeline.build import build_form
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states
from symgen.support.errors import ArgumentError, DescriptionError, OutOfReach
from symgen.vocabulary.options import ProgramOptions
from tests.judges import example_robot_data as judges

pin: Any = pytest.importorskip("pinocchio")
BOUND = 1e-12
FILES = [
    path for path in judges.files() if path.stat().st_size < 20_000 and path.name != "ur3.urdf"
]
"""Small URDF files, without the UR3, which Pinocchio cannot read."""
SLANTED = np.array([0.6, 0.0, 0.8])
MIMIC = """<robot name="m"><link name="a"/>{links}
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>
  <limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="3" friction="4"/></joint>
<joint name="k" type="prismatic"><parent link="b"/><child link="c"/>
  <origin xyz="1 0 0" rpy="0.3 0.2 0.1"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="2"/>
  <mimic joint="j" multiplier="2" offset="0.5"/></joint></robot>""".format(
    links="".join(
        f'<link name="{name}"><inertial><origin xyz="0.1 0.2 0"/><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        for name in "bc"
    )
)


def pinocchio_position(mechanism: Mechanism, q: Array) -> Array:
    """Convert q to Pinocchio's: an unlimited angle becomes its cosine and sine."""
    entries: list[float] = []
    for joint, indices in zip(mechanism.joints, mechanism.q_slices, strict=True):
        values = list(q[indices])
        if joint.motions == (Placing(0, 2), Turning(2)) or joint.kind == "continuous":
            values[-1:] = [np.cos(values[-1]), np.sin(values[-1])]
        entries += values
    return np.array(entries)


def random_state(mechanism: Mechanism) -> tuple[Array, Array, Array]:
    """Return random q, v and a in symgen's coordinates."""
    drawn = draw_states(mechanism, 1, seed=3)
    q, v, a = (drawn[name][0].astype(float) for name in ("q", "v", "a"))
    return q, v, a


def errors(model: Any, mechanism: Mechanism, frames: slice = slice(None)) -> dict[str, float]:
    """Return the largest errors at one state: tau and M relative, frames in m and entries of R."""
    q, v, a = random_state(mechanism)
    theirs, data, reference = (
        pinocchio_position(mechanism, q),
        model.createData(),
        Reference(mechanism),
    )
    assert len(theirs) == model.nq
    assert mechanism.nv == model.nv
    tau, upper = pin.rnea(model, data, theirs, v, a), np.triu(pin.crba(model, data, theirs))
    M, worst = upper + np.triu(upper, 1).T, 0.0
    pin.framesForwardKinematics(model, data, theirs)
    for frame in mechanism.frames[frames]:
        indices = [
            model.getFrameId(frame.name, kind)
            for kind in (pin.FrameType.BODY, pin.FrameType.OP_FRAME)
        ]
        index = min(indices)  # getFrameId returns nframes if there is no such frame
        if index < model.nframes:
            R, p = Reference(mechanism, frame=frame.name).forward_kinematics(q)
            pose = data.oMf[index]
            worst = max(
                worst,
                np.abs(R.astype(float) - pose.rotation).max(),
                np.abs(p.astype(float) - pose.translation).max(),
            )
    return {
        "tau": float(
            np.abs(tau - reference.inverse_dynamics(q, v, a).astype(float)).max()
            / np.abs(tau).max()
        ),
        "M": float(np.abs(M - reference.mass_matrix(q).astype(float)).max() / np.abs(M).max()),
        "frames": float(worst),
    }


def composite() -> Any:
    joint = pin.JointModelComposite(pin.JointModelRX())
    joint.addJoint(pin.JointModelSpherical(), pin.SE3.Random())
    joint.addJoint(pin.JointModelPY(), pin.SE3.Random())
    return joint


def every_type() -> Any:
    pin.seed(7)
    model, parent = pin.Model(), 0
    model.name = "every"
    kinds = [
        pin.JointModelFreeFlyer(),
        pin.JointModelRX(),
        pin.JointModelRevoluteUnaligned(SLANTED),
        pin.JointModelPZ(),
        pin.JointModelPrismaticUnaligned(SLANTED),
        pin.JointModelRUBY(),
        pin.JointModelSpherical(),
        pin.JointModelPlanar(),
        pin.JointModelHZ(0.3),
        pin.JointModelHelicalUnaligned(SLANTED, 0.2),
        pin.JointModelSphericalZYX(),
        pin.JointModelTranslation(),
        pin.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 0.6, 0.8])),
        composite(),
    ]
    for index, kind in enumerate(kinds):
        number = model.addJoint(parent, kind, pin.SE3.Random(), f"j{index}")
        model.appendBodyToJoint(number, pin.Inertia.Random(), pin.SE3.Random())
        for name, frame_type in (
            (f"b{index}", pin.FrameType.BODY),
            (f"o{index}", pin.FrameType.OP_FRAME),
        ):
            model.addFrame(pin.Frame(name, number, 0, pin.SE3.Random(), frame_type))
        model.armature[model.joints[number].idx_v :][: model.joints[number].nv] = index / 8
        parent = number if index % 3 else parent
    model.gravity.linear = np.array([0.1, 0.2, -9.0])
    return model


def test_joints_of_every_type_move_as_in_pinocchio() -> None:
    model = every_type()
    mechanism = symgen.from_pinocchio(model)
    largest = errors(model, mechanism)
    assert max(largest.values()) < BOUND, largest
    assert symgen.load(to_toml(mechanism)).content == mechanism.content


@pytest.mark.parametrize("path", FILES, ids=judges.short)
@pytest.mark.parametrize("afloat", [False, True])
def test_small_robots_of_example_robot_data_move_as_in_pinocchio(path: Path, afloat: bool) -> None:
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if afloat else []))
    if not model.nv:
        with pytest.raises(DescriptionError, match="no joint moves"):
            symgen.from_pinocchio(model)
        return
    mechanism = symgen.from_pinocchio(model, snap="off")
    largest = errors(model, mechanism, slice(0, 5))
    assert max(largest.values()) < BOUND, largest
    assert [joint.name for joint in mechanism.joints] == list(model.names)[1:]


def test_a_mimic_joint_is_coupled_as_in_pinocchio() -> None:
    model = pin.buildModelFromXML(MIMIC, mimic=True)
    mechanism = symgen.from_pinocchio(model)
    assert (mechanism.nq, mechanism.coupled) == (1, True)
    q, v, a = random_state(mechanism)
    tau = pin.rnea(model, model.createData(), q, v, a)
    ours = Reference(mechanism).inverse_dynamics(q, v, a).astype(float)
    assert np.allclose(tau, ours, rtol=BOUND, atol=0)


def test_limits_and_drives_of_a_model_are_kept() -> None:
    model = pin.buildModelFromXML(MIMIC)
    model.armature[0], model.rotorInertia[1] = 0.5, 0.25
    mechanism = symgen.from_pinocchio(model)
    first, second = mechanism.joints
    assert (first.limits.lower, first.limits.upper, first.limits.velocity, first.limits.effort) == (
        -1,
        2,
        4,
        3,
    )
    assert dict(first.drive.declared) == {"armature": 0.5}
    assert dict(first.unapplied) == {"damping": 3, "friction": 4}
    assert dict(second.unapplied) == {"rotor inertia": 0.25}
    driven = symgen.from_pinocchio(model, drives="on").joints[0].drive
    assert dict(driven.declared) == {"armature": 0.5, "damping": 3, "friction": 4}


def test_quaternions_of_matrices_lose_no_digits_at_any_rotation() -> None:
    for w, x, y, z in [
        *np.eye(4),
        *np.random.default_rng(2).normal(size=(200, 4)),
        (1e-9, 1, 0, 0),
        (0, 1, 1e-12, 1),
    ]:
        quaternion = np.array([w, x, y, z]) / np.linalg.norm([w, x, y, z])
        computed = np.array(quaternion_of_matrix(pin.Quaternion(*quaternion).toRotationMatrix()))
        assert min(np.abs(computed - quaternion).max(), np.abs(computed + quaternion).max()) < 4e-16


def test_faulty_models_are_refused() -> None:
    with pytest.raises(
        ArgumentError, match="str has no attribute 'joints' of a Pinocchio model; give a pinocchio"
    ):
        symgen.from_pinocchio("panda")
    model = pin.Model()
    model.addJoint(0, pin.JointModelEllipsoid(), pin.SE3.Identity(), "egg")
    with pytest.raises(
        DescriptionError,
        match="joint 'egg': its type 'JointModelEllipsoid' is not supported; use one of",
    ):
        symgen.from_pinocchio(model)
    model = pin.Model()
    model.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "ball")
    model.armature[:] = np.nan
    with pytest.raises(DescriptionError, match="joint 'ball': "):
        symgen.from_pinocchio(model)


def several_with_drives() -> pin.Model:
    """Make a chain in which each velocity has its own armature, damping and friction."""
    model, parent, draw = pin.Model(), 0, np.random.default_rng(5)
    for name, joint in (
        ("ball", pin.JointModelSpherical()),
        ("table", pin.JointModelPlanar()),
        ("hinge", pin.JointModelRY()),
    ):
        parent = model.addJoint(parent, joint, pin.SE3(np.eye(3), draw.normal(size=3)), name)
        model.appendBodyToJoint(
            parent,
            pin.Inertia(1.5, draw.normal(size=3) / 9, np.diag((0.2, 0.3, 0.4))),
            pin.SE3.Identity(),
        )
    model.armature[:] = draw.uniform(0.1, 1, model.nv)
    model.lowerDryFrictionLimit[:], model.upperDryFrictionLimit[:] = (
        -draw.uniform(1, 2, model.nv),
        draw.uniform(1, 2, model.nv),
    )
    model.damping[:] = draw.uniform(0, 1, model.nv)
    return model


def test_a_model_without_a_name_is_called_robot_and_a_note_says_so() -> None:
    robot = symgen.from_pinocchio(several_with_drives())
    assert robot.name == "robot"
    assert "the model has no name, and is called robot" in [note.text for note in robot.notes]


def test_armature_that_differs_within_a_joint_is_on_the_diagonal_of_the_mass_matrix() -> None:
    """Compare with Pinocchio. Damping and friction, which differ too, are not applied."""
    model = several_with_drives()
    robot = symgen.from_pinocchio(model)
    again = symgen.load(to_toml(robot))
    assert [joint.drive for joint in again.joints] == [joint.drive for joint in robot.joints]
    largest = tuple(replace(joint, drive=replace(joint.drive, each=())) for joint in robot.joints)
    assert again.content != replace(robot, joints=largest).content
    states, data = draw_states(robot, 3), model.createData()
    q, v, a = (states[name].astype(float) for name in ("q", "v", "a"))
    reference = Reference(robot, FLOAT)
    mass, tau = reference.mass_matrix(q), reference.inverse_dynamics(q, v, a)
    for k in range(3):
        theirs = pinocchio_position(robot, q[k])
        upper = np.triu(pin.crba(model, data, theirs))
        np.testing.assert_allclose(mass[k], upper + np.triu(upper, 1).T, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            tau[k], pin.rnea(model, data, theirs, v[k], a[k]), rtol=1e-11, atol=1e-11
        )


@pytest.mark.parametrize("method", ["riccati", "udut", "constraint_force", "composite_body"])
def test_every_method_supports_a_different_armature_at_each_velocity(method: str) -> None:
    robot = symgen.from_pinocchio(several_with_drives())
    assert symgen.verify(robot, [f"forward_dynamics={method}"], 2, compiled=False).passed


@pytest.mark.slow
def test_damping_and_friction_that_differ_within_a_joint_apply_to_each_velocity() -> None:
    robot = symgen.from_pinocchio(several_with_drives(), drives="on")
    report = symgen.verify(
        robot,
        ["inverse_dynamics", "bias_force", "mass_matrix", "kinetic_energy"],
        2,
        compiled=False,
    )
    assert report.passed
    with pytest.raises(OutOfReach, match="has no looped form with different drives in one joint"):
        build_form(robot, "mass_matrix", None, ProgramOptions(form="looped"))


def test_the_first_body_of_a_joint_names_its_link() -> None:
    """Later bodies, and frames that are added, are additional frames, whatever their order."""
    model = pin.Model()
    index = model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "j")
    model.appendBodyToJoint(index, pin.Inertia.Random(), pin.SE3.Identity())
    for name, kind, x in (
        ("op", pin.FrameType.OP_FRAME, 1),
        ("first", pin.FrameType.BODY, 2),
        ("second", pin.FrameType.BODY, 3),
        ("sensor", pin.FrameType.SENSOR, 4),
        ("j", pin.FrameType.JOINT, 5),
        ("last", pin.FrameType.OP_FRAME, 6),
    ):
        placement = pin.SE3(np.eye(3), np.array([x, 0.0, 0.0]))
        model.addFrame(pin.Frame(name, index, 0, placement, kind))
    mechanism = symgen.from_pinocchio(model)
    assert [body.name for body in mechanism.bodies] == ["first"]
    frames = {frame.name: frame.pose for frame in mechanism.frames if frame.body == 0}
    assert [*frames] == ["first", "op", "second", "last"]
    steps = [pose[0] for pose in frames.values()]
    assert [float(step.xyz[0]) for step in steps] == [2, 1, 3, 6]  # type: ignore[union-attr]


def test_a_body_without_a_frame_is_named_by_its_joint() -> None:
    model = pin.Model()
    index = model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "j")
    model.appendBodyToJoint(index, pin.Inertia.Random(), pin.SE3.Identity())
    mechanism = symgen.from_pinocchio(model)
    assert ([body.name for body in mechanism.bodies], mechanism.base) == (["j_body"], "universe")
    assert mechanism.name == "robot"
    assert any(
        note.text == "the model has no name, and is called robot" for note in mechanism.notes
    )
    model.name = "arm"
    assert symgen.from_pinocchio(model).name == "arm"


def test_huge_limits_of_a_model_are_no_limits() -> None:
    model = pin.Model()
    index = model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "j")
    model.appendBodyToJoint(index, pin.Inertia.Random(), pin.SE3.Identity())
    model.lowerPositionLimit[0], model.upperPositionLimit[0] = -1.5, 1e301
    model.velocityLimit[0], model.effortLimit[0] = 3, np.inf
    limits = symgen.from_pinocchio(model).joints[0].limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-1.5, None, 3, None)


@pytest.mark.parametrize(
    "joint",
    [
        pin.JointModelSphericalZYX(),
        pin.JointModelTranslation(),
        pin.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 0.6, 0.8])),
        pin.JointModelHZ(0.5),
        pin.JointModelPrismaticUnaligned(SLANTED),
        composite(),
    ],
    ids=lambda joint: joint.shortname(),
)
def test_each_motion_of_a_joint_has_the_limits_and_drive_of_its_coordinate(joint: Any) -> None:
    """Number the entries of each vector of the model. A ball has no limits and three velocities."""
    model = pin.Model()
    parent = model.addJoint(0, pin.JointModelRUBX(), pin.SE3.Identity(), "before")
    index = model.addJoint(parent, joint, pin.SE3.Identity(), "j")
    for body in (parent, index):
        model.appendBodyToJoint(body, pin.Inertia.Random(), pin.SE3.Identity())
    model.lowerPositionLimit[:] = -1 - np.arange(model.nq)
    model.upperPositionLimit[:] = 1 + np.arange(model.nq)
    model.velocityLimit[:] = 10 + np.arange(model.nv)
    model.effortLimit[:] = 20 + np.arange(model.nv)
    model.armature[:] = 30 + np.arange(model.nv)
    robot = symgen.from_pinocchio(model)
    q, v = model.joints[parent].nq, model.joints[parent].nv
    assert robot.joints[0].limits == Limits()
    for motion in robot.joints[1:]:
        limits, (nq, nv) = motion.limits, (motion.type.nq, motion.type.nv)
        if nv == 1:
            assert (limits.lower, limits.upper) == (-1 - q, 1 + q)
            assert (limits.velocity, limits.effort) == (10 + v, 20 + v)
        else:
            assert limits == Limits()
        assert motion.drive.numbers("armature") == tuple(range(30 + v, 30 + v + nv))
        q, v = q + nq, v + nv
    assert (q, v) == (model.nq, model.nv)
    names = ["j"] if len(robot.joints) == 2 else [f"j_{k}" for k in range(1, len(robot.joints))]
    assert [motion.name for motion in robot.joints[1:]] == names
