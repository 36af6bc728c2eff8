"""Blocks of states in a self-test: the states, the layouts, and the arrays that hold them.

Each function runs at two whole blocks, with and without a part of one, and at a state less. The states are those of the self-test
in turn, a little smaller each time around, so that no two lanes hold the same numbers. The function of one state gives the
expected results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from symgen.emission import printer
from symgen.emission.ports import handed
from symgen.ir.program import POSITIONS
from symgen.ir.recursion import Form
from symgen.vocabulary.reals import Real
from symgen.vocabulary.target import Target

BEYOND = 3
"""States of the last block, which is not full."""
SHRINK = Fraction(1, 1024)
"""Share of the numbers by which a state is smaller than the same state one time around before."""
SLACK = Fraction(1, 8)
"""Share of the largest result by which results may differ in a build that fuses operations; states differ by more."""
SPARE = 256
"""Numbers by which the stack is overwritten further down than the arrays of a function reach: other variables lie between them."""
SPACED = 3
"""The largest step from element to element of an array whose states stand apart."""


def of_all(forms: Iterable[Form], tests: Sequence[Mapping[str, Any]], real: Real) -> dict[str, Any]:
    """The words that the blocks of all functions share; `tests` are those of the functions that are tested."""

    def number(value: Fraction) -> str:
        return printer().literal(value, real.name)

    count = _states(real.lanes)
    return {
        "states": count,
        "room": count + real.lanes,
        "refused": real.lanes // 2,
        "counts": [count, 2 * real.lanes, 2 * real.lanes - 1],
        "size": max((test["laid"] for test in tests), default=1),
        "spare": SPARE,
        "shrink": number(SHRINK),
        "slack": number(SLACK),
        "quaternions": next((form.quaternions for form in forms if form.quaternions), ()),
    }


def of_function(
    form: Form,
    target: Target,
    real: Real,
    arguments: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    last: Sequence[str],
) -> dict[str, Any]:
    """Words for one function: `blocks` says of each array where its states are laid, `laid` and `room` how many numbers all
    arrays and those of the results take, `alone` and `exactly` what the functions of one state and of many are given. `last`
    are the arguments of a loop over links that provide its work array.
    """
    room = _states(real.lanes) + real.lanes
    found: list[dict[str, Any]] = []
    ports, at = (*form.inputs, *form.outputs), 0
    for k, (port, array) in enumerate(zip(ports, (*arguments, *results), strict=True)):
        argument = k < len(arguments)
        found.append(
            {
                "number": k,
                "argument": argument,
                "size": port.size,
                "at": at,
                "laid": f"{array['table']}_laid",
                "table": array["table"],
                "one": f"{array['table']}_one" if argument else array["name"],
                "positions": int(port.name in POSITIONS),
            }
        )
        at += room * (SPACED * port.size + 1 + k)
    needs = printer().driver(form, target)["needs"] if target.text.batch else 0
    work = ["work_of_many", *([str(needs)] if target.checked else [])] if needs else []
    alone = [
        handed(port, array["one"], target.name) if array["argument"] else array["one"]
        for port, array in zip(ports, found, strict=True)
    ]
    return {
        "blocks": found,
        "laid": at,
        "room": at - int(found[len(arguments)]["at"]),
        "exactly": work,
        "needs": needs,
        "alone": ", ".join([*alone, *last]),
    }


def _states(lanes: int) -> int:
    return 2 * lanes + BEYOND
