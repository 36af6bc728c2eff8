"""Links of an SDF model with two parents: the joint that stands later in the file closes a loop.

Where the model is drawn every joint is closed, so that both ends are the joint's frame there, in the steps of the file. z lies
along the axis; of a universal joint x along the first one on the parent, y along the second one on the child.
"""

from __future__ import annotations

from fractions import Fraction

from symgen.description.quantities import shown
from symgen.description.readers._mjcf.orientations import along_z
from symgen.description.readers._sdf.axes import UNLIMITED, Axis
from symgen.description.readers._sdf.frames import Frame, Ways, direction
from symgen.description.readers._sdf.joints import Joint, Joints
from symgen.description.tree import Closing, Grip
from symgen.mechanism.mechanism import Note
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Angle, Pose, Turn, compose

CLOSED_BY = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "spherical": "spherical",
    "universal": "universal",
    "fixed": "weld",
}
_SQUARE = 1e-9
_QUARTER = Angle(pi=Fraction(1, 2))
_TO = {"x": (Turn(Y_AXIS, -_QUARTER),), "y": (Turn(X_AXIS, _QUARTER),), "z": ()}
"""What turns a frame whose z lies along an axis so that another letter does."""


def loops(joints: Joints, ways: Ways) -> tuple[tuple[Closing, ...], list[Note]]:
    """The loops, and what of the joints that close them is not modelled. DescriptionError: none closes so."""
    found: list[Closing] = []
    notes: list[Note] = []
    for one in joints.cut:
        if one.kind not in CLOSED_BY:
            raise one.frame.place.error(
                f"it closes a loop, since link {shown(one.child.name)} has a parent through joint "
                f"{shown(joints.above[one.child].frame.name)} already, and no loop is closed by a {one.kind} joint",
                "put it before that one, which then closes the loop",
            )
        first, second = _ends(one, joints, ways)
        found.append(
            Closing(one.frame.name, CLOSED_BY[one.kind], first, second, place=one.frame.place)
        )
        notes.append(_note(one, joints))
    return tuple(found), notes


def _note(one: Joint, joints: Joints) -> Note:
    """What was done with a joint, and what is lost by it."""
    lost = [name for own in one.axes for name, _ in own.drive.declared]
    lost += ["limits"] * any(own.limits != UNLIMITED for own in one.axes)
    what = (
        f"joint {one.frame.name} closes a loop and has no coordinate, since link {one.child.name} hangs on joint "
        f"{joints.above[one.child].frame.name} already"
    )
    return (
        Note("warning", f"{what}; left out of it: {', '.join(dict.fromkeys(lost))}")
        if lost
        else Note("info", what)
    )


def _ends(one: Joint, joints: Joints, ways: Ways) -> tuple[Grip, Grip]:
    place = one.frame.place

    def on(link: Frame, axis: Axis | None, letter: str) -> Grip:
        seat = one.frame if axis is None else axis.seat
        turn: Pose = () if axis is None else (*along_z(axis.xyz, place), *_TO[letter])
        return Grip(link.name, compose(ways.between(joints.seat(link), seat, place), turn), place)

    if one.kind != "universal":
        axis = one.axes[0] if one.axes else None
        return on(one.parent, axis, "z"), on(one.child, axis, "z")
    first, second = one.axes
    seen = direction(ways.between(first.seat, second.seat, place), second.xyz)
    if abs(sum(a * b for a, b in zip(direction((), first.xyz), seen, strict=True))) > _SQUARE:
        raise place.error(
            "it closes a loop, and its two axes are not at right angles",
            f"put it before joint {shown(joints.above[one.child].frame.name)}, which then closes the loop",
        )
    return on(one.parent, first, "x"), on(one.child, second, "y")
