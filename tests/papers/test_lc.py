"""LC's equations: proved for every state of two and three links, by exact rationals on longer
chains.

LC is Lee & Chirikjian 2005. Where the printed text has an error, the printed form must fail:
exactly, or by more than 1e-3 in the derivation by SymPy (`tests/shared/lee_chirikjian.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import sympy as sp
from flint import fmpq
from sympy.polys.matrices import DomainMatrix

from symgen.description.loading import load
from symgen.methods.fixman.geometry import PLANAR
from symgen.papers import rk
from symgen.papers.blocks import Matrix, identity, zeros
from symgen.papers.chain import Chain, LinkNumbers, State, chain, random_state, spatial_inertia
from symgen.papers.comparison import matrix_inverse
from symgen.papers.lc import EQUATIONS, LETTERS, Operators, exact_root
from symgen.papers.rational_functions import Functions
from symgen.papers.symbolic import SymbolicRobot
from symgen.reference.precision import Array
from symgen.support.errors import RequestError
from tests.shared import lee_chirikjian
from tests.shared.point_mass_chains import Blocks, corner, exact, schur
from tests.shared.point_mass_chains import Chain as SymPyChain
from tests.shared.slanted_chains import slanted_chain

BY_NUMBER = {equation.number: equation for equation in EQUATIONS}


def failing(o: Operators) -> list[str]:
    return [equation.number for equation in EQUATIONS if not equation.holds(o)]


@cache
def slanted(n: int) -> Operators:
    return Operators(slanted_chain(n))


@pytest.mark.parametrize("links", [1, 2, 6, 12])
@pytest.mark.parametrize("seed", range(2))
def test_every_equation_holds_on_unit_chains(links: int, seed: int) -> None:
    robot = load(f"planar_point_mass:{links}")
    assert failing(Operators(chain(robot, random_state(robot, seed)))) == []


@pytest.mark.parametrize("links", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("seed", range(2))
def test_every_equation_holds_on_chains_in_general_position(links: int, seed: int) -> None:
    assert failing(Operators(slanted_chain(links, seed))) == []


def test_axes_of_both_directions_occur() -> None:
    assert {int(sense.p) for n in (5, 8) for sense in slanted(n).senses} == {1, -1}


@pytest.mark.parametrize("links", [1, 2, 3])
def test_every_equation_holds_for_every_state(links: int) -> None:
    robot = SymbolicRobot(load(f"planar_point_mass:{links}"))
    assert failing(Operators(robot.chain)) == []


def test_lengths_and_masses_may_be_symbols() -> None:
    """A length is the root of a perfect square of rational functions."""
    names = ["t0", "t1", "l0", "l1", "m0", "m1"]
    field = Functions(names)
    values = dict(zip(names, field.symbols(), strict=True))
    links = []
    for i in range(2):
        t, length, mass = (values[f"{stem}{i}"] for stem in "tlm")
        below = 1 / (1 + t * t)
        c, s, zero, unit = (1 - t * t) * below, 2 * t * below, field.number(0), field.number(1)
        rotation = np.array([[c, -s, zero], [s, c, zero], [zero, zero, unit]], dtype=object)
        end = np.array([length, zero, zero], dtype=object)
        shift = np.array([values["l0"] if i else zero, zero, zero], dtype=object)
        axes = identity(6)[2:3]
        links.append(
            LinkNumbers(
                f"link{i}", i - 1, rotation, shift, axes, mass, end, zeros(3, 3), zeros(6, 6)
            )
        )
    o = Operators(Chain("symbols", tuple(links), zeros(3), False))
    assert failing(o) == []
    product = values["l0"] * values["l1"] * values["m0"] * values["m1"]
    assert o.det_G.entries[0, 0] == product * product


def test_the_mass_matrix_is_that_of_rodriguez_and_kreutz() -> None:
    o = slanted(5)
    assert Matrix.of(o.G_aa.entries[::-1, ::-1]) == rk.Operators(o.chain).mass_matrix


def test_the_joint_moments_may_be_those_of_the_user() -> None:
    links = slanted_chain(3)
    o = Operators(links, [fmpq(1), fmpq(0), fmpq(-2)])
    assert o.mass_matrix @ o.q_ddot == Matrix.of(
        np.array([fmpq(1), fmpq(0), fmpq(-2)], dtype=object)
    )


def test_the_points_of_a_horizontal_chain_are_in_the_axes_of_the_base() -> None:
    robot = load("planar_point_mass:2")
    state = State([fmpq(1), fmpq(0)], [fmpq(0)] * 2, lambda x: x)
    x = Operators(chain(robot, state)).x.entries[:, 0]
    assert list(x) == [0, 1, 0, 2]  # the first joint has a quarter turn


# -- errors are seen -------------------------------------------------------------------------------


CAUGHT = {
    "x": "(14)",
    "L_i": "(16)",
    "d_i": "(18)",
    "cos_theta": "(19)",
    "sin_theta": "(21)",
    "dtheta_dx": "before (3)",
    "dL_dx": "(18)",
    "dq_dx": "before (3)",
    "dx_dq": "before (3)",
    "dcos_theta_dx": "(20)",
    "dtheta_dx_printed": "(21)",
    "hard_gradients": "(21)",
    "masses_twice": "(4)",
    "inverse_masses": "(3)",
    "G": "(4)",
    "G_aa": "(6)",
    "G_ba": "before (8)",
    "mass_matrix": "(6)",
    "det_G": "det G",
    "H": "(5)",
    "H_theta_theta": "(23)",
    "H_theta_L": "(23)",
    "H_L_theta": "(23)",
    "H_L_L": "after (13)",
    "L_h": "after (13)",
    "U_h": "after (13)",
    "c": "(13)",
    "d": "(13)",
    "z": "z",
    "e": "(13)",
    "f": "(13)",
    "q_ddot": "(9)",
    "X": "(10)",
    "Y": "(10)",
    "H_L_L_inverse": "(11)",
    "x_by_poses": "(14)",
    "G_by_momenta": "(4)",
    "H_by_elimination": "(5)",
    "blocks_by_angles": "(23)",
}
"""An equation that fails if the last entry that is not zero is changed."""


@pytest.mark.parametrize("operator", CAUGHT)
def test_a_changed_entry_of_an_operator_is_seen(operator: str) -> None:
    o = Operators(slanted_chain(4))
    assert BY_NUMBER[CAUGHT[operator]].holds(o)
    o = Operators(o.chain)
    entries = getattr(o, operator).entries.copy()
    row, column = (int(x) for x in np.argwhere(entries != 0)[-1])
    entries[row, column] += fmpq(1, 1000)
    setattr(o, operator, Matrix.of(entries))
    assert not BY_NUMBER[CAUGHT[operator]].holds(o)


def test_an_entry_outside_a_band_is_seen() -> None:
    o = Operators(slanted_chain(5))
    entries = o.H.entries.copy()
    entries[0, 3] += fmpq(1, 1000)
    o.H = Matrix.of(entries)
    assert not BY_NUMBER["(24)"].holds(o)


@pytest.mark.parametrize("change", ["mass", "centre", "shift", "rotation"])
def test_another_robot_is_seen(change: str) -> None:
    """The sides of (6) and (14) are computed from different numbers of the robot."""
    links = slanted_chain(3)
    o = Operators(links)
    _ = o.directions, o.lengths  # of the unchanged robot
    last = links.links[-1]
    value = getattr(last, change)
    changed = replace(last, **{change: value * fmpq(11, 10)})
    o.links = (*links.links[:-1], changed)
    o.chain = replace(links, links=o.links)
    if change == "mass":
        assert "(6)" in failing(o)
    else:
        assert {"(6)", "(14)"} & set(failing(o))


# -- printed forms fail ----------------------------------------------------------------------------


def base_term(o: Operators, left: Matrix, right: Matrix) -> Array:
    """The term l = 0 that (5), (7) and (23) print, with the mass 1: derivatives by the base point
    x_0.
    """
    rows = []
    for matrix in (left, right):
        by_base = zeros(len(matrix.entries), 2)
        # A shift of all points together changes θ_1 alone, through x_0; rows over all points sum to
        # zero.
        for i in range(len(by_base)):
            by_base[i] = -sum(matrix.entries[i, 2 * p : 2 * p + 2] for p in range(o.n))
        rows.append(by_base)
    return rows[0] @ rows[1].T


def with_base(o: Operators, left: Matrix, right: Matrix) -> Matrix:
    return o.sum_over_masses(left, right) + Matrix.of(base_term(o, left, right))


def sums_from_the_base(o: Operators) -> Matrix:
    return with_base(o, o.dq_dx, o.dq_dx)


def last_term_of_21(o: Operators) -> Matrix:
    """(21) with d_{i−1} in its last term."""
    rows = o.dtheta_dx_printed.entries.copy()
    d, L = o.d_i.entries, o.lengths
    for i in range(2, o.n):
        factor = 1 / (L[i - 1] * L[i] * o.sin_theta.entries[i, 0])
        rows[i, 2 * i - 4 : 2 * i - 2] = d[i - 1] * factor
    return Matrix.of(rows)


PRINTED: dict[str, Callable[[Operators], tuple[Matrix, Matrix]]] = {
    "(5)": lambda o: (o.H, sums_from_the_base(o)),
    "(7)": lambda o: (sums_from_the_base(o), matrix_inverse(o.G)),
    "(23)": lambda o: (sums_from_the_base(o), o.blocks_by_angles),
    "(21)": lambda o: (last_term_of_21(o), o.dtheta_dx - o.hard_gradients),
    "(25)": lambda o: (o.X, (o.H_theta_theta - o.H_L_theta @ o.H_L_L_inverse @ o.H_theta_L) @ o.b),
}


def test_every_corrected_equation_has_its_printed_form_below() -> None:
    assert {equation.number for equation in EQUATIONS if equation.corrected} == set(PRINTED)


@pytest.mark.parametrize("number", PRINTED)
def test_the_printed_form_fails(number: str) -> None:
    left, right = PRINTED[number](slanted(4))
    assert BY_NUMBER[number].holds(slanted(4))
    assert left != right


def test_entries_are_not_inverted_one_by_one() -> None:
    """(5) prints (G_ij)⁻¹."""
    o = slanted(3)
    assert o.H.entries[0, 0] != 1 / o.G.entries[0, 0]


def test_the_last_term_of_21_changes_the_solution() -> None:
    o = slanted(4)
    assert o.mass_matrix @ o.schur_complement(last_term_of_21(o)) != Matrix.of(identity(4))


def test_rows_with_constant_lengths_give_other_blocks_and_are_refused_on_a_straight_chain() -> None:
    o = slanted(4)
    assert o.sum_over_masses(o.dtheta_dx_printed, o.dtheta_dx_printed) != o.H_theta_theta
    robot = load("planar_point_mass:3")
    state = State([fmpq(1, 3), fmpq(0), fmpq(2)], [fmpq(0)] * 3, lambda x: x)
    straight = Operators(chain(robot, state))
    with pytest.raises(RequestError, match=r"divide by sin θ_2, which is zero; use dtheta_dx"):
        _ = straight.dtheta_dx_printed
    assert BY_NUMBER["before (3)"].holds(straight)
    assert BY_NUMBER["(12)"].holds(straight)


# -- refusals --------------------------------------------------------------------------------------


def with_link(i: int, **changes: Any) -> Chain:
    links = slanted_chain(3)
    changed = replace(links.links[i], **changes)
    return replace(links, links=tuple(changed if k == i else x for k, x in enumerate(links.links)))


PLANAR_NEED = "need a serial chain of revolute joints with parallel axes"
POINT_NEED = "need a point mass at the end of every link"
REFUSED: dict[str, tuple[Callable[[], Chain], str]] = {
    "a branch": (lambda: with_link(2, parent=0), f"{PLANAR_NEED}.*branches at link 'link2'"),
    "a slide": (lambda: chain(load("scara")), f"{PLANAR_NEED}.*link 'link3' is not revolute"),
    "a free body": (lambda: chain(load("free_body")), "joint of link 'box' is not revolute"),
    "space": (
        lambda: chain(load("panda")),
        "'panda_link2' is not parallel to that of the joint before",
    ),
    "no mass": (lambda: with_link(1, mass=fmpq(0)), f"{POINT_NEED}.*link 'link1' has no mass"),
    "a rod": (lambda: chain(load("planar_arm")), "link 'link1' is no point mass at its end"),
    "a mass elsewhere": (
        lambda: with_link(1, centre=slanted_chain(3).links[1].centre * 2),
        "link 'link1' is no point mass at its end",
    ),
    "length zero": (lambda: with_link(2, centre=zeros(3)), "link 'link2' has length zero"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unsuitable_robots_are_refused_with_the_reason(case: str) -> None:
    make, sentence = REFUSED[case]
    with pytest.raises(RequestError, match=sentence) as refused:
        Operators(make())
    assert str(refused.value).endswith(
        "; use the operators of Rodriguez & Kreutz (paper rk, method riccati)"
    )


def test_an_irrational_length_is_refused() -> None:
    end = slanted_chain(3).links[2].centre
    axis = slanted_chain(3).links[2].axes[0, :3]
    odd = end + np.array([axis[1], -axis[0], fmpq(0)], dtype=object)
    with pytest.raises(
        RequestError, match="length of link 'link2' of 'slanted3' is the irrational root"
    ):
        Operators(with_link(2, centre=odd))


def test_exact_roots() -> None:
    assert exact_root(fmpq(49, 4)) == fmpq(7, 2)
    assert exact_root(fmpq(1, 2)) is None
    field = Functions(["a", "b"])
    a, b = field.symbols()
    assert exact_root((a + b) * (a + b) / (a * a)) == (a + b) / a
    assert exact_root((a + b) / a) is None
    assert exact_root(a * a + b) is None


# -- letters ---------------------------------------------------------------------------------------


def _vector(name: str, o: Operators) -> Any:
    return getattr(o, name).entries


WHOLE: dict[str, Callable[[Operators], Array]] = {
    "dtheta_dx": lambda o: o.dtheta_dx.entries,
    "dtheta_dx_printed": lambda o: o.dtheta_dx_printed.entries,
    "dL_dx": lambda o: o.dL_dx.entries,
    "dcos_theta_dx": lambda o: o.dcos_theta_dx.entries,
    "dx_dtheta": lambda o: o.dx_dq.entries[:, : o.n],
    "dx_dL": lambda o: o.dx_dq.entries[:, o.n :],
    "G_aa": lambda o: o.G_aa.entries,
    "G_ab": lambda o: o.G.entries[: o.n, o.n :],
    "G_bb": lambda o: o.G.entries[o.n :, o.n :],
    "H_theta_theta": lambda o: o.H_theta_theta.entries,
    "H_theta_L": lambda o: o.H_theta_L.entries,
    "H_L_theta": lambda o: o.H_L_theta.entries,
    "H_L_L": lambda o: o.H_L_L.entries,
    "L_h": lambda o: o.L_h.entries,
    "U_h": lambda o: o.U_h.entries,
    "x_i": lambda o: o.x.entries.reshape(-1, 2),
    "d_i": lambda o: o.d_i.entries,
    "L_i": lambda o: np.diag(o.L_i.entries).reshape(-1, 1),
    "cos_theta": lambda o: o.cos_theta.entries,
    "sin_theta": lambda o: o.sin_theta.entries,
    **{name: partial(_vector, name) for name in ("c", "d", "z", "e", "f", "q_ddot")},
}


@pytest.mark.parametrize("letter", LETTERS, ids=lambda letter: letter.name)
def test_blocks_of_a_letter_are_those_of_the_operator(letter: Any) -> None:
    o = slanted(5)
    operator = WHOLE[letter.name](o)
    rows, columns = (
        len(operator) // o.n,
        operator.shape[1] // (o.n if len(letter.indices) == 2 else 1),
    )
    for i in range(o.n):
        if len(letter.indices) == 1:
            assert (np.reshape(letter.block(o, i), -1) == operator[i]).all()
            continue
        for j in range(o.n):
            block = letter.block(o, i, j)
            expected = operator[rows * i : rows * (i + 1), columns * j : columns * (j + 1)]
            assert (expected == (0 if block is None else block)).all()


def test_every_letter_is_defined_by_one_equation() -> None:
    defined = [letter for equation in EQUATIONS for letter in equation.letters]
    assert sorted(defined) == sorted(letter.name for letter in LETTERS) == sorted(WHOLE)


# -- derived by SymPy ------------------------------------------------------------------------------


def missed(values: Any, expected: Any) -> float:
    gap = values - expected
    return max(abs(float(x)) for x in (gap.to_Matrix() if isinstance(gap, DomainMatrix) else gap))


def six_links() -> tuple[SymPyChain, DomainMatrix, Blocks]:
    chain = exact(6)
    soft, hard = (chain.rows(rows) for rows in lee_chirikjian.exact_rows(6))
    return chain, chain.mass_matrix().inv(), chain.gram(soft, hard)


def test_lc_21_carries_d_i_in_its_last_term() -> None:
    chain, inverse, (_, _, bb) = six_links()
    hard = chain.rows(lee_chirikjian.exact_rows(6)[1])
    for as_printed in (False, True):
        aa, ab, _ = chain.gram(chain.rows(lee_chirikjian.published_rows(6, as_printed)), hard)
        error = missed(schur(aa, ab, bb), inverse)
        assert error > 1e-3 if as_printed else error < 1e-12


def test_lc_20_to_21_are_not_the_blocks_of_the_inverse_metric() -> None:
    chain, _, (aa, _, _) = six_links()
    inverse_metric = chain.metric().inv()
    published = chain.gram(
        chain.rows(lee_chirikjian.published_rows(6)), chain.rows(lee_chirikjian.exact_rows(6)[1])
    )[0]
    assert missed(aa, corner(inverse_metric, 6)) < 1e-12
    assert missed(published, corner(inverse_metric, 6)) > 1e-3


def test_lc_20_to_21_are_singular_on_a_straight_chain_and_the_exact_rows_are_not() -> None:
    """They divide by sin θ_i, which SymPy sees as zero; the exact rows give M⁻¹ there too."""
    half = sp.Rational(1, 2)
    straight = SymPyChain(
        [sp.Integer(2), sp.Integer(3), sp.Integer(5)],
        [sp.Integer(1), half, sp.Integer(4)],
        [half] * 3,
    )
    soft, hard = (straight.rows(rows) for rows in lee_chirikjian.exact_rows(3))
    assert (schur(*straight.gram(soft, hard)) * straight.mass_matrix()).to_Matrix() == sp.eye(3)
    entries = [
        straight.value_at_chain(x)
        for row in lee_chirikjian.published_rows(3)
        for entries in row.values()
        for x in entries
    ]
    assert any(entry.has(sp.zoo, sp.nan) for entry in entries)


def test_lc_sums_over_the_masses_that_move() -> None:
    """(4), (7), (23) print sums from l = 0. The base x_0 does not move: its term would add 1/(m_0
    L_1²) to H[0,0].
    """
    chain, _, (aa, _, _) = six_links()
    inverse_metric = chain.metric().inv()
    assert missed(aa, corner(inverse_metric, 6)) < 1e-12
    base, first = sp.Matrix(sp.symbols("x0_1 x0_2", real=True)), lee_chirikjian.points(1)[1]
    direction = PLANAR.direction(base, first)
    slope = sp.Matrix([[direction.diff(x) for x in base]]).subs(dict.fromkeys(base, 0))
    added = chain.value_at_chain((slope * slope.T)[0])  # of m_0 = 1
    assert sp.simplify(added * chain.length[0] ** 2) == 1


def test_lc_25_multiplies_in_the_other_order() -> None:
    _, inverse, (aa, ab, bb) = six_links()
    assert missed(aa - ab * bb.inv() * ab.transpose(), inverse) < 1e-12
    assert missed(aa - ab.transpose() * bb.inv() * ab, inverse) > 1e-3


@pytest.mark.parametrize("kind", ["exact", "published"])
def test_the_rows_are_those_that_sympy_derives(kind: str) -> None:
    """At one state, with unequal masses and lengths."""
    n, chain = 4, exact(4)
    tangents, before = [], (sp.Integer(1), sp.Integer(0))
    for c, s in zip(chain.cosine, chain.sine, strict=True):
        cosine, sine = c * before[0] + s * before[1], s * before[0] - c * before[1]
        tangents.append(sine / (1 + cosine))
        before = (c, s)
    o = Operators(_planar_chain(chain.length, chain.mass, tangents))
    soft, hard = lee_chirikjian.exact_rows(n)
    if kind == "published":
        soft = lee_chirikjian.published_rows(n)
        assert_equal(o.dtheta_dx_printed, chain.rows(soft))
    else:
        assert_equal(o.dtheta_dx, chain.rows(soft))
        assert_equal(o.dL_dx, chain.rows(hard))
        assert_equal(o.dx_dq, chain.jacobian())


def assert_equal(matrix: Matrix, derived: DomainMatrix) -> None:
    expected = [fmpq(int(x.p), int(x.q)) for x in derived.to_Matrix()]
    assert list(matrix.entries.flat) == expected


def _planar_chain(lengths: Sequence[Any], masses: Sequence[Any], tangents: Sequence[Any]) -> Chain:
    """Point masses on links along their first axes."""

    def number(x: Any) -> fmpq:
        value = Fraction(int(x.p), int(x.q))
        return fmpq(value.numerator, value.denominator)

    links = []
    for i, (length, mass, tangent) in enumerate(zip(lengths, masses, tangents, strict=True)):
        t = number(tangent)
        unit = 1 + t * t
        rotation = np.array(
            [
                [(1 - t * t) / unit, -2 * t / unit, 0],
                [2 * t / unit, (1 - t * t) / unit, 0],
                [0, 0, 1],
            ],
            dtype=object,
        )
        end, start = zeros(3), zeros(3)
        end[0] = number(length)
        if i:
            start[0] = number(lengths[i - 1])
        inertia = spatial_inertia(
            number(mass),
            end * number(mass),
            (identity(3) * (end @ end) - np.outer(end, end)) * number(mass),
        )
        links.append(
            LinkNumbers(
                f"link{i}",
                i - 1,
                rotation,
                start,
                identity(6)[2:3],
                number(mass),
                end,
                zeros(3, 3),
                inertia,
            )
        )
    return Chain("planar", tuple(links), zeros(3), False)
