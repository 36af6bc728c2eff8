"""Rodriguez & Kreutz 1988: the forward dynamics algorithm in two sweeps that §5 announces at its
end.

FD4 (5.13)-(5.17) takes three sweeps. The filter (5.16) runs from the tip and needs the bias force
b(k) (2.23) and the bias acceleration a(k) (2.19), (2.32). These contain angular velocities, which a
sweep from the base has to compute before (5.13). A sweep from the tip knows the joint rates, but
not the angular velocity of the link. Both biases are polynomials of degree two in that velocity.
The filter therefore carries the coefficients of z(k) instead of its value, and the smoother (5.17)
computes the angular velocities and the values of ν(k).

Linear velocities do not occur, because α(k) of (2.14) contains the acceleration of the point O(k),
as (2.5) computes it. The rates of the components of V(k) in link axes differ from α(k) by (0, ω ×
v), and so does a spatial acceleration. With these, the linear velocity would be a second unknown.

Notation. ω̂(k) = (ω(k), 1), in the axes of link k. ŵ(k) = (Rᵀ ω(k+1), 1), the angular velocity of
the parent in the axes of link k, where R rotates from the axes of link k to those of link k+1. A
*form* X is a column of quadratic forms, one 4x4 matrix X_r for each row. Its value at y is X[y],
with the rows yᵀ X_r y. X∘C is the form of y ↦ X[C y], with the matrices Cᵀ X_r C. A matrix times X
combines its rows. c·1̂ is the form with the constant value c. The symmetric part of X_r has 10
coefficients, so a wrench takes 60: 6 constants, 18 of ω and 36 of ω ωᵀ.

    (Q1)  ω̂(k) = C(k) ŵ(k),   C(k) = [[1, q], [0, 1]],  q: angular part of Hᵀ θ̇          (2.2)
    (Q2)  ŵ(k) = E(k) ω̂(k+1),  E(k) = [[Rᵀ, 0], [0, 1]];  ŵ = (0, 1) for a root          (2.1)
    (Q3)  b(k) = B(k)[ω̂(k)]                                                             (2.23)
    (Q4)  a(k) = A(k)[ŵ(k)];  for a root with −gravity                        (2.19), (2.32), (3.21)

Causal sweep, k = 1 … N, with P, D and G of (4.4)-(4.6), (5.12):

    (Q5)  Z(k) = B(k) + (B f(0))(k)·1̂ + Σ φ(k, k−1) Z⁺(k−1)∘E(k−1),  over the children     (5.16)
    (Q6)  N(k) = D⁻¹ [T(k)·1̂ − H Z(k)]                                                  (5.16)
    (Q7)  Z⁺(k) = [Z(k) + G D N(k)]∘C(k) + (1 − G H) P A(k)                              (5.16)

Anticausal sweep, k = N … 1, with (Q1), (Q2) and (Q4):

    (Q8)  ν(k) = N(k)[ω̂(k)]                                                             (5.14)
    (Q9)  λ(k) = ψᵀ(k+1, k) λ(k+1) + Hᵀ ν(k) + (1 − G H)ᵀ a(k)                            (5.17)
    (Q10) θ̈(k) = ν(k) − Lᵀ λ(k+1) − Gᵀ a(k)                                             (5.17)

Theorem. Z(k)[ω̂(k)] is z(k) of (5.16), N(k)[ω̂(k)] is ν(k) of (5.14), and (Q10) is θ̈ of FD4.

Proof. With ψ = φ (1 − G H) and L = φ G, (5.16) reads

    z(k) = b(k) + (B f(0))(k) + Σ φ(k, k−1) z⁺(k−1),
    z⁺(k) = (1 − G H) [z(k) + P a(k)] + G T(k) = z(k) + G ε(k) + (1 − G H) P a(k),

and ε = T − H z = D ν. Induction from the tips, where the sum is empty: let z(k) = Z(k)[ω̂(k)]. Then
ν(k) = N(k)[ω̂(k)] by (Q6). By (Q1) and (Q4), z⁺(k) = (Z + G D N)[C ŵ(k)] + (1 − G H) P A[ŵ(k)],
which is Z⁺(k)[ŵ(k)]. By (Q2) this is (Z⁺∘E)(k)[ω̂(k+1)], and with (Q3) the sum (Q5) has the value
z(k+1) at ω̂(k+1). The anticausal sweep is (5.17) with these ν. □

(Q3)-(Q7) contain the angles, rates and forces of the joints of link k and of the links beyond it,
and no others. On a tree the sums run over the children. A joint with several degrees of freedom has
as many rows in H (Appendix B). Links count from 0 at the base.

`symgen.methods.riccati.two_sweeps` derives programs by this algorithm and shares nothing with it.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from symgen.papers.blocks import Matrix, cross_matrix, identity, inverse, zeros
from symgen.papers.rk import Motion
from symgen.reference.precision import Array

LAST = 3
"""Index of the entry 1 of ω̂."""


class TwoSweeps:
    """Forward dynamics of a motion by one sweep from the tip and one from the base.

    Rates, joint forces, loads and gravity are those of the motion. The sweeps use neither the
    velocities nor the biases of `Motion`.
    """

    def __init__(self, motion: Motion) -> None:
        self.motion, self.o = motion, motion.o

    # -- terms of one link -------------------------------------------------------------------------

    def joint_map(self, i: int) -> Array:
        """Return C(k) of (Q1): takes ŵ(k) to ω̂(k)."""
        C = identity(4)
        C[:LAST, LAST] = self._joint_velocity(i)[:3]
        return C

    def parent_map(self, i: int) -> Array:
        """Return E(k) of (Q2): takes ω̂ of the parent to ŵ(k)."""
        E = identity(4)
        E[:LAST, :LAST] = self.o.links[i].rotation.T
        return E

    def bias_force_form(self, i: int) -> Array:
        """Return B(k) of (Q3): b(k) as a form in ω̂(k)."""
        link = self.o.links[i]
        unit = _rates()
        moments, h = link.inertia[:3, :3], link.mass * link.centre
        return np.concatenate(
            [_cross(unit, _times(moments, unit)), _cross(unit, _cross_constant(unit, h))]
        )

    def bias_acceleration_form(self, i: int) -> Array:
        """Return A(k) of (Q4): a(k) as a form in ŵ(k)."""
        link, chain = self.o.links[i], self.o.chain
        joint_velocity = self._joint_velocity(i)
        turn, slide = joint_velocity[:3], joint_velocity[3:]
        w = _rates()
        angular = _product(_cross_constant(w, turn), _one())
        linear = _product(_cross_constant(w, slide + slide), _one())
        linear = linear + _constant(cross_matrix(turn) @ slide)
        if link.parent < 0:
            linear = linear - _constant(link.rotation.T @ chain.gravity)
        else:
            shift = link.rotation.T @ link.shift  # in link axes, like w
            linear = linear + _cross(w, _cross_constant(w, shift))
        return np.concatenate([angular, linear])

    def _joint_velocity(self, i: int) -> Array:
        velocity: Array = self.o.links[i].axes.T @ self.motion.rates[i]
        return velocity

    # -- causal sweep ------------------------------------------------------------------------------

    @cached_property
    def causal(self) -> list[tuple[Array, Array, Array]]:
        """Z(k), N(k) and Z⁺(k) of each link, (Q5)-(Q7), from the tips to the base."""
        o, motion = self.o, self.motion
        forms: dict[int, tuple[Array, Array, Array]] = {}
        for i in o.order:
            H, (P, D, G, _) = o.links[i].axes, o.articulated(i)
            Z = self.bias_force_form(i) + _constant(motion.load.get(i, zeros(6)))
            for child in o.chain.children(i):
                outer = _composed(forms[child][2], self.parent_map(child))
                Z = Z + _times(o.steps[child], outer)  # (Q5)
            innovation = _constant(motion.joint_forces[i]) - _times(H, Z)
            N = _times(inverse(D), innovation)  # (Q6)
            A = self.bias_acceleration_form(i)
            transmitted = _composed(Z + _times(G, innovation), self.joint_map(i))
            Z_plus = transmitted + _times((identity(6) - G @ H) @ P, A)  # (Q7)
            forms[i] = Z, N, Z_plus
        return [forms[i] for i in range(len(o.links))]

    # -- anticausal sweep --------------------------------------------------------------------------

    @cached_property
    def anticausal(self) -> list[tuple[Array, Array, Array, Array]]:
        """ω̂(k), ν(k), λ(k) and θ̈(k) of each link, (Q1), (Q2), (Q8)-(Q10), from the base to the
        tips.
        """
        o = self.o
        result: list[tuple[Array, Array, Array, Array]] = []
        for i, link in enumerate(o.links):
            w, outer = identity(4)[LAST], zeros(6)  # of the base at rest
            if link.parent >= 0:
                parent_omega, _, outer, _ = result[link.parent]
                w = self.parent_map(i) @ parent_omega  # (Q2)
            omega = self.joint_map(i) @ w  # (Q1)
            nu = value(self.causal[i][1], omega)  # (Q8)
            a = value(self.bias_acceleration_form(i), w)  # (Q4)
            _, _, G, L = o.articulated(i)
            smooth = link.axes.T @ nu + (identity(6) - G @ link.axes).T @ a
            if link.parent >= 0:
                smooth = smooth + o.transition(i).T @ outer  # (Q9)
            result.append((omega, nu, smooth, nu - L.T @ outer - G.T @ a))  # (Q10)
        return result

    @cached_property
    def theta_ddot(self) -> Matrix:
        """θ̈ of (Q10), in the order of the operators."""
        return self.motion.column(lambda i: self.anticausal[i][3])

    @cached_property
    def nu(self) -> Matrix:
        """ν of (Q8), in the order of the operators."""
        return self.motion.column(lambda i: self.anticausal[i][1])

    @cached_property
    def z(self) -> Matrix:
        """Z(k)[ω̂(k)] in the order of the operators, which is z of (5.16)."""
        return self.motion.column(lambda i: value(self.causal[i][0], self.anticausal[i][0]))


# -- forms -----------------------------------------------------------------------------------------


def value(form: Array, y: Array) -> Array:
    """Return X[y], the values of the quadratic forms at y."""
    values: Array = np.array([y @ matrix @ y for matrix in form], dtype=object)
    return values


def _composed(form: Array, C: Array) -> Array:
    """Return X∘C: the forms of y ↦ X[C y]."""
    composed: Array = np.array([C.T @ matrix @ C for matrix in form], dtype=object)
    return composed


def _times(matrix: Array, rows: Array) -> Array:
    """Return the matrix times a column of forms, or of linear functions of ω̂."""
    product: Array = np.tensordot(matrix, rows, axes=1)
    return product


def _constant(c: Array) -> Array:
    """Return c·1̂: the form with the constant value c."""
    form = zeros(len(c), 4, 4)
    form[:, LAST, LAST] = c
    return form


def _rates() -> Array:
    """Return ω as three linear functions of ω̂, one a row."""
    return identity(4)[:LAST]


def _one() -> Array:
    """Return 1 as a linear function of ω̂."""
    last_row: Array = identity(4)[LAST]
    return last_row


def _product(functions: Array, function: Array) -> Array:
    """Return the products of linear functions of ω̂ with one more, as a form."""
    return np.array([np.outer(row, function) for row in functions], dtype=object)


def _cross_constant(functions: Array, v: Array) -> Array:
    """Return f × v of three linear functions f of ω̂ and a constant v, as linear functions."""
    return _times(-cross_matrix(v), functions)


def _cross(f: Array, g: Array) -> Array:
    """Return f × g of linear functions of ω̂, three each, as a form."""
    return np.array(
        [
            np.outer(f[(r + 1) % 3], g[(r + 2) % 3]) - np.outer(f[(r + 2) % 3], g[(r + 1) % 3])
            for r in range(3)
        ],
        dtype=object,
    )
