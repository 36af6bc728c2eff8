"""q ⊕ v dt: each joint's exponential map, as its type has it (`symgen.derivation.closed_forms.step_form`).

Where a velocity is the rate of its coordinate, that is q + v dt. A free joint moves along a screw (Murray, Li & Sastry 1994,
(2.36)), a spherical one about an axis (§2.2.2), a planar one along an arc. The velocity stays what it is in the body's own axes.
"""

from __future__ import annotations

from symgen.derivation.closed_forms import step_form
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar, lower


def integrate(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """q_next (NQ). A quaternion stays as long as it was: nothing is scaled."""
    (dt,), home = linkage.inputs["dt"], linkage.home
    found = list(linkage.inputs["q"])
    for i, link in enumerate(linkage.model.links):
        linkage.step(i, "moved for dt")
        form = step_form(link.kind)
        bindings: dict[object, Scalar] = {form.dt: dt}
        for symbols, values in ((form.q, linkage.inputs["q"][link.q]), (form.v, linkage.inputs["v"][link.v])):
            bindings |= dict(zip(symbols, values, strict=True))
        for symbol, expression in form.equations:
            bindings[symbol] = lower(expression, bindings, home)
            stem, *component = str(symbol).split("_")
            home.name("_".join([stem, str(i + 1), *component]), bindings[symbol])
        found[link.q] = [lower(expression, bindings, home) for expression in form.coordinates]
    return (found,)
