"""A Program as a network, and in which other ways its values may be computed: exact ones, that lose no digits and stand behind
no other division."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence

from symgen.ir.passes._error_bounds import told
from symgen.ir.passes._fingerprints import angles, residues
from symgen.ir.passes._network import Network, Way
from symgen.ir.passes._pair_matches import PRIME as SMALL
from symgen.ir.passes._pair_matches import double, single
from symgen.ir.passes._signed import SUMS, Place, Signed
from symgen.ir.program import Port, Program

PRIME, SEED = 314159265358979347, 1
WORSE = 1.3
"""No value may carry a round-off more than so many times that of the first Program that held it, at any of a few states."""
PARTIAL = ("div", "sqrt", "log", "atan2")
"""Operations behind which values may be large where the result is not."""
Ways = dict[int, list[Way]]
PerState = tuple[float, ...]


class Limits:
    """How far off a value may be, and behind which divisions it may stand: as in the first Program that held it, by its residue.

    `behind` are (the divisions, whether it was a sum of what stands behind some).
    """

    def __init__(self) -> None:
        self.errors: dict[int, PerState] = {}
        self.behind: dict[int, tuple[int, bool]] = {}
        self._divisions: dict[int, int] = {}

    def division(self, value: int) -> int:
        """The bit that stands for a division."""
        return self._divisions.setdefault(value, 1 << len(self._divisions))


class Candidates:
    """The network of a Program (quantities are called by their rows; those from `first` on are new) and other ways for it.

    `usable` is False where its values cannot be compared, for it divides by zero. Where no double holds them, there is no other
    way.
    """

    def __init__(self, program: Program, limits: Limits) -> None:
        self.program, self.limits = program, limits
        found, small = residues(PRIME, SEED, program), residues(SMALL, SEED, program)
        self._v, self._small = found[0] if found else [], small[0] if small else []
        self.usable = bool(self._v and self._small)
        self.first = len(program.rows)
        self._of: list[Place] = []
        """Which quantity a row is, and with which sign."""
        self.network = self._built()
        self.before = list(self.network.way)
        self._values: list[PerState] = []
        self._errors: list[PerState] = []
        self._behind: list[int] = []

    def _built(self) -> Network:
        ways: list[Way | None] = []
        below: list[tuple[int, ...]] = []
        for i, (op, args, _, _, _) in enumerate(self.program.rows):
            places = [self._of[a] for a in args]
            self._of.append((i, 1) if op != "neg" else (places[0][0], -places[0][1]))
            below.append(tuple([c for c, _ in places]) if op != "neg" else ())
            way = None
            if op in SUMS:
                (a, s), (b, t) = places
                way = Way("add", a, b, s, -t if op == "sub" else t)
            elif op == "mul":
                (a, s), (b, t) = places
                way = Way("mul", a, b, s * t)
            ways.append(way)
        results = [self._of[r][0] for port in self.program.outputs for r in port.rows]
        return Network(ways, below, [row[0] for row in self.program.rows], results)

    def _learn(self) -> None:
        """How far off every row is, once it matters."""
        if self._values or not (states := told(self.program, range(self.first))):
            return
        self._values = list(zip(*[values for values, _ in states], strict=True))
        self._errors = list(zip(*[errors for _, errors in states], strict=True))
        limits = self.limits
        for i, (op, args, _, _, _) in enumerate(self.program.rows):
            behind = 0
            for a in args:
                behind |= self._behind[a]
            summed = op in SUMS and bool(behind)
            key = _key(self._v[i])
            self._behind.append(behind | limits.division(key) if op in PARTIAL else behind)
            limits.errors.setdefault(key, self._errors[i])
            limits.behind.setdefault(key, (self._behind[i], summed))

    # -- what may be computed in another way, and how ------------------------------------------------------------------------

    @property
    def operands(self) -> list[int]:
        """The quantities that are there."""
        return [c for c in range(self.first) if self.network.uses[c] and self._v[c]]

    @property
    def targets(self) -> list[int]:
        """Those of them that are sums or products. An angle stays what it is: a turn more would not be seen here."""
        turned = angles(self.program)
        return [c for c in self.operands if self.network.way[c] is not None and c not in turned]

    def is_sum(self, c: int) -> bool:
        """Whether it is computed as a sum or a difference."""
        way = self.network.way[c]
        return way is not None and way.op == "add"

    def single(self, targets: Iterable[int], among: Container[int]) -> Ways:
        """Ways by two quantities that are there; all are `among` some."""
        found: Ways = {}
        some, others = (
            [c for c in all_of_them if c in among] for all_of_them in (targets, self.operands)
        )
        for t, op, x, y in single(self._small, some, others):
            if {x, y} != set(self.network.below[t]) and (
                signs := self._signs(t, op, self._v[x], self._v[y])
            ) is not None:
                self._learn()
                way = Way(op, x, y, *signs)
                if (
                    self._values
                    and self._behind_no_more(t, op, x, Way(op, y, y))
                    and self._fits(t, way)
                ):
                    found.setdefault(t, []).append(way)
        return found

    def double(self, targets: Iterable[int], among: Container[int], sums: bool = False) -> Ways:
        """Ways by one quantity that is there and one that is new, a sum or a product of two that are there; all are `among` some.

        With `sums` only sums of three.
        """
        found: Ways = {}
        new: dict[Way, int | None] = {}
        there = {0, *(_key(self._v[c]) for c in self.operands)}
        self._learn()
        some, others = (
            [c for c in all_of_them if c in among] for all_of_them in (targets, self.operands)
        )
        for t, op, x, way in double(self._small, some, others, sums):
            value = self._of_way(way, self._v, PRIME)
            signs = None if _key(value) in there else self._signs(t, op, self._v[x], value)
            if signs is None or not self._values or not self._behind_no_more(t, op, x, way):
                continue
            if way not in new:
                new[way] = self._put(way)
            c = new[way]
            if c is not None and self._fits(t, whole := Way(op, x, c, *signs)):
                found.setdefault(t, []).append(whole)
        return found

    @staticmethod
    def _of_way(way: Way, values: Sequence[int], prime: int) -> int:
        a, b = values[way.a], values[way.b]
        return (way.sign * a * b if way.op == "mul" else way.sign * a + way.other * b) % prime

    def _put(self, way: Way) -> int | None:
        """A new quantity; None where no double holds it."""
        value = self._value(way)
        errors = self._error(way, value, self._errors)
        if not all(map(math.isfinite, errors)):
            return None
        self._values.append(value)
        self._errors.append(errors)
        self._v.append(self._of_way(way, self._v, PRIME))
        self._small.append(self._of_way(way, self._small, SMALL))
        self._behind.append(self._behind[way.a] | self._behind[way.b])
        return self.network.put(way)

    def _signs(self, t: int, op: str, a: int, b: int) -> tuple[int, int] | None:
        """With which signs t is made of two values; None where it was an accident of the small prime."""
        wanted = self._v[t]
        if op == "mul":
            product = a * b % PRIME
            return (1, 1) if product == wanted else (-1, 1) if product + wanted == PRIME else None
        for sign in (1, -1):
            rest = (wanted - sign * a) % PRIME
            if rest == b or rest + b == PRIME:
                return sign, 1 if rest == b else -1
        return None

    def _behind_no_more(self, t: int, op: str, x: int, way: Way) -> bool:
        """Whether x and a way of another operand stand behind no division that t did not stand behind.

        What is divided is added up only where t was such a sum, for large quotients cancel.
        """
        most, summed = self.limits.behind[_key(self._v[t])]
        inner = self._behind[way.a] | self._behind[way.b]
        behind = inner | self._behind[x]
        return not behind & ~most and (
            summed or not ((inner and way.op == "add") or (behind and op == "add"))
        )

    def _fits(self, t: int, way: Way) -> bool:
        """Whether a way loses no digits of t."""
        return not _above(
            self._error(way, self._values[t], self._errors), self.limits.errors[_key(self._v[t])]
        )

    def _value(self, way: Way) -> PerState:
        s, t = way.sign, way.other
        pairs = zip(self._values[way.a], self._values[way.b], strict=True)
        return tuple(
            [s * x * y for x, y in pairs] if way.op == "mul" else [s * x + t * y for x, y in pairs]
        )

    def _error(self, way: Way, value: PerState, errors: Sequence[PerState]) -> PerState:
        """The bound of a quantity's round-off in a way, as `_round_offs` has it."""
        e, f = errors[way.a], errors[way.b]
        if way.op == "add":
            return tuple([g + h + abs(v) for g, h, v in zip(e, f, value, strict=True)])
        operands = zip(self._values[way.a], self._values[way.b], strict=True)
        return tuple(
            [
                abs(x) * h + abs(y) * g + abs(v)
                for (x, y), g, h, v in zip(operands, e, f, value, strict=True)
            ]
        )

    # -- back to rows --------------------------------------------------------------------------------------------------------

    def restore(self) -> None:
        """Take back ways by which, all together, a value is further off than it may be."""
        if not self._values:
            return
        while (worse := self._worse()) is not None:
            if not self._taken_back(worse):
                while sum([self._back(c) for c in range(self.first)]):  # all of them
                    pass
                return

    def _taken_back(self, c: int) -> bool:
        """Whether the way of the first quantity that changed, below c or else above it, is the old one again."""
        network = self.network
        for near in (network.below, network.users):
            waiting, seen = [c], {c}
            for d in waiting:
                if d < self.first and self._back(d):
                    return True
                others = [b for b in sorted(near[d]) if b not in seen and network.uses[b]]
                waiting += others
                seen.update(others)
        return False

    def _back(self, c: int) -> bool:
        old = self.before[c]
        return (
            old is not None
            and old != self.network.way[c]
            and self.network.change(c, old) is not None
        )

    def _worse(self) -> int | None:
        """The first quantity of the network as it is now that is further off than it may be; None where none is."""
        network, errors = self.network, list(self._errors)
        for c in network.order():
            way = network.way[c]
            if way is not None:
                errors[c] = self._error(way, self._values[c], errors)
            elif network.below[
                c
            ]:  # no sum and no product: as much worse as what it is computed from
                ratios = [
                    [
                        now / old if old else 1.0
                        for now, old in zip(errors[a], self._errors[a], strict=True)
                    ]
                    for a in network.below[c]
                ]
                errors[c] = tuple(
                    [
                        e * max(1.0, *ratio)
                        for e, *ratio in zip(self._errors[c], *ratios, strict=True)
                    ]
                )
            limit = self.limits.errors.get(_key(self._v[c]))
            if limit is not None and _above(errors[c], limit):
                return c
        return None

    def written(self) -> tuple[Program, list[Place | None]]:
        """The Program of the network as it is now, and where each row stands in it; None for what is not needed any more."""
        out = Signed(row.name for row in self.program.rows)
        place: dict[int, Place] = {}
        for i, row in enumerate(self.program.rows):
            if self.network.uses[i]:
                self._put_below(i, row.step, place, out)
        places = [_times(place[c], s) if c in place else None for c, s in self._of]
        outputs = [
            Port(port.name, port.shape, tuple([out.held(_of(places[r])) for r in port.rows]))
            for port in self.program.outputs
        ]
        return self.program.with_rows(out.rows, outputs), places

    def _put_below(self, top: int, step: int, place: dict[int, Place], out: Signed) -> None:
        """Put a quantity, and before it whatever it is computed from, under a step."""
        waiting = [top]
        while waiting:
            c = waiting[-1]
            below = [] if c in place else [a for a in self.network.below[c] if a not in place]
            waiting += below[::-1]
            if not below and not place.get(waiting.pop()):
                self._put_quantity(c, step, place, out)

    def _put_quantity(self, c: int, step: int, place: dict[int, Place], out: Signed) -> None:
        """Put a quantity in the way that the network computes it now."""
        way, row = self.network.way[c], self.program.rows[c] if c < self.first else None
        name = row.name if row else ""
        if way is not None:
            (a, s), (b, t) = place[way.a], place[way.b]
            place[c] = out.put(way.op, [(a, s * way.sign), (b, t * way.other)], None, name, step)
        elif row is not None:
            operands = [_times(place[d], s) for d, s in [self._of[a] for a in row.args]]
            place[c] = out.put(row.op, operands, row.value, name, step)


def _times(place: Place, sign: int) -> Place:
    return place[0], place[1] * sign


def _of(place: Place | None) -> Place:
    assert place is not None, "a result is needed"
    return place


def _key(value: int) -> int:
    """The same for a value and its opposite."""
    return min(value, PRIME - value)


def _above(errors: Iterable[float], limit: Iterable[float]) -> bool:
    return not all(e <= WORSE * most for e, most in zip(errors, limit, strict=True))
