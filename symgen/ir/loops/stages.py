"""Link classes and stages of a loop program: sweeps along the links, maps, sequential scans and
parallel scans.

Every step of a stage is a Program. The names of its ports say what a step reads and writes:

    CONSTANTS      the constants of the link
    SAVED          the link's row of the workspace; a step reads all of it and writes a part of it.
                   In a scan: the numbers that are saved for one part, or for one pair of elements
    CARRY          the value that is passed from link to link, or in a sequential scan from part to
                   part
    INITIAL_CARRY  the carry that a later sweep begins with
    FINAL_CARRY    the carry of the last link of a sweep; an epilogue reads several of them in one
                   argument
    UPSWEEP        the value of an element, or of a pair of elements, on the way up
    DOWNSWEEP      the value of an element, or of a pair of elements, on the way down
    LEFT, RIGHT    the values of the two elements of a pair
    CHECKED        numbers that a checked function compares with a bound

A step may have SAVED and CARRY among its arguments and among its results. In C the results are
named by RESULT_NAMES (`symgen.ir.loops.steps`).

Any other port is an argument or a result of the whole function; a step has those elements that
belong to its link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from symgen.ir.program import Port, Program

CONSTANTS, SAVED, CARRY, CHECKED = "table", "saved", "carry", "guard"
INITIAL_CARRY, FINAL_CARRY = "initial_carry", "final_carry"
UPSWEEP, DOWNSWEEP, LEFT, RIGHT = "upsweep", "downsweep", "left", "right"
GIVEN_BY_STEPS = frozenset(
    (SAVED, CARRY, FINAL_CARRY, INITIAL_CARRY, UPSWEEP, DOWNSWEEP, LEFT, RIGHT)
)
"""Ports of arguments that other steps give; all other arguments are constants, or arguments of the
function.
"""
BEFORE = "_before"
"""Suffix of a port of a map: the element of the joint before."""
COMBINE = ("add", "mul")
"""Operations that combine the carries of several children."""

Change = Callable[[Program], Program]
"""Rewrites one step, as a pass of `symgen.ir.passes` does."""


class LinkClass(NamedTuple):
    """Links with the same steps: how many positions, velocities and constants each of them has.

    `columns` name the constants; " = " joins several names of one constant.
    """

    name: str
    nq: int
    nv: int
    width: int
    columns: tuple[str, ...] = ()


class FinalCarry(NamedTuple):
    """A result, or FINAL_CARRY for the epilogue: elements of the carry of `link` in sweep number
    `sweep`.

    Link -1 stands for the combined carries of all roots.
    """

    name: str
    sweep: int
    elements: tuple[int, ...]
    link: int = -1


@dataclass(frozen=True)
class Sweep:
    """One pass along the links, `inward` from the tips or outward from the base, with one step a
    link class.

    The first links receive `initial`. `combine` names for each element of the carry the operation
    of COMBINE for several children; it is empty where no link has several. A step writes SAVED from
    `saved_at` of its class on. A sweep with `only_path_to` visits the links between the base and
    that link alone.

    Along a chain the first link may have a step of its own, `base_step`: outward it needs no CARRY,
    since the initial carry is known, and inward it may leave CARRY out, since no link receives it.
    """

    inward: bool
    steps: tuple[Program, ...]
    initial: tuple[Fraction, ...]
    combine: tuple[str, ...]
    saved_at: tuple[int, ...]
    only_path_to: int = -1
    base_step: Program | None = None

    @property
    def programs(self) -> tuple[Program, ...]:
        """Steps of the stage."""
        return (*self.steps, self.base_step) if self.base_step else self.steps

    def by(self, change: Change) -> Sweep:
        """Return the stage with every step changed."""
        base_step = self.base_step and change(self.base_step)
        return replace(self, steps=tuple(map(change, self.steps)), base_step=base_step)

    def step_of(self, link: int, link_class: int) -> Program:
        """Return the step of a link of that class."""
        return self.base_step if self.base_step and not link else self.steps[link_class]


@dataclass(frozen=True)
class Map:
    """One step for each element of a chain by itself, with one step a link class.

    Element i stands between link i - 1 and link i: it has the constants of row i, the arguments of
    joint i, and with the suffix BEFORE those of joint i - 1. A result of a joint is the sum of the
    results of its two elements.
    """

    steps: tuple[Program, ...]
    saved_at: tuple[int, ...]

    @property
    def programs(self) -> tuple[Program, ...]:
        """Steps of the stage."""
        return self.steps

    def by(self, change: Change) -> Map:
        """Return the stage with every step changed."""
        return replace(self, steps=tuple(map(change, self.steps)))


@dataclass(frozen=True)
class SequentialScan:
    """A pass across the parts of a chain, one part after the other; `opening` is the step of the
    first part.

    A step reads the final carries of sweep number `takes`, and gives the initial carries of sweep
    number `gives` (-1: of none).
    """

    inward: bool
    opening: Program
    step: Program
    takes: int
    gives: int

    @property
    def programs(self) -> tuple[Program, ...]:
        """Steps of the stage."""
        return self.opening, self.step

    def by(self, change: Change) -> SequentialScan:
        """Return the stage with every step changed."""
        return replace(self, opening=change(self.opening), step=change(self.step))


@dataclass(frozen=True)
class ParallelScan:
    """A pass over pairs of elements: upward every pair becomes one element, downward the values
    return (Blelloch).

    `initial` is the DOWNSWEEP value of all elements together. Only the first `valid` numbers of the
    last element's UPSWEEP value and the first `last_valid` of its DOWNSWEEP value are used, since
    that element has no joint behind it; the others are zero.
    """

    up: Program
    down: Program
    initial: tuple[Fraction, ...]
    valid: int
    last_valid: int

    @property
    def programs(self) -> tuple[Program, ...]:
        """Steps of the stage."""
        return self.up, self.down

    def by(self, change: Change) -> ParallelScan:
        """Return the stage with every step changed."""
        return replace(self, up=change(self.up), down=change(self.down))

    @property
    def up_size(self) -> int:
        """Numbers of an UPSWEEP value."""
        return port_size(self.up.outputs, UPSWEEP)

    @property
    def saved_size(self) -> int:
        """Numbers that are saved for each pair."""
        return port_size(self.up.outputs, SAVED)


Stage = Sweep | Map | SequentialScan | ParallelScan


def port_size(ports: tuple[Port, ...], name: str) -> int:
    """Return the size of the port of that name, 0 without one."""
    return next((port.size for port in ports if port.name == name), 0)
