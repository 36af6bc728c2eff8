"""Layout of the workspace of a chain in parts.

The workspace has saved values, carries and values of scans. The parts follow each other. If the
parts are the lanes of a vector, as many parts as lanes form a group; the workspace has element k of
all parts of a group, then element k + 1 of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from symgen.ir.loops import SAVED, LoopProgram, ParallelScan, SequentialScan, Sweep
from symgen.ir.program import Port


def size_of(ports: Sequence[Port], name: str) -> int:
    """Return the size of the port called `name`; 0 without such a port."""
    return next((port.size for port in ports if port.name == name), 0)


# -- sweeps along the parts ------------------------------------------------------------------------


class Carry(NamedTuple):
    """Index of a sweep's first carry in the workspace, and the elements of a carry.

    Each part has two carries.
    """

    first: int
    size: int


class SweepLayout:
    """Workspace of sweeps: saved values of links, then carries of sweeps and saved values of scans.

    Carries and values of scans have the order of the stages. `group_size` is the size of one lane
    of a group.
    """

    def __init__(self, form: LoopProgram) -> None:
        self.group_size = form.longest_part * form.work
        self.size = form.part_count * self.group_size
        self.carries: dict[int, Carry] = {}
        self.saved: dict[int, str] = {}
        """Index of the values that a part saves in a scan; a scan that saves none reads those of
        the scan before it.
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
    """Return the first index, the number of rows and the size of a row of each level.

    A row has an upsweep value, a downsweep value and, above the first level, saved values.
    """
    sizes = [tree.up_size + len(tree.initial)] + [
        tree.up_size + len(tree.initial) + tree.saved_size
    ] * parts
    rows = level_rows(parts)
    first_indices = accumulate(
        (count * size for count, size in zip(rows, sizes, strict=False)), initial=0
    )
    return [*zip(first_indices, rows, sizes, strict=False)]


class ScanOffsets(NamedTuple):
    """Offsets of a scan's values.

    Those of upsweep values, downsweep values and values `saved` by pairs count from the first
    element of a group. `over_parts`, the offset of the levels over the parts, counts from the first
    element of the workspace.
    """

    upsweeps: int
    downsweeps: int
    saved: int
    over_parts: int


class ScanLayout:
    """Workspace of maps and parallel scans.

    Each group has the rows of its elements, then the values of its scans: two upsweep values and
    two downsweep values for each level. The levels over the parts follow all groups. `group_size`
    is the size of one lane of a group.
    """

    def __init__(self, form: LoopProgram) -> None:
        self.row_size, levels = (
            form.work + 2 * len(form.outputs),
            2 * len(level_rows(form.longest_part)),
        )
        self.group_size = form.longest_part * self.row_size
        offsets_in_group: list[tuple[int, int, int]] = []
        for tree in form.scans:
            downsweeps = self.group_size + levels * tree.up_size
            saved = downsweeps + levels * len(tree.initial)
            offsets_in_group.append((self.group_size, downsweeps, saved))
            self.group_size = saved + (form.longest_part - 1) * tree.saved_size
        self.size = form.part_count * self.group_size
        self.offsets: list[ScanOffsets] = []
        for tree, in_group in zip(form.scans, offsets_in_group, strict=True):
            self.offsets.append(ScanOffsets(*in_group, self.size))
            levels_of_parts = levels_over_parts(tree, form.part_count)
            self.size += sum(rows * size for _, rows, size in levels_of_parts)


def layout(form: LoopProgram) -> ScanLayout | SweepLayout:
    """Return the layout of the workspace of a chain in parts."""
    return ScanLayout(form) if form.maps else SweepLayout(form)
