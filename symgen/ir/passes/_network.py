"""A Program as a network of quantities, whose ways of computation can be changed one at a time.

A quantity is the value that rows share up to its sign. A way is a signed product or sum of two
quantities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

PRICES = {"const": 0, "input": 0, "neg": 0, "mul": 1, "add": 1, "sub": 1, "div": 2}
FUNCTION = 10
"""Price of a sine, a root and the like."""


class Way(NamedTuple):
    """A quantity as sign·a·b ("mul"), or sign·a + second_sign·b ("add"). `second_sign` of "mul" is
    1.
    """

    op: str
    a: int
    b: int
    sign: int = 1
    second_sign: int = 1


class Network:
    """Quantities, how each is computed, and the price of all that is needed (`total`).

    `way` holds the way of each quantity, None if its row stays as it is. `below` holds its
    operands, `users` the quantities that it is an operand of, and `uses` how often it is needed.
    `height` is greater than that of all operands.
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
        """Quantities visited so far, by which a caller limits the work."""
        self.total = 0
        for c in results:
            self.total += self.add_use(c)

    def put(self, way: Way) -> int:
        """Add a quantity without users, and return it. A quantity with two constant operands is a
        constant and costs nothing.
        """
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
        """Compute c in that way from now on; return the additional price, None (and no change) if
        it makes a cycle.
        """
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
        added = self.add_use(way.a) + self.add_use(way.b)
        for a in old:
            added -= self.remove_use(a)
        self.total += added
        return added

    def _raise(self, c: int, below: tuple[int, ...]) -> bool:
        """Make c higher than its future operands; return False if they depend on c."""
        height = self.height
        lowest = height[c]
        to_visit = [a for a in below if height[a] >= lowest]
        if not to_visit:
            return c not in below
        visited = set(to_visit)
        while to_visit:
            a = to_visit.pop()
            self.steps += 1
            if a == c:
                return False
            for b in self.below[a]:
                if height[b] >= lowest and b not in visited:
                    visited.add(b)
                    to_visit.append(b)
        raised = [(c, 1 + max([height[a] for a in below]))]
        while raised:
            c, lowest = raised.pop()
            self.steps += 1
            if lowest > height[c]:
                height[c] = lowest
                raised += [(user, lowest + 1) for user in self.users[c] if height[user] <= lowest]
        return True

    def exclusive_price(self, c: int) -> int:
        """Return the price of c and of all that is needed for c alone."""
        price = sum([self.remove_use(a) for a in self.below[c]])
        for a in self.below[c]:
            self.add_use(a)
        return price + self.prices[c]

    def add_use(self, c: int) -> int:
        """Add a use of c; return the price of what must now be computed."""
        uses = self.uses
        uses[c] += 1
        if uses[c] > 1:
            return 0
        price, to_visit = 0, [c]
        while to_visit:
            c = to_visit.pop()
            self.steps += 1
            price += self.prices[c]
            for a in self.below[c]:
                uses[a] += 1
                if uses[a] == 1:
                    to_visit.append(a)
        return price

    def remove_use(self, c: int) -> int:
        """Remove a use of c; return the price of what need not be computed any more."""
        uses = self.uses
        uses[c] -= 1
        if uses[c]:
            return 0
        price, to_visit = 0, [c]
        while to_visit:
            c = to_visit.pop()
            self.steps += 1
            price += self.prices[c]
            for a in self.below[c]:
                uses[a] -= 1
                if not uses[a]:
                    to_visit.append(a)
        return price

    def order(self) -> list[int]:
        """Return the quantities in use, operands first."""
        return sorted([c for c, used in enumerate(self.uses) if used], key=self.height.__getitem__)
