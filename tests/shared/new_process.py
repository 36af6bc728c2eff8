"""A Python process with another cache and another environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def elsewhere(cache: Path) -> subprocess.Popen[bytes]:
    """Another process that compiles the determinant."""
    code = (
        "from tests.shared.c_programs import determinant;from symgen.vocabulary.arrays import"
        " Sizes; from symgen.machine.solver import Solver;solver ="
        " Solver.from_programs('elsewhere', {'mass_matrix_determinant': determinant()}, Sizes(2, 2,"
        " 2), optimize=0);print(solver.mass_matrix_determinant([0, 0]))"
    )
    environment = os.environ | {"SYMGEN_CACHE": str(cache)}
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
