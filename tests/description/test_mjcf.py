"""MJCF: one small model for each feature of the format, compared with MuJoCo's own reading."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.description.loading import load
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
from symgen.support.errors import SymgenError
from symgen.vocabulary.functions import FUNCTIONS
from tests.judges import mujoco_files, mujoco_words
from tests.shared.mjcf_texts import FULL, HINGE, HINGES, MASS, ROD, arm, compiler, mjcf, several

BOUND = 1e-11
STATES = 2
BY_REFERENCE = [name for name in mujoco_words.JUDGED if name != "forward_dynamics"]
"""Functions to compare: the reference solves no system, so forward dynamics is omitted."""
WEIGHTLESS = '<geom size="0.1" pos="0.3 0 0" mass="0"/><geom size="0.1" pos="0 0.4 0" mass="0"/>'
SHAPES = "".join(
    [
        '<geom size="0.1" pos="1 0 0" quat="1 2 3 4"/>',
        '<geom type="capsule" size="0.1 0.3" pos="0 1 0" axisangle="1 2 3 40"/>',
        '<geom type="cylinder" size="0.1 0.3" density="500" pos="0 0 1" zaxis="1 2 3"/>',
        '<geom type="ellipsoid" size="0.1 0.2 0.3" mass="3" xyaxes="1 1 0 0 1 1"/>',
        '<geom type="box" size="0.1 0.2 0.3" euler="10 20 30"/>',
    ]
)
ENDS = "".join(
    [
        '<geom type="capsule" size="0.1" fromto="0 0 0 0.3 0.2 0.7"/>',
        '<geom type="cylinder" size="0.1" fromto="0 0 0 0 0 -1"/>',
        '<geom type="box" size="0.1" fromto="0 1 0 2 3 4" mass="2"/>',
        '<geom type="ellipsoid" size="0.1" fromto="1 0 0 0.5 0 0"/>',
    ]
)
CLASSES = """<default><geom density="700" type="box" size="0.1 0.2 0.3" euler="10 20 30"/>
<joint damping="1" axis="1 0 0"/>
<default class="x"><geom type="sphere"/><joint damping="2" armature="0.1"/>
<default class="y"><joint axis="0 1 1" damping="3"/>
</default></default></default>"""
WITHIN = """<body name="a" childclass="x"><joint/><geom/><geom class="y" pos="1 0 0"/>
<body name="b"><joint class="main"/><geom/>
<frame childclass="y" pos="0 0 1"><body name="c"><joint/>
<geom type="box" zaxis="1 2 0"/>
<body name="d" childclass="main"><joint/><geom/></body></body></frame></body></body>
<body name="e"><joint/><geom/></body>"""
FRAMES = f"""<frame pos="1 2 3" euler="10 20 30"><frame quat="1 0 2 0"><body name="a" pos="0.1 0 0">
<frame pos="0.1 0.2 0.3" euler="40 0 9"><joint type="hinge" axis="1 2 0" pos="0.2 0 0"/>
<joint type="slide" axis="0 1 1"/>{ROD}
<inertial pos="0.1 0 0" mass="1"
diaginertia="0.1 0.2 0.25"/></frame><body name="b">
<frame euler="0 50 0" pos="0 0 0.3"><joint type="ball" pos="0.1 0.1 0"/></frame>
{ROD}</body></body></frame></frame>"""
SPRUNG = "".join(
    [
        '<body euler="1 2 3"><joint axis="0 1 0.3" pos="0.1 0.2 0" ref="30"'
        f' springdamper="0.3 1.2" springref="20"/>{ROD}{FULL}',
        '<body pos="0 0 0.5" euler="10 50 7"><joint type="slide" axis="1 2 3" ref="0.2"'
        ' springdamper="0.1 2" armature="0.2" damping="3" stiffness="9" springref="0.1"/>'
        f'<joint axis="1 0.2 0" springdamper="0.2 0.5"/>{ROD}',
        f'<body pos="0.3 0 0"><joint axis="0 0 1" armature="1"/>{ROD}</body></body>',
        '<body pos="0 1 0"><joint type="ball" pos="0.1 0 0.2" springdamper="0.4 1"/>'
        f"{ROD}</body></body>",
        f'<body pos="4 1 1" euler="4 5 1"><joint type="free" springdamper="0.3 1"/>{ROD}',
        f'<body><joint springdamper="1 1"/>{ROD}</body></body>',
    ]
)
MODELS = {
    "hinges": mjcf(arm(ROD)),
    "masses": mjcf(arm(MASS)),
    "a full inertia": mjcf(arm(FULL)),
    "solids": mjcf(arm(SHAPES)),
    "solids between two ends": mjcf(arm(ENDS)),
    "a geom that is there to be seen": mjcf(
        arm('<geom size="0.1" contype="0" conaffinity="0" group="2"/>' + ROD)
    ),
    "geoms of groups": mjcf(
        arm('<geom size="0.2" group="3"/>' + ROD), compiler(inertiagrouprange="0 2")
    ),
    "geoms before declared masses": mjcf(arm(MASS + ROD), compiler(inertiafromgeom="true")),
    "declared masses before geoms": mjcf(arm(MASS + ROD)),
    "geoms that weigh nothing": mjcf(
        arm(MASS + '<geom size="0.2" mass="0"/>'), compiler(inertiafromgeom="true")
    ),
    "declared masses alone": mjcf(
        arm(MASS + f'<body name="c{{}}">{ROD}</body>')
        .replace("c{}", "c", 1)
        .replace("c{}", "d", 1),
        compiler(inertiafromgeom="false"),
    ),
    "a total mass": mjcf(arm(ROD) + f'<body pos="3 0 0">{ROD}</body>', compiler(settotalmass="14")),
    "moments in balance": mjcf(arm(MASS.replace("0.05", "0.5")), compiler(balanceinertia="true")),
    "bounds from below": mjcf(
        arm(MASS) + f'<body name="c">{HINGE}<body name="d"><joint axis="1 0 0"/></body></body>',
        compiler(boundmass="3", boundinertia="0.035"),
    ),
    "bounds of several geoms": mjcf(arm(SHAPES), compiler(boundmass="100", boundinertia="20")),
    "bounds of moments in other axes": mjcf(arm(FULL), compiler(boundinertia="0.042")),
    "moments in balance in other axes": mjcf(
        arm(FULL.replace("0.05 ", "0.5 ")), compiler(balanceinertia="true")
    ),
    "bounds of bodies that nothing weighs": mjcf(
        f'<frame pos="1 0 0"><body name="a" pos="0.1 0.2 0.3" euler="30 0 0">{HINGES}{WEIGHTLESS}'
        f'<body name="b" pos="0.3 0 0.1">{HINGES}<site/>'
        '<body name="c" pos="1 2 3" quat="1 2 3 4"/></body></body></frame>',
        compiler(boundmass="0.5", boundinertia="0.01"),
    ),
    "bounds where geoms do not count": mjcf(
        arm(ROD), compiler(boundmass="0.5", boundinertia="0.01", inertiafromgeom="false")
    ),
    "bounds where groups do not count": mjcf(
        arm(ROD), compiler(boundmass="0.5", boundinertia="0.01", inertiagrouprange="1 2")
    ),
    "bounds of what is declared without mass": mjcf(
        arm('<inertial pos="0.5 0 0" mass="0" diaginertia="0 0 0"/>'),
        compiler(boundmass="0.5", boundinertia="0.01", balanceinertia="true"),
    ),
    "bounds and a total": mjcf(
        arm("")
        + (
            '<body pos="1 1 1"/><body mocap="true" pos="1 2 1"/>'
            f"{arm(ROD).replace('name', 'class')}"
        )
        .replace('class="a"', 'name="d"')
        .replace('class="b"', 'name="e"'),
        compiler(boundmass="0.5", boundinertia="0.01", settotalmass="7"),
    ),
    "sizes given in part": mjcf(
        arm('<geom size="0.2"/><geom class="x" size="0.3 0.4" pos="0.5 0 0"/>'),
        '<default><geom type="box" size="0.1 0.2 0.3"/>'
        '<default class="x"><geom size="0.6"/></default></default>',
    ),
    "slides": mjcf(several('<joint type="slide" axis="1 2 3" pos="1 1 1"/>')),
    "a ball": mjcf(several('<joint type="ball" pos="0.1 0.2 0.3" armature="0.2" damping="0.3"/>')),
    "several joints": mjcf(
        several(
            '<joint axis="1 2 3" pos="0.3 0 0"/>',
            '<joint type="slide" axis="1 1 0"/>',
            '<joint axis="0 1 1" pos="0 0.2 0"/>',
        )
    ),
    "slides and a ball": mjcf(several('<joint type="slide"/>', '<joint type="ball" pos="0 0 1"/>')),
    "a free joint": mjcf(
        f'<body name="a" pos="1 2 3" euler="10 20 30"><freejoint/>{ROD}'
        f'<body name="b" pos="0 0 1">{HINGE}{ROD}</body></body>'
    ),
    "a free joint of a class": mjcf(
        f'<body name="a"><joint type="free" armature="0.3"/>{ROD}</body>',
        '<default><joint damping="0.5" armature="9"/></default>',
    ),
    "a free body that MuJoCo would align": mjcf(
        f'<body name="a"><freejoint align="true"/>{ROD}</body>'
    ),
    "joints that start elsewhere": mjcf(
        several(
            '<joint axis="1 2 3" pos="0.3 0 0" ref="30"/>',
            '<joint type="slide" axis="1 1 0" ref="0.4"/>',
        )
    ),
    "radians": mjcf(
        several('<joint ref="0.3" pos="0.1 0 0" stiffness="2" springref="0.7" range="-1 1"/>')
        + f'<body euler="0.1 0.2 0.3">{HINGE}{ROD.replace("20 30 40", "1 2 3")}</body>',
        compiler(angle="radian"),
    ),
    "springs and dampers": mjcf(
        several(
            '<joint stiffness="2" springref="45" damping="0.3" armature="0.2"/>',
            '<joint type="slide" axis="1 0 0" stiffness="3" springref="0.1" ref="0.2"/>',
        )
    ),
    "springs that are switched off": mjcf(
        several('<joint stiffness="2" damping="0.3"/>'), '<option><flag spring="disable"/></option>'
    ),
    "dampers that are switched off": mjcf(
        several('<joint stiffness="2" damping="0.3"/>'), '<option><flag damper="disable"/></option>'
    ),
    "gravity compensation": mjcf(
        arm(ROD, attributes='gravcomp="0.7"')
        + f"""<body name="c" gravcomp="-1.5"><freejoint/>{ROD}{ROD}
<body name="d" gravcomp="1" euler="1 2 3" pos="0 0 1">{ROD}
<body name="e"><joint type="ball" pos="0.1 0 0"/>{ROD}</body></body></body>""",
        '<option gravity="1 2 -3"/>',
    ),
    "full gravity compensation": mjcf(arm(SHAPES, attributes='gravcomp="1"')),
    "gravity compensation without springs and dampers": mjcf(
        arm(ROD, attributes='gravcomp="1"'),
        '<option><flag spring="disable" damper="disable"/></option>',
    ),
    "springs that hang on inertia": mjcf(SPRUNG),
    "springs that hang on inertia, and are off": mjcf(
        SPRUNG, '<option><flag spring="disable"/></option>'
    ),
    "dampers that hang on inertia, and are off": mjcf(
        SPRUNG, '<option><flag damper="disable"/></option>'
    ),
    "gravity": mjcf(arm(ROD), '<option gravity="1 2 -3"/><option timestep="0.1"/>'),
    "no gravity": mjcf(arm(ROD), '<option gravity="1 2 -3"><flag gravity="disable"/></option>'),
    "Euler angles that ride": mjcf(arm(ROD), compiler(eulerseq="zyx")),
    "Euler angles that stay": mjcf(arm(ROD), compiler(eulerseq="XYZ")),
    "Euler angles of both kinds": mjcf(arm(ROD), compiler(eulerseq="XyZ")),
    "an axis turned over": mjcf(
        f'<body zaxis="0 0 -2">{HINGE}{ROD}<body zaxis="0 0 3">{HINGE}{ROD}</body></body>'
    ),
    "axes of any length": mjcf(
        f'<body zaxis="1 2 -2">{HINGE}{ROD}'
        f'<body xyaxes="-1 0.5 0 3 -0.2 -1">{HINGE}{ROD}</body></body>'
    ),
    "classes": mjcf(WITHIN, CLASSES),
    "frames": mjcf(FRAMES),
    "bodies welded to others": mjcf(
        f'<body name="a" pos="1 0 0">{HINGE}{ROD}<body name="b" pos="0 1 0" euler="5 6 7">{ROD}'
        f'<body name="c">{HINGE}{ROD}</body></body></body>'
    ),
    "several on the world": mjcf(
        f'<body name="s" pos="9 0 0"><geom size="1"/>{arm(ROD)}</body>'
        f'<body pos="1 0 0"><freejoint/>{ROD}</body><body pos="2 0 0">{HINGE}{ROD}</body>'
    ),
    "no names": mjcf(
        f'<body>{HINGE}<joint axis="1 0 0"/>{ROD}<body>{ROD}<body>{HINGE}{ROD}</body></body></body>'
    ),
    "a body that a program places": mjcf(
        f'<body name="m" mocap="true" pos="1 2 3"><geom size="1"/></body>{arm(ROD)}'
    ),
    "settings in pieces": mjcf(
        f'<body euler="1 0 0.4">{HINGE}{ROD}</body>',
        compiler(angle="radian", eulerseq="xyz") + compiler(eulerseq="ZYX"),
    ),
}


def error_against_mujoco(source: str | Path, mechanism: Mechanism | None = None) -> float:
    """Return the largest difference between MuJoCo and symgen's reading, over `BY_REFERENCE`."""
    pytest.importorskip("mujoco")
    mechanism = mujoco_words.loaded(source) if mechanism is None else mechanism
    model = mujoco_words.Model(mujoco_words.compiled(source), mechanism)
    states = {
        name: values.astype(float)
        for name, values in draw_states(mechanism, STATES, seed=3).items()
    }
    reference, worst = Reference(mechanism), 0.0
    for name in BY_REFERENCE:
        computed = reference.evaluate(
            name, {array.name: states[array.name] for array in FUNCTIONS[name].arguments}
        )
        for k in range(STATES):
            word = mujoco_words.FileWord(model, {key: values[k] for key, values in states.items()})
            worst = max(
                worst,
                mujoco_words.error(
                    name, {key: np.asarray(v[k], float) for key, v in computed.items()}, word
                ),
            )
    return worst


@pytest.mark.filterwarnings("ignore:compiler attribute 'settotalmass'")
@pytest.mark.parametrize("name", MODELS)
def test_symgen_and_mujoco_read_the_same_robot(name: str) -> None:
    assert error_against_mujoco(MODELS[name]) < BOUND


def test_compiled_functions_of_a_read_model_agree_with_mujoco() -> None:
    solver = symgen.compile(
        mujoco_words.loaded(MODELS["several joints"]), ["forward_dynamics", "mass_matrix"]
    )
    mechanism = solver.mechanism
    model = mujoco_words.Model(mujoco_words.compiled(MODELS["several joints"]), mechanism)
    states = {
        name: values.astype(float)
        for name, values in draw_states(mechanism, STATES, seed=3).items()
    }
    for k in range(STATES):
        word = mujoco_words.FileWord(model, {key: values[k] for key, values in states.items()})
        a = solver.forward_dynamics(*(states[name][k] for name in ("q", "v", "tau")))
        assert mujoco_words.error("forward_dynamics", {"a": a}, word) < BOUND


# -- exact numbers ---------------------------------------------------------------------------------


def test_masses_and_moments_are_exact_fractions() -> None:
    (part,) = (
        load(mjcf(f'<body>{HINGE}<geom type="box" size="0.1 0.2 0.3"/></body>')).bodies[0].parts
    )
    assert part.mass == 48
    assert part.moments[0] == Fraction(48) * Fraction("0.13") / 3
    (ball,) = load(mjcf(f'<body>{HINGE}<geom size="0.1" mass="0.7"/></body>')).bodies[0].parts
    assert ball.moments[0] == Fraction("0.0028")
    (rod,) = (
        load(
            mjcf(
                f'<body>{HINGE}<geom type="cylinder" size="0.1" fromto="0 0 0 1 2 2" mass="1"/>'
                "</body>"
            )
        )
        .bodies[0]
        .parts
    )
    across, along = Fraction("0.01") / 4 + Fraction("2.25") / 3, Fraction("0.01") / 2
    assert rod.moments[0] == across + (along - across) / 9
    assert rod.moments[1] == (along - across) * 2 / 9


def test_impossible_moments_are_kept_unless_the_file_balances_them() -> None:
    mechanism = load(MODELS["moments in balance"].replace("balanceinertia", "savecompiled"))
    assert mechanism.bodies[-1].parts[0].moments[5] == Fraction("0.5")
    assert (
        sum(
            "triangle inequality" in note.text for note in mechanism.notes if note.kind == "warning"
        )
        == 2
    )


def test_angles_in_degrees_are_exact_multiples_of_pi() -> None:
    joint = load(mjcf(f'<body euler="90 0 0"><joint ref="30" range="-90 90"/>{ROD}</body>')).joints[
        0
    ]
    assert [step.angle.pi for step in joint.pose if hasattr(step, "angle")] == [
        Fraction(1, 2),
        Fraction(-1, 6),
    ]
    assert joint.limits.upper is not None
    assert abs(
        joint.limits.upper - Fraction("1.57079632679489661923132169163975144209858469968755291")
    ) < Fraction(1, 10**50)


def test_a_quaternion_near_a_quarter_turn_is_snapped_with_a_note() -> None:
    text = mjcf(f'<body name="a" quat="0.7071068 0.7071067 0 0">{HINGE}{ROD}</body>')
    snaps = [note.text for note in load(text).notes if note.kind == "snap"]
    assert len(snaps) == 1
    assert snaps[0].startswith(
        "line 4, body 'a' quat: 0.7071068 0.7071067 0 0 read as 1 1 0 0 (moved by "
    )
    assert not [note for note in load(text, snap="off").notes if note.kind == "snap"]


# -- names, coordinates, drives --------------------------------------------------------------------


def test_unnamed_bodies_and_joints_are_named_by_number() -> None:
    mechanism = load(MODELS["no names"])
    assert [joint.name for joint in mechanism.joints] == [
        "body1_joint_1",
        "body1_joint_2",
        "body3_joint",
    ]
    assert [body.name for body in mechanism.bodies] == ["body1_1", "body1", "body3"]
    assert mechanism.base == "world"
    colliding_names = mjcf(
        f'<body>{HINGE}{ROD}<body name="body1"><joint name="body1__joint"/>{ROD}</body></body>'
    )
    assert [joint.name for joint in load(colliding_names).joints] == [
        "body1__joint_",
        "body1__joint",
    ]
    slashes = load(mjcf(f'<body name="robot0:a/b"><joint name="x/y z"/>{ROD}</body>'))
    assert (slashes.joints[0].name, slashes.bodies[0].name) == ("x/y z", "robot0:a/b")


def test_the_origin_of_a_free_joint_is_the_world() -> None:
    assert load(MODELS["a free joint"]).joints[0].pose == ()
    assert [joint.kind for joint in load(MODELS["a free joint"]).joints] == ["free", "continuous"]


def test_a_joint_is_limited_if_range_and_limited_say_so() -> None:
    def kinds(attributes: str, before: str = "") -> list[str]:
        return [
            joint.kind
            for joint in load(mjcf(f"<body><joint {attributes}/>{ROD}</body>", before)).joints
        ]

    assert (
        kinds('range="1 2"')
        == kinds('range="-1 1"')
        == kinds('range="-1 1" limited="true"')
        == ["revolute"]
    )
    assert (
        kinds('range="-1 1" limited="false"') == kinds('range="0 0"') == kinds("") == ["continuous"]
    )
    push = (
        load(mjcf(f'<body><joint type="slide" range="-1 2" actuatorfrcrange="-5 5"/>{ROD}</body>'))
        .joints[0]
        .limits
    )
    assert (push.lower, push.upper, push.effort) == (-1, 2, 5)


def test_drives_of_a_model_are_read_unless_switched_off() -> None:
    text = mjcf(f'<body><joint frictionloss="0.4" damping="1"/>{ROD}</body>')
    assert load(text).joints[0].drive.declared == (("damping", 1), ("friction", Fraction("0.4")))
    assert not load(text, drives="off").joints[0].drive


def test_an_array_attribute_overrides_only_the_entries_that_it_gives() -> None:
    """Compare stiffness and damping with MuJoCo; a note names higher-order terms from any class."""
    mujoco = pytest.importorskip("mujoco")
    classes = (
        '<default><joint stiffness="2 0.4" damping="1 0.3 0.2"/>'
        '<default class="x"><joint stiffness="3" damping="0.5"/></default></default>'
    )
    for attributes in (
        "",
        'stiffness="1" damping="0.7"',
        'stiffness="1 0 0" damping="0.5 0"',
        'class="x"',
        'class="x" stiffness="4"',
    ):
        text = mjcf(f'<body><joint axis="0 1 0" {attributes}/>{ROD}</body>', classes)
        model, mechanism = mujoco.MjModel.from_xml_string(text), load(text)
        drive = mechanism.joints[0].drive
        assert (float(drive.stiffness), float(drive.damping)) == (
            model.jnt_stiffness[0],
            model.dof_damping[0],
        )
        noted = {
            name: any(
                f"its {name} has terms of higher order" in note.text for note in mechanism.notes
            )
            for name in ("stiffness", "damping")
        }
        assert noted == {
            "stiffness": bool(model.jnt_stiffnesspoly.any()),
            "damping": bool(model.dof_dampingpoly.any()),
        }


def test_springdamper_gives_the_springs_that_mujoco_computes() -> None:
    """`springdamper` uses M of the whole model, whichever joints are locked."""
    mujoco = pytest.importorskip("mujoco")
    model, mechanism = mujoco.MjModel.from_xml_string(mjcf(SPRUNG)), load(mjcf(SPRUNG))
    checked = 0
    for i, joint in enumerate(mechanism.joints):
        damping, stiffness = model.dof_damping[model.jnt_dofadr[i]], model.jnt_stiffness[i]
        assert abs(float(joint.drive.damping) - damping) <= 1e-12 * damping
        if joint.type.nq == 1:
            assert abs(float(joint.drive.stiffness) - stiffness) <= 1e-12 * stiffness
            assert (
                not stiffness
                or abs(float(joint.drive.rest) - model.qpos_spring[model.jnt_qposadr[i]]) < 1e-15
            )
            checked += bool(stiffness)
    assert checked == 4
    assert (
        sum(
            "springdamper and the inertia" in note.text
            for note in mechanism.notes
            if note.kind == "info"
        )
        == 6
    )
    locked = load(mjcf(SPRUNG), lock={mechanism.joints[3].name: None})
    assert locked.joints[0].drive == mechanism.joints[0].drive


COUPLED = mjcf(
    f'<body name="a"><joint name="x" ref="0.5"/>{ROD}'
    f'<body name="b"><joint name="y" ref="0.2"/>{ROD}</body></body>',
    compiler(angle="radian"),
    "<equality><joint joint1='y' joint2='x' polycoef='0.1 2 0 0 0'/></equality>",
)


def test_a_joint_equality_is_a_coupling() -> None:
    assert load(COUPLED).nv == 2
    coupled = load(COUPLED, mimic="couple")
    assert coupled.nv == 1
    mimic = coupled.joints[1].mimic
    assert mimic is not None
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(COUPLED)
    data = mujoco.MjData(model)
    data.qpos = [0.8, float(mimic.multiplier) * 0.8 + float(mimic.offset)]
    mujoco.mj_forward(model, data)
    assert abs(data.efc_pos[0]) < 1e-15
    for coefficients_text in (
        "",
        "0.3",
        "0.3 2",
        "0.3 0",
    ):  # the default of MuJoCo's coefficient a₁ is 1
        text = (
            COUPLED.replace("0.1 2 0 0 0", coefficients_text)
            if coefficients_text
            else COUPLED.replace("polycoef='0.1 2 0 0 0'", "")
        )
        mimic, coefficients = (
            load(text).joints[1].mimic,
            mujoco.MjModel.from_xml_string(text).eq_data[0],
        )
        assert mimic is not None
        assert float(mimic.multiplier) == coefficients[1]
    with pytest.raises(SymgenError, match="is a polynomial of higher order"):
        load(COUPLED.replace("2 0 0 0", "2 1 0 0"), mimic="couple")
    assert load(COUPLED.replace("joint1", "active='false' joint1"), mimic="couple").nv == 2


# -- included files --------------------------------------------------------------------------------


def test_an_included_file_is_inserted_at_its_include(tmp_path: Path) -> None:
    main, included = tmp_path / "main.xml", tmp_path / "parts" / "body.xml"
    included.parent.mkdir()
    included.write_text(
        f'<mujocoinclude>\n<body name="b" pos="0.4 0 0.1">{HINGE}'
        '<include file="mass.xml"/></body></mujocoinclude>'
    )
    (tmp_path / "mass.xml").write_text(f"<any>{ROD}</any>")
    main.write_text(mjcf(f'<body name="a">{HINGE}{ROD}<include file="parts/body.xml"/></body>'))
    assert error_against_mujoco(main) < BOUND
    first = load(main).source_sha256
    assert len(first) == 64
    (tmp_path / "mass.xml").write_text(f"<any>{ROD}{ROD}</any>")
    assert load(main).source_sha256 != first
    assert load(main).bodies[1].mass == 2 * load(main).bodies[0].mass
    included.write_text(
        '<mujocoinclude>\n<body name="b">\n<joint axis="0 0 0"/></body></mujocoinclude>'
    )
    with pytest.raises(
        SymgenError, match=r"body\.xml:3: joint axis: the axis is zero; give a nonzero axis"
    ):
        load(main)


@pytest.mark.parametrize(
    "files", [("sub/b.xml",), ("b.xml",), ("sub/b.xml", "b.xml"), ("sub/c/b.xml",)]
)
def test_a_nested_include_is_found_where_mujoco_finds_it(
    tmp_path: Path, files: tuple[str, ...]
) -> None:
    """MuJoCo searches the folder of the main file, then the folder of the including file."""
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "sub/c").mkdir(parents=True)
    (tmp_path / "main.xml").write_text(
        '<mujoco><compiler meshdir="sub/c" assetdir="sub/c"/><include file="sub/a.xml"/></mujoco>'
    )
    (tmp_path / "sub/a.xml").write_text(
        '<mujoco><worldbody><include file="b.xml"/></worldbody></mujoco>'
    )
    for mass, name in enumerate(files, start=1):
        (tmp_path / name).write_text(
            f'<any><body><joint/><geom size="0.1" mass="{mass}"/></body></any>'
        )
    try:
        mass = mujoco.MjModel.from_xml_path(str(tmp_path / "main.xml")).body_mass[1]
    except ValueError:
        with pytest.raises(SymgenError, match="there is no such file in"):
            load(tmp_path / "main.xml")
    else:
        mechanism = load(tmp_path / "main.xml")
        assert float(mechanism.mass) == mass
        assert any(
            "exists in the folder of the main file and in that of" in note.text
            for note in mechanism.notes
        ) == (len(files) == 2 and "b.xml" in files)


@pytest.mark.parametrize(
    ("attribute", "sentence"),
    [
        ("", "the attribute 'file' is missing"),
        ('file=""', "this is not a file name"),
        (
            'file="lost.xml"',
            "files are searched in the folder of the main file,"
            " then in that of the file that includes them",
        ),
        ('file="folder"', "this is not a regular file"),
        ('file="main.xml"', "this file is included already"),
        ('file="ring.xml"', "this file is included already; include each file once"),
        ('file="empty.xml"', "this file is empty"),
        ('file="text.xml"', "not well-formed XML"),
        ('file="/dev/zero"', "this is not a regular file"),
        ('file="bomb.xml"', "a DOCTYPE or entity declaration is not accepted"),
    ],
)
def test_an_include_that_cannot_be_read_is_refused(
    tmp_path: Path, attribute: str, sentence: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.xml").write_text(" ")
    (tmp_path / "text.xml").write_text("<a><b></a>")
    (tmp_path / "ring.xml").write_text('<a><include file="./folder/../ring.xml"/></a>')
    (tmp_path / "bomb.xml").write_text('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    main = tmp_path / "main.xml"
    main.write_text(mjcf(f"{arm(ROD)}\n<include {attribute}/>"))
    with pytest.raises(SymgenError) as caught:
        load(main)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_text_with_an_include_is_refused() -> None:
    with pytest.raises(
        SymgenError, match=r"<text>:4: include 'x.xml': a description given as text has no folder"
    ):
        load(mjcf('<include file="x.xml"/>'))


@pytest.mark.slow
def test_the_judge_of_files_allows_the_error_that_snapping_causes(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "r.xml"
    path.write_text(mjcf(arm(ROD).replace("1 2 3 4", "0.7071 0.7071068 0 0")))
    verdict = mujoco_files.judge("r.xml", path)
    assert verdict.snapped is not None
    assert (verdict.another, verdict.passed) == (True, True)
    assert mujoco_files.BOUND < verdict.snapped < mujoco_files.LEVERS * verdict.turned < 1e-4
    assert not replace(verdict, turned=verdict.turned / 100).passed
