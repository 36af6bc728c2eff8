"""Backends: a printer of functions, and wrappers of printed functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from symgen.emission.language import Language
from symgen.ir.loops import Form
from symgen.ir.program import Bound, Outline, Program
from symgen.support.errors import RequestError
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target


def unrolled(programs: Mapping[str, Form]) -> dict[str, Program]:
    """Return the functions for a text that holds the rows of all links; RequestError for a loop over links."""
    straight_lines = {function: form for function, form in programs.items() if not form.looped}
    if others := sorted(programs.keys() - straight_lines.keys()):
        raise RequestError(
            f"{others[0]} is a loop over links, which there is in C and by --wrap cpp17 and cuda alone; leave out other "
            "wrappers, or take the unrolled form"
        )
    return straight_lines


class Source(Protocol):
    """The text of one function; `floors` are certified bounds of divisors by row, for a checked one."""

    def __call__(
        self, program: Form, target: Target, floors: Mapping[int, Bound] | None = None
    ) -> str: ...


class Texts(Protocol):
    """Every file of functions by name, headers first.

    `replacements` are texts of functions that are not printed, `floors` those of `Source`; both are by function.
    """

    def __call__(
        self,
        programs: Mapping[str, Form],
        target: Target,
        replacements: Mapping[str, str] | None = None,
        floors: Mapping[str, Mapping[int, Bound]] | None = None,
    ) -> dict[str, str]: ...


class Definition(Protocol):
    """The facts of a function that `lowering.straight_line` takes; `floors` are those of `Source`."""

    def __call__(
        self, program: Program, target: Target, floors: Mapping[int, Bound] | None = None
    ) -> dict[str, Any]: ...


class Batches(Protocol):
    """The files of functions for many states, by name; `floors` are those of `Source`, by function."""

    def __call__(
        self,
        programs: Mapping[str, Form],
        target: Target,
        floors: Mapping[str, Mapping[int, Bound]] | None = None,
    ) -> dict[str, str]: ...


@dataclass(frozen=True)
class Printer:
    """A language that functions are printed in.

    - `name`: also the name of its folder of templates.
    - `texts`: all files of functions; `source`: the file of one.
    - `headers`: the files that the functions include, by name; `sincos`: the file with a sine and cosine.
    - `parameters`: the parameter of each argument and result of a Program; `calls`: the functions that it may call.
    - `definition`: the facts of a function for a language with the same statements.
    - `parts`: the parts of a long function, and the numbers that these share on the stack.
    - `batches`: the files of functions for many states, by name; `is_cut`: True if one of them is in parts.
    - `driver`: the facts of a function for many states for its caller; `lanes`: the states of a block in a real type.
    - `work`: the size of the workspace of a loop over links.
    - `apart`: True if results may not lie over arguments.
    - `unscheduled`: True if gcc's first scheduling makes the function slower.
    - `adjustable`: the files that set numbers which may change at run time, by name.
    - `assembling`: the files that close loops, header first; `assembly`: their facts for a caller.
    - `ulps`: the error of sines and cosines in units in the last place, by `TextOptions.trig`.
    - `farthest`: the largest angle (rad) for which the text's own sines are proved.
    - `statuses`: the results of a checked function, from 0 on, with their meaning.
    """

    name: str
    language: Language
    texts: Texts
    source: Source
    headers: Callable[[Mapping[str, Form], Target], dict[str, str]]
    sincos: Callable[[str, Target], str]
    parameters: Callable[[Form | Outline, Target], dict[str, str]]
    calls: Callable[[str, Target], dict[str, str]]
    definition: Definition
    parts: Callable[[Form, Target], tuple[int, int]]
    batches: Batches
    is_cut: Callable[[Form], bool]
    driver: Callable[[Form, Target], dict[str, Any]]
    lanes: Callable[[str], int]
    work: Callable[..., int]
    forbids_aliasing: Callable[[Form], bool]
    unscheduled: Callable[[Form], bool]
    adjustable: Callable[[Sequence[Any], Mapping[str, Program], Target], dict[str, str]]
    assembling: Callable[[Mapping[str, Form], Target], dict[str, str]]
    assembly: Callable[[Mapping[str, Form]], dict[str, Any]]
    ulps: Mapping[str, int]
    farthest: int
    statuses: Mapping[str, str]

    def literal(self, value: Fraction, real: str) -> str:
        """A number in a real type."""
        return self.language.literal(value, REALS[real])


@dataclass(frozen=True)
class Wrapper:
    """A language beside a printer's: its functions call the printer's, or its statements mean the same.

    `files` gives the texts of functions by name, for a target, with the floors of `Batches`. Headers are installed beside the printer's,
    C files make a shared library of their own, and `.cu` files are for CUDA's compiler. It takes loops over links where `loops` is True.
    """

    name: str
    files: Callable[..., dict[str, str]]
    loops: bool = False
