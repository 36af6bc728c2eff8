"""Regressor in base parameters: the independent columns of Y, and the map from π to base
parameters.

The independent columns depend on the robot only (`symgen.derivation.base_parameters`). tau = Y π =
Y_base π_base, since every other column of (2.6)-(2.13) is a linear combination of the independent
ones.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.newton_euler.regressor import rows


def base_regressor(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return Y_base (NV x NR), row-major."""
    assert linkage.base is not None
    return ([row[c] for row in rows(linkage) for c in linkage.base.columns],)


def base_parameters(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return π_base (NR): each independent parameter plus the terms of the dependent parameters."""
    assert linkage.base is not None
    result, parameters = [], linkage.inputs["pi"]
    linkage.derivation.step("base parameters")
    for terms in linkage.base.terms:
        total = linkage.zero
        for parameter, coefficient in terms.items():
            total = total + parameters[parameter] * linkage.derivation.constant(coefficient)
        result.append(total)
    return (result,)
