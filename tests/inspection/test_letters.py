"""Letters of the papers: each against the reference's poses and M in ball arithmetic, then the
papers' identities.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgen
from symgen import methods
from symgen.inspection.catalogue import methods_with_quantities, refusal_reason
from symgen.inspection.entries import layout
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.reference.precision import Array
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import X_AXIS, Angle, Turn, pose
from tests.shared.inspected import EXPECTED, Seen, inverse, numbers
from tests.shared.robots_for_tests import BALLS, largest, robot, states

NAMES = ("scara", "chain3", "tree3", "planar_arm", "one")
DIGITS = 1e-45
"""Tolerance: constants that contain roots and sines carry 64 digits."""
BY_IDENTITY = {("constraint_force", "W"), ("constraint_force", "W_a"), ("fixman", "det_G")} | {
    ("fixman", letter)
    for letter in ("dtheta_dx", "dtheta_dx_printed", "dL_dx", "H_theta_theta", "H_theta_L", "H_L_L")
}


@cache
def mechanism_named(name: str) -> Mechanism:
    return points(name) if name.startswith("points") else robot(name)


def points(name: str) -> Mechanism:
    """Return a planar chain of 4 point masses of several masses and lengths in a tilted plane.

    Some masses lie off the x axis; in "points_flipped" every second joint axis is reversed.
    """
    flips = (False, name == "points_flipped", False, name == "points_flipped")
    turns = [Turn(X_AXIS, Angle(pi=Fraction(1))) if flip else None for flip in flips]
    tips = [(Fraction(3, 5), Fraction(4, 5) * k, Fraction(0)) for k in (0, 1, -1, 1)]
    poses = [
        pose(tips[i - 1]) if i else (Turn(X_AXIS, Angle(radians=Fraction(1, 3))),) for i in range(4)
    ]
    joints = tuple(
        Joint(f"j{i}", "revolute", i - 1, (*poses[i], *([turn] if turn else [])))
        for i, turn in enumerate(turns)
    )
    bodies = tuple(
        Body(f"b{i}", (Part(f"b{i}", pose(tips[i]), Fraction(i + 1, 2)),)) for i in range(4)
    )
    return Mechanism(name, joints, bodies, tuple(Frame(f"b{i}", i) for i in range(4)))


@cache
def seen_robot(name: str) -> Seen:
    state = (
        states(name, 1, BALLS)
        if not name.startswith("points")
        else {
            x: BALLS.array([[Fraction(3 + 5 * i + k, 7) for i in range(4)]])
            for k, x in enumerate("qva")
        }
    )
    return Seen(mechanism_named(name), {x: state[x][0] for x in ("q", "v", "a")})


def evaluate_letter(name: str, what: str, method: str) -> Array:
    quantity = methods.find(method).quantities[what.split("[")[0]]
    return numbers(
        mechanism_named(name), what, method, {x: seen_robot(name).state[x] for x in quantity.inputs}
    )


def agree(values: Array, expected: Array) -> bool:
    return values.shape == expected.shape and largest(values - expected) <= DIGITS * (
        1 + largest(expected)
    )


def has_letter(name: str, method: str, letter: str) -> bool:
    return (
        refusal_reason(mechanism_named(name), method, methods.find(method).quantities[letter])
        is None
    )


def test_every_letter_of_every_method_has_an_oracle_or_an_identity() -> None:
    assert set(EXPECTED) | BY_IDENTITY == {
        (method, letter)
        for method in methods_with_quantities()
        for letter, quantity in methods.find(method).quantities.items()
        if not quantity.of_loops
    }


@pytest.mark.parametrize(("method", "letter"), sorted(EXPECTED))
@pytest.mark.parametrize("name", NAMES)
def test_every_block_of_a_letter_equals_its_definition(name: str, method: str, letter: str) -> None:
    if not has_letter(name, method, letter):
        with pytest.raises(RequestError):
            symgen.inspect(mechanism_named(name), letter, method=method)
        return
    quantity, n = methods.find(method).quantities[letter], mechanism_named(name).nv
    with BALLS.working():
        expected = EXPECTED[method, letter](seen_robot(name))
        for index in np.ndindex(*(n,) * len(quantity.indices)):
            what = f"{letter}[{','.join(map(str, index))}]"
            if index in expected:
                assert agree(evaluate_letter(name, what, method), expected[index]), what
            elif quantity.is_matrix:
                assert largest(evaluate_letter(name, what, method)) == 0, what
        assert set(layout(mechanism_named(name), method, letter).blocks) <= set(expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_quantity_consists_of_its_blocks_and_a_block_of_its_entries(name: str) -> None:
    with BALLS.working():
        for method in methods_with_quantities():
            for letter, quantity in methods.find(method).quantities.items():
                if (
                    not quantity.is_matrix
                    or not quantity.indices
                    or not has_letter(name, method, letter)
                ):
                    continue
                whole, n = evaluate_letter(name, letter, method), mechanism_named(name).nv
                for index in ((0,) * len(quantity.indices), (n - 1,) * len(quantity.indices)):
                    what = f"{letter}[{','.join(map(str, index))}]"
                    block = evaluate_letter(name, what, method)
                    height, width = block.shape
                    assert agree(
                        block, whole[:height, :width] if index[0] == 0 else whole[-height:, -width:]
                    ), what
                    if block.size > 1:
                        r, c = block.shape[0] - 1, block.shape[1] - 1
                        assert agree(
                            evaluate_letter(name, f"{what}[{r},{c}]", method), block[r:, c:]
                        ), what


# -- identities of the papers ----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_saha_u_d_u_transposed_equals_the_mass_matrix(name: str) -> None:
    """(21); E_2 … E_n M = L_2 = D Uᵀ (17)-(20); M = (T_l T_d)ᵀ diag(M_i) T_l T_d (10), T = T_l T_d
    (8).
    """
    here, n = seen_robot(name), mechanism_named(name).nv
    U, D, L2, T, T_l, T_d = (
        evaluate_letter(name, letter, "udut") for letter in ("U", "D", "L2", "T", "T_l", "T_d")
    )
    with BALLS.working():
        assert agree(U @ D @ U.T, here.M)
        left = here.M
        for k in reversed(range(1, n)):
            left = evaluate_letter(name, f"E[{k}]", "udut") @ left
        assert agree(left, L2)
        assert agree(D @ U.T, L2)
        assert agree(T_l @ T_d, T)
        mass = np.array(np.zeros((6 * n, 6 * n), dtype=int), dtype=object)
        for i in range(n):
            mass[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = here.inertia(i, here.c)
        assert agree(T.T @ mass @ T, here.M)


@pytest.mark.parametrize("name", NAMES)
def test_rodriguez_innovations_factorization_of_the_mass_matrix_holds(name: str) -> None:
    """Hᵀ P H = D (4.6), M = (1 + HΦL) D (1 + HΦL)ᵀ (4.11), M (1 − HΨL)ᵀ = (1 + HΦL) D (4.14),
    (4.16).
    """
    here, n = seen_robot(name), mechanism_named(name).nv
    H, P, D, L, phi, psi = (
        evaluate_letter(name, letter, "riccati") for letter in ("H", "P", "D", "L", "phi", "psi")
    )
    identity = np.array(np.eye(n, dtype=int), dtype=object)
    with BALLS.working():
        assert agree(H @ P @ H.T, D)

        def gain_matrix(transition: Array) -> Array:
            """Return H Φ L: column j carries the gain of link j from its parent to every link i."""
            product = 0 * identity
            for j, p in enumerate(here.parent):
                if p >= 0:
                    product[:, j] = (
                        H
                        @ transition[:, 6 * p : 6 * p + 6]
                        @ evaluate_letter(name, f"L[{j}]", "riccati")
                    )[:, 0]
            return product

        causal, whitening = identity + gain_matrix(phi), identity - gain_matrix(psi)
        assert agree(causal @ D @ causal.T, here.M)
        assert agree(whitening @ causal, identity)  # (4.14)
        assert agree(here.M @ whitening.T, causal @ D)
    assert L.shape == (6 * n, n)


@pytest.mark.parametrize("name", NAMES)
def test_the_schur_complement_of_the_cut_chain_inverts_the_mass_matrix(name: str) -> None:
    """Lee and Chirikjian (12) and det M = det G det H_bb (8); W is orthonormal and orthogonal to
    joint motion.
    """
    here = seen_robot(name)
    for method in ("constraint_force", "fixman"):
        if not has_letter(name, method, "H_bb"):
            continue
        aa, ab, bb = (evaluate_letter(name, letter, method) for letter in ("H_aa", "H_ab", "H_bb"))
        with BALLS.working():
            identity = np.array(np.eye(len(aa), dtype=int), dtype=object)
            assert agree((aa - ab @ BALLS.solve(bb, ab.T)) @ here.M, identity)
            if method == "fixman":
                det = evaluate_letter(name, "det_G", method)[0, 0] * BALLS.determinant(bb)
                assert largest(det - BALLS.determinant(here.M)) <= DIGITS * (1 + largest(det))
                continue
            W_a, W, H = (
                evaluate_letter(name, "W_a", method),
                evaluate_letter(name, "W", method),
                evaluate_letter(name, "H", "riccati"),
            )
            assert agree(W.T @ W, np.array(np.eye(5 * len(aa), dtype=int), dtype=object))
            assert agree(W_a.T @ H.T, identity)
            assert largest(W.T @ H.T) <= DIGITS


@pytest.mark.parametrize("name", ["planar_point_mass", "points", "points_flipped"])
def test_lee_and_chirikjian_blocks_invert_the_mass_matrix(name: str) -> None:
    """Identities of Lee and Chirikjian with the reference's ∂x/∂θ.

    ∂θ/∂x inverts it and ∂L/∂x annihilates it; H = Σ (1/m) ∂q ∂qᵀ (23), and the Schur complement
    of H on θ is M⁻¹ (12).
    """
    mechanism = mechanism_named(name)
    n = mechanism.nv
    states_of_one = (
        states(name, 1, BALLS)
        if name == "planar_point_mass"
        else {x: y[None] for x, y in seen_robot(name).state.items()}
    )
    here = Seen(mechanism, {x: states_of_one[x][0] for x in ("q", "v", "a")})
    state = {"q": here.state["q"]}
    dtheta, dL, tt, tL, LL = (
        numbers(mechanism, letter, "fixman", state)
        for letter in ("dtheta_dx", "dL_dx", "H_theta_theta", "H_theta_L", "H_L_L")
    )
    with BALLS.working():
        plane = here.reference.poses[0][0]  # axes of the plane in which the chain moves
        dx = []
        for i in range(n):
            jv = here.R[i] @ here.jacobian(i, here.c)[3:]
            dx.append((plane.T @ jv)[:2])
        slope = np.vstack(dx)  # ∂x/∂θ, 2n x n
        identity = np.array(np.eye(n, dtype=int), dtype=object)
        assert agree(dtheta @ slope, identity)
        assert largest(dL @ slope) <= DIGITS
        w = np.repeat(
            [
                1 / sum(part.mass for part in here.reference.parts() if part.body == i)
                for i in range(n)
            ],
            2,
        )
        assert agree(dtheta * w @ dtheta.T, tt)
        assert agree(dtheta * w @ dL.T, tL)
        assert agree(dL * w @ dL.T, LL)
        assert agree(inverse(here.M), tt - tL @ BALLS.solve(LL, tL.T))
        printed = numbers(mechanism, "dtheta_dx_printed", "fixman", state)
        assert agree(
            printed @ slope, identity
        )  # (21) with its last term corrected also gives ∂θ/∂θ = 1
        assert largest(printed - dtheta) > 1e-3  # yet differs from the rows of (∂x/∂q)⁻¹
        assert agree(
            inverse(here.M),
            printed * w @ printed.T - printed * w @ dL.T @ BALLS.solve(LL, dL * w @ printed.T),
        )
        far = [(i, j) for i in range(n) for j in range(n) if abs(i - j) > 2]
        assert all(largest(tt[i, j]) == 0 for i, j in far)  # pentadiagonal


def test_length_constraints_of_a_point_mass_chain_couple_only_neighbours() -> None:
    """For unit masses H_LL has 1 + 1 on its diagonal and −cos θ beside it."""
    q = sp.symbols("q0:6", real=True)
    H = symgen.inspect("planar_point_mass", "H_L_L")
    assert [H[i, i] for i in range(6)] == [1, 2, 2, 2, 2, 2]
    assert [H[i, i + 1] for i in range(5)] == [-sp.cos(x) for x in q[1:]]


@pytest.mark.parametrize(
    "what", ["P[1]", "psi[0,2]", "Mhat[0][2,3]", "alpha[0,2]", "H_theta_theta[1,2]"]
)
def test_closed_and_recursive_forms_give_equal_numbers(what: str) -> None:
    name = "planar_point_mass:3" if "theta" in what else "scara"
    state = {s: sp.Rational(3 + i, 7) for i, s in enumerate(sp.symbols("q0:4", real=True))}
    closed = sp.Matrix([symgen.inspect(name, what)]).subs(state)
    recursive = symgen.inspect(name, what, form="recursive")
    values: dict[Any, Any] = dict(state)
    for symbol, expression in recursive.named:
        assert expression.free_symbols <= set(values)
        values[symbol] = expression.subs(values)
    assert float((sp.Matrix([recursive.value]).subs(values) - closed).norm()) < 1e-13
