"""Joints of an SDF model as connections between its links, with the contents of their elements
`axis` and `axis2`: direction, limits, drive, leader.

The pose of a joint, and of its child link, is given by the axis frame of the joint: its origin is
the origin of the joint's frame, and its axes are those in which the file expresses the joint's
axis. A gearbox connects no links. It couples two other joints, which connect its reference body to
its parent and to its child.

In the tree, a link has one parent. If several joints have the same child, the first in the file
belongs to the tree and each later one closes a loop. The file describes the robot in a pose in
which every loop is closed, so that both ends of a loop coincide with the axis frame of the closing
joint. At both ends z is along the axis. For a universal joint, x of the end on the parent is along
the first axis, and y of the end on the child along the second axis.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from symgen.description.quantities import Location, is_writable, quote, round_to_digits
from symgen.description.readers._mjcf.orientations import rotation_of_z
from symgen.description.readers._sdf.frames import (
    MODEL,
    Frame,
    FramePoses,
    Scope,
    at_origin,
    direction,
)
from symgen.description.readers._sdf.models import Models
from symgen.description.snapping import HALF_PI
from symgen.description.tree import Connection, DeclaredLoop, Link, LoopEnd
from symgen.description.universal import two_hinges
from symgen.mechanism.drives import NO_DRIVE, Drive
from symgen.mechanism.mechanism import Limits, Mimic, Note
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Pose, Turn, Vector3, compose

JOINT_TYPES = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "screw": "helical",
    "ball": "spherical",
    "universal": "universal",
    "revolute2": "universal",
    "fixed": "fixed",
}
"""symgen's names of SDF's joint types. A gearbox is not among them, since it is a coupling."""
_HINGES = ("revolute", "continuous")
_ALIGNED = 1 - 1e-9
"""Least |cosine| of the angle between two axes that count as parallel."""


@dataclass(frozen=True)
class Joint:
    """One declared joint.

    `axes`: none for a fixed or ball joint, two for a universal joint or a gearbox, one for others.
    """

    scope: Scope
    frame: Frame
    element: Any
    kind: str
    parent: Frame
    child: Frame
    axes: tuple[Axis, ...] = ()

    @property
    def axis_frame(self) -> Frame:
        """Frame in which the first axis is expressed; the joint's frame without an axis."""
        return self.axes[0].frame if self.axes else self.frame

    @property
    def child_frame(self) -> Frame:
        """Frame, at zero coordinates, that is fixed to the child: that of the last axis."""
        return self.axes[-1].frame if self.axes else self.frame

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the connections that represent the joint; a universal joint has two hinges."""
        return (
            (f"{self.frame.name}_1", f"{self.frame.name}_2")
            if self.kind == "universal"
            else (self.frame.name,)
        )


class Joints:
    """Joints of one model, and the joints of the world that have a link of the model."""

    def __init__(self, scopes: list[Scope], models: Models, frame_poses: FramePoses) -> None:
        self.frame_poses = frame_poses
        self.notes: list[Note] = []
        declared = [
            self._joint(scope, frame, element, models)
            for scope in scopes
            for frame, element in scope.joints
        ]
        self.axis_joints = [joint for joint in declared if joint.kind != "gearbox"]
        self.gears = [joint for joint in declared if joint.kind == "gearbox"]
        self.first_joint_above: dict[Frame, Joint] = {}
        """Joint of the tree that moves each child link: the first one in the file."""
        for joint in self.axis_joints:
            self.first_joint_above.setdefault(joint.child, joint)
        self.tree_joints = [
            joint for joint in self.axis_joints if self.first_joint_above[joint.child] is joint
        ]
        self.closing_joints = [
            joint for joint in self.axis_joints if self.first_joint_above[joint.child] is not joint
        ]
        self.child_frames = {
            link: joint.child_frame for link, joint in self.first_joint_above.items()
        }

    def _joint(self, scope: Scope, frame: Frame, element: Any, models: Models) -> Joint:
        declared_type = scope.text.attribute(element, "type", frame.location)
        if declared_type != "gearbox" and declared_type not in JOINT_TYPES:
            raise frame.location.error(
                f"its type {quote(declared_type)} is not supported (supported:"
                f" {', '.join(JOINT_TYPES)}, gearbox)",
                "declare another type",
            )
        kind = JOINT_TYPES.get(declared_type, declared_type)
        parent, child = (
            self.frame_poses.carrier(models.end(scope, frame, element, role))
            for role in ("parent", "child")
        )
        if child.kind == "world":
            raise frame.location.error(
                "its child is the world", "exchange its parent and child, and reverse its axis"
            )
        names = {
            "fixed": (),
            "spherical": (),
            "universal": ("axis", "axis2"),
            "gearbox": ("axis", "axis2"),
        }.get(kind, ("axis",))
        axes = tuple(axis(scope, frame, element, name, self.frame_poses) for name in names)
        return Joint(scope, frame, element, kind, parent, child, axes)

    def connections(self) -> tuple[list[Link], list[Connection]]:
        """Return the massless links of universal joints, and all connections."""
        links: list[Link] = []
        connections: list[Connection] = []
        for joint in self.tree_joints:
            connection = self._connection(joint)
            if joint.kind == "universal":
                cross, hinges = self._hinges(joint, connection)
                links.append(cross)
                connections += hinges
            else:
                connections.append(connection)
        return links, self._with_mimics(connections)

    def frame_of(self, link: Frame) -> Frame:
        """Return the frame that represents a link in the tree: the child frame of the joint that
        moves the link, or the frame of a root link.
        """
        return self.child_frames.get(link, link)

    @cached_property
    def fixed_links(self) -> set[Frame]:
        """Links that fixed joints connect to the world."""
        return self.links_fixed_to(())

    def links_fixed_to(self, roots: Iterable[Frame]) -> set[Frame]:
        """Return `roots` and the links that fixed joints connect to the world or to one of them."""
        to_visit = [
            *[joint.parent for joint in self.tree_joints if joint.parent.kind == "world"][:1],
            *roots,
        ]
        children: dict[Frame, list[Frame]] = {}
        for joint in self.tree_joints:
            if joint.kind == "fixed":
                children.setdefault(joint.parent, []).append(joint.child)
        fixed_frames = set(to_visit)
        for frame in to_visit:
            added = [child for child in children.get(frame, ()) if child not in fixed_frames]
            fixed_frames.update(added)
            to_visit += added
        return fixed_frames

    def _connection(self, joint: Joint) -> Connection:
        """Return the connection of a joint; that of a universal joint is then split into hinges."""
        location = joint.frame.location
        pose = self.frame_poses.relative_pose(
            self.frame_of(joint.parent), joint.axis_frame, location
        )
        parameters = (("pitch", _pitch(joint)),) if joint.kind == "helical" else ()
        axis = joint.axes[0] if joint.axes else None
        connection = Connection(
            joint.frame.name,
            joint.kind,
            joint.parent.name,
            joint.child.name,
            pose,
            Z_AXIS,
            location=location,
            parameters=parameters,
            unapplied=self._ball_drive(joint),
        )
        return (
            connection
            if axis is None
            else replace(connection, axis=axis.xyz, limits=axis.limits, drive=axis.drive)
        )

    def _ball_drive(self, joint: Joint) -> tuple[tuple[str, Fraction], ...]:
        """Return the drive values in the `axis` of a ball joint, which cannot be applied."""
        if joint.kind != "spherical":
            return ()
        return axis(
            joint.scope, joint.frame, joint.element, "axis", self.frame_poses
        ).drive.declared

    def _hinges(self, joint: Joint, universal: Connection) -> tuple[Link, list[Connection]]:
        """Return the massless cross and the two hinges that represent a universal joint."""
        first, second = joint.axes
        same_frame = first.frame is second.frame or first.frame.pose == second.frame.pose
        second_direction = direction(
            self.frame_poses.relative_pose(first.frame, second.frame, universal.location),
            second.xyz,
        )
        if (
            abs(sum(a * b for a, b in zip(direction((), first.xyz), second_direction, strict=True)))
            > _ALIGNED
        ):
            raise universal.location.error(
                "its two axes are parallel",
                "give two directions, or write a revolute joint",
            )
        # X_AXIS and Y_AXIS are placeholders: the two axes may be expressed in different frames.
        cross, (first_hinge, second_hinge) = two_hinges(
            universal, (X_AXIS, Y_AXIS), (first.limits, second.limits)
        )
        pose = (
            ()
            if same_frame
            else self.frame_poses.relative_pose(first.frame, second.frame, universal.location)
        )
        return cross, [
            replace(first_hinge, axis=first.xyz),
            replace(second_hinge, axis=second.xyz, pose=pose, drive=second.drive),
        ]

    def _with_mimics(self, connections: list[Connection]) -> list[Connection]:
        """Return the connections; followers get their mimic relation from `mimic` or a gearbox."""
        coupling: dict[str, Mimic] = {}
        for joint in self.axis_joints:
            for name, axis in zip(joint.names, joint.axes, strict=False):
                if axis.mimic is not None:
                    coupling[name] = self._mimic(joint, axis.mimic)
        for gear in self.gears:
            name, mimic = self._gear_mimic(gear)
            if name in coupling:
                raise gear.frame.location.error(
                    f"joint {quote(name)} already follows another joint",
                    "keep one of the two couplings",
                )
            coupling[name] = mimic
        self._drop_mimics_of_loops(coupling)
        return [
            replace(joint, mimic=coupling[joint.name]) if joint.name in coupling else joint
            for joint in connections
        ]

    def _drop_mimics_of_loops(self, coupling: dict[str, Mimic]) -> None:
        """Remove, with a warning, the couplings of joints that close loops, since these joints have
        no coordinate.
        """
        closing_names = {name for joint in self.closing_joints for name in joint.names}
        for name, mimic in list(coupling.items()):
            if mimic.joint in closing_names or name in closing_names:
                del coupling[name]
                closing_joint = name if name in closing_names else mimic.joint
                text = (
                    f"the coupling of joint {name} to joint {mimic.joint} is left out: joint"
                    f" {closing_joint} closes a loop"
                )
                self.notes.append(Note("warning", text))

    def _mimic(self, joint: Joint, follower: Follower) -> Mimic:
        """Return the mimic relation of an element `mimic` of `joint`, with the leader's name."""
        leader = joint.scope.find(follower.leader, follower.location)
        leading_joint = self._joints_by_frame.get(leader)
        if leading_joint is None or (follower.axis == "axis2" and len(leading_joint.names) < 2):
            raise follower.location.error(
                f"{quote(follower.leader)} is not a joint with the element <{follower.axis}>",
                "name a declared joint",
            )
        return Mimic(
            leading_joint.names[-1] if follower.axis == "axis2" else leading_joint.names[0],
            follower.multiplier,
            follower.offset,
        )

    @cached_property
    def _joints_by_frame(self) -> dict[Frame, Joint]:
        return {joint.frame: joint for joint in self.axis_joints}

    def _gear_mimic(self, gear: Joint) -> tuple[str, Mimic]:
        """Return (follower, mimic relation) of a gearbox: θ₂ = −ratio·θ₁.

        θ₁ and θ₂ are the angles of the parent and of the child relative to the reference body.
        """
        text, location = gear.scope.text, gear.frame.location
        body = self.frame_poses.carrier(
            gear.scope.find(text.word(gear.element, "gearbox_reference_body", location), location)
        )
        ratio = text.number(gear.element, "gearbox_ratio", location)
        (driver, driver_sign), (driven, driven_sign) = (
            self._hinge_between(gear, body, link, axis)
            for link, axis in zip((gear.parent, gear.child), gear.axes, strict=True)
        )
        return driven, Mimic(
            driver,
            -(Fraction(1) if ratio is None else ratio) * driver_sign * driven_sign,
            Fraction(0),
        )

    def _hinge_between(self, gear: Joint, body: Frame, link: Frame, axis: Axis) -> tuple[str, int]:
        """Return the name of the hinge between `body` and `link`, and a sign.

        The sign is 1 if a positive angle of the hinge rotates `link` positively about `axis`, else
        −1.
        """
        hinge = next(
            (
                joint
                for joint in self._joints_between.get((body, link), ())
                if joint.kind in _HINGES
            ),
            None,
        )
        if hinge is None:
            raise gear.frame.location.error(
                f"no revolute joint leads from its reference body {quote(body.name)} to"
                f" {quote(link.name)}",
                "declare one, or couple two joints by <mimic>",
            )
        hinge_axis = hinge.axes[0]
        axis_direction = direction(
            self.frame_poses.relative_pose(hinge_axis.frame, axis.frame, gear.frame.location),
            axis.xyz,
        )
        cosine = sum(
            a * b for a, b in zip(direction((), hinge_axis.xyz), axis_direction, strict=True)
        )
        if abs(cosine) < _ALIGNED:
            raise gear.frame.location.error(
                f"its axis differs from that of joint {quote(hinge.frame.name)}",
                "give both the same direction",
            )
        sign = 1 if cosine > 0 else -1
        return hinge.frame.name, sign if hinge.parent is body else -sign

    @cached_property
    def _joints_between(self) -> dict[tuple[Frame, Frame], list[Joint]]:
        """Joints between two links, in either order of the links."""
        joints_between: dict[tuple[Frame, Frame], list[Joint]] = {}
        for joint in self.axis_joints:
            joints_between.setdefault((joint.parent, joint.child), []).append(joint)
            joints_between.setdefault((joint.child, joint.parent), []).append(joint)
        return joints_between


def _pitch(joint: Joint) -> Fraction:
    """Return the right-handed advance of a screw in m per rad.

    `screw_thread_pitch` is in m per turn. `thread_pitch`, which it supersedes, is in rad per metre,
    positive for left-handed screws (sdformat's joint.sdf of 1.10). The quotient by 2π rad per turn
    is rounded to 60 digits.
    """
    text, location = joint.scope.text, joint.frame.location
    lead = text.number(joint.element, "screw_thread_pitch", location)
    turns = text.number(joint.element, "thread_pitch", location) if lead is None else None
    if lead:
        pitch = round_to_digits(lead / (4 * HALF_PI))
    elif turns:
        pitch = -1 / turns
    elif lead is None and turns is None:
        raise location.error(
            "a screw needs screw_thread_pitch or thread_pitch",
            "add <screw_thread_pitch>, in m per turn",
        )
    else:
        raise location.error(
            "its pitch is zero",
            "write a revolute joint" if lead is not None else "write a prismatic joint",
        )
    if not is_writable(pitch):
        raise _unwritable(joint)
    return pitch


def _unwritable(joint: Joint) -> DescriptionError:
    """Return the error for a pitch outside the range of a double."""
    return joint.frame.location.error(
        "its pitch is beyond a double", "write a number of ordinary size"
    )


# -- loops --


CLOSED_BY = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "spherical": "spherical",
    "universal": "universal",
    "fixed": "weld",
}
"""Kind of the loop that a joint of each type closes."""
_PERPENDICULAR = 1e-9
"""Largest |cosine| of the angle between two axes that count as perpendicular."""
_RIGHT_ANGLE = Angle(pi=Fraction(1, 2))
_ROTATIONS_FROM_Z = {
    "x": (Turn(Y_AXIS, -_RIGHT_ANGLE),),
    "y": (Turn(X_AXIS, _RIGHT_ANGLE),),
    "z": (),
}
"""Rotations after which a frame whose z was along an axis has its x, y or z along this axis."""


def loops(joints: Joints, frame_poses: FramePoses) -> tuple[tuple[DeclaredLoop, ...], list[Note]]:
    """Return the loops, and a note on each joint that closes a loop.

    Raises DescriptionError for a joint type that cannot close a loop.
    """
    closures: list[DeclaredLoop] = []
    notes: list[Note] = []
    for joint in joints.closing_joints:
        if joint.kind not in CLOSED_BY:
            raise joint.frame.location.error(
                f"it closes a loop, since link {quote(joint.child.name)} already has a parent"
                f" through joint {quote(joints.first_joint_above[joint.child].frame.name)}, but a"
                f" {joint.kind} joint cannot close a loop",
                "declare it before that joint, which then closes the loop",
            )
        first, second = _loop_ends(joint, joints, frame_poses)
        closures.append(
            DeclaredLoop(
                joint.frame.name,
                CLOSED_BY[joint.kind],
                first,
                second,
                location=joint.frame.location,
            )
        )
        notes.append(_loop_note(joint, joints))
    return tuple(closures), notes


def _loop_note(joint: Joint, joints: Joints) -> Note:
    """Return the note that a joint closes a loop, with the omitted parts of the joint."""
    omitted = [name for axis in joint.axes for name, _ in axis.drive.declared]
    omitted += ["limits"] * any(axis.limits != UNLIMITED for axis in joint.axes)
    text = (
        f"joint {joint.frame.name} closes a loop and has no coordinate, since joint "
        f"{joints.first_joint_above[joint.child].frame.name} already moves link {joint.child.name}"
    )
    return (
        Note("warning", f"{text}; left out: {', '.join(dict.fromkeys(omitted))}")
        if omitted
        else Note("info", text)
    )


def _loop_ends(joint: Joint, joints: Joints, frame_poses: FramePoses) -> tuple[LoopEnd, LoopEnd]:
    """Return the ends of a loop on the parent and on the child of the closing joint."""
    location = joint.frame.location

    def end_on(link: Frame, axis: Axis | None, letter: str) -> LoopEnd:
        # The x, y or z axis of the end, as `letter` says, is along `axis`.
        frame = joint.frame if axis is None else axis.frame
        rotation: Pose = (
            () if axis is None else (*rotation_of_z(axis.xyz, location), *_ROTATIONS_FROM_Z[letter])
        )
        return LoopEnd(
            link.name,
            compose(frame_poses.relative_pose(joints.frame_of(link), frame, location), rotation),
            location,
        )

    if joint.kind != "universal":
        axis = joint.axes[0] if joint.axes else None
        return end_on(joint.parent, axis, "z"), end_on(joint.child, axis, "z")
    first, second = joint.axes
    second_direction = direction(
        frame_poses.relative_pose(first.frame, second.frame, location), second.xyz
    )
    if (
        abs(sum(a * b for a, b in zip(direction((), first.xyz), second_direction, strict=True)))
        > _PERPENDICULAR
    ):
        raise location.error(
            "it closes a loop, but its two axes are not perpendicular",
            f"declare it before joint {quote(joints.first_joint_above[joint.child].frame.name)},"
            " which then closes the loop",
        )
    return end_on(joint.parent, first, "x"), end_on(joint.child, second, "y")


# -- axes --

NO_LIMIT = 10**16
"""Magnitude from which a limit counts as no limit: older versions of SDF write 1e16 for infinity.
"""
UNLIMITED = Limits()
_INFINITY_WORDS = ("inf", "infinity")


@dataclass(frozen=True)
class Follower:
    """Content of an element `mimic`: position = multiplier·(position of `axis` of joint `leader`)
    + offset. `axis` is "axis" or "axis2".
    """

    leader: str
    axis: str
    multiplier: Fraction
    offset: Fraction
    location: Location


@dataclass(frozen=True)
class Axis:
    """Axis of a joint, with direction `xyz` in `frame`, whose origin is that of the joint."""

    frame: Frame
    xyz: Vector3 = Z_AXIS
    limits: Limits = UNLIMITED
    drive: Drive = NO_DRIVE
    mimic: Follower | None = None


def axis(scope: Scope, joint: Frame, element: Any, name: str, frame_poses: FramePoses) -> Axis:
    """Return the axis `name` of a joint; along z, without limits and drive, if it is absent."""
    text = scope.text
    axis_element = text.only_child(element, name, joint.location)
    if axis_element is None:
        if text.version < (1, 5):
            return Axis(_axis_frame(scope, joint, MODEL, joint.location, frame_poses))
        return Axis(joint)
    location = text.location(axis_element, joint.location)
    xyz, frame_name = Z_AXIS, ""
    xyz_element = text.only_child(axis_element, "xyz", location)
    if xyz_element is not None:
        xyz_location = text.location(xyz_element, location)
        xyz, frame_name = (
            text.vector(xyz_element, xyz_location),
            (xyz_element.get("expressed_in") or "").strip(),
        )
        if not any(xyz):
            raise xyz_location.error("the axis is zero", "give a nonzero axis, such as 0 0 1")
    if text.version < (1, 5):
        frame_name = MODEL
    elif text.flag(axis_element, "use_parent_model_frame", location):
        if text.version >= (1, 7):
            raise location.error(
                "use_parent_model_frame exists only up to SDF 1.6",
                f'write <xyz expressed_in="{MODEL}"> instead',
            )
        frame_name = MODEL
    return Axis(
        _axis_frame(scope, joint, frame_name, location, frame_poses) if frame_name else joint,
        xyz,
        _limits(scope, axis_element, location),
        _drive(scope, axis_element, location),
        _follower(scope, axis_element, location),
    )


def _axis_frame(
    scope: Scope, joint: Frame, name: str, location: Location, frame_poses: FramePoses
) -> Frame:
    """Return the frame at the joint's origin with the axes of the frame `name`."""
    return at_origin(joint, frame_poses.relative_pose(joint, scope.find(name, location), location))


def _limits(scope: Scope, element: Any, location: Location) -> Limits:
    """Return the limits of an axis."""
    text = scope.text
    limit = text.only_child(element, "limit", location)
    if limit is None:
        return UNLIMITED
    limit_location = text.location(limit, location)

    def read_limit(name: str) -> Fraction | None:
        limit_value = text.only_child(limit, name, limit_location)
        if (
            limit_value is None
            or (limit_value.text or "").strip().lower().lstrip("+-") in _INFINITY_WORDS
        ):
            return None
        try:
            value = text.number(limit, name, limit_location)
        except DescriptionError as error:  # a warning is sufficient, as limits affect no result
            text.note(
                "warning",
                Location(error.file, error.line, error.element),
                f"{error.what}; read as no limit",
            )
            return None
        return None if value is None or abs(value) >= NO_LIMIT else value

    lower, upper, velocity, effort = (
        read_limit(name) for name in ("lower", "upper", "velocity", "effort")
    )
    if lower is not None and upper is not None and lower > upper:
        text.note(
            "warning",
            limit_location,
            f"the lower limit {float(lower):g} is above the upper one, {float(upper):g}",
        )
    return Limits(
        lower,
        upper,
        *(None if bound is None or bound < 0 else bound for bound in (velocity, effort)),
    )


def _drive(scope: Scope, element: Any, location: Location) -> Drive:
    """Return damping, friction and spring of an axis.

    The rest position is read as zero if the stiffness is zero.
    """
    text = scope.text
    dynamics = text.only_child(element, "dynamics", location)
    if dynamics is None:
        return NO_DRIVE
    dynamics_location = text.location(dynamics, location)
    values: dict[str, Any] = {
        name: text.number(dynamics, sdf_name, dynamics_location) or Fraction(0)
        for name, sdf_name in (
            ("damping", "damping"),
            ("friction", "friction"),
            ("stiffness", "spring_stiffness"),
            ("rest", "spring_reference"),
        )
    }
    if not values["stiffness"]:
        values["rest"] = Fraction(0)
    return Drive(**values)


def _follower(scope: Scope, element: Any, location: Location) -> Follower | None:
    """Return the mimic relation of an axis, or None."""
    text = scope.text
    mimic = text.only_child(element, "mimic", location)
    if mimic is None:
        return None
    mimic_location = text.location(mimic, location)
    axis_name = mimic.get("axis", "axis")
    if axis_name not in ("axis", "axis2"):
        raise mimic_location.error(f"{quote(axis_name)} is not an axis", "write axis or axis2")
    factor = text.number(mimic, "multiplier", mimic_location)
    factor = Fraction(1) if factor is None else factor
    offset, reference = (
        text.number(mimic, name, mimic_location) or Fraction(0) for name in ("offset", "reference")
    )
    offset -= factor * reference
    if not is_writable(offset):
        raise mimic_location.error(
            "its offset minus multiplier times reference is beyond a double",
            "write numbers of ordinary size",
        )
    return Follower(
        text.attribute(mimic, "joint", mimic_location), axis_name, factor, offset, mimic_location
    )
