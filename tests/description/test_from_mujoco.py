"""`from_mujoco`: mechanism and MuJoCo model agree to the last digits of a double."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgen
from symgen.benchmarks.peers import mujoco as peer
from symgen.description.canonical import to_toml
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
from symgen.support.errors import ArgumentError, DescriptionError

mujoco: Any = pytest.importorskip("mujoco")
BOUND = 1e-12
ODD = """<mujoco model="odd"><compiler angle="radian"/><option gravity="0 0.3 -9.81"/><worldbody>
<body name="afloat" pos="0 0 1" quat="1 0.2 0.3 0.1"><freejoint name="root"/>
 <inertial pos="0.1 0 0.02" quat="1 0.1 0.2 0.3" mass="3" diaginertia="0.2 0.3 0.35"/>
 <body name="arm" pos="0.3 0.1 0" euler="0.1 0.2 0.3">
  <joint name="h1" axis="0 1 1" pos="0.05 0.02 0.01" ref="0.3" armature="0.1" damping="0.4" stiffness="3" springref="0.2"
         range="-1 2" limited="true"/>
  <joint name="s1" type="slide" axis="1 0 2" pos="0.1 0 0" ref="0.1" armature="2"/><joint name="h2" axis="1 0 0" pos="0 0.1 0.2"/>
  <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0.1" mass="1"/><site name="tip" pos="0.3 0 0.1" quat="1 1 0 0"/>
  <body pos="0.3 0 0.1"><joint name="b1" type="ball" pos="0.01 0.02 0.03" armature="0.01" damping="0.2"/>
   <geom size="0.1" pos="0.1 0 0" mass="0.5"/>
   <body name="welded" pos="0 0 0.1" quat="1 0 1 0.2"><geom type="box" size="0.1 0.05 0.02"/></body></body></body></body>
<body name="cart" pos="1 0 0" quat="1 2 3 4"><joint name="c" type="slide" axis="1 0 0"/><geom size="0.1"/>
 <body name="p1"><joint name="h3" axis="0 1 0" ref="0.25"/><geom size="0.1" pos="0 0 0.5"/></body>
 <body name="p2"><joint name="h4" axis="0 1 0" ref="0.5"/><geom size="0.1" pos="0 0 -0.5"/></body></body>
</worldbody>{more}</mujoco>"""
MESH = """<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1 1 1 1"/></asset><worldbody><body name="b">
<joint name="j" axis="1 1 0"/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""
SMALL = """<mujoco>{0}<worldbody><body name="b"><joint name="j" {1}/><geom size="1"/><body name="c"><joint name="k" {2}/>
<geom size="1"/></body></body></worldbody>{3}</mujoco>"""


def small(options: str = "", first: str = "", second: str = "", more: str = "") -> Any:
    return mujoco.MjModel.from_xml_string(SMALL.format(options, first, second, more))


def errors(model: Any, mechanism: Mechanism) -> dict[str, float]:
    """Return the largest relative errors of tau, M, a (backward) and frames at two states."""
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(
        mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    )
    reference, coordinate_map = Reference(mechanism), peer.places(mechanism, model)
    states, largest = (
        draw_states(mechanism, 2, seed=3),
        dict.fromkeys(("tau", "M", "a", "frames"), 0.0),
    )
    for k in range(2):
        state = {name: states[name][k].astype(float) for name in ("q", "v", "a", "tau")}
        in_mujoco, data = coordinate_map.state(state), mujoco.MjData(model)
        data.qpos, data.qvel, data.qacc = in_mujoco["q"], in_mujoco["v"], in_mujoco["a"]
        mujoco.mj_inverse(model, data)
        q, v, a = state["q"], state["v"], state["a"]
        pairs = {
            "tau": (
                coordinate_map.ours("inverse_dynamics", state, data.qfrc_inverse.copy()),
                reference.inverse_dynamics(q, v, a),
            )
        }
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        pairs["M"] = coordinate_map.ours("mass_matrix", state, M), reference.mass_matrix(q)
        data.qfrc_applied = in_mujoco["tau"]
        mujoco.mj_forward(model, data)
        a = coordinate_map.ours("forward_dynamics", state, data.qacc.copy())
        pairs["a"] = state["tau"], reference.inverse_dynamics(q, v, a)
        for name, (theirs, ours) in pairs.items():
            size = (
                np.abs(theirs).max()
                if name != "a"
                else np.abs(pairs["M"][0]).sum(axis=1).max() * np.abs(a).max()
            )
            largest[name] = max(
                largest[name], float(np.abs(theirs - ours.astype(float)).max() / size)
            )
        largest["frames"] = max(
            largest["frames"],
            *(frame_error(model, data, mechanism, frame.name, q) for frame in mechanism.frames),
        )
    return largest


def frame_error(model: Any, data: Any, mechanism: Mechanism, frame: str, q: Any) -> float:
    for prefix, kind in (("", mujoco.mjtObj.mjOBJ_BODY), ("site_", mujoco.mjtObj.mjOBJ_SITE)):
        number = mujoco.mj_name2id(model, kind, frame)
        if number >= 0:
            R, p = Reference(mechanism, frame=frame).forward_kinematics(q)
            rotation, position = (
                getattr(data, f"{prefix}xmat")[number].reshape(3, 3),
                getattr(data, f"{prefix}xpos")[number],
            )
            return float(
                max(
                    np.abs(R.astype(float) - rotation).max(),
                    np.abs(p.astype(float) - position).max(),
                )
            )
    return 0.0


def warnings(mechanism: Mechanism) -> list[str]:
    return [note.text for note in mechanism.notes if note.kind == "warning"]


def test_joints_of_every_type_move_as_in_mujoco() -> None:
    model = mujoco.MjModel.from_xml_string(ODD.format(more=""))
    mechanism = symgen.from_mujoco(model)
    largest = errors(model, mechanism)
    assert max(largest.values()) < BOUND, largest
    assert [joint.name for joint in mechanism.joints] == [
        "root",
        "h1",
        "s1",
        "h2",
        "b1",
        "c",
        "h3",
        "h4",
    ]
    assert {"afloat", "arm", "welded", "tip", "world"} <= {frame.name for frame in mechanism.frames}
    assert symgen.load(to_toml(mechanism)).content == mechanism.content
    (joint,) = [joint for joint in mechanism.joints if joint.name == "h1"]
    assert {name: float(value) for name, value in joint.drive.declared} == {
        "armature": 0.1,
        "damping": 0.4,
        "stiffness": 3,
        "rest": 0.2,
    }
    assert (joint.limits.lower, joint.limits.upper) == (-1, 2)


def test_a_mesh_has_the_inertia_that_mujoco_computed() -> None:
    model = mujoco.MjModel.from_xml_string(MESH)
    largest = errors(model, symgen.from_mujoco(model))
    assert max(largest.values()) < BOUND, largest


@pytest.mark.parametrize("gear", ["0.1 2 0 0 0", "0 -0.5 0 0 0"])
def test_an_equality_of_joints_is_a_coupling(gear: str) -> None:
    """MuJoCo's residual of the equality is zero at positions that satisfy the coupling."""
    model = small(
        "<compiler angle='radian'/>",
        "ref='0.25'",
        "ref='0.5'",
        f"<equality><joint joint1='k' joint2='j' polycoef='{gear}'/></equality>",
    )
    mechanism = symgen.from_mujoco(model, mimic="couple")
    assert (mechanism.nq, mechanism.coupled) == (1, True)
    coupling = mechanism.joint_couplings[1]
    assert coupling is not None
    data = mujoco.MjData(model)
    data.qpos = [0.7, float(coupling.multiplier) * 0.7 + float(coupling.offset)]
    mujoco.mj_forward(model, data)
    assert abs(data.efc_pos[: data.ne]).max() < 1e-15
    assert symgen.from_mujoco(model).nq == model.nq == 2


LEFT_OUT = {
    "held": (
        "",
        "",
        "<equality><joint joint1='j' polycoef='1 0 0 0 0'/></equality>",
        "holds a joint at a place or by a curve",
    ),
    "curve": (
        "",
        "",
        "<equality><joint joint1='j' joint2='k' polycoef='0 1 1 0 0'/></equality>",
        "or by a curve; left out",
    ),
    "tendon": (
        "",
        "",
        "<tendon><fixed><joint joint='j' coef='1'/></fixed></tendon>",
        "the model has tendons",
    ),
    "fluid": ("<option density='1'/>", "", "", "the model is in a fluid"),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_a_warning_names_what_is_left_out(case: str) -> None:
    options, first, more, message = LEFT_OUT[case]
    model = mujoco.MjModel.from_xml_string(SMALL.format(options, first, "", more))
    assert any(message in text for text in warnings(symgen.from_mujoco(model))), warnings(
        symgen.from_mujoco(model)
    )
    assert not warnings(symgen.from_mujoco(small()))


def test_unnamed_bodies_and_joints_get_names() -> None:
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><joint/><geom size='1'/><body><geom size='1'/></body></body>"
        "</worldbody></mujoco>"
    )
    mechanism = symgen.from_mujoco(model)
    assert [joint.name for joint in mechanism.joints] == ["joint0"]
    assert [frame.name for frame in mechanism.frames] == ["world", "body1", "body2"]


def test_a_ball_joint_keeps_different_damping_for_each_velocity() -> None:
    model = small("", "type='ball'")
    model.dof_damping[:3], model.dof_armature[:3] = (1, 3, 2), (4, 4, 4)
    joint = next(joint for joint in symgen.from_mujoco(model).joints if joint.name == "j")
    assert [joint.drive.at(k).damping for k in range(3)] == [1, 3, 2]
    assert joint.drive.numbers("armature") == (4,)


def test_faulty_models_are_refused() -> None:
    with pytest.raises(
        ArgumentError, match="str has no attribute 'body_parentid' of a MuJoCo model; give a mujoco"
    ):
        symgen.from_mujoco("humanoid.xml")
    model = small("", "type='free'")
    model.dof_damping[1] = 3
    with pytest.raises(
        DescriptionError,
        match="joint 'j': its linear velocities differ in damping, along the axes of the world",
    ):
        symgen.from_mujoco(model)
    model = small()
    model.body_mass[1] = np.nan
    with pytest.raises(DescriptionError, match="body 'b': 'nan' is not a number"):
        symgen.from_mujoco(model)


@pytest.mark.parametrize(
    ("switch", "kind"),
    [("damper", "damping"), ("spring", "stiffness"), ("frictionloss", "friction")],
)
def test_forces_that_options_disable_are_left_out(switch: str, kind: str) -> None:
    text = """<mujoco><option><flag {}/></option><worldbody><body><joint damping="1" stiffness="2" frictionloss="3" armature="4"/>
        <geom size="0.1" pos="1 0 0"/></body></worldbody></mujoco>"""
    on, off = (
        symgen.from_mujoco(mujoco.MjModel.from_xml_string(text.format(flag)))
        for flag in ("", f'{switch}="disable"')
    )
    kinds = {name for name, _ in on.joints[0].drive.declared}
    assert kinds == {"armature", "damping", "friction", "stiffness"}
    assert {name for name, _ in off.joints[0].drive.declared} == kinds - {kind}
    still = symgen.from_mujoco(mujoco.MjModel.from_xml_string(text.format('gravity="disable"')))
    assert (any(on.gravity), any(still.gravity)) == (True, False)
