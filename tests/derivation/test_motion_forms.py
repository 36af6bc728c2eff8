"""Closed forms of one joint's motion: steps of mobility and of the trace, constrained directions,
and rates of coordinates, on rational matrices.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mpmath
import pytest
import sympy as sp

from symgen.derivation.closed_forms import (
    constraint_subspace,
    cross_matrix,
    difference_form,
    joint_form,
    mobility_form,
    motion_class,
    riccati_form,
    step_form,
    trace_form,
    wrench_rate,
)
from symgen.derivation.tangents import POSITION, RATE, STEP, rates_from_step, step_from_rates
from symgen.ir.program import Numbers, evaluate
from symgen.mechanism.joints import joint_type, kinds

COLUMNS = [("revolute", 0), ("prismatic", 0), ("helical", 0), ("spherical", 1), ("planar", 2)]
PITCH = sp.Rational(1, 3)


def symmetric(seed: int) -> sp.Matrix:
    """Return a positive definite 6×6 matrix of rationals."""
    A = sp.Matrix(6, 6, lambda i, j: sp.Rational((3 * i + 5 * j + seed) % 7 - 3, 2 + (i + j) % 3))
    return A * A.T + sp.eye(6)


def values_of(symbols: Iterable[Any], numbers: Iterable[Any]) -> dict[Any, Any]:
    return {symbol: number for symbol, number in zip(symbols, numbers, strict=True) if symbol}


def column_of(kind: str, column: int) -> sp.Matrix:
    form = joint_form(kind)
    pitch = dict.fromkeys(form.parameters.values(), PITCH)
    return form.motion_subspace[:, column].subs(pitch)


def with_pitch(kind: str) -> dict[Any, Any]:
    return dict.fromkeys(joint_form(kind).parameters.values(), PITCH)


@pytest.mark.parametrize(("kind", "column"), COLUMNS)
def test_the_riccati_step_with_a_rotor_is_that_of_matrices(kind: str, column: int) -> None:
    form, H, P = riccati_form(kind, column, rotor=True), column_of(kind, column), symmetric(1)
    armature = sp.Rational(2, 5)
    D = (H.T * P * H)[0, 0] + armature
    numbers = values_of(form.P, P) | with_pitch(kind) | {form.A: armature, form.d: 1 / D}
    assert form.D.xreplace(numbers) == D
    G = form.G.xreplace(numbers)
    assert G == P * H / D
    after = form.P_after.xreplace(numbers | values_of(form.g, G))
    assert after == P - P * H * H.T * P / D


@pytest.mark.parametrize("rotor", [False, True])
@pytest.mark.parametrize(("kind", "column"), COLUMNS)
def test_the_step_of_the_mobility_is_that_of_matrices(kind: str, column: int, rotor: bool) -> None:
    """Ω = (1 − G Hᵀ)ᵀ X (1 − G Hᵀ) + H D⁻¹ Hᵀ with G = P H D⁻¹, for a column H."""
    form, H, P, X = (
        mobility_form(kind, column, rotor),
        column_of(kind, column),
        symmetric(1),
        symmetric(2),
    )
    armature = sp.Rational(2, 5) if rotor else sp.S.Zero
    d = 1 / ((H.T * P * H)[0, 0] + armature)
    G = P * H * d
    numbers = values_of(form.X, X) | with_pitch(kind) | {form.A: armature, form.d: d}
    numbers |= values_of(form.g, G)
    W = form.W.xreplace(numbers)
    projection = sp.eye(6) - G * H.T
    assert W == projection.T * X
    after = form.after.xreplace(numbers | values_of(form.w, W))
    assert after == projection.T * X * projection + H * d * H.T


@pytest.mark.parametrize(("kind", "column"), COLUMNS)
def test_the_trace_is_that_of_the_rate_of_a_wrench(kind: str, column: int) -> None:
    form, X, P = trace_form(kind, column), symmetric(1), symmetric(2)
    rate = wrench_rate(column_of(kind, column))
    numbers = values_of(form.X, X) | values_of(form.P, P) | with_pitch(kind)
    assert form.trace.xreplace(numbers) == (X * rate * P).trace()


def test_a_wrench_changes_by_the_cross_products_with_a_twist() -> None:
    w, v, n, f = (sp.Matrix([sp.Rational((3 * i + j) % 5 - 2) for j in range(3)]) for i in range(4))
    rate = wrench_rate(sp.Matrix([*w, *v]))
    assert rate * sp.Matrix([*n, *f]) == sp.Matrix([*(w.cross(n) + v.cross(f)), *w.cross(f)])
    assert cross_matrix(w) * f == w.cross(f)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "planar", "spherical"])
def test_constrained_directions_are_orthonormal_and_normal_to_the_motion(kind: str) -> None:
    unit_forces, constrained = constraint_subspace(kind)
    H, nv = joint_form(kind).motion_subspace, joint_type(kind).nv
    assert constrained.shape == (6, 6 - nv)
    assert sp.eye(nv) == unit_forces.T * H
    assert sp.zeros(6 - nv, nv) == constrained.T * H
    assert constrained.T * constrained == sp.eye(6 - nv)


def test_a_motion_is_a_turn_a_ball_a_slide_or_both() -> None:
    assert {kind: motion_class(kind) for kind in kinds()} == {
        "continuous": "turn",
        "cylindrical": "both",
        "free": "both",
        "helical": "both",
        "planar": "both",
        "prismatic": "slide",
        "revolute": "turn",
        "spherical": "ball",
    }


def test_the_angle_of_a_joint_is_the_coordinate_in_its_sines() -> None:
    angles = {kind: joint_form(kind).angle for kind in kinds()}
    assert angles["revolute"] == angles["helical"] == angles["cylindrical"] == 0
    assert angles["planar"] == 2
    assert angles["prismatic"] is angles["spherical"] is angles["free"] is None


@pytest.mark.parametrize("form", [step_form, difference_form])
def test_forms_by_series_have_functions_of_their_own(form: Any) -> None:
    def functions(series: bool) -> set[str]:
        expressions = [expression for _, expression in form("spherical", series).equations]
        return {
            str(function.func)
            for expression in expressions
            for function in sp.sympify(expression).atoms(sp.Function)
        }

    assert any(name.startswith("stumpff") for name in functions(True))
    assert not any(name.startswith("stumpff") for name in functions(False))


MPMATH = Numbers(
    lambda x: mpmath.mpf(x.numerator) / x.denominator,
    mpmath.sin,
    mpmath.cos,
    mpmath.sqrt,
    mpmath.log,
)


@pytest.mark.parametrize("kind", ["revolute", "planar", "free"])
def test_rates_of_coordinates_are_linear_in_a_step_and_give_it_back(kind: str) -> None:
    joint = joint_type(kind)
    q = [sp.Rational(n + 2, 7) for n in range(joint.nq)]
    if joint.quaternion is not None:  # (1 + 16 + 64 + 0)/81 = 1
        q[joint.quaternion :] = [sp.Rational(n, 9) for n in (1, -4, 8, 0)]
    step = [sp.Rational(3 - 2 * n, 5) for n in range(joint.nv)]
    epsilon = sp.Symbol("epsilon", real=True)
    moved = joint.integrate_first_order(q, [epsilon * x for x in step])
    with mpmath.workdps(40):

        def number(value: Any) -> Any:
            return mpmath.mpf(str(sp.N(value, 45)))

        arguments = {POSITION: list(map(number, q)), STEP: list(map(number, step))}
        rates = evaluate(rates_from_step(kind), arguments, MPMATH)[STEP]
        for rate, coordinate in zip(rates, moved, strict=True):
            assert abs(rate - number(sp.diff(coordinate, epsilon))) < 1e-36
        back = evaluate(step_from_rates(kind), {POSITION: arguments[POSITION], RATE: rates}, MPMATH)
        for x, y in zip(back[RATE], arguments[STEP], strict=True):
            assert abs(x - y) < 1e-36
