"""Constraint-force algorithm: the Schur complement of Fijany & Featherstone, interbody forces
first, then accelerations.

Notation: 𝓜 is the block-diagonal matrix of link inertias, and φ shifts wrenches along the tree. W_a
and W are the free and the constrained directions of a joint, 𝓦_a and 𝓦 those of all joints. LC is
Lee & Chirikjian 2005.

Cut every joint, so that each link responds to wrenches on its own. With 𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹, the
wrenches F across the joints cause the accelerations across the joints, 𝓐 F = H q̈ + η, where η are
the accelerations due to velocities and gravity. The wrench of a joint is F_i = W_a τ_i + W f_i. The
constrained directions W have zero acceleration, which determines f, and f determines q̈:

    H_bb f = 𝓦ᵀ η − H_abᵀ τ,    q̈ = H_aa τ + H_ab f − 𝓦_aᵀ η,
    M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ                                                           LC (12)

with H_aa = 𝓦_aᵀ 𝓐 𝓦_a, H_ab = 𝓦_aᵀ 𝓐 𝓦, H_bb = 𝓦ᵀ 𝓐 𝓦. Block (i, j) of 𝓐 is expressed in the axes
of links i and j at O_i and O_j. It is zero unless both joints are on one link, so 𝓐 of a chain is
block tridiagonal, and no block is a sum along the chain.

`constraint_force:parallel` eliminates H_bb by block cyclic reduction, and uses prefix scans for
quantities along the chain. Its depth is O(log N).

A joint of n_i degrees of freedom has n_i columns of W_a and 6 − n_i of W. A free joint has no W:
M⁻¹ of free bodies is H_aa.

The rotor of a drive, of armature a, exerts the force x = −a q̈ along its degree of freedom. That is
one more constraint force, along a compliant instead of a rigid direction. The column of W_a then
appears among those of W too, and 0 = x/a + q̈ adds 1/a to H_bb there. With A the diagonal matrix of
armatures, (12) becomes (M + A)⁻¹ by Woodbury's formula, and det (M + A) = det 𝓜 · det H_bb · Π a
over the joints that have one.
"""

from __future__ import annotations

from symgen.derivation.model import find_indefinite_body
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
from symgen.methods.shared.method import Method, Variant, always


def refusal(mechanism: Mechanism) -> str | None:
    """Return why a robot is refused: 𝓜⁻¹ needs a positive definite inertia of each link."""
    defective = find_indefinite_body(mechanism)
    if defective is None:
        return None
    return (
        f"constraint_force divides by the inertia of every link, and link '{defective[0]}' of"
        f" '{mechanism.name}' {defective[1]}; lump it into its neighbour with --lock, give it"
        " moments of inertia, or use another method (riccati, udut)"
    )


def cancels(mechanism: Mechanism) -> bool:
    """Return True for every robot.

    For a light link H_aa and the constraint term nearly cancel. A free body has no constraint term,
    but the products of its inverse inertia cancel if it rotates easily or if its mass centre is far
    away.
    """
    return True


METHOD = Method(
    source=(
        "Fijany & Featherstone 2013 (abstract and nomenclature), with Lee & Chirikjian 2005, (8),"
        " (12)"
    ),
    factor=serial,  # LC (8), (12)
    functions={
        "forward_dynamics": serial_dynamics,  # from the total interbody forces
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
    inverts_inertias=always,  # 𝓜⁻¹
    couples_joints=True,
    quantities=QUANTITIES,
)
