"""Kernels of an arm of two links for a GPU, and what launches them: each slip has its sentence."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import cache

import pytest

import symgen
from symgen.emission import printer, wrapper
from symgen.ir.loops import LoopProgram
from symgen.ir.program import Port, Program
from symgen.pipeline.loops import recursion
from symgen.readback import kernels
from symgen.readback.batches import RESULT_LAYOUTS
from symgen.readback.device import Names
from symgen.readback.kernels import LARGEST, CudaText, Options, _cases, _Device, _grid
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.target import Target
from tests.segments import aimed
from tests.shared.c_programs import Builder, arm, vector


@cache
def form() -> LoopProgram:
    """Return the gravity force of an arm of two links, as loops."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return recursion(symgen.load("planar_arm"), "gravity_force", "newton_euler")


@cache
def files(checked: bool = True) -> CudaText:
    target = aimed(form(), "libm")
    target = replace(target, text=replace(target.text, checked=checked))
    programs = {form().function: form()}
    texts = wrapper("cuda").files(programs, target, {})
    names = target.device_file(form().function), target.kernel_file(form().function)
    header = printer().headers(programs, target)[target.header]
    device, kernel = (texts[name] for name in names)
    return CudaText(device, kernel, texts[target.cuda_header], header)


def differences(text: CudaText, checked: bool = True) -> list[str]:
    """Return the differences of a text, without the numbers of lines."""
    sentences = kernels.compare(
        form(), text, Names("arm", "arm_gravity_force"), Options(checked, False, {})
    )
    return [re.sub(r"\bline \d+: ", "", sentence) for sentence in sentences]


F = "arm_gravity_force"
STRIDED = f"{F}_cuda_strided"
PASSED = "count, q, q_state, q_element, g, g_state, g_element, work, status"
KERNEL = [
    (
        "&work[thread], step",
        "status, step",
        f"{STRIDED}: the function of one state is called without an array of numbers",
    ),
    (
        "&work[thread], step",
        "&work[thread], (int)step",
        f"{STRIDED}: the function of one state is called without an array of numbers",
    ),
    ("__global__ void", "void", "__launch_bounds__ is not at its place in generated code"),
    ("#include <limits.h>\n", "", f"{F}_cuda.cu has other directives than generated text"),
    (
        f"int {F}_cuda(",
        f"int {F}_cudas(",
        f"{F}_cuda.cu must define exactly a kernel and the two functions that launch it",
    ),
    (
        f"int {F}_cuda(",
        f"static int {F}_cuda(",
        f"{F}_cuda.cu: a function must not be static or inline",
    ),
    (
        "    ptrdiff_t i;",
        "#pragma unroll\n    ptrdiff_t i;",
        f"{F}_cuda.cu: '#pragma unroll' is not before a loop",
    ),
    ("/", "// ", f"{F}_cuda.cu: line 1 contains '//', "),
    (
        "    ptrdiff_t i;",
        "    __shared__ ptrdiff_t i;",
        "__shared__ is not at its place in generated code",
    ),
    (
        "(ptrdiff_t)gridDim.x*blockDim.x",
        "gridDim.x*blockDim.x",
        "2147483647 * 128 does not fit into 32 bits",
    ),
    (
        "(ptrdiff_t)gridDim.x*blockDim.x",
        "(ptrdiff_t)gridDim.x",
        f"{STRIDED}: work[1] is used by another iteration of the loop",
    ),
    (
        "(ptrdiff_t)blockIdx.x*blockDim.x + threadIdx.x",
        "blockIdx.x*blockDim.x + threadIdx.x",
        "2147483646 * 128 does not fit into 32 bits",
    ),
    (
        "(ptrdiff_t)blockIdx.x*blockDim.x + threadIdx.x",
        "(ptrdiff_t)blockIdx.x*blockDim.x",
        f"{STRIDED}: work[0] is used by another iteration of the loop",
    ),
    (
        "i < count; i += step",
        "i < count - 1; i += step",
        f"{STRIDED} of 1 states, element by element: g[0] differs from the expected number",
    ),
    (
        "i < count; i += step",
        "i < count; i += 1",
        f"{STRIDED}: status[1] is used by another iteration of the loop",
    ),
    (
        "&q[i*q_state], q_element",
        "&q[i*q_element], q_state",
        f"{STRIDED}: q[1] is read before it is stored",
    ),
    (
        "&g[i*g_state], g_element",
        "&g[i*g_element], g_state",
        f"{STRIDED} of 1 states, element by element: g[1] differs from the expected number",
    ),
    ("&work[thread], step", "&work[i], step", f"{STRIDED}: work[4] is outside of its array"),
    (
        "&work[thread], step",
        "&work[thread], 1",
        f"{STRIDED}: work[1] is used by another iteration of the loop",
    ),
    (
        "&work[thread], step",
        "&work[0], step",
        f"{STRIDED}: work[0] is used by another iteration of the loop",
    ),
    (
        "&work[thread], step",
        "step, &work[thread]",
        f"{STRIDED}: the function of one state is called without an array of numbers",
    ),
    (", &work[thread], step", "", f"{STRIDED}: the function of one state is given 4 arguments"),
    (
        "if (status != 0) {",
        "if (status != 0 && (i > 0)) {",
        f"{STRIDED} of 1 states: the statuses are not those of the states",
    ),
    (
        "status[i] = found",
        "status[thread] = found",
        f"{STRIDED} of 3 states: the statuses are not those of the states",
    ),
    (
        "return (int)cudaSuccess",
        "return (int)cudaErrorInvalidValue",
        f"{STRIDED} of -1 states returns 1",
    ),
    (
        "if (count <= 0)",
        "if (count < 0)",
        f"{STRIDED}: -1 / 3 is not an operation of generated code",
    ),
    ("if (threads <= 0)", "if (threads < 0)", "0 / 0 is not an operation of generated code"),
    ("if (threads <= 0)", "if (threads == 0)", "-1 / -1 is not an operation of generated code"),
    (
        "return (int)cudaErrorInvalidValue",
        "return (int)cudaSuccess",
        f"{STRIDED} does not refuse 0 workspaces",
    ),
    (
        "(threads < arm_CUDA_THREADS) ? threads :",
        "(threads > arm_CUDA_THREADS) ? threads :",
        f"{STRIDED}: {F}_kernel is launched with 1 blocks of 5 threads, not 1 of 3",
    ),
    (
        "threads/block;",
        "threads;",
        f"{STRIDED}: {F}_kernel is launched with 2 blocks of 2 threads, not 1 of 2",
    ),
    (
        "(count - 1)/block + 1",
        "count/block + 1",
        f"{F}_kernel is launched with 2 blocks of 128 threads, not 1 of 128",
    ),
    (
        "(count - 1)/block + 1",
        "count",
        f"{F}_kernel is launched with 7 blocks of 128 threads, not 1 of 128",
    ),
    (
        "(needed < most) ? needed : most",
        "needed",
        f"{STRIDED}: {F}_kernel is launched with 2 blocks of 2 threads, not 1 of 2",
    ),
    (
        "(blocks < INT_MAX) ? (unsigned int)blocks : (unsigned int)INT_MAX",
        "(unsigned int)blocks",
        "a value of another type than unsigned int is given",
    ),
    (
        "launch.blockDim.x = (unsigned int)block;",
        "launch.blockDim.x = (unsigned int)1;",
        f"{STRIDED}: {F}_kernel is launched with 1 blocks of 1 threads, not 1 of 3",
    ),
    (
        "launch.blockDim.x = (unsigned int)block;",
        "launch.blockDim.y = (unsigned int)block;",
        f"{STRIDED}: a grid has more than one dimension",
    ),
    (
        "    launch.stream = stream;\n",
        "",
        f"{STRIDED}: {F}_kernel is not launched on the caller's stream",
    ),
    (
        f"(&launch, {F}_kernel, ",
        f"({F}_kernel, &launch, ",
        f"{STRIDED}: this is not a launch of a kernel",
    ),
    (
        "return (int)cudaLaunchKernelEx",
        f"cudaLaunchKernelEx(&launch, {F}_kernel, {PASSED});\n    return (int)cudaLaunchKernelEx",
        f"{STRIDED} launches 2 kernels",
    ),
    (
        "count, q, 1, count, g, 1, count",
        "count, q, count, 1, g, 1, count",
        f"{F}_cuda: a thread does not hold all arguments of one state",
    ),
    (
        "return (int)cudaLaunchKernelEx(",
        "cudaLaunchKernelEx(",
        f"{STRIDED}: {STRIDED} does not return a value",
    ),
]
DEVICE = [
    (
        f"static __device__ inline int {F}_device",
        f"static __device__ int {F}_device",
        f"{F}_device is defined 0 times as 'static __device__ inline', not once",
    ),
    (
        f"static __device__ inline void {F}_1",
        f"static inline void {F}_1",
        "a static function or table lacks __device__ or __constant__",
    ),
    (
        f"static __device__ inline void {F}_1",
        f"static __device__ __noinline__ void {F}_1",
        "__device__ is not at its place in generated code",
    ),
    (
        "static __constant__ const",
        "static const",
        "a static function or table lacks __device__ or __constant__",
    ),
    ('#include "arm_sincos.cuh"\n', "", "its directives differ from those of generated text"),
    ("#include <math.h>\n", "", "its directives differ from those of generated text"),
    ("ptrdiff_t threads)", "ptrdiff_t threads, int n)", f"{F}_device has 7 parameters"),
    (
        "double *g, ptrdiff_t g_element",
        "const double *g, ptrdiff_t g_element",
        f"g of {F}_device is not g",
    ),
    (
        "const double *q, ptrdiff_t q_element",
        "double *q, ptrdiff_t q_element",
        f"q of {F}_device is not q",
    ),
    (
        "const double *q, ptrdiff_t q_element",
        "const double *v, ptrdiff_t q_element",
        f"v of {F}_device is not q",
    ),
    (
        "const double *q, ptrdiff_t q_element",
        "const double *q, int q_element",
        f"q of {F}_device is not q",
    ),
    ("g[i*g_element]", "g[i]", "the result g[1] is never stored"),
    (
        "(10 + i)*threads];\n    }\n    return",
        "(10 + i)];\n    }\n    return",
        "work[10] is read before it is stored",
    ),
    (
        "return status;",
        "return arm_DIVISOR;",
        f"{F}_device returns 3 although all comparisons hold",
    ),
    (
        "g[i*g_element] = work[(10 + i)*threads];",
        "g[i*g_element] = work[(10 + i)*threads]; g[1] = 0.0;",
        "something is stored between the elements of g",
    ),
    (
        "status = arm_NOT_FINITE",
        "status = arm_DIVISOR",
        f"if this comparison is false, {F} stores a result, or its status is not arm_NOT_FINITE",
    ),
    ("(0.0*q[i*q_element])", "(0.0*q[0])", "a required comparison is missing before this call"),
    (
        "(0.0*work[(10 + i)*threads])",
        "(0.0*work[10*threads])",
        f"{F}_device lacks a required comparison",
    ),
    (
        "(status == arm_OK) && (i <= 1); ++i) {\n        g",
        "(i <= 1); ++i) {\n        g",
        "work[70] is read before it is stored",
    ),
    (
        f"static __device__ inline void {F}_3_base",
        f"static __device__ inline void {F}_3",
        "a function is defined twice",
    ),
    (
        "carry_2[1] = 9.81",
        "carry_2[1] = 9.82",
        "this is not a comparison that the checked function needs here, or it comes too late",
    ),
]
ROBOT = [
    ("#define arm_WORK 12", "#define arm_WORK 11", "work[77] is outside of the elements 0 to 70"),
    (
        "#define arm_WORK 12",
        "#define arm_WORKS 12",
        "arm.h does not define the size of a workspace",
    ),
]
HEADER = [
    (f"int {F}_cuda(", f"int {F}_cuda_x(", f"arm_cuda.h does not declare {F}_cuda"),
    (
        "THREADS 128",
        "THREADS 64",
        "arm_cuda.h has other lines than generated headers around its declarations",
    ),
    (
        "__global__ void",
        "void",
        f"arm_cuda.h: 'void {F}_kernel(ptrdiff_t count, const double *q,",
    ),
    (
        "struct CUstream_st *stream);",
        "int stream);",
        f"arm_cuda.h declares {F}_cuda differently from its definition",
    ),
]


@pytest.mark.parametrize(
    ("part", "old", "new", "sentence"),
    [
        *(("kernel", *row) for row in KERNEL),
        *(("device", *row) for row in DEVICE),
        *(("robot", *row) for row in ROBOT),
        *(("header", *row) for row in HEADER),
    ],
)
def test_a_slip_in_a_text_for_a_gpu_has_its_sentence(
    part: str, old: str, new: str, sentence: str
) -> None:
    text = getattr(files(), part)
    assert old in text
    (first, *_) = differences(files()._replace(**{part: text.replace(old, new, 1)}))
    assert first.startswith(sentence)


@pytest.mark.parametrize("checked", [True, False])
def test_generated_text_for_a_gpu_is_accepted(checked: bool) -> None:
    assert differences(files(checked), checked) == []
    assert differences(files(checked), not checked) != []


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("kernel", "    for (i = thread", "#pragma unroll\n    for (i = thread"),
        ("device", "static __constant__ const", "static __device__ const"),
        ("device", "#include <stddef.h>\n", ""),
        ("device", "double *g, ptrdiff_t", "double *g_, ptrdiff_t"),
    ],
)
def test_some_words_may_differ(part: str, old: str, new: str) -> None:
    text = getattr(files(), part)
    assert old in text
    changed = text.replace(old, new, 1)
    if "g_," in new:
        changed = changed.replace(" g[i*g_element]", " g_[i*g_element]")
    assert differences(files()._replace(**{part: changed})) == []


# -- the rows of a Program -------------------------------------------------------------------------


@cache
def rows(checked: bool) -> tuple[Program, CudaText]:
    """Return g_0 = sqrt(q_0 v_1)/v_0 and g_1 = sin q_1."""
    builder = Builder("gravity_force", [vector("q"), vector("v")])
    q_0, q_1, v_0, v_1 = (builder.input(port, k) for port in (0, 1) for k in (0, 1))
    quotient = builder.op("div", builder.op("sqrt", builder.op("mul", q_0, v_1)), v_0)
    program = builder.program([Port("g", (2,), (quotient, builder.op("sin", q_1)))])
    target = Target("arm", Sizes(2, 2, 2), TextOptions("inline", checked=checked))
    programs = {program.function: program}
    texts = wrapper("cuda").files(programs, target, {program.function: {}})
    device = texts[target.device_file(program.function)]
    kernel = texts[target.kernel_file(program.function)]
    header = printer().headers(programs, target)[target.header]
    return program, CudaText(device, kernel, texts[target.cuda_header], header)


def of_rows(text: CudaText, checked: bool = True, bounded: bool = True) -> list[str]:
    program, _ = rows(checked)
    names = Names("arm", "arm_gravity_force")
    sentences = kernels.compare(program, text, names, Options(checked, bounded, {}))
    return [re.sub(r"\bline \d+: ", "", sentence) for sentence in sentences]


@pytest.mark.parametrize("checked", [True, False])
def test_generated_rows_for_a_gpu_are_accepted(checked: bool) -> None:
    _, text = rows(checked)
    assert of_rows(text, checked) == []
    assert (of_rows(text, checked, bounded=False) == []) != checked
    (sentence, *_) = of_rows(text._replace(device=text.device.replace("sqrt", "log")), checked)
    assert "no row of the Program is this log" in sentence


def test_a_function_with_several_results_is_accepted() -> None:
    program = arm()["mass_matrix_and_bias"]
    target = Target("arm", Sizes(2, 2, 2), TextOptions())
    programs = {program.function: program}
    texts = wrapper("cuda").files(programs, target, {program.function: {}})
    device = texts[target.device_file(program.function)]
    kernel = texts[target.kernel_file(program.function)]
    header = printer().headers(programs, target)[target.header]
    text = CudaText(device, kernel, texts[target.cuda_header], header)
    names, options = Names("arm", target.symbol(program.function)), Options(False, False, {})
    assert kernels.compare(program, text, names, options) == []
    exchanged = kernel.replace("M_block, c_block)", "c_block, M_block)")
    assert exchanged != kernel
    assert kernels.compare(program, text._replace(kernel=exchanged), names, options) != []


ROWS = [
    (
        "q[i*q_state + k*q_element]",
        "q[i*q_state]",
        "a thread does not hold all arguments of one st",
    ),
    (
        "g[i*g_state + k*g_element]",
        "g[i*g_state]",
        " of 1 states, element by element: g[0] differs",
    ),
    (
        "(q_block, v_block, g_block)",
        "(v_block, q_block, g_block)",
        "a thread does not hold all argum",
    ),
    (
        "(q_block, v_block, g_block)",
        "(q_block, v_block)",
        "the function of one state is given 2 arg",
    ),
    ("double g_block[2];", "double g_block[1];", "g_block[1] is outside of its array"),
    (
        "double g_block[2];",
        "int g_block[2];",
        "the function of one state is called without an array of numbers",
    ),
    (
        "double g_block[2];",
        "double g_block[2][1];",
        "the function of one state is called without an array",
    ),
    ("            continue;\n", "", "g_block[0] is read before it is stored"),
    (
        "if (found != arm_OK)",
        "if (found == arm_OK)",
        " of 1 states, element by element: g[0] differs",
    ),
    (
        "status[i] = found;",
        "status[i] = arm_OK;",
        " of 3 states: the statuses are not those of the st",
    ),
    (
        "/arm_CUDA_THREADS + 1",
        "/arm_CUDA_THREADS",
        "arm_gravity_force_kernel is launched with 0 blo",
    ),
    ("(&launch, ", "(&stream, ", "this is not a launch of a kernel"),
    (f"(&launch, {F}_kernel, count", "(&launch, count, count", "this is not a launch of a kernel"),
    ("(&launch, ", "(&count, ", "a UnaryOp that generated code never holds there"),
    (
        f"int {F}_cuda(",
        f"inline int {F}_cuda(",
        f"{F}_cuda.cu: a function must not be static or inline",
    ),
]


@pytest.mark.parametrize(("old", "new", "sentence"), ROWS)
def test_a_slip_in_a_kernel_of_rows_has_its_sentence(old: str, new: str, sentence: str) -> None:
    _, text = rows(True)
    assert old in text.kernel
    (first, *_) = of_rows(text._replace(kernel=text.kernel.replace(old, new, 1)))
    first = first.removeprefix(f"{STRIDED}: ").removeprefix(STRIDED)
    assert first.startswith(sentence)


def test_a_grid_has_one_dimension() -> None:
    """Sizes of the other dimensions are one, and places in them are zero."""
    _, text = rows(True)
    sizes, places = ("gridDim.y*gridDim.z*blockDim.y*blockDim.z", "blockIdx.y + threadIdx.z")
    kernel = text.kernel.replace("gridDim.x*blockDim.x;", f"gridDim.x*blockDim.x*{sizes};")
    kernel = kernel.replace("+ threadIdx.x;", f"+ threadIdx.x + {places} + threadIdx.y;")
    kernel = kernel.replace("+ threadIdx.y;", "+ threadIdx.y + blockIdx.z;")
    assert kernel.count("blockDim.z") == kernel.count("blockIdx.z") == 1
    assert of_rows(text._replace(kernel=kernel)) == []


# -- the launches that are tried -------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 3, 128])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 300, 1000])
def test_a_launch_has_one_thread_for_each_state(count: int, threads: int) -> None:
    blocks, block = _grid(count, None, threads)
    assert block == threads
    assert blocks * block >= count > (blocks - 1) * block
    for workspaces in (1, 2, 5, 1000):
        blocks, block = _grid(count, workspaces, threads)
        assert block == min(threads, workspaces)
        assert 0 < blocks * block <= workspaces
        enough = blocks * block >= count
        assert enough or (blocks + 1) * block > workspaces
        assert (blocks - 1) * block < count
    assert _grid(LARGEST * threads * 4, None, threads) == (LARGEST, threads)
    assert LARGEST == 2**31 - 1


def test_all_layouts_and_few_states_are_tried() -> None:
    ports = [Port(name, (2,)) for name in "qvg"]
    cases = [*_cases(_Device(tuple(ports[:2]), tuple(ports[2:]), True, False))]
    assert {-1, 0, 1, 3, 7} <= {case.states for case in cases}
    for port in range(3):
        tried = {case.layouts[port] for case in cases}
        assert set(RESULT_LAYOUTS) | {"dense"} <= tried
        assert ({"shared", "one number"} <= tried) == (port == 1)
    assert {case.statuses for case in cases if len(set(case.layouts)) > 2} == {True, False}
    assert len([case for case in cases if case.in_place]) == 1
    assert [(case.states, case.statuses) for case in cases if case.batch] == [(5, True), (0, False)]
    assert all(set(case.layouts) == {"dense"} for case in cases if case.batch)
