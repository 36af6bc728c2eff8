"""The vocabulary of a URDF: what is read, what is knowingly passed over, and what is refused by its name.

By the specification (https://wiki.ros.org/urdf/XML), urdfdom 6 (versions 1.0 to 1.2), and what public files have besides: tags
of Gazebo, PyBullet, ros_control and of single makers, none of which describes the rigid bodies.
"""

from __future__ import annotations

from symgen.description.parsing.drives import ATTRIBUTES
from symgen.description.parsing.words import Kind, Words

_LOOP = "symgen does not read it from a URDF", "write the robot in TOML, where a [[loop]] closes it"
_DRAKE = (
    "it is a joint of Drake's own, which URDF has not",
    "write it as a <joint> of URDF, or the robot in TOML",
)
_MISPLACED = "it stands at a <link>, where nothing reads it", "move it into the link's <inertial>"
_PLACE = (
    "the place of a link or joint is not given so in a URDF",
    'write <origin xyz="x y z" rpy="roll pitch yaw"/>',
)
_OF_DYNAMICS = (
    "it stands at a <joint>, where nothing reads it",
    'write <dynamics damping="…" friction="…"/>',
)
_PLACES = dict.fromkeys(
    ("orientation", "pose", "position", "rotation", "rpy", "transform", "translation", "xyz"),
    _PLACE,
)
_WEIGHTS = dict.fromkeys(("mass", "inertia"), _MISPLACED)
_DRIVES = dict.fromkeys(("damping", "friction"), _OF_DYNAMICS)


def _closed(*names: str, passes: tuple[str, ...] = ()) -> Kind:
    """An element without children whose attributes decide the dynamics."""
    return Kind(Words(names, passes, closed=True), Words(closed=True))


KINDS = {
    "robot": Kind(
        Words(("name", "version")),
        Words(
            ("link", "joint", "transmission"),
            ("material", "gazebo", "sensor", "ros2_control"),
            refused={
                "loop": (f"a <loop> of URDF+ closes a kinematic loop, and {_LOOP[0]}", _LOOP[1]),
                "loop_joint": (f"a <loop_joint> closes a kinematic loop, and {_LOOP[0]}", _LOOP[1]),
                "constraint": (
                    f"a <constraint> of URDF+ closes a kinematic loop, and {_LOOP[0]}",
                    _LOOP[1],
                ),
                "coupling": (
                    f"a <coupling> of URDF+ ties joints together, and {_LOOP[0]}",
                    "write <mimic> at the joint that follows, or a [[loop]] in TOML",
                ),
                "drake:joint": _DRAKE,
            },
        ),
    ),
    "link": Kind(
        Words(("name",), ("type",), refused=_WEIGHTS | _PLACES),
        Words(
            ("inertial",),
            (
                "visual",
                "collision",
                "collision_checking",
                "contact",
                "self_collision_checking",
                "self_filter",
                "sensor",
                "surface",
            ),
            refused=_WEIGHTS | _PLACES,
        ),
    ),
    "inertial": Kind(Words(closed=True), Words(("origin", "mass", "inertia"), closed=True)),
    "origin": _closed("xyz", "rpy", "quat_xyzw"),
    "mass": _closed("value"),
    "inertia": _closed("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "joint": Kind(
        Words(("name", "type"), ("dont_collapse",), refused=_PLACES | _DRIVES),
        Words(
            ("origin", "parent", "child", "axis", "limit", "mimic", "dynamics"),
            ("calibration", "safety_controller"),
            refused=_PLACES | _DRIVES,
        ),
    ),
    "parent": _closed("link"),
    "child": _closed("link"),
    "axis": _closed("xyz", passes=("rpy",)),
    "mimic": _closed("joint", "multiplier", "offset"),
    "limit": Kind(
        Words(
            ("lower", "upper", "velocity", "effort"),
            ("acceleration", "deceleration", "jerk", "command_effort", "current", "gear_velocity"),
        )
    ),
    "dynamics": Kind(Words(ATTRIBUTES, ("D", "K", "mu_coulomb", "mu_viscous"))),
}
"""Element -> what it may hold. `K` to `mu_viscous` are the controller's numbers in the files of one maker."""
