"""The elements of one URDF: their attributes as numbers and words with the place of each, and the notes about all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeVar

from symgen.description.parsing import macros as _macros
from symgen.description.parsing.words import Unread
from symgen.description.parsing.xml import alike, full_name, is_xacro, loose_text, tag
from symgen.description.quantities import Place, number, shown
from symgen.description.readers._urdf.words import KINDS
from symgen.description.snapping import Snapper
from symgen.mechanism.mechanism import Note
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import ZERO3, Angle, Pose, Rotate, Shift, Vector3, compose, pose

FULL_TURN = 6.2831854
QUATERNIONS_SINCE = (1, 1)
"""The version from which `quat_xyzw` counts."""
_VERSIONS = ((1, 0), (1, 1), (1, 2))
_VERSION = re.compile(r"\s*([0-9]{1,4})\.([0-9]{1,4})\s*", re.ASCII)
Read = TypeVar("Read")


class Elements:
    """Reads attributes with their place; collects notes and snaps of one file.

    `expandable`: True if the package xacro is there to expand macros. Calls of macros that the text does not define are left out.
    """

    def __init__(
        self, file: str, root: Any, snapper: Snapper, notes: list[Note], expandable: bool
    ) -> None:
        self.file, self.snapper, self.expandable = file, snapper, expandable
        self.unread = Unread("a URDF")
        self._notes = notes
        self._left_out = set(_macros.undefined_calls(root))
        self.version = self._version(root)

    @property
    def notes(self) -> list[Note]:
        """All notes, those on what is left out last."""
        return [*self._notes, *self.unread.notes()]

    def macros(self, place: Place) -> Exception:
        """Return the exception to raise where macros stand."""
        return _macros.Macros() if self.expandable else _macros.unexpanded(place)

    def note(self, kind: str, place: Place, text: str) -> None:
        """One more note about a place."""
        self._notes.append(Note(kind, f"{place.short}: {text}"))

    def spare(self, read: Callable[[], Read], instead: Read, kind: str, consequence: str) -> Read:
        """Return what `read` gives, or `instead` and a note where the text is malformed. No answer depends on such numbers."""
        try:
            return read()
        except DescriptionError as error:
            self.note(
                kind, Place(error.file, error.line, error.element), f"{error.what}; {consequence}"
            )
            return instead

    def of_drive(
        self, read: Callable[[], Fraction], nothing: Fraction
    ) -> tuple[Fraction, DescriptionError | None]:
        """A number of a drive, or `nothing` and what is wrong with it: a refusal where it is to be applied, else a note."""
        try:
            return read(), None
        except DescriptionError as error:
            self.note(
                "info",
                Place(error.file, error.line, error.element),
                f"{error.what}; it would not be applied",
            )
            return nothing, error

    def place(self, element: Any, inside: str = "") -> Place:
        name = element.get("name")
        label = full_name(element) + (f" {shown(name)}" if name is not None else "")
        return Place(self.file, element.sourceline, f"{inside}: {label}" if inside else label)

    def check(self, element: Any, place: Place) -> None:
        """Refuse what an element holds that is not read and would change the robot; note what else is left out."""
        name = full_name(element)
        kind = KINDS[name]
        self.unread.check(kind, name, element.attrib, place)
        for child in self.children(element, place):
            if full_name(child) not in kind.children:
                self.unread.child(
                    kind,
                    name,
                    full_name(child),
                    self.place(child, place.element if name != "robot" else ""),
                )
        self.unread.words(kind, name, loose_text(element), place)

    def children(self, element: Any, place: Place) -> Iterator[Any]:
        """Yield the elements inside, without undefined calls of macros. Raises Macros, or a refusal, at any other macro."""
        for child in element:
            if not isinstance(child.tag, str):
                continue
            if not is_xacro(child):
                yield child
            elif child in self._left_out:
                self.leave_out_call(child)
            else:
                raise self.macros(self.place(child, place.element))

    def leave_out_call(self, element: Any) -> None:
        """Note that a call of a macro is left out."""
        name = tag(element).rpartition(":")[2]
        self.unread.leave_out(
            f"<xacro:{name}> calls a macro that the file does not define, and is left out",
            self.place(element),
        )

    def text(self, element: Any, attribute: str, place: Place) -> str:
        value = element.get(attribute)
        if value is None:
            raise place.error(f"the attribute '{attribute}' is missing", f'write {attribute}="…"')
        if "${" in value or "$(" in value:
            raise self.macros(place)
        return str(value)

    def number(self, element: Any, attribute: str, place: Place) -> Fraction:
        return number(
            self.text(element, attribute, place), place.at(f"{place.element} {attribute}")
        )

    def tokens(self, element: Any, attribute: str, place: Place, size: str = "three") -> list[str]:
        """The three or four numbers of an attribute as they are written, each a plain decimal: URDF knows no `pi/2`."""
        text = self.text(element, attribute, place)
        tokens = text.split()
        if "," in text:
            raise place.error(
                f"{attribute} {shown(text)} has commas", f"write {size} numbers separated by spaces"
            )
        if len(tokens) != {"three": 3, "four": 4}[size]:
            raise place.error(
                f"{attribute} has {len(tokens)} numbers ({shown(' '.join(tokens))})",
                f"write {size} numbers separated by spaces",
            )
        for token in tokens:
            number(token, place.at(f"{place.element} {attribute}"))
        return tokens

    def vector(self, element: Any, attribute: str, place: Place) -> Vector3:
        x, y, z = map(number, self.tokens(element, attribute, place))
        return x, y, z

    def one(self, parent: Any, name: str, place: Place) -> Any:
        """The one child of that name, or None. A second one with the same content is a remark.

        A second inertial, mass or inertia is refused, since they may be meant to add.
        """
        named = [child for child in self.children(parent, place) if full_name(child) == name]
        for again in named[1:]:
            here = place.at(place.element, again.sourceline)
            if name in ("inertial", "mass", "inertia") or not alike(named[0], again):
                raise here.error(f"<{name}> stands twice", "keep one of the two")
            self.note("info", here, f"<{name}> stands twice and says the same; read once")
        return named[0] if named else None

    def first(self, parent: Any, name: str, place: Place) -> Any:
        """The first child of that name, as the field's readers take it. This is for elements that no answer depends on."""
        named = [child for child in self.children(parent, place) if full_name(child) == name]
        if any(not alike(named[0], again) for again in named[1:]):
            self.note(
                "warning",
                place.at(place.element, named[1].sourceline),
                f"<{name}> stands twice; the first one is read",
            )
        return named[0] if named else None

    def origin(self, parent: Any, place: Place) -> Pose:
        """The pose that `origin` says: a shift, and a turn by `rpy` or, from version 1.1, by `quat_xyzw`."""
        element = self.one(parent, "origin", place)
        if element is None:
            return ()
        here = place.at(f"{place.element}: origin", element.sourceline)
        self.check(element, here)
        xyz = self.vector(element, "xyz", here) if element.get("xyz") is not None else ZERO3
        if element.get("quat_xyzw") is not None:
            if self.version < QUATERNIONS_SINCE:
                self.unread.leave_out(
                    "quat_xyzw counts from version 1.1 of URDF and is left out",
                    here,
                    'write <robot version="1.1" …> if it is meant',
                )
            elif element.get("rpy") is not None:
                raise here.error("it is turned by rpy and by quat_xyzw", "keep one of the two")
            else:
                return self._turned(xyz, element, here)
        rpy = (Angle(), Angle(), Angle())
        if element.get("rpy") is not None:
            roll, pitch, yaw = (
                self.snapper.angle(t, here.at(f"{here.element} rpy"))
                for t in self.tokens(element, "rpy", here)
            )
            rpy = roll, pitch, yaw
            if max(abs(float(a)) for a in rpy) > FULL_TURN:
                self.note(
                    "warning",
                    here,
                    f"rpy {shown(element.get('rpy'))} exceeds a full turn: are these degrees? "
                    "URDF means radians",
                )
        return pose(xyz, rpy)

    def _turned(self, xyz: Vector3, element: Any, place: Place) -> Pose:
        """A shift, and the turn of a quaternion of any length. One of length zero is no turn, as in urdfdom."""
        x, y, z, w = self.tokens(element, "quat_xyzw", place, "four")
        if not any(map(number, (x, y, z, w))):
            self.note("warning", place, "its quat_xyzw is zero, and is read as no turn")
            return compose((Shift(xyz),))
        return compose(
            (
                Shift(xyz),
                Rotate(
                    self.snapper.quaternion((w, x, y, z), place.at(f"{place.element} quat_xyzw"))
                ),
            )
        )

    def _version(self, root: Any) -> tuple[int, int]:
        """The version that the root says; 1.0 without one. DescriptionError: there is no such version."""
        said = root.get("version")
        if said is None:
            return _VERSIONS[0]
        match = _VERSION.fullmatch(said)
        version = (int(match[1]), int(match[2])) if match is not None else None
        if version not in _VERSIONS:
            known = ", ".join(f"{major}.{minor}" for major, minor in _VERSIONS)
            raise self.place(root).error(
                f"{shown(said)} is no version of URDF (versions: {known})",
                "write one of them, or leave it out, which means 1.0",
            )
        return version
