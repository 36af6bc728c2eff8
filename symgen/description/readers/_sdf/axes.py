"""What stands in `axis` and `axis2` of a joint in SDF: a direction, limits, the drive, and whom it mimics."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symgen.description.quantities import Place, is_writable, shown
from symgen.description.readers._sdf.frames import MODEL, Frame, Scope, Ways, at_origin
from symgen.mechanism.drives import NO_DRIVE, Drive
from symgen.mechanism.mechanism import Limits
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import Z_AXIS, Vector3

ENDLESS = 10**16
"""A limit of this size or more is none: older versions write 1e16 for infinity."""
UNLIMITED = Limits()
_BOUNDLESS = ("inf", "infinity")


@dataclass(frozen=True)
class Follower:
    """Position = multiplier·(that of an axis of joint `leader`) + offset."""

    leader: str
    axis: str
    multiplier: Fraction
    offset: Fraction
    place: Place


@dataclass(frozen=True)
class Axis:
    """One axis of a joint: `seat` is the frame at the joint's origin in whose axes `xyz` is given."""

    seat: Frame
    xyz: Vector3 = Z_AXIS
    limits: Limits = UNLIMITED
    drive: Drive = NO_DRIVE
    follows: Follower | None = None


def axis(scope: Scope, joint: Frame, element: Any, name: str, ways: Ways) -> Axis:
    """The `name`d axis of a joint: along z, without limits and drive, where it is absent."""
    text = scope.text
    found = text.one(element, name, joint.place)
    if found is None:
        if text.version < (1, 5):
            return Axis(_seat(scope, joint, MODEL, joint.place, ways))
        return Axis(joint)
    place = text.place(found, joint.place)
    xyz, frame = Z_AXIS, ""
    written = text.one(found, "xyz", place)
    if written is not None:
        here = text.place(written, place)
        xyz, frame = text.vector(written, here), (written.get("expressed_in") or "").strip()
        if not any(xyz):
            raise here.error("the axis is zero", "give it a direction, for example 0 0 1")
    if text.version < (1, 5):
        frame = MODEL
    elif text.flag(found, "use_parent_model_frame", place):
        if text.version >= (1, 7):
            raise place.error(
                "use_parent_model_frame is of SDF up to 1.6",
                f'write <xyz expressed_in="{MODEL}"> instead',
            )
        frame = MODEL
    seat = _seat(scope, joint, frame, place, ways) if frame else joint
    return Axis(
        seat,
        xyz,
        _limits(scope, found, place),
        _drive(scope, found, place),
        _follower(scope, found, place),
    )


def _seat(scope: Scope, joint: Frame, name: str, place: Place, ways: Ways) -> Frame:
    return at_origin(joint, ways.between(joint, scope.find(name, place), place))


def _limits(scope: Scope, element: Any, place: Place) -> Limits:
    text = scope.text
    limit = text.one(element, "limit", place)
    if limit is None:
        return UNLIMITED
    here = text.place(limit, place)

    def one(name: str) -> Fraction | None:
        written = text.one(limit, name, here)
        if written is None or (written.text or "").strip().lower().lstrip("+-") in _BOUNDLESS:
            return None
        try:
            value = text.number(limit, name, here)
        except DescriptionError as error:  # no answer depends on it
            text.note(
                "warning",
                Place(error.file, error.line, error.element),
                f"{error.what}; read as no limit",
            )
            return None
        return None if value is None or abs(value) >= ENDLESS else value

    lower, upper, velocity, effort = (
        one(name) for name in ("lower", "upper", "velocity", "effort")
    )
    if lower is not None and upper is not None and lower > upper:
        text.note(
            "warning",
            here,
            f"the lower limit {float(lower):g} is above the upper one, {float(upper):g}",
        )
    return Limits(
        lower, upper, *(None if most is None or most < 0 else most for most in (velocity, effort))
    )


def _drive(scope: Scope, element: Any, place: Place) -> Drive:
    """Damping, friction and spring. A spring of no stiffness has no place where it rests."""
    text = scope.text
    found = text.one(element, "dynamics", place)
    if found is None:
        return NO_DRIVE
    here = text.place(found, place)
    given: dict[str, Any] = {
        ours: text.number(found, theirs, here) or Fraction(0)
        for ours, theirs in (
            ("damping", "damping"),
            ("friction", "friction"),
            ("stiffness", "spring_stiffness"),
            ("rest", "spring_reference"),
        )
    }
    if not given["stiffness"]:
        given["rest"] = Fraction(0)
    return Drive(**given)


def _follower(scope: Scope, element: Any, place: Place) -> Follower | None:
    text = scope.text
    found = text.one(element, "mimic", place)
    if found is None:
        return None
    here = text.place(found, place)
    which = found.get("axis", "axis")
    if which not in ("axis", "axis2"):
        raise here.error(f"{shown(which)} is no axis", "write axis or axis2")
    factor = text.number(found, "multiplier", here)
    factor = Fraction(1) if factor is None else factor
    offset, reference = (
        text.number(found, name, here) or Fraction(0) for name in ("offset", "reference")
    )
    offset -= factor * reference
    if not is_writable(offset):
        raise here.error(
            "its offset, less what the reference makes, is beyond a double",
            "write numbers of ordinary size",
        )
    return Follower(text.attribute(found, "joint", here), which, factor, offset, here)
