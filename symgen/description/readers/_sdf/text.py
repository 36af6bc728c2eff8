"""Numbers, flags, vectors and poses in the elements of one SDF file, with their locations."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import PurePath
from typing import Any

from symgen.description.parsing.words import Unread
from symgen.description.parsing.xml import are_equal, is_xacro, tag
from symgen.description.quantities import Location, number, quote
from symgen.description.snapping import Snapper
from symgen.mechanism.mechanism import Note
from symgen.support.errors import printable
from symgen.vocabulary.poses import Angle, Pose, Rotate, Shift, Vector3, compose, pose

Version = tuple[int, int]
_FULL_TURN = 6.2831854
_YES, _NO = ("true", "1"), ("false", "0")


def has_prefix(element: Any) -> bool:
    """True if an element has a prefix, declared or not."""
    return element.prefix is not None or ":" in tag(element)


class Text:
    """Reader of the elements of one file of this `version`. Notes on an `included` file name that
    file.
    """

    def __init__(
        self,
        file: str,
        version: Version,
        snapper: Snapper,
        notes: list[Note],
        included: bool,
    ) -> None:
        self.file, self.version, self.snapper, self.notes = file, version, snapper, notes
        self.unread = Unread("an SDF")
        self._prefix = f"{PurePath(file).name}: " if included else ""

    def note(self, kind: str, location: Location, text: str) -> None:
        """Add a note about a location."""
        self.notes.append(Note(kind, f"{self._prefix}{location.short}: {text}"))

    def location(self, element: Any, inside: Location | None = None) -> Location:
        """Return the location of an element."""
        name = element.get("name")
        label = tag(element) + (f" {quote(name)}" if name is not None else "")
        return Location(
            self.file,
            element.sourceline,
            f"{inside.element}: {label}" if inside is not None else label,
        )

    def children(self, element: Any) -> Iterator[Any]:
        """Yield the child elements, without those of other programs. Raises DescriptionError for a
        macro.
        """
        for child in element:
            if is_xacro(child):
                name = printable(self.file)
                raise self.location(child).error(
                    "it contains xacro macros, which must be expanded first",
                    f"run: xacro {name} -o {PurePath(name).name.split('.')[0]}.expanded.sdf",
                )
            if not has_prefix(child):
                yield child

    def note_unread(self) -> None:
        """Note the names that are left out."""
        self.notes += [Note(note.kind, self._prefix + note.text) for note in self.unread.notes()]

    def only_child(self, parent: Any, name: str, location: Location) -> Any:
        """Return the only child of that name, or None. Raises DescriptionError for two different
        children.
        """
        named = [child for child in self.children(parent) if tag(child) == name]
        for duplicate in named[1:]:
            if not are_equal(named[0], duplicate):
                raise self.location(duplicate, location).error(
                    f"<{name}> appears twice", "keep one of the two"
                )
        return named[0] if named else None

    def attribute(self, element: Any, name: str, location: Location) -> str:
        """Return an attribute; raise DescriptionError if it is missing."""
        value = element.get(name)
        if value is None or not value.strip():
            raise location.error(f"the attribute '{name}' is missing", f'write {name}="…"')
        return str(value).strip()

    def word(self, parent: Any, name: str, location: Location) -> str:
        """Return the text of a required child."""
        child = self.only_child(parent, name, location)
        value = (child.text or "").strip() if child is not None else ""
        if not value:
            raise location.error(f"<{name}> is missing", f"add <{name}>…</{name}>")
        return value

    def number(self, parent: Any, name: str, location: Location) -> Fraction | None:
        """Return the number in a child; None without the child."""
        child = self.only_child(parent, name, location)
        return (
            None
            if child is None
            else number((child.text or "").strip(), self.location(child, location))
        )

    def flag(self, parent: Any, name: str, location: Location) -> bool | None:
        """Return the truth value in a child; None without the child."""
        child = self.only_child(parent, name, location)
        return (
            None
            if child is None
            else self._boolean(child.text or "", self.location(child, location))
        )

    def true_attribute(self, element: Any, attribute: str, location: Location) -> bool:
        """Return the truth value of an attribute; False without it."""
        value = element.get(attribute)
        return value is not None and self._boolean(
            value, location.at(f"{location.element} {attribute}")
        )

    def _boolean(self, value: str, location: Location) -> bool:
        word = value.strip().lower()
        if word not in (*_YES, *_NO):
            raise location.error(
                f"{quote(value.strip())} is neither true nor false", "write true or false"
            )
        return word in _YES

    def vector(self, element: Any, location: Location) -> Vector3:
        """Return three numbers."""
        x, y, z = (number(token, location) for token in self._tokens(element, 3, location))
        return x, y, z

    def pose(self, parent: Any, location: Location) -> tuple[Pose, str]:
        """Return (pose, name of its reference frame) of the child `pose`: the identity and ""
        without it.
        """
        child = self.only_child(parent, "pose", location)
        if child is None:
            return (), ""
        child_location = self.location(child, location)
        return self._pose(child, child_location), (
            child.get("relative_to") or child.get("frame") or ""
        ).strip()

    def _pose(self, element: Any, location: Location) -> Pose:
        if not (element.text or "").strip():
            return ()
        rotation_format = element.get("rotation_format", "euler_rpy")
        if rotation_format == "quat_xyzw":
            x, y, z, *quaternion = self._tokens(element, 7, location)
            if self.true_attribute(element, "degrees", location):
                raise location.error("degrees conflicts with a quaternion", "remove degrees")
            shift = Shift((number(x, location), number(y, location), number(z, location)))
            return compose(
                (shift, Rotate(self.snapper.quaternion((quaternion[3], *quaternion[:3]), location)))
            )
        if rotation_format != "euler_rpy":
            raise location.error(
                f"the rotation_format {quote(rotation_format)} is not known",
                "write euler_rpy or quat_xyzw",
            )
        x, y, z, *angles = self._tokens(element, 6, location)
        roll, pitch, yaw = (self._angle(token, element, location) for token in angles)
        if max(abs(float(angle)) for angle in (roll, pitch, yaw)) > _FULL_TURN:
            self.note(
                "warning",
                location,
                f"{quote(' '.join(angles))} exceeds a full turn: SDF uses radians, not degrees,"
                ' without degrees="true"',
            )
        return pose(
            (number(x, location), number(y, location), number(z, location)), (roll, pitch, yaw)
        )

    def _angle(self, token: str, element: Any, location: Location) -> Angle:
        value = number(token, location)  # expressions such as `pi/2` are refused
        if self.true_attribute(element, "degrees", location):
            return Angle(pi=value / 180)
        return self.snapper.angle(token, location)

    def _tokens(self, element: Any, size: int, location: Location) -> list[str]:
        text = element.text or ""
        tokens = text.split()
        if "," in text:
            raise location.error(
                f"{quote(text.strip())} has commas", f"write {size} numbers separated by spaces"
            )
        if len(tokens) != size:
            raise location.error(
                f"it has {len(tokens)} numbers ({quote(' '.join(tokens))})",
                f"write {size} numbers separated by spaces",
            )
        return tokens
