"""`difference`, the velocity that leads from q to q_next in unit time.

It is compared with power series, with Pinocchio and with the `integrate` that it inverts, also near
rotations by zero and by half a turn.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest
import sympy as sp

import symgen
from symgen.certificate import rounding
from symgen.certificate.divisors import certify_divisors
from symgen.certificate.intervals import Interval
from symgen.certificate.rounding import propagate
from symgen.derivation.scalars import Derivation, lower
from symgen.emission.backends import c99
from symgen.ir.program import Port, Program, Row, check
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.readback.rows import compare
from symgen.reference import integrate
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.reference.states import draw_states
from symgen.support.errors import ProgramError
from symgen.verification.algebra import check_algebra
from symgen.verification.exact_results import ExactResults
from symgen.verification.proof import prove, prove_programs
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.reals import REALS
from tests.adversary import _newton_euler
from tests.shared.robots_for_tests import of_kind, random_mechanism, run
from tests.shared.rounded_rows import Coarse, rows
from tests.shared.turning_robots import ALL, BALLS, TURNING, planted, tree_of

QUARTERS = (
    "0",
    "1e-30",
    "1e-12",
    "1e-4",
    "0.2",
    "-0.4",
    "0.99999999",
    "-0.999",
    "7",
    "1e9",
    "-1e9",
)
"""Tangents of a quarter of the rotation angle; beyond 1, half a turn, the shorter rotation is the
opposite one.
"""
AXIS = (Fraction(2, 7), Fraction(-3, 7), Fraction(6, 7))


@cache
def program(*kinds_of_joints: str) -> Program:
    return symgen.program(tree_of(*kinds_of_joints), "difference")


def rotate_quaternion(q: Array, first: int, tangent: Fraction) -> None:
    """Rotate the quaternion that starts at column `first` of q (count, NQ) about AXIS; rational
    numbers stay rational.
    """
    sine, cosine = 2 * tangent / (1 + tangent**2), (1 - tangent**2) / (1 + tangent**2)
    a, b, d, c = (*(sine * component for component in AXIS), cosine)
    x, y, z, w = q[:, first : first + 4].T
    q[:, first : first + 4] = np.stack(
        [
            x * c + w * a + y * d - z * b,
            y * c + w * b + z * a - x * d,
            z * c + w * d + x * b - y * a,
            w * c - x * a - y * b - z * d,
        ],
        axis=-1,
    )


def states_apart(mechanism: Mechanism, tangent: str) -> dict[str, Array]:
    """Return four exact states in which q_next has each quaternion and each planar angle of q
    rotated by the same angle.
    """
    random_states = draw_states(mechanism, 4, seed=5)
    states = {"q": random_states["q"].copy(), "q_next": random_states["q_next"].copy()}
    for joint, coordinates in zip(mechanism.joints, mechanism.q_slices, strict=True):
        if joint.type.quaternion is not None:
            first = coordinates.start + joint.type.quaternion
            states["q_next"][:, first : first + 4] = states["q"][:, first : first + 4]
            rotate_quaternion(states["q_next"], first, Fraction(tangent))
        elif not joint.type.directed:
            states["q_next"][:, coordinates.stop - 1] = states["q"][
                :, coordinates.stop - 1
            ] + Fraction(4 * np.arctan(float(tangent)))
    return states


@pytest.mark.parametrize("tangent", QUARTERS)
def test_difference_is_the_logarithm_at_any_angle(tangent: str) -> None:
    """The error is below 2⁻¹⁴⁷, 44 digits; the constant 2⁻¹⁵⁰ that is added to the squared angle
    causes it.
    """
    states = {
        name: BALLS.array(values) for name, values in states_apart(tree_of(*ALL), tangent).items()
    }
    delta = run(program(*ALL), states, BALLS)["delta"]
    with BALLS.working():
        errors = np.abs(
            delta - Reference(tree_of(*ALL), BALLS).evaluate("difference", states)["delta"]
        )
        assert max(float(error.upper()) for error in errors.ravel()) < 2.0**-147


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("tangent", [*QUARTERS[:6], "0.9999", *QUARTERS[7:]])
def test_the_error_of_compiled_difference_is_below_eight_units_of_its_scale(
    tangent: str, real: str
) -> None:
    """The exact result is that of the rounded quaternions: near half a turn their rounding is no
    error of the C.
    """
    mechanism, kind = tree_of(*ALL), np.dtype(REALS[real].numpy)
    states = {
        name: values.astype(float).astype(kind)
        for name, values in states_apart(mechanism, tangent).items()
    }
    delta = _solver(real).difference(states["q"], states["q_next"])
    exact_states = {name: BALLS.array(x.astype(float)) for name, x in states.items()}
    with BALLS.working():
        for first in mechanism.quaternions:
            for values in exact_states.values():
                quaternion = values[:, first : first + 4]
                quaternion[:] = (
                    quaternion / np.sqrt((quaternion * quaternion).sum(axis=-1))[:, None]
                )
    exact = Reference(mechanism, BALLS).evaluate("difference", exact_states)["delta"].astype(float)
    exact_results = ExactResults(mechanism, 4, 5)
    exact_results.floats |= {name: values.astype(float) for name, values in states.items()}
    assert np.isfinite(delta).all()
    assert (
        np.abs(delta - exact)
        <= 8 * REALS[real].eps * exact_results.scales.of("difference", "delta")
    ).all()


@cache
def _solver(real: str) -> Any:
    return symgen.compile(tree_of(*ALL), ["difference", "integrate"], real=real, optimize=0)


@pytest.mark.parametrize("real", ["double", "float"])
def test_difference_ignores_signs_of_quaternions_and_whole_turns_of_planar_joints(
    real: str,
) -> None:
    mechanism, kind = tree_of(*ALL), np.dtype(REALS[real].numpy)
    q, goal = (draw_states(mechanism, 8)[name].astype(kind) for name in ("q", "q_next"))
    delta = _solver(real).difference(q, goal)
    for positions in (q, goal):
        for first in mechanism.quaternions:
            positions[:, first : first + 4] *= -1
            assert (_solver(real).difference(q, goal) == delta).all()  # to the last bit
    assert (_solver(real).difference(q, q) == 0).all()
    index = next(i for i, joint in enumerate(mechanism.joints) if joint.kind == "planar")
    goal[:, mechanism.q_slices[index].stop - 1] += kind.type(4 * np.pi)
    delta_after_two_turns = _solver(real).difference(q, goal)
    assert (
        np.abs(delta_after_two_turns - delta)[:, mechanism.v_slices[index]].max()
        < 200 * REALS[real].eps
    )


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("w", [0.0, -0.0])
def test_difference_at_half_a_turn_is_one_of_the_two_rotations(real: str, w: float) -> None:
    """The rotation is ±π about AXIS; `integrate` reaches the goal in orientation and position."""
    mechanism, kind = tree_of("free", "spherical"), np.dtype(REALS[real].numpy)
    solver = symgen.compile(mechanism, ["difference", "integrate"], real=real)
    q, goal = np.zeros(mechanism.nq, kind), np.zeros(mechanism.nq, kind)
    goal[:3] = 1.0, -0.5, 0.25
    for first in mechanism.quaternions:
        q[first + 3] = 1
        goal[first : first + 4] = *map(float, AXIS), w
    delta = solver.difference(q, goal)
    for rotation in (delta[3:6], delta[6:9]):
        assert np.abs(np.abs(rotation @ np.array(AXIS, dtype=float)) - np.pi) < 4 * REALS[real].eps
    reached_position = solver.integrate(q, delta, kind.type(1))
    for first in mechanism.quaternions:
        rotation = slice(first, first + 4)
        reached_position[rotation] *= np.sign(reached_position[rotation] @ goal[rotation])
    assert np.abs(reached_position - goal).max() < 8 * REALS[real].eps


@pytest.mark.parametrize("kind", kinds())
def test_difference_equals_that_of_pinocchio(kind: str) -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import pinocchio_answers

    mechanism = tree_of(kind)
    model = pinocchio_answers.built(mechanism, mechanism.frames[0].name)
    bound = (
        1e-8 if kind == "planar" else 2e-13
    )  # for planar joints Pinocchio divides by 2 − 2 cos φ, which loses digits
    for tangent in QUARTERS:
        states = {
            name: values.astype(float) for name, values in states_apart(mechanism, tangent).items()
        }
        delta = run(program(kind), states)["delta"]
        for k in range(4):
            judge = pinocchio_answers.Word(
                model, {name: values[k] for name, values in states.items()}
            )
            assert pinocchio_answers.ERRORS["difference"]({"delta": delta[k]}, judge) < bound, (
                tangent,
                k,
            )


def test_operation_counts_of_difference() -> None:
    """Costs count mul, add, div, sqrt, sin, cos and atan2.

    A joint with one coordinate takes one subtraction, a free body one square root and one angle.
    """
    costs = {kind: (program(kind).cost, program(kind).operations) for kind in ALL}
    assert all(
        cost == joint_type(kind).nq
        for kind, (cost, _) in costs.items()
        if joint_type(kind).along is None
    )
    assert {
        kind: (cost, *(ops[op] for op in ("div", "sqrt", "sin", "cos", "atan2")))
        for kind, (cost, ops) in costs.items()
        if kind in TURNING
    } == {
        "free": (116, 1, 1, 0, 0, 1),
        "planar": (29, 1, 1, 2, 2, 1),
        "spherical": (46, 1, 1, 0, 0, 1),
    }
    assert all("atan2" not in ops for kind, (_, ops) in costs.items() if kind not in TURNING)


# -- the operation atan2 ---------------------------------------------------------------------------


def test_intervals_of_atan2_contain_every_angle_of_their_boxes() -> None:
    random = np.random.default_rng(3)
    corners = np.concatenate(
        [random.uniform(-2, 2, (2, 2, 400)), random.choice([-1.0, 0.0, 1.0], (2, 2, 100))], axis=-1
    )
    corners = np.sort(corners, axis=1)
    y, x = (Interval(*bounds) for bounds in corners)
    angles = y.angle(x)
    assert (angles.hi - angles.lo < 6).sum() > 250
    for share in random.random((60, 2, 500)):
        share = np.where(random.random(share.shape) < 0.2, np.round(share), share)
        a, b = (
            bounds.lo + fraction * (bounds.hi - bounds.lo)
            for bounds, fraction in zip((y, x), share, strict=True)
        )
        for angle in (
            np.arctan2(a, b),
            np.arctan2(np.where(a == 0, -a, a), b),
        ):  # zeros of either sign
            assert ((angles.lo <= angle) & (angle <= angles.hi)).all()
    jump = Interval(np.array([-0.0]), np.array([0.0])).angle(
        Interval(np.array([-1.0]), np.array([-1.0]))
    )
    assert jump.lo < -3.14159265358979
    assert jump.hi > 3.14159265358979


@pytest.mark.parametrize("left_out", ["nothing", "its own", "that of its operands", "the jump"])
def test_the_error_bound_of_atan2_holds_and_fails_without_any_of_its_terms(
    left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arithmetic has ten bits; points lie all around and near the jump of atan2, where the
    bound is a whole turn.
    """
    arithmetic, random = Coarse("double", bits=10), np.random.default_rng(7)
    inputs = (Row("input", (), (0, 0)), Row("input", (), (0, 1)))
    program_ = check(
        Program(
            "f",
            "by_hand",
            (Port("q", (2,)),),
            (Port("y", (), (6,)),),
            (
                *inputs,
                Row("mul", (0, 1)),
                Row("mul", (1, 1)),
                Row("sub", (2, 3)),
                Row("sub", (3, 0)),
                Row("atan2", (4, 5)),
            ),
        )
    )
    q = random.uniform(-1, 1, (4000, 2))
    q[:400, 1] = q[:400, 0] * (
        1 + random.uniform(-1e-4, 1e-4, 400)
    )  # on the negative half axis for positive q
    exact = np.arctan2(q[:, 0] * q[:, 1] - q[:, 1] ** 2, q[:, 1] ** 2 - q[:, 0])
    if left_out == "the jump":
        monkeypatch.setattr(Interval, "cuts", lambda self, x: np.zeros(4000, dtype=bool))
    propagated = propagate(
        program_,
        {"q": [Interval(column, column) for column in q.T]},
        replace(arithmetic, angle=0.0 if left_out == "its own" else arithmetic.angle),
    )
    bound = (
        4 * arithmetic.unit * np.abs(exact)
        if left_out == "that of its operands"
        else propagated[6].error
    )
    errors = np.max(
        [np.abs(rows(program_, {"q": q}, arithmetic, seed)[6] - exact) for seed in range(8)], axis=0
    )
    assert (errors <= bound).all() == (left_out == "nothing")
    assert np.median(propagated[6].error) < 0.02


@pytest.mark.parametrize("left_out", ["nothing", "own", "moved", "where w changes its sign"])
def test_the_error_bound_of_a_rotation_holds_at_every_angle_and_fails_without_any_of_its_terms(
    left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arithmetic has fourteen bits; a spherical joint rotates by zero, little, much and about
    half a turn.
    """
    difference, random, arithmetic = (
        program("spherical"),
        np.random.default_rng(11),
        Coarse("double", bits=14),
    )
    (index,) = rounding.half_angle_ratios(difference)
    q = random.normal(size=(3000, 4))
    q /= np.sqrt((q * q).sum(axis=-1))[:, None]
    step = random.normal(size=(3000, 4))
    step[::3] = step[::3] * 1e-5 + (0, 0, 0, 1)
    step[1::30, 3] = 1e-5
    step /= np.sqrt((step * step).sum(axis=-1))[:, None]
    goal = np.array(
        [
            integrate.quaternion_product(position, rotation)
            for position, rotation in zip(q, step, strict=True)
        ]
    )
    bound = rounding.half_angle_ratio

    def wrong_bound(ratio: rounding.HalfAngleRatio, rows: Any, arithmetic_: Any) -> Any:
        square, w, unit = rows[ratio.square], rows[ratio.w], arithmetic_.unit
        assumed = SimpleNamespace(
            unit=unit, angle=arithmetic_.angle, underflow=arithmetic_.underflow
        )
        if left_out == "own":
            assumed.unit = 0.0
        if left_out == "moved":
            assumed.unit = unit / 16
            rows = {
                ratio.square: replace(square, error=0 * square.error),
                ratio.w: replace(w, error=0 * w.error),
            }
        if left_out == "where w changes its sign":
            size = np.sqrt(w.exact.size**2 + np.maximum(square.exact.lo, 0))
            return (
                np.full_like(size, np.inf),
                3 * w.error / size**2 + 3 * square.error / size**3 + 20 * unit / size,
            )
        return bound(ratio, rows, assumed)

    monkeypatch.setattr(rounding, "half_angle_ratio", wrong_bound)
    propagated = propagate(
        difference,
        {"q": [Interval(x, x) for x in q.T], "q_next": [Interval(x, x) for x in goal.T]},
        arithmetic,
    )
    states = {"q": q, "q_next": goal}
    exact = run(replace(difference, outputs=(Port("rate", (1,), (index,)),)), states)["rate"][:, 0]
    errors = np.max(
        [np.abs(rows(difference, states, arithmetic, seed)[index] - exact) for seed in range(6)],
        axis=0,
    )
    bound = propagated[index].error
    assert (errors <= bound).all() == (left_out == "nothing")
    if left_out == "nothing":
        assert np.isfinite(bound).all()
        assert np.median(bound[::3] * 2.0**30) < 0.1


def test_atan2_is_lowered_with_its_signs_and_refuses_constants() -> None:
    derivation = Derivation({"q": 2})
    y, x = derivation.inputs["q"]
    a, b = sp.symbols("a b")
    lower(sp.atan2(a, b), {a: -y, b: x}, derivation)
    assert [op for op, _, _ in derivation.rows] == ["input", "input", "neg", "atan2"]
    with pytest.raises(ProgramError, match="atan2 of a constant"):
        derivation.atan2(y, derivation.one)


@pytest.mark.parametrize(("real", "call"), [("double", "atan2"), ("float", "atan2f")])
def test_emitted_atan2_has_the_operands_y_and_x(real: str, call: str) -> None:
    """The reader finds exchanged, repeated, missing or additional operands, and other functions."""
    program_ = replace(program("spherical"), real=real)
    text = c99.source(program_, c99.Target("spherical", tree_of("spherical").sizes))
    assert compare(program_, text) == []
    ((statement, y, x),) = re.findall(rf"({call}\((.*), (\w+)\));", text)
    for operands in (f"{x}, {y}", f"{x}, {x}", y, f"{y}, {x}, {x}"):
        assert compare(program_, text.replace(statement, f"{call}({operands})")) != []
    for wrong in (statement.replace("atan2", "pow"), statement.replace("atan2", "atan")):
        assert compare(program_, text.replace(statement, wrong)) != []


# -- divisors are positive -------------------------------------------------------------------------


@pytest.mark.parametrize("real", ["double", "float"])
def test_every_divisor_of_difference_has_a_lower_bound_without_ranges(real: str) -> None:
    mechanism, program_ = tree_of(*ALL), replace(program(*ALL), real=real)
    divisors = certify_divisors(mechanism, program_, ProgramOptions(real))
    assert len(divisors) == 6  # a square and its root for each of three joint types
    assert all(
        divisor.certified and divisor.joint is None and divisor.round_off == 0
        for divisor in divisors
    )


@pytest.mark.slow
@pytest.mark.parametrize("real", ["double", "float"])
def test_frama_c_proves_every_number_of_difference_finite(real: str) -> None:
    if shutil.which("frama-c") is None:
        pytest.skip("Frama-C is not installed")
    program_ = replace(program("free", "planar"), real=real)
    proof = prove_programs(
        tree_of("free", "planar"),
        {"difference": program_},
        ProgramOptions(real),
        states=8,
        compiled=False,
        with_eva=True,
    )
    assert proof.finite is not None
    assert proof.finite["difference"].proved, str(proof)


def test_checked_difference_refuses_quaternions_without_length_one() -> None:
    """A checked function checks the quaternions of both positions and refuses 0 0 0 0 in either."""
    mechanism = tree_of("free")
    solver = symgen.compile(mechanism, ["difference"], checked=True)
    q = np.array([0, 0, 0, 0, 0, 0, 1.0])
    solver.difference(q, q)
    for pair in ((q, 0 * q), (0 * q, q), (q, 2 * q)):
        with pytest.raises(symgen.SymgenError, match="quaternion does not have length 1"):
            solver.difference(*pair)


# -- verify and folders ----------------------------------------------------------------------------


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize(
    "text", [TextOptions(), TextOptions("inline", checked=True)], ids=["plain", "checked"]
)
def test_difference_verifies_beside_integrate(real: str, text: TextOptions) -> None:
    programs = {
        name: symgen.program(tree_of(*ALL), name, real=real) for name in ("integrate", "difference")
    }
    report = verify_programs(Subject(tree_of(*ALL), programs, ProgramOptions(real), text, states=8))
    assert report.passed, str(report)
    assert (
        sum(check_.kind == "identities" for check_ in report.checks) == 7 + 8
    )  # eight of `difference`, seven of `integrate`


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["panda", "afloat"])
def test_a_folder_with_difference_passes_its_selftest_and_verify(
    robot: str, tmp_path: Path
) -> None:
    mechanism = symgen.load("panda") if robot == "panda" else _on_a_free_base()
    folder = tmp_path / robot
    symgen.generate(
        mechanism, folder, ["difference"], evidence=False, wrap=["cpp17"], checked=robot != "panda"
    )
    subprocess.run(
        [
            "cc",
            "-std=c99",
            "-O2",
            "-ffp-contract=off",
            f"-D{mechanism.name}_SELFTEST",
            *map(str, folder.glob("*.c")),
            "-lm",
            "-o",
            str(tmp_path / "own"),
        ],
        check=True,
    )
    completed = subprocess.run([str(tmp_path / "own")], check=True, capture_output=True, text=True)
    assert "1 passed, 0 failed" in completed.stdout
    report = symgen.verify(folder)
    assert report.passed, str(report)


def _on_a_free_base() -> Mechanism:
    fixed_base = random_mechanism(3, seed=4)
    return replace(
        fixed_base,
        name="afloat",
        joints=(of_kind(fixed_base.joints[0], "free"), *fixed_base.joints[1:]),
    )


def test_the_round_off_of_difference_is_bounded() -> None:
    proof = prove(_on_a_free_base(), ["difference"], states=64)
    (function,) = proof.functions
    assert proof.holds, str(proof)
    assert any("atan2 within 2 ulp" in sentence for sentence in proof.assumptions)
    bound = function.round_off.bound["delta"].max(axis=-1)
    assert np.isfinite(bound).all()
    assert np.median(bound) < 1e-12  # near half a turn the bound is a whole turn
    assert all(divisor.certificate.certified for divisor in function.divisors)


# -- planted errors --------------------------------------------------------------------------------


def test_a_wrong_sign_in_any_row_of_difference_is_caught() -> None:
    correct, changed = program("free", "planar"), 0
    exact_results = ExactResults(tree_of("free", "planar"), 5)
    assert check_algebra(correct, exact_results, "difference").verdict == "passed"
    for index, row in enumerate(correct.rows):
        if row.op not in ("add", "sub") or any(
            correct.rows[a].op == "const" and correct.rows[a].value < 1e-9 for a in row.args
        ):
            continue
        wrong = planted(correct, index, op={"add": "sub", "sub": "add"}[row.op])
        with np.errstate(all="ignore"):
            assert check_algebra(wrong, exact_results, "difference").verdict == "failed", (
                index,
                row,
            )
        changed += 1
    assert changed > 40


def test_exchanged_operands_of_atan2_are_caught() -> None:
    correct = program("free")
    (index,) = (i for i, row in enumerate(correct.rows) if row.op == "atan2")
    wrong = planted(correct, index, args=correct.rows[index].args[::-1])
    report = verify_programs(Subject(tree_of("free"), {"difference": wrong}, states=4))
    assert {"algebra", "floating"} <= {failure.kind for failure in report.failures}


@pytest.mark.parametrize("change", ["half", "longer", "translation"])
def test_a_planted_error_in_the_reference_of_difference_is_caught(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = integrate.logarithm

    def logarithm(turn: Array, shift: Array, scalars: Any) -> tuple[Array, Array]:
        spin, slid = original(turn, shift, scalars)
        if change == "longer":  # the rotation in the opposite direction
            size = np.sqrt(np.asarray((spin * spin).sum(axis=-1)))[..., None]
            return spin - spin / np.where(
                np.asarray(size, dtype=float) == 0, 1, size
            ) * 2 * flint.arb.pi(), slid
        return (
            (spin / 2, slid)
            if change == "half"
            else (spin, slid + shift * scalars.array(Fraction(1, 10**6)))
        )

    monkeypatch.setattr(integrate, "logarithm", logarithm)
    report = verify_programs(
        Subject(tree_of("free"), {"difference": program("free")}, states=5, compiled=False)
    )
    assert "algebra" in {failure.kind for failure in report.failures}


def test_difference_by_hypergeometric_functions_is_the_same() -> None:
    """A third derivation, used by the adversary's tests as well."""
    mechanism, random_states = tree_of(*ALL), draw_states(tree_of(*ALL), 8)
    exact = Reference(mechanism, BALLS).evaluate(
        "difference", {name: random_states[name] for name in ("q", "q_next")}
    )["delta"]
    states = {name: BALLS.array(values) for name, values in random_states.items()}
    actual = _newton_euler.answers(mechanism, "difference", states, 80, {"delta": (mechanism.nv,)})[
        "delta"
    ]
    with BALLS.working():
        assert max(float(abs(error).upper()) for error in (actual - exact).ravel()) < 1e-70


def test_the_reference_of_difference_agrees_in_floats_and_balls() -> None:
    states = draw_states(tree_of(*ALL), 8)
    exact = Reference(tree_of(*ALL), BALLS).evaluate(
        "difference", {name: states[name] for name in ("q", "q_next")}
    )["delta"]
    rounded = Reference(tree_of(*ALL), FLOAT).evaluate(
        "difference", {name: states[name].astype(float) for name in ("q", "q_next")}
    )
    assert np.abs(exact.astype(float) - rounded["delta"]).max() < 1e-13
