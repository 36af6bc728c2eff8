"""`Robot`: a mechanism declared in Python, body by body or by Denavit-Hartenberg rows, in the words of symgen's own format.

    arm = (symgen.Robot("arm", gravity=(0, 0, "-9.81"))
           .body("upper", parent="base", type="revolute", axis=(0, 1, 0), mass=2.5, centre=(0.2, 0, 0),
                 inertia=(0.01, 0, 0, 0.03, 0, 0.03))
           .body("fore", parent="upper", type="revolute", axis=(0, 1, 0), xyz=(0.4, 0, 0), mass=1.5, centre=("3/20", 0, 0)))
    robot = arm.build(base="free")                # or symgen.load(arm, base="free")

A number is an int, a Fraction, a text (`"1/3"`, of an angle also `"pi/2"` or `"90 deg"`) or a float, which counts as the shortest
decimal that it is printed by: 0.1 is one tenth. Lengths in m, angles in rad, masses in kg, inertia in kg m². What is read from
Python goes the way of what is read from a file: rotations are snapped, fixed joints lumped, and notes tell of each.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Self, Unpack

from symgen.description.loading import load
from symgen.description.parsing.declared import declared, refuse_wrong_body, refuse_wrong_frame
from symgen.description.parsing.loops import refuse_wrong_loop
from symgen.description.parsing.tables import Table
from symgen.description.quantities import Place, fraction_text, shown
from symgen.description.snapping import Snapper
from symgen.description.tree import Tree
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import ArgumentError
from symgen.vocabulary.options import RobotOptions

Number = int | float | str | Fraction
Vector = Sequence[Number]
_LIMITS = ("lower", "upper", "velocity", "effort")
_MIMIC = ("joint", "multiplier", "offset")


class Robot:
    """A robot that is being declared; each call adds to it and gives it back. `build` makes the Mechanism.

    `name`: of the robot, and with it of the C. `gravity`: three numbers (m/s²) in the base, (0, 0, -9.81) without it. `base`: the
    name of the link that stands still. `mimic`: what is done with joints that follow others, as of `symgen.load`.
    `friction_speed`: ε of friction. DescriptionError, at the call that is at fault, names the body and what to do.
    """

    def __init__(
        self,
        name: str,
        *,
        gravity: Vector | None = None,
        base: str = "base",
        mimic: str | None = None,
        friction_speed: Number | None = None,
        source: str = "",
    ) -> None:
        self.name = name
        top = {
            "name": name,
            "gravity": gravity,
            "mimic": mimic,
            "friction_speed": friction_speed,
            "source": source or None,
        }
        self._content: dict[str, Any] = {**_plain(top), "base": {"name": base}}
        self._place = Place(f"robot {shown(name)}")
        declared(self._table(self._content, Snapper()))

    def body(
        self,
        name: str,
        *,
        parent: str,
        type: str,
        joint: str | None = None,
        axis: Vector | None = None,
        axes: Sequence[Vector] | None = None,
        xyz: Vector | None = None,
        rpy: Vector | None = None,
        quaternion: Vector | None = None,
        steps: Sequence[Mapping[str, Any]] | None = None,
        mass: Number | None = None,
        centre: Vector | None = None,
        inertia: Any = None,
        about: str | None = None,
        parts: Iterable[Mapping[str, Any]] | None = None,
        limits: Any = None,
        mimic: Any = None,
        gravcomp: Any = None,
        **numbers: Any,
    ) -> Self:
        """Add a body and the joint that moves it.

        `parent`: a body or the base. `type`: of the joint (revolute, continuous, prismatic, helical, cylindrical, planar,
        spherical, free, universal, fixed). `joint`: its name, `name` with _joint without it. `axis`: its direction in its own
        frame; `axes`: the two of a universal one. That frame stands in the parent's at `xyz` with `rpy` (Rz Ry Rx) or
        `quaternion` (w, x, y, z of any length), or at `steps`, each a table: {"shift": …}, {"turn": …, "axis": …},
        {"quaternion": …} or {"slide": …, "axis": …}.

        `mass`, `centre` and `inertia` in the body's frame: six moments Ixx Ixy Ixz Iyy Iyz Izz, a matrix 3×3 or a table of their
        names, `about` the "centre" or the "frame"; nothing else is a point, or no mass at all. `parts`: several such tables.
        `gravcomp`: the fraction of its weight that is borne.
        `limits`: (lower, upper) or a table of lower, upper, velocity, effort. `mimic`: a joint, or (joint, multiplier, offset).
        `numbers`: armature, rotor_inertia, gear_ratio, damping, friction, stiffness, rest, of a screw its pitch; `unapplied`.
        """
        joint_table = {
            "name": joint,
            "type": type,
            "axis": axis,
            "axes": axes,
            **_posed(xyz, rpy, quaternion, steps, self._at(name)),
            "limits": _named(limits, _LIMITS),
            "mimic": _named(mimic, _MIMIC),
            **numbers,
        }
        table = {
            "name": name,
            "parent": parent,
            "joint": _plain(joint_table),
            "mass": mass,
            "centre": centre,
            "inertia": _moments(inertia),
            "about": about,
            "gravcomp": gravcomp,
            "part": None if parts is None else [*map(_plain, parts)],
        }
        body = _plain(table)
        refuse_wrong_body(self._table(body, Snapper(), f"body {shown(name)}"))
        return self._added("body", body)

    def rows(self, convention: str, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Add Denavit-Hartenberg rows, "dh" or "mdh" (Craig's), each a table of name, joint, parent, type, a, alpha, d, theta,
        limits, mimic, mass, centre, inertia, about, repeat and the numbers of a drive.
        """
        self._content["convention"] = convention
        for row in rows:
            table = {
                **row,
                "limits": _named(row.get("limits"), _LIMITS),
                "mimic": _named(row.get("mimic"), _MIMIC),
                "inertia": _moments(row.get("inertia")),
            }
            self._added("row", _plain(table))
        declared(self._table(self._content, Snapper()))
        return self

    def frame(
        self,
        name: str,
        body: str,
        *,
        xyz: Vector | None = None,
        rpy: Vector | None = None,
        quaternion: Vector | None = None,
        steps: Sequence[Mapping[str, Any]] | None = None,
    ) -> Self:
        """Add a named frame on a body or the base."""
        frame = _plain(
            {"name": name, "body": body, **_posed(xyz, rpy, quaternion, steps, self._at(name))}
        )
        refuse_wrong_frame(self._table(frame, Snapper(), f"frame {shown(name)}"))
        return self._added("frame", frame)

    def loop(self, name: str, type: str, *, first: Any, second: Any, **numbers: Number) -> Self:
        """Add a joint that closes a loop between two links, which may be further frames or the base.

        `type`: a file of `symgen/mechanism/closures/` (revolute, prismatic, spherical, universal, weld, point, distance …). `first` and
        `second`: a link, (link, xyz), (link, xyz, rpy), or a table of link and xyz, rpy, quaternion or steps. `numbers`: what the
        type asks for, as `distance` (m).
        """
        table = {
            "name": name,
            "type": type,
            "first": self._end(first, name),
            "second": self._end(second, name),
            **numbers,
        }
        loop = _plain(table)
        refuse_wrong_loop(self._table(loop, Snapper(), f"loop {shown(name)}"))
        return self._added("loop", loop)

    def start(
        self, positions: Mapping[str, Number | Vector] | None = None, /, **more: Number | Vector
    ) -> Self:
        """Say where closing the loops starts: by joint, its coordinate or all of them (rad, m, a quaternion x y z w)."""
        start = {**self._content.get("start", {}), **_plain({**(positions or {}), **more})}
        declared(self._table({**self._content, "start": start}, Snapper()))
        self._content["start"] = start
        return self

    def independent(self, *joints: str) -> Self:
        """Say on which joints the velocities of all others hang where loops are closed."""
        return self._chosen("independent", joints)

    def actuated(self, *joints: str) -> Self:
        """Say which joints are driven where loops are closed; without it the independent ones are."""
        return self._chosen("actuated", joints)

    @property
    def label(self) -> str:
        """What sentences call it."""
        return self._place.file

    def tree(self, snapper: Snapper) -> Tree:
        """What a reader of a file hands over."""
        found = declared(self._table(self._content, snapper))
        text = json.dumps(self._content, sort_keys=True)
        return replace(found, read_sha256=hashlib.sha256(text.encode()).hexdigest())

    def build(self, **options: Unpack[RobotOptions]) -> Mechanism:
        """The mechanism, read with the options of `symgen.load`."""
        return load(self, **options)

    def __repr__(self) -> str:
        return f"<Robot {self.name}: {len(self._content.get('body', self._content.get('row', ())))} bodies declared>"

    def _chosen(self, what: str, joints: tuple[str, ...]) -> Self:
        names = [*joints]
        declared(self._table({**self._content, what: names}, Snapper()))
        self._content[what] = names
        return self

    def _added(self, key: str, table: dict[str, Any]) -> Self:
        self._content.setdefault(key, []).append(table)
        return self

    def _end(self, end: Any, name: str) -> Any:
        """A table of what is given in an order; the pose of a table is given in one way."""
        if isinstance(end, Mapping) and "quaternion" in end:
            posed = _posed(
                end.get("xyz"), end.get("rpy"), end["quaternion"], end.get("steps"), self._at(name)
            )
            return {
                **{key: one for key, one in end.items() if key not in ("xyz", "quaternion")},
                **posed,
            }
        return _named(end, ("link", "xyz", "rpy"))

    def _at(self, name: str) -> Place:
        return self._place.at(f"{shown(name)}")

    def _table(self, content: dict[str, Any], snapper: Snapper, element: str = "") -> Table:
        return Table(content, self._place.at(element) if element else self._place, snapper)


def _plain(value: Any) -> Any:
    """What TOML's parser would give of it: tables, arrays, texts and whole numbers; None is left out."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items() if one is not None}
    if isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Fraction):
        return fraction_text(value)
    if isinstance(value, Real):
        return repr(float(value))
    return [_plain(one) for one in value] if isinstance(value, Iterable) else repr(value)


def _posed(xyz: Any, rpy: Any, quaternion: Any, steps: Any, place: Place) -> dict[str, Any]:
    given = [
        name
        for name, one in (("rpy", rpy), ("quaternion", quaternion), ("steps", steps))
        if one is not None
    ]
    if len(given) > 1 or (steps is not None and xyz is not None):
        raise place.error(
            f"{' stands beside '.join(given if len(given) > 1 else ['xyz', 'steps'])}",
            "give its pose in one way",
        )
    if quaternion is None:
        return {"xyz": xyz, "rpy": rpy, "steps": steps}
    return {"steps": [*([{"shift": xyz}] if xyz is not None else []), {"quaternion": quaternion}]}


def _named(value: Any, names: Sequence[str]) -> Any:
    """A table of what is given in an order; a text alone is the first."""
    if value is None or isinstance(value, Mapping):
        return value
    several = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    if several and all(
        isinstance(one, Mapping | tuple | list) for one in several
    ):  # the two of a universal joint
        return [_named(one, names) for one in several]
    if len(several) > len(names):
        raise ArgumentError(f"{shown(value)} has {len(several)} entries; give {', '.join(names)}")
    return dict(zip(names, several, strict=False))


def _moments(inertia: Any) -> Any:
    """Return the six moments of a matrix; anything else as it is."""
    if isinstance(inertia, Mapping) or not _is_list(inertia):
        return inertia
    rows = [list(entry) if _is_list(entry) else entry for entry in inertia]
    if len(rows) != 3 or not all(isinstance(row, list) and len(row) == 3 for row in rows):
        return rows
    if any(_plain(rows[i][j]) != _plain(rows[j][i]) for i, j in ((1, 0), (2, 0), (2, 1))):
        raise ArgumentError(
            "the matrix of inertia is not symmetric; give six moments, or a symmetric matrix"
        )
    return [rows[i][j] for i in range(3) for j in range(i, 3)]


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)
