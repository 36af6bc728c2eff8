"""Joints of an MJCF: frames, limits, drives, and springs that depend on inertia."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symgen.description.loading import load
from symgen.description.quantities import Location
from symgen.description.readers._mjcf import document
from symgen.description.readers._mjcf import joints as module
from symgen.description.readers._mjcf.attributes import Attributes
from symgen.description.readers._mjcf.classes import Classes
from symgen.description.readers._mjcf.document import Element
from symgen.description.readers._mjcf.joints import (
    JointMotion,
    SpringDamper,
    read_joint,
    read_spring_damper,
    with_springs,
)
from symgen.description.readers._mjcf.settings import Settings, read_settings
from symgen.description.readers.mjcf import read
from symgen.description.snapping import Snapper
from symgen.description.tree import Connection, Inertial, Link
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Mimic, Note
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import (
    X_AXIS,
    Z_AXIS,
    Angle,
    Pose,
    Rotate,
    Shift,
    Slide,
    Turn,
    Vector3,
    inverse,
)
from tests.shared.descriptions import pose_matrix
from tests.shared.mjcf_texts import HINGE, ROD, compiler, mjcf

HERE = Location("r.xml", 4, "joint 'j'")


def settings(disable: str = "", **attributes: str) -> Settings:
    flags = Element("flag", dict.fromkeys(disable.split(), "disable"), HERE)
    sections = (
        Element("compiler", {"angle": "radian", **attributes}, HERE),
        Element("option", {}, HERE, (flags,)),
    )
    return read_settings(Element("mujoco", {}, HERE, sections), Snapper())


def attributes(**values: str) -> Attributes:
    return Attributes(HERE, {name: (text, HERE) for name, text in values.items()})


def motion(within: Pose = (), disable: str = "", **values: str) -> tuple[JointMotion, list[str]]:
    """Return a joint and the texts of its notes."""
    notes: list[Note] = []
    joint = read_joint(attributes(**values), within, settings(disable), notes.append)
    assert all(note.kind == "warning" for note in notes)
    return joint, [note.text.removeprefix("line 4, joint 'j': ") for note in notes]


def vector(*numbers: int) -> Vector3:
    x, y, z = map(Fraction, numbers)
    return x, y, z


FRAME: Pose = (
    Shift(vector(1, 2, 3)),
    Rotate((Fraction(1), Fraction(2), Fraction(-3), Fraction(4))),
    Shift(vector(0, 1, 0)),
)


# -- frames ----------------------------------------------------------------------------------------


def test_a_joint_moves_the_body_about_a_point_of_its_frame() -> None:
    """At the coordinate `ref` the pose, the motion and the way back are the identity."""
    for kind, name in (("hinge", "continuous"), ("slide", "prismatic"), ("ball", "spherical")):
        joint, _ = motion(FRAME, type=kind, pos="4 5 6", axis="1 -2 2", ref="0.3")
        axis = vector(1, -2, 2)
        assert joint.kind == name
        moved: Pose = ()
        if kind != "ball":
            assert (joint.axis, joint.ref) == (axis, Fraction("0.3"))
            moved = (
                (Turn(axis, Angle(joint.ref)),) if kind == "hinge" else (Slide(axis, joint.ref),)
            )
        identity = pose_matrix((*joint.pose, *moved, *joint.back))
        assert np.abs(identity - np.eye(4)).max() < 1e-13
        seat = pose_matrix(FRAME)
        anchor = seat @ [4, 5, 6, 1]
        if kind != "slide":  # the point does not move
            assert np.abs(pose_matrix(joint.pose)[:3, 3] - anchor[:3]).max() < 1e-13
        axes = np.eye(3) if kind == "ball" else seat[:3, :3]
        turned = pose_matrix((*joint.pose, *moved))[:3, :3]
        assert np.abs(turned - axes).max() < 1e-13


def test_a_free_joint_has_the_coordinates_of_its_body() -> None:
    joint, _ = motion(FRAME, type="free", pos="4 5 6", ref="0.3", range="-1 1")
    assert (joint.kind, joint.pose, joint.back, joint.ref) == ("free", (), (), 0)
    assert joint.limits.lower is None
    default, _ = motion()
    assert (default.kind, default.axis, default.pose) == ("continuous", Z_AXIS, ())


def test_only_joints_along_an_axis_need_a_direction() -> None:
    for kind in ("hinge", "slide"):
        with pytest.raises(DescriptionError, match="axis: the axis is zero; give a nonzero axis"):
            motion(type=kind, axis="0 0 0")
    for kind in ("ball", "free"):
        assert motion(type=kind, axis="0 0 0")[0].axis == Z_AXIS


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind", "ends"),
    [
        ({"range": "-1 2"}, "revolute", (-1, 2)),
        ({"range": "2 2"}, "continuous", (None, None)),
        ({"range": "0 0", "limited": "true"}, "revolute", (0, 0)),
        ({"limited": "true"}, "revolute", (0, 0)),
        ({"range": "-1 2", "limited": "false"}, "continuous", (None, None)),
        ({"range": "-1 2", "limited": "auto"}, "revolute", (-1, 2)),
        ({}, "continuous", (None, None)),
    ],
)
def test_a_range_limits_a_joint_unless_its_ends_are_equal(
    values: dict[str, str], kind: str, ends: tuple[int | None, int | None]
) -> None:
    joint, _ = motion(**values)
    assert (joint.kind, joint.limits.lower, joint.limits.upper) == (kind, *ends)
    slide, _ = motion(type="slide", **values)
    assert (slide.kind, slide.limits.lower, slide.limits.upper) == ("prismatic", *ends)


def test_without_autolimits_a_range_must_be_declared_limited() -> None:
    def limits(**values: str) -> tuple[Fraction | None, Fraction | None]:
        of_file = settings(autolimits="false", angle="degree")
        joint = read_joint(attributes(**values), (), of_file, lambda note: None)
        return joint.limits.lower, joint.limits.upper

    with pytest.raises(
        DescriptionError, match="it has a range but no 'limited', and autolimits is"
    ):
        limits(range="-1 1")
    assert limits(range="-1 1", limited="false") == limits() == (None, None)
    lower, upper = limits(range="-90 180", limited="true")
    assert (float(lower or 0), float(upper or 0)) == (-np.pi / 2, np.pi)
    assert limits(type="slide", range="-90 180", limited="true") == (-90, 180)


@pytest.mark.parametrize(
    ("values", "effort"),
    [
        ({"actuatorfrcrange": "-5 5"}, 5),
        ({"actuatorfrcrange": "-5 5", "actuatorfrclimited": "true"}, 5),
        ({"actuatorfrcrange": "-5 5", "actuatorfrclimited": "false"}, None),
        ({"actuatorfrcrange": "-5 4"}, None),
        ({"actuatorfrcrange": "0 0"}, None),
        ({"actuatorfrcrange": "5 -5"}, None),
        ({}, None),
    ],
)
def test_symmetric_bounds_of_actuator_forces_are_the_effort(
    values: dict[str, str], effort: int | None
) -> None:
    assert motion(**values)[0].limits.effort == effort


# -- drives ----------------------------------------------------------------------------------------

SPRING = {"stiffness": "2", "springref": "0.5", "damping": "3", "frictionloss": "4"}


def test_a_drive_has_four_values_unless_a_flag_disables_them() -> None:
    values = {**SPRING, "armature": "5"}
    full = {"armature": 5, "damping": 3, "friction": 4, "stiffness": 2, "rest": Fraction(1, 2)}
    for disable, missing in (
        ("", ()),
        ("spring", ("stiffness", "rest")),
        ("damper", ("damping",)),
        ("frictionloss", ("friction",)),
        ("spring damper frictionloss", ("stiffness", "rest", "damping", "friction")),
    ):
        drive = motion((), disable, **values)[0].drive
        expected = {name: value for name, value in full.items() if name not in missing}
        assert dict(drive.declared) == expected
    slide = motion(type="slide", **values)[0].drive
    assert dict(slide.declared) == full
    weak = motion(springref="0.5")[0].drive
    assert not weak
    assert motion(stiffness="2")[0].drive.rest == 0


def test_parts_of_a_drive_without_a_model_are_noted() -> None:
    assert motion(**SPRING)[1] == []
    assert motion(stiffness="2 0 0", damping="1 0")[1] == []
    higher = "its {} has terms of higher order, which are left out"
    assert motion(stiffness="2 0 1")[1] == [higher.format("stiffness")]
    assert motion(damping="2 1")[1] == [higher.format("damping")]
    for kind in ("ball", "free"):
        joint, notes = motion(type=kind, **SPRING)
        assert notes == [f"the spring of a {kind} joint is left out"]
        assert (joint.drive.stiffness, joint.drive.rest) == (0, 0)
        assert motion(type=kind, springdamper="1 1")[1] == notes
    assert motion(stiffness="1", springyield="2")[1] == ["its springyield is left out"]
    assert motion(springdamper="1 1", springyield="2")[1] == ["its springyield is left out"]
    assert motion(springyield="2")[1] == motion(stiffness="1", springyield="0")[1] == []
    axes = (
        "its armature acts along the axes of the body here, but along those of the world in MuJoCo"
    )
    assert motion(type="free", armature="1")[1] == [axes]
    for kind in ("hinge", "slide", "ball"):
        assert motion(type=kind, armature="1")[1] == []
    assert motion(type="free")[1] == []


def test_a_springdamper_replaces_stiffness_and_damping() -> None:
    drive = motion(springdamper="1 1", armature="1", **SPRING)[0].drive
    assert dict(drive.declared) == {"armature": 1, "friction": 4}
    for text in ("0 1", "1 0", "-1 1", "1 -1"):
        assert motion(springdamper=text, **SPRING)[0].drive.stiffness == 2
        assert read_spring_damper(attributes(springdamper=text), "revolute", settings()) is None
    assert read_spring_damper(attributes(), "revolute", settings()) is None
    degrees = settings(angle="degree")
    declared = attributes(springdamper="2 3", springref="180")
    for kind, rest in (("revolute", np.pi), ("continuous", np.pi), ("prismatic", 180), ("free", 0)):
        spring = read_spring_damper(declared, kind, degrees)
        assert spring is not None
        assert (spring.time, spring.ratio, float(spring.rest)) == (2, 3, rest)


# -- springs that depend on inertia ----------------------------------------------------------------


def inertial(mass: int | str, *moments: int | str) -> Inertial:
    xx, yy, zz = map(Fraction, moments)
    zero = Fraction(0)
    return Inertial(Fraction(mass), (xx, zero, zero, yy, zero, zz))


def sprung(
    kind: str,
    spring: SpringDamper,
    disable: str = "",
    armature: int = 0,
    mass: Inertial | None = None,
) -> tuple[Drive, list[Note]]:
    """Return the drive of the joint of one body, of mass 2 and moments (3, 4, 5) unless `mass`."""
    part = inertial(2, 3, 4, 5) if mass is None else mass
    drive = Drive(armature=Fraction(armature))
    joint = Connection("j", kind, "world", "b", axis=X_AXIS, location=HERE, drive=drive)
    notes: list[Note] = []
    (result,) = with_springs(
        [joint], [Link("b", (part,))], {}, {"j": spring}, settings(disable), notes
    )
    return result.drive, notes


SECOND = SpringDamper(Fraction(2), Fraction(3), Fraction(1, 4))
"""2 s, a damping ratio of 3, at rest at 0.25."""


def test_a_spring_of_one_body_has_the_period_and_damping_ratio_that_it_declares() -> None:
    """stiffness I/(t ζ)² and damping 2 I/t, where I is the moment 3 kg m² about x, or 2 kg."""
    for kind, inertia in (("revolute", 3), ("continuous", 3), ("prismatic", 2)):
        for armature in (0, 4):
            drive, notes = sprung(kind, SECOND, armature=armature)
            total = inertia + armature
            assert abs(drive.stiffness - Fraction(total, 36)) < Fraction(1, 10**55)
            assert abs(drive.damping - total) < Fraction(1, 10**55)
            assert (drive.rest, drive.armature) == (Fraction(1, 4), armature)
            (note,) = notes
            assert note.kind == "info"
            assert note.text == (
                "line 4, joint 'j': springdamper and the inertia at the joint in the declared pose "
                f"give a stiffness of {total / 36:.6g} and a damping of {total}"
            )


def test_joints_of_several_velocities_have_the_mean_of_their_mobilities() -> None:
    """I = n/Σ (M⁻¹)_kk: 3/(1/3 + 1/4 + 1/5) for a ball, 6/(3/2 + …) for a free joint."""
    mean = 1 / Fraction(3) + Fraction(1, 4) + Fraction(1, 5)
    for kind, inertia in (("spherical", 3 / mean), ("free", 6 / (mean + Fraction(3, 2)))):
        drive, _ = sprung(kind, SECOND)
        assert abs(drive.damping - inertia) < Fraction(1, 10**55)
        assert (drive.stiffness, drive.rest) == (0, 0)


def test_disabled_springs_and_dampers_are_zero() -> None:
    drive, _ = sprung("revolute", SECOND, "spring")
    assert (drive.stiffness, drive.rest) == (0, 0)
    assert drive.damping > 0
    drive, _ = sprung("revolute", SECOND, "damper")
    assert (drive.damping, drive.rest) == (0, Fraction(1, 4))
    assert drive.stiffness > 0


def test_divisors_are_at_least_mujocos_smallest_number() -> None:
    """mjMINVAL is 1e-15."""
    short = SpringDamper(Fraction(1, 10**9), Fraction(1), Fraction(0))
    drive, _ = sprung("revolute", short)
    assert abs(drive.stiffness / (3 * 10**15) - 1) < Fraction(1, 10**55)
    assert abs(drive.damping / (6 * 10**9) - 1) < Fraction(1, 10**55)
    instant = SpringDamper(Fraction(1, 10**20), Fraction(10**20), Fraction(0))
    drive, _ = sprung("revolute", instant)
    assert abs(drive.damping / (6 * 10**15) - 1) < Fraction(1, 10**55)
    heavy = inertial("1e20", "1e20", "1e20", "1e20")
    drive, _ = sprung("revolute", SECOND, mass=heavy)
    assert abs(drive.damping / 10**15 - 1) < Fraction(1, 10**55)


def test_a_singular_mass_matrix_determines_no_spring(monkeypatch: pytest.MonkeyPatch) -> None:
    left_out = (
        "line 4, joint 'j': its springdamper is left out, since M is singular in the declared "
        "pose, or too large"
    )
    for mass in (inertial(0, 0, 0, 0), inertial(1, 0, 1, 1)):
        drive, notes = sprung("revolute", SECOND, mass=mass)
        assert (bool(drive), [note.text for note in notes]) == (False, [left_out])
    monkeypatch.setattr(module, "MOST_ELIMINATION_STEPS", 1)
    assert sprung("revolute", SECOND)[0].stiffness > 0
    monkeypatch.setattr(module, "MOST_ELIMINATION_STEPS", 0)
    assert [note.text for note in sprung("revolute", SECOND)[1]] == [left_out]


def test_elimination_steps_grow_with_the_square_of_the_degrees_of_freedom() -> None:
    """Σ d²: 1 for a, 4 for b behind it, 4 for the fixed c (2 each), 25 for the ball d, 36 for e."""
    joints = [
        Connection("a", "revolute", "world", "a"),
        Connection("b", "prismatic", "a", "b"),
        Connection("c", "fixed", "b", "c"),
        Connection("d", "spherical", "c", "d"),
        Connection("e", "free", "world", "e"),
    ]
    assert module._steps(joints) == 1 + 4 + 4 + 25 + 36
    assert module.MOST_ELIMINATION_STEPS == 300_000


def test_a_chain_has_the_mobility_of_its_inverse_mass_matrix() -> None:
    """Two bodies on slides and hinges in general directions, compared with NumPy's inverse."""
    part = inertial(2, 3, 4, 5)
    first: Pose = (
        Shift(vector(1, 0, 2)),
        Rotate((Fraction(2), Fraction(1), Fraction(0), Fraction(3))),
    )
    joints = [
        Connection("i", "revolute", "world", "a", first, vector(1, 2, -2), location=HERE),
        Connection("j", "prismatic", "a", "b", first, vector(2, 0, 1), location=HERE),
        Connection("k", "fixed", "b", "c", first, location=HERE),
        Connection("l", "revolute", "c", "d", first, vector(0, 1, 1), location=HERE),
    ]
    links = [Link(name, (part,)) for name in ("a", "b", "d")]
    coordinates = {"i": Fraction(1, 3), "j": Fraction(-1, 2), "l": Fraction(2)}
    M, matrix, columns = np.zeros((3, 3)), np.eye(4), np.zeros((6, 3))
    order = {"i": 0, "j": 1, "l": 2}
    for joint in joints:
        matrix = matrix @ pose_matrix(joint.pose)
        axis = np.array([float(x) for x in joint.axis])
        direction = matrix[:3, :3] @ axis / np.linalg.norm(axis)
        q = coordinates.get(joint.name, Fraction(0))
        if joint.kind == "revolute":
            columns[:, order[joint.name]] = [*direction, *np.cross(matrix[:3, 3], direction)]
            matrix = matrix @ pose_matrix((Turn(joint.axis, Angle(q)),))
        elif joint.kind == "prismatic":
            columns[3:, order[joint.name]] = direction
            matrix = matrix @ pose_matrix((Slide(joint.axis, q),))
        if joint.child in ("a", "b", "d"):
            angular = columns[:3]
            linear = columns[3:] + np.cross(angular.T, matrix[:3, 3]).T
            rotation = matrix[:3, :3]
            M += 2 * linear.T @ linear
            M += angular.T @ rotation @ np.diag([3, 4, 5]) @ rotation.T @ angular
    mobile = np.diag(np.linalg.inv(M))
    springs = {name: SpringDamper(Fraction(1), Fraction(1), Fraction(0)) for name in "ijkl"}
    result = with_springs(joints, links, coordinates, springs, settings(), [])
    for joint in result:
        if joint.kind != "fixed":
            inertia = 1 / mobile[order[joint.name]]
            assert float(joint.drive.stiffness) == pytest.approx(inertia, rel=1e-12)
            assert float(joint.drive.damping) == pytest.approx(2 * inertia, rel=1e-12)
    assert not result[2].drive
    assert with_springs(joints, links, coordinates, {}, settings(), []) == joints


def test_the_inverse_of_a_factored_matrix_has_many_digits() -> None:
    """The inverse of the 3×3 Hilbert matrix has the diagonal 9, 192, 180."""
    with localcontext() as context:
        context.prec = module.DIGITS
        rows = [{j: 1 / Decimal(k + j + 1) for j in range(k + 1)} for k in range(3)]
        pivots = module._factor(rows)
        assert pivots is not None
        for k, expected in enumerate((9, 192, 180)):
            value = module._inverse_diagonal(rows, pivots, k)
            assert abs(value - expected) < Decimal("1e-80")
    for pivot in (0, -1):
        assert module._factor([{0: Decimal(pivot)}]) is None


# -- classes and files -----------------------------------------------------------------------------


def test_the_outermost_class_is_main() -> None:
    def classes(*sections: dict[str, Any]) -> Classes:
        return Classes(
            Element("default", section["of"], HERE, tuple(section.get("inside", ())))
            for section in sections
        )

    inner = Element("default", {"class": "x"}, HERE)
    assert classes({"of": {}, "inside": (inner,)}).existing("x", HERE) == "x"
    assert classes({"of": {"class": "main"}}).existing("main", HERE) == "main"
    for sections, message in (
        (
            ({"of": {"class": "y"}},),
            "the outermost class is named 'y', but its name must be 'main'",
        ),
        (({"of": {}, "inside": (Element("default", {}, HERE),)},), "an inner class has no name"),
        (({"of": {}, "inside": (inner, inner)},), "the class 'x' is declared twice"),
    ):
        with pytest.raises(DescriptionError, match=message):
            classes(*sections)
    with pytest.raises(DescriptionError, match="the class 'z' is not declared"):
        classes().existing("z", HERE)


def test_a_document_is_limited_in_depth_and_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = tmp_path / "main.xml"
    main.write_text(mjcf('<include file="a.xml"/><include file="b.xml"/>'))
    for name in ("a", "b"):
        (tmp_path / f"{name}.xml").write_text(f'<a><body name="{name}">{HINGE}{ROD}</body></a>')
    assert load(main).nv == 2
    assert document.MOST_FILES == 500
    assert document.LARGEST == 50_000_000
    assert document.DEEPEST == 256
    size = sum((tmp_path / name).stat().st_size for name in ("a.xml", "b.xml"))
    monkeypatch.setattr(document, "LARGEST", size)
    assert load(main).nv == 2
    monkeypatch.setattr(document, "LARGEST", size - 1)
    with pytest.raises(DescriptionError, match="the included files are larger than 0 MB"):
        load(main)
    monkeypatch.setattr(document, "LARGEST", size)
    monkeypatch.setattr(document, "MOST_FILES", 1)
    with pytest.raises(DescriptionError, match="there are more than 1 included files; join some"):
        load(main)
    (tmp_path / "a.xml").write_text(f"<a>{'<body>' * 200}{'</body>' * 200}</a>")
    monkeypatch.setattr(document, "LARGEST", 100 * size)
    monkeypatch.setattr(document, "DEEPEST", 150)
    with pytest.raises(
        DescriptionError, match="elements are nested more than 150 deep; reduce the"
    ):
        load(main)


def test_elements_may_be_nested_as_deep_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The root is at depth 0: `mujoco`, `worldbody` and two bodies with a geom are five deep."""
    text = mjcf(f"<body>{HINGE}<body>{HINGE}{ROD}</body></body>")
    monkeypatch.setattr(document, "DEEPEST", 5)
    assert load(text).nv == 2
    monkeypatch.setattr(document, "DEEPEST", 4)
    with pytest.raises(DescriptionError, match="elements are nested more than 4 deep"):
        load(text)


def test_a_missing_include_names_the_first_200_characters_of_the_folder() -> None:
    text = '<mujoco><include file="x.xml"/></mujoco>'
    with pytest.raises(DescriptionError, match=f"there is no such file in '{'d' * 200}…'; files"):
        read(text.encode(), f"{'d' * 250}/r.xml", Snapper())


def test_unnamed_elements_get_unused_names() -> None:
    text = mjcf(
        f'<body name="world_">{HINGE}{ROD}<body>{HINGE}{ROD}</body></body>'
        f'<body name="body2">{HINGE}{HINGE}{ROD}</body>'
    )
    mechanism = load(text)
    assert [body.name for body in mechanism.bodies] == ["world_", "body2_", "body2_1", "body2"]
    assert len({joint.name for joint in mechanism.joints}) == 4


# -- forces that are left out ----------------------------------------------------------------------


def warnings(before: str = "", after: str = "") -> list[str]:
    text = mjcf(f'<body name="b"><joint name="j"/>{ROD}<site name="s"/></body>', before, after)
    return [note.text for note in load(text).notes if note.kind == "warning"]


def test_forces_of_tendons_and_actuators_are_noted() -> None:
    tendon = '<tendon><fixed name="t" {}><joint joint="j" coef="1"/></fixed></tendon>'
    assert warnings(after=tendon.format("")) == []
    assert warnings(after=tendon.format('stiffness="1"')) == [
        "the stiffness of tendons is left out: t"
    ]
    assert warnings(after=tendon.format('damping="0 1"')) == [
        "the damping of tendons is left out: t"
    ]
    assert warnings(after=tendon.format('damping="0 0"')) == []
    motor = '<actuator><motor {} joint="j"/></actuator>'
    assert warnings(after=motor.format("")) == []
    assert warnings(after=motor.format('armature="1" name="m"')) == [
        "the armature that actuators add to joints is left out: m"
    ]
    many = "".join(f'<motor armature="1" name="m{k}" joint="j"/>' for k in range(10))
    (note,) = warnings(after=f"<actuator>{many}</actuator>")
    assert note.endswith("m0, m1, m2, m3, m4, m5, m6, m7 and 2 more")
    classes = '<default><tendon stiffness="2"/><general armature="1"/></default>'
    assert warnings(classes, tendon.format("")) == ["the stiffness of tendons is left out: t"]


def test_a_fluid_is_noted() -> None:
    ending = "of a fluid is not modelled: its drag and lift are left out"
    for attributes_text, names in (
        ('density="1"', "density"),
        ('viscosity="1"', "viscosity"),
        ('density="1" viscosity="2"', "density and viscosity"),
    ):
        assert warnings(f"<option {attributes_text}/>") == [f"line 2, option: the {names} {ending}"]
    assert warnings('<option density="0"/>') == []


def test_passive_forces_can_be_disabled_together() -> None:
    for flags, disabled in (
        ('passive="disable"', {"spring", "damper"}),
        ('passive="enable"', set()),
        ('spring="disable" passive="enable"', set()),
        ('gravity="disable" equality="disable"', {"gravity", "equality"}),
    ):
        pairs = dict(pair.split("=") for pair in flags.replace('"', "").split())
        flag = Element("flag", pairs, HERE)
        root = Element("mujoco", {}, HERE, (Element("option", {}, HERE, (flag,)),))
        assert read_settings(root, Snapper()).disabled == disabled
    assert load(mjcf(f"<body>{HINGE}{ROD}</body>", compiler(angle="degree"))).gravity[
        2
    ] == Fraction("-9.81")


def test_a_joint_is_inverted_by_its_way_back() -> None:
    joint, _ = motion(FRAME, pos="1 2 3")
    assert joint.back == inverse((*FRAME[:2], Shift(vector(1, 3, 3))))


def test_a_coefficient_has_at_most_two_terms_of_higher_order() -> None:
    for name in ("stiffness", "damping"):
        with pytest.raises(DescriptionError, match="write 1 to 3 numbers separated by spaces"):
            motion(**{name: "1 2 3 4"})


def test_an_equality_of_joints_names_joints_of_the_model() -> None:
    for names, message in (
        ('joint2="j"', "its joint1 '' is not a joint of the model; name a joint"),
        ('joint1="x"', "its joint1 'x' is not a joint of the model"),
        ('joint1="j" joint2="x"', "its joint2 'x' is not a joint of the model"),
    ):
        with pytest.raises(DescriptionError, match=message):
            warnings(after=f"<equality><joint {names}/></equality>")
    for polycoef, multiplier, offset in (
        ("", 1, 0),
        ('polycoef="2"', 1, 2),
        ('polycoef="2 3"', 3, 2),
    ):
        equality = f'<equality><joint joint1="k" joint2="j" {polycoef}/></equality>'
        inner = f'<body><joint name="k"/>{ROD}</body>'
        text = mjcf(f'<body><joint name="j"/>{ROD}{inner}</body>', after=equality)
        mimic = load(text).joints[1].mimic
        assert mimic == Mimic("j", Fraction(multiplier), Fraction(offset))
    fixed = "it fixes joint j at 0.5 and is left out; use --lock"
    texts = warnings(after='<equality><joint joint1="j" polycoef="0.5"/></equality>')
    assert any(text.endswith(fixed) for text in texts)
