"""Fixman's partition: its derivation, theorems, refusals and operation counts.

LC is Lee & Chirikjian 2005, WC is Wang & Chirikjian. The planar results are compared with chains of
exact numbers and symbols (`point_mass_chains`). `tests/proofs` has three links and the misprints of the papers.
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
from symgen.derivation import constants
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import declared
from symgen.derivation.scalars import Derivation
from symgen.mechanism.mechanism import Body, Mechanism, Part
from symgen.methods.fixman import geometry
from symgen.methods.fixman.factor import PlanarFactor
from symgen.methods.fixman.planar import point_masses
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import Y_AXIS, Z_AXIS, pose
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
    planar_rods,
    point_mass_arm,
    random_mechanism,
    rationals,
    robot,
    rods,
    run,
)

Rows = list[dict[int, Any]]


# -- derivation by SymPy -------------------------------------------------------------------------------------------------


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
    """Squared lengths change the blocks and det G, but not M; a doubled direction gives a quarter of M."""

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
    """Return M⁻¹b and det M of a chain of four point masses at one state, by the Program of a geometry."""
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


# -- in space -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["chain", "tree"])
@pytest.mark.parametrize("n", range(1, 9))
def test_the_partition_solves_with_the_mass_matrix_exactly(n: int, kind: str) -> None:
    """M x = b and det M = det 𝓜 · det H^bb hold exactly, on chains and trees with every joint type."""
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


# -- refused robots ------------------------------------------------------------------------------------------------------


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
        "fixman divides by the inertia of every link, and in 'puma560' link 'link1' has no mass; "
        "use another method, such as riccati",
    ),
    "spatial fixman of point masses": (
        "fixman:spatial",
        lambda: point_mass_arm(1, 1),
        "fixman:spatial divides by the inertia of every link, and in 'arm' link 'b0' is a point "
        "mass; use another method, such as riccati",
    ),
    "spatial fixman of a rod": (
        "fixman:spatial",
        lambda: rods(Z_AXIS, Y_AXIS),
        "fixman:spatial divides by the inertia of every link, and in 'rods' link 'b1' has "
        "no moment of inertia about some axis through its mass centre; use another "
        "method, such as riccati",
    ),
    "planar fixman in space": (
        "fixman:planar",
        lambda: robot("panda"),
        "fixman:planar needs a serial chain of revolute joints with parallel axes, and in 'panda' the axis of "
        "joint 'panda_joint2' is not parallel to that of the joint before it; use fixman:spatial, or "
        "another method, such as riccati",
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


# -- operation counts ---------------------------------------------------------------------------------------------------


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
    """‖M x − b‖ ≤ 1e-13 (‖M‖ ‖x‖ + ‖b‖) for random, straight and zigzag chains, with M = JᵀJ by LC (14)."""
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
