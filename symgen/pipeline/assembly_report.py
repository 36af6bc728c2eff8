"""Report of a robot's assembly, as sentences and as facts: the closed pose, the mobility, and the
redundant and idle rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import hypot, isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any

from symgen.description.arguments import validated
from symgen.description.loading import load
from symgen.mechanism.mechanism import Joint, Mechanism
from symgen.pipeline import loop_closure
from symgen.support.errors import ArgumentError, OutOfReach
from symgen.vocabulary.functions import ASSEMBLING

if TYPE_CHECKING:
    from symgen.reference.assembling import Assembly

PLACES = 6
"""Decimal places of a printed coordinate; a pose from floats differs beyond them between machines.
"""
UNIT = 1e-6
"""Largest deviation of a quaternion's length from 1."""
AS_IF_OPEN = (
    "only constrained_, constraint_, reduced_, assembly_ and contact_ functions include the loop "
    "closures: forward_dynamics, mass_matrix and all others are those of the tree with open loops"
)
PULLED = (
    "for open loops, A is the derivative of C and gamma the velocity-product part of its "
    "second derivative, and the gains reduce C: C'' + K_d C' + K_p C = 0 along the motion"
)
SHARED = (
    "there are more actuated joints than degrees of freedom; tau_independent has the forces with"
    " the least sum of squares"
)
IDLE = "loop {name}: no motion violates its {rows}; A omits these rows"
ROUNDED_IDLE = (
    "loop {name}: to 1e-05 of the robot's size and rad, the precision of rounded numbers, its"
    " {rows} duplicate other rows, or no motion violates them; A omits these rows"
)
LEAST = "the constraint forces are not unique; the forces of least norm are computed"


@validated
def assemble(
    robot: Mechanism | str | PathLike[str], q: Sequence[float] | None = None
) -> dict[str, tuple[Fraction, ...]]:
    """Return closed positions of a robot: by joint, its coordinates (rad, m) as decimals of 120
    places, with C(q) = 0.

    Damped Gauss-Newton steps start at `q` (NQ numbers; None: the declared start). Raises
    ArgumentError if `q` is not a position, and OutOfReach if the robot has no closed loop or the
    steps do not close it.
    """
    from symgen.reference import assembling

    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    if (why := loop_closure.refusal(mechanism, ASSEMBLING[0])) is not None:
        raise OutOfReach(why)
    if q is not None and len(q) != mechanism.nq:
        raise ArgumentError(
            f"q has {len(q)} numbers, and '{mechanism.name}' has {mechanism.nq} coordinates; give"
            " one for each"
        )
    _refuse_no_position(mechanism, [] if q is None else [float(x) for x in q])
    loop_closure.assembly(mechanism)
    try:
        closed = assembling.closed_near(mechanism, q)
    except assembling.OpenLoops as error:
        raise OutOfReach(str(error)) from None
    return {joint.name: tuple(closed[q_slice]) for joint, q_slice in _leading(mechanism)}


def _refuse_no_position(mechanism: Mechanism, q: Sequence[float]) -> None:
    """Raise ArgumentError if an entry is not finite, or a quaternion does not have length 1."""
    if not all(map(isfinite, q)):
        raise ArgumentError("q has an entry that is infinite or not a number; give finite ones")
    for first in mechanism.quaternions if q else ():
        if abs((length := hypot(*q[first : first + 4])) - 1) > UNIT:
            raise ArgumentError(
                f"q[{first}] to q[{first + 3}] are a quaternion of length {length:.6g}; scale it to"
                " length 1"
            )


def facts(mechanism: Mechanism) -> dict[str, Any]:
    """Return the assembly as plain data; {"refused": sentence} if the loops cannot be closed.

    `assembled` has the coordinates of each joint (rad, m), rounded to PLACES. `open_by` (m, rad) is
    the largest entry of C at the declared start. `idle` names, by loop, the rows that no motion
    violates. `independent` and `actuated` velocities are listed if they are declared.
    """
    try:
        assembly = loop_closure.assembly(mechanism)
    except OutOfReach as error:
        return {"refused": str(error)}
    declared = (
        {"independent": _named(mechanism, independent_entries(mechanism, assembly))}
        if mechanism.independent
        else {}
    )
    declared |= {"actuated": _named(mechanism, assembly.actuated)} if mechanism.actuated else {}
    return {
        "assembled": _pose(mechanism, assembly),
        "open_by": float(f"{assembly.start:.2g}"),
        "mobility": mechanism.nv - assembly.rank,
        "rows": assembly.rows,
        "redundant": assembly.redundant,
        "idle": _idle(mechanism, assembly),
    } | declared


def sentences(mechanism: Mechanism) -> list[str]:
    """Return the assembly as sentences; empty for a robot without closed loops."""
    if not mechanism.loops:
        return []
    data = facts(mechanism)
    if "refused" in data:
        return [data["refused"]]
    pose = ", ".join(
        f"{name} {' '.join(f'{x:.{PLACES}f}' for x in values)}"
        for name, values in data["assembled"].items()
    )
    mobility = data["mobility"]
    lines = [
        (
            f"the loops close at {pose} (rad, m); the declared start is open by"
            f" {data['open_by']:.2g} m or rad"
        ),
        f"{mechanism.nv} velocities minus {mechanism.nv - mobility} constrained by the loops leave"
        f" {mobility} free; A has {data['rows']} rows"
        + (f", {data['redundant']} of them redundant: {LEAST}" if data["redundant"] else ""),
    ]
    assembly = loop_closure.assembly(mechanism)
    lines += [
        (ROUNDED_IDLE if assembly.rounded else IDLE).format(name=name, rows=_listed(rows))
        for name, rows in data["idle"].items()
    ]
    return [*lines, *_chosen(mechanism, assembly)]


def rows(mechanism: Mechanism) -> str:
    """Return the meaning of the rows of A and C and of the forces, in order, and the independent
    velocities.
    """
    assembly = loop_closure.assembly(mechanism)
    named = [
        f"{loop.name} {force} ({unit})"
        for loop, kept_rows in zip(mechanism.loops, assembly.kept, strict=True)
        for k, (force, unit) in enumerate(zip(loop.type.forces, loop.type.units, strict=True))
        if k in kept_rows
    ]
    velocities = [
        f"Independent: {', '.join(_named(mechanism, independent_entries(mechanism, assembly)))}"
    ]
    velocities += (
        [f"Actuated: {', '.join(_named(mechanism, assembly.actuated))}"]
        if mechanism.actuated
        else []
    )
    return (
        f"rows of A, C and lambda, in the axes of each loop's first frame: {'; '.join(named)}."
        f" {'. '.join(velocities)}"
    )


def independent_entries(mechanism: Mechanism, assembly: Assembly) -> list[int]:
    """Return the independent entries of v."""
    return [k for k in range(mechanism.nv) if k not in assembly.eliminated]


def _named(mechanism: Mechanism, velocities: Sequence[int]) -> list[str]:
    return [mechanism.velocity_names[k] for k in velocities]


def _chosen(mechanism: Mechanism, assembly: Assembly) -> list[str]:
    """Return the lines on declared independent and actuated velocities."""
    lines = (
        [f"independent: {', '.join(_named(mechanism, independent_entries(mechanism, assembly)))}"]
        if mechanism.independent
        else []
    )
    if mechanism.actuated:
        lines.append(
            f"actuated: {', '.join(_named(mechanism, assembly.actuated))}"
            + (f"; {SHARED}" if shared(mechanism) else "")
        )
        lines += [assembly.unmoved] if assembly.unmoved else []
    return lines


def shared(mechanism: Mechanism) -> bool:
    """True if there are more actuated velocities than degrees of freedom, so that many forces have
    the same effect.
    """
    assembly = loop_closure.assembly(mechanism)
    return len(assembly.actuated) > mechanism.nv - assembly.rank and not assembly.unmoved


def _pose(mechanism: Mechanism, assembly: Assembly) -> dict[str, list[float]]:
    """Return the assembled coordinates by joint, without mimic joints."""
    return {
        joint.name: [round(x, PLACES) + 0.0 for x in assembly.q[q_slice]]
        for joint, q_slice in _leading(mechanism)
    }


def _leading(mechanism: Mechanism) -> Iterator[tuple[Joint, slice]]:
    """Yield the joints that have own coordinates, and their slices."""
    joints = zip(mechanism.joints, mechanism.q_slices, mechanism.joint_couplings, strict=True)
    return ((joint, q_slice) for joint, q_slice, coupling in joints if coupling is None)


def _idle(mechanism: Mechanism, assembly: Assembly) -> dict[str, list[str]]:
    """Return by loop the forces of the rows that A omits."""
    idle = {
        loop.name: [force for k, force in enumerate(loop.type.forces) if k not in kept_rows]
        for loop, kept_rows in zip(mechanism.loops, assembly.kept, strict=True)
    }
    return {name: rows for name, rows in idle.items() if rows}


def _listed(words: list[str]) -> str:
    return " and ".join([*([", ".join(words[:-1])] if words[1:] else []), words[-1]])
