"""The functions for a GPU: their text is the Program, and their kernels, run here by a C++ compiler, have the C's bits.

What needs nvcc or a GPU is skipped in a sentence where there is none.
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
from symgen.pipeline import build as making
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

WAYS = {
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
    """ "turning" has quaternions."""
    return random_mechanism(2, joints=("spherical",)) if robot == "turning" else symgen.load(robot)


@cache
def programs_of(robot: str, real: str) -> dict[str, Program]:
    return making.programs(mechanism_of(robot), list(SOME), ProgramOptions(real))


def files_of(
    robot: str, programs: Mapping[str, Program], text: TextOptions
) -> tuple[Target, dict[str, str]]:
    target = Target(robot, mechanism_of(robot).sizes, text)
    return target, wrapper("cuda").files(programs, target, {"forward_dynamics": {}})


def differences(
    robot: str,
    programs: Mapping[str, Program],
    text: TextOptions,
    given: Mapping[str, str] | None = None,
) -> list[str]:
    """What `verify` finds."""
    target, printed = files_of(robot, programs, text)
    texts = printed if given is None else given
    header = printer().headers(programs, target)[target.header]
    found = check_device(programs, texts, header, target, {})
    assert {check.kind for check in found} == {"device"}
    return [f"{check.subject}: {check.detail}" for check in found if not check.passed]


# -- the text ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("robot", "real"), [("scara", "double"), ("turning", "float")])
def test_a_thread_is_the_program(robot: str, real: str, way: str) -> None:
    assert differences(robot, programs_of(robot, real), WAYS[way]) == []


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LONGEST", 30)
    monkeypatch.setattr(parts, "LINES", 10)


@pytest.mark.usefixtures("short_parts")
def test_long_functions_go_by_parts() -> None:
    for way in ("auto", "inline, checked"):
        _, files = files_of("scara", programs_of("scara", "double"), WAYS[way])
        assert (
            files["scara_forward_dynamics.cuh"].count(
                "static __device__ __noinline__ void scara_forward_dynamics_part_"
            )
            > 1
        )
        assert differences("scara", programs_of("scara", "double"), WAYS[way]) == []


SLIPS = {
    "another sine": (".cuh", "turn_1.sine", "turn_1.cosine"),
    "another angle": (".cuh", "scara_sincos(q[1])", "scara_sincos(q[0])"),
    "another sign": (".cuh", " + t", " - t"),
    "another result": (".cuh", "a[2] = ", "a[1] = "),
    "another number": (".cuh", "0.65*", "0.66*"),
    "another qualifier": (".cuh", "static __device__ inline", "static __host__ inline"),
    "a macro": (".cuh", "#include <math.h>", "#include <math.h>\n#define v q"),
    "another header": (".cuh", '#include "scara.h"', '#include "other.h"'),
    "a line that goes on": (".cuh", "SA (16) */", "SA (16) \\ */"),
    "another place": ("_cuda.cu", "i*q_state + k*q_element", "i*q_element + k*q_state"),
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
def test_a_slip_in_the_text_is_seen(slip: str) -> None:
    end, old, new = SLIPS[slip]
    programs = {"forward_dynamics": programs_of("scara", "double")["forward_dynamics"]}
    _, files = files_of("scara", programs, WAYS["auto"])
    name = f"scara_forward_dynamics{end}"
    assert old in files[name]
    assert differences(
        "scara", programs, WAYS["auto"], files | {name: files[name].replace(old, new, 1)}
    )


def test_headers_are_judged_too() -> None:
    programs = {"forward_dynamics": programs_of("scara", "double")["forward_dynamics"]}
    _, files = files_of("scara", programs, WAYS["auto"])
    _, all_files = files_of("scara", programs_of("scara", "double"), WAYS["auto"])
    assert (
        differences("scara", programs, WAYS["auto"], all_files) == []
    )  # what was not asked for may stand there
    for name, old, new in (
        ("scara_sincos.cuh", "y*s_1", "y*s_2"),
        ("scara_cuda.h", "CUDA_THREADS 128", "CUDA_THREADS 64"),
        ("scara_cuda.h", "const double *q,", "const double *v,"),
    ):
        assert old in files[name]
        spoilt = files | {name: files[name].replace(old, new, 1)}
        assert name in differences("scara", programs, WAYS["auto"], spoilt)[0]
        lost = {other: content for other, content in files.items() if other != name}
        assert f"{name} is missing" in differences("scara", programs, WAYS["auto"], lost)[0]


# -- the folder -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the arm, with everything that is around it."""
    place = tmp_path_factory.mktemp("folder") / "arm"
    manifest = symgen.generate("scara", place, SOME, name="arm", wrap=["cuda"], trig="inline")
    assert {
        "arm_cuda.h",
        "arm_sincos.cuh",
        "arm_mass_matrix.cuh",
        "arm_mass_matrix_cuda.cu",
    } <= set(manifest["files"])
    assert "--wrap cuda" in manifest["command"]
    return place


def test_it_is_part_of_the_folder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["verify", str(folder), "-f", "mass_matrix"]) == 0
    assert (
        "on a GPU: 1 function, thread by thread the same rows; none was run there"
        in capsys.readouterr().out
    )
    for name in ("arm_cuda.h", "arm_mass_matrix.cuh", "arm_mass_matrix_cuda.cu"):
        own = folder / name
        text = own.read_text()
        own.write_text(
            text.replace("double *M", "double *X")
            if ".cuh" not in name
            else text.replace("M[2] =", "M[1] =")
        )
        assert own.read_text() != text
        assert cli.main(["verify", str(folder), "-f", "mass_matrix"]) == 1
        assert "FAILED on a GPU" in capsys.readouterr().out
        own.unlink()
        assert cli.main(["verify", str(folder), "-f", "mass_matrix"]) == 1
        assert f"{name} is missing" in capsys.readouterr().out
        own.write_text(text)
    assert (
        'option(arm_CUDA "Build arm_cuda with CUDA\'s compiler" OFF)'
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


def test_without_it_nothing_of_it_is_there(tmp_path: Path) -> None:
    symgen.generate("planar_arm", tmp_path / "arm", ["mass_matrix"])
    assert not [
        path.name
        for path in (tmp_path / "arm").iterdir()
        if "cu" in path.name or "CUDA" in path.read_text()
    ]


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        ArgumentError,
        match="firmware for cortex-m7 cannot call; leave out --wrap cuda, or --target",
    ):
        symgen.generate(
            "scara", tmp_path / "arm", ["mass_matrix"], wrap=["cuda"], target="cortex-m7"
        )
    with pytest.raises(
        RequestError, match=r"cuda_runtime\.h is a header of CUDA's, .* give it another --name"
    ):
        symgen.generate(
            "scara", tmp_path / "arm", ["mass_matrix"], wrap=["cuda"], name="cuda_runtime"
        )


def test_a_program_in_c_needs_nothing_of_cuda(folder: Path, tmp_path: Path) -> None:
    """The header in strict C and in C++; the call is linked with what stands in for the library."""
    program = (
        '#include "arm_cuda.h"\n#include "arm_cuda.h"\n'
        "int main(void) { double q[2*arm_NQ] = {0}; double M[2*arm_NV*arm_NV];\n"
        "  return arm_mass_matrix_cuda(2, q, M, 0) || arm_mass_matrix_cuda(-1, 0, 0, 0) || M[1] != M[0] || M[0] <= 0; }\n"
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


# -- the kernels, run here --------------------------------------------------------------------------------------------------


def drawn(program: Program, count: int, seed: int = 7) -> dict[str, np.ndarray[Any, Any]]:
    """Random states, element by element, quaternions of length one."""
    found = {
        port.name: np.random.default_rng(seed).normal(size=(port.size, count))
        for port in program.inputs
    }
    for place, first in program.unit_quaternions:
        own = found[program.inputs[place].name][first : first + 4]
        own /= np.linalg.norm(own, axis=0)
    return {
        name: values.astype(np.float32 if program.real == "float" else np.float64)
        for name, values in found.items()
    }


def pointer(array: np.ndarray[Any, Any] | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


def strided(
    call: Any, count: int, arrays: Iterable[np.ndarray[Any, Any]], status: Iterable[Any] = ()
) -> int:
    """Call NAME_<function>_cuda_strided; arrays have the element first, then the state."""
    words: list[Any] = [ctypes.c_ssize_t(count)]
    for array in arrays:
        element, state = (step // array.itemsize for step in array.strides)
        words += [pointer(array), ctypes.c_ssize_t(state), ctypes.c_ssize_t(element)]
    return int(call(*words, *map(pointer, status), pointer(None)))


def by_solver(robot: Mechanism, program: Program, given: Arrays) -> np.ndarray[Any, Any]:
    solver = symgen.compile(robot, [program.function], program.real, trig="inline")
    found = getattr(solver, program.function)(*(values.T for values in given.values()))
    return np.ascontiguousarray(np.asarray(found).reshape(-1, program.outputs[0].size).T)


@pytest.fixture(scope="module")
def loaded(folder: Path) -> ctypes.CDLL:
    return on_cpu(folder).library


def test_any_count_and_grid_has_the_solvers_bits(loaded: ctypes.CDLL) -> None:
    for name in SOME:
        program = programs_of("scara", "double")[name]
        given = drawn(program, 300)
        wanted = by_solver(mechanism_of("scara"), program, given)
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
            own = {key: np.ascontiguousarray(values[:, :some]) for key, values in given.items()}
            found = np.full((size, some + 1), np.nan)  # one state more, which stays
            into = np.full(size * some + 1, np.nan)
            ctypes.c_int.in_dll(loaded, "cuda_on_cpu_blocks").value = blocks
            ctypes.c_int.in_dll(loaded, "cuda_on_cpu_backwards").value = backwards
            assert (
                call(ctypes.c_int(count), *map(pointer, own.values()), pointer(into), pointer(None))
                == 0
            )
            assert (
                strided(getattr(loaded, f"arm_{name}_cuda_strided"), count, [*own.values(), found])
                == 0
            )
            np.testing.assert_array_equal(into[:-1].reshape(size, some), wanted[:, :some])
            np.testing.assert_array_equal(found[:, :-1], wanted[:, :some])
            assert np.isnan(into[-1])
            assert np.isnan(found[:, -1]).all()


def test_states_stand_anywhere(loaded: ctypes.CDLL) -> None:
    """One after another, with room between, one for all, and where the results go."""
    program = programs_of("scara", "double")["forward_dynamics"]
    q, v, tau = drawn(program, 50).values()
    wanted = by_solver(mechanism_of("scara"), program, {"q": q, "v": v, "tau": tau})
    call = loaded.arm_forward_dynamics_cuda_strided
    room = np.full((4, 3, 70), np.nan)[:, 1, 5:55]
    room[...] = q
    rows, into = np.ascontiguousarray(v.T).T, np.full((4, 50), np.nan)
    assert strided(call, 50, [room, rows, tau, into]) == 0
    np.testing.assert_array_equal(into, wanted)
    one = np.broadcast_to(tau[:, :1], (4, 50))
    assert strided(call, 50, [q, v, one, into]) == 0
    np.testing.assert_array_equal(
        into, by_solver(mechanism_of("scara"), program, {"q": q, "v": v, "tau": np.array(one)})
    )
    for at in range(3):
        shared = [np.array(x) for x in (q, v, tau)]
        assert strided(call, 50, [*shared, shared[at]]) == 0
        np.testing.assert_array_equal(shared[at], wanted)


def test_the_stream_is_handed_on(loaded: ctypes.CDLL) -> None:
    q, M = np.zeros((4, 1)), np.zeros((16, 1))
    loaded.arm_mass_matrix_cuda(1, pointer(q), pointer(M), ctypes.c_void_p(12345))
    assert ctypes.c_void_p.in_dll(loaded, "cuda_on_cpu_stream").value == 12345


@pytest.mark.usefixtures("short_parts")
@pytest.mark.parametrize(("real", "text"), [("float", {}), ("double", {"checked": True})])
def test_quaternions_parts_and_statuses(tmp_path: Path, real: str, text: dict[str, Any]) -> None:
    """In parts. A state that is refused keeps its results; one that is far away has other sines, not other bits."""
    robot = mechanism_of("turning")
    program = programs_of("turning", real)["forward_dynamics"]
    symgen.generate(
        robot, tmp_path / "r", ["forward_dynamics"], real, name="r", wrap=["cuda"], **text
    )
    assert "_part_2" in (tmp_path / "r" / "r_forward_dynamics.cuh").read_text()
    call = on_cpu(tmp_path / "r").library.r_forward_dynamics_cuda_strided
    given = drawn(program, 9)
    wanted = by_solver(robot, program, given)
    into = np.full_like(wanted, 5)
    if not text:
        assert strided(call, 9, [*given.values(), into]) == 0
        np.testing.assert_array_equal(into, wanted)
        return
    given["q"][0, 2], given["v"][1, 4], given["tau"][0, 6] = 3, np.inf, np.nan
    for status in (np.full(9, -1, np.int32), None):
        into[...] = 5
        assert strided(call, 9, [*given.values(), into], [status]) == 0
        good = [0, 1, 3, 5, 7, 8]
        np.testing.assert_array_equal(into[:, good], wanted[:, good])
        assert (into[:, [2, 4, 6]] == 5).all()
        if status is not None:
            assert [int(one) for one in status] == [
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


def test_angles_out_of_range_have_other_sines(tmp_path: Path) -> None:
    """Beyond 2^15 rad, the stand-in's <math.h>; a checked function of own sines refuses them."""
    M, q = np.full((16, 3), 5.0), np.zeros((4, 3))
    q[1] = 0.3, 1e6, -1e12
    exact = symgen.compile("scara", ["mass_matrix"], trig="libm").mass_matrix(q.T).reshape(3, 16).T
    symgen.generate("scara", tmp_path / "far", ["mass_matrix"], name="remote", wrap=["cuda"])
    assert strided(on_cpu(tmp_path / "far").library.remote_mass_matrix_cuda_strided, 3, [q, M]) == 0
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
        strided(
            on_cpu(tmp_path / "near").library.close_by_mass_matrix_cuda_strided, 3, [q, M], [status]
        )
        == 0
    )
    assert [int(one) for one in status] == [0, 2, 2]  # OUT_OF_RANGE


# -- by nvcc, and on a GPU --------------------------------------------------------------------------------------------------

BY_MAKE_CUDA = pytest.mark.skipif(
    "SYMGEN_CUDA" not in os.environ, reason="several seconds of nvcc's; 'make cuda' runs it"
)


def or_skip(ask: Any) -> Any:
    try:
        return ask()
    except CudaMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    ("robot", "real", "way"), [("scara", "double", "auto"), ("turning", "float", "auto, checked")]
)
def test_nvcc_takes_it_without_a_word(robot: str, real: str, way: str, tmp_path: Path) -> None:
    """Every warning is an error, of the host's compiler too; a short function spills no register."""
    or_skip(nvcc)
    programs = {"forward_dynamics": programs_of(robot, real)["forward_dynamics"]}
    target, files = files_of(robot, programs, WAYS[way])
    for name, content in {**printer().headers(programs, target), **files}.items():
        (tmp_path / name).write_text(content)
    said = compiled(tmp_path / target.kernel("forward_dynamics"), tmp_path / "made.o")
    assert set(re.findall(r"(\d+) bytes spill", said)) == {"0"}
    assert 0 < max(map(int, re.findall(r"Used (\d+) registers", said))) < 255


@BY_MAKE_CUDA
def test_nvcc_takes_the_samples_of_the_book(tmp_path: Path) -> None:
    compiler = or_skip(nvcc)
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
def test_cmake_builds_it_where_it_is_asked_for(tmp_path: Path) -> None:
    """A program with the library in it runs; without a GPU a call returns an error."""
    compiler = or_skip(nvcc)
    symgen.generate(
        "scara", tmp_path / "arm", ["mass_matrix"], name="arm", wrap=["cuda"], trig="libm"
    )
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(user LANGUAGES C CUDA)\nadd_subdirectory(arm)\n"
        "add_executable(user user.c)\ntarget_link_libraries(user PRIVATE arm::arm_cuda)\n"
    )
    (tmp_path / "user.c").write_text(
        '#include <stdio.h>\n#include "arm_cuda.h"\n'
        'int main(void) { printf("%d %d\\n", arm_mass_matrix_cuda(0, 0, 0, 0), arm_mass_matrix_cuda(4, 0, 0, 0)); return 0; }\n'
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


def test_a_gpu_has_the_solvers_bits_and_within_round_off_when_it_fuses(tmp_path: Path) -> None:
    """The stand-in goes the same way, so that this is tried where there is no GPU."""
    robot = mechanism_of("turning")
    tried = []
    for real in ("double", "float"):
        program = programs_of("turning", real)["forward_dynamics"]
        folder = tmp_path / real
        symgen.generate(
            robot, folder, ["forward_dynamics"], real, name="r", wrap=["cuda"], functions_only=True
        )
        given = drawn(program, 1000)
        wanted = by_solver(robot, program, given)
        np.testing.assert_array_equal(by_device(on_cpu(folder), given, wanted), wanted)
        tried.append((folder, given, wanted))
    architecture = or_skip(gpu)
    or_skip(nvcc)
    for folder, given, wanted in tried:
        strict, fused = (
            on_gpu(folder, *flags, architecture=architecture) for flags in ((ONE_ROUNDING,), ())
        )
        np.testing.assert_array_equal(by_device(strict, given, wanted), wanted)
        np.testing.assert_allclose(by_device(fused, given, wanted), wanted, rtol=1e-3)


def by_device(device: Device, given: Arrays, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    places = [device.array(array) for array in (*given.values(), np.full_like(like, np.nan))]
    found = np.empty_like(like)
    assert device.library.r_forward_dynamics_cuda(like.shape[1], *places, None) == 0
    device.read(places[-1], found)
    device.free(*places)
    return found


def test_the_bench_times_and_compares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here by the stand-in; it sees results that are not the solver's."""
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
def test_the_benches_refuse_where_there_is_no_gpu(
    bench: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert bench.main([]) == 2
    name = bench.__name__.rpartition(".")[2]
    assert capsys.readouterr().err == f"{name}: no GPU at hand: running was skipped\n"
