"""`convert`: the robot that is read back is the same one, by the reference at 80 digits, by Pinocchio and by MuJoCo."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest

import symgen
from symgen import cli
from symgen.description.loading import builtin_robots
from symgen.description.writers import Written, writers
from symgen.errors import RequestError
from symgen.measuring.peers import pinocchio as by_pinocchio
from symgen.measuring.peers.mujoco import MujocoPlaces
from symgen.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array, Scalars, arb
from symgen.reference.states import draw_states
from tests.robots_for_tests import ONE_DEGREE, random_mechanism

BALLS = arb(80)
SAME = 1e-40
NEAR = 1e-11
"""Relative to the largest entry, of what is computed in double."""

HEAD = 'name = "odd"\ngravity = [0.5, -1, -9.81]\n'


SOLID = "mass = 1\ncentre = [0.1, 0.02, 0]\ninertia = [0.02, 0.001, 0, 0.03, 0, 0.04]"


def body(name: str, parent: str, joint: str, more: str = SOLID) -> str:
    return f'[[body]]\nname = "{name}"\nparent = "{parent}"\njoint = {{ {joint} }}\n{more}\n'


TURNED = ('steps = [{ shift = [0.1, 0.2, "1/3"] }, { quaternion = ["0.3", -0.4, 0.5, 0.1] }, { turn = "0.7", axis = [1, 2, 3] }, '
          '{ slide = 0.2, axis = [1, 1, 0] }')
SLANTED = f"{TURNED}]"
HINGE = 'type = "revolute", axis = [0.3, -1, 2], limits = { lower = -1, upper = 2, velocity = 3, effort = 5 }'
SLIDE = 'type = "prismatic", axis = [0, 1, 0]'
_PARTS = """\
[[body.part]]
link = "{}"
mass = {}
steps = [{{ shift = [0.1, {}, 0] }}, {{ turn = "{}", axis = [0, 1, 1] }}]
inertia = [0.02, 0.001, 0, 0.03, 0.002, 0.04]
"""
_FRAMES = """\
[[frame]]
name = "b"
body = "a"
xyz = [0.3, 0, 0]
rpy = [0.1, -1.2, 3]
[[frame]]
name = "eye & <hand>"
body = "floor"
rpy = [0, 0.3, 0]
"""
_FLOOR = '[base]\nname = "floor"\nmass = 4\ncentre = [0, 0, 1]\ninertia = [1, 0, 0, 1, 0, 1]\n'
_QUARTERS = ((1, 1, 1), (2, -1, 3), (0, 1, -1), (2, 0, 0), (0, 0, 2), (3, 1, 2))
_OF_TWO = "".join(_PARTS.format(link, mass, mass, turn)
                  for link, mass, turn in (("a", 1, "0.4"), ("b", 2, "pi/2"), ("b", 3, "pi/3")))
_FOLLOWS = 'mimic = { joint = "a_joint", multiplier = -0.3, offset = 0.05 }'
ODD = {name: HEAD + "".join(parts) for name, parts in {
    "quaternions": (body("a", "base", f"{HINGE}, {SLANTED}"), body("b", "a", f"{SLIDE}, {SLANTED}"),
                    body("c", "b", f'type = "fixed", {SLANTED}'),
                    body("d", "c", f'type = "continuous", axis = [0, 0, 1], {SLANTED}')),
    "several": (body("a", "base", 'type = "planar", xyz = [1, 2, 3], rpy = [0.1, 0.2, 0.3]'),
                body("b", "a", f'type = "cylindrical", axis = [1, 0, 0], {SLANTED}, damping = 2, armature = 0.1'),
                body("c", "b", f'type = "free", {SLANTED}')),
    "ball": (body("a", "base", f'type = "spherical", {SLANTED}'), body("b", "a", HINGE)),
    "drives": ("friction_speed = 0.02\n", body("a", "base", f'{HINGE}, damping = 0.4, friction = 0.7, stiffness = 3, rest = 0.2, '
                                                            'unapplied = { "gear ratio" = 9 }'),
               body("b", "a", f"{SLIDE}, xyz = [0.3, 0, 0], rotor_inertia = 0.002, gear_ratio = 11")),
    "coupled": ('mimic = "couple"\n', body("a", "base", HINGE), body("b", "a", f"{SLIDE}, xyz = [0, 0.3, 0], {_FOLLOWS}"),
                body("c", "base", HINGE)),
    "right_angles": [body(f"l{i}", f"l{i - 1}" if i else "base", f'{HINGE}, xyz = [0.1, 0, 0.2], '
                          f'rpy = ["{r}*pi/2", "{p}*pi/2", "{y}*pi/2"]') for i, (r, p, y) in enumerate(_QUARTERS)],
    "parts": (_FLOOR, body("a", "floor", HINGE, _OF_TWO), _FRAMES),
    "steep": (body("a", "base", f'{HINGE}, rpy = [0.4, "pi/2", 0.3]'),
              body("b", "a", f'{HINGE}, {TURNED}, {{ turn = "pi/2", axis = [0, 1, 0] }}, {{ turn = 0.2, axis = [1, 0, 0] }}]')),
}.items()}
"""Robots of one oddity each, in TOML."""
RANDOM = {
    **{f"chain{seed}": random_mechanism(4, seed, joints=("revolute", "continuous", "prismatic")) for seed in range(3)},
    **{f"tree{seed}": random_mechanism(6, seed, "tree", ("revolute", "prismatic", "planar", "free")) for seed in range(3)},
    "all": random_mechanism(5, 7, "tree", ONE_DEGREE, general=False),
}
FREE = {"free panda": lambda: symgen.load("panda", base="free", lock={"panda_joint3": "0.3"})}
ROBOTS: dict[str, Callable[[], Mechanism]] = {
    **{name: (lambda name=name: symgen.load(name)) for name in builtin_robots()},
    **{name: (lambda text=text: symgen.load(text)) for name, text in ODD.items()},
    **{name: (lambda made=made: made) for name, made in RANDOM.items()}, **FREE,
}


REFUSED = {"urdf": ("spherical_pendulum", "ball", "all"), "mjcf": ("all",), "toml": ()}
"""Robots with a joint that the format has no word for."""


def sayable(format_: str) -> list[str]:
    """The robots that a format has words for."""
    return [name for name in ROBOTS if name not in REFUSED[format_]]


def written(name: str, format_: str) -> tuple[Mechanism, Written]:
    """A robot of ROBOTS and its text."""
    robot = ROBOTS[name]()
    found: Written = writers()[format_].write(robot)
    return robot, found


def as_told(text: str, left_out: tuple[str, ...]) -> Mechanism:
    """The robot that is read with the options that the sentences name."""
    said = dict(re.findall(r"read it with --([a-z-]+) (\S+)$", "\n".join(left_out), re.M))
    return symgen.load(text, **{option.replace("-", "_"): value for option, value in said.items()})


def answers(robot: Mechanism, states: dict[str, Array], frames: list[str], scalars: Scalars = BALLS) -> list[Array]:
    """M, tau, and where every frame is."""
    reference, given = Reference(robot, scalars, frame=frames[0]), {name: scalars.array(x) for name, x in states.items()}
    found = [reference.mass_matrix(given["q"]), reference.inverse_dynamics(given["q"], given["v"], given["a"])]
    with scalars.working():
        places = reference.placements(given["q"])
        for frame in frames:
            reference.frame = robot.frame(frame)
            found += reference.frame_placement(places, given["q"])
    return found


def apart(one: list[Array], other: list[Array]) -> float:
    """The largest difference of two answers."""
    assert [x.shape for x in one] == [x.shape for x in other]
    return max(float(abs(flint.arb(a - b)).upper()) for x, y in zip(one, other, strict=True)
               for a, b in zip(np.ravel(x), np.ravel(y), strict=True))


def differ(robot: Mechanism, back: Mechanism) -> float:
    """How far two robots are apart at one state, by all that both name."""
    states, frames = draw_states(robot, 1), [frame.name for frame in robot.frames] or [body.name for body in robot.bodies]
    return apart(answers(robot, states, frames), answers(back, states, frames))


# -- there and back -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sayable("toml"))
def test_the_toml_says_all(name: str) -> None:
    robot, text = written(name, "toml")
    back = symgen.load(text.text)
    assert back.content == robot.content or differ(robot, back) <= SAME
    assert back.notes == robot.notes or name in RANDOM
    assert text.left_out == ()


@pytest.mark.parametrize("name", sayable("urdf"))
def test_the_urdf_is_the_same_robot(name: str) -> None:
    robot, text = written(name, "urdf")
    back = as_told(text.text, text.left_out)
    held = tuple(replace(j, drive=j.drive.only(("armature", "damping", "friction"))) for j in robot.joints)
    assert differ(replace(robot, joints=held), back) <= SAME   # a spring is left out, and the sentences say so
    assert back.name == robot.name
    assert {part.link for one in robot.bodies for part in one.parts} <= {part.link for one in back.bodies for part in one.parts}
    plain = [one for one in robot.joints if one.type.nq == 1]
    assert [one.limits for one in plain] == [back.joints[back.joint_index(one.name)].limits for one in plain]
    assert [one.mimic for one in plain] == [back.joints[back.joint_index(one.name)].mimic for one in plain]


@pytest.mark.parametrize("name", ["panda", "quaternions", "parts", "steep"])
def test_a_second_time_nothing_changes(name: str) -> None:
    for format_ in ("toml", "urdf"):
        first = written(name, format_)[1]
        again = writers()[format_].write(as_told(first.text, first.left_out))
        twice = writers()[format_].write(as_told(again.text, again.left_out))
        assert again.text == twice.text


PLANTED = {
    "a sign of rpy": ("quaternions", 'rpy="-', 'rpy="'),
    "a shift of a joint": ("right_angles", 'xyz="0.1 0 0.2"', 'xyz="0.1 0 -0.2"'),
    "an axis": ("quaternions", 'axis xyz="0.3 -1', 'axis xyz="0.3 1'),
    "a centre of mass": ("panda", "-0.003141", "0.003141"),
    "a moment": ("panda", 'ixy="-0.003925"', 'ixy="0.003925"'),
    "a mass": ("parts", 'mass value="3"', 'mass value="2"'),
    "the pose of a frame": ("parts", 'xyz="0.3 0 0"', 'xyz="0.3 1e-30 0"'),
    "an offset": ("coupled", 'offset="0.05"', 'offset="0"'),
    "a multiplier": ("coupled", 'multiplier="-0.3"', 'multiplier="0.3"'),
    "damping": ("drives", 'damping="0.4"', 'damping="0"'),
    "an armature": ("several", 'armature="0.1"', ""),
    "no origin": ("several", 'rpy="0.1 0.2 0.3"', ""),
}


@pytest.mark.parametrize("what", PLANTED)
def test_an_error_in_the_file_is_seen(what: str) -> None:
    name, old, new = PLANTED[what]
    robot, text = written(name, "urdf")
    assert old in text.text
    back = as_told(text.text.replace(old, new, 1), text.left_out)
    held = tuple(replace(j, drive=j.drive.only(("armature", "damping", "friction"))) for j in robot.joints)
    assert differ(replace(robot, joints=held), back) > SAME


# -- what is not said -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("format_", "name"), [(format_, name) for format_, names in REFUSED.items() for name in names])
def test_a_joint_without_a_word_is_named(format_: str, name: str) -> None:
    with pytest.raises(RequestError, match=rf"joint '\w+' is (spherical|helical), for which {format_.upper()} has no word; "):
        writers()[format_].write(ROBOTS[name]())


SENTENCES = {
    ("quaternions", "urdf"): ["gravity is left out; read it with --gravity 0.5,-1,-9.81"],
    ("coupled", "urdf"): ["gravity is left out; read it with --gravity 0.5,-1,-9.81",
                          "that joints follow those they mimic is left out; read it with --mimic couple"],
    ("drives", "urdf"): ["gravity is left out; read it with --gravity 0.5,-1,-9.81",
                         "that drives are applied is left out; read it with --drives on",
                         "the friction speed is left out; read it with --friction-speed 0.02",
                         "the stiffness of a_joint is left out",
                         "the rest of a_joint is left out", "the gear ratio of a_joint, read and not applied, is left out"],
    ("drives", "mjcf"): ["the velocity limit of a_joint is left out",
                         "the friction of a_joint sticks there, and is smooth in symgen",
                         "the friction speed is left out; read it with --friction-speed 0.02",
                         "the gear ratio of a_joint, read and not applied, is left out"],
    ("coupled", "mjcf"): ["the velocity limit of a_joint, c_joint is left out",
                          "that b_joint mimics another is an equality there, which MuJoCo applies in its solver, and softly",
                          "that joints follow those they mimic is left out; read it with --mimic couple"],
    ("parts", "urdf"): ["of several inertias of b, each behind the first stands on a further link, NAME_2 …",
                        "gravity is left out; read it with --gravity 0.5,-1,-9.81"],
    ("tree1", "mjcf"): ["in place of joint2, joint4, joint5 stand several joints of one body, each named for its coordinate",
                        "the velocities of joint2, joint4, joint5 are along the axes of its frame, not along those of the body",
                        "the place and the quaternion of joint1 count from the world there, not from the frame of the joint",
                        "the order of joints is joint0, joint2, joint3, joint4, joint5, joint1 there, each branch to its end"],
    ("scara", "urdf"): ["the frame of link1, link2 is not that of its joint, so that a massless link NAME_motor moves it"],
    ("several", "urdf"): ["gravity is left out; read it with --gravity 0.5,-1,-9.81",
                          "that drives are applied is left out; read it with --drives on",
                          "in place of b_joint stand two joints, NAME_angle and NAME_distance, with a massless link between"],
    ("ur5", "toml"): [],
}


@pytest.mark.parametrize(("name", "format_"), SENTENCES)
def test_what_a_format_cannot_say_is_said(name: str, format_: str) -> None:
    robot, text = written(name, format_)
    assert list(text.left_out) == SENTENCES[name, format_], robot


def test_almost_a_right_angle_is_not_made_one() -> None:
    """Read as the sentence says, it is the robot; without, it is snapped."""
    near = symgen.load(HEAD + body("a", "base", f'{HINGE}, rpy = ["1.570796326", 0, 0]'), snap="off")
    for format_ in ("urdf", "mjcf"):
        assert any("almost a right angle" in sentence for sentence in writers()[format_].write(near).left_out)
    text = writers()["urdf"].write(near)
    assert differ(near, as_told(text.text, text.left_out)) <= SAME
    assert differ(near, symgen.load(text.text, gravity=near.gravity)) > SAME
    assert not any("right angle" in one for name in ("right_angles", "steep") for one in written(name, "urdf")[1].left_out)


def test_urdf_says_no_limit_by_one_that_nothing_reaches() -> None:
    slide = symgen.load(HEAD + body("a", "base", SLIDE))
    text = writers()["urdf"].write(slide).text
    assert '<limit lower="-1e308" upper="1e308" effort="1e308" velocity="1e308"/>' in text
    assert symgen.load(text).joints[0].limits == slide.joints[0].limits


# -- the file -------------------------------------------------------------------------------------------------------------


def test_the_command_writes_what_the_call_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / name for name in ("a.urdf", "b.urdf")]
    assert cli.main(["convert", "scara", "-o", str(paths[0])]) == 0
    said = symgen.convert("scara", paths[1])
    out, err = capsys.readouterr()
    assert out == f"wrote scara as urdf to {paths[0]}\n"
    assert all(f"symgen: note: {sentence}\n" in err for sentence in said)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert cli.main(["convert", "scara", "-o", "-", "--to", "urdf"]) == 0
    assert capsys.readouterr().out == paths[0].read_text()
    assert cli.main(["convert", str(paths[0]), "-o", str(tmp_path / "c.toml"), "--lock", "joint3", "-q"]) == 0
    assert (symgen.load(tmp_path / "c.toml").nv, capsys.readouterr().out) == (3, "")


def test_an_earlier_conversion_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    for suffix in (".toml", ".urdf", ".xml", ".mjcf"):
        out = tmp_path / f"out{suffix}"
        symgen.convert("scara", out)
        symgen.convert("planar_arm", out)
        assert b"scara" not in out.read_bytes()
        out.write_text("mine")
        with pytest.raises(RequestError, match="symgen did not convert it"):
            symgen.convert("scara", out)
        assert out.read_text() == "mine"


@pytest.mark.parametrize(("words", "why"), [
    (["o.sdf"], "o.sdf: no format goes with a file of suffix '.sdf'; give a name that ends in"), (["o"], "without suffix; give"),
    (["-"], "'-o -' does not tell the format; add --to toml"),
    (["no/o.toml"], "the folder no does not exist; make it first"),
    (["here.urdf"], "here.urdf is what is to be converted; name another file"),
    (["o.urdf", "--to", "mjfc"], "did you mean 'mjcf'"),
    (["folder.xml"], "folder.xml is a folder; name a file in it"),
    (["mine.toml"], "mine.toml exists, and symgen did not convert it"),
    (["o" * 300 + ".toml"], "cannot be written: File name too long; nothing was changed"),
    (["o.xml", "--to", "urdf", "--lock", "nothing"], "no joint is named 'nothing'"),
])
def test_a_refusal_is_one_sentence(words: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    symgen.convert("scara", "here.urdf")
    Path("folder.xml").mkdir()
    Path("mine.toml").write_text("")
    before = {path.name: path.is_dir() or path.read_bytes() for path in tmp_path.iterdir()}
    assert cli.main(["convert", "here.urdf", "-o", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert why in err
    assert {path.name: path.is_dir() or path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_name_that_xml_does_not_hold_is_refused() -> None:
    robot = RANDOM["chain0"]
    for name, why in (("a\x01", "characters that XML does not hold"), ("${a}", "reads as a macro of xacro")):
        with pytest.raises(RequestError, match=why):
            writers()["urdf"].write(replace(robot, joints=(replace(robot.joints[0], name=name), *robot.joints[1:])))


def test_a_comment_never_ends_early() -> None:
    for source in ("a--b", "--", "-->", "x-", "a --gravity"):
        text = writers()["urdf"].write(replace(RANDOM["chain0"], source=source)).text
        assert symgen.load(text).name == "random_chain_4"


def test_a_row_too_deep_for_readers_of_xml_is_refused() -> None:
    with pytest.raises(RequestError, match="more than 240 bodies would stand within each other"):
        writers()["mjcf"].write(symgen.load("planar_point_mass:240"))
    assert symgen.load(writers()["urdf"].write(symgen.load("planar_point_mass:300")).text).nv == 300


# -- others' engines ------------------------------------------------------------------------------------------------------


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
    places = by_pinocchio.places(back, model, [model.getJointId(joint.name) for joint in back.joints])
    drawn = {key: x.astype(float)[0] for key, x in draw_states(back, 1).items() if key in ("q", "v", "a")}
    state, data, reference = places.state(drawn), model.createData(), Reference(back)
    assert near(places.ours("mass_matrix", drawn, pin.crba(model, data, state["q"])), reference.mass_matrix(drawn["q"]))
    tau = places.ours("inverse_dynamics", drawn, pin.rnea(model, data, state["q"], state["v"], state["a"]))
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
    if any("MuJoCo does not compile" in sentence for sentence in text.left_out):
        with pytest.raises(ValueError, match=r"mass and inertia|eigenvalues|A \+ B"):
            mj.MjModel.from_xml_string(text.text)
        return
    model = mj.MjModel.from_xml_string(text.text)
    robot = frictionless(robot.uncoupled)
    model.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONSTRAINT)
    places, data = _in_mujoco(robot, model), mj.MjData(model)
    drawn = {key: x.astype(float)[0] for key, x in draw_states(robot, 1).items() if key in ("q", "v", "a")}
    state, reference = places.state(drawn), Reference(robot)
    (told,) = [sentence for sentence in text.left_out if sentence.startswith("the order of joints is ")] or [""]
    order = [robot.joints[i].name for i, k in (robot.dofs[n] for n in np.argsort(places.order)) if k == 0]
    assert order == (told.removeprefix("the order of joints is ").partition(" there")[0].split(", ") if told else
                     [joint.name for joint in robot.joints])
    data.qpos, data.qvel, data.qacc = state["q"], state["v"], state["a"]
    mj.mj_inverse(model, data)
    M = np.zeros((model.nv, model.nv))
    mj.mj_fullM(model, M, data.qM) if " M: " in str(mj.mj_fullM.__doc__) else mj.mj_fullM(model, data, M)   # up to 3.x
    assert near(places.ours("mass_matrix", drawn, M), reference.mass_matrix(drawn["q"]))
    assert near(places.ours("inverse_dynamics", drawn, data.qfrc_inverse),
                reference.inverse_dynamics(drawn["q"], drawn["v"], drawn["a"]))
    for frame in robot.frames:
        turn, place = Reference(robot, frame=frame.name).forward_kinematics(drawn["q"])
        at = data.body(frame.name)
        assert near(at.xmat.reshape(3, 3), turn)
        assert near(at.xpos, place)


def frictionless(robot: Mechanism) -> Mechanism:
    """MuJoCo's friction is another one."""
    return replace(robot, joints=tuple(replace(one, drive=one.drive.only(("armature", "damping", "stiffness")))
                                       for one in robot.joints))


def _in_mujoco(robot: Mechanism, model: Any) -> MujocoPlaces:
    names = {model.joint(i).name for i in range(model.njnt)}
    first = [one.name if one.name in names else f"{one.name}_{one.type.positions[0].name}" for one in robot.joints]
    joints = [model.joint(name) for name in first]
    return MujocoPlaces(robot, model.nq, [int(joint.qposadr[0]) for joint in joints], [one.type.nq for one in robot.joints],
                        [int(joints[i].dofadr[0]) + k for i, k in robot.dofs])
