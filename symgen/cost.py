"""What a function costs on a target, measured: instructions by QEMU, bytes by binutils, stack by the compiler.

The clock of QEMU advances with instructions only, and the target's own counter reads it. How much it advances for one
instruction comes from a loop of a known count. What a call costs besides the function is what the same call of an empty
function takes, and is taken off; the function's return is counted. What libm takes is found by a second copy of the
function whose calls of libm read the answers, recorded before, from a tape; the instructions of that reading, measured
as well, are taken off. So the function does the same work on the same numbers in both.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from symgen import targets
from symgen.backends import c99, render
from symgen.backends._c_text import literal
from symgen.emulation import Toolchain
from symgen.errors import RequestError
from symgen.firmware import BASE_FLAGS, TEMPLATES
from symgen.ir import Program
from symgen.mechanism import Mechanism
from symgen.states import draw_states

STATES = 64
SEED = 11
OPTIMIZE = "-O2"
LIBM = ("sin", "cos", "sqrt", "log")
FLASH = (".text", ".rodata")
RAM = (".data", ".bss")
Floors = Mapping[str, Mapping[int, Fraction]]
_LOOP = 2 * (11000 - 1000)
"""Instructions by which the longer loop of the measuring program exceeds the shorter."""


@dataclass(frozen=True)
class Cost:
    """One function: instructions of a call, least and most over the states; bytes.

    `alone` is without what libm executes, the calls of it included. `flash` holds code and constants, `ram` what is kept between
    calls, `stack` the function's own frame without that of what it calls; `undefined` is what the linker must bring.
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

    def rate(self, clock: float) -> float:
        """Calls per second at `clock` (Hz) if every instruction took one cycle, at the state that takes most."""
        return clock / self.instructions[1]

    def facts(self, clock: float | None) -> dict[str, Any]:
        """All figures by name."""
        return asdict(self) | ({} if clock is None else {"rate": self.rate(clock)})


def measure(mechanism: Mechanism, programs: Iterable[Program], target: str, states: int = STATES,
            at_run_time: Mapping[str, str] | None = None, trig: str = "libm", floors: Floors | None = None) -> list[Cost]:
    """The cost of every one of the robot's programs over seeded random states.

    `at_run_time` are the links of the arguments that are given at run time, by the argument's name; `trig` is as in
    `symgen.backends.c99.Target`; `floors` are the certified bounds that checked functions compare with (None: unchecked).

    Raises RequestError for a target that does not count instructions or cannot hold the functions, ToolMissing (a
    BuildError) when a tool is missing.
    """
    machine = targets.find(target)
    if not machine.counter:
        counted = ", ".join(name for name in targets.names() if targets.find(name).counter)
        raise RequestError(f"{target} does not count instructions; take {counted}, or 'symgen bench' for times on this machine")
    drawn = draw_states(mechanism, states, SEED, **(at_run_time or {}))
    own = c99.Target(mechanism.name, mechanism.nq, mechanism.nv, trig, checked=floors is not None)

    def one(program: Program) -> Cost:
        with tempfile.TemporaryDirectory(prefix="symgen-cost-") as folder:
            source = c99.source(program, own, (floors or {}).get(program.function))
            return _cost(program, source, own, drawn, Toolchain(machine, Path(folder)))

    with ThreadPoolExecutor(os.cpu_count()) as side_by_side:   # each waits for compilers and emulators
        found = list(side_by_side.map(one, programs))
    whole = sum(cost.flash for cost in found)
    if whole > machine.flash:
        raise RequestError(f"the {len(found)} functions of '{mechanism.name}' take {_size(whole)} of flash, and the firmware/ of "
                           f"{machine.title} has {_size(machine.flash)}; ask for fewer with -f, or lock joints with --lock")
    return found


def _size(count: int) -> str:
    return f"{count / 1024:.0f} KiB" if count >= 1024 else f"{count} bytes"


def _cost(program: Program, source: str, target: c99.Target, drawn: Mapping[str, Any], tools: Toolchain) -> Cost:
    symbol = target.symbol(program.function)
    texts = c99.headers({program.function: program}, target) | {"one.c": source}
    for name, text in texts.items():
        (tools.folder / name).write_text(text, encoding="utf-8")
    tools.compile("one.c", "one.o", *BASE_FLAGS, OPTIMIZE, "-fstack-usage")
    # An own sine and cosine that the compiler did not put in place is called from the function: both frames stand at once.
    stack = sum(int(line.split("\t")[1]) for line in (tools.folder / "one.su").read_text(encoding="utf-8").splitlines())
    if stack > tools.machine.stack:
        raise RequestError(f"{program.function} of '{target.name}' takes {_size(stack)} of stack, and the firmware/ of "
                           f"{tools.machine.title} has {_size(tools.machine.stack)}; take --real float or --lock joints")
    sections = _sections(tools)
    undefined = tuple(sorted(line.split()[-1] for line in tools.tool("nm", "-u", "one.o").splitlines() if line.strip()))
    calls = [name for op in LIBM if (name := c99.calls(program.real, target)[op]) in undefined]
    renamed = [f"--redefine-sym={name}=tape_{name}" for name in calls]
    tools.tool("objcopy", *renamed, f"--redefine-sym={symbol}={symbol}_on_tape", "one.o", "tape.o")
    (tools.folder / "cost.c").write_text(_measuring(program, target, drawn, calls, tools), encoding="utf-8")
    tools.compile("cost.c", "cost.o", "-std=gnu99", "-O2")
    tools.link("cost.elf", "cost.o", "one.o", "tape.o")
    whole, alone, count = _read(tools.run("cost.elf"))
    return Cost(program.function, program.method, whole, alone, count, sum(sections.get(s, 0) for s in FLASH), stack,
                sum(sections.get(s, 0) for s in RAM), undefined)


def _sections(tools: Toolchain) -> dict[str, int]:
    """Bytes of the object file by the beginning of the section's name, as .rodata of .rodata.cst4."""
    found: dict[str, int] = {}
    for line in tools.tool("size", "-A", "-d", "one.o").splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdigit():
            kind = re.sub(r"^\.s?(text|rodata|data|bss)\b.*", r".\1", words[0])   # RISC-V has small ones: .srodata
            found[kind] = found.get(kind, 0) + int(words[1])
    return found


def _measuring(program: Program, target: c99.Target, drawn: Mapping[str, Any], calls: list[str], tools: Toolchain) -> str:
    """The program that measures."""
    inputs = [f"in_{port.name}" for port in program.inputs]
    results = [f"out_{port.name}" for port in program.outputs]

    def rows(name: str) -> list[str]:
        return [", ".join(literal(Fraction(x), program.real) for x in state) for state in drawn[name]]

    return render(
        TEMPLATES, "cost.c.j2", **target.context, real=program.real, symbol=target.symbol(program.function), calls=calls,
        counter=f"counter_{tools.machine.counter}.h.j2", states=len(drawn["q"]),
        tape=1 + sum(program.operations.get(op, 0) for op in LIBM),
        types=", ".join([f"const {program.real} *"] * len(inputs) + [f"{program.real} *"] * len(results)),
        arguments=[{"name": c, "size": p.size, "rows": rows(p.name)} for c, p in zip(inputs, program.inputs, strict=True)],
        results=[{"name": c, "size": p.size} for c, p in zip(results, program.outputs, strict=True)],
        call=", ".join([*(f"{name}[i]" for name in inputs), *results]),
    )


def _read(text: str) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Instructions as (least, most), with libm and without, and the calls of libm, from what the measuring program printed."""
    if "overflow" in text:
        raise RequestError("a call takes more instructions than this target's counter holds; take --real float, or lock joints")
    lines = [line.split() for line in text.splitlines()]
    printed = {word: [[int(x) for x in line[1:]] for line in lines if line and line[0] == word]
               for word in ("loop", "nothing", "itself", "tape", "state")}
    (short, long), = printed["loop"]
    ticks = Fraction(long - short, _LOOP)

    def instructions(measured: int, empty: int) -> int:
        return round((measured - empty) / ticks) + 1   # the empty function executes its return as well

    empty, itself = printed["nothing"][0][0], printed["itself"][0][0]
    tape = [instructions(line[0], itself) for line in printed["tape"]]
    whole = [instructions(state[0], empty) for state in printed["state"]]
    alone = [instructions(state[1], empty) - sum(n * each for n, each in zip(state[2:], tape, strict=True))
             for state in printed["state"]]
    return (min(whole), max(whole)), (min(alone), max(alone)), max(sum(state[2:]) for state in printed["state"])
