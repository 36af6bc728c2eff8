"""Fixman's partition: free all links, then constrain the hard coordinates, M⁻¹ = H^aa − H^ab
(H^bb)⁻¹ (H^ab)ᵀ, LC (12).

In a plane (`fixman:planar`) the robot is Lee & Chirikjian's chain of point masses, or a chain of
rigid links about parallel axes. In space (`fixman:spatial`) it is Wang & Chirikjian's chain of
rigid bodies, or a tree of them with joints of any type. `fixman` denotes the planar form for robots
that the planar form accepts, else the spatial one. The forms differ in the blocks of H
(`fixman.planar`, `fixman.spatial`). They share the elimination (`fixman.partition`); the planar
form also has the gradient of ln det M (`fixman.factor`).
"""

from __future__ import annotations

from symgen.mechanism.mechanism import Mechanism
from symgen.methods.fixman.applicability import (
    only_points,
    parallel_refusal,
    planar_refusal,
    refusal,
    segments_refusal,
    spatial_refusal,
)
from symgen.methods.fixman.factor import (
    applicable_factor,
    mass_matrix_log_determinant_gradient,
    planar_factor,
    spatial_factor,
)
from symgen.methods.fixman.levels import mass_matrix_solve as level_by_level
from symgen.methods.fixman.quantities import QUANTITIES
from symgen.methods.fixman.segments import mass_matrix_solve as in_segments
from symgen.methods.shared.method import Method, Variant, always, never


def stands_for(mechanism: Mechanism) -> str:
    """Return "planar" if the planar form accepts the robot, else "spatial"."""
    return "planar" if planar_refusal(mechanism) is None else "spatial"


def cancels_in_a_plane(mechanism: Mechanism) -> bool:
    """True unless all links are point masses, for which H uses the chain's own directions."""
    return not only_points(mechanism)


def cancels_in_space(mechanism: Mechanism) -> bool:
    """True: a light link far from its joint is more mobile alone than in the chain, by orders of
    magnitude.
    """
    return True


def inverts_inertias(mechanism: Mechanism) -> bool:
    """True if the form that the robot has divides by 6x6 inertias, as the spatial one does."""
    return stands_for(mechanism) == "spatial"


def cancels(mechanism: Mechanism) -> bool:
    """True if the form that the robot has cancels."""
    return stands_for(mechanism) == "spatial" or cancels_in_a_plane(mechanism)


METHOD = Method(
    source="Lee & Chirikjian 2005, (3)-(25), and Wang & Chirikjian, (11)-(19)",
    factor=applicable_factor,  # LC (8), (12)-(13)
    variants={
        "planar": Variant(
            factor=planar_factor,  # LC (14)-(25)
            functions={
                "mass_matrix_log_determinant_gradient": mass_matrix_log_determinant_gradient
            },  # LC (8)
            refusal=planar_refusal,
            cancels=cancels_in_a_plane,
            inverts_inertias=never,
        ),
        "parallel": Variant(
            functions={"mass_matrix_solve": level_by_level},  # LC (12)-(25)
            refusal=parallel_refusal,
            cancels=cancels_in_a_plane,
            choice="explicit_loops",
        ),
        "segments": Variant(
            functions={"mass_matrix_solve": in_segments},  # LC (12)-(25)
            refusal=segments_refusal,
            cancels=cancels_in_a_plane,
            choice="explicit_loops",
        ),
        "spatial": Variant(
            factor=spatial_factor,  # WC (11)-(19)
            refusal=spatial_refusal,
            cancels=cancels_in_space,
            inverts_inertias=always,  # ∂q/∂ξ 𝓜⁻¹ (∂q/∂ξ)ᵀ
        ),
    },
    stands_for=stands_for,
    refusal=refusal,
    cancels=cancels,
    sweeps=True,
    regroups=False,  # H needs the inertia of each single link
    inverts_inertias=inverts_inertias,
    couples_joints=True,
    quantities=QUANTITIES,
)
