"""`integrate`, q ⊕ v dt: power series, Pinocchio, rest, many turns, operation counts, proofs and
planted errors.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest
import sympy as sp

import symgen
from symgen.certificate.divisors import certify_divisors
from symgen.certificate.sum_of_squares import bounded_shares, positive_bounds
from symgen.ir.program import Program, Row, check
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.reference import integrate
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array, arb
from symgen.reference.states import draw_states
from symgen.verification.exact_results import ExactResults
from symgen.verification.proof import prove, prove_programs
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.reals import REALS
from tests.adversary import _newton_euler
from tests.shared.robots_for_tests import of_kind, random_mechanism, run
from tests.shared.turning_robots import ALL, BALLS, TURNING, planted, tree_of

SPANS = ("0", "1e-30", "1e-12", "1e-4", "0.3", "3.1415926", "3.2", "40", "-7")
"""Time steps for velocities of about 1: zero, below round-off, near half a turn from both sides,
and many turns.
"""


@cache
def program(*kinds_of_joints: str) -> Program:
    return symgen.program(tree_of(*kinds_of_joints), "integrate")


def states_with_span(mechanism: Mechanism, span: str) -> dict[str, Array]:
    """Return exact states with the time step `span` (s)."""
    random_states = draw_states(mechanism, 4, seed=5)
    return {
        "q": random_states["q"],
        "v": random_states["v"],
        "dt": np.array([Fraction(span)] * 4, dtype=object),
    }


@pytest.mark.parametrize("span", SPANS)
def test_integrate_is_the_exponential_map_at_any_angle(span: str) -> None:
    """The error is below 2⁻¹⁵⁰ (1 + |dt|), 44 digits; the constant that is added to the squared
    angle causes it.
    """
    states = {
        name: BALLS.array(values) for name, values in states_with_span(tree_of(*ALL), span).items()
    }
    q_next = run(program(*ALL), states, BALLS)["q_next"]
    with BALLS.working():
        errors = np.abs(
            q_next - Reference(tree_of(*ALL), BALLS).evaluate("integrate", states)["q_next"]
        )
        assert max(float(error.upper()) for error in errors.ravel()) < 2.0**-150 * (
            1 + abs(float(span))
        )


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("span", SPANS)
def test_the_error_of_compiled_integrate_is_below_eight_units_of_its_scale(
    span: str, real: str
) -> None:
    mechanism, kind = tree_of(*ALL), np.dtype(REALS[real].numpy)
    solver = _solver(real)
    states = {
        name: values.astype(float).astype(kind)
        for name, values in states_with_span(mechanism, span).items()
    }
    q_next = solver.integrate(states["q"], states["v"], states["dt"])
    exact = Reference(mechanism, BALLS).evaluate(
        "integrate", {name: BALLS.array(x.astype(float)) for name, x in states.items()}
    )
    errors = np.abs(q_next - exact["q_next"].astype(float))
    exact_results = ExactResults(mechanism, 4, 5)
    exact_results.floats |= {name: values.astype(float) for name, values in states.items()}
    assert np.isfinite(q_next).all()
    assert (errors <= 8 * REALS[real].eps * exact_results.scales.of("integrate", "q_next")).all()


@cache
def _solver(real: str) -> Any:
    return symgen.compile(tree_of(*ALL), ["integrate"], real=real, optimize=0)


@pytest.mark.parametrize("real", ["double", "float"])
def test_zero_velocity_or_zero_time_leaves_positions_unchanged_to_the_last_bit(real: str) -> None:
    mechanism, kind = tree_of(*ALL), np.dtype(REALS[real].numpy)
    q, v = (draw_states(mechanism, 8)[name].astype(kind) for name in ("q", "v"))
    for speed, dt in ((v, 0.0), (0 * v, 0.25), (0 * v, 0.0)):
        assert (_solver(real).integrate(q, speed, np.array(dt, kind)) == q).all()


def test_a_scalar_argument_is_one_number_per_state() -> None:
    mechanism, solver = tree_of(*ALL), _solver("double")
    states = {name: values.astype(float) for name, values in draw_states(mechanism, 5).items()}
    q_next = solver.integrate(states["q"], states["v"], states["dt"])
    for k in range(5):
        for dt in (states["dt"][k], float(states["dt"][k]), states["dt"][k, ...]):
            assert (solver.integrate(states["q"][k], states["v"][k], dt) == q_next[k]).all()
    assert (
        solver.integrate(states["q"], states["v"], 0.1)
        == solver.integrate(states["q"], states["v"], np.full(5, 0.1))
    ).all()


@pytest.mark.parametrize("kind", kinds())
def test_integrate_equals_that_of_pinocchio(kind: str) -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import pinocchio_answers

    mechanism = tree_of(kind)
    model = pinocchio_answers.built(mechanism, mechanism.frames[0].name)
    for span in SPANS:
        states = {
            name: values.astype(float) for name, values in states_with_span(mechanism, span).items()
        }
        q_next = run(program(kind), states)["q_next"]
        for k in range(4):
            judge = pinocchio_answers.Word(
                model, {name: values[k] for name, values in states.items()}
            )
            assert pinocchio_answers.ERRORS["integrate"]({"q_next": q_next[k]}, judge) < 2e-14, (
                span,
                k,
            )


@pytest.mark.parametrize("kind", kinds())
def test_the_time_derivative_of_integrate_is_that_of_the_joint_columns(kind: str) -> None:
    """The derivative of `integrate` at dt = 0 equals that of `integrate_first_order`, which gives
    the columns of H.
    """
    joint, h = joint_type(kind), Fraction(1, 10**30)
    numbers = [sp.Rational(k + 2, 7) for k in range(joint.nq + joint.nv)]
    q, v = numbers[: joint.nq], numbers[joint.nq :]
    linear = [
        sp.N(number, 90)
        for number in joint.integrate_first_order(
            q, [number * sp.Rational(1, h.denominator) for number in v]
        )
    ]
    flat = {
        name: BALLS.array([[Fraction(int(number.p), int(number.q)) for number in numbers]])
        for name, numbers in (("q", q), ("v", v))
    }
    with BALLS.working():
        up, down = (
            run(program(kind), flat | {"dt": BALLS.array([s])}, BALLS)["q_next"][0] for s in (h, -h)
        )
        for number, backward, first_order, x in zip(up, down, linear, flat["q"][0], strict=True):
            assert (
                abs(float((number - backward) / 2 - (flint.arb(str(first_order)) - x))) < 1e-25 * h
            )


def test_operation_counts_of_integrate() -> None:
    """Costs count mul, add, div, sqrt, sin and cos.

    A joint with one coordinate takes a product and a sum, a free body one root, one sine and one
    cosine.
    """
    costs = {kind: (program(kind).cost, program(kind).operations) for kind in ALL}
    assert {kind: cost for kind, (cost, _) in costs.items() if joint_type(kind).along is None} == {
        kind: 2 * joint_type(kind).nq for kind in ALL if joint_type(kind).along is None
    }
    assert {
        kind: (cost, *(ops[op] for op in ("div", "sqrt", "sin", "cos")))
        for kind, (cost, ops) in costs.items()
        if kind in TURNING
    } == {"free": (115, 1, 1, 1, 1), "planar": (21, 1, 1, 2, 1), "spherical": (43, 1, 1, 1, 1)}
    assert all("log" not in ops for _, ops in costs.values())


# -- divisors are positive -------------------------------------------------------------------------


@pytest.mark.parametrize("real", ["double", "float"])
def test_every_divisor_of_integrate_has_a_lower_bound_without_ranges(real: str) -> None:
    mechanism, program_ = tree_of(*ALL), replace(program(*ALL), real=real)
    divisors = certify_divisors(mechanism, program_, ProgramOptions(real))
    assert len(divisors) == 6  # a square and its root for each of three joint types
    assert all(
        divisor.certified and divisor.joint is None and divisor.round_off == 0
        for divisor in divisors
    )
    for divisor in divisors:
        assert program_.rows[divisor.row].op in ("add", "sqrt")
        assert divisor.lower_bound is not None
        assert (
            0 < Fraction(2) ** -90 - divisor.lower_bound < Fraction(2) ** -105
            or 0 <= Fraction(2) ** -45 - divisor.lower_bound < Fraction(2) ** -60
        )
    state_at_rest = {
        "q": np.zeros((1, mechanism.nq)),
        "v": np.zeros((1, mechanism.nv)),
        "dt": np.zeros(1),
    }
    state_at_rest["q"][:, [first + 3 for first in mechanism.quaternions]] = 1
    port = program_.outputs[0]._replace(
        name="divisors", shape=(6,), rows=tuple(divisor.row for divisor in divisors)
    )
    values = run(replace(program_, outputs=(port,)), state_at_rest)["divisors"][0]
    assert [float(x) for x in values] == [
        2.0**-45 if program_.rows[divisor.row].op == "sqrt" else 2.0**-90 for divisor in divisors
    ]


def _rows(*rows: Row) -> Program:
    return check(
        replace(
            program("revolute"),
            rows=(Row("input", (), (0, 0)), *rows),
            outputs=(program("revolute").outputs[0]._replace(rows=(len(rows),)),),
        )
    )


@pytest.mark.parametrize(
    ("rows", "bound"),
    [
        ((Row("mul", (0, 0)), Row("const", (), Fraction(3)), Row("add", (1, 2))), 3),
        (
            (
                Row("mul", (0, 0)),
                Row("const", (), Fraction(9)),
                Row("add", (1, 2)),
                Row("sqrt", (3,)),
            ),
            3,
        ),
        (
            (
                Row("mul", (0, 0)),
                Row("const", (), Fraction(2)),
                Row("add", (1, 2)),
                Row("sqrt", (3,)),
            ),
            None,
        ),
        ((Row("mul", (0, 0)), Row("const", (), Fraction(3)), Row("sub", (1, 2))), 0),
        ((Row("mul", (0, 0)), Row("const", (), Fraction(-3)), Row("add", (1, 2))), 0),
        ((Row("const", (), Fraction(3)), Row("add", (0, 1))), 0),
        ((Row("mul", (0, 0)), Row("const", (), Fraction(1, 2**1074)), Row("add", (1, 2))), 0),
        ((Row("const", (), Fraction(3)), Row("mul", (0, 1)), Row("add", (1, 2))), 0),
    ],
)
def test_only_sums_of_squares_and_a_positive_constant_have_a_lower_bound(
    rows: tuple[Row, ...], bound: int | None
) -> None:
    lower_bound = positive_bounds(_rows(*rows), [len(rows)]).get(len(rows), Fraction(0))
    if bound is None:
        assert (
            0 <= 2 - lower_bound**2 < Fraction(2) ** -50
        )  # the largest double below the root of two
        assert Fraction(float(lower_bound)) == lower_bound
    else:
        assert lower_bound == bound


RATIO_ROWS = (
    Row("mul", (0, 0)),
    Row("const", (), Fraction(3)),
    Row("add", (1, 2)),
    Row("sqrt", (3,)),
    Row("const", (), Fraction(1)),
    Row("div", (5, 4)),
    Row("mul", (6, 0)),
)


@pytest.mark.parametrize(
    ("index", "row"),
    [
        (None, RATIO_ROWS[0]),
        (0, Row("neg", (0,))),
        (1, Row("const", (), Fraction(1, 2**1022))),
        (1, Row("const", (), Fraction(-3))),
        (2, Row("sub", (1, 2))),
        (2, Row("add", (2, 2))),
        (4, Row("const", (), Fraction(2))),
        (5, Row("div", (4, 5))),
        (6, Row("mul", (6, 1))),
        (6, Row("add", (6, 0))),
    ],
)
def test_a_component_of_a_vector_is_bounded_by_its_norm(index: int | None, row: Row) -> None:
    """x / √(x² + c) · x is bounded by |x|; with any of its rows changed, no bound is claimed."""
    rows = tuple(row if index == k else original_row for k, original_row in enumerate(RATIO_ROWS))
    assert bounded_shares(_rows(*rows)) == ({7: Fraction(2)} if index is None else {})


@pytest.mark.slow
@pytest.mark.parametrize("real", ["double", "float"])
def test_frama_c_proves_every_number_of_integrate_finite(real: str) -> None:
    """The proof admits the lower bounds above and, in float, that a component is not larger than
    its norm.
    """
    if shutil.which("frama-c") is None:
        pytest.skip("Frama-C is not installed")
    program_ = replace(program("free", "planar"), real=real)
    proof = prove_programs(
        tree_of("free", "planar"),
        {"integrate": program_},
        ProgramOptions(real),
        states=8,
        compiled=False,
        with_eva=True,
    )
    assert proof.finite is not None
    assert proof.finite["integrate"].proved
    assert len(proof.finite["integrate"].admitted) == (7 if real == "float" else 4)


# -- verify and folders ----------------------------------------------------------------------------


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize(
    "text", [TextOptions(), TextOptions("inline", checked=True)], ids=["plain", "checked"]
)
def test_integrate_verifies(real: str, text: TextOptions) -> None:
    report = verify_programs(
        Subject(
            tree_of(*ALL),
            {"integrate": replace(program(*ALL), real=real)},
            ProgramOptions(real),
            text,
            states=8,
        )
    )
    assert report.passed, str(report)
    assert (
        sum(check_.kind == "identities" for check_ in report.checks) == 7
    )  # four in ball arithmetic, three of them in the C as well


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["panda", "afloat"])
def test_a_folder_with_integrate_passes_its_selftest_and_verify(robot: str, tmp_path: Path) -> None:
    """In C and C++ a scalar argument is an array of one number, like a scalar result."""
    mechanism = symgen.load("panda") if robot == "panda" else _on_a_free_base()
    folder = tmp_path / robot
    symgen.generate(
        mechanism, folder, ["integrate"], evidence=False, wrap=["cpp17"], checked=robot != "panda"
    )
    header = next(folder.glob("*.h")).read_text(encoding="utf-8")
    assert "const double dt[1]" in header
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
    (tmp_path / "call.cpp").write_text(
        f"""#include "{mechanism.name}.hpp"
int main() {{
    const std::array<double, 1> dt{{0.1}};
    return (void){mechanism.name}::integrate({{}}, {{}}, dt), 0;
}}
""",
        encoding="utf-8",
    )
    subprocess.run(
        ["c++", "-std=c++17", "-fsyntax-only", f"-I{folder}", str(tmp_path / "call.cpp")],
        check=True,
    )
    report = symgen.verify(folder)
    assert report.passed, str(report)


def _on_a_free_base() -> Mechanism:
    fixed_base = random_mechanism(3, seed=4)
    return replace(
        fixed_base,
        name="afloat",
        joints=(of_kind(fixed_base.joints[0], "free"), *fixed_base.joints[1:]),
    )


def test_the_round_off_of_integrate_is_bounded() -> None:
    proof = prove(_on_a_free_base(), ["integrate"], states=64)
    (function,) = proof.functions
    assert proof.holds, str(proof)
    assert any("time steps within ±1 s" in sentence for sentence in proof.assumptions)
    assert function.round_off.most("q_next") < 1e-11
    assert all(divisor.certificate.certified for divisor in function.divisors)


# -- planted errors --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_wrong_sign_in_any_row_of_integrate_is_caught() -> None:
    correct, changed = program("free", "planar"), 0
    for index, row in enumerate(correct.rows):
        if row.op not in ("add", "sub") or any(
            correct.rows[a].op == "const" and correct.rows[a].value < 1e-9 for a in row.args
        ):
            continue
        wrong = planted(correct, index, op={"add": "sub", "sub": "add"}[row.op])
        with np.errstate(all="ignore"):
            report = verify_programs(
                Subject(tree_of("free", "planar"), {"integrate": wrong}, states=2, compiled=False)
            )
        assert {"algebra", "identities"} <= {failure.kind for failure in report.failures}, (
            index,
            row,
        )
        changed += 1
    assert changed > 40


@pytest.mark.parametrize("change", ["half", "series", "order"])
def test_a_planted_error_in_the_reference_of_integrate_is_caught(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = integrate._exponential_series

    def series(spin: Array, shift: Array, scalars: Any) -> Any:
        if change == "half":
            return original(spin / 2, shift, scalars)
        turn, displaced = original(spin, shift, scalars)
        return (
            (turn, displaced + shift * scalars.array(Fraction(1, 10**6)))
            if change == "series"
            else (turn[..., [1, 0, 2, 3]], displaced)
        )

    monkeypatch.setattr(integrate, "_exponential_series", series)
    report = verify_programs(
        Subject(tree_of("free"), {"integrate": program("free")}, states=4, compiled=False)
    )
    assert {failure.kind for failure in report.failures} >= {"algebra", "floating"}


@pytest.mark.parametrize("value", [Fraction(0), Fraction(1, 2**60), Fraction(1, 2**160)])
def test_a_wrong_constant_under_the_root_is_caught(value: Fraction) -> None:
    """Without the constant, a state at rest divides by zero.

    A constant that is too large fails the algebra, and one that is too small is zero in float.
    """
    correct = program("free")
    (index,) = (
        i
        for i, row in enumerate(correct.rows)
        if row.op == "const" and row.value == Fraction(1, 2**90)
    )
    wrong = replace(planted(correct, index, value=value), real="float")
    with np.errstate(all="ignore"):
        report = verify_programs(
            Subject(tree_of("free"), {"integrate": wrong}, ProgramOptions("float"), states=4)
        )
    assert {failure.kind for failure in report.failures} >= (
        {"algebra"} if value > Fraction(1, 2**90) else {"floating"}
    )


@pytest.mark.parametrize("counted", [True, False])
def test_the_radius_of_the_series_contains_its_truncation_error(
    counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The balls of a truncated series contain the exact value only with the truncation bound in
    their radius.
    """
    twist = [[Fraction(k + 1, 5) for k in range(3)]]
    sharp = arb(160)
    with sharp.working():
        long = integrate.exponential(sharp.array(twist), sharp.array(twist), sharp)
    monkeypatch.setattr(integrate, "truncation_bound", lambda scalars: Fraction(1, 2**100))
    if not counted:
        monkeypatch.setattr(integrate, "ball_around_zero", lambda radius, scalars: flint.arb(0))
    with BALLS.working():
        short = integrate.exponential(BALLS.array(twist), BALLS.array(twist), BALLS)
    with sharp.working():
        overlaps = [
            truncated.overlaps(exact)
            for truncated_values, exact_values in zip(short, long, strict=True)
            for truncated, exact in zip(truncated_values.ravel(), exact_values.ravel(), strict=True)
        ]
    assert all(overlaps) if counted else not any(overlaps)
    assert all(float(truncated.rad()) < 1e-150 for values in long for truncated in values.ravel())


def test_integrate_by_matrix_exponentials_is_the_same() -> None:
    """A third derivation, used by the adversary's tests as well."""
    mechanism, random_states = tree_of(*ALL), draw_states(tree_of(*ALL), 8)
    exact = Reference(mechanism, BALLS).evaluate(
        "integrate", {name: random_states[name] for name in ("q", "v", "dt")}
    )["q_next"]
    states = {name: BALLS.array(random_states[name]) for name in ("q", "v", "dt")}
    actual = _newton_euler.answers(mechanism, "integrate", states, 80, {"q_next": (mechanism.nq,)})[
        "q_next"
    ]
    with BALLS.working():
        assert max(float(abs(error).upper()) for error in (actual - exact).ravel()) < 1e-70


def test_the_reference_of_integrate_agrees_in_floats_and_balls() -> None:
    states = draw_states(tree_of(*ALL), 8)
    exact = Reference(tree_of(*ALL), BALLS).evaluate(
        "integrate", {name: states[name] for name in ("q", "v", "dt")}
    )["q_next"]
    rounded = Reference(tree_of(*ALL), FLOAT).evaluate(
        "integrate", {name: states[name].astype(float) for name in ("q", "v", "dt")}
    )
    assert np.abs(exact.astype(float) - rounded["q_next"]).max() < 1e-13
