"""Drives in formats that can represent only some of their values: values to write, and sentences on
omitted ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from fractions import Fraction

from symgen.description.quantities import fraction_text
from symgen.description.writers._written import list_all
from symgen.mechanism.drives import FRICTION_SPEED, KINDS, Drive
from symgen.mechanism.mechanism import Joint, Mechanism


def omitted_drive_values(
    mechanism: Mechanism, representable: Container[str], representable_unapplied: Container[str]
) -> list[str]:
    """Return one sentence for each drive value that the format cannot represent, with its joints.

    The format represents the values with the names in `representable`, if they are applied, and in
    `representable_unapplied`, if they are only declared. Either needs one value for all velocities
    of a joint.
    """
    joints_of_applied: defaultdict[str, list[str]] = defaultdict(list)
    joints_of_unapplied: defaultdict[str, list[str]] = defaultdict(list)
    for joint in mechanism.joints:
        for name, _ in joint.drive.declared:
            if name not in representable:
                joints_of_applied[name].append(joint.name)
            elif len(joint.drive.numbers(name)) > 1:
                joints_of_applied[f"{name} that differs among the velocities"].append(joint.name)
        for name, _ in joint.unapplied:
            if name not in representable_unapplied:
                joints_of_unapplied[name].append(joint.name)
    return [
        *(
            f"the {name} of {list_all(joints)} is left out"
            for name, joints in joints_of_applied.items()
        ),
        *(
            f"the {name} of {list_all(joints)}, which is not applied, is left out"
            for name, joints in joints_of_unapplied.items()
        ),
    ]


def uniform_values(drive: Drive) -> list[tuple[str, Fraction]]:
    """Return (name, value) of each declared value that all velocities of the joint share."""
    return [(name, value) for name, value in drive.declared if len(drive.numbers(name)) == 1]


def omitted_friction_speed(mechanism: Mechanism) -> list[str]:
    """Return a sentence on the friction speed if it is not the default."""
    if mechanism.friction_speed == FRICTION_SPEED or not any(
        joint.drive.friction for joint in mechanism.joints
    ):
        return []
    speed = fraction_text(mechanism.friction_speed)
    return [f"the friction speed is left out; read the file with --friction-speed {speed}"]


def drives_option(joints: tuple[Joint, ...]) -> str:
    """Return the value of the option --drives that applies the same kinds as these joints: "on" if
    they apply every declared kind, else the list of the applied kinds.
    """
    kinds = [kind for kind in KINDS if any(getattr(joint.drive, kind) for joint in joints)]
    unapplied = {name for joint in joints for name, _ in joint.unapplied}
    return ",".join(kinds) if unapplied & {*KINDS} else "on"
