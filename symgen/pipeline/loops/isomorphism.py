"""Whether the links in the middle of a chain are the same, row for row but for signs, which ride with atoms from link to link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from symgen.ir.program import Program
from symgen.pipeline.loops.link_assignment import Group, Ref, Taken, Unlike


class Folded(NamedTuple):
    """The links of a chain, of each class the link that stands for it, and how many levels there are.

    `turned` are rows that are handed on with the opposite sign, by class, `swapped` those of links that take the other operand
    first.
    """

    groups: list[Group]
    standing: dict[int, int]
    levels: int
    turned: set[tuple[int, int]]
    swapped: dict[int, set[int]]


def folded(
    chain: Program, groups: list[Group], classes: Sequence[int], middle: Sequence[int]
) -> Folded:
    """The links of `middle` by class, which must be the same but for signs; `classes` are those of all links.

    A sign is a sum modulo 2: of bit 0, of a bit for all that each link is given, which may be the opposite of what the link that
    stands for it is given, and of a bit for all that the links of a class hand on. What a link is given is what its neighbour
    has, which may itself be the opposite, and what such links hand on.
    """
    standing: dict[int, int] = {}
    bits = Bits()
    likeness: dict[int, Likeness] = {}
    results = {r for port in chain.outputs for r in port.rows}
    for i in middle:
        first = standing.setdefault(classes[i], i)
        likeness[i] = _alike(
            chain, groups[first], groups[i], f"links {first + 1} and {i + 1}", bits
        )
        bits.equations += [
            sign for sign, r in zip(likeness[i].signs, groups[i].rows, strict=True) if r in results
        ]
    for i, found in likeness.items():
        for (side, row), bit in found.given.items():
            there = i + side
            if i == standing[classes[i]]:
                bits.equations.append(bit)
            if there in likeness:
                bits.equations.append(
                    bit ^ likeness[there].signs[row] ^ bits.of(classes[there], row)
                )
    known = bits.solved()
    if known is None:
        raise Unlike(
            f"links of {chain.function} by {chain.method} differ by signs that do not go together"
        )
    levels = 1 + max((level for i in standing.values() for level in groups[i].level), default=0)
    turned = {
        (own, row)
        for own, i in standing.items()
        for row in range(len(groups[i].rows))
        if _value(bits.of(own, row), known)
    }
    return Folded(groups, standing, levels, turned, {i: likeness[i].swapped for i in middle})


class Bits:
    """Unknown signs, and sums of them that are 0."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, ...], int] = {}
        self.equations: list[int] = []

    def of(self, *what: int) -> int:
        """The bit of something."""
        return 2 << self._places.setdefault(what, len(self._places))

    def solved(self) -> dict[int, int] | None:
        """Each bit by place; those that may be either are 0. None where the sums do not go together."""
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
        known: dict[int, int] = {}
        for top in sorted(rows):
            known[top] = _value(rows[top] ^ (1 << top), known)
        return known


def _value(x: int, known: Mapping[int, int]) -> int:
    return (x & 1) ^ sum(known.get(bit, 0) for bit in range(1, x.bit_length()) if x >> bit & 1) % 2


class Likeness(NamedTuple):
    """How a link is like another: the sign of each row and of what it is given, by side and row, and which rows take the other
    operand first."""

    signs: list[int]
    given: dict[tuple[int, int], int]
    swapped: set[int]


def _alike(chain: Program, one: Group, other: Group, where: str, bits: Bits) -> Likeness:
    """`other` row by row as `one`, but for signs. Raises Unlike."""

    def unlike(why: str) -> Unlike:
        return Unlike(f"{where} of {chain.function} by {chain.method} differ: {why}")

    if len(one.rows) != len(other.rows):
        raise unlike(f"{len(one.rows)} and {len(other.rows)} rows")
    given: dict[tuple[int, int], int] = {}
    signs: list[int] = []
    swapped: set[int] = set()
    met: dict[tuple[int, int], int] = {}

    def sign(x: Taken) -> int:
        if not isinstance(x, Ref):
            return 0
        return (
            signs[x.row]
            if not x.side
            else given.setdefault((x.side, x.row), bits.of(other.link, x.side, x.row))
        )

    for k, (mine, its) in enumerate(zip(one.takes, other.takes, strict=True)):
        a, b = chain.rows[one.rows[k]].op, chain.rows[other.rows[k]].op
        minus, less = int(a == "sub"), int(b == "sub")
        sums = {a, b} <= {"add", "sub"}
        if (a != b and not sums) or one.level[k] != other.level[k]:
            raise unlike(f"row {k} is {a} and {b}")
        order = (
            _order(mine, its, met) if len(its) == 2 and a != "div" else int(not _same(mine, its))
        )
        if order is None or (order and (len(its) != 2 or a == "div")):
            raise unlike(f"row {k} ({a}) takes {mine} and {its}")
        if order:
            its = (its[1], its[0])
            swapped.add(k)
        both = [
            (x, y)
            for x, y in zip(mine, its, strict=True)
            if isinstance(x, Ref) and isinstance(y, Ref)
        ]
        met |= {(y.side, y.row): x.row for x, y in both if y.side}
        if sums:  # where its second operand stands first, it is that one that it subtracts
            first, second = (
                sign(its[0]) ^ (less if order else 0),
                sign(its[1]) ^ minus ^ (0 if order else less),
            )
            bits.equations.append(first ^ second)
            signs.append(first)
        elif a in ("mul", "div"):
            signs.append(sign(its[0]) ^ sign(its[1]))
        elif a in ("neg", "sin"):
            signs.append(sign(its[0]))
        else:
            if a not in ("cos", "input"):
                bits.equations += [sign(x) for x in its]
            signs.append(0)
    return Likeness(signs, given, swapped)


def _order(
    mine: Sequence[Taken], its: Sequence[Taken], met: Mapping[tuple[int, int], int]
) -> int | None:
    """0 where two operands stand as those of the other, 1 where they are the other way round; None for neither. Of two that a
    neighbour hands on both may be, and `met` tells what each was taken for before.
    """
    turned = (its[1], its[0])

    def known(operands: Sequence[Taken]) -> bool:
        return all(
            not isinstance(y, Ref)
            or not isinstance(x, Ref)
            or met.get((y.side, y.row), x.row) == x.row
            for x, y in zip(mine, operands, strict=True)
        )

    if _same(mine, its) and (known(its) or not _same(mine, turned)):
        return 0
    return 1 if _same(mine, turned) else None


def _same(mine: Sequence[Taken], its: Sequence[Taken]) -> bool:
    return all(
        x == y or (isinstance(x, Ref) and isinstance(y, Ref) and x.side == y.side != 0)
        for x, y in zip(mine, its, strict=True)
    )
