"""Look-ups in TOML tables: values, defaults, locations, and refusals of wrong types."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from symgen.description.parsing import declared
from symgen.description.parsing.declared import read_declared
from symgen.description.parsing.tables import Table
from symgen.description.quantities import Location
from symgen.description.readers.toml import _parse
from symgen.description.snapping import Snapper
from symgen.description.tree import Connection, Tree
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import (
    X_AXIS,
    Y_AXIS,
    Z_AXIS,
    ZERO3,
    Angle,
    Rotate,
    Shift,
    Slide,
    Turn,
    Vector3,
)

HALF = Fraction(1, 2)


def table(text: str) -> Table:
    return _parse(text.encode(), "r.toml", Snapper())


def vector(*numbers: int | str) -> Vector3:
    x, y, z = map(Fraction, numbers)
    return x, y, z


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(DescriptionError) as caught:
        call()
    return str(caught.value)


# -- locations -------------------------------------------------------------------------------------


def test_a_location_is_the_path_of_its_key() -> None:
    top = table('x = 1\n\n[[body]]\nname = "a"\njoint = { axis = [1] }\n[[body]]\n[[row]]\n')
    assert top.at("x").element == "x"
    first, second = top.tables("body")
    assert (first.location.element, first.location.line) == ("body 'a'", 3)
    assert (second.location.element, second.location.line) == ("body[1]", 6)
    joint = first.table("joint")
    assert joint.location.element == "body 'a': joint"
    assert joint.at("axis").element == "body 'a': joint.axis"
    assert joint.at("axis").line == 3


def test_keys_that_are_long_or_not_printable_are_quoted() -> None:
    top = table("")
    assert top.at("a" * 40).element == "a" * 40
    assert top.at("a" * 41).element == f"'{'a' * 40}…'"
    assert top.at("a\n").element == "'a�'"


def test_lines_of_tables_are_unknown_if_a_string_could_imitate_a_header() -> None:
    text = '[[body]]\nname = "a"\n  [[ body ]] # b\n'
    assert [body.location.line for body in table(text).tables("body")] == [1, 3]
    for quotes in ('"""', "'''"):
        with_string = f"{text}[[row]]\nname = {quotes}\n[[body]]\n{quotes}"
        assert [body.location.line for body in table(with_string).tables("body")] == [None, None]
    # another header of this beginning does not count, nor do headers of tables of a table
    headers = table('[[body]]\n[[body.part]]\nmass = 1\n[[bodyguard]]\n[[body]]\nlink = "c"\n')
    assert [body.location.line for body in headers.tables("body")] == [1, 5]
    assert [body.location.element for body in headers.tables("body")] == ["body[0]", "body 'c'"]
    (part,) = headers.tables("body")[0].tables("part")
    assert (part.location.element, part.location.line) == ("body[0]: part[0]", 1)
    arrays = table("body = [{}, {}]")
    assert [body.location.line for body in arrays.tables("body")] == [None, None]


# -- single values ---------------------------------------------------------------------------------


def test_missing_keys_have_defaults_or_are_refused() -> None:
    empty = table("")
    assert empty.text("k", "d") == "d"
    assert empty.texts("k") == ()
    assert empty.choice("k", ("a", "b"), "b") == "b"
    assert empty.number("k", HALF) == HALF
    assert empty.count("k", 3) == 1
    assert empty.angle("k") == Angle()
    assert empty.vector("k") == ZERO3
    assert empty.vector("k", X_AXIS) == X_AXIS
    assert empty.inline("k", 2) == []
    assert empty.moments("k") == (0,) * 6
    assert empty.pose() == empty.steps("k") == ()
    assert empty.table("k").content == {}
    assert empty.tables("k") == empty.entries("k") == []
    for call in (
        lambda: empty.text("k"),
        lambda: empty.number("k"),
        lambda: empty.numbers("k"),
        lambda: empty.coordinates("k"),
        lambda: empty.vector("k", None),
        lambda: empty.vectors("k", 2),
    ):
        assert refusal(call) == "r.toml: the key 'k' is missing; add k = …"
    assert refusal(lambda: empty.choice("k", ("a", "b"), None)).endswith(
        'the key \'k\' is missing; add k = "a" or k = "b"'
    )
    assert "k" not in empty
    assert "k" in table("k = 1")


def test_values_are_read_exactly() -> None:
    top = table(
        't = "a"\nts = ["a", "b"]\nn = 0.10\nq = "1/3"\ni = -3\nns = [1, "2/3", 1e-3]\n'
        'c = 3\nan = "pi/2"\nac = [1, "pi"]\nv = [1, 0.5, "1/3"]\nvs = [[1, 0, 0], [0, 1, 0]]\n'
        "two = [{ a = 1 }, { a = 2 }]\nm = [1, 2, 3, 4, 5, 6]\ne = { x = 1, y = 2.5 }\n"
    )
    assert (top.text("t"), top.texts("ts")) == ("a", ("a", "b"))
    assert top.choice("t", ("b", "a"), None) == "a"
    assert (top.number("n"), top.number("q")) == (Fraction(1, 10), Fraction(1, 3))
    assert (top.number("i"), top.number("i", HALF)) == (-3, -3)
    assert top.numbers("ns") == (1, Fraction(2, 3), Fraction(1, 1000))
    assert (top.count("c", 3), top.angle("an")) == (3, Angle(pi=HALF))
    assert top.coordinates("ac") == (Angle(radians=Fraction(1)), Angle(pi=Fraction(1)))
    assert top.coordinates("c") == (Angle(radians=Fraction(3)),)
    assert top.vector("v") == (1, HALF, Fraction(1, 3))
    assert top.vectors("vs", 2) == [X_AXIS, Y_AXIS]
    assert [entry.number("a") for entry in top.inline("two", 2)] == [1, 2]
    assert top.moments("m") == (1, 2, 3, 4, 5, 6)
    assert top.entries("e") == [("x", 1), ("y", Fraction(5, 2))]


def test_moments_have_names_in_a_table() -> None:
    named = table("m = { zz = 6, xx = 1, yy = 4, yz = 5 }")
    assert named.moments("m") == (1, 0, 0, 4, 5, 6)
    full = table("m = { xx = 1, xy = 2, xz = 3, yy = 4, yz = 5, zz = 6 }")
    assert full.moments("m") == (1, 2, 3, 4, 5, 6)
    for missing in ("xx", "yy", "zz"):
        entries = ", ".join(f"{name} = 1" for name in ("xx", "yy", "zz") if name != missing)
        message = refusal(lambda entries=entries: table(f"m = {{ {entries} }}").moments("m"))
        assert f"m: the key '{missing}' is missing" in message


@pytest.mark.parametrize(
    ("value", "call", "message"),
    [
        ("1", lambda t: t.text("k"), "k: '1' is not a string; put it in quotes"),
        ('"a"', lambda t: t.texts("k"), "'a' is not an array of strings; write k = [\"…\"]"),
        ('["a", 1]', lambda t: t.texts("k"), "is not an array of strings"),
        ('"c"', lambda t: t.choice("k", ("a", "b"), None), "'c' is not known; write one of: a, b"),
        ("true", lambda t: t.number("k"), "'True' is not a number; write a decimal"),
        ('"x"', lambda t: t.number("k"), "'x' is not a number"),
        ("[]", lambda t: t.numbers("k"), "'[]' is not an array of numbers; write [1, 2, 3]"),
        ("3", lambda t: t.numbers("k"), "'3' is not an array of numbers"),
        ("[1, true]", lambda t: t.numbers("k"), "k[1]: 'True' is not a number"),
        ("0", lambda t: t.count("k", 3), "'0' is not a count; write a whole number from 1 to 3"),
        ("4", lambda t: t.count("k", 3), "'4' is not a count"),
        ("true", lambda t: t.count("k", 3), "'True' is not a count"),
        ("1.0", lambda t: t.count("k", 3), "'1.0' is not a count"),
        ("true", lambda t: t.angle("k"), "'True' is not an angle"),
        ("[1, 2]", lambda t: t.vector("k"), "'[1, 2]' is not an array of 3 numbers"),
        ("1", lambda t: t.vector("k"), "'1' is not an array of 3 numbers; write 3 numbers in"),
        ("[[1, 2, 3]]", lambda t: t.vectors("k", 2), "of 2 vectors; write [[…], […]]"),
        ("1", lambda t: t.vectors("k", 2), "'1' is not an array of 2 vectors"),
        ("[[1, 2, 3], [1, 2]]", lambda t: t.vectors("k", 2), "k[1]: '[1, 2]' is not an array of 3"),
        ("[{}]", lambda t: t.inline("k", 2), "is not an array of 2 tables; write [{…}, {…}]"),
        ("[{}, 1]", lambda t: t.inline("k", 2), "is not an array of 2 tables"),
        ("{}", lambda t: t.inline("k", 2), "is not an array of 2 tables"),
        ("5", lambda t: t.inline("k", 2), "'5' is not an array of 2 tables"),
        ("[1, 2]", lambda t: t.moments("k"), "'[1, 2]' is not an array of 6 numbers"),
        ("{ xx = 1, ab = 2 }", lambda t: t.moments("k"), "the key 'ab' is not known here"),
        ("1", lambda t: t.table("k"), "k: '1' is not a table; write { key = value, … }"),
        ("1", lambda t: t.tables("k"), "'1' is not a list of tables; write [[k]] above each"),
        ("[{}, 1]", lambda t: t.tables("k"), "is not a list of tables"),
        ("{}", lambda t: t.tables("k"), "'{}' is not a list of tables"),
        # the characters of a text are not its entries
        ('"123"', lambda t: t.vector("k"), "'123' is not an array of 3 numbers"),
        ('"12"', lambda t: t.vectors("k", 2), "'12' is not an array of 2 vectors"),
        ('"123456"', lambda t: t.moments("k"), "'123456' is not an array of 6 numbers"),
        ('"12"', lambda t: t.numbers("k"), "'12' is not an array of numbers"),
        ("{}", lambda t: t.steps("k"), "'{}' is not an array; write [{shift = […]}"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(
    value: str, call: Callable[[Table], Any], message: str
) -> None:
    assert message in refusal(lambda: call(table(f"k = {value}")))


def test_integers_of_several_thousand_digits_are_refused() -> None:
    message = "k: the number has more than 1500 digits; write fewer digits"
    assert message in refusal(lambda: table(f"k = {'9' * 2000}").number("k"))
    assert "is larger than any double" in refusal(lambda: table(f"k = {'9' * 1500}").number("k"))


def test_unknown_keys_are_refused_with_the_nearest_one() -> None:
    top = table("mas = 1\ncolour = 2")
    top.allow("mas", "colour", "x")
    assert refusal(lambda: top.allow("mass", "colour")).endswith(
        "the key 'mas' is not known here; did you mean 'mass'?"
    )
    assert refusal(lambda: top.allow("mas", "x", "y")).endswith(
        "the key 'colour' is not known here; there are: mas, x, y"
    )


# -- poses -----------------------------------------------------------------------------------------


def test_a_pose_is_a_translation_then_roll_pitch_and_yaw() -> None:
    top = table('xyz = [1, 2, 3]\nrpy = [0.1, 0.2, "pi/3"]\ncentre = [3, 2, 1]')
    turns = (
        Turn(Z_AXIS, Angle(pi=Fraction(1, 3))),
        Turn(Y_AXIS, Angle(radians=Fraction(1, 5))),
        Turn(X_AXIS, Angle(radians=Fraction(1, 10))),
    )
    assert top.pose() == (Shift(vector(1, 2, 3)), *turns)
    assert top.pose("centre") == (Shift(vector(3, 2, 1)), *turns)
    assert "rpy: '[1, 2]' is not an array of 3 numbers" in refusal(table("rpy = [1, 2]").pose)


def test_steps_are_shifts_turns_quaternions_and_slides() -> None:
    top = table(
        "steps = [{ shift = [1, 2, 3] }, { turn = 0.5, axis = [1, 0, 2] },"
        " { quaternion = [1, 2, 3, 4] }, { slide = -2, axis = [0, 3, 0] }]"
    )
    assert top.pose() == (
        Shift(vector(1, 2, 3)),
        Turn(vector(1, 0, 2), Angle(radians=HALF)),
        Rotate((Fraction(1), Fraction(2), Fraction(3), Fraction(4))),
        Slide(vector(0, 3, 0), Fraction(-2)),
    )


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("[1]", "steps[0]: '1' is not a step; write {shift"),
        ("[{ shift = [1, 2, 3] }, { turn = 1 }]", "steps[1]: '{'turn': 1}' is not a step"),
        ("[{ turn = 1, axis = [1, 0, 0], shift = [1, 2, 3] }]", "is not a step"),
        ("[{ axis = [1, 0, 0] }]", "is not a step"),
        ("[{ shift = [1, 2, 3], axis = [1, 0, 0] }]", "is not a step"),
        ("[{ turn = 1, axis = [0, 0, 0] }]", "the axis is zero; give a nonzero axis"),
        ("[{ slide = 1, axis = [0, 0, 0] }]", "the axis is zero"),
        ("[{ quaternion = [0, 0, 0, 0] }]", "the quaternion is zero"),
        ("[{ quaternion = [1, 0, 0] }]", "is not an array of 4 numbers"),
        ("[{ slide = true, axis = [1, 0, 0] }]", "'True' is not a number"),
        ("[{ turn = true, axis = [1, 0, 0] }]", "'True' is not an angle"),
    ],
)
def test_other_steps_are_refused(steps: str, message: str) -> None:
    assert message in refusal(table(f"steps = {steps}").pose)


def test_steps_conflict_with_other_forms_of_the_pose() -> None:
    for key, position in (("rpy", "xyz"), ("xyz", "xyz"), ("centre", "centre")):
        both = table(f"steps = []\n{key} = [1, 2, 3]")
        message = (
            f"{key}: it conflicts with steps; write the displacement as {position} and rpy, or"
        )
        assert message in refusal(lambda both=both, position=position: both.pose(position))
    assert table("steps = []\ncentre = [1, 2, 3]").pose() == ()


# -- declarations of robots ------------------------------------------------------------------------

BODY = 'mass = 2\njoint = { type = "revolute", axis = [0, 0, 1] }\n'


def tree(text: str) -> Tree:
    return read_declared(table(text))


def joint(
    text: str, kind: str = "revolute", axis: str = "axis = [0, 0, 1]", name: str = "b"
) -> Connection:
    entries = ", ".join(filter(None, (f'type = "{kind}"', axis, text)))
    described = f'name = "{name}"\nparent = "base"\njoint = {{ {entries} }}'
    return tree(f"[[body]]\n{described}").connections[-1]


def test_the_moments_of_an_inertia_are_about_its_centre_or_the_origin_of_its_frame() -> None:
    """Steiner's theorem: 2 kg at (1, 2, 3) add 2·(13, -2, -3, 10, -6, 5) about the origin."""
    entries = "mass = 2\ncentre = [1, 2, 3]\ninertia = [30, 1, 2, 40, 3, 50]\n"
    for about, moments in (
        ("", (30, 1, 2, 40, 3, 50)),
        ('about = "centre"', (30, 1, 2, 40, 3, 50)),
        ('about = "frame"', (4, 5, 8, 20, 15, 40)),
    ):
        ((inertial,),) = (tree(f"[base]\n{entries}{about}").links[0].inertials,)
        assert inertial.moments == moments
        assert inertial.pose == (Shift(vector(1, 2, 3)),)
    for turned in ("rpy = [0, 0, 1]", "steps = [{ shift = [1, 2, 3] }]"):
        centre = "" if turned.startswith("steps") else "centre = [1, 2, 3]\n"
        part = f'[[base.part]]\nmass = 2\n{centre}about = "frame"\n{turned}'
        message = "part[0].about: 'frame' cannot be combined with rpy or steps"
        assert message in refusal(lambda part=part: tree(part))


def test_parts_have_their_own_axes_and_links() -> None:
    text = (
        '[[base.part]]\nmass = 1\ncentre = [1, 0, 0]\nlink = "l"\ngravcomp = 0.5\n'
        '[[base.part]]\nmass = 2\ncentre = [2, 0, 0]\nrpy = [0, 0, "pi/2"]\n'
        "[[base.part]]\nmass = 3\nsteps = [{ turn = 1, axis = [1, 0, 0] }]\n"
        "[[base.part]]\nmass = 4\n"
    )
    first, second, third, fourth = tree(text).links[0].inertials
    assert (first.link, first.gravcomp, first.pose) == ("l", HALF, (Shift(vector(1, 0, 0)),))
    assert second.pose == (Shift(vector(2, 0, 0)), Turn(Z_AXIS, Angle(pi=HALF)))
    assert third.pose == (Turn(X_AXIS, Angle(radians=Fraction(1))),)
    assert (second.link, second.gravcomp, fourth.pose) == ("", 0, ())
    assert first.location.element == "base: part 'l'.mass"
    both = "[base]\nmass = 1\n[[base.part]]\nmass = 1"
    assert "base: the key 'mass' conflicts with the list of parts" in refusal(lambda: tree(both))


def test_a_robot_has_bodies_or_rows() -> None:
    body = f'[[body]]\nname = "b"\nparent = "base"\n{BODY}'
    both = f'convention = "dh"\n{body}[[row]]\na = 1\n'
    message = "r.toml:7: row[0]: a description has either [[body]] or [[row]], not both"
    assert message in refusal(lambda: tree(both))
    assert [link.name for link in tree(body).links] == ["base", "b"]
    rows = tree('convention = "dh"\n[base]\nname = "w"\n[[row]]\nrepeat = 2\n[[row]]\n')
    assert [link.name for link in rows.links] == ["w", "link1", "link2", "link3"]
    assert [joint.name for joint in rows.connections] == ["joint1", "joint2", "joint3"]
    assert [joint.parent for joint in rows.connections] == ["w", "link1", "link2"]


def test_names_of_repeated_rows_are_numbered() -> None:
    text = (
        'convention = "dh"\n[[row]]\nname = "first"\njoint = "turn"\n'
        '[[row]]\nname = "part"\njoint = "hinge"\nrepeat = 2\n[[row]]\nparent = "first"\n'
    )
    robot = tree(text)
    assert [link.name for link in robot.links] == ["base", "first", "part2", "part3", "link4"]
    assert [joint.name for joint in robot.connections] == ["turn", "hinge2", "hinge3", "joint4"]
    assert [joint.parent for joint in robot.connections] == ["base", "first", "part2", "first"]


def test_top_level_keys_of_a_robot_are_read() -> None:
    robot = tree(
        'name = "r"\nsource = "book"\nlicence = "free"\ngravity = [1, 2, 3]\nmimic = "couple"\n'
        'friction_speed = 0.1\nindependent = ["a"]\nactuated = ["b", "c"]\n[start]\na = [1, 2]\n'
        '[[note]]\nkind = "info"\ntext = "t"\n'
    )
    assert (robot.name, robot.source, robot.mimic) == ("r", "book (licence: free)", "couple")
    assert (robot.gravity, robot.friction_speed) == ((1, 2, 3), Fraction(1, 10))
    assert (robot.independent, robot.actuated) == (("a",), ("b", "c"))
    assert robot.read_before
    assert [(note.kind, note.text) for note in robot.notes] == [("info", "t")]
    bare = tree("")
    assert (bare.name, bare.source, bare.mimic, bare.gravity) == ("", "", None, None)
    assert (bare.friction_speed, bare.source_sha256) == (None, None)
    assert (bare.read_before, bare.names_unapplied) == (False, True)
    assert tree('source_sha256 = ""').source_sha256 == ""


def test_a_description_may_choose_the_snap_tolerance() -> None:
    top = table('snap = "1e-3"\n[[body]]\nname = "b"\nparent = "base"\n' + BODY)
    read_declared(top)
    assert top.snapper.within == Fraction(1, 1000)
    off = table('snap = "off"')
    read_declared(off)
    assert off.snapper.within is None
    chosen = Table({"snap": "off"}, Location("r.toml"), Snapper(HALF, chosen=True))
    read_declared(chosen)
    assert chosen.snapper.within == HALF  # the choice of the user comes first
    assert "r.toml: snap is 'on'; give 'off' or a tolerance between" in refusal(
        lambda: tree('snap = "on"')
    )


def test_a_rotor_behind_a_gear_is_an_armature() -> None:
    """The armature of a rotor of inertia J behind a gear of ratio n is n² J."""
    assert joint("rotor_inertia = 0.5").drive.armature == HALF
    assert joint("rotor_inertia = 0.5, gear_ratio = -3").drive.armature == Fraction(9, 2)
    assert joint("armature = 2").drive.armature == 2
    for text, message in (
        ("gear_ratio = 3", "joint.gear_ratio: a gear ratio needs a rotor inertia"),
        ("rotor_inertia = 1, armature = 1", "armature conflicts with rotor_inertia"),
        ("rotor_inertia = 1e300, gear_ratio = 1e9", "the resulting armature is beyond a double"),
        ("rest = 1", "joint.rest: a rest position needs a stiffness"),
        ("rest = 1, stiffness = 0", "a rest position needs a stiffness"),
    ):
        assert message in refusal(lambda text=text: joint(text))
    assert joint("rest = 1, stiffness = 2").drive.rest == 1


def test_drives_of_several_velocities_have_equal_lengths() -> None:
    ball = joint("damping = [1, 2, 3], armature = 2", "spherical", "").drive
    assert [ball.at(k).damping for k in range(3)] == [1, 2, 3]
    assert [ball.at(k).armature for k in range(3)] == [2, 2, 2]
    for text, message in (
        ("damping = [1, 2, 3], armature = [1, 2]",
         "armature: it has 2 numbers, and another kind 3;"),
        ("stiffness = [1, 2, 3]", "joint.stiffness: it has 3 numbers; give one number; armature"),
        ("stiffness = 1, rest = [1, 2]", "joint.rest: it has 2 numbers; give one number"),
    ):  # fmt: skip
        assert message in refusal(lambda text=text: joint(text, "spherical", ""))


def test_a_joint_has_limits_and_a_leader() -> None:
    limits = joint("limits = { lower = -1, upper = 2, velocity = 3, effort = 4 }").limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-1, 2, 3, 4)
    assert joint("limits = { upper = 2 }").limits.lower is None
    mimic = joint('mimic = { joint = "j", multiplier = -2, offset = 0.5 }').mimic
    assert mimic is not None
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ("j", -2, HALF)
    mimic = joint('mimic = { joint = "j" }').mimic
    assert mimic is not None
    assert (mimic.multiplier, mimic.offset) == (1, 0)
    assert joint("").mimic is None
    assert joint("").name == "b_joint"
    assert "the key 'mimic' is not known here" in refusal(
        lambda: joint('mimic = { joint = "j" }', "spherical", "")
    )


def test_axes_of_joints_are_required_where_they_have_a_meaning() -> None:
    assert joint("axis = [0, 2, 0]", axis="").axis == (0, 2, 0)
    assert joint("", "fixed", "").axis == X_AXIS
    assert joint("", "unknown", "").axis == X_AXIS
    assert joint("", "spherical", "").axis == Z_AXIS
    assert "joint: the key 'axis' is missing" in refusal(lambda: joint("", axis=""))
    assert "joint.axis: the axis is zero" in refusal(lambda: joint("axis = [0, 0, 0]", axis=""))
    assert "the key 'axis' is not known" in refusal(lambda: joint("", "free"))
    assert "the key 'damping' is not known" in refusal(lambda: joint("damping = 1", "fixed"))


def test_parameters_of_a_joint_type_are_required_and_not_zero() -> None:
    assert joint("pitch = 0.5", "helical").parameters == (("pitch", HALF),)
    assert "the key 'pitch' of a helical joint is missing; add pitch = …" in refusal(
        lambda: joint("", "helical")
    )
    assert "a helical joint with a pitch of zero is a joint of another type" in refusal(
        lambda: joint("pitch = 0", "helical")
    )
    assert "the key 'pitch' is not known here" in refusal(lambda: joint("pitch = 1"))


def test_a_universal_joint_is_two_hinges_with_a_massless_link_between() -> None:
    text = "axes = [[1, 0, 0], [0, 0, 1]], limits = [{ upper = 1 }, { upper = 2 }], xyz = [1, 0, 0]"
    described = f'[[body]]\nname = "b"\nparent = "base"\njoint = {{ type = "universal", {text} }}'
    robot = tree(described)
    first, second = robot.connections
    assert (first.axis, second.axis) == (X_AXIS, Z_AXIS)
    assert (first.limits.upper, second.limits.upper) == (1, 2)
    assert (first.pose, second.pose) == ((Shift(vector(1, 0, 0)),), ())
    assert (first.parent, first.child, second.child) == ("base", second.parent, "b")
    cross = next(link for link in robot.links if link.name == first.child)
    assert cross.inertials == ()
    unlimited = tree(described.replace("limits = [{ upper = 1 }, { upper = 2 }], ", ""))
    assert [joint.limits.upper for joint in unlimited.connections] == [None, None]
    assert "the key 'axes' of a universal joint is missing" in refusal(
        lambda: joint("", "universal", "")
    )
    assert "joint.axes: the axis is zero" in refusal(
        lambda: joint("axes = [[1, 0, 0], [0, 0, 0]]", "universal", "")
    )


def test_unapplied_numbers_of_a_joint_are_limited() -> None:
    def entries(count: int) -> str:
        return f"unapplied = {{ {', '.join(f'k{i} = {i}' for i in range(count))} }}"

    assert joint(entries(3)).unapplied == (("k0", 0), ("k1", 1), ("k2", 2))
    assert len(joint(entries(64)).unapplied) == 64
    assert "it has 65 entries, but symgen reads at most 64" in refusal(lambda: joint(entries(65)))


def test_repeated_rows_and_their_parts_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []

    def note_count(count: int, kind: str, location: Location) -> None:
        assert (kind, location.element) == ("rows and parts", "row[0]")
        counts.append(count)

    monkeypatch.setattr(declared, "refuse_many", note_count)
    tree('convention = "dh"\n[[row]]\nrepeat = 3\n[[row.part]]\nmass = 1\n[[row.part]]\nmass = 1')
    assert counts == [3, 6, 9]
    assert declared.LARGEST_REPEAT == 100_000
    many = 'convention = "dh"\n[[row]]\nrepeat = 100001'
    assert "'100001' is not a count; write a whole number from 1 to 100000" in refusal(
        lambda: tree(many)
    )


@pytest.mark.parametrize("convention", ["dh", "mdh"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_rows_place_their_joints_on_the_axis_of_their_convention(
    convention: str, kind: str
) -> None:
    """In both conventions theta and d belong to one axis, and alpha and a to the other."""
    row = f'[[row]]\ntype = "{kind}"\na = 1\nalpha = 0.2\nd = 3\ntheta = 0.4\nmass = 1'
    robot = tree(f'convention = "{convention}"\n{row}')
    (joint_of_row,) = robot.connections
    turn, lift = Turn(Z_AXIS, Angle(radians=Fraction("0.4"))), Shift(vector(0, 0, 3))
    twist, length = Turn(X_AXIS, Angle(radians=Fraction("0.2"))), Shift(vector(1, 0, 0))
    frame = robot.links[1].frame
    if convention == "mdh":
        assert (joint_of_row.pose, frame) == ((twist, length, turn, lift), ())
    elif kind == "prismatic":
        assert (joint_of_row.pose, frame) == ((turn, lift), (length, twist))
    else:
        assert (joint_of_row.pose, frame) == ((turn,), (Shift(vector(1, 0, 3)), twist))
    assert robot.links[1].inertials[0].pose == frame


def test_a_row_needs_a_joint_of_one_coordinate() -> None:
    def row(kind: str) -> Tree:
        return tree(f'convention = "dh"\n[[row]]\ntype = "{kind}"')

    assert row("fixed").connections[0].kind == "fixed"
    for kind, coordinates in (("spherical", 4), ("free", 7)):
        message = f"a row needs a joint of one coordinate, but a {kind} joint has {coordinates}"
        assert message in refusal(lambda kind=kind: row(kind))
    assert "parent: 'link2' is not an earlier row" in refusal(
        lambda: tree('convention = "dh"\n[[row]]\nparent = "link2"\n[[row]]')
    )
