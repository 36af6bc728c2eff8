"""Forward dynamics in four ways, RK FD1 (4.17)-(4.22), FD2 (5.5)-(5.7), FD3 (5.8)-(5.10) and FD4
(5.13)-(5.17).

The bias acceleration of a base link contains −gravity (3.21), so ζ = φᵀ a and α contain it. A
run-time wrench on a link is −f(0), since f(0) of (2.28) acts on the surroundings. It is added to
the bias forces, b + B f(0), in (3.17), (3.23), (4.17), (5.5), (5.9) and (5.14). It may act on any
link; on the tip it is z(0) = f(0) above (5.16).
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import RigidInertia, Vector, twist_to_child, wrench_to_parent
from symgen.methods.riccati.filter import Filter, filtered, riccati_sweep, smoothed

Spatial = tuple[Vector, Vector]
"""(angular, linear) of a twist or its rate, or (moment, force) of a wrench, in the link's axes at
its origin.
"""


def plus(a: Spatial, b: Spatial) -> Spatial:
    return a[0] + b[0], a[1] + b[1]


# -- contributions of velocities and gravity, local to a link --------------------------------------


def angular_velocities(linkage: Linkage) -> list[Spatial]:
    """Return (ω of the link, ω of its parent in link axes), base → tip: (5.13) as V = φᵀHᵀθ̇."""
    rates = linkage.inputs["v"]
    omegas: list[Spatial] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "angular velocity, RK (2.2), (5.13)")
        parent_omega = (
            link.rotation.to_child(omegas[link.parent][0]) if link.parent >= 0 else linkage.zeros
        )
        omega = parent_omega + link.turning(rates)  # (2.2), (5.13)
        linkage.name("omega", i, omega)
        omegas.append((omega, parent_omega))
    return omegas


def bias_acceleration(
    linkage: Linkage, i: int, omega_parent: Vector, parent_omega: Vector, rates: Sequence[Scalar]
) -> Spatial:
    """Return a(k) of (2.19), or of (2.32) corrected for a prismatic joint, in the link's axes; for
    a root, with −gravity (3.21).

    `parent_omega` is ω of the parent in the link's axes, `omega_parent` in its own axes.
    """
    link = linkage.links[i]
    joint_omega = link.turning(rates)
    angular = parent_omega.cross(joint_omega)
    if link.parent < 0:
        linear = linkage.against_gravity(i)  # (3.21)
    else:
        linear = link.rotation.to_child(
            omega_parent.cross(omega_parent.cross(link.shift))
        )  # (2.19)
    joint_velocity = link.sliding(rates)
    return angular, linear + parent_omega.cross(
        joint_velocity + joint_velocity
    ) + joint_omega.cross(joint_velocity)  # (2.32) corrected


def bias_wrench(inertia: RigidInertia, omega: Vector) -> Spatial:
    """Return b(k) = (ω × I ω, ω × (ω × h)), (2.23)."""
    return omega.cross(inertia.moments().apply(omega)), omega.cross(omega.cross(inertia.h))


def biases(linkage: Linkage, omega: Sequence[Spatial]) -> tuple[list[Spatial], list[Spatial]]:
    """Return a(k) and b(k) of each link, from `angular_velocities`.

    b includes run-time wrenches: it is b + B f(0), where φ(1,0) f(0) is −`linkage.loads`.
    """
    rates, a, b = linkage.inputs["v"], [], []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "bias acceleration and bias force, RK (2.19), (2.23), (3.21)")
        outer = omega[link.parent][0] if link.parent >= 0 else linkage.zeros
        a.append(bias_acceleration(linkage, i, outer, omega[i][1], rates))
        linkage.name("a", i, Vector([*a[i][0], *a[i][1]]))
        (n, f), (n_0, f_0) = bias_wrench(linkage.inertia[i], omega[i][0]), linkage.loads[i]
        b.append((n - n_0, f - f_0))  # (3.16), f(0) of (2.28)
    return a, b


def bias_motion(linkage: Linkage, a: Sequence[Spatial]) -> list[Spatial]:
    """Return ζ = φᵀ a (5.8), base → tip: the link accelerations at zero joint accelerations."""
    zeta: list[Spatial] = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "accelerations without those of the joints, RK (5.8)")
        acceleration = a[i]
        if link.parent >= 0:
            acceleration = plus(
                twist_to_child(link.rotation, link.arm, *zeta[link.parent]), acceleration
            )  # (5.8)
        linkage.name("zeta", i, Vector([*acceleration[0], *acceleration[1]]))
        zeta.append(acceleration)
    return zeta


# -- FD1 and FD2: bias-free joint moments first ----------------------------------------------------


def bias_free(linkage: Linkage, zeta: Sequence[Spatial], b: Sequence[Spatial]) -> list[Scalar]:
    """Return T' = T − H φ [M ζ + b], tip → base (4.17), (3.23)."""
    T = linkage.inputs["tau"]
    f: list[Spatial] = [(linkage.zeros, linkage.zeros)] * len(linkage)
    moments = [linkage.zero] * len(linkage.dofs)
    for i in reversed(range(len(linkage))):
        link = linkage.links[i]
        linkage.step(i, "bias-free joint moment, RK (4.17)")
        f[i] = plus(f[i], plus(linkage.inertia[i].momentum(*zeta[i]), b[i]))  # φ [M φᵀ a + b]
        linkage.name("f", i, Vector([*f[i][0], *f[i][1]]))
        for dof in link.dofs:
            moments[dof.index] = T[dof.index] - dof.project(*f[i])  # (4.17)
            linkage.name("Tprime", dof.index, moments[dof.index])
        if link.parent >= 0:
            f[link.parent] = plus(f[link.parent], wrench_to_parent(link.rotation, link.arm, *f[i]))
    return moments


def fd1(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return θ̈ by FD1 in four sweeps: two remove the bias from the joint moments, two solve.

    FD2 takes θ̈ from the same sweeps (4.22b).
    """
    return (_four_sweeps(linkage, angular_velocities(linkage))[0],)


def link_motion(linkage: Linkage) -> tuple[list[Vector], list[Spatial]]:
    """Return ω and α = λ + ζ of each link (5.6); α contains −gravity (3.21)."""
    omega = angular_velocities(linkage)
    _, smooth, zeta = _four_sweeps(linkage, omega)
    return [link_omega for link_omega, _ in omega], [
        plus(smoothed_part, bias_part)
        for smoothed_part, bias_part in zip(smooth, zeta, strict=True)
    ]  # (5.6)


def _four_sweeps(
    linkage: Linkage, omega: Sequence[Spatial]
) -> tuple[list[Scalar], list[Spatial], list[Spatial]]:
    """Return θ̈, λ and ζ."""
    a, b = biases(linkage, omega)
    zeta = bias_motion(linkage, a)
    moments = bias_free(linkage, zeta, b)  # (4.17), (5.5)
    filters = riccati_sweep(linkage)
    rates, smoothed_part = smoothed(
        linkage, filters, filtered(linkage, filters, moments)[1]
    )  # (4.18)
    return rates, smoothed_part, zeta


# -- FD3 and FD4: the bias goes through the filter -------------------------------------------------


def fd3(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return θ̈ by FD3 in three sweeps: the accelerations of the bias, one filter for all forces,
    one smoother.
    """
    a, b = biases(linkage, angular_velocities(linkage))
    zeta = bias_motion(linkage, a)  # (5.8)
    filters = riccati_sweep(linkage)
    loads = [plus(linkage.inertia[i].momentum(*zeta[i]), b[i]) for i in range(len(linkage))]
    _, nu = filtered(linkage, filters, linkage.inputs["tau"], loads)  # (5.9)
    return (smoothed(linkage, filters, nu)[0],)  # (5.10)


def fd4(linkage: Linkage) -> tuple[list[Scalar], ...]:
    """Return θ̈ by FD4 in three sweeps, without a bias computed beforehand."""
    return (three_sweeps(linkage)[0],)


def three_sweeps(linkage: Linkage) -> tuple[list[Scalar], list[Spatial], list[Spatial]]:
    """Return θ̈ of FD4, α(k) of (2.26) with −gravity (3.21), and b(k) of each link."""
    omega = angular_velocities(linkage)  # (5.13)
    filters = riccati_sweep(linkage)
    a, b = biases(linkage, omega)
    nu, _ = biased_filter(linkage, filters, a, b)
    rates, motion = biased_smoother(linkage, filters, a, nu)
    return rates, motion, b


def biased_filter(
    linkage: Linkage, filters: Sequence[Filter], a: Sequence[Spatial], b: Sequence[Spatial]
) -> tuple[list[Scalar], list[Spatial]]:
    """Return ν of (5.16), and the wrench z on each link before its joint's innovation is added."""
    tau, z = linkage.inputs["tau"], list(b)
    link_wrenches = list(b)
    nu = [linkage.zero] * len(filters)
    for i in reversed(range(len(linkage))):
        link = linkage.links[i]
        linkage.step(i, "filter, RK (5.16)")
        link_wrenches[i] = z[i]
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
            transmitted = plus(z[i], filters[link.dofs[0].index].after.apply(*a[i]))
            z[link.parent] = plus(
                z[link.parent], wrench_to_parent(link.rotation, link.arm, *transmitted)
            )
    return nu, link_wrenches


def biased_smoother(
    linkage: Linkage, filters: Sequence[Filter], a: Sequence[Spatial], nu: Sequence[Scalar]
) -> tuple[list[Scalar], list[Spatial]]:
    """Return θ̈ of (5.17), and α(k) of (2.26)."""
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
