"""What a method says of all joints, as the mechanism has it in which some of them follow others: in one place for all methods.

Forces, and what is linear in v, go by Gᵀ entry for entry; positions and the way between two are those of the joints that lead.
What divides by M is reduced before it is taken apart (`symgen.methods.shared.elimination`), and is left as it is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.elimination import full
from symgen.methods.shared.equations import Change
from symgen.methods.shared.factor import Results
from symgen.methods.shared.method import Method, Refusal
from symgen.vocabulary.arrays import Array
from symgen.vocabulary.functions import FUNCTIONS

_WAYS = ("delta",)
"""Results as long as v that are no forces: a way from one position to another."""


@cache
def changes(function: str) -> tuple[Change, ...]:
    """Return the change that reduces a function of all joints to those that lead, or none where the function is no such one."""
    what = FUNCTIONS[function]
    if what.needs_inverse or what.by_pivots or not (what.counts("NV") or what.counts("NQ")):
        return ()

    def reduce(linkage: Linkage, results: Results) -> Results:
        if not linkage.coupling.couples:
            return results
        linkage.home.step("joints that follow others: what their leaders feel")
        return tuple(
            _reduced(linkage, array, entries)
            for array, entries in zip(what.results, results, strict=True)
        )

    return (reduce,)


def _reduced(linkage: Linkage, what: Array, entries: list[Scalar]) -> list[Scalar]:
    coupling, n = linkage.coupling, len(linkage.dofs)
    if what.shape == ("NQ",):
        return coupling.places(entries)
    if what.name in _WAYS:
        return coupling.leading(entries)
    if what.shape == ("NV", "NV"):
        return _reduced_matrix(linkage, entries)
    if what.shape[:1] == ("NV",):
        width = len(entries) // n
        columns = [coupling.felt(entries[c::width]) for c in range(width)]
        entries = [column[r] for r in range(len(linkage.own)) for column in columns]
    if what.shape[1:] == ("NV",):
        entries = [
            x for r in range(len(entries) // n) for x in coupling.felt(entries[r * n : (r + 1) * n])
        ]
    return entries


def _reduced_matrix(linkage: Linkage, entries: list[Scalar]) -> list[Scalar]:
    """Gᵀ X G, row-major; of a symmetric X one triangle is reduced."""
    coupling, n = linkage.coupling, len(linkage.dofs)
    if (lower := _lower(linkage, entries)) is not None:
        return full(linkage, coupling.triangle(lower))
    rows = coupling.felt_both([entries[r * n : (r + 1) * n] for r in range(n)])
    return [x for row in rows for x in row]


def _lower(linkage: Linkage, entries: Sequence[Scalar]) -> list[dict[int, Scalar]] | None:
    """The lower triangle of a matrix whose entries are the same on both sides of the diagonal; None of another."""
    n = len(linkage.dofs)
    if any(entries[i * n + j] is not entries[j * n + i] for i in range(n) for j in range(i)):
        return None
    return [
        {j: entries[i * n + j] for j in range(i + 1) if not entries[i * n + j].is_zero}
        for i in range(n)
    ]


def suiting(name: str, method: Method) -> Refusal:
    """The refusal of a method, which may go along a tree in which no joint hangs on another, or be for joints that follow."""

    def along_the_tree(mechanism: Mechanism) -> str | None:
        if not mechanism.coupled:
            return method.refusal(mechanism)
        follower = next(
            one.name
            for one, follows in zip(mechanism.joints, mechanism.follows, strict=True)
            if follows
        )
        return (
            f"{name} goes along the tree joint by joint, and in '{mechanism.name}' joint '{follower}' follows another; take "
            "composite_body, or read mimic joints as independent"
        )

    def where_joints_follow(mechanism: Mechanism) -> str | None:
        if mechanism.coupled:
            return method.refusal(mechanism)
        return f"{name} is for joints that follow others, and no joint of '{mechanism.name}' does; take another method"

    return (
        where_joints_follow
        if method.mimic_only
        else method.refusal
        if method.supports_mimic
        else along_the_tree
    )
