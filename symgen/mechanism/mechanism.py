"""What the user declared: a tree of rigid bodies on a fixed base, frozen and validated once.

Every number is the decimal that stood in the description, kept as a `Fraction`; every rotation is a product of turns about
declared axes by an `Angle` = radians + pi*π. Nothing is rounded and nothing is evaluated here, so a reference at 80 digits and a
derivation in exact constants start from the same declaration.

Conventions. Joint i moves body i (parents stand before children; the base is body -1). A joint's frame is its parent's body frame
displaced by the constant `pose`; the body's frame is the joint's frame displaced by the joint's motion along `axis` (given in the
joint's frame). Lengths in m, masses in kg, angles in rad.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import Field, dataclass, field, fields, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

from symgen.mechanism import trees
from symgen.mechanism.closed_loops import Loop, Start, choice_fault, counted, start_fault
from symgen.mechanism.closed_loops import fault as loops_fault
from symgen.mechanism.coupling import Follows, common, resolved, seen
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
    """Declared ranges of a joint; None where the description says nothing."""

    lower: Fraction | None = None
    upper: Fraction | None = None
    velocity: Fraction | None = None
    effort: Fraction | None = None

    @property
    def text(self) -> str:
        """The range of the coordinate, rad or m; empty where neither end is declared."""
        if self.lower is None and self.upper is None:
            return ""
        ends = (
            "−∞" if self.lower is None else f"{float(self.lower):g}",
            "∞" if self.upper is None else f"{float(self.upper):g}",
        )
        return " … ".join(ends)


@dataclass(frozen=True, repr=False)
class Joint:
    """One joint: `kind` names a file in `symgen/mechanism/joints/`; `parent` is a body index, -1 the base."""

    name: str
    kind: str
    parent: int
    pose: Pose = ()
    axis: Vector3 = Z_AXIS
    limits: Limits = Limits()
    mimic: Mimic | None = None
    unapplied: tuple[tuple[str, Fraction], ...] = ()
    """Read, reported and not applied: damping, a gear without a rotor … as (name, value)."""
    parameters: tuple[tuple[str, Fraction], ...] = ()
    """The numbers that its type asks for, as (name, value): the pitch of a screw."""
    drive: Drive = NO_DRIVE
    """What is applied of rotor, damping, friction and spring."""
    withheld: Drive = field(
        default=NO_DRIVE, compare=False
    )  # declared for the joint, and left out by `drives`

    @property
    def type(self) -> JointType:
        return joint_type(self.kind)

    @property
    def described(self) -> str:
        """Its type, and the numbers that it declares."""
        return ", ".join(
            [self.kind, *(f"{name} {float(value):g}" for name, value in self.parameters)]
        )

    @property
    def motions(self) -> tuple[Elementary, ...]:
        """What it does, in the words that the reference reads."""
        return self.type.oracle(dict(self.parameters))

    @property
    def about_axis(self) -> tuple[AboutAxis, ...]:
        """What it does about its axis: all that it does, or nothing where it has none."""
        return (
            tuple(step for step in self.motions if isinstance(step, AboutAxis))
            if self.type.directed
            else ()
        )

    def __repr__(self) -> str:
        on = f"body {self.parent}" if self.parent >= 0 else "the base"
        return f"<Joint {self.name}: {self.kind}, axis {_numbers(self.axis)}, on {on}>"


@dataclass(frozen=True, repr=False)
class Part:
    """One declared inertia, carried by a body.

    `pose` leads from the body's frame to the part's centre of mass and axes; `moments` = (Ixx, Ixy, Ixz, Iyy, Iyz,
    Izz) are about that centre, in those axes (tensor entries: Ixy is −∫xy dm). A point mass has zero moments. `gravcomp` is
    the fraction of its weight that is borne for it, at its centre.
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
    """What one joint moves: its own declared inertia and that of every link lumped into it (`parts`)."""

    name: str
    parts: tuple[Part, ...] = ()

    @property
    def mass(self) -> Fraction:
        return sum((part.mass for part in self.parts), Fraction(0))

    @property
    def unborne(self) -> Body:
        """The same, of which no weight is borne."""
        return replace(
            self, parts=tuple(replace(part, gravcomp=Fraction(0)) for part in self.parts)
        )

    def __repr__(self) -> str:
        return f"<Body {self.name}: {float(self.mass):g} kg, of {', '.join(part.link for part in self.parts) or 'nothing'}>"


@dataclass(frozen=True, repr=False)
class Frame:
    """A named frame (every declared link has one): a constant `pose` from the frame of `body` (-1: the base)."""

    name: str
    body: int
    pose: Pose = ()

    def __repr__(self) -> str:
        return (
            f"<Frame {self.name}: fixed to {f'body {self.body}' if self.body >= 0 else 'the base'}>"
        )


@dataclass(frozen=True, repr=False)
class Mechanism:
    """A fixed-base tree of bodies. `bodies[i]` is moved by `joints[i]`; `frames` holds every declared link.

    Raises MechanismError when parents, names, axes or masses make no mechanism.
    """

    name: str
    joints: tuple[Joint, ...]
    bodies: tuple[Body, ...]
    frames: tuple[Frame, ...] = ()
    gravity: Vector3 = (Fraction(0), Fraction(0), Fraction(-981, 100))
    base: str = "base"
    notes: tuple[Note, ...] = ()
    """All that the reading changed, left out or noticed, in the order of the file; the kinds are `symgen.mechanism.notes.KINDS`."""
    source: str = ""
    source_sha256: str = ""
    base_parts: tuple[Part, ...] = field(default=())
    """Inertia fixed to the base: it never moves, and is kept only to be reported."""
    coupled: bool = False
    """Whether joints that mimic others follow them; these then have no entries of q and v of their own."""
    friction_speed: Fraction = FRICTION_SPEED
    """ε of the friction of all joints, μ v/√(v² + ε²) (rad/s, m/s)."""
    loops: tuple[Loop, ...] = ()
    """Joints between links of the tree that close loops."""
    start: Start = ()
    """Where closing them starts, in the order of the joints; those that it leaves out start at their neutral coordinates."""
    independent: tuple[str, ...] = ()
    """Joints, or velocities, on which all others hang where loops are closed; none for the first that can be."""
    actuated: tuple[str, ...] = ()
    """Those that are driven; none for the independent ones."""

    def __post_init__(self) -> None:
        fault = next(self._faults(), None)
        if fault is not None:
            raise MechanismError(f"{self.name}: {fault}")

    def _faults(self) -> Iterator[str]:
        """Yield what is wrong and what to do; each check relies on those before it."""
        yield from self._count_faults()
        yield from _name_faults("joint", [joint.name for joint in self.joints])
        yield from _name_faults("frame", [frame.name for frame in self.frames])
        for index, joint in enumerate(self.joints):
            yield from (f"joint '{joint.name}'{fault}" for fault in _joint_faults(joint, index))
        yield from self._mass_faults()
        yield from self._frame_faults()
        if self.coupled and not any(self.follows):
            yield "no joint mimics another, so that none can be coupled; leave them independent"
        slow = speed_fault(self.friction_speed)
        if slow is not None and any(joint.drive.friction for joint in self.joints):
            yield "; ".join(slow)
        yield from map("; ".join, self._loop_faults())

    def _count_faults(self) -> Iterator[str]:
        if len(self.joints) != len(self.bodies):
            yield f"{len(self.joints)} joints but {len(self.bodies)} bodies; each joint moves one"
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
        """Yield (what is wrong, what to do) with loops, their start and the joints chosen for them."""
        coordinates = {joint.name: (joint.type.nq, joint.type.quaternion) for joint in self.joints}
        faults = (
            loops_fault(self.loops, len(self.bodies)),
            start_fault(self.start, self.loops, coordinates),
        )
        yield from (fault for fault in faults if fault is not None)
        for what, names in (("independent", self.independent), ("actuated", self.actuated)):
            if names:
                fault = choice_fault(what, names, self.loops, self.velocities_of)
                if fault is not None:
                    yield fault

    @cached_property
    def content(self) -> str:
        """A hash of all that it declares: names, numbers and frames, but not where it was read and what was noticed there."""
        return content_of(
            self,
            silent=("notes", "source", "source_sha256", *(() if self.coupled else ("coupled",))),
        )

    def __hash__(self) -> int:
        return hash(self.content)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is computed from the rest."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def follows(self) -> tuple[Follows | None, ...]:
        """Of each joint, whom it follows; None of those that have entries of q and v of their own."""
        if not self.coupled:
            return (None,) * len(self.joints)
        return resolved(
            self.name,
            [(one.name, one.mimic, one.type.nq == one.type.nv == 1) for one in self.joints],
        )

    @cached_property
    def uncoupled(self) -> Mechanism:
        """The same with every joint independent: its q is q_full = G q + q_0, its v is G v."""
        return replace(self, coupled=False) if self.coupled else self

    @cached_property
    def leading(self) -> tuple[Joint, ...]:
        """The joints that have entries of q and v of their own, in their order."""
        return tuple(
            joint
            for joint, follows in zip(self.joints, self.follows, strict=True)
            if follows is None
        )

    @cached_property
    def ranges(self) -> tuple[Limits, ...]:
        """Of each joint its declared limits; of one that others follow, what all of them allow it."""
        found = [joint.limits for joint in self.joints]
        together: dict[int, list[tuple[Follows, Joint]]] = {}
        for one, joint in zip(self.follows, self.joints, strict=True):
            if one is not None:
                leading = (Follows(one.leader, Fraction(1), Fraction(0)), self.joints[one.leader])
                together.setdefault(one.leader, [leading]).append((one, joint))
        for leader, own in together.items():
            lower, upper = common(
                [seen(one, (j.limits.lower, j.limits.upper)) for one, j in own if j.type.limited]
            )
            rates = [
                j.limits.velocity / abs(one.multiplier)
                for one, j in own
                if j.limits.velocity is not None
            ]
            found[leader] = replace(
                found[leader], lower=lower, upper=upper, velocity=min(rates, default=None)
            )
        return tuple(found)

    @cached_property
    def undriven(self) -> Mechanism:
        """The bodies alone, as they would be without any drive."""
        if not self.borne and not any(joint.drive for joint in self.joints):
            return self
        joints = tuple(replace(joint, drive=NO_DRIVE) for joint in self.joints)
        return replace(self.unborne, joints=joints, friction_speed=FRICTION_SPEED)

    @cached_property
    def unborne(self) -> Mechanism:
        """The same, of which no weight is borne."""
        return (
            replace(self, bodies=tuple(body.unborne for body in self.bodies))
            if self.borne
            else self
        )

    @cached_property
    def borne(self) -> tuple[Part, ...]:
        """The parts of which some weight is borne."""
        return tuple(part for body in self.bodies for part in body.parts if part.gravcomp)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Of each joint, the entries of q that are its own; of one that follows another, none."""
        return trees.slices(
            [
                joint.type.nq * (one is None)
                for joint, one in zip(self.joints, self.follows, strict=True)
            ]
        )

    @cached_property
    def v_slices(self) -> tuple[slice, ...]:
        """Of each joint, the entries of v, a and tau that are its own."""
        return trees.slices(
            [
                joint.type.nv * (one is None)
                for joint, one in zip(self.joints, self.follows, strict=True)
            ]
        )

    @cached_property
    def dofs(self) -> tuple[tuple[int, int], ...]:
        """Of each entry of v: the joint, and which of its velocities it is."""
        return tuple(
            (i, k) for i, own in enumerate(self.v_slices) for k in range(own.stop - own.start)
        )

    @cached_property
    def quaternions(self) -> tuple[int, ...]:
        """The first entry of q of each four that are a unit quaternion."""
        return tuple(
            own.start + joint.type.quaternion
            for joint, own in zip(self.joints, self.q_slices, strict=True)
            if joint.type.quaternion is not None
        )

    @cached_property
    def carriers(self) -> tuple[str, ...]:
        """Names of the bodies and then of the base, which is the last one as body -1."""
        return (*(body.name for body in self.bodies), self.base)

    @cached_property
    def start_position(self) -> tuple[Fraction, ...]:
        """The q from which closing the loops starts (NQ,); its quaternions may have any length but zero."""
        declared = dict(self.start)
        return tuple(
            x for joint in self.leading for x in declared.get(joint.name, joint.type.neutral)
        )

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Of each entry of q: its joint's name, and behind a point its own where the joint has several, as in "base.px"."""
        return _named((joint.name, joint.type.positions) for joint in self.leading)

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """Of each entry of v likewise, as in "base.vx"."""
        return _named((joint.name, joint.type.velocities) for joint in self.leading)

    @cached_property
    def velocities_of(self) -> dict[str, tuple[int, ...]]:
        """The entries of v of each joint, and of each name of a velocity."""
        own = {
            joint.name: tuple(range(at.start, at.stop))
            for joint, at in zip(self.joints, self.v_slices, strict=True)
        }
        return own | {name: (k,) for k, name in enumerate(self.velocity_names)}

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(joint.type.nq for joint in self.leading)

    @cached_property
    def nv(self) -> int:
        """Number of velocities."""
        return sum(joint.type.nv for joint in self.leading)

    @cached_property
    def mass(self) -> Fraction:
        """Of all that moves (kg)."""
        return sum((body.mass for body in self.bodies), Fraction(0))

    @property
    def sizes(self) -> Sizes:
        """NQ, NV, the number of bodies, and that of their inertial parameters."""
        return Sizes(self.nq, self.nv, len(self.bodies), NP=10 * len(self.bodies))

    @cached_property
    def parents(self) -> tuple[int, ...]:
        return tuple(joint.parent for joint in self.joints)

    @cached_property
    def _carried(self) -> tuple[tuple[int, ...], ...]:
        """`children` of every body, and last of the base, which is body -1."""
        return trees.children(self.parents)

    @cached_property
    def longest(self) -> int:
        """The most joints between a body and the base."""
        return max(trees.depths(self.parents))

    def children(self, body: int) -> tuple[int, ...]:
        """Indices of the bodies whose joint sits on `body` (-1: the base), ascending."""
        return self._carried[body]

    def joint_index(self, name: str) -> int:
        """Index of a joint by name; RequestError names the nearest when there is none."""
        return self._joints_by_name[nearest(name, self._joints_by_name, "joint")]

    def slices(self, joint: str) -> tuple[slice, slice]:
        """The entries of q and those of v (also of a and tau) of a joint, by name. ArgumentError where it follows another one."""
        if (follows := self.follows[index := self.joint_index(joint)]) is not None:
            raise ArgumentError(
                f"joint '{joint}' has no entries; take those of its leader '{self.joints[follows.leader].name}'"
            )
        return self.q_slices[index], self.v_slices[index]

    def frame(self, name: str) -> Frame:
        """A declared link's frame by name; RequestError names the nearest when there is none."""
        return self._frames_by_name[nearest(name, self._frames_by_name, "link")]

    @cached_property
    def _joints_by_name(self) -> dict[str, int]:
        return {joint.name: index for index, joint in enumerate(self.joints)}

    @cached_property
    def _frames_by_name(self) -> dict[str, Frame]:
        return {frame.name: frame for frame in self.frames}

    def contact(self, text: str) -> Frame:
        """The frame at a point that `symgen.vocabulary.contacts` reads, its axes those of the link's declared frame."""
        on = self.frame((touching := parse_contact(text)).link)
        return Frame(
            text, on.body, on.pose if touching.point == ZERO3 else (*on.pose, Shift(touching.point))
        )

    def __repr__(self) -> str:
        return f"<symgen.Mechanism {self._summary}>"

    def _repr_html_(self) -> str:
        """For a notebook: a row a joint, indented where the tree branches."""
        rows: list[tuple[object, ...]] = [("", "joint", "type", "on", "carries", "kg", "range")]
        indents: list[int] = []
        for i, joint in enumerate(self.joints):
            indents.append(
                (indents[joint.parent] if joint.parent >= 0 else 0)
                + (len(self.children(joint.parent)) > 1)
            )
            name = "\u2003" * min(indents[i], 12) + joint.name
            links = ", ".join(part.link for part in self.bodies[i].parts) or self.bodies[i].name
            follows = self.follows[i]
            span = (
                self.ranges[i].text
                if follows is None
                else f"= {follows.of(self.joints[follows.leader].name)}"
            )
            rows.append(
                (
                    i,
                    name,
                    joint.described,
                    self.carriers[joint.parent],
                    links,
                    f"{float(self.bodies[i].mass):g}",
                    span,
                )
            )
        warnings = [f"{note.kind}: {note.text}" for note in self.notes if note.kind == "warning"]
        loops = [f"loop {loop.describe(self.carriers)}" for loop in self.loops]
        return html_table(self._summary, rows, texts=(1, 2, 3, 4, 6), below=[*loops, *warnings])

    @property
    def _summary(self) -> str:
        count = f"{len(self.joints)} joint{'s' * (len(self.joints) != 1)}{counted(self.loops)}"
        return f"{self.name}: {count}, {float(self.mass):g} kg moving, gravity {_numbers(self.gravity)} m/s²"


def _name_faults(what: str, names: list[str]) -> Iterator[str]:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        yield f"{what} name '{twice[0]}' is used twice; give each {what} its own name"


def _joint_faults(joint: Joint, index: int) -> Iterator[str]:
    """Yield what is wrong with the joint of body `index`, each to follow the joint's name."""
    if not -1 <= joint.parent < index:
        yield f" has parent {joint.parent}; parents must stand before children"
    if not any(joint.axis):
        yield " has a zero axis; give it a direction"
    if not joint.type.directed and joint.axis != Z_AXIS:
        yield f" is {joint.kind}, which has no axis; leave it out"
    wanted = [parameter.name for parameter in joint.type.parameters]
    declared = [name for name, _ in joint.parameters]
    if wanted != declared:
        yield (
            f" is {joint.kind} and declares {', '.join(declared) or 'no numbers'}; "
            f"its type takes {', '.join(wanted) or 'none'}"
        )
    if not all(value for _, value in joint.parameters):
        yield " has a parameter of zero, which makes it another type of joint; declare that"
    drive_fault = joint.drive.fault(joint.type.nq, joint.type.nv)
    if drive_fault is not None:
        yield f": {'; '.join(drive_fault)}"


def first_and_count(own: slice) -> list[int]:
    """A slice as programs read it in a manifest."""
    return [own.start, own.stop - own.start]


def _named(entries: Iterable[tuple[str, tuple[Coordinate, ...]]]) -> tuple[str, ...]:
    return tuple(
        f"{joint}.{one.name}" if len(own) > 1 else joint for joint, own in entries for one in own
    )


def _numbers(vector: Vector3) -> str:
    return f"({', '.join(f'{float(x):g}' for x in vector)})"


# -- the hash of all that is declared --

LATER = ("drive", "friction_speed", "gravcomp", "loops", "start", "each")
"""Fields added later. They enter the hash only where they are not default, so that old hashes stay valid."""
NAMED = ("independent", "actuated")
"""Further fields added later. Both hold the same type, so that their names enter the hash too."""


def content_of(value: Any, silent: tuple[str, ...] = ()) -> str:
    """Hash all that a dataclass declares, except its `silent` fields and those that are not compared."""
    return hashlib.sha256(json.dumps(_plain_fields(value, silent)).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Write a declared value as plain JSON with whole numbers, different for different values.

    The repr is not used: it is made for people and leaves things out.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return [type(value).__name__, *_plain_fields(value)]


@cache
def _fields(kind: type[Any]) -> tuple[Field[Any], ...]:
    """The fields of a dataclass."""
    return fields(kind)


def _plain_fields(value: Any, silent: tuple[str, ...] = ()) -> list[Any]:
    """Write the fields that are compared; of LATER and NAMED only those that are not default."""
    plain = []
    for declared in _fields(value.__class__):
        name, entry = declared.name, getattr(value, declared.name)
        is_default = name in (*LATER, *NAMED) and entry == declared.default
        if declared.compare and name not in silent and not is_default:
            plain.append([name, _plain(entry)] if name in NAMED else _plain(entry))
    return plain
