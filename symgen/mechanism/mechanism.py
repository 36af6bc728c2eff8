"""The declared robot: a tree of rigid bodies on a fixed base, frozen and validated once.

Every number is the decimal of the description, as a `Fraction`. Every rotation is a product of
rotations about declared axes by an `Angle` = radians + pi*π. Nothing is rounded or evaluated here,
so that a reference at 80 digits and a derivation in exact constants start from the same
declaration.

Conventions. Joint i moves body i. Parents precede children; the base is body -1. A joint's frame is
the frame of its parent body displaced by the constant `pose`. The body's frame is the joint's frame
displaced by the joint's motion along `axis`, which is given in the joint's frame. Lengths are in m,
masses in kg, angles in rad.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, NamedTuple

from symgen.mechanism import trees
from symgen.mechanism.closed_loops import Loop, Start, choice_fault, loop_count_suffix, start_fault
from symgen.mechanism.closed_loops import fault as loops_fault
from symgen.mechanism.coupling import JointCoupling, intersect_ranges, leader_range, resolve_mimics
from symgen.mechanism.coupling import Mimic as Mimic
from symgen.mechanism.drives import FRICTION_SPEED, NO_DRIVE, Drive, speed_fault
from symgen.mechanism.joints import AboutAxis, Coordinate, Elementary, JointType, joint_type
from symgen.mechanism.notes import Note as Note
from symgen.support.errors import ArgumentError, MechanismError
from symgen.support.tables import html_table
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.contacts import parse_contact
from symgen.vocabulary.names import nearest
from symgen.vocabulary.poses import Z_AXIS, ZERO3, Pose, Shift, Vector3

BASE = -1


@dataclass(frozen=True)
class Limits:
    """Declared ranges of a joint; None where the description declares nothing."""

    lower: Fraction | None = None
    upper: Fraction | None = None
    velocity: Fraction | None = None
    effort: Fraction | None = None

    @property
    def text(self) -> str:
        """The range of the coordinate in rad or m; empty if neither end is declared."""
        if self.lower is None and self.upper is None:
            return ""
        lower_and_upper = (
            "−∞" if self.lower is None else f"{float(self.lower):g}",
            "∞" if self.upper is None else f"{float(self.upper):g}",
        )
        return " … ".join(lower_and_upper)


@dataclass(frozen=True, repr=False)
class Joint:
    """One joint: `kind` names a file in `symgen/mechanism/joints/`; `parent` is a body index, -1
    for the base.
    """

    name: str
    kind: str
    parent: int
    pose: Pose = ()
    axis: Vector3 = Z_AXIS
    limits: Limits = Limits()
    mimic: Mimic | None = None
    unapplied: tuple[tuple[str, Fraction], ...] = ()
    """Numbers that were read and reported but are not applied, as (name, value): damping, a gear
    without a rotor, …
    """
    parameters: tuple[tuple[str, Fraction], ...] = ()
    """Parameters of the joint type, as (name, value), such as the pitch of a screw."""
    drive: Drive = NO_DRIVE
    """Rotor, damping, friction and spring that are applied."""
    withheld: Drive = field(default=NO_DRIVE, compare=False)
    """Drive numbers that the description declares but the option `drives` leaves out."""

    @property
    def type(self) -> JointType:
        return joint_type(self.kind)

    @property
    def described(self) -> str:
        """The joint's type and its parameters, as text."""
        return ", ".join(
            [self.kind, *(f"{name} {float(value):g}" for name, value in self.parameters)]
        )

    @property
    def motions(self) -> tuple[Elementary, ...]:
        """The joint's motion as elementary motions, which the reference reads."""
        return self.type.elementary_motions(dict(self.parameters))

    @property
    def about_axis(self) -> tuple[AboutAxis, ...]:
        """The joint's elementary motions about its axis; empty for a joint without an axis."""
        return (
            tuple(step for step in self.motions if isinstance(step, AboutAxis))
            if self.type.directed
            else ()
        )

    def __repr__(self) -> str:
        carrier = f"body {self.parent}" if self.parent >= 0 else "the base"
        return f"<Joint {self.name}: {self.kind}, axis {_numbers(self.axis)}, on {carrier}>"


@dataclass(frozen=True, repr=False)
class Part:
    """One declared inertia of a body.

    `pose` leads from the body's frame to the part's centre of mass and axes. `moments` = (Ixx, Ixy,
    Ixz, Iyy, Iyz, Izz) are about that centre, in those axes (tensor entries: Ixy is −∫xy dm). A
    point mass has zero moments. `gravcomp` is the fraction of the part's weight that is
    compensated, at its centre.
    """

    link: str
    pose: Pose
    mass: Fraction
    moments: tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction] = (Fraction(0),) * 6
    gravcomp: Fraction = Fraction(0)

    def __repr__(self) -> str:
        return f"<Part {self.link}: {float(self.mass):g} kg>"


@dataclass(frozen=True, repr=False)
class Body:
    """The body that one joint moves: its own declared inertia and those of all links lumped into it
    (`parts`).
    """

    name: str
    parts: tuple[Part, ...] = ()

    @property
    def mass(self) -> Fraction:
        return sum((part.mass for part in self.parts), Fraction(0))

    @property
    def without_gravity_compensation(self) -> Body:
        """The body without gravity compensation."""
        return replace(
            self, parts=tuple(replace(part, gravcomp=Fraction(0)) for part in self.parts)
        )

    def __repr__(self) -> str:
        links = ", ".join(part.link for part in self.parts)
        return f"<Body {self.name}: {float(self.mass):g} kg, of {links or 'nothing'}>"


@dataclass(frozen=True, repr=False)
class Frame:
    """A named frame (every declared link has one): a constant `pose` from the frame of `body` (-1:
    the base).
    """

    name: str
    body: int
    pose: Pose = ()

    def __repr__(self) -> str:
        return (
            f"<Frame {self.name}: fixed to {f'body {self.body}' if self.body >= 0 else 'the base'}>"
        )


@dataclass(frozen=True, repr=False)
class Mechanism:
    """A tree of bodies on a fixed base. `joints[i]` moves `bodies[i]`; `frames` has every declared
    link.

    Raises MechanismError if parents, names, axes or masses are invalid.
    """

    name: str
    joints: tuple[Joint, ...]
    bodies: tuple[Body, ...]
    frames: tuple[Frame, ...] = ()
    gravity: Vector3 = (Fraction(0), Fraction(0), Fraction(-981, 100))
    base: str = "base"
    notes: tuple[Note, ...] = ()
    """Notes on what the reader changed, ignored or noticed, in the order of the file.

    `symgen.mechanism.notes.KINDS` lists the kinds.
    """
    source: str = ""
    source_sha256: str = ""
    base_parts: tuple[Part, ...] = field(default=())
    """Inertia fixed to the base. It never moves and is only reported."""
    coupled: bool = False
    """True if mimic joints follow their leaders; followers then have no entries of q and v."""
    friction_speed: Fraction = FRICTION_SPEED
    """ε of the friction of all joints, μ v/√(v² + ε²) (rad/s, m/s)."""
    loops: tuple[Loop, ...] = ()
    """Loop closures between links of the tree."""
    start: Start = ()
    """Coordinates from which the loops are closed, in the order of the joints; omitted joints start
    at their neutral coordinates.
    """
    independent: tuple[str, ...] = ()
    """Independent joints, or velocities, of a robot with closed loops; if empty, the first
    independent ones in the order of v.
    """
    actuated: tuple[str, ...] = ()
    """Actuated joints, or velocities, of a robot with closed loops; if empty, the independent ones.
    """

    def __post_init__(self) -> None:
        fault = next(self._faults(), None)
        if fault is not None:
            raise MechanismError(f"{self.name}: {fault}")

    def _faults(self) -> Iterator[str]:
        """Yield faults with their remedies; each check relies on those before it."""
        yield from self._count_faults()
        yield from _repeated_names("joint", [joint.name for joint in self.joints])
        yield from _repeated_names("frame", [frame.name for frame in self.frames])
        for index, joint in enumerate(self.joints):
            yield from (f"joint '{joint.name}'{fault}" for fault in _joint_faults(joint, index))
        yield from self._mass_faults()
        yield from self._frame_faults()
        if self.coupled and not any(self.joint_couplings):
            yield (
                "mimic joints are to be coupled, but no joint mimics another; use --mimic"
                " independent"
            )
        slow = speed_fault(self.friction_speed)
        if slow is not None and any(joint.drive.friction for joint in self.joints):
            yield "; ".join(slow)
        yield from map("; ".join, self._loop_faults())

    def _count_faults(self) -> Iterator[str]:
        if len(self.joints) != len(self.bodies):
            yield (
                f"{len(self.joints)} joints but {len(self.bodies)} bodies; declare one body per"
                " joint"
            )
        if not self.joints:
            yield "no joint moves, so there are no dynamics; declare or unlock at least one joint"

    def _mass_faults(self) -> Iterator[str]:
        for body in self.bodies:
            for part in body.parts:
                if part.mass < 0:
                    yield f"link '{part.link}' has a negative mass; masses must be zero or more"

    def _frame_faults(self) -> Iterator[str]:
        for frame in self.frames:
            if not -1 <= frame.body < len(self.bodies):
                yield f"frame '{frame.name}' is fixed to body {frame.body}, which does not exist"

    def _loop_faults(self) -> Iterator[tuple[str, str]]:
        """Yield (fault, remedy) of loops, of their start, and of the joints declared for them."""
        coordinates = {joint.name: (joint.type.nq, joint.type.quaternion) for joint in self.joints}
        faults = (
            loops_fault(self.loops, len(self.bodies)),
            start_fault(self.start, self.loops, coordinates),
        )
        yield from (fault for fault in faults if fault is not None)
        for role, names in (("independent", self.independent), ("actuated", self.actuated)):
            if names:
                fault = choice_fault(role, names, self.loops, self.velocities_of)
                if fault is not None:
                    yield fault

    @cached_property
    def content(self) -> str:
        """Hash of the declaration: names, numbers and frames, without the source and the notes of
        the reader.
        """
        return content_of(
            self,
            excluded=("notes", "source", "source_sha256", *(() if self.coupled else ("coupled",))),
        )

    def __hash__(self) -> int:
        return hash(self.content)

    def __getstate__(self) -> dict[str, Any]:
        """Return the declared fields without cached values."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @cached_property
    def joint_couplings(self) -> tuple[JointCoupling | None, ...]:
        """The coupling of each joint to its leader; None for a joint with its own entries of q and
        v.
        """
        if not self.coupled:
            return (None,) * len(self.joints)
        return resolve_mimics(
            self.name,
            [
                (joint.name, joint.mimic, joint.type.nq == joint.type.nv == 1)
                for joint in self.joints
            ],
        )

    @cached_property
    def uncoupled(self) -> Mechanism:
        """The mechanism with every mimic joint independent: its q is q_full = G q + q_0, its v is G
        v.
        """
        return replace(self, coupled=False) if self.coupled else self

    @cached_property
    def leading(self) -> tuple[Joint, ...]:
        """Joints with their own entries of q and v, in order."""
        return tuple(
            joint
            for joint, coupling in zip(self.joints, self.joint_couplings, strict=True)
            if coupling is None
        )

    @cached_property
    def ranges(self) -> tuple[Limits, ...]:
        """Limits of each joint; for a leader, the intersection of its range with those that its
        followers allow.
        """
        ranges = [joint.limits for joint in self.joints]
        groups: dict[int, list[tuple[JointCoupling, Joint]]] = {}
        for coupling, joint in zip(self.joint_couplings, self.joints, strict=True):
            if coupling is not None:
                leading = (
                    JointCoupling(coupling.leader, Fraction(1), Fraction(0)),
                    self.joints[coupling.leader],
                )
                groups.setdefault(coupling.leader, [leading]).append((coupling, joint))
        for leader, group in groups.items():
            lower, upper = intersect_ranges(
                [
                    leader_range(coupling, (joint.limits.lower, joint.limits.upper))
                    for coupling, joint in group
                    if joint.type.limited
                ]
            )
            rates = [
                joint.limits.velocity / abs(coupling.multiplier)
                for coupling, joint in group
                if joint.limits.velocity is not None
            ]
            ranges[leader] = replace(
                ranges[leader], lower=lower, upper=upper, velocity=min(rates, default=None)
            )
        return tuple(ranges)

    @cached_property
    def without_drives(self) -> Mechanism:
        """The mechanism without drives and without gravity compensation."""
        if not self.compensated_parts and not any(joint.drive for joint in self.joints):
            return self
        joints = tuple(replace(joint, drive=NO_DRIVE) for joint in self.joints)
        return replace(
            self.without_gravity_compensation, joints=joints, friction_speed=FRICTION_SPEED
        )

    @cached_property
    def without_gravity_compensation(self) -> Mechanism:
        """The mechanism without gravity compensation."""
        return (
            replace(self, bodies=tuple(body.without_gravity_compensation for body in self.bodies))
            if self.compensated_parts
            else self
        )

    @cached_property
    def compensated_parts(self) -> tuple[Part, ...]:
        """Parts with gravity compensation."""
        return tuple(part for body in self.bodies for part in body.parts if part.gravcomp)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Slice of each joint's entries of q; empty for a follower."""
        return trees.slices(
            [
                joint.type.nq * (coupling is None)
                for joint, coupling in zip(self.joints, self.joint_couplings, strict=True)
            ]
        )

    @cached_property
    def v_slices(self) -> tuple[slice, ...]:
        """Slice of each joint's entries of v, a and tau; empty for a follower."""
        return trees.slices(
            [
                joint.type.nv * (coupling is None)
                for joint, coupling in zip(self.joints, self.joint_couplings, strict=True)
            ]
        )

    @cached_property
    def dofs(self) -> tuple[tuple[int, int], ...]:
        """(Joint index, index among the velocities of the joint) of each entry of v."""
        return tuple(
            (i, k)
            for i, entries in enumerate(self.v_slices)
            for k in range(entries.stop - entries.start)
        )

    @cached_property
    def quaternions(self) -> tuple[int, ...]:
        """Index in q of the first entry of each unit quaternion."""
        return tuple(
            entries.start + joint.type.quaternion
            for joint, entries in zip(self.joints, self.q_slices, strict=True)
            if joint.type.quaternion is not None
        )

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, then the name of the base, so that index -1 is the base."""
        return (*(body.name for body in self.bodies), self.base)

    @cached_property
    def start_position(self) -> tuple[Fraction, ...]:
        """The q (NQ,) from which loops are closed; its quaternions may have any nonzero length."""
        declared = dict(self.start)
        return tuple(
            x for joint in self.leading for x in declared.get(joint.name, joint.type.neutral)
        )

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Name of each entry of q: the name of its joint, with a suffix such as "base.px" if the
        joint has several entries.
        """
        return _entry_names((joint.name, joint.type.positions) for joint in self.leading)

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """Name of each entry of v, in the form of `coordinate_names`, such as "base.vx"."""
        return _entry_names((joint.name, joint.type.velocities) for joint in self.leading)

    @cached_property
    def velocities_of(self) -> dict[str, tuple[int, ...]]:
        """Entries of v of each joint by its name, and of each velocity by its name."""
        by_joint = {
            joint.name: tuple(range(entries.start, entries.stop))
            for joint, entries in zip(self.joints, self.v_slices, strict=True)
        }
        return by_joint | {name: (k,) for k, name in enumerate(self.velocity_names)}

    @cached_property
    def nq(self) -> int:
        """Number of entries of q."""
        return sum(joint.type.nq for joint in self.leading)

    @cached_property
    def nv(self) -> int:
        """Number of entries of v."""
        return sum(joint.type.nv for joint in self.leading)

    @cached_property
    def mass(self) -> Fraction:
        """Total mass of the moving bodies (kg)."""
        return sum((body.mass for body in self.bodies), Fraction(0))

    @property
    def sizes(self) -> Sizes:
        """NQ, NV, the number of bodies, and the number of their inertial parameters."""
        return Sizes(self.nq, self.nv, len(self.bodies), NP=10 * len(self.bodies))

    @cached_property
    def parents(self) -> tuple[int, ...]:
        return tuple(joint.parent for joint in self.joints)

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        """Children of every body, and last those of the base, which is body -1."""
        return trees.children(self.parents)

    @cached_property
    def longest(self) -> int:
        """Number of joints on the longest path from the base to a body."""
        return max(trees.depths(self.parents))

    def children(self, body: int) -> tuple[int, ...]:
        """Return the indices of the bodies whose joint is on `body` (-1: the base), ascending."""
        return self._children[body]

    def joint_index(self, name: str) -> int:
        """Return the index of a joint by name; RequestError suggests the nearest name."""
        return self._joints_by_name[nearest(name, self._joints_by_name, "joint")]

    def slices(self, joint: str) -> tuple[slice, slice]:
        """Return the slices of q and of v (also of a and tau) of a joint, by name. Raises
        ArgumentError for a follower.
        """
        if (coupling := self.joint_couplings[index := self.joint_index(joint)]) is not None:
            raise ArgumentError(
                f"joint '{joint}' is a mimic joint without entries of its own; use those of its"
                f" leader '{self.joints[coupling.leader].name}'"
            )
        return self.q_slices[index], self.v_slices[index]

    def frame(self, name: str) -> Frame:
        """Return a declared link's frame by name; RequestError suggests the nearest name."""
        return self._frames_by_name[nearest(name, self._frames_by_name, "link")]

    @cached_property
    def _joints_by_name(self) -> dict[str, int]:
        return {joint.name: index for index, joint in enumerate(self.joints)}

    @cached_property
    def _frames_by_name(self) -> dict[str, Frame]:
        return {frame.name: frame for frame in self.frames}

    def contact(self, text: str) -> Frame:
        """Return the frame at a contact point (`symgen.vocabulary.contacts`), with the axes of the
        link's declared frame.
        """
        frame = self.frame((contact := parse_contact(text)).link)
        return Frame(
            text,
            frame.body,
            frame.pose if contact.point == ZERO3 else (*frame.pose, Shift(contact.point)),
        )

    def __repr__(self) -> str:
        return f"<symgen.Mechanism {self._summary}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook: one row per joint, indented where the tree branches."""
        rows: list[tuple[object, ...]] = [("", "joint", "type", "on", "carries", "kg", "range")]
        indents: list[int] = []
        for i, joint in enumerate(self.joints):
            indents.append(
                (indents[joint.parent] if joint.parent >= 0 else 0)
                + (len(self.children(joint.parent)) > 1)
            )
            name = "\u2003" * min(indents[i], 12) + joint.name
            links = ", ".join(part.link for part in self.bodies[i].parts) or self.bodies[i].name
            coupling = self.joint_couplings[i]
            span = (
                self.ranges[i].text
                if coupling is None
                else f"= {coupling.of(self.joints[coupling.leader].name)}"
            )
            rows.append(
                (
                    i,
                    name,
                    joint.described,
                    self.body_names[joint.parent],
                    links,
                    f"{float(self.bodies[i].mass):g}",
                    span,
                )
            )
        warnings = [f"{note.kind}: {note.text}" for note in self.notes if note.kind == "warning"]
        loops = [f"loop {loop.describe(self.body_names)}" for loop in self.loops]
        return html_table(self._summary, rows, texts=(1, 2, 3, 4, 6), below=[*loops, *warnings])

    @property
    def _summary(self) -> str:
        count = (
            f"{len(self.joints)}"
            f" joint{'s' * (len(self.joints) != 1)}{loop_count_suffix(self.loops)}"
        )
        return (
            f"{self.name}: {count}, {float(self.mass):g} kg moving, gravity"
            f" {_numbers(self.gravity)} m/s²"
        )


def _repeated_names(kind: str, names: list[str]) -> Iterator[str]:
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        yield f"{kind} name '{repeated[0]}' is used twice; give each {kind} its own name"


def _joint_faults(joint: Joint, index: int) -> Iterator[str]:
    """Yield faults of the joint of body `index`; each text follows the joint's name."""
    if not -1 <= joint.parent < index:
        yield f" has parent {joint.parent}; parents must precede children"
    if not any(joint.axis):
        yield " has a zero axis; give a nonzero axis"
    if not joint.type.directed and joint.axis != Z_AXIS:
        yield f" is {joint.kind}, which has no axis; remove the axis"
    required = [parameter.name for parameter in joint.type.parameters]
    declared = [name for name, _ in joint.parameters]
    if required != declared:
        yield (
            f" is {joint.kind} and declares {', '.join(declared) or 'no parameters'}; "
            f"its type takes {', '.join(required) or 'none'}"
        )
    if not all(value for _, value in joint.parameters):
        yield " has a parameter of zero, which makes it a joint of another type; declare that type"
    drive_fault = joint.drive.fault(joint.type.nq, joint.type.nv)
    if drive_fault is not None:
        yield f": {'; '.join(drive_fault)}"


def first_and_count(entries: slice) -> list[int]:
    """Return a slice as [first, count], the form of a manifest."""
    return [entries.start, entries.stop - entries.start]


def _entry_names(entries: Iterable[tuple[str, tuple[Coordinate, ...]]]) -> tuple[str, ...]:
    return tuple(
        f"{joint}.{coordinate.name}" if len(coordinates) > 1 else joint
        for joint, coordinates in entries
        for coordinate in coordinates
    )


def _numbers(vector: Vector3) -> str:
    return f"({', '.join(f'{float(x):g}' for x in vector)})"


# -- the hash of all that is declared --

HASHED_IF_NOT_DEFAULT = ("drive", "friction_speed", "gravcomp", "loops", "start", "each")
"""Fields added later. They enter the hash only if they are not default, so that old hashes stay
valid.
"""
HASHED_WITH_NAME = ("independent", "actuated")
"""Fields that enter the hash with their name, and only if they are not default: both are tuples of
names, and the hash could not tell one from the other.
"""


def content_of(value: Any, excluded: tuple[str, ...] = ()) -> str:
    """Return a hash of the fields of a dataclass, except its `excluded` fields and those that are
    not compared.
    """
    return hashlib.sha256(json.dumps(_json_fields(value, excluded)).encode()).hexdigest()


def _json_value(value: Any) -> Any:
    """Return a declared value as plain JSON with integers, different for different values.

    The repr is not used: it is meant for people and omits fields.
    """
    kind = value.__class__
    if kind is Fraction:
        return "{}/{}".format(*value.as_integer_ratio())
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, tuple):
        return [_json_value(entry) for entry in value]
    return [kind.__name__, *_json_fields(value)]


class _Compared(NamedTuple):
    """A field of a dataclass that is compared."""

    name: str
    default: Any
    skip_default: bool
    """True if the field enters the hash only where it is not default."""
    with_name: bool


@cache
def _compared_fields(kind: type[Any]) -> tuple[_Compared, ...]:
    """Return the compared fields of a dataclass."""
    return tuple(
        _Compared(
            compared.name,
            compared.default,
            compared.name in (*HASHED_IF_NOT_DEFAULT, *HASHED_WITH_NAME),
            compared.name in HASHED_WITH_NAME,
        )
        for compared in fields(kind)
        if compared.compare
    )


def _json_fields(value: Any, excluded: tuple[str, ...] = ()) -> list[Any]:
    """Return the compared fields, without fields of HASHED_IF_NOT_DEFAULT and HASHED_WITH_NAME that
    have their default.
    """
    values = []
    for name, default, skip_default, with_name in _compared_fields(value.__class__):
        if name in excluded:
            continue
        entry = getattr(value, name)
        if not (skip_default and entry == default):
            values.append([name, _json_value(entry)] if with_name else _json_value(entry))
    return values
