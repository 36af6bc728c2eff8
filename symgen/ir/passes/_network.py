"""A Program as a network of quantities, each with the way in which it is computed now, that may be changed one at a time.

A quantity is what rows of equal or opposite value hold. A way is a product or a sum of two of them, with signs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

PRICES = {"const": 0, "input": 0, "neg": 0, "mul": 1, "add": 1, "sub": 1, "div": 2}
FUNCTION = 10
"""Of a sine, a root …"""


class Way(NamedTuple):
    """A quantity as sign·a·b ("mul"), or sign·a + other·b ("add"); of "mul" `other` is 1."""

    op: str
    a: int
    b: int
    sign: int = 1
    other: int = 1


class Network:
    """`way` of each quantity, None of what stays as its row says; `below` is what it is computed from; `uses` how often it is
    needed, 0 of what is not. `total` is the price of all that is needed. `height` is more than that of everything below.
    """

    def __init__(
        self,
        ways: Iterable[Way | None],
        below: Iterable[tuple[int, ...]],
        operations: Sequence[str],
        results: Iterable[int],
    ) -> None:
        self.way = list(ways)
        self.below = list(below)
        self.constant = [op == "const" for op in operations]
        self.prices = [PRICES.get(op, FUNCTION) for op in operations]
        self.height = list(range(len(self.way)))
        self.uses = [0] * len(self.way)
        self.users: list[set[int]] = [set() for _ in self.way]
        for c, below_c in enumerate(self.below):
            for a in below_c:
                self.users[a].add(c)
        self.steps = 0
        """Quantities that have been looked at, for those who count their work."""
        self.total = 0
        for c in results:
            self.total += self.take(c)

    def put(self, way: Way) -> int:
        """A new quantity, which nothing needs yet. Of two constants it is one, which costs nothing."""
        c = len(self.way)
        self.way.append(way)
        below = (way.a, way.b)
        self.below.append(below)
        self.constant.append(self.constant[way.a] and self.constant[way.b])
        self.prices.append(0 if self.constant[c] else 1)
        self.height.append(1 + max(self.height[way.a], self.height[way.b]))
        self.uses.append(0)
        self.users.append(set())
        for a in below:
            self.users[a].add(c)
        return c

    def change(self, c: int, way: Way) -> int | None:
        """Compute c in that way from now on; how much more that costs, None (and nothing changes) where it would be a circle."""
        if not self._raise(c, (way.a, way.b)):
            return None
        old = self.below[c]
        self.way[c], self.below[c] = way, (way.a, way.b)
        users = self.users
        for a in old:
            users[a].discard(c)
        users[way.a].add(c)
        users[way.b].add(c)
        if not self.uses[c]:
            return 0
        more = self.take(way.a) + self.take(way.b)
        for a in old:
            more -= self.leave(a)
        self.total += more
        return more

    def _raise(self, c: int, below: tuple[int, ...]) -> bool:
        """Make c higher than what it is to be computed from; False where that depends on c."""
        height = self.height
        least = height[c]
        waiting = [a for a in below if height[a] >= least]
        if not waiting:
            return c not in below
        seen = set(waiting)
        while waiting:
            a = waiting.pop()
            self.steps += 1
            if a == c:
                return False
            for b in self.below[a]:
                if height[b] >= least and b not in seen:
                    seen.add(b)
                    waiting.append(b)
        raised = [(c, 1 + max([height[a] for a in below]))]
        while raised:
            c, least = raised.pop()
            self.steps += 1
            if least > height[c]:
                height[c] = least
                raised += [(user, least + 1) for user in self.users[c] if height[user] <= least]
        return True

    def alone(self, c: int) -> int:
        """The price of c and of all that serves nothing else."""
        price = sum([self.leave(a) for a in self.below[c]])
        for a in self.below[c]:
            self.take(a)
        return price + self.prices[c]

    def take(self, c: int) -> int:
        """Use c once more; the price of what has to be computed for that."""
        uses = self.uses
        uses[c] += 1
        if uses[c] > 1:
            return 0
        price, waiting = 0, [c]
        while waiting:
            c = waiting.pop()
            self.steps += 1
            price += self.prices[c]
            for a in self.below[c]:
                uses[a] += 1
                if uses[a] == 1:
                    waiting.append(a)
        return price

    def leave(self, c: int) -> int:
        """Use c once less; the price of what need not be computed any more."""
        uses = self.uses
        uses[c] -= 1
        if uses[c]:
            return 0
        price, waiting = 0, [c]
        while waiting:
            c = waiting.pop()
            self.steps += 1
            price += self.prices[c]
            for a in self.below[c]:
                uses[a] -= 1
                if not uses[a]:
                    waiting.append(a)
        return price

    def order(self) -> list[int]:
        """What is needed, what a quantity is computed from before it."""
        return sorted([c for c, used in enumerate(self.uses) if used], key=self.height.__getitem__)
