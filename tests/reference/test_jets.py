"""Jets: the reference's exact derivatives, against quotients of differences over balls of 160
digits, whose error is known.
"""

from __future__ import annotations

from functools import cache

import flint
import numpy as np
import pytest

from symgen.mechanism.joints import kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.reference import jets
from symgen.reference.jets import (
    POSITIONS,
    Jet,
    derivatives,
    displaced_argument,
    jet_derivatives,
    lifted,
)
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array, arb
from symgen.reference.states import draw_states
from symgen.support.errors import ArgumentError, RequestError
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.robots_for_tests import random_mechanism

BALLS = arb(160)
STEP = flint.arb(2) ** -166  # about 1e-50, and exact
NEAR = 1e-44
"""A central difference is off by about STEP² times a third derivative, and a ball of 160 digits by
1e-110 through it.
"""
AFLOAT = ("free", "planar", "spherical", "cylindrical", "helical")


@cache
def robot() -> Mechanism:
    """A tree with joints of every sort."""
    mechanism = random_mechanism(5, 4, "tree", AFLOAT)
    assert {joint.kind for joint in mechanism.joints} >= {"planar", "spherical", "helical"}
    return mechanism


@cache
def states() -> dict[str, Array]:
    return {name: BALLS.array(values) for name, values in draw_states(robot(), 2, 5).items()}


def reference() -> Reference:
    return Reference(robot(), BALLS, frame=robot().frames[-1].name)


def quotients(function: str, arguments: dict[str, Array], name: str) -> dict[str, Array]:
    """Return the results of `derivatives` by one argument, by central differences along q ⊕ h δ."""
    exact, n = reference(), robot().nv if name in POSITIONS else arguments[name].shape[-1]
    columns_by_result: dict[str, list[Array]] = {}
    with BALLS.working():
        for k in range(n):
            direction = BALLS.array(np.eye(n)[k]) * STEP
            results = [
                exact.evaluate(
                    function,
                    {
                        **arguments,
                        name: exact.displaced(arguments[name], sign * direction)
                        if name in POSITIONS
                        else arguments[name] + sign * direction,
                    },
                )
                for sign in (1, -1)
            ]
            for result in results[0]:
                columns_by_result.setdefault(result, []).append(
                    (results[0][result] - results[1][result]) / (2 * STEP)
                )
    return {result: np.stack(columns, axis=-1) for result, columns in columns_by_result.items()}


def off(a: Array, b: Array) -> float:
    """The largest difference, relative to the largest entry."""
    with BALLS.working():
        size = max(float(abs(x).upper()) for x in b.ravel())
        return max(float(abs(x).upper()) for x in (a - b).ravel()) / max(size, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "function",
    [
        "inverse_dynamics",
        "forward_dynamics",
        "mass_matrix_log_determinant",
        "mass_matrix_determinant",
        "centroidal_momentum",
        "forward_kinematics",
    ],
)
def test_slopes_are_those_of_differences(function: str) -> None:
    arguments = {a.name: states()[a.name] for a in FUNCTIONS[function].arguments}
    exact_slopes = derivatives(reference(), function, arguments, list(arguments))
    for name, slope in exact_slopes.items():
        for result, expected in quotients(function, arguments, name).items():
            assert off(slope[result], expected) < NEAR, (name, result)


def test_a_wrong_rule_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above is worth something: a cosine that has lost its sign."""
    monkeypatch.setattr(Jet, "cos", lambda self: Jet(self.x.cos(), self.d * self.x.sin()))
    with pytest.raises(AssertionError):
        test_slopes_are_those_of_differences("inverse_dynamics")


@pytest.mark.slow
def test_a_step_and_the_way_back_have_slopes_too() -> None:
    for function, name in (("integrate", "v"), ("integrate", "dt"), ("difference", "q_next")):
        arguments = {a.name: states()[a.name] for a in FUNCTIONS[function].arguments}
        slope = derivatives(reference(), function, arguments, [name])[name]
        for result, expected in (
            by_dt(arguments) if name == "dt" else quotients(function, arguments, name)
        ).items():
            assert off(slope[result], expected) < NEAR, (function, name)


def by_dt(arguments: dict[str, Array]) -> dict[str, Array]:
    with BALLS.working():
        results = [
            reference().evaluate("integrate", {**arguments, "dt": arguments["dt"] + sign * STEP})[
                "q_next"
            ]
            for sign in (1, -1)
        ]
        return {"q_next": ((results[0] - results[1]) / (2 * STEP))[..., None]}


def test_second_derivatives_by_jets_over_jets() -> None:
    """Along v, and of a force: the slope of a slope is the one that differences of slopes give."""
    exact, n = reference(), robot().nv
    arguments = {a.name: states()[a.name] for a in FUNCTIONS["inverse_dynamics"].arguments}
    direction = BALLS.array(np.linspace(-1, 1, n))
    below = lifted(exact)
    bent = displaced_argument(below, "q", arguments["q"], np.broadcast_to(direction, (1, 2, n)))
    inner = derivatives(below, "inverse_dynamics", {**arguments, "q": bent}, ["q"])["q"]["tau"]
    second_derivatives = jet_derivatives(inner, 1, below.scalars)[0]
    with BALLS.working():
        forward_and_backward = [
            derivatives(
                exact,
                "inverse_dynamics",
                {**arguments, "q": exact.displaced(arguments["q"], sign * direction * STEP)},
                ["q"],
            )["q"]["tau"]
            for sign in (1, -1)
        ]
        expected = (forward_and_backward[0] - forward_and_backward[1]) / (2 * STEP)
    assert off(second_derivatives, expected) < NEAR


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(ArgumentError, match="gravity_force has no argument 'v'; it has q"):
        derivatives(reference(), "gravity_force", {"q": states()["q"]}, ["v"])
    with pytest.raises(ArgumentError, match="over jets"):
        jets.displaced_argument(reference(), "q", states()["q"], states()["v"][None])


def test_every_joint_type_is_among_them() -> None:
    assert {kind for kind in kinds() if kind not in ("revolute", "continuous", "prismatic")} <= {
        *AFLOAT,
        "universal",
    }


def test_jets_over_many_directions() -> None:
    """A Jacobian's Jacobian at once: the second derivatives of the kinetic energy by v are M, and
    those by q and v its rates.
    """
    exact, n = reference(), robot().nv
    arguments = {a.name: states()[a.name] for a in FUNCTIONS["kinetic_energy"].arguments}
    below = lifted(exact)
    directions = BALLS.array(np.broadcast_to(np.eye(n, dtype=int)[:, None], (n, 2, n)))
    bent = {**arguments, "v": displaced_argument(below, "v", arguments["v"], directions)}
    inner = derivatives(below, "kinetic_energy", bent, ["v"])["v"]["T"]
    assert (
        off(
            np.moveaxis(jet_derivatives(inner, n, below.scalars), 0, -1),
            exact.mass_matrix(arguments["q"]),
        )
        < NEAR
    )
    with pytest.raises(RequestError, match="no third derivatives"):
        lifted(lifted(below))
