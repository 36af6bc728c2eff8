"""What the C is run on, one target a file; a target is found by its presence in this folder.

A file declares `TARGET`, a `Machine`; the target's name is the file's, with hyphens. What targets share stands in
modules that start with an underscore.
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
    """The targets there are, in alphabetical order."""
    return tuple(
        sorted(
            m.name.replace("_", "-")
            for m in pkgutil.iter_modules(__path__)
            if not m.name.startswith("_")
        )
    )


def counting() -> tuple[str, ...]:
    """The targets that count instructions, of which costs are known."""
    return tuple(name for name in names() if find(name).counter)


def find(name: str) -> Machine:
    """The target called `name`; RequestError suggests the nearest when there is none."""
    module = nearest(name, names(), "target").replace("-", "_")
    found: Machine = import_module(f"{__name__}.{module}").TARGET
    return found


def real(name: str | None) -> str:
    """The default real type: 'float' where the target's FPU has single precision only, else 'double'."""
    return DOUBLE.name if name is None else find(name).real


def trig(name: str | None) -> str:
    """Where sines and cosines come from unless told: of a target its libm's, whose instructions are known."""
    return HOST if name is None else "libm"


def why(name: str | None, asked: str | None) -> str | None:
    """Why the real type is float although nobody asked for it, in one sentence; None where it is not so."""
    if asked is not None or real(name) == DOUBLE.name:
        return None
    return f"in float, since the FPU of {name} has single precision only; --real double asks for the other"


def slow(name: str, asked: str) -> str | None:
    """Why the real type `asked` for is a bad choice on a target, in one sentence; None when its FPU computes in it."""
    machine = find(name)
    if REALS[asked].size <= REALS[machine.real].size:
        return None
    times = f"about {machine.double_in_software} times slower than float"
    return f"the FPU of {name} has single precision only: --real double runs in software, {times}"
