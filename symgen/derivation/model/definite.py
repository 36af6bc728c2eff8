"""Links whose inertia cannot be inverted; methods that divide by link inertias refuse robots with
such links.
"""

from __future__ import annotations

from functools import lru_cache

from symgen.derivation import constants as k
from symgen.derivation.model.links import body_inertia, centred_inertia, full_matrix
from symgen.mechanism.mechanism import Body, Mechanism


@lru_cache(maxsize=64)
def find_indefinite_body(mechanism: Mechanism) -> tuple[str, str] | None:
    """Return (body, why) of the first body whose 6x6 inertia is not positive definite, or None; the
    test is exact.
    """
    return k.with_enough_precision(
        lambda: next(
            (defect for defect in map(_defect, mechanism.bodies) if defect is not None), None
        )
    )


def _defect(body: Body) -> tuple[str, str] | None:
    with k.locating_errors(f"link '{body.name}'"):
        inertia = centred_inertia(body.parts[0]) if len(body.parts) == 1 else body_inertia(body)
        if not inertia.m > 0:
            return body.name, "has no mass"
        h, S = inertia.h, full_matrix(inertia.S)
        central = [
            [k.normalize(S[i][j] - h[i] * h[j] / inertia.m) for j in range(3)] for i in range(3)
        ]
        trace = central[0][0] + central[1][1] + central[2][2]
        J = [
            [k.normalize((trace if i == j else k.ZERO) - central[i][j]) for j in range(3)]
            for i in range(3)
        ]
        if all(k.is_zero(x) for row in J for x in row):
            return body.name, "is a point mass"
        # Sylvester: the leading minors of J, the moments about the mass centre
        second = k.normalize(J[0][0] * J[1][1] - J[0][1] * J[1][0])
        x, y, z = ((row[0], row[1], row[2]) for row in J)
        third = k.dot(x, k.cross(y, z))
        if not (J[0][0] > 0 and second > 0 and third > 0):
            return body.name, "has no moment of inertia about some axis through its mass centre"
    return None
