"""Targets: the processors, the host's included, for which symgen compiles and measures the C.

Each target is one file in this folder, which declares the constant `TARGET`, a `Machine`. `names`
lists the files, so a new file is a new target without registration. The name of a target is the
name of its file with hyphens instead of underscores. Files whose name starts with an underscore
hold code that several targets share.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from symgen.machine.targets._machine import Machine
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import HOST
from symgen.vocabulary.reals import DOUBLE, REALS

__all__ = [
    "Machine",
    "default_real",
    "default_trig",
    "find",
    "names",
    "reason_for_float",
    "reason_for_slowness",
    "targets_with_costs",
]


def names() -> tuple[str, ...]:
    """Return the names of all targets, in alphabetical order."""
    return tuple(
        sorted(
            module.name.replace("_", "-")
            for module in pkgutil.iter_modules(__path__)
            if not module.name.startswith("_")
        )
    )


def targets_with_costs() -> tuple[str, ...]:
    """Return the names of the targets with an instruction counter: the cost of a function can be
    measured on these targets only.
    """
    return tuple(name for name in names() if find(name).counter)


def find(name: str) -> Machine:
    """Return the target called `name`.

    Raises RequestError, which suggests the nearest name, if no target has this name.
    """
    module = nearest(name, names(), "target").replace("-", "_")
    target: Machine = import_module(f"{__name__}.{module}").TARGET
    return target


def default_real(name: str | None) -> str:
    """Return the default real type of the C on target `name` (None: no target was chosen).

    The type is 'float' if the FPU of the target has single precision only, else 'double'.
    """
    return DOUBLE.name if name is None else find(name).real


def default_trig(name: str | None) -> str:
    """Return the default source of sines and cosines on target `name` (None: no target was chosen).

    With a target the source is the target's libm, whose instructions can be counted.
    """
    return HOST if name is None else "libm"


def reason_for_float(name: str | None, requested: str | None) -> str | None:
    """Return the reason why the real type is float without the user's request, as a phrase for a
    message.

    Return None if the user requested a type, or if the default of target `name` is double.
    """
    if requested is not None or default_real(name) == DOUBLE.name:
        return None
    return (
        f"in float, since the FPU of {name} has single precision only; use --real double for double"
    )


def reason_for_slowness(name: str, real: str) -> str | None:
    """Return the reason why the type `real` is slow on target `name`, in one sentence.

    Return None if the FPU of the target supports this type.
    """
    machine = find(name)
    if REALS[real].size <= REALS[machine.real].size:
        return None
    slowdown = f"about {machine.double_in_software} times slower than float"
    return (
        f"the FPU of {name} has single precision only: --real double runs in software, {slowdown}"
    )
