"""M⁻¹ where a trunk of a milligram floats and carries a hundred kilograms: its entries differ by as much, and all are right.

Each half of M⁻¹ is made once, so its columns are no solutions of M x = e that one elimination made, and their residuals may be
hundreds of times what those of a solution are. `verify` and the self-test judge each entry by what M's round-off does to it.
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

pytestmark = pytest.mark.usefixtures("finished_here")  # what is certified are rows after all passes

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
        tuple(Body(one.link, (one,)) for one in parts),
        (Frame("one", 0), Frame("two", 1)),
    )


TRUNKS = [
    ("revolute", tenths(0, 0, 10)),
    ("revolute", tenths(10, 20, 20)),
    ("prismatic", tenths(0, 10, 0)),
    ("prismatic", tenths(30, 40, 0)),
]


@pytest.mark.parametrize(("kind", "axis"), TRUNKS)
@pytest.mark.parametrize("method", METHODS)
def test_it_is_within_the_bound(kind: str, axis: Vector3, method: str) -> None:
    """In float M is singular within round-off, so that `verify` judges no digits; the bound holds all the same."""
    for real in ("double", "float"):
        report = symgen.verify(trunk(kind, axis), [f"{FUNCTION}={method}"], 8, real=real)
        (found,) = report.of("floating")
        assert found.error < found.bound, str(report)
        assert real == "float" or report.passed, str(report)


def test_a_column_is_no_solution(tmp_path: Path) -> None:
    """What this file is about: M X − 1 is far beyond what solutions may leave, in C that is right in every entry."""
    plot = Plot(trunk(*TRUNKS[0]), "double", tmp_path, [FUNCTION])
    results = plot.results(FUNCTION, tmp_path / "whole")
    sizes, scalars = plot.truth.scales, plot.truth.scalars
    with scalars.working():
        left = plot.truth.mass_matrix @ scalars.array(results["Minv"]) - np.eye(7, dtype=int)
    allowed = sizes.roots[..., None] * (sizes.roots[:, None, :] @ np.abs(results["Minv"]))
    assert (np.abs(np.asarray(left, dtype=float)) / allowed).max() > 100 * 2.0**-52
    assert plot.off(plot.programs[FUNCTION], results, results) < 0.5
    assert plot.selftest(FUNCTION, tmp_path / "whole")
