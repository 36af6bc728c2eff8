"""Assembly of a robot's closed loops, computed once and cached, and its use in derivations."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING

from symgen.derivation.closing import closings
from symgen.derivation.linkage import Linkage
from symgen.mechanism.mechanism import Mechanism
from symgen.support import cache
from symgen.support.errors import ArgumentError, OutOfReach
from symgen.vocabulary.functions import FUNCTIONS

if TYPE_CHECKING:
    from symgen.reference.assembling import Assembly


@lru_cache(maxsize=64)
def assembly(mechanism: Mechanism) -> Assembly:
    """Return the assembly (`symgen.reference.assembling`). Raises OutOfReach in one sentence if the
    loops cannot be closed.
    """
    from symgen.reference import assembling  # NumPy, which a cached Program does without

    cached = cache.find("assembly", mechanism.content)
    if cached is None:
        try:
            cached = {"found": asdict(assembling.assemble(mechanism))}
        except assembling.OpenLoops as error:
            cached = {"refused": str(error)}
        cache.keep(cached, "assembly", mechanism.content)
    if "refused" in cached:
        raise OutOfReach(cached["refused"])
    fields = cached["found"]
    return assembling.Assembly(
        tuple(fields["q"]),
        tuple(map(tuple, fields["kept"])),
        fields["rank"],
        tuple(fields["dependent"]),
        tuple(fields["eliminated"]),
        fields["start"],
        tuple(fields["actuated"]),
        tuple(fields["passive"]),
        fields["unmoved"],
        fields["rounded"],
    )


@lru_cache(maxsize=64)
def solve_count(mechanism: Mechanism) -> int:
    """Return the number of damped solves for the forces of redundant rows; see
    `symgen.reference.constrained`.
    """
    if not assembly(mechanism).redundant:
        return 1
    from symgen.reference import constrained
    from symgen.reference.mechanics import Reference

    cached = cache.find("solves", mechanism.content)
    if cached is None:
        cached = constrained.solve_count(mechanism, Reference)
        cache.keep(cached, "solves", mechanism.content)
    return int(cached)


@lru_cache(maxsize=64)
def arm_ranks(mechanism: Mechanism) -> tuple[tuple[int, int], ...]:
    """Return for each closed loop the ranks of its rows under the joints of its first arm alone and
    of its second arm alone.
    """
    from symgen.reference import loop_mobility

    return loop_mobility.loop_arm_ranks(mechanism, assembly(mechanism))


def rows(mechanism: Mechanism) -> int:
    """Return NL, the number of rows of all closed loops that are not identically zero; 0 without
    closed loops.
    """
    return assembly(mechanism).rows if mechanism.loops else 0


def depends_on_loops(mechanism: Mechanism, function: str) -> bool:
    """True if a function depends on the closed loops of a robot: there are some, and the function
    keeps them closed.
    """
    return bool(mechanism.loops) and FUNCTIONS[function].holds_loops_closed


def sizes(mechanism: Mechanism) -> dict[str, int]:
    """Return NL, the number of independent velocities NI, and that of actuated velocities NA."""
    assembled = assembly(mechanism)
    return {
        "NL": assembled.rows,
        "NI": mechanism.nv - assembled.rank,
        "NA": len(assembled.actuated),
    }


def configure_linkage(linkage: Linkage, mechanism: Mechanism, anywhere: bool = False) -> None:
    """Add the closed loops to a linkage; with `anywhere`, in the form that is valid at open
    positions too.
    """
    closed = assembly(mechanism)
    linkage.loops = closings(linkage.model, mechanism, closed.kept, arm_ranks(mechanism))
    linkage.solves = solve_count(mechanism)
    linkage.loops_may_be_open = (
        anywhere or closed.rounded
    )  # dropped rows leave the frames open by the rounding of the description
    linkage.dependent = closed.eliminated
    linkage.actuated, linkage.passive = closed.actuated, closed.passive


def validate(mechanism: Mechanism, baumgarte: bool) -> None:
    """Raise ArgumentError if --baumgarte is requested without closed loops."""
    if baumgarte and not mechanism.loops:
        raise ArgumentError(
            f"'{mechanism.name}' has no closed loops, which --baumgarte stabilizes; leave"
            " --baumgarte out"
        )


def refusal(mechanism: Mechanism, function: str) -> str | None:
    """Return why a function of closed loops does not exist for a robot, in one sentence; None if it
    exists.
    """
    if not FUNCTIONS[function].needs_loops:
        return None
    if mechanism.loops:
        return (
            _unmoved(mechanism, function)
            if mechanism.actuated and FUNCTIONS[function].counts("NA")
            else None
        )
    if any(note.kind == "idle" for note in mechanism.notes):
        return (
            f"{function} needs closed loops, and the loops of '{mechanism.name}' constrain no"
            " motion; use functions of the tree, such as forward_dynamics"
        )
    return (
        f"{function} needs closed loops, and '{mechanism.name}' has none; declare loop closures,"
        " such as [[loop]] in TOML"
    )


def _unmoved(mechanism: Mechanism, function: str) -> str | None:
    """Return why the declared actuated joints cannot produce the motion that a function needs."""
    with suppress(OutOfReach):  # loops that do not close are reported elsewhere
        why = assembly(mechanism).unmoved
        return f"{function}: {why}" if why else None
    return None
