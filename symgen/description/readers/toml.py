"""symgen's own format: a mechanism declared by frames, or by rows of Denavit-Hartenberg parameters, in TOML.

Numbers are exact: `0.333`, `"1/3"`; angles may also be `"pi/2"`, `"-3*pi/4"`, `"90 deg"`. Lengths in m, masses in kg,
angles in rad, inertia in kg m². Plain decimals in rotations are snapped as in URDF; `snap = "off"` says that they are meant.

    name = "arm"                      # also: description, source, licence, friction_speed = 0.001
    gravity = [0, 0, "-9.81"]         # default 0, 0, -9.81
    mimic = "couple"                  # joints that mimic others follow them; default "independent", also "refuse"
    [base]                            # optional: the base link's name and inertia
    name = "base"

By frames. A body's frame is the joint's frame moved by the joint; the joint's frame stands in the parent's frame at
`xyz` and `rpy` (R = Rz(yaw) Ry(pitch) Rx(roll)) or at exact `steps`.

    [[body]]
    name = "link1"
    parent = "base"
    joint = { name = "joint1", type = "revolute", axis = [0, 0, 1], xyz = [0, 0, 0.333], rpy = ["-pi/2", 0, 0] }
                                      # also: steps = [{shift = […]}, {turn = "pi/2", axis = […]}, {slide = 1, axis = […]},
                                      #          {quaternion = [w, x, y, z]}],
                                      # limits = {lower, upper, velocity, effort}, mimic = {joint, multiplier, offset},
                                      # armature (or rotor_inertia, gear_ratio), damping, friction, stiffness, rest: numbers,
                                      # unapplied = {backlash = 0.1};  type "fixed" welds the body to its parent
                                      # spherical, planar and free joints have no axis; neither they nor a cylindrical one
                                      # have limits; type = "universal" has axes = [[…], […]] and two limits = [{…}, {…}], and
                                      # is read as two revolute joints
    mass = 4.97
    centre = [0.0, 0.0, -0.05]        # default 0, 0, 0
    inertia = [0.7, 0, 0, 0.7, 0, 0.009]   # Ixx Ixy Ixz Iyy Iyz Izz, or {xx, yy, zz, xy, xz, yz}; absent: a point mass
    about = "centre"                  # or "frame": the moments are about the frame's origin
    gravcomp = 0                      # the fraction of its weight that is borne for it, at its mass centre
    [[body.part]]                     # instead: several inertias, each with its own axes
    link = "flange"                   # the link it came from; default the body's name
    mass = 0.1                        # with centre, rpy, inertia, about, gravcomp as above; or steps to the centre and the axes

By rows. `convention = "dh"` (standard: Rz(theta) Tz(d) Tx(a) Rx(alpha)) or `"mdh"` (modified, Craig: Rx(alpha) Tx(a)
Rz(theta) Tz(d)); the coordinate adds to theta (revolute, the default) or to d (prismatic). Inertia, centre and the
frame of that name are those of the row's frame, at the end of that product.

    convention = "dh"
    [[row]]                           # name default link1, link2 …; joint default joint1 …; parent default the row before
    type = "revolute"
    a = 0.4318                        # a, alpha, d, theta default 0; limits, drive, mass, centre, inertia, about, part as above
    alpha = "pi/2"
    repeat = 3                        # the same row three times

    [[frame]]                         # a further named frame, on a body (or the base), at xyz, rpy or steps
    name = "tool"
    body = "link6"
    xyz = [0, 0, 0.1]

Loops, which the tree has no place for (`symgen/mechanism/closures/` says what each type holds; z is its axis):

    start = { joint1 = "pi/2" }       # at the top: where closing them starts, one number or an array; default the zero of a joint
    independent = ["joint1"]          # at the top: joints on whose velocities all others hang; default the first that can be
    actuated = ["joint1"]             # at the top: joints that are driven; default the independent ones
    [[loop]]
    name = "closing"                  # default loop1, loop2 …
    type = "revolute"                 # prismatic, cylindrical, spherical, universal, weld, point, distance …
    first = { link = "coupler", xyz = [0.5, 0, 0], rpy = [0, 0, 0] }   # or steps; link: a body, a named frame or the base
    second = { link = "rocker", xyz = [0.75, 0, 0] }
    distance = 0.3                    # only the numbers that its type asks for

A canonical description, as `symgen generate` writes it, also has `frame` in a body (the steps from the body's frame
to the link's), `[[note]]` (what the first reading changed) and `source_sha256` (of the description first read; it counts
as long as `text_sha256`, of all other lines, shows that nothing was changed).
"""

from __future__ import annotations

import re
import tomllib

from symgen.description.asking import NOTHING, Asked
from symgen.description.parsing.declared import declared
from symgen.description.parsing.tables import Table
from symgen.description.quantities import Place, shown
from symgen.description.snapping import Snapper
from symgen.description.tree import Tree

SUFFIXES = (".toml",)
ROOTS = ()
TAKES = ()
LARGEST = 20_000_000


def read(data: bytes, file: str, snapper: Snapper, asked: Asked = NOTHING) -> Tree:
    """The bodies or rows that the TOML text `data` declares; DescriptionError names file, line and element."""
    return declared(_parse(data, file, snapper))


def _parse(data: bytes, file: str, snapper: Snapper) -> Table:
    place = Place(file)
    if len(data) > LARGEST:
        raise place.error(
            f"the file is larger than {LARGEST // 10**6} MB", "give a robot description"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise place.error(
            f"byte {error.start} is not UTF-8 text", "save the file as UTF-8"
        ) from None
    refuse_deep(text, place)
    refuse_integers(text, place)
    try:
        content = tomllib.loads(text.replace("\r\n", "\n"), parse_float=str)
    except ValueError as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        what = shown(re.sub(r"\s*\(at .*\)", "", str(error)), 100)[1:-1]
        raise Place(file, int(found[1]) if found else None).error(
            f"not valid TOML: {what}", "correct this line"
        ) from None
    return Table(content, place, snapper, text)


# -- checks of the text before it is parsed --


DEEPEST = 64
"""Arrays and inline tables within each other. A description needs four."""
MOST_PARTS = 16
"""Parts of a dotted key. A description needs three."""

_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]++|\\[^\n])*+"?|'[^'\n]*+'?)"""
TOKEN = re.compile(
    rf"""
    (?:\"{{3}} (?:[^"\\]++ | \\. | "(?!""))*+ (?:"{{3,5}} | \Z)
     | '{{3}} (?:[^']++ | '(?!''))*+ (?:'{{3,5}} | \Z)
     | \# [^\n]*+)
    | (?P<key> {_PART} (?:[ \t]*+ \. [ \t]*+ {_PART})*+)
    | (?P<opens> [\[{{]) | (?P<closes> [\]}}])
""",
    re.VERBOSE | re.DOTALL,
)
"""No alternative goes back, and one that does not end takes all that is left, so that this takes as long as the text is."""


def refuse_deep(text: str, place: Place) -> None:
    """Raise DescriptionError for brackets within brackets, or parts of a key, beyond what is read. What is no TOML is let pass.

    The parser calls itself for each array within another, and takes the square of a key's parts in time and memory.
    """
    depth = 0
    for token in TOKEN.finditer(text):
        part = token.lastgroup
        if part == "opens":
            depth += 1
        elif part == "closes":
            depth = max(0, depth - 1)
        elif (
            part == "key"
            and token["key"].count(".") >= MOST_PARTS
            and len(re.findall(_PART, token["key"])) > MOST_PARTS
        ):
            raise _at(token, place).error(
                f"a key has more than {MOST_PARTS} parts with a '.' between them",
                "write tables in brackets",
            )
        if depth > DEEPEST:
            raise _at(token, place).error(
                f"its arrays or tables are nested more than {DEEPEST} deep",
                "write the description flat",
            )


def _at(token: re.Match[str], place: Place) -> Place:
    return Place(place.file, token.string.count("\n", 0, token.start()) + 1)


_INTEGER = re.compile(r"-?(0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+|[0-9]+(_[0-9]+)+)", re.ASCII)
_MAYBE_INTEGER = re.compile(r"(?<![A-Za-z0-9_-])-?(?:0[xob]|[0-9]+_)", re.ASCII)
"""Stands before or in every such integer, and is quickly found."""
_OF_A_KEY = re.compile(r"[ \t]*[=.]")


def refuse_integers(text: str, place: Place) -> None:
    """Raise DescriptionError for the first integer that is written otherwise than in plain decimal figures. Keys may be called so.

    TOML's parser would give hexadecimal, octal and binary integers, and figures with underscores between, as plain integers. A
    number of a description is a plain decimal in every format.
    """
    if _MAYBE_INTEGER.search(text) is None:
        return
    for token in TOKEN.finditer(text):
        written = token["key"]
        if written and _INTEGER.fullmatch(written) and not _OF_A_KEY.match(text, token.end()):
            line = text.count("\n", 0, token.start()) + 1
            raise Place(place.file, line).error(
                f"{shown(written)} is not a plain decimal",
                f"write {shown(_plain(written))}"
                if len(written) <= 40
                else "write its decimal figures",
            )


def _plain(written: str) -> str:
    """Return the integer in plain decimal figures."""
    return str(
        int(written, 0) if written.lstrip("-").startswith(("0x", "0o", "0b")) else int(written)
    )
