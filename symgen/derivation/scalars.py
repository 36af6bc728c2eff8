"""From closed forms to rows: `Scalar` carries SymPy's local results along the mechanism and names what it meets.

A Scalar is an atom: a constant, or a signed row. Each operation on two atoms records exactly that operation, so no
rewriting system ever decides what is computed. Only what is decided by structure happens here: constants meet
constants, 0 and 1 vanish, and signs travel with the atom until an addition or a result takes them up. `lower` turns
a SymPy expression that is local to one joint into Scalars; `Derivation.freeze` is the one exit to the IR.
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

KNOWN = (fmpq, arb)
_new = tuple.__new__  # rows are made by the ten thousand


class TooManyRows(SymgenError):
    """A derivation outgrew the row budget it was given."""


class DivisionByZero(ProgramError):
    """A derivation divides by what is zero in every state: the mass matrix is singular."""


class Scalar:
    """An atom of a derivation: a constant `value` (row < 0), or `sign` times row number `row`.

    `whole` is the value of a constant that is exactly 0, 1 or -1, which most decisions hang on; None otherwise.
    """

    __slots__ = ("home", "row", "sign", "value", "whole")

    def __init__(
        self, home: Derivation, row: int, sign: int, value: Any = None, whole: int | None = None
    ) -> None:
        self.home, self.row, self.sign, self.value, self.whole = home, row, sign, value, whole

    def __mul__(self, other: Scalar | int) -> Scalar:
        return self.home.multiply(self, other if type(other) is Scalar else self.home.atom(other))

    def __add__(self, other: Scalar | int) -> Scalar:
        return self.home.sum(self, other if type(other) is Scalar else self.home.atom(other))

    def __sub__(self, other: Scalar | int) -> Scalar:
        return self.home.sum(self, -(other if type(other) is Scalar else self.home.atom(other)))

    def __truediv__(self, other: Scalar) -> Scalar:
        return self.home.divide(self, self.home.atom(other))

    def __neg__(self) -> Scalar:
        if self.row < 0:
            return Scalar(
                self.home, -1, 1, -self.value, None if self.whole is None else -self.whole
            )
        return Scalar(self.home, self.row, -self.sign)

    __rmul__ = __mul__
    __radd__ = __add__

    @property
    def is_constant(self) -> bool:
        return self.row < 0

    @property
    def is_zero(self) -> bool:
        return self.whole == 0

    def equals(self, number: int) -> bool:
        """True when this is exactly that constant: 0, 1 or -1."""
        return self.whole == number


class Derivation:
    """An ordered list of named equations over `inputs` (argument name -> number of elements)."""

    def __init__(self, inputs: Mapping[str, int], budget: int | None = None) -> None:
        self.rows: list[tuple[str, int, int]] = []
        self.values: dict[int, Any] = {}
        self.names: dict[int, str] = {}
        self.step_of: list[int] = []
        self.steps: list[str] = []
        self.budget = budget
        self._taken: set[str] = set()
        self._constants: dict[tuple[int, int], int] = {}
        self._rows: dict[tuple[Any, ...], int] = {}
        self._numbers: dict[tuple[int, int], Scalar] = {}
        self._once: dict[tuple[str, int], Scalar] = {}
        self._spare: dict[int, None] = {}
        """The rows that compute a second time what another does."""
        self._ones = 0
        self.ports = list(inputs)
        self.zero, self.one = self.constant(0), self.constant(1)
        self.inputs = {
            name: [self._input(p, e) for e in range(size)]
            for p, (name, size) in enumerate(inputs.items())
        }
        self.sizes = dict(inputs)

    # -- recording ------------------------------------------------------------------------------------------------

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
        """Start a comment line: the equations recorded from here on stand under it."""
        self.steps.append(text)

    def constant(self, value: Any) -> Scalar:
        """A constant atom from an int, Fraction, fmpq or arb."""
        if not isinstance(value, KNOWN):  # as most are
            if not isinstance(value, int | Fraction):
                raise ProgramError(f"{value!r} is no constant")
            value = k.rational(value)
        value = k.settle(value)
        return Scalar(self, -1, 1, value, k.whole(value))

    def number(self, numerator: int, denominator: int) -> Scalar:
        """A rational constant atom."""
        key = numerator, denominator
        if key not in self._numbers:
            self._numbers[key] = self.constant(Fraction(numerator, denominator))
        return self._numbers[key]

    def atom(self, value: Any) -> Scalar:
        return value if isinstance(value, Scalar) else self.constant(value)

    def _operand(self, a: Scalar) -> int:
        """The row of |a| for a constant, of the unsigned atom otherwise."""
        if a.row >= 0:
            return a.row
        key = k.told_by(a.value)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self._constant_row(k.fraction_told_by(key, a.value))
        return row

    def _constant_row(self, fraction: Fraction) -> int:
        key = fraction.numerator, fraction.denominator  # told apart sooner than a Fraction
        row = self._constants.get(key, -1)
        if row < 0:
            row = self._constants[key] = self._record("const")
            self.values[row] = fraction
        return row

    def multiply(self, a: Scalar, b: Scalar) -> Scalar:
        if a.row >= 0 and b.row >= 0:
            return Scalar(self, self._record("mul", a.row, b.row), a.sign * b.sign)
        if (one := a.whole) is not None:
            return self.zero if one == 0 else b if one == 1 else -b
        if (one := b.whole) is not None:
            return self.zero if one == 0 else a if one == 1 else -a
        if a.row < 0 and b.row < 0:
            return self.constant(a.value * b.value)
        a, b = self._positive(a), self._positive(b)
        if b.row < 0:
            a, b = b, a
        return Scalar(
            self, self._record("mul", self._operand(a), self._operand(b)), a.sign * b.sign
        )

    def _positive(self, a: Scalar) -> Scalar:
        """A constant with its sign taken out, so that c·x and −c·x are one row."""
        if a.row < 0 and a.value < 0:
            return Scalar(self, -1, -1, -a.value, None if a.whole is None else -a.whole)
        return a

    def sum(self, a: Scalar, b: Scalar) -> Scalar:
        if a.whole == 0:
            return b
        if b.whole == 0:
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
        """Σ a_i b_i, first to last."""
        total = self.zero
        for x, y in zip(a, b, strict=True):
            if x.whole != 0 and y.whole != 0:
                term = self.multiply(x, y)
                total = term if total.whole == 0 else self.sum(total, term)
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
        """ln a; of a constant it is a constant."""
        if a.row < 0:
            return self.constant(k.logarithm(a.value))
        return self._function(
            "log", a if a.sign > 0 else Scalar(self, self._record("neg", a.row), 1)
        )

    def sqrt(self, a: Scalar) -> Scalar:
        """√a; of a constant it is a constant."""
        if a.row < 0:
            return self.constant(k.square_root(a.value))
        return self._function(
            "sqrt", a if a.sign > 0 else Scalar(self, self._record("neg", a.row), 1)
        )

    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        """The angle from the x axis to (x, y), from -pi to pi."""
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
        """Apply one of the functions of a turn that `symgen.pipeline.differentiation.series` takes apart."""
        rows = [a.row if a.sign > 0 else self._record("neg", a.row) for a in operands]
        return Scalar(self, self._record(op, *rows), 1)

    def either(self, one: Scalar, other: Scalar) -> Scalar:
        """One of two atoms of equal value: a constant, else what `symgen.ir.passes.merge_equal` takes as fewer operations."""
        if one.row < 0 or other.row < 0:
            return one if one.row < 0 else other
        if other.row != one.row:
            self._spare[other.row] = None
        return one

    def some_one(self) -> Scalar:
        """1, which the passes do not know (`symgen.ir.program.ONES`), each time another one."""
        self._ones += 1
        return self._input(len(self.ports), self._ones - 1)

    # -- naming ---------------------------------------------------------------------------------------------------

    def name(self, name: str, a: Scalar) -> Scalar:
        """Give the row behind `a` the derivation's name; a signed copy of another row keeps that row's name."""
        if a.row >= 0 and a.row not in self.names and self.rows[a.row][0] not in ("input", "const"):
            full = name if a.sign > 0 else f"neg_{name}"
            if full not in self._taken:
                self._taken.add(full)
                self.names[a.row] = full
        return a

    # -- leaving --------------------------------------------------------------------------------------------------

    def freeze(
        self,
        function: str,
        method: str,
        results: Sequence[tuple[str, tuple[int, ...], Sequence[Scalar]]],
        shapes: Mapping[str, tuple[int, ...]],
        spare: bool = False,
    ) -> Program:
        """The Program of these results: the one exit from the derivation; signs of results become neg rows.

        With `spare` the rows that `either` was told of are one result more, `symgen.ir.program.SPARE`. What `some_one` gave is one
        argument more, `symgen.ir.program.ONES`.
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


def lower(expression: Any, bindings: Mapping[Any, Scalar], home: Derivation) -> Scalar:
    """A SymPy expression as recorded operations; `bindings` says what its atoms and its sines and cosines are.

    Raises ProgramError for anything outside the closed operation set.
    """
    if (bound := bindings.get(expression)) is not None:
        return bound
    if expression.is_Rational:
        return home.number(int(expression.p), int(expression.q))
    if expression.is_Add or expression.is_Mul:
        parts = [lower(arg, bindings, home) for arg in expression.args]
        return reduce(operator.add if expression.is_Add else operator.mul, parts)
    if expression.is_Pow:
        return _lower_power(expression, bindings, home)
    name = str(expression.func)
    functions: dict[str, Callable[..., Scalar]] = {
        "sin": home.sin,
        "cos": home.cos,
        "atan2": home.atan2,
    }
    if name in functions or name in BY_SERIES:
        arguments = [lower(arg, bindings, home) for arg in expression.args]
        return (
            functions[name](*arguments) if name in functions else home.by_series(name, *arguments)
        )
    raise _not_lowered(expression)


def _lower_power(expression: Any, bindings: Mapping[Any, Scalar], home: Derivation) -> Scalar:
    """x to an integer or to ±½: products, a root, and 1 divided by them."""
    exponent = expression.exp
    if not exponent.is_Integer and abs(exponent) != sp.Rational(1, 2):
        raise _not_lowered(expression)
    base = lower(expression.base, bindings, home)
    if exponent.is_Integer:
        power = reduce(operator.mul, [base] * abs(int(exponent)))
    else:
        power = home.sqrt(base)
    return power if exponent > 0 else home.one / power


def _not_lowered(expression: Any) -> ProgramError:
    return ProgramError(f"{expression} cannot be lowered: no such operation in the IR")
