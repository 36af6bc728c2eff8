"""Sizes of terms by which results of long robots are judged: no result exceeds the sum of its terms."""

from __future__ import annotations

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from symgen.reference.states import draw_states
from symgen.verification.long import total_sizes
from tests.shared.robots_for_tests import robot

RESULTS = {"T": "kinetic_energy", "U": "potential_energy", "com": "center_of_mass"}
RESULTS |= {"h": "centroidal_momentum", "hdot": "centroidal_momentum_rate"}
ARGUMENTS = {"T": "qv", "U": "q", "com": "q", "h": "qv", "hdot": "qva"}


def sizes_and_results(
    mechanism: Mechanism, states: dict[str, np.ndarray]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return (sizes, norms of the reference's results), each (count,), by result."""
    reference = Reference(mechanism, FLOAT)
    states = {key: values.astype(float) for key, values in states.items()}
    sizes = total_sizes(reference, *(states[key] for key in ("q", "v", "a", "dt")))
    pairs = {}
    for result, function in RESULTS.items():
        arguments = {key: states[key] for key in ARGUMENTS[result]}
        values = reference.evaluate(function, arguments)[result]
        pairs[result] = sizes[result], np.linalg.norm(values.reshape(len(values), -1), axis=-1)
    return pairs


@pytest.mark.parametrize("name", ["scara", "panda", "planar_point_mass", "quadruped", "free_body"])
def test_no_result_is_larger_than_the_sum_of_its_terms(name: str) -> None:
    for sizes, norms in sizes_and_results(robot(name), draw_states(robot(name), 20)).values():
        assert (norms <= sizes * (1 + 1e-12)).all()


def test_a_flywheel_has_terms_of_its_moment_of_inertia_alone() -> None:
    wheel = symgen.Robot("wheel").body(
        "disc", parent="base", type="revolute", axis=(0, 0, 1), mass=2, inertia=(1, 0, 0, 1, 0, 2)
    )
    mechanism = wheel.build()
    for result, (sizes, norms) in sizes_and_results(mechanism, draw_states(mechanism, 20)).items():
        assert (norms <= sizes * (1 + 1e-12)).all(), result


def test_terms_of_a_stretched_chain_add_up_to_the_results() -> None:
    states = draw_states(robot("planar_point_mass"), 5)
    states |= {"q": 0 * states["q"], "v": abs(states["v"]), "a": 0 * states["a"]}
    pairs = sizes_and_results(robot("planar_point_mass"), states)
    for result in ("T", "com"):
        sizes, norms = pairs[result]
        assert np.allclose(sizes, norms, rtol=1e-12, atol=0)
