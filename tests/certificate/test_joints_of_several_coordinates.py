"""Certificates of joints with several degrees of freedom: a pivot an entry of v, and quaternions of nearly unit length."""

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
    Floor,
    divisor_floors,
    floors,
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

pytestmark = pytest.mark.usefixtures("finished_here")  # what is certified are rows after all passes

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
    made = random_mechanism(len(kinds), seed=4, kind="tree" if name == "tree" else "chain")
    joints = tuple(
        replace(
            joint,
            kind=kind,
            axis=joint.axis if joint_type(kind).directed else Z_AXIS,
            parent=0 if name == "tree" and i else joint.parent,
        )
        for i, (joint, kind) in enumerate(zip(made.joints, kinds, strict=True))
    )
    return replace(made, name=name, joints=joints)


def body(kind: str, *masses: tuple[int, tuple[int, int, int]]) -> Mechanism:
    """One body of point masses (kg, at m)."""
    parts = tuple(
        Part(f"p{i}", pose(tuple(Fraction(x) for x in at)), Fraction(m))
        for i, (m, at) in enumerate(masses)
    )
    return Mechanism("one", (Joint("root", kind, -1),), (Body("link", parts),))


def given(
    mechanism: Mechanism, count: int = 300, options: ProgramOptions = DOUBLE
) -> dict[str, Array]:
    return random_states(mechanism, declared_ranges(mechanism), options, count, 11)


def exact_pivots(mechanism: Mechanism, q: Array) -> Array:
    """(count, NV), by the reference's recursion."""
    found = np.empty((len(q), mechanism.nv))
    for felt in pivots(Reference(mechanism, FLOAT), q):
        found[:, felt.dof] = felt.articulated
    return found


@cache
def certified(name: str, method: str) -> tuple[Any, list[Floor]]:
    made = derive(robot(name), "forward_dynamics", method, "float")
    return made, floors(robot(name), made, REAL)


# -- the exact bound -----------------------------------------------------------------------------------------------------


def too_high(mechanism: Mechanism, values: list[float | None]) -> list[str]:
    """The entries of v whose exact pivot is below these somewhere."""
    found = exact_pivots(mechanism, given(mechanism)["q"])
    return [
        name
        for k, name in enumerate(mechanism.velocity_names)
        if (value := values[k]) is not None and not (found[:, k] >= value * (1 - 1e-9)).all()
    ]


@pytest.mark.parametrize("name", ROBOTS)
def test_no_pivot_is_below_what_the_body_alone_has(name: str) -> None:
    owns = own_inertias(robot(name))
    assert [own.joint for own in owns] == list(robot(name).velocity_names)
    assert all(own.value is not None for own in owns)
    assert too_high(robot(name), [float(own.value or 0) for own in owns]) == []


@pytest.mark.parametrize("kind", ["free", "spherical", "planar", "cylindrical"])
def test_alone_the_bound_is_the_pivot_and_a_tenth_more_is_caught(kind: str) -> None:
    made = random_mechanism(1, seed=9)
    joint = replace(
        made.joints[0], kind=kind, axis=made.joints[0].axis if joint_type(kind).directed else Z_AXIS
    )
    mechanism = replace(made, joints=(joint,))
    values = [float(own.value or 0) for own in own_inertias(mechanism)]
    (own,) = Bodies(mechanism, declared_ranges(mechanism)).blocks
    (M,) = Reference(mechanism, FLOAT).mass_matrix(given(mechanism, 1)["q"])
    assert np.array([[as_float(x) for x in row] for row in own]) == pytest.approx(M)
    assert exact_pivots(mechanism, given(mechanism)["q"]) == pytest.approx(
        np.array([values] * 300), rel=1e-9
    )
    for k, name in enumerate(mechanism.velocity_names):
        assert too_high(mechanism, [1.1 * x if i == k else x for i, x in enumerate(values)]) == [
            name
        ]


def test_where_a_body_meets_no_velocity_there_is_no_certificate() -> None:
    """A point out along z has no inertia about z; about y and x, and along all axes of a free joint, it has."""
    owns = own_inertias(body("spherical", (2, (0, 0, 3))))
    assert [own.value for own in owns] == [18, 18, None]
    assert owns[2].reason == "link 'link' alone can move along 'root.wz' without energy"
    # of two points askew the last velocity that is left meets nothing
    assert [own.value is None for own in own_inertias(body("spherical", (1, (1, 1, 1))))] == [
        True,
        False,
        False,
    ]
    assert [own.value for own in own_inertias(body("planar", (3, (0, 0, 0))))] == [3, 3, None]
    assert all(own.value is None for own in own_inertias(body("free")))


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
    assert [own.value is None for own in owns] == [True] * 4 + [False] * 2
    assert all(own.reason == "the inertia of link 'link1' is not positive" for own in owns[:4])


# -- the computed bound --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "method"), [*((name, "composite_body") for name in ROBOTS), ("pendulums", "riccati")]
)
def test_the_computed_divisor_is_no_less_than_its_certificate(name: str, method: str) -> None:
    made, found = certified(name, method)
    states = given(robot(name))
    D = exact_pivots(robot(name), states["q"])
    machine, exact = (
        rows(made, states, Coarse("float", bits=24), 3),
        run(
            made.with_rows(
                made.rows, [Port("D", (len(found),), tuple(floor.row for floor in found))]
            ),
            {port.name: states[port.name] for port in made.inputs},
        )["D"],
    )
    assert found
    for column, floor in enumerate(found):
        assert floor.joint is not None
        assert exact[:, column] == pytest.approx(
            D[:, floor.joint], rel=1e-9
        )  # a row is the pivot that it is taken for
        assert floor.certified or method == "riccati", floor.reason
        if floor.floor is not None:
            assert machine[floor.row].min() >= float(floor.floor)
    assert divisor_floors(robot(name), made, REAL) == {
        floor.row: floor.floor for floor in found if floor.certified
    }


@pytest.mark.parametrize("name", CASES)
def test_energies_bound_rates_and_stretched_links_bound_the_mass_matrix(name: str) -> None:
    mechanism = robot(name)
    bodies, random = Bodies(mechanism, declared_ranges(mechanism)), np.random.default_rng(7)
    q = given(mechanism, 60)["q"]
    alone = []
    for c in range(len(mechanism.bodies)):
        parts = tuple(
            one if i == c else replace(one, parts=()) for i, one in enumerate(mechanism.bodies)
        )
        alone.append(Reference(replace(mechanism, bodies=parts), FLOAT).mass_matrix(q))
    M = sum(alone)
    nearest = 0.0
    for k in range(mechanism.nv):
        assert M[:, k, k].max() <= float(bodies.composite(k).upper()) * (1 + 1e-12)
        found, outward = bodies.rates(k), bodies.outward(k)
        assert not isinstance(found, str), found
        assert sorted(found) == outward
        still = bodies.locked(k, found)
        assert still is not None
        for shares, free in ((found, outward), (still, outward[1:])):
            for b in free:
                for trial in range(3):
                    x = np.zeros((len(q), mechanism.nv))
                    if trial:
                        x[:, free] = random.normal(
                            size=(len(q), len(free))
                        ) * 10.0 ** random.uniform(-2, 2, len(free))
                    else:  # the rates of least energy for this one
                        x[:, free] = np.linalg.inv(M[:, free][:, :, free])[:, :, free.index(b)]
                    e = [np.sqrt(np.maximum(np.einsum("si,sij,sj->s", x, A, x), 0)) for A in alone]
                    bound = sum(
                        (float(size.upper()) * e[c] for c, size in shares[b].items()), 0 * e[0]
                    )
                    assert (np.abs(x[:, b]) <= bound * (1 + 1e-6) + 1e-9).all()
                    nearest = max(nearest, float((np.abs(x[:, b]) / (bound + 1e-30)).max()))
    assert nearest > 0.5


@pytest.mark.parametrize("name", ["free_arm", "pendulums", "mixed"])
def test_no_matrix_as_near_as_the_analysis_says_has_a_smaller_pivot(name: str) -> None:
    """M + E with the signs of E that hurt a pivot most, at its own rates: D falls by its share at most, and t is kept."""
    mechanism, (made, _) = robot(name), certified(name, "composite_body")
    ranges, recognised, arithmetic = (
        declared_ranges(mechanism),
        Recognition(mechanism, made, REAL),
        Coarse("float", bits=24),
    )
    bodies = Bodies(mechanism, ranges)
    rounded = propagate(
        made,
        subdivide(made, ranges),
        with_quaternions(arithmetic, mechanism),
        wanted=required_rows(made, recognised.divisors),
    )
    error = backward(read_elimination(recognised), bodies, rounded, arithmetic)
    M, roots, looked = (
        Reference(mechanism, FLOAT).mass_matrix(given(mechanism)["q"]),
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
        hurt = A - np.sign(x)[:, :, None] * np.sign(x)[:, None, :] * E
        before, after = (1 / np.linalg.inv(B)[:, at, at] for B in (A, hurt))
        assert (after >= before * (1 - float(eta.upper())) - 1e-12).all()
        assert (hurt[:, at, at] - after <= float((root**2).upper()) * (1 + 1e-9)).all()
        closed, looked = closed_root(error, k), looked + 1
        assert closed is not None
        roots = {**roots, k: closed}
    assert looked == len(error.elimination.joints)


@pytest.mark.parametrize(
    ("name", "method"), [("free_arm", "composite_body"), ("pendulums", "riccati")]
)
def test_multipliers_and_gains_are_known_and_keep_to_their_sizes(name: str, method: str) -> None:
    mechanism, (made, found) = robot(name), certified(name, method)
    recognised = Recognition(mechanism, made, REAL)
    assert recognised.multipliers == {
        i: what for i, row in enumerate(made.rows) if (what := named_meaning(row.name)) is not None
    }
    lowest = {floor.row: floor.floor for floor in found if floor.floor is not None}
    bounds = multiplier_sizes(recognised, declared_ranges(mechanism).of, lowest)
    assert bounds
    states, port = given(mechanism), Port("chosen", (len(bounds),), tuple(bounds))
    seen = np.abs(
        run(made.with_rows(made.rows, [port]), {one.name: states[one.name] for one in made.inputs})[
            "chosen"
        ]
    )
    assert (
        seen.max(axis=0)
        <= np.array([float(bound) for bound in bounds.values()]) / ROUND_OFF * (1 + 1e-6)
    ).all()


def test_what_is_carried_reaches_as_far_as_the_joints_travel() -> None:
    assert travels(robot("tree"), declared_ranges(robot("tree")).of) == pytest.approx(
        [1, 2**0.5, 0, 3**0.5]
    )
    assert travels(robot("pendulums"), declared_ranges(robot("pendulums")).of) == [0, 0]
    mechanism = robot("far")
    M = Reference(mechanism, FLOAT).mass_matrix(given(mechanism)["q"])
    most = carried_inertias(
        deriving.models(mechanism)[0], travels(mechanism, declared_ranges(mechanism).of)
    )
    for k, (i, _) in enumerate(mechanism.dofs):
        moment, mass = most[i]
        of_k = Bodies(mechanism, declared_ranges(mechanism)).column(k)
        assert M[:, k, k].max() <= (
            moment * as_float(of_k.turning) + mass * as_float(of_k.sliding)
        ) * (1 + 1e-9)


# -- quaternions ---------------------------------------------------------------------------------------------------------


def test_states_have_quaternions_of_unit_length() -> None:
    states = given(robot("pendulums"), options=REAL)
    for first in robot("pendulums").quaternions:
        assert (
            np.abs(np.linalg.norm(states["q"][:, first : first + 4], axis=1) - 1).max() < 2.0**-23
        )
    assert robot("tree").quaternions == (9,)


def test_a_quaternion_whose_length_is_nearly_1_stays_within_the_bound() -> None:
    """What the rows make of it, rounded or not, is held against the unit quaternion along it."""
    mechanism = body("spherical", (2, (3, 0, 0)), (5, (0, 4, 1)))
    made, arithmetic, states = (
        derive(mechanism, "gravity_force", None, "float"),
        Coarse("float", bits=12),
        given(mechanism),
    )
    truth = Reference(mechanism, FLOAT).evaluate("gravity_force", {"q": states["q"]})["g"]
    bound, naive = (
        bounds_at_states(made, states, one)["g"]
        for one in (with_quaternions(arithmetic, mechanism), arithmetic)
    )
    for off in (-3.9, 3.9):
        longer = {"q": states["q"] * (1 + off * arithmetic.unit)}
        found = np.abs(run(made, longer)["g"] - truth)
        assert (found <= bound).all()
        assert not (found <= naive).all()
    short = {"q": coarse(states["q"], 12)}
    machine = rows(made, short, arithmetic, 5)
    assert (
        np.abs(np.stack([machine[row] for row in made.outputs[0].rows], axis=-1) - truth) <= bound
    ).all()


# -- ranges and the report -----------------------------------------------------------------------------------------------


def test_ranges_are_those_of_coordinates() -> None:
    mechanism = robot("free_arm")
    tight = Limits(Fraction(-1, 10), Fraction(1, 10), Fraction(1, 10), Fraction(1, 10))
    found = declared_ranges(
        replace(mechanism, joints=tuple(replace(joint, limits=tight) for joint in mechanism.joints))
    )
    assert {name: len(found.of[name]) for name in ("q", "v", "a", "tau", "b")} == {
        "q": 8,
        "v": 7,
        "a": 7,
        "tau": 7,
        "b": 7,
    }
    assert [float(high) for _, high in found.of["q"]] == [1] * 7 + [0.1]
    assert [float(high) for _, high in found.of["v"]] == [5] * 6 + [0.1]
    said = "\n".join(found.assumed)
    assert (
        "joint0.px, joint0.py, joint0.pz: limits are those of joints of one coordinate, ±1 m assumed"
        in said
    )
    assert "joint0.x, joint0.y, joint0.z, joint0.w: " in said
    assert "unit quaternion, within ±1; intervals do not know that its length is 1" in said
    assert (
        "joint0.vx, joint0.vy, joint0.vz: velocity limits are those of joints of one coordinate, ±5 m/s assumed"
        in said
    )
    assert "joint1" not in said


def test_the_report_speaks_of_every_velocity() -> None:
    mechanism = robot("mixed")
    proof = prove(mechanism, ["forward_dynamics=composite_body"], REAL, states=50)
    assert proof.holds
    text, facts = str(proof), json.loads(json.dumps(proof.facts()))
    assert [one["joint"] for one in facts["joints"]] == list(mechanism.velocity_names)
    assert [one["unit"] for one in facts["joints"]] == ["kg m²"] * 5 + ["kg"]
    assert all(name in text for name in mechanism.velocity_names)
    assert "of a joint with several velocities" in text
    assert "a quaternion is of unit length within 4 u" in text
    assert text.endswith("4 of 4 divisors certified; no observation exceeds its bound")


def test_a_floor_a_tenth_too_high_is_contradicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feather on a ball: its pivots are no constants, and hardly more than what the ball has alone."""
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
    made = {"forward_dynamics": derive(mechanism, "forward_dynamics", "composite_body", "float")}
    proof = prove_programs(mechanism, made, REAL, states=50)
    assert proof.holds
    monkeypatch.setattr(
        "symgen.verification.proof.floors",
        lambda *args, **named: [
            replace(floor, floor=floor.floor * Fraction(11, 10))
            for floor in floors(*args, **named)
            if floor.floor is not None
        ],
    )
    wrong = prove_programs(mechanism, made, REAL, states=50)
    assert not wrong.holds
    assert all(not divisor.holds for one in wrong.functions for divisor in one.divisors)
    assert isinstance(wrong, report.Proof)
