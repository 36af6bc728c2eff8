"""Parts of a URDF: transmissions, drives, limits, mimic relations, fixed links."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from symgen.description.parsing.macros import Macros
from symgen.description.quantities import Location
from symgen.description.readers._urdf.drives import DriveData
from symgen.description.readers.urdf import _read_plain
from symgen.description.snapping import Snapper
from symgen.description.tree import Connection, Tree
from symgen.mechanism.mechanism import Mimic
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, Angle, Rotate, Shift, Turn
from tests.shared.descriptions import INERTIAL, joint, link, robot

A, B, C = link("a"), link("b"), link("c")


def tree(*elements: str, attributes: str = "") -> Tree:
    text = robot(*elements).replace('<robot name="r"', f'<robot name="r" {attributes}', 1)
    return _read_plain(text.encode(), "r.urdf", Snapper(), False)


def connection(inside: str, kind: str = "revolute", *more: str) -> Connection:
    return tree(A, B, joint("j", "a", "b", kind, inside), *more).connections[-1]


def notes(*elements: str, kind: str = "") -> list[str]:
    return [note.text for note in tree(*elements).notes if not kind or note.kind == kind]


# -- drives ----------------------------------------------------------------------------------------


def numbers(text: str) -> tuple[tuple[str, Fraction], ...]:
    """Return named numbers of a text such as 'damping=1, gear ratio=2'."""
    pairs = (entry.split("=") for entry in filter(None, text.split(",")))
    return tuple((name.strip(), Fraction(value)) for name, value in pairs)


@pytest.mark.parametrize(
    ("declared", "armature", "sources"),
    [
        (numbers("damping=1"), 0, ()),
        (numbers("armature=3"), 3, ("armature",)),
        (numbers("armature=3, rotor inertia=5, gear ratio=2"), 3, ("armature",)),
        (numbers("rotor inertia=5"), 5, ("rotor inertia",)),
        (numbers("rotor inertia=5, gear ratio=-2"), 20, ("rotor inertia", "gear ratio")),
        (numbers("gear ratio=2"), 0, ()),
        (numbers("rotor inertia=5, gear ratio=2, gear ratio 2=3"), 0, ()),
        (numbers("rotor inertia=5, rotor inertia 2=3, gear ratio=2"), 0, ()),
        (numbers("rotor_inertia=5, gear ratio=2"), 20, ("rotor_inertia", "gear ratio")),
        (numbers("rotor inertia=1e300, gear ratio=1e300"), 0, ()),
    ],
)
def test_one_rotor_behind_one_gear_gives_an_armature(
    declared: tuple[tuple[str, Fraction], ...], armature: int, sources: tuple[str, ...]
) -> None:
    data = DriveData(declared)
    assert data.drive.armature == armature
    assert dict(data.read_from).get("armature", ()) == sources
    both = DriveData(numbers("damping=1, friction=2")) + data
    assert (both.drive.damping, both.drive.friction) == (1, 2)
    assert dict(both.read_from)["friction"] == ("friction",)


def test_faults_belong_to_the_kind_of_drive_that_they_affect() -> None:
    fault = Location("r").error("wrong")

    def kinds(*names: str, declared: str = "") -> list[str]:
        data = DriveData(numbers(declared), tuple((name, fault) for name in names))
        return [kind for kind, _ in data.faults_by_kind]

    assert kinds("damping", "friction") == ["damping", "friction"]
    assert kinds("armature", "rotor inertia", "rotor_inertia") == ["armature"] * 3
    assert kinds("gear ratio") == []
    assert kinds("gear ratio", declared="rotor inertia=1") == ["armature"]
    assert kinds("gear ratio 2", "rotor inertia 2") == ["armature"] * 2


def transmission(*content: str, joints: str = '<joint name="j"/>') -> str:
    inside = f'{joints}<actuator name="m">{"".join(content)}</actuator>'
    return f'<transmission name="t">{inside}</transmission>'


def test_a_transmission_gives_its_joints_a_rotor() -> None:
    ratio, rotor = (
        "<mechanicalReduction>{}</mechanicalReduction>",
        "<motorInertia>{}</motorInertia>",
    )
    unapplied = connection(
        "", "continuous", transmission(ratio.format(3), rotor.format("0.5"))
    ).unapplied
    assert unapplied == (("gear ratio", 3), ("rotor inertia", Fraction(1, 2)))
    in_attributes = connection(
        "",
        "continuous",
        transmission('<gear_ratio value="4"/>', "<rotor_inertia>2</rotor_inertia>"),
    )
    assert in_attributes.drive.armature == 32
    # neutral numbers have no effect, equal ones count once, others are counted
    neutral = transmission(ratio.format("1"), rotor.format("0"))
    assert connection("", "continuous", neutral).unapplied == ()
    for name, number in (
        ("mechanicalReduction", 1),
        ("gear_ratio", 1),
        ("motorInertia", 0),
        ("rotor_inertia", 0),
    ):
        neutral_number = transmission(f"<{name}>{number}</{name}>")
        assert connection("", "continuous", neutral_number).unapplied == ()
        two = transmission(f"<{name}>2</{name}>")
        assert [value for _, value in connection("", "continuous", two).unapplied] == [2]
    several = transmission(ratio.format(3), ratio.format("3.0"), ratio.format(4), ratio.format(5))
    assert connection("", "continuous", several).unapplied == (
        ("gear ratio", 3),
        ("gear ratio 2", 4),
        ("gear ratio 3", 5),
    )
    elsewhere = transmission(ratio.format(3), joints='<joint name="x"/><joint/>')
    assert connection("", "continuous", elsewhere).unapplied == ()
    both = transmission(ratio.format(3), joints='<joint name="x"/><joint name="j"/>')
    assert connection("", "continuous", both).unapplied == (("gear ratio", 3),)


def test_a_malformed_transmission_is_noted_and_refused_where_it_is_applied() -> None:
    malformed = transmission("<motorInertia>x</motorInertia>")
    assert [kind for kind, _ in connection("", "continuous", malformed).faults] == ["armature"]
    (note,) = notes(A, B, joint("j", "a", "b", "continuous"), malformed, kind="info")
    assert note.endswith("'x' is not a number; it would not be applied")
    ratio = transmission("<mechanicalReduction>x</mechanicalReduction>")
    assert connection("", "continuous", ratio).faults == ()
    empty = transmission("<motorInertia/>")
    assert "'' is not a number" in notes(A, B, joint("j", "a", "b", "continuous"), empty)[-1]


def test_at_most_sixteen_numbers_of_a_transmission_are_shown() -> None:
    def read(count: int) -> tuple[int, list[str]]:
        many = transmission(
            *(f"<mechanicalReduction>{k + 2}</mechanicalReduction>" for k in range(count))
        )
        remarks = notes(A, B, joint("j", "a", "b", "continuous"), many, kind="info")
        return len(connection("", "continuous", many).unapplied), remarks

    assert read(16) == (16, [])
    number, (note,) = read(17)
    assert number == 16
    assert note == (
        "line 5, transmission 't': only the first 16 of its 17 ratios and inertias are shown"
    )


def test_dynamics_give_a_drive() -> None:
    dynamics = '<dynamics damping="1" friction="0" armature="2"/>'
    declared = connection(dynamics, "continuous")
    assert declared.unapplied == (("damping", 1), ("armature", 2))
    assert declared.drive.declared == (("armature", 2), ("damping", 1))
    assert declared.read_from == (("damping", ("damping",)), ("armature", ("armature",)))
    faulty = connection('<dynamics damping="x" friction="1"/>', "continuous")
    assert [kind for kind, _ in faulty.faults] == ["damping"]
    assert faulty.drive.friction == 1
    rotor = connection('<dynamics rotor_inertia="3"/>', "continuous")
    assert (rotor.drive.armature, rotor.unapplied) == (3, (("rotor_inertia", 3),))


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "ends"),
    [
        ('lower="-1" upper="2" velocity="3" effort="4"', (-1, 2, 3, 4)),
        ("", (None, None, None, None)),
        ('lower="-inf" upper="+Infinity" effort="INF"', (None, None, None, None)),
        ('lower="x" upper="1"', (None, 1, None, None)),
        ('lower="-1e300" upper="9e299"', (None, 9 * 10**299, None, None)),
    ],
)
def test_limits_are_numbers_or_infinite(attributes: str, ends: tuple[Any, ...]) -> None:
    limits = connection(f"<limit {attributes}/>").limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == ends
    free = connection(f"<limit {attributes}/>", "floating").limits
    assert (free.lower, free.upper, free.velocity, free.effort) == (None,) * 4


def test_missing_and_superfluous_limits_are_noted() -> None:
    def of(kind: str, inside: str = "") -> list[str]:
        axis = '<axis xyz="0 0 1"/>' if kind == "planar" else ""
        return notes(A, B, joint("j", "a", "b", kind, inside + axis))

    missing = "line 4, joint 'j': declares no <limit>; read without limits"
    for kind in ("revolute", "prismatic"):
        assert of(kind) == [missing]
    for kind in ("continuous", "floating", "planar", "fixed", "odd"):
        assert of(kind) == []
    several = "line 4, joint 'j': limit: a {} joint has {} coordinates; its limits are left out"
    limit = '<limit lower="-1" upper="1"/>'
    assert of("floating", limit) == [several.format("free", 7)]
    assert of("planar", limit) == [several.format("planar", 3)]
    assert of("continuous", limit) == of("odd", limit) == []


def test_malformed_limits_are_warnings_where_they_matter() -> None:
    def kinds(kind: str, attribute: str) -> list[str]:
        declared = tree(A, B, joint("j", "a", "b", kind, f'<limit {attribute}="x"/>'))
        return [note.kind for note in declared.notes if "read as no limit" in note.text]

    for end in ("lower", "upper"):
        assert kinds("revolute", end) == ["warning"]
        assert kinds("continuous", end) == ["info"]
    for bound in ("velocity", "effort"):
        assert kinds("revolute", bound) == ["info"]


@pytest.mark.parametrize(
    ("lower", "upper", "kind", "doubt"),
    [
        ("-1", "1", "revolute", ""),
        ("1", "1", "revolute", ""),
        ("1.1", "1", "revolute", "the lower limit is above the upper limit in '1.1 … 1'"),
        ("1.1", "1", "continuous", ""),
        ("-180", "180", "revolute", "'-180 … 180' exceeds two full turns: URDF uses radians"),
        ("0", "12.57", "revolute", "exceeds two full turns"),
        ("-12.57", "0", "revolute", "exceeds two full turns"),
        ("0", "12.56", "revolute", ""),
        ("0", "720", "revolute", "exceeds two full turns"),
        ("0", "721", "revolute", ""),
        ("-180", "180", "prismatic", ""),
    ],
)
def test_doubtful_ranges_are_warnings(lower: str, upper: str, kind: str, doubt: str) -> None:
    limit = f'<limit lower="{lower}" upper="{upper}"/>'
    warnings = notes(A, B, joint("j", "a", "b", kind, limit), kind="warning")
    assert len(warnings) == bool(doubt)
    assert doubt in "".join(warnings)


# -- mimic -----------------------------------------------------------------------------------------


def test_a_mimic_relation_has_defaults() -> None:
    def mimic(attributes: str) -> tuple[Mimic | None, str]:
        declared = connection(f"<mimic {attributes}/>")
        return declared.mimic, declared.unsure

    assert mimic('joint="k"') == (Mimic("k", Fraction(1), Fraction(0)), "")
    assert mimic('joint="k" multiplier="-2" offset="0.5"') == (
        Mimic("k", Fraction(-2), Fraction(1, 2)),
        "",
    )
    assert mimic('joint="k" multiplier="x" offset="y"') == (
        Mimic("k", Fraction(1), Fraction(0)),
        "in its multiplier 'x' is not a number; in its offset 'y' is not a number",
    )
    assert mimic('multiplier="2"') == (None, "")
    warnings = notes(
        A, B, joint("j", "a", "b", inside='<mimic joint="k" offset="y"/>'), kind="warning"
    )
    assert warnings == [
        "line 4, joint 'j': mimic offset: 'y' is not a number; read as 0; no coupling is applied"
    ]


# -- fixed links, axes, poses ----------------------------------------------------------------------

BAD = INERTIAL.replace('value="1"', 'value="x"')


@pytest.mark.parametrize(
    ("joints", "fixed"),
    [
        ([], True),
        (["fixed a x"], True),
        (["fixed a y", "fixed y x"], True),
        (["fixed y x", "fixed a y"], True),
        (["revolute a x"], False),
        (["revolute a y", "fixed y x"], False),
        (["fixed a y", "continuous y x"], False),
        (["fixed x y", "fixed y x"], False),
    ],
)
def test_a_malformed_inertia_is_left_out_only_of_fixed_links(
    joints: list[str], fixed: bool
) -> None:
    elements = [joint(f"j{k}", *ends.split()[1:], ends.split()[0]) for k, ends in enumerate(joints)]
    for links in (
        [A, link("y"), link("x", BAD)],
        [link("x", BAD), link("y"), A],
    ):
        if fixed:
            read = tree(*links, *elements)
            assert next(part for part in read.links if part.name == "x").inertials == ()
            warnings = [note.text for note in read.notes if note.kind == "warning"]
            assert [text.partition("; ")[2] for text in warnings] == [
                "its inertia is left out: the link is fixed"
            ]
        else:
            with pytest.raises(DescriptionError, match="'x' is not a number"):
                tree(*links, *elements)


def test_the_pose_of_an_inertia_without_mass_is_not_read() -> None:
    nothing = INERTIAL.replace('"1"', '"0"').replace(
        "<inertial>", '<inertial><origin xyz="1 2 3"/>'
    )
    (part,) = tree(A, link("b", nothing), joint("j", "a", "b")).links[1].inertials
    assert (part.mass, part.pose) == (0, ())
    for heavier in (
        nothing.replace('value="0"', 'value="1"'),
        nothing.replace('ixy="0"', 'ixy="1"'),
    ):
        (part,) = tree(A, link("b", heavier), joint("j", "a", "b")).links[1].inertials
        assert len(part.pose) == 1


def test_axes_are_read_of_joints_that_have_one() -> None:
    axis = '<axis xyz="0 2 0"/>'
    for kind in ("revolute", "continuous", "prismatic"):
        assert connection(axis, kind).axis == (0, 2, 0)
        assert connection("", kind).axis == X_AXIS
    assert connection(axis, "floating").axis == Z_AXIS
    assert connection('<axis xyz="0 0 1"/>', "planar").axis == Z_AXIS
    assert connection('<axis xyz="0 0 0"/>', "floating").axis == Z_AXIS
    with pytest.raises(DescriptionError, match="the axis is zero; give a nonzero axis, such as"):
        connection('<axis xyz="0 0 0"/>')
    for inside in (axis, ""):
        with pytest.raises(
            DescriptionError, match="but the normal of a planar joint must be the z"
        ):
            connection(inside, "planar")


def test_an_origin_is_a_translation_and_a_rotation() -> None:
    def pose(attributes: str, version: str = "") -> tuple[Any, list[str]]:
        origin = joint("j", "a", "b", "continuous", f"<origin {attributes}/>")
        read = tree(A, B, origin, attributes=version)
        return read.connections[0].pose, [note.text for note in read.notes]

    shift = Shift((Fraction(1), Fraction(2), Fraction(3)))
    assert pose('xyz="1 2 3"') == ((shift,), [])
    assert pose("") == ((), [])
    turn = Turn(Z_AXIS, Angle(radians=Fraction(1, 2)))
    assert pose('xyz="1 2 3" rpy="0 0 0.5"') == ((shift, turn), [])
    rotate = Rotate((Fraction(4), Fraction(1), Fraction(2), Fraction(3)))
    assert pose('xyz="1 2 3" quat_xyzw="1 2 3 4"', 'version="1.1"') == ((shift, rotate), [])
    _, (note,) = pose('xyz="1 2 3" quat_xyzw="1 2 3 4"')
    assert "quat_xyzw needs URDF version 1.1 and is left out" in note
    zero, (note,) = pose('xyz="1 2 3" quat_xyzw="0 0 0 0"', 'version="1.2"')
    assert (zero, "its quat_xyzw is zero and is read as no rotation" in note) == ((shift,), True)
    for angles, exceeds in (("0 0 6.283", False), ("-6.29 0 0", True), ("0 90 0", True)):
        _, warnings = pose(f'rpy="{angles}"')
        assert any("exceeds a full turn: URDF uses radians" in text for text in warnings) is exceeds


def test_repeated_elements_are_read_once() -> None:
    limit, lower_limit = '<limit lower="-1"/>', '<limit lower="-2"/>'
    declared = joint("j", "a", "b", "continuous", limit + lower_limit)
    assert tree(A, B, declared).connections[0].limits.lower == -1
    assert notes(A, B, declared) == [
        "line 4, joint 'j': <limit> appears twice; the first one is read"
    ]
    assert notes(A, B, joint("j", "a", "b", "continuous", limit * 2)) == []
    axis = '<axis xyz="0 0 1"/>'
    assert notes(A, B, joint("j", "a", "b", "continuous", axis * 2)) == [
        "line 4, joint 'j': <axis> appears twice with the same content; read once"
    ]
    with pytest.raises(DescriptionError, match="<axis> appears twice; keep one of the two"):
        connection(axis + '<axis xyz="0 1 0"/>')
    with pytest.raises(DescriptionError, match="<inertial> appears twice"):
        tree(A, link("b", INERTIAL * 2), joint("j", "a", "b"))


def test_names_of_elements_are_attributes() -> None:
    for text, message in (
        (
            joint("j", "a", "b").replace(' name="j"', ""),
            "the attribute 'name' is missing; write name=",
        ),
        (
            joint("j", "a", "b").replace('<parent link="a"/>', ""),
            "<parent> is missing; add <parent link=",
        ),
        (
            joint("j", "a", "b").replace('<parent link="a"/>', "<parent/>"),
            "parent: the attribute 'link'",
        ),
    ):
        with pytest.raises(DescriptionError, match=message):
            tree(A, B, text)
    for part in ("mass", "inertia"):
        start = INERTIAL.index(f"<{part} ")
        end = INERTIAL.index("/>", start) + 2
        without = INERTIAL[:start] + INERTIAL[end:]
        with pytest.raises(
            DescriptionError, match=f"<{part}> is missing; add <{part} …/>, or remove"
        ):
            tree(A, link("b", without), joint("j", "a", "b"))


# -- macros ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["${a}", "$(arg a)", "x${a}"])
def test_macros_in_attributes_must_be_expanded_first(name: str) -> None:
    for elements in ((link(name), B), (A, B, joint("j", name, "b"))):
        with pytest.raises(DescriptionError, match="contains xacro macros, which must be expanded"):
            tree(*elements)
        with pytest.raises(Macros):
            _read_plain(robot(*elements).encode(), "r.urdf", Snapper(), True)
    for plain in ("$a", "{a}", "a)"):
        assert tree(link(plain), B, joint("j", plain, "b")).links[0].name == plain
