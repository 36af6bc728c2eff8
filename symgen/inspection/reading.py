"""One request answered: closed or recursive by size, as SymPy objects, with notes for the reader."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import sympy as sp

from symgen.inspection.at import Values
from symgen.inspection.catalogue import Choice, Result, choose, results
from symgen.inspection.entries import CHOSEN, Answer, answer, symbol_note
from symgen.inspection.equations import Equations, equations, size
from symgen.inspection.multiangle import ENTRIES, MOST, MultiAngle, multiangle
from symgen.inspection.printing import FORMATS, called, imports, listed, printed
from symgen.inspection.request import counted, joint, refuse_several, several
from symgen.inspection.sweeps import Loops, loops
from symgen.ir.loops import FRAMES, LoopProgram
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.build import build_form
from symgen.support.errors import MechanismError, RequestError
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import LOOPED, Links, ProgramOptions, Rows

FORMS = ("closed", "recursive", "multiangle", "looped")
UNASKED = ("M", "c", "g")
"""Entries whose multi-angle form is the default. That of tau has too many terms to be read."""
CLOSED_UP_TO = 600
"""Operations beyond which named equations are the default."""
CLOSED_AT_MOST = 500_000
"""Operations beyond which a closed form is refused: a page holds about a hundred."""


@dataclass(frozen=True)
class FormulaOptions:
    """Form of a formula, and which numbers it holds.

    `form` is one of FORMS; None: closed up to CLOSED_UP_TO operations. `at` are numbers for inputs, `keep` the kinds of parameters
    that stay symbols (see `parameters`). `frame` and `task_rows` as in `ProgramOptions`.
    """

    form: str | None = None
    _: KW_ONLY
    at: Values | None = None
    frame: Links = None
    keep: tuple[str, ...] = ()
    task_rows: Rows = None

    def __post_init__(self) -> None:
        if self.form is not None:
            nearest(self.form, FORMS, "form")


BY_SIZE = FormulaOptions()
"""The formula unless options say otherwise."""


@dataclass(frozen=True)
class Recursive:
    """Named equations down to the inputs, and what was asked for over them; `str` is text, a notebook shows LaTeX.

    `named`: (symbol, expression) in order. Links, rows and columns count from 0 in the symbols too (see `names`). `apart`:
    what tells the name of the answer from those of the list, where both stand for one letter.
    """

    label: str
    named: tuple[tuple[Any, Any], ...]
    value: Any
    apart: str = "result"

    def written(self, format: str) -> str:
        return listed(self.named, self.label, self.value, format, self.apart)

    def __str__(self) -> str:
        return self.written("text")

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.written('latex')}$"


@dataclass(frozen=True)
class Reading:
    """`value`: an expression, a Matrix, Recursive, Loops or a MultiAngle; `notes`: one sentence each."""

    value: Any
    notes: tuple[str, ...]

    def written(self, format: str, full: bool = False) -> str:
        if isinstance(self.value, MultiAngle):
            return self.value.text(format, full)
        return (
            self.value.written(format)
            if isinstance(self.value, Recursive | Loops)
            else printed(self.value, format)
        )


def read(
    mechanism: Mechanism,
    what: str,
    method: str | None = None,
    options: FormulaOptions = BY_SIZE,
) -> Reading:
    """Answer a request. A note says so where the form by size is not the closed one."""
    choice = choose(mechanism, what, method, options.task_rows)
    if options.form == "multiangle":
        return _multiangle(mechanism, choice, options)
    if options.form == "looped":
        return _looped(mechanism, choice, options, method is not None)
    if (
        options.form is None
        and not options.at
        and not options.keep
        and isinstance(choice.found, Result)
        and choice.words.indices is None
    ):
        try:
            return _in_rows(mechanism, choice, options)
        except (RequestError, MechanismError) as error:  # too many rows, or joints
            try:
                looped = _looped(mechanism, choice, options, method is not None)
            except RequestError:
                raise error from None
            return Reading(
                looped.value,
                (*looped.notes, f"these are loops over links, since rows are refused: {error}"),
            )
    return _in_rows(mechanism, choice, options)


def _looped(
    mechanism: Mechanism, choice: Choice, options: FormulaOptions, explicit: bool
) -> Reading:
    """Return a whole result as loops over links. RequestError for a method's letter where the method is `explicit`."""
    words = choice.words
    found, method = choice.found, choice.method
    if not isinstance(found, Result):
        if explicit or words.letter not in results():
            raise RequestError(
                f"loops over links compute results, and {words.letter} is a letter of {method}; name a result, "
                "such as tau"
            )
        found, method = results()[words.letter], None  # the result of that name
    if words.indices is not None:
        raise RequestError(
            f"loops over links compute the whole of {words.letter}, so leave out [...]"
        )
    for option, value in (("at", options.at), ("symbols", options.keep)):
        if value:
            raise RequestError(
                f"loops over links are the same at every pose and for all links, so --{option} does not apply; "
                "take --form recursive"
            )
    form = build_form(
        mechanism, found.function, method, ProgramOptions(frame=options.frame, form=LOOPED)
    )
    if not isinstance(form, LoopProgram) or form.part_count:
        raise RequestError(
            f"{form.method} goes along no links one by one; take --method {form.method.split(':')[0]}"
        )
    columns = tuple(
        f"{name}0, {name}1, ... are the columns of a link's joint, row by row; what no sweep comes to is zero"
        for name, _ in form.columns
    )
    notes = (
        f"{form.function} by {form.method}, for each of the {len(form)} links; F_p is its parent's F, F_c the sum of its "
        "children's; names are the C's of one link, places in a block count from 1",
        *columns,
        FRAMES,
    )
    return Reading(loops(form, found.array.name), notes)


def _in_rows(mechanism: Mechanism, choice: Choice, options: FormulaOptions) -> Reading:
    """Return the formulas of rows of a Program: closed ones, or named equations."""
    form, at = options.form, options.at
    found = answer(mechanism, choice, options.frame, options.keep, options.task_rows)
    many, notes = size(found.program, found.rows, at), list(found.notes)
    if form == "closed" and many > CLOSED_AT_MOST:
        raise RequestError(
            f"the closed form of {found.label} has {many} operations, more than anybody reads; take the recursive "
            "form, one entry of it, or a pose with --at"
        )
    if form is None and many > CLOSED_UP_TO:
        notes.append(
            f"{found.label} has {many} operations in closed form, so these are its named equations; --form closed "
            "substitutes them back"
        )
    named = form == "recursive" or (form is None and many > CLOSED_UP_TO)
    made = equations(found.program, found.rows, at, named, found.symbols)
    value = _shaped(found, made.entries)
    if not named:
        return Reading(value, tuple(notes))
    of_function = isinstance(choice.found, Result)
    notes += _numbering(made, f"; they stand {CHOSEN}" if of_function else "", several(mechanism))
    return Reading(
        Recursive(found.label, made.named, value, "result" if of_function else "declared"),
        tuple(notes),
    )


def _numbering(made: Equations, frames: str, velocities: bool) -> list[str]:
    """How names in equations count, by an example."""
    pairs = [(str(symbol), name) for (symbol, _), name in zip(made.named, made.in_c, strict=True)]
    if not pairs:
        return []
    here, there = max(pairs, key=lambda pair: (not pair[1].startswith("neg_"), pair[0].count("_")))
    counted = "links, velocities, rows and columns" if velocities else "links, rows and columns"
    return [
        f"names in equations count {counted} from 0, as q0 does; the C counts them from 1: {here} is {there} there{frames}"
    ]


def _multiangle(mechanism: Mechanism, choice: Choice, options: FormulaOptions) -> Reading:
    """One entry of M, c, g or tau in its canonical form."""
    letter, where = choice.words.letter, choice.words.indices
    if not entry_of(choice):
        raise RequestError(
            f"'{choice.words.what}' has no multi-angle form; one entry of {', '.join(ENTRIES)} has, "
            "such as M[0,0]"
        )
    if options.at:
        raise RequestError(
            "a multi-angle form is one for every pose, so --at does not apply; take --form closed"
        )
    assert where is not None
    refuse_several(mechanism, "a multi-angle form", "take --form recursive or --form closed")
    counted(choice.words, where, ENTRIES[letter][1])
    indices = [joint(mechanism, text) for text in where]
    notes = (symbol_note(options.keep, CHOSEN),) if options.keep else ()
    return Reading(multiangle(mechanism, letter, indices, options.keep, choice.method), notes)


def entry_of(choice: Choice) -> bool:
    """True if a request is for one entry of M, c, g or tau."""
    words = choice.words
    return (
        isinstance(choice.found, Result)
        and words.letter in ENTRIES
        and words.indices is not None
        and words.place is None
    )


def _shaped(found: Answer, entries: tuple[Any, ...]) -> Any:
    return sp.Matrix(*found.shape, list(entries)) if found.shape else entries[0]


def render(
    mechanism: Mechanism,
    what: str,
    method: str | None = None,
    format: str = "text",
    options: FormulaOptions = BY_SIZE,
    full: bool = False,
) -> tuple[str, tuple[str, ...]]:
    """Return what `symgen inspect` prints, and its notes.

    An entry of M, c or g is a multi-angle form unless a form, a method or a pose is named.
    """
    nearest(format, FORMATS, "format")
    choice = choose(mechanism, what, method, options.task_rows)
    multiple = entry_of(choice) and choice.words.letter in UNASKED and not several(mechanism)
    if options.form is None and method is None and not options.at and multiple:
        options = FormulaOptions("multiangle", keep=options.keep)
        try:
            found = read(mechanism, what, None, options)
        except RequestError as error:  # too many terms: the named equations are there all the same
            found = read(mechanism, what, None, replace(options, form="recursive"))
            found = Reading(found.value, (*found.notes, str(error)))
        else:
            if not full and found.value.is_long:
                note = (
                    f"the {MOST} largest terms of the multi-angle form, the sum of the others as …; --full prints all, "
                    "--form recursive the C's equations"
                )
                found = Reading(found.value, (*found.notes, note))
    else:
        found = read(mechanism, what, method, options)
    text = found.written(format, full)
    return text, (*found.notes, *_wanted(found.value, text, format))


def _wanted(value: Any, text: str, format: str) -> list[str]:
    """What a formula in Python or C needs from its surroundings. Named equations in Python import it themselves."""
    names = called(text) if format in ("python", "c") else []
    if not names or (format == "python" and isinstance(value, Recursive)):
        return []
    return [f"this takes: {'#include <math.h>' if format == 'c' else imports(text)[0]}"]
