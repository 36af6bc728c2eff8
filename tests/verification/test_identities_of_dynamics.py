"""Identities of dynamics on a slide with a drive, whose sizes have closed forms, and on a robot
with a mimic joint.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.verification.algebra import TOLERANCE
from symgen.verification.evaluating import Results, Runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.identities._identity import Functions
from symgen.verification.identities.dynamics import IDENTITIES, _positive
from symgen.verification.residuals import largest_ratio
from symgen.vocabulary.arrays import USUAL, Convention

NAMED = {identity.title: identity for identity in IDENTITIES}
STATES = 3


@cache
def slide() -> Mechanism:
    """Return 2 kg on a slide along x with a weight of 20 N. Its drive has an armature of 1/2 kg,
    damping of 5 N s/m and a spring of 3 N/m.
    """
    builder = symgen.Robot("slide", gravity=(-10, 0, 0))
    builder.body(
        "a",
        parent="base",
        type="prismatic",
        axis=(1, 0, 0),
        mass=2,
        centre=(0, 0, 0),
        inertia=(1, 0, 0, 1, 0, 1),
        armature="0.5",
        damping=5,
        stiffness=3,
    )
    return builder.build()


@cache
def led() -> Mechanism:
    """Return a hinge, one that follows it −3 times as fast and has a drive, and a third hinge."""
    bar: dict[str, Any] = {"mass": 2, "centre": (1, 0, 0), "inertia": (1, 0, 0, 1, 0, 1)}
    builder = symgen.Robot("led", mimic="couple", friction_speed="0.25", gravity=(1, -10, 2))
    builder.body("a", parent="base", type="revolute", axis=(0, 0, 1), **bar)
    builder.body(
        "b",
        parent="a",
        type="revolute",
        axis=(0, 0, 1),
        xyz=(1, 0, 0),
        mimic=("a_joint", -3, "0.5"),
        armature=2,
        damping=5,
        friction=7,
        **bar,
    )
    builder.body("c", parent="b", type="revolute", axis=(0, 1, 0), xyz=(0, 2, 0), **bar)
    return builder.build()


@cache
def exact_results(convention: Convention = USUAL) -> ExactResults:
    return ExactResults(slide(), STATES, 1, frame="a", convention=convention)


@cache
def results_of_led() -> ExactResults:
    return ExactResults(led(), STATES, 1, frame="c")


def functions(results: ExactResults, balls: bool, wrong: str = "", error: float = 0) -> Functions:
    """Return the functions of the reference, the results of one of them with a relative error."""
    reference = results.reference if balls else results.rough

    def runner(name: str) -> Runner:
        def run(arguments: Any) -> Results:
            with results.scalars.working():
                factor = 1 + error if name == wrong else 1
                return {
                    result: values * factor
                    for result, values in reference.evaluate(name, arguments).items()
                }

        return run

    names = {name for identity in IDENTITIES for name in identity.needs}
    states = results.balls if balls else results.floats
    return Functions({name: runner(name) for name in names}, states, results, balls)


# -- sizes --


def state(name: str) -> Array:
    """Return the magnitudes of an argument of the slide (count,)."""
    exact_results().draw("mass_matrix_solve")
    return np.asarray(np.abs(exact_results().floats[name]).reshape(STATES))


def acceleration() -> Array:
    """Return the magnitudes of (τ − 5 v − 3 q − 20)/2.5."""
    q, v, tau = (exact_results().floats[name] for name in ("q", "v", "tau"))
    return np.asarray(np.abs(tau - 5 * v - 3 * q - 20).reshape(STATES) / 2.5)


def bias() -> Array:
    return np.asarray(20 + 5 * state("v") + 3 * state("q"))


MASS = 2.5
"""kg: M, and the size of its terms."""
LOG_SIZE = np.log(MASS) + 1
SIZES: dict[str, Callable[[], Array]] = {
    "ID(FD(tau)) = tau": lambda: 2 * (MASS * acceleration() + bias()) + state("tau"),
    "M Minv = 1": lambda: np.ones(STATES),
    "M x = b": lambda: 2 * state("b"),
    "M = Mᵀ": lambda: np.full(STATES, MASS),
    "det M = Π D": lambda: np.full(STATES, MASS),
    "exp logdet = det M": lambda: np.full(STATES, LOG_SIZE),
    "grad · v = d/dt logdet": lambda: np.full(STATES, LOG_SIZE),
    "M a = ID(a) − ID(0)": lambda: MASS * state("a") + bias(),
    "c = ID(a=0)": bias,
    "g = c(v=0)": lambda: 20 + 3 * state("q"),
    "g = ID(v=0, a=0)": lambda: 20 + 3 * state("q"),
    "M in one pass = M": lambda: np.full(STATES, MASS),
    "c in one pass = c": bias,
    "a across the joints = FD(tau)": lambda: acceleration() + (bias() + state("tau")) / MASS,
    # the residual, the wrench of 2 kg across the joint, and the drive
    "Hᵀ F = tau": lambda: (
        (MASS * acceleration() + bias() + state("tau"))
        + 2 * (acceleration() + 10)
        + (0.5 * acceleration() + 5 * state("v") + 3 * state("q"))
    ),
    "R Rᵀ = 1": lambda: np.ones(STATES),
}
"""Sizes of the identities of one joint, where M M⁻¹ is 1 and x is b/2.5."""


@pytest.mark.parametrize("title", SIZES)
def test_sizes_of_identities_are_sums_of_their_terms(title: str) -> None:
    for balls in (True, False):
        if NAMED[title].exact_only and not balls:
            continue
        results = exact_results()
        with results.scalars.working():
            called = functions(results, balls)
            difference, size = NAMED[title].distance(called)
        by_state = np.asarray(size, dtype=float).reshape(STATES, -1)
        np.testing.assert_allclose(by_state, by_state[:, :1] + 0 * by_state)
        np.testing.assert_allclose(by_state[:, 0], SIZES[title](), rtol=1e-12)
        assert largest_ratio(difference, size)[0] <= (TOLERANCE if balls else 8 * 2.0**-52)


def test_every_identity_of_dynamics_has_a_size_here() -> None:
    others = {
        "M positive definite",
        "Lambda_inv = J Minv Jᵀ",
        "alpha_tip = J a + J̇ v",
        "J v = d/dt pose",
    }
    assert {*SIZES, *others} == set(NAMED)


def test_the_size_of_a_mobility_counts_changes_of_its_factors() -> None:
    """Along x, M⁻¹ is 0.4, with an error as large, and J has 2 · 0.4; the product of the factors in
    doubles adds 0.4. The size of J has no direction. A Jacobian that is converted from another
    convention has an error of 2 units.
    """
    expected = np.zeros((6, 6))
    expected[3:, 3:] = 0.4 + 2 * 0.4
    expected[3, 3] += 0.4
    converted = expected.copy()
    converted[3:, 3] += 2 * 0.4
    converted[3, 3:] += 2 * 0.4
    for convention, size in ((USUAL, expected), (Convention("world", "linear"), converted)):
        results = exact_results(convention)
        difference, sizes = NAMED["Lambda_inv = J Minv Jᵀ"].distance(functions(results, False))
        np.testing.assert_allclose(sizes, np.stack([size] * STATES), rtol=1e-12, atol=1e-15)
        assert (np.abs(difference) <= 1e-15).all()


def test_a_converted_jacobian_has_the_lever_of_its_convention() -> None:
    """For a hinge at 2 m from the base, the frame is 2 m farther away than its reach of 1 m."""
    builder = symgen.Robot("bar", gravity=(0, 0, 0))
    builder.body(
        "a",
        parent="base",
        type="revolute",
        axis=(0, 0, 1),
        xyz=(2, 0, 0),
        mass=2,
        centre=(1, 0, 0),
        inertia=(1, 0, 0, 1, 0, 1),
    )
    builder.frame("tip", "a", xyz=(1, 0, 0))
    title = "Lambda_inv = J Minv Jᵀ"
    usual, world, local = (
        NAMED[title].distance(
            functions(ExactResults(builder.build(), 1, frame="tip", convention=convention), False)
        )[1][0]
        for convention in (USUAL, Convention("world"), Convention("local"))
    )
    inverse, mass_size = 1 / 3, 2 + np.sqrt(3)
    # M⁻¹ changes by s/I² with M, 2/I with J, and by s/I² in the product of the factors
    np.testing.assert_allclose(usual[2, 2], 2 * mass_size / 9 + 2 * inverse)
    np.testing.assert_allclose((world - usual)[2, 2], 4 * inverse)
    for sizes, lever in ((world, 3), (local, 1)):
        # about z, J is 1; in every direction its size is 1, or the lever
        change = sizes - usual
        np.testing.assert_allclose(change[0, 2], 2 * inverse)
        np.testing.assert_allclose(change[0, 1], 0)
        np.testing.assert_allclose(change[5, 2], 2 * lever * inverse)


def test_accelerations_and_twists_of_the_frame_have_their_sizes() -> None:
    """A frame on the slide has its acceleration; a twist has a size of at least 1."""
    results = ExactResults(slide(), STATES, 1, frame="a")
    for values in (results.states, results.floats, results.balls):
        values["v"] = values["v"] * 5
    with results.scalars.working():
        called = functions(results, True)
        difference, size = NAMED["alpha_tip = J a + J̇ v"].distance(called)
        np.testing.assert_array_equal(size, results.scales.tip_acceleration())
        assert largest_ratio(difference, size)[0] <= TOLERANCE
        difference, size = NAMED["J v = d/dt pose"].distance(called)
    assert largest_ratio(difference, size)[0] <= TOLERANCE
    assert {bool(speed > 1) for speed in 5 * state("v")} == {True, False}
    np.testing.assert_allclose(size[:, :3], 1)
    expected = np.maximum(1, 5 * state("v"))
    np.testing.assert_allclose(size[:, 3:], np.stack([expected] * 3, axis=1))


# -- errors --


@pytest.mark.parametrize("title", [title for title in NAMED if title != "M positive definite"])
@pytest.mark.parametrize("robot", ["slide", "led"])
def test_identities_hold_and_detect_an_error_of_each_function(robot: str, title: str) -> None:
    """A relative error of 1e-6 is larger than any round-off and at most 1e-5 of the terms."""
    identity = NAMED[title]
    results = exact_results() if robot == "slide" else results_of_led()
    balls = identity.exact_only
    with results.scalars.working():
        correct = largest_ratio(*identity.distance(functions(results, balls)))[0]
        assert correct <= (TOLERANCE if balls else 64 * 2.0**-52)
        if title == "M = Mᵀ":
            return  # a factor of all entries keeps the symmetry
        for name in identity.needs:
            wrong = functions(results, balls, name, 1e-6)
            ratio = largest_ratio(*identity.distance(wrong))[0]
            constant = robot == "slide" and "grad" in title
            assert constant or 1e-9 < ratio < 1e-5, name


def test_wrenches_of_a_follower_count_with_its_multiplier() -> None:
    """The leader feels its own wrench and three times that of the follower; so do their sizes."""
    results = results_of_led()
    _, size = NAMED["Hᵀ F = tau"].distance(functions(results, False))
    scales, v = results.scales, results.floats["v"]
    a = results.rough.evaluate(
        "interbody_forces", results.arguments("interbody_forces", results.floats)
    )["a"]
    wrenches = scales.wrenches(v, a)
    more = scales.dynamics_residual(a) + scales.drive_forces(v, a)
    expected = np.stack([wrenches[:, 0] + 3 * wrenches[:, 1], wrenches[:, 2]], axis=1) + more
    np.testing.assert_allclose(size, expected, rtol=1e-12)


def test_the_entries_above_and_below_the_diagonal_are_compared() -> None:
    results = results_of_led()
    mass = results.rough.evaluate("mass_matrix", {"q": results.floats["q"]})["M"]
    mass[1, 0, 1] += 1e-3
    runners: dict[str, Runner] = {"mass_matrix": lambda _: {"M": mass}}
    difference, _ = NAMED["M = Mᵀ"].distance(Functions(runners, results.floats, results, False))
    expected = np.zeros((STATES, 2, 2))
    expected[1, 0, 1], expected[1, 1, 0] = 1e-3, -1e-3
    np.testing.assert_allclose(difference, expected, atol=1e-12)


def test_the_size_of_a_determinant_is_itself_in_balls() -> None:
    """In doubles it is multiplied by Σ |M⁻¹|_jk s_jk. Of a singular M it is the product of the
    diagonal.
    """
    results = results_of_led()
    det = np.abs(results.results("mass_matrix_determinant")["det"].astype(float))
    title = "det M = Π D"
    with results.scalars.working():
        _, in_balls = NAMED[title].distance(functions(results, True))
    np.testing.assert_allclose(in_balls, det, rtol=1e-12)
    _, in_doubles = NAMED[title].distance(functions(results, False))
    np.testing.assert_allclose(in_doubles, det * results.scales.determinant_loss(), rtol=1e-12)
    assert (in_doubles > 2 * in_balls).all()
    builder = symgen.Robot("slides", gravity=(0, 0, 0))
    builder.body("a", parent="base", type="prismatic", axis=(1, 0, 0))
    builder.body("b", parent="a", type="prismatic", axis=(1, 0, 0), mass=3, centre=(0, 0, 0))
    singular = ExactResults(builder.build(), STATES, 1)
    singular.condition = np.inf  # some libraries compute a singular value of 1e-17 instead of 0
    M: Array = singular.results("mass_matrix")["M"]
    runners: dict[str, Runner] = {
        "mass_matrix": lambda _: {"M": M},
        "mass_matrix_determinant": lambda _: {"det": 0 * M[:, 0, 0]},
    }
    with singular.scalars.working():
        difference, size = NAMED[title].distance(Functions(runners, singular.balls, singular, True))
    np.testing.assert_allclose(size, 9)
    assert largest_ratio(difference, size)[0] <= TOLERANCE


def test_the_size_of_a_slope_counts_every_velocity() -> None:
    results = results_of_led()
    with results.scalars.working():
        _, size = NAMED["grad · v = d/dt logdet"].distance(functions(results, True))
    of_gradient = results.scales.of("mass_matrix_log_determinant_gradient", "grad")
    speeds = np.abs(results.floats["v"])
    expected = of_gradient[:, 0] * speeds[:, 0] + of_gradient[:, 1] * speeds[:, 1]
    logarithm = results.scales.of("mass_matrix_log_determinant", "logdet")
    np.testing.assert_allclose(size, expected + logarithm, rtol=1e-12)
    assert (expected > 0.1).all()


# -- positive definiteness --


def ball_matrix(low: float, radius: float = 0.0) -> Array:
    """Return diag(low, 1), the first entry with a radius."""
    return np.array(
        [[flint.arb(low, radius), flint.arb(0)], [flint.arb(0), flint.arb(1)]], dtype=object
    )


@pytest.mark.parametrize(
    ("of_program", "declared", "verdict"),
    [
        ((1, 0), (1, 0), 0),
        ((1, 0), (-1, 0), 0),
        ((-1, 0), (1, 0), 1),
        ((-1, 0), (-1, 0), 0),
        ((-1, 0), (0, 0), 0),  # a declared M with a pivot of zero is not positive
        ((0, 0), (1, 0), 1),
        ((0, 2), (1, 0), np.nan),
        ((-1, 0), (0, 2), np.nan),
        ((0, 2), (0, 2), np.nan),
        ((0, 2), (-1, 0), 0),
    ],
)
def test_a_mass_matrix_is_positive_if_the_declared_one_is(
    of_program: tuple[float, float], declared: tuple[float, float], verdict: float
) -> None:
    """The size of the entries is 1."""
    stub: Any = SimpleNamespace(
        mass_matrix=[ball_matrix(*declared), ball_matrix(1)],
        scales=SimpleNamespace(diagonal=lambda: np.ones((2, 2))),
        draw=lambda _: None,
        arguments=lambda *_: {},
    )
    masses: Any = [ball_matrix(*of_program), ball_matrix(1)]
    difference, size = _positive(
        Functions({"mass_matrix": lambda _: {"M": masses}}, {}, stub, True)
    )
    np.testing.assert_array_equal(difference, [[verdict], [0]])
    np.testing.assert_array_equal(size, [1, 1])
