"""Articulated bodies at the mass centres, SA (4), (12), (32)-(35): the recursion that `udut` solves with and is read from.

Quantities of link i stand in its own axes at C_i. Sums over "i + 1" run over the links that link i carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from symgen.derivation.closed_forms import joint_form, joint_vector
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar, lower
from symgen.derivation.spatial import STILL, ArticulatedInertia, Symmetric, Vector


@dataclass(frozen=True)
class ArticulatedBody:
    """Of degree of freedom i: M̂_i,i+1, p_i, ψ_i = M̂ p_i, m̂_i, 1/m̂_i and ψ̂_i = ψ_i / m̂_i, at the point of its link.

    The paper's joints have one degree each. A joint of several is so many in a row, with B = 1 between them.
    """

    M: ArticulatedInertia
    p: tuple[Vector, Vector]
    psi: tuple[Vector, Vector]
    mass: Scalar
    inverse: Scalar
    psi_hat: tuple[Vector, Vector]


@dataclass(frozen=True)
class Points:
    """The links' points: `d[i]` from joint i in link axes, `arm[i]` from the parent's point in the parent's axes."""

    d: list[Vector]
    arm: list[Vector]


def centres(linkage: Linkage) -> Points:
    """The mass centres: d_i and −c_ij of Fig. 1."""
    d = [linkage.center(i) for i in range(len(linkage))]
    arm = []
    for i, link in enumerate(linkage.links):
        linkage.step(i, "from mass centre to mass centre, SA Fig. 1")
        inner = d[link.parent] if link.parent >= 0 else linkage.zeros
        arm.append(link.shift + link.rotation.to_parent(d[i]) - inner)
        linkage.name("c", i, arm[i])
    return Points(d, arm)


def origins(linkage: Linkage) -> Points:
    """The origins of the link frames, on the axes of the joints."""
    return Points([linkage.zeros] * len(linkage), [link.shift for link in linkage.links])


@cache
def _joint_vector(kind: str) -> tuple[Any, Any]:
    """p of a joint type, and the symbols of d in it."""
    import sympy as sp

    symbols = sp.symbols("d_x d_y d_z", real=True)
    return joint_vector(joint_form(kind).motion_subspace, symbols), symbols


def joint_twists(linkage: Linkage, at: Points) -> list[tuple[Vector, Vector]]:
    """p_i = [e_i; e_i × d_i] (4) of every degree of freedom, lowered from the closed form of the joint's type."""
    found = []
    for dof in linkage.dofs:
        form, symbols = _joint_vector(linkage.model.links[dof.link].kind)
        bindings = {**linkage.declared(dof.link), **dict(zip(symbols, at.d[dof.link], strict=True))}
        p = [lower(entry, bindings, linkage.home) for entry in form[:, dof.column]]
        found.append((Vector(p[:3]), Vector(p[3:])))
    return found


def decompose(linkage: Linkage, at: Points) -> list[ArticulatedBody]:
    """k = n … 1: (32)-(35)."""
    twists = joint_twists(linkage, at)
    after: dict[int, ArticulatedInertia] = {}
    found: dict[int, ArticulatedBody] = {}
    for i in reversed(range(len(linkage))):
        linkage.step(i, "articulated body, SA (32)-(35)")
        M = linkage.inertia[i].to_parent(STILL, -at.d[i]).articulated()  # (12)
        for c in linkage.links[i].children:
            M = M + after[c].to_parent(linkage.links[c].rotation, at.arm[c])  # (35)
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
            found[k] = ArticulatedBody(M, twists[k], (psi_n, psi_f), mass, inverse, (hat_n, hat_f))
            M = _without(M, hat_n, hat_f, psi_n, psi_f)  # M̂_kk under (35)
        after[i] = M
    return [found[k] for k in range(len(found))]


def _without(
    M: ArticulatedInertia, hat_n: Vector, hat_f: Vector, psi_n: Vector, psi_f: Vector
) -> ArticulatedInertia:
    """M̂ − ψ̂ ψᵀ."""

    def outer(a: Vector, b: Vector) -> Symmetric:
        return Symmetric(
            a[0] * b[0], a[0] * b[1], a[0] * b[2], a[1] * b[1], a[1] * b[2], a[2] * b[2]
        )

    B = tuple(row - psi_f * hat for row, hat in zip(M.B, hat_n, strict=True))
    return ArticulatedInertia(
        M.A - outer(hat_n, psi_n), (B[0], B[1], B[2]), M.C - outer(hat_f, psi_f)
    )
