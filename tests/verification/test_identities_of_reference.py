"""Every identity holds for the reference, and does not hold if any of its functions has an error.

The reference takes the place of the Programs, so that nothing is derived. An error is added to all
results of one function; it grows from call to call, so that it does not cancel between two calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from symgen.reference.precision import Array
from symgen.verification.identities._identity import Functions
from tests.identity_sizes import recorded, sizes_of
from tests.shared.reference_functions import CASES, NAMED, exact_results, functions, holds

ONLY_A_SIZE = "constrained_forward_dynamics"
UNSEEN = {
    "M positive definite": {"mass_matrix"},
    "active contacts do not accelerate": {ONLY_A_SIZE},
    "A a + γ = 0 beside contacts": {ONLY_A_SIZE},
    "integrate:hvp is symmetric": {"integrate"},
}
"""Functions whose errors an identity does not see: a small error leaves M positive definite, and of
one function only the size is taken. The Lie bracket of steps of a ball joint is equal at all
positions.
"""


@pytest.mark.parametrize(("name", "title"), CASES)
def test_an_identity_holds_for_the_reference_and_sees_an_error_of_each_function(
    name: str, title: str
) -> None:
    identity = NAMED[title]
    assert holds(name, identity, functions(name, identity))
    for function in identity.needs:
        if function not in UNSEEN.get(title, ()):
            assert not holds(name, identity, functions(name, identity, function)), function


@pytest.mark.parametrize(("name", "title"), CASES)
def test_the_size_of_an_identity_is_the_recorded_one(name: str, title: str) -> None:
    """A larger size hides errors, a smaller one refuses correct code. After a change on purpose,
    run `python -m tests.identity_sizes --write`.
    """
    assert sizes_of(name, title) == pytest.approx(recorded()[name][title], rel=1e-4, abs=0)


def test_every_identity_applies_to_a_robot_here() -> None:
    assert {title for _, title in CASES} == set(NAMED)


def test_an_indefinite_mass_matrix_is_seen() -> None:
    identity = NAMED["M positive definite"]
    exact = exact_results("cart and arm")

    def run(arguments: Mapping[str, Array]) -> dict[str, Any]:
        M = exact.reference.evaluate("mass_matrix", arguments)["M"].copy()
        M[:, -1, -1] = -M[:, -1, -1]
        return {"M": M}

    indefinite = Functions({"mass_matrix": run}, exact.balls, exact, True)
    assert not holds("cart and arm", identity, indefinite)
