"""A TOML table with its location. Every look-up checks the type; an error names file, line and path
of the key.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from symgen.description.quantities import (
    CANONICAL_DIGITS,
    Location,
    angle,
    quote,
    rational,
    short_decimal,
)
from symgen.description.snapping import Snapper
from symgen.support.errors import DescriptionError
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
    """One table; `location.element` is its TOML path (`body 'link1': joint`), empty for the whole
    file.
    """

    def __init__(
        self, content: dict[str, Any], location: Location, snapper: Snapper, text: str = ""
    ) -> None:
        self.content, self.location, self.snapper, self._text = content, location, snapper, text

    def __contains__(self, key: str) -> bool:
        return key in self.content

    def at(self, key: str) -> Location:
        """Return the location of one key."""
        path, key = (
            self.location.element,
            key if key.isprintable() and len(key) <= 40 else quote(key),
        )
        return self.location.at(
            key if not path else f"{path}.{key}" if ": " in path else f"{path}: {key}"
        )

    def allow(self, *keys: str) -> None:
        """Refuse every key except `keys`, with the nearest suggestion."""
        for key in self.content:
            if key not in keys:
                close = difflib.get_close_matches(key, keys)
                hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(keys)}"
                raise self.location.error(f"the key {quote(key)} is not known here", hint)

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string; `default` if the key is missing."""
        value = self.content.get(key, default)
        if value is None:
            raise self._missing(key, f"{key} = …")
        if not isinstance(value, str):
            raise self.at(key).error(f"{quote(value)} is not a string", "put it in quotes")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return an array of strings; empty if the key is missing."""
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self.at(key).error(
                f"{quote(value)} is not an array of strings", f'write {key} = ["…"]'
            )
        return tuple(value)

    def choice(self, key: str, choices: tuple[str, ...], default: str | None) -> str:
        """Return a string that is one of `choices`; `default` if the key is missing."""
        if default is None and key not in self.content:
            alternatives = " or ".join(f'{key} = "{choice}"' for choice in choices)
            raise self._missing(key, alternatives)
        value = self.text(key, default)
        if value not in choices:
            raise self.at(key).error(
                f"{quote(value)} is not known", f"write one of: {', '.join(choices)}"
            )
        return value

    def number(self, key: str, default: Fraction | None = None) -> Fraction:
        """Return a number; `default` if the key is missing."""
        value = self.content.get(key)
        if value is None and default is not None:
            return default
        cached = short_decimal(value) if type(value) is str else None
        return self._number(self._required(key), self.at(key)) if cached is None else cached

    def numbers(self, key: str) -> tuple[Fraction, ...]:
        """Return an array of one or more numbers."""
        values = self._required(key)
        if not isinstance(values, list) or not values:
            raise self.at(key).error(
                f"{quote(values)} is not an array of numbers", "write [1, 2, 3]"
            )
        return tuple(self._number(value, self.at(f"{key}[{i}]")) for i, value in enumerate(values))

    def count(self, key: str, largest: int) -> int:
        """Return an integer from 1 to `largest`; 1 if the key is missing."""
        value = self.content.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
            raise self.at(key).error(
                f"{quote(value)} is not a count", f"write a whole number from 1 to {largest}"
            )
        return value

    def angle(self, key: str) -> Angle:
        """Return an angle in rad; 0 if the key is missing."""
        if key not in self.content:
            return Angle()
        return self._angle(self.content[key], self.at(key))

    def coordinates(self, key: str) -> tuple[Angle, ...]:
        """Return one number or angle, or an array of them, without snapping."""
        value = self._required(key)
        entries = value if isinstance(value, list) else [value]
        return tuple(
            angle(self._token(entry, self.at(key), "a number"), self.at(key), CANONICAL_DIGITS)
            for entry in entries
        )

    def vector(self, key: str, default: Vector3 | None = ZERO3) -> Vector3:
        """Return three numbers; `default` if the key is missing."""
        if key not in self.content and default is not None:
            return default
        return self._vector(self._required(key), self.at(key))

    def vectors(self, key: str, size: int) -> list[Vector3]:
        """Return an array of `size` vectors."""
        value = self._required(key)
        if not isinstance(value, list) or len(value) != size:
            raise self.at(key).error(
                f"{quote(value)} is not an array of {size} vectors",
                f"write [{', '.join(['[…]'] * size)}]",
            )
        return [self._vector(entry, self.at(f"{key}[{i}]")) for i, entry in enumerate(value)]

    def inline(self, key: str, size: int) -> list[Table]:
        """Return the `size` tables of an array; empty if the key is missing."""
        value = self.content.get(key)
        if value is None:
            return []
        if (
            not isinstance(value, list)
            or len(value) != size
            or not all(isinstance(entry, dict) for entry in value)
        ):
            raise self.at(key).error(
                f"{quote(value)} is not an array of {size} tables",
                f"write [{', '.join(['{…}'] * size)}]",
            )
        return [Table(entry, self.at(f"{key}[{i}]"), self.snapper) for i, entry in enumerate(value)]

    def moments(self, key: str) -> Moments:
        """Return six moments from an array or a table of their names; zeros (a point mass) if the
        key is missing.
        """
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
        """Return the displacement by `position` and `rpy`, or by `steps`."""
        if "steps" not in self.content:
            angles = self.content.get("rpy", [0, 0, 0])
            roll, pitch, yaw = (
                self._angle(v, self.at("rpy")) for v in self._array(angles, 3, self.at("rpy"))
            )
            return pose(self.vector(position), (roll, pitch, yaw))
        for key in (position, "rpy"):
            if key in self.content:
                raise self.at(key).error(
                    "it conflicts with steps",
                    f"write the displacement as {position} and rpy, or as steps",
                )
        return self.steps("steps")

    def steps(self, key: str) -> Pose:
        """Return the displacement of an array of {shift}, {turn, axis}, {quaternion} and {slide,
        axis}; the identity if the key is missing.
        """
        value = self.content.get(key, [])
        if not isinstance(value, list):
            raise self.at(key).error(
                f"{quote(value)} is not an array", "write [{shift = […]}, {turn = …, axis = […]}]"
            )
        return compose(tuple(self._step(v, self.at(f"{key}[{i}]")) for i, v in enumerate(value)))

    def _step(self, value: Any, location: Location) -> Step:
        if isinstance(value, dict) and set(value) == {"shift"}:
            return Shift(self._vector(value["shift"], location))
        if isinstance(value, dict) and set(value) == {"quaternion"}:
            tokens = [
                self._token(v, location, "a number")
                for v in self._array(value["quaternion"], 4, location)
            ]
            return Rotate(self.snapper.quaternion(tokens, location, rational))
        for kind in ("turn", "slide"):
            if isinstance(value, dict) and set(value) == {kind, "axis"}:
                axis = self._vector(value["axis"], location)
                if not any(axis):
                    raise location.error("the axis is zero", "give a nonzero axis")
                if kind == "turn":
                    return Turn(axis, self._angle(value["turn"], location))
                return Slide(axis, self._number(value["slide"], location))
        raise location.error(
            f"{quote(value)} is not a step",
            "write {shift = […]}, {turn = …, axis = […]}, {quaternion = [w, x, y, z]} or {slide ="
            " …, axis = […]}",
        )

    def table(self, key: str) -> Table:
        """Return the table of a key; empty if the key is missing."""
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            raise self.at(key).error(f"{quote(value)} is not a table", "write { key = value, … }")
        return Table(value, self.at(key), self.snapper)

    def tables(self, key: str) -> list[Table]:
        """Return the array of tables of a key; empty if the key is missing. Their locations have
        names, and lines if they are known.
        """
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            raise self.at(key).error(
                f"{quote(value)} is not a list of tables", f"write [[{key}]] above each"
            )
        lines = list(self._lines(key))
        tables = []
        for index, content in enumerate(value):
            name = content.get("name", content.get("link"))
            label = f"{key} {quote(name)}" if isinstance(name, str) else f"{key}[{index}]"
            outer = self.location.element
            location = self.location.at(
                f"{outer}: {label}" if outer else label,
                lines[index] if len(lines) == len(value) else None,
            )
            tables.append(Table(content, location, self.snapper))
        return tables

    def entries(self, key: str) -> list[tuple[str, Fraction]]:
        """Return the names and numbers of a table with arbitrary keys."""
        table = self.table(key)
        return [(name, table.number(name)) for name in table.content]

    def _lines(self, key: str) -> Iterator[int]:
        """Yield the lines of the headers [[key]]. A file with multi-line strings gives none, since
        a string could imitate a header.
        """
        if '"""' not in self._text and "'''" not in self._text:
            for number, line in enumerate(self._text.splitlines(), start=1):
                if "[[" in line and re.match(rf"\s*\[\[\s*{key}\s*\]\]", line):
                    yield number

    def _required(self, key: str) -> Any:
        if key not in self.content:
            raise self._missing(key, f"{key} = …")
        return self.content[key]

    def _missing(self, key: str, remedy: str) -> DescriptionError:
        """Return the error for a missing key; `remedy` is the text to add."""
        return self.location.error(f"the key '{key}' is missing", f"add {remedy}")

    @staticmethod
    def _token(value: Any, location: Location, expected: str) -> str:
        # Floats arrive as text. Python refuses to print very long integers, so they are refused
        # before.
        if isinstance(value, int) and not isinstance(value, bool):
            if value.bit_length() > 4 * CANONICAL_DIGITS:
                raise location.error(
                    f"the number has more than {CANONICAL_DIGITS} digits", "write fewer digits"
                )
            return str(value)
        if isinstance(value, str):
            return value
        raise location.error(f"{quote(value)} is not {expected}", "write a decimal")

    def _number(self, value: Any, location: Location) -> Fraction:
        return rational(self._token(value, location, "a number"), location)

    def _angle(self, value: Any, location: Location) -> Angle:
        return self.snapper.angle(
            self._token(value, location, "an angle"), location, CANONICAL_DIGITS
        )

    def _array(self, value: Any, size: int, location: Location) -> list[Any]:
        if not isinstance(value, list) or len(value) != size:
            raise location.error(
                f"{quote(value)} is not an array of {size} numbers",
                f"write {size} numbers in brackets",
            )
        return value

    def _vector(self, value: Any, location: Location) -> Vector3:
        x, y, z = (self._number(v, location) for v in self._array(value, 3, location))
        return x, y, z
