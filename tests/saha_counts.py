"""Saha's printed counts beside ours, on chains as general as his (SA §6): `python -m tests.saha_counts`."""

from __future__ import annotations

from functools import cache

from symgen.generation import Options, derive
from symgen.ir import Program
from symgen.reproduce._chains import dh_chain

MANY_ROWS = 10**6
SHORT = 14
"""Links beyond which the elimination, whose cost grows as n³, has lost by so much that it need not be derived."""
LINKS = range(3, 31)
Count = tuple[int, int]
"""Multiplications and divisions, additions."""


def printed(n: int) -> Count:
    """SA §6: for the solve of I θ̈ = τ, the bias computed apart."""
    return 201 * n - 335, 193 * n - 361


def counted(program: Program) -> Count:
    ops = program.operations
    return ops["mul"] + ops["div"], ops["add"]


@cache
def derived(n: int, twists: str, function: str, method: str) -> Program:
    return derive(dh_chain(n, twists), function, method, Options(), MANY_ROWS)


def solve(n: int, method: str) -> Count:
    """M⁻¹b by one method, twists general."""
    return counted(derived(n, "general", "mass_matrix_solve", method))


def fewest(n: int, twists: str, function: str) -> Program:
    """The cheapest of the elimination of a composite body's M and the Riccati recursion."""
    methods = ("composite_body", "riccati") if n <= SHORT else ("riccati",)
    return min((derived(n, twists, function, method) for method in methods), key=lambda program: program.cost)


def table() -> str:
    """A line for each number of links."""
    heads = ("printed", "udut:links", "udut", "the best of ours")
    lines = ["mass_matrix_solve, twists general: multiplications and divisions / additions",
             "links" + "".join(f"{head:>18}" for head in heads)]
    for n in LINKS:
        best = fewest(n, "general", "mass_matrix_solve")
        counts = (printed(n), solve(n, "udut:links"), solve(n, "udut"), counted(best))
        lines.append(f"{n:5}" + "".join(f"{mul:>10} / {add:<5}" for mul, add in counts) + f"  {best.method}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
