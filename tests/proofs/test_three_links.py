"""Fixman's theorem and the bridge for three links; `tests/methods/test_fixman.py` proves them for
two in seconds.
"""

from __future__ import annotations

from tests.shared.fixman_theorem import (
    check_fixmans_theorem,
    check_that_hard_gradients_in_soft_rows_keep_the_schur_complement,
    check_the_bridge_for_every_state,
)

THREE = ("symbols 3", 3)


def test_fixmans_theorem() -> None:
    check_fixmans_theorem(THREE)


def test_hard_gradients_in_soft_rows_keep_the_schur_complement() -> None:
    check_that_hard_gradients_in_soft_rows_keep_the_schur_complement(THREE)


def test_the_bridge_for_every_state() -> None:
    check_the_bridge_for_every_state(3)
