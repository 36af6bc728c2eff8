"""A straight-line function of vectors as statements: loops over lanes, and between them the sines
and cosines of all lanes at once.

The rows are text of `writer` for one lane, as in `straight_line`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from symgen.emission.c_text import C
from symgen.emission.lowering.straight_line import Facts, rows, unindented
from symgen.emission.print import write
from symgen.emission.statements import (
    LANE,
    Assign,
    Blank,
    Call,
    Comment,
    Declare,
    For,
    Function,
    Statement,
    Unused,
    body,
    integers,
)


@dataclass(frozen=True)
class Vectors:
    """The vectors of a file: their real type and lanes, the prefix of its macros, and the names of
    sine and cosine.
    """

    real: str
    lanes: int
    macros: str
    trig: Mapping[str, str]

    def parameters(self, arrays: Iterable[Facts], restrict: str) -> tuple[Declare, ...]:
        """Return arrays as parameters, each of vectors or shared by all lanes."""
        return tuple(
            Declare(
                f"{array.get('qualifier', '') if restrict == 'restrict' else ''}{self.real}",
                array["name"],
                size=(f"{restrict} {array['count']}", *[self.lanes] * array.get("lanes", True)),
            )
            for array in arrays
        )

    def loop(self, loop: Facts, stores_at_once: bool = False) -> For:
        """Return a loop over lanes.

        With `stores_at_once` each value is stored behind its declaration, so that a compiler with
        few registers has nothing to spill. Arrays that the loop writes must not overlap those that
        it reads.
        """
        const = f"const {self.real}"
        takes = body(
            Comment("values from earlier loops"),
            (Declare(const, take["name"], take["place"]) for take in loop["takes"]),
            Blank(),
        )
        puts = body(
            Comment("values for later loops"),
            (Assign(saved_value["place"], saved_value["name"]) for saved_value in loop["puts"]),
        )
        computed = list(rows(loop["groups"]))
        stores = [Assign(store["place"], store["value"]) for store in loop["stores"]]
        if stores_at_once:
            computed, stores = _interleaved(computed, stores)
        statements = body(
            takes if loop["takes"] else None, computed, puts if loop["puts"] else None, stores
        )
        return For(LANE, 0, self.lanes, statements)

    def statements(self, facts: Facts, stores_at_once: bool = False) -> tuple[Statement, ...]:
        """Return the statements of a function: the calls of its parts, or its loops."""
        work, names = facts["work"], facts["own"]
        calls = tuple(
            Call(part["symbol"], tuple(array["name"] for array in part["parameters"]))
            for part in facts["parts"]
        )
        return body(
            integers(LANE),
            Declare(self.real, work["name"], size=(work["size"], self.lanes))
            if work["size"]
            else None,
            self._sine_arrays(facts) if facts["read"] else None,
            (Unused(array["name"]) for array in facts["parameters"] if array["unread"]),
            map(self.loop, facts["before"]),
            self._sines(facts, names["angle"], names["turn"]) if facts["read"] else None,
            map(self.loop, facts["between"]),
            calls or (self.loop(loop, stores_at_once) for loop in facts["loops"]),
        )

    def _sine_arrays(self, facts: Facts) -> Iterator[Statement]:
        """Give the arrays for the angles of all lanes, and for their sines and cosines."""
        names, count = facts["own"], facts["angles"]
        zeros = f"{{{facts['nothing']}}}" if facts.get("nothing") else None
        yield Declare(self.real, names["angle"], zeros, (facts.get("all_angles", count),))
        pair = f"struct {{ {self.real} sine[{count}]; {self.real} cosine[{count}]; }}"
        yield Declare(f"{self.macros}_turns" if facts["own_loop"] else pair, names["turn"])

    def _sines(self, facts: Facts, angle: str, turn: str) -> Iterator[Statement]:
        """Give the loads of the angles and their sines and cosines, by the text's own loop or one
        angle after the other.
        """
        loads = (
            Assign(f"{angle}[{sine_argument['place']}]", sine_argument["value"])
            for sine_argument in facts["read"]
        )
        yield For(LANE, 0, self.lanes, tuple(loads))
        if facts["own_loop"]:
            yield Assign(turn, f"{self.macros}_sincos({angle})")
        else:
            pairs = (("sine", self.trig["sin"]), ("cosine", self.trig["cos"]))
            calls = (
                Assign(f"{turn}.{part}[{LANE}]", f"{call}({angle}[{LANE}])") for part, call in pairs
            )
            yield For(LANE, 0, facts["angles"], tuple(calls))

    def steps(self, steps: Iterable[Facts], symbol: str) -> Iterator[Function]:
        """Give the functions of steps of a loop over links."""
        for step in steps:
            parameters = self.parameters(step["parameters"], "restrict")
            attribute = f"{symbol}_PART"
            statements = self.statements(step, stores_at_once=True)
            yield Function(step["symbol"], parameters, statements, static=True, attribute=attribute)

    def block(self, facts: Facts, symbol: str) -> Iterator[Function]:
        """Give the parts of a function of a block of states, and that function."""
        restrict = f"{self.macros}_RESTRICT"
        for part in facts["parts"]:
            parameters = self.parameters(part["parameters"], restrict)
            statements = body(integers(LANE), self.loop(part["loop"]))
            attribute = f"{self.macros}_PART"
            yield Function(part["symbol"], parameters, statements, part=True, attribute=attribute)
        status = Declare("int", facts["own"]["status"], size=(self.lanes,))
        checks = facts["checks"]
        yield Function(
            f"{symbol}_block",
            (*self.parameters(facts["parameters"], restrict), *[status] * bool(checks)),
            body(self.statements(facts), self._checks(facts) if checks else None),
            static=True,
            comment=f"One block of {self.lanes} states.",
            attribute=f"{self.macros}_CLONES",
        )

    def _checks(self, facts: Facts) -> For:
        """Return the loop that gives each state its status."""
        checks, names = facts["checks"], facts["own"]
        refused = {
            "NOT_FINITE": f"{names['none']} >= {checks['zero']}",
            "NOT_UNIT": checks["units"],
            "OUT_OF_RANGE": checks["ranges"],
            "DIVISOR": checks["divisors"],
            "RESULT_NOT_FINITE": checks["finite"],
        }
        choices = [
            f"!({unindented(holds)}) ? {self.macros}_{name} :\n    "
            for name, holds in refused.items()
            if holds
        ]
        status = "".join(choices) + f"{self.macros}_OK"
        return For(
            LANE,
            0,
            self.lanes,
            (
                Comment("zero if all arguments are finite, else NaN"),
                Declare(f"const {self.real}", names["none"], unindented(checks["zeros"])),
                Assign(f"{names['status']}[{LANE}]", status),
            ),
        )


def _interleaved(
    statements: Iterable[Statement], stores: Iterable[Assign]
) -> tuple[list[Statement], list[Assign]]:
    """Return statements with each store after the local that it stores, and the other stores."""
    stores_of_value: dict[Any, list[Assign]] = {}
    for store in stores:
        stores_of_value.setdefault(store.value, []).append(store)
    result: list[Statement] = []
    for statement in statements:
        result.append(statement)
        if isinstance(statement, Declare):
            result += stores_of_value.pop(statement.name, [])
    return result, [store for values in stores_of_value.values() for store in values]


def text(functions: Iterable[Function]) -> str:
    """Return the text of functions, with an empty line before each."""
    return "\n" + write(functions, C)
