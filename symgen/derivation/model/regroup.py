"""Regrouping of inertia: parameters without effect on a joint are moved to the parent (base
parameters), tip to base.

Matter on the axis of a revolute joint, with m, h_z and Σ_zz, has the same effect on the parent at
every q. So have all second moments of a body on a prismatic joint, which never rotates relative to
its parent. So has the mass at the centre of a spherical joint. Inertia that would move to the base
is dropped. A joint that rotates and translates at once, such as a screw, keeps its inertia. M, c
and g are unchanged as functions of (q, v); the inertias of single links are no longer physical.
"""

from __future__ import annotations

from dataclasses import replace

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import motion_class
from symgen.derivation.model.links import Inertia, Model, line_inertia, rotated


def regroup(model: Model, forget: bool = True) -> Model:
    """Return the mechanism with the fewest inertial parameters per link; see the module docstring.

    With `forget` False a root link keeps its inertia, so that total mass, mass centre and momentum
    stay correct.
    """
    links = list(model.links)
    for i in reversed(range(len(links))):
        link = links[i]
        inertia = link.inertia
        joint_class = motion_class(link.kind)
        if joint_class == "both" or (link.parent < 0 and not forget):
            continue
        with k.locating_errors(f"link '{link.name}'"):
            if joint_class == "ball":
                moved_inertia = line_inertia(inertia.m, k.ZERO, k.ZERO, k.ORIGIN, link.shift)
                reduced_inertia = Inertia(k.ZERO, inertia.h, inertia.S)
            elif joint_class == "turn":
                axis = k.transpose(link.rotation)[2]
                moved_inertia = line_inertia(
                    inertia.m, inertia.h[2], inertia.S[5], axis, link.shift
                )
                reduced_inertia = Inertia(
                    k.ZERO, (inertia.h[0], inertia.h[1], k.ZERO), (*inertia.S[:5], k.ZERO)
                )
            else:
                moved_inertia = Inertia(k.ZERO, k.ORIGIN, rotated(link.rotation, inertia.S))
                reduced_inertia = Inertia(inertia.m, inertia.h, (k.ZERO,) * 6)
            links[i] = replace(link, inertia=reduced_inertia)
            if link.parent >= 0:
                links[link.parent] = replace(
                    links[link.parent], inertia=links[link.parent].inertia + moved_inertia
                )
    return model.with_links(links, "regroup")
