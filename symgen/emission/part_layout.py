"""The workspace of a chain in parts: where saved values, carries and the numbers of scans stand,
part by part.

Numbers of a part are those of one lane; where parts are lanes, as many parts as there are lanes are
a group, and stand element by element.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from symgen.ir.loops import SAVED, LoopProgram, ParallelScan, SequentialScan, Sweep
from symgen.ir.program import Port


def size_of(ports: Sequence[Port], name: str) -> int:
    """Return the size of a port; 0 where there is none of that name."""
    return next((port.size for port in ports if port.name == name), 0)


# -- sweeps along the parts ------------------------------------------------------------------------


class Carry(NamedTuple):
    """The first number of a sweep's carries in the caller's array, and the elements of a carry;
    there are two a part.
    """

    first: int
    size: int


class SweepLayout:
    """The caller's array: saved values of links, then carries of sweeps and saved values of scans,
    in the order of the stages.

    `group_size` is that of one lane of a group.
    """

    def __init__(self, form: LoopProgram) -> None:
        self.group_size = form.longest_part * form.work
        self.size = form.part_count * self.group_size
        self.carries: dict[int, Carry] = {}
        self.saved: dict[int, str] = {}
        """Address of the values that a part saves in a scan: its own, or that of the scan before
        it.
        """
        address = ""
        for s, stage in enumerate(form.stages):
            if isinstance(stage, Sweep):
                self.carries[s] = Carry(self.size, len(stage.initial))
                self.size += form.part_count * 2 * len(stage.initial)
            elif isinstance(stage, SequentialScan):
                size = size_of(stage.step.outputs, SAVED)
                address = f"{self.size} + {size}*segment" if size else address
                self.saved[s] = address
                self.size += form.part_count * size


# -- maps and parallel scans -----------------------------------------------------------------------


def level_rows(rows: int) -> list[int]:
    """Return the number of rows of each level, from the elements up."""
    counts = [rows]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // 2))
    return counts


def levels_over_parts(tree: ParallelScan, parts: int) -> list[tuple[int, int, int]]:
    """Return the first number, the rows and the numbers of a row of each level: upsweep value,
    downsweep value and saved values.
    """
    sizes = [tree.up_size + len(tree.initial)] + [
        tree.up_size + len(tree.initial) + tree.saved_size
    ] * parts
    rows = level_rows(parts)
    first_numbers = accumulate(
        (count * size for count, size in zip(rows, sizes, strict=False)), initial=0
    )
    return [*zip(first_numbers, rows, sizes, strict=False)]


class Places(NamedTuple):
    """Offsets of a scan in a group: upsweep values, downsweep values and values saved by pairs;
    `over` is the offset of the levels over the parts in the workspace.
    """

    upsweeps: int
    downsweeps: int
    saved: int
    over: int


class ScanLayout:
    """Layout of the workspace: each group has the rows of its elements and its scans, with two
    upsweep values a level.

    The levels over the parts come after all groups. `group_size` is the size of one lane of a
    group.
    """

    def __init__(self, form: LoopProgram) -> None:
        self.row_size, levels = (
            form.work + 2 * len(form.outputs),
            2 * len(level_rows(form.longest_part)),
        )
        self.group_size = form.longest_part * self.row_size
        firsts: list[tuple[int, int, int]] = []
        for tree in form.scans:
            downsweeps = self.group_size + levels * tree.up_size
            saved = downsweeps + levels * len(tree.initial)
            firsts.append((self.group_size, downsweeps, saved))
            self.group_size = saved + (form.longest_part - 1) * tree.saved_size
        self.size = form.part_count * self.group_size
        self.places: list[Places] = []
        for tree, first in zip(form.scans, firsts, strict=True):
            self.places.append(Places(*first, self.size))
            over_parts = levels_over_parts(tree, form.part_count)
            self.size += sum(rows * size for _, rows, size in over_parts)


def layout(form: LoopProgram) -> ScanLayout | SweepLayout:
    """Return the workspace of a chain in parts."""
    return ScanLayout(form) if form.maps else SweepLayout(form)
