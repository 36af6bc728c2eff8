"""The joints of an SDF model, as connections between its links, with their `axis` and `axis2`: direction, limits, drive, leader.

The child of a joint moves with the frame of that joint: at the joint's origin, with the axes that its axis is given in. A gearbox
joins nothing: it couples the two joints that lead from its reference body to its parent and its child.

A link has one parent; the joint to a second one, which stands later in the file, closes a loop. Where the model is drawn every
joint is closed, so that both ends of a loop are the joint's frame there, in the steps of the file. z lies along the axis; of a
universal joint x along the first one on the parent, y along the second one on the child.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from symgen.description.quantities import Place, is_writable, rounded, shown
from symgen.description.readers._mjcf.orientations import along_z
from symgen.description.readers._sdf.frames import MODEL, Frame, Scope, Ways, at_origin, direction
from symgen.description.readers._sdf.models import Models
from symgen.description.snapping import HALF_PI
from symgen.description.tree import Closing, Connection, Grip, Link
from symgen.description.universal import two_hinges
from symgen.mechanism.drives import NO_DRIVE, Drive
from symgen.mechanism.mechanism import Limits, Mimic, Note
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Pose, Turn, Vector3, compose

OURS = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "screw": "helical",
    "ball": "spherical",
    "universal": "universal",
    "revolute2": "universal",
    "fixed": "fixed",
}
"""What symgen calls the types of joints; a gearbox is none."""
_HINGES = ("revolute", "continuous")
_ALIGNED = 1 - 1e-9


@dataclass(frozen=True)
class Joint:
    """One joint as declared: `axes` are none of a fixed one and a ball, two of a universal one, else one."""

    scope: Scope
    frame: Frame
    element: Any
    kind: str
    parent: Frame
    child: Frame
    axes: tuple[Axis, ...] = ()

    @property
    def seat(self) -> Frame:
        """The frame that its axis is given in."""
        return self.axes[0].seat if self.axes else self.frame

    @property
    def moved(self) -> Frame:
        """The frame that its child moves with, where it stands with all coordinates at zero."""
        return self.axes[-1].seat if self.axes else self.frame

    @property
    def names(self) -> tuple[str, ...]:
        """What its coordinates' connections are called."""
        return (
            (f"{self.frame.name}_1", f"{self.frame.name}_2")
            if self.kind == "universal"
            else (self.frame.name,)
        )


class Joints:
    """All joints of one model and of the world that touch it."""

    def __init__(self, scopes: list[Scope], models: Models, ways: Ways) -> None:
        self.ways = ways
        self.notes: list[Note] = []
        found = [
            self._joint(scope, frame, element, models)
            for scope in scopes
            for frame, element in scope.joints
        ]
        self.all = [one for one in found if one.kind != "gearbox"]
        self.gears = [one for one in found if one.kind == "gearbox"]
        self.above: dict[Frame, Joint] = {}
        """Link -> the first joint whose child it is. The others close loops."""
        for one in self.all:
            self.above.setdefault(one.child, one)
        self.joints = [one for one in self.all if self.above[one.child] is one]
        self.cut = [one for one in self.all if self.above[one.child] is not one]
        self.seats = {link: one.moved for link, one in self.above.items()}

    def _joint(self, scope: Scope, frame: Frame, element: Any, models: Models) -> Joint:
        said = scope.text.attribute(element, "type", frame.place)
        if said != "gearbox" and said not in OURS:
            raise frame.place.error(
                f"its type {shown(said)} is not supported (supported: {', '.join(OURS)}, gearbox)",
                "declare another type",
            )
        kind = OURS.get(said, said)
        parent, child = (
            self.ways.carrier(models.end(scope, frame, element, role))
            for role in ("parent", "child")
        )
        if child.kind == "world":
            raise frame.place.error(
                "its child is the world", "exchange its parent and child, and turn its axis round"
            )
        names = {
            "fixed": (),
            "spherical": (),
            "universal": ("axis", "axis2"),
            "gearbox": ("axis", "axis2"),
        }.get(kind, ("axis",))
        axes = tuple(axis(scope, frame, element, name, self.ways) for name in names)
        return Joint(scope, frame, element, kind, parent, child, axes)

    def connections(self) -> tuple[list[Link], list[Connection]]:
        """The links that stand between the axes of universal joints, and all connections."""
        links: list[Link] = []
        made: list[Connection] = []
        for one in self.joints:
            whole = self._whole(one)
            if one.kind == "universal":
                cross, hinges = self._hinges(one, whole)
                links.append(cross)
                made += hinges
            else:
                made.append(whole)
        return links, self._coupled(made)

    def seat(self, link: Frame) -> Frame:
        """The frame that a link moves with: that of the joint above it, or the link's own, or what stands for it at the root."""
        return self.seats.get(link, link)

    @cached_property
    def standing(self) -> set[Frame]:
        """The links that fixed joints hold to the world."""
        return self.standing_with(())

    def standing_with(self, roots: Iterable[Frame]) -> set[Frame]:
        """The links that fixed joints hold to the world or to one of `roots`, and those."""
        waiting = [*[one.parent for one in self.joints if one.parent.kind == "world"][:1], *roots]
        above: dict[Frame, list[Frame]] = {}
        for one in self.joints:
            if one.kind == "fixed":
                above.setdefault(one.parent, []).append(one.child)
        reached = set(waiting)
        for frame in waiting:
            new = [child for child in above.get(frame, ()) if child not in reached]
            reached.update(new)
            waiting += new
        return reached

    def _whole(self, one: Joint) -> Connection:
        place = one.frame.place
        pose = self.ways.between(self.seat(one.parent), one.seat, place)
        parameters = (("pitch", _pitch(one)),) if one.kind == "helical" else ()
        first = one.axes[0] if one.axes else None
        made = Connection(
            one.frame.name,
            one.kind,
            one.parent.name,
            one.child.name,
            pose,
            Z_AXIS,
            place=place,
            parameters=parameters,
            unapplied=self._of_a_ball(one),
        )
        return (
            made
            if first is None
            else replace(made, axis=first.xyz, limits=first.limits, drive=first.drive)
        )

    def _of_a_ball(self, one: Joint) -> tuple[tuple[str, Fraction], ...]:
        """What a ball joint says of an axis, which it has not."""
        if one.kind != "spherical":
            return ()
        return axis(one.scope, one.frame, one.element, "axis", self.ways).drive.declared

    def _hinges(self, one: Joint, whole: Connection) -> tuple[Link, list[Connection]]:
        first, second = one.axes
        alike = first.seat is second.seat or first.seat.pose == second.seat.pose
        axes = (
            (first.xyz, second.xyz) if alike else (X_AXIS, Y_AXIS)
        )  # of two frames: only directions tell
        on = direction(self.ways.between(first.seat, second.seat, whole.place), second.xyz)
        if abs(sum(a * b for a, b in zip(direction((), first.xyz), on, strict=True))) > _ALIGNED:
            raise whole.place.error(
                "its two axes are parallel, so that both of them turn about one line",
                "give two directions, or write a revolute joint",
            )
        cross, (above, below) = two_hinges(whole, axes, (first.limits, second.limits))
        pose = () if alike else self.ways.between(first.seat, second.seat, whole.place)
        return cross, [
            replace(above, axis=first.xyz),
            replace(below, axis=second.xyz, pose=pose, drive=second.drive),
        ]

    def _coupled(self, made: list[Connection]) -> list[Connection]:
        """The same with what follows others: by `mimic`, and by gearboxes."""
        follows: dict[str, Mimic] = {}
        for one in self.all:
            for name, own in zip(one.names, one.axes, strict=False):
                if own.follows is not None:
                    follows[name] = self._mimic(one, own.follows)
        for gear in self.gears:
            name, mimic = self._geared(gear)
            if name in follows:
                raise gear.frame.place.error(
                    f"joint {shown(name)} follows another joint already", "keep one of the two"
                )
            follows[name] = mimic
        self._tell_lost(follows)
        return [
            replace(one, mimic=follows[one.name]) if one.name in follows else one for one in made
        ]

    def _tell_lost(self, follows: dict[str, Mimic]) -> None:
        """Take out, and say, what hangs on a joint that closes a loop, which has no coordinate."""
        closing = {name for one in self.cut for name in one.names}
        for name, mimic in list(follows.items()):
            if mimic.joint in closing or name in closing:
                del follows[name]
                which = name if name in closing else mimic.joint
                what = f"that joint {name} follows joint {mimic.joint} is left out, since {which} closes a loop"
                self.notes.append(Note("warning", what))

    def _mimic(self, one: Joint, said: Follower) -> Mimic:
        leader = one.scope.find(said.leader, said.place)
        found = self._by_frame.get(leader)
        if found is None or (said.axis == "axis2" and len(found.names) < 2):
            raise said.place.error(
                f"{shown(said.leader)} is no joint with that axis", "name a joint that is declared"
            )
        return Mimic(
            found.names[-1] if said.axis == "axis2" else found.names[0],
            said.multiplier,
            said.offset,
        )

    @cached_property
    def _by_frame(self) -> dict[Frame, Joint]:
        return {one.frame: one for one in self.all}

    def _geared(self, gear: Joint) -> tuple[str, Mimic]:
        """(the joint that follows, whom and how): θ₂ = −ratio·θ₁, angles from the reference body to parent and child."""
        text, place = gear.scope.text, gear.frame.place
        body = self.ways.carrier(
            gear.scope.find(text.word(gear.element, "gearbox_reference_body", place), place)
        )
        ratio = text.number(gear.element, "gearbox_ratio", place)
        (driver, one), (driven, two) = (
            self._hinge(gear, body, link, own)
            for link, own in zip((gear.parent, gear.child), gear.axes, strict=True)
        )
        return driven, Mimic(
            driver, -(Fraction(1) if ratio is None else ratio) * one * two, Fraction(0)
        )

    def _hinge(self, gear: Joint, body: Frame, link: Frame, along: Axis) -> tuple[str, int]:
        """(the hinge between two links, 1 or −1 as it turns the second one about an axis or against it)."""
        found = next(
            (one for one in self._between.get((body, link), ()) if one.kind in _HINGES), None
        )
        if found is None:
            raise gear.frame.place.error(
                f"no revolute joint leads from its reference body {shown(body.name)} to {shown(link.name)}",
                "declare one, or couple two joints by <mimic>",
            )
        own = found.axes[0]
        seen = direction(self.ways.between(own.seat, along.seat, gear.frame.place), along.xyz)
        cosine = sum(a * b for a, b in zip(direction((), own.xyz), seen, strict=True))
        if abs(cosine) < _ALIGNED:
            raise gear.frame.place.error(
                f"its axis is not that of joint {shown(found.frame.name)}",
                "give both one direction",
            )
        sign = 1 if cosine > 0 else -1
        return found.frame.name, sign if found.parent is body else -sign

    @cached_property
    def _between(self) -> dict[tuple[Frame, Frame], list[Joint]]:
        found: dict[tuple[Frame, Frame], list[Joint]] = {}
        for one in self.all:
            found.setdefault((one.parent, one.child), []).append(one)
            found.setdefault((one.child, one.parent), []).append(one)
        return found


def _pitch(one: Joint) -> Fraction:
    """The advance of a screw in m a rad, right-handed.

    `screw_thread_pitch` is in m a turn; `thread_pitch`, which it supersedes, in rad a metre, positive where left-handed
    (sdformat's joint.sdf of 1.10). A turn is no number of rad that can be written: the quotient has 60 digits.
    """
    text, place = one.scope.text, one.frame.place
    lead = text.number(one.element, "screw_thread_pitch", place)
    turns = text.number(one.element, "thread_pitch", place) if lead is None else None
    if lead is None and turns is None:
        raise place.error(
            "a screw says neither screw_thread_pitch nor thread_pitch",
            "add <screw_thread_pitch>, in m a turn",
        )
    if not (lead or turns):
        raise place.error(
            "its pitch is zero",
            "write a revolute joint" if lead is not None else "write a prismatic joint",
        )
    found = rounded(lead / (4 * HALF_PI)) if lead else -1 / (turns or Fraction(1))
    if not is_writable(found):
        raise _unwritable(one)
    return found


def _unwritable(one: Joint) -> DescriptionError:
    return one.frame.place.error("its pitch is beyond a double", "write a number of ordinary size")


# -- loops --


CLOSED_BY = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "spherical": "spherical",
    "universal": "universal",
    "fixed": "weld",
}
_SQUARE = 1e-9
_QUARTER = Angle(pi=Fraction(1, 2))
_TO = {"x": (Turn(Y_AXIS, -_QUARTER),), "y": (Turn(X_AXIS, _QUARTER),), "z": ()}
"""What turns a frame whose z lies along an axis so that another letter does."""


def loops(joints: Joints, ways: Ways) -> tuple[tuple[Closing, ...], list[Note]]:
    """The loops, and what of the joints that close them is not modelled. DescriptionError: none closes so."""
    found: list[Closing] = []
    notes: list[Note] = []
    for one in joints.cut:
        if one.kind not in CLOSED_BY:
            raise one.frame.place.error(
                f"it closes a loop, since link {shown(one.child.name)} has a parent through joint "
                f"{shown(joints.above[one.child].frame.name)} already, and no loop is closed by a {one.kind} joint",
                "put it before that one, which then closes the loop",
            )
        first, second = _ends(one, joints, ways)
        found.append(
            Closing(one.frame.name, CLOSED_BY[one.kind], first, second, place=one.frame.place)
        )
        notes.append(_note(one, joints))
    return tuple(found), notes


def _note(one: Joint, joints: Joints) -> Note:
    """What was done with a joint, and what is lost by it."""
    lost = [name for own in one.axes for name, _ in own.drive.declared]
    lost += ["limits"] * any(own.limits != UNLIMITED for own in one.axes)
    what = (
        f"joint {one.frame.name} closes a loop and has no coordinate, since link {one.child.name} hangs on joint "
        f"{joints.above[one.child].frame.name} already"
    )
    return (
        Note("warning", f"{what}; left out of it: {', '.join(dict.fromkeys(lost))}")
        if lost
        else Note("info", what)
    )


def _ends(one: Joint, joints: Joints, ways: Ways) -> tuple[Grip, Grip]:
    place = one.frame.place

    def on(link: Frame, axis: Axis | None, letter: str) -> Grip:
        seat = one.frame if axis is None else axis.seat
        turn: Pose = () if axis is None else (*along_z(axis.xyz, place), *_TO[letter])
        return Grip(link.name, compose(ways.between(joints.seat(link), seat, place), turn), place)

    if one.kind != "universal":
        axis = one.axes[0] if one.axes else None
        return on(one.parent, axis, "z"), on(one.child, axis, "z")
    first, second = one.axes
    seen = direction(ways.between(first.seat, second.seat, place), second.xyz)
    if abs(sum(a * b for a, b in zip(direction((), first.xyz), seen, strict=True))) > _SQUARE:
        raise place.error(
            "it closes a loop, and its two axes are not at right angles",
            f"put it before joint {shown(joints.above[one.child].frame.name)}, which then closes the loop",
        )
    return on(one.parent, first, "x"), on(one.child, second, "y")


# -- axes --

ENDLESS = 10**16
"""A limit of this size or more is none: older versions write 1e16 for infinity."""
UNLIMITED = Limits()
_BOUNDLESS = ("inf", "infinity")


@dataclass(frozen=True)
class Follower:
    """Position = multiplier·(that of an axis of joint `leader`) + offset."""

    leader: str
    axis: str
    multiplier: Fraction
    offset: Fraction
    place: Place


@dataclass(frozen=True)
class Axis:
    """One axis of a joint: `seat` is the frame at the joint's origin in whose axes `xyz` is given."""

    seat: Frame
    xyz: Vector3 = Z_AXIS
    limits: Limits = UNLIMITED
    drive: Drive = NO_DRIVE
    follows: Follower | None = None


def axis(scope: Scope, joint: Frame, element: Any, name: str, ways: Ways) -> Axis:
    """The `name`d axis of a joint: along z, without limits and drive, where it is absent."""
    text = scope.text
    found = text.one(element, name, joint.place)
    if found is None:
        if text.version < (1, 5):
            return Axis(_seat(scope, joint, MODEL, joint.place, ways))
        return Axis(joint)
    place = text.place(found, joint.place)
    xyz, frame = Z_AXIS, ""
    written = text.one(found, "xyz", place)
    if written is not None:
        here = text.place(written, place)
        xyz, frame = text.vector(written, here), (written.get("expressed_in") or "").strip()
        if not any(xyz):
            raise here.error("the axis is zero", "give it a direction, for example 0 0 1")
    if text.version < (1, 5):
        frame = MODEL
    elif text.flag(found, "use_parent_model_frame", place):
        if text.version >= (1, 7):
            raise place.error(
                "use_parent_model_frame is of SDF up to 1.6",
                f'write <xyz expressed_in="{MODEL}"> instead',
            )
        frame = MODEL
    seat = _seat(scope, joint, frame, place, ways) if frame else joint
    return Axis(
        seat,
        xyz,
        _limits(scope, found, place),
        _drive(scope, found, place),
        _follower(scope, found, place),
    )


def _seat(scope: Scope, joint: Frame, name: str, place: Place, ways: Ways) -> Frame:
    return at_origin(joint, ways.between(joint, scope.find(name, place), place))


def _limits(scope: Scope, element: Any, place: Place) -> Limits:
    text = scope.text
    limit = text.one(element, "limit", place)
    if limit is None:
        return UNLIMITED
    here = text.place(limit, place)

    def one(name: str) -> Fraction | None:
        written = text.one(limit, name, here)
        if written is None or (written.text or "").strip().lower().lstrip("+-") in _BOUNDLESS:
            return None
        try:
            value = text.number(limit, name, here)
        except DescriptionError as error:  # no answer depends on it
            text.note(
                "warning",
                Place(error.file, error.line, error.element),
                f"{error.what}; read as no limit",
            )
            return None
        return None if value is None or abs(value) >= ENDLESS else value

    lower, upper, velocity, effort = (
        one(name) for name in ("lower", "upper", "velocity", "effort")
    )
    if lower is not None and upper is not None and lower > upper:
        text.note(
            "warning",
            here,
            f"the lower limit {float(lower):g} is above the upper one, {float(upper):g}",
        )
    return Limits(
        lower, upper, *(None if most is None or most < 0 else most for most in (velocity, effort))
    )


def _drive(scope: Scope, element: Any, place: Place) -> Drive:
    """Damping, friction and spring. A spring of no stiffness has no place where it rests."""
    text = scope.text
    found = text.one(element, "dynamics", place)
    if found is None:
        return NO_DRIVE
    here = text.place(found, place)
    given: dict[str, Any] = {
        ours: text.number(found, theirs, here) or Fraction(0)
        for ours, theirs in (
            ("damping", "damping"),
            ("friction", "friction"),
            ("stiffness", "spring_stiffness"),
            ("rest", "spring_reference"),
        )
    }
    if not given["stiffness"]:
        given["rest"] = Fraction(0)
    return Drive(**given)


def _follower(scope: Scope, element: Any, place: Place) -> Follower | None:
    text = scope.text
    found = text.one(element, "mimic", place)
    if found is None:
        return None
    here = text.place(found, place)
    which = found.get("axis", "axis")
    if which not in ("axis", "axis2"):
        raise here.error(f"{shown(which)} is no axis", "write axis or axis2")
    factor = text.number(found, "multiplier", here)
    factor = Fraction(1) if factor is None else factor
    offset, reference = (
        text.number(found, name, here) or Fraction(0) for name in ("offset", "reference")
    )
    offset -= factor * reference
    if not is_writable(offset):
        raise here.error(
            "its offset, less what the reference makes, is beyond a double",
            "write numbers of ordinary size",
        )
    return Follower(text.attribute(found, "joint", here), which, factor, offset, here)
