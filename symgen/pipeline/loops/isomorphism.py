"""Comparison of the links in the middle of a sample chain: they have the same rows, apart from
signs.

A sign travels with a value from link to link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from symgen.ir.program import Program
from symgen.pipeline.loops.link_assignment import LinkRows, NotUniform, Operand, Ref


class UniformLinks(NamedTuple):
    """The links of a sample chain of which those in the middle are the same."""

    links: list[LinkRows]
    examples: dict[int, int]
    """One link in the middle for each class."""
    negated: set[tuple[int, int]]
    """Rows, by class, that are passed on with the opposite sign."""
    swapped: dict[int, set[int]]
    """Rows, by link, that have their operands in the other order."""


def compare_links(
    chain: Program, links: list[LinkRows], classes: Sequence[int], middle: Sequence[int]
) -> UniformLinks:
    """Compare the links of `middle` with the first one of their class. Raises NotUniform.

    A sign is a sum modulo 2 of bits. Bit 0 is 1. Every value that a link reads from a neighbour has
    a bit, 1 if its sign is opposite to that of the value which the example reads. Every value that
    the links of a class pass on has a bit, too. The value that a link reads is the value that its
    neighbour has, times the sign with which such links pass it on.
    """
    examples: dict[int, int] = {}
    signs = Signs()
    matches: dict[int, Match] = {}
    results = {r for port in chain.outputs for r in port.rows}
    for i in middle:
        example = examples.setdefault(classes[i], i)
        matches[i] = _matched(chain, links[example], links[i], signs)
        signs.equations += [
            sign for sign, r in zip(matches[i].signs, links[i].rows, strict=True) if r in results
        ]
    for i, match in matches.items():
        for (side, row), bit in match.read.items():
            neighbour = i + side
            if i == examples[classes[i]]:
                signs.equations.append(bit)
            if neighbour in matches:
                passed_on = signs.bit(classes[neighbour], row)
                signs.equations.append(bit ^ matches[neighbour].signs[row] ^ passed_on)
    ones = signs.solve()
    if ones is None:
        raise NotUniform(
            f"links of {chain.function} by {chain.method} differ by contradicting signs"
        )
    negated = {
        (number, row)
        for number, i in examples.items()
        for row in range(len(links[i].rows))
        if _parity(signs.bit(number, row), ones)
    }
    swapped = {i: match.swapped for i, match in matches.items()}
    return UniformLinks(links, examples, negated, swapped)


class Signs:
    """Unknown bits, and sums of them that are 0."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, ...], int] = {}
        self.equations: list[int] = []

    def bit(self, *key: int) -> int:
        """Return the bit of a key."""
        return 2 << self._numbers.setdefault(key, len(self._numbers))

    def solve(self) -> int | None:
        """Return the bits that are 1, those where both values are possible left out; None if the
        sums contradict.
        """
        rows: dict[int, int] = {}
        for equation in self.equations:
            while equation > 1:
                top = equation.bit_length() - 1
                if top not in rows:
                    rows[top] = equation
                    break
                equation ^= rows[top]
            if equation == 1:
                return None
        ones = 1
        for top in sorted(rows):
            ones |= _parity(rows[top] ^ (1 << top), ones) << top
        return ones


def _parity(x: int, ones: int) -> int:
    """Return a sum modulo 2, by the bits that are 1."""
    return (x & ones).bit_count() & 1


class Match(NamedTuple):
    """Signs of one link relative to the example of its class.

    `signs` are those of each row, `read` those of values from neighbours, by side and row;
    `swapped` are rows with their operands in the other order.
    """

    signs: list[int]
    read: dict[tuple[int, int], int]
    swapped: set[int]


def _matched(chain: Program, example: LinkRows, link: LinkRows, bits: Signs) -> Match:
    """Compare a link row by row with the example of its class. Raises NotUniform."""

    def different(why: str) -> NotUniform:
        return NotUniform(
            f"links {example.link + 1} and {link.link + 1} of {chain.function} by {chain.method}"
            f" differ: {why}"
        )

    if len(example.rows) != len(link.rows):
        raise different(f"{len(example.rows)} and {len(link.rows)} rows")
    match = Match([], {}, set())
    partners: dict[Operand, Operand] = {}
    """Operand of the example for each operand of the link."""

    def sign(operand: Operand) -> int:
        if not isinstance(operand, Ref):
            return 0
        if not operand.side:
            return match.signs[operand.row]
        return match.read.setdefault(operand, bits.bit(link.link, *operand))

    for k, (expected, operands) in enumerate(zip(example.operands, link.operands, strict=True)):
        a, b = chain.rows[example.rows[k]].op, chain.rows[link.rows[k]].op
        sums = {a, b} <= {"add", "sub"}
        if (a != b and not sums) or example.sweeps[k] != link.sweeps[k]:
            raise different(f"row {k} is {a} and {b}")
        order = _order(expected, operands, partners, a != "div")
        if order is None:
            raise different(f"row {k} ({a}) takes {expected} and {operands}")
        if order:
            operands = (operands[1], operands[0])
            match.swapped.add(k)
        partners |= zip(operands, expected, strict=True)
        even = a in ("cos", "input")
        signs = [] if even else [sign(operand) for operand in operands]
        if sums:  # a difference whose operands change places subtracts the first one
            signs[1 - order] ^= int(b == "sub")
            signs[1] ^= int(a == "sub")
            bits.equations.append(signs[0] ^ signs[1])
            match.signs.append(signs[0])
        elif a in ("mul", "div"):
            match.signs.append(signs[0] ^ signs[1])
        elif a in ("neg", "sin"):
            match.signs.append(signs[0])
        else:
            bits.equations += signs
            match.signs.append(0)
    return match


def _order(
    expected: Sequence[Operand],
    operands: Sequence[Operand],
    partners: Mapping[Operand, Operand],
    commutes: bool,
) -> int | None:
    """Return 0 if the operands agree in their order, 1 if they agree in the other one, None if they
    do not agree.

    Where both orders agree, because a neighbour passes on both, `partners` of earlier rows decide.
    """
    if len(operands) != 2 or not commutes:
        return 0 if _agree(expected, operands) else None
    swapped = (operands[1], operands[0])
    as_before = all(partners.get(y, x) == x for x, y in zip(expected, operands, strict=True))
    if _agree(expected, operands) and (as_before or not _agree(expected, swapped)):
        return 0
    return 1 if _agree(expected, swapped) else None


def _agree(expected: Sequence[Operand], operands: Sequence[Operand]) -> bool:
    """True if operands are equal, or are values of the same neighbour."""
    return all(
        x == y or (isinstance(x, Ref) and isinstance(y, Ref) and x.side == y.side != 0)
        for x, y in zip(expected, operands, strict=True)
    )
