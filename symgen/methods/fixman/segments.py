"""`fixman:segments`: M⁻¹ b of a chain of point masses in a plane, in segments that are all swept at the same time.

By LC (12), for the directions φ of the links and the moments m = T⁻ᵀ b on them,

    H^LL e = (H^φL)ᵀ m,    φ̈ = H^φφ m − H^φL e,    θ̈ = T⁻¹ φ̈,

and of these matrices only neighbours meet. Of a segment's links s … t, eliminated from t to s, what stands beyond enters row t
alone, as a number σ, and the link before enters row s, by its force e' and its moment m'. All that follows is linear in these:

    e_i = (known_i + H^φL_{i-1,i} m_{i-1} + reach_i σ − H^LL_{i,i-1} e_{i-1}) / D_i,    reach_t = 1,
    e_t = p + q σ + reach e' + µ m',

where D are the pivots of (13) of the segment by itself. What the segment's first row does to the row before it is as much as
σ' = y − z m' + reach σ + ρ e'. With what all beyond do, σ = Y − Z m_t + R e_t, so

    e_t = κ (p + q A + reach e' + µ m'),    σ = κ (A + R p) + R κ (reach e' + µ m'),    A = Y − Z m_t,    κ = 1/(1 − q R),

and this segment and all beyond do Y' = y + reach κ (A + R p), Z' = z − reach R κ µ, R' = ρ + R κ reach². 1/q is the pivot of
row t were it eliminated last, and 1/q − R > 0 that of the whole chain, so κ ≥ 1. The rows of joints need what neighbours' links
are given and do: b of the next link before the elimination, and rates of both neighbours behind it.
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
    """None in rows: `symgen.pipeline.loops.planar_segments` puts the steps below together."""
    raise MethodRefusal(
        f"fixman:segments is loops over the links of one long chain, and '{linkage.model.name}' is asked for in "
        "rows; ask generate or symgen.compile for it, or take fixman:planar"
    )


Numbers = Mapping[str, Scalar]
"""By name what a step knows of its link: a row of the table, or what was kept."""
TABLE = ("offset", "u", "u_before", "w", "w_before")
"""Of a link: its direction against that of the link before where its joint stands at zero (rad), one over its length and over
that of the link before (1/m), one over its mass and over that of the link before (1/kg; 0 of the base's)."""


class Inward(NamedTuple):
    """What the elimination hands on to the link before: `y`, `z`, `rho` and `reach` of row i − 1, and e_t as `p`, `q` and `mu` of
    m_{i-1}. `mark` is 1 before the last link and 0 behind it, `last` its moment.
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
    """What forces hand on: moment and force of a link, σ, `mark` likewise of the first link, `first` what it adds to the rate of
    the link before, and the rate of a link's direction but for what the next one adds.
    """

    moment: Scalar
    force: Scalar
    sigma: Scalar
    mark: Scalar
    first: Scalar
    rate: Scalar


class Row(NamedTuple):
    """A row of the elimination that a segment and all beyond do to the link before: σ' = Y − Z m' + R e'."""

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


# -- along the links of a segment ------------------------------------------------------------------------------------------------


def turned(home: Derivation, q: Scalar, own: Numbers) -> Numbers:
    """The entries of H at a joint: those of the mass before it and of its link's own."""
    home.step("its mass and the one before it in the blocks of H, LC (23)")
    form, angle = by_inverses(meeting, PLANAR), q + own["offset"]
    met = {
        U: own["u_before"],
        V: own["u"],
        W: own["w_before"],
        COS: home.cos(angle),
        SIN: home.sin(angle),
    }
    alone = {U: own["u"], W: own["w"]}
    return {
        "hard": entry(form[3, 3], met, home) + entry(form[1, 1], alone, home),  # H^LL_ii
        "beside": entry(form[3, 1], met, home),  # H^LL_i,i−1
        "inner": entry(form[0, 3], met, home),  # H^φL_i−1,i
        "outer": entry(form[2, 1], met, home),  # H^φL_i,i−1
        "soft": entry(form[2, 2], met, home) + entry(form[0, 0], alone, home),  # H^φφ_ii
        "soft_beside": entry(form[2, 0], met, home),  # H^φφ_i,i−1
    }


def eliminated(home: Derivation, b: Scalar, own: Numbers, before: Inward) -> tuple[Inward, Numbers]:
    """Row i of H^LL eliminated, and what is kept of it."""
    home.step("hard block eliminated, and what reaches it from beyond the segment, LC (13)")
    moment = home.name("m", b - before.b)
    known = home.name("known", before.y - before.z * moment)
    inverse = home.name("invD", home.one / home.name("D", own["hard"] - before.rho))
    gain = home.name("gain", own["beside"] * inverse)
    reach = before.reach
    felt = reach * inverse
    handed = Inward(
        b,
        own["outer"] * moment - gain * known,
        gain * own["inner"],
        gain * own["beside"],
        -(felt * own["beside"]),
        before.p + before.mu * moment + felt * known,
        before.q + felt * reach,
        felt * own["inner"],
        home.zero,
        before.last + before.mark * moment,
    )
    return handed, {"m": moment, "known": known, "inverse": inverse, "gain": gain, "reach": reach}


def forces(home: Derivation, own: Numbers, before: Outward) -> tuple[Outward, Numbers]:
    """e_i, and the rate of direction i and what this link adds to that of the link before."""
    home.step("forces of the hard coordinates, and the rate of its direction, LC (13)")
    whole = own["known"] + own["inner"] * before.moment + own["reach"] * before.sigma
    force = home.name("e", whole * own["inverse"] - own["gain"] * before.force)
    rate = own["soft"] * own["m"] + own["soft_beside"] * before.moment - own["outer"] * before.force
    added = home.name("added", own["soft_beside"] * own["m"] - own["inner"] * force)
    handed = Outward(
        own["m"],
        force,
        before.sigma,
        home.zero,
        before.first + before.mark * added,
        home.name("rate", rate),
    )
    return handed, {"rate": rate, "added": added}


def directions(home: Derivation, own: Numbers, added: Scalar) -> Scalar:
    """φ̈_i; `added` is what the next link adds."""
    home.step("the rate of its direction, whole")
    return home.name("phi", own["rate"] + added)


def joints(home: Derivation, own: Numbers, before: Scalar) -> Scalar:
    """θ̈_i = φ̈_i − φ̈_{i−1}."""
    home.step("the rate of its joint")
    return own["phi"] - before


# -- over the segments -----------------------------------------------------------------------------------------------------------


def across_inward(home: Derivation, ended: Inward, beyond: Row | None) -> tuple[Row, Ends]:
    """What a segment and all beyond do to the link before, and what is kept to go back."""
    if beyond is None:
        zero = home.zero
        return Row(ended.y, ended.z, ended.rho), Ends(
            zero, zero, zero, ended.p, ended.reach, ended.mu
        )
    home.step("segment: the force on its last link, LC (13) over segments")
    A = beyond.Y - beyond.Z * ended.last
    kappa = home.one / (home.one - ended.q * beyond.R)
    sigma, moved = kappa * (A + beyond.R * ended.p), beyond.R * kappa
    ends = Ends(
        sigma,
        moved * ended.reach,
        moved * ended.mu,
        kappa * (ended.p + ended.q * A),
        kappa * ended.reach,
        kappa * ended.mu,
    )
    return Row(
        ended.y + ended.reach * sigma,
        ended.z - ended.reach * ends.sigma_moment,
        ended.rho + ended.reach * ends.sigma_force,
    ), ends


def across_outward(
    home: Derivation, ended: Inward, ends: Ends, before: tuple[Scalar, Scalar]
) -> tuple[tuple[Scalar, Scalar], Outward]:
    """Moment and force of the segment's last link, and what its sweep of forces starts with; `before` are those of the link
    before it.
    """
    home.step("segment: the forces on its ends")
    moment, force = before
    sigma = ends.sigma + ends.sigma_force * force + ends.sigma_moment * moment
    last = ends.force + ends.force_force * force + ends.force_moment * moment
    return (ended.last, last), Outward(moment, force, sigma, home.one, home.zero, home.zero)
