"""Robots that Fixman's partition accepts: H needs the inverse of every link's inertia. Refusals are
one sentence each.
"""

from __future__ import annotations

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import motion_class
from symgen.derivation.constants import Constant, Vec3
from symgen.derivation.model import Inertia, Model, find_indefinite_body, reframe
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.drives import refuse_armature

REMEDY = "use another method, such as riccati"


def _model(mechanism: Mechanism) -> Model:
    with k.precision():
        return reframe(mechanism)


def same_direction(model: Model, i: int) -> bool:
    """True if the axis of joint i has the direction of its parent's axis; in a plane it is that or
    the opposite.
    """
    return bool(model.links[i].rotation[2][2] == 1)


def link_ends(model: Model) -> list[Vec3]:
    """Return the end of each link of a serial planar chain in the plane, in the link's axes.

    The end is the origin of joint i + 1; for the last link, the mass centre.
    """
    tips = [link.shift for link in model.links[1:]] + [model.links[-1].center]
    return [(x, y, k.ZERO) for x, y, _ in tips]


def planar_chain_fault(model: Model) -> str | None:
    """Return why a robot is not a serial chain of revolute joints about parallel axes, or None."""
    for i, link in enumerate(model.links):
        if link.parent != i - 1:
            return f"it branches at link '{link.name}'"
        if motion_class(link.kind) != "turn":
            return f"joint '{link.joint}' is {link.kind}"
        if i and not (k.is_zero(link.rotation[2][0]) and k.is_zero(link.rotation[2][1])):
            return (
                f"the axis of joint '{link.joint}' is not parallel to that of the joint before it"
            )
    return None


def _scaled_inertia(inertia: Inertia) -> Constant:
    """Return m times the moment of inertia about the axis through the mass centre, I_zz m − h_x² −
    h_y².
    """
    return k.normalize(
        (inertia.S[0] + inertia.S[3]) * inertia.m
        - inertia.h[0] * inertia.h[0]
        - inertia.h[1] * inertia.h[1]
    )


def all_points(model: Model) -> bool:
    """True if every link of a planar chain is a point mass at its end, in projection along the
    axes.
    """
    return all(
        _positive(link.inertia.m)
        and not (k.is_zero(end[0]) and k.is_zero(end[1]))
        and k.is_zero(_scaled_inertia(link.inertia))
        and all(k.is_zero(k.normalize(link.inertia.h[x] - link.inertia.m * end[x])) for x in (0, 1))
        for link, end in zip(model.links, link_ends(model), strict=True)
    )


def only_points(mechanism: Mechanism) -> bool:
    """True if a robot is a planar chain of point masses."""
    model = _model(mechanism)
    with k.precision():
        return planar_chain_fault(model) is None and all_points(model)


def rigid_fault(model: Model) -> str | None:
    """Return which link of a planar chain has no invertible inertia in the plane, or None."""
    for link in model.links:
        if k.is_zero(link.inertia.m):
            return f"link '{link.name}' has no mass"
    for link in model.links:
        if not _positive(_scaled_inertia(link.inertia)):
            return (
                f"link '{link.name}' is a point mass, but not all links are point masses at their"
                " ends"
            )
    return None


def is_planar(model: Model) -> bool:
    """True if the planar form accepts a model."""
    if any(link.drive.armature for link in model.links):
        return False
    return planar_chain_fault(model) is None and (all_points(model) or rigid_fault(model) is None)


def spatial_fault(mechanism: Mechanism) -> str | None:
    """Return which link has an inertia that is not positive definite, or None."""
    defective = find_indefinite_body(mechanism)
    return None if defective is None else f"link '{defective[0]}' {defective[1]}"


def _positive(x: Constant) -> bool:
    return bool(x > 0)


def planar_refusal(mechanism: Mechanism) -> str | None:
    """Return why the planar form refuses a robot, or None."""
    model = _model(mechanism)
    with k.precision():
        why = planar_chain_fault(model)
        if why is not None:
            return (
                "fixman:planar needs a serial chain of revolute joints with parallel axes, and in"
                f" '{model.name}' {why}; use fixman:spatial, or another method, such as riccati"
            )
        why = None if all_points(model) else rigid_fault(model)
    return (
        _armature_refusal("fixman:planar", mechanism)
        if why is None
        else _sentence("fixman:planar", mechanism, why)
    )


def segments_refusal(mechanism: Mechanism) -> str | None:
    """Return why `fixman:segments` refuses a robot, or None."""
    return _points_refusal("fixman:segments", mechanism)


def parallel_refusal(mechanism: Mechanism) -> str | None:
    """Return why `fixman:parallel` refuses a robot, or None."""
    return _points_refusal("fixman:parallel", mechanism)


def _points_refusal(method: str, mechanism: Mechanism) -> str | None:
    why = planar_refusal(mechanism)
    if why is not None:
        return why.replace("fixman:planar", method, 1)
    model = _model(mechanism)
    with k.precision():
        if not all_points(model):
            return (
                f"{method} needs a chain of point masses, and links of '{model.name}' are rigid"
                " bodies; use fixman:planar"
            )
        opposite = next(
            (link for i, link in enumerate(model.links) if i and not same_direction(model, i)), None
        )
    return (
        None
        if opposite is None
        else (
            f"{method} needs axes of one direction, and the axis of joint '{opposite.joint}' of"
            f" '{model.name}' is opposite to the one before; use fixman:planar"
        )
    )


def spatial_refusal(mechanism: Mechanism) -> str | None:
    """Return why the spatial form refuses a robot, or None."""
    why = spatial_fault(mechanism)
    return None if why is None else _sentence("fixman:spatial", mechanism, why)


def refusal(mechanism: Mechanism) -> str | None:
    """Return why both forms refuse a robot, or None."""
    if planar_refusal(mechanism) is None or spatial_refusal(mechanism) is None:
        return None
    model = _model(mechanism)
    with k.precision():
        why = spatial_fault(mechanism) if planar_chain_fault(model) else rigid_fault(model)
    if why is None:
        return _armature_refusal("fixman", mechanism)
    return _sentence("fixman", mechanism, str(why))


def _armature_refusal(method: str, mechanism: Mechanism) -> str | None:
    """Return why a robot with an armature is refused, or None.

    The soft coordinates are link directions; a joint's rotor depends on the difference of two of
    them.
    """
    return refuse_armature(
        mechanism, method, "uses the directions of links in a plane instead of joint angles"
    )


def _sentence(method: str, mechanism: Mechanism, why: str) -> str:
    return (
        f"{method} divides by the inertia of every link, and in '{mechanism.name}' {why}; {REMEDY}"
    )
