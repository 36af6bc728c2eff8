"""Text and facts of `symgen show`: a line for each joint, part, drive, frame, cut to the page."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import symgen
from symgen.mechanism.mechanism import Body, Limits, Mechanism, Part
from symgen.mechanism.notes import KINDS, Note
from symgen.pages.report import show as module
from symgen.pages.report.show import FIRST, LAST, LONGEST, WIDTH, facts, show
from symgen.support.errors import MechanismError
from symgen.vocabulary.poses import Angle, Rotate, Shift, Slide, Turn
from tests.shared.bars import chain_of_bars, pendulum
from tests.shared.descriptions import pose_matrix


@cache
def tree_of_joints() -> Mechanism:
    """Build a robot with a branch, joints of three types, and one-sided and two-sided ranges."""
    robot = symgen.Robot("forked", gravity=(0, "-1.5", 0), base="floor")
    robot.body(
        "trunk", parent="floor", type="prismatic", axis=(0, 0, -1), mass=2, limits=(-1, "0.5")
    )
    robot.body(
        "left",
        parent="trunk",
        type="revolute",
        axis=(1, 0, 0),
        mass="0.25",
        centre=(0, "0.125", 0),
        limits={"lower": "-0.75", "velocity": 3, "effort": 7},
    )
    robot.body(
        "finger",
        parent="left",
        type="helical",
        axis=(3, 0, 4),
        pitch="0.02",
        mass=1,
        centre=("0.5", 0, 0),
        inertia=(2, "0.5", 0, 3, 0, 4),
    )
    robot.body(
        "right", parent="trunk", type="continuous", axis=(0, 1, 0), mass="0.5", centre=(1, 0, 0)
    )
    return robot.build()


def lines_of(mechanism: Mechanism, uncut: bool = False) -> list[str]:
    return show(mechanism, uncut).splitlines()


def test_the_first_lines_count_joints_and_sum_the_masses_that_move() -> None:
    lines = lines_of(tree_of_joints())
    assert lines[0] == "forked: 4 joints, 3.75 kg moving, gravity (0, -1.5, 0) m/s²"
    assert lines[1] == ""
    named = lines_of(replace(tree_of_joints(), source="a drawing"))
    assert named[:3] == [lines[0], "from a drawing", ""]


def test_the_tree_has_a_line_for_each_joint_with_type_axis_range_and_mass() -> None:
    table = [re.split(r"  +", line.rstrip()) for line in lines_of(tree_of_joints())[2:7]]
    assert table == [
        ["floor", "base", "0 kg"],
        ["0 trunk_joint → trunk", "prismatic -z", "-1 … 0.5 m", "2 kg"],
        ["├─1 left_joint → left", "revolute x", "-0.75 …", "rad", "0.25 kg"],  # no upper limit
        ["│ 2 finger_joint → finger", "helical (3, 0, 4), pitch 0.02", "no limits", "1 kg"],
        ["└─3 right_joint → right", "continuous y", "unlimited", "0.5 kg"],
    ]


def test_masses_are_at_the_right_and_every_column_begins_below_its_heading() -> None:
    tree = lines_of(tree_of_joints())[2:7]
    assert len({len(line) for line in tree}) == 1
    assert (
        len(
            {
                line.index(kind)
                for line, kind in zip(
                    tree, ("base", "prism", "revol", "helic", "conti"), strict=True
                )
            }
        )
        == 1
    )


def test_children_below_a_branch_are_connected_to_their_parent() -> None:
    """A grandchild behind the last child has no vertical line before it."""
    robot = symgen.Robot("r")
    for name, parent in (("a", "base"), ("b", "base"), ("c", "b"), ("d", "b"), ("e", "a")):
        robot.body(name, parent=parent, type="revolute", axis=(0, 0, 1), mass=1, centre=(1, 0, 0))
    drawn = [
        (prefix, robot.build().bodies[i].name) for prefix, i in module._branches(robot.build())
    ]
    assert drawn == [("├─", "a"), ("│ ", "e"), ("└─", "b"), ("  ├─", "c"), ("  └─", "d")]


def test_numbers_of_joints_are_aligned_if_there_are_more_than_ten() -> None:
    lines = module._tree(symgen.load("planar_point_mass:11"), uncut=False)
    assert lines[1].startswith(" 0 joint1 ")
    assert lines[11].startswith("10 joint11 ")
    assert module._tree(symgen.load("planar_point_mass:10"), uncut=False)[1].startswith("0 joint1 ")


def test_long_names_are_cut_to_the_page_unless_the_text_is_uncut() -> None:
    long = "x" * 120
    robot = chain_of_bars(1)
    robot.body(long, parent="bar0", type="revolute", axis=(0, 0, 1), mass=1, centre=(1, 0, 0))
    mechanism = robot.build()
    row = next(line for line in lines_of(mechanism) if line.startswith("1 "))
    assert len(row) == WIDTH
    assert re.search("x…  revolute z  no limits  +1 kg$", row)
    assert max(map(len, lines_of(mechanism))) <= WIDTH
    whole = lines_of(mechanism, uncut=True)
    assert any(line.startswith(f"1 {long}_joint → {long}  revolute z") for line in whole)
    inertias = next(line for line in whole if line.startswith("inertias"))
    part = next(line for line in whole if line.startswith(long))
    assert part[len(long) + 1 :].split()[:4] == ["1", "1.0000", "0.0000", "0.0000"]
    assert len(part) == len(inertias)


def test_a_text_is_cut_only_if_it_is_longer_than_the_width() -> None:
    assert module._cut("abcd", 4) == "abcd"
    assert module._cut("abcde", 4) == "abc…"


def test_a_short_name_has_at_least_twenty_columns() -> None:
    (base, joint) = module._tree(pendulum(), uncut=False)
    assert joint.index("revolute") == base.index("base", 10) == 22


@pytest.mark.parametrize("count", [LONGEST, LONGEST + 1])
def test_a_list_is_shortened_to_its_ends_if_it_has_too_many_lines(count: int) -> None:
    lines = [str(k) for k in range(count)]
    shown = module._shortened(lines, "  ")
    if count == LONGEST:
        assert shown == lines
    else:
        omitted = count - FIRST - LAST
        assert shown == [
            *lines[:FIRST],
            f"  … {omitted} more lines, and --json has all …",
            *lines[-LAST:],
        ]


def part_at(*moments: Any, pose: tuple[Any, ...] = (), mass: Any = 1) -> Part:
    numbers = tuple(map(Fraction, moments)) if moments else (Fraction(0),) * 6
    return Part("p", pose, Fraction(mass), numbers)  # type: ignore[arg-type]


def inertias_of(*parts: Part) -> list[str]:
    mechanism = pendulum()
    body = replace(mechanism.bodies[0], parts=parts)
    return module._inertias(replace(mechanism, bodies=(body,)), 12)[1:]


def test_a_part_has_its_mass_its_centre_and_its_moments() -> None:
    centre = (Shift((Fraction(1, 4), Fraction(-2), Fraction(1500))),)
    (line,) = inertias_of(part_at(1, 0, 0, 2, 0, 3, pose=centre, mass="0.125"))
    assert line.split() == [
        "p",
        "on",
        "bob",
        "0.125",
        "0.2500",
        "-2.0000",
        "1.5e+03",
        "1",
        "2",
        "3",
    ]
    (just_below,) = inertias_of(
        part_at(pose=(Shift((Fraction("999.9"), Fraction(0), Fraction(-1000))),))
    )
    assert just_below.split()[4:7] == ["999.9000", "0.0000", "-1.0e+03"]


def test_products_of_inertia_are_on_a_second_line_below_the_moments() -> None:
    for k, name in ((1, "Ixy"), (2, "Ixz"), (4, "Iyz")):
        moments = [5, 0, 0, 6, 0, 7]
        moments[k] = 2
        first, second = inertias_of(part_at(*moments))
        assert first.split()[-3:] == ["5", "6", "7"]
        *names, xy, xz, yz = second.split()
        assert names == ["Ixy", "Ixz", "Iyz"]
        assert {"Ixy": xy, "Ixz": xz, "Iyz": yz}[name] == "2"
        assert [xy, xz, yz].count("0") == 2
        assert len(first) == len(second)


def test_moments_in_turned_axes_are_marked() -> None:
    turned = (Turn((Fraction(0), Fraction(0), Fraction(1)), Angle(pi=Fraction(1, 4))),)
    _, second = inertias_of(part_at(1, 0, 0, 2, 0, 3, pose=turned))
    assert second == "    moments in axes of its own"
    _, second = inertias_of(part_at(1, 1, 0, 2, 0, 3, pose=turned))
    assert second.split("  ")[2] == "moments in axes of its own"
    whole = (Turn((Fraction(0), Fraction(0), Fraction(1)), Angle(pi=Fraction(2))),)
    assert len(inertias_of(part_at(1, 0, 0, 2, 0, 3, pose=whole))) == 1


def test_parts_without_mass_and_moments_are_left_out() -> None:
    assert inertias_of(part_at(mass=0)) == []
    assert len(inertias_of(part_at(mass=0), part_at(0, 0, 0, 0, 0, 1, mass=0), part_at())) == 2


def test_a_part_with_the_name_of_its_body_has_no_second_name() -> None:
    mechanism = pendulum()
    (body,) = mechanism.bodies
    assert module._part_name(body.parts[0], body) == "bob"
    assert module._part_name(replace(body.parts[0], link="tool"), body) == "  tool on bob"


def test_axes_have_names_or_three_digits() -> None:
    unit, zero = Fraction(1), Fraction(0)
    assert module._axis((zero, -unit, zero)) == "-y"
    assert module._axis((unit, zero, zero)) == "x"
    assert module._axis((unit / 3, Fraction("4e-4"), Fraction("-6e-4"))) == "(0.333, 0, -0.0006)"


def test_poses_are_products_of_their_steps() -> None:
    """The axes and the origin are those of the product of 4×4 matrices of the steps."""
    axis = (Fraction(2), Fraction(-1), Fraction(2))
    steps = (
        Shift((Fraction(1), Fraction(2), Fraction(3))),
        Turn(axis, Angle(pi=Fraction(1, 5))),
        Shift((Fraction(-1), Fraction(0), Fraction(5))),
        Rotate((Fraction(1), Fraction(2), Fraction(-3), Fraction(4))),
        Slide(axis, Fraction(7, 2)),
    )
    for count in range(len(steps) + 1):
        axes, origin = module._frame_at(steps[:count])
        expected = pose_matrix(steps[:count])
        assert [*origin] == pytest.approx([*expected[:3, 3]], abs=1e-12)
        for row, expected_row in zip(axes, expected[:3, :3], strict=True):
            assert [*row] == pytest.approx([*expected_row], abs=1e-12)


def test_an_identity_has_ones_on_its_diagonal_only() -> None:
    identity = tuple(tuple(float(i == j) for j in range(3)) for i in range(3))
    assert module._is_identity(identity)
    for i in range(3):
        for j in range(3):
            changed = [list(row) for row in identity]
            changed[i][j] += 2e-12
            assert not module._is_identity(tuple(map(tuple, changed)))
            changed[i][j] -= 1.5e-12
            assert module._is_identity(tuple(map(tuple, changed)))


# -- drives and frames -----------------------------------------------------------------------------


def driven(**numbers: Any) -> Mechanism:
    robot = symgen.Robot("r", friction_speed="0.125")
    gravcomp = numbers.pop("gravcomp", None)
    for name, figures in (("a", numbers), ("b", {})):
        robot.body(
            name,
            parent="base" if name == "a" else "a",
            type="revolute",
            axis=(0, 0, 1),
            mass=1,
            centre=(1, 0, 0),
            gravcomp=gravcomp if name == "b" else None,
            **figures,
        )
    return robot.build(drives="on")


def test_only_driven_joints_are_in_the_table_of_drives() -> None:
    lines = [*module._drives(driven(damping="0.5", armature=2), uncut=False)]
    assert lines[0].split()[:3] == ["drives", "(SI)", "armature"]
    assert lines[1].split() == ["a_joint", "2", "0.5", "0", "0", "0"]
    assert lines[1].startswith("a_joint ")
    assert lines[2:] == [""]
    with_friction = [*module._drives(driven(friction=3), uncut=False)]
    assert with_friction[2:] == ["friction is friction·v/√(v² + ε²) with ε = 0.125", ""]


def test_a_robot_without_drives_has_no_table_of_drives() -> None:
    assert [*module._drives(driven(), uncut=False)] == []
    assert [*module._drives(driven(gravcomp="0.5"), uncut=False)] == [
        "compensated fraction of the weight (gravcomp): 0.5 of b",
        "",
    ]


def test_facts_of_a_drive_are_the_declared_numbers() -> None:
    joints = facts(driven(damping="0.5", armature=2))["joints"]
    assert [joint["drive"] for joint in joints] == [{"armature": 2.0, "damping": 0.5}, {}]
    robot = symgen.Robot("r").body(
        "a",
        parent="base",
        type="cylindrical",
        axis=(0, 0, 1),
        mass=1,
        centre=(1, 0, 0),
        inertia=(1, 0, 0, 1, 0, 1),
        damping=("0.5", 2),
    )
    (drive,) = (joint["drive"] for joint in facts(robot.build(drives="on"))["joints"])
    assert drive == {"damping": [0.5, 2.0]}


def test_frames_are_listed_with_angles_in_degrees(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [*module._frames(tree_of_joints(), uncut=False)]
    assert lines[0].startswith("frames chosen (m, deg)  shift x")
    assert [line.split()[0] for line in lines[1:5]] == ["trunk", "left", "finger", "right"]
    assert lines[1].startswith("trunk ")
    kept = [" ".join(entry["kept"]) or "none" for entry in facts(tree_of_joints())["computed_in"]]
    assert [line[lines[0].index("parameters kept") :] for line in lines[1:5]] == kept
    assert len(set(kept)) > 1
    assert lines[-1].startswith("results refer to the declared frames")
    left = facts(tree_of_joints())["computed_in"][1]
    angles = [math.degrees(left[name]) for name in ("gamma", "alpha", "offset")]
    assert [float(x) for x in lines[2].split()[1:7]] == pytest.approx([*left["shift"], *angles])
    assert 90 in map(abs, angles)  # between the axes z and x
    assert not any("where a joint has no axis" in line for line in lines)
    monkeypatch.setattr(module, "_records", lambda _: ([ENTRY | NO_FRAME], {}))
    assert [*module._frames(pendulum(), uncut=False)][1].endswith(" none")


def test_numbers_too_extreme_for_frames_are_shown_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(mechanism: Mechanism) -> Any:
        raise MechanismError("its numbers are too large")

    monkeypatch.setattr(module, "layouts", refuse)
    assert [*module._frames(pendulum(), False)] == [
        "frames of the C: none, since its numbers are too large"
    ]
    described = facts(pendulum())
    assert (described["computed_in"], described["computed_in_by_function"]) == ([], {})


NO_FRAME = {"kept": [], "gamma": 0.0, "alpha": 0.0, "offset": 0.0}
ENTRY: dict[str, Any] = {"link": "b", "shift": [1.0, 0.0, 0.5], "written_in": "b", "kept": ["hx"]}


def test_links_in_axes_of_other_links_are_named() -> None:
    others = [ENTRY, ENTRY | {"link": "c"}, ENTRY | {"link": "d", "written_in": ""}]
    assert [*module._shared_axes(others)] == [
        "written in axes that other links share: c in those of b, d in those of the base"
    ]
    assert [*module._shared_axes([ENTRY])] == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shift": [0.0, 2.0, 0.0]}, "b at (0, 2, 0)"),
        ({"written_in": "a"}, "b in those of a"),
        ({"written_in": ""}, "b in those of the base"),
        ({"shift": [3.0, 2.0, 0.0], "written_in": "a"}, "b at (3, 2, 0) in those of a"),
        ({"kept": ["hy", "Sxx"]}, "b with hy Sxx"),
        ({"kept": []}, "b with nothing"),
    ],
)
def test_frames_of_one_function_are_described_by_what_differs(
    change: dict[str, Any], words: str
) -> None:
    single = {"f": [ENTRY, ENTRY | change]}
    assert [*module._frames_by_function([ENTRY, ENTRY], single)] == [
        f"f counts less in frames of its own: {words}"
    ]


def test_a_link_in_its_own_axes_for_one_function_is_named_so() -> None:
    assert module._otherwise(ENTRY | {"written_in": "a"}, ENTRY) == "b in its own axes"


# -- ranges, notes, facts --------------------------------------------------------------------------


def test_a_follower_shows_its_leader_instead_of_a_range() -> None:
    robot = chain_of_bars(2)
    robot.body(
        "c",
        parent="bar1",
        type="revolute",
        axis=(0, 0, 1),
        mass=1,
        centre=(1, 0, 0),
        mimic=("bar0_joint", 2, "0.5"),
    )
    coupled = robot.build(mimic="couple")
    assert module._range(coupled, 0) == "no limits"
    assert module._range(coupled, 2).startswith("= ")
    assert "bar0_joint" in module._range(coupled, 2)
    described = facts(coupled)["joints"]
    follows = {"joint": "bar0_joint", "multiplier": 2.0, "offset": 0.5}
    assert described[2]["follows"] == described[2]["mimic"] == follows
    assert "follows" not in described[0]
    assert described[0]["mimic"] is None


def test_a_range_may_have_one_end_only() -> None:
    (joint,) = pendulum().joints
    upper = replace(joint, limits=Limits(upper=Fraction(1)))
    assert module._range(replace(pendulum(), joints=(upper,)), 0) == " … 1 rad"


def test_a_joint_of_several_coordinates_has_no_range() -> None:
    ball = symgen.Robot("r").body(
        "a", parent="base", type="spherical", mass=1, inertia=(1, 0, 0, 1, 0, 1)
    )
    screw = symgen.Robot("r").body(
        "a", parent="base", type="cylindrical", axis=(0, 0, 1), mass=1, inertia=(1, 0, 0, 1, 0, 1)
    )
    for mechanism, words in ((ball.build(), "unlimited"), (screw.build(), "no limits")):
        (joint,) = mechanism.joints
        limited = replace(joint, limits=Limits(Fraction(-1), Fraction(1)))
        for each in (joint, limited):
            assert module._range(replace(mechanism, joints=(each,)), 0) == words
    assert len(facts(screw.build())["joints"][0]["q_names"]) == 2
    assert facts(ball.build())["joints"][0]["q_names"] == ["x", "y", "z", "w"]
    assert not {"q_names", "v_names"} & facts(pendulum())["joints"][0].keys()


def test_notes_are_listed_by_kind_with_their_number() -> None:
    notes = (
        Note("warning", "first warning"),
        Note("unapplied", "read and not applied: damping of x"),
        Note("info", "a remark"),
        Note("info", "another remark, which is different"),
    )
    text = show(replace(pendulum(), notes=notes))
    assert text.endswith(
        "\n\nRemarks (2)\n  a remark\n  another remark, which is different\n"
        "\nRead and not applied\n  damping of x\n"
        "\nWarnings\n  first warning\n"
    )
    assert module._TITLES.keys() == KINDS.keys()


def test_sentences_are_wrapped_at_the_page_and_broken_only_if_they_are_cut() -> None:
    words = "word " * 30
    lines = module._wrapped(words, False, "  ")
    assert len(lines) == 2
    assert lines[1].startswith("      word")
    assert max(map(len, lines)) <= WIDTH
    name = "x" * 150
    assert [len(line) for line in module._wrapped(name, False)] == [WIDTH, 54]
    assert module._wrapped(name, True) == [name]
    assert module._wrapped(f"{'a-b' * 40} c", True)[0] == "a-b" * 40


def test_facts_are_the_declared_numbers() -> None:
    described = facts(tree_of_joints())
    assert (described["robot"], described["nq"], described["nv"]) == ("forked", 4, 4)
    assert described["gravity"] == [0.0, -1.5, 0.0]
    assert described["base"] == "floor"
    left, finger = described["joints"][1:3]
    assert (left["name"], left["type"], left["parent"], left["child"]) == (
        "left_joint",
        "revolute",
        "trunk",
        "left",
    )
    assert left["limits"] == {"lower": -0.75, "upper": None, "velocity": 3.0, "effort": 7.0}
    assert (left["q"], left["v"]) == ([1, 1], [1, 1])
    assert left["axis"] == [1.0, 0.0, 0.0]
    assert left["parameters"] == {}
    assert finger["parameters"] == {"pitch": 0.02}
    assert described["joints"][0]["parent"] == "floor"
    assert [body["mass"] for body in described["bodies"]] == [2.0, 0.25, 1.0, 0.5]
    (part,) = described["bodies"][2]["parts"]
    assert part["centre"] == [0.5, 0.0, 0.0]
    assert part["axes"] == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert part["moments"] == [2.0, 0.5, 0.0, 3.0, 0.0, 4.0]
    assert "gravcomp" not in part
    assert facts(driven(gravcomp="0.5"))["bodies"][1]["parts"][0]["gravcomp"] == 0.5
    assert "loops" not in described


def test_facts_of_frames_name_their_body_or_the_base() -> None:
    robot = chain_of_bars(2).frame("tip", "bar1").frame("wall", "base")
    frames = {frame["name"]: frame for frame in facts(robot.build())["frames"]}
    assert (frames["tip"]["body"], frames["tip"]["body_index"]) == ("bar1", 1)
    assert (frames["wall"]["body"], frames["wall"]["body_index"]) == ("base", -1)


def test_loops_and_their_chosen_joints_are_listed() -> None:
    mechanism = symgen.load("four_bar")
    chosen = replace(mechanism, independent=("crank_joint",))
    lines = [*module._loops(chosen, False)]
    assert lines[0].startswith("loop closing: revolute from coupler to rocker")
    assert lines[1].startswith("closing starts at crank_joint 1.5708, ")
    assert lines[2:] == ["independent: crank_joint"]
    acting = replace(chosen, independent=(), actuated=("crank_joint", "rocker_joint"), start=())
    assert [*module._loops(acting, False)][1:] == ["actuated: crank_joint, rocker_joint"]
    described = facts(acting)
    assert described["actuated"] == ["crank_joint", "rocker_joint"]
    assert "independent" not in described
    assert [loop["name"] for loop in described["loops"]] == ["closing"]


def test_the_assembly_is_described_only_for_closed_loops() -> None:
    assert "Closing the loops" not in show(pendulum())
    text = show(symgen.load("four_bar"))
    assert text.partition("\n\nClosing the loops\n  ")[2].startswith(
        "the loops close at crank_joint"
    )


def test_a_robot_without_any_part_is_shown_whole() -> None:
    robot = symgen.load("planar_arm")
    bare = replace(robot, bodies=tuple(Body(body.name, ()) for body in robot.bodies))
    assert "planar_arm" in show(bare, uncut=True)
