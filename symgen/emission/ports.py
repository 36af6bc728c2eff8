"""Arguments in C, and descriptions of arguments and results with the terms of all joint forces."""

from __future__ import annotations

import re
from collections.abc import Iterable

from symgen.ir.program import Port
from symgen.vocabulary.functions import PREPARED
from symgen.vocabulary.target import Target

_BODIES = re.compile(r"C\(q,v\) ?v \+ g\(q\)")
"""Bias force without the terms of other forces."""
_BIAS = re.compile(r"M a \+ c\b|\(tau - c\)|\bc\(q,v\)")
"""Mention of a bias force without its terms."""


def struct_of(port: Port, name: str) -> str:
    """Return the struct whose address the C of the robot `name` takes; "" for an array.

    The field `value` of the struct has the numbers of the argument.
    """
    return f"{name}_{PREPARED.name}" if port.name == PREPARED.name else ""


def cast_array(port: Port, array: str, name: str) -> str:
    """Return `array`, cast to the type that the C of the robot `name` takes for an argument."""
    struct = struct_of(port, name)
    return f"(const {struct} *){array}" if struct else array


def with_forces(text: str, target: Target, inputs: Iterable[Port]) -> str:
    """Return a description of a function or array with all forces that the function computes."""
    wrench = " - J^T wrench" if any(port.name == "wrench" for port in inputs) else ""
    terms = f"{target.forces}{wrench}"
    if terms:
        text = f"{text}; c = C(q,v) v + g(q)" if _BIAS.search(text) else text
        text = _BODIES.sub(f"C(q,v) v + g(q){terms}", text)
    if target.forces:
        text = text.replace("C v = c - g", f"C v + g{target.forces} = c").replace(
            "= Y pi,", "= Y pi of the bodies alone,"
        )
        text = text.replace("= Y_base pi_base,", "= Y_base pi_base of the bodies alone,")
    if target.armature:
        text = text.replace(
            "joint-space mass matrix", "joint-space mass matrix, armature on its diagonal"
        )
        text = "M(q), with the armature on its diagonal" if text == "M(q)" else text
    return text
