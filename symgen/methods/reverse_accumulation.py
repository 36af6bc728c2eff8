"""The gradient of ln det M from the rows of ln det M, taken backwards through them.

With rows x_i = f_i(x_j, …), and x̄_i how fast ln det M changes with x_i alone, from the last row to the first

    x̄ = 1 of ln det M itself,                   (1)
    x̄_j = Σ_i x̄_i ∂f_i/∂x_j.                    (2)

That is reverse accumulation (S. Linnainmaa, Taylor expansion of the accumulated rounding error, BIT 16, 1976). It asks for no
tree, so that it serves where joints follow others; elsewhere recursions along the tree are shorter.
"""

from symgen.methods.shared.composition import Calls
from symgen.methods.shared.factor import Results
from symgen.methods.shared.method import Method


def mass_matrix_log_determinant_gradient(robot: Calls) -> Results:
    """∂ ln det M / ∂q (NV)."""
    return robot("mass_matrix_log_determinant:vjp", logdet_bar=[robot.home.one])  # (1), (2)


METHOD = Method(
    source="Linnainmaa 1976, written out as (1)-(2)",
    mimic="required",
    compositions={"mass_matrix_log_determinant_gradient": mass_matrix_log_determinant_gradient},
)
