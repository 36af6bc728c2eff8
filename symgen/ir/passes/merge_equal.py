"""Recognize what has been computed before, whichever way: a − b is −(b − a), and 1 − s² is c².

Value numbering sees equal operations on equal operands. Here rows are compared by value, modulo a prime at a random point where
(cos x, sin x) lie on the unit circle: rows of equal or opposite value are one quantity, computed once. Signs travel with operands
into sums, products and quotients, so that no operation is paid for them. What is computed in two ways is computed in a better one
(`_ways`). Afterwards all of it is proved at another point modulo another prime. Constants are compared to their last digit: what
holds only for the numbers behind them is not recognized.
"""

from __future__ import annotations

from itertools import chain

from symgen.ir.passes._alternatives import idle, results, without_spare
from symgen.ir.passes._choose import Ways
from symgen.ir.passes._error_bounds import round_offs
from symgen.ir.passes._fingerprints import residues
from symgen.ir.passes._proof import prove
from symgen.ir.passes._quantities import Quantities
from symgen.ir.passes._signed import Place, Signed
from symgen.ir.program import Port, Program

PRIME, SEED = 314159265358979347, 1
"""Near no power of two, for constants are such: modulo 2^61 − 1, 2^-31 would be 2^30. Below 2^60, as Python is quickest there."""


def merge_equal(program: Program) -> Program:
    """The same Program with each value computed once up to its sign; see the module docstring."""
    found = residues(PRIME, SEED, program)
    if found is None:  # it divides by zero
        return without_spare(program)
    values = found[0]
    quantities = Quantities(program, values, PRIME)
    if not quantities.repeated:
        return without_spare(program)
    chosen: dict[int, int] = {}
    spare = idle(program)
    errors = (
        round_offs(program, chain.from_iterable(quantities.ways.values()))
        if quantities.ways
        else []
    )
    while quantities.ways:
        ways = Ways(
            quantities,
            [quantities.of[r] for port in results(program) for r in port.rows],
            errors,
            spare,
        )
        chosen = ways.chosen
        if not ways.bad:
            break
        quantities.set_apart(ways.bad)
    writer = _Writer(program, quantities, chosen)
    written = writer.written()
    prove(program, written, writer.places)
    return written


class _Writer:
    """Quantities as rows, in the order of the rows that say how each is computed."""

    def __init__(self, program: Program, quantities: Quantities, chosen: dict[int, int]) -> None:
        self.program, self.quantities, self.chosen = program, quantities, chosen
        self.out = Signed(row[3] for row in program.rows)
        self._row = [-1] * len(program.rows)
        """Where a quantity stands, -1 where it does not yet."""
        self._sign = [1] * len(program.rows)
        """With which sign it stands there."""
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
        outputs = [
            Port(
                port.name,
                port.shape,
                tuple([self._held(of[r], self.quantities.sign[r]) for r in port.rows]),
            )
            for port in results(self.program)
        ]
        return self.program.with_rows(self.out.rows, outputs)

    @property
    def places(self) -> list[Place]:
        """Of every row of the Program as it was."""
        return [
            (self._row[c], s * self._sign[c])
            for c, s in zip(self.quantities.of, self.quantities.sign, strict=True)
        ]

    def _put_below(self, which: int, step: int) -> None:
        """Put under a step what an old row is computed from and does not stand yet."""
        rows, of, row, constants = (
            self.program.rows,
            self.quantities.of,
            self._row,
            self.quantities.constants,
        )
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
        op, args, value, _, _ = self.program.rows[which]
        named = self._names.get(c)
        if c in self.quantities.constants:
            self._row[c], self._sign[c] = self.out.put(
                "const", [], self.quantities.constants[c], "", step
            )
            return
        operands = [(self._row[of[a]], signs[a] * self._sign[of[a]]) for a in args]
        own = signs[which]  # of what is put, against the quantity
        if op == "sub":
            operands[1] = operands[1][0], -operands[1][1]
        wanted = own * signs[named] if named is not None else own
        name = (
            self.program.rows[named][3] if named is not None and args else ""
        )  # an argument has its own
        row, sign = self.out.put(op, operands, value, name, step, wanted)
        self._row[c], self._sign[c] = row, own * sign

    def _held(self, c: int, sign: int) -> int:
        """The row that holds a quantity with this sign, put where there is none."""
        return self.out.held((self._row[c], sign * self._sign[c]))
