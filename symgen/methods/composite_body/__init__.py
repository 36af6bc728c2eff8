"""Composite rigid bodies, SA (10)-(16), elimination of the mass matrix, SA (25)-(30), and
centroidal quantities.

`composite_body:bias` takes the bias force from the same composite bodies, and forward dynamics with
it. Plain composite_body takes the bias of recursive Newton-Euler, which is shorter where inertias
have zeros. `composite_body:coupled` is for mimic joints.
"""

from symgen.methods.composite_body.bias import (
    QUANTITIES,
    bias_force,
    forward_dynamics,
    mass_matrix_and_bias,
)
from symgen.methods.composite_body.centroid import (
    center_of_mass,
    center_of_mass_jacobian,
    centroidal_momentum_matrix,
    potential_energy,
)
from symgen.methods.composite_body.constraint_mobility import QUANTITIES as CLOSURE_QUANTITIES
from symgen.methods.composite_body.coriolis import coriolis_matrix, mass_matrix_coriolis_and_bias
from symgen.methods.composite_body.coupled import interbody_forces, link_accelerations
from symgen.methods.composite_body.mass_matrix import Elimination, gravity_force, mass_matrix
from symgen.methods.shared.method import Method, Variant

METHOD = Method(
    source="Saha, (10)-(16), (25)-(30)",
    functions={
        "mass_matrix": mass_matrix,  # (16)
        "gravity_force": gravity_force,
        "center_of_mass": center_of_mass,  # (15a), (15c)
        "center_of_mass_jacobian": center_of_mass_jacobian,  # (16)
        "potential_energy": potential_energy,
        "coriolis_matrix": coriolis_matrix,  # (15a-c)
        "mass_matrix_coriolis_and_bias": mass_matrix_coriolis_and_bias,  # (15a-c), (16)
        "centroidal_momentum_matrix": centroidal_momentum_matrix,  # (16)
    },
    variants={
        "bias": Variant(
            functions={
                "bias_force": bias_force,  # (15a-c)
                "mass_matrix_and_bias": mass_matrix_and_bias,  # (15a-c), (16)
                "forward_dynamics": forward_dynamics,  # (15a-c), (16)-(30)
            }
        ),
        "coupled": Variant(
            functions={
                "link_accelerations": link_accelerations,  # (16)-(30), RK (2.2)-(2.5)
                "interbody_forces": interbody_forces,  # RK (2.6)-(2.12)
            },
            mimic="required",
        ),
    },
    factor=Elimination,  # (17)-(30)
    quantities={**QUANTITIES, **CLOSURE_QUANTITIES},
    mimic="supported",
)
