"""The tree of an MJCF: nested bodies and frames, the joints between bodies, and the inertias of
bodies.

Inertias are declared or computed from geoms, and modified as `compiler` specifies, in MuJoCo's
order: lower bounds, then balance, then total mass. A geom is a solid of uniform density. Volumes
and second moments of the solids are textbook formulas. A capsule's caps are two hemispheres, whose
centres of mass are 3r/8 beyond the ends of the cylinder. If a mass is given, no π is needed, and
the moments are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symgen.description.models import note_hidden_sites
from symgen.description.quantities import CANONICAL_DIGITS, Location, is_writable, round_to_digits
from symgen.description.readers._mjcf.attributes import ORIENTATIONS, Attributes, own_attributes
from symgen.description.readers._mjcf.classes import MAIN, Classes
from symgen.description.readers._mjcf.document import Element
from symgen.description.readers._mjcf.joints import (
    JointMotion,
    SpringDamper,
    read_joint,
    read_spring_damper,
    refuse_misplaced_free_joint,
)
from symgen.description.readers._mjcf.names import WORLD, Names
from symgen.description.readers._mjcf.orientations import pose_of, rotation_of_z
from symgen.description.readers._mjcf.remarks import list_names
from symgen.description.readers._mjcf.roots import PI, round_long, square_root
from symgen.description.readers._mjcf.settings import Settings
from symgen.description.readers._mjcf.whole import bound_principal_moments, sum_of_inertias
from symgen.description.tree import Connection, ExtraFrame, Inertial, Link
from symgen.mechanism.inertias import is_positive_semidefinite, second_moments
from symgen.mechanism.mechanism import Note
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import (
    ZERO3,
    Pose,
    Shift,
    Vector3,
    compose,
    compose_merged,
)

_UNSUPPORTED = {
    "composite": "element generates bodies",
    "flexcomp": "element generates flexible bodies",
    "replicate": "element copies its content",
    "attach": "element inserts parts of another model",
    "plugin": "element runs code of a library",
}
ZERO = Fraction(0)
MOST_FRAMES = 32
"""Largest depth of nested frames. Content keeps the steps of each of them."""


def unsupported(location: Location, why: str) -> DescriptionError:
    """Return the error for an element that creates or moves bodies in an unsupported way."""
    return location.error(
        f"this {why}, which symgen does not read",
        "compile the model with MuJoCo and give symgen.from_mujoco(model), or leave it out",
    )


@dataclass(frozen=True)
class _Content:
    """One element of a body, with the frame around it and its default class."""

    element: Element
    frame: Pose
    childclass: str


@dataclass(frozen=True)
class _Parent:
    """The parent of a body: a link, the pose of the body's frame from the frame of that link's
    joint, and True if it moves.
    """

    link: str
    back: Pose
    moves: bool


@dataclass(frozen=True)
class BodyPose:
    """A declared body: `pose` in the body around it; `back` leads to its frame from that of its
    link's joint.
    """

    around: str
    pose: Pose
    back: Pose


@dataclass(frozen=True)
class Site:
    """A declared site of a body."""

    body: str
    element: Element
    frame: Pose
    childclass: str


@dataclass(frozen=True)
class _Body:
    """A link whose inertia is computed when all masses are known."""

    link: Link
    declared_mass: DeclaredMass
    moves: bool
    gravcomp: Fraction


@dataclass
class Bodies:
    """Links and joints of the bodies, in the order of the file, which is MuJoCo's."""

    settings: Settings
    classes: Classes
    names: Names
    notes: list[Note] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    reference_coordinates: dict[str, Fraction] = field(default_factory=dict)
    """Coordinate of each joint in the declared pose of its body (rad or m)."""
    body_poses: dict[str, BodyPose] = field(default_factory=lambda: {WORLD: BodyPose("", (), ())})
    """Declared pose of each body, the world included."""
    sites: dict[str, Site] = field(default_factory=dict)
    spring_dampers: dict[str, SpringDamper] = field(default_factory=dict)
    """Declared springs and dampers of joints that depend on inertia."""
    _links: list[Link | _Body] = field(default_factory=lambda: [Link(WORLD)])
    _count: int = 0
    _compensated_by_actuators: list[str] = field(default_factory=list)
    _mocap_bodies: list[str] = field(default_factory=list)

    def read_world(self, section: Element) -> None:
        """Read the content of a `worldbody`. Its own geoms never move."""
        for inside in self._contents(section, MAIN):
            self._site(inside, WORLD)
            if inside.element.name == "body":
                self._body(inside, _Parent(WORLD, (), False))
            elif inside.element.name in ("joint", "freejoint", "inertial"):
                raise inside.element.location.error(
                    "it is in the worldbody, which never moves", "put it inside a body"
                )

    def links_with_inertia(self) -> tuple[Link, ...]:
        """Return all links with their inertias."""
        bodies = [body for body in self._links if isinstance(body, _Body)]
        inertias = [self._inertials(body) for body in bodies]
        if self.settings.total_mass is not None:
            inertias = scale_to_total(inertias, self.settings.total_mass)
        by_name = {
            body.link.name: tuple(
                replace(mass, gravcomp=body.gravcomp) for mass in seen_from(body.link.frame, masses)
            )
            for body, masses in zip(bodies, inertias, strict=True)
        }
        return tuple(self._with_inertials(body, by_name) for body in self._links)

    def site_pose(self, site: Site) -> Pose:
        """Return the pose of a site from the joint frame of its body."""
        attributes = self.classes.of(site.element, site.childclass)
        if "fromto" in attributes:
            endpoints = attributes.numbers("fromto", 6)
            x, y, z = (a - b for a, b in zip(endpoints[:3], endpoints[3:], strict=True))
            middle = [(a + b) / 2 for a, b in zip(endpoints[:3], endpoints[3:], strict=True)]
            pose: Pose = (
                Shift((middle[0], middle[1], middle[2])),
                *rotation_of_z((x, y, z), attributes.at("fromto")),
            )
        else:
            pose = pose_of(attributes, self.settings)
        return compose(self.body_poses[site.body].back, (*site.frame, *pose))

    def frames(self) -> tuple[ExtraFrame, ...]:
        """Return the sites as frames. Sites with the name of a link are omitted, with a note."""
        links = {link.name if isinstance(link, Link) else link.link.name for link in self._links}
        self.notes += note_hidden_sites([name for name in self.sites if name in links])
        return tuple(
            ExtraFrame(name, site.body, self.site_pose(site), site.element.location)
            for name, site in self.sites.items()
            if name not in links
        )

    def _inertials(self, body: _Body) -> tuple[Inertial, ...]:
        """Return the inertias of a body; none for a fixed body whose inertia cannot be read, since
        it affects no result.
        """
        try:
            return inertials(body.declared_mass, self.settings)
        except DescriptionError:
            if body.moves or self.settings.total_mass is not None:
                raise
            return ()

    @staticmethod
    def _with_inertials(link: Link | _Body, by_name: dict[str, tuple[Inertial, ...]]) -> Link:
        if isinstance(link, Link):
            return link
        return Link(
            link.link.name, by_name.get(link.link.name, ()), link.link.location, link.link.frame
        )

    def remarks(self) -> list[Note]:
        """Return notes on bodies that MuJoCo moves or supports by other means."""
        notes = []
        if self._compensated_by_actuators and any(
            body.gravcomp and body.moves for body in self._links if isinstance(body, _Body)
        ):
            notes.append(
                Note(
                    "info",
                    f"at {list_names(self._compensated_by_actuators)} MuJoCo adds gravcomp to the"
                    " actuator forces; here it is not part of tau",
                )
            )
        if self._mocap_bodies:
            notes.append(
                Note(
                    "info",
                    f"the mocap bodies {list_names(self._mocap_bodies)} are fixed in their declared"
                    " pose; in MuJoCo a program moves them",
                )
            )
        return notes

    def _contents(
        self, element: Element, childclass: str, frame: Pose = (), depth: int = 0
    ) -> Iterator[_Content]:
        """Yield the elements in a body, with those inside frames."""
        if depth > MOST_FRAMES:
            raise element.location.error(
                f"frames are nested more than {MOST_FRAMES} deep", "reduce the nesting"
            )
        for child in element.children:
            if child.name == "frame":
                attributes = own_attributes(child)
                scale = attributes.numbers("scale", 1, 3) if "scale" in attributes else []
                if any(factor != 1 for factor in scale):
                    raise attributes.at("scale").error(
                        "a frame that scales its content is not supported", "write the scaled sizes"
                    )
                inner = self._childclass(attributes, childclass)
                yield from self._contents(
                    child,
                    inner,
                    compose_merged(frame, pose_of(attributes, self.settings)),
                    depth + 1,
                )
            elif child.name in _UNSUPPORTED:
                raise unsupported(child.location, _UNSUPPORTED[child.name])
            else:
                yield _Content(child, frame, childclass)

    def _childclass(self, attributes: Attributes, around: str) -> str:
        """Return the default class for the content of an element."""
        return (
            self.classes.existing(attributes.text("childclass"), attributes.location)
            if "childclass" in attributes
            else around
        )

    def _body(self, inside: _Content, around: _Parent) -> None:
        """Add a body with its content."""
        attributes = own_attributes(inside.element)
        self._count += 1
        name = attributes.text("name") or self.names.link(f"body{self._count}")
        contents = list(
            self._contents(inside.element, self._childclass(attributes, inside.childclass))
        )
        own_pose = compose(inside.frame, pose_of(attributes, self.settings))
        pose = compose(around.back, own_pose)
        carrier = self._add_joints(name, attributes, contents, pose, around)
        gravcomp = attributes.number("gravcomp", ZERO)
        if self.settings.disabled >= {"spring", "damper"}:  # MuJoCo then has no passive forces
            gravcomp = ZERO
        link = Link(name, location=attributes.location, frame=carrier.back)
        self._links.append(
            _Body(link, self._declared_mass(contents, attributes), carrier.moves, gravcomp)
        )
        if attributes.flag("mocap"):
            self._mocap_bodies.append(name)
        self.body_poses[name] = BodyPose(around.link, own_pose, carrier.back)
        for content in contents:
            self._site(content, name)
            if content.element.name == "body":
                self._body(content, carrier)

    def _site(self, inside: _Content, body: str) -> None:
        """Record a named site, which is a frame, and which loops may name."""
        if inside.element.name == "site" and (name := inside.element.attributes.get("name")):
            if name in self.sites:
                raise inside.element.location.error(
                    "this name is already a site", "give each site its own name"
                )
            self.sites[name] = Site(body, inside.element, inside.frame, inside.childclass)

    def _add_joints(
        self,
        name: str,
        attributes: Attributes,
        contents: list[_Content],
        pose: Pose,
        around: _Parent,
    ) -> _Parent:
        """Add the joints from the parent to this body, and massless links between them."""
        joints = [item for item in contents if item.element.name in ("joint", "freejoint")]
        if not joints:
            self.connections.append(
                Connection(
                    self.names.joint(f"{name}_joint"),
                    "fixed",
                    around.link,
                    name,
                    pose,
                    location=attributes.location,
                )
            )
            return _Parent(name, (), around.moves)
        motions = [self._joint(item) for item in joints]
        refuse_misplaced_free_joint(
            [motion.kind for motion in motions], attributes, around.link == WORLD
        )
        parent, offset = around.link, pose
        for k, (inside, motion) in enumerate(zip(joints, motions, strict=True), start=1):
            last = k == len(motions)
            child = name if last else self.names.link(f"{name}_{k}")
            joint = inside.element.attributes.get("name") or self.names.joint(
                f"{name}_joint" + f"_{k}" * (len(motions) > 1)
            )
            location = inside.element.location
            if not last:
                self._links.append(Link(child, location=location))
            start = motion.pose if motion.kind == "free" else compose(offset, motion.pose)
            self.connections.append(
                Connection(
                    joint,
                    motion.kind,
                    parent,
                    child,
                    start,
                    motion.axis,
                    motion.limits,
                    location=location,
                    drive=motion.drive,
                )
            )
            self.reference_coordinates[joint] = motion.ref
            self.spring_dampers |= (
                {} if motion.spring_damper is None else {joint: motion.spring_damper}
            )
            parent, offset = child, motion.back
        return _Parent(name, offset, True)

    def _joint(self, inside: _Content) -> JointMotion:
        """Return a joint."""
        if inside.element.name == "freejoint":
            attributes = own_attributes(inside.element)
            word = attributes.word("align", ("true", "false", "auto"), "auto")
            if word == "true" or (word == "auto" and self.settings.aligned_free_joints):
                self.notes.append(
                    Note(
                        "info",
                        f"{attributes.location.short}: its numbers are those of the body's frame as"
                        " declared; MuJoCo may align that with the body's mass",
                    )
                )
            return read_joint(
                Attributes(attributes.location, {"type": ("free", attributes.location)}),
                (),
                self.settings,
                self.notes.append,
            )
        attributes = self.classes.of(inside.element, inside.childclass)
        if attributes.flag("actuatorgravcomp"):
            self._compensated_by_actuators.append(
                attributes.text("name") or attributes.location.short
            )
        motion = read_joint(attributes, inside.frame, self.settings, self.notes.append)
        return replace(
            motion, spring_damper=read_spring_damper(attributes, motion.kind, self.settings)
        )

    def _declared_mass(self, contents: list[_Content], attributes: Attributes) -> DeclaredMass:
        """Return the declared mass of a body."""
        declared = [item for item in contents if item.element.name == "inertial"]
        if len(declared) > 1:
            raise declared[1].element.location.error(
                "the body has an <inertial> already", "keep one of the two"
            )
        geoms = [
            (self.classes.of(item.element, item.childclass), item.frame)
            for item in contents
            if item.element.name == "geom"
        ]
        return DeclaredMass(
            (declared[0].element, declared[0].frame) if declared else None,
            geoms,
            attributes.vector("pos", ZERO3),
            attributes.location,
        )


# -- inertias --

Six = tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class DeclaredMass:
    """The declared mass of a body: its `inertial` element, and its geoms, each with the pose of the
    frame around it.

    `pos` is the body's own attribute, in the frame around it.
    """

    declared: tuple[Element, Pose] | None
    geoms: Sequence[tuple[Attributes, Pose]]
    pos: Vector3
    location: Location


def inertials(body: DeclaredMass, settings: Settings) -> tuple[Inertial, ...]:
    """Return all inertias of one body, in its frame, with bounds and balance applied."""
    declared = () if body.declared is None else (_declared_inertial(*body.declared, settings),)
    inertias: tuple[Inertial, ...] = declared
    if settings.from_geoms == "true" or (settings.from_geoms == "auto" and not declared):
        geoms = tuple(
            of_geom
            for attributes, within in body.geoms
            if (of_geom := inertial(attributes, settings, within)) is not None
        )
        inertias = geoms or declared
    return _balanced(_bounded(inertias, settings, body), settings)


def scale_to_total(
    all_of: Sequence[tuple[Inertial, ...]], total: Fraction
) -> list[tuple[Inertial, ...]]:
    """Return the inertias of all bodies, scaled so that their masses sum to `total`."""
    mass = sum((body_inertial.mass for body in all_of for body_inertial in body), ZERO)
    scale = total / mass if mass else Fraction(1)

    def scaled(body_inertial: Inertial) -> Inertial:
        return replace(
            body_inertial,
            mass=round_long(body_inertial.mass * scale),
            moments=tuple(round_long(m * scale) for m in body_inertial.moments),
        )

    return [tuple(map(scaled, body)) for body in all_of]


def _declared_inertial(element: Element, within: Pose, settings: Settings) -> Inertial:
    """Return the inertia of an `inertial` element."""
    attributes = own_attributes(element)
    if "pos" not in attributes:
        raise attributes.location.error(
            "the attribute 'pos' is missing", 'write pos="…", three numbers'
        )
    mass = attributes.number("mass")
    if "fullinertia" in attributes:
        for name in ("diaginertia", *ORIENTATIONS):
            if name in attributes:
                raise attributes.at(name).error(
                    f"{name} conflicts with fullinertia", "keep one of the two"
                )
        xx, yy, zz, xy, xz, yz = attributes.numbers("fullinertia", 6)
        moments: Six = (xx, xy, xz, yy, yz, zz)
    else:
        x, y, z = attributes.vector("diaginertia", ZERO3)
        moments = (x, ZERO, ZERO, y, ZERO, z)
    return Inertial(
        mass, moments, compose_merged(within, pose_of(attributes, settings)), attributes.location
    )


def _bounded(
    inertias: tuple[Inertial, ...], settings: Settings, body: DeclaredMass
) -> tuple[Inertial, ...]:
    """Return inertias that are not below the bounds of mass and of principal moments.

    A body without inertia gets the bounds themselves. MuJoCo uses the body's `pos`, given in the
    frame around the body, as the position of that mass in the body's own frame.
    """
    mass, bound_moment = settings.bound_mass, settings.bound_inertia
    if mass <= 0 and bound_moment <= 0:
        return inertias
    if not inertias:
        return (
            Inertial(
                mass,
                (bound_moment, ZERO, ZERO, bound_moment, ZERO, bound_moment),
                (Shift(body.pos),),
                body.location,
            ),
        )
    enough = sum((inertia.mass for inertia in inertias), ZERO) >= mass
    if enough and any(_is_above(inertia, bound_moment) for inertia in inertias):
        return inertias
    inertia = inertias[0] if len(inertias) == 1 else sum_of_inertias(inertias)
    inertia = replace(inertia, mass=max(inertia.mass, mass))
    if _is_above(inertia, bound_moment):
        return (inertia,)
    if any(inertia.moments[k] for k in (1, 2, 4)):
        return (replace(inertia, moments=bound_principal_moments(inertia.moments, bound_moment)),)
    return (
        replace(
            inertia,
            moments=tuple(
                max(m, bound_moment) if k in (0, 3, 5) else m for k, m in enumerate(inertia.moments)
            ),
        ),
    )


def _balanced(inertias: tuple[Inertial, ...], settings: Settings) -> tuple[Inertial, ...]:
    """Return inertias with physically possible moments: otherwise MuJoCo sets all three to their
    mean. Solids are always possible.
    """
    if (
        not settings.balance_inertia
        or len(inertias) != 1
        or is_positive_semidefinite(second_moments(_six(inertias[0])))
    ):
        return inertias
    (inertia,) = inertias
    mean = (inertia.moments[0] + inertia.moments[3] + inertia.moments[5]) / 3
    return (replace(inertia, moments=(mean, ZERO, ZERO, mean, ZERO, mean)),)


def _is_above(inertia: Inertial, bound: Fraction) -> bool:
    return is_positive_semidefinite(_six(inertia), -bound)


def _six(inertia: Inertial) -> Six:
    a, b, c, d, e, f = inertia.moments
    return a, b, c, d, e, f


def seen_from(pose: Pose, inertias: Sequence[Inertial]) -> tuple[Inertial, ...]:
    """Return the inertias with poses from the start of `pose`."""
    return (
        tuple(replace(inertia, pose=compose_merged(pose, inertia.pose)) for inertia in inertias)
        if pose
        else tuple(inertias)
    )


# -- geoms --


DENSITY = Fraction(1000)
"""Density of a geom without mass and density, kg/m³."""
_WEIGHTLESS = ("plane", "hfield")
_MESHES = ("mesh", "sdf")
TYPES = (*_WEIGHTLESS, "sphere", "capsule", "ellipsoid", "cylinder", "box", *_MESHES)
COMPILED = (
    "compile the model with MuJoCo and give symgen.from_mujoco(model), or write the body's"
    " <inertial>"
)
"""Remedy for an inertia that only MuJoCo can compute."""
Sizes = list[Fraction]


@dataclass(frozen=True)
class _Solid:
    """Properties of a solid: number of sizes; volume, divided by π if `round`; moments about x, y
    and z for a mass of 1.
    """

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


def inertial(attributes: Attributes, settings: Settings, within: Pose) -> Inertial | None:
    """Return the inertia of a geom, None without mass. `within` leads to the frame in which it is
    given.

    Raises DescriptionError for invalid sizes, a mesh, or a mass on the surface.
    """
    kind = attributes.word("type", TYPES, "sphere")
    low, high = settings.inertia_groups
    if kind in _WEIGHTLESS or not low <= attributes.number("group", Fraction(0)) <= high:
        return None
    for name in ("mass", "density"):
        if name in attributes and attributes.number(name) < 0:
            raise attributes.at(name).error(f"the {name} is negative", "give zero or more")
    if not (
        attributes.number("mass") if "mass" in attributes else attributes.number("density", DENSITY)
    ):
        return None
    if kind in _MESHES or "mesh" in attributes:
        raise attributes.location.error(
            "its mass and moments are those of a mesh, which symgen does not read", COMPILED
        )
    if attributes.flag("shellinertia"):
        raise attributes.at("shellinertia").error(
            "a mass on the surface (shellinertia) is not supported", COMPILED
        )
    return _solid_inertial(attributes, _SOLIDS[kind], kind, settings, within)


def _solid_inertial(
    attributes: Attributes, solid: _Solid, kind: str, settings: Settings, within: Pose
) -> Inertial:
    """Return the inertia of a solid."""
    endpoints = attributes.numbers("fromto", 6) if "fromto" in attributes else None
    if endpoints is not None and kind == "sphere":
        raise attributes.at("fromto").error("a sphere cannot have fromto", "give it pos and size")
    sizes = _sizes(attributes, solid, kind, endpoints)
    mass = attributes.number("mass") if "mass" in attributes else _mass(attributes, solid, sizes)
    x, y, z = (mass * moment for moment in solid.moments(sizes))
    zero = Fraction(0)
    if endpoints is not None:
        middle = tuple((a + b) / 2 for a, b in zip(endpoints[:3], endpoints[3:], strict=True))
        pose: Pose = (Shift((middle[0], middle[1], middle[2])),)
        moments = _along([b - a for a, b in zip(endpoints[:3], endpoints[3:], strict=True)], x, z)
    else:
        pose, moments = pose_of(attributes, settings), (x, zero, zero, y, zero, z)
        if kind == "sphere":  # it has no axes of its own
            pose = (Shift(attributes.vector("pos", (zero, zero, zero))),)
    moments = tuple(map(round_long, moments))
    if not all(map(is_writable, (mass, *moments))):
        raise attributes.location.error(
            f"its mass or moments are beyond a double, or have more than {CANONICAL_DIGITS} digits",
            "give sizes with fewer digits",
        )
    return Inertial(mass, moments, compose_merged(within, pose), attributes.location)


def _mass(attributes: Attributes, solid: _Solid, sizes: Sizes) -> Fraction:
    """Return the mass of a solid from its density."""
    mass = attributes.number("density", DENSITY) * solid.volume(sizes)
    return round_to_digits(mass * PI) if solid.round else mass


def _sizes(
    attributes: Attributes, solid: _Solid, kind: str, endpoints: list[Fraction] | None
) -> Sizes:
    """Return the sizes of a solid, all positive. Between two ends, the first size is declared and
    the last is half the distance.
    """
    count = solid.sizes if endpoints is None else 1
    sizes = attributes.numbers("size", 1, 3)
    if len(sizes) < count or not all(size > 0 for size in sizes[:count]):
        raise attributes.at("size").error(
            f"a {kind} takes {count} size{'s' * (count != 1)} above zero", "give them in metres"
        )
    if endpoints is None:
        return sizes[:count]
    half = (
        square_root(
            sum(
                ((b - a) ** 2 for a, b in zip(endpoints[:3], endpoints[3:], strict=True)),
                Fraction(0),
            )
        )
        / 2
    )
    if not half:
        raise attributes.at("fromto").error("its two ends coincide", "give it a length")
    return [sizes[0]] * (solid.sizes - 1) + [half]


def _along(axis: list[Fraction], across: Fraction, along: Fraction) -> tuple[Fraction, ...]:
    """Return the moments of a solid of revolution with its axis along `axis` (any length), without
    a square root.
    """
    square = sum((entry * entry for entry in axis), Fraction(0))
    axial_excess = (along - across) / square
    x, y, z = axis
    return (
        across + axial_excess * x * x,
        axial_excess * x * y,
        axial_excess * x * z,
        across + axial_excess * y * y,
        axial_excess * y * z,
        across + axial_excess * z * z,
    )
