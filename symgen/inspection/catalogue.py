"""Catalogue of the quantities that can be inspected: results of functions, letters of methods, and
operators of papers.

A letter is a quantity in the notation of a paper, such as P. Several methods may declare the same
letter. Unless the request names a method, the letter is that of the first method that accepts the
robot; a note names the other methods.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain

from symgen import methods
from symgen.inspection.paper_letters import (
    letters_of,
    method_of,
    paper_operators,
    papers_with,
    uncovered,
)
from symgen.inspection.request import Words, parse_request
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.quantities import Quantity
from symgen.papers.identities import PAPERS, paper
from symgen.pipeline.build import refusal
from symgen.support.errors import RequestError, UnknownName
from symgen.support.tables import table
from symgen.vocabulary.arrays import Array
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import Rows

CLOSE = 0.75
"""Least similarity (`difflib`) of an unknown and a known letter for which the latter is
suggested."""


@dataclass(frozen=True)
class Result:
    """A result of a function: M, tau, J …"""

    function: str
    array: Array
    index: int
    """Index among the function's results."""

    @property
    def heading(self) -> str:
        """Name with general indices, such as M[i,j]."""
        return heading(self.array.name, tuple("ijk"[: len(self.array.shape)]))


@dataclass(frozen=True)
class PaperQuantity:
    """An operator: a letter of a paper that no method derives
    (`symgen.inspection.paper_letters`)."""

    paper: str
    name: str

    def no_program(self, option: str) -> RequestError:
        """Return the error for an option that needs a generated program."""
        return RequestError(
            f"{self.name} is an operator of the paper, which no generated function computes; leave"
            f" {option} out"
        )


@dataclass(frozen=True)
class Choice:
    """Meaning of a request: `target` is a result, or a letter of `method` or of the method's paper.

    `method` is None for a result by the method with the fewest operations. `words` is the parsed
    request.
    """

    words: Words
    target: Result | Quantity | PaperQuantity
    method: str | None
    notes: tuple[str, ...] = ()


def heading(letter: str, indices: tuple[str, ...]) -> str:
    """Return a letter with its indices, such as P[i]."""
    return f"{letter}[{','.join(indices)}]" if indices else letter


def results() -> dict[str, Result]:
    """Return the results by name. If several functions have a result of this name, it is the result
    of the first function.
    """
    by_name: dict[str, Result] = {}
    for function in FUNCTIONS.values():
        for index, array in enumerate(function.results):
            by_name.setdefault(array.name, Result(function.name, array, index))
    return by_name


def refusal_reason(mechanism: Mechanism, method: str, quantity: Quantity) -> str | None:
    """Return in one sentence why a method cannot derive a letter for a robot, or None if it can."""
    declared = methods.find(method)
    quantity_refusal = (
        quantity.refusal if declared.supports_mimic or not mechanism.coupled else None
    )
    return (quantity_refusal or declared.refusal)(mechanism)


def methods_with_quantities() -> list[str]:
    """Return the methods that declare quantities, sorted and without variants."""
    return [name for name in methods.names() if ":" not in name and methods.find(name).quantities]


def choose(
    mechanism: Mechanism, what: str, method: str | None = None, task_rows: Rows = None
) -> Choice:
    """Return the meaning of a request.

    Raises RequestError for an unknown quantity, whose message lists all quantities; for a letter
    that the robot does not have; and for `task_rows` with a quantity that depends on no task.
    """
    choice = _choose(mechanism, what, method)
    if task_rows is None or (
        isinstance(choice.target, Result) and FUNCTIONS[choice.target.function].counts("NK")
    ):
        return choice
    task_results = [
        name for name, result in results().items() if FUNCTIONS[result.function].counts("NK")
    ]
    raise RequestError(
        f"{choice.words.letter} does not depend on a task, so --task-rows does not apply; it"
        f" applies to {' and '.join(task_results)}"
    )


def _choose(mechanism: Mechanism, request: str, method: str | None) -> Choice:
    """Return the meaning of a request: a letter of a method, else a result, else an operator."""
    words = parse_request(request)
    if method is not None:
        return _choose_of_method(
            mechanism, request, words, nearest(method, methods.names(), "method")
        )
    result_by_name = results()
    if words is None:
        raise _unknown(request)
    declaring = [
        name for name in methods_with_quantities() if words.letter in methods.find(name).quantities
    ]
    accepting = [
        name
        for name in declaring
        if refusal_reason(mechanism, name, methods.find(name).quantities[words.letter]) is None
    ]
    other_choices = [f"--method {name}" for name in accepting[1:]]
    if words.letter in result_by_name and declaring:
        other_choices += [
            f"--method {name}"
            for name in methods.providers(result_by_name[words.letter].function)[:1]
        ]
    if accepting:
        notes = (
            (
                (
                    f"{words.letter} is that of {accepting[0]}; to see another {words.letter}, add"
                    f" {', '.join(other_choices)}"
                ),
            )
            if other_choices
            else ()
        )
        return Choice(
            words, methods.find(accepting[0]).quantities[words.letter], accepting[0], notes
        )
    if declaring:
        # The error prevents that a result with the same name is mistaken for the letter.
        reason = refusal_reason(
            mechanism, declaring[0], methods.find(declaring[0]).quantities[words.letter]
        )
        raise RequestError(
            "; ".join(
                [
                    f"{words.letter} of {declaring[0]}: {reason}",
                    *_result_hint(result_by_name.get(words.letter)),
                ]
            )
        )
    if words.letter in result_by_name:
        return Choice(words, result_by_name[words.letter], None)
    papers = papers_with(words.letter)
    if papers:
        alternatives = tuple(
            f"{words.letter} is that of {papers[0]}; to see that of {name}, add --method"
            f" {method_of(name)}"
            for name in papers[1:]
        )
        return Choice(
            words, PaperQuantity(papers[0], words.letter), method_of(papers[0]), alternatives
        )
    raise _unknown(request)


def _result_hint(result: Result | None) -> list[str]:
    """Return a sentence on the result with the same name as a letter: the option that shows it."""
    if result is None:
        return []
    provider = methods.providers(result.function)[0]
    return [
        f"{result.array.name} of {result.function} is a different quantity; --method {provider}"
        " shows it"
    ]


def _choose_of_method(
    mechanism: Mechanism, request: str, words: Words | None, method: str
) -> Choice:
    """Return the meaning of a request to a method: its letter, an operator of its paper, or a
    result that it computes.
    """
    quantities, result_by_name = methods.find(method).quantities, results()
    if words is not None and words.letter in quantities:
        reason = refusal_reason(mechanism, method, quantities[words.letter])
        if reason is not None:
            raise RequestError(reason)
        return Choice(words, quantities[words.letter], method)
    paper_letters = list(letters_of(method))
    if words is not None:
        result = result_by_name.get(words.letter)
        computed_by_method = result and method in methods.providers(result.function)
        with_letter = [name for name, letter in paper_letters if letter.name == words.letter]
        for name in () if computed_by_method else with_letter:
            if name == with_letter[-1] or uncovered(mechanism, name) is None:
                return Choice(words, PaperQuantity(name, words.letter), method)
        if result is not None:
            # Raises RequestError if the method does not compute the function.
            methods.derivation(method, result.function)
            return Choice(words, result, method)
    computed = [
        item.heading
        for item in result_by_name.values()
        if method in methods.providers(item.function)
    ]
    headings = [
        *(heading(letter, item.indices) for letter, item in quantities.items()),
        *(
            heading(letter.name, letter.indices)
            for _, letter in paper_letters
            if letter.name not in quantities
        ),
        *computed,
    ]
    suggestion = _suggestion(words, headings)
    raise UnknownName(
        f"{method} has no quantity '{request}'; {suggestion}it has: {', '.join(headings)}"
    )


def _unknown(request: str) -> RequestError:
    """Return the error for an unknown quantity, with all quantities and the most similar one."""
    result_headings = [item.heading for item in results().values()]
    letter_headings = {
        name: [
            heading(letter, item.indices) for letter, item in methods.find(name).quantities.items()
        ]
        for name in methods_with_quantities()
    }
    letters = "; ".join(f"of {name} {', '.join(names)}" for name, names in letter_headings.items())
    suggestion = _suggestion(
        parse_request(request), chain(result_headings, *letter_headings.values())
    )
    return UnknownName(
        f"'{request}' is not a quantity; {suggestion}there are: {', '.join(result_headings)};"
        f" {letters}"
    )


def _suggestion(words: Words | None, headings: Iterable[str]) -> str:
    """Return a sentence that suggests another request, or "" if no quantity is similar.

    For the name of a function it lists the function's results. For other words it names the heading
    with the most similar letter; capitals and underscores are ignored.
    """
    if words is None:
        return ""
    if words.letter in FUNCTIONS:
        function_results = [
            item.heading for item in results().values() if item.function == words.letter
        ]
        if function_results:
            return f"it is a function, whose results are {', '.join(function_results)}; "
    by_letter: dict[str, str] = {}
    for name in headings:
        by_letter.setdefault(_plain(name.partition("[")[0]), name)
    close = get_close_matches(_plain(words.letter), by_letter, n=1, cutoff=CLOSE)
    return f"did you mean {by_letter[close[0]]}? " if close else ""


def _plain(letter: str) -> str:
    """Return the letter without underscores and in lower case."""
    return letter.replace("_", "").lower()


def listing(mechanism: Mechanism) -> str:
    """Return a table of all quantities of a robot by method, and the missing ones with reasons."""
    groups = [("results, by any method that computes them (--method)", _results(mechanism))]
    groups += [
        (f"{name}: {methods.find(name).source}", _letters(mechanism, name))
        for name in methods_with_quantities()
    ]
    groups += [
        (
            f"operators of {paper(name).SOURCE} (--method {method_of(name)})",
            _operators(mechanism, name),
        )
        for name in PAPERS
    ]
    lines = iter(table([row for _, (rows, _) in groups for row in rows], texts=(0, 1, 2)))
    text = []
    for title, (rows, missing) in groups:
        text += [title, *(next(lines) for _ in rows)]
        text += [
            f"  {', '.join(names)}: not available: {reason}" for reason, names in missing.items()
        ]
    return "\n".join(text)


Lines = tuple[list[tuple[str, str, str]], dict[str, list[str]]]
"""(name, shape, meaning) of the available quantities, and the names of the missing ones by reason.
"""


def _results(mechanism: Mechanism) -> Lines:
    """Return the results of functions."""
    rows: list[tuple[str, str, str]] = []
    missing: dict[str, list[str]] = {}
    for result in results().values():
        reason = refusal(mechanism, result.function, None)
        if reason is None:
            shape = "x".join(map(str, result.array.shape)) or "scalar"
            rows.append((f"  {result.heading}", shape, f"{result.array.what} ({result.function})"))
        else:
            missing.setdefault(reason, []).append(result.array.name)
    return rows, missing


def _operators(mechanism: Mechanism, name: str) -> Lines:
    """Return the letters of a paper that its method does not derive."""
    derived = methods.find(method_of(name)).quantities
    letters = [letter for letter in paper(name).LETTERS if letter.name not in derived]
    try:
        paper_operators(mechanism, name)
    except RequestError as error:
        return [], {str(error): [letter.name for letter in letters]}
    return [
        (f"  {heading(letter.name, letter.indices)}", "block", letter.says) for letter in letters
    ], {}


def _letters(mechanism: Mechanism, method: str) -> Lines:
    """Return the letters of a method."""
    rows: list[tuple[str, str, str]] = []
    missing: dict[str, list[str]] = {}
    for letter, quantity in methods.find(method).quantities.items():
        reason = refusal_reason(mechanism, method, quantity)
        if reason is None:
            rows.append((f"  {heading(letter, quantity.indices)}", quantity.shape, quantity.what))
        else:
            missing.setdefault(reason, []).append(letter)
    return rows, missing
