"""NAME_parameters.h and NAME_set_parameters.c: numbers that may change at run time as fields of a
struct, judged and regrouped.

The struct's numbers go into an array, which NAME_judge_parameters and NAME_regroup_parameters take,
two functions of the folder like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from symgen.emission import render
from symgen.emission.c_text import C
from symgen.ir.loops import Form
from symgen.ir.ports import single_real
from symgen.ir.program import Program
from symgen.vocabulary.functions import JUDGE, REGROUP
from symgen.vocabulary.identifiers import identifier
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

STATUSES = {
    "OK": "the parameters are prepared",
    "NOT_FINITE": "a parameter is infinite or not a number",
    "NO_BODY": (
        "a mass or a drive parameter is negative, or no rigid body has the moments of inertia"
    ),
    "NOTHING_MOVES": "a joint would move no mass",
    "REFUSED": (
        "a number that is computed from the parameters is not finite, or a divisor is too small"
    ),
}
"""Status codes of NAME_set_parameters, from 0 on: NAME_PARAMETERS_OK …"""


class Parameter(NamedTuple):
    """`words` make the name of its field, `what` says what it is; as many `defaults` as it has
    numbers.
    """

    words: tuple[str, ...]
    what: str
    defaults: tuple[Fraction, ...]


def files(
    parameters: Sequence[Parameter], programs: Mapping[str, Program], target: Target
) -> dict[str, str]:
    """Both files by name; `programs` hold REGROUP, and JUDGE where there is anything to judge."""
    real = single_real(programs.values())
    judge = _judged(programs)
    context = target.context | {
        "real": real,
        "fields": _fields(parameters, real),
        "statuses": statuses(programs, target),
        "judge": judge,
        "judges": JUDGE in programs,
        "checks": True,
        "zero": C.literal(Fraction(0), REALS[real]),
        "judge_symbol": target.symbol(JUDGE),
        "regroup_symbol": target.symbol(REGROUP),
    }
    return {
        f"{target.name}_parameters.h": render("c99", "parameters.h.j2", **context),
        f"{target.name}_set_parameters.c": render("c99", "set_parameters.c.j2", **context),
    }


def first(parameters: Sequence[Parameter]) -> str:
    """The first number of the struct, as C names it; "" where nothing may change."""
    return _fields(parameters[:1], "double")[0]["copies"][0]["field"] if parameters else ""


def _judged(programs: Mapping[str, Form]) -> dict[str, int]:
    """How many numbers NAME_judge_parameters gives of each kind; 0 without it."""
    outputs = programs[JUDGE].outputs if JUDGE in programs else ()
    return {"judged": 0, "carried": 0} | {port.name: port.size for port in outputs}


def statuses(programs: Mapping[str, Form], target: Target) -> list[dict[str, Any]]:
    """`name`, `value` and meaning (`what`) of each status that NAME_set_parameters can return."""
    judge = _judged(programs)
    statuses_by_name = {
        "OK",
        "NOT_FINITE",
        *(["NO_BODY"] if judge["judged"] else []),
        *(["NOTHING_MOVES"] if judge["carried"] else []),
        *(["REFUSED"] if target.checked else []),
    }
    return [
        {"name": name, "value": value, "what": meaning}
        for value, (name, meaning) in enumerate(STATUSES.items())
        if name in statuses_by_name
    ]


def _fields(parameters: Sequence[Parameter], real: str) -> list[dict[str, Any]]:
    fields: list[dict[str, Any]] = []
    first = 0
    for quantity in parameters:
        field = C.local(identifier("_".join(quantity.words)), {listed["name"] for listed in fields})
        places = (
            [""]
            if len(quantity.defaults) == 1
            else [f"[{k}]" for k in range(len(quantity.defaults))]
        )
        fields.append(
            {
                "name": field,
                "size": f"[{len(places)}]" if len(places) > 1 else "",
                "what": C.comment(quantity.what),
                "copies": [
                    {"to": first + k, "field": f"{field}{word}"} for k, word in enumerate(places)
                ],
                "defaults": [C.literal(x, REALS[real]) for x in quantity.defaults],
                "single": len(places) == 1,
            }
        )
        first += len(places)
    return fields
