"""The peers that `bench` times have the same robot: their results equal those of the reference. The
printed numbers are consistent.
"""

from __future__ import annotations

import numpy as np
import pytest

import symgen
from symgen.benchmarks import peers
from symgen.benchmarks.bench import Timing, bench
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.robots_for_tests import random_mechanism

KINDS = ("revolute", "prismatic", "continuous")
OF_SEVERAL_COORDINATES = ("planar", "spherical", "cylindrical", "free")
ROBOTS = [random_mechanism(6, seed, "tree", KINDS) for seed in (1, 2)] + [
    random_mechanism(5, 3, joints=KINDS, general=False),
    random_mechanism(5, 2, "tree", OF_SEVERAL_COORDINATES),
    random_mechanism(5, 7, "tree", OF_SEVERAL_COORDINATES),
]


@pytest.mark.parametrize("name", peers.PEERS)
@pytest.mark.parametrize("mechanism", ROBOTS, ids=lambda m: m.name)
def test_a_peer_answers_as_the_reference_does(mechanism: Mechanism, name: str) -> None:
    present, absent = peers.available_peers(mechanism)
    assert absent.get(name, "not installed").startswith("not installed")
    drawn = {key: values.astype(float) for key, values in draw_states(mechanism, 3, seed=5).items()}
    states = [{key: values[k] for key, values in drawn.items()} for k in range(3)]
    reference = Reference(mechanism)
    for peer in (p for p in present if p.name == name):
        for function in peer.functions:
            arguments = {array.name: drawn[array.name] for array in FUNCTIONS[function].arguments}
            expected = next(iter(reference.evaluate(function, arguments).values()))
            for ours, state, call in zip(
                expected, states, peer.calls(function, states), strict=True
            ):
                assert (
                    np.abs(peer.ours(function, state, call()) - ours).max()
                    <= 1e-9 * np.abs(ours).max()
                ), function


def test_the_c_of_casadi_answers_on_bound_buffers() -> None:
    """CasADi's part of the peer runs without Pinocchio: few builds of Pinocchio can write CasADi's
    expressions.
    """
    ca = pytest.importorskip("casadi")
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    values = [np.array([1.0, 2.0]), np.array([3.0, 5.0])]
    product = peers.casadi.on_buffers(peers.casadi.compiled(ca, "product", [q, v], q @ v.T), values)
    np.testing.assert_array_equal(product(), np.outer(*values))
    total = peers.casadi.on_buffers(peers.casadi.compiled(ca, "total", [q, v], q + v), values)
    values[0][0] = 7.0
    np.testing.assert_array_equal(total(), [10.0, 7.0])


def test_ratios_are_taken_round_by_round() -> None:
    slow, quick = Timing("slow", 20.0, (10.0, 20.0, 60.0)), Timing("quick", 10.0, (5.0, 10.0, 20.0))
    assert slow.ratio(quick) == 2.0


def test_a_function_that_a_robot_cannot_have_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("symgen.benchmarks.bench.ROUNDS", 1)
    monkeypatch.setattr("symgen.benchmarks.bench.SLICE", 1e-5)
    for room in ("benchmarks.bench", "pipeline.build"):  # of all, those that it is about
        monkeypatch.setattr(
            f"symgen.{room}.BY_DEFAULT", ("inverse_dynamics", "mass_matrix", "forward_dynamics")
        )
    loaded = symgen.load("planar_arm")
    massless = Mechanism(
        "massless",
        (*loaded.joints, Joint("idle", "revolute", 1)),
        (*loaded.bodies, Body("nothing")),
        (*loaded.frames, Frame("nothing", 2)),
    )
    comparison = bench(massless)
    assert "idle" in comparison.refused["forward_dynamics"]
    measured = comparison.facts()["functions"]["inverse_dynamics"]["nanoseconds"]
    assert all(round(time, 1) == time for time in measured.values())
    assert "idle" in str(comparison)
