"""Sparsity of the operator and its factors in link frames: entries of M, U, M⁻¹, φ, 𝓐 and H_bb that
are zero at every state.

They are evaluated from the declaration by the numeric reference, at a few random states; an entry
below round-off at all of them is zero. M = Hφ𝓜φᵀHᵀ = U D Uᵀ; 𝓐 = φ⁻ᵀ 𝓜⁻¹ φ⁻¹ and H_bb = 𝓦ᵀ 𝓐 𝓦 if
every link is invertible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symgen.derivation.model import completed_links, find_indefinite_body
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.arrays import skew
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states

STATES = 4
NEGLIGIBLE = 1e-9
"""Fraction of the largest entry in the same row and column, below which an entry counts as zero.

It is far above round-off and far below the entries of practical robots.
"""
LARGEST, SMALLEST_SIDE = 252, 1
"""Pixels of a picture, and of an entry."""


@dataclass(frozen=True)
class Factor:
    """One matrix as a picture: `cells` are the upper left corners of the nonzero entries, `side`
    pixels wide.
    """

    name: str
    what: str
    rows: int
    columns: int
    side: int
    cells: tuple[tuple[int, int], ...]

    @property
    def width(self) -> int:
        return self.columns * self.side

    @property
    def height(self) -> int:
        return self.rows * self.side

    @property
    def path(self) -> str:
        """Return the cells as one SVG path, with neighbours in a row as one bar."""
        bars: list[list[int]] = []
        for x, y in self.cells:
            if bars and bars[-1][1] == y and bars[-1][0] + bars[-1][2] == x:
                bars[-1][2] += self.side
            else:
                bars.append([x, y, self.side])
        return "".join(f"M{x} {y}h{width}v{self.side}h-{width}z" for x, y, width in bars)

    @property
    def entries(self) -> int:
        return self.rows * self.columns

    @property
    def filled(self) -> int:
        return len(self.cells)


def pictures(mechanism: Mechanism) -> list[Factor]:
    """Return the robot's factors; without 𝓐 and H_bb if the inertia of a link has no inverse."""
    patterns: dict[str, Array] = {}
    for q in draw_states(mechanism, STATES, seed=5)["q"].astype(float):
        for name, matrix in _factors(mechanism, q).items():
            patterns[name] = patterns.get(name, np.zeros(matrix.shape, dtype=bool)) | _filled(
                matrix
            )
    return [_picture(name, pattern) for name, pattern in patterns.items()]


MEANING = {
    "M": "mass matrix, M = H φ 𝓜 φᵀ Hᵀ = U D Uᵀ, RK (3.20), SA (21)",
    "U": "unit upper triangular, from the tip, SA (21); RK's 1 + HΦL",
    "M⁻¹": "its inverse, RK (4.16)",
    "φ": "shifts a wrench at a link to the links that carry it, RK (3.4), 6 × 6 blocks",
    "𝓐": (
        "accelerations across the joints by wrenches across the joints, φ⁻ᵀ 𝓜⁻¹ φ⁻¹: a block only"
        " where one link carries both joints"
    ),
    "H_bb": (
        "𝓐 between the directions that the joints forbid, LC (12): what is inverted to get"
        " interbody forces"
    ),
}


def _factors(mechanism: Mechanism, q: Array) -> dict[str, Array]:
    """Return the matrices at one state, by name."""
    reference, n = Reference(mechanism, FLOAT), len(mechanism.bodies)
    placed = reference.placements(q[None])
    turns, origins = (
        [p.turn[0].reshape(3, 3) for p in placed],
        [p.shift[0].reshape(3) for p in placed],
    )
    phi, inertia, H = (
        np.zeros((6 * n, 6 * n)),
        np.zeros((6 * n, 6 * n)),
        np.zeros((mechanism.nv, 6 * n)),
    )
    for j in range(n):
        for i in reference.paths[j]:
            offset, turn = turns[i].T @ (origins[j] - origins[i]), turns[i].T @ turns[j]
            phi[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = np.block(
                [[turn, skew(offset) @ turn], [np.zeros((3, 3)), turn]]
            )
        for twist, (entry, rate) in zip(
            reference.twists(j, np.eye(3)), reference.shares[j], strict=True
        ):
            H[entry, 6 * j : 6 * j + 6] = np.concatenate(twist) * float(rate)
    for part in reference.parts():
        h = skew(part.centre)
        at = slice(6 * part.body, 6 * part.body + 6)
        inertia[at, at] += np.block(
            [
                [part.inertia + part.mass * h @ h.T, part.mass * h],
                [part.mass * h.T, part.mass * np.eye(3)],
            ]
        )
    M = H @ phi @ inertia @ phi.T @ H.T
    matrices: dict[str, Array] = {"M": M}
    if np.linalg.cond(M) < 1 / NEGLIGIBLE**1.5:
        matrices |= {"U": _upper(M), "M⁻¹": np.linalg.inv(M)}
    matrices["φ"] = phi
    if find_indefinite_body(mechanism) is None and not completed_links(mechanism):
        inverse_phi = np.linalg.inv(phi)
        A = inverse_phi.T @ np.linalg.inv(inertia) @ inverse_phi
        W = _forbidden(H, mechanism.v_slices)
        matrices |= {"𝓐": A} | (
            {"H_bb": W.T @ A @ W} if W.size else {}
        )  # free bodies have no constraint
    return matrices


def _upper(M: Array) -> Array:
    """Return U of M = U D Uᵀ by reverse elimination, SA (17)-(21)."""
    remaining, U = M.copy(), np.eye(len(M))
    for k in reversed(range(len(M))):
        U[:k, k] = remaining[:k, k] / remaining[k, k]
        remaining[:k, :k] -= np.outer(U[:k, k], remaining[k, :k])
    return U


def _forbidden(H: Array, joints: Sequence[slice]) -> Array:
    """Return 𝓦: an orthonormal basis of the forbidden motions of each joint, block by block, from
    the unit vectors.
    """
    forbidden = np.zeros((H.shape[1], H.shape[1] - len(H)))
    filled = 0
    for i, columns in enumerate(joints):
        at = slice(6 * i, 6 * i + 6)
        basis: list[Array] = []
        for direction in (*H[columns, at], *np.eye(6)):
            remainder = direction - sum((b * (b @ direction) for b in basis), np.zeros(6))
            if np.linalg.norm(remainder) > 1e-6:
                basis.append(remainder / np.linalg.norm(remainder))
        for column in basis[columns.stop - columns.start :]:
            forbidden[at, filled] = column
            filled += 1
    return forbidden


def _filled(matrix: Array) -> Array:
    size = np.abs(matrix)
    return np.asarray(size > NEGLIGIBLE * np.sqrt(np.outer(size.max(axis=1), size.max(axis=0))))


def _picture(name: str, pattern: Array) -> Factor:
    rows, columns = pattern.shape
    side = max(SMALLEST_SIDE, min(28, LARGEST // max(rows, columns)))
    cells = tuple((int(c) * side, int(r) * side) for r, c in zip(*np.nonzero(pattern), strict=True))
    return Factor(name, MEANING[name], rows, columns, side, cells)
