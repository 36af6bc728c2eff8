"""The wrapper for CasADi: `casadi.external` loads every function; IPOPT uses derivatives."""

from __future__ import annotations

import ctypes
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import cli, emission
from symgen.emission.backends.casadi import _by_columns
from symgen.ir.program import Port
from symgen.reference.states import draw_states
from tests.shared.c99 import WARNINGS
from tests.shared.folders import cmake, run

ca = pytest.importorskip("casadi")

SHAPES = (
    "mass_matrix_and_bias",
    "forward_dynamics",
    "jacobian",
    "link_poses",
    "kinetic_energy",
    "integrate",
)
CURVED = ("potential_energy", "center_of_mass", "mass_matrix_log_determinant")
"""Functions whose derivatives are functions of symgen as well."""


def build_library(folder: Path) -> Path:
    """Build the shared library of a folder with the folder's CMake file."""
    build = folder.parent / f"{folder.name}-build"
    cmake("-S", folder, "-B", build, "-DCMAKE_BUILD_TYPE=Debug")
    cmake("--build", build, "--target", f"{folder.name}_casadi")
    (library,) = build.glob(f"lib{folder.name}_casadi.*")
    return library


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results of every shape, two frames, a payload and two wrenches."""
    folder = tmp_path_factory.mktemp("double") / "arm"
    symgen.generate(
        "scara",
        folder,
        SHAPES,
        name="arm",
        frame=["link2", "link4"],
        wrench=["link3", "link4"],
        payload="link4",
        wrap=["casadi"],
        trig="libm",
    )
    return folder


@pytest.fixture(scope="module")
def arm_library(arm: Path) -> Path:
    return build_library(arm)


def random_arguments(folder: Path, seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """Random values of each argument."""
    options = json.loads((folder / "manifest.json").read_text())["options"]
    states = draw_states(
        symgen.load(folder), 1, seed, options.get("payload"), options.get("wrench")
    )
    return {
        name: values[0].astype(float) if values.ndim > 1 else np.array(float(values[0]))
        for name, values in states.items()
    }


def as_matrix(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Reshape to CasADi's matrix: the last axis gives the columns."""
    return values.reshape(-1, values.shape[-1] if values.ndim > 1 else 1)


@pytest.mark.slow
def test_functions_of_every_shape_give_the_numbers_of_the_c(arm: Path, arm_library: Path) -> None:
    manifest = json.loads((arm / "manifest.json").read_text())
    options = manifest["options"]
    solver = symgen.compile(
        symgen.load(arm),
        list(manifest["functions"]),
        trig="libm",
        optimize=0,
        frame=options["frame"],
        wrench=options["wrench"],
        payload=options["payload"],
    )
    state = random_arguments(arm, 1)
    ranks = set()
    for name, function in manifest["functions"].items():
        external = ca.external(f"arm_casadi_{name}", str(arm_library))
        values = [state[p["name"]] for p in function["arguments"]]
        assert [external.name_in(k) for k in range(external.n_in())] == [
            p["name"] for p in function["arguments"]
        ]
        results, expected = external(*map(as_matrix, values)), getattr(solver, name)(*values)
        results, expected = (
            outputs if isinstance(outputs, tuple) else (outputs,) for outputs in (results, expected)
        )
        for k, (matrix, array) in enumerate(zip(results, expected, strict=True)):
            array = np.asarray(array)
            ranks.add(array.ndim)
            assert external.size_out(k) == as_matrix(array).shape
            assert np.allclose(np.array(matrix), as_matrix(array), rtol=1e-12, atol=1e-12), name
    assert ranks == {0, 1, 2, 3}  # rows and columns keep their order at every rank


def test_a_null_argument_is_zero_and_a_null_result_is_skipped(arm: Path, arm_library: Path) -> None:
    """CasADi passes null pointers for absent arguments and for results that it does not need."""
    dll = ctypes.CDLL(str(arm_library))
    call, work = dll.arm_casadi_mass_matrix_and_bias, [ctypes.c_longlong() for _ in range(4)]
    assert dll.arm_casadi_mass_matrix_and_bias_work(*map(ctypes.byref, work)) == 0
    inputs, outputs, *rest = (size.value for size in work)
    assert (inputs, outputs, rest) == (4, 2, [0, 0])  # q, v, payload and wrench
    mass = np.full(16, np.nan)
    arguments, results = (
        (ctypes.c_void_p * inputs)(),
        (ctypes.c_void_p * outputs)(mass.ctypes.data, None),
    )
    assert call(arguments, results, None, None, 0) == 0
    state = {name: 0 * values for name, values in random_arguments(arm, 1).items()}
    solver = symgen.compile(
        symgen.load(arm),
        ["mass_matrix_and_bias"],
        trig="libm",
        optimize=0,
        payload="link4",
        wrench=["link3", "link4"],
    )
    expected, _ = solver.mass_matrix_and_bias(
        *(state[name] for name in ("q", "v", "payload", "wrench"))
    )
    assert np.allclose(mass.reshape(4, 4), expected)


@pytest.fixture(scope="module")
def ur5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("double") / "ur5"
    symgen.generate(
        "ur5",
        folder,
        [
            *CURVED,
            "gravity_force",
            "center_of_mass_jacobian",
            "mass_matrix_log_determinant_gradient",
            "kinetic_energy",
        ],
        wrap=["casadi"],
        trig="libm",
    )
    return build_library(folder)


@pytest.mark.slow
@pytest.mark.parametrize("function", CURVED)
def test_jacobians_equal_finite_differences(ur5: Path, function: str) -> None:
    """The sparsity leaves out the entries that are zero in every state."""
    external = ca.external(f"ur5_casadi_{function}", str(ur5))
    at, h = np.random.default_rng(3).uniform(-1, 1, 6), 1e-5
    jacobian = external.jacobian()
    assert jacobian.name() == f"jac_ur5_casadi_{function}"
    columns = [
        (np.array(external(at + h * direction)) - np.array(external(at - h * direction))) / (2 * h)
        for direction in np.eye(6)
    ]
    expected = np.concatenate(columns, axis=1)
    q = ca.MX.sym("q", 6)
    computed = np.array(ca.Function("jacobian", [q], [ca.jacobian(external(q), q)])(at))
    assert np.abs(computed - expected).max() < 1e-8 * max(1, np.abs(expected).max())
    nonzero = np.array(ca.DM.ones(jacobian.sparsity_out(0)))
    assert not nonzero.all()
    assert (np.abs(expected[nonzero == 0]) < 1e-9).all()
    assert (np.abs(expected[nonzero == 1]) > 1e-9).all()


def test_a_function_lacking_one_derivative_has_no_jacobian(ur5: Path) -> None:
    with pytest.raises(
        RuntimeError, match="Derivatives cannot be calculated for ur5_casadi_kinetic_energy"
    ):
        ca.external("ur5_casadi_kinetic_energy", str(ur5)).jacobian()


def test_ipopt_finds_the_pose_of_least_potential_energy(ur5: Path) -> None:
    """The gravity force is zero there. IPOPT evaluates the C functions alone."""
    energy, weight = (
        ca.external(f"ur5_casadi_{name}", str(ur5))
        for name in ("potential_energy", "gravity_force")
    )
    q = ca.MX.sym("q", 6)
    solver = ca.nlpsol(
        "solver",
        "ipopt",
        {"x": q, "f": energy(q)},
        {
            "ipopt.hessian_approximation": "limited-memory",
            "ipopt.print_level": 0,
            "print_time": False,
            "ipopt.sb": "yes",
        },
    )
    solution = solver(x0=[0.1, -0.5, 0.5, -0.3, 0.2, 0.1], lbx=-3, ubx=3)
    assert solver.stats()["success"]
    assert np.abs(np.array(weight(solution["x"]))).max() < 1e-5
    assert float(solution["f"]) < float(energy(np.zeros(6))) - 10


@pytest.mark.slow
def test_ipopt_brings_an_arm_to_rest_by_multiple_shooting(tmp_path: Path) -> None:
    """Each constraint is one integration step of the C, with the derivatives of the C."""
    symgen.generate(
        "planar_arm",
        tmp_path / "arm",
        ["step_rk4", "step_rk4:jacobian"],
        name="arm",
        wrap=["casadi"],
        trig="libm",
    )
    step = ca.external("arm_casadi_step_rk4", str(build_library(tmp_path / "arm")))
    assert step.jacobian().name() == "jac_arm_casadi_step_rk4"
    n, count, dt = 2, 8, 0.1
    x, tau = ca.MX.sym("x", 2 * n, count + 1), ca.MX.sym("tau", n, count)
    ends = [
        ca.vertcat(*step(x[:n, k], x[n:, k], tau[:, k], dt)) - x[:, k + 1] for k in range(count)
    ]
    start, goal = [0.3, -0.5, 0, 0], [0.5, 0.2, 0, 0]
    constraints = ca.vertcat(x[:, 0] - start, x[:, -1] - goal, *ends)
    solver = ca.nlpsol(
        "solver",
        "ipopt",
        {"x": ca.veccat(x, tau), "f": ca.sumsqr(tau), "g": constraints},
        {
            "ipopt.hessian_approximation": "limited-memory",
            "ipopt.print_level": 0,
            "print_time": False,
            "ipopt.sb": "yes",
        },
    )
    solution = solver(x0=0, lbg=0, ubg=0)
    assert solver.stats()["success"]
    torques = np.array(solution["x"])[-n * count :].reshape(count, n)
    q, v = np.array(start[:n]), np.array(start[n:])
    exact = symgen.compile("planar_arm", ["step_rk4"])
    for torque in torques:
        q, v = exact.step_rk4(q, v, torque, dt)
    assert np.abs(np.concatenate([q, v]) - goal).max() < 1e-6


def test_no_jacobian_where_velocities_are_not_coordinate_rates(tmp_path: Path) -> None:
    symgen.generate(
        "free_body",
        tmp_path / "body",
        ["potential_energy", "gravity_force"],
        name="body",
        wrap=["casadi"],
    )
    text = (tmp_path / "body" / "body_casadi.c").read_text()
    assert "jac_" not in text
    assert (
        "no derivatives (`jac_…`), because the velocity of a joint is not the rate"
        in (tmp_path / "body" / "README.md").read_text()
    )


@pytest.mark.slow
def test_a_nonzero_status_fails_casadis_evaluation(tmp_path: Path) -> None:
    """The functions are in float: CasADi's doubles are rounded at the interface."""
    symgen.generate(
        "planar_arm",
        tmp_path / "arm",
        ["forward_dynamics", "mass_matrix"],
        real="float",
        checked=True,
        name="arm",
        wrap=["casadi"],
    )
    compiled = build_library(tmp_path / "arm")
    forward = ca.external("arm_casadi_forward_dynamics", str(compiled))
    expected = symgen.compile("planar_arm", ["forward_dynamics"]).forward_dynamics(
        [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]
    )
    assert np.allclose(
        np.array(forward([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])).ravel(), expected, rtol=1e-5
    )
    with pytest.raises(RuntimeError, match="arm_casadi_forward_dynamics"):
        forward([math.nan, 0], [0, 0], [0, 0])


def test_the_wrapper_compiles_without_warnings_and_cpp_includes_its_header(arm: Path) -> None:
    done = run(
        "gcc",
        "-std=c99",
        *WARNINGS,
        "-Wmissing-prototypes",
        "-c",
        "arm_casadi.c",
        "-o",
        arm.parent / "clean.o",
        cwd=arm,
    )
    assert (done.returncode, done.stderr) == (0, "")
    undefined = {
        line.split()[-1]
        for line in run("nm", "-u", arm.parent / "clean.o", cwd=arm).stdout.splitlines()
    }
    assert undefined - {"_GLOBAL_OFFSET_TABLE_"} == {f"arm_{name}" for name in SHAPES}
    if (cpp := shutil.which("g++")) is not None:
        done = run(
            cpp,
            "-Wall",
            "-Wextra",
            "-pedantic-errors",
            "-Werror",
            "-fsyntax-only",
            "-x",
            "c++",
            "arm_casadi.h",
            cwd=arm,
        )
        assert done.returncode == 0, done.stderr


def test_the_wrapper_is_a_file_that_verify_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--wrap casadi` adds it; the manifest lists it and repeats the command."""
    assert emission.wrappers() == ("casadi", "cpp17", "cuda")
    folder = tmp_path / "arm"
    manifest = symgen.generate(
        "planar_arm", folder, ["mass_matrix"], name="arm", wrap=["casadi", "cpp17"]
    )
    assert {"arm_casadi.c", "arm_casadi.h", "arm.hpp"} <= set(manifest["files"])
    assert "--wrap casadi --wrap cpp17" in manifest["command"]
    assert cli.main(["verify", str(folder)]) == 0
    spoilt = folder / "arm_casadi.c"
    spoilt.write_text(spoilt.read_text().replace("column*rows + row", "row*columns + column", 1))
    capsys.readouterr()
    assert cli.main(["verify", str(folder)]) == 1
    assert "1 file(s) that differ, and 0 are allowed: arm_casadi.c" in capsys.readouterr().out
    symgen.generate(
        "planar_arm",
        tmp_path / "few",
        ["mass_matrix"],
        name="arm",
        wrap=["casadi"],
        trig="libm",
        functions_only=True,
    )
    assert {path.name for path in (tmp_path / "few").iterdir()} == {
        "arm_mass_matrix.c",
        "arm.h",
        "arm_casadi.c",
        "arm_casadi.h",
    }


def test_the_elements_of_a_matrix_are_ordered_by_columns() -> None:
    """CasADi stores matrices by columns; the last index of an array is that of the columns."""
    assert _by_columns(Port("x", (2, 3))) == [0, 3, 1, 4, 2, 5]
    assert _by_columns(Port("x", (2, 2, 2))) == [0, 2, 4, 6, 1, 3, 5, 7]
    assert _by_columns(Port("x", (3,))) == [0, 1, 2]
