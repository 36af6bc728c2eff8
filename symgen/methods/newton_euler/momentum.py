"""Momentum and energy by sweeps: link velocities outward, then momenta or wrenches summed inward.

Momentum is the sum of SA (1)-(3) over the links. Its rate is the wrench of RK (2.11), (2.12) at the
base without gravity. Both are summed about the origin of the heaviest root, and then shifted to the
mass centre.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import RigidInertia, Vector, twist_to_child, wrench_to_parent
from symgen.methods.newton_euler.sweeps import inward_sweep
from symgen.methods.shared.centroidal import mass_center, mass_fractions, place_roots
from symgen.methods.shared.outward import outward_sweep

Wrench = tuple[Vector, Vector]
"""(moment, force), or angular and linear momentum: both transform alike."""


def twists(linkage: Linkage, v: Sequence[Scalar]) -> list[tuple[Vector, Vector]]:
    """Return (ω, v) of each link at its origin in its axes, base → tip, RK (2.2), (2.3)."""
    result: list[tuple[Vector, Vector]] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "velocity, RK (2.2), (2.3)")
        omega, velocity = link.turning(v), link.sliding(v)
        if link.parent >= 0:
            w, u = twist_to_child(link.rotation, link.shift, *result[link.parent])
            omega, velocity = w + omega, u + velocity
        linkage.name("omega", i, omega)
        linkage.name("v", i, velocity)
        result.append((omega, velocity))
    return result


def kinetic_energy(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return T = Σ ½ m v·v + ω·(h × v) + ½ ω·I ω (J)."""

    def energies() -> Iterator[tuple[int, Scalar]]:
        for i, (w, v) in enumerate(twists(linkage, linkage.inputs["v"])):
            linkage.step(i, "kinetic energy")
            energy = _energy(linkage, linkage.inertia[i], w, v)
            linkage.name("T", i, energy)
            yield i, energy

    return ([linkage.sum_over_links(energies())],)


def _energy(linkage: Linkage, inertia: RigidInertia, w: Vector, v: Vector) -> Scalar:
    """Return the kinetic energy of one link.

    Only the upper triangle of the quadratic form ½ ω·I ω is used, so that each product occurs once.
    """
    half = linkage.scalar(k.rational(1) / 2)
    moments, coupling = inertia.moments(), inertia.h.cross(v)
    moment = Vector(
        (
            w[0] * (moments.xx * half) + w[1] * moments.xy + w[2] * moments.xz + coupling[0],
            w[1] * (moments.yy * half) + w[2] * moments.yz + coupling[1],
            w[2] * (moments.zz * half) + coupling[2],
        )
    )
    return w.dot(moment) + v.dot(v) * (inertia.m * half)


def _about_center(linkage: Linkage, wrenches: Sequence[Wrench]) -> tuple[list[Scalar], ...]:
    """Return the sum of the roots' wrenches about the mass centre in base axes; each is given at
    its origin in its axes.
    """
    roots = place_roots(linkage)
    c = mass_center(linkage, roots, mass_fractions(linkage))
    linkage.derivation.step("about the mass centre, in the base")
    n, f = linkage.zeros, linkage.zeros
    for root in roots.roots:
        root_n, root_f = wrench_to_parent(root.rotation, root.origin, *wrenches[root.link])
        n, f = n + root_n, f + root_f
    return ([*roots.rotation.to_parent(n - c.cross(f)), *roots.rotation.to_parent(f)],)


def centroidal_momentum(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return h (6): (angular, linear) about the mass centre in base axes."""
    link_twists = twists(linkage, linkage.inputs["v"])
    momenta: list[Wrench] = [(linkage.zeros, linkage.zeros)] * len(linkage)
    for i in reversed(range(len(linkage))):
        link = linkage.links[i]
        linkage.step(i, "momentum of the link and all links beyond it")
        n, f = linkage.inertia[i].momentum(*link_twists[i])
        for c in link.children:
            child = linkage.links[c]
            n_c, f_c = wrench_to_parent(child.rotation, child.arm, *momenta[c])
            n, f = n + n_c, f + f_c
        momenta[i] = n, f
    return _about_center(linkage, momenta)


def centroidal_momentum_rate(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return dh/dt (6): (moment, force) about the mass centre in base axes.

    The velocity of the mass centre is parallel to the linear momentum, so the motion of the
    reference point adds no term.
    """
    motions = outward_sweep(linkage, linkage.inputs["v"], linkage.inputs["a"], gravity=False)
    return _about_center(linkage, inward_sweep(linkage, motions)[1])
