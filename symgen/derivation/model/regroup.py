"""Move the inertia that a joint cannot feel into the parent (base parameters), tip to base.

A rod along the axis of a revolute joint, that is m, h_z and Σ_zz, looks the same to the parent at every q; so do all
second moments of a body behind a prismatic joint, which never turns against its parent, and its mass in the centre of a
spherical one. What is moved onto the base is forgotten. A joint that turns and slides at once, such as a screw, keeps what
it has. M, c and g are unchanged as functions of (q, v); link inertias are no longer physical one by one.
"""

from __future__ import annotations

from dataclasses import replace

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import feels
from symgen.derivation.model.links import Inertia, Model, rod, rotated


def regroup(model: Model, forget: bool = True) -> Model:
    """The same mechanism with the fewest inertial parameters per link; see the module docstring.

    With `forget` False a link on the base keeps what it has, so that the whole has its mass, its mass centre and its momentum.
    """
    links = list(model.links)
    for i in reversed(range(len(links))):
        link = links[i]
        own = link.inertia
        motion = feels(link.kind)
        if motion == "both" or (link.parent < 0 and not forget):
            continue
        with k.speaking_of(f"link '{link.name}'"):
            if motion == "ball":
                moved = rod(own.m, k.ZERO, k.ZERO, k.ORIGIN, link.shift)
                kept = Inertia(k.ZERO, own.h, own.S)
            elif motion == "turn":
                axis = k.transpose(link.rotation)[2]
                moved = rod(own.m, own.h[2], own.S[5], axis, link.shift)
                kept = Inertia(k.ZERO, (own.h[0], own.h[1], k.ZERO), (*own.S[:5], k.ZERO))
            else:
                moved = Inertia(k.ZERO, k.ORIGIN, rotated(link.rotation, own.S))
                kept = Inertia(own.m, own.h, (k.ZERO,) * 6)
            links[i] = replace(link, inertia=kept)
            if link.parent >= 0:
                links[link.parent] = replace(
                    links[link.parent], inertia=links[link.parent].inertia + moved
                )
    return model.with_links(links, "regroup")
