"""Verdicts on identities with given distances, the functions that identities need, and differences
of poses.
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
from symgen.reference.precision import Array
from symgen.verification import identities
from symgen.verification.algebra import TOLERANCE
from symgen.verification.exact_results import ExactResults
from symgen.verification.identities import _check, companions
from symgen.verification.identities._derivatives import (
    _joined_distance,
    _size,
    derivative_identities,
)
from symgen.verification.identities._drives import velocity_derivatives, without_armature
from symgen.verification.identities._identity import DAMPED, Functions, Identity, terms
from symgen.verification.identities.integration import _pose_difference
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import PLAIN

BAR: dict[str, Any] = {"mass": 2, "centre": (1, 0, 0), "inertia": (1, 0, 0, 1, 0, 1)}


SINGLE = next(name for name, f in FUNCTIONS.items() if f.needs_frame and not f.uses_all_frames)
"""A function of the first frame only."""


@cache
def exact(frames: int = 1) -> ExactResults:
    robot = symgen.load("planar_arm")
    names = [frame.name for frame in robot.frames[-frames:]]
    return ExactResults(robot, 2, 1, frame=names)


def functions(results: ExactResults | None = None, is_exact: bool = True) -> Functions:
    results = results or exact()
    return Functions({}, results.balls if is_exact else results.floats, results, is_exact)


def identity(distance: Callable[[Functions], Any], **more: Any) -> Identity:
    return Identity("f = g", ("f", "g"), distance, **more)


def balls(*values: Any) -> Array:
    return np.array(
        [flint.arb(*x) if isinstance(x, tuple) else flint.arb(x) for x in values], dtype=object
    )[:, None]


# -- one check --


@pytest.mark.parametrize(
    ("differences", "error", "state", "blurred"),
    [
        ((0, 0), 0.0, 0, True),
        ((0, 1e-30), 5e-31, 1, False),
        ((1e-30, 0), 1e-30, 0, False),
        (((0, 1e-20), 0), 1e-20, 0, True),  # no ball excludes equality
        (((1e-50, 1e-20), (1e-60, 1e-70)), 1e-20, 0, True),  # the midpoints agree
        (((1e-30, 1e-20), (1e-60, 1e-70)), 1e-20, 0, False),
        ((np.nan, 0), np.inf, 0, True),
    ],
)
def test_an_error_is_blurred_if_the_balls_are_too_wide_to_decide(
    differences: tuple[Any, Any], error: float, state: int, blurred: bool
) -> None:
    """The sizes of the two states are 1 and 2."""
    size = np.array([1.0, 2.0])
    check, is_blurred = _check(
        identity(lambda _: (balls(*differences), size)), functions(), TOLERANCE, "", 1.0
    )
    assert check.error == pytest.approx(error)
    assert (check.kind, check.subject, check.bound) == ("identities", "f = g", TOLERANCE)
    assert check.detail == f"largest at state {state}"
    assert is_blurred is blurred


def test_the_compiled_error_is_in_units_of_round_off() -> None:
    distance = np.array([[1e-15], [2e-15]]), np.array([1.0, 0.5])
    check, _ = _check(identity(lambda _: distance), functions(is_exact=False), 20, " eps", 2.0**-52)
    assert check.error == pytest.approx(4e-15 * 2**52)
    assert check.detail == "largest at state 1, compiled"
    assert check.unit == " eps"


def test_the_worst_frame_counts_unless_frames_belong_together() -> None:
    """The distance is 1e-3 at one frame and 2e-3 at the other."""
    results = exact(2)
    seen: list[Functions] = []

    def distance(f: Functions) -> Any:
        seen.append(f)
        return balls(1e-3 * len(seen), 0), np.ones(2)

    for needs, together, count in (
        (("jacobian",), False, 2),
        (("jacobian",), True, 1),
        (("jacobian", SINGLE), False, 1),
    ):
        seen.clear()
        of_frames = Identity("f = g", needs, distance, together=together)
        check, _ = _check(of_frames, functions(results), TOLERANCE, "", 1.0)
        assert len(seen) == count
        assert check.error == pytest.approx(1e-3 * count)


# -- more digits --


def test_digits_are_doubled_until_the_balls_decide() -> None:
    """A ball of radius 1e-30 with the usual digits is narrow with twice as many."""
    results = exact()

    def distance(f: Functions) -> Any:
        radius = 1e-30 if f.exact_results.working == results.working else 1e-60
        return balls((0, radius), (0, radius)), np.ones(2)

    over_balls = [functions(results)]
    check = identities._check_over_balls(identity(distance), {}, over_balls)
    assert check.passed
    assert [f.exact_results.working for f in over_balls] == [results.working, 2 * results.working]
    again = identities._check_over_balls(identity(distance), {}, over_balls)
    assert again.passed
    assert len(over_balls) == 2


def test_an_error_that_balls_exclude_is_not_sharpened() -> None:
    over_balls = [functions()]
    wrong = identity(lambda _: (balls(1e-3, 0), np.ones(2)))
    assert not identities._check_over_balls(wrong, {}, over_balls).passed
    assert len(over_balls) == 1


@pytest.mark.parametrize(("damped", "passed"), [(True, True), (False, False)])
def test_damped_solves_may_be_off_by_their_damping(damped: bool, passed: bool) -> None:
    off = identity(lambda _: (balls(5e-16, 0), np.ones(2)), damped=lambda _: damped)
    check = identities._check_over_balls(off, {}, [functions()])
    assert check.passed is passed
    assert check.bound == (DAMPED if damped else TOLERANCE)


# -- the compiled functions --


@pytest.mark.parametrize(
    ("error", "lost", "allowed", "verdict", "reason"),
    [
        (25, (), 10, "passed", ""),
        (35, (), 10, "failed", ""),
        (25, ("g",), 10, "not judged", "precision loss of g"),
        (35, ("g",), 10, "failed", "precision loss of g"),
        (25, ("h",), 10, "passed", ""),
        (25, (), 1e13, "not judged", "precision loss of f"),
        (1e20, (), 1e13, "not judged", "precision loss of f"),
        (np.inf, ("f",), 10, "not judged", "precision loss of f"),
    ],
)
def test_compiled_identities_may_be_off_by_the_bounds_of_their_functions(
    error: float,
    lost: tuple[str, ...],
    allowed: float,
    verdict: str,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bounds of f and g are `allowed` and 20 round-offs; a bound of 1e13 bounds nothing."""
    bounds = {"f": allowed, "g": 20.0}
    monkeypatch.setattr(identities, "allowance", lambda program, *_: bounds[program.function])
    programs: Any = {name: SimpleNamespace(function=name, real="double") for name in "fg"}
    distance = np.array([[error * 2.0**-52], [0.0]]), np.ones(2)
    check = identities._check_over_floats(
        identity(lambda _: distance),
        programs,
        functions(is_exact=False),
        PLAIN,
        lost,
    )
    assert check.bound == allowed + 20
    assert (check.verdict, check.unjudged) == (verdict, reason)


@pytest.mark.parametrize(
    ("present", "loops", "absent", "applies"),
    [
        ("fg", None, None, True),
        ("f", None, None, False),
        ("fg", True, None, False),
        ("fg", False, None, True),
        ("fg", None, True, False),
        ("fg", None, False, True),
    ],
)
def test_an_identity_applies_where_its_functions_and_its_robot_are_present(
    present: str, loops: bool | None, absent: bool | None, applies: bool
) -> None:
    """The robot has no closed loops."""
    programs: Any = dict.fromkeys(present)
    more = {} if absent is None else {"absent": lambda _: absent}
    candidate = identity(lambda _: None, loops=loops, **more)
    assert identities._applies(candidate, programs, exact()) is applies


# -- functions that identities need --


@pytest.mark.parametrize(
    ("function", "needs"),
    [
        ("inverse_dynamics", ("forward_dynamics",)),
        ("mass_matrix", ("inverse_mass_matrix",)),
        ("inverse_dynamics:jvp", ("inverse_dynamics",)),
        ("inverse_dynamics:vjp", ("inverse_dynamics:jvp",)),
        ("inverse_dynamics:jacobian", ("inverse_dynamics:jvp",)),
        ("inverse_dynamics:hvp", ("inverse_dynamics:vjp",)),
        ("integrate:hvp", ("integrate:vjp", "integrate:jvp", "integrate")),
    ],
)
def test_companions_of_a_function_are_those_of_its_first_identity(
    function: str, needs: tuple[str, ...]
) -> None:
    assert companions(function, symgen.load("planar_arm")) == needs


def test_derivatives_have_identities_with_the_functions_that_are_present() -> None:
    present = ["inverse_dynamics", "inverse_dynamics:jvp", "inverse_dynamics:hvp"]
    (only,) = derivative_identities(present)
    assert only.title == "inverse_dynamics:jvp = d/dt inverse_dynamics"
    assert (only.exact_only, only.together, only.loops) == (True, True, None)
    assert derivative_identities(["inverse_dynamics:jvp"]) == []
    both = derivative_identities(["inverse_dynamics:vjp", "inverse_dynamics:hvp"])
    assert [x.title.partition(" ")[0] for x in both] == ["inverse_dynamics:hvp"] * 2
    closed = derivative_identities(
        ["constrained_forward_dynamics", "constrained_forward_dynamics:jvp"]
    )
    assert [x.loops for x in closed] == [False]


def test_sizes_of_derivatives_are_one_plus_the_largest_entries() -> None:
    first, second = np.array([[1.0, -3.0], [0.5, 0.0]]), np.array([[[2.0]], [[-4.0]]])
    assert _size([first, second]).tolist() == [6, 5.5]
    differences, size = _joined_distance([first, first], [second])
    assert differences.tolist() == [[1, -3, 1, -3], [0.5, 0, 0.5, 0]]
    assert size.tolist() == [3, 5]


def test_terms_are_the_largest_magnitudes_of_all() -> None:
    assert terms(np.array([[1, -5], [2, 0]]), np.array([[[3]], [[-4]]])).tolist() == [5, 4]


# -- parts of identities --


def test_poses_differ_up_to_signs_of_quaternions_and_whole_turns() -> None:
    """A slide differs by 1/8, a planar body by a whole turn and 1/4 m, and quaternions by their
    signs.
    """
    builder = symgen.Robot("kinds")
    builder.body("slide", parent="base", type="prismatic", axis=(1, 0, 0), **BAR)
    for name, parent in (("planar", "slide"), ("spherical", "planar"), ("free", "spherical")):
        builder.body(name, parent=parent, type=name, **BAR)
    stub: Any = SimpleNamespace(exact_results=SimpleNamespace(mechanism=builder.build()))
    q = np.array([[0.5, 1, 2, 0.3, 0.6, 0, 0, 0.8, 1, 2, 3, 0, 0.6, 0.8, 0]] * 2)
    moved = q.copy()
    moved[:, 0] += 0.125
    moved[:, 1] += 0.25
    moved[:, 3] += 2 * np.pi
    moved[0, 4:8] *= -1
    moved[1, 11:] *= -1
    moved[:, 10] -= 0.5
    expected = np.zeros((2, 15))
    expected[:, 0], expected[:, 1], expected[:, 10] = 0.125, 0.25, -0.5
    assert np.allclose(_pose_difference(stub, moved, q), expected, rtol=0, atol=1e-14)
    turned = q.copy()
    turned[:, 3] += 0.2
    turned[:, 4] += 0.01
    difference = _pose_difference(stub, turned, q)
    assert difference[0, 3] == pytest.approx(2 * np.sin(0.1))
    assert difference[0, 4] == pytest.approx(0.01)


def test_slopes_of_resistances_and_masses_without_rotors() -> None:
    """Damping of 3 and friction of 8 ε²/(v² + ε²)^(3/2) at ε = 1/4; an armature of 1/2."""
    builder = symgen.Robot("arm", friction_speed="0.25")
    builder.body(
        "a",
        parent="base",
        type="revolute",
        axis=(0, 0, 1),
        damping=3,
        friction=8,
        armature="0.5",
        **BAR,
    )
    builder.body("b", parent="a", type="revolute", axis=(0, 0, 1), **BAR)
    results = ExactResults(builder.build(), 2, 1)
    f = functions(results, is_exact=False)
    slopes = velocity_derivatives(f)
    v = results.floats["v"][:, 0]
    expected = np.zeros((2, 2, 2))
    expected[:, 0, 0] = 3 + 8 / 16 / (v**2 + 1 / 16) ** 1.5
    assert np.allclose(slopes, expected, rtol=1e-12, atol=0)
    assert np.allclose(without_armature(f, np.eye(2)[None]), [[[0.5, 0], [0, 1]]])


def test_states_at_rest_and_without_loads_have_zeros() -> None:
    results = ExactResults(symgen.load("planar_arm"), 2, payload="link2", wrench="link2")
    f = functions(results, is_exact=False)
    rest = f.at_rest("v", "a")
    assert sorted(rest) == ["a", "v", "wrench"]
    assert sorted(f.unladen()) == ["payload", "wrench"]
    assert all((values == 0).all() for values in (rest | f.unladen()).values())
    assert functions(is_exact=False).unladen() == {}
