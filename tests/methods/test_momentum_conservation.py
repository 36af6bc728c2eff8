"""What floats and feels nothing from outside, by forward dynamics and `integrate`: what is kept is kept to the steps' order."""

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
"""What hangs on the base."""
STATES, TIME = 2, 0.2
STEPS = np.array([24, 48])
Asked = Callable[[Mapping[str, Array]], Mapping[str, Array]]
ASKED = ("forward_dynamics", "integrate", "centroidal_momentum", "center_of_mass", "kinetic_energy")


@cache
def afloat(rest: tuple[str, ...]) -> Mechanism:
    """A chain of joints of these types on a base that floats, without weight."""
    made = random_mechanism(1 + len(rest), seed=3)
    joints = tuple(
        of_kind(joint, kind) for joint, kind in zip(made.joints, ("free", *rest), strict=True)
    )
    return replace(made, joints=joints, gravity=ZERO3)


@cache
def functions(rest: tuple[str, ...]) -> dict[str, Asked]:
    return {name: machine_runner(symgen.program(afloat(rest), name)) for name in ASKED}


def strayed(ask: Mapping[str, Asked], mechanism: Mechanism, middle: bool) -> dict[str, Array]:
    """Of what is kept, by how much it strays over TIME in STEPS steps, (len(STEPS),) each, of all states together.

    All runs go side by side; those of longer steps are first at the end, and stand there in steps of no time.
    """
    drawn = {
        name: np.repeat(draw_states(mechanism, STATES, 7)[name].astype(float), len(STEPS), axis=0)
        for name in ("q", "v")
    }
    q, v, tau, whole = drawn["q"], drawn["v"], 0 * drawn["v"], np.tile(TIME / STEPS, STATES)

    def kept(q: Array, v: Array) -> dict[str, Array]:
        at = {"q": q, "v": v}
        return {
            "h": ask["centroidal_momentum"](at)["h"],
            "com": ask["center_of_mass"](at)["com"],
            "T": ask["kinetic_energy"](at)["T"][:, None],
        }

    def accelerations(q: Array, v: Array) -> Array:
        return ask["forward_dynamics"]({"q": q, "v": v, "tau": tau})["a"]

    def onward(q: Array, v: Array, dt: Array) -> Array:
        return ask["integrate"]({"q": q, "v": v, "dt": dt})["q_next"]

    first = kept(q, v)
    first["com"] = (
        first["com"] + first["h"][:, 3:] / float(mechanism.mass) * TIME
    )  # it goes straight
    for step in range(STEPS.max()):
        dt = np.where(step < np.tile(STEPS, STATES), whole, 0.0)
        a, rates = accelerations(q, v), v
        if middle:
            rates = v + a * dt[:, None] / 2
            a = accelerations(onward(q, v, dt / 2), rates)
        q, v = onward(q, rates, dt), v + a * dt[:, None]
    last = kept(q, v)
    parts = {
        "angular": (last["h"] - first["h"])[:, :3],
        "linear": (last["h"] - first["h"])[:, 3:],
        "com": last["com"] - first["com"],
        "T": last["T"] - first["T"],
    }
    return {
        name: np.linalg.norm(x.reshape(STATES, len(STEPS), -1), axis=(0, 2))
        for name, x in parts.items()
    }


def orders(errors: Mapping[str, Array]) -> dict[str, float]:
    """By what power of the step each goes, as the two shortest tell."""
    return {name: float(np.log2(error[-2] / error[-1])) for name, error in errors.items()}


@pytest.mark.parametrize(("middle", "order"), [(False, 1), (True, 2)])
@pytest.mark.parametrize("rest", ROBOTS)
def test_momentum_energy_and_the_way_of_the_mass_centre_are_kept_to_the_order(
    rest: tuple[str, ...], middle: bool, order: int
) -> None:
    """Steps by the velocity at their start, and by that at their middle."""
    found = strayed(functions(rest), afloat(rest), middle)
    assert max(abs(one - order) for one in orders(found).values()) < 0.1, found


def slid_then_turned(ask: Mapping[str, Asked]) -> dict[str, Asked]:
    """A step slides along the axes that the base had at its start, and not along those that turn with it."""

    def integrate(at: Mapping[str, Array]) -> dict[str, Array]:
        still = np.array(at["v"])
        still[:, 3:6] = 0
        found = np.array(ask["integrate"](at)["q_next"])
        found[:, :3] = ask["integrate"]({**at, "v": still})["q_next"][:, :3]
        return {"q_next": found}

    return {**ask, "integrate": integrate}


def free_of_bias(ask: Mapping[str, Asked]) -> dict[str, Asked]:
    """Nothing is felt of velocities."""
    return {**ask, "forward_dynamics": lambda at: ask["forward_dynamics"]({**at, "v": 0 * at["v"]})}


def turned_with_the_other_hand(ask: Mapping[str, Asked]) -> dict[str, Asked]:
    """A spin is told with the other hand."""
    turned = np.array([1, 1, 1, -1, -1, -1])

    def integrate(at: Mapping[str, Array]) -> Mapping[str, Array]:
        return ask["integrate"](
            {**at, "v": np.concatenate([at["v"][:, :6] * turned, at["v"][:, 6:]], axis=1)}
        )

    return {**ask, "integrate": integrate}


PLANTS = (
    (slid_then_turned, {"com"}),
    (free_of_bias, {"angular", "linear", "com", "T"}),
    (turned_with_the_other_hand, {"angular", "linear", "com"}),
)


@pytest.mark.parametrize(("error", "seen"), PLANTS)
def test_an_error_costs_the_order(
    error: Callable[[Mapping[str, Asked]], dict[str, Asked]], seen: set[str]
) -> None:
    found = orders(strayed(error(functions(ROBOTS[0])), afloat(ROBOTS[0]), middle=True))
    assert {name for name, order in found.items() if abs(order - 2) > 0.1} >= seen, found
