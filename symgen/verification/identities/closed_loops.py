"""What joints that close loops do, against the dynamics of the tree and against the loops themselves, at closed states; beside
them where gains pull them together.

Where rows are redundant the damped solves of the C leave some 1e-18 of what the rows ask: what they keep is then judged at 1e-15,
and not at 1e-40.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from symgen.mechanism.closures import Unspun
from symgen.reference.arrays import times, transposed
from symgen.reference.constrained import assembly_of
from symgen.reference.integrate import integrate
from symgen.reference.precision import Array
from symgen.verification.identities._identity import Distance, Functions, Identity, terms
from symgen.verification.truth import Truth
from symgen.vocabulary.functions import CLOSED


def _balance(f: Functions) -> Distance:
    """M a + c − tau − Aᵀ λ."""
    found, A = f("constrained_forward_dynamics"), f("constraint_jacobian")["A"]
    q, v = (f.states[name] for name in CLOSED)
    driven = f("inverse_dynamics", q=q, v=v, a=found["a"])["tau"]
    held, tau = times(transposed(A), found["lambda"]), f.states["tau"]
    return driven - tau - held, terms(driven, tau, held)


def _largest_rates(A: Array, a: Array) -> Array:
    """Bounds of the entries of A a (..., NL) for accelerations as large as the largest: that of a joint which loops hold still
    is what is left of much larger ones."""
    largest = np.abs(np.asarray(a, dtype=float)).max(axis=-1, keepdims=True)
    return np.asarray(np.abs(np.asarray(A, dtype=float)).sum(axis=-1) * largest)


def _kept(f: Functions) -> Distance:
    """A a + γ."""
    a, A, gamma = (
        f("constrained_forward_dynamics")["a"],
        f("constraint_jacobian")["A"],
        f("constraint_bias")["gamma"],
    )
    return times(A, a) + gamma, terms(_largest_rates(A, a), gamma)


def _pulled(f: Functions) -> Distance:
    """A a + γ + K_d A v + K_p C."""
    a, A, gamma = (
        f("constrained_forward_dynamics")["a"],
        f("constraint_jacobian")["A"],
        f("constraint_bias")["gamma"],
    )
    (q, v), gains = (f.states[name] for name in CLOSED), f.states["gains"]
    back = gains[:, 1:] * times(A, v) + gains[:, :1] * f("constraint_residual", q=q)["C"]
    return times(A, a) + gamma + back, terms(_largest_rates(A, a), gamma, back)


def _thrown_back(f: Functions) -> Distance:
    """A v⁺ + e A v."""
    after, A, e = (
        f("constraint_impulse")["v_next"],
        f("constraint_jacobian")["A"],
        f.states["restitution"],
    )
    before = times(A, f.states["v"])
    return times(A, after) + e[:, None] * before, terms(
        np.abs(A) @ np.abs(after)[..., None], before
    )


def _slope(f: Functions) -> Distance:
    """dC/dt along v, by central differences with h = 1e-25, less A v: of the rows that positions answer for."""
    A = f("constraint_jacobian")["A"]
    reference, q, v = f.truth.reference, f.states[CLOSED[0]], f.states["v"]
    h = f.truth.scalars.constant(Fraction(1, 10**25))
    still = f.truth.scalars.array([0] * len(q))
    moved = [
        f("constraint_residual", q=integrate(reference, q, v, still + s))["C"] for s in (h, -h)
    ]
    rate = times(A, v)
    answered = np.array(
        [
            not isinstance(loop.type.rows[k], Unspun)
            for loop, kept in zip(f.truth.mechanism.loops, assembly_of(reference).kept, strict=True)
            for k in kept
        ]
    )
    return ((moved[0] - moved[1]) / (2 * h) - rate)[:, answered], terms(
        rate, np.abs(A) @ np.abs(v)[..., None]
    )


def _driven(f: Functions) -> Array:
    """The drawn forces of what is actuated, and none of anything else (count, NV)."""
    tau, idle = (
        f.states["tau"].copy(),
        [
            k
            for k in range(f.truth.mechanism.nv)
            if k not in assembly_of(f.truth.reference).actuated
        ],
    )
    tau[:, idle] = 0 * tau[:, idle]
    return np.asarray(tau)


def _driven_again(f: Functions) -> Distance:
    """The force of what is actuated that moves the mechanism so, less the one that did."""
    tau = _driven(f)
    found = f("constrained_inverse_dynamics", a=f("constrained_forward_dynamics", tau=tau)["a"])
    return found["tau_independent"] - tau[:, list(assembly_of(f.truth.reference).actuated)], terms(
        tau, found["lambda"]
    )


def _moved_again(f: Functions) -> Distance:
    """The acceleration by the least forces that cause one, less that one; and that they are the least: what other forces that
    cause it have besides stands across them."""
    tau, driven = _driven(f), list(assembly_of(f.truth.reference).actuated)
    a = f("constrained_forward_dynamics", tau=tau)["a"]
    found = f("constrained_inverse_dynamics", a=a)
    least = 0 * tau
    least[:, driven] = found["tau_independent"]
    again = f("constrained_forward_dynamics", tau=least)["a"]
    besides = ((tau - least) * least).sum(axis=-1)[:, None]
    size = terms(a, again, *(one * one for one in (tau, least, found["lambda"])))
    return np.concatenate([again - a, besides], axis=-1), size


def _energy(f: Functions) -> Distance:
    """vᵢᵀ M_r vᵢ − vᵀ M v."""
    q, v = (f.states[name] for name in CLOSED)
    free = [
        k for k in range(f.truth.mechanism.nv) if k not in assembly_of(f.truth.reference).eliminated
    ]
    whole, own = (
        times(M, rates) * rates
        for M, rates in (
            (f("mass_matrix", q=q)["M"], v),
            (f("reduced_mass_matrix")["M_reduced"], v[:, free]),
        )
    )
    return (own.sum(axis=-1) - whole.sum(axis=-1))[:, None], terms(whole, own)


def _redundant(truth: Truth) -> bool:
    return assembly_of(truth.reference).redundant > 0


def _open(truth: Truth) -> bool:
    """Whether states lie beside the loops."""
    return truth.baumgarte


def _astray(truth: Truth) -> bool:
    """Whether they do where rows are redundant on the loops alone, so that beside them no accelerations keep all rows."""
    return _open(truth) and _redundant(truth)


def _shared(truth: Truth) -> bool:
    """Whether more is driven than moves."""
    at = assembly_of(truth.reference)
    return len(at.actuated) > truth.mechanism.nv - at.rank


def _ambiguous(truth: Truth) -> bool:
    """Whether forces are not those that were drawn, but the least."""
    return _astray(truth) or _shared(truth)


def _unambiguous(truth: Truth) -> bool:
    return _astray(truth) or not _shared(truth)


def _not_pulled(truth: Truth) -> bool:
    return not _open(truth) or _redundant(truth)


RANK = 8
IDENTITIES = (
    Identity(
        "M a + c = tau + Aᵀ λ",
        ("constrained_forward_dynamics", "constraint_jacobian", "inverse_dynamics"),
        _balance,
        exact_only=True,
    ),
    Identity(
        "A a + γ = 0",
        ("constrained_forward_dynamics", "constraint_jacobian", "constraint_bias"),
        _kept,
        exact_only=True,
        damped=_redundant,
        absent=_open,
    ),
    Identity(
        "A a + γ + K_d A v + K_p C = 0",
        (
            "constrained_forward_dynamics",
            "constraint_jacobian",
            "constraint_bias",
            "constraint_residual",
        ),
        _pulled,
        exact_only=True,
        absent=_not_pulled,
    ),
    Identity(
        "A v⁺ = −e A v",
        ("constraint_impulse", "constraint_jacobian"),
        _thrown_back,
        exact_only=True,
        damped=_redundant,
        absent=_astray,
    ),
    Identity(
        "constrained ID(constrained FD(tau)) = tau",
        ("constrained_forward_dynamics", "constrained_inverse_dynamics"),
        _driven_again,
        exact_only=True,
        damped=_redundant,
        absent=_ambiguous,
    ),
    Identity(
        "constrained FD(least tau) = constrained FD(tau)",
        ("constrained_forward_dynamics", "constrained_inverse_dynamics"),
        _moved_again,
        exact_only=True,
        damped=_redundant,
        absent=_unambiguous,
    ),
    Identity(
        "vᵢᵀ M_reduced vᵢ = vᵀ M v",
        ("reduced_mass_matrix", "mass_matrix"),
        _energy,
        exact_only=True,
        absent=_open,
    ),
    Identity(
        "dC/dt = A v", ("constraint_residual", "constraint_jacobian"), _slope, exact_only=True
    ),
)
