"""Mimic joints, q_full = G q + q_0: the leader of each follower, and the range that the followers
leave to their leader.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from symgen.support.errors import MechanismError

LEAST = Fraction(1, 10**30)
"""Least magnitude of a multiplier; 1/LEAST is the largest. Values beyond are no gear and would
overflow a double.
"""


@dataclass(frozen=True)
class Mimic:
    """A declared coupling q = multiplier·q[joint] + offset. It is read and reported, and applied
    only on request.
    """

    joint: str
    multiplier: Fraction
    offset: Fraction


class JointCoupling(NamedTuple):
    """The coupling q = multiplier·q[leader] + offset, where `leader` is the index of a joint with a
    coordinate of its own.
    """

    leader: int
    multiplier: Fraction
    offset: Fraction

    def of(self, leader: str) -> str:
        """Return the follower's coordinate as an expression in the leader's, such as "0.75*q[2] +
        0.05".
        """
        scaled = {Fraction(1): leader, Fraction(-1): f"-{leader}"}.get(
            self.multiplier, f"{float(self.multiplier):.12g}*{leader}"
        )
        return scaled + (
            f" {'+' if self.offset > 0 else '-'} {abs(float(self.offset)):.12g}"
            if self.offset
            else ""
        )


def mimic_chain(
    start: str, mimics: Mapping[str, Mimic | None], resolved: Container[str] = ()
) -> tuple[list[str], list[str]]:
    """Return (chain, circle) of mimic joints: the followers from `start` on, and their circle if
    the chain closes.

    The chain ends at a leader or at a joint in `resolved`. A circle repeats its first joint at the
    end; otherwise it is empty.
    """
    chain: dict[str, None] = {}
    joint, mimic = start, mimics.get(start)
    while mimic is not None and joint not in resolved:
        chain[joint] = None
        joint = mimic.joint
        if joint in chain:
            return list(chain), [*list(chain)[list(chain).index(joint) :], joint]
        mimic = mimics.get(joint)
    return list(chain), []


def resolve_mimics(
    robot: str, joints: Sequence[tuple[str, Mimic | None, bool]]
) -> tuple[JointCoupling | None, ...]:
    """Return the coupling of each joint to its final leader; None for a joint that follows no
    other.

    A joint is given by (name, mimic, True if it has one degree of freedom). Chains of followers are
    composed. Raises MechanismError for a circle, a leader that does not move, a joint with several
    degrees of freedom, and a multiplier of zero.
    """
    index_of = {name: index for index, (name, _, _) in enumerate(joints)}
    mimics = {name: mimic for name, mimic, _ in joints}
    couplings: dict[str, JointCoupling | None] = {
        name: None for name, mimic in mimics.items() if mimic is None
    }
    for name in mimics:
        chain, circle = mimic_chain(name, mimics, couplings)
        for follower in reversed(chain):
            mimic = mimics[follower]
            assert mimic is not None
            subject = f"{robot}: joint '{follower}' mimics '{mimic.joint}'"
            if circle:
                raise MechanismError(
                    f"{subject}, in a circle ({' → '.join(circle)}); make one of them independent"
                )
            if mimic.joint not in index_of:
                raise MechanismError(
                    f"{subject}, which is not a moving joint; lock both, or read them with --mimic"
                    " independent"
                )
            if not joints[index_of[follower]][2] or not joints[index_of[mimic.joint]][2]:
                raise MechanismError(
                    f"{subject}, and both must have one degree of freedom; read them with --mimic"
                    " independent"
                )
            if not mimic.multiplier:
                raise MechanismError(
                    f"{subject} with a multiplier of zero and so never moves; lock it at its offset"
                )
            couplings[follower] = _compose(
                mimic,
                couplings[mimic.joint]
                or JointCoupling(index_of[mimic.joint], Fraction(1), Fraction(0)),
                subject,
            )
    return tuple(couplings[name] for name, _, _ in joints)


def _compose(mimic: Mimic, leader_coupling: JointCoupling, subject: str) -> JointCoupling:
    """Return the coupling of a follower whose leader has the coupling `leader_coupling`."""
    composed = JointCoupling(
        leader_coupling.leader,
        mimic.multiplier * leader_coupling.multiplier,
        mimic.multiplier * leader_coupling.offset + mimic.offset,
    )
    if not LEAST < abs(composed.multiplier) < 1 / LEAST or abs(composed.offset) > 1 / LEAST:
        raise MechanismError(
            f"{subject}, and its multiplier or offset with respect to its leader is outside"
            f" {float(LEAST):g} to {float(1 / LEAST):g}; look for a misplaced exponent or unit"
        )
    return composed


Range = tuple[Fraction | None, Fraction | None]


def leader_range(coupling: JointCoupling, limits: Range) -> Range:
    """Return a follower's range as a range of its leader's coordinate."""
    bounds = [
        None if end is None else (end - coupling.offset) / coupling.multiplier for end in limits
    ]
    return (bounds[0], bounds[1]) if coupling.multiplier > 0 else (bounds[1], bounds[0])


def intersect_ranges(ranges: Sequence[Range]) -> Range:
    """Return the intersection of ranges; None for an end that no range has."""
    lower = [low for low, _ in ranges if low is not None]
    upper = [high for _, high in ranges if high is not None]
    return max(lower, default=None), min(upper, default=None)
