"""States, arguments and results that checks share: what is drawn, what is passed on, and what is
kept.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.assembling import APART, assemble, closed_states
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from symgen.support.errors import RequestError
from symgen.verification.adjusted import AdjustedRobot
from symgen.verification.exact_results import ExactResults
from symgen.vocabulary.arrays import ALL_ROWS, Convention


@cache
def arm() -> Mechanism:
    return symgen.load("planar_arm")


@cache
def names() -> tuple[str, str]:
    first, second = (frame.name for frame in arm().frames[-2:])
    return first, second


def close(a: object, b: object) -> bool:
    return np.allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), atol=1e-12)


# -- states and arguments --


def test_floats_and_balls_are_the_drawn_states() -> None:
    exact = ExactResults(arm(), 3, 5)
    assert exact.count == 3
    assert (exact.described, exact.mechanism) == (arm(), arm())
    for name, values in exact.states.items():
        assert exact.floats[name].dtype == float
        assert close(exact.floats[name], values)
        assert close(exact.balls[name], values)
    assert exact.links["task_rows"] == ALL_ROWS
    assert (
        "convention" not in ExactResults(arm(), 1, convention=Convention("world", "linear")).links
    )


def test_arguments_have_loads_only_where_they_are_attached() -> None:
    plain = ExactResults(arm(), 2)
    assert set(plain.arguments("inverse_dynamics")) == {"q", "v", "a"}
    assert set(plain.arguments("gravity_force")) == {"q"}
    loaded = ExactResults(arm(), 2, payload=names()[0], wrench=names()[1])
    assert set(loaded.arguments("inverse_dynamics")) == {"q", "v", "a", "payload", "wrench"}
    assert set(loaded.arguments("mass_matrix")) == {"q", "payload"}
    floats = loaded.arguments("mass_matrix", loaded.floats)
    assert floats["q"] is loaded.floats["q"]
    assert loaded.load is loaded.floats["payload"]
    assert plain.load is None


def test_steps_have_their_own_short_time() -> None:
    exact = ExactResults(arm(), 2)
    assert exact.arguments("step")["dt"] is exact.balls["instant"]
    assert exact.arguments("integrate")["dt"] is exact.balls["dt"]


def test_adjusted_numbers_are_arguments_of_the_program_only() -> None:
    adjusted = AdjustedRobot(arm(), (Fraction(1, 2), Fraction(3)), (Fraction(7),))
    exact = ExactResults(arm(), 2, adjusted=adjusted)
    assert exact.states["parameters"].tolist() == [[Fraction(1, 2), 3]] * 2
    assert exact.states["prepared"].tolist() == [[7]] * 2
    assert set(exact.arguments("gravity_force")) == {"q", "prepared"}
    assert set(exact.reference_arguments("gravity_force")) == {"q"}


def test_changes_and_weights_are_drawn_with_the_shapes_of_a_derivative() -> None:
    exact = ExactResults(arm(), 4)
    nv = arm().nv
    exact.draw("inverse_dynamics:hvp")
    shapes = {name: exact.floats[name].shape for name in ("dq", "dv", "da", "tau_bar")}
    assert shapes == {**dict.fromkeys(("dq", "dv", "da"), (4, nv)), "tau_bar": (4, nv)}
    before = exact.balls["dq"]
    exact.draw("inverse_dynamics:jvp")
    assert exact.balls["dq"] is before
    exact.draw("regressor")
    assert exact.floats["pi"].shape == (4, 10 * len(arm().bodies))


def test_a_name_of_another_shape_is_drawn_anew() -> None:
    """The weight of J has six rows, that of two frames twice as many."""
    single = ExactResults(arm(), 2, frame=names()[0])
    single.draw("jacobian:vjp")
    assert single.floats["J_bar"].shape == (2, 6, arm().nv)
    several = ExactResults(arm(), 2, frame=names())
    several.draw("jacobian:vjp")
    assert several.floats["J_bar"].shape == (2, 2, 6, arm().nv)


# -- results --


def test_results_are_those_of_the_reference_and_kept() -> None:
    exact = ExactResults(arm(), 2, 1)
    reference = Reference(arm(), FLOAT)
    q, v, tau = (exact.floats[name] for name in ("q", "v", "tau"))
    assert close(exact.mass_matrix, reference.mass_matrix(q))
    assert close(exact.bias, reference.bias_force(q, v))
    assert close(exact.results("forward_dynamics")["a"], reference.forward_dynamics(q, v, tau))
    assert exact.results("mass_matrix") is exact.results("mass_matrix")
    assert all(x.rad() < 1e-50 for x in exact.mass_matrix.ravel())


def test_replaced_results_are_returned_and_forget_the_others() -> None:
    exact = ExactResults(arm(), 2, 1)
    before, scales = exact.mass_matrix, exact.scales
    exact.replace_results({"gravity_force": {"g": np.ones((2, arm().nv))}})
    assert (exact.results("gravity_force")["g"] == 1).all()
    assert exact.mass_matrix is not before
    assert exact.scales is not scales


def test_set_results_come_from_runners() -> None:
    exact = ExactResults(arm(), 2, 1)
    exact.set_results({"gravity_force": lambda arguments: {"g": 2 * arguments["q"]}})
    assert close(exact.results("gravity_force")["g"], 2 * exact.floats["q"])


def test_each_frame_has_its_own_results() -> None:
    exact = ExactResults(arm(), 2, 1, frame=names())
    together = exact.results("jacobian")["J"]
    assert together.shape == (2, 2, 6, arm().nv)
    assert len(exact.of_each_frame) == 2
    for k, (name, results) in enumerate(zip(names(), exact.of_each_frame, strict=True)):
        alone = ExactResults(arm(), 2, 1, frame=name)
        assert close(results.results("jacobian")["J"], together[:, k])
        assert close(results.results("jacobian")["J"], alone.results("jacobian")["J"])
        assert results.attachments["frame"] == name
        assert close(results.results("mass_matrix")["M"], exact.mass_matrix)
    single = ExactResults(arm(), 2, 1, frame=names()[0])
    assert single.of_each_frame == [single]


def test_sizes_of_several_frames_are_stacked() -> None:
    exact = ExactResults(arm(), 2, 1, frame=names())
    sizes = exact.scales.of("jacobian", "J")
    for k, results in enumerate(exact.of_each_frame):
        assert close(sizes[:, k], results.scales.of("jacobian", "J"))
    assert exact.scales.of("mass_matrix", "M").shape == (2, arm().nv, arm().nv)


def test_sizes_in_the_order_of_a_convention_have_its_order() -> None:
    usual, linear = (
        ExactResults(arm(), 2, 1, frame=names()[1], convention=Convention("aligned", order))
        for order in ("angular", "linear")
    )
    exchanged = [3, 4, 5, 0, 1, 2]
    J, J_linear = (results.scales.of("jacobian", "J") for results in (usual, linear))
    assert close(J[:, exchanged], J_linear)
    bias, reordered = (r.scales.of("bias_acceleration", "Jdot_v") for r in (usual, linear))
    assert close(bias[:, exchanged], reordered)


def test_sharper_results_are_at_the_same_states_with_twice_the_digits() -> None:
    exact = ExactResults(arm(), 2, 3, payload=names()[0])
    sharper = exact.sharper
    assert sharper.working == 2 * exact.working
    assert (sharper.states["q"] == exact.states["q"]).all()
    assert (sharper.states["payload"] == exact.states["payload"]).all()
    assert exact.sharper is sharper


# -- closed loops --


def test_functions_of_closed_loops_are_evaluated_at_closed_states() -> None:
    robot = symgen.load("four_bar")
    exact = ExactResults(robot, 2, 3)
    arguments = exact.arguments("constraint_bias")
    closed = closed_states(robot, assemble(robot), 2, 3)
    assert close(arguments["q"], closed["q"].astype(float))
    assert close(arguments["v"], closed["v"].astype(float))
    assert exact.arguments("mass_matrix")["q"] is exact.balls["q"]
    opened = ExactResults(robot, 2, 3, baumgarte=True)
    arguments = opened.arguments("constrained_forward_dynamics")
    assert arguments["gains"].shape == (2, 2)
    distance = np.abs(np.asarray(arguments["q"], dtype=float) - closed["q"].astype(float)).max()
    assert 1e-3 < distance <= float(APART) + 1e-3
    assert close(arguments["v"], opened.floats["v"])
    assert "gains" not in opened.arguments("mass_matrix")


def test_sizes_of_loops_are_those_of_the_assembly() -> None:
    robot = symgen.load("four_bar")
    exact = ExactResults(robot, 2, 3)
    assert exact.results("constraint_jacobian")["A"].shape == (2, assemble(robot).rows, 3)
    exact.draw("constrained_inverse_dynamics:vjp")
    assert exact.floats["lambda_bar"].shape == (2, assemble(robot).rows)
    assert exact.floats["tau_independent_bar"].shape == (2, 1)


# -- refusals --


def test_a_mass_matrix_beyond_doubles_is_refused() -> None:
    heavy = symgen.Robot("heavy").body(
        "a", parent="base", type="revolute", axis=(0, 0, 1), mass="1e300", centre=("1e10", 0, 0)
    )
    with pytest.raises(RequestError, match="the mass matrix of 'heavy' is larger than any double"):
        ExactResults(heavy.build(), 1)


def test_states_with_an_indefinite_mass_matrix_are_counted() -> None:
    """A moment of −1 kg m² about the axis makes M negative at every state."""
    odd = symgen.Robot("odd").body(
        "a", parent="base", type="revolute", axis=(0, 0, 1), mass=1, inertia=(1, 0, 0, 1, 0, -1)
    )
    assert ExactResults(odd.build(), 3).indefinite == 3
