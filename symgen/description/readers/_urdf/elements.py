"""Elements of a URDF: their vocabulary, and a reader of their attributes.

The vocabulary is that of the specification, of urdfdom 6 (versions 1.0 to 1.2), and of public
files: tags of Gazebo, PyBullet, ros_control and single vendors, none of which describes rigid
bodies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeVar

from symgen.description.parsing import macros
from symgen.description.parsing.words import Kind, Unread, Words
from symgen.description.parsing.xml import are_equal, full_name, is_xacro, loose_text, tag
from symgen.description.quantities import Location, number, quote
from symgen.description.snapping import Snapper
from symgen.mechanism.mechanism import Note
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import ZERO3, Angle, Pose, Rotate, Shift, Vector3, compose, pose

DYNAMICS_ATTRIBUTES = ("damping", "friction", "armature", "rotor_inertia")
"""Attributes of <dynamics> that are read."""
FULL_TURN = 6.2831854
"""2π (rad), rounded up."""
QUATERNIONS_SINCE = (1, 1)
"""First version with `quat_xyzw`."""
_VERSIONS = ((1, 0), (1, 1), (1, 2))
_VERSION = re.compile(r"\s*([0-9]{1,4})\.([0-9]{1,4})\s*", re.ASCII)
Result = TypeVar("Result")


# -- vocabulary --


_LOOP = (
    "which symgen does not read from a URDF",
    "write the robot in TOML, where a [[loop]] closes it",
)
_DRAKE = (
    "it is a joint type of Drake that URDF does not have",
    "write it as a <joint> of URDF, or the robot in TOML",
)
_MISPLACED = "it is not read directly in a <link>", "move it into the link's <inertial>"
_NO_POSE = (
    "URDF gives the pose of a link or joint only by <origin>",
    'write <origin xyz="x y z" rpy="roll pitch yaw"/>',
)
_NOT_IN_JOINT = (
    "it is not read directly in a <joint>",
    'write <dynamics damping="…" friction="…"/>',
)
_POSE_NAMES = dict.fromkeys(
    ("orientation", "pose", "position", "rotation", "rpy", "transform", "translation", "xyz"),
    _NO_POSE,
)
_INERTIA_NAMES = dict.fromkeys(("mass", "inertia"), _MISPLACED)
_DRIVE_NAMES = dict.fromkeys(("damping", "friction"), _NOT_IN_JOINT)


def _closed(*names: str, ignores: tuple[str, ...] = ()) -> Kind:
    """Return the vocabulary of an element without children whose attributes affect the dynamics.

    The reader reads `names` and ignores `ignores`; any other name is refused.
    """
    return Kind(Words(names, ignores, closed=True), Words(closed=True))


KINDS = {
    "robot": Kind(
        Words(("name", "version")),
        Words(
            ("link", "joint", "transmission"),
            ("material", "gazebo", "sensor", "ros2_control"),
            refused={
                "loop": (f"a <loop> of URDF+ closes a kinematic loop, {_LOOP[0]}", _LOOP[1]),
                "loop_joint": (f"a <loop_joint> closes a kinematic loop, {_LOOP[0]}", _LOOP[1]),
                "constraint": (
                    f"a <constraint> of URDF+ closes a kinematic loop, {_LOOP[0]}",
                    _LOOP[1],
                ),
                "coupling": (
                    f"a <coupling> of URDF+ ties joints together, {_LOOP[0]}",
                    "write <mimic> at the joint that follows, or a [[loop]] in TOML",
                ),
                "drake:joint": _DRAKE,
            },
        ),
    ),
    "link": Kind(
        Words(("name",), ("type",), refused=_INERTIA_NAMES | _POSE_NAMES),
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
            refused=_INERTIA_NAMES | _POSE_NAMES,
        ),
    ),
    "inertial": Kind(Words(closed=True), Words(("origin", "mass", "inertia"), closed=True)),
    "origin": _closed("xyz", "rpy", "quat_xyzw"),
    "mass": _closed("value"),
    "inertia": _closed("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "joint": Kind(
        Words(("name", "type"), ("dont_collapse",), refused=_POSE_NAMES | _DRIVE_NAMES),
        Words(
            ("origin", "parent", "child", "axis", "limit", "mimic", "dynamics"),
            ("calibration", "safety_controller"),
            refused=_POSE_NAMES | _DRIVE_NAMES,
        ),
    ),
    "parent": _closed("link"),
    "child": _closed("link"),
    "axis": _closed("xyz", ignores=("rpy",)),
    "mimic": _closed("joint", "multiplier", "offset"),
    "limit": Kind(
        Words(
            ("lower", "upper", "velocity", "effort"),
            ("acceleration", "deceleration", "jerk", "command_effort", "current", "gear_velocity"),
        )
    ),
    "dynamics": Kind(Words(DYNAMICS_ATTRIBUTES, ("D", "K", "mu_coulomb", "mu_viscous"))),
}
"""Vocabulary of each element. The attributes `D`, `K`, `mu_coulomb` and `mu_viscous` of <dynamics>
are controller parameters in the files of one vendor.
"""


# -- reader --


class Elements:
    """Reader of attributes with their locations; collects the notes of one file.

    `expandable`: True if the package xacro is installed to expand macros. Calls of macros that the
    text does not define are left out.
    """

    def __init__(
        self, file: str, root: Any, snapper: Snapper, notes: list[Note], expandable: bool
    ) -> None:
        self.file, self.snapper, self.expandable = file, snapper, expandable
        self.unread = Unread("a URDF")
        self._notes = notes
        self._undefined_calls = set(macros.undefined_calls(root))
        self.version = self._version(root)

    @property
    def notes(self) -> list[Note]:
        """Notes of the reader; notes on omitted names are last."""
        return [*self._notes, *self.unread.notes()]

    def macros(self, location: Location) -> Exception:
        """Return the exception to raise for macros."""
        return macros.Macros() if self.expandable else macros.expansion_error(location)

    def note(self, kind: str, location: Location, text: str) -> None:
        """Add a note about a location."""
        self._notes.append(Note(kind, f"{location.short}: {text}"))

    def read_or_note(
        self, read: Callable[[], Result], instead: Result, kind: str, consequence: str
    ) -> Result:
        """Return the result of `read`. If the text is malformed, return `instead` and add a note of
        this `kind`, with the `consequence`.

        For values that affect no result; other malformed text is refused.
        """
        try:
            return read()
        except DescriptionError as error:
            self.note(
                kind,
                Location(error.file, error.line, error.element),
                f"{error.what}; {consequence}",
            )
            return instead

    def drive_number(
        self, read: Callable[[], Fraction], neutral: Fraction
    ) -> tuple[Fraction, DescriptionError | None]:
        """Return (number, None). If the text is malformed, return (`neutral`, error) and add a
        note.

        The error is raised later if the drive is applied.
        """
        try:
            return read(), None
        except DescriptionError as error:
            self.note(
                "info",
                Location(error.file, error.line, error.element),
                f"{error.what}; it would not be applied",
            )
            return neutral, error

    def location(self, element: Any, inside: str = "") -> Location:
        """Return the location of an element; `inside` is the label of the element around it."""
        name = element.get("name")
        label = full_name(element) + (f" {quote(name)}" if name is not None else "")
        return Location(self.file, element.sourceline, f"{inside}: {label}" if inside else label)

    def check(self, element: Any, location: Location) -> None:
        """Refuse content of an element that is not read and could change the robot; note other
        content that is left out.
        """
        name = full_name(element)
        kind = KINDS[name]
        self.unread.check(kind, name, element.attrib, location)
        for child in self.children(element, location):
            if full_name(child) not in kind.children:
                self.unread.child(
                    kind,
                    name,
                    full_name(child),
                    self.location(child, location.element if name != "robot" else ""),
                )
        self.unread.words(kind, name, loose_text(element), location)

    def children(self, element: Any, location: Location) -> Iterator[Any]:
        """Yield the child elements except calls of macros that the text does not define.

        Raises Macros, or the error that refuses macros, for any other macro.
        """
        for child in element:
            if not is_xacro(child):
                yield child
            elif child in self._undefined_calls:
                self.leave_out_call(child)
            else:
                raise self.macros(self.location(child, location.element))

    def leave_out_call(self, element: Any) -> None:
        """Note that a call of a macro is left out."""
        name = tag(element).rpartition(":")[2]
        self.unread.leave_out(
            f"<xacro:{name}> calls a macro that the file does not define, and is left out",
            self.location(element),
        )

    def text(self, element: Any, attribute: str, location: Location) -> str:
        """Return an attribute; raise DescriptionError if it is missing."""
        value = element.get(attribute)
        if value is None:
            raise location.error(
                f"the attribute '{attribute}' is missing", f'write {attribute}="…"'
            )
        if "${" in value or "$(" in value:
            raise self.macros(location)
        return str(value)

    def number(self, element: Any, attribute: str, location: Location) -> Fraction:
        """Return the number of an attribute."""
        return number(
            self.text(element, attribute, location), location.at(f"{location.element} {attribute}")
        )

    def tokens(
        self, element: Any, attribute: str, location: Location, size: str = "three"
    ) -> list[str]:
        """Return the three or four numbers of an attribute as written, each a plain decimal: URDF
        has no `pi/2`.
        """
        text = self.text(element, attribute, location)
        tokens = text.split()
        if "," in text:
            raise location.error(
                f"{attribute} {quote(text)} has commas", f"write {size} numbers separated by spaces"
            )
        if len(tokens) != {"three": 3, "four": 4}[size]:
            raise location.error(
                f"{attribute} has {len(tokens)} numbers ({quote(' '.join(tokens))})",
                f"write {size} numbers separated by spaces",
            )
        for token in tokens:
            number(token, location.at(f"{location.element} {attribute}"))
        return tokens

    def vector(self, element: Any, attribute: str, location: Location) -> Vector3:
        """Return the three numbers of an attribute."""
        x, y, z = map(number, self.tokens(element, attribute, location))
        return x, y, z

    def only_child(self, parent: Any, name: str, location: Location) -> Any:
        """Return the only child of that name, or None. A second child with the same content is only
        noted.

        A second inertial, mass or inertia is refused, since it may be meant as an addition.
        """
        named = [child for child in self.children(parent, location) if full_name(child) == name]
        for duplicate in named[1:]:
            duplicate_location = location.at(location.element, duplicate.sourceline)
            if name in ("inertial", "mass", "inertia") or not are_equal(named[0], duplicate):
                raise duplicate_location.error(f"<{name}> appears twice", "keep one of the two")
            self.note(
                "info",
                duplicate_location,
                f"<{name}> appears twice with the same content; read once",
            )
        return named[0] if named else None

    def first_child(self, parent: Any, name: str, location: Location) -> Any:
        """Return the first child of that name, or None; later ones are noted if they differ.

        Other readers do the same. For elements that affect no result.
        """
        named = [child for child in self.children(parent, location) if full_name(child) == name]
        if any(not are_equal(named[0], duplicate) for duplicate in named[1:]):
            self.note(
                "warning",
                location.at(location.element, named[1].sourceline),
                f"<{name}> appears twice; the first one is read",
            )
        return named[0] if named else None

    def origin(self, parent: Any, location: Location) -> Pose:
        """Return the pose of `origin`: a translation, and a rotation by `rpy` or, from version 1.1,
        by `quat_xyzw`.
        """
        element = self.only_child(parent, "origin", location)
        if element is None:
            return ()
        origin_location = location.at(f"{location.element}: origin", element.sourceline)
        self.check(element, origin_location)
        xyz = (
            self.vector(element, "xyz", origin_location)
            if element.get("xyz") is not None
            else ZERO3
        )
        if element.get("quat_xyzw") is not None:
            if self.version < QUATERNIONS_SINCE:
                self.unread.leave_out(
                    "quat_xyzw needs URDF version 1.1 and is left out",
                    origin_location,
                    'write <robot version="1.1" …> to use it',
                )
            elif element.get("rpy") is not None:
                raise origin_location.error("it has both rpy and quat_xyzw", "keep one of the two")
            else:
                return self._quaternion_pose(xyz, element, origin_location)
        rpy = (Angle(), Angle(), Angle())
        if element.get("rpy") is not None:
            roll, pitch, yaw = (
                self.snapper.angle(t, origin_location.at(f"{origin_location.element} rpy"))
                for t in self.tokens(element, "rpy", origin_location)
            )
            rpy = roll, pitch, yaw
            if max(abs(float(a)) for a in rpy) > FULL_TURN:
                self.note(
                    "warning",
                    origin_location,
                    f"rpy {quote(element.get('rpy'))} exceeds a full turn: URDF uses radians, not"
                    " degrees",
                )
        return pose(xyz, rpy)

    def _quaternion_pose(self, xyz: Vector3, element: Any, location: Location) -> Pose:
        """Return a translation and the rotation of a quaternion of any length. A zero quaternion is
        no rotation, as in urdfdom.
        """
        x, y, z, w = self.tokens(element, "quat_xyzw", location, "four")
        if not any(map(number, (x, y, z, w))):
            self.note("warning", location, "its quat_xyzw is zero and is read as no rotation")
            return compose((Shift(xyz),))
        return compose(
            (
                Shift(xyz),
                Rotate(
                    self.snapper.quaternion(
                        (w, x, y, z), location.at(f"{location.element} quat_xyzw")
                    )
                ),
            )
        )

    def _version(self, root: Any) -> tuple[int, int]:
        """Return the declared version; 1.0 without one. Raises DescriptionError for an unknown
        version.
        """
        declared = root.get("version")
        if declared is None:
            return _VERSIONS[0]
        match = _VERSION.fullmatch(declared)
        version = (int(match[1]), int(match[2])) if match is not None else None
        if version not in _VERSIONS:
            versions = ", ".join(f"{major}.{minor}" for major, minor in _VERSIONS)
            raise self.location(root).error(
                f"{quote(declared)} is not a version of URDF (versions: {versions})",
                "write one of them, or omit the version for 1.0",
            )
        return version
