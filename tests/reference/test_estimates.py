"""Estimates of lost digits and bounds of inertias, in closed form on slides and hinges through one
point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import flint
import numpy as np
import pytest

import symgen
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Part
from symgen.reference import planar_chain, singularity
from symgen.reference.assembling import assemble
from symgen.reference.free_bodies import freedom
from symgen.reference.leverage import leverage
from symgen.reference.loop_mobility import loop_arm_ranks
from symgen.reference.mechanics import Reference
from symgen.reference.mobility import mobility
from symgen.reference.states import draw_states
from symgen.reference.truncated_pivots import Tails
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Pose, Shift, Turn, Vector3
from tests.shared.robots_for_tests import point_mass_arm

AXES = {"x": X_AXIS, "y": Y_AXIS, "z": Z_AXIS}


ORIGIN = Fraction(0), Fraction(0), Fraction(0)


def vector(x: float = 0, y: float = 0, z: float = 0) -> Vector3:
    return Fraction(x), Fraction(y), Fraction(z)


def joint(i: int, kind: str, axis: str = "z", pose: Pose = (), armature: int = 0) -> Joint:
    drive = Drive(armature=Fraction(armature))
    return Joint(f"joint{i}", kind, i - 1, pose, AXES[axis], drive=drive)


def part(mass: float, centre: Vector3 = ORIGIN, moments: tuple[float, ...] = (0,) * 6) -> Part:
    about_centre = tuple(map(Fraction, moments))
    return Part("part", (Shift(centre),), Fraction(mass), about_centre)  # type: ignore[arg-type]


def chain(joints: list[Joint], parts: list[Part]) -> Mechanism:
    bodies = tuple(Body(f"link{i}", (link,)) for i, link in enumerate(parts))
    frames = tuple(Frame(body.name, i) for i, body in enumerate(bodies))
    return Mechanism("chain", tuple(joints), bodies, (*frames, Frame("ground", BASE)))


# -- the planar chain of unit masses --


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_a_planar_chain_has_the_determinant_and_accelerations_of_its_mass_matrix(n: int) -> None:
    reference = Reference(point_mass_arm(*[1] * n))
    q, b = np.linspace(0.4, -1.3, n), np.linspace(1, -2, n)
    mass = reference.mass_matrix(q)
    assert planar_chain.log_determinant(q) == pytest.approx(np.linalg.slogdet(mass)[1], abs=1e-12)
    assert planar_chain.solution(q, b) == pytest.approx(np.linalg.solve(mass, b), abs=1e-11)
    h = 1e-5
    steps = h * np.eye(n)
    up, down = (
        np.array([np.linalg.slogdet(reference.mass_matrix(q + sign * step))[1] for step in steps])
        for sign in (1, -1)
    )
    assert planar_chain.gradient(q) == pytest.approx((up - down) / (2 * h), abs=1e-8)


# -- freedom of links without their joints --

MOMENTS = (0.25, 0, 0, 0.5, 0, 0.125)
NORM = sqrt(0.25**2 + 0.5**2 + 0.125**2)
LEAST = 0.125
"""kg m²: principal moments of a link, their Frobenius norm and the least of them."""


def two_digits(x: float) -> float:
    return float(f"{x:.1e}")


def test_freedom_of_one_hinge() -> None:
    """J = m d² + |I|; a torque turns the link by 1/λ, a force shifts its hinge by 1/m + d²/λ."""
    mechanism = chain([joint(0, "revolute")], [part(2, vector(3), MOMENTS)])
    J, shift = 2 * 9 + NORM, 1 / 2 + 9 / LEAST
    expected = (sqrt(J / LEAST) + sqrt(2 * shift)) ** 2 / 2
    assert freedom(mechanism) == two_digits(expected)


def test_freedom_at_another_point_of_the_link() -> None:
    """At (3, 4, 0) from the mass centre, the lever of J is 5 m, and that of the free link stays
    about this point.
    """
    mechanism = chain([joint(0, "revolute")], [part(2, vector(3), MOMENTS)])
    J, shift = 2 * 25 + NORM, 1 / 2 + 25 / LEAST
    expected = (sqrt(J / LEAST) + sqrt(2 * shift)) ** 2 / 2
    assert freedom(mechanism, points=((6.0, 4.0, 0.0),)) == two_digits(expected)


def test_freedom_of_a_screw_has_the_square_of_its_lead() -> None:
    """A lead of 3 m/rad adds m 3² to J, whichever way the screw turns."""
    for pitch in (3, -3):
        screw = replace(joint(0, "helical", pose=()), parameters=(("pitch", Fraction(pitch)),))
        mechanism = chain([screw], [part(2, vector(3), MOMENTS)])
        J, shift = 2 * 9 + NORM + 2 * 9, 1 / 2 + 9 / LEAST
        expected = (sqrt(J / LEAST) + sqrt(2 * shift)) ** 2 / 2
        assert freedom(mechanism) == two_digits(expected)


def test_freedom_adds_the_links_beside_each_joint() -> None:
    """Two hinges through one point; the outer one is between two free links, the inner one carries
    both.
    """
    mechanism = chain(
        [joint(0, "revolute", "x"), joint(1, "revolute", "y")],
        [part(0.5, vector(z=2), MOMENTS), part(4, vector(1), tuple(2 * x for x in MOMENTS))],
    )
    inner, outer = 0.5 * 4 + NORM, 4 * 1 + 2 * NORM
    turns = (1 / LEAST, 1 / (2 * LEAST))
    shifts = (1 / 0.5 + 4 / LEAST, 1 / 4 + 1 / (2 * LEAST))
    terms = sqrt((inner + outer) * turns[0]) + sqrt(4.5 * shifts[0])
    terms += sqrt(outer * sum(turns)) + sqrt(4 * sum(shifts))
    assert freedom(mechanism) == two_digits(terms**2 / 4)


def test_freedom_of_links_of_two_parts_is_about_their_common_centre() -> None:
    """Two masses of 1 kg at ±1 m along y are 2 kg with the moments 2, 0 and 2 kg m²: the zero does
    not count.
    """
    link = Body("link0", (part(1, vector(y=1)), part(1, vector(y=-1))))
    mechanism = replace(chain([joint(0, "revolute")], [part(1)]), bodies=(link,))
    J, shift = 2, 1 / 2
    assert freedom(mechanism) == two_digits((sqrt(J / 2) + sqrt(2 * shift)) ** 2 / 2)


def test_a_point_mass_does_not_turn_and_a_massless_link_is_free() -> None:
    """Only √(m/m) is left for a point mass; a link without mass moves without bound."""
    assert freedom(chain([joint(0, "revolute")], [part(7)])) == 0.5
    massless = chain([joint(0, "revolute"), joint(1, "revolute", "x")], [part(0), part(1)])
    assert freedom(massless) == float("inf")


def test_freedom_of_a_load_is_that_of_the_link_with_it() -> None:
    mechanism = chain([joint(0, "revolute")], [part(2, vector(3), MOMENTS)])
    assert freedom(mechanism, "link0") != freedom(mechanism)
    assert freedom(mechanism, "ground") == freedom(mechanism)


# -- leverage of distant mass centres --


def test_leverage_compares_levers_about_mass_centres_and_about_joints() -> None:
    """The mass centre of the first link is 3 m up the axis of the second, whose own one is 4 m off:
    5 m apart.
    """
    mechanism = chain(
        [joint(0, "revolute", "x"), joint(1, "revolute", "z")],
        [part(0.25, vector(z=3), MOMENTS), part(2, vector(4), MOMENTS)],
    )
    about_joint = 0.25 * 9 + NORM + 2 * 16 + NORM
    assert leverage(mechanism) == two_digits((about_joint + 2 * 9) / about_joint)


def test_leverage_of_one_link_is_one() -> None:
    assert leverage(chain([joint(0, "revolute")], [part(2, vector(3), MOMENTS)])) == 1
    assert leverage(chain([joint(0, "revolute")], [part(0)])) == 1


def test_a_link_without_mass_has_its_centre_at_its_origin() -> None:
    mechanism = chain(
        [joint(0, "revolute", "x"), joint(1, "revolute", "z")],
        [part(0, vector(z=3)), part(2, vector(4), MOMENTS)],
    )
    assert leverage(mechanism) == 1


# -- mobility along the path of a frame --


@pytest.mark.parametrize("kind", ["prismatic", "revolute"])
def test_mobility_of_a_light_link_under_a_heavy_one(kind: str) -> None:
    """M⁻¹ is 1/m₁ for the light link, and 1/m₂ for the heavy one, which changes by 1/m₂ + 2/m₂ with
    M and J.
    """
    light, heavy = (part(m, moments=(0.01, 0, 0, 0.01, 0, m)) for m in (1, 36))
    mechanism = chain([joint(0, kind), joint(1, kind)], [light, heavy])
    assert mobility(mechanism, "link1") == 12
    assert mobility(mechanism, "link0") == 1
    assert mobility(mechanism, "ground") == mobility(mechanism, None) == 1


def test_a_rotation_moves_distant_points() -> None:
    """At 1 m from both axes, the point of the light link has 1/I₁; its change is 3/I₂ and as much
    for the rotation.
    """
    inertias = [part(1e-9, moments=(0.01, 0, 0, 0.01, 0, zz)) for zz in (1, 36)]
    mechanism = chain([joint(0, "revolute"), joint(1, "revolute")], inertias)
    tip = Frame("tip", 1, (Shift(vector(1)),))
    assert mobility(replace(mechanism, frames=(*mechanism.frames, tip)), "tip") == 12


def test_the_point_may_lie_at_any_distance_from_the_joints_of_its_path() -> None:
    """A light slide carries a heavy one and a hinge without mass, whose link of inertia I bears the
    point at a distance d. The light slide has 1/m₁. The change of the point's M⁻¹ has 3/m₂ of
    the heavy slide, 3d²/I of the hinge, terms of both, and 3 D²/I for the rotation: D is the
    largest distance from the joints, which depends on the slides.
    """
    light, heavy, inertia, d = 1.0, 4096.0, 4096.0, 0.5
    hinge = part(0, moments=(0, 0, 0, 0, 0, inertia))
    mechanism = chain(
        [joint(0, "prismatic", "x"), joint(1, "prismatic", "x"), joint(2, "revolute")],
        [part(light), part(heavy), hinge],
    )
    tip = Frame("tip", 2, (Shift(vector(d)),))
    states = draw_states(mechanism, 4)["q"].astype(float)
    ratios = []
    for _, slide, angle in states:
        x, y = d * np.cos(angle), d * np.sin(angle)
        along = (1 / sqrt(heavy) + abs(y) / sqrt(inertia)) ** 2 + 2 * (1 / heavy + y**2 / inertia)
        across, largest_distance = 3 * x**2 / inertia, max(np.hypot(slide + x, y), d)
        change = along + across + largest_distance**2 * 3 / inertia
        ratios.append(1 / light / change)
    assert mobility(replace(mechanism, frames=(tip,)), "tip") == two_digits(max(ratios))
    assert two_digits(max(ratios)) > two_digits(sorted(ratios)[-2])


def test_a_singular_mass_matrix_has_unbounded_mobility() -> None:
    mechanism = chain([joint(0, "prismatic"), joint(1, "prismatic")], [part(0), part(1)])
    assert mobility(mechanism, "link1") == float("inf")


@pytest.mark.parametrize("estimate", [freedom, leverage, lambda robot: mobility(robot, "link1")])
@pytest.mark.parametrize("axis", ["x", "z"])
def test_no_estimate_depends_on_the_place_of_the_base(
    estimate: Callable[[Mechanism], float], axis: str
) -> None:
    mechanism = chain(
        [joint(0, "revolute", axis), joint(1, "revolute", "z")],
        [
            part(1, vector(z=3), (0.01, 0, 0, 0.01, 0, 1)),
            part(1, vector(4), (0.01, 0, 0, 0.01, 0, 36)),
        ],
    )
    first = replace(mechanism.joints[0], pose=(Shift(vector(7, -20, 5)),))
    moved = replace(mechanism, joints=(first, mechanism.joints[1]))
    assert estimate(moved) == estimate(mechanism)
    assert estimate(mechanism) > 1 or axis == "x"


def test_a_cylinder_has_no_lead() -> None:
    """It slides apart from its turning, so that its freedom is that of a hinge."""
    hinge, cylinder = (
        chain([joint(0, kind)], [part(2, vector(3), MOMENTS)])
        for kind in ("revolute", "cylindrical")
    )
    assert freedom(cylinder) == freedom(hinge)


# -- chains that are cut into segments --


def slides(axes: str, masses: list[int], armature: int = 0) -> Mechanism:
    return chain(
        [joint(i, "prismatic", axis, armature=armature) for i, axis in enumerate(axes)],
        [part(mass) for mass in masses],
    )


def test_pivots_of_orthogonal_slides_are_the_masses_that_they_carry() -> None:
    tails = Tails(slides("xyz", [1, 2, 4]))
    assert [pivot.tolist() for pivot in tails.pivots] == [[7, 7], [6, 6], [4, 4]]
    assert tails.largest_pivot_ratio(1) == 7
    assert tails.largest_pivot_ratio(2) == 3  # 6/2, and 7/3 of the first joint
    assert tails.largest_pivot_ratio(3) == 1


def test_an_armature_adds_to_the_pivot_of_its_joint_only() -> None:
    tails = Tails(slides("xy", [1, 2], armature=4))
    assert [pivot.tolist() for pivot in tails.pivots] == [[7, 7], [6, 6]]
    assert tails.largest_pivot_ratio(1) == 1.4


def test_slides_along_one_axis_carry_nothing() -> None:
    tails = Tails(slides("xx", [1, 8]))
    assert tails.largest_pivot_ratio(1) == 1


def test_a_segment_without_mass_at_its_end_cannot_be_cut_off() -> None:
    assert Tails(slides("xyz", [1, 0, 4])).largest_pivot_ratio(2) == float("inf")


def test_ratios_have_two_digits() -> None:
    assert Tails(slides("xy", [7, 3])).largest_pivot_ratio(1) == 1.4


def test_only_joints_near_the_cut_are_examined() -> None:
    """The first slide is across all others; 16 joints before the cut are examined."""
    tails = Tails(slides("y" + "x" * 17, [1] * 17 + [100]))
    assert tails.largest_pivot_ratio(17) == 1
    tails = Tails(slides("y" + "x" * 16, [1] * 16 + [16]))
    assert tails.largest_pivot_ratio(16) == 2


def test_the_pivot_of_a_hinge_has_the_moments_of_all_that_it_turns() -> None:
    """About z: links on slides along z at 2 m and beyond, the second one with its axes turned by a
    quarter about z.
    """
    quarter: Pose = (Shift(vector(2)), Turn(Z_AXIS, Angle(pi=Fraction(1, 2))))
    mechanism = chain(
        [joint(0, "revolute"), joint(1, "prismatic", "z", quarter), joint(2, "revolute", "x")],
        [
            part(1, vector(0, 3), (1, 0, 0, 1, 0, 0.5)),
            part(2, vector(0, -1, 7), (1, 0, 0, 1, 0, 0.25)),
            part(0),
        ],
    )
    tails = Tails(mechanism)
    # (2, 0) and (0, -1) turned by a quarter about z, which is (1, 0)
    hinged, carried = 0.5 + 1 * 9, 0.25 + 2 * 9
    assert tails.pivots[0] == pytest.approx([hinged + carried] * 2, abs=1e-12)
    assert tails.pivots[1] == pytest.approx([2, 2], abs=1e-12)
    assert tails.largest_pivot_ratio(1) == two_digits((hinged + carried) / hinged)


# -- the arms of closed loops --


def test_the_arms_of_a_four_bar_move_two_rows_and_one() -> None:
    mechanism = symgen.load("four_bar")
    assert loop_arm_ranks(mechanism, assemble(mechanism)) == ((2, 1),)
    (loop,) = mechanism.loops
    exchanged = replace(mechanism, loops=(replace(loop, first=loop.second, second=loop.first),))
    assert loop_arm_ranks(exchanged, assemble(exchanged)) == ((1, 2),)


# -- bounds of pivots --

FULL = (3, 0.5, -0.25, 4, 0.75, 5)


def matrix(moments: tuple[float, ...]) -> np.ndarray:
    xx, xy, xz, yy, yz, zz = moments
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def about_origin(mass: float, centre: Vector3) -> np.ndarray:
    c = np.array([float(x) for x in centre])
    return matrix(FULL) + mass * (c @ c * np.eye(3) - np.outer(c, c))


def lower_bounds(kind: Joint, *parts: Part) -> list[float]:
    bounds = singularity.pivot_lower_bounds(kind, Body("link", parts))
    return [float(Fraction(int(x.p), int(x.q))) for x in bounds]


CENTRE = vector(0.5, -1, 2)


def test_the_bound_of_a_hinge_is_the_moment_about_its_axis() -> None:
    """The axis has any length; an armature and further parts are added."""
    slanted = replace(joint(0, "revolute", armature=7), axis=vector(1, -2, 3))
    axis = np.array([1, -2, 3])
    inertia = about_origin(2, CENTRE)
    expected = axis @ inertia @ axis / (axis @ axis)
    (bound,) = lower_bounds(slanted, part(2, CENTRE, FULL))
    assert bound == pytest.approx(expected + 7, rel=1e-14)
    (both,) = lower_bounds(slanted, part(2, CENTRE, FULL), part(1, vector(), FULL))
    assert both == pytest.approx(expected + 7 + axis @ matrix(FULL) @ axis / (axis @ axis))


def test_the_bound_of_a_slide_is_its_mass() -> None:
    slanted = replace(joint(0, "prismatic"), axis=vector(1, -2, 3))
    assert lower_bounds(slanted, part(2, CENTRE, FULL)) == pytest.approx([2])


def test_the_bounds_of_a_screw_and_of_a_cylinder() -> None:
    """A screw also moves its mass by its pitch; a cylinder moves it apart from the turning."""
    inertia = about_origin(2, CENTRE)
    screw = replace(joint(0, "helical"), parameters=(("pitch", Fraction(3)),))
    assert lower_bounds(screw, part(2, CENTRE, FULL)) == pytest.approx([inertia[2, 2] + 2 * 9])
    assert lower_bounds(joint(0, "cylindrical"), part(2, CENTRE, FULL)) == pytest.approx(
        [2, inertia[2, 2]]
    )


def test_the_bounds_of_a_ball_are_the_pivots_of_its_inertia_from_the_last() -> None:
    """Their products are the determinants of the trailing blocks."""
    inertia = about_origin(2, CENTRE)
    bounds = lower_bounds(joint(0, "spherical"), part(2, CENTRE, FULL))
    trailing = [np.linalg.det(inertia[k:, k:]) for k in (2, 1, 0)]
    assert np.cumprod(bounds) == pytest.approx(trailing)


def test_the_bounds_of_a_free_body_multiply_to_its_mass_and_central_moments() -> None:
    """They are linear, then angular, from the last: the last three are those of the mass alone."""
    bounds = lower_bounds(joint(0, "free"), part(2, CENTRE, FULL))
    assert np.prod(bounds) == pytest.approx(2**3 * np.linalg.det(matrix(FULL)))
    assert bounds[0] == pytest.approx(about_origin(2, CENTRE)[2, 2])


def test_the_moments_of_turned_parts_count_with_a_bound_of_the_least_one() -> None:
    """4 det/tr² of the moments 1, 2 and 3, and the mass centre before the rotation."""
    turn = Turn(Z_AXIS, Angle(radians=Fraction(1, 3)))
    turned = Part(
        "part", (Shift(vector(3)), turn), Fraction(2), part(1, vector(), (1, 0, 0, 2, 0, 3)).moments
    )
    assert lower_bounds(joint(0, "revolute"), turned) == pytest.approx([2 * 9 + 4 * 6 / 36])
    behind = replace(turned, pose=(turn, Shift(vector(3))))
    assert lower_bounds(joint(0, "revolute"), behind) == [0]
    assert lower_bounds(joint(0, "spherical"), behind) == [0, 0, 0]
    flat = replace(turned, moments=(Fraction(0),) * 6)
    assert lower_bounds(joint(0, "revolute"), flat) == [18]


def test_the_bound_of_the_least_moment_is_below_it_and_a_determinant_is_one() -> None:
    exact = tuple(map(singularity._exact, map(Fraction, FULL)))
    determinant = singularity._determinant(exact)
    assert float(flint.arb(determinant)) == pytest.approx(np.linalg.det(matrix(FULL)), rel=1e-14)
    least = float(flint.arb(singularity._least_principal_moment(exact)))
    assert least == pytest.approx(4 * np.linalg.det(matrix(FULL)) / 12**2, rel=1e-14)
    assert 0.5 * np.linalg.eigvalsh(matrix(FULL))[0] < least < np.linalg.eigvalsh(matrix(FULL))[0]


@pytest.mark.parametrize(
    ("moments", "physical"),
    [
        (FULL, True),
        ((1, 0, 0, 2, 0, 3), True),
        ((0, 0, 0, 0, 0, 0), True),
        ((-1, 0, 0, 0, 0, 0), False),
        ((0, 0, 0, -2, 0, 0), False),
        ((0, 0, 0, 0, 0, -3), False),
        ((-1, 0, 0, -2, 0, -3), False),
        ((1, 2, 0, 3, 0, 4), False),
        ((1, 0, 2, 3, 0, 3), False),
        ((4, 0, 0, 1, 2, 3), False),
        ((1, 1, 1, 1, -1, 1), False),  # the minors are 0, the determinant is −4
        ((1, 1, 1, 1, 1, 1), True),
    ],
)
def test_physical_inertias_are_positive_semidefinite(
    moments: tuple[float, ...], physical: bool
) -> None:
    link = part(1, moments=moments)
    assert physical == (np.linalg.eigvalsh(matrix(moments)).min() > -1e-12)
    mechanism = chain([joint(0, "revolute"), joint(1, "revolute")], [part(1), link])
    assert singularity.has_physical_inertias(mechanism) == physical


# -- bounds of the diagonal of M --


def upper_bounds(mechanism: Mechanism, payload: str | None = None) -> list[float]:
    return [float(x) for x in singularity.diagonal_upper_bounds(mechanism, payload)]


def loaded(mass: float = 1, moment: float = 0, armature: int = 0) -> Mechanism:
    inertia = part(mass, vector(2, 0, 1), (moment, 0, 0, moment, 0, moment))
    return chain(
        [
            joint(0, "revolute", armature=armature),
            joint(1, "prismatic", "x", (Shift(vector(1)),), armature=2 * armature),
        ],
        [inertia, inertia],
    )


def test_upper_bounds_are_linear_in_masses_moments_and_armatures() -> None:
    masses, moments = upper_bounds(loaded()), upper_bounds(loaded(0, 1))
    assert upper_bounds(loaded(3, 5)) == pytest.approx(
        [3 * a + 5 * b for a, b in zip(masses, moments, strict=True)]
    )
    assert upper_bounds(loaded(armature=4)) == pytest.approx([masses[0] + 4, masses[1] + 8])
    assert moments[0] >= 2 * 3  # the traces of both links, which the hinge turns
    assert moments[1] >= 0


def test_upper_bounds_hold_for_a_slide_as_far_out_as_it_is_drawn() -> None:
    """At 4 m the outer mass is 7 m from the hinge along x; the inner one is at 2 m."""
    assert upper_bounds(loaded())[0] > 2**2 + 7**2
    assert upper_bounds(loaded())[1] >= 1


@pytest.mark.parametrize(("offset", "centre"), [(100, 1), (1, 100), (0, 0)])
def test_upper_bounds_hold_for_far_joints_and_far_masses(offset: int, centre: int) -> None:
    """A point mass on the second of two hinges is at the sum of both from the first; a slide has
    its mass.
    """
    mechanism = chain(
        [joint(0, "revolute"), joint(1, "revolute", "z", (Shift(vector(offset)),))],
        [part(0), part(2, vector(centre), (1, 0, 0, 1, 0, 5))],
    )
    outer, inner = upper_bounds(mechanism)[::-1]
    assert inner >= 2 * (offset + centre) ** 2 + 5
    assert outer >= 2 * centre**2 + 5
    assert upper_bounds(chain([joint(0, "prismatic")], [part(2)]))[0] >= 2


def test_a_payload_adds_to_the_links_that_carry_it() -> None:
    """A drawn load has at most 2 kg, a centre within 0.2 m and moments of 4 kg m² and less."""
    without, with_load = upper_bounds(loaded(0)), upper_bounds(loaded(0), "link1")
    assert without == [0, 0]
    assert with_load[0] > 2 * (1 + 4) ** 2
    assert with_load[1] >= 2
    assert upper_bounds(loaded(0), "ground") == [0, 0]
    assert upper_bounds(loaded(0), "link0")[1] == 0


def test_lengths_of_poses_are_sums_and_combined_loads_reach_as_far_as_the_farther_one() -> None:
    mechanism = symgen.load("planar_arm")
    pose = (Shift(vector(1, -2, 3)), Turn(Z_AXIS, Angle(pi=Fraction(1, 3))), Shift(vector(0, 5, 0)))
    assert float(singularity._length(pose)) == 11
    assert float(singularity._length(())) == 0
    near, far = (singularity.Load(*map(flint.arb, x)) for x in ((1, 2, 3), (10, 20, 30)))
    for combined in (singularity._combined_load(near, far), singularity._combined_load(far, near)):
        assert [float(x) for x in combined] == [11, 22, 30]
    assert singularity._bounds_prove_regular(mechanism, None)


# -- parts of a tree --


def test_undecided_joints_form_connected_groups_with_their_children() -> None:
    """In the tree 0 – 1 – 2 – 3 and 0 – 4, joints 1 and 2 take link 3 with them, joint 4 stands
    alone.
    """
    mechanism = chain([joint(i, "revolute") for i in range(5)], [part(i + 1) for i in range(5)])
    joints = (*mechanism.joints[:4], replace(mechanism.joints[4], parent=0))
    tree = replace(mechanism, joints=joints)
    groups = list(singularity.connected_parts(tree, [1, 2, 4]))
    assert [bodies for _, bodies in groups] == [[1, 2, 3], [4]]
    (first, _), (second, _) = groups
    assert [link.parent for link in first.joints] == [-1, 0, 1]
    assert [body.parts[0].mass for body in first.bodies] == [2, 3, 4]
    assert [link.name for link in second.joints] == ["joint4"]
    assert [bodies for _, bodies in singularity.connected_parts(tree, range(5))] == [
        [0, 1, 2, 3, 4]
    ]
    assert list(singularity.connected_parts(tree, [])) == []
