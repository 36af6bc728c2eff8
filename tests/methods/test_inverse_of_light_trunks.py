"""M⁻¹ of a floating trunk of one milligram that carries a hundred kilograms.

M⁻¹ is symmetric and symgen computes one half of it. A column of the result is therefore not the
solution of M x = e by one elimination, and its residual may be hundreds of times that of a
solution. `verify` and the self-test judge each entry by the effect of M's round-off on that entry.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.vocabulary.poses import Shift, Vector3
from tests.mutants_of_c import Plot

pytestmark = pytest.mark.usefixtures("finished_here")  # certificates hold for rows after all passes

FUNCTION = "inverse_mass_matrix"
METHODS = ("composite_body", "riccati", "udut")


def tenths(x: int, y: int, z: int) -> Vector3:
    return Fraction(x, 10), Fraction(y, 10), Fraction(z, 10)


def part(link: str, mass: Fraction, at: Vector3) -> Part:
    small = mass / 100
    return Part(
        link,
        (Shift(at),),
        mass,
        (3 * small, Fraction(0), Fraction(0), 4 * small, Fraction(0), 5 * small),
    )


def trunk(kind: str, axis: Vector3) -> Mechanism:
    parts = (
        part("one", Fraction(1, 10**6), tenths(1, 2, 0)),
        part("two", Fraction(100), tenths(2, 1, 3)),
    )
    joints = Joint("a", "free", -1), Joint("b", kind, 0, (Shift(tenths(3, -1, 2)),), axis)
    return Mechanism(
        "trunk",
        joints,
        tuple(Body(trunk_part.link, (trunk_part,)) for trunk_part in parts),
        (Frame("one", 0), Frame("two", 1)),
    )


TRUNKS = [
    ("revolute", tenths(0, 0, 10)),
    ("revolute", tenths(10, 20, 20)),
    ("prismatic", tenths(0, 10, 0)),
    ("prismatic", tenths(30, 40, 0)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "axis"), TRUNKS)
@pytest.mark.parametrize("method", METHODS)
def test_the_error_of_the_inverse_is_within_the_bound(
    kind: str, axis: Vector3, method: str
) -> None:
    """In float M is singular within round-off, so `verify` does not judge the digits; the bound
    still holds.
    """
    for real in ("double", "float"):
        report = symgen.verify(trunk(kind, axis), [f"{FUNCTION}={method}"], 8, real=real)
        (check,) = report.of("floating")
        assert check.error < check.bound, str(report)
        assert real == "float" or report.passed, str(report)


def test_a_correct_inverse_may_leave_residuals_beyond_those_of_solutions(tmp_path: Path) -> None:
    """In C code that is correct in every entry, M X − 1 exceeds the residual that a solution may
    leave.
    """
    plot = Plot(trunk(*TRUNKS[0]), "double", tmp_path, [FUNCTION])
    results = plot.results(FUNCTION, tmp_path / "whole")
    scales, scalars = plot.exact_results.scales, plot.exact_results.scalars
    with scalars.working():
        residual = plot.exact_results.mass_matrix @ scalars.array(results["Minv"]) - np.eye(
            7, dtype=int
        )
    allowed = scales.roots[..., None] * (scales.roots[:, None, :] @ np.abs(results["Minv"]))
    assert (np.abs(np.asarray(residual, dtype=float)) / allowed).max() > 100 * 2.0**-52
    assert plot.off(plot.programs[FUNCTION], results, results) < 0.5
    assert plot.selftest(FUNCTION, tmp_path / "whole")
