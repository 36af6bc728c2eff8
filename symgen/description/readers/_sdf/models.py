"""Models of an SDF file, with inner and included models, as scopes of frames.

Each element is checked against the vocabulary first. Then all names are declared, and every pose
gets its reference frame: a frame may refer to one that is declared later.
"""

from __future__ import annotations

from typing import Any

from symgen.description.parsing.words import Kind, Words
from symgen.description.parsing.xml import full_name, loose_text, tag
from symgen.description.quantities import Location
from symgen.description.readers._sdf.files import Files
from symgen.description.readers._sdf.frames import WORLD, Frame, FramePoses, Scope
from symgen.description.readers._sdf.text import Text
from symgen.description.tree import refuse_many
from symgen.vocabulary.poses import compose, inverse

DEEPEST = 50
"""Largest depth of nested models."""
_LISTED = {"link": "links", "joint": "joints", "frame": "extra"}


class Models:
    """Builder of scopes from elements. Only names, poses and attachments of an element are read."""

    def __init__(self, files: Files, frame_poses: FramePoses, ground: Frame) -> None:
        self.files, self.frame_poses, self.ground = files, frame_poses, ground

    def world(self, element: Any, text: Text) -> Scope:
        """Return the scope of a world, or of a file without one: its joints and frames, without its
        models.
        """
        check(element, text, text.location(element), "world" if tag(element) == "world" else "sdf")
        scope = Scope(text, element, self.ground, frames={WORLD: self.ground})
        self._declare(scope, ("joint", "frame"))
        return scope

    def model(
        self, element: Any, text: Text, name: str = "", prefix: str = "", depth: int = 0
    ) -> Scope:
        """Return the scope of a model with its content, declared but without poses. `prefix`
        precedes the names in it.
        """
        location = text.location(element)
        if depth > DEEPEST:
            raise location.error(
                f"models are nested more than {DEEPEST} deep", "reduce the nesting"
            )
        frame = Frame(name or text.attribute(element, "name", location), "model", location)
        scope = Scope(
            text,
            element,
            frame,
            prefix,
            placed=text.pose(element, location),
            placement=(element.get("placement_frame") or "").strip(),
        )
        self._refuse_static(element, text)
        check(element, text, location, "model")
        self._declare(scope, ("link", "frame"))
        for child in text.children(element):
            if tag(child) == "model":
                inner = self.model(
                    child, text, prefix=f"{prefix}{child.get('name', '')}::", depth=depth + 1
                )
                self._add(scope, inner)
            elif tag(child) == "include":
                self._add(scope, self.included(child, text, prefix, depth + 1))
        self._declare(scope, ("joint",))
        self._choose_canonical(scope)
        return scope

    def included(
        self,
        element: Any,
        text: Text,
        prefix: str = "",
        depth: int = 0,
        opened: tuple[Any, Text] | None = None,
    ) -> Scope:
        """Return the scope of the model that an `include` names, with the declared name and pose.
        `opened` is a file of a world that was read before.
        """
        location = text.location(element)
        check(element, text, location)
        merged = text.true_attribute(element, "merge", location)
        if merged and opened is not None:
            raise location.error("merging a model into a world is not supported", "remove merge")
        for child in element:
            if tag(child).rpartition(":")[2] == "params":
                raise text.location(child, location).error(
                    "it modifies the included model, which is not supported",
                    "write out the modified model",
                )
        model_element, reads = opened or self.files.included(element, text, location, depth)
        name_element = text.only_child(element, "name", location)
        name = (name_element.text or "").strip() if name_element is not None else ""
        name = name or reads.attribute(model_element, "name", reads.location(model_element))
        scope = self.model(
            model_element,
            reads,
            name,
            "" if opened else prefix if merged else f"{prefix}{name}::",
            depth,
        )
        scope.merged = merged
        self._refuse_static(element, text)
        if text.only_child(element, "pose", location) is not None:
            scope.placed = text.pose(element, location)
        placement = text.only_child(element, "placement_frame", location)
        if placement is not None:
            scope.placement = (placement.text or "").strip()
        return scope

    def resolve(self, scope: Scope, around: Scope) -> None:
        """Resolve the references and attachments of all frames in a model, and its pose in the
        enclosing scope.
        """
        for inner in scope.within:
            self.resolve(inner, scope)
        for frame, element in scope.links:
            self._set_pose(scope, frame, element, scope.frame)
        for frame, element in scope.extra:
            self._resolve_frame(scope, frame, element)
        for frame, element in scope.joints:
            self._resolve_joint(scope, frame, element)
        pose, relative = scope.placed
        scope.frame.base = around.find(relative, scope.frame.location) if relative else around.frame
        if scope.placement:
            seat = scope.find(scope.placement, scope.frame.location)
            pose = compose(pose, inverse(self.frame_poses.pose_in_model(scope.frame, seat)))
        scope.frame.pose = pose

    def resolve_world(self, scope: Scope) -> None:
        """Resolve the references and attachments of all frames in a world."""
        for frame, element in scope.extra:
            self._resolve_frame(scope, frame, element)
        for inner in scope.inner.values():
            self.resolve(inner, scope)
        for frame, element in scope.joints:
            self._resolve_joint(scope, frame, element)

    def end(self, scope: Scope, frame: Frame, element: Any, role: str) -> Frame:
        """Return the frame of a parent or child of a joint. `world` is the world, unless a link of
        the model has that name.
        """
        name = scope.text.word(element, role, frame.location)
        if name == WORLD and role == "parent" and WORLD not in scope.frames:
            return self.ground
        return scope.find(name, frame.location.at(f"{frame.location.element}: {role}"))

    def _declare(self, scope: Scope, kinds: tuple[str, ...]) -> None:
        """Declare the frames of the children of these kinds."""
        for child in scope.text.children(scope.element):
            kind = tag(child)
            if kind not in kinds:
                continue
            location = scope.text.location(child)
            name = scope.text.attribute(child, "name", location)
            frame = Frame(f"{scope.prefix}{name}", kind, location)
            getattr(scope, _LISTED[kind]).append((frame, child))
            scope.frames.setdefault(name, frame)
        for listed in (scope.links, scope.joints, scope.extra):
            refuse_many(len(listed), "links, joints or frames", scope.frame.location)

    def _refuse_static(self, element: Any, text: Text) -> None:
        """Raise DescriptionError for a static model."""
        location = text.location(element)
        if text.flag(element, "static", location):
            raise location.error(
                "it is static, so that nothing in it moves",
                "remove <static>, or give another model",
            )

    def _add(self, scope: Scope, inner: Scope) -> None:
        """Add an inner model under its name, or the content of a merged model under its names."""
        if inner.merged:
            for name, frame in inner.frames.items():
                scope.frames.setdefault(name, frame)
            for within in inner.inner.values():
                self._add_named(scope, within)
            scope.merges.append(inner)
        else:
            self._add_named(scope, inner)
            scope.frames.setdefault(inner.frame.name, inner.frame)

    def _add_named(self, scope: Scope, inner: Scope) -> None:
        """Add an inner model under its name."""
        name = inner.frame.name
        if name in scope.inner:
            raise inner.frame.location.error(
                "another model here has this name", "give each model its own name"
            )
        scope.inner[name] = inner

    def _choose_canonical(self, scope: Scope) -> None:
        """Attach the frame of a model to its canonical link."""
        named = (scope.element.get("canonical_link") or "").strip()
        if named:
            scope.frame.attached_to = scope.find(named, scope.frame.location)
        elif scope.links:
            scope.frame.attached_to = scope.links[0][0]
        else:
            scope.frame.attached_to = next((inner.frame for inner in scope.within), None)

    def _set_pose(self, scope: Scope, frame: Frame, element: Any, default: Frame) -> None:
        """Set the pose of a frame and its reference."""
        frame.pose, relative = scope.text.pose(element, frame.location)
        frame.base = (
            scope.find(relative, frame.location.at(f"{frame.location.element}: pose"))
            if relative
            else default
        )

    def _resolve_joint(self, scope: Scope, frame: Frame, element: Any) -> None:
        frame.attached_to = self.end(scope, frame, element, "child")
        self._set_pose(scope, frame, element, frame.attached_to)

    def _resolve_frame(self, scope: Scope, frame: Frame, element: Any) -> None:
        attached = (element.get("attached_to") or "").strip()
        frame.attached_to = scope.find(attached, frame.location) if attached else scope.frame
        self._set_pose(scope, frame, element, frame.attached_to)


# -- vocabulary --
#
# From the specification of 1.4 to 1.12 (http://sdformat.org/spec): names that are read, ignored on
# purpose, or refused. An `include` and an inner model are checked when they are opened.

_IN_AXIS = "it is not read directly in a <joint>", "move it into the joint's <axis>"
_IN_INERTIAL = "it is not read directly in a <link>", "move it into the link's <inertial>"
_ORIGIN = (
    "it is an element of URDF and of SDF before 1.4",
    "write <pose>x y z roll pitch yaw</pose>",
)
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_NO_WORDS = Words(closed=True)
_VALUE = Kind(_NO_WORDS, _NO_WORDS, text=True)
"""Vocabulary of an element that contains one number, word or truth value."""
_VALUES = (
    "mass",
    *_MOMENTS,
    "lower",
    "upper",
    "effort",
    "velocity",
    "damping",
    "friction",
    "spring_stiffness",
    "spring_reference",
    "multiplier",
    "offset",
    "reference",
    "thread_pitch",
    "screw_thread_pitch",
    "gearbox_ratio",
    "gearbox_reference_body",
    "parent",
    "child",
    "use_parent_model_frame",
    "static",
    "gravity",
    "enable_wind",
    "must_be_base_link",
    "uri",
    "name",
    "linear",
    "angular",
)


def _closed(
    *children: str, attributes: tuple[str, ...] = (), ignores: tuple[str, ...] = ()
) -> Kind:
    """Return the vocabulary of an element that affects the dynamics."""
    return Kind(Words(attributes, closed=True), Words(children, ignores, closed=True))


_AXIS = _closed(
    "xyz", "limit", "dynamics", "mimic", "use_parent_model_frame", ignores=("initial_position",)
)
KINDS = {
    "sdf": Kind(
        Words(("version",)),
        Words(("world", "model", "include", "joint", "frame"), ("actor", "light")),
    ),
    "world": Kind(
        Words(("name",)),
        Words(
            ("gravity", "model", "include", "joint", "frame", "physics"),
            (
                "actor",
                "atmosphere",
                "audio",
                "gui",
                "light",
                "magnetic_field",
                "plugin",
                "population",
                "road",
                "scene",
                "spherical_coordinates",
                "state",
                "wind",
            ),
        ),
    ),
    "model": Kind(
        Words(("name", "canonical_link", "placement_frame")),
        Words(
            ("link", "joint", "frame", "model", "include", "pose", "static"),
            ("allow_auto_disable", "enable_wind", "gripper", "plugin", "self_collide"),
            refused={"origin": _ORIGIN},
        ),
    ),
    "include": Kind(
        Words(("merge",), ("placement_frame",)),
        Words(
            ("uri", "name", "pose", "static", "placement_frame"), ("plugin", "experimental:params")
        ),
    ),
    "link": Kind(
        Words(("name",)),
        Words(
            ("inertial", "pose", "gravity", "enable_wind", "must_be_base_link", "velocity_decay"),
            (
                "audio_sink",
                "audio_source",
                "battery",
                "collision",
                "contact",
                "frame",
                "kinematic",
                "light",
                "particle_emitter",
                "projector",
                "self_collide",
                "sensor",
                "visual",
            ),
            refused={"mass": _IN_INERTIAL, "inertia": _IN_INERTIAL, "origin": _ORIGIN},
        ),
    ),
    "inertial": _closed(
        "mass",
        "inertia",
        "pose",
        "fluid_added_mass",
        attributes=("auto",),
        ignores=("auto_inertia_params", "density", "frame"),
    ),
    "inertia": _closed(*_MOMENTS),
    "velocity_decay": _closed("linear", "angular"),
    "joint": Kind(
        Words(("name", "type")),
        Words(
            (
                "parent",
                "child",
                "pose",
                "axis",
                "axis2",
                "thread_pitch",
                "screw_thread_pitch",
                "gearbox_ratio",
                "gearbox_reference_body",
            ),
            ("frame", "physics", "sensor"),
            refused={
                **dict.fromkeys(("xyz", "limit", "dynamics", "mimic"), _IN_AXIS),
                "origin": _ORIGIN,
            },
        ),
    ),
    "axis": _AXIS,
    "axis2": _AXIS,
    "xyz": Kind(Words(("expressed_in",), closed=True), _NO_WORDS, text=True),
    "limit": Kind(
        Words(), Words(("lower", "upper", "effort", "velocity"), ("dissipation", "stiffness"))
    ),
    "dynamics": _closed("damping", "friction", "spring_stiffness", "spring_reference"),
    "mimic": _closed("multiplier", "offset", "reference", attributes=("joint", "axis")),
    "frame": _closed("pose", attributes=("name", "attached_to")),
    "pose": Kind(
        Words(("relative_to", "frame", "rotation_format", "degrees"), closed=True),
        _NO_WORDS,
        text=True,
    ),
    **dict.fromkeys(_VALUES, _VALUE),
}
"""Vocabulary of each element. The content of any other element is not examined."""


def check(element: Any, text: Text, location: Location, name: str = "") -> None:
    """Refuse the first name in an element that could change the robot; note names that are left
    out.

    `name` is the kind of the element, if it differs from its tag.
    """
    waiting = [(element, name or full_name(element), location)]
    while waiting:
        element, name, location = waiting.pop()
        kind = KINDS[name]
        text.unread.check(kind, name, element.attrib, location)
        if not kind.text:
            text.unread.words(kind, name, loose_text(element), location)
        for child in element.iterchildren("*"):
            child_name, child_location = full_name(child), text.location(child, location)
            if child_name not in kind.children:
                text.unread.child(kind, name, child_name, child_location)
            elif (
                child_name in KINDS
                and child_name not in kind.children.ignores
                and child_name not in ("model", "include")
            ):
                waiting.append((child, child_name, child_location))
