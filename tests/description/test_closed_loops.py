"""Closed loops of descriptions: read and written back without loss, refused in one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.description import assembly, tree
from symgen.description.canonical import to_toml
from symgen.description.loading import builtin_robots
from symgen.mechanism.adjustable import adjust_mechanism
from symgen.mechanism.closed_loops import End
from symgen.mechanism.closures import Across, Along, Apart, Unspun, closure, closures
from symgen.mechanism.mechanism import Frame, Mechanism
from symgen.pages.report.show import facts, show
from symgen.pages.report.tree import draw
from symgen.reference.mechanics import Reference
from symgen.support.errors import SymgenError
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, Angle, Shift, Turn, pose
from tests import layouts
from tests.shared import sdf_texts as sdf
from tests.shared.descriptions import pose_matrix
from tests.shared.robots_for_tests import OPEN

F = Fraction
LINKS = """name = "fork"
[base]
name = "ground"
"""


def body(name: str, parent: str, kind: str = "revolute", more: str = "") -> str:
    joint = (
        f'type = "{kind}"{", axis = [0, 0, 1]" if kind in ("revolute", "prismatic") else ""}, xyz ='
        f" [1, 0, 0]{more}"
    )
    return (
        f'[[body]]\nname = "{name}"\nparent = "{parent}"\nmass = 1\n'
        f'joint = {{ name = "{name}_joint", {joint} }}\n'
    )


FORK = (
    LINKS + body("a", "ground") + body("b", "a") + body("tip", "b", "fixed") + body("c", "ground")
)
LOOP = (
    '[[loop]]\ntype = "revolute"\n'
    'first = { link = "tip", xyz = [0.5, 0, 0], rpy = ["pi/2", 0, 0] }\n'
    'second = { link = "c" }\n'
)


def test_an_end_on_a_welded_link_belongs_to_the_body_that_carries_it() -> None:
    """The tip is welded to b: the end belongs to body b, and its pose includes the weld."""
    m = symgen.load(FORK + LOOP)
    turned = Turn(X_AXIS, Angle(pi=F(1, 2)))
    assert m.loops == (
        replace(
            m.loops[0],
            name="loop1",
            kind="revolute",
            first=End(1, (Shift((F(3, 2), F(0), F(0))), turned)),
            second=End(2, ()),
        ),
    )


def test_an_end_may_be_on_a_named_frame_or_the_base() -> None:
    frame = '[[frame]]\nname = "eye"\nbody = "tip"\nsteps = [{ turn = "pi", axis = [0, 0, 1] }]\n'
    m = symgen.load(FORK + frame + LOOP.replace('"tip"', '"eye"').replace('"c"', '"ground"'))
    assert m.loops[0].first.pose[:2] == (Shift((F(1), F(0), F(0))), Turn(Z_AXIS, Angle(pi=F(1))))
    assert m.loops[0].second == End(-1, ())


def test_an_end_on_a_row_counts_from_the_frame_at_its_end() -> None:
    rows = (
        'name = "r"\nconvention = "dh"\n[[row]]\na = 1\nalpha = "pi/2"\nmass = 1\n'
        "[[row]]\nd = 2\nmass = 1\n"
    )
    m = symgen.load(
        rows + '[[loop]]\ntype = "weld"\nfirst = { link = "link1", xyz = [0, 3, 0] }\n'
        'second = { link = "base" }\n'
    )
    a, turned, b = (
        Shift((F(1), F(0), F(0))),
        Turn(X_AXIS, Angle(pi=F(1, 2))),
        Shift((F(0), F(3), F(0))),
    )
    assert m.loops[0].first == End(0, (a, turned, b))
    assert symgen.load(to_toml(m)).loops == m.loops


@pytest.mark.parametrize("kind", closures())
def test_every_type_is_written_back_without_loss(kind: str) -> None:
    numbers = "".join(f'{parameter.name} = "1/3"\n' for parameter in closure(kind).parameters)
    m = symgen.load(
        'start = { b_joint = "pi/3", a_joint = [0.1] }\n'
        + FORK
        + LOOP.replace("revolute", kind)
        + numbers
    )
    again = symgen.load(to_toml(m))
    assert (again, again.source_sha256) == (m, m.source_sha256)
    assert to_toml(again) == to_toml(m)
    assert m.loops[0].parameters == tuple(
        (parameter.name, F(1, 3)) for parameter in closure(kind).parameters
    )
    assert [name for name, _ in m.start] == ["a_joint", "b_joint"]  # in the order of the joints
    assert abs(float(m.start_position[1]) - 1.0471975511965976) < 1e-15


def test_mechanisms_without_loops_keep_their_hash() -> None:
    without_loops = symgen.load(FORK)
    assert without_loops.content != symgen.load(FORK + LOOP).content
    assert "loop" not in to_toml(without_loops)
    assert symgen.load("panda").content in json.loads(layouts.COMMITTED.read_text())


def notes(m: Mechanism) -> list[str]:
    return [note.text for note in m.notes if note.kind == "warning"]


def test_a_loop_between_links_locked_to_each_other_is_left_out_with_a_warning() -> None:
    m = symgen.load("start = { c_joint = 1 }\n" + FORK + LOOP, lock=["a_joint", "b_joint"])
    assert m.loops  # the second end, on c, still moves
    locked = symgen.load(
        "start = { b_joint = 1 }\n" + FORK + LOOP.replace('"c"', '"a"'), lock=["b_joint"]
    )
    assert (locked.loops, locked.start) == ((), ())
    assert notes(locked) == [
        "loop loop1 constrains nothing and is left out: no joint moves its frame on a against its"
        " frame on tip, and they are apart by 1.3 rad or parts of the robot's size"
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"revolute"',
            '"hinge"',
            "'hinge' is not a type of loop closure; write one of: cylindrical, distance,",
        ),
        ('"tip"', '"tap"', "loop[0]: first: its link 'tap' is not declared; did you mean 'tip'?"),
        ('"c"', '"tip"', "loop[0]: it joins a link to itself; name two links"),
        (
            'second = { link = "c" }\n',
            "",
            "the key 'second' is missing; add second = { link = \"…\", xyz = [0, 0, 0] }",
        ),
        (
            'link = "c"',
            'body = "c"',
            "the key 'body' is not known here; there are: link, xyz, rpy, steps",
        ),
        (
            '{ link = "c" }\n',
            '{ link = "c" }\ndistance = 1\n',
            "the key 'distance' is not known here",
        ),
        (
            '"revolute"',
            '"distance"',
            "the key 'distance' of a distance is missing; add distance = …, how far apart",
        ),
        (
            '"revolute"',
            '"distance"\ndistance = 0',
            "distance: it is not positive; give how far apart",
        ),
        ("[[loop]]\n", '[[loop]]\nname = ""\n', "'' is not a valid name"),
        ("[[loop]]\n", "start = 1\n[[loop]]\n", "the key 'start' is not known here"),
    ],
)
def test_a_faulty_loop_is_refused(old: str, new: str, message: str) -> None:
    assert old in LOOP
    refused(FORK + LOOP.replace(old, new), message)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (
            "{ d_joint = 1 }",
            "the start of joint 'd_joint' is declared, but no moving joint has this name;"
            " use names of",
        ),
        ("{ a_joint = [1, 2] }", "the start of joint 'a_joint' has 2 numbers; give 1"),
        ('{ a_joint = "x" }', "'x' is not an angle"),
        ("{ a_joint = [true] }", "'True' is not a number"),
        ("1", "'1' is not a table"),
    ],
)
def test_a_faulty_start_is_refused(start: str, message: str) -> None:
    refused(f"start = {start}\n{FORK}{LOOP}", message)
    refused(
        f"start = {{ a_joint = 1 }}\n{FORK}",
        "a start is declared, but the mechanism has no closed loop; remove the start",
    )


def test_two_loops_of_one_name_are_refused() -> None:
    named = LOOP.replace("[[loop]]", '[[loop]]\nname = "x"')
    refused(
        FORK + named + named, "loop 'x': this name is already a loop; give each loop its own name"
    )


def test_the_numbers_of_loops_and_of_their_steps_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(tree, "MOST_LINKS", 6)
        refused(
            FORK + LOOP * 7,
            "loop[6]: there are more than 6 loops, the most that symgen reads; give a smaller"
            " robot",
        )
    monkeypatch.setattr(assembly, "MOST_STEPS", 30)
    refused(FORK + LOOP * 40, "the poses of links have more than 30 steps up to here")


def refused(text: str, message: str) -> None:
    with pytest.raises(SymgenError) as error:
        symgen.load(text)
    assert message in str(error.value), str(error.value)
    assert "\n" not in str(error.value)


# -- SDF: a link with two parents ------------------------------------------------------------------

X_Y = (
    "<axis><xyz>0.6 0.8 0</xyz><limit><lower>-1</lower></limit>"
    "<dynamics><damping>2</damping></dynamics></axis>"
)
CROSS = "<axis><xyz>1 1 0</xyz></axis><axis2><xyz>-1 1 0</xyz></axis2>"
SDF_KINDS = {
    "revolute": ("revolute", X_Y),
    "continuous": ("revolute", X_Y),
    "prismatic": ("prismatic", X_Y),
    "ball": ("spherical", ""),
    "fixed": ("weld", ""),
    "universal": ("universal", CROSS),
}


def closed_sdf(kind: str, inside: str, *more: str, last: bool = True) -> str:
    """Return an SDF with links b and c on base a, link d on b, and joint `l` from c to d."""
    links = [
        sdf.link(name, f"<pose>{pose}</pose>")
        for name, pose in (
            ("a", "0 0 0 0 0 0"),
            ("b", "1 0 0 0.1 0.2 0.3"),
            ("c", "0 1 0 0.3 0 0.1"),
            ("d", "1 1 0.5 0 0.7 0"),
        )
    ]
    closing = sdf.joint("l", "c", "d", "<pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>" + inside, kind)
    seat = "<pose>0.3 0 0.1 0.2 0 0.4</pose><axis><xyz>0 0 1</xyz></axis>"
    carries = sdf.joint("k", "b", "d", seat)
    order = (carries, closing) if last else (closing, carries)
    return sdf.model(
        *links, sdf.joint("i", "a", "b", seat), sdf.joint("j", "a", "c", seat), *order, *more
    )


def loop_end_poses(
    m: Mechanism, k: int = 0, q: np.ndarray | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (R, p) of both ends of loop `k` in the base, by default at zero coordinates."""
    poses = []
    for end in (m.loops[k].first, m.loops[k].second):
        framed = replace(m, frames=(*m.frames, Frame("end of a loop", end.body, end.pose)))
        R, p = Reference(framed, frame="end of a loop").forward_kinematics(
            np.zeros(m.nq) if q is None else q
        )
        poses.append((np.array(R, dtype=float), np.array(p, dtype=float)))
    return poses


@pytest.mark.parametrize("kind", SDF_KINDS)
def test_a_second_parent_of_an_sdf_link_closes_a_loop_at_the_pose_of_its_joint(kind: str) -> None:
    ours, inside = SDF_KINDS[kind]
    m = symgen.load(closed_sdf(kind, inside))
    assert [joint.name for joint in m.joints] == ["i", "j", "k"]
    assert [(loop.name, loop.kind) for loop in m.loops] == [("l", ours)]
    (R, p), (S, r) = loop_end_poses(m)
    assert np.abs(p - r).max() < 1e-15
    drawn = pose_matrix(pose((F(1), F(1), F("0.5")), (Angle(), Angle(F("0.7")), Angle())))
    drawn = drawn @ pose_matrix(
        pose((F("0.1"), F("0.2"), F("0.3")), (Angle(F("0.4")), Angle(F("0.5")), Angle(F("0.6"))))
    )
    assert np.abs(p - drawn[:3, 3]).max() < 1e-15
    along = drawn[:3, :3]
    if ours == "universal":
        assert np.abs(R[:, 0] - along @ [0.5**0.5, 0.5**0.5, 0]).max() < 1e-15
        assert np.abs(S[:, 1] - along @ [-(0.5**0.5), 0.5**0.5, 0]).max() < 1e-15
    else:
        assert np.abs(R - S).max() < 1e-15
        assert np.abs(R[:, 2] - along @ ([0.6, 0.8, 0] if inside else [0, 0, 1])).max() < 1e-15
    assert symgen.load(to_toml(m)).loops == m.loops


def test_the_joint_declared_later_closes_the_loop() -> None:
    m = symgen.load(closed_sdf("fixed", "", last=False))
    assert (
        [loop.name for loop in m.loops],
        [frame.body for frame in m.frames if frame.name == "d"],
    ) == (["k"], [1])


def test_a_note_says_what_an_sdf_joint_loses_by_closing_a_loop() -> None:
    def notes_on_loops(kind: str, inside: str, *more: str) -> list[str]:
        return [
            text
            for text in notes(symgen.load(closed_sdf(kind, inside, *more), mimic="couple"))
            if "loop" in text
        ]

    assert notes_on_loops("revolute", X_Y) == [
        "joint l closes a loop and has no coordinate, since joint k already moves link d; left out:"
        " damping, limits"
    ]
    mimic = '<axis><xyz>0 0 1</xyz><mimic joint="{}"><multiplier>2</multiplier></mimic></axis>'
    assert notes_on_loops("revolute", mimic.format("i")) == [
        "the coupling of joint l to joint i is left out: joint l closes a loop"
    ]
    follower = sdf.link("e"), sdf.joint("m", "d", "e", mimic.format("l"))
    assert notes_on_loops("revolute", "", *follower) == [
        "the coupling of joint m to joint l is left out: joint l closes a loop"
    ]


def test_a_loop_of_an_sdf_may_be_closed_by_the_world() -> None:
    m = symgen.load(
        closed_sdf(
            "ball",
            "",
            sdf.joint("w", "world", "a", kind="fixed"),
            sdf.joint("x", "world", "d", kind="ball"),
        )
    )
    assert [(loop.name, loop.first.body) for loop in m.loops] == [("l", 1), ("x", -1)]
    assert all(
        np.abs(loop_end_poses(m, k)[0][1] - loop_end_poses(m, k)[1][1]).max() < 1e-15
        for k in range(2)
    )


# -- loops declared in Python, shown and converted -------------------------------------------------


def scissors() -> symgen.Robot:
    arm = symgen.Robot("scissors").body("a", parent="base", type="revolute", axis=(0, 0, 1), mass=1)
    arms = arm.body("b", parent="base", type="revolute", axis=(0, 0, 1), xyz=(1, 0, 0), mass=1)
    return arms.frame("eye", "b", xyz=(0, 1, 0))


def test_a_loop_declared_in_python_equals_the_loop_declared_in_toml() -> None:
    text = symgen.load(
        'name = "scissors"\nstart = { a_joint = "pi/3" }\n'
        + body("a", "base").replace(", xyz = [1, 0, 0]", "")
        + body("b", "base")
        + '[[frame]]\nname = "eye"\nbody = "b"\nxyz = [0, 1, 0]\n'
        '[[loop]]\nname = "rod"\ntype = "distance"\ndistance = 0.5\n'
        'first = { link = "a", xyz = [0.5, 0, 0] }\n'
        'second = { link = "eye", steps = ['
        "{ shift = [0, 0, 1] }, { quaternion = [1, 2, 0, 0] }] }\n"
        '[[loop]]\nname = "w"\ntype = "weld"\nfirst = { link = "b" }\n'
        'second = { link = "base", xyz = [1, 2, 3], rpy = ["pi/2", 0, 0] }\n'
    )
    builder = scissors().loop(
        "rod",
        "distance",
        first=("a", (0.5, 0, 0)),
        distance=0.5,
        second={"link": "eye", "xyz": (0, 0, 1), "quaternion": (1, 2, 0, 0)},
    )
    builder = builder.loop(
        "w", "weld", first="b", second=("base", np.array([1, 2, 3]), ("pi/2", 0, 0))
    ).start({"a_joint": "pi/3"})
    assert builder.build().content == text.content


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        (
            {"type": "hinge", "first": "a", "second": "b"},
            "robot 'scissors': loop 'x': type: 'hinge' is not a type of loop closure",
        ),
        ({"type": "weld", "first": None, "second": "b"}, "loop 'x': the key 'first' is missing"),
        ({"type": "weld", "first": 1, "second": "b"}, "loop 'x': first.link: '1' is not a string"),
        (
            {"type": "weld", "first": ("a", 0, 0, 0), "second": "b"},
            "has 4 entries; give link, xyz, rpy",
        ),
        (
            {
                "type": "weld",
                "first": "a",
                "second": {"link": "b", "rpy": (0, 0, 0), "quaternion": (1, 0, 0, 0)},
            },
            "rpy and quaternion both give its pose",
        ),
        (
            {"type": "weld", "first": "a", "second": "b", "distance": 1},
            "the key 'distance' is not known here",
        ),
    ],
)
def test_the_call_with_a_faulty_loop_raises(loop: dict[str, Any], message: str) -> None:
    with pytest.raises(SymgenError) as error:
        scissors().loop("x", **loop)
    assert message in str(error.value)


def test_a_link_at_the_end_of_a_loop_may_be_named_quaternion() -> None:
    loop_ends = ("quaternion", ("quaternion", (0, 1, 0)), {"link": "quaternion"})
    robot = scissors().frame("quaternion", "b")
    for number, end in enumerate(loop_ends):
        robot.loop(f"w{number}", "weld", first="a", second=end)
    assert [loop.second.body for loop in robot.build().loops] == [1, 1, 1]


def test_a_refused_start_leaves_the_robot_unchanged() -> None:
    robot = scissors().loop("w", "weld", first="a", second="eye").start(a_joint=1)
    with pytest.raises(SymgenError, match="start: a_joint: 'x' is not an angle"):
        robot.start(a_joint="x")
    assert robot.build().start == (("a_joint", (F(1),)),)


def closed() -> Mechanism:
    robot = scissors().loop("rod", "distance", first="a", second="b", distance=0.5)
    return (
        robot.loop("pin", "spherical", first=("a", (1, 0, 0)), second="base")
        .loop(
            "w",
            "weld",
            first=("a", (0, 1, 0), (0.1, 0.2, 0.3)),
            second=("b", (2, 0, 0), (0.3, 0, 0)),
        )
        .start(b_joint=0.25)
        .build()
    )


@pytest.mark.slow
def test_loops_are_shown() -> None:
    lines = [
        "loop rod: distance from a to b, distance 0.5",
        "loop pin: spherical from a to base",
        "loop w: weld from a to b",
    ]
    m = closed()
    assert "2 joints, 3 loops, 2 kg moving" in repr(m)
    assert all(f"<p>{line}</p>" in m._repr_html_() for line in lines)
    assert "\n".join([*lines, "closing starts at b_joint 0.25"]) in show(m)
    assert draw(m).loops == tuple(lines)
    assert facts(m)["loops"][0] == {
        "name": "rod",
        "type": "distance",
        "first": "a",
        "second": "b",
        "parameters": {"distance": 0.5},
    }
    assert "loop" not in repr(scissors().build()) + show(scissors().build()) + "".join(
        facts(scissors().build())
    )


@pytest.mark.slow
def test_the_manifest_lists_the_loops_of_a_closed_chain_only(tmp_path: Path) -> None:
    for name, m in (("closed", closed()), ("open", scissors().build())):
        symgen.generate(m, tmp_path / name, ["gravity_force"])
        manifest = json.loads((tmp_path / name / "manifest.json").read_text())
        assert manifest.get("loops") == facts(m).get("loops")
        assert symgen.load(tmp_path / name).content == m.content


def test_a_converted_robot_keeps_the_loops_that_its_format_can_represent(tmp_path: Path) -> None:
    m = closed()
    assert symgen.convert(m, tmp_path / "r.toml") == ()
    assert symgen.load(tmp_path / "r.toml").content == m.content
    assert "loops are left out, which URDF cannot represent: rod, pin, w" in symgen.convert(
        m, tmp_path / "r.urdf"
    )
    left_out = symgen.convert(m, tmp_path / "r.xml")
    assert left_out[-2:] == (
        "loops are left out, since MuJoCo can only connect points and weld bodies: rod",
        "loops that MuJoCo's solver enforces softly: pin, w",
    )
    read_back = symgen.load(tmp_path / "r.xml")
    assert (read_back.start, [(loop.name, loop.kind) for loop in read_back.loops]) == (
        m.start,
        [("pin", "point"), ("w", "weld")],
    )
    assert [frame.name for frame in read_back.frames if "pin" in frame.name] == [
        "pin_first",
        "pin_second",
    ]  # the sites at its ends are frames
    for k in range(2):
        for (R, p), (S, r) in zip(
            loop_end_poses(m, k + 1), loop_end_poses(read_back, k), strict=True
        ):
            assert max(np.abs(R - S).max(), np.abs(p - r).max()) < 1e-15


def test_changed_parameters_coupling_or_base_keep_the_loops() -> None:
    m = closed()
    assert adjust_mechanism(m, {"a.mass": [F(7)]}).loops == m.loops
    free = symgen.load(to_toml(m), base="free")
    assert [(loop.first.body, loop.second.body) for loop in free.loops] == [
        (1, 2),
        (1, 0),
        (1, 2),
    ]  # the free base is body 0
    assert free.start == m.start
    follow = to_toml(m).replace(
        'name = "b_joint"', 'name = "b_joint"\nmimic = { joint = "a_joint" }'
    )
    coupled = symgen.load(follow, mimic="couple")
    assert (coupled.nq, coupled.loops, coupled.uncoupled.loops) == (1, m.loops, m.loops)
    assert coupled.start_position == (0,)


# -- the built-in closed chains --------------------------------------------------------------------

CLOSED = tuple(name for name in builtin_robots() if name not in OPEN)


def closure_error(m: Mechanism, k: int) -> float:
    """Return the largest closure residual (m or 1) of loop `k` at the start position."""
    q = np.array([float(x) for x in m.start_position])
    (R, p), (S, r) = loop_end_poses(m, k, q)
    shift, turn = R.T @ (r - p), R.T @ S
    residual: dict[type, Callable[[Any], float]] = {
        Along: lambda row: shift[row.axis],
        Across: lambda row: turn[row.first, row.second],
        Unspun: lambda row: 0.0,
        Apart: lambda row: (
            (shift @ shift - float(dict(m.loops[k].parameters)["distance"]) ** 2) / 2
        ),
    }
    return max(abs(residual[type(row)](row)) for row in m.loops[k].type.rows)


@pytest.mark.parametrize("name", CLOSED)
def test_every_built_in_closed_chain_nearly_closes_at_its_start_position(name: str) -> None:
    m = symgen.load(name)
    assert max(closure_error(m, k) for k in range(len(m.loops))) < (
        1e-15 if name == "bennett" else 1e-4
    )
    for joint, values in m.start:
        limits = m.joints[m.joint_index(joint)].limits
        assert (
            limits.lower is None or limits.upper is None or limits.lower < values[0] < limits.upper
        )
    again = symgen.load(to_toml(m))
    assert (again, again.notes) == (m, m.notes)


def test_the_built_in_closed_chains_have_these_velocities_and_loops() -> None:
    chains = {
        name: (symgen.load(name).nv, [loop.kind for loop in symgen.load(name).loops])
        for name in CLOSED
    }
    assert chains == {
        "bennett": (3, ["revolute"]),
        "four_bar": (3, ["revolute"]),
        "slider_crank": (3, ["revolute"]),
        "stewart": (24, ["spherical"] * 6),
        "two_pandas_bar": (14, ["weld"]),
    }


def test_the_bennett_linkage_stays_closed_along_its_motion() -> None:
    """tan(θ₁/2) tan(θ₂/2) = sin((β + α)/2) / sin((β − α)/2); opposite angles differ in sign."""
    m = symgen.load("bennett")
    for angle in (0.3, 1.1, 2.5):
        opposite = 2 * math.atan(
            math.sin(math.pi / 3) / math.sin(math.pi / 6) / math.tan(angle / 2)
        )
        displaced = replace(
            m,
            start=tuple(
                (f"joint{k}", (F(x),)) for k, x in enumerate((angle, opposite, -angle), start=1)
            ),
        )
        assert closure_error(displaced, 0) < 1e-15
        assert (
            closure_error(
                replace(
                    displaced, start=(*displaced.start[:2], ("joint3", (F(-angle) + F(1, 100),)))
                ),
                0,
            )
            > 1e-3
        )
