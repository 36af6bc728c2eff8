"""What a derivation records besides (`symgen.ir.program.SPARE`): rows that compute a second time what others do, until one is chosen."""

from __future__ import annotations

from symgen.ir.passes.rewrite import with_args
from symgen.ir.program import SPARE, Port, Program


def results(program: Program) -> tuple[Port, ...]:
    """Those that are asked for."""
    return tuple([port for port in program.outputs if port.name != SPARE])


def without_spare(program: Program) -> Program:
    """The same Program, in which the rows that only what is spare depends on are dead."""
    asked = results(program)
    return program if len(asked) == len(program.outputs) else program.with_rows(program.rows, asked)


def idle(program: Program) -> set[int]:
    """The rows that only what is spare depends on."""
    asked = results(program)
    if len(asked) == len(program.outputs):
        return set()
    found = set(range(len(program.rows)))
    waiting = [r for port in asked for r in port.rows]
    while waiting:
        r = waiting.pop()
        if r in found:
            found.remove(r)
            waiting += program.rows[r].args
    return found


def behind(program: Program) -> Program:
    """The same Program with the rows that only what is spare depends on behind all others: what both compute, the others do."""
    late = idle(program)
    if not late:
        return program
    order = [i for i in range(len(program.rows)) if i not in late] + sorted(late)
    place = [0] * len(order)
    for new, old in enumerate(order):
        place[old] = new
    rows = [
        with_args(program.rows[i], tuple([place[a] for a in program.rows[i].args])) for i in order
    ]
    return program.with_rows(
        rows, [port._replace(rows=tuple([place[r] for r in port.rows])) for port in program.outputs]
    )
