"""Derivation of a function: its options, frames, limits on rows and operations, gravity, and
arguments without effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import symgen
from symgen.derivation.scalars import Derivation, TooManyRows
from symgen.ir.program import EXACT, Program, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import derive
from symgen.pipeline.derive import Attempt, relevant
from symgen.support.errors import MethodRefusal
from symgen.vocabulary.functions import FUNCTIONS, PREPARING
from symgen.vocabulary.options import HIGH, ProgramOptions
from tests.shared.robots_for_tests import of_kind, random_mechanism

ALL_OPTIONS = ProgramOptions(
    "float",
    frame=("link1", "link0"),
    payload="link1",
    wrench=("link0", "link1"),
    jacobian_frame="local",
    jacobian_order="linear",
    task_rows="wx,z",
    contact="link1",
    effort=HIGH,
    rounds=5,
    parameters=("gravity",),
    divisor_bounds=True,
    anywhere=True,
    baumgarte=True,
    series=True,
    form="looped",
)
NO_OPTIONS = ProgramOptions("float", effort=HIGH, rounds=5)


def chain(*kinds: str) -> Mechanism:
    mechanism = random_mechanism(len(kinds), 3)
    joints = tuple(
        of_kind(joint, kind) for joint, kind in zip(mechanism.joints, kinds, strict=True)
    )
    return replace(mechanism, joints=joints)


TURNS, BALL = chain("revolute", "revolute"), chain("revolute", "spherical")


# -- options ---------------------------------------------------------------------------------------


def test_options_without_effect_are_the_default_ones() -> None:
    """Each function keeps the real type, the effort, and what it declares that it depends on."""
    expected = {
        "link_poses": NO_OPTIONS,
        "gravity_force": replace(NO_OPTIONS, payload="link1", parameters=("gravity",)),
        "inverse_dynamics": replace(
            NO_OPTIONS, payload="link1", wrench=("link0", "link1"), parameters=("gravity",)
        ),
        "jacobian": replace(
            NO_OPTIONS,
            frame=("link1", "link0"),
            jacobian_frame="local",
            jacobian_order="linear",
        ),
        "forward_kinematics": replace(NO_OPTIONS, frame=("link1", "link0")),
        "operational_inertia_inverse": replace(
            NO_OPTIONS, frame="link1", payload="link1", parameters=("gravity",)
        ),
        "operational_inertia": replace(
            NO_OPTIONS,
            frame="link1",
            payload="link1",
            task_rows="wx,z",
            parameters=("gravity",),
        ),
        "contact_forward_dynamics": replace(
            NO_OPTIONS,
            payload="link1",
            wrench=("link0", "link1"),
            contact="link1",
            parameters=("gravity",),
            baumgarte=True,
        ),
        "base_parameters": replace(NO_OPTIONS, parameters=("gravity",)),
        "integrate": replace(NO_OPTIONS, series=True),
        PREPARING[0]: replace(NO_OPTIONS, parameters=("gravity",), divisor_bounds=True),
    }
    for function, options in expected.items():
        kept = relevant(BALL, function, ALL_OPTIONS)
        assert replace(kept, frame=kept.frames or None, wrench=kept.wrenches or None) == replace(
            options, frame=options.frames or None, wrench=options.wrenches or None
        ), function


def test_options_that_are_not_requested_stay_at_their_defaults() -> None:
    for function in ("integrate", "jacobian", "inverse_dynamics", "contact_impulse", PREPARING[0]):
        assert replace(relevant(BALL, function, ProgramOptions()), frame=None) == ProgramOptions()


def test_rounds_matter_to_a_search_alone() -> None:
    assert relevant(TURNS, "mass_matrix", ProgramOptions(rounds=5)) == ProgramOptions()
    searched = ProgramOptions(effort=HIGH, rounds=5)
    assert relevant(TURNS, "mass_matrix", searched) == searched


def test_only_functions_of_closed_loops_may_hold_at_open_positions() -> None:
    four_bar, options = symgen.load("four_bar"), ProgramOptions(anywhere=True)
    assert relevant(four_bar, "constraint_jacobian", options).anywhere
    assert relevant(four_bar, "constraint_jacobian", ProgramOptions(baumgarte=True)).anywhere
    assert not relevant(four_bar, "constraint_jacobian", ProgramOptions()).anywhere
    assert not relevant(four_bar, "mass_matrix", options).anywhere
    assert not relevant(TURNS, "mass_matrix", options).anywhere


@pytest.mark.parametrize(
    ("function", "of_turns", "of_a_ball"),
    [
        ("integrate", False, True),
        ("difference", False, True),
        ("step", False, True),
        ("mass_matrix", False, False),
    ],
)
def test_series_are_for_functions_that_move_positions_of_balls(
    function: str, of_turns: bool, of_a_ball: bool
) -> None:
    declaration = FUNCTIONS[function]
    assert derive.turns_by_series(TURNS, declaration) == of_turns
    assert derive.turns_by_series(BALL, declaration) == of_a_ball
    assert derive.moves_positions(declaration) == of_a_ball


def test_a_function_uses_its_named_frames_or_that_of_the_tip() -> None:
    two, none = ProgramOptions(frame=("link0", "link1")), ProgramOptions()
    expected = {
        "mass_matrix": ((), ()),
        "jacobian": (("link0", "link1"), ("link1",)),
        "operational_inertia_inverse": (("link0",), ("link1",)),
    }
    for function, names in expected.items():
        for options, frames in zip((two, none), names, strict=True):
            assert derive.frame_names(TURNS, FUNCTIONS[function], options) == frames


# -- limits ----------------------------------------------------------------------------------------


def attempt() -> Attempt:
    return Attempt(TURNS, "mass_matrix", "composite_body", ProgramOptions())


def test_a_program_within_its_limits_is_derived_once() -> None:
    derivation = attempt()
    program = derivation.program()
    assert derivation.program(len(program.rows), derivation.length, derivation.cost) is program
    assert derivation.polished() is derivation.polished()
    assert derivation.polished().cost <= program.cost <= derivation.cost < derivation.length


def test_a_derivation_is_recorded_once_in_each_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a refused call nor a finished one records the rows again."""
    recorded: list[str] = []
    record = derive.record

    def counted(*arguments: Any) -> Program:
        recorded.append(arguments[1])
        return record(*arguments)

    monkeypatch.setattr(derive, "record", counted)
    derivation = attempt()
    with pytest.raises(TooManyRows):
        derivation.program(dearest=1)
    for _ in range(2):
        derivation.program()
    assert recorded == ["mass_matrix"] * len(derivation._layouts())


def test_rows_above_the_budget_are_refused_with_their_number() -> None:
    derivation = attempt()
    rows = len(derivation.program().rows)
    with pytest.raises(TooManyRows, match=f"^{rows} rows$"):
        derivation.program(rows - 1)
    assert len(derivation.program(rows).rows) == rows
    with pytest.raises(TooManyRows, match=f"^{rows} rows$"):
        derivation.polished(rows - 1)


def test_a_budget_below_half_of_the_rows_is_refused_before_the_later_passes() -> None:
    """The later passes do not halve the number of rows."""
    measured = attempt()
    with pytest.raises(TooManyRows):
        measured.program(dearest=1)
    rows = len(measured.begun[0].rows)
    derivation = attempt()
    with pytest.raises(TooManyRows, match=f"^{rows} rows$"):
        derivation.program((rows - 1) // 2, longest=10**6)
    assert derivation.finished is None
    with pytest.raises(TooManyRows, match=r"^\d+ rows$"):
        derivation.program((rows + 1) // 2, longest=10**6)
    assert derivation.finished is not None


def test_a_derivation_may_have_four_times_as_many_rows_as_its_program() -> None:
    usual = attempt()
    usual.program()
    derivation, budget = attempt(), usual.length // 4 - 1
    with pytest.raises(TooManyRows, match=f"^the derivation outgrew {4 * budget} rows$"):
        derivation.program(budget)
    assert derivation.length == 4 * budget + 1
    budget = usual.length // 4 + 1
    with pytest.raises(TooManyRows, match=r"^\d+ rows$"):  # of the Program
        attempt().program(budget)


def test_a_derivation_that_was_too_long_is_not_repeated_for_a_tighter_limit() -> None:
    derivation = attempt()
    with pytest.raises(TooManyRows):
        derivation.program(longest=20)
    assert derivation.length == 21
    with pytest.raises(TooManyRows, match="the derivation outgrew 20 rows"):
        derivation.program(longest=20)
    assert not derivation.begun
    assert derivation.program().function == "mass_matrix"
    assert derivation.length > 21


def test_operations_above_a_limit_are_refused_with_their_number() -> None:
    derivation = attempt()
    with pytest.raises(TooManyRows, match=r"^\d+ operations$"):
        derivation.program(dearest=1)
    cost = derivation.cost
    with pytest.raises(TooManyRows, match=f"^{cost} operations$"):
        derivation.program(dearest=cost - 1)
    assert derivation.program(dearest=cost).cost <= cost


def test_a_refusal_is_remembered() -> None:
    point_masses = symgen.load("planar_point_mass:2")
    options = ProgramOptions(payload=point_masses.frames[-1].name)
    derivation = Attempt(point_masses, "mass_matrix_solve", "fixman:planar", options)
    for _ in range(2):
        with pytest.raises(MethodRefusal, match="makes a link a rigid body") as refused:
            derivation.program()
    assert derivation.refused is not None
    assert derivation.refused is not refused.value
    assert derivation.refused.__traceback__ is None


def test_layouts_close_to_the_shortest_one_are_kept() -> None:
    """Later passes change counts by a few per cent, of a long Program at the cost of minutes."""

    def of_cost(cost: int) -> Program:
        derivation = Derivation({"x": 1})
        (x,) = derivation.inputs["x"]
        y = x
        for _ in range(cost):
            y = y * x
        return derivation.freeze("f", "m", [("y", (), [y])], {"x": (1,)})

    programs = [of_cost(cost) for cost in (106, 100, 105, 100)]
    derivation = attempt()
    derivation._keep_shortest([7, 8, 9, 10], programs)
    assert (derivation.length, derivation.cost) == (8, 100)
    assert derivation.begun == programs[1:]
    long = of_cost(derive.LONG), of_cost(derive.LONG + 1)
    derivation._keep_shortest([1, 2], [long[0], long[0]])
    assert len(derivation.begun) == 2
    derivation._keep_shortest([1, 2], [long[1], long[1]])
    assert derivation.begun == [long[1]]


def test_the_polished_program_has_the_requested_real_type_and_method() -> None:
    for real in ("double", "float"):
        program = derive.polished(TURNS, "mass_matrix", "composite_body", ProgramOptions(real))
        assert (program.real, program.method) == (real, "composite_body")
        assert (
            derive.derive(TURNS, "mass_matrix", "composite_body", ProgramOptions(real)).real == real
        )
    with pytest.raises(TooManyRows):
        derive.derive(TURNS, "mass_matrix", "composite_body", ProgramOptions(), 3)


# -- gravity and arguments -------------------------------------------------------------------------


def compensated(fractions: Sequence[str]) -> Mechanism:
    bodies = tuple(
        replace(body, parts=tuple(replace(part, gravcomp=Fraction(text)) for part in body.parts))
        for body, text in zip(TURNS.bodies, fractions, strict=True)
    )
    return replace(TURNS, bodies=bodies, gravity=(Fraction(1), Fraction(-2), Fraction(3)))


def test_equal_gravity_compensation_reduces_gravity() -> None:
    reduced = derive.with_reduced_gravity(compensated(["1/4", "1/4"]))
    assert reduced.gravity == (Fraction(3, 4), Fraction(-3, 2), Fraction(9, 4))
    assert not reduced.compensated_parts
    for fractions in (["0", "0"], ["1/4", "1/2"], ["1/4", "0"]):
        robot = compensated(fractions)
        assert derive.with_reduced_gravity(robot) is robot


def test_a_massless_part_does_not_prevent_reduced_gravity() -> None:
    robot = compensated(["1/4", "1/2"])
    light = replace(
        robot.bodies[1],
        parts=tuple(replace(part, mass=Fraction(0)) for part in robot.bodies[1].parts),
    )
    reduced = derive.with_reduced_gravity(replace(robot, bodies=(robot.bodies[0], light)))
    assert reduced.gravity[2] == Fraction(9, 4)


def test_numbers_that_change_at_run_time_keep_the_full_weight() -> None:
    robot = compensated(["1/4", "1/4"])
    options = ProgramOptions()

    def gravity(function: str, options: ProgramOptions) -> Fraction:
        recording = derive.Recording(robot, function, "newton_euler", options, derive.PLAIN)
        return recording.mechanism.gravity[2]

    assert FUNCTIONS["inverse_dynamics"].weight_by_joints
    assert gravity("inverse_dynamics", options) == Fraction(9, 4)
    assert gravity("inverse_dynamics", replace(options, payload="link1")) == 3
    assert gravity("inverse_dynamics", replace(options, parameters=("gravity",))) == 3
    assert gravity("mass_matrix", options) == 3


def test_arguments_at_run_time_that_no_row_reads_are_removed() -> None:
    derivation = Derivation({"q": 1, "v": 2, "payload": 2, "prepared": 1})
    result = derivation.inputs["q"][0] * derivation.inputs["prepared"][0]
    frozen = derivation.freeze(
        "f", "m", [("y", (), [result])], {"q": (1,), "v": (2,), "payload": (2,), "prepared": (1,)}
    )
    read = derive.passes.run(frozen)
    program = derive.without_idle(read, 2)
    assert [port.name for port in program.inputs] == ["q", "v", "prepared"]
    arguments = {"q": [Fraction(5)], "v": [], "prepared": [Fraction(7)]}
    assert evaluate(program, arguments, EXACT)["y"] == [35]
    assert [port.name for port in derive.without_idle(read, 0).inputs] == ["q", "prepared"]


def test_a_method_that_divides_by_changing_inertia_names_robot_and_parameters() -> None:
    options = ProgramOptions(parameters=("link0.mass",))
    changing, plain = (
        derive.Recording(TURNS, "mass_matrix", "udut", options, derive.PLAIN)
        for options in (options, ProgramOptions())
    )
    derivation = Derivation({"x": 1})
    with (
        pytest.raises(
            MethodRefusal,
            match=r"^udut divides by .* of 'random_chain_2' that is zero for all values of "
            r"link0.mass; use",
        ),
        changing.place_of_errors(derivation),
    ):
        derivation.divide(derivation.one, derivation.zero)
    with pytest.raises(derive.DivisionByZero), plain.place_of_errors(derivation):
        derivation.divide(derivation.one, derivation.zero)
