"""Drives of the joints: a rotor behind a gear, damping, friction, a spring; and which of them are
applied.

A drive acts at its joint only. With v a velocity of the joint and q its coordinate, it takes

    armature·a + damping·v + friction·v/√(v² + ε²) + stiffness·(q − rest)

of the force of the joint. The armature is added to the diagonal of the mass matrix; the other terms
are part of the bias force. Coulomb friction is smoothed: below the speed ε, one number of the
mechanism, it fades to zero at rest.

Gravity compensation (MuJoCo's gravcomp) is a fraction of a link's weight that acts upwards at its
mass centre. Like a spring it enters the joint forces. It is not part of g and U, which belong to
the whole weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from symgen.support.errors import ArgumentError, printable

ZERO = Fraction(0)
FRICTION_SPEED = Fraction(1, 1000)
"""Default of ε (rad/s, and m/s for a sliding joint)."""
LEAST_SPEED, MOST_SPEED = Fraction(1, 10**9), Fraction(10**9)
"""Bounds of ε. Every real type of the C can represent their squares, so that no root is 0."""
KINDS = ("armature", "damping", "friction", "stiffness")
"""Kinds of drives of joints that can be applied separately. A rest position belongs to the
stiffness.
"""
NUMBERS = (*KINDS, "rest")
GRAVCOMP = "gravcomp"
"""Gravity compensation: declared for links, not for joints."""
WORDS = (*KINDS, GRAVCOMP)
"""Values that the option `drives` can select."""
EVERY = frozenset(WORDS)
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Drive:
    """Drive of one joint, in SI units; units of a sliding joint in parentheses.

    - `armature` in kg m² (kg): n²·J for a rotor of inertia J behind a gear of ratio n.
    - `damping` in N m s/rad (N s/m), `friction` in N m (N), `stiffness` in N m/rad (N/m).
    - `rest` in rad (m): the coordinate at which the spring exerts no force.

    For a joint with several velocities, armature, damping and friction apply to each velocity,
    unless `each` has a drive for every velocity. In that case the fields have the largest values,
    and `at` returns the drive of one velocity.
    """

    armature: Fraction = ZERO
    damping: Fraction = ZERO
    friction: Fraction = ZERO
    stiffness: Fraction = ZERO
    rest: Fraction = ZERO
    each: tuple[Drive, ...] = ()

    @staticmethod
    def of_velocities(numbers: Mapping[str, Sequence[Fraction]]) -> Drive:
        """Return the drive of a joint from, for each kind, a number for every velocity."""
        largest = {kind: max(values) for kind, values in numbers.items()}
        each = tuple(
            Drive(**dict(zip(numbers, values, strict=True)))
            for values in zip(*numbers.values(), strict=True)
        )
        return Drive(**largest, each=each if len(set(each)) > 1 else ())

    def at(self, velocity: int) -> Drive:
        """Return the drive of one velocity of the joint."""
        return self.each[velocity] if self.each else self

    def numbers(self, kind: str) -> tuple[Fraction, ...]:
        """Return the value of one kind, or a value for every velocity if these differ."""
        if not self.each:
            return (getattr(self, kind),)
        values = tuple(getattr(drive, kind) for drive in self.each)
        return values if len(set(values)) > 1 else values[:1]

    def __bool__(self) -> bool:
        return self != NO_DRIVE

    @property
    def declared(self) -> tuple[tuple[str, Fraction], ...]:
        """Values that are not zero, as (name, value)."""
        return tuple((name, getattr(self, name)) for name in NUMBERS if getattr(self, name))

    def only(self, kinds: Iterable[str]) -> Drive:
        """Return the drive restricted to these kinds."""
        kept_kinds = set(kinds)
        removed: dict[str, Fraction] = {kind: ZERO for kind in KINDS if kind not in kept_kinds}
        remaining = tuple(drive.only(kept_kinds) for drive in self.each)
        return replace(
            self,
            **removed,
            **({} if "stiffness" in kept_kinds else {"rest": ZERO}),
            each=remaining if len(set(remaining)) > 1 else (),
        )

    def fault(self, nq: int, nv: int) -> tuple[str, str] | None:
        """Return (fault, remedy) of the drive at a joint of `nq` coordinates and `nv` velocities,
        or None if it is valid.
        """
        if self.each and len(self.each) != nv:
            return (
                f"its drive has {len(self.each)} values for {nv} velocities",
                "give one value, or one for each velocity",
            )
        for kind in KINDS:
            if any(number < 0 for number in self.numbers(kind)):
                return f"its {kind} is negative", "give zero or more"
        if self.stiffness and (nq, nv) != (1, 1):
            return (
                (
                    f"it has a spring and {nq} coordinates, but a spring needs a joint with one"
                    " coordinate"
                ),
                "remove the stiffness",
            )
        return None


NO_DRIVE = Drive()


def speed_fault(speed: Fraction) -> tuple[str, str] | None:
    """Return (fault, remedy) of a friction speed, or None if it is valid."""
    if LEAST_SPEED <= speed <= MOST_SPEED:
        return None
    return (
        f"the friction speed is {float(speed):g}",
        f"give {float(LEAST_SPEED):g} to {float(MOST_SPEED):g} rad/s or m/s",
    )


def selected_kinds(words: str | Iterable[str] | None) -> frozenset[str] | None:
    """Return the kinds that `on`, `off` or a list such as `armature,damping` selects; None keeps
    the description's choice.

    Raises ArgumentError for an unknown word.
    """
    if words is None:
        return None
    if isinstance(words, str) and words in ("on", "off"):
        return EVERY if words == "on" else NONE
    kinds = [word.strip() for word in (words.split(",") if isinstance(words, str) else words)]
    for word in kinds:
        if word not in WORDS:
            raise ArgumentError(
                f"drives has '{printable(word)[:40]}'; give 'on', 'off' or a list of"
                f" {', '.join(WORDS)}"
            )
    return frozenset(kinds)
