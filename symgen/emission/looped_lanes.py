"""A loop over links of many states: NAME_<function>_batch.c, where every state is a lane of a vector.

The sweeps are those of one state (`_looped`), and so are tables, which all lanes read. A step stands in a loop over the lanes, as
a function of many states does (`_lanes`), and does in each what it does of one state, in the same order. What sweeps carry and
links keep, and the states themselves, stand in the caller's array: element k of lane l is x[k][l].

What a step takes of another link and what it gives never stand in the same place: of a chain they are in turn the one and the
other half of an array, and inward through a tree a step gives to an array of its own.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symgen.emission import blocks, loop_work, looped
from symgen.emission import lanes as _lanes
from symgen.emission.blocks import Blocks
from symgen.emission.c_text import C
from symgen.emission.definition import calls, parameters, together
from symgen.emission.lane_steps import angles, lane_step
from symgen.emission.lanes import LANES
from symgen.emission.loop_checks import condition, guarded, units
from symgen.ir.program import Program
from symgen.ir.recursion import CARRIED, KEPT, LEFT, TABLE, Recursion, Sweep
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

OF_MANY = "_lanes"
"""What is static is called so, since the function of one state has the same names without."""


def work(recursion: Recursion) -> int:
    """Numbers of the array that the caller provides: those of a block of states, and what the function of one keeps, of each."""
    ports = (*recursion.inputs, *recursion.outputs)
    return _lanes.lanes(recursion.real) * (
        sum(port.size for port in ports) + loop_work.work(recursion)
    )


def function(recursion: Recursion, target: Target) -> dict[str, Any]:
    """What the templates say of it. RequestError where it cannot be checked."""
    return _Many(guarded(recursion, target) if target.checked else recursion, target).said_of_many()


class _Many(looped.Text):
    """What `looped_batch.c.j2` says."""

    lane = f"[{_lanes.LANE}]"
    indent = 16

    def __init__(self, recursion: Recursion, target: Target) -> None:
        super().__init__(recursion, target, OF_MANY)
        self.behind, self.left = map(self._local, ("behind", "left"))
        self.held = {}  # a result of a block is stored when all of it is known

    def said_of_many(self) -> dict[str, Any]:
        """All of it."""
        recursion, target, lanes = self.recursion, self.target, _lanes.lanes(self.recursion.real)
        steps = [
            lane_step(step, self.plain, "", (TABLE,), own)
            for step, own in zip(self._all(), self._own_sines(), strict=True)
        ]
        of_all = angles(steps, lanes, recursion.real)
        for c, _ in enumerate(recursion.kinds):
            self._constants(c)
        sweeps = [self._sweep(s, sweep) for s, sweep in enumerate(recursion.sweeps)]
        arrays, driven = _lanes.driver(recursion, parameters(recursion, target))
        at = lanes * loop_work.work(recursion)
        for array in arrays:
            array["at"] = at
            at += lanes * int(array["count"])
        handed = loop_work.widest(recursion) > 0
        read = {port.name for step in self._all() for port in step.inputs} | {
            port.name for port in recursion.outputs
        }
        for array, port in zip(arrays, (*recursion.inputs, *recursion.outputs), strict=True):
            array["unread"] = port.name not in read and not target.checked
        kept = any(
            KEPT in (port.name, *(name for name, left in LEFT.items() if left == port.name))
            for step in self._all()
            for port in (*step.inputs, *step.outputs)
        )
        known = calls(recursion.real, target)
        carried = sum(2 * len(sweep.start) for sweep in recursion.sweeps) + max(
            (rows * kind.nv for _, rows in recursion.columns for kind in recursion.kinds), default=0
        )
        return self.said | {
            "parameters": arrays,
            "driver": driven,
            "needs": work(recursion),
            "count": self.count,
            "stack": REALS[recursion.real].size * lanes * carried
            + max(step["bytes"] for step in steps),
            "steps": steps,
            "told": self._told(),
            "arrays": self.arrays.values(),
            "sweeps": sweeps,
            "ended": self._ended(),
            "link": self.link,
            "place": self.place,
            "own": self.own,
            "before": self.before,
            "behind": self.behind,
            "left": self.left,
            "work": self.work,
            "handed": self.rows if handed else "",
            "kept": recursion.work * self.count,
            "works": kept or handed,
            "counts": target.checked or any(s["size"] for s in sweeps),
            "status": self.status,
            "guard": self.guard,
            "checks": self._checks(),
            "own_sines": any(step["own_sines"] for step in steps),
            "own_loop": any(step["own_loop"] for step in steps),
            "angles": of_all,
            "sin": known["sin"],
            "cos": known["cos"],
        }

    def _all(self) -> tuple[Program, ...]:
        return (*self.steps.values(), *(one for one in (self.looked, self.last) if one))

    def _own_sines(self) -> list[bool]:
        """Of each function whether that of one state takes the text's own sines: of many angles at once."""
        cut = {(s, c) for s, c in self.steps if blocks.blocks(self.recursion, s, self.target)}
        more = [one for one in (self.looked, self.last) if one]
        return [
            *((at in cut or bool(together(step))) for at, step in self.steps.items()),
            *(bool(together(one)) for one in more),
        ]

    def _in_blocks(self) -> dict[int, Blocks]:
        """Sines are taken of the lanes of one link."""
        return {}

    # -- loops -----------------------------------------------------------------------------------------------------------------

    def _sweep(self, s: int, sweep: Sweep) -> dict[str, Any]:
        """One of the loops over links."""
        recursion, size = self.recursion, len(sweep.start)
        ends = [end for end in recursion.ends if end.sweep == s]
        found: dict[str, Any] = {
            "inward": sweep.inward,
            "last": len(recursion.visited(sweep)) - 1,
            "size": size,
            "branches": self._branches(s),
            "several": len(recursion.kinds) > 1,
            "carried": "",
            "start": [],
            "middle": [],
            "ends": [],
            "row": "",
            "keeps": False,
            "framed": sweep.tip >= 0,
            "zeros": self._zeros(s),
        }
        start = [C.literal(x, self.real) for x in sweep.start]
        if size and recursion.straight(sweep):
            last = recursion.visited(sweep)[-1]
            told = [(self._link(end, sweep), self._stores(end, self.before, 0)) for end in ends]
            found |= {
                "carried": self._carried(s),
                "start": [f"{LANES.at(self.before, k)} = {x};" for k, x in enumerate(start)],
                "middle": [
                    {"link": link, "stores": stores} for link, stores in told if link != last
                ],
                "ends": [store for link, stores in told if link == last for store in stores],
            }
        elif size:
            tree = self._of_tree(s, sweep, start)
            found |= {
                "row": tree["own_row"],
                "row_before": tree["before_row"],
                "from": tree["from"],
                "leaf": tree.get("leaf", ""),
                "first": tree.get("first", ""),
                "joins": tree["joins"],
                "keeps": sweep.inward and any(end.link >= 0 for end in ends),
                "ends": [
                    store
                    for end in ends
                    for store in self._stores(end, self.rows, size * (self._link(end, sweep) + 1))
                ],
            }
        return found

    def _given(self, s: int, c: int, sweep: Sweep, port: str) -> str:
        """What a step is given for one of its ports."""
        if port in (CARRIED, LEFT[CARRIED]):
            if self.recursion.straight(sweep):
                return self.before if port == CARRIED else self.behind
            if not sweep.inward:
                return self.before if port == CARRIED else self.own
            return self.own if port == CARRIED else self.left
        return super()._given(s, c, sweep, port)

    # -- checks ----------------------------------------------------------------------------------------------------------------

    def _condition(self, step: Program, of: Program) -> dict[str, Any] | None:
        return condition(step, of, self.target, self.status, self.guard, LANES)

    def _checks(self) -> dict[str, Any]:
        """Comparisons of arguments, before the first sweep, and of results; empty for a function that is not checked."""
        if not self.target.checked:
            return {}
        arguments, results = (
            [{"last": port.size - 1, "name": self.names[port.name]} for port in ports if port.size]
            for ports in (self.recursion.inputs, self.recursion.outputs)
        )
        return {
            "nothing": C.literal(Fraction(0), self.real),
            "none": self._local(looped.NONE),
            "units": units(self.recursion, self.names, LANES),
            "ports": arguments,
            "results": results,
        }
