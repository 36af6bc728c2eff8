"""The gradient of ln det M from the rows of ln det M, taken backwards through them at the weight 1.

That is reverse accumulation (Linnainmaa, Taylor expansion of the accumulated rounding error, BIT 16, 1976). It asks for no
tree, so that it serves where joints follow others; elsewhere recursions along the tree are shorter.
"""

from symgen.methods._composition import Calls
from symgen.methods._factor import Results
from symgen.methods._method import Method


def mass_matrix_log_determinant_gradient(robot: Calls) -> Results:
    """∂ ln det M / ∂q (NV)."""
    return robot("mass_matrix_log_determinant:vjp", logdet_bar=[robot.home.one])


METHOD = Method(source="Linnainmaa 1976", couples=True, followers=True,
                compositions={"mass_matrix_log_determinant_gradient": mass_matrix_log_determinant_gradient})
