"""Joints of several degrees cut as those of one are: n columns of W_a, 6 − n of W, and FF's and WC's factorizations with them.

Exact where that can be: trees of quarter turns at rational unit quaternions and half-angle tangents, where M x = b and det M must
hold to the last digit. The letters are held to the reference's poses in balls, on trees with axes anyhow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import flint
import numpy as np
import pytest
import sympy as sp

import symgen
from symgen import methods
from symgen.derivation import constants
from symgen.derivation.closed_forms import constraint_subspace, joint_form
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import declared
from symgen.derivation.scalars import Derivation
from symgen.ir.program import Numbers, evaluate
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.fixman.spatial import directions
from symgen.pipeline import choose
from symgen.reference.precision import Array
from symgen.reference.states import draw_states
from symgen.support.errors import RequestError
from symgen.verification import floating
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import Z_AXIS
from tests.shared.inspected import Seen, numbers
from tests.shared.robots_for_tests import BALLS, largest, random_mechanism, robot

DIGITS = 1e-45
"""Constants behind roots and sines carry 64 digits."""
TREES = (
    ("free", "spherical", "revolute"),
    ("spherical", "planar", "cylindrical"),
    ("free", "free"),
    ("cylindrical", "free", "helical"),
)
WAYS = ("constraint_force", "constraint_force:parallel", "fixman:spatial")


@cache
def tree(of: Sequence[str], general: bool) -> Mechanism:
    """Two joints on the first link, if there are three."""
    made = random_mechanism(len(of), seed=len(of[0]), general=general)
    joints = tuple(
        replace(
            joint,
            kind=kind,
            axis=joint.axis if joint_type(kind).directed else Z_AXIS,
            parent=min(i, 1) - 1,
            parameters=tuple((p.name, Fraction(1, 7)) for p in joint_type(kind).parameters),
        )
        for i, (joint, kind) in enumerate(zip(made.joints, of, strict=True))
    )
    return replace(made, joints=joints, name="_".join(of))


# -- what a joint allows and forbids ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", kinds())
def test_w_is_orthonormal_does_no_work_and_is_of_unit_vectors_unless_the_joint_winds(
    kind: str,
) -> None:
    H, (W_a, W) = joint_form(kind).motion_subspace, constraint_subspace(kind)
    assert (W_a.shape, W.shape) == ((6, joint_type(kind).nv), (6, 6 - joint_type(kind).nv))
    assert (W.T * W).applyfunc(sp.simplify) == sp.eye(W.cols)
    assert (W.T * H).applyfunc(sp.simplify).is_zero_matrix
    assert (W_a.T * H).applyfunc(sp.simplify) == sp.eye(H.cols)
    assert directions(kind) == (W_a.T, W.T)
    if not joint_type(kind).parameters:
        assert [sorted(W[:, c]) for c in range(W.cols)] == [[0, 0, 0, 0, 0, 1]] * W.cols
        assert H.T.tolist() == W_a.T.tolist()


# -- exactly ---------------------------------------------------------------------------------------------------------------


def exactly(
    mechanism: Mechanism, function: str, method: str, given: dict[str, list[Fraction]]
) -> list[Fraction]:
    """A program in the declared frames; an angle stands for the tangent of its half."""
    spec = FUNCTIONS[function]
    with constants.precision():
        shapes = {a.name: a.sizes(mechanism.sizes) for a in spec.arguments}
        home = Derivation({name: shape[0] for name, shape in shapes.items()})
        (atoms,) = methods.derivation(method, function)(Linkage(declared(mechanism), home))
        result = spec.results[0]
        program = home.freeze(
            function, method, [(result.name, result.sizes(mechanism.sizes), atoms)], shapes
        )
    field = Numbers(
        Fraction,
        lambda t: 2 * t / (1 + t * t),
        lambda t: (1 - t * t) / (1 + t * t),
        no_root,
        no_root,
    )
    return list(evaluate(program, {name: given[name] for name in shapes}, field)[result.name])


def no_root(x: Any) -> Any:
    raise AssertionError("a square root or a logarithm")


EXACT = tuple(of for of in TREES if "helical" not in of)  # W of a joint that winds has a root in it


@pytest.mark.parametrize("method", WAYS)
@pytest.mark.parametrize("of", EXACT, ids="_".join)
def test_the_bridge_in_exact_rationals(of: tuple[str, ...], method: str) -> None:
    """M x = b, M M⁻¹ = 1 and det M with nothing rounded, LC (8), (12)."""
    made = tree(of, False)
    state = {
        name: [Fraction(x) for x in values[0]]
        for name, values in draw_states(made, 1).items()
        if name in ("q", "b")
    }
    n = made.nv

    def matrix(entries: list[Fraction]) -> Any:
        return flint.fmpq_mat(n, len(entries) // n, [constants.rational(x) for x in entries])

    M = matrix(exactly(made, "mass_matrix", "composite_body", state))
    one = matrix([Fraction(i == j) for i in range(n) for j in range(n)])
    assert M * matrix(exactly(made, "mass_matrix_solve", method, state)) == matrix(state["b"])
    assert M * matrix(exactly(made, "inverse_mass_matrix", method, state)) == one
    (det,) = exactly(made, "mass_matrix_determinant", method, state)
    assert constants.rational(det) == M.det()


# -- the letters -----------------------------------------------------------------------------------------------------------


def close(found: Array, expected: Array) -> bool:
    return found.shape == expected.shape and largest(found - expected) <= DIGITS * (
        1 + largest(expected)
    )


def unit(n: int) -> Array:
    return np.array(np.eye(n, dtype=int), dtype=object)


@pytest.mark.parametrize("of", [of for of in TREES if of != ("free", "free")], ids="_".join)
def test_the_factorization_is_the_reference_s(of: tuple[str, ...]) -> None:
    """𝓐 and I⁻¹, W_a and W against H, H_aa, H_ab, H_bb as their products, the Schur complement against M, det G · det H_bb."""
    made = tree(of, True)
    drawn = draw_states(made, 1)
    here = Seen(made, {name: BALLS.array(drawn[name][0]) for name in ("q", "v", "a")})

    def letter(what: str, method: str = "constraint_force") -> Array:
        return numbers(made, what, method, {"q": here.state["q"]})

    W_a, W, H = letter("W_a"), letter("W"), letter("H", "riccati")
    with BALLS.working():
        assert close(letter("A"), here.A)
        for i in range(here.n):
            assert close(letter(f"I_inv[{i}]") @ here.inertia(i), unit(6))
            across = np.vstack([W_a[6 * i : 6 * i + 6, made.v_slices[i]].T, _own(made, W, i).T])
            assert close(letter(f"dq_dxi[{i},{i}]", "fixman"), across)
        assert close(W.T @ W, unit(6 * here.n - made.nv))
        assert close(W_a.T @ H.T, unit(made.nv))
        assert largest(W.T @ H.T) <= DIGITS
        for method in ("constraint_force", "fixman"):
            aa, ab, bb = (letter(name, method) for name in ("H_aa", "H_ab", "H_bb"))
            assert close(aa, W_a.T @ here.A @ W_a)
            assert close(ab, W_a.T @ here.A @ W)
            assert close(bb, W.T @ here.A @ W)
            assert close((aa - ab @ BALLS.solve(bb, ab.T)) @ here.M, unit(made.nv))
        det = letter("det_G", "fixman")[0, 0] * BALLS.determinant(letter("H_bb", "fixman"))
        assert largest(det - BALLS.determinant(here.M)) <= DIGITS * (1 + largest(det))


def _own(made: Mechanism, W: Array, i: int) -> Array:
    """W_i of diag(W_i)."""
    first = sum(6 - joint.type.nv for joint in made.joints[:i])
    return W[6 * i : 6 * i + 6, first : first + 6 - made.joints[i].type.nv]


# -- what is free ----------------------------------------------------------------------------------------------------------


def test_free_bodies_are_held_by_nothing() -> None:
    """M⁻¹ is H_aa; letters without entries say why."""
    made = tree(("free", "free"), True)
    drawn = draw_states(made, 1)
    here = Seen(made, {name: BALLS.array(drawn[name][0]) for name in ("q", "v", "a")})
    with BALLS.working():
        for method in ("constraint_force", "fixman"):
            assert close(numbers(made, "H_aa", method, {"q": here.state["q"]}) @ here.M, unit(12))
    for what in ("H_bb", "H_ab[0,1]", "W", "W[1]"):
        with pytest.raises(
            RequestError, match=r"of 'free_free' is empty: .*, and a free joint constrains none"
        ):
            symgen.inspect(made, what, method="constraint_force")
    with pytest.raises(RequestError, match=r"^H_bb\[0,1\] of 'free_spherical_revolute' is empty"):
        symgen.inspect(tree(TREES[0], True), "H_bb[0,1]", method="fixman:spatial")


def thin() -> Mechanism:
    """A free body that turns about one line ten thousand times more easily than across it; the line is no axis of its frame."""
    body = robot("free_body").bodies[0]
    part = replace(
        body.parts[0], moments=tuple(map(Fraction, ("1", "9999/10000", "0", "1", "0", "1")))
    )
    return replace(robot("free_body"), name="thin", bodies=(replace(body, parts=(part,)),))


@pytest.mark.parametrize("method", ["constraint_force", "fixman:spatial"])
def test_a_rounded_inverse_loses_digits_of_a_thin_body_and_symgen_knows(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M⁻¹ b leaves a residual that no elimination leaves: it is not judged, and the default is another method then."""
    asked = [f"mass_matrix_solve={method}"]
    (check,) = symgen.verify(thin(), asked, states=50, real="float", compiled=False).of("floating")
    assert (check.verdict, check.lost) == ("not judged", True)
    assert symgen.program(thin(), "mass_matrix_solve", real="float").method != method
    assert symgen.program(thin(), "mass_matrix_solve").method == "constraint_force"
    monkeypatch.setattr(choose, "term_ratio", lambda *_: 1.0)
    monkeypatch.setattr(floating, "term_ratio", lambda *_: 1.0)
    (check,) = symgen.verify(thin(), asked, states=50, real="float", compiled=False).of("floating")
    assert check.verdict == "failed"  # what it would be called without


def test_a_free_body_is_solved_by_the_inverse_of_its_inertia() -> None:
    """The fewest operations of all methods, with no elimination: 40 against 62."""
    found = {
        method: symgen.program("free_body", "mass_matrix_solve", method).cost
        for method in choose.methods_for(robot("free_body"), "mass_matrix_solve")
    }
    assert min(found, key=lambda method: found[method]) == "constraint_force"
    assert found["constraint_force"] < 2 / 3 * found["riccati"]
