"""Requests such as M[i,j], which stand for all links of a chain of like links."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from symgen.inspection.canonical import Canonical, Quotient
from symgen.inspection.general.definitions import DEFINED
from symgen.inspection.general.formulas import (
    Affine,
    Case,
    absent_text,
    case_text,
    entry_text,
    form_of,
)
from symgen.inspection.general.partial_sums import (
    PARTIAL_SUM,
    apply_to_entry,
    in_partial_sums,
    in_rates,
)
from symgen.inspection.general.planar import SHORTEST
from symgen.inspection.general.proof import FEWEST, is_proved
from symgen.inspection.general.search import MOST_DEGREE, ZERO, Points, find_cases
from symgen.inspection.multiangle import MultiAngle
from symgen.inspection.printing import align_latex, print_grid
from symgen.inspection.request import Words, has_several_coordinates, parse_request
from symgen.mechanism.drives import NO_DRIVE
from symgen.mechanism.mechanism import BASE, Limits, Mechanism
from symgen.pipeline.build import Progress
from symgen.support.errors import RequestError

SIZES = (5, 6, 7)
"""Links of the chains from which a formula is found."""
LONGER = 9
"""Links of the chain with which it is compared."""
MOST_TERMS = 200
"""Most terms of an entry in which a formula is searched for."""
FORMATS = ("text", "latex")
_INDEX = re.compile(r"([ijkl]|n(?=-))([+-]\d+)?")


def chain_of(mechanism: Mechanism, count: int, request: str) -> Mechanism:
    """Return a chain of `count` links like those of a serial chain: its first link, its second link
    repeated, and its last link with the frames on it.

    RequestError if the mechanism is no serial chain of at least three links, or if a link between
    the first and the last one differs from the second; `request` is named in the message.
    """
    instead = (
        f"'{request}' needs a serial chain of like links; write numbers in place of the letters"
    )
    size = len(mechanism.joints)
    if size < 3 or any(joint.parent != i - 1 for i, joint in enumerate(mechanism.joints)):
        raise RequestError(
            f"'{mechanism.name}' is no serial chain of three links or more, and {instead}"
        )
    if has_several_coordinates(mechanism) or mechanism.loops:
        raise RequestError(
            f"'{mechanism.name}' has joints of several coordinates, mimic joints or loops, and"
            f" {instead}"
        )
    like_joint, like_body = _comparable(mechanism, 1)
    for i in range(2, size):
        joint, body = _comparable(mechanism, i)
        for component, differs in (
            ("joint", joint != like_joint),
            ("inertia", i < size - 1 and body != like_body),
        ):
            if differs:
                raise RequestError(
                    f"link '{mechanism.bodies[i].name}' of '{mechanism.name}' has another"
                    f" {component} than link '{mechanism.bodies[1].name}', and {instead}"
                )
    links = [0, *[1] * (count - 2), size - 1]
    joints, bodies = [], []
    for i, link in enumerate(links):
        joints.append(replace(mechanism.joints[link], name=f"joint {i}", parent=i - 1))
        bodies.append(replace(mechanism.bodies[link], name=f"link {i}"))
    frames = [
        replace(frame, body=count - 1) for frame in mechanism.frames if frame.body == size - 1
    ]
    return replace(
        mechanism, joints=tuple(joints), bodies=tuple(bodies), frames=tuple(frames), notes=()
    )


def _comparable(mechanism: Mechanism, i: int) -> tuple[Any, Any]:
    """Return a joint and a body without the facts that no formula contains: names, limits and
    numbers that are not applied.
    """
    joint = replace(
        mechanism.joints[i], name="", parent=BASE, limits=Limits(), unapplied=(), withheld=NO_DRIVE
    )
    parts = tuple(replace(body_part, link="") for body_part in mechanism.bodies[i].parts)
    return joint, replace(mechanism.bodies[i], name="", parts=parts)


@dataclass(frozen=True)
class General:
    """Blocks of a letter for all links of a chain of n like links.

    `label`: the request; `shape`: () or (rows, columns) of a block; `cases`: the first one that
    holds counts; `sizes`: numbers of links of the chains of which every block was compared;
    `proved_from`: the definition from which the formulas are proved for every n ≥ 2
    (`general.proof`), or empty. If `absent`, the case of zero blocks is that of blocks that do not
    exist.
    """

    label: str
    shape: tuple[int, ...]
    cases: tuple[Case, ...]
    sizes: tuple[int, ...]
    proved_from: str = ""
    absent: bool = False

    def block(self, **values: int) -> Canonical:
        """Return a block in canonical form: block(n=50, i=3, j=7). RequestError if no case covers
        the indices.
        """
        for case in self.cases:
            if all(condition.holds(values) for condition in case.conditions):
                if self.absent and case.is_zero:
                    break
                entries = tuple(
                    apply_to_entry(
                        in_rates,
                        form_of(above, values)
                        if below is None
                        else Quotient(form_of(above, values), form_of(below, values)),
                    )
                    for above, below in case.entries
                )
                return Canonical(self.label, self.shape, entries)
        raise RequestError(f"{self.label} has no case for {values}")

    @property
    def evidence(self) -> str:
        """Derivation of the formulas and the proof or test that confirms them."""
        *shorter, longer = self.sizes
        text = (
            f"found for n = {', '.join(map(str, shorter))} and equal for every block at n ="
            f" {longer}"
        )
        if self.proved_from:
            return (
                f"{text}; proved for every n ≥ {FEWEST} from {self.proved_from}, with n and the"
                " indices as symbols"
            )
        return f"{text}, which is no proof for all n"

    @property
    def notation(self) -> str:
        """Meaning of the sums and of the cases."""
        letters = {
            name
            for case in self.cases
            for entry in case.entries
            for summand in (*entry[0], *(entry[1] or ()))
            for name, _ in summand.kind.symbols
        }
        meanings = ["q[k:l] is q[k] + … + q[l]"]
        meanings += [
            f"{letter}[0:k] is {letter}[0] + … + {letter}[k]"
            for letter, partial in PARTIAL_SUM.items()
            if partial in letters
        ]
        return (
            f"{'; '.join(meanings)}; a sum over an empty range is 0; the first case that holds"
            " counts"
        )

    @property
    def is_tridiagonal(self) -> bool:
        """True for numbers that are zero except on the diagonal and beside it."""
        offsets = {
            condition.right.constant
            for case in self.cases
            for condition in case.conditions
            if condition.relation == "=" and condition.right.variable not in ("", "n")
        }
        return not self.shape and offsets == {-1, 0, 1}

    def text(self, format: str = "text") -> str:
        """Return the formulas as "text" or "latex", one case after the other."""
        if format not in FORMATS:
            raise RequestError(
                f"formulas for all links are written as {' or '.join(FORMATS)}; write numbers in"
                f" place of the letters of '{self.label}' for {format}"
            )
        lines = []
        for case in self.cases:
            size = self.shape[1] if self.shape else 1
            texts = [entry_text(entry, format) for entry in case.entries]
            grid = [texts[at : at + size] for at in range(0, len(texts), size)]
            if self.absent and case.is_zero:
                lines.append(absent_text(self.label, case.conditions, format))
                continue
            block = "0" if case.is_zero else print_grid(grid, format) if self.shape else texts[0]
            lines.append(case_text(self.label, block, case.conditions, format))
        return align_latex(lines) if format == "latex" else "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.text('latex')}$"


def general(
    mechanism: Mechanism,
    words: Words,
    indices: Sequence[Affine],
    blocks: Callable[[Mechanism, Sequence[int]], Canonical | None],
    progress: Progress | None = None,
) -> General:
    """Return the formulas of a letter's blocks.

    `blocks` returns a block of a chain at some indices, or None where the letter has none.
    `progress(what, done, total)` is called at each step.
    RequestError if the mechanism is no chain of like links, or if no formulas are found.
    """
    variables = tuple(
        dict.fromkeys(index.variable for index in indices if index.variable not in ("", "n"))
    )
    blocks_at: dict[tuple[tuple[str, int], ...], Canonical | None] = {}
    counts = (*SIZES, LONGER)
    for done, count in enumerate(counts):
        if progress is not None:
            progress(f"{words.what} of a chain of {count} links", done, len(counts) + 1)
        links = chain_of(mechanism, count, words.what)
        for numbers in product(range(count), repeat=len(variables)):
            values = dict(zip(variables, numbers, strict=True)) | {"n": count}
            at = [index.at(values) for index in indices]
            if all(0 <= x < count for x in at):
                block = blocks(links, at)
                if (
                    block is not None
                    and _is_long(block.entries)
                    and _is_long(_short(block.entries))
                ):
                    raise RequestError(
                        f"no formula for '{words.what}' was found: for {count} links an entry has"
                        f" more than {MOST_TERMS} terms; write numbers in place of the letters"
                    )
                blocks_at[tuple(values.items())] = block
    shape = next((block.shape for block in reversed(blocks_at.values()) if block is not None), None)
    if shape is None:
        raise RequestError(f"'{words.what}' is zero or does not exist for every link")
    zero = (ZERO,) * (shape[0] * shape[1] if shape else 1)
    points: Points = {
        point: zero if block is None else block.entries for point, block in blocks_at.items()
    }
    summed = shortening_letters(points)
    shorter: Points = {
        point: _short(block, summed)
        for point, block in points.items()
        if dict(point)["n"] != LONGER
    }
    if progress is not None:
        progress(f"formulas of {words.what}", len(counts), len(counts) + 1)
    cases = find_cases(variables, shorter)
    if cases is None:
        raise RequestError(
            f"no formula for '{words.what}' was found: its terms are no sums over ranges of links"
            f" with coefficients of degree {MOST_DEGREE}; write numbers in place of the letters"
        )
    result = General(words.what, shape, tuple(cases), (*SIZES, LONGER))
    for point, block in points.items():
        if result.block(**dict(point)).entries != block:
            raise RequestError(
                f"no formula for '{words.what}' was found: one that holds for {SIZES[-1]} links"
                f" does not hold for {LONGER}; write numbers in place of the letters"
            )
    return result


def with_proof(
    formulas: General, mechanism: Mechanism, words: Words, indices: Sequence[Affine], origin: str
) -> General:
    """Return the formulas with the definition from which `general.proof` proves them, if it does.

    `origin`: the method or the paper of the letter, empty for a result of a function.
    """
    letter = (origin, words.letter)
    if letter not in DEFINED or words.position is not None:
        return formulas
    chain = chain_of(mechanism, SHORTEST, words.what)
    proved = is_proved(chain, letter, indices, formulas.cases)
    return replace(formulas, proved_from=DEFINED[letter] if proved else "")


def shortening_letters(points: Points) -> str:
    """Return the letters, of v and a, whose partial sums make the number of terms smaller."""
    summed = ""
    size = sum(map(_size, points.values()))
    for letter in PARTIAL_SUM:
        changed = [_short(block, summed + letter) for block in points.values()]
        new_size = sum(map(_size, changed))
        if new_size < size:
            summed, size = summed + letter, new_size
    return summed


Entries = tuple[MultiAngle | Quotient, ...]


def _short(entries: Entries, letters: Iterable[str] = PARTIAL_SUM) -> Entries:
    """Return entries in partial sums of the letters."""
    return tuple(
        apply_to_entry(lambda form: in_partial_sums(form, letters), entry) for entry in entries
    )


def _size(entries: Entries) -> int:
    """Return the number of terms of entries."""
    return sum(len(form.terms) for entry in entries for form in _forms(entry))


def _is_long(entries: Entries) -> bool:
    """Return True if an entry has more than MOST_TERMS terms."""
    return any(len(form.terms) > MOST_TERMS for entry in entries for form in _forms(entry))


def _forms(entry: MultiAngle | Quotient) -> tuple[MultiAngle, ...]:
    """Return an entry, or its numerator and denominator."""
    return (entry.numerator, entry.denominator) if isinstance(entry, Quotient) else (entry,)


def parse_general(mechanism: Mechanism, words: Words) -> tuple[Affine, ...] | None:
    """Return the indices of a request such as M[i,j] or B[i+1,i]; None if it has no letters i, j, k
    or l that are not names of joints.
    """
    if words.indices is None:
        return None
    names = {joint.name for joint in mechanism.joints}
    indices = []
    for text in words.indices:
        match = None if text in names else _INDEX.fullmatch(text)
        if match is not None:
            indices.append(Affine(match[1], int(match[2] or 0)))
        elif re.fullmatch(r"[0-9]{1,6}", text):
            indices.append(Affine("", int(text)))
        else:
            return None
    return tuple(indices) if any(index.variable not in ("", "n") for index in indices) else None


def is_general(mechanism: Mechanism, request: str) -> bool:
    """Return True for a request such as M[i,j], which stands for all links of a chain."""
    words = parse_request(request)
    return words is not None and parse_general(mechanism, words) is not None
