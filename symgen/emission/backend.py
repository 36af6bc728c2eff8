"""What a backend is: a printer of functions, or a wrapper of what a printer prints."""

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
    """The same, for texts that hold the rows of all links. RequestError where one is a loop over links."""
    found = {function: form for function, form in programs.items() if isinstance(form, Program)}
    if others := sorted(programs.keys() - found.keys()):
        raise RequestError(
            f"{others[0]} is a loop over links, which there is in C and by --wrap cpp17 and cuda alone; leave out other "
            "wrappers, or take the unrolled form"
        )
    return found


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

    `name` is also that of its folder of templates. `texts` are all files of functions, `source` is that of one. `headers` are
    the files that the functions include, by name; `sincos` is the text of that with a sine and cosine of one's own.
    `parameters` gives the parameter of each argument and result of a Program, `calls` the names of the functions that it may
    call, `definition` what a language with the same statements prints of a function, `parts` into how many it is cut, where it
    is long, and how many numbers these share on the stack. `batches` are the files of the functions for many states, by name,
    `is_cut` whether one of them is in parts, `driver` what a caller of one is told about it, `lanes` of how many states a block
    is, in a real type, `work` of how many numbers the array is that the caller of a loop over links provides, `apart` whether a
    function's results may not lie over its arguments, and `unscheduled` whether gcc's first scheduling makes it slower.
    `adjustable` gives the files that set the numbers which may change at run time, by name; `assembling` those that close
    loops, where the functions that they call are there, header first, and `assembly` what a caller is told of them. `ulps` says
    by `TextOptions.trig` how many units in the last place sines and cosines are taken to be off; `farthest` is the largest
    angle (rad) that one's own are proved for; `statuses` are what a checked function returns, from 0 on, with their meaning.
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
    apart: Callable[[Form], bool]
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
    """What stands beside the files of a printer, and adds no rows to theirs: a language whose functions call the printer's, or
    another one in which its statements mean the same. `files` gives the texts by name, of functions by name, for a target, with
    the floors of `Batches`: headers to be installed beside the printer's, C files, which make a shared library of their own, and
    `.cu` files, for CUDA's compiler. Functions that are loops over links are among them where it takes `loops`.
    """

    name: str
    files: Callable[..., dict[str, str]]
    loops: bool = False
