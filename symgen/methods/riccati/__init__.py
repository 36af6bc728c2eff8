"""Riccati recursion: RK (4.4)-(4.7) for the operator, (4.16) for M⁻¹, and the four forward dynamics
algorithms FD1 … FD4.

M = (1 + HΦL) D (1 + HΦL)ᵀ (4.11) and M⁻¹ = (1 − HΨL)ᵀ D⁻¹ (1 − HΨL) (4.16): a filter tip → base, a
smoother base → tip. `riccati` denotes FD4. `riccati:two_sweeps` is the algorithm that RK announce
at the end of §5. Most robots need fewer operations by FD4, so it is chosen by name only.
`riccati:grasps` solves for arms that hold one object by symgen's own (G1)-(G6),
`docs/explanation/mathematics.md`.
"""

from __future__ import annotations

from symgen.methods.riccati.accelerations import link_accelerations
from symgen.methods.riccati.dynamics import fd1, fd3, fd4
from symgen.methods.riccati.filter import RiccatiFactor
from symgen.methods.riccati.forces import interbody_forces
from symgen.methods.riccati.gradient import mass_matrix_log_determinant_gradient
from symgen.methods.riccati.grasps import QUANTITIES as GRASP_QUANTITIES
from symgen.methods.riccati.grasps import constrained_forward_dynamics, refuse_without_grasps
from symgen.methods.riccati.operational import operational_inertia_inverse
from symgen.methods.riccati.quantities import QUANTITIES
from symgen.methods.riccati.segments import forward_dynamics
from symgen.methods.riccati.two_sweeps import forward_dynamics as by_two_sweeps
from symgen.methods.shared.method import Method, Variant

METHOD = Method(
    source="Rodriguez & Kreutz 1988, (4.4)-(4.7), (4.16)-(4.22), (5.5)-(5.17)",
    factor=RiccatiFactor,  # (4.4)-(4.7), (4.11)-(4.22)
    functions={
        "forward_dynamics": fd4,  # (5.13)-(5.17)
        "link_accelerations": link_accelerations,  # (5.6), (5.7)
        "interbody_forces": interbody_forces,  # (2.29)
        "operational_inertia_inverse": operational_inertia_inverse,  # (3.13), (4.16), (5.4)
        "mass_matrix_log_determinant_gradient": (
            mass_matrix_log_determinant_gradient
        ),  # (4.5), (4.11), (4.16)
    },
    variants={
        "fd1": Variant(functions={"forward_dynamics": fd1}),  # (4.17)-(4.22)
        "fd2": Variant(
            functions={"forward_dynamics": fd1, "link_accelerations": link_accelerations}
        ),  # (5.5)-(5.7)
        "fd3": Variant(functions={"forward_dynamics": fd3}),  # (5.8)-(5.10)
        "fd4": Variant(
            functions={"forward_dynamics": fd4, "interbody_forces": interbody_forces}
        ),  # (5.13)-(5.17)
        "two_sweeps": Variant(
            functions={"forward_dynamics": by_two_sweeps}, choice="explicit"
        ),  # end of §5; (2.19), (2.23), (5.16), (5.17)
        "segments": Variant(
            functions={"forward_dynamics": forward_dynamics},
            choice="explicit_loops",
            segments_end_free=True,
        ),  # (4.16), (5.4), (5.16)
        "grasps": Variant(
            functions={
                "constrained_forward_dynamics": constrained_forward_dynamics,  # (G1)-(G6)
                "loop_solution": constrained_forward_dynamics,
            },
            refusal=refuse_without_grasps,
            choice="explicit",
        ),
    },
    carries_mobility_outward=frozenset({"operational_inertia_inverse"}),
    sweeps=True,
    quantities={**QUANTITIES, **GRASP_QUANTITIES},
)
