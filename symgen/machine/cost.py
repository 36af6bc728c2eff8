"""What a function costs on a target, measured: instructions by QEMU, bytes by binutils, stack by the compiler.

QEMU's clock advances with instructions only, and the target's own counter reads it. A loop with a known count shows how much it
advances for one instruction. A call of an empty function shows what a call costs without the function. That is subtracted; the
function's return is counted. A second copy of the function shows what libm takes. Its calls of libm read the answers, recorded
before, from a tape. The instructions of that reading are measured too and subtracted. So the function does the same work on the
same numbers in both.

What a function takes with all that it calls is read off a linked image: its bytes, and the depth of the stack along every way
through it. Cycles are estimated from the executed instructions, where the core's manual states their cycles.
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
from symgen.emission.ports import handed, struct_of
from symgen.ir.program import ARITY, Bound
from symgen.ir.recursion import WORK, Form
from symgen.machine import stack_usage, targets
from symgen.machine.cycles import TIMINGS, cortex_m4, guarded
from symgen.machine.disassembly import Image, Unreadable, read
from symgen.machine.emulation import Toolchain
from symgen.machine.firmware import BASE_FLAGS, OPTIMIZE, TEMPLATES
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
"""Sections of a linked program that stand in flash. Data that is written begins as a copy from there."""
Interval = tuple[int, int | None]
"""Least and most; None where there is no upper bound."""
Floors = Mapping[str, Mapping[int, Bound]]
_LOOP = 2 * (11000 - 1000)
"""Instructions by which the longer loop of the measuring program exceeds the shorter."""


@dataclass(frozen=True)
class Cost:
    """One function: instructions of a call, least and most over the states; bytes.

    `alone` is without what libm executes, the calls of it included. `flash` holds code and constants, `ram` what is kept between
    calls, `stack` the function's own frame (and that of its parts) without that of what it calls; `undefined` is what the linker
    must bring, and `..._with_libm` is with all that it brings (None: its stack cannot be read off). `cycles` and `cycles_alone`
    are estimates, least and most, None where nothing is published of the core or of so much of it (`symgen.machine.cycles`).
    `work` is the array that loops over links ask of their caller.
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
        """Calls per second at `clock` (Hz), at the state that takes most: by the estimated cycles, where they are not known as
        if every instruction took one."""
        most = self.cycles[1] if self.cycles is not None else None
        return clock / (most or self.instructions[1])

    def facts(self, clock: float | None) -> dict[str, Any]:
        """All figures by name."""
        return asdict(self) | ({} if clock is None else {"rate": self.rate(clock)})


@dataclass(frozen=True)
class Measured:
    """The measured costs of several functions.

    `costs` are those of each. Then come the bytes of flash and RAM of all of them, alone and linked with what they call, which is
    there once. `untold` says in sentences what could not be found out. `newlib` are the linked bytes with newlib in place of
    picolibc; None where it is not installed.
    """

    costs: tuple[Cost, ...]
    flash: int
    flash_with_libm: int
    ram_with_libm: int
    untold: tuple[str, ...]
    newlib: tuple[int, int] | None = None


class Written(NamedTuple):
    """C that lies in a folder: its NAME, its headers by file, and its functions' texts by function."""

    name: str
    headers: Mapping[str, str]
    sources: Mapping[str, str]


def measure(
    mechanism: Mechanism,
    programs: Iterable[Form],
    target: str,
    states: int = STATES,
    options: ProgramOptions | None = None,
    text: TextOptions = PLAIN,
    floors: Floors | None = None,
    *,
    given: Mapping[str, Sequence[Fraction]] | None = None,
    written: Written | None = None,
) -> Measured:
    """The cost of every one of the robot's programs over seeded random states.

    `options` name the links of the arguments that are given at run time; `floors` are the certified bounds that checked
    functions compare with. `given` are arguments that have the same numbers at every state: those of a robot that can be, where
    numbers change at run time. `written` is the C that is measured, where it is not the backend's. States that a checked function
    refuses are left out, and `untold` counts them.

    Raises RequestError for a target that does not count instructions or cannot hold the functions, ToolMissing (a
    BuildError) when a tool is missing, BuildError when a checked function refuses every state.
    """
    machine = targets.find(target)
    if not machine.counter:
        counted = ", ".join(targets.counting())
        raise RequestError(
            f"{target} does not count instructions; take {counted}, or 'symgen bench' for times on this machine"
        )
    options = options or ProgramOptions()
    programs = list(programs)
    taken = {port.name: port.shape for program in programs for port in program.inputs}
    drawn = draw_states(mechanism, states, SEED, options.payload, options.wrench, taken)
    drawn |= {
        name: np.array([numbers] * states, dtype=object) for name, numbers in (given or {}).items()
    }
    own = Target(mechanism.name if written is None else written.name, mechanism.sizes, text)

    with tempfile.TemporaryDirectory(prefix="symgen-cost-") as name:
        folder = Path(name)

        def one(program: Form) -> tuple[Cost, str]:
            (folder / own.symbol(program.function)).mkdir()
            headers: Mapping[str, str]
            if written is None:
                headers = printer().headers({program.function: program}, own)
                source = printer().source(program, own, (floors or {}).get(program.function))
            else:
                headers, source = written.headers, written.sources[program.function]
            tools = Toolchain(machine, folder / own.symbol(program.function))
            return _cost(program, {**headers, "one.c": source}, own, drawn, tools)

        with ThreadPoolExecutor(
            os.cpu_count()
        ) as side_by_side:  # each thread waits for compilers and emulators
            found = list(side_by_side.map(one, programs))
        costs = tuple(cost for cost, _ in found)
        whole = sum(cost.flash for cost in costs)
        if whole > machine.flash:
            raise RequestError(
                f"the {len(costs)} functions of '{mechanism.name}' take {_size(whole)} of flash, and the "
                f"firmware/ of {machine.title} has {_size(machine.flash)}; ask for fewer with -f, or lock joints "
                "with --lock"
            )
        tools = Toolchain(machine, folder)
        objects = [f"{own.symbol(cost.function)}/one.o" for cost in costs]
        kept = [f"-Wl,--undefined={own.symbol(cost.function)}" for cost in costs]
        tools.image("all.elf", *objects, *kept, entry=own.symbol(costs[0].function))
        linked, newlib = _sections(tools, "all.elf"), None
        if tools.with_newlib("newlib.elf", *objects, *kept, entry=own.symbol(costs[0].function)):
            newlib = _in_flash_and_ram(_sections(tools, "newlib.elf"))
    untold: dict[str, list[str]] = {}
    for cost, why in found:
        untold.setdefault(why, []).append(cost.function)
    said = tuple(f"{', '.join(functions)}: {why}" for why, functions in untold.items() if why)
    called = any(cost.undefined for cost in costs)
    flash, ram = _in_flash_and_ram(linked)
    return Measured(costs, whole, flash if called else whole, ram, said, newlib if called else None)


def _in_flash_and_ram(sections: Mapping[str, int]) -> tuple[int, int]:
    """Bytes of a linked program in flash and in RAM."""
    return _bytes(sections, IMAGE), _bytes(sections, RAM)


def _size(count: int) -> str:
    return f"{count / 1024:.0f} KiB" if count >= 1024 else f"{count} bytes"


def _cost(
    program: Form,
    texts: Mapping[str, str],
    target: Target,
    drawn: Mapping[str, Any],
    tools: Toolchain,
) -> tuple[Cost, str]:
    """The cost, and why a part of it could not be found out ("": nothing is missing). `texts` hold the function as one.c."""
    symbol = target.symbol(program.function)
    for name, text in texts.items():
        (tools.folder / name).write_text(text, encoding="utf-8")
    tools.compile("one.c", "one.o", *BASE_FLAGS, OPTIMIZE, "-fstack-usage")
    stack = stack_usage.stack((tools.folder / "one.su").read_text(encoding="utf-8"), symbol) or 0
    if stack > tools.machine.stack:
        raise RequestError(
            f"{program.function} of '{target.name}' takes {_size(stack)} of stack, and the firmware/ of "
            f"{tools.machine.title} has {_size(tools.machine.stack)}; take --real float or --lock joints"
        )
    sections = _sections(tools, "one.o")
    undefined = tuple(
        sorted(
            line.split()[-1]
            for line in tools.tool("nm", "-u", "one.o").splitlines()
            if line.strip()
        )
    )
    calls = {
        name: ARITY[op]
        for op in LIBM
        if (name := printer().calls(program.real, target)[op]) in undefined
    }
    renamed = [f"--redefine-sym={name}=tape_{name}" for name in calls]
    tools.tool("objcopy", *renamed, f"--redefine-sym={symbol}={symbol}_on_tape", "one.o", "tape.o")
    whole, alone, count, statuses = _run(program, target, drawn, calls, tools)
    untold = ""
    if refused := sum(map(bool, statuses)):
        if refused == len(statuses):
            raise BuildError(
                f"{program.function} of '{target.name}' refuses all of {refused} states (status {statuses[0]}), so "
                "that what a call costs is not known"
            )
        accepted = [i for i, status in enumerate(statuses) if not status]
        whole, alone, count, _ = _run(
            program, target, {key: rows[accepted] for key, rows in drawn.items()}, calls, tools
        )
        untold = f"{refused} of {len(statuses)} states are refused by the checks and not measured"
    tools.image("linked.elf", "one.o", entry=symbol)
    linked = _sections(tools, "linked.elf")
    deepest: int | None = None
    timed: dict[str, Interval] = {}
    try:
        image = read(tools, "cost.elf")
        deepest = image.depth(image.symbols[symbol])
        timed = _cycles(program.real, symbol, undefined, image, tools, whole, alone)
    except Unreadable as unreadable:
        untold = "; ".join(filter(None, (untold, str(unreadable))))
    cost = Cost(
        program.function,
        program.method,
        (min(whole), max(whole)),
        (min(alone), max(alone)),
        count,
        _bytes(sections, FLASH),
        stack,
        _bytes(sections, RAM),
        undefined,
        _bytes(linked if undefined else sections, IMAGE),
        deepest,
        _bytes(linked, RAM),
        work=REALS[program.real].size * printer().work(program, target.checked),
        **timed,
    )
    return cost, untold


def _run(
    program: Form,
    target: Target,
    drawn: Mapping[str, Any],
    calls: Mapping[str, int],
    tools: Toolchain,
) -> tuple[list[int], list[int], int, list[int]]:
    """Build and run the measuring program; return what it printed as `_read` does."""
    (tools.folder / "cost.c").write_text(
        _measuring(program, target, drawn, calls, tools), encoding="utf-8"
    )
    tools.compile("cost.c", "cost.o", "-std=gnu99", "-O2")
    tools.link("cost.elf", "cost.o", "one.o", "tape.o")
    return _read(tools.run("cost.elf"))


def _cycles(
    real: str,
    symbol: str,
    undefined: tuple[str, ...],
    image: Image,
    tools: Toolchain,
    whole: list[int],
    alone: list[int],
) -> dict[str, Interval]:
    """The fields `cycles` and `cycles_alone` of a function, as far as its core's manual goes. Raises Unreadable.

    The function's own instructions do not depend on the state, so one state shows them. Those of libm are recorded at every
    state.
    """
    timing = TIMINGS.get(tools.machine.core)
    if timing is None:
        return {}
    if not timing.table:
        return {
            "cycles": (-(-min(whole) // timing.issues), None),
            "cycles_alone": (-(-min(alone) // timing.issues), None),
        }
    if REALS[real].size > REALS[tools.machine.real].size:
        raise Unreadable(
            f"the FPU of {tools.machine.title} has no double, whose cycles in software are not estimated"
        )
    entry, tape = image.symbols[symbol], image.symbols[f"{symbol}_on_tape"]
    called = [image.symbols[name] for name in undefined if name in image.symbols]
    own, libm = image.reach([entry], called), image.reach(called)
    conditions = guarded(image.instructions)
    itself: list[int] = []
    for address in tools.trace("cost.elf", image.ranges(own)):
        if address == entry and itself:
            break
        itself.append(address)
    states: list[list[int]] = []
    seen: list[int] = []
    for address in tools.trace("cost.elf", image.ranges(libm | {entry, tape})) if called else ():
        if address in (entry, tape):
            seen = []
            states += [seen] if address == entry else []
        else:
            seen.append(address)
    if [len(itself)] * len(alone) != alone or (
        called and [len(itself) + len(state) for state in states] != whole
    ):
        raise Unreadable(
            "the trace of the emulator does not hold the instructions that its clock counted"
        )
    least, most = cortex_m4(itself, image.instructions, conditions)
    further = [cortex_m4(state, image.instructions, conditions) for state in states] or [(0, 0)]
    return {
        "cycles": (least + min(low for low, _ in further), most + max(high for _, high in further)),
        "cycles_alone": (least, most),
    }


def _bytes(sections: Mapping[str, int], kinds: Iterable[str]) -> int:
    return sum(sections.get(kind, 0) for kind in kinds)


def _sections(tools: Toolchain, file: str) -> dict[str, int]:
    """Bytes of an object file or of a program by the beginning of the section's name, as .rodata of .rodata.cst4."""
    found: dict[str, int] = {}
    for line in tools.tool("size", "-A", "-d", file).splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdigit():
            kind = re.sub(
                r"^\.s?(text|rodata|data|bss|tdata|tbss)\b.*", r".\1", words[0]
            )  # RISC-V has small ones: .srodata
            found[kind] = found.get(kind, 0) + int(words[1])
    return found


def _measuring(
    program: Form,
    target: Target,
    drawn: Mapping[str, Any],
    calls: Mapping[str, int],
    tools: Toolchain,
) -> str:
    """The measuring program; `calls` are libm's functions, each with how many numbers it takes."""
    inputs = [f"in_{port.name}" for port in program.inputs]
    results = {f"out_{port.name}": port.size for port in program.outputs}
    work = printer().work(program, target.checked)
    if work:
        results |= {WORK: work}
    size = [str(work)] if work and target.checked else []

    def rows(name: str) -> list[str]:
        states = drawn[name].reshape(len(drawn["q"]), -1)
        return [
            ", ".join(printer().literal(Fraction(x), program.real) for x in state)
            for state in states
        ]

    called = [
        {
            "name": name,
            "kind": "unary" if count == 1 else "binary",
            "given": ", ".join("yx"[-count:]),
            "types": ", ".join(f"{program.real} {x}" for x in "yx"[-count:]),
        }
        for name, count in calls.items()
    ]
    return render(
        TEMPLATES,
        "cost.c.j2",
        **target.context,
        real=program.real,
        symbol=target.symbol(program.function),
        calls=called,
        kinds={one["kind"] for one in called},
        counter=f"counter_{tools.machine.counter}.h.j2",
        states=len(drawn["q"]),
        tape=1 + sum(program.operations.get(op, 0) for op in LIBM),
        types=", ".join(
            [f"const {struct_of(port, target.name) or program.real} *" for port in program.inputs]
            + [f"{program.real} *"] * len(results)
            + ["int"] * len(size)
        ),
        arguments=[
            {"name": c, "size": p.size, "rows": rows(p.name)}
            for c, p in zip(inputs, program.inputs, strict=True)
        ],
        results=[{"name": name, "size": size} for name, size in results.items()],
        call=", ".join(
            [
                *(
                    handed(port, f"{name}[i]", target.name)
                    for name, port in zip(inputs, program.inputs, strict=True)
                ),
                *results,
                *size,
            ]
        ),
    )


def _read(text: str) -> tuple[list[int], list[int], int, list[int]]:
    """Return the instructions at each state, with libm and without, the calls of libm, and the statuses of a checked function,
    from what the measuring program printed.
    """
    if "overflow" in text:
        raise RequestError(
            "a call takes more instructions than this target's counter holds; take --real float, or lock joints"
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
    tape = [instructions(own, itself) for own, itself in printed["tape"]]
    whole = [instructions(state[0], empty) for state in printed["state"]]
    alone = [
        instructions(state[1], empty)
        - sum(n * each for n, each in zip(state[2:], tape, strict=True))
        for state in printed["state"]
    ]
    return (
        whole,
        alone,
        max(sum(state[2:]) for state in printed["state"]),
        [status for (status,) in printed["status"]],
    )
