"""Recursion steps for a general link of a chain of like links: P[i] in terms of P[i+1].

Letters with divisions, such as P, D and G of RK or M̂ and ψ̂ of SA, have no closed form of readable
size on long chains. Their recursion has one: the block of link i is a rational function of the
angle q[i+1] and of the articulated-body inertia of link i + 1. The operators of `symgen.papers`
compute it on links i and i + 1, with a matrix of symbols as the inertia of link i + 1. That is
correct because the last link's articulated-body inertia is its own inertia.

Entries of the articulated-body inertia that are zero for every link, or equal to each other, are
found on a chain of rational numbers. They are proved by induction from the last link inward: they
hold for the inertia of the last link, and the step keeps them.

Letters of two links, such as ψ(i, j) of RK or α_ij of SA, are products over the links between.
Their step goes from link i + 1 to link i: ψ(i, j) is ψ(i, i+1) times ψ(i+1, j), and the wrench
ψ̂_ij of SA is ψ̂_{i+1,j}, carried by one link inward. The entry M_ij of a chain is p_iᵀ times the
wrench f_ij, which is M̃_j p_j, carried inward in the same way; M̃_j is the inertia of the links
from j on, as one body.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from symgen.inspection.canonical import Canonical, Names, TooLong, form_of_fraction
from symgen.inspection.general.formulas import Affine
from symgen.inspection.general.request import chain_of
from symgen.inspection.names import latex
from symgen.inspection.printing import align_latex, print_grid, visible_width
from symgen.mechanism.mechanism import Mechanism
from symgen.papers import rk, sa
from symgen.papers.blocks import stacked, zeros
from symgen.papers.chain import Chain, State, chain, random_state
from symgen.papers.identities import without_drives
from symgen.papers.rational_functions import Functions, Ratio, TooManyProducts
from symgen.reference.precision import Array
from symgen.support.errors import RequestError

SAMPLED = 6
"""Links of the chain on which equal and vanishing entries are found."""
MOST_PRODUCTS = 40_000_000
"""Most products of terms of a step: about half a minute."""
STATES = 2
"""Random states of that chain."""
FORMATS = ("text", "latex")
WIDEST = 100
"""Characters of the widest row of a matrix."""


class _Saha(sa.Operators):
    """SA's operators on a chain whose last link has this articulated-body inertia, in its axes."""

    def __init__(self, links: Chain, tip_inertia: Array) -> None:
        super().__init__(links)
        self.tip_inertia = tip_inertia

    def extended_mass(self, i: int) -> Array:
        """Return M_i (12) in base axes; for the last link, the given inertia."""
        if i < self.n - 1:
            return np.asarray(super().extended_mass(i))
        R = self.chain.poses[i][0]
        turn = stacked([[R, zeros(3, 3)], [zeros(3, 3), R]])
        return np.asarray(turn @ self.tip_inertia @ turn.T)

    def in_axes_of_first(self, wrench: Array) -> Array:
        """Return a wrench in the axes of the first link."""
        axes = self.chain.poses[0][0].T
        return np.concatenate([axes @ wrench[:3], axes @ wrench[3:]])

    def in_base_axes(self, wrench: Array) -> Array:
        """Return a wrench that is given in the axes of the last link, in those of the base."""
        axes = self.chain.poses[-1][0]
        return np.concatenate([axes @ wrench[:3], axes @ wrench[3:]])

    def move_inward(self, wrench: Array) -> Array:
        """Return a wrench at C_1, in the axes of link 1, as a wrench at C_0, in those of link 0
        (32).
        """
        return self.in_axes_of_first(self.B(1, 0).T @ self.in_base_axes(wrench))

    def power(self, wrench: Array) -> Any:
        """Return p_0ᵀ times a wrench at C_0 in the axes of link 0, the last one (16), (31)."""
        return self.p(0) @ self.in_base_axes(wrench)

    def composite_wrench(self, i: int, j: int) -> Array:
        """Return B_jiᵀ M̃_j p_j of (16), in base axes: the wrench at C_i that accelerates joint j
        by one, the links from j on being one rigid body.
        """
        return np.asarray(self.B(j, i).T @ self.composite(j) @ self.p(j))


def _riccati(links: Chain, tip_inertia: Array) -> rk.Operators:
    """Return RK's operators on a chain whose last link has a given articulated-body inertia."""
    *inner, tip = links.links
    return rk.Operators(replace(links, links=(*inner, replace(tip, inertia=tip_inertia))))


@dataclass(frozen=True)
class Rule:
    """Step of one letter.

    `offsets` are the links of its indices, counted from i; None is a link j > i. `block` computes
    it from the operators of a chain of links i and i + 1 if `of_child`, else of link i alone. The
    articulated-body inertia of the last of these links is given. If `wrench` is a letter, its
    wrench at the last of these links is given in place of it, in the axes of that link. This is the
    second argument of `block`.
    """

    offsets: tuple[int | None, ...]
    of_child: bool
    block: Callable[..., Any]
    wrench: str = ""

    def fits(self, indices: Sequence[Affine]) -> bool:
        """True if these are indices of a block that the step gives."""
        first = indices[0]
        return len(indices) == len(self.offsets) and all(
            index.variable != first.variable or index.constant > 0
            if offset is None
            else (index.variable, index.constant) == (first.variable, offset)
            for offset, index in zip(self.offsets, indices, strict=True)
        )


def _rules_of_wrench(letter: str, wrench: Callable[[Any, int, int], Array]) -> tuple[Rule, ...]:
    """Return the rules of a wrench of SA that is carried inward: at link i, from link i + 1, and
    from a link j > i. `wrench` computes that of link j at C_i, in base axes.
    """
    return (
        Rule((0, 0), False, lambda o: o.in_axes_of_first(wrench(o, 0, 0))),
        Rule((0, 1), True, lambda o: o.in_axes_of_first(wrench(o, 0, 1))),
        Rule((0, None), True, _Saha.move_inward, letter),
    )


ALPHA = (
    Rule((0, 1), True, lambda o: o.alpha(0, 1)),
    Rule((0, None), False, _Saha.power, "psihat"),
)
"""Rules of α_ij = p_iᵀ ψ̂_ij of SA (31), the entries of U (19)."""


@dataclass(frozen=True, eq=False)
class Recursion:
    """Recursion of a method's inertias of articulated or composite bodies.

    `source` names its equations. `state` is the letter of the inertia, and `inertia` computes that
    of a link, in the axes of the link, from the `operators` of a chain. `with_tip` returns the
    operators of a chain whose last link has a given one. `rules` are the steps of each letter.
    `results` are the letters that are results of functions, by any method. `unlisted` is a wrench
    that is no letter of the method: its steps are shown below those of a letter that they lead to.
    """

    method: str
    source: str
    state: str
    operators: Callable[[Chain], Any]
    with_tip: Callable[[Chain, Array], Any]
    inertia: Callable[[Any, int], Array]
    rules: Mapping[str, tuple[Rule, ...]]
    results: tuple[str, ...] = ()
    unlisted: str = ""

    def rule(self, method: str | None, letter: str, indices: Sequence[Affine]) -> Rule | None:
        """Return the rule of a letter of a method at these indices, or of a result if `method` is
        None.
        """
        if method is None:
            has_letter = letter in self.results
        else:
            is_listed = letter not in (*self.results, self.unlisted)
            has_letter = is_listed and method.partition(":")[0] == self.method
        rules = self.rules.get(letter, ()) if has_letter else ()
        return next((rule for rule in rules if rule.fits(indices)), None)


RECURSIONS = (
    Recursion(
        "riccati",
        "Rodriguez & Kreutz 1988, (4.4)-(4.7), (5.12)",
        "P",
        rk.Operators,
        _riccati,
        lambda o, i: o.articulated(i).P,
        {
            "P": (Rule((0,), True, lambda o: o.articulated(0).P),),  # (4.4), (4.5)
            "D": (Rule((0,), False, lambda o: o.articulated(0).D),),  # (4.6)
            "G": (Rule((0,), False, lambda o: o.articulated(0).G),),  # (5.12)
            "L": (Rule((0,), False, lambda o: o.articulated(0).L),),  # (4.4)
            "psi": (
                Rule((0, 1), True, lambda o: o.transition(1)),  # (4.7)
                Rule((0, None), True, lambda o: o.transition(1)),  # times ψ(i+1, j), below (4.7)
            ),
        },
    ),
    Recursion(
        "udut",
        "Saha, (15), (16)",
        "Mtilde",
        sa.Operators,
        _Saha,
        lambda o, i: o.in_link_axes(i, o.composite(i)),
        {
            "Mtilde": (Rule((0,), True, lambda o: o.in_link_axes(0, o.composite(0))),),  # (15)
            "M": (  # (16)
                Rule((0, 0), False, lambda o: o.p(0) @ o.composite_wrench(0, 0)),
                Rule((0, 1), True, lambda o: o.p(0) @ o.composite_wrench(0, 1)),
                Rule((0, None), False, _Saha.power, "f"),
            ),
            "f": _rules_of_wrench("f", _Saha.composite_wrench),
        },
        results=("M",),
        unlisted="f",
    ),
    Recursion(
        "udut",
        "Saha, (31)-(35)",
        "Mhat",
        sa.Operators,
        _Saha,
        lambda o, i: o.in_link_axes(i, o.articulated(i)),
        {
            "Mhat": (Rule((0,), True, lambda o: o.in_link_axes(0, o.articulated(0))),),  # (35)
            "mhat": (Rule((0,), False, lambda o: o.m_hat(0)),),  # (32)
            "D": (Rule((0,), False, lambda o: o.m_hat(0)),),  # (20)
            "psi": _rules_of_wrench("psi", sa.Operators.psi),  # (32)
            "psihat": _rules_of_wrench("psihat", sa.Operators.psi_hat),  # (33)
            "alpha": ALPHA,  # (31)
            "U": ALPHA,  # (19)
        },
    ),
)


def _shifted(variable: str, offset: int) -> str:
    """Return i+1 from i and 1."""
    return f"{variable}+{offset}" if offset else variable


def _in_latex(block: str) -> str:
    """Return \\psi_{i,j} from psi[i,j]."""
    letter, _, indices = block.rstrip("]").partition("[")
    return f"{latex(letter)}_{{{indices}}}"


def _indices(offsets: Iterable[int | None]) -> str:
    """Return "i+1,j" from 1 and None."""
    return ",".join("j" if offset is None else _shifted("i", offset) for offset in offsets)


LETTERS_WITH_STEPS = tuple(
    f"{letter}[{_indices(rule.offsets)}]"
    + ("" if letter in recursion.results else f" of {recursion.method}")
    for recursion in RECURSIONS
    for letter, rules in recursion.rules.items()
    for rule in rules
    if letter != recursion.unlisted
)
"""Requests that have a recursion step."""


@dataclass(frozen=True)
class Pattern:
    """Pattern of a symmetric 6x6 matrix or of a wrench: zero entries, and equal entries up to sign.
    `entries` maps each entry (r, c) with r ≤ c to (sign, row, column) of the entry that stands for
    it, or to None if it is zero. A wrench has the column c = 0 only.
    """

    entries: Mapping[tuple[int, int], tuple[int, int, int] | None]

    @property
    def columns(self) -> int:
        """Number of columns: 6, or 1 of a wrench."""
        return 1 + max(c for _, c in self.entries)

    @property
    def symbols(self) -> list[tuple[int, int]]:
        """Entries that stand for themselves."""
        return [index for index, entry in self.entries.items() if entry == (1, *index)]

    def position(self, r: int, c: int) -> str:
        """Return the text of an index: [r,c], or [r] of a wrench."""
        return f"[{r},{c}]" if self.columns > 1 else f"[{r}]"

    @property
    def zero(self) -> tuple[str, ...]:
        """Indices of the entries that are zero."""
        return tuple(self.position(*index) for index, entry in self.entries.items() if not entry)

    @property
    def equal(self) -> tuple[str, ...]:
        """Entries that equal another one, such as [2,4] = [2,2]."""
        return tuple(
            f"{self.position(*index)} = {'-' if entry[0] < 0 else ''}{self.position(*entry[1:])}"
            for index, entry in self.entries.items()
            if entry is not None and entry[1:] != index
        )

    def matrix(self, values: Mapping[tuple[int, int], Any]) -> Array:
        """Return the matrix with these values of the `symbols`."""
        matrix = zeros(6, self.columns)
        for (r, c), entry in self.entries.items():
            if entry is not None:
                sign, row, column = entry
                matrix[r, c] = sign * values[row, column]
                if self.columns > 1:
                    matrix[c, r] = matrix[r, c]
        return matrix

    def holds(self, matrix: Array) -> bool:
        """True if a wrench, or a symmetric matrix, has this pattern."""
        values = {index: matrix[index] for index in self.symbols}
        return not np.any(matrix - self.matrix(values) != 0)


EVERY_ENTRY = Pattern({(r, c): (1, r, c) for r, c in combinations_with_replacement(range(6), 2)})
"""A symmetric matrix without equal or vanishing entries."""
EVERY_COMPONENT = Pattern({(r, 0): (1, r, 0) for r in range(6)})
"""A wrench without equal or vanishing components."""


def pattern_of(matrices: Sequence[Array]) -> Pattern:
    """Return the pattern that all of these symmetric matrices, or wrenches (6x1), have."""
    named: dict[tuple[Any, ...], tuple[int, int]] = {}
    entries: dict[tuple[int, int], tuple[int, int, int] | None] = {}
    every = EVERY_ENTRY if matrices[0].shape[1] == 6 else EVERY_COMPONENT
    for r, c in every.entries:
        values = tuple(matrix[r, c] for matrix in matrices)
        opposite = tuple(-x for x in values)
        if not any(values):
            entries[r, c] = None
        elif opposite in named:
            entries[r, c] = (-1, *named[opposite])
        else:
            entries[r, c] = (1, *named.setdefault(values, (r, c)))
    return Pattern(entries)


@dataclass(frozen=True)
class Steps:
    """Blocks of a letter for a general link, in terms of the articulated-body inertia, or of a
    wrench, of this link or of the next one.

    `label` is the request, and `variable` its first index. `state` is the letter of the inertia or
    wrench, and `offset` its link, counted from i. `last` is the second index of a letter of any two
    links, such as j, or "". The last `reach` links have no block. `cases` are (link, block): a link
    such as 0 or n − 1, or None for all links that no other case has. In a block, q0 and q1 are the
    coordinates of links i and i + 1. entry_R_C is entry (R, C) of the inertia or wrench, which has
    the `pattern`. `method` has the letters, and `source` names the equations. `product` is the
    recursion of a letter of two links whose step this is, or "". `below` are the steps of the
    wrench `state`, if no request shows them.
    """

    label: str
    variable: str
    state: str
    offset: int
    cases: tuple[tuple[Affine | None, Canonical], ...]
    pattern: Pattern
    method: str
    source: str
    reach: int
    last: str = ""
    product: str = ""
    below: tuple[Steps, ...] = ()

    def block(self, n: int, i: int) -> Canonical:
        """Return the block of link i of n links; its symbols are those of the class.

        RequestError for fewer than three links, or if link i or one that the block needs is not
        among them.
        """
        reach = self.reach
        if n < 3 or not 0 <= i < n - reach:
            raise RequestError(
                f"{self.label} has no block for n = {n} and {self.variable} = {i}; take n ≥ 3 and "
                f"0 ≤ {self.variable} < n{f' - {reach}' if reach else ''}"
            )
        return next(block for link, block in self.cases if link is None or link.at({"n": n}) == i)

    @property
    def order(self) -> str:
        """The condition on the two links of a letter, such as i < j; "" if it has one link, or if
        the indices say so.
        """
        is_given = not self.last or self.last.startswith(self.variable)
        return "" if is_given else f"{self.variable} < {self.last}"

    @property
    def neighbour(self) -> str:
        """The inertia or wrench whose entries stand in the formulas, such as P[i+1]."""
        last = f",{self.last}" if self.pattern.columns == 1 else ""
        return f"{self.state}[{_shifted(self.variable, self.offset)}{last}]"

    @property
    def notation(self) -> str:
        """Meaning of the entries, and the entries that are not named."""
        if self.pattern.columns > 1:
            meaning = f"{self.neighbour}[r,c] is an entry of that block, which is symmetric"
        elif self.below:
            meaning = (
                f"{self.neighbour}[r] is a component of the wrench for an acceleration of 1 of"
                f" joint {self.last}, with the links from {self.last} on as one body; it acts at"
                f" the mass centre of link {self.variable}, in the axes of that link"
            )
        else:
            meaning = f"{self.neighbour}[r] is a component of that wrench"
        texts = [meaning, *(() if self.below else self._entries_not_named)]
        if len(self.cases) > 1 and self.order:
            texts.append(f"all cases are for {self.order}")
        for steps in self.below:
            texts += steps._entries_not_named
        return "; ".join(dict.fromkeys(texts))

    @property
    def _entries_not_named(self) -> list[str]:
        """The entries that are zero or equal to others."""
        zero, equal = self.pattern.zero, self.pattern.equal
        if not zero and not equal:
            return []
        texts = [f"the entries {', '.join(zero)} of {self.neighbour} are zero"] if zero else []
        if equal:
            texts.append(
                f"in {self.neighbour}, {', '.join(equal)}" if not zero else ", ".join(equal)
            )
        link = f"link {self.last}" if self.pattern.columns == 1 else "the last link"
        return ["; ".join([*texts, f"this is proved by induction from {link}"])]

    def text(self, format: str = "text", full: bool = False) -> str:
        """Return the formulas as "text" or "latex", one case after the other. Unless `full`, long
        sums are shortened.

        A wide matrix is printed as one equation per entry that is not zero; of an articulated-body
        inertia or a carried wrench, entries that the `pattern` gives are left out.
        """
        if format not in FORMATS:
            raise RequestError(
                f"recursion steps are written as {' or '.join(FORMATS)}; write numbers in place of"
                f" the letters of '{self.label}' for {format}"
            )
        lines = [line for steps in (self, *self.below) for line in steps.lines(format, full)]
        return align_latex(lines) if format == "latex" else "\n".join(lines)

    def lines(self, format: str, full: bool) -> Iterator[str]:
        """Yield the lines of `text`, without those that every LaTeX formula has."""
        if self.product:
            label, _, factors = self.product.partition(" = ")
            value = factors if format == "text" else " ".join(map(_in_latex, factors.split("*")))
            yield self._equation(label, value, self.order, format)
        for link, block in self.cases:
            condition = f"{self.variable} = {link}" if link else "otherwise"
            if len(self.cases) == 1:
                condition = "" if self.product else self.order
            yield from self._case(condition, block, format, full)

    def _case(self, condition: str, block: Canonical, format: str, full: bool) -> Iterator[str]:
        texts = [self._with_indices(entry.text(format, full), format) for entry in block.entries]
        columns = block.shape[1] if block.shape else 1
        rows = [texts[n : n + columns] for n in range(0, len(texts), columns)]
        width = visible_width if format == "latex" else len
        widest = sum(max(map(width, column)) for column in zip(*rows, strict=True))
        if not block.shape or widest <= WIDEST:
            value = print_grid(rows, format) if block.shape else texts[0]
            yield self._equation(self.label, value, condition, format)
            return
        if condition:
            heading = f"{'' if condition == 'otherwise' else 'for '}{condition}:"
            yield rf"& \text{{{heading}}}" if format == "latex" else heading
        is_state = self.label.partition("[")[0] == self.state and not self.product
        for n, text in enumerate(texts):
            index = divmod(n, columns)
            if text != "0" and (not is_state or index in self.pattern.symbols):
                position = f"[{index[0]},{index[1]}]" if columns > 1 else f"[{index[0]}]"
                yield self._equation(self.label + position, text, "", format)

    def _equation(self, label: str, value: str, condition: str, format: str) -> str:
        """Return the text of one equation and its condition."""
        if format == "latex":
            block, _, position = label.rstrip("]").partition("][")
            name = f"[{_in_latex(block)}]_{{{position}}}" if position else _in_latex(block)
            is_otherwise = condition == "otherwise"
            where = rf"\text{{{condition}}}" if is_otherwise else condition
            return f"{name} &= {value}" + (f" && {where}" if where else "")
        where = f"    {'' if condition == 'otherwise' else 'for '}{condition}" if condition else ""
        if "\n" in value:
            return f"{label} ={where}\n{value}"
        return f"{label} = {value}{where}"

    def _with_indices(self, text: str, format: str) -> str:
        """Return a text with q[i+1] in place of q1 and P[i+1][r,c] in place of entry_r_c."""
        links = [_shifted(self.variable, link) for link in (0, 1)]

        def component(match: re.Match[str]) -> str:
            return self.pattern.position(int(match[1]), int(match[2]))[1:-1]

        if format == "latex":
            text = re.sub(r"q_\{([01])\}", lambda match: f"q_{{{links[int(match[1])]}}}", text)
            return re.sub(
                r"\\mathrm\{entry\}_\{(\d),(\d)\}",
                lambda match: rf"[{_in_latex(self.neighbour)}]_{{{component(match)}}}",
                text,
            )
        text = re.sub(r"\bq([01])\b", lambda match: f"q[{links[int(match[1])]}]", text)
        return re.sub(
            r"\bentry_(\d)_(\d)\b",
            lambda match: f"{self.neighbour}[{component(match)}]",
            text,
        )

    def __str__(self) -> str:
        return self.text()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.text('latex')}$"


class Stepping:
    """Steps of the links of a chain of SAMPLED like links, over rational functions.

    `pattern` is the proved pattern of the articulated-body inertias.
    """

    def __init__(self, links: Mechanism, recursion: Recursion) -> None:
        self.links, self.recursion = links, recursion
        self.pattern = EVERY_ENTRY
        inertias: list[Array] = []
        for seed in range(STATES):
            numbers = chain(links, random_state(links, seed))
            if numbers.rounded:
                raise RequestError(
                    f"'{links.name}' has irrational rotations, for which {recursion.source} have no"
                    " exact step; write numbers in place of the letters"
                )
            operators = recursion.operators(numbers)
            inertias += [recursion.inertia(operators, i) for i in reversed(range(SAMPLED))]
        self.tip_inertia = inertias[0]
        self.pattern = pattern_of(inertias)
        state = recursion.rules[recursion.state][0]
        kinds = (0, 1, SAMPLED - 2)  # the links between are like link 1, and so are their children
        if not all(self.pattern.holds(self.entries(state, i)) for i in kinds):
            self.pattern = EVERY_ENTRY
        self._wrenches: dict[str, Pattern] = {}

    def pattern_for(self, rule: Rule) -> Pattern:
        """Return the pattern of the inertia or wrench in terms of which a rule gives its block."""
        if not rule.wrench:
            return self.pattern
        return self._wrenches.get(rule.wrench) or self._find_zeros(rule.wrench)

    def _find_zeros(self, letter: str) -> Pattern:
        """Return the pattern of the wrenches of a letter at links 0 … j: the components that vanish
        at link j > 0 and stay zero from link to link inward.
        """
        at_link, _, inward = self.recursion.rules[letter]
        blocks = [self.entries(at_link, j) for j in (1, SAMPLED - 1)]
        while True:
            entries = {
                index: entry if any(block[index] != 0 for block in blocks) else None
                for index, entry in EVERY_COMPONENT.entries.items()
            }
            pattern = self._wrenches[letter] = Pattern(entries)
            stepped = [self.entries(inward, i) for i in (0, 1, SAMPLED - 2)]
            if all(map(pattern.holds, stepped)):
                return pattern
            blocks += stepped

    def entries(self, rule: Rule, i: int) -> Array:
        """Return the block of link i as a matrix of rational functions."""
        part = self._part(i, rule)
        pattern = self.pattern_for(rule)
        generators = _Generators(part, pattern)
        matrix = pattern.matrix(generators.entries)
        inertia, wrench = (zeros(6, 6), (matrix[:, 0],)) if rule.wrench else (matrix, ())
        try:
            operators = self.recursion.with_tip(chain(part, generators.state), inertia)
            block = np.asarray(rule.block(operators, *wrench), dtype=object)
        except TooManyProducts:
            raise TooLong(
                f"a step of {self.recursion.state} takes more than {MOST_PRODUCTS} products of"
                " terms; write numbers in place of the letters"
            ) from None
        block = np.asarray(np.frompyfunc(generators.function, 1, 1)(block), dtype=object)
        return block.reshape(-1, 1) if block.ndim < 2 else block

    def block(self, label: str, rule: Rule, i: int) -> Canonical:
        """Return the block of link i in canonical form."""
        generators = _Generators(self._part(i, rule), self.pattern_for(rule))
        return _canonical(label, self.entries(rule, i), generators)

    def last(self, label: str) -> Canonical:
        """Return the articulated-body inertia of the last link: its own inertia."""
        generators = _Generators(self._part(SAMPLED - 1, None), self.pattern)
        function = np.frompyfunc(generators.function, 1, 1)
        return _canonical(label, np.asarray(function(self.tip_inertia), dtype=object), generators)

    def _part(self, i: int, rule: Rule | None) -> Mechanism:
        """Return link i, and link i + 1 if the rule needs it, as a robot."""
        count = 2 if rule is not None and rule.of_child else 1
        joints = (replace(self.links.joints[i + n], parent=n - 1) for n in range(count))
        return replace(
            self.links,
            joints=tuple(joints),
            bodies=self.links.bodies[i : i + count],
            frames=(),
            notes=(),
        )


class _Generators:
    """Generators of the rational functions of a chain of one or two links, in the order of
    `form_of_fraction`.
    """

    def __init__(self, part: Mechanism, pattern: Pattern) -> None:
        self.count = len(part.joints)
        units = [joint.type.positions[0].unit for joint in part.joints]
        self.angles = [n for n, unit in enumerate(units) if unit == "rad"]
        lengths = [f"q{n}" for n in range(self.count) if n not in self.angles]
        named = {index: f"entry_{index[0]}_{index[1]}" for index in pattern.symbols}
        self.others = [*lengths, *named.values()]
        names = [f"t{n}" for n in self.angles] + self.others + [f"q{n}" for n in self.angles]
        self.field = Functions(names, MOST_PRODUCTS)
        values = dict(zip(names, self.field.symbols(), strict=True))
        self.entries = {index: values[name] for index, name in named.items()}
        zero = self.field.number(0)
        self.state = State(
            [values.get(f"t{n}", zero) for n in range(self.count)],
            [values[f"q{n}"] for n in range(self.count)],
            self.field.number,
        )

    def function(self, x: Any) -> Ratio:
        """Return a number or a function as a function in lowest terms."""
        return (x if isinstance(x, Ratio) else self.field.number(x)).lowest()


def _canonical(request: str, entries: Array, generators: _Generators) -> Canonical:
    """Return rational functions in canonical form."""
    names = Names({}, str, generators.count, request)
    forms = []
    for entry in entries.flat:
        above, below = entry.fraction()
        forms.append(form_of_fraction(above, below, generators.angles, generators.others, names))
    rows, columns = entries.shape
    return Canonical(request, () if rows == columns == 1 else (rows, columns), tuple(forms))


@lru_cache(maxsize=8)
def _stepping(links: Mechanism, recursion: Recursion) -> Stepping:
    """Return the steps of a chain by a recursion."""
    return Stepping(links, recursion)


def rule_of(
    method: str | None, letter: str, indices: Sequence[Affine]
) -> tuple[Recursion, Rule] | None:
    """Return the recursion and the rule of a letter at these indices, such as P[i] or alpha[i,j],
    or None.

    `method` None stands for a result of a function, by any method.
    """
    if not indices or indices[0].variable in {"", "n"}:
        return None
    for recursion in RECURSIONS:
        rule = recursion.rule(method, letter, indices)
        if rule is not None:
            return recursion, rule
    return None


def steps(
    mechanism: Mechanism, method: str | None, request: str, letter: str, indices: Sequence[Affine]
) -> Steps:
    """Return the recursion step of a letter for a general link, which has a rule (`rule_of`).

    RequestError if the robot is no chain of like links, has drives, or has irrational rotations.
    TooLong if a step takes more than MOST_PRODUCTS products of terms.
    """
    recursion_and_rule = rule_of(method, letter, indices)
    assert recursion_and_rule is not None
    recursion, rule = recursion_and_rule
    links = chain_of(mechanism, SAMPLED, request)
    if without_drives(links) != links:
        raise RequestError(
            f"'{mechanism.name}' has drives, and the recursion of the paper has none; leave"
            " --drives out"
        )
    stepping = _stepping(links, recursion)
    result = _steps(stepping, rule, request, letter, indices)
    if rule.wrench and rule.wrench == recursion.unlisted:
        result = replace(result, below=tuple(_steps_of_wrench(stepping, rule.wrench, indices)))
    return result


def _steps_of_wrench(stepping: Stepping, wrench: str, indices: Sequence[Affine]) -> Iterator[Steps]:
    """Yield the step of a wrench from link to link, and its first value, f[j,j] for j > 0."""
    at_link, _, inward = stepping.recursion.rules[wrench]
    first, last = indices
    start = Affine("j" if first.variable != "j" else "i", 0)
    yield _steps(stepping, inward, f"{wrench}[{first},{last}]", wrench, indices)
    value = _steps(stepping, at_link, f"{wrench}[{start},{start}]", wrench, (start, start))
    cases = tuple(case for case in value.cases if case[0] != Affine("", 0))
    yield replace(value, cases=cases)


def _steps(
    stepping: Stepping, rule: Rule, request: str, letter: str, indices: Sequence[Affine]
) -> Steps:
    """Return the step of a letter by one rule."""
    recursion = stepping.recursion
    variable, is_between = indices[0].variable, None in rule.offsets
    label, product = request, ""
    last = str(indices[1]) if is_between else ""
    if is_between and not rule.wrench:
        label = f"{letter}[{variable},{_shifted(variable, 1)}]"
        product = f"{request} = {label}*{letter}[{_shifted(variable, 1)},{last}]"
    is_state = letter == recursion.state
    reach = 0 if is_state else int(rule.of_child or is_between)
    usual = stepping.block(label, rule, 1)
    cases: list[tuple[Affine | None, Canonical]] = []
    if is_state:
        cases.append((Affine("n", -1), stepping.last(label)))
    for link in (Affine("", 0), Affine("n", -1 - int(rule.of_child or is_between))):
        block = stepping.block(label, rule, link.at({"n": SAMPLED}))
        if block.entries != usual.entries:
            cases.append((link, block))
    cases.append((None, usual))
    return Steps(
        label,
        variable,
        rule.wrench or recursion.state,
        int(rule.of_child),
        tuple(cases),
        stepping.pattern_for(rule),
        recursion.method,
        recursion.source,
        reach,
        last,
        product,
    )
