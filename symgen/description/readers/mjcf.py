"""MJCF, the format of MuJoCo (https://mujoco.readthedocs.io/en/stable/XMLreference.html): bodies within bodies, their joints and
masses, with default classes and included files.

Read as MuJoCo 4 compiles it. The root is the link `world`, which stands still; a body that has no joint is welded to the one
around it, and one that has several has massless links between them, in the order of the file. A free joint leads from the
world's origin, so that its numbers are MuJoCo's. What moves no body (contacts, sensors, pictures) is passed over, and so
are actuators, but for which hinges and slides they drive where there are loops.

`equality` makes a joint follow another and closes loops. A joint follows another by y − y₀ = a₀ + a₁ (x − x₀), where that is all
there is to it. `connect` holds two points together, `weld` two frames. MuJoCo holds them softly, at their places of qpos0 where
the file does not say the second one: there every body stands as it is declared, so that the displacement from one to the other
is known in the steps of the file, and nothing is rounded. Equalities that bind tendons are named in a note and not applied.

Bodies without a name are called `body1`, `body2` … by their number in MuJoCo, joints by their body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symgen.description.asking import NOTHING, Asked
from symgen.description.models import SOFT, fresh, inactive
from symgen.description.parsing.words import Kind, Unread, Words
from symgen.description.quantities import Place, number, rounded, shown
from symgen.description.readers._mjcf import remarks
from symgen.description.readers._mjcf.attributes import Attributes, own
from symgen.description.readers._mjcf.bodies import Bodies, refused
from symgen.description.readers._mjcf.classes import MAIN, Classes
from symgen.description.readers._mjcf.document import Document, Element
from symgen.description.readers._mjcf.joints import with_springs
from symgen.description.readers._mjcf.names import WORLD, Names
from symgen.description.readers._mjcf.orientations import along_z, placed, quaternion
from symgen.description.readers._mjcf.remarks import listed
from symgen.description.readers._mjcf.settings import settings, world
from symgen.description.readers._mjcf.whole import displacement
from symgen.description.snapping import Snapper
from symgen.description.tree import (
    AS_DECLARED,
    Closing,
    Connection,
    Grip,
    Tree,
    refuse_many,
    sha256_of,
)
from symgen.mechanism.joints import JointType, joint_type
from symgen.mechanism.mechanism import Mimic, Note
from symgen.vocabulary.poses import ZERO3, Angle, Pose, Rotate, Shift, compose, inverse

SUFFIXES = (".mjcf",)
ROOTS = ("mujoco", "mujocoinclude")
TAKES = ()


def read(data: bytes, file: str, snapper: Snapper, asked: Asked = NOTHING) -> Tree:
    """The bodies and joints that the MJCF `data` and the files that it includes declare.

    DescriptionError names file, line and element.
    """
    document = Document(file)
    root = document.root(data)
    if root.name != "mujoco":
        raise root.place.error(
            f"the root element is {shown(root.name)}: this is a part that another MJCF includes",
            "give the file that includes it",
        )
    for section in root.children:
        for soft in section.all("flex") if section.name == "deformable" else ():
            raise refused(soft.place, "bends, as no body here does")
    unread = Unread("an MJCF")
    check(root, unread)
    how, classes = settings(root, snapper), Classes(root.all("default"))
    gravity, notes = world(root, how)
    bodies = Bodies(how, classes, Names(root))
    for section in root.all("worldbody"):
        bodies.read_world(section)
    said = remarks.on(root, classes)
    links = bodies.weighed()
    connections = with_springs(
        bodies.connections, links, bodies.rests, bodies.sprung, how, bodies.notes
    )
    connections = coupled(connections, bodies.rests, root.all("equality"), classes, said)
    loops = Loops(bodies)
    said += loops.read(root.all("equality"))
    return Tree(
        root.attributes.get("model", "").strip(),
        links,
        tuple(connections),
        gravity=gravity,
        notes=(*document.notes, *notes, *bodies.notes, *bodies.remarks(), *said, *unread.notes()),
        place=Place(file),
        pinocchio_order=AS_DECLARED,
        read_sha256=sha256_of(data, document.included),
        loops=tuple(loops.found),
        start=loops.start(root),
        actuated=loops.driven(root),
    )


# -- equality: joints that follow others, and loops --

LOOPS = ("connect", "weld")
"""Equalities that close loops."""
IDENTITY = (Fraction(0), Fraction(1))
"""a₀ and a₁ where `polycoef` does not give them."""


def coupled(
    connections: list[Connection],
    rests: Mapping[str, Fraction],
    sections: Iterable[Element],
    classes: Classes,
    notes: list[Note],
) -> list[Connection]:
    """The joints, those that follow others with what they follow. DescriptionError: a joint that there is not."""
    found = {one.name: one for one in connections}
    others: dict[str, list[str]] = {}
    for element in (child for section in sections for child in section.children):
        said = classes.of(element, MAIN, "equality")
        if not said.flag("active", True):
            continue
        if element.name == "joint":
            _follow(said, found, rests, notes)
        elif element.name not in LOOPS:
            others.setdefault(element.name, []).append(f"line {element.place.line}")
    notes += [
        Note("warning", f"equality of {kind}s is left out: {listed(where)}")
        for kind, where in others.items()
    ]
    return [found[one.name] for one in connections]


def _follow(
    said: Attributes, found: dict[str, Connection], rests: Mapping[str, Fraction], notes: list[Note]
) -> None:
    name, leader = said.text("joint1"), said.text("joint2")
    for which, joint in (("joint1", name), ("joint2", leader)):
        if joint not in found and (joint or which == "joint1"):
            raise said.place.error(
                f"its {which} is {shown(joint)}, and there is no such joint",
                "name a joint of the model",
            )
    numbers = said.numbers("polycoef", 1, 5) if "polycoef" in said else []
    start, slope, *curved = [*numbers, *IDENTITY[len(numbers) :]]
    if found[name].mimic is not None:
        notes.append(
            Note(
                "warning",
                f"{said.place.short}: joint {name} follows another already; this is left out",
            )
        )
        return
    if not leader:
        at = float(rests[name] + start)
        notes.append(
            Note(
                "warning",
                f"{said.place.short}: it holds joint {name} at {at:g}, which is left out; --lock does that",
            )
        )
        return
    mimic = Mimic(leader, slope, rests[name] + start - slope * rests[leader])
    unsure = "not in proportion to it, by a polynomial of higher order" if any(curved) else ""
    found[name] = replace(found[name], mimic=mimic, unsure=unsure)


# -- loops --


MOST_STEPS = 200_000
"""Steps of the ways between the bodies of all loops."""
HOME = "home"
"""The keyframe from which closing them starts, where there is one."""
_CLOSED_BY = {"connect": "point", "weld": "weld"}
_REFERENCES = {
    "connect": ("body1", "body2", "anchor"),
    "weld": ("body1", "body2", "anchor", "relpose"),
}
_SITES = ("site1", "site2")
_DRIVEN = ("joint", "jointinparent")
"""Attributes by which an actuator names the joint that it drives."""
Start = tuple[tuple[str, tuple[Angle, ...]], ...]


@dataclass
class Loops:
    """Read the loops between `bodies` from the equalities of a document."""

    bodies: Bodies
    found: list[Closing] = field(default_factory=list)
    _steps: int = 0

    def read(self, sections: Iterable[Element]) -> list[Note]:
        """Collect them; what is to be said of them."""
        every = [one for section in sections for one in section.children if one.name in LOOPS]
        taken = {one.attributes.get("name", "") for one in every}
        off: list[str] = []
        if every:
            refuse_many(len(every), "loops", every[0].place)
        for element in every:
            own(element)
            said = self.bodies.classes.of(element, MAIN, "equality")
            if "equality" in self.bodies.settings.switched_off or not said.flag("active", True):
                off.append(said.text("name") or f"{element.name} at line {element.place.line}")
                continue
            name = said.text("name") or fresh(f"loop{len(self.found) + 1}", taken)
            first, second = self._ends(said, element.name)
            self.found.append(
                Closing(name, _CLOSED_BY[element.name], first, second, place=said.place)
            )
        return [*inactive(off), *([Note("info", SOFT)] if self.found else [])]

    def start(self, root: Element) -> Start:
        """Return where closing starts: at the keyframe `home`, else at qpos0. Joints at their zero are not named."""
        if not self.found:
            return ()
        joints = [joint for joint in self.bodies.connections if joint.kind != "fixed"]
        home = _home(root)
        if home is None:
            coordinates = [self._drawn(joint.name, joint.kind, joint.child) for joint in joints]
        else:
            coordinates = _keyframe(home, [joint_type(joint.kind) for joint in joints])
        return tuple(
            (joint.name, tuple(map(Angle, values)))
            for joint, values in zip(joints, coordinates, strict=True)
            if tuple(values) != joint_type(joint.kind).neutral
        )

    def driven(self, root: Element) -> tuple[str, ...]:
        """The hinges and slides that actuators drive, where there are loops."""
        joints = (
            [one for one in self.bodies.connections if one.kind != "fixed"] if self.found else []
        )
        known = {one.name for one in joints if joint_type(one.kind).nv == 1}
        named = (
            one.attributes.get(key)
            for section in root.all("actuator")
            for one in section.children
            for key in _DRIVEN
        )
        return tuple(dict.fromkeys(name for name in named if name in known))

    def _drawn(self, joint: str, kind: str, body: str) -> list[Fraction]:
        """The coordinates of a joint at qpos0. A free joint leads from the world."""
        if kind == "free":
            turn, place = displacement(self.bodies.stands[body].pose)
            w, x, y, z = quaternion(*([row[k] for row in turn] for k in range(3)))
            return [*map(rounded, place), x, y, z, w]
        of = joint_type(kind)
        return [self.bodies.rests[joint]] if of.nq == 1 else list(of.neutral)

    def _ends(self, said: Attributes, kind: str) -> tuple[Grip, Grip]:
        sites, others = (
            [name for name in names if name in said] for names in (_SITES, _REFERENCES[kind])
        )
        if sites and others:
            raise said.place.error(
                f"{sites[0]} stands beside {others[0]}", "name two sites, or bodies and a place"
            )
        if sites:
            first, second = (self._site(said, name) for name in _SITES)
            return first, second
        one, other = said.text("body1"), said.text("body2", WORLD)
        for which, body in (("body1", one), ("body2", other)):
            if body not in self.bodies.stands:
                raise said.place.error(
                    f"its {which} is {shown(body)}, and there is no such body",
                    "name two bodies of the model",
                )
        anchor = (Shift(said.vector("anchor", ZERO3)),)
        if kind == "connect":
            if "anchor" not in said:
                raise said.place.error(
                    "the attribute 'anchor' is missing", 'write anchor="…", three numbers in body1'
                )
            back = self._between(other, one, said.place)
            return self._grip(one, anchor, said.place), self._grip(
                other, (*back, *anchor), said.place
            )
        relative = self._relative(said) or (*self._between(one, other, said.place), *anchor)
        return self._grip(one, relative, said.place), self._grip(other, anchor, said.place)

    def _relative(self, said: Attributes) -> Pose | None:
        """Where `relpose` has the second frame in the first body; None where it leaves that to qpos0."""
        if "relpose" not in said:
            return None
        x, y, z, *_ = said.numbers("relpose", 7)
        turn = said.tokens("relpose", 7)[3:]
        if not any(number(token) for token in turn):
            return None
        return Shift((x, y, z)), Rotate(
            self.bodies.settings.snapper.quaternion(turn, said.at("relpose"))
        )

    def _site(self, said: Attributes, which: str) -> Grip:
        name = said.text(which)
        site = self.bodies.sites.get(name)
        if site is None:
            raise said.place.error(
                f"its {which} is {shown(name)}, and there is no such site",
                "name two sites of the model",
            )
        there = self.bodies.classes.of(site.element, site.childclass)
        if "fromto" in there:
            ends = there.numbers("fromto", 6)
            x, y, z = (a - b for a, b in zip(ends[:3], ends[3:], strict=True))
            middle = [(a + b) / 2 for a, b in zip(ends[:3], ends[3:], strict=True)]
            own_pose: Pose = (
                Shift((middle[0], middle[1], middle[2])),
                *along_z((x, y, z), there.at("fromto")),
            )
        else:
            own_pose = placed(there, self.bodies.settings)
        return self._grip(site.body, (*site.frame, *own_pose), said.place)

    def _grip(self, body: str, pose: Pose, place: Place) -> Grip:
        return Grip(body, compose(self.bodies.stands[body].back, pose), place)

    def _between(self, one: str, other: str, place: Place) -> Pose:
        """The way from a body's frame to another's at qpos0."""
        down, up = list(self._above(other)), list(self._above(one))
        while down and up and down[-1] == up[-1]:
            del down[-1], up[-1]
        back, there = (
            [self.bodies.stands[body].pose for body in reversed(way)] for way in (up, down)
        )
        found = compose(inverse(compose(*back)), compose(*there))
        self._steps += len(found) + len(up) + len(down)
        if self._steps > MOST_STEPS:
            raise place.error(
                f"up to here the ways between the bodies of loops have more than {MOST_STEPS} steps",
                "write the loops between sites",
            )
        return found

    def _above(self, body: str) -> Iterator[str]:
        """A body and those around it, up to the world."""
        while body:
            yield body
            body = self.bodies.stands[body].around


def _home(root: Element) -> Element | None:
    """Return the keyframe `home`, where it has coordinates."""
    keys = (key for section in root.all("keyframe") for key in section.all("key"))
    named = (key for key in keys if key.attributes.get("name") == HOME)
    return next((key for key in named if "qpos" in key.attributes), None)


def _keyframe(key: Element, types: Sequence[JointType]) -> list[list[Fraction]]:
    """Return the coordinates of each joint at a keyframe; quaternions, w x y z there, as x y z w."""
    numbers = iter(own(key).numbers("qpos", sum(of_type.nq for of_type in types)))
    coordinates = []
    for of_type in types:
        values = [next(numbers) for _ in range(of_type.nq)]
        if of_type.quaternion is not None:
            values.append(values.pop(of_type.quaternion))
        coordinates.append(values)
    return coordinates


# -- vocabulary --
#
# By MuJoCo 4's schema (`mujoco.mj_printSchema`), with what older versions had besides, where it makes the tree, its masses and its
# loops: a slip of the pen there would change the robot. What is in other sections describes no body and is passed over.


_WHERE = "axisangle euler pos quat xyaxes zaxis"
_JOINT = (
    "actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis class damping frictionloss group limited margin "
    "name pos range ref solimpfriction solimplimit solreffriction solreflimit springdamper springref springyield stiffness "
    "type user"
)
_GEOM = (
    f"{_WHERE} adhesion castshadow class conaffinity condim contype density fitscale fluidcoef fluidshape friction fromto "
    "gap group hfield margin mass material mesh name priority rgba shellinertia size solimp solmix solref surfacevel type "
    "user"
)
_BODY = "body frame joint freejoint geom inertial"
_PASSED = "camera light site"
_COMPILED = "composite flexcomp replicate attach plugin"
"""Elements that the reader of bodies refuses with a sentence of its own."""
_ACTUATORS = "general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion dcmotor"


def _words(reads: str, passes: str = "", closed: bool = True) -> Words:
    return Words(tuple(reads.split()), tuple(passes.split()), closed)


_IN_BODY = _words(_BODY, f"{_PASSED} {_COMPILED}")
_NONE = _words("")
KINDS = {
    "mujoco": Kind(
        _words("model", closed=False),
        _words(
            "compiler option default worldbody equality keyframe actuator tendon deformable",
            "size statistic visual extension asset contact sensor custom",
        ),
    ),
    "compiler": Kind(
        _words(
            "angle autolimits balanceinertia boundinertia boundmass coordinate eulerseq inertiafromgeom inertiagrouprange "
            "settotalmass alignfree",
            "assetdir conflict convexhull discardvisual exactmeshinertia fitaabb fusestatic meshdir "
            "passthrough savecanonical savecompiled saveinertial strippath texturedir usethread",
        ),
        _words("", "lengthrange"),
    ),
    "option": Kind(
        _words(
            "gravity density viscosity",
            "actuatorgroupdisable apirate ccd_iterations ccd_tolerance collision cone impratio "
            "integrator iterations jacobian ls_iterations ls_tolerance magnetic mpr_iterations mpr_tolerance noslip_iterations "
            "noslip_tolerance o_friction o_margin o_solimp o_solref sdf_initpoints sdf_iterations sleep_tolerance solver timestep "
            "tolerance wind",
            closed=False,
        ),
        _words("flag"),
    ),
    "flag": Kind(
        _words(
            "gravity spring damper frictionloss equality passive",
            "actuation autoreset clampctrl constraint contact diagexact "
            "energy eulerdamp filterparent fwdinv invdiscrete ipc island limit midphase multiccd nativeccd override refsafe sensor "
            "sleep speculative warmstart",
            closed=False,
        ),
        _NONE,
    ),
    "default": Kind(
        _words("class", closed=False),
        _words(
            f"default joint geom site equality tendon {_ACTUATORS}",
            "mesh texture material camera light pair",
        ),
    ),
    "worldbody": Kind(_NONE, _IN_BODY),
    "body": Kind(
        _words(f"{_WHERE} childclass gravcomp mocap name", "fuse simple sleep user"), _IN_BODY
    ),
    "frame": Kind(_words(f"{_WHERE} childclass name scale"), _IN_BODY),
    "inertial": Kind(_words(f"{_WHERE} diaginertia fullinertia mass"), _NONE),
    "freejoint": Kind(_words("align name", "group"), _NONE),
    "joint": Kind(_words(_JOINT), _NONE),
    "geom": Kind(_words(_GEOM), _words("", "plugin")),
    "site": Kind(
        _words(
            f"{_WHERE} class fromto name", "group material mesh rgba size type user", closed=False
        ),
        _NONE,
    ),
    "equality": Kind(
        _NONE, _words("connect weld joint tendon flex flexstrain", "flexvert distance")
    ),
    "connect": Kind(
        _words("active anchor body1 body2 class name site1 site2", "solimp solref"), _NONE
    ),
    "weld": Kind(
        _words(
            "active anchor body1 body2 class name relpose site1 site2", "solimp solref torquescale"
        ),
        _NONE,
    ),
    "equality joint": Kind(
        _words("active class joint1 joint2 name polycoef", "solimp solref"), _NONE
    ),
    "default equality": Kind(_words("active", "solimp solref", closed=False), _NONE),
    "keyframe": Kind(_NONE, _words("key")),
    "key": Kind(_words("name qpos", "act ctrl mpos mquat plastic qvel time", closed=False), _NONE),
}
"""Element -> what it may hold. An element that is called the same elsewhere has its parent's name before its own."""


def check(root: Element, unread: Unread) -> None:
    """Refuse the first name that would change the robot, in the sections that describe it; note those that are left out."""
    waiting = [("mujoco", root)]
    while waiting:
        name, element = waiting.pop()
        kind = KINDS[name]
        unread.check(kind, element.name, element.attributes, element.place)
        unread.words(kind, element.name, element.text, element.place)
        for child in element.children:
            if child.name not in kind.children:
                unread.child(kind, element.name, child.name, child.place)
        inside = [(f"{name} {child.name}", child) for child in element.children]
        inside = [(of if of in KINDS else child.name, child) for of, child in inside]
        waiting += reversed([(of, child) for of, child in inside if of in KINDS])
