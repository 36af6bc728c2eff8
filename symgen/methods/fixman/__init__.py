"""Fixman's partition: free every link, then hold the hard coordinates, M⁻¹ = H^aa − H^ab (H^bb)⁻¹ (H^ab)ᵀ, LC (12).

In a plane it is LC's own chain of point masses, or rigid links about parallel axes (`fixman:planar`); in space it is
WC's chain of rigid bodies, and a tree of them, with joints of any sort (`fixman:spatial`). `fixman` itself is the planar
form where that suits. Forms differ in how H is laid out (`fixman.planar`, `fixman.spatial`); what follows is one
(`fixman.partition`), and in a plane the slope of ln det M besides (`fixman.factor`).
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
    as_it_suits,
    in_plane,
    in_space,
    mass_matrix_log_determinant_gradient,
)
from symgen.methods.fixman.levels import mass_matrix_solve as level_by_level
from symgen.methods.fixman.quantities import QUANTITIES
from symgen.methods.fixman.segments import mass_matrix_solve as in_segments
from symgen.methods.shared.method import Method, Variant


def stands_for(mechanism: Mechanism) -> str:
    """`fixman` alone is the planar form where that suits, else the spatial one."""
    return "planar" if planar_refusal(mechanism) is None else "spatial"


def cancels_in_a_plane(mechanism: Mechanism) -> bool:
    """Not for point masses, whose H is that of the chain's own directions."""
    return not only_points(mechanism)


def cancels_in_space(mechanism: Mechanism) -> bool:
    """True: a light link far from its joint is freer by itself than in the chain by orders of magnitude."""
    return True


def cancels(mechanism: Mechanism) -> bool:
    """As the form that the robot has."""
    return stands_for(mechanism) == "spatial" or cancels_in_a_plane(mechanism)


METHOD = Method(
    source="Lee & Chirikjian 2005, (3)-(25), and Wang & Chirikjian, (11)-(19)",
    factor=as_it_suits,  # LC (8), (12)-(13)
    variants={
        "planar": Variant(
            factor=in_plane,  # LC (14)-(25)
            functions={
                "mass_matrix_log_determinant_gradient": mass_matrix_log_determinant_gradient
            },  # LC (8)
            refusal=planar_refusal,
            cancels=cancels_in_a_plane,
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
            factor=in_space,  # WC (11)-(19)
            refusal=spatial_refusal,
            cancels=cancels_in_space,
        ),
    },
    stands_for=stands_for,
    refusal=refusal,
    cancels=cancels,
    sweeps=True,
    regroups=False,  # H needs inertias that links have, one by one
    quantities=QUANTITIES,
)
