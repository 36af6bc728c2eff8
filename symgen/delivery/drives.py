"""What the README, the header and the manifest say of the drives that are applied; nothing where none is."""

from __future__ import annotations

from typing import Any

from symgen.backends._markdown import cell
from symgen.drives import Drive
from symgen.mechanism import Joint, Mechanism

FORCE = "damping v + friction v/sqrt(v^2 + e^2) + stiffness (q - rest)"


def of_joint(joint: Joint) -> dict[str, Any]:
    """For programs: the numbers of its drive that are not zero, as the key `drive`."""
    return {"drive": numbers(joint.drive)} if joint.drive else {}


def numbers(drive: Drive) -> dict[str, float | list[float]]:
    """Its numbers that are not zero, by name; a list where the velocities of the joint differ."""
    found = {name: [float(value) for value in drive.numbers(name)] for name, _ in drive.declared}
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def borne(mechanism: Mechanism) -> dict[str, Any]:
    """For programs: what fraction of the weight of which links is borne; of a link of several inertias, of each."""
    found = [{"link": part.link, "fraction": float(part.gravcomp)} for part in mechanism.borne]
    return {"gravcomp": found} if found else {}


def friction_speed(mechanism: Mechanism) -> dict[str, float]:
    """For programs: ε where a joint has friction."""
    return {"friction_speed": float(mechanism.friction_speed)} if _rubs(mechanism) else {}


def of_header(mechanism: Mechanism) -> tuple[str, ...]:
    """Lines of the C header, in ASCII."""
    return (*_of_joints(mechanism), *_of_weight(mechanism))


def _of_weight(mechanism: Mechanism) -> tuple[str, ...]:
    if not mechanism.borne:
        return ()
    return ("Part of the weight of links is borne (gravcomp), which tau and c need not give. g, U, Y and forces",
            "between bodies are of all of the weight.")


def _of_joints(mechanism: Mechanism) -> tuple[str, ...]:
    if not any(joint.drive for joint in mechanism.joints):
        return ()
    speed = f"; e = {float(mechanism.friction_speed):.12g}" if _rubs(mechanism) else ""
    return ("Drives are part of it: M has their armature on its diagonal, and tau and c include", f"  {FORCE}{speed}",
            "of each joint. g, C, U, Y, forces between bodies and momenta are those of the bodies alone.")


def of_readme(mechanism: Mechanism) -> dict[str, Any]:
    """`drives`, a row for each joint that has one, and `friction_speed` where one has friction, else nothing; `borne`, a row for
    each inertia of which some weight is borne.
    """
    rows = [{"index": i, **{name: ", ".join(f"{float(value):.12g}" for value in joint.drive.numbers(name)) for name in
                            ("armature", "damping", "friction", "stiffness", "rest")}}
            for i, joint in enumerate(mechanism.joints) if joint.drive]
    borne = [{"link": cell(part.link), "gravcomp": f"{float(part.gravcomp):.12g}"} for part in mechanism.borne]
    speed = f"{float(mechanism.friction_speed):.12g}" if _rubs(mechanism) else ""
    return {"drives": rows, "friction_speed": speed, "borne": borne}


def _rubs(mechanism: Mechanism) -> bool:
    return any(joint.drive.friction for joint in mechanism.joints)
