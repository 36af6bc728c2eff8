"""The tree: bodies within bodies, frames around any of it, the joints between, and the inertias of the bodies.

Inertias are as they are declared or by their geoms, and as `compiler` changes them, in MuJoCo's order: bounds from below, then
balance, then the total. A geom is a solid of even density. Volumes and second moments of the solids are those of any table; a
capsule's caps are two half spheres, whose centres of mass lie 3r/8 beyond the ends of the cylinder. Where a mass is given, no π is
needed, and the moments are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symgen.description.quantities import CANONICAL_DIGITS, Place, is_writable, rounded
from symgen.description.readers._mjcf.attributes import ORIENTATIONS, Attributes, own
from symgen.description.readers._mjcf.classes import MAIN, Classes
from symgen.description.readers._mjcf.document import Element
from symgen.description.readers._mjcf.joints import (
    Moved,
    Sprung,
    read_joint,
    read_spring_damper,
    refuse_crowded,
)
from symgen.description.readers._mjcf.names import WORLD, Names
from symgen.description.readers._mjcf.orientations import placed
from symgen.description.readers._mjcf.remarks import listed
from symgen.description.readers._mjcf.roots import PI, root, short
from symgen.description.readers._mjcf.settings import Settings
from symgen.description.readers._mjcf.whole import bounded, gathered
from symgen.description.tree import Connection, Inertial, Link
from symgen.mechanism.inertias import is_positive_semidefinite, second_moments
from symgen.mechanism.mechanism import Note
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import (
    ZERO3,
    Pose,
    Shift,
    Vector3,
    compose,
    joined,
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
            return read_joint(
                Attributes(said.place, {"type": ("free", said.place)}),
                (),
                self.settings,
                self.notes.append,
            )
        said = self.classes.of(inside.element, inside.childclass)
        if said.flag("actuatorgravcomp"):
            self._by_actuators.append(said.text("name") or said.place.short)
        found = read_joint(said, inside.frame, self.settings, self.notes.append)
        return replace(found, sprung=read_spring_damper(said, found.kind, self.settings))

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


# -- inertias --

Six = tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class Weighing:
    """The mass of a body as declared: the element, and its geoms, each with the pose of the frame around it.

    `pos` is the body's own attribute, in the frame around it.
    """

    declared: tuple[Element, Pose] | None
    geoms: Sequence[tuple[Attributes, Pose]]
    pos: Vector3
    place: Place


def inertials(body: Weighing, settings: Settings) -> tuple[Inertial, ...]:
    """All inertias of one body, in its frame, bounds and balance applied."""
    declared = () if body.declared is None else (_declared(*body.declared, settings),)
    found: tuple[Inertial, ...] = declared
    if settings.from_geoms == "true" or (settings.from_geoms == "auto" and not declared):
        geoms = tuple(
            one
            for said, within in body.geoms
            if (one := inertial(said, settings, within)) is not None
        )
        found = geoms or declared
    return _balanced(_bounded(found, settings, body), settings)


def scaled(all_of: Sequence[tuple[Inertial, ...]], total: Fraction) -> list[tuple[Inertial, ...]]:
    """Scale the inertias of all bodies so that their masses sum to `total`."""
    mass = sum((one.mass for body in all_of for one in body), ZERO)
    scale = total / mass if mass else Fraction(1)

    def of(one: Inertial) -> Inertial:
        return replace(
            one, mass=short(one.mass * scale), moments=tuple(short(m * scale) for m in one.moments)
        )

    return [tuple(map(of, body)) for body in all_of]


def _declared(element: Element, within: Pose, settings: Settings) -> Inertial:
    said = own(element)
    if "pos" not in said:
        raise said.place.error("the attribute 'pos' is missing", 'write pos="…", three numbers')
    mass = said.number("mass")
    if "fullinertia" in said:
        for name in ("diaginertia", *ORIENTATIONS):
            if name in said:
                raise said.at(name).error(
                    f"{name} stands beside fullinertia", "keep one of the two"
                )
        xx, yy, zz, xy, xz, yz = said.numbers("fullinertia", 6)
        moments: Six = (xx, xy, xz, yy, yz, zz)
    else:
        x, y, z = said.vector("diaginertia", ZERO3)
        moments = (x, ZERO, ZERO, y, ZERO, z)
    return Inertial(mass, moments, joined(within, placed(said, settings)), said.place)


def _bounded(
    found: tuple[Inertial, ...], settings: Settings, body: Weighing
) -> tuple[Inertial, ...]:
    """Inertias not less than the bounds of mass and of principal moments.

    A body without any inertia has the bounds themselves. MuJoCo takes the body's `pos`, which is given in the frame around the
    body, for the place of that mass in the body's own frame.
    """
    mass, least = settings.bound_mass, settings.bound_inertia
    if mass <= 0 and least <= 0:
        return found
    if not found:
        return (
            Inertial(mass, (least, ZERO, ZERO, least, ZERO, least), (Shift(body.pos),), body.place),
        )
    enough = sum((one.mass for one in found), ZERO) >= mass
    if enough and any(_is_above(one, least) for one in found):
        return found
    one = found[0] if len(found) == 1 else gathered(found)
    one = replace(one, mass=max(one.mass, mass))
    if _is_above(one, least):
        return (one,)
    if any(one.moments[k] for k in (1, 2, 4)):
        return (replace(one, moments=bounded(one.moments, least)),)
    return (
        replace(
            one,
            moments=tuple(
                max(m, least) if k in (0, 3, 5) else m for k, m in enumerate(one.moments)
            ),
        ),
    )


def _balanced(found: tuple[Inertial, ...], settings: Settings) -> tuple[Inertial, ...]:
    """With moments that a body can have: where it cannot, MuJoCo takes their mean for all three. Solids always can."""
    if (
        not settings.balance
        or len(found) != 1
        or is_positive_semidefinite(second_moments(_six(found[0])))
    ):
        return found
    (one,) = found
    mean = (one.moments[0] + one.moments[3] + one.moments[5]) / 3
    return (replace(one, moments=(mean, ZERO, ZERO, mean, ZERO, mean)),)


def _is_above(one: Inertial, least: Fraction) -> bool:
    return is_positive_semidefinite(_six(one), -least)


def _six(one: Inertial) -> Six:
    a, b, c, d, e, f = one.moments
    return a, b, c, d, e, f


def at(pose: Pose, found: Sequence[Inertial]) -> tuple[Inertial, ...]:
    """The same, seen from where `pose` starts."""
    return (
        tuple(replace(one, pose=joined(pose, one.pose)) for one in found) if pose else tuple(found)
    )


# -- geoms --


DENSITY = Fraction(1000)
"""Density of a geom that states neither mass nor density, kg/m³."""
_WEIGHTLESS = ("plane", "hfield")
_MESHES = ("mesh", "sdf")
TYPES = (*_WEIGHTLESS, "sphere", "capsule", "ellipsoid", "cylinder", "box", *_MESHES)
COMPILED = "compile the model with MuJoCo and give symgen.from_mujoco(model), or write the body's <inertial>"
"""Remedy where only MuJoCo knows an inertia."""
Sizes = list[Fraction]


@dataclass(frozen=True)
class _Solid:
    """How many sizes it has; its volume, by π where it is `round`; its moments about x, y and z for a mass of 1."""

    sizes: int
    volume: Callable[[Sizes], Fraction]
    round: bool
    moments: Callable[[Sizes], tuple[Fraction, Fraction, Fraction]]


def _of_cylinder(s: Sizes) -> tuple[Fraction, Fraction, Fraction]:
    across = s[0] * s[0] / 4 + s[1] * s[1] / 3
    return across, across, s[0] * s[0] / 2


def _of_capsule(s: Sizes) -> tuple[Fraction, Fraction, Fraction]:
    r, length = s[0], 2 * s[1]
    straight = Fraction(length) / (length + r * 4 / 3)
    caps = 1 - straight
    across, _, along = _of_cylinder(s)
    ball = r * r * 2 / 5
    x = straight * across + caps * (ball + length * (2 * length + 3 * r) / 8)
    return x, x, straight * along + caps * ball


_SOLIDS = {
    "sphere": _Solid(1, lambda s: s[0] ** 3 * 4 / 3, True, lambda s: (s[0] ** 2 * 2 / 5,) * 3),
    "capsule": _Solid(2, lambda s: s[0] ** 2 * (2 * s[1] + s[0] * 4 / 3), True, _of_capsule),
    "cylinder": _Solid(2, lambda s: 2 * s[0] ** 2 * s[1], True, _of_cylinder),
    "ellipsoid": _Solid(
        3,
        lambda s: s[0] * s[1] * s[2] * 4 / 3,
        True,
        lambda s: (
            (s[1] ** 2 + s[2] ** 2) / 5,
            (s[0] ** 2 + s[2] ** 2) / 5,
            (s[0] ** 2 + s[1] ** 2) / 5,
        ),
    ),
    "box": _Solid(
        3,
        lambda s: 8 * s[0] * s[1] * s[2],
        False,
        lambda s: (
            (s[1] ** 2 + s[2] ** 2) / 3,
            (s[0] ** 2 + s[2] ** 2) / 3,
            (s[0] ** 2 + s[1] ** 2) / 3,
        ),
    ),
}


def inertial(said: Attributes, settings: Settings, within: Pose) -> Inertial | None:
    """Return the inertia of a geom, None without mass. `within` leads to the frame that it is given in.

    DescriptionError: its sizes are none, it is a mesh, or the mass is on its surface.
    """
    kind = said.word("type", TYPES, "sphere")
    low, high = settings.groups
    if kind in _WEIGHTLESS or not low <= said.number("group", Fraction(0)) <= high:
        return None
    for name in ("mass", "density"):
        if name in said and said.number(name) < 0:
            raise said.at(name).error(f"the {name} is negative", "give zero or more")
    if not (said.number("mass") if "mass" in said else said.number("density", DENSITY)):
        return None
    if kind in _MESHES or "mesh" in said:
        raise said.place.error(
            "its mass and moments are those of a mesh, which symgen does not read", COMPILED
        )
    if said.flag("shellinertia"):
        raise said.at("shellinertia").error(
            "a mass that lies on the surface alone is not read", COMPILED
        )
    return _weighed(said, _SOLIDS[kind], kind, settings, within)


def _weighed(
    said: Attributes, solid: _Solid, kind: str, settings: Settings, within: Pose
) -> Inertial:
    ends = said.numbers("fromto", 6) if "fromto" in said else None
    if ends is not None and kind == "sphere":
        raise said.at("fromto").error("a sphere has no two ends", "give it pos and size")
    sizes = _sizes(said, solid, kind, ends)
    mass = said.number("mass") if "mass" in said else _mass(said, solid, sizes)
    x, y, z = (mass * one for one in solid.moments(sizes))
    zero = Fraction(0)
    if ends is not None:
        middle = tuple((a + b) / 2 for a, b in zip(ends[:3], ends[3:], strict=True))
        pose: Pose = (Shift((middle[0], middle[1], middle[2])),)
        moments = _along([b - a for a, b in zip(ends[:3], ends[3:], strict=True)], x, z)
    else:
        pose, moments = placed(said, settings), (x, zero, zero, y, zero, z)
        if kind == "sphere":  # it has no axes of its own
            pose = (Shift(said.vector("pos", (zero, zero, zero))),)
    moments = tuple(map(short, moments))
    if not all(map(is_writable, (mass, *moments))):
        raise said.place.error(
            f"its mass or moments are beyond a double, or have more than {CANONICAL_DIGITS} digits",
            "give sizes with fewer digits",
        )
    return Inertial(mass, moments, joined(within, pose), said.place)


def _mass(said: Attributes, solid: _Solid, sizes: Sizes) -> Fraction:
    mass = said.number("density", DENSITY) * solid.volume(sizes)
    return rounded(mass * PI) if solid.round else mass


def _sizes(said: Attributes, solid: _Solid, kind: str, ends: list[Fraction] | None) -> Sizes:
    """The sizes of a solid, all above zero; of one between two ends the first is said, and the last is half the way."""
    wanted = solid.sizes if ends is None else 1
    found = said.numbers("size", 1, 3)
    if len(found) < wanted or not all(one > 0 for one in found[:wanted]):
        raise said.at("size").error(
            f"a {kind} takes {wanted} size{'s' * (wanted != 1)} above zero", "give them in metres"
        )
    if ends is None:
        return found[:wanted]
    half = (
        root(sum(((b - a) ** 2 for a, b in zip(ends[:3], ends[3:], strict=True)), Fraction(0))) / 2
    )
    if not half:
        raise said.at("fromto").error("its two ends are one point", "give it a length")
    return [found[0]] * (solid.sizes - 1) + [half]


def _along(way: list[Fraction], across: Fraction, along: Fraction) -> tuple[Fraction, ...]:
    """The moments of a solid that is the same all round, with its axis along `way` (any length): no square root is in it."""
    square = sum((one * one for one in way), Fraction(0))
    rest = (along - across) / square
    x, y, z = way
    return (
        across + rest * x * x,
        rest * x * y,
        rest * x * z,
        across + rest * y * y,
        rest * y * z,
        across + rest * z * z,
    )
