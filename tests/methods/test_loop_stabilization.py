"""Baumgarte stabilization of closed loops: the reference at open states, the residual, and the rate
of decay.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.certificate import checked_bounds
from symgen.cli import main
from symgen.ir.program import Program
from symgen.machine.compilers import find_compiler
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.build import build_program, program
from symgen.reference import closing
from symgen.reference.assembling import assemble, closed_states
from symgen.reference.precision import Array, arb
from symgen.support.errors import ArgumentError, RequestError
from symgen.verification.algebra import check_algebra
from symgen.verification.evaluating import scalar_runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary import derivatives
from symgen.vocabulary.options import ProgramOptions, TextOptions
from tests.shared.looped import arms, bennett

FUNCTION = "constrained_forward_dynamics"
STABILIZED = ProgramOptions(baumgarte=True)
CONSTRAINT_FUNCTIONS = ("constraint_jacobian", "constraint_bias", "constraint_residual")
FACTORED = [name for name in methods.names() if methods.find(name).factor is not None]


def four_bar() -> Mechanism:
    return symgen.load("four_bar")


def error(robot: Mechanism, function: str = FUNCTION, method: str | None = "riccati") -> float:
    """Return the relative error of a function with gains against the reference, at states with open
    loops.
    """
    return check_algebra(
        build_program(robot, function, method, STABILIZED),
        ExactResults(robot, 2, 5, baumgarte=True),
        function,
    ).error


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["distance", "soft_finger", "weld"])
def test_stabilization_of_every_kind_of_row_equals_the_reference(kind: str) -> None:
    assert error(arms(kind)) < 1e-40


@pytest.mark.parametrize("method", FACTORED)
def test_every_method_with_a_factor_stabilizes_loops(method: str) -> None:
    if methods.find(method).refusal(four_bar()) is None:
        assert error(four_bar(), method=method) < 1e-40


@pytest.mark.parametrize("robot", ["four_bar", "slider_crank"])
def test_stabilization_by_riccati_grasps_equals_the_reference(robot: str) -> None:
    assert error(symgen.load(robot), method="riccati:grasps") < 1e-40


@pytest.mark.slow
def test_stabilization_of_redundant_rows_equals_the_reference() -> None:
    """At open states, no acceleration satisfies all five rows of Bennett's linkage."""
    assert error(bennett()) < 1e-40


@pytest.mark.parametrize("mode", [*derivatives.MODES, "jacobian(gains)", "hvp(v,gains)"])
def test_derivatives_of_stabilized_dynamics_equal_the_reference(mode: str) -> None:
    assert error(four_bar(), f"{FUNCTION}:{mode}") < 1e-40


def test_random_states_have_open_loops_and_nonzero_rates() -> None:
    exact_results = ExactResults(four_bar(), 6, 5, baumgarte=True)
    states, kept_rows = (
        exact_results.arguments(FUNCTION, exact_results.floats),
        assemble(exact_results.mechanism).kept,
    )
    C, A = (
        closing.residual(exact_results.rough, kept_rows, states["q"]),
        closing.jacobian(exact_results.rough, kept_rows, states["q"]),
    )
    assert (np.abs(C).max(axis=-1) > 1e-3).all()
    assert (np.abs((A @ states["v"][..., None])[..., 0]).max(axis=-1) > 1e-2).all()
    assert (states["gains"] > 0).all()


def test_gains_have_no_effect_at_closed_states() -> None:
    """At closed states C and A v are zero, so gains of any size have no effect."""
    robot, scalars = four_bar(), arb(100)
    states = closed_states(robot, assemble(robot), 2, 3)
    inputs = {name: scalars.array(values) for name, values in states.items()} | {
        "tau": scalars.array(states["v"])
    }
    expected = scalar_runner(scalars, program(robot, FUNCTION))(inputs)
    for gains in ((0, 0), (400, 40)):
        stabilized = scalar_runner(scalars, build_program(robot, FUNCTION, None, STABILIZED))(
            inputs | {"gains": scalars.array(np.array([gains] * 2))}
        )
        with scalars.working():
            assert all(np.abs(stabilized[name] - expected[name]).max() < 1e-80 for name in expected)


def test_without_the_option_there_is_no_argument_of_gains() -> None:
    unstabilized = program("four_bar", FUNCTION)
    assert [port.name for port in unstabilized.inputs] == ["q", "v", "tau"]
    assert [
        port.name
        for port in program("four_bar", FUNCTION, baumgarte=True, payload="coupler").inputs
    ] == ["q", "v", "tau", "payload", "gains"]
    assert (
        program("four_bar", "mass_matrix", baumgarte=True).rows
        == program("four_bar", "mass_matrix").rows
    )


# -- decay of the residual -------------------------------------------------------------------------


def decayed_residual(C: Array, rate: Array, gains: tuple[float, float], t: float) -> Array:
    """Return C(t) of C̈ + K_d Ċ + K_p C = 0."""
    p, d = gains
    roots = np.roots([1.0, d, p]).astype(complex)
    weights = np.linalg.solve(
        np.vander(roots, increasing=True).T, np.array([C, rate], dtype=complex)
    )
    return np.asarray((weights * np.exp(roots * t)[:, None]).sum(axis=0).real)


@pytest.mark.parametrize("gains", [(400.0, 50.0), (400.0, 10.0)], ids=["over", "under"])
def test_the_residual_of_an_open_loop_decays_as_the_linear_equation(
    gains: tuple[float, float],
) -> None:
    """With the classical Runge-Kutta method of order 4, halving the step divides the error by about
    16.
    """
    solver = symgen.compile("four_bar", [FUNCTION, *CONSTRAINT_FUNCTIONS], baumgarte=True)
    start, rates, t = np.array([1.3, -0.8, 2.1]), np.array([1.0, -0.5, 0.7]), 0.25
    opening = solver.constraint_jacobian(start) @ rates
    expected = decayed_residual(solver.constraint_residual(start), opening, gains, t)

    def slope(state: Array) -> Array:
        return np.concatenate(
            [
                state[3:],
                solver.constrained_forward_dynamics(state[:3], state[3:], np.ones(3), gains)[0],
            ]
        )

    errors = []
    for steps in (40, 80):
        state, h = np.concatenate([start, rates]), t / steps
        for _ in range(steps):
            k1 = slope(state)
            k2 = slope(state + h / 2 * k1)
            k3 = slope(state + h / 2 * k2)
            state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(state + h * k3))
        errors.append(float(np.abs(solver.constraint_residual(state[:3]) - expected).max()))
    assert np.abs(solver.constraint_residual(start)).max() > 0.02
    assert np.abs(expected).max() > 1e-3
    assert errors[0] < 1e-6
    assert 12 < errors[0] / errors[1] < 20


# -- planted errors --------------------------------------------------------------------------------


def sign_changed(correct: Program, row: int) -> Program:
    rows = list(correct.rows)
    rows[row] = rows[row]._replace(op={"add": "sub", "sub": "add"}[rows[row].op])
    return replace(correct, rows=tuple(rows))


def gains_swapped(correct: Program) -> Program:
    """Plant an error: exchange K_p and K_d."""
    index = [port.name for port in correct.inputs].index("gains")
    return replace(
        correct,
        rows=tuple(
            row._replace(value=(index, 1 - row.value[1]))
            if row.op == "input" and row.value[0] == index
            else row
            for row in correct.rows
        ),
    )


def gain_ignored(entry: int) -> Callable[[Program], Program]:
    """Return a planted error that sets one of the gains to zero."""

    def change(correct: Program) -> Program:
        index = [port.name for port in correct.inputs].index("gains")
        return replace(
            correct,
            rows=tuple(
                row._replace(op="const", value=0)
                if row.op == "input" and row.value == (index, entry)
                else row
                for row in correct.rows
            ),
        )

    return change


def test_a_wrong_sign_in_any_sum_is_caught() -> None:
    correct, exact_results = (
        build_program(four_bar(), FUNCTION, None, STABILIZED),
        ExactResults(four_bar(), 2, 5, baumgarte=True),
    )
    sums = [i for i, row in enumerate(correct.rows) if row.op in ("add", "sub")]
    assert len(sums) > 50
    assert all(
        not check_algebra(sign_changed(correct, i), exact_results, FUNCTION).passed for i in sums
    )


@pytest.mark.parametrize(
    "plant", [gains_swapped, gain_ignored(0), gain_ignored(1)], ids=["swapped", "no K_p", "no K_d"]
)
def test_wrong_gains_are_caught_by_the_reference_and_the_residual(
    plant: Callable[[Program], Program],
) -> None:
    """The comparison with the reference and the identity of the residual both fail."""
    robot = four_bar()
    programs = {
        name: build_program(robot, name, None, STABILIZED)
        for name in (FUNCTION, *CONSTRAINT_FUNCTIONS)
    }
    assert verify_programs(Subject(robot, programs, STABILIZED, states=2, compiled=False)).passed
    report = verify_programs(
        Subject(
            robot,
            {**programs, FUNCTION: plant(programs[FUNCTION])},
            STABILIZED,
            states=2,
            compiled=False,
        )
    )
    failed = {check.subject for check in report.checks if not check.passed}
    assert "A a + γ + K_d A v + K_p C = 0" in failed
    assert not check_algebra(
        plant(programs[FUNCTION]), ExactResults(robot, 2, 5, baumgarte=True), FUNCTION
    ).passed


@pytest.mark.slow
def test_redundant_rows_have_lower_bounds_of_pivots_at_open_states() -> None:
    """Lower bounds exist for pivots of A M⁻¹ Aᵀ at open states, which differ from those of closed
    states.
    """
    robot = symgen.load("bennett")
    dynamics = build_program(robot, FUNCTION, None, STABILIZED)
    divisor_bounds = checked_bounds(
        robot, {FUNCTION: dynamics}, STABILIZED, TextOptions(checked=True)
    )[FUNCTION]
    assert any(dynamics.rows[row].name.startswith("S_") for row in divisor_bounds)


# -- folders and refusals --------------------------------------------------------------------------


@pytest.mark.slow
def test_a_folder_with_gains_as_an_argument_verifies(tmp_path: Path) -> None:
    out = tmp_path / "folder"
    manifest = symgen.generate(
        "four_bar",
        out,
        [FUNCTION, f"{FUNCTION}:jvp"],
        baumgarte=True,
        batch=True,
        checked=True,
        wrap=("cpp17", "casadi", "cuda"),
    )
    assert manifest["options"]["baumgarte"] is True
    assert manifest["functions"][FUNCTION]["arguments"][-1] == {"name": "gains", "shape": [2]}
    readme, header = ((out / name).read_text() for name in ("README.md", "four_bar.h"))
    assert "--baumgarte" in readme
    assert "C'' + K_d C' + K_p C = 0" in readme
    assert "K_p (1/s^2) and K_d (1/s)" in header
    assert symgen.verify(out, states=2, compiled=False).passed
    sources = [str(path) for path in sorted(out.glob("*.c")) if not path.name.endswith("casadi.c")]
    subprocess.run(
        [
            *find_compiler(),
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            "-ffp-contract=off",
            "-Dfour_bar_SELFTEST",
            *sources,
            "-lm",
            "-o",
            str(tmp_path / "selftest"),
        ],
        check=True,
    )
    assert (
        subprocess.run([str(tmp_path / "selftest")], capture_output=True, check=False).returncode
        == 0
    )


def test_robots_and_methods_without_stabilization_refuse_it_in_one_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(
        ArgumentError,
        match="'scara' has no closed loops, which --baumgarte stabilizes; leave --baumgarte out",
    ):
        program("scara", "mass_matrix", baumgarte=True)
    with pytest.raises(ArgumentError, match=r"no argument .gains. here; request it with baumgarte"):
        program("four_bar", f"{FUNCTION}:jvp(gains)")
    with pytest.raises(RequestError, match="riccati:grasps is for arms that hold one object"):
        program("bennett", FUNCTION, "riccati:grasps", baumgarte=True)
    assert main(["verify", "scara", "--baumgarte", "-f", "mass_matrix"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
