"""Composite bodies, SA (10)-(16), the elimination of the mass matrix, SA (25)-(30), and what they say of the whole."""

from symgen.methods._method import Method
from symgen.methods.composite_body.centroid import (
    center_of_mass,
    center_of_mass_jacobian,
    centroidal_momentum_matrix,
    potential_energy,
)
from symgen.methods.composite_body.mass_matrix import Elimination, gravity_force, mass_matrix

METHOD = Method(
    source="Saha 1997, (10)-(16), (25)-(30)",
    functions={
        "mass_matrix": mass_matrix,                                                         # (16)
        "gravity_force": gravity_force,
        "center_of_mass": center_of_mass,                                                   # (15a), (15c)
        "center_of_mass_jacobian": center_of_mass_jacobian,                                 # (16)
        "potential_energy": potential_energy,
        "centroidal_momentum_matrix": centroidal_momentum_matrix,                           # (16)
    },
    factor=Elimination,                                                                     # (17)-(30)
)
