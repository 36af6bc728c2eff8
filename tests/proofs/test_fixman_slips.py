"""Slips in the printed text of LC and WC: the printed form misses by more than 1e-3, the corrected one holds.

LC is Lee & Chirikjian 2005, WC is Wang & Chirikjian.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import sympy as sp
from sympy.polys.matrices import DomainMatrix

from symgen.methods.fixman.geometry import PLANAR
from tests.proofs import rotations as wc
from tests.shared import lee_chirikjian
from tests.shared.point_mass_chains import Blocks, Chain, corner, exact, schur


def missed(values: Any, expected: Any) -> float:
    gap = values - expected
    return max(abs(float(x)) for x in (gap.to_Matrix() if isinstance(gap, DomainMatrix) else gap))


def six_links() -> tuple[Chain, DomainMatrix, Blocks]:
    made = exact(6)
    soft, hard = (made.rows(rows) for rows in lee_chirikjian.exact_rows(6))
    return made, made.mass_matrix().inv(), made.gram(soft, hard)


def test_lc_21_carries_d_i_in_its_last_term() -> None:
    made, inverse, (_, _, bb) = six_links()
    hard = made.rows(lee_chirikjian.exact_rows(6)[1])
    for as_printed in (False, True):
        aa, ab, _ = made.gram(made.rows(lee_chirikjian.published_rows(6, as_printed)), hard)
        error = missed(schur(aa, ab, bb), inverse)
        assert error > 1e-3 if as_printed else error < 1e-12


def test_lc_20_to_21_are_not_the_blocks_of_the_inverse_metric() -> None:
    made, _, (aa, _, _) = six_links()
    whole = made.metric().inv()
    published = made.gram(
        made.rows(lee_chirikjian.published_rows(6)), made.rows(lee_chirikjian.exact_rows(6)[1])
    )[0]
    assert missed(aa, corner(whole, 6)) < 1e-12
    assert missed(published, corner(whole, 6)) > 1e-3


def test_lc_20_to_21_are_singular_on_a_straight_chain_and_the_exact_rows_are_not() -> None:
    """They divide by sin θ_i, which SymPy sees as zero; the exact rows give M⁻¹ there too."""
    half = sp.Rational(1, 2)
    straight = Chain(
        [sp.Integer(2), sp.Integer(3), sp.Integer(5)],
        [sp.Integer(1), half, sp.Integer(4)],
        [half] * 3,
    )
    soft, hard = (straight.rows(rows) for rows in lee_chirikjian.exact_rows(3))
    assert (schur(*straight.gram(soft, hard)) * straight.mass_matrix()).to_Matrix() == sp.eye(3)
    entries = [
        straight.value_at_chain(x)
        for row in lee_chirikjian.published_rows(3)
        for part in row.values()
        for x in part
    ]
    assert any(entry.has(sp.zoo, sp.nan) for entry in entries)


def test_lc_sums_over_the_masses_that_move() -> None:
    """(4), (7), (23) print sums from l = 0. The base x_0 does not move: its term would add 1/(m_0 L_1²) to H[0,0]."""
    made, _, (aa, _, _) = six_links()
    whole = made.metric().inv()
    assert missed(aa, corner(whole, 6)) < 1e-12
    base, first = sp.Matrix(sp.symbols("x0_1 x0_2", real=True)), lee_chirikjian.points(1)[1]
    direction = PLANAR.direction(base, first)
    slope = sp.Matrix([[direction.diff(x) for x in base]]).subs(dict.fromkeys(base, 0))
    added = made.value_at_chain((slope * slope.T)[0])  # of m_0 = 1
    assert sp.simplify(added * made.length[0] ** 2) == 1


def test_lc_25_multiplies_in_the_other_order() -> None:
    _, inverse, (aa, ab, bb) = six_links()
    assert missed(aa - ab * bb.inv() * ab.transpose(), inverse) < 1e-12
    assert missed(aa - ab.transpose() * bb.inv() * ab, inverse) > 1e-3


@cache
def turning() -> Any:
    """The body Jacobian of the ZXZ angles."""
    return wc.rotation_jacobian(wc.zxz())


@cache
def points() -> list[dict[Any, Any]]:
    """Five states with rational sines and cosines of the ZXZ angles."""
    random, states = Random(11), []
    for _ in range(5):
        at = {}
        for angle in wc.ANGLES:
            t = sp.Rational(random.randint(1, 40), random.randint(41, 60))
            s, c = 2 * t / (1 + t * t), (1 - t * t) / (1 + t * t)
            at |= {sp.sin(angle): s, sp.cos(angle): c, sp.cot(angle): c / s}
        states.append(at)
    return states


def vanish(*expressions: Any, at: dict[Any, Any]) -> bool:
    """True if expressions in sines and cosines are exactly zero for all values of the slopes in them."""
    return all(sp.expand(expression.xreplace(at)) == 0 for expression in expressions)


def test_wc_11_is_the_body_jacobian_of_zxz_angles() -> None:
    _, beta, gamma = wc.ANGLES
    printed = sp.Matrix(
        [
            [sp.sin(beta) * sp.sin(gamma), sp.cos(gamma), 0],
            [sp.sin(beta) * sp.cos(gamma), -sp.sin(gamma), 0],
            [sp.cos(beta), 0, 1],
        ]
    )
    for at in points():
        assert vanish(*(turning() - printed), at=at)
        assert turning().xreplace(at).det() == -at[sp.sin(beta)]  # singular at sin β = 0


def test_wc_12_and_its_operators_in_zxz_angles() -> None:
    """∂/∂ξ_i as printed below (12), and as the limit (12) itself for the entries of A: ∂A/∂ξ_i = A E_i."""
    alpha, beta, gamma = wc.ANGLES
    A = wc.zxz()
    f = sp.Function("f")(alpha, beta, gamma)
    a, b, c = (f.diff(x) for x in wc.ANGLES)
    printed = (
        -sp.cot(beta) * sp.sin(gamma) * c + sp.sin(gamma) / sp.sin(beta) * a + sp.cos(gamma) * b,
        -sp.cot(beta) * sp.cos(gamma) * c + sp.cos(gamma) / sp.sin(beta) * a - sp.sin(gamma) * b,
        c,
    )
    for at in points():
        J = turning().xreplace(at)
        for i in range(3):
            assert vanish(wc.derivative_along(f, J, wc.ANGLES, i) - printed[i], at=at)
            unit = sp.Matrix([int(i == k) for k in range(3)])
            limit = A * unit.hat()
            assert vanish(
                *(
                    wc.derivative_along(x, J, wc.ANGLES, i) - y
                    for x, y in zip(A, limit, strict=True)
                ),
                at=at,
            )


def test_wc_14_to_17_with_cartesian_places() -> None:
    A, q = wc.zxz(), (*wc.ANGLES, *wc.PLACE)
    J = wc.motion_jacobian(A, sp.Matrix(wc.PLACE), q)
    assert sp.diag(turning(), A.T) == J  # (15)
    f = sp.Function("f")(*q)
    gradient = A.T * sp.Matrix([f.diff(b) for b in wc.PLACE])
    for at in points():
        whole, part = J.xreplace(at), turning().xreplace(at)
        for i in range(3):
            assert vanish(wc.derivative_along(f, whole, q, 3 + i) - gradient[i], at=at)  # (17)
            assert vanish(
                wc.derivative_along(f, whole, q, i) - wc.derivative_along(f, part, wc.ANGLES, i),
                at=at,
            )


AT = {
    **dict(
        zip(wc.ANGLES, (sp.Rational(3, 10), sp.Rational(7, 10), sp.Rational(-6, 5)), strict=True)
    )
}


def test_wc_14_takes_the_rate_of_the_place() -> None:
    """v = Rᵀ ḃ, not Rᵀ b, along one motion; against the twist of H⁻¹ Ḣ."""
    t = sp.Symbol("t", real=True)
    angles, b = (t, 1 + t / 2, 2 - t), sp.Matrix([1 + t, t * t, 3 - 2 * t])
    A = wc.zxz().subs(dict(zip(wc.ANGLES, angles, strict=True)), simultaneous=True)
    H = sp.eye(4)
    H[:3, :3], H[:3, 3] = A, b
    here = {t: sp.Rational(1, 3)}
    v = (H.subs(here).inv(method="ADJ") * H.diff(t).subs(here))[:3, 3]
    assert missed((A.T * b.diff(t)).subs(here).evalf(30), v.evalf(30)) < 1e-12
    assert missed((A.T * b).subs(here).evalf(30), v.evalf(30)) > 1e-3


def test_wc_single_body_has_m_jt_transposed_jt_and_one_order() -> None:
    """Spherical coordinates of the place, where J_T is not symmetric: M = 𝒥ᵀ I 𝒥 from the kinetic energy."""
    A, m, moments = wc.zxz(), sp.Rational(5, 2), sp.diag(1, 2, sp.Rational(5, 2))
    r, u, w = sp.symbols("r u w", positive=True)
    position = sp.Matrix([r * sp.sin(u) * sp.cos(w), r * sp.sin(u) * sp.sin(w), r * sp.cos(u)])
    q = (*wc.ANGLES, r, u, w)
    here = {**AT, r: sp.Rational(3, 2), u: sp.Rational(4, 5), w: sp.Rational(1, 3)}
    rates = sp.Matrix(sp.symbols("s1:7"))
    omega, speed = turning() * rates[:3, :], position.jacobian([r, u, w]) * rates[3:, :]
    energy = (m * speed.dot(speed) + omega.dot(moments * omega)).subs(here).evalf(30) / 2
    mass = sp.hessian(sp.expand(energy), list(rates))
    J = wc.motion_jacobian(A, position, q).subs(here).evalf(30)
    inertia = wc.body_inertia(m, moments)
    assert missed(wc.body_mass_matrix(J, inertia), mass) < 1e-12
    assert missed(wc.body_inverse_mass_matrix(J, inertia), mass.inv()) < 1e-12
    JT = position.jacobian([r, u, w]).subs(here).evalf(30)
    assert missed(m * JT.T * JT, mass[3:, 3:]) < 1e-12
    assert missed(m * JT * JT.T, mass[3:, 3:]) > 1e-3  # as printed
    assert missed(JT.inv() * JT.inv().T / m, mass[3:, 3:].inv()) < 1e-12
    assert missed(m * JT.inv() * JT.inv().T, mass[3:, 3:].inv()) > 1e-3  # as printed
    printed = sp.diag(m * sp.eye(3), moments)  # mass first, 𝒥 rotation first
    assert missed(J.inv() * printed.inv() * J.inv().T, mass.inv()) > 1e-3
