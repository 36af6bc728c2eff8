"""Joints of an SDF: couplings by gearboxes, screws, limits, drives, universal joints and loops."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from symgen.description.loading import load
from symgen.description.quantities import Location
from symgen.description.readers.sdf import read
from symgen.description.snapping import Snapper
from symgen.description.tree import Connection, Tree
from symgen.support.errors import SymgenError
from symgen.vocabulary.poses import Z_AXIS, Angle, Rotate, Shift, Step, Turn, inverse
from tests.description.poses_in_floats import Matrix, rotation_about
from tests.shared.descriptions import pose_matrix
from tests.shared.sdf_texts import CROSS, A, joint, link, model

B, C = link("b", "<pose>1 0 0 0 0 0</pose>"), link("c", "<pose>0 2 0 0 0 0</pose>")
J, K = joint("j", "a", "b"), joint("k", "a", "c")
PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494")


def tree(*elements: str, version: str = "1.7") -> Tree:
    return read(model(*elements, version=version).encode(), "r.sdf", Snapper())


def connection(*elements: str, version: str = "1.7") -> Connection:
    return tree(A, B, *elements, version=version).connections[-1]


def revolute(inside: str, kind: str = "revolute") -> Connection:
    return connection(joint("j", "a", "b", f"<axis><xyz>0 0 1</xyz>{inside}</axis>", kind))


# -- gearboxes -------------------------------------------------------------------------------------


def gear(first: str, second: str, ratio: str = "3") -> str:
    text = f"<gearbox_ratio>{ratio}</gearbox_ratio>" if ratio else ""
    return joint(
        "g",
        "b",
        "c",
        f"{text}<gearbox_reference_body>a</gearbox_reference_body>"
        f"<axis><xyz>{first}</xyz></axis><axis2><xyz>{second}</xyz></axis2>",
        "gearbox",
    )


@pytest.mark.parametrize("signs", list(product((1, -1), repeat=4)))
def test_a_gearbox_couples_angles_about_its_own_axes(signs: tuple[int, ...]) -> None:
    """θ₂ = -ratio·θ₁, with θ₁ and θ₂ about the axes of the gearbox. An axis of a joint that is
    reversed, or a joint from the other end, counts the angle with the other sign.
    """
    j, first, k, second = signs
    joints = [
        joint(name, *ends, f"<axis><xyz>0 0 {sign}</xyz></axis>")
        for name, ends, sign in (("j", ("a", "b"), j), ("k", ("a", "c"), k))
    ]
    read_tree = tree(A, B, C, *joints, gear(f"0 0 {first}", f"0 0 {2 * second}"))
    follower = next(joint for joint in read_tree.connections if joint.name == "k")
    assert follower.mimic is not None
    # θ₁ = first·j·q_j and θ₂ = second·k·q_k
    assert follower.mimic.multiplier == -3 * first * j * second * k
    assert (follower.mimic.joint, follower.mimic.offset) == ("j", 0)


def test_a_joint_towards_the_reference_body_counts_backwards() -> None:
    backwards = joint("j", "b", "a")
    read_tree = tree(A, B, C, backwards, K, gear("0 0 1", "0 0 1"))
    follower = next(joint for joint in read_tree.connections if joint.name == "k")
    assert follower.mimic is not None
    assert follower.mimic.multiplier == 3
    without_ratio = tree(A, B, C, J, K, gear("0 0 1", "0 0 1", ""))
    (mimic,) = (joint.mimic for joint in without_ratio.connections if joint.mimic is not None)
    assert mimic.multiplier == -1


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        ((J, K, gear("0 1 0", "0 0 1")), "joint 'g': its axis differs from that of joint 'j'"),
        ((J, K, gear("0 0 1", "1 0 1")), "joint 'g': its axis differs from that of joint 'k'"),
        ((J, K, gear("0.001 0 1", "0 0 1")), "its axis differs from that of joint 'j'"),
        (
            (joint("j", "a", "b", kind="prismatic"), K, gear("0 0 1", "0 0 1")),
            "no revolute joint leads from its reference body 'a' to 'b'",
        ),
        (
            (J, joint("k", "b", "c"), gear("0 0 1", "0 0 1")),
            "no revolute joint leads from its reference body 'a' to 'c'",
        ),
    ],
)
def test_a_gearbox_without_hinges_of_its_axes_is_refused(
    elements: tuple[str, ...], message: str
) -> None:
    with pytest.raises(SymgenError, match=message):
        tree(A, B, C, *elements)


# -- screws ----------------------------------------------------------------------------------------


def test_the_pitch_of_a_screw_is_its_advance_per_rad() -> None:
    """A lead of 0.5 m per turn is 0.5/(2π) m/rad; a thread_pitch of 4 rad/m is left-handed."""

    def pitch(inside: str) -> Fraction:
        axis = "<axis><xyz>0 0 1</xyz></axis>"
        ((name, value),) = connection(joint("j", "a", "b", axis + inside, "screw")).parameters
        assert name == "pitch"
        return value

    lead = "<screw_thread_pitch>{}</screw_thread_pitch>"
    for metres in ("0.5", "-2"):
        exact = Fraction(metres) / (2 * PI)
        assert abs(pitch(lead.format(metres)) / exact - 1) < Fraction(1, 10**57)
    old = "<thread_pitch>{}</thread_pitch>"
    assert pitch(old.format("4")) == Fraction(-1, 4)
    assert pitch(old.format("-0.5")) == 2
    assert pitch(lead.format("1") + old.format("4")) == pitch(lead.format("1"))
    for inside, message in (
        ("", "a screw needs screw_thread_pitch or thread_pitch"),
        (lead.format("0"), "its pitch is zero; write a revolute joint"),
        (lead.format("0") + old.format("4"), "its pitch is zero; write a revolute joint"),
        (old.format("0"), "its pitch is zero; write a prismatic joint"),
        (old.format("1e-320"), "its pitch is beyond a double"),
    ):
        with pytest.raises(SymgenError, match=message):
            pitch(inside)


# -- limits, drives, leaders -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "limits"),
    [
        ("", (None, None, None, None)),
        ("<lower>-1</lower><upper>2</upper>", (-1, 2, None, None)),
        ("<velocity>3</velocity><effort>4</effort>", (None, None, 3, 4)),
        ("<velocity>-1</velocity><effort>-1</effort>", (None, None, None, None)),
        ("<velocity>0</velocity><effort>0</effort>", (None, None, 0, 0)),
        ("<lower>-1e16</lower><upper>1e16</upper>", (None, None, None, None)),
        ("<lower>-9e15</lower><upper>9e15</upper>", (-9 * 10**15, 9 * 10**15, None, None)),
        ("<lower>-inf</lower><upper> +Infinity</upper>", (None, None, None, None)),
        ("<upper>INF</upper><effort>inf</effort>", (None, None, None, None)),
    ],
)
def test_limits_are_numbers_of_ordinary_size(entries: str, limits: tuple[int | None, ...]) -> None:
    declared = revolute(f"<limit>{entries}</limit>").limits
    assert (declared.lower, declared.upper, declared.velocity, declared.effort) == limits


def test_doubtful_limits_are_noted() -> None:
    def notes(entries: str) -> list[str]:
        axis = f"<axis><xyz>0 0 1</xyz><limit>{entries}</limit></axis>"
        warnings = tree(A, B, joint("j", "a", "b", axis)).notes
        return [note.text.partition("limit: ")[2] for note in warnings if note.kind == "warning"]

    assert notes("<lower>1</lower><upper>2</upper>") == []
    assert notes("<lower>2</lower><upper>2</upper>") == []
    assert notes("<lower>3</lower><upper>2.5</upper>") == [
        "the lower limit 3 is above the upper one, 2.5"
    ]
    assert notes("<upper>x</upper>") == ["upper: 'x' is not a number; read as no limit"]
    assert notes("<upper/>") == ["upper: '' is not a number; read as no limit"]
    assert notes("<lower>-INF</lower><upper> +infinity</upper>") == []


def test_a_spring_without_stiffness_has_no_rest_position() -> None:
    spring = "<spring_stiffness>{}</spring_stiffness><spring_reference>0.5</spring_reference>"
    for stiffness, rest in (("2", Fraction(1, 2)), ("0", 0)):
        drive = revolute(f"<dynamics>{spring.format(stiffness)}</dynamics>").drive
        assert (drive.stiffness, drive.rest) == (Fraction(stiffness), rest)
    drive = revolute("<dynamics><damping>1</damping><friction>2</friction></dynamics>").drive
    assert drive.declared == (("damping", 1), ("friction", 2))
    assert not revolute("").drive


def test_a_ball_applies_no_drive_of_an_axis() -> None:
    axis = "<axis><xyz>0 0 1</xyz><dynamics><damping>3</damping></dynamics></axis>"
    ball = connection(joint("j", "a", "b", axis, "ball"))
    assert (ball.kind, ball.unapplied, bool(ball.drive)) == ("spherical", (("damping", 3),), False)
    assert connection(joint("j", "a", "b", axis)).unapplied == ()


def test_a_follower_has_a_multiplier_and_an_offset() -> None:
    """position = multiplier·(leader - reference) + offset."""

    def mimic(attributes: str, entries: str, leader: str = J) -> Connection:
        follows = f"<axis><xyz>0 0 1</xyz><mimic {attributes}>{entries}</mimic></axis>"
        return tree(A, B, C, leader, joint("k", "a", "c", follows)).connections[-1]

    full = "<multiplier>-2</multiplier><offset>0.5</offset><reference>3</reference>"
    for entries, multiplier, offset in (
        ("", 1, 0),
        ("<multiplier>-2</multiplier>", -2, 0),
        ("<offset>0.5</offset>", 1, Fraction(1, 2)),
        ("<reference>3</reference>", 1, -3),
        (full, -2, Fraction(13, 2)),
        ("<multiplier>0</multiplier><offset>1</offset>", 0, 1),
    ):
        relation = mimic('joint="j"', entries).mimic
        assert relation is not None
        assert (relation.joint, relation.multiplier, relation.offset) == ("j", multiplier, offset)
    universal = joint("j", "a", "b", CROSS, "universal")
    for axis, name in (("axis", "j_1"), ("axis2", "j_2")):
        relation = mimic(f'joint="j" axis="{axis}"', "", universal).mimic
        assert relation is not None
        assert relation.joint == name
    for attributes, message in (
        (
            'joint="j" axis="axis2"',
            "'j' is not a joint with the element <axis2>; name a declared joint",
        ),
        ('joint="a"', "'a' is not a joint with the element <axis>"),
        ('joint="lost"', "'lost' is not a link, joint, frame or model here"),
        ('joint="j" axis="z"', "'z' is not an axis; write axis or axis2"),
        ("", "the attribute 'joint' is missing"),
    ):
        with pytest.raises(SymgenError, match=message):
            mimic(attributes, "")
    huge = "<multiplier>1e300</multiplier><reference>1e300</reference>"
    with pytest.raises(SymgenError, match="its offset minus multiplier times reference is beyond"):
        mimic('joint="j"', huge)


# -- frames of axes --------------------------------------------------------------------------------


@pytest.mark.parametrize("minor", range(4, 13))
def test_the_frame_of_an_axis_depends_on_the_version(minor: int) -> None:
    """Up to 1.4 an axis is given in the model, later in the joint; up to 1.6 a flag could choose
    the model.
    """
    turned = link("b", "<pose>0 0 0 0 0 0.5</pose>")
    back = Turn(Z_AXIS, Angle(radians=Fraction(-1, 2)))
    flag = "<use_parent_model_frame>{}</use_parent_model_frame>"

    def way_back(axis: str) -> object:
        text = model(A, turned, joint("j", "a", "b", axis), version=f"1.{minor}")
        return read(text.encode(), "r.sdf", Snapper()).links[-1].frame

    in_model = inverse((back,))
    for axis in ("", "<axis/>", "<axis><xyz>1 0 0</xyz></axis>"):
        assert way_back(axis) == (in_model if minor < 5 else ())
    in_flag = f"<axis><xyz>1 0 0</xyz>{flag.format(0)}</axis>"
    assert way_back(in_flag) == (in_model if minor < 5 else ())
    in_flag = f"<axis><xyz>1 0 0</xyz>{flag.format(1)}</axis>"
    if minor < 7:
        assert way_back(in_flag) == in_model
    else:
        with pytest.raises(SymgenError, match="use_parent_model_frame exists only up to"):
            way_back(in_flag)


def test_parallel_axes_of_a_universal_joint_are_refused() -> None:
    """Axes count as parallel within an angle of √2·10⁻⁴·⁵ = 4.5e-5."""

    def universal(first: str, second: str) -> list[Connection]:
        axes = f"<axis><xyz>{first}</xyz></axis><axis2><xyz>{second}</xyz></axis2>"
        return list(tree(A, B, joint("j", "a", "b", axes, "universal")).connections)

    for second in ("0 0 -3", "4e-5 0 1", "0 -4e-5 -1"):
        with pytest.raises(SymgenError, match="its two axes are parallel; give two directions"):
            universal("0 0 1", second)
    for second in ("1 0 0", "5e-5 0 1", "0 -5e-5 -1", "0 1 1"):
        hinges = universal("0 0 2", second)
        assert [hinge.axis for hinge in hinges] == [
            (0, 0, 2),
            tuple(map(Fraction, second.split())),
        ]
        assert hinges[1].pose == ()


@pytest.mark.parametrize("reverse", [False, True])
def test_the_second_axis_of_a_universal_joint_is_turned_to_the_first(reverse: bool) -> None:
    """The second hinge is seated in the frame of its axis, at the origin of the joint."""
    frames = (
        '<frame name="f" attached_to="a"><pose>1 2 3 0.1 0.2 0.3</pose></frame>'
        '<frame name="g" attached_to="a"><pose>4 5 6 0.4 -0.5 0.6</pose></frame>'
    )
    names = ("g", "f") if reverse else ("f", "g")
    axes = "".join(
        f'<{axis}><xyz expressed_in="{name}">{xyz}</xyz></{axis}>'
        for axis, name, xyz in zip(("axis", "axis2"), names, ("1 0 0", "0 1 0"), strict=True)
    )
    first, second = tree(A, B, frames, joint("j", "a", "b", axes, "universal")).connections
    x, y, z = np.eye(3)

    def turn(roll: float, pitch: float, yaw: float) -> Matrix:
        return rotation_about(z, yaw) @ rotation_about(y, pitch) @ rotation_about(x, roll)

    turns = {"f": turn(0.1, 0.2, 0.3), "g": turn(0.4, -0.5, 0.6)}
    expected = turns[names[0]].T @ turns[names[1]]
    assert np.abs(pose_matrix(second.pose)[:3, :3] - expected).max() < 1e-14
    assert np.abs(pose_matrix(second.pose)[:3, 3]).max() < 1e-15
    assert np.abs(pose_matrix(first.pose)[:3, :3] - turns[names[0]]).max() < 1e-14
    assert np.abs(pose_matrix(first.pose)[:3, 3] - [1, 0, 0]).max() < 1e-15


# -- loops -----------------------------------------------------------------------------------------

CLOSING = "<pose>0.1 0.2 0.3 0.4 0 0</pose>"


def loop(inside: str, kind: str) -> Tree:
    closing = joint("l", "b", "c", CLOSING + inside, kind)
    return tree(A, B, C, J, K, closing)


@pytest.mark.parametrize("xyz", ["0 0 1", "1 2 2", "0 0 -1"])
@pytest.mark.parametrize(
    ("kind", "closure"),
    [("revolute", "revolute"), ("continuous", "revolute"), ("prismatic", "prismatic")],
)
def test_both_ends_of_a_loop_are_the_frame_of_its_joint(xyz: str, kind: str, closure: str) -> None:
    """Both links are at their joints, so that each end is the joint's pose in the link, with z
    along the axis.
    """
    (closed,) = loop(f"<axis><xyz>{xyz}</xyz></axis>", kind).loops
    assert closed.kind == closure
    in_c = np.eye(4)
    in_c[:3, :3] = rotation_about([1, 0, 0], 0.4)
    in_c[:3, 3] = [0.1, 0.2, 0.3]
    in_b = in_c.copy()
    in_b[:3, 3] += [-1, 2, 0]  # from b at (1, 0, 0) to c at (0, 2, 0)
    axis = np.array([float(word) for word in xyz.split()])
    for end, link_name, expected in ((closed.first, "b", in_b), (closed.second, "c", in_c)):
        assert end.link == link_name
        matrix = pose_matrix(end.pose)
        assert np.abs(matrix[:3, 3] - expected[:3, 3]).max() < 1e-14
        direction = expected[:3, :3] @ axis / np.linalg.norm(axis)
        assert np.abs(matrix[:3, 2] - direction).max() < 1e-14


def test_the_ends_of_a_universal_loop_have_x_and_y_along_their_axes() -> None:
    axes = "<axis><xyz>0 0 2</xyz></axis><axis2><xyz>{}</xyz></axis2>"
    (closed,) = loop(axes.format("0 3 0"), "universal").loops
    assert closed.kind == "universal"
    turn = rotation_about([1, 0, 0], 0.4)
    assert np.abs(pose_matrix(closed.first.pose)[:3, 0] - turn @ [0, 0, 1]).max() < 1e-14
    assert np.abs(pose_matrix(closed.second.pose)[:3, 1] - turn @ [0, 1, 0]).max() < 1e-14
    assert loop(axes.format("0 1 1e-10"), "universal").loops
    for second in ("0 1 1e-8", "0 -1 -1e-8"):
        with pytest.raises(SymgenError, match="it closes a loop, but its two axes are not perpend"):
            loop(axes.format(second), "universal")


def test_loops_of_balls_and_welds_have_the_axes_of_their_joint() -> None:
    for kind, closure in (("ball", "spherical"), ("fixed", "weld")):
        (closed,) = loop("", kind).loops
        assert closed.kind == closure
        assert closed.second.pose == (
            Shift((Fraction("0.1"), Fraction("0.2"), Fraction("0.3"))),
            Turn((Fraction(1), Fraction(0), Fraction(0)), Angle(radians=Fraction("0.4"))),
        )
    with pytest.raises(SymgenError, match="it closes a loop, since link 'c' already has a parent"):
        loop("<axis><xyz>0 0 1</xyz></axis><thread_pitch>1</thread_pitch>", "screw")


def test_a_note_names_what_a_closing_joint_loses() -> None:
    def note(axis: str) -> tuple[str, str]:
        notes = loop(f"<axis><xyz>0 0 1</xyz>{axis}</axis>", "revolute").notes
        (text,) = (note for note in notes if "closes a loop" in note.text)
        return text.kind, text.text.partition("link c")[2]

    dynamics = "<dynamics><damping>1</damping><friction>1</friction></dynamics>"
    limit = "<limit><lower>-1</lower></limit>"
    assert note("") == note("<limit/>") == ("info", "")
    assert note(dynamics) == ("warning", "; left out: damping, friction")
    assert note(limit) == ("warning", "; left out: limits")
    assert note(dynamics + limit) == ("warning", "; left out: damping, friction, limits")


def test_couplings_of_closing_joints_are_left_out_with_a_warning() -> None:
    follower = '<axis><xyz>0 0 1</xyz><mimic joint="{}"/></axis>'
    closing = joint("l", "b", "c", "<axis><xyz>0 0 1</xyz></axis>")
    of_leader = tree(A, B, C, joint("j", "a", "b", follower.format("l")), K, closing)
    message = "the coupling of joint j to joint l is left out: joint l closes a loop"
    assert message in [note.text for note in of_leader.notes]
    assert all(connection.mimic is None for connection in of_leader.connections)
    of_follower = tree(A, B, C, J, K, joint("l", "b", "c", follower.format("k")))
    message = "the coupling of joint l to joint k is left out: joint l closes a loop"
    assert message in [note.text for note in of_follower.notes]


# -- poses of the text -----------------------------------------------------------------------------


def at_pose(pose: str) -> Tree:
    return tree(A, link("b", pose), J)


def test_angles_of_a_pose_are_in_radians_or_degrees() -> None:
    def step(pose: str) -> Step:
        return at_pose(pose).connections[0].pose[1]

    assert step('<pose degrees="true">1 2 3 0 0 90</pose>') == Turn(
        Z_AXIS, Angle(pi=Fraction(1, 2))
    )
    assert step('<pose degrees="false">1 2 3 0 0 0.9</pose>') == Turn(
        Z_AXIS, Angle(radians=Fraction("0.9"))
    )
    w, x, y, z = map(Fraction, (4, 1, 2, 3))
    assert step('<pose rotation_format="quat_xyzw">1 2 3 1 2 3 4</pose>') == Rotate((w, x, y, z))
    assert at_pose("<pose/>").connections[0].pose == ()


def test_elements_of_other_programs_are_not_read() -> None:
    plain = at_pose("<pose>1 2 3 0 0 0</pose>").connections[0].pose
    for foreign in (
        "<gz:pose>4 5 6 0 0 0</gz:pose>",
        '<x:pose xmlns:x="http://gazebosim.org/schema">4 5 6 0 0 0</x:pose>',
    ):
        assert at_pose(f"{foreign}<pose>1 2 3 0 0 0</pose>").connections[0].pose == plain
        assert at_pose(foreign).connections[0].pose == ()


@pytest.mark.parametrize(
    ("pose", "message"),
    [
        (
            "<pose>1 2 3</pose>",
            r"it has 3 numbers \('1 2 3'\); write 6 numbers separated by spaces",
        ),
        ("<pose>1, 2, 3, 0, 0, 0</pose>", "has commas; write 6 numbers separated by spaces"),
        ("<pose>1 2 3 0 0 pi</pose>", "'pi' is not a number"),
        ('<pose rotation_format="zyx">1</pose>', "the rotation_format 'zyx' is not known"),
        (
            '<pose rotation_format="quat_xyzw" degrees="1">1 2 3 1 2 3 4</pose>',
            "degrees conflicts with a quaternion",
        ),
        ('<pose rotation_format="quat_xyzw">1 2 3 1 2 3</pose>', "it has 6 numbers"),
        ('<pose degrees="yes">1 2 3 1 2 3</pose>', "'yes' is neither true nor false"),
    ],
)
def test_a_malformed_pose_is_refused(pose: str, message: str) -> None:
    with pytest.raises(SymgenError, match=message):
        at_pose(pose)


def test_an_empty_axis_has_no_numbers() -> None:
    with pytest.raises(SymgenError, match=r"it has 0 numbers \(''\); write 3 numbers"):
        connection(joint("j", "a", "b", "<axis><xyz/></axis>"))
    with pytest.raises(SymgenError, match="the axis is zero; give a nonzero axis, such as 0 0 1"):
        connection(joint("j", "a", "b", "<axis><xyz>0 0 0</xyz></axis>"))


@pytest.mark.parametrize(
    ("angles", "noted"),
    [
        ("0 0 6.28318", False),
        ("6.2832 0 0", False),
        ("6.284 0 0", True),
        ("0 -7 0", True),
        ("0 0 90", True),
    ],
)
def test_an_angle_beyond_a_full_turn_is_noted(angles: str, noted: bool) -> None:
    """2π = 6.28318…, and 6.2832 is read as 2π."""
    notes = [note.text for note in at_pose(f"<pose>0 0 0 {angles}</pose>").notes]
    assert any("exceeds a full turn: SDF uses radians" in text for text in notes) is noted
    degrees = [note.text for note in at_pose(f'<pose degrees="1">0 0 0 {angles}</pose>').notes]
    assert not any("exceeds a full turn" in text for text in degrees)


def test_repeated_elements_must_be_equal() -> None:
    same = "<pose>1 2 3 0 0 0</pose>"
    assert at_pose(same * 2).connections[0].pose == at_pose(same).connections[0].pose
    with pytest.raises(SymgenError, match="<pose> appears twice; keep one of the two"):
        at_pose(same + "<pose>1 2 4 0 0 0</pose>")


# -- gravity, inertia, candidates ------------------------------------------------------------------


def test_the_default_gravity_of_a_world_is_that_of_sdf() -> None:
    body = model(A, B, J)
    inner = body[body.index("<model") : body.rindex("</sdf>")]

    def gravity(inside: str) -> object:
        return load(f'<sdf version="1.7"><world name="w">{inside}{inner}</world></sdf>').gravity

    assert gravity("") == (0, 0, Fraction("-9.8"))
    assert gravity("<gravity>1 2 3</gravity>") == (1, 2, 3)
    assert gravity("<physics><gravity>3 2 1</gravity></physics>") == (3, 2, 1)
    assert load(body).gravity == (0, 0, Fraction("-9.81"))


def test_a_link_without_inertia_has_the_default_of_sdf() -> None:
    def of(inertial: str) -> tuple[Fraction, tuple[Fraction, ...]]:
        (part,) = tree(A, link("b", inertial=inertial), J).links[-1].inertials
        return part.mass, part.moments

    unit = (1, 0, 0, 1, 0, 1)
    assert of("") == of("<inertial/>") == (1, unit)
    assert of("<inertial><mass>3</mass></inertial>") == (3, unit)
    partial = "<inertial><inertia><ixx>5</ixx><iyz>6</iyz></inertia></inertial>"
    assert of(partial) == (1, (5, 0, 0, 1, 6, 1))


def test_locations_name_the_line_of_an_element() -> None:
    assert tree(A, B, J).links[-1].location == Location("r.sdf", 3, "link 'b'")
