"""q ⊕ v dt: each joint's exponential map, as its type has it (`symgen.derivation.closed_forms.step_form`), and the way back.

Where a velocity is the rate of its coordinate, that is q + v dt. A free joint moves along a screw (Murray, Li & Sastry 1994,
(2.36)), a spherical one about an axis (§2.2.2), a planar one along an arc. The velocity stays what it is in the body's own axes.
The way back is each joint's logarithm (`way_form`): of all velocities that lead there, the one that turns least.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symgen.derivation.closed_forms import step_form, way_form
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar, lower


def integrate(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """q_next (NQ). A quaternion stays as long as it was: nothing is scaled."""
    (dt,), home = linkage.inputs["dt"], linkage.home
    found = list(linkage.inputs["q"])
    for i, link in enumerate(linkage.model.links):
        linkage.step(i, "moved for dt")
        form = step_form(link.kind, linkage.series)
        bindings: dict[object, Scalar] = {form.dt: dt}
        for symbols, values in (
            (form.q, linkage.inputs["q"][link.q]),
            (form.v, linkage.inputs["v"][link.v]),
        ):
            bindings |= dict(zip(symbols, values, strict=True))
        _bind(linkage, i, form.equations, bindings)
        found[link.q] = [lower(expression, bindings, home) for expression in form.coordinates]
    return (found,)


def difference(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """delta (NV): integrate(q, delta, 1) is q_next, but for the sign of a quaternion and whole turns of a planar joint."""
    home, found = linkage.home, [linkage.zero] * len(linkage.dofs)
    for i, link in enumerate(linkage.model.links):
        linkage.step(i, "way from q to q_next")
        form = way_form(link.kind, linkage.series)
        bindings: dict[object, Scalar] = {}
        for symbols, name in ((form.q, "q"), (form.goal, "q_next")):
            bindings |= dict(zip(symbols, linkage.inputs[name][link.q], strict=True))
        _bind(linkage, i, form.equations, bindings)
        found[link.v] = [lower(expression, bindings, home) for expression in form.step]
    return (found,)


def _bind(
    linkage: Linkage, i: int, equations: Iterable[tuple[Any, Any]], bindings: dict[object, Scalar]
) -> None:
    """Record equations, each under its symbol's name, which counts links from 1."""
    for symbol, expression in equations:
        bindings[symbol] = lower(expression, bindings, linkage.home)
        stem, *component = str(symbol).split("_")
        linkage.home.name("_".join([stem, str(i + 1), *component]), bindings[symbol])
