"""Momentum and energy by the sweeps: velocities outward, then what they make of each link added inward.

Momentum is SA (1)-(3) summed over the links; its rate is the wrench of RK (2.11), (2.12) at the base without gravity. Both are
gathered about the origin of the heaviest root and moved to the mass centre there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import RigidInertia, Vector, twist_to_child, wrench_to_parent
from symgen.methods.newton_euler.sweeps import inward_sweep
from symgen.methods.shared.centroidal import center, shares, stand
from symgen.methods.shared.outward import outward_sweep

Wrench = tuple[Vector, Vector]
"""(moment, force), or angular and linear momentum: both are moved and turned alike."""


def twists(linkage: Linkage, v: Sequence[Scalar]) -> list[tuple[Vector, Vector]]:
    """(ω, v) of each link at its origin in its axes, base → tip: RK (2.2), (2.3)."""
    found: list[tuple[Vector, Vector]] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "velocity, RK (2.2), (2.3)")
        turn, slide = link.turning(v), link.sliding(v)
        if link.parent >= 0:
            w, u = twist_to_child(link.rotation, link.shift, *found[link.parent])
            turn, slide = w + turn, u + slide
        linkage.name("omega", i, turn)
        linkage.name("v", i, slide)
        found.append((turn, slide))
    return found


def kinetic_energy(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """T = Σ ½ m v·v + ω·(h × v) + ½ ω·I ω."""

    def own() -> Iterator[tuple[int, Scalar]]:
        for i, (w, v) in enumerate(twists(linkage, linkage.inputs["v"])):
            linkage.step(i, "kinetic energy")
            energy = _energy(linkage, linkage.inertia[i], w, v)
            linkage.name("T", i, energy)
            yield i, energy

    return ([linkage.summed(own())],)


def _energy(linkage: Linkage, inertia: RigidInertia, w: Vector, v: Vector) -> Scalar:
    """Of one link. Of the quadratic form ½ ω·I ω only the upper triangle is written, so that each product occurs once."""
    half = linkage.scalar(k.rational(1) / 2)
    moments, turned = inertia.moments(), inertia.h.cross(v)
    moment = Vector(
        (
            w[0] * (moments.xx * half) + w[1] * moments.xy + w[2] * moments.xz + turned[0],
            w[1] * (moments.yy * half) + w[2] * moments.yz + turned[1],
            w[2] * (moments.zz * half) + turned[2],
        )
    )
    return w.dot(moment) + v.dot(v) * (inertia.m * half)


def _about_center(linkage: Linkage, wrenches: Sequence[Wrench]) -> tuple[list[Scalar], ...]:
    """The sum of what the roots bear (each at its origin in its axes), about the mass centre in the axes of the base."""
    stood = stand(linkage)
    c = center(linkage, stood, shares(linkage))
    linkage.home.step("about the mass centre, in the base")
    n, f = linkage.zeros, linkage.zeros
    for root in stood.roots:
        own_n, own_f = wrench_to_parent(root.turn, root.at, *wrenches[root.link])
        n, f = n + own_n, f + own_f
    return ([*stood.turn.to_parent(n - c.cross(f)), *stood.turn.to_parent(f)],)


def centroidal_momentum(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """h (6): (angular, linear) about the mass centre in base axes."""
    moving = twists(linkage, linkage.inputs["v"])
    momenta: list[Wrench] = [(linkage.zeros, linkage.zeros)] * len(linkage)
    for i in reversed(range(len(linkage))):
        link = linkage.links[i]
        linkage.step(i, "momentum with all that it carries")
        n, f = linkage.inertia[i].momentum(*moving[i])
        for c in link.children:
            child = linkage.links[c]
            n_c, f_c = wrench_to_parent(child.rotation, child.arm, *momenta[c])
            n, f = n + n_c, f + f_c
        momenta[i] = n, f
    return _about_center(linkage, momenta)


def centroidal_momentum_rate(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """dh/dt (6): (moment, force) about the mass centre in base axes.

    The mass centre moves along the momentum itself, so nothing is added for that.
    """
    motions = outward_sweep(linkage, linkage.inputs["v"], linkage.inputs["a"], gravity=False)
    return _about_center(linkage, inward_sweep(linkage, motions)[1])
