"""Certificates for joints with several velocities, and for quaternions of nearly unit length."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from symgen.certificate.backward import (
    backward,
    closed_root,
    constant_roots,
    open_root,
    relative_error,
)
from symgen.certificate.bodies import Bodies
from symgen.certificate.boxes import random_states, subdivide
from symgen.certificate.divisors import (
    DivisorCertificate,
    certified_bounds,
    certify_divisors,
    own_inertias,
    with_quaternions,
)
from symgen.certificate.elimination import read_elimination
from symgen.certificate.ranges import declared_ranges
from symgen.certificate.recognition import Recognition, named_meaning
from symgen.certificate.rounding import propagate, required_rows
from symgen.derivation.constants import as_float
from symgen.ir.program import Port
from symgen.mechanism.joints import joint_type
from symgen.mechanism.mechanism import Body, Joint, Limits, Mechanism, Part
from symgen.pipeline import derive as deriving
from symgen.pipeline.build import program as derive
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.reference.singularity import pivots
from symgen.verification.proof import prove, prove_programs, report
from symgen.verification.proof.finite import ROUND_OFF, carried_inertias, multiplier_sizes, travels
from symgen.verification.proof.round_off import bounds_at_states
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import Z_AXIS, pose
from tests.shared.robots_for_tests import random_mechanism, run
from tests.shared.rounded_rows import Coarse, coarse, rows

pytestmark = pytest.mark.usefixtures(
    "finished_here"
)  # certificates are for programs after all passes

DOUBLE, REAL = ProgramOptions("double"), ProgramOptions("float")
CASES = {
    "free_arm": ("free", "revolute"),
    "pendulums": ("spherical", "spherical"),
    "plate": ("planar", "revolute"),
    "mixed": ("revolute", "spherical", "cylindrical"),
    "tree": ("cylindrical", "planar", "revolute", "free"),
}
ROBOTS = tuple(CASES)
CASES["far"] = ("revolute", "cylindrical", "free")


@cache
def robot(name: str) -> Mechanism:
    kinds = CASES[name]
    mechanism = random_mechanism(len(kinds), seed=4, kind="tree" if name == "tree" else "chain")
    joints = tuple(
        replace(
            joint,
            kind=kind,
            axis=joint.axis if joint_type(kind).directed else Z_AXIS,
            parent=0 if name == "tree" and i else joint.parent,
        )
        for i, (joint, kind) in enumerate(zip(mechanism.joints, kinds, strict=True))
    )
    return replace(mechanism, name=name, joints=joints)


def body(kind: str, *masses: tuple[int, tuple[int, int, int]]) -> Mechanism:
    """Make a mechanism of one body with point masses, each given as (kg, position in m)."""
    parts = tuple(
        Part(f"p{i}", pose(tuple(Fraction(x) for x in position)), Fraction(m))
        for i, (m, position) in enumerate(masses)
    )
    return Mechanism("one", (Joint("root", kind, -1),), (Body("link", parts),))


def sampled_states(
    mechanism: Mechanism, count: int = 300, options: ProgramOptions = DOUBLE
) -> dict[str, Array]:
    return random_states(mechanism, declared_ranges(mechanism), options, count, 11)


def exact_pivots(mechanism: Mechanism, q: Array) -> Array:
    """Return the pivots (count, NV) by the recursion of the reference."""
    exact = np.empty((len(q), mechanism.nv))
    for pivot in pivots(Reference(mechanism, FLOAT), q):
        exact[:, pivot.dof] = pivot.articulated
    return exact


@cache
def certified(name: str, method: str) -> tuple[Any, list[DivisorCertificate]]:
    program = derive(robot(name), "forward_dynamics", method, "float")
    return program, certify_divisors(robot(name), program, REAL)


# -- the exact bound -------------------------------------------------------------------------------


def pivots_below(mechanism: Mechanism, values: list[float | None]) -> list[str]:
    """Return the names of velocities whose exact pivot is below `values` at some state."""
    exact = exact_pivots(mechanism, sampled_states(mechanism)["q"])
    return [
        name
        for k, name in enumerate(mechanism.velocity_names)
        if (value := values[k]) is not None and not (exact[:, k] >= value * (1 - 1e-9)).all()
    ]


@pytest.mark.parametrize("name", ROBOTS)
def test_no_pivot_is_below_the_inertia_of_the_body_itself(name: str) -> None:
    owns = own_inertias(robot(name))
    assert [inertia.joint for inertia in owns] == list(robot(name).velocity_names)
    assert all(inertia.value is not None for inertia in owns)
    assert pivots_below(robot(name), [float(inertia.value or 0) for inertia in owns]) == []


@pytest.mark.parametrize("kind", ["free", "spherical", "planar", "cylindrical"])
def test_the_bound_of_a_single_body_is_its_pivot_and_a_higher_one_is_detected(kind: str) -> None:
    arm = random_mechanism(1, seed=9)
    joint = replace(
        arm.joints[0], kind=kind, axis=arm.joints[0].axis if joint_type(kind).directed else Z_AXIS
    )
    mechanism = replace(arm, joints=(joint,))
    values = [float(block.value or 0) for block in own_inertias(mechanism)]
    (block,) = Bodies(mechanism, declared_ranges(mechanism)).blocks
    (M,) = Reference(mechanism, FLOAT).mass_matrix(sampled_states(mechanism, 1)["q"])
    assert np.array([[as_float(x) for x in row] for row in block]) == pytest.approx(M)
    assert exact_pivots(mechanism, sampled_states(mechanism)["q"]) == pytest.approx(
        np.array([values] * 300), rel=1e-9
    )
    for k, name in enumerate(mechanism.velocity_names):
        assert pivots_below(
            mechanism, [1.1 * x if i == k else x for i, x in enumerate(values)]
        ) == [name]


def test_a_velocity_without_inertia_has_no_certificate() -> None:
    """A point mass on the z axis has inertia about x and y, but none about z."""
    owns = own_inertias(body("spherical", (2, (0, 0, 3))))
    assert [inertia.value for inertia in owns] == [18, 18, None]
    assert owns[2].reason == "link 'link' alone can move along 'root.wz' without energy"
    # a point off the axes: the first velocity has no inertia when the other two are free
    assert [
        inertia.value is None for inertia in own_inertias(body("spherical", (1, (1, 1, 1))))
    ] == [
        True,
        False,
        False,
    ]
    assert [inertia.value for inertia in own_inertias(body("planar", (3, (0, 0, 0))))] == [
        3,
        3,
        None,
    ]
    assert all(inertia.value is None for inertia in own_inertias(body("free")))


def test_nothing_inward_of_negative_inertia_has_a_certificate() -> None:
    mechanism = robot("mixed")
    (part,) = mechanism.bodies[1].parts
    odd = replace(part, moments=(Fraction(-1), *part.moments[1:]))
    owns = own_inertias(
        replace(
            mechanism,
            bodies=(
                mechanism.bodies[0],
                replace(mechanism.bodies[1], parts=(odd,)),
                mechanism.bodies[2],
            ),
        )
    )
    assert [inertia.value is None for inertia in owns] == [True] * 4 + [False] * 2
    assert all(
        inertia.reason == "the inertia of link 'link1' is not positive" for inertia in owns[:4]
    )


# -- the computed bound ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "method"), [*((name, "composite_body") for name in ROBOTS), ("pendulums", "riccati")]
)
def test_the_computed_divisor_is_no_less_than_its_certificate(name: str, method: str) -> None:
    program, certificates = certified(name, method)
    states = sampled_states(robot(name))
    D = exact_pivots(robot(name), states["q"])
    machine, exact = (
        rows(program, states, Coarse("float", bits=24), 3),
        run(
            program.with_rows(
                program.rows,
                [
                    Port(
                        "D",
                        (len(certificates),),
                        tuple(certificate.row for certificate in certificates),
                    )
                ],
            ),
            {port.name: states[port.name] for port in program.inputs},
        )["D"],
    )
    assert certificates
    for column, certificate in enumerate(certificates):
        assert certificate.joint is not None
        assert exact[:, column] == pytest.approx(
            D[:, certificate.joint], rel=1e-9
        )  # the row equals the pivot that it is recognised as
        assert certificate.certified or method == "riccati", certificate.reason
        if certificate.lower_bound is not None:
            assert machine[certificate.row].min() >= float(certificate.lower_bound)
    assert certified_bounds(robot(name), program, REAL) == {
        certificate.row: certificate.lower_bound
        for certificate in certificates
        if certificate.certified
    }


@pytest.mark.parametrize("name", CASES)
def test_energies_bound_rates_and_stretched_links_bound_the_mass_matrix(name: str) -> None:
    mechanism = robot(name)
    bodies, random = Bodies(mechanism, declared_ranges(mechanism)), np.random.default_rng(7)
    q = sampled_states(mechanism, 60)["q"]
    mass_matrices = []
    for c in range(len(mechanism.bodies)):
        stripped_bodies = tuple(
            body_ if i == c else replace(body_, parts=())
            for i, body_ in enumerate(mechanism.bodies)
        )
        mass_matrices.append(
            Reference(replace(mechanism, bodies=stripped_bodies), FLOAT).mass_matrix(q)
        )
    M = sum(mass_matrices)
    nearest = 0.0
    for k in range(mechanism.nv):
        assert M[:, k, k].max() <= float(bodies.composite(k).upper()) * (1 + 1e-12)
        rates, outward = bodies.rates(k), bodies.outward(k)
        assert not isinstance(rates, str), rates
        assert sorted(rates) == outward
        locked_rates = bodies.locked(k, rates)
        assert locked_rates is not None
        for shares, free in ((rates, outward), (locked_rates, outward[1:])):
            for b in free:
                for trial in range(3):
                    x = np.zeros((len(q), mechanism.nv))
                    if trial:
                        x[:, free] = random.normal(
                            size=(len(q), len(free))
                        ) * 10.0 ** random.uniform(-2, 2, len(free))
                    else:  # the rates of least energy for velocity b
                        x[:, free] = np.linalg.inv(M[:, free][:, :, free])[:, :, free.index(b)]
                    e = [
                        np.sqrt(np.maximum(np.einsum("si,sij,sj->s", x, A, x), 0))
                        for A in mass_matrices
                    ]
                    bound = sum(
                        (float(size.upper()) * e[c] for c, size in shares[b].items()), 0 * e[0]
                    )
                    assert (np.abs(x[:, b]) <= bound * (1 + 1e-6) + 1e-9).all()
                    nearest = max(nearest, float((np.abs(x[:, b]) / (bound + 1e-30)).max()))
    assert nearest > 0.5


@pytest.mark.parametrize("name", ["free_arm", "pendulums", "mixed"])
def test_no_matrix_within_the_backward_error_has_a_smaller_pivot(name: str) -> None:
    """Add E to M with the signs that lower a pivot most: the pivot falls by at most its bound."""
    mechanism, (program, _) = robot(name), certified(name, "composite_body")
    ranges, recognised, arithmetic = (
        declared_ranges(mechanism),
        Recognition(mechanism, program, REAL),
        Coarse("float", bits=24),
    )
    bodies = Bodies(mechanism, ranges)
    rounded = propagate(
        program,
        subdivide(program, ranges),
        with_quaternions(arithmetic, mechanism),
        requested_rows=required_rows(program, recognised.divisors),
    )
    error = backward(read_elimination(recognised), bodies, rounded, arithmetic)
    M, roots, checked = (
        Reference(mechanism, FLOAT).mass_matrix(sampled_states(mechanism)["q"]),
        constant_roots(error),
        0,
    )
    for k in reversed(range(mechanism.nv)):
        inside = [b for b in bodies.outward(k) if b in error.elimination.joints]
        if k not in inside:
            continue
        eta, rates, at = relative_error(error, k, roots), bodies.rates(k), inside.index(k)
        assert not isinstance(eta, str), eta
        assert not isinstance(rates, str), rates
        root = open_root(error, k, rates, roots)
        assert root is not None
        t, E = {**roots, k: root}, np.zeros((len(inside), len(inside)))
        for a, i in enumerate(inside):
            for c, j in enumerate(inside):
                if (pair := (min(i, j), max(i, j))) in error.elimination.sums:
                    E[a, c] = float((error.data[pair] + error.gamma[pair] * t[i] * t[j]).upper())
        A = M[:, inside][:, :, inside]
        x = np.linalg.inv(A)[:, :, at]
        lowered = A - np.sign(x)[:, :, None] * np.sign(x)[:, None, :] * E
        before, after = (1 / np.linalg.inv(B)[:, at, at] for B in (A, lowered))
        assert (after >= before * (1 - float(eta.upper())) - 1e-12).all()
        assert (lowered[:, at, at] - after <= float((root**2).upper()) * (1 + 1e-9)).all()
        closed, checked = closed_root(error, k), checked + 1
        assert closed is not None
        roots = {**roots, k: closed}
    assert checked == len(error.elimination.joints)


@pytest.mark.parametrize(
    ("name", "method"), [("free_arm", "composite_body"), ("pendulums", "riccati")]
)
def test_multipliers_and_gains_are_recognised_and_within_their_bounds(
    name: str, method: str
) -> None:
    mechanism, (program, certificates) = robot(name), certified(name, method)
    recognised = Recognition(mechanism, program, REAL)
    assert recognised.multipliers == {
        i: meaning
        for i, row in enumerate(program.rows)
        if (meaning := named_meaning(row.name)) is not None
    }
    lowest = {
        certificate.row: certificate.lower_bound
        for certificate in certificates
        if certificate.lower_bound is not None
    }
    bounds = multiplier_sizes(recognised, declared_ranges(mechanism).of, lowest)
    assert bounds
    states, port = sampled_states(mechanism), Port("chosen", (len(bounds),), tuple(bounds))
    largest = np.abs(
        run(
            program.with_rows(program.rows, [port]),
            {port_.name: states[port_.name] for port_ in program.inputs},
        )["chosen"]
    )
    assert (
        largest.max(axis=0)
        <= np.array([float(bound) for bound in bounds.values()]) / ROUND_OFF * (1 + 1e-6)
    ).all()


def test_carried_inertias_include_the_travel_of_the_joints() -> None:
    assert travels(robot("tree"), declared_ranges(robot("tree")).of) == pytest.approx(
        [1, 2**0.5, 0, 3**0.5]
    )
    assert travels(robot("pendulums"), declared_ranges(robot("pendulums")).of) == [0, 0]
    mechanism = robot("far")
    M = Reference(mechanism, FLOAT).mass_matrix(sampled_states(mechanism)["q"])
    most = carried_inertias(
        deriving.models(mechanism)[0], travels(mechanism, declared_ranges(mechanism).of)
    )
    for k, (i, _) in enumerate(mechanism.dofs):
        moment, mass = most[i]
        of_k = Bodies(mechanism, declared_ranges(mechanism)).column(k)
        assert M[:, k, k].max() <= (
            moment * as_float(of_k.angular_squared) + mass * as_float(of_k.linear_squared)
        ) * (1 + 1e-9)


# -- quaternions -----------------------------------------------------------------------------------


def test_states_have_quaternions_of_unit_length() -> None:
    states = sampled_states(robot("pendulums"), options=REAL)
    for first in robot("pendulums").quaternions:
        assert (
            np.abs(np.linalg.norm(states["q"][:, first : first + 4], axis=1) - 1).max() < 2.0**-23
        )
    assert robot("tree").quaternions == (9,)


def test_a_quaternion_whose_length_is_nearly_1_stays_within_the_bound() -> None:
    """Compare results, rounded and exact, with those of the normalised quaternion."""
    mechanism = body("spherical", (2, (3, 0, 0)), (5, (0, 4, 1)))
    program, arithmetic, states = (
        derive(mechanism, "gravity_force", None, "float"),
        Coarse("float", bits=12),
        sampled_states(mechanism),
    )
    reference_results = Reference(mechanism, FLOAT).evaluate("gravity_force", {"q": states["q"]})[
        "g"
    ]
    bound, naive = (
        bounds_at_states(program, states, arithmetic_)["g"]
        for arithmetic_ in (with_quaternions(arithmetic, mechanism), arithmetic)
    )
    for off in (-3.9, 3.9):
        longer = {"q": states["q"] * (1 + off * arithmetic.unit)}
        error = np.abs(run(program, longer)["g"] - reference_results)
        assert (error <= bound).all()
        assert not (error <= naive).all()
    short = {"q": coarse(states["q"], 12)}
    machine = rows(program, short, arithmetic, 5)
    assert (
        np.abs(
            np.stack([machine[row] for row in program.outputs[0].rows], axis=-1) - reference_results
        )
        <= bound
    ).all()


# -- ranges and the report -------------------------------------------------------------------------


def test_ranges_have_one_entry_for_each_coordinate_and_velocity() -> None:
    mechanism = robot("free_arm")
    tight = Limits(Fraction(-1, 10), Fraction(1, 10), Fraction(1, 10), Fraction(1, 10))
    ranges = declared_ranges(
        replace(mechanism, joints=tuple(replace(joint, limits=tight) for joint in mechanism.joints))
    )
    assert {name: len(ranges.of[name]) for name in ("q", "v", "a", "tau", "b")} == {
        "q": 8,
        "v": 7,
        "a": 7,
        "tau": 7,
        "b": 7,
    }
    assert [float(high) for _, high in ranges.of["q"]] == [1] * 7 + [0.1]
    assert [float(high) for _, high in ranges.of["v"]] == [5] * 6 + [0.1]
    assumptions = "\n".join(ranges.assumed)
    assert (
        "joint0.px, joint0.py, joint0.pz: limits are those of joints of one coordinate, ±1 m"
        " assumed" in assumptions
    )
    assert "joint0.x, joint0.y, joint0.z, joint0.w: " in assumptions
    assert "unit quaternion, within ±1; intervals do not know that its length is 1" in assumptions
    assert (
        "joint0.vx, joint0.vy, joint0.vz: velocity limits are those of joints of one coordinate, ±5"
        " m/s assumed" in assumptions
    )
    assert "joint1" not in assumptions


def test_the_report_has_one_line_for_each_velocity() -> None:
    mechanism = robot("mixed")
    proof = prove(mechanism, ["forward_dynamics=composite_body"], REAL, states=50)
    assert proof.holds
    text, facts = str(proof), json.loads(json.dumps(proof.facts()))
    assert [entry["joint"] for entry in facts["joints"]] == list(mechanism.velocity_names)
    assert [entry["unit"] for entry in facts["joints"]] == ["kg m²"] * 5 + ["kg"]
    assert all(name in text for name in mechanism.velocity_names)
    assert "of a joint with several velocities" in text
    assert "the length of a quaternion is 1 within 4 u" in text
    assert text.endswith("4 of 4 divisors certified; no observation exceeds its bound")


@pytest.mark.slow
def test_a_lower_bound_ten_percent_too_high_is_contradicted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a light second body, the pivots of the first are only just above its own inertia."""
    mechanism = robot("pendulums")
    light = tuple(
        replace(
            part,
            mass=part.mass / 10**4,
            moments=(
                Fraction(1, 10**5),
                *(Fraction(0),) * 2,
                Fraction(1, 10**5),
                Fraction(0),
                Fraction(1, 10**5),
            ),
        )
        for part in mechanism.bodies[1].parts
    )
    mechanism = replace(
        mechanism, bodies=(mechanism.bodies[0], replace(mechanism.bodies[1], parts=light))
    )
    programs = {
        "forward_dynamics": derive(mechanism, "forward_dynamics", "composite_body", "float")
    }
    proof = prove_programs(mechanism, programs, REAL, states=50)
    assert proof.holds
    monkeypatch.setattr(
        "symgen.verification.proof.certify_divisors",
        lambda *args, **named: [
            replace(certificate, lower_bound=certificate.lower_bound * Fraction(11, 10))
            for certificate in certify_divisors(*args, **named)
            if certificate.lower_bound is not None
        ],
    )
    wrong = prove_programs(mechanism, programs, REAL, states=50)
    assert not wrong.holds
    assert all(not divisor.holds for function in wrong.functions for divisor in function.divisors)
    assert isinstance(wrong, report.Proof)
