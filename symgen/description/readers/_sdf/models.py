"""The models of an SDF file, with those inside them and those that they include, as frames that know where they stand.

An element is checked against the vocabulary first. Then every name is declared, and every pose finds what it is relative to:
a frame may be relative to one that stands below it.
"""

from __future__ import annotations

from typing import Any

from symgen.description.parsing.words import Kind, Words
from symgen.description.parsing.xml import full_name, loose_text, tag
from symgen.description.quantities import Place
from symgen.description.readers._sdf.files import Files
from symgen.description.readers._sdf.frames import WORLD, Frame, Scope, Ways
from symgen.description.readers._sdf.text import Text
from symgen.description.tree import refuse_many
from symgen.vocabulary.poses import compose, inverse

DEEPEST = 50
"""Models inside models."""
_LISTED = {"link": "links", "joint": "joints", "frame": "extra"}


class Models:
    """Makes scopes of elements. Nothing is read of an element but its names, its pose and what it is attached to."""

    def __init__(self, files: Files, ways: Ways, ground: Frame) -> None:
        self.files, self.ways, self.ground = files, ways, ground

    def world(self, element: Any, text: Text) -> Scope:
        """A world, or a file without one: its joints and frames, none of its models yet."""
        check(element, text, text.place(element), "world" if tag(element) == "world" else "sdf")
        scope = Scope(text, element, self.ground, frames={WORLD: self.ground})
        self._declare(scope, ("joint", "frame"))
        return scope

    def model(
        self, element: Any, text: Text, name: str = "", prefix: str = "", depth: int = 0
    ) -> Scope:
        """A model with all in it, declared but not placed. `prefix` stands before the names in it."""
        place = text.place(element)
        if depth > DEEPEST:
            raise place.error(
                f"models stand in models more than {DEEPEST} deep", "write the model flat"
            )
        frame = Frame(name or text.attribute(element, "name", place), "model", place)
        scope = Scope(
            text,
            element,
            frame,
            prefix,
            placed=text.pose(element, place),
            placement=(element.get("placement_frame") or "").strip(),
        )
        self._refuse_static(element, text)
        check(element, text, place, "model")
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
        """The model that an `include` names, under the name and at the place that it gives. `opened`: of a world, read before."""
        place = text.place(element)
        check(element, text, place)
        merged = text.said(element, "merge", place)
        if merged and opened is not None:
            raise place.error("a model that is merged into a world is not read", "leave merge out")
        for child in element:
            if isinstance(child.tag, str) and tag(child).rpartition(":")[2] == "params":
                raise text.place(child, place).error(
                    "it changes the model that is included, and is not read",
                    "write the changed model out",
                )
        found, reads = opened or self.files.included(element, text, place, depth)
        named = text.one(element, "name", place)
        name = (named.text or "").strip() if named is not None else ""
        name = name or reads.attribute(found, "name", reads.place(found))
        scope = self.model(
            found, reads, name, "" if opened else prefix if merged else f"{prefix}{name}::", depth
        )
        scope.merged = merged
        self._refuse_static(element, text)
        if text.one(element, "pose", place) is not None:
            scope.placed = text.pose(element, place)
        placement = text.one(element, "placement_frame", place)
        if placement is not None:
            scope.placement = (placement.text or "").strip()
        return scope

    def settle(self, scope: Scope, around: Scope) -> None:
        """Find what everything in a model is relative to and attached to, and place it in the scope around."""
        for inner in scope.within:
            self.settle(inner, scope)
        for frame, element in scope.links:
            self._place(scope, frame, element, scope.frame)
        for frame, element in scope.extra:
            self._settle_extra(scope, frame, element)
        for frame, element in scope.joints:
            self._settle_joint(scope, frame, element)
        pose, relative = scope.placed
        scope.frame.base = around.find(relative, scope.frame.place) if relative else around.frame
        if scope.placement:
            seat = scope.find(scope.placement, scope.frame.place)
            pose = compose(pose, inverse(self.ways.inside(scope.frame, seat)))
        scope.frame.pose = pose

    def settle_world(self, scope: Scope) -> None:
        """The same of what stands in a world."""
        for frame, element in scope.extra:
            self._settle_extra(scope, frame, element)
        for inner in scope.inner.values():
            self.settle(inner, scope)
        for frame, element in scope.joints:
            self._settle_joint(scope, frame, element)

    def end(self, scope: Scope, frame: Frame, element: Any, role: str) -> Frame:
        """The frame that a joint has as its parent or child; the world is no frame of a model, unless a link is called so."""
        name = scope.text.word(element, role, frame.place)
        if name == WORLD and role == "parent" and WORLD not in scope.frames:
            return self.ground
        return scope.find(name, frame.place.at(f"{frame.place.element}: {role}"))

    def _declare(self, scope: Scope, kinds: tuple[str, ...]) -> None:
        for child in scope.text.children(scope.element):
            kind = tag(child)
            if kind not in kinds:
                continue
            place = scope.text.place(child)
            name = scope.text.attribute(child, "name", place)
            frame = Frame(f"{scope.prefix}{name}", kind, place)
            getattr(scope, _LISTED[kind]).append((frame, child))
            scope.frames.setdefault(name, frame)
        for listed in (scope.links, scope.joints, scope.extra):
            refuse_many(len(listed), "links, joints or frames", scope.frame.place)

    def _refuse_static(self, element: Any, text: Text) -> None:
        place = text.place(element)
        if text.flag(element, "static", place):
            raise place.error(
                "it is static, so that nothing in it moves",
                "take <static> out, or give another model",
            )

    def _add(self, scope: Scope, inner: Scope) -> None:
        """A model within: under its name, or what is in it under the names that it has there."""
        if inner.merged:
            for name, frame in inner.frames.items():
                scope.frames.setdefault(name, frame)
            for within in inner.inner.values():
                self._named(scope, within)
            scope.merges.append(inner)
        else:
            self._named(scope, inner)
            scope.frames.setdefault(inner.frame.name, inner.frame)

    def _named(self, scope: Scope, inner: Scope) -> None:
        name = inner.frame.name
        if name in scope.inner:
            raise inner.frame.place.error(
                "this name is already a model here", "give each model its own name"
            )
        scope.inner[name] = inner

    def _choose_canonical(self, scope: Scope) -> None:
        named = (scope.element.get("canonical_link") or "").strip()
        if named:
            scope.frame.on = scope.find(named, scope.frame.place)
        elif scope.links:
            scope.frame.on = scope.links[0][0]
        else:
            scope.frame.on = next((inner.frame for inner in scope.within), None)

    def _place(self, scope: Scope, frame: Frame, element: Any, default: Frame) -> None:
        frame.pose, relative = scope.text.pose(element, frame.place)
        frame.base = (
            scope.find(relative, frame.place.at(f"{frame.place.element}: pose"))
            if relative
            else default
        )

    def _settle_joint(self, scope: Scope, frame: Frame, element: Any) -> None:
        frame.on = self.end(scope, frame, element, "child")
        self._place(scope, frame, element, frame.on)

    def _settle_extra(self, scope: Scope, frame: Frame, element: Any) -> None:
        attached = (element.get("attached_to") or "").strip()
        frame.on = scope.find(attached, frame.place) if attached else scope.frame
        self._place(scope, frame, element, frame.on)


# -- vocabulary --
#
# By the specification of 1.4 to 1.12 (http://sdformat.org/spec): what is read, what is knowingly left out, and what is refused by
# its name. An `include` and a model within are checked when they are opened.

_IN_AXIS = "it stands in a <joint>, where nothing reads it", "move it into the joint's <axis>"
_IN_INERTIAL = "it stands in a <link>, where nothing reads it", "move it into the link's <inertial>"
_ORIGIN = "it is a word of URDF and of SDF before 1.4", "write <pose>x y z roll pitch yaw</pose>"
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_NONE = Words(closed=True)
_VALUE = Kind(_NONE, _NONE, text=True)
"""An element that is one number, word or flag."""
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


def _closed(*children: str, attributes: tuple[str, ...] = (), passes: tuple[str, ...] = ()) -> Kind:
    """An element that decides the dynamics."""
    return Kind(Words(attributes, closed=True), Words(children, passes, closed=True))


_AXIS = _closed(
    "xyz", "limit", "dynamics", "mimic", "use_parent_model_frame", passes=("initial_position",)
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
        passes=("auto_inertia_params", "density", "frame"),
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
    "xyz": Kind(Words(("expressed_in",), closed=True), _NONE, text=True),
    "limit": Kind(
        Words(), Words(("lower", "upper", "effort", "velocity"), ("dissipation", "stiffness"))
    ),
    "dynamics": _closed("damping", "friction", "spring_stiffness", "spring_reference"),
    "mimic": _closed("multiplier", "offset", "reference", attributes=("joint", "axis")),
    "frame": _closed("pose", attributes=("name", "attached_to")),
    "pose": Kind(
        Words(("relative_to", "frame", "rotation_format", "degrees"), closed=True), _NONE, text=True
    ),
    **dict.fromkeys(_VALUES, _VALUE),
}
"""Element -> what it may hold. What is inside any other element is not looked at."""


def check(element: Any, text: Text, place: Place, name: str = "") -> None:
    """Refuse the first name inside an element that would change the robot; note those that are left out.

    `name`: the kind of the element, where its tag is another one.
    """
    waiting = [(element, name or full_name(element), place)]
    while waiting:
        element, name, place = waiting.pop()
        kind = KINDS[name]
        text.unread.check(kind, name, element.attrib, place)
        if not kind.text:
            text.unread.words(kind, name, loose_text(element), place)
        for child in element.iterchildren("*"):
            of, here = full_name(child), text.place(child, place)
            if of not in kind.children:
                text.unread.child(kind, name, of, here)
            elif of in KINDS and of not in kind.children.passes and of not in ("model", "include"):
                waiting.append((child, of, here))
