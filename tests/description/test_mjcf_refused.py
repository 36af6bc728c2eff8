"""MJCF elements that are refused, left out with a warning, or ignored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from symgen.description.loading import load
from symgen.description.readers.mjcf import KINDS
from symgen.support.errors import SymgenError
from tests.shared.mjcf_texts import HINGE, MASS, ROD, arm, compiler, mjcf

MESH = '<asset><mesh name="x" file="x.stl"/></asset>'
REFUSED = {
    "a part of another": (
        "<mujocoinclude/>",
        "r.xml:1: mujocoinclude: the root element is 'mujocoinclude': another MJCF",
    ),
    "a section that is none": (
        mjcf("", "<worldbdy/>"),
        "r.xml:2: worldbdy: <worldbdy> is not known here; did you mean",
    ),
    "an element that is none": (
        mjcf("<body><jnt/></body>"),
        "r.xml:4: jnt: <jnt> is not known here; did you mean 'joint'?",
    ),
    "an attribute that is none": (
        mjcf('<body><geom desnity="1"/></body>'),
        "'desnity' is not known here; did you mean",
    ),
    "a class's element that is none": (
        mjcf("", "<default><jont damping='1'/></default>"),
        "did you mean 'joint'?",
    ),
    "a class's attribute that is none": (
        mjcf("", "<default><joint dampng='1'/></default>"),
        "did you mean 'damping'?",
    ),
    "an option that is none": (mjcf("", "<option gravty='0 0 0'/>"), "did you mean 'gravity'?"),
    "a flag that is none": (
        mjcf("", "<option><flag gravty='disable'/></option>"),
        "did you mean 'gravity'?",
    ),
    "an equality that is none": (
        mjcf("", "", "<equality><joint joint1='a' policoef='0 1'/></equality>"),
        "mean 'polycoef'?",
    ),
    "an attribute in another letter case": (
        mjcf("<body><joint Axis='1 0 0'/></body>"),
        "did you mean 'axis'?",
    ),
    "an element where none is": (
        mjcf("<body><geom size='1'><inertial/></geom></body>"),
        "<inertial> is not known here",
    ),
    "text in a joint": (
        mjcf("<body><joint>1 0 0</joint></body>"),
        "<joint> contains the text '1 0 0', but it takes only attributes",
    ),
    "a joint of the world": (
        mjcf("<joint/>"),
        "r.xml:4: joint: it is in the worldbody, which never moves",
    ),
    "two masses": (
        mjcf(f"<body>{HINGE}{MASS}{MASS}</body>"),
        "inertial: the body has an <inertial> already; keep one",
    ),
    "no place of a mass": (
        mjcf(f"<body>{HINGE}{MASS.replace('pos=', 'user=')}</body>"),
        "'user' is not known here",
    ),
    "no mass": (
        mjcf(f'<body>{HINGE}<inertial pos="0 0 0"/></body>'),
        "inertial: the attribute 'mass' is missing; write mass=",
    ),
    "two inertias": (
        mjcf(arm(MASS.replace("diag", 'fullinertia="1 1 1 0 0 0" diag'))),
        "diaginertia conflicts with fullinertia",
    ),
    "a mesh that weighs": (
        mjcf(f'<body>{HINGE}<geom name="g" type="mesh" mesh="x"/></body>', MESH),
        "r.xml:4: geom 'g': its mass and moments are those of a mesh, which symgen does not read;"
        " compile the model with MuJoCo and give symgen.from_mujoco(model)",
    ),
    "a solid fitted to a mesh": (
        mjcf(f'<body>{HINGE}<geom type="box" mesh="x"/></body>', MESH),
        "those of a mesh",
    ),
    "a mass on a surface": (
        mjcf(arm('<geom size="0.1" shellinertia="true"/>')),
        "a mass on the surface",
    ),
    "a size that is none": (
        mjcf(arm('<geom type="box" size="0.1 0 0.2"/>')),
        "geom size: a box takes 3 sizes above zero",
    ),
    "too few sizes": (
        mjcf(arm('<geom type="capsule" size="0.1"/>')),
        "geom size: a capsule takes 2 sizes above zero",
    ),
    "no size": (
        mjcf(arm("<geom/>")),
        "geom: the attribute 'size' is missing; write size=\"…\", 1 to 3 numbers",
    ),
    "two ends in one": (
        mjcf(arm('<geom type="capsule" size="1" fromto="1 1 1 1 1 1"/>')),
        "fromto: its two ends coincide",
    ),
    "two ends of a ball": (
        mjcf(arm('<geom size="1" fromto="1 1 1 2 1 1"/>')),
        "fromto: a sphere cannot have fromto",
    ),
    "a mass below zero": (
        mjcf(arm('<geom size="1" mass="-1"/>')),
        "geom mass: the mass is negative; give zero or more",
    ),
    "a type that is none": (
        mjcf(arm(ROD, '<joint type="fixed"/>')),
        "'fixed' is not one of hinge, slide, ball, free",
    ),
    "no axis": (
        mjcf(arm(ROD, '<joint axis="0 0 0"/>')),
        "joint axis: the axis is zero; give a nonzero axis",
    ),
    "two numbers": (
        mjcf('<body pos="1 2"/>'),
        "r.xml:4: body pos: it has 2 numbers ('1 2'); write 3 numbers separated",
    ),
    "no number": (
        mjcf('<body pos="1 2 nan"/>'),
        "r.xml:4: body pos: 'nan' is not a number; write a plain decimal",
    ),
    "turned twice": (
        mjcf('<body quat="1 0 0 0" euler="1 2 3"/>'),
        "body: it has both quat and euler; keep one",
    ),
    "a quaternion of zero": (mjcf('<body quat="0 0 0 0"/>'), "body quat: the quaternion is zero"),
    "an axis of zero": (mjcf('<body axisangle="0 0 0 1"/>'), "body axisangle: the axis is zero"),
    "a direction of zero": (mjcf('<body zaxis="0 0 0"/>'), "body zaxis: the direction is zero"),
    "axes in one line": (
        mjcf('<body xyaxes="1 1 0 2 2 0"/>'),
        "body xyaxes: the y axis is parallel to the x axis or zero",
    ),
    "places in the world": (
        mjcf("", compiler(coordinate="global")),
        "which MuJoCo no longer reads since 2.3.3; load it in MuJoCo",
    ),
    "no sequence": (
        mjcf("", compiler(eulerseq="xyw")),
        "compiler eulerseq: 'xyw' is not a sequence of axes",
    ),
    "no angle": (
        mjcf("", compiler(angle="grad")),
        "compiler angle: 'grad' is not one of degree, radian",
    ),
    "a range of a doubt": (
        mjcf(arm(ROD, '<joint range="0 1"/>'), compiler(autolimits="false")),
        "a range but no 'limited'",
    ),
    "no such class": (
        mjcf(arm('<geom class="x" size="1"/>')),
        "geom: the class 'x' is not declared; declare it in <default>",
    ),
    "no such class of a body": (
        mjcf('<body childclass="x"/>'),
        "body: the class 'x' is not declared; declare it in <default>",
    ),
    "a class twice": (
        mjcf("", '<default><default class="x"/><default class="x"/></default>'),
        "the class 'x' is declared twice",
    ),
    "a class without a name": (
        mjcf("", "<default><default/></default>"),
        "an inner class has no name",
    ),
    "an outermost class of a name": (
        mjcf("", '<default class="x"/>'),
        "the outermost class is named 'x'",
    ),
    "a free joint within": (
        mjcf(f"<body><body><freejoint/>{ROD}</body></body>"),
        "a free joint must be on the world",
    ),
    "a free joint beside another": (
        mjcf(f"<body><freejoint/>{HINGE}{ROD}</body>"),
        "its body has a free joint and 1 more",
    ),
    "a frame that resizes": (
        mjcf('<frame scale="2"/>'),
        "frame scale: a frame that scales its content is not supported",
    ),
    "bodies of one name": (
        mjcf(f'<body name="a">{HINGE}</body><body name="a"/>'),
        "this name is already a link at line 4",
    ),
    "a follower of nobody": (
        mjcf(arm(ROD), "", '<equality><joint joint1="x"/></equality>'),
        "its joint1 'x' is not a joint",
    ),
    **{
        name: (mjcf(f"<body><{name}/></body>"), f"r.xml:4: {name}: this ")
        for name in ("composite", "flexcomp", "replicate", "attach", "plugin")
    },
    "flex": (
        mjcf("", "<deformable>\n<flex/></deformable>"),
        "r.xml:3: flex: this element is a flexible body",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_faulty_or_unsupported_mjcf_is_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    text, sentence = REFUSED[name]
    path = tmp_path / "r.xml"
    path.write_text(text)
    with pytest.raises(SymgenError) as caught:
        load(path)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)


def warnings(text: str) -> list[str]:
    return [note.text for note in load(text).notes if note.kind == "warning"]


def rod(joint: str = HINGE, attributes: str = "", after: str = "", before: str = "") -> str:
    return mjcf(f'<body name="a" {attributes}>{joint}{ROD}</body>', before, after)


SAID = {
    "a fluid": (
        rod(before='<option density="1.2" viscosity="0" wind="1 2 3"/>'),
        "line 2, option: the density of a fluid is",
    ),
    "an option of another program": (
        rod(before='<option wetness="1"/>'),
        "the attribute 'wetness' of <option> is not known in",
    ),
    "text": (
        mjcf(f'<body name="a">{HINGE}{ROD}</body>', "<option>/></option>"),
        "option: the text '/>' in <option> is not",
    ),
    "damping of a higher order": (
        rod('<joint name="j" damping="1 2"/>'),
        "line 4, joint 'j': its damping has terms of",
    ),
    "a spring of a ball": (
        rod('<joint name="j" type="ball" stiffness="1"/>'),
        "line 4, joint 'j': the spring of a ball joint",
    ),
    "a spring that yields": (
        rod('<joint name="j" stiffness="1" springyield="1"/>'),
        "joint 'j': its springyield",
    ),
    "the armature of a free joint": (
        rod('<joint name="j" type="free" armature="1"/>'),
        "joint 'j': its armature acts along",
    ),
    "tendons": (
        rod('<joint name="j"/>', after='<tendon><fixed name="t" stiffness="1"/></tendon>'),
        "the stiffness of tendons is left out: t",
    ),
    "actuators": (
        rod('<joint name="j"/>', after='<actuator>\n<motor joint="j" armature="1"/></actuator>'),
        "the armature that actuators add to joints is left out: line 7",
    ),
    "tendons that are bound": (
        rod(after="<equality>\n<tendon/>\n<tendon/></equality>"),
        "equality of tendons is left out: line 7, line 8",
    ),
    "a joint that is held": (
        rod('<joint name="j"/>', after='<equality><joint joint1="j" polycoef="0.2"/></equality>'),
        "line 6, joint: it fixes joint j at 0.2 and is left out; use --lock",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_one_warning_names_each_force_that_is_not_modelled(name: str) -> None:
    text, sentence = SAID[name]
    messages = warnings(text)
    assert len(messages) == 1
    assert sentence in messages[0]


def schema(printed: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield parent, name and attributes of each element in MuJoCo's printed schema."""
    ancestors: list[str] = []
    rows: list[tuple[str, str, list[str]]] = []
    for line in printed.splitlines():
        head = re.match(r"( *)([(]?[a-z0-9]+[)]?[a-z]*) [(].[)]", line)
        if head is not None:
            ancestors[len(head[1]) // 3 :] = [head[2].replace("(world)", "")]
            rows.append((ancestors[-2] if len(ancestors) > 1 else "", ancestors[-1], []))
        rows[-1][2].extend(line[head.end() if head else 0 :].split())
    yield from rows


def test_the_reader_knows_every_name_of_the_schema_of_mujoco() -> None:
    """Check the sections of the schema that describe bodies."""
    mujoco = pytest.importorskip("mujoco")
    known_kinds = set()
    for parent, name, attributes in schema(mujoco.mj_printSchema(False, False)):
        key = f"{parent} {name}" if f"{parent} {name}" in KINDS else name
        if key in KINDS and parent in ("", "mujoco", *KINDS):
            known_kinds.add(key)
            assert not [
                attribute for attribute in attributes if attribute not in KINDS[key].attributes
            ], key
        assert (
            parent not in KINDS
            or name in KINDS[parent].children
            or (parent, name) == ("mujoco", "body")
        )
    assert set(KINDS) - known_kinds == {"worldbody", "frame"}


def test_elements_without_effect_on_motion_are_ignored_silently() -> None:
    old = '<option collision="all"><flag passive="enable"/></option>'
    text = rod(
        '<joint name="j"/>',
        before=old,
        after="""<actuator><position joint="j" kp="9"/><muscle joint="j"/></actuator>
<sensor><gyro site="s"/></sensor><contact><exclude body1="a" body2="b"/></contact>
<keyframe><key/></keyframe><custom/>
<tendon><spatial range="0 1"/></tendon>
<deformable><skin/></deformable><visual/><statistic/><size/><extension/>""",
    ).replace(ROD, f"{ROD}<site/><camera/><light/>")
    assert not [note for note in load(text).notes if "is called m_robot in C" not in note.text]


def test_an_unreadable_mass_of_a_fixed_body_is_left_out() -> None:
    still = mjcf(
        '<body name="s"><geom type="mesh" mesh="x"/></body>'
        f'<body name="t"><geom size="0.1" mass="2"/></body>{arm(ROD)}'
    )
    mechanism = load(still)
    assert [part.mass for part in mechanism.base_parts] == [2]
    with pytest.raises(
        SymgenError, match="those of a mesh"
    ):  # settotalmass needs the mass of every body
        load(still.replace('<mujoco model="m">', "<mujoco>" + compiler(settotalmass="3")))


def test_a_springdamper_without_inertia_is_left_out_with_a_warning() -> None:
    light = (
        '<body name="a"><joint name="j" springdamper="1 1"/></body>'
        f'<body name="b">{HINGE}{ROD}</body>'
    )
    long = f'<body name="c">{ROD}' + '<joint springdamper="1 1"/>' * 97 + "</body>"
    for text in (light, long):
        mechanism = load(mjcf(text))
        assert not any(joint.drive for joint in mechanism.joints)
        assert any(
            "its springdamper is left out, since M is singular in the declared pose, or too large"
            in warning
            for warning in warnings(mjcf(text))
        )


def test_a_warning_about_many_bodies_lists_only_the_first() -> None:
    many = mjcf(
        "".join(
            f'<body name="n{i}" gravcomp="1" pos="{i} 0 0">{HINGE}{ROD}</body>' for i in range(60)
        )
    )
    assert warnings(many) == []
    (warning,) = [note.text for note in load(many, drives="off").notes if note.kind == "warning"]
    assert warning.endswith(
        "n10, n11 and 48 more is not applied: these links have their full weight"
    )
