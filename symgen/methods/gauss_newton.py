"""Damped Gauss-Newton step towards closed loops: the minimum-norm step that removes a linear
residual.

With C(q) and its exact derivative J along velocities, C(q ⊕ δ) = C + J δ + …,

    δ = −Jᵀ (J Jᵀ + μ 1)⁻¹ C,     μ = damping · trace(J Jᵀ)      (1)

The damping follows Levenberg, A method for the solution of certain non-linear problems in least
squares, Quarterly of Applied Mathematics 2, 1944; with the trace it is dimensionless. The
elimination has as many rows as C. Positive damping makes the pivots of J Jᵀ + μ 1 positive, even if
rows are redundant. If the damping decreases with the square of the residual, convergence stays
quadratic (Yamashita and Fukushima, Computing Supplement 15, 2001).
"""

from itertools import accumulate
from operator import add

from symgen.derivation.constants import displacement
from symgen.derivation.scalars import Scalar
from symgen.mechanism.closed_loops import End
from symgen.mechanism.mechanism import BASE
from symgen.methods.shared.composition import Calls
from symgen.methods.shared.factor import Results
from symgen.methods.shared.method import Method
from symgen.methods.shared.task import LDLFactor


def step(robot: Calls) -> Results:
    """Return delta (NV), C (NL) and the misalignment."""
    derivation, (damping,) = robot.derivation, robot.inputs["damping"]
    (C,) = robot("constraint_residual")
    (entries,) = robot("constraint_residual:jacobian")
    nv = len(entries) // len(C)
    gradients = [entries[k * nv : (k + 1) * nv] for k in range(len(C))]
    position_rows = [
        (J, c) for J, c in zip(gradients, C, strict=True) if not all(x.is_zero for x in J)
    ]  # rows that depend on positions
    rows, residuals = [J for J, _ in position_rows], [c for _, c in position_rows]
    derivation.step("the damped square of the residual's derivative")
    lower = [[derivation.dot(rows[i], rows[j]) for j in range(i + 1)] for i in range(len(rows))]
    trace = list(accumulate((row[-1] for row in lower), add))[-1]
    mu = derivation.name("mu", damping * trace)
    for row in lower:
        row[-1] = row[-1] + mu
    derivation.step("damped Gauss-Newton step")
    weights = LDLFactor.of(derivation, lower).solve(residuals, "w")
    delta = [-derivation.dot([row[k] for row in rows], weights) for k in range(nv)]  # (1)
    return delta, C, [misalignment(robot)]


def misalignment(robot: Calls) -> Scalar:
    """Return the sum of 1 − cos over all pairs of axes that coincide in a closed loop.

    C alone does not tell antiparallel from parallel axes: it is zero for both.
    """
    derivation, total = robot.derivation, robot.derivation.zero
    loops = [loop for loop in robot.mechanism.loops if loop.type.aligned]
    rotations = robot("link_poses")[0] if loops else []

    def axis(end: End, k: int) -> list[Scalar]:
        direction = [derivation.constant(row[k]) for row in displacement(end.pose)[0]]
        rows = [rotations[9 * end.body + 3 * i : 9 * end.body + 3 * i + 3] for i in range(3)]
        return direction if end.body == BASE else [derivation.dot(row, direction) for row in rows]

    for loop in loops:
        for k in loop.type.aligned:
            total = total + (
                derivation.one - derivation.dot(axis(loop.first, k), axis(loop.second, k))
            )
    return total


METHOD = Method(
    source="Levenberg 1944, with μ as a part of the trace: (1)",
    mimic="supported",
    compositions={"assembly_step": step},
)
