"""The three solution steps of SA §B with the articulated bodies: τ̂ = U⁻¹ τ (36)-(37), τ̃ = D⁻¹ τ̂,
θ̈ = U⁻ᵀ τ̃ (38)-(39).
"""

from __future__ import annotations

from collections.abc import Sequence

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector, twist_to_child, wrench_to_parent
from symgen.methods.shared.factor import Factor, Half
from symgen.methods.udut.bodies import Points, centres, decompose, origins


class Decomposition(Factor):
    """M = U D Uᵀ (21) by articulated bodies, with one reference point per link."""

    def __init__(self, linkage: Linkage, points: Points) -> None:
        super().__init__(linkage)
        self.points, self.bodies = points, decompose(linkage, points)

    @property
    def pivots(self) -> list[Scalar]:
        """The m̂_k; det M = Π m̂_k, from (21)."""
        return [body.mass for body in self.bodies]

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return U⁻ᵀ D⁻¹ U⁻¹ b (24); θ̈ for b = τ."""
        return self.back_substitute(self.forward(b)[1])

    def back_substitute(self, half: Sequence[Scalar]) -> list[Scalar]:
        """Return U⁻ᵀ τ̃ for τ̃ = D⁻¹ U⁻¹ b."""
        linkage, tilde = self.linkage, half
        mu: list[tuple[Vector, Vector]] = []
        result = []
        for i, link in enumerate(linkage.links):
            linkage.step(i, "transpose of U, SA (38)-(39)")
            w, v = linkage.zeros, linkage.zeros
            if link.parent >= 0:
                w, v = twist_to_child(link.rotation, self.points.arm[i], *mu[link.parent])  # (39)
            for dof in link.dofs:
                body = self.bodies[dof.index]
                rate = tilde[dof.index] - (body.psi_hat[0].dot(w) + body.psi_hat[1].dot(v))  # (38)
                linkage.name("thetaddot", dof.index, rate)
                w, v = w + body.p[0] * rate, v + body.p[1] * rate  # under (39)
                result.append(rate)
            mu.append((w, v))
        return result

    def forward(self, tau: Sequence[Scalar]) -> Half:
        """Return τ̂ = U⁻¹ τ and τ̃ = D⁻¹ τ̂."""
        linkage, n = self.linkage, len(self.linkage.dofs)
        tauhat = [linkage.zero] * n
        eta = [(linkage.zeros, linkage.zeros) for _ in linkage.links]
        tilde = [linkage.zero] * n
        for i in reversed(range(len(linkage))):
            link = linkage.links[i]
            linkage.step(i, "U and D, SA (36)-(37)")
            eta_n, eta_f = eta[i]
            for dof in reversed(link.dofs):
                k, body = dof.index, self.bodies[dof.index]
                hat = tau[k] - (body.p[0].dot(eta_n) + body.p[1].dot(eta_f))  # (36)
                linkage.name("tauhat", k, hat)
                tauhat[k], tilde[k] = hat, hat * body.inverse
                linkage.name("tautilde", k, tilde[k])
                if link.parent >= 0 or dof.column > 0:
                    eta_n, eta_f = (
                        eta_n + body.psi_hat[0] * hat,
                        eta_f + body.psi_hat[1] * hat,
                    )  # under (37)
            if link.parent >= 0:
                n_p, f_p = wrench_to_parent(link.rotation, self.points.arm[i], eta_n, eta_f)  # (37)
                eta[link.parent] = (eta[link.parent][0] + n_p, eta[link.parent][1] + f_p)
        return tauhat, tilde

    def half_solutions(self, columns: Sequence[Sequence[Scalar]]) -> list[Half]:
        """Return (U⁻¹ b, D⁻¹ U⁻¹ b) of each column b, (24)."""
        return [self.forward(b) for b in columns]


def at_centres(linkage: Linkage) -> Decomposition:
    """Return the decomposition at the mass centres, as in the paper."""
    return Decomposition(linkage, centres(linkage))


def at_origins(linkage: Linkage) -> Decomposition:
    """Return the decomposition at the origins of the link frames."""
    return Decomposition(linkage, origins(linkage))
