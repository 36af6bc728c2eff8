"""Forward dynamics four ways, RK FD1 (4.17)-(4.22), FD2 (5.5)-(5.7), FD3 (5.8)-(5.10) and FD4 (5.13)-(5.17).

The bias acceleration of a base link carries −gravity (3.21), so ζ = φᵀ a and α contain it. A run-time wrench on a link
is −f(0), since f(0) of (2.28) acts on the surroundings; it stands with the bias forces, b + B f(0), in (3.17), (3.23),
(4.17), (5.5), (5.9), (5.14) alike. It may be exerted on any link; on the tip it is z(0) = f(0) above (5.16).
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import RigidInertia, Vector, twist_to_child, wrench_to_parent
from symgen.methods.riccati.filter import Filter, filtered, riccati_sweep, smoothed

Spatial = tuple[Vector, Vector]
"""Angular and linear part of a twist or its rate, moment and force of a wrench; in the link's axes at its origin."""


def plus(a: Spatial, b: Spatial) -> Spatial:
    return a[0] + b[0], a[1] + b[1]


# -- what velocities and gravity contribute, local to a link ---------------------------------------------------------------


def velocities(linkage: Linkage) -> list[Spatial]:
    """(ω of the link, ω of its parent in the link's axes), base → tip: (5.13) as V = φᵀHᵀθ̇."""
    rates = linkage.inputs["v"]
    found: list[Spatial] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "angular velocity, RK (2.2), (5.13)")
        carried = (
            link.rotation.to_child(found[link.parent][0]) if link.parent >= 0 else linkage.zeros
        )
        omega = carried + link.turning(rates)  # (2.2), (5.13)
        linkage.name("omega", i, omega)
        found.append((omega, carried))
    return found


def bias_acceleration(
    linkage: Linkage, i: int, omega_parent: Vector, carried: Vector, rates: Sequence[Scalar]
) -> Spatial:
    """a(k) of (2.19), or of (2.32) corrected for a sliding joint, in the link's axes; the base adds gravity (3.21)."""
    link = linkage.links[i]
    turn = link.turning(rates)
    angular = carried.cross(turn)
    if link.parent < 0:
        linear = linkage.against_gravity(i)  # (3.21)
    else:
        linear = link.rotation.to_child(
            omega_parent.cross(omega_parent.cross(link.shift))
        )  # (2.19)
    slide = link.sliding(rates)
    return angular, linear + carried.cross(slide + slide) + turn.cross(slide)  # (2.32) corrected


def bias_wrench(inertia: RigidInertia, omega: Vector) -> Spatial:
    """b(k) = (ω × I ω, ω × (ω × h)), (2.23)."""
    return omega.cross(inertia.moments().apply(omega)), omega.cross(omega.cross(inertia.h))


def biases(linkage: Linkage, omega: Sequence[Spatial]) -> tuple[list[Spatial], list[Spatial]]:
    """a(k) and b(k) of every link, from `velocities`; b is b + B f(0), φ(1,0) f(0) being −`linkage.loads`."""
    rates, a, b = linkage.inputs["v"], [], []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "bias acceleration and bias force, RK (2.19), (2.23), (3.21)")
        outer = omega[link.parent][0] if link.parent >= 0 else linkage.zeros
        a.append(bias_acceleration(linkage, i, outer, omega[i][1], rates))
        linkage.name("a", i, Vector([*a[i][0], *a[i][1]]))
        (n, f), (n_0, f_0) = bias_wrench(linkage.inertia[i], omega[i][0]), linkage.loads[i]
        b.append((n - n_0, f - f_0))  # (3.16), f(0) of (2.28)
    return a, b


def spread(linkage: Linkage, a: Sequence[Spatial]) -> list[Spatial]:
    """ζ = φᵀ a, base → tip (5.8): the links' accelerations while no joint accelerates."""
    zeta: list[Spatial] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "accelerations without those of the joints, RK (5.8)")
        moved = a[i]
        if link.parent >= 0:
            moved = plus(
                twist_to_child(link.rotation, link.arm, *zeta[link.parent]), moved
            )  # (5.8)
        linkage.name("zeta", i, Vector([*moved[0], *moved[1]]))
        zeta.append(moved)
    return zeta


# -- FD1 and FD2: bias-free joint moments first ----------------------------------------------------------------------------


def bias_free(linkage: Linkage, zeta: Sequence[Spatial], b: Sequence[Spatial]) -> list[Scalar]:
    """T' = T − H φ [M ζ + b], tip → base (4.17), (3.23)."""
    T = linkage.inputs["tau"]
    f: list[Spatial] = [(linkage.zeros, linkage.zeros)] * len(linkage)
    rest = [linkage.zero] * len(linkage.dofs)
    for i in reversed(range(len(linkage))):
        link = linkage.links[i]
        linkage.step(i, "bias-free joint moment, RK (4.17)")
        f[i] = plus(f[i], plus(linkage.inertia[i].momentum(*zeta[i]), b[i]))  # φ [M φᵀ a + b]
        linkage.name("f", i, Vector([*f[i][0], *f[i][1]]))
        for dof in link.dofs:
            rest[dof.index] = T[dof.index] - dof.project(*f[i])  # (4.17)
            linkage.name("Tprime", dof.index, rest[dof.index])
        if link.parent >= 0:
            f[link.parent] = plus(f[link.parent], wrench_to_parent(link.rotation, link.arm, *f[i]))
    return rest


def fd1(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """FD1: four sweeps; two take the bias off the joint moments, two solve. FD2 takes θ̈ out of the same sweeps (4.22b)."""
    return (_four_sweeps(linkage, velocities(linkage))[0],)


def link_motion(linkage: Linkage) -> tuple[list[Vector], list[Spatial]]:
    """ω and α = λ + ζ of every link (5.6), the latter with −gravity in it (3.21)."""
    omega = velocities(linkage)
    _, smooth, zeta = _four_sweeps(linkage, omega)
    return [own for own, _ in omega], [
        plus(one, other) for one, other in zip(smooth, zeta, strict=True)
    ]  # (5.6)


def _four_sweeps(
    linkage: Linkage, omega: Sequence[Spatial]
) -> tuple[list[Scalar], list[Spatial], list[Spatial]]:
    """θ̈, λ and ζ."""
    a, b = biases(linkage, omega)
    zeta = spread(linkage, a)
    rest = bias_free(linkage, zeta, b)  # (4.17), (5.5)
    filters = riccati_sweep(linkage)
    rates, smooth = smoothed(linkage, filters, filtered(linkage, filters, rest)[1])  # (4.18)
    return rates, smooth, zeta


# -- FD3 and FD4: the bias rides on the filter -----------------------------------------------------------------------------


def fd3(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """FD3: three sweeps; accelerations of the bias alone, one filter for everything, one smoother."""
    a, b = biases(linkage, velocities(linkage))
    zeta = spread(linkage, a)  # (5.8)
    filters = riccati_sweep(linkage)
    loads = [plus(linkage.inertia[i].momentum(*zeta[i]), b[i]) for i in range(len(linkage))]
    _, nu = filtered(linkage, filters, linkage.inputs["tau"], loads)  # (5.9)
    return (smoothed(linkage, filters, nu)[0],)  # (5.10)


def fd4(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """FD4: three sweeps, no bias computed beforehand."""
    return (three_sweeps(linkage)[0],)


def three_sweeps(linkage: Linkage) -> tuple[list[Scalar], list[Spatial], list[Spatial]]:
    """θ̈ of FD4, with α(k) of (2.26), −gravity in it (3.21), and b(k) of every link."""
    omega = velocities(linkage)  # (5.13)
    filters = riccati_sweep(linkage)
    a, b = biases(linkage, omega)
    nu, _ = biased_filter(linkage, filters, a, b)
    rates, motion = biased_smoother(linkage, filters, a, nu)
    return rates, motion, b


def biased_filter(
    linkage: Linkage, filters: Sequence[Filter], a: Sequence[Spatial], b: Sequence[Spatial]
) -> tuple[list[Scalar], list[Spatial]]:
    """ν of (5.16), and the wrench z of every link before its joint gives way."""
    tau, z = linkage.inputs["tau"], list(b)
    borne = list(b)
    nu = [linkage.zero] * len(filters)
    for i in reversed(range(len(linkage))):
        link = linkage.links[i]
        linkage.step(i, "filter, RK (5.16)")
        borne[i] = z[i]
        linkage.name("z", i, Vector([*z[i][0], *z[i][1]]))
        for dof in reversed(link.dofs):
            k, gain = dof.index, filters[dof.index]
            epsilon = tau[k] - dof.project(*z[i])  # (5.16)
            linkage.name("epsilon", k, epsilon)
            nu[k] = gain.inverse * epsilon
            linkage.name("nu", k, nu[k])
            if link.parent >= 0 or dof.column > 0:
                z[i] = plus(z[i], (gain.G[0] * epsilon, gain.G[1] * epsilon))
        if link.parent >= 0:
            # ψ z + L T + ψ P a = φ (z + G ε + (1 − G H) P a)
            carried = plus(z[i], filters[link.dofs[0].index].after.apply(*a[i]))
            z[link.parent] = plus(
                z[link.parent], wrench_to_parent(link.rotation, link.arm, *carried)
            )
    return nu, borne


def biased_smoother(
    linkage: Linkage, filters: Sequence[Filter], a: Sequence[Spatial], nu: Sequence[Scalar]
) -> tuple[list[Scalar], list[Spatial]]:
    """θ̈ of (5.17), and α(k) of (2.26)."""
    result: list[Scalar] = []
    motion: list[Spatial] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "smoother, RK (5.17)")
        w, v = a[i]
        if link.parent >= 0:
            w, v = plus((w, v), twist_to_child(link.rotation, link.arm, *motion[link.parent]))
        for dof in link.dofs:
            G_n, G_f = filters[dof.index].G
            rate = nu[dof.index] - (G_n.dot(w) + G_f.dot(v))  # (5.17)
            linkage.name("thetaddot", dof.index, rate)
            w, v = w + dof.H_angular * rate, v + dof.H_linear * rate
            result.append(rate)
        motion.append((w, v))
    return result, motion
