"""Closed forms that SymPy derives from declared geometry: p_i, B_ij and H change with it as in Saha
(4).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from random import Random
from types import ModuleType
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

import symgen
from symgen import methods
from symgen.derivation.closed_forms import (
    cross_matrix,
    joint_form,
    joint_vector,
    motion_class,
    motion_subspace,
    riccati_form,
    twist_transport,
    vee,
)
from symgen.ir.program import Numbers, evaluate
from symgen.mechanism import joints
from symgen.mechanism.mechanism import Body, Joint, Mechanism, Part
from symgen.pipeline import derive
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from symgen.support.errors import RequestError
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import X_AXIS, Angle, Shift, Turn
from tests.shared.robots_for_tests import (
    ONE_DEGREE,
    PAIRS,
    TELLING,
    of_kind,
    random_mechanism,
    rationals,
    robot,
)

EXISTING, KINDS = joints.kinds(), ONE_DEGREE


@pytest.fixture
def screw() -> Iterator[str]:
    """Add a joint type for one test: a screw about z that advances 3/10 m per radian."""

    def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[sp.Matrix, sp.Matrix]:
        rotation, _ = joints.joint_type("revolute").pose(q, p)
        return rotation, sp.Matrix([0, 0, sp.Rational(3, 10) * q[0]])

    module = ModuleType("symgen.mechanism.joints.screw")
    module.__dict__["JOINT"] = replace(
        joints.joint_type("revolute"),
        pose=pose,
        elementary_motions=lambda p: (joints.Turning(0), joints.Sliding(0, Fraction(3, 10))),
    )
    sys.modules[module.__name__] = module
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joints, "kinds", lambda: (*EXISTING, "screw"))
        for cached in (joints.joint_type, joint_form, riccati_form, motion_class):
            cached.cache_clear()
        yield "screw"
    del sys.modules[module.__name__]
    for cached in (joints.joint_type, joint_form, riccati_form, motion_class):
        cached.cache_clear()


def parameter_values(kind: str) -> dict[Any, sp.Expr]:
    """Return test values for the parameters of a joint type."""
    return {
        symbol: sp.Rational(3 + i, 10)
        for i, symbol in enumerate(joint_form(kind).parameters.values())
    }


def exact(v: object) -> sp.Matrix:
    return sp.Matrix(
        [sp.Rational(x.numerator, x.denominator) for x in v]  # type: ignore[attr-defined]
    )


# -- joints ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_motion_subspace_is_the_numeric_derivative_of_the_pose(kind: str) -> None:
    form, values = joint_form(kind), parameter_values(kind)
    rotation, shift = (
        sp.lambdify(form.q[0], m.subs(values), "mpmath") for m in (form.rotation, form.shift)
    )
    H = form.motion_subspace.subs(values)
    assert H.shape == (6, 1)
    assert not H.free_symbols  # constant for a joint of one coordinate
    with mpmath.workdps(60):
        h = mpmath.mpf("1e-20")
        for at in (mpmath.mpf("0.7"), mpmath.mpf("-2.1")):
            inverse = rotation(at).T
            spin = inverse * (rotation(at + h) - rotation(at - h)) / (2 * h)
            slide = inverse * (shift(at + h) - shift(at - h)) / (2 * h)
            twist = [spin[2, 1], spin[0, 2], spin[1, 0], *slide]
            off = max(abs(x - mpmath.mpf(y.p) / y.q) for x, y in zip(twist, H, strict=True))
            assert off < 1e-35  # h² of a third derivative below 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_joint_starts_at_rest_with_a_rotation(kind: str) -> None:
    form = joint_form(kind)
    still = dict.fromkeys(form.q, 0)
    assert form.rotation.subs(still) == sp.eye(3)
    assert form.shift.subs(still) == sp.zeros(3, 1)
    assert (form.rotation.T * form.rotation).applyfunc(sp.trigsimp) == sp.eye(3)


def parameters_without_effect(columns: sp.Matrix) -> int:
    """Return the dimension of the pseudo-inertias J with ξ̂ J = 0 for each column ξ."""
    products = []
    for i, j in combinations_with_replacement(range(4), 2):
        J = np.zeros((4, 4))
        J[i, j] = J[j, i] = 1
        products.append([])
        for column in np.array(columns, dtype=float).T:
            twist = np.zeros((4, 4))
            twist[:3, :3] = np.cross(np.eye(3), column[:3])  # of ω, row by row
            twist[:3, 3] = column[3:]
            products[-1].append(twist @ J)
    matrix = np.reshape(products, (len(products), -1))
    return len(products) - int(np.linalg.matrix_rank(matrix))


@pytest.mark.parametrize("kind", [kind for kind in EXISTING if kind != "free"])
def test_the_class_of_a_motion_states_how_many_inertial_parameters_have_no_effect(
    kind: str,
) -> None:
    """Three parameters (m, h_z and Σ_zz) have no effect on a rotation about z, one (m) on a
    rotation about a point, and six (the second moments) on a translation. The other class is that
    of joints that rotate and translate.
    """
    H = joint_form(kind).motion_subspace.subs(parameter_values(kind))
    expected = {"turn": 3, "ball": 1, "slide": 6}
    if motion_class(kind) in expected:
        assert parameters_without_effect(H) == expected[motion_class(kind)]
    else:
        assert not H[:3, :].is_zero_matrix
        assert not H[3:, :].is_zero_matrix


def test_motion_subspaces_of_declared_types_equal_their_definitions() -> None:
    assert (
        list(joint_form("revolute").motion_subspace)
        == list(joint_form("continuous").motion_subspace)
        == [0, 0, 1, 0, 0, 0]
    )
    assert list(joint_form("prismatic").motion_subspace) == [0, 0, 0, 0, 0, 1]
    assert list(joint_form("helical").motion_subspace) == [
        0,
        0,
        1,
        0,
        0,
        joint_form("helical").parameters["pitch"],
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_motion_of_a_joint_equals_its_pose(kind: str) -> None:
    """A joint declares its motion twice, for the reference and for the derivation; both agree."""
    form, values = joint_form(kind), parameter_values(kind)
    rotation, shift = sp.eye(3), sp.zeros(3, 1)
    named = {
        name: Fraction(int(values[symbol].p), int(values[symbol].q))
        for name, symbol in form.parameters.items()
    }
    for step in joints.joint_type(kind).elementary_motions(named):
        value = sp.Rational(step.rate.numerator, step.rate.denominator) * form.q[step.of]
        if isinstance(step, joints.Turning):
            rotation = rotation * sp.Matrix(
                [[sp.cos(value), -sp.sin(value), 0], [sp.sin(value), sp.cos(value), 0], [0, 0, 1]]
            )
        else:
            shift = shift + rotation * sp.Matrix([0, 0, value])
    assert rotation == form.rotation.subs(values)
    assert shift == form.shift.subs(values)
    assert joints.joint_type(kind).turns == (form.rotation != sp.eye(3))


def test_a_new_pose_gives_a_new_motion_subspace(screw: str) -> None:
    assert list(joint_form(screw).motion_subspace) == [0, 0, 1, 0, 0, sp.Rational(3, 10)]
    p = joint_vector(joint_form(screw).motion_subspace, sp.symbols("x y z"))
    x, y = sp.symbols("x y")
    assert list(p) == [0, 0, 1, -y, x, sp.Rational(3, 10)]
    P, h = riccati_form(screw).P, sp.Rational(3, 10)
    assert sp.expand(riccati_form(screw).D - (P[2, 2] + 2 * h * P[2, 5] + h * h * P[5, 5])) == 0
    with pytest.raises(RequestError, match=r"there are:.*screw"):
        joints.joint_type("scrue")


@pytest.mark.parametrize("method", methods.providers("mass_matrix"))
def test_a_new_joint_type_carries_through_to_the_mass_matrix(screw: str, method: str) -> None:
    """A screw of 3/10 m per radian carries two bodies: M[0,0] = I + (m1 + m2) h² at q2 = 0."""
    F = Fraction
    bodies = (
        Body("nut", (Part("nut", (), F(2), (F(1), F(0), F(0), F(1), F(0), F(5, 2))),)),
        Body(
            "arm",
            (
                Part(
                    "arm",
                    (Shift((F(1, 2), F(0), F(1, 5))),),
                    F(3),
                    (F(1), F(0), F(0), F(1), F(0), F(1)),
                ),
            ),
        ),
    )
    axis = (F(0), F(0), F(1))
    robot = Mechanism(
        "press", (Joint("s", screw, -1, (), axis), Joint("r", "revolute", 0, (), axis)), bodies
    )
    program = derive.derive(robot, "mass_matrix", method, ProgramOptions())
    mass_matrix = evaluate(
        program, {"q": [0.4, 0.0]}, Numbers(float, math.sin, math.cos, math.sqrt, math.log)
    )["M"]
    arm = 1 + 3 * 0.25
    assert mass_matrix == pytest.approx([2.5 + arm + 5 * 0.09, arm, arm, arm], rel=1e-14)


def test_a_general_displacement_has_its_motion_subspace() -> None:
    """Rotation about x with translation along the rotated y: the twist is in axes of the moved
    frame.
    """
    q = sp.Symbol("q", real=True)
    rotation = sp.Matrix([[1, 0, 0], [0, sp.cos(q), -sp.sin(q)], [0, sp.sin(q), sp.cos(q)]])
    assert list(motion_subspace(rotation, rotation * sp.Matrix([0, q, 0]), q)) == [1, 0, 0, 0, 1, q]


# -- p and B ---------------------------------------------------------------------------------------


def test_twist_transport_equals_sahas_matrix() -> None:
    """B = [[1, 0], [c̃, 1]] of Saha (4)-(5) gives ẋ_i = ẋ_j + ω × (c_i − c_j)."""
    B, c = twist_transport()
    assert B[:3, :3] == B[3:, 3:] == sp.eye(3)
    assert B[:3, 3:] == sp.zeros(3)
    assert B[3:, :3] == cross_matrix(c)
    w, v, z = sp.Matrix(sp.symbols("w:3")), sp.Matrix(sp.symbols("v:3")), sp.zeros(3, 1)
    assert (B * sp.Matrix.vstack(w, v))[3:, 0] == (v - w.cross(sp.Matrix(c))).expand()
    assert cross_matrix(sp.Matrix(c)) * w + z == sp.Matrix(c).cross(w)


def with_centre(
    mechanism: Mechanism, i: int, centre: tuple[Fraction, Fraction, Fraction]
) -> Mechanism:
    part = replace(mechanism.bodies[i].parts[0], pose=(Shift(centre),))
    bodies = tuple(Body(b.name, (part,)) if j == i else b for j, b in enumerate(mechanism.bodies))
    return replace(mechanism, bodies=bodies)


def with_joint(mechanism: Mechanism, i: int, **change: object) -> Mechanism:
    return replace(
        mechanism,
        joints=tuple(replace(j, **change) if n == i else j for n, j in enumerate(mechanism.joints)),
    )  # type: ignore[arg-type]


def centre_of(mechanism: Mechanism, i: int) -> sp.Matrix:
    (part,) = mechanism.bodies[i].parts
    assert all(isinstance(step, Shift) for step in part.pose)
    return exact(np.sum([step.xyz for step in part.pose], axis=0))  # type: ignore[union-attr]


CENTRES = [tuple(rationals(Random(n), 3)) for n in range(3)]


@pytest.mark.parametrize("centre", CENTRES)
@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (0, -2, 0), (3, 0, 4), (1, -2, 2)])
@pytest.mark.parametrize("kind", KINDS)
def test_changing_the_declared_centre_or_axis_changes_p_as_e_cross_d(
    kind: str, axis: tuple[int, int, int], centre: tuple[Fraction, Fraction, Fraction]
) -> None:
    values = tuple(Fraction(x) for x in axis)
    chain = with_centre(random_mechanism(3, seed=8, general=False), 1, centre)
    joint = of_kind(chain.joints[1], kind)
    mechanism = with_joint(chain, 1, kind=kind, axis=values, parameters=joint.parameters)
    e, d = exact(values) / sp.sqrt(exact(values).dot(exact(values))), exact(centre)
    turning, sliding = sp.Integer(0), sp.Integer(0)
    for step in joint.motions:
        rate = sp.Rational(step.rate.numerator, step.rate.denominator)
        turning, sliding = (
            (turning + rate, sliding)
            if isinstance(step, joints.Turning)
            else (turning, sliding + rate)
        )
    expected = sp.Matrix.vstack(turning * e, turning * e.cross(d) + sliding * e)
    assert (symgen.inspect(mechanism, "p[1]") - expected).applyfunc(sp.simplify).is_zero_matrix


def test_p_of_several_parts_is_taken_at_their_common_centre() -> None:
    mechanism = random_mechanism(1, seed=2, general=False)
    (part,) = mechanism.bodies[0].parts
    weighed = list(zip(CENTRES, (1, 2, 5), strict=True))
    parts = tuple(replace(part, pose=(Shift(c),), mass=Fraction(m)) for c, m in weighed)
    d = sum((exact(c) * m for c, m in weighed), sp.zeros(3, 1)) / 8
    e = exact(mechanism.joints[0].axis)
    assert symgen.inspect(
        replace(mechanism, bodies=(Body("b", parts),)), "p[0]"
    ) == sp.Matrix.vstack(e, e.cross(d))


def test_changing_a_mass_centre_changes_b_by_that_displacement() -> None:
    """B_ij = [[1, 0], [(c_j − c_i)×, 1]] in axes of body j; a change of d_i is first rotated by
    q_i.
    """
    mechanism = random_mechanism(3, seed=8, general=False)
    before = symgen.inspect(mechanism, "B[2,1]")
    old = centre_of(mechanism, 1)
    changed = symgen.inspect(with_centre(mechanism, 1, CENTRES[0]), "B[2,1]")
    assert (changed - before)[3:, :3].expand() == cross_matrix(exact(CENTRES[0]) - old)
    assert (changed - before)[:3, :] == sp.zeros(3, 6)
    outer = symgen.inspect(with_centre(mechanism, 2, CENTRES[0]), "B[2,1]")
    difference = (outer - before)[3:, :3]
    assert "q2" in {str(s) for s in difference.free_symbols}
    assert "q1" not in {
        str(s) for s in difference.free_symbols
    }  # body 1's own joint does not move C_2 against body 1
    displacement = vee(difference)
    length = exact(CENTRES[0]) - centre_of(mechanism, 2)
    at = {s: sp.Rational(7, 10) for s in displacement.free_symbols}
    assert (
        abs(float(displacement.subs(at).norm()) - float(length.norm())) < 1e-12
    )  # a rotation keeps the length


def test_changing_a_joints_pose_changes_b() -> None:
    mechanism = random_mechanism(2, seed=4, general=False)
    by = (Fraction(1, 2), Fraction(-1, 3), Fraction(2))
    displaced = with_joint(mechanism, 1, pose=(Shift(by), *mechanism.joints[1].pose))
    difference = symgen.inspect(displaced, "B[1,0]") - symgen.inspect(mechanism, "B[1,0]")
    assert difference[3:, :3].expand() == cross_matrix(
        -exact(by)
    )  # C_1 moves by `by` in the axes of body 0
    turned = with_joint(
        mechanism, 1, pose=(*mechanism.joints[1].pose, Turn(X_AXIS, Angle(pi=Fraction(1, 2))))
    )
    assert symgen.inspect(turned, "B[1,0]") != symgen.inspect(mechanism, "B[1,0]")


@pytest.mark.parametrize(
    "name", [*(name for name in TELLING if name not in ("chain5", "tree5")), *PAIRS]
)
def test_b_equals_the_transport_between_mass_centres(name: str) -> None:
    """B_ij equals the reference's poses; B_ii = 1 and B_ij B_jk = B_ik in axes of k (Saha (6))."""
    mechanism = robot(name)
    q = np.random.default_rng(1).uniform(-1, 1, mechanism.nv)
    placements = Reference(mechanism, FLOAT).placements(q)
    R = [np.asarray(p.turn[0]) for p in placements]
    C = []
    for i, body in enumerate(mechanism.bodies):
        parts = [
            (float(p.mass), Reference(mechanism, FLOAT).pose(p.pose)[1])
            for p in body.parts
            if p.mass
        ]
        d = sum(m * c for m, c in parts) / sum(m for m, _ in parts) if parts else np.zeros(3)
        C.append(np.asarray(placements[i].shift[0]) + R[i] @ d)
    values = {sp.Symbol(f"q{i}", real=True): x for i, x in enumerate(q)}

    def transport(i: int, j: int) -> np.ndarray:
        return np.array(symgen.inspect(mechanism, f"B[{i},{j}]").subs(values).evalf(), dtype=float)

    def twist_rotation(i: int, k: int) -> np.ndarray:
        """Return the matrix that rotates twists from axes of body k to axes of body i."""
        return np.kron(np.eye(2), R[i].T @ R[k])

    chain = [mechanism.nv - 1]
    while mechanism.joints[chain[-1]].parent >= 0:
        chain.append(mechanism.joints[chain[-1]].parent)
    chain = chain[:3]
    for i in chain:
        assert symgen.inspect(mechanism, f"B[{i},{i}]") == sp.eye(6)
    for i, j in pairwise(chain):
        expected = np.eye(6)
        x, y, z = R[j].T @ (C[j] - C[i])
        expected[3:, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
        assert (
            np.abs(transport(i, j) - expected).max() < 1e-12
        )  # a few dozen roundings of numbers below 10
    if len(chain) == 3:
        i, j, k = chain
        product = twist_rotation(k, j) @ transport(i, j) @ twist_rotation(j, k) @ transport(j, k)
        assert np.abs(product - transport(i, k)).max() < 1e-12


@pytest.mark.parametrize("name", ["scara", "tree4", "prismatic_revolute"])
def test_b_does_not_exist_where_j_does_not_carry_i(name: str) -> None:
    with pytest.raises(
        RequestError, match=r"B\[0,1\] does not exist: \[i,j\] exists where link j carries link i"
    ):
        symgen.inspect(robot(name), "B[0,1]")


# -- the Riccati step ------------------------------------------------------------------------------


def riccati_step(kind: str, P: sp.Matrix) -> tuple[sp.Expr, sp.Matrix, sp.Matrix]:
    """Return D, G and P⁺ of the closed form at a numeric P."""
    form = riccati_form(kind)
    at = {form.P[i, j]: P[i, j] for i in range(6) for j in range(i, 6)} | parameter_values(kind)
    D = form.D.subs(at)
    at[form.d] = 1 / D
    G = form.G.subs(at)
    at.update(zip(form.g, G, strict=True))
    return D, G, form.P_after.subs(at)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_the_riccati_step_equals_the_matrix_formula_on_rational_matrices(
    kind: str, seed: int
) -> None:
    source = Random(seed)
    entries = [
        [sp.Rational(x.numerator, x.denominator) for x in rationals(source, 6)] for _ in range(6)
    ]
    P = sp.Matrix(entries) * sp.Matrix(entries).T + sp.eye(6)
    H = joint_form(kind).motion_subspace.subs(parameter_values(kind)).T
    D, G, after = riccati_step(kind, P)
    assert (H * P * H.T)[0] == D  # Rodriguez and Kreutz (4.6)
    assert G == P * H.T / D  # Rodriguez and Kreutz (5.12)
    assert after == P - P * H.T * H * P / D  # (1 − G H) P of Rodriguez and Kreutz (4.5)
    assert H * after == sp.zeros(1, 6)  # the joint transmits no force along its motion
    zeros = {(i, j) for i in range(6) for j in range(6) if riccati_form(kind).P_after[i, j] == 0}
    pure = sum(1 for x in H if x) == 1  # for a screw, H P⁺ = 0 has sums instead of zero entries
    assert zeros == {(i, j) for i in range(6) for j in range(6) if pure and (H[i] or H[j])}


@pytest.mark.slow
def test_the_riccati_step_of_a_new_joint_type_equals_the_matrix_formula(screw: str) -> None:
    P = sp.Matrix(6, 6, lambda i, j: sp.Rational(1, 1 + i + j)) + sp.eye(6)
    H = joint_form(screw).motion_subspace.T
    D, G, after = riccati_step(screw, P)
    assert (H * P * H.T)[0] == D
    assert after == P - P * H.T * H * P / D
    assert G == P * H.T / D
