"""Rows and time of a derivation grow linearly with the number of links; no product is expanded."""

from __future__ import annotations

import time
from functools import cache

import pytest

from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import derive as deriving
from symgen.pipeline.derive import derive
from symgen.vocabulary.options import ProgramOptions
from tests.shared.robots_for_tests import random_mechanism

pytestmark = pytest.mark.usefixtures("finished_here")
LINEAR = [
    ("inverse_dynamics", "newton_euler"),
    ("bias_force", "composite_body:bias"),
    ("forward_dynamics", "riccati"),
    ("operational_inertia_inverse", "riccati"),
    ("link_accelerations", "riccati"),
    ("interbody_forces", "riccati"),
    ("mass_matrix_log_determinant_gradient", "riccati"),
    *(
        (function, "newton_euler")
        for function in (
            "bias_acceleration",
            "kinetic_energy",
            "centroidal_momentum",
            "centroidal_momentum_rate",
        )
    ),
    *(
        (function, "composite_body")
        for function in (
            "center_of_mass",
            "center_of_mass_jacobian",
            "potential_energy",
            "centroidal_momentum_matrix",
        )
    ),
    ("link_poses", "kinematics"),
]
BUDGET = 1_000_000


@cache
def chain(n: int) -> Mechanism:
    return random_mechanism(n, seed=1)


def seconds(n: int, function: str, method: str) -> float:
    """Return the time of one derivation of a chain, including the choice of its frames."""
    deriving._models.cache_clear()
    start = time.process_time()
    derive(chain(n), function, method, ProgramOptions(), BUDGET)
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.parametrize(("function", "method"), LINEAR)
def test_rows_grow_linearly(function: str, method: str) -> None:
    lengths = (
        (12, 24, 48) if function == "link_poses" else (6, 12, 24)
    )  # the first links' poses are short: few axes precede them
    short, medium, long = (
        len(derive(chain(n), function, method, ProgramOptions(), BUDGET).rows) for n in lengths
    )
    assert long - medium <= 2.1 * (medium - short)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "method"), [("forward_dynamics", "riccati")])
def test_time_grows_linearly(function: str, method: str) -> None:
    """T(120)/T(60) ≤ 2.3 for the shortest runs.

    Other load only lengthens runs, so runs are repeated until the ratio holds.
    """
    shortest = {60: float("inf"), 120: float("inf")}
    for _ in range(6):
        for n in shortest:
            shortest[n] = min(shortest[n], seconds(n, function, method))
        if shortest[120] <= 2.3 * shortest[60]:
            break
    print(f"{function} by {method}: T(60) = {shortest[60]:.2f} s, T(120) = {shortest[120]:.2f} s")
    assert shortest[120] <= 2.3 * shortest[60]
