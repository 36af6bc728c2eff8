"""symgen: a robot description in, verified C for its dynamics out.

    robot   = symgen.load("panda")
    program = symgen.program(robot, "forward_dynamics")
    solver  = symgen.compile(robot, functions=["forward_dynamics"])
    symgen.generate(robot, "out/panda")

Names are imported on first use, so that `import symgen` and `symgen --help` cost no SymPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# The clock of `support.version` starts before any other file of symgen is read.
from symgen.support.version import __version__  # isort: skip
from symgen.support.errors import SymgenError, SymgenWarning

_HOME = {
    "assemble": "symgen.pipeline.assembly_report",
    "convert": "symgen.delivery.converting",
    "load": "symgen.description.loading",
    "from_mujoco": "symgen.description.from_mujoco",
    "from_pinocchio": "symgen.description.from_pinocchio",
    "program": "symgen.pipeline.build",
    "derivative": "symgen.pipeline.differentiation",
    "inertial_parameters": "symgen.pipeline.parameters",
    "generate": "symgen.delivery.writing",
    "compile": "symgen.machine.solver",
    "inspect": "symgen.inspection",
    "verify": "symgen.delivery.verifying",
    "Mechanism": "symgen.mechanism.mechanism",
    "Note": "symgen.mechanism.notes",
    "Program": "symgen.ir.program",
    "Report": "symgen.verification.report",
    "Robot": "symgen.description.by_hand",
    "Solver": "symgen.machine.solver",
}

__all__ = [
    "Mechanism",
    "Note",
    "Program",
    "Report",
    "Robot",
    "Solver",
    "SymgenError",
    "SymgenWarning",
    "__version__",
    "assemble",
    "compile",
    "convert",
    "derivative",
    "from_mujoco",
    "from_pinocchio",
    "generate",
    "inertial_parameters",
    "inspect",
    "load",
    "program",
    "verify",
]

if TYPE_CHECKING:
    from symgen.delivery.converting import convert
    from symgen.delivery.verifying import verify
    from symgen.delivery.writing import generate
    from symgen.description.by_hand import Robot
    from symgen.description.from_mujoco import from_mujoco
    from symgen.description.from_pinocchio import from_pinocchio
    from symgen.description.loading import load
    from symgen.inspection import inspect
    from symgen.ir.program import Program
    from symgen.machine.solver import Solver, compile
    from symgen.mechanism.mechanism import Mechanism
    from symgen.mechanism.notes import Note
    from symgen.pipeline.assembly_report import assemble
    from symgen.pipeline.build import program
    from symgen.pipeline.differentiation import derivative
    from symgen.pipeline.parameters import inertial_parameters
    from symgen.verification.report import Report


def __getattr__(name: str) -> Any:
    if name == "dask":
        return import_module("symgen.dask")
    if name not in _HOME:
        raise AttributeError(f"module 'symgen' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)
