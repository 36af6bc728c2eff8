"""Names of derivatives, such as `forward_dynamics:jvp` and `forward_dynamics:jacobian(q,v)`, and
names of their arguments and results.

A derivative has a function, a mode, and the arguments of differentiation: those in brackets, or
all. For an argument x, dx is its change and x_bar its adjoint weight. dy_dx is the derivative of a
result y with respect to x. This module only parses names; `symgen.vocabulary.functions` knows the
functions.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MODES = {
    "jvp": "directional derivatives of the results of {} along changes of its arguments",
    "vjp": "weights of the results of {} times its Jacobian",
    "jacobian": "derivatives of the results of {} with respect to its arguments",
    "hvp": "directional derivatives of the vjp of {} along changes of its arguments",
}
"""Modes of differentiation: Jacobian times vector, vector times Jacobian, the Jacobian, and Hessian
times vector.
"""
SYNONYMS = {
    **dict.fromkeys(("grad", "gradient", "reverse", "adjoint", "backward"), "vjp"),
    **dict.fromkeys(("forward", "tangent", "directional", "dot"), "jvp"),
    **dict.fromkeys(("jac", "derivative", "derivatives", "diff", "full"), "jacobian"),
    **dict.fromkeys(("hess", "hessian", "second"), "hvp"),
}
"""Names of the modes in other programs."""
_NAME = re.compile(r"([^:()]*):([^:()]*)(?:\(([^()]*)\))?")


class Derivative(NamedTuple):
    """A parsed name of a derivative; `by` is empty if it is with respect to all arguments of the
    function itself.
    """

    of: str
    mode: str
    by: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name as written in a request and in a manifest."""
        return f"{self.of}:{self.mode}" + (f"({','.join(self.by)})" if self.by else "")


ELSEWHERE: dict[tuple[str, str, str], tuple[str, str]] = {
    ("inverse_dynamics", "tau", "q"): ("inverse_dynamics_derivatives", "dtau_dq"),
    ("inverse_dynamics", "tau", "v"): ("inverse_dynamics_derivatives", "dtau_dv"),
    ("inverse_dynamics", "tau", "a"): ("inverse_dynamics_derivatives", "M"),
    ("forward_dynamics", "a", "q"): ("forward_dynamics_derivatives", "da_dq"),
    ("forward_dynamics", "a", "v"): ("forward_dynamics_derivatives", "da_dv"),
    ("forward_dynamics", "a", "tau"): ("forward_dynamics_derivatives", "Minv"),
    ("potential_energy", "U", "q"): ("gravity_force", "g"),
    ("center_of_mass", "com", "q"): ("center_of_mass_jacobian", "Jcom"),
    ("mass_matrix_log_determinant", "logdet", "q"): (
        "mass_matrix_log_determinant_gradient",
        "grad",
    ),
}
"""Maps (function, result, argument) to (function, result) of a function in its own right that
computes the same derivative.
"""


def parse_derivative(name: str) -> Derivative | None:
    """Parse a name of a derivative; None if it has another form. The function and the mode are not
    checked.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    function, mode, arguments = match.groups()
    by = (
        ()
        if arguments is None
        else tuple(dict.fromkeys(word.strip() for word in arguments.split(",")))
    )
    return Derivative(function.strip(), mode.strip(), by)


def base_function(name: str) -> str:
    """Return the function of a derivative, or the name itself if it is not a derivative."""
    return name.partition(":")[0]


def identifier_part(name: str) -> str:
    """Return a name of a function as part of an identifier: forward_dynamics_jacobian_q_v."""
    return re.sub(r"\W+", "_", name).strip("_")


def change_name(name: str) -> str:
    """Return the name of the change of an argument or a result: dq."""
    return f"d{name}"


def weight_name(name: str) -> str:
    """Return the name of the weight of an argument or a result: q_bar."""
    return f"{name}_bar"


def derivative_name(result: str, argument: str) -> str:
    """Return the name of the derivative of a result with respect to an argument: da_dq."""
    return f"d{result}_d{argument}"
