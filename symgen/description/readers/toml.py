"""symgen's own format: a mechanism declared by frames, or by rows of Denavit-Hartenberg parameters,
in TOML.

Numbers are exact: `0.333`, `"1/3"`; angles may also be `"pi/2"`, `"-3*pi/4"`, `"90 deg"`. Lengths
in m, masses in kg, angles in rad, inertia in kg m². Plain decimals in rotations are snapped as in
URDF; `snap = "off"` keeps them.

    name = "arm"                      # also: description, source, licence, friction_speed = 0.001
    gravity = [0, 0, "-9.81"]         # default 0, 0, -9.81
    mimic = "couple"                  # mimic joints follow their leaders; default "independent",
                                      # also "refuse"
    [base]                            # optional: the base link's name and inertia
    name = "base"

By frames. A body's frame is the joint's frame moved by the joint. The pose of the joint's frame in
the parent's frame is `xyz` and `rpy` (R = Rz(yaw) Ry(pitch) Rx(roll)), or exact `steps`.

    [[body]]
    name = "link1"
    parent = "base"
    joint = { name = "joint1", type = "revolute", axis = [0, 0, 1], xyz = [0, 0, 0.333] }
                                      # also: rpy = ["-pi/2", 0, 0], or in place of xyz and rpy
                                      #   steps = [{shift = […]}, {turn = "pi/2", axis = […]},
                                      #   {slide = 1, axis = […]}, {quaternion = [w, x, y, z]}],
                                      # limits = {lower, upper, velocity, effort},
                                      # mimic = {joint, multiplier, offset},
                                      # armature (or rotor_inertia, gear_ratio), damping, friction,
                                      # stiffness, rest: numbers, unapplied = {backlash = 0.1};
                                      # type "fixed" fixes the body to its parent
                                      # spherical, planar and free joints have no axis; they and
                                      # cylindrical joints have no limits; type = "universal" has
                                      # axes = [[…], […]] and two limits = [{…}, {…}], and is read
                                      # as two revolute joints
    mass = 4.97
    centre = [0.0, 0.0, -0.05]        # default 0, 0, 0
    inertia = [0.7, 0, 0, 0.7, 0, 0.009]   # Ixx Ixy Ixz Iyy Iyz Izz, or {xx, yy, zz, xy, xz, yz};
                                      # absent: a point mass
    about = "centre"                  # or "frame": the moments are about the frame's origin
    gravcomp = 0                      # gravity compensation: fraction of the weight that is
                                      # cancelled, at the mass centre
    [[body.part]]                     # instead: several inertias, each with its own axes
    link = "flange"                   # the link that declares it; default the body's name
    mass = 0.1                        # with centre, rpy, inertia, about, gravcomp as above; or
                                      # steps to the centre and the axes

By rows. `convention = "dh"` (standard: Rz(theta) Tz(d) Tx(a) Rx(alpha)) or `"mdh"` (modified,
Craig: Rx(alpha) Tx(a) Rz(theta) Tz(d)); the coordinate adds to theta (revolute, the default) or to
d (prismatic). Inertia, centre and the frame of that name are those of the row's frame, at the end
of that product.

    convention = "dh"
    [[row]]                           # name default link1, link2 …; joint default joint1 …; parent
                                      # default the row before
    type = "revolute"
    a = 0.4318                        # a, alpha, d, theta default 0; limits, drive, mass, centre,
                                      # inertia, about, part as above
    alpha = "pi/2"
    repeat = 3                        # the same row three times

    [[frame]]                         # a further named frame, on a body (or the base), at xyz, rpy
                                      # or steps
    name = "tool"
    body = "link6"
    xyz = [0, 0, 0.1]

Loop closures (`symgen/mechanism/closures/` describes each type; z is its axis):

    start = { joint1 = "pi/2" }       # at the top: coordinates from which loops are closed; default
                                      # the zero of a joint
    independent = ["joint1"]          # at the top: independent joints, one per degree of freedom;
                                      # default the first possible ones
    actuated = ["joint1"]             # at the top: actuated joints; default the independent ones
    [[loop]]
    name = "closing"                  # default loop1, loop2 …
    type = "revolute"                 # prismatic, cylindrical, spherical, universal, weld, point,
                                      # distance …
    first = { link = "coupler", xyz = [0.5, 0, 0], rpy = [0, 0, 0] }   # or steps; link: a body, a
                                      # named frame or the base
    second = { link = "rocker", xyz = [0.75, 0, 0] }
    distance = 0.3                    # only the parameters of its type

A canonical description, as `symgen generate` writes it, also has `frame` in a body: the steps from
the body's frame to the link's. It has `[[note]]` (changes by the first reading) and `source_sha256`
(of the description that was read first). The latter is valid as long as `text_sha256`, of all other
lines, shows that the file was not edited.
"""

from __future__ import annotations

import re
import tomllib

from symgen.description.asking import NO_OPTIONS, FileOptions
from symgen.description.parsing.declared import read_declared
from symgen.description.parsing.tables import Table
from symgen.description.quantities import Location, quote
from symgen.description.snapping import Snapper
from symgen.description.tree import Tree

SUFFIXES = (".toml",)
ROOTS = ()
TAKES = ()
LARGEST = 20_000_000


def read(data: bytes, file: str, snapper: Snapper, options: FileOptions = NO_OPTIONS) -> Tree:
    """Return the bodies or rows that the TOML text `data` declares. DescriptionError names file,
    line and element.
    """
    return read_declared(_parse(data, file, snapper))


def _parse(data: bytes, file: str, snapper: Snapper) -> Table:
    """Return the table of a TOML text. DescriptionError names file and line."""
    location = Location(file)
    if len(data) > LARGEST:
        raise location.error(
            f"the file is larger than {LARGEST // 10**6} MB", "give a robot description"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise location.error(
            f"byte {error.start} is not UTF-8 text", "save the file as UTF-8"
        ) from None
    refuse_deep(text, location)
    refuse_integers(text, location)
    try:
        content = tomllib.loads(text.replace("\r\n", "\n"), parse_float=str)
    except ValueError as error:
        match = re.search(r"\(at line (\d+), column \d+\)", str(error))
        reason = quote(re.sub(r"\s*\(at .*\)", "", str(error)), 100)[1:-1]
        raise Location(file, int(match[1]) if match else None).error(
            f"not valid TOML: {reason}", "correct this line"
        ) from None
    return Table(content, location, snapper, text)


# -- checks of the text before it is parsed --


DEEPEST = 64
"""Largest depth of nested arrays and inline tables. A description needs four."""
MOST_PARTS = 16
"""Largest number of parts of a dotted key. A description needs three."""

_KEY_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]++|\\[^\n])*+"?|'[^'\n]*+'?)"""
TOKEN = re.compile(
    rf"""
    (?:\"{{3}} (?:[^"\\]++ | \\. | "(?!""))*+ (?:"{{3,5}} | \Z)
     | '{{3}} (?:[^']++ | '(?!''))*+ (?:'{{3,5}} | \Z)
     | \# [^\n]*+)
    | (?P<key> {_KEY_PART} (?:[ \t]*+ \. [ \t]*+ {_KEY_PART})*+)
    | (?P<opens> [\[{{]) | (?P<closes> [\]}}])
""",
    re.VERBOSE | re.DOTALL,
)
"""Tokens of TOML. No alternative backtracks, and an unclosed one takes the rest of the text, so
that matching takes linear time.
"""


def refuse_deep(text: str, location: Location) -> None:
    """Raise DescriptionError for brackets that are nested too deep, or for keys with too many
    parts. Invalid TOML passes.

    The parser recurses for each nested array, and takes quadratic time and memory in the parts of a
    key.
    """
    depth = 0
    for token in TOKEN.finditer(text):
        token_kind = token.lastgroup
        if token_kind == "opens":
            depth += 1
        elif token_kind == "closes":
            depth = max(0, depth - 1)
        elif (
            token_kind == "key"
            and token["key"].count(".") >= MOST_PARTS
            and len(re.findall(_KEY_PART, token["key"])) > MOST_PARTS
        ):
            raise _token_location(token, location).error(
                f"a key has more than {MOST_PARTS} parts with a '.' between them",
                "write tables in brackets",
            )
        if depth > DEEPEST:
            raise _token_location(token, location).error(
                f"its arrays or tables are nested more than {DEEPEST} deep",
                "reduce the nesting",
            )


def _token_location(token: re.Match[str], location: Location) -> Location:
    return Location(location.file, token.string.count("\n", 0, token.start()) + 1)


_INTEGER = re.compile(r"-?(0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+|[0-9]+(_[0-9]+)+)", re.ASCII)
_MAYBE_INTEGER = re.compile(r"(?<![A-Za-z0-9_-])-?(?:0[xob]|[0-9]+_)", re.ASCII)
"""Occurs before or in every such integer, and is found quickly."""
_KEY_END = re.compile(r"[ \t]*[=.]")


def refuse_integers(text: str, location: Location) -> None:
    """Raise DescriptionError for the first integer that is not written in plain decimal digits.
    Keys may look like that.

    TOML's parser would read hexadecimal, octal and binary integers, and digits with underscores, as
    plain integers. Numbers of a description are plain decimals in every format.
    """
    if _MAYBE_INTEGER.search(text) is None:
        return
    for token in TOKEN.finditer(text):
        written = token["key"]
        if written and _INTEGER.fullmatch(written) and not _KEY_END.match(text, token.end()):
            line = text.count("\n", 0, token.start()) + 1
            raise Location(location.file, line).error(
                f"{quote(written)} is not a plain decimal",
                f"write {quote(_decimal_integer(written))}"
                if len(written) <= 40
                else "write its decimal figures",
            )


def _decimal_integer(written: str) -> str:
    """Return the integer in plain decimal digits."""
    return str(
        int(written, 0) if written.lstrip("-").startswith(("0x", "0o", "0b")) else int(written)
    )
