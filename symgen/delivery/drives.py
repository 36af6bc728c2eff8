"""Applied drives and gravity compensation for README, header and manifest; empty texts without
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symgen.emission.markdown import cell
from symgen.mechanism.adjustable import adjustable_parameters
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Joint, Mechanism

_TERMS = {
    "damping": "damping v",
    "friction": "friction v/sqrt(v^2 + e^2)",
    "stiffness": "stiffness (q - rest)",
}
"""Forces of a drive, as the C computes them."""


def applied(mechanism: Mechanism, parameters: Iterable[str] = ()) -> frozenset[str]:
    """Return the kinds of drives that act on some joint: applied ones, and those with run-time
    parameters.
    """
    kinds = {kind for joint in mechanism.joints for kind, _ in joint.drive.declared}
    kinds |= {
        adjustable.kind
        for adjustable in adjustable_parameters(mechanism, parameters)
        if adjustable.joint
    }
    return frozenset("stiffness" if kind == "rest" else kind for kind in kinds)


def forces(mechanism: Mechanism, parameters: Iterable[str] = ()) -> str:
    """Return further terms of the bias force besides C v + g, in ASCII: drives and gravity
    compensation.
    """
    kinds = applied(mechanism, parameters)
    terms = [f" + {term}" for kind, term in _TERMS.items() if kind in kinds]
    return "".join([*terms, *([" - compensated weight"] if mechanism.compensated_parts else [])])


def of_joint(joint: Joint) -> dict[str, Any]:
    """Return the manifest's key `drive` with the nonzero numbers of a joint's drive."""
    return {"drive": numbers(joint.drive)} if joint.drive else {}


def numbers(drive: Drive) -> dict[str, float | list[float]]:
    """Return the nonzero numbers of a drive by name; a list if velocities of the joint differ."""
    by_name = {name: [float(value) for value in drive.numbers(name)] for name, _ in drive.declared}
    return {name: values if len(values) > 1 else values[0] for name, values in by_name.items()}


def gravity_compensation(mechanism: Mechanism) -> dict[str, Any]:
    """Return the manifest's list of links with gravity compensation, with their fractions; one
    entry for each inertia.
    """
    compensated = [
        {"link": part.link, "fraction": float(part.gravcomp)}
        for part in mechanism.compensated_parts
    ]
    return {"gravcomp": compensated} if compensated else {}


def friction_speed(mechanism: Mechanism, parameters: Iterable[str] = ()) -> dict[str, float]:
    """Return the manifest's ε of friction, if a joint has friction."""
    return (
        {"friction_speed": float(mechanism.friction_speed)}
        if "friction" in applied(mechanism, parameters)
        else {}
    )


def of_header(mechanism: Mechanism, parameters: Iterable[str] = ()) -> tuple[str, ...]:
    """Return lines of the C header, in ASCII."""
    return (*_of_joints(mechanism, applied(mechanism, parameters)), *_of_weight(mechanism))


def _of_weight(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the header's lines on gravity compensation."""
    if not mechanism.compensated_parts:
        return ()
    return (
        (
            "Part of the weight of some links is compensated (gravcomp). tau and c do not include"
            " the compensated part."
        ),
        "g, U, Y and the forces between bodies include the whole weight.",
    )


def _of_joints(mechanism: Mechanism, kinds: frozenset[str]) -> tuple[str, ...]:
    """Return the header's lines on drives."""
    if not kinds:
        return ()
    speed = f"; e = {float(mechanism.friction_speed):.12g}" if "friction" in kinds else ""
    clauses = ["M includes the armature on its diagonal"] if "armature" in kinds else []
    terms = " + ".join(term for kind, term in _TERMS.items() if kind in kinds)
    clauses += ["tau and c include"] if terms else []
    return (
        f"Drives are modelled: {', and '.join(clauses)}{'' if terms else '.'}",
        *([f"  {terms}{speed}"] if terms else []),
        (
            f"{'of each joint. ' if terms else ''}g, C, U, Y, forces between bodies and momenta do"
            " not include drives."
        ),
    )


def of_readme(mechanism: Mechanism, parameters: Iterable[str] = ()) -> dict[str, Any]:
    """Return the README's rows of drives, of gravity compensation, and the friction speed.

    `drives` has a row for each joint with a drive or with run-time parameters of one.
    `friction_speed` is empty without friction. `compensated` has a row for each inertia with
    gravity compensation.
    """
    adjusted = {adjustable.joint for adjustable in adjustable_parameters(mechanism, parameters)}
    rows = [
        {
            "index": i,
            **{
                name: ", ".join(f"{float(value):.12g}" for value in joint.drive.numbers(name))
                for name in ("armature", "damping", "friction", "stiffness", "rest")
            },
        }
        for i, joint in enumerate(mechanism.joints)
        if joint.drive or joint.name in adjusted
    ]
    compensated = [
        {"link": cell(part.link), "gravcomp": f"{float(part.gravcomp):.12g}"}
        for part in mechanism.compensated_parts
    ]
    speed = (
        f"{float(mechanism.friction_speed):.12g}"
        if "friction" in applied(mechanism, parameters)
        else ""
    )
    return {"drives": rows, "friction_speed": speed, "compensated": compensated}
