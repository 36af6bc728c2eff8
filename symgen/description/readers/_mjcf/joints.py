"""Joints: each moves its body about or along an axis through its own place in the body, one behind the other.

A joint's coordinate is q as MuJoCo counts it: the motion is that by q − ref, so that a constant turn or shift by −ref stands
before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from symgen.description.quantities import shown
from symgen.description.readers._mjcf.attributes import Attributes
from symgen.description.readers._mjcf.roots import in_radians
from symgen.description.readers._mjcf.settings import Settings
from symgen.description.readers._mjcf.springs import Sprung
from symgen.mechanism.drives import KINDS, Drive
from symgen.mechanism.mechanism import Limits, Note
from symgen.vocabulary.poses import (
    Z_AXIS,
    ZERO3,
    Pose,
    Shift,
    Slide,
    Turn,
    Vector3,
    compose,
    inverse,
    turns,
)

TYPES = ("hinge", "slide", "ball", "free")
ZERO = Fraction(0)
_SWITCHES = {"damping": "damper", "friction": "frictionloss", "stiffness": "spring"}
"""Of a drive: the flag of `option` that disables it."""


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


def moved(
    said: Attributes, within: Pose, settings: Settings, note: Callable[[Note], None]
) -> Moved:
    """What one `joint` says, in the frame `within` of its body."""
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


def sprung(said: Attributes, kind: str, settings: Settings) -> Sprung | None:
    """The spring and the damper that MuJoCo makes of springdamper, of a joint of ours."""
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
