"""Recognize what has been computed before, whichever way: a − b is −(b − a), and 1 − s² is c².

Value numbering sees equal operations on equal operands. Here rows are compared by value, modulo a prime at a random point where
(cos x, sin x) lie on the unit circle: rows of equal or opposite value are one quantity, computed once. Signs travel with operands
into sums, products and quotients, so that no operation is paid for them. What is computed in two ways is computed in a better one
(`_ways`). Afterwards all of it is proved at another point modulo another prime. Constants are compared to their last digit: what
holds only for the numbers behind them is not recognized.
"""

from __future__ import annotations

from itertools import chain

from symgen.errors import ProgramError
from symgen.ir import Port, Program, Row
from symgen.passes._quantities import Quantities
from symgen.passes._residues import residues
from symgen.passes._round_offs import round_offs
from symgen.passes._spare import idle, results, without_spare
from symgen.passes._ways import Ways

PRIME, SEED = 314159265358979347, 1
PROOF_PRIME, PROOF_SEED = 271828182845904539, 2
"""Near no power of two, for constants are such: modulo 2^61 − 1, 2^-31 would be 2^30. Below 2^60, as Python is quickest there."""
NEGATIVE = "neg_"
"""Before the name of a quantity whose opposite a row holds."""
SUMS, PRODUCTS = ("add", "sub"), ("mul", "div")

_new = tuple.__new__   # rows are made by the ten thousand

Place = tuple[int, int]
"""(row, sign) in the new Program."""


def recognize(program: Program) -> Program:
    """The same Program with each value computed once up to its sign; see the module docstring."""
    found = residues(PRIME, SEED, program)
    if found is None:   # it divides by zero
        return without_spare(program)
    values = found[0]
    quantities = Quantities(program, values, PRIME)
    if not quantities.repeated:
        return without_spare(program)
    chosen: dict[int, int] = {}
    spare = idle(program)
    errors = round_offs(program, chain.from_iterable(quantities.ways.values())) if quantities.ways else []
    while quantities.ways:
        ways = Ways(quantities, [quantities.of[r] for port in results(program) for r in port.rows], errors, spare)
        chosen = ways.chosen
        if not ways.bad:
            break
        quantities = Quantities(program, values, PRIME, quantities.apart | ways.bad)
    writer = _Writer(program, quantities, chosen)
    written = writer.written()
    prove(program, written, writer.places)
    return written


def prove(before: Program, after: Program, places: list[Place]) -> None:
    """That every row of `before` stands at its place in `after`: modulo another prime, at another point.

    Raises ProgramError naming the first row that does not.
    """
    here = f"{before.function}/{before.method}"
    values = residues(PROOF_PRIME, PROOF_SEED, before, after)
    if values is None:
        raise ProgramError(f"{here}: what was recognized cannot be proved, for it divides by zero")
    old, new = values
    for i, (row, sign) in enumerate(places):
        if (old[i] - sign * new[row]) % PROOF_PRIME:
            name = f" ('{before.rows[i].name}')" if before.rows[i].name else ""
            raise ProgramError(f"{here}: row {i}{name} was recognized as what it does not equal")
    ends = [(a, b) for one, other in zip(results(before), after.outputs, strict=True)
            for a, b in zip(one.rows, other.rows, strict=True)]
    for a, b in ends:
        if old[a] != new[b]:
            raise ProgramError(f"{here}: row {a}, a result, has lost its sign")


class _Writer:
    """Quantities as rows, in the order of the rows that say how each is computed."""

    def __init__(self, program: Program, quantities: Quantities, chosen: dict[int, int]) -> None:
        self.program, self.quantities, self.chosen = program, quantities, chosen
        self.rows: list[Row] = []
        self._row = [-1] * len(program.rows)
        """Where a quantity stands, -1 where it does not yet."""
        self._sign = [1] * len(program.rows)
        """With which sign it stands there."""
        self._opposite: dict[int, int] = {}
        self._taken = {row[3] for row in program.rows}
        self._names: dict[int, int] = {}
        """Of each quantity that has a name, the first row that does."""
        for i, row in enumerate(program.rows):
            if row[3]:
                self._names.setdefault(quantities.of[i], i)

    def written(self) -> Program:
        rows, of, row, chosen = self.program.rows, self.quantities.of, self._row, self.chosen
        for i, c in enumerate(of):
            if row[c] < 0 and i == chosen.get(c, c):
                if chosen:
                    self._put_below(i, rows[i][4])
                self._put(c, i, rows[i][4])
        outputs = [Port(port.name, port.shape, tuple([self._held(of[r], self.quantities.sign[r]) for r in port.rows]))
                   for port in results(self.program)]
        return self.program.with_rows(self.rows, outputs)

    @property
    def places(self) -> list[Place]:
        """Of every row of the Program as it was."""
        return [(self._row[c], s * self._sign[c]) for c, s in zip(self.quantities.of, self.quantities.sign, strict=True)]

    def _put_below(self, which: int, step: int) -> None:
        """Put under a step what an old row is computed from and does not stand yet."""
        rows, of, row, constants = self.program.rows, self.quantities.of, self._row, self.quantities.constants
        waiting = [which]
        while waiting:
            i = waiting[-1]
            args = () if of[i] in constants else rows[i][1]
            below = [self.chosen.get(of[a], of[a]) for a in args if row[of[a]] < 0]
            if below:
                waiting += below[::-1]
            elif waiting.pop() != which and row[of[i]] < 0:
                self._put(of[i], i, step)

    def _put(self, c: int, which: int, step: int) -> None:
        """Put c as that old row computes it."""
        of, signs = self.quantities.of, self.quantities.sign
        op, args, value, name, _ = self.program.rows[which]
        named = self._names.get(c)
        wanted = 1 if named is None else signs[named]
        sign = signs[which]   # of what is put, against the quantity
        if c in self.quantities.constants:
            op, args, value, sign, named = "const", (), self.quantities.constants[c], 1, None
        elif op in PRODUCTS or op in SUMS:
            a, b = args[0], args[-1]
            first, second = signs[a] * self._sign[of[a]], signs[b] * self._sign[of[b]]
            args = (self._row[of[a]], self._row[of[b]])
            sign *= first
            if op in PRODUCTS:
                sign *= second
            elif (first == second) == (op == "add"):
                op = "add"
            else:   # the one of two differences whose sign is wanted
                op = "sub"
                if sign != wanted:
                    args, sign = args[::-1], wanted
        elif op == "sin":
            sign *= signs[args[0]] * self._sign[of[args[0]]]
            args = (self._row[of[args[0]]],)
        elif op == "cos":
            args = (self._row[of[args[0]]],)
        elif args:
            args = tuple([self._held(of[a], signs[a]) for a in args])
        name = self.program.rows[named][3] if named is not None and args else ""   # an argument has its own
        if name and sign != wanted:
            name = self._turned(name)
        self._row[c], self._sign[c] = len(self.rows), sign
        self.rows.append(_new(Row, (op, args, value, name, step)))

    def _held(self, c: int, sign: int) -> int:
        """The row that holds a quantity with this sign, put where there is none."""
        row = self._row[c]
        if sign == self._sign[c]:
            return row
        if row not in self._opposite:
            op, _, value, _, step = self.rows[row]
            self._opposite[row] = len(self.rows)
            self.rows.append(Row("const", (), -value, "", step) if op == "const" else Row("neg", (row,), None, "", step))
        return self._opposite[row]

    def _turned(self, name: str) -> str:
        """The name of the opposite; none where another row has it."""
        turned = name.removeprefix(NEGATIVE) if name.startswith(NEGATIVE) else NEGATIVE + name
        return "" if turned in self._taken else turned
