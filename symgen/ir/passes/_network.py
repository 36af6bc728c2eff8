"""Network of the quantities of a Program, in which the computation of one quantity can be changed
at a time.

Rows whose values are equal up to the sign compute the same quantity. A quantity is computed as a
signed product or a signed sum of two other quantities, its operands; such a formula is called a
way. The network is a directed acyclic graph, with an edge from each quantity to its operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

PRICES = {"const": 0, "input": 0, "neg": 0, "mul": 1, "add": 1, "sub": 1, "div": 2}
"""Operations that count for each kind of row."""
FUNCTION = 10
"""Price of any other row: a sine, a root and the like."""


class Way(NamedTuple):
    """Formula of a quantity from its operands a and b: sign·a·b for `op` "mul", with `second_sign`
    1, or sign·a + second_sign·b for "add".
    """

    op: str
    a: int
    b: int
    sign: int = 1
    second_sign: int = 1


class Network:
    """Quantities, the way in which each is computed, and the price of the results (`total`).

    All lists are indexed by the quantity:

    - `way`: its formula; None if its row cannot be changed.
    - `below`: its operands. `users`: the quantities of which it is an operand.
    - `uses`: how often the results and the quantities in use need it. It is in use if this is not
      zero.
    - `height`: a number greater than the heights of its operands, which gives an order of
      computation.

    `total` is the sum of the prices of all quantities in use.
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
        for c, operands in enumerate(self.below):
            for a in operands:
                self.users[a].add(c)
        self.steps = 0
        """Number of quantities visited so far, by which a caller limits the computing time."""
        self.total = 0
        for c in results:
            self.total += self.add_use(c)

    def put(self, way: Way) -> int:
        """Add a quantity without users, and return its index.

        A quantity with two constant operands is a constant and has the price zero.
        """
        c = len(self.way)
        self.way.append(way)
        operands = (way.a, way.b)
        self.below.append(operands)
        self.constant.append(self.constant[way.a] and self.constant[way.b])
        self.prices.append(0 if self.constant[c] else 1)
        self.height.append(1 + max(self.height[way.a], self.height[way.b]))
        self.uses.append(0)
        self.users.append(set())
        for a in operands:
            self.users[a].add(c)
        return c

    def change(self, c: int, way: Way) -> int | None:
        """Compute the quantity c in another way, and return the change of `total`.

        If an operand of `way` depends on c, nothing is changed and the result is None.
        """
        if not self._raise(c, (way.a, way.b)):
            return None
        old_operands = self.below[c]
        self.way[c], self.below[c] = way, (way.a, way.b)
        users = self.users
        for a in old_operands:
            users[a].discard(c)
        users[way.a].add(c)
        users[way.b].add(c)
        if not self.uses[c]:
            return 0
        added = self.add_use(way.a) + self.add_use(way.b)
        for a in old_operands:
            added -= self.remove_use(a)
        self.total += added
        return added

    def _raise(self, c: int, operands: tuple[int, ...]) -> bool:
        """Increase the heights of c and of its users, so that c is above its future operands.

        Return False, without a change, if one of the operands depends on c.
        """
        height = self.height
        lowest = height[c]
        # Only a quantity above c can depend on c.
        to_visit = [a for a in operands if height[a] >= lowest]
        if not to_visit:
            return c not in operands
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
        to_raise = [(c, 1 + max([height[a] for a in operands]))]
        while to_raise:
            c, lowest = to_raise.pop()
            self.steps += 1
            if lowest > height[c]:
                height[c] = lowest
                to_raise += [(user, lowest + 1) for user in self.users[c] if height[user] <= lowest]
        return True

    def exclusive_price(self, c: int) -> int:
        """Return the price of c and of all quantities that only c needs, directly or indirectly."""
        price = sum([self.remove_use(a) for a in self.below[c]])
        for a in self.below[c]:
            self.add_use(a)
        return price + self.prices[c]

    def add_use(self, c: int) -> int:
        """Count one more use of c, and return the price of the quantities that come into use."""
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
        """Count one use of c less, and return the price of the quantities that are no longer in
        use."""
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
        return sorted([c for c, uses in enumerate(self.uses) if uses], key=self.height.__getitem__)
