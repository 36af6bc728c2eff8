"""CSV: Denavit-Hartenberg rows or bodies, one a line, in the words of symgen's own format.

    # name: arm
    # convention: mdh
    # gravity: 0 0 -9.81
    name,  a,     alpha,  d,     theta, mass, cx, cy, cz,   ixx, iyy, izz, lower, upper
    link1, 0,     0,      0.333, 0,     4.97, 0,  0,  -0.1, 0.7, 0.7, 0.1, -2.9,  2.9
    link2, 0,     -pi/2,  0,     90 deg, 0.65,  , ,   0.1,  ,    ,    ,    ,

The header names the columns, in any order; an empty cell says nothing. A file with a column a, alpha, d or theta is one of rows,
of which `# convention` says whether they are dh or mdh; any other is one of bodies. Numbers and angles are those of TOML. Lines
that begin with # say what concerns the whole (name, convention, gravity, base, mimic, snap, friction_speed, source, licence), or
are comments.
"""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from symgen.description.asking import NOTHING, Asked
from symgen.description.parsing.declared import declared
from symgen.description.parsing.tables import Table
from symgen.description.quantities import Place, rational, shown
from symgen.description.snapping import Snapper
from symgen.description.tree import Tree
from symgen.mechanism.drives import NUMBERS
from symgen.support.errors import DescriptionError

SUFFIXES = (".csv",)
ROOTS = ()
TAKES = ()
LARGEST = 50_000_000
LOOKED_AT = 100
"""Lines in which a word before a colon that is nearly one of the known ones is taken for a slip, and not for a comment."""
_WHOLE = (
    "name",
    "description",
    "source",
    "licence",
    "convention",
    "mimic",
    "snap",
    "friction_speed",
    "base",
    "gravity",
)
_SAID = re.compile(r"#\s*(\w+)\s*:\s*(.*)")
_DECIMAL_COMMA = re.compile(r"[0-9],[0-9]", re.ASCII)
_OF_ROWS = ("a", "alpha", "d", "theta")
_XYZ = ("x", "y", "z")
_MOMENTS = ("xx", "xy", "xz", "yy", "yz", "zz")

# column -> the keys that lead to its value; a number is its place in an array
_BOTH: dict[str, tuple[str | int, ...]] = {
    "name": ("name",),
    "parent": ("parent",),
    "mass": ("mass",),
    "about": ("about",),
    "gravcomp": ("gravcomp",),
    **{f"c{axis}": ("centre", k) for k, axis in enumerate(_XYZ)},
    **{f"i{two}": ("inertia", two) for two in _MOMENTS},
}
_OF_JOINTS: dict[str, tuple[str | int, ...]] = {
    "type": ("type",),
    **{one: (one,) for one in (*NUMBERS, "rotor_inertia", "gear_ratio")},
    "screw_pitch": ("pitch",),
    **{one: ("limits", one) for one in ("lower", "upper", "velocity", "effort")},
    "mimic": ("mimic", "joint"),
    "multiplier": ("mimic", "multiplier"),
    "offset": ("mimic", "offset"),
}
_POSED: dict[str, tuple[str | int, ...]] = {
    **{axis: ("xyz", k) for k, axis in enumerate(_XYZ)},
    **{one: ("rpy", k) for k, one in enumerate(("roll", "pitch", "yaw"))},
    **{f"q{one}": ("quaternion", k) for k, one in enumerate("wxyz")},
    **{f"axis_{axis}": ("axis", k) for k, axis in enumerate(_XYZ)},
}
ROWS = {
    **_BOTH,
    **_OF_JOINTS,
    "joint": ("joint",),
    **{one: (one,) for one in (*_OF_ROWS, "repeat")},
}
BODIES = {
    **_BOTH,
    "joint": ("joint", "name"),
    **{column: ("joint", *keys) for column, keys in {**_OF_JOINTS, **_POSED}.items()},
}
_TEXTS = {"name", "parent", "about", "type", "joint", "mimic"}
_ANGLES = {"alpha", "theta", "roll", "pitch", "yaw"}
_SIZES = {"centre": 3, "xyz": 3, "rpy": 3, "axis": 3, "quaternion": 4}


def read(data: bytes, file: str, snapper: Snapper, asked: Asked = NOTHING) -> Tree:
    """The rows or bodies that the CSV text `data` declares; DescriptionError names file, line and column."""
    place = Place(file)
    content: dict[str, Any] = {}
    header, lines, cells = _cells(data, place, content)
    rows = any(column in _OF_ROWS for column in header)
    ways = [(ROWS if rows else BODIES)[column] for column in header]
    if rows and "convention" not in content:
        raise place.error(
            "it has rows and no convention",
            "write '# convention: dh' or '# convention: mdh' above the header",
        )
    key = "row" if rows else "body"
    content[key] = [_table(ways, one) for one in cells]
    try:
        return declared(_Sheet(content, place, snapper, key, lines))
    except DescriptionError as error:
        if error.line in lines:
            _blame(header, cells[lines.index(error.line)], place.at("", error.line))
        raise


class _Sheet(Table):
    """The whole file, which knows the lines of its tables."""

    def __init__(
        self,
        content: dict[str, Any],
        place: Place,
        snapper: Snapper,
        key: str,
        lines: Sequence[int],
    ) -> None:
        super().__init__(content, place, snapper)
        self._of, self._numbers = key, lines

    def _lines(self, key: str) -> Iterator[int]:
        yield from self._numbers if key == self._of else ()


def _cells(
    data: bytes, place: Place, content: dict[str, Any]
) -> tuple[list[str], list[int], list[list[str]]]:
    """Header, and of each line below it its number and its cells. What concerns the whole is added to `content`."""
    text = _text(data, place)
    header: list[str] = []
    lines, cells = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        bare, here = line.strip(), place.at("", number)
        if bare.startswith("#"):
            _say(bare, content, here)
            continue
        if not bare.strip(", \t"):
            continue
        try:
            (found,) = csv.reader([bare], skipinitialspace=True, strict=True)
        except (csv.Error, ValueError):
            raise here.error("its quotation marks do not match", "close each on its line") from None
        found = [cell.strip() for cell in found]
        if not header:
            header = [cell.lower().replace(" ", "_") for cell in found]
            _refuse_separators(header, text, here)
            _refuse_unknown(header, here)
        elif len(found) != len(header):
            raise here.error(
                f"it has {len(found)} cells, and the header has {len(header)}",
                "write as many, with commas between",
            )
        else:
            lines.append(number)
            cells.append(found)
    if not header:
        raise place.error(
            "it has no header",
            "write a line that names the columns, such as name,a,alpha,d,theta,mass",
        )
    return header, lines, cells


def _text(data: bytes, place: Place) -> str:
    if len(data) > LARGEST:
        raise place.error(
            f"the file is larger than {LARGEST // 10**6} MB", "give a robot description"
        )
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise place.error(
            f"byte {error.start} is not UTF-8 text", "save the file as UTF-8"
        ) from None


def _say(line: str, content: dict[str, Any], place: Place) -> None:
    """What a line that begins with # says of the whole; nothing where it is a comment. A word that is nearly one of the known
    ones is refused.
    """
    said = _SAID.fullmatch(line)
    if said is None:
        return
    name, value = said[1].lower(), said[2].rstrip(", \t")
    if name not in _WHOLE:
        near = place.line is not None and place.line <= LOOKED_AT
        close = difflib.get_close_matches(name[:40], _WHOLE, n=1, cutoff=0.8) if near else []
        if close:
            raise place.error(f"{shown(name)} is not known", f"did you mean '# {close[0]}: …'?")
    elif name in content:
        raise place.error(f"'# {name}' stands twice", "keep one of the two")
    else:
        content[name] = (
            {"name": value}
            if name == "base"
            else value.replace(",", " ").split()
            if name == "gravity"
            else value
        )


def _refuse_unknown(header: list[str], place: Place) -> None:
    known = ROWS if any(column in _OF_ROWS for column in header) else BODIES
    seen = set()
    for column in header:
        if column not in known:
            close = difflib.get_close_matches(column[:40], known, n=1, cutoff=0.6)
            hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(known)}"
            raise place.error(f"the column {shown(column)} is not known", hint)
        if column in seen:
            raise place.error(f"the column {shown(column)} stands twice", "keep one of the two")
        seen.add(column)


def _refuse_separators(header: list[str], text: str, place: Place) -> None:
    """DescriptionError where the columns are separated by something else than commas, as spreadsheets of many countries do."""
    for sign, name in ((";", "';'"), ("\t", "tabs"), ("|", "'|'")):
        columns = [column.strip(" _").replace(" ", "_") for column in header[0].split(sign)]
        if len(columns) > 1 and any(column in ROWS or column in BODIES for column in columns):
            comma = " and its decimals by ','" if _DECIMAL_COMMA.search(text) else ""
            raise place.error(
                f"its columns are separated by {name}{comma}",
                "save the file with ',' between columns and '.' in decimals",
            )


def _table(ways: list[tuple[str | int, ...]], cells: list[str]) -> dict[str, Any]:
    """One row or body as TOML's parser would give it."""
    found: dict[str, Any] = {}
    for keys, cell in zip(ways, cells, strict=True):
        if not cell:
            continue
        at: Any = found
        for key in keys[:-1]:
            at = at.setdefault(key, ["0"] * _SIZES[key] if key in _SIZES else {})
        at[keys[-1]] = cell
    joint = found.get("joint")
    if isinstance(joint, dict) and "quaternion" in joint:
        joint["steps"] = [
            {"shift": joint.pop("xyz", ["0"] * 3)},
            {"quaternion": joint.pop("quaternion")},
        ]
    if "repeat" in found and found["repeat"].isdecimal():
        found["repeat"] = int(found["repeat"][:20])
    return found


def _blame(header: list[str], cells: list[str], place: Place) -> None:
    """DescriptionError of the first cell of a line that is not what its column wants, if there is one."""
    for column, cell in zip(header, cells, strict=True):
        here = place.at(f"column '{column}'")
        if cell and column in _ANGLES:
            Snapper(None).angle(cell, here)
        elif cell and column not in _TEXTS and column != "repeat":
            rational(cell, here)
