"""Saha's printed counts for the recursive solve of I θ̈ = τ, against ours on chains as general as his (SA §6)."""

from __future__ import annotations

import pytest

from symgen.pages.reproduce.saha_counts import printed
from tests.shared.saha_counts import LINKS, SHORT, counted, derived, fewest, solve

pytestmark = pytest.mark.usefixtures("finished_here")


@pytest.mark.parametrize("n", LINKS)
def test_the_solve_stays_below_the_printed_counts(n: int) -> None:
    ours, theirs = counted(fewest(n, "general", "mass_matrix_solve")), printed(n)
    assert ours[0] < theirs[0]
    assert ours[1] < theirs[1]


@pytest.mark.parametrize("n", LINKS)
def test_saha_s_own_recursion_stays_below_what_he_printed_in_link_frames(n: int) -> None:
    """(157n − 291) and (156n − 312): general links of a DH chain, none regrouped, only the first and the last are simpler."""
    ours, theirs = solve(n, "udut:links"), printed(n)
    assert ours[0] <= 157 * n - 291 < theirs[0]
    assert ours[1] <= 156 * n - 312 < theirs[1]


@pytest.mark.parametrize("n", LINKS)
def test_saha_s_own_recursion_at_the_mass_centres_is_about_what_he_printed(n: int) -> None:
    """Short chains take up to 11 additions more than printed: from mass centre to mass centre is a shift of three components."""
    ours, theirs = solve(n, "udut"), printed(n)
    assert 0.9 * theirs[0] < ours[0] < theirs[0]
    assert ours[1] <= (theirs[1] if n >= 9 else theirs[1] + 11)


@pytest.mark.parametrize("twists", ["square", "right"])
@pytest.mark.parametrize(
    "n", [n for n in LINKS if 6 <= n < 30]
)  # rows grow linearly beyond: tests/pipeline/test_generation_growth.py
def test_the_whole_forward_dynamics_stays_below_the_counts_of_the_solve_alone(
    n: int, twists: str
) -> None:
    """Twists that are multiples of π/2; "right" ones never leave two neighbouring axes parallel, the dearest case."""
    program = fewest(n, twists, "forward_dynamics")
    ours, theirs = counted(program), printed(n)
    print(f"n = {n}: {program.method} {ours} against {theirs}")
    assert ours[0] < theirs[0]
    assert ours[1] < theirs[1]


@pytest.mark.parametrize(("n", "most"), [(3, (74, 65)), (7, (588, 463)), (30, (3838, 3534))])
def test_the_solve_gets_no_dearer(n: int, most: tuple[int, int]) -> None:
    """(A prototype reached 251/178, 1028/774 and 5489/4201.)"""
    ours = counted(fewest(n, "general", "mass_matrix_solve"))
    assert ours[0] <= most[0]
    assert ours[1] <= most[1]


def test_the_recursion_wins_from_ten_links_on() -> None:
    """SA §6 finds 12; with the inertia regrouped and turns taken one by one it pays a little earlier."""
    tried = (
        *(n for n in LINKS if n <= 9),
        10,
        SHORT,
    )  # one cost grows as n³, the other as n, so that they cross once
    cheaper = [fewest(n, "general", "mass_matrix_solve").method for n in tried]
    assert cheaper == ["composite_body"] * (len(tried) - 2) + ["riccati"] * 2


@pytest.mark.parametrize("twists", ["general", "right"])
def test_the_recursions_grow_linearly(twists: str) -> None:
    """Saha's own recursion at the mass centres and in link frames, and Riccati's: every further link costs the same."""
    for method in ("udut", "udut:links", "riccati"):
        found = [counted(derived(n, twists, "mass_matrix_solve", method)) for n in (6, 12, 18)]
        for before, middle, after in zip(*found, strict=True):
            assert abs((after - middle) - (middle - before)) <= 0.02 * (after - middle), method
