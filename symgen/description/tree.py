"""What a reader hands over, links and joints as declared, and `assemble`, which makes a Mechanism of it.

A reader only translates a file. What holds for every format is decided here once: that the links form one tree, the order of the
joints, the exact lumping of fixed and locked joints, whether inertias are plausible, and the notes that tell the user about each
of these.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from symgen.description import inertias, remarks
from symgen.description.quantities import NOWHERE, Place, angle_text, fraction_text, rational, shown
from symgen.description.snapping import Snapper
from symgen.errors import ArgumentError, RequestError
from symgen.joints import joint_type, kinds
from symgen.mechanism import (
    BASE,
    X_AXIS,
    Angle,
    Body,
    Frame,
    Joint,
    Limits,
    Mechanism,
    Mimic,
    Note,
    Part,
    Pose,
    Shift,
    Slide,
    Turn,
    Vector3,
    compose,
)
from symgen.names import nearest

EARTH: Vector3 = (Fraction(0), Fraction(0), Fraction(-981, 100))
_LONGEST_NAME = 200
_UNLIMITED = Limits()
_CHAIN = "write it as joints of one coordinate with massless links between them"
_WAYS = {"floating": "give it the six joints of the book's chapter 'A base that moves'", "planar": _CHAIN,
         "spherical": _CHAIN, "ball": _CHAIN, "universal": _CHAIN}
"""What to do instead of a joint of several coordinates."""
LockValue = int | float | str | Fraction | Angle | None


@dataclass(frozen=True)
class Inertial:
    """One declared inertia: `pose` leads from the frame of the link's joint to the centre of mass and the axes of `moments`."""

    mass: Fraction
    moments: tuple[Fraction, ...]
    pose: Pose = ()
    place: Place = NOWHERE
    link: str = ""
    """The link it was declared for, if another link carries it (in a lumped description)."""


@dataclass(frozen=True)
class Link:
    """One declared link. One without inertial is legal and massless. `frame`: from its joint's moving frame to its own."""

    name: str
    inertials: tuple[Inertial, ...] = ()
    place: Place = NOWHERE
    frame: Pose = ()


@dataclass(frozen=True)
class Connection:
    """One declared joint, fixed ones included; `pose` leads from the parent link's joint frame to this joint's frame."""

    name: str
    kind: str
    parent: str
    child: str
    pose: Pose = ()
    axis: Vector3 = X_AXIS
    limits: Limits = _UNLIMITED
    mimic: Mimic | None = None
    unapplied: tuple[tuple[str, Fraction], ...] = ()
    place: Place = NOWHERE


@dataclass(frozen=True)
class ExtraFrame:
    """A named frame that is no link: `pose` from the joint frame of `link`."""

    name: str
    link: str
    pose: Pose = ()
    place: Place = NOWHERE


@dataclass(frozen=True)
class Tree:
    """A description as declared, before anything is lumped. `place` names the file."""

    name: str
    links: tuple[Link, ...]
    connections: tuple[Connection, ...]
    frames: tuple[ExtraFrame, ...] = ()
    gravity: Vector3 | None = None
    source: str = ""
    notes: tuple[Note, ...] = ()
    place: Place = NOWHERE
    read_before: bool = False
    """Whether `notes` come from an earlier reading, of the description that this one was written from."""
    source_sha256: str | None = None
    """The hash of the description that this canonical one was written from ('' if it is none)."""


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


def assemble(
    tree: Tree,
    *,
    lock: Mapping[str, LockValue] | None = None,
    gravity: Vector3 | None = None,
    mimic: str = "independent",
    strict: bool = False,
    snapper: Snapper | None = None,
    source: str = "",
    source_sha256: str = "",
) -> Mechanism:
    """The Mechanism of `tree`: joints parent before child, else in declared order; fixed and locked joints lumped exactly.

    `lock` maps a joint to the value (rad or m; None: 0) at which it is frozen. `snapper` is the one that read the
    file; its snaps become notes, before which locked angles pass through it as well.
    Raises DescriptionError (no tree, unsupported joint, implausible inertia under `strict`), RequestError (`lock`).
    """
    snapper = snapper if snapper is not None else Snapper()
    order, base = _ordered(tree)
    motions = _locked_motions(tree, lock or {}, snapper)
    _refuse_unsupported(tree, motions)
    if mimic == "refuse":
        for connection in tree.connections:
            if connection.mimic is not None and connection.name not in motions:
                raise connection.place.error(f"it mimics joint {shown(connection.mimic.joint)}, which was to be refused",
                                             "read them as independent, or lock this joint")
    work = _Assembly(links={link.name: link for link in tree.links}, carriers={base: _Carrier(BASE)})
    for connection in order:
        _attach(connection, motions, work, base)
    if not work.joints:
        raise tree.place.error("no joint moves, so there are no dynamics", "declare or unlock a joint that is not fixed")
    implausible = [doubt for link in tree.links for inertial in link.inertials
                   for doubt in _doubts(link, inertial, strict, work.carriers[link.name].body)]
    body_parts = _parts(work, tree.links)
    notes = [Note("snap", snap.text) for snap in snapper.snaps] + list(tree.notes) + work.notes
    notes += remarks.on_mimics(work.joints, {c.name for c in tree.connections}) + remarks.on_what_is_not_applied(work.joints)
    notes += implausible + remarks.on_massless_ends(work.joints, body_parts)
    if not tree.read_before:
        masses = {link.name: sum((i.mass for i in link.inertials), Fraction(0)) for link in tree.links}
        notes += remarks.on_the_base(base, masses, [(c.parent, c.child, c.kind == "fixed") for c in order])
    return Mechanism(
        name=tree.name,
        joints=tuple(work.joints),
        bodies=tuple(Body(name, body_parts[i]) for i, name in enumerate(work.names)),
        frames=_frames(tree, work, base),
        gravity=gravity if gravity is not None else tree.gravity if tree.gravity is not None else EARTH,
        base=base,
        notes=tuple(dict.fromkeys(notes)),
        source=source or tree.source,
        source_sha256=source_sha256,
        base_parts=body_parts[BASE],
    )


def _ordered(tree: Tree) -> tuple[list[Connection], str]:
    """The connections parent before child, else as declared, and the name of the root; refuses what is no tree."""
    links: dict[str, Link] = {}
    everything: list[Link | Connection | ExtraFrame] = [*tree.links, *tree.connections, *tree.frames]
    for named in everything:
        if not named.name.strip() or len(named.name) > _LONGEST_NAME or not named.name.isprintable():
            raise named.place.error(f"{shown(named.name)} is no usable name", f"give 1 to {_LONGEST_NAME} printable characters")
    for link in tree.links:
        if link.name in links:
            raise link.place.error(f"this name is already a link{_line(links[link.name].place)}", "give each link its own name")
        links[link.name] = link
    joints: dict[str, Connection] = {}
    above: dict[str, Connection] = {}
    for connection in tree.connections:
        if connection.name in joints:
            raise connection.place.error(f"this name is already a joint{_line(joints[connection.name].place)}",
                                         "give each joint its own name")
        joints[connection.name] = connection
        for role, name in (("parent", connection.parent), ("child", connection.child)):
            if name not in links:
                raise connection.place.error(f"its {role} link {shown(name)} is not declared", _suggestion(name, links))
        if connection.parent == connection.child:
            raise connection.place.error(f"it joins link {shown(connection.child)} to itself", "name another parent or child")
        if connection.child in above:
            raise connection.place.error(
                f"link {shown(connection.child)} already has a parent through joint {shown(above[connection.child].name)}",
                "closed loops are not supported: cut the loop by removing one of the two joints")
        above[connection.child] = connection
    roots = [name for name in links if name not in above]
    if not links:
        raise tree.place.error("no link is declared", "declare at least two links and a joint")
    below: dict[str, list[tuple[int, Connection]]] = {name: [] for name in links}
    for index, connection in enumerate(tree.connections):
        below[connection.parent].append((index, connection))
    # An isolated root is reported only when there is a choice. A graph without any root consists of cycles.
    if len(roots) > 1:
        listed = " and ".join(shown(name) for name in roots[:2]) + (f" and {len(roots) - 2} more" if len(roots) > 2 else "")
        raise links[roots[1]].place.error(f"there are {len(roots)} root links ({listed})", "join all but one to a parent link")
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
        raise stuck.place.error("no root link reaches it, because of a cycle of joints", "remove one of the joints in the cycle")
    return order, roots[0]


def _line(place: Place) -> str:
    return f" at line {place.line}" if place.line is not None else ""


def _suggestion(name: str, links: Iterable[str]) -> str:
    try:
        nearest(name, links, "link")
    except RequestError as error:
        return str(error).partition("; ")[2] if "did you mean" in str(error) else "declare that link or name a declared one"
    return ""


def _locked_motions(tree: Tree, lock: Mapping[str, LockValue], snapper: Snapper) -> dict[str, Pose]:
    """The constant displacement of every locked joint."""
    motions: dict[str, Pose] = {}
    moving = {c.name: c for c in tree.connections if c.kind != "fixed"}
    for name, value in lock.items():
        if any(c.name == name and c.kind == "fixed" for c in tree.connections):
            raise ArgumentError(f"joint {shown(name)} cannot be locked: it is fixed already; leave it out")
        connection = moving[nearest(name, moving, "joint")]
        place = Place(element=f"lock {name}")
        motions[name] = _motion(connection, value, place, snapper)
    return motions


def _motion(connection: Connection, value: LockValue, place: Place, snapper: Snapper) -> Pose:
    if connection.kind not in kinds():
        if value not in (None, 0, "0", ""):
            raise ArgumentError(f"joint {shown(connection.name)} of type {shown(connection.kind)} can be locked at its zero "
                                "only; give no value")
        return ()
    if joint_type(connection.kind).TURNS:
        if isinstance(value, Angle):
            angle = value
        elif isinstance(value, Fraction):
            angle = Angle(value)
        else:
            angle = snapper.angle(_text(value), place)
        return compose((Turn(connection.axis, angle),))
    if isinstance(value, Angle):
        raise ArgumentError(f"joint {shown(connection.name)} slides: lock it at a length in m, not at an angle")
    distance = value if isinstance(value, Fraction) else rational(_text(value), place)
    return compose((Slide(connection.axis, distance),))


def _text(value: int | float | str | None) -> str:
    return "0" if value is None or value == "" else str(value)


def _refuse_unsupported(tree: Tree, motions: Mapping[str, Pose]) -> None:
    for connection in tree.connections:
        if connection.kind != "fixed" and connection.kind not in kinds() and connection.name not in motions:
            plain = connection.kind.strip().lower()
            way = f"write '{plain}'" if plain in (*kinds(), "fixed") else _WAYS.get(plain, "declare another type")
            raise connection.place.error(
                f"its type {shown(connection.kind)} is not supported (supported: {', '.join(kinds())}, fixed)",
                f"{way}, or lock the joint at its zero to weld its links")


def _attach(connection: Connection, motions: Mapping[str, Pose], work: _Assembly, base: str) -> None:
    """Let `connection` move a new body, or weld its child to what carries the parent."""
    parent = work.carriers[connection.parent]
    pose = compose(parent.pose, connection.pose)
    welded = connection.kind == "fixed"
    if not welded and connection.name not in motions:
        work.carriers[connection.child] = _Carrier(len(work.joints))
        work.names.append(connection.child)
        work.joints.append(Joint(connection.name, connection.kind, parent.body, pose, connection.axis, connection.limits,
                                 connection.mimic, connection.unapplied))
        return
    work.carriers[connection.child] = _Carrier(parent.body, compose(pose, motions.get(connection.name, ())))
    on = base if parent.body == BASE else work.names[parent.body]
    mass = sum((i.mass for i in work.links[connection.child].inertials), Fraction(0))
    what = f"{connection.child} ({fraction_text(mass)} kg) onto {on}"
    if welded:
        work.notes.append(Note("lump", f"{what}, through the fixed joint {connection.name}"))
    else:
        motion = motions[connection.name]
        work.notes.append(Note("lock", f"{what}, joint {connection.name} locked at {_at(motion)}"))
        if connection.kind in kinds() and connection.kind != "continuous":
            value = next((float(s.angle if isinstance(s, Turn) else s.distance) for s in motion if not isinstance(s, Shift)), 0.0)
            work.notes += remarks.on_a_locked_value(connection.name, value, connection.limits,
                                                    "rad" if joint_type(connection.kind).TURNS else "m")


def _at(motion: Pose) -> str:
    for step in motion:
        if isinstance(step, Turn):
            return f"{angle_text(step.angle)} rad"
        if isinstance(step, Slide):
            return f"{fraction_text(step.distance)} m"
    return "0"


def _parts(work: _Assembly, links: Iterable[Link]) -> dict[int, tuple[Part, ...]]:
    """Parts of every body, its own link's first, then the lumped links' in declared order."""
    parts: dict[int, list[Part]] = {i: [] for i in range(BASE, len(work.joints))}
    for own in (True, False):
        for link in links:
            carrier = work.carriers[link.name]
            if (carrier.body != BASE and work.names[carrier.body] == link.name) == own:
                parts[carrier.body] += [
                    Part(i.link or link.name, compose(carrier.pose, i.pose), i.mass, _six(i.moments)) for i in link.inertials]
    return {i: tuple(p) for i, p in parts.items()}


def _six(m: tuple[Fraction, ...]) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]:
    return m[0], m[1], m[2], m[3], m[4], m[5]


def _frames(tree: Tree, work: _Assembly, base: str) -> tuple[Frame, ...]:
    """One frame a declared link: the base, the bodies in their order, then lumped links and extra frames as declared."""
    def of(link: Link) -> Frame:
        carrier = work.carriers[link.name]
        return Frame(link.name, carrier.body, compose(carrier.pose, link.frame))

    leading = [base, *work.names]
    frames = [of(work.links[name]) for name in leading] + [of(link) for link in tree.links if link.name not in set(leading)]
    taken = {frame.name for frame in frames}
    for extra in tree.frames:
        if extra.name in taken:
            raise extra.place.error(f"the name {shown(extra.name)} is already a link or frame", "give each frame its own name")
        if extra.link not in work.carriers:
            raise extra.place.error(f"its body {shown(extra.link)} is not declared", _suggestion(extra.link, work.links))
        taken.add(extra.name)
        carrier = work.carriers[extra.link]
        frames.append(Frame(extra.name, carrier.body, compose(carrier.pose, extra.pose)))
    return tuple(frames)


def _doubts(link: Link, inertial: Inertial, strict: bool, body: int) -> list[Note]:
    """What is odd about one inertia. That of a link that stands still is in no answer, so it is only a remark."""
    if inertial.mass < 0 and body != BASE:
        raise inertial.place.error(f"link {shown(link.name)} has the negative mass {fraction_text(inertial.mass)} kg",
                                   "masses must be zero or more")
    doubt = inertias.doubt(inertial.mass, _six(inertial.moments))
    if inertial.mass < 0:
        doubt = f"has the negative mass {fraction_text(inertial.mass)} kg"
    if doubt is None:
        return []
    if body == BASE:
        return [Note("info", f"link {inertial.link or link.name} {doubt}, which nothing feels, since it stands still")]
    if strict:
        raise inertial.place.error(f"link {shown(link.name)} {doubt}, which strict reading refuses", "correct the inertia")
    return [Note("warning", f"link {inertial.link or link.name} {doubt}")]
