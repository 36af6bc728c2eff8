"""Fixman's partition: its derivation, theorems, refusals and operation counts.

LC is Lee & Chirikjian 2005, WC is Wang & Chirikjian. The planar results are compared with chains of
exact numbers and symbols (`point_mass_chains`). `tests/proofs` has three links and the misprints of
the papers.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgen
from symgen import methods
from symgen.derivation import constants
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import declared, reframe
from symgen.derivation.scalars import Derivation
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Body, Mechanism, Part
from symgen.methods.fixman import applicability, geometry
from symgen.methods.fixman.factor import PlanarFactor
from symgen.methods.fixman.planar import point_masses
from symgen.pipeline.derive import derive
from symgen.support.errors import RequestError
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import Y_AXIS, Z_AXIS, Angle, Turn, pose
from tests.shared import lee_chirikjian
from tests.shared.fixman_theorem import (
    check_fixmans_theorem,
    check_that_hard_gradients_in_soft_rows_keep_the_schur_complement,
    check_the_bridge_for_every_state,
    exactly,
)
from tests.shared.point_mass_chains import CHAINS, EVERY_CHAIN, chain, symbolic
from tests.shared.robots_for_tests import (
    ONE_DEGREE,
    PURE,
    draw,
    flat_chain,
    planar_rods,
    point_mass_arm,
    random_mechanism,
    rationals,
    robot,
    rods,
    run,
)

Rows = list[dict[int, Any]]


# -- derivation by SymPy ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 6])
def test_the_blocks_of_h_have_the_bands_of_the_paper(n: int) -> None:
    """The bands are those of LC (24); by the exact rows H^θL has the diagonals −2 … 1."""
    bands = {"theta theta": (-2, 2), "theta L": (-2, 1), "L L": (-1, 1)}
    for (low, high), entries in zip(bands.values(), lee_chirikjian.theta_blocks(n), strict=True):
        band = {(i, j) for i in range(n) for j in range(n) if low <= j - i <= high}
        assert set(entries) == band - (
            {(0, 0)} if low + high < 0 else set()
        )  # ∂θ_1 and ∂L_1 act on one point and are orthogonal


@pytest.mark.parametrize(
    "case", [c for c in CHAINS if c[1] > 1], ids=[name for name, n in CHAINS if n > 1]
)
def test_the_derived_rows_are_the_rows_of_the_inverse_jacobian(case: tuple[str, int]) -> None:
    chain_ = chain(case)
    soft, hard = lee_chirikjian.exact_rows(chain_.n)
    rows = chain_.rows(soft).vstack(chain_.rows(hard))
    assert (rows * chain_.jacobian()).to_Matrix() == sp.eye(2 * chain_.n)


def test_the_points_of_the_declared_geometry_are_those_of_equation_14() -> None:
    chain_ = symbolic(2)
    coordinates = lee_chirikjian.position_of_point(2)
    phi = {
        sp.Symbol(f"theta{i + 1}", real=True): a
        for i, a in enumerate((sp.S.Zero, sp.Rational(1, 2)))
    }
    values = {sp.Symbol("t2", real=True): sp.tan(sp.Rational(1, 4))}
    for i, x in enumerate(lee_chirikjian.points(2)[1:]):
        for symbol, by_hand in zip(x, chain_.x[i], strict=True):
            gap = (coordinates[symbol].subs(phi) - by_hand.subs(values)).subs(
                dict.fromkeys(chain_.length, 2)
            )
            assert abs(sp.N(gap, 40)) < 1e-35


@pytest.mark.slow
def test_another_geometry_changes_the_blocks_and_scales_m_as_expected() -> None:
    """Squared lengths change the blocks and det G, but not M; a doubled direction gives a quarter
    of M.
    """

    def squared_length(tail: Any, head: Any) -> Any:
        return (head - tail).dot(head - tail)

    def doubled_direction(tail: Any, head: Any) -> Any:
        return 2 * geometry.bearing(tail, head)

    usual = geometry.PLANAR
    squared_, doubled = (
        replace(usual, length=squared_length),
        replace(usual, direction=doubled_direction),
    )
    usual_blocks, changed = (lee_chirikjian.theta_blocks(3, g) for g in (usual, squared_))
    assert usual_blocks[0] == changed[0]
    assert usual_blocks[1] != changed[1]
    assert usual_blocks[2] != changed[2]
    *x, det = solution_and_determinant(usual)
    assert solution_and_determinant(squared_) == pytest.approx([*x, det], rel=1e-12)
    *x_doubled, det_doubled = solution_and_determinant(doubled)
    assert [*x_doubled, det_doubled] == pytest.approx(
        [*(4 * value for value in x), det / 4**4], rel=1e-12
    )


def solution_and_determinant(form: geometry.Geometry) -> list[float]:
    """Return M⁻¹b and det M of a chain of four point masses at one state, by the Program of a
    geometry.
    """
    arm = point_mass_arm(1, 2, 3, 4)
    with constants.precision():
        derivation = Derivation({"q": 4, "b": 4})
        linkage = Linkage(declared(arm), derivation)
        factor = PlanarFactor(linkage, point_masses(linkage, form))
        x, det = factor.solve(linkage.inputs["b"]), factor.determinant()
        program = derivation.freeze(
            "mass_matrix_solve",
            "fixman",
            [("x", (4,), x), ("det", (), [det])],
            {"q": (4,), "b": (4,)},
        )
    results = run(program, draw(arm, 1))
    return [*results["x"][0].tolist(), float(results["det"][0])]


@pytest.mark.slow
def test_one_mass_gives_a_tridiagonal_block_and_an_empty_diagonal() -> None:
    """In absolute directions both ends of link i give H^φL_ii = 0."""
    form = geometry.meeting()
    assert form[0, 1] == form[2, 3] == 0
    L, K, c, s, w = geometry.L, geometry.K, geometry.COS, geometry.SIN, geometry.W
    assert form[0, 2] == -w * c / (L * K)
    assert form[0, 3] == -w * s / L
    assert form[1, 2] == w * s / K
    assert form[1, 3] == -w * c
    assert geometry.metric() == L**2


# -- in space --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["chain", "tree"])
@pytest.mark.parametrize("n", range(1, 9))
def test_the_partition_solves_with_the_mass_matrix_exactly(n: int, kind: str) -> None:
    """M x = b and det M = det 𝓜 · det H^bb hold exactly on chains and trees of all joint types."""
    mechanism = random_mechanism(n, seed=n, kind=kind, joints=PURE, general=False)
    source = Random(f"{n}{kind}")
    inputs = {"q": rationals(source, n), "b": rationals(source, n)}
    mass = sp.Matrix(
        n,
        n,
        [
            sp.Rational(x.numerator, x.denominator)
            for x in map(Fraction, exactly(mechanism, "mass_matrix", "composite_body", inputs))
        ],
    )
    x = sp.Matrix(
        [
            sp.Rational(x.numerator, x.denominator)
            for x in exactly(mechanism, "mass_matrix_solve", "fixman:spatial", inputs)
        ]
    )
    assert list(mass * x) == [sp.Rational(b.numerator, b.denominator) for b in inputs["b"]]
    (det,) = exactly(mechanism, "mass_matrix_determinant", "fixman:spatial", inputs)
    assert mass.det() == sp.Rational(det.numerator, det.denominator)


# -- in a plane ------------------------------------------------------------------------------------


def flipped_arm(*masses: int) -> Mechanism:
    """Return point masses whose every second axis points the other way."""
    arm = point_mass_arm(*masses)
    joints = tuple(
        replace(joint, axis=(Fraction(0), Fraction(0), Fraction(1 - 2 * (i % 2))))
        for i, joint in enumerate(arm.joints)
    )
    return replace(arm, joints=joints)


@pytest.mark.parametrize(
    "mechanism",
    [planar_rods(1), planar_rods(2), planar_rods(4), flipped_arm(2, 1, 3), flipped_arm(1)],
    ids=["one rod", "two rods", "four rods", "three points", "one point"],
)
def test_planar_chains_solve_with_the_mass_matrix_exactly(mechanism: Mechanism) -> None:
    """M x = b and det M hold exactly, also for axes that point opposite ways."""
    n = mechanism.nv
    source = Random(n)
    inputs = {"q": rationals(source, n), "b": rationals(source, n)}
    mass, inverse = (
        np.array(exactly(mechanism, function, method, inputs), dtype=object).reshape(n, n)
        for function, method in (
            ("mass_matrix", "composite_body"),
            ("inverse_mass_matrix", "fixman:planar"),
        )
    )
    x = np.array(exactly(mechanism, "mass_matrix_solve", "fixman:planar", inputs), dtype=object)
    assert (mass @ x == inputs["b"]).all()
    assert (mass @ inverse == np.eye(n, dtype=int)).all()
    (det,) = exactly(mechanism, "mass_matrix_determinant", "fixman:planar", inputs)
    assert det == sp.Matrix(n, n, [sp.Rational(*y.as_integer_ratio()) for y in mass.flat]).det()


@pytest.mark.parametrize(
    "mechanism", [planar_rods(3), flipped_arm(2, 1, 3)], ids=["rods", "points"]
)
def test_the_gradient_in_a_plane_is_that_of_the_determinant(mechanism: Mechanism) -> None:
    """Central differences of ln det M along each joint, whose error is of the order of 1e-6
    squared.
    """
    (q,) = draw(mechanism, 1)["q"]
    moved = np.array([q + sign * 1e-6 * e for e in np.eye(mechanism.nv) for sign in (1, -1)])
    determinant = symgen.program(mechanism, "mass_matrix_log_determinant", "composite_body")
    ahead, behind = run(determinant, {"q": moved})["logdet"].reshape(-1, 2).T
    gradient = run(
        symgen.program(mechanism, "mass_matrix_log_determinant_gradient", "fixman:planar"),
        {"q": q[None]},
    )["grad"][0]
    np.testing.assert_allclose(gradient, (ahead - behind) / 2e-6, atol=1e-8)
    assert np.abs(gradient[1:]).min() > 1e-3


def links_of_steps(program: Program, words: str) -> list[int]:
    """Return the link of each comment with these words, in the order of the rows."""
    numbers = dict.fromkeys(row.step for row in program.rows if row.step >= 0)
    comments = [program.steps[number] for number in numbers]
    return [int(text.split()[1]) for text in comments if words in text]


def test_comments_name_the_links_in_the_order_of_the_sweeps() -> None:
    """Moments come from the tip, forces are completed from the base, and rates follow from the tip
    again.
    """
    arm = symgen.load("planar_point_mass:4")
    with constants.precision():
        derivation = Derivation({"q": 4, "b": 4})
        linkage = Linkage(declared(arm), derivation)
        linkage.link_by_link = True
        x = PlanarFactor(linkage, point_masses(linkage)).solve(linkage.inputs["b"])
        by_link = derivation.freeze("f", "fixman", [("x", (4,), x)], {"q": (4,), "b": (4,)})
    for program in (by_link, symgen.program(planar_rods(4), "mass_matrix_solve", "fixman:planar")):
        assert links_of_steps(program, "moment on the direction of the link") == [3, 2, 1]
    assert links_of_steps(by_link, "the rate of its joint") == [4, 3, 2, 1]
    inward = links_of_steps(by_link, "forces of the hard coordinates without the term")
    assert inward == sorted(inward, reverse=True)
    assert {*inward} == {1, 2, 3, 4}
    outward = links_of_steps(by_link, "forces of the hard coordinates, and the rate")
    assert outward == [1, 2, 3, 4]


def test_sweeps_link_by_link_have_the_results_of_the_elimination() -> None:
    for arm in (flipped_arm(2, 1, 3, 2), point_mass_arm(1, 2)):
        n = arm.nv
        solutions = []
        for link_by_link in (True, False):
            with constants.precision():
                derivation = Derivation({"q": n, "b": n})
                linkage = Linkage(declared(arm), derivation)
                linkage.link_by_link = link_by_link
                x = PlanarFactor(linkage, point_masses(linkage)).solve(linkage.inputs["b"])
                solutions.append(
                    derivation.freeze("f", "m", [("x", (n,), x)], {"q": (n,), "b": (n,)})
                )
        states = draw(arm, 2)
        first, second = (run(program, states)["x"] for program in solutions)
        np.testing.assert_allclose(first, second, rtol=1e-12)


# -- refused robots --------------------------------------------------------------------------------


def with_parts(arm: Mechanism, i: int, *parts: Part) -> Mechanism:
    return replace(
        arm, bodies=(*arm.bodies[:i], Body(arm.bodies[i].name, parts), *arm.bodies[i + 1 :])
    )


def branched(arm: Mechanism) -> Mechanism:
    return replace(arm, joints=(*arm.joints[:2], replace(arm.joints[2], parent=0)))


SENTENCES = {
    "fixman of puma560": (
        "fixman",
        lambda: robot("puma560"),
        (
            "fixman divides by the inertia of every link, and in 'puma560' link 'link1' has no"
            " mass; use another method, such as riccati"
        ),
    ),
    "spatial fixman of point masses": (
        "fixman:spatial",
        lambda: point_mass_arm(1, 1),
        (
            "fixman:spatial divides by the inertia of every link, and in 'arm' link 'b0' is a point"
            " mass; use another method, such as riccati"
        ),
    ),
    "spatial fixman of a rod": (
        "fixman:spatial",
        lambda: rods(Z_AXIS, Y_AXIS),
        (
            "fixman:spatial divides by the inertia of every link, and in 'rods' link 'b1' has "
            "no moment of inertia about some axis through its mass centre; use another "
            "method, such as riccati"
        ),
    ),
    "planar fixman in space": (
        "fixman:planar",
        lambda: robot("panda"),
        (
            "fixman:planar needs a serial chain of revolute joints with parallel axes, and in"
            " 'panda' the axis of joint 'panda_joint2' is not parallel to that of the joint before"
            " it; use fixman:spatial, or another method, such as riccati"
        ),
    ),
    "planar fixman of a slide": (
        "fixman:planar",
        lambda: robot("scara"),
        "joint 'joint3' is prismatic",
    ),
    "planar fixman of a branch": (
        "fixman:planar",
        lambda: branched(planar_rods(3)),
        "it branches at link 'b2'",
    ),
    "point masses with a massless one": (
        "fixman",
        lambda: point_mass_arm(1, 0, 1),
        "link 'b1' has no mass",
    ),
    "point masses and a rigid link": (
        "fixman",
        lambda: with_parts(planar_rods(3), 1, Part("b1", (), Fraction(1))),
        "link 'b1' is a point mass, but not all links are point masses at their ends",
    ),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_unsuitable_robots_are_refused_with_the_reason(case: str) -> None:
    method, make_robot, sentence = SENTENCES[case]
    with pytest.raises(RequestError) as refused:
        symgen.program(make_robot(), "mass_matrix_solve", method)
    text = str(refused.value)
    assert sentence in text
    assert text.count(";") == 1
    assert text.endswith("another method, such as riccati")


def with_armature(arm: Mechanism) -> Mechanism:
    joints = tuple(
        replace(joint, drive=replace(joint.drive, armature=Fraction(i)))
        for i, joint in enumerate(arm.joints)
    )
    return replace(arm, joints=joints)


def opposite_points() -> Mechanism:
    """Return three point masses, of which the axis of the third is opposite."""
    arm = point_mass_arm(1, 2, 3)
    opposite = replace(arm.joints[2], axis=(Fraction(0), Fraction(0), Fraction(-1)))
    return replace(arm, joints=(*arm.joints[:2], opposite))


SEGMENTED = {
    "rigid links": (
        lambda: planar_rods(2),
        "needs a chain of point masses, and links of 'rods' are rigid bodies; use fixman:planar",
    ),
    "an opposite axis": (
        opposite_points,
        "needs axes of one direction, and the axis of joint 'j2' of 'arm' is opposite to "
        "the one before; use "
        "fixman:planar",
    ),
    "an armature": (
        lambda: with_armature(point_mass_arm(1, 2, 3)),
        "uses the directions of links in a plane instead of joint angles, and joint 'j1' "
        "of 'arm' has an "
        "armature; leave that out by --drives, or use another method, such as riccati",
    ),
    "a slide": (
        lambda: robot("scara"),
        "needs a serial chain of revolute joints with parallel axes, and in 'scara' joint "
        "'joint3' is prismatic; "
        "use fixman:spatial, or another method, such as riccati",
    ),
}


@pytest.mark.parametrize("method", ["fixman:segments", "fixman:parallel"])
@pytest.mark.parametrize("case", SEGMENTED)
def test_only_point_masses_with_axes_of_one_direction_have_segments(case: str, method: str) -> None:
    make_robot, sentence = SEGMENTED[case]
    assert methods.find(method).refusal(make_robot()) == f"{method} {sentence}"
    assert methods.find(method).refusal(point_mass_arm(1, 2, 3)) is None


def test_an_armature_is_refused_by_the_planar_form_alone() -> None:
    """If the planar form refuses a robot, `fixman` takes the spatial form that accepts it."""
    points, flat = with_armature(point_mass_arm(1, 2)), with_armature(flat_chain(2))
    for method in ("fixman", "fixman:planar"):
        assert f"{method} uses the directions of links in a plane instead of joint angles" in str(
            methods.find("fixman:planar").refusal(flat)
        ).replace("fixman:planar", method)
    assert methods.find("fixman").refusal(points) is not None
    stands_for = methods.find("fixman").stands_for
    assert stands_for is not None
    for rigid in (flat, with_armature(planar_rods(2))):
        assert methods.find("fixman").refusal(rigid) is None
        assert stands_for(rigid) == "spatial"
    assert stands_for(flat_chain(2)) == stands_for(point_mass_arm(1, 2)) == "planar"


@pytest.mark.parametrize("fault", ["beside the end", "no length", "no mass", "moment"])
def test_every_link_of_a_chain_of_point_masses_has_its_mass_at_its_end(fault: str) -> None:
    arm = point_mass_arm(1, 2, 3)
    assert applicability.only_points(arm)
    (part,) = arm.bodies[1].parts
    if fault == "beside the end":
        arm = with_parts(
            arm, 1, replace(part, pose=pose((Fraction(1), Fraction(1, 9), Fraction(0))))
        )
    elif fault == "no length":
        joints = (*arm.joints[:2], replace(arm.joints[2], pose=()))
        arm = with_parts(replace(arm, joints=joints), 1, replace(part, pose=()))
    elif fault == "no mass":
        arm = with_parts(arm, 1)
    else:
        arm = with_parts(arm, 1, replace(part, moments=(Fraction(0),) * 5 + (Fraction(1),)))
    assert not applicability.only_points(arm)
    # the height along the axes and moments about axes in the plane have no effect
    high = replace(
        part,
        pose=pose((Fraction(1), Fraction(0), Fraction(5))),
        moments=(Fraction(0),) * 6,
    )
    assert applicability.only_points(with_parts(point_mass_arm(1, 2, 3), 1, high))


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0)])
def test_only_later_axes_must_be_parallel_to_the_one_before(axis: tuple[int, int, int]) -> None:
    """The plane itself may be tilted against the base."""
    arm = point_mass_arm(1, 2)
    tilt = (Turn(tuple(map(Fraction, axis)), Angle(radians=Fraction(1, 3))),)
    for i, message in ((0, None), (1, "is not parallel to that of the joint before it")):
        joints = list(arm.joints)
        joints[i] = replace(joints[i], pose=(*joints[i].pose, *tilt))
        with constants.precision():
            fault = applicability.planar_chain_fault(declared(replace(arm, joints=tuple(joints))))
        assert fault == (message and f"the axis of joint 'j1' {message}")


@pytest.mark.parametrize(
    ("mechanism", "suited"),
    [
        (planar_rods(3), True),
        (point_mass_arm(1, 2), True),
        (with_armature(point_mass_arm(1, 2)), False),
        (with_parts(planar_rods(3), 1, Part("b1", (), Fraction(1))), False),
        (branched(planar_rods(3)), False),
        (random_mechanism(3, 1), False),
    ],
    ids=["rods", "points", "armature", "rods and a point", "branch", "space"],
)
def test_the_planar_form_is_taken_of_the_robots_that_it_accepts(
    mechanism: Mechanism, suited: bool
) -> None:
    with constants.precision():
        assert applicability.is_planar(reframe(mechanism)) == suited
    assert (methods.find("fixman:planar").refusal(mechanism) is None) == suited


def test_a_payload_on_a_point_mass_is_refused_by_fixman_and_not_by_the_default() -> None:
    arm = symgen.load("planar_point_mass")
    link = arm.frames[-1].name
    with pytest.raises(
        RequestError, match="makes a link a rigid body; use another method, such as riccati"
    ):
        symgen.program(arm, "mass_matrix_solve", "fixman", payload=link)
    assert symgen.program(arm, "mass_matrix_solve", payload=link).method != "fixman"


CHECKED = ["mass_matrix_solve=fixman", "mass_matrix_determinant=fixman", "forward_dynamics=fixman"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [planar_rods(5), point_mass_arm(2, 1, 3), random_mechanism(7, 5, "tree", ONE_DEGREE)],
    ids=["planar rods", "point masses", "a tree"],
)
def test_fixman_verifies_on_rods_point_masses_and_trees(mechanism: Mechanism) -> None:
    assert symgen.verify(mechanism, CHECKED, states=4, compiled=False).passed


@pytest.mark.slow
def test_payloads_verify_on_rigid_links() -> None:
    for mechanism, link in ((planar_rods(3), "b1"), (robot("ur5"), robot("ur5").frames[-1].name)):
        assert symgen.verify(mechanism, CHECKED[:2], states=3, compiled=False, payload=link).passed


# -- operation counts ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [10, 50])
def test_a_point_mass_takes_at_most_23_operations_one_sine_and_one_cosine(n: int) -> None:
    operations = symgen.program(f"planar_point_mass:{n}", "mass_matrix_solve", "fixman").operations
    assert operations["mul"] + operations["add"] + operations["div"] + operations["neg"] <= 23 * n
    assert operations["div"] <= n
    assert (
        operations["sin"] == operations["cos"] == n - 1
    )  # the first angle rotates the whole chain and is not used


@pytest.mark.usefixtures("finished_here")
def test_unequal_point_masses_take_at_most_thirty_operations_each() -> None:
    source = Random(2)
    arm = point_mass_arm(*(source.randint(1, 99) for _ in range(20)))
    joints = tuple(
        replace(
            j,
            pose=pose((Fraction(source.randint(1, 99), 10), Fraction(0), Fraction(0))) if i else (),
        )
        for i, j in enumerate(arm.joints)
    )
    poses = [*(j.pose for j in joints[1:]), pose((Fraction(3, 7), Fraction(0), Fraction(0)))]
    bodies = tuple(
        Body(b.name, (replace(b.parts[0], pose=end),))
        for b, end in zip(arm.bodies, poses, strict=True)
    )
    program = symgen.program(
        replace(arm, joints=joints, bodies=bodies), "mass_matrix_solve", "fixman"
    )
    assert program.method == "fixman"
    assert program.cost <= 30 * 20


@pytest.mark.parametrize("n", [2, 10, 30, 100])
def test_the_solve_is_backward_stable(n: int) -> None:
    """‖M x − b‖ ≤ 1e-13 (‖M‖ ‖x‖ + ‖b‖) for random, straight and zigzag chains, with M = JᵀJ by LC
    (14).
    """
    random = np.random.default_rng(n)
    bent, b = random.uniform(-np.pi, np.pi, (6, n)), random.uniform(-1, 1, (8, n))
    q = np.concatenate([bent, np.zeros((1, n)), np.tile([3.0, -3.0], (1, n))[:, :n]])
    x = run(
        symgen.program(f"planar_point_mass:{n}", "mass_matrix_solve", "fixman"), {"q": q, "b": b}
    )["x"]
    for angles, right, solution in zip(q, b, x, strict=True):
        steps = np.stack([-np.sin(np.cumsum(angles)), np.cos(np.cumsum(angles))])
        points = np.cumsum(steps, axis=1)  # rotated by a quarter turn
        J = np.concatenate(
            [
                [
                    np.where(np.arange(n) >= j, points[a] - (points[a][j - 1] if j else 0), 0)
                    for j in range(n)
                ]
                for a in (0, 1)
            ],
            axis=1,
        )
        mass = J @ J.T
        size = np.abs(mass).sum(axis=1).max() * np.abs(solution).max() + np.abs(right).max()
        assert np.abs(mass @ solution - right).max() <= 1e-13 * size


@EVERY_CHAIN
def test_fixmans_theorem(case: tuple[str, int]) -> None:
    check_fixmans_theorem(case)


@EVERY_CHAIN
def test_hard_gradients_in_soft_rows_keep_the_schur_complement(case: tuple[str, int]) -> None:
    check_that_hard_gradients_in_soft_rows_keep_the_schur_complement(case)


def test_the_partition_holds_for_every_state_of_two_links() -> None:
    """`tests/proofs/test_three_links.py` proves it for three links, which takes minutes."""
    check_the_bridge_for_every_state(2)


def test_the_moments_of_point_masses_are_solved_in_at_most_114_operations() -> None:
    """The band of five point masses is solved direction by direction; three sweeps take 120."""
    program = derive(
        symgen.load("planar_point_mass"), "mass_matrix_solve", "fixman:planar", ProgramOptions()
    )
    assert program.cost <= 114
