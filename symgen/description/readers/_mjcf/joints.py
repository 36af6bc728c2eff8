"""The joints of bodies: types, frames, limits and drives, and the springs and dampers of `springdamper`.

Each joint moves its body about or along an axis through its own place in the body, one behind the other. A joint's coordinate is q
as MuJoCo counts it: the motion is that by q − ref, so that a constant turn or shift by −ref stands before it.

MuJoCo makes the springs and dampers of `springdamper` of a time constant and a damping ratio when it compiles a model.

With t and ζ, and n degrees of freedom k of the joint, it takes from M as the model stands declared, at qpos0,

    I = n / Σ (M⁻¹)_kk,    stiffness I/(t ζ)²,    damping 2 I/t        (user_model.cc, AutoSpringDamper)

The armature is part of M, what actuators, tendons and equalities add is not. Bodies are placed to 60 digits as the tree has
them, and M is taken apart with more: M = Lᵀ D L from the tips inward fills in nothing (Featherstone, Rigid Body Dynamics
Algorithms, 6.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction

from symgen.description.quantities import rounded, shown
from symgen.description.readers._mjcf.attributes import Attributes
from symgen.description.readers._mjcf.roots import in_radians
from symgen.description.readers._mjcf.settings import Settings
from symgen.description.readers._mjcf.whole import (
    Matrix,
    displacement,
    gathered,
    matrix,
    product,
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
    turns,
)

ZERO = Fraction(0)
TYPES = ("hinge", "slide", "ball", "free")
_SWITCHES = {"damping": "damper", "friction": "frictionloss", "stiffness": "spring"}
"""The flag of `option` that disables a drive."""


@dataclass(frozen=True)
class Moved:
    """A joint as the tree takes it: `pose` from the body's frame before the motion to the joint's, `back` from the joint's moving
    frame to the body's.
    """

    kind: str
    pose: Pose
    back: Pose
    axis: Vector3
    limits: Limits
    drive: Drive
    ref: Fraction
    """The coordinate at which the body stands as it is declared, rad or m."""
    sprung: Sprung | None = None
    """The spring and the damper that hang on its inertia."""


def read_joint(
    said: Attributes, within: Pose, settings: Settings, note: Callable[[Note], None]
) -> Moved:
    """Read one `joint`, in the frame `within` of its body."""
    kind = said.word("type", TYPES, "hinge")
    place, axis = said.vector("pos", ZERO3), said.vector("axis", Z_AXIS)
    if kind in ("hinge", "slide") and not any(axis):
        raise said.at("axis").error("the axis is zero", "give it a direction")
    drive = _drive(said, kind, settings, note)
    if kind == "free":
        return Moved("free", (), (), Z_AXIS, Limits(), drive, ZERO)
    if kind == "ball":
        pose = compose(within, (Shift(place),), inverse(turns(within)))
        return Moved("spherical", pose, inverse(pose), Z_AXIS, Limits(), drive, ZERO)
    limits = _limits(said, kind, settings)
    if kind == "slide":
        pose, ref = turns(within), said.number("ref", ZERO)
        return Moved(
            "prismatic",
            compose(pose, (Slide(axis, -ref),)),
            inverse(pose),
            axis,
            limits,
            drive,
            ref,
        )
    pose = compose(within, (Shift(place),))
    angle = settings.angle(said.text("ref", "0").strip(), said, "ref")
    turning = "continuous" if limits.lower is None else "revolute"
    return Moved(
        turning,
        compose(pose, (Turn(axis, -angle),)),
        inverse(pose),
        axis,
        limits,
        drive,
        in_radians(angle),
    )


def _limits(said: Attributes, kind: str, settings: Settings) -> Limits:
    """Its range where it is limited; the effort where what actuators may do is bounded alike both ways."""

    def counted(value: Fraction) -> Fraction:
        return settings.radians(value) if kind == "hinge" else value

    low, high = said.numbers("range", 2) if "range" in said else (ZERO, ZERO)
    limited = said.word("limited", ("true", "false", "auto"), "auto")
    if limited == "auto" and "range" in said and not settings.autolimits:
        raise said.at("range").error(
            "a range stands without 'limited', and autolimits is off",
            'write limited="true" or "false"',
        )
    bounded = limited == "true" or (limited == "auto" and low != high)
    lower, upper = (counted(low), counted(high)) if bounded else (None, None)
    effort = None
    if "actuatorfrcrange" in said and said.text("actuatorfrclimited", "auto") != "false":
        least, most = said.numbers("actuatorfrcrange", 2)
        effort = most if most == -least and most > 0 else None
    return Limits(lower, upper, None, effort)


def _drive(said: Attributes, kind: str, settings: Settings, note: Callable[[Note], None]) -> Drive:
    """Read armature, damping, friction and spring. What of them symgen has no words for is a warning."""
    damping, stiffness = (_linear_term(said, name, note) for name in ("damping", "stiffness"))
    is_sprung = _is_sprung(said)
    has_spring = bool(stiffness) or is_sprung
    if has_spring and kind in ("ball", "free"):
        _leave_out(said, f"the spring of a {kind} joint is left out", note)
        stiffness = ZERO
    if (stiffness or is_sprung) and said.number("springyield", ZERO):
        _leave_out(said, "its spring yields, which is left out", note)
    armature, friction = said.number("armature", ZERO), said.number("frictionloss", ZERO)
    if armature and kind == "free":
        _leave_out(
            said,
            "its armature is felt along the axes of the body here, and along those of the world in MuJoCo",
            note,
        )
    if is_sprung:  # they come when the masses of all are known
        damping = stiffness = ZERO
    rest = _rest(said, kind, settings) if stiffness else ZERO
    disabled = {name for name, flag in _SWITCHES.items() if flag in settings.switched_off}
    drive = Drive(armature, damping, friction, stiffness, rest)
    return drive.only(set(KINDS) - disabled)


def _leave_out(said: Attributes, what: str, note: Callable[[Note], None]) -> None:
    note(Note("warning", f"{said.place.short}: {what}"))


def _linear_term(said: Attributes, name: str, note: Callable[[Note], None]) -> Fraction:
    """Return the first of up to three coefficients; warn of the others."""
    coefficients = said.numbers(name, 1, 3) if name in said else [ZERO]
    if any(coefficients[1:]):
        _leave_out(said, f"its {name} has terms of higher order, which are left out", note)
    return coefficients[0]


def read_spring_damper(said: Attributes, kind: str, settings: Settings) -> Sprung | None:
    """Read `springdamper` of a joint of `kind`; None without one."""
    if not _is_sprung(said):
        return None
    time, ratio = said.numbers("springdamper", 2)
    rest = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide"}.get(kind)
    return Sprung(time, ratio, ZERO if rest is None else _rest(said, rest, settings))


def _is_sprung(said: Attributes) -> bool:
    return "springdamper" in said and all(one > 0 for one in said.numbers("springdamper", 2))


def _rest(said: Attributes, kind: str, settings: Settings) -> Fraction:
    if "springref" not in said:
        return ZERO
    token = said.text("springref").strip()
    return (
        in_radians(settings.angle(token, said, "springref"))
        if kind == "hinge"
        else said.number("springref")
    )


def refuse_crowded(kinds: list[str], said: Attributes, on_world: bool) -> None:
    """DescriptionError: a free joint that is not alone, or not on the world."""
    if "free" not in kinds:
        return
    if len(kinds) > 1:
        raise said.place.error(
            f"a free joint stands beside {len(kinds) - 1} more in one body", "leave the others out"
        )
    if not on_world:
        raise said.place.error(
            f"its body {shown(said.place.element)} is within another, and a free joint leads from the world",
            "move the body to the worldbody",
        )


# -- springdamper --

LEAST = Fraction(1, 10**15)
"""mjMINVAL: what MuJoCo divides by at least."""
NOTHING = Decimal("1e-40")
"""Part of its diagonal entry below which a pivot is none."""
DIGITS = 90
"""Of the arithmetic that takes M apart."""
MOST = 3 * 10**5
"""Steps of that, Σ d² over degrees of freedom that d others carry: a second or two. A chain of 95 joints takes as many."""
Row = list[Fraction]
Wide = list[Decimal]
_ONE = Decimal(1)


@dataclass(frozen=True)
class Sprung:
    """What a joint says: time constant (s), damping ratio, and where its spring is at ease (rad or m)."""

    time: Fraction
    ratio: Fraction
    rest: Fraction


@dataclass(frozen=True)
class _Column:
    """A degree of freedom in the world's axes: angular velocity, and the velocity of the point that stands at the origin."""

    angular: Wide
    linear: Wide


def with_springs(
    connections: Sequence[Connection],
    links: Iterable[Link],
    rests: Mapping[str, Fraction],
    sprung: Mapping[str, Sprung],
    settings: Settings,
    note: list[Note],
) -> list[Connection]:
    """The joints, those of `sprung` with their springs and dampers; `rests` are the coordinates at qpos0."""
    if not sprung:
        return list(connections)
    mobile = _mobilities(connections, {link.name: link.inertials for link in links}, rests)
    found = []
    for one in connections:
        if one.name in sprung and one.name in mobile:
            one = _with(one, sprung[one.name], mobile[one.name], settings, note)
        elif one.name in sprung:
            note.append(
                Note(
                    "warning",
                    f"{one.place.short}: its springdamper is left out, since M is singular as the model "
                    "stands, or very large",
                )
            )
        found.append(one)
    return found


def _with(
    one: Connection, said: Sprung, mobility: Fraction, settings: Settings, note: list[Note]
) -> Connection:
    """A joint with its spring and damper, `mobility` being the mean of its (M⁻¹)_kk."""
    inertia = 1 / max(LEAST, mobility)
    stiffness = rounded(inertia / max(LEAST, (said.time * said.ratio) ** 2))
    damping = rounded(2 * inertia / max(LEAST, said.time))
    if "spring" in settings.switched_off or one.kind in ("free", "spherical"):
        stiffness = ZERO
    if "damper" in settings.switched_off:
        damping = ZERO
    drive = replace(
        one.drive, damping=damping, stiffness=stiffness, rest=said.rest if stiffness else ZERO
    )
    note.append(
        Note(
            "info",
            f"{one.place.short}: springdamper and the inertia that the joint has as declared make it a "
            f"stiffness of {float(stiffness):.6g} and a damping of {float(damping):.6g}",
        )
    )
    return replace(one, drive=drive)


def _mobilities(
    connections: Sequence[Connection],
    masses: Mapping[str, Sequence[Inertial]],
    rests: Mapping[str, Fraction],
) -> dict[str, Fraction]:
    """Of each joint the mean of its (M⁻¹)_kk; of none where M is singular, or takes too long."""
    if _steps(connections) > MOST:
        return {}
    with localcontext() as context:
        context.prec = DIGITS
        rows, own = _mass_matrix(connections, masses, rests)
        pivots = _taken_apart(rows)
        if pivots is None:
            return {}
        totals = {
            name: sum((_inverse(rows, pivots, k) for k in dofs), Decimal(0))
            for name, dofs in own.items()
            if dofs
        }
        return {name: rounded(Fraction(total) / len(own[name])) for name, total in totals.items()}


def _steps(connections: Sequence[Connection]) -> int:
    """Σ d²."""
    carriers, total = dict[str, int](), 0
    for one in connections:
        d = carriers.get(one.parent, 0) + {"fixed": 0, "spherical": 3, "free": 6}.get(one.kind, 1)
        carriers[one.child], total = d, total + d * d
    return total


def _mass_matrix(
    connections: Sequence[Connection],
    masses: Mapping[str, Sequence[Inertial]],
    rests: Mapping[str, Fraction],
) -> tuple[list[dict[int, Decimal]], dict[str, range]]:
    """Row k of M as {j: M_kj} for j = k and what carries it; and of each joint its degrees of freedom."""
    rows: list[dict[int, Decimal]] = []
    columns: list[_Column] = []
    own: dict[str, range] = {}
    placed: dict[str, tuple[Matrix, Row, list[int]]] = {}
    for one in connections:
        turn, place, carriers = placed.get(one.parent, (*displacement(()), []))
        turn, place = _behind(turn, place, (*one.pose, *_moved(one, rests)))
        moving = _columns(one, turn, place)
        own[one.name] = dofs = range(len(columns), len(columns) + len(moving))
        columns += moving
        for k in dofs:
            rows.append(dict.fromkeys((*carriers, *dofs[: k - dofs.start + 1]), Decimal(0)))
            rows[k][k] = _decimal(one.drive.armature)
        placed[one.child] = turn, place, [*carriers, *dofs]
        if masses.get(one.child):
            _add(rows, columns, placed[one.child][2], *_body(turn, place, masses[one.child]))
    return rows, own


def _moved(one: Connection, rests: Mapping[str, Fraction]) -> Pose:
    """Its motion to where the model stands declared."""
    rest = rests.get(one.name, ZERO)
    if one.kind in ("fixed", "free", "spherical") or not rest:
        return ()
    return (Slide(one.axis, rest),) if one.kind == "prismatic" else (Turn(one.axis, Angle(rest)),)


def _behind(turn: Matrix, place: Row, pose: Pose) -> tuple[Matrix, Row]:
    own, shift = displacement(pose)
    return product(turn, own), [
        rounded(x + sum((a * b for a, b in zip(row, shift, strict=True)), ZERO))
        for x, row in zip(place, turn, strict=True)
    ]


def _columns(one: Connection, turn: Matrix, place: Row) -> list[_Column]:
    """Of the joint, at its place; those of a ball and a free joint along the axes of its body."""
    if one.kind == "fixed":
        return []
    axes, at, still = [_wide(row) for row in transposed(turn)], _wide(place), [Decimal(0)] * 3
    if one.kind in ("free", "spherical"):
        turning = [_Column(axis, _cross(at, axis)) for axis in axes]
        return (
            turning
            if one.kind == "spherical"
            else [*(_Column(still, axis) for axis in axes), *turning]
        )
    own = _wide(unit(one.axis))
    axis = [sum((axes[k][i] * own[k] for k in range(3)), Decimal(0)) for i in range(3)]
    return [_Column(still, axis) if one.kind == "prismatic" else _Column(axis, _cross(at, axis))]


def _body(turn: Matrix, place: Row, parts: Sequence[Inertial]) -> tuple[Decimal, Wide, list[Wide]]:
    """Mass, centre and the tensor about it, in the world's axes."""
    whole = gathered(parts)
    turned, centre = _behind(turn, place, whole.pose)
    tensor = product(product(turned, matrix(whole.moments)), transposed(turned))
    return _decimal(whole.mass), _wide(centre), [_wide(row) for row in tensor]


def _add(
    rows: list[dict[int, Decimal]],
    columns: Sequence[_Column],
    carriers: Sequence[int],
    mass: Decimal,
    centre: Wide,
    tensor: list[Wide],
) -> None:
    """m Jvᵀ Jv + Jwᵀ I Jw of one body."""
    speeds = {
        k: [
            x + y
            for x, y in zip(columns[k].linear, _cross(columns[k].angular, centre), strict=True)
        ]
        for k in carriers
    }
    for place, k in enumerate(carriers):
        push, spin = (
            [mass * x for x in speeds[k]],
            [_dot(row, columns[k].angular) for row in tensor],
        )
        for j in carriers[: place + 1]:
            rows[k][j] += _dot(push, speeds[j]) + _dot(spin, columns[j].angular)


def _taken_apart(rows: list[dict[int, Decimal]]) -> list[Decimal] | None:
    """D, with L left in the rows; None where a pivot is none."""
    least = [row[k] * NOTHING for k, row in enumerate(rows)]
    for k in reversed(range(len(rows))):
        pivot, others = rows[k][k], [j for j in rows[k] if j != k]
        if pivot <= least[k]:
            return None
        for i in others:
            share = rows[k][i] / pivot
            for j in (j for j in others if j <= i):
                rows[i][j] -= share * rows[k][j]
        for i in others:
            rows[k][i] /= pivot
    return [row[k] for k, row in enumerate(rows)]


def _inverse(rows: Sequence[Mapping[int, Decimal]], pivots: Sequence[Decimal], k: int) -> Decimal:
    """(M⁻¹)_kk = yᵀ D⁻¹ y with Lᵀ y = e_k."""
    y, total = dict.fromkeys(rows[k], Decimal(0)) | {k: _ONE}, Decimal(0)
    for i in sorted(rows[k], reverse=True):
        for j in (j for j in rows[i] if j != i):
            y[j] -= rows[i][j] * y[i]
        total += y[i] * y[i] / pivots[i]
    return total


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / value.denominator


def _wide(values: Sequence[Fraction]) -> Wide:
    return [_decimal(one) for one in values]


def _dot(a: Wide, b: Wide) -> Decimal:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Wide, b: Wide) -> Wide:
    return [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]
