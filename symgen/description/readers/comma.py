"""CSV: Denavit-Hartenberg rows or bodies, one per line, with the keys of symgen's own format.

    # name: arm
    # convention: mdh
    # gravity: 0 0 -9.81
    name,  a,     alpha,  d,     theta, mass, cx, cy, cz,   ixx, iyy, izz, lower, upper
    link1, 0,     0,      0.333, 0,     4.97, 0,  0,  -0.1, 0.7, 0.7, 0.1, -2.9,  2.9
    link2, 0,     -pi/2,  0,     90 deg, 0.65,  , ,   0.1,  ,    ,    ,    ,

The header names the columns, in any order; an empty cell declares nothing. A file with a column a,
alpha, d or theta contains rows, in the convention (dh or mdh) of the line `# convention`. Any other
file contains bodies. Numbers and angles are those of TOML. Lines that begin with # declare keys of
the whole robot (name, convention, gravity, base, mimic, snap, friction_speed, source, licence), or
are comments.
"""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from symgen.description.asking import NO_OPTIONS, FileOptions
from symgen.description.parsing.declared import read_declared
from symgen.description.parsing.tables import Table
from symgen.description.quantities import Location, quote, rational
from symgen.description.snapping import Snapper
from symgen.description.tree import Tree
from symgen.mechanism.drives import NUMBERS
from symgen.support.errors import DescriptionError

SUFFIXES = (".csv",)
ROOTS = ()
TAKES = ()
LARGEST = 50_000_000
LOOKED_AT = 100
"""Number of first lines in which a word before a colon that is similar to a key counts as a typing
error, not as a comment.
"""
_ROBOT_KEYS = (
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
_KEY_LINE = re.compile(r"#\s*(\w+)\s*:\s*(.*)")
_DECIMAL_COMMA = re.compile(r"[0-9],[0-9]", re.ASCII)
_ROW_COLUMNS = ("a", "alpha", "d", "theta")
_XYZ = ("x", "y", "z")
_MOMENTS = ("xx", "xy", "xz", "yy", "yz", "zz")

# column -> the keys that lead to its value; a number is an index of an array
_INERTIA_COLUMNS: dict[str, tuple[str | int, ...]] = {
    "name": ("name",),
    "parent": ("parent",),
    "mass": ("mass",),
    "about": ("about",),
    "gravcomp": ("gravcomp",),
    **{f"c{axis}": ("centre", k) for k, axis in enumerate(_XYZ)},
    **{f"i{two}": ("inertia", two) for two in _MOMENTS},
}
_JOINT_COLUMNS: dict[str, tuple[str | int, ...]] = {
    "type": ("type",),
    **{key: (key,) for key in (*NUMBERS, "rotor_inertia", "gear_ratio")},
    "screw_pitch": ("pitch",),
    **{key: ("limits", key) for key in ("lower", "upper", "velocity", "effort")},
    "mimic": ("mimic", "joint"),
    "multiplier": ("mimic", "multiplier"),
    "offset": ("mimic", "offset"),
}
_POSE_COLUMNS: dict[str, tuple[str | int, ...]] = {
    **{axis: ("xyz", k) for k, axis in enumerate(_XYZ)},
    **{key: ("rpy", k) for k, key in enumerate(("roll", "pitch", "yaw"))},
    **{f"q{entry}": ("quaternion", k) for k, entry in enumerate("wxyz")},
    **{f"axis_{axis}": ("axis", k) for k, axis in enumerate(_XYZ)},
}
ROWS = {
    **_INERTIA_COLUMNS,
    **_JOINT_COLUMNS,
    "joint": ("joint",),
    **{key: (key,) for key in (*_ROW_COLUMNS, "repeat")},
}
BODIES = {
    **_INERTIA_COLUMNS,
    "joint": ("joint", "name"),
    **{column: ("joint", *keys) for column, keys in {**_JOINT_COLUMNS, **_POSE_COLUMNS}.items()},
}
_TEXTS = {"name", "parent", "about", "type", "joint", "mimic"}
_ANGLES = {"alpha", "theta", "roll", "pitch", "yaw"}
_SIZES = {"centre": 3, "xyz": 3, "rpy": 3, "axis": 3, "quaternion": 4}


def read(data: bytes, file: str, snapper: Snapper, options: FileOptions = NO_OPTIONS) -> Tree:
    """Return the rows or bodies that the CSV text `data` declares. DescriptionError names file,
    line and column.
    """
    location = Location(file)
    content: dict[str, Any] = {}
    header, lines, cells = _cells(data, location, content)
    has_rows = any(column in _ROW_COLUMNS for column in header)
    key_paths = [(ROWS if has_rows else BODIES)[column] for column in header]
    if has_rows and "convention" not in content:
        raise location.error(
            "it has rows but no convention",
            "write '# convention: dh' or '# convention: mdh' above the header",
        )
    key = "row" if has_rows else "body"
    content[key] = [_table(key_paths, line_cells) for line_cells in cells]
    try:
        return read_declared(_Sheet(content, location, snapper, key, lines))
    except DescriptionError as error:
        if error.line in lines:
            _refuse_invalid_cell(
                header, cells[lines.index(error.line)], location.at("", error.line)
            )
        raise


class _Sheet(Table):
    """The table of the whole file, with the lines of its inner tables."""

    def __init__(
        self,
        content: dict[str, Any],
        location: Location,
        snapper: Snapper,
        key: str,
        lines: Sequence[int],
    ) -> None:
        super().__init__(content, location, snapper)
        self._line_key, self._line_numbers = key, lines

    def _lines(self, key: str) -> Iterator[int]:
        yield from self._line_numbers if key == self._line_key else ()


def _cells(
    data: bytes, location: Location, content: dict[str, Any]
) -> tuple[list[str], list[int], list[list[str]]]:
    """Return the header, and the number and cells of each line below it. Keys of the whole robot
    are added to `content`.
    """
    text = _text(data, location)
    header: list[str] = []
    lines, cells = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        bare, line_location = line.strip(), location.at("", number)
        if bare.startswith("#"):
            _read_key_line(bare, content, line_location, refuse_similar=number <= LOOKED_AT)
            continue
        if not bare.strip(", \t"):
            continue
        try:
            (row,) = csv.reader([bare], skipinitialspace=True, strict=True)
        except (csv.Error, ValueError):
            raise line_location.error(
                "its quotation marks do not match", "close each on its line"
            ) from None
        row = [cell.strip() for cell in row]
        if not header:
            header = [cell.lower().replace(" ", "_") for cell in row]
            _refuse_separators(header, text, line_location)
            _refuse_unknown(header, line_location)
        elif len(row) != len(header):
            raise line_location.error(
                f"it has {len(row)} cells, but the header has {len(header)}",
                "write one cell per column, separated by commas",
            )
        else:
            lines.append(number)
            cells.append(row)
    if not header:
        raise location.error(
            "it has no header",
            "write a line that names the columns, such as name,a,alpha,d,theta,mass",
        )
    return header, lines, cells


def _text(data: bytes, location: Location) -> str:
    """Return the text of a file."""
    if len(data) > LARGEST:
        raise location.error(
            f"the file is larger than {LARGEST // 10**6} MB", "give a robot description"
        )
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise location.error(
            f"byte {error.start} is not UTF-8 text", "save the file as UTF-8"
        ) from None


def _read_key_line(
    line: str, content: dict[str, Any], location: Location, *, refuse_similar: bool
) -> None:
    """Add the key that a line with # declares to `content`; ignore comments.

    With `refuse_similar`, raise DescriptionError for a word that is similar to a key.
    """
    match = _KEY_LINE.fullmatch(line)
    if match is None:
        return
    name, value = match[1].lower(), match[2].rstrip(", \t")
    if name not in _ROBOT_KEYS:
        close = (
            difflib.get_close_matches(name[:40], _ROBOT_KEYS, cutoff=0.8) if refuse_similar else []
        )
        if close:
            raise location.error(f"{quote(name)} is not known", f"did you mean '# {close[0]}: …'?")
    elif name in content:
        raise location.error(f"'# {name}' appears twice", "keep one of the two")
    else:
        content[name] = (
            {"name": value}
            if name == "base"
            else value.replace(",", " ").split()
            if name == "gravity"
            else value
        )


def _refuse_unknown(header: list[str], location: Location) -> None:
    """Raise DescriptionError for an unknown or repeated column."""
    columns = ROWS if any(column in _ROW_COLUMNS for column in header) else BODIES
    previous_columns = set()
    for column in header:
        if column not in columns:
            close = difflib.get_close_matches(column[:40], columns)
            hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(columns)}"
            raise location.error(f"the column {quote(column)} is not known", hint)
        if column in previous_columns:
            raise location.error(f"the column {quote(column)} appears twice", "keep one of the two")
        previous_columns.add(column)


def _refuse_separators(header: list[str], text: str, location: Location) -> None:
    """Raise DescriptionError for columns that are not separated by commas, as in spreadsheets of
    many countries.
    """
    for sign, name in ((";", "';'"), ("\t", "tabs"), ("|", "'|'")):
        columns = [column.strip(" _").replace(" ", "_") for column in header[0].split(sign)]
        if len(columns) > 1 and any(column in ROWS or column in BODIES for column in columns):
            comma = " and its decimals by ','" if _DECIMAL_COMMA.search(text) else ""
            raise location.error(
                f"its columns are separated by {name}{comma}",
                "save the file with ',' between columns and '.' in decimals",
            )


def _table(key_paths: list[tuple[str | int, ...]], cells: list[str]) -> dict[str, Any]:
    """Return one row or body as TOML's parser would."""
    table: dict[str, Any] = {}
    for keys, cell in zip(key_paths, cells, strict=True):
        if not cell:
            continue
        inner: Any = table
        for key in keys[:-1]:
            inner = inner.setdefault(key, ["0"] * _SIZES[key] if key in _SIZES else {})
        inner[keys[-1]] = cell
    joint = table.get("joint")
    if isinstance(joint, dict) and "quaternion" in joint:
        joint["steps"] = [
            {"shift": joint.pop("xyz", ["0"] * 3)},
            {"quaternion": joint.pop("quaternion")},
        ]
    if "repeat" in table and table["repeat"].isdecimal():
        table["repeat"] = int(table["repeat"][:20])
    return table


def _refuse_invalid_cell(header: list[str], cells: list[str], location: Location) -> None:
    """Raise DescriptionError for the first cell of a line that is invalid in its column, if there
    is one.
    """
    for column, cell in zip(header, cells, strict=True):
        cell_location = location.at(f"column '{column}'")
        if cell and column in _ANGLES:
            Snapper(None).angle(cell, cell_location)
        elif cell and column not in _TEXTS and column != "repeat":
            rational(cell, cell_location)
