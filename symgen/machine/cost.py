"""Measured cost of a function on a target: instructions from QEMU, bytes from binutils, stack from
the compiler.

QEMU's clock advances with instructions only, and the target's own counter reads it. A loop with a
known count gives the clock ticks of one instruction. A call of an empty function gives the cost of
a call, which is subtracted; the function's return is counted. A second copy of the function gives
the cost of libm: its calls of libm read recorded results from a tape. The instructions of that
reading are measured too and subtracted. So the function does the same work on the same numbers in
both copies.

The total size and stack of a function with its callees are read off a linked image: its bytes, and
the stack depth along every path through it. Cycles are estimated from the executed instructions, if
the core's manual states their cycles.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from symgen.emission import printer, render
from symgen.emission.ports import cast_array, struct_of
from symgen.ir.loops import WORK, Form
from symgen.ir.program import ARITY, Bound
from symgen.machine import stack_usage, targets
from symgen.machine.cycles import TIMINGS, cortex_m4, guarded
from symgen.machine.disassembly import Image, Unreadable, read_image
from symgen.machine.emulation import Toolchain
from symgen.machine.firmware import BASE_FLAGS, OPTIMIZE, TEMPLATES
from symgen.machine.targets import Machine
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.states import draw_states
from symgen.support.errors import BuildError, RequestError
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

STATES = 64
SEED = 11
LIBM = ("sin", "cos", "sqrt", "log", "atan2")
FLASH = (".text", ".rodata")
RAM = (".data", ".bss", ".tdata", ".tbss")
IMAGE = (".text", ".rodata", ".data", ".tdata")
"""Sections of a linked program in flash. Writable data are copied from there at the start."""
Interval = tuple[int, int | None]
"""Least and most; None without an upper bound."""
DivisorBounds = Mapping[str, Mapping[int, Bound]]
_LOOP = 2 * (11000 - 1000)
"""Instructions by which the longer loop of the measuring program exceeds the shorter."""


@dataclass(frozen=True)
class Cost:
    """Cost of one function: instructions of a call, least and most over the states; bytes.

    `alone` excludes the instructions of libm, including its calls. `flash` is code and constants,
    `ram` static data, `stack` the function's own frame (and that of its parts) without its
    callees'. `undefined` are the symbols that the linker must supply, and `..._with_libm` includes
    all that it supplies (None: the stack cannot be determined). `cycles` and `cycles_alone` are
    estimates, least and most, None without published data (`symgen.machine.cycles`). `work` is the
    workspace of looped functions.
    """

    function: str
    method: str
    instructions: tuple[int, int]
    alone: tuple[int, int]
    libm_calls: int
    flash: int
    stack: int
    ram: int
    undefined: tuple[str, ...]
    flash_with_libm: int
    stack_with_libm: int | None
    ram_with_libm: int
    cycles: Interval | None = None
    cycles_alone: Interval | None = None
    work: int = 0

    def rate(self, clock: float) -> float:
        """Return the calls per second at `clock` (Hz), at the slowest state: by estimated cycles,
        else by one cycle an instruction.
        """
        most = self.cycles[1] if self.cycles is not None else None
        return clock / (most or self.instructions[1])

    def facts(self, clock: float | None) -> dict[str, Any]:
        """Return all figures by name."""
        return asdict(self) | ({} if clock is None else {"rate": self.rate(clock)})


@dataclass(frozen=True)
class Measured:
    """Measured costs of several functions.

    `costs` are those of each. `flash`, `flash_with_libm` and `ram_with_libm` are the bytes of all
    together, where shared code counts once. `unknown` are sentences about unknown figures. `newlib`
    are the linked bytes with newlib instead of picolibc; None if it is not installed.
    """

    costs: tuple[Cost, ...]
    flash: int
    flash_with_libm: int
    ram_with_libm: int
    unknown: tuple[str, ...]
    newlib: tuple[int, int] | None = None


class Written(NamedTuple):
    """C in a folder: its NAME, its headers by file, and its functions' texts by function."""

    name: str
    headers: Mapping[str, str]
    sources: Mapping[str, str]


class Source(NamedTuple):
    """C that is measured: the backend's with `text` and the certified bounds `divisor_bounds`, or
    the C `written` in a folder.
    """

    text: TextOptions = PLAIN
    divisor_bounds: DivisorBounds | None = None
    written: Written | None = None

    def files(self, program: Form, target: Target) -> dict[str, str]:
        """Return the headers by name, and the function as one.c."""
        if self.written is not None:
            return {**self.written.headers, "one.c": self.written.sources[program.function]}
        divisor_bounds = (self.divisor_bounds or {}).get(program.function)
        headers = printer().headers({program.function: program}, target)
        return {**headers, "one.c": printer().source(program, target, divisor_bounds)}


class Arguments(NamedTuple):
    """Arguments besides the random q, v, a and tau.

    `options` name the links with a payload or a wrench. `fixed` are arguments with equal numbers at
    every state: physical numbers of a robot with run-time parameters.
    """

    options: ProgramOptions = ProgramOptions()
    fixed: Mapping[str, Sequence[Fraction]] = {}


BACKEND, NO_ARGUMENTS = Source(), Arguments()
"""Defaults: the C that the backend prints without bounds, and no further arguments."""


def measure(
    mechanism: Mechanism,
    programs: Iterable[Form],
    target: str,
    states: int = STATES,
    *,
    source: Source = BACKEND,
    arguments: Arguments = NO_ARGUMENTS,
) -> Measured:
    """Return the cost of each of the robot's programs over seeded random states.

    States that a checked function refuses are left out, and `unknown` counts them. Raises
    RequestError for a target that does not count instructions or cannot hold the functions. Raises
    ToolMissing (a BuildError) if a tool is missing, and BuildError if a checked function refuses
    every state.
    """
    machine = targets.find(target)
    if not machine.counter:
        counted = ", ".join(targets.targets_with_costs())
        raise RequestError(
            f"{target} does not count instructions; use {counted}, or 'symgen bench' for times on"
            " this machine"
        )
    programs = list(programs)
    states_by_name = _draw(mechanism, programs, states, arguments)
    name = mechanism.name if source.written is None else source.written.name
    robot = Target(name, mechanism.sizes, source.text)

    with tempfile.TemporaryDirectory(prefix="symgen-cost-") as folder_name:
        folder = Path(folder_name)

        def cost_of(program: Form) -> tuple[Cost, str]:
            tools = Toolchain(machine, folder / robot.symbol(program.function))
            tools.folder.mkdir()
            return _cost(program, source.files(program, robot), robot, states_by_name, tools)

        with ThreadPoolExecutor(
            os.cpu_count()
        ) as pool:  # each thread waits for compilers and emulators
            results = list(pool.map(cost_of, programs))
        costs = tuple(cost for cost, _ in results)
        flash = sum(cost.flash for cost in costs)
        if flash > machine.flash:
            raise RequestError(
                f"the {len(costs)} functions of '{mechanism.name}' need {_size(flash)} of flash,"
                f" and the firmware/ of {machine.title} has {_size(machine.flash)}; select fewer"
                " with -f, or lock joints with --lock"
            )
        linked, newlib = _linked([robot.symbol(p.function) for p in programs], machine, folder)
    libm_is_called = any(cost.undefined for cost in costs)
    return Measured(
        costs,
        flash,
        linked[0] if libm_is_called else flash,
        linked[1],
        _unknown_figures(results),
        newlib if libm_is_called else None,
    )


def _draw(
    mechanism: Mechanism, programs: Iterable[Form], states: int, arguments: Arguments
) -> dict[str, Any]:
    """Return seeded random states, with the fixed arguments."""
    options = arguments.options
    shapes = {port.name: port.shape for program in programs for port in program.inputs}
    states_by_name = draw_states(mechanism, states, SEED, options.payload, options.wrench, shapes)
    fixed = {
        name: np.array([numbers] * states, dtype=object)
        for name, numbers in arguments.fixed.items()
    }
    return states_by_name | fixed


def _linked(
    symbols: Sequence[str], machine: Machine, folder: Path
) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """Return the bytes in flash and RAM of all functions linked with their callees, by picolibc and
    by newlib (None: missing).
    """
    tools = Toolchain(machine, folder)
    objects = [f"{symbol}/one.o" for symbol in symbols]
    linker_flags = [f"-Wl,--undefined={symbol}" for symbol in symbols]
    tools.image("all.elf", *objects, *linker_flags, entry=symbols[0])
    newlib = None
    if tools.link_with_newlib("newlib.elf", *objects, *linker_flags, entry=symbols[0]):
        newlib = _in_flash_and_ram(_sections(tools, "newlib.elf"))
    return _in_flash_and_ram(_sections(tools, "all.elf")), newlib


def _unknown_figures(results: Iterable[tuple[Cost, str]]) -> tuple[str, ...]:
    """Return sentences about unknown figures; functions with the same reason share one."""
    functions: dict[str, list[str]] = {}
    for cost, why in results:
        functions.setdefault(why, []).append(cost.function)
    return tuple(f"{', '.join(names)}: {why}" for why, names in functions.items() if why)


def _in_flash_and_ram(sections: Mapping[str, int]) -> tuple[int, int]:
    """Return the bytes of a linked program in flash and in RAM."""
    return _bytes(sections, IMAGE), _bytes(sections, RAM)


def _size(count: int) -> str:
    return f"{count / 1024:.0f} KiB" if count >= 1024 else f"{count} bytes"


def _cost(
    program: Form,
    texts: Mapping[str, str],
    target: Target,
    states: Mapping[str, Any],
    tools: Toolchain,
) -> tuple[Cost, str]:
    """Return the cost, and why a part of it is unknown ("": all is known). `texts` contain the
    function as one.c.
    """
    symbol = target.symbol(program.function)
    for name, text in texts.items():
        (tools.folder / name).write_text(text, encoding="utf-8")
    tools.compile("one.c", "one.o", *BASE_FLAGS, OPTIMIZE, "-fstack-usage")
    stack = (
        stack_usage.stack_bytes((tools.folder / "one.su").read_text(encoding="utf-8"), symbol) or 0
    )
    if stack > tools.machine.stack:
        raise RequestError(
            f"{program.function} of '{target.name}' needs {_size(stack)} of stack, and the"
            f" firmware/ of {tools.machine.title} has {_size(tools.machine.stack)}; use --real"
            " float or --lock joints"
        )
    sections = _sections(tools, "one.o")
    undefined = _undefined(tools, "one.o")
    libm = {printer().calls(program.real, target)[op]: ARITY[op] for op in LIBM}
    calls = {name: arity for name, arity in libm.items() if name in undefined}
    renaming_flags = [f"--redefine-sym={name}=tape_{name}" for name in calls]
    tools.tool(
        "objcopy", *renaming_flags, f"--redefine-sym={symbol}={symbol}_on_tape", "one.o", "tape.o"
    )
    run, unknown = _accepted_run(program, target, states, calls, tools)
    tools.image("linked.elf", "one.o", entry=symbol)
    linked = _sections(tools, "linked.elf")
    deepest: int | None = None
    cycles: dict[str, Interval] = {}
    try:
        image = read_image(tools, "cost.elf")
        deepest = image.depth(image.symbols[symbol])
        cycles = _cycles(program.real, _Image(image, symbol, undefined), tools, run)
    except Unreadable as unreadable:
        unknown = "; ".join(filter(None, (unknown, str(unreadable))))
    cost = Cost(
        program.function,
        program.method,
        (min(run.total), max(run.total)),
        (min(run.without_libm), max(run.without_libm)),
        run.libm_calls,
        _bytes(sections, FLASH),
        stack,
        _bytes(sections, RAM),
        undefined,
        _bytes(linked if undefined else sections, IMAGE),
        deepest,
        _bytes(linked, RAM),
        work=REALS[program.real].size * printer().work(program, target.checked),
        **cycles,
    )
    return cost, unknown


class _Run(NamedTuple):
    """Output of the measuring program: instructions at each state with and without libm, most calls
    of libm, statuses.
    """

    total: list[int]
    without_libm: list[int]
    libm_calls: int
    statuses: list[int]


def _accepted_run(
    program: Form,
    target: Target,
    states: Mapping[str, Any],
    calls: Mapping[str, int],
    tools: Toolchain,
) -> tuple[_Run, str]:
    """Run the measuring program at the states that the function accepts; also return a sentence
    about the others.
    """
    run = _run(program, target, states, calls, tools)
    count, refused = len(run.statuses), sum(map(bool, run.statuses))
    if not refused:
        return run, ""
    if refused == count:
        raise BuildError(
            f"{program.function} of '{target.name}' refuses all {refused} states (status"
            f" {run.statuses[0]}), so the cost of a call is not known"
        )
    accepted = [i for i, status in enumerate(run.statuses) if not status]
    rows = {key: values[accepted] for key, values in states.items()}
    run = _run(program, target, rows, calls, tools)
    return run, f"{refused} of {count} states are refused by the checks and not measured"


def _run(
    program: Form,
    target: Target,
    states: Mapping[str, Any],
    calls: Mapping[str, int],
    tools: Toolchain,
) -> _Run:
    """Build and run the measuring program."""
    (tools.folder / "cost.c").write_text(
        _measuring(program, target, states, calls, tools), encoding="utf-8"
    )
    tools.compile("cost.c", "cost.o", "-std=gnu99", "-O2")
    tools.link("cost.elf", "cost.o", "one.o", "tape.o")
    return _parse_run(tools.run("cost.elf"))


# -- cycles --


class _Image(NamedTuple):
    """The linked measuring program, with the symbol of the function and the undefined symbols of
    its object file.
    """

    image: Image
    symbol: str
    undefined: tuple[str, ...]


def _cycles(real: str, program: _Image, tools: Toolchain, run: _Run) -> dict[str, Interval]:
    """Return the fields `cycles` and `cycles_alone` of a function, as far as its core's manual
    goes. Raises Unreadable.

    The function's own instructions do not depend on the state, so one state is enough for them.
    Those of libm are recorded at every state.
    """
    timing = TIMINGS.get(tools.machine.core)
    if timing is None:
        return {}
    if not timing.table:
        return {
            "cycles": (-(-min(run.total) // timing.issues), None),
            "cycles_alone": (-(-min(run.without_libm) // timing.issues), None),
        }
    if REALS[real].size > REALS[tools.machine.real].size:
        raise Unreadable(
            f"the FPU of {tools.machine.title} has no double precision, and the cycles of software"
            " are not estimated"
        )
    instructions = program.image.instructions
    function, libm = _traces(program, tools)
    _refuse_unlike_clock(function, libm, run)
    conditions = guarded(instructions)
    least, most = cortex_m4(function, instructions, conditions)
    further = [cortex_m4(state, instructions, conditions) for state in libm or ()] or [(0, 0)]
    return {
        "cycles": (least + min(low for low, _ in further), most + max(high for _, high in further)),
        "cycles_alone": (least, most),
    }


def _traces(program: _Image, tools: Toolchain) -> tuple[list[int], list[list[int]] | None]:
    """Return the addresses that one call of the function executes, and those that libm executes at
    each state (None: not called).
    """
    image, entry = program.image, program.image.symbols[program.symbol]
    tape = image.symbols[f"{program.symbol}_on_tape"]
    called = [image.symbols[name] for name in program.undefined if name in image.symbols]
    function: list[int] = []
    for address in tools.trace("cost.elf", image.ranges(image.reach([entry], called))):
        if address == entry and function:
            break
        function.append(address)
    if not called:
        return function, None
    states: list[list[int]] = []
    state: list[int] = []
    libm = image.ranges(image.reach(called) | {entry, tape})
    for address in tools.trace("cost.elf", libm):
        if address in (entry, tape):
            state = []
            states += [state] if address == entry else []
        else:
            state.append(address)
    return function, states


def _refuse_unlike_clock(function: list[int], libm: list[list[int]] | None, run: _Run) -> None:
    """Raise Unreadable if the traces have another number of instructions than the clock counted."""
    without_libm = [len(function)] * len(run.without_libm)
    total = run.total if libm is None else [len(function) + len(state) for state in libm]
    if without_libm != run.without_libm or total != run.total:
        raise Unreadable(
            "the trace of the emulator has another number of instructions than its clock counted"
        )


# -- object files --


def _undefined(tools: Toolchain, file: str) -> tuple[str, ...]:
    """Return the symbols that the linker must supply."""
    lines = tools.tool("nm", "-u", file).splitlines()
    return tuple(sorted(line.split()[-1] for line in lines if line.strip()))


def _bytes(sections: Mapping[str, int], kinds: Iterable[str]) -> int:
    return sum(sections.get(kind, 0) for kind in kinds)


def _sections(tools: Toolchain, file: str) -> dict[str, int]:
    """Return the bytes of an object file or a program by the prefix of the section's name, such as
    .rodata of .rodata.cst4.
    """
    sizes: dict[str, int] = {}
    for line in tools.tool("size", "-A", "-d", file).splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdigit():
            kind = re.sub(
                r"^\.s?(text|rodata|data|bss|tdata|tbss)\b.*", r".\1", words[0]
            )  # RISC-V has sections for small data: .srodata
            sizes[kind] = sizes.get(kind, 0) + int(words[1])
    return sizes


# -- the measuring program --


def _measuring(
    program: Form,
    target: Target,
    states: Mapping[str, Any],
    calls: Mapping[str, int],
    tools: Toolchain,
) -> str:
    """Return the measuring program; `calls` are libm's functions, each with its number of
    arguments.
    """
    results = {f"out_{port.name}": port.size for port in program.outputs}
    workspace = printer().work(program, target.checked)
    if workspace:
        results |= {WORK: workspace}
    size = [str(workspace)] if workspace and target.checked else []
    tapes = [_tape(name, arity, program.real) for name, arity in calls.items()]
    inputs = [
        {
            "name": f"in_{port.name}",
            "size": port.size,
            "rows": _rows(states, port.name, program.real),
        }
        for port in program.inputs
    ]
    call_arguments = [
        cast_array(port, f"in_{port.name}[i]", target.name) for port in program.inputs
    ]
    structs = [struct_of(port, target.name) or program.real for port in program.inputs]
    types = [
        *(f"const {struct} *" for struct in structs),
        *[f"{program.real} *"] * len(results),
        *["int"] * len(size),
    ]
    return render(
        TEMPLATES,
        "cost.c.j2",
        **target.context,
        real=program.real,
        symbol=target.symbol(program.function),
        calls=tapes,
        kinds={tape["kind"] for tape in tapes},
        counter=f"counter_{tools.machine.counter}.h.j2",
        states=len(states["q"]),
        tape=1 + sum(program.operations.get(op, 0) for op in LIBM),
        types=", ".join(types),
        arguments=inputs,
        results=[{"name": name, "size": size} for name, size in results.items()],
        call=", ".join([*call_arguments, *results, *size]),
    )


def _rows(states_by_name: Mapping[str, Any], name: str, real: str) -> list[str]:
    """Return an argument at each state as C writes it."""
    states = states_by_name[name].reshape(len(states_by_name["q"]), -1)
    return [", ".join(printer().literal(Fraction(x), real) for x in state) for state in states]


def _tape(name: str, arity: int, real: str) -> dict[str, str]:
    """Return the template's fields for a function that replaces libm's and reads its results from
    the tape.
    """
    arguments = "yx"[-arity:]
    return {
        "name": name,
        "kind": "unary" if arity == 1 else "binary",
        "given": ", ".join(arguments),
        "types": ", ".join(f"{real} {x}" for x in arguments),
    }


def _parse_run(text: str) -> _Run:
    """Return the results that the measuring program printed."""
    if "overflow" in text:
        raise RequestError(
            "a call executes more instructions than this target can count; use --real float, or"
            " lock joints"
        )
    lines = [line.split() for line in text.splitlines()]
    printed = {
        word: [[int(x) for x in line[1:]] for line in lines if line and line[0] == word]
        for word in ("loop", "nothing", "tape", "state", "status")
    }
    ((short, long),) = printed["loop"]
    ticks = Fraction(long - short, _LOOP)

    def instructions(measured: int, empty: int) -> int:
        return (
            round((measured - empty) / ticks) + 1
        )  # the empty function executes its return as well

    empty = printed["nothing"][0][0]
    tape = [
        instructions(function_ticks, empty_ticks) for function_ticks, empty_ticks in printed["tape"]
    ]
    total = [instructions(state[0], empty) for state in printed["state"]]
    without_libm = [
        instructions(state[1], empty)
        - sum(n * ticks_per_call for n, ticks_per_call in zip(state[2:], tape, strict=True))
        for state in printed["state"]
    ]
    calls = max(sum(state[2:]) for state in printed["state"])
    return _Run(total, without_libm, calls, [status for (status,) in printed["status"]])
