"""Disassembly of a linked program: instructions by address, the code that a call can reach, and its
stack depth.

The stack of precompiled code such as libm is not documented. It is found by walking every path
through the instructions from the function's first one, with the number of bytes by which the stack
pointer has moved. Loops are walked once. A call adds the largest depth of the called function. The
reader knows Arm's Thumb and RISC-V.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from symgen.machine.emulation import Toolchain
from symgen.support.errors import BuildError

_LINE = re.compile(r"^ *([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(\S+)(?:\t([^@;]*))?")
_TARGET = re.compile(r"([0-9a-f]+) <[^>]*>\s*$")
_STACK_SLOT = re.compile(r"\[sp\], #(-?\d+)|\[sp, #(-\d+)\]!")


class Unreadable(BuildError):
    """A path through a program that its disassembly does not determine: a computed jump, a call by
    address, a recursion.
    """


class Instruction(NamedTuple):
    """One instruction as objdump prints it; `target` is the address that it names, or None."""

    size: int
    word: str
    operands: str
    target: int | None


class Step(NamedTuple):
    """Effect of an instruction: the bytes of stack that it takes (negative: releases), and its
    successors.
    """

    takes: int = 0
    jumps: int | None = None
    calls: int | None = None
    goes_on: bool = True
    returns: bool = False


@dataclass
class Image:
    """A linked program. `symbols` are addresses by name."""

    instructions: Mapping[int, Instruction]
    symbols: Mapping[str, int]
    _stacks_and_reach: dict[int, tuple[int, frozenset[int]]] = field(default_factory=dict)
    _walking: set[int] = field(default_factory=set)

    def depth(self, entry: int) -> int:
        """Return the largest number of bytes of stack that a call of the function at `entry` takes,
        with all that it calls.

        Raises Unreadable.
        """
        return self._walk(entry)[0]

    def reach(
        self, entries: Iterable[int], excluded_functions: Iterable[int] = ()
    ) -> frozenset[int]:
        """Return the addresses of the instructions that calls of `entries` can execute.

        Instructions that are reachable only through `excluded_functions` are not among them.
        """
        saved = dict(self._stacks_and_reach)
        self._stacks_and_reach = {entry: (0, frozenset()) for entry in excluded_functions}
        try:
            return frozenset().union(*(self._walk(entry)[1] for entry in entries))
        finally:
            self._stacks_and_reach = saved

    def ranges(self, addresses: Iterable[int]) -> list[tuple[int, int]]:
        """Return the ranges [first, last) of the consecutive instructions in `addresses`."""
        ranges: list[tuple[int, int]] = []
        for address in sorted(addresses):
            end = address + self.instructions[address].size
            if ranges and ranges[-1][1] == address:
                ranges[-1] = ranges[-1][0], end
            else:
                ranges.append((address, end))
        return ranges

    def _walk(self, entry: int) -> tuple[int, frozenset[int]]:
        """Return (bytes, addresses) of a function, with the functions that it calls."""
        if entry in self._stacks_and_reach:
            return self._stacks_and_reach[entry]
        if entry in self._walking:
            raise Unreadable(f"the function at {entry:#x} calls itself")
        self._walking.add(entry)
        deepest, visited_paths, callees = 0, set(), set()
        # A function that saves the caller's registers (RISC-V's __riscv_save) has its own return
        # register. The path continues
        # at `return_address`. The function also releases `surplus` bytes, by the number in a
        # register.
        paths: list[tuple[int, int, int | None, int]] = [(entry, 0, None, 0)]
        try:
            while paths:
                path = paths.pop()
                if path in visited_paths:
                    continue
                visited_paths.add(path)
                address, depth, return_address, surplus = path
                callees.add(address)
                instruction = self.instructions.get(address)
                if instruction is None:
                    raise Unreadable(f"there is no instruction at {address:#x}")
                step, following = _step(instruction), address + instruction.size
                surplus = int(instruction.operands[3:]) if _spares(instruction) else surplus
                depth += surplus if instruction.operands == "sp,sp,t1" else step.takes
                deepest = max(deepest, depth)
                if step.jumps is not None:
                    paths.append(
                        (
                            step.jumps,
                            depth,
                            following if _saves(instruction) else return_address,
                            surplus,
                        )
                    )
                if step.calls is not None:
                    depth_below, reached_below = self._walk(step.calls)
                    deepest = max(deepest, depth + depth_below)
                    callees |= reached_below
                if step.returns and return_address is not None:
                    paths.append((return_address, depth, None, 0))
                if step.goes_on:
                    paths.append((following, depth, return_address, surplus))
        finally:
            self._walking.discard(entry)
        self._stacks_and_reach[entry] = deepest, frozenset(callees)
        return self._stacks_and_reach[entry]


def read_image(tools: Toolchain, program: str) -> Image:
    """Return the image of a linked program."""
    instructions = {}
    for line in tools.tool("objdump", "-d", program).splitlines():
        if match := _LINE.match(line):
            address, code, word, operands = match.groups(default="")
            operands = operands.partition(" # ")[0].strip()
            target = _TARGET.search(operands)
            if not word.startswith("."):
                size = len(code.replace(" ", "")) // 2
                instructions[int(address, 16)] = Instruction(
                    size, word, operands, int(target[1], 16) if target else None
                )
    symbols = {}
    for line in tools.tool("nm", program).splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW":
            symbols[words[2]] = int(words[0], 16) & ~1
    return Image(instructions, symbols)


def register_words(operands: str, size: int = 4) -> int:
    """Return the number of words in a list of registers: '{r4, r5, lr}' 3, '{d8-d9}' 4."""
    inside = operands.partition("{")[2].partition("}")[0]
    count = 0
    for register_range in inside.split(","):
        first, _, last = register_range.strip().partition("-")
        words = 2 if first.startswith("d") else 1
        count += words * (int(last[1:]) - int(first[1:]) + 1 if last else 1)
    return count


def mnemonic(word: str) -> str:
    """Return a Thumb mnemonic without its width: 'b.w' is 'b'."""
    return word.removesuffix(".n").removesuffix(".w")


_CONDITIONS = "eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_BRANCH = re.compile(rf"b(?:{_CONDITIONS})")
_STACK = re.compile(
    rf"(push|vpush|stmdb|pop|vpop|ldmia|vldmia|vstmdb|addw?|subw?|strd?|ldrd?)(?:{_CONDITIONS})?"
)
_RISCV = ("jal", "j", "ret", "jr", "jalr")
_RISCV_FRAME = re.compile(r"(add|addi|c\.addi16sp) sp,sp,-?\d+")
_RISCV_BRANCH = re.compile(r"b(eq|ne|lt|ge|gt|le)u?z?")


def _saves(instruction: Instruction) -> bool:
    return instruction.word == "jal" and instruction.operands.startswith("t0,")


def _spares(instruction: Instruction) -> bool:
    return instruction.word == "li" and instruction.operands.startswith("t1,")


def _step(instruction: Instruction) -> Step:
    """Return the effect of one instruction of Thumb or RISC-V. Raises Unreadable for a computed
    address.
    """
    # One switch over the kinds of instructions: each case is a line or two, and their order
    # matters.
    word, operands, target = mnemonic(instruction.word), instruction.operands, instruction.target
    first = operands.split(",")[0].strip()
    if word in _RISCV or (_RISCV_BRANCH.fullmatch(word) and target is not None):
        return _riscv(instruction, word, first)
    if _RISCV_FRAME.fullmatch(f"{word} {operands}"):
        return Step(-int(operands.rpartition(",")[2]))
    if word in ("b", "cbz", "cbnz") or _BRANCH.fullmatch(word):
        return Step(jumps=target, goes_on=word != "b")
    if word == "bl":
        return Step(calls=target)
    if re.fullmatch(rf"bx({_CONDITIONS})?", word) and first == "lr":
        return Step(goes_on=word != "bx", returns=True)
    takes = _takes(word, operands)
    if re.search(r"\{[^}]*\bpc\b[^}]*\}", operands) or (
        word.startswith("ldr") and first == "pc" and "[sp]" in operands
    ):
        conditional = word not in ("pop", "ldmia", "ldr")
        return Step(0 if conditional else takes, goes_on=conditional, returns=True)
    changes_stack = (
        first == "sp"
        and not takes
        and not word.startswith(("cmp", "tst"))
        and operands != "sp,sp,t1"
    )
    if changes_stack or first == "pc" or word.startswith(("blx", "bx", "tb")):
        raise Unreadable(
            f"'{instruction.word} {operands}' has a target or a stack depth that only a run"
            " determines"
        )
    return Step(takes)


def _riscv(instruction: Instruction, word: str, first: str) -> Step:
    if word == "ret" or (word == "jr" and first in ("t0", "ra")):
        return Step(goes_on=False, returns=True)
    if word in ("jr", "jalr") or instruction.target is None:
        raise Unreadable(
            f"'{instruction.word} {instruction.operands}' has a target that only a run determines"
        )
    if word == "jal" and not _saves(instruction):
        return Step(calls=instruction.target)
    return Step(jumps=instruction.target, goes_on=word not in ("j", "jal"))


def _takes(word: str, operands: str) -> int:
    """Return the bytes by which a Thumb instruction moves the stack pointer down."""
    if not (match := _STACK.fullmatch(word)):
        return 0
    kind = match[1]
    if kind in ("push", "vpush"):
        return 4 * register_words(operands)
    if kind in ("pop", "vpop"):
        return -4 * register_words(operands)
    if operands.startswith("sp!"):
        return 4 * register_words(operands) * (1 if kind.endswith("db") else -1)
    if kind in ("add", "addw", "sub", "subw"):
        amount = re.fullmatch(r"sp, (?:sp, )?#(\d+)", operands)
        return 0 if amount is None else int(amount[1]) * (1 if kind.startswith("sub") else -1)
    match_of_offset = _STACK_SLOT.search(operands)
    return -int(match_of_offset[1] or match_of_offset[2]) if match_of_offset else 0
