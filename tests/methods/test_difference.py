"""The way from one q to another: against power series, Pinocchio and the step that it undoes, near no turn and half a turn."""

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
from symgen.certificate.divisors import floors
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
from symgen.verification.proof import prove, prove_programs
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.verification.truth import Truth
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
"""Tangents of a quarter of a turn. That of half a turn is 1; beyond, the other way round is shorter."""
AXIS = (Fraction(2, 7), Fraction(-3, 7), Fraction(6, 7))


@cache
def program(*of: str) -> Program:
    return symgen.program(tree_of(*of), "difference")


def turned(q: Array, first: int, tangent: Fraction) -> None:
    """The quaternion from `first` on in q (count, NQ), turned about AXIS: rational numbers stay rational."""
    sine, cosine = 2 * tangent / (1 + tangent**2), (1 - tangent**2) / (1 + tangent**2)
    a, b, d, c = (*(sine * one for one in AXIS), cosine)
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


def at(mechanism: Mechanism, tangent: str) -> dict[str, Array]:
    """Four states, exact, in which each quaternion of q_next is that of q, turned; and each angle of a planar joint as much."""
    drawn = draw_states(mechanism, 4, seed=5)
    found = {"q": drawn["q"].copy(), "q_next": drawn["q_next"].copy()}
    for joint, own in zip(mechanism.joints, mechanism.q_slices, strict=True):
        if joint.type.quaternion is not None:
            first = own.start + joint.type.quaternion
            found["q_next"][:, first : first + 4] = found["q"][:, first : first + 4]
            turned(found["q_next"], first, Fraction(tangent))
        elif not joint.type.directed:
            found["q_next"][:, own.stop - 1] = found["q"][:, own.stop - 1] + Fraction(
                4 * np.arctan(float(tangent))
            )
    return found


@pytest.mark.parametrize("tangent", QUARTERS)
def test_it_is_the_logarithm_at_any_angle(tangent: str) -> None:
    """To 44 digits where what is added to the square of the angle counts, which is far behind those of a double."""
    given = {name: BALLS.array(values) for name, values in at(tree_of(*ALL), tangent).items()}
    ours = run(program(*ALL), given, BALLS)["delta"]
    with BALLS.working():
        missed = np.abs(
            ours - Reference(tree_of(*ALL), BALLS).evaluate("difference", given)["delta"]
        )
        assert max(float(one.upper()) for one in missed.ravel()) < 2.0**-147


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("tangent", [*QUARTERS[:6], "0.9999", *QUARTERS[7:]])
def test_the_compiled_c_is_as_near_as_its_sizes_say(tangent: str, real: str) -> None:
    """Of the quaternions that are given: what the rounding of their entries does near half a turn is not the C's."""
    mechanism, kind = tree_of(*ALL), np.dtype(REALS[real].numpy)
    given = {
        name: values.astype(float).astype(kind) for name, values in at(mechanism, tangent).items()
    }
    ours = _solver(real).difference(given["q"], given["q_next"])
    entered = {name: BALLS.array(x.astype(float)) for name, x in given.items()}
    with BALLS.working():
        for first in mechanism.quaternions:
            for values in entered.values():
                own = values[:, first : first + 4]
                own[:] = own / np.sqrt((own * own).sum(axis=-1))[:, None]
    exact = Reference(mechanism, BALLS).evaluate("difference", entered)["delta"].astype(float)
    truth = Truth(mechanism, 4, 5)
    truth.floats |= {name: values.astype(float) for name, values in given.items()}
    assert np.isfinite(ours).all()
    assert (
        np.abs(ours - exact) <= 8 * REALS[real].eps * truth.scales.of("difference", "delta")
    ).all()


@cache
def _solver(real: str) -> Any:
    return symgen.compile(tree_of(*ALL), ["difference", "integrate"], real=real, optimize=0)


@pytest.mark.parametrize("real", ["double", "float"])
def test_the_sign_of_a_quaternion_and_whole_turns_of_a_planar_joint_say_nothing(real: str) -> None:
    mechanism, kind = tree_of(*ALL), np.dtype(REALS[real].numpy)
    q, goal = (draw_states(mechanism, 8)[name].astype(kind) for name in ("q", "q_next"))
    once = _solver(real).difference(q, goal)
    for one in (q, goal):
        for first in mechanism.quaternions:
            one[:, first : first + 4] *= -1
            assert (_solver(real).difference(q, goal) == once).all()  # to the last bit
    assert (_solver(real).difference(q, q) == 0).all()
    index = next(i for i, joint in enumerate(mechanism.joints) if joint.kind == "planar")
    goal[:, mechanism.q_slices[index].stop - 1] += kind.type(4 * np.pi)
    around = _solver(real).difference(q, goal)
    assert np.abs(around - once)[:, mechanism.v_slices[index]].max() < 200 * REALS[real].eps


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("w", [0.0, -0.0])
def test_half_a_turn_is_one_of_both(real: str, w: float) -> None:
    """About ±AXIS by π; and the way there leads there, places and all."""
    mechanism, kind = tree_of("free", "spherical"), np.dtype(REALS[real].numpy)
    solver = symgen.compile(mechanism, ["difference", "integrate"], real=real)
    q, goal = np.zeros(mechanism.nq, kind), np.zeros(mechanism.nq, kind)
    goal[:3] = 1.0, -0.5, 0.25
    for first in mechanism.quaternions:
        q[first + 3] = 1
        goal[first : first + 4] = *map(float, AXIS), w
    delta = solver.difference(q, goal)
    for own in (delta[3:6], delta[6:9]):
        assert np.abs(np.abs(own @ np.array(AXIS, dtype=float)) - np.pi) < 4 * REALS[real].eps
    arrived = solver.integrate(q, delta, kind.type(1))
    for first in mechanism.quaternions:
        own = slice(first, first + 4)
        arrived[own] *= np.sign(arrived[own] @ goal[own])
    assert np.abs(arrived - goal).max() < 8 * REALS[real].eps


@pytest.mark.parametrize("kind", kinds())
def test_pinocchio_goes_the_same_way(kind: str) -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import pinocchio_answers

    mechanism = tree_of(kind)
    model = pinocchio_answers.built(mechanism, mechanism.frames[0].name)
    bound = (
        1e-8 if kind == "planar" else 2e-13
    )  # of a planar joint Pinocchio divides by 2 − 2 cos φ, and loses digits
    for tangent in QUARTERS:
        given = {name: values.astype(float) for name, values in at(mechanism, tangent).items()}
        ours = run(program(kind), given)["delta"]
        for k in range(4):
            word = pinocchio_answers.Word(
                model, {name: values[k] for name, values in given.items()}
            )
            assert pinocchio_answers.ERRORS["difference"]({"delta": ours[k]}, word) < bound, (
                tangent,
                k,
            )


def test_what_it_costs() -> None:
    """mul + add + div with sqrt, sin, cos and atan2: a rate takes a difference, a free body one root and one angle."""
    found = {kind: (program(kind).cost, program(kind).operations) for kind in ALL}
    assert all(
        cost == joint_type(kind).nq
        for kind, (cost, _) in found.items()
        if joint_type(kind).along is None
    )
    assert {
        kind: (cost, *(ops[op] for op in ("div", "sqrt", "sin", "cos", "atan2")))
        for kind, (cost, ops) in found.items()
        if kind in TURNING
    } == {
        "free": (116, 1, 1, 0, 0, 1),
        "planar": (29, 1, 1, 2, 2, 1),
        "spherical": (46, 1, 1, 0, 0, 1),
    }
    assert all("atan2" not in ops for kind, (_, ops) in found.items() if kind not in TURNING)


# -- the operation ------------------------------------------------------------------------------------------------------------


def test_intervals_hold_every_angle_of_their_boxes() -> None:
    random = np.random.default_rng(3)
    ends = np.concatenate(
        [random.uniform(-2, 2, (2, 2, 400)), random.choice([-1.0, 0.0, 1.0], (2, 2, 100))], axis=-1
    )
    ends = np.sort(ends, axis=1)
    y, x = (Interval(*one) for one in ends)
    found = y.angle(x)
    assert (found.hi - found.lo < 6).sum() > 250
    for share in random.random((60, 2, 500)):
        share = np.where(random.random(share.shape) < 0.2, np.round(share), share)
        a, b = (one.lo + part * (one.hi - one.lo) for one, part in zip((y, x), share, strict=True))
        for near in (
            np.arctan2(a, b),
            np.arctan2(np.where(a == 0, -a, a), b),
        ):  # of a zero with either sign
            assert ((found.lo <= near) & (near <= found.hi)).all()
    jump = Interval(np.array([-0.0]), np.array([0.0])).angle(
        Interval(np.array([-1.0]), np.array([-1.0]))
    )
    assert jump.lo < -3.14159265358979
    assert jump.hi > 3.14159265358979


@pytest.mark.parametrize("left_out", ["nothing", "its own", "that of its operands", "the jump"])
def test_the_bound_of_its_error_holds_and_misses_what_is_left_out(
    left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an arithmetic of ten digits, over points all round, and near the jump, where the bound is a whole turn."""
    arithmetic, random = Coarse("double", bits=10), np.random.default_rng(7)
    inputs = (Row("input", (), (0, 0)), Row("input", (), (0, 1)))
    own = check(
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
    )  # on the negative half of the axis, where q is positive
    exact = np.arctan2(q[:, 0] * q[:, 1] - q[:, 1] ** 2, q[:, 1] ** 2 - q[:, 0])
    if left_out == "the jump":
        monkeypatch.setattr(Interval, "cuts", lambda self, x: np.zeros(4000, dtype=bool))
    told = propagate(
        own,
        {"q": [Interval(column, column) for column in q.T]},
        replace(arithmetic, angle=0.0 if left_out == "its own" else arithmetic.angle),
    )
    bound = (
        4 * arithmetic.unit * np.abs(exact) if left_out == "that of its operands" else told[6].error
    )
    seen = np.max(
        [np.abs(rows(own, {"q": q}, arithmetic, seed)[6] - exact) for seed in range(8)], axis=0
    )
    assert (seen <= bound).all() == (left_out == "nothing")
    assert np.median(told[6].error) < 0.02


@pytest.mark.parametrize("left_out", ["nothing", "own", "moved", "where w changes its sign"])
def test_the_bound_of_a_turn_holds_where_nothing_turns_too(
    left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of a spherical joint's turn in an arithmetic of fourteen digits: no turn, small, large, about half a turn."""
    own, random, arithmetic = (
        program("spherical"),
        np.random.default_rng(11),
        Coarse("double", bits=14),
    )
    (index,) = rounding.half_angle_ratios(own)
    q = random.normal(size=(3000, 4))
    q /= np.sqrt((q * q).sum(axis=-1))[:, None]
    step = random.normal(size=(3000, 4))
    step[::3] = step[::3] * 1e-5 + (0, 0, 0, 1)
    step[1::30, 3] = 1e-5
    step /= np.sqrt((step * step).sum(axis=-1))[:, None]
    goal = np.array(
        [integrate.quaternion_product(one, other) for one, other in zip(q, step, strict=True)]
    )
    bound = rounding.half_angle_ratio

    def less(ratio: rounding.HalfAngleRatio, rows: Any, given: Any) -> Any:
        square, w, unit = rows[ratio.square], rows[ratio.w], given.unit
        assumed = SimpleNamespace(unit=unit, angle=given.angle, underflow=given.underflow)
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

    monkeypatch.setattr(rounding, "half_angle_ratio", less)
    found = propagate(
        own,
        {"q": [Interval(x, x) for x in q.T], "q_next": [Interval(x, x) for x in goal.T]},
        arithmetic,
    )
    given = {"q": q, "q_next": goal}
    exact = run(replace(own, outputs=(Port("rate", (1,), (index,)),)), given)["rate"][:, 0]
    seen = np.max(
        [np.abs(rows(own, given, arithmetic, seed)[index] - exact) for seed in range(6)], axis=0
    )
    bound = found[index].error
    assert (seen <= bound).all() == (left_out == "nothing")
    if left_out == "nothing":
        assert np.isfinite(bound).all()
        assert np.median(bound[::3] * 2.0**30) < 0.1


def test_it_is_lowered_with_its_signs_and_never_of_constants() -> None:
    home = Derivation({"q": 2})
    y, x = home.inputs["q"]
    a, b = sp.symbols("a b")
    lower(sp.atan2(a, b), {a: -y, b: x}, home)
    assert [op for op, _, _ in home.rows] == ["input", "input", "neg", "atan2"]
    with pytest.raises(ProgramError, match="atan2 of a constant"):
        home.atan2(y, home.one)


@pytest.mark.parametrize(("real", "call"), [("double", "atan2"), ("float", "atan2f")])
def test_the_c_calls_it_of_y_and_x(real: str, call: str) -> None:
    """And is read back as that: operands exchanged, one of them twice, one less or another function are told."""
    own = replace(program("spherical"), real=real)
    text = c99.source(own, c99.Target("spherical", tree_of("spherical").sizes))
    assert compare(own, text) == []
    ((whole, y, x),) = re.findall(rf"({call}\((.*), (\w+)\));", text)
    for given in (f"{x}, {y}", f"{x}, {x}", y, f"{y}, {x}, {x}"):
        assert compare(own, text.replace(whole, f"{call}({given})")) != []
    for wrong in (whole.replace("atan2", "pow"), whole.replace("atan2", "atan")):
        assert compare(own, text.replace(whole, wrong)) != []


# -- nothing is divided by zero -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("real", ["double", "float"])
def test_every_divisor_has_a_floor_that_needs_no_range(real: str) -> None:
    mechanism, own = tree_of(*ALL), replace(program(*ALL), real=real)
    found = floors(mechanism, own, ProgramOptions(real))
    assert len(found) == 6  # of three types a square and its root
    assert all(one.certified and one.joint is None and one.lost == 0 for one in found)


@pytest.mark.parametrize("real", ["double", "float"])
def test_every_number_is_finite_over_the_ranges(real: str) -> None:
    if shutil.which("frama-c") is None:
        pytest.skip("Frama-C is not installed")
    own = replace(program("free", "planar"), real=real)
    proof = prove_programs(
        tree_of("free", "planar"),
        {"difference": own},
        ProgramOptions(real),
        states=8,
        compiled=False,
        with_eva=True,
    )
    assert proof.finite is not None
    assert proof.finite["difference"].proved, str(proof)


def test_nothing_told_of_quaternions_is_taken_for_one() -> None:
    """Entries of a checked function: both positions are looked at, and 0 0 0 0 is refused in either."""
    mechanism = tree_of("free")
    solver = symgen.compile(mechanism, ["difference"], checked=True)
    q = np.array([0, 0, 0, 0, 0, 0, 1.0])
    solver.difference(q, q)
    for pair in ((q, 0 * q), (0 * q, q), (q, 2 * q)):
        with pytest.raises(symgen.SymgenError, match="quaternion does not have length 1"):
            solver.difference(*pair)


# -- through everything -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize(
    "text", [TextOptions(), TextOptions("inline", checked=True)], ids=["plain", "checked"]
)
def test_it_is_verified(real: str, text: TextOptions) -> None:
    made_of = {
        name: symgen.program(tree_of(*ALL), name, real=real) for name in ("integrate", "difference")
    }
    report = verify_programs(Subject(tree_of(*ALL), made_of, ProgramOptions(real), text, states=8))
    assert report.passed, str(report)
    assert (
        sum(one.kind == "identities" for one in report.checks) == 7 + 8
    )  # those of steps, and four twice


@pytest.mark.parametrize("robot", ["panda", "afloat"])
def test_a_folder_holds_it_and_tests_itself(robot: str, tmp_path: Path) -> None:
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
    done = subprocess.run([str(tmp_path / "own")], check=True, capture_output=True, text=True)
    assert "1 passed, 0 failed" in done.stdout
    report = symgen.verify(folder)
    assert report.passed, str(report)


def _on_a_free_base() -> Mechanism:
    plain = random_mechanism(3, seed=4)
    return replace(
        plain, name="afloat", joints=(of_kind(plain.joints[0], "free"), *plain.joints[1:])
    )


def test_its_round_off_is_bounded() -> None:
    proof = prove(_on_a_free_base(), ["difference"], states=64)
    (own,) = proof.functions
    assert proof.holds, str(proof)
    assert any("atan2 within 2 ulp" in sentence for sentence in proof.assumptions)
    bound = own.round_off.bound["delta"].max(axis=-1)
    assert np.isfinite(bound).all()
    assert (
        np.median(bound) < 1e-12
    )  # at half a turn, where corners of the box may be, it is a whole turn
    assert all(one.floor.certified for one in own.divisors)


# -- errors planted -----------------------------------------------------------------------------------------------------------


def test_a_sign_that_is_turned_in_any_row_is_seen() -> None:
    own, changed = program("free", "planar"), 0
    truth = Truth(tree_of("free", "planar"), 5)
    assert check_algebra(own, truth, "difference").verdict == "passed"
    for index, row in enumerate(own.rows):
        if row.op not in ("add", "sub") or any(
            own.rows[a].op == "const" and own.rows[a].value < 1e-9 for a in row.args
        ):
            continue
        wrong = planted(own, index, op={"add": "sub", "sub": "add"}[row.op])
        with np.errstate(all="ignore"):
            assert check_algebra(wrong, truth, "difference").verdict == "failed", (index, row)
        changed += 1
    assert changed > 40


def test_operands_that_are_exchanged_are_seen() -> None:
    own = program("free")
    (index,) = (i for i, row in enumerate(own.rows) if row.op == "atan2")
    wrong = planted(own, index, args=own.rows[index].args[::-1])
    report = verify_programs(Subject(tree_of("free"), {"difference": wrong}, states=4))
    assert {"algebra", "floating"} <= {one.kind for one in report.failures}


@pytest.mark.parametrize("change", ["half", "longer", "way"])
def test_an_error_in_the_reference_is_seen(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = integrate.logarithm

    def logarithm(turn: Array, shift: Array, scalars: Any) -> tuple[Array, Array]:
        spin, slid = whole(turn, shift, scalars)
        if change == "longer":  # the other way round
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
    assert "algebra" in {one.kind for one in report.failures}


def test_hypergeometric_functions_say_the_same() -> None:
    """A third road, which an attack of the adversary takes."""
    mechanism, given = tree_of(*ALL), draw_states(tree_of(*ALL), 8)
    exact = Reference(mechanism, BALLS).evaluate(
        "difference", {name: given[name] for name in ("q", "q_next")}
    )["delta"]
    states = {name: BALLS.array(values) for name, values in given.items()}
    found = _newton_euler.answers(mechanism, "difference", states, 80, {"delta": (mechanism.nv,)})[
        "delta"
    ]
    with BALLS.working():
        assert max(float(abs(one).upper()) for one in (found - exact).ravel()) < 1e-70


def test_floats_and_balls_of_the_reference_agree() -> None:
    given = draw_states(tree_of(*ALL), 8)
    exact = Reference(tree_of(*ALL), BALLS).evaluate(
        "difference", {name: given[name] for name in ("q", "q_next")}
    )["delta"]
    near = Reference(tree_of(*ALL), FLOAT).evaluate(
        "difference", {name: given[name].astype(float) for name in ("q", "q_next")}
    )
    assert np.abs(exact.astype(float) - near["delta"]).max() < 1e-13
