"""The table of functions: shapes of results, look-up by name, derivatives, order and classes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from symgen.reference.states import draw_states
from symgen.vocabulary import functions as table
from symgen.vocabulary.arrays import Array, Sizes
from symgen.vocabulary.derivatives import MODES, Derivative
from symgen.vocabulary.functions import (
    AT_RUN_TIME,
    BY_DEFAULT,
    EQUATIONS,
    FUNCTIONS,
    LOOP_FUNCTIONS,
    PREPARED,
    PREPARING,
    PROVED_BY_DEFAULT,
    Function,
    derived,
    differentiable,
)
from tests.shared.robots_for_tests import of_kind, random_mechanism

ALL = {**FUNCTIONS.data, **LOOP_FUNCTIONS, **EQUATIONS}


def ball_and_hinge() -> Mechanism:
    chain = random_mechanism(2, 1)
    first, second = chain.joints
    return replace(chain, joints=(of_kind(first, "spherical"), second))


WITH_NUMBERS = [
    name
    for name, function in FUNCTIONS.items()
    if any(isinstance(size, int) for array in function.results for size in array.shape)
]
"""Functions whose results have a dimension that is the same for all robots."""


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_declared_shapes_are_those_of_the_results_of_the_reference(name: str) -> None:
    robot, function = ball_and_hinge(), FUNCTIONS[name]
    reference = Reference(robot, FLOAT, frame="link1", contact="link1:0.3,0.1,0.2")
    states = {**draw_states(robot, 1), "active": np.ones((1, 1))}
    arguments = {
        array.name: states[function.sample_kind(array.name).removesuffix("_closed")].astype(float)
        for array in function.arguments
    }
    sizes = Sizes(robot.nq, robot.nv, 2, NT=1)
    results = reference.evaluate(name, arguments)
    assert {array.name: (1, *array.sizes(sizes)) for array in function.results} == {
        result: values.shape for result, values in results.items()
    }


def test_run_time_arguments_have_their_number_of_entries() -> None:
    states = draw_states(ball_and_hinge(), 1, payload="link0", wrench="link1")
    entries = {array.name: array.shape for array in AT_RUN_TIME}
    assert entries["payload"] == states["payload"].shape[1:]
    assert entries["wrench"] == states["wrench"].shape[1:]
    assert entries["gains"] == (2,)  # K_p and K_d


def test_a_function_belongs_to_no_class_by_default() -> None:
    function = Function("f", (), (), "")
    assert not any(value is True for value in vars(function).values())
    assert not function.needs_loops
    assert not function.solves_constraints


# -- look-up by name -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "mass_matrix",
        "constraint_jacobian",
        "loop_equation",
        "regroup_parameters",
        "mass_matrix:jvp",
        "inverse_dynamics:hvp(q,a)",
        "inverse_dynamics:vjp(payload)",
        "constraint_residual:jacobian",
        "integrate:vjp(dt)",
    ],
)
def test_functions_and_derivatives_are_looked_up_by_name(name: str) -> None:
    assert name in FUNCTIONS
    assert FUNCTIONS[name].name == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("mass", "no function"),
        ("mass_matrix:", "no mode"),
        ("mass_matrix:gradient", "another mode"),
        ("mass:jvp", "a derivative of no function"),
        ("mass_matrix:jvp(v)", "an argument that the function does not have"),
        ("inverse_dynamics:jvp(v,q)", "arguments in another order"),
        ("inverse_dynamics:jvp(q,v,a)", "all arguments, which are not named"),
        ("center_of_mass:jacobian", "the function center_of_mass_jacobian"),
        ("loop_equation:jvp", "a derivative of an equation"),
        ("contact_forward_dynamics:jvp(active)", "an argument that is a switch"),
        ("inverse_dynamics:jvp(prepared)", "values prepared from parameters"),
        (":jvp", "no function"),
    ],
)
def test_a_name_without_a_function_is_not_found(name: str, reason: str) -> None:
    assert name not in FUNCTIONS, reason
    with pytest.raises(KeyError, match=re.escape(name)):
        FUNCTIONS[name]


def test_only_texts_are_names() -> None:
    assert 5 not in FUNCTIONS
    assert None not in FUNCTIONS


def test_functions_are_ordered_as_in_the_table_and_derivatives_by_their_modes_after_them() -> None:
    first, second = "inverse_dynamics", "forward_dynamics"
    in_order = [
        first,
        second,
        "contact_impulse",
        "constraint_bias",
        *PREPARING,
        f"{first}:jvp",
        f"{first}:jvp(q)",
        f"{first}:vjp",
        f"{first}:jacobian",
        f"{first}:hvp(a)",
        f"{first}:hvp(q)",
        f"{second}:jvp",
        "constraint_bias:vjp",
    ]
    assert FUNCTIONS.in_order(reversed(in_order)) == in_order
    assert FUNCTIONS.in_order([*in_order[::2], *in_order, in_order[0]]) == in_order
    assert [*MODES] == ["jvp", "vjp", "jacobian", "hvp"]


# -- derivatives ---------------------------------------------------------------------------------


def shapes(arrays: tuple[Array, ...]) -> dict[str, tuple[object, ...]]:
    return {array.name: array.shape for array in arrays}


def test_arguments_of_differentiation_are_those_that_change_continuously() -> None:
    assert [*differentiable(FUNCTIONS["inverse_dynamics"])] == ["q", "v", "a", "payload", "wrench"]
    contact = differentiable(FUNCTIONS["contact_forward_dynamics"])
    assert [*contact] == ["q", "v", "tau", "payload", "wrench", "gains"]
    assert PREPARED.name not in contact


def test_a_jvp_has_changes_of_its_arguments_and_of_its_results() -> None:
    function = FUNCTIONS["integrate:jvp(q,dt)"]
    assert shapes(function.arguments) == {
        "q": ("NQ",),
        "v": ("NV",),
        "dt": (),
        "dq": ("NV",),  # q changes along velocities
        "ddt": (),
    }
    assert shapes(function.results) == {"dq_next": ("NV",)}
    assert "one entry for each velocity" in function.arguments[3].what
    assert "one entry for each velocity" not in function.arguments[4].what


def test_a_vjp_has_weights_of_its_results_and_of_its_arguments() -> None:
    function = FUNCTIONS["integrate:vjp"]
    assert [*shapes(function.arguments)] == ["q", "v", "dt", "q_next_bar"]
    assert shapes(function.results) == {"q_bar": ("NV",), "v_bar": ("NV",), "dt_bar": ()}


def test_a_jacobian_has_a_matrix_for_each_result_and_argument() -> None:
    function = FUNCTIONS["mass_matrix_and_bias:jacobian(q)"]
    assert function.arguments == FUNCTIONS["mass_matrix_and_bias"].arguments
    assert shapes(function.results) == {"dM_dq": ("NV", "NV", "NV"), "dc_dq": ("NV", "NV")}
    both = FUNCTIONS["bias_force:jacobian"]
    assert shapes(both.results) == {"dc_dq": ("NV", "NV"), "dc_dv": ("NV", "NV")}


def test_an_hvp_has_weights_and_changes_and_the_changes_of_weights() -> None:
    function = FUNCTIONS["bias_force:hvp(v)"]
    assert [*shapes(function.arguments)] == ["q", "v", "c_bar", "dv"]
    assert shapes(function.results) == {"dv_bar": ("NV",)}


def test_a_derivative_by_all_arguments_has_the_name_without_them() -> None:
    function = FUNCTIONS["bias_force"]
    for by in ((), ("q", "v"), ("v", "q")):
        derivative = derived(function, Derivative("bias_force", "jvp", by))
        assert derivative is not None
        assert derivative.name == "bias_force:jvp"
    by_load = derived(function, Derivative("bias_force", "jvp", ("payload", "q")))
    assert by_load is not None
    assert by_load.name == "bias_force:jvp(q,payload)"
    assert derived(function, Derivative("bias_force", "jvp", ("q", "tau"))) is None


def test_a_derivative_keeps_what_its_function_needs_and_not_how_it_is_computed() -> None:
    function, derivative = FUNCTIONS["forward_dynamics"], FUNCTIONS["forward_dynamics:vjp"]
    assert derivative.needs_inverse
    assert derivative.depends_on == function.depends_on
    assert function.proved
    assert not derivative.proved
    assert (derivative.layouts_of, derivative.solves, derivative.jacobian_from) == ((), None, None)
    parsed = derivative.derivative
    assert parsed is not None
    assert (parsed.of, parsed.mode) == ("forward_dynamics", "vjp")
    assert function.derivative is None


# -- classes -------------------------------------------------------------------------------------


def test_functions_of_loops_are_those_with_constraint_rows_or_independent_velocities() -> None:
    """Functions of contacts also take loops as closed, but exist for robots without loops."""
    of_loops = {name for name, function in ALL.items() if function.needs_loops}
    assert of_loops == {*LOOP_FUNCTIONS, "loop_equation", "loop_solution"}
    closed = {name for name, function in ALL.items() if function.holds_loops_closed}
    assert closed == of_loops | {name for name in ALL if name.startswith(("contact_", "impact_"))}
    solving = {name for name, function in ALL.items() if function.solves_constraints}
    assert solving == {
        "constrained_forward_dynamics",
        "constraint_impulse",
        "contact_forward_dynamics",
        "contact_impulse",
    }
    assert not FUNCTIONS["forward_dynamics"].solves_constraints
    assert FUNCTIONS["jacobian"].counts("NV")
    assert not FUNCTIONS["jacobian"].counts("NL")


def test_equations_have_the_arguments_and_results_that_solves_names() -> None:
    for function in ALL.values():
        if function.solves is None:
            continue
        equation, solution = (
            ALL[name] for name in (function.solves.equation, function.solves.solution)
        )
        assert {*function.solves.unknowns} <= set(shapes(equation.arguments))
        assert {*function.solves.unknowns.values()} <= set(shapes(solution.results))
        assert {*function.solves.rights} <= set(shapes(equation.results))
        assert {*function.solves.rights.values()} <= set(shapes(solution.arguments))
    for function in FUNCTIONS.values():
        if function.jacobian_from is not None:
            blocks = set(function.jacobian_from.blocks.values())
            assert blocks == set(shapes(ALL[function.jacobian_from.function].results))
            assert {*function.jacobian_from.blocks} == set(
                shapes(FUNCTIONS[f"{function.name}:jacobian"].results)
            )


def test_frames_and_conventions_concern_functions_with_results_of_a_frame() -> None:
    by_convention = [name for name, f in FUNCTIONS.items() if f.follows_convention]
    assert by_convention == ["jacobian", "bias_acceleration"]
    assert [name for name, f in FUNCTIONS.items() if f.uses_all_frames] == [
        "forward_kinematics",
        *by_convention,
    ]
    assert all(f.needs_frame for f in FUNCTIONS.values() if f.uses_all_frames)
    assert not FUNCTIONS["mass_matrix"].uses_all_frames


def test_samples_of_an_argument_are_of_its_own_kind_unless_it_names_another() -> None:
    step = FUNCTIONS["step"]
    assert [step.sample_kind(name) for name in ("q", "v", "dt")] == ["q", "v", "instant"]
    assert FUNCTIONS["integrate"].sample_kind("dt") == "dt"
    loop = LOOP_FUNCTIONS["constraint_bias"]
    assert [loop.sample_kind(name) for name in ("q", "v")] == ["q_closed", "v_closed"]
    assert step.sample_kind("payload") == "payload"
    assert table.Q_NEXT.drawn == ""


def test_own_arguments_are_those_without_switches() -> None:
    assert FUNCTIONS["contact_impulse"].own_arguments == ("q", "v")
    assert FUNCTIONS["inverse_dynamics"].own_arguments == ("q", "v", "a")


def test_functions_are_generated_by_default_unless_they_are_explicit() -> None:
    assert {"mass_matrix", "forward_dynamics", "jacobian"} < {*BY_DEFAULT}
    explicit = {"regressor", "step", "contact_impulse", "operational_inertia"}
    assert explicit.isdisjoint(BY_DEFAULT)
    assert len(BY_DEFAULT) + sum(f.explicit_only for f in FUNCTIONS.values()) == len(FUNCTIONS)


def test_functions_that_divide_are_proved_last() -> None:
    assert set(PROVED_BY_DEFAULT) == {"inverse_dynamics", "mass_matrix", "forward_dynamics"}
    assert PROVED_BY_DEFAULT[-1] == "forward_dynamics"
