"""WC's equations: by exact rationals on robots and trees, for every state of small robots, derived
by SymPy.

WC is Wang & Chirikjian. Where the printed text has an error, the printed form must fail: exactly,
or by more than 1e-3 in the derivation by SymPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy as sp
from flint import fmpq

import symgen
from symgen.description.loading import load
from symgen.papers import rk, wc
from symgen.papers.blocks import Matrix, assembled, identity, inverse, stacked, zeros
from symgen.papers.chain import Chain, chain, random_state
from symgen.papers.complement import complement, orthonormal
from symgen.papers.dual import Dual, constants, dual_parts, duals
from symgen.papers.symbolic import SymbolicRobot
from symgen.papers.wc import EQUATIONS, LETTERS, Body, Operators, derivative, gradient
from symgen.reference.precision import Array
from symgen.support.errors import RequestError
from tests.shared.robots_for_tests import ONE_DEGREE, random_mechanism

BY_NUMBER = {equation.number: equation for equation in EQUATIONS}


def failing(o: Operators) -> list[str]:
    return [equation.number for equation in EQUATIONS if not equation.holds(o)]


def several_degrees() -> Chain:
    """A tree with joints of one to six degrees of freedom."""
    robot = symgen.Robot("several")
    parents = ("base", "free", "spherical", "planar", "spherical", "free")
    for n, (kind, parent) in enumerate(
        zip(
            ("free", "spherical", "planar", "helical", "cylindrical", "prismatic"),
            parents,
            strict=True,
        )
    ):
        robot.body(
            kind,
            parent=parent,
            type=kind,
            xyz=("1/2", n, "-1/3"),
            mass=n + 1,
            centre=("1/5", "-1/7", "1/4"),
            inertia=("1/2", "1/20", 0, "3/5", "-1/30", "2/5"),
            **({"pitch": "1/10"} if kind == "helical" else {}),
            **(
                {"axis": (0, "3/5", "4/5")}
                if kind in ("helical", "cylindrical", "prismatic")
                else {}
            ),
        )
    return chain(robot.build())


@cache
def operators(name: str) -> Operators:
    return Operators(several_degrees() if name == "several" else chain(load(name)))


def random_chain(n: int, kind: str = "chain", joints: Sequence[str] = ONE_DEGREE) -> Chain:
    return chain(random_mechanism(n, n, kind, joints))


# -- every equation --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "robot",
    [
        "panda",
        "ur5",
        "scara",
        "bennett",
        "four_bar",
        "slider_crank",
        "spherical_pendulum",
        "free_body",
    ],
)
def test_every_equation_holds_on_robots(robot: str, seed: int) -> None:
    mechanism = load(robot)
    assert failing(Operators(chain(mechanism, random_state(mechanism, seed)))) == []


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["quadruped", "two_pandas_bar"])
def test_every_equation_holds_on_long_robots(robot: str) -> None:
    assert failing(operators(robot)) == []


def test_every_equation_holds_on_a_tree_with_joints_of_several_degrees_of_freedom() -> None:
    o = operators("several")
    assert o.soft == [6, 3, 3, 1, 2, 1]
    assert failing(o) == []


@pytest.mark.parametrize("kind", ["chain", "tree"])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_every_equation_holds_on_random_robots_with_every_joint_of_one_degree(
    n: int, kind: str
) -> None:
    assert failing(Operators(random_chain(n, kind))) == []


@pytest.mark.parametrize("robot", ["slider_crank", "four_bar", "spherical_pendulum"])
def test_every_equation_holds_for_every_state(robot: str) -> None:
    assert failing(Operators(SymbolicRobot(load(robot).uncoupled).chain)) == []


def test_the_inverse_mass_matrix_is_that_of_rodriguez_and_kreutz() -> None:
    o = operators("ur5")
    o_rk = rk.Operators(o.chain)
    inverse_mass = o.H_11 - o.H_12 @ o.H_22_inverse @ o.H_12.T
    by_rk = o_rk.whitening.T @ o_rk.D_inverse @ o_rk.whitening
    assert Matrix.of(inverse_mass.entries[::-1, ::-1]) == by_rk


def test_the_right_side_may_be_that_of_the_user() -> None:
    b = [fmpq(k, 3) for k in range(6)]
    o = Operators(operators("ur5").chain, b)
    assert o.mass_matrix @ o.x == Matrix.of(np.array(b, dtype=object))


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_factors_on_a_serial_chain_have_one_block_beside_the_diagonal(name: str) -> None:
    o = operators(name)
    for i, j in product(range(len(o.links)), repeat=2):
        if i > j + 1:
            assert o.lower_block(i, j) is None
            assert o.upper_block(j, i) is None


# -- errors are seen -------------------------------------------------------------------------------


CAUGHT = {
    "dq1_dxi": "(16)",
    "dq2_dxi": "(16)",
    "dq_dxi": "(18)",
    "dq_dxi_by_operators": "(16)",
    "script_J": "(18)",
    "I": "I",
    "I_inverse": "I",
    "G": "(19)",
    "G_11": "before (6)",
    "G_12": "(5)",
    "H": "(19)",
    "H_11": "(9)",
    "H_12": "(9)",
    "H_22": "LU",
    "H_22_inverse": "(8)",
    "mass_matrix": "before (6)",
    "det_G": "after (5)",
    "L": "LU",
    "U": "LU",
    "c": "(6)",
    "d": "after (9)",
    "e": "e",
    "f": "(6)",
    "x": "(7)",
    "y": "(7)",
    "solution": "(8)",
    "J": "(10)",
    "J_inverse": "J⁻¹",
}
"""An equation that fails if the last entry that is not zero is changed."""


@pytest.mark.parametrize("operator", CAUGHT)
def test_a_changed_entry_of_an_operator_is_seen(operator: str) -> None:
    o = Operators(operators("bennett").chain)
    entries = getattr(operators("bennett"), operator).entries.copy()
    row, column = (int(x) for x in np.argwhere(entries != 0)[-1])
    entries[row, column] += fmpq(1, 1000)
    assert BY_NUMBER[CAUGHT[operator]].holds(operators("bennett"))
    setattr(o, operator, Matrix.of(entries))
    assert not BY_NUMBER[CAUGHT[operator]].holds(o)


CAUGHT_OF_BODY = {
    "A": "(12)",
    "J": "(14)",
    "J_inverse": "M⁻¹(q)",
    "b": "(17)",
    "script_J": "(15)",
    "J_T": "M(q)",
    "inertia": "after (18)",
    "moments": "M⁻¹(q)",
    "transform": "(15)",
    "mass_matrix": "M(q)",
    "inverse_mass_matrix": "M⁻¹(q)",
    "mass_matrix_by_energy": "M(q)",
    "dq_dxi": "after (18)",
}


@pytest.mark.parametrize("operator", CAUGHT_OF_BODY)
def test_a_changed_entry_of_one_body_is_seen(operator: str) -> None:
    o = Operators(operators("slider_crank").chain)
    number = CAUGHT_OF_BODY[operator]
    assert BY_NUMBER[number].holds(o)
    preserved = {"moments": ("mass_matrix_by_energy",), "b": ("transform",)}.get(operator, ())
    values_by_name = {name: getattr(o.body, name) for name in preserved}
    array = getattr(o.body, operator).copy()
    o.body = Body(o.chain)
    for name, value in values_by_name.items():
        setattr(o.body, name, value)
    array.flat[int(np.flatnonzero(array.ravel() != 0)[-1 if operator != "transform" else 0])] += (
        fmpq(1, 1000)
    )
    setattr(o.body, operator, array)
    assert not BY_NUMBER[number].holds(o)


def test_a_changed_rotation_is_seen_by_the_mass_matrix() -> None:
    """The two sides of (18), of (5) and of the mass matrix use the numbers of a link separately."""
    links = operators("slider_crank").chain
    o = Operators(links)
    last = links.links[1]
    o.chain = replace(
        links, links=(links.links[0], replace(last, centre=last.centre * 2), *links.links[2:])
    )
    assert "before (6)" in failing(o)


def test_an_entry_between_distant_joints_is_seen() -> None:
    o = Operators(operators("ur5").chain)
    entries = o.H.entries.copy()
    entries[0, 4] += fmpq(1, 1000)
    o.H = Matrix.of(entries)
    assert not BY_NUMBER["band"].holds(o)


# -- printed forms fail ----------------------------------------------------------------------------


def body_matrix(upper: Array, lower: Array) -> Matrix:
    return Matrix.of(stacked([[upper, zeros(3, 3)], [zeros(3, 3), lower]]))


def by_body(
    sides: Callable[[Body], tuple[Matrix, Matrix]],
) -> Callable[[Operators], tuple[Matrix, Matrix]]:
    return lambda o: sides(o.body)


def printed_14(body: Body) -> tuple[Matrix, Matrix]:
    """V = Rᵀ b in place of Rᵀ ḃ."""
    printed = np.concatenate([body.J @ body.rates[:3], body.A.T @ body.b])
    return Matrix.of(body.body_twist(body.rates)), Matrix.of(printed)


def printed_mass_matrix(body: Body) -> tuple[Matrix, Matrix]:
    """M J_T J_Tᵀ, in the order of M(q) itself."""
    moments = body.J.T @ body.moments @ body.J
    return body_matrix(moments, body.J_T @ body.J_T.T * body.mass), Matrix.of(
        body.mass_matrix_by_energy
    )


def printed_inverse(body: Body) -> tuple[Matrix, Matrix]:
    """M J_T⁻¹ J_T⁻ᵀ."""
    inverse_J_T = inverse(body.J_T)
    moments = body.J_inverse @ inverse(body.moments) @ body.J_inverse.T
    printed = body_matrix(moments, inverse_J_T @ inverse_J_T.T * body.mass)
    return Matrix.of(body.mass_matrix_by_energy) @ printed, Matrix.of(identity(6))


def printed_order(body: Body) -> tuple[Matrix, Matrix]:
    """I = (m 1) ⊕ I_R, while 𝒥 has the rotation first."""
    inertia = stacked([[identity(3) * body.mass, zeros(3, 3)], [zeros(3, 3), body.moments]])
    printed = body.dq_dxi @ inverse(inertia) @ body.dq_dxi.T
    return Matrix.of(body.mass_matrix_by_energy @ printed), Matrix.of(identity(6))


def printed_16(o: Operators) -> tuple[Matrix, Matrix]:
    """D/dt of an expression in ε is zero."""
    return o.dq_dxi, Matrix.of(zeros(6 * len(o.links), 6 * len(o.links)))


PRINTED: dict[str, Callable[[Operators], tuple[Matrix, Matrix]]] = {
    "(14)": by_body(printed_14),
    "(16)": printed_16,
    "M(q)": by_body(printed_mass_matrix),
    "M⁻¹(q)": by_body(printed_inverse),
    "after (18)": by_body(printed_order),
}


def test_every_corrected_equation_has_its_printed_form_below() -> None:
    assert {equation.number for equation in EQUATIONS if equation.corrected} == set(PRINTED)


@pytest.mark.parametrize("number", PRINTED)
def test_the_printed_form_fails(number: str) -> None:
    o = operators("scara")
    left, right = PRINTED[number](o)
    assert BY_NUMBER[number].holds(o)
    assert left != right


# -- refusals --------------------------------------------------------------------------------------


REFUSED = {
    "puma560": "link 'link1' has no mass",
    "stewart": "link 'leg1_cross' has no mass",
    "planar_point_mass": "link 'link1' is a point mass",
}


@pytest.mark.parametrize("robot", REFUSED)
def test_links_without_an_invertible_inertia_are_refused(robot: str) -> None:
    with pytest.raises(RequestError) as refused:
        Operators(chain(load(robot)))
    assert (
        str(refused.value)
        == f"Wang & Chirikjian divide by the inertia of every link, and in '{robot}'"
        f" {REFUSED[robot]}; use the operators of Rodriguez & Kreutz (paper rk, method riccati)"
    )


def test_zxz_angles_are_refused_where_they_are_singular() -> None:
    unit, zero = fmpq(1), fmpq(0)
    with pytest.raises(RequestError, match="singular at sin β = 0; use another β, or twists"):
        wc.zxz_inverse_jacobian([(zero, unit), (-unit, zero), (unit, zero)])


# -- derivatives on a user's robot -----------------------------------------------------------------


@pytest.mark.parametrize("robot", ["panda", "ur5", "quadruped"])
def test_derivatives_of_a_joint_angle_are_a_soft_row(robot: str) -> None:
    """The sine and the cosine of the angle are functions of the poses of two links."""
    o = operators(robot)
    k = len(o.links) - 1
    parent, axis = o.links[k].parent, o.links[k].axes[0, :3]
    normal = np.array([axis[1], axis[2], axis[0]], dtype=object)
    normal = normal - axis * (axis @ normal)
    scale = 1 / (normal @ normal)
    second = wc.hat(axis) @ normal
    before = wc.inverse_transform(o.relative_transforms[k])[:3, :3]

    def cosine_and_sine(transforms: Sequence[Array]) -> Array:
        relative = wc.inverse_transform(transforms[parent]) @ transforms[k]
        turned = before @ relative[:3, :3] @ normal
        return np.array([turned @ normal * scale, turned @ second * scale], dtype=object)

    row = zeros(6 * len(o.links))
    for link in (parent, k):
        row[6 * link : 6 * link + 6] = gradient(cosine_and_sine, o.transforms, link)[1]
    assert gradient(cosine_and_sine, o.transforms, k)[0].tolist() == [0] * 6  # the cosine is 1 here
    soft_row = sum(o.soft[:k])
    assert (o.dq1_dxi.entries[soft_row] == row).all()


def test_the_derivative_of_a_position_is_a_column_of_the_rotation() -> None:
    transform = operators("ur5").transforms[3]
    for i in range(6):
        slope = derivative(lambda H: H[:3, 3], transform, i)
        expected = transform[:3, i - 3] if i >= 3 else zeros(3)
        assert (slope == expected).all()


def test_derivatives_do_not_commute() -> None:
    """∂/∂ξ̃_1 ∂/∂ξ̃_2 − ∂/∂ξ̃_2 ∂/∂ξ̃_1 = ∂/∂ξ̃_3, as [Ẽ_1, Ẽ_2] = Ẽ_3."""
    first, second, third = wc.MOTION_GENERATORS[:3]
    assert (first @ second - second @ first == third).all()
    transform = operators("ur5").transforms[2]

    def f(H: Array) -> Any:
        return H[0, 1] * H[2, 0] + H[1, 2] * H[0, 3]

    def of(i: int, g: Callable[[Array], Any]) -> Callable[[Array], Any]:
        return lambda H: derivative(g, H, i)

    bracket = derivative(of(1, f), transform, 0) - derivative(of(0, f), transform, 1)
    assert bracket == derivative(f, transform, 2)


def test_a_constant_function_has_the_derivative_zero() -> None:
    assert derivative(lambda H: 3, operators("ur5").transforms[0], 2) == 0
    assert wc.rotation_derivative(lambda A: [A[0, 0], fmpq(2)], identity(3), 1).tolist() == [0, 0]


def test_hat_and_vee_are_inverse_maps_and_the_generators_are_the_printed_ones() -> None:
    for n, generators in ((3, wc.ROTATION_GENERATORS), (6, wc.MOTION_GENERATORS)):
        for unit, generator in zip(identity(n), generators, strict=True):
            assert (wc.vee(generator) == unit).all()
    E_1, E_5 = wc.MOTION_GENERATORS[0], wc.MOTION_GENERATORS[4]
    assert E_1.tolist() == [[0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert [tuple(map(int, index)) for index in np.argwhere(E_5 != 0)] == [(1, 3)]


def test_dual_numbers_differentiate_quotients_and_powers() -> None:
    x = Dual(fmpq(3), fmpq(1))
    assert (1 / x).slope == fmpq(-1, 9)
    assert (x / 2).slope == fmpq(1, 2)
    assert (x**3).slope == 27
    assert (x**-2).slope == fmpq(-2, 27)
    assert x**0 == 1
    assert ((2 - x) * (x - 1) / x).slope == fmpq(-7, 9)
    assert dual_parts([x, 5]).tolist() == [1, 0]
    assert (np.array([1, x]) @ np.array([x, x])).slope == 7
    assert constants(identity(2))[0, 0] == 1
    assert duals(identity(1), identity(1))[0, 0] != 1


# -- complements -----------------------------------------------------------------------------------


def rows(*entries: Sequence[Any]) -> Array:
    return np.array(
        [[fmpq(*x) if isinstance(x, tuple) else fmpq(x) for x in row] for row in entries],
        dtype=object,
    )


SLANTED = ((2, 3), (2, 3), (1, 3))
AXES = {
    "third axis": rows((0, 0, 1, 0, 0, 0)),
    "opposite": rows((0, 0, -1, 0, 0, 0)),
    "slanted": rows((*SLANTED, 0, 0, 0)),
    "slide": rows((0, 0, 0, (3, 5), 0, (-4, 5))),
    "cylindrical": rows((*SLANTED, 0, 0, 0), (0, 0, 0, *SLANTED)),
    "planar": identity(6)[[3, 4, 2]],
    "spherical": identity(6)[:3],
    "free": identity(6),
    "welded": zeros(0, 6),
}
HELICAL = {
    "helical": rows((0, 0, 1, 0, 0, (1, 3))),
    "slanted helical": rows(((3, 5), (4, 5), 0, (3, 50), (4, 50), 0)),
    "dependent halves": rows((1, 2, 0, 0, 0, 0), (1, 2, 0, 1, 0, 0)),
}


@pytest.mark.parametrize("axes", AXES)
def test_complements_of_orthonormal_axes_are_orthonormal(axes: str) -> None:
    H = AXES[axes]
    W = complement(H)
    assert W.shape == (6 - len(H), 6)
    assert orthonormal(np.concatenate([H, W]))


@pytest.mark.parametrize("axes", HELICAL)
def test_complements_of_other_axes_are_a_basis(axes: str) -> None:
    H = HELICAL[axes]
    W = complement(H)
    assert W.shape == (6 - len(H), 6)
    assert (W @ H.T == 0).all()
    assert (inverse(np.concatenate([H, W])) @ np.concatenate([H, W]) == identity(6)).all()


def test_complements_of_coordinates_are_the_other_coordinates() -> None:
    assert (complement(identity(6)[[3, 4, 2]]) == identity(6)[[0, 1, 5]]).all()


def test_complements_of_turning_and_sliding_axes_keep_the_other_half() -> None:
    assert (complement(AXES["slanted"])[2:] == identity(6)[3:]).all()
    assert (complement(AXES["slide"])[:3] == identity(6)[:3]).all()


# -- letters ---------------------------------------------------------------------------------------


WHOLE: dict[str, tuple[str, bool, bool]] = {
    "G_11": ("G_11", False, False),
    "G_12": ("G_12", False, True),
    "H_11": ("H_11", False, False),
    "H_12": ("H_12", False, True),
    "H_22": ("H_22", True, True),
    "L_22": ("L", True, True),
    "U_22": ("U", True, True),
}
"""Operator of a letter, and whether its rows and columns are the hard variables."""


@pytest.mark.parametrize("robot", ["several", "ur5"])
@pytest.mark.parametrize("letter", WHOLE)
def test_blocks_of_a_letter_are_those_of_the_operator(letter: str, robot: str) -> None:
    o = operators(robot)
    name, *hard = WHOLE[letter]
    (declared,) = (item for item in LETTERS if item.name == letter)
    blocks = {
        (i, j): block
        for i, j in product(range(len(o.links)), repeat=2)
        if (block := declared.block(o, i, j)) is not None
    }
    heights, widths = (o.hard if is_hard else o.soft for is_hard in hard)
    assert assembled(blocks, heights, widths) == getattr(o, name)


def joint_blocks(o: Operators, letter: str) -> Array:
    """All blocks (6x6) of a letter over the variables of the joints, as one matrix by links."""
    (declared,) = (item for item in LETTERS if item.name == letter)
    six = [6] * len(o.links)
    blocks = {
        (i, j): block
        for i, j in product(range(len(o.links)), repeat=2)
        if (block := declared.block(o, i, j)) is not None
    }
    return assembled(blocks, six, six).entries


def test_letters_over_all_variables_are_those_of_the_operators() -> None:
    """Operators have the soft variables of all joints first, the letters those of each joint."""
    o = operators("several")
    starts = np.cumsum([0, *o.soft]), sum(o.soft) + np.cumsum([0, *o.hard])
    order = [
        start[k] + n
        for k in range(len(o.links))
        for start, count in zip(starts, (o.soft[k], o.hard[k]), strict=True)
        for n in range(count)
    ]
    assert (joint_blocks(o, "dq_dxi") == o.dq_dxi.entries[order]).all()
    assert (joint_blocks(o, "script_J") == o.script_J.entries[:, order]).all()
    hard = [position for position, index in enumerate(order) if index >= sum(o.soft)]
    (G_22,) = (item for item in LETTERS if item.name == "G_22")
    blocks = {(i, j): G_22.block(o, i, j) for i, j in product(range(len(o.links)), repeat=2)}
    assembled_G_22 = assembled(
        {k: b for k, b in blocks.items() if b is not None}, o.hard, o.hard
    ).entries
    assert len(hard) == len(assembled_G_22)
    assert (assembled_G_22 == o.G.entries[sum(o.soft) :, sum(o.soft) :]).all()


def test_letters_of_a_link() -> None:
    o = operators("several")
    by_name = {item.name: item for item in LETTERS}
    for k in range(len(o.links)):
        inertia, its_inverse = (by_name[name].block(o, k) for name in ("I", "I_inverse"))
        assert (inertia @ its_inverse == identity(6)).all()
        assert (by_name["W"].block(o, k) == complement(o.links[k].axes)).all()
    for name, vector in (("c", o.c), ("d", o.d), ("e", o.e), ("f", o.f), ("q_ddot", o.x)):
        blocks = [by_name[name].block(o, k) for k in range(len(o.links))]
        rows = np.concatenate([block for block in blocks if block is not None])
        assert (rows == vector.entries).all()


def test_every_letter_is_defined_by_one_equation() -> None:
    """G over hard variables is long, and no step of the solution uses it: no equation shows it."""
    defined = [letter for equation in EQUATIONS for letter in equation.letters]
    assert sorted([*defined, "G_12", "G_22"]) == sorted(letter.name for letter in LETTERS)


# -- derived by SymPy ------------------------------------------------------------------------------


def missed(values: Any, expected: Any) -> float:
    return max(abs(float(x)) for x in values - expected)


@cache
def turning() -> Any:
    """The body Jacobian of the ZXZ angles."""
    return wc.rotation_jacobian(wc.symbolic_rotation())


@cache
def points() -> list[dict[Any, Any]]:
    """Five states with rational sines and cosines of the ZXZ angles."""
    random, states = Random(11), []
    for _ in range(5):
        at = {}
        for angle in wc.SYMBOLIC_ANGLES:
            t = sp.Rational(random.randint(1, 40), random.randint(41, 60))
            s, c = 2 * t / (1 + t * t), (1 - t * t) / (1 + t * t)
            at |= {sp.sin(angle): s, sp.cos(angle): c, sp.cot(angle): c / s}
        states.append(at)
    return states


def vanish(*expressions: Any, at: dict[Any, Any]) -> bool:
    """True if expressions in sines and cosines are exactly zero for all values of the slopes in
    them.
    """
    return all(sp.expand(expression.xreplace(at)) == 0 for expression in expressions)


def test_wc_11_is_the_body_jacobian_of_zxz_angles() -> None:
    _, beta, gamma = wc.SYMBOLIC_ANGLES
    printed = sp.Matrix(
        [
            [sp.sin(beta) * sp.sin(gamma), sp.cos(gamma), 0],
            [sp.sin(beta) * sp.cos(gamma), -sp.sin(gamma), 0],
            [sp.cos(beta), 0, 1],
        ]
    )
    for at in points():
        assert vanish(*(turning() - printed), at=at)
        assert turning().xreplace(at).det() == -at[sp.sin(beta)]  # singular at sin β = 0


def test_wc_12_and_its_operators_in_zxz_angles() -> None:
    """∂/∂ξ_i as printed below (12), and as the limit (12) itself for the entries of A: ∂A/∂ξ_i = A
    E_i.
    """
    alpha, beta, gamma = wc.SYMBOLIC_ANGLES
    A = wc.symbolic_rotation()
    f = sp.Function("f")(alpha, beta, gamma)
    a, b, c = (f.diff(x) for x in wc.SYMBOLIC_ANGLES)
    printed = (
        -sp.cot(beta) * sp.sin(gamma) * c + sp.sin(gamma) / sp.sin(beta) * a + sp.cos(gamma) * b,
        -sp.cot(beta) * sp.cos(gamma) * c + sp.cos(gamma) / sp.sin(beta) * a - sp.sin(gamma) * b,
        c,
    )
    for at in points():
        J = turning().xreplace(at)
        for i in range(3):
            by_jacobian = wc.derivative_along(f, J, wc.SYMBOLIC_ANGLES, i)
            assert vanish(by_jacobian - printed[i], at=at)
            unit = sp.Matrix([int(i == k) for k in range(3)])
            limit = A * unit.hat()
            assert vanish(
                *(
                    wc.derivative_along(x, J, wc.SYMBOLIC_ANGLES, i) - y
                    for x, y in zip(A, limit, strict=True)
                ),
                at=at,
            )


def test_wc_14_to_17_with_cartesian_places() -> None:
    A, q = wc.symbolic_rotation(), (*wc.SYMBOLIC_ANGLES, *wc.SYMBOLIC_POSITION)
    J = wc.motion_jacobian(A, sp.Matrix(wc.SYMBOLIC_POSITION), q)
    assert sp.diag(turning(), A.T) == J  # (15)
    f = sp.Function("f")(*q)
    slope = A.T * sp.Matrix([f.diff(b) for b in wc.SYMBOLIC_POSITION])
    for at in points():
        full_jacobian, rotation_jacobian = J.xreplace(at), turning().xreplace(at)
        for i in range(3):
            assert vanish(wc.derivative_along(f, full_jacobian, q, 3 + i) - slope[i], at=at)  # (17)
            by_rotation = wc.derivative_along(f, rotation_jacobian, wc.SYMBOLIC_ANGLES, i)
            assert vanish(wc.derivative_along(f, full_jacobian, q, i) - by_rotation, at=at)


AT = dict(
    zip(
        wc.SYMBOLIC_ANGLES,
        (sp.Rational(3, 10), sp.Rational(7, 10), sp.Rational(-6, 5)),
        strict=True,
    )
)


def test_wc_14_takes_the_rate_of_the_place() -> None:
    """v = Rᵀ ḃ, not Rᵀ b, along one motion; against the twist of H⁻¹ Ḣ."""
    t = sp.Symbol("t", real=True)
    angles, b = (t, 1 + t / 2, 2 - t), sp.Matrix([1 + t, t * t, 3 - 2 * t])
    motion = dict(zip(wc.SYMBOLIC_ANGLES, angles, strict=True))
    A = wc.symbolic_rotation().subs(motion, simultaneous=True)
    H = sp.eye(4)
    H[:3, :3], H[:3, 3] = A, b
    instant = {t: sp.Rational(1, 3)}
    v = (H.subs(instant).evalf(30).inv() * H.diff(t).subs(instant).evalf(30))[:3, 3]
    assert missed((A.T * b.diff(t)).subs(instant).evalf(30), v) < 1e-12
    assert missed((A.T * b).subs(instant).evalf(30), v) > 1e-3


def test_wc_single_body_has_m_jt_transposed_jt_and_one_order() -> None:
    """Spherical coordinates of the place, where J_T is not symmetric: M = 𝒥ᵀ I 𝒥 from the kinetic
    energy.
    """
    A, m, moments = wc.symbolic_rotation(), sp.Rational(5, 2), sp.diag(1, 2, sp.Rational(5, 2))
    r, u, w = sp.symbols("r u w", positive=True)
    position = sp.Matrix([r * sp.sin(u) * sp.cos(w), r * sp.sin(u) * sp.sin(w), r * sp.cos(u)])
    q = (*wc.SYMBOLIC_ANGLES, r, u, w)
    state = {**AT, r: sp.Rational(3, 2), u: sp.Rational(4, 5), w: sp.Rational(1, 3)}
    rates = sp.Matrix(sp.symbols("s1:7"))
    omega, speed = turning() * rates[:3, :], position.jacobian([r, u, w]) * rates[3:, :]
    energy = (m * speed.dot(speed) + omega.dot(moments * omega)).subs(state).evalf(30) / 2
    mass = sp.hessian(sp.expand(energy), list(rates))
    J = wc.motion_jacobian(A, position, q).subs(state).evalf(30)
    inertia = wc.symbolic_inertia(m, moments)
    assert missed(wc.symbolic_mass_matrix(J, inertia), mass) < 1e-12
    assert missed(wc.symbolic_inverse_mass_matrix(J, inertia), mass.inv()) < 1e-12
    JT = position.jacobian([r, u, w]).subs(state).evalf(30)
    assert missed(m * JT.T * JT, mass[3:, 3:]) < 1e-12
    assert missed(m * JT * JT.T, mass[3:, 3:]) > 1e-3  # as printed
    assert missed(JT.inv() * JT.inv().T / m, mass[3:, 3:].inv()) < 1e-12
    assert missed(m * JT.inv() * JT.inv().T, mass[3:, 3:].inv()) > 1e-3  # as printed
    printed = sp.diag(m * sp.eye(3), moments)  # mass first, 𝒥 rotation first
    assert missed(J.inv() * printed.inv() * J.inv().T, mass.inv()) > 1e-3
