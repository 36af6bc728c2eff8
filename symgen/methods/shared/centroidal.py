"""Mass, first moment and mass centre of the whole robot, gathered over composite bodies.

Reference point of the mass centre is the origin of the heaviest root link, not that of the base. So
momentum keeps full precision when the robot is far from the base's origin, or when a light root is
far from the heavy one. A robot with one root is gathered in the axes of that root, and rotated to
base axes at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import NO_ROTATION, Rotation, SplitShift, Vector


@dataclass(frozen=True)
class Matter:
    """Mass m (kg) and first moment h = ∫ρ r (kg·m) about the frame's origin."""

    m: Scalar
    h: Vector

    def __add__(self, other: Matter) -> Matter:
        return Matter(self.m + other.m, self.h + other.h)

    def __mul__(self, s: Scalar) -> Matter:
        return Matter(self.m * s, self.h * s)

    def to_parent(self, rotation: Rotation, shift: Vector) -> Matter:
        """Return the matter expressed in the parent's frame."""
        if isinstance(shift, SplitShift):
            return self.to_parent(NO_ROTATION, shift.inner).to_parent(rotation, shift.outer)
        return Matter(self.m, rotation.to_parent(self.h) + shift * self.m)


def accumulate_inward(linkage: Linkage, bodies: list[Matter]) -> list[Matter]:
    """Return the matter of each link and its descendants, SA (15a) and (15c) without second
    moments.
    """
    composite = list(bodies)
    for i in reversed(range(len(linkage))):
        linkage.step(i, "composite mass and first moment, SA (15a), (15c)")
        for c in linkage.links[i].children:
            child = linkage.links[c]
            composite[i] = composite[i] + composite[c].to_parent(child.rotation, child.shift)
        linkage.name("h", i, composite[i].h)
    return composite


def composite_matter(linkage: Linkage) -> list[Matter]:
    """Return the composite mass (kg) and first moment (kg·m) of each link."""
    return accumulate_inward(linkage, [Matter(inertia.m, inertia.h) for inertia in linkage.inertia])


def mass_fractions(linkage: Linkage) -> list[Matter]:
    """Return composite matter divided by the total mass; the root's entry is (1, mass centre).

    If all masses are constants, the constants are divided. A run-time payload makes the total mass
    a scalar, and the gathered results are divided instead.
    """
    if all(inertia.m.is_constant for inertia in linkage.inertia):
        inverse = linkage.one / total_mass(linkage)
        return accumulate_inward(
            linkage,
            [Matter(inertia.m * inverse, inertia.h * inverse) for inertia in linkage.inertia],
        )
    composite, total = composite_matter(linkage), linkage.zero
    for i, link in enumerate(linkage.links):
        total = total + composite[i].m if link.parent < 0 else total
    linkage.derivation.name("mass", total)
    inverse = linkage.one / total
    return [body * inverse for body in composite]


def total_mass(linkage: Linkage) -> Scalar:
    """Return the mass of all links (kg).

    Links must have their declared masses, or pass them to their parents without loss.
    """
    total = linkage.zero
    for inertia in linkage.inertia:
        total = total + inertia.m
    return total


@dataclass(frozen=True)
class Root:
    """A root link: rotation from its axes to the common axes, and its origin in the common axes.

    The origin is measured from the origin of the heaviest root.
    """

    link: int
    rotation: Rotation
    origin: Vector


@dataclass(frozen=True)
class RootPlacements:
    """Root links in common axes.

    `rotation` turns common axes into base axes. `origin_offset` leads, in base axes, from the base
    frame of the heaviest root to the origin of that root. `base_position` is the constant position
    of that base frame.
    """

    roots: tuple[Root, ...]
    rotation: Rotation
    origin_offset: Vector
    base_position: Vector


def place_roots(linkage: Linkage) -> RootPlacements:
    """Place the roots in common axes: those of the only root, or those of the base if there are
    several.
    """
    links, base = linkage.links, linkage.model.links
    roots = [i for i, link in enumerate(links) if link.parent < 0]
    turns = {i: linkage.base_axes(i) for i in roots}
    reach = {i: turns[i].to_parent(links[i].shift) for i in roots}
    to_base = {i: Rotation([*turns[i].factors, *links[i].rotation.factors]) for i in roots}
    first = roots[0] if len(roots) == 1 else _heaviest(linkage)
    if len(roots) == 1:
        only = Root(first, NO_ROTATION, linkage.zeros)
        return RootPlacements((only,), to_base[first], reach[first], linkage.base_position(first))
    base_position = base[first].base_shift
    root_poses = [
        Root(
            i,
            to_base[i],
            reach[i] - reach[first] + linkage.vector(k.sub(base[i].base_shift, base_position)),
        )
        for i in roots
    ]
    return RootPlacements(
        tuple(root_poses), NO_ROTATION, reach[first], linkage.vector(base_position)
    )


def _heaviest(linkage: Linkage) -> int:
    """Return the root with the greatest composite mass.

    A run-time payload counts only if all declared masses are zero.
    """
    root_of: list[int] = []
    for i, link in enumerate(linkage.links):
        root_of.append(i if link.parent < 0 else root_of[link.parent])
    mass = dict.fromkeys(root_of, k.ZERO)
    for root, declared in zip(root_of, linkage.model.links, strict=True):
        mass[root] = k.normalize(mass[root] + declared.inertia.m)
    loaded = [
        root
        for root, inertia in zip(root_of, linkage.inertia, strict=True)
        if not inertia.m.is_zero
    ]
    return max(loaded or root_of, key=lambda root: k.as_float(mass[root]))


def mass_center(linkage: Linkage, roots: RootPlacements, fractions: list[Matter]) -> Vector:
    """Return the mass centre, in common axes, from the origin of the heaviest root.

    `fractions` are the `mass_fractions`.
    """
    linkage.derivation.step("mass centre of all moving links")
    total = linkage.zeros
    for root in roots.roots:
        fraction = fractions[root.link]
        total = total + (root.rotation.to_parent(fraction.h) + root.origin * fraction.m)
    return total


def lever_to_child(rotation: Rotation, shift: Vector, lever: Vector) -> Vector:
    """Return a point's position from the link's origin, in the link's axes.

    `lever` is its position from the parent's origin, in the parent's axes.
    """
    if isinstance(shift, SplitShift):
        return rotation.to_child(lever - shift.outer) - shift.inner
    return rotation.to_child(lever - shift)
