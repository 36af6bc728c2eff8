"""Sums and principal moments of MJCF inertias, and inertias of geoms, in exact numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from symgen.description.loading import load
from symgen.description.quantities import Location
from symgen.description.readers._mjcf.attributes import Attributes
from symgen.description.readers._mjcf.bodies import DeclaredMass, inertial, inertials
from symgen.description.readers._mjcf.document import Element
from symgen.description.readers._mjcf.settings import Settings, read_settings
from symgen.description.readers._mjcf.whole import (
    bound_principal_moments,
    displacement,
    sum_of_inertias,
    unit,
)
from symgen.description.snapping import Snapper
from symgen.description.tree import Inertial
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import Angle, Pose, Rotate, Shift, Slide, Turn, Vector3
from tests.shared.descriptions import pose_matrix
from tests.shared.mjcf_texts import HINGE, ROD, compiler, mjcf

HERE = Location("robot.xml", 3, "body 'a'")
PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459")
TINY = Fraction(1, 10**54)
"""Far above the rounding to 60 digits, far below that of doubles."""


def settings(**attributes: str) -> Settings:
    section = Element("compiler", attributes, HERE)
    return read_settings(Element("mujoco", {}, HERE, (section,)), Snapper())


def attributes(**values: str) -> Attributes:
    return Attributes(HERE, {name: (text, HERE) for name, text in values.items()})


def vector(*numbers: int | str) -> Vector3:
    x, y, z = map(Fraction, numbers)
    return x, y, z


def tensor(moments: Sequence[Fraction]) -> np.ndarray:
    xx, xy, xz, yy, yz, zz = map(float, moments)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


# -- poses to 60 digits ----------------------------------------------------------------------------

POSES: dict[str, Pose] = {
    "shift": (Shift(vector(1, -2, 3)),),
    "slides": (Slide(vector(1, 2, 2), Fraction(-6)), Slide(vector(0, 0, -3), Fraction("0.5"))),
    "quaternion": (Rotate((Fraction(2), Fraction(-1), Fraction(3), Fraction(5))),),
    "turn": (Turn(vector(1, -2, 2), Angle(radians=Fraction("0.7"))),),
    "large turn": (Turn(vector(3, 1, -1), Angle(radians=Fraction(-100))),),
    "shift after turns": (
        Turn(vector(0, 0, 1), Angle(pi=Fraction(1, 6))),
        Shift(vector(1, 2, 3)),
        Turn(vector(0, 1, 1), Angle(pi=Fraction(7, 5))),
        Slide(vector(1, 0, 1), Fraction(3)),
        Rotate((Fraction(1), Fraction(2), Fraction(-3), Fraction(4))),
        Shift(vector(-4, 1, "0.5")),
    ),
}
POSES |= {
    f"{quarters} quarters": (Turn(vector(1, 0, 0), Angle(pi=Fraction(quarters, 2))),)
    for quarters in (-3, -1, 1, 2, 3, 4, 5)
}


@pytest.mark.parametrize("name", POSES)
def test_a_displacement_is_the_product_of_its_steps(name: str) -> None:
    rotation, position = displacement(POSES[name])
    computed = np.eye(4)
    computed[:3, :3] = [[float(entry) for entry in row] for row in rotation]
    computed[:3, 3] = [float(entry) for entry in position]
    assert np.abs(computed - pose_matrix(POSES[name])).max() < 5e-14


def test_sines_and_cosines_have_sixty_digits() -> None:
    """sin(π/6) = 1/2, cos(π/3) = 1/2, and 2 cos²(π/8) - 1 = cos(π/4) = sin(π/4)."""
    z = vector(0, 0, 1)
    for turns in (0, 2, -4):
        (sixth, *_), _ = displacement((Turn(z, Angle(pi=Fraction(1, 6) + turns)),))
        assert abs(sixth[1] + Fraction(1, 2)) < TINY
        (third, *_), _ = displacement((Turn(z, Angle(pi=Fraction(1, 3) + turns)),))
        assert abs(third[0] - Fraction(1, 2)) < TINY
    (eighth, *_), _ = displacement((Turn(z, Angle(pi=Fraction(1, 8))),))
    (quarter, *_), _ = displacement((Turn(z, Angle(pi=Fraction(1, 4))),))
    assert abs(2 * eighth[0] ** 2 - 1 - quarter[0]) < TINY
    assert abs(quarter[0] + quarter[1]) < TINY


def test_quarter_turns_and_rational_quaternions_are_exact() -> None:
    rotation, _ = displacement((Turn(vector(0, 0, 2), Angle(pi=Fraction(5, 2))),))
    assert rotation == [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    rotation, _ = displacement((Rotate((Fraction(2), Fraction(0), Fraction(0), Fraction(1))),))
    assert rotation[0][:2] == [Fraction(3, 5), Fraction(-4, 5)]
    sevenths = vector("2/7", "-3/7", "6/7")
    assert all(abs(a - b) < TINY for a, b in zip(unit(vector(2, -3, 6)), sevenths, strict=True))


# -- sums ------------------------------------------------------------------------------------------


def test_a_sum_of_inertias_is_that_of_their_points() -> None:
    """The sum has the mass, first and second moments about the common origin of its parts."""
    parts = [
        Inertial(Fraction(2), tuple(map(Fraction, ("0.5", "0.1", "0", "0.6", "-0.1", "0.7"))), pose)
        for pose in (POSES["shift after turns"], POSES["quaternion"], ())
    ] + [Inertial(Fraction(3), (Fraction(0),) * 6, POSES["shift"])]
    total = sum_of_inertias(parts)
    assert total.mass == 9

    def about_origin(part: Inertial) -> np.ndarray:
        matrix, mass = pose_matrix(part.pose), float(part.mass)
        rotation, p = matrix[:3, :3], matrix[:3, 3]
        about_centre = rotation @ tensor(part.moments) @ rotation.T
        return about_centre + mass * (p @ p * np.eye(3) - np.outer(p, p))

    centre = sum(float(part.mass) * pose_matrix(part.pose)[:3, 3] for part in parts) / 9
    assert np.allclose(pose_matrix(total.pose)[:3, 3], centre, atol=1e-13)
    assert np.allclose(pose_matrix(total.pose)[:3, :3], np.eye(3))
    assert np.allclose(about_origin(total), sum(map(about_origin, parts)), atol=1e-12)


def test_a_sum_without_mass_is_at_the_origin() -> None:
    moments = tuple(map(Fraction, (1, 0, 0, 2, 0, 3)))
    weightless = [Inertial(Fraction(0), moments, (Shift(vector(1, 2, 3)),), HERE)] * 2
    total = sum_of_inertias(weightless)
    assert (total.mass, total.pose) == (0, (Shift(vector(0, 0, 0)),))
    assert total.moments == tuple(2 * moment for moment in moments)
    assert total.location == HERE


# -- principal moments -----------------------------------------------------------------------------


def rotated(principal: Sequence[int], quaternion: Sequence[int]) -> tuple[Fraction, ...]:
    """Return the moments of given principal ones in axes rotated by a quaternion, exact."""
    w, x, y, z = map(Fraction, quaternion)
    square = w * w + x * x + y * y + z * z
    columns = [
        [w * w + x * x - y * y - z * z, 2 * (x * y + w * z), 2 * (x * z - w * y)],
        [2 * (x * y - w * z), w * w - x * x + y * y - z * z, 2 * (y * z + w * x)],
        [2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z],
    ]
    return tuple(
        sum(
            (value * c[i] * c[j] / square**2 for value, c in zip(principal, columns, strict=True)),
            Fraction(0),
        )
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    )


@pytest.mark.parametrize("principal", [(1, 4, 9), (9, 1, 4), (4, 9, 1), (2, 2, 9), (-3, 2, 8)])
@pytest.mark.parametrize("quaternion", [(5, 1, -2, 3), (1, 1, 0, 0)])
def test_each_principal_moment_is_raised_to_the_bound_in_its_own_axis(
    principal: tuple[int, ...], quaternion: tuple[int, ...]
) -> None:
    for bound in (3, 5, 10):
        bounded = bound_principal_moments(rotated(principal, quaternion), Fraction(bound))
        expected = rotated([max(value, bound) for value in principal], quaternion)
        assert all(abs(a - b) < TINY for a, b in zip(bounded, expected, strict=True))


def test_small_off_diagonal_moments_still_turn_the_axes() -> None:
    """To first order, the axes of (1, 2, 3) with the entry e between the first two turn by -e."""
    small = Fraction(1, 10**20)
    moments = (Fraction(1), small, Fraction(0), Fraction(2), Fraction(0), Fraction(3))
    bounded = bound_principal_moments(moments, Fraction(3, 2))
    assert abs(bounded[1] - small / 2) < small**2
    assert bounded[3] - 2 > 0
    assert abs(bounded[0] - Fraction(3, 2)) < small


# -- bounds, balance, choice of geoms --------------------------------------------------------------


def declared_mass(mass: str, *moments: str) -> DeclaredMass:
    values = {"pos": "1 2 3", "mass": mass, "fullinertia": " ".join(moments)}
    return DeclaredMass((Element("inertial", values, HERE), ()), (), vector(7, 8, 9), HERE)


DIAGONAL = declared_mass("2", "1", "2", "2.5", "0", "0", "0")
ANOTHER_GEOM = (attributes(size="1", mass="5"), ())


def test_bounds_raise_mass_and_moments() -> None:
    def moments(body: DeclaredMass, **bounds: str) -> tuple[Fraction, tuple[Fraction, ...]]:
        (inertia,) = inertials(body, settings(**bounds))
        assert inertia.pose == (Shift(vector(1, 2, 3)),)
        return inertia.mass, inertia.moments

    declared = tuple(map(Fraction, ("1", "0", "0", "2", "0", "2.5")))
    raised = tuple(map(Fraction, ("2.2", "0", "0", "2.2", "0", "2.5")))
    assert moments(DIAGONAL) == (2, declared)
    assert moments(DIAGONAL, boundmass="1") == (2, declared)
    assert moments(DIAGONAL, boundmass="3") == (3, declared)
    assert moments(DIAGONAL, boundinertia="1") == (2, declared)
    assert moments(DIAGONAL, boundinertia="2.2") == (2, raised)
    assert moments(DIAGONAL, boundinertia="2.2", boundmass="4") == (4, raised)
    assert moments(DIAGONAL, boundinertia="-2", boundmass="-1") == (2, declared)
    for k, name in enumerate(("xy", "xz", "yz")):
        products = ["0", "0", "0"]
        products[k] = "0.5"
        body = declared_mass("2", "1", "2", "2.5", *products)
        _, bounded = moments(body, boundinertia="2.4")
        eigenvalues = np.linalg.eigvalsh(tensor(bounded))
        assert eigenvalues.min() == pytest.approx(2.4), name
        original = np.linalg.eigvalsh(tensor(moments(body)[1]))
        assert np.allclose(eigenvalues, np.maximum(original, 2.4))


def test_a_body_without_inertia_has_the_bounds_at_its_position() -> None:
    empty = DeclaredMass(None, (), vector(7, 8, 9), HERE)
    assert inertials(empty, settings()) == ()
    for bounds in ({"boundmass": "3"}, {"boundinertia": "2"}):
        (inertia,) = inertials(empty, settings(**bounds))
        mass, moment = Fraction(bounds.get("boundmass", 0)), Fraction(bounds.get("boundinertia", 0))
        assert (inertia.mass, inertia.pose) == (mass, (Shift(vector(7, 8, 9)),))
        assert inertia.moments == (moment, 0, 0, moment, 0, moment)


def test_impossible_moments_are_balanced_to_their_mean() -> None:
    """Moments (1, 2, 4) violate the triangle inequality 1 + 2 >= 4."""
    impossible = declared_mass("2", "1", "2", "4", "0.1", "0.2", "0.3")
    mean = Fraction(7, 3)
    assert inertials(impossible, settings())[0].moments[0] == 1
    (balanced,) = inertials(impossible, settings(balanceinertia="true"))
    assert balanced.moments == (mean, 0, 0, mean, 0, mean)
    assert balanced.mass == 2
    limit = declared_mass("2", "1", "2", "3", "0", "0", "0")
    assert inertials(limit, settings(balanceinertia="true"))[0].moments[5] == 3


def test_the_compiler_chooses_between_declared_masses_and_geoms() -> None:
    both = DeclaredMass(DIAGONAL.declared, (ANOTHER_GEOM,), vector(0, 0, 0), HERE)
    geoms = DeclaredMass(None, (ANOTHER_GEOM, ANOTHER_GEOM), vector(0, 0, 0), HERE)
    empty_geom = attributes(size="1", mass="0")
    weightless = DeclaredMass(DIAGONAL.declared, ((empty_geom, ()),), vector(0, 0, 0), HERE)
    for choice, masses_of_both, masses_of_geoms in (
        ("auto", [2], [5, 5]),
        ("true", [5], [5, 5]),
        ("false", [2], []),
    ):
        of_choice = settings(inertiafromgeom=choice)
        assert [part.mass for part in inertials(both, of_choice)] == masses_of_both
        assert [part.mass for part in inertials(geoms, of_choice)] == masses_of_geoms
        assert [part.mass for part in inertials(weightless, of_choice)] == [2]


# -- geoms -----------------------------------------------------------------------------------------


def inertia_of(**values: str) -> Inertial:
    inertia = inertial(attributes(**values), settings(), ())
    assert inertia is not None
    return inertia


def solid_points(kind: str, a: float, b: float, c: float) -> tuple[float, np.ndarray]:
    """Return volume and moments of a solid for a density of 1, by the midpoint rule over disks.

    The solid is cut along z into disks (or plates) with semi-axes proportional to f(z).
    """
    half = {"sphere": a, "capsule": b + a, "cylinder": b, "ellipsoid": c, "box": c}[kind]
    z = (np.arange(20000) + 0.5) / 20000 * 2 * half - half
    if kind in ("sphere", "ellipsoid"):
        f = np.sqrt(1 - (z / half) ** 2)
    elif kind == "capsule":
        f = np.sqrt(1 - (np.maximum(np.abs(z) - b, 0) / a) ** 2)
    else:
        f = np.ones_like(z)
    x, y = (a * f, b * f) if kind in ("ellipsoid", "box") else (a * f, a * f)
    area, share = (4 * x * y, 1 / 3) if kind == "box" else (math.pi * x * y, 1 / 4)
    step = 2 * half / 20000
    xx, yy, zz = (area * x * x * share, area * y * y * share, area * z * z)
    second = np.array([values.sum() * step for values in (xx, yy, zz)])
    return float(area.sum() * step), second.sum() - second


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("sphere", (0.3,)),
        ("capsule", (0.2, 0.7)),
        ("cylinder", (0.5, 0.3)),
        ("ellipsoid", (0.2, 0.5, 0.9)),
        ("box", (0.2, 0.5, 0.9)),
    ],
)
def test_the_inertia_of_a_solid_is_the_integral_over_its_volume(
    kind: str, sizes: tuple[float, ...]
) -> None:
    volume, moments = solid_points(kind, *sizes, *(0.0,) * (3 - len(sizes)))
    inertia = inertia_of(type=kind, size=" ".join(map(str, sizes)), density="3")
    assert float(inertia.mass) == pytest.approx(3 * volume, rel=1e-6)
    assert [float(inertia.moments[k]) for k in (0, 3, 5)] == pytest.approx(3 * moments, rel=1e-6)
    assert all(inertia.moments[k] == 0 for k in (1, 2, 4))
    of_mass = inertia_of(type=kind, size=" ".join(map(str, sizes)), mass="2")
    assert of_mass.mass == 2
    ratio = inertia.moments[0] / inertia.mass - of_mass.moments[0] / 2
    assert abs(ratio) < TINY


def test_a_geom_is_a_sphere_of_water_unless_it_says_otherwise() -> None:
    sphere = inertia_of(size="0.3")
    assert abs(sphere.mass - 1000 * PI * Fraction("0.036")) < TINY
    assert abs(sphere.moments[5] - sphere.mass * Fraction("0.036")) < TINY
    turned = inertia_of(size="0.3", quat="1 2 3 4", pos="1 2 3", mass="1")
    assert turned.pose == (Shift(vector(1, 2, 3)),)


def test_a_rod_between_two_ends_has_the_inertia_of_one_along_z() -> None:
    """Both ends are (1, 2, 3) and (3, 5, 9): length 7, direction (2, 3, 6)/7."""
    for kind in ("capsule", "cylinder", "box", "ellipsoid"):
        rod = inertia_of(type=kind, size="0.25", fromto="1 2 3 3 5 9", mass="2")
        size = "0.25 3.5" if kind in ("capsule", "cylinder") else "0.25 0.25 3.5"
        straight = inertia_of(type=kind, size=size, mass="2")
        across, along = straight.moments[0], straight.moments[5]
        assert rod.pose == (Shift(vector(2, "3.5", 6)),)
        direction = np.array([2, 3, 6]) / 7
        expected = float(across) * np.eye(3) + float(along - across) * np.outer(
            direction, direction
        )
        assert np.allclose(tensor(rod.moments), expected, rtol=1e-14)
    with pytest.raises(DescriptionError, match="its two ends coincide"):
        inertia_of(type="capsule", size="0.1", fromto="1 1 1 1 1 1")
    with pytest.raises(DescriptionError, match="a sphere cannot have fromto"):
        inertia_of(size="0.1", fromto="1 1 1 1 1 2")


@pytest.mark.parametrize(
    ("kind", "size", "count"),
    [
        ("sphere", "0", "1 size"),
        ("sphere", "-1", "1 size"),
        ("capsule", "1", "2 sizes"),
        ("cylinder", "1 0", "2 sizes"),
        ("box", "1 2", "3 sizes"),
        ("ellipsoid", "1 2 -3", "3 sizes"),
    ],
)
def test_a_solid_with_too_few_sizes_is_refused(kind: str, size: str, count: str) -> None:
    with pytest.raises(DescriptionError, match=f"a {kind} takes {count} above zero"):
        inertia_of(type=kind, size=size)


def test_only_the_needed_sizes_are_read() -> None:
    assert inertia_of(type="sphere", size="1 0 -3", mass="5").moments[0] == 2
    assert inertia_of(type="capsule", size="1 2 -3", mass="5").moments[0] > 0
    rod = inertia_of(type="capsule", size="1 -2", fromto="0 0 0 0 0 4", mass="5")
    assert rod.moments == inertia_of(type="capsule", size="1 2", mass="5").moments


def test_geoms_without_mass_have_no_inertia() -> None:
    def exists(**values: str) -> bool:
        return inertial(attributes(size="1", **values), settings(), ()) is not None

    assert exists()
    assert not exists(type="plane")
    assert not exists(type="hfield")
    assert not exists(mass="0")
    assert not exists(density="0")
    assert not exists(mass="0", density="3")
    assert exists(mass="1", density="0")
    assert not exists(mass="0", type="mesh")
    assert not exists(mass="0", shellinertia="true")
    for values, message in (
        ({"type": "mesh"}, "those of a mesh"),
        ({"mesh": "m"}, "those of a mesh"),
        ({"type": "sdf"}, "those of a mesh"),
        ({"shellinertia": "true"}, r"on the surface \(shellinertia\)"),
        ({"mass": "-1"}, "the mass is negative"),
        ({"density": "-1", "mass": "1"}, "the density is negative"),
    ):
        with pytest.raises(DescriptionError, match=message):
            exists(**values)


def test_only_geoms_of_the_given_groups_count() -> None:
    for low, high in ((0, 5), (1, 3), (2, 2)):
        of_groups = settings(inertiagrouprange=f"{low} {high}")
        for group in range(7):
            geom = attributes(size="1", group=str(group))
            assert (inertial(geom, of_groups, ()) is not None) == (low <= group <= high)
        assert (inertial(attributes(size="1"), of_groups, ()) is not None) == (low == 0)


# -- the whole model -------------------------------------------------------------------------------


def test_a_total_mass_scales_masses_and_moments_of_all_bodies() -> None:
    text = mjcf(
        f'<body>{HINGE}<geom size="0.1" mass="1"/><geom type="box" size="1 1 1" mass="3"/>'
        f'<body>{HINGE}<geom size="0.2" mass="4"/></body></body>'
    )
    scaled = text.replace("<worldbody>", compiler(settotalmass="2") + "<worldbody>")
    for before, after in zip(load(text).bodies, load(scaled).bodies, strict=True):
        for whole, quarter in zip(before.parts, after.parts, strict=True):
            assert quarter.mass == whole.mass / 4
            assert quarter.moments == tuple(moment / 4 for moment in whole.moments)
    for total in ("0", "-1"):
        unscaled = text.replace("<worldbody>", compiler(settotalmass=total) + "<worldbody>")
        assert load(unscaled).mass == 8


@pytest.mark.parametrize(
    ("align", "of_all", "noted"),
    [
        ("true", "false", True),
        ("true", "true", True),
        ("auto", "true", True),
        ("auto", "false", False),
        ("", "true", True),
        ("", "false", False),
        ("false", "true", False),
    ],
)
def test_a_note_names_free_joints_that_mujoco_aligns(align: str, of_all: str, noted: bool) -> None:
    attribute = f'align="{align}"' if align else ""
    text = mjcf(f"<body><freejoint {attribute}/>{ROD}</body>", compiler(alignfree=of_all))
    notes = [note.text for note in load(text).notes if "MuJoCo may align that" in note.text]
    assert len(notes) == noted


def test_frames_are_nested_at_most_32_deep() -> None:
    def nested(depth: int) -> str:
        inside = f"<body>{HINGE}{ROD}</body>"
        return mjcf('<frame pos="1 0 0">' * depth + inside + "</frame>" * depth)

    (joint,) = load(nested(32)).joints
    assert joint.pose == (Shift(vector(32, 0, 0)),)
    with pytest.raises(DescriptionError, match="frames are nested more than 32 deep"):
        load(nested(33))


def test_the_link_of_a_body_is_numbered_in_the_order_of_the_file() -> None:
    text = mjcf(
        f'<body>{HINGE}{ROD}<body name="x">{HINGE}{ROD}</body><body>{HINGE}{ROD}</body></body>'
        f"<body>{HINGE}{ROD}</body>"
    )
    assert [body.name for body in load(text).bodies] == ["body1", "x", "body3", "body4"]
