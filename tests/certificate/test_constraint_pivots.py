"""Certificates of pivots of A M⁻¹ Aᵀ (loops, contacts): only damped pivots have a lower bound."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import symgen
from symgen.certificate import checked_bounds, divisors
from symgen.certificate.bodies import Bodies
from symgen.certificate.boxes import random_states
from symgen.certificate.divisors import DivisorCertificate, certify_divisors
from symgen.certificate.ranges import declared_ranges
from symgen.certificate.recognition import Recognition
from symgen.ir.program import Program, Row
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.reference.precision import Array
from symgen.vocabulary.options import ProgramOptions, TextOptions
from tests.shared.looped import bennett, doubled
from tests.shared.mimic_robots import GRIPPER
from tests.shared.robots_for_tests import random_mechanism
from tests.shared.rounded_rows import Coarse, rows

pytestmark = pytest.mark.usefixtures(
    "finished_here"
)  # certificates are for programs after all passes

LOOPS, CONTACTS = "constrained_forward_dynamics", "contact_forward_dynamics"
CORNERS = ("link1:0.1,0.05,-0.1", "link1:0.1,-0.05,-0.1")


@cache
def robot(name: str) -> Mechanism:
    if name == "bennett":
        return bennett()
    if name == "closed twice":
        return doubled(symgen.load("four_bar"), turned=True)
    if name == "afloat":
        return random_mechanism(2, 4, "chain", ("free", "revolute"))
    return random_mechanism(3, 2) if name == "arm" else symgen.load(name)


@cache
def built_program(
    name: str,
    function: str,
    method: str | None,
    real: str = "double",
    contact: tuple[str, ...] = (),
) -> tuple[Program, ProgramOptions]:
    options = ProgramOptions(real, contact=list(contact) or None)
    return build.build_program(robot(name), function, method, options), options


CASES = [
    ("bennett", LOOPS, "composite_body", ()),
    ("bennett", "constraint_impulse", "riccati", ()),
    ("closed twice", LOOPS, "composite_body", ()),
    (
        "scara",
        "contact_impulse",
        "composite_body",
        ("link2:0.1,0,0", "link2:0.2,0,0"),
    ),  # two rows of A are zero
    ("arm", CONTACTS, "composite_body", ("link1", "link2:0,0,0.3")),
    ("afloat", "contact_impulse", "riccati", CORNERS),
    (
        "four_bar",
        CONTACTS,
        "composite_body",
        ("coupler:0.1,0,0",),
    ),  # these include the rows of the loop
]
every_case = pytest.mark.parametrize(("name", "function", "method", "contact"), CASES)


def states(mechanism: Mechanism, options: ProgramOptions, count: int) -> dict[str, Array]:
    """Draw states from the ranges, loops closed or not, contacts active, inactive or in between."""
    samples = random_states(
        mechanism, declared_ranges(mechanism, contacts=len(options.contacts)), options, count
    )
    if "active" in samples:
        samples["active"][::2] = np.round(samples["active"][::2])
    return samples


def damped_pivots(certificates: list[DivisorCertificate]) -> list[DivisorCertificate]:
    return [certificate for certificate in certificates if "damped" in certificate.description]


@every_case
def test_no_computed_pivot_is_below_its_floor(
    name: str, function: str, method: str, contact: tuple[str, ...]
) -> None:
    program, options = built_program(name, function, method, contact=contact)
    arithmetic = Coarse("double", bits=48)
    all_certificates = certify_divisors(robot(name), program, options, arithmetic=arithmetic)
    certificates = damped_pivots(all_certificates)
    assert {certificate.row for certificate in all_certificates if certificate.joint is None} == {
        certificate.row for certificate in certificates
    }
    assert len(certificates) >= 4
    samples = states(robot(name), options, 400)
    for adversary in (None, 3):
        computed = rows(program, samples, arithmetic, adversary)
        for certificate in certificates:
            assert certificate.lower_bound is not None, certificate.reason
            assert certificate.exact_bound is not None
            assert certificate.lower_bound > certificate.exact_bound / 2
            assert computed[certificate.row].min() >= float(certificate.lower_bound)


@every_case
def test_the_damping_is_bounded_by_one_column(
    name: str, function: str, method: str, contact: tuple[str, ...]
) -> None:
    mechanism, (program, options) = (
        robot(name),
        built_program(name, function, method, contact=contact),
    )
    ranges = declared_ranges(mechanism, contacts=len(contact))
    pivots = divisors.find_constraint_pivots(Recognition(mechanism, program, options), options)
    assert pivots is not None
    assert pivots.damped
    bound = divisors.least_damping(pivots.recognition, Bodies(mechanism, ranges), ranges, options)
    (mu,) = [i for i, row in enumerate(program.rows) if row.name == "mu"]
    least = rows(program, states(mechanism, options, 400), Coarse("double", bits=53))[mu].min()
    assert least / 300 < float(bound) <= least


def with_rows_replaced(program: Program, changed: dict[int, Row]) -> Program:
    return program.with_rows(
        [changed.get(i, row) for i, row in enumerate(program.rows)], program.outputs
    )


def damping_rows(program: Program) -> tuple[int, int]:
    """Return the row numbers of μ and of the trace."""
    (mu,) = [i for i, row in enumerate(program.rows) if row.name == "mu"]
    return mu, next(a for a in program.rows[mu].args if program.rows[a].op != "const")


def without_damping(program: Program) -> Program:
    mu, trace = damping_rows(program)
    return with_rows_replaced(program, {mu: Row("sub", (trace, trace))})


def damping_subtracted(program: Program) -> Program:
    mu, _ = damping_rows(program)
    return with_rows_replaced(
        program,
        {
            i: row._replace(op="sub", args=tuple(sorted(row.args, key=lambda a: a == mu)))
            for i, row in enumerate(program.rows)
            if row.op == "add" and mu in row.args
        },
    )


def damping_of_one_summand(program: Program) -> Program:
    mu, trace = damping_rows(program)
    row = program.rows[mu]
    return with_rows_replaced(
        program,
        {
            mu: row._replace(
                args=tuple(program.rows[trace].args[0] if a == trace else a for a in row.args)
            )
        },
    )


@pytest.mark.slow
@pytest.mark.parametrize("plant", [without_damping, damping_subtracted, damping_of_one_summand])
@pytest.mark.parametrize("case", [CASES[0], CASES[4]])
def test_an_error_in_the_damping_removes_every_certificate(
    plant: Callable[[Program], Program], case: tuple[str, str, str, tuple[str, ...]]
) -> None:
    name, function, method, contact = case
    program, options = built_program(name, function, method, contact=contact)
    assert all(
        certificate.certified
        for certificate in damped_pivots(certify_divisors(robot(name), program, options))
    )
    assert not [
        certificate
        for certificate in certify_divisors(robot(name), plant(program), options)
        if certificate.joint is None and certificate.certified
    ]


@pytest.mark.slow
def test_a_pivot_without_lower_bound_states_the_reason() -> None:
    """Three reasons: no damping, round-off above the damping (float), a column that may be zero."""
    for name, function, contact in (
        ("four_bar", LOOPS, ()),
        ("arm", "contact_impulse", ("link2:0,0,0.3",)),
    ):
        program, options = built_program(name, function, "composite_body", contact=contact)
        certificates = [
            certificate
            for certificate in certify_divisors(robot(name), program, options)
            if certificate.joint is None
        ]
        assert len(certificates) in (2, 3)
        assert {(certificate.lower_bound, certificate.reason) for certificate in certificates} == {
            (None, divisors.SINGULAR)
        }
    program, options = built_program("bennett", LOOPS, "composite_body", "float")
    certificates = certify_divisors(robot("bennett"), program, options)
    assert [certificate.lower_bound for certificate in damped_pivots(certificates)] == [None] * 5
    assert "round-off is only known to be below" in damped_pivots(certificates)[0].reason
    assert all(
        certificate.certified for certificate in certificates if certificate.joint is not None
    )
    program, options = built_program("bennett", "constraint_impulse:jvp", "composite_body")
    assert {
        certificate.reason
        for certificate in damped_pivots(certify_divisors(robot("bennett"), program, options))
    } == {divisors.LOST}


@pytest.mark.slow
@pytest.mark.usefixtures("full_search")
def test_rows_of_a_contact_on_a_follower_are_recognised() -> None:
    """The rows may be written in axes that rotate with the follower."""
    mechanism, options = symgen.load(GRIPPER), ProgramOptions(contact="right:0.01,0.02,0.05")
    program = build.build_program(mechanism, "contact_impulse", None, options)
    divisors = [
        certificate
        for certificate in certify_divisors(mechanism, program, options)
        if certificate.joint is None
    ]
    assert [certificate.description for certificate in divisors] == [
        f"(damped row {k} of A M^-1 A^T)" for k in (1, 2, 3)
    ]


def test_checked_code_compares_pivots_with_their_lower_bounds() -> None:
    program, options = built_program("bennett", LOOPS, "composite_body")
    bounds = checked_bounds(robot("bennett"), {LOOPS: program}, options, TextOptions(checked=True))[
        LOOPS
    ]
    assert set(bounds) == {row.args[1] for row in program.rows if row.op == "div"}
    damping = [bound for row, bound in bounds.items() if program.rows[row].name.startswith("S_")]
    assert len(damping) == 5
    assert all(isinstance(bound, Fraction) and 1e-6 < bound < 1e-5 for bound in damping)
