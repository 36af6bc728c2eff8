"""What a URDF says of a joint's drive: the numbers of <dynamics> and of its transmission, and the armature that they make.

Formats that people have, each as its own reader takes it:

    <dynamics damping friction>, and in some files armature or rotor_inertia beside them,
    <transmission> with mechanicalReduction and, seldom, motorInertia: texts,
    the same with <drake:gear_ratio value=""/> and <drake:rotor_inertia value=""/> at its actuator, Drake's.

A rotor of inertia J behind a gear of ratio n is an armature of n²·J. It takes one J and at most one n: the ratios of a
differential, whose joints share motors, make no diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symgen.description.quantities import is_writable
from symgen.mechanism.drives import Drive
from symgen.support.errors import DescriptionError

ATTRIBUTES = ("damping", "friction", "armature", "rotor_inertia")
"""Of <dynamics>."""
OF_TRANSMISSIONS = (
    ("mechanicalReduction", "gear ratio", 1),
    ("gear_ratio", "gear ratio", 1),
    ("motorInertia", "rotor inertia", 0),
    ("rotor_inertia", "rotor inertia", 0),
)
"""(element, what it is called, the number that says nothing)."""
_KINDS = {"damping": "damping", "friction": "friction"}
Named = Sequence[tuple[str, Fraction]]


@dataclass(frozen=True)
class Said:
    """Numbers by name, as they are reported where they are not applied; `faults` of those that are malformed, by name."""

    numbers: tuple[tuple[str, Fraction], ...] = ()
    faults: tuple[tuple[str, DescriptionError], ...] = ()

    def __add__(self, other: Said) -> Said:
        return Said((*self.numbers, *other.numbers), (*self.faults, *other.faults))

    @property
    def drive(self) -> Drive:
        """What all of it makes."""
        plain: dict[str, Any] = {name: value for name, value in self.numbers if name in _KINDS}
        return Drive(**plain, armature=self._armature)

    @property
    def read_from(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """For each kind of drive, the names of the numbers that it was made of."""
        made = [(kind, (kind,)) for kind, _ in self.drive.declared if kind in _KINDS]
        declared = any(name == "armature" for name, _ in self.numbers)
        rotor = tuple(
            name
            for name, _ in self.numbers
            if _is(name, "rotor inertia") or _is(name, "gear ratio")
        )
        return (
            *made,
            *([("armature", ("armature",) if declared else rotor)] if self._armature else []),
        )

    @property
    def faulty(self) -> tuple[tuple[str, DescriptionError], ...]:
        """By kind of drive; of a gear only where there is a rotor behind it."""
        rotor = any(_is(name, "rotor inertia") for name, _ in (*self.numbers, *self.faults))
        return tuple(
            (_KINDS.get(name, "armature"), fault)
            for name, fault in self.faults
            if rotor or not _is(name, "gear ratio")
        )

    @property
    def _armature(self) -> Fraction:
        declared = [value for name, value in self.numbers if name == "armature"]
        if declared:
            return declared[0]
        rotors, ratios = (
            [value for name, value in self.numbers if _is(name, what)]
            for what in ("rotor inertia", "gear ratio")
        )
        if len(rotors) != 1 or len(ratios) > 1:
            return Fraction(0)
        found = rotors[0] * ratios[0] ** 2 if ratios else rotors[0]
        return found if is_writable(found) else Fraction(0)


def _is(name: str, what: str) -> bool:
    """Whether a name is that, or one of several of that: they are counted from the second on."""
    stem, _, count = name.rpartition(" ")
    return name.replace("_", " ") == what or (stem == what and count.isdigit())
