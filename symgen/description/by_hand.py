"""`Robot`: a mechanism declared in Python, body by body or by Denavit-Hartenberg rows, with the
keys of symgen's own format.

    arm = (symgen.Robot("arm", gravity=(0, 0, "-9.81"))
           .body("upper", parent="base", type="revolute", axis=(0, 1, 0), mass=2.5,
                  centre=(0.2, 0, 0), inertia=(0.01, 0, 0, 0.03, 0, 0.03))
           .body("fore", parent="upper", type="revolute", axis=(0, 1, 0), xyz=(0.4, 0, 0),
                  mass=1.5, centre=("3/20", 0, 0)))
    robot = arm.build(base="free")                # or symgen.load(arm, base="free")

A number is an int, a Fraction, a string (`"1/3"`; for an angle also `"pi/2"` or `"90 deg"`) or a
float. A float is read as the shortest decimal that prints it: 0.1 is one tenth. Lengths are in m,
angles in rad, masses in kg, inertia in kg m². A robot from Python is treated like one from a file:
rotations are snapped, fixed joints are lumped, and notes report each change.
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
from symgen.description.parsing.declared import read_declared, refuse_wrong_body, refuse_wrong_frame
from symgen.description.parsing.loops import refuse_wrong_loop
from symgen.description.parsing.tables import Table
from symgen.description.quantities import Location, fraction_text, quote
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
    """A robot under construction. Each method adds an element and returns the robot; `build`
    returns the Mechanism.

    - `name`: name of the robot, and of the generated C.
    - `gravity`: three numbers (m/s²) in the axes of the base; default (0, 0, -9.81).
    - `base`: name of the fixed link.
    - `mimic`: treatment of mimic joints, as in `symgen.load`.
    - `friction_speed`: ε of the smoothed friction (rad/s, m/s).

    A method raises DescriptionError for a wrong argument; the message names the element and the
    remedy.
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
        self._content: dict[str, Any] = {**_toml_value(top), "base": {"name": base}}
        self._location = Location(f"robot {quote(name)}")
        read_declared(self._table(self._content, Snapper()))

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

        - `parent`: a body or the base. `joint`: name of the joint; default `name` with the suffix
          _joint.
        - `type`: type of the joint (revolute, continuous, prismatic, helical, cylindrical, planar,
          spherical, free, universal, fixed).
        - `axis`: direction of the joint's axis in its own frame; `axes`: the two axes of a
          universal joint.
        - `xyz`, and `rpy` (Rz Ry Rx) or `quaternion` (w, x, y, z of any length): pose of the
          joint's frame in the parent's frame. `steps` replaces them, each step a dict: {"shift":
          …}, {"turn": …, "axis": …}, {"quaternion": …} or {"slide": …, "axis": …}.
        - `mass` (kg), `centre` (m) and `inertia` (kg m²) in the body's frame. `inertia`: six
          moments Ixx Ixy Ixz Iyy Iyz Izz, a matrix 3×3 or a dict of their names, about the "centre"
          or the "frame" (`about`). Without `inertia` the body is a point mass, without `mass`
          massless. `parts`: several inertias, each a dict of these keys.
        - `gravcomp`: fraction of the weight that gravity compensation cancels.
        - `limits`: (lower, upper), or a dict of lower, upper, velocity, effort. `mimic`: a joint,
          or (joint, multiplier, offset).
        - `numbers`: armature, rotor_inertia, gear_ratio, damping, friction, stiffness, rest; pitch
          of a screw; `unapplied`.

        Returns the robot. Raises DescriptionError for a wrong argument.
        """
        joint_table = {
            "name": joint,
            "type": type,
            "axis": axis,
            "axes": axes,
            **_pose_keys(xyz, rpy, quaternion, steps, self._location_of(name)),
            "limits": _with_names(limits, _LIMITS),
            "mimic": _with_names(mimic, _MIMIC),
            **numbers,
        }
        table = {
            "name": name,
            "parent": parent,
            "joint": _toml_value(joint_table),
            "mass": mass,
            "centre": centre,
            "inertia": _six_moments(inertia),
            "about": about,
            "gravcomp": gravcomp,
            "part": None if parts is None else [*map(_toml_value, parts)],
        }
        body = _toml_value(table)
        refuse_wrong_body(self._table(body, Snapper(), f"body {quote(name)}"))
        return self._append("body", body)

    def rows(self, convention: str, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Add Denavit-Hartenberg rows in the `convention` "dh" or "mdh" (Craig's).

        Each row is a dict of name, joint, parent, type, a, alpha, d, theta, limits, mimic, mass,
        centre, inertia, about, repeat and drive values.
        """
        self._content["convention"] = convention
        for row in rows:
            table = {
                **row,
                "limits": _with_names(row.get("limits"), _LIMITS),
                "mimic": _with_names(row.get("mimic"), _MIMIC),
                "inertia": _six_moments(row.get("inertia")),
            }
            self._append("row", _toml_value(table))
        read_declared(self._table(self._content, Snapper()))
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
        """Add a named frame on a body or the base, at a pose as in `body`."""
        frame = _toml_value(
            {
                "name": name,
                "body": body,
                **_pose_keys(xyz, rpy, quaternion, steps, self._location_of(name)),
            }
        )
        refuse_wrong_frame(self._table(frame, Snapper(), f"frame {quote(name)}"))
        return self._append("frame", frame)

    def loop(self, name: str, type: str, *, first: Any, second: Any, **numbers: Number) -> Self:
        """Add a joint that closes a loop between two links, named frames or the base.

        `type`: a file of `symgen/mechanism/closures/` (revolute, prismatic, spherical, universal,
        weld, point, distance …). `first` and `second`: a link, (link, xyz), (link, xyz, rpy), or a
        dict of link and xyz, rpy, quaternion or steps. `numbers`: parameters of the type, such as
        `distance` (m).
        """
        table = {
            "name": name,
            "type": type,
            "first": self._loop_end(first, name),
            "second": self._loop_end(second, name),
            **numbers,
        }
        loop = _toml_value(table)
        refuse_wrong_loop(self._table(loop, Snapper(), f"loop {quote(name)}"))
        return self._append("loop", loop)

    def start(
        self, positions: Mapping[str, Number | Vector] | None = None, /, **more: Number | Vector
    ) -> Self:
        """Set coordinates from which the loops are closed: by joint, one coordinate or all of them
        (rad, m, a quaternion x y z w).
        """
        start = {**self._content.get("start", {}), **_toml_value({**(positions or {}), **more})}
        read_declared(self._table({**self._content, "start": start}, Snapper()))
        self._content["start"] = start
        return self

    def independent(self, *joints: str) -> Self:
        """Set the independent joints of closed loops, one per degree of freedom."""
        return self._set_joints("independent", joints)

    def actuated(self, *joints: str) -> Self:
        """Set the actuated joints of closed loops; by default the independent joints."""
        return self._set_joints("actuated", joints)

    @property
    def label(self) -> str:
        """Name of the robot in messages."""
        return self._location.file

    def tree(self, snapper: Snapper) -> Tree:
        """Return the tree, as a reader of a file does."""
        tree = read_declared(self._table(self._content, snapper))
        text = json.dumps(self._content, sort_keys=True)
        return replace(tree, read_sha256=hashlib.sha256(text.encode()).hexdigest())

    def build(self, **options: Unpack[RobotOptions]) -> Mechanism:
        """Return the mechanism, read with the options of `symgen.load`."""
        return load(self, **options)

    def __repr__(self) -> str:
        bodies = self._content.get("body", self._content.get("row", ()))
        return f"<Robot {self.name}: {len(bodies)} bodies declared>"

    def _set_joints(self, key: str, joints: tuple[str, ...]) -> Self:
        names = [*joints]
        read_declared(self._table({**self._content, key: names}, Snapper()))
        self._content[key] = names
        return self

    def _append(self, key: str, table: dict[str, Any]) -> Self:
        self._content.setdefault(key, []).append(table)
        return self

    def _loop_end(self, end: Any, name: str) -> Any:
        """Return a loop end as a table; positional entries get their names."""
        if isinstance(end, Mapping) and "quaternion" in end:
            posed = _pose_keys(
                end.get("xyz"),
                end.get("rpy"),
                end["quaternion"],
                end.get("steps"),
                self._location_of(name),
            )
            return {
                **{key: value for key, value in end.items() if key not in ("xyz", "quaternion")},
                **posed,
            }
        return _with_names(end, ("link", "xyz", "rpy"))

    def _location_of(self, name: str) -> Location:
        return self._location.at(f"{quote(name)}")

    def _table(self, content: dict[str, Any], snapper: Snapper, element: str = "") -> Table:
        return Table(content, self._location.at(element) if element else self._location, snapper)


def _toml_value(value: Any) -> Any:
    """Return a value as TOML's parser would: tables, arrays, strings, integers. None is omitted."""
    if isinstance(value, Mapping):
        return {str(key): _toml_value(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Fraction):
        return fraction_text(value)
    if isinstance(value, Real):
        return repr(float(value))
    return [_toml_value(entry) for entry in value] if isinstance(value, Iterable) else repr(value)


def _pose_keys(
    xyz: Any, rpy: Any, quaternion: Any, steps: Any, location: Location
) -> dict[str, Any]:
    """Return the keys of a pose. Raises DescriptionError if the pose is given in two ways."""
    rotations = [
        name
        for name, value in (("rpy", rpy), ("quaternion", quaternion), ("steps", steps))
        if value is not None
    ]
    if len(rotations) > 1 or (steps is not None and xyz is not None):
        raise location.error(
            f"{' and '.join(rotations if len(rotations) > 1 else ['xyz', 'steps'])} both give its"
            " pose",
            "keep one of them",
        )
    if quaternion is None:
        return {"xyz": xyz, "rpy": rpy, "steps": steps}
    return {"steps": [*([{"shift": xyz}] if xyz is not None else []), {"quaternion": quaternion}]}


def _with_names(value: Any, names: Sequence[str]) -> Any:
    """Return positional values as a table with these names; a single string is the first."""
    if value is None or isinstance(value, Mapping):
        return value
    entries = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    if entries and all(
        isinstance(entry, Mapping | tuple | list) for entry in entries
    ):  # the two of a universal joint
        return [_with_names(entry, names) for entry in entries]
    if len(entries) > len(names):
        raise ArgumentError(f"{quote(value)} has {len(entries)} entries; give {', '.join(names)}")
    return dict(zip(names, entries, strict=False))


def _six_moments(inertia: Any) -> Any:
    """Return the six moments of a matrix; other values are returned unchanged."""
    if isinstance(inertia, Mapping) or not _is_list(inertia):
        return inertia
    rows = [list(entry) if _is_list(entry) else entry for entry in inertia]
    if len(rows) != 3 or not all(isinstance(row, list) and len(row) == 3 for row in rows):
        return rows
    if any(_toml_value(rows[i][j]) != _toml_value(rows[j][i]) for i, j in ((1, 0), (2, 0), (2, 1))):
        raise ArgumentError(
            "the matrix of inertia is not symmetric; give six moments, or a symmetric matrix"
        )
    return [rows[i][j] for i in range(3) for j in range(i, 3)]


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)
