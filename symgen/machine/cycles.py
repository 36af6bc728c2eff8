"""Estimate of cycles from executed instructions and a core's manual: least and most, for memory
without wait states.

This is an estimate, not a measurement. The interval covers what a manual leaves open: the refill of
the pipeline, and which loads overlap. Wait states, caches and interrupts of a chip are not
included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from symgen.machine.disassembly import Instruction, Unreadable, mnemonic, register_words


class Timing(NamedTuple):
    """Published timing of a core, in words. `table`: True if the cycles of every instruction are
    known (`cortex_m4`).

    Without a table, `issues` is the number of instructions that can begin in a cycle, which bounds
    the cycles from below.
    """

    words: str
    table: bool
    issues: int = 1


TIMINGS = {
    "cortex-m4": Timing(
        "estimated by class of instruction from the Arm Cortex-M4 Processor Technical Reference"
        " Manual (DDI 0439), its tables of the processor's and of the FPU's instructions. The"
        " manual does not determine these cycles, so that the estimate is an interval: 1 to 3 to"
        " refill the pipeline, 2 to 12 for an integer division, loads and stores that may overlap,"
        " integer instructions that run during a floating-point division. An estimate for memory"
        " without wait states, not a measurement.",
        table=True,
    ),
    "cortex-m7": Timing(
        "bounded from below only: the Arm Cortex-M7 Processor Technical Reference Manual (DDI 0489)"
        " states that at most two instructions begin in a cycle, in order, and gives no cycles of"
        " single instructions. Dependences, divisions, branches, caches and memory add cycles.",
        table=False,
        issues=2,
    ),
}
"""Cores by their names in GCC."""

_REFILL = (1, 3)
_SHADOW = 13
"""Cycles of a floating-point division or root during which integer instructions can run."""
_ARITHMETIC = (
    "vadd",
    "vsub",
    "vmul",
    "vnmul",
    "vdiv",
    "vsqrt",
    "vmla",
    "vmls",
    "vnmla",
    "vnmls",
    "vfma",
    "vfms",
    "vfnma",
    "vfnms",
    "vcvt",
    "vcvtr",
)
_ACCUMULATE = ("vmla", "vmls", "vnmla", "vnmls", "vfma", "vfms", "vfnma", "vfnms")
_CYCLES = {"vdiv": 14, "vsqrt": 14} | dict.fromkeys(_ACCUMULATE, 3)
_MOVES = ("vmov", "vneg", "vabs", "vcmp", "vcmpe", "vmrs", "vmsr")
_SINGLE = re.compile(r"(ldr|str)(s?[bh])?")
_MULTIPLE = re.compile(r"(push|pop|vpush|vpop|v?ldm(ia|db)?|v?stm(ia|db)?)")
_JUMPS = ("b", "bl", "bx", "blx", "cbz", "cbnz")


def guarded(instructions: Mapping[int, Instruction]) -> dict[int, str]:
    """Return {address: condition letters} of the instructions that a Thumb IT makes conditional:
    their names end in the letters.
    """
    conditions: dict[int, str] = {}
    opposite = {"eq": "ne", "cs": "cc", "mi": "pl", "vs": "vc", "hi": "ls", "ge": "lt", "gt": "le"}
    opposite |= {inverse: direct for direct, inverse in opposite.items()}
    for address, instruction in instructions.items():
        if re.fullmatch(r"it[te]{0,3}", instruction.word):
            following = address + instruction.size
            for letter in instruction.word[1:]:
                if following not in instructions:
                    break
                condition = instruction.operands
                conditions[following] = (
                    condition if letter == "t" else opposite.get(condition, condition)
                )
                following += instructions[following].size
    return conditions


def cortex_m4(
    trace: Sequence[int], instructions: Mapping[int, Instruction], conditions: Mapping[int, str]
) -> tuple[int, int]:
    """Return (least, most) cycles of instructions executed one after the other; `conditions` are
    those of `guarded`.

    `trace` are their addresses. Raises Unreadable for an instruction that the tables do not list.
    """
    fewest = most_cycles = shadow = 0
    previous: tuple[str, str] = ("", "")
    for index, address in enumerate(trace):
        instruction = instructions[address]
        name = _name(instruction, conditions.get(address, ""))
        following = trace[index + 1] if index + 1 < len(trace) else None
        went_on = following == address + instruction.size
        low, high = _cost(name, instruction, went_on, previous[0])
        if _awaits(previous, name, instruction.operands):
            low, high = low + 1, high + 1
        if address in conditions:
            low = min(low, 1)  # skipped if the condition does not hold
        if name.startswith("v"):
            shadow = _SHADOW if name in ("vdiv", "vsqrt") else 0
        else:
            hidden = min(shadow, low)
            shadow, low = shadow - hidden, low - hidden
        fewest, most_cycles = fewest + low, most_cycles + high
        previous = name, instruction.operands
    return fewest, most_cycles


def _name(instruction: Instruction, condition: str) -> str:
    """Return the mnemonic without width, type and condition: 'vldrlt.32' is 'vldr'."""
    word = mnemonic(instruction.word).partition(".")[0]
    return word.removesuffix(condition) if condition else word


def _cost(name: str, instruction: Instruction, went_on: bool, previous: str) -> tuple[int, int]:
    """Return the least and most cycles of an instruction; `previous` is the name of the previous
    instruction.
    """
    double_word = name in ("ldrd", "strd")
    if double_word or _MULTIPLE.fullmatch(name):
        return _cost_of_several_words(instruction.operands, double_word)
    if name in ("vldr", "vstr") or _SINGLE.fullmatch(name):
        return _cost_of_one_word(name, instruction.operands, previous)
    if name in ("tbb", "tbh"):
        return 2 + _REFILL[0], 3 + _REFILL[1]
    if name in _JUMPS or (name.startswith("b") and instruction.target is not None):
        jumps = name in ("bl", "blx", "bx", "b") or not went_on
        return (1 + _REFILL[0], 1 + _REFILL[1]) if jumps else (1, 1)
    if name in ("udiv", "sdiv"):
        return 2, 12
    if re.fullmatch(r"it[te]{0,3}", name):
        return 0, 1
    if name.startswith("v"):
        return (cycles := _cycles_of_fpu(name, instruction)), cycles
    return 1, 1


def _cost_of_several_words(operands: str, double_word: bool) -> tuple[int, int]:
    """Return cycles of a load or store of several registers; a load of pc refills the pipeline."""
    words = 2 if double_word else register_words(operands)
    refill = _REFILL if re.search(r"\bpc\}", operands) else (0, 0)
    return 1 + words + refill[0], 1 + words + refill[1]


def _cost_of_one_word(name: str, operands: str, previous: str) -> tuple[int, int]:
    """Return the cycles of a load or store of one register, one fewer if it is pipelined."""
    high = 3 if operands.startswith("d") else 2
    pipelined = name in ("str", "strb", "strh", "vstr") or previous in ("ldr", "vldr")
    low = high - 1 if pipelined else high
    if operands.startswith("pc"):
        return low + _REFILL[0], high + _REFILL[1]
    return low, high + ("[pc" in operands)  # a literal load may wait for the instruction fetch


def _cycles_of_fpu(name: str, instruction: Instruction) -> int:
    """Return the cycles of an FPU instruction that is not a load or store. Raises Unreadable for
    double precision.
    """
    if name not in (*_ARITHMETIC, *_MOVES) or ".f64" in instruction.word:
        raise Unreadable(f"the cycles of '{instruction.word}' are not known")
    pair = (
        name == "vmov" and instruction.operands.count(",") > 1
    )  # two registers of the core at once
    return _CYCLES.get(name, 2 if pair else 1)


def _awaits(previous: tuple[str, str], name: str, operands: str) -> bool:
    """True if an instruction takes one more cycle because it needs the previous one's result."""
    first, *sources = (operand.strip(" []{}!") for operand in operands.split(","))
    result = previous[1].partition(",")[0].strip()
    if previous[0] in _ARITHMETIC:
        reads = (
            sources if name in (*_ARITHMETIC, "vmov", "vneg", "vabs", "vldr") else [first, *sources]
        )
        return result in reads  # an accumulation needs its addend one cycle later and does not wait
    loads = name in ("vldr", "vstr") or _SINGLE.fullmatch(name) is not None
    computed = not (
        previous[0].startswith(("v", "it", "cmp", "cmn", "tst", "teq", "ldrd", "strd"))
        or previous[0] in _JUMPS
        or _SINGLE.fullmatch(previous[0])
        or _MULTIPLE.fullmatch(previous[0])
    )
    address = operands.partition("[")[2].partition("]")[0]
    return (
        bool(result)
        and loads
        and computed
        and re.search(rf"\b{re.escape(result)}\b", address) is not None
    )
