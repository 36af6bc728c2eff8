"""`fixman:parallel`: M⁻¹ b of a planar chain of point masses, as a parallel scan over segments of
the chain.

LC is Lee & Chirikjian (2005). The soft coordinates φ are the absolute directions of the links, and
the hard coordinates L are their lengths. T⁻¹ maps rates of directions to rates of joints:
θ̈_i = φ̈_i − φ̈_{i−1}. So the moments on the directions, m = T⁻ᵀ b, are m_i = b_i − b_{i+1}. By LC
(12), with the hard forces e along the links,

    H^LL e = (H^φL)ᵀ m,    φ̈ = H^φφ m − H^φL e,    θ̈ = T⁻¹ φ̈.

Place i comprises joint i and the point mass between links i − 1 and i. The mass of the first place
is the fixed base. The last place has no joint and no link after its mass.

By (23) the mass of a place contributes to the blocks of links i − 1 and i only. Let a be link i − 1
and c be link i. A place contributes to H^LL at (a, a), (a, c) and (c, c), and to the right-hand
side at a and c. A segment of places acts like one such mass, once its inner links are eliminated.
Let segment 1 end and segment 2 start at a link. Cyclic reduction of (13) eliminates this link:

    D = H_1(c,c) + H_2(a,a)
    H(a,a) = H_1(a,a) − H_1(a,c) D⁻¹ H_1(c,a)
    H(a,c) = −H_1(a,c) D⁻¹ H_2(a,c)
    H(c,c) = H_2(c,c) − H_2(c,a) D⁻¹ H_2(a,c)

The right-hand side is eliminated likewise. The differences m_i and θ̈_i need values of neighbouring
places. A scan before the elimination delivers b of the next joint, and a scan after it delivers the
rate of the direction before.
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


PlaceConstants = Mapping[str, Scalar]
"""Constants of a place by their names in TABLE."""
TABLE = ("offset", "u", "u_before", "w_before")
"""Constants of place i: the direction of link i relative to link i − 1 at joint angle zero (rad);
the inverse lengths of link i and of link i − 1 (1/m); the inverse mass (1/kg; 0 for the base).
"""
SEGMENT_SIZE, LAST_SEGMENT_SIZE = 5, 2
"""Size of a segment: H(a,a), the right-hand side at a, H(a,c), H(c,c), the right-hand side at c.
The last segment has only the first two, since no link follows it.
"""
SAVED_SIZE = 3
"""Number of saved values of an eliminated link: Z_a, Z_c and y, with e = y − Z_a e_a − Z_c e_c."""
END_COUNT, LAST_END_COUNT = 2, 1
"""Number of ends of a segment, whose forces e the downsweep passes to it; the last segment has only
the end a.
"""


def place_segment(
    derivation: Derivation,
    constants: PlaceConstants,
    q: Scalar,
    b: Scalar,
    previous_b: Scalar,
    next_b: Scalar,
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the segment that consists of one place, and the saved values of the place.

    The saved values are H^φφ m and H^φL for the direction of link i − 1, then both for link i.
    `direction_rates` reads them. `previous_b` and `next_b` are b of the neighbouring joints.
    """
    derivation.step("terms of the previous mass in the blocks of H, LC (23)")
    mass_blocks, angle = by_inverses(meeting, PLANAR), q + constants["offset"]
    bindings = {
        U: constants["u_before"],
        V: constants["u"],
        W: constants["w_before"],
        COS: derivation.cos(angle),
        SIN: derivation.sin(angle),
    }

    def block(r: int, c: int) -> Scalar:
        """Return an entry of H between φ_i−1, L_i−1, φ_i and L_i, in this order."""
        return entry(mass_blocks[r, c], bindings, derivation)

    derivation.step("moments on both directions, and the right-hand side, LC (12)")
    moment_before = derivation.name("m_before", previous_b - b)
    moment = derivation.name("m", b - next_b)
    inner, outer = block(0, 3), block(2, 1)  # H^φL_i−1,i and H^φL_i,i−1
    segment = [block(1, 1), outer * moment, block(1, 3), block(3, 3), inner * moment_before]
    soft_coupling = block(0, 2)  # H^φφ_i−1,i
    return segment, [
        block(0, 0) * moment_before + soft_coupling * moment,
        inner,
        soft_coupling * moment_before + block(2, 2) * moment,
        outer,
    ]


def combine_segments(
    derivation: Derivation, inner_carry: Sequence[Scalar], outer_carry: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the segment of two neighbouring segments without the link between them, and the saved
    values of that link.
    """
    derivation.step("elimination of the link between two segments, LC (13)")
    aa_1, right_a1, ac_1, cc_1, right_c1 = inner_carry
    aa_2, right_a2, ac_2, cc_2, right_c2 = outer_carry
    inverse = derivation.name("invD", derivation.one / derivation.name("D", cc_1 + aa_2))
    Z_a, Z_c, right = ac_1 * inverse, ac_2 * inverse, right_c1 + right_a2
    return [
        aa_1 - Z_a * ac_1,
        right_a1 - Z_a * right,
        -(Z_a * ac_2),
        cc_2 - Z_c * ac_2,
        right_c2 - Z_c * right,
    ], [Z_a, Z_c, right * inverse]


def forces_at_ends(
    derivation: Derivation, saved: Sequence[Scalar], end_forces: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return e at the ends of each of two combined segments, the inner segment first.

    `end_forces` has e at the ends of the combined segment.
    """
    derivation.step("force of the hard coordinate between two segments, LC (13)")
    (Z_a, Z_c, y), (e_a, e_c) = saved, end_forces
    e = derivation.name("e", y - Z_a * e_a - Z_c * e_c)
    return [e_a, e], [e, e_c]


def direction_rates(
    derivation: Derivation, saved: Sequence[Scalar], e: Sequence[Scalar]
) -> tuple[Scalar, Scalar]:
    """Return the contributions of mass i to φ̈_{i−1} and φ̈_i: its terms of H^φφ m − H^φL e."""
    derivation.step("rates of both directions, LC (13)")
    soft_rate_before, inner, soft_rate, outer = saved
    e_before, e_own = e
    return soft_rate_before - inner * e_own, soft_rate - outer * e_before


def joint_rates(
    derivation: Derivation, rate_before: Scalar, rate: Scalar, previous_rate: Scalar
) -> tuple[Scalar, Scalar]:
    """Return the contributions of mass i to θ̈_{i−1} and θ̈_i, from those to φ̈_{i−1} and φ̈_i.

    θ̈_i = φ̈_i − φ̈_{i−1}. `previous_rate` is the contribution of mass i − 1 to φ̈_{i−1}; θ̈_i
    subtracts it too.
    """
    derivation.step("rates of both joints")
    return rate_before, rate - rate_before - previous_rate


# -- values of neighbouring places ----------------------------------------------------------------


def first_joint_b(
    derivation: Derivation, inner_carry: Sequence[Scalar], outer_carry: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return b of the first joint of two combined segments, and the saved value: b of the first
    joint of the outer segment.
    """
    derivation.step("right-hand side of the next joint")
    return [*inner_carry], [*outer_carry]


def next_joint_b(
    derivation: Derivation, saved: Sequence[Scalar], after_both: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return b of the joint after the inner segment, and b of the joint after the outer segment."""
    derivation.step("right-hand side of the next joint")
    return [*saved], [*after_both]


def last_direction_rate(
    derivation: Derivation, inner_carry: Sequence[Scalar], outer_carry: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the rate of the last direction of two combined segments, and the saved value: the rate
    of the last direction of the inner segment.
    """
    derivation.step("rate of the previous direction")
    return [*outer_carry], [*inner_carry]


def previous_direction_rate(
    derivation: Derivation, saved: Sequence[Scalar], before_both: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the rate of the direction before the inner segment, and of the direction before the
    outer segment.
    """
    derivation.step("rate of the previous direction")
    return [*before_both], [*saved]
