"""`fixman:segments`: M⁻¹ b of a planar chain of point masses, in segments that are swept in
parallel.

By LC (12), for the directions φ of the links and the moments m = T⁻ᵀ b on them,

    H^LL e = (H^φL)ᵀ m,    φ̈ = H^φφ m − H^φL e,    θ̈ = T⁻¹ φ̈,

and these matrices couple neighbours only. Let a segment have the links s … t, eliminated from t to
s. The links beyond enter row t only, as a number σ; the link before enters row s, by its force e'
and its moment m'. All results are linear in these:

    e_i = (known_i + H^φL_{i-1,i} m_{i-1} + reach_i σ − H^LL_{i,i-1} e_{i-1}) / D_i,    reach_t = 1,
    e_t = p + q σ + reach e' + µ m',

where D are the pivots of (13) of the segment by itself. The segment's first row contributes to the
row before it σ' = y − z m' + reach σ + ρ e'. All segments beyond contribute σ = Y − Z m_t + R e_t,
so

    e_t = κ (p + q A + reach e' + µ m'),    σ = κ (A + R p) + R κ (reach e' + µ m'),
    A = Y − Z m_t,    κ = 1/(1 − q R),

and this segment with all beyond contributes Y' = y + reach κ (A + R p), Z' = z − reach R κ µ, R' =
ρ + R κ reach². 1/q is the pivot of row t if it were eliminated last, and 1/q − R > 0 is that of the
whole chain, so κ ≥ 1. Joint rates also need values of the neighbours: b of the next link before the
elimination, and the rates of both neighbours after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Derivation, Scalar
from symgen.methods.fixman.geometry import COS, PLANAR, SIN, U, V, W, by_inverses, meeting
from symgen.methods.fixman.planar import entry
from symgen.methods.shared.factor import Results
from symgen.support.errors import MethodRefusal


def mass_matrix_solve(linkage: Linkage) -> Results:
    """Raise MethodRefusal: the method exists in looped form only, built by
    `symgen.pipeline.loops.planar_segments`.
    """
    raise MethodRefusal(
        f"fixman:segments exists only in looped form, and '{linkage.model.name}' is requested in "
        "rows; use generate or symgen.compile, or fixman:planar"
    )


Numbers = Mapping[str, Scalar]
"""Numbers of a link by name: its link constants, or saved values."""
TABLE = ("offset", "u", "u_before", "w", "w_before")
"""Constants of a link: its direction relative to the link before at joint angle zero (rad), the
inverse lengths of itself and of the link before (1/m), and their inverse masses (1/kg; 0 for the
base).
"""


class Inward(NamedTuple):
    """Carry of the elimination to the link before.

    `y`, `z`, `rho` and `reach` contribute to row i − 1; `p`, `q` and `mu` of m_{i-1} give e_t.
    `mark` is 1 in the initial carry and 0 after the last link; `last` is the moment of the last
    link.
    """

    b: Scalar
    y: Scalar
    z: Scalar
    rho: Scalar
    reach: Scalar
    p: Scalar
    q: Scalar
    mu: Scalar
    mark: Scalar
    last: Scalar


class Outward(NamedTuple):
    """Carry of the forces to the next link: moment and force of a link, and σ.

    `mark` is 1 in the initial carry and 0 after the first link; `first` is the first link's
    contribution to the rate of the link before. `rate` is that of the link's direction without the
    contribution of the next link.
    """

    moment: Scalar
    force: Scalar
    sigma: Scalar
    mark: Scalar
    first: Scalar
    rate: Scalar


class Row(NamedTuple):
    """Contribution of a segment and all beyond to the previous link's row: σ' = Y − Z m' + R e'."""

    Y: Scalar
    Z: Scalar
    R: Scalar


class Ends(NamedTuple):
    """σ = `sigma` + `sigma_force` e' + `sigma_moment` m', and e_t likewise."""

    sigma: Scalar
    sigma_force: Scalar
    sigma_moment: Scalar
    force: Scalar
    force_force: Scalar
    force_moment: Scalar


# -- along the links of a segment ------------------------------------------------------------------


def joint_entries(derivation: Derivation, q: Scalar, constants: Numbers) -> Numbers:
    """Return the entries of H at a joint: contributions of the mass before it and of its link's own
    mass.
    """
    derivation.step("terms of its mass and of the previous one in the blocks of H, LC (23)")
    form, angle = by_inverses(meeting, PLANAR), q + constants["offset"]
    bindings = {
        U: constants["u_before"],
        V: constants["u"],
        W: constants["w_before"],
        COS: derivation.cos(angle),
        SIN: derivation.sin(angle),
    }
    own_bindings = {U: constants["u"], W: constants["w"]}
    return {
        "hard": entry(form[3, 3], bindings, derivation)
        + entry(form[1, 1], own_bindings, derivation),  # H^LL_ii
        "beside": entry(form[3, 1], bindings, derivation),  # H^LL_i,i−1
        "inner": entry(form[0, 3], bindings, derivation),  # H^φL_i−1,i
        "outer": entry(form[2, 1], bindings, derivation),  # H^φL_i,i−1
        "soft": entry(form[2, 2], bindings, derivation)
        + entry(form[0, 0], own_bindings, derivation),  # H^φφ_ii
        "soft_beside": entry(form[2, 0], bindings, derivation),  # H^φφ_i,i−1
    }


def eliminated(
    derivation: Derivation, b: Scalar, saved: Numbers, before: Inward
) -> tuple[Inward, Numbers]:
    """Eliminate row i of H^LL; return the carry and the saved values."""
    derivation.step("elimination of the hard block, and terms from beyond the segment, LC (13)")
    moment = derivation.name("m", b - before.b)
    right_side = derivation.name("known", before.y - before.z * moment)
    inverse = derivation.name(
        "invD", derivation.one / derivation.name("D", saved["hard"] - before.rho)
    )
    gain = derivation.name("gain", saved["beside"] * inverse)
    reach = before.reach
    reach_by_pivot = reach * inverse
    carry = Inward(
        b,
        saved["outer"] * moment - gain * right_side,
        gain * saved["inner"],
        gain * saved["beside"],
        -(reach_by_pivot * saved["beside"]),
        before.p + before.mu * moment + reach_by_pivot * right_side,
        before.q + reach_by_pivot * reach,
        reach_by_pivot * saved["inner"],
        derivation.zero,
        before.last + before.mark * moment,
    )
    return carry, {
        "m": moment,
        "known": right_side,
        "inverse": inverse,
        "gain": gain,
        "reach": reach,
    }


def forces(derivation: Derivation, saved: Numbers, before: Outward) -> tuple[Outward, Numbers]:
    """Compute e_i, the rate of direction i, and the contribution of this link to the rate of the
    link before.
    """
    derivation.step("forces of the hard coordinates, and the rate of the link's direction, LC (13)")
    right_side = saved["known"] + saved["inner"] * before.moment + saved["reach"] * before.sigma
    force = derivation.name("e", right_side * saved["inverse"] - saved["gain"] * before.force)
    rate = (
        saved["soft"] * saved["m"]
        + saved["soft_beside"] * before.moment
        - saved["outer"] * before.force
    )
    added = derivation.name("added", saved["soft_beside"] * saved["m"] - saved["inner"] * force)
    carry = Outward(
        saved["m"],
        force,
        before.sigma,
        derivation.zero,
        before.first + before.mark * added,
        derivation.name("rate", rate),
    )
    return carry, {"rate": rate, "added": added}


def directions(derivation: Derivation, saved: Numbers, added: Scalar) -> Scalar:
    """Return φ̈_i; `added` is the contribution of the next link."""
    derivation.step("rate of the link's direction, with the term of the next link")
    return derivation.name("phi", saved["rate"] + added)


def joints(derivation: Derivation, saved: Numbers, before: Scalar) -> Scalar:
    """Return θ̈_i = φ̈_i − φ̈_{i−1}."""
    derivation.step("the rate of its joint")
    return saved["phi"] - before


# -- over the segments -----------------------------------------------------------------------------


def across_inward(
    derivation: Derivation, final_carry: Inward, beyond: Row | None
) -> tuple[Row, Ends]:
    """Return the contribution of a segment and all beyond to the link before, and the values saved
    for the outward pass.
    """
    if beyond is None:
        zero = derivation.zero
        return Row(final_carry.y, final_carry.z, final_carry.rho), Ends(
            zero, zero, zero, final_carry.p, final_carry.reach, final_carry.mu
        )
    derivation.step("segment: the force on its last link, LC (13) over segments")
    A = beyond.Y - beyond.Z * final_carry.last
    kappa = derivation.one / (derivation.one - final_carry.q * beyond.R)
    sigma, gain = kappa * (A + beyond.R * final_carry.p), beyond.R * kappa
    end_values = Ends(
        sigma,
        gain * final_carry.reach,
        gain * final_carry.mu,
        kappa * (final_carry.p + final_carry.q * A),
        kappa * final_carry.reach,
        kappa * final_carry.mu,
    )
    return Row(
        final_carry.y + final_carry.reach * sigma,
        final_carry.z - final_carry.reach * end_values.sigma_moment,
        final_carry.rho + final_carry.reach * end_values.sigma_force,
    ), end_values


def across_outward(
    derivation: Derivation, final_carry: Inward, end_values: Ends, before: tuple[Scalar, Scalar]
) -> tuple[tuple[Scalar, Scalar], Outward]:
    """Return moment and force of the segment's last link, and the initial carry of its sweep of
    forces.

    `before` has the moment and the force of the link before the segment.
    """
    derivation.step("segment: the forces on its ends")
    moment, force = before
    sigma = end_values.sigma + end_values.sigma_force * force + end_values.sigma_moment * moment
    last = end_values.force + end_values.force_force * force + end_values.force_moment * moment
    return (final_carry.last, last), Outward(
        moment, force, sigma, derivation.one, derivation.zero, derivation.zero
    )
