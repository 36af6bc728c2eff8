"""`fixman:parallel`: M⁻¹ b of a planar chain of point masses, as a parallel scan over segments of
the chain.

Place i comprises joint i and the mass before it, which is the head of link i − 1 and the tail of
link i. The first mass is the fixed base. The last mass is followed by a link without force. By LC
(12), for the directions φ of the links and the moments m = T⁻ᵀ b on them,

    H^LL e = (H^φL)ᵀ m,    φ̈ = H^φφ m − H^φL e,    θ̈ = T⁻¹ φ̈,

and by (23) the mass of a place contributes to the blocks of links i − 1 and i only. So a place
contributes to H^LL at (a, a), (a, c) and (c, c), and to the right-hand side, where a and c are
those two links. A segment of places acts like one such mass, once its inner links are eliminated.
Let n be the segment before a link and k the one after it. Cyclic reduction of (13) then computes

    D = H_n(c,c) + H_k(a,a),   H(a,a) = H_n(a,a) − H_n(a,c) D⁻¹ H_n(c,a),   H(a,c) = −H_n(a,c) D⁻¹ H_k(a,c),   …

T and Tᵀ are differences of neighbours. A place needs the moments of its own joint and of the one
before. An earlier scan delivers b of the next joint, and a later scan the rate of the direction
before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation, Scalar
from symgen.methods.fixman.geometry import COS, PLANAR, SIN, U, V, W, by_inverses, meeting
from symgen.methods.fixman.planar import entry
from symgen.methods.shared.factor import Results
from symgen.support.errors import MethodRefusal


def mass_matrix_solve(linkage: Linkage) -> Results:
    """Raise MethodRefusal: the method exists in looped form only, built by
    `symgen.pipeline.loops.planar_scan`.
    """
    raise MethodRefusal(
        f"fixman:parallel exists only in looped form, and '{linkage.model.name}' is requested in "
        "rows; use generate or symgen.compile, or fixman:planar"
    )


Numbers = Mapping[str, Scalar]
TABLE = ("offset", "u", "u_before", "w_before")
"""Constants of a place: the direction of its link relative to the link before at joint angle zero (rad), the inverse
lengths of both (1/m), and the inverse mass (1/kg; 0 for the base).
"""
RUN, CUT = 5, 2
"""Numbers of a segment: H(a,a), the right-hand side at a, H(a,c), H(c,c), the right-hand side at c; the last place has only the
first two.
"""
SAVED = 3
"""Saved values of the link between two segments: Z towards both ends, and y, with e = y − Z_a e_a − Z_c e_c."""
ENDS, LAST_ENDS = 2, 1
"""Number of ends of a segment at which e is passed down; the last place has one."""


def halves(
    derivation: Derivation,
    constants: Numbers,
    q: Scalar,
    b: Scalar,
    previous_b: Scalar,
    next_b: Scalar,
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the segment of one place, and its saved value.

    The saved value has, for the direction before and its own, the rate without e and the entry of
    H^φL. `previous_b` and `next_b` are b of the neighbouring joints.
    """
    derivation.step("terms of the previous mass in the blocks of H, LC (23)")
    form, angle = by_inverses(meeting, PLANAR), q + constants["offset"]
    bindings = {
        U: constants["u_before"],
        V: constants["u"],
        W: constants["w_before"],
        COS: derivation.cos(angle),
        SIN: derivation.sin(angle),
    }

    def block(r: int, c: int) -> Scalar:
        return entry(form[r, c], bindings, derivation)

    derivation.step("moments on both directions, and the right-hand side, LC (12)")
    moment_before, moment = (
        derivation.name("m_before", previous_b - b),
        derivation.name("m", b - next_b),
    )
    inner, outer = block(0, 3), block(2, 1)  # H^φL_i−1,i and H^φL_i,i−1
    segment = [block(1, 1), outer * moment, block(1, 3), block(3, 3), inner * moment_before]
    soft_coupling = block(0, 2)  # H^φφ_i−1,i
    return segment, [
        block(0, 0) * moment_before + soft_coupling * moment,
        inner,
        soft_coupling * moment_before + block(2, 2) * moment,
        outer,
    ]


def eliminated(
    derivation: Derivation, inner_carry: Sequence[Scalar], outer_carry: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Combine two segments by eliminating the link between them; also return its saved value."""
    derivation.step("elimination of the link between two segments, LC (13)")
    (aa, a, ac, n_cc, n_c), (k_aa, k_a, ca, cc, c) = inner_carry, outer_carry
    inverse = derivation.name("invD", derivation.one / derivation.name("D", n_cc + k_aa))
    Z_a, Z_c, right = ac * inverse, ca * inverse, n_c + k_a
    return [aa - Z_a * ac, a - Z_a * right, -(Z_a * ca), cc - Z_c * ca, c - Z_c * right], [
        Z_a,
        Z_c,
        right * inverse,
    ]


def forced(
    derivation: Derivation, saved: Sequence[Scalar], end_forces: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return e at the ends of the front segment, and at the ends of the one behind it.

    `end_forces` has e at the ends of the segment that they form together.
    """
    derivation.step("force of the hard coordinate between two segments, LC (13)")
    (Z_a, Z_c, y), (first, last) = saved, end_forces
    e = derivation.name("e", y - Z_a * first - Z_c * last)
    return [first, e], [e, last]


def rates(
    derivation: Derivation, saved: Sequence[Scalar], e: Sequence[Scalar]
) -> tuple[Scalar, Scalar]:
    """Return the contribution of the mass to the rates of the direction before and of its own: H^φφ
    m − H^φL e.
    """
    derivation.step("rates of both directions, LC (13)")
    rate_before, inner, rate, outer = saved
    return rate_before - inner * e[1], rate - outer * e[0]


def joints(
    derivation: Derivation, rate_before: Scalar, rate: Scalar, before: Scalar
) -> tuple[Scalar, Scalar]:
    """Return the contribution of the mass to the rates of the joint before and of its own, θ̈_i =
    φ̈_i − φ̈_{i−1}.

    `before` is the contribution of the previous mass to the rate of the direction before.
    """
    derivation.step("rates of both joints")
    return rate_before, rate - rate_before - before


# -- contributions of neighbours --------------------------------------------------------------------------------------------------------


def first_of_both(
    derivation: Derivation, inner_carry: Sequence[Scalar], outer_carry: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return b of a segment's first joint, and the saved value: b of the segment behind."""
    derivation.step("right-hand side of the next joint")
    return [*inner_carry], [*outer_carry]


def next_of_each(
    derivation: Derivation, saved: Sequence[Scalar], after_both: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return b of the joint after the front segment, and after the other."""
    derivation.step("right-hand side of the next joint")
    return [*saved], [*after_both]


def last_of_both(
    derivation: Derivation, inner_carry: Sequence[Scalar], outer_carry: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the rate of a segment's last direction, and the saved value: that of the front
    segment.
    """
    derivation.step("rate of the previous direction")
    return [*outer_carry], [*inner_carry]


def previous_of_each(
    derivation: Derivation, saved: Sequence[Scalar], before_both: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the rate of the direction before the front segment, and before the other."""
    derivation.step("rate of the previous direction")
    return [*before_both], [*saved]
