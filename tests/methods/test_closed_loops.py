"""Joints that close loops: A, γ, C and the forces, for every kind of joint, against the reference at closed states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.delivery import writing
from symgen.derivation.scalars import Derivation
from symgen.ir.program import Program
from symgen.mechanism.closed_loops import End, Loop
from symgen.mechanism.closures import Unspun, closure, closures
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared import constrained
from symgen.pipeline.build import program
from symgen.pipeline.loop_closure import assembly
from symgen.reference import closing, minimum_norm
from symgen.reference.assembling import assemble, closed_states
from symgen.reference.integrate import integrate
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array, arb
from symgen.support.errors import ArgumentError, OutOfReach, RequestError
from symgen.verification.algebra import check_algebra
from symgen.verification.evaluating import machine_runner, scalar_runner
from symgen.verification.proof import prove, prove_programs
from symgen.verification.truth import Truth
from symgen.vocabulary import derivatives, functions
from symgen.vocabulary.functions import CLOSED, FUNCTIONS, LOOP_FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import X_AXIS, Angle, Shift, Turn
from tests.shared.bent_loops import bent
from tests.shared.inspected import numbers
from tests.shared.looped import arms, bennett, doubled

KINDS = closures()
FACTORED = [name for name in methods.names() if methods.find(name).factor is not None]
ALL = tuple(LOOP_FUNCTIONS)


def errors(
    robot: Mechanism, functions: tuple[str, ...] = ALL, method: str = "riccati", count: int = 2
) -> dict[str, float]:
    """How far each function is from the reference, relative to its answer; what divides by M is that of one method."""
    truth = Truth(robot, count, 5)
    by = {name: method if FUNCTIONS[name].needs_inverse else None for name in functions}
    return {
        name: check_algebra(program(robot, name, by[name]), truth, name).error for name in functions
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_joint_is_the_reference_to_forty_digits(kind: str) -> None:
    assert max(errors(arms(kind)).values()) < 1e-40


@pytest.mark.parametrize(("kind", "trunk"), [("revolute", False), ("universal", True)])
def test_joints_of_several_degrees_and_free_bases_close_too(kind: str, trunk: bool) -> None:
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


def test_an_end_may_be_the_base() -> None:
    robot = arms("distance")
    (loop,) = robot.loops
    place = End(-1, (Shift((Fraction(0), Fraction(3, 10), Fraction(4, 5))),))
    for on_base in (replace(loop, first=place), replace(loop, second=place)):
        assert max(errors(replace(robot, loops=(on_base,))).values()) < 1e-40


@pytest.mark.parametrize("method", FACTORED)
def test_whoever_takes_m_apart_holds_loops(method: str) -> None:
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


def test_joints_that_follow_others_are_held_with_their_leaders() -> None:
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
def test_what_loops_hold_has_its_derivatives(mode: str) -> None:
    """Along any step, also one that opens the loops: A is then the slope of C, whose second derivative stays zero."""
    assert (
        max(errors(symgen.load("four_bar"), (f"constrained_forward_dynamics:{mode}",)).values())
        < 1e-40
    )


@pytest.mark.parametrize("kind", ["universal", "weld", "distance", "soft_finger"])
def test_joints_of_other_kinds_have_them_too(kind: str) -> None:
    functions = (
        "constrained_forward_dynamics:jvp",
        "constraint_bias:jacobian",
        "constraint_jacobian:jvp",
    )
    assert max(errors(arms(kind), functions).values()) < 1e-40


def test_redundant_rows_are_differentiated_as_they_are_solved() -> None:
    assert max(errors(bennett(), ("constrained_forward_dynamics:jvp",)).values()) < 1e-40


def test_what_solves_an_equation_is_shorter_to_differentiate_by_it(
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


# -- the reference itself ----------------------------------------------------------------------------------------------------


def at_closed(robot: Mechanism, count: int = 2) -> tuple[Reference, Array, Array]:
    scalars = arb(100)
    reference, found = Reference(robot, scalars), closed_states(robot, assemble(robot), count, 3)
    return reference, scalars.array(found["q"]), scalars.array(found["v"])


@pytest.mark.parametrize("kind", KINDS)
def test_closed_states_are_closed(kind: str) -> None:
    reference, q, v = at_closed(arms(kind))
    kept = assemble(reference.mechanism).kept
    with reference.scalars.working():
        assert np.abs(closing.residual(reference, None, q)).max() < 1e-90
        assert np.abs(closing.rows(reference, kept, q, v, 0 * v)[1]).max() < 1e-90
    assert len({tuple(row) for row in q.astype(float)}) == len(q)


@pytest.mark.parametrize("kind", KINDS)
def test_the_series_are_what_differences_say(kind: str) -> None:
    """A is the slope of C, and γ that of A v, where positions answer for a row; no formula of the derivation takes part."""
    reference, q, v = at_closed(arms(kind), 1)
    rows = closure(kind).rows
    held = [k for k, row in enumerate(rows) if not isinstance(row, Unspun)]
    with reference.scalars.working():
        h, still = reference.scalars.constant(Fraction(1, 10**25)), reference.scalars.array([0])
        up, down = (
            closing.residual(reference, None, integrate(reference, q, v, still + s))
            for s in (h, -h)
        )
        first, middle, second = closing.rows(reference, None, q, v, 0 * v)
        assert np.abs((up - down) / (2 * h) - middle)[:, held].max() < 1e-45
        assert np.abs((up - 2 * first + down) / (h * h) - 2 * second)[:, held].max() < 1e-20
        assert (
            np.abs((closing.jacobian(reference, None, q) @ v[..., None])[..., 0] - middle).max()
            < 1e-80
        )


def test_a_soft_finger_does_not_spin() -> None:
    """e · ω from the angular velocities of both frames, by the Jacobians of the two links."""
    robot = arms("soft_finger")
    reference, q, v = at_closed(robot, 1)
    loop = robot.loops[0]
    with reference.scalars.working():
        placed = reference.placements(q)
        spins = []
        for end in (loop.first, loop.second):
            angular, _ = reference.columns(end.body, placed[end.body].shift[0], placed)
            spins.append((angular @ v[:, reference.supports[end.body]][..., None])[..., 0])
        axis = (placed[loop.first.body].turn[0] @ reference.pose(loop.first.pose)[0])[..., 2]
        assert abs((axis * (spins[1] - spins[0])).sum()) < 1e-80


def test_a_frame_that_is_turned_half_round_is_not_closed() -> None:
    """All rows of a weld are zero there as well."""
    robot = symgen.load("four_bar")
    (loop,) = robot.loops
    flipped = replace(loop, second=End(2, (*loop.second.pose, Turn(X_AXIS, Angle(pi=Fraction(1))))))
    with pytest.raises(OutOfReach, match="close only with one frame turned by half a turn"):
        assembly(replace(robot, loops=(flipped,)))


@pytest.mark.parametrize("kind", ["four_bar", "universal"])
def test_what_loops_ask_is_read_in_letters(kind: str) -> None:
    robot = arms(kind) if kind in KINDS else symgen.load(kind)
    reference, q, v = at_closed(robot, 1)
    kept = assemble(robot).kept
    with reference.scalars.working():
        A = closing.jacobian(reference, kept, q)
        expected = {
            "A_loops": A[0],
            "gamma": closing.bias(reference, kept, q, v)[0][:, None],
            "C_loops": 0 * A[0][:, :1],
            "S_loops": A[0]
            @ reference.scalars.solve(reference.mass_matrix(q), np.swapaxes(A, -1, -2))[0],
        }
        for letter, exact in expected.items():
            given = {"q": q[0], "v": v[0]} if letter == "gamma" else {"q": q[0]}
            found = numbers(
                robot, letter, "composite_body" if letter == "S_loops" else "kinematics", given
            )
            assert np.abs(found - exact).max() < 1e-40, letter


# -- what is redundant -------------------------------------------------------------------------------------------------------


def test_rows_that_are_zero_for_ever_go() -> None:
    found = assembly(symgen.load("four_bar"))
    assert (found.kept, found.rank, found.redundant) == (((0, 1),), 2, 0)


def test_redundant_rows_share_the_least_force() -> None:
    """A loop that is closed twice: each joint bears half, and the accelerations are those of one."""
    robot, single = doubled(symgen.load("four_bar")), symgen.load("four_bar")
    assert assembly(robot).redundant == 2
    assert (
        max(errors(robot, ("constrained_forward_dynamics", "constraint_impulse")).values()) < 1e-40
    )
    reference, q, v = at_closed(single)
    given = {"q": q, "v": v, "tau": v}
    both, alone = (
        scalar_runner(reference.scalars, program(one, "constrained_forward_dynamics"))(given)
        for one in (robot, single)
    )
    with reference.scalars.working():
        assert np.abs(both["a"] - alone["a"]).max() < 1e-15
        assert (
            np.abs(
                2 * both["lambda"] - np.concatenate([alone["lambda"], alone["lambda"]], axis=-1)
            ).max()
            < 1e-14
        )


def lost(made: Program, robot: Mechanism, result: str) -> float:
    """How far the machine's reals are off at closed states, relative to the largest entry at each."""
    found = closed_states(robot, assemble(robot), 4, 1)
    given = {
        "q": found["q"].astype(float),
        "v": found["v"].astype(float),
        "tau": np.array([[1.0, -2.0, 3.0]] * 4),
    }
    scalars = arb(80)
    exact = scalar_runner(scalars, made)(
        {name: scalars.array(values) for name, values in given.items()}
    )[result].astype(float)
    return float(
        (
            np.abs(machine_runner(made)(given)[result] - exact).max(axis=1)
            / np.abs(exact).max(axis=1)
        ).max()
    )


@pytest.mark.parametrize(
    ("robot", "rank", "rows"),
    [
        (bennett, 2, 5),
        (lambda: doubled(symgen.load("four_bar")), 2, 4),  # rows that are there twice
        (
            lambda: doubled(symgen.load("four_bar"), turned=True),
            2,
            4,
        ),  # and in other axes, so that none is there twice
    ],
)
def test_redundant_rows_leave_the_accelerations_their_digits(
    robot: Callable[[], Mechanism], rank: int, rows: int
) -> None:
    """How rows share a force is known to fewer digits."""
    made = program(robot(), "constrained_forward_dynamics")
    assert (assembly(robot()).rank, assembly(robot()).rows) == (rank, rows)
    assert lost(made, robot(), "a") < 1e-14
    assert lost(made, robot(), "lambda") < 1e-7


def test_forces_that_are_equal_are_not_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one may stand for the other, what round-off does to them no longer cancels."""
    robot = replace(doubled(symgen.load("four_bar")), name="shared")
    monkeypatch.setattr(Derivation, "opaque_one", lambda self: self.one)
    assert lost(program(robot, "constrained_forward_dynamics", "riccati"), robot, "a") > 1e-13


# -- what cannot be ----------------------------------------------------------------------------------------------------------


def with_rocker(length: str) -> Mechanism:
    robot = symgen.load("four_bar")
    (loop,) = robot.loops
    return replace(
        robot,
        loops=(
            replace(loop, second=End(2, (Shift((Fraction(length), Fraction(0), Fraction(0))),))),
        ),
    )


@pytest.mark.parametrize(
    ("robot", "said"),
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
def test_what_cannot_be_closed_is_one_sentence(robot: Callable[[], Mechanism], said: str) -> None:
    with pytest.raises(OutOfReach, match=said) as error:
        program(robot(), "constrained_forward_dynamics")
    assert "\n" not in str(error.value)
    assert ";" in str(error.value)


def test_without_loops_there_is_nothing_about_them() -> None:
    for name in LOOP_FUNCTIONS:
        with pytest.raises(
            RequestError, match=f"{name} needs closed loops, and 'scara' has none; declare"
        ):
            program("scara", name)
    assert not set(LOOP_FUNCTIONS) & set(symgen.compile("scara", ["mass_matrix"]).programs)
    assert set(LOOP_FUNCTIONS).isdisjoint(list(FUNCTIONS))
    assert all(name in FUNCTIONS for name in LOOP_FUNCTIONS)
    assert all(
        any(array.drawn in CLOSED for array in one.arguments)
        for name, one in LOOP_FUNCTIONS.items()
        if name not in ("constraint_residual", "assembly_step")
    )


def test_a_proof_over_ranges_has_divisors_of_loops_alone_and_says_so() -> None:
    robot = symgen.load("four_bar")
    made = {
        name: program(robot, name)
        for name in (
            "mass_matrix",
            "constraint_residual",
            "constrained_forward_dynamics",
            "constraint_jacobian",
            "assembly_step",
        )
    }
    found = prove_programs(robot, made, ProgramOptions(), states=50, compiled=False)
    assert [one.function for one in found.functions] == [
        "mass_matrix",
        "constraint_residual",
        "constrained_forward_dynamics",
    ]
    divided = found.functions[-1]
    assert not divided.round_off.bound
    assert len(divided.divisors) > 1
    for names in (
        "constraint_jacobian, assembly_step",
        "round-off of constrained_forward_dynamics",
    ):
        assert any(one.startswith(f"{names} left out: ") for one in found.assumptions)
    for asked in ("constraint_jacobian", "assembly_step=gauss_newton"):
        with pytest.raises(ArgumentError, match=f"{asked} cannot be proved over ranges"):
            prove(robot, [asked])


@pytest.mark.parametrize("with_eva", [False, True])
def test_a_proof_of_no_function_is_one_sentence(with_eva: bool) -> None:
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
    assert "no function in this folder is proved over whole ranges" in readme
    assert "constrained_forward_dynamics left out: a function of closed loops" in readme


# -- planted errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ALL)
def test_a_sign_that_is_wrong_is_seen_wherever_it_stands(function: str) -> None:
    robot = symgen.load("four_bar")
    made, truth = program(robot, function), Truth(robot, 2, 5)
    places = [i for i, row in enumerate(made.rows) if row.op in ("add", "sub")]
    assert places
    assert all(not check_algebra(bent(made, i), truth, function).passed for i in places)


def test_damping_of_the_oracle_is_the_programs() -> None:
    assert minimum_norm.DAMPING == constrained.DAMPING
