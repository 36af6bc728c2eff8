"""A linked program as its disassembly shows it: instructions by address, what a call can reach, and how deep its stack gets.

Nobody states the stack of precompiled code such as libm. It is found by walking every way through the instructions, from the
function's first one on, with the bytes that the stack pointer has moved by. Loops are walked once. A call adds the most that the
called function takes. Arm's Thumb and RISC-V are read.
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
_AT = re.compile(r"\[sp\], #(-?\d+)|\[sp, #(-\d+)\]!")


class Unreadable(BuildError):
    """A way through a program that its disassembly does not show: a computed jump, a call by address, a recursion."""


class Instruction(NamedTuple):
    """One instruction as objdump prints it; `target` is the address that it names, or None."""

    size: int
    word: str
    operands: str
    target: int | None


class Step(NamedTuple):
    """What an instruction does: the bytes of stack that it takes (negative: gives back), and where it may go to."""

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
    _known: dict[int, tuple[int, frozenset[int]]] = field(default_factory=dict)
    _walking: set[int] = field(default_factory=set)

    def depth(self, entry: int) -> int:
        """Bytes of stack that a call of the function at `entry` takes at most, with all that it calls. Raises Unreadable."""
        return self._walk(entry)[0]

    def reach(self, entries: Iterable[int], without: Iterable[int] = ()) -> frozenset[int]:
        """Addresses of the instructions that calls of `entries` can execute, without those that only the functions `without`
        reach.
        """
        known = dict(self._known)
        self._known = {entry: (0, frozenset()) for entry in without}
        try:
            return frozenset().union(*(self._walk(entry)[1] for entry in entries))
        finally:
            self._known = known

    def ranges(self, addresses: Iterable[int]) -> list[tuple[int, int]]:
        """[first, last) of the runs of instructions in `addresses`."""
        found: list[tuple[int, int]] = []
        for address in sorted(addresses):
            end = address + self.instructions[address].size
            if found and found[-1][1] == address:
                found[-1] = found[-1][0], end
            else:
                found.append((address, end))
        return found

    def _walk(self, entry: int) -> tuple[int, frozenset[int]]:
        """(bytes, addresses) of a function, with what it calls."""
        if entry in self._known:
            return self._known[entry]
        if entry in self._walking:
            raise Unreadable(f"the function at {entry:#x} calls itself")
        self._walking.add(entry)
        deepest, seen, reached = 0, set(), set()
        # A function that saves others' registers (RISC-V's __riscv_save) has its own return register. The way goes on at `back`.
        # The bytes that it took too much, `spare`, it gives back from a register as well.
        ways: list[tuple[int, int, int | None, int]] = [(entry, 0, None, 0)]
        try:
            while ways:
                way = ways.pop()
                if way in seen:
                    continue
                seen.add(way)
                address, taken, back, spare = way
                reached.add(address)
                instruction = self.instructions.get(address)
                if instruction is None:
                    raise Unreadable(f"there is no instruction at {address:#x}")
                step, following = _step(instruction), address + instruction.size
                spare = int(instruction.operands[3:]) if _spares(instruction) else spare
                taken += spare if instruction.operands == "sp,sp,t1" else step.takes
                deepest = max(deepest, taken)
                if step.jumps is not None:
                    ways.append(
                        (step.jumps, taken, following if _saves(instruction) else back, spare)
                    )
                if step.calls is not None:
                    below, others = self._walk(step.calls)
                    deepest = max(deepest, taken + below)
                    reached |= others
                if step.returns and back is not None:
                    ways.append((back, taken, None, 0))
                if step.goes_on:
                    ways.append((following, taken, back, spare))
        finally:
            self._walking.discard(entry)
        self._known[entry] = deepest, frozenset(reached)
        return self._known[entry]


def read(tools: Toolchain, program: str) -> Image:
    """The image of a linked program."""
    found = {}
    for line in tools.tool("objdump", "-d", program).splitlines():
        if match := _LINE.match(line):
            address, code, word, operands = match.groups(default="")
            operands = operands.partition(" # ")[0].strip()
            target = _TARGET.search(operands)
            if not word.startswith("."):
                size = len(code.replace(" ", "")) // 2
                found[int(address, 16)] = Instruction(
                    size, word, operands, int(target[1], 16) if target else None
                )
    symbols = {}
    for line in tools.tool("nm", program).splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW":
            symbols[words[2]] = int(words[0], 16) & ~1
    return Image(found, symbols)


def registers(operands: str, size: int = 4) -> int:
    """How many words a list of registers holds: '{r4, r5, lr}' 3, '{d8-d9}' 4."""
    inside = operands.partition("{")[2].partition("}")[0]
    count = 0
    for part in inside.split(","):
        first, _, last = part.strip().partition("-")
        words = 2 if first.startswith("d") else 1
        count += words * (int(last[1:]) - int(first[1:]) + 1 if last else 1)
    return count


def plain(word: str) -> str:
    """A Thumb mnemonic without its width: 'b.w' is 'b'."""
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
    """One instruction of Thumb or of RISC-V; Unreadable for what goes to an address that it computes."""
    # One switch over the kinds of instructions: each case is a line or two, and their order matters.
    word, operands, target = plain(instruction.word), instruction.operands, instruction.target
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
    moved = (
        first == "sp"
        and not takes
        and not word.startswith(("cmp", "tst"))
        and operands != "sp,sp,t1"
    )
    if moved or first == "pc" or word.startswith(("blx", "bx", "tb")):
        raise Unreadable(
            f"'{instruction.word} {operands}' goes to where, or leaves the stack as, only a run can tell"
        )
    return Step(takes)


def _riscv(instruction: Instruction, word: str, first: str) -> Step:
    if word == "ret" or (word == "jr" and first in ("t0", "ra")):
        return Step(goes_on=False, returns=True)
    if word in ("jr", "jalr") or instruction.target is None:
        raise Unreadable(
            f"'{instruction.word} {instruction.operands}' goes to where only a run can tell"
        )
    if word == "jal" and not _saves(instruction):
        return Step(calls=instruction.target)
    return Step(jumps=instruction.target, goes_on=word not in ("j", "jal"))


def _takes(word: str, operands: str) -> int:
    """Bytes by which a Thumb instruction moves the stack pointer down."""
    if not (match := _STACK.fullmatch(word)):
        return 0
    kind = match[1]
    if kind in ("push", "vpush"):
        return 4 * registers(operands)
    if kind in ("pop", "vpop"):
        return -4 * registers(operands)
    if operands.startswith("sp!"):
        return 4 * registers(operands) * (1 if kind.endswith("db") else -1)
    if kind in ("add", "addw", "sub", "subw"):
        amount = re.fullmatch(r"sp, (?:sp, )?#(\d+)", operands)
        return 0 if amount is None else int(amount[1]) * (1 if kind.startswith("sub") else -1)
    moved = _AT.search(operands)
    return -int(moved[1] or moved[2]) if moved else 0
