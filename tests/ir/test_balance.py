"""Products that would leave the range of a float on their way, though what they come to is well within it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from symgen.ir import passes
from symgen.ir.passes.balance import balance
from symgen.ir.passes.eliminate import eliminate
from symgen.ir.program import Port, Program, Row, check
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.derive import derive
from symgen.verification.evaluating import machine_runner
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.reals import FLOAT
from tests.shared.robots_for_tests import random_mechanism

DETERMINANT = "mass_matrix_determinant"


def product(*factors: Fraction, varying: int) -> Program:
    """c_1/(1 + x) · c_2/(1 + x) · … · c_n from left to right, of which the first `varying` vary with x."""
    rows: list[Row] = [Row("input", (), (0, 0)), Row("const", (), Fraction(1)), Row("add", (0, 1))]
    places = []
    for n, factor in enumerate(factors):
        rows.append(Row("const", (), factor))
        if n < varying:
            rows.append(Row("div", (len(rows) - 1, 2)))
        places.append(len(rows) - 1)
    total = places[0]
    for n, place in enumerate(places[1:]):
        rows.append(
            Row("mul", (total, place), None, "whole" if n == len(places) - 2 else f"part_{n}")
        )
        total = len(rows) - 1
    return check(Program("f", "m", (Port("x", (1,)),), (Port("y", (), (total,)),), tuple(rows)))


def in_float(program: Program, x: float) -> float:
    return float(machine_runner(replace(program, real="float"))({"x": np.array([[x]])})["y"][0])


def tens(*orders: int) -> list[Fraction]:
    return [Fraction(10) ** order for order in orders]


@pytest.mark.parametrize(
    "orders", [(20, 15, 18, -17, -19, -16), (12, 13, 14, 15, -27, -26), (30, 30, -29, -31, 2)]
)
def test_large_factors_meet_small_ones(orders: tuple[int, ...]) -> None:
    """At no more operations, and under the product's own name."""
    given = product(*tens(*orders), varying=len(orders))
    assert not np.isfinite(in_float(given, 0.0))
    after = check(balance(given))
    assert in_float(after, 0.0) == pytest.approx(10.0 ** sum(orders), rel=1e-5)
    assert eliminate(after).cost == given.cost
    assert after.rows[-1].name == "whole"


@pytest.mark.parametrize("orders", [(15, 18, -60), (30, -60), (-25, 50)])
def test_a_constant_that_no_float_holds_is_multiplied_in_parts(orders: tuple[int, ...]) -> None:
    """The last factor is the constant."""
    given = product(*tens(*orders), varying=len(orders) - 1)
    assert in_float(given, 0.0) in (0.0, np.inf)
    after = check(balance(given))
    assert in_float(after, 0.0) == pytest.approx(10.0 ** sum(orders), rel=1e-5)
    used = {a for row in after.rows if row.op == "mul" for a in row.args}
    assert all(
        FLOAT.least <= row.value <= FLOAT.largest
        for n, row in enumerate(after.rows)
        if row.op == "const" and n in used
    )


@pytest.mark.parametrize(
    "orders", [(10, -3, 12), (30, 30, 30, 30, 30), (-50, 5, 3, 1, 1), (-20, 3, 2)]
)
def test_what_is_safe_or_beyond_help_stays_as_it_is(orders: tuple[int, ...]) -> None:
    """Well within the range on the way; or what it comes to leaves the range as far as anything before."""
    given = product(*tens(*orders), varying=len(orders))
    assert balance(given) is given


def test_nothing_is_known_where_a_state_divides_by_zero() -> None:
    """The product is left as it stands."""
    given = product(*tens(30, 30, -29, -31, 2), varying=5)
    none = (*given.rows, Row("sub", (0, 0)), Row("div", (0, len(given.rows))))
    assert balance(given) is not given
    without = given.with_rows(none, given.outputs)
    assert balance(without) is without


@cache
def tiny() -> Mechanism:
    """A chain of two links of some hundredths of a milligram."""
    made, share = random_mechanism(2, 3), Fraction(1, 10**8)
    bodies = (
        replace(
            body,
            parts=tuple(
                replace(
                    part, mass=part.mass * share, moments=tuple(x * share for x in part.moments)
                )
                for part in body.parts
            ),
        )
        for body in made.bodies
    )
    return replace(made, name="tiny", bodies=tuple(bodies))


@pytest.mark.usefixtures("finished_here")
@pytest.mark.parametrize(
    "method", ["fixman:spatial", "constraint_force", "constraint_force:parallel"]
)
def test_the_determinant_of_a_tiny_robot_fits_a_float(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had lost all of its digits on the way, or had none to begin with."""
    made = tiny()
    state = {"q": np.array([[0.3, -1.1]])}
    exact = float(
        machine_runner(derive(made, DETERMINANT, "riccati", ProgramOptions()))(state)["det"][0]
    )

    def off() -> float:
        found = machine_runner(derive(made, DETERMINANT, method, ProgramOptions("float")))(state)[
            "det"
        ][0]
        return abs(float(found) / exact - 1)

    assert off() < 1e-4
    for some in ("PIPELINE", "LAST"):
        monkeypatch.setattr(
            passes, some, tuple(one for one in getattr(passes, some) if one is not balance)
        )
    assert not off() < 1e-2
