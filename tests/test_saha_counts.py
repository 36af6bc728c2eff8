"""Saha's printed counts for the recursive solve of I θ̈ = τ, against ours on chains as general as his (SA §6)."""

from __future__ import annotations

from functools import cache

import pytest

from symgen.generation import Options, derive
from symgen.ir import Program
from symgen.reproduce._chains import dh_chain

MANY_ROWS = 10**6
SHORT = 14
"""Links beyond which the elimination, whose cost grows as n³, has lost by so much that it need not be derived."""


def printed(n: int) -> tuple[int, int]:
    """(multiplications and divisions, additions) of SA §6, the bias computed apart."""
    return 201 * n - 335, 193 * n - 361


def counted(program: Program) -> tuple[int, int]:
    ops = program.operations
    return ops["mul"] + ops["div"], ops["add"]


@cache
def derived(n: int, twists: str, function: str, method: str) -> Program:
    return derive(dh_chain(n, twists), function, method, Options(), MANY_ROWS)


def fewest(n: int, twists: str, function: str) -> Program:
    """The cheapest of the elimination of a composite body's M and the Riccati recursion."""
    methods = ("composite_body", "riccati") if n <= SHORT else ("riccati",)
    return min((derived(n, twists, function, method) for method in methods), key=lambda program: program.cost)


def solve(n: int) -> Program:
    """M⁻¹b, twists general."""
    return fewest(n, "general", "mass_matrix_solve")


@pytest.mark.parametrize("n", range(3, 31))
def test_the_solve_stays_below_the_printed_counts(n: int) -> None:
    ours, theirs = counted(solve(n)), printed(n)
    print(f"n = {n}: {solve(n).method} {ours} against {theirs}")
    assert ours[0] < theirs[0]
    assert ours[1] < theirs[1]


@pytest.mark.parametrize("n", [3, 8, 9, 30])
def test_saha_s_own_recursion_is_about_what_he_printed(n: int) -> None:
    """At the mass centres, as in the paper; general links of a DH chain, so that nothing but the first and last is simpler."""
    ours, theirs = counted(derived(n, "general", "mass_matrix_solve", "udut")), printed(n)
    assert 0.9 * theirs[0] < ours[0] < theirs[0]
    assert 0.9 * theirs[1] < ours[1] < 1.06 * theirs[1]
    assert (ours[1] <= theirs[1]) == (n >= 9)


@pytest.mark.parametrize("twists", ["square", "right"])
@pytest.mark.parametrize("n", range(6, 31))
def test_the_whole_forward_dynamics_stays_below_the_counts_of_the_solve_alone(n: int, twists: str) -> None:
    """Twists that are multiples of π/2; "right" ones never leave two neighbouring axes parallel, the dearest case."""
    program = fewest(n, twists, "forward_dynamics")
    ours, theirs = counted(program), printed(n)
    print(f"n = {n}: {program.method} {ours} against {theirs}")
    assert ours[0] < theirs[0]
    assert ours[1] < theirs[1]


@pytest.mark.parametrize(("n", "most"), [(3, (74, 65)), (7, (588, 463)), (30, (3838, 3534))])
def test_the_solve_gets_no_dearer(n: int, most: tuple[int, int]) -> None:
    """(A prototype reached 251/178, 1028/774 and 5489/4201.)"""
    ours = counted(solve(n))
    assert ours[0] <= most[0]
    assert ours[1] <= most[1]


def test_the_recursion_wins_from_ten_links_on() -> None:
    """SA §6 finds 12; with the inertia regrouped and turns taken one by one it pays a little earlier."""
    assert [n for n in range(3, SHORT + 1) if solve(n).method == "composite_body"] == list(range(3, 10))


@pytest.mark.parametrize("twists", ["general", "right"])
def test_the_recursions_grow_linearly(twists: str) -> None:
    """Saha's own recursion taken at the mass centres, and Riccati's in link frames: every further link costs the same."""
    for method in ("udut", "riccati"):
        found = [counted(derived(n, twists, "mass_matrix_solve", method)) for n in (10, 20, 30)]
        for before, middle, after in zip(*found, strict=True):
            assert abs((after - middle) - (middle - before)) <= 0.02 * (after - middle), method
