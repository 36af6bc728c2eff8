"""Arrays of the wrong size, and quaternions that are none, given to functions: one sentence that names the argument."""

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
GIVEN = {
    **dict.fromkeys(POSITIONS, Q),
    "dt": np.array(0.1),
    "pi": np.ones(10),
    **dict.fromkeys(("v", "a", "tau", "b"), np.ones(6)),
}

LIKE = {tuple(a.name for a in FUNCTIONS[name].arguments): name for name in OF_ANY_ROBOT}
ASKED = (*LIKE.values(), "kinetic_energy")
"""One function for each list of arguments, and one whose result is a scalar."""


@pytest.fixture(scope="module")
def box(own_cache: Path) -> Solver:
    """A body that floats, by these functions, checked."""
    return compile("free_body", ASKED, optimize=0, checked=True)


def given(function: str, **others: Array) -> list[Array]:
    return [{**GIVEN, **others}[argument.name] for argument in FUNCTIONS[function].arguments]


@pytest.mark.parametrize("function", ASKED)
def test_a_function_says_which_argument_is_of_the_wrong_size(box: Solver, function: str) -> None:
    ask = getattr(box, function)
    results = ask(*given(function))
    assert np.isfinite(
        np.concatenate(
            [np.ravel(x) for x in (results if isinstance(results, tuple) else (results,))]
        )
    ).all()
    for argument in FUNCTIONS[function].arguments:
        if argument.name == "dt":
            continue
        if (
            argument.name == "pi"
        ):  # as long as neither q nor v, so that there is nothing to mistake it for
            for wrong in (Q, np.ones((3, 5))):
                with pytest.raises(
                    ArgumentError,
                    match=rf"^{function}: pi has shape .*; it must have \(\.\.\., 10\)$",
                ):
                    ask(*given(function, pi=wrong))
            continue
        wanted, other, swapped = "NV = 6", "7 numbers, which is NQ", Q
        if argument.name in POSITIONS:
            wanted, other, swapped = "NQ = 7", "6 numbers, which is NV", np.ones(6)
        for wrong in (swapped, np.tile(swapped, (3, 1))):
            with pytest.raises(
                ArgumentError,
                match=rf"^{function}: {argument.name} has {other}; {argument.name} of 'free_body' "
                rf"has {wanted}",
            ):
                ask(*given(function, **{argument.name: wrong}))
        with pytest.raises(ArgumentError, match=rf"^{function}: {argument.name} has shape \(5,\)"):
            ask(*given(function, **{argument.name: np.ones(5)}))


@pytest.mark.parametrize(
    "function", [name for name in ASKED if any(a.name == "q" for a in FUNCTIONS[name].arguments)]
)
def test_a_function_refuses_four_zeros_for_a_quaternion(box: Solver, function: str) -> None:
    ask, zeros = getattr(box, function), np.zeros(7)
    for q, where in ((zeros, ""), (np.stack([Q, zeros]), " at state 1")):
        with pytest.raises(
            StateError,
            match=f"^{function} refuses its arguments{where}: a quaternion does not have length 1",
        ):
            ask(*given(function, q=q))


def test_a_time_is_one_number_or_one_a_state(box: Solver) -> None:
    v, rows = np.ones(6), np.tile(Q, (3, 1))
    alone = box.integrate(Q, v, 0.1)
    assert (alone.shape, box.integrate(Q, v, np.array([0.1])).shape) == ((7,), (1, 7))
    times = np.array([0.2, 0.1, 0.0])
    each = box.integrate(rows, v, times)
    assert (each == box.integrate(Q, v, times)).all()  # one state, several times
    assert (each[1] == alone).all()
    assert (box.integrate(rows, v, 0.1) == alone).all()
    assert box.integrate(rows, v, times[:, None]).shape == (3, 3, 7)  # every time for every state


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
def test_what_is_no_time_is_one_sentence(box: Solver, dt: object, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        box.integrate(np.tile(Q, (3, 1)), np.ones(6), dt)


def test_a_scalar_is_bound_and_written_as_an_array_of_no_dimension(box: Solver) -> None:
    v, out = np.ones(6), np.zeros(7)
    box.bind("integrate", Q, v, np.array(0.1), out)()
    assert (out == box.integrate(Q, v, 0.1)).all()
    with pytest.raises(
        ArgumentError,
        match="integrate: dt must be a contiguous, aligned float64 array to be bound; a float was",
    ):
        box.bind("integrate", Q, v, 0.1, out)
    with pytest.raises(
        ArgumentError,
        match=r"integrate: the result q_next goes into a float64 array of shape \(1, 7\)",
    ):
        box.bind("integrate", Q, v, np.array([0.1]), out)
    with pytest.raises(
        ArgumentError, match=r"kinetic_energy: the result T goes into a float64 array of shape \(\)"
    ):
        box.kinetic_energy(Q, v, out=np.zeros(1))
