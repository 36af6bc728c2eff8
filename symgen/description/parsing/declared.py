"""Tables of bodies or rows, as symgen's own format has them, to links and joints: what TOML, CSV and Python programs share."""

from __future__ import annotations

from fractions import Fraction

from symgen.description.coupling import WAYS
from symgen.description.parsing.loops import loops, start
from symgen.description.parsing.tables import Table
from symgen.description.quantities import CANONICAL_DIGITS, Place, is_writable, shown
from symgen.description.snapping import Snapper, tolerance
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
"""Numbers that a joint may declare without any being applied. They are copied with each row that is repeated."""
_INERTIA = ("mass", "centre", "inertia", "about", "gravcomp", "part")
_POSE = ("xyz", "rpy", "steps")
_ROTOR = ("rotor_inertia", "gear_ratio")
_DRIVE = (*NUMBERS, *_ROTOR)
ZERO = Fraction(0)


def declared(top: Table) -> Tree:
    """The robot that the whole table declares; DescriptionError names its place."""
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
        _prefer(top, top.snapper)
    base = top.table("base")
    base.allow("name", *_INERTIA)
    base_link = Link(base.text("name", "base"), _inertials(base, ()), base.place)
    bodies, rows = top.tables("body"), top.tables("row")
    if bodies and rows:
        raise rows[0].place.error(
            "a description has either [[body]] or [[row]], not both", "write them all one way"
        )
    if rows:
        links, connections, ends = _rows(
            rows, top.choice("convention", ("dh", "mdh"), None), base_link.name
        )
    else:
        links, connections, ends = [], [], {}
        for body in bodies:
            links.append(_body(body))
            between, joints = _joints(body)
            links += between
            connections += joints
    return Tree(
        name=top.text("name", ""),
        links=(base_link, *links),
        connections=tuple(connections),
        frames=tuple(_frame(frame, ends) for frame in top.tables("frame")),
        gravity=top.vector("gravity") if "gravity" in top else None,
        source=top.text("source", "")
        + (f" (licence: {top.text('licence')})" if "licence" in top else ""),
        source_sha256=top.text("source_sha256") if "source_sha256" in top else None,
        notes=tuple(_note(note) for note in top.tables("note")),
        place=top.place,
        mimic=top.choice("mimic", WAYS, None) if "mimic" in top else None,
        read_before=bool(top.tables("note")),
        names_unapplied=True,
        friction_speed=top.number("friction_speed") if "friction_speed" in top else None,
        loops=loops(top.tables("loop"), ends),
        start=start(top.table("start")),
        independent=top.texts("independent"),
        actuated=top.texts("actuated"),
    )


def refuse_wrong_body(body: Table) -> None:
    """DescriptionError where a body, or the joint that moves it, is not declared as it should be."""
    _body(body)
    _joints(body)


def refuse_wrong_frame(frame: Table) -> None:
    """The same of a named frame."""
    _frame(frame, {})


def _prefer(top: Table, snapper: Snapper) -> None:
    try:
        snapper.prefer(tolerance(top.text("snap")))
    except ArgumentError as error:
        what, _, hint = str(error).partition("; ")
        raise top.place.error(what, hint) from None


def _inertials(table: Table, within: Pose) -> tuple[Inertial, ...]:
    """The inertias of a body, row or base; `within` leads from the joint's moving frame to the frame they are given in."""
    inline = [key for key in _INERTIA if key in table and key != "part"]
    parts = table.tables("part")
    if inline and parts:
        raise table.place.error(
            f"the key '{inline[0]}' stands beside a list of parts",
            "give the inertia in one way only",
        )
    for part in parts:
        part.allow("link", "rpy", "steps", "mass", "centre", "inertia", "about", "gravcomp")
    return tuple(_inertial(item, within) for item in (parts or ([table] if inline else [])))


def _inertial(table: Table, within: Pose) -> Inertial:
    mass, moments = table.number("mass"), table.moments("inertia")
    own_axes = "link" in table or "rpy" in table or "steps" in table
    centre = table.vector("centre")
    if table.choice("about", ("centre", "frame"), "centre") == "frame":
        if "rpy" in table or "steps" in table:
            raise table.at("about").error(
                "'frame' cannot be combined with rpy or steps", "give moments about the centre"
            )
        moments = about_centre(moments, mass, centre)
        if not all(map(is_writable, moments)):
            raise table.at("inertia").error(
                "about the centre it takes numbers beyond a double, or of more than "
                f"{CANONICAL_DIGITS} digits",
                "give it about the centre",
            )
    pose = table.pose("centre") if own_axes else (Shift(centre),)
    return Inertial(
        mass,
        moments,
        compose(within, pose),
        table.at("mass"),
        table.text("link", ""),
        table.number("gravcomp", ZERO),
    )


def _body(table: Table) -> Link:
    table.allow("name", "parent", "joint", "frame", *_INERTIA)
    return Link(table.text("name"), _inertials(table, ()), table.place, table.steps("frame"))


def _joints(table: Table) -> tuple[list[Link], list[Connection]]:
    """The joint that moves a body; of a universal one the link between its two axes as well."""
    if "joint" not in table:
        raise table.place.error(
            "the key 'joint' is missing",
            'add joint = { name = "…", type = "revolute", axis = [0, 0, 1] }',
        )
    joint = table.table("joint")
    if joint.text("type") != UNIVERSAL:
        return [], [_joint(table, joint)]
    joint.allow("name", "type", "axes", "limits", *_DRIVE, *_POSE)
    if "axes" not in joint:
        raise joint.place.error(
            "the key 'axes' of a universal joint is missing", "add axes = [[1, 0, 0], [0, 1, 0]]"
        )
    axes = tuple(_axis(one, joint.at("axes")) for one in joint.vectors("axes", 2))
    limits = tuple(_limits(one) for one in joint.inline("limits", 2)) or (Limits(), Limits())
    child = table.text("name")
    name, parent = joint.text("name", f"{child}_joint"), table.text("parent")
    whole = Connection(
        name, UNIVERSAL, parent, child, joint.pose(), place=joint.place, drive=_drive(joint)
    )
    cross, hinges = two_hinges(whole, (axes[0], axes[1]), (limits[0], limits[1]))
    return [cross], hinges


def _joint(table: Table, joint: Table) -> Connection:
    kind = joint.text("type")
    of_type = joint_type(kind) if kind in kinds() else None
    one = ("limits", "mimic") if of_type is None or of_type.nq == 1 else ()
    directed = of_type is None or of_type.directed
    along = ("axis",) if directed else ()
    driven = () if kind == "fixed" else _DRIVE
    joint.allow(
        "name",
        "type",
        *along,
        *one,
        *driven,
        "unapplied",
        *(name for name, _ in _asked(kind)),
        *_POSE,
    )
    axis = (
        joint.vector("axis", X_AXIS if kind == "fixed" or of_type is None else None)
        if directed
        else Z_AXIS
    )
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
        joint.place,
        _parameters(joint, kind),
        drive=_drive(joint),
    )


def _axis(axis: Vector3, place: Place) -> Vector3:
    if not any(axis):
        raise place.error("the axis is zero", "give it a direction, such as [0, 0, 1]")
    return axis


def _asked(kind: str) -> tuple[Parameter, ...]:
    """The numbers that a joint of this type declares; none of a type that there is not."""
    return joint_type(kind).parameters if kind in kinds() else ()


def _parameters(table: Table, kind: str) -> tuple[tuple[str, Fraction], ...]:
    found = []
    for name, what in _asked(kind):
        if name not in table:
            raise table.place.error(
                f"the key '{name}' of a {kind} joint is missing", f"add {name} = …, {what}"
            )
        value = table.number(name)
        if not value:
            raise table.at(name).error(
                f"a {kind} joint with a {name} of zero is of another type", "declare that type"
            )
        found.append((name, value))
    return tuple(found)


def _limits(table: Table) -> Limits:
    table.allow("lower", "upper", "velocity", "effort")
    return Limits(
        *(
            table.number(key) if key in table else None
            for key in ("lower", "upper", "velocity", "effort")
        )
    )


def _unapplied(joint: Table) -> tuple[tuple[str, Fraction], ...]:
    declared = tuple(joint.entries("unapplied"))
    if len(declared) > MOST_UNAPPLIED:
        raise joint.at("unapplied").error(
            f"it has {len(declared)} entries, and symgen reads at most {MOST_UNAPPLIED}",
            "leave some out",
        )
    return declared


def _drive(joint: Table) -> Drive:
    """What its drive is declared to be. A rotor of inertia J behind a gear of ratio n is an armature of n²·J."""
    several = {
        name: joint.numbers(name) for name in NUMBERS if isinstance(joint.content.get(name), list)
    }
    given = {name: joint.number(name) for name in NUMBERS if name in joint and name not in several}
    if "gear_ratio" in joint and "rotor_inertia" not in joint:
        raise joint.at("gear_ratio").error(
            "a gear ratio stands without a rotor inertia", "add rotor_inertia = …, in kg m²"
        )
    if "rotor_inertia" in joint:
        if "armature" in joint:
            raise joint.at("armature").error(
                "an armature stands beside a rotor inertia", "give one of the two"
            )
        given["armature"] = joint.number("gear_ratio", Fraction(1)) ** 2 * joint.number(
            "rotor_inertia"
        )
        if not is_writable(given["armature"]):
            raise joint.at("gear_ratio").error(
                "the armature that it makes is beyond a double, or has more than "
                f"{CANONICAL_DIGITS} digits",
                "give fewer digits",
            )
    if "rest" in joint and not given.get("stiffness"):
        raise joint.at("rest").error(
            "a rest position stands without a stiffness", "add stiffness = …, or leave it out"
        )
    count = max(map(len, several.values()), default=0)
    for name, values in several.items():
        if name in ("stiffness", "rest") or len(values) != count:
            another = f", and another kind {count}" if len(values) != count else ""
            raise joint.at(name).error(
                f"it has {len(values)} numbers{another}",
                "give one number; armature, damping and friction may have one for each velocity",
            )
    return Drive.of_velocities(
        {
            name: several.get(name, (given.get(name, Fraction(0)),) * max(1, count))
            for name in NUMBERS
        }
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


def _rows(
    rows: list[Table], convention: str, base: str
) -> tuple[list[Link], list[Connection], dict[str, Pose]]:
    """Links and joints of Denavit-Hartenberg rows, and the pose of every row's frame from the frame its joint moves.

    The joint of a standard row turns about the z axis of the row before, so that is where its body's frame stands.
    """
    links: list[Link] = []
    connections: list[Connection] = []
    ends: dict[str, Pose] = {base: ()}
    before, copies = base, 0
    for row in rows:
        kind = row.text("type", "revolute")
        if kind in kinds() and (not joint_type(kind).directed or joint_type(kind).nq > 1):
            raise row.at("type").error(
                f"a row is a joint of one coordinate, and a {kind} joint has {joint_type(kind).nq}",
                "declare the robot by [[body]]",
            )
        row.allow(
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
            *_DRIVE,
            *(name for name, _ in _asked(kind)),
            *_INERTIA,
        )
        for _ in range(row.count("repeat", LARGEST_REPEAT)):
            copies += 1 + len(row.tables("part"))
            refuse_many(max(copies, len(links)), "rows and parts", row.place)
            number = str(len(links) + 1)
            repeated = "repeat" in row
            name = (
                row.text("name", "link") + number
                if repeated or "name" not in row
                else row.text("name")
            )
            joint = (
                row.text("joint", "joint") + number
                if repeated or "joint" not in row
                else row.text("joint")
            )
            parent = row.text("parent", before) if not repeated else before
            if parent not in ends:
                raise row.at("parent").error(
                    f"{shown(parent)} is no row above this one", "name the base or an earlier row"
                )
            turn, lift = (
                Turn(Z_AXIS, row.angle("theta")),
                Shift((ZERO, ZERO, row.number("d", ZERO))),
            )
            twist, length = (
                Turn(X_AXIS, row.angle("alpha")),
                Shift((row.number("a", ZERO), ZERO, ZERO)),
            )
            slides = kind in kinds() and joint_type(kind).slides
            to_joint: Pose
            to_row: Pose
            if convention == "dh":
                to_joint, to_row = (
                    ((turn, lift), (length, twist)) if slides else ((turn,), (lift, length, twist))
                )
            else:
                to_joint, to_row = (twist, length, turn, lift), ()
            end = compose(to_row)
            connections.append(
                Connection(
                    joint,
                    kind,
                    parent,
                    name,
                    compose(ends[parent], to_joint),
                    Z_AXIS,
                    _limits(row.table("limits")),
                    _mimic(row),
                    _unapplied(row),
                    row.place,
                    _parameters(row, kind),
                    drive=_drive(row),
                )
            )
            links.append(Link(name, _inertials(row, end), row.place, end))
            ends[name] = end
            before = name
    return links, connections, ends


def _frame(table: Table, ends: dict[str, Pose]) -> ExtraFrame:
    table.allow("name", "body", *_POSE)
    body = table.text("body")
    return ExtraFrame(
        table.text("name"), body, compose(ends.get(body, ()), table.pose()), table.place
    )


def _note(table: Table) -> Note:
    table.allow("kind", "text")
    return Note(table.choice("kind", tuple(KINDS), None), table.text("text"))
