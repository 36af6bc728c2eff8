"""How the loops of a robot close: found once, and kept. What is about loops is derived for the rows that count."""

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
    """See `symgen.reference.assembling`; OutOfReach in one sentence where the loops cannot be closed."""
    from symgen.reference import assembling  # NumPy, which a cached Program does without

    known = cache.find("assembly", mechanism.content)
    if known is None:
        try:
            known = {"found": asdict(assembling.assemble(mechanism))}
        except assembling.OpenLoops as error:
            known = {"refused": str(error)}
        cache.keep(known, "assembly", mechanism.content)
    if "refused" in known:
        raise OutOfReach(known["refused"])
    found = known["found"]
    return assembling.Assembly(
        tuple(found["q"]),
        tuple(map(tuple, found["kept"])),
        found["rank"],
        tuple(found["dependent"]),
        tuple(found["eliminated"]),
        found["start"],
        tuple(found["actuated"]),
        tuple(found["passive"]),
        found["unmoved"],
        found["rounded"],
    )


@lru_cache(maxsize=64)
def solves(mechanism: Mechanism) -> int:
    """How often the forces of redundant rows are solved for; see `symgen.reference.constrained`."""
    if not assembly(mechanism).redundant:
        return 1
    from symgen.reference import constrained
    from symgen.reference.mechanics import Reference

    known = cache.find("solves", mechanism.content)
    if known is None:
        known = constrained.solve_count(mechanism, Reference)
        cache.keep(known, "solves", mechanism.content)
    return int(known)


@lru_cache(maxsize=64)
def moves(mechanism: Mechanism) -> tuple[tuple[int, int], ...]:
    """Of each loop, along how many of its rows the links on the way to its first and its second end move it by themselves."""
    from symgen.reference import loop_mobility

    return loop_mobility.loop_arm_ranks(mechanism, assembly(mechanism))


def rows(mechanism: Mechanism) -> int:
    """NL: the rows of all loops that are not zero for ever; 0 where there is none."""
    return assembly(mechanism).rows if mechanism.loops else 0


def known(mechanism: Mechanism, function: str) -> bool:
    """Whether a function has to know of the loops of a robot: there are some, and they are closed in it."""
    return bool(mechanism.loops) and FUNCTIONS[function].holds_loops_closed


def sizes(mechanism: Mechanism) -> dict[str, int]:
    """NL, and of the velocities those that are independent (NI) and those that are driven (NA)."""
    found = assembly(mechanism)
    return {"NL": found.rows, "NI": mechanism.nv - found.rank, "NA": len(found.actuated)}


def lay(linkage: Linkage, mechanism: Mechanism, anywhere: bool = False) -> None:
    """Let a linkage know of the loops; with `anywhere`, as they are beside closed positions too."""
    closed = assembly(mechanism)
    linkage.loops = closings(linkage.model, mechanism, closed.kept, moves(mechanism))
    linkage.solves = solves(mechanism)
    linkage.loops_may_be_open = (
        anywhere or closed.rounded
    )  # rows that are left out leave the frames off by rounding
    linkage.dependent = closed.eliminated
    linkage.actuated, linkage.passive = closed.actuated, closed.passive


def validate(mechanism: Mechanism, baumgarte: bool) -> None:
    """ArgumentError where there is no loop to be pulled together."""
    if baumgarte and not mechanism.loops:
        raise ArgumentError(
            f"'{mechanism.name}' has no loops that --baumgarte could pull together; leave it out"
        )


def refusal(mechanism: Mechanism, function: str) -> str | None:
    """Why a function that is about loops does not exist for a robot, in one sentence; None where it does."""
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
            f"{function} is about loops, and those of '{mechanism.name}' constrain nothing; take functions of the tree, as "
            "forward_dynamics"
        )
    return f"{function} is about loops, and '{mechanism.name}' has none; declare joints that close some, as [[loop]] does in TOML"


def _unmoved(mechanism: Mechanism, function: str) -> str | None:
    """Why the joints that are declared to be driven cannot do what a function asks of them."""
    with suppress(OutOfReach):  # loops that do not close are told elsewhere
        why = assembly(mechanism).unmoved
        return f"{function}: {why}" if why else None
    return None
