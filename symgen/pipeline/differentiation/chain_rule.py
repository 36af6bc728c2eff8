"""Jacobian of a composed function by the chain rule: each called function contributes its own
Jacobian.

The composition runs over numbers x + ε d as it does over plain ones. Where it calls a function, the
blocks of that function's Jacobian are multiplied by the derivatives of the call's arguments. So
forward dynamics is differentiated by its shortest way, once for each call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from symgen.derivation.scalars import Derivation, Scalar
from symgen.ir.program import POSITIONS, Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.composition import Compose
from symgen.pipeline.composing import (
    GetProgram,
    Inlining,
    Result,
    build_from_results,
    inline_program,
)
from symgen.vocabulary import derivatives
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions

Derivatives = Sequence[Scalar]
"""Derivatives along each direction; an empty sequence means zero."""


class Dual(Scalar):
    """Number x + ε d: an atom, and its derivative along each direction."""

    __slots__ = ("derivatives",)

    def __init__(self, at: Scalar, derivatives: Derivatives) -> None:
        super().__init__(at.derivation, at.row, at.sign, at.value, at.unit_value)
        self.derivatives = derivatives

    def __mul__(self, factor: Scalar | int) -> Scalar:
        factor = self.derivation.atom(factor)
        mine, theirs = (
            _times(x, primal(y))
            for x, y in ((self.derivatives, factor), (derivatives_of(factor), self))
        )
        return Dual(primal(self) * primal(factor), _add(mine, theirs))

    def __add__(self, addend: Scalar | int) -> Scalar:
        addend = self.derivation.atom(addend)
        return Dual(primal(self) + primal(addend), _add(self.derivatives, derivatives_of(addend)))

    def __sub__(self, other: Scalar | int) -> Scalar:
        return self + -self.derivation.atom(other)

    def __rsub__(self, other: Scalar | int) -> Scalar:
        return -self + other

    def __neg__(self) -> Scalar:
        return Dual(-primal(self), [-derivative for derivative in self.derivatives])

    __rmul__ = __mul__
    __radd__ = __add__


class DualPositions(list[Scalar]):
    """Positions (NQ), with the derivatives of the step δ (NV) in q ⊕ δ."""

    def __init__(self, at: Iterable[Scalar], steps: Sequence[Derivatives]) -> None:
        super().__init__(at)
        self.steps = steps


def jacobian(
    mechanism: Mechanism,
    derivative: Derivative,
    method: str,
    compose: Compose,
    options: ProgramOptions,
    get_program: GetProgram,
) -> Program:
    """Return a Jacobian of a function that `compose` builds from the Programs of `get_program`."""
    function = FUNCTIONS[derivative.of]
    by = derivative.by or tuple(array.name for array in function.arguments)
    scalar_arguments = [array.name for array in function.arguments if not array.shape]

    def blocks(derivation: Derivation) -> list[Result]:
        robot = Chained(mechanism, derivation, get_program, by)
        results: list[Result] = []
        for result, values in zip(function.results, compose(robot), strict=True):
            rows = steps(values)
            for name in by:
                entries = [
                    row[k] if row else derivation.zero
                    for row in rows
                    for k in range(*robot.span(name))
                ]
                columns = () if name in scalar_arguments else (robot.sizes[name],)
                results.append(
                    (derivatives.derivative_name(result.name, name), (len(rows), *columns), entries)
                )
        return results

    return build_from_results(mechanism, FUNCTIONS[derivative.name], method, options, blocks)


class Chained(Inlining):
    """`symgen.methods.shared.composition.Calls` over numbers x + ε d, with a direction for each
    element of each argument in `by`.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        derivation: Derivation,
        get_program: GetProgram,
        by: Sequence[str],
    ) -> None:
        super().__init__(mechanism, derivation, get_program)
        sizes = [mechanism.nv if name in POSITIONS else len(derivation.inputs[name]) for name in by]
        self.begins = {name: sum(sizes[:k]) for k, name in enumerate(by)}
        self.sizes, self.count = dict(zip(by, sizes, strict=True)), sum(sizes)
        self.inputs = {
            name: self._seeded(name, atoms) if name in by else atoms
            for name, atoms in derivation.inputs.items()
        }

    def span(self, name: str) -> tuple[int, int]:
        """Return the first direction of an argument, and the one after its last."""
        return self.begins[name], self.begins[name] + self.sizes[name]

    def _seeded(self, name: str, atoms: list[Scalar]) -> list[Scalar]:
        unit = [
            [
                self.derivation.one if k == direction else self.derivation.zero
                for k in range(self.count)
            ]
            for direction in range(*self.span(name))
        ]
        return (
            DualPositions(atoms, unit)
            if name in POSITIONS
            else [Dual(x, row) for x, row in zip(atoms, unit, strict=True)]
        )

    def __call__(
        self, function: str, stage: str = "", **arguments: Sequence[Scalar]
    ) -> tuple[list[Scalar], ...]:
        """See `Calls`."""
        program = self.get_program(function)
        values_of = {port.name: {**self.inputs, **arguments}[port.name] for port in program.inputs}
        values = inline_program(
            program,
            self.derivation,
            [[primal(x) for x in atoms] for atoms in values_of.values()],
            stage,
        )
        varying = tuple(name for name, atoms in values_of.items() if any(steps(atoms)))
        if not varying:
            return values
        jacobian_program, result_names = self._shortest_jacobian(
            function, [port.name for port in program.outputs], varying
        )
        plain_arguments = [
            [primal(x) for x in values_of[port.name]] for port in jacobian_program.inputs
        ]
        blocks = dict(
            zip(
                (port.name for port in jacobian_program.outputs),
                inline_program(jacobian_program, self.derivation, plain_arguments, stage),
                strict=True,
            )
        )
        results: list[list[Scalar]] = []
        for port, atoms in zip(program.outputs, values, strict=True):
            rows = self._product(
                [
                    (blocks[result_names[port.name, name]], steps(values_of[name]))
                    for name in varying
                ]
            )
            results.append(
                DualPositions(atoms, rows)
                if port.name in POSITIONS
                else [Dual(x, row) for x, row in zip(atoms, rows, strict=True)]
            )
        return tuple(results)

    def _shortest_jacobian(
        self, function: str, results: Sequence[str], varying: tuple[str, ...]
    ) -> tuple[Program, dict[tuple[str, str], str]]:
        """Return the shortest Program with the derivatives of a function's results by the `varying`
        arguments, and their names.
        """
        pairs = [(result, name) for result in results for name in varying]
        all_arguments = tuple(array.name for array in FUNCTIONS[function].arguments)
        candidates = [
            (
                self.get_program(
                    Derivative(
                        function, "jacobian", () if varying == all_arguments else varying
                    ).name
                ),
                {pair: derivatives.derivative_name(*pair) for pair in pairs},
            )
        ]
        other_sources = [derivatives.ELSEWHERE.get((function, *pair), ("", "")) for pair in pairs]
        source, *further_sources = {source for source, _ in other_sources}
        if source in FUNCTIONS and not further_sources:
            candidates.append(
                (
                    self.get_program(source),
                    {pair: name for pair, (_, name) in zip(pairs, other_sources, strict=True)},
                )
            )
        return min(candidates, key=lambda candidate: candidate[0].cost)

    def _product(
        self, pairs: Sequence[tuple[Sequence[Scalar], Sequence[Derivatives]]]
    ) -> list[Derivatives]:
        """Return Σ block · derivatives, row by row."""
        (first, of_first), *_ = pairs
        rows_of_derivatives: list[Derivatives] = []
        for i in range(len(first) // len(of_first)):
            row = [
                (block[i * len(rows) + k], derivative)
                for block, rows in pairs
                for k, derivative in enumerate(rows)
                if derivative
            ]
            rows_of_derivatives.append(
                [
                    self.derivation.dot(
                        [x for x, _ in row], [derivative[j] for _, derivative in row]
                    )
                    for j in range(self.count)
                ]
            )
        return rows_of_derivatives


def primal(x: Scalar) -> Scalar:
    """Return a number without its derivatives."""
    return Scalar(x.derivation, x.row, x.sign, x.value, x.unit_value) if isinstance(x, Dual) else x


def derivatives_of(x: Scalar) -> Derivatives:
    return x.derivatives if isinstance(x, Dual) else ()


def steps(atoms: Sequence[Scalar]) -> Sequence[Derivatives]:
    """Return the derivatives of an array; for positions, those of their step."""
    return atoms.steps if isinstance(atoms, DualPositions) else [derivatives_of(x) for x in atoms]


def _times(derivatives_of_x: Derivatives, x: Scalar) -> Derivatives:
    return [derivative * x for derivative in derivatives_of_x]


def _add(first: Derivatives, second: Derivatives) -> Derivatives:
    return (
        [x + y for x, y in zip(first, second, strict=True)] if first and second else first or second
    )
