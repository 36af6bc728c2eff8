"""The regressor by base parameters: columns of Y that are independent of those before them, and the map from π to what they take.

Which columns those are depends on the robot alone (`symgen.derivation.base_parameters`). tau = Y π = Y_base π_base, since every
other column of (2.6)-(2.13) is a combination of those that stay.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.methods.newton_euler.regressor import rows


def base_regressor(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Y_base (NV x NR), row-major."""
    assert linkage.base is not None
    return ([row[c] for row in rows(linkage) for c in linkage.base.columns],)


def base_parameters(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """π_base (NR): each parameter that stays, and what others add to it."""
    assert linkage.base is not None
    found, given = [], linkage.inputs["pi"]
    linkage.home.step("base parameters")
    for terms in linkage.base.terms:
        total = linkage.zero
        for parameter, coefficient in terms.items():
            total = total + given[parameter] * linkage.home.constant(coefficient)
        found.append(total)
    return (found,)
