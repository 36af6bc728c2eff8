"""Notes on a mechanism that was read: facts that a user should know and would not see in its
numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from symgen.mechanism.mechanism import BASE, Joint, Limits, Mechanism, Note, Part
from symgen.support.lists import shortened_list
from symgen.vocabulary.identifiers import renaming_note

WORLD = "world"
"""A root link of this name is the world, as in Gazebo: links fixed to it are meant to be fixed."""
_BEYOND = 1e-3
"""Share of a limit by which a locked value may exceed it: limits are printed with few digits."""
SHOWN = 12
"""Number of joints that a message names before it counts the rest."""


def note_mimics(joints: Sequence[Joint], declared: set[str], coupled: bool = False) -> list[Note]:
    """Note the followers, or the mimic joints that are read as independent and those whose leader
    is not `declared`.
    """
    if coupled:
        couplings = [f"{j.name} follows {j.mimic.joint}" for j in joints if j.mimic is not None]
        return [
            Note(
                "mimic",
                "coupled to their leaders, without coordinates of their own:"
                f" {', '.join(couplings)}",
            )
        ]
    without_leader = [
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
        *without_leader,
    ]


def note_empty_ranges(mechanism: Mechanism) -> list[Note]:
    """Note leaders whose range and the ranges of their followers have no common value."""
    notes = []
    for joint, limits in zip(mechanism.joints, mechanism.ranges, strict=True):
        if (
            limits is not joint.limits
            and limits.lower is not None
            and limits.upper is not None
            and limits.lower > limits.upper
        ):
            notes.append(
                Note(
                    "warning",
                    f"joint {joint.name} and its followers have no common position within their"
                    " ranges",
                )
            )
    return notes


def note_unapplied_drives(joints: Iterable[Joint]) -> list[Note]:
    """Note damping, friction and rotors that are not applied, grouped by kind."""
    joints_by_name: dict[str, dict[str, None]] = {}
    for joint in joints:
        for name, _ in joint.unapplied:
            joints_by_name.setdefault(name, {})[joint.name] = None
    if not joints_by_name:
        return []
    return [
        Note(
            "unapplied",
            "read and not applied: "
            + "; ".join(f"{name} of {', '.join(js)}" for name, js in joints_by_name.items()),
        )
    ]


def note_ignored_gravity_compensation(links: Sequence[str]) -> list[Note]:
    """Note links whose declared gravity compensation is not applied."""
    if not links:
        return []
    return [
        Note(
            "warning",
            f"gravcomp of {shortened_list(links, SHOWN)} is not applied: these links have their"
            " full weight",
        )
    ]


def note_massless_ends(joints: Sequence[Joint], parts: Mapping[int, Sequence[Part]]) -> list[Note]:
    """Note joints that move no mass and so have no finite acceleration."""
    with_mass = [
        any(part.mass or any(part.moments) for part in parts[body]) for body in range(len(joints))
    ]
    for index in reversed(range(len(with_mass))):
        parent = joints[index].parent
        if parent != BASE and with_mass[index]:
            with_mass[parent] = True
    names = [joint.name for joint, ok in zip(joints, with_mass, strict=True) if not ok]
    if not any(with_mass):
        return [
            Note(
                "warning",
                "no moving link has mass: forward dynamics does not exist, and every force is zero",
            )
        ]
    if len(names) > 1:
        return [
            Note(
                "warning",
                f"joints {shortened_list(names, SHOWN)} move no mass: forward dynamics does not"
                " exist",
            )
        ]
    return [
        Note(
            "warning",
            f"joint {name} moves no mass: forward dynamics does not exist",
        )
        for name in names
    ]


def note_free_joints_in_a_row(
    joints: Sequence[Joint], parts: Mapping[int, Sequence[Part]]
) -> list[Note]:
    """Note free joints in series with a massless link between them: only the product of their
    motions has an effect.
    """
    children = Counter(joint.parent for joint in joints)
    return [
        Note(
            "warning",
            f"the free joints {joints[joint.parent].name} and {joint.name} have only a massless"
            " link between them: only their combined motion has an effect; remove one of them",
        )
        for joint in joints
        if joint.parent != BASE
        and joint.type.free
        and joints[joint.parent].type.free
        and children[joint.parent] == 1
        and not any(part.mass or any(part.moments) for part in parts[joint.parent])
    ]


def note_fixed_base(
    base: str,
    masses: Mapping[str, Fraction],
    joints: Iterable[tuple[str, str, bool]],
    explicit: bool = False,
) -> list[Note]:
    """Note a fixed base with mass: as a warning if it looks like the trunk of a mobile robot, else
    as a remark.

    A base looks like a trunk if several limbs start at it, or if it is heavier than all moving
    links (both as declared, regardless of locked joints). A base named `world` is meant to be
    fixed. So is one that the user fixed on purpose (`explicit`). `masses` are those of the links,
    `joints` are (parent, child, True if fixed), parents first.
    """
    fixed_links, limbs = {base}, 0
    for parent, child, fixed in joints:
        if parent in fixed_links and fixed:
            fixed_links.add(child)
        elif parent in fixed_links:
            limbs += 1
    mass = sum((masses[link] for link in fixed_links), Fraction(0))
    moving = sum(masses.values(), Fraction(0)) - mass
    if mass <= 0 or base == WORLD:
        return []
    fixed_base = f"{base} ({float(mass):.6g} kg) is fixed, since no joint moves it"
    if explicit or (limbs == 1 and mass <= moving):
        return [Note("info", f"{fixed_base}: its inertia has no effect")]
    return [
        Note(
            "warning",
            f"{fixed_base}; use --base free (base='free') for a mobile robot, --base fixed"
            " (base='fixed') for a robot on a fixed base",
        )
    ]


def note_joint_order(joint_order: str | Sequence[str], names: Sequence[str]) -> list[Note]:
    """Note the order of the joints if the user chose it."""
    if joint_order == "file":
        return []
    whose = "Pinocchio's" if joint_order == "pinocchio" else "the chosen"
    return [Note("info", f"joints are in {whose} order: {shortened_list(names, SHOWN)}")]


def note_c_name(name: str) -> list[Note]:
    """Note the robot's name in C if it differs."""
    renaming = renaming_note(name)
    return [Note("info", f"{renaming}; generate(name=...) sets another name")] if renaming else []


def note_loops(names: Sequence[str]) -> list[Note]:
    """Note which functions the loops affect."""
    scope = "only functions of constraints include the loops, all others are those of the open tree"
    return (
        [Note("info", f"{scope}: loop{'s' * (len(names) > 1)} {shortened_list(names, SHOWN)}")]
        if names
        else []
    )


def note_locked_value(joint: str, value: float, limits: Limits, unit: str) -> list[Note]:
    """Note a joint that is locked outside its range."""
    low, high = (None if limit is None else float(limit) for limit in (limits.lower, limits.upper))
    slack = _BEYOND * max(abs(low or 0), abs(high or 0))
    is_below = low is not None and value < low - slack
    if (low is not None and high is not None and low > high) or not (
        is_below or (high is not None and value > high + slack)
    ):
        return []
    span = " … ".join("" if limit is None else f"{limit:g}" for limit in (low, high))
    return [
        Note(
            "warning",
            f"joint {joint} is locked at {value:g} {unit}, outside its range {span.strip()} {unit}",
        )
    ]
