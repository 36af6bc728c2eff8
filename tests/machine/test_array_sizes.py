"""Arrays of the wrong size and zero quaternions as arguments: the refusal names the argument."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from symgen import Solver, compile
from symgen.reference.precision import Array
from symgen.support.errors import ArgumentError, StateError
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.robots_for_tests import OF_ANY_ROBOT

Q = np.array([0, 0, 0, 0, 0, 0, 1.0])
POSITIONS = ("q", "q_next")
VALUES = {
    **dict.fromkeys(POSITIONS, Q),
    "dt": np.array(0.1),
    "pi": np.ones(10),
    **dict.fromkeys(("v", "a", "tau", "b"), np.ones(6)),
}

FUNCTION_BY_ARGUMENTS = {
    tuple(a.name for a in FUNCTIONS[name].arguments): name for name in OF_ANY_ROBOT
}
TESTED = (*FUNCTION_BY_ARGUMENTS.values(), "kinetic_energy")
"""One function for each list of arguments, and a function with a scalar result."""


@pytest.fixture(scope="module")
def floating_body(own_cache: Path) -> Solver:
    """Compile checked functions of a floating body."""
    return compile("free_body", TESTED, optimize=0, checked=True)


def arguments_of(function: str, **replaced: Array) -> list[Array]:
    return [{**VALUES, **replaced}[argument.name] for argument in FUNCTIONS[function].arguments]


@pytest.mark.parametrize("function", TESTED)
def test_a_wrong_size_is_refused_by_naming_the_argument(
    floating_body: Solver, function: str
) -> None:
    call = getattr(floating_body, function)
    results = call(*arguments_of(function))
    assert np.isfinite(
        np.concatenate(
            [np.ravel(x) for x in (results if isinstance(results, tuple) else (results,))]
        )
    ).all()
    for argument in FUNCTIONS[function].arguments:
        if argument.name == "dt":
            continue
        if argument.name == "pi":  # its length equals neither NQ nor NV, so the message has no hint
            for wrong in (Q, np.ones((3, 5))):
                with pytest.raises(
                    ArgumentError,
                    match=rf"^{function}: pi has shape .*; it must have \(\.\.\., 10\)$",
                ):
                    call(*arguments_of(function, pi=wrong))
            continue
        expected, actual, swapped = "NV = 6", "7 numbers, which is NQ", Q
        if argument.name in POSITIONS:
            expected, actual, swapped = "NQ = 7", "6 numbers, which is NV", np.ones(6)
        for wrong in (swapped, np.tile(swapped, (3, 1))):
            with pytest.raises(
                ArgumentError,
                match=rf"^{function}: {argument.name} has {actual}; {argument.name} of 'free_body' "
                rf"has {expected}",
            ):
                call(*arguments_of(function, **{argument.name: wrong}))
        with pytest.raises(ArgumentError, match=rf"^{function}: {argument.name} has shape \(5,\)"):
            call(*arguments_of(function, **{argument.name: np.ones(5)}))


@pytest.mark.parametrize(
    "function", [name for name in TESTED if any(a.name == "q" for a in FUNCTIONS[name].arguments)]
)
def test_a_zero_quaternion_is_refused(floating_body: Solver, function: str) -> None:
    call, zeros = getattr(floating_body, function), np.zeros(7)
    for q, where in ((zeros, ""), (np.stack([Q, zeros]), " at state 1")):
        with pytest.raises(
            StateError,
            match=f"^{function} refuses its arguments{where}: a quaternion does not have length 1",
        ):
            call(*arguments_of(function, q=q))


def test_a_time_step_is_one_number_or_one_for_each_state(floating_body: Solver) -> None:
    v, rows = np.ones(6), np.tile(Q, (3, 1))
    single = floating_body.integrate(Q, v, 0.1)
    assert (single.shape, floating_body.integrate(Q, v, np.array([0.1])).shape) == ((7,), (1, 7))
    times = np.array([0.2, 0.1, 0.0])
    by_time = floating_body.integrate(rows, v, times)
    assert (by_time == floating_body.integrate(Q, v, times)).all()  # one state, several times
    assert (by_time[1] == single).all()
    assert (floating_body.integrate(rows, v, 0.1) == single).all()
    assert floating_body.integrate(rows, v, times[:, None]).shape == (
        3,
        3,
        7,
    )  # every time for every state


@pytest.mark.parametrize(
    ("dt", "sentence"),
    [
        (
            np.ones(4),
            r"integrate: leading shapes do not broadcast together: q \(3,\), v \(\), dt \(4,\)",
        ),
        ("0.1", "integrate: dt has dtype <U3"),
        (None, "integrate: dt has dtype object"),
        (1j, "integrate: dt has dtype complex128"),
        (True, "integrate: dt has dtype bool"),
        ([[1], [1, 2]], "integrate: dt is not an array of numbers"),
    ],
)
def test_a_wrong_time_step_is_refused(floating_body: Solver, dt: object, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        floating_body.integrate(np.tile(Q, (3, 1)), np.ones(6), dt)


def test_a_scalar_is_bound_as_an_array_of_dimension_zero(floating_body: Solver) -> None:
    v, out = np.ones(6), np.zeros(7)
    floating_body.bind("integrate", Q, v, np.array(0.1), out)()
    assert (out == floating_body.integrate(Q, v, 0.1)).all()
    with pytest.raises(
        ArgumentError,
        match="integrate: dt must be a contiguous, aligned float64 array to be bound; a float was",
    ):
        floating_body.bind("integrate", Q, v, 0.1, out)
    with pytest.raises(
        ArgumentError,
        match=r"integrate: the result q_next goes into a float64 array of shape \(1, 7\)",
    ):
        floating_body.bind("integrate", Q, v, np.array([0.1]), out)
    with pytest.raises(
        ArgumentError, match=r"kinetic_energy: the result T goes into a float64 array of shape \(\)"
    ):
        floating_body.kinetic_energy(Q, v, out=np.zeros(1))
