"""One damped step of Gauss and Newton's method towards closed loops: the least step that takes a linear residual away.

With C(q) and its exact derivative J along velocities, C(q ⊕ δ) = C + J δ + …,

    δ = −Jᵀ (J Jᵀ + μ 1)⁻¹ C,     μ = damping · trace(J Jᵀ)      (1)

Levenberg, A method for the solution of certain non-linear problems in least squares, Quarterly of Applied Mathematics 2, 1944,
damps so; the trace makes the damping a number without units. It is elimination over as many rows as C has: J Jᵀ + μ 1 has
positive pivots where the damping is positive, redundant rows or not. Damping that falls with the square of the residual leaves
the convergence quadratic (Yamashita and Fukushima, Computing Supplement 15, 2001).
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
from symgen.methods.shared.task import Symmetric


def step(robot: Calls) -> Results:
    """delta (NV), C (NL) and what is turned."""
    home, (damping,) = robot.home, robot.inputs["damping"]
    (C,) = robot("constraint_residual")
    (entries,) = robot("constraint_residual:jacobian")
    nv = len(entries) // len(C)
    slopes = [entries[k * nv : (k + 1) * nv] for k in range(len(C))]
    counted = [
        (J, c) for J, c in zip(slopes, C, strict=True) if not all(x.is_zero for x in J)
    ]  # positions answer for these
    rows, left = [J for J, _ in counted], [c for _, c in counted]
    home.step("the damped square of the residual's derivative")
    lower = [[home.dot(rows[i], rows[j]) for j in range(i + 1)] for i in range(len(rows))]
    trace = list(accumulate((row[-1] for row in lower), add))[-1]
    mu = home.name("mu", damping * trace)
    for row in lower:
        row[-1] = row[-1] + mu
    home.step("damped Gauss-Newton step")
    weights = Symmetric.of(home, lower).solve(left, "w")
    delta = [-home.dot([row[k] for row in rows], weights) for k in range(nv)]  # (1)
    return delta, C, [turned(robot)]


def turned(robot: Calls) -> Scalar:
    """Of all axes that two frames have alike where loops are closed, 1 less the cosine between them, added up.

    C alone does not tell that: it is zero as well where they point against each other, two of them by 4.
    """
    home, total = robot.home, robot.home.zero
    loops = [loop for loop in robot.mechanism.loops if loop.type.aligned]
    turns = robot("link_poses")[0] if loops else []

    def axis(end: End, k: int) -> list[Scalar]:
        own = [home.constant(row[k]) for row in displacement(end.pose)[0]]
        rows = [turns[9 * end.body + 3 * i : 9 * end.body + 3 * i + 3] for i in range(3)]
        return own if end.body == BASE else [home.dot(row, own) for row in rows]

    for loop in loops:
        for k in loop.type.aligned:
            total = total + (home.one - home.dot(axis(loop.first, k), axis(loop.second, k)))
    return total


METHOD = Method(
    source="Levenberg 1944, with μ as a part of the trace: (1)",
    mimic="supported",
    compositions={"assembly_step": step},
)
