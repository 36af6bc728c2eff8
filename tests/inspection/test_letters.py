"""Every letter of every method against the reference's poses and M, in balls; then what the papers say of them together."""

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
"""Constants behind roots and sines carry 64 digits."""
BY_IDENTITY = {("constraint_force", "W"), ("constraint_force", "W_a"), ("fixman", "det_G")} | {
    ("fixman", letter)
    for letter in ("dtheta_dx", "dtheta_dx_printed", "dL_dx", "H_theta_theta", "H_theta_L", "H_L_L")
}


@cache
def made(name: str) -> Mechanism:
    return points(name) if name.startswith("points") else robot(name)


def points(name: str) -> Mechanism:
    """A planar chain of point masses of many lengths and masses, some off the x axis, axes up and down, the plane tilted."""
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
def seen(name: str) -> Seen:
    given = (
        states(name, 1, BALLS)
        if not name.startswith("points")
        else {
            x: BALLS.array([[Fraction(3 + 5 * i + k, 7) for i in range(4)]])
            for k, x in enumerate("qva")
        }
    )
    return Seen(made(name), {x: given[x][0] for x in ("q", "v", "a")})


def value(name: str, what: str, method: str) -> Array:
    quantity = methods.find(method).quantities[what.split("[")[0]]
    return numbers(made(name), what, method, {x: seen(name).state[x] for x in quantity.inputs})


def close(found: Array, expected: Array) -> bool:
    return found.shape == expected.shape and largest(found - expected) <= DIGITS * (
        1 + largest(expected)
    )


def have(name: str, method: str, letter: str) -> bool:
    return refusal_reason(made(name), method, methods.find(method).quantities[letter]) is None


def test_every_letter_of_every_method_has_an_oracle_or_an_identity() -> None:
    assert set(EXPECTED) | BY_IDENTITY == {
        (method, letter)
        for method in methods_with_quantities()
        for letter, one in methods.find(method).quantities.items()
        if not one.of_loops
    }


@pytest.mark.parametrize(("method", "letter"), sorted(EXPECTED))
@pytest.mark.parametrize("name", NAMES)
def test_every_block_is_what_its_letter_stands_for(name: str, method: str, letter: str) -> None:
    if not have(name, method, letter):
        with pytest.raises(RequestError):
            symgen.inspect(made(name), letter, method=method)
        return
    quantity, n = methods.find(method).quantities[letter], made(name).nv
    with BALLS.working():
        expected = EXPECTED[method, letter](seen(name))
        for index in np.ndindex(*(n,) * len(quantity.indices)):
            what = f"{letter}[{','.join(map(str, index))}]"
            if index in expected:
                assert close(value(name, what, method), expected[index]), what
            elif quantity.whole:
                assert largest(value(name, what, method)) == 0, what
        assert set(layout(made(name), method, letter).blocks) <= set(expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_is_its_blocks_and_an_entry_is_one_of_a_block(name: str) -> None:
    with BALLS.working():
        for method in methods_with_quantities():
            for letter, quantity in methods.find(method).quantities.items():
                if not quantity.whole or not quantity.indices or not have(name, method, letter):
                    continue
                whole, n = value(name, letter, method), made(name).nv
                for index in ((0,) * len(quantity.indices), (n - 1,) * len(quantity.indices)):
                    what = f"{letter}[{','.join(map(str, index))}]"
                    block = value(name, what, method)
                    height, width = block.shape
                    assert close(
                        block, whole[:height, :width] if index[0] == 0 else whole[-height:, -width:]
                    ), what
                    if block.size > 1:
                        r, c = block.shape[0] - 1, block.shape[1] - 1
                        assert close(value(name, f"{what}[{r},{c}]", method), block[r:, c:]), what


# -- what the papers say ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_saha_u_d_u_transposed_is_the_mass_matrix(name: str) -> None:
    """(21); E_2 … E_n M = L_2 = D Uᵀ (17)-(20); M = (T_l T_d)ᵀ diag(M_i) T_l T_d (10), T = T_l T_d (8)."""
    here, n = seen(name), made(name).nv
    U, D, L2, T, T_l, T_d = (
        value(name, letter, "udut") for letter in ("U", "D", "L2", "T", "T_l", "T_d")
    )
    with BALLS.working():
        assert close(U @ D @ U.T, here.M)
        left = here.M
        for k in reversed(range(1, n)):
            left = value(name, f"E[{k}]", "udut") @ left
        assert close(left, L2)
        assert close(D @ U.T, L2)
        assert close(T_l @ T_d, T)
        mass = np.array(np.zeros((6 * n, 6 * n), dtype=int), dtype=object)
        for i in range(n):
            mass[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = here.inertia(i, here.c)
        assert close(T.T @ mass @ T, here.M)


@pytest.mark.parametrize("name", NAMES)
def test_rodriguez_innovations_factorization(name: str) -> None:
    """Hᵀ P H = D (4.6), M = (1 + HΦL) D (1 + HΦL)ᵀ (4.11), M (1 − HΨL)ᵀ = (1 + HΦL) D (4.14), (4.16)."""
    here, n = seen(name), made(name).nv
    H, P, D, L, phi, psi = (
        value(name, letter, "riccati") for letter in ("H", "P", "D", "L", "phi", "psi")
    )
    one = np.array(np.eye(n, dtype=int), dtype=object)
    with BALLS.working():
        assert close(H @ P @ H.T, D)

        def over(transition: Array) -> Array:
            """H Φ L: the gain of link j on its parent, carried to link i."""
            out = 0 * one
            for j, p in enumerate(here.parent):
                if p >= 0:
                    out[:, j] = (
                        H @ transition[:, 6 * p : 6 * p + 6] @ value(name, f"L[{j}]", "riccati")
                    )[:, 0]
            return out

        causal, whitening = one + over(phi), one - over(psi)
        assert close(causal @ D @ causal.T, here.M)
        assert close(whitening @ causal, one)  # (4.14)
        assert close(here.M @ whitening.T, causal @ D)
    assert L.shape == (6 * n, n)


@pytest.mark.parametrize("name", NAMES)
def test_the_schur_complement_of_the_cut_chain_is_the_inverse(name: str) -> None:
    """LC (12) with FF's and with WC's blocks, det M = det G det H_bb (8); W is orthonormal and across the joint's motion."""
    here = seen(name)
    for method in ("constraint_force", "fixman"):
        if not have(name, method, "H_bb"):
            continue
        aa, ab, bb = (value(name, letter, method) for letter in ("H_aa", "H_ab", "H_bb"))
        with BALLS.working():
            one = np.array(np.eye(len(aa), dtype=int), dtype=object)
            assert close((aa - ab @ BALLS.solve(bb, ab.T)) @ here.M, one)
            if method == "fixman":
                det = value(name, "det_G", method)[0, 0] * BALLS.determinant(bb)
                assert largest(det - BALLS.determinant(here.M)) <= DIGITS * (1 + largest(det))
                continue
            W_a, W, H = (
                value(name, "W_a", method),
                value(name, "W", method),
                value(name, "H", "riccati"),
            )
            assert close(W.T @ W, np.array(np.eye(5 * len(aa), dtype=int), dtype=object))
            assert close(W_a.T @ H.T, one)
            assert largest(W.T @ H.T) <= DIGITS


@pytest.mark.parametrize("name", ["planar_point_mass", "points", "points_flipped"])
def test_lee_and_chirikjians_blocks(name: str) -> None:
    """∂θ/∂x and ∂L/∂x undo ∂x/∂θ (the reference's), H = Σ (1/m) ∂q ∂qᵀ (23), its Schur complement on θ is M⁻¹ (12)."""
    mechanism = made(name)
    n = mechanism.nv
    given = (
        states(name, 1, BALLS)
        if name == "planar_point_mass"
        else {x: y[None] for x, y in seen(name).state.items()}
    )
    here = Seen(mechanism, {x: given[x][0] for x in ("q", "v", "a")})
    state = {"q": here.state["q"]}
    dtheta, dL, tt, tL, LL = (
        numbers(mechanism, letter, "fixman", state)
        for letter in ("dtheta_dx", "dL_dx", "H_theta_theta", "H_theta_L", "H_L_L")
    )
    with BALLS.working():
        plane = here.reference.poses[0][0]  # the axes that joint 0 turns in
        dx = []
        for i in range(n):
            jv = here.R[i] @ here.jacobian(i, here.c)[3:]
            dx.append((plane.T @ jv)[:2])
        slope = np.vstack(dx)  # ∂x/∂θ, 2n x n
        one = np.array(np.eye(n, dtype=int), dtype=object)
        assert close(dtheta @ slope, one)
        assert largest(dL @ slope) <= DIGITS
        w = np.repeat(
            [
                1 / sum(part.mass for part in here.reference.parts() if part.body == i)
                for i in range(n)
            ],
            2,
        )
        assert close(dtheta * w @ dtheta.T, tt)
        assert close(dtheta * w @ dL.T, tL)
        assert close(dL * w @ dL.T, LL)
        assert close(inverse(here.M), tt - tL @ BALLS.solve(LL, tL.T))
        printed = numbers(mechanism, "dtheta_dx_printed", "fixman", state)
        assert close(printed @ slope, one)  # LC (21), its last term corrected: ∂θ/∂θ all the same
        assert largest(printed - dtheta) > 1e-3  # but not the rows of (∂x/∂q)⁻¹
        assert close(
            inverse(here.M),
            printed * w @ printed.T - printed * w @ dL.T @ BALLS.solve(LL, dL * w @ printed.T),
        )
        far = [(i, j) for i in range(n) for j in range(n) if abs(i - j) > 2]
        assert all(largest(tt[i, j]) == 0 for i, j in far)  # pentadiagonal


def test_a_point_of_the_chain_moves_with_its_own_link_alone() -> None:
    """The paper's textbook case: H_LL is 1 + 1 on the diagonal and −cos θ beside it, H_θL is −sin θ above it."""
    q = sp.symbols("q0:6", real=True)
    H = symgen.inspect("planar_point_mass", "H_L_L")
    assert [H[i, i] for i in range(6)] == [1, 2, 2, 2, 2, 2]
    assert [H[i, i + 1] for i in range(5)] == [-sp.cos(x) for x in q[1:]]


@pytest.mark.parametrize(
    "what", ["P[1]", "psi[0,2]", "Mhat[0][2,3]", "alpha[0,2]", "H_theta_theta[1,2]"]
)
def test_closed_and_recursive_forms_are_the_same_numbers(what: str) -> None:
    name = "planar_point_mass:3" if "theta" in what else "scara"
    state = {s: sp.Rational(3 + i, 7) for i, s in enumerate(sp.symbols("q0:4", real=True))}
    closed = sp.Matrix([symgen.inspect(name, what)]).subs(state)
    made = symgen.inspect(name, what, form="recursive")
    known: dict[Any, Any] = dict(state)
    for symbol, expression in made.named:
        assert expression.free_symbols <= set(known)
        known[symbol] = expression.subs(known)
    assert float((sp.Matrix([made.value]).subs(known) - closed).norm()) < 1e-13
