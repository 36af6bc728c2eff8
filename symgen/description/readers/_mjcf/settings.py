"""What an MJCF says of the reading itself (`compiler`) and of the world (`option`). Said twice, the last one counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from symgen.description.quantities import NOWHERE, number, shown
from symgen.description.readers._mjcf.attributes import Attributes, over, own
from symgen.description.readers._mjcf.document import Element
from symgen.description.readers._mjcf.roots import in_radians
from symgen.description.snapping import Snapper
from symgen.mechanism.mechanism import Note
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, ZERO3, Angle, Vector3

_AXES = {"x": X_AXIS, "y": Y_AXIS, "z": Z_AXIS}
_FLUID = ("density", "viscosity")
_FLAGS = ("gravity", "spring", "damper", "frictionloss", "equality")


@dataclass(frozen=True)
class Settings:
    """How numbers of the document are to be read, and what is to be done with masses."""

    degrees: bool
    sequence: str
    autolimits: bool
    from_geoms: str
    groups: tuple[Fraction, Fraction]
    bound_mass: Fraction
    bound_inertia: Fraction
    balance: bool
    total: Fraction | None
    aligned: bool
    switched_off: frozenset[str]
    """Of gravity, spring, damper, frictionloss and equality those that the flags of `option` disable."""
    snapper: Snapper

    @property
    def axes(self) -> list[tuple[Vector3, bool]]:
        """Of each Euler angle: its axis, and whether that rides on the frame."""
        return [(_AXES[letter.lower()], letter.islower()) for letter in self.sequence]

    def angle(self, token: str, said: Attributes, name: str) -> Angle:
        """A rotation's angle: degrees are exact multiples of π, radians pass through the snapper."""
        value = number(token, said.at(name))
        return Angle(pi=value / 180) if self.degrees else self.snapper.angle(token, said.at(name))

    def radians(self, value: Fraction) -> Fraction:
        """A limit or a rest position, as a number of rad."""
        return in_radians(Angle(pi=value / 180)) if self.degrees else value


def settings(root: Element, snapper: Snapper) -> Settings:
    """Of all `compiler` elements together, and the flags of `option`. DescriptionError: a word or a number that is none."""
    said = Attributes(NOWHERE, {})
    for section in root.all("compiler"):
        said = over(said, own(section))
    if said.text("coordinate", "local") != "local":
        raise said.at("coordinate").error(
            f"its places are given in {shown(said.text('coordinate'))} coordinates, which no "
            "MuJoCo since 2.3.3 reads",
            "load it in MuJoCo 2.3.3 or older and save it",
        )
    sequence = said.text("eulerseq", "xyz")
    if len(sequence) != 3 or not all(letter in "xyzXYZ" for letter in sequence):
        raise said.at("eulerseq").error(
            f"{shown(sequence)} is no sequence of axes", "write three of x, y, z, X, Y, Z"
        )
    low, high = (
        said.numbers("inertiagrouprange", 2)
        if "inertiagrouprange" in said
        else (Fraction(0), Fraction(5))
    )
    total = said.number("settotalmass", Fraction(-1))
    return Settings(
        degrees=said.word("angle", ("degree", "radian"), "degree") == "degree",
        sequence=sequence,
        autolimits=said.flag("autolimits", True),
        from_geoms=said.word("inertiafromgeom", ("true", "false", "auto"), "auto"),
        groups=(low, high),
        bound_mass=max(said.number("boundmass", Fraction(0)), Fraction(0)),
        bound_inertia=max(said.number("boundinertia", Fraction(0)), Fraction(0)),
        balance=said.flag("balanceinertia"),
        total=total if total > 0 else None,
        aligned=said.flag("alignfree"),
        switched_off=_switched_off(root),
        snapper=snapper,
    )


def _switched_off(root: Element) -> frozenset[str]:
    said = dict[str, str]()
    for flag in (flag for section in root.all("option") for flag in section.all("flag")):
        said.update(flag.attributes)
        if "passive" in flag.attributes:  # what MuJoCo 3 called both
            said.update(dict.fromkeys(("spring", "damper"), flag.attributes["passive"]))
    return frozenset(name for name in _FLAGS if said.get(name, "enable") == "disable")


def world(root: Element, settings: Settings) -> tuple[Vector3, list[Note]]:
    """(gravity, remarks) of all `option` elements together: (0, 0, -9.81) where none says otherwise."""
    gravity, notes = (Fraction(0), Fraction(0), Fraction(-981, 100)), []
    for section in root.all("option"):
        said = own(section)
        gravity = said.vector("gravity", gravity)
        fluid = [name for name in _FLUID if said.number(name, Fraction(0))]
        if fluid:
            notes.append(
                Note(
                    "warning",
                    f"{section.place.short}: the {' and '.join(fluid)} of a fluid is not modelled: its drag "
                    "and lift are left out",
                )
            )
    return (ZERO3 if "gravity" in settings.switched_off else gravity), notes
