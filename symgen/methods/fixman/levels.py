"""`fixman:parallel`: M⁻¹ b of a chain of point masses in a plane, level by level: what a joint's place among the masses does, and
what two runs of places do that meet at a link.

Place i is joint i and the mass before it, the head of link i − 1 and the tail of link i. The first mass is the base, which
nothing moves. Behind the last mass is a link that bears nothing. By LC (12), for the directions φ of the links and the moments
m = T⁻ᵀ b on them,

    H^LL e = (H^φL)ᵀ m,    φ̈ = H^φφ m − H^φL e,    θ̈ = T⁻¹ φ̈,

and by (23) the mass of a place adds to the blocks of links i − 1 and i alone. So it has a part of H^LL at (a, a), (a, c) and
(c, c), and of what stands on the right, a and c being those links. A run of places is such a mass as well, once the links within
are eliminated: with n before a link and k behind it, cyclic reduction of (13) is there

    D = H_n(c,c) + H_k(a,a),   H(a,a) = H_n(a,a) − H_n(a,c) D⁻¹ H_n(c,a),   H(a,c) = −H_n(a,c) D⁻¹ H_k(a,c),   …

Of the moments a place knows those of its own joint and of the one before; b of the next one comes by the tree before, and the
rate of the direction before by the tree behind, as T and its transpose are differences of neighbours.
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
    """None in rows: `symgen.pipeline.loops.planar_scan` puts the steps below together."""
    raise MethodRefusal(
        f"fixman:parallel is loops over the links of one long chain, and '{linkage.model.name}' is asked for in "
        "rows; ask generate or symgen.compile for it, or take fixman:planar"
    )


Numbers = Mapping[str, Scalar]
TABLE = ("offset", "u", "u_before", "w_before")
"""Of a place: the direction of its link against that of the link before where the joint stands at zero (rad), one over the
lengths of both (1/m), and one over the mass (1/kg; 0 of the base).
"""
RUN, CUT = 5, 2
"""Numbers of a run: H(a,a), the right-hand side at a, H(a,c), H(c,c), the right-hand side at c; the last place has the first two.
"""
KEPT = 3
"""What is kept of the link between two runs: Z towards both ends, and y, of e = y − Z_a e_a − Z_c e_c."""
ENDS, TOLD = 2, 1
"""e at both ends of a run; the last place has one."""


def halves(
    home: Derivation, own: Numbers, q: Scalar, b: Scalar, before: Scalar, behind: Scalar
) -> tuple[list[Scalar], list[Scalar]]:
    """A place's run and what it keeps: of the direction before and of its own what the rate is but for e, and its entry of
    H^φL. `before` and `behind` are b of the neighbouring joints.
    """
    home.step("the mass before it in the blocks of H, LC (23)")
    form, angle = by_inverses(meeting, PLANAR), q + own["offset"]
    met = {
        U: own["u_before"],
        V: own["u"],
        W: own["w_before"],
        COS: home.cos(angle),
        SIN: home.sin(angle),
    }

    def block(r: int, c: int) -> Scalar:
        return entry(form[r, c], met, home)

    home.step("moments on both directions, and the right-hand side, LC (12)")
    near, far = home.name("m_before", before - b), home.name("m", b - behind)
    inner, outer = block(0, 3), block(2, 1)  # H^φL_i−1,i and H^φL_i,i−1
    run = [block(1, 1), outer * far, block(1, 3), block(3, 3), inner * near]
    beside = block(0, 2)  # H^φφ_i−1,i
    return run, [block(0, 0) * near + beside * far, inner, beside * near + block(2, 2) * far, outer]


def eliminated(
    home: Derivation, front: Sequence[Scalar], behind: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """The run of two, and what is kept of the link between them."""
    home.step("the link between two runs eliminated, LC (13)")
    (aa, a, ac, n_cc, n_c), (k_aa, k_a, ca, cc, c) = front, behind
    inverse = home.name("invD", home.one / home.name("D", n_cc + k_aa))
    Z_a, Z_c, right = ac * inverse, ca * inverse, n_c + k_a
    return [aa - Z_a * ac, a - Z_a * right, -(Z_a * ca), cc - Z_c * ca, c - Z_c * right], [
        Z_a,
        Z_c,
        right * inverse,
    ]


def forced(
    home: Derivation, kept: Sequence[Scalar], ends: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """e at the ends of the front run, and of the one behind it; `ends`: at those of both."""
    home.step("force of the hard coordinate between, LC (13)")
    (Z_a, Z_c, y), (first, last) = kept, ends
    e = home.name("e", y - Z_a * first - Z_c * last)
    return [first, e], [e, last]


def rates(home: Derivation, kept: Sequence[Scalar], e: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
    """What the mass adds to the rates of the direction before and of its own: H^φφ m − H^φL e."""
    home.step("rates of both directions, LC (13)")
    near, inner, far, outer = kept
    return near - inner * e[1], far - outer * e[0]


def joints(home: Derivation, near: Scalar, far: Scalar, before: Scalar) -> tuple[Scalar, Scalar]:
    """What it adds to the rates of the joint before and of its own, θ̈_i = φ̈_i − φ̈_{i−1}; `before`: what the mass before adds to
    the rate of the direction before.
    """
    home.step("rates of both joints")
    return near, far - near - before


# -- what neighbours have --------------------------------------------------------------------------------------------------------


def first_of_both(
    home: Derivation, front: Sequence[Scalar], behind: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """b of a run's first joint, and what is kept: that of the run behind."""
    home.step("what comes next")
    return [*front], [*behind]


def next_of_each(
    home: Derivation, kept: Sequence[Scalar], known: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """What comes next behind the front run, and behind the other."""
    home.step("what comes next")
    return [*kept], [*known]


def last_of_both(
    home: Derivation, front: Sequence[Scalar], behind: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """The rate of a run's last direction, and what is kept: that of the front one."""
    home.step("what came before")
    return [*behind], [*front]


def one_before_each(
    home: Derivation, kept: Sequence[Scalar], known: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """What came before the front run, and before the other."""
    home.step("what came before")
    return [*known], [*kept]
