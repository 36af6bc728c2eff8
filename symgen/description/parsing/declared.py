"""Links and joints of tables of bodies or rows, in symgen's own format: shared by TOML, CSV and
Python programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from symgen.description.coupling import MIMIC_CHOICES
from symgen.description.parsing.loops import read_loops, read_start
from symgen.description.parsing.tables import Table
from symgen.description.quantities import CANONICAL_DIGITS, Location, is_writable, quote
from symgen.description.snapping import Snapper, snap_tolerance
from symgen.description.tree import Connection, ExtraFrame, Inertial, Link, Tree, refuse_many
from symgen.description.universal import KIND as UNIVERSAL
from symgen.description.universal import two_hinges
from symgen.mechanism.drives import NUMBERS, Drive
from symgen.mechanism.inertias import about_centre
from symgen.mechanism.joints import Parameter, joint_type, kinds
from symgen.mechanism.mechanism import Limits, Mimic, Note
from symgen.mechanism.notes import KINDS
from symgen.support.errors import ArgumentError
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, Pose, Shift, Turn, Vector3, compose

LARGEST_REPEAT = 100_000
MOST_UNAPPLIED = 64
"""Largest number of unapplied numbers of a joint. They are copied with each repeated row."""
_INERTIA = ("mass", "centre", "inertia", "about", "gravcomp", "part")
_POSE = ("xyz", "rpy", "steps")
_ROW = (
    "name",
    "joint",
    "parent",
    "type",
    "a",
    "alpha",
    "d",
    "theta",
    "limits",
    "mimic",
    "unapplied",
    "repeat",
)
_ROTOR = ("rotor_inertia", "gear_ratio")
_DRIVE = (*NUMBERS, *_ROTOR)
ZERO = Fraction(0)


def read_declared(top: Table) -> Tree:
    """Return the robot that the table declares. DescriptionError names its location."""
    top.allow(
        "name",
        "description",
        "source",
        "licence",
        "source_sha256",
        "text_sha256",
        "gravity",
        "snap",
        "mimic",
        "friction_speed",
        "convention",
        "base",
        "body",
        "row",
        "frame",
        "loop",
        "start",
        "independent",
        "actuated",
        "note",
    )
    if "snap" in top:
        _adopt_tolerance(top, top.snapper)
    base = top.table("base")
    base.allow("name", *_INERTIA)
    base_link = Link(base.text("name", "base"), _inertials(base, ()), base.location)
    bodies, rows = top.tables("body"), top.tables("row")
    if bodies and rows:
        raise rows[0].location.error(
            "a description has either [[body]] or [[row]], not both", "use one of them"
        )
    if rows:
        convention = top.choice("convention", ("dh", "mdh"), None)
        chain = _Rows(convention, base_link.name, {base_link.name: ()})
        for row in rows:
            chain.read(row)
        links, connections, row_frames = chain.links, chain.connections, chain.row_frames
    else:
        links, connections, row_frames = [], [], {}
        for body in bodies:
            links.append(_body(body))
            between, joints = _joints(body)
            links += between
            connections += joints
    return Tree(
        name=top.text("name", ""),
        links=(base_link, *links),
        connections=tuple(connections),
        frames=tuple(_frame(frame, row_frames) for frame in top.tables("frame")),
        gravity=top.vector("gravity") if "gravity" in top else None,
        source=top.text("source", "")
        + (f" (licence: {top.text('licence')})" if "licence" in top else ""),
        source_sha256=top.text("source_sha256") if "source_sha256" in top else None,
        notes=tuple(_note(note) for note in top.tables("note")),
        location=top.location,
        mimic=top.choice("mimic", MIMIC_CHOICES, None) if "mimic" in top else None,
        read_before=bool(top.tables("note")),
        names_unapplied=True,
        friction_speed=top.number("friction_speed") if "friction_speed" in top else None,
        loops=read_loops(top.tables("loop"), row_frames),
        start=read_start(top.table("start")),
        independent=top.texts("independent"),
        actuated=top.texts("actuated"),
    )


def refuse_wrong_body(body: Table) -> None:
    """Raise DescriptionError for a wrong declaration of a body or of its joint."""
    _body(body)
    _joints(body)


def refuse_wrong_frame(frame: Table) -> None:
    """Raise DescriptionError for a wrong declaration of a named frame."""
    _frame(frame, {})


def _adopt_tolerance(top: Table, snapper: Snapper) -> None:
    """Adopt the snap tolerance of the description."""
    try:
        snapper.prefer(snap_tolerance(top.text("snap")))
    except ArgumentError as error:
        fault, _, hint = str(error).partition("; ")
        raise top.location.error(fault, hint) from None


def _inertials(table: Table, within: Pose) -> tuple[Inertial, ...]:
    """Return the inertias of a body, row or base; `within` leads from the joint's moving frame to
    the frame in which they are given.
    """
    inline = [key for key in _INERTIA if key in table and key != "part"]
    parts = table.tables("part")
    if inline and parts:
        raise table.location.error(
            f"the key '{inline[0]}' conflicts with the list of parts",
            "give the inertia in one way only",
        )
    for part in parts:
        part.allow("link", "rpy", "steps", "mass", "centre", "inertia", "about", "gravcomp")
    return tuple(_inertial(item, within) for item in (parts or ([table] if inline else [])))


def _inertial(table: Table, within: Pose) -> Inertial:
    """Return the inertia of a table."""
    mass, moments = table.number("mass"), table.moments("inertia")
    centre = table.vector("centre")
    if table.choice("about", ("centre", "frame"), "centre") == "frame":
        if "rpy" in table or "steps" in table:
            raise table.at("about").error(
                "'frame' cannot be combined with rpy or steps", "give moments about the centre"
            )
        moments = about_centre(moments, mass, centre)
        if not all(map(is_writable, moments)):
            raise table.at("inertia").error(
                "about the centre it needs numbers beyond a double, or of more than "
                f"{CANONICAL_DIGITS} digits",
                "give it about the centre",
            )
    return Inertial(
        mass,
        moments,
        compose(within, table.pose("centre")),
        table.at("mass"),
        table.text("link", ""),
        table.number("gravcomp", ZERO),
    )


def _body(table: Table) -> Link:
    table.allow("name", "parent", "joint", "frame", *_INERTIA)
    return Link(table.text("name"), _inertials(table, ()), table.location, table.steps("frame"))


def _joints(table: Table) -> tuple[list[Link], list[Connection]]:
    """Return the joint that moves a body; for a universal joint, also the massless link between its
    two axes.
    """
    if "joint" not in table:
        raise table.location.error(
            "the key 'joint' is missing",
            'add joint = { name = "…", type = "revolute", axis = [0, 0, 1] }',
        )
    joint = table.table("joint")
    if joint.text("type") != UNIVERSAL:
        return [], [_joint(table, joint)]
    joint.allow("name", "type", "axes", "limits", *_DRIVE, *_POSE)
    if "axes" not in joint:
        raise joint.location.error(
            "the key 'axes' of a universal joint is missing", "add axes = [[1, 0, 0], [0, 1, 0]]"
        )
    axes = tuple(_axis(entry, joint.at("axes")) for entry in joint.vectors("axes", 2))
    limits = tuple(_limits(entry) for entry in joint.inline("limits", 2)) or (Limits(), Limits())
    child = table.text("name")
    name, parent = joint.text("name", f"{child}_joint"), table.text("parent")
    universal = Connection(
        name, UNIVERSAL, parent, child, joint.pose(), location=joint.location, drive=_drive(joint)
    )
    cross, hinges = two_hinges(universal, (axes[0], axes[1]), (limits[0], limits[1]))
    return [cross], hinges


def _joint(table: Table, joint: Table) -> Connection:
    """Return a joint other than a universal one."""
    kind = joint.text("type")
    of_type = joint_type(kind) if kind in kinds() else None
    of_one_coordinate = ("limits", "mimic") if of_type is None or of_type.nq == 1 else ()
    directed = of_type is None or of_type.directed
    along = ("axis",) if directed else ()
    driven = () if kind == "fixed" else _DRIVE
    joint.allow(
        "name",
        "type",
        *along,
        *of_one_coordinate,
        *driven,
        "unapplied",
        *(name for name, _ in _required_parameters(kind)),
        *_POSE,
    )
    axis = joint.vector("axis", X_AXIS if of_type is None else None) if directed else Z_AXIS
    child = table.text("name")
    return Connection(
        joint.text("name", f"{child}_joint"),
        kind,
        table.text("parent"),
        child,
        joint.pose(),
        _axis(axis, joint.at("axis")),
        _limits(joint.table("limits")),
        _mimic(joint),
        _unapplied(joint),
        joint.location,
        _parameters(joint, kind),
        drive=_drive(joint),
    )


def _axis(axis: Vector3, location: Location) -> Vector3:
    if not any(axis):
        raise location.error("the axis is zero", "give a nonzero axis, such as [0, 0, 1]")
    return axis


def _required_parameters(kind: str) -> tuple[Parameter, ...]:
    """Return the parameters of a joint type; empty for an unknown type."""
    return joint_type(kind).parameters if kind in kinds() else ()


def _parameters(table: Table, kind: str) -> tuple[tuple[str, Fraction], ...]:
    """Return the parameters of a joint as (name, value). Raises DescriptionError for a missing or
    zero parameter.
    """
    parameters = []
    for name, meaning in _required_parameters(kind):
        if name not in table:
            raise table.location.error(
                f"the key '{name}' of a {kind} joint is missing", f"add {name} = …, {meaning}"
            )
        value = table.number(name)
        if not value:
            raise table.at(name).error(
                f"a {kind} joint with a {name} of zero is a joint of another type",
                "declare that type",
            )
        parameters.append((name, value))
    return tuple(parameters)


def _limits(table: Table) -> Limits:
    table.allow("lower", "upper", "velocity", "effort")
    return Limits(
        *(
            table.number(key) if key in table else None
            for key in ("lower", "upper", "velocity", "effort")
        )
    )


def _unapplied(joint: Table) -> tuple[tuple[str, Fraction], ...]:
    read_declared = tuple(joint.entries("unapplied"))
    if len(read_declared) > MOST_UNAPPLIED:
        raise joint.at("unapplied").error(
            f"it has {len(read_declared)} entries, but symgen reads at most {MOST_UNAPPLIED}",
            "remove some",
        )
    return read_declared


def _drive(joint: Table) -> Drive:
    """Return the drive of a joint: numbers of the whole joint, or armature, damping and friction of
    each velocity.
    """
    several = {
        name: joint.numbers(name) for name in NUMBERS if isinstance(joint.content.get(name), list)
    }
    single = {name: joint.number(name) for name in NUMBERS if name in joint and name not in several}
    single |= _rotor_armature(joint)
    if "rest" in joint and not single.get("stiffness"):
        raise joint.at("rest").error(
            "a rest position needs a stiffness", "add stiffness = …, or remove rest"
        )
    count = max(map(len, several.values()), default=1)
    _refuse_uneven(joint, several, count)
    return Drive.of_velocities(
        {name: several.get(name, (single.get(name, ZERO),) * count) for name in NUMBERS}
    )


def _rotor_armature(joint: Table) -> dict[str, Fraction]:
    """Return the armature n²·J of a rotor of inertia J behind a gear of ratio n, if a rotor is
    declared.
    """
    if "rotor_inertia" not in joint:
        if "gear_ratio" in joint:
            raise joint.at("gear_ratio").error(
                "a gear ratio needs a rotor inertia", "add rotor_inertia = …, in kg m²"
            )
        return {}
    if "armature" in joint:
        raise joint.at("armature").error(
            "armature conflicts with rotor_inertia", "give one of the two"
        )
    armature = joint.number("gear_ratio", Fraction(1)) ** 2 * joint.number("rotor_inertia")
    if not is_writable(armature):
        raise joint.at("gear_ratio").error(
            "the resulting armature is beyond a double, or has more than "
            f"{CANONICAL_DIGITS} digits",
            "give fewer digits",
        )
    return {"armature": armature}


def _refuse_uneven(
    joint: Table, several: Mapping[str, Sequence[Fraction]], velocities: int
) -> None:
    """Raise DescriptionError for a list where one number is required, or a list shorter than the
    longest.
    """
    for name, values in several.items():
        if name in ("stiffness", "rest") or len(values) != velocities:
            another = f", and another kind {velocities}" if len(values) != velocities else ""
            raise joint.at(name).error(
                f"it has {len(values)} numbers{another}",
                "give one number; armature, damping and friction may have one for each velocity",
            )


def _mimic(joint: Table) -> Mimic | None:
    if "mimic" not in joint:
        return None
    table = joint.table("mimic")
    table.allow("joint", "multiplier", "offset")
    return Mimic(
        table.text("joint"),
        table.number("multiplier", Fraction(1)),
        table.number("offset", Fraction(0)),
    )


@dataclass
class _Rows:
    """Links and joints of Denavit-Hartenberg rows so far.

    `row_frames` has the pose of each row's frame in the frame that its joint moves. The joint of a
    standard row rotates about the z axis of the previous row, so that its body's frame is there.
    """

    convention: str
    previous_link: str
    row_frames: dict[str, Pose]
    links: list[Link] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    copies: int = 0

    def read(self, row: Table) -> None:
        """Add the link and joint of a row, as often as it is repeated."""
        kind = _type_of_row(row)
        for _ in range(row.count("repeat", LARGEST_REPEAT)):
            self.copies += 1 + len(row.tables("part"))
            refuse_many(max(self.copies, len(self.links)), "rows and parts", row.location)
            self._add(row, kind)

    def _add(self, row: Table, kind: str) -> None:
        name, joint = self._numbered(row, "name", "link"), self._numbered(row, "joint", "joint")
        parent = self.previous_link if "repeat" in row else row.text("parent", self.previous_link)
        if parent not in self.row_frames:
            raise row.at("parent").error(
                f"{quote(parent)} is not an earlier row", "name the base or an earlier row"
            )
        to_joint, to_row = _steps_of_row(row, kind, self.convention)
        end = compose(to_row)
        self.connections.append(
            Connection(
                joint,
                kind,
                parent,
                name,
                compose(self.row_frames[parent], to_joint),
                Z_AXIS,
                _limits(row.table("limits")),
                _mimic(row),
                _unapplied(row),
                row.location,
                _parameters(row, kind),
                drive=_drive(row),
            )
        )
        self.links.append(Link(name, _inertials(row, end), row.location, end))
        self.row_frames[name] = end
        self.previous_link = name

    def _numbered(self, row: Table, key: str, stem: str) -> str:
        """Return the declared name, with a number appended if the row is repeated, or a numbered
        default.
        """
        if key in row and "repeat" not in row:
            return row.text(key)
        return f"{row.text(key, stem)}{len(self.links) + 1}"


def _type_of_row(row: Table) -> str:
    """Return the joint type of a row. Raises DescriptionError for a type with several coordinates,
    or an unknown key.
    """
    kind = row.text("type", "revolute")
    if kind in kinds() and joint_type(kind).nq > 1:
        raise row.at("type").error(
            f"a row needs a joint of one coordinate, but a {kind} joint has {joint_type(kind).nq}",
            "declare the robot by [[body]]",
        )
    parameters = (name for name, _ in _required_parameters(kind))
    row.allow(*_ROW, *_DRIVE, *parameters, *_INERTIA)
    return kind


def _steps_of_row(row: Table, kind: str, convention: str) -> tuple[Pose, Pose]:
    """Return the steps from the parent's frame to the joint, and from the frame that the joint
    moves to the row's frame.
    """
    turn = Turn(Z_AXIS, row.angle("theta"))
    lift = Shift((ZERO, ZERO, row.number("d", ZERO)))
    twist = Turn(X_AXIS, row.angle("alpha"))
    length = Shift((row.number("a", ZERO), ZERO, ZERO))
    if convention != "dh":
        return (twist, length, turn, lift), ()
    slides = kind in kinds() and joint_type(kind).slides
    return ((turn, lift), (length, twist)) if slides else ((turn,), (lift, length, twist))


def _frame(table: Table, row_frames: dict[str, Pose]) -> ExtraFrame:
    table.allow("name", "body", *_POSE)
    body = table.text("body")
    return ExtraFrame(
        table.text("name"), body, compose(row_frames.get(body, ()), table.pose()), table.location
    )


def _note(table: Table) -> Note:
    table.allow("kind", "text")
    return Note(table.choice("kind", tuple(KINDS), None), table.text("text"))
