"""Gradient of ln det M by reverse accumulation through the rows of ln det M.

Let the rows be x_i = f_i(x_j, …), and x̄_i the derivative of ln det M with respect to x_i. From the
last row to the first,

    x̄ = 1 of ln det M itself,                   (1)
    x̄_j = Σ_i x̄_i ∂f_i/∂x_j.                    (2)

This is reverse accumulation (S. Linnainmaa, Taylor expansion of the accumulated rounding error, BIT
16, 1976). It needs no tree, so it supports mimic joints; for other robots recursions along the tree
are shorter.
"""

from symgen.methods.shared.composition import Calls
from symgen.methods.shared.factor import Results
from symgen.methods.shared.method import Method


def mass_matrix_log_determinant_gradient(robot: Calls) -> Results:
    """Return ∂ ln det M / ∂q (NV)."""
    return robot("mass_matrix_log_determinant:vjp", logdet_bar=[robot.derivation.one])  # (1), (2)


METHOD = Method(
    source="Linnainmaa 1976, written out as (1)-(2)",
    mimic="required",
    compositions={"mass_matrix_log_determinant_gradient": mass_matrix_log_determinant_gradient},
)
