"""Joints of bodies: types, frames, limits and drives, and the springs and dampers of
`springdamper`.

The joints of a body are applied in order; each moves the body about or along an axis through its
own point of the body. A joint's coordinate is q as in MuJoCo: the motion is that of q − ref, so
that a constant rotation or translation by −ref precedes it.

MuJoCo computes the springs and dampers of `springdamper` from a time constant and a damping ratio
when it compiles a model. With time constant t, damping ratio ζ, and the n degrees of freedom k of
the joint, it uses M in the declared pose, at qpos0:

    I = n / Σ (M⁻¹)_kk,    stiffness I/(t ζ)²,    damping 2 I/t    (user_model.cc, AutoSpringDamper)

M includes the armature of joints, but not that of actuators, tendons and equalities. Poses of
bodies are computed to 60 digits, and M is factored with more digits. M = Lᵀ D L from the tips
inward has no fill-in (Featherstone, Rigid Body Dynamics Algorithms, 6.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction

from symgen.description.quantities import quote, round_to_digits
from symgen.description.readers._mjcf.attributes import Attributes
from symgen.description.readers._mjcf.roots import in_radians
from symgen.description.readers._mjcf.settings import Settings
from symgen.description.readers._mjcf.whole import (
    Matrix,
    displacement,
    matrix,
    product,
    sum_of_inertias,
    transposed,
    unit,
)
from symgen.description.tree import Connection, Inertial, Link
from symgen.mechanism.drives import KINDS, Drive
from symgen.mechanism.mechanism import Limits, Note
from symgen.vocabulary.poses import (
    Z_AXIS,
    ZERO3,
    Angle,
    Pose,
    Shift,
    Slide,
    Turn,
    Vector3,
    compose,
    inverse,
    rotation_steps,
)

ZERO = Fraction(0)
TYPES = ("hinge", "slide", "ball", "free")
_SWITCHES = {"damping": "damper", "friction": "frictionloss", "stiffness": "spring"}
"""Flag of `option` that disables a drive."""


@dataclass(frozen=True)
class JointMotion:
    """A joint in the form of the tree.

    `pose` leads from the body's frame before the motion to the joint's frame; `back` leads from the
    joint's moving frame to the body's frame.
    """

    kind: str
    pose: Pose
    back: Pose
    axis: Vector3
    limits: Limits
    drive: Drive
    ref: Fraction
    """Coordinate of the joint in the declared pose of its body, rad or m."""
    spring_damper: SpringDamper | None = None
    """Spring and damper that depend on inertia."""


def read_joint(
    attributes: Attributes, within: Pose, settings: Settings, note: Callable[[Note], None]
) -> JointMotion:
    """Return one `joint` in the frame `within` of its body."""
    kind = attributes.word("type", TYPES, "hinge")
    location, axis = attributes.vector("pos", ZERO3), attributes.vector("axis", Z_AXIS)
    if kind in ("hinge", "slide") and not any(axis):
        raise attributes.at("axis").error("the axis is zero", "give a nonzero axis")
    drive = _drive(attributes, kind, settings, note)
    if kind == "free":
        return JointMotion("free", (), (), Z_AXIS, Limits(), drive, ZERO)
    if kind == "ball":
        pose = compose(within, (Shift(location),), inverse(rotation_steps(within)))
        return JointMotion("spherical", pose, inverse(pose), Z_AXIS, Limits(), drive, ZERO)
    limits = _limits(attributes, kind, settings)
    if kind == "slide":
        pose, ref = rotation_steps(within), attributes.number("ref", ZERO)
        return JointMotion(
            "prismatic",
            compose(pose, (Slide(axis, -ref),)),
            inverse(pose),
            axis,
            limits,
            drive,
            ref,
        )
    pose = compose(within, (Shift(location),))
    angle = settings.angle(attributes.text("ref", "0").strip(), attributes, "ref")
    hinge_kind = "continuous" if limits.lower is None else "revolute"
    return JointMotion(
        hinge_kind,
        compose(pose, (Turn(axis, -angle),)),
        inverse(pose),
        axis,
        limits,
        drive,
        in_radians(angle),
    )


def _limits(attributes: Attributes, kind: str, settings: Settings) -> Limits:
    """Return the range of a limited joint, and the effort if the bounds of actuator forces are
    symmetric.
    """

    def in_units(value: Fraction) -> Fraction:
        return settings.radians(value) if kind == "hinge" else value

    low, high = attributes.numbers("range", 2) if "range" in attributes else (ZERO, ZERO)
    limited = attributes.word("limited", ("true", "false", "auto"), "auto")
    if limited == "auto" and "range" in attributes and not settings.autolimits:
        raise attributes.at("range").error(
            "it has a range but no 'limited', and autolimits is off",
            'write limited="true" or "false"',
        )
    bounded = limited == "true" or (limited == "auto" and low != high)
    lower, upper = (in_units(low), in_units(high)) if bounded else (None, None)
    effort = None
    if (
        "actuatorfrcrange" in attributes
        and attributes.text("actuatorfrclimited", "auto") != "false"
    ):
        least, most = attributes.numbers("actuatorfrcrange", 2)
        effort = most if most == -least and most > 0 else None
    return Limits(lower, upper, None, effort)


def _drive(
    attributes: Attributes, kind: str, settings: Settings, note: Callable[[Note], None]
) -> Drive:
    """Return armature, damping, friction and spring. Unsupported parts are warnings."""
    damping, stiffness = (_linear_term(attributes, name, note) for name in ("damping", "stiffness"))
    has_spring_damper = _has_spring_damper(attributes)
    has_spring = bool(stiffness) or has_spring_damper
    if has_spring and kind in ("ball", "free"):
        _leave_out(attributes, f"the spring of a {kind} joint is left out", note)
        stiffness = ZERO
    if (stiffness or has_spring_damper) and attributes.number("springyield", ZERO):
        _leave_out(attributes, "its springyield is left out", note)
    armature, friction = (
        attributes.number("armature", ZERO),
        attributes.number("frictionloss", ZERO),
    )
    if armature and kind == "free":
        _leave_out(
            attributes,
            "its armature acts along the axes of the body here, but along those of the world in"
            " MuJoCo",
            note,
        )
    if has_spring_damper:  # computed when the masses of all bodies are known
        damping = stiffness = ZERO
    rest_position = _rest_position(attributes, kind, settings) if stiffness else ZERO
    disabled = {name for name, flag in _SWITCHES.items() if flag in settings.disabled}
    drive = Drive(armature, damping, friction, stiffness, rest_position)
    return drive.only(set(KINDS) - disabled)


def _leave_out(attributes: Attributes, omission: str, note: Callable[[Note], None]) -> None:
    """Note a part of a joint that is left out."""
    note(Note("warning", f"{attributes.location.short}: {omission}"))


def _linear_term(attributes: Attributes, name: str, note: Callable[[Note], None]) -> Fraction:
    """Return the first of up to three coefficients; warn about the others."""
    coefficients = attributes.numbers(name, 1, 3) if name in attributes else [ZERO]
    if any(coefficients[1:]):
        _leave_out(attributes, f"its {name} has terms of higher order, which are left out", note)
    return coefficients[0]


def read_spring_damper(
    attributes: Attributes, kind: str, settings: Settings
) -> SpringDamper | None:
    """Return `springdamper` of a joint of `kind`; None without one."""
    if not _has_spring_damper(attributes):
        return None
    time, ratio = attributes.numbers("springdamper", 2)
    mjcf_kind = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide"}.get(kind)
    return SpringDamper(
        time, ratio, ZERO if mjcf_kind is None else _rest_position(attributes, mjcf_kind, settings)
    )


def _has_spring_damper(attributes: Attributes) -> bool:
    """True if a joint has a valid springdamper."""
    return "springdamper" in attributes and all(
        number > 0 for number in attributes.numbers("springdamper", 2)
    )


def _rest_position(attributes: Attributes, kind: str, settings: Settings) -> Fraction:
    """Return the rest position of a spring."""
    if "springref" not in attributes:
        return ZERO
    token = attributes.text("springref").strip()
    return (
        in_radians(settings.angle(token, attributes, "springref"))
        if kind == "hinge"
        else attributes.number("springref")
    )


def refuse_misplaced_free_joint(kinds: list[str], attributes: Attributes, on_world: bool) -> None:
    """Raise DescriptionError for a free joint that is not the only joint of its body, or not on the
    world.
    """
    if "free" not in kinds:
        return
    if len(kinds) > 1:
        raise attributes.location.error(
            f"its body has a free joint and {len(kinds) - 1} more", "remove the others"
        )
    if not on_world:
        raise attributes.location.error(
            f"its body {quote(attributes.location.element)} is inside another body, but a free"
            " joint must be on the world",
            "move the body to the worldbody",
        )


# -- springdamper --

LEAST = Fraction(1, 10**15)
"""MuJoCo's smallest divisor (mjMINVAL)."""
NEGLIGIBLE = Decimal("1e-40")
"""Share of its diagonal entry below which a pivot counts as zero."""
DIGITS = 90
"""Digits of the arithmetic that factors M."""
MOST_ELIMINATION_STEPS = 3 * 10**5
"""Largest number of steps, Σ d² over degrees of freedom with d others between them and the base;
takes a second or two. A chain of 95 joints takes as many.
"""
FractionVector = list[Fraction]
DecimalVector = list[Decimal]
_ONE = Decimal(1)


@dataclass(frozen=True)
class SpringDamper:
    """Declared time constant (s), damping ratio, and rest position of the spring (rad or m)."""

    time: Fraction
    ratio: Fraction
    rest: Fraction


@dataclass(frozen=True)
class _Column:
    """Motion of a degree of freedom in the world's axes: angular velocity, and the velocity of the
    point at the origin.
    """

    angular: DecimalVector
    linear: DecimalVector


def with_springs(
    connections: Sequence[Connection],
    links: Iterable[Link],
    reference_coordinates: Mapping[str, Fraction],
    spring_dampers: Mapping[str, SpringDamper],
    settings: Settings,
    note: list[Note],
) -> list[Connection]:
    """Return the joints; those of `spring_dampers` with their springs and dampers.
    `reference_coordinates` has the coordinates at qpos0.
    """
    if not spring_dampers:
        return list(connections)
    mobile = _mobilities(
        connections, {link.name: link.inertials for link in links}, reference_coordinates
    )
    result = []
    for connection in connections:
        if connection.name in spring_dampers and connection.name in mobile:
            connection = _with_spring(
                connection, spring_dampers[connection.name], mobile[connection.name], settings, note
            )
        elif connection.name in spring_dampers:
            note.append(
                Note(
                    "warning",
                    f"{connection.location.short}: its springdamper is left out, since M is"
                    " singular in the declared pose, or too large",
                )
            )
        result.append(connection)
    return result


def _with_spring(
    connection: Connection,
    declared: SpringDamper,
    mobility: Fraction,
    settings: Settings,
    note: list[Note],
) -> Connection:
    """Return a joint with its spring and damper; `mobility` is the mean of its (M⁻¹)_kk."""
    inertia = 1 / max(LEAST, mobility)
    stiffness = round_to_digits(inertia / max(LEAST, (declared.time * declared.ratio) ** 2))
    damping = round_to_digits(2 * inertia / max(LEAST, declared.time))
    if "spring" in settings.disabled or connection.kind in ("free", "spherical"):
        stiffness = ZERO
    if "damper" in settings.disabled:
        damping = ZERO
    drive = replace(
        connection.drive,
        damping=damping,
        stiffness=stiffness,
        rest=declared.rest if stiffness else ZERO,
    )
    note.append(
        Note(
            "info",
            f"{connection.location.short}: springdamper and the inertia at the joint in the"
            f" declared pose give a stiffness of {float(stiffness):.6g} and a damping of"
            f" {float(damping):.6g}",
        )
    )
    return replace(connection, drive=drive)


def _mobilities(
    connections: Sequence[Connection],
    masses: Mapping[str, Sequence[Inertial]],
    reference_coordinates: Mapping[str, Fraction],
) -> dict[str, Fraction]:
    """Return the mean of (M⁻¹)_kk of each joint; empty if M is singular or too large."""
    if _steps(connections) > MOST_ELIMINATION_STEPS:
        return {}
    with localcontext() as context:
        context.prec = DIGITS
        rows, dofs_of = _mass_matrix(connections, masses, reference_coordinates)
        pivots = _factor(rows)
        if pivots is None:
            return {}
        totals = {
            name: sum((_inverse_diagonal(rows, pivots, k) for k in dofs), Decimal(0))
            for name, dofs in dofs_of.items()
            if dofs
        }
        return {
            name: round_to_digits(Fraction(total) / len(dofs_of[name]))
            for name, total in totals.items()
        }


def _steps(connections: Sequence[Connection]) -> int:
    """Return Σ d², the cost of factoring M."""
    carriers, total = dict[str, int](), 0
    for connection in connections:
        d = carriers.get(connection.parent, 0) + {"fixed": 0, "spherical": 3, "free": 6}.get(
            connection.kind, 1
        )
        carriers[connection.child], total = d, total + d * d
    return total


def _mass_matrix(
    connections: Sequence[Connection],
    masses: Mapping[str, Sequence[Inertial]],
    reference_coordinates: Mapping[str, Fraction],
) -> tuple[list[dict[int, Decimal]], dict[str, range]]:
    """Return row k of M as {j: M_kj}, for j = k and degrees of freedom nearer to the base, and the
    degrees of freedom of each joint.
    """
    rows: list[dict[int, Decimal]] = []
    columns: list[_Column] = []
    dofs_of: dict[str, range] = {}
    poses: dict[str, tuple[Matrix, FractionVector, list[int]]] = {}
    for connection in connections:
        turn, location, carriers = poses.get(connection.parent, (*displacement(()), []))
        turn, location = _extend(
            turn,
            location,
            (*connection.pose, *_motion_to_declared_pose(connection, reference_coordinates)),
        )
        moving = _columns(connection, turn, location)
        dofs_of[connection.name] = dofs = range(len(columns), len(columns) + len(moving))
        columns += moving
        for k in dofs:
            rows.append(dict.fromkeys((*carriers, *range(dofs.start, k)), Decimal(0)))
            rows[k][k] = _decimal(connection.drive.armature)
        poses[connection.child] = turn, location, [*carriers, *dofs]
        if masses.get(connection.child):
            _add_body(
                rows,
                columns,
                poses[connection.child][2],
                *_body(turn, location, masses[connection.child]),
            )
    return rows, dofs_of


def _motion_to_declared_pose(
    connection: Connection, reference_coordinates: Mapping[str, Fraction]
) -> Pose:
    """Return the motion of a joint to its declared pose."""
    coordinate = reference_coordinates.get(connection.name, ZERO)
    if connection.kind in ("fixed", "free", "spherical") or not coordinate:
        return ()
    return (
        (Slide(connection.axis, coordinate),)
        if connection.kind == "prismatic"
        else (Turn(connection.axis, Angle(coordinate)),)
    )


def _extend(turn: Matrix, location: FractionVector, pose: Pose) -> tuple[Matrix, FractionVector]:
    """Return the pose (rotation, position) followed by `pose`."""
    rotation, shift = displacement(pose)
    return product(turn, rotation), [
        round_to_digits(x + sum((a * b for a, b in zip(row, shift, strict=True)), ZERO))
        for x, row in zip(location, turn, strict=True)
    ]


def _columns(connection: Connection, turn: Matrix, location: FractionVector) -> list[_Column]:
    """Return the motion of each degree of freedom of a joint; those of a ball and a free joint are
    along the axes of its body.
    """
    if connection.kind == "fixed":
        return []
    axes, origin, zero = (
        [_decimals(row) for row in transposed(turn)],
        _decimals(location),
        [Decimal(0)] * 3,
    )
    if connection.kind in ("free", "spherical"):
        rotations = [_Column(axis, _cross(origin, axis)) for axis in axes]
        return (
            rotations
            if connection.kind == "spherical"
            else [*(_Column(zero, axis) for axis in axes), *rotations]
        )
    local_axis = _decimals(unit(connection.axis))
    axis = [sum((axes[k][i] * local_axis[k] for k in range(3)), Decimal(0)) for i in range(3)]
    return [
        _Column(zero, axis)
        if connection.kind == "prismatic"
        else _Column(axis, _cross(origin, axis))
    ]


def _body(
    turn: Matrix, location: FractionVector, inertials: Sequence[Inertial]
) -> tuple[Decimal, DecimalVector, list[DecimalVector]]:
    """Return mass, centre and the moments about it, in the world's axes."""
    total = sum_of_inertias(inertials)
    rotation, centre = _extend(turn, location, total.pose)
    tensor = product(product(rotation, matrix(total.moments)), transposed(rotation))
    return _decimal(total.mass), _decimals(centre), [_decimals(row) for row in tensor]


def _add_body(
    rows: list[dict[int, Decimal]],
    columns: Sequence[_Column],
    carriers: Sequence[int],
    mass: Decimal,
    centre: DecimalVector,
    tensor: list[DecimalVector],
) -> None:
    """Add m Jvᵀ Jv + Jwᵀ I Jw of one body to M."""
    speeds = {
        k: [
            x + y
            for x, y in zip(columns[k].linear, _cross(columns[k].angular, centre), strict=True)
        ]
        for k in carriers
    }
    for location, k in enumerate(carriers):
        push, spin = (
            [mass * x for x in speeds[k]],
            [_dot(row, columns[k].angular) for row in tensor],
        )
        for j in carriers[: location + 1]:
            rows[k][j] += _dot(push, speeds[j]) + _dot(spin, columns[j].angular)


def _factor(rows: list[dict[int, Decimal]]) -> list[Decimal] | None:
    """Factor M in place and return D; None if a pivot is zero. The rows then have L."""
    least = [row[k] * NEGLIGIBLE for k, row in enumerate(rows)]
    for k in reversed(range(len(rows))):
        pivot, off_diagonal = rows[k][k], [j for j in rows[k] if j != k]
        if pivot <= least[k]:
            return None
        for i in off_diagonal:
            factor = rows[k][i] / pivot
            for j in (j for j in off_diagonal if j <= i):
                rows[i][j] -= factor * rows[k][j]
        for i in off_diagonal:
            rows[k][i] /= pivot
    return [row[k] for k, row in enumerate(rows)]


def _inverse_diagonal(
    rows: Sequence[Mapping[int, Decimal]], pivots: Sequence[Decimal], k: int
) -> Decimal:
    """Return (M⁻¹)_kk = yᵀ D⁻¹ y with Lᵀ y = e_k."""
    y, total = dict.fromkeys(rows[k], Decimal(0)) | {k: _ONE}, Decimal(0)
    for i in sorted(rows[k], reverse=True):
        for j in (j for j in rows[i] if j != i):
            y[j] -= rows[i][j] * y[i]
        total += y[i] * y[i] / pivots[i]
    return total


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / value.denominator


def _decimals(values: Sequence[Fraction]) -> DecimalVector:
    return [_decimal(value) for value in values]


def _dot(a: DecimalVector, b: DecimalVector) -> Decimal:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: DecimalVector, b: DecimalVector) -> DecimalVector:
    return [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]
