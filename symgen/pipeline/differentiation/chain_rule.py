"""The Jacobian of what is put together of other functions, by the chain rule: each function that it calls brings its own.

The composition runs over numbers x + ε d as it does over plain ones. Where it calls a function, the blocks of that function's
Jacobian are multiplied by the slopes of what it is given. So forward dynamics is differentiated by its shortest way, once a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from symgen.derivation.scalars import Derivation, Scalar
from symgen.ir.program import POSITIONS, Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.composition import Compose
from symgen.pipeline.composing import Inlining, Made, Result, inlined, put_together
from symgen.vocabulary import derivatives
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions

Slopes = Sequence[Scalar]
"""Along each of the directions; none is the same as all zero."""


class Dual(Scalar):
    """x + ε d: an atom, and its slope along each direction."""

    __slots__ = ("slopes",)

    def __init__(self, at: Scalar, slopes: Slopes) -> None:
        super().__init__(at.home, at.row, at.sign, at.value, at.unit_value)
        self.slopes = slopes

    def __mul__(self, other: Scalar | int) -> Scalar:
        other = self.home.atom(other)
        mine, theirs = (
            _times(x, plain(y)) for x, y in ((self.slopes, other), (slopes(other), self))
        )
        return Dual(plain(self) * plain(other), _sum(mine, theirs))

    def __add__(self, other: Scalar | int) -> Scalar:
        other = self.home.atom(other)
        return Dual(plain(self) + plain(other), _sum(self.slopes, slopes(other)))

    def __sub__(self, other: Scalar | int) -> Scalar:
        return self + -self.home.atom(other)

    def __rsub__(self, other: Scalar | int) -> Scalar:
        return -self + other

    def __neg__(self) -> Scalar:
        return Dual(-plain(self), [-one for one in self.slopes])

    __rmul__ = __mul__
    __radd__ = __add__


class Places(list[Scalar]):
    """Positions (NQ), with the slopes of the step δ in q ⊕ δ (NV of them)."""

    def __init__(self, at: Iterable[Scalar], steps: Sequence[Slopes]) -> None:
        super().__init__(at)
        self.steps = steps


def jacobian(
    mechanism: Mechanism,
    wanted: Derivative,
    method: str,
    compose: Compose,
    options: ProgramOptions,
    made: Made,
) -> Program:
    """`wanted`, a Jacobian of a function that `compose` makes of those that `made` gives."""
    own = FUNCTIONS[wanted.of]
    by = wanted.by or tuple(array.name for array in own.arguments)
    numbers = [array.name for array in own.arguments if not array.shape]

    def blocks(home: Derivation) -> list[Result]:
        robot = Chained(mechanism, home, made, by)
        found: list[Result] = []
        for result, values in zip(own.results, compose(robot), strict=True):
            rows = steps(values)
            for name in by:
                entries = [
                    row[k] if row else home.zero for row in rows for k in range(*robot.span(name))
                ]
                columns = () if name in numbers else (robot.sizes[name],)
                found.append(
                    (derivatives.derivative_name(result.name, name), (len(rows), *columns), entries)
                )
        return found

    return put_together(mechanism, FUNCTIONS[wanted.name], method, options, blocks)


class Chained(Inlining):
    """`symgen.methods.shared.composition.Calls` over numbers x + ε d, with a direction for each element of each argument in `by`."""

    def __init__(
        self, mechanism: Mechanism, home: Derivation, made: Made, by: Sequence[str]
    ) -> None:
        super().__init__(mechanism, home, made)
        sizes = [mechanism.nv if name in POSITIONS else len(home.inputs[name]) for name in by]
        self.begins = {name: sum(sizes[:k]) for k, name in enumerate(by)}
        self.sizes, self.count = dict(zip(by, sizes, strict=True)), sum(sizes)
        self.inputs = {
            name: self._seeded(name, atoms) if name in by else atoms
            for name, atoms in home.inputs.items()
        }

    def span(self, name: str) -> tuple[int, int]:
        """The first direction of an argument, and the one behind its last."""
        return self.begins[name], self.begins[name] + self.sizes[name]

    def _seeded(self, name: str, atoms: list[Scalar]) -> list[Scalar]:
        unit = [
            [self.home.one if k == own else self.home.zero for k in range(self.count)]
            for own in range(*self.span(name))
        ]
        return (
            Places(atoms, unit)
            if name in POSITIONS
            else [Dual(x, row) for x, row in zip(atoms, unit, strict=True)]
        )

    def __call__(
        self, function: str, stage: str = "", **arguments: Sequence[Scalar]
    ) -> tuple[list[Scalar], ...]:
        """See `Calls`."""
        program = self.made(function)
        given = {port.name: {**self.inputs, **arguments}[port.name] for port in program.inputs}
        values = inlined(
            program, self.home, [[plain(x) for x in atoms] for atoms in given.values()], stage
        )
        moved = tuple(name for name, atoms in given.items() if any(steps(atoms)))
        if not moved:
            return values
        sloped, told = self._sloped(function, [port.name for port in program.outputs], moved)
        taken = [[plain(x) for x in given[port.name]] for port in sloped.inputs]
        blocks = dict(
            zip(
                (port.name for port in sloped.outputs),
                inlined(sloped, self.home, taken, stage),
                strict=True,
            )
        )
        results: list[list[Scalar]] = []
        for port, atoms in zip(program.outputs, values, strict=True):
            rows = self._product(
                [(blocks[told[port.name, name]], steps(given[name])) for name in moved]
            )
            results.append(
                Places(atoms, rows)
                if port.name in POSITIONS
                else [Dual(x, row) for x, row in zip(atoms, rows, strict=True)]
            )
        return tuple(results)

    def _sloped(
        self, function: str, results: Sequence[str], moved: tuple[str, ...]
    ) -> tuple[Program, dict[tuple[str, str], str]]:
        """The shortest Program with the slopes of a function's results by what is moved, and what they are called in it."""
        pairs = [(result, name) for result in results for name in moved]
        own = tuple(array.name for array in FUNCTIONS[function].arguments)
        ways = [
            (
                self.made(Derivative(function, "jacobian", () if moved == own else moved).name),
                {pair: derivatives.derivative_name(*pair) for pair in pairs},
            )
        ]
        elsewhere = [derivatives.ELSEWHERE.get((function, *pair), ("", "")) for pair in pairs]
        if len({other for other, _ in elsewhere}) == 1 and elsewhere[0][0] in FUNCTIONS:
            ways.append(
                (
                    self.made(elsewhere[0][0]),
                    {pair: name for pair, (_, name) in zip(pairs, elsewhere, strict=True)},
                )
            )
        return min(ways, key=lambda way: way[0].cost)

    def _product(self, pairs: Sequence[tuple[Sequence[Scalar], Sequence[Slopes]]]) -> list[Slopes]:
        """Σ block · slopes, row by row."""
        (first, of_first), *_ = pairs
        found: list[Slopes] = []
        for i in range(len(first) // len(of_first)):
            row = [
                (block[i * len(rows) + k], one)
                for block, rows in pairs
                for k, one in enumerate(rows)
                if one
            ]
            found.append(
                [
                    self.home.dot([x for x, _ in row], [one[j] for _, one in row])
                    for j in range(self.count)
                ]
            )
        return found


def plain(x: Scalar) -> Scalar:
    """Without slopes."""
    return Scalar(x.home, x.row, x.sign, x.value, x.unit_value) if isinstance(x, Dual) else x


def slopes(x: Scalar) -> Slopes:
    return x.slopes if isinstance(x, Dual) else ()


def steps(atoms: Sequence[Scalar]) -> Sequence[Slopes]:
    """The slopes of an array: of positions, those of their step."""
    return atoms.steps if isinstance(atoms, Places) else [slopes(x) for x in atoms]


def _times(own: Slopes, x: Scalar) -> Slopes:
    return [one * x for one in own]


def _sum(one: Slopes, other: Slopes) -> Slopes:
    return [x + y for x, y in zip(one, other, strict=True)] if one and other else one or other
