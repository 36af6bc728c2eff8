"""Names of derivatives: `forward_dynamics:jvp`, `forward_dynamics:jacobian(q,v)`, and of what they take and give.

A derivative is of a function, in a mode, by all of its arguments or by those in brackets. Of an argument x, dx is a change of it
and x_bar the weight that it is given; dy_dx is the derivative of a result y by it. What is named here knows no function:
`symgen.vocabulary.functions` does.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MODES = {
    "jvp": "what the results of {} change by when its arguments change",
    "vjp": "what the arguments of {} weigh when its results have weights",
    "jacobian": "derivatives of the results of {} by its arguments",
    "hvp": "what the weights of the arguments of {} change by when these change",
}
"""Modes of differentiation: a Jacobian times a vector, a vector times it, the Jacobian itself, a Hessian times a vector."""
MEANT = {
    **dict.fromkeys(("grad", "gradient", "reverse", "adjoint", "backward"), "vjp"),
    **dict.fromkeys(("forward", "tangent", "directional", "dot"), "jvp"),
    **dict.fromkeys(("jac", "derivative", "derivatives", "diff", "full"), "jacobian"),
    **dict.fromkeys(("hess", "hessian", "second"), "hvp"),
}
"""What others call them."""
_NAME = re.compile(r"([^:()]*):([^:()]*)(?:\(([^()]*)\))?")


class Derivative(NamedTuple):
    """A derivative that a name speaks of: `by` is empty where it is by all arguments of the function itself."""

    of: str
    mode: str
    by: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As it is written in a request, and in a manifest."""
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
"""(function, result, argument) → the function in its own right in whose result that derivative stands as well."""


def told(name: str) -> Derivative | None:
    """What a name speaks of, if it has the form of one. Whether there is such a thing is not asked."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    of, mode, listed = found.groups()
    by = () if listed is None else tuple(dict.fromkeys(word.strip() for word in listed.split(",")))
    return Derivative(of.strip(), mode.strip(), by)


def of(name: str) -> str:
    """The function that a name speaks of: that of a derivative, or itself."""
    return name.partition(":")[0]


def symbol(name: str) -> str:
    """A function's name as part of an identifier: forward_dynamics_jacobian_q_v."""
    return re.sub(r"\W+", "_", name).strip("_")


def change(name: str) -> str:
    """The change of an argument or a result: dq."""
    return f"d{name}"


def weight(name: str) -> str:
    """The weight of an argument or a result: q_bar."""
    return f"{name}_bar"


def slope(result: str, argument: str) -> str:
    """The derivative of a result by an argument: da_dq."""
    return f"d{result}_d{argument}"
