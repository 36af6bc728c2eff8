"""Errors planted where the derivation and the reference, or every reader, would share them: what no comparison of the two sees.

Each takes pytest's MonkeyPatch and leaves the error in place until that is undone; `forgotten` clears what was kept of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from symgen.description import assembly, locking
from symgen.description.readers import toml, urdf
from symgen.joints import Sliding, helical, joint_type, prismatic, revolute
from symgen.mechanism import BASE
from symgen.reference import determinant, forces, mechanics, motion
from tests.metamorphic._core import inverse

Patch = pytest.MonkeyPatch


def forgotten() -> None:
    """Joint types are read once in a process."""
    joint_type.cache_clear()


def slides_backwards(patch: Patch) -> None:
    """A positive displacement goes against the axis, in the derivation and in the reference."""
    was = prismatic.JOINT
    patch.setattr(prismatic, "JOINT", replace(
        was, pose=lambda q, p: was.pose([-x for x in q], p), oracle=lambda p: (Sliding(0, Fraction(-1)),)))


def turns_backwards(patch: Patch) -> None:
    """Angles are left-handed, in the derivation and in the reference."""
    was = revolute.JOINT
    patch.setattr(revolute, "JOINT", replace(was, pose=lambda q, p: was.pose([-x for x in q], p),
                                             oracle=lambda p: tuple(step._replace(rate=-step.rate) for step in was.oracle(p))))


def screws_left_handed(patch: Patch) -> None:
    """The pitch has the wrong sign, in the derivation and in the reference."""
    _pitched(patch, -1)


def screws_by_the_turn(patch: Patch) -> None:
    """The pitch is read as the advance of another angle than a radian, in the derivation and in the reference."""
    _pitched(patch, 6)


def _pitched(patch: Patch, by: int) -> None:
    was = helical.JOINT
    patch.setattr(helical, "JOINT", replace(was, pose=lambda q, p: was.pose(q, {"pitch": by * p["pitch"]}),
                                            oracle=lambda p: was.oracle({"pitch": by * p["pitch"]})))


def lumps_in_place(patch: Patch) -> None:
    """What is welded on keeps its own frame's numbers."""
    was = assembly._parts
    patch.setattr(assembly, "_parts", lambda work, links: was(replace(
        work, carriers={name: replace(carrier, pose=()) for name, carrier in work.carriers.items()}), links))


def lumps_first_only(patch: Patch) -> None:
    """Of what is welded on, only the mass of the body's own link counts."""
    was = assembly._parts
    patch.setattr(assembly, "_parts", lambda work, links: {i: parts[:1] for i, parts in was(work, links).items()})


def locks_backwards(patch: Patch) -> None:
    """A joint is locked at minus its value."""
    was = locking._motion
    patch.setattr(locking, "_motion", lambda *args: inverse(was(*args)))


def products_of_mass(patch: Patch) -> None:
    """Products of inertia of a URDF are read as ∫xy dm, and not as entries of the tensor."""
    was = urdf.Inertial
    patch.setattr(urdf, "Inertial", lambda mass, m, *more: was(mass, (m[0], -m[1], -m[2], m[3], -m[4], m[5]), *more))


def steiner_forgotten(patch: Patch) -> None:
    """Moments about a frame are read as moments about the centre."""
    patch.setattr(toml, "about_centre", lambda moments, mass, centre: moments)


def limits_swapped(patch: Patch) -> None:
    """The upper limit of a URDF is the lower one."""
    was = urdf.Limits
    patch.setattr(urdf, "Limits", lambda *ends: was(*(ends[1], ends[0], *ends[2:]) if ends else ()))


# -- in the reference alone, which everything else is judged by -------------------------------------------------------------

def base_at_the_origin(patch: Patch) -> None:
    """The base's place is dropped."""
    was = motion.Motion.__init__

    def begun(self: motion.Motion, *args: object, **options: object) -> None:
        was(self, *args, **options)
        self.poses = [(turn, 0 * shift) if joint.parent == BASE else (turn, shift)
                      for (turn, shift), joint in zip(self.poses, self.mechanism.joints, strict=True)]

    patch.setattr(motion.Motion, "__init__", begun)


def levers_from_the_origin(patch: Patch) -> None:
    """A column of the Jacobian takes its lever from the base's origin, not from the joint."""
    was = motion.Motion.columns

    def columns(self: motion.Motion, body: int, point: object, placed: list) -> object:
        return was(self, body, point, [p._replace(shift=(0 * p.shift[0], *p.shift[1:])) for p in placed])

    patch.setattr(motion.Motion, "columns", columns)


def no_gyroscope(patch: Patch) -> None:
    """ω × I ω is left out."""
    was = forces.d_alembert

    def without(part: object, placed: object, gravity: object) -> object:
        (r0, r1, r2), _ = placed
        centre, _, force = was(part, placed, gravity)
        return centre, forces.times(r0 @ part.inertia @ forces.transposed(r0), forces.spin_rate((r0, r1, r2))), force

    patch.setattr(mechanics, "d_alembert", without)
    patch.setattr(forces, "d_alembert", without)


def falls_up(patch: Patch) -> None:
    """Gravity is added to the accelerations, and taken from the gravity force: both with the wrong sign."""
    was = motion.Motion.__init__

    def begun(self: motion.Motion, *args: object, **options: object) -> None:
        was(self, *args, **options)
        self.gravity = -self.gravity

    patch.setattr(motion.Motion, "__init__", begun)


def twice_the_gradient(patch: Patch) -> None:
    was = determinant.log_determinant_gradient
    patch.setattr(mechanics, "log_determinant_gradient", lambda *args: 2 * was(*args))


def half_an_acceleration(patch: Patch) -> None:
    """ω̇ and v̇ are the coefficients of the power series, without their factor."""
    was = forces.acceleration
    patch.setattr(mechanics, "acceleration", lambda placed: was(placed) / 2)


def payload_about_its_centre(patch: Patch) -> None:
    """The run-time payload's moments are taken to be about its centre."""
    was = motion.Motion.parts

    def parts(self: motion.Motion, payload: object = None) -> list[motion.Carried]:
        found = was(self, payload)
        if payload is None or len(found) == len(self._declared):
            return found
        turn, _ = self.pose(self.payload.pose)
        tensor = payload[..., [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape((*payload.shape[:-1], 3, 3))
        return [*found[:-1], found[-1]._replace(inertia=turn @ tensor @ turn.T)]

    patch.setattr(motion.Motion, "parts", parts)


def wrench_in_the_base(patch: Patch) -> None:
    """The wrench is taken to stand in the axes of the base."""
    was = motion.Motion.outside

    def outside(self: motion.Motion, placed: object, wrench: object) -> object:
        found = was(self, placed, wrench)
        return found if found is None else (*found[:2], wrench[..., :3], wrench[..., 3:])

    patch.setattr(motion.Motion, "outside", outside)


def moments_about_the_origin(patch: Patch) -> None:
    """The wrench across a joint is told about the base's origin."""
    was = mechanics.interbody_forces

    def told(self: motion.Motion, q: object, v: object, a: object, *more: object) -> object:
        found, placed = was(self, q, v, a, *more), self.placements(q)
        for i, at in enumerate(placed):
            found[..., i, :3] += forces.cross(np.broadcast_to(at.shift[0], found[..., i, 3:].shape), found[..., i, 3:])
        return found

    patch.setattr(mechanics, "interbody_forces", told)


Plant = Callable[[Patch], None]
PLANTS: tuple[tuple[Plant, str, str], ...] = (
    (slides_backwards, "tree", "base_accelerated"), (turns_backwards, "chain", "zeros_moved"),
    (screws_left_handed, "chain", "screw_apart"), (screws_by_the_turn, "chain", "screw_apart"),
    (lumps_in_place, "tree", "welded"), (lumps_first_only, "square", "in_urdf"), (locks_backwards, "tree", "locked"),
    (products_of_mass, "square", "in_urdf"), (steiner_forgotten, "square", "welded"), (limits_swapped, "square", "in_urdf"),
    (base_at_the_origin, "tree", "base_moved"), (levers_from_the_origin, "tree", "chain_reversed"),
    (no_gyroscope, "tree", "lagrange_obeyed"), (falls_up, "tree", "base_accelerated"),
    (twice_the_gradient, "tree", "slopes_followed"), (half_an_acceleration, "tree", "slopes_followed"),
    (payload_about_its_centre, "tree", "payload_declared"), (wrench_in_the_base, "tree", "base_moved"),
    (moments_about_the_origin, "tree", "base_moved"),
)
"""An error, the mechanism that shows it and a relation that it breaks."""
