"""The whole as one body: its mass, its mass centre, and where the links on the base stand to each other.

All that speaks of the mass centre is taken from the origin of the heaviest root, not of the base: a robot that is far from the
base's origin, be it by its base or by a free joint, loses no digit of its momentum, and neither does one that something light
is far from. A robot of one root is
gathered in that root's own axes, and turned to those of the base at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import STILL, Rotation, SplitShift, Vector


@dataclass(frozen=True)
class Matter:
    """Mass m and first moment h = ∫ρ r about the frame's origin."""

    m: Scalar
    h: Vector

    def __add__(self, other: Matter) -> Matter:
        return Matter(self.m + other.m, self.h + other.h)

    def __mul__(self, s: Scalar) -> Matter:
        return Matter(self.m * s, self.h * s)

    def to_parent(self, rotation: Rotation, shift: Vector) -> Matter:
        """The same matter in the parent's frame."""
        if isinstance(shift, SplitShift):
            return self.to_parent(STILL, shift.inner).to_parent(rotation, shift.outer)
        return Matter(self.m, rotation.to_parent(self.h) + shift * self.m)


def gathered(linkage: Linkage, own: list[Matter]) -> list[Matter]:
    """Of each link with all that it carries, frozen: SA (15a) and (15c) of masses and first moments alone."""
    composite = list(own)
    for i in reversed(range(len(linkage))):
        linkage.step(i, "composite mass and first moment, SA (15a), (15c)")
        for c in linkage.links[i].children:
            child = linkage.links[c]
            composite[i] = composite[i] + composite[c].to_parent(child.rotation, child.shift)
        linkage.name("h", i, composite[i].h)
    return composite


def matter(linkage: Linkage) -> list[Matter]:
    """Composite masses (kg) and first moments (kg·m)."""
    return gathered(linkage, [Matter(inertia.m, inertia.h) for inertia in linkage.inertia])


def shares(linkage: Linkage) -> list[Matter]:
    """Composite masses and first moments over the mass of the whole: the root's are 1 and the mass centre.

    A constant mass divides the constants; one with a run-time payload in it divides what is gathered.
    """
    if all(inertia.m.is_constant for inertia in linkage.inertia):
        inverse = linkage.one / total_mass(linkage)
        return gathered(
            linkage,
            [Matter(inertia.m * inverse, inertia.h * inverse) for inertia in linkage.inertia],
        )
    composite, total = matter(linkage), linkage.zero
    for i, link in enumerate(linkage.links):
        total = total + composite[i].m if link.parent < 0 else total
    linkage.home.name("mass", total)
    inverse = linkage.one / total
    return [one * inverse for one in composite]


def total_mass(linkage: Linkage) -> Scalar:
    """Of all links (kg); they must be declared as heavy as they are, or moved to their parents without loss."""
    total = linkage.zero
    for inertia in linkage.inertia:
        total = total + inertia.m
    return total


@dataclass(frozen=True)
class Root:
    """A link on the base: the way from its axes to the common ones, and its origin in those, from the heaviest."""

    link: int
    turn: Rotation
    at: Vector


@dataclass(frozen=True)
class Stand:
    """All roots in common axes; `turn` leads from those to the base's.

    The origin of the heaviest root is `reach` in the axes of the base from where its base frame stands, which is `place`
    (constant).
    """

    roots: tuple[Root, ...]
    turn: Rotation
    reach: Vector
    place: Vector


def stand(linkage: Linkage) -> Stand:
    """Common axes are the root's own where there is one, the base's where there are several."""
    links, base = linkage.links, linkage.model.links
    roots = [i for i, link in enumerate(links) if link.parent < 0]
    turns = {i: linkage.base_axes(i) for i in roots}
    reach = {i: turns[i].to_parent(links[i].shift) for i in roots}
    whole = {i: Rotation([*turns[i].factors, *links[i].rotation.factors]) for i in roots}
    first = roots[0] if len(roots) == 1 else _heaviest(linkage)
    if len(roots) == 1:
        only = Root(first, STILL, linkage.zeros)
        return Stand((only,), whole[first], reach[first], linkage.base_place(first))
    place = base[first].base_shift
    found = [
        Root(
            i, whole[i], reach[i] - reach[first] + linkage.vector(k.sub(base[i].base_shift, place))
        )
        for i in roots
    ]
    return Stand(tuple(found), STILL, reach[first], linkage.vector(place))


def _heaviest(linkage: Linkage) -> int:
    """The root with the most mass behind it; a payload that comes at run time counts where nothing else weighs anything."""
    root_of: list[int] = []
    for i, link in enumerate(linkage.links):
        root_of.append(i if link.parent < 0 else root_of[link.parent])
    mass = dict.fromkeys(root_of, k.ZERO)
    for root, declared in zip(root_of, linkage.model.links, strict=True):
        mass[root] = k.settle(mass[root] + declared.inertia.m)
    loaded = [
        root
        for root, inertia in zip(root_of, linkage.inertia, strict=True)
        if not inertia.m.is_zero
    ]
    return max(loaded or root_of, key=lambda root: k.as_float(mass[root]))


def center(linkage: Linkage, stood: Stand, parts: list[Matter]) -> Vector:
    """The mass centre from the origin of the heaviest root, in the common axes; `parts` are `shares`."""
    linkage.home.step("mass centre of the whole")
    total = linkage.zeros
    for root in stood.roots:
        own = parts[root.link]
        total = total + (root.turn.to_parent(own.h) + root.at * own.m)
    return total


def lever_to_child(rotation: Rotation, shift: Vector, lever: Vector) -> Vector:
    """A point seen from the link's origin in its axes, that is `lever` from its parent's in the parent's axes."""
    if isinstance(shift, SplitShift):
        return rotation.to_child(lever - shift.outer) - shift.inner
    return rotation.to_child(lever - shift)
