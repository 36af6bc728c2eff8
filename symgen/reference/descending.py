"""Closing loops in floats: damped Gauss-Newton steps from any position."""

from __future__ import annotations

import numpy as np

from symgen.reference import closing
from symgen.reference.integrate import integrate
from symgen.reference.motion import Motion
from symgen.reference.precision import Array

CLOSED = 1e-11
"""m and rad: of floats, what is closed."""
TURNS, PATIENCE = 200, 15
"""Steps at most, and those that may gain nothing."""
LONGEST = 0.5
"""rad and m that one step may move a joint by."""


def gauss_newton(floats: Motion, kept: closing.Kept | None, q: Array) -> Array:
    """Damped: the damping falls with what is left, so that the last steps are Gauss and Newton's own."""
    best, since = np.inf, 0
    for _ in range(TURNS):
        C = closing.residual(floats, kept, q)
        size = float(np.abs(C).max())
        best, since = (size, 0) if size < 0.9 * best else (best, since + 1)
        if size < CLOSED / 100 or not np.isfinite(size) or since > PATIENCE:
            break
        A = closing.jacobian(floats, kept, q)
        S = A @ A.T
        if not S.any():  # no joint moves any row
            break
        mu = 1e-3 * min(1.0, size) * np.trace(S) / len(S) + 1e-14 * np.trace(S)
        step = -A.T @ np.linalg.solve(S + mu * np.eye(len(S)), C)
        q = integrate(
            floats,
            q,
            step * min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300)),
            np.array(1.0),
        )
    return q
