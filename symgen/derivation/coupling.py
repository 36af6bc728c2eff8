"""Mimic joints: q = G q_r + q_0. A derivation lays out all joints, and the C has the entries q_r of
the leaders.

Forces are reduced by Gᵀ, velocities and accelerations expanded by G. A function of all joints at G
q_r + q_0, G v_r and G a_r becomes a function of the coupled mechanism, with the mass matrix Gᵀ M G.
Entries that are zero by structure stay zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

from symgen.derivation.scalars import Derivation, Scalar
from symgen.mechanism.mechanism import Mechanism

T = TypeVar("T")
POSITIONS, RATES = ("q", "q_next"), ("v", "a")
"""Arguments with one entry per coordinate, and per velocity, of the leaders."""
Square = list[list[Scalar]]
Triangle = list[dict[int, Scalar]]
"""A symmetric matrix by rows: {j: entry} for j up to the row's index, without entries that are zero
by structure.
"""


class Coupling:
    """Coupling of a mechanism without mimic joints: G is the identity."""

    has_mimic_joints = False

    @staticmethod
    def of(mechanism: Mechanism) -> Coupling:
        """Return the coupling of a mechanism."""
        return MimicCoupling(mechanism) if mechanism.coupled else UNCOUPLED

    def expand_inputs(self, derivation: Derivation) -> Mapping[str, list[Scalar]]:
        """Return the arguments of a derivation, with those of POSITIONS and RATES expanded to all
        joints.
        """
        return derivation.inputs

    def leader_positions(self, entries: Sequence[Scalar]) -> list[Scalar]:
        """Return the leaders' coordinates from those of all joints."""
        return list(entries)

    def leader_entries(self, dofs: Sequence[T]) -> list[T]:
        """Return the leaders' entries from one entry per velocity of all joints."""
        return list(dofs)

    def expand_rates(self, rates: Sequence[Scalar]) -> list[Scalar]:
        """Return G v_r."""
        return list(rates)

    def reduce_forces(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return Gᵀ times the forces of all joints."""
        return list(forces)

    def reduce_square(self, rows: Sequence[Sequence[Scalar]]) -> Square:
        """Return Gᵀ X G of a square matrix of all joints."""
        return [list(row) for row in rows]

    def reduce_triangle(self, rows: Triangle) -> Triangle:
        """Return the lower triangle of Gᵀ M G from that of M."""
        return rows


UNCOUPLED = Coupling()


class Term(NamedTuple):
    """A row of G and q_0: multiplier · entry `leader` + offset."""

    leader: int
    multiplier: Fraction
    offset: Fraction = Fraction(0)


class MimicCoupling(Coupling):
    """Coupling of a mechanism with mimic joints."""

    has_mimic_joints = True

    def __init__(self, mechanism: Mechanism) -> None:
        all_joints = mechanism.uncoupled
        self.q, self.v = _rows(mechanism, mechanism.q_slices), _rows(mechanism, mechanism.v_slices)
        """A row of G for each entry of q and v of all joints."""
        self.leader_q, self.leader_v = (
            _leader_indices(all_joints.q_slices, mechanism.q_slices),
            _leader_indices(all_joints.v_slices, mechanism.v_slices),
        )
        """Index of each entry of q_r and v_r among the entries of all joints."""

    def expand_inputs(self, derivation: Derivation) -> Mapping[str, list[Scalar]]:
        """See `Coupling.expand_inputs`. Expanded entries are named by their index among all joints,
        from 1.
        """
        derivation.step("mimic joints: values of the followers from those of their leaders")
        arguments = dict(derivation.inputs)
        for name in (name for name in POSITIONS if name in arguments):
            positions = [
                scaled + derivation.constant(row.offset)
                for scaled, row in zip(_expand(arguments[name], self.q), self.q, strict=True)
            ]
            arguments[name] = [
                derivation.name(f"{name}_{i + 1}", position) for i, position in enumerate(positions)
            ]
        for name in (name for name in RATES if name in arguments):
            arguments[name] = [
                derivation.name(f"{name}_{i + 1}", rate)
                for i, rate in enumerate(_expand(arguments[name], self.v))
            ]
        return arguments

    def leader_positions(self, entries: Sequence[Scalar]) -> list[Scalar]:
        return [entries[k] for k in self.leader_q]

    def leader_entries(self, dofs: Sequence[T]) -> list[T]:
        return [dofs[k] for k in self.leader_v]

    def expand_rates(self, rates: Sequence[Scalar]) -> list[Scalar]:
        return _expand(rates, self.v)

    def reduce_forces(self, forces: Sequence[Scalar]) -> list[Scalar]:
        reduced = [force.derivation.zero for force in self.leader_entries(forces)]
        for row, force in zip(self.v, forces, strict=True):
            reduced[row.leader] = reduced[row.leader] + _times(force, row.multiplier)
        return reduced

    def reduce_square(self, rows: Sequence[Sequence[Scalar]]) -> Square:
        columns = [self.reduce_forces(column) for column in zip(*rows, strict=True)]
        return [self.reduce_forces(row) for row in zip(*columns, strict=True)]

    def reduce_triangle(self, rows: Triangle) -> Triangle:
        """See `Coupling.reduce_triangle`. An entry between two joints with one leader counts on
        both sides of the diagonal.
        """
        members: list[list[int]] = [[] for _ in self.leader_v]
        for i, row in enumerate(self.v):
            members[row.leader].append(i)
        reduced: Triangle = []
        for a, first in enumerate(members):
            reduced.append({})
            for b, second in enumerate(members[: a + 1]):
                terms = []
                for i in first:
                    inner = [
                        _times(
                            rows[max(i, j)][min(i, j)],
                            self.v[j].multiplier * (2 if a == b and i != j else 1),
                        )
                        for j in second
                        if min(i, j) in rows[max(i, j)] and (a != b or j <= i)
                    ]
                    terms += [_times(_sum(inner), self.v[i].multiplier)] if inner else []
                if terms:
                    reduced[a][b] = _sum(terms)
        return reduced


def _expand(entries: Sequence[Scalar], rows: Sequence[Term]) -> list[Scalar]:
    """Return G times the entries of the leaders."""
    return [_times(entries[row.leader], row.multiplier) for row in rows]


def _times(x: Scalar, number: Fraction | int) -> Scalar:
    return x * x.derivation.constant(number)


def _sum(terms: Sequence[Scalar]) -> Scalar:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _rows(mechanism: Mechanism, slices: Sequence[slice]) -> list[Term]:
    rows = []
    for coupling, entries in zip(mechanism.joint_couplings, slices, strict=True):
        if coupling is None:
            rows += [Term(k, Fraction(1)) for k in range(entries.start, entries.stop)]
        else:
            rows.append(Term(slices[coupling.leader].start, coupling.multiplier, coupling.offset))
    return rows


def _leader_indices(all_slices: Sequence[slice], leader_slices: Sequence[slice]) -> list[int]:
    return [
        joint_slice.start + k
        for joint_slice, leader_slice in zip(all_slices, leader_slices, strict=True)
        for k in range(leader_slice.stop - leader_slice.start)
    ]
