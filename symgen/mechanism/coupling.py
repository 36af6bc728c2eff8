"""Joints that follow others, q_full = G q + q_0: whom each follows in the end, and which range is left of its leader's."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from symgen.support.errors import MechanismError

LEAST = Fraction(1, 10**30)
"""Of a factor, and 1 over the largest: what is beyond is no gear, and with what it moves leaves the range of a double."""


@dataclass(frozen=True)
class Mimic:
    """A declared coupling q = multiplier·q[joint] + offset; read and reported, and applied where it is asked for."""

    joint: str
    multiplier: Fraction
    offset: Fraction


class Follows(NamedTuple):
    """q = multiplier·q[leader] + offset, `leader` being the index of a joint that has a coordinate of its own."""

    leader: int
    multiplier: Fraction
    offset: Fraction

    def of(self, leader: str) -> str:
        """What its coordinate is, with what the leader's is called: "0.75*q[2] + 0.05"."""
        scaled = {Fraction(1): leader, Fraction(-1): f"-{leader}"}.get(
            self.multiplier, f"{float(self.multiplier):.12g}*{leader}"
        )
        return scaled + (
            f" {'+' if self.offset > 0 else '-'} {abs(float(self.offset)):.12g}"
            if self.offset
            else ""
        )


def row(
    start: str, mimics: Mapping[str, Mimic | None], known: Container[str] = ()
) -> tuple[list[str], list[str]]:
    """(the joints from `start` on that follow each other and are not known, in their order; the circle where they come back to
    one of them, its first joint again at the end)."""
    way: dict[str, None] = {}
    at, mimic = start, mimics.get(start)
    while mimic is not None and at not in known:
        way[at] = None
        at = mimic.joint
        if at in way:
            return list(way), [*list(way)[list(way).index(at) :], at]
        mimic = mimics.get(at)
    return list(way), []


def resolved(
    robot: str, joints: Sequence[tuple[str, Mimic | None, bool]]
) -> tuple[Follows | None, ...]:
    """Of each (name, mimic, whether it has one degree of freedom): whom it follows, a row of followers put together.

    Raises MechanismError for a circle, a leader that does not move, a joint of several degrees and a multiplier of zero.
    """
    place = {name: index for index, (name, _, _) in enumerate(joints)}
    mimics = {name: mimic for name, mimic, _ in joints}
    found: dict[str, Follows | None] = {
        name: None for name, mimic in mimics.items() if mimic is None
    }
    for name in mimics:
        way, round_ = row(name, mimics, found)
        for one in reversed(way):
            mimic = mimics[one]
            assert mimic is not None
            where = f"{robot}: joint '{one}' mimics '{mimic.joint}'"
            if round_:
                raise MechanismError(
                    f"{where}, in a circle ({' → '.join(round_)}); let one of them move by itself"
                )
            if mimic.joint not in place:
                raise MechanismError(
                    f"{where}, which is no joint that moves; lock both, or read them as independent"
                )
            if not joints[place[one]][2] or not joints[place[mimic.joint]][2]:
                raise MechanismError(
                    f"{where}, and both must have one degree of freedom; read them as independent"
                )
            if not mimic.multiplier:
                raise MechanismError(
                    f"{where} with a multiplier of zero, so that it does not move; lock it at its offset"
                )
            found[one] = _behind(
                mimic,
                found[mimic.joint] or Follows(place[mimic.joint], Fraction(1), Fraction(0)),
                where,
            )
    return tuple(found[name] for name, _, _ in joints)


def _behind(mimic: Mimic, above: Follows, where: str) -> Follows:
    found = Follows(
        above.leader,
        mimic.multiplier * above.multiplier,
        mimic.multiplier * above.offset + mimic.offset,
    )
    if not LEAST < abs(found.multiplier) < 1 / LEAST or abs(found.offset) > 1 / LEAST:
        raise MechanismError(
            f"{where}, and with what that follows, put together, its factor or offset leaves the range from "
            f"{float(LEAST):g} to {float(1 / LEAST):g}; look for a misplaced exponent or unit"
        )
    return found


Range = tuple[Fraction | None, Fraction | None]


def seen(follows: Follows, own: Range) -> Range:
    """A follower's range as its leader sees it."""
    ends = [None if end is None else (end - follows.offset) / follows.multiplier for end in own]
    return (ends[0], ends[1]) if follows.multiplier > 0 else (ends[1], ends[0])


def common(ranges: Sequence[Range]) -> Range:
    """What lies in all of them; None for an end that none has."""
    lower = [low for low, _ in ranges if low is not None]
    upper = [high for _, high in ranges if high is not None]
    return max(lower, default=None), min(upper, default=None)
