"""Programs of `methods/test_saha_counts.py`: DH chains as general as Saha's by several methods,
derived once a test run.
"""

from __future__ import annotations

from functools import cache

from symgen.ir.program import Program
from symgen.pages.reproduce._chains import dh_chain
from symgen.pipeline.derive import derive
from symgen.vocabulary.options import ProgramOptions

MANY_ROWS = 10**6
SHORT = 14
"""Links beyond which the elimination, whose cost grows as n³, has lost by so much that it need not
be derived.
"""
LINKS = (3, 5, 7, 9, 18, 30)
"""Derived by each run of the tests; every n from 3 to 30 stands in
docs/explanation/reproduce/saha-counts.csv.
"""
Count = tuple[int, int]
"""Multiplications and divisions, additions."""


def counted(program: Program) -> Count:
    ops = program.operations
    return ops["mul"] + ops["div"], ops["add"]


@cache
def derived(n: int, twists: str, function: str, method: str) -> Program:
    return derive(dh_chain(n, twists), function, method, ProgramOptions(), MANY_ROWS)


def solve(n: int, method: str) -> Count:
    """M⁻¹b by one method, twists general."""
    return counted(derived(n, "general", "mass_matrix_solve", method))


def fewest(n: int, twists: str, function: str) -> Program:
    """The cheapest of the elimination of a composite body's M and the Riccati recursion."""
    methods = ("composite_body", "riccati") if n <= SHORT else ("riccati",)
    return min(
        (derived(n, twists, function, method) for method in methods),
        key=lambda program: program.cost,
    )
