"""Verification of the kernels for a GPU and of the functions that launch them.

The functions in NAME_<function>_cuda.cu are interpreted for several numbers of states in several
layouts. Each launch is recorded, and its kernel is interpreted for every thread of several grids.
The function of one state is a single operation of the elements of its arguments. Each state must be
read completely, and each result must be stored in its place, unless the status of its state is an
error. No thread may read or store an element that another thread stores. NAME_cuda.h must declare
the functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pycparser import c_ast

from symgen.ir.loops import Form
from symgen.ir.program import Bound, Port
from symgen.readback import headers, loops, rows, threads
from symgen.readback.batches import RESULT_LAYOUTS, Case, StatesCall
from symgen.readback.c_machine import (
    Machine,
    Memory,
    Narrow,
    Pointer,
    Region,
    Struct,
    Term,
    Terms,
    array,
    statements_allowed,
)
from symgen.readback.device import Names, as_rows, plain_device
from symgen.readback.headers import STREAM, THREADS
from symgen.readback.parsing import parse_declarations
from symgen.readback.preprocessor import disguises, without_comments
from symgen.readback.preprocessor import work as stated_work
from symgen.readback.required_checks import STATUSES
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import REALS

BLOCK = 3
"""Threads of a block in the interpreted launches; NAME_CUDA_THREADS may be any number."""
GRIDS = ((1, 1), (2, 2), (3, 1))
"""Numbers of blocks, and of threads of a block, of launches that the text does not make itself."""
WORKSPACE = 2
"""Size of a thread's workspace in the interpreted launches; a kernel does not depend on it."""
LARGEST = 2**31 - 1
"""INT_MAX, and the largest number of blocks."""
QUEUED = 77
"""Return value of an interpreted launch; it may be any number."""
_INVALID = 1
"""cudaErrorInvalidValue."""
_TYPES = ("cudaStream_t", "cudaLaunchConfig_t")
_DIRECTIVES = """\
#include <limits.h>
#include <cuda_runtime.h>
#include "NAME_cuda.h"
#include "SYMBOL.cuh"
"""


class CudaText(NamedTuple):
    """Texts of a function for a GPU.

    They are the files NAME_<function>.cuh, NAME_<function>_cuda.cu, NAME_cuda.h and NAME.h.
    """

    device: str
    kernel: str
    header: str
    robot: str


class Options(NamedTuple):
    """Options of a text.

    `bounded`: angles are compared with the range of the text's own sines. `divisor_bounds` are the
    certified bounds of divisors, by row.
    """

    checked: bool
    bounded: bool
    divisor_bounds: Mapping[int, Bound]


def compare(form: Form, text: CudaText, names: Names, options: Options) -> list[str]:
    """List the differences between the text of a function for a GPU and its form."""
    try:
        differences = _device_differences(form, text, names, options)
        return differences or list(_Reader(form, text, names, options.checked).differences())
    except ProgramError as error:
        return [str(error)]


def _device_differences(form: Form, text: CudaText, names: Names, options: Options) -> list[str]:
    """List the differences between the function of one state and the form."""
    code = plain_device(text.device, names, options.checked)
    if form.looped:
        work = stated_work(text.robot, names.robot)
        if not work:
            return [f"{names.robot}.h does not define the size of a workspace"]
        return threads.compare(form, code, names, options.checked, options.bounded, work)
    c = as_rows(code, names, options.bounded, options.checked)
    return rows.compare(form, c, checked=options.divisor_bounds if options.checked else None)


# -- launches --------------------------------------------------------------------------------------


class KernelName(NamedTuple):
    """A kernel as an argument of a launch."""

    symbol: str


def _dimensions(*numbers: int) -> Struct:
    """Return a value of the type dim3."""
    return Struct("dim3", dict(zip("xyz", map(Narrow, numbers), strict=True)))


def _stream() -> Struct:
    return Struct("cudaStream_t", {})


def _configuration() -> Struct:
    """Return an empty cudaLaunchConfig_t."""
    fields = {
        "gridDim": _dimensions(1, 1, 1),
        "blockDim": _dimensions(1, 1, 1),
        "stream": _stream(),
    }
    return Struct("cudaLaunchConfig_t", fields)


@dataclass
class Launch:
    """A launch of a kernel: its arguments, the number of blocks and of threads in a block."""

    kernel: str
    arguments: Sequence[Any]
    blocks: int
    threads: int
    stream: Any


@dataclass
class _Launches:
    """Stand-in for the function of the CUDA runtime that launches kernels; it records launches."""

    recorded: list[Launch] = field(default_factory=list)

    def __call__(self, machine: Machine, values: Sequence[Any], node: Any) -> int:
        """Record a launch."""
        configuration, kernel = (*values, None, None)[:2]
        is_launch = isinstance(configuration, Struct) and configuration.kind == "cudaLaunchConfig_t"
        if not is_launch or not isinstance(kernel, KernelName):
            raise machine.refuse(node, "this is not a launch of a kernel")
        grid, block = configuration["gridDim"], configuration["blockDim"]
        if {grid["y"], grid["z"], block["y"], block["z"]} != {1}:
            raise machine.refuse(node, "a grid has more than one dimension")
        stream = configuration["stream"]
        launch = Launch(kernel.symbol, values[2:], grid["x"], block["x"], stream)
        self.recorded.append(launch)
        return QUEUED


# -- the function of one state ---------------------------------------------------------------------


@dataclass
class _Device:
    """Function of one state as a kernel calls it: one operation of the elements of its arguments.

    For a loop program each array is followed by the distance between its elements.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    checked: bool
    has_work: bool
    statuses: Mapping[Term, int] = field(default_factory=dict)
    """Status of each state, by the term of the operation on its elements."""

    def __call__(self, machine: Machine, values: Sequence[Any], node: Any) -> Any:
        """Read the arguments of a state from memory, and store its results; return its status."""
        ports = (*self.inputs, *self.outputs)
        arrays = values if not self.has_work else values[::2]
        distances = [1] * len(arrays) if not self.has_work else values[1::2]
        if len(values) != (1 + self.has_work) * (len(ports) + self.has_work):
            raise machine.refuse(
                node, f"the function of one state is given {len(values)} arguments"
            )
        for pointer, distance in zip(arrays, distances, strict=True):
            is_array = isinstance(pointer, Pointer) and not (
                pointer.shape or pointer.memory.integers
            )
            if not is_array or type(distance) is not int:
                raise machine.refuse(
                    node, "the function of one state is called without an array of numbers"
                )
        operands = [
            machine.load(*self._element(machine, arrays[k], distances[k], j, node), node)
            for k, port in enumerate(self.inputs)
            for j in range(port.size)
        ]
        call = machine.terms.of("block", *operands)
        if call not in self.statuses:
            raise machine.refuse(node, "a thread does not hold all arguments of one state")
        if self.has_work:
            for j in range(WORKSPACE):
                element = self._element(machine, arrays[-1], distances[-1], j, node)
                machine.store(*element, call, node)
        status = self.statuses[call]
        if status == 0:
            self._store(machine, call, arrays, distances, node)
        return status if self.checked else None

    def _store(
        self,
        machine: Machine,
        call: Term,
        arrays: Sequence[Pointer],
        distances: Sequence[int],
        node: Any,
    ) -> None:
        """Store the results of a state."""
        for number, port in enumerate(self.outputs):
            k = len(self.inputs) + number
            for j in range(port.size):
                term = machine.terms.of("result", call, number, j)
                element = self._element(machine, arrays[k], distances[k], j, node)
                machine.store(*element, term, node)

    @staticmethod
    def _element(
        machine: Machine, pointer: Pointer, distance: int, k: int, node: Any
    ) -> tuple[Any, int]:
        """Return the memory and the index of an element."""
        at = pointer.at + k * distance
        if not pointer.low <= at < pointer.high:
            raise machine.refuse(node, f"{pointer.memory.name}[{at}] is outside of its array")
        return pointer.memory, at


# -- the text --------------------------------------------------------------------------------------


class _Reader:
    """Reader of the text of one kernel and of the functions that launch it."""

    def __init__(self, form: Form, text: CudaText, names: Names, checked: bool) -> None:
        self.name, self.symbol, self.checked = names.robot, names.symbol, checked
        self.form = form
        self.looped = form.looped
        self.tables: list[Any] = []
        if sentences := disguises(text.kernel):
            raise ProgramError(f"{self.symbol}_cuda.cu: {sentences[0]}")
        units = parse_declarations(self._plain(text.kernel), type_names=_TYPES)
        functions = {unit.decl.name: unit for unit in units if isinstance(unit, c_ast.FuncDef)}
        self.kernel = f"{self.symbol}_kernel"
        expected = {self.kernel, f"{self.symbol}_cuda", f"{self.symbol}_cuda_strided"}
        if set(functions) != expected or len(units) != len(expected):
            raise ProgramError(
                f"{self.symbol}_cuda.cu must define exactly a kernel and the two functions"
                " that launch it"
            )
        if any(unit.decl.storage or unit.decl.funcspec for unit in units):
            raise ProgramError(f"{self.symbol}_cuda.cu: a function must not be static or inline")
        self.header = text.header
        integers = {f"{self.name}_{status}": value for value, status in enumerate(STATUSES)}
        integers |= {"cudaSuccess": 0, "cudaErrorInvalidValue": _INVALID, "INT_MAX": LARGEST}
        integers[f"{self.name}_CUDA_THREADS"] = BLOCK
        self.reading = loops.Reading(self.name, self.symbol, functions, 0, integers)

    def _plain(self, text: str) -> str:
        """Return the text of NAME_<function>_cuda.cu as C, without directives and qualifiers."""
        code = without_comments(text)
        directives = [
            line for line in code.splitlines() if re.match(r"[ \t]*#(?!pragma unroll$)", line)
        ]
        expected = _DIRECTIVES.replace("NAME", self.name).replace("SYMBOL", self.symbol)
        if directives != expected.splitlines():
            raise ProgramError(f"{self.symbol}_cuda.cu has other directives than generated text")
        code = re.sub(r"^#pragma unroll\n(?= +for \()", "\n", code, flags=re.MULTILINE)
        if "#pragma" in code:
            raise ProgramError(f"{self.symbol}_cuda.cu: '#pragma unroll' is not before a loop")
        code = re.sub(r"^#.*$", "", code, flags=re.MULTILINE)
        kernel = (
            rf"^__global__ void __launch_bounds__\({self.name}_CUDA_THREADS\)"
            rf" ({self.symbol}_kernel\()"
        )
        code = re.sub(kernel, r"void \1", code, flags=re.MULTILINE)
        if strange := re.search(r"\b__\w+", code):
            raise ProgramError(f"{strange[0]} is not at its place in generated code")
        return code.replace(STREAM, "cudaStream_t ")

    def differences(self) -> Iterator[str]:
        """Yield the differences of the header and of the launches."""
        functions = self.reading.functions
        yield from headers.cuda_differences(self.header, self.name, self.symbol, functions)
        device = _Device(*self._ports(), self.checked, self.looped)
        for case in _cases(device):
            for workspaces in (5, 2, 1) if self.looped else (0,):
                for grid in (None, *GRIDS):
                    sentence = _KernelCall(self, device, case, workspaces, grid).difference()
                    if sentence:
                        yield sentence
                        return
        yield from _large_launches(self, device)

    def _ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Return the arguments and the results.

        The kernel of a loop program does not depend on their sizes, so they are two elements here.
        """

        def small(port: Port) -> Port:
            return port._replace(shape=(2,), rows=port.rows[:2]) if self.looped else port

        return tuple(map(small, self.form.inputs)), tuple(map(small, self.form.outputs))


def _cases(device: _Device) -> Iterator[Case]:
    """Yield the calls that are tried."""
    ports = len(device.inputs) + len(device.outputs)
    separate_arrays = ("element by element",) * ports
    for states in (-1, 0, 1, 3, 7):
        yield Case(states, separate_arrays)
    for shift in range(len(RESULT_LAYOUTS)):
        order = (RESULT_LAYOUTS[(shift + k) % len(RESULT_LAYOUTS)] for k in range(ports))
        yield Case(4, tuple(order), statuses=shift % 2 == 0)
    for name in ("shared", "one number"):
        arguments = (separate_arrays[0], *(name,) * (len(device.inputs) - 1))
        yield Case(4, (*arguments, *separate_arrays[len(device.inputs) :]))
    yield Case(4, separate_arrays, in_place=True)
    yield Case(5, ("dense",) * ports, batch=True)
    yield Case(0, ("dense",) * ports, batch=True, statuses=False)


class _KernelCall(StatesCall):
    """One interpreted call of a function that launches a kernel, and of the kernel.

    `workspaces` is the number of threads that have a workspace. If `grid` is not None, it replaces
    the grid of the launch.
    """

    def __init__(
        self,
        reader: _Reader,
        device: _Device,
        case: Case,
        workspaces: int,
        grid: tuple[int, int] | None,
    ) -> None:
        threads = max(workspaces, grid[0] * grid[1] if grid else 0)
        work_size = WORKSPACE * threads if device.has_work else 0
        super().__init__(reader, device, case, work_size, work_size)
        self.text, self.device = reader, device
        self.workspaces, self.grid = workspaces, grid

    def _status_difference(self, case_name: str, returned: Any, statuses: Sequence[int]) -> str:
        """Return a sentence if the returned value or the statuses are wrong; else ""."""
        if returned != (QUEUED if self.count else 0):
            return f"{case_name} returns {returned}"
        stores_statuses = self.block.checked and self.case.statuses
        if self.status.cells != (list(statuses) if stores_statuses else [None] * self.count):
            return f"{case_name}: the statuses are not those of the states"
        return ""

    @property
    def function(self) -> str:
        """Name of the called function."""
        return f"{self.reader.symbol}_cuda{'' if self.case.batch else '_strided'}"

    def _run(self, statuses: Mapping[Term, int]) -> Any:
        """Interpret the function and the kernel that it launches; return the function's value."""
        self.block.statuses = statuses
        launches, stream = _Launches(), _stream()
        machine = _machine(self.text, self.terms, self.device, launches)
        work = [array(self.work), self.workspaces] if self.block.has_work else []
        try:
            returned = machine.call(
                self.function, [*self.words(), *work, *self.status_words(), stream]
            )
            for launch in launches.recorded:
                self._require_grid(launch, stream)
                if self.grid:
                    launch.blocks, launch.threads = self.grid
                machine.patience = statements_allowed(self.elements * self.count)
                _run_kernel(machine, launch)
        except ProgramError as error:
            raise ProgramError(f"{self.function}: {error}") from None
        if len(launches.recorded) != (self.count > 0):
            raise ProgramError(f"{self.function} launches {len(launches.recorded)} kernels")
        return returned

    def _require_grid(self, launch: Launch, stream: Any) -> None:
        """Raise ProgramError if a launch has a wrong number of threads, or another stream."""
        expected = _grid(self.count, self.workspaces if self.block.has_work else None, BLOCK)
        _require_launch(self.text, launch, expected, stream)


def _require_launch(
    reader: _Reader, launch: Launch, expected: tuple[int, int], stream: Any
) -> None:
    """Raise ProgramError unless a launch has the expected grid, (blocks, threads), and stream."""
    if launch.kernel != reader.kernel or (launch.blocks, launch.threads) != expected:
        raise ProgramError(
            f"{launch.kernel} is launched with {launch.blocks} blocks of {launch.threads} threads,"
            f" not {expected[0]} of {expected[1]}"
        )
    if launch.stream is not stream:
        raise ProgramError(f"{launch.kernel} is not launched on the caller's stream")


def _grid(count: int, workspaces: int | None, threads: int) -> tuple[int, int]:
    """Return the number of blocks of a launch, and of threads in a block.

    A launch has one thread for each state, but not more threads than workspaces.
    """
    block = threads if workspaces is None else min(threads, workspaces)
    blocks = -(-count // block)
    if workspaces is not None:
        blocks = min(blocks, workspaces // block)
    return min(blocks, LARGEST), block


def _machine(
    reader: _Reader, terms: Any, device: _Device, launches: _Launches, threads: int = BLOCK
) -> Machine:
    """Return a machine for kernels and the functions that launch them."""
    externals = {f"{reader.symbol}_device": device, "cudaLaunchKernelEx": launches}
    machine = reader.reading.machine(terms, externals=externals)
    machine.integers = {**machine.integers, f"{reader.name}_CUDA_THREADS": threads}
    machine.structs = {"cudaStream_t": _stream, "cudaLaunchConfig_t": _configuration}
    machine.tables[reader.kernel] = KernelName(reader.kernel)
    return machine


def _run_kernel(machine: Machine, launch: Launch) -> None:
    """Interpret a kernel for each thread of a launch; threads may not share stored elements."""
    region = machine.region = Region(frozenset())
    for block in range(launch.blocks):
        for thread in range(launch.threads):
            region.iteration += 1
            _run_thread(machine, launch, block, thread)
    machine.region = None


def _run_thread(machine: Machine, launch: Launch, block: int, thread: int) -> None:
    """Interpret a kernel for one thread."""
    machine.tables |= {
        "gridDim": _dimensions(launch.blocks, 1, 1),
        "blockDim": _dimensions(launch.threads, 1, 1),
        "blockIdx": _dimensions(block, 0, 0),
        "threadIdx": _dimensions(thread, 0, 0),
    }
    machine.call(launch.kernel, launch.arguments)


def _large_launches(reader: _Reader, device: _Device) -> Iterator[str]:
    """Yield the errors of launches with very many states, and of calls without workspaces.

    The last thread of the largest grid is interpreted, too.
    """
    terms, stream = Terms(REALS[reader.form.real]), _stream()
    for count in (THREADS, THREADS + 1, THREADS * LARGEST, 2**40):
        for workspaces in (1, THREADS - 1, 1000, 2**45) if device.has_work else (None,):
            launches = _Launches()
            machine = _machine(reader, terms, device, launches, THREADS)
            arrays = [
                word
                for port in (*device.inputs, *device.outputs)
                for word in (array(Memory(port.name, [None])), 1, 1)
            ]
            work = [] if workspaces is None else [array(Memory("work", [None])), workspaces]
            statuses = [0] * device.checked
            machine.call(
                f"{reader.symbol}_cuda_strided", [count, *arrays, *work, *statuses, stream]
            )
            for launch in launches.recorded:
                _require_launch(reader, launch, _grid(count, workspaces, THREADS), stream)
                launch.arguments = [1, *launch.arguments[1:]]
                launch.blocks, launch.threads = LARGEST, THREADS
                _run_thread(machine, launch, LARGEST - 1, THREADS - 1)
    if device.has_work:
        for workspaces in (0, -1):
            launches = _Launches()
            machine = _machine(reader, terms, device, launches, THREADS)
            arguments = [5, *arrays, array(Memory("work", [None])), workspaces, *statuses, stream]
            if (
                machine.call(f"{reader.symbol}_cuda_strided", arguments) != _INVALID
                or launches.recorded
            ):
                yield f"{reader.symbol}_cuda_strided does not refuse {workspaces} workspaces"
