"""Which robots the hard/soft partition suits: H needs the inverse of every link's inertia. One sentence where it does not."""

from __future__ import annotations

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import feels
from symgen.derivation.constants import Constant, Vec3
from symgen.derivation.model import Inertia, Model, indefinite, reframe
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.drives import rotor

OTHERWISE = "take another method, such as riccati"


def _model(mechanism: Mechanism) -> Model:
    with k.precision():
        return reframe(mechanism)


def same_way(model: Model, i: int) -> bool:
    """Whether the axis of joint i points the way of its parent's; in a plane it points that way or back."""
    return bool(model.links[i].rotation[2][2] == 1)


def link_ends(model: Model) -> list[Vec3]:
    """Of a serial planar chain: from joint i to joint i + 1 in link i's axes, in the plane; of the last link, to its centre."""
    tips = [link.shift for link in model.links[1:]] + [model.links[-1].center]
    return [(x, y, k.ZERO) for x, y, _ in tips]


def bent(model: Model) -> str | None:
    """Why a robot is no serial chain that turns about parallel axes, or None."""
    for i, link in enumerate(model.links):
        if link.parent != i - 1:
            return f"it branches at link '{link.name}'"
        if feels(link.kind) != "turn":
            return f"joint '{link.joint}' is {link.kind}"
        if i and not (k.is_zero(link.rotation[2][0]) and k.is_zero(link.rotation[2][1])):
            return (
                f"the axis of joint '{link.joint}' is not parallel to that of the joint before it"
            )
    return None


def _in_plane(own: Inertia) -> Constant:
    """m times the moment about the axis through the mass centre, I_zz m − h_x² − h_y²."""
    return k.settle((own.S[0] + own.S[3]) * own.m - own.h[0] * own.h[0] - own.h[1] * own.h[1])


def all_points(model: Model) -> bool:
    """Whether every link of a planar chain is a point mass at its end, as seen along the axes."""
    return all(
        _positive(link.inertia.m)
        and not (k.is_zero(end[0]) and k.is_zero(end[1]))
        and k.is_zero(_in_plane(link.inertia))
        and all(k.is_zero(k.settle(link.inertia.h[x] - link.inertia.m * end[x])) for x in (0, 1))
        for link, end in zip(model.links, link_ends(model), strict=True)
    )


def only_points(mechanism: Mechanism) -> bool:
    """`all_points` of a robot."""
    model = _model(mechanism)
    with k.precision():
        return bent(model) is None and all_points(model)


def rigid_fault(model: Model) -> str | None:
    """Which link of a planar chain has no inertia to invert in the plane, or None."""
    for link in model.links:
        if k.is_zero(link.inertia.m):
            return f"link '{link.name}' has no mass"
    for link in model.links:
        if not _positive(_in_plane(link.inertia)):
            return f"link '{link.name}' is a point mass, and not every link is one at its end"
    return None


def in_a_plane(model: Model) -> bool:
    """Whether the planar form suits a model."""
    if any(link.drive.armature for link in model.links):
        return False
    return bent(model) is None and (all_points(model) or rigid_fault(model) is None)


def spatial_fault(mechanism: Mechanism) -> str | None:
    """Which link has an inertia that is not positive definite, or None."""
    found = indefinite(mechanism)
    return None if found is None else f"link '{found[0]}' {found[1]}"


def _positive(x: Constant) -> bool:
    return bool(x > 0)


def planar_refusal(mechanism: Mechanism) -> str | None:
    """Why the planar form does not suit a robot."""
    model = _model(mechanism)
    with k.precision():
        why = bent(model)
        if why is not None:
            return (
                f"fixman:planar takes serial chains that turn about parallel axes, and of '{model.name}' {why}; take "
                "fixman:spatial, or another method, such as riccati"
            )
        why = None if all_points(model) else rigid_fault(model)
    return (
        _rotor("fixman:planar", mechanism)
        if why is None
        else _sentence("fixman:planar", mechanism, why)
    )


def segments_refusal(mechanism: Mechanism) -> str | None:
    """Why segments of a planar chain do not suit a robot."""
    return _points_refusal("fixman:segments", mechanism)


def parallel_refusal(mechanism: Mechanism) -> str | None:
    """Why levels of a planar chain do not."""
    return _points_refusal("fixman:parallel", mechanism)


def _points_refusal(method: str, mechanism: Mechanism) -> str | None:
    why = planar_refusal(mechanism)
    if why is not None:
        return why.replace("fixman:planar", method, 1)
    model = _model(mechanism)
    with k.precision():
        if not all_points(model):
            return f"{method} takes chains of point masses, and links of '{model.name}' are rigid bodies; take fixman:planar"
        against = next(
            (link for i, link in enumerate(model.links) if i and not same_way(model, i)), None
        )
    return (
        None
        if against is None
        else (
            f"{method} takes chains whose axes all point the same way, and that of joint '{against.joint}' of '{model.name}' "
            "points against the one before; take fixman:planar"
        )
    )


def spatial_refusal(mechanism: Mechanism) -> str | None:
    """Why the spatial form does not suit a robot."""
    why = spatial_fault(mechanism)
    return None if why is None else _sentence("fixman:spatial", mechanism, why)


def refusal(mechanism: Mechanism) -> str | None:
    """Why neither form suits a robot."""
    if planar_refusal(mechanism) is None or spatial_refusal(mechanism) is None:
        return None
    model = _model(mechanism)
    with k.precision():
        why = spatial_fault(mechanism) if bent(model) else rigid_fault(model)
    if why is None:
        return _rotor("fixman", mechanism)
    return _sentence("fixman", mechanism, str(why))


def _rotor(method: str, mechanism: Mechanism) -> str | None:
    """Its soft coordinates are directions of links, of which a joint's rotor feels differences."""
    return rotor(mechanism, method, "knows the directions of links in a plane and no joints")


def _sentence(method: str, mechanism: Mechanism, why: str) -> str:
    return f"{method} divides by the inertia of every link, and of '{mechanism.name}' {why}; {OTHERWISE}"
