"""Pages on control, planning and identification: their assertions fail with a wrong derivative or
parameter.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared.doc_samples import simulated

pytest.importorskip("mujoco")
pytest.importorskip("jax")
DOCS = Path(__file__).parents[2] / "docs" / "how-to"
WRONG = {
    "a stiffness of the other sign": ("lqr.md", "[da_dq, da_dv]", "[-da_dq, da_dv]"),
    "torques of the other sign": (
        "mppi.md",
        "arm.step(*state, tau, dt)",
        "arm.step(*state, -tau, dt)",
    ),
    "parameters of another link": (
        "identification.md",
        "solver.base_parameters(pi)",
        "solver.base_parameters(np.roll(pi, 10))",
    ),
}


@pytest.mark.slow
@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize("error", WRONG)
def test_the_assertions_of_a_page_detect_a_wrong_line(error: str) -> None:
    page, right, wrong = WRONG[error]
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text.count(right) == 1
    with pytest.raises(AssertionError):
        simulated(text.replace(right, wrong))
