"""Closed loops: A, γ, C and the constraint forces, for every kind of closing joint, against the
reference at closed states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.delivery import writing
from symgen.derivation import constants
from symgen.derivation.closing import closings
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import reframe
from symgen.derivation.scalars import Derivation
from symgen.ir.program import Program
from symgen.mechanism.closed_loops import End, Loop
from symgen.mechanism.closures import Unspun, closure, closures
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.methods.shared import closures as closures_of_links
from symgen.methods.shared import constrained
from symgen.pipeline.build import program
from symgen.pipeline.layout import PLAIN, Layout
from symgen.pipeline.loop_closure import assembly
from symgen.reference import closing, minimum_norm
from symgen.reference.assembling import (
    PATIENCE,
    TURNS,
    assemble,
    closed_states,
    gauss_newton,
)
from symgen.reference.integrate import integrate
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, Array, arb
from symgen.support.errors import ArgumentError, OutOfReach, RequestError
from symgen.verification.algebra import check_algebra
from symgen.verification.evaluating import machine_runner, scalar_runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.proof import prove, prove_programs
from symgen.vocabulary import derivatives, functions
from symgen.vocabulary.functions import CLOSED, FUNCTIONS, LOOP_FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import X_AXIS, Angle, Shift, Turn
from tests.shared.bent_loops import bent
from tests.shared.inspected import numbers
from tests.shared.looped import arms, bennett, doubled
from tests.shared.robots_for_tests import BALLS, draw, run

KINDS = closures()
FACTORED = [name for name in methods.names() if methods.find(name).factor is not None]
ALL = tuple(LOOP_FUNCTIONS)


def errors(
    robot: Mechanism, functions: tuple[str, ...] = ALL, method: str = "riccati", count: int = 2
) -> dict[str, float]:
    """Return the relative error of each function against the reference.

    `method` computes the functions that need M⁻¹.
    """
    exact_results = ExactResults(robot, count, 5)
    method_of = {name: method if FUNCTIONS[name].needs_inverse else None for name in functions}
    return {
        name: check_algebra(program(robot, name, method_of[name]), exact_results, name).error
        for name in functions
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_closing_joint_equals_the_reference_to_forty_digits(kind: str) -> None:
    assert max(errors(arms(kind)).values()) < 1e-40


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "trunk"), [("revolute", False), ("universal", True)])
def test_loops_with_joints_of_several_degrees_and_free_bases_equal_the_reference(
    kind: str, trunk: bool
) -> None:
    joints = ("spherical", "revolute")
    robot = arms(kind, joints, trunk, "free" if trunk else "fixed")
    assert (
        max(
            errors(
                robot, ("constraint_jacobian", "constraint_bias", "constraint_residual")
            ).values()
        )
        < 1e-40
    )


@pytest.mark.slow
def test_loops_that_end_on_the_base_equal_the_reference() -> None:
    robot = arms("distance")
    (loop,) = robot.loops
    end = End(-1, (Shift((Fraction(0), Fraction(3, 10), Fraction(4, 5))),))
    for on_base in (replace(loop, first=end), replace(loop, second=end)):
        assert max(errors(replace(robot, loops=(on_base,))).values()) < 1e-40


@pytest.mark.parametrize("method", FACTORED)
def test_every_method_with_a_factor_solves_closed_loops(method: str) -> None:
    robot = symgen.load("four_bar")
    if methods.find(method).refusal(robot) is None:
        assert (
            max(
                errors(
                    robot, ("constrained_forward_dynamics", "constraint_impulse"), method
                ).values()
            )
            < 1e-40
        )


def test_loops_with_mimic_joints_equal_the_reference() -> None:
    text = """
        name = "tongs"
        mimic = "couple"
        [[body]]
        name = "a"
        parent = "base"
        joint = { name = "ja", type = "revolute", axis = [0, 0, 1] }
        mass = 1
        inertia = [0.1, 0, 0, 0.2, 0, 0.3]
        [[body]]
        name = "b"
        parent = "a"
        mass = 2
        centre = [0.1, 0.2, 0]
        inertia = [0.1, 0, 0, 0.2, 0, 0.3]
        [body.joint]
        name = "jb"
        type = "revolute"
        axis = [0, 0, 1]
        xyz = [0.5, 0, 0]
        mimic = { joint = "ja", multiplier = -0.5 }
        [[body]]
        name = "c"
        parent = "b"
        joint = { name = "jc", type = "revolute", axis = [0, 0, 1], xyz = [0.5, 0.1, 0] }
        mass = 1
        inertia = [0.1, 0, 0, 0.1, 0, 0.1]
        [[loop]]
        type = "distance"
        first = { link = "base", xyz = [0.2, 0.9, 0] }
        second = { link = "c", xyz = [0.3, 0, 0] }
        distance = 0.7
    """
    assert max(errors(symgen.load(text), method="composite_body").values()) < 1e-40


@pytest.mark.parametrize("mode", derivatives.MODES)
def test_derivatives_of_constrained_dynamics_equal_the_reference(mode: str) -> None:
    """Steps may open the loops: A is the first derivative of C along the step, and the second stays
    zero.
    """
    assert (
        max(errors(symgen.load("four_bar"), (f"constrained_forward_dynamics:{mode}",)).values())
        < 1e-40
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["universal", "weld", "distance", "soft_finger"])
def test_derivatives_of_every_kind_of_closing_joint_equal_the_reference(kind: str) -> None:
    functions = (
        "constrained_forward_dynamics:jvp",
        "constraint_bias:jacobian",
        "constraint_jacobian:jvp",
    )
    assert max(errors(arms(kind), functions).values()) < 1e-40


@pytest.mark.slow
def test_derivatives_with_redundant_rows_equal_the_reference() -> None:
    assert max(errors(bennett(), ("constrained_forward_dynamics:jvp",)).values()) < 1e-40


@pytest.mark.slow
def test_derivatives_by_the_solved_equation_are_cheaper_than_by_the_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    robot = replace(symgen.load("four_bar"), name="again")
    by_equation = program(robot, "constrained_forward_dynamics:jacobian").cost
    name = "constrained_forward_dynamics"
    unsolved = replace(functions.LOOP_FUNCTIONS[name], solves=None)
    monkeypatch.setitem(functions._UNLISTED, name, unsolved)
    assert (
        by_equation
        < program(replace(robot, name="anew"), "constrained_forward_dynamics:jacobian").cost
    )


# -- the reference itself --------------------------------------------------------------------------


def reference_at_closed_states(robot: Mechanism, count: int = 2) -> tuple[Reference, Array, Array]:
    """Return the reference in 100 digits, with q and v of closed states."""
    scalars = arb(100)
    reference, states = Reference(robot, scalars), closed_states(robot, assemble(robot), count, 3)
    return reference, scalars.array(states["q"]), scalars.array(states["v"])


@pytest.mark.parametrize("kind", KINDS)
def test_closed_states_satisfy_the_constraints_and_differ(kind: str) -> None:
    reference, q, v = reference_at_closed_states(arms(kind))
    kept_rows = assemble(reference.mechanism).kept
    with reference.scalars.working():
        assert np.abs(closing.residual(reference, None, q)).max() < 1e-90
        assert np.abs(closing.rows(reference, kept_rows, q, v, 0 * v)[1]).max() < 1e-90
    assert len({tuple(row) for row in q.astype(float)}) == len(q)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind == "soft_finger" else pytest.mark.slow) for kind in KINDS],
)
def test_closed_states_do_not_depend_on_the_rounding_of_linear_algebra(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries of linear algebra round differently on other processors; the states are equal."""
    robot = arms(kind)
    expected = closed_states(robot, assemble(robot), 2, 3)
    lstsq, pinv = np.linalg.lstsq, np.linalg.pinv
    monkeypatch.setattr(
        np.linalg,
        "lstsq",
        lambda *arguments, **options: (lstsq(*arguments, **options)[0] * (1 + 1e-12), None),
    )
    monkeypatch.setattr(
        np.linalg, "pinv", lambda *arguments, **options: pinv(*arguments, **options) * (1 + 1e-12)
    )
    states = closed_states.__wrapped__(robot, assemble(robot), 2, 3)
    for name in ("q", "v"):
        assert np.abs(states[name] - expected[name]).max() < Fraction(1, 10**100), name


@pytest.mark.parametrize("kind", KINDS)
def test_constraint_rows_and_bias_are_derivatives_of_the_residual(kind: str) -> None:
    """A v is the first derivative of C along v, and γ follows from the second, for rows of
    positions.

    The comparison uses central differences and no formula of the derivation.
    """
    reference, q, v = reference_at_closed_states(arms(kind), 1)
    rows = closure(kind).rows
    holonomic = [k for k, row in enumerate(rows) if not isinstance(row, Unspun)]
    with reference.scalars.working():
        h, zero = reference.scalars.constant(Fraction(1, 10**25)), reference.scalars.array([0])
        up, down = (
            closing.residual(reference, None, integrate(reference, q, v, zero + s)) for s in (h, -h)
        )
        first, middle, second = closing.rows(reference, None, q, v, 0 * v)
        assert np.abs((up - down) / (2 * h) - middle)[:, holonomic].max() < 1e-45
        assert np.abs((up - 2 * first + down) / (h * h) - 2 * second)[:, holonomic].max() < 1e-20
        assert (
            np.abs((closing.jacobian(reference, None, q) @ v[..., None])[..., 0] - middle).max()
            < 1e-80
        )


@pytest.mark.parametrize(
    ("kind", "axes"),
    [
        ("revolute", "axis = [0, 0, 1]"),
        ("prismatic", "axis = [0, 0, 1]"),
        ("cylindrical", "axis = [0, 0, 1]"),
        ("spherical", ""),
        ("universal", "axes = [[1, 0, 0], [0, 1, 0]]"),
    ],
)
def test_a_closing_joint_permits_every_motion_of_the_tree_joint_of_its_kind(
    kind: str, axes: str
) -> None:
    """A loop closure between the two links of an equal joint has no residual in any position."""
    robot = symgen.load(
        'name = "hinged"\n[[body]]\nname = "head"\nparent = "base"\n'
        "mass = 1\ncentre = [0.1, 0.2, 0.3]\n"
        f'inertia = [1, 0, 0, 1, 0, 1]\n[body.joint]\ntype = "{kind}"\n{axes}\n'
    )
    loop = Loop("equal", kind, End(BASE), End(len(robot.joints) - 1))
    q = np.random.default_rng(1).uniform(-3, 3, (20, robot.nq))
    if kind == "spherical":
        q /= np.linalg.norm(q, axis=-1)[:, None]
    (residual,) = closing.rows(Motion(robot, FLOAT), None, q, loops=(loop,))
    assert residual.shape == (20, len(closure(kind).rows))
    assert np.abs(residual).max() < 1e-14


def test_a_soft_finger_has_no_spin_about_its_normal() -> None:
    """The relative angular velocity of the two frames, by the Jacobians of their links, has no
    component along the axis.
    """
    robot = arms("soft_finger")
    reference, q, v = reference_at_closed_states(robot, 1)
    loop = robot.loops[0]
    with reference.scalars.working():
        placements = reference.placements(q)
        spins = []
        for end in (loop.first, loop.second):
            angular, _ = reference.columns(end.body, placements[end.body].shift[0], placements)
            spins.append((angular @ v[:, reference.supports[end.body]][..., None])[..., 0])
        axis = (placements[loop.first.body].turn[0] @ reference.pose(loop.first.pose)[0])[..., 2]
        assert abs((axis * (spins[1] - spins[0])).sum()) < 1e-80


def test_a_loop_that_closes_with_a_frame_rotated_by_half_a_turn_is_refused() -> None:
    """All constraint rows of a weld also vanish if one frame is rotated by half a turn."""
    robot = symgen.load("four_bar")
    (loop,) = robot.loops
    flipped = replace(loop, second=End(2, (*loop.second.pose, Turn(X_AXIS, Angle(pi=Fraction(1))))))
    with pytest.raises(OutOfReach, match="close only with one frame turned by half a turn"):
        assembly(replace(robot, loops=(flipped,)))


@pytest.mark.parametrize("kind", ["four_bar", "universal"])
def test_inspected_quantities_of_loops_equal_the_reference(kind: str) -> None:
    robot = arms(kind) if kind in KINDS else symgen.load(kind)
    reference, q, v = reference_at_closed_states(robot, 1)
    kept_rows = assemble(robot).kept
    with reference.scalars.working():
        A = closing.jacobian(reference, kept_rows, q)
        expected = {
            "A_loops": A[0],
            "gamma": closing.bias(reference, kept_rows, q, v)[0][:, None],
            "C_loops": 0 * A[0][:, :1],
            "S_loops": A[0]
            @ reference.scalars.solve(reference.mass_matrix(q), np.swapaxes(A, -1, -2))[0],
        }
        for letter, exact in expected.items():
            state = {"q": q[0], "v": v[0]} if letter == "gamma" else {"q": q[0]}
            actual = numbers(
                robot, letter, "composite_body" if letter == "S_loops" else "kinematics", state
            )
            assert np.abs(actual - exact).max() < 1e-40, letter


# -- rows of the derivation alone ------------------------------------------------------------------


def rows_of(robot: Mechanism, may_be_open: bool, layout: Layout = PLAIN) -> Program:
    """Return A, γ, γ with gains, and C of all rows of all loops."""
    with constants.precision():
        derivation = Derivation({"q": robot.nq, "v": robot.nv, "gains": 2})
        linkage = Linkage(layout.lay(reframe(robot)), derivation)
        every_row = [tuple(range(len(loop.type.rows))) for loop in robot.loops]
        linkage.loops = closings(linkage.model, robot, every_row, [(0, 0)] * len(every_row))
        linkage.loops_may_be_open = may_be_open
        gains = linkage.inputs.pop("gains")
        (A,), (gamma,), (C,) = (
            closures_of_links.constraint_jacobian(linkage),
            closures_of_links.constraint_bias(linkage),
            closures_of_links.constraint_residual(linkage),
        )
        linkage.inputs["gains"] = gains
        (stabilized,) = closures_of_links.constraint_bias(linkage)
        return derivation.freeze(
            "f",
            "m",
            [
                (name, (len(x),), x)
                for name, x in (("A", A), ("gamma", gamma), ("C", C), ("pulled", stabilized))
            ],
            {"q": (robot.nq,), "v": (robot.nv,), "gains": (2,)},
        )


def check_rows(program: Program, reference: Reference, q: Array, v: Array, *names: str) -> None:
    """Compare these results with the series of the reference; the gains are 3 on C and 5 on A v."""
    scalars = reference.scalars
    gains = scalars.array([[3, 5]])
    results = run(program, {"q": q, "v": v, "gains": gains}, BALLS)
    with scalars.working():
        A, gamma, C = (
            closing.jacobian(reference, None, q)[0],
            closing.bias(reference, None, q, v)[0],
            closing.residual(reference, None, q)[0],
        )
        expected = {
            "A": A.reshape(-1),
            "gamma": gamma,
            "C": C,
            "pulled": gamma + 3 * C + 5 * (A @ v[0]),
        }
        for name in names:
            assert np.abs(results[name][0] - expected[name]).max() < 1e-40, name


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_closing_joint_hold_at_closed_states(kind: str) -> None:
    reference, q, v = reference_at_closed_states(arms(kind), 1)
    program = rows_of(arms(kind), may_be_open=False)
    check_rows(program, reference, q, v, "A", "gamma", "C")


OPEN_ENDS = {
    "on a trunk": lambda kind: arms(kind),
    "on the base": lambda kind: arms(kind, trunk=False),
    "on a free trunk": lambda kind: arms(kind, ("spherical", "prismatic"), base="free"),
    "ends on the base": lambda kind: with_end_on_the_base(arms(kind), "second"),
    "begins on the base": lambda kind: with_end_on_the_base(arms(kind), "first"),
}


def with_end_on_the_base(robot: Mechanism, which: str) -> Mechanism:
    (loop,) = robot.loops
    pose = (Shift((Fraction(0), Fraction(3, 10), Fraction(4, 5))), Turn(X_AXIS, Angle(Fraction(1))))
    return replace(robot, loops=(replace(loop, **{which: End(BASE, pose)}),))


@pytest.mark.parametrize(
    ("kind", "ends"),
    [(kind, "on a trunk") for kind in KINDS]
    + [("universal", ends) for ends in OPEN_ENDS if ends != "on a trunk"]
    + [("distance", "begins on the base")],
)
def test_rows_of_every_closing_joint_hold_at_open_states(kind: str, ends: str) -> None:
    robot = OPEN_ENDS[ends](kind)
    states = draw(robot, 1, BALLS)
    program, reference = rows_of(robot, may_be_open=True), Reference(robot, BALLS)
    check_rows(program, reference, states["q"], states["v"], "A", "gamma", "C", "pulled")


@pytest.mark.parametrize("may_be_open", [False, True])
def test_rows_do_not_depend_on_shared_axes(may_be_open: bool) -> None:
    """Links with parallel axes may be written in the axes of one of them."""
    robot = symgen.load("four_bar")
    shared = Layout(((1, -1),), ((1, 0), (2, -1)))
    state = {
        "q": np.array([[0.3, -0.8, 1.1]]),
        "v": np.array([[0.4, 0.9, -0.2]]),
        "gains": np.array([[3.0, 5.0]]),
    }
    plain, in_shared_axes = (
        run(rows_of(robot, may_be_open, layout), state) for layout in (PLAIN, shared)
    )
    for name, values in plain.items():
        np.testing.assert_allclose(in_shared_axes[name], values, atol=1e-13)


def motions_of_ends(robot: Mechanism, shares_bias_sweep: bool) -> list[np.ndarray]:
    """Return the accelerations of both frames of a robot's loop that is at rest."""
    with constants.precision():
        derivation = Derivation({"q": robot.nq, "v": robot.nv})
        linkage = Linkage(reframe(robot), derivation)
        linkage.loops = closings(
            linkage.model, robot, [tuple(range(len(robot.loops[0].type.rows)))], [(0, 0)]
        )
        (loop,) = closures_of_links.closed_loops(linkage)
        ends = loop.end_motions(shares_bias_sweep)
        program = derivation.freeze(
            "f",
            "m",
            [(name, (3,), [*end.dv]) for name, end in zip(("first", "second"), ends, strict=True)],
            {"q": (robot.nq,), "v": (robot.nv,)},
        )
    q = draw(robot, 1)["q"]
    return [*run(program, {"q": q, "v": np.zeros((1, robot.nv))}).values()]


def test_gravity_enters_the_motions_of_both_ends_of_a_spatial_loop_or_of_none() -> None:
    """Planar loops leave it out even beside a bias force, whose sweep they do not share."""
    spatial, planar = arms("spherical"), symgen.load("four_bar")
    gravity = np.linalg.norm(np.array([float(x) for x in spatial.gravity]))
    assert [np.linalg.norm(x) for x in motions_of_ends(spatial, True)] == pytest.approx(
        [gravity] * 2
    )
    for robot, shares in ((spatial, False), (planar, False), (planar, True)):
        for acceleration in motions_of_ends(robot, shares):
            np.testing.assert_allclose(acceleration, 0, atol=1e-12)
    crank, coupler, rocker = planar.joints
    out_of_plane = replace(planar, joints=(crank, replace(coupler, axis=X_AXIS), rocker))
    assert max(np.abs(x).max() for x in motions_of_ends(out_of_plane, True)) > 1


# -- redundant rows --------------------------------------------------------------------------------


def test_constraint_rows_that_are_always_zero_are_removed() -> None:
    closed = assembly(symgen.load("four_bar"))
    assert (closed.kept, closed.rank, closed.redundant) == (((0, 1),), 2, 0)


@pytest.mark.slow
def test_redundant_loops_share_the_minimum_norm_force() -> None:
    """In a loop that is closed twice, each joint takes half of the force, and the accelerations do
    not change.
    """
    robot, single = doubled(symgen.load("four_bar")), symgen.load("four_bar")
    assert assembly(robot).redundant == 2
    assert (
        max(errors(robot, ("constrained_forward_dynamics", "constraint_impulse")).values()) < 1e-40
    )
    reference, q, v = reference_at_closed_states(single)
    states = {"q": q, "v": v, "tau": v}
    doubled_results, single_results = (
        scalar_runner(reference.scalars, program(mechanism, "constrained_forward_dynamics"))(states)
        for mechanism in (robot, single)
    )
    with reference.scalars.working():
        assert np.abs(doubled_results["a"] - single_results["a"]).max() < 1e-15
        assert (
            np.abs(
                2 * doubled_results["lambda"]
                - np.concatenate([single_results["lambda"], single_results["lambda"]], axis=-1)
            ).max()
            < 1e-14
        )


def round_off(compiled_program: Program, robot: Mechanism, result: str) -> float:
    """Return the round-off of a result at closed states, relative to the largest entry of each
    state.
    """
    states = closed_states(robot, assemble(robot), 4, 1)
    inputs = {
        "q": states["q"].astype(float),
        "v": states["v"].astype(float),
        "tau": np.array([[1.0, -2.0, 3.0]] * 4),
    }
    scalars = arb(80)
    exact = scalar_runner(scalars, compiled_program)(
        {name: scalars.array(values) for name, values in inputs.items()}
    )[result].astype(float)
    return float(
        (
            np.abs(machine_runner(compiled_program)(inputs)[result] - exact).max(axis=1)
            / np.abs(exact).max(axis=1)
        ).max()
    )


@pytest.mark.parametrize(
    ("robot", "rank", "rows"),
    [
        (bennett, 2, 5),
        (lambda: doubled(symgen.load("four_bar")), 2, 4),  # each row appears twice
        (
            lambda: doubled(symgen.load("four_bar"), turned=True),
            2,
            4,
        ),  # in other axes, so that no row appears twice
    ],
)
def test_redundant_rows_cost_the_accelerations_no_digits(
    robot: Callable[[], Mechanism], rank: int, rows: int
) -> None:
    """The distribution of a force over redundant rows has fewer digits than the accelerations."""
    dynamics = program(robot(), "constrained_forward_dynamics")
    assert (assembly(robot()).rank, assembly(robot()).rows) == (rank, rows)
    assert round_off(dynamics, robot(), "a") < 1e-14
    assert round_off(dynamics, robot(), "lambda") < 1e-7


def test_sharing_equal_forces_would_cost_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """If equal forces share one row of the Program, their round-off no longer cancels."""
    robot = replace(doubled(symgen.load("four_bar")), name="shared")
    monkeypatch.setattr(Derivation, "opaque_one", lambda self: self.one)
    assert round_off(program(robot, "constrained_forward_dynamics", "riccati"), robot, "a") > 1e-13


# -- refused robots --------------------------------------------------------------------------------


def with_rocker(length: str) -> Mechanism:
    robot = symgen.load("four_bar")
    (loop,) = robot.loops
    return replace(
        robot,
        loops=(
            replace(loop, second=End(2, (Shift((Fraction(length), Fraction(0), Fraction(0))),))),
        ),
    )


def test_steps_end_soon_after_the_residual_stops_decreasing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rocker is too short for the loop: the steps settle at the nearest position."""
    residuals: list[float] = []

    def residual(*arguments: Any) -> Array:
        C = original(*arguments)
        residuals.append(float(np.abs(C).max()))
        return C

    original = closing.residual
    monkeypatch.setattr(closing, "residual", residual)
    gauss_newton(Motion(with_rocker("0.02"), FLOAT), None, np.array([1.5, -0.9, 2.2]))
    assert min(residuals) > 0.01
    assert PATIENCE < len(residuals) < TURNS / 4


@pytest.mark.parametrize(
    ("robot", "message"),
    [
        (
            lambda: with_rocker("0.02"),
            "cannot be closed: from 16 poses round its start the best is off by",
        ),
        (
            lambda: replace(
                symgen.load("four_bar"),
                loops=(*symgen.load("four_bar").loops, Loop("stop", "weld", End(0), End(-1))),
            ),
            "cannot be closed|leave no degree of freedom",
        ),
        (
            lambda: replace(
                symgen.load("four_bar"), loops=(Loop("stop", "revolute", End(2), End(0)),), start=()
            ),
            "cannot be closed|leave no degree of freedom|singular|refined|digits",
        ),
    ],
)
def test_closed_dynamics_refuse_loops_that_cannot_be_closed_in_one_sentence(
    robot: Callable[[], Mechanism], message: str
) -> None:
    with pytest.raises(OutOfReach, match=message) as error:
        program(robot(), "constrained_forward_dynamics")
    assert "\n" not in str(error.value)
    assert ";" in str(error.value)


def test_robots_without_loops_have_no_loop_functions() -> None:
    for name in LOOP_FUNCTIONS:
        with pytest.raises(
            RequestError, match=f"{name} needs closed loops, and 'scara' has none; declare"
        ):
            program("scara", name)
    assert not set(LOOP_FUNCTIONS) & set(symgen.compile("scara", ["mass_matrix"]).programs)
    assert set(LOOP_FUNCTIONS).isdisjoint(list(FUNCTIONS))
    assert all(name in FUNCTIONS for name in LOOP_FUNCTIONS)
    assert all(
        any(array.drawn in CLOSED for array in function.arguments)
        for name, function in LOOP_FUNCTIONS.items()
        if name not in ("constraint_residual", "assembly_step")
    )


def test_a_proof_over_ranges_of_loops_has_divisors_only_and_lists_what_it_leaves_out() -> None:
    robot = symgen.load("four_bar")
    programs = {
        name: program(robot, name)
        for name in (
            "mass_matrix",
            "constraint_residual",
            "constrained_forward_dynamics",
            "constraint_jacobian",
            "assembly_step",
        )
    }
    proof = prove_programs(robot, programs, ProgramOptions(), states=50, compiled=False)
    assert [entry.function for entry in proof.functions] == [
        "mass_matrix",
        "constraint_residual",
        "constrained_forward_dynamics",
    ]
    divided = proof.functions[-1]
    assert not divided.round_off.bound
    assert len(divided.divisors) > 1
    for names in (
        "constraint_jacobian, assembly_step",
        "round-off of constrained_forward_dynamics",
    ):
        assert any(entry.startswith(f"{names} left out: ") for entry in proof.assumptions)
    for request in ("constraint_jacobian", "assembly_step=gauss_newton"):
        with pytest.raises(ArgumentError, match=f"{request} cannot be proved over ranges"):
            prove(robot, [request])


@pytest.mark.parametrize("with_eva", [False, True])
def test_a_proof_without_provable_functions_is_one_sentence(with_eva: bool) -> None:
    robot = symgen.load("four_bar")
    proof = prove_programs(
        robot,
        {"constraint_bias": program(robot, "constraint_bias")},
        ProgramOptions(),
        compiled=False,
        with_eva=with_eva,
    )
    report = str(proof)
    assert "no function with a proof" in report
    assert "\nround-off\n" not in report
    assert ("Frama-C was not run: no function is proved over whole ranges" in report) is with_eva
    assert proof.facts().get("eva") == ({} if with_eva else None)


def test_a_folder_with_no_provable_function_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "cost_sheet", lambda *_: {})
    symgen.generate(
        "four_bar", tmp_path / "c", functions=["constrained_forward_dynamics"], target="host"
    )
    readme = " ".join((tmp_path / "c" / "README.md").read_text(encoding="utf-8").split())
    assert "no function in this folder is proved over the whole ranges" in readme
    assert (
        "constrained_forward_dynamics left out: it is defined only at positions that close the"
        " loops" in readme
    )


# -- planted errors --------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ALL)
def test_a_wrong_sign_in_any_sum_is_caught(function: str) -> None:
    robot = symgen.load("four_bar")
    correct, exact_results = program(robot, function), ExactResults(robot, 2, 5)
    sums = [i for i, row in enumerate(correct.rows) if row.op in ("add", "sub")]
    assert sums
    assert all(not check_algebra(bent(correct, i), exact_results, function).passed for i in sums)


def test_the_reference_and_the_programs_have_the_same_damping() -> None:
    assert minimum_norm.DAMPING == constrained.DAMPING
