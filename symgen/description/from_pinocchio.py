"""`from_pinocchio`: a Mechanism from a Pinocchio model in memory. Only attributes of the model are
read; nothing is imported.

A body has the name of its joint's first frame of type BODY; further BODY frames, and OP_FRAME ones,
become named frames. Links that the model lumped into a body stay lumped. A joint of several hinges
or slides becomes several joints with massless links between them. Coordinates are Pinocchio's, in
its order, with two exceptions:

    continuous joints (RUB…) and planar joints have an angle where Pinocchio has its cosine and sine
    mimic joints have no coordinates (mimic="couple"), unless `mimic` is given

Pinocchio's dynamics include only the armature of a drive. So does the mechanism by default; damping
and friction that the model declares are reported, and applied with drives="on".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

from symgen.description.loading import load
from symgen.description.models import (
    ModelInMemory,
    exact,
    limit,
    pose,
    quaternion_of_matrix,
    vector,
)
from symgen.description.quantities import Location, quote
from symgen.description.snapping import Snapper
from symgen.description.tree import AS_IN_THE_MODEL, Connection, ExtraFrame, Inertial, Link, Tree
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Limits, Mechanism, Mimic, Note
from symgen.support.errors import ArgumentError
from symgen.vocabulary.options import RobotOptions
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Pose, Shift, Vector3, compose

NAMELESS = "robot"
"""Name of a model without a name."""
_PREFIX = "JointModel"
_ALONG = {"X": X_AXIS, "Y": Y_AXIS, "Z": Z_AXIS}
_ALIGNED = re.compile("(RUB|R|P|H)([XYZ])")
_KINDS = {"R": "revolute", "RUB": "continuous", "P": "prismatic", "H": "helical"}
_UNALIGNED = {
    "RevoluteUnaligned": "revolute",
    "RevoluteUnboundedUnaligned": "continuous",
    "PrismaticUnaligned": "prismatic",
    "HelicalUnaligned": "helical",
}
_SINGLE = {"Spherical": "spherical", "FreeFlyer": "free", "Planar": "planar"}
_SEQUENCES = {"SphericalZYX": ("RZ", "RY", "RX"), "Translation": ("PX", "PY", "PZ")}


def from_pinocchio(model: Any, **options: Unpack[RobotOptions]) -> Mechanism:
    """Return the mechanism of `model`, a pinocchio.Model, read with the options of `symgen.load`.

    Raises DescriptionError for an unsupported joint type and ArgumentError if `model` is not a
    pinocchio.Model.
    """
    for name in ("joints", "jointPlacements", "inertias", "parents", "frames", "gravity"):
        if not hasattr(model, name):
            raise ArgumentError(
                f"{type(model).__name__} has no attribute '{name}' of a Pinocchio model; give a"
                " pinocchio.Model"
            )
    options.setdefault("drives", ("armature",))
    return load(ModelInMemory(_label(model), lambda snapper: _tree(model, snapper)), **options)


def _label(model: Any) -> str:
    """Return the name of the model in messages."""
    return f"Pinocchio model {quote(model.name or NAMELESS)}"


@dataclass(frozen=True)
class _Motion:
    """Joint of the mechanism; `pose_before` is its pose in the frame after the previous motion."""

    kind: str
    axis: Vector3 = Z_AXIS
    parameters: tuple[tuple[str, Fraction], ...] = ()
    pose_before: Pose = ()
    nq: int = 1
    nv: int = 1


def _tree(model: Any, snapper: Snapper) -> Tree:
    """Return the tree: one link per body and one joint per joint, with additional ones for joints
    with several motions.
    """
    location = Location(_label(model))
    bodies, frames = _links_and_frames(model, location, snapper)
    links, connections = [replace(bodies[0], inertials=_inertia(model.inertias[0], location))], []
    leaders = dict(
        zip(
            map(int, getattr(model, "mimicking_joints", ())),
            map(int, getattr(model, "mimicked_joints", ())),
            strict=True,
        )
    )
    for index in range(1, model.njoints):
        name, joint, placement = (
            model.names[index],
            model.joints[index],
            model.jointPlacements[index],
        )
        joint_location = location.at(f"joint {quote(name)}")
        motions = list(_motions(joint, joint_location, snapper))
        names = [name] if len(motions) == 1 else [f"{name}_{k}" for k in range(1, len(motions) + 1)]
        parents = [bodies[int(model.parents[index])].name, *names[:-1]]
        children = [
            *(Link(connection, location=joint_location) for connection in names[:-1]),
            replace(bodies[index], inertials=_inertia(model.inertias[index], joint_location)),
        ]
        offset, indices = (
            pose(
                placement.translation,
                quaternion_of_matrix(placement.rotation),
                snapper,
                joint_location,
            ),
            (joint.idx_q, joint.idx_v),
        )
        for motion, joint_name, parent, child in zip(
            motions, names, parents, children, strict=True
        ):
            connection = Connection(
                joint_name,
                motion.kind,
                parent,
                child.name,
                compose(offset, motion.pose_before),
                motion.axis,
                location=joint_location,
                parameters=motion.parameters,
            )
            connections.append(
                _with_mimic(connection, joint, model.names[leaders[index]], joint_location)
                if index in leaders
                else _with_limits_and_drive(connection, model, indices, motion)
            )
            offset, indices = (), (indices[0] + motion.nq, indices[1] + motion.nv)
        links += children
    name_notes = (
        () if model.name else (Note("info", f"the model has no name, and is called {NAMELESS}"),)
    )
    return Tree(
        model.name or NAMELESS,
        tuple(links),
        tuple(connections),
        frames,
        vector(model.gravity.linear, location.at("gravity")),
        notes=name_notes,
        location=location,
        pinocchio_order=AS_IN_THE_MODEL,
        mimic="couple" if leaders else None,
    )


def _motions(
    joint: Any, location: Location, snapper: Snapper, pose_before: Pose = ()
) -> Iterator[_Motion]:
    """Yield the motions of a joint in order. Raises DescriptionError for an unsupported type."""
    name = joint.shortname().removeprefix(_PREFIX)
    details = joint.extract() if hasattr(joint, "extract") else joint
    aligned = _ALIGNED.fullmatch(name)
    if name == "Composite":
        for component, placement in zip(details.joints, details.jointPlacements, strict=True):
            component_pose = pose(
                placement.translation, quaternion_of_matrix(placement.rotation), snapper, location
            )
            yield from _motions(component, location, snapper, compose(pose_before, component_pose))
            pose_before = ()
    elif name == "Mimic":
        yield _mimic_motion(details, location)
    elif name in _SEQUENCES:
        for code in _SEQUENCES[name]:
            yield _Motion(_KINDS[code[0]], _ALONG[code[1]], pose_before=pose_before)
            pose_before = ()
    elif name == "Universal":
        yield _Motion("revolute", vector(details.axis1, location), pose_before=pose_before)
        yield _Motion("revolute", vector(details.axis2, location))
    elif name in _SINGLE:
        yield _Motion(_SINGLE[name], pose_before=pose_before, nq=joint.nq, nv=joint.nv)
    elif aligned or name in _UNALIGNED:
        kind = _KINDS[aligned[1]] if aligned else _UNALIGNED[name]
        pitch = (("pitch", exact(details.pitch, location)),) if hasattr(details, "pitch") else ()
        yield _Motion(
            kind,
            _ALONG[aligned[2]] if aligned else vector(details.axis, location),
            pitch,
            pose_before,
            nq=joint.nq,
        )
    else:
        supported = ("R", "P", "H", "RUB", *_SINGLE, *_SEQUENCES, "Universal", "Composite")
        raise location.error(
            f"its type {quote(joint.shortname())} is not supported",
            f"use one of {', '.join(supported)}",
        )


def _mimic_motion(joint: Any, location: Location) -> _Motion:
    """Return the motion of a mimic joint. Only its printed text shows the type of the joint."""
    match = re.search(rf"Mimicking joint type: {_PREFIX}(\w+)", str(joint))
    name = match[1] if match else ""
    aligned = _ALIGNED.fullmatch(name)
    if aligned and aligned[1] in ("R", "P"):
        return _Motion(_KINDS[aligned[1]], _ALONG[aligned[2]])
    raise location.error(
        f"it is a mimic joint of type {quote(name)}, whose axis Pinocchio does not provide",
        "read the robot's URDF",
    )


def _with_mimic(connection: Connection, joint: Any, leader: str, location: Location) -> Connection:
    """Return the joint with its mimic relation."""
    details = joint.extract() if hasattr(joint, "extract") else joint
    return replace(
        connection,
        mimic=Mimic(leader, exact(details.scaling, location), exact(details.offset, location)),
    )


def _with_limits_and_drive(
    connection: Connection, model: Any, indices: tuple[int, int], motion: _Motion
) -> Connection:
    """Return the joint with the limits and drive values of the model; its entries of q and v start
    at `indices`.
    """
    q, v = indices
    has_limits = motion.nq == motion.nv == 1
    bounds = (
        model.lowerPositionLimit[q],
        model.upperPositionLimit[q],
        model.velocityLimit[v],
        model.effortLimit[v],
    )
    limits = (
        Limits(*(limit(end, connection.location) for end in bounds)) if has_limits else Limits()
    )
    numbers = {
        name: [exact(x, connection.location) for x in getattr(model, name)[v : v + motion.nv]]
        for name in ("armature", "damping", "friction")
        if hasattr(model, name)
    }
    rotor = max(exact(x, connection.location) for x in model.rotorInertia[v : v + motion.nv])
    return replace(
        connection,
        limits=limits,
        drive=Drive.of_velocities(numbers),
        unapplied=(("rotor inertia", rotor),) if rotor else (),
    )


def _inertia(inertia: Any, location: Location) -> tuple[Inertial, ...]:
    """Return the inertia of a body about its mass centre; none without mass and moments."""
    tensor = inertia.inertia
    moments = tuple(exact(tensor[i][j], location) for i in range(3) for j in range(i, 3))
    mass = exact(inertia.mass, location)
    return (
        (Inertial(mass, moments, (Shift(vector(inertia.lever, location)),), location),)
        if mass or any(moments)
        else ()
    )


def _links_and_frames(
    model: Any, location: Location, snapper: Snapper
) -> tuple[list[Link], tuple[ExtraFrame, ...]]:
    """Return the link of each body by the index of its joint, without its inertia, and the
    additional frames.
    """
    first: dict[int, Any] = {}
    additional = []
    for frame in model.frames:
        kind = str(frame.type).rpartition(".")[2]
        if kind in ("BODY", "OP_FRAME") and (
            kind != "BODY" or first.setdefault(int(frame.parentJoint), frame) is not frame
        ):
            additional.append(frame)

    def posed(frame: Any) -> tuple[Pose, Location]:
        frame_location = location.at(f"frame {quote(frame.name)}")
        return pose(
            frame.placement.translation,
            quaternion_of_matrix(frame.placement.rotation),
            snapper,
            frame_location,
        ), frame_location

    links = []
    for index, name in enumerate(model.names):
        frame_pose, frame_location = (
            posed(first[index]) if index in first else ((), location.at(f"joint {quote(name)}"))
        )
        links.append(
            Link(
                first[index].name if index in first else f"{name}_body" if index else name,
                location=frame_location,
                frame=frame_pose,
            )
        )
    by_name = {frame.name: frame for frame in reversed(additional)}
    for link in links:
        by_name.pop(link.name, None)
    return links, tuple(
        ExtraFrame(frame.name, links[int(frame.parentJoint)].name, *posed(frame))
        for frame in reversed(by_name.values())
    )
