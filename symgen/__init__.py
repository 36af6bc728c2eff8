"""symgen: a robot description in, verified unrolled C for its dynamics out.

    robot   = symgen.load("panda")
    program = symgen.program(robot, "forward_dynamics")
    solver  = symgen.compile(robot, functions=["forward_dynamics"])
    symgen.generate(robot, "out/panda")

Names are imported on first use, so that `import symgen` and `symgen --help` cost no SymPy.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from symgen.errors import SymgenError

__version__ = "0.1.0"
STARTED = time.time()
"""When this process began to read symgen's files (`symgen.shelf`)."""

_HOME = {
    "load": "symgen.loading",
    "program": "symgen.generation",
    "generate": "symgen.delivery",
    "compile": "symgen.solver",
    "inspect": "symgen.inspection",
    "verify": "symgen.verify",
    "Mechanism": "symgen.mechanism",
    "Program": "symgen.ir",
    "Report": "symgen.verification.report",
    "Solver": "symgen.solver",
}

__all__ = [
    "Mechanism", "Program", "Report", "Solver", "SymgenError", "__version__", "compile", "generate", "inspect", "load", "program",
    "verify",
]

if TYPE_CHECKING:
    from symgen.delivery import generate
    from symgen.generation import program
    from symgen.inspection import inspect
    from symgen.ir import Program
    from symgen.loading import load
    from symgen.mechanism import Mechanism
    from symgen.solver import Solver, compile
    from symgen.verification.report import Report
    from symgen.verify import verify


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'symgen' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)
