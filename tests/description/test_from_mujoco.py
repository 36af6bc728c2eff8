"""`from_mujoco`: mechanism and MuJoCo model agree to the last digits of a double."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.benchmarks.peers import mujoco as peer
from symgen.description import from_mujoco
from symgen.description.canonical import to_toml
from symgen.description.snapping import Snapper
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
from symgen.support.errors import ArgumentError, DescriptionError
from symgen.vocabulary.poses import Shift

mujoco: Any = pytest.importorskip("mujoco")
BOUND = 1e-12
ODD = """<mujoco model="odd"><compiler angle="radian"/><option gravity="0 0.3 -9.81"/><worldbody>
<body name="afloat" pos="0 0 1" quat="1 0.2 0.3 0.1"><freejoint name="root"/>
 <inertial pos="0.1 0 0.02" quat="1 0.1 0.2 0.3" mass="3" diaginertia="0.2 0.3 0.35"/>
 <body name="arm" pos="0.3 0.1 0" euler="0.1 0.2 0.3">
  <joint name="h1" axis="0 1 1" pos="0.05 0.02 0.01" ref="0.3" armature="0.1" damping="0.4"
         stiffness="3" springref="0.2" range="-1 2" limited="true"/>
  <joint name="s1" type="slide" axis="1 0 2" pos="0.1 0 0" ref="0.1" armature="2"/>
  <joint name="h2" axis="1 0 0" pos="0 0.1 0.2"/>
  <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0.1" mass="1"/>
  <site name="tip" pos="0.3 0 0.1" quat="1 1 0 0"/>
  <body pos="0.3 0 0.1">
   <joint name="b1" type="ball" pos="0.01 0.02 0.03" armature="0.01" damping="0.2"/>
   <geom size="0.1" pos="0.1 0 0" mass="0.5"/>
   <body name="welded" pos="0 0 0.1" quat="1 0 1 0.2">
    <geom type="box" size="0.1 0.05 0.02"/></body></body></body></body>
<body name="cart" pos="1 0 0" quat="1 2 3 4">
 <joint name="c" type="slide" axis="1 0 0"/><geom size="0.1"/>
 <body name="p1"><joint name="h3" axis="0 1 0" ref="0.25"/><geom size="0.1" pos="0 0 0.5"/></body>
 <body name="p2"><joint name="h4" axis="0 1 0" ref="0.5"/>
  <geom size="0.1" pos="0 0 -0.5"/></body></body>
</worldbody>{more}</mujoco>"""
MESH = """<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1 1 1 1"/></asset>
<worldbody><body name="b">
<joint name="j" axis="1 1 0"/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""
SMALL = """<mujoco>{0}<worldbody><body name="b"><joint name="j" {1}/><geom size="1"/>
<body name="c"><joint name="k" {2}/><geom size="1"/></body></body></worldbody>{3}</mujoco>"""


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
        "fixes a joint or couples two joints by a nonlinear polynomial",
    ),
    "curve": (
        "",
        "",
        "<equality><joint joint1='j' joint2='k' polycoef='0 1 1 0 0'/></equality>",
        "by a nonlinear polynomial; it is left out",
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
        match="joint 'j': its three linear velocities have different values of damping",
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
    text = """<mujoco><option><flag {}/></option><worldbody><body>
        <joint damping="1" stiffness="2" frictionloss="3" armature="4"/>
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


class Older:
    """A model without some attributes, as older versions of MuJoCo have it."""

    def __init__(self, model: Any, *missing: str) -> None:
        self._model, self._missing = model, missing

    def __getattr__(self, name: str) -> Any:
        if name in self._missing:
            raise AttributeError(name)
        return getattr(self._model, name)


def test_a_model_of_an_older_version_lacks_newer_parts() -> None:
    newer = (
        "actuator_armature",
        "body_gravcomp",
        "body_mocapid",
        "dof_dampingpoly",
        "eq_objtype",
        "jnt_stiffnesspoly",
        "ngravcomp",
        "nplugin",
    )
    more = '<equality><connect body1="b" body2="c" anchor="0 0 0.5"/></equality>'
    for model in (small(), small("", 'damping="1"', 'axis="0 1 0"', more)):
        complete = symgen.from_mujoco(model, base="fixed")
        older = symgen.from_mujoco(Older(model, *newer), base="fixed")
        assert to_toml(older) == to_toml(complete)
        assert [note.text for note in older.notes] == [note.text for note in complete.notes]


def test_a_point_that_holds_two_bodies_couples_no_joints() -> None:
    """The points (0, 1, 0) and (0, 0, 1) look like the coefficients of a joint's polynomial."""
    body = '<body name="c" pos="0 1 -1"><joint name="k"/><geom size="1"/></body>'
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body name="b"><joint name="j"/><geom size="1"/>'
        f"{body}</body></worldbody>"
        '<equality><connect name="l" body1="b" body2="c" anchor="0 1 0"/></equality></mujoco>'
    )
    assert list(model.eq_data[0][:6]) == [0, 1, 0, 0, 0, 1]
    tree = from_mujoco._Reading(model, Snapper()).tree()
    assert all(joint.mimic is None for joint in tree.connections)
    assert [(loop.name, loop.kind) for loop in tree.loops] == [("l", "point")]


def test_joint_equalities_are_couplings_if_they_are_linear_relations_of_two_joints() -> None:
    """q₁ - q₁⁰ = a₀ + a₁ (q₂ - q₂⁰)"""
    equality = '<equality><joint joint1="k" {} polycoef="{}" {}/></equality>'
    for text, multiplier, offset in (
        (equality.format('joint2="j"', "0.5 2 0 0 0", ""), 2, 0.5 + 0.25 - 2 * 0.125),
        (equality.format('joint2="j"', "0.5 0 0 0 0", ""), None, None),
        (equality.format('joint2="j"', "0.5 2 1 0 0", ""), None, None),
        (equality.format('joint2="j"', "0.5 2 0 0 1", ""), None, None),
        (equality.format("", "0.5 2 0 0 0", ""), None, None),
        (equality.format('joint2="j"', "0.5 2 0 0 0", 'active="false"'), None, None),
    ):
        options = '<compiler angle="radian"/>'
        mechanism = symgen.from_mujoco(small(options, 'ref="0.125"', 'ref="0.25"', text))
        mimic = mechanism.joints[1].mimic
        assert (mimic is not None) is (multiplier is not None)
        if mimic is not None:
            assert (mimic.joint, mimic.multiplier, float(mimic.offset)) == ("j", multiplier, offset)
        left_out = (
            "equality 0 fixes a joint or couples two joints by a nonlinear polynomial;"
            " it is left out"
        )
        expected = multiplier is None and "active" not in text
        assert (left_out in warnings(mechanism)) is expected


def test_moments_without_mass_are_kept_and_doubted() -> None:
    model = small()
    model.body_mass[2] = 0
    mechanism = symgen.from_mujoco(model)
    (part,) = mechanism.bodies[1].parts
    assert part.mass == 0
    assert part.moments[0] > 0
    assert any("has moments of inertia but no mass" in text for text in warnings(mechanism))
    model.body_inertia[2] = 0
    assert symgen.from_mujoco(model).bodies[1].parts == ()
    model.body_mass[2] = 1
    assert [part.mass for part in symgen.from_mujoco(model).bodies[1].parts] == [1]


def test_parts_that_are_left_out_are_noted() -> None:
    def noted(options: str = "", first: str = "", more: str = "") -> list[str]:
        return warnings(symgen.from_mujoco(small(options, first, "", more), base="fixed"))

    fluid = "the model is in a fluid; its drag is left out"
    assert noted() == []
    assert noted('<option density="1"/>') == noted('<option viscosity="1"/>') == [fluid]
    tendon = '<tendon><fixed><joint joint="j" coef="1"/></fixed></tendon>'
    assert noted(more=tendon) == [
        "the model has tendons; their forces, limits and armature are left out"
    ]
    higher = "joints have springs or damping of a higher order; that part is left out"
    assert noted(first='damping="1 2"') == noted(first='stiffness="1 2"') == [higher]
    motor = '<actuator><motor joint="j" {}/></actuator>'
    assert noted(more=motor.format("")) == []
    assert noted(more=motor.format('armature="1"')) == [
        "actuators have armature of their own; it is left out"
    ]


def test_gravity_and_compensation_can_be_disabled() -> None:
    body = '<body name="b" gravcomp="0.5"><joint name="j"/><geom size="1"/></body>'

    def read(flags: str) -> Mechanism:
        text = f"<mujoco><option><flag {flags}/></option><worldbody>{body}</worldbody></mujoco>"
        return symgen.from_mujoco(mujoco.MjModel.from_xml_string(text))

    for flags, gravity, gravcomp in (
        ("", -9.81, 0.5),
        ('gravity="disable"', 0, 0.5),
        ('spring="disable"', -9.81, 0.5),
        ('damper="disable"', -9.81, 0.5),
        ('spring="disable" damper="disable"', -9.81, 0),
    ):
        mechanism = read(flags)
        assert float(mechanism.gravity[2]) == gravity
        assert float(mechanism.bodies[0].parts[0].gravcomp) == gravcomp


def test_actuated_joints_are_those_of_actuators_if_there_are_loops() -> None:
    actuators = (
        '<actuator><motor joint="k"/><motor jointinparent="j"/><motor joint="k"/></actuator>'
    )
    loop = '<equality><connect body1="b" body2="c" anchor="0 0 0.5"/></equality>'
    with_loop = small("", 'axis="0 1 0"', "", actuators + loop)
    reading = from_mujoco._Reading(with_loop, Snapper()).tree()
    assert reading.actuated == ("k", "j")
    without_loop = from_mujoco._Reading(small(more=actuators), Snapper()).tree()
    assert without_loop.actuated == ()
    for tree, soft in ((reading, True), (without_loop, False)):
        texts = [note.text for note in tree.notes]
        assert (
            "MuJoCo holds the loops of its equalities softly; here they are rigid" in texts
        ) is soft
    body = '<body name="b"><joint name="j" type="ball"/><geom size="1"/></body>'
    ball = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody>{body}</worldbody><actuator><motor joint="j"/></actuator>'
        '<equality><connect body1="b" anchor="0 0 0"/></equality></mujoco>'
    )
    assert from_mujoco._Reading(ball, Snapper()).tree().actuated == ()


def test_angular_velocities_of_a_free_joint_may_have_different_drives() -> None:
    body = '<body name="b"><freejoint name="j"/><geom size="1"/></body>'
    text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    for velocity, accepted in ((0, False), (2, False), (3, True), (5, True)):
        model = mujoco.MjModel.from_xml_string(text)
        model.dof_armature[velocity] = 2
        if accepted:
            drive = symgen.from_mujoco(model).joints[0].drive
            assert sum(drive.at(k).armature for k in range(6)) == 2
        else:
            with pytest.raises(DescriptionError, match="different values of armature"):
                symgen.from_mujoco(model)


def test_a_mocap_body_is_fixed_and_a_warning_names_it() -> None:
    bodies = (
        '<body name="hand" mocap="true"><geom size="1"/></body><body name="wall"/>'
        '<body name="b"><joint name="j"/><geom size="1"/></body>'
    )
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    mechanism = symgen.from_mujoco(model, base="fixed")
    assert warnings(mechanism) == [
        "body hand is a mocap body, which a program moves; it is fixed here"
    ]
    assert [frame.name for frame in mechanism.frames if frame.body < 0] == ["world", "hand", "wall"]


def test_the_stiffness_of_a_ball_joint_is_reported_and_not_applied() -> None:
    for kind, stiffness, unapplied in (
        ("ball", 2, {"stiffness": 2}),
        ("ball", 0, {}),
        ("hinge", 2, {}),
    ):
        model = small("", f'type="{kind}" stiffness="{stiffness}"')
        joint = symgen.from_mujoco(model, base="fixed").joints[0]
        assert dict(joint.unapplied) == unapplied
        assert joint.drive.stiffness == (stiffness if kind == "hinge" else 0)


@pytest.mark.parametrize("kind", ["hinge", "slide", "ball"])
def test_only_limited_hinges_and_slides_have_a_range(kind: str) -> None:
    for limited in ("true", "false"):
        options = '<compiler angle="radian"/>'
        model = small(options, f'type="{kind}" range="0 0.5" limited="{limited}"')
        limits = symgen.from_mujoco(model, base="fixed").joints[0].limits
        has_range = limited == "true" and kind != "ball"
        assert (limits.lower, limits.upper) == ((0, 0.5) if has_range else (None, None))
        assert limits.effort is limits.velocity is None


def test_sites_are_frames_of_their_bodies_unless_their_name_is_taken() -> None:
    body = (
        '<body name="b"><joint name="j" pos="1 2 3"/><geom size="1"/><site name="tip" pos="4 5 6"/>'
        '<site name="b"/><site pos="7 8 9"/></body>'
    )
    text = f'<mujoco><worldbody>{body}<site name="goal" pos="1 1 1"/></worldbody></mujoco>'
    mechanism = symgen.from_mujoco(mujoco.MjModel.from_xml_string(text), base="fixed")
    frames = {frame.name: frame for frame in mechanism.frames}
    assert [*frames] == ["world", "b", "goal", "tip"]
    # the joint's frame is at its anchor
    for name, position in (("b", (-1, -2, -3)), ("tip", (3, 3, 3)), ("goal", (1, 1, 1))):
        (shift,) = frames[name].pose
        assert isinstance(shift, Shift)
        assert shift.xyz == position


def test_actuators_that_compensate_gravity_are_noted_if_a_body_is_compensated() -> None:
    for by_actuators, gravcomp in product((True, False), ("0.5", "0")):
        joint = f'<joint name="j" actuatorgravcomp="{str(by_actuators).lower()}"/>'
        body = f'<body name="b" gravcomp="{gravcomp}">{joint}<geom size="1"/></body>'
        text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
        notes = symgen.from_mujoco(mujoco.MjModel.from_xml_string(text), base="fixed").notes
        noted = any("MuJoCo adds gravcomp to the actuator forces" in note.text for note in notes)
        assert noted is (by_actuators and gravcomp != "0")


def test_no_option_disables_an_armature() -> None:
    flags = " ".join(f'{word}="disable"' for word in ("constraint", "damper", "spring", "limit"))
    model = small(f"<option><flag {flags}/></option>", 'armature="2" damping="3"')
    assert dict(symgen.from_mujoco(model, base="fixed").joints[0].drive.declared) == {"armature": 2}
