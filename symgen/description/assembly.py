"""Assembly of a Mechanism from the links, joints and loops that a reader hands over.

A reader only translates a file; whatever is true of every format is decided here once: the exact lumping of fixed and locked
joints, the plausibility of inertias, the loops between bodies, and the notes that tell the user about each of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from symgen.description import remarks
from symgen.description.coupling import locked_with_leaders
from symgen.description.freeing import freed
from symgen.description.locking import locked_motions, place_text
from symgen.description.lookup import link_hint
from symgen.description.ordering import FILE, ordered, parents_first, validate_names
from symgen.description.quantities import (
    CANONICAL_DIGITS,
    Place,
    fraction_text,
    is_writable,
    is_writable_angle,
    rounded,
    shown,
)
from symgen.description.snapping import HALF_PI, Snapper
from symgen.description.tree import Connection, ExtraFrame, Grip, Inertial, Link, Tree
from symgen.mechanism.closed_loops import End, Loop, Start, choice_fault, start_fault
from symgen.mechanism.drives import EVERY, FRICTION_SPEED, GRAVCOMP, NONE, Drive, speed_fault
from symgen.mechanism.inertias import Moments, is_positive_semidefinite, second_moments
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Note, Part
from symgen.support.errors import ArgumentError, printable
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import LockValue
from symgen.vocabulary.poses import Angle, Pose, Rotate, Shift, Slide, Step, Turn, Vector3, joined

EARTH: Vector3 = (Fraction(0), Fraction(0), Fraction(-981, 100))
LONGEST_MASS = 40
"""Signs of a mass that a note gives whole: one that has π in it has sixty digits."""
MOST_STEPS = 1_000_000
"""Shifts and turns of all poses together. A link behind many fixed joints in a row keeps the steps of each of them exactly, and
so does the next link, so that a row of n takes n² / 2.
"""
_CHAIN = "write it as joints of one coordinate with massless links between them"
_WAYS = {"floating": "write 'free'", "ball": "write 'spherical'", "universal": _CHAIN}
"""What to do instead of a joint of several coordinates."""
_ROUNDING = Fraction(1, 10**12)
"""Share of the trace by which a moment may miss. So a thin disc printed with 15 figures is still a thin disc."""


class _Carrier(NamedTuple):
    """The body (or base) that carries a link, and the pose there of the frame that the link's joint moves."""

    body: int
    pose: Pose = ()


@dataclass
class _Assembly:
    """Joints, bodies and notes so far, while one joint of the tree after the other is attached."""

    links: dict[str, Link]
    carriers: dict[str, _Carrier]
    joints: list[Joint] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    steps: int = 0
    drives: frozenset[str] = NONE
    """The kinds of drive that are applied."""

    def behind(self, pose: Pose, more: Pose, place: Place) -> Pose:
        """Return `pose` followed by `more`; count the steps of all poses.

        DescriptionError: the steps are too many, or a sum has too many digits.
        """
        total = joined(pose, more)
        self.steps += len(total)
        if self.steps > MOST_STEPS:
            raise place.error(
                f"up to here the poses of links have more than {MOST_STEPS} steps, which grow with each fixed "
                "joint behind another",
                "weld the links of such a row to its first one, each by one joint",
            )
        if not all(map(_is_writable, total[max(0, len(total) - len(more) - 1) :])):
            raise place.error(
                "its place on what carries it takes numbers beyond a double, or of more than "
                f"{CANONICAL_DIGITS} digits",
                "write poses with fewer digits",
            )
        return total


@dataclass(frozen=True)
class AssemblyOptions:
    """Choices of a user that hold for every format.

    `lock` maps a joint to the value (rad or m; None: 0) at which it is frozen. `mimic` is one of `coupling.WAYS`, None for
    "independent". `strict`: doubtful inertias are refused. `base`: "free" if a free joint is to move the root link, "fixed" if
    it is to be fixed to the world, None for fixed where nobody chose.
    `drives`: the kinds of `symgen.mechanism.drives` that are applied, None for those that the format means; `friction_speed`: ε.
    `independent`, `actuated`: joints, where loops are closed, None for those that the description names.
    """

    lock: Mapping[str, LockValue] = field(default_factory=dict)
    gravity: Vector3 | None = None
    mimic: str | None = None
    strict: bool = False
    base: str | None = None
    drives: frozenset[str] | None = None
    friction_speed: Fraction | None = None
    independent: Sequence[str] | None = None
    actuated: Sequence[str] | None = None
    joint_order: str | Sequence[str] = FILE


def assemble(
    tree: Tree,
    options: AssemblyOptions | None = None,
    snapper: Snapper | None = None,
    source: str = "",
    source_sha256: str = "",
) -> Mechanism:
    """Make the Mechanism of `tree`: joints parent before child, else in `joint_order`; fixed and locked joints lumped exactly.

    `snapper` is the one that read the file; its snaps become notes, before which locked angles pass through it as well.
    Raises DescriptionError (no tree, unsupported joint, implausible inertia under `strict`), RequestError (`lock`).
    """
    options = options if options is not None else AssemblyOptions()
    snapper = snapper if snapper is not None else Snapper()
    validate_names(tree)
    order, root = parents_first(tree)
    if options.base == "free" and not tree.afloat:
        tree = freed(tree, root, order)
        order, root = parents_first(tree)
    motions = _locked(tree, options, snapper)
    _refuse_unsupported(tree, motions)
    if options.mimic == "refuse":
        _refuse_mimics(tree, motions)
    order = ordered(tree, order, options.joint_order, _moving(order, motions, options))
    work = _Assembly(
        links={link.name: link for link in tree.links},
        carriers={root: _Carrier(BASE)},
        drives=_applied_drives(tree, options),
    )
    for connection in order:
        _attach(connection, motions, work, root)
    if not work.joints:
        raise tree.place.error(
            "no joint moves, so there are no dynamics",
            "declare or unlock a joint that is not fixed",
        )
    doubts = _doubts(tree, work, options.strict)
    parts = _parts(work, tree.links)
    open_chain = Mechanism(
        tree.name,
        joints=tuple(work.joints),
        bodies=tuple(Body(name, parts[i]) for i, name in enumerate(work.names)),
        coupled=options.mimic == "couple" and any(joint.mimic for joint in work.joints),
    )
    loops, idle_notes = _closed(tree, work, open_chain)
    notes = [
        *(Note("snap", snap.text) for snap in snapper.snaps),
        *tree.notes,
        *work.notes,
        *idle_notes,
        *_remarks(tree, work, options, open_chain),
        *doubts,
        *remarks.on_massless_ends(work.joints, parts),
        *remarks.on_free_joints_in_a_row(work.joints, parts),
        *remarks.on_loops([loop.name for loop in loops]),
        *_base_remarks(tree, order, root, options),
    ]
    mechanism = replace(
        open_chain,
        frames=_frames(tree, work, root),
        gravity=_first_known(options.gravity, tree.gravity, EARTH),
        base=root,
        notes=tuple(dict.fromkeys(Note(note.kind, printable(note.text)) for note in notes)),
        source=source,
        source_sha256=source_sha256,
        base_parts=parts[BASE],
        friction_speed=_friction_speed(tree, work, options.friction_speed),
        loops=loops,
        start=_start(tree, work.joints, loops),
    )
    mechanism = replace(
        mechanism,
        independent=_chosen("independent", tree, options.independent, mechanism),
        actuated=_chosen("actuated", tree, options.actuated, mechanism),
    )
    return _with_notes_on_ranges(mechanism)


def _first_known(*values: Vector3 | None) -> Vector3:
    return next(value for value in values if value is not None)


def _locked(tree: Tree, options: AssemblyOptions, snapper: Snapper) -> dict[str, Pose]:
    """Return the constant motion of each locked joint; leaders of locked mimic joints are locked with them."""
    lock = options.lock
    if options.mimic == "couple":
        lock = locked_with_leaders(tree, lock, snapper)
    return locked_motions(tree, lock, snapper)


def _refuse_mimics(tree: Tree, motions: Mapping[str, Pose]) -> None:
    """Raise DescriptionError for the first mimic joint that is not locked."""
    for connection in tree.connections:
        if connection.mimic is not None and connection.name not in motions:
            raise connection.place.error(
                f"it mimics joint {shown(connection.mimic.joint)}, which was to be refused",
                "read them as independent, or lock this joint",
            )


def _moving(
    order: Sequence[Connection], motions: Mapping[str, Pose], options: AssemblyOptions
) -> set[str]:
    """Return the names of joints that have coordinates of their own."""
    coupled = options.mimic == "couple"
    return {
        connection.name
        for connection in order
        if connection.kind != "fixed"
        and connection.name not in motions
        and not (coupled and connection.mimic)
    }


def _applied_drives(tree: Tree, options: AssemblyOptions) -> frozenset[str]:
    if options.drives is not None:
        return options.drives
    return EVERY if tree.drives_apply else NONE


def _remarks(
    tree: Tree, work: _Assembly, options: AssemblyOptions, mechanism: Mechanism
) -> list[Note]:
    """List the remarks on joints, weights and names."""
    # Of a description that was lumped before, a joint that others mimic may be locked and gone; the first reading spoke of it.
    leaders = {connection.name for connection in tree.connections}
    if tree.read_before:
        leaders |= {joint.mimic.joint for joint in work.joints if joint.mimic is not None}
    ignored = [] if GRAVCOMP in work.drives else _links_with_gravcomp(work, tree.links)
    return [
        *remarks.on_mimics(work.joints, leaders, mechanism.coupled),
        *remarks.on_what_is_not_applied(work.joints),
        *remarks.on_weight_not_borne(ignored),
        *remarks.on_the_order(options.joint_order, [joint.name for joint in work.joints]),
        *remarks.on_the_name(tree.name),
    ]


def _base_remarks(
    tree: Tree, order: Sequence[Connection], root: str, options: AssemblyOptions
) -> list[Note]:
    """List the remarks on the root link, which a first reading makes."""
    if tree.read_before:
        return []
    masses = {
        link.name: sum((inertial.mass for inertial in link.inertials), Fraction(0))
        for link in tree.links
    }
    ends = [(joint.parent, joint.child, joint.kind == "fixed") for joint in order]
    return remarks.on_the_base(root, masses, ends, options.base is not None)


def _with_notes_on_ranges(mechanism: Mechanism) -> Mechanism:
    """Add what is to be said of the ranges that mimic joints leave their leaders."""
    if not mechanism.coupled:
        return mechanism
    more = [note for note in remarks.on_ranges(mechanism) if note not in mechanism.notes]
    return replace(mechanism, notes=(*mechanism.notes, *more)) if more else mechanism


def _friction_speed(tree: Tree, work: _Assembly, asked: Fraction | None) -> Fraction:
    """Return ε as asked, else as the description has it; the default where no joint has friction."""
    speed = asked if asked is not None else tree.friction_speed
    if speed is None or not any(joint.drive.friction for joint in work.joints):
        return FRICTION_SPEED
    if (slow := speed_fault(speed)) is not None:
        raise tree.place.error(*slow)
    return speed


def _is_writable(step: Step) -> bool:
    if isinstance(step, Shift):
        return all(map(is_writable, step.xyz))
    if isinstance(step, Rotate):
        return all(map(is_writable, step.quaternion))
    return is_writable_angle(step.angle) if isinstance(step, Turn) else is_writable(step.distance)


def _refuse_unsupported(tree: Tree, motions: Mapping[str, Pose]) -> None:
    """Raise DescriptionError for a joint type that is unknown, or whose parameters the format cannot declare."""
    for connection in tree.connections:
        if connection.kind in kinds():
            _refuse_missing_parameters(connection)
        elif connection.kind != "fixed" and connection.name not in motions:
            plain = connection.kind.strip().lower()
            way = (
                f"write '{plain}'"
                if plain in (*kinds(), "fixed")
                else _WAYS.get(plain, "declare another type")
            )
            raise connection.place.error(
                f"its type {shown(connection.kind)} is not supported (supported: {', '.join(kinds())}, fixed)",
                f"{way}, or lock the joint at its zero to weld its links",
            )


def _refuse_missing_parameters(connection: Connection) -> None:
    declared = dict(connection.parameters)
    parameters = joint_type(connection.kind).parameters
    missing = [parameter.name for parameter in parameters if parameter.name not in declared]
    if missing:
        raise connection.place.error(
            f"a {connection.kind} joint declares {' and '.join(missing)}, for which this format has no place",
            "describe the robot in TOML",
        )


def _attach(
    connection: Connection, motions: Mapping[str, Pose], work: _Assembly, base: str
) -> None:
    """Let `connection` move a new body, or weld its child to what carries the parent."""
    parent = work.carriers[connection.parent]
    pose = work.behind(parent.pose, connection.pose, connection.place)
    welded = connection.kind == "fixed"
    if not welded and connection.name not in motions:
        work.carriers[connection.child] = _Carrier(len(work.joints))
        work.names.append(connection.child)
        drive, withheld, unapplied = _driven(connection, work.drives)
        work.joints.append(
            Joint(
                connection.name,
                connection.kind,
                parent.body,
                pose,
                connection.axis,
                connection.limits,
                connection.mimic,
                unapplied,
                connection.parameters,
                drive,
                withheld,
            )
        )
        return
    work.carriers[connection.child] = _Carrier(
        parent.body, work.behind(pose, motions.get(connection.name, ()), connection.place)
    )
    on = base if parent.body == BASE else work.names[parent.body]
    mass = sum((i.mass for i in work.links[connection.child].inertials), Fraction(0))
    weight = fraction_text(mass)
    what = f"{connection.child} ({weight if len(weight) <= LONGEST_MASS else f'{float(mass):.9g}'} kg) onto {on}"
    if welded:
        work.notes.append(Note("lump", f"{what}, through the fixed joint {connection.name}"))
    else:
        motion = motions[connection.name]
        work.notes.append(
            Note("lock", f"{what}, joint {connection.name} locked at {place_text(motion)}")
        )
        if connection.kind in kinds() and joint_type(connection.kind).limited:
            moves = (
                s.angle if isinstance(s, Turn) else s.distance
                for s in motion
                if isinstance(s, Turn | Slide)
            )
            value = next(map(float, moves), 0.0)
            work.notes += remarks.on_a_locked_value(
                connection.name,
                value,
                connection.limits,
                joint_type(connection.kind).positions[0].unit,
            )


def _driven(
    connection: Connection, kinds: frozenset[str]
) -> tuple[Drive, Drive, tuple[tuple[str, Fraction], ...]]:
    """Split a joint's drive: the part of these kinds, which is applied; the rest of it; and every number that is reported as not
    applied. DescriptionError where the drive cannot be applied.
    """
    fault = next((one for kind, one in connection.faults if kind in kinds), None)
    if fault is not None:
        raise fault
    drive = connection.drive.only(kinds)
    of_type = joint_type(connection.kind)
    if (wrong := drive.fault(of_type.nq, of_type.nv)) is not None:
        raise connection.place.error(*wrong)
    applied, sources = dict(drive.declared), dict(connection.read_from)
    left = [
        (name, value)
        for name, value in connection.unapplied
        if not any(name in sources.get(kind, ()) for kind in applied)
    ]
    more = [
        (name, value)
        for name, value in connection.drive.declared
        if name not in applied and name not in sources
    ]
    return drive, connection.drive.only(EVERY - kinds), (*left, *more)


def _parts(work: _Assembly, links: Iterable[Link]) -> dict[int, tuple[Part, ...]]:
    """Parts of every body, its own link's first, then the lumped links' in declared order."""
    parts: dict[int, list[Part]] = {i: [] for i in range(BASE, len(work.joints))}
    for own in (True, False):
        for link in links:
            carrier = work.carriers[link.name]
            if (carrier.body != BASE and work.names[carrier.body] == link.name) == own:
                applied = carrier.body != BASE and GRAVCOMP in work.drives
                parts[carrier.body] += [
                    Part(
                        i.link or link.name,
                        work.behind(carrier.pose, i.pose, i.place),
                        i.mass,
                        _six(i.moments),
                        i.gravcomp if applied and i.mass else Fraction(0),
                    )
                    for i in link.inertials
                ]
    return {i: tuple(p) for i, p in parts.items()}


def _links_with_gravcomp(work: _Assembly, links: Iterable[Link]) -> list[str]:
    """List the links that move and declare gravity compensation."""
    moving = (link for link in links if work.carriers[link.name].body != BASE)
    return [
        link.name
        for link in moving
        if any(inertial.gravcomp and inertial.mass for inertial in link.inertials)
    ]


def _six(
    m: tuple[Fraction, ...],
) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]:
    return m[0], m[1], m[2], m[3], m[4], m[5]


def _frames(tree: Tree, work: _Assembly, base: str) -> tuple[Frame, ...]:
    """One frame a declared link: the base, the bodies in their order, then lumped links and extra frames as declared."""

    def of(link: Link) -> Frame:
        carrier = work.carriers[link.name]
        return Frame(link.name, carrier.body, work.behind(carrier.pose, link.frame, link.place))

    leading = dict.fromkeys([base, *work.names])
    frames = [of(work.links[name]) for name in leading] + [
        of(link) for link in tree.links if link.name not in leading
    ]
    taken = {frame.name for frame in frames}
    for extra in tree.frames:
        if extra.name in taken:
            raise extra.place.error(
                f"the name {shown(extra.name)} is already a link or frame",
                "give each frame its own name",
            )
        if extra.link not in work.carriers:
            raise extra.place.error(
                f"its body {shown(extra.link)} is not declared", link_hint(extra.link, work.links)
            )
        taken.add(extra.name)
        carrier = work.carriers[extra.link]
        frames.append(
            Frame(extra.name, carrier.body, work.behind(carrier.pose, extra.pose, extra.place))
        )
    return tuple(frames)


def _doubts(tree: Tree, work: _Assembly, strict: bool) -> list[Note]:
    """List the notes on doubtful inertias."""
    return [
        note
        for link in tree.links
        for inertial in link.inertials
        for note in _doubt(link, inertial, strict, work.carriers[link.name].body)
    ]


def _doubt(link: Link, inertial: Inertial, strict: bool, body: int) -> list[Note]:
    """Return a note where one inertia is doubtful: a warning, or a remark where the link stands still and so is in no answer."""
    if inertial.mass < 0 and body != BASE:
        raise inertial.place.error(
            f"link {shown(link.name)} has the negative mass {fraction_text(inertial.mass)} kg",
            "masses must be zero or more",
        )
    doubt = _implausible_moments(inertial.mass, _six(inertial.moments))
    if inertial.mass < 0:
        doubt = f"has the negative mass {fraction_text(inertial.mass)} kg"
    if doubt is None:
        return []
    if body == BASE:
        return [
            Note(
                "info",
                f"link {inertial.link or link.name} {doubt}, which nothing feels, since it stands still",
            )
        ]
    if strict:
        raise inertial.place.error(
            f"link {shown(link.name)} {doubt}, which strict reading refuses", "correct the inertia"
        )
    return [Note("warning", f"link {inertial.link or link.name} {doubt}")]


# -- loops --


def _closed(
    tree: Tree, work: _Assembly, open_chain: Mechanism
) -> tuple[tuple[Loop, ...], list[Note]]:
    """Return the loops that constrain something, and notes on those that do not.

    A loop is left out if both of its frames are on one body, with a warning where they are apart, or if they stay together
    however the joints move. `open_chain` is the mechanism without its loops. Whether loops can close is not asked here.
    """
    loops = _loops_between_bodies(tree, work)
    if not loops:
        return (), []
    # NumPy, which a description without loops does without
    from symgen.reference.rounding import ROUNDED, immobile_loops

    declared = {closing.name: closing for closing in tree.loops}
    notes = []
    for name, distance in immobile_loops(open_chain, list(loops.values())).items():
        loop = loops[name]
        if distance > ROUNDED and loop.first.body != loop.second.body:
            continue  # no pose closes it, which whoever assembles says
        text = (
            f"loop {name} constrains nothing and is left out: no joint moves its frame on {declared[name].second.link} against its "
            f"frame on {declared[name].first.link}"
        )
        apart = f"{text}, and they are apart by {distance:.2g} rad or parts of the robot's size"
        notes.append(Note("idle", text) if distance <= ROUNDED else Note("warning", apart))
        del loops[name]
    return tuple(loops.values()), notes


def _loops_between_bodies(tree: Tree, work: _Assembly) -> dict[str, Loop]:
    """Return the declared loops by name, with their ends on the bodies that carry them."""
    frames = {frame.name: frame for frame in tree.frames}
    loops: dict[str, Loop] = {}
    for loop in tree.loops:
        if loop.name in loops:
            raise loop.place.error("this name is already a loop", "give each loop its own name")
        (first_link, first), (second_link, second) = (
            _end(grip, frames, work) for grip in (loop.first, loop.second)
        )
        if first_link == second_link:
            raise loop.place.error(
                "it joins a link to itself", "name two links that can move against each other"
            )
        loops[loop.name] = Loop(loop.name, loop.kind, first, second, loop.parameters)
    return loops


def _end(grip: Grip, frames: Mapping[str, ExtraFrame], work: _Assembly) -> tuple[str, End]:
    """Return the link that a declared end is fixed to, and the end on the body that carries the link."""
    link, pose = grip.link, grip.pose
    frame = frames.get(grip.link)
    if frame is not None:
        link, pose = frame.link, work.behind(frame.pose, grip.pose, grip.place)
    if link not in work.carriers:
        raise grip.place.error(
            f"its link {shown(grip.link)} is not declared",
            link_hint(grip.link, [*work.carriers, *frames]),
        )
    carrier = work.carriers[link]
    return link, End(carrier.body, work.behind(carrier.pose, pose, grip.place))


def _start(tree: Tree, joints: Sequence[Joint], loops: Sequence[Loop]) -> Start:
    """Return the coordinates from which closing starts, in the order of the joints; locked joints are left out.

    DescriptionError: a joint has no such coordinates, or there is none of that name.
    """
    place = tree.place.at("start")
    types = {joint.name: joint.type for joint in joints}
    locked = {connection.name for connection in tree.connections} - types.keys()
    start: list[tuple[str, tuple[Fraction, ...]]] = []
    for name, values in tree.start:
        if name in locked:
            continue
        positions = types[name].positions if name in types else ()
        lengths = (v for v, p in zip(values, positions, strict=False) if p.unit != "rad")
        if any(length.pi for length in lengths):
            raise place.error(
                f"joint {shown(name)} slides there, and a multiple of pi is no length",
                "write plain numbers",
            )
        start.append((name, tuple(map(_radians, values))))
    coordinates = {name: (kind.nq, kind.quaternion) for name, kind in types.items()}
    fault = start_fault(start, tree.loops, coordinates)
    if fault is not None:
        raise place.error(*fault)
    index = {name: k for k, name in enumerate(types)}
    return tuple(sorted(start, key=lambda item: index[item[0]])) if loops else ()


def _radians(angle: Angle) -> Fraction:
    """Return an angle as a number, its multiple of pi to sixty digits: a search only begins there."""
    return angle.radians + rounded(2 * HALF_PI * angle.pi)


def _chosen(
    what: str, tree: Tree, asked: Sequence[str] | None, mechanism: Mechanism
) -> tuple[str, ...]:
    """Return the joints that are to be `what`, "independent" or "actuated", as asked or as declared, in their order.

    Locked joints are left out; a follower stands for its leader. DescriptionError, or UnknownName of what was asked for: there
    is none of that name; ArgumentError: there is no loop.
    """
    velocities = mechanism.velocities_of
    locked = {connection.name for connection in tree.connections} - velocities.keys()
    names: dict[str, None] = {}
    for name in getattr(tree, what) if asked is None else asked:
        if name not in locked:
            if asked is not None:
                nearest(name, velocities, "joint")
            names[_leader(name, mechanism)] = None
    fault = choice_fault(what, [*names], tree.loops, velocities)
    if fault is not None and asked is not None:
        raise ArgumentError("; ".join(fault))
    if fault is not None:
        raise tree.place.at(what).error(*fault)
    return tuple(sorted(names, key=lambda name: velocities[name])) if mechanism.loops else ()


def _leader(name: str, mechanism: Mechanism) -> str:
    """Return the joint that a joint follows, or the name itself."""
    for joint, follows in zip(mechanism.joints, mechanism.follows, strict=True):
        if joint.name == name and follows is not None:
            return mechanism.joints[follows.leader].name
    return name


def _implausible_moments(mass: Fraction, moments: Moments) -> str | None:
    """Return why no body of that `mass` (kg) can have these `moments` (kg m², about the centre of mass), or None."""
    what = _what_is_odd(mass, moments)
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    return (
        what
        and f"{what} ({', '.join(f'{n} {fraction_text(v)}' for n, v in zip(names, moments, strict=True))})"
    )


def _what_is_odd(mass: Fraction, moments: Moments) -> str | None:
    if not any(moments):
        return None  # a point
    if mass == 0:
        return "has moments of inertia but no mass"
    slack = _ROUNDING * max(moments[0] + moments[3] + moments[5], Fraction(0))
    if not is_positive_semidefinite(moments, slack):
        return "has moments of inertia that are not positive semidefinite"
    if not is_positive_semidefinite(second_moments(moments), slack):
        return "has principal moments of inertia that break the triangle inequality"
    return None
