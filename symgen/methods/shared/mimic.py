"""Reduction of a method's results from all joints to the leaders of mimic joints, for all methods.

Forces, and results linear in v, are reduced by Gᵀ. Positions and their differences are selected at
the leaders. Functions that divide by M need no change here: they reduce M before it is factored
(`symgen.methods.shared.elimination`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.elimination import full_matrix
from symgen.methods.shared.equations import Change
from symgen.methods.shared.factor import Results
from symgen.methods.shared.method import Method, Refusal
from symgen.vocabulary.arrays import Array
from symgen.vocabulary.functions import FUNCTIONS

_POSITION_DIFFERENCES = ("delta",)
"""Results with one entry per velocity that are no forces: differences of positions."""


@cache
def changes(function: str) -> tuple[Change, ...]:
    """Return the change that reduces a function's results to the leaders, or () if the function
    needs none.
    """
    declared = FUNCTIONS[function]
    if (
        declared.needs_inverse
        or declared.by_pivots
        or not (declared.counts("NV") or declared.counts("NQ"))
    ):
        return ()

    def reduce(linkage: Linkage, results: Results) -> Results:
        if not linkage.coupling.has_mimic_joints:
            return results
        linkage.derivation.step("mimic joints: forces on the leaders")
        return tuple(
            _reduce(linkage, array, entries)
            for array, entries in zip(declared.results, results, strict=True)
        )

    return (reduce,)


def _reduce(linkage: Linkage, array: Array, entries: list[Scalar]) -> list[Scalar]:
    coupling, n = linkage.coupling, len(linkage.dofs)
    if array.shape == ("NQ",):
        return coupling.leader_positions(entries)
    if array.name in _POSITION_DIFFERENCES:
        return coupling.leader_entries(entries)
    if array.shape == ("NV", "NV"):
        return _reduce_matrix(linkage, entries)
    if array.shape[:1] == ("NV",):
        width = len(entries) // n
        columns = [coupling.reduce_forces(entries[c::width]) for c in range(width)]
        entries = [column[r] for r in range(len(linkage.leader_dofs)) for column in columns]
    if array.shape[1:] == ("NV",):
        entries = [
            x
            for r in range(len(entries) // n)
            for x in coupling.reduce_forces(entries[r * n : (r + 1) * n])
        ]
    return entries


def _reduce_matrix(linkage: Linkage, entries: list[Scalar]) -> list[Scalar]:
    """Return Gᵀ X G, row-major; of a symmetric X only the lower triangle is reduced."""
    coupling, n = linkage.coupling, len(linkage.dofs)
    if (lower := _lower(linkage, entries)) is not None:
        return full_matrix(linkage, coupling.reduce_triangle(lower))
    rows = coupling.reduce_square([entries[r * n : (r + 1) * n] for r in range(n)])
    return [x for row in rows for x in row]


def _lower(linkage: Linkage, entries: Sequence[Scalar]) -> list[dict[int, Scalar]] | None:
    """Return the lower triangle if the entries are mirrored at the diagonal, else None."""
    n = len(linkage.dofs)
    if any(entries[i * n + j] is not entries[j * n + i] for i in range(n) for j in range(i)):
        return None
    return [
        {j: entries[i * n + j] for j in range(i + 1) if not entries[i * n + j].is_zero}
        for i in range(n)
    ]


def mimic_refusal(name: str, method: Method) -> Refusal:
    """Return the refusal of a method, extended by whether the method supports or requires mimic
    joints.
    """

    def refuse_mimic_joints(mechanism: Mechanism) -> str | None:
        if not mechanism.coupled:
            return method.refusal(mechanism)
        follower = next(
            joint.name
            for joint, coupling in zip(mechanism.joints, mechanism.joint_couplings, strict=True)
            if coupling
        )
        return (
            f"{name} does not support mimic joints, and joint '{follower}' of '{mechanism.name}'"
            " mimics another; use composite_body, or read mimic joints as independent"
        )

    def require_mimic_joints(mechanism: Mechanism) -> str | None:
        if mechanism.coupled:
            return method.refusal(mechanism)
        return f"{name} requires mimic joints, and '{mechanism.name}' has none; use another method"

    return (
        require_mimic_joints
        if method.mimic_only
        else method.refusal
        if method.supports_mimic
        else refuse_mimic_joints
    )
