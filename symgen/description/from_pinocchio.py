"""`from_pinocchio`: a Pinocchio model in memory to a Mechanism. Nothing is imported: only attributes of the model are asked for.

A body has the name of its joint's first frame of type BODY; further BODY frames, and OP_FRAME ones, are named frames. What a
model lumped into a body's inertia stays lumped. A joint of several hinges or slides becomes as many joints with massless links
between them. Coordinates are Pinocchio's own, in its order, except that

    continuous joints (RUB…) and planar ones have their angle where Pinocchio has its cosine and sine,
    joints that mimic others follow them (mimic="couple"), unless that is asked otherwise.

Pinocchio's dynamics know of a drive its armature alone, and so does what is made here where `drives` is not given; damping and
friction that the model declares are then reported, and applied on drives="on".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

from symgen.description.loading import load
from symgen.description.models import Given, exact, limit, of_matrix, pose, vector
from symgen.description.quantities import Place, shown
from symgen.description.snapping import Snapper
from symgen.description.tree import AS_IN_THE_MODEL, Connection, ExtraFrame, Inertial, Link, Tree
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Limits, Mechanism, Mimic, Note
from symgen.support.errors import ArgumentError
from symgen.vocabulary.options import RobotOptions
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Pose, Shift, Vector3, compose

NAMELESS = "robot"
"""The name of a model that has none."""
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
_WHOLE = {"Spherical": "spherical", "FreeFlyer": "free", "Planar": "planar"}
_ROWS = {"SphericalZYX": ("RZ", "RY", "RX"), "Translation": ("PX", "PY", "PZ")}


def from_pinocchio(model: Any, **options: Unpack[RobotOptions]) -> Mechanism:
    """The mechanism of `model`, a pinocchio.Model, read with the options of `symgen.load`.

    DescriptionError names a joint whose type symgen has not; ArgumentError where `model` is no such model.
    """
    for name in ("joints", "jointPlacements", "inertias", "parents", "frames", "gravity"):
        if not hasattr(model, name):
            raise ArgumentError(
                f"{type(model).__name__} has no '{name}', as a Pinocchio model has; give a pinocchio.Model"
            )
    options.setdefault("drives", ("armature",))
    return load(Given(_label(model), lambda snapper: _tree(model, snapper)), **options)


def _label(model: Any) -> str:
    """Return the name of the model in sentences."""
    return f"Pinocchio model {shown(model.name or NAMELESS)}"


@dataclass(frozen=True)
class _Motion:
    """One joint of ours: `before` leads to it from the frame of the motion before."""

    kind: str
    axis: Vector3 = Z_AXIS
    parameters: tuple[tuple[str, Fraction], ...] = ()
    before: Pose = ()
    nq: int = 1
    nv: int = 1


def _tree(model: Any, snapper: Snapper) -> Tree:
    """A link a body and a joint a joint, the further ones of a row of motions between."""
    place = Place(_label(model))
    bodies, frames = _named(model, place, snapper)
    links, connections = [replace(bodies[0], inertials=_inertia(model.inertias[0], place))], []
    leaders = dict(
        zip(
            map(int, getattr(model, "mimicking_joints", ())),
            map(int, getattr(model, "mimicked_joints", ())),
            strict=True,
        )
    )
    for index in range(1, model.njoints):
        name, joint, seat = model.names[index], model.joints[index], model.jointPlacements[index]
        here = place.at(f"joint {shown(name)}")
        motions = list(_motions(joint, here, snapper))
        names = [name] if len(motions) == 1 else [f"{name}_{k}" for k in range(1, len(motions) + 1)]
        parents = [bodies[int(model.parents[index])].name, *names[:-1]]
        children = [
            *(Link(one, place=here) for one in names[:-1]),
            replace(bodies[index], inertials=_inertia(model.inertias[index], here)),
        ]
        behind, at = (
            pose(seat.translation, of_matrix(seat.rotation), snapper, here),
            (joint.idx_q, joint.idx_v),
        )
        for motion, own, parent, child in zip(motions, names, parents, children, strict=True):
            one = Connection(
                own,
                motion.kind,
                parent,
                child.name,
                compose(behind, motion.before),
                motion.axis,
                place=here,
                parameters=motion.parameters,
            )
            connections.append(
                _following(one, joint, model.names[leaders[index]], here)
                if index in leaders
                else _driven(one, model, at, motion)
            )
            behind, at = (), (at[0] + motion.nq, at[1] + motion.nv)
        links += children
    nameless = (
        () if model.name else (Note("info", f"the model has no name, and is called {NAMELESS}"),)
    )
    return Tree(
        model.name or NAMELESS,
        tuple(links),
        tuple(connections),
        frames,
        vector(model.gravity.linear, place.at("gravity")),
        notes=nameless,
        place=place,
        pinocchio_order=AS_IN_THE_MODEL,
        mimic="couple" if leaders else None,
    )


def _motions(joint: Any, place: Place, snapper: Snapper, before: Pose = ()) -> Iterator[_Motion]:
    """What a joint does, in an order. DescriptionError for a type that symgen has not."""
    name = joint.shortname().removeprefix(_PREFIX)
    own = joint.extract() if hasattr(joint, "extract") else joint
    aligned = _ALIGNED.fullmatch(name)
    if name == "Composite":
        for part, seat in zip(own.joints, own.jointPlacements, strict=True):
            placed = pose(seat.translation, of_matrix(seat.rotation), snapper, place)
            yield from _motions(part, place, snapper, compose(before, placed))
            before = ()
    elif name == "Mimic":
        yield _mimicking(own, place)
    elif name in _ROWS:
        for one in _ROWS[name]:
            yield _Motion(_KINDS[one[0]], _ALONG[one[1]], before=before)
            before = ()
    elif name == "Universal":
        yield _Motion("revolute", vector(own.axis1, place), before=before)
        yield _Motion("revolute", vector(own.axis2, place))
    elif name in _WHOLE:
        yield _Motion(_WHOLE[name], before=before, nq=joint.nq, nv=joint.nv)
    elif aligned or name in _UNALIGNED:
        kind = _KINDS[aligned[1]] if aligned else _UNALIGNED[name]
        pitch = (("pitch", exact(own.pitch, place)),) if hasattr(own, "pitch") else ()
        yield _Motion(
            kind,
            _ALONG[aligned[2]] if aligned else vector(own.axis, place),
            pitch,
            before,
            nq=joint.nq,
        )
    else:
        raise place.error(
            f"its type {shown(joint.shortname())} is not supported",
            f"take one of {', '.join(('R', 'P', 'H', 'RUB', *_WHOLE, *_ROWS, 'Universal', 'Composite'))}",
        )


def _mimicking(joint: Any, place: Place) -> _Motion:
    """The joint inside one that mimics, of which its text alone tells."""
    found = re.search(rf"Mimicking joint type: {_PREFIX}(\w+)", str(joint))
    name = found[1] if found else ""
    aligned = _ALIGNED.fullmatch(name)
    if aligned and aligned[1] in ("R", "P"):
        return _Motion(_KINDS[aligned[1]], _ALONG[aligned[2]])
    raise place.error(
        f"it mimics another as a {shown(name)}, whose axis Pinocchio does not tell",
        "read the robot's URDF",
    )


def _following(one: Connection, joint: Any, leader: str, place: Place) -> Connection:
    own = joint.extract() if hasattr(joint, "extract") else joint
    return replace(one, mimic=Mimic(leader, exact(own.scaling, place), exact(own.offset, place)))


def _driven(one: Connection, model: Any, at: tuple[int, int], motion: _Motion) -> Connection:
    """The same with what the model says of its entries of q and v, from `at` on."""
    q, v = at
    ranged = motion.nq == motion.nv == 1
    ends = (
        model.lowerPositionLimit[q],
        model.upperPositionLimit[q],
        model.velocityLimit[v],
        model.effortLimit[v],
    )
    limits = Limits(*(limit(end, one.place) for end in ends)) if ranged else Limits()
    numbers = {
        name: [exact(x, one.place) for x in getattr(model, name)[v : v + motion.nv]]
        for name in ("armature", "damping", "friction")
        if hasattr(model, name)
    }
    rotor = max(exact(x, one.place) for x in model.rotorInertia[v : v + motion.nv])
    return replace(
        one,
        limits=limits,
        drive=Drive.of_velocities(numbers),
        unapplied=(("rotor inertia", rotor),) if rotor else (),
    )


def _inertia(inertia: Any, place: Place) -> tuple[Inertial, ...]:
    """Of a body, about its mass centre; nothing where it has neither mass nor moments."""
    tensor = inertia.inertia
    moments = tuple(exact(tensor[i][j], place) for i in range(3) for j in range(i, 3))
    mass = exact(inertia.mass, place)
    return (
        (Inertial(mass, moments, (Shift(vector(inertia.lever, place)),), place),)
        if mass or any(moments)
        else ()
    )


def _named(model: Any, place: Place, snapper: Snapper) -> tuple[list[Link], tuple[ExtraFrame, ...]]:
    """The link of each body, by its joint's index, without its inertia; and the further frames."""
    first: dict[int, Any] = {}
    others = []
    for frame in model.frames:
        kind = str(frame.type).rpartition(".")[2]
        if kind in ("BODY", "OP_FRAME") and (
            kind != "BODY" or first.setdefault(int(frame.parentJoint), frame) is not frame
        ):
            others.append(frame)

    def posed(frame: Any) -> tuple[Pose, Place]:
        here = place.at(f"frame {shown(frame.name)}")
        return pose(
            frame.placement.translation, of_matrix(frame.placement.rotation), snapper, here
        ), here

    links = []
    for index, name in enumerate(model.names):
        on, here = posed(first[index]) if index in first else ((), place.at(f"joint {shown(name)}"))
        links.append(
            Link(
                first[index].name if index in first else f"{name}_body" if index else name,
                place=here,
                frame=on,
            )
        )
    further = {frame.name: frame for frame in reversed(others)}
    for link in links:
        further.pop(link.name, None)
    return links, tuple(
        ExtraFrame(frame.name, links[int(frame.parentJoint)].name, *posed(frame))
        for frame in reversed(further.values())
    )
