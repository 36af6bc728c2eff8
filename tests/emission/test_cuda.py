"""CUDA functions: their text computes the Program, and their kernels have the C's bits.

A C++ compiler runs the kernels on the CPU. Tests that need nvcc or a GPU are skipped, with the
reason, on machines without them.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import cli
from symgen.emission import parts, printer, wrapper
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.support.errors import ArgumentError, RequestError
from symgen.verification.text import check_device
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.target import Target
from tests import cuda_peers, cuda_states
from tests.shared.cuda_tools import (
    ONE_ROUNDING,
    CudaMissing,
    Device,
    compiled,
    gpu,
    nvcc,
    on_cpu,
    on_gpu,
)
from tests.shared.folders import cmake
from tests.shared.robots_for_tests import random_mechanism

TEXT_OPTIONS = {
    "auto": TextOptions("auto"),
    "libm": TextOptions(),
    "macro, checked": TextOptions("macro", checked=True),
    "auto, checked": TextOptions("auto", checked=True),
    "inline": TextOptions("inline"),
    "inline, checked": TextOptions("inline", checked=True),
}
SOME = ("forward_dynamics", "mass_matrix", "kinetic_energy", "difference")
Arrays = Mapping[str, np.ndarray[Any, Any]]


@cache
def mechanism_of(robot: str) -> Mechanism:
    """Load a robot; "turning" has quaternions."""
    return random_mechanism(2, joints=("spherical",)) if robot == "turning" else symgen.load(robot)


@cache
def programs_of(robot: str, real: str) -> dict[str, Program]:
    return build.programs(mechanism_of(robot), list(SOME), ProgramOptions(real))


def files_of(
    robot: str, programs: Mapping[str, Program], text: TextOptions
) -> tuple[Target, dict[str, str]]:
    target = Target(robot, mechanism_of(robot).sizes, text)
    return target, wrapper("cuda").files(programs, target, {"forward_dynamics": {}})


def differences(
    robot: str,
    programs: Mapping[str, Program],
    text: TextOptions,
    files: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the failures that `verify`'s check of CUDA texts reports."""
    target, printed = files_of(robot, programs, text)
    texts = printed if files is None else files
    header = printer().headers(programs, target)[target.header]
    checks = check_device(programs, texts, header, target, {})
    assert {check.kind for check in checks} == {"device"}
    return [f"{check.subject}: {check.detail}" for check in checks if not check.passed]


# -- the text --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", TEXT_OPTIONS)
@pytest.mark.parametrize(("robot", "real"), [("scara", "double"), ("turning", "float")])
def test_each_thread_computes_the_program(robot: str, real: str, way: str) -> None:
    assert differences(robot, programs_of(robot, real), TEXT_OPTIONS[way]) == []


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LONGEST", 30)
    monkeypatch.setattr(parts, "LINES", 10)


@pytest.mark.slow
@pytest.mark.usefixtures("short_parts")
def test_a_long_function_is_split_into_device_functions() -> None:
    for way in ("auto", "inline, checked"):
        _, files = files_of("scara", programs_of("scara", "double"), TEXT_OPTIONS[way])
        assert (
            files["scara_forward_dynamics.cuh"].count(
                "static __device__ __noinline__ void scara_forward_dynamics_part_"
            )
            > 1
        )
        assert differences("scara", programs_of("scara", "double"), TEXT_OPTIONS[way]) == []


SLIPS = {
    "another sine": (".cuh", "turn_1.sine", "turn_1.cosine"),
    "another angle": (".cuh", "scara_sincos(q[1])", "scara_sincos(q[0])"),
    "another sign": (".cuh", " + t", " - t"),
    "another result": (".cuh", "a[2] = ", "a[1] = "),
    "another number": (".cuh", "0.65*", "0.66*"),
    "another qualifier": (".cuh", "static __device__ inline", "static __host__ inline"),
    "a macro": (".cuh", "#include <math.h>", "#include <math.h>\n#define v q"),
    "another header": (".cuh", '#include "scara.h"', '#include "other.h"'),
    "a line continued by a backslash": (".cuh", "SA (16) */", "SA (16) \\ */"),
    "exchanged strides": ("_cuda.cu", "i*q_state + k*q_element", "i*q_element + k*q_state"),
    "a state too many": ("_cuda.cu", "i < count", "i <= count"),
    "a grid too small": ("_cuda.cu", "(count - 1)/scara", "count/scara"),
    "another stream": ("_cuda.cu", "launch.stream = stream;", "launch.stream = 0;"),
    "arguments that are swapped": (
        "_cuda.cu",
        "_device(q_block, v_block",
        "_device(v_block, q_block",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_an_error_in_the_text_is_reported(slip: str) -> None:
    end, old, new = SLIPS[slip]
    programs = {"forward_dynamics": programs_of("scara", "double")["forward_dynamics"]}
    _, files = files_of("scara", programs, TEXT_OPTIONS["auto"])
    name = f"scara_forward_dynamics{end}"
    assert old in files[name]
    assert differences(
        "scara", programs, TEXT_OPTIONS["auto"], files | {name: files[name].replace(old, new, 1)}
    )


def test_changed_and_missing_headers_are_reported() -> None:
    programs = {"forward_dynamics": programs_of("scara", "double")["forward_dynamics"]}
    _, files = files_of("scara", programs, TEXT_OPTIONS["auto"])
    _, all_files = files_of("scara", programs_of("scara", "double"), TEXT_OPTIONS["auto"])
    assert (
        differences("scara", programs, TEXT_OPTIONS["auto"], all_files) == []
    )  # files of other functions may be present
    for name, old, new in (
        ("scara_sincos.cuh", "y*s_1", "y*s_2"),
        ("scara_cuda.h", "CUDA_THREADS 128", "CUDA_THREADS 64"),
        ("scara_cuda.h", "const double *q,", "const double *v,"),
    ):
        assert old in files[name]
        spoilt = files | {name: files[name].replace(old, new, 1)}
        assert name in differences("scara", programs, TEXT_OPTIONS["auto"], spoilt)[0]
        lost = {path: content for path, content in files.items() if path != name}
        assert f"{name} is missing" in differences("scara", programs, TEXT_OPTIONS["auto"], lost)[0]


# -- the folder ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete folder of the arm with CUDA functions."""
    generated = tmp_path_factory.mktemp("folder") / "arm"
    manifest = symgen.generate("scara", generated, SOME, name="arm", wrap=["cuda"], trig="inline")
    assert {
        "arm_cuda.h",
        "arm_sincos.cuh",
        "arm_mass_matrix.cuh",
        "arm_mass_matrix_cuda.cu",
    } <= set(manifest["files"])
    assert "--wrap cuda" in manifest["command"]
    return generated


@pytest.mark.slow
def test_the_folder_documents_the_cuda_files_and_verify_checks_them(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["verify", str(folder), "-f", "mass_matrix"]) == 0
    assert (
        "on a GPU: 1 function, thread by thread the same rows; none was run there"
        in capsys.readouterr().out
    )
    for name in ("arm_cuda.h", "arm_mass_matrix.cuh", "arm_mass_matrix_cuda.cu"):
        file = folder / name
        text = file.read_text()
        file.write_text(
            text.replace("double *M", "double *X")
            if ".cuh" not in name
            else text.replace("M[2] =", "M[1] =")
        )
        assert file.read_text() != text
        assert cli.main(["verify", str(folder), "-f", "mass_matrix"]) == 1
        assert "FAILED on a GPU" in capsys.readouterr().out
        file.unlink()
        assert cli.main(["verify", str(folder), "-f", "mass_matrix"]) == 1
        assert f"{name} is missing" in capsys.readouterr().out
        file.write_text(text)
    assert (
        'option(arm_CUDA "Build arm_cuda with the CUDA compiler" OFF)'
        in (folder / "CMakeLists.txt").read_text()
    )
    readme = (folder / "README.md").read_text()
    assert "`arm_cuda.h`" in readme
    assert "arm_forward_dynamics_cuda(1000000, q, v, tau, a, stream)" in readme
    symgen.generate(
        "scara", tmp_path / "few", ["mass_matrix"], name="arm", wrap=["cuda"], functions_only=True
    )
    assert {path.name for path in (tmp_path / "few").iterdir()} == {
        "arm.h",
        "arm_mass_matrix.c",
        "arm_mass_matrix.cuh",
        "arm_mass_matrix_cuda.cu",
        "arm_cuda.h",
        "arm_sincos.cuh",
    }


def test_a_folder_without_the_wrapper_has_no_cuda(tmp_path: Path) -> None:
    symgen.generate("planar_arm", tmp_path / "arm", ["mass_matrix"])
    assert not [
        path.name
        for path in (tmp_path / "arm").iterdir()
        if "cu" in path.name or "CUDA" in path.read_text()
    ]


def test_firmware_targets_and_names_of_cuda_headers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ArgumentError,
        match="firmware for cortex-m7 cannot call; leave out --wrap cuda, or --target",
    ):
        symgen.generate(
            "scara", tmp_path / "arm", ["mass_matrix"], wrap=["cuda"], target="cortex-m7"
        )
    with pytest.raises(
        RequestError, match=r"cuda_runtime\.h would hide the CUDA header .* another --name"
    ):
        symgen.generate(
            "scara", tmp_path / "arm", ["mass_matrix"], wrap=["cuda"], name="cuda_runtime"
        )


@pytest.mark.slow
def test_the_header_compiles_in_c_and_cpp_without_cuda(folder: Path, tmp_path: Path) -> None:
    """The program is linked with the CPU library that replaces CUDA's."""
    program = (
        '#include "arm_cuda.h"\n#include "arm_cuda.h"\n'
        "int main(void) { double q[2*arm_NQ] = {0}; double M[2*arm_NV*arm_NV];\n"
        "  return arm_mass_matrix_cuda(2, q, M, 0) || arm_mass_matrix_cuda(-1, 0, 0, 0)\n"
        "    || M[1] != M[0] || M[0] <= 0; }\n"
    )
    library = on_cpu(folder).file
    for compiler, name, standard in (("gcc", "host.c", "c99"), ("g++", "host.cpp", "c++17")):
        (tmp_path / name).write_text(
            program.replace('#include "arm_cuda.h"', '#include "arm.h"\n#include "arm_cuda.h"', 1)
        )
        made = tmp_path / f"{name}.out"
        subprocess.run(
            [
                compiler,
                f"-std={standard}",
                "-pedantic",
                "-Wall",
                "-Wextra",
                "-Werror",
                f"-I{folder}",
                tmp_path / name,
                library,
                "-lm",
                f"-Wl,-rpath,{library.parent}",
                "-o",
                made,
            ],
            check=True,
        )
        assert subprocess.run([made], check=False).returncode == 0


# -- the kernels, on the CPU -----------------------------------------------------------------------


def random_states(program: Program, count: int, seed: int = 7) -> dict[str, np.ndarray[Any, Any]]:
    """Random states, one row per element; quaternions have unit length."""
    states = {
        port.name: np.random.default_rng(seed).normal(size=(port.size, count))
        for port in program.inputs
    }
    for port, first in program.unit_quaternions:
        quaternions = states[program.inputs[port].name][first : first + 4]
        quaternions /= np.linalg.norm(quaternions, axis=0)
    return {
        name: values.astype(np.float32 if program.real == "float" else np.float64)
        for name, values in states.items()
    }


def pointer(array: np.ndarray[Any, Any] | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


def call_strided(
    call: Any, count: int, arrays: Iterable[np.ndarray[Any, Any]], status: Iterable[Any] = ()
) -> int:
    """Call NAME_<function>_cuda_strided; arrays have the element first, then the state."""
    words: list[Any] = [ctypes.c_ssize_t(count)]
    for array in arrays:
        element, state = (step // array.itemsize for step in array.strides)
        words += [pointer(array), ctypes.c_ssize_t(state), ctypes.c_ssize_t(element)]
    return int(call(*words, *map(pointer, status), pointer(None)))


def solver_results(robot: Mechanism, program: Program, states: Arrays) -> np.ndarray[Any, Any]:
    solver = symgen.compile(robot, [program.function], program.real, trig="inline")
    results = getattr(solver, program.function)(*(values.T for values in states.values()))
    return np.ascontiguousarray(np.asarray(results).reshape(-1, program.outputs[0].size).T)


@pytest.fixture(scope="module")
def loaded(folder: Path) -> ctypes.CDLL:
    return on_cpu(folder).library


@pytest.mark.slow
def test_any_count_and_grid_has_the_solvers_bits(loaded: ctypes.CDLL) -> None:
    for name in SOME:
        program = programs_of("scara", "double")[name]
        states = random_states(program, 300)
        expected = solver_results(mechanism_of("scara"), program, states)
        call = getattr(loaded, f"arm_{name}_cuda")
        for count, blocks, backwards in (
            (300, 0, 0),
            (300, 1, 1),
            (300, 2, 0),
            (129, 0, 1),
            (1, 0, 0),
            (0, 0, 0),
            (-3, 0, 0),
        ):
            size, some = program.outputs[0].size, max(count, 0)
            first_states = {
                key: np.ascontiguousarray(values[:, :some]) for key, values in states.items()
            }
            strided_results = np.full(
                (size, some + 1), np.nan
            )  # one more state, which keeps its NaN
            results = np.full(size * some + 1, np.nan)
            ctypes.c_int.in_dll(loaded, "cuda_on_cpu_blocks").value = blocks
            ctypes.c_int.in_dll(loaded, "cuda_on_cpu_backwards").value = backwards
            assert (
                call(
                    ctypes.c_int(count),
                    *map(pointer, first_states.values()),
                    pointer(results),
                    pointer(None),
                )
                == 0
            )
            assert (
                call_strided(
                    getattr(loaded, f"arm_{name}_cuda_strided"),
                    count,
                    [*first_states.values(), strided_results],
                )
                == 0
            )
            np.testing.assert_array_equal(results[:-1].reshape(size, some), expected[:, :some])
            np.testing.assert_array_equal(strided_results[:, :-1], expected[:, :some])
            assert np.isnan(results[-1])
            assert np.isnan(strided_results[:, -1]).all()


def test_strided_shared_and_overwritten_states_have_the_solvers_bits(loaded: ctypes.CDLL) -> None:
    """Contiguous, spaced, one for all states, and at the results' addresses."""
    program = programs_of("scara", "double")["forward_dynamics"]
    q, v, tau = random_states(program, 50).values()
    expected = solver_results(mechanism_of("scara"), program, {"q": q, "v": v, "tau": tau})
    call = loaded.arm_forward_dynamics_cuda_strided
    spaced = np.full((4, 3, 70), np.nan)[:, 1, 5:55]
    spaced[...] = q
    rows, results = np.ascontiguousarray(v.T).T, np.full((4, 50), np.nan)
    assert call_strided(call, 50, [spaced, rows, tau, results]) == 0
    np.testing.assert_array_equal(results, expected)
    one_for_all = np.broadcast_to(tau[:, :1], (4, 50))
    assert call_strided(call, 50, [q, v, one_for_all, results]) == 0
    np.testing.assert_array_equal(
        results,
        solver_results(
            mechanism_of("scara"), program, {"q": q, "v": v, "tau": np.array(one_for_all)}
        ),
    )
    for at in range(3):
        shared = [np.array(x) for x in (q, v, tau)]
        assert call_strided(call, 50, [*shared, shared[at]]) == 0
        np.testing.assert_array_equal(shared[at], expected)


def test_the_stream_is_passed_to_the_launch(loaded: ctypes.CDLL) -> None:
    q, M = np.zeros((4, 1)), np.zeros((16, 1))
    loaded.arm_mass_matrix_cuda(1, pointer(q), pointer(M), ctypes.c_void_p(12345))
    assert ctypes.c_void_p.in_dll(loaded, "cuda_on_cpu_stream").value == 12345


@pytest.mark.slow
@pytest.mark.usefixtures("short_parts")
@pytest.mark.parametrize(("real", "text"), [("float", {}), ("double", {"checked": True})])
def test_quaternions_parts_and_statuses_have_the_solvers_results(
    tmp_path: Path, real: str, text: dict[str, Any]
) -> None:
    """The function is split into parts. A refused state keeps its results."""
    robot = mechanism_of("turning")
    program = programs_of("turning", real)["forward_dynamics"]
    symgen.generate(
        robot, tmp_path / "r", ["forward_dynamics"], real, name="r", wrap=["cuda"], **text
    )
    assert "_part_2" in (tmp_path / "r" / "r_forward_dynamics.cuh").read_text()
    call = on_cpu(tmp_path / "r").library.r_forward_dynamics_cuda_strided
    states = random_states(program, 9)
    expected = solver_results(robot, program, states)
    results = np.full_like(expected, 5)
    if not text:
        assert call_strided(call, 9, [*states.values(), results]) == 0
        np.testing.assert_array_equal(results, expected)
        return
    states["q"][0, 2], states["v"][1, 4], states["tau"][0, 6] = 3, np.inf, np.nan
    for status in (np.full(9, -1, np.int32), None):
        results[...] = 5
        assert call_strided(call, 9, [*states.values(), results], [status]) == 0
        good = [0, 1, 3, 5, 7, 8]
        np.testing.assert_array_equal(results[:, good], expected[:, good])
        assert (results[:, [2, 4, 6]] == 5).all()
        if status is not None:
            assert [int(code) for code in status] == [
                0,
                0,
                4,
                0,
                1,
                0,
                1,
                0,
                0,
            ]  # NOT_UNIT, NOT_FINITE


@pytest.mark.slow
def test_angles_beyond_the_range_take_libms_sine_or_are_refused(tmp_path: Path) -> None:
    """Beyond 2^15 rad libm serves; a checked function with inline sines refuses such angles."""
    M, q = np.full((16, 3), 5.0), np.zeros((4, 3))
    q[1] = 0.3, 1e6, -1e12
    exact = symgen.compile("scara", ["mass_matrix"], trig="libm").mass_matrix(q.T).reshape(3, 16).T
    symgen.generate("scara", tmp_path / "far", ["mass_matrix"], name="remote", wrap=["cuda"])
    assert (
        call_strided(on_cpu(tmp_path / "far").library.remote_mass_matrix_cuda_strided, 3, [q, M])
        == 0
    )
    np.testing.assert_allclose(M, exact, rtol=1e-15)
    symgen.generate(
        "scara",
        tmp_path / "near",
        ["mass_matrix"],
        name="close_by",
        wrap=["cuda"],
        trig="inline",
        checked=True,
    )
    status = np.zeros(3, np.int32)
    assert (
        call_strided(
            on_cpu(tmp_path / "near").library.close_by_mass_matrix_cuda_strided, 3, [q, M], [status]
        )
        == 0
    )
    assert [int(code) for code in status] == [0, 2, 2]  # OUT_OF_RANGE


# -- with nvcc and on a GPU ------------------------------------------------------------------------

BY_MAKE_CUDA = pytest.mark.skipif(
    "SYMGEN_CUDA" not in os.environ, reason="nvcc takes several seconds; 'make cuda' runs it"
)


def skip_if_missing(ask: Any) -> Any:
    try:
        return ask()
    except CudaMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot", "real", "way"), [("scara", "double", "auto"), ("turning", "float", "auto, checked")]
)
def test_nvcc_compiles_without_warnings_and_spills(
    robot: str, real: str, way: str, tmp_path: Path
) -> None:
    """Warnings of both compilers are errors; a short function spills no register."""
    skip_if_missing(nvcc)
    programs = {"forward_dynamics": programs_of(robot, real)["forward_dynamics"]}
    target, files = files_of(robot, programs, TEXT_OPTIONS[way])
    for name, content in {**printer().headers(programs, target), **files}.items():
        (tmp_path / name).write_text(content)
    report = compiled(tmp_path / target.kernel_file("forward_dynamics"), tmp_path / "made.o")
    assert set(re.findall(r"(\d+) bytes spill", report)) == {"0"}
    assert 0 < max(map(int, re.findall(r"Used (\d+) registers", report))) < 255


@BY_MAKE_CUDA
def test_nvcc_compiles_the_samples_of_the_book(tmp_path: Path) -> None:
    compiler = skip_if_missing(nvcc)
    for folder, form in (("panda", "unrolled"), ("loops", "looped")):
        symgen.generate(
            "panda",
            tmp_path / folder,
            ["forward_dynamics"],
            wrap=["cuda"],
            form=form,
            functions_only=True,
        )
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "cuda.md").read_text(encoding="utf-8")
    for number, sample in enumerate(re.findall(r"^```cpp\n(.*?)^```$", page, re.M | re.S)):
        (tmp_path / f"{number}.cu").write_text(sample)
        folder = "loops" if "work" in sample else "panda"
        subprocess.run(
            [
                compiler,
                "-arch=sm_80",
                "-Werror",
                "all-warnings",
                f"-I{tmp_path / folder}",
                "-c",
                tmp_path / f"{number}.cu",
                "-o",
                tmp_path / "made.o",
            ],
            check=True,
        )
    assert number == 3


@BY_MAKE_CUDA
def test_cmake_builds_the_cuda_library_on_request(tmp_path: Path) -> None:
    """A program that links the library runs; without a GPU a call returns an error."""
    compiler = skip_if_missing(nvcc)
    symgen.generate(
        "scara", tmp_path / "arm", ["mass_matrix"], name="arm", wrap=["cuda"], trig="libm"
    )
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(user LANGUAGES C CUDA)\n"
        "add_subdirectory(arm)\n"
        "add_executable(user user.c)\ntarget_link_libraries(user PRIVATE arm::arm_cuda)\n"
    )
    (tmp_path / "user.c").write_text(
        '#include <stdio.h>\n#include "arm_cuda.h"\n'
        'int main(void) { printf("%d %d\\n", arm_mass_matrix_cuda(0, 0, 0, 0),'
        " arm_mass_matrix_cuda(4, 0, 0, 0)); return 0; }\n"
    )
    build = tmp_path / "build"
    cmake(
        "-S",
        tmp_path,
        "-B",
        build,
        "-Darm_CUDA=ON",
        "-DCMAKE_CUDA_ARCHITECTURES=80",
        f"-DCMAKE_CUDA_COMPILER={compiler}",
    )
    cmake("--build", build, "--target", "user")
    assert (
        "--fmad=false" in (build / "arm" / "CMakeFiles" / "arm_cuda.dir" / "flags.make").read_text()
    )
    none, four = map(
        int,
        subprocess.run([build / "user"], capture_output=True, text=True, check=True).stdout.split(),
    )
    assert none == 0
    try:
        gpu()
    except CudaMissing:
        assert four != 0


@pytest.mark.slow
def test_a_gpu_has_the_solvers_bits_or_is_within_round_off_with_contraction(tmp_path: Path) -> None:
    """The CPU library runs the same calls first, so that they are tested without a GPU."""
    robot = mechanism_of("turning")
    tried = []
    for real in ("double", "float"):
        program = programs_of("turning", real)["forward_dynamics"]
        folder = tmp_path / real
        symgen.generate(
            robot, folder, ["forward_dynamics"], real, name="r", wrap=["cuda"], functions_only=True
        )
        states = random_states(program, 1000)
        expected = solver_results(robot, program, states)
        np.testing.assert_array_equal(device_results(on_cpu(folder), states, expected), expected)
        tried.append((folder, states, expected))
    architecture = skip_if_missing(gpu)
    skip_if_missing(nvcc)
    for folder, states, expected in tried:
        strict, fused = (
            on_gpu(folder, *flags, architecture=architecture) for flags in ((ONE_ROUNDING,), ())
        )
        np.testing.assert_array_equal(device_results(strict, states, expected), expected)
        np.testing.assert_allclose(device_results(fused, states, expected), expected, rtol=1e-3)


def device_results(
    device: Device, states: Arrays, like: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    arrays = [device.array(array) for array in (*states.values(), np.full_like(like, np.nan))]
    results = np.empty_like(like)
    assert device.library.r_forward_dynamics_cuda(like.shape[1], *arrays, None) == 0
    device.read(arrays[-1], results)
    device.free(*arrays)
    return results


@pytest.mark.slow
def test_the_benchmark_times_kernels_and_reports_wrong_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The CPU library replaces the GPU."""
    monkeypatch.setattr(cuda_states, "FUNCTIONS", {"mass_matrix": "M"})
    monkeypatch.setattr(cuda_states, "COUNTS", (1000, 10**9))
    (count, (few,)), (_, (many,)) = cuda_states.table("scara", "double", on_cpu)
    assert count == 1000
    assert 0 <= few < 1e6
    assert np.isnan(many)

    def spoilt(folder: Path) -> Device:
        text = (folder / "robot_mass_matrix.cuh").read_text()
        (folder / "robot_mass_matrix.cuh").write_text(
            text.replace("    M[0] = ", "    M[0] = 1.001*", 1)
        )
        return on_cpu(folder)

    with pytest.raises(AssertionError, match="mass_matrix is wrong"):
        cuda_states.table("scara", "double", spoilt)


@pytest.mark.parametrize("bench", [cuda_states, cuda_peers])
def test_the_benchmarks_refuse_to_run_without_a_gpu(
    bench: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert bench.main([]) == 2
    name = bench.__name__.rpartition(".")[2]
    assert capsys.readouterr().err == f"{name}: no GPU at hand: running was skipped\n"
