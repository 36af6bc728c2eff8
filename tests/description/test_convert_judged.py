"""Files that `convert` writes, read by other engines: URDF by Pinocchio, MJCF by MuJoCo."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.benchmarks.peers import pinocchio as by_pinocchio
from symgen.benchmarks.peers.mujoco import MujocoPlaces
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
from tests.shared.robots_to_convert import sayable, written

NEAR = 1e-11
"""Largest error of results in double precision, relative to the largest entry."""


def is_near(computed: Any, expected: Any) -> bool:
    return bool(
        np.abs(np.asarray(computed) - expected).max() <= NEAR * max(1.0, np.abs(expected).max())
    )


@pytest.mark.parametrize("name", sayable("urdf"))
def test_pinocchio_reads_the_urdf_as_the_same_robot(name: str) -> None:
    """Pinocchio's reader gets gravity separately; test_convert.py tests symgen's own reading."""
    pin: Any = pytest.importorskip("pinocchio")
    robot, text = written(name, "urdf")
    converted = symgen.load(text.text, gravity=robot.gravity)
    model = pin.buildModelFromXML(text.text)
    model.gravity.linear = np.array([float(x) for x in robot.gravity])
    coordinate_map = by_pinocchio.places(
        converted, model, [model.getJointId(joint.name) for joint in converted.joints]
    )
    drawn = {
        key: x.astype(float)[0]
        for key, x in draw_states(converted, 1).items()
        if key in ("q", "v", "a")
    }
    state, data, reference = coordinate_map.state(drawn), model.createData(), Reference(converted)
    assert is_near(
        coordinate_map.ours("mass_matrix", drawn, pin.crba(model, data, state["q"])),
        reference.mass_matrix(drawn["q"]),
    )
    tau = coordinate_map.ours(
        "inverse_dynamics", drawn, pin.rnea(model, data, state["q"], state["v"], state["a"])
    )
    assert is_near(tau, reference.inverse_dynamics(drawn["q"], drawn["v"], drawn["a"]))
    pin.framesForwardKinematics(model, data, state["q"])
    for frame in robot.frames:
        frame_pose = data.oMf[model.getFrameId(frame.name, pin.FrameType.BODY)]
        rotation, position = Reference(converted, frame=frame.name).forward_kinematics(drawn["q"])
        assert is_near(frame_pose.rotation, rotation)
        assert is_near(frame_pose.translation, position)


@pytest.mark.parametrize("name", sayable("mjcf"))
def test_mujoco_compiles_the_mjcf_to_the_same_robot(name: str) -> None:
    """Compare without constraints. If MuJoCo refuses the model, a note of `convert` must say so."""
    mj: Any = pytest.importorskip("mujoco")
    robot, text = written(name, "mjcf")
    if any("MuJoCo does not compile this" in sentence for sentence in text.left_out):
        with pytest.raises(ValueError, match=r"mass and inertia|eigenvalues|A \+ B"):
            mj.MjModel.from_xml_string(text.text)
        return
    model = mj.MjModel.from_xml_string(text.text)
    robot = frictionless(robot.uncoupled)
    model.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONSTRAINT)
    coordinate_map, data = mujoco_places(robot, model), mj.MjData(model)
    drawn = {
        key: x.astype(float)[0]
        for key, x in draw_states(robot, 1).items()
        if key in ("q", "v", "a")
    }
    if "acts along fixed axes in MuJoCo" in "\n".join(text.left_out):
        drawn["v"] *= 0  # at rest, MuJoCo and symgen agree on such a joint
    state, reference = coordinate_map.state(drawn), Reference(robot)
    (sentence_on_order,) = [
        sentence for sentence in text.left_out if sentence.startswith("the order of joints is ")
    ] or [""]
    order = [
        robot.joints[i].name
        for i, k in (robot.dofs[n] for n in np.argsort(coordinate_map.order))
        if k == 0
    ]
    assert order == (
        sentence_on_order.removeprefix("the order of joints is ")
        .partition(" in MuJoCo")[0]
        .split(", ")
        if sentence_on_order
        else [joint.name for joint in robot.joints]
    )
    data.qpos, data.qvel, data.qacc = state["q"], state["v"], state["a"]
    mj.mj_inverse(model, data)
    M = np.zeros((model.nv, model.nv))
    mj.mj_fullM(model, M, data.qM) if " M: " in str(mj.mj_fullM.__doc__) else mj.mj_fullM(
        model, data, M
    )  # versions before 3.x have another signature
    assert is_near(coordinate_map.ours("mass_matrix", drawn, M), reference.mass_matrix(drawn["q"]))
    assert is_near(
        coordinate_map.ours("inverse_dynamics", drawn, data.qfrc_inverse),
        reference.inverse_dynamics(drawn["q"], drawn["v"], drawn["a"]),
    )
    for joint in (joint for joint in robot.joints if joint.type.nq == 1):
        compiled, limits = model.joint(joint.name), (joint.limits.lower, joint.limits.upper)
        assert not compiled.limited[0] or [float(end) for end in limits] == list(compiled.range)
        assert bool(compiled.limited[0]) == (joint.type.limited and None not in limits)
        force = float(joint.limits.effort or 0)
        assert list(model.jnt_actfrcrange[compiled.id]) == [-force, force]
    coupling = [joint.mimic for joint in robot.joints if joint.mimic is not None]
    assert [list(row[:3]) for row in model.eq_data] == [
        [float(joint.offset), float(joint.multiplier), 0] for joint in coupling
    ]
    assert [model.joint(i).name for i in model.eq_obj2id] == [joint.joint for joint in coupling]
    named = {model.body(i).name for i in range(model.nbody)}
    (lost,) = re.findall(r"without a mass, (.*) is not a body", "\n".join(text.left_out)) or [""]
    assert named >= {frame.name for frame in robot.frames} - {*lost.split(", ")}
    for frame in (frame for frame in robot.frames if frame.name in named):
        rotation, position = Reference(robot, frame=frame.name).forward_kinematics(drawn["q"])
        body = data.body(frame.name)
        assert is_near(body.xmat.reshape(3, 3), rotation)
        assert is_near(body.xpos, position)


def frictionless(robot: Mechanism) -> Mechanism:
    """Remove friction, which MuJoCo models as a constraint."""
    return replace(
        robot,
        joints=tuple(
            replace(joint, drive=joint.drive.only(("armature", "damping", "stiffness")))
            for joint in robot.joints
        ),
    )


def mujoco_places(robot: Mechanism, model: Any) -> MujocoPlaces:
    names = {model.joint(i).name for i in range(model.njnt)}
    first = [
        joint.name if joint.name in names else f"{joint.name}_{joint.type.positions[0].name}"
        for joint in robot.joints
    ]
    joints = [model.joint(name) for name in first]
    return MujocoPlaces(
        robot,
        model.nq,
        [int(joint.qposadr[0]) for joint in joints],
        [joint.type.nq for joint in robot.joints],
        [int(joints[i].dofadr[0]) + k for i, k in robot.dofs],
    )
