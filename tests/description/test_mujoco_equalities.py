"""Loops closed by MuJoCo equalities: the residual of symgen's frames equals MuJoCo's residual."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.description.canonical import to_toml
from symgen.description.readers import mjcf
from symgen.description.snapping import Snapper
from symgen.mechanism.closed_loops import End, Loop
from symgen.mechanism.mechanism import Frame, Mechanism
from symgen.reference.mechanics import Reference
from symgen.support.errors import SymgenError
from symgen.vocabulary.poses import Shift

mujoco: Any = pytest.importorskip("mujoco")
BOUND = 1e-12
BODIES = """<body name="a" pos="1 2 3" quat="1 .2 .3 .4"><joint name="ja" axis="0 0 1" ref="30"/>
<geom size=".1"/>
<frame pos="0 0 1" euler="0 0 5"><site name="on_a" pos=".1 .2 .3" euler="10 20 30"/></frame>
<frame euler="0 10 0"><body name="b" pos="0 0 1" euler="90 0 0">
<joint name="jb" axis="0 1 0" pos=".1 .1 0"/><geom size=".1"/>
<joint name="js" axis="0 1 0" type="slide" ref=".2"/></body></frame></body>
<body name="c" pos="3 2 1" euler="0 45 0"><freejoint name="jc"/><geom size=".1"/>
<site name="on_c" class="raised"/>
<site name="rod" fromto="-1 0 2 1 2 5" size=".1" type="capsule"/>
<body name="d"><joint name="jd" type="ball" pos="0 .1 0"/><geom size=".1"/></body></body>"""
EQUALITIES = {
    "points": '<connect body1="b" body2="c" anchor=".1 .2 .3"/>',
    "a point of the world": '<connect body1="d" anchor=".1 .2 .3"/>',
    "a point on a body around": '<connect body1="b" body2="a" anchor="1 2 3"/>',
    "the world first": '<connect body1="world" body2="d" anchor="1 2 3"/>',
    "sites": '<connect site1="on_a" site2="on_c"/>',
    "a weld": '<weld body1="b" body2="d"/>',
    "a weld at a place": '<weld name="W" body1="b" body2="c" anchor=".1 .2 .3"/>',
    "a weld to the world": '<weld body1="d" anchor=".1 .2 .3"/>',
    "a weld as it is said": (
        '<weld body1="b" body2="c" anchor=".1 .2 .3" relpose=".4 .5 .6 2 2 .3 0"/>'
    ),
    "a weld that is left to qpos0": (
        '<weld body1="b" body2="c" anchor=".1 .2 .3" relpose=".4 .5 .6 0 0 0 0"/>'
    ),
    "welded sites": '<weld site1="on_a" site2="on_c"/>',
    "a site of two ends": '<weld site1="on_a" site2="rod"/>',
    "several": '<weld body1="b" body2="c"/><connect name="loop1" site1="on_a" site2="rod"/>',
}


def text(equality: str, more: str = "") -> str:
    raised = (
        '<default><default class="raised"><site pos=".4 .5 .6" quat="1 2 3 4"/></default></default>'
    )
    return (
        f"<mujoco>{raised}<worldbody>{BODIES}</worldbody>"
        f"<equality>{equality}</equality>{more}</mujoco>"
    )


def model_of(xml: str) -> Any:
    return mujoco.MjModel.from_xml_string(xml)


def in_order(model: Any, qpos: Any) -> np.ndarray:
    """Convert MuJoCo's coordinates to symgen's, in which the w of a quaternion is last."""
    q = np.array(qpos)
    for joint in range(model.njnt):
        at = model.jnt_qposadr[joint] + (3 if model.jnt_type[joint] == 0 else 0)
        if model.jnt_type[joint] < 2:
            q[at : at + 4] = np.roll(q[at : at + 4], -1)
    return q


def residual(mechanism: Mechanism, loop: Loop, q: np.ndarray) -> np.ndarray:
    """Return the offset of the origins (3,) and, for a weld, MuJoCo's rotation error up to a factor
    (3,).
    """

    def end_pose(end: End) -> Any:
        framed = replace(
            mechanism, frames=(*mechanism.frames, Frame("end of a loop", end.body, end.pose))
        )
        return Reference(framed, frame="end of a loop").forward_kinematics(q)

    (R, p), (S, r) = end_pose(loop.first), end_pose(loop.second)
    between = np.array(S.T @ R, dtype=float)
    turn = between - between.T
    return np.array(
        [*(p - r), *([turn[2, 1], turn[0, 2], turn[1, 0]] if loop.kind == "weld" else [])],
        dtype=float,
    )


@pytest.mark.parametrize("case", EQUALITIES)
def test_the_ends_of_a_loop_have_the_residual_of_mujoco(case: str) -> None:
    xml = text(EQUALITIES[case])
    model = model_of(xml)
    data = mujoco.MjData(model)
    data.qpos = model.qpos0 + np.random.default_rng(1).normal(size=model.nq) / 4
    mujoco.mj_normalizeQuat(model, data.qpos)
    mujoco.mj_forward(model, data)
    for mechanism in (symgen.load(xml), symgen.from_mujoco(model)):
        assert to_toml(symgen.load(to_toml(mechanism))) == to_toml(mechanism)
        expected = list(data.efc_pos[: data.ne])
        for loop in mechanism.loops:
            residuals = residual(mechanism, loop, in_order(model, data.qpos))
            theirs = np.array([expected.pop(0) for _ in residuals])
            assert np.abs(residuals[:3] - theirs[:3]).max() < BOUND
            if loop.kind == "weld":
                assert np.abs(np.cross(residuals[3:], theirs[3:])).max() < BOUND
                assert residuals[3:] @ theirs[3:] > 0
        assert not expected
        assert len({loop.name for loop in mechanism.loops}) == len(mechanism.loops)


@pytest.mark.parametrize(
    "case",
    [
        name
        for name in EQUALITIES
        if "site" not in name and "said" not in name and name != "several"
    ],
)
def test_the_start_position_is_qpos0_and_closes_the_loop(case: str) -> None:
    """Closing is exact for a file (60 digits of a quaternion), to double precision for a model."""
    xml = text(EQUALITIES[case])
    for mechanism in (symgen.load(xml), symgen.from_mujoco(model_of(xml))):
        q = np.array([float(x) for x in mechanism.start_position])
        assert np.abs(in_order(model_of(xml), model_of(xml).qpos0)[:3] - q[:3]).max() < BOUND
        q[6:10] /= np.linalg.norm(q[6:10])
        assert np.abs(residual(mechanism, mechanism.loops[0], q)).max() < BOUND


def test_the_start_position_is_the_keyframe_home_if_there_is_one() -> None:
    keys = (
        '<key name="away" qpos="9 9 9 9 9 9 1 0 0 0 1 0 0 0"/>'
        '<key name="home" qpos="1 2 3 4 5 6 .5 .5 -.5 .5 0 1 0 0"/>'
    )
    xml = text('<weld body1="b"/>', f"<keyframe>{keys}</keyframe>")
    model = model_of(xml)
    for mechanism in (symgen.load(xml), symgen.from_mujoco(model)):
        assert [float(x) for x in mechanism.start_position] == list(
            in_order(model, model.key_qpos[1])
        )


@pytest.mark.parametrize(
    "off",
    ['<weld body1="b" active="false"/>', '<weld body1="b" class="off"/>', '<weld body1="b"/>'],
)
def test_an_inactive_equality_is_left_out_with_a_note(off: str) -> None:
    more = '<default><default class="off"><equality active="false"/></default></default>'
    xml = text(
        off,
        more
        + ('<option><flag equality="disable"/></option>' if off == '<weld body1="b"/>' else ""),
    )
    for mechanism in (symgen.load(xml), symgen.from_mujoco(model_of(xml))):
        assert (mechanism.loops, mechanism.start) == ((), ())
        assert [note.text for note in mechanism.notes if "inactive loops" in note.text]


def test_inactive_equalities_are_listed_by_their_names_or_lines() -> None:
    inactive = (
        '<weld name="W" body1="b" active="false"/>\n'
        '<connect body1="b" anchor="0 0 0" active="false"/>'
    )
    xml = text(f'{inactive}<weld name="V" body1="b"/>')
    line = 1 + xml[: xml.index("<connect")].count("\n")
    (listed,) = (note.text for note in symgen.load(xml).notes if "inactive loops" in note.text)
    assert listed == f"inactive loops are left out: W, connect at line {line}"
    (listed,) = (
        note.text
        for note in symgen.from_mujoco(model_of(xml)).notes
        if "inactive loops" in note.text
    )
    assert listed == "inactive loops are left out: W, loop1"


def test_a_note_says_that_mujoco_enforces_loops_softly() -> None:
    assert "MuJoCo holds the loops of its equalities softly; here they are rigid" in [
        note.text for note in symgen.load(text('<weld body1="b"/>')).notes if note.kind == "info"
    ]


@pytest.mark.parametrize(
    ("equality", "message"),
    [
        (
            '<connect body1="x" anchor="0 0 0"/>',
            "connect: its body1 'x' is not a body of the model; name two bodies of the model",
        ),
        (
            '<connect body1="a" body2="x" anchor="0 0 0"/>',
            "its body2 'x' is not a body of the model",
        ),
        ('<connect body1="a"/>', "the attribute 'anchor' is missing; write anchor="),
        ('<connect body1="a" anchor="0 0"/>', "it has 2 numbers ('0 0'); write 3 numbers"),
        ('<connect body1="a" anchr="0 0 0"/>', "the attribute 'anchr' is not known here"),
        (
            '<connect body1="a" anchor="0 0 0" site1="on_a"/>',
            "site1 conflicts with body1; give two sites, or bodies and a point",
        ),
        (
            '<connect site1="on_a"/>',
            "its site2 '' is not a site of the model; name two sites of the model",
        ),
        ('<connect site1="on_a" site2="x"/>', "its site2 'x' is not a site of the model"),
        (
            '<connect body1="a" body2="a" anchor="0 0 0"/>',
            "it joins a link to itself; name two links",
        ),
        (
            '<weld body1="a" relpose="1 2 3"/>',
            "relpose: it has 3 numbers ('1 2 3'); write 7 numbers",
        ),
        (
            '<weld name="n" body1="a"/><weld name="n" body1="b"/>',
            "weld 'n': this name is already a loop",
        ),
        ("<weld/>", "its body1 '' is not a body of the model"),
        ('<connect site1="on_a" site2="b"/>', "its site2 'b' is not a site of the model"),
    ],
)
def test_a_faulty_equality_is_refused(equality: str, message: str) -> None:
    with pytest.raises(SymgenError) as error:
        symgen.load(text("\n" + equality))
    assert message in str(error.value), str(error.value)
    assert str(error.value).startswith("<text>:")


def test_a_keyframe_of_another_size_is_refused() -> None:
    with pytest.raises(
        SymgenError, match=r"key 'home' qpos: it has 2 numbers \('1 2'\); write 14 numbers"
    ):
        symgen.load(text('<weld body1="b"/>', '<keyframe><key name="home" qpos="1 2"/></keyframe>'))


def test_the_ends_of_a_loop_meet_in_the_declared_pose_of_the_bodies() -> None:
    """The bodies are at (1, 2, 3) + (0, 0, 1) and (0, 1, 0) + (4, 0, 0), with parallel axes."""

    def body(name: str, pos: str, inside: str = "") -> str:
        joint = '<joint axis="0 1 0"/><geom size="0.1"/>'
        return f'<body name="{name}" pos="{pos}">{joint}{inside}</body>'

    bodies = body("a", "1 2 3", body("b", "0 0 1")) + body("c", "0 1 0", body("d", "4 0 0"))

    def ends(first: str, second: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        equality = f'<connect body1="{first}" {second} anchor="1 0 0"/>'
        text = f"<mujoco><worldbody>{bodies}</worldbody><equality>{equality}</equality></mujoco>"
        (loop,) = mjcf.read(text.encode(), "r.xml", Snapper()).loops
        first_end, second_end = (
            tuple(
                map(
                    sum,
                    zip(*(step.xyz for step in end.pose if isinstance(step, Shift)), strict=True),
                )
            )
            for end in (loop.first, loop.second)
        )
        return first_end, second_end

    for first, second, expected in (
        ("a", 'body2="c"', (2, 1, 3)),
        ("c", 'body2="a"', (0, -1, -3)),
        ("b", 'body2="d"', (-2, 1, 4)),
        ("a", 'body2="b"', (1, 0, -1)),
        ("b", 'body2="a"', (1, 0, 1)),
        ("a", 'body2="d"', (-2, 1, 3)),
        ("a", "", (2, 2, 3)),
        ("b", "", (2, 2, 4)),
    ):
        assert ends(first, second) == ((1, 0, 0), expected)


def test_each_body_on_the_way_of_a_loop_is_a_step_and_each_step_of_the_displacement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The way from a to c leads over two bodies, and their displacement is one shift: 3 steps."""
    body = '<body name="{}" pos="1 2 3"><joint/><geom size="1"/>{}</body>'
    inner = body.format("b", "")
    bodies = body.format("a", inner) + body.replace("1 2 3", "0 1 0").format("c", "")

    def read(*pairs: tuple[str, str]) -> int:
        equalities = "".join(
            f'<connect body1="{first}" body2="{second}" anchor="0 0 0"/>' for first, second in pairs
        )
        text = f"<mujoco><worldbody>{bodies}</worldbody><equality>{equalities}</equality></mujoco>"
        return len(mjcf.read(text.encode(), "r.xml", Snapper()).loops)

    assert mjcf.MOST_STEPS == 200_000
    for pairs, steps in (
        ([("a", "c")], 3),
        ([("c", "a")], 3),
        ([("a", "b")], 2),
        ([("b", "a")], 2),
        ([("b", "c")], 4),
        ([("a", "c"), ("a", "b")], 5),
    ):
        monkeypatch.setattr(mjcf, "MOST_STEPS", steps)
        assert read(*pairs) == len(pairs)
        monkeypatch.setattr(mjcf, "MOST_STEPS", steps - 1)
        message = f"have more than {steps - 1} steps up to here; write the loops between sites"
        with pytest.raises(SymgenError, match=message):
            read(*pairs)
