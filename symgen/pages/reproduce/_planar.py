"""Planar chain of Lee and Chirikjian with unit point masses at the ends of unit links: compiled
functions, dense M.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symgen.description.loading import load
from symgen.machine.building import Build
from symgen.machine.solver import Solver
from symgen.pipeline import build
from symgen.reference.precision import Array
from symgen.vocabulary.options import LOOPED, ProgramOptions

BUILD = Build(optimize=2)
"""Compiler options of the timed functions, which the pages also print with the facts of the
machine.
"""


def compiled(n: int, methods: Mapping[str, str]) -> Solver:
    """Return compiled functions of the chain of n links; `methods` maps functions to methods."""
    mechanism = load(f"planar_point_mass:{n}")
    programs = {
        function: build.program(mechanism, function, method) for function, method in methods.items()
    }
    return Solver.from_programs(mechanism.name, programs, mechanism.sizes, optimize=BUILD.optimize)


def compiled_loops(n: int) -> Solver:
    """Return the compiled O(n) solve with M in looped form, whose C has the same length for every
    n.
    """
    mechanism = load(f"planar_point_mass:{n}")
    program = build.build_form(
        mechanism, "mass_matrix_solve", "fixman:planar", ProgramOptions(form=LOOPED)
    )
    return Solver.from_programs(
        mechanism.name, {"mass_matrix_solve": program}, mechanism.sizes, optimize=BUILD.optimize
    )


def mass(q: Array) -> Array:
    """Return the dense M (states, n, n) = JᵀJ from joint angles (states, n).

    J is the Jacobian of the point masses, whose positions are equation (14) of Lee and Chirikjian.
    """
    phi, n = np.cumsum(q, axis=-1), q.shape[-1]
    masses = np.cumsum(np.stack([np.cos(phi), np.sin(phi)], axis=-2), axis=-1)  # (states, 2, n)
    joints = np.concatenate([np.zeros((*masses.shape[:-1], 1)), masses[..., :-1]], axis=-1)
    # Column j of mass i is the lever from joint j to mass i, rotated by 90°. The rotation cancels
    # in
    # JᵀJ and is left out.
    is_moved = np.tril(np.ones((n, n)))
    levers = (masses[..., :, None] - joints[..., None, :]) * is_moved
    return np.asarray(np.matmul(np.swapaxes(levers, -1, -2), levers).sum(axis=1))
