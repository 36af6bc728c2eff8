"""MJCF, the format of MuJoCo (https://mujoco.readthedocs.io/en/stable/XMLreference.html): nested
bodies with joints and masses, default classes and included files.

The reader follows MuJoCo 4. The root is the fixed link `world`. A body without joints is fixed to
its parent; a body with several joints has massless links between them, in the order of the file. A
free joint leads from the world's origin, so that its coordinates are MuJoCo's. Sites with a name
are frames, except those with the name of a body. Elements that move no body (contacts, sensors,
cameras) are ignored, and so are actuators. In a robot with loops, the hinges and slides that
actuators drive are recorded as actuated.

`equality` couples joints and closes loops. A follower obeys y − y₀ = a₀ + a₁ (x − x₀), if the
polynomial has no higher terms. `connect` joins two points, `weld` two frames. MuJoCo enforces them
softly. If the file does not give the second point or frame, it is computed at qpos0. There every
body has its declared pose, so the displacement is an exact product of declared poses. Equalities of
tendons are noted and not applied.

Bodies without a name are called `body1`, `body2` … by their number in MuJoCo, joints by their body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from symgen.description.asking import NO_OPTIONS, FileOptions
from symgen.description.models import SOFT_LOOPS, note_inactive_loops, unused_name
from symgen.description.parsing.words import Kind, Unread, Words
from symgen.description.quantities import Location, number, quote, round_to_digits
from symgen.description.readers._mjcf import remarks
from symgen.description.readers._mjcf.attributes import Attributes, own_attributes
from symgen.description.readers._mjcf.bodies import Bodies, unsupported
from symgen.description.readers._mjcf.classes import MAIN, Classes
from symgen.description.readers._mjcf.document import Document, Element
from symgen.description.readers._mjcf.joints import with_springs
from symgen.description.readers._mjcf.names import WORLD, Names
from symgen.description.readers._mjcf.orientations import quaternion_of_axes
from symgen.description.readers._mjcf.remarks import list_names
from symgen.description.readers._mjcf.settings import read_settings, read_world
from symgen.description.readers._mjcf.whole import displacement
from symgen.description.snapping import Snapper
from symgen.description.tree import (
    AS_DECLARED,
    Connection,
    DeclaredLoop,
    LoopEnd,
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


def read(data: bytes, file: str, snapper: Snapper, options: FileOptions = NO_OPTIONS) -> Tree:
    """Return the bodies and joints that the MJCF `data` and its included files declare.

    DescriptionError names file, line and element.
    """
    document = Document(file)
    root = document.root(data)
    if root.name != "mujoco":
        raise root.location.error(
            f"the root element is {quote(root.name)}: another MJCF includes this file",
            "give the file that includes it",
        )
    for section in root.children:
        for flexible in section.children_named("flex") if section.name == "deformable" else ():
            raise unsupported(flexible.location, "element is a flexible body")
    unread = Unread("an MJCF")
    check(root, unread)
    compiler_settings, classes = (
        read_settings(root, snapper),
        Classes(root.children_named("default")),
    )
    gravity, notes = read_world(root, compiler_settings)
    bodies = Bodies(compiler_settings, classes, Names(root))
    for section in root.children_named("worldbody"):
        bodies.read_world(section)
    force_notes = remarks.note_unmodelled_forces(root, classes)
    links = bodies.links_with_inertia()
    connections = with_springs(
        bodies.connections,
        links,
        bodies.reference_coordinates,
        bodies.spring_dampers,
        compiler_settings,
        bodies.notes,
    )
    connections = with_mimics(
        connections,
        bodies.reference_coordinates,
        root.children_named("equality"),
        classes,
        force_notes,
    )
    loops = Loops(bodies)
    force_notes += loops.read(root.children_named("equality"))
    return Tree(
        root.attributes.get("model", "").strip(),
        links,
        tuple(connections),
        bodies.frames(),
        gravity=gravity,
        notes=(
            *document.notes,
            *notes,
            *bodies.notes,
            *bodies.remarks(),
            *force_notes,
            *unread.notes(),
        ),
        location=Location(file),
        pinocchio_order=AS_DECLARED,
        read_sha256=sha256_of(data, document.included),
        loops=tuple(loops.declared_loops),
        start=loops.start(root),
        actuated=loops.actuated_joints(root),
    )


# -- equality: joints that follow others, and loops --

LOOPS = ("connect", "weld")
"""Equalities that close loops."""
IDENTITY = (Fraction(0), Fraction(1))
"""Defaults of a₀ and a₁ in `polycoef`."""


def with_mimics(
    connections: list[Connection],
    reference_coordinates: Mapping[str, Fraction],
    sections: Iterable[Element],
    classes: Classes,
    notes: list[Note],
) -> list[Connection]:
    """Return the joints, followers with their mimic relation. Raises DescriptionError for an
    unknown joint.
    """
    joints = {connection.name: connection for connection in connections}
    unsupported: dict[str, list[str]] = {}
    for element in (child for section in sections for child in section.children):
        attributes = classes.of(element, MAIN, "equality")
        if not attributes.flag("active", True):
            continue
        if element.name == "joint":
            _read_mimic(attributes, joints, reference_coordinates, notes)
        elif element.name not in LOOPS:
            unsupported.setdefault(element.name, []).append(f"line {element.location.line}")
    notes += [
        Note("warning", f"equality of {kind}s is left out: {list_names(lines)}")
        for kind, lines in unsupported.items()
    ]
    return [joints[connection.name] for connection in connections]


def _read_mimic(
    attributes: Attributes,
    joints: dict[str, Connection],
    reference_coordinates: Mapping[str, Fraction],
    notes: list[Note],
) -> None:
    """Record that a joint follows another; note what is left out."""
    name, leader = attributes.text("joint1"), attributes.text("joint2")
    for attribute, joint in (("joint1", name), ("joint2", leader)):
        if joint not in joints and (joint or attribute == "joint1"):
            raise attributes.location.error(
                f"its {attribute} {quote(joint)} is not a joint of the model",
                "name a joint of the model",
            )
    numbers = attributes.numbers("polycoef", 1, 5) if "polycoef" in attributes else []
    start, slope, *curved = [*numbers, *IDENTITY[len(numbers) :]]
    if joints[name].mimic is not None:
        notes.append(
            Note(
                "warning",
                f"{attributes.location.short}: joint {name} already follows another joint; this"
                " equality is left out",
            )
        )
        return
    if not leader:
        position = float(reference_coordinates[name] + start)
        notes.append(
            Note(
                "warning",
                f"{attributes.location.short}: it fixes joint {name} at {position:g} and is left"
                " out; use --lock",
            )
        )
        return
    mimic = Mimic(
        leader, slope, reference_coordinates[name] + start - slope * reference_coordinates[leader]
    )
    unsure = "the relation is a polynomial of higher order" if any(curved) else ""
    joints[name] = replace(joints[name], mimic=mimic, unsure=unsure)


# -- loops --


MOST_STEPS = 200_000
"""Largest number of steps of the displacements between the bodies of all loops."""
HOME = "home"
"""Name of the keyframe from which loops are closed, if it exists."""
_CLOSED_BY = {"connect": "point", "weld": "weld"}
_REFERENCES = {
    "connect": ("body1", "body2", "anchor"),
    "weld": ("body1", "body2", "anchor", "relpose"),
}
_SITES = ("site1", "site2")
_JOINT_ATTRIBUTES = ("joint", "jointinparent")
"""Attributes by which an actuator names the joint that it drives."""
Start = tuple[tuple[str, tuple[Angle, ...]], ...]


@dataclass
class Loops:
    """Reader of the loops between `bodies` from the equalities of a document."""

    bodies: Bodies
    declared_loops: list[DeclaredLoop] = field(default_factory=list)
    _steps: int = 0

    def read(self, sections: Iterable[Element]) -> list[Note]:
        """Collect the loops; return notes on them."""
        elements = [
            element for section in sections for element in section.children if element.name in LOOPS
        ]
        used_names = {element.attributes.get("name", "") for element in elements}
        inactive: list[str] = []
        if elements:
            refuse_many(len(elements), "loops", elements[0].location)
        for element in elements:
            own_attributes(element)
            attributes = self.bodies.classes.of(element, MAIN, "equality")
            if "equality" in self.bodies.settings.disabled or not attributes.flag("active", True):
                inactive.append(
                    attributes.text("name") or f"{element.name} at line {element.location.line}"
                )
                continue
            name = attributes.text("name") or unused_name(
                f"loop{len(self.declared_loops) + 1}", used_names
            )
            first, second = self._loop_ends(attributes, element.name)
            self.declared_loops.append(
                DeclaredLoop(
                    name, _CLOSED_BY[element.name], first, second, location=attributes.location
                )
            )
        return [
            *note_inactive_loops(inactive),
            *([Note("info", SOFT_LOOPS)] if self.declared_loops else []),
        ]

    def start(self, root: Element) -> Start:
        """Return the coordinates from which loops are closed: the keyframe `home`, else qpos0.
        Joints at zero are omitted.
        """
        if not self.declared_loops:
            return ()
        joints = [joint for joint in self.bodies.connections if joint.kind != "fixed"]
        home = _home_keyframe(root)
        if home is None:
            coordinates = [
                self._reference_coordinates(joint.name, joint.kind, joint.child) for joint in joints
            ]
        else:
            coordinates = _keyframe(home, [joint_type(joint.kind) for joint in joints])
        return tuple(
            (joint.name, tuple(map(Angle, values)))
            for joint, values in zip(joints, coordinates, strict=True)
            if tuple(values) != joint_type(joint.kind).neutral
        )

    def actuated_joints(self, root: Element) -> tuple[str, ...]:
        """Return the hinges and slides that actuators drive, if there are loops."""
        joints = (
            [joint for joint in self.bodies.connections if joint.kind != "fixed"]
            if self.declared_loops
            else []
        )
        names = {joint.name for joint in joints if joint_type(joint.kind).nv == 1}
        driven = (
            actuator.attributes.get(key)
            for section in root.children_named("actuator")
            for actuator in section.children
            for key in _JOINT_ATTRIBUTES
        )
        return tuple(dict.fromkeys(name for name in driven if name in names))

    def _reference_coordinates(self, joint: str, kind: str, body: str) -> list[Fraction]:
        """Return the coordinates of a joint at qpos0. A free joint leads from the world."""
        if kind == "free":
            rotation, location = displacement(self.bodies.body_poses[body].pose)
            w, x, y, z = quaternion_of_axes(*([row[k] for row in rotation] for k in range(3)))
            return [*map(round_to_digits, location), x, y, z, w]
        of_type = joint_type(kind)
        return (
            [self.bodies.reference_coordinates[joint]] if of_type.nq == 1 else list(of_type.neutral)
        )

    def _loop_ends(self, attributes: Attributes, kind: str) -> tuple[LoopEnd, LoopEnd]:
        """Return both ends of a loop."""
        sites, body_attributes = (
            [name for name in names if name in attributes] for names in (_SITES, _REFERENCES[kind])
        )
        if sites and body_attributes:
            raise attributes.location.error(
                f"{sites[0]} conflicts with {body_attributes[0]}",
                "give two sites, or bodies and a point",
            )
        if sites:
            first, second = (self._site(attributes, name) for name in _SITES)
            return first, second
        first_body, second_body = attributes.text("body1"), attributes.text("body2", WORLD)
        for attribute, body in (("body1", first_body), ("body2", second_body)):
            if body not in self.bodies.body_poses:
                raise attributes.location.error(
                    f"its {attribute} {quote(body)} is not a body of the model",
                    "name two bodies of the model",
                )
        anchor = (Shift(attributes.vector("anchor", ZERO3)),)
        if kind == "connect":
            if "anchor" not in attributes:
                raise attributes.location.error(
                    "the attribute 'anchor' is missing", 'write anchor="…", three numbers in body1'
                )
            back = self._pose_between(second_body, first_body, attributes.location)
            return self._loop_end(first_body, anchor, attributes.location), self._loop_end(
                second_body, (*back, *anchor), attributes.location
            )
        relative = self._declared_relative_pose(attributes) or (
            *self._pose_between(first_body, second_body, attributes.location),
            *anchor,
        )
        return self._loop_end(first_body, relative, attributes.location), self._loop_end(
            second_body, anchor, attributes.location
        )

    def _declared_relative_pose(self, attributes: Attributes) -> Pose | None:
        """Return the pose of the second frame in the first body by `relpose`; None if the file
        leaves it to qpos0.
        """
        if "relpose" not in attributes:
            return None
        x, y, z, *_ = attributes.numbers("relpose", 7)
        turn = attributes.tokens("relpose", 7)[3:]
        if not any(number(token) for token in turn):
            return None
        return Shift((x, y, z)), Rotate(
            self.bodies.settings.snapper.quaternion(turn, attributes.at("relpose"))
        )

    def _site(self, attributes: Attributes, attribute: str) -> LoopEnd:
        """Return the loop end at a site."""
        name = attributes.text(attribute)
        site = self.bodies.sites.get(name)
        if site is None:
            raise attributes.location.error(
                f"its {attribute} {quote(name)} is not a site of the model",
                "name two sites of the model",
            )
        return LoopEnd(site.body, self.bodies.site_pose(site), attributes.location)

    def _loop_end(self, body: str, pose: Pose, location: Location) -> LoopEnd:
        """Return a loop end from a pose in the frame of a body."""
        return LoopEnd(body, compose(self.bodies.body_poses[body].back, pose), location)

    def _pose_between(self, start: str, end: str, location: Location) -> Pose:
        """Return the pose of a body's frame in that of another body, at qpos0."""
        down, up = list(self._ancestors(end)), list(self._ancestors(start))
        while down and up and down[-1] == up[-1]:
            del down[-1], up[-1]
        steps_to_start, steps_to_end = (
            [self.bodies.body_poses[body].pose for body in reversed(bodies)]
            for bodies in (up, down)
        )
        pose = compose(inverse(compose(*steps_to_start)), compose(*steps_to_end))
        self._steps += len(pose) + len(up) + len(down)
        if self._steps > MOST_STEPS:
            raise location.error(
                f"the displacements between the bodies of loops have more than {MOST_STEPS} steps"
                " up to here",
                "write the loops between sites",
            )
        return pose

    def _ancestors(self, body: str) -> Iterator[str]:
        """Yield a body and the bodies around it, up to the world."""
        while body:
            yield body
            body = self.bodies.body_poses[body].around


def _home_keyframe(root: Element) -> Element | None:
    """Return the keyframe `home` if it has coordinates."""
    keys = (
        key for section in root.children_named("keyframe") for key in section.children_named("key")
    )
    named = (key for key in keys if key.attributes.get("name") == HOME)
    return next((key for key in named if "qpos" in key.attributes), None)


def _keyframe(key: Element, types: Sequence[JointType]) -> list[list[Fraction]]:
    """Return the coordinates of each joint at a keyframe; quaternions, w x y z in MuJoCo, as x y z
    w.
    """
    numbers = iter(own_attributes(key).numbers("qpos", sum(of_type.nq for of_type in types)))
    coordinates = []
    for of_type in types:
        values = [next(numbers) for _ in range(of_type.nq)]
        if of_type.quaternion is not None:
            values.append(values.pop(of_type.quaternion))
        coordinates.append(values)
    return coordinates


# -- vocabulary --
#
# From MuJoCo 4's schema (`mujoco.mj_printSchema`) and older versions, for the sections that define
# the tree, its masses and its loops: a typing error there would change the robot. Other sections
# describe no body and are ignored.


_POSE_ATTRIBUTES = "axisangle euler pos quat xyaxes zaxis"
_JOINT = (
    "actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis class damping frictionloss"
    " group limited margin name pos range ref solimpfriction solimplimit solreffriction solreflimit"
    " springdamper springref springyield stiffness type user"
)
_GEOM = (
    f"{_POSE_ATTRIBUTES} adhesion castshadow class conaffinity condim contype density fitscale"
    " fluidcoef fluidshape friction fromto gap group hfield margin mass material mesh name"
    " priority rgba shellinertia size solimp solmix solref surfacevel type user"
)
_BODY = "body frame joint freejoint geom inertial site"
_PASSED = "camera light"
_COMPILED = "composite flexcomp replicate attach plugin"
"""Elements that the reader of bodies refuses with specific messages."""
_ACTUATORS = (
    "general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion"
    " dcmotor"
)


def _words(reads: str, ignores: str = "", closed: bool = True) -> Words:
    return Words(tuple(reads.split()), tuple(ignores.split()), closed)


_IN_BODY = _words(_BODY, f"{_PASSED} {_COMPILED}")
_NO_WORDS = _words("")
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
            "angle autolimits balanceinertia boundinertia boundmass coordinate eulerseq"
            " inertiafromgeom inertiagrouprange settotalmass alignfree",
            "assetdir conflict convexhull discardvisual exactmeshinertia fitaabb fusestatic meshdir"
            " passthrough savecanonical savecompiled saveinertial strippath texturedir usethread",
        ),
        _words("", "lengthrange"),
    ),
    "option": Kind(
        _words(
            "gravity density viscosity",
            "actuatorgroupdisable apirate ccd_iterations ccd_tolerance collision cone impratio"
            " integrator iterations jacobian ls_iterations ls_tolerance magnetic mpr_iterations"
            " mpr_tolerance noslip_iterations noslip_tolerance o_friction o_margin o_solimp"
            " o_solref sdf_initpoints sdf_iterations sleep_tolerance solver timestep tolerance"
            " wind",
            closed=False,
        ),
        _words("flag"),
    ),
    "flag": Kind(
        _words(
            "gravity spring damper frictionloss equality passive",
            "actuation autoreset clampctrl constraint contact diagexact energy eulerdamp"
            " filterparent fwdinv invdiscrete ipc island limit midphase multiccd nativeccd override"
            " refsafe sensor sleep speculative warmstart",
            closed=False,
        ),
        _NO_WORDS,
    ),
    "default": Kind(
        _words("class", closed=False),
        _words(
            f"default joint geom site equality tendon {_ACTUATORS}",
            "mesh texture material camera light pair",
        ),
    ),
    "worldbody": Kind(_NO_WORDS, _IN_BODY),
    "body": Kind(
        _words(f"{_POSE_ATTRIBUTES} childclass gravcomp mocap name", "fuse simple sleep user"),
        _IN_BODY,
    ),
    "frame": Kind(_words(f"{_POSE_ATTRIBUTES} childclass name scale"), _IN_BODY),
    "inertial": Kind(_words(f"{_POSE_ATTRIBUTES} diaginertia fullinertia mass"), _NO_WORDS),
    "freejoint": Kind(_words("align name", "group"), _NO_WORDS),
    "joint": Kind(_words(_JOINT), _NO_WORDS),
    "geom": Kind(_words(_GEOM), _words("", "plugin")),
    "site": Kind(
        _words(
            f"{_POSE_ATTRIBUTES} class fromto name",
            "group material mesh rgba size type user",
            closed=False,
        ),
        _NO_WORDS,
    ),
    "equality": Kind(
        _NO_WORDS, _words("connect weld joint tendon flex flexstrain", "flexvert distance")
    ),
    "connect": Kind(
        _words("active anchor body1 body2 class name site1 site2", "solimp solref"), _NO_WORDS
    ),
    "weld": Kind(
        _words(
            "active anchor body1 body2 class name relpose site1 site2", "solimp solref torquescale"
        ),
        _NO_WORDS,
    ),
    "equality joint": Kind(
        _words("active class joint1 joint2 name polycoef", "solimp solref"), _NO_WORDS
    ),
    "default equality": Kind(_words("active", "solimp solref", closed=False), _NO_WORDS),
    "keyframe": Kind(_NO_WORDS, _words("key")),
    "key": Kind(
        _words("name qpos", "act ctrl mpos mquat plastic qvel time", closed=False), _NO_WORDS
    ),
}
"""Vocabulary of each element. If the same name is used elsewhere, the parent's name precedes it."""


def check(root: Element, unread: Unread) -> None:
    """Refuse the first name that could change the robot, in the sections that describe it; note
    names that are left out.
    """
    waiting = [("mujoco", root)]
    while waiting:
        name, element = waiting.pop()
        kind = KINDS[name]
        unread.check(kind, element.name, element.attributes, element.location)
        unread.words(kind, element.name, element.text, element.location)
        for child in element.children:
            if child.name not in kind.children:
                unread.child(kind, element.name, child.name, child.location)
        inside = [(f"{name} {child.name}", child) for child in element.children]
        inside = [
            (child_kind if child_kind in KINDS else child.name, child)
            for child_kind, child in inside
        ]
        waiting += reversed(
            [(child_kind, child) for child_kind, child in inside if child_kind in KINDS]
        )
