"""What `convert` writes, read by the engines it is for: Pinocchio the URDF, MuJoCo the MJCF."""

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
"""Relative to the largest entry, of what is computed in double."""


def near(found: Any, wanted: Any) -> bool:
    return bool(np.abs(np.asarray(found) - wanted).max() <= NEAR * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("name", sayable("urdf"))
def test_pinocchio_reads_the_urdf_as_the_same_robot(name: str) -> None:
    """Its own reader, to which gravity is told. What symgen reads from it is the robot, as stands above."""
    pin: Any = pytest.importorskip("pinocchio")
    robot, text = written(name, "urdf")
    back = symgen.load(text.text, gravity=robot.gravity)
    model = pin.buildModelFromXML(text.text)
    model.gravity.linear = np.array([float(x) for x in robot.gravity])
    places = by_pinocchio.places(
        back, model, [model.getJointId(joint.name) for joint in back.joints]
    )
    drawn = {
        key: x.astype(float)[0] for key, x in draw_states(back, 1).items() if key in ("q", "v", "a")
    }
    state, data, reference = places.state(drawn), model.createData(), Reference(back)
    assert near(
        places.ours("mass_matrix", drawn, pin.crba(model, data, state["q"])),
        reference.mass_matrix(drawn["q"]),
    )
    tau = places.ours(
        "inverse_dynamics", drawn, pin.rnea(model, data, state["q"], state["v"], state["a"])
    )
    assert near(tau, reference.inverse_dynamics(drawn["q"], drawn["v"], drawn["a"]))
    pin.framesForwardKinematics(model, data, state["q"])
    for frame in robot.frames:
        at = data.oMf[model.getFrameId(frame.name, pin.FrameType.BODY)]
        turn, place = Reference(back, frame=frame.name).forward_kinematics(drawn["q"])
        assert near(at.rotation, turn)
        assert near(at.translation, place)


@pytest.mark.parametrize("name", sayable("mjcf"))
def test_mujoco_compiles_the_mjcf_to_the_same_robot(name: str) -> None:
    """Without its constraints. What it does not compile is said to be such."""
    mj: Any = pytest.importorskip("mujoco")
    robot, text = written(name, "mjcf")
    if any("MuJoCo does not compile this" in sentence for sentence in text.left_out):
        with pytest.raises(ValueError, match=r"mass and inertia|eigenvalues|A \+ B"):
            mj.MjModel.from_xml_string(text.text)
        return
    model = mj.MjModel.from_xml_string(text.text)
    robot = frictionless(robot.uncoupled)
    model.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONSTRAINT)
    places, data = _in_mujoco(robot, model), mj.MjData(model)
    drawn = {
        key: x.astype(float)[0]
        for key, x in draw_states(robot, 1).items()
        if key in ("q", "v", "a")
    }
    if "acts along fixed axes in MuJoCo" in "\n".join(text.left_out):
        drawn["v"] *= 0  # then it is felt alike
    state, reference = places.state(drawn), Reference(robot)
    (told,) = [
        sentence for sentence in text.left_out if sentence.startswith("the order of joints is ")
    ] or [""]
    order = [
        robot.joints[i].name for i, k in (robot.dofs[n] for n in np.argsort(places.order)) if k == 0
    ]
    assert order == (
        told.removeprefix("the order of joints is ").partition(" in MuJoCo")[0].split(", ")
        if told
        else [joint.name for joint in robot.joints]
    )
    data.qpos, data.qvel, data.qacc = state["q"], state["v"], state["a"]
    mj.mj_inverse(model, data)
    M = np.zeros((model.nv, model.nv))
    mj.mj_fullM(model, M, data.qM) if " M: " in str(mj.mj_fullM.__doc__) else mj.mj_fullM(
        model, data, M
    )  # up to 3.x
    assert near(places.ours("mass_matrix", drawn, M), reference.mass_matrix(drawn["q"]))
    assert near(
        places.ours("inverse_dynamics", drawn, data.qfrc_inverse),
        reference.inverse_dynamics(drawn["q"], drawn["v"], drawn["a"]),
    )
    for one in (one for one in robot.joints if one.type.nq == 1):
        given, ends = model.joint(one.name), (one.limits.lower, one.limits.upper)
        assert not given.limited[0] or [float(end) for end in ends] == list(given.range)
        assert bool(given.limited[0]) == (one.type.limited and None not in ends)
        force = float(one.limits.effort or 0)
        assert list(model.jnt_actfrcrange[given.id]) == [-force, force]
    follows = [one.mimic for one in robot.joints if one.mimic is not None]
    assert [list(row[:3]) for row in model.eq_data] == [
        [float(one.offset), float(one.multiplier), 0] for one in follows
    ]
    assert [model.joint(i).name for i in model.eq_obj2id] == [one.joint for one in follows]
    named = {model.body(i).name for i in range(model.nbody)}
    (lost,) = re.findall(r"without a mass, (.*) is not a body", "\n".join(text.left_out)) or [""]
    assert named >= {frame.name for frame in robot.frames} - {*lost.split(", ")}
    for frame in (frame for frame in robot.frames if frame.name in named):
        turn, place = Reference(robot, frame=frame.name).forward_kinematics(drawn["q"])
        at = data.body(frame.name)
        assert near(at.xmat.reshape(3, 3), turn)
        assert near(at.xpos, place)


def frictionless(robot: Mechanism) -> Mechanism:
    """MuJoCo's friction is another one."""
    return replace(
        robot,
        joints=tuple(
            replace(one, drive=one.drive.only(("armature", "damping", "stiffness")))
            for one in robot.joints
        ),
    )


def _in_mujoco(robot: Mechanism, model: Any) -> MujocoPlaces:
    names = {model.joint(i).name for i in range(model.njnt)}
    first = [
        one.name if one.name in names else f"{one.name}_{one.type.positions[0].name}"
        for one in robot.joints
    ]
    joints = [model.joint(name) for name in first]
    return MujocoPlaces(
        robot,
        model.nq,
        [int(joint.qposadr[0]) for joint in joints],
        [one.type.nq for one in robot.joints],
        [int(joints[i].dofadr[0]) + k for i, k in robot.dofs],
    )
