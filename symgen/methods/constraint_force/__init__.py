"""Interbody constraint forces first, then accelerations: the Schur complement of Fijany & Featherstone.

Cut every joint: link i answers a wrench at one of its points by itself, and with 𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹ the wrenches F across the
joints give the accelerations across the joints, 𝓐 F = H q̈ (+ η, what else moves the links). A joint's wrench is
F_i = W_a τ_i + W f_i; that nothing moves in the forbidden directions W decides f, and f decides q̈:

    H_bb f = 𝓦ᵀ η − H_abᵀ τ,   q̈ = H_aa τ + H_ab f − 𝓦_aᵀ η,   M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ   LC (12)

with H_aa = 𝓦_aᵀ 𝓐 𝓦_a, H_ab = 𝓦_aᵀ 𝓐 𝓦, H_bb = 𝓦ᵀ 𝓐 𝓦. Block (i, j) of 𝓐 stands in the axes of links i and j at O_i and O_j,
and is zero unless a link carries both joints on it: block tridiagonal for a chain, nothing in it is summed along the chain.

`constraint_force:parallel` eliminates H_bb by block cyclic reduction, with prefix scans for what runs along the chain:
O(log N) deep.

A joint of n_i degrees of freedom has n_i columns of W_a and 6 − n_i of W. A free one has no W: M⁻¹ of free bodies is H_aa.

The rotor of a drive, of armature A, takes the force x = −A q̈ along its degree of freedom. That is one more constraint force, of a
direction that is not forbidden but gives way: the column of W_a stands among those of W as well, and 0 = x/A + q̈ puts 1/A beside
H_bb there. With it (12) is (M + A)⁻¹, by Woodbury's formula, and det (M + A) = A det 𝓜 det H_bb.
"""

from __future__ import annotations

from symgen.derivation.model import indefinite
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.constraint_force.forces import (
    parallel,
    parallel_dynamics,
    parallel_forces,
    serial,
    serial_dynamics,
    serial_forces,
)
from symgen.methods.constraint_force.operational import parallel_mobility, serial_mobility
from symgen.methods.constraint_force.quantities import QUANTITIES
from symgen.methods.shared.method import Method, Variant


def refusal(mechanism: Mechanism) -> str | None:
    """𝓜⁻¹ needs every link's inertia positive definite."""
    found = indefinite(mechanism)
    if found is None:
        return None
    return (
        f"constraint_force divides by the inertia of every link, and link '{found[0]}' of '{mechanism.name}' {found[1]}; "
        "lump it into its neighbour with --lock, give it moments of inertia, or take another method (riccati, udut)"
    )


def cancels(mechanism: Mechanism) -> bool:
    """True: the constraint forces take back most of what H_aa alone would let a light link do; and of a free body, which nothing
    takes back, the products of an inverse cancel where it turns easily or its mass centre is far."""
    return True


METHOD = Method(
    source="Fijany & Featherstone 2013 (abstract and nomenclature), with Lee & Chirikjian 2005, (8), (12)",
    factor=serial,  # LC (8), (12)
    functions={
        "forward_dynamics": serial_dynamics,  # from the whole interbody forces
        "interbody_forces": serial_forces,
        "operational_inertia_inverse": serial_mobility,
    },
    variants={
        "parallel": Variant(
            shallow=True,
            factor=parallel,
            functions={
                "forward_dynamics": parallel_dynamics,
                "interbody_forces": parallel_forces,
                "operational_inertia_inverse": parallel_mobility,
            },
        ),
    },
    refusal=refusal,
    cancels=cancels,
    regroups=False,  # every link's own inertia is inverted
    quantities=QUANTITIES,
)
