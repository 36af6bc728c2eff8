"""Run-time parameters: with new values the C equals that of a robot described with these values, at
little cost.
"""

from __future__ import annotations

import ctypes
import json
import pickle
import shlex
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pytest

import symgen
import symgen.dask
from symgen import cli, methods
from symgen.delivery.verifying import verify
from symgen.ir.program import EXACT, Program, evaluate
from symgen.mechanism.adjustable import adjust_mechanism, adjustable_parameters
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import adjusting, build
from symgen.support.errors import ArgumentError, MethodRefusal, OutOfReach, SymgenError, UnknownName
from symgen.verification.adjusted import draw_adjusted_robot, draw_parameters
from symgen.verification.algebra import check_algebra
from symgen.verification.exact_results import ExactResults
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.functions import FUNCTIONS, JUDGE, PREPARING, REGROUP
from symgen.vocabulary.options import ProgramOptions
from tests.shared.analysers import tool
from tests.shared.c99 import WARNINGS
from tests.shared.doc_samples import samples
from tests.shared.firmware_tools import make, need
from tests.shared.folders import run as command
from tests.shared.folders import selftest
from tests.shared.robots_for_tests import robot

ALL = ("*",)
DYNAMICS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


def build_programs(
    mechanism: Mechanism, functions: Sequence[str], words: Sequence[str], **options: Any
) -> dict[str, Program]:
    chosen = ProgramOptions(parameters=tuple(words), **options)
    return build.programs(mechanism, functions, chosen)


def failed_checks(
    mechanism: Mechanism, programs: dict[str, Program], words: Sequence[str]
) -> list[str]:
    """Return the checks that fail, without compiling."""
    chosen = ProgramOptions(parameters=adjusting.parameter_names(mechanism, words))
    report = verify_programs(Subject(mechanism, programs, chosen, states=2, compiled=False))
    return [
        f"{check.kind} {check.subject}"
        for check in report.checks
        if not check.passed and not check.unjudged
    ]


# -- requests --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("link4", ["link4.mass", "link4.centre", "link4.inertia"]),
        ("*.mass", ["link1.mass", "link2.mass", "link3.mass", "link4.mass"]),
        ("link[12].centre", ["link1.centre", "link2.centre"]),
        ("payload:link4", ["payload:link4.mass", "payload:link4.centre", "payload:link4.inertia"]),
        ("gravity", ["gravity"]),
    ],
)
def test_names_and_patterns_select_parameters(word: str, names: list[str]) -> None:
    assert [
        parameter.name for parameter in adjustable_parameters(symgen.load("scara"), [word])
    ] == names


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("base.mass", "fixed to the base, so that no joint force depends on it"),
        ("link1.length", "lengths and axes are constants of the C"),
        ("joint2.axis", "lengths and axes are constants of the C"),
        ("link1.com", "did you mean 'link1.centre'?"),
        ("lnik1", "did you mean 'link1'?"),
        ("*.colour", "no parameter matches"),
    ],
)
def test_a_request_for_a_constant_is_refused_with_the_reason(word: str, message: str) -> None:
    with pytest.raises(SymgenError, match=message.replace("?", r"\?")) as caught:
        symgen.program("scara", "mass_matrix", parameters=[word])
    assert "\n" not in str(caught.value)


def test_a_function_that_depends_on_no_parameter_is_refused() -> None:
    with pytest.raises(
        ArgumentError, match=r"no requested function \(jacobian\) depends on link1\.mass"
    ):
        build.programs(
            symgen.load("scara"), ["jacobian"], ProgramOptions(parameters=("link1.mass",))
        )
    with pytest.raises(OutOfReach, match="name some with --parameter"):
        symgen.program("scara", REGROUP)


@pytest.mark.parametrize("mode", ["jvp", "vjp", "jacobian", "hvp"])
@pytest.mark.parametrize("parameters", [("--parameter", "*"), ("--parameter", "gravity"), ()])
def test_a_derivative_by_parameters_is_refused_alike_by_both_interfaces(
    mode: str, parameters: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for by in ("prepared", "parameters", "q,prepared"):
        name = f"forward_dynamics:{mode}({by})"
        with pytest.raises(UnknownName) as caught:
            symgen.compile("planar_arm", ["forward_dynamics", name], parameters=parameters[1:])
        assert str(caught.value) == (
            f"{name}: there is no derivative with respect to run-time parameters; regressor is the "
            "derivative of inverse_dynamics by inertial parameters"
        )
        assert (
            cli.main(["generate", "planar_arm", "-f", "forward_dynamics", "-f", name, *parameters])
            == 2
        )
        assert capsys.readouterr().err == f"symgen: {caught.value}\n"


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (
            None,
            "has no argument 'payload' here;"
            " request it with payload (--payload), which names a link that moves",
        ),
        (
            "base",
            "of this robot does not depend on 'payload', and the derivative is zero;"
            " leave 'payload' out",
        ),
    ],
)
def test_a_derivative_by_a_missing_argument_is_refused_with_the_reason(
    payload: str | None, message: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        symgen.program("planar_arm", "forward_dynamics:jacobian(q,payload)", payload=payload)
    assert str(caught.value) == f"forward_dynamics:jacobian(q,payload): forward_dynamics {message}"


def test_a_runge_kutta_step_accepts_parameters() -> None:
    assert verify(
        symgen.load("planar_arm"), ["step_rk4"], 2, parameters=("gravity",), compiled=False
    ).passed


# -- results ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("scara", ALL),
        ("scara", ("payload:link4", "link2.mass")),
        ("planar_arm", ("gravity",)),
        ("spherical_pendulum", ALL),
        ("ur5", ("forearm_link.inertia",)),
        ("quadruped", ("FL_*", "gravity")),
    ],
)
def test_every_result_equals_that_of_a_robot_described_with_the_new_values(
    name: str, parameters: tuple[str, ...]
) -> None:
    functions = DYNAMICS if name in ("ur5", "quadruped") else None
    assert verify(
        symgen.load(name), functions, 2, parameters=parameters, compiled=name == "scara"
    ).passed


@pytest.mark.parametrize(
    "parameters",
    [
        ("payload:link2",),
        ("payload:link1.mass", "link2.centre"),
        ("link2.mass", "payload:link2.inertia"),
        ("gravity", "payload:link2.centre"),
        ("link1.inertia",),
    ],
    ids=" ".join,
)
def test_numbers_that_are_no_parameters_keep_their_values(parameters: tuple[str, ...]) -> None:
    """A load does not replace the link that carries it, nor a mass the moments of inertia."""
    assert verify(
        symgen.load("planar_arm"),
        ["mass_matrix", "bias_force"],
        1,
        parameters=parameters,
        compiled=False,
    ).passed


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("tree5", "*"),
        ("prismatic_prismatic", "*"),
        ("planar_arm", "*.mass"),
        ("planar_point_mass", "*.mass"),
    ],
)
@pytest.mark.parametrize(
    "function", ["mass_matrix", "forward_dynamics", "mass_matrix_determinant", "interbody_forces"]
)
def test_every_method_accepts_parameters(name: str, parameters: str, function: str) -> None:
    mechanism, tried = robot(name), 0
    regroup = build.build_program(
        mechanism, REGROUP, None, ProgramOptions(parameters=(parameters,))
    )
    anew = draw_adjusted_robot(
        mechanism,
        {REGROUP: regroup},
        ProgramOptions(parameters=adjusting.parameter_names(mechanism, [parameters])),
        1,
    )
    exact_results = ExactResults(mechanism, 2, adjusted=anew, frame=mechanism.frames[-1].name)
    for method in methods.names():
        try:
            program = symgen.program(
                mechanism,
                function,
                method,
                parameters=[parameters],
                frame=mechanism.frames[-1].name,
            )
        except SymgenError:
            continue
        assert check_algebra(program, exact_results, method).passed, method
        tried += 1
    assert tried >= 2


@pytest.mark.slow
def test_a_method_that_needs_constant_inertias_is_not_chosen() -> None:
    """The form of Fixman's method depends on the inertias, so it refuses run-time inertias."""
    chain = symgen.load("planar_point_mass:4")
    assert verify(chain, None, 2, parameters=["*.mass"], compiled=False).passed
    with pytest.raises(MethodRefusal, match=r"fixman needs constant inertias"):
        symgen.program(chain, "forward_dynamics", "fixman", parameters=["*.mass"])


def test_derivatives_and_composed_functions_accept_parameters() -> None:
    functions = [
        "inverse_dynamics_derivatives",
        "forward_dynamics_derivatives",
        "step",
        "coriolis_matrix",
        "base_regressor",
        "inverse_dynamics:vjp",
        "forward_dynamics:jacobian(tau)",
    ]
    assert verify(symgen.load("planar_arm"), functions, 2, parameters=ALL, compiled=False).passed


def test_the_regressor_agrees_with_inverse_dynamics() -> None:
    """Y π equals tau with the parameters in π; Y itself depends on gravity alone."""
    robot = symgen.load("scara")
    programs = build_programs(robot, ["regressor", "inverse_dynamics"], ("*.mass", "gravity"))
    assert [port.name for port in programs["regressor"].inputs] == ["q", "v", "a", "prepared"]
    assert failed_checks(robot, programs, ("*.mass", "gravity")) == []


@pytest.mark.parametrize("planted", ["constant", "other", "place"])
def test_a_parameter_that_does_not_reach_the_rows_fails_verification(planted: str) -> None:
    """Plant a parameter that stays constant, one replaced by another, or all shifted by one."""
    robot = symgen.load("scara")
    programs = build_programs(robot, DYNAMICS, ALL)
    program = programs["inverse_dynamics"]
    at = len(program.inputs) - 1
    rows = list(program.rows)
    where = [i for i, row in enumerate(rows) if row.op == "input" and row.value[0] == at]
    if planted == "constant":
        adjusting_parameters = adjusting.make_adjusting(
            robot, adjusting.parameter_names(robot, ALL)
        )
        prepared = evaluate(
            programs[REGROUP], {"parameters": list(adjusting_parameters.defaults)}, EXACT
        )["prepared"]
        rows[where[0]] = rows[where[0]]._replace(
            op="const", value=Fraction(prepared[rows[where[0]].value[1]])
        )
    elif planted == "other":
        rows[where[0]] = rows[where[0]]._replace(value=rows[where[1]].value)
    else:
        regroup = programs[REGROUP]
        (port,) = regroup.outputs
        programs[REGROUP] = replace(
            regroup, outputs=(port._replace(rows=(*port.rows[1:], port.rows[0])),)
        )
    programs["inverse_dynamics"] = replace(program, rows=tuple(rows))
    assert "algebra inverse_dynamics=newton_euler" in failed_checks(robot, programs, ALL)


# -- costs -----------------------------------------------------------------------------------------


@cache
def costs(name: str, parameters: tuple[str, ...]) -> dict[str, int]:
    functions = ("inverse_dynamics", "forward_dynamics")
    programs = build_programs(symgen.load(name), functions, parameters)
    baked = {f"baked {f}": symgen.program(name, f).cost for f in functions}
    return {f: program.cost for f, program in programs.items()} | baked


@pytest.mark.slow
@pytest.mark.usefixtures("as_users_have_them")
def test_parameters_add_few_operations() -> None:
    panda_costs = costs("panda", ("panda_link[1-7]",))
    assert panda_costs["inverse_dynamics"] <= 1.03 * panda_costs["baked inverse_dynamics"] + 5
    assert panda_costs["forward_dynamics"] <= 1.02 * panda_costs["baked forward_dynamics"] + 5
    assert (
        panda_costs["inverse_dynamics"],
        panda_costs["forward_dynamics"],
        panda_costs[REGROUP],
    ) == (554, 997, 121)
    gravity = costs("panda", ("gravity",))
    assert (gravity["inverse_dynamics"], gravity["forward_dynamics"], gravity[REGROUP]) == (
        569,
        1017,
        0,
    )
    forearm = costs("ur5", ("forearm_link",))
    assert forearm["inverse_dynamics"] <= forearm["baked inverse_dynamics"] + 60
    assert forearm["inverse_dynamics"] == 247
    assert forearm["forward_dynamics"] <= forearm["baked forward_dynamics"] + 60


# -- C ---------------------------------------------------------------------------------------------


def scara_folder(
    tmp_path: Path, real: str = "double", checked: bool = False, **options: Any
) -> Path:
    """Generate SCARA with run-time gravity and parameters of its last link; return the folder."""
    target = tmp_path / "scara"
    symgen.generate(
        "scara",
        target,
        ["inverse_dynamics", "mass_matrix_solve"],
        real,
        checked=checked,
        parameters=["link4", "gravity"],
        **options,
    )
    return target


@pytest.mark.slow
@pytest.mark.parametrize(("real", "checked"), [("double", False), ("float", True)])
def test_c_sets_and_refuses_parameters(tmp_path: Path, real: str, checked: bool) -> None:
    out = scara_folder(tmp_path, real, checked)
    assert selftest(out).returncode == 0
    library = tmp_path / "scara.so"
    sources = [path for path in out.glob("*.c") if not path.name.endswith("_selftest.c")]
    built = command(
        "gcc", "-std=c99", "-shared", "-fPIC", *WARNINGS, *sources, "-o", library, "-lm"
    )
    assert built.returncode == 0, built.stderr
    loaded, kind = (
        ctypes.CDLL(str(library)),
        {"double": ctypes.c_double, "float": ctypes.c_float}[real],
    )
    manifest = json.loads((out / "manifest.json").read_text())
    size = manifest["functions"][REGROUP]["result"]["shape"][0]
    defaults = list((kind * 13).in_dll(loaded, "scara_DEFAULTS"))
    assert defaults == pytest.approx(
        [0.5, 0, 0, 0.02, 0.0006, 0, 0, 0.0006, 0, 0.0002, 0, 0, -9.81]
    )

    def status(numbers: Sequence[float]) -> tuple[int, list[float]]:
        prepared = (kind * size)(*[-7.0] * size)
        return loaded.scara_set_parameters((kind * 13)(*numbers), prepared), list(prepared)

    answer, prepared = status(defaults)
    assert answer == 0
    assert prepared != [-7.0] * size
    for index, number, expected in (
        (0, -0.1, 2),
        (4, 0.1, 2),
        (12, float("nan"), 1),
        (1, float("inf"), 1),
    ):
        refused = status([*defaults[:index], number, *defaults[index + 1 :]])
        assert refused == (expected, [-7.0] * size), (index, refused)
    assert status([0.0] * 13)[0] == 3  # the last joint would carry no mass
    if checked:  # results of both functions overflow a float
        for change in ({1: 1e30}, {4: 3e38, 7: 3e38, 9: 3e38}):
            assert status([change.get(index, number) for index, number in enumerate(defaults)]) == (
                4,
                [-7.0] * size,
            ), change


STUBS = """
#include "scara_parameters.h"
int judge_status, regroup_status;
int scara_judge_parameters(const float parameters[13], float judged[scara_NJ],
                           float carried[scara_NC])
{
    (void)parameters;
    for (int k = 0; k < scara_NJ; ++k) { judged[k] = 1.0f; }
    for (int k = 0; k < scara_NC; ++k) { carried[k] = 1.0f; }
    return judge_status;
}
int scara_regroup_parameters(const float parameters[13], float prepared[scara_NS])
{
    (void)parameters; (void)prepared;
    return regroup_status;
}
"""


def test_setting_parameters_returns_the_status_of_each_called_function(tmp_path: Path) -> None:
    out = scara_folder(tmp_path, "float", True)
    (out / "stubs.c").write_text(STUBS)
    files = [out / "stubs.c", out / "scara_set_parameters.c"]
    built = command("gcc", "-std=c99", "-shared", "-fPIC", *files, "-o", out / "stubs.so")
    assert built.returncode == 0, built.stderr
    loaded = ctypes.CDLL(str(out / "stubs.so"))
    for judge, regroup, expected in ((0, 0, 0), (6, 0, 4), (0, 6, 4), (0, 3, 4)):
        for name, status in (("judge_status", judge), ("regroup_status", regroup)):
            ctypes.c_int.in_dll(loaded, name).value = status
        prepared = (ctypes.c_float * 64)()
        assert loaded.scara_set_parameters((ctypes.c_float * 13)(), prepared) == expected


@pytest.mark.slow
def test_a_folder_with_parameters_passes_verification(tmp_path: Path) -> None:
    out = scara_folder(tmp_path, checked=True, batch=True, wrap=("cpp17", "casadi"))
    assert selftest(out).returncode == 0
    report = verify(out)
    assert report.passed
    assert "13 run-time numbers were drawn once" in str(report)
    assert "from the run-time parameters" in " ".join((out / "README.md").read_text().split())
    assert verify(out, ["inverse_dynamics"]).passed
    words = shlex.split(json.loads((out / "manifest.json").read_text())["command"])
    assert [words[i + 1] for i, word in enumerate(words) if word == "--parameter"] == [
        "link4.mass",
        "link4.centre",
        "link4.inertia",
        "gravity",
    ]
    assert not any(name in word for word in words for name in PREPARING)
    text = (out / "scara_inverse_dynamics.c").read_text()
    assert "const scara_prepared *prepared" in text
    (out / "scara_inverse_dynamics.c").write_text(
        text.replace("prepared->value[0]", "prepared->value[1]", 1)
    )
    assert not verify(out, ["inverse_dynamics"]).passed


MACROS = (
    "OK=0",
    "ERROR=-1",
    "NOT_FINITE=1",
    "OUT_OF_RANGE=2",
    "DIVISOR=3",
    "NOT_UNIT=4",
    "NO_WORK=5",
    "NO_BODY=6",
    "TRUE=1",
    "FALSE=0",
    "NOTHING_MOVES=7",
    "PARAMETERS_OK=8",
    "C=1",
    "N=4",
    "V=256",
    "Z=2",
    "I=_I",
    "PI=3",
    "F(x)=x",
    "IN=",
    "OUT=",
    "near=",
    "far=",
)
"""Macros that NuttX, PX4, VxWorks, Arduino, MSP430 or Windows define or could define."""
CPP = """
#include "scara.hpp"
int main()
{
    scara::parameters own = scara::DEFAULTS;
    scara::prepared prepared;
    if (scara::set_parameters(own, prepared) != scara::parameters_ok) { return 1; }
    const auto before = scara::inverse_dynamics({}, {}, {}, prepared);
    own.gravity[2] *= 2.0;
    if (scara::set_parameters(own, prepared) != scara::parameters_ok) { return 2; }
    const auto behind = scara::inverse_dynamics({}, {}, {}, prepared);
    if (!before || behind.status != scara::ok || behind.value[2] != 2.0*before.value[2]) {
        return 3;
    }
#ifdef __cpp_lib_span
    std::array<double, scara::NV> zero{}, tau;
    if (scara::inverse_dynamics(zero, zero, zero, prepared, tau) != scara::ok
        || tau != behind.value) {
        return 4;
    }
#endif
    own.gravity[2] = __builtin_nan("");
    return scara::set_parameters(own, prepared) == scara::parameters_not_finite ? 0 : 5;
}
"""


@pytest.mark.firmware
def test_cpp_sets_parameters_beside_common_macros(tmp_path: Path) -> None:
    out = scara_folder(tmp_path, checked=True, batch=True, wrap=("cpp17",))
    (tmp_path / "main.cpp").write_text(CPP)
    c = [path for path in out.glob("*.c") if "selftest" not in path.name]
    assert command("gcc", "-std=c99", "-c", *c, cwd=tmp_path).returncode == 0
    warnings = (
        "-Wall",
        "-Wextra",
        "-pedantic",
        "-Wconversion",
        "-Wshadow",
        "-Werror",
        f"-I{out}",
        *(f"-D{macro}" for macro in MACROS),
    )
    for compiler, standard in (
        ("g++", "-std=c++17"),
        ("g++", "-std=c++20"),
        ("clang++", "-std=c++17"),
    ):
        built = command(
            tool(compiler),
            standard,
            *warnings,
            "main.cpp",
            *tmp_path.glob("*.o"),
            "-lm",
            "-o",
            "main",
            cwd=tmp_path,
        )
        assert built.returncode == 0, built.stderr
        assert command(tmp_path / "main").returncode == 0


CALL = """#include "scara_parameters.h"
void call(const double q[scara_NQ], double tau[scara_NV]);
void call(const double q[scara_NQ], double tau[scara_NV])
{
    static double plain[scara_NS];
    static scara_prepared prepared;
    (void)plain;
    (void)scara_set_parameters(&scara_DEFAULTS, &prepared);
    scara_inverse_dynamics(q, q, q, ARGUMENT, tau);
}
"""


def test_a_plain_array_is_no_prepared_parameter(tmp_path: Path) -> None:
    out = scara_folder(tmp_path)
    for suffix, language in (("c", "-std=c99"), ("cpp", "-std=c++17")):
        for argument, compiles in (
            ("&prepared", True),
            ("plain", False),
            ("prepared.value", False),
        ):
            file = tmp_path / f"call.{suffix}"
            file.write_text(CALL.replace("ARGUMENT", argument))
            done = command(
                "gcc", language, "-Wall", "-Wextra", "-Werror", f"-I{out}", "-fsyntax-only", file
            )
            assert (done.returncode == 0) == compiles, (argument, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters", [("joint1.stiffness",), ("gravity",), ("joint2.rest", "payload:link4.mass")]
)
def test_a_folder_with_few_parameters_passes_verification(
    tmp_path: Path, parameters: tuple[str, ...]
) -> None:
    """Parameters that need no check of inertia, or that cannot leave a joint without mass."""
    symgen.generate("scara", tmp_path / "scara", ["bias_force"], parameters=parameters)
    assert selftest(tmp_path / "scara").returncode == 0
    assert verify(tmp_path / "scara").passed


@pytest.mark.slow
def test_an_error_in_set_parameters_fails_verification(tmp_path: Path) -> None:
    out = scara_folder(tmp_path)
    path = out / "scara_set_parameters.c"
    path.write_text(
        path.read_text().replace("parameters->link4_centre[1]", "parameters->link4_centre[2]")
    )
    assert not verify(out).passed


# -- Python ----------------------------------------------------------------------------------------


@cache
def scara_solver() -> symgen.Solver:
    return symgen.compile(
        "scara",
        ["inverse_dynamics", "forward_dynamics"],
        parameters=["link4", "link2.mass", "gravity"],
    )


def random_states(count: int) -> tuple[np.ndarray[Any, Any], ...]:
    random = np.random.default_rng(3)
    return tuple(random.standard_normal((3, count, 4)))


def test_a_solver_with_new_values_equals_one_compiled_with_them() -> None:
    adjusted, robot = scara_solver(), symgen.load("scara")
    adjusted.parameters.reset()
    q, v, a = random_states(5)
    assert np.allclose(
        adjusted.inverse_dynamics(q, v, a),
        symgen.compile("scara", ["inverse_dynamics"]).inverse_dynamics(q, v, a),
        rtol=1e-13,
    )
    drawn = draw_parameters(
        robot, adjustable_parameters(robot, ["link4", "link2.mass", "gravity"]), 5
    )
    for name, numbers in drawn.items():
        adjusted.parameters[name] = (
            [float(x) for x in numbers] if len(numbers) > 1 else float(numbers[0])
        )
    rebuilt = symgen.compile(adjust_mechanism(robot, drawn), ["inverse_dynamics"])
    assert np.allclose(
        adjusted.inverse_dynamics(q, v, a),
        rebuilt.inverse_dynamics(q, v, a),
        rtol=1e-12,
        atol=1e-12,
    )
    unpickled = pickle.loads(pickle.dumps(adjusted))
    assert np.array_equal(unpickled.inverse_dynamics(q, v, a), adjusted.inverse_dynamics(q, v, a))


def test_parameters_broadcast_with_states() -> None:
    solver = scara_solver()
    solver.parameters.reset()
    q, v, a = random_states(3)
    masses = np.array([[0.25], [0.5]])
    solver.parameters["link2.mass"] = masses
    batch = solver.inverse_dynamics(q, v, a)
    assert batch.shape == (2, 3, 4)
    for mass, row in zip(masses[:, 0], batch, strict=True):
        solver.parameters["link2.mass"] = mass
        assert np.array_equal(solver.inverse_dynamics(q, v, a), row)


def test_identified_parameters_can_be_set_in_a_solver() -> None:
    """Identified parameters π are set in the solver without compiling again."""
    solver, robot = scara_solver(), symgen.load("scara")
    solver.parameters.reset()
    pi = np.array(symgen.inertial_parameters(robot), float)
    pi[30:40] *= 1.5
    solver.parameters.take("link4", pi[30:40])
    q, v, a = random_states(1)
    Y = symgen.compile("scara", ["regressor"]).regressor(q[0], v[0], a[0])
    assert np.allclose(solver.inverse_dynamics(q[0], v[0], a[0]), Y @ pi, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("link4.mass", -1, "negative"),
        ("link4.inertia", [1, 0, 0, 0.1, 0, 0.1], "no body can have such moments"),
        ("gravity", [0, 0, float("nan")], "not a number"),
        ("link4.centre", [1, 2], r"shape \(\.\.\., 3\)"),
        ("link4.mas", 1, "did you mean 'link4.mass'"),
        ("link4.mass", "heavy", "must be numbers"),
        ("link4.inertia", np.ones((2, 6)), "do not broadcast"),
    ],
)
def test_bad_parameters_are_refused(name: str, value: Any, message: str) -> None:
    solver = scara_solver()
    solver.parameters.reset()
    if "broadcast" in message:
        solver.parameters["link4.centre"] = np.zeros((3, 3))

    def call() -> None:
        solver.parameters[name] = value
        solver.inverse_dynamics(*(x[0] for x in random_states(1)))

    with pytest.raises(ArgumentError, match=message):
        call()


def test_a_solver_without_parameters_refuses_access_to_them() -> None:
    with pytest.raises(ArgumentError, match="parameters="):
        _ = symgen.compile("planar_arm", ["mass_matrix"]).parameters


def test_a_sliding_joint_carries_the_masses_of_all_links_beyond_it(tmp_path: Path) -> None:
    """A massless link between two others is valid: the sum counts, not each mass."""
    file = tmp_path / "slides.toml"
    bodies = [
        f"""
        [[body]]
        name = "link{i}"
        parent = "{"base" if i == 0 else f"link{i - 1}"}"
        joint = {{ name = "joint{i}", type = "prismatic", axis = {axis} }}
        mass = 1
        inertia = [1, 0, 0, 1, 0, 1]
        """
        for i, axis in enumerate(([1, 0, 0], [0, 1, 0], [0, 0, 1]))
    ]
    file.write_text("\n".join(['name = "slides"', *bodies]), encoding="utf-8")
    names = tuple(f"link{i}.mass" for i in range(3))
    judge = build.build_program(symgen.load(file), JUDGE, None, ProgramOptions(parameters=names))
    masses = [Fraction(3), Fraction(0), Fraction(5)]
    carried = evaluate(judge, {"parameters": masses}, EXACT)["carried"]
    assert carried == [sum(masses[i:]) for i in range(3)]


def test_the_check_of_inertias_agrees_with_eigenvalues() -> None:
    """Random moments are valid if NumPy finds no negative eigenvalue of Σ about the mass centre."""
    robot = symgen.load("scara")
    judge = build.build_program(robot, JUDGE, None, ProgramOptions(parameters=("link4",)))
    random, validities = np.random.default_rng(1), set()
    for _ in range(200):
        second = (root := random.standard_normal((3, 3))) @ root.T + np.diag(
            random.uniform(-0.5, 1, 3)
        )
        inertia = np.trace(second) * np.eye(3) - second
        mass, c = random.uniform(0, 1), 0.3 * random.standard_normal(3)
        about = inertia - mass * (c @ c * np.eye(3) - np.outer(c, c))
        least = np.linalg.eigvalsh(np.trace(about) / 2 * np.eye(3) - about)[0]
        if abs(least) < 1e-3 * np.trace(inertia):
            continue
        numbers = [mass, *c, *inertia[np.triu_indices(3)]]
        results = evaluate(judge, {"parameters": numbers}, replace(EXACT, constant=float))
        assert (min(results["judged"]) >= 0) == bool(least > 0)
        validities.add(bool(least > 0))
    assert validities == {True, False}


@pytest.mark.slow
def test_high_effort_keeps_the_regrouping_of_parameters(tmp_path: Path) -> None:
    symgen.generate(
        "planar_arm", tmp_path / "arm", ["gravity_force"], parameters=["gravity"], effort="high"
    )
    assert verify(tmp_path / "arm").passed


def test_every_function_with_inertia_or_gravity_depends_on_parameters() -> None:
    """Only functions of positions alone do not depend on inertia or gravity."""
    independent = {
        "forward_kinematics",
        "jacobian",
        "bias_acceleration",
        "link_poses",
        "integrate",
        "difference",
        "base_parameters",
    }
    assert {
        name
        for name, function in FUNCTIONS.items()
        if all(array.name != "prepared" for array in function.depends_on)
    } == independent


# -- with drives, and with joints that follow others -----------------------------------------------

TOGETHER = """
name = "together"
mimic = "couple"
friction_speed = 0.01
[[body]]
name = "a"
parent = "base"
mass = 2.0
centre = [0.3, 0.1, 0]
inertia = [0.01, 0, 0, 0.02, 0, 0.02]
joint = { name = "j1", type = "revolute", axis = [0, 1, 0], armature = 0.1, damping = 0.4 }
[[body]]
name = "b"
parent = "a"
mass = 1.0
centre = [0.1, 0.1, 0.3]
inertia = [0.01, 0, 0, 0.02, 0, 0.02]
[body.joint]
name = "j2"
type = "revolute"
axis = [1, 0, 0]
xyz = [0.4, 0, 0]
armature = 0.3
friction = 1.5
stiffness = 3
rest = 0.2
mimic = { joint = "j1", multiplier = -0.5, offset = 0.3 }
[[body]]
name = "c"
parent = "a"
mass = 0.7
centre = [0.0, 0.2, 0.1]
inertia = [0.01, 0, 0, 0.02, 0, 0.02]
[body.joint]
name = "j3"
type = "prismatic"
axis = [0, 0, 1]
xyz = [0.1, 0.2, 0]
stiffness = 5
friction = 0.4
"""
MORE = (
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "step",
    "kinetic_energy",
    "interbody_forces",
    "mass_matrix_coriolis_and_bias",
    "forward_dynamics:jacobian",
)


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [(), ("j1.damping", "j2.friction"), ("j3", "gravity"), ALL])
def test_a_mimic_follower_can_have_a_drive_with_parameters(parameters: tuple[str, ...]) -> None:
    """The force and armature of a follower act on its leader, scaled by the transmission ratio."""
    mechanism = symgen.load(TOGETHER)
    assert verify(mechanism, [*DYNAMICS, *MORE], 2, parameters=parameters, compiled=False).passed


def test_a_run_time_armature_costs_one_addition_per_joint() -> None:
    """A run-time armature costs one addition for each joint in M, and no regrouping."""
    robot = symgen.load("scara")
    baked = build.programs(robot, ["mass_matrix"])["mass_matrix"].cost
    programs = build_programs(robot, ["mass_matrix"], [f"joint{k}.armature" for k in range(1, 5)])
    assert programs[REGROUP].cost == 0
    assert programs["mass_matrix"].cost <= baked + 4


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("joint1.inertia", "a joint has joint1.armature"),
        ("joit1", "did you mean 'joint1'"),
    ],
)
def test_a_missing_parameter_of_a_joint_is_refused(word: str, message: str) -> None:
    with pytest.raises(SymgenError, match=message):
        symgen.program("scara", "mass_matrix", parameters=[word])


DRIVEN = """<robot name="driven"><link name="base"/>
<link name="l1"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j1" type="continuous"><parent link="base"/><child link="l1"/><axis xyz="0 1 0"/>
<dynamics damping="0.5" friction="2"/></joint>
<transmission name="t"><joint name="j1"/><actuator name="m">
<mechanicalReduction>10</mechanicalReduction><motorInertia>0.01</motorInertia>
</actuator></transmission></robot>"""
NUMBERS = {"armature": 1, "damping": 0.5, "friction": 2, "stiffness": 0, "rest": 0}
"""Drive of the robot DRIVEN; its armature is 10²·0.01."""
SPRUNG = """name = "sprung"
[[body]]
name = "l1"
parent = "base"
mass = 1.0
joint = { name = "j1", type = "prismatic", axis = [0, 0, 1], stiffness = 3, rest = 0.2 }
[[body]]
name = "l2"
parent = "l1"
mass = 1.0
joint = { name = "j2", type = "prismatic", axis = [0, 0, 1], unapplied = { damping = 0.003 } }
"""


@pytest.mark.parametrize(
    ("description", "drives", "parameters", "message"),
    [
        *(
            (
                DRIVEN,
                "off",
                f"j1.{kind}",
                f"j1.{kind}': .* declares {kind} = {NUMBERS[kind]:g}, .* --drives {kind} ",
            )
            for kind in ("armature", "damping", "friction")
        ),
        (DRIVEN, None, "*.friction", r"--drives friction "),
        (DRIVEN, "friction", "*.[da]*", "--drives armature,damping,friction "),
        (DRIVEN, "friction", "j1", "--drives armature,damping,friction "),
        (SPRUNG, "off", "j1.stiffness", "--drives stiffness "),
        (SPRUNG, "off", "j1.rest", "declares stiffness = 3, .* --drives stiffness "),
        (SPRUNG, "on", "j2.damping", "declare it as the joint's damping, not as unapplied"),
    ],
)
def test_a_declared_drive_that_is_not_applied_is_no_parameter(
    description: str, drives: str | None, parameters: str, message: str
) -> None:
    """The default of such a parameter would be 0 and not the declared number."""
    with pytest.raises(ArgumentError, match=message):
        symgen.program(
            symgen.load(description, drives=drives), "inverse_dynamics", parameters=[parameters]
        )


@pytest.mark.parametrize(
    ("drives", "kinds"),
    [
        ("on", tuple(NUMBERS)),
        ("off", ("stiffness",)),
        ("friction", ("friction", "stiffness")),
        ("armature,damping", ("armature", "damping")),
    ],
)
def test_parameters_of_drives_start_from_the_declared_numbers(
    drives: str, kinds: tuple[str, ...]
) -> None:
    parameters = [f"j1.{kind}" for kind in kinds]
    adjusted = adjusting.make_adjusting(symgen.load(DRIVEN, drives=drives), tuple(parameters))
    assert dict(
        zip(
            (parameter.kind for parameter in adjusted.parameters),
            map(float, adjusted.defaults),
            strict=True,
        )
    ) == {k: NUMBERS[k] for k in kinds}


def test_a_payload_starts_from_no_load() -> None:
    """Every number of a payload is zero at first; the mass of another link is the declared one."""
    scara = symgen.load("scara")
    adjusted = adjusting.make_adjusting(scara, ("link2.mass", "payload:link4"))
    sizes = {parameter.name: parameter.size for parameter in adjusted.parameters}
    assert sum(sizes.values()) == len(adjusted.defaults) == 11
    assert sorted(adjusted.defaults) == [0] * 10 + [scara.bodies[1].parts[0].mass]


def test_a_pattern_leaves_out_the_drives_that_are_not_applied() -> None:
    names = adjusting.parameter_names(symgen.load(DRIVEN), ["*"])
    assert names == ("l1.mass", "l1.centre", "l1.inertia", "gravity")


def test_a_negative_drive_parameter_is_refused() -> None:
    solver = symgen.compile("scara", ["inverse_dynamics"], parameters=["joint1.damping"])
    solver.parameters["joint1.damping"] = -1
    with pytest.raises(ArgumentError, match=r"parameter 'joint1\.damping' is negative"):
        solver.inverse_dynamics(*(x[0] for x in random_states(1)))


@pytest.mark.firmware
def test_the_controller_of_the_book_changes_its_payload_on_a_cortex_m4(tmp_path: Path) -> None:
    """Run the program of the book in float on an emulated Cortex-M4F."""
    need("cortex-m4f")
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "run-time-parameters.md").read_text(
        encoding="utf-8"
    )
    program = next(sample.text for sample in samples(page) if sample.file == "load.c")
    expected = next(sample.text for sample in samples(page) if "./load" in sample.text).partition(
        "./load\n"
    )[2]
    out = tmp_path / "scara"
    symgen.generate(
        "scara",
        out,
        ["inverse_dynamics"],
        target="cortex-m4f",
        evidence=False,
        parameters=["payload:link4"],
    )
    (out / "app.c").write_text(program.replace("double", "float"))
    objects = [
        f"scara_{function}.o"
        for function in (
            "inverse_dynamics",
            "regroup_parameters",
            "judge_parameters",
            "set_parameters",
        )
    ]
    done = make(out, "run", f"OBJECTS={' '.join(objects)} app.o")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-2:] == expected.splitlines()


def test_dask_uses_the_current_parameters() -> None:
    solver = scara_solver()
    solver.parameters.reset()
    solver.parameters["link4.mass"] = 0.9
    arrays = random_states(100)
    chunks = [dask.array.from_array(x, chunks=(25, 4)) for x in arrays]
    expected = solver.inverse_dynamics(*arrays)
    for prepared in ((), (solver.parameters.prepared,)):  # they may also be given
        mapped = symgen.dask.map(solver.inverse_dynamics, *chunks, *prepared)
        assert np.array_equal(mapped.compute(scheduler="synchronous"), expected)
    with pytest.raises(ArgumentError, match=r"2 arrays are given, but it takes 4: q, v, a, p"):
        symgen.dask.map(solver.inverse_dynamics, *chunks[:2])
