"""The tree: bodies within bodies, frames around any of it, and the joints between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symgen.description.quantities import Place
from symgen.description.readers._mjcf.attributes import Attributes, own
from symgen.description.readers._mjcf.classes import MAIN, Classes
from symgen.description.readers._mjcf.document import Element
from symgen.description.readers._mjcf.joints import Moved, moved, refuse_crowded, sprung
from symgen.description.readers._mjcf.masses import Weighing, at, inertials, scaled
from symgen.description.readers._mjcf.names import WORLD, Names
from symgen.description.readers._mjcf.orientations import placed
from symgen.description.readers._mjcf.remarks import listed
from symgen.description.readers._mjcf.settings import Settings
from symgen.description.readers._mjcf.springs import Sprung
from symgen.description.tree import Connection, Inertial, Link
from symgen.mechanism.mechanism import Note
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import ZERO3, Pose, compose, joined

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
    """A link whose inertia is settled when all are known; `back` leads to its frame from that of its joint."""

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
        return tuple(self._settled(one, of) for one in self._links)

    def _inertials(self, one: _Body) -> tuple[Inertial, ...]:
        """Of what stands still, and is in no answer and no total, none where it cannot be read."""
        try:
            return inertials(one.weighing, self.settings)
        except DescriptionError:
            if one.moves or self.settings.total is not None:
                raise
            return ()

    @staticmethod
    def _settled(one: Link | _Body, of: dict[str, tuple[Inertial, ...]]) -> Link:
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
