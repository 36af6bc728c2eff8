"""Names in formulas, which count from 0, and their LaTeX."""

from __future__ import annotations

import pytest

from symgen.inspection.names import formula_name, latex


@pytest.mark.parametrize(
    ("in_c", "in_formula"),
    [
        ("P_12_11", "P_11_0_0"),  # entry (1, 1) of the block of link 12
        ("M_12_11", "M_11_10"),  # two joints
        ("H_tt_12_11", "H_tt_11_10"),
        ("psi_2_3_46", "psi_1_2_3_5"),  # a block of two links
        ("M_2_3_46", "M_1_2_3_5"),
        ("omega_3_1", "omega_2_0"),
        ("invD_12", "invD_11"),  # the only index is a link
        ("P_2_1", "P_1_0"),
        ("c_1", "c_0"),
        ("x_less3_2", "x_less2_1"),
        ("neg_G_2_4", "neg_G_1_3"),
        ("plain", "plain"),
    ],
)
def test_numbers_of_a_name_count_from_zero_in_formulas(in_c: str, in_formula: str) -> None:
    assert formula_name(in_c) == in_formula


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q0", "q_{0}"),
        ("tau12", r"\tau_{12}"),
        ("P_11_0_0", "P_{11,0,0}"),
        ("P_110_0", r"P_{\mathrm{110},0}"),
        ("omegadot_3_1", r"\dot{\omega}_{3,1}"),
        ("thetaddot", r"\ddot{\theta}"),
        ("psihat_1", r"\hat{\psi}_{1}"),
        ("Mtilde", r"\tilde{M}"),
        ("alpha", r"\alpha"),
        ("invD_2", r"\mathrm{invD}_{2}"),
        ("word", r"\mathrm{word}"),
        ("hat", r"\mathrm{hat}"),
        ("x_tip", r"x_{\mathrm{tip}}"),
        ("M", "M"),
    ],
)
def test_letters_and_accents_of_names_are_those_of_mathematics(name: str, text: str) -> None:
    assert latex(name) == text
