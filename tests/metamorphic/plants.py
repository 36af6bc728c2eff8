"""Errors planted in code shared by derivation and reference, or by all readers. Each function takes
pytest's MonkeyPatch, which removes the error; `forgotten` clears the caches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from symgen.description import assembly, locking
from symgen.description.parsing import declared
from symgen.description.readers import urdf
from symgen.mechanism.joints import Sliding, helical, joint_type, prismatic, revolute
from symgen.mechanism.mechanism import BASE, Joint, Mechanism, Part
from symgen.pipeline import derive
from symgen.reference import centroidal, forces, mechanics, motion
from symgen.reference.precision import Array
from symgen.vocabulary.poses import Shift, Turn
from tests.metamorphic._core import inverse, negated
from tests.metamorphic.planted_afloat import (
    along_the_base,
    angular_first,
    real_part_first,
    rotation_transposed,
    steps_along_the_base,
    weight_on_the_first_root,
)
from tests.metamorphic.planted_slopes import OF_SLOPES

Patch = pytest.MonkeyPatch


def forgotten() -> None:
    """Clear the cache of joint types, which a process reads only once."""
    joint_type.cache_clear()


def slides_backwards(patch: Patch) -> None:
    """A positive displacement goes against the axis, in the derivation and in the reference."""
    was = prismatic.JOINT
    patch.setattr(
        prismatic,
        "JOINT",
        replace(
            was,
            pose=lambda q, p: was.pose([-x for x in q], p),
            elementary_motions=lambda p: (Sliding(0, Fraction(-1)),),
        ),
    )


def turns_backwards(patch: Patch) -> None:
    """Angles are left-handed, in the derivation and in the reference."""
    was = revolute.JOINT
    patch.setattr(
        revolute,
        "JOINT",
        replace(
            was,
            pose=lambda q, p: was.pose([-x for x in q], p),
            elementary_motions=lambda p: tuple(
                step._replace(rate=-step.rate) for step in was.elementary_motions(p)
            ),
        ),
    )


def screws_left_handed(patch: Patch) -> None:
    """The pitch has the wrong sign, in the derivation and in the reference."""
    _pitched(patch, -1)


def screws_by_the_turn(patch: Patch) -> None:
    """The pitch is read as the advance of another angle than a radian, in the derivation and in the
    reference.
    """
    _pitched(patch, 6)


def _pitched(patch: Patch, by: int) -> None:
    was = helical.JOINT
    patch.setattr(
        helical,
        "JOINT",
        replace(
            was,
            pose=lambda q, p: was.pose(q, {"pitch": by * p["pitch"]}),
            elementary_motions=lambda p: was.elementary_motions({"pitch": by * p["pitch"]}),
        ),
    )


def lumps_in_place(patch: Patch) -> None:
    """A welded body keeps the numbers of its own frame."""
    was = assembly._parts_by_body
    patch.setattr(
        assembly,
        "_parts_by_body",
        lambda work, links: was(
            replace(
                work,
                carriers={
                    name: carrier._replace(pose=()) for name, carrier in work.carriers.items()
                },
            ),
            links,
        ),
    )


def lumps_first_only(patch: Patch) -> None:
    """Only the mass of the body's own link counts; welded bodies are ignored."""
    was = assembly._parts_by_body
    patch.setattr(
        assembly,
        "_parts_by_body",
        lambda work, links: {i: parts[:1] for i, parts in was(work, links).items()},
    )


def locks_backwards(patch: Patch) -> None:
    """A joint is locked at minus its value."""
    was = locking._motion
    patch.setattr(locking, "_motion", lambda *args: inverse(was(*args)))


def products_of_mass(patch: Patch) -> None:
    """Products of inertia of a URDF are read as ∫xy dm, and not as entries of the tensor."""
    was = urdf.Inertial
    patch.setattr(
        urdf,
        "Inertial",
        lambda mass, m, *more: was(mass, (m[0], -m[1], -m[2], m[3], -m[4], m[5]), *more),
    )


def steiner_forgotten(patch: Patch) -> None:
    """Moments about a frame are read as moments about the centre."""
    patch.setattr(declared, "about_centre", lambda moments, mass, centre: moments)


def limits_swapped(patch: Patch) -> None:
    """The upper limit of a URDF is the lower one."""
    was = urdf.Limits
    patch.setattr(
        urdf, "Limits", lambda *bounds: was(*(bounds[1], bounds[0], *bounds[2:]) if bounds else ())
    )


# -- in the mechanism, for the derivation and the reference alike ----------------------------------


def _misread(patch: Patch, distort: Callable[[Mechanism], Mechanism]) -> None:
    begun, framed = motion.Motion.__init__, derive.reframe
    patch.setattr(
        motion.Motion,
        "__init__",
        lambda self, mechanism, *more, **links: begun(self, distort(mechanism), *more, **links),
    )
    patch.setattr(derive, "reframe", lambda mechanism: framed(distort(mechanism)))


def _joints(change: Callable[[int, Joint], Joint]) -> Callable[[Mechanism], Mechanism]:
    return lambda mechanism: replace(
        mechanism, joints=tuple(change(i, joint) for i, joint in enumerate(mechanism.joints))
    )


def _change_parts(
    change: Callable[[tuple[Part, ...]], tuple[Part, ...]],
) -> Callable[[Mechanism], Mechanism]:
    return lambda mechanism: replace(
        mechanism,
        bodies=tuple(replace(body, parts=change(body.parts)) for body in mechanism.bodies),
    )


def base_at_the_origin(patch: Patch) -> None:
    """The position of the base is dropped."""
    _misread(
        patch,
        _joints(
            lambda i, j: (
                j
                if j.parent != BASE
                else replace(j, pose=tuple(step for step in j.pose if not isinstance(step, Shift)))
            )
        ),
    )


def falls_up(patch: Patch) -> None:
    _misread(patch, lambda mechanism: replace(mechanism, gravity=negated(mechanism.gravity)))


def falls_as_on_earth(patch: Patch) -> None:
    """The declared gravity is ignored."""
    _misread(patch, lambda mechanism: replace(mechanism, gravity=assembly.EARTH))


def hangs_on_the_last(patch: Patch) -> None:
    """Every joint is taken to sit on the body before it."""
    _misread(patch, _joints(lambda i, j: replace(j, parent=i - 1)))


def axes_point_forward(patch: Patch) -> None:
    """The sign of an axis is lost."""
    _misread(
        patch,
        _joints(lambda i, j: replace(j, axis=(abs(j.axis[0]), abs(j.axis[1]), abs(j.axis[2])))),
    )


def screws_right_handed(patch: Patch) -> None:
    """The sign of a pitch is lost."""
    _misread(
        patch,
        _joints(
            lambda i, j: replace(j, parameters=tuple((name, abs(x)) for name, x in j.parameters))
        ),
    )


def winds(patch: Patch) -> None:
    """Revolute joints also advance one millimetre a radian."""
    _misread(
        patch,
        _joints(
            lambda i, j: (
                replace(j, kind="helical", parameters=(("pitch", Fraction(1, 1000)),))
                if j.type.turns and not j.type.slides
                else j
            )
        ),
    )


def first_part_only(patch: Patch) -> None:
    _misread(patch, _change_parts(lambda parts: parts[:1]))


def axes_of_the_body(patch: Patch) -> None:
    """The axes that an inertia is given in are taken to be the body's."""
    _misread(
        patch,
        _change_parts(
            lambda parts: tuple(
                replace(part, pose=tuple(step for step in part.pose if not isinstance(step, Turn)))
                for part in parts
            )
        ),
    )


def centres_at_the_joint(patch: Patch) -> None:
    _misread(
        patch,
        _change_parts(
            lambda parts: tuple(
                replace(part, pose=tuple(step for step in part.pose if isinstance(step, Turn)))
                for part in parts
            )
        ),
    )


def whole_kilograms(patch: Patch) -> None:
    """Masses are rounded up."""
    _misread(
        patch,
        _change_parts(
            lambda parts: tuple(replace(part, mass=Fraction(ceil(part.mass))) for part in parts)
        ),
    )


# -- in the reference alone, which everything else is judged by ------------------------------------


def levers_from_the_origin(patch: Patch) -> None:
    """A column of the Jacobian takes its lever from the base's origin, not from the joint."""
    was = motion.Motion.columns

    def columns(self: motion.Motion, body: int, point: object, placed: list) -> object:
        return was(
            self, body, point, [p._replace(shift=(0 * p.shift[0], *p.shift[1:])) for p in placed]
        )

    patch.setattr(motion.Motion, "columns", columns)


def no_gyroscope(patch: Patch) -> None:
    """ω × I ω is left out."""
    was = forces.d_alembert_wrench

    def without(part: object, placed: object, gravity: object) -> object:
        (r0, r1, r2), _ = placed
        centre, _, force = was(part, placed, gravity)
        return (
            centre,
            forces.times(
                r0 @ part.inertia @ forces.transposed(r0), forces.angular_acceleration((r0, r1, r2))
            ),
            force,
        )

    patch.setattr(mechanics, "d_alembert_wrench", without)
    patch.setattr(forces, "d_alembert_wrench", without)


def rubs(patch: Patch) -> None:
    """Every joint has damping."""
    was = mechanics.Reference.inverse_dynamics
    patch.setattr(
        mechanics.Reference,
        "inverse_dynamics",
        lambda self, q, v, *more: was(self, q, v, *more) + v / 1024,
    )


def gives_way(patch: Patch) -> None:
    """Joints accelerate by the square of their accelerations besides."""
    was = mechanics.ORACLES["forward_dynamics"]
    patch.setitem(
        mechanics.ORACLES,
        "forward_dynamics",
        lambda reference, **arguments: {
            name: a + a * a for name, a in was(reference, **arguments).items()
        },
    )


def common_logarithm(patch: Patch) -> None:
    was = mechanics.ORACLES["mass_matrix_log_determinant"]
    patch.setitem(
        mechanics.ORACLES,
        "mass_matrix_log_determinant",
        lambda reference, **arguments: {
            name: x * 7 / 16 for name, x in was(reference, **arguments).items()
        },
    )


def twice_the_gradient(patch: Patch) -> None:
    was = mechanics.log_determinant_gradient
    patch.setattr(mechanics, "log_determinant_gradient", lambda *args: 2 * was(*args))


def half_an_acceleration(patch: Patch) -> None:
    """ω̇ and v̇ are the coefficients of the power series, without their factor."""
    was = forces.frame_acceleration
    patch.setattr(mechanics, "frame_acceleration", lambda placed: was(placed) / 2)


def payload_about_its_centre(patch: Patch) -> None:
    """The run-time payload's moments are taken to be about its centre."""
    was = motion.Motion.parts

    def body_parts(self: motion.Motion, payload: object = None) -> list[motion.BodyPart]:
        body_parts = was(self, payload)
        if payload is None or len(body_parts) == len(self.declared):
            return body_parts
        turn, _ = self.pose(self.payload.pose)
        tensor = payload[..., [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape((*payload.shape[:-1], 3, 3))
        return [*body_parts[:-1], body_parts[-1]._replace(inertia=turn @ tensor @ turn.T)]

    patch.setattr(motion.Motion, "parts", body_parts)


def wrench_in_the_base(patch: Patch) -> None:
    """The wrench is read in the axes of the base."""
    was = motion.Motion.external_wrenches

    def outside(self: motion.Motion, placed: object, wrench: object) -> object:
        forces = was(self, placed, wrench)
        return [
            (body, point, wrench[..., k, :3], wrench[..., k, 3:])
            for k, (body, point, _, _) in enumerate(forces)
        ]

    patch.setattr(motion.Motion, "external_wrenches", outside)


def wrenches_confused(patch: Patch) -> None:
    """The wrenches of the first and of the second link are exchanged."""
    was = motion.Motion.external_wrenches
    patch.setattr(
        motion.Motion,
        "external_wrenches",
        lambda self, placed, wrench: was(
            self, placed, None if wrench is None else wrench[..., ::-1, :]
        ),
    )


def last_wrench_alone(patch: Patch) -> None:
    """Only one of several wrenches acts."""
    was = motion.Motion.external_wrenches
    patch.setattr(
        motion.Motion,
        "external_wrenches",
        lambda self, placed, wrench: was(self, placed, wrench)[-1:],
    )


def moments_about_the_origin(patch: Patch) -> None:
    """The wrench across a joint is given about the origin of the base."""
    was = mechanics.interbody_forces

    def changed(self: motion.Motion, q: object, v: object, a: object, *more: object) -> object:
        wrenches, placed = was(self, q, v, a, *more), self.placements(q)
        for i, at in enumerate(placed):
            wrenches[..., i, :3] += forces.cross(
                np.broadcast_to(at.shift[0], wrenches[..., i, 3:].shape), wrenches[..., i, 3:]
            )
        return wrenches

    patch.setattr(mechanics, "interbody_forces", changed)


def momentum_about_the_origin(patch: Patch) -> None:
    """Angular momentum is given about the origin of the base."""
    was = mechanics.ORACLES["centroidal_momentum"]

    def changed(reference: mechanics.Reference, **arguments: object) -> dict[str, Array]:
        h, centre = (
            was(reference, **arguments)["h"],
            centroidal.center_of_mass(reference, arguments["q"], arguments.get("payload")),
        )
        with reference.scalars.working():
            return {
                "h": np.concatenate(
                    [h[..., :3] + forces.cross(centre, h[..., 3:]), h[..., 3:]], axis=-1
                )
            }

    patch.setitem(mechanics.ORACLES, "centroidal_momentum", changed)


def centre_without_the_load(patch: Patch) -> None:
    """The mass centre is that of the declared parts."""
    was = mechanics.ORACLES["center_of_mass"]

    def changed(
        reference: mechanics.Reference, q: object, payload: object = None
    ) -> dict[str, Array]:
        return was(mechanics.Reference(reference.mechanism, reference.scalars), q=q)

    patch.setitem(mechanics.ORACLES, "center_of_mass", changed)


def height_of_the_base(patch: Patch) -> None:
    """Potential energy is measured from the first link."""
    was = mechanics.ORACLES["potential_energy"]

    def changed(reference: mechanics.Reference, **arguments: object) -> dict[str, Array]:
        first = reference.placements(arguments["q"])[0].shift[0]
        with reference.scalars.working():
            return {
                "U": was(reference, **arguments)["U"] + (first * reference.gravity).sum(axis=-1)
            }

    patch.setitem(mechanics.ORACLES, "potential_energy", changed)


def poses_where_they_were(patch: Patch) -> None:
    """Links are told in an order of their names."""
    was = mechanics.ORACLES["link_poses"]

    def changed(reference: mechanics.Reference, **arguments: object) -> dict[str, Array]:
        order = sorted(
            range(len(reference.mechanism.bodies)), key=lambda i: reference.mechanism.bodies[i].name
        )
        poses = was(reference, **arguments)
        return {
            "R_links": poses["R_links"][..., order, :, :],
            "p_links": poses["p_links"][..., order, :],
        }

    patch.setitem(mechanics.ORACLES, "link_poses", changed)


Plant = Callable[[Patch], None]
PLANTS: tuple[tuple[Plant, str, str, str], ...] = (
    (slides_backwards, "tree", "base_accelerated", "inverse_dynamics"),
    (turns_backwards, "chain", "zeros_moved", "forward_kinematics"),
    (turns_backwards, "chain", "floating_reversed", "forward_dynamics"),
    (screws_left_handed, "chain", "screw_apart", "mass_matrix"),
    (screws_by_the_turn, "chain", "screw_apart", "forward_kinematics"),
    (lumps_in_place, "tree", "welded", "mass_matrix"),
    (lumps_first_only, "square", "in_urdf", "mass_matrix"),
    (locks_backwards, "tree", "locked", "gravity_force"),
    (products_of_mass, "square", "in_urdf", "inverse_dynamics"),
    (steiner_forgotten, "square", "welded", "mass_matrix"),
    (limits_swapped, "square", "in_urdf", "mass_matrix"),
    (base_at_the_origin, "tree", "base_moved", "forward_kinematics"),
    (falls_up, "tree", "base_accelerated", "bias_force"),
    (falls_as_on_earth, "tree", "weight_turned_round", "gravity_force"),
    (hangs_on_the_last, "tree", "renumbered", "mass_matrix"),
    (axes_point_forward, "tree", "axes_reversed", "mass_matrix_and_bias"),
    (screws_right_handed, "chain", "mirrored", "forward_kinematics"),
    (winds, "tree", "turned_round", "forward_kinematics"),
    (first_part_only, "tree", "parts_split", "mass_matrix"),
    (axes_of_the_body, "tree", "frames_turned", "inverse_mass_matrix"),
    (centres_at_the_joint, "tree", "frames_slid", "mass_matrix_solve"),
    (whole_kilograms, "tree", "units_rescaled", "mass_matrix_determinant"),
    (levers_from_the_origin, "tree", "chain_reversed", "jacobian"),
    (levers_from_the_origin, "tree", "weight_has_a_potential", "gravity_force"),
    (no_gyroscope, "tree", "lagrange_obeyed", "bias_force"),
    (rubs, "tree", "time_reversed", "bias_force"),
    (gives_way, "tree", "superposed", "forward_dynamics"),
    (common_logarithm, "tree", "answers_fit", "mass_matrix_log_determinant"),
    (rotation_transposed, "floating", "set_down_elsewhere", "bias_force"),
    (real_part_first, "floating", "without_axes_apart", "forward_kinematics"),
    (angular_first, "floating", "without_axes_apart", "mass_matrix"),
    (along_the_base, "floating", "set_down_elsewhere", "mass_matrix"),
    (along_the_base, "floating", "without_axes_apart", "center_of_mass_jacobian"),
    (momentum_about_the_origin, "floating", "set_down_elsewhere", "centroidal_momentum"),
    (no_gyroscope, "floating", "momentum_kept", "centroidal_momentum"),
    (steps_along_the_base, "floating", "momentum_kept", "center_of_mass"),
    (weight_on_the_first_root, "floating", "one_body_more", "potential_energy"),
    (twice_the_gradient, "tree", "slopes_followed", "mass_matrix_log_determinant_gradient"),
    (half_an_acceleration, "tree", "slopes_followed", "link_accelerations"),
    (payload_about_its_centre, "tree", "payload_declared", "mass_matrix"),
    (wrench_in_the_base, "tree", "wrench_by_jacobian", "bias_force"),
    (wrenches_confused, "tree", "wrench_by_jacobian", "forward_dynamics"),
    (last_wrench_alone, "tree", "wrench_by_jacobian", "interbody_forces"),
    (moments_about_the_origin, "tree", "everything_at_once", "interbody_forces"),
    (momentum_about_the_origin, "tree", "base_moved", "centroidal_momentum"),
    (centre_without_the_load, "tree", "payload_declared", "center_of_mass"),
    (height_of_the_base, "tree", "base_moved", "potential_energy"),
    (poses_where_they_were, "tree", "renumbered", "link_poses"),
    *OF_SLOPES,
)
"""An error, the mechanism that shows it, a relation that it breaks, and a function that does."""
