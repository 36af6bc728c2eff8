"""Of three links what `tests/test_fixman.py` proves of two, which takes seconds there."""

from __future__ import annotations

from tests import test_fixman as two

THREE = ("symbols 3", 3)


def test_fixmans_theorem() -> None:
    two.test_fixmans_theorem(THREE)


def test_the_schur_complement_does_not_see_hard_gradients_in_the_soft_rows() -> None:
    two.test_the_schur_complement_does_not_see_hard_gradients_in_the_soft_rows(THREE)


def test_the_bridge_for_every_state() -> None:
    two.test_the_bridge_for_every_state(3)
