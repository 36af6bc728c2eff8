"""What the links of a robot have, in one: products, and logarithms of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from symgen.derivation.scalars import Derivation, Scalar


class Gathering:
    """Of a derivation `home`, whose constants `one` and `zero` are."""

    home: Derivation
    one: Scalar
    zero: Scalar

    def product(self, factors: Sequence[Scalar]) -> Scalar:
        """The product of the pivots of M, tip first; zero where one is, and 1 of none."""
        total = self.one
        for factor in reversed(factors):
            total = total * factor
        return total

    def log_product(self, factors: Sequence[Scalar]) -> Scalar:
        """ln of the product of positive factors: a logarithm each, and one constant of what is constant.

        The product itself leaves the range of a double: a hundred points of 2e-26 kg at 1.5e-10 m have det M ≈ 1e-4500. Two
        pivots multiplied before the logarithm would save one, and leave the range of a float.
        """
        constant, total = self.one, self.zero
        for factor in factors:
            if factor.is_constant:
                constant = constant * factor
        for factor in reversed(factors):
            if not factor.is_constant:
                total = total + self.home.log(factor)
        return total + self.home.log(constant)

    def product_of(self, of_links: Mapping[int, Sequence[Scalar]]) -> Scalar:
        """The product of what links have; of what is constant, one constant."""
        constant, rest = self.one, []
        for factor in (x for own in of_links.values() for x in own):
            if factor.is_constant:
                constant = constant * factor
            else:
                rest.append(factor)
        return self.product([*rest, constant])

    def log_product_of(self, of_links: Mapping[int, Sequence[Scalar]]) -> Scalar:
        """ln of it."""
        return self.log_product([x for own in of_links.values() for x in own])

    def summed(self, of_links: Iterable[tuple[int, Scalar]], total: Scalar | None = None) -> Scalar:
        """The sum of what links have, onto `total`, one after the other as it is made."""
        total = self.zero if total is None else total
        for _, own in of_links:
            total = total + own
        return total

    def placed(self, places: Iterable[tuple[int, int]], what: str) -> Iterator[tuple[int, int]]:
        """The places of a matrix's blocks, (to, of) joints, in the order in which their products are added up; `what` is said of
        each.
        """
        yield from places

    def joined(
        self, join: Callable[[Scalar, Scalar], Scalar], of_links: Mapping[int, Scalar]
    ) -> Scalar:
        """What links have, in one, as a balanced tree."""
        left = list(of_links.values())
        while len(left) > 1:
            left = [
                join(left[n], left[n + 1]) if n + 1 < len(left) else left[n]
                for n in range(0, len(left), 2)
            ]
        return left[0]
