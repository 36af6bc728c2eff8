"""Targets that run the C, one a file; a target is found by its file in this folder.

A file declares `TARGET`, a `Machine`. The target's name is the file's name, with hyphens. Modules
that start with an underscore are shared by targets.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from symgen.machine.targets._machine import Machine
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import HOST
from symgen.vocabulary.reals import DOUBLE, REALS

__all__ = ["Machine", "counting", "find", "names", "real", "slow", "trig", "why"]


def names() -> tuple[str, ...]:
    """Return the names of all targets, in alphabetical order."""
    return tuple(
        sorted(
            m.name.replace("_", "-")
            for m in pkgutil.iter_modules(__path__)
            if not m.name.startswith("_")
        )
    )


def counting() -> tuple[str, ...]:
    """Return the targets that count instructions, whose costs can be measured."""
    return tuple(name for name in names() if find(name).counter)


def find(name: str) -> Machine:
    """Return the target called `name`. Raises RequestError, with the nearest name, if it does not
    exist.
    """
    module = nearest(name, names(), "target").replace("-", "_")
    target: Machine = import_module(f"{__name__}.{module}").TARGET
    return target


def default_real(name: str | None) -> str:
    """Return the default real type: 'float' if the target's FPU has single precision only, else
    'double'.
    """
    return DOUBLE.name if name is None else find(name).real


def default_trig(name: str | None) -> str:
    """Return the default source of sines and cosines: a target's libm, whose instructions can be
    counted.
    """
    return HOST if name is None else "libm"


def reason_for_float(name: str | None, requested: str | None) -> str | None:
    """Return why the default real type is float, in one sentence; None if the user named a type or
    the default is double.
    """
    if requested is not None or default_real(name) == DOUBLE.name:
        return None
    return (
        f"in float, since the FPU of {name} has single precision only; use --real double for double"
    )


def reason_for_slowness(name: str, real: str) -> str | None:
    """Return why a real type is slow on a target, in one sentence; None if its FPU computes in it."""
    machine = find(name)
    if REALS[real].size <= REALS[machine.real].size:
        return None
    times = f"about {machine.double_in_software} times slower than float"
    return f"the FPU of {name} has single precision only: --real double runs in software, {times}"
