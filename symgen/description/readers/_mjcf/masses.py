"""The inertias of the bodies: as they are declared or by their geoms, and what `compiler` does to them.

In MuJoCo's order: bounds from below, then balance, then the total. A geom is a solid of even density. Volumes and second moments
of the solids are those of any table; a capsule's caps are two half spheres, whose centres of mass lie 3r/8 beyond the ends of the
cylinder. Where a mass is given, no π is needed, and the moments are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from symgen.description.quantities import CANONICAL_DIGITS, Place, is_writable, rounded
from symgen.description.readers._mjcf.attributes import ORIENTATIONS, Attributes, own
from symgen.description.readers._mjcf.document import Element
from symgen.description.readers._mjcf.orientations import placed
from symgen.description.readers._mjcf.roots import PI, root, short
from symgen.description.readers._mjcf.settings import Settings
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


# -- geoms --


DENSITY = Fraction(1000)
"""Of a geom that says neither mass nor density, kg/m³."""
_WEIGHTLESS = ("plane", "hfield")
_MESHES = ("mesh", "sdf")
TYPES = (*_WEIGHTLESS, "sphere", "capsule", "ellipsoid", "cylinder", "box", *_MESHES)
COMPILED = "compile the model with MuJoCo and give symgen.from_mujoco(model), or write the body's <inertial>"
"""What to do where only MuJoCo knows an inertia."""
Sizes = list[Fraction]


@dataclass(frozen=True)
class _Solid:
    """How many sizes it has; its volume, by π where it is `round`; its moments about x, y and z for a mass of 1."""

    sizes: int
    volume: Callable[[Sizes], Fraction]
    round: bool
    moments: Callable[[Sizes], tuple[Fraction, Fraction, Fraction]]


def _of_cylinder(s: Sizes) -> tuple[Fraction, Fraction, Fraction]:
    across = s[0] * s[0] / 4 + s[1] * s[1] / 3
    return across, across, s[0] * s[0] / 2


def _of_capsule(s: Sizes) -> tuple[Fraction, Fraction, Fraction]:
    r, length = s[0], 2 * s[1]
    straight = Fraction(length) / (length + r * 4 / 3)
    caps = 1 - straight
    across, _, along = _of_cylinder(s)
    ball = r * r * 2 / 5
    x = straight * across + caps * (ball + length * (2 * length + 3 * r) / 8)
    return x, x, straight * along + caps * ball


_SOLIDS = {
    "sphere": _Solid(1, lambda s: s[0] ** 3 * 4 / 3, True, lambda s: (s[0] ** 2 * 2 / 5,) * 3),
    "capsule": _Solid(2, lambda s: s[0] ** 2 * (2 * s[1] + s[0] * 4 / 3), True, _of_capsule),
    "cylinder": _Solid(2, lambda s: 2 * s[0] ** 2 * s[1], True, _of_cylinder),
    "ellipsoid": _Solid(
        3,
        lambda s: s[0] * s[1] * s[2] * 4 / 3,
        True,
        lambda s: (
            (s[1] ** 2 + s[2] ** 2) / 5,
            (s[0] ** 2 + s[2] ** 2) / 5,
            (s[0] ** 2 + s[1] ** 2) / 5,
        ),
    ),
    "box": _Solid(
        3,
        lambda s: 8 * s[0] * s[1] * s[2],
        False,
        lambda s: (
            (s[1] ** 2 + s[2] ** 2) / 3,
            (s[0] ** 2 + s[2] ** 2) / 3,
            (s[0] ** 2 + s[1] ** 2) / 3,
        ),
    ),
}


def inertial(said: Attributes, settings: Settings, within: Pose) -> Inertial | None:
    """What a geom weighs, or None where it is nothing. `within` leads to the frame that it is given in.

    DescriptionError: its sizes are none, it is a mesh, or the mass is on its surface.
    """
    kind = said.word("type", TYPES, "sphere")
    low, high = settings.groups
    if kind in _WEIGHTLESS or not low <= said.number("group", Fraction(0)) <= high:
        return None
    for name in ("mass", "density"):
        if name in said and said.number(name) < 0:
            raise said.at(name).error(f"the {name} is negative", "give zero or more")
    if not (said.number("mass") if "mass" in said else said.number("density", DENSITY)):
        return None
    if kind in _MESHES or "mesh" in said:
        raise said.place.error(
            "its mass and moments are those of a mesh, which symgen does not read", COMPILED
        )
    if said.flag("shellinertia"):
        raise said.at("shellinertia").error(
            "a mass that lies on the surface alone is not read", COMPILED
        )
    return _weighed(said, _SOLIDS[kind], kind, settings, within)


def _weighed(
    said: Attributes, solid: _Solid, kind: str, settings: Settings, within: Pose
) -> Inertial:
    ends = said.numbers("fromto", 6) if "fromto" in said else None
    if ends is not None and kind == "sphere":
        raise said.at("fromto").error("a sphere has no two ends", "give it pos and size")
    sizes = _sizes(said, solid, kind, ends)
    mass = said.number("mass") if "mass" in said else _mass(said, solid, sizes)
    x, y, z = (mass * one for one in solid.moments(sizes))
    zero = Fraction(0)
    if ends is not None:
        middle = tuple((a + b) / 2 for a, b in zip(ends[:3], ends[3:], strict=True))
        pose: Pose = (Shift((middle[0], middle[1], middle[2])),)
        moments = _along([b - a for a, b in zip(ends[:3], ends[3:], strict=True)], x, z)
    else:
        pose, moments = placed(said, settings), (x, zero, zero, y, zero, z)
        if kind == "sphere":  # it has no axes of its own
            pose = (Shift(said.vector("pos", (zero, zero, zero))),)
    moments = tuple(map(short, moments))
    if not all(map(is_writable, (mass, *moments))):
        raise said.place.error(
            f"its mass or moments are beyond a double, or have more than {CANONICAL_DIGITS} digits",
            "give sizes with fewer digits",
        )
    return Inertial(mass, moments, joined(within, pose), said.place)


def _mass(said: Attributes, solid: _Solid, sizes: Sizes) -> Fraction:
    mass = said.number("density", DENSITY) * solid.volume(sizes)
    return rounded(mass * PI) if solid.round else mass


def _sizes(said: Attributes, solid: _Solid, kind: str, ends: list[Fraction] | None) -> Sizes:
    """The sizes of a solid, all above zero; of one between two ends the first is said, and the last is half the way."""
    wanted = solid.sizes if ends is None else 1
    found = said.numbers("size", 1, 3)
    if len(found) < wanted or not all(one > 0 for one in found[:wanted]):
        raise said.at("size").error(
            f"a {kind} takes {wanted} size{'s' * (wanted != 1)} above zero", "give them in metres"
        )
    if ends is None:
        return found[:wanted]
    half = (
        root(sum(((b - a) ** 2 for a, b in zip(ends[:3], ends[3:], strict=True)), Fraction(0))) / 2
    )
    if not half:
        raise said.at("fromto").error("its two ends are one point", "give it a length")
    return [found[0]] * (solid.sizes - 1) + [half]


def _along(way: list[Fraction], across: Fraction, along: Fraction) -> tuple[Fraction, ...]:
    """The moments of a solid that is the same all round, with its axis along `way` (any length): no square root is in it."""
    square = sum((one * one for one in way), Fraction(0))
    rest = (along - across) / square
    x, y, z = way
    return (
        across + rest * x * x,
        rest * x * y,
        rest * x * z,
        across + rest * y * y,
        rest * y * z,
        across + rest * z * z,
    )
