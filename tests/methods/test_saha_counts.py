"""Operation counts of the solve I θ̈ = τ: symgen's on general chains against those that Saha
printed (SA §6).
"""

from __future__ import annotations

import pytest

from symgen.pages.reproduce.saha_counts import printed
from tests.shared.saha_counts import LINKS, SHORT, counted, derived, fewest, solve

pytestmark = pytest.mark.usefixtures("finished_here")


@pytest.mark.parametrize("n", LINKS)
def test_the_solve_stays_below_the_printed_counts(n: int) -> None:
    counts_, saha = counted(fewest(n, "general", "mass_matrix_solve")), printed(n)
    assert counts_[0] < saha[0]
    assert counts_[1] < saha[1]


@pytest.mark.parametrize("n", LINKS)
def test_sahas_recursion_in_link_frames_stays_below_the_printed_counts(n: int) -> None:
    """The counts stay within 157n − 291 multiplications and 156n − 312 additions.

    The links of the DH chain are general and not regrouped; only the first and the last are
    simpler.
    """
    counts_, saha = solve(n, "udut:links"), printed(n)
    assert counts_[0] <= 157 * n - 291 < saha[0]
    assert counts_[1] <= 156 * n - 312 < saha[1]


@pytest.mark.parametrize("n", LINKS)
def test_sahas_recursion_at_the_mass_centres_is_within_ten_percent_of_the_printed_counts(
    n: int,
) -> None:
    """Chains of fewer than 9 links take up to 11 additions more than printed.

    The shift from one mass centre to the next has three components.
    """
    counts_, saha = solve(n, "udut"), printed(n)
    assert 0.9 * saha[0] < counts_[0] < saha[0]
    assert counts_[1] <= (saha[1] if n >= 9 else saha[1] + 11)


@pytest.mark.parametrize("twists", ["square", "right"])
@pytest.mark.parametrize(
    "n", [n for n in LINKS if 6 <= n < 30]
)  # rows grow linearly beyond: tests/pipeline/test_generation_growth.py
def test_the_whole_forward_dynamics_stays_below_the_counts_of_the_solve_alone(
    n: int, twists: str
) -> None:
    """The DH twists are multiples of π/2; with "right" twists neighbouring axes are never parallel,
    the most expensive case.
    """
    program = fewest(n, twists, "forward_dynamics")
    counts_, saha = counted(program), printed(n)
    print(f"n = {n}: {program.method} {counts_} against {saha}")
    assert counts_[0] < saha[0]
    assert counts_[1] < saha[1]


@pytest.mark.parametrize(("n", "most"), [(3, (74, 65)), (7, (588, 463)), (30, (3838, 3534))])
def test_the_operations_of_the_solve_do_not_grow(n: int, most: tuple[int, int]) -> None:
    """The first prototype took 251/178, 1028/774 and 5489/4201 multiplications/additions."""
    counts_ = counted(fewest(n, "general", "mass_matrix_solve"))
    assert counts_[0] <= most[0]
    assert counts_[1] <= most[1]


@pytest.mark.slow
def test_riccati_is_cheaper_than_composite_body_from_ten_links_on() -> None:
    """SA §6 finds 12 links; regrouped inertias and one elementary rotation at a time lower the
    limit to 10.
    """
    tried = (
        *(n for n in LINKS if n <= 9),
        10,
        SHORT,
    )  # one cost grows as n³, the other as n, so they cross once
    cheaper = [fewest(n, "general", "mass_matrix_solve").method for n in tried]
    assert cheaper == ["composite_body"] * (len(tried) - 2) + ["riccati"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("twists", ["general", "right"])
def test_the_recursions_grow_linearly(twists: str) -> None:
    """Each further link costs the same in Saha's recursion (at mass centres, in link frames) and in
    `riccati`.
    """
    for method in ("udut", "udut:links", "riccati"):
        counts = [counted(derived(n, twists, "mass_matrix_solve", method)) for n in (6, 12, 18)]
        for before, middle, after in zip(*counts, strict=True):
            assert abs((after - middle) - (middle - before)) <= 0.02 * (after - middle), method
