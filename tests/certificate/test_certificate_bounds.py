"""Bounds of divisors and of round-off are the recorded ones: a looser bound is a defect."""

from __future__ import annotations

import pytest

from tests.certificate_bounds import CASES, Case, bounds_of, recorded

pytestmark = pytest.mark.usefixtures("full_search")  # bounds are for the programs that users get
DIFFERENCE = 1e-4
"""Relative difference of two machines whose libraries sum in another order."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bounds_are_the_recorded_ones(case: Case) -> None:
    """After a change on purpose, run `python -m tests.certificate_bounds --write`."""
    bounds, before = bounds_of(case), recorded()[case.name]
    assert bounds.keys() == before.keys()
    for name, values in bounds.items():
        assert len(values) == len(before[name]), name
        for value, earlier in zip(values, before[name], strict=True):
            if isinstance(earlier, str):
                assert value == earlier, name
            else:
                assert value == pytest.approx(earlier, rel=DIFFERENCE, abs=0), name


def test_every_recorded_case_is_certified_again() -> None:
    assert list(recorded()) == [case.name for case in CASES]
