"""Articulated bodies at the mass centres, SA (4), (12), (32)-(35): the recursion of `udut` and of
its inspectable quantities.

Quantities of link i are in its own axes at C_i. Sums over "i + 1" run over the children of link i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from symgen.derivation.closed_forms import joint_form, joint_vector
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar, lower
from symgen.derivation.spatial import NO_ROTATION, ArticulatedInertia, Symmetric, Vector


@dataclass(frozen=True)
class ArticulatedBody:
    """Articulated body of degree of freedom i: M̂_i,i+1, p_i, ψ_i = M̂ p_i, m̂_i, 1/m̂_i and ψ̂_i =
    ψ_i / m̂_i.

    The reference point is that of its link. The paper's joints have one degree of freedom each; a
    joint with several is treated as that many joints in series, with B = 1 between them.
    """

    M: ArticulatedInertia
    p: tuple[Vector, Vector]
    psi: tuple[Vector, Vector]
    mass: Scalar
    inverse: Scalar
    psi_hat: tuple[Vector, Vector]


@dataclass(frozen=True)
class Points:
    """Reference points of the links: `d[i]` from joint i in link axes, `arm[i]` from the parent's
    point in the parent's axes.
    """

    d: list[Vector]
    arm: list[Vector]


def centres(linkage: Linkage) -> Points:
    """Return the mass centres: d_i and −c_ij of Fig. 1."""
    d = [linkage.center(i) for i in range(len(linkage))]
    arm = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "from mass centre to mass centre, SA Fig. 1")
        inner = d[link.parent] if link.parent >= 0 else linkage.zeros
        arm.append(link.shift + link.rotation.to_parent(d[i]) - inner)
        linkage.name("c", i, arm[i])
    return Points(d, arm)


def origins(linkage: Linkage) -> Points:
    """Return the origins of the link frames, on the axes of the joints."""
    return Points([linkage.zeros] * len(linkage), [link.shift for link in linkage.links])


@cache
def _joint_vector(kind: str) -> tuple[Any, Any]:
    """Return p of a joint type, and the symbols of d in it."""
    import sympy as sp

    symbols = sp.symbols("d_x d_y d_z", real=True)
    return joint_vector(joint_form(kind).motion_subspace, symbols), symbols


def joint_twists(linkage: Linkage, points: Points) -> list[tuple[Vector, Vector]]:
    """Return p_i = [e_i; e_i × d_i] (4) of each degree of freedom, from the closed form of the
    joint's type.
    """
    twists = []
    for dof in linkage.dofs:
        form, symbols = _joint_vector(linkage.model.links[dof.link].kind)
        bindings = {
            **linkage.joint_parameters(dof.link),
            **dict(zip(symbols, points.d[dof.link], strict=True)),
        }
        p = [lower(entry, bindings, linkage.derivation) for entry in form[:, dof.column]]
        twists.append((Vector(p[:3]), Vector(p[3:])))
    return twists


def decompose(linkage: Linkage, points: Points) -> list[ArticulatedBody]:
    """Return the articulated bodies of all degrees of freedom, k = n … 1: (32)-(35)."""
    twists = joint_twists(linkage, points)
    after: dict[int, ArticulatedInertia] = {}
    bodies: dict[int, ArticulatedBody] = {}
    for i in reversed(range(len(linkage))):
        linkage.step(i, "articulated body, SA (32)-(35)")
        M = linkage.inertia[i].to_parent(NO_ROTATION, -points.d[i]).articulated()  # (12)
        for c in linkage.links[i].children:
            M = M + after[c].to_parent(linkage.links[c].rotation, points.arm[c])  # (35)
        linkage.name("Mhat", i, M.A)
        for dof in reversed(linkage.links[i].dofs):
            k = dof.index
            p_w, p_v = twists[k]
            psi_n, psi_f = M.apply(p_w, p_v)  # (32)
            linkage.name("psi", k, Vector([*psi_n, *psi_f]))
            mass = p_w.dot(psi_n) + p_v.dot(psi_f) + linkage.drives[k].armature  # (32), and a rotor
            linkage.name("mhat", k, mass)
            inverse = linkage.one / mass
            hat_n, hat_f = psi_n * inverse, psi_f * inverse  # (33)
            linkage.name("psihat", k, Vector([*hat_n, *hat_f]))
            bodies[k] = ArticulatedBody(M, twists[k], (psi_n, psi_f), mass, inverse, (hat_n, hat_f))
            M = _rank_one_update(M, hat_n, hat_f, psi_n, psi_f)  # M̂_kk under (35)
        after[i] = M
    return [bodies[k] for k in range(len(bodies))]


def _rank_one_update(
    M: ArticulatedInertia, hat_n: Vector, hat_f: Vector, psi_n: Vector, psi_f: Vector
) -> ArticulatedInertia:
    """Return M̂ − ψ̂ ψᵀ."""

    def outer(a: Vector, b: Vector) -> Symmetric:
        return Symmetric(
            a[0] * b[0], a[0] * b[1], a[0] * b[2], a[1] * b[1], a[1] * b[2], a[2] * b[2]
        )

    B = tuple(row - psi_f * hat for row, hat in zip(M.B, hat_n, strict=True))
    return ArticulatedInertia(
        M.A - outer(hat_n, psi_n), (B[0], B[1], B[2]), M.C - outer(hat_f, psi_f)
    )
