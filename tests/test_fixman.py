"""Fixman's partition: what is derived of it, what it proves, where it stops, and what it costs.

LC is Lee & Chirikjian 2005, WC is Wang & Chirikjian. A chain of point masses is described by exact numbers: lengths
and masses are rationals, a direction is given by the tangent of its half angle, so that sine and cosine are rational.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.polys.matrices import DomainMatrix

import symgen
from symgen import constants, methods
from symgen.derivation import Derivation
from symgen.errors import RequestError
from symgen.functions import FUNCTIONS
from symgen.ir import Numbers, evaluate
from symgen.joints import kinds
from symgen.linkage import Linkage
from symgen.mechanism import Body, Mechanism, Part, pose
from symgen.methods import _fixman_geometry as geometry
from symgen.methods import _fixman_rotations as wc
from symgen.methods._fixman_partition import determinant, eliminate, soft_rates
from symgen.methods._fixman_planar import absolute_forces, joint_rates, point_masses
from symgen.methods._fixman_spatial import directions
from symgen.model import declared
from tests.robots_for_tests import draw, planar_rods, point_mass_arm, random_mechanism, rationals, robot, run

Rows = list[dict[int, Any]]


# -- chains of exact numbers --------------------------------------------------------------------------------------------

Blocks = tuple[DomainMatrix, DomainMatrix, DomainMatrix]


class Chain:
    """A planar chain: lengths, masses and half-angle tangents of the absolute directions, numbers or symbols."""

    def __init__(self, length: Sequence[Any], mass: Sequence[Any], tangent: Sequence[Any]) -> None:
        self.length, self.mass = list(length), list(mass)
        self.n = len(length)
        self.cosine = [(1 - t * t) / (1 + t * t) for t in tangent]
        self.sine = [2 * t / (1 + t * t) for t in tangent]
        at, self.x = sp.zeros(2, 1), []
        for L, c, s in zip(length, self.cosine, self.sine, strict=True):
            at = at + L * sp.Matrix([c, s])
            self.x.append(at)

    @cached_property
    def bindings(self) -> dict[Any, Any]:
        """Points, masses and lengths, and sin θ_i by way of θ_i (see `settled`)."""
        found = {}
        for i in range(self.n):
            found.update(zip(geometry.points(self.n)[i + 1], self.x[i], strict=True))
            found[sp.Symbol(f"m{i + 1}", positive=True)] = self.mass[i]
            found[sp.Symbol(f"L{i + 1}", positive=True)] = self.length[i]
            c, s = (self.cosine[i - 1], self.sine[i - 1]) if i else (1, 0)
            found[sp.sin(sp.Symbol(f"theta{i + 1}", real=True))] = self.sine[i] * c - self.cosine[i] * s
        return found

    def settled(self, entry: Any) -> Any:
        """An entry at this chain; roots of squares are taken."""
        value = sp.sympify(entry).xreplace(self.bindings)
        return value.replace(lambda e: e.is_Pow and not e.exp.is_Integer, lambda e: sp.factor(sp.together(e.base)) ** e.exp)

    def field(self, matrix: Any) -> DomainMatrix:
        """Over the rationals, or over quotients of polynomials in this chain's symbols."""
        names = sorted(set().union(*(sp.sympify(x).free_symbols for x in (*self.length, *self.mass, *self.sine))), key=str)
        numbers = sp.QQ.frac_field(*names) if names else sp.QQ
        return DomainMatrix([[numbers.from_sympy(x) for x in row] for row in matrix.tolist()], matrix.shape, numbers)

    def rows(self, derived: Rows) -> DomainMatrix:
        """∂a/∂x as an n × 2n matrix."""
        found = sp.zeros(self.n, 2 * self.n)
        for i, row in enumerate(derived):
            for k, part in row.items():
                found[i, 2 * k - 2], found[i, 2 * k - 1] = self.settled(part[0]), self.settled(part[1])
        return self.field(found)

    def jacobian(self) -> DomainMatrix:
        """∂x/∂(θ, L) by hand, LC (14)."""
        found = sp.zeros(2 * self.n, 2 * self.n)
        for k in range(self.n):
            for i in range(k + 1):
                found[2 * k: 2 * k + 2, self.n + i] = sp.Matrix([self.cosine[i], self.sine[i]])
                arm = self.x[k] - (self.x[i - 1] if i else sp.zeros(2, 1))
                found[2 * k: 2 * k + 2, i] = sp.Matrix([-arm[1], arm[0]])
        return self.field(found)

    def masses(self, power: int = 1) -> DomainMatrix:
        return self.field(sp.diag(*(m**power for m in self.mass for _ in (0, 1))))

    def metric(self) -> DomainMatrix:
        """G of (4)."""
        J = self.jacobian()
        return J.transpose() * self.masses() * J

    def mass_matrix(self) -> DomainMatrix:
        """G^aa of (6)."""
        return corner(self.metric(), self.n)

    def gram(self, soft: DomainMatrix, hard: DomainMatrix) -> Blocks:
        """H^aa, H^ab, H^bb of (7)."""
        inverse = self.masses(-1)
        return soft * inverse * soft.transpose(), soft * inverse * hard.transpose(), hard * inverse * hard.transpose()


def corner(matrix: DomainMatrix, n: int) -> DomainMatrix:
    return matrix.extract(list(range(n)), list(range(n)))


@cache
def symbolic(n: int) -> Chain:
    """The first link lies along the first axis: nothing depends on where that axis points."""
    return Chain(sp.symbols(f"L1:{n + 1}", positive=True), sp.symbols(f"m1:{n + 1}", positive=True),
                 (sp.S.Zero, *sp.symbols(f"t2:{n + 1}", real=True)))


@cache
def exact(n: int, seed: int = 0) -> Chain:
    """Random rationals; no two neighbouring links in one line, where LC's own form is singular."""
    random = Random(f"{n}/{seed}")

    def draws(count: int) -> list[Any]:
        return [sp.Rational(random.randint(1, 9), random.choice((2, 3, 5, 7))) for _ in range(count)]

    tangent = draws(n)
    while any(a in (b, -1 / b) for a, b in pairwise(tangent)):
        tangent = draws(n)
    return Chain(draws(n), draws(n), tangent)


CHAINS = [*((f"symbols {n}", n) for n in (2, 3)), *((f"rationals {n}", n) for n in range(1, 9))]


def chain(case: tuple[str, int]) -> Chain:
    return symbolic(case[1]) if case[0].startswith("symbols") else exact(case[1])


EVERY_CHAIN = pytest.mark.parametrize("case", CHAINS, ids=[name for name, _ in CHAINS])


def schur(aa: DomainMatrix, ab: DomainMatrix, bb: DomainMatrix) -> DomainMatrix:
    """(12)."""
    return aa - ab * bb.lu_solve(ab.transpose())


# -- what SymPy derives -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("n", [3, 6])
def test_the_blocks_of_h_are_banded(n: int) -> None:
    """LC (24), with H^θL where the exact rows put it: diagonals −2 … 1."""
    bands = {"theta theta": (-2, 2), "theta L": (-2, 1), "L L": (-1, 1)}
    for (low, high), entries in zip(bands.values(), geometry.theta_blocks(n), strict=True):
        band = {(i, j) for i in range(n) for j in range(n) if low <= j - i <= high}
        assert set(entries) == band - ({(0, 0)} if low + high < 0 else set())   # ∂θ_1 and ∂L_1 share one point, at right angles


@pytest.mark.parametrize("case", [c for c in CHAINS if c[1] > 1], ids=[name for name, n in CHAINS if n > 1])
def test_the_derived_rows_are_those_of_the_inverse_jacobian(case: tuple[str, int]) -> None:
    made = chain(case)
    soft, hard = geometry.exact_rows(made.n)
    rows = made.rows(soft).vstack(made.rows(hard))
    assert (rows * made.jacobian()).to_Matrix() == sp.eye(2 * made.n)


def test_the_points_of_the_declared_geometry_are_those_of_14() -> None:
    made = symbolic(2)
    found = geometry.places(2)
    phi = {sp.Symbol(f"theta{i + 1}", real=True): a for i, a in enumerate((sp.S.Zero, sp.Rational(1, 2)))}
    values = {sp.Symbol("t2", real=True): sp.tan(sp.Rational(1, 4))}
    for i, x in enumerate(geometry.points(2)[1:]):
        for symbol, by_hand in zip(x, made.x[i], strict=True):
            gap = (found[symbol].subs(phi) - by_hand.subs(values)).subs(dict.fromkeys(made.length, 2))
            assert abs(sp.N(gap, 40)) < 1e-35


def test_a_replaced_geometry_changes_the_blocks() -> None:
    """Squared lengths for lengths: other blocks, other det G, and the same M. A direction counted twice: a quarter of M."""
    def squared(tail: Any, head: Any) -> Any:
        return (head - tail).dot(head - tail)

    def twice(tail: Any, head: Any) -> Any:
        return 2 * geometry.bearing(tail, head)

    usual = geometry.PLANAR
    by_square, by_twice = replace(usual, length=squared), replace(usual, direction=twice)
    plain, changed = (geometry.theta_blocks(3, g) for g in (usual, by_square))
    assert plain[0] == changed[0]
    assert plain[1] != changed[1]
    assert plain[2] != changed[2]
    *x, det = emitted(usual)
    assert emitted(by_square) == pytest.approx([*x, det], rel=1e-12)
    *x_twice, det_twice = emitted(by_twice)
    assert [*x_twice, det_twice] == pytest.approx([*(4 * value for value in x), det / 4**4], rel=1e-12)


def emitted(form: geometry.Geometry) -> list[float]:
    """M⁻¹b and det M of a chain of four point masses at one state, by the emitted program of a geometry."""
    arm = point_mass_arm(1, 2, 3, 4)
    with constants.precision():
        home = Derivation({"q": 4, "b": 4})
        linkage = Linkage(declared(arm), home)
        partition = point_masses(linkage, form)
        pivots = eliminate(linkage, partition)
        x = joint_rates(linkage, soft_rates(linkage, partition, pivots, absolute_forces(linkage, linkage.inputs["b"])))
        det = determinant(linkage, partition, pivots)
        program = home.freeze("mass_matrix_solve", "fixman", [("x", (4,), x), ("det", (), [det])], {"q": (4,), "b": (4,)})
    found = run(program, draw(arm, 1))
    return [*found["x"][0].tolist(), float(found["det"][0])]


def test_one_mass_gives_a_tridiagonal_block_and_an_empty_diagonal() -> None:
    """In absolute directions H^φL_ii = 0 from either end of link i."""
    form = geometry.meeting()
    assert form[0, 1] == form[2, 3] == 0
    L, K, c, s, w = geometry.L, geometry.K, geometry.COS, geometry.SIN, geometry.W
    assert form[0, 2] == -w * c / (L * K)
    assert form[0, 3] == -w * s / L
    assert form[1, 2] == w * s / K
    assert form[1, 3] == -w * c
    assert geometry.metric() == L**2


# -- what it proves -----------------------------------------------------------------------------------------------------

@EVERY_CHAIN
def test_fixmans_theorem(case: tuple[str, int]) -> None:
    """det G · det H^bb = det G^aa, LC (8), with det G = Π m² L²; and H^aa − H^ab (H^bb)⁻¹ H^ba = (G^aa)⁻¹, LC (12)."""
    made = chain(case)
    soft, hard = geometry.exact_rows(made.n)
    aa, ab, bb = made.gram(made.rows(soft), made.rows(hard))
    mass = made.mass_matrix()
    weight = made.field(sp.Matrix([[sp.Mul(*(m * m * L * L for m, L in zip(made.mass, made.length, strict=True)))]]))
    assert weight.det() * bb.det() == mass.det()
    assert (schur(aa, ab, bb) * mass).to_Matrix() == sp.eye(made.n)


@EVERY_CHAIN
def test_the_schur_complement_does_not_see_hard_gradients_in_the_soft_rows(case: tuple[str, int]) -> None:
    """Any multiples of ∂L added to ∂θ: other blocks, the same solution; LC's own rows (20)-(21) are of that kind."""
    made = chain(case)
    soft, hard = (made.rows(rows) for rows in geometry.exact_rows(made.n))
    plain = made.gram(soft, hard)
    random = Random(made.n)
    shift = sp.zeros(made.n, made.n)
    shift[0, made.n - 1] = 3
    if case[0].startswith("rationals"):
        shift = sp.Matrix(made.n, made.n, [sp.Rational(x.numerator, x.denominator) for x in rationals(random, made.n**2)])
    others = [soft + made.field(shift) * hard]
    if case[0].startswith("rationals"):
        others.append(made.rows(geometry.published_rows(made.n)))
        assert hard.vstack(others[-1] - soft).rank() == hard.rank()
    for other in others:
        blocks = made.gram(other, hard)
        assert made.n == 1 or blocks[0] != plain[0]
        assert schur(*blocks) == schur(*plain)


# -- slips in the printed text ------------------------------------------------------------------------------------------

def missed(found: Any, expected: Any) -> float:
    gap = found - expected
    return max(abs(float(x)) for x in (gap.to_Matrix() if isinstance(gap, DomainMatrix) else gap))


def six_links() -> tuple[Chain, DomainMatrix, Blocks]:
    made = exact(6)
    soft, hard = (made.rows(rows) for rows in geometry.exact_rows(6))
    return made, made.mass_matrix().inv(), made.gram(soft, hard)


def test_lc_21_carries_d_i_in_its_last_term() -> None:
    made, inverse, (_, _, bb) = six_links()
    hard = made.rows(geometry.exact_rows(6)[1])
    for as_printed in (False, True):
        aa, ab, _ = made.gram(made.rows(geometry.published_rows(6, as_printed)), hard)
        error = missed(schur(aa, ab, bb), inverse)
        assert error > 1e-3 if as_printed else error < 1e-12


def test_lc_20_to_21_are_not_the_blocks_of_the_inverse_metric() -> None:
    made, _, (aa, _, _) = six_links()
    whole = made.metric().inv()
    published = made.gram(made.rows(geometry.published_rows(6)), made.rows(geometry.exact_rows(6)[1]))[0]
    assert missed(aa, corner(whole, 6)) < 1e-12
    assert missed(published, corner(whole, 6)) > 1e-3


def test_lc_25_multiplies_in_the_other_order() -> None:
    _, inverse, (aa, ab, bb) = six_links()
    assert missed(aa - ab * bb.inv() * ab.transpose(), inverse) < 1e-12
    assert missed(aa - ab.transpose() * bb.inv() * ab, inverse) > 1e-3


def vanishes(expression: Any) -> bool:
    """Whether an expression in sines and cosines of the ZXZ angles is zero, exactly, at five points of rational sines and
    cosines, with rationals for whatever else stands in it."""
    random = Random(11)
    for _ in range(5):
        at = {}
        for angle in wc.ANGLES:
            t = sp.Rational(random.randint(1, 40), random.randint(41, 60))
            s, c = 2 * t / (1 + t * t), (1 - t * t) / (1 + t * t)
            at |= {sp.sin(angle): s, sp.cos(angle): c, sp.cot(angle): c / s}
        slopes = sorted(expression.atoms(sp.Derivative), key=str)
        at |= {d: sp.Rational(random.randint(1, 99), 7) for d in slopes}
        value = expression.xreplace(at)
        assert value.is_Rational, value
        if value != 0:
            return False
    return True


def test_wc_11_is_the_body_jacobian_of_zxz_angles() -> None:
    _, beta, gamma = wc.ANGLES
    printed = sp.Matrix([[sp.sin(beta) * sp.sin(gamma), sp.cos(gamma), 0], [sp.sin(beta) * sp.cos(gamma), -sp.sin(gamma), 0],
                         [sp.cos(beta), 0, 1]])
    found = wc.rotation_jacobian(wc.zxz())
    assert all(vanishes(x) for x in found - printed)
    assert vanishes(found.det() + sp.sin(beta))   # singular at sin β = 0


def test_wc_12_and_its_operators_in_zxz_angles() -> None:
    """∂/∂ξ_i as printed below (12), and as the limit (12) itself for the entries of A: ∂A/∂ξ_i = A E_i."""
    alpha, beta, gamma = wc.ANGLES
    A = wc.zxz()
    J = wc.rotation_jacobian(A)
    f = sp.Function("f")(alpha, beta, gamma)
    a, b, c = (f.diff(x) for x in wc.ANGLES)
    printed = (
        -sp.cot(beta) * sp.sin(gamma) * c + sp.sin(gamma) / sp.sin(beta) * a + sp.cos(gamma) * b,
        -sp.cot(beta) * sp.cos(gamma) * c + sp.cos(gamma) / sp.sin(beta) * a - sp.sin(gamma) * b,
        c,
    )
    for i in range(3):
        assert vanishes(wc.derivative_along(f, J, wc.ANGLES, i) - printed[i])
        unit = sp.Matrix([int(i == k) for k in range(3)])
        limit = A * unit.hat()
        for r in range(3):
            for s in range(3):
                assert vanishes(wc.derivative_along(A[r, s], J, wc.ANGLES, i) - limit[r, s])


def test_wc_14_to_17_with_cartesian_places() -> None:
    A, q = wc.zxz(), (*wc.ANGLES, *wc.PLACE)
    J = wc.motion_jacobian(A, sp.Matrix(wc.PLACE), q)
    assert sp.diag(wc.rotation_jacobian(A), A.T) == J                                           # (15)
    f = sp.Function("f")(*q)
    gradient = A.T * sp.Matrix([f.diff(b) for b in wc.PLACE])
    for i in range(3):
        assert vanishes(wc.derivative_along(f, J, q, 3 + i) - gradient[i])              # (17)
        turning = wc.derivative_along(f, wc.rotation_jacobian(A), wc.ANGLES, i)
        assert vanishes(wc.derivative_along(f, J, q, i) - turning)


AT = {**dict(zip(wc.ANGLES, (sp.Rational(3, 10), sp.Rational(7, 10), sp.Rational(-6, 5)), strict=True))}


def test_wc_14_takes_the_rate_of_the_place() -> None:
    """v = Rᵀ ḃ, not Rᵀ b, along one motion; against the twist of H⁻¹ Ḣ."""
    t = sp.Symbol("t", real=True)
    angles, b = (t, 1 + t / 2, 2 - t), sp.Matrix([1 + t, t * t, 3 - 2 * t])
    A = wc.zxz().subs(dict(zip(wc.ANGLES, angles, strict=True)), simultaneous=True)
    H = sp.eye(4)
    H[:3, :3], H[:3, 3] = A, b
    v = (H.inv(method="ADJ") * H.diff(t))[:3, 3]
    here = {t: sp.Rational(1, 3)}
    assert missed((A.T * b.diff(t)).subs(here).evalf(30), v.subs(here).evalf(30)) < 1e-12
    assert missed((A.T * b).subs(here).evalf(30), v.subs(here).evalf(30)) > 1e-3


def test_wc_single_body_has_m_jt_transposed_jt_and_one_order() -> None:
    """Spherical coordinates of the place, where J_T is not symmetric: M = 𝒥ᵀ I 𝒥 from the kinetic energy."""
    A, m, moments = wc.zxz(), sp.Rational(5, 2), sp.diag(1, 2, sp.Rational(5, 2))
    r, u, w = sp.symbols("r u w", positive=True)
    place = sp.Matrix([r * sp.sin(u) * sp.cos(w), r * sp.sin(u) * sp.sin(w), r * sp.cos(u)])
    q = (*wc.ANGLES, r, u, w)
    here = {**AT, r: sp.Rational(3, 2), u: sp.Rational(4, 5), w: sp.Rational(1, 3)}
    rates = sp.Matrix(sp.symbols("s1:7"))
    omega, speed = wc.rotation_jacobian(A) * rates[:3, :], place.jacobian([r, u, w]) * rates[3:, :]
    energy = (m * speed.dot(speed) + omega.dot(moments * omega)).subs(here).evalf(30) / 2
    mass = sp.hessian(sp.expand(energy), list(rates))
    J = wc.motion_jacobian(A, place, q).subs(here).evalf(30)
    inertia = wc.body_inertia(m, moments)
    assert missed(wc.body_mass_matrix(J, inertia), mass) < 1e-12
    assert missed(wc.body_inverse_mass_matrix(J, inertia), mass.inv()) < 1e-12
    JT = place.jacobian([r, u, w]).subs(here).evalf(30)
    assert missed(m * JT.T * JT, mass[3:, 3:]) < 1e-12
    assert missed(m * JT * JT.T, mass[3:, 3:]) > 1e-3                                           # as printed
    assert missed(JT.inv() * JT.inv().T / m, mass[3:, 3:].inv()) < 1e-12
    assert missed(m * JT.inv() * JT.inv().T, mass[3:, 3:].inv()) > 1e-3                         # as printed
    printed = sp.diag(m * sp.eye(3), moments)                                                   # mass first, 𝒥 rotation first
    assert missed(J.inv() * printed.inv() * J.inv().T, mass.inv()) > 1e-3


# -- in space -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", kinds())
def test_what_a_joint_allows_and_forbids_is_an_orthonormal_basis(kind: str) -> None:
    soft, hard = directions(kind)
    both = sp.Matrix.vstack(soft, hard)
    assert both * both.T == sp.eye(6)


def exactly(mechanism: Mechanism, function: str, method: str, given: dict[str, list[Fraction]]) -> list[Fraction]:
    """A program in the declared frames over rationals; q of a revolute joint stands for the tangent of its half angle."""
    spec = FUNCTIONS[function]
    with constants.precision():
        shapes = {a.name: a.sizes(mechanism.nq, mechanism.nv) for a in spec.arguments}
        home = Derivation(dict.fromkeys(shapes, mechanism.nv))
        (atoms,) = methods.derivation(method, function)(Linkage(declared(mechanism), home))
        result = spec.results[0]
        program = home.freeze(function, method, [(result.name, result.sizes(mechanism.nq, mechanism.nv), atoms)], shapes)
    numbers = Numbers(Fraction, lambda t: 2 * t / (1 + t * t), lambda t: (1 - t * t) / (1 + t * t), _no_root, _no_root)
    return list(evaluate(program, {name: given[name] for name in shapes}, numbers)[result.name])


def _no_root(x: Any) -> Any:
    raise AssertionError("a square root or a logarithm")


@pytest.mark.parametrize("kind", ["chain", "tree"])
@pytest.mark.parametrize("n", range(1, 9))
def test_the_bridge_in_exact_rationals(n: int, kind: str) -> None:
    """M x = b and det M = det 𝓜 · det H^bb with nothing rounded, on chains and trees with every joint type."""
    made = random_mechanism(n, seed=n, kind=kind, joints=kinds(), general=False)
    source = Random(f"{n}{kind}")
    given = {"q": rationals(source, n), "b": rationals(source, n)}
    mass = sp.Matrix(n, n, [sp.Rational(x.numerator, x.denominator)
                            for x in map(Fraction, exactly(made, "mass_matrix", "composite_body", given))])
    x = sp.Matrix([sp.Rational(x.numerator, x.denominator) for x in exactly(made, "mass_matrix_solve", "fixman:spatial", given)])
    assert list(mass * x) == [sp.Rational(b.numerator, b.denominator) for b in given["b"]]
    (det,) = exactly(made, "mass_matrix_determinant", "fixman:spatial", given)
    assert mass.det() == sp.Rational(det.numerator, det.denominator)


# -- which robots it suits ----------------------------------------------------------------------------------------------

def without(arm: Mechanism, i: int, *parts: Part) -> Mechanism:
    return replace(arm, bodies=(*arm.bodies[:i], Body(arm.bodies[i].name, parts), *arm.bodies[i + 1:]))


def branched(arm: Mechanism) -> Mechanism:
    return replace(arm, joints=(*arm.joints[:2], replace(arm.joints[2], parent=0)))


SENTENCES = {
    "fixman of puma560": ("fixman", lambda: robot("puma560"),
                          "fixman divides by the inertia of every link, and of 'puma560' link 'link1' has no mass; "
                          "take another method, such as riccati"),
    "spatial fixman of point masses": ("fixman:spatial", lambda: point_mass_arm(1, 1),
                                       "fixman:spatial divides by the inertia of every link, and of 'arm' link 'b0' is a point "
                                       "mass; take another method, such as riccati"),
    "spatial fixman of a rod": ("fixman:spatial", lambda: robot("planar_arm"),
                                "fixman:spatial divides by the inertia of every link, and of 'planar_arm' link 'link1' has "
                                "no moment of inertia about some axis through its mass centre; take another "
                                "method, such as riccati"),
    "planar fixman in space": ("fixman:planar", lambda: robot("panda"),
                               "fixman:planar takes serial chains that turn about parallel axes, and of 'panda' the axis of "
                               "joint 'panda_joint2' is not parallel to that of the joint before it; take fixman:spatial, or "
                               "another method, such as riccati"),
    "planar fixman of a slide": ("fixman:planar", lambda: robot("scara"), "joint 'joint3' is prismatic"),
    "planar fixman of a branch": ("fixman:planar", lambda: branched(planar_rods(3)), "it branches at link 'b2'"),
    "point masses with a massless one": ("fixman", lambda: point_mass_arm(1, 0, 1), "link 'b1' has no mass"),
    "point masses and a rigid link": ("fixman", lambda: without(planar_rods(3), 1, Part("b1", (), Fraction(1))),
                                      "link 'b1' is a point mass, and not every link is one at its end"),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_a_robot_that_the_partition_does_not_suit_is_told_why(case: str) -> None:
    method, made, sentence = SENTENCES[case]
    with pytest.raises(RequestError) as refused:
        symgen.program(made(), "mass_matrix_solve", method)
    text = str(refused.value)
    assert sentence in text
    assert text.count(";") == 1
    assert text.endswith("another method, such as riccati")


def test_a_payload_on_a_point_mass_is_declined_and_the_default_goes_round_it() -> None:
    arm = symgen.load("planar_point_mass")
    link = arm.frames[-1].name
    with pytest.raises(RequestError, match="makes one of them a rigid body; take another method, such as riccati"):
        symgen.program(arm, "mass_matrix_solve", "fixman", payload=link)
    assert symgen.program(arm, "mass_matrix_solve", payload=link).method != "fixman"


CHECKED = ["mass_matrix_solve=fixman", "mass_matrix_determinant=fixman", "forward_dynamics=fixman"]


@pytest.mark.parametrize("made", [planar_rods(5), point_mass_arm(2, 1, 3), random_mechanism(7, 5, "tree", kinds())],
                         ids=["planar rods", "point masses", "a tree"])
def test_every_form_verifies(made: Mechanism) -> None:
    assert symgen.verify(made, CHECKED, states=4, compiled=False).passed


def test_a_payload_counts_in_the_rigid_forms() -> None:
    for made, link in ((planar_rods(3), "b1"), (robot("ur5"), robot("ur5").frames[-1].name)):
        assert symgen.verify(made, CHECKED[:2], states=3, compiled=False, payload=link).passed


# -- what it costs ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("n", [10, 50])
def test_a_planar_point_mass_takes_under_thirty_operations_and_one_sine_and_cosine(n: int) -> None:
    found = symgen.program(f"planar_point_mass:{n}", "mass_matrix_solve", "fixman").operations
    assert found["mul"] + found["add"] + found["div"] + found["neg"] <= 23 * n
    assert found["div"] <= n
    assert found["sin"] == found["cos"] == n - 1   # the first angle turns the whole chain


def test_other_masses_and_lengths_stay_under_thirty() -> None:
    source = Random(2)
    arm = point_mass_arm(*(source.randint(1, 99) for _ in range(20)))
    joints = tuple(replace(j, pose=pose((Fraction(source.randint(1, 99), 10), Fraction(0), Fraction(0))) if i else ())
                   for i, j in enumerate(arm.joints))
    ends = [*(j.pose for j in joints[1:]), pose((Fraction(3, 7), Fraction(0), Fraction(0)))]
    bodies = tuple(Body(b.name, (replace(b.parts[0], pose=end),)) for b, end in zip(arm.bodies, ends, strict=True))
    found = symgen.program(replace(arm, joints=joints, bodies=bodies), "mass_matrix_solve", "fixman")
    assert found.method == "fixman"
    assert found.cost <= 30 * 20


@pytest.mark.parametrize("n", [2, 10, 30, 100])
def test_the_solve_is_backward_stable(n: int) -> None:
    """‖M x − b‖ ≤ 1e-13 (‖M‖ ‖x‖ + ‖b‖) at random, straight and zigzag chains; M = JᵀJ of LC (14)."""
    random = np.random.default_rng(n)
    bent, b = random.uniform(-np.pi, np.pi, (6, n)), random.uniform(-1, 1, (8, n))
    q = np.concatenate([bent, np.zeros((1, n)), np.tile([3.0, -3.0], (1, n))[:, :n]])
    x = run(symgen.program(f"planar_point_mass:{n}", "mass_matrix_solve", "fixman"), {"q": q, "b": b})["x"]
    for angles, right, found in zip(q, b, x, strict=True):
        steps = np.stack([-np.sin(np.cumsum(angles)), np.cos(np.cumsum(angles))])
        places = np.cumsum(steps, axis=1)                                                       # turned by a quarter
        J = np.concatenate([[np.where(np.arange(n) >= j, places[a] - (places[a][j - 1] if j else 0), 0) for j in range(n)]
                            for a in (0, 1)], axis=1)
        mass = J @ J.T
        size = np.abs(mass).sum(axis=1).max() * np.abs(found).max() + np.abs(right).max()
        assert np.abs(mass @ found - right).max() <= 1e-13 * size
