"""Compute equal values once, whatever their formulas: a − b is −(b − a), and 1 − s² is c².

Value numbering recognizes equal operations on equal operands. This pass compares rows by their
value modulo a prime at a random point, with (cos x, sin x) on the unit circle: rows of equal or
opposite value are one quantity, computed once. Signs move with operands into sums, products and
quotients, so that they cost no operation. A value that is computed in two ways is computed in the
better one (`_choose`). The result is proved at another point modulo another prime. Constants are
compared exactly: an equality that holds only for the real numbers they approximate is not
recognized.
"""

from __future__ import annotations

from itertools import chain

from symgen.ir.passes._alternatives import results, spare_only_rows, without_spare
from symgen.ir.passes._choose import Ways
from symgen.ir.passes._error_bounds import round_offs
from symgen.ir.passes._fingerprints import residues
from symgen.ir.passes._proof import prove
from symgen.ir.passes._quantities import Quantities
from symgen.ir.passes._signed import Signed, SignedRow
from symgen.ir.program import Port, Program

PRIME, SEED = 314159265358979347, 1
"""The prime is near no power of two, since constants are: modulo 2^61 − 1, 2^-31 would be 2^30.
Python is fastest below 2^60.
"""


def merge_equal(program: Program) -> Program:
    """Return the Program with each value computed once up to its sign; see the module docstring."""
    residue = residues(PRIME, SEED, program)
    if residue is None:  # it divides by zero
        return without_spare(program)
    values = residue[0]
    quantities = Quantities(program, values, PRIME)
    if not quantities.repeated:
        return without_spare(program)
    chosen: dict[int, int] = {}
    unneeded = spare_only_rows(program)
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
            unneeded,
        )
        chosen = ways.chosen
        if not ways.bad:
            break
        quantities.set_apart(ways.bad)
    writer = _Writer(program, quantities, chosen)
    written = writer.write()
    prove(program, written, writer.new_rows)
    return written


class _Writer:
    """Writes quantities as rows, in the order of the rows that compute them."""

    def __init__(self, program: Program, quantities: Quantities, chosen: dict[int, int]) -> None:
        self.program, self.quantities, self.chosen = program, quantities, chosen
        self.out = Signed(row[3] for row in program.rows)
        self._row = [-1] * len(program.rows)
        """Row of each quantity in the new Program; -1 if it has none yet."""
        self._sign = [1] * len(program.rows)
        """Sign with which that row holds the quantity."""
        self._names: dict[int, int] = {}
        """First named row of each quantity that has one."""
        for i, row in enumerate(program.rows):
            if row[3]:
                self._names.setdefault(quantities.of[i], i)

    def write(self) -> Program:
        rows, of, row, chosen = self.program.rows, self.quantities.of, self._row, self.chosen
        for i, c in enumerate(of):
            if row[c] < 0 and i == chosen.get(c, c):
                if chosen:
                    self._put_below(i, rows[i][4])
                self._put_quantity(c, i, rows[i][4])
        outputs = [
            Port(
                port.name,
                port.shape,
                tuple([self._signed_row(of[r], self.quantities.sign[r]) for r in port.rows]),
            )
            for port in results(self.program)
        ]
        return self.program.with_rows(self.out.rows, outputs)

    @property
    def new_rows(self) -> list[SignedRow]:
        """New row and sign of every old row."""
        return [
            (self._row[c], s * self._sign[c])
            for c, s in zip(self.quantities.of, self.quantities.sign, strict=True)
        ]

    def _put_below(self, old_row: int, step: int) -> None:
        """Put the missing operands of an old row, and all that they depend on, under a step."""
        rows, of, row, constants = (
            self.program.rows,
            self.quantities.of,
            self._row,
            self.quantities.constants,
        )
        to_put = [old_row]
        while to_put:
            i = to_put[-1]
            args = () if of[i] in constants else rows[i][1]
            below = [self.chosen.get(of[a], of[a]) for a in args if row[of[a]] < 0]
            if below:
                to_put += below[::-1]
            elif to_put.pop() != old_row and row[of[i]] < 0:
                self._put_quantity(of[i], i, step)

    def _put_quantity(self, c: int, old_row: int, step: int) -> None:
        """Put the quantity c as that old row computes it."""
        of, signs = self.quantities.of, self.quantities.sign
        op, args, value, _, _ = self.program.rows[old_row]
        named = self._names.get(c)
        if c in self.quantities.constants:
            self._row[c], self._sign[c] = self.out.put(
                "const", [], self.quantities.constants[c], "", step
            )
            return
        operands = [(self._row[of[a]], signs[a] * self._sign[of[a]]) for a in args]
        row_sign = signs[old_row]  # sign of the new row relative to the quantity
        if op == "sub":
            operands[1] = operands[1][0], -operands[1][1]
        wanted_sign = row_sign * signs[named] if named is not None else row_sign
        name = (
            self.program.rows[named][3] if named is not None and args else ""
        )  # an argument has its own
        row, sign = self.out.put(op, operands, value, name, step, wanted_sign)
        self._row[c], self._sign[c] = row, row_sign * sign

    def _signed_row(self, c: int, sign: int) -> int:
        """Return the row that holds a quantity with this sign; put a negation if there is none."""
        return self.out.positive_row((self._row[c], sign * self._sign[c]))
