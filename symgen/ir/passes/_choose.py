"""One way of computing each quantity, where a Program has several.

None is taken that may lose digits beside another. Of the others, those that together take the fewest operations are sought by
changing one at a time for as long as that helps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from symgen.ir.passes._quantities import Quantities

PRICES = {"input": 0, "mul": 1, "add": 1, "sub": 1, "div": 2}
FUNCTION = 10
"""Of a sine, a root …: neither they nor a division are taken to save a multiplication."""
WORSE = 1.3
"""A way is left alone whose round-off may be so many times that of another."""
SWEEPS = 4


class Ways:
    """The row that each quantity is computed by (`chosen`, where it is not the first), free of circles; see the module docstring.

    `errors` are bounds of every row's round-off at a few states. Rows of `spare` are taken where that saves operations, never for
    their round-off: no result depends on them as it stands. `bad` are rows that compute something better than a way without
    circle would: they have to stand apart, and nothing else is sought until they do.
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
        """Place of each quantity in an order in which its operands stand before it."""
        self._below = list(self._reads)
        """What each quantity is computed from now."""
        for c in quantities.constants:
            self._below[c] = ()
        several = {c: self._choose_first(c, errors, spare) for c in quantities.ways}
        if self.bad:
            return
        self._prices = [PRICES.get(row[0], FUNCTION) for row in quantities.rows]
        self._uses = [0] * len(quantities.of)
        for c in results:
            self._take(c)
        self._sweep(several)
        if sum([self._together(rows) for rows in self._sharing(several)]):
            self._sweep(several)

    def _choose_first(
        self, c: int, errors: Sequence[Sequence[float]], spare: AbstractSet[int]
    ) -> list[int]:
        """Compute c in the best way that is no circle, and return the ways whose round-off is about as small."""
        ways = self.quantities.ways[c]
        own = [row for row in ways if row not in spare] or ways
        good = _good(own, errors)
        if c not in good and not any(self._turn(c, row) for row in good):
            self.bad.add(good[0] if good else ways[1])
        return good + _as_good(good, [row for row in ways if row not in own], errors)

    def _sweep(self, several: Mapping[int, Sequence[int]]) -> None:
        """Change one at a time for as long as that helps."""
        for _ in range(SWEEPS):
            if not sum([self._better(c, ways) for c, ways in several.items() if self._uses[c]]):
                break

    def _turn(self, c: int, row: int) -> bool:
        """Compute c by that row from now on, unless that is a circle.

        Only what stands between c and what it is to be computed from changes its place in the order (Pearce and Kelly, 2006).
        """
        place, below = self._place, self._below
        wanted = self._reads[row]
        if c in wanted:
            return False
        least = place[c]  # what stands before c does not depend on it
        before = {a for a in wanted if place[a] > least}
        if before:
            most = max([place[a] for a in before])
            waiting = list(before)
            while waiting:
                for a in below[waiting.pop()]:
                    if place[a] > least:
                        if a not in before:
                            before.add(a)
                            waiting.append(a)
                    elif a == c:
                        return False
            users = self._users
            behind = {c}
            waiting = [c]
            while waiting:
                a = waiting.pop()
                for user in users[a]:
                    if place[user] < most and user not in behind and a in below[user]:
                        behind.add(user)
                        waiting.append(user)
            order = sorted(before, key=place.__getitem__) + sorted(behind, key=place.__getitem__)
            for a, free in zip(order, sorted([place[a] for a in order]), strict=True):
                place[a] = free
        self.chosen[c] = row
        below[c] = wanted
        return True

    def _better(self, c: int, ways: Sequence[int]) -> bool:
        """Whether c is computed in another way from now on, since that saves operations."""
        old = self.chosen.get(c, c)
        for row in ways:
            if row != old:
                if self._exchange(old, row) < 0 and self._turn(c, row):
                    return True
                self._exchange(row, old)
        return False

    def _change(self, c: int, row: int) -> int | None:
        """Compute c by that row from now on; how many operations more that takes, None where it would be a circle."""
        old = self.chosen.get(c, c)
        if not self._uses[c]:
            return 0 if self._turn(c, row) else None
        price = self._exchange(old, row)
        if self._turn(c, row):
            return price
        self._exchange(row, old)
        return None

    def _exchange(self, old: int, new: int) -> int:
        """Use what one row is computed from instead of what another is; how many operations more that takes."""
        price = self._prices[new] + sum([self._take(a) for a in self._reads[new]])
        return price - self._prices[old] - sum([self._leave(a) for a in self._reads[old]])

    def _sharing(self, several: Mapping[int, Sequence[int]]) -> list[dict[int, int]]:
        """Ways not taken that need something in common that nothing else does, most first: a row of each quantity."""
        found: dict[int, dict[int, int]] = {}
        for c, ways in several.items():
            if self._uses[c]:
                for row in ways:
                    if row != self.chosen.get(c, c):
                        for idle in self._idle(list(self._reads[row])):
                            found.setdefault(idle, {})[c] = row
        sets = {
            tuple(sorted(together.items())): together
            for together in found.values()
            if len(together) > 1
        }
        return sorted(sets.values(), key=len, reverse=True)

    def _idle(self, waiting: list[int]) -> set[int]:
        """Those of some quantities, and of what they are computed from, that nothing needs."""
        found: set[int] = set()
        while waiting:
            c = waiting.pop()
            if not self._uses[c] and c not in found and c not in self.quantities.constants:
                found.add(c)
                waiting += self._below[c]
        return found

    def _together(self, rows: Mapping[int, int]) -> bool:
        """Whether several quantities are computed in other ways from now on, but for those that cost by it."""
        before: list[tuple[int, int]] = []
        total = 0
        for c, row in rows.items():
            old = self.chosen.get(c, c)
            dearer = self._change(c, row)
            if dearer is not None:
                before.append((c, old))
                total += dearer
        for c, old in tuple(before):
            new = self.chosen[c]
            dearer = self._change(c, old)
            if dearer is not None and dearer < 0:
                before.append((c, new))
                total += dearer
            elif dearer is not None:
                self._change(c, new)
        if total < 0:
            return True
        for c, row in reversed(before):
            self._change(c, row)
        return False

    def _take(self, c: int) -> int:
        """Use c once more; the price of what has to be computed for that."""
        return self._counted(c, 1, 1)

    def _leave(self, c: int) -> int:
        """Use c once less; the price of what need not be computed any more."""
        return self._counted(c, -1, 0)

    def _counted(self, c: int, step: int, turning: int) -> int:
        price, waiting = 0, [c]
        while waiting:
            c = waiting.pop()
            self._uses[c] += step
            if self._uses[c] == turning and c not in self.quantities.constants:
                price += self._prices[self.chosen.get(c, c)]
                waiting += self._below[c]
        return price


def _as_good(
    good: Sequence[int], others: Sequence[int], errors: Sequence[Sequence[float]]
) -> list[int]:
    """Those of some other ways whose bound is not much larger than that of a good one at any state."""
    return [
        row
        for row in others
        if good and all(state[row] <= WORSE * min(state[g] for g in good) for state in errors)
    ]


def _good(ways: Sequence[int], errors: Sequence[Sequence[float]]) -> list[int]:
    """The ways whose bound is not much larger than that of any other at any state, the best first; none where that is unknown."""
    worst = dict.fromkeys(ways, 0.0)
    for state in errors:
        bounds = {row: state[row] for row in ways}
        least = min(bounds.values())
        if not all(map(math.isfinite, bounds.values())):
            return []
        for row, bound in bounds.items():
            worst[row] = max(worst[row], bound / least if least else math.inf if bound else 1.0)
    best = sorted(ways, key=worst.__getitem__) if errors else []
    return [row for row in best if worst[row] <= WORSE] or best[:1]
