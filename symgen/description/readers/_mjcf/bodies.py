"""The tree: bodies within bodies, frames around any of it, and the joints between.

Each joint moves its body about or along an axis through its own place in the body, one behind the other. A joint's coordinate is q
as MuJoCo counts it: the motion is that by q − ref, so that a constant turn or shift by −ref stands before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symgen.description.quantities import Place, shown
from symgen.description.readers._mjcf.attributes import Attributes, own
from symgen.description.readers._mjcf.classes import MAIN, Classes
from symgen.description.readers._mjcf.document import Element
from symgen.description.readers._mjcf.masses import Weighing, at, inertials, scaled
from symgen.description.readers._mjcf.names import WORLD, Names
from symgen.description.readers._mjcf.orientations import placed
from symgen.description.readers._mjcf.remarks import listed
from symgen.description.readers._mjcf.roots import in_radians
from symgen.description.readers._mjcf.settings import Settings
from symgen.description.readers._mjcf.springs import Sprung
from symgen.description.tree import Connection, Inertial, Link
from symgen.mechanism.drives import KINDS, Drive
from symgen.mechanism.mechanism import Limits, Note
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import (
    Z_AXIS,
    ZERO3,
    Pose,
    Shift,
    Slide,
    Turn,
    Vector3,
    compose,
    inverse,
    joined,
    turns,
)

_REFUSED = {
    "composite": "makes bodies of its own",
    "flexcomp": "makes bodies of its own",
    "replicate": "makes copies of what is in it",
    "attach": "brings in what stands in another model",
    "plugin": "does what its library does",
}
ZERO = Fraction(0)
MOST_FRAMES = 32
"""Frames within each other. What is inside keeps the steps of each of them."""


def refused(place: Place, why: str) -> DescriptionError:
    """What is said of an element that makes or moves bodies in a way of its own."""
    return place.error(
        f"this {why}, which symgen does not read",
        "compile the model with MuJoCo and give symgen.from_mujoco(model), or leave it out",
    )


@dataclass(frozen=True)
class _Inside:
    """One element of a body, with the frame around it and the class for it."""

    element: Element
    frame: Pose
    childclass: str


@dataclass(frozen=True)
class _Around:
    """What a body hangs on: a link, the way from the frame of that link's joint to the body's, and whether it moves."""

    link: str
    back: Pose
    moves: bool


@dataclass(frozen=True)
class Stand:
    """A body as it is declared: at `pose` in that around it, and `back` leads to its frame from that of its link's joint."""

    around: str
    pose: Pose
    back: Pose


@dataclass(frozen=True)
class Site:
    """A site as it is declared, in a body."""

    body: str
    element: Element
    frame: Pose
    childclass: str


@dataclass(frozen=True)
class _Body:
    """A link whose inertia is computed when all are known; `back` leads to its frame from that of its joint."""

    link: Link
    weighing: Weighing
    moves: bool
    gravcomp: Fraction


@dataclass
class Bodies:
    """Collects links and joints, bodies in the order of the file, which is MuJoCo's."""

    settings: Settings
    classes: Classes
    names: Names
    notes: list[Note] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    rests: dict[str, Fraction] = field(default_factory=dict)
    """Joint -> the coordinate at which its body stands as declared (rad or m)."""
    stands: dict[str, Stand] = field(default_factory=lambda: {WORLD: Stand("", (), ())})
    """Body -> where it is declared; the world among them."""
    sites: dict[str, Site] = field(default_factory=dict)
    sprung: dict[str, Sprung] = field(default_factory=dict)
    """Joint -> what it says of a spring and a damper that hang on its inertia."""
    _links: list[Link | _Body] = field(default_factory=lambda: [Link(WORLD)])
    _count: int = 0
    _by_actuators: list[str] = field(default_factory=list)
    _placed: list[str] = field(default_factory=list)

    def read_world(self, section: Element) -> None:
        """All that stands in a `worldbody`. Its own geoms never move."""
        for inside in self._contents(section, MAIN):
            self._site(inside, WORLD)
            if inside.element.name == "body":
                self._body(inside, _Around(WORLD, (), False))
            elif inside.element.name in ("joint", "freejoint", "inertial"):
                raise inside.element.place.error(
                    "this stands in the worldbody, which never moves", "put it inside a body"
                )

    def weighed(self) -> tuple[Link, ...]:
        """All links with their inertias."""
        bodies = [one for one in self._links if isinstance(one, _Body)]
        found = [self._inertials(one) for one in bodies]
        if self.settings.total is not None:
            found = scaled(found, self.settings.total)
        of = {
            one.link.name: tuple(
                replace(mass, gravcomp=one.gravcomp) for mass in at(one.link.frame, masses)
            )
            for one, masses in zip(bodies, found, strict=True)
        }
        return tuple(self._with_inertials(one, of) for one in self._links)

    def _inertials(self, one: _Body) -> tuple[Inertial, ...]:
        """Of what stands still, and is in no answer and no total, none where it cannot be read."""
        try:
            return inertials(one.weighing, self.settings)
        except DescriptionError:
            if one.moves or self.settings.total is not None:
                raise
            return ()

    @staticmethod
    def _with_inertials(one: Link | _Body, of: dict[str, tuple[Inertial, ...]]) -> Link:
        if isinstance(one, Link):
            return one
        return Link(one.link.name, of.get(one.link.name, ()), one.link.place, one.link.frame)

    def remarks(self) -> list[Note]:
        """On bodies that MuJoCo moves or carries in a way of its own."""
        found = []
        if self._by_actuators and any(
            one.gravcomp and one.moves for one in self._links if isinstance(one, _Body)
        ):
            found.append(
                Note(
                    "info",
                    f"at {listed(self._by_actuators)} MuJoCo has actuators bear the weight by gravcomp, which "
                    "here is no part of tau",
                )
            )
        if self._placed:
            found.append(
                Note(
                    "info",
                    f"{listed(self._placed)} stand still where they are declared; in MuJoCo a program moves "
                    "such mocap bodies",
                )
            )
        return found

    def _contents(
        self, element: Element, childclass: str, frame: Pose = (), depth: int = 0
    ) -> Iterator[_Inside]:
        """What is in a body, frames opened."""
        if depth > MOST_FRAMES:
            raise element.place.error(
                f"frames are nested more than {MOST_FRAMES} deep", "write them flat"
            )
        for child in element.children:
            if child.name == "frame":
                said = own(child)
                scale = said.numbers("scale", 1, 3) if "scale" in said else []
                if any(one != 1 for one in scale):
                    raise said.at("scale").error(
                        "a frame that resizes what is in it is not read", "write the sizes out"
                    )
                inner = self._childclass(said, childclass)
                yield from self._contents(
                    child, inner, joined(frame, placed(said, self.settings)), depth + 1
                )
            elif child.name in _REFUSED:
                raise refused(child.place, _REFUSED[child.name])
            else:
                yield _Inside(child, frame, childclass)

    def _childclass(self, said: Attributes, around: str) -> str:
        return (
            self.classes.known(said.text("childclass"), said.place)
            if "childclass" in said
            else around
        )

    def _body(self, inside: _Inside, around: _Around) -> None:
        said = own(inside.element)
        self._count += 1
        name = said.text("name") or self.names.link(f"body{self._count}")
        contents = list(self._contents(inside.element, self._childclass(said, inside.childclass)))
        own_pose = compose(inside.frame, placed(said, self.settings))
        pose = compose(around.back, own_pose)
        here = self._moved(name, said, contents, pose, around)
        borne = said.number("gravcomp", ZERO)
        if self.settings.switched_off >= {"spring", "damper"}:  # MuJoCo has no passive forces then
            borne = ZERO
        link = Link(name, place=said.place, frame=here.back)
        self._links.append(_Body(link, self._weighing(contents, said), here.moves, borne))
        if said.flag("mocap"):
            self._placed.append(name)
        self.stands[name] = Stand(around.link, own_pose, here.back)
        for one in contents:
            self._site(one, name)
            if one.element.name == "body":
                self._body(one, here)

    def _site(self, inside: _Inside, body: str) -> None:
        """Keep a site that loops may name."""
        if inside.element.name == "site" and (name := inside.element.attributes.get("name")):
            self.sites.setdefault(name, Site(body, inside.element, inside.frame, inside.childclass))

    def _moved(
        self, name: str, said: Attributes, contents: list[_Inside], pose: Pose, around: _Around
    ) -> _Around:
        """The joints from the body around to this one, and links between them."""
        joints = [one for one in contents if one.element.name in ("joint", "freejoint")]
        if not joints:
            self.connections.append(
                Connection(
                    self.names.joint(f"{name}_joint"),
                    "fixed",
                    around.link,
                    name,
                    pose,
                    place=said.place,
                )
            )
            return _Around(name, (), around.moves)
        found = [self._joint(one) for one in joints]
        refuse_crowded([one.kind for one in found], said, around.link == WORLD)
        parent, behind = around.link, pose
        for k, (inside, one) in enumerate(zip(joints, found, strict=True), start=1):
            last = k == len(found)
            child = name if last else self.names.link(f"{name}_{k}")
            joint = inside.element.attributes.get("name") or self.names.joint(
                f"{name}_joint" + f"_{k}" * (len(found) > 1)
            )
            place = inside.element.place
            if not last:
                self._links.append(Link(child, place=place))
            start = one.pose if one.kind == "free" else compose(behind, one.pose)
            self.connections.append(
                Connection(
                    joint,
                    one.kind,
                    parent,
                    child,
                    start,
                    one.axis,
                    one.limits,
                    place=place,
                    drive=one.drive,
                )
            )
            self.rests[joint] = one.ref
            self.sprung |= {} if one.sprung is None else {joint: one.sprung}
            parent, behind = child, one.back
        return _Around(name, behind, True)

    def _joint(self, inside: _Inside) -> Moved:
        if inside.element.name == "freejoint":
            said = own(inside.element)
            word = said.word("align", ("true", "false", "auto"), "auto")
            if word == "true" or (word == "auto" and self.settings.aligned):
                self.notes.append(
                    Note(
                        "info",
                        f"{said.place.short}: its numbers are those of the body's frame as declared; "
                        "MuJoCo may align that with the body's mass",
                    )
                )
            return moved(
                Attributes(said.place, {"type": ("free", said.place)}),
                (),
                self.settings,
                self.notes.append,
            )
        said = self.classes.of(inside.element, inside.childclass)
        if said.flag("actuatorgravcomp"):
            self._by_actuators.append(said.text("name") or said.place.short)
        found = moved(said, inside.frame, self.settings, self.notes.append)
        return replace(found, sprung=sprung(said, found.kind, self.settings))

    def _weighing(self, contents: list[_Inside], said: Attributes) -> Weighing:
        declared = [one for one in contents if one.element.name == "inertial"]
        if len(declared) > 1:
            raise declared[1].element.place.error(
                "the body has an <inertial> already", "keep one of the two"
            )
        geoms = [
            (self.classes.of(one.element, one.childclass), one.frame)
            for one in contents
            if one.element.name == "geom"
        ]
        return Weighing(
            (declared[0].element, declared[0].frame) if declared else None,
            geoms,
            said.vector("pos", ZERO3),
            said.place,
        )


# -- joints --


TYPES = ("hinge", "slide", "ball", "free")
_SWITCHES = {"damping": "damper", "friction": "frictionloss", "stiffness": "spring"}
"""Of a drive: the flag of `option` that disables it."""


@dataclass(frozen=True)
class Moved:
    """A joint as the tree takes it: `pose` from the body's frame before the motion to the joint's, `back` from the joint's moving
    frame to the body's.
    """

    kind: str
    pose: Pose
    back: Pose
    axis: Vector3
    limits: Limits
    drive: Drive
    ref: Fraction
    """The coordinate at which the body stands as it is declared, rad or m."""
    sprung: Sprung | None = None
    """The spring and the damper that hang on its inertia."""


def moved(
    said: Attributes, within: Pose, settings: Settings, note: Callable[[Note], None]
) -> Moved:
    """What one `joint` says, in the frame `within` of its body."""
    kind = said.word("type", TYPES, "hinge")
    place, axis = said.vector("pos", ZERO3), said.vector("axis", Z_AXIS)
    if kind in ("hinge", "slide") and not any(axis):
        raise said.at("axis").error("the axis is zero", "give it a direction")
    drive = _drive(said, kind, settings, note)
    if kind == "free":
        return Moved("free", (), (), Z_AXIS, Limits(), drive, ZERO)
    if kind == "ball":
        pose = compose(within, (Shift(place),), inverse(turns(within)))
        return Moved("spherical", pose, inverse(pose), Z_AXIS, Limits(), drive, ZERO)
    limits = _limits(said, kind, settings)
    if kind == "slide":
        pose, ref = turns(within), said.number("ref", ZERO)
        return Moved(
            "prismatic",
            compose(pose, (Slide(axis, -ref),)),
            inverse(pose),
            axis,
            limits,
            drive,
            ref,
        )
    pose = compose(within, (Shift(place),))
    angle = settings.angle(said.text("ref", "0").strip(), said, "ref")
    turning = "continuous" if limits.lower is None else "revolute"
    return Moved(
        turning,
        compose(pose, (Turn(axis, -angle),)),
        inverse(pose),
        axis,
        limits,
        drive,
        in_radians(angle),
    )


def _limits(said: Attributes, kind: str, settings: Settings) -> Limits:
    """Its range where it is limited; the effort where what actuators may do is bounded alike both ways."""

    def counted(value: Fraction) -> Fraction:
        return settings.radians(value) if kind == "hinge" else value

    low, high = said.numbers("range", 2) if "range" in said else (ZERO, ZERO)
    limited = said.word("limited", ("true", "false", "auto"), "auto")
    if limited == "auto" and "range" in said and not settings.autolimits:
        raise said.at("range").error(
            "a range stands without 'limited', and autolimits is off",
            'write limited="true" or "false"',
        )
    bounded = limited == "true" or (limited == "auto" and low != high)
    lower, upper = (counted(low), counted(high)) if bounded else (None, None)
    effort = None
    if "actuatorfrcrange" in said and said.text("actuatorfrclimited", "auto") != "false":
        least, most = said.numbers("actuatorfrcrange", 2)
        effort = most if most == -least and most > 0 else None
    return Limits(lower, upper, None, effort)


def _drive(said: Attributes, kind: str, settings: Settings, note: Callable[[Note], None]) -> Drive:
    """Read armature, damping, friction and spring. What of them symgen has no words for is a warning."""
    damping, stiffness = (_linear_term(said, name, note) for name in ("damping", "stiffness"))
    is_sprung = _is_sprung(said)
    has_spring = bool(stiffness) or is_sprung
    if has_spring and kind in ("ball", "free"):
        _leave_out(said, f"the spring of a {kind} joint is left out", note)
        stiffness = ZERO
    if (stiffness or is_sprung) and said.number("springyield", ZERO):
        _leave_out(said, "its spring yields, which is left out", note)
    armature, friction = said.number("armature", ZERO), said.number("frictionloss", ZERO)
    if armature and kind == "free":
        _leave_out(
            said,
            "its armature is felt along the axes of the body here, and along those of the world in MuJoCo",
            note,
        )
    if is_sprung:  # they come when the masses of all are known
        damping = stiffness = ZERO
    rest = _rest(said, kind, settings) if stiffness else ZERO
    disabled = {name for name, flag in _SWITCHES.items() if flag in settings.switched_off}
    drive = Drive(armature, damping, friction, stiffness, rest)
    return drive.only(set(KINDS) - disabled)


def _leave_out(said: Attributes, what: str, note: Callable[[Note], None]) -> None:
    note(Note("warning", f"{said.place.short}: {what}"))


def _linear_term(said: Attributes, name: str, note: Callable[[Note], None]) -> Fraction:
    """Return the first of up to three coefficients; warn of the others."""
    coefficients = said.numbers(name, 1, 3) if name in said else [ZERO]
    if any(coefficients[1:]):
        _leave_out(said, f"its {name} has terms of higher order, which are left out", note)
    return coefficients[0]


def sprung(said: Attributes, kind: str, settings: Settings) -> Sprung | None:
    """The spring and the damper that MuJoCo makes of springdamper, of a joint of ours."""
    if not _is_sprung(said):
        return None
    time, ratio = said.numbers("springdamper", 2)
    rest = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide"}.get(kind)
    return Sprung(time, ratio, ZERO if rest is None else _rest(said, rest, settings))


def _is_sprung(said: Attributes) -> bool:
    return "springdamper" in said and all(one > 0 for one in said.numbers("springdamper", 2))


def _rest(said: Attributes, kind: str, settings: Settings) -> Fraction:
    if "springref" not in said:
        return ZERO
    token = said.text("springref").strip()
    return (
        in_radians(settings.angle(token, said, "springref"))
        if kind == "hinge"
        else said.number("springref")
    )


def refuse_crowded(kinds: list[str], said: Attributes, on_world: bool) -> None:
    """DescriptionError: a free joint that is not alone, or not on the world."""
    if "free" not in kinds:
        return
    if len(kinds) > 1:
        raise said.place.error(
            f"a free joint stands beside {len(kinds) - 1} more in one body", "leave the others out"
        )
    if not on_world:
        raise said.place.error(
            f"its body {shown(said.place.element)} is within another, and a free joint leads from the world",
            "move the body to the worldbody",
        )
