"""(c) The compiled C against the exact answer, in units of round-off scaled by the problem.

The unit is eps times the natural size of the answer: the sum of its terms' absolute values (`truth.Sizes`), and for
what solves with M the norms that a residual is relative to. A straight-line program without divisions returns the
exact sum of its terms, each multiplied by at most `depth` factors 1 + δ with |δ| ≤ eps/2 (Higham, Accuracy and
Stability of Numerical Algorithms, lemma 3.1), and its constants and its sines carry one more each: the error is at
most about `depth` units, and far less in the mean. The states are exact in both real types, so no unit is spent on
them. An elimination of a positive definite matrix lets nothing grow, so its backward error is as small (theorem 10.4
there); the determinant inherits cond M times the relative error of M.
"""

from __future__ import annotations

import numpy as np

from symgen import methods
from symgen.backends import c99
from symgen.ir import Program
from symgen.verification.evaluating import Runner
from symgen.verification.report import Check
from symgen.verification.residuals import RESIDUALS, Distance, worst
from symgen.verification.truth import Truth, largest

EPS = {"double": 2.0**-52, "float": 2.0**-23}


def allowance(program: Program, truth: Truth, trig: str = "libm") -> float:
    """The bound in units: `depth`, one for the constants, and those of a sine, whose last place is a unit or less.

    A method whose answer is a difference of larger terms may lose what those are larger by: `truth.freedom`.
    """
    terms = truth.freedom if methods.differs(program.method, truth.mechanism) else 1.0
    return float(program.depth + 1 + c99.TRIG[trig]) * max(1.0, terms)


def check_floating(program: Program, run: Runner, truth: Truth, label: str, trig: str = "libm") -> Check:
    """The largest error of `run` (the compiled function) over all states and results, in units of round-off."""
    results = run(truth.arguments(program.function, truth.floats))
    units, where = 0.0, ""
    with truth.scalars.working():
        for name, (difference, size) in _distances(program.function, results, truth).items():
            error, state = worst(difference, size * EPS[program.real])
            if error >= units:
                units, where = error, f"largest in {name}, state {state}"
    return Check("floating", label, units, allowance(program, truth, trig), " eps", where)


def _distances(function: str, results: dict[str, np.ndarray], truth: Truth) -> dict[str, Distance]:
    broken = next((name for name, values in results.items() if not np.isfinite(values).all()), None)
    if broken is not None:   # a ball made of NaN or infinity would hide which result it came from
        return {broken: (np.full((truth.count, 1), np.inf), np.ones(truth.count))}
    entered = {name: truth.scalars.array(values.astype(float)) for name, values in results.items()}
    if function in RESIDUALS:
        return {next(iter(entered)): RESIDUALS[function](entered, truth)}
    exact = truth.results(function)
    if function == "mass_matrix_determinant":
        size = largest(exact["det"]) * truth.condition if np.isfinite(truth.condition) else truth.sizes.of(function, "det")
        return {"det": (entered["det"] - exact["det"], size)}
    return {name: (entered[name] - value, truth.sizes.of(function, name)) for name, value in exact.items()}
