"""Parameters of a solver: shapes, refusals, preparation, with functions that record their calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symgen.ir.program import Port
from symgen.machine.solver import Parameters, Solver, default_parameters, named_call
from symgen.support.errors import ArgumentError, UnknownName
from symgen.vocabulary.functions import JUDGE, PREPARED, REGROUP

DEFAULTS = {
    "arm.mass": (2.0,),
    "arm.centre": (0.1, 0.2, 0.3),
    "arm.inertia": (1.0, 0.0, 0.0, 2.0, 0.0, 3.0),
    "gravity": (0.0, 0.0, -9.81),
}


class Regrouping:
    """The function that prepares parameters: their double."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __call__(self, numbers: Any) -> dict[str, Any]:
        self.calls.append(np.array(numbers))
        return {PREPARED.name: 2 * numbers}


def parameters(judge: Any = None) -> tuple[Parameters, Regrouping]:
    regrouping = Regrouping()
    return Parameters(DEFAULTS, "double", regrouping, judge), regrouping


def test_defaults_are_numbers_or_arrays() -> None:
    numbers, _ = parameters()
    assert list(numbers) == list(DEFAULTS)
    assert len(numbers) == 4
    assert numbers["arm.mass"].shape == ()
    assert numbers["arm.inertia"].shape == (6,)
    with pytest.raises(ValueError, match="read-only"):
        numbers["gravity"][0] = 1.0
    assert "gravity = [" in repr(numbers)


def test_numbers_are_prepared_once_in_their_order_until_one_changes() -> None:
    numbers, regrouping = parameters()
    flat = [x for values in DEFAULTS.values() for x in values]
    assert numbers.prepared.tolist() == [2 * x for x in flat]
    assert numbers.prepared is numbers.prepared
    assert len(regrouping.calls) == 1
    numbers["arm.mass"] = 5
    assert numbers.prepared[0] == 10
    assert len(regrouping.calls) == 2
    numbers.reset()
    assert numbers["arm.mass"] == 2
    assert numbers.prepared[0] == 4


def test_leading_dimensions_of_numbers_broadcast_together() -> None:
    numbers, _ = parameters()
    numbers["arm.mass"] = [[1.0], [2.0], [3.0]]
    numbers["gravity"] = np.ones((4, 3))
    prepared = numbers.prepared
    assert prepared.shape == (3, 4, 13)
    assert prepared[2, 1, 0] == 6
    assert (prepared[..., 10:] == 2).all()
    numbers["arm.centre"] = np.ones((5, 3))
    with pytest.raises(ArgumentError, match=r"do not broadcast together: 'arm\.mass' "):
        numbers.prepared  # noqa: B018


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("gravity", [1.0, 2.0], r"must have shape \(\.\.\., 3\); it has \(2,\)"),
        ("gravity", 1.0, r"must have shape \(\.\.\., 3\); it has \(\)"),
        ("gravity", "down", "must be numbers, not str"),
        ("arm.mass", None, "must be numbers, not NoneType"),
    ],
)
def test_wrong_numbers_are_refused_by_name(name: str, value: Any, sentence: str) -> None:
    numbers, _ = parameters()
    if value is None:
        value = [None, "x"]
        sentence = "must be numbers, not list"
    with pytest.raises(ArgumentError, match=f"parameter '{name}' {sentence}"):
        numbers[name] = value
    assert numbers[name].tolist() == (
        list(DEFAULTS[name]) if len(DEFAULTS[name]) > 1 else DEFAULTS[name][0]
    )


def test_unknown_names_and_deletions_are_refused() -> None:
    numbers, _ = parameters()
    for wrong in (lambda: numbers["arm.mas"], lambda: numbers.__setitem__("arm.mas", 1)):
        with pytest.raises(UnknownName, match=r"arm\.mass"):
            wrong()
    with pytest.raises(ArgumentError, match=r"reset\(\) restores"):
        del numbers["gravity"]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_are_finite(value: float) -> None:
    numbers, regrouping = parameters()
    numbers["gravity"] = [0, value, 0]
    with pytest.raises(ArgumentError, match="parameter 'gravity' is infinite or not a number"):
        numbers.prepared  # noqa: B018
    assert not regrouping.calls


def test_masses_and_what_drives_have_are_never_negative_but_other_numbers_may_be() -> None:
    names = ("arm.mass", "hip.armature", "hip.damping", "hip.friction", "hip.stiffness")
    for name in names:
        numbers = Parameters({name: (0.0,), "hip.rest": (-1.0,)}, "double", Regrouping(), None)
        assert numbers.prepared.tolist() == [0, -2]
        numbers[name] = [1.0, -0.5]
        with pytest.raises(ArgumentError, match=f"'{name}' is negative; it must be zero or more"):
            numbers.prepared  # noqa: B018


def test_a_judge_refuses_impossible_inertias_and_joints_without_mass() -> None:
    """Moments may be zero or more, the carried mass must be more than zero."""
    judgement: dict[str, Any] = {"judged": np.zeros(3), "carried": np.array([1e-9])}
    numbers, _ = parameters(lambda numbers: judgement)
    assert numbers.prepared is not None
    numbers.reset()
    judgement["judged"] = np.array([1.0, -1e-9])
    with pytest.raises(ArgumentError, match=r"moments of inertia about .*; check arm\.inertia, "):
        numbers.prepared  # noqa: B018
    massless = Parameters({"arm.mass": (1.0,)}, "double", Regrouping(), lambda numbers: judgement)
    with pytest.raises(ArgumentError, match="check the masses, "):
        massless.prepared  # noqa: B018
    judgement["judged"], judgement["carried"] = np.zeros(3), np.array([1.0, 0.0])
    with pytest.raises(ArgumentError, match="a joint carries no mass"):
        numbers.prepared  # noqa: B018
    judgement.clear()
    assert numbers.prepared is not None


def test_ten_numbers_of_a_regressor_are_mass_centre_and_inertia() -> None:
    numbers, _ = parameters()
    pi = np.array([[2.0, 1.0, 2.0, 3.0, *range(4, 10)], [0.0, 0.0, 0.0, 0.0, *range(6)]])
    numbers.take("arm", pi)
    assert numbers["arm.mass"].tolist() == [2, 0]
    assert numbers["arm.centre"].tolist() == [[0.5, 1, 1.5], [0, 0, 0]]
    assert numbers["arm.inertia"].tolist() == [[4, 5, 6, 7, 8, 9], [0, 1, 2, 3, 4, 5]]
    for wrong in (np.ones(9), 1.0):
        with pytest.raises(ArgumentError, match=r"'arm' must have shape \(\.\.\., 10\)"):
            numbers.take("arm", wrong)
    with pytest.raises(UnknownName):
        numbers.take("leg", pi)


def test_results_of_a_compiled_function_come_by_name() -> None:
    """One result comes alone, several in a tuple."""
    single = SimpleNamespace(
        outputs=(Port("a", ()),), long_road=lambda arguments, out: arguments[0]
    )
    assert named_call(single)("x") == {"a": "x"}
    double = SimpleNamespace(
        outputs=(Port("a", ()), Port("b", ())), long_road=lambda arguments, out: (1, arguments[0])
    )
    assert named_call(double)("x") == {"a": 1, "b": "x"}


def kernel_of(name: str, result: Any) -> Any:
    return SimpleNamespace(outputs=(Port(name, ()),), long_road=lambda arguments, out: result)


@pytest.mark.parametrize("has_judge", [False, True])
def test_a_solver_judges_its_parameters_if_its_library_can(has_judge: bool) -> None:
    solver = Solver.__new__(Solver)
    solver._parameters, solver._defaults, solver.real = None, {"arm.mass": (1.0,)}, "double"
    solver._kernels = {REGROUP: kernel_of(PREPARED.name, np.ones(1))}
    if has_judge:
        solver._kernels[JUDGE] = kernel_of("judged", np.array([-1.0]))
    numbers = solver.parameters
    assert solver.parameters is numbers
    if has_judge:
        with pytest.raises(ArgumentError, match="no body can have"):
            numbers.prepared  # noqa: B018
    else:
        assert numbers.prepared.tolist() == [1]


def test_a_solver_without_parameters_says_how_to_get_some() -> None:
    solver = Solver.__new__(Solver)
    solver._parameters, solver._defaults = None, {}
    with pytest.raises(ArgumentError, match=r"no number of this solver may change"):
        solver.parameters  # noqa: B018


def test_without_names_there_are_no_defaults() -> None:
    options: Any = SimpleNamespace(parameters=())
    robot: Any = None
    assert default_parameters(robot, options) == {}
