"""`Looped`: what a function is whose text has loops over links, told apart from a Program by those who take either."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from symgen.ir.program import COUNTED, Numbers, Outline, Port, Program
from symgen.vocabulary.arrays import USUAL, Convention


@dataclass(frozen=True, repr=False)
class Looped(ABC):
    """A Recursion (`symgen.ir.recursion.form`), or a Parted.

    `inputs` and `outputs` are the function's ports, without rows. `len` is the number of links.
    """

    function: str
    method: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    real: str = field(default="double", kw_only=True)
    convention: Convention = field(default=USUAL, kw_only=True)
    quaternions: tuple[int, ...] = field(default=(), kw_only=True)
    """Of each four elements of positions that are a unit quaternion, the first."""
    passed_over: tuple[tuple[str, str], ...] = field(default=(), compare=False, kw_only=True)
    rounds: int | None = field(default=None, compare=False, kw_only=True)
    """As of a Program: no loop is searched for fewer operations."""

    @property
    @abstractmethod
    def programs(self) -> tuple[Program, ...]:
        """The Programs that hold its rows."""

    @property
    @abstractmethod
    def constants(self) -> int:
        """Numbers in the tables of links."""

    @abstractmethod
    def __len__(self) -> int:
        """Links."""

    @property
    @abstractmethod
    def operations(self) -> dict[str, int]:
        """How many of each of `symgen.ir.program.COUNTED` a call takes."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """Operations (neg apart) on the longest chain of dependencies."""

    @property
    @abstractmethod
    def rows_in_all(self) -> int:
        """Rows that a call goes through."""

    @property
    def at_once(self) -> int:
        """How many links are gone through at the same time."""
        return 1

    @abstractmethod
    def run(self, arguments: Mapping[str, Sequence[Any]], numbers: Numbers) -> dict[str, list[Any]]:
        """Over any number type, as `symgen.ir.program.evaluate` runs rows."""

    @property
    def cost(self) -> int:
        """mul + add + div of a call."""
        ops = self.operations
        return ops["mul"] + ops["add"] + ops["div"]

    @property
    def steps(self) -> tuple[str, ...]:
        """The comments of all steps."""
        return tuple(dict.fromkeys(text for step in self.programs for text in step.steps))

    @property
    def outline(self) -> Outline:
        """What a caller needs to know of it."""
        return Outline(
            self.function,
            self.method,
            self.inputs,
            self.outputs,
            self.operations,
            self.rows_in_all,
            self.real,
            self.convention,
        )


@dataclass(frozen=True, repr=False)
class Parted(Looped):
    """A Segmented (`symgen.ir.segmented`) or a Levelled (`symgen.ir.levelled`): what goes through `segments` of one chain at the same
    time, by steps that are taken many times each.
    """

    segments: int = field(kw_only=True)

    @abstractmethod
    def times(self) -> Iterable[tuple[int, Program]]:
        """How often each step is taken."""

    @abstractmethod
    def by(self, change: Any) -> Self:
        """The same where `change` has been applied to every step."""

    @cached_property
    def operations(self) -> dict[str, int]:
        """How many of each of `symgen.ir.program.COUNTED` a call takes."""
        count = dict.fromkeys(COUNTED, 0)
        for times, step in self.times():
            for op, number in step.operations.items():
                count[op] = count.get(op, 0) + times * number
        return count

    @property
    def rows_in_all(self) -> int:
        """Rows that a call goes through."""
        return sum(times * len(step.rows) for times, step in self.times())

    @property
    def programs(self) -> tuple[Program, ...]:
        """The steps."""
        return tuple(step for _, step in self.times())

    @property
    def at_once(self) -> int:
        """How many links are gone through at the same time."""
        return self.segments

    def in_real(self, real: str) -> Self:
        """The same in another real type."""
        return replace(self.by(lambda step: replace(step, real=real)), real=real)

    def __repr__(self) -> str:
        return (
            f"<symgen.{type(self).__name__} {self.function} by {self.method}: {len(self)} links in {self.segments} segments, "
            f"{self.cost} operations, {self.real}>"
        )
