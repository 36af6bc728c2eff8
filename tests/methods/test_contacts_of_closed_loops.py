"""Contacts of robots whose loops are closed: against the reference, and loops that hold the same; and errors that are caught."""

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
from symgen.verification.floating import check_floating
from symgen.verification.identities.contacts import IDENTITIES as OF_CONTACTS
from symgen.verification.proof import prove
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.verification.truth import Truth
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
    """The arms can hold their point, the four-bar and Bennett's linkage have less to move than that takes."""
    if name == "followed":
        made = arms("distance")
        place = [joint.name for joint in made.joints].index("right1_joint")
        own = replace(
            made.joints[place], mimic=Mimic("left1_joint", Fraction(-1, 2), Fraction(1, 10))
        )
        return replace(
            made, joints=(*made.joints[:place], own, *made.joints[place + 1 :]), coupled=True
        )
    made_here: dict[str, Callable[[], Mechanism]] = {
        "hopper": hopper,
        "bennett": bennett,
        "arms": lambda: driven(arms("distance", ("revolute", "revolute"))),
    }
    return made_here[name]() if name in made_here else symgen.load(name)


def program(name: str, function: str, method: str | None = METHOD) -> Program:
    return build.build_program(robot(name), function, method, ProgramOptions(contact=POINTS[name]))


# -- what they obey ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("four_bar", {}),
        ("arms", {"payload": "right1", "wrench": "left1"}),
        ("hopper", {"baumgarte": True}),
    ],
)
def test_they_hold_loops_and_points(name: str, others: dict[str, Any]) -> None:
    """Gains pull the hopper's leg together, at states in which it is open: A a + γ is not zero then."""
    asked = [f"{function}={METHOD}" for function in (DYNAMICS, IMPACT, *AROUND[:2])] + list(
        AROUND[2:]
    )
    report = symgen.verify(robot(name), asked, 3, contact=POINTS[name], compiled=False, **others)
    assert report.passed, str(report)
    seen = {check.subject for check in report.checks if check.kind == "identities"}
    assert {one.title for one in OF_CONTACTS if one.loops} - seen == (
        {"A a + γ = 0 beside contacts"} if "baumgarte" in others else set()
    )
    assert not {one.title for one in OF_CONTACTS if one.loops is False} & seen - {
        one.title for one in OF_CONTACTS if one.loops
    }


def test_a_platform_that_touches_is_the_reference_to_forty_digits() -> None:
    truth = Truth(robot("stewart"), 1, 5, contact=POINTS["stewart"])
    assert check_algebra(program("stewart", DYNAMICS, "riccati"), truth, DYNAMICS).passed


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
    """By the equation where forces are told by it, by the formula where they are the least ones."""
    made = program(name, function)
    assert "lambda" not in " ".join(port.name for port in (*made.inputs, *made.outputs))
    assert check_algebra(made, Truth(robot(name), 1, 5, contact=POINTS[name]), function).passed


def with_its_point_held(made: Mechanism, point: str) -> Mechanism:
    """A loop from the base in the place of a contact, where the point is at a closed position."""
    reference, frame = Reference(made, arb(150), contact=point), made.contact(point)
    q = (
        closed_states(made, assemble(made), 1, 3)["q"]
        if made.loops
        else np.full((1, made.nq), Fraction(3, 10), dtype=object)
    )
    with reference.scalars.working():
        at = reference.placements(reference.scalars.array(q))[frame.body]
        place = (at.shift[0] + times(at.turn[0], reference.pose(frame.pose)[1]))[0]
    base = End(-1, (Shift(tuple(Fraction(str(x.str(120, radius=False))) for x in place)),))
    loop, start = Loop("held", "point", base, End(frame.body, frame.pose)), []
    for joint, own in zip(made.joints, made.q_slices, strict=True):
        start.append((joint.name, tuple(Fraction(round(x * 2**40), 2**40) for x in q[0, own])))
    return replace(made, loops=(*made.loops, loop), start=tuple(start))


@pytest.mark.parametrize("loops", [True, False])
def test_a_loop_to_the_base_holds_as_a_contact_does(loops: bool) -> None:
    """The same accelerations and the same forces, of a tree and of a chain that is closed elsewhere."""
    made = robot("arms") if loops else replace(robot("arms"), loops=(), start=())
    held, options = (
        with_its_point_held(made, POINTS["arms"]),
        ProgramOptions(contact=POINTS["arms"]),
    )
    found, scalars = closed_states(held, assemble(held), 2, 1), arb(100)
    given = {
        "q": found["q"],
        "v": found["v"],
        "tau": found["v"],
        "active": np.ones((2, 1)),
        "restitution": np.zeros(2),
    }
    for one, other, before in (
        (DYNAMICS, AROUND[0], found["v"]),
        (IMPACT, AROUND[1], found["v"] + found["q"]),
    ):
        states = {
            name: scalars.array(values) for name, values in (given | {"v": before}).items()
        }  # any, before a blow
        programs = (
            build.build_program(made, one, METHOD, options),
            build.build_program(held, other, METHOD, ProgramOptions()),
        )
        touched, closed = ([*scalar_runner(scalars, each)(states).values()] for each in programs)
        with scalars.working():
            assert np.abs(touched[0] - closed[0]).max() < 1e-50
            assert np.abs(touched[1][:, 0] - closed[1][:, -3:]).max() < 1e-50


def test_forces_that_do_nothing_are_decided_where_loops_are_closed() -> None:
    """Of all rows. The program and the reference solve as often."""
    for name, wanted in (
        ("hopper", False),
        ("stewart", False),
        ("four_bar", True),
        ("bennett", True),
    ):
        assert contacts.redundant(robot(name), (POINTS[name],)) is wanted
    assert contacts.redundant(
        robot("hopper"), ("front_shin", POINTS["hopper"])
    )  # two points of one link
    for points in (("link2",), ("link1", "link3")):
        taken = contacts.solve_count(bennett(), points, Reference)
        assert taken == touching.solve_count(bennett(), points) > 3


def test_a_four_bar_at_rest_is_held_by_the_least_forces() -> None:
    """Of the loop and the point together: nothing in them does nothing. While it moves, nothing holds both."""
    made, name = robot("four_bar"), "four_bar"
    run, loop = (machine_runner(program(name, function)) for function in (DYNAMICS, AROUND[0]))
    states = {
        key: values.astype(float)
        for key, values in closed_states(made, assemble(made), 4, 2).items()
    }
    reference, q, tau = Reference(made, contact=POINTS[name]), states["q"], np.full((4, 3), 2.0)
    A, rest = (
        contacts.all_rows(reference, q),
        {"q": q, "v": 0 * q, "tau": tau, "active": np.ones((4, 1))},
    )
    found = run(rest)
    assert np.abs(found["a"]).max() < 1e-10
    forces = found["forces"][:, 0]
    borne = loop(rest | {"tau": tau + times(np.swapaxes(A[:, -3:], -1, -2), forces)})["lambda"]
    shared = np.concatenate([borne, forces], axis=-1)
    idle = np.linalg.svd(A)[0][..., 3:]
    assert np.abs(times(np.swapaxes(idle, -1, -2), shared)).max() < 1e-8 * np.abs(shared).max()
    moving = run(rest | {"v": states["v"]})["a"]
    assert (
        np.abs(times(A, moving) + contacts.all_rates(reference, q, states["v"], 2)).max(axis=-1)
        > 1e-3
    ).all()


def test_the_momentum_changes_by_the_contact_and_the_weight() -> None:
    """Of the hopper, whose trunk nothing else holds: what its loop bears is within."""
    made, states = robot("hopper"), closed_states(hopper(), assemble(hopper()), 3, 4)
    given = {name: values.astype(float) for name, values in states.items()} | {
        "active": np.array([[1.0], [0.0], [1.0]])
    }
    given["tau"] = np.concatenate([np.zeros((3, 6)), given["v"][:, 6:]], axis=-1)
    found = machine_runner(program("hopper", DYNAMICS))(given)
    rate = machine_runner(symgen.program(made, "centroidal_momentum_rate"))(
        given | {"a": found["a"]}
    )["hdot"]
    weight = float(sum(body.mass for body in made.bodies)) * np.array([0, 0, -9.81])
    assert (
        np.abs(rate[:, 3:] - found["forces"].sum(axis=1) - weight).max()
        < 1e-10 * np.abs(rate).max()
    )
    assert np.abs(found["forces"][:, 0, 2]).tolist()[1] == 0 < np.abs(found["forces"][[0, 2]]).max()


def test_numbers_at_run_time_leave_the_solves_as_they_are() -> None:
    """As many as the described numbers ask for, although the drawn ones ask for more."""
    made, options = (
        symgen.load("bennett"),
        ProgramOptions(contact="link2", parameters=("*.mass", "*.centre", "*.inertia")),
    )
    programs = build.programs(made, [f"{DYNAMICS}={METHOD}"], options)
    assert touching.solve_count(made, ("link2",)) < contacts.solve_count(
        draw_adjusted_robot(made, programs, options, 0).mechanism, ("link2",), Reference
    )
    assert verify_programs(Subject(made, programs, options, states=1, compiled=False)).passed


# -- errors that are planted ---------------------------------------------------------------------------------------------------

Plant = Callable[[pytest.MonkeyPatch], None]


def loops_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_contacts, "closure_rows", lambda linkage: [])
    patch.setattr(_contacts, "bias_entries", lambda *_, **__: [])


def contacts_come_first(patch: pytest.MonkeyPatch) -> None:
    true = _contacts.constraint_rows
    patch.setattr(
        _contacts, "constraint_rows", lambda linkage: [*(rows := true(linkage))[-3:], *rows[:-3]]
    )


def loops_open_with_the_contact(patch: pytest.MonkeyPatch) -> None:
    true = _contacts.BorderedFactor
    patch.setattr(
        _contacts,
        "BorderedFactor",
        lambda factor, rows, active, solves: true(factor, rows, [active[-1]] * len(rows), solves),
    )


def loops_do_not_turn(patch: pytest.MonkeyPatch) -> None:
    true = _contacts.bias_entries
    patch.setattr(
        _contacts, "bias_entries", lambda linkage, **how: [x * 0 for x in true(linkage, **how)]
    )


@pytest.mark.parametrize(
    "plant",
    [loops_are_forgotten, contacts_come_first, loops_open_with_the_contact, loops_do_not_turn],
)
def test_an_error_is_caught_twice(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    undone(monkeypatch)
    plant(monkeypatch)
    made, options = robot("hopper"), ProgramOptions(contact=POINTS["hopper"])
    programs = {name: program("hopper", name) for name in (DYNAMICS, AROUND[0])}
    report = verify_programs(Subject(made, programs, options, states=3, compiled=False))
    undone(monkeypatch)
    failed = {
        (check.kind, check.subject.partition("=")[0] if check.kind == "algebra" else "")
        for check in report.failures
    }
    assert {("algebra", DYNAMICS), ("identities", "")} <= failed, str(report)


def test_an_equation_without_what_loops_bear_is_caught_in_the_derivative(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    undone(monkeypatch)
    monkeypatch.setattr(equations, "subtract_closure_forces", lambda linkage, rows, driven: driven)
    made = program("hopper", f"{DYNAMICS}:jvp")
    undone(monkeypatch)
    assert not check_algebra(
        made, Truth(robot("hopper"), 1, 5, contact=POINTS["hopper"]), DYNAMICS
    ).passed


@pytest.mark.parametrize("function", [DYNAMICS, IMPACT])
def test_a_sign_that_is_wrong_is_seen(function: str) -> None:
    made, truth = (
        program("four_bar", function),
        Truth(robot("four_bar"), 2, 5, contact=POINTS["four_bar"]),
    )
    places = Random(function).sample(
        [i for i, row in enumerate(made.rows) if row.op in ("add", "sub")], 12
    )
    assert all(not check_algebra(bent(made, i), truth, function).passed for i in places)


@pytest.mark.parametrize(("function", "result"), [(DYNAMICS, "forces"), (AROUND[0], "lambda")])
def test_what_is_not_finite_has_failed(function: str, result: str) -> None:
    made, truth = (
        program("four_bar", function),
        Truth(robot("four_bar"), 2, 5, contact=POINTS["four_bar"]),
    )

    def broken(arguments: Mapping[str, Array]) -> Results:
        return {
            name: np.where(name == result, np.nan, found)
            for name, found in machine_runner(made)(arguments).items()
        }

    found = check_floating(made, broken, truth, function)
    assert not found.passed
    assert found.detail == f"{result} is not finite"


# -- what is delivered -------------------------------------------------------------------------------------------------------


def test_a_folder_has_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "four_bar"
    asked = [
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
    assert main(asked) == 0
    assert json.loads((out / "manifest.json").read_text(encoding="utf-8"))["options"][
        "contact"
    ] == [POINTS["four_bar"]]
    page = " ".join((out / "README.md").read_text(encoding="utf-8").split())
    assert "Joints that close loops hold beside the points" in page
    assert "by four solves that are damped" in page
    assert main(["verify", str(out), "--states", "2"]) == 0
    capsys.readouterr()
    assert main(["prove", str(out), "--states", "2"]) == 0
    said = capsys.readouterr().out
    assert "(damped row 4 of A M^-1 A^T)" in said
    assert "depends on closed positions" in said


def test_a_proof_over_ranges_has_floors_of_their_forces() -> None:
    options = ProgramOptions(contact=POINTS["four_bar"])
    (found,) = (
        proof := prove(robot("four_bar"), [IMPACT], options, states=20, compiled=False)
    ).functions
    assert (
        sum(divisor.floor.certified for divisor in found.divisors if "damped" in divisor.floor.what)
        == 4
    )
    assert not found.round_off.bound
    assert any(one.startswith(f"round-off of {IMPACT} left out: ") for one in proof.assumptions)
