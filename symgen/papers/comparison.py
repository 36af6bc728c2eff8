"""Quantities computed in a second way, for the other sides of equations."""

from __future__ import annotations

from typing import Any

from flint import fmpq_mat

from symgen.papers import rational_functions
from symgen.papers.blocks import Matrix, cross_matrix, inverse, zeros
from symgen.papers.chain import Chain
from symgen.reference.precision import Array


def matrix_inverse(matrix: Matrix) -> Matrix:
    """Return the inverse of a whole matrix, by elimination."""
    if isinstance(matrix.content, fmpq_mat):
        return Matrix(matrix.content.inv(), matrix.shape)
    return Matrix.of(inverse(matrix.entries))


def matrix_determinant(matrix: Matrix) -> Any:
    """Return the determinant of a whole positive definite matrix, by elimination."""
    if isinstance(matrix.content, fmpq_mat):
        return matrix.content.det()
    return rational_functions.determinant(matrix.entries)


def mass_matrix_by_bodies(chain: Chain) -> Matrix:
    """Return the mass matrix, from base to tip, as the sum of the kinetic energies of the links.

    It uses mass, mass centre and moments about the mass centre, and velocities (3-vectors) in the
    axes of each link. It uses neither 6x6 inertias nor spatial operators.
    """
    rates = [(i, row) for i, link in enumerate(chain.links) for row in link.axes]
    velocities = [_velocities(chain, i, row) for i, row in rates]
    total = zeros(len(rates), len(rates))
    for r, motion in enumerate(velocities):
        for c, second in enumerate(velocities[: r + 1]):
            energy = total[r, c]
            for k in motion.keys() & second.keys():
                (w, v), (turn, slide) = motion[k], second[k]
                link = chain.links[k]
                energy = energy + link.mass * (v @ slide) + w @ (link.central @ turn)
            total[r, c] = total[c, r] = energy
    return Matrix.of(total)


def _velocities(chain: Chain, joint: int, row: Array) -> dict[int, tuple[Array, Array]]:
    """Return angular velocity and mass-centre velocity of each link that a unit rate moves."""
    frames = {joint: (row[:3], row[3:])}
    for k in range(joint + 1, len(chain.links)):
        link = chain.links[k]
        if link.parent in frames:
            w, v = frames[link.parent]
            frames[k] = (
                link.rotation.T @ w,
                link.rotation.T @ (v + cross_matrix(w) @ link.shift),
            )
    return {k: (w, v + cross_matrix(w) @ chain.links[k].centre) for k, (w, v) in frames.items()}
