"""SDF 1.4 to 1.12 (http://sdformat.org/spec), the format of Gazebo: one model of a file, with its
frames, joints and inertias.

Poses have the meaning of the file's version. A link is relative to its model, a joint to its child
link, or either to the frame of `relative_to`. An axis is given in the model's axes up to 1.4, later
in the joint's own or in those of `expressed_in`. SDF's defaults are used, with a note if they
matter (inertia, gravity). Drives of joints are applied, as in Gazebo. Visuals, collisions, sensors
and plugins are ignored.

SDF's defaults for a missing inertia are used with a warning: a mass of 1 kg, moments of 1 kg m²,
products of zero, the centre at the link's origin.

The base is the root link, or the world if a joint leads to it. If the file rotates the root link,
the base is an additional link at its origin. That link has the axes of the world, so that gravity
has the direction of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from symgen.description.asking import NO_OPTIONS, FileOptions
from symgen.description.freeing import ROOT
from symgen.description.parsing.xml import tag
from symgen.description.quantities import Location, quote
from symgen.description.readers._sdf.files import Files
from symgen.description.readers._sdf.frames import WORLD, Frame, FramePoses, Scope
from symgen.description.readers._sdf.joints import Joints, loops
from symgen.description.readers._sdf.models import Models
from symgen.description.readers._sdf.text import Text
from symgen.description.snapping import Snapper
from symgen.description.tree import UNKNOWN, Connection, ExtraFrame, Inertial, Link, Tree, sha256_of
from symgen.mechanism.mechanism import Note
from symgen.support.errors import DescriptionError, RequestError, printable
from symgen.support.lists import shortened_list
from symgen.vocabulary.names import nearest
from symgen.vocabulary.poses import Z_AXIS, ZERO3, Pose, Vector3, compose, rotation_steps

SUFFIXES = (".sdf", ".world")
ROOTS = ("sdf", "gazebo")
TAKES = ("model", "packages")
SHOWN = 8
"""Number of links or models that a message names; the others are counted."""
GRAVITY: Vector3 = (Fraction(0), Fraction(0), Fraction(-98, 10))
"""Default gravity of a world."""


@dataclass(frozen=True)
class Candidate:
    """A file's model before its content is read. `lost` is the error of a missing included file."""

    name: str
    element: Any
    world: Any
    opened: tuple[Any, Text] | None = None
    lost: DescriptionError | None = None

    @property
    def moves(self) -> bool:
        """True if the model is not static and has a joint that is not fixed."""
        body = self.opened[0] if self.opened is not None else self.element
        still = any(
            tag(child) == "static" and (child.text or "").strip().lower() in ("true", "1")
            for element in (self.element, body)
            for child in element
        )
        within = [tag(element) for element in body.iter() if element.get("type") != "fixed"]
        return not still and ("joint" in within or "include" in within)


def read(data: bytes, file: str, snapper: Snapper, options: FileOptions = NO_OPTIONS) -> Tree:
    """Return the links and joints of one model of the SDF text `data`. DescriptionError names file,
    line and element.
    """
    files = Files(snapper, options.packages)
    root, text = files.root(data, file)
    candidates = _with_distinct_names(_candidates(root, text, files))
    chosen = _selected_model(candidates, options.model, Location(file), files.notes)
    frame_poses, ground = FramePoses(), Frame(WORLD, "world", Location(file))
    models = Models(files, frame_poses, ground)
    world_scope = models.world(chosen.world if chosen.world is not None else root, text)
    scope = (
        models.included(chosen.element, text, opened=chosen.opened)
        if chosen.opened is not None
        else models.model(chosen.element, text)
    )
    _keep_joints_of_model(
        world_scope, scope, {candidate.name for candidate in candidates} - {scope.frame.name}
    )
    world_scope.inner[scope.frame.name] = scope
    world_scope.frames[scope.frame.name] = scope.frame
    models.resolve_world(world_scope)
    joints = Joints([*scope.all_scopes, world_scope], models, frame_poses)
    for read_file in files.texts:
        read_file.note_unread()
    model = _Model(scope, joints, frame_poses, ground, options.floating, files.notes)
    gravity = _gravity(chosen.world, text, model.is_weightless, files.notes)
    return replace(model.tree(gravity), read_sha256=sha256_of(data, files.included_contents))


@dataclass
class _Model:
    """The selected model, with its joints and the relative poses of its frames. If `floating`, root
    links get free joints.
    """

    scope: Scope
    joints: Joints
    frame_poses: FramePoses
    ground: Frame
    floating: bool
    notes: list[Note]

    @cached_property
    def links(self) -> list[tuple[Scope, Frame, Any]]:
        """Scope, frame and element of each link."""
        return [
            (inner, frame, element)
            for inner in self.scope.all_scopes
            for frame, element in inner.links
        ]

    @cached_property
    def roots(self) -> list[Frame]:
        """Links without a joint above them."""
        return [frame for _, frame, _ in self.links if frame not in self.joints.child_frames]

    @cached_property
    def grounded(self) -> bool:
        """True if a joint leads to the world."""
        return any(joint.parent is self.ground for joint in self.joints.axis_joints)

    @property
    def is_weightless(self) -> bool:
        """True if gravity is off for all moving links with mass."""
        fixed = self.joints.links_fixed_to(() if self.floating else self.roots)
        return all_ignore_gravity(link for link in self.links if link[1] not in fixed)

    def tree(self, gravity: Vector3 | None) -> Tree:
        """Return the tree of the model."""
        afloat = self.floating and len(self.roots) + self.grounded > 1
        base, base_joints = self._free_root_joints() if afloat else self._base()
        links = [
            link(
                inner,
                frame,
                element,
                self.joints.frame_of(frame),
                self.frame_poses,
                frame in self.joints.fixed_links,
            )
            for inner, frame, element in self.links
        ]
        crosses, connections = self.joints.connections()
        closings, loop_notes = loops(self.joints, self.frame_poses)
        self.notes += [*self.joints.notes, *loop_notes]
        return Tree(
            self.scope.frame.name,
            (*base, *links, *crosses),
            (*base_joints, *connections),
            tuple(self._extra_frames()),
            gravity,
            notes=tuple(self.notes),
            location=Location(self.scope.text.file),
            loops=closings,
            afloat=afloat,
            pinocchio_order=UNKNOWN,
        )

    def _free_root_joints(self) -> tuple[list[Link], list[Connection]]:
        """Return the world, and a free joint for each root link."""
        used_names = {joint.frame.name for joint in self.joints.axis_joints}
        return [self._world()], _free_root_joints(self.roots, used_names)

    def _base(self) -> tuple[list[Link], list[Connection]]:
        """Return the base link, and the joint to a rotated root link. Raises DescriptionError for
        several roots.
        """
        if self.grounded or len(self.roots) > 1:
            distinct = len({frame.name for _, frame, _ in self.links}) == len(self.links)
            if self.roots and distinct:
                _refuse_several(self.roots, self.grounded)
        if self.grounded:
            return [self._world()], []
        turned = self._rotated_root()
        self.notes.append(
            Note(
                "info",
                "no joint leads to 'world': in Gazebo the model moves freely; use --base free for"
                " that",
            )
        )
        return turned

    def _world(self) -> Link:
        return Link(WORLD, location=self.scope.frame.location)

    def _rotated_root(self) -> tuple[list[Link], list[Connection]]:
        """Return a link with the axes of the world and the joint to the root link, if the file
        rotates the root link.
        """
        if len(self.roots) != 1:
            return [], []  # refused later
        root, name = self.roots[0], f"{self.scope.frame.name}_placed"
        rotation = rotation_steps(self.frame_poses.relative_pose(self.ground, root, root.location))
        if not rotation:
            return [], []
        self.notes.append(
            Note(
                "info",
                f"the file rotates link {root.name}: the base is {name}, at its origin with the"
                " axes of the world",
            )
        )
        joint = Connection(
            f"{name}_joint", "fixed", name, root.name, rotation, location=root.location
        )
        return [Link(name, location=root.location)], [joint]

    def _extra_frames(self) -> Iterator[ExtraFrame]:
        for inner in self.scope.all_scopes:
            for frame, _ in inner.extra:
                carrier = self.frame_poses.carrier(frame)
                pose = self.frame_poses.relative_pose(
                    self.joints.frame_of(carrier), frame, frame.location
                )
                yield ExtraFrame(frame.name, carrier.name, pose, frame.location)


def _free_root_joints(roots: Sequence[Frame], used_names: set[str]) -> list[Connection]:
    """Return a free joint for each root link, from the world's origin, since Gazebo lets each of
    them move.
    """
    joints = []
    for root in roots:
        name = f"{ROOT}_{root.name}"
        while name in used_names:
            name += "_"
        used_names.add(name)
        joints.append(
            Connection(name, "free", WORLD, root.name, axis=Z_AXIS, location=root.location)
        )
    return joints


def _refuse_several(roots: Sequence[Frame], grounded: bool) -> None:
    """Raise DescriptionError for several root links of a fixed robot."""
    listed = shortened_list((quote(root.name) for root in roots), SHOWN)
    several = (
        f"the links {listed} have no joint to a parent"
        if len(roots) > 1
        else f"the link {listed} has no joint to a parent"
    )
    fault = f"{several}, while others are connected to the world" if grounded else several
    raise roots[-1].location.error(
        f"{fault}; in Gazebo each moves freely",
        "use --base free, or connect all but one to a parent"
        if not grounded
        else "use --base free, or connect each to a parent or the world",
    )


def _candidates(root: Any, text: Text, files: Files) -> Iterator[Candidate]:
    """Yield the models of a file in order, those of its worlds included."""
    for child in text.children(root):
        if tag(child) == "world":
            for element in text.children(child):
                if is_model(element):
                    yield _candidate(element, child, text, files)
        elif is_model(child):
            yield _candidate(child, None, text, files)


def _candidate(element: Any, world: Any, text: Text, files: Files) -> Candidate:
    """Return a model before its content is read."""
    location = text.location(element)
    if tag(element) == "model":
        return Candidate(text.attribute(element, "name", location), element, world)
    name_element = text.only_child(element, "name", location)
    name = (name_element.text or "").strip() if name_element is not None else ""
    try:
        opened = files.included(element, text, location, 0)
    except DescriptionError as error:
        return Candidate(
            name or text.word(element, "uri", location).rpartition("/")[2],
            element,
            world,
            lost=error,
        )
    return Candidate(
        name or opened[1].attribute(opened[0], "name", location), element, world, opened
    )


def _selected_model(
    candidates: list[Candidate], requested: str | None, location: Location, notes: list[Note]
) -> Candidate:
    """Return the requested model, or the only one that moves; note the models that are left out."""
    if not candidates:
        raise location.error("the file has no model", "give a file with a model")
    if requested is not None:
        model = _model_named(requested, candidates, location)
    else:
        model = _only_moving(candidates, location)
    if model.lost is not None:
        raise model.lost
    omitted_models = [candidate for candidate in candidates if candidate is not model]
    if omitted_models:
        notes.append(
            Note(
                "info",
                f"model {quote(model.name)} of the file is read; left out:"
                f" {_list_names(omitted_models)}",
            )
        )
    return model


def _model_named(requested: str, candidates: list[Candidate], location: Location) -> Candidate:
    """Return the model of this name. Raises DescriptionError for an unknown name."""
    by_name = {candidate.name: candidate for candidate in reversed(candidates)}
    try:
        return by_name[nearest(requested, [candidate.name for candidate in candidates], "model")]
    except RequestError as error:
        fault, _, hint = str(error).partition("; ")
        raise location.error(fault, hint) from None


def _only_moving(candidates: list[Candidate], location: Location) -> Candidate:
    """Return the only model with joints, else the first model. Raises DescriptionError if several
    models move.
    """
    moving = [candidate for candidate in candidates if candidate.lost is None and candidate.moves]
    if len(moving) > 1:
        raise location.error(
            f"it has {len(moving)} models with joints: {_list_names(moving)}",
            f"choose one, such as --model {printable(moving[0].name, 40)}",
        )
    lost = [candidate for candidate in candidates if candidate.lost is not None]
    if not moving and len(lost) > 1:
        raise location.error(
            f"none of the included models exists: {_list_names(lost)}",
            "put their folders into the folder of this file, or give --package NAME=FOLDER",
        )
    return (moving or lost or candidates)[0]


def _list_names(models: Sequence[Candidate]) -> str:
    return shortened_list((quote(model.name) for model in models), SHOWN)


def _with_distinct_names(models: Iterable[Candidate]) -> list[Candidate]:
    """Return the models; repeated names get a count from the second on, such as `arm:2`. SDF
    forbids them, but files have them.
    """
    count: Counter[str] = Counter()
    renamed = []
    for model in models:
        count[model.name] += 1
        renamed.append(
            replace(model, name=f"{model.name}:{count[model.name]}")
            if count[model.name] > 1
            else model
        )
    return renamed


def _keep_joints_of_model(world_scope: Scope, scope: Scope, other_models: set[str]) -> None:
    """Keep only those joints of the world that touch the model. Raises DescriptionError for a joint
    to another model.
    """
    model_joints = []
    for frame, element in world_scope.joints:
        joined_models = {
            world_scope.text.word(element, role, frame.location).partition("::")[0]
            for role in ("parent", "child")
        }
        if scope.frame.name in joined_models:
            other_model = next(iter(sorted(joined_models & other_models)), None)
            if other_model is not None:
                raise frame.location.error(
                    f"it connects the model to another model, {quote(other_model)}",
                    "put both into one model",
                )
            model_joints.append((frame, element))
    world_scope.joints = model_joints


def _gravity(world: Any, text: Text, all_ignore_gravity: bool, notes: list[Note]) -> Vector3 | None:
    """Return the gravity of the world; up to 1.5 it is in its physics. None without a world, unless
    all links ignore gravity.
    """
    if all_ignore_gravity:
        notes.append(Note("info", "<gravity> is off for all links: gravity is read as 0 0 0"))
        return ZERO3
    if world is None:
        return None
    location = text.location(world)
    element = text.only_child(world, "gravity", location)
    if element is None:
        physics = next((child for child in text.children(world) if tag(child) == "physics"), None)
        element = text.only_child(physics, "gravity", location) if physics is not None else None
    if element is None:
        notes.append(
            Note(
                "info",
                "the world declares no gravity; SDF's default is used: 0 0 -9.8 m/s²",
            )
        )
        return GRAVITY
    return text.vector(element, text.location(element, location))


# -- links --


_MOMENTS = {
    name: Fraction(name in ("ixx", "iyy", "izz"))
    for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
}
"""SDF's default of each moment."""


def link(
    scope: Scope, frame: Frame, element: Any, seat: Frame, frame_poses: FramePoses, is_fixed: bool
) -> Link:
    """Return a link that moves with the frame `seat`. The inertia of a fixed link has no effect."""
    text, location = scope.text, frame.location
    link_pose = frame_poses.relative_pose(seat, frame, location)
    for name, reason in (
        ("enable_wind", "wind is not modelled"),
        ("must_be_base_link", "the joints determine the base link"),
    ):
        if text.flag(element, name, location):
            text.note("info", location, f"<{name}> is left out: {reason}")
    decay = text.only_child(element, "velocity_decay", location)
    if decay is not None and any(
        text.number(decay, name, location) for name in ("linear", "angular")
    ):
        text.note(
            "warning", text.location(decay, location), "the decay of its velocity is not modelled"
        )
    return Link(
        frame.name,
        (_inertial(scope, frame, element, link_pose, "info" if is_fixed else "warning"),),
        location,
        link_pose,
    )


def _inertial(
    scope: Scope, frame: Frame, element: Any, link_pose: Pose, note_kind: str
) -> Inertial:
    """Return the inertia of a link, SDF's defaults included."""
    text, location = scope.text, frame.location
    inertial = text.only_child(element, "inertial", location)
    if inertial is None:
        text.note(
            note_kind,
            location,
            "declares no <inertial>; SDF's defaults are used: 1 kg and moments of 1 kg m²",
        )
        return Inertial(Fraction(1), tuple(_MOMENTS.values()), link_pose, location)
    inertial_location = text.location(inertial, location)
    if text.true_attribute(inertial, "auto", inertial_location):
        raise inertial_location.error(
            "its inertia is computed from its collisions (auto), which symgen does not do",
            "write its mass and inertia as `gz sdf -p --expand-auto-inertials` prints them",
        )
    added = text.only_child(inertial, "fluid_added_mass", inertial_location)
    if added is not None and any(
        (child.text or "").strip().strip("0.") for child in text.children(added)
    ):
        text.note(
            "warning",
            text.location(added, inertial_location),
            "the added mass of a fluid is not modelled",
        )
    mass, moments = (
        text.number(inertial, "mass", inertial_location),
        _moments(scope, inertial, inertial_location, note_kind),
    )
    if mass is None:
        text.note(note_kind, inertial_location, "declares no <mass>; SDF's default is used: 1 kg")
        mass = Fraction(1)
    pose, relative = text.pose(inertial, inertial_location)
    if relative:
        raise inertial_location.error(
            "its pose has relative_to, but an inertial is always relative to its link",
            "remove relative_to",
        )
    return Inertial(mass, moments, compose(link_pose, pose), inertial_location)


def _moments(
    scope: Scope, inertial: Any, location: Location, note_kind: str
) -> tuple[Fraction, ...]:
    """Return the moments of a link, SDF's defaults included."""
    text = scope.text
    tensor = text.only_child(inertial, "inertia", location)
    if tensor is None:
        text.note(
            note_kind,
            location,
            "declares no <inertia>; SDF's defaults are used: moments of 1 kg m²",
        )
        return tuple(_MOMENTS.values())
    inertia_location = text.location(tensor, location)
    moments = {name: text.number(tensor, name, inertia_location) for name in _MOMENTS}
    missing = [name for name in ("ixx", "iyy", "izz") if moments[name] is None]
    if missing:
        text.note(
            note_kind,
            inertia_location,
            f"declares no {', '.join(missing)}; SDF's default is used: 1 kg m²",
        )
    return tuple(_MOMENTS[name] if value is None else value for name, value in moments.items())


def all_ignore_gravity(links: Iterable[tuple[Scope, Frame, Any]]) -> bool:
    """True if all links with mass ignore gravity. Raises DescriptionError if only some do."""
    with_gravity, without_gravity = list[Frame](), list[Frame]()
    for scope, frame, element in links:
        off = scope.text.flag(element, "gravity", frame.location) is False
        if not _massless(scope, frame, element):
            (without_gravity if off else with_gravity).append(frame)
    if with_gravity and without_gravity:
        raise without_gravity[0].location.error(
            f"gravity is off for this link but on for {quote(with_gravity[0].name)}; symgen has one"
            " gravity for all links",
            "remove <gravity> from the links",
        )
    return bool(without_gravity)


def _massless(scope: Scope, frame: Frame, element: Any) -> bool:
    """True if a link declares a mass of zero."""
    inertial = scope.text.only_child(element, "inertial", frame.location)
    return (
        inertial is not None
        and scope.text.number(inertial, "mass", scope.text.location(inertial, frame.location)) == 0
    )


def is_model(element: Any) -> bool:
    """True if an element declares or includes a model."""
    return tag(element) in ("model", "include")
