"""Derivatives of Programs: every function's against exact ones, what is zero by structure, what is asked for by which name."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.delivery import selftest
from symgen.derivation import tangents
from symgen.emission import printer
from symgen.ir.program import POSITIONS, Program, Row
from symgen.machine.compilers import find_compiler
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, differentiation
from symgen.pipeline.differentiation import _partials, forward, implicit
from symgen.support.errors import ArgumentError, OutOfReach, UnknownName
from symgen.verification import floating, running_error
from symgen.verification.algebra import check_algebra
from symgen.verification.evaluating import machine_runner
from symgen.verification.identities import check_identities, companions
from symgen.verification.report import Check
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Files, Subject
from symgen.verification.truth import Truth
from symgen.vocabulary import derivatives
from symgen.vocabulary.derivatives import MODES
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.names import function_named
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.target import Target
from tests.judges import example_robot_data as judges
from tests.shared.ball_trees import tree
from tests.shared.robots_for_tests import OF_ANY_ROBOT, random_mechanism

OF_ANY = [
    name
    for name, function in FUNCTIONS.items()
    if name in OF_ANY_ROBOT and not function.counts("NK")
]
OF_TASKS = [name for name, function in FUNCTIONS.items() if function.counts("NK")]
EVERY = [("free_revolute", f"{f}:{mode}") for f in OF_ANY for mode in ("jvp", "vjp")]
EVERY += [
    (name, f"{f}:{mode}")
    for f in OF_ANY
    for name, mode in (("planar_spherical", "jvp"), ("sliding", "vjp"))
]
SECOND = (
    "inverse_dynamics:hvp",
    "forward_dynamics:hvp",
    "integrate:hvp",
    "difference:hvp",
    "forward_kinematics:hvp",
)


@cache
def robot(name: str) -> Mechanism:
    if name == "sliding":
        return random_mechanism(3, seed=4, kind="tree", joints=("revolute", "prismatic", "helical"))
    return tree(name.split("_"), name)


@cache
def truth(name: str, payload: str | None = None) -> Truth:
    made = robot(name)
    return Truth(made, 1, seed=1, frame=made.frames[-1].name, payload=payload)


def program(name: str, function: str, payload: str | None = None) -> Program:
    return symgen.program(robot(name), function, frame=robot(name).frames[-1].name, payload=payload)


def algebra(name: str, function: str) -> Check:
    return check_algebra(program(name, function), truth(name), function)


def identities(name: str, function: str, found: Program) -> list[Check]:
    others = {other: program(name, other) for other in companions(function, robot(name))}
    return [
        check
        for check in check_identities({**others, function: found}, None, truth(name))
        if function in check.subject
    ]


@pytest.mark.parametrize(("name", "function"), EVERY)
def test_first_derivatives_of_every_function_are_exact(name: str, function: str) -> None:
    """Of a floating base, of joints of several degrees of freedom, and of a tree of hinges, slides and screws."""
    assert algebra(name, function).passed


@pytest.mark.parametrize("function", [f"{f}:{mode}" for f in OF_TASKS for mode in ("jvp", "vjp")])
def test_derivatives_are_by_the_rows_of_a_task(function: str) -> None:
    made = robot("free_revolute")
    rows, frame = (0, 3), "link0"  # which floats
    exact = Truth(made, 1, seed=1, frame=frame, task_rows=rows)
    assert check_algebra(
        symgen.program(made, function, frame=frame, task_rows=rows), exact, function
    ).passed


@pytest.mark.parametrize(
    "function",
    [
        *SECOND,
        "inverse_dynamics:jacobian",
        "forward_dynamics:jacobian(tau,q)",
        "integrate:jacobian",
        "difference:jacobian",
        "mass_matrix:jacobian",
    ],
)
def test_second_derivatives_and_jacobians_are_exact_and_agree_with_the_others(
    function: str,
) -> None:
    name = function_named(function)
    assert algebra("planar_spherical", name).passed
    found = identities("planar_spherical", name, program("planar_spherical", name))
    assert len(found) == 1 + name.endswith("hvp")
    assert all(check.passed for check in found), [str(check) for check in found if not check.passed]


def test_an_answer_is_not_judged_by_an_equation_that_another_function_of_its_name_solves() -> None:
    """Slides along slanted axes: da_dq is nothing, and what its constants leave is no residual of the forces' derivatives."""
    made, function = random_mechanism(2, 0, "chain", ("prismatic",)), "interbody_forces:jacobian(q)"
    found = build.build_program(made, function, "constraint_force", ProgramOptions())
    assert check_algebra(found, Truth(made, 2), function).passed


@pytest.mark.parametrize(
    "function",
    [
        "inverse_dynamics:vjp(q,payload)",
        "forward_dynamics:jvp(payload)",
        "mass_matrix:jacobian(payload)",
        "step:jacobian(payload)",
    ],
)
def test_a_payload_is_an_argument_like_others(function: str) -> None:
    link = robot("sliding").frames[-1].name
    found = check_algebra(program("sliding", function, link), truth("sliding", link), function)
    assert found.passed
    with pytest.raises(
        ArgumentError,
        match=r"has no argument .payload. here; request it with payload \(--payload\)",
    ):
        program("sliding", function)


@pytest.mark.parametrize(
    ("file", "base"),
    [
        ("double_pendulum_description/urdf/double_pendulum.urdf", "free"),
        ("ur_description/urdf/ur5_robot.urdf", "fixed"),
    ],
)
def test_pinocchio_has_the_same_jacobians(file: str, base: str) -> None:
    """On a floating base by steps in the body's own axes, as here."""
    pin = pytest.importorskip("pinocchio")
    path = next(path for path in judges.files() if str(path).endswith(file))
    text = judges.snapped_text(path.read_text(encoding="utf-8"))
    model = (
        pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        if base == "free"
        else pin.buildModelFromXML(text)
    )
    data, made, random = model.createData(), symgen.load(path, base=base), np.random.default_rng(1)
    inverse, ahead = (
        machine_runner(symgen.program(made, f"{f}:jacobian"))
        for f in ("inverse_dynamics", "forward_dynamics")
    )
    for _ in range(3):
        step, v, a, tau = random.uniform(-2, 2, (4, model.nv))
        q = pin.integrate(model, pin.neutral(model), step)
        pin.computeRNEADerivatives(model, data, q, v, a)
        expected = {
            "dtau_dq": data.dtau_dq.copy(),
            "dtau_dv": data.dtau_dv.copy(),
        }  # the next call uses them
        pin.computeABADerivatives(model, data, q, v, tau)
        found = inverse({"q": q[None], "v": v[None], "a": a[None]}) | ahead(
            {"q": q[None], "v": v[None], "tau": tau[None]}
        )
        inverse_mass = np.triu(data.Minv) + np.triu(data.Minv, 1).T
        expected |= {"da_dq": data.ddq_dq, "da_dv": data.ddq_dv, "da_dtau": inverse_mass}
        for name, slope in expected.items():
            assert np.abs(found[name][0] - slope).max() < 1e-9 * np.abs(slope).max(), name


# -- errors that are planted ---------------------------------------------------------------------------------------------------


def wrong_slope(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        _partials.PARTIALS, "cos", lambda tape, own, a: [lambda: (tape.put("sin", a), False)]
    )


def wrong_quotient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        _partials.PARTIALS,
        "div",
        lambda tape, own, a, b: [
            lambda: (tape.put("div", tape.constant(1), b), False),
            lambda: (own, True),
        ],
    )


def wrong_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quaternion that turns twice as fast."""

    def doubled(kind: str) -> Program:
        found = tangents.rates_from_step(kind)
        return replace(
            found,
            rows=tuple(
                row._replace(value=Fraction(1)) if row.value == Fraction(1, 2) else row
                for row in found.rows
            ),
        )

    monkeypatch.setattr("symgen.pipeline.differentiation._draft.rates_from_step", doubled)


def lost_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        implicit.Equation, "of", lambda self, by: [name for name in by if name == "q"]
    )


PLANTS = [
    (wrong_slope, "inverse_dynamics:jvp", "sliding"),
    (wrong_slope, "inverse_dynamics:jacobian(q)", "sliding"),
    (wrong_quotient, "inverse_mass_matrix:jvp", "sliding"),
    (wrong_step, "link_poses:jvp", "free_revolute"),
    (wrong_step, "inverse_dynamics:hvp", "free_revolute"),
    (lost_argument, "forward_dynamics:vjp", "sliding"),
]


@pytest.mark.parametrize(("plant", "function", "name"), PLANTS)
def test_a_planted_error_is_caught_twice(
    plant: Any, function: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the reference, and by the identity with the other derivatives, or with the function itself."""
    base = program(name, derivatives.base_function(function))
    others = {other: program(name, other) for other in companions(function, robot(name))}
    equation = (
        program(name, "inverse_dynamics")
        if derivatives.base_function(function) == "forward_dynamics"
        else None
    )
    wanted = FUNCTIONS[function].derivative
    assert wanted is not None
    sound = differentiation.differentiate(base, wanted, equation)
    plant(monkeypatch)
    broken = differentiation.differentiate(base, wanted, equation)
    for made, passes in ((sound, True), (broken, False)):
        assert check_algebra(made, truth(name), function).passed is passes
        checks = check_identities({**others, function: made}, None, truth(name))
        first = next(check for check in checks if function in check.subject)
        assert first.passed is passes


def test_a_hessian_that_is_not_symmetric_is_caught() -> None:
    """An entry doubled: what the weights change by is then no slope of anything."""
    made = program("sliding", "kinetic_energy:hvp")
    bent, own = made.outputs
    rows = (*made.rows, Row("add", (own.rows[0], own.rows[0])))
    outputs = (bent, own._replace(rows=(len(rows) - 1, *own.rows[1:])))
    broken = replace(made, rows=rows, outputs=outputs)
    assert [check.passed for check in identities("sliding", made.function, broken)] == [
        False,
        False,
    ]


def test_a_slip_in_the_c_is_caught_by_reading_it_and_by_running_it() -> None:
    made = symgen.program("scara", "inverse_dynamics:jvp")
    target = Target("scara", symgen.load("scara").sizes)
    text = printer().source(made, target)
    place = text.index(" - ", text.index("{"))
    slip = f"{text[:place]} + {text[place + 3 :]}"
    report = verify_programs(
        Subject(
            symgen.load("scara"),
            {made.function: made},
            states=2,
            files=Files(sources={made.function: slip}, name="scara"),
        )
    )
    assert {check.kind: check.passed for check in report.checks} == {
        "algebra": True,
        "text": False,
        "floating": False,
    }


def test_what_nothing_bounds_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by `verify` nor by the self-test."""

    def boundless(made: Program, *given: Any) -> dict[str, Any]:
        return {
            name: np.full(sizes.shape, np.inf)
            for name, sizes in running_error.unit_sizes(made, given[0]).items()
        }

    made = program("sliding", "inverse_mass_matrix:jvp")
    monkeypatch.setattr(floating, "running_error_bounds", boundless)
    monkeypatch.setattr(running_error, "running_error_bounds", boundless)
    found = floating.check_floating(made, machine_runner(made), truth("sliding"), made.function)
    assert (found.lost, found.unjudged) == (True, "dMinv has no bound at these states")
    assert selftest.cases(robot("sliding"), {made.function: made}, ProgramOptions()) == []


# -- what it costs -------------------------------------------------------------------------------------------------------------


def test_what_is_zero_by_structure_is_a_constant() -> None:
    """M does not depend on the first joint's angle, nor what the last joint feels of itself on any."""
    panda = symgen.load("panda")
    made = symgen.program(panda, "mass_matrix:jacobian")
    entries = np.array(made.outputs[0].rows).reshape(7, 7, 7)
    zero = np.vectorize(lambda r: made.rows[r].value == 0)(entries)
    assert zero[:, :, 0].all()
    assert zero[6, 6].all()
    assert not zero[0, 0, 1:6].any()
    assert made.cost < 7 * symgen.program(panda, "mass_matrix:jvp").cost / 3


def test_forward_dynamics_is_differentiated_by_its_equation() -> None:
    whole = symgen.program("ur5", "forward_dynamics:vjp")
    plain = symgen.derivative(symgen.program("ur5", "forward_dynamics"), mode="vjp")
    assert (whole.inputs, [port.name for port in whole.outputs]) == (
        plain.inputs,
        ["q_bar", "v_bar", "tau_bar"],
    )
    assert whole.cost < plain.cost
    drawn = Truth(symgen.load("ur5"), 3)
    first, second = (
        machine_runner(one)(drawn.arguments(one.function, drawn.floats)) for one in (whole, plain)
    )
    assert all(np.allclose(first[name], second[name], rtol=1e-9, atol=1e-9) for name in first)


def test_a_short_turn_keeps_its_digits() -> None:
    """Where nothing turns, and nearly nothing, in either real type."""
    made = robot("free_revolute")
    found = machine_runner(symgen.program(made, "difference:jacobian", real="float"))
    q = np.zeros((3, 8))
    q[:, 6] = 1
    goal = q.copy()
    goal[1:, 3] = 1e-4, 1e-8
    with np.errstate(all="raise", under="ignore"):
        slope = found({"q": q, "q_next": goal})["ddelta_dq_next"]
    assert np.abs(slope - np.eye(7)).max() < 2e-4


# -- names ---------------------------------------------------------------------------------------------------------------------


def test_a_name_is_written_in_one_way() -> None:
    assert function_named("forward_dynamics:jacobian( v , q)") == "forward_dynamics:jacobian(q,v)"
    assert function_named("forward_dynamics:jvp(tau,v,q)") == "forward_dynamics:jvp"
    assert all(mode not in name for name in FUNCTIONS for mode in (":", "("))
    assert FUNCTIONS.in_order(
        ["mass_matrix:vjp", "jacobian", "mass_matrix:jvp", "mass_matrix"]
    ) == ["mass_matrix", "jacobian", "mass_matrix:jvp", "mass_matrix:vjp"]
    every = [
        *FUNCTIONS,
        *(name for f in FUNCTIONS for mode in MODES if (name := f"{f}:{mode}") in FUNCTIONS),
    ]
    symbols = [derivatives.identifier_part(name) for name in every]
    assert len(symbols) == len(set(symbols))


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ("forward_dynamics:jav", "no derivative of forward_dynamics is named 'jav'"),
        ("forward_dynamics:hessian", "'hessian' is called hvp here"),
        ("forward_dynamics:swirl", "there are: jvp, vjp, jacobian, hvp"),
        (
            "forward_dynamics:jvp(a)",
            "no argument of forward_dynamics is named 'a'; did you mean 'tau'?",
        ),
        ("forward_dynamics:jvp()", "no argument of forward_dynamics is named ''"),
        ("forward_dynamics:jvp(q", "names no derivative; write FUNCTION:MODE"),
        ("forward_dynamics:jvp:jvp", "names no derivative; write FUNCTION:MODE"),
        ("rnea:jvp", "'rnea' is called inverse_dynamics here"),
        (
            "center_of_mass:jacobian",
            "is called center_of_mass_jacobian here, a function in its own right",
        ),
    ],
)
def test_a_name_that_means_nothing_is_refused(request_: str, sentence: str) -> None:
    with pytest.raises(UnknownName, match=re.escape(sentence)):
        symgen.program("scara", request_)


def test_what_is_too_long_says_how_long_and_what_else_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base = symgen.program("scara", "inverse_dynamics")
    monkeypatch.setattr(differentiation, "ROW_BUDGET", 20)
    ways = r"request inverse_dynamics:vjp or inverse_dynamics:jvp, .*, or a part of it, as inverse_dynamics:jacobian\(q\)"
    with pytest.raises(
        OutOfReach, match=rf"inverse_dynamics:jacobian needs about \d+ rows, more than 20; {ways}"
    ):
        symgen.derivative(base)
    monkeypatch.setattr(differentiation, "LEFT", 1000)
    with pytest.raises(
        OutOfReach, match=r"inverse_dynamics:vjp\(q\) needs \d+ rows, more than 20; lock joints"
    ):
        symgen.derivative(base, "q", "vjp")


def test_a_program_is_differentiated_by_what_is_named() -> None:
    base = symgen.program("scara", "inverse_dynamics")
    made = symgen.derivative(base, ["a", "q"])
    assert made.function == "inverse_dynamics:jacobian(q,a)"
    assert [(port.name, port.shape) for port in made.outputs] == [
        ("dtau_dq", (4, 4)),
        ("dtau_da", (4, 4)),
    ]
    with pytest.raises(ArgumentError, match="no argument of inverse_dynamics is named 'tau'"):
        symgen.derivative(base, "tau")
    with pytest.raises(
        ArgumentError,
        match="is a derivative already; differentiate inverse_dynamics, whose mode hvp",
    ):
        symgen.derivative(made)
    own = replace(base, function="mine")
    assert symgen.derivative(own, "q", "jvp").function == "mine:jvp(q)"


# -- as a user has it ----------------------------------------------------------------------------------------------------------


def test_a_folder_of_derivatives_is_built_called_and_verified(tmp_path: Path) -> None:
    asked = ["inverse_dynamics:jacobian(q,v)", "forward_dynamics:vjp", "inverse_dynamics"]
    manifest = symgen.generate("scara", tmp_path / "scara", asked, wrap=["cpp17"])
    assert list(manifest["functions"]) == [
        "inverse_dynamics",
        "inverse_dynamics:jacobian(q,v)",
        "forward_dynamics:vjp",
    ]
    entry = manifest["functions"]["inverse_dynamics:jacobian(q,v)"]
    assert (entry["symbol"], entry["file"]) == (
        "scara_inverse_dynamics_jacobian_q_v",
        "scara_inverse_dynamics_jacobian_q_v.c",
    )
    command = json.loads((tmp_path / "scara" / "manifest.json").read_text(encoding="utf-8"))[
        "command"
    ]
    assert "'inverse_dynamics:jacobian(q,v)=derivative_recursion'" in command
    words = [
        *find_compiler(),
        "-std=c99",
        "-ffp-contract=off",
        "-Dscara_SELFTEST",
        *map(str, (tmp_path / "scara").glob("*.c")),
    ]
    subprocess.run([*words, "-o", str(tmp_path / "selftest"), "-lm"], check=True)
    said = subprocess.run(
        [tmp_path / "selftest"], check=True, capture_output=True, text=True
    ).stdout
    assert "inverse_dynamics:jacobian(q,v): passed (3 states)" in said
    assert symgen.verify(tmp_path / "scara", states=2).passed


@pytest.mark.parametrize(
    "request_", ["interbody_forces:vjp", "forward_dynamics:jacobian=constraint_force"]
)
def test_a_folder_of_one_derivative_stands_alone(request_: str, tmp_path: Path) -> None:
    """Its header knows the bodies that an argument has rows of. Its self-test bounds da_dq as a derivative's, and not as the
    solution of the equation that another function of results of that name solves.
    """
    symgen.generate("scara", tmp_path / "scara", [request_])
    words = [
        *find_compiler(),
        "-std=c99",
        "-ffp-contract=off",
        "-Dscara_SELFTEST",
        *map(str, (tmp_path / "scara").glob("*.c")),
    ]
    subprocess.run([*words, "-o", str(tmp_path / "selftest"), "-lm"], check=True)
    subprocess.run([tmp_path / "selftest"], check=True, capture_output=True)


def test_a_solver_has_a_method_for_each() -> None:
    solver = symgen.compile(
        "scara", ["inverse_dynamics", "inverse_dynamics:jacobian(q)", "inverse_dynamics:jvp(q)"]
    )
    q, v, a, dq = np.random.default_rng(3).uniform(-1, 1, (4, 4))
    slope = solver.inverse_dynamics_jacobian_q(q, v, a)
    assert np.allclose(solver.inverse_dynamics_jvp_q(q, v, a, dq), slope @ dq)
    h = 1e-6
    quotient = (
        solver.inverse_dynamics(q + h * dq, v, a) - solver.inverse_dynamics(q - h * dq, v, a)
    ) / (2 * h)
    assert np.allclose(slope @ dq, quotient, atol=1e-6)
    assert solver.functions == (
        "inverse_dynamics",
        "inverse_dynamics:jvp(q)",
        "inverse_dynamics:jacobian(q)",
    )


def test_unread_arguments_stay_and_positions_are_told_by_their_joints() -> None:
    made = forward.jvp(program("free_revolute", "gravity_force"), ["q"])
    assert [(port.name, port.size) for port in made.inputs] == [("q", 8), ("dq", 7)]
    assert all(
        name in {array.name for f in FUNCTIONS.values() for array in (*f.arguments, *f.results)}
        for name in POSITIONS
    )
    assert build.requested(robot("free_revolute"), ["gravity_force:jvp=newton_euler"]) == {
        "gravity_force:jvp": "newton_euler"
    }


def test_a_derivative_of_derivatives_is_made_again_by_its_method() -> None:
    """Its method is that of the rows that it is made of, as a manifest has it."""
    function = "forward_dynamics_derivatives:jvp(q)"
    first = symgen.program("planar_arm", function)
    assert symgen.program("planar_arm", function, first.method).rows == first.rows
