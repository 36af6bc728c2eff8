"""Assembly of a Mechanism from the links, joints and loops of a reader.

A reader translates a file without interpreting it. This module does the work that is common to all
formats: exact lumping of fixed and locked joints, checks of inertias, closed loops between bodies,
and the notes that report these steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from symgen.description import remarks
from symgen.description.coupling import locked_with_leaders
from symgen.description.freeing import add_free_root_joint
from symgen.description.locking import locked_motions, locked_position_text
from symgen.description.lookup import link_hint
from symgen.description.ordering import FILE, order_joints, parents_first, validate_names
from symgen.description.quantities import (
    CANONICAL_DIGITS,
    Location,
    fraction_text,
    is_writable,
    is_writable_angle,
    quote,
    round_to_digits,
)
from symgen.description.snapping import HALF_PI, Snapper
from symgen.description.tree import Connection, ExtraFrame, Inertial, Link, LoopEnd, Tree
from symgen.mechanism.closed_loops import End, Loop, Start, choice_fault, start_fault
from symgen.mechanism.drives import EVERY, FRICTION_SPEED, GRAVCOMP, NONE, Drive, speed_fault
from symgen.mechanism.inertias import Moments, is_positive_semidefinite, second_moments
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Note, Part
from symgen.support.errors import ArgumentError, printable
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import LockValue
from symgen.vocabulary.poses import (
    Angle,
    Pose,
    Rotate,
    Shift,
    Slide,
    Step,
    Turn,
    Vector3,
    compose_merged,
)

EARTH: Vector3 = (Fraction(0), Fraction(0), Fraction(-981, 100))
"""Gravity (m/s²) if neither the user nor the description gives it."""
LONGEST_MASS = 40
"""Largest number of characters of an exact mass in a note. A longer mass, for example one that is
computed from π and has sixty digits, is rounded.
"""
MOST_STEPS = 1_000_000
"""Largest number of steps (translations and rotations) of all poses together.

After n fixed joints in series, the pose of a link consists of the exact steps of all n joints. So
the poses of the n links have about n²/2 steps.
"""
_SPLIT_JOINT = "write it as joints of one coordinate with massless links between them"
_REMEDIES = {"floating": "write 'free'", "ball": "write 'spherical'", "universal": _SPLIT_JOINT}
"""Remedies for unsupported joint types."""
_ROUNDING = Fraction(1, 10**12)
"""Tolerance of the checks of moments of inertia, relative to their trace. It accepts a thin disc
whose moments are printed with 15 digits.
"""


class _Carrier(NamedTuple):
    """Body, or base, to which a link is fixed."""

    body: int
    pose: Pose = ()
    """Pose of the link's joint frame in the frame of the body."""


@dataclass
class _Assembly:
    """Joints, bodies and notes so far, while the joints of the tree are attached one by one."""

    links: dict[str, Link]
    carriers: dict[str, _Carrier]
    joints: list[Joint] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Names of the bodies, in the order of the joints that move them."""
    notes: list[Note] = field(default_factory=list)
    steps: int = 0
    drives: frozenset[str] = NONE
    """Kinds of drives that are applied."""

    def extend_pose(self, pose: Pose, extension: Pose, location: Location) -> Pose:
        """Return `pose` followed by `extension`, and count the steps of the result.

        Raises DescriptionError if all poses together have too many steps, or if a merged step has
        too many digits.
        """
        total = compose_merged(pose, extension)
        self.steps += len(total)
        if self.steps > MOST_STEPS:
            raise location.error(
                f"the poses of links have more than {MOST_STEPS} steps up to here, because of many"
                " fixed joints in a row",
                "connect each link of such a row to the first link by one fixed joint",
            )
        if not all(map(_is_writable, total[max(0, len(total) - len(extension)) :])):
            raise location.error(
                "its pose on the body that carries it needs numbers beyond a double, or of more"
                f" than {CANONICAL_DIGITS} digits",
                "write poses with fewer digits",
            )
        return total


@dataclass(frozen=True)
class AssemblyOptions:
    """Options of a user that apply to every format.

    - `lock`: joint -> value at which the joint is locked (rad or m; None for 0).
    - `gravity`: None for the gravity of the description, or else `EARTH`.
    - `mimic`: one of `coupling.MIMIC_CHOICES`, None for "independent".
    - `strict`: implausible inertias are errors instead of warnings.
    - `base`: "free" adds a free joint between world and root link; "fixed" or None fixes the root
      link.
    - `drives`: kinds of `symgen.mechanism.drives` to apply, None for the default of the format.
    - `friction_speed`: ε of the smooth friction.
    - `independent`, `actuated`: joints of closed loops, None for those that the description names.
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
    """Return the Mechanism of `tree`, with fixed and locked joints lumped exactly.

    Parents come before their children; apart from that, `joint_order` determines the order of the
    joints. `snapper` has snapped the angles of the file; it snaps the locked angles, too, and each
    of its snaps becomes a note. Raises DescriptionError for links and joints that form no tree, for
    an unsupported joint, and with `strict` for an implausible inertia. Raises RequestError for a
    fault in `lock`.
    """
    options = options if options is not None else AssemblyOptions()
    snapper = snapper if snapper is not None else Snapper()
    validate_names(tree)
    order, root = parents_first(tree)
    if options.base == "free" and not tree.afloat:
        tree = add_free_root_joint(tree, root, order)
        order, root = parents_first(tree)
    motions = _locked_motions(tree, options, snapper)
    _refuse_unsupported(tree, motions)
    if options.mimic == "refuse":
        _refuse_mimics(tree, motions)
    order = order_joints(tree, order, options.joint_order, _moving_joints(order, motions, options))
    assembly = _Assembly(
        links={link.name: link for link in tree.links},
        carriers={root: _Carrier(BASE)},
        drives=_applied_drives(tree, options),
    )
    for connection in order:
        _attach(connection, motions, assembly, root)
    if not assembly.joints:
        raise tree.location.error(
            "no joint moves, so there are no dynamics",
            "declare or unlock a joint that is not fixed",
        )
    inertia_notes = _note_implausible_inertias(tree, assembly, options.strict)
    parts = _parts_by_body(assembly, tree.links)
    open_chain = Mechanism(
        tree.name,
        joints=tuple(assembly.joints),
        bodies=tuple(Body(name, parts[i]) for i, name in enumerate(assembly.names)),
        coupled=options.mimic == "couple" and any(joint.mimic for joint in assembly.joints),
    )
    loops, idle_notes = _effective_loops(tree, assembly, open_chain)
    notes = [
        *(Note("snap", snap.text) for snap in snapper.snaps),
        *tree.notes,
        *assembly.notes,
        *idle_notes,
        *_remarks(tree, assembly, options, open_chain),
        *inertia_notes,
        *remarks.note_massless_ends(assembly.joints, parts),
        *remarks.note_free_joints_in_a_row(assembly.joints, parts),
        *remarks.note_loops([loop.name for loop in loops]),
        *_base_remarks(tree, order, root, options),
    ]
    mechanism = replace(
        open_chain,
        frames=_frames(tree, assembly, root),
        gravity=_first_known(options.gravity, tree.gravity, EARTH),
        base=root,
        notes=tuple(dict.fromkeys(Note(note.kind, printable(note.text)) for note in notes)),
        source=source,
        source_sha256=source_sha256,
        base_parts=parts[BASE],
        friction_speed=_friction_speed(tree, assembly, options.friction_speed),
        loops=loops,
        start=_start(tree, assembly.joints, loops),
    )
    mechanism = replace(
        mechanism,
        independent=_selected_joints("independent", tree, options.independent, mechanism),
        actuated=_selected_joints("actuated", tree, options.actuated, mechanism),
    )
    return _with_notes_on_ranges(mechanism)


def _first_known(*values: Vector3 | None) -> Vector3:
    return next(value for value in values if value is not None)


def _locked_motions(tree: Tree, options: AssemblyOptions, snapper: Snapper) -> dict[str, Pose]:
    """Return the constant motion of each locked joint, including the followers of locked joints."""
    lock = options.lock
    if options.mimic == "couple":
        lock = locked_with_leaders(tree, lock, snapper)
    return locked_motions(tree, lock, snapper)


def _refuse_mimics(tree: Tree, motions: Mapping[str, Pose]) -> None:
    """Raise DescriptionError for the first mimic joint that is not locked."""
    for connection in tree.connections:
        if connection.mimic is not None and connection.name not in motions:
            raise connection.location.error(
                f"it mimics joint {quote(connection.mimic.joint)}, and mimic joints are refused"
                " (--mimic refuse)",
                "use --mimic independent, or lock this joint",
            )


def _moving_joints(
    order: Sequence[Connection], motions: Mapping[str, Pose], options: AssemblyOptions
) -> set[str]:
    """Return the names of the joints that have coordinates: neither fixed, locked nor coupled."""
    coupled = options.mimic == "couple"
    return {
        connection.name
        for connection in order
        if connection.kind != "fixed"
        and connection.name not in motions
        and not (coupled and connection.mimic)
    }


def _applied_drives(tree: Tree, options: AssemblyOptions) -> frozenset[str]:
    """Return the kinds of drives of the user's option, else those of the format."""
    if options.drives is not None:
        return options.drives
    return EVERY if tree.drives_apply else NONE


def _remarks(
    tree: Tree, assembly: _Assembly, options: AssemblyOptions, mechanism: Mechanism
) -> list[Note]:
    """Return the notes on mimic joints, drives, gravity compensation, joint order and C names."""
    # A converted description lacks a leader that is fixed or locked in the original. Its copied
    # notes report that already.
    leaders = {connection.name for connection in tree.connections}
    if tree.read_before:
        leaders |= {joint.mimic.joint for joint in assembly.joints if joint.mimic is not None}
    ignored = [] if GRAVCOMP in assembly.drives else _links_with_gravcomp(assembly, tree.links)
    return [
        *remarks.note_mimics(assembly.joints, leaders, mechanism.coupled),
        *remarks.note_unapplied_drives(assembly.joints),
        *remarks.note_ignored_gravity_compensation(ignored),
        *remarks.note_joint_order(options.joint_order, [joint.name for joint in assembly.joints]),
        *remarks.note_c_name(tree.name),
    ]


def _base_remarks(
    tree: Tree, order: Sequence[Connection], root: str, options: AssemblyOptions
) -> list[Note]:
    """Return the notes on the root link; none for a converted description, which contains the notes
    of the original.
    """
    if tree.read_before:
        return []
    masses = {
        link.name: sum((inertial.mass for inertial in link.inertials), Fraction(0))
        for link in tree.links
    }
    parents_and_children = [(joint.parent, joint.child, joint.kind == "fixed") for joint in order]
    return remarks.note_fixed_base(root, masses, parents_and_children, options.base is not None)


def _with_notes_on_ranges(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with a note for each leader whose range and the ranges of its followers
    have no common value.
    """
    if not mechanism.coupled:
        return mechanism
    range_notes = [
        note for note in remarks.note_empty_ranges(mechanism) if note not in mechanism.notes
    ]
    return replace(mechanism, notes=(*mechanism.notes, *range_notes)) if range_notes else mechanism


def _friction_speed(tree: Tree, assembly: _Assembly, chosen: Fraction | None) -> Fraction:
    """Return ε of the smooth friction: the user's, else that of the description, else the default.

    It is the default if no joint has friction.
    """
    speed = chosen if chosen is not None else tree.friction_speed
    if speed is None or not any(joint.drive.friction for joint in assembly.joints):
        return FRICTION_SPEED
    if (fault := speed_fault(speed)) is not None:
        raise tree.location.error(*fault)
    return speed


def _is_writable(step: Step) -> bool:
    """True if the numbers of a step have few enough digits for the canonical description."""
    if isinstance(step, Shift):
        return all(map(is_writable, step.xyz))
    if isinstance(step, Rotate):
        return all(map(is_writable, step.quaternion))
    return is_writable_angle(step.angle) if isinstance(step, Turn) else is_writable(step.distance)


def _refuse_unsupported(tree: Tree, motions: Mapping[str, Pose]) -> None:
    """Raise DescriptionError for an unknown joint type that is not locked, or for a joint type with
    a parameter that the format cannot express.
    """
    for connection in tree.connections:
        if connection.kind in kinds():
            _refuse_missing_parameters(connection)
        elif connection.kind != "fixed" and connection.name not in motions:
            normalized_kind = connection.kind.strip().lower()
            remedy = (
                f"write '{normalized_kind}'"
                if normalized_kind in (*kinds(), "fixed")
                else _REMEDIES.get(normalized_kind, "declare another type")
            )
            raise connection.location.error(
                f"its type {quote(connection.kind)} is not supported (supported:"
                f" {', '.join(kinds())}, fixed)",
                f"{remedy}, or lock the joint at zero to merge its links",
            )


def _refuse_missing_parameters(connection: Connection) -> None:
    """Raise DescriptionError if a parameter of the joint type, such as a pitch, is not declared."""
    declared = dict(connection.parameters)
    parameters = joint_type(connection.kind).parameters
    missing = [parameter.name for parameter in parameters if parameter.name not in declared]
    if missing:
        raise connection.location.error(
            f"a {connection.kind} joint declares {' and '.join(missing)}, which this format cannot"
            " declare",
            "describe the robot in TOML",
        )


def _attach(
    connection: Connection, motions: Mapping[str, Pose], assembly: _Assembly, base: str
) -> None:
    """Add the body that `connection` moves, or lump its child into the carrier of the parent."""
    parent = assembly.carriers[connection.parent]
    pose = assembly.extend_pose(parent.pose, connection.pose, connection.location)
    is_fixed = connection.kind == "fixed"
    if not is_fixed and connection.name not in motions:
        assembly.carriers[connection.child] = _Carrier(len(assembly.joints))
        assembly.names.append(connection.child)
        drive, withheld, unapplied = _split_drive(connection, assembly.drives)
        assembly.joints.append(
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
    assembly.carriers[connection.child] = _Carrier(
        parent.body,
        assembly.extend_pose(pose, motions.get(connection.name, ()), connection.location),
    )
    carrier = base if parent.body == BASE else assembly.names[parent.body]
    mass = sum((i.mass for i in assembly.links[connection.child].inertials), Fraction(0))
    weight = fraction_text(mass)
    text = (
        f"{connection.child} ({weight if len(weight) <= LONGEST_MASS else f'{float(mass):.9g}'} kg)"
        f" onto {carrier}"
    )
    if is_fixed:
        assembly.notes.append(Note("lump", f"{text}, through the fixed joint {connection.name}"))
    else:
        motion = motions[connection.name]
        assembly.notes.append(
            Note(
                "lock", f"{text}, joint {connection.name} locked at {locked_position_text(motion)}"
            )
        )
        if connection.kind in kinds() and joint_type(connection.kind).limited:
            moves = (
                s.angle if isinstance(s, Turn) else s.distance
                for s in motion
                if isinstance(s, Turn | Slide)
            )
            value = next(map(float, moves), 0.0)
            assembly.notes += remarks.note_locked_value(
                connection.name,
                value,
                connection.limits,
                joint_type(connection.kind).positions[0].unit,
            )


def _split_drive(
    connection: Connection, kinds: frozenset[str]
) -> tuple[Drive, Drive, tuple[tuple[str, Fraction], ...]]:
    """Return (applied drive, other drive, unapplied numbers) of a joint.

    The applied drive has the `kinds` of drive values that are applied, the other drive the
    remaining kinds. The unapplied numbers are those of the description that do not enter the
    applied drive. Raises DescriptionError if the drive cannot be applied.
    """
    fault = next(
        (fault_of_kind for kind, fault_of_kind in connection.faults if kind in kinds), None
    )
    if fault is not None:
        raise fault
    drive = connection.drive.only(kinds)
    type_of_joint = joint_type(connection.kind)
    if (drive_fault := drive.fault(type_of_joint.nq, type_of_joint.nv)) is not None:
        raise connection.location.error(*drive_fault)
    applied, sources = dict(drive.declared), dict(connection.read_from)
    unused_numbers = [
        (name, value)
        for name, value in connection.unapplied
        if not any(name in sources.get(kind, ()) for kind in applied)
    ]
    unapplied_values = [
        (name, value)
        for name, value in connection.drive.declared
        if name not in applied and name not in sources
    ]
    return drive, connection.drive.only(EVERY - kinds), (*unused_numbers, *unapplied_values)


def _parts_by_body(assembly: _Assembly, links: Iterable[Link]) -> dict[int, tuple[Part, ...]]:
    """Return the parts (masses) of every body: first those of the link that the joint moves, then
    those of lumped links in declared order.
    """
    parts: dict[int, list[Part]] = {i: [] for i in range(BASE, len(assembly.joints))}
    links_of_bodies = set(assembly.names)
    for is_moved_by_joint in (True, False):
        for link in links:
            carrier = assembly.carriers[link.name]
            if (link.name in links_of_bodies) == is_moved_by_joint:
                applied = carrier.body != BASE and GRAVCOMP in assembly.drives
                parts[carrier.body] += [
                    Part(
                        i.link or link.name,
                        assembly.extend_pose(carrier.pose, i.pose, i.location),
                        i.mass,
                        _six(i.moments),
                        i.gravcomp if applied and i.mass else Fraction(0),
                    )
                    for i in link.inertials
                ]
    return {i: tuple(p) for i, p in parts.items()}


def _links_with_gravcomp(assembly: _Assembly, links: Iterable[Link]) -> list[str]:
    """Return the moving links that declare gravity compensation."""
    moving = (link for link in links if assembly.carriers[link.name].body != BASE)
    return [
        link.name
        for link in moving
        if any(inertial.gravcomp and inertial.mass for inertial in link.inertials)
    ]


def _six(
    m: tuple[Fraction, ...],
) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]:
    return m[0], m[1], m[2], m[3], m[4], m[5]


def _frames(tree: Tree, assembly: _Assembly, base: str) -> tuple[Frame, ...]:
    """Return the frames of the base, of the bodies in the order of the joints, of the lumped links,
    and then the additional frames; the last two in declared order.
    """

    def frame_of(link: Link) -> Frame:
        carrier = assembly.carriers[link.name]
        return Frame(
            link.name, carrier.body, assembly.extend_pose(carrier.pose, link.frame, link.location)
        )

    base_and_bodies = dict.fromkeys([base, *assembly.names])
    frames = [frame_of(assembly.links[name]) for name in base_and_bodies] + [
        frame_of(link) for link in tree.links if link.name not in base_and_bodies
    ]
    used_names = {frame.name for frame in frames}
    for extra in tree.frames:
        if extra.name in used_names:
            raise extra.location.error(
                f"the name {quote(extra.name)} is already a link or frame",
                "give each frame its own name",
            )
        if extra.link not in assembly.carriers:
            raise extra.location.error(
                f"its body {quote(extra.link)} is not declared",
                link_hint(extra.link, assembly.links),
            )
        used_names.add(extra.name)
        carrier = assembly.carriers[extra.link]
        frames.append(
            Frame(
                extra.name,
                carrier.body,
                assembly.extend_pose(carrier.pose, extra.pose, extra.location),
            )
        )
    return tuple(frames)


def _note_implausible_inertias(tree: Tree, assembly: _Assembly, strict: bool) -> list[Note]:
    """Return the notes on inertias that no rigid body can have."""
    return [
        note
        for link in tree.links
        for inertial in link.inertials
        for note in _note_implausible_inertia(
            link, inertial, strict, assembly.carriers[link.name].body
        )
    ]


def _note_implausible_inertia(
    link: Link, inertial: Inertial, strict: bool, body: int
) -> list[Note]:
    """Return a warning if no rigid body can have this inertia; only an information if the link is
    fixed to the base, since its inertia then has no effect.

    Raises DescriptionError for a negative mass of a moving link, and with `strict` in place of the
    warning.
    """
    if inertial.mass < 0 and body != BASE:
        raise inertial.location.error(
            f"link {quote(link.name)} has the negative mass {fraction_text(inertial.mass)} kg",
            "masses must be zero or more",
        )
    fault = _implausible_moments(inertial.mass, _six(inertial.moments))
    if inertial.mass < 0:
        fault = f"has the negative mass {fraction_text(inertial.mass)} kg"
    if fault is None:
        return []
    if body == BASE:
        return [
            Note(
                "info",
                f"link {inertial.link or link.name} {fault}; this has no effect, since the link is"
                " fixed",
            )
        ]
    if strict:
        raise inertial.location.error(
            f"link {quote(link.name)} {fault}, which strict reading refuses", "correct the inertia"
        )
    return [Note("warning", f"link {inertial.link or link.name} {fault}")]


# -- loops --


def _effective_loops(
    tree: Tree, assembly: _Assembly, open_chain: Mechanism
) -> tuple[tuple[Loop, ...], list[Note]]:
    """Return the loops that constrain the mechanism, and notes on the loops that do not.

    A loop constrains nothing, and is left out, if no joint moves its two ends relative to each
    other. The note is a warning if the ends of such a loop are on one body and do not coincide. A
    loop between two bodies whose ends never coincide is kept, so that the search for a closed pose
    reports it. `open_chain` is the mechanism without its loops.
    """
    loops = _loops_between_bodies(tree, assembly)
    if not loops:
        return (), []
    # Imported here, since it loads NumPy, which descriptions without loops do not need
    from symgen.reference.rounding import ROUNDED, immobile_loops

    declared = {loop.name: loop for loop in tree.loops}
    notes = []
    for name, distance in immobile_loops(open_chain, list(loops.values())).items():
        loop = loops[name]
        if distance > ROUNDED and loop.first.body != loop.second.body:
            continue  # no pose closes the loop; the search for a closed pose reports that
        text = (
            f"loop {name} constrains nothing and is left out: no joint moves its frame on"
            f" {declared[name].second.link} against its frame on {declared[name].first.link}"
        )
        warning_text = (
            f"{text}, and they are apart by {distance:.2g} rad or parts of the robot's size"
        )
        notes.append(Note("idle", text) if distance <= ROUNDED else Note("warning", warning_text))
        del loops[name]
    return tuple(loops.values()), notes


def _loops_between_bodies(tree: Tree, assembly: _Assembly) -> dict[str, Loop]:
    """Return the declared loops by name; each end refers to the body that carries its link."""
    frames = {frame.name: frame for frame in tree.frames}
    loops: dict[str, Loop] = {}
    for loop in tree.loops:
        if loop.name in loops:
            raise loop.location.error("this name is already a loop", "give each loop its own name")
        (first_link, first), (second_link, second) = (
            _loop_end(end, frames, assembly) for end in (loop.first, loop.second)
        )
        if first_link == second_link:
            raise loop.location.error(
                "it joins a link to itself", "name two links that can move against each other"
            )
        loops[loop.name] = Loop(loop.name, loop.kind, first, second, loop.parameters)
    return loops


def _loop_end(
    declared: LoopEnd, frames: Mapping[str, ExtraFrame], assembly: _Assembly
) -> tuple[str, End]:
    """Return the link of a declared loop end, and the end on the body that carries the link.

    The description may name an additional frame in place of a link.
    """
    link, pose = declared.link, declared.pose
    frame = frames.get(declared.link)
    if frame is not None:
        link, pose = frame.link, assembly.extend_pose(frame.pose, declared.pose, declared.location)
    if link not in assembly.carriers:
        raise declared.location.error(
            f"its link {quote(declared.link)} is not declared",
            link_hint(declared.link, [*assembly.carriers, *frames]),
        )
    carrier = assembly.carriers[link]
    return link, End(carrier.body, assembly.extend_pose(carrier.pose, pose, declared.location))


def _start(tree: Tree, joints: Sequence[Joint], loops: Sequence[Loop]) -> Start:
    """Return the coordinates at which the search for a closed pose starts, in the order of the
    joints, without locked joints.

    Raises DescriptionError for an unknown joint or wrong coordinates.
    """
    location = tree.location.at("start")
    types = {joint.name: joint.type for joint in joints}
    locked = {connection.name for connection in tree.connections} - types.keys()
    start: list[tuple[str, tuple[Fraction, ...]]] = []
    for name, values in tree.start:
        if name in locked:
            continue
        positions = types[name].positions if name in types else ()
        lengths = (v for v, p in zip(values, positions, strict=False) if p.unit != "rad")
        if any(length.pi for length in lengths):
            raise location.error(
                f"joint {quote(name)} slides, and a multiple of pi is not a length",
                "write plain numbers",
            )
        start.append((name, tuple(map(_radians, values))))
    coordinates = {name: (kind.nq, kind.quaternion) for name, kind in types.items()}
    fault = start_fault(start, tree.loops, coordinates)
    if fault is not None:
        raise location.error(*fault)
    index = {name: k for k, name in enumerate(types)}
    return tuple(sorted(start, key=lambda item: index[item[0]])) if loops else ()


def _radians(angle: Angle) -> Fraction:
    """Return an angle as a number, with pi to sixty digits, as the start of a search."""
    return angle.radians + round_to_digits(2 * HALF_PI * angle.pi)


def _selected_joints(
    kind: str, tree: Tree, requested: Sequence[str] | None, mechanism: Mechanism
) -> tuple[str, ...]:
    """Return the independent or actuated joints, as `kind` says, in the order of the velocities.

    The user, or else the description, declares them. Locked joints are left out; the leader
    replaces a follower. Raises UnknownName or DescriptionError for an unknown joint, and
    ArgumentError if the user names joints of a robot without loops.
    """
    velocities = mechanism.velocities_of
    locked = {connection.name for connection in tree.connections} - velocities.keys()
    names: dict[str, None] = {}
    for name in getattr(tree, kind) if requested is None else requested:
        if name not in locked:
            if requested is not None:
                nearest(name, velocities, "joint")
            names[_leader(name, mechanism)] = None
    fault = choice_fault(kind, [*names], tree.loops, velocities)
    if fault is not None and requested is not None:
        raise ArgumentError("; ".join(fault))
    if fault is not None:
        raise tree.location.at(kind).error(*fault)
    return tuple(sorted(names, key=lambda name: velocities[name])) if mechanism.loops else ()


def _leader(name: str, mechanism: Mechanism) -> str:
    """Return the name of a joint's leader, or `name` if the joint follows none."""
    for joint, coupling in zip(mechanism.joints, mechanism.joint_couplings, strict=True):
        if joint.name == name and coupling is not None:
            return mechanism.joints[coupling.leader].name
    return name


def _implausible_moments(mass: Fraction, moments: Moments) -> str | None:
    """Return the fault, with the numbers, if no rigid body has this mass (kg) and these moments of
    inertia (kg m², about the centre of mass); else None.
    """
    fault = _moments_fault(mass, moments)
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    texts = (f"{n} {fraction_text(v)}" for n, v in zip(names, moments, strict=True))
    return fault and f"{fault} ({', '.join(texts)})"


def _moments_fault(mass: Fraction, moments: Moments) -> str | None:
    """Return the fault of a mass and moments of inertia, without the numbers, or None."""
    if not any(moments):
        return None  # a point mass
    if mass == 0:
        return "has moments of inertia but no mass"
    slack = _ROUNDING * max(moments[0] + moments[3] + moments[5], Fraction(0))
    if not is_positive_semidefinite(moments, slack):
        return "has moments of inertia that are not positive semidefinite"
    if not is_positive_semidefinite(second_moments(moments), slack):
        return "has principal moments of inertia that break the triangle inequality"
    return None
