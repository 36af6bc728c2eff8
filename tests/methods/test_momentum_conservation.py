"""Conserved quantities of free-floating robots without external forces.

`forward_dynamics` and `integrate` advance the state. Momentum, energy and the straight path of the
mass centre must drift only by the order of the integration scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.reference.states import draw_states
from symgen.verification.evaluating import machine_runner
from symgen.vocabulary.poses import ZERO3
from tests.shared.robots_for_tests import of_kind, random_mechanism

ROBOTS = (("spherical",), ("planar",))
"""Joints of the chain that the floating base carries."""
STATES, TIME = 2, 0.2
STEPS = np.array([24, 48])
Runner = Callable[[Mapping[str, Array]], Mapping[str, Array]]
FUNCTIONS = (
    "forward_dynamics",
    "integrate",
    "centroidal_momentum",
    "center_of_mass",
    "kinetic_energy",
)


@cache
def afloat(carried_joints: tuple[str, ...]) -> Mechanism:
    """Return a chain of joints of these types on a floating base, without gravity."""
    mechanism = random_mechanism(1 + len(carried_joints), seed=3)
    joints = tuple(
        of_kind(joint, kind)
        for joint, kind in zip(mechanism.joints, ("free", *carried_joints), strict=True)
    )
    return replace(mechanism, joints=joints, gravity=ZERO3)


@cache
def functions(carried_joints: tuple[str, ...]) -> dict[str, Runner]:
    return {
        name: machine_runner(symgen.program(afloat(carried_joints), name)) for name in FUNCTIONS
    }


def drifts(run: Mapping[str, Runner], mechanism: Mechanism, middle: bool) -> dict[str, Array]:
    """Return the drift of each invariant over TIME for each number of STEPS, (len(STEPS),), over
    all states.

    All runs advance together. Runs with fewer steps finish first; from then on their step size is
    0.
    """
    states = {
        name: np.repeat(draw_states(mechanism, STATES, 7)[name].astype(float), len(STEPS), axis=0)
        for name in ("q", "v")
    }
    q, v, tau, steps = states["q"], states["v"], 0 * states["v"], np.tile(TIME / STEPS, STATES)

    def invariants(q: Array, v: Array) -> dict[str, Array]:
        state = {"q": q, "v": v}
        return {
            "h": run["centroidal_momentum"](state)["h"],
            "com": run["center_of_mass"](state)["com"],
            "T": run["kinetic_energy"](state)["T"][:, None],
        }

    def accelerations(q: Array, v: Array) -> Array:
        return run["forward_dynamics"]({"q": q, "v": v, "tau": tau})["a"]

    def integrated(q: Array, v: Array, dt: Array) -> Array:
        return run["integrate"]({"q": q, "v": v, "dt": dt})["q_next"]

    first = invariants(q, v)
    first["com"] = (
        first["com"] + first["h"][:, 3:] / float(mechanism.mass) * TIME
    )  # the mass centre moves uniformly
    for step in range(STEPS.max()):
        dt = np.where(step < np.tile(STEPS, STATES), steps, 0.0)
        a, rates = accelerations(q, v), v
        if middle:
            rates = v + a * dt[:, None] / 2
            a = accelerations(integrated(q, v, dt / 2), rates)
        q, v = integrated(q, rates, dt), v + a * dt[:, None]
    last = invariants(q, v)
    invariant_changes = {
        "angular": (last["h"] - first["h"])[:, :3],
        "linear": (last["h"] - first["h"])[:, 3:],
        "com": last["com"] - first["com"],
        "T": last["T"] - first["T"],
    }
    return {
        name: np.linalg.norm(x.reshape(STATES, len(STEPS), -1), axis=(0, 2))
        for name, x in invariant_changes.items()
    }


def orders(errors: Mapping[str, Array]) -> dict[str, float]:
    """Return the convergence order of each drift, from the two smallest step sizes."""
    return {name: float(np.log2(error[-2] / error[-1])) for name, error in errors.items()}


@pytest.mark.parametrize(("middle", "order"), [(False, 1), (True, 2)])
@pytest.mark.parametrize("carried_joints", ROBOTS)
def test_momentum_energy_and_the_path_of_the_mass_centre_drift_by_the_order_of_the_scheme(
    carried_joints: tuple[str, ...], middle: bool, order: int
) -> None:
    """The schemes are explicit Euler (velocity at the start of a step) and the midpoint rule."""
    errors = drifts(functions(carried_joints), afloat(carried_joints), middle)
    assert max(abs(power - order) for power in orders(errors).values()) < 0.1, errors


def translation_along_initial_axes(run: Mapping[str, Runner]) -> dict[str, Runner]:
    """Plant an error: a step translates along the base axes at its start, not along the rotating
    axes.
    """

    def integrate(at: Mapping[str, Array]) -> dict[str, Array]:
        without_translation = np.array(at["v"])
        without_translation[:, 3:6] = 0
        q_next = np.array(run["integrate"](at)["q_next"])
        q_next[:, :3] = run["integrate"]({**at, "v": without_translation})["q_next"][:, :3]
        return {"q_next": q_next}

    return {**run, "integrate": integrate}


def bias_ignored(run: Mapping[str, Runner]) -> dict[str, Runner]:
    """Plant an error: forward dynamics ignore the velocities."""
    return {**run, "forward_dynamics": lambda at: run["forward_dynamics"]({**at, "v": 0 * at["v"]})}


def angular_velocity_reversed(run: Mapping[str, Runner]) -> dict[str, Runner]:
    """Plant an error: angular velocities have the opposite sign."""
    signs = np.array([1, 1, 1, -1, -1, -1])

    def integrate(at: Mapping[str, Array]) -> Mapping[str, Array]:
        return run["integrate"](
            {**at, "v": np.concatenate([at["v"][:, :6] * signs, at["v"][:, 6:]], axis=1)}
        )

    return {**run, "integrate": integrate}


PLANTS = (
    (translation_along_initial_axes, {"com"}),
    (bias_ignored, {"angular", "linear", "com", "T"}),
    (angular_velocity_reversed, {"angular", "linear", "com"}),
)


@pytest.mark.parametrize(("plant", "affected"), PLANTS)
def test_a_planted_error_lowers_the_order_of_the_drift(
    plant: Callable[[Mapping[str, Runner]], dict[str, Runner]], affected: set[str]
) -> None:
    powers = orders(drifts(plant(functions(ROBOTS[0])), afloat(ROBOTS[0]), middle=True))
    assert {name for name, order in powers.items() if abs(order - 2) > 0.1} >= affected, powers
