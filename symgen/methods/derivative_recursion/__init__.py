"""Derivatives ∂τ/∂q, ∂τ/∂v and M by one recursion over composite bodies, and ∂a/∂q, ∂a/∂v from
them.

The method follows Singh, Russell and Wensing 2022; the equations (D1)-(D14) are symgen's own.

Displace a joint by a column S = (z, s) of its motion subspace: the link and its descendants move
along as one rigid body. In axes that move along too, only the motion of the joint's parent changes,
relative to the body. That motion is the twist V' = (ω', v') and the acceleration field a' + U' x,
both at the origin of the link. A point x of the body, with velocity V(x), then changes

    its velocity by the twist Ψ̇ = V' × S = (ω' × z, ω' × s + v' × z),                          (D1)
    its acceleration by 2 Ψ̇_ang × V(x) and the twist
        Ψ̈ = (U' z, U' s + a' × z + 2 v' × (ω' × z)).                                           (D2)

A unit rate of the joint instead changes the velocity by S and the acceleration by

    2 z × V(x) and the twist Ψ̇ + Φ̇,    Φ̇ = V × S,                                            (D3)

where V is the twist of the link itself. If the joint has one degree of freedom, Φ̇ = Ψ̇. A unit
acceleration of the joint changes the acceleration by S. So two kinds of wrench are summed over a
composite body of mass m̃ and moments h̃, Σ̃. The wrench of an acceleration twist follows from M̃
(SA (15a-c)), and the wrench of 2 w × V(x) is

    B(w) = ((tr K − K) w, w × p),    K = 2 ∫ρ V xᵀ,    p = 2 ∫ρ V.                              (D4)

K and p of a rigid body are v hᵀ + [ω]× Σ and m v + ω × h, with twice its twist for (ω, v). The
parent takes them as R K Rᵀ + (R p) ℓᵀ and R p. Only

    K and p of the motion within the composite body, relative to its link,                      (D5)

are carried inward: each joint adds those of the body that it moves. The remaining part of K, that
of the frozen body, has a closed form. Forces do not depend on the observer, if the observer is not
accelerated. Choose the observer in whose frame the link's origin has zero velocity. So v = 0, and
v' = −u, where J = (w, u) = H v is the twist across the joint. With Ω = 2 ω each degree of freedom
has four wrenches: t1 of an acceleration, t3 of a rate, t2 of a displacement, and t4, by which other
joints act on it:

    t1 = M̃ S                                                                                   (D6)
    t3 = (Σ̃ Ω × z + h̃ × (Ω × s), Ω × (z × h̃ + m̃ s)) − M̃ (J × S) + B(z)                     (D7)
    t2 = the wrench that moves the change of the body, δh̃ = z × h̃ + m̃ s and δΣ̃ = [z]× Σ̃ + s h̃ᵀ
         plus its transpose, with the motion of its link, + B(Ψ̇_ang) + S ×* W                  (D8)
    t4 = Bᵀ(S) + Σ̃ (Ω × z) + (Ω × h̃) × s,    Bᵀ(S) = (tr K − Kᵀ) z + p × s                    (D9)

with K and p of (D5). (D7) contains the Coriolis acceleration of a point that moves at z × x + s in
rotating axes. W is the sum of the contributions of the joints beyond to the wrench across the
joint. Each of them accelerates its composite body by 2 ω̂ × (w × x + u) and by H a. There (w, u) is
the joint's J, and ω̂ its angular velocity halfway. (`composite_body:bias` has the first part as 4
(Γ + δw).) Loads are subtracted. If a joint has several degrees of freedom, which rotate each other,
t2 is M̃ Ψ̈ + B(Ψ̇_ang) with the total K. S ×* of the total wrench is then added only for ancestors
of the joint, because the axes move along within the joint.

Wrenches are carried inward to every degree of freedom j of the same link or of an ancestor. t4 is a
couple and is rotated. The observer changes with the link's origin, so t4 is carried from a link to
its parent, with angular velocity ω_λ, as

    R (t4 − 2 f × u) − R f × (2 ω_λ × ℓ),    f the force of t1.                                (D10)

Then M and the derivatives are

    M_jk = S_j · t1,    ∂τ_j/∂q_k = S_j · t2,    ∂τ_j/∂v_k = S_j · t3                          (D11)
    ∂τ_k/∂q_j = t4 · Ψ̇_j,ang + t1 · Ψ̈_j,    ∂τ_k/∂v_j = t4 · z_j + t1 · (Ψ̇ + Φ̇)_j          (D12)

A run-time wrench is fixed in the axes of its link and moves with it. It appears in W only.

∂FD is −M⁻¹ ∂ID at the acceleration that the forces cause. ∂τ/∂v does not depend on the
acceleration. The velocity part of c is quadratic in v, so it is half of its derivative times v. So
c needs no sweep:

    c = ½ ∂τ/∂v v + g − Jᵀ wrench                                                              (D13)
    ∂a/∂q = −M⁻¹ ∂τ/∂q at a = M⁻¹ (τ − c),    ∂a/∂v = −M⁻¹ ∂τ/∂v                               (D14)
"""

from symgen.methods.derivative_recursion.recursion import (
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from symgen.methods.shared.method import Method

METHOD = Method(
    source="Singh, Russell, Wensing 2022, over the composite bodies of Saha, (15a)-(16)",
    functions={
        "inverse_dynamics_derivatives": inverse_dynamics_derivatives,  # (D1)-(D12)
        "forward_dynamics_derivatives": forward_dynamics_derivatives,  # (D13), (D14)
    },
    mimic="supported",
)
