"""Content of a derived paper: equations in order, each with the robot's instance and a check."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from symgen import methods
from symgen.derivation.model import completion_note
from symgen.inspection.canonical import Canonical, Quotient, TooLong
from symgen.inspection.catalogue import refusal_reason
from symgen.inspection.coordinates import coordinate_notes
from symgen.inspection.entries import layout
from symgen.inspection.multiangle import MultiAngle
from symgen.inspection.paper_letters import (
    PAPERS_OF_METHOD,
    PaperOperators,
    method_of,
    paper_operators,
    papers_of,
)
from symgen.inspection.printing import print_grid
from symgen.inspection.reading import read
from symgen.inspection.where import where
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.derivation.notation import symbols
from symgen.pages.derivation.wide_blocks import block_equations
from symgen.papers.equation import Letter
from symgen.papers.identities import (
    EquationResult,
    PaperResult,
    left_out,
    paper,
    prove_identities,
)
from symgen.support.errors import RequestError
from symgen.vocabulary.names import nearest

MOST_TERMS_SHOWN = 150
"""Most terms of a block that is printed."""
MOST_LINKS = 3
"""Most links of a robot for which the blocks of all pairs of links are printed."""
MOST_LINES = 12
"""Most lines of C that are shown for one letter."""
SIDE_BY_SIDE: dict[str, dict[str, tuple[str, ...]]] = {
    "rk": {
        "(3.20)": ("composite", "mass_matrix"),
        "(4.11)": ("innovations", "D"),
        "(4.16)": ("whitening",),
    },
    "sa": {"(10)": ("gim",), "(21)": ("U", "D")},
    "lc": {"(12)": ("H_theta_theta", "H_theta_L", "H_L_L"), "(8)": ()},
    "wc": {"(9)": ("H_11", "H_12", "H_22")},
    "ff": {"M": (), "M inverse": ("H_aa", "H_ab", "H_bb"), "det M": ()},
}
"""Equations of the page with all factorizations, and the letters shown with each."""
IDENTITY = print_grid([["1" if r == c else "0" for c in range(6)] for r in range(6)], "text")
"""Blocks on the diagonal of φ and ψ, which are not printed."""
SYMBOLS = {
    "H_ab": "H_{ab}",
    "H_bb": "H_{bb}",
    "Mtilde": r"\tilde M",
    "Mhat": r"\hat M",
    "mhat": r"\hat m",
    "psihat": r"\hat\psi",
    "psi": r"\psi",
    "alpha": r"\alpha",
    "L2": "L_2",
}
"""LaTeX of letters that only a method has, where it is not the name."""


@dataclass(frozen=True)
class Instance:
    """One block for this robot: `latex` is an equation, or "" with the reason why it is not
    printed.
    """

    latex: str
    reason: str = ""


@dataclass(frozen=True)
class Step:
    """One equation of the paper for this robot."""

    heading: str
    result: EquationResult
    symbols: tuple[tuple[str, str], ...]
    """(LaTeX, meaning) of the symbols that are new in this step."""
    instances: tuple[Instance, ...]
    structures: tuple[str, ...]
    """LaTeX formulas that show which blocks of a letter are not zero."""
    code: tuple[str, ...]
    """Lines of the generated C."""


@dataclass(frozen=True)
class Document:
    """A paper for one robot.

    `robot` is the name or path that loads it, `papers` the names of the papers, and `source` their
    authors. `links` has (index, link, parent, joint, mass in kg) of each link.
    """

    title: str
    robot: str
    papers: tuple[str, ...]
    source: str
    remarks: tuple[str, ...]
    links: tuple[tuple[str, ...], ...]
    steps: tuple[Step, ...]
    check: str
    """Coverage of the checks, as a sentence."""

    @property
    def holds(self) -> bool:
        """True if every equation holds."""
        return all(step.result.holds for step in self.steps)


def derive(
    mechanism: Mechanism,
    method: str,
    progress: Callable[[str, int, int], None] = lambda step, done, total: None,
    robot: str | None = None,
) -> Document:
    """Return the document of the first paper of a method that covers the robot. For "all", it is
    one page with the factorizations of all papers side by side.

    `progress` is called with a step, its number from 1, and the number of steps.
    `robot` is the name or path by which a notebook loads the robot (default: the mechanism's name).
    RequestError if no paper of the method covers the robot; it names the reasons. UnknownName for
    another method.
    """
    nearest(method, [*PAPERS_OF_METHOD, "all"], "method to derive")
    called = robot or mechanism.name
    if method == "all":
        return _side_by_side(mechanism, called, progress)
    reasons = []
    for name in papers_of(method):
        try:
            return _document(mechanism, called, name, None, progress)
        except RequestError as error:
            reasons.append(str(error))
    raise RequestError("; ".join(reasons))


def _side_by_side(
    mechanism: Mechanism, robot: str, progress: Callable[[str, int, int], None]
) -> Document:
    """Return one document of the factorizations of every paper that covers the robot."""
    parts: list[Document] = []
    reasons: list[str] = []
    for name, letters in SIDE_BY_SIDE.items():
        try:
            parts.append(_document(mechanism, robot, name, letters, progress))
        except RequestError as error:
            reasons.append(str(error))
    if not parts:
        raise RequestError("; ".join(reasons))
    first = parts[0]
    remarks = [
        *dict.fromkeys(remark for part in parts for remark in part.remarks),
        (
            "The mass matrix of each paper is compared with the sum of the kinetic energies of the"
            " links, and its factorization with that mass matrix, so that all factorizations belong"
            " to the same matrix."
        ),
        *(f"Not available for this robot: {reason}." for reason in reasons),
    ]
    return Document(
        f"Factorizations of the mass matrix of {mechanism.name}",
        robot,
        tuple(name for part in parts for name in part.papers),
        "; ".join(part.source for part in parts),
        tuple(remarks),
        first.links,
        tuple(
            replace(step, heading=f"{part.source} {step.heading}")
            for part in parts
            for step in part.steps
        ),
        " ".join(part.check for part in parts),
    )


def _document(
    mechanism: Mechanism,
    robot: str,
    name: str,
    chosen_letters: Mapping[str, Sequence[str]] | None,
    progress: Callable[[str, int, int], None],
) -> Document:
    """Return a paper for a robot, or the equations with these numbers, with these letters.

    RequestError if the paper does not cover the robot.
    """
    progress(f"equations of {paper(name).SOURCE}", 1, 1)
    proved = prove_identities(mechanism, [name], programs=False)
    (result,) = proved.papers
    equations = {equation.number: equation for equation in paper(name).EQUATIONS}
    chosen = [
        item for item in result.equations if chosen_letters is None or item.number in chosen_letters
    ]
    steps: list[Step] = []
    shown: set[str] = set()
    defined: set[tuple[str, str]] = set()
    for done, item in enumerate(chosen):
        named = (chosen_letters or {}).get(item.number, equations[item.number].letters)
        letters = [letter for letter in named if letter not in shown]
        meanings = _meanings(name, item.statement, letters, defined)
        shown.update(letters)
        progress(f"{item.number} of {result.source}", done + 1, len(chosen))
        steps.append(_step(mechanism, robot, name, item, letters, meanings))
    return Document(
        f"{result.source} for {mechanism.name}",
        robot,
        (name,),
        result.source,
        tuple(_remarks(mechanism, name, proved.rounded)),
        tuple(_links(mechanism)),
        tuple(steps),
        _coverage(result, proved.states, proved.rounded),
    )


def _remarks(mechanism: Mechanism, name: str, rounded: bool) -> Iterator[str]:
    module = paper(name)
    yield (
        "Links and joints count from 0 at the base in the indices of printed blocks. Units are SI;"
        " q, v and tau are the coordinates, rates and forces of the joints."
    )
    yield f"{module.SOURCE}: {module.CONVENTIONS}"
    yield "An equation for an inverse is checked as a product that is the identity."
    if rounded:
        yield (
            "The description has irrational rotations. The checks replace them by rational"
            " rotations within 1e-9."
        )
    operators = paper_operators(mechanism, name)
    if operators.completed:
        yield f"{_sentence(completion_note(operators.completed))}."
    no_form = operators.no_form
    if no_form:
        yield f"No blocks are printed: {no_form}."
    else:
        for note in coordinate_notes(mechanism, frozenset(range(mechanism.nq))):
            yield f"{_sentence(note)}."
    missing = left_out(mechanism)
    if missing:
        yield f"{_sentence(missing)}."


def _sentence(text: str) -> str:
    """Return a text with a capital first letter, except before a symbol such as q0."""
    return text if text.startswith("q") else f"{text[0].upper()}{text[1:]}"


def _links(mechanism: Mechanism) -> Iterator[tuple[str, ...]]:
    for i, (joint, body) in enumerate(zip(mechanism.joints, mechanism.bodies, strict=True)):
        parent = mechanism.base if joint.parent < 0 else mechanism.bodies[joint.parent].name
        yield str(i), body.name, parent, joint.described, f"{float(body.mass):g}"


def _coverage(result: PaperResult, states: int, rounded: bool) -> str:
    """Return a sentence on what the checks of the document cover."""
    count = len(result.equations)
    holding, symbolic = result.holding, result.symbolic
    text = (
        f"{'All' if holding == count else f'{holding} of the'} {count} equations of {result.source}"
        f" hold exactly, in rational numbers, at {states} random states"
    )
    if symbolic:
        text += (
            f"; {'all' if symbolic == count else symbolic} of them were also computed over rational"
            " functions of the coordinates, which proves them for every state"
        )
    return text + ("; rotations are rounded as stated above." if rounded else ".")


def notation(name: str) -> dict[str, str]:
    """Return the meaning of every symbol of a paper's equations, by its LaTeX."""
    module = paper(name)
    meanings = {letter.symbol: letter.says for letter in module.LETTERS}
    meanings.update(module.NOTATION)
    return meanings


def _meanings(
    name: str, statement: str, letters: Sequence[str], defined: set[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Return (LaTeX, meaning) of symbols of a statement and of letters that are not `defined`, and
    add them.
    """
    of_symbols = notation(name)
    of_letters = {letter.name: letter.says for letter in paper(name).LETTERS}
    pairs = {symbol: of_symbols[symbol] for symbol in symbols(statement, of_symbols)}
    explained = {symbol for symbol, _ in defined} | set(pairs)
    for letter in letters:
        symbol = _symbol(name, letter)
        if symbol not in explained and f"{symbol}_i" not in explained:
            pairs[symbol] = of_letters.get(letter) or of_symbols[symbol]
    fresh = tuple(pair for pair in pairs.items() if pair not in defined)
    defined.update(fresh)
    return fresh


def _step(
    mechanism: Mechanism,
    robot: str,
    name: str,
    item: EquationResult,
    letters: Sequence[str],
    meanings: tuple[tuple[str, str], ...],
) -> Step:
    instances: list[Instance] = []
    structures: list[str] = []
    code: list[str] = []
    method = method_of(name)
    printed = paper_operators(mechanism, name).no_form is None
    for letter in letters:
        blocks = list(_blocks(mechanism, name, method, letter))
        pairs = [indices for indices, _ in blocks if len(indices) == 2]
        symbol = _symbol(name, letter)
        if len(mechanism.joints) > 1 and pairs:
            structures.append(_structure(symbol, _order(name, len(mechanism.joints)), pairs))
        if printed:
            instances += _instances(mechanism, robot, name, letter, symbol, blocks)
        if letter in methods.find(method).quantities:
            lines = _code(mechanism, letter, method)
            code += [f"/* {letter} */", *lines] if lines else []
    return Step(item.number, item, meanings, tuple(instances), tuple(structures), tuple(code))


Block = Callable[[], Canonical]


def _blocks(
    mechanism: Mechanism, name: str, method: str, letter: str
) -> Iterator[tuple[tuple[int, ...], Block]]:
    """Yield (indices, canonical form) of the nonzero blocks of a letter, tip first."""
    quantity = methods.find(method).quantities.get(letter)
    derived = {}
    if quantity is not None and refusal_reason(mechanism, method, quantity) is None:
        for indices, position in layout(mechanism, method, letter).blocks.items():
            if not all(position.size):  # no constrained direction of a free joint
                continue
            what = f"{letter}[{','.join(map(str, indices))}]" if quantity.indices else letter
            derived[indices] = partial(_read, mechanism, what, method)
    operators = paper_operators(mechanism, name)
    declared = next((item for item in paper(name).LETTERS if item.name == letter), None)
    if declared is None:
        yield from sorted(derived.items(), key=lambda item: item[0], reverse=True)
        return
    reasons: list[TooLong] = []
    for indices in reversed(operators.indices(declared)):
        if operators.exists(declared, indices):
            yield (
                indices,
                partial(_computed, operators, declared, indices, derived.get(indices), reasons),
            )


def _computed(
    operators: PaperOperators,
    letter: Letter[Any],
    indices: tuple[int, ...],
    derived: Block | None,
    reasons: list[TooLong],
) -> Canonical:
    """Return a block of the paper's operators.

    From the first block of the letter on that is too long, return the block as the method derives
    it, if it does. `reasons` keeps why that block is too long. TooLong if no way gives a form.
    """
    label = f"{letter.name}[{','.join(map(str, indices))}]"
    if not reasons or derived is None:
        try:
            block = operators.block(letter, indices)
        except TooLong as error:
            reasons.append(error)
        else:
            assert block is not None
            return operators.canonical(block, label)
    if derived is None:
        raise reasons[-1]
    try:
        return derived()
    except TooLong:
        reason = str(reasons[0])
        raise TooLong(re.sub(rf"\b{letter.name}\[[\d,]+\]", label, reason)) from None


def _read(mechanism: Mechanism, what: str, method: str) -> Canonical:
    reading = read(mechanism, what, method)
    if not isinstance(reading.value, Canonical):
        raise TooLong(reading.notes[-1])  # why it has no canonical form
    return reading.value


def _symbol(name: str, letter: str) -> str:
    for item in paper(name).LETTERS:
        if item.name == letter:
            return str(item.symbol)
    return SYMBOLS.get(letter, letter)


def _instances(
    mechanism: Mechanism,
    robot: str,
    name: str,
    letter: str,
    symbol: str,
    blocks: Sequence[tuple[tuple[int, ...], Block]],
) -> Iterator[Instance]:
    """Yield the printed blocks of a letter.

    Blocks grow inward or outward along the robot. At the first that is too long, the others follow
    from the other end, up to the next one that is too long.
    """
    remaining = _printed_blocks(mechanism, blocks)
    from_the_tip = True
    while remaining:
        indices, form = remaining.pop(0 if from_the_tip else -1)
        subscript = ",".join(map(str, indices))
        # TeX refuses a second subscript: (H_{11})_{2,3} as in the papers.
        single = f"({symbol})" if "_" in symbol else symbol
        label = f"{single}_{{{subscript}}}" if indices else symbol
        request = f"{letter}[{subscript}]" if indices else letter
        command = f"symgen inspect {shlex.quote(robot)} '{request}' --method {method_of(name)}"
        try:
            canonical = form()
        except TooLong as error:
            yield Instance("", f"{request} is not printed: {error}.")
            if not from_the_tip:
                if remaining:
                    yield Instance("", f"Blocks of {letter} not printed besides: {len(remaining)}.")
                return
            from_the_tip = False
            continue
        if canonical.text() == IDENTITY:
            continue
        terms = sum(len(part.terms) for entry in canonical.entries for part in _sums(entry))
        if terms > MOST_TERMS_SHOWN:
            yield Instance("", f"{request} has {terms} terms: {command} --full")
        else:
            yield from map(Instance, block_equations(label, canonical))


def _sums(entry: MultiAngle | Quotient) -> tuple[MultiAngle, ...]:
    return (entry,) if isinstance(entry, MultiAngle) else (entry.numerator, entry.denominator)


def _printed_blocks(
    mechanism: Mechanism, blocks: Sequence[tuple[tuple[int, ...], Block]]
) -> list[tuple[tuple[int, ...], Block]]:
    """Return the printed blocks: of pairs of links on a large robot, those of neighbours."""
    parents = [joint.parent for joint in mechanism.joints]
    return [
        (indices, form)
        for indices, form in blocks
        if len(indices) != 2
        or len(parents) <= MOST_LINKS
        or parents[indices[1]] == indices[0]
        or parents[indices[0]] == indices[1]
        or indices[0] == indices[1]
    ]


def _order(name: str, links: int) -> list[int]:
    """Return the links in the order of the paper's operators."""
    order = list(range(links))
    return order[::-1] if getattr(paper(name), "TIP_FIRST", False) else order


def _structure(symbol: str, order: Sequence[int], pairs: Sequence[tuple[int, ...]]) -> str:
    """Return which blocks of a letter are not zero, with the links as labels, in LaTeX."""
    nonzero = set(pairs)
    head = " & ".join(["", *map(str, order)])
    rows = [
        " & ".join([str(i), *(r"\ast" if (i, j) in nonzero else r"\cdot" for j in order)])
        for i in order
    ]
    return (
        rf"{symbol}:\quad \begin{{array}}{{c|{'c' * len(order)}}}{head} \\ \hline "
        + r" \\ ".join(rows)
        + r" \end{array}"
    )


def _code(mechanism: Mechanism, letter: str, method: str) -> list[str]:
    """Return the lines of the generated C that compute a letter; [] if the C has none."""
    try:
        text, _ = where(mechanism, letter, method)
    except RequestError:
        return []
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        return [*lines[:MOST_LINES], f"    … {len(lines) - MOST_LINES} more lines"]
    return lines
