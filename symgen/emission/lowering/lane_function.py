"""A straight-line function of vectors as statements.

It has loops over lanes, and between them one loop over the sines and cosines of all lanes. The
module `writer` writes the rows of one lane as text, as for `straight_line`.
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
    """The vectors of a file.

    - `real`: real type of their elements.
    - `lanes`: number of lanes.
    - `macros`: prefix of the macros of the file.
    - `trig`: names of the functions for sine and cosine, by operation.
    """

    real: str
    lanes: int
    macros: str
    trig: Mapping[str, str]

    def parameters(self, arrays: Iterable[Facts], restrict: str) -> tuple[Declare, ...]:
        """Return arrays as parameters: of vectors, or of numbers that all lanes share."""
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

        With `stores_at_once` each value is stored directly after its declaration, so that a
        compiler with few registers spills none. Then the arrays that the loop writes must not
        overlap those that it reads.
        """
        const = f"const {self.real}"
        loads = body(
            Comment("values from earlier loops"),
            (Declare(const, load["name"], load["element"]) for load in loop["loads"]),
            Blank(),
        )
        saves = body(
            Comment("values for later loops"),
            (Assign(save["element"], save["name"]) for save in loop["saves"]),
        )
        computed = list(rows(loop["groups"]))
        stores = [Assign(store["element"], store["value"]) for store in loop["stores"]]
        if stores_at_once:
            computed, stores = _interleaved(computed, stores)
        statements = body(
            loads if loop["loads"] else None, computed, saves if loop["saves"] else None, stores
        )
        return For(LANE, 0, self.lanes, statements)

    def statements(self, facts: Facts, stores_at_once: bool = False) -> tuple[Statement, ...]:
        """Return the statements of a function: calls of its parts, or its loops."""
        work, names = facts["work"], facts["names"]
        calls = tuple(
            Call(part["symbol"], tuple(array["name"] for array in part["parameters"]))
            for part in facts["parts"]
        )
        return body(
            integers(LANE),
            Declare(self.real, work["name"], size=(work["size"], self.lanes))
            if work["size"]
            else None,
            self._sine_arrays(facts) if facts["sine_arguments"] else None,
            (Unused(array["name"]) for array in facts["parameters"] if array["unread"]),
            map(self.loop, facts["angle_loops"]),
            self._sines(facts, names["angle"], names["sines"]) if facts["sine_arguments"] else None,
            map(self.loop, facts["sine_loops"]),
            calls or (self.loop(loop, stores_at_once) for loop in facts["loops"]),
        )

    def _sine_arrays(self, facts: Facts) -> Iterator[Statement]:
        """Yield the arrays for the angles of all lanes, and for their sines and cosines."""
        names, count = facts["names"], facts["angles"]
        zeros = f"{{{facts['padding']}}}" if facts.get("padding") else None
        yield Declare(self.real, names["angle"], zeros, (facts.get("padded_angles", count),))
        pair = f"struct {{ {self.real} sine[{count}]; {self.real} cosine[{count}]; }}"
        yield Declare(f"{self.macros}_turns" if facts["uses_sincos_loop"] else pair, names["sines"])

    def _sines(self, facts: Facts, angle: str, sines: str) -> Iterator[Statement]:
        """Yield the loop that loads the angles, and the computation of their sines and cosines.

        The function of NAME_sincos.h computes all of them, or <math.h> one angle after the other.
        """
        loads = (
            Assign(f"{angle}[{sine_argument['index']}]", sine_argument["value"])
            for sine_argument in facts["sine_arguments"]
        )
        yield For(LANE, 0, self.lanes, tuple(loads))
        if facts["uses_sincos_loop"]:
            yield Assign(sines, f"{self.macros}_sincos({angle})")
        else:
            pairs = (("sine", self.trig["sin"]), ("cosine", self.trig["cos"]))
            calls = (
                Assign(f"{sines}.{part}[{LANE}]", f"{call}({angle}[{LANE}])")
                for part, call in pairs
            )
            yield For(LANE, 0, facts["angles"], tuple(calls))

    def steps(self, steps: Iterable[Facts], symbol: str) -> Iterator[Function]:
        """Yield the functions of the steps of a loop over links."""
        for step in steps:
            parameters = self.parameters(step["parameters"], "restrict")
            attribute = f"{symbol}_PART"
            statements = self.statements(step, stores_at_once=True)
            yield Function(step["symbol"], parameters, statements, static=True, attribute=attribute)

    def block(self, facts: Facts, symbol: str) -> Iterator[Function]:
        """Yield the parts of a function of a block of states, then that function."""
        restrict = f"{self.macros}_RESTRICT"
        for part in facts["parts"]:
            parameters = self.parameters(part["parameters"], restrict)
            statements = body(integers(LANE), self.loop(part["loop"]))
            attribute = f"{self.macros}_PART"
            yield Function(part["symbol"], parameters, statements, part=True, attribute=attribute)
        status = Declare("int", facts["names"]["status"], size=(self.lanes,))
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
        """Return the loop that sets the status of each state."""
        checks, names = facts["checks"], facts["names"]
        conditions = {
            "NOT_FINITE": f"{names['zero_sum']} >= {checks['zero']}",
            "NOT_UNIT": checks["units"],
            "OUT_OF_RANGE": checks["ranges"],
            "DIVISOR": checks["divisors"],
            "RESULT_NOT_FINITE": checks["finite"],
        }
        choices = [
            f"!({unindented(condition)}) ? {self.macros}_{name} :\n    "
            for name, condition in conditions.items()
            if condition
        ]
        status = "".join(choices) + f"{self.macros}_OK"
        return For(
            LANE,
            0,
            self.lanes,
            (
                Comment("zero if all arguments are finite, else NaN"),
                Declare(f"const {self.real}", names["zero_sum"], unindented(checks["zeros"])),
                Assign(f"{names['status']}[{LANE}]", status),
            ),
        )


def _interleaved(
    statements: Iterable[Statement], stores: Iterable[Assign]
) -> tuple[list[Statement], list[Assign]]:
    """Return statements with each store of a local after its declaration, and the other stores."""
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
