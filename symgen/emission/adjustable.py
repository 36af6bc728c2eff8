"""Run-time parameters: NAME_parameters.h and NAME_set_parameters.c.

NAME_set_parameters copies the fields of a struct to an array. NAME_judge_parameters validates the
array, and NAME_regroup_parameters computes the values that other functions read. Both are functions
of the folder.
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
"""Meaning of each status of NAME_set_parameters, in the order of their values 0, 1, …

The name of a status in C is NAME_PARAMETERS_OK etc.
"""


class Parameter(NamedTuple):
    """A run-time parameter, which has one number or several.

    - `words`: words of the name of its field.
    - `what`: description.
    - `defaults`: default of each number.
    """

    words: tuple[str, ...]
    what: str
    defaults: tuple[Fraction, ...]


def files(
    parameters: Sequence[Parameter], programs: Mapping[str, Program], target: Target
) -> dict[str, str]:
    """Return the texts of both files by name.

    `programs` has REGROUP. It has JUDGE if a value of a parameter can be invalid.
    """
    real = single_real(programs.values())
    judge = _validated_numbers(programs)
    context = target.context | {
        "real": real,
        "fields": _fields(parameters, real),
        "statuses": statuses(programs, target),
        "judge": judge,
        "has_judge": JUDGE in programs,
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
    """Return the field of the first number of the struct; "" without parameters."""
    return _fields(parameters[:1], "double")[0]["copies"][0]["field"] if parameters else ""


def _validated_numbers(programs: Mapping[str, Form]) -> dict[str, int]:
    """Return the size of each result of NAME_judge_parameters, by name; 0 without the function.

    A number of `judged` must not be negative, a number of `carried` must be positive.
    """
    outputs = programs[JUDGE].outputs if JUDGE in programs else ()
    return {"judged": 0, "carried": 0} | {port.name: port.size for port in outputs}


def statuses(programs: Mapping[str, Form], target: Target) -> list[dict[str, Any]]:
    """Return the statuses that NAME_set_parameters can return.

    Each has a `name`, a `value` and a meaning (`what`).
    """
    judge = _validated_numbers(programs)
    possible_names = {
        "OK",
        "NOT_FINITE",
        *(["NO_BODY"] if judge["judged"] else []),
        *(["NOTHING_MOVES"] if judge["carried"] else []),
        *(["REFUSED"] if target.checked else []),
    }
    return [
        {"name": name, "value": value, "what": meaning}
        for value, (name, meaning) in enumerate(STATUSES.items())
        if name in possible_names
    ]


def _fields(parameters: Sequence[Parameter], real: str) -> list[dict[str, Any]]:
    """Return the fields of the struct; `copies` has the index in the array of each number."""
    fields: list[dict[str, Any]] = []
    first = 0
    for parameter in parameters:
        count = len(parameter.defaults)
        used_names = {field["name"] for field in fields}
        name = C.local(identifier("_".join(parameter.words)), used_names)
        subscripts = [""] if count == 1 else [f"[{k}]" for k in range(count)]
        fields.append(
            {
                "name": name,
                "size": f"[{count}]" if count > 1 else "",
                "what": C.comment(parameter.what),
                "copies": [
                    {"index": first + k, "field": f"{name}{subscript}"}
                    for k, subscript in enumerate(subscripts)
                ],
                "defaults": [C.literal(x, REALS[real]) for x in parameter.defaults],
                "single": count == 1,
            }
        )
        first += count
    return fields
