"""Settings of an MJCF file: how to read its numbers (element `compiler`), and gravity, fluid and
disabled flags of the simulation (element `option`).

If several elements declare the same setting, the last declaration counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from symgen.description.quantities import NOWHERE, number, quote
from symgen.description.readers._mjcf.attributes import Attributes, override, own_attributes
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
    """Units and conventions of the numbers of an MJCF file, and rules for masses and inertias.

    The name of MuJoCo's attribute is in parentheses.

    `degrees` (`angle`): True if angles are in degrees, False if they are in radians.
    `sequence` (`eulerseq`): axes of the three Euler angles, such as "xyz"; see `axes`.
    `autolimits`: True if a `range` alone, without `limited`, limits a joint.
    `from_geoms` (`inertiafromgeom`): "true", "false", or "auto". Geoms give the inertia of every
    body, of no body, or only of bodies without an `inertial` element.
    `inertia_groups` (`inertiagrouprange`): first and last group of geoms that add to the inertia.
    `bound_mass` (kg), `bound_inertia` (kg·m²): least mass and least principal moment of a body.
    `balance_inertia` (`balanceinertia`): True if moments that no rigid body can have are set to
    their mean.
    `total_mass` (`settotalmass`): mass (kg) to which all bodies together are scaled, None for no
    scaling.
    `aligned_free_joints` (`alignfree`): alignment of free joints whose own `align` is "auto" (True:
    aligned).
    `snapper`: replaces a decimal close to a multiple of π by that multiple.
    """

    degrees: bool
    sequence: str
    autolimits: bool
    from_geoms: str
    inertia_groups: tuple[Fraction, Fraction]
    bound_mass: Fraction
    bound_inertia: Fraction
    balance_inertia: bool
    total_mass: Fraction | None
    aligned_free_joints: bool
    disabled: frozenset[str]
    """Disabled flags of `option`, among gravity, spring, damper, frictionloss and equality."""
    snapper: Snapper

    @property
    def axes(self) -> list[tuple[Vector3, bool]]:
        """Axis of each Euler angle, and True if this axis moves with the frame (a lower-case letter
        in `sequence`) or False if it is fixed (an upper-case letter).
        """
        return [(_AXES[letter.lower()], letter.islower()) for letter in self.sequence]

    def angle(self, token: str, attributes: Attributes, name: str) -> Angle:
        """Return the angle that `token`, the text of a number in attribute `name`, stands for.

        A number of degrees gives an exact multiple of π. A number of radians is converted by the
        snapper.
        """
        value = number(token, attributes.at(name))
        return (
            Angle(pi=value / 180)
            if self.degrees
            else self.snapper.angle(token, attributes.at(name))
        )

    def radians(self, value: Fraction) -> Fraction:
        """Return a joint limit or a rest position in rad, from its number in the file's unit."""
        return in_radians(Angle(pi=value / 180)) if self.degrees else value


def read_settings(root: Element, snapper: Snapper) -> Settings:
    """Return the settings that the `compiler` elements and the `flag` elements inside `option`
    declare.

    Raises DescriptionError for an invalid value.
    """
    attributes = Attributes(NOWHERE, {})
    for section in root.children_named("compiler"):
        attributes = override(attributes, own_attributes(section))
    if attributes.text("coordinate", "local") != "local":
        raise attributes.at("coordinate").error(
            f"it uses {quote(attributes.text('coordinate'))} coordinates, which MuJoCo no longer"
            " reads since 2.3.3",
            "load it in MuJoCo 2.3.3 or older and save it",
        )
    sequence = attributes.text("eulerseq", "xyz")
    if len(sequence) != 3 or not all(letter in "xyzXYZ" for letter in sequence):
        raise attributes.at("eulerseq").error(
            f"{quote(sequence)} is not a sequence of axes", "write three of x, y, z, X, Y, Z"
        )
    low, high = (
        attributes.numbers("inertiagrouprange", 2)
        if "inertiagrouprange" in attributes
        else (Fraction(0), Fraction(5))
    )
    total = attributes.number("settotalmass", Fraction(-1))
    return Settings(
        degrees=attributes.word("angle", ("degree", "radian"), "degree") == "degree",
        sequence=sequence,
        autolimits=attributes.flag("autolimits", True),
        from_geoms=attributes.word("inertiafromgeom", ("true", "false", "auto"), "auto"),
        inertia_groups=(low, high),
        bound_mass=max(attributes.number("boundmass", Fraction(0)), Fraction(0)),
        bound_inertia=max(attributes.number("boundinertia", Fraction(0)), Fraction(0)),
        balance_inertia=attributes.flag("balanceinertia"),
        total_mass=total if total > 0 else None,
        aligned_free_joints=attributes.flag("alignfree"),
        disabled=_disabled_flags(root),
        snapper=snapper,
    )


def _disabled_flags(root: Element) -> frozenset[str]:
    """Return the names among _FLAGS that a `flag` element inside `option` disables."""
    flags = dict[str, str]()
    for flag in (
        flag for section in root.children_named("option") for flag in section.children_named("flag")
    ):
        flags.update(flag.attributes)
        if "passive" in flag.attributes:  # in MuJoCo 3 one flag for both
            flags.update(dict.fromkeys(("spring", "damper"), flag.attributes["passive"]))
    return frozenset(name for name in _FLAGS if flags.get(name, "enable") == "disable")


def read_world(root: Element, settings: Settings) -> tuple[Vector3, list[Note]]:
    """Return gravity (m/s²) and the notes on settings that symgen ignores, from all `option`
    elements.

    Gravity is (0, 0, -9.81) by default, and zero if its flag is disabled. A note names each fluid
    property that is not zero.
    """
    gravity, notes = (Fraction(0), Fraction(0), Fraction(-981, 100)), []
    for section in root.children_named("option"):
        attributes = own_attributes(section)
        gravity = attributes.vector("gravity", gravity)
        fluid = [name for name in _FLUID if attributes.number(name, Fraction(0))]
        if fluid:
            notes.append(
                Note(
                    "warning",
                    f"{section.location.short}: the {' and '.join(fluid)} of a fluid is not"
                    " modelled: its drag and lift are left out",
                )
            )
    return (ZERO3 if "gravity" in settings.disabled else gravity), notes
