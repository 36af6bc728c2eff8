"""Derivatives of Programs: exactness for every function, structural zeros, names of requests."""

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
from symgen.verification.exact_results import ExactResults
from symgen.verification.identities import check_identities, companions
from symgen.verification.report import Check
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Files, Subject
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
def exact_results(name: str, payload: str | None = None) -> ExactResults:
    mechanism = robot(name)
    return ExactResults(mechanism, 1, seed=1, frame=mechanism.frames[-1].name, payload=payload)


def program(name: str, function: str, payload: str | None = None) -> Program:
    return symgen.program(robot(name), function, frame=robot(name).frames[-1].name, payload=payload)


def algebra(name: str, function: str) -> Check:
    return check_algebra(program(name, function), exact_results(name), function)


def identities(name: str, function: str, differentiated: Program) -> list[Check]:
    companion_programs = {
        companion: program(name, companion) for companion in companions(function, robot(name))
    }
    return [
        check
        for check in check_identities(
            {**companion_programs, function: differentiated}, None, exact_results(name)
        )
        if function in check.subject
    ]


@pytest.mark.parametrize(("name", "function"), EVERY)
def test_first_derivatives_of_every_function_are_exact(name: str, function: str) -> None:
    """Robots: a floating base, joints of several degrees of freedom, a tree of one-axis joints."""
    assert algebra(name, function).passed


@pytest.mark.parametrize("function", [f"{f}:{mode}" for f in OF_TASKS for mode in ("jvp", "vjp")])
def test_derivatives_of_task_functions_are_exact(function: str) -> None:
    mechanism = robot("free_revolute")
    rows, frame = (0, 3), "link0"  # link0 is the floating base
    exact = ExactResults(mechanism, 1, seed=1, frame=frame, task_rows=rows)
    assert check_algebra(
        symgen.program(mechanism, function, frame=frame, task_rows=rows), exact, function
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
def test_second_derivatives_and_jacobians_are_exact_and_consistent(
    function: str,
) -> None:
    name = function_named(function)
    assert algebra("planar_spherical", name).passed
    checks = identities("planar_spherical", name, program("planar_spherical", name))
    assert len(checks) == 1 + name.endswith("hvp")
    assert all(check.passed for check in checks), [
        str(check) for check in checks if not check.passed
    ]


def test_a_result_is_not_judged_by_the_equation_of_another_function_with_that_result() -> None:
    """For slanted prismatic joints da_dq is zero; its round-off is no residual of the forces."""
    mechanism, function = (
        random_mechanism(2, 0, "chain", ("prismatic",)),
        "interbody_forces:jacobian(q)",
    )
    derivative = build.build_program(mechanism, function, "constraint_force", ProgramOptions())
    assert check_algebra(derivative, ExactResults(mechanism, 2), function).passed


@pytest.mark.parametrize(
    "function",
    [
        "inverse_dynamics:vjp(q,payload)",
        "forward_dynamics:jvp(payload)",
        "mass_matrix:jacobian(payload)",
        "step:jacobian(payload)",
    ],
)
def test_derivatives_with_respect_to_a_payload_are_exact(function: str) -> None:
    link = robot("sliding").frames[-1].name
    check = check_algebra(
        program("sliding", function, link), exact_results("sliding", link), function
    )
    assert check.passed
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
    """Both differentiate a floating base along steps in the body's axes."""
    pin = pytest.importorskip("pinocchio")
    path = next(path for path in judges.files() if str(path).endswith(file))
    text = judges.snapped_text(path.read_text(encoding="utf-8"))
    model = (
        pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        if base == "free"
        else pin.buildModelFromXML(text)
    )
    data, mechanism, random = (
        model.createData(),
        symgen.load(path, base=base),
        np.random.default_rng(1),
    )
    inverse_jacobian, forward_jacobian = (
        machine_runner(symgen.program(mechanism, f"{f}:jacobian"))
        for f in ("inverse_dynamics", "forward_dynamics")
    )
    for _ in range(3):
        step, v, a, tau = random.uniform(-2, 2, (4, model.nv))
        q = pin.integrate(model, pin.neutral(model), step)
        pin.computeRNEADerivatives(model, data, q, v, a)
        expected = {
            "dtau_dq": data.dtau_dq.copy(),
            "dtau_dv": data.dtau_dv.copy(),
        }  # the next call overwrites the arrays
        pin.computeABADerivatives(model, data, q, v, tau)
        computed = inverse_jacobian({"q": q[None], "v": v[None], "a": a[None]}) | forward_jacobian(
            {"q": q[None], "v": v[None], "tau": tau[None]}
        )
        inverse_mass = np.triu(data.Minv) + np.triu(data.Minv, 1).T
        expected |= {"da_dq": data.ddq_dq, "da_dv": data.ddq_dv, "da_dtau": inverse_mass}
        for name, slope in expected.items():
            assert np.abs(computed[name][0] - slope).max() < 1e-9 * np.abs(slope).max(), name


# -- planted errors --------------------------------------------------------------------------------


def wrong_slope(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        _partials.PARTIALS, "cos", lambda tape, value, a: [lambda: (tape.put("sin", a), False)]
    )


def wrong_quotient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        _partials.PARTIALS,
        "div",
        lambda tape, value, a, b: [
            lambda: (tape.put("div", tape.constant(1), b), False),
            lambda: (value, True),
        ],
    )


def wrong_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Double the rate of a quaternion."""

    def doubled(kind: str) -> Program:
        rates = tangents.rates_from_step(kind)
        return replace(
            rates,
            rows=tuple(
                row._replace(value=Fraction(1)) if row.value == Fraction(1, 2) else row
                for row in rates.rows
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
def test_a_planted_error_fails_the_algebra_and_the_identities(
    plant: Any, function: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Algebra compares with the reference, identities with other derivatives or the function."""
    base = program(name, derivatives.base_function(function))
    companion_programs = {
        companion: program(name, companion) for companion in companions(function, robot(name))
    }
    equation = (
        program(name, "inverse_dynamics")
        if derivatives.base_function(function) == "forward_dynamics"
        else None
    )
    derivative = FUNCTIONS[function].derivative
    assert derivative is not None
    sound = differentiation.differentiate(base, derivative, equation)
    plant(monkeypatch)
    broken = differentiation.differentiate(base, derivative, equation)
    for differentiated, passes in ((sound, True), (broken, False)):
        assert check_algebra(differentiated, exact_results(name), function).passed is passes
        checks = check_identities(
            {**companion_programs, function: differentiated}, None, exact_results(name)
        )
        first = next(check for check in checks if function in check.subject)
        assert first.passed is passes


def test_an_asymmetric_hessian_fails_the_identities() -> None:
    """With one entry doubled the gradient belongs to no function."""
    hessian = program("sliding", "kinetic_energy:hvp")
    gradient, change = hessian.outputs
    rows = (*hessian.rows, Row("add", (change.rows[0], change.rows[0])))
    outputs = (gradient, change._replace(rows=(len(rows) - 1, *change.rows[1:])))
    broken = replace(hessian, rows=rows, outputs=outputs)
    assert [check.passed for check in identities("sliding", hessian.function, broken)] == [
        False,
        False,
    ]


def test_an_error_in_the_c_fails_text_and_floating() -> None:
    derivative = symgen.program("scara", "inverse_dynamics:jvp")
    target = Target("scara", symgen.load("scara").sizes)
    text = printer().source(derivative, target)
    minus = text.index(" - ", text.index("{"))
    slip = f"{text[:minus]} + {text[minus + 3 :]}"
    report = verify_programs(
        Subject(
            symgen.load("scara"),
            {derivative.function: derivative},
            states=2,
            files=Files(sources={derivative.function: slip}, name="scara"),
        )
    )
    assert {check.kind: check.passed for check in report.checks} == {
        "algebra": True,
        "text": False,
        "floating": False,
    }


def test_results_without_an_error_bound_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither `verify` nor the self-test judges them."""

    def boundless(derivative: Program, *arguments: Any) -> dict[str, Any]:
        return {
            name: np.full(sizes.shape, np.inf)
            for name, sizes in running_error.unit_sizes(derivative, arguments[0]).items()
        }

    derivative = program("sliding", "inverse_mass_matrix:jvp")
    monkeypatch.setattr(floating, "running_error_bounds", boundless)
    monkeypatch.setattr(running_error, "running_error_bounds", boundless)
    check = floating.check_floating(
        derivative, machine_runner(derivative), exact_results("sliding"), derivative.function
    )
    assert (check.lost, check.unjudged) == (True, "dMinv has no bound at these states")
    assert (
        selftest.cases(robot("sliding"), {derivative.function: derivative}, ProgramOptions()) == []
    )


# -- operations ------------------------------------------------------------------------------------


def test_structural_zeros_are_constants() -> None:
    """M does not depend on the first joint's angle, and M[6,6] depends on no angle."""
    panda = symgen.load("panda")
    jacobian = symgen.program(panda, "mass_matrix:jacobian")
    entries = np.array(jacobian.outputs[0].rows).reshape(7, 7, 7)
    zero = np.vectorize(lambda r: jacobian.rows[r].value == 0)(entries)
    assert zero[:, :, 0].all()
    assert zero[6, 6].all()
    assert not zero[0, 0, 1:6].any()
    assert jacobian.cost < 7 * symgen.program(panda, "mass_matrix:jvp").cost / 3


def test_the_implicit_derivative_of_forward_dynamics_is_shorter() -> None:
    by_equation = symgen.program("ur5", "forward_dynamics:vjp")
    by_rows = symgen.derivative(symgen.program("ur5", "forward_dynamics"), mode="vjp")
    assert (by_equation.inputs, [port.name for port in by_equation.outputs]) == (
        by_rows.inputs,
        ["q_bar", "v_bar", "tau_bar"],
    )
    assert by_equation.cost < by_rows.cost
    states = ExactResults(symgen.load("ur5"), 3)
    first, second = (
        machine_runner(derivative)(states.arguments(derivative.function, states.floats))
        for derivative in (by_equation, by_rows)
    )
    assert all(np.allclose(first[name], second[name], rtol=1e-9, atol=1e-9) for name in first)


def test_derivatives_of_small_rotations_lose_no_precision() -> None:
    """Rotations by 0, 2e-4 and 2e-8 rad, in float."""
    mechanism = robot("free_revolute")
    evaluate = machine_runner(symgen.program(mechanism, "difference:jacobian", real="float"))
    q = np.zeros((3, 8))
    q[:, 6] = 1
    goal = q.copy()
    goal[1:, 3] = 1e-4, 1e-8
    with np.errstate(all="raise", under="ignore"):
        slope = evaluate({"q": q, "q_next": goal})["ddelta_dq_next"]
    assert np.abs(slope - np.eye(7)).max() < 2e-4


# -- names -----------------------------------------------------------------------------------------


def test_names_of_derivatives_are_normalised_and_unique() -> None:
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
def test_an_invalid_name_is_refused_with_a_suggestion(request_: str, sentence: str) -> None:
    with pytest.raises(UnknownName, match=re.escape(sentence)):
        symgen.program("scara", request_)


def test_too_long_a_derivative_is_refused_with_its_length_and_alternatives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base = symgen.program("scara", "inverse_dynamics")
    monkeypatch.setattr(differentiation, "ROW_BUDGET", 20)
    alternatives = (
        r"request inverse_dynamics:vjp or inverse_dynamics:jvp, .*, or a part of it, as"
        r" inverse_dynamics:jacobian\(q\)"
    )
    with pytest.raises(
        OutOfReach,
        match=rf"inverse_dynamics:jacobian needs about \d+ rows, more than 20; {alternatives}",
    ):
        symgen.derivative(base)
    monkeypatch.setattr(differentiation, "LEFT", 1000)
    with pytest.raises(
        OutOfReach, match=r"inverse_dynamics:vjp\(q\) needs \d+ rows, more than 20; lock joints"
    ):
        symgen.derivative(base, "q", "vjp")


def test_a_program_is_differentiated_by_the_named_arguments() -> None:
    base = symgen.program("scara", "inverse_dynamics")
    jacobian = symgen.derivative(base, ["a", "q"])
    assert jacobian.function == "inverse_dynamics:jacobian(q,a)"
    assert [(port.name, port.shape) for port in jacobian.outputs] == [
        ("dtau_dq", (4, 4)),
        ("dtau_da", (4, 4)),
    ]
    with pytest.raises(ArgumentError, match="no argument of inverse_dynamics is named 'tau'"):
        symgen.derivative(base, "tau")
    with pytest.raises(
        ArgumentError,
        match="is already a derivative; differentiate inverse_dynamics, whose mode hvp",
    ):
        symgen.derivative(jacobian)
    renamed = replace(base, function="mine")
    assert symgen.derivative(renamed, "q", "jvp").function == "mine:jvp(q)"


# -- user interface --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_folder_of_derivatives_passes_its_self_test_and_verify(tmp_path: Path) -> None:
    functions = ["inverse_dynamics:jacobian(q,v)", "forward_dynamics:vjp", "inverse_dynamics"]
    manifest = symgen.generate("scara", tmp_path / "scara", functions, wrap=["cpp17"])
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
    output = subprocess.run(
        [tmp_path / "selftest"], check=True, capture_output=True, text=True
    ).stdout
    assert "inverse_dynamics:jacobian(q,v): passed (3 states)" in output
    assert symgen.verify(tmp_path / "scara", states=2).passed


@pytest.mark.slow
@pytest.mark.parametrize(
    "request_", ["interbody_forces:vjp", "forward_dynamics:jacobian=constraint_force"]
)
def test_a_folder_with_one_derivative_passes_its_self_test(request_: str, tmp_path: Path) -> None:
    """The header defines the number of bodies where an argument has one row per body.

    The self-test bounds da_dq as a derivative. Another function has a result da_dq too, which it
    bounds as the solution of an equation.
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


def test_a_solver_has_a_method_for_each_derivative() -> None:
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


def test_a_tangent_of_positions_has_one_entry_per_velocity() -> None:
    derivative = forward.jvp(program("free_revolute", "gravity_force"), ["q"])
    assert [(port.name, port.size) for port in derivative.inputs] == [("q", 8), ("dq", 7)]
    assert all(
        name in {array.name for f in FUNCTIONS.values() for array in (*f.arguments, *f.results)}
        for name in POSITIONS
    )
    assert build.requested(robot("free_revolute"), ["gravity_force:jvp=newton_euler"]) == {
        "gravity_force:jvp": "newton_euler"
    }


def test_a_derivative_of_derivatives_is_reproduced_by_its_method_name() -> None:
    """A manifest records the method name."""
    function = "forward_dynamics_derivatives:jvp(q)"
    first = symgen.program("planar_arm", function)
    assert symgen.program("planar_arm", function, first.method).rows == first.rows
