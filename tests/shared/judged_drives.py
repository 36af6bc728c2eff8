"""Random robots with drives, and their answers by symgen and by another engine."""

from __future__ import annotations

import numpy as np

import symgen
from symgen.benchmarks import peers
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.reference.states import draw_states
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.robots_for_tests import run

METHODS = {
    "mass_matrix": "composite_body",
    "inverse_dynamics": "newton_euler",
    "forward_dynamics": "riccati",
}

STATES = 3


def answers(judge: str, mechanism: Mechanism, function: str, states: dict[str, Array]) -> Array:
    """A peer's, in our order."""
    peer = peers.PEERS[judge](mechanism)
    state_list = [{name: values[k] for name, values in states.items()} for k in range(STATES)]
    return np.array(
        [
            peer.ours(function, state, call())
            for state, call in zip(state_list, peer.calls(function, state_list), strict=True)
        ]
    )


def draw_float_states(mechanism: Mechanism) -> dict[str, Array]:
    return {
        name: values.astype(float)
        for name, values in draw_states(mechanism, STATES, seed=7).items()
    }


def error(mechanism: Mechanism, function: str, states: dict[str, Array], expected: Array) -> float:
    arguments = {array.name: states[array.name] for array in FUNCTIONS[function].arguments}
    (result,) = run(symgen.program(mechanism, function, METHODS[function]), arguments).values()
    return float(np.abs(result - expected).max() / np.abs(expected).max())
