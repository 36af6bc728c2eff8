"""The page on legged robots: with a wrong state order or a reversed gain its robot falls."""

from __future__ import annotations

import pytest

from tests.legged_picture import PAGE
from tests.shared.doc_samples import simulated

pytest.importorskip("mujoco")
TEXT = PAGE.read_text(encoding="utf-8")
SIMULATED = "\nkept = stand(feedback=True)"
WRONG = {
    "a quaternion in MuJoCo's order": ("np.roll(q[3:7], -1)", "q[3:7]"),
    "a moment that tips it over": ("(8 * tilt + 12", "(-8 * tilt + 12"),
    "momentum that is fed": ("- 15 * h[3:]", "+ 15 * h[3:]"),
    "rows of a Jacobian in Pinocchio's order": ("foot[3:].T", "foot[:3].T"),
}


@pytest.mark.slow
@pytest.mark.parametrize("error", WRONG)
def test_a_wrong_control_law_lets_the_robot_fall(error: str) -> None:
    right, wrong = WRONG[error]
    assert TEXT.count(right) == 1
    page, _, _ = TEXT.replace(right, wrong).partition(SIMULATED)
    velocities = simulated(page + "\nkept = stand(feedback=True)\n```\n")["kept"]
    assert not abs(velocities[-1]).max() < 1e-3
