"""Certificates of single divisors from given errors, in closed form: pivots of M and of T = S + μ 1
with S = A M⁻¹ Aᵀ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest

import symgen
from symgen.certificate.backward import Backward
from symgen.certificate.bodies import Bodies
from symgen.certificate.divisors import (
    ConstraintPivots,
    Damped,
    DivisorCertificate,
    OwnInertia,
    _by_form,
    _certify_divisor,
    _certify_pivots,
    _constraint_samples,
    _contact_trace_bound,
    _float_bounds,
    arithmetic_of,
    lower_bound,
    own_inertias,
    upper_bound,
    with_quaternions,
)
from symgen.certificate.elimination import Elimination, Sum
from symgen.certificate.ranges import declared_ranges
from symgen.certificate.samples import Pair, Samples, eliminate
from symgen.derivation import constants
from symgen.ir.program import Row
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.minimum_norm import DAMPING
from symgen.reference.precision import arb
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.reals import SINE_ULPS

ROW = 40

# -- numbers --


def test_ends_of_balls_are_fractions_outside_of_them() -> None:
    third = constants.rational(Fraction(1, 3))
    assert lower_bound(third) == Fraction(1, 3)
    with constants.precision():
        ball = flint.arb(2).sqrt()
    low, high = lower_bound(ball), upper_bound(ball)
    assert low**2 < 2 < high**2
    assert high - low < Fraction(1, 10**15)


def test_bounds_in_floats_lie_outside() -> None:
    low, high = _float_bounds(Fraction(1, 3), flint.arb(1) / 3)
    assert Fraction(low) < Fraction(1, 3) < Fraction(high)
    assert high - low < 3e-16
    assert _float_bounds(Fraction(1), flint.arb(2)) == (1 - 2.0**-53, 2 + 2.0**-51)


def test_the_arithmetic_has_the_sines_of_the_text_and_the_quaternions_of_the_robot() -> None:
    for trig, ulps in SINE_ULPS.items():
        assert arithmetic_of("float", TextOptions(trig)).trig == ulps
    arithmetic = arithmetic_of("double")
    assert arithmetic.real == "double"
    body: dict[str, Any] = {"mass": 1, "inertia": (1, 0, 0, 1, 0, 1)}
    builder = symgen.Robot("two").body("a", parent="base", type="free", **body)
    mechanism = builder.body("b", parent="a", type="spherical", **body).build()
    assert with_quaternions(arithmetic, mechanism).unit_entries == {3, 4, 5, 6, 7, 8, 9, 10}


# -- one pivot --


def forward(*errors: float) -> Any:
    return SimpleNamespace(error=np.array(errors))


def backward_error(
    data: Mapping[Pair, float], growth: float, pivots: Mapping[int, int], most: Sequence[float]
) -> Backward:
    """Return errors of an elimination of T ≥ 1/4 whose diagonal entries are at most `most`."""
    elimination = Elimination(pivots, dict.fromkeys(data, Sum()), {}, frozenset(), frozenset())
    energies = Damped(Fraction(1, 4), {k: flint.arb(x) for k, x in enumerate(most)})
    return Backward(
        elimination,
        energies,
        {pair: flint.arb(x) for pair, x in data.items()},
        {pair: flint.arb(growth) for pair in data},
        flint.arb(max(most)),
    )


def eighth(pivot: int = ROW) -> Backward:
    """Return a relative error of 4 (1/64 + 4/256) = 1/8."""
    return backward_error({(0, 0): 1 / 64}, 1 / 256, {0: pivot}, [4])


NO_ELIMINATION = "no elimination"
NOT_THE_PIVOT = "another row is the pivot of this joint in the elimination"


@pytest.mark.parametrize(
    ("exact", "errors", "error", "round_off", "reason"),
    [
        (2, (0.5, 0.25), NO_ELIMINATION, "0.5", ""),
        (2, (0.5,), eighth(), "0.25", ""),
        (2, (0.125,), eighth(), "0.125", ""),
        (2, (np.inf,), eighth(), "0.25", ""),
        (
            2,
            (3.0,),
            NO_ELIMINATION,
            "3",
            "its round-off is only known to be below 3; no elimination",
        ),
        (
            2,
            (2.0,),
            NO_ELIMINATION,
            "2",
            "its round-off is only known to be below 2; no elimination",
        ),
        (2, (np.inf,), NO_ELIMINATION, None, "no bound of its round-off is known; no elimination"),
        (
            2,
            (np.inf,),
            eighth(ROW + 1),
            None,
            f"no bound of its round-off is known; {NOT_THE_PIVOT}",
        ),
        (2, (0.5,), eighth(ROW + 1), "0.5", ""),
        (
            2,
            (np.inf,),
            backward_error({(0, 0): 2.0}, 0, {0: ROW}, [4]),
            None,
            "no bound of its round-off is known",
        ),
    ],
)
def test_a_pivot_loses_the_smaller_of_two_bounds_of_its_round_off(
    exact: int, errors: Sequence[float], error: Backward | str, round_off: str | None, reason: str
) -> None:
    """A relative error of 1/8 is 1/4 of the exact bound 2."""
    inertia = OwnInertia("", "", Fraction(exact))
    certificate = _certify_divisor(ROW, 0, inertia, forward(*errors), error, {})
    lost = None if round_off is None else Fraction(round_off)
    bound = None if reason or lost is None else exact - lost
    assert certificate == DivisorCertificate(ROW, 0, Fraction(exact), lost, bound, reason)
    assert certificate.certified == (not reason)


def test_a_pivot_without_an_exact_bound_has_that_reason() -> None:
    inertia = OwnInertia("", "", None, "it is light")
    certificate = _certify_divisor(ROW, 0, inertia, forward(0.0), NO_ELIMINATION, {})
    assert certificate == DivisorCertificate(ROW, 0, reason="it is light")


DATA: dict[Pair, float] = {(0, 0): 0.0, (0, 1): 0.0, (1, 1): 0.0}


@pytest.mark.parametrize(
    ("outer_error", "outer_pivot", "certified"),
    [(0.5, 7, [True, True]), (3.0, 7, [False, False]), (0.5, 8, [True, False])],
)
def test_a_certified_pivot_bounds_the_round_off_of_the_next(
    outer_error: float, outer_pivot: int, certified: list[bool]
) -> None:
    """The last row comes first. Its relative error of 64 γ is above 1, so that its forward error
    decides. Without it, or if another row is the pivot of the elimination, the inner one has none.
    """
    growth = 1 / 7
    error = backward_error(DATA, growth, {0: 5, 1: outer_pivot}, [1 / 16, 16])
    certificates = _certify_pivots(
        {5: 0, 7: 1},
        [OwnInertia("", "", Fraction(2))] * 2,
        {5: forward(np.inf), 7: forward(outer_error)},
        error,
    )
    assert [certificate.row for certificate in certificates] == [7, 5]
    assert [certificate.joint for certificate in certificates] == [1, 0]
    assert certificates[0].certified == certified[0]
    assert ("has no bound" in certificates[1].reason) == (not certified[1])
    without = _certify_pivots(
        {5: 0, 7: 1},
        [OwnInertia("", "", Fraction(2))] * 2,
        {5: forward(0.25), 7: forward(3.0)},
        "no elimination",
    )
    assert [certificate.lower_bound for certificate in without] == [None, Fraction(7, 4)]


def test_a_sum_of_squares_has_the_bound_of_its_constant() -> None:
    """x² + 1/4 is at least 1/4; x has no bound."""
    rows = (
        Row("input", (0, 0)),
        Row("mul", (0, 0)),
        Row("const", (), Fraction(1, 4)),
        Row("add", (1, 2)),
    )
    program: Any = SimpleNamespace(rows=rows, real="double")
    quarter = Fraction(1, 4)
    assert _by_form(program, [3, 0]) == {
        3: DivisorCertificate(3, None, quarter, Fraction(0), quarter),
        0: DivisorCertificate(0, None, reason="it is no pivot of the mass matrix"),
    }


# -- own inertias --


def reason(mechanism: Mechanism, entry: int) -> str:
    inertia = own_inertias(mechanism)[entry]
    assert inertia.value is None
    return inertia.reason


def test_reasons_why_a_link_has_no_inertia_of_its_own() -> None:
    """A point mass at 1 m turns about two of three axes; a massless link has nothing."""
    rod: dict[str, Any] = {"mass": 1, "centre": (0, 0, 1)}
    ball = symgen.Robot("ball").body("a", parent="base", type="spherical", **rod).build()
    name = ball.velocity_names[2]
    assert reason(ball, 2) == f"link 'a' alone can move along '{name}' without energy"
    slide = symgen.Robot("slides").body("a", parent="base", type="prismatic", axis=(1, 0, 0))
    mechanism = slide.body("b", parent="a", type="revolute", axis=(0, 0, 1), **rod).build()
    assert reason(mechanism, 0) == "link 'a' has no mass of its own"
    assert (
        reason(mechanism, 1)
        == "link 'b' has no moment of inertia about its joint's axis of its own"
    )


def test_own_inertias_name_their_entries_and_links() -> None:
    bar: dict[str, Any] = {"mass": 2, "centre": (1, 0, 0), "inertia": (1, 0, 0, 1, 0, 1)}
    builder = symgen.Robot("led", mimic="couple")
    followers: dict[str, dict[str, Any]] = {"a": {}, "b": {"mimic": ("a_joint", -3, 0)}}
    for name, more in followers.items():
        builder.body(name, parent="base", type="revolute", axis=(0, 0, 1), **bar, **more)
    assert own_inertias(builder.build()) == [OwnInertia("a_joint", "a + b", Fraction(30))]


# -- constraint forces --


def test_energies_of_a_damped_matrix_are_those_of_its_damping() -> None:
    """|x_k| ≤ 1/√μ √(xᵀTx); rows are counted from the last one."""
    damped = Damped(Fraction(1, 4), {k: flint.arb(k + 3) for k in range(3)})
    assert damped.joints == range(3)
    assert [damped.name(k) for k in damped.joints] == ["row 3", "row 2", "row 1"]
    assert [float(damped.composite(k)) for k in damped.joints] == [3, 4, 5]
    assert damped.outward(1) == [1, 2]
    rates = damped.rates(1)
    assert {b: {c: float(x) for c, x in row.items()} for b, row in rates.items()} == {
        1: {1: 2},
        2: {2: 2},
    }
    assert damped.locked(1, rates) == {2: rates[2]}


@pytest.mark.parametrize("is_damped", [True, False])
def test_pivots_of_constraints_are_named_by_their_rows(is_damped: bool) -> None:
    recognition: Any = SimpleNamespace(samples=SimpleNamespace(joints=range(3)))
    kind = "damped " if is_damped else ""
    names = [ConstraintPivots(recognition, is_damped).describe_pivot(k) for k in range(3)]
    assert names == [f"({kind}row {k} of A M^-1 A^T)" for k in (3, 2, 1)]


@pytest.mark.parametrize("is_damped", [True, False])
def test_the_matrix_of_constraint_forces_is_eliminated_from_its_first_row(is_damped: bool) -> None:
    """T = diag(s) A M⁻¹ Aᵀ diag(s) + 1 − s + μ, with μ a fraction of the mean of the diagonal."""
    scalars = arb(60)
    A = np.array([[[1, 2, 0], [0, 1, -1]], [[2, 0, 1], [1, 1, 3]]])
    M = np.array([np.diag([1, 2, 4]), np.diag([2, 1, 1])])
    switch = np.array([[1, 0.5], [0.25, 1]])
    states = {"q": scalars.array(np.zeros((2, 3), dtype=int))}
    mass = scalars.array(M)
    with scalars.working():
        reference: Any = SimpleNamespace(mass_matrix=lambda q, payload: mass, scalars=scalars)
        samples = Samples(
            SimpleNamespace(),  # type: ignore[arg-type]
            (),
            eliminate(mass, [[0], [1], [2]]),
            flint.arb(1),
            reference,
            states,
        )
        rows, switches = scalars.array(A), scalars.array([[1, Fraction(1, 2)], [Fraction(1, 4), 1]])
        result = _constraint_samples(samples, rows, switches, is_damped)
    scaled = switch[..., None] * A
    S = scaled @ np.linalg.inv(M) @ scaled.transpose(0, 2, 1)
    S = S + np.stack([np.diag(1 - s) for s in switch])
    T = (
        S
        + (float(DAMPING) / 2 * np.trace(S, axis1=1, axis2=2)[:, None, None] * np.eye(2))
        * is_damped
    )
    pivots = {(1, 1): T[:, 0, 0], (0, 0): T[:, 1, 1] - T[:, 0, 1] ** 2 / T[:, 0, 0]}
    for pair, values in pivots.items():
        reduced = [float(x) for x in result.elimination.reduced[pair]]
        assert reduced == pytest.approx(values, rel=1e-15 if is_damped else 1e-14)
    factors = [float(x) for x in result.elimination.factors[0, 1]]
    assert factors == pytest.approx(T[:, 0, 1] / T[:, 0, 0])
    assert float(result.size) == pytest.approx(max(T[:, 0, 0].max(), T[:, 1, 1].max()))
    with scalars.working():
        undamped = _constraint_samples(samples, rows, switches, False).elimination.reduced[1, 1]
        mu = result.elimination.reduced[1, 1][0] - undamped[0]
        ratio = mu * 2 / scalars.constant(DAMPING)
    assert float(ratio) == pytest.approx(np.trace(S[0]) * is_damped, rel=1e-12)


def cart_and_arm(mimic: bool = False) -> Mechanism:
    builder = symgen.Robot("cart", mimic="couple")
    builder.body("cart", parent="base", type="prismatic", axis=(1, 0, 0), mass=1, centre=(0, 0, 0))
    builder.body(
        "arm",
        parent="cart",
        type="revolute",
        axis=(0, 0, 1),
        xyz=(0, 2, 0),
        mass=1,
        centre=(1, 0, 0),
        inertia=(1, 0, 0, 1, 0, 1),
    )
    more: dict[str, Any] = {"mimic": ("arm_joint", 2, 0)} if mimic else {}
    builder.body(
        "hand",
        parent="arm",
        type="revolute",
        axis=(0, 0, 1),
        xyz=(1, 0, 0),
        mass=1,
        centre=(1, 0, 0),
        inertia=(1, 0, 0, 1, 0, 1),
        **more,
    )
    return builder.build()


@pytest.mark.parametrize(
    ("contacts", "trace"),
    [
        (("cart:5,0,0",), "0.125"),
        (("arm:3,4,0",), "1.25"),  # 25/20 of its own hinge
        (("arm:1,0,7",), "0.125"),  # 1/20 of the hinge is less than 1/8 of the slide
        (("hand:0,2,0",), "1"),  # 4/4 of its own hinge; that of the arm may pass the point
        (("hand:0,0,0",), "0.125"),
        (("hand:0,9,0",), "1.5"),  # 81/4 is above that of three idle rows
        (("arm:3,4,0", "cart:0,0,0"), "1.375"),
    ],
)
def test_the_trace_of_contacts_is_that_of_their_longest_constant_columns(
    contacts: tuple[str, ...], trace: str
) -> None:
    """M is at most 8, 20 and 4 on its diagonal."""
    mechanism, options = cart_and_arm(), ProgramOptions(contact=contacts)
    bodies = Bodies(mechanism, declared_ranges(mechanism))
    bound = _contact_trace_bound(mechanism, bodies, [8.0, 20.0, 4.0], options)
    assert Fraction(trace) * (1 - Fraction(1, 10**14)) <= bound <= Fraction(trace)


def test_contacts_of_robots_with_followers_have_no_bound_of_the_trace() -> None:
    mechanism = cart_and_arm(mimic=True)
    bodies = Bodies(mechanism, declared_ranges(mechanism))
    options = ProgramOptions(contact="cart:0,0,0")
    assert _contact_trace_bound(mechanism, bodies, [8.0, 20.0], options) == 0
