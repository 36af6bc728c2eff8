"""Recursive Newton-Euler, RK (2.1)-(2.13), and momentum, energy, accelerations and regressor from
the same sweeps.
"""

from symgen.methods.newton_euler.base_parameters import base_parameters, base_regressor
from symgen.methods.newton_euler.bias_acceleration import bias_acceleration
from symgen.methods.newton_euler.contact_equations import contact_equation, impact_equation
from symgen.methods.newton_euler.momentum import (
    centroidal_momentum,
    centroidal_momentum_rate,
    kinetic_energy,
)
from symgen.methods.newton_euler.regressor import regressor
from symgen.methods.newton_euler.sweeps import (
    QUANTITIES,
    bias_force,
    gravity_force,
    inverse_dynamics,
    mass_matrix,
)
from symgen.methods.shared.method import Method

METHOD = Method(
    source="Rodriguez & Kreutz 1988, (2.1)-(2.13), (2.24)-(2.30)",
    functions={
        "inverse_dynamics": inverse_dynamics,  # (2.1)-(2.13)
        "bias_force": bias_force,  # (3.23)
        "gravity_force": gravity_force,
        "mass_matrix": mass_matrix,  # (3.20)
        "bias_acceleration": bias_acceleration,  # (2.2)-(2.7)
        "kinetic_energy": kinetic_energy,  # (2.2), (2.3)
        "centroidal_momentum": centroidal_momentum,
        "centroidal_momentum_rate": centroidal_momentum_rate,  # (2.1)-(2.12)
        "regressor": regressor,  # (2.6)-(2.13)
        "base_regressor": base_regressor,
        "base_parameters": base_parameters,
        "contact_equation": contact_equation,
        "impact_equation": impact_equation,
    },
    quantities=QUANTITIES,
    mimic="supported",
)
