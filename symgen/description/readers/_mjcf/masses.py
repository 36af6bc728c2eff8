"""The inertias of the bodies: as they are declared or by their geoms, and what `compiler` does to them.

In MuJoCo's order: bounds from below, then balance, then the total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from symgen.description.quantities import Place
from symgen.description.readers._mjcf.attributes import ORIENTATIONS, Attributes, own
from symgen.description.readers._mjcf.document import Element
from symgen.description.readers._mjcf.orientations import placed
from symgen.description.readers._mjcf.roots import short
from symgen.description.readers._mjcf.settings import Settings
from symgen.description.readers._mjcf.shapes import inertial
from symgen.description.readers._mjcf.whole import bounded, gathered
from symgen.description.tree import Inertial
from symgen.mechanism.inertias import is_positive_semidefinite, second_moments
from symgen.vocabulary.poses import ZERO3, Pose, Shift, Vector3, joined

ZERO = Fraction(0)
Six = tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class Weighing:
    """The mass of a body as declared: the element, and its geoms, each with the pose of the frame around it.

    `pos` is the body's own attribute, in the frame around it.
    """

    declared: tuple[Element, Pose] | None
    geoms: Sequence[tuple[Attributes, Pose]]
    pos: Vector3
    place: Place


def inertials(body: Weighing, settings: Settings) -> tuple[Inertial, ...]:
    """All inertias of one body, in its frame, bounds and balance applied."""
    declared = () if body.declared is None else (_declared(*body.declared, settings),)
    found: tuple[Inertial, ...] = declared
    if settings.from_geoms == "true" or (settings.from_geoms == "auto" and not declared):
        geoms = tuple(
            one
            for said, within in body.geoms
            if (one := inertial(said, settings, within)) is not None
        )
        found = geoms or declared
    return _balanced(_bounded(found, settings, body), settings)


def scaled(all_of: Sequence[tuple[Inertial, ...]], total: Fraction) -> list[tuple[Inertial, ...]]:
    """Those of all bodies so that their masses are `total` together."""
    mass = sum((one.mass for body in all_of for one in body), ZERO)
    scale = total / mass if mass else Fraction(1)

    def of(one: Inertial) -> Inertial:
        return replace(
            one, mass=short(one.mass * scale), moments=tuple(short(m * scale) for m in one.moments)
        )

    return [tuple(map(of, body)) for body in all_of]


def _declared(element: Element, within: Pose, settings: Settings) -> Inertial:
    said = own(element)
    if "pos" not in said:
        raise said.place.error("the attribute 'pos' is missing", 'write pos="…", three numbers')
    mass = said.number("mass")
    if "fullinertia" in said:
        for name in ("diaginertia", *ORIENTATIONS):
            if name in said:
                raise said.at(name).error(
                    f"{name} stands beside fullinertia", "keep one of the two"
                )
        xx, yy, zz, xy, xz, yz = said.numbers("fullinertia", 6)
        moments: Six = (xx, xy, xz, yy, yz, zz)
    else:
        x, y, z = said.vector("diaginertia", ZERO3)
        moments = (x, ZERO, ZERO, y, ZERO, z)
    return Inertial(mass, moments, joined(within, placed(said, settings)), said.place)


def _bounded(
    found: tuple[Inertial, ...], settings: Settings, body: Weighing
) -> tuple[Inertial, ...]:
    """Inertias not less than the bounds of mass and of principal moments.

    A body without any inertia has the bounds themselves. MuJoCo takes the body's `pos`, which is given in the frame around the
    body, for the place of that mass in the body's own frame.
    """
    mass, least = settings.bound_mass, settings.bound_inertia
    if mass <= 0 and least <= 0:
        return found
    if not found:
        return (
            Inertial(mass, (least, ZERO, ZERO, least, ZERO, least), (Shift(body.pos),), body.place),
        )
    enough = sum((one.mass for one in found), ZERO) >= mass
    if enough and any(_is_above(one, least) for one in found):
        return found
    one = found[0] if len(found) == 1 else gathered(found)
    one = replace(one, mass=max(one.mass, mass))
    if _is_above(one, least):
        return (one,)
    if any(one.moments[k] for k in (1, 2, 4)):
        return (replace(one, moments=bounded(one.moments, least)),)
    return (
        replace(
            one,
            moments=tuple(
                max(m, least) if k in (0, 3, 5) else m for k, m in enumerate(one.moments)
            ),
        ),
    )


def _balanced(found: tuple[Inertial, ...], settings: Settings) -> tuple[Inertial, ...]:
    """With moments that a body can have: where it cannot, MuJoCo takes their mean for all three. Solids always can."""
    if (
        not settings.balance
        or len(found) != 1
        or is_positive_semidefinite(second_moments(_six(found[0])))
    ):
        return found
    (one,) = found
    mean = (one.moments[0] + one.moments[3] + one.moments[5]) / 3
    return (replace(one, moments=(mean, ZERO, ZERO, mean, ZERO, mean)),)


def _is_above(one: Inertial, least: Fraction) -> bool:
    return is_positive_semidefinite(_six(one), -least)


def _six(one: Inertial) -> Six:
    a, b, c, d, e, f = one.moments
    return a, b, c, d, e, f


def at(pose: Pose, found: Sequence[Inertial]) -> tuple[Inertial, ...]:
    """The same, seen from where `pose` starts."""
    return (
        tuple(replace(one, pose=joined(pose, one.pose)) for one in found) if pose else tuple(found)
    )
