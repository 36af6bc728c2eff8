"""Loops over links in CUDA: their text computes the loops, and their kernels have the C's bits.

A C++ compiler runs the kernels on the CPU.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.emission import looped_threads, printer, wrapper
from symgen.ir.loops import Form, LoopProgram
from symgen.pipeline import build
from symgen.support.errors import RequestError
from symgen.verification.text import check_device
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.target import Target
from tests.shared.cuda_tools import CudaMissing, compiled, nvcc, on_cpu

CHAIN = ("forward_dynamics", "inverse_dynamics", "jacobian")
TREE = ("forward_dynamics", "link_poses", "center_of_mass", "mass_matrix_log_determinant")
TEXT_OPTIONS = {
    "auto": TextOptions("auto"),
    "libm, checked": TextOptions("libm", checked=True),
    "inline, checked": TextOptions("inline", checked=True),
}
Files = dict[str, str]


@cache
def print_texts(
    robot: str, functions: tuple[str, ...], way: str, real: str = "double"
) -> tuple[dict[str, Form], Target, Files]:
    """Return loops over a robot's links, and their texts for a GPU."""
    mechanism, text = symgen.load(robot), TEXT_OPTIONS[way]
    options = ProgramOptions(real, form="looped").guarded(text.checked)
    programs = {name: build.build_form(mechanism, name, None, options) for name in functions}
    assert all(isinstance(program, LoopProgram) for program in programs.values())
    target = Target(robot, mechanism.sizes, text)
    return programs, target, wrapper("cuda").files(programs, target)


def differences(
    programs: dict[str, Form], target: Target, files: Files, work: int | None = None
) -> list[str]:
    """Return the failures of verification; `work` replaces the size of a workspace in NAME.h."""
    header = printer().headers(programs, target)[target.header]
    if work is not None:
        header = re.sub(r"(_WORK )\d+", rf"\g<1>{work}", header)
    checks = check_device(programs, files, header, target, {})
    return [check.detail for check in checks if not check.passed]


# -- the text --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot", "functions", "real", "way"),
    [
        ("ur5", CHAIN, "double", "auto"),
        ("quadruped", TREE[1:], "float", "auto"),
        ("quadruped", TREE[:1], "float", "inline, checked"),
        ("quadruped", TREE[3:], "double", "libm, checked"),
    ],
)
def test_each_thread_computes_the_loops(
    robot: str, functions: tuple[str, ...], real: str, way: str
) -> None:
    assert differences(*print_texts(robot, functions, way, real)) == []


DEVICE = {
    "an element of an argument": (
        "local_q[0] = q[i*q_element]",
        "local_q[0] = q[(i + 1)*q_element]",
    ),
    "another stride": ("v[i*v_element]", "v[i*q_element]"),
    "a stride that is left out": ("tau[i*tau_element]", "tau[i]"),
    "a stride of the workspace": (
        "+ 1)*threads] = local_new_saved[1]",
        "+ 1)] = local_new_saved[1]",
    ),
    "an offset in the workspace": ("work[(17*i)*threads]", "work[(16*i)*threads]"),
    "an element too few": ("for (k = 0; k < 8", "for (k = 1; k < 8"),
    "an element that is not copied": ("local_saved[0] = ", "local_saved[1] = "),
    "a link too few": ("for (i = 0; i <= 5", "for (i = 0; i < 5"),
    "a reversed sweep": ("for (i = 5; i >= 1; --i)", "for (i = 1; i <= 5; ++i)"),
    "a row of the table": ("forward_dynamics_table[i]", "forward_dynamics_table[0]"),
    "a carry": ("carry_3[26] = 0.0", "carry_3[26] = 1.0"),
    "a result of another link": ("a[i*a_element] =", "a[(5 - i)*a_element] ="),
    "an operation of a step": ("local_a[0]", "-local_a[0]"),
    "a constant": ("0.0, 1.0,", "1.0, 1.0,"),
    "tables in the host's memory": ("static __constant__ const", "static const"),
    "a function of the host": ("static __device__ inline void", "static inline void"),
    "another sine": ("turn_1.sine", "turn_1.cosine"),
    "a macro": ("#include <math.h>\n", "#include <math.h>\n#define v q\n"),
}
KERNEL = {
    "a state of an argument": ("&q[i*q_state]", "&q[i*v_state]"),
    "a distance": ("q_element, &v", "v_element, &v"),
    "the workspace of another thread": ("&work[thread], step", "&work[0], step"),
    "a workspace for each state": ("&work[thread], step", "&work[i], count"),
    "workspaces that overlap": ("&work[thread], step", "&work[thread], 1"),
    "a state too many": ("i < count", "i <= count"),
    "a thread's next state": ("i += step", "i += 1"),
    "another first state": ("(i = thread; ", "(i = 0; "),
    "more threads than workspaces": ("(needed < most) ? needed : most", "needed"),
    "a block that is too large": ("(threads < ur5_CUDA_THREADS) ?", "(threads > 0) ?"),
    "too few threads": ("threads/block", "threads/ur5_CUDA_THREADS"),
    "a grid too small": ("(count - 1)/block + 1", "(count - 1)/block"),
    "a product of 32 bits": ("(ptrdiff_t)blockIdx.x*blockDim.x", "blockIdx.x*blockDim.x"),
    "a grid beyond the limit": ("(blocks < INT_MAX) ?", "(blocks != 0) ?"),
    "no workspaces": ("if (threads <= 0)", "if (threads < 0)"),
    "another error": ("cudaErrorInvalidValue", "cudaSuccess"),
    "another stream": ("launch.stream = stream;", ""),
    "arguments that are swapped": ("count, q, 1, count, v, 1", "count, v, 1, count, q, 1"),
    "bounds of a launch": ("__launch_bounds__(ur5_CUDA_THREADS) ", ""),
}


@pytest.mark.parametrize("slip", [*DEVICE, *KERNEL])
def test_an_error_in_the_text_is_reported(slip: str) -> None:
    programs, target, files = print_texts("ur5", ("forward_dynamics",), "auto")
    old, new = (DEVICE | KERNEL)[slip]
    file = (target.device_file if slip in DEVICE else target.kernel_file)("forward_dynamics")
    assert old in files[file]
    failures = differences(programs, target, files | {file: files[file].replace(old, new, 1)})
    assert len(failures[0]) > 20


CHECKED = {
    "a status": ("status = quadruped_DIVISOR", "status = quadruped_NOT_UNIT"),
    "an argument that is not compared": ("none = none + (0.0*v[", "none = none + (0.0*q["),
    "a result that is not compared": ("i <= 17; ++i) {\n            none = none + (0.0*work[", ""),
    "a result that is stored too early": ("(status == quadruped_OK) && (i <= 17)", "(i <= 17)"),
    "a bound": (">= 2.2250738585072014e-308", ">= 2.2250738585072014e-307"),
}


@pytest.mark.parametrize("slip", CHECKED)
def test_an_error_in_a_check_is_reported(slip: str) -> None:
    programs, target, files = print_texts("quadruped", ("forward_dynamics",), "libm, checked")
    old, new = CHECKED[slip]
    if not new:  # the last results are left out
        old, new = old, old.replace("i <= 17", "i <= 16")
    file = target.device_file("forward_dynamics")
    assert old in files[file]
    assert differences(programs, target, files | {file: files[file].replace(old, new)})


def test_a_header_with_too_small_a_workspace_is_refused() -> None:
    programs, target, files = print_texts("ur5", ("forward_dynamics",), "auto")
    (sentence,) = differences(programs, target, files, work=looped_work(programs) - 1)
    assert "work" in sentence
    assert "is outside of" in sentence


def looped_work(programs: dict[str, Form]) -> int:
    return max(printer().work(program) for program in programs.values())


def test_tables_too_large_for_constant_memory_are_put_in_global_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs, target, files = print_texts("ur5", ("forward_dynamics",), "auto")
    name = target.device_file("forward_dynamics")
    assert "static __constant__ const double ur5_forward_dynamics_table[6][13] = {" in files[name]
    monkeypatch.setattr(looped_threads, "CONSTANT_MEMORY", 623)
    large = wrapper("cuda").files(programs, target)
    assert "static __device__ const double ur5_forward_dynamics_table[6][13] = {" in large[name]
    assert "constant memory has 65536 bytes" in large[name]
    assert differences(programs, target, large) == []


@pytest.mark.slow
def test_a_chain_in_parts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        RequestError, match=r"riccati:segments computes several links .* leave out --wrap"
    ):
        symgen.generate(
            "planar_point_mass:40",
            tmp_path / "parts",
            ["forward_dynamics=riccati:segments"],
            wrap=["cuda"],
        )


# -- the kernels, on the CPU -----------------------------------------------------------------------


def call(
    library: Any, symbol: str, arrays: list[np.ndarray[Any, Any]], work: int, more: list[Any]
) -> int:
    """Call NAME_<function>_cuda on arrays whose rows are elements; `more` are workspaces and
    statuses.
    """
    threads, *statuses = more
    room = np.full(work * max(threads, 1), np.nan, arrays[0].dtype)
    words: list[Any] = [ctypes.c_void_p(array.ctypes.data) for array in [*arrays, room]]
    words += [ctypes.c_ssize_t(threads)]
    words += [ctypes.c_void_p(status.ctypes.data) for status in statuses]
    count = ctypes.c_int(arrays[0].shape[1])
    return int(getattr(library, f"{symbol}_cuda")(count, *words, ctypes.c_void_p(None)))


def solver_results(
    robot: str, function: str, arguments: list[np.ndarray[Any, Any]], **options: Any
) -> np.ndarray[Any, Any]:
    """Return the results of the solver's loops, rows of elements."""
    solver = symgen.compile(robot, [function], form="looped", **options)
    results = getattr(solver, function)(*(array.T for array in arguments))
    return np.ascontiguousarray(np.asarray(results).reshape(arguments[0].shape[1], -1).T)


@pytest.mark.parametrize(("threads", "blocks"), [(1000, 0), (1000, 2), (200, 0), (70, 0), (1, 0)])
def test_any_number_of_workspaces_has_the_solvers_bits(
    threads: int, blocks: int, library: Any
) -> None:
    arguments = [np.random.default_rng(k).uniform(-3, 3, (6, 300)) for k in range(3)]
    ctypes.c_int.in_dll(library, "cuda_on_cpu_blocks").value = blocks
    for function in ("forward_dynamics", "inverse_dynamics"):
        accelerations = np.full((6, 300), np.nan)
        assert call(library, f"arm_{function}", [*arguments, accelerations], WORK, [threads]) == 0
        np.testing.assert_array_equal(accelerations, solver_results("ur5", function, arguments))
    ctypes.c_int.in_dll(library, "cuda_on_cpu_blocks").value = 0


def test_no_workspaces_are_an_error(library: Any) -> None:
    arrays = [np.full((6, 3), 0.5) for _ in range(4)]
    assert call(library, "arm_forward_dynamics", arrays, WORK, [0]) == 1
    assert (arrays[-1] == 0.5).all()


WORK = 102
"""Size of the workspace of six revolute joints."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Forward and inverse dynamics of six revolute joints, compiled for the CPU."""
    folder = tmp_path_factory.mktemp("loops") / "arm"
    functions = ["forward_dynamics", "inverse_dynamics"]
    symgen.generate(
        "ur5", folder, functions, name="arm", wrap=["cuda"], form="looped", functions_only=True
    )
    assert f"#define arm_WORK {WORK}" in (folder / "arm.h").read_text()
    return on_cpu(folder).library


@pytest.mark.slow
def test_a_tree_with_a_free_base_refuses_states(tmp_path: Path) -> None:
    """In `float`: a refused state keeps its results. One state's quaternion has not unit length."""
    symgen.generate(
        "quadruped",
        tmp_path / "dog",
        ["forward_dynamics"],
        "float",
        wrap=["cuda"],
        form="looped",
        checked=True,
        functions_only=True,
    )
    header = (tmp_path / "dog" / "quadruped.h").read_text()
    work = int(re.search(r"_WORK (\d+)", header)[1])  # type: ignore[index]
    draw = np.random.default_rng(5)
    sizes = {"q": 19, "v": 18, "tau": 18}
    arguments = [draw.uniform(-1, 1, (size, 5)).astype(np.float32) for size in sizes.values()]
    arguments[0][3:7] = [[0.5]] * 4
    arguments[0][3, 1], arguments[1][4, 3] = 1, np.inf
    accelerations, status = np.full((18, 5), 7, np.float32), np.full(5, -1, np.int32)
    library = on_cpu(tmp_path / "dog").library
    symbol = "quadruped_forward_dynamics"
    assert call(library, symbol, [*arguments, accelerations], work, [3, status]) == 0
    assert [int(code) for code in status] == [0, 4, 0, 1, 0]  # NOT_UNIT, NOT_FINITE
    good = [0, 2, 4]
    expected = solver_results(
        "quadruped", "forward_dynamics", [a[:, good] for a in arguments], real="float"
    )
    np.testing.assert_array_equal(accelerations[:, good], expected)
    assert (accelerations[:, [1, 3]] == 7).all()


@pytest.mark.slow
def test_nvcc_compiles_without_warnings_and_spills(tmp_path: Path) -> None:
    """Every warning is an error; a thread's arrays are in registers, and none is spilled."""
    try:
        nvcc()
    except CudaMissing as missing:
        pytest.skip(str(missing))
    programs, target, files = print_texts("ur5", ("forward_dynamics",), "auto")
    for name, content in {**printer().headers(programs, target), **files}.items():
        (tmp_path / name).write_text(content)
    text = compiled(tmp_path / target.kernel_file("forward_dynamics"), tmp_path / "made.o")
    assert set(re.findall(r"(\d+) bytes spill", text)) == {"0"}
    assert max(map(int, re.findall(r"(\d+) bytes stack frame", text))) < 100
