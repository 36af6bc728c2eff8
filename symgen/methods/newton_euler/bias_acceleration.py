"""J̇ v of a chosen frame: relative velocities and accelerations composed from the frame inward, RK (2.2)-(2.7) at a = 0.

Of the frame against link i, were that held still, three vectors are known: its place l and its velocities (w, u); and what
velocities alone give of its accelerations (b, s). Joint i, which turns by T and slides by S, adds to them

    w + T,   u' = u + T × l + S,   b + T × w,   s + T × (u + u')

which is (2.4) and (2.5) seen from the parent. T lies along an axis for most joints, so that a product with it costs two
multiplications; the sweep outward multiplies by the velocity of all that comes before.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import SplitShift


def bias_acceleration(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """J̇ v (6) of the frame: (angular, linear) at its origin in base axes."""
    frame = linkage.frame
    assert frame is not None
    rates, i = linkage.inputs["v"], frame.link
    place, w, u, b, s = linkage.vector(frame.shift), *[linkage.zeros] * 4
    while i >= 0:
        link = linkage.links[i]
        linkage.step(i, f"motion of {frame.name} against its parent, RK (2.2)-(2.7)")
        turn, before = link.turning(rates), u
        u = u + turn.cross(place) + link.sliding(rates)
        b, s = b + turn.cross(w), s + turn.cross(before + u)
        w = w + turn
        inner, outer = (link.shift.inner, link.shift.outer) if isinstance(link.shift, SplitShift) else (linkage.zeros, link.shift)
        place, w, u, b, s = (link.rotation.outward(one) for one in (place + inner, w, u, b, s))
        place = place + outer
        for name, one in zip("lwubs", (place, w, u, b, s), strict=True):
            linkage.name(name, i, one)
        if link.parent < 0:
            base = linkage.constant_rotation(linkage.model.links[i].base_rotation)
            b, s = base.outward(b), base.outward(s)
        i = link.parent
    return ([*b, *s],)
