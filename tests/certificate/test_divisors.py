"""Certificates of divisors: a lower bound of the exact and the computed pivot, or a reason."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symgen.certificate.backward import Backward, backward, closed_root
from symgen.certificate.bodies import Bodies, _root
from symgen.certificate.boxes import subdivide
from symgen.certificate.divisors import (
    DivisorCertificate,
    arithmetic_of,
    certified_bounds,
    certify_divisors,
    own_inertias,
    rounded_down,
)
from symgen.certificate.elimination import Elimination, read_elimination
from symgen.certificate.ranges import declared_ranges
from symgen.certificate.recognition import Recognition
from symgen.certificate.rounding import propagate, required_rows
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism, Part
from symgen.pipeline.build import program as derive
from symgen.pipeline.choose import methods_for
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.vocabulary.options import ProgramOptions
from tests.shared.certified_pivots import pivots, states
from tests.shared.robots_for_tests import (
    BUILT_IN,
    FEW,
    ONE_DEGREE,
    TELLING,
    point_mass_arm,
    random_mechanism,
    robot,
)
from tests.shared.rounded_rows import Coarse, rows

pytestmark = pytest.mark.usefixtures(
    "finished_here"
)  # certificates are for programs after all passes

FOUR = ("panda", "ur5", "puma560", "scara")
EIGHT_BITS = 2.0**-8


@cache
def certified(
    name: str, function: str, method: str | None, real: str
) -> tuple[Mechanism, Program, list[DivisorCertificate]]:
    mechanism = robot(name)
    program = derive(mechanism, function, method, real)
    return mechanism, program, certify_divisors(mechanism, program, ProgramOptions(real))


@pytest.mark.parametrize("name", TELLING)
def test_the_exact_pivot_is_no_less_than_the_inertia_of_the_link(name: str) -> None:
    mechanism = robot(name)
    exact = pivots(mechanism, states(mechanism, 400)["q"])
    for k, inertia in enumerate(own_inertias(mechanism)):
        assert inertia.value is not None, inertia.reason
        assert (exact[:, k] >= float(inertia.value) * (1 - 1e-9)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "real"), [*((name, "float") for name in FOUR), ("panda", "double")]
)
def test_every_divisor_of_forward_dynamics_is_certified(name: str, real: str) -> None:
    mechanism, program, certificates = certified(name, "forward_dynamics", None, real)
    assert certificates
    assert {certificate.row for certificate in certificates} == {
        row.args[1] for row in program.rows if row.op == "div"
    }
    for certificate in certificates:
        assert certificate.exact_bound is not None
        assert certificate.lower_bound is not None, certificate.reason
        assert 0.95 * certificate.exact_bound < certificate.lower_bound < certificate.exact_bound
    bounds = certified_bounds(mechanism, program, ProgramOptions(real))
    assert bounds == {certificate.row: certificate.lower_bound for certificate in certificates}


@pytest.mark.parametrize(
    ("name", "seed"), [*((name, None) for name in (*FEW, "panda", "ur5")), ("puma560", 1)]
)
def test_the_computed_divisor_is_no_less_than_its_certificate(name: str, seed: int | None) -> None:
    mechanism = robot(name)
    samples = states(mechanism, 1000)
    for method in (
        methods_for(mechanism, "forward_dynamics") if name in ("scara", "puma560") else [None]
    ):
        _, program, certificates = certified(name, "forward_dynamics", method, "float")
        computed = rows(program, samples, arithmetic_of("float"), seed)
        for certificate in certificates:
            if certificate.lower_bound is not None:
                assert computed[certificate.row].min() >= float(certificate.lower_bound)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(st.integers(1, 5), st.integers(0, 10**6), st.sampled_from(["chain", "tree"]), st.booleans())
def test_pivots_of_random_robots_are_no_less_than_their_certificates(
    n: int, seed: int, kind: str, general: bool
) -> None:
    mechanism = random_mechanism(n, seed, kind, ONE_DEGREE, general)
    program = derive(mechanism, "forward_dynamics", "composite_body", "float")
    arithmetic = Coarse("float", bits=18)
    samples = states(mechanism, 300, seed)
    exact, owns = pivots(mechanism, samples["q"]), own_inertias(mechanism)
    assert all(
        (exact[:, k] >= float(inertia.value) * (1 - 1e-8)).all()
        for k, inertia in enumerate(owns)
        if inertia.value is not None
    )
    for certificate in certify_divisors(
        mechanism, program, ProgramOptions("float"), arithmetic=arithmetic
    ):
        assert certificate.joint is not None
        for adversary in (None, seed):
            if certificate.lower_bound is not None:
                assert rows(program, samples, arithmetic, adversary)[
                    certificate.row
                ].min() >= float(certificate.lower_bound)


@pytest.mark.parametrize("name", TELLING)
def test_energies_bound_rates_and_stretched_links_bound_the_mass_matrix(name: str) -> None:
    mechanism = robot(name)
    bodies = Bodies(mechanism, declared_ranges(mechanism))
    random = np.random.default_rng(7)
    q = states(mechanism, 300)["q"]
    mass_matrices = []
    for c in range(mechanism.nv):
        stripped_bodies = tuple(
            body if i == c else replace(body, parts=()) for i, body in enumerate(mechanism.bodies)
        )
        mass_matrices.append(
            Reference(replace(mechanism, bodies=stripped_bodies), FLOAT).mass_matrix(q)
        )
    M = sum(mass_matrices)
    nearest = 0.0
    for k in range(mechanism.nv):
        assert M[:, k, k].max() <= float(bodies.composite(k).upper()) * (1 + 1e-12)
        rates, outward = bodies.rates(k), bodies.outward(k)
        if isinstance(rates, str):
            assert "inertia" in rates
            assert any(part.moments == (0,) * 6 for body in mechanism.bodies for part in body.parts)
            continue
        for trial in range(20):
            x = np.zeros(q.shape)
            if trial % 2:
                x[:, outward] = random.normal(size=(len(q), len(outward))) * 10.0 ** random.uniform(
                    -2, 2, len(outward)
                )
            else:  # the rates of least energy, at which the bound is tightest
                inner, side = M[:, outward[1:]][:, :, outward[1:]], M[:, outward[1:], k]
                x[:, outward[1:]] = (
                    -np.linalg.solve(inner, side[..., None])[..., 0] if len(outward) > 1 else 0
                )
            x[:, k] = 1
            e = [np.sqrt(np.maximum(np.einsum("si,sij,sj->s", x, A, x), 0)) for A in mass_matrices]
            for b in outward:
                bound = sum(float(share.upper()) * e[c] for c, share in rates[b].items())
                assert (np.abs(x[:, b]) <= bound * (1 + 1e-6) + 1e-9).all()
                nearest = max(nearest, float((np.abs(x[:, b]) / (bound + 1e-30)).max()))
    assert nearest > 0.5 or nearest == 0


def analysed(
    mechanism: Mechanism, arithmetic: Coarse
) -> tuple[Program, Recognition, Elimination, Backward]:
    program = derive(mechanism, "forward_dynamics", "composite_body", "float")
    recognised, ranges = (
        Recognition(mechanism, program, ProgramOptions("float")),
        declared_ranges(mechanism),
    )
    rounded = propagate(
        program,
        subdivide(program, ranges),
        arithmetic,
        requested_rows=required_rows(program, recognised.divisors),
    )
    elimination = read_elimination(recognised)
    return (
        program,
        recognised,
        elimination,
        backward(elimination, Bodies(mechanism, ranges), rounded, arithmetic),
    )


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("panda", None),
        ("ur5", 3),
        ("puma560", None),
        ("chain9", None),
        ("tree5", 3),
        ("square_chain7", None),
        ("square_tree9", 3),
    ],
)
def test_computed_factors_are_exact_for_a_mass_matrix_within_the_backward_error(
    name: str, seed: int | None
) -> None:
    """|Û D̂ Ûᵀ − M| ≤ E, entry by entry; the certificate in float relies on this step."""
    arithmetic = Coarse("float", bits=26)
    mechanism = robot(name)
    program, recognised, elimination, error = analysed(mechanism, arithmetic)
    samples = states(mechanism, 500)
    computed = rows(program, samples, arithmetic, seed)
    M, exact = (
        Reference(mechanism, FLOAT).mass_matrix(samples["q"]),
        pivots(mechanism, samples["q"]),
    )
    assert len(elimination.sums) > mechanism.nv
    certified_joints = sorted(elimination.joints)
    root = {
        joint: closed_root(error, joint) for joint in certified_joints
    }  # independent of the certificates of the pivots
    D = {
        k: computed[elimination.rows[k, k]] if (k, k) in elimination.rows else exact[:, k]
        for k in certified_joints
    }
    U = {
        (i, k): 1.0
        if i == k
        else sign(recognised, elimination, (i, k)) * computed[elimination.rows[i, k]] / D[k]
        if (i, k) not in elimination.exact
        else exact_factor(M, i, k)
        for i, k in elimination.sums
    }
    nearest = 0.0
    for pair in elimination.sums:
        i, j = pair
        product = sum(
            U[i, k] * D[k] * U[j, k] for k in certified_joints if (i, k) in U and (j, k) in U
        )
        E = float((error.data[pair] + error.gamma[pair] * root[i] * root[j]).upper())
        target = M[:, i, j]
        if elimination.merged:
            target = sum(
                exact_factor(M, i, k) * exact[:, k] * exact_factor(M, j, k)
                for k in certified_joints
            )
        assert np.abs(product - target).max() <= E + 1e-12
        nearest = max(nearest, float(np.abs(product - target).max() / (E + 1e-30)))
    assert nearest > 1e-3


def sign(recognised: Recognition, elimination: Elimination, pair: tuple[int, int]) -> int:
    samples = recognised.samples
    return samples.same(samples.rows[elimination.rows[pair]], samples.elimination.reduced[pair])


def exact_factor(M: Array, i: int, k: int) -> Any:
    """U_ik of M = U D Uᵀ."""
    n = M.shape[-1]
    if k == n - 1:
        return M[:, i, k] / M[:, k, k]
    inner = M[:, k + 1 :, k + 1 :]
    solved = np.linalg.solve(inner, M[:, k + 1 :, k, None])[..., 0]
    return (M[:, i, k] - (M[:, i, k + 1 :] * solved).sum(-1)) / (
        M[:, k, k] - (M[:, k, k + 1 :] * solved).sum(-1)
    )


# -- divisors without certificate ------------------------------------------------------------------


def changed(mechanism: Mechanism, body: int, part: Part) -> Mechanism:
    bodies = list(mechanism.bodies)
    bodies[body] = replace(bodies[body], parts=(part,))
    return replace(mechanism, bodies=tuple(bodies))


def test_cells_of_a_position_cover_its_range_and_have_equal_widths() -> None:
    mechanism = robot("planar_arm")
    ranges = declared_ranges(mechanism)
    cells = subdivide(derive(mechanism, "potential_energy"), ranges, 49)["q"]
    for position, (low, high) in zip(cells, ranges.of["q"], strict=True):
        cell_bounds = np.unique(np.concatenate([position.lo, position.hi]))
        np.testing.assert_allclose(
            np.diff(cell_bounds), (cell_bounds[-1] - cell_bounds[0]) / 7, rtol=1e-12
        )
        assert len(position.lo) == 49
        assert (position.lo < position.hi).all()
        assert cell_bounds[0] <= low
        assert cell_bounds[-1] >= high


def test_a_floor_is_printed_rounded_down() -> None:
    assert [
        rounded_down(Fraction(*ratio)) for ratio in ((2, 3), (2, 30001), (99999999, 10**8))
    ] == [
        Fraction(666666, 10**6),
        Fraction(666644, 10**10),
        Fraction(999999, 10**6),
    ]


def test_a_link_without_inertia_has_no_certificate() -> None:
    arm = point_mass_arm(1, 0, 1)
    missing = own_inertias(arm)[1]
    assert missing.value is None
    assert "no moment of inertia" in missing.reason
    program = derive(random_mechanism(3, 5), "forward_dynamics", "composite_body", "float")
    light = changed(random_mechanism(3, 5), 1, Part("feather", (), Fraction(0)))
    program = derive(light, "forward_dynamics", "composite_body", "float")
    by_joint = {
        certificate.joint: certificate
        for certificate in certify_divisors(light, program, ProgramOptions("float"))
    }
    assert by_joint[1].lower_bound is None
    assert "no moment of inertia" in by_joint[1].reason
    assert by_joint[1].row not in certified_bounds(light, program, ProgramOptions("float"))


def test_nothing_inward_of_a_link_with_negative_inertia_has_a_certificate() -> None:
    mechanism = random_mechanism(3, 5)
    part = mechanism.bodies[1].parts[0]
    moments = (Fraction(-1, 50), *part.moments[1:])
    odd = changed(mechanism, 1, replace(part, moments=moments))
    owns = own_inertias(odd)
    assert [inertia.value is None for inertia in owns] == [True, True, False]
    assert "link1" in owns[0].reason
    assert "not positive" in owns[0].reason


@pytest.mark.parametrize("name", ["panda", "scara", "tree4"])
def test_a_load_at_run_time_keeps_all_certificates(name: str) -> None:
    """Take the heaviest loads of the ranges, each made of six equal point masses."""
    mechanism = robot(name)
    leaf = max(range(mechanism.nv), key=lambda i: len(Reference(mechanism).supports[i]))
    link = mechanism.bodies[leaf].name
    options, random = ProgramOptions("float", payload=link), np.random.default_rng(5)
    program, samples = (
        derive(mechanism, "forward_dynamics", "composite_body", "float", payload=link),
        states(mechanism, 600),
    )
    points = random.choice([-0.15, 0.15], (600, 6, 3)) * random.random((600, 1, 3))
    second = (points[:, :, :, None] * points[:, :, None, :]).mean(axis=1) * 5
    moments = np.trace(second, axis1=1, axis2=2)[:, None, None] * np.eye(3) - second
    parameters = [
        np.full((600, 1), 5.0),
        points.mean(axis=1),
        moments[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]],
    ]
    load = np.concatenate(parameters, axis=1)
    samples["payload"] = load
    certificates = certify_divisors(mechanism, program, options)
    computed = rows(program, samples, arithmetic_of("float"), 3)
    M = Reference(mechanism, FLOAT, payload=link).mass_matrix(samples["q"], load)
    bodies = Bodies(mechanism, declared_ranges(mechanism), link)
    assert all(M[:, i, i].max() <= float(bodies.composite(i).upper()) for i in range(mechanism.nv))
    assert certificates
    for certificate in certificates:
        assert certificate.lower_bound is not None
        assert computed[certificate.row].min() >= float(certificate.lower_bound)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "scara"])
def test_a_divisor_that_is_not_a_pivot_has_no_certificate(name: str) -> None:
    """Plant a wrong sign in the last subtraction of a pivot: its divisor loses the certificate."""
    mechanism, program, certificates = certified(name, "forward_dynamics", None, "float")
    for certificate in certificates:
        row = program.rows[certificate.row]
        wrong = row._replace(op="add" if row.op == "sub" else "sub")
        planted = program.with_rows(
            [wrong if i == certificate.row else r for i, r in enumerate(program.rows)],
            program.outputs,
        )
        assert certificate.row not in certified_bounds(mechanism, planted, ProgramOptions("float"))


def test_methods_with_other_divisors_state_why_there_is_no_certificate() -> None:
    mechanism, _, certificates = certified("scara", "forward_dynamics", "constraint_force", "float")
    assert certificates
    assert all(
        certificate.lower_bound is None and certificate.reason for certificate in certificates
    )
    assert mechanism.nv == 4


def test_a_program_without_divisors_has_no_certificates() -> None:
    for name in BUILT_IN:
        program = derive(robot(name), "mass_matrix", None, "float")
        assert certified_bounds(robot(name), program, ProgramOptions("float")) == {}


def test_too_few_bits_give_no_certificate_and_a_reason() -> None:
    """With eight bits, round-off exceeds the exact bound; the reason states the figures."""
    mechanism, program, _ = certified("panda", "forward_dynamics", None, "float")
    certificates = certify_divisors(
        mechanism, program, ProgramOptions("float"), arithmetic=Coarse("float", bits=8)
    )
    assert any(certificate.lower_bound is None for certificate in certificates)
    assert all(
        certificate.reason for certificate in certificates if certificate.lower_bound is None
    )
    joints = sorted(
        (certificate for certificate in certificates if certificate.lower_bound is None),
        key=lambda certificate: -(certificate.joint or 0),
    )
    assert all("has no bound" in certificate.reason for certificate in joints[1:])


def test_the_root_of_a_ball_contains_all_roots() -> None:
    """A ball of positive numbers has a lower bound of its roots; one around zero has none."""
    positive = _root(flint.arb(4, 1))
    assert all(positive.contains(flint.arb(x).sqrt()) for x in (3, 4, 5))
    assert positive > flint.arb("1.7")
    around_zero = _root(flint.arb(0, 4))
    assert all(around_zero.contains(x) or around_zero > x for x in (0, 1, 2))
    assert around_zero >= 2
