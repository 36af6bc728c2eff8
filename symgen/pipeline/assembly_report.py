"""What closing its loops showed of a robot, as sentences and as facts: the pose, what is left to move, which rows say nothing."""

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
"""Of a coordinate that is shown, behind the point: farther than that a pose from floats is not the same on every machine."""
UNIT = 1e-6
"""By which a quaternion's length may be off 1."""
AS_IF_OPEN = (
    "only constrained_, constraint_, reduced_, assembly_ and contact_ functions know of the loops: forward_dynamics, "
    "mass_matrix and all others are those of the tree, as if no loop were closed"
)
PULLED = (
    "where loops are open, A and gamma are the slope of C and what is left of its second derivative, and gains pull them "
    "together: C'' + K_d C' + K_p C = 0 along the motion"
)
SHARED = "more is actuated than moves, and tau_independent has the least forces that do, by the sum of their squares"
IDLE = "loop {name}: no motion asks for its {rows}, and A leaves that out"
ROUNDED_IDLE = (
    "loop {name}: to 1e-05 of the robot's size and rad, the precision of rounded numbers, other rows say the same as "
    "its {rows} or no motion asks for them, and A leaves that out"
)
LEAST = "forces of the loops are the least ones that keep them closed, since others would as well"


@validated
def assemble(
    robot: Mechanism | str | PathLike[str], q: Sequence[float] | None = None
) -> dict[str, tuple[Fraction, ...]]:
    """Positions at which the loops of a robot are closed: of each joint its coordinates (rad, m), decimals of 120 places.

    They are where damped Gauss-Newton steps lead from `q` (NQ numbers; None: the declared start), C(q) = 0 to all places.
    Raises ArgumentError for what is no position, and OutOfReach where there is no loop or the steps close none.
    """
    from symgen.reference import assembling

    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    if (why := loop_closure.refusal(mechanism, ASSEMBLING[0])) is not None:
        raise OutOfReach(why)
    if q is not None and len(q) != mechanism.nq:
        raise ArgumentError(
            f"q has {len(q)} numbers, and '{mechanism.name}' has {mechanism.nq} coordinates; give one for each"
        )
    _refuse_no_position(mechanism, [] if q is None else [float(x) for x in q])
    loop_closure.assembly(mechanism)
    try:
        found = assembling.closed_near(mechanism, q)
    except assembling.OpenLoops as error:
        raise OutOfReach(str(error)) from None
    return {joint.name: tuple(found[own]) for joint, own in _leading(mechanism)}


def _refuse_no_position(mechanism: Mechanism, q: Sequence[float]) -> None:
    """ArgumentError where an entry is not finite, or a quaternion not of length 1."""
    if not all(map(isfinite, q)):
        raise ArgumentError("q has an entry that is infinite or not a number; give finite ones")
    for first in mechanism.quaternions if q else ():
        if abs((length := hypot(*q[first : first + 4])) - 1) > UNIT:
            raise ArgumentError(
                f"q[{first}] to q[{first + 3}] are a quaternion of length {length:.6g}; scale it to length 1"
            )


def facts(mechanism: Mechanism) -> dict[str, Any]:
    """Of a robot with loops whose loops close, for programs; `refused` with a sentence of one whose loops do not.

    `assembled` has the coordinates of each joint (rad, m), rounded to PLACES; `open_by` (m, rad) is the largest entry of C at
    the declared start; `idle` names, by loop, what no motion asks of it. `independent` and `actuated` velocities are named where
    they are declared.
    """
    try:
        found = loop_closure.assembly(mechanism)
    except OutOfReach as error:
        return {"refused": str(error)}
    told = (
        {"independent": _named(mechanism, free(mechanism, found))} if mechanism.independent else {}
    )
    told |= {"actuated": _named(mechanism, found.actuated)} if mechanism.actuated else {}
    return {
        "assembled": _pose(mechanism, found),
        "open_by": float(f"{found.start:.2g}"),
        "mobility": mechanism.nv - found.rank,
        "rows": found.rows,
        "redundant": found.redundant,
        "idle": _idle(mechanism, found),
    } | told


def sentences(mechanism: Mechanism) -> list[str]:
    """The same for a person; nothing of a robot without loops."""
    if not mechanism.loops:
        return []
    known = facts(mechanism)
    if "refused" in known:
        return [known["refused"]]
    pose = ", ".join(
        f"{name} {' '.join(f'{x:.{PLACES}f}' for x in values)}"
        for name, values in known["assembled"].items()
    )
    free = known["mobility"]
    said = [
        f"the loops close at {pose} (rad, m); the declared start is open by {known['open_by']:.2g} m or rad",
        f"{mechanism.nv} velocities less {mechanism.nv - free} that the loops take leave {free} free; "
        f"A has {known['rows']} rows"
        + (f", {known['redundant']} of them redundant: {LEAST}" if known["redundant"] else ""),
    ]
    found = loop_closure.assembly(mechanism)
    said += [
        (ROUNDED_IDLE if found.rounded else IDLE).format(name=name, rows=_listed(rows))
        for name, rows in known["idle"].items()
    ]
    return [*said, *_chosen(mechanism, found)]


def rows(mechanism: Mechanism) -> str:
    """What the rows of A and C are, in their order, and with them the forces; and which velocities are independent."""
    found = loop_closure.assembly(mechanism)
    named = [
        f"{loop.name} {force} ({unit})"
        for loop, kept in zip(mechanism.loops, found.kept, strict=True)
        for k, (force, unit) in enumerate(zip(loop.type.forces, loop.type.units, strict=True))
        if k in kept
    ]
    said = [f"Independent: {', '.join(_named(mechanism, free(mechanism, found)))}"]
    said += (
        [f"Actuated: {', '.join(_named(mechanism, found.actuated))}"] if mechanism.actuated else []
    )
    return f"rows of A, C and lambda, in the axes of each loop's first frame: {'; '.join(named)}. {'. '.join(said)}"


def free(mechanism: Mechanism, found: Assembly) -> list[int]:
    """The entries of v that are independent."""
    return [k for k in range(mechanism.nv) if k not in found.eliminated]


def _named(mechanism: Mechanism, velocities: Sequence[int]) -> list[str]:
    return [mechanism.velocity_names[k] for k in velocities]


def _chosen(mechanism: Mechanism, found: Assembly) -> list[str]:
    """What is declared to be independent, and to be driven, and what follows."""
    said = (
        [f"independent: {', '.join(_named(mechanism, free(mechanism, found)))}"]
        if mechanism.independent
        else []
    )
    if mechanism.actuated:
        said.append(
            f"actuated: {', '.join(_named(mechanism, found.actuated))}"
            + (f"; {SHARED}" if shared(mechanism) else "")
        )
        said += [found.unmoved] if found.unmoved else []
    return said


def shared(mechanism: Mechanism) -> bool:
    """Whether more is driven than moves, so that many forces do the same."""
    found = loop_closure.assembly(mechanism)
    return len(found.actuated) > mechanism.nv - found.rank and not found.unmoved


def _pose(mechanism: Mechanism, found: Assembly) -> dict[str, list[float]]:
    """By joint; one that follows another has no coordinates of its own."""
    return {
        joint.name: [round(x, PLACES) + 0.0 for x in found.q[own]]
        for joint, own in _leading(mechanism)
    }


def _leading(mechanism: Mechanism) -> Iterator[tuple[Joint, slice]]:
    """The joints that have coordinates, and where."""
    each = zip(mechanism.joints, mechanism.q_slices, mechanism.follows, strict=True)
    return ((joint, own) for joint, own, follows in each if follows is None)


def _idle(mechanism: Mechanism, found: Assembly) -> dict[str, list[str]]:
    """By loop, the forces of the rows that are left out."""
    idle = {
        loop.name: [force for k, force in enumerate(loop.type.forces) if k not in kept]
        for loop, kept in zip(mechanism.loops, found.kept, strict=True)
    }
    return {name: rows for name, rows in idle.items() if rows}


def _listed(words: list[str]) -> str:
    return " and ".join([*([", ".join(words[:-1])] if words[1:] else []), words[-1]])
