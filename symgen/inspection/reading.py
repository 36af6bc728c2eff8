"""Answer to a request: closed or recursive by size, as SymPy objects, with notes for the reader."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from typing import Any

import sympy as sp

from symgen.derivation import constants as k
from symgen.inspection.at import Values
from symgen.inspection.canonical import (
    PATIENT,
    PATIENT_QUOTIENTS,
    QUICK,
    Canonical,
    Names,
    Quotient,
    TooLong,
    canonical,
    has_division,
)
from symgen.inspection.catalogue import Choice, PaperQuantity, Result, choose, results
from symgen.inspection.coordinates import angle_indices, coordinate_notes, quaternion_indices
from symgen.inspection.entries import (
    CHOSEN,
    Answer,
    answer,
    declared_model,
    quantity_answer,
    result_answer,
    symbol_note,
)
from symgen.inspection.equations import Equations, closed_form_size, equations
from symgen.inspection.general.formulas import Affine
from symgen.inspection.general.request import (
    General,
    chain_of,
    general,
    is_general,
    parse_general,
    with_proof,
)
from symgen.inspection.general.steps import (
    LETTERS_WITH_STEPS,
    SAMPLED,
    Steps,
    rule_of,
    steps,
)
from symgen.inspection.irrational import (
    canonical_with_stand_ins,
    exact_forms,
    has_exact_forms,
    layout_of_stand_in,
)
from symgen.inspection.legend import legend
from symgen.inspection.multiangle import (
    ENTRIES,
    MOST,
    MultiAngle,
    constants_are_exact,
    multiangle,
)
from symgen.inspection.paper_letters import check_form, paper_letter
from symgen.inspection.parameters import derive_symbolic
from symgen.inspection.printing import (
    FORMATS,
    import_lines,
    math_names,
    print_equations,
    print_expression,
)
from symgen.inspection.request import (
    Words,
    check_index_count,
    has_several_coordinates,
    parse_joint,
    parse_request,
)
from symgen.inspection.stand_ins import ExactLinkage, decimal_angles
from symgen.inspection.sweeps import Loops, loops
from symgen.ir.loops import FRAMES
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.quantities import Quantity
from symgen.pipeline.build import Progress, build_form
from symgen.pipeline.derive import models
from symgen.support.errors import MechanismError, RequestError, UnknownName
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import LOOPED, Links, ProgramOptions, Rows

FORMS = ("closed", "recursive", "multiangle", "looped")
CODE = ("python", "c")
"""Formats whose text is run, so that no term may be left out."""
MULTIANGLE_BY_DEFAULT = ("M", "c", "g")
"""Letters whose entries are shown in multi-angle form by default. That of tau has too many terms to
be read.
"""
CANONICAL_RESULTS = ("Minv", "det", "Lambda_inv")
"""Results that are shown in canonical form by default, as a method's letters are."""
CLOSED_UP_TO = 600
"""Most operations of a closed form that is shown by default."""
CLOSED_AT_MOST = 500_000
"""Most operations of a closed form: a page holds about a hundred."""
NEIGHBOUR_NOTE = (
    "decimal angles of the description are replaced by angles within 1e-78 rad whose cosines and"
    " sines are rational; coefficients agree with those of the robot to 55 digits, and a factor"
    " that cancels at the declared angles only remains"
)


@dataclass(frozen=True)
class FormulaOptions:
    """Form of a formula, and the numbers in it.

    `form` is one of FORMS; None means closed up to `closed_up_to` operations, and named equations
    beyond. `at` are numbers for inputs, `keep` the kinds of parameters that stay symbols (see
    `parameters`). `frame` and `task_rows` are as in `ProgramOptions`.
    """

    form: str | None = None
    _: KW_ONLY
    at: Values | None = None
    frame: Links = None
    keep: tuple[str, ...] = ()
    task_rows: Rows = None
    closed_up_to: int = CLOSED_UP_TO

    def __post_init__(self) -> None:
        if self.form is not None:
            nearest(self.form, FORMS, "form")


BY_SIZE = FormulaOptions()
"""Default options: the form is chosen by size."""
_COORDINATE = re.compile(r"q\d+")


@dataclass(frozen=True)
class Recursive:
    """Named equations down to the inputs, and the requested value in terms of them; `str` is text,
    a notebook shows LaTeX.

    `named`: (symbol, expression) in order. Links, rows and columns count from 0 in the symbols too
    (see `names`). `apart` is the suffix of the result's name if a named equation has the same
    letter. `headings` are the steps that the named equations belong to, printed where they change.
    The meanings of the names are printed before them (`legend`).
    """

    label: str
    named: tuple[tuple[Any, Any], ...]
    value: Any
    apart: str = "result"
    headings: tuple[str, ...] = ()

    def written(self, format: str) -> str:
        return print_equations(
            self.named,
            self.label,
            self.value,
            format,
            self.apart,
            self.headings,
            legend(self.named, self.headings),
        )

    def __str__(self) -> str:
        return self.written("text")

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.written('latex')}$"


@dataclass(frozen=True)
class Reading:
    """`value`: an expression, a Matrix, Recursive, Loops, General, Steps, a MultiAngle or a
    Canonical; `notes`: one sentence each.
    """

    value: Any
    notes: tuple[str, ...]

    def written(self, format: str, full: bool = False) -> str:
        if isinstance(self.value, MultiAngle | Canonical):
            return self.value.text(format, full)
        if isinstance(self.value, Steps):
            return self.value.text(format, full)
        if isinstance(self.value, General):
            return self.value.text(format)
        return (
            self.value.written(format)
            if isinstance(self.value, Recursive | Loops)
            else print_expression(self.value, format)
        )


def read(
    mechanism: Mechanism,
    what: str,
    method: str | None = None,
    options: FormulaOptions = BY_SIZE,
    progress: Progress | None = None,
) -> Reading:
    """Answer a request. A note explains a form that was chosen by size.

    `progress(what, done, total)` is called at each step of a request for all links of a chain.
    """
    words = parse_request(what)
    if words is not None and (indices := parse_general(mechanism, words)) is not None:
        return _general(mechanism, words, indices, method, options, progress)
    choice = choose(mechanism, what, method, options.task_rows)
    if isinstance(choice.target, PaperQuantity):
        check_form(choice.target.name, options.form, bool(options.at), bool(options.keep))
        value, notes = paper_letter(mechanism, choice.target.paper, choice.words)
        return Reading(value, (*choice.notes, *notes))
    if options.form == "multiangle":
        if entry_of(choice) and not has_several_coordinates(mechanism):
            return _multiangle(mechanism, choice, options)
        return _canonical(mechanism, choice, options)
    if options.form == "looped":
        return _looped(mechanism, choice, options, method is not None)
    if options.form is not None or options.at:
        return _in_rows(mechanism, choice, options)
    note = ""
    if not isinstance(choice.target, Result) or choice.words.letter in CANONICAL_RESULTS:
        try:
            return _canonical(mechanism, choice, options)
        except TooLong as error:
            note = str(error)
    reading = _in_rows_or_looped(mechanism, choice, options, method is not None)
    return Reading(reading.value, (*reading.notes, note)) if note else reading


def _in_rows_or_looped(
    mechanism: Mechanism, choice: Choice, options: FormulaOptions, explicit: bool
) -> Reading:
    """Return formulas of a Program's rows; if a whole result is refused, its loops over links."""
    try:
        return _in_rows(mechanism, choice, options)
    except (RequestError, MechanismError) as error:  # too many rows, or joints
        if not isinstance(choice.target, Result):
            raise
        try:
            looped = _looped(mechanism, choice, options, explicit)
        except RequestError:
            raise error from None
        return Reading(
            looped.value,
            (
                *looped.notes,
                f"shown as loops over links, because the unrolled form is refused: {error}",
            ),
        )


def _canonical(
    mechanism: Mechanism, choice: Choice, options: FormulaOptions, is_search: bool = False
) -> Reading:
    """Return a quantity in its canonical form.

    A search over chains (`is_search`) takes short forms only. Raises TooLong if there is none, and
    RequestError for numbers in place of inputs.
    """
    if options.at:
        raise RequestError(
            "a multi-angle form holds for every pose, so --at does not apply; use --form closed"
        )
    entries = answer(mechanism, choice, options.frame, options.keep, options.task_rows)
    program = entries.program
    with k.precision():
        exact = constants_are_exact(
            models(mechanism)[0] if isinstance(choice.target, Result) else declared_model(mechanism)
        )
    ports = [port for port, argument in enumerate(program.inputs) if argument.name == "q"]
    angles = {(port, element): element for port in ports for element in angle_indices(mechanism)}
    quaternions = tuple(
        tuple((port, element) for element in entries)
        for port in ports
        for entries in quaternion_indices(mechanism)
    )

    def symbol(argument: tuple[int, int]) -> str:
        name = program.inputs[argument[0]].name
        return entries.symbols.get((name, argument[1]), f"{name}{argument[1]}")

    names = Names(angles, symbol, mechanism.nq, entries.label, quaternions)
    divides = has_division(program, entries.rows)
    patient = PATIENT_QUOTIENTS if divides else PATIENT
    most_products = QUICK if options.form is None else patient

    def derive(robot: Mechanism) -> tuple[Program, Sequence[int]]:
        derived = answer_of_stand_in(mechanism, choice, robot, options)
        return derived.program, derived.rows

    forms = None
    if divides and not exact:
        forms = canonical_with_stand_ins(mechanism, derive, names, most_products)
    elif not exact and isinstance(choice.target, Quantity) and has_exact_forms(mechanism):
        with suppress(TooLong):
            forms = canonical_with_stand_ins(mechanism, derive, names, most_products)
    if exact and not is_search:
        forms = exact_forms(program, entries.rows, names, most_products)
    elif forms is None:
        forms = canonical(program, entries.rows, names, exact, most_products)
    value = Canonical(entries.label, entries.shape, tuple(forms))
    notes = [*entries.notes, *coordinate_notes(mechanism, value.coordinates)]
    if not exact and decimal_angles(mechanism) and any(isinstance(x, Quotient) for x in forms):
        notes.append(NEIGHBOUR_NOTE)
    return Reading(value, tuple(notes))


def answer_of_stand_in(
    mechanism: Mechanism,
    choice: Choice,
    robot: Mechanism,
    options: FormulaOptions = BY_SIZE,
) -> Answer:
    """Return the answer of a choice for a robot with rational constants in place of those of a
    mechanism.

    TooLong for a quantity of closed loops, whose constants have no stand-ins.
    """
    of_loops = (
        choice.target.of_loops
        if isinstance(choice.target, Quantity)
        else choice.words.letter not in CANONICAL_RESULTS
    )
    if mechanism.loops and of_loops:
        raise TooLong(
            f"{choice.words.letter} has no canonical form: it has a division, and constants of the "
            "closed loops of the robot are irrational"
        )
    if isinstance(choice.target, Result):
        derived, _ = derive_symbolic(
            mechanism,
            choice.target.function,
            options.keep,
            choice.method,
            options.frame,
            options.task_rows,
            (robot, declared_model(robot)),
            ExactLinkage,
        )
        derivation = ProgramOptions(frame=options.frame, task_rows=options.task_rows)
        return result_answer(mechanism, choice, choice.target, derived, derivation)
    assert isinstance(choice.target, Quantity)
    assert choice.method is not None
    blocks = layout_of_stand_in(robot, choice.method, choice.words.letter, options.keep)
    return quantity_answer(mechanism, choice, choice.target, blocks)


def _looped(
    mechanism: Mechanism, choice: Choice, options: FormulaOptions, explicit: bool
) -> Reading:
    """Return a full result as loops over links.

    RequestError for a method's letter if the method is `explicit`.
    """
    words = choice.words
    result, method = choice.target, choice.method
    if not isinstance(result, Result):
        if explicit or words.letter not in results():
            raise RequestError(
                f"--form looped shows results of functions, and {words.letter} "
                f"is a quantity of {method}; name a result, such as tau"
            )
        result, method = results()[words.letter], None  # the result with the same name
    if words.indices is not None:
        raise RequestError(f"--form looped shows the whole of {words.letter}; leave out [...]")
    for option, value in (("at", options.at), ("symbols", options.keep)):
        if value:
            raise RequestError(
                "the equations of --form looped hold for every pose and all "
                f"links, so --{option} does not apply; use --form recursive"
            )
    form = build_form(
        mechanism, result.function, method, ProgramOptions(frame=options.frame, form=LOOPED)
    )
    if not form.looped or form.part_count:
        raise RequestError(
            f"{form.method} has no step per link that could be shown; use --method"
            f" {form.method.split(':')[0]}"
        )
    columns = tuple(
        f"{name}0, {name}1, ... are the columns of the link's joint, row by row; columns outside"
        " the sweep are zero"
        for name, _ in form.columns
    )
    notes = (
        (
            f"{form.function} by {form.method}, for each of the {len(form)} links; F_p is the F of"
            " the parent, F_c the sum of the F of the children; names are those of one link in the"
            " C, and entries of a block count from 1"
        ),
        *columns,
        FRAMES,
    )
    return Reading(loops(form, result.array.name), notes)


def _in_rows(mechanism: Mechanism, choice: Choice, options: FormulaOptions) -> Reading:
    """Return the formulas of a Program's rows: closed ones, or named equations."""
    form, at = options.form, options.at
    entries = answer(mechanism, choice, options.frame, options.keep, options.task_rows)
    operations, notes = closed_form_size(entries.program, entries.rows, at), list(entries.notes)
    if form == "closed" and operations > CLOSED_AT_MOST:
        raise RequestError(
            f"the closed form of {entries.label} has {_count(operations)} operations, too many to"
            " read; use the recursive form, one entry of it, or a pose with --at"
        )
    by_size = form is None and operations > options.closed_up_to
    if by_size:
        remedy = "; --form closed prints one formula" if operations <= CLOSED_AT_MOST else ""
        notes.append(
            f"{entries.label} has {_count(operations)} operations in closed form, so named"
            f" equations are shown{remedy}"
        )
    named = form == "recursive" or by_size
    formulas = equations(entries.program, entries.rows, at, named, entries.symbols)
    value = _shaped(entries, formulas.entries)
    expressions = [*formulas.entries, *(expression for _, expression in formulas.named)]
    symbols = {str(symbol) for expression in expressions for symbol in expression.free_symbols}
    shown = frozenset(int(name[1:]) for name in symbols if _COORDINATE.fullmatch(name))
    notes += coordinate_notes(mechanism, shown, is_canonical=False)
    if not named:
        return Reading(value, tuple(notes))
    of_function = isinstance(choice.target, Result)
    notes += _numbering(
        formulas,
        f"; they are {CHOSEN}" if of_function else "",
        has_several_coordinates(mechanism),
    )
    return Reading(
        Recursive(
            entries.label,
            formulas.named,
            value,
            "result" if of_function else "declared",
            formulas.headings,
        ),
        tuple(notes),
    )


def _count(operations: int) -> str:
    """Return a count for a message: exact up to 15 digits, else rounded, such as 8.7e+190."""
    return str(operations) if operations < 10**15 else f"{Decimal(operations):.1e}"


def _numbering(formulas: Equations, frames: str, velocities: bool) -> list[str]:
    """Return a note on how names in equations count, with an example."""
    symbol_pairs = [
        (str(symbol), name)
        for (symbol, _), name in zip(formulas.named, formulas.in_c, strict=True)
        if name
    ]
    shared = [str(symbol) for symbol, _ in formulas.named if str(symbol) not in dict(symbol_pairs)]
    notes = []
    if shared:
        notes.append(f"parts that several equations share, without a letter: {', '.join(shared)}")
    if not symbol_pairs:
        return notes
    symbol, c_name = max(
        symbol_pairs, key=lambda pair: (not pair[1].startswith("neg_"), pair[0].count("_"))
    )
    counted = "links, velocities, rows and columns" if velocities else "links, rows and columns"
    return [
        *notes,
        (
            f"names in equations count {counted} from 0, as in q0; the C counts them from 1, and"
            f" calls {symbol} {c_name}{frames}"
        ),
    ]


def _multiangle(mechanism: Mechanism, choice: Choice, options: FormulaOptions) -> Reading:
    """Return one entry of M, c, g or tau in its canonical form."""
    letter, index_texts = choice.words.letter, choice.words.indices
    if options.at:
        raise RequestError(
            "a multi-angle form holds for every pose, so --at does not apply; use --form closed"
        )
    assert index_texts is not None
    check_index_count(choice.words, index_texts, ENTRIES[letter][1])
    indices = [parse_joint(mechanism, text) for text in index_texts]
    notes = (symbol_note(options.keep, CHOSEN),) if options.keep else ()
    return Reading(multiangle(mechanism, letter, indices, options.keep, choice.method), notes)


def _general(
    mechanism: Mechanism,
    words: Words,
    indices: Sequence[Affine],
    method: str | None,
    options: FormulaOptions,
    progress: Progress | None,
) -> Reading:
    """Return the formulas of all blocks of a chain of like links, or the recursion step of a letter
    that has no such formulas.
    """
    if options.at or options.keep or options.frame:
        raise RequestError(
            f"'{words.what}' stands for all links; leave --at, --symbols and --frame out, or write"
            " numbers in place of the letters"
        )
    if options.form == "recursive":
        return _step(mechanism, words, indices, method)
    if options.form not in (None, "multiangle"):
        raise RequestError(
            f"'{words.what}' stands for all links; leave --form out or take --form recursive, or"
            " write numbers in place of the letters"
        )
    choices: list[Choice] = []
    absent: list[Sequence[int]] = []

    def block(chain: Mechanism, at: Sequence[int]) -> Canonical | None:
        entry_text = f"{words.letter}[{','.join(map(str, at))}]"
        if words.position is not None:
            entry_text += f"[{','.join(words.position)}]"
        try:
            choice = choose(chain, entry_text, method, options.task_rows)
            _check_letters(choice, indices)
            choices.append(choice)
            return canonical_block(chain, choice, entry_text)
        except UnknownName as error:
            if "does not exist" not in str(error):
                raise
            absent.append(at)
            return None

    def canonical_block(chain: Mechanism, choice: Choice, label: str) -> Canonical:
        if isinstance(choice.target, PaperQuantity):
            return paper_letter(chain, choice.target.paper, choice.words)[0]
        try:
            value = _canonical(chain, choice, options, is_search=True).value
        except TooLong:
            if not entry_of(choice):
                raise
            value = Canonical(label, (), (_multiangle(chain, choice, options).value,))
        assert isinstance(value, Canonical)
        return value

    try:
        formulas = general(mechanism, words, indices, block, progress)
    except RequestError as error:
        if not choices or not _has_step(choices[-1], words, indices):
            raise
        reading = _step(mechanism, words, indices, choices[-1].method)
        return Reading(
            reading.value, (*reading.notes, f"a recursion step is shown, because {error}")
        )
    if absent:
        formulas = replace(formulas, absent=True)
    formulas = with_proof(formulas, mechanism, words, indices, _origin(choices[-1]))
    notes = [
        (
            f"for a chain of n links like those of '{mechanism.name}', counted from 0;"
            f" {formulas.evidence}"
        ),
        formulas.notation,
    ]
    if formulas.is_tridiagonal:
        letter = words.letter
        notes.append(
            f"{letter} is tridiagonal, so its determinant is the continuant D[n]: D[-1] = 0, D[0] ="
            f" 1, D[k+1] = {letter}[k,k]*D[k] - {letter}[k-1,k]*{letter}[k,k-1]*D[k-1]"
        )
    return Reading(formulas, tuple(notes))


def _has_step(choice: Choice, words: Words, indices: Sequence[Affine]) -> bool:
    """True if a letter of a method, or a result, has a recursion step."""
    if isinstance(choice.target, PaperQuantity) or words.position is not None:
        return False
    return rule_of(_method_of_letter(choice), words.letter, indices) is not None


def _method_of_letter(choice: Choice) -> str | None:
    """Return the method of a letter; None for a result, which all methods have in common."""
    return None if isinstance(choice.target, Result) else choice.method


def _step(
    mechanism: Mechanism, words: Words, indices: Sequence[Affine], method: str | None
) -> Reading:
    """Return the recursion step of a letter for a general link.

    RequestError if it has none.
    """
    links = chain_of(mechanism, SAMPLED, words.what)
    values = dict.fromkeys("ijkl", 3) | {indices[0].variable: 1, "n": SAMPLED}
    numbers = ",".join(str(index.at(values)) for index in indices)
    choice = choose(links, f"{words.letter}[{numbers}]", method)
    if not _has_step(choice, words, indices):
        raise RequestError(
            f"'{words.what}' has no recursion step that could be shown; there are:"
            f" {', '.join(LETTERS_WITH_STEPS)}"
        )
    stepped = steps(mechanism, _method_of_letter(choice), words.what, words.letter, indices)
    notes = [
        (
            f"for a chain of n ≥ 3 links like those of '{mechanism.name}', counted from 0; the step"
            f" is {stepped.source}, with symbols in place of {stepped.neighbour}"
        ),
        stepped.notation,
    ]
    variable, with_method = stepped.variable, f"with --method {stepped.method}"
    state, last = stepped.state, stepped.last
    if stepped.below:
        inertia = stepped.below[-1].state
        notes.append(f"request '{inertia}[i]' {with_method} for the step of {inertia}")
    elif last and not stepped.product:
        notes.append(
            f"the recursion starts at {state}[{last},{last}]; request '{state}[i,i]' {with_method}"
            " for it" + (f", and '{state}[i,j]' for its step" if words.letter != state else "")
        )
    elif words.letter != state:
        notes.append(f"request '{state}[{variable}]' {with_method} for the step of {state}")
    return Reading(stepped, tuple(notes))


def _origin(choice: Choice) -> str:
    """Return the method or the paper of a letter; empty for a result of a function."""
    if isinstance(choice.target, PaperQuantity):
        return choice.target.paper
    return "" if isinstance(choice.target, Result) else choice.method or ""


def _check_letters(choice: Choice, indices: Sequence[Affine]) -> None:
    """Raise RequestError if a letter stands for an index of a result that does not count links."""
    if not isinstance(choice.target, Result):
        return
    for index, size in zip(indices, choice.target.array.shape, strict=False):
        if index.variable and size not in ("NB", "NV", "NQ"):
            raise RequestError(
                f"index '{index}' of {choice.words.letter} counts {size} rows or columns and not"
                " links; write a number"
            )


def entry_of(choice: Choice) -> bool:
    """True if a request is for one entry of M, c, g or tau."""
    words = choice.words
    return (
        isinstance(choice.target, Result)
        and words.letter in ENTRIES
        and words.indices is not None
        and words.position is None
    )


def _shaped(entries_layout: Answer, entries: tuple[Any, ...]) -> Any:
    return sp.Matrix(*entries_layout.shape, list(entries)) if entries_layout.shape else entries[0]


def render(
    mechanism: Mechanism,
    what: str,
    method: str | None = None,
    format: str = "text",
    options: FormulaOptions = BY_SIZE,
    full: bool = False,
    progress: Progress | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Return the text that `symgen inspect` prints, and its notes.

    An entry of M, c or g is a multi-angle form unless a form, a method or a pose is named.
    `progress` is as in `read`.
    """
    nearest(format, FORMATS, "format")
    if is_general(mechanism, what):
        reading = read(mechanism, what, method, options, progress)
        return reading.written(format), reading.notes
    choice = choose(mechanism, what, method, options.task_rows)
    is_multiangle = entry_of(choice) and choice.words.letter in MULTIANGLE_BY_DEFAULT
    if options.form is None and method is None and not options.at and is_multiangle:
        several = has_several_coordinates(mechanism)
        options = FormulaOptions(None if several else "multiangle", keep=options.keep)
        try:
            if several:
                reading = _canonical(mechanism, choice, options)
            else:
                reading = read(mechanism, what, None, options)
        except RequestError as error:  # too many terms: show the named equations instead
            reading = read(mechanism, what, None, replace(options, form="recursive"))
            reading = Reading(reading.value, (*reading.notes, str(error)))
        else:
            if not full and reading.value.is_long:
                note = (
                    f"the {MOST} largest terms of the multi-angle form are shown; --full "
                    "prints all terms, --form recursive the equations of the C"
                )
                reading = Reading(reading.value, (*reading.notes, note))
    else:
        reading = read(mechanism, what, method, options)
        if isinstance(reading.value, Canonical):
            reading = _displayed(reading, reading.value, format, full)
            if (
                reading.value.is_long
                and not full
                and options.form is None
                and format in CODE
                and not isinstance(choice.target, PaperQuantity)
            ):
                reading = _in_rows(mechanism, choice, options)
    text = reading.written(format, full)
    return text, (*reading.notes, *_needed_imports(reading.value, text, format))


def _displayed(reading: Reading, value: Canonical, format: str, full: bool) -> Reading:
    """Add notes on the shortened and abbreviated terms of a canonical form."""
    notes = list(reading.notes)
    if format not in CODE:
        if value.is_long and not full:
            notes.append(
                f"the {MOST} largest terms of each sum are shown; --full prints all terms, --form "
                "recursive named equations"
            )
        notes += [f"{short} is {long}" for short, long in value.abbreviations.items()]
    return Reading(value, tuple(notes))


def _needed_imports(value: Any, text: str, format: str) -> list[str]:
    """Return a note on the includes or imports of a formula in C or Python; named equations in
    Python have their import line.
    """
    names = math_names(text) if format in CODE else []
    if not names or (format == "python" and isinstance(value, Recursive)):
        return []
    return [f"this takes: {'#include <math.h>' if format == 'c' else import_lines(text)[0]}"]
