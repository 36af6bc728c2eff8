"""Everything that can be asked for: the results of `symgen.vocabulary.functions`, and the letters that each method declares.

Several methods may have a letter. Unless a method is named, the first that suits the robot is taken, and a note says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from symgen import methods
from symgen.inspection.request import Words, taken_apart
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.quantities import Quantity
from symgen.pipeline.build import refusal
from symgen.support.errors import RequestError, UnknownName
from symgen.support.tables import table
from symgen.vocabulary.arrays import Array
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import Rows


@dataclass(frozen=True)
class Result:
    """A result of a function: M, tau, J …"""

    function: str
    array: Array
    place: int
    """Which of the function's results it is."""

    @property
    def heading(self) -> str:
        return heading(self.array.name, tuple("ijk"[: len(self.array.shape)]))


@dataclass(frozen=True)
class Choice:
    """What a request means: a result (`method` None: of the one with the fewest operations) or a letter of `method`."""

    words: Words
    found: Result | Quantity
    method: str | None
    notes: tuple[str, ...] = ()


def heading(letter: str, indices: tuple[str, ...]) -> str:
    return f"{letter}[{','.join(indices)}]" if indices else letter


def results() -> dict[str, Result]:
    """By name; a name that two functions share is the first one's."""
    found: dict[str, Result] = {}
    for function in FUNCTIONS.values():
        for place, array in enumerate(function.results):
            found.setdefault(array.name, Result(function.name, array, place))
    return found


def why_not(mechanism: Mechanism, method: str, quantity: Quantity) -> str | None:
    """Why a robot has no such quantity, in one sentence; None if it has."""
    found = methods.find(method)
    own = quantity.refusal if found.supports_mimic or not mechanism.coupled else None
    return (own or found.refusal)(mechanism)


def owners() -> list[str]:
    """The methods that declare quantities, sorted; variants read the same."""
    return [name for name in methods.names() if ":" not in name and methods.find(name).quantities]


def choose(
    mechanism: Mechanism, what: str, method: str | None = None, task_rows: Rows = None
) -> Choice:
    """What `what` asks for; RequestError lists what exists, and for `task_rows` where that is about no task."""
    found = _chosen(mechanism, what, method)
    if task_rows is None or (
        isinstance(found.found, Result) and FUNCTIONS[found.found.function].counts("NK")
    ):
        return found
    of_tasks = [name for name, one in results().items() if FUNCTIONS[one.function].counts("NK")]
    raise RequestError(
        f"{found.words.letter} is about no task, so --task-rows does not apply; {' and '.join(of_tasks)} are"
    )


def _chosen(mechanism: Mechanism, what: str, method: str | None) -> Choice:
    words = taken_apart(what)
    if method is not None:
        return _of_method(mechanism, what, words, nearest(method, methods.names(), "method"))
    known = results()
    if words is None:
        raise _unknown(what)
    having = [name for name in owners() if words.letter in methods.find(name).quantities]
    suiting = [
        name
        for name in having
        if why_not(mechanism, name, methods.find(name).quantities[words.letter]) is None
    ]
    others = [f"--method {name}" for name in suiting[1:]]
    if words.letter in known and having:
        others += [
            f"--method {name}" for name in methods.providers(known[words.letter].function)[:1]
        ]
    if suiting:
        notes = (
            (f"{words.letter} is that of {suiting[0]}; another one: {', '.join(others)}",)
            if others
            else ()
        )
        return Choice(words, methods.find(suiting[0]).quantities[words.letter], suiting[0], notes)
    if having:  # never another quantity that happens to have the same letter
        why = why_not(mechanism, having[0], methods.find(having[0]).quantities[words.letter])
        raise RequestError(
            "; ".join(
                [f"{words.letter} of {having[0]}: {why}", *_namesake(known.get(words.letter))]
            )
        )
    if words.letter in known:
        return Choice(words, known[words.letter], None)
    raise _unknown(what)


def _namesake(result: Result | None) -> list[str]:
    """Return the option that shows the result of a function whose letter a method's own quantity shares."""
    if result is None:
        return []
    provider = methods.providers(result.function)[0]
    return [
        f"{result.array.name} of {result.function} is another quantity, shown by --method {provider}"
    ]


def _of_method(mechanism: Mechanism, what: str, words: Words | None, method: str) -> Choice:
    own, known = methods.find(method).quantities, results()
    if words is not None and words.letter in own:
        why = why_not(mechanism, method, own[words.letter])
        if why is not None:
            raise RequestError(why)
        return Choice(words, own[words.letter], method)
    if words is not None and words.letter in known:
        methods.derivation(method, known[words.letter].function)
        return Choice(words, known[words.letter], method)
    computed = [one.heading for one in known.values() if method in methods.providers(one.function)]
    listed = ", ".join([heading(letter, one.indices) for letter, one in own.items()] + computed)
    raise UnknownName(f"'{what}' is no quantity of {method}; there are: {listed}")


def _unknown(what: str) -> RequestError:
    listed = ", ".join(one.heading for one in results().values())
    letters = {
        name: [
            heading(letter, one.indices) for letter, one in methods.find(name).quantities.items()
        ]
        for name in owners()
    }
    lettered = "; ".join(f"of {name} {', '.join(names)}" for name, names in letters.items())
    return UnknownName(f"'{what}' is no quantity to inspect; there are: {listed}; {lettered}")


def listing(mechanism: Mechanism) -> str:
    """Every quantity of this robot, one a line, grouped by method; and those that it does not have, with the reason."""
    groups = [("results, by any method that computes them (--method)", _results(mechanism))]
    groups += [
        (f"{name}: {methods.find(name).source}", _letters(mechanism, name)) for name in owners()
    ]
    lines = iter(table([row for _, (rows, _) in groups for row in rows], texts=(0, 1, 2)))
    text = []
    for title, (rows, lacking) in groups:
        text += [title, *(next(lines) for _ in rows)]
        text += [f"  {', '.join(names)}: not here: {why}" for why, names in lacking.items()]
    return "\n".join(text)


Lines = tuple[list[tuple[str, str, str]], dict[str, list[str]]]
"""(name, shape, what) of the quantities that exist, and the names of the others by reason."""


def _results(mechanism: Mechanism) -> Lines:
    rows: list[tuple[str, str, str]] = []
    lacking: dict[str, list[str]] = {}
    for one in results().values():
        why = refusal(mechanism, one.function, None)
        if why is None:
            shape = "x".join(map(str, one.array.shape)) or "scalar"
            rows.append((f"  {one.heading}", shape, f"{one.array.what} ({one.function})"))
        else:
            lacking.setdefault(why, []).append(one.array.name)
    return rows, lacking


def _letters(mechanism: Mechanism, method: str) -> Lines:
    rows: list[tuple[str, str, str]] = []
    lacking: dict[str, list[str]] = {}
    for letter, one in methods.find(method).quantities.items():
        why = why_not(mechanism, method, one)
        if why is None:
            rows.append((f"  {heading(letter, one.indices)}", one.shape, one.what))
        else:
            lacking.setdefault(why, []).append(letter)
    return rows, lacking
