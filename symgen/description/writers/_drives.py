"""Sentences about drives, for formats that can represent some of their numbers."""

from __future__ import annotations

from collections.abc import Container
from fractions import Fraction

from symgen.description.quantities import fraction_text
from symgen.description.writers._written import list_all
from symgen.mechanism.drives import FRICTION_SPEED, KINDS, Drive
from symgen.mechanism.mechanism import Joint, Mechanism


def omitted_drive_values(
    mechanism: Mechanism, representable: Container[str], representable_unapplied: Container[str]
) -> list[str]:
    """Return sentences on drive values that the format cannot represent, by the names that it can."""
    omitted: dict[str, list[str]] = {}
    omitted_unapplied: dict[str, list[str]] = {}
    for joint in mechanism.joints:
        for omissions, numbers, words in (
            (omitted, joint.drive.declared, representable),
            (omitted_unapplied, joint.unapplied, representable_unapplied),
        ):
            for name, _ in numbers:
                if name not in words:
                    omissions.setdefault(name, []).append(joint.name)
                elif omissions is omitted and len(joint.drive.numbers(name)) > 1:
                    omissions.setdefault(f"{name} that differs among the velocities", []).append(
                        joint.name
                    )
    return [
        *(f"the {name} of {list_all(joints)} is left out" for name, joints in omitted.items()),
        *(
            f"the {name} of {list_all(joints)}, which is not applied, is left out"
            for name, joints in omitted_unapplied.items()
        ),
    ]


def uniform_values(drive: Drive) -> list[tuple[str, Fraction]]:
    """Return the declared values that are the same at every velocity of the joint, as (name,
    value).
    """
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
    """Return the value of --drives that applies exactly these kinds."""
    kinds = [kind for kind in KINDS if any(getattr(joint.drive, kind) for joint in joints)]
    unapplied = {name for joint in joints for name, _ in joint.unapplied}
    return ",".join(kinds) if unapplied & {*KINDS} else "on"
