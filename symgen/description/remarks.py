"""What a user should know about a mechanism that was read, and would not see in its numbers. Each is one note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from symgen.mechanism.mechanism import BASE, Joint, Limits, Mechanism, Note, Part
from symgen.vocabulary.identifiers import renaming

WORLD = "world"
"""A root link of this name says that what is fixed to it is fixed to the world, as Gazebo reads it."""
_BEYOND = 1e-3
"""Part of a limit's size by which a locked value may exceed it: limits are printed with few digits."""
SHOWN = 12
"""Joints that a sentence names before it counts the rest."""


def on_mimics(joints: Sequence[Joint], declared: set[str], coupled: bool = False) -> list[Note]:
    """The joints that follow others, or those that are read as independent and those whose leader is not `declared`."""
    if coupled:
        said = [f"{j.name} follows {j.mimic.joint}" for j in joints if j.mimic is not None]
        return [Note("mimic", f"coupled, with no coordinates of their own: {', '.join(said)}")]
    lost = [
        Note("warning", f"joint {j.name} mimics joint {j.mimic.joint}, which is not declared")
        for j in joints
        if j.mimic is not None and j.mimic.joint not in declared
    ]
    names = [joint.name for joint in joints if joint.mimic is not None]
    if not names:
        return []
    return [
        Note(
            "mimic",
            f"read as independent although declared to mimic another joint: {', '.join(names)}",
        ),
        *lost,
    ]


def on_ranges(mechanism: Mechanism) -> list[Note]:
    """Joints that others follow, and that have no place which all of them are allowed."""
    found = []
    for joint, limits in zip(mechanism.joints, mechanism.ranges, strict=True):
        if (
            limits is not joint.limits
            and limits.lower is not None
            and limits.upper is not None
            and limits.lower > limits.upper
        ):
            found.append(
                Note(
                    "warning",
                    f"joint {joint.name} and those that follow it are nowhere all within their ranges",
                )
            )
    return found


def on_what_is_not_applied(joints: Iterable[Joint]) -> list[Note]:
    """Damping, friction and rotors, grouped by kind."""
    what: dict[str, dict[str, None]] = {}
    for joint in joints:
        for name, _ in joint.unapplied:
            what.setdefault(name, {})[joint.name] = None
    if not what:
        return []
    return [
        Note(
            "unapplied",
            "read and not applied: "
            + "; ".join(f"{name} of {', '.join(js)}" for name, js in what.items()),
        )
    ]


def on_weight_not_borne(links: Sequence[str]) -> list[Note]:
    """Links whose whole weight is felt although part of it is declared to be borne."""
    if not links:
        return []
    more = f" and {len(links) - SHOWN} more" if len(links) > SHOWN else ""
    return [
        Note(
            "warning",
            f"gravcomp of {', '.join(links[:SHOWN])}{more} is not applied, so that the whole weight is felt",
        )
    ]


def on_massless_ends(joints: Sequence[Joint], parts: Mapping[int, Sequence[Part]]) -> list[Note]:
    """Joints beyond which nothing has mass have no finite acceleration. That is a note; reading goes on."""
    felt = [
        any(part.mass or any(part.moments) for part in parts[body]) for body in range(len(joints))
    ]
    for index in reversed(range(len(felt))):
        parent = joints[index].parent
        if parent != BASE and felt[index]:
            felt[parent] = True
    names = [joint.name for joint, ok in zip(joints, felt, strict=True) if not ok]
    if not any(felt):
        return [
            Note(
                "warning",
                "no link that moves has mass: there is no forward dynamics, and every force is zero",
            )
        ]
    if len(names) > 1:
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return [
            Note(
                "warning",
                f"joints {', '.join(names[:SHOWN])}{more} move nothing that has mass: no forward dynamics exists "
                "with them",
            )
        ]
    return [
        Note(
            "warning",
            f"joint {name} moves nothing that has mass: no forward dynamics exists with it",
        )
        for name in names
    ]


def on_free_joints_in_a_row(
    joints: Sequence[Joint], parts: Mapping[int, Sequence[Part]]
) -> list[Note]:
    """A free joint that moves a link without mass, and behind it nothing but another free joint, moves nothing of its own."""
    carried = Counter(joint.parent for joint in joints)
    return [
        Note(
            "warning",
            f"joints {joints[joint.parent].name} and {joint.name} are free one behind the other, and nothing "
            "between them has mass: only their product is felt, so leave one of them out",
        )
        for joint in joints
        if joint.parent != BASE
        and joint.type.free
        and joints[joint.parent].type.free
        and carried[joint.parent] == 1
        and not any(part.mass or any(part.moments) for part in parts[joint.parent])
    ]


def on_the_base(
    base: str,
    masses: Mapping[str, Fraction],
    joints: Iterable[tuple[str, str, bool]],
    explicit: bool = False,
) -> list[Note]:
    """A note that the base has mass and does not move: a warning where it looks like the trunk of a moving robot, else a remark.

    It looks like one when several limbs start at it, or when it is heavier than all that moves (both as declared, whatever is
    locked). A base called `world` is meant to stand still, and so is one whose fixing is `explicit`: the user asked for it.
    `masses` are those of the links, `joints` (parent, child, fixed or not), parents first.
    """
    welded, limbs = {base}, 0
    for parent, child, fixed in joints:
        if parent in welded and fixed:
            welded.add(child)
        elif parent in welded:
            limbs += 1
    mass = sum((masses[link] for link in welded), Fraction(0))
    moving = sum(masses.values(), Fraction(0)) - mass
    if mass <= 0 or base == WORLD:
        return []
    still = f"{base} ({float(mass):.6g} kg) stands still, since no joint leads to it"
    if explicit or (limbs == 1 and mass <= moving):
        return [Note("info", f"{still}: its inertia is in no function")]
    return [
        Note(
            "warning",
            f"{still}; if it walks, rolls, swims or flies, read it with --base free (base='free'); if it is "
            "bolted down, with --base fixed (base='fixed')",
        )
    ]


def on_the_order(joint_order: str | Sequence[str], names: Sequence[str]) -> list[Note]:
    """A note of the order of the joints, where the user chose it."""
    if joint_order == "file":
        return []
    whose = "Pinocchio's" if joint_order == "pinocchio" else "the chosen"
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return [Note("info", f"joints stand in {whose} order: {', '.join(names[:SHOWN])}{more}")]


def on_the_name(name: str) -> list[Note]:
    """A note of the robot's name in C, where C does not take the robot's own."""
    called = renaming(name)
    return [Note("info", f"{called}; generate(name=...) takes another")] if called else []


def on_loops(names: Sequence[str]) -> list[Note]:
    """What feels the loops, where there are any."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    felt = "felt by functions of constraints alone, while all others are those of the tree cut open"
    return (
        [Note("info", f"{felt}: loop{'s' * (len(names) > 1)} {', '.join(names[:SHOWN])}{more}")]
        if names
        else []
    )


def on_a_locked_value(joint: str, value: float, limits: Limits, unit: str) -> list[Note]:
    """A note for a joint that is locked outside its range."""
    low, high = (None if limit is None else float(limit) for limit in (limits.lower, limits.upper))
    slack = _BEYOND * max(abs(low or 0), abs(high or 0))
    below = low is not None and value < low - slack
    if (low is not None and high is not None and low > high) or not (
        below or (high is not None and value > high + slack)
    ):
        return []
    span = " … ".join("" if limit is None else f"{limit:g}" for limit in (low, high))
    return [
        Note(
            "warning",
            f"joint {joint} is locked at {value:g} {unit}, outside its range {span.strip()} {unit}",
        )
    ]
