"""Gains at run time pull open loops together: against the reference beside the loops, the residual, and the decay promised."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.certificate import checked_floors
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
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.verification.truth import Truth
from symgen.vocabulary import derivatives
from symgen.vocabulary.options import ProgramOptions, TextOptions
from tests.shared.looped import arms, bennett

FUNCTION = "constrained_forward_dynamics"
PULLED = ProgramOptions(baumgarte=True)
BESIDE = ("constraint_jacobian", "constraint_bias", "constraint_residual")
FACTORED = [name for name in methods.names() if methods.find(name).factor is not None]


def four_bar() -> Mechanism:
    return symgen.load("four_bar")


def error(robot: Mechanism, function: str = FUNCTION, method: str | None = "riccati") -> float:
    """How far a function with gains is from the reference beside the loops, relative to its answer."""
    return check_algebra(
        build_program(robot, function, method, PULLED), Truth(robot, 2, 5, baumgarte=True), function
    ).error


@pytest.mark.parametrize("kind", ["distance", "soft_finger", "weld"])
def test_every_kind_of_row_is_pulled_as_the_reference_pulls_it(kind: str) -> None:
    assert error(arms(kind)) < 1e-40


@pytest.mark.parametrize("method", FACTORED)
def test_whoever_takes_m_apart_pulls(method: str) -> None:
    if methods.find(method).refusal(four_bar()) is None:
        assert error(four_bar(), method=method) < 1e-40


@pytest.mark.parametrize("robot", ["four_bar", "slider_crank"])
def test_arms_that_hold_an_object_are_pulled_by_their_own_recursion(robot: str) -> None:
    assert error(symgen.load(robot), method="riccati:grasps") < 1e-40


def test_of_redundant_rows_the_damped_solve_is_the_references() -> None:
    """Beside the loops of Bennett's linkage its five rows ask for more than any acceleration gives."""
    assert error(bennett()) < 1e-40


@pytest.mark.parametrize("mode", [*derivatives.MODES, "jacobian(gains)", "hvp(v,gains)"])
def test_pulled_dynamics_have_their_derivatives(mode: str) -> None:
    assert error(four_bar(), f"{FUNCTION}:{mode}") < 1e-40


def test_states_are_open_and_opening() -> None:
    truth = Truth(four_bar(), 6, 5, baumgarte=True)
    given, kept = truth.arguments(FUNCTION, truth.floats), assemble(truth.mechanism).kept
    C, A = (
        closing.residual(truth.rough, kept, given["q"]),
        closing.jacobian(truth.rough, kept, given["q"]),
    )
    assert (np.abs(C).max(axis=-1) > 1e-3).all()
    assert (np.abs((A @ given["v"][..., None])[..., 0]).max(axis=-1) > 1e-2).all()
    assert (given["gains"] > 0).all()


def test_without_gains_on_the_loops_nothing_is_pulled() -> None:
    """With gains of any size as well: there C and A v are zero."""
    robot, scalars = four_bar(), arb(100)
    found = closed_states(robot, assemble(robot), 2, 3)
    given = {name: scalars.array(values) for name, values in found.items()} | {
        "tau": scalars.array(found["v"])
    }
    wanted = scalar_runner(scalars, program(robot, FUNCTION))(given)
    for gains in ((0, 0), (400, 40)):
        own = scalar_runner(scalars, build_program(robot, FUNCTION, None, PULLED))(
            given | {"gains": scalars.array(np.array([gains] * 2))}
        )
        with scalars.working():
            assert all(np.abs(own[name] - wanted[name]).max() < 1e-80 for name in wanted)


def test_without_the_option_there_is_no_such_argument() -> None:
    plain = program("four_bar", FUNCTION)
    assert [port.name for port in plain.inputs] == ["q", "v", "tau"]
    assert [
        port.name
        for port in program("four_bar", FUNCTION, baumgarte=True, payload="coupler").inputs
    ] == ["q", "v", "tau", "payload", "gains"]
    assert (
        program("four_bar", "mass_matrix", baumgarte=True).rows
        == program("four_bar", "mass_matrix").rows
    )


# -- the decay that is promised ----------------------------------------------------------------------------------------------


def decayed(C: Array, rate: Array, gains: tuple[float, float], t: float) -> Array:
    """C(t) of C̈ + K_d Ċ + K_p C = 0."""
    p, d = gains
    roots = np.roots([1.0, d, p]).astype(complex)
    weights = np.linalg.solve(
        np.vander(roots, increasing=True).T, np.array([C, rate], dtype=complex)
    )
    return np.asarray((weights * np.exp(roots * t)[:, None]).sum(axis=0).real)


@pytest.mark.parametrize("gains", [(400.0, 50.0), (400.0, 10.0)], ids=["over", "under"])
def test_an_opened_loop_closes_as_the_linear_equation_says(gains: tuple[float, float]) -> None:
    """By the classical step of order 4: what is off falls by 16 where the step is halved."""
    solver = symgen.compile("four_bar", [FUNCTION, *BESIDE], baumgarte=True)
    start, rates, t = np.array([1.3, -0.8, 2.1]), np.array([1.0, -0.5, 0.7]), 0.25
    opening = solver.constraint_jacobian(start) @ rates
    wanted = decayed(solver.constraint_residual(start), opening, gains, t)

    def slope(state: Array) -> Array:
        return np.concatenate(
            [
                state[3:],
                solver.constrained_forward_dynamics(state[:3], state[3:], np.ones(3), gains)[0],
            ]
        )

    off = []
    for steps in (40, 80):
        state, h = np.concatenate([start, rates]), t / steps
        for _ in range(steps):
            k1 = slope(state)
            k2 = slope(state + h / 2 * k1)
            k3 = slope(state + h / 2 * k2)
            state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(state + h * k3))
        off.append(float(np.abs(solver.constraint_residual(state[:3]) - wanted).max()))
    assert np.abs(solver.constraint_residual(start)).max() > 0.02
    assert np.abs(wanted).max() > 1e-3
    assert off[0] < 1e-6
    assert 12 < off[0] / off[1] < 20


# -- planted errors ----------------------------------------------------------------------------------------------------------


def bent(one: Program, row: int) -> Program:
    rows = list(one.rows)
    rows[row] = rows[row]._replace(op={"add": "sub", "sub": "add"}[rows[row].op])
    return replace(one, rows=tuple(rows))


def swapped(one: Program) -> Program:
    """K_p for K_d."""
    place = [port.name for port in one.inputs].index("gains")
    return replace(
        one,
        rows=tuple(
            row._replace(value=(place, 1 - row.value[1]))
            if row.op == "input" and row.value[0] == place
            else row
            for row in one.rows
        ),
    )


def unfelt(which: int) -> Callable[[Program], Program]:
    """One of the gains is zero."""

    def change(one: Program) -> Program:
        place = [port.name for port in one.inputs].index("gains")
        return replace(
            one,
            rows=tuple(
                row._replace(op="const", value=0)
                if row.op == "input" and row.value == (place, which)
                else row
                for row in one.rows
            ),
        )

    return change


def test_a_wrong_sign_in_any_sum_is_caught() -> None:
    one, truth = (
        build_program(four_bar(), FUNCTION, None, PULLED),
        Truth(four_bar(), 2, 5, baumgarte=True),
    )
    places = [i for i, row in enumerate(one.rows) if row.op in ("add", "sub")]
    assert len(places) > 50
    assert all(not check_algebra(bent(one, i), truth, FUNCTION).passed for i in places)


@pytest.mark.parametrize(
    "plant", [swapped, unfelt(0), unfelt(1)], ids=["swapped", "no K_p", "no K_d"]
)
def test_gains_that_do_something_else_are_seen(plant: Callable[[Program], Program]) -> None:
    """By the reference, and by the residual, which needs none."""
    robot = four_bar()
    there = {name: build_program(robot, name, None, PULLED) for name in (FUNCTION, *BESIDE)}
    assert verify_programs(Subject(robot, there, PULLED, states=2, compiled=False)).passed
    found = verify_programs(
        Subject(
            robot, {**there, FUNCTION: plant(there[FUNCTION])}, PULLED, states=2, compiled=False
        )
    )
    failed = {one.subject for one in found.checks if not one.passed}
    assert "A a + γ + K_d A v + K_p C = 0" in failed
    assert not check_algebra(
        plant(there[FUNCTION]), Truth(robot, 2, 5, baumgarte=True), FUNCTION
    ).passed


def test_floors_of_redundant_forces_are_those_beside_the_loops() -> None:
    """What the forces feel is told by A as it is there: that of closed loops is no row of the elimination."""
    robot = symgen.load("bennett")
    one = build_program(robot, FUNCTION, None, PULLED)
    floors = checked_floors(robot, {FUNCTION: one}, PULLED, TextOptions(checked=True))[FUNCTION]
    assert any(one.rows[row].name.startswith("S_") for row in floors)


# -- delivered, and refused --------------------------------------------------------------------------------------------------


def test_a_folder_holds_the_gains_as_any_other_argument(tmp_path: Path) -> None:
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


def test_what_cannot_be_pulled_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
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
