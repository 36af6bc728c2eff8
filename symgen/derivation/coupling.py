"""Joints that follow others: q = G q_r + q_0, of which the derivation lays out every joint and the C has the entries of q_r.

Forces reduce by Gᵀ, velocities and accelerations spread by G: a function of all joints at G q_r + q_0, G v_r and G a_r becomes
one of the mechanism that is coupled, M being Gᵀ M G. Entries that are zero by structure stay so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

from symgen.derivation.scalars import Derivation, Scalar
from symgen.mechanism.mechanism import Mechanism

T = TypeVar("T")
PLACES, RATES = ("q", "q_next"), ("v", "a")
"""Arguments that have an entry for each coordinate, and for each velocity, of the joints that lead."""
Square = list[list[Scalar]]
Triangle = list[dict[int, Scalar]]
"""A symmetric matrix by rows: {j: entry} for j up to the row's own number, without those that are zero by structure."""


class Coupling:
    """Of a mechanism in which no joint follows another: all stays as it is."""

    couples = False

    @staticmethod
    def of(mechanism: Mechanism) -> Coupling:
        """That of a mechanism, coupled or not."""
        return Followers(mechanism) if mechanism.coupled else APART

    def spread(self, home: Derivation) -> Mapping[str, list[Scalar]]:
        """The arguments of a derivation, those of PLACES and RATES for all joints."""
        return home.inputs

    def places(self, entries: Sequence[Scalar]) -> list[Scalar]:
        """Of the coordinates of all joints, those of the joints that lead."""
        return list(entries)

    def leading(self, dofs: Sequence[T]) -> list[T]:
        """Likewise of what there is for each velocity."""
        return list(dofs)

    def followed(self, rates: Sequence[Scalar]) -> list[Scalar]:
        """G v_r."""
        return list(rates)

    def felt(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Gᵀ times the forces of all joints."""
        return list(forces)

    def felt_both(self, rows: Sequence[Sequence[Scalar]]) -> Square:
        """Gᵀ X G of a square of all joints."""
        return [list(row) for row in rows]

    def triangle(self, rows: Triangle) -> Triangle:
        """Gᵀ M G by its lower triangle, from that of M."""
        return rows


APART = Coupling()


class Term(NamedTuple):
    """A row of G and q_0: multiplier · entry `of` + offset."""

    of: int
    multiplier: Fraction
    offset: Fraction = Fraction(0)


class Followers(Coupling):
    """G and q_0 of a mechanism in which joints follow others."""

    couples = True

    def __init__(self, mechanism: Mechanism) -> None:
        whole = mechanism.uncoupled
        self.q, self.v = _rows(mechanism, mechanism.q_slices), _rows(mechanism, mechanism.v_slices)
        """Of every entry of the q and v of all joints."""
        self.own_q, self.own_v = (
            _own(whole.q_slices, mechanism.q_slices),
            _own(whole.v_slices, mechanism.v_slices),
        )
        """Of every entry of q_r and v_r, which it is among those of all joints."""

    def spread(self, home: Derivation) -> Mapping[str, list[Scalar]]:
        """See `Coupling`; what follows is named after its place among all joints, from 1."""
        home.step("joints that follow others")
        found = dict(home.inputs)
        for name in (one for one in PLACES if one in found):
            places = [
                at + home.constant(row.offset)
                for at, row in zip(_spread(found[name], self.q), self.q, strict=True)
            ]
            found[name] = [home.name(f"{name}_{i + 1}", place) for i, place in enumerate(places)]
        for name in (one for one in RATES if one in found):
            found[name] = [
                home.name(f"{name}_{i + 1}", rate)
                for i, rate in enumerate(_spread(found[name], self.v))
            ]
        return found

    def places(self, entries: Sequence[Scalar]) -> list[Scalar]:
        return [entries[k] for k in self.own_q]

    def leading(self, dofs: Sequence[T]) -> list[T]:
        return [dofs[k] for k in self.own_v]

    def followed(self, rates: Sequence[Scalar]) -> list[Scalar]:
        return _spread(rates, self.v)

    def felt(self, forces: Sequence[Scalar]) -> list[Scalar]:
        found = [force.home.zero for force in self.leading(forces)]
        for row, force in zip(self.v, forces, strict=True):
            found[row.of] = found[row.of] + _times(force, row.multiplier)
        return found

    def felt_both(self, rows: Sequence[Sequence[Scalar]]) -> Square:
        columns = [self.felt(column) for column in zip(*rows, strict=True)]
        return [self.felt(row) for row in zip(*columns, strict=True)]

    def triangle(self, rows: Triangle) -> Triangle:
        """See `Coupling`. Between two joints with one leader an entry stands on both sides of the diagonal."""
        members: list[list[int]] = [[] for _ in self.own_v]
        for i, row in enumerate(self.v):
            members[row.of].append(i)
        found: Triangle = []
        for a, first in enumerate(members):
            found.append({})
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
                    found[a][b] = _sum(terms)
        return found


def _spread(entries: Sequence[Scalar], rows: Sequence[Term]) -> list[Scalar]:
    """G times the entries of the joints that lead."""
    return [_times(entries[row.of], row.multiplier) for row in rows]


def _times(x: Scalar, number: Fraction | int) -> Scalar:
    return x * x.home.constant(number)


def _sum(terms: Sequence[Scalar]) -> Scalar:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _rows(mechanism: Mechanism, slices: Sequence[slice]) -> list[Term]:
    found = []
    for follows, own in zip(mechanism.follows, slices, strict=True):
        if follows is None:
            found += [Term(k, Fraction(1)) for k in range(own.start, own.stop)]
        else:
            found.append(Term(slices[follows.leader].start, follows.multiplier, follows.offset))
    return found


def _own(every: Sequence[slice], slices: Sequence[slice]) -> list[int]:
    return [
        one.start + k
        for one, own in zip(every, slices, strict=True)
        for k in range(own.stop - own.start)
    ]
