"""Sentences about drives, for formats that have words for some of their numbers."""

from __future__ import annotations

from collections.abc import Container
from fractions import Fraction

from symgen.description.quantities import fraction_text
from symgen.description.writers._written import listed
from symgen.mechanism.drives import FRICTION_SPEED, KINDS, Drive
from symgen.mechanism.mechanism import Joint, Mechanism


def on_numbers(mechanism: Mechanism, held: Container[str], held_spare: Container[str]) -> list[str]:
    """What drives declare under other names than those `held`; and what was not applied, under other names than the second."""
    applied: dict[str, list[str]] = {}
    spare: dict[str, list[str]] = {}
    for joint in mechanism.joints:
        for found, numbers, words in (
            (applied, joint.drive.declared, held),
            (spare, joint.unapplied, held_spare),
        ):
            for name, _ in numbers:
                if name not in words:
                    found.setdefault(name, []).append(joint.name)
                elif found is applied and len(joint.drive.numbers(name)) > 1:
                    found.setdefault(f"{name} that differs among the velocities", []).append(
                        joint.name
                    )
    return [
        *(f"the {name} of {listed(joints)} is left out" for name, joints in applied.items()),
        *(
            f"the {name} of {listed(joints)}, read and not applied, is left out"
            for name, joints in spare.items()
        ),
    ]


def uniform(drive: Drive) -> list[tuple[str, Fraction]]:
    """The declared numbers that are the same at every velocity of the joint, by name."""
    return [(name, value) for name, value in drive.declared if len(drive.numbers(name)) == 1]


def on_friction_speed(mechanism: Mechanism) -> list[str]:
    """The speed below which friction fades, where it is not the usual one."""
    if mechanism.friction_speed == FRICTION_SPEED or not any(
        joint.drive.friction for joint in mechanism.joints
    ):
        return []
    speed = fraction_text(mechanism.friction_speed)
    return [f"the friction speed is left out; read it with --friction-speed {speed}"]


def applied(joints: tuple[Joint, ...]) -> str:
    """What --drives takes to apply just these kinds."""
    kinds = [kind for kind in KINDS if any(getattr(joint.drive, kind) for joint in joints)]
    spare = {name for joint in joints for name, _ in joint.unapplied}
    return ",".join(kinds) if spare & {*KINDS} else "on"
