"""Contacts of robots with closed loops: the reference, equivalent loops in place of contacts, and
planted errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.cli import main
from symgen.ir.program import Program
from symgen.mechanism.closed_loops import End, Loop
from symgen.mechanism.mechanism import Mechanism, Mimic
from symgen.methods.newton_euler import contact_equations as equations
from symgen.methods.shared import contacts as _contacts
from symgen.pipeline import build
from symgen.pipeline import contacts as touching
from symgen.reference import contacts
from symgen.reference.arrays import times
from symgen.reference.assembling import assemble, closed_states
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array, arb
from symgen.verification.adjusted import draw_adjusted_robot
from symgen.verification.algebra import check_algebra
from symgen.verification.evaluating import Results, machine_runner, scalar_runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import check_floating
from symgen.verification.identities.contacts import IDENTITIES as OF_CONTACTS
from symgen.verification.proof import prove
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import Shift
from tests.shared.bent_loops import bent
from tests.shared.contact_cases import DYNAMICS, IMPACT, driven, undone
from tests.shared.looped import arms, bennett, hopper

METHOD = "composite_body"
AROUND = (
    "constrained_forward_dynamics",
    "constraint_impulse",
    "constraint_jacobian",
    "constraint_bias",
    "kinetic_energy",
)
POINTS = {
    "four_bar": "coupler:0.1,0,0",
    "hopper": "front_shin:0,0,-0.3",
    "arms": "right1:0,0.1,0.3",
    "followed": "right2:0,0.1,0.3",
    "bennett": "link2",
    "stewart": "plate:0,0,0.1",
}


@cache
def robot(name: str) -> Mechanism:
    """Return a robot by name.

    The four-bar and Bennett's linkage have too few degrees of freedom to hold a point; the arms
    have enough.
    """
    if name == "followed":
        mechanism = arms("distance")
        index = [joint.name for joint in mechanism.joints].index("right1_joint")
        follower = replace(
            mechanism.joints[index], mimic=Mimic("left1_joint", Fraction(-1, 2), Fraction(1, 10))
        )
        return replace(
            mechanism,
            joints=(*mechanism.joints[:index], follower, *mechanism.joints[index + 1 :]),
            coupled=True,
        )
    factories: dict[str, Callable[[], Mechanism]] = {
        "hopper": hopper,
        "bennett": bennett,
        "arms": lambda: driven(arms("distance", ("revolute", "revolute"))),
    }
    return factories[name]() if name in factories else symgen.load(name)


def program(name: str, function: str, method: str | None = METHOD) -> Program:
    return build.build_program(robot(name), function, method, ProgramOptions(contact=POINTS[name]))


# -- laws of mechanics -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("four_bar", {}),
        ("arms", {"payload": "right1", "wrench": "left1"}),
        ("hopper", {"baumgarte": True}),
    ],
)
def test_contact_dynamics_with_closed_loops_satisfy_their_identities(
    name: str, options: dict[str, Any]
) -> None:
    """With Baumgarte gains, the hopper's states leave the loop open, so A a + γ is not zero."""
    requests = [f"{function}={METHOD}" for function in (DYNAMICS, IMPACT, *AROUND[:2])] + list(
        AROUND[2:]
    )
    report = symgen.verify(
        robot(name), requests, 3, contact=POINTS[name], compiled=False, **options
    )
    assert report.passed, str(report)
    titles = {check.subject for check in report.checks if check.kind == "identities"}
    assert {identity.title for identity in OF_CONTACTS if identity.loops} - titles == (
        {"A a + γ = 0 beside contacts"} if "baumgarte" in options else set()
    )
    assert not {identity.title for identity in OF_CONTACTS if identity.loops is False} & titles - {
        identity.title for identity in OF_CONTACTS if identity.loops
    }


@pytest.mark.slow
def test_contact_dynamics_of_a_stewart_platform_equal_the_reference() -> None:
    exact_results = ExactResults(robot("stewart"), 1, 5, contact=POINTS["stewart"])
    assert check_algebra(program("stewart", DYNAMICS, "riccati"), exact_results, DYNAMICS).passed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "function"),
    [
        *(("hopper", f"{DYNAMICS}:{mode}") for mode in ("jvp", "vjp", "hvp")),
        ("arms", f"{DYNAMICS}:jacobian"),
        ("arms", f"{IMPACT}:vjp"),
        ("followed", f"{DYNAMICS}:jvp"),
        ("four_bar", f"{DYNAMICS}:vjp"),
        ("four_bar", f"{IMPACT}:jvp"),
        ("bennett", f"{IMPACT}:jvp"),
    ],
)
def test_derivatives_are_exact_along_steps_that_open_the_loops(name: str, function: str) -> None:
    """symgen differentiates the equation if the forces are unique, and the formula if they are of
    minimum norm.
    """
    derivative = program(name, function)
    assert "lambda" not in " ".join(port.name for port in (*derivative.inputs, *derivative.outputs))
    assert check_algebra(
        derivative, ExactResults(robot(name), 1, 5, contact=POINTS[name]), function
    ).passed


def with_point_loop(mechanism: Mechanism, point: str) -> Mechanism:
    """Return the robot with a point loop to the base at the contact's place in a closed state."""
    reference, frame = Reference(mechanism, arb(150), contact=point), mechanism.contact(point)
    q = (
        closed_states(mechanism, assemble(mechanism), 1, 3)["q"]
        if mechanism.loops
        else np.full((1, mechanism.nq), Fraction(3, 10), dtype=object)
    )
    with reference.scalars.working():
        pose = reference.placements(reference.scalars.array(q))[frame.body]
        position = (pose.shift[0] + times(pose.turn[0], reference.pose(frame.pose)[1]))[0]
    base = End(-1, (Shift(tuple(Fraction(str(x.str(120, radius=False))) for x in position)),))
    loop, start = Loop("held", "point", base, End(frame.body, frame.pose)), []
    for joint, slice_ in zip(mechanism.joints, mechanism.q_slices, strict=True):
        start.append((joint.name, tuple(Fraction(round(x * 2**40), 2**40) for x in q[0, slice_])))
    return replace(mechanism, loops=(*mechanism.loops, loop), start=tuple(start))


@pytest.mark.slow
@pytest.mark.parametrize("loops", [True, False])
def test_a_point_loop_to_the_base_equals_a_contact(loops: bool) -> None:
    """Accelerations and forces of a contact and of a point loop agree, without and with another
    closed loop.
    """
    mechanism = robot("arms") if loops else replace(robot("arms"), loops=(), start=())
    with_loop, options = (
        with_point_loop(mechanism, POINTS["arms"]),
        ProgramOptions(contact=POINTS["arms"]),
    )
    closed, scalars = closed_states(with_loop, assemble(with_loop), 2, 1), arb(100)
    inputs = {
        "q": closed["q"],
        "v": closed["v"],
        "tau": closed["v"],
        "active": np.ones((2, 1)),
        "restitution": np.zeros(2),
    }
    for contact_function, loop_function, velocities in (
        (DYNAMICS, AROUND[0], closed["v"]),
        (IMPACT, AROUND[1], closed["v"] + closed["q"]),
    ):
        states = {
            name: scalars.array(values) for name, values in (inputs | {"v": velocities}).items()
        }  # velocities before an impact may violate the constraints
        programs = (
            build.build_program(mechanism, contact_function, METHOD, options),
            build.build_program(with_loop, loop_function, METHOD, ProgramOptions()),
        )
        contact_results, loop_results = (
            [*scalar_runner(scalars, program_)(states).values()] for program_ in programs
        )
        with scalars.working():
            assert np.abs(contact_results[0] - loop_results[0]).max() < 1e-50
            assert np.abs(contact_results[1][:, 0] - loop_results[1][:, -3:]).max() < 1e-50


@pytest.mark.slow
def test_redundancy_of_contacts_takes_closed_loops_into_account() -> None:
    """Redundancy is a property of all constraint rows together; Program and reference refine
    equally often.
    """
    for name, expected in (
        ("hopper", False),
        ("stewart", False),
        ("four_bar", True),
        ("bennett", True),
    ):
        assert contacts.redundant(robot(name), (POINTS[name],)) is expected
    assert contacts.redundant(
        robot("hopper"), ("front_shin", POINTS["hopper"])
    )  # two points of one link
    for points in (("link2",), ("link1", "link3")):
        solves = contacts.solve_count(bennett(), points, Reference)
        assert solves == touching.solve_count(bennett(), points) > 3


def test_a_four_bar_at_rest_has_minimum_norm_forces() -> None:
    """The forces of loop and contact together have no component in the null space.

    While the four-bar moves, no acceleration satisfies loop and contact.
    """
    mechanism, name = robot("four_bar"), "four_bar"
    run, loop = (machine_runner(program(name, function)) for function in (DYNAMICS, AROUND[0]))
    states = {
        key: values.astype(float)
        for key, values in closed_states(mechanism, assemble(mechanism), 4, 2).items()
    }
    reference, q, tau = (
        Reference(mechanism, contact=POINTS[name]),
        states["q"],
        np.full((4, 3), 2.0),
    )
    A, at_rest = (
        contacts.all_rows(reference, q),
        {"q": q, "v": 0 * q, "tau": tau, "active": np.ones((4, 1))},
    )
    results = run(at_rest)
    assert np.abs(results["a"]).max() < 1e-10
    forces = results["forces"][:, 0]
    loop_forces = loop(at_rest | {"tau": tau + times(np.swapaxes(A[:, -3:], -1, -2), forces)})[
        "lambda"
    ]
    all_forces = np.concatenate([loop_forces, forces], axis=-1)
    null_space = np.linalg.svd(A)[0][..., 3:]
    assert (
        np.abs(times(np.swapaxes(null_space, -1, -2), all_forces)).max()
        < 1e-8 * np.abs(all_forces).max()
    )
    moving = run(at_rest | {"v": states["v"]})["a"]
    assert (
        np.abs(times(A, moving) + contacts.all_rates(reference, q, states["v"], 2)).max(axis=-1)
        > 1e-3
    ).all()


@pytest.mark.slow
def test_the_momentum_rate_is_the_contact_force_plus_the_weight() -> None:
    """The hopper's trunk floats, and forces of its loop are internal."""
    mechanism, states = robot("hopper"), closed_states(hopper(), assemble(hopper()), 3, 4)
    inputs = {name: values.astype(float) for name, values in states.items()} | {
        "active": np.array([[1.0], [0.0], [1.0]])
    }
    inputs["tau"] = np.concatenate([np.zeros((3, 6)), inputs["v"][:, 6:]], axis=-1)
    results = machine_runner(program("hopper", DYNAMICS))(inputs)
    rate = machine_runner(symgen.program(mechanism, "centroidal_momentum_rate"))(
        inputs | {"a": results["a"]}
    )["hdot"]
    weight = float(sum(body.mass for body in mechanism.bodies)) * np.array([0, 0, -9.81])
    assert (
        np.abs(rate[:, 3:] - results["forces"].sum(axis=1) - weight).max()
        < 1e-10 * np.abs(rate).max()
    )
    assert (
        np.abs(results["forces"][:, 0, 2]).tolist()[1]
        == 0
        < np.abs(results["forces"][[0, 2]]).max()
    )


@pytest.mark.slow
def test_run_time_parameters_do_not_change_the_number_of_solves() -> None:
    """The Program solves as often as the described robot requires, although the drawn numbers
    require more solves.
    """
    mechanism, options = (
        symgen.load("bennett"),
        ProgramOptions(contact="link2", parameters=("*.mass", "*.centre", "*.inertia")),
    )
    programs = build.programs(mechanism, [f"{DYNAMICS}={METHOD}"], options)
    assert touching.solve_count(mechanism, ("link2",)) < contacts.solve_count(
        draw_adjusted_robot(mechanism, programs, options, 0).mechanism, ("link2",), Reference
    )
    assert verify_programs(Subject(mechanism, programs, options, states=1, compiled=False)).passed


# -- planted errors --------------------------------------------------------------------------------

Plant = Callable[[pytest.MonkeyPatch], None]


def loops_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_contacts, "closure_rows", lambda linkage: [])
    patch.setattr(_contacts, "bias_entries", lambda *_, **__: [])


def contact_rows_first(patch: pytest.MonkeyPatch) -> None:
    original = _contacts.constraint_rows
    patch.setattr(
        _contacts,
        "constraint_rows",
        lambda linkage: [*(rows := original(linkage))[-3:], *rows[:-3]],
    )


def loops_inactive_with_the_contact(patch: pytest.MonkeyPatch) -> None:
    original = _contacts.BorderedFactor
    patch.setattr(
        _contacts,
        "BorderedFactor",
        lambda factor, rows, active, solves: original(
            factor, rows, [active[-1]] * len(rows), solves
        ),
    )


def loop_bias_ignored(patch: pytest.MonkeyPatch) -> None:
    original = _contacts.bias_entries
    patch.setattr(
        _contacts,
        "bias_entries",
        lambda linkage, **options: [x * 0 for x in original(linkage, **options)],
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant",
    [loops_ignored, contact_rows_first, loops_inactive_with_the_contact, loop_bias_ignored],
)
def test_a_planted_error_is_caught_by_algebra_and_identities(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    undone(monkeypatch)
    plant(monkeypatch)
    mechanism, options = robot("hopper"), ProgramOptions(contact=POINTS["hopper"])
    programs = {name: program("hopper", name) for name in (DYNAMICS, AROUND[0])}
    report = verify_programs(Subject(mechanism, programs, options, states=3, compiled=False))
    undone(monkeypatch)
    failed = {
        (check.kind, check.subject.partition("=")[0] if check.kind == "algebra" else "")
        for check in report.failures
    }
    assert {("algebra", DYNAMICS), ("identities", "")} <= failed, str(report)


def test_an_equation_without_loop_forces_is_caught_in_the_derivative(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    undone(monkeypatch)
    monkeypatch.setattr(equations, "subtract_closure_forces", lambda linkage, rows, driven: driven)
    derivative = program("hopper", f"{DYNAMICS}:jvp")
    undone(monkeypatch)
    assert not check_algebra(
        derivative, ExactResults(robot("hopper"), 1, 5, contact=POINTS["hopper"]), DYNAMICS
    ).passed


@pytest.mark.parametrize("function", [DYNAMICS, IMPACT])
def test_a_wrong_sign_in_random_sums_is_caught(function: str) -> None:
    correct, exact_results = (
        program("four_bar", function),
        ExactResults(robot("four_bar"), 2, 5, contact=POINTS["four_bar"]),
    )
    sums = Random(function).sample(
        [i for i, row in enumerate(correct.rows) if row.op in ("add", "sub")], 12
    )
    assert all(not check_algebra(bent(correct, i), exact_results, function).passed for i in sums)


@pytest.mark.parametrize(("function", "result"), [(DYNAMICS, "forces"), (AROUND[0], "lambda")])
def test_results_that_are_not_finite_fail(function: str, result: str) -> None:
    correct, exact_results = (
        program("four_bar", function),
        ExactResults(robot("four_bar"), 2, 5, contact=POINTS["four_bar"]),
    )

    def broken(arguments: Mapping[str, Array]) -> Results:
        return {
            name: np.where(name == result, np.nan, values)
            for name, values in machine_runner(correct)(arguments).items()
        }

    check = check_floating(correct, broken, exact_results, function)
    assert not check.passed
    assert check.detail == f"{result} is not finite"


# -- folders and proofs ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_folder_of_a_closed_robot_stores_its_contacts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "four_bar"
    words = [
        "generate",
        "four_bar",
        "-f",
        DYNAMICS,
        "--contact",
        POINTS["four_bar"],
        "--checked",
        "--batch",
        "-o",
        str(out),
    ]
    assert main(words) == 0
    assert json.loads((out / "manifest.json").read_text(encoding="utf-8"))["options"][
        "contact"
    ] == [POINTS["four_bar"]]
    page = " ".join((out / "README.md").read_text(encoding="utf-8").split())
    assert "Loop closures are constraints in addition to the active points" in page
    assert "computed by four solves with a damping" in page
    assert main(["verify", str(out), "--states", "2"]) == 0
    capsys.readouterr()
    assert main(["prove", str(out), "--states", "2"]) == 0
    output = capsys.readouterr().out
    assert "(damped row 4 of A M^-1 A^T)" in output
    assert "defined only at positions that close the loops" in output


def test_a_proof_over_ranges_has_lower_bounds_of_damped_pivots() -> None:
    options = ProgramOptions(contact=POINTS["four_bar"])
    (function,) = (
        proof := prove(robot("four_bar"), [IMPACT], options, states=20, compiled=False)
    ).functions
    assert (
        sum(
            divisor.certificate.certified
            for divisor in function.divisors
            if "damped" in divisor.certificate.description
        )
        == 4
    )
    assert not function.round_off.bound
    assert any(
        assumption.startswith(f"round-off of {IMPACT} left out: ")
        for assumption in proof.assumptions
    )
