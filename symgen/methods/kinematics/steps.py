"""Integration q ⊕ v dt by each joint's exponential map
(`symgen.derivation.closed_forms.step_form`), and its inverse.

If a velocity is the rate of its coordinate, q ⊕ v dt is q + v dt. A free joint moves along a screw
(Murray, Li & Sastry 1994, (2.36)), a spherical one about an axis (§2.2.2), a planar one along an
arc. The velocity is constant in the body's own axes. The inverse is each joint's logarithm
(`difference_form`): of all velocities that lead to the goal, the one with the least rotation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symgen.derivation.closed_forms import difference_form, step_form
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar, lower


def integrate(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return q_next (NQ). A quaternion keeps its length; it is not normalized."""
    (dt,), derivation = linkage.inputs["dt"], linkage.derivation
    q_next = list(linkage.inputs["q"])
    for i, link in enumerate(linkage.model.links):
        linkage.step(i, "joint position after the time dt")
        form = step_form(link.kind, linkage.series)
        bindings: dict[object, Scalar] = {form.dt: dt}
        for symbols, values in (
            (form.q, linkage.inputs["q"][link.q]),
            (form.v, linkage.inputs["v"][link.v]),
        ):
            bindings |= dict(zip(symbols, values, strict=True))
        _bind(linkage, i, form.equations, bindings)
        q_next[link.q] = [
            lower(expression, bindings, derivation) for expression in form.coordinates
        ]
    return (q_next,)


def difference(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return delta (NV) with integrate(q, delta, 1) = q_next, up to the sign of a quaternion and
    full turns of a planar joint.
    """
    derivation, delta = linkage.derivation, [linkage.zero] * len(linkage.dofs)
    for i, link in enumerate(linkage.model.links):
        linkage.step(i, "displacement from q to q_next")
        form = difference_form(link.kind, linkage.series)
        bindings: dict[object, Scalar] = {}
        for symbols, name in ((form.q, "q"), (form.goal, "q_next")):
            bindings |= dict(zip(symbols, linkage.inputs[name][link.q], strict=True))
        _bind(linkage, i, form.equations, bindings)
        delta[link.v] = [lower(expression, bindings, derivation) for expression in form.step]
    return (delta,)


def _bind(
    linkage: Linkage, i: int, equations: Iterable[tuple[Any, Any]], bindings: dict[object, Scalar]
) -> None:
    """Bind symbols of equations in their order, and name the results; names count links from 1."""
    for symbol, expression in equations:
        bindings[symbol] = lower(expression, bindings, linkage.derivation)
        stem, *component = str(symbol).split("_")
        linkage.derivation.name("_".join([stem, str(i + 1), *component]), bindings[symbol])
