"""What drives a joint besides its bodies: a rotor behind a gear, damping, friction, a spring; and which of them are applied.

A drive is felt at the joint alone. With v a velocity of the joint and q its coordinate, it takes

    armature·a + damping·v + friction·v/√(v² + ε²) + stiffness·(q − rest)

of the force of the joint. The armature stands on the diagonal of the mass matrix; the rest is part of the bias force. Coulomb's
friction is made smooth: ε, one number of the mechanism, is the speed below which it fades, and at rest there is none.

Beside them stands what bears part of a link's weight, MuJoCo's gravcomp: a fraction of the link's mass times gravity, upwards at
its mass centre. It is felt in the forces of the joints as a spring is, and no part of g and U, which are of the whole weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from symgen.support.errors import ArgumentError, printable

ZERO = Fraction(0)
FRICTION_SPEED = Fraction(1, 1000)
"""ε unless a description or a user says otherwise (rad/s, and m/s of a joint that slides)."""
LEAST_SPEED, MOST_SPEED = Fraction(1, 10**9), Fraction(10**9)
"""Their squares are numbers of every real type of the C, so that no root is 0."""
KINDS = ("armature", "damping", "friction", "stiffness")
"""What can be applied or left out by itself. A rest position goes with the stiffness."""
NUMBERS = (*KINDS, "rest")
GRAVCOMP = "gravcomp"
"""What bears part of the weight of links: of links, and not of joints."""
WORDS = (*KINDS, GRAVCOMP)
"""All that can be applied or left out."""
EVERY = frozenset(WORDS)
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Drive:
    """What a joint's drive adds: `armature` in kg m² (kg where it slides), that of a rotor behind a gear of ratio n being n²·J;
    `damping` in N m s/rad (N s/m), `friction` in N m (N), `stiffness` in N m/rad (N/m), its spring at ease at `rest`, rad (m).

    Armature, damping and friction of a joint of several velocities are the same number at each of them, unless `each` has a
    drive for every velocity; the numbers of the whole are then the largest, and `at` has those that count.
    """

    armature: Fraction = ZERO
    damping: Fraction = ZERO
    friction: Fraction = ZERO
    stiffness: Fraction = ZERO
    rest: Fraction = ZERO
    each: tuple[Drive, ...] = ()

    @staticmethod
    def of_velocities(numbers: Mapping[str, Sequence[Fraction]]) -> Drive:
        """The drive of a joint with, for each kind, a number for every velocity."""
        largest = {kind: max(values) for kind, values in numbers.items()}
        each = tuple(
            Drive(**dict(zip(numbers, own, strict=True)))
            for own in zip(*numbers.values(), strict=True)
        )
        return Drive(**largest, each=each if len(set(each)) > 1 else ())

    def at(self, velocity: int) -> Drive:
        """The drive at one velocity of the joint."""
        return self.each[velocity] if self.each else self

    def numbers(self, kind: str) -> tuple[Fraction, ...]:
        """The number of one kind, or one for every velocity where these differ."""
        values = tuple(getattr(one, kind) for one in self.each or (self,))
        return values if len(set(values)) > 1 else values[:1]

    def __bool__(self) -> bool:
        return self != NO_DRIVE

    @property
    def declared(self) -> tuple[tuple[str, Fraction], ...]:
        """Its numbers that are not zero, by name."""
        return tuple((name, getattr(self, name)) for name in NUMBERS if getattr(self, name))

    def only(self, kinds: Iterable[str]) -> Drive:
        """The same, of these kinds alone."""
        kept = set(kinds)
        gone: dict[str, Fraction] = {kind: ZERO for kind in KINDS if kind not in kept}
        left = tuple(one.only(kept) for one in self.each)
        return replace(
            self,
            **gone,
            **({} if "stiffness" in kept else {"rest": ZERO}),
            each=left if len(set(left)) > 1 else (),
        )

    def fault(self, nq: int, nv: int) -> tuple[str, str] | None:
        """(what is wrong with it at a joint of `nq` coordinates and `nv` velocities, what to do); None where nothing is."""
        if self.each and len(self.each) != nv:
            return (
                f"it has {len(self.each)} numbers of a drive and {nv} velocities",
                "give one number, or one for each velocity",
            )
        for kind in KINDS:
            if any(number < 0 for number in self.numbers(kind)):
                return f"its {kind} is negative", "give zero or more"
        if self.stiffness and (nq, nv) != (1, 1):
            return (
                f"it has a spring and {nq} coordinates, and a spring needs a joint of one coordinate",
                "leave the stiffness out",
            )
        return None


NO_DRIVE = Drive()


def speed_fault(speed: Fraction) -> tuple[str, str] | None:
    """(what is wrong with a friction speed, what to do); None where nothing is."""
    if LEAST_SPEED <= speed <= MOST_SPEED:
        return None
    return (
        f"the friction speed is {float(speed):g}",
        f"give {float(LEAST_SPEED):g} to {float(MOST_SPEED):g} rad/s or m/s",
    )


def selected(words: str | Iterable[str] | None) -> frozenset[str] | None:
    """The kinds that `on`, `off` or a list such as `armature,damping` asks for; None: what the description says.

    ArgumentError where a word is none of them.
    """
    if words is None:
        return None
    if isinstance(words, str) and words in ("on", "off"):
        return EVERY if words == "on" else NONE
    listed = [word.strip() for word in (words.split(",") if isinstance(words, str) else words)]
    for word in listed:
        if word not in WORDS:
            raise ArgumentError(
                f"drives has '{printable(word)[:40]}'; give 'on', 'off' or a list of {', '.join(WORDS)}"
            )
    return frozenset(listed)
