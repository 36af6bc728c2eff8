"""What stands in the elements of one SDF file: numbers, flags, vectors and poses, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import PurePath
from typing import Any

from symgen.description.parsing.words import Unread
from symgen.description.parsing.xml import alike, is_xacro, tag
from symgen.description.quantities import Place, number, shown
from symgen.description.snapping import Snapper
from symgen.mechanism.mechanism import Note
from symgen.support.errors import printable
from symgen.vocabulary.poses import Angle, Pose, Rotate, Shift, Vector3, compose, pose

Version = tuple[int, int]
_FULL_TURN = 6.2831854
_YES, _NO = ("true", "1"), ("false", "0")


def foreign(element: Any) -> bool:
    """Whether an element has a prefix, declared or not."""
    return element.prefix is not None or ":" in tag(element)


class Text:
    """Reads the elements of one file, of the `version` that its root says. `included`: by another file, which notes then say."""

    def __init__(
        self,
        file: str,
        version: Version,
        snapper: Snapper,
        notes: list[Note],
        included: bool = False,
    ) -> None:
        self.file, self.version, self.snapper, self.notes = file, version, snapper, notes
        self.unread = Unread("an SDF")
        self._prefix = f"{PurePath(file).name}: " if included else ""

    def note(self, kind: str, place: Place, text: str) -> None:
        """One more note about a place."""
        self.notes.append(Note(kind, f"{self._prefix}{place.short}: {text}"))

    def place(self, element: Any, inside: Place | None = None) -> Place:
        name = element.get("name")
        label = tag(element) + (f" {shown(name)}" if name is not None else "")
        return Place(
            self.file,
            element.sourceline,
            f"{inside.element}: {label}" if inside is not None else label,
        )

    def children(self, element: Any) -> Iterator[Any]:
        """Its elements, without those of other programs. DescriptionError where one of them is a macro."""
        for child in element:
            if not isinstance(child.tag, str):
                continue
            if is_xacro(child):
                name = printable(self.file)
                raise self.place(child).error(
                    "it holds xacro macros, which must be expanded first",
                    f"run: xacro {name} -o {PurePath(name).name.split('.')[0]}.expanded.sdf",
                )
            if not foreign(child):
                yield child

    def tell_unread(self) -> None:
        """Note the names that are left out."""
        self.notes += [Note(note.kind, self._prefix + note.text) for note in self.unread.notes()]

    def one(self, parent: Any, name: str, place: Place) -> Any:
        """The one child of that name, or None. DescriptionError where there are two that say different things."""
        found = [child for child in self.children(parent) if tag(child) == name]
        for other in found[1:]:
            if not alike(found[0], other):
                raise self.place(other, place).error(
                    f"<{name}> stands twice", "keep one of the two"
                )
        return found[0] if found else None

    def attribute(self, element: Any, name: str, place: Place) -> str:
        value = element.get(name)
        if value is None or not value.strip():
            raise place.error(f"the attribute '{name}' is missing", f'write {name}="…"')
        return str(value).strip()

    def word(self, parent: Any, name: str, place: Place) -> str:
        """The text of the child of that name, which must be there."""
        found = self.one(parent, name, place)
        value = (found.text or "").strip() if found is not None else ""
        if not value:
            raise place.error(f"<{name}> is missing", f"add <{name}>…</{name}>")
        return value

    def number(self, parent: Any, name: str, place: Place) -> Fraction | None:
        """The number in the child of that name; None without it."""
        found = self.one(parent, name, place)
        return (
            None if found is None else number((found.text or "").strip(), self.place(found, place))
        )

    def flag(self, parent: Any, name: str, place: Place) -> bool | None:
        """Whether the child of that name says true or false; None without it."""
        found = self.one(parent, name, place)
        return None if found is None else self._truth(found.text or "", self.place(found, place))

    def said(self, element: Any, attribute: str, place: Place) -> bool:
        """Whether an attribute says true; without it, false."""
        value = element.get(attribute)
        return value is not None and self._truth(value, place.at(f"{place.element} {attribute}"))

    def _truth(self, value: str, place: Place) -> bool:
        word = value.strip().lower()
        if word not in (*_YES, *_NO):
            raise place.error(
                f"{shown(value.strip())} is neither true nor false", "write true or false"
            )
        return word in _YES

    def vector(self, element: Any, place: Place) -> Vector3:
        x, y, z = (number(token, place) for token in self._tokens(element, 3, place))
        return x, y, z

    def pose(self, parent: Any, place: Place) -> tuple[Pose, str]:
        """(the pose in the child `pose`, the name of the frame that it is relative to): identity and '' without it."""
        found = self.one(parent, "pose", place)
        if found is None:
            return (), ""
        here = self.place(found, place)
        return self._pose(found, here), (
            found.get("relative_to") or found.get("frame") or ""
        ).strip()

    def _pose(self, element: Any, place: Place) -> Pose:
        if not (element.text or "").strip():
            return ()
        way = element.get("rotation_format", "euler_rpy")
        if way == "quat_xyzw":
            x, y, z, *turn = self._tokens(element, 7, place)
            if self.said(element, "degrees", place):
                raise place.error("degrees stand beside a quaternion", "leave out degrees")
            shift = Shift((number(x, place), number(y, place), number(z, place)))
            return compose((shift, Rotate(self.snapper.quaternion((turn[3], *turn[:3]), place))))
        if way != "euler_rpy":
            raise place.error(
                f"the rotation_format {shown(way)} is not known", "write euler_rpy or quat_xyzw"
            )
        x, y, z, *angles = self._tokens(element, 6, place)
        roll, pitch, yaw = (self._angle(token, element, place) for token in angles)
        if max(abs(float(one)) for one in (roll, pitch, yaw)) > _FULL_TURN:
            self.note(
                "warning",
                place,
                f"{shown(' '.join(angles))} exceeds a full turn: are these degrees? SDF means radians "
                'without degrees="true"',
            )
        return pose((number(x, place), number(y, place), number(z, place)), (roll, pitch, yaw))

    def _angle(self, token: str, element: Any, place: Place) -> Angle:
        value = number(token, place)  # no expression, as `pi/2` is one
        if self.said(element, "degrees", place):
            return Angle(pi=value / 180)
        return self.snapper.angle(token, place)

    def _tokens(self, element: Any, size: int, place: Place) -> list[str]:
        text = element.text or ""
        tokens = text.split()
        if "," in text:
            raise place.error(
                f"{shown(text.strip())} has commas", f"write {size} numbers separated by spaces"
            )
        if len(tokens) != size:
            raise place.error(
                f"it has {len(tokens)} numbers ({shown(' '.join(tokens))})",
                f"write {size} numbers separated by spaces",
            )
        return tokens
