"""`assemble` makes a Mechanism of what a reader hands over.

A reader only translates a file; whatever is true of every format is decided here once: that the links form one tree,
the order of the joints, the exact lumping of fixed and locked joints, the plausibility of inertias, and the notes
that tell the user about each of these.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symgen.description import inertias, remarks
from symgen.description.closing import chosen, closed, started
from symgen.description.coupling import locked_with_leaders
from symgen.description.freeing import freed
from symgen.description.locking import LockValue, locked_motions, place_text
from symgen.description.lookup import link_hint
from symgen.description.ordering import FILE, ordered
from symgen.description.quantities import (
    CANONICAL_DIGITS,
    Place,
    fraction_text,
    is_writable,
    is_writable_angle,
    shown,
)
from symgen.description.snapping import Snapper
from symgen.description.tree import (
    Closing,
    Connection,
    ExtraFrame,
    Inertial,
    Link,
    Tree,
    refuse_many,
)
from symgen.mechanism.drives import EVERY, FRICTION_SPEED, GRAVCOMP, NONE, Drive, speed_fault
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Note, Part
from symgen.support.errors import printable
from symgen.vocabulary.poses import Pose, Rotate, Shift, Slide, Step, Turn, Vector3, joined

EARTH: Vector3 = (Fraction(0), Fraction(0), Fraction(-981, 100))
LONGEST_NAME = 200
LONGEST_MASS = 40
"""Signs of a mass that a note gives whole: one that has π in it has sixty digits."""
MOST_STEPS = 1_000_000
"""Shifts and turns of all poses together. A link behind many fixed joints in a row keeps the steps of each of them exactly, and
so does the next link, so that a row of n takes n² / 2.
"""
_CHAIN = "write it as joints of one coordinate with massless links between them"
_WAYS = {"floating": "write 'free'", "ball": "write 'spherical'", "universal": _CHAIN}
"""What to do instead of a joint of several coordinates."""


@dataclass
class _Carrier:
    """Where a link ended up: on a body (or the base), displaced by `pose` from the frame of that body's joint."""

    body: int
    pose: Pose = ()


@dataclass
class _Assembly:
    links: dict[str, Link]
    carriers: dict[str, _Carrier]
    joints: list[Joint] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    steps: int = 0
    drives: frozenset[str] = NONE
    """The kinds of what drives declare that are applied."""

    def behind(self, pose: Pose, more: Pose, place: Place) -> Pose:
        """`more` behind `pose`, counted with all others. DescriptionError: they are too many, or a sum has too many digits."""
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


def assemble(
    tree: Tree,
    *,
    lock: Mapping[str, LockValue] | None = None,
    gravity: Vector3 | None = None,
    mimic: str | None = None,
    strict: bool = False,
    snapper: Snapper | None = None,
    source: str = "",
    source_sha256: str = "",
    floating: bool = False,
    drives: frozenset[str] | None = None,
    friction_speed: Fraction | None = None,
    independent: Sequence[str] | None = None,
    actuated: Sequence[str] | None = None,
    base_named: bool = False,
    joint_order: str | Sequence[str] = FILE,
) -> Mechanism:
    """The Mechanism of `tree`: joints parent before child, else in `joint_order`; fixed and locked joints lumped exactly.

    `floating`: whether a free joint of its own moves the root link, which else is fixed to the world; `base_named`: whether the
    user asked for that by name.
    `lock` maps a joint to the value (rad or m; None: 0) at which it is frozen. `mimic` is one of `coupling.WAYS`, None for
    "independent". `snapper` is the one that read the file; its snaps become notes, before which locked angles pass through it
    as well.
    `drives`: the kinds of `symgen.mechanism.drives` that are applied, None for those that the format means; `friction_speed`: ε.
    `independent`, `actuated`: joints, where loops are closed, None for those that the description names.
    Raises DescriptionError (no tree, unsupported joint, implausible inertia under `strict`), RequestError (`lock`).
    """
    snapper = snapper if snapper is not None else Snapper()
    order, root = _ordered(tree)
    if floating and not tree.afloat:
        tree = freed(tree, root, order)
        order, root = _ordered(tree)
    coupled = mimic == "couple"
    motions = locked_motions(
        tree, locked_with_leaders(tree, lock or {}, snapper) if coupled else lock or {}, snapper
    )
    _refuse_unsupported(tree, motions)
    if mimic == "refuse":
        for connection in tree.connections:
            if connection.mimic is not None and connection.name not in motions:
                raise connection.place.error(
                    f"it mimics joint {shown(connection.mimic.joint)}, which was to be refused",
                    "read them as independent, or lock this joint",
                )
    moving = {
        one.name
        for one in order
        if one.kind != "fixed" and one.name not in motions and not (coupled and one.mimic)
    }
    order = ordered(tree, order, joint_order, moving)
    work = _Assembly(
        links={link.name: link for link in tree.links},
        carriers={root: _Carrier(BASE)},
        drives=drives if drives is not None else EVERY if tree.drives_apply else NONE,
    )
    for connection in order:
        _attach(connection, motions, work, root)
    if not work.joints:
        raise tree.place.error(
            "no joint moves, so there are no dynamics",
            "declare or unlock a joint that is not fixed",
        )
    implausible = [
        doubt
        for link in tree.links
        for inertial in link.inertials
        for doubt in _doubts(link, inertial, strict, work.carriers[link.name].body)
    ]
    body_parts = _parts(work, tree.links)
    joints, bodies = (
        tuple(work.joints),
        tuple(Body(name, body_parts[i]) for i, name in enumerate(work.names)),
    )
    coupled = coupled and any(joint.mimic for joint in joints)
    loops, left_out = closed(
        tree,
        {name: (carrier.body, carrier.pose) for name, carrier in work.carriers.items()},
        work.behind,
        lambda: Mechanism(tree.name, joints, bodies, coupled=coupled),
    )
    notes = (
        [Note("snap", snap.text) for snap in snapper.snaps]
        + list(tree.notes)
        + work.notes
        + left_out
    )
    # Of a description that was lumped before, a joint that others mimic may be locked and gone; the first reading spoke of it.
    leaders = {c.name for c in tree.connections}
    if tree.read_before:
        leaders |= {j.mimic.joint for j in work.joints if j.mimic is not None}
    notes += remarks.on_mimics(work.joints, leaders, coupled) + remarks.on_what_is_not_applied(
        work.joints
    )
    notes += (
        remarks.on_weight_not_borne(_borne(work, tree.links)) if GRAVCOMP not in work.drives else []
    )
    notes += remarks.on_the_order(joint_order, [joint.name for joint in work.joints])
    notes += remarks.on_the_name(tree.name)
    notes += implausible + remarks.on_massless_ends(work.joints, body_parts)
    notes += remarks.on_free_joints_in_a_row(work.joints, body_parts) + remarks.on_loops(
        [loop.name for loop in loops]
    )
    if not tree.read_before:
        masses = {
            link.name: sum((i.mass for i in link.inertials), Fraction(0)) for link in tree.links
        }
        notes += remarks.on_the_base(
            root, masses, [(c.parent, c.child, c.kind == "fixed") for c in order], base_named
        )
    made = Mechanism(
        name=tree.name,
        joints=joints,
        bodies=bodies,
        frames=_frames(tree, work, root),
        gravity=gravity
        if gravity is not None
        else tree.gravity
        if tree.gravity is not None
        else EARTH,
        base=root,
        notes=tuple(dict.fromkeys(Note(note.kind, printable(note.text)) for note in notes)),
        source=source,
        source_sha256=source_sha256,
        base_parts=body_parts[BASE],
        coupled=coupled,
        friction_speed=_friction_speed(tree, work, friction_speed),
        loops=loops,
        start=started(tree, work.joints, loops),
    )
    made = replace(
        made,
        independent=chosen("independent", tree, independent, made),
        actuated=chosen("actuated", tree, actuated, made),
    )
    more = [note for note in remarks.on_ranges(made) if note not in made.notes] if coupled else []
    return replace(made, notes=(*made.notes, *more)) if more else made


def _friction_speed(tree: Tree, work: _Assembly, asked: Fraction | None) -> Fraction:
    """ε as asked, else as the description has it. Where no friction is applied, nothing hangs on it."""
    speed = asked if asked is not None else tree.friction_speed
    if speed is None or not any(joint.drive.friction for joint in work.joints):
        return FRICTION_SPEED
    if (slow := speed_fault(speed)) is not None:
        raise tree.place.error(*slow)
    return speed


def _ordered(tree: Tree) -> tuple[list[Connection], str]:
    """The connections parent before child, else as declared, and the name of the root; refuses what is no tree."""
    links: dict[str, Link] = {}
    for what, some in (
        ("links", tree.links),
        ("joints", tree.connections),
        ("frames", tree.frames),
        ("loops", tree.loops),
    ):
        refuse_many(len(some), what, tree.place)
    refuse_many(sum(len(link.inertials) for link in tree.links), "inertias", tree.place)
    _refuse_unusable(tree.name, tree.place)
    everything: list[Link | Connection | ExtraFrame | Closing] = [
        *tree.links,
        *tree.connections,
        *tree.frames,
        *tree.loops,
    ]
    for named in everything:
        _refuse_unusable(named.name, named.place)
    for inertial in (one for link in tree.links for one in link.inertials if one.link):
        _refuse_unusable(inertial.link, inertial.place)
    for link in tree.links:
        if link.name in links:
            raise link.place.error(
                f"this name is already a link{_line(links[link.name].place)}",
                "give each link its own name",
            )
        links[link.name] = link
    joints: dict[str, Connection] = {}
    above: dict[str, Connection] = {}
    for connection in tree.connections:
        if connection.name in joints:
            raise connection.place.error(
                f"this name is already a joint{_line(joints[connection.name].place)}",
                "give each joint its own name",
            )
        joints[connection.name] = connection
        for role, name in (("parent", connection.parent), ("child", connection.child)):
            if name not in links:
                raise connection.place.error(
                    f"its {role} link {shown(name)} is not declared", link_hint(name, links)
                )
        if connection.parent == connection.child:
            raise connection.place.error(
                f"it joins link {shown(connection.child)} to itself", "name another parent or child"
            )
        if connection.child in above:
            raise connection.place.error(
                f"link {shown(connection.child)} already has a parent through joint {shown(above[connection.child].name)}",
                "remove one of the two joints, or write TOML, where a [[loop]] closes it",
            )
        above[connection.child] = connection
    roots = [name for name in links if name not in above]
    if not links:
        raise tree.place.error("no link is declared", "declare at least two links and a joint")
    below: dict[str, list[tuple[int, Connection]]] = {name: [] for name in links}
    for index, connection in enumerate(tree.connections):
        below[connection.parent].append((index, connection))
    # An isolated root is reported only when there is a choice; a graph without any root is all cycle.
    if len(roots) > 1:
        listed = " and ".join(shown(name) for name in roots[:2]) + (
            f" and {len(roots) - 2} more" if len(roots) > 2 else ""
        )
        raise links[roots[1]].place.error(
            f"there are {len(roots)} root links ({listed})", "join all but one to a parent link"
        )
    waiting = list(below[roots[0]]) if roots else []
    heapq.heapify(waiting)
    order: list[Connection] = []
    while waiting:
        _, connection = heapq.heappop(waiting)
        order.append(connection)
        for item in below[connection.child]:
            heapq.heappush(waiting, item)
    if len(order) < len(tree.connections):
        reached = {connection.name for connection in order}
        stuck = next(c for c in tree.connections if c.name not in reached)
        raise stuck.place.error(
            "no root link reaches it, because of a cycle of joints",
            "remove one of the joints in the cycle",
        )
    return order, roots[0]


def _refuse_unusable(name: str, place: Place) -> None:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise place.error(
            f"{shown(name)} is no usable name", f"give 1 to {LONGEST_NAME} printable characters"
        )


def _is_writable(step: Step) -> bool:
    if isinstance(step, Shift):
        return all(map(is_writable, step.xyz))
    if isinstance(step, Rotate):
        return all(map(is_writable, step.quaternion))
    return is_writable_angle(step.angle) if isinstance(step, Turn) else is_writable(step.distance)


def _line(place: Place) -> str:
    return f" at line {place.line}" if place.line is not None else ""


def _refuse_unsupported(tree: Tree, motions: Mapping[str, Pose]) -> None:
    for connection in tree.connections:
        if (
            connection.kind != "fixed"
            and connection.kind not in kinds()
            and connection.name not in motions
        ):
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
        if connection.kind in kinds():
            missing = [
                p.name
                for p in joint_type(connection.kind).parameters
                if p.name not in dict(connection.parameters)
            ]
            if missing:
                raise connection.place.error(
                    f"a {connection.kind} joint declares {' and '.join(missing)}, for which this format "
                    "has no place",
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
    applied, told = dict(drive.declared), dict(connection.told_as)
    left = [
        (name, value)
        for name, value in connection.unapplied
        if not any(name in told.get(kind, ()) for kind in applied)
    ]
    more = [
        (name, value)
        for name, value in connection.drive.declared
        if name not in applied and name not in told
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


def _borne(work: _Assembly, links: Iterable[Link]) -> list[str]:
    """The links that move and declare that weight of theirs is borne."""
    moving = (link for link in links if work.carriers[link.name].body != BASE)
    return [
        link.name for link in moving if any(one.gravcomp and one.mass for one in link.inertials)
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


def _doubts(link: Link, inertial: Inertial, strict: bool, body: int) -> list[Note]:
    """What is odd about one inertia; that of a link that stands still is in no answer, and so only a remark."""
    if inertial.mass < 0 and body != BASE:
        raise inertial.place.error(
            f"link {shown(link.name)} has the negative mass {fraction_text(inertial.mass)} kg",
            "masses must be zero or more",
        )
    doubt = inertias.doubt(inertial.mass, _six(inertial.moments))
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
