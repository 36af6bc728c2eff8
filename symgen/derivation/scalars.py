"""Conversion of closed forms to rows: `Scalar` records an operation on two atoms as a row.
A Scalar is an atom: a constant, or a signed row. Each operation on two atoms records exactly that
operation, so no rewriting system decides what is computed. Only structural decisions are made here:
constants are combined with constants, 0 and 1 vanish, and signs stay with the atom until an
addition or a result applies them. `lower` converts a SymPy expression that is local to one joint
into Scalars; `Derivation.freeze` is the one exit to the IR.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import sympy as sp
from flint import arb, fmpq

from symgen.derivation import constants as k
from symgen.ir.program import BY_SERIES, ONES, SPARE, Port, Program, Row
from symgen.support.errors import ProgramError, SymgenError

CONSTANT_TYPES = (fmpq, arb)
_new = tuple.__new__  # rows are made by the ten thousand


class TooManyRows(SymgenError):
    """A derivation exceeded its row budget."""


class DivisionByZero(ProgramError):
    """A derivation divides by an identically zero quantity: the mass matrix is singular."""


class Scalar:
    """An atom of a derivation: a constant `value` (row < 0), or `sign` times row number `row`.

    `unit_value` is the value of a constant that is exactly 0, 1 or -1, which decides most
    simplifications; else None.
    """

    __slots__ = ("derivation", "row", "sign", "unit_value", "value")

    def __init__(
        self,
        derivation: Derivation,
        row: int,
        sign: int,
        value: Any = None,
        unit_value: int | None = None,
    ) -> None:
        self.derivation, self.row, self.sign, self.value, self.unit_value = (
            derivation,
            row,
            sign,
            value,
            unit_value,
        )

    def __mul__(self, other: Scalar | int) -> Scalar:
        return self.derivation.multiply(
            self, other if type(other) is Scalar else self.derivation.atom(other)
        )

    def __add__(self, other: Scalar | int) -> Scalar:
        return self.derivation.sum(
            self, other if type(other) is Scalar else self.derivation.atom(other)
        )

    def __sub__(self, other: Scalar | int) -> Scalar:
        return self.derivation.sum(
            self, -(other if type(other) is Scalar else self.derivation.atom(other))
        )

    def __truediv__(self, other: Scalar) -> Scalar:
        return self.derivation.divide(self, self.derivation.atom(other))

    def __neg__(self) -> Scalar:
        if self.row < 0:
            return Scalar(
                self.derivation,
                -1,
                1,
                -self.value,
                None if self.unit_value is None else -self.unit_value,
            )
        return Scalar(self.derivation, self.row, -self.sign)

    __rmul__ = __mul__
    __radd__ = __add__

    @property
    def is_constant(self) -> bool:
        return self.row < 0

    @property
    def is_zero(self) -> bool:
        return self.unit_value == 0

    def equals(self, number: int) -> bool:
        """True if this is exactly that constant: 0, 1 or -1."""
        return self.unit_value == number


class Derivation:
    """An ordered list of named equations over `inputs` (argument name -> number of elements)."""

    def __init__(self, inputs: Mapping[str, int], budget: int | None = None) -> None:
        self.rows: list[tuple[str, int, int]] = []
        self.values: dict[int, Any] = {}
        self.names: dict[int, str] = {}
        self.step_of: list[int] = []
        self.steps: list[str] = []
        self.budget = budget
        self._used_names: set[str] = set()
        self._constants: dict[tuple[int, int], int] = {}
        self._rows: dict[tuple[Any, ...], int] = {}
        self._numbers: dict[tuple[int, int], Scalar] = {}
        self._once: dict[tuple[str, int], Scalar] = {}
        self._spare: dict[int, None] = {}
        """The rows that compute a value that another row computes too."""
        self._ones = 0
        self.ports = list(inputs)
        self.zero, self.one = self.constant(0), self.constant(1)
        self.inputs = {
            name: [self._input(p, e) for e in range(size)]
            for p, (name, size) in enumerate(inputs.items())
        }
        self.sizes = dict(inputs)

    # -- recording ---------------------------------------------------------------------------------

    def _record(self, op: str, a: int = -1, b: int = -1) -> int:
        rows = self.rows
        row = len(rows)
        if self.budget is not None and row >= self.budget:
            raise TooManyRows(f"the derivation outgrew {self.budget} rows")
        rows.append((op, a, b))
        self.step_of.append(len(self.steps) - 1)
        return row

    def _input(self, port: int, element: int) -> Scalar:
        row = self._record("input")
        self.values[row] = (port, element)
        return Scalar(self, row, 1)

    def step(self, text: str) -> None:
        """Start a comment line: the following equations are listed under it."""
        self.steps.append(text)

    def constant(self, value: Any) -> Scalar:
        """Return a constant atom for an int, Fraction, fmpq or arb."""
        if not isinstance(value, CONSTANT_TYPES):
            if not isinstance(value, int | Fraction):
                raise ProgramError(f"{value!r} is no constant")
            value = k.rational(value)
        value = k.normalize(value)
        return Scalar(self, -1, 1, value, k.unit_value(value))

    def number(self, numerator: int, denominator: int) -> Scalar:
        """Return a rational constant atom."""
        key = numerator, denominator
        if key not in self._numbers:
            self._numbers[key] = self.constant(Fraction(numerator, denominator))
        return self._numbers[key]

    def atom(self, value: Any) -> Scalar:
        return value if isinstance(value, Scalar) else self.constant(value)

    def _operand(self, a: Scalar) -> int:
        """Return the row of |a| for a constant, else that of the unsigned atom."""
        if a.row >= 0:
            return a.row
        key = k.identity_key(a.value)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self._constant_row(k.cached_fraction(key, a.value))
        return row

    def _constant_row(self, fraction: Fraction) -> int:
        key = fraction.numerator, fraction.denominator  # hashes faster than a Fraction
        row = self._constants.get(key, -1)
        if row < 0:
            row = self._constants[key] = self._record("const")
            self.values[row] = fraction
        return row

    def multiply(self, a: Scalar, b: Scalar) -> Scalar:
        if a.row >= 0 and b.row >= 0:
            return Scalar(self, self._record("mul", a.row, b.row), a.sign * b.sign)
        if (unit := a.unit_value) is not None:
            return self.zero if unit == 0 else b if unit == 1 else -b
        if (unit := b.unit_value) is not None:
            return self.zero if unit == 0 else a if unit == 1 else -a
        if a.row < 0 and b.row < 0:
            return self.constant(a.value * b.value)
        a, b = self._positive(a), self._positive(b)
        if b.row < 0:
            a, b = b, a
        return Scalar(
            self, self._record("mul", self._operand(a), self._operand(b)), a.sign * b.sign
        )

    def _positive(self, a: Scalar) -> Scalar:
        """Return a constant with its sign separated, so that c·x and −c·x are one row."""
        if a.row < 0 and a.value < 0:
            return Scalar(self, -1, -1, -a.value, None if a.unit_value is None else -a.unit_value)
        return a

    def sum(self, a: Scalar, b: Scalar) -> Scalar:
        if a.unit_value == 0:
            return b
        if b.unit_value == 0:
            return a
        if a.row < 0 or b.row < 0:
            if a.row < 0 and b.row < 0:
                return self.constant(a.value + b.value)
            a, b = self._positive(a), self._positive(b)
        elif a.row == b.row and a.sign != b.sign:
            return self.zero
        if a.sign == b.sign:
            return Scalar(self, self._record("add", self._operand(a), self._operand(b)), a.sign)
        if a.sign < 0:
            a, b = b, a
        return Scalar(self, self._record("sub", self._operand(a), self._operand(b)), 1)

    def dot(self, a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
        """Return Σ a_i b_i, summed from first to last."""
        total = self.zero
        for x, y in zip(a, b, strict=True):
            if x.unit_value != 0 and y.unit_value != 0:
                term = self.multiply(x, y)
                total = term if total.unit_value == 0 else self.sum(total, term)
        return total

    def divide(self, a: Scalar, b: Scalar) -> Scalar:
        if b.is_zero:
            raise DivisionByZero("division by a quantity that is zero in every state")
        if b.row < 0:
            return self.multiply(a, self.constant(1 / b.value))
        if a.is_zero:
            return a
        a = self._positive(a)
        return Scalar(self, self._record("div", self._operand(a), b.row), a.sign * b.sign)

    def _function(self, op: str, a: Scalar) -> Scalar:
        if a.row < 0:
            raise ProgramError(f"{op} of a constant belongs to the model, not to the derivation")
        key = (op, a.row)
        if key not in self._once:
            self._once[key] = Scalar(self, self._record(op, a.row), 1)
        return self._once[key]

    def sin(self, a: Scalar) -> Scalar:
        value = self._function("sin", a)
        return value if a.sign > 0 else -value

    def cos(self, a: Scalar) -> Scalar:
        return self._function("cos", a)

    def log(self, a: Scalar) -> Scalar:
        """Return ln a; a constant for a constant."""
        if a.row < 0:
            return self.constant(k.logarithm(a.value))
        return self._function(
            "log", a if a.sign > 0 else Scalar(self, self._record("neg", a.row), 1)
        )

    def sqrt(self, a: Scalar) -> Scalar:
        """Return √a; a constant for a constant."""
        if a.row < 0:
            return self.constant(k.square_root(a.value))
        return self._function(
            "sqrt", a if a.sign > 0 else Scalar(self, self._record("neg", a.row), 1)
        )

    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        """Return the angle from the x axis to (x, y), from -pi to pi."""
        if y.row < 0 or x.row < 0:
            raise ProgramError("atan2 of a constant belongs to the model, not to the derivation")
        return Scalar(
            self,
            self._record(
                "atan2", *(a.row if a.sign > 0 else self._record("neg", a.row) for a in (y, x))
            ),
            1,
        )

    def by_series(self, op: str, *operands: Scalar) -> Scalar:
        """Apply one of the functions of a rotation angle that
        `symgen.pipeline.differentiation.series` expands.
        """
        rows = [a.row if a.sign > 0 else self._record("neg", a.row) for a in operands]
        return Scalar(self, self._record(op, *rows), 1)

    def either(self, first: Scalar, second: Scalar) -> Scalar:
        """Return one of two atoms of equal value: a constant if there is one.

        If both are rows, `symgen.ir.passes.merge_equal` later chooses the one that needs fewer
        operations.
        """
        if first.row < 0 or second.row < 0:
            return first if first.row < 0 else second
        if second.row != first.row:
            self._spare[second.row] = None
        return first

    def opaque_one(self) -> Scalar:
        """Return 1 as an input that the passes cannot simplify (`symgen.ir.program.ONES`); each
        call returns another row.
        """
        self._ones += 1
        return self._input(len(self.ports), self._ones - 1)

    # -- naming ------------------------------------------------------------------------------------

    def name(self, name: str, a: Scalar) -> Scalar:
        """Name the row of `a`; the first name of a row is kept, and a negated row gets the prefix
        neg_.
        """
        if a.row >= 0 and a.row not in self.names and self.rows[a.row][0] not in ("input", "const"):
            full = name if a.sign > 0 else f"neg_{name}"
            if full not in self._used_names:
                self._used_names.add(full)
                self.names[a.row] = full
        return a

    # -- leaving -----------------------------------------------------------------------------------

    def freeze(
        self,
        function: str,
        method: str,
        results: Sequence[tuple[str, tuple[int, ...], Sequence[Scalar]]],
        shapes: Mapping[str, tuple[int, ...]],
        spare: bool = False,
    ) -> Program:
        """Return the Program of these results: the one exit from the derivation. Signs of results
        become neg rows.

        With `spare` the alternatives recorded by `either` are one more result,
        `symgen.ir.program.SPARE`. The inputs of `opaque_one` are one more argument,
        `symgen.ir.program.ONES`.
        """
        negated: dict[int, int] = {}
        outputs = []
        for name, shape, atoms in results:
            indices = []
            for a in atoms:
                if a.row < 0:
                    indices.append(self._constant_row(k.to_fraction(a.value)))
                elif a.sign > 0:
                    indices.append(a.row)
                else:
                    if a.row not in negated:
                        negated[a.row] = self._record("neg", a.row)
                    indices.append(negated[a.row])
            outputs.append(Port(name, shape, tuple(indices)))
        if spare and self._spare:
            outputs.append(Port(SPARE, (len(self._spare),), tuple(self._spare)))
        value, named = self.values.get, self.names.get
        rows = tuple(
            [
                _new(Row, (op, (a, b), None, named(i, ""), step))
                if b >= 0
                else _new(Row, (op, (a,) if a >= 0 else (), value(i), named(i, ""), step))
                for i, ((op, a, b), step) in enumerate(zip(self.rows, self.step_of, strict=True))
            ]
        )
        inputs = [Port(n, shapes[n]) for n in self.ports] + (
            [Port(ONES, (self._ones,))] if self._ones else []
        )
        return Program(function, method, tuple(inputs), tuple(outputs), rows, tuple(self.steps))


def lower(expression: Any, bindings: Mapping[Any, Scalar], derivation: Derivation) -> Scalar:
    """Record a SymPy expression as operations; `bindings` gives the Scalars of its atoms and of its
    sines and cosines.

    Raises ProgramError for an operation outside the closed set.
    """
    if (bound := bindings.get(expression)) is not None:
        return bound
    if expression.is_Rational:
        return derivation.number(int(expression.p), int(expression.q))
    if expression.is_Add or expression.is_Mul:
        operands = [lower(arg, bindings, derivation) for arg in expression.args]
        return reduce(operator.add if expression.is_Add else operator.mul, operands)
    if expression.is_Pow:
        return _lower_power(expression, bindings, derivation)
    name = str(expression.func)
    functions: dict[str, Callable[..., Scalar]] = {
        "sin": derivation.sin,
        "cos": derivation.cos,
        "atan2": derivation.atan2,
    }
    if name in functions or name in BY_SERIES:
        arguments = [lower(arg, bindings, derivation) for arg in expression.args]
        return (
            functions[name](*arguments)
            if name in functions
            else derivation.by_series(name, *arguments)
        )
    raise _not_lowered(expression)


def _lower_power(expression: Any, bindings: Mapping[Any, Scalar], derivation: Derivation) -> Scalar:
    """Record an integer power or ±½: products, a root, and a division."""
    exponent = expression.exp
    if not exponent.is_Integer and abs(exponent) != sp.Rational(1, 2):
        raise _not_lowered(expression)
    base = lower(expression.base, bindings, derivation)
    if exponent.is_Integer:
        power = reduce(operator.mul, [base] * abs(int(exponent)))
    else:
        power = derivation.sqrt(base)
    return power if exponent > 0 else derivation.one / power


def _not_lowered(expression: Any) -> ProgramError:
    return ProgramError(f"{expression} cannot be lowered: no such operation in the IR")
