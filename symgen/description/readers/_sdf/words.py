"""The vocabulary of an SDF model: what is read, what is knowingly passed over, and what is refused by its name.

By the specification of 1.4 to 1.12 (http://sdformat.org/spec). An `include` and a model within are checked when they are opened.
"""

from __future__ import annotations

from typing import Any

from symgen.description.parsing.words import Kind, Words
from symgen.description.parsing.xml import full_name, loose_text
from symgen.description.quantities import Place
from symgen.description.readers._sdf.text import Text

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
