"""∂τ/∂q, ∂τ/∂v and M by one recursion over composite bodies, after Singh, Russell and Wensing 2022, and ∂a/∂q, ∂a/∂v from them.
The equations (D1)-(D14) are symgen's own.

Displace a joint by a column S = (z, s) of its motion subspace: all that it carries goes along as one rigid body. In axes that go
along too, nothing changes but the motion of the joint's own parent, as the body sees it: its twist V' = (ω', v') and its field of
acceleration a' + U' x, both at the origin of the link. A point x of what is carried, at the velocity V(x), then changes

    its velocity by the twist Ψ̇ = V' × S = (ω' × z, ω' × s + v' × z),                                                     (D1)
    its acceleration by 2 Ψ̇_ang × V(x) and the twist Ψ̈ = (U' z, U' s + a' × z + 2 v' × (ω' × z)).                         (D2)

A rate of the joint in its place changes the velocity by S and the acceleration by

    2 z × V(x) and the twist Ψ̇ + Φ̇,    Φ̇ = V × S,                                                                         (D3)

V being the link's own: where the joint has one degree of freedom, Φ̇ = Ψ̇. An acceleration of the joint changes it by S. So two
kinds of wrench have to be summed over a composite body of mass m̃ and moments h̃, Σ̃: that of a twist of acceleration, which M̃
gives (SA (15a-c)), and that of 2 w × V(x), which is

    B(w) = ((tr K − K) w, w × p),    K = 2 ∫ρ V xᵀ,    p = 2 ∫ρ V.                                                         (D4)

K and p of a body are v hᵀ + [ω]× Σ and m v + ω × h by twice its twist (ω, v). The parent takes them as R K Rᵀ + (R p) ℓᵀ and
R p. Here only

    K and p of what moves within the composite body, against its link,                                                    (D5)

are carried: each joint on the way adds those of the body that it moves. The rest of K, where the body is frozen, is put into
closed form. No force hangs on who looks on, as long as he is not accelerated: let the origin of the link in question not pass
him. So v = 0, and v' = −u with J = (w, u) = H v the twist across the joint. With Ω = 2 ω these are the wrenches of a degree of
freedom, that of an acceleration, of a rate, of a displacement, and the one that is felt by whom others move:

    t1 = M̃ S                                                                                                              (D6)
    t3 = (Σ̃ Ω × z + h̃ × (Ω × s), Ω × (z × h̃ + m̃ s)) − M̃ (J × S) + B(z)                                                     (D7)
    t2 = the wrench that moves the change of the body, δh̃ = z × h̃ + m̃ s and δΣ̃ = [z]× Σ̃ + s h̃ᵀ and its mirror, as its link
         moves, + B(Ψ̇_ang) + S ×* W                                                                                        (D8)
    t4 = Bᵀ(S) + Σ̃ (Ω × z) + (Ω × h̃) × s,    Bᵀ(S) = (tr K − Kᵀ) z + p × s                                                 (D9)

K and p being those of (D5). In (D7) Coriolis's acceleration is left, of a point that moves at z × x + s in axes that turn. W is
what the joints beyond add to the wrench across the joint: each the acceleration 2 ω̂ × (w × x + u) with (w, u) its J and ω̂
halfway, and H a, of the body that it carries (`composite_body:bias` has the first as 4 (Γ + δw)). Loads are taken off. Where a
joint has several degrees of freedom, which turn each other, t2 is M̃ Ψ̈ + B(Ψ̇_ang) of the whole K, and S ×* of the whole wrench
is added only for what carries the joint: within it the axes go along.

Wrenches go inward to every degree of freedom j, of the same link or one that carries it. t4 is a couple, and turns. What passes
the next origin is something else, so that t4 goes from a link to its parent, whose ω is ω_λ, as

    R (t4 − 2 f × u) − R f × (2 ω_λ × ℓ),    f the force of t1.                                                           (D10)

There M and the derivatives are

    M_jk = S_j · t1,    ∂τ_j/∂q_k = S_j · t2,    ∂τ_j/∂v_k = S_j · t3                                                      (D11)
    ∂τ_k/∂q_j = t4 · Ψ̇_j,ang + t1 · Ψ̈_j,    ∂τ_k/∂v_j = t4 · z_j + t1 · (Ψ̇ + Φ̇)_j                                         (D12)

A wrench at run time stands in the axes of its link and goes along with it. It is in W alone.

∂FD is −M⁻¹ ∂ID at the acceleration that the forces cause. ∂τ/∂v hangs on no acceleration. What c has of v is quadratic in v,
which is half of its derivative along v. So c needs no sweep of its own:

    c = ½ ∂τ/∂v v + g − Jᵀ wrench                                                                                         (D13)
    ∂a/∂q = −M⁻¹ ∂τ/∂q at a = M⁻¹ (τ − c),    ∂a/∂v = −M⁻¹ ∂τ/∂v                                                           (D14)
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
