"""Drives in a URDF: damping, friction and rotor data of a joint or a transmission.

Public files have these forms, and the reader interprets them as the files' own readers do:

    <dynamics damping friction>, in some files with armature or rotor_inertia,
    <transmission> with mechanicalReduction and, rarely, motorInertia, as text,
    <transmission> with <drake:gear_ratio value=""/> and <drake:rotor_inertia value=""/> (Drake).

A rotor of inertia J behind a gear of ratio n is an armature of n²·J. The armature is computed only
from one J and at most one n: the ratios of a differential, whose joints share motors, give no
diagonal matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from symgen.description.parsing.xml import tag
from symgen.description.quantities import Location, is_writable, number
from symgen.description.readers._urdf.elements import DYNAMICS_ATTRIBUTES, Elements
from symgen.mechanism.drives import Drive
from symgen.support.errors import DescriptionError

MOST_ROTORS = 16
"""Largest number of ratios and rotor inertias of one transmission that are shown, at each of its
joints. They affect no result.
"""


def read_dynamics(element: Any, location: Location, elements: Elements) -> DriveData:
    """Return the nonzero attributes of the joint's <dynamics>, and the errors of malformed ones."""
    declared = elements.first_child(element, "dynamics", location)
    if declared is None:
        return DriveData()
    dynamics_location = location.at(f"{location.element}: dynamics", declared.sourceline)
    elements.check(declared, dynamics_location)
    numbers, faults = [], []
    for name in DYNAMICS_ATTRIBUTES:
        if declared.get(name) is not None:
            value, fault = elements.drive_number(
                partial(elements.number, declared, name, dynamics_location), Fraction(0)
            )
            numbers += [(name, value)] if value else []
            faults += [(name, fault)] if fault else []
    return DriveData(tuple(numbers), tuple(faults))


def read_transmission(element: Any, elements: Elements) -> dict[str, DriveData]:
    """Return the rotor data of a transmission, by the name of each joint that it drives."""
    location = elements.location(element)
    numbers, faults = _rotor_data(element, location, elements)
    # A joint and its motor can declare the same ratio; two joints of a differential have two
    # ratios.
    distinct_numbers = list(dict.fromkeys(numbers))
    if len(distinct_numbers) > MOST_ROTORS:
        elements.note(
            "info",
            location,
            f"only the first {MOST_ROTORS} of its {len(distinct_numbers)} ratios and inertias are"
            " shown",
        )
    data = DriveData(_with_counts(distinct_numbers[:MOST_ROTORS]), tuple(faults))
    if not data.numbers and not data.faults:
        return {}
    joint_names = {joint.get("name") for joint in element.iter("{*}joint")}
    return {name: data for name in joint_names if name}


def _rotor_data(
    element: Any, location: Location, elements: Elements
) -> tuple[list[tuple[str, Fraction]], list[tuple[str, DescriptionError]]]:
    """Return all gear ratios and rotor inertias in a transmission, and the errors of malformed
    ones.
    """
    numbers, faults = [], []
    for tag_name, name, neutral in TRANSMISSION_NUMBERS:
        for child in element.iter():
            if tag(child).rpartition(":")[2] != tag_name:
                continue
            number_location = location.at(f"{location.element}: {tag_name}", child.sourceline)
            text = child.text or "" if child.get("value") is None else child.get("value")
            value, fault = elements.drive_number(
                partial(number, text, number_location), Fraction(neutral)
            )
            numbers += [(name, value)] if value != neutral else []
            faults += [(name, fault)] if fault else []
    return numbers, faults


def _with_counts(numbers: Iterable[tuple[str, Fraction]]) -> tuple[tuple[str, Fraction], ...]:
    """Append a count to each name from its second use on: "gear ratio", "gear ratio 2"."""
    uses: Counter[str] = Counter()
    counted_numbers = []
    for name, value in numbers:
        uses[name] += 1
        counted_numbers.append((f"{name} {uses[name]}" if uses[name] > 1 else name, value))
    return tuple(counted_numbers)


TRANSMISSION_NUMBERS = (
    ("mechanicalReduction", "gear ratio", 1),
    ("gear_ratio", "gear ratio", 1),
    ("motorInertia", "rotor inertia", 0),
    ("rotor_inertia", "rotor inertia", 0),
)
"""Tuples (element, name of the number, neutral value): a neutral number has no effect."""
_DIRECT_KINDS = ("damping", "friction")
"""Kinds of drive that have a number of their own. The armature is computed from all other numbers.
"""


@dataclass(frozen=True)
class DriveData:
    """Numbers that a joint or a transmission declares for a drive, as (name, value).

    The names are those with which a report shows numbers that are not applied. `faults` has the
    errors of malformed numbers, as (name, error).
    """

    numbers: tuple[tuple[str, Fraction], ...] = ()
    faults: tuple[tuple[str, DescriptionError], ...] = ()

    def __add__(self, other: DriveData) -> DriveData:
        return DriveData((*self.numbers, *other.numbers), (*self.faults, *other.faults))

    @property
    def drive(self) -> Drive:
        """The drive that these numbers give."""
        direct_values: dict[str, Any] = {
            name: value for name, value in self.numbers if name in _DIRECT_KINDS
        }
        return Drive(**direct_values, armature=self._armature)

    @property
    def read_from(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Nonzero kinds of drive, each with the names of the numbers from which it is computed."""
        read_from: list[tuple[str, tuple[str, ...]]] = [
            (kind, (kind,)) for kind, _ in self.drive.declared if kind in _DIRECT_KINDS
        ]
        if self._armature:
            rotor_names = tuple(
                name
                for name, _ in self.numbers
                if _is_name_of("rotor inertia", name) or _is_name_of("gear ratio", name)
            )
            declares_armature = any(name == "armature" for name, _ in self.numbers)
            read_from.append(("armature", ("armature",) if declares_armature else rotor_names))
        return tuple(read_from)

    @property
    def faults_by_kind(self) -> tuple[tuple[str, DescriptionError], ...]:
        """Errors by kind of drive.

        Errors of a gear ratio count only if there is a rotor inertia.
        """
        names = [name for name, _ in (*self.numbers, *self.faults)]
        has_rotor = any(_is_name_of("rotor inertia", name) for name in names)
        return tuple(
            (name if name in _DIRECT_KINDS else "armature", fault)
            for name, fault in self.faults
            if has_rotor or not _is_name_of("gear ratio", name)
        )

    @property
    def _armature(self) -> Fraction:
        """The declared armature, or n²·J; zero if the numbers determine none."""
        declared = [value for name, value in self.numbers if name == "armature"]
        if declared:
            return declared[0]
        rotors, ratios = (
            [value for name, value in self.numbers if _is_name_of(quantity, name)]
            for quantity in ("rotor inertia", "gear ratio")
        )
        if len(rotors) != 1 or len(ratios) > 1:
            return Fraction(0)
        armature = rotors[0] * ratios[0] ** 2 if ratios else rotors[0]
        return armature if is_writable(armature) else Fraction(0)


def _is_name_of(quantity: str, name: str) -> bool:
    """True if a name is `quantity`, perhaps with underscores, or `quantity` with a count."""
    stem, _, count = name.rpartition(" ")
    return name.replace("_", " ") == quantity or (stem == quantity and count.isdigit())
