"""Planar chain of Lee and Chirikjian, unit masses on unit links: compiled functions, and a dense M."""

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


def compiled(n: int, methods: Mapping[str, str]) -> Solver:
    """Return the chain of n links, compiled; `methods` maps functions to methods."""
    mechanism = load(f"planar_point_mass:{n}")
    programs = {
        function: build.program(mechanism, function, method) for function, method in methods.items()
    }
    return Solver.from_programs(mechanism.name, programs, mechanism.sizes, optimize=BUILD.optimize)


def compiled_loops(n: int) -> Solver:
    """Return the O(n) solve with M as loops over the links, whose C has the same length for every n."""
    mechanism = load(f"planar_point_mass:{n}")
    program = build.build_form(
        mechanism, "mass_matrix_solve", "fixman:planar", ProgramOptions(form=LOOPED)
    )
    return Solver.from_programs(
        mechanism.name, {"mass_matrix_solve": program}, mechanism.sizes, optimize=BUILD.optimize
    )


def mass(q: Array) -> Array:
    """Return M (states, n, n) = JᵀJ of the points of LC (14), from joint angles (states, n)."""
    phi, n = np.cumsum(q, axis=-1), q.shape[-1]
    points = np.cumsum(np.stack([np.cos(phi), np.sin(phi)], axis=-2), axis=-1)  # (14)
    joints = np.concatenate([np.zeros((*points.shape[:-1], 1)), points[..., :-1]], axis=-1)
    J = (points[..., :, None] - joints[..., None, :]) * np.tril(
        np.ones((n, n))
    )  # of x_i by joint j, a quarter turned
    return np.asarray(np.matmul(np.swapaxes(J, -1, -2), J).sum(axis=1))
