"""What is said of a loop over links where it is declared: the array that its caller provides, and what may lie over what."""

from __future__ import annotations

from typing import Any

from symgen.emission import definition
from symgen.emission.c_text import C
from symgen.ir.program import POSITIONS
from symgen.ir.recursion import WORK, Looped, Recursion
from symgen.vocabulary.target import Target

SIZE = "size"
"""What the C calls how many numbers the caller's array has."""


def work(recursion: Recursion, checked: bool = False) -> int:
    """Numbers of the array that the caller provides: what is kept, in a tree what the base and each link hand on, and the results
    where the function is `checked`, which are stored when all of them are known to be finite.
    """
    handed = (len(recursion) + 1) * widest(recursion)
    return max(1, recursion.work * len(recursion) + handed) + sum(
        port.size for port in recursion.outputs if checked
    )


def may_alias(recursion: Recursion) -> bool:
    """Whether a result may lie over an argument, both of them from their first element on.

    No sweep reads an argument behind one that stores. One that does both reads and stores the same elements.
    """
    places = enumerate(recursion.sweeps)
    given, stored = (
        {port.name for port in recursion.inputs},
        {port.name for port in recursion.outputs},
    )
    reads = [
        (s, port.name)
        for s, sweep in places
        for step in sweep.steps
        for port in step.inputs
        if port.name in given
    ]
    stores = [
        (s, port.name)
        for s, sweep in enumerate(recursion.sweeps)
        for step in sweep.steps
        for port in step.outputs
        if port.name in stored
    ]
    alike = all(kind.nq == kind.nv for kind in recursion.kinds)
    other = {name for name, _ in (*recursion.each, *recursion.columns)}
    return all(
        r < s
        or (
            r == s
            and not {read, store} & other
            and (alike or (read in POSITIONS) == (store in POSITIONS))
        )
        for r, read in reads
        for s, store in stores
    ) and all(r <= end.sweep for r, _ in reads for end in recursion.ends)


def prototype(recursion: Recursion, target: Target) -> dict[str, Any]:
    """What the header says of the function."""
    return with_work(recursion, target) | {"apart": not may_alias(recursion)}


def with_work(form: Looped, target: Target) -> dict[str, Any]:
    """What is said of a function whose caller provides an array for its work."""
    found = definition.prototype(form, target)
    name = C.local(WORK, definition.macros(target) | {p["name"] for p in found["parameters"]})
    given = [
        {
            "qualifier": "",
            "real": form.real,
            "name": name,
            "size": f"{target.name}_{WORK.upper()}",
            "what": "numbers for the function's own use, apart from all others; what stands there before does not matter",
        }
    ]
    if target.checked:
        taken = definition.macros(target) | {name, *(p["name"] for p in found["parameters"])}
        given.append(
            {
                "qualifier": "",
                "real": "int",
                "name": C.local(SIZE, taken),
                "size": "",
                "what": f"how many numbers {name} has",
            }
        )
    return found | {"parameters": [*found["parameters"], *given]}


def widest(recursion: Recursion) -> int:
    """The most numbers that a link hands on to others than the next one."""
    return max(
        (len(sweep.start) for sweep in recursion.sweeps if not recursion.straight(sweep)), default=0
    )
