"""Network of a Program, and other ways to compute its values: exact, without loss of digits, and
behind no further divisions.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence

from symgen.ir.passes._error_bounds import values_and_errors
from symgen.ir.passes._fingerprints import angle_rows, residues
from symgen.ir.passes._network import Network, Way
from symgen.ir.passes._pair_matches import PRIME as SMALL
from symgen.ir.passes._pair_matches import double, single
from symgen.ir.passes._signed import SUMS, Signed, SignedRow
from symgen.ir.program import Port, Program

PRIME, SEED = 314159265358979347, 1
WORSE = 1.3
"""Largest ratio of a value's round-off to that in the first Program that computed it, at each of a
few states.
"""
PARTIAL = ("div", "sqrt", "log", "atan2")
"""Operations whose values may be large while the result is not."""
Ways = dict[int, list[Way]]
PerState = tuple[float, ...]


class Limits:
    """Allowed round-off of each value, and divisions it may depend on: those in the first Program
    that computed it, by its residue.

    `behind` holds (the divisions as bits, whether the value was a sum of operands that depend on
    divisions).
    """

    def __init__(self) -> None:
        self.errors: dict[int, PerState] = {}
        self.behind: dict[int, tuple[int, bool]] = {}
        self._divisions: dict[int, int] = {}

    def division(self, value: int) -> int:
        """Return the bit that represents a division."""
        return self._divisions.setdefault(value, 1 << len(self._divisions))


class Candidates:
    """Network of a Program, and other ways for its quantities.

    A quantity is identified by its row; those from `first` on are new. `usable` is False if values
    cannot be compared, since a divisor is zero modulo the prime. Quantities whose values are not
    finite doubles have no other ways.
    """

    def __init__(self, program: Program, limits: Limits) -> None:
        self.program, self.limits = program, limits
        residue, small_residue = residues(PRIME, SEED, program), residues(SMALL, SEED, program)
        self._v, self._small = (
            residue[0] if residue else [],
            small_residue[0] if small_residue else [],
        )
        self.usable = bool(self._v and self._small)
        self.first = len(program.rows)
        self._of: list[SignedRow] = []
        """Quantity and sign of each row."""
        self.network = self._build_network()
        self.before = list(self.network.way)
        self._values: list[PerState] = []
        self._errors: list[PerState] = []
        self._behind: list[int] = []

    def _build_network(self) -> Network:
        ways: list[Way | None] = []
        below: list[tuple[int, ...]] = []
        for i, (op, args, _, _, _) in enumerate(self.program.rows):
            operands = [self._of[a] for a in args]
            self._of.append((i, 1) if op != "neg" else (operands[0][0], -operands[0][1]))
            below.append(tuple([c for c, _ in operands]) if op != "neg" else ())
            way = None
            if op in SUMS:
                (a, s), (b, t) = operands
                way = Way("add", a, b, s, -t if op == "sub" else t)
            elif op == "mul":
                (a, s), (b, t) = operands
                way = Way("mul", a, b, s * t)
            ways.append(way)
        results = [self._of[r][0] for port in self.program.outputs for r in port.rows]
        return Network(ways, below, [row[0] for row in self.program.rows], results)

    def _learn(self) -> None:
        """Compute round-off and divisions of every row when they are first needed."""
        if self._values or not (states := values_and_errors(self.program, range(self.first))):
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

    # -- alternative computations of quantities ----------------------------------------------------

    @property
    def operands(self) -> list[int]:
        """The quantities that are in use."""
        return [c for c in range(self.first) if self.network.uses[c] and self._v[c]]

    @property
    def targets(self) -> list[int]:
        """The sums and products among `operands`.

        Angles are excluded: a difference of a full turn would not be seen here.
        """
        rows_of_angles = angle_rows(self.program)
        return [
            c for c in self.operands if self.network.way[c] is not None and c not in rows_of_angles
        ]

    def is_sum(self, c: int) -> bool:
        """Return whether a quantity is computed as a sum or a difference."""
        way = self.network.way[c]
        return way is not None and way.op == "add"

    def single(self, targets: Iterable[int], among: Container[int]) -> Ways:
        """Return ways to compute targets from two quantities in use; all are in `among`."""
        result: Ways = {}
        chosen_targets, chosen_operands = (
            [c for c in quantities if c in among] for quantities in (targets, self.operands)
        )
        for t, op, x, y in single(self._small, chosen_targets, chosen_operands):
            if {x, y} != set(self.network.below[t]) and (
                signs := self._signs(t, op, self._v[x], self._v[y])
            ) is not None:
                self._learn()
                way = Way(op, x, y, *signs)
                if (
                    self._values
                    and self._keeps_divisions(t, op, x, Way(op, y, y))
                    and self._fits(t, way)
                ):
                    result.setdefault(t, []).append(way)
        return result

    def double(self, targets: Iterable[int], among: Container[int], sums: bool = False) -> Ways:
        """Return ways to compute targets from a quantity in use and a new one, which is a sum or a
        product of two in use.

        All are in `among`. With `sums`, return only sums of three.
        """
        result: Ways = {}
        new: dict[Way, int | None] = {}
        existing = {0, *(_key(self._v[c]) for c in self.operands)}
        self._learn()
        chosen_targets, chosen_operands = (
            [c for c in quantities if c in among] for quantities in (targets, self.operands)
        )
        for t, op, x, way in double(self._small, chosen_targets, chosen_operands, sums):
            value = self._residue(way, self._v, PRIME)
            signs = None if _key(value) in existing else self._signs(t, op, self._v[x], value)
            if signs is None or not self._values or not self._keeps_divisions(t, op, x, way):
                continue
            if way not in new:
                new[way] = self._add_quantity(way)
            c = new[way]
            if c is not None and self._fits(t, outer := Way(op, x, c, *signs)):
                result.setdefault(t, []).append(outer)
        return result

    @staticmethod
    def _residue(way: Way, values: Sequence[int], prime: int) -> int:
        a, b = values[way.a], values[way.b]
        return (way.sign * a * b if way.op == "mul" else way.sign * a + way.second_sign * b) % prime

    def _add_quantity(self, way: Way) -> int | None:
        """Add a new quantity; return None if its round-off is not finite."""
        value = self._value(way)
        errors = self._error(way, value, self._errors)
        if not all(map(math.isfinite, errors)):
            return None
        self._values.append(value)
        self._errors.append(errors)
        self._v.append(self._residue(way, self._v, PRIME))
        self._small.append(self._residue(way, self._small, SMALL))
        self._behind.append(self._behind[way.a] | self._behind[way.b])
        return self.network.put(way)

    def _signs(self, t: int, op: str, a: int, b: int) -> tuple[int, int] | None:
        """Return the signs with which two values make t; None if their match modulo the small prime
        was accidental.
        """
        target = self._v[t]
        if op == "mul":
            product = a * b % PRIME
            return (1, 1) if product == target else (-1, 1) if product + target == PRIME else None
        for sign in (1, -1):
            remainder = (target - sign * a) % PRIME
            if remainder == b or remainder + b == PRIME:
                return sign, 1 if remainder == b else -1
        return None

    def _keeps_divisions(self, t: int, op: str, x: int, way: Way) -> bool:
        """Return whether x and a way of another operand depend only on divisions that t already
        depends on.

        Quotients are added only if t was such a sum, since large quotients cancel.
        """
        allowed, was_sum = self.limits.behind[_key(self._v[t])]
        inner = self._behind[way.a] | self._behind[way.b]
        behind = inner | self._behind[x]
        return not behind & ~allowed and (
            was_sum or not ((inner and way.op == "add") or (behind and op == "add"))
        )

    def _fits(self, t: int, way: Way) -> bool:
        """Return whether a way loses no digits of t."""
        return not _above(
            self._error(way, self._values[t], self._errors), self.limits.errors[_key(self._v[t])]
        )

    def _value(self, way: Way) -> PerState:
        s, t = way.sign, way.second_sign
        pairs = zip(self._values[way.a], self._values[way.b], strict=True)
        return tuple(
            [s * x * y for x, y in pairs] if way.op == "mul" else [s * x + t * y for x, y in pairs]
        )

    def _error(self, way: Way, value: PerState, errors: Sequence[PerState]) -> PerState:
        """Return the bound of a quantity's round-off when computed in a way (`_error_bounds`)."""
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

    # -- back to rows ------------------------------------------------------------------------------

    def restore(self) -> None:
        """Undo changed ways until no value exceeds its limit of round-off."""
        if not self._values:
            return
        while (worse := self._first_inaccurate()) is not None:
            if not self._restore_near(worse):
                while sum([self._restore_way(c) for c in range(self.first)]):  # all of them
                    pass
                return

    def _restore_near(self, c: int) -> bool:
        """Restore the old way of the nearest changed quantity below c, or else above it; return
        whether there was one.
        """
        network = self.network
        for neighbors in (network.below, network.users):
            to_visit, visited = [c], {c}
            for d in to_visit:
                if d < self.first and self._restore_way(d):
                    return True
                unseen = [b for b in sorted(neighbors[d]) if b not in visited and network.uses[b]]
                to_visit += unseen
                visited.update(unseen)
        return False

    def _restore_way(self, c: int) -> bool:
        old = self.before[c]
        return (
            old is not None
            and old != self.network.way[c]
            and self.network.change(c, old) is not None
        )

    def _first_inaccurate(self) -> int | None:
        """Return the first quantity whose round-off exceeds its limit in the network as it is now;
        None if there is none.
        """
        network, errors = self.network, list(self._errors)
        for c in network.order():
            way = network.way[c]
            if way is not None:
                errors[c] = self._error(way, self._values[c], errors)
            elif network.below[
                c
            ]:  # other operations: the round-off grows by the same ratio as that of the operands
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

    def to_program(self) -> tuple[Program, list[SignedRow | None]]:
        """Return the Program of the network as it is now, and the new row of each old row (None if
        it is no longer needed).
        """
        out = Signed(row.name for row in self.program.rows)
        row_of: dict[int, SignedRow] = {}
        for i, row in enumerate(self.program.rows):
            if self.network.uses[i]:
                self._put_below(i, row.step, row_of, out)
        new_rows = [_times(row_of[c], s) if c in row_of else None for c, s in self._of]
        outputs = [
            Port(
                port.name,
                port.shape,
                tuple([out.positive_row(_required(new_rows[r])) for r in port.rows]),
            )
            for port in self.program.outputs
        ]
        return self.program.with_rows(out.rows, outputs), new_rows

    def _put_below(self, top: int, step: int, row_of: dict[int, SignedRow], out: Signed) -> None:
        """Put the rows of a quantity and of all it depends on under a step."""
        to_put = [top]
        while to_put:
            c = to_put[-1]
            below = [] if c in row_of else [a for a in self.network.below[c] if a not in row_of]
            to_put += below[::-1]
            if not below and not row_of.get(to_put.pop()):
                self._put_quantity(c, step, row_of, out)

    def _put_quantity(self, c: int, step: int, row_of: dict[int, SignedRow], out: Signed) -> None:
        """Put the row of a quantity in the way that the network computes it now."""
        way, row = self.network.way[c], self.program.rows[c] if c < self.first else None
        name = row.name if row else ""
        if way is not None:
            (a, s), (b, t) = row_of[way.a], row_of[way.b]
            row_of[c] = out.put(
                way.op, [(a, s * way.sign), (b, t * way.second_sign)], None, name, step
            )
        elif row is not None:
            operands = [_times(row_of[d], s) for d, s in [self._of[a] for a in row.args]]
            row_of[c] = out.put(row.op, operands, row.value, name, step)


def _times(row: SignedRow, sign: int) -> SignedRow:
    return row[0], row[1] * sign


def _required(row: SignedRow | None) -> SignedRow:
    assert row is not None, "a result is needed"
    return row


def _key(value: int) -> int:
    """Return a key that is equal for a value and its negative."""
    return min(value, PRIME - value)


def _above(errors: Iterable[float], limit: Iterable[float]) -> bool:
    return not all(e <= WORSE * most for e, most in zip(errors, limit, strict=True))
