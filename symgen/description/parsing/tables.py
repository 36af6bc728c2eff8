"""A TOML table that knows its place. Every look-up checks the type and fails with file, line and path of the key."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from symgen.description.quantities import CANONICAL_DIGITS, Place, angle, rational, short, shown
from symgen.description.snapping import Snapper
from symgen.vocabulary.poses import (
    ZERO3,
    Angle,
    Pose,
    Rotate,
    Shift,
    Slide,
    Step,
    Turn,
    Vector3,
    compose,
    pose,
)

Moments = tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]
_ZERO = Fraction(0)


class Table:
    """One table: `path` is its TOML path (`body 'link1': joint`), empty for the whole file."""

    def __init__(
        self, content: dict[str, Any], place: Place, snapper: Snapper, text: str = ""
    ) -> None:
        self.content, self.place, self.snapper, self._text = content, place, snapper, text

    def __contains__(self, key: str) -> bool:
        return key in self.content

    def at(self, key: str) -> Place:
        """The place of one key."""
        path, key = self.place.element, key if key.isprintable() and len(key) <= 40 else shown(key)
        return self.place.at(
            key if not path else f"{path}.{key}" if ": " in path else f"{path}: {key}"
        )

    def allow(self, *keys: str) -> None:
        """Refuse every key but `keys`, with the nearest suggestion."""
        for key in self.content:
            if key not in keys:
                close = difflib.get_close_matches(key, keys, n=1, cutoff=0.6)
                hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(keys)}"
                raise self.place.error(f"the key {shown(key)} is not known here", hint)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.content.get(key, default)
        if value is None:
            raise self.place.error(f"the key '{key}' is missing", f"add {key} = …")
        if not isinstance(value, str):
            raise self.at(key).error(f"{shown(value)} is not a text", "put it in quotes")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """An array of texts; none where the key is missing."""
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.at(key).error(f"{shown(value)} is no array of texts", f'write {key} = ["…"]')
        return tuple(value)

    def choice(self, key: str, known: tuple[str, ...], default: str | None) -> str:
        value = self.text(key, default)
        if value not in known:
            raise self.at(key).error(
                f"{shown(value)} is not known", f"write one of: {', '.join(known)}"
            )
        return value

    def number(self, key: str, default: Fraction | None = None) -> Fraction:
        value = self.content.get(key)
        if value is None and default is not None:
            return default
        known = short(value) if type(value) is str else None
        return self._number(self._required(key), self.at(key)) if known is None else known

    def numbers(self, key: str) -> tuple[Fraction, ...]:
        """An array of one number or more."""
        values = self._required(key)
        if not isinstance(values, list) or not values:
            raise self.at(key).error(f"{shown(values)} is no array of numbers", "write [1, 2, 3]")
        return tuple(self._number(value, self.at(f"{key}[{i}]")) for i, value in enumerate(values))

    def count(self, key: str, largest: int) -> int:
        """A whole number from 1 to `largest`; 1 when absent."""
        value = self.content.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
            raise self.at(key).error(
                f"{shown(value)} is no count", f"write a whole number from 1 to {largest}"
            )
        return value

    def angle(self, key: str) -> Angle:
        if key not in self.content:
            return Angle()
        return self._angle(self.content.get(key, 0), self.at(key))

    def coordinates(self, key: str) -> tuple[Angle, ...]:
        """One number or angle, or an array of them, as they stand."""
        value = self._required(key)
        several = value if isinstance(value, list) else [value]
        return tuple(
            angle(self._token(one, self.at(key), "a number"), self.at(key), CANONICAL_DIGITS)
            for one in several
        )

    def vector(self, key: str, default: Vector3 | None = ZERO3) -> Vector3:
        if key not in self.content and default is not None:
            return default
        return self._vector(self._required(key), self.at(key))

    def vectors(self, key: str, size: int) -> list[Vector3]:
        """An array of `size` vectors."""
        value = self._required(key)
        if not isinstance(value, list) or len(value) != size:
            raise self.at(key).error(
                f"{shown(value)} is not an array of {size} vectors",
                f"write [{', '.join(['[…]'] * size)}]",
            )
        return [self._vector(one, self.at(f"{key}[{i}]")) for i, one in enumerate(value)]

    def inline(self, key: str, size: int) -> list[Table]:
        """The `size` tables of the array under `key`; none when absent."""
        value = self.content.get(key)
        if value is None:
            return []
        if (
            not isinstance(value, list)
            or len(value) != size
            or not all(isinstance(one, dict) for one in value)
        ):
            raise self.at(key).error(
                f"{shown(value)} is not an array of {size} tables",
                f"write [{', '.join(['{…}'] * size)}]",
            )
        return [Table(one, self.at(f"{key}[{i}]"), self.snapper) for i, one in enumerate(value)]

    def moments(self, key: str) -> Moments:
        """Six moments from an array or a table of their names; zeros (a point mass) when absent."""
        value = self.content.get(key)
        if value is None:
            return _ZERO, _ZERO, _ZERO, _ZERO, _ZERO, _ZERO
        if isinstance(value, dict):
            named = Table(value, self.at(key), self.snapper)
            named.allow("xx", "xy", "xz", "yy", "yz", "zz")
            xx, yy, zz = (named.number(name) for name in ("xx", "yy", "zz"))
            xy, xz, yz = (named.number(name, _ZERO) for name in ("xy", "xz", "yz"))
            return xx, xy, xz, yy, yz, zz
        a, b, c, d, e, f = (
            self._number(v, self.at(key)) for v in self._array(value, 6, self.at(key))
        )
        return a, b, c, d, e, f

    def pose(self, position: str = "xyz") -> Pose:
        """The displacement by `position` and `rpy`, or by `steps`."""
        if "steps" not in self.content:
            angles = self.content.get("rpy", [0, 0, 0])
            roll, pitch, yaw = (
                self._angle(v, self.at("rpy")) for v in self._array(angles, 3, self.at("rpy"))
            )
            return pose(self.vector(position), (roll, pitch, yaw))
        for key in (position, "rpy"):
            if key in self.content:
                raise self.at(key).error(
                    "it stands beside steps",
                    f"write the displacement as {position} and rpy, or as steps",
                )
        return self.steps("steps")

    def steps(self, key: str) -> Pose:
        """An array of {shift}, {turn, axis}, {quaternion} and {slide, axis}; the identity when absent."""
        value = self.content.get(key, [])
        if not isinstance(value, list):
            raise self.at(key).error(
                f"{shown(value)} is not an array", "write [{shift = […]}, {turn = …, axis = […]}]"
            )
        return compose(tuple(self._step(v, self.at(f"{key}[{i}]")) for i, v in enumerate(value)))

    def _step(self, value: Any, place: Place) -> Step:
        if isinstance(value, dict) and set(value) == {"shift"}:
            return Shift(self._vector(value["shift"], place))
        if isinstance(value, dict) and set(value) == {"quaternion"}:
            tokens = [
                self._token(v, place, "a number")
                for v in self._array(value["quaternion"], 4, place)
            ]
            return Rotate(self.snapper.quaternion(tokens, place, rational))
        for kind in ("turn", "slide"):
            if isinstance(value, dict) and set(value) == {kind, "axis"}:
                axis = self._vector(value["axis"], place)
                if not any(axis):
                    raise place.error("the axis is zero", "give it a direction")
                if kind == "turn":
                    return Turn(axis, self._angle(value["turn"], place))
                return Slide(axis, self._number(value["slide"], place))
        raise place.error(
            f"{shown(value)} is not a step",
            "write {shift = […]}, {turn = …, axis = […]}, {quaternion = [w, x, y, z]} or {slide = …, axis = […]}",
        )

    def table(self, key: str) -> Table:
        """The table under `key`; an empty one when absent."""
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            raise self.at(key).error(f"{shown(value)} is not a table", "write { key = value, … }")
        return Table(value, self.at(key), self.snapper)

    def tables(self, key: str) -> list[Table]:
        """The array of tables under `key`; none when absent. Their places name them, with the line when it can be told."""
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            raise self.at(key).error(
                f"{shown(value)} is not a list of tables", f"write [[{key}]] above each"
            )
        lines = list(self._lines(key))
        found = []
        for index, content in enumerate(value):
            name = content.get("name", content.get("link"))
            label = f"{key} {shown(name)}" if isinstance(name, str) else f"{key}[{index}]"
            outer = self.place.element
            place = self.place.at(
                f"{outer}: {label}" if outer else label,
                lines[index] if len(lines) == len(value) else None,
            )
            found.append(Table(content, place, self.snapper))
        return found

    def entries(self, key: str) -> list[tuple[str, Fraction]]:
        """The names and numbers of a table of the writer's own keys."""
        table = self.table(key)
        return [(name, table.number(name)) for name in table.content]

    def _lines(self, key: str) -> Iterator[int]:
        """Lines of the headers [[key]]; a multi-line string could imitate one, so a file with such strings gets none."""
        if self._text and '"""' not in self._text and "'''" not in self._text:
            for number, line in enumerate(self._text.splitlines(), start=1):
                if re.match(rf"\s*\[\[\s*{key}\s*\]\]", line):
                    yield number

    def _required(self, key: str) -> Any:
        if key not in self.content:
            raise self.place.error(f"the key '{key}' is missing", f"add {key} = …")
        return self.content[key]

    @staticmethod
    def _token(value: Any, place: Place, what: str) -> str:
        # Floats arrive as their text; an integer too long to print is cut short before Python refuses to print it.
        if isinstance(value, int) and not isinstance(value, bool):
            if value.bit_length() > 4 * CANONICAL_DIGITS:
                raise place.error(
                    f"the number has more than {CANONICAL_DIGITS} digits", "write fewer digits"
                )
            return str(value)
        if isinstance(value, str):
            return value
        raise place.error(f"{shown(value)} is not {what}", "write a decimal")

    def _number(self, value: Any, place: Place) -> Fraction:
        return rational(self._token(value, place, "a number"), place)

    def _angle(self, value: Any, place: Place) -> Angle:
        return self.snapper.angle(self._token(value, place, "an angle"), place, CANONICAL_DIGITS)

    def _array(self, value: Any, size: int, place: Place) -> list[Any]:
        if not isinstance(value, list) or len(value) != size:
            raise place.error(
                f"{shown(value)} is not an array of {size} numbers",
                f"write {size} numbers in brackets",
            )
        return value

    def _vector(self, value: Any, place: Place) -> Vector3:
        x, y, z = (self._number(v, place) for v in self._array(value, 3, place))
        return x, y, z
