"""Interfaces of the output languages: `Printer` and `Wrapper`.

A `Printer` prints functions, and a `Wrapper` adds another language. There is one printer, for C
(`symgen.emission.backends.c99`), and there are wrappers for C++, CUDA and CasADi. A function is a
`Program` with the rows of all links, or a `LoopProgram` with loops over links; `Form` is either of
them. A row is one operation of a function.
"""

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
    """Return `programs` unchanged if all of them are unrolled, for a text that cannot contain
    loops.

    Raises RequestError if one of them is a loop over links.
    """
    unrolled_programs = {function: form for function, form in programs.items() if not form.looped}
    if looped_names := sorted(programs.keys() - unrolled_programs.keys()):
        raise RequestError(
            f"{looped_names[0]} is a loop over links, which only C and --wrap cpp17 and cuda"
            " support; leave out other wrappers, or take the unrolled form"
        )
    return unrolled_programs


class Source(Protocol):
    """Prints the text of one function.

    `divisor_bounds` maps the row of each divisor to its certified lower bound. Only a checked
    function, which compares its divisors with these bounds, has `divisor_bounds`.
    """

    def __call__(
        self, program: Form, target: Target, divisor_bounds: Mapping[int, Bound] | None = None
    ) -> str: ...


class Texts(Protocol):
    """Prints all files of several functions: texts by file name, headers first.

    `programs`, `replacements` and `divisor_bounds` have the name of a function as the key. A
    function in `replacements` is not printed; the text in `replacements` is used instead.
    `divisor_bounds` holds for each function the bounds that `Source` takes.
    """

    def __call__(
        self,
        programs: Mapping[str, Form],
        target: Target,
        replacements: Mapping[str, str] | None = None,
        divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None,
    ) -> dict[str, str]: ...


class Definition(Protocol):
    """Collects the facts of one function that `symgen.emission.lowering.straight_line` prints.

    `divisor_bounds` are the bounds that `Source` takes.
    """

    def __call__(
        self, program: Program, target: Target, divisor_bounds: Mapping[int, Bound] | None = None
    ) -> dict[str, Any]: ...


class Batches(Protocol):
    """Prints the files of functions that evaluate many states in one call: texts by file name.

    `divisor_bounds` holds for each function the bounds that `Source` takes.
    """

    def __call__(
        self,
        programs: Mapping[str, Form],
        target: Target,
        divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None,
    ) -> dict[str, str]: ...


@dataclass(frozen=True)
class Printer:
    """A language in which symgen prints functions.

    Files are dictionaries from file name to text. A batch function is the variant of a function
    that evaluates many states in one call, in blocks of states that use the lanes of a SIMD unit.

    - `name`: name of the language, and of its folder of templates.
    - `language`: spelling of numbers and operations.
    - `texts`: all files of several functions. `source`: the text of the file of one function.
    - `headers`: files that the functions include. `sincos`: text of the file that defines the
      printer's own sine and cosine, for one real type.
    - `parameters`: name in the text of every argument and result of a function. `calls`:
      mathematical functions that the text may call, by operation.
    - `definition`: facts of a function for a wrapper whose language has the same statements.
    - `parts`: number of pieces into which a long function is split, and how many numbers these
      pieces share on the stack; (0, 0) for a function in one piece.
    - `batches`: files of the batch functions. `is_cut`: True if the batch function is split.
    - `driver`: facts that a caller of a batch function needs. `lanes`: number of states in a block,
      for one real type.
    - `work`: how many numbers the caller provides as workspace; 0 for an unrolled function.
    - `forbids_aliasing`: True if results may not overlap arguments.
    - `unscheduled`: True if gcc's first instruction scheduling makes the function slower.
    - `adjustable`: files that set the parameters which may change at run time.
    - `assembling`: files that assemble closed kinematic loops, header first. `assembly`: facts that
      a caller of the assembly needs.
    - `ulps`: error bound of sines and cosines in units in the last place, by `TextOptions.trig`.
    - `farthest`: largest angle (rad) for which the error of the printer's own sines is proved.
    - `statuses`: meaning of every status that a checked function returns, in the order 0, 1, …
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
        """Return a number as a literal of the language in a real type (a name in REALS)."""
        return self.language.literal(value, REALS[real])


@dataclass(frozen=True)
class Wrapper:
    """A second output language, beside the language of the printer.

    The functions of a wrapper call the printed functions, or repeat their statements.

    - `name`: name of the wrapper in `--wrap`.
    - `files`: returns the texts of the wrapper's files by file name. It takes the functions, the
      target and the `divisor_bounds` of `Batches`. Header files are installed beside the printer's
      headers, and C files become a separate shared library. CUDA's compiler compiles `.cu` files.
    - `loops`: True if the wrapper accepts functions with loops over links.
    """

    name: str
    files: Callable[..., dict[str, str]]
    loops: bool = False
