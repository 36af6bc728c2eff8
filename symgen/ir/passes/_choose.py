"""Choice of one way to compute each quantity, if a Program has several.

Ways with more round-off than another are excluded. Among the others, the choice with the fewest
operations is approached by changing one quantity at a time as long as that saves operations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from symgen.ir.passes._quantities import Quantities

PRICES = {"input": 0, "mul": 1, "add": 1, "sub": 1, "div": 2}
FUNCTION = 10
"""Price of a sine, a root and the like: neither they nor a division are used to save a
multiplication.
"""
WORSE = 1.3
"""A way is excluded if its round-off may exceed that of another by this factor."""
SWEEPS = 4


class Ways:
    """Choice of the row that computes each quantity (`chosen`, if it is not the first), free of
    cycles.

    `errors` are bounds of every row's round-off at a few states. Rows of `spare` are chosen only if
    that saves operations, never for their round-off, since no result depends on them at first.
    `bad` are rows with less round-off than any way without a cycle: they have to become quantities
    of their own, and no further choice is made until then.
    """

    def __init__(
        self,
        quantities: Quantities,
        results: Iterable[int],
        errors: Sequence[Sequence[float]],
        spare: AbstractSet[int] = frozenset(),
    ) -> None:
        self.quantities = quantities
        self.chosen: dict[int, int] = {}
        self.bad = set[int]()
        self._reads, self._users = quantities.reads, quantities.users
        self._place = list(range(len(quantities.of)))
        """Position of each quantity in a topological order, operands first."""
        self._below = list(self._reads)
        """Operands of each quantity as it is computed now."""
        for c in quantities.constants:
            self._below[c] = ()
        alternatives = {c: self._choose_first(c, errors, spare) for c in quantities.ways}
        if self.bad:
            return
        self._prices = [PRICES.get(row[0], FUNCTION) for row in quantities.rows]
        self._uses = [0] * len(quantities.of)
        for c in results:
            self._add_use(c)
        self._sweep(alternatives)
        if sum([self._change_together(rows) for rows in self._sharing(alternatives)]):
            self._sweep(alternatives)

    def _choose_first(
        self, c: int, errors: Sequence[Sequence[float]], spare: AbstractSet[int]
    ) -> list[int]:
        """Compute c in the most accurate way that makes no cycle, and return the ways with about as
        little round-off.
        """
        ways = self.quantities.ways[c]
        not_spare = [row for row in ways if row not in spare] or ways
        good = _good(not_spare, errors)
        if c not in good and not any(self._reassign(c, row) for row in good):
            self.bad.add(good[0] if good else ways[1])
        return good + _as_good(good, [row for row in ways if row not in not_spare], errors)

    def _sweep(self, alternatives: Mapping[int, Sequence[int]]) -> None:
        """Change one quantity at a time as long as that saves operations."""
        for _ in range(SWEEPS):
            if not sum(
                [
                    self._change_if_shorter(c, ways)
                    for c, ways in alternatives.items()
                    if self._uses[c]
                ]
            ):
                break

    def _reassign(self, c: int, row: int) -> bool:
        """Compute c by that row from now on; return False, with no change, if that makes a cycle.

        Only quantities between c and its new operands change their position in the order (Pearce
        and Kelly, 2006).
        """
        position, below = self._place, self._below
        operands = self._reads[row]
        if c in operands:
            return False
        lowest = position[c]  # a quantity before c in the order does not depend on c
        before = {a for a in operands if position[a] > lowest}
        if before:
            highest = max([position[a] for a in before])
            to_visit = list(before)
            while to_visit:
                for a in below[to_visit.pop()]:
                    if position[a] > lowest:
                        if a not in before:
                            before.add(a)
                            to_visit.append(a)
                    elif a == c:
                        return False
            users = self._users
            after = {c}
            to_visit = [c]
            while to_visit:
                a = to_visit.pop()
                for user in users[a]:
                    if position[user] < highest and user not in after and a in below[user]:
                        after.add(user)
                        to_visit.append(user)
            order = sorted(before, key=position.__getitem__) + sorted(
                after, key=position.__getitem__
            )
            for a, slot in zip(order, sorted([position[a] for a in order]), strict=True):
                position[a] = slot
        self.chosen[c] = row
        below[c] = operands
        return True

    def _change_if_shorter(self, c: int, ways: Sequence[int]) -> bool:
        """Change to a way of c that saves operations; return whether there is one."""
        old = self.chosen.get(c, c)
        for row in ways:
            if row != old:
                if self._exchange(old, row) < 0 and self._reassign(c, row):
                    return True
                self._exchange(row, old)
        return False

    def _change(self, c: int, row: int) -> int | None:
        """Compute c by that row from now on; return the number of additional operations, None (no
        change) if it makes a cycle.
        """
        old = self.chosen.get(c, c)
        if not self._uses[c]:
            return 0 if self._reassign(c, row) else None
        price = self._exchange(old, row)
        if self._reassign(c, row):
            return price
        self._exchange(row, old)
        return None

    def _exchange(self, old: int, new: int) -> int:
        """Use the operands of one row instead of those of another; return the number of additional
        operations.
        """
        price = self._prices[new] + sum([self._add_use(a) for a in self._reads[new]])
        return price - self._prices[old] - sum([self._remove_use(a) for a in self._reads[old]])

    def _sharing(self, alternatives: Mapping[int, Sequence[int]]) -> list[dict[int, int]]:
        """Return sets of unused ways that need a common quantity which nothing else needs, largest
        first: a row per quantity.
        """
        by_unused: dict[int, dict[int, int]] = {}
        for c, ways in alternatives.items():
            if self._uses[c]:
                for row in ways:
                    if row != self.chosen.get(c, c):
                        for unused in self._unused(list(self._reads[row])):
                            by_unused.setdefault(unused, {})[c] = row
        sets = {
            tuple(sorted(row_by_quantity.items())): row_by_quantity
            for row_by_quantity in by_unused.values()
            if len(row_by_quantity) > 1
        }
        return sorted(sets.values(), key=len, reverse=True)

    def _unused(self, to_visit: list[int]) -> set[int]:
        """Return the unused ones of some quantities and of all those they depend on."""
        result: set[int] = set()
        while to_visit:
            c = to_visit.pop()
            if not self._uses[c] and c not in result and c not in self.quantities.constants:
                result.add(c)
                to_visit += self._below[c]
        return result

    def _change_together(self, rows: Mapping[int, int]) -> bool:
        """Change several quantities at once, except those whose change costs operations; return
        whether that saves operations.
        """
        before: list[tuple[int, int]] = []
        total = 0
        for c, row in rows.items():
            old = self.chosen.get(c, c)
            added = self._change(c, row)
            if added is not None:
                before.append((c, old))
                total += added
        for c, old in tuple(before):
            new = self.chosen[c]
            added = self._change(c, old)
            if added is not None and added < 0:
                before.append((c, new))
                total += added
            elif added is not None:
                self._change(c, new)
        if total < 0:
            return True
        for c, row in reversed(before):
            self._change(c, row)
        return False

    def _add_use(self, c: int) -> int:
        """Add a use of c; return the price of what must now be computed."""
        return self._count_use(c, 1, 1)

    def _remove_use(self, c: int) -> int:
        """Remove a use of c; return the price of what need not be computed any more."""
        return self._count_use(c, -1, 0)

    def _count_use(self, c: int, step: int, threshold: int) -> int:
        price, to_visit = 0, [c]
        while to_visit:
            c = to_visit.pop()
            self._uses[c] += step
            if self._uses[c] == threshold and c not in self.quantities.constants:
                price += self._prices[self.chosen.get(c, c)]
                to_visit += self._below[c]
        return price


def _as_good(
    good: Sequence[int], alternatives: Sequence[int], errors: Sequence[Sequence[float]]
) -> list[int]:
    """Return the rows of `alternatives` whose bound is not much larger than that of the best `good`
    row at any state.
    """
    return [
        row
        for row in alternatives
        if good and all(state[row] <= WORSE * min(state[g] for g in good) for state in errors)
    ]


def _good(ways: Sequence[int], errors: Sequence[Sequence[float]]) -> list[int]:
    """Return the ways whose bound is not much larger than the least at any state, the best first;
    none if bounds are unknown.
    """
    worst = dict.fromkeys(ways, 0.0)
    for state in errors:
        bounds = {row: state[row] for row in ways}
        smallest = min(bounds.values())
        if not all(map(math.isfinite, bounds.values())):
            return []
        for row, bound in bounds.items():
            worst[row] = max(
                worst[row], bound / smallest if smallest else math.inf if bound else 1.0
            )
    best = sorted(ways, key=worst.__getitem__) if errors else []
    return [row for row in best if worst[row] <= WORSE] or best[:1]
