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
    circle would: they have to stand apart.
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
        self._prices = [PRICES.get(row[0], FUNCTION) for row in quantities.rows]
        self._height = list(range(len(quantities.of)))
        """Of each quantity, more than that of every one that it is computed from."""
        self._below: list[tuple[int, ...]] = [()] * len(quantities.of)
        """What each quantity is computed from now."""
        for c in set(quantities.of).difference(quantities.constants):
            self._below[c] = self._read(c)
        self._users: list[list[int]] = []
        self._uses = [0] * len(quantities.of)
        several = {c: self._choose_first(c, errors, spare) for c in quantities.ways}
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

    def _read(self, row: int) -> tuple[int, ...]:
        """The quantities that a row is computed from."""
        of = self.quantities.of
        return tuple([of[a] for a in self.quantities.rows[row][1]])

    def _turn(self, c: int, row: int) -> bool:
        """Compute c by that row from now on, unless that is a circle."""
        height, below = self._height, self._below
        wanted = self._read(row)
        if c in wanted:
            return False
        least = height[c]  # what is no higher does not depend on c
        waiting = [a for a in wanted if height[a] > least]
        seen = set(waiting)
        while waiting:
            for a in below[waiting.pop()]:
                if a == c:
                    return False
                if height[a] > least and a not in seen:
                    seen.add(a)
                    waiting.append(a)
        self.chosen[c] = row
        below[c] = wanted
        waiting = [c]
        while waiting:
            c = waiting.pop()
            least = 1 + max([height[a] for a in below[c]], default=-1)
            if least > height[c]:
                height[c] = least
                waiting += [
                    user for user in self._used_by(c) if height[user] <= least and c in below[user]
                ]
        return True

    def _used_by(self, c: int) -> list[int]:
        """What c is part of, in one way or another."""
        if not self._users:
            of = self.quantities.of
            self._users = [[] for _ in of]
            for row, user in zip(self.quantities.rows, of, strict=True):
                for a in row[1]:
                    self._users[of[a]].append(user)
        return self._users[c]

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
        price = self._prices[new] + sum([self._take(a) for a in self._read(new)])
        return price - self._prices[old] - sum([self._leave(a) for a in self._read(old)])

    def _sharing(self, several: Mapping[int, Sequence[int]]) -> list[dict[int, int]]:
        """Ways not taken that need something in common that nothing else does, most first: a row of each quantity."""
        found: dict[int, dict[int, int]] = {}
        for c, ways in several.items():
            if self._uses[c]:
                for row in ways:
                    if row != self.chosen.get(c, c):
                        for idle in self._idle(list(self._read(row))):
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
